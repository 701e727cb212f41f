"""Samples of products with a transpose."""

from typing import Any


def _rows() -> dict[str, Any]:
    from rows import call

    shapes = [((2, 3), (4, 3)), ((3,), (2, 3)), ((2, 1, 2, 3), (1, 3)), ((0, 3), (2, 3)), ((2, 0), (2, 0))]
    return {
        "linear": [call(x, w) for x, w in shapes],
        "across": [call(x, y) for x, y in [((3, 2), (3, 4)), ((1, 2), (1, 1)), ((0, 2), (0, 3)), ((3, 0), (3, 2))]],
        "affine": [call(x, w, w[:1]) for x, w in shapes],
    }


ROWS = _rows()
