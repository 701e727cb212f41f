"""Shapes and axes: linear primitives that move values about and change none.

Most of them give views, so their rules keep shapes and keywords only.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core.primitive import LINEAR, primitive
from lucidgrad.levels.batching import shifted
from lucidgrad.levels.layer import run
from lucidgrad.ops.axes import (
    axes_of,
    axis_of,
    complete,
    inverse,
    moved,
    need_matrix,
    on_matrices,
    order_of,
    product,
    sizes_of,
)
from lucidgrad.ops.elementwise.copies import apart


# -- reshape and broadcast -----------------------------------------------------------------------
def _reshape_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    (x,) = values
    shape = complete("reshape", keywords["shape"], x.shape[1:])
    return call(x, shape=(x.shape[0], *shape), copy=keywords["copy"])


@primitive(LINEAR, vjp=lambda xp, g, x_meta: xp.reshape(g, shape=x_meta.shape), batch=_reshape_batch, view=True)
def reshape(xp: Any, x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """The same elements in another shape; one size may be -1 and is worked out.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(4, requires_grad=True)
    >>> lg.sum(lg.reshape(x, (2, -1)) * lg.asarray([[1.0, 2.0], [3.0, 4.0]])).backward()
    >>> x.grad.tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return xp.reshape(x, shape=shape, copy=copy)


def _broadcast_to_vjp(xp: Any, g: Any, x_meta: Any) -> Any:
    """Sum over the axes that were stretched."""
    old, extra = x_meta.shape, g.ndim - x_meta.ndim
    axes = tuple(i for i, n in enumerate(g.shape) if i < extra or old[i - extra] != n)
    if not axes:
        return g
    g = xp.sum(g, axis=axes, keepdims=False)
    return g if g.shape == old else xp.reshape(g, shape=old)


def _broadcast_to_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    (x,) = values
    shape = sizes_of("broadcast_to", keywords["shape"])
    missing = len(shape) - (len(x.shape) - 1)
    if missing > 0:
        x = run("reshape", x, shape=(x.shape[0], *(1,) * missing, *x.shape[1:]))
    elif missing < 0:
        raise ValueError(f"broadcast_to: an array of shape {tuple(x.shape[1:])} can't be broadcast to {shape}")
    return call(x, shape=(x.shape[0], *shape))


@primitive(LINEAR, vjp=_broadcast_to_vjp, batch=_broadcast_to_batch, view=True)
def broadcast_to(xp: Any, x: Any, /, shape: Any) -> Any:
    """An array stretched to a shape, by the rules of broadcasting.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 1), requires_grad=True)
    >>> lg.sum(lg.broadcast_to(x, (2, 3))).backward()
    >>> x.grad.tolist()
    [[3.0], [3.0]]
    """
    return xp.broadcast_to(x, shape=shape)


# -- axes that come and go -----------------------------------------------------------------------
def _expand_dims_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    (x,) = values
    axes = _new_axes(keywords["axis"], len(x.shape) - 1)
    return call(x, axis=tuple(a + 1 for a in axes))


def _new_axes(axis: Any, rank: int) -> tuple[int, ...]:
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    return axes_of("expand_dims", axis, rank + count)


@primitive(LINEAR, vjp=lambda xp, g, x_meta: xp.reshape(g, shape=x_meta.shape), batch=_expand_dims_batch, view=True)
def expand_dims(xp: Any, x: Any, /, axis: Any = 0) -> Any:
    """Add axes of size 1, at these positions of the result.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(3, requires_grad=True)
    >>> lg.expand_dims(x, axis=-1).shape
    (3, 1)
    """
    axes = _new_axes(axis, x.ndim)
    sizes = iter(x.shape)
    return xp.reshape(x, shape=tuple(1 if i in axes else next(sizes) for i in range(x.ndim + len(axes))))


def _squeeze_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    (x,) = values
    return call(x, axis=tuple(a + 1 for a in _single_axes(keywords["axis"], tuple(x.shape[1:]))))


def _single_axes(axis: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    if axis is None:
        return tuple(i for i, n in enumerate(shape) if n == 1)
    axes = axes_of("squeeze", axis, len(shape))
    for a in axes:
        if shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} of an array of shape {shape} has size {shape[a]}, expected 1")
    return axes


@primitive(LINEAR, vjp=lambda xp, g, x_meta: xp.reshape(g, shape=x_meta.shape), batch=_squeeze_batch, view=True)
def squeeze(xp: Any, x: Any, /, axis: Any = None) -> Any:
    """Remove axes of size 1: the given ones, or all.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 3), requires_grad=True)
    >>> lg.squeeze(x, axis=0).shape
    (3,)
    """
    axes = _single_axes(axis, tuple(x.shape))
    return xp.reshape(x, shape=tuple(n for i, n in enumerate(x.shape) if i not in axes))


