"""Picking elements by an array of positions, and adding them back: adjoint pairs.

The positions are an array input, so they may be batched.
"""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core.primitive import LINEAR, primitive
from lucidgrad.levels.batching import of_one_batch
from lucidgrad.levels.layer import run
from lucidgrad.ops.axes import axis_of, beside, product


# -- take and take_put ---------------------------------------------------------------------------
def _take_axis(axis: Any, rank: int) -> int:
    if axis is None and rank != 1:
        raise ValueError(f"take: given an array of dimension {rank} and no axis, expected one or dimension 1")
    return axis_of("take", 0 if axis is None else axis, rank)


def _take_vjp(xp: Any, g: Any, i: Any, x_meta: Any, *, axis: Any) -> Any:
    axis = _take_axis(axis, x_meta.ndim)
    return xp.take_put(g, i, axis=axis, size=x_meta.shape[axis])


def _take_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    x, i = values
    axis = _take_axis(keywords["axis"], len(x.shape) - batched[0])
    if not batched[1]:
        return call(x, i, axis=axis + 1)
    if not batched[0]:
        return run("moveaxis", call(x, i, axis=axis), source=axis, destination=0)
    y = run("take_along_axis", x, _line_up(i, 1, axis + 1, len(x.shape)), axis=axis + 1)
    return run("reshape", y, shape=(*x.shape[: axis + 1], *i.shape[1:], *x.shape[axis + 2 :]))


def _line_up(i: Any, lead: int, axis: int, rank: int) -> Any:
    """Indices flattened along one axis behind their leading ones, with ones elsewhere: they broadcast to that rank."""
    ones = (1,) * (axis - lead), (1,) * (rank - axis - 1)
    return run("reshape", i, shape=(*i.shape[:lead], *ones[0], product(i.shape[lead:]), *ones[1]))


@primitive(
    LINEAR,
    vjp=(_take_vjp, None),
    jvp=lambda xp, y, xs, ts, *, axis: xp.take(ts[0], xs[1], axis=axis),
    batch=_take_batch,
    placing=True,
)
def take(xp: Any, x: Any, i: Any, /, axis: int | None = None) -> Any:
    """Elements at these positions along an axis, which may be left out for arrays of one dimension.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> lg.take(x, lg.asarray([2, 2, 0]), axis=0).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.0, 2.0]
    """
    axis = _take_axis(axis, x.ndim)
    flat = xp.reshape(i, shape=(*(1,) * axis, product(i.shape), *(1,) * (x.ndim - axis - 1)))
    y = xp.take_along_axis(x, flat, axis=axis)
    return xp.reshape(y, shape=(*x.shape[:axis], *i.shape, *x.shape[axis + 1 :]))


def _take_put_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    axis, size = keywords["axis"], keywords["size"]
    rank = len(values[0].shape) - batched[0] - (len(values[1].shape) - batched[1]) + 1
    axis = axis_of("take_put", axis, rank) + 1
    if not batched[1]:
        return call(*values, axis=axis, size=size)
    g, i = of_one_batch(values, batched)
    flat = run("reshape", g, shape=(*g.shape[:axis], product(i.shape[1:]), *g.shape[axis + len(i.shape) - 1 :]))
    return run("put_along_axis_add", flat, _line_up(i, 1, axis, rank + 1), axis=axis, size=size)


@primitive(
    LINEAR,
    vjp=(lambda xp, g, i, *, axis: xp.take(g, i, axis=axis), None),
    jvp=lambda xp, y, xs, ts, *, axis, size: xp.take_put(ts[0], xs[1], axis=axis, size=size),
    batch=_take_put_batch,
)
def take_put(xp: Any, g: Any, i: Any, /, *, axis: int, size: int) -> Any:
    """Zeros with g added at these positions of an axis of a size: the adjoint of `take`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.indexing.taking import take_put
    >>> g = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> take_put(g, lg.asarray([1, 1]), axis=0, size=3).tolist()
    [0.0, 3.0, 0.0]
    """
    axis = axis_of("take_put", axis, g.ndim - i.ndim + 1)
    lead, count, tail = g.shape[:axis], product(i.shape), g.shape[axis + i.ndim :]
    flat = xp.reshape(i, shape=(*(1,) * axis, count, *(1,) * len(tail)))
    return xp.put_along_axis_add(xp.reshape(g, shape=(*lead, count, *tail)), flat, axis=axis, size=size)


