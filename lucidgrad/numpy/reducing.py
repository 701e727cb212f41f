"""Sums, means, extremes, spreads and running totals."""

from collections.abc import Callable
from typing import Any

import lucidgrad as lg

from .entrance import (
    UNSET,
    Array,
    DType,
    Operand,
    Refused,
    cast,
    fits_axis,
    flag,
    numpy_function,
    numpy_functions,
)


def _axis(axis: Any) -> Any:
    return None if axis is UNSET or axis is None else tuple(axis) if isinstance(axis, (list, tuple)) else int(axis)


# -- sums and extremes ---------------------------------------------------------------------------
@numpy_functions(sum=lg.sum, prod=lg.prod, nansum=lg.nansum, nanprod=lg.nanprod)
def _sums(
    compute: Callable[..., Any],
    a: Array,
    axis: Any = None,
    dtype: DType = None,
    out: Refused = None,
    keepdims: Any = UNSET,
    initial: Refused = UNSET,
    where: Refused = UNSET,
) -> Any:
    return compute(a, axis=_axis(axis), dtype=dtype, keepdims=flag(keepdims))


@numpy_functions(mean=lg.mean, nanmean=lg.nanmean)
def _means(
    compute: Callable[..., Any],
    a: Array,
    axis: Any = None,
    dtype: DType = None,
    out: Refused = None,
    keepdims: Any = UNSET,
    *,
    where: Refused = UNSET,
) -> Any:
    return compute(cast(a, dtype), axis=_axis(axis), keepdims=flag(keepdims))


@numpy_functions(var=lg.var, std=lg.std, nanvar=lg.nanvar, nanstd=lg.nanstd)
def _spreads(
    compute: Callable[..., Any],
    a: Array,
    axis: Any = None,
    dtype: DType = None,
    out: Refused = None,
    ddof: Any = 0,
    keepdims: Any = UNSET,
    *,
    where: Refused = UNSET,
    mean: Refused = UNSET,
    correction: Any = UNSET,
) -> Any:
    if correction is not UNSET and ddof != 0:
        raise ValueError("given ddof and correction, expected one of them: they mean the same")
    correction = ddof if correction is UNSET else correction
    return compute(cast(a, dtype), axis=_axis(axis), correction=correction, keepdims=flag(keepdims))


@numpy_functions(max=lg.max, amax=lg.max, min=lg.min, amin=lg.min, nanmax=lg.nanmax, nanmin=lg.nanmin)
def _extremes(
    compute: Callable[..., Any],
    a: Array,
    axis: Any = None,
    out: Refused = None,
    keepdims: Any = UNSET,
    initial: Refused = UNSET,
    where: Refused = UNSET,
) -> Any:
    return compute(a, axis=_axis(axis), keepdims=flag(keepdims))


@numpy_function()
def ptp(a: Array, axis: Any = None, out: Refused = None, keepdims: Any = UNSET) -> Any:
    """The largest element minus the smallest."""
    return lg.ptp(a, axis=_axis(axis), keepdims=flag(keepdims))


@numpy_functions(all=lg.all, any=lg.any)
def _quantors(
    compute: Callable[..., Any],
    a: Array,
    axis: Any = None,
    out: Refused = None,
    keepdims: Any = UNSET,
    *,
    where: Refused = UNSET,
) -> Any:
    return compute(a, axis=_axis(axis), keepdims=flag(keepdims))


def _nanargmax(a: Any, **options: Any) -> Any:
    return lg.argmax(_among_numbers(a, options["axis"], -lg.inf), **options)


def _nanargmin(a: Any, **options: Any) -> Any:
    return lg.argmin(_among_numbers(a, options["axis"], lg.inf), **options)


def _among_numbers(a: Any, axis: Any, worst: float) -> Any:
    if a.dtype.kind in "fc" and bool(lg.any(lg.all(lg.isnan(a), axis=axis))):
        raise ValueError("given a slice of NaN alone, expected a number in each")
    return _without_nan(a, worst)


@numpy_functions(argmax=lg.argmax, argmin=lg.argmin, nanargmax=_nanargmax, nanargmin=_nanargmin)
def _places(
    compute: Callable[..., Any], a: Array, axis: Any = None, out: Refused = None, *, keepdims: Any = UNSET
) -> Any:
    return compute(a, axis=_axis(axis), keepdims=flag(keepdims))


@numpy_function()
def count_nonzero(a: Array, axis: Any = None, *, keepdims: Any = False) -> Any:
    """How many elements are not zero."""
    return lg.count_nonzero(a, axis=_axis(axis), keepdims=flag(keepdims))


@numpy_function()
def average(a: Array, axis: Any = None, weights: Array = None, returned: bool = False, *, keepdims: Any = UNSET) -> Any:
    """The weighted mean."""
    return lg.average(a, axis=_axis(axis), weights=weights, returned=bool(returned), keepdims=flag(keepdims))


# -- running totals ------------------------------------------------------------------------------
def _without_nan(a: Any, value: Any) -> Any:
    return lg.where(lg.isnan(a), lg.full_like(a, value), a) if a.dtype.kind in "fc" else a


def _nancumsum(a: Any, **options: Any) -> Any:
    return lg.cumsum(_without_nan(a, 0), **options)


def _nancumprod(a: Any, **options: Any) -> Any:
    return lg.cumprod(_without_nan(a, 1), **options)


