"""Arranging elements: turning, diagonals, and parts along one axis."""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.ops.axes import axes_of, axis_of, product, sizes_of
from lucidgrad.ops.elementwise.copies import apart
from lucidgrad.ops.indexing.selection import index as part_of
from lucidgrad.ops.indexing.taking import take, take_along_axis
from lucidgrad.ops.sorting import nonzero

from .diagonals import diagonal, diagonal_put
from .joining import unstack
from .layout import flip, permute_dims, reshape, swapaxes

__all__ = [
    "argwhere", "diag", "diag_embed", "diagflat", "fliplr", "flipud", "narrow", "rot90", "select", "sum_to_size",
    "take_along_dim", "unbind", "unfold", "vander",
]  # fmt: skip


# -- turning -------------------------------------------------------------------------------------
def _need_rank(name: str, x: Any, rank: int) -> None:
    if x.ndim < rank:
        raise ValueError(f"{name}: given an array of dimension {x.ndim}, expected at least {rank}")


def flipud(x: Any, /) -> Any:
    """The first axis in reverse.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2, requires_grad=True)
    >>> (lg.flipud(x) * lg.asarray([1.0, 2.0])).sum().backward()
    >>> x.grad.tolist()
    [2.0, 1.0]
    """
    _need_rank("flipud", x, 1)
    return flip(x, axis=0)


def fliplr(x: Any, /) -> Any:
    """The second axis in reverse.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 2), requires_grad=True)
    >>> (lg.fliplr(x) * lg.asarray([1.0, 2.0])).sum().backward()
    >>> x.grad.tolist()
    [[2.0, 1.0]]
    """
    _need_rank("fliplr", x, 2)
    return flip(x, axis=1)


