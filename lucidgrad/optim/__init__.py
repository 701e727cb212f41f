"""Optimisers, schedulers of learning rates, averages of parameters, and a way to SciPy's minimisers.

Names, arguments, defaults, formulas and the layout of states are PyTorch's.

Examples
--------
>>> import lucidgrad as lg
>>> x = lg.tensor([3.0, -1.0], requires_grad=True)
>>> optimiser = lg.optim.SGD([x], lr=0.5, momentum=0.5)
>>> for _ in range(40):
...     optimiser.zero_grad()
...     (x * x).sum().backward()
...     optimiser.step()
>>> bool((x.abs() < 1e-3).all())
True
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from lucidgrad.refusals import guard as _guard

from . import lr_scheduler
from .adafactor import Adafactor
from .adam import Adam, AdamW
from .adam_variants import Adamax, NAdam, RAdam
from .adaptive import Adadelta, Adagrad, RMSprop
from .averages import EMA
from .exchange import swap_in_optimizer_params_and_state
from .lbfgs import LBFGS
from .minimising import minimize_scipy
from .muon import Muon
from .optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from .sgd import ASGD, SGD
from .signs import Lion, Rprop
from .sparse_adam import SparseAdam
from .zero_redundancy import ZeroRedundancyOptimizer

if _TYPE_CHECKING:
    from . import swa_utils

__all__ = [
    "ASGD",
    "EMA",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lion",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "ZeroRedundancyOptimizer",
    "lr_scheduler",
    "minimize_scipy",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]


def __getattr__(name: str) -> _Any:
    if name == "swa_utils":  # needs lucidgrad.nn, which most users of an optimiser have loaded anyway
        return _importlib.import_module(f"{__name__}.swa_utils")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_guard(__name__, __all__)
