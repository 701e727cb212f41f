"""NumPy kernels for arithmetic beyond the standard, and for reducing what falls on one place."""

from collections.abc import Callable
from typing import Any

import numpy as np


def extreme_put(x: Any, src: Any, i: Any, *, axis: int, largest: bool = True) -> Any:
    y = np.array(x)
    if src.size:
        key = list(np.ogrid[tuple(map(slice, i.shape))])
        key[axis] = i
        (np.maximum if largest else np.minimum).at(y, tuple(key), src)
    return y


TABLE: dict[str, Callable[..., Any]] = {
    "extreme_put": extreme_put,
    "fmod": np.fmod,
    "logaddexp2": np.logaddexp2,
}
