"""Reductions, scans, order and sets in NumPy: ufunc methods, which are faster than the functions around them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lucidgrad.backends.cpu.compiled import rows as compiled

from .halves import HALF


def _axes(axis: Any) -> Any:
    return tuple(axis) if type(axis) is list else axis


def sum(x: Any, *, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Any:
    if x.size >= compiled.WORTH_SUM and dtype is None and (made := compiled.sums(x, axis, keepdims)) is not None:
        return made
    axis = tuple(axis) if type(axis) is list else axis
    if (x.dtype if dtype is None else dtype) is HALF:
        return np.add.reduce(x, axis=axis, dtype=np.float32, keepdims=keepdims).astype(HALF)
    return np.add.reduce(x, axis=axis, dtype=dtype, keepdims=keepdims)


def prod(x: Any, *, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Any:
    return np.multiply.reduce(x, axis=_axes(axis), dtype=dtype, keepdims=keepdims)


def max(x: Any, *, axis: Any = None, keepdims: Any = False) -> Any:
    return np.maximum.reduce(x, axis=_axes(axis), keepdims=keepdims)


def min(x: Any, *, axis: Any = None, keepdims: Any = False) -> Any:
    return np.minimum.reduce(x, axis=_axes(axis), keepdims=keepdims)


def _wide(x: Any) -> Any:
    """What a mean adds up in: None is the array's own dtype."""
    return np.float64 if x.dtype.kind in "biu" else None


def _count(x: Any, axis: Any) -> int:
    if axis is None or not x.ndim:
        return x.size
    return math.prod(x.shape[a] for a in (axis if type(axis) is tuple else (axis,)))


def mean(x: Any, *, axis: Any = None, keepdims: Any = False) -> Any:
    axis = _axes(axis)
    if x.size >= compiled.WORTH_SUM and (made := compiled.sums(x, axis, keepdims)) is not None:
        made /= _count(x, axis)
        return made
    return np.add.reduce(x, axis=axis, dtype=_wide(x), keepdims=keepdims) / _count(x, axis)


def _variance(x: Any, axis: Any, correction: float, keepdims: Any, rooted: bool = False) -> Any:
    if x.size >= compiled.WORTH_SUM:
        made = compiled.variances(x, axis, correction, keepdims, rooted)
        if made is not None:
            return made
    d = np.subtract(x, np.add.reduce(x, axis=axis, dtype=_wide(x), keepdims=True) / _count(x, axis))
    d = d.real * d.real + d.imag * d.imag if d.dtype.kind == "c" else d * d
    left = _count(x, axis) - correction
    y = np.add.reduce(d, axis=axis, keepdims=keepdims) / (left if left > 0 else 0)
    return np.sqrt(y) if rooted else y


def var(x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: Any = False) -> Any:
    return _variance(x, _axes(axis), correction, keepdims)


def std(x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: Any = False) -> Any:
    return _variance(x, _axes(axis), correction, keepdims, rooted=True)


def _floats(x: Any) -> Any:
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def _below_top(x: Any, axis: Any) -> tuple[Any, Any]:
    """An array less its maximum, in memory of its own, and the maximum."""
    top = np.maximum.reduce(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, x.dtype.type(0))
    return np.asarray(x - top), top


def logsumexp(x: Any, *, axis: Any = None, keepdims: Any = False) -> Any:
    if (made := compiled.logsumexp(x, axis, keepdims)) is not None:
        return made
    axis, x, top = _axes(axis), _floats(x), None
    if x.size:
        x, top = _below_top(x, axis)
        np.exp(x, out=x)
    y = np.add.reduce(x, axis=axis, keepdims=keepdims)
    with np.errstate(divide="ignore"):  # log(0) is meant
        y = np.log(y)
    return y if top is None else y + top.reshape(y.shape)


def any(x: Any, *, axis: Any = None, keepdims: Any = False) -> Any:
    if x.size >= compiled.WORTH_SUM and (made := compiled.any_rows(x, axis, keepdims)) is not None:
        return made
    return np.logical_or.reduce(x, axis=_axes(axis), keepdims=keepdims)


def count_nonzero(x: Any, *, axis: Any = None, keepdims: Any = False) -> Any:
    return np.asarray(np.count_nonzero(x, axis=_axes(axis), keepdims=keepdims), dtype=np.int64)


def cumulative_sum(x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    if (x.dtype if dtype is None else dtype) is HALF:
        y = np.cumulative_sum(x, axis=axis, dtype=np.float32, include_initial=include_initial)
        return y.astype(HALF)
    return np.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)


def cumulative_prod(x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    return np.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


def logcumsumexp(x: Any, *, axis: int) -> Any:
    x = _floats(x)
    return np.logaddexp.accumulate(x, axis=axis) if x.ndim else x.copy()


def _last_of(x: Any, axis: int, extreme: np.ufunc) -> Any:
    if not x.ndim:
        return np.zeros((), np.int64)
    place = np.arange(x.shape[axis])
    place = place.reshape((-1, *(1,) * (x.ndim - 1 - axis % x.ndim)))
    hit = (x == extreme.accumulate(x, axis=axis)) | (x != x)
    return np.maximum.accumulate(np.where(hit, place, 0), axis=axis)


def cumulative_argmax(x: Any, *, axis: int) -> Any:
    return _last_of(x, axis, np.maximum)


def cumulative_argmin(x: Any, *, axis: int) -> Any:
    return _last_of(x, axis, np.minimum)


def argsort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    if not x.ndim:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(x, axis=axis, stable=stable)
    # Backwards and back again: ties then keep their order.
    i = np.argsort(np.flip(x, axis=axis), axis=axis, stable=stable)
    return x.shape[axis] - 1 - np.flip(i, axis=axis)


def argtopk(x: Any, *, k: int, axis: int = -1, largest: bool = True) -> Any:
    x = np.moveaxis(x, axis, -1)
    n = x.shape[-1]
    if 0 < k < n:
        i = np.argpartition(x, n - k if largest else k - 1, axis=-1)
        i = np.sort(i[..., n - k :] if largest else i[..., :k], axis=-1)  # so that ties are in order
        order = argsort(np.take_along_axis(x, i, axis=-1), axis=-1, descending=largest)
        i = np.take_along_axis(i, order, axis=-1)
    else:
        i = argsort(x, axis=-1, descending=largest)[..., :k]
    return np.moveaxis(i, -1, axis)


# -- sets ----------------------------------------------------------------------------------------
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


_FUNCTIONS = (
    *(sum, prod, max, min, mean, var, std, logsumexp, any, count_nonzero),
    *(cumulative_sum, cumulative_prod, logcumsumexp, cumulative_argmax, cumulative_argmin, argsort, argtopk),
    *(isin, searchsorted, unique_places),
)

TABLE: dict[str, Callable[..., Any]] = {function.__name__: function for function in _FUNCTIONS}
