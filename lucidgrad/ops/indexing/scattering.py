"""Writing at positions: copies with some elements replaced, or reduced with what falls on one place."""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core import dtype as dtypes
from lucidgrad.core.box import Box
from lucidgrad.core.dispatch import box, number
from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.core.primitive import REDUCTION, primitive
from lucidgrad.keys import completed, is_array, is_batched_mask, parted, parts_of, raw_key
from lucidgrad.levels.batching import of_one_batch
from lucidgrad.levels.layer import Layer
from lucidgrad.ops.axes import axis_of, beside, product
from lucidgrad.ops.numbers import INF, inexact
from lucidgrad.ops.precision import rounded_once

from .selection import _check_scatter, as_vectors, index, pick_put, put_add, scatter_add, vector
from .taking import last_put, put_along_axis_add, take, take_along_axis

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


# -- along an axis -------------------------------------------------------------------------------
def _check_index(name: str, x: Any, dim: int, index: Any) -> int:
    if index.ndim > 1 or "int" not in str(index.dtype):
        raise IndexError(f"{name}: given an index of {index.dtype}, dimension {index.ndim}, expected integers, 1")
    return axis_of(name, dim, x.ndim)


def _written(x: Any, dim: int, index: Any) -> tuple[Any, Any]:
    """Which places along an axis an index points to (shaped to broadcast), and where the last such index stands."""
    last = last_put(ops.reshape(index, shape=(product(index.shape),)), axis=0, size=x.shape[dim])
    return ops.reshape(last >= 0, shape=(x.shape[dim], *(1,) * (x.ndim - dim - 1))), ops.maximum(last, 0)


def index_fill(x: Any, dim: int, index: Any, value: Any) -> Any:
    """A copy of x with a value in the slices at positions along dim (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> y = lg.index_fill(x, 1, lg.asarray([0]), 5.0)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[5.0, 1.0], [5.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]])
    """
    if x.ndim == 0:
        return ops.reshape(index_fill(vector(x), dim, vector(index), value), shape=())
    dim = _check_index("index_fill", x, dim, index)
    if getattr(value, "ndim", 0):
        raise RuntimeError(f"index_fill: given a value of dimension {value.ndim}, expected a number")
    here, _ = _written(x, dim, index)
    return ops.astype(ops.where(here, value, x), dtype=x.dtype)


@as_vectors
def index_copy(x: Any, dim: int, index: Any, source: Any) -> Any:
    """A copy of x with slices of source at positions along dim; the last one stays (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, s = lg.ones(3, requires_grad=True), lg.tensor([5.0, 6.0], requires_grad=True)
    >>> y = lg.index_copy(x, 0, lg.asarray([2, 0]), s)
    >>> (y * lg.asarray([1.0, 2.0, 3.0])).sum().backward()
    >>> y.tolist(), x.grad.tolist(), s.grad.tolist()
    ([6.0, 1.0, 5.0], [0.0, 2.0, 0.0], [3.0, 1.0])
    """
    dim = _check_index("index_copy", x, dim, index)
    count = product(index.shape)
    if tuple(source.shape) != (*x.shape[:dim], count, *x.shape[dim + 1 :]):
        raise IndexError(
            f"index_copy: given a source of shape {tuple(source.shape)} and {count} positions along dim {dim} "
            f"of shape {tuple(x.shape)}"
        )
    if not count:
        return ops.clone(x)
    here, last = _written(x, dim, index)
    return ops.astype(ops.where(here, take(source, last, axis=dim), x), dtype=x.dtype)


