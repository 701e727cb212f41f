"""Making arrays, with NumPy's dtypes: float64 where nothing is said."""

import operator
from collections.abc import Callable
from typing import Any

import lucidgrad as lg

from .entrance import (
    Array,
    DType,
    Host,
    Operand,
    Refused,
    cast,
    library,
    numpy_function,
    numpy_functions,
)


# -- from data -----------------------------------------------------------------------------------
@numpy_function()
def array(
    object: Any,
    dtype: DType = None,
    *,
    copy: Any = True,
    order: Refused = "K",
    subok: Any = False,
    ndmin: int = 0,
    ndmax: Refused = 0,
    device: Any = None,
    like: Any = None,
) -> Any:
    """A new tensor; tensors in it keep their history."""
    made = lg.asarray(object, dtype=dtype, copy=copy, device=device)
    return lg.reshape(made, (1,) * (ndmin - made.ndim) + tuple(made.shape)) if ndmin > made.ndim else made


@numpy_function(names="asarray asanyarray")
def asarray(
    a: Any,
    dtype: DType = None,
    order: Refused = None,
    *,
    device: Any = None,
    copy: Any = None,
    like: Any = None,
) -> Any:
    """A tensor, without a copy where that is possible."""
    return lg.asarray(a, dtype=dtype, copy=copy, device=device)


@numpy_function()
def ascontiguousarray(a: Any, dtype: DType = None, *, like: Any = None) -> Any:
    """A tensor with one axis at least; tensors have C's order of memory."""
    return lg.atleast_1d(lg.asarray(a, dtype=dtype))


@numpy_function()
def copy(a: Array, order: Refused = "K", subok: Any = False) -> Any:
    """A copy, with the history."""
    return lg.clone(a)


@numpy_function()
def astype(x: Array, dtype: DType, /, *, copy: bool = True, device: Any = None) -> Any:
    """In another dtype."""
    return lg.astype(x, dtype, copy=copy)


@numpy_function()
def frombuffer(buffer: Any, dtype: DType = None, count: int = -1, offset: int = 0, *, like: Any = None) -> Any:
    """The numbers in a buffer, whose memory is shared."""
    return lg.frombuffer(buffer, dtype=lg.float64 if dtype is None else dtype, count=count, offset=offset)


@numpy_function(calls=True)
def fromiter(iter: Any, dtype: DType, count: int = -1, *, like: Any = None) -> Any:
    """The numbers that an iterator gives."""
    values = list(iter) if count < 0 else [value for value, _ in zip(iter, range(count))]
    if len(values) < count:
        raise ValueError(f"given {len(values)} items, expected count={count}")
    return lg.asarray(values, dtype=dtype)


@numpy_function(calls=True)
def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: DType = float, like: Any = None, **kwargs: Any
) -> Any:
    """What a function makes of the coordinates."""
    return function(*indices(shape, dtype=dtype), **kwargs)


# -- filled --------------------------------------------------------------------------------------
def _shape(value: Any) -> tuple[int, ...]:
    value = value.tolist() if hasattr(value, "tolist") else value
    return tuple(map(operator.index, value)) if isinstance(value, (tuple, list)) else (operator.index(value),)


