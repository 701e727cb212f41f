"""Sums of 16 bits that go on in float32, so that the result is rounded once."""

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

_HALF, _SINGLE = np.dtype("float16"), np.dtype("float32")


def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    narrow = (x.dtype if dtype is None else dtype) == _HALF
    y = cupy.cumulative_sum(x, axis=axis, dtype=_SINGLE if narrow else dtype, include_initial=include_initial)
    return y.astype(_HALF) if narrow else y


TABLE: dict[str, Callable[..., Any]] = {"cumulative_sum": cumulative_sum}
