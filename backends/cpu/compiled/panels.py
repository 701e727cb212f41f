"""Products with a matrix that is used many times, packed once: the kernels, and the width of their panels."""

import functools

from .library import Library

_LIBRARY = Library("panels", ("-ffp-contract=fast",))

#: Rows from which packing pays, and products that take as long as one element of other loops.
WORTH, PRODUCTS = 4, 16


@functools.cache
def width(char: str) -> int | None:
    """Columns of a panel; None if there are no kernels."""
    return _LIBRARY.unit(char)
