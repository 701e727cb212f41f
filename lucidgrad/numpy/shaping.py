"""The shapes of arrays: axes, parts, joints, edges."""

import builtins
import functools
import operator
from collections.abc import Callable
from typing import Any

import lucidgrad as lg
from lucidgrad.core.errors import AxisError

from .entrance import (
    Array,
    Arrays,
    DType,
    Host,
    Refused,
    array,
    cast,
    fits_axis,
    library,
    numpy_function,
    numpy_functions,
    values_of,
    where_among,
)


# -- what they are -------------------------------------------------------------------------------
@numpy_function()
def ndim(a: Array) -> int:
    """The number of axes."""
    return int(a.ndim)


@numpy_function()
def shape(a: Array) -> tuple[int, ...]:
    """The length of each axis."""
    return tuple(a.shape)


@numpy_function()
def size(a: Array, axis: Any = None) -> int:
    """The number of elements, or the length of an axis."""
    axes = range(a.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    n = 1
    for k in axes:
        n *= a.shape[k]
    return n


@numpy_function()
def iscomplexobj(x: Array) -> bool:
    """Whether the dtype is complex."""
    return bool(x.dtype.kind == "c")


@numpy_function()
def isrealobj(x: Array) -> bool:
    """Whether the dtype is not complex."""
    return bool(x.dtype.kind != "c")


# -- axes ----------------------------------------------------------------------------------------
def _shape(value: Any) -> tuple[int, ...]:
    return tuple(map(operator.index, value)) if isinstance(value, (tuple, list)) else (operator.index(value),)


@numpy_function()
def reshape(a: Array, /, shape: Host, order: Any = "C", *, copy: Any = None) -> Any:
    """The same elements in another shape; ``order="F"``: with the first axis as the fastest."""
    shape = _shape(shape.tolist() if hasattr(shape, "tolist") else shape)
    if order == "F":
        reversed_ = lg.reshape(lg.transpose(a), shape[::-1], copy=copy)
        return lg.transpose(reversed_)
    if order not in ("C", "A", "K"):
        raise ValueError(f"given order={order!r}, expected 'C', 'F' or 'A'")
    return lg.reshape(a, shape, copy=copy)


@numpy_function()
def ravel(a: Array, order: Any = "C") -> Any:
    """All elements in one axis."""
    return reshape(a, (-1,), order)


@numpy_function(names="transpose permute_dims")
def transpose(a: Array, axes: Any = None) -> Any:
    """The axes in another order; reversed if none is given."""
    return lg.transpose(a, None if axes is None else tuple(axes))


@numpy_functions(matrix_transpose=lg.matrix_transpose)
def _matrices(compute: Callable[..., Any], x: Array, /) -> Any:
    return compute(x)


@numpy_function()
def swapaxes(a: Array, axis1: int, axis2: int) -> Any:
    """With two axes swapped."""
    return lg.swapaxes(a, axis1, axis2)


@numpy_function()
def moveaxis(a: Array, source: Any, destination: Any) -> Any:
    """With axes at other places."""
    return lg.moveaxis(a, source, destination)


@numpy_function()
def rollaxis(a: Array, axis: int, start: int = 0) -> Any:
    """With an axis moved backwards until it is before another."""
    a, axis = fits_axis(a, axis)
    if not -a.ndim <= start <= a.ndim:
        raise AxisError(f"given start={start}, which is out of range for an array of dimension {a.ndim}")
    start = start + a.ndim if start < 0 else start
    return lg.moveaxis(a, axis, start - 1 if axis < start else start)


@numpy_function()
def expand_dims(a: Array, axis: Any) -> Any:
    """With new axes of length one."""
    return lg.expand_dims(a, axis=axis if isinstance(axis, int) else tuple(axis))


@numpy_function()
def squeeze(a: Array, axis: Any = None) -> Any:
    """Without axes of length one."""
    if axis is None:
        axis = tuple(i for i, n in enumerate(a.shape) if n == 1)
    return lg.squeeze(a, axis=axis) if axis != () else a


@numpy_functions(atleast_1d=lg.atleast_1d, atleast_2d=lg.atleast_2d, atleast_3d=lg.atleast_3d)
def _at_least(compute: Callable[..., Any], *arys: Array) -> Any:
    return compute(*arys)


@numpy_function()
def broadcast_to(array: Array, shape: Any, subok: Any = False) -> Any:
    """Repeated to a shape."""
    return lg.broadcast_to(array, _shape(shape))


@numpy_function()
def broadcast_arrays(*args: Any, subok: Any = False) -> tuple[Any, ...]:
    """Repeated to the shape they have in common; what is no number, such as None or text, stays an array of NumPy's."""
    xp, where = library(), where_among(args)
    made = [_numbers_or_objects(x, where) for x in args]
    shape = xp.broadcast_shapes(*(tuple(x.shape) for x in made))
    return tuple((lg if isinstance(x, lg.Tensor) else xp).broadcast_to(x, shape) for x in made)


def _numbers_or_objects(x: Any, where: Any) -> Any:
    try:
        return library().asarray(x) if x is None else array(x, where)
    except TypeError:  # lucidgrad's, of data that are no numbers
        return library().asarray(x)


# -- joints --------------------------------------------------------------------------------------
@numpy_function(names="concatenate concat")
def concatenate(
    arrays: Arrays, /, axis: Any = 0, out: Refused = None, *, dtype: DType = None, casting: Refused = "same_kind"
) -> Any:
    """One after the other along an axis; flattened if it is None."""
    return lg.concat([cast(x, dtype) for x in arrays], axis=axis)


@numpy_function()
def stack(
    arrays: Arrays, axis: int = 0, out: Refused = None, *, dtype: DType = None, casting: Refused = "same_kind"
) -> Any:
    """One after the other along a new axis."""
    return lg.stack([cast(x, dtype) for x in arrays], axis=axis)


@numpy_functions(vstack=lg.vstack, row_stack=lg.vstack, hstack=lg.hstack)
def _stacks(compute: Callable[..., Any], tup: Arrays, *, dtype: DType = None, casting: Refused = "same_kind") -> Any:
    return compute([cast(x, dtype) for x in tup])


@numpy_functions(dstack=lg.dstack, column_stack=lg.column_stack)
def _columns(compute: Callable[..., Any], tup: Arrays) -> Any:
    return compute(tup)


@numpy_function()
def block(arrays: Any) -> Any:
    """Nested lists of blocks, joined along the last axes: the innermost along the last."""

    def depth(part: Any) -> int:
        return 1 + builtins.max(map(depth, part)) if isinstance(part, list) else 0

    levels, where = depth(arrays), where_among(arrays)

    def leaves(part: Any) -> Any:
        return [leaves(inner) for inner in part] if isinstance(part, list) else lg.asarray(part, device=where)

    def rank(part: Any) -> int:
        return builtins.max(map(rank, part)) if isinstance(part, list) else int(part.ndim)

    made = leaves(arrays)
    dimension = builtins.max(rank(made), levels)

    def joined(part: Any, level: int) -> Any:
        if isinstance(part, list):
            if not part:
                raise ValueError("given an empty list among the blocks, expected arrays")
            return lg.concat([joined(inner, level + 1) for inner in part], axis=level - levels)
        return lg.reshape(part, (1,) * (dimension - part.ndim) + tuple(part.shape))

    return joined(made, 0)


@numpy_function()
def append(arr: Array, values: Array, axis: Any = None) -> Any:
    """With values after the end; both flattened if there is no axis."""
    if axis is None:
        arr, values, axis = lg.reshape(arr, (-1,)), lg.reshape(values, (-1,)), 0
    return lg.concat([arr, values], axis=axis)


@numpy_function()
def insert(arr: Array, obj: Host, values: Array, axis: Any = None) -> Any:
    """With values before places along an axis; in the flattened array if there is none."""
    arr, axis = fits_axis(arr, axis)
    xp, n = library(), arr.shape[axis]
    at = xp.arange(n + 1)[obj] if isinstance(obj, slice) else xp.asarray(obj)
    at = xp.flatnonzero(at) if at.dtype == bool else at
    values = cast(values, arr.dtype)
    values = lg.reshape(values, (1,) * (arr.ndim - values.ndim) + tuple(values.shape))
    if at.ndim == 0:
        values = lg.moveaxis(values, 0, axis)
    count = values.shape[axis] if at.size == 1 else at.size
    values = lg.broadcast_to(values, tuple(count if i == axis else m for i, m in enumerate(arr.shape)))
    order = xp.insert(xp.arange(n), at.item() if at.size == 1 else at.astype(int), n + xp.arange(count))
    return lg.take(lg.concat([arr, values], axis=axis), _indices(order, arr), axis=axis)


@numpy_function()
def delete(arr: Array, obj: Host, axis: Any = None) -> Any:
    """Without places along an axis; of the flattened array if there is none."""
    arr, axis = fits_axis(arr, axis)
    kept = library().delete(library().arange(arr.shape[axis]), obj)
    return lg.take(arr, _indices(kept, arr), axis=axis)


def _indices(values: Any, like: Any) -> Any:
    return lg.asarray(values, device=like.device)


@numpy_function()
def resize(a: Array, new_shape: Any) -> Any:
    """The elements in another shape, repeated as often as it takes."""
    new_shape = _shape(new_shape)
    count = 1
    for n in new_shape:
        if n < 0:
            raise ValueError(f"given the shape {new_shape}, expected no negative number")
        count *= n
    flat = lg.reshape(a, (-1,))
    if not flat.shape[0] or not count:
        return lg.zeros(new_shape, dtype=a.dtype, device=a.device)
    return lg.reshape(lg.take(flat, _indices(library().arange(count) % flat.shape[0], a), axis=0), new_shape)


@numpy_function()
def tile(A: Array, reps: Host) -> Any:
    """Repeated as a whole."""
    return lg.tile(A, reps if isinstance(reps, int) else tuple(map(int, reps)))


@numpy_function()
def repeat(a: Array, repeats: Host, axis: Any = None) -> Any:
    """With each element repeated."""
    return lg.repeat(a, repeats.tolist() if hasattr(repeats, "tolist") else repeats, axis=axis)


# -- parts ---------------------------------------------------------------------------------------
@numpy_functions(split=lg.split, array_split=lg.array_split)
def _splits(compute: Callable[..., Any], ary: Array, indices_or_sections: Host, axis: int = 0) -> list[Any]:
    return list(compute(ary, _sections(indices_or_sections), axis))


@numpy_functions(hsplit=lg.hsplit, vsplit=lg.vsplit, dsplit=lg.dsplit)
def _splits_along(compute: Callable[..., Any], ary: Array, indices_or_sections: Host) -> list[Any]:
    return list(compute(ary, _sections(indices_or_sections)))


def _sections(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value
    return value if isinstance(value, int) else tuple(value)


@numpy_function()
def unstack(x: Array, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The parts along an axis."""
    return tuple(lg.unstack(x, axis=axis))


@numpy_function()
def trim_zeros(filt: Array, trim: str = "fb", axis: Any = None) -> Any:
    """Without zeros at the ends."""
    front, back = "f" in trim.lower(), "b" in trim.lower()
    axes = range(filt.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    filled = library().nonzero(values_of(filt))
    key = [slice(None)] * filt.ndim
    for k in (operator.index(k) % filt.ndim for k in axes):
        ends = (int(filled[k].min()), int(filled[k].max()) + 1) if filled[k].size else (0, 0)
        key[k] = (
            slice(*ends) if not filled[k].size else slice(*(n if on else None for n, on in zip(ends, (front, back))))
        )
    return filt[tuple(key)]


@numpy_function()
def flip(m: Array, axis: Any = None) -> Any:
    """With elements in reverse order."""
    return lg.flip(m, axis=axis)


@numpy_functions(fliplr=lg.fliplr, flipud=lg.flipud)
def _flips(compute: Callable[..., Any], m: Array) -> Any:
    return compute(m)


@numpy_function()
def rot90(m: Array, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Turned by right angles."""
    return lg.rot90(m, k, tuple(axes))


@numpy_function()
def roll(a: Array, shift: Any, axis: Any = None) -> Any:
    """Moved along an axis, what leaves at the end coming in at the front."""
    shift, axis = (tuple(v) if isinstance(v, list) else v for v in (shift, axis))
    if axis is not None and isinstance(shift, tuple) != isinstance(axis, tuple):
        count = len(shift) if isinstance(shift, tuple) else len(axis)
        shift, axis = (v if isinstance(v, tuple) else (v,) * count for v in (shift, axis))
    return lg.roll(a, shift, axis=axis)


@numpy_functions(tril=lg.tril, triu=lg.triu)
def _triangles(compute: Callable[..., Any], m: Array, k: int = 0) -> Any:
    return compute(m, k=k)


@numpy_functions(diag=lg.diag, diagflat=lg.diagflat)
def _diagonals(compute: Callable[..., Any], v: Array, k: int = 0) -> Any:
    return compute(v, k)


@numpy_function()
def diagonal(a: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A diagonal of two axes."""
    return lg.diagonal(a, offset, axis1, axis2)


@numpy_function()
def trace(a: Array, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DType = None, out: Refused = None) -> Any:
    """The sum of a diagonal."""
    return lg.trace(a, offset, axis1, axis2, dtype)


@numpy_function("lib.stride_tricks")
def sliding_window_view(
    x: Array, window_shape: Any, axis: Any = None, *, subok: Any = False, writeable: Refused = False
) -> Any:
    """All windows of a shape; a copy, since windows overlap."""
    window = _shape(window_shape)
    axes = tuple(range(x.ndim)) if axis is None else _shape(axis)
    if len(axes) != len(window):
        raise ValueError(f"given a window of {len(window)} axes for {len(axes)}, expected as many")
    for n, k in zip(window, axes):
        x = lg.unfold(x, fits_axis(x, k)[1] if axis is None else k % (x.ndim - axes.index(k)), n, 1)
    return x


# -- edges ---------------------------------------------------------------------------------------
_STATISTICS = {"maximum": lg.max, "minimum": lg.min, "mean": lg.mean, "median": lg.median}


@numpy_function()
def pad(array: Array, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """With more at the edges: constants, what is there repeated or reflected, ramps, or a statistic of it."""
    if not isinstance(mode, str):
        raise TypeError("given a function as mode, which would write into arrays; expected the name of a mode")
    own = {"constant": "constant_values", "linear_ramp": "end_values", **dict.fromkeys(_STATISTICS, "stat_length")}
    if kwargs.pop("reflect_type", "even") != "even":
        raise ValueError("given another reflect_type than 'even', which is the only one for tensors")
    if kwargs.keys() - {own.get(mode)}:
        raise ValueError(f"given {', '.join(kwargs)}, which mode={mode!r} does not have")
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(k, (0, 0)) for k in range(array.ndim)]
    if mode not in _STATISTICS and mode != "linear_ramp":
        return lg.pad(array, pad_width, "constant" if mode == "empty" else mode, **kwargs)
    said = library().broadcast_to(kwargs.get(own[mode], 0 if mode == "linear_ramp" else None), (array.ndim, 2))
    for axis, widths in enumerate(library().broadcast_to(pad_width, (array.ndim, 2)).tolist()):
        make = _ramp if mode == "linear_ramp" else functools.partial(_statistic, compute=_STATISTICS[mode])
        ends = [make(array, axis, n, said[axis][end], end) for end, n in enumerate(widths)]
        array = lg.concat([ends[0], array, ends[1]], axis=axis)
    return array


def _ramp(x: Any, axis: int, n: int, value: Any, end: int) -> Any:
    """From a value at the outer edge to the element at the inner one."""
    steps = lg.asarray(library().arange(n) / builtins.max(n, 1), device=x.device)
    steps = lg.reshape(lg.flip(steps) if end else steps, tuple(n if i == axis else 1 for i in range(x.ndim)))
    y = value + (lg.narrow(x, axis, (x.shape[axis] - 1) * end, 1) - value) * cast(steps, _inexact(x))
    return cast(lg.trunc(y) if x.dtype.kind in "iu" else y, x.dtype)


def _inexact(x: Any) -> Any:
    return x.dtype if x.dtype.kind in "fc" else lg.float64


def _statistic(x: Any, axis: int, n: int, length: Any, end: int, compute: Callable[..., Any]) -> Any:
    """A statistic of all elements along an axis, or of so many at the edge."""
    length = x.shape[axis] if length is None else builtins.min(length, x.shape[axis])
    part = lg.narrow(x, axis, (x.shape[axis] - length) * end, length)
    y = compute(part, axis=axis, keepdims=True)
    y = cast(lg.round(y) if x.dtype.kind in "iu" and y.dtype.kind == "f" else y, x.dtype)
    return lg.broadcast_to(y, tuple(n if i == axis else m for i, m in enumerate(x.shape)))
