"""NumPy kernels for shapes, joining and indexing; methods of the array are quicker than functions."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from lucidgrad.backends.cpu.compiled import memory, puts
from lucidgrad.core import device
from lucidgrad.core.primitive import registry
from lucidgrad.keys import At, joined

from .halves import HALF

_ONE, _EVERYTHING = At(), slice(None)


# -- shapes --------------------------------------------------------------------------------------
def reshape(x: Any, shape: Any, copy: bool | None = None) -> Any:
    return x.reshape(shape) if copy is None else np.reshape(x, shape, copy=copy)


_VIEW = ("multi_index", "zerosize_ok")


def broadcast_to(x: Any, shape: Any) -> Any:
    shape = shape if type(shape) is tuple else tuple(shape) if type(shape) is list else (shape,)
    try:
        if min(shape, default=0) >= 0:  # what numpy.broadcast_to does, at a quarter of its price
            if type(x) is np.ndarray and not x.ndim and x.dtype.isbuiltin == 1:  # and one number, at a tenth
                return np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))
            y = np.nditer(x, _VIEW, ("readonly",), None, "C", "no", None, shape).itviews[0]  # type: ignore[call-overload]
            if x.flags.writeable:  # as far as elements don't share their memory, which the back end sees to
                y.flags.writeable = True
            return y
    except (ValueError, TypeError):
        pass
    raise ValueError(f"broadcast_to: an array of shape {np.shape(x)} can't be broadcast to {shape}")


def expand_dims(x: Any, axis: Any = 0) -> Any:
    if axis == 0:
        return x[None]
    if axis == -1:
        return x[..., None]
    return np.expand_dims(x, tuple(axis) if type(axis) is list else axis)


def squeeze(x: Any, axis: Any = None) -> Any:
    return x.squeeze(tuple(axis) if type(axis) is list else axis)


def permute_dims(x: Any, axes: Any) -> Any:
    return x.transpose(tuple(axes))


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    rank = x.ndim
    if type(source) is int and type(destination) is int and -rank <= source < rank and -rank <= destination < rank:
        order = list(range(rank))
        order.insert(destination % rank, order.pop(source))
        return x.transpose(order)
    return np.moveaxis(x, source, destination)


def matrix_transpose(x: Any) -> Any:
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: given an array of dimension {x.ndim}, expected at least 2")
    return x.swapaxes(-1, -2)


def flip(x: Any, axis: Any = None) -> Any:
    if type(axis) is int and -x.ndim <= axis < x.ndim:
        return x[(slice(None),) * (axis % x.ndim) + (slice(None, None, -1),)]
    return np.flip(np.asarray(x), tuple(axis) if type(axis) is list else axis)


def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    if type(shift) is int and type(axis) is int and -x.ndim <= axis < x.ndim and x.shape[axis]:
        lead = (slice(None),) * (axis % x.ndim)
        cut = -shift % x.shape[axis]
        return np.concatenate((x[(*lead, slice(cut, None))], x[(*lead, slice(None, cut))]), axis)
    return np.roll(x, shift, axis)


def tril(x: Any, k: int = 0) -> Any:
    if x.ndim < 2:
        raise ValueError(f"tril: given an array of dimension {x.ndim}, expected at least 2")
    return np.tril(x, k)


def triu(x: Any, k: int = 0) -> Any:
    if x.ndim < 2:
        raise ValueError(f"triu: given an array of dimension {x.ndim}, expected at least 2")
    return np.triu(x, k)


def diagonal(x: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    y = x.diagonal(offset, axis1, axis2)
    if x.flags.writeable:  # NumPy's views of diagonals are read-only by default
        y.flags.writeable = True
    return y


def diagonal_put(g: Any, offset: int, axis1: int, axis2: int, shape: Any) -> Any:
    y = np.zeros(shape, g.dtype)
    diagonal(y, offset, axis1, axis2)[...] = g
    return y


# -- joining -------------------------------------------------------------------------------------
def concat(*xs: Any, axis: int | None = 0) -> Any:
    return np.concatenate(xs, axis)


def split_with_sizes(x: Any, split_sizes: Any, axis: int = 0) -> Any:
    usual = type(split_sizes) is tuple and type(axis) is int and -x.ndim <= axis < x.ndim
    if not usual or {*map(type, split_sizes)} - {int} or min(split_sizes, default=-1) < 0:
        return _program("split_with_sizes")(x, split_sizes=split_sizes, axis=axis)
    lead, parts, end = (_EVERYTHING,) * (axis % x.ndim), [], 0
    for n in split_sizes:
        start, end = end, end + n
        parts.append(x[(*lead, slice(start, end))])
    if end != x.shape[axis]:
        raise ValueError(f"split_with_sizes: given sizes {split_sizes}, expected a sum of {x.shape[axis]}")
    return tuple(parts)


def stack(*xs: Any, axis: int = 0) -> Any:
    if axis:
        rank = np.ndim(xs[0]) + 1
        if not -rank <= axis < rank:
            raise AxisError(f"stack: axis {axis} is out of range for an array of dimension {rank}")
    try:
        if not axis:
            pair = len(xs) == 2 and type(xs[0]) is type(xs[1]) is np.ndarray
            return np.array(xs) if pair else np.concatenate([x[None] for x in xs])  # quicker for two
        key = (slice(None),) * (axis % rank) + (None,)
        return np.concatenate([x[key] for x in xs], axis)
    except (ValueError, IndexError):
        shapes = ", ".join(str(np.shape(x)) for x in xs)
        raise ValueError(f"stack: given shapes {shapes}, expected arrays of one shape") from None
    except TypeError:
        raise TypeError("stack: given a number among the arrays, expected arrays of one shape") from None


def unstack(x: Any, axis: int = 0) -> Any:
    if not -x.ndim <= axis < x.ndim:
        raise AxisError(f"unstack: axis {axis} is out of range for an array of dimension {x.ndim}")
    x = x if axis == 0 else x.swapaxes(0, axis) if x.ndim == 2 else np.moveaxis(x, axis, 0)
    return tuple(x) if x.ndim > 1 else tuple(x[k, ...] for k in range(len(x)))


# -- keys ----------------------------------------------------------------------------------------
def index(x: Any, key: Any) -> Any:
    try:
        y = x[key]
        if type(y) is not np.ndarray:  # a scalar: the same as an array, a view
            y = np.asarray(x)[(*(key if type(key) is tuple else (key,)), ...)]
        return y
    except IndexError as error:
        raise IndexError(f"index: {error}") from None


def put_add(g: Any, key: Any, shape: Any) -> Any:
    y = np.zeros(shape, g.dtype)
    y[key] = g
    return y


def pick(x: Any, at: Any, key: tuple[Any, ...]) -> Any:
    try:
        last = key[-1]
        if type(last) is At and at.dtype.kind == "i" and x.ndim:  # taking is quicker than NumPy's keys
            if len(key) == 1:
                rows = x if last.axes == 1 else x.reshape(_size(x.shape[: last.axes]), *x.shape[last.axes :])
                return rows.take(at, 0) if at.size < _MANY else _taken("index", rows, at, 0)
            if type(key[0]) is slice and last == _ONE and key.count(_EVERYTHING) == len(key) - 1 < x.ndim:
                return _taken("index", x, at, len(key) - 1)
        whole = joined(key, at)
        return _program("pick")(x, at, key=key) if whole is None else x[whole]
    except IndexError as error:
        raise IndexError(f"index: {str(error).removeprefix('index: ')}") from None


_FEW = 1000  # elements that numpy.add.at adds in less time than it takes to prepare for its quick loop


def pick_put(g: Any, at: Any, key: tuple[Any, ...], shape: Any) -> Any:
    if g.dtype is HALF:
        return pick_put(g.astype(np.float32), at, key, shape).astype(HALF)
    if len(key) == 1:
        return take_put(g, at, 0, _size(shape[: key[0].axes])).reshape(shape)
    whole = joined(key, at) if g.size <= _FEW else None
    if whole is None:
        return _program("pick_put")(g, at, key=key, shape=shape)  # with the kernel of take_put
    y = np.zeros(shape, g.dtype)
    np.add.at(y, whole, g)
    return y


def _program(name: str) -> Callable[..., Any]:
    return functools.partial(registry[name].program, device.by_array[np.ndarray].xp)


def nonzero(x: Any) -> Any:
    return x.nonzero()


# -- positions -----------------------------------------------------------------------------------
def take(x: Any, i: Any, axis: int | None = None) -> Any:
    if axis is None and x.ndim != 1:
        raise ValueError(f"take: given an array of dimension {x.ndim} and no axis, expected one or dimension 1")
    if i.size < _MANY:
        return x.take(i, axis)
    at = 0 if axis is None else axis + x.ndim if axis < 0 else axis
    return _taken("take", x, i, at) if 0 <= at < x.ndim else x.take(i, axis)


#: Fewer parts of an array than this are NumPy's to take, however large they are: it does not write twice then.
_MANY = 64


def _taken(name: str, x: Any, i: Any, axis: int) -> Any:
    """Many parts of an array along an axis that it has, counted from the first."""
    if not x.size or x.nbytes // x.shape[axis] * i.size < memory.LEAST:
        return x.take(i, axis)
    # Into memory that was used before; NumPy checks and writes in two passes then.
    inside, shape = _in_bounds(name, i, x.shape[axis]), (*x.shape[:axis], *i.shape, *x.shape[axis + 1 :])
    made = None if axis else puts.take_rows(x.reshape(x.shape[0], -1), inside.reshape(-1))
    return x.take(inside, axis, memory.empty(shape, x.dtype), "clip") if made is None else made.reshape(shape)


def take_put(g: Any, i: Any, axis: int, size: int) -> Any:
    if g.dtype is HALF:
        return take_put(g.astype(np.float32), i, axis, size).astype(HALF)
    rank = g.ndim - i.ndim + 1
    if not -rank <= axis < rank:
        raise AxisError(f"take_put: axis {axis} is out of range for an array of dimension {rank}")
    axis %= rank
    lead, tail = g.shape[:axis], g.shape[axis + i.ndim :]
    rows = g.reshape(*lead, i.size, *tail)
    if axis:
        rows = np.moveaxis(rows, axis, 0)
    y = _put_rows("take_put", rows.reshape(i.size, -1 if g.size else _size(lead + tail)), i.reshape(-1), size)
    y = y.reshape(size, *lead, *tail)
    return np.moveaxis(y, 0, axis) if axis else y


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def _put_rows(name: str, g: Any, i: Any, size: int) -> Any:
    """Zeros of ``size`` rows, to which the rows of g are added at the places i, in their order."""
    n, m = g.shape
    i = _in_bounds(name, i, size)
    if (made := puts.put_rows(g, i, size)) is not None:
        return made
    if m == 1:
        y = np.zeros(size, g.dtype)
        np.add.at(y, i, g.reshape(-1))
        return y.reshape(size, 1)
    y = np.zeros((size, m), g.dtype)
    if n * m <= _FEW // 2:
        np.add.at(y, i, g)
        return y
    if n <= size:  # rows that come first at their place are written at once; few are left to add
        order = np.arange(n)
        first = np.empty(size, np.intp)
        first[i[::-1]] = order[::-1]
        new = first[i] == order
        if new.all():
            y[i] = g
            return y
        y[i[new]] = g[new]
        again = np.flatnonzero(~new)
        i, g = i[again], g[again]
    # With flat indices numpy.add.at has a quick loop.
    np.add.at(y.reshape(-1), (i[:, None] * m + np.arange(m)).reshape(-1), g.reshape(-1))
    return y


def _in_bounds(name: str, i: Any, size: int) -> Any:
    """Indices from 0 up, all of them inside, of the type that NumPy indexes with."""
    i = i.astype(np.intp, copy=False)
    if i.size:
        low, high = i.min(), i.max()
        if low < -size or high >= size:
            wrong = high if high >= size else low
            raise IndexError(f"{name}: index {wrong} is out of range for an axis of size {size}")
        if low < 0:
            return np.where(i < 0, i + size, i)
    return i


def take_along_axis(x: Any, i: Any, axis: int = -1) -> Any:
    _check_ranks("take_along_axis", x, i, axis)
    axis %= x.ndim
    if i.size > _FEW and x.shape[:axis] == i.shape[:axis] and x.shape[axis + 1 :] == i.shape[axis + 1 :]:
        return x.reshape(-1).take(_flat_along("take_along_axis", i, axis, x.shape[axis]))
    shared = _shared(x, i, axis)
    return _rows_along(x, i, axis, shared) if shared else np.take_along_axis(x, i, axis)


def _shared(x: Any, i: Any, axis: int) -> list[int]:
    """The other axes along which indices are the same: whole rows move together."""
    return [d for d in range(x.ndim) if d != axis and i.shape[d] == 1 and x.shape[d] > 1]


def _flat_along(name: str, i: Any, axis: int, size: int) -> Any:
    """Indices along an axis of a size as indices into the flat array."""
    lead, tail = _size(i.shape[:axis]), _size(i.shape[axis + 1 :])
    at = _in_bounds(name, i, size).reshape(lead, i.shape[axis], tail)
    starts = np.arange(lead)[:, None, None] * (size * tail)
    at = at + starts if tail == 1 else at * tail + (starts + np.arange(tail))
    return at.reshape(i.shape)


def _check_ranks(name: str, x: Any, i: Any, axis: int) -> None:
    if x.ndim != i.ndim:
        raise ValueError(f"{name}: given dimensions {x.ndim} and {i.ndim}, expected indices of the array's")
    if not -x.ndim <= axis < x.ndim:
        raise AxisError(f"{name}: axis {axis} is out of range for an array of dimension {x.ndim}")
    if i.dtype.kind not in "iu":
        raise IndexError(f"{name}: given indices of dtype {i.dtype}, expected integers")


def _order(i: Any, axis: int, shared: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes over which indices vary, and the order that puts them first, then theirs, then the shared."""
    own = tuple(d for d in range(i.ndim) if d != axis and d not in shared)
    return own, (*own, axis, *shared)


