"""Sums and products of float16 through float32: NumPy has no quick loop for them, and rounds after every addition."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

HALF, _SINGLE = np.dtype("float16"), np.dtype("float32")


def through_single(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that computes with float16 in float32 and rounds once at its end."""

    @functools.wraps(kernel)
    def run(*arrays: Any, **keywords: Any) -> Any:
        for a in arrays:
            if type(a) is np.ndarray and a.dtype is HALF:
                return _wide(kernel, arrays, keywords)
        return kernel(*arrays, **keywords)

    return run


def _wide(kernel: Callable[..., Any], arrays: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    narrow = all(type(a) is not np.ndarray or a.dtype is HALF or a.dtype.kind not in "fc" for a in arrays)
    y = kernel(*(a.astype(_SINGLE) if type(a) is np.ndarray and a.dtype is HALF else a for a in arrays), **keywords)
    return y.astype(HALF) if narrow else y
