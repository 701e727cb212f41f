"""PyTorch's names with PyTorch's arguments, defaults and meanings: ``import lucidgrad.torch as torch``.

A table over lucidgrad's functions, with the one class `Tensor`: what is made here may be used there, and the other way
round. Where `lucidgrad` itself has the Array API standard's meaning of a name, or NumPy's, this door has PyTorch's.

Examples
--------
>>> import lucidgrad.torch as torch
>>> x = torch.tensor([[3.0, 1.0, 2.0], [5.0, 4.0, 9.0]])
>>> torch.max(x, dim=1)
ValuesAndIndices(values=tensor([3., 9.]), indices=tensor([0, 2]))

Gradients are those of lucidgrad:

>>> x.requires_grad = True
>>> torch.std(x, dim=1, unbiased=False).sum().backward()
>>> x.grad.round(decimals=3)
tensor([[ 0.408, -0.408,  0.   ],
        [-0.154, -0.309,  0.463]])
"""

import importlib as _importlib
from typing import Any as _Any

from lucidgrad.refusals import guard as _guard

from . import (
    creation as _creation,
    dtypes as _dtypes,  # noqa: F401  # what programs ask of any tensor's dtype is there from now on
    functions as _functions,
    imports as _imports,
    places as _places,
)
from .making import Table as _Table

_imports.install()

_TEXTS = (
    _functions.ELEMENTWISE,
    _functions.REDUCTIONS,
    _functions.SCANS_AND_SORTS,
    _functions.SHAPES,
    _functions.INDEXING,
    _functions.MATRICES,
    _functions.LAYERS,
    _creation.MAKING,
    _creation.RANDOM,
    _creation.DTYPES,
)
_TABLE = _Table(__name__, "".join(_TEXTS), _functions.SAME)
_METHODS = _Table(__name__, "", _functions.IN_PLACE, "Tensor")
_ELSEWHERE = {name: module for module, names in _places.NAMES.items() for name in names.split()}

__all__ = sorted({*_TABLE.names, *_METHODS.names, *_ELSEWHERE, *_places.MODULES})


def __getattr__(name: str) -> _Any:
    """A name when it is first asked for."""
    if name in _places.MODULES:
        return _importlib.import_module(f"{__name__}.{name}")
    if name in _ELSEWHERE:
        globals()[name] = getattr(_importlib.import_module(_ELSEWHERE[name], __name__), name)
        _guard(__name__, (name,))
        return globals()[name]
    return (_METHODS if name in _METHODS.names else _TABLE).find(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
