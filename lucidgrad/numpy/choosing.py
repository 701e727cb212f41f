"""Choosing, ordering, counting and writing elements."""

from collections.abc import Callable
from typing import Any

import lucidgrad as lg

from .entrance import (
    UNSET,
    Array,
    Arrays,
    DType,
    Operand,
    Refused,
    cast,
    fits_axis,
    library,
    numpy_function,
    numpy_functions,
    values_of,
)
from .making import within


# -- by conditions -------------------------------------------------------------------------------
@numpy_function()
def where(condition: Array, x: Operand = UNSET, y: Operand = UNSET, /) -> Any:
    """One or the other, as a condition says; with the condition alone, where it holds."""
    given = [value is not UNSET and value is not None for value in (x, y)]
    if not any(given):
        return tuple(lg.nonzero(condition))
    if not all(given):
        raise ValueError("given one of x and y, expected both or neither")
    return lg.where(_truth(condition), x, y)


def _truth(condition: Any) -> Any:
    return condition if condition.dtype == lg.bool else condition != 0


@numpy_function()
def select(condlist: Arrays, choicelist: Any, default: Operand = 0) -> Any:
    """For each place, the first choice whose condition holds there."""
    choices = [choice if isinstance(choice, (int, float, lg.Tensor)) else lg.asarray(choice) for choice in choicelist]
    return lg.select(condlist, choices, default)


@numpy_function()
def choose(a: Array, choices: Arrays, out: Refused = None, mode: str = "raise") -> Any:
    """For each place, the choice whose number stands there."""
    kind = lg.result_type(*choices)
    a, *choices = lg.broadcast_arrays(within(a, len(choices), mode, False), *choices)
    table = lg.stack([cast(choice, kind) for choice in choices], axis=0)
    return lg.take_along_axis(table, lg.expand_dims(cast(a, lg.int64), axis=0), axis=0)[0]


