"""Rows added up at places, in C."""

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


def put_rows(g: Any, i: Any, size: int) -> Any:
    """Zeros of ``size`` rows, to which those of g are added at the places i, all of them inside; or None."""
    if g.size < WORTH or not g.size or not plain(g) or (function := _LIBRARY.get("put_rows", g.dtype)) is None:
        return None
    n, m = g.shape
    i = np.ascontiguousarray(i, np.int64)
    y = memory.empty((size, m), g.dtype)
    units = min(STRETCHES if y.size >= MANY else 1, size)
    task = pack("7q", address(g), address(i), address(y), n, m, size, -(-size // units))
    run(function, task, units, max(g.size, y.size))
    return y
