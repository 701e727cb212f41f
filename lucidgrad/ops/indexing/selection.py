"""Picking elements by key, as square brackets do, and adding them back; and PyTorch's functions for both."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core import device, dtype as dtypes
from lucidgrad.core.dispatch import number as plain_number
from lucidgrad.core.engine import tape_namespace
from lucidgrad.core.primitive import LINEAR, primitive
from lucidgrad.keys import At, Laid, completed, is_mask, laid_out, parts_of
from lucidgrad.levels.batching import of_one_batch, through_program
from lucidgrad.levels.layer import run
from lucidgrad.ops.axes import axis_of, beside, inverse, product
from lucidgrad.ops.precision import rounded_once
from lucidgrad.ops.shape.layout import broadcast_shapes, broadcast_to, reshape

from .keys import resolve
from .taking import last_put, need_one_rank, put_along_axis_add, take, take_along_axis, take_put


# -- index and put_add: keys without arrays -------------------------------------------------------
def _index_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    key = parts_of(keywords["key"])
    completed("index", key, len(values[0].shape) - 1)  # raises where the key is too long
    return call(*values, key=(slice(None), *key))


@primitive(
    LINEAR,
    vjp=lambda xp, g, x_meta, *, key: xp.put_add(g, key=key, shape=x_meta.shape),
    batch=_index_batch,
    view=True,
    placing=True,
)
def index(xp: Any, x: Any, /, key: Any) -> Any:
    """``x[key]`` for a key of integers, slices, None and an ellipsis: a view.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> x[1:].sum().backward()
    >>> x.grad.tolist()
    [0.0, 1.0, 1.0]
    """
    resolved = resolve("index", key, x.shape)
    return xp.reshape(x if resolved.whole else x[resolved.slices], shape=resolved.shape)


def _put_add_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    (g,) = values
    return call(g, key=(slice(None), *parts_of(keywords["key"])), shape=(g.shape[0], *keywords["shape"]))


@primitive(LINEAR, vjp=lambda xp, g, *, key: xp.index(g, key=key), batch=_put_add_batch)
def put_add(xp: Any, g: Any, /, key: Any, shape: Any) -> Any:
    """Zeros of a shape, with g at a key without arrays: the adjoint of `index`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.indexing.selection import put_add
    >>> g = lg.ones(2, requires_grad=True)
    >>> put_add(g, slice(0, 4, 2), (4,)).tolist()
    [1.0, 0.0, 1.0, 0.0]
    """
    resolved = resolve("put_add", key, shape)
    y = xp.zeros(tuple(shape), dtype=g.dtype, **beside(g))
    y[resolved.slices or ...] = xp.reshape(g, shape=resolved.region)
    return y


# -- pick and pick_put: keys with arrays ---------------------------------------------------------
def _flat(xp: Any, at: Any, laid: Laid) -> Any:
    """The positions of a key as one array, into their axes taken together."""
    flat: Any = 0
    for k, n in enumerate(laid.sizes):
        i = xp.astype(at if len(laid.sizes) == 1 else xp.index(at, key=k), dtype=dtypes.named("int64"))
        flat = flat * n + xp.where(i < 0, i + n, i)
    return flat


def _counted(count: int, at: Any) -> Any:
    """The numbers from 0 up, where an array is."""
    where = device.by_array[type(at)].device_of(at)
    return device.backend_named(where).create("arange", where, count, dtype=dtypes.named("int64"))


def _moved(x: Any, count: int, source: int, destination: int) -> Any:
    """So many axes that follow one another, in another place."""
    if not count or source == destination:
        return x
    ends = [tuple(range(start, start + count)) for start in (source, destination)]
    return run("moveaxis", x, source=ends[0], destination=ends[1])


def _rank(key: Sequence[Any], at: Any) -> int:
    """How many axes positions have, in one example if they are batched: several arrays of them are stacked."""
    return len(at.shape) - (sum(type(part) is At for part in key) > 1)


def _in_batch(key: tuple[Any, ...], at: Any) -> tuple[tuple[Any, ...], Any]:
    """A key and its positions, which differ between examples, as those of the whole batch: each in its own example."""
    several = sum(type(part) is At for part in key) > 1
    rows = run("moveaxis", at, source=1, destination=0) if several else run("reshape", at, shape=(1, *at.shape))
    rows = run("astype", rows, dtype=dtypes.named("int64"), copy=False)  # there may be more examples than positions
    sizes = tuple(rows.shape[1:])
    own = run("reshape", _counted(sizes[0], at), shape=(1, sizes[0], *(1,) * (len(sizes) - 1)))
    return (At(), *key), run("concat", run("broadcast_to", own, shape=(1, *sizes)), rows, axis=0)


def _pick_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    (x, at), key = values, keywords["key"]
    laid = laid_out("index", key, x.shape[batched[0] :])
    rank = _rank(key, at) - batched[1]
    if not batched[1]:
        y = call(x, at, key=(slice(None), *key))
        return run("moveaxis", y, source=rank, destination=0) if laid.first else y
    if batched[0]:
        key, at = _in_batch(key, at)
        return _moved(call(x, at, key=key), rank, 1, laid.place + 1)
    at = at if len(laid.sizes) == 1 else run("moveaxis", at, source=0, destination=1)
    return run("moveaxis", call(x, at, key=key), source=laid.place, destination=0)


@primitive(
    LINEAR,
    vjp=(lambda xp, g, at, x_meta, *, key: xp.pick_put(g, at, key=key, shape=x_meta.shape), None),
    jvp=lambda xp, y, xs, ts, *, key: xp.pick(ts[0], xs[1], key=key),
    batch=_pick_batch,
)
def pick(xp: Any, x: Any, at: Any, /, *, key: tuple[Any, ...]) -> Any:
    """``x[key]`` for a key with arrays: ``at`` has their positions, and `At` stands for them in the key.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> x[[0, 0, 2]].sum().backward()
    >>> x.grad.tolist()
    [2.0, 0.0, 1.0]
    """
    laid = laid_out("index", key, x.shape)
    y = x if laid.whole else xp.index(x, key=laid.key)
    rest = tuple(laid.shape[a] for a in laid.rest)
    y = xp.reshape(xp.permute_dims(y, axes=(*laid.axes, *laid.rest)), shape=(product(laid.sizes), *rest))
    i = _flat(xp, at, laid)
    ends = tuple(range(i.ndim)), tuple(range(laid.place, laid.place + i.ndim))
    return xp.moveaxis(xp.take(y, i, axis=0), source=ends[0], destination=ends[1])


def _pick_put_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    key, shape = keywords["key"], keywords["shape"]
    laid = laid_out("index", key, shape)
    g, at = values if batched[0] else of_one_batch(values, batched)
    rank, size = _rank(key, at) - batched[1], g.shape[0]
    if batched[1]:
        key, at = _in_batch(key, at)
        return call(_moved(g, rank, laid.place + 1, 1), at, key=key, shape=(size, *shape))
    g = run("moveaxis", g, source=0, destination=rank) if laid.first else g
    return call(g, at, key=(slice(None), *key), shape=(size, *shape))


@primitive(
    LINEAR,
    vjp=(lambda xp, g, at, *, key: xp.pick(g, at, key=key), None),
    jvp=lambda xp, y, xs, ts, *, key, shape: xp.pick_put(ts[0], xs[1], key=key, shape=shape),
    batch=_pick_put_batch,
)
def pick_put(xp: Any, g: Any, at: Any, /, *, key: tuple[Any, ...], shape: Any) -> Any:
    """Zeros of a shape, with g added at a key with arrays: what falls on one place is summed. The adjoint of `pick`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.keys import At
    >>> from lucidgrad.ops.indexing.selection import pick_put
    >>> g = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> pick_put(g, lg.asarray([1, 1]), key=(At(),), shape=(3,)).tolist()
    [0.0, 3.0, 0.0]
    """
    laid = laid_out("index", key, shape)
    i = _flat(xp, at, laid)
    ends = tuple(range(laid.place, laid.place + i.ndim)), tuple(range(i.ndim))
    g = xp.moveaxis(g, source=ends[0], destination=ends[1])
    order = (*laid.axes, *laid.rest)
    g = xp.take_put(g, i, axis=0, size=product(laid.sizes))
    g = xp.permute_dims(xp.reshape(g, shape=tuple(laid.shape[a] for a in order)), axes=inverse(order))
    return g if laid.whole else xp.put_add(g, key=laid.key, shape=tuple(shape))


@primitive(LINEAR, batch=through_program("stays"))
def stays(xp: Any, at: Any, /, *, key: tuple[Any, ...], shape: Any) -> Any:
    """Which values remain that are written at a key with arrays: of those for one place, the one written last.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.keys import At
    >>> from lucidgrad.ops.indexing.selection import stays
    >>> stays(lg.asarray([1, 0, 1]), key=(At(),), shape=(3,)).tolist()
    [False, True, True]
    """
    laid = laid_out("index", key, shape)
    i = _flat(xp, at, laid)
    common, count = tuple(i.shape), product(i.shape)
    i = xp.reshape(i, shape=(count,))
    last = xp.take(xp.last_put(i, axis=0, size=product(laid.sizes)), i, axis=0)
    ones = (1,) * (len(laid.rest) - laid.place)
    return xp.reshape(last == _counted(count, at), shape=(*common, *ones))


# -- PyTorch's names -----------------------------------------------------------------------------
def _crop(x: Any, sizes: Sequence[int], dim: int | None = None) -> Any:
    """The first elements along each axis but one."""
    key = tuple(slice(None) if d == dim or n == x.shape[d] else slice(n) for d, n in enumerate(sizes))
    return x if all(part == slice(None) for part in key) else index(x, key=key)


def _check_scatter(name: str, x: Any, dim: int, i: Any, src: Any = None) -> int:
    dim = axis_of(name, dim, max(x.ndim, 1))
    need_one_rank(name, x.ndim, i.ndim)
    for d, n in enumerate(i.shape):
        if (d != dim and n > x.shape[d]) or (src is not None and (src.ndim != i.ndim or n > src.shape[d])):
            shapes = ", ".join(str(tuple(a.shape)) for a in (x, i, src) if a is not None)
            raise RuntimeError(
                f"{name}: given shapes {shapes}, expected an index that is nowhere larger, but for x along dim {dim}"
            )
    return dim


def vector(x: Any) -> Any:
    """A 0-d tensor as a vector of one element, as which PyTorch indexes it; others as they are."""
    return reshape(x, (1,)) if getattr(x, "shape", None) == () else x


def as_vectors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of ``(x, dim, index, ...)`` take a 0-d tensor x, whose only axis has one element."""

    @functools.wraps(function)
    def run(x: Any, dim: Any, index: Any, *more: Any, **keywords: Any) -> Any:
        if getattr(x, "shape", None) != ():
            return function(x, dim, index, *more, **keywords)
        keywords = {name: vector(value) for name, value in keywords.items()}
        return reshape(function(vector(x), dim, vector(index), *map(vector, more), **keywords), ())

    return run


