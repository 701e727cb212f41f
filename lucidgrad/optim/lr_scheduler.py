"""Schedulers of learning rates, under PyTorch's names.

Examples
--------
>>> import lucidgrad as lg
>>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0)
>>> scheduler = lg.optim.lr_scheduler.StepLR(optimiser, step_size=2, gamma=0.5)
>>> for _ in range(4):
...     optimiser.step()
...     scheduler.step()
...     print(scheduler.get_last_lr())
[1.0]
[0.5]
[0.5]
[0.25]
"""

from lucidgrad.refusals import guard as _guard

from .combined import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from .cycles import CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from .scheduling import LRScheduler

_LRScheduler = LRScheduler  # its older name

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


_guard(__name__, __all__)