# -- axes in another order -----------------------------------------------------------------------
def _permute_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    order = order_of("permute_dims", keywords["axes"], len(values[0].shape) - 1)
    return call(*values, axes=(0, *(a + 1 for a in order)))


@primitive(
    LINEAR,
    vjp=lambda xp, g, *, axes: xp.permute_dims(g, axes=inverse(order_of("permute_dims", axes, g.ndim))),
    batch=_permute_batch,
    view=True,
)
def permute_dims(xp: Any, x: Any, /, axes: Any) -> Any:
    """The axes in another order.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 3, 4), requires_grad=True)
    >>> lg.permute_dims(x, (2, 0, 1)).shape
    (4, 2, 3)
    """
    return xp.permute_dims(x, axes=axes)


def _moveaxis_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    rank = len(values[0].shape) - 1
    ends = (axes_of("moveaxis", keywords[k], rank) for k in ("source", "destination"))
    source, destination = (tuple(a + 1 for a in axes) for axes in ends)
    return call(*values, source=source, destination=destination)


@primitive(
    LINEAR,
    vjp=lambda xp, g, *, source, destination: xp.moveaxis(g, source=destination, destination=source),
    batch=_moveaxis_batch,
    view=True,
)
def moveaxis(xp: Any, x: Any, /, source: Any, destination: Any) -> Any:
    """Move axes to other positions; the rest keep their order.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 3, 4), requires_grad=True)
    >>> lg.moveaxis(x, 0, -1).shape
    (3, 4, 2)
    """
    return xp.permute_dims(x, axes=moved(source, destination, x.ndim))