def gather(x: Any, dim: int, index: Any) -> Any:
    """Elements of x at positions along dim, one for each element of the index (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> lg.gather(x, 1, lg.asarray([[1], [0]])).sum().backward()
    >>> x.grad.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if x.ndim == 0 or (index.ndim == 0 and x.ndim == 1):
        return reshape(gather(vector(x), dim, vector(index)), tuple(index.shape))
    dim = _check_scatter("gather", x, dim, index)
    return take_along_axis(_crop(x, index.shape, dim), index, axis=dim)


@as_vectors
@rounded_once
def scatter_add(x: Any, dim: int, index: Any, src: Any) -> Any:
    """A copy of x to which the elements of src are added at positions along dim (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> src = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> y = lg.scatter_add(lg.zeros(2), 0, lg.asarray([0, 1, 0]), src)
    >>> y.tolist()
    [4.0, 2.0]
    """
    dim = _check_scatter("scatter_add", x, dim, index, src)
    added = put_along_axis_add(_crop(src, index.shape), index, axis=dim, size=x.shape[dim])
    return x + _extend(added, x.shape)


def _extend(x: Any, shape: Sequence[int]) -> Any:
    """Zeros of a shape with x in the corner."""
    return x if tuple(x.shape) == tuple(shape) else put_add(x, key=tuple(map(slice, x.shape)), shape=tuple(shape))


@as_vectors
def scatter(x: Any, dim: int, index: Any, src: Any, *, reduce: str | None = None) -> Any:
    """A copy of x with elements of src, or a number, written at positions along dim (PyTorch's meaning).

    Where several elements fall on one place the last one stays, and the gradient goes to it alone.

    Parameters
    ----------
    x, dim, index
        What to write into, along which axis, and where.
    src
        What to write: a tensor no smaller than the index, or a number.
    reduce
        ``"add"`` sums what falls on one place, and what was there.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros(3, requires_grad=True)
    >>> y = lg.scatter(x, 0, lg.asarray([1]), 5.0)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([0.0, 5.0, 0.0], [1.0, 0.0, 1.0])
    """
    if reduce not in (None, "add"):
        raise ValueError(f"scatter: given reduce={reduce!r}, expected None or 'add'")
    xp, src = tape_namespace, plain_number(src)
    number = not hasattr(src, "shape")
    if reduce == "add":
        return scatter_add(x, dim, index, xp.astype(xp.zeros_like(index), dtype=x.dtype) + src if number else src)
    dim = _check_scatter("scatter", x, dim, index, None if number else src)
    last = last_put(index, axis=dim, size=x.shape[dim])
    last = _extend(last + 1, x.shape) - 1  # -1 where nothing is written
    if number:
        return xp.astype(xp.where(last < 0, x, src), dtype=x.dtype)
    if product(index.shape) == 0:
        return xp.clone(x)
    region = _extend(
        _crop(src, index.shape),
        tuple(n if d == dim else m for d, (n, m) in enumerate(zip(index.shape, x.shape))),
    )
    written = take_along_axis(region, xp.where(last < 0, xp.zeros_like(last), last), axis=dim)
    return xp.astype(xp.where(last < 0, x, written), dtype=x.dtype)


def index_select(x: Any, dim: int, index: Any) -> Any:
    """Elements at positions along dim, the same for all places of the other axes (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> lg.index_select(x, 0, lg.asarray([1, 1])).tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    """
    if x.ndim == 0:
        if product(index.shape) != 1:
            raise RuntimeError(f"index_select: given {product(index.shape)} positions in a 0-d tensor, expected one")
        return reshape(index_select(vector(x), dim, vector(index)), ())
    return take(x, vector(index), axis=dim)


@as_vectors
@rounded_once
def index_add(x: Any, dim: int, index: Any, source: Any, *, alpha: float = 1) -> Any:
    """A copy of x to which slices of source are added at positions along dim (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros((3, 2), requires_grad=True)
    >>> lg.index_add(x, 0, lg.asarray([2, 2]), lg.ones((2, 2))).tolist()
    [[0.0, 0.0], [0.0, 0.0], [2.0, 2.0]]
    """
    dim = axis_of("index_add", dim, x.ndim)
    added = take_put(source, index, axis=dim, size=x.shape[dim])
    return x + (added if alpha == 1 else added * alpha)


def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """A copy of x with a value where the mask is true (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2, requires_grad=True)
    >>> lg.masked_fill(x, lg.asarray([True, False]), 0.0).sum().backward()
    >>> x.grad.tolist()
    [0.0, 1.0]
    """
    check_fill("masked_fill", mask, value)
    return tape_namespace.astype(tape_namespace.where(mask, value, x), dtype=x.dtype)


def check_fill(name: str, mask: Any, value: Any) -> None:
    """Raise unless a mask is one of truth values, and a value one number."""
    if not is_mask(mask) or not hasattr(mask, "shape"):
        given = f"of dtype {mask.dtype}" if hasattr(mask, "dtype") else f"that is a {type(mask).__name__}"
        raise RuntimeError(f"{name}: given a mask {given}, expected a tensor of dtype bool")
    if getattr(value, "shape", ()):
        raise RuntimeError(
            f"{name}: given a value of shape {tuple(value.shape)}, expected a number or a 0-d tensor; "
            f"use where(mask, value, x)"
        )


def masked_select(x: Any, mask: Any) -> Any:
    """The elements of x where the mask is true, in one dimension (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> lg.masked_select(x, x > 1.5).tolist()
    [2.0, 3.0]
    """
    shape = broadcast_shapes(x.shape, mask.shape)
    return broadcast_to(x, shape)[broadcast_to(mask, shape)]