@numpy_functions(cumsum=lg.cumsum, cumprod=lg.cumprod, nancumsum=_nancumsum, nancumprod=_nancumprod)
def _totals(compute: Callable[..., Any], a: Array, axis: Any = None, dtype: DType = None, out: Refused = None) -> Any:
    return compute(a, axis=_axis(axis), dtype=dtype)


@numpy_functions(cumulative_sum=lg.cumulative_sum, cumulative_prod=lg.cumulative_prod)
def _standard_totals(
    compute: Callable[..., Any],
    x: Array,
    /,
    *,
    axis: Any = None,
    dtype: DType = None,
    out: Refused = None,
    include_initial: bool = False,
) -> Any:
    return compute(x, axis=_axis(axis), dtype=dtype, include_initial=bool(include_initial))


# -- order statistics ----------------------------------------------------------------------------
@numpy_functions(median=lg.median, nanmedian=lg.nanmedian)
def _medians(
    compute: Callable[..., Any],
    a: Array,
    axis: Any = None,
    out: Refused = None,
    overwrite_input: Any = False,
    keepdims: Any = UNSET,
) -> Any:
    return compute(a, axis=_axis(axis), keepdims=flag(keepdims))


@numpy_functions(
    quantile=lg.quantile, percentile=lg.percentile, nanquantile=lg.nanquantile, nanpercentile=lg.nanpercentile
)
def _quantiles(
    compute: Callable[..., Any],
    a: Array,
    q: Operand,
    axis: Any = None,
    out: Refused = None,
    overwrite_input: Any = False,
    method: str = "linear",
    keepdims: Any = UNSET,
    *,
    weights: Refused = None,
) -> Any:
    return compute(a, q, axis=_axis(axis), method=method, keepdims=flag(keepdims))


# -- spread together -----------------------------------------------------------------------------
@numpy_function()
def cov(
    m: Array,
    y: Array = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Array = None,
    aweights: Array = None,
    *,
    dtype: DType = None,
) -> Any:
    """The covariances of variables in rows."""
    m, y = cast(m, dtype), None if y is None else cast(y, dtype)
    return lg.cov(m, y, bool(rowvar), bool(bias), ddof, fweights, aweights)


@numpy_function()
def corrcoef(x: Array, y: Array = None, rowvar: bool = True, *, dtype: DType = None) -> Any:
    """The correlations of variables in rows."""
    return lg.corrcoef(cast(x, dtype), None if y is None else cast(y, dtype), bool(rowvar))


# -- between neighbours --------------------------------------------------------------------------
@numpy_function()
def trapezoid(y: Array, x: Array = None, dx: Operand = 1.0, axis: int = -1) -> Any:
    """The integral by trapezoids."""
    return lg.trapezoid(y, x, dx, axis)


@numpy_function()
def diff(a: Array, n: int = 1, axis: int = -1, prepend: Any = UNSET, append: Any = UNSET) -> Any:
    """Differences of neighbours."""
    a, axis = fits_axis(a, axis)
    if n < 0:
        raise ValueError(f"given n={n}, expected 0 or more")
    ends = [None if end is UNSET else _end(a, axis, end) for end in (prepend, append)]
    a = lg.concat([x for x in (ends[0], a, ends[1]) if x is not None], axis=axis)
    for _ in range(n):
        if a.dtype != lg.bool:
            return lg.diff(a, n=n, axis=axis)
        a = lg.logical_xor(lg.narrow(a, axis, 1, a.shape[axis] - 1), lg.narrow(a, axis, 0, a.shape[axis] - 1))
    return a


def _end(a: Any, axis: int, end: Any) -> Any:
    end = lg.asarray(end, device=a.device)
    return end if end.ndim else lg.broadcast_to(end, tuple(1 if i == axis else n for i, n in enumerate(a.shape)))


@numpy_function()
def ediff1d(ary: Array, to_end: Array = None, to_begin: Array = None) -> Any:
    """Differences of neighbours in the flattened array, with others before and after."""
    return lg.ediff1d(ary, to_end, to_begin)


@numpy_function()
def gradient(f: Array, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes along the axes: of one axis a tensor, of several a tuple."""
    steps = [step if isinstance(step, (int, float)) else lg.asarray(step, device=f.device) for step in varargs]
    return lg.gradient(f, *steps, axis=axis, edge_order=edge_order)


@numpy_function()
def unwrap(p: Array, discont: Any = None, axis: int = -1, *, period: Any = 2 * lg.pi) -> Any:
    """Angles without jumps: neighbours that differ by more than half a period come near each other."""
    p, axis = fits_axis(p, axis)
    steps = lg.diff(p, axis=axis)
    whole = p.dtype.kind in "iu" and isinstance(period, int)
    high = period // 2 if whole else period / 2
    low, at_edge = -high, not whole or period % 2 == 0
    near = (steps - low) % period + low
    if at_edge:
        near = lg.where(lg.logical_and(near == low, steps > 0), lg.full_like(near, high), near)
    jump = lg.abs(steps) < (period / 2 if discont is None else discont)
    shift = lg.where(jump, lg.zeros_like(near), (near - steps).detach())  # whole periods, which stay what they are
    first = lg.narrow(p, axis, 0, 1)
    return lg.concat([first, lg.narrow(p, axis, 1, p.shape[axis] - 1) + lg.cumulative_sum(shift, axis=axis)], axis=axis)