@primitive(LINEAR, vjp=lambda xp, g: xp.matrix_transpose(g), batch=on_matrices("matrix_transpose"), view=True)
def matrix_transpose(xp: Any, x: Any, /) -> Any:
    """Swap the last two axes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 3), requires_grad=True)
    >>> lg.matrix_transpose(x).shape
    (3, 2)
    """
    need_matrix("matrix_transpose", x.ndim)
    return xp.permute_dims(x, axes=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


# -- elements in another order -------------------------------------------------------------------
@apart  # rules reverse without a copy
@primitive(LINEAR, vjp=lambda xp, g, *, axis: xp.flip(g, axis=axis), view=True)
def flip(xp: Any, x: Any, /, axis: Any = None) -> Any:
    """Reverse the order of the elements along one axis, several, or all.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(3, requires_grad=True)
    >>> (lg.flip(x) * lg.asarray([1.0, 2.0, 3.0])).sum().backward()
    >>> x.grad.tolist()
    [3.0, 2.0, 1.0]
    """
    return xp.flip(x, axis=axis)


def _backwards(shift: Any) -> Any:
    return tuple(-s for s in shift) if isinstance(shift, (tuple, list)) else -shift


def _roll_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    (x,), axis = values, keywords["axis"]
    if axis is not None:
        return call(x, shift=keywords["shift"], axis=shifted(axis, len(x.shape) - 1))
    flat = run("reshape", x, shape=(x.shape[0], product(x.shape[1:])))
    return run("reshape", call(flat, shift=keywords["shift"], axis=1), shape=tuple(x.shape))


@primitive(
    LINEAR,
    vjp=lambda xp, g, *, shift, axis: xp.roll(g, shift=_backwards(shift), axis=axis),
    batch=_roll_batch,
)
def roll(xp: Any, x: Any, /, shift: Any, axis: Any = None) -> Any:
    """Shift elements along axes; those that leave at the end come back at the start.

    Without an axis the array is shifted as if it were flat.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(3, requires_grad=True)
    >>> (lg.roll(x, 1) * lg.asarray([1.0, 2.0, 3.0])).sum().backward()
    >>> x.grad.tolist()
    [2.0, 3.0, 1.0]
    """
    return xp.roll(x, shift=shift, axis=axis)


# -- made of the others --------------------------------------------------------------------------
def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Several neighbouring axes as one (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.flatten(lg.ones((2, 3, 4)), 1).shape
    (2, 12)
    """
    sizes = x.shape or (1,)
    start, end = (axis_of("flatten", d, len(sizes)) for d in (start_dim, end_dim))
    if start > end:
        raise RuntimeError(f"flatten: given start_dim {start_dim} after end_dim {end_dim}")
    return reshape(x, (*sizes[:start], product(sizes[start : end + 1]), *sizes[end + 1 :]))


def ravel(x: Any) -> Any:
    """All elements in one dimension.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ravel(lg.ones((2, 3))).shape
    (6,)
    """
    return reshape(x, (product(x.shape),))


def unflatten(x: Any, dim: int, sizes: Any) -> Any:
    """One axis as several; one of the sizes may be -1 (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.unflatten(lg.ones((2, 12)), 1, (3, -1)).shape
    (2, 3, 4)
    """
    dim = axis_of("unflatten", dim, x.ndim)
    return reshape(x, (*x.shape[:dim], *complete("unflatten", sizes, x.shape[dim : dim + 1]), *x.shape[dim + 1 :]))


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Exchange two axes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.swapaxes(lg.ones((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    order = list(range(x.ndim or 1))  # a 0-d array counts as one element
    a, b = (axis_of("swapaxes", axis, x.ndim or 1) for axis in (axis1, axis2))
    order[a], order[b] = b, a
    return permute_dims(x, tuple(order[: x.ndim]))


def transpose(x: Any, axes: Any = None) -> Any:
    """The axes in another order: reversed if none is given (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.transpose(lg.ones((2, 3, 4))).shape
    (4, 3, 2)
    """
    return permute_dims(x, tuple(range(x.ndim))[::-1] if axes is None else axes)


def expand(x: Any, *sizes: Any) -> Any:
    """Stretch axes of size 1 without copying; -1 keeps a size (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.shape.layout import expand
    >>> expand(lg.ones((2, 1)), -1, 3).shape
    (2, 3)
    """
    given = sizes_of("expand", sizes[0] if len(sizes) == 1 else sizes)
    extra = len(given) - x.ndim
    if extra < 0 or -1 in given[:extra]:
        raise RuntimeError(f"expand: a tensor of shape {tuple(x.shape)} can't be expanded to {given}")
    return broadcast_to(x, tuple(x.shape[i - extra] if n == -1 else n for i, n in enumerate(given)))


def _each(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """Let a function of one array take several, one by one or in a sequence: it gives a tuple of results then."""

    @functools.wraps(function)
    def of_each(*arrays: Any) -> Any:
        if len(arrays) != 1:
            return tuple(map(function, arrays))
        return tuple(map(function, arrays[0])) if isinstance(arrays[0], (tuple, list)) else function(arrays[0])

    del of_each.__wrapped__  # its parameters are these
    return of_each


@_each
def atleast_1d(x: Any) -> Any:
    """An array of one dimension or more; of several arrays a tuple.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.atleast_1d(lg.tensor(2.0)).shape
    (1,)
    """
    return reshape(x, (1,)) if x.ndim == 0 else x


@_each
def atleast_2d(x: Any) -> Any:
    """An array of two dimensions or more; new axes come first. Of several arrays a tuple.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.atleast_2d(lg.ones(3)).shape
    (1, 3)
    """
    return reshape(x, (*(1,) * (2 - x.ndim), *x.shape)) if x.ndim < 2 else x


@_each
def atleast_3d(x: Any) -> Any:
    """An array of three dimensions or more; vectors become ``(1, n, 1)``, matrices ``(m, n, 1)``.

    Of several arrays it gives a tuple.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.atleast_3d(lg.ones((2, 3))).shape
    (2, 3, 1)
    """
    return reshape(x, (*atleast_2d(x).shape, 1)) if x.ndim < 3 else x


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes are broadcast to.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    given = [sizes_of("broadcast_shapes", shape) for shape in shapes]
    made: list[int] = []
    for i in range(1, max(map(len, given), default=0) + 1):
        sizes = {shape[-i] for shape in given if len(shape) >= i} - {1}
        if len(sizes) > 1:
            raise ValueError(f"broadcast_shapes: the shapes {', '.join(map(str, given))} can't be broadcast together")
        made.insert(0, sizes.pop() if sizes else 1)
    return tuple(made)


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """Arrays stretched to the shape that they have together, given one by one or in a sequence.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> [x.shape for x in lg.broadcast_arrays(lg.ones((3, 1)), lg.ones(4))]
    [(3, 4), (3, 4)]
    """
    if len(arrays) == 1 and isinstance(arrays[0], (tuple, list)):
        (arrays,) = arrays
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return tuple(broadcast_to(x, shape) for x in arrays)


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Coordinate matrices from vectors; ``"xy"`` exchanges the first two axes, ``"ij"`` does not.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> [x.shape for x in lg.meshgrid(lg.ones(3), lg.ones(4))]
    [(4, 3), (4, 3)]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: given indexing={indexing!r}, expected 'xy' or 'ij'")
    count, swap = len(arrays), indexing == "xy" and len(arrays) > 1
    lined = []
    for i, x in enumerate(arrays):
        if x.ndim > 1:
            raise ValueError(f"meshgrid: given an array of dimension {x.ndim}, expected at most 1")
        at = 1 - i if swap and i < 2 else i
        lined.append(reshape(x, (*(1,) * at, product(x.shape), *(1,) * (count - at - 1))))
    return broadcast_arrays(*lined)


movedim = moveaxis
