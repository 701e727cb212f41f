"""Joining arrays and taking them apart, repeating and padding."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.box import Box
from lucidgrad.core.primitive import LINEAR, joint, primitive
from lucidgrad.extents import check_count
from lucidgrad.levels.batching import Batched, of_one_batch
from lucidgrad.levels.layer import Layer, run
from lucidgrad.ops.axes import axis_of, beside, product, sizes_of
from lucidgrad.ops.elementwise.copies import apart
from lucidgrad.ops.indexing.selection import put_add
from lucidgrad.ops.indexing.taking import take

from .layout import atleast_1d, atleast_2d, atleast_3d, broadcast_to, expand_dims, reshape


# -- concat and split ----------------------------------------------------------------------------
def _concat_vjp(xp: Any, g: Any, xs_meta: Any, *, axis: int | None) -> Any:
    if axis is None:
        parts = xp.split_with_sizes(g, split_sizes=tuple(m.size for m in xs_meta), axis=0)
        return [xp.reshape(part, shape=m.shape) for part, m in zip(parts, xs_meta, strict=True)]
    return xp.split_with_sizes(g, split_sizes=tuple(m.shape[axis] for m in xs_meta), axis=axis)


def _concat_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    values, axis = of_one_batch(values, batched), keywords["axis"]
    if axis is None:
        return call(*(run("reshape", v, shape=(v.shape[0], product(v.shape[1:]))) for v in values), axis=1)
    return call(*values, axis=axis_of("concat", axis, len(values[0].shape) - 1) + 1)


@primitive(LINEAR, vjp=joint(_concat_vjp), batch=_concat_batch)
def concat(xp: Any, *xs: Any, axis: int | None = 0) -> Any:
    """Arrays one after the other along an axis; without one (``axis=None``) they are flattened before.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> a, b = lg.ones(2, requires_grad=True), lg.ones(1, requires_grad=True)
    >>> (lg.concat([a, b]) * lg.asarray([1.0, 2.0, 3.0])).sum().backward()
    >>> a.grad.tolist(), b.grad.tolist()
    ([1.0, 2.0], [3.0])
    """
    if axis is None:
        xs, axis = tuple(xp.reshape(x, shape=(product(x.shape),)) for x in xs), 0
    axis = axis_of("concat", axis, xs[0].ndim)
    shapes = [tuple(x.shape) for x in xs]
    if len({(*shape[:axis], len(shape), *shape[axis + 1 :]) for shape in shapes}) > 1:
        raise ValueError(f"concat: given shapes {', '.join(map(str, shapes))}, expected one shape but for axis {axis}")
    total = sum(shape[axis] for shape in shapes)
    y = xp.empty((*shapes[0][:axis], total, *shapes[0][axis + 1 :]), dtype=xp.result_type(*xs))
    end = 0
    for x in xs:
        start, end = end, end + x.shape[axis]
        y[(*(slice(None),) * axis, slice(start, end), ...)] = xp.astype(x, dtype=y.dtype)
    return y


@primitive(LINEAR, vjp=lambda xp, g, *, axis: xp.concat(*g, axis=axis), view=True, outputs=True)
def split_with_sizes(xp: Any, x: Any, /, split_sizes: Any, axis: int = 0) -> Any:
    """Parts of these sizes, one after the other along an axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.shape.joining import split_with_sizes
    >>> x = lg.ones(5, requires_grad=True)
    >>> a, b = split_with_sizes(x, (2, 3))
    >>> b.sum().backward()
    >>> x.grad.tolist()
    [0.0, 0.0, 1.0, 1.0, 1.0]
    """
    axis = axis_of("split_with_sizes", axis, x.ndim)
    sizes = sizes_of("split_with_sizes", split_sizes)
    if sum(sizes) != x.shape[axis] or min(sizes, default=0) < 0:
        raise ValueError(f"split_with_sizes: given sizes {sizes}, expected a sum of {x.shape[axis]}")
    parts, end = [], 0
    for n in sizes:
        start, end = end, end + n
        parts.append(xp.index(x, key=(*(slice(None),) * axis, slice(start, end), ...)))
    return tuple(parts)


def split_by_size(x: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Parts of one size, the last may be smaller, or of these sizes: PyTorch's ``split``, the method of tensors.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> [part.shape for part in lg.ones(5).split(2)]
    [(2,), (2,), (1,)]
    """
    if isinstance(split_size_or_sections, (tuple, list)):
        return split_with_sizes(x, tuple(split_size_or_sections), axis=dim)
    (size,) = sizes_of("split", split_size_or_sections)
    n = x.shape[axis_of("split", dim, x.ndim)]
    if size < 0 or (size == 0 and n > 0):
        raise RuntimeError(f"split: given the size {size}, expected a positive one")
    sizes = (size,) * (n // size) + ((n % size,) if n % size else ()) if n else (0,)
    return split_with_sizes(x, sizes, axis=dim)


def chunk(x: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """At most this many parts of one size, the last may be smaller (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> [part.shape for part in lg.chunk(lg.ones(5), 2)]
    [(3,), (2,)]
    """
    if chunks < 1:
        raise RuntimeError(f"chunk: given chunks={chunks}, expected at least 1")
    n = x.shape[axis_of("chunk", dim, x.ndim)]
    size = -(-n // chunks)
    rest = (n % size,) if n and n % size else ()
    return split_with_sizes(x, (size,) * (n // size) + rest if n else (0,) * chunks, axis=dim)


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """So many parts, as even as possible, or parts that begin at these indices (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> [part.shape for part in lg.array_split(lg.ones(5), 3)]
    [(2,), (2,), (1,)]
    """
    n = x.shape[axis_of("array_split", axis, x.ndim)]
    if isinstance(indices_or_sections, (tuple, list)):
        cuts = [0, *(slice(k).indices(n)[1] for k in indices_or_sections), n]
    else:
        count = check_count("array_split", "indices_or_sections", indices_or_sections, 1, 2**24)
        cuts = [0, *(k * (n // count) + min(k, n % count) for k in range(1, count)), n]
    sizes = tuple(max(0, end - start) for start, end in pairwise(cuts))
    if sum(sizes) == n:
        return split_with_sizes(x, sizes, axis=axis)
    raise ValueError(f"array_split: given indices {tuple(indices_or_sections)}, expected ascending ones")


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """So many even parts, or parts that begin at these indices (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(4, requires_grad=True)
    >>> lg.split(x, 2)[1].sum().backward()
    >>> x.grad.tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    n = x.shape[axis_of("split", axis, x.ndim)]
    if isinstance(indices_or_sections, int) and indices_or_sections > 0 and n % indices_or_sections:
        raise ValueError(f"split: {n} elements can't be split into {indices_or_sections} even parts; use array_split")
    return array_split(x, indices_or_sections, axis)


# -- stack and unstack ---------------------------------------------------------------------------
def _stack_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    values = of_one_batch(values, batched)
    return call(*values, axis=axis_of("stack", keywords["axis"], len(values[0].shape)) + 1)


@primitive(LINEAR, vjp=joint(lambda xp, g, *, axis: xp.unstack(g, axis=axis)), batch=_stack_batch)
def stack(xp: Any, *xs: Any, axis: int = 0) -> Any:
    """Arrays of one shape, along a new axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> a, b = lg.ones(2, requires_grad=True), lg.zeros(2)
    >>> (lg.stack([a, b]) * 3).sum().backward()
    >>> a.grad.tolist()
    [3.0, 3.0]
    """
    axis = axis_of("stack", axis, xs[0].ndim + 1)
    if len({tuple(x.shape) for x in xs}) > 1:
        shapes = ", ".join(str(tuple(x.shape)) for x in xs)
        raise ValueError(f"stack: given shapes {shapes}, expected one shape")
    return xp.concat(*(xp.expand_dims(x, axis=axis) for x in xs), axis=axis)


@primitive(LINEAR, vjp=lambda xp, g, *, axis: xp.stack(*g, axis=axis), view=True, outputs=True)
def unstack(xp: Any, x: Any, /, axis: int = 0) -> Any:
    """The parts of an array along an axis, without that axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 3), requires_grad=True)
    >>> a, b = lg.unstack(x)
    >>> (a * 2).sum().backward()
    >>> x.grad.tolist()
    [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0]]
    """
    axis = axis_of("unstack", axis, x.ndim)
    return tuple(xp.index(x, key=(*(slice(None),) * axis, k, ...)) for k in range(x.shape[axis]))


def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Arrays one after the other along an axis (PyTorch's name of `concat`).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.cat([lg.ones(2), lg.zeros(1)]).tolist()
    [1.0, 1.0, 0.0]
    """
    if isinstance(dim, Box) and isinstance(tensors, Box):
        raise TypeError("cat: given tensors one by one, expected a sequence of them and a dim: lg.cat([x, y], 0)")
    return concat(*tensors, axis=dim)


def hstack(arrays: Sequence[Any]) -> Any:
    """Arrays side by side: along the second axis, vectors along their only one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.hstack([lg.ones((2, 1)), lg.ones((2, 3))]).shape
    (2, 4)
    """
    arrays = [atleast_1d(x) for x in arrays]
    return concat(*arrays, axis=0 if arrays and arrays[0].ndim == 1 else 1)


def vstack(arrays: Sequence[Any]) -> Any:
    """Arrays one above the other: along the first axis, vectors as rows.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.vstack([lg.ones(3), lg.ones((2, 3))]).shape
    (3, 3)
    """
    return concat(*(atleast_2d(x) for x in arrays), axis=0)


def dstack(arrays: Sequence[Any]) -> Any:
    """Arrays one behind the other, along the third axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.dstack([lg.ones((2, 3)), lg.ones((2, 3))]).shape
    (2, 3, 2)
    """
    return concat(*(atleast_3d(x) for x in arrays), axis=2)


def column_stack(arrays: Sequence[Any]) -> Any:
    """Vectors as columns, matrices side by side.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.column_stack([lg.ones(3), lg.ones((3, 2))]).shape
    (3, 3)
    """
    return concat(*(reshape(x, (product(x.shape), 1)) if x.ndim < 2 else x for x in arrays), axis=1)


# -- tile, repeat, pad ---------------------------------------------------------------------------
@apart
def tile(x: Any, repetitions: Any, /) -> Any:
    """An array repeated along each axis as a whole.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.tile(x, (2,)).sum().backward()
    >>> x.grad.tolist()
    [2.0, 2.0]
    """
    times = sizes_of("tile", repetitions)
    if min(times, default=0) < 0:
        raise ValueError(f"tile: given repetitions {times}, expected none below 0")
    times = (*(1,) * (x.ndim - len(times)), *times)
    sizes = (*(1,) * (len(times) - x.ndim), *x.shape)
    pairs = list(zip(times, sizes, strict=True))
    wide = broadcast_to(
        reshape(x, tuple(n for pair in pairs for n in (1, pair[1]))), tuple(n for pair in pairs for n in pair)
    )
    return reshape(wide, tuple(t * n for t, n in pairs))


@apart
def repeat(x: Any, repeats: Any, /, axis: int | None = None) -> Any:
    """Each element repeated: as often as one number says, or as numbers for each place along the axis say.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.repeat(x, 3).sum().backward()
    >>> x.grad.tolist()
    [3.0, 3.0]
    """
    if axis is None:
        x, axis = reshape(x, (product(x.shape),)), 0
    axis = axis_of("repeat", axis, x.ndim)
    n = x.shape[axis]
    repeats = getattr(repeats, "array", repeats)
    if isinstance(repeats, (tuple, list)):
        repeats = _home(x).asarray(list(repeats))
    if not hasattr(repeats, "shape") or (product(repeats.shape) == 1 and type(repeats) is not Batched):
        times = int(repeats) if not hasattr(repeats, "shape") else int(repeats.reshape(()))
        if times < 0:
            raise ValueError(f"repeat: given {times} repeats, expected 0 or more")
        sizes = (*x.shape[: axis + 1], times, *x.shape[axis + 1 :])
        wide = broadcast_to(expand_dims(x, axis=axis + 1), sizes)
        return reshape(wide, (*x.shape[:axis], n * times, *x.shape[axis + 1 :]))
    if type(repeats) is Batched:
        raise ValueError("repeat: numbers of repeats under vmap give results of several shapes")
    if tuple(repeats.shape) != (n,):
        raise ValueError(f"repeat: given repeats of shape {tuple(repeats.shape)}, expected {(n,)}")
    xp = device.backend_of(repeats).xp
    return take(x, xp.repeat(xp.arange(n, **beside(repeats)), repeats), axis=axis)


def _home(x: Any) -> Any:
    """The back end that a tensor's elements are on, under however many batch levels."""
    raw = getattr(x, "array", x)
    while isinstance(raw, Layer):
        raw = raw.front
    return device.backend_of(raw)


@apart
def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    """Add elements before and after, along each axis (NumPy's meaning).

    Parameters
    ----------
    x
        The array.
    pad_width
        How many: a number, a pair (before, after), or a pair for each axis.
    mode
        ``"constant"``, ``"edge"``, ``"reflect"``, ``"symmetric"`` or ``"wrap"``.
    constant_values
        What to add in mode constant: a number, a pair, or a pair for each axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.pad(x, (1, 2)).tolist()
    [0.0, 1.0, 2.0, 0.0, 0.0]
    >>> lg.pad(x, 1, mode="edge").sum().backward()
    >>> x.grad.tolist()
    [2.0, 2.0]
    """
    widths = [tuple(map(int, pair)) for pair in _pairs("pad_width", pad_width, x.ndim)]
    if any(w < 0 for pair in widths for w in pair):
        raise ValueError(f"pad: given pad_width {pad_width}, expected numbers not below 0")
    if mode == "constant":
        return _pad_constant(x, widths, _pairs("constant_values", constant_values, x.ndim))
    if mode not in _PLACES:
        raise ValueError(f"pad: given mode={mode!r}, expected 'constant', {', '.join(map(repr, _PLACES))}")
    for axis, (before, after) in enumerate(widths):
        n = x.shape[axis]
        if before or after:
            if n == 0:
                raise ValueError(f"pad: axis {axis} is empty, mode {mode!r} can't extend it; use 'constant'")
            places = [_PLACES[mode](k, n) for k in range(-before, n + after)]
            x = take(x, _home(x).asarray(places), axis=axis)
    return x


#: Which element stands at a place outside, by mode.
_PLACES = {
    "edge": lambda k, n: min(max(k, 0), n - 1),
    "reflect": lambda k, n: n - 1 - abs(n - 1 - k % (2 * n - 2)) if n > 1 else 0,
    "symmetric": lambda k, n: min(k % (2 * n), 2 * n - 1 - k % (2 * n)),
    "wrap": lambda k, n: k % n,
}


def _pairs(name: str, given: Any, rank: int) -> list[Any]:
    """A pair for each axis, from a number, a pair, or pairs."""
    parts = list(given) if isinstance(given, (tuple, list)) else [given]
    deep = [list(part) if isinstance(part, (tuple, list)) else part for part in parts]
    if all(isinstance(part, list) for part in deep) and deep:
        pairs = [part * 2 if len(part) == 1 else part for part in deep]
        pairs = pairs * rank if len(pairs) == 1 else pairs
    else:
        pairs = [deep * 2 if len(deep) == 1 else deep] * rank
    if len(pairs) != rank or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"pad: given {name} {given}, expected a number, a pair, or {rank} pairs")
    return pairs


def _pad_constant(x: Any, widths: Sequence[Any], values: Sequence[Any]) -> Any:
    sizes = [n + before + after for n, (before, after) in zip(x.shape, widths, strict=True)]
    numbers = [v for pair in values for v in pair]
    if all(not hasattr(v, "shape") and v == 0 for v in numbers):
        key = tuple(slice(before, before + n) for n, (before, _) in zip(x.shape, widths, strict=True))
        return put_add(x, key=key or ..., shape=tuple(sizes))
    for axis, (pair, ends) in enumerate(zip(widths, values, strict=True)):
        parts = [_block(x, axis, width, value) for width, value in zip(pair, ends, strict=True)]
        x = concat(parts[0], x, parts[1], axis=axis)
    return x


def _block(x: Any, axis: int, width: int, value: Any) -> Any:
    """So many places along an axis of an array like x, with one value."""
    if not hasattr(value, "shape"):
        value = _home(x).asarray(value, dtype=x.dtype)
    return broadcast_to(value, (*x.shape[:axis], width, *x.shape[axis + 1 :]))
