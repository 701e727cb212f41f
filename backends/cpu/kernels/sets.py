"""Sets and searching in NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np


def unique_places(x: Any) -> Any:
    _, i, inverse, counts = np.unique(
        x.reshape(-1), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return i, inverse.reshape(x.shape), counts


def isin(x1: Any, x2: Any, invert: bool = False) -> Any:
    return np.isin(x1, x2, invert=invert)


def searchsorted(x1: Any, x2: Any, side: str = "left") -> Any:
    if type(x2) is np.ndarray and x1.dtype != x2.dtype:
        common = np.result_type(x1, x2)
        x1, x2 = x1.astype(common, copy=False), x2.astype(common, copy=False)
    return x1.searchsorted(x2, side=side)


TABLE: dict[str, Callable[..., Any]] = {
    "isin": isin,
    "searchsorted": searchsorted,
    "unique_places": unique_places,
}