@numpy_functions(zeros=lg.zeros, ones=lg.ones, empty=lg.empty)
def _filled(
    compute: Callable[..., Any],
    shape: Host,
    dtype: DType = None,
    order: Refused = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Any:
    return compute(_shape(shape), dtype=dtype, device=device)


@numpy_function()
def full(
    shape: Host, fill_value: Any, dtype: DType = None, order: Refused = "C", *, device: Any = None, like: Any = None
) -> Any:
    """One value, or an array, repeated; a tensor keeps its history."""
    value = lg.asarray(fill_value, dtype=dtype, device=device)
    return lg.clone(lg.broadcast_to(value, _shape(shape)))


@numpy_functions(zeros_like=lg.zeros_like, ones_like=lg.ones_like)
def _filled_like(
    compute: Callable[..., Any],
    a: Array,
    dtype: DType = None,
    order: Refused = "K",
    subok: Any = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    a = a if shape is None else lg.broadcast_to(lg.zeros((), dtype=a.dtype, device=a.device), _shape(shape))
    return compute(a, dtype=dtype, device=device)


@numpy_function()
def empty_like(
    prototype: Array,
    /,
    dtype: DType = None,
    order: Refused = "K",
    subok: Any = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """Zeros, which nobody should rely on."""
    return _filled_like(lg.zeros_like, prototype, dtype, order, subok, shape, device=device)


@numpy_function()
def full_like(
    a: Array,
    fill_value: Any,
    dtype: DType = None,
    order: Refused = "K",
    subok: Any = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """One value, or an array, in another's shape and dtype; a tensor keeps its history."""
    base = _filled_like(lg.zeros_like, a, dtype, order, subok, shape, device=device)
    value = cast(lg.asarray(fill_value, device=base.device), base.dtype)
    return lg.logical_or(base, value) if base.dtype == lg.bool else base + value


@numpy_function()
def eye(
    N: int,
    M: Any = None,
    k: int = 0,
    dtype: DType = float,
    order: Refused = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Any:
    """Ones on a diagonal."""
    return lg.eye(int(N), None if M is None else int(M), k=int(k), dtype=_double(dtype), device=device)


def _double(dtype: Any) -> Any:
    """A dtype; a default that Python spells."""
    return lg.float64 if dtype is None or dtype is float else dtype


@numpy_function()
def identity(n: int, dtype: DType = None, *, device: Any = None, like: Any = None) -> Any:
    """Ones on the main diagonal."""
    return lg.eye(int(n), dtype=_double(dtype), device=device)


@numpy_function()
def tri(N: int, M: Any = None, k: int = 0, dtype: DType = float, *, device: Any = None, like: Any = None) -> Any:
    """Ones on and below a diagonal."""
    return lg.tril(lg.ones((int(N), int(N if M is None else M)), dtype=_double(dtype), device=device), k=int(k))


@numpy_function()
def vander(x: Array, N: Any = None, increasing: bool = False) -> Any:
    """The powers of numbers, in columns; of small integers, in int64."""
    return lg.vander(cast(x, lg.int64) if x.dtype.kind in "biu" else x, N, bool(increasing))


# -- evenly spaced -------------------------------------------------------------------------------
@numpy_function()
def arange(
    start_or_stop: Any, /, stop: Any = None, step: Any = 1, *, dtype: DType = None, device: Any = None, like: Any = None
) -> Any:
    """Numbers up to before another one."""
    for value in (start_or_stop, stop, step):
        _must_be_constant("arange", value)
    return lg.arange(start_or_stop, stop, step, dtype=dtype, device=device)


def _must_be_constant(name: str, value: Any) -> None:
    if isinstance(value, lg.Tensor) and value.requires_grad:
        raise RuntimeError(f"{name}: given a tensor that requires grad, whose value decides about a shape; detach it")


@numpy_function()
def linspace(
    start: Operand,
    stop: Operand,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DType = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Evenly spaced numbers between two; of tensors, with gradients to both ends."""
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"given num={num}, expected 0 or more")
    y, start, stop = _between(start, stop, num, endpoint, device)
    y = y if axis == 0 else lg.moveaxis(y, 0, axis)
    parts = num - 1 if endpoint else num
    if dtype is not None:
        y = cast(lg.floor(y) if dtype.kind in "iu" else y, dtype)
    if not retstep:
        return y
    return y, (stop - start) / parts if parts > 0 else lg.full((), lg.nan, dtype=y.dtype, device=y.device)


def _between(start: Any, stop: Any, num: int, endpoint: Any, device: Any = None) -> tuple[Any, Any, Any]:
    """Evenly spaced numbers along a new first axis, exact at both ends; and the ends as floats."""
    where = device or next((x.device for x in (start, stop) if isinstance(x, lg.Tensor)), None)
    start, stop = (lg.asarray(x, device=where) for x in (start, stop))
    kind = lg.result_type(start, stop, 1.0)
    kind = kind if kind.kind in "fc" else lg.float64
    start, stop = (cast(x, kind) for x in (start, stop))
    part = lg.linspace(0.0, 1.0, num, endpoint=bool(endpoint), dtype=lg.float64, device=start.device)
    part = cast(lg.reshape(part, (num,) + (1,) * max(start.ndim, stop.ndim)), kind)
    return start * (1 - part) + stop * part, start, stop


@numpy_function()
def logspace(
    start: Operand,
    stop: Operand,
    num: int = 50,
    endpoint: bool = True,
    base: Operand = 10.0,
    dtype: DType = None,
    axis: int = 0,
) -> Any:
    """The powers of a base whose exponents are evenly spaced."""
    ranks = [getattr(x, "ndim", 0) for x in (start, stop, base)]
    if ranks[2] and max(ranks) > max(ranks[:2]):  # a base for each of several rows
        start = lg.reshape(lg.asarray(start, device=base.device), (1,) * (max(ranks) - ranks[0]) + _shape_of(start))
    y = lg.pow(base, _between(start, stop, num, endpoint)[0])
    return cast(y if axis == 0 else lg.moveaxis(y, 0, axis), dtype)


def _shape_of(x: Any) -> tuple[int, ...]:
    return tuple(getattr(x, "shape", ()))


@numpy_function()
def geomspace(
    start: Operand, stop: Operand, num: int = 50, endpoint: bool = True, dtype: DType = None, axis: int = 0
) -> Any:
    """Numbers between two, each the same multiple of the one before."""
    part, low, high = _between(start, stop, num, endpoint)
    part = lg.linspace(0.0, 1.0, num, endpoint=bool(endpoint), dtype=lg.float64, device=part.device)
    part = lg.reshape(part, (num,) + (1,) * max(low.ndim, high.ndim))
    y = low * (high / low) ** cast(part, low.dtype)
    return cast(y if axis == 0 else lg.moveaxis(y, 0, axis), dtype)


@numpy_function()
def meshgrid(*xi: Array, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    """The coordinates of a grid, from those along its axes."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"given indexing={indexing!r}, expected 'xy' or 'ij'")
    order = list(range(len(xi)))
    order[:2] = order[1::-1] if indexing == "xy" and len(xi) > 1 else order[:2]
    grids = [lg.reshape(x, tuple(-1 if order[k] == i else 1 for i in range(len(xi)))) for k, x in enumerate(xi)]
    return tuple(grids if sparse else lg.broadcast_arrays(*grids))


# -- indices -------------------------------------------------------------------------------------
def _wrapped(name: str) -> Callable[..., Any]:
    """One of NumPy's functions that make integers of integers, with tensors as its results."""

    def compute(*args: Any, **options: Any) -> Any:
        found = getattr(library(), name)(*args, **options)
        return tuple(map(lg.asarray, found)) if isinstance(found, tuple) else lg.asarray(found)

    compute.__name__ = name
    return compute


@numpy_function()
def indices(dimensions: Any, dtype: DType = int, sparse: bool = False) -> Any:
    """The coordinates of each place."""
    return _wrapped("indices")(_shape(dimensions), dtype, sparse)


@numpy_functions(tril_indices=_wrapped("tril_indices"), triu_indices=_wrapped("triu_indices"))
def _triangle_indices(compute: Callable[..., Any], n: int, k: int = 0, m: Any = None) -> Any:
    return compute(n, k, m)


@numpy_functions(tril_indices_from=_wrapped("tril_indices"), triu_indices_from=_wrapped("triu_indices"))
def _triangle_indices_from(compute: Callable[..., Any], arr: Array, k: int = 0) -> Any:
    if arr.ndim != 2:
        raise ValueError(f"given an array of dimension {arr.ndim}, expected 2")
    return tuple(i.to(arr.device) for i in compute(arr.shape[-2], k=k, m=arr.shape[-1]))


@numpy_function()
def diag_indices(n: int, ndim: int = 2) -> Any:
    """The places of the main diagonal."""
    return _wrapped("diag_indices")(n, ndim)


@numpy_function()
def diag_indices_from(arr: Array) -> Any:
    """The places of an array's main diagonal."""
    if arr.ndim < 2 or len(set(arr.shape)) != 1:
        raise ValueError(f"given the shape {arr.shape}, expected at least two axes, all of one length")
    return tuple(i.to(arr.device) for i in _wrapped("diag_indices")(arr.shape[0], arr.ndim))


@numpy_function()
def ix_(*args: Array) -> tuple[Any, ...]:
    """An open grid of places, from those along each axis."""
    if any(x.ndim != 1 for x in args):
        raise ValueError("given an array that is no vector, expected one for each axis")
    args = tuple(lg.nonzero(x)[0] if x.dtype == lg.bool else x for x in args)
    return tuple(lg.reshape(x, tuple(-1 if i == k else 1 for i in range(len(args)))) for k, x in enumerate(args))


@numpy_function()
def unravel_index(indices: Array, shape: Any, order: Refused = "C") -> Any:
    """Places in a flattened array as coordinates."""
    return tuple(lg.unravel_index(indices, _shape(shape)))


@numpy_function()
def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: Refused = "C") -> Any:
    """Coordinates as places in a flattened array."""
    dims, place = _shape(dims), 0
    for i, n in zip(multi_index, dims, strict=True):
        place = place * n + within(lg.asarray(i), n, mode, False)
    return place


def within(i: Any, n: int, mode: str, from_end: bool = True) -> Any:
    """Indices as NumPy's mode says: checked, wrapped around, or clipped."""
    if mode == "wrap":
        return i % n
    if mode == "clip":
        return lg.clip(i, 0, n - 1)
    if mode != "raise":
        raise ValueError(f"given mode={mode!r}, expected 'raise', 'wrap' or 'clip'")
    low = -n if from_end else 0
    if i.size and bool(lg.any(lg.logical_or(i < low, i >= n))):
        raise IndexError(f"given an index outside of an axis of length {n}")
    return i


# -- windows -------------------------------------------------------------------------------------
@numpy_functions(
    bartlett=_wrapped("bartlett"),
    blackman=_wrapped("blackman"),
    hamming=_wrapped("hamming"),
    hanning=_wrapped("hanning"),
)
def _windows(compute: Callable[..., Any], M: Any) -> Any:
    return compute(M)


@numpy_function()
def kaiser(M: Any, beta: Any) -> Any:
    """Kaiser's window."""
    return _wrapped("kaiser")(M, beta)