def _positions(name: str, i: Any, size: int) -> Any:
    """Indices of the shape (all places of their own axes, number) as flat ones, a stretch of ``size`` for each."""
    i = _in_bounds(name, i, size)
    return (i + np.arange(0, i.shape[0] * size, size or 1)[: i.shape[0], None]).reshape(-1)


def _rows_along(x: Any, i: Any, axis: int, shared: list[int]) -> Any:
    own, order = _order(i, axis, shared)
    sizes = np.broadcast_shapes(tuple(i.shape[d] for d in own), tuple(x.shape[d] for d in own))
    spread = dict(zip(own, sizes, strict=True))
    x = np.broadcast_to(x, tuple(spread.get(d, n) for d, n in enumerate(x.shape)))
    i = np.broadcast_to(i, tuple(spread.get(d, n) for d, n in enumerate(i.shape)))
    count, (n, m), rest = _size(sizes), (x.shape[axis], i.shape[axis]), tuple(x.shape[d] for d in shared)
    at = _positions("take_along_axis", i.transpose(order).reshape(count, m), n)
    y = x.transpose(order).reshape(count * n, *rest).take(at, 0).reshape(*sizes, m, *rest)
    return y.transpose(np.argsort(order))


def put_along_axis_add(g: Any, i: Any, axis: int, size: int) -> Any:
    if g.dtype is HALF:
        return put_along_axis_add(g.astype(np.float32), i, axis, size).astype(HALF)
    _check_ranks("put_along_axis_add", g, i, axis)
    axis %= g.ndim
    shared = _shared(g, i, axis)
    shape = g.shape if g.shape == i.shape else np.broadcast_shapes(g.shape, i.shape)
    if g.shape != shape:
        g = np.broadcast_to(g, shape)
    if not shared and g.size <= _FEW:
        y = np.zeros((*shape[:axis], size, *shape[axis + 1 :]), g.dtype)
        key: list[Any] = list(np.ix_(*map(np.arange, shape)))
        key[axis] = i
        np.add.at(y, tuple(key), g)
        return y
    if not shared and i.shape == shape:
        wide = (*shape[:axis], size, *shape[axis + 1 :])
        at = _flat_along("put_along_axis_add", i, axis, size).reshape(-1)
        return _put_rows("put_along_axis_add", g.reshape(-1, 1), at, _size(wide)).reshape(wide)
    own, order = _order(i, axis, shared)
    sizes, rest, m = tuple(shape[d] for d in own), tuple(shape[d] for d in shared), shape[axis]
    count = _size(sizes)
    i = np.broadcast_to(i, tuple(1 if d in shared else n for d, n in enumerate(shape)))
    at = _positions("put_along_axis_add", i.transpose(order).reshape(count, m), size)
    rows = g.transpose(order).reshape(count * m, _size(rest))
    y = _put_rows("put_along_axis_add", rows, at, count * size)
    return y.reshape(*sizes, size, *rest).transpose(np.argsort(order))


