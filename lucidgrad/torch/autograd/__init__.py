"""PyTorch's ``torch.autograd``: `lucidgrad.autograd`, and names that old programs ask for."""

import importlib as _importlib
from typing import Any

import lucidgrad as _lg
from lucidgrad import autograd as _autograd
from lucidgrad.autograd import *  # noqa: F403
from lucidgrad.autograd import __all__ as _names

__all__ = [*_names, "Variable", "variable"]


def Variable(data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
    """A tensor, as every tensor is a variable nowadays."""
    made = data.detach() if isinstance(data, _lg.Tensor) else _lg.tensor(data)
    return made.requires_grad_(requires_grad and not volatile)


variable = Variable


def __getattr__(name: str) -> Any:
    if name in ("anomaly_mode", "grad_mode", "profiler"):
        return _importlib.import_module(f"{__name__}.{name}")
    return getattr(_autograd, name)
