"""Products with a matrix that is used many times, packed once: the kernels, and the width of their panels."""

import functools
from struct import pack

import numpy as np

from .library import Library, address, run

_LIBRARY = Library("panels", ("-ffp-contract=fast",))

#: Rows from which packing pays, and products that take as long as one element of other loops.
ROWS, PRODUCTS = 4, 16


@functools.cache
def width(char: str) -> int | None:
    """Columns of a panel; None if there are no kernels."""
    function, found = _LIBRARY.get("panel_width", np.dtype(char)), np.zeros(1, np.int64)
    if function is None:
        return None
    run(function, pack("q", address(found)), 1, 1)
    return int(found[0])