# -- take_along_axis and put_along_axis_add ------------------------------------------------------
def _along(name: str, values: Sequence[Any], batched: Sequence[bool], axis: int) -> tuple[list[Any], int]:
    """Both arrays with a batch axis, of size 1 where one is not batched: they broadcast."""
    ranks = [len(v.shape) - b for v, b in zip(values, batched, strict=True)]
    need_one_rank(name, *ranks)
    shapes = [tuple(v.shape) if b else (1, *v.shape) for v, b in zip(values, batched, strict=True)]
    values = [v if b else run("reshape", v, shape=s) for v, b, s in zip(values, batched, shapes, strict=True)]
    return values, axis_of(name, axis, ranks[0]) + 1


def need_one_rank(name: str, rank: int, other: int) -> None:
    """Raise unless an array and its indices have as many axes."""
    if rank != other:
        raise ValueError(f"{name}: given dimensions {rank} and {other}, expected indices of the array's")


def _take_along_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    values, axis = _along("take_along_axis", values, batched, keywords["axis"])
    return call(*values, axis=axis)


def _put_along_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    values, axis = _along("put_along_axis_add", values, batched, keywords["axis"])
    return call(*values, axis=axis, size=keywords["size"])


def _take_along_vjp(xp: Any, g: Any, i: Any, x_meta: Any, *, axis: int) -> Any:
    return xp.put_along_axis_add(g, i, axis=axis, size=x_meta.shape[axis])


@primitive(
    LINEAR,
    vjp=(_take_along_vjp, None),
    jvp=lambda xp, y, xs, ts, *, axis: xp.take_along_axis(ts[0], xs[1], axis=axis),
    batch=_take_along_batch,
)
def take_along_axis(xp: Any, x: Any, i: Any, /, axis: int = -1) -> Any:
    """Elements at positions along an axis that are given for each place of the others, which broadcast.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> lg.take_along_axis(x, lg.asarray([[0, 0], [1, 0]]), axis=1).sum().backward()
    >>> x.grad.tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """
    return xp.take_along_axis(x, i, axis=axis)


@primitive(
    LINEAR,
    vjp=(lambda xp, g, i, *, axis: xp.take_along_axis(g, i, axis=axis), None),
    jvp=lambda xp, y, xs, ts, *, axis, size: xp.put_along_axis_add(ts[0], xs[1], axis=axis, size=size),
    batch=_put_along_batch,
)
def put_along_axis_add(xp: Any, g: Any, i: Any, /, *, axis: int, size: int) -> Any:
    """Zeros with g added at positions along an axis of a size: the adjoint of `take_along_axis`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.indexing.taking import put_along_axis_add
    >>> g = lg.tensor([[1.0, 2.0]], requires_grad=True)
    >>> put_along_axis_add(g, lg.asarray([[2, 2]]), axis=1, size=3).tolist()
    [[0.0, 0.0, 3.0]]
    """
    need_one_rank("put_along_axis_add", g.ndim, i.ndim)
    axis = axis_of("put_along_axis_add", axis, g.ndim)
    at = _hits(xp, i, axis, size)
    truth = xp.isdtype(g.dtype, "bool")
    g = xp.expand_dims(xp.astype(g, dtype=xp.int8) if truth else g, axis=axis + 1)
    y = xp.sum(xp.where(at, g, xp.zeros_like(g)), axis=axis)
    return y != 0 if truth else xp.astype(y, dtype=g.dtype)


def _hits(xp: Any, i: Any, axis: int, size: int) -> Any:
    """Where each index points, as truth values along a new axis after its own."""
    i = xp.expand_dims(xp.where(i < 0, i + size, i), axis=axis + 1)
    return i == xp.reshape(xp.arange(size, dtype=i.dtype, **beside(i)), shape=(size, *(1,) * (i.ndim - axis - 2)))


def _last_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    return call(
        *values,
        axis=axis_of("last_put", keywords["axis"], len(values[0].shape) - 1) + 1,
        size=keywords["size"],
    )


@primitive(LINEAR, batch=_last_batch)
def last_put(xp: Any, i: Any, /, *, axis: int, size: int) -> Any:
    """For each place along an axis of a size the last position whose index points there, or -1.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.indexing.taking import last_put
    >>> last_put(lg.asarray([2, 0, 2]), axis=0, size=4).tolist()
    [1, -1, 2, -1]
    """
    axis = axis_of("last_put", axis, i.ndim)
    at = _hits(xp, i, axis, size)
    count = i.shape[axis]
    if count == 0:
        return xp.zeros((*i.shape[:axis], size, *i.shape[axis + 1 :]), dtype=xp.int64, **beside(i)) - 1
    positions = xp.reshape(xp.arange(count, dtype=xp.int64, **beside(i)), shape=(count, 1, *(1,) * (i.ndim - axis - 1)))
    return xp.max(xp.where(at, positions, -xp.ones_like(positions)), axis=axis)