# -- by key --------------------------------------------------------------------------------------
def index_put(x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    """A copy of x with values written, or added with ``accumulate``, at ``x[indices]`` (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, v = lg.zeros(3, requires_grad=True), lg.tensor([1.0, 2.0], requires_grad=True)
    >>> y = lg.index_put(x, (lg.asarray([0, 0]),), v, accumulate=True)
    >>> y[0].backward()
    >>> y.tolist(), x.grad.tolist(), v.grad.tolist()
    ([3.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0])
    """
    key = tuple(slice(None) if i is None else i for i in indices)
    values = number(values)
    values = values if hasattr(values, "dtype") else ops.asarray(values, dtype=x.dtype, device=x.device)
    raw = raw_key(key, x.array)
    if accumulate or not any(map(is_batched_mask, raw)):
        values = ops.broadcast_to(values, shape=tuple(x[key].shape))
    if not accumulate:
        y = copy_beside(x, *key, values)
        y[key] = values
        return y
    static, at = parted(raw, x.shape)
    return _put_added(x, values, static, at if at is None else box(at))


def copy_beside(x: Any, *others: Any) -> Any:
    """A copy with the levels of others, so that they can be written into it."""
    y = ops.clone(x)
    for other in others:
        if isinstance(getattr(other, "array", None), Layer):
            y = ops.where(ops.any(other), y, y)
    return y


@rounded_once
def _put_added(x: Any, values: Any, key: Any, at: Any) -> Any:
    values, shape = ops.astype(values, dtype=x.dtype), tuple(x.shape)
    return x + (put_add(values, key=key, shape=shape) if at is None else pick_put(values, at, key=key, shape=shape))


def write_masked(x: Any, key: Any, values: Any) -> None:
    """``x[key] = values`` for a mask that differs between the examples of a map.

    There is one value, or one for all places that the mask selects: how many there are differs, too.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> def cut(x):
    ...     y = x * 1.0
    ...     y[x < 0] = 0.0
    ...     return y
    >>> lg.func.vmap(cut)(lg.asarray([[1.0, -2.0], [-3.0, -4.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    parts = parts_of(key)
    if sum(map(is_array, parts)) > 1:
        raise IndexError("__setitem__: a mask under vmap can't stand beside other arrays in a key; use where")
    values = values if isinstance(values, Box) else ops.asarray(values, dtype=x.dtype, device=x.device)
    parts = tuple(completed("__setitem__", parts, x.ndim))
    at = next(i for i, part in enumerate(parts) if is_array(part))
    mask = box(parts[at])
    rest = sum(part is None or isinstance(part, slice) for part in parts[at + 1 :])  # axes behind those of the mask
    part = index(x, key=(*parts[:at], *(slice(None),) * mask.ndim, *parts[at + 1 :]))
    sizes = (1,) * (rest + 1 - values.ndim) + tuple(values.shape)
    if sizes[len(sizes) - rest - 1] != 1:
        raise ValueError(
            f"__setitem__: given values of shape {tuple(values.shape)} for a mask under vmap, which selects as many "
            f"elements as it likes; expected one for all of them, or use where"
        )
    before = len(sizes) - rest - 1
    values = ops.reshape(values, shape=(*sizes[:before], *(1,) * mask.ndim, *sizes[before + 1 :]))
    mask = ops.reshape(mask, shape=(*mask.shape, *(1,) * rest))
    part.copy_(ops.where(mask, ops.astype(values, dtype=x.dtype), ops.clone(part)))


def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """A copy of x with the elements of source, in order, where the mask is true (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, s = lg.zeros(3, requires_grad=True), lg.tensor([5.0, 6.0, 7.0], requires_grad=True)
    >>> y = lg.masked_scatter(x, lg.asarray([True, False, True]), s)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist(), s.grad.tolist()
    ([5.0, 0.0, 6.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0])
    """
    mask = ops.broadcast_to(mask, shape=tuple(x.shape))
    size = product(source.shape)
    if not size:
        return ops.clone(x)
    order = ops.cumulative_sum(ops.astype(ops.reshape(mask, shape=(product(x.shape),)), dtype=dtypes.named("int64")))
    order = ops.minimum(ops.maximum(order - 1, 0), size - 1)
    given = ops.reshape(take(ops.reshape(source, shape=(size,)), order, axis=0), shape=tuple(x.shape))
    return ops.astype(ops.where(mask, given, x), dtype=x.dtype)


# -- reducing what falls on one place ------------------------------------------------------------
def _tied_portion(xp: Any, g: Any, y: Any, x: Any, src: Any, i: Any, axis: int) -> Any:
    """The part of one of the elements that tie for an extreme."""
    ties = xp.astype(xp.equal(src, xp.take_along_axis(y, i, axis=axis)), dtype=y.dtype)
    ties = xp.put_along_axis_add(ties, i, axis=axis, size=x.shape[axis]) + xp.astype(xp.equal(x, y), dtype=y.dtype)
    return g / xp.where(ties == 0, 1, ties)


def _extreme_x(xp: Any, g: Any, y: Any, x: Any, src: Any, i: Any, *, axis: int) -> Any:
    return xp.where(xp.equal(x, y), _tied_portion(xp, g, y, x, src, i, axis), 0)


def _extreme_src(xp: Any, g: Any, y: Any, x: Any, src: Any, i: Any, *, axis: int) -> Any:
    share = xp.take_along_axis(_tied_portion(xp, g, y, x, src, i, axis), i, axis=axis)
    return xp.where(xp.equal(src, xp.take_along_axis(y, i, axis=axis)), share, 0)


def _extreme_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, axis: int, largest: bool) -> Any:
    (x, src, i), (tx, tsrc, _) = xs, ts
    t = xp.zeros_like(y) if tx is None else xp.where(xp.equal(x, y), tx, 0)
    if tsrc is not None:
        hits = xp.where(xp.equal(src, xp.take_along_axis(y, i, axis=axis)), tsrc, 0)
        t = t + xp.put_along_axis_add(hits, i, axis=axis, size=x.shape[axis])
    return _tied_portion(xp, t, y, x, src, i, axis)


def _extreme_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    rank = len(values[0].shape) - batched[0]
    axis = axis_of("extreme_put", keywords["axis"], rank) + 1
    return call(*of_one_batch(values, batched), **{**keywords, "axis": axis})


@primitive(REDUCTION, vjp=(_extreme_x, _extreme_src, None), jvp=_extreme_jvp, batch=_extreme_batch)
def extreme_put(xp: Any, x: Any, src: Any, i: Any, /, *, axis: int, largest: bool = True) -> Any:
    """The largest (or smallest) of each element of x and those of src whose index along an axis points there.

    Elements that tie share the gradient evenly.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.indexing.scattering import extreme_put
    >>> s = lg.tensor([1.0, 4.0, 4.0], requires_grad=True)
    >>> y = extreme_put(lg.zeros(2), s, lg.asarray([0, 1, 1]), axis=0)
    >>> y.sum().backward()
    >>> y.tolist(), s.grad.tolist()
    ([1.0, 4.0], [1.0, 0.5, 0.5])
    """
    axis = axis_of("extreme_put", axis, x.ndim)
    if not i.shape[axis]:
        return +x
    size = x.shape[axis]
    places = xp.reshape(xp.arange(size, dtype=i.dtype, **beside(i)), shape=(size, *(1,) * (i.ndim - axis - 1)))
    here = xp.expand_dims(xp.where(i < 0, i + size, i), axis=axis + 1) == places
    pairs = xp.where(here, xp.expand_dims(src, axis=axis + 1), xp.expand_dims(x, axis=axis))
    y = (xp.max if largest else xp.min)(pairs, axis=axis)
    return (xp.maximum if largest else xp.minimum)(x, y)


def _products(x: Any, src: Any, i: Any, axis: int) -> Any:
    """Products of the elements whose index points to one place, 1 where none does: a scan in the index's order."""
    order = ops.argsort(i, axis=axis)
    i, src = take_along_axis(i, order, axis=axis), take_along_axis(src, order, axis=axis)
    first = ops.concat(
        ops.ones_like(_line(i, axis, slice(0, 1)) == 0),
        _line(i, axis, slice(1, None)) != _line(i, axis, slice(None, -1)),
        axis=axis,
    )
    running = ops.recurrence(ops.where(first, 0, src), ops.where(first, src, 0), axis=axis)
    last = last_put(i, axis=axis, size=x.shape[axis])
    return ops.where(last < 0, 1, take_along_axis(running, ops.maximum(last, 0), axis=axis))


def _line(x: Any, axis: int, part: slice) -> Any:
    return ops.index(x, key=(*(slice(None),) * axis, part))


def _reduced(x: Any, src: Any, i: Any, axis: int, reduce: str, include_self: bool) -> Any:
    last = last_put(i, axis=axis, size=x.shape[axis])
    if reduce in ("amax", "amin"):
        if not include_self:
            fill: Any = -INF if reduce == "amax" else INF
            if inexact(x) is not x:  # integers have no infinity: one of the elements stands for it
                fill = take_along_axis(src, ops.maximum(last, 0), axis=axis)
            x = ops.where(last < 0, x, fill)
        return extreme_put(x, src, i, axis=axis, largest=reduce == "amax")
    x = x if include_self else ops.where(last < 0, x, 1 if reduce == "prod" else 0)
    if reduce == "prod":
        return x * _products(x, src, i, axis)
    y = x + put_along_axis_add(src, i, axis=axis, size=x.shape[axis])
    if reduce == "sum":
        return y
    count = put_along_axis_add(ops.ones_like(i), i, axis=axis, size=x.shape[axis])
    count = count + 1 if include_self else ops.maximum(count, 1)
    return y / ops.astype(count, dtype=y.dtype) if inexact(y) is y else y // ops.astype(count, dtype=y.dtype)


@as_vectors
@rounded_once
def scatter_reduce(x: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """A copy of x in which elements of src are reduced with what falls on one place (PyTorch's meaning).

    Parameters
    ----------
    x, dim, index, src
        What to reduce into, along which axis, at which positions, and what.
    reduce
        ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``; of these two, ties share the gradient.
    include_self
        Whether the elements of x take part where something falls.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> s = lg.tensor([2.0, 0.0, 3.0], requires_grad=True)
    >>> y = lg.scatter_reduce(lg.ones(2), 0, lg.asarray([0, 0, 1]), s, "prod")
    >>> y.sum().backward()
    >>> y.tolist(), s.grad.tolist()
    ([0.0, 3.0], [0.0, 2.0, 1.0])
    """
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"scatter_reduce: given reduce={reduce!r}, expected one of {', '.join(REDUCTIONS)}")
    dim = _check_scatter("scatter_reduce", x, dim, index, src)
    if not x.ndim:
        lined = (ops.reshape(a, shape=(1,)) for a in (x, index, src))
        flat, index, src = lined
        return ops.reshape(scatter_reduce(flat, 0, index, src, reduce, include_self=include_self), shape=())
    if not product(index.shape):
        return ops.clone(x)
    if reduce == "sum" and include_self:
        return scatter_add(x, dim, index, src)
    src = ops.index(src, key=tuple(map(slice, index.shape)))
    corner = tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(index.shape))
    part = ops.index(x, key=corner)
    y = ops.astype(_reduced(part, src, index, dim, reduce, include_self), dtype=x.dtype)
    if tuple(part.shape) == tuple(x.shape):
        return y
    whole = ops.clone(x)
    whole[corner] = y
    return whole
