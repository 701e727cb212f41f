"""Products with a matrix that is used many times, packed once, and transposed products of long matrices."""

import functools
from struct import pack
from typing import Any

import numpy as np

from .library import Library, address, run

_LIBRARY = Library("panels", ("-ffp-contract=fast",))

#: Rows from which packing pays, and products that take as long as one element of other loops.
WORTH, PRODUCTS = 4, 16
#: Rows of a transposed product that are a unit of work.
TILE = 12


@functools.cache
def width(char: str) -> int | None:
    """Columns of a panel; None if there are no kernels."""
    return _LIBRARY.unit(char)


def packed(w: Any) -> tuple[Any, int, int, int, int]:
    """A matrix of float32 or float64 in panels; the function that multiplies by it, rows, columns, panels."""
    w = w if w.flags.aligned else w.copy()
    (rows, columns), wide = w.shape, width(w.dtype.char)
    pack_panels, product = (_LIBRARY.get(name, w.dtype) for name in ("pack_panels", "panel_product"))
    assert wide is not None
    assert pack_panels is not None
    assert product is not None
    count, (down, along) = -(-columns // wide), (s // w.itemsize for s in w.strides)
    made = np.empty((count, rows, wide), w.dtype)
    run(pack_panels, pack("6q", address(w), address(made), rows, columns, down, along), count, made.size)
    return made, product, rows, columns, count


def turned_product(a: Any, b: Any, y: Any, sums: Any, adds: bool = False) -> None:
    """``a.T @ b`` in y, and the sums of a's columns; all arrays are without gaps, a and b have a row for each term."""
    function = _LIBRARY.get("turned_product", a.dtype)
    assert function is not None
    (rows, columns), work = a.shape, a.size * b.shape[1] // PRODUCTS
    task = pack("8q", address(a), address(b), address(y), address(sums), rows, columns, b.shape[1], adds)
    run(function, task, -(-columns // TILE), work)
