"""Rows at places, taken or added up, in C."""

from struct import pack
from typing import Any

import numpy as np

from . import memory
from .library import Library, address, plain, run

_LIBRARY = Library("puts")

#: Elements below which NumPy is as quick.
WORTH = 1 << 9
#: Into how many stretches the places of many elements are divided.
STRETCHES, MANY = 16, 1 << 16


def take_rows(x: Any, i: Any) -> Any:
    """The rows of a matrix at the places i, all of them inside; or None."""
    if i.size * x.shape[1] < WORTH or not x.size or not plain(x):
        return None
    if (function := _LIBRARY.get("take_rows", x.dtype)) is None:
        return None
    i, y = np.ascontiguousarray(i, np.int64), memory.empty((i.size, x.shape[1]), x.dtype)
    run(function, pack("5q", address(x), address(i), address(y), i.size, x.shape[1]), i.size, y.size)
    return y


def put_rows(g: Any, i: Any, size: int) -> Any:
    """Zeros of ``size`` rows, to which those of g are added at the places i, all of them inside; or None."""
    if g.size < WORTH or not g.size or (function := _LIBRARY.get("put_rows", g.dtype)) is None:
        return None
    if not plain(g) and not plain(g := np.ascontiguousarray(g)):  # one row for all places, often
        return None
    y = memory.empty((size, g.shape[1]), g.dtype)
    _run(function, g, i, y, max(g.size, y.size))
    return y


def add_rows(y: Any, g: Any, i: Any) -> bool:
    """Add the rows of g to those of y at the places i, all of them inside; False if that is for NumPy."""
    if g.size < WORTH or not plain(g) or not plain(y) or y.dtype != g.dtype:
        return False
    if (function := _LIBRARY.get("add_rows", g.dtype)) is None:
        return False
    _run(function, g, i, y, g.size)
    return True


def _run(function: int, g: Any, i: Any, y: Any, work: int) -> None:
    (n, m), size = g.shape, len(y)
    i = np.ascontiguousarray(i, np.int64)
    units = min(STRETCHES if y.size >= MANY else 1, size)
    task = pack("7q", address(g), address(i), address(y), n, m, size, -(-size // units))
    run(function, task, units, work)