@numpy_function(calls=True)
def piecewise(x: Array, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Each function on the elements where its condition holds; of several, the last one counts."""
    if isinstance(condlist, lg.Tensor) or not isinstance(condlist, (list, tuple)) or not _is_nested(condlist, x):
        condlist = [condlist]
    conditions = [_truth(lg.asarray(c, device=x.device)) for c in condlist]
    if len(funclist) == len(conditions) + 1:
        rest = lg.ones_like(conditions[0])
        for condition in conditions:
            rest = lg.logical_and(rest, lg.logical_not(condition))
        conditions.append(rest)
    if len(funclist) != len(conditions):
        raise ValueError(f"given {len(conditions)} conditions and {len(funclist)} functions, expected as many")
    y = lg.zeros_like(x)
    for condition, function in zip(conditions, funclist):
        value = function(x[condition], *args, **kw) if callable(function) else function
        y = _written(y, condition, lg.asarray(value, dtype=x.dtype, device=x.device))
    return y


def _is_nested(condlist: Any, x: Any) -> bool:
    return not condlist or isinstance(condlist[0], (list, tuple)) or getattr(condlist[0], "ndim", 0) > 0 or not x.ndim


def _written(x: Any, mask: Any, values: Any) -> Any:
    """A copy with values, in order, where a mask holds."""
    values = values if values.ndim else lg.broadcast_to(values, (int(lg.count_nonzero(mask)),))
    return lg.masked_scatter(x, lg.broadcast_to(mask, x.shape), values)


@numpy_function()
def compress(condition: Array, a: Array, axis: Any = None, out: Refused = None) -> Any:
    """The parts along an axis where a condition holds."""
    a, axis = fits_axis(a, axis)
    return lg.take(a, lg.nonzero(_truth(condition))[0], axis=axis)


@numpy_function()
def extract(condition: Array, arr: Array) -> Any:
    """The elements where a condition holds."""
    return lg.take(lg.reshape(arr, (-1,)), lg.nonzero(lg.reshape(condition, (-1,)))[0], axis=0)


@numpy_function()
def nonzero(a: Array) -> tuple[Any, ...]:
    """Where elements are not zero, an array for each axis."""
    return tuple(lg.nonzero(a))


@numpy_function()
def flatnonzero(a: Array) -> Any:
    """Where elements of the flattened array are not zero."""
    return lg.nonzero(lg.reshape(a, (-1,)))[0]


@numpy_function()
def argwhere(a: Array) -> Any:
    """Where elements are not zero, a row for each."""
    return lg.argwhere(a)


# -- by place ------------------------------------------------------------------------------------
@numpy_function()
def take(a: Array, indices: Array, axis: Any = None, out: Refused = None, mode: str = "raise") -> Any:
    """The parts at places along an axis; of the flattened array if there is none."""
    a, axis = fits_axis(a, axis)
    return lg.take(a, indices if mode == "raise" else within(indices, a.shape[axis], mode), axis=axis)


@numpy_function()
def take_along_axis(arr: Array, indices: Array, axis: Any = -1) -> Any:
    """Elements at places that may differ from row to row."""
    arr, axis = fits_axis(arr, axis)
    return lg.take_along_axis(arr, indices, axis=axis)


# -- writing: into tensors alone -----------------------------------------------------------------
def _target(name: str, x: Any) -> Any:
    if not isinstance(x, lg.Tensor):
        raise TypeError(
            f"numpy.{name}: given an array to write a tensor's values into, which would lose their history; make the "
            f"array a tensor first"
        )
    return x


@numpy_function()
def copyto(dst: Any, src: Operand, casting: Refused = "same_kind", where: Operand = True) -> None:
    """Write values into a tensor, everywhere or where a condition holds."""
    dst = _target("copyto", dst)
    src = lg.broadcast_to(cast(lg.asarray(src, device=dst.device), dst.dtype), dst.shape)
    dst.copy_(src if where is True else lg.where(_truth(lg.asarray(where, device=dst.device)), src, dst))


@numpy_function()
def put(a: Any, ind: Array, v: Array, mode: str = "raise") -> None:
    """Write values at places of the flattened tensor."""
    a = _target("put", a)
    n = int(a.size)
    ind = lg.reshape(within(ind, n, mode), (-1,))
    flat = lg.index_put(lg.reshape(a, (-1,)), (ind,), _cycled(v, ind.shape[0], a.dtype))
    a.copy_(lg.reshape(flat, a.shape))


def _cycled(values: Any, n: int, dtype: Any) -> Any:
    """So many values, from the beginning again where there are fewer."""
    flat = lg.reshape(cast(values, dtype), (-1,))
    if not flat.shape[0]:
        raise ValueError("given no values, expected some to write")
    return lg.take(flat, lg.asarray(library().arange(n) % flat.shape[0], device=flat.device), axis=0)


@numpy_function()
def place(arr: Any, mask: Array, vals: Array) -> None:
    """Write values, in order, where a mask holds."""
    arr = _target("place", arr)
    mask = _truth(mask)
    arr.copy_(_written(arr, mask, _cycled(vals, int(lg.count_nonzero(mask)), arr.dtype)))


@numpy_function()
def putmask(a: Any, /, mask: Array, values: Array) -> None:
    """Write the values that stand at the places where a mask holds."""
    a = _target("putmask", a)
    a.copy_(lg.where(_truth(mask), lg.reshape(_cycled(values, int(a.size), a.dtype), a.shape), a))


@numpy_function()
def put_along_axis(arr: Any, indices: Array, values: Array, axis: Any) -> None:
    """Write at places that may differ from row to row."""
    whole = _target("put_along_axis", arr)
    arr, axis = fits_axis(whole, axis)
    values = lg.broadcast_to(cast(values, arr.dtype), indices.shape)
    whole.copy_(lg.reshape(lg.scatter(arr, axis, within(indices, arr.shape[axis], "raise"), values), whole.shape))


@numpy_function()
def fill_diagonal(a: Any, val: Array, wrap: bool = False) -> None:
    """Write on the main diagonal."""
    a = _target("fill_diagonal", a)
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) != 1):
        raise ValueError(f"given the shape {a.shape}, expected a matrix, or axes of one length")
    step = 1 + sum(library().cumprod(a.shape[:0:-1]).tolist())
    end = a.shape[1] * a.shape[1] if a.ndim == 2 and not wrap else int(a.size)
    at = library().arange(int(a.size))[:end:step]
    flat = lg.reshape(a, (-1,))
    flat = lg.index_put(flat, (lg.asarray(at, device=a.device),), _cycled(val, len(at), a.dtype))
    a.copy_(lg.reshape(flat, a.shape))


# -- by order ------------------------------------------------------------------------------------
@numpy_function()
def sort(a: Array, axis: Any = -1, kind: Any = None, order: Refused = None, *, stable: Any = None) -> Any:
    """In rising order."""
    a, axis = fits_axis(a, axis)
    return lg.sort(a, axis=axis)


@numpy_function()
def argsort(a: Array, axis: Any = -1, kind: Any = None, order: Refused = None, *, stable: Any = None) -> Any:
    """The places of the elements in rising order; equal ones stay in order."""
    a, axis = fits_axis(a, axis)
    return lg.argsort(a, axis=axis)


@numpy_functions(partition=lg.sort, argpartition=lg.argsort)
def _partitions(
    compute: Callable[..., Any], a: Array, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Refused = None
) -> Any:
    a, axis = fits_axis(a, axis)
    for k in library().atleast_1d(kth).tolist():
        if not -a.shape[axis] <= k < a.shape[axis]:
            raise ValueError(f"given kth={k}, expected a place in an axis of length {a.shape[axis]}")
    return compute(a, axis=axis)  # sorted, which is one of the partitions


@numpy_function()
def sort_complex(a: Array) -> Any:
    """Sorted by real parts, then by imaginary ones; as complex numbers."""
    a = a if a.dtype.kind == "c" else cast(a, lg.complex64 if a.dtype in (lg.float32, lg.float16) else lg.complex128)
    order = _lexsorted([lg.imag(a.detach()), lg.real(a.detach())], a.ndim - 1)
    return lg.take_along_axis(a, order, axis=-1)


@numpy_function()
def lexsort(keys: Arrays, axis: int = -1) -> Any:
    """The places in the order of several keys, of which the last counts most."""
    return _lexsorted(keys, fits_axis(keys[0], axis)[1] if keys[0].ndim else 0)


def _lexsorted(keys: Any, axis: int) -> Any:
    order = lg.argsort(keys[0], axis=axis)
    for key in keys[1:]:
        order = lg.take_along_axis(order, lg.argsort(lg.take_along_axis(key, order, axis=axis), axis=axis), axis=axis)
    return order


@numpy_function()
def searchsorted(a: Array, v: Operand, side: str = "left", sorter: Array = None) -> Any:
    """Where values would have to stand among sorted ones."""
    return lg.searchsorted(a, lg.asarray(v, device=a.device), side=side, sorter=sorter)


@numpy_function()
def digitize(x: Array, bins: Array, right: bool = False) -> Any:
    """The numbers of the bins that values belong to."""
    return lg.digitize(x, bins, bool(right))


# -- sets ----------------------------------------------------------------------------------------
@numpy_function()
def unique(
    ar: Array,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The different elements, in rising order."""
    return lg.unique(ar, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan, sorted=sorted)


@numpy_functions(
    unique_all=lg.unique_all,
    unique_counts=lg.unique_counts,
    unique_inverse=lg.unique_inverse,
    unique_values=lg.unique_values,
)
def _uniques(compute: Callable[..., Any], x: Array) -> Any:
    return compute(x)


def _flat_unique(x: Any, assume_unique: bool) -> Any:
    return lg.reshape(x, (-1,)) if assume_unique else lg.unique(x)


@numpy_function()
def intersect1d(ar1: Array, ar2: Array, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The elements of both, in rising order."""
    a, b = (lg.reshape(x, (-1,)) for x in (ar1, ar2))
    values, first = lg.unique(a, return_index=True)
    kept = lg.isin(values, b)
    values, first = values[kept], first[kept]
    if not return_indices:
        return values
    others, second = lg.unique(b, return_index=True)
    return values, first, second[lg.isin(others, values)]


@numpy_function()
def union1d(ar1: Array, ar2: Array) -> Any:
    """The elements of either, in rising order."""
    return lg.unique(lg.concat([ar1, ar2], axis=None))


@numpy_function()
def setdiff1d(ar1: Array, ar2: Array, assume_unique: bool = False) -> Any:
    """The elements of one that the other has not."""
    a = _flat_unique(ar1, assume_unique)
    return a[lg.logical_not(lg.isin(a, lg.reshape(ar2, (-1,))))]


@numpy_function()
def setxor1d(ar1: Array, ar2: Array, assume_unique: bool = False) -> Any:
    """The elements of one of them alone, in rising order."""
    a, b = (_flat_unique(x, assume_unique) for x in (ar1, ar2))
    apart = [x[lg.logical_not(lg.isin(x, y))] for x, y in ((a, b), (b, a))]
    return lg.sort(lg.concat(apart, axis=0))


@numpy_function()
def isin(
    element: Array, test_elements: Array, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    """Whether elements are among others."""
    return lg.isin(element, test_elements, invert=bool(invert))


# -- counts --------------------------------------------------------------------------------------
@numpy_function()
def bincount(x: Array, /, weights: Array = None, minlength: int = 0) -> Any:
    """How often each number occurs, or the weights of these."""
    return lg.bincount(x, weights if weights is None else cast(weights, lg.float64), int(minlength))


def _range(value: Any) -> Any:
    return None if value is None else tuple(float(v) for v in value)


@numpy_function()
def histogram(a: Array, bins: Any = 10, range: Any = None, density: Any = None, weights: Array = None) -> Any:
    """How many elements, or what weight, each bin has; and the edges."""
    return tuple(lg.histogram(a, _bins(a, bins, range, weights), _range(range), density, weights))


@numpy_function()
def histogram_bin_edges(a: Array, bins: Any = 10, range: Any = None, weights: Array = None) -> Any:
    """The edges of a histogram's bins."""
    return lg.histogram(a, _bins(a, bins, range, weights), _range(range))[1]


def _bins(a: Any, bins: Any, range: Any, weights: Any) -> Any:
    """A number of bins or their edges; those that a rule finds depend on values, which are constants."""
    if isinstance(bins, str):
        edges = library().histogram_bin_edges(values_of(a), bins, range, weights)
        return lg.asarray(edges, device=a.device)
    return bins if isinstance(bins, int) else lg.asarray(bins, device=a.device)


@numpy_function()
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Array = None) -> Any:
    """How many points each cell of a grid has; and the edges along each axis, in a tuple."""
    if not isinstance(sample, lg.Tensor) and isinstance(sample, (list, tuple)):
        sample = lg.stack([lg.asarray(part) for part in sample], axis=-1)
    sample = lg.asarray(sample)
    return _histogramdd(sample, bins, range, density, weights)


def _histogramdd(sample: Any, bins: Any, range: Any, density: Any, weights: Any) -> Any:
    if isinstance(bins, (list, tuple)):
        bins = [b if isinstance(b, int) else lg.asarray(b, device=sample.device) for b in bins]
    count, edges = lg.histogramdd(sample, bins, range, density, weights)
    return (count if count.dtype.kind == "f" else cast(count, lg.float64)), tuple(edges)


@numpy_function()
def histogram2d(
    x: Array, y: Array, bins: Any = 10, range: Any = None, density: Any = None, weights: Array = None
) -> Any:
    """How many points each cell of a grid in the plane has; and the edges along both axes."""
    if not isinstance(bins, (int, str)) and len(bins) not in (1, 2):
        edges = lg.asarray(bins, device=x.device)
        bins = [edges, edges]
    count, edges = _histogramdd(lg.stack([x, y], axis=-1), bins, range, density, weights)
    return (count, *edges)


# -- bits ----------------------------------------------------------------------------------------
@numpy_function()
def packbits(a: Array, /, axis: Any = None, bitorder: Any = "big") -> Any:
    """Eight truth values in a byte."""
    return lg.asarray(library().packbits(values_of(a), axis, bitorder), device=a.device)


@numpy_function()
def unpackbits(a: Array, /, axis: Any = None, count: Any = None, bitorder: Any = "big") -> Any:
    """The bits of bytes."""
    return lg.asarray(library().unpackbits(values_of(a), axis, count, bitorder), device=a.device)


# -- bounds and comparison -----------------------------------------------------------------------
@numpy_function()
def clip(
    a: Array,
    a_min: Operand = UNSET,
    a_max: Operand = UNSET,
    out: Refused = None,
    *,
    min: Operand = UNSET,
    max: Operand = UNSET,
    dtype: DType = None,
) -> Any:
    """Not below one bound, not above another."""
    low, high = (next((v for v in pair if v is not UNSET), None) for pair in ((a_min, min), (a_max, max)))
    return lg.clip(cast(a, dtype), low, high)


@numpy_function()
def nan_to_num(x: Array, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """With numbers in place of NaN and infinities."""
    if not copy:
        raise TypeError("given copy=False, which would write into the tensor; leave it out")
    return lg.nan_to_num(x, nan, posinf, neginf) if x.dtype.kind in "fc" else x


@numpy_functions(around=lg.round, round=lg.round)
def _rounding(compute: Callable[..., Any], a: Array, decimals: int = 0, out: Refused = None) -> Any:
    return compute(a, decimals=int(decimals))


@numpy_functions(fix=lg.trunc, isneginf=lg.isneginf, isposinf=lg.isposinf)
def _with_out(compute: Callable[..., Any], x: Array, out: Refused = None) -> Any:
    return compute(x)


@numpy_functions(isreal=lg.isreal, iscomplex=lambda x: lg.logical_not(lg.isreal(x)), i0=lg.i0, sinc=lg.sinc)
def _plain(compute: Callable[..., Any], x: Array) -> Any:
    return compute(x)


@numpy_functions(real=lg.real, imag=lg.imag)
def _parts(compute: Callable[..., Any], val: Array) -> Any:
    if val.dtype.kind == "c":
        return compute(val)
    return val if compute is lg.real else lg.zeros_like(val)


@numpy_function()
def angle(z: Array, deg: bool = False) -> Any:
    """The angles of complex numbers."""
    y = lg.angle(z)
    return lg.rad2deg(y) if deg else y


@numpy_function()
def real_if_close(a: Array, tol: Any = 100) -> Any:
    """The real parts, if all imaginary ones are next to nothing."""
    if a.dtype.kind != "c":
        return a
    bound = tol * lg.finfo(a.dtype).eps if tol > 1 else tol
    return lg.real(a) if bool(lg.all(lg.abs(lg.imag(a.detach())) < bound)) else a


@numpy_functions(allclose=lg.allclose, isclose=lg.isclose)
def _closeness(
    compute: Callable[..., Any], a: Operand, b: Operand, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Any:
    a, b = (x if isinstance(x, lg.Tensor) else lg.asarray(x) for x in (a, b))
    return compute(a, b, rtol=rtol, atol=atol, equal_nan=bool(equal_nan))


@numpy_function()
def array_equal(a1: Array, a2: Array, equal_nan: bool = False) -> bool:
    """Whether shapes and elements are the same."""
    return bool(lg.array_equal(a1, a2, equal_nan=bool(equal_nan)))


@numpy_function()
def array_equiv(a1: Array, a2: Array) -> bool:
    """Whether elements are the same once shapes are."""
    try:
        a1, a2 = lg.broadcast_arrays(a1, a2)
    except ValueError:
        return False
    return bool(lg.all(a1 == a2))