@apart
def rot90(x: Any, /, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """Turned k times by a right angle, from the first of two axes towards the second.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> y = lg.rot90(x)
    >>> y[0, 0].backward()
    >>> y.tolist(), x.grad.tolist()
    ([[2.0, 4.0], [1.0, 3.0]], [[0.0, 1.0], [0.0, 0.0]])
    """
    pair = axes_of("rot90", tuple(axes), x.ndim)
    if len(pair) != 2:
        raise ValueError(f"rot90: given {len(pair)} axes, expected two")
    first, second = pair
    if k % 4 == 2:
        return flip(x, axis=pair)
    if k % 2 == 0:
        return permute_dims(x, tuple(range(x.ndim)))
    return swapaxes(flip(x, axis=second if k % 4 == 1 else first), first, second)


# -- diagonals -----------------------------------------------------------------------------------
@apart
def diag(x: Any, /, k: int = 0) -> Any:
    """A matrix with a vector on its k-th diagonal, or the k-th diagonal of a matrix.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> y = lg.diag(x)
    >>> (y * y).sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[1.0, 0.0], [0.0, 2.0]], [2.0, 4.0])
    """
    if x.ndim == 2:
        return diagonal(x, offset=k)
    if x.ndim != 1:
        raise ValueError(f"diag: given an array of dimension {x.ndim}, expected 1 or 2")
    return diag_embed(x, k)


def diagflat(x: Any, /, k: int = 0) -> Any:
    """A matrix with all elements of an array on its k-th diagonal.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 2), requires_grad=True)
    >>> lg.diagflat(x)[1, 1].backward()
    >>> x.grad.tolist()
    [[0.0, 1.0]]
    """
    return diag_embed(reshape(x, (product(x.shape),)), k)


def diag_embed(x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices in two new axes, with the last axis on their diagonals (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((3, 2), requires_grad=True)
    >>> y = lg.diag_embed(x)
    >>> y[0, 1, 1].backward()
    >>> y.shape, x.grad.tolist()
    ((3, 2, 2), [[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    """
    _need_rank("diag_embed", x, 1)
    pair = axes_of("diag_embed", (dim1, dim2), x.ndim + 1)
    rest, size = list(x.shape[:-1]), x.shape[-1] + abs(offset)
    shape = tuple(size if a in pair else rest.pop(0) for a in range(x.ndim + 1))
    return diagonal_put(x, offset=offset, axis1=pair[0], axis2=pair[1], shape=shape)


@apart
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix of a vector's powers, one in each of N columns, falling or increasing.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0, 3.0], requires_grad=True)
    >>> y = lg.vander(x, 3)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[4.0, 2.0, 1.0], [9.0, 3.0, 1.0]], [5.0, 7.0])
    """
    if x.ndim != 1:
        raise ValueError(f"vander: given an array of dimension {x.ndim}, expected 1")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise ValueError(f"vander: given N={n}, expected at least 0")
    if not n:
        return ops.broadcast_to(ops.expand_dims(x, axis=1), shape=(x.shape[0], 1))[:, :0]
    base = ops.broadcast_to(ops.expand_dims(x, axis=1), shape=(x.shape[0], n - 1))
    powers = ops.cumulative_prod(base, axis=1, dtype=x.dtype, include_initial=True)
    return powers if increasing else flip(powers, axis=1)


# -- parts ---------------------------------------------------------------------------------------
def narrow(x: Any, dim: int, start: int, length: int) -> Any:
    """A number of slices along an axis, from a first one on (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(4, requires_grad=True)
    >>> lg.narrow(x, 0, 1, 2).sum().backward()
    >>> x.grad.tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    dim = axis_of("narrow", dim, x.ndim)
    size, first = x.shape[dim], int(start)
    first = first + size if first < 0 else first
    if not 0 <= first <= size or length < 0 or first + length > size:
        raise RuntimeError(f"narrow: given start={start} and length={length} for an axis of size {size}")
    return part_of(x, key=(*(slice(None),) * dim, slice(first, first + length)))


def select_slice(x: Any, dim: int, index: int) -> Any:
    """One slice along an axis: PyTorch's method ``select``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.shape.arrangement import select_slice
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> select_slice(x, 1, 0).sum().backward()
    >>> x.grad.tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    return part_of(x, key=(*(slice(None),) * axis_of("select", dim, x.ndim), index))


def unbind(x: Any, dim: int = 0) -> tuple[Any, ...]:
    """The slices along an axis (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.unbind(x)[1].sum().backward()
    >>> x.grad.tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    return unstack(x, axis=dim)


def unfold(x: Any, dimension: int, size: int, step: int) -> Any:
    """Windows of a size along an axis, a step apart, as a new last axis; a copy (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> y = lg.unfold(x, 0, 2, 1)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[1.0, 2.0], [2.0, 3.0]], [1.0, 2.0, 1.0])
    """
    dim = axis_of("unfold", dimension, max(x.ndim, 1))
    n = x.shape[dim] if x.ndim else 1
    if not 0 <= size <= n or step < 1:
        raise RuntimeError(f"unfold: given size={size} and step={step}, expected 0 to {n}, and at least 1")
    if not x.ndim:
        return reshape(x, (1,))[:size]
    starts = ops.expand_dims(ops.arange((n - size) // step + 1, device=x.device) * step, axis=1)
    windows = take(x, starts + ops.arange(size, device=x.device), axis=dim)
    return ops.moveaxis(windows, source=dim + 1, destination=-1)


def take_along_dim(x: Any, indices: Any, dim: int | None = None) -> Any:
    """Elements at positions along an axis, or in the flattened array (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> lg.take_along_dim(x, lg.asarray([3, 3])).sum().backward()
    >>> x.grad.tolist()
    [[0.0, 0.0], [0.0, 2.0]]
    """
    if dim is None:
        return take(reshape(x, (product(x.shape),)), reshape(indices, (product(indices.shape),)), axis=0)
    return take_along_axis(x, indices, axis=dim)


def argwhere(x: Any, /) -> Any:
    """Positions of the elements that are not zero, one in each row.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.argwhere(lg.asarray([[0.0, 1.0], [2.0, 0.0]])).tolist()
    [[0, 1], [1, 0]]
    """
    if not x.ndim:
        return argwhere(reshape(x, (1,)))[:, :0]
    return ops.stack(*nonzero(x), axis=1)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """For each place the first choice whose condition holds, or the default (NumPy's meaning).

    The method of `Tensor` is PyTorch's: one slice along an axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> y = lg.select([x < 1.5, x > 2.5], [x, x * x], 0.0)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([1.0, 0.0, 9.0], [1.0, 0.0, 6.0])
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(
            f"select: given {len(condlist)} conditions and {len(choicelist)} choices, expected as many, and at least 1"
        )
    y = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        y = ops.where(condition, choice, y)
    return y


def sum_to_size(x: Any, *size: Any) -> Any:
    """Summed over the axes that broadcasting to the present shape would have made (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.shape.arrangement import sum_to_size
    >>> x = lg.ones((2, 3), requires_grad=True)
    >>> y = sum_to_size(x, 1, 3)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[2.0, 2.0, 2.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    """
    sizes = sizes_of("sum_to_size", size[0] if len(size) == 1 else size)
    shape = tuple(x.shape)
    extra = len(shape) - len(sizes)
    if extra < 0 or any(n not in (1, m) for n, m in zip(sizes, shape[extra:], strict=True)):
        raise RuntimeError(f"sum_to_size: given {sizes}, which can't be broadcast to {shape}")
    axes = tuple(a for a, n in enumerate(shape) if a < extra or sizes[a - extra] != n)
    return reshape(ops.sum(x, axis=axes), sizes)
