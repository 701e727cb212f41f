"""NumPy's names with NumPy's meanings, on tensors: ``import lucidgrad.numpy as np``.

A table over lucidgrad's functions, with the one class `Tensor`. Functions take numbers, sequences, arrays and tensors,
and give tensors; Python floats are float64, as in NumPy. NumPy's own functions, called on tensors, come to the same
table: see `protocol`.

Examples
--------
>>> import lucidgrad as lg, lucidgrad.numpy as np
>>> x = np.array([1.0, 2.0])
>>> lg.func.grad(lambda x: np.sum(np.sin(x) ** 2))(x).round(decimals=4).tolist()
[0.9093, -0.7568]
>>> import numpy
>>> numpy.linalg.norm(x.requires_grad_()).requires_grad
True
"""

import importlib as _importlib
from typing import Any as _Any

from . import choosing, curves, fft, linalg, making, objects as _objects, protocol, reducing, shaping, ufuncs
from .entrance import TABLE as _TABLE, library as _library
from .objects import c_, mgrid, ndarray, ndenumerate, ogrid, r_, vectorize
from .refused import REASONS as _REASONS

_PARTS = (choosing, curves, making, protocol, reducing, shaping, ufuncs)  # they fill in the table, or read it

globals().update({name: getattr(_library(), name) for name in _objects.OWN})
globals().update({name: found for (place, name), found in _TABLE.items() if not place})

__all__ = [
    "c_", "fft", "linalg", "mgrid", "ndarray", "ndenumerate", "ogrid", "r_", "random", "testing", "vectorize",
    *_objects.OWN, *(name for place, name in _TABLE if not place),
]  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name == "random":  # which many programs don't need, and which takes a while
        return _importlib.import_module(".random", __name__)
    if name == "testing":
        return _library().testing
    reason = _REASONS.get(name)
    told = f": {reason}" if reason else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{told}", name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
