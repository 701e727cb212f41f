"""Triangles and diagonals of matrices."""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core.primitive import LINEAR, primitive
from lucidgrad.ops.axes import axes_of, inverse, need_matrix, on_matrices


@primitive(LINEAR, vjp=lambda xp, g, *, k: xp.tril(g, k=k), batch=on_matrices("tril"))
def tril(xp: Any, x: Any, /, k: int = 0) -> Any:
    """The lower triangles of matrices, zeros above the k-th diagonal.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.tril(x).sum().backward()
    >>> x.grad.tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return xp.tril(x, k=k)


@primitive(LINEAR, vjp=lambda xp, g, *, k: xp.triu(g, k=k), batch=on_matrices("triu"))
def triu(xp: Any, x: Any, /, k: int = 0) -> Any:
    """The upper triangles of matrices, zeros below the k-th diagonal.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.triu(x).sum().backward()
    >>> x.grad.tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return xp.triu(x, k=k)


def _plane(name: str, axis1: Any, axis2: Any, rank: int) -> tuple[int, ...]:
    """The order of axes that puts these two last."""
    need_matrix(name, rank)
    pair = axes_of(name, (axis1, axis2), rank)
    return (*(a for a in range(rank) if a not in pair), *pair)


def _diagonal_slice(rows: int, columns: int, offset: int) -> slice:
    """Where a diagonal is among the elements of a flat matrix."""
    start = offset if offset >= 0 else -offset * columns
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    return slice(start, start + (count - 1) * (columns + 1) + 1, columns + 1) if count else slice(0, 0)


def _diagonal_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    """Batching of `diagonal` and `diagonal_put`: all axes move back by one, the shape gets the batch in front."""
    rank = len(keywords["shape"]) if "shape" in keywords else len(values[0].shape) - 1
    pair = axes_of("diagonal", (keywords["axis1"], keywords["axis2"]), rank)
    keywords = {**keywords, "axis1": pair[0] + 1, "axis2": pair[1] + 1}
    if "shape" in keywords:
        keywords["shape"] = (values[0].shape[0], *keywords["shape"])
    return call(*values, **keywords)


@primitive(
    LINEAR,
    vjp=lambda xp, g, x_meta, *, offset, axis1, axis2: xp.diagonal_put(
        g, offset=offset, axis1=axis1, axis2=axis2, shape=x_meta.shape
    ),
    batch=_diagonal_batch,
    view=True,
)
def diagonal(xp: Any, x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of the matrices in two axes, as the last axis of the result.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.diagonal(x).sum().backward()
    >>> x.grad.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    x = xp.permute_dims(x, axes=_plane("diagonal", axis1, axis2, x.ndim))
    *lead, rows, columns = x.shape
    flat = xp.reshape(x, shape=(*lead, rows * columns))
    return xp.index(flat, key=(..., _diagonal_slice(rows, columns, offset)))


@primitive(
    LINEAR,
    vjp=lambda xp, g, *, offset, axis1, axis2: xp.diagonal(g, offset=offset, axis1=axis1, axis2=axis2),
    batch=_diagonal_batch,
)
def diagonal_put(xp: Any, g: Any, /, *, offset: int, axis1: int, axis2: int, shape: Any) -> Any:
    """Zeros of a shape with g on the diagonals: the adjoint of `diagonal`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.shape.diagonals import diagonal_put
    >>> g = lg.ones(2, requires_grad=True)
    >>> diagonal_put(g, offset=0, axis1=0, axis2=1, shape=(2, 2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    order = _plane("diagonal_put", axis1, axis2, len(shape))
    *lead, rows, columns = (shape[a] for a in order)
    key = (..., _diagonal_slice(rows, columns, offset))
    flat = xp.put_add(g, key=key, shape=(*lead, rows * columns))
    return xp.permute_dims(xp.reshape(flat, shape=(*lead, rows, columns)), axes=inverse(order))