def last_put(i: Any, axis: int, size: int) -> Any:
    _check_ranks("last_put", i, i, axis)
    axis %= i.ndim
    y = np.full((*i.shape[:axis], size, *i.shape[axis + 1 :]), -1)
    order = np.arange(i.shape[axis]).reshape(-1, *(1,) * (i.ndim - axis - 1))
    try:
        np.put_along_axis(y, i, np.broadcast_to(order, i.shape), axis)
    except IndexError as error:
        raise IndexError(f"scatter: {error}") from None
    return y


def extreme_put(x: Any, src: Any, i: Any, *, axis: int, largest: bool = True) -> Any:
    y = np.array(x)
    if src.size:
        key = list(np.ogrid[tuple(map(slice, i.shape))])
        key[axis] = i
        (np.maximum if largest else np.minimum).at(y, tuple(key), src)
    return y


_KERNELS = (
    reshape, broadcast_to, expand_dims, squeeze, permute_dims, moveaxis, matrix_transpose, flip, roll,
    tril, triu, diagonal, diagonal_put, concat, split_with_sizes, stack, unstack, index,
    put_add, pick, pick_put, nonzero, take, take_put,
    take_along_axis, put_along_axis_add, last_put, extreme_put,
)  # fmt: skip


# -- the same, added to a sum ---------------------------------------------------------------------
def _put_add_to(total: Any, g: Any, key: Any, shape: Any) -> None:
    total[key] += g


def _take_put_to(total: Any, g: Any, i: Any, axis: int, size: int) -> None:
    if axis == 0 and total.flags.c_contiguous and g.size:
        rows, g, at = total.reshape(size, -1), g.reshape(i.size, -1), _in_bounds("take_put", i, size).reshape(-1)
        if not puts.add_rows(rows, g, at):
            np.add.at(rows, at, g)
    else:
        total += take_put(g, i, axis, size)


#: Kernels that add to their first argument what the kernel of that name makes of the others.
ADDING: dict[str, Callable[..., None]] = {"put_add": _put_add_to, "take_put": _take_put_to}

TABLE: dict[str, Callable[..., Any]] = {kernel.__name__: kernel for kernel in _KERNELS}
