"""Samples of what is written at positions and reduced there."""

from typing import Any

import numpy as np


def _rows() -> dict[str, Any]:
    from rows import call, integers

    ties = np.array([[1.25, -0.5, 2.0], [1.25, 0.75, 2.5]])
    return {
        "extreme_put": [
            call((3,), (5,), integers(0, 2, 2, 0, 0), axis=0),
            call((3, 2), (4, 2), integers([0, 1], [2, 1], [0, 0], [2, 2]), axis=0, largest=False),
            call((2, 3), (2, 2), integers([2, 0], [1, 1]), axis=-1),
            call((2, 3), ties, integers([2, 0, 2], [1, 1, 1]), axis=1),
            call((2, 3), np.zeros((2, 0)), np.zeros((2, 0), "int64"), axis=1),
            call((0, 3), np.zeros((0, 2)), np.zeros((0, 2), "int64"), axis=1),
        ],
    }


ROWS = _rows()
