"""Products of several factors, and sums with products: PyTorch's names."""

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from lucidgrad.ops.elementwise.copies import apart
from lucidgrad.ops.numbers import evened
from lucidgrad.ops.precision import in_precision
from lucidgrad.ops.scan import cumulative_prod
from lucidgrad.ops.shape import layout

from .einsum import pair_einsum
from .products import blend, matmul, mv, need_ranks, outer

__all__ = ["addbmm", "addmv", "addr", "chain_matmul", "ger", "multi_dot", "vander"]


@in_precision("low")
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * (batch1 @ batch2)``, summed over the batch.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> b = lg.zeros((3, 2), requires_grad=True)
    >>> y = lg.addbmm(b, lg.ones((4, 3, 1)), lg.ones((4, 1, 2)), beta=2)
    >>> y.sum().backward()
    >>> y[0].tolist(), b.grad[0].tolist()
    ([4.0, 4.0], [2.0, 2.0])
    """
    need_ranks("addbmm", batch1=(batch1, 3), batch2=(batch2, 3))
    rows, columns = (batch1.shape[0], batch1.shape[2]), (batch2.shape[0], batch2.shape[1])
    if rows != columns:
        raise RuntimeError(
            f"addbmm: given batches of shape {tuple(batch1.shape)} and {tuple(batch2.shape)}, expected as many "
            f"matrices with an inner length in common"
        )
    input, batch1, batch2 = evened(input, batch1, batch2)
    return blend(input, pair_einsum(batch1, batch2, subscripts="abc,acd->bd"), beta, alpha)


@in_precision("low")
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * (mat @ vec)``, of a matrix and a vector; with beta 0 the input is not looked at.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> v = lg.ones(2, requires_grad=True)
    >>> lg.addmv(lg.zeros(1), lg.asarray([[1.0, 2.0]]), v, alpha=3).sum().backward()
    >>> v.grad.tolist()
    [3.0, 6.0]
    """
    input, mat, vec = evened(input, mat, vec)
    return blend(input, mv(mat, vec), beta, alpha)


def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * outer(vec1, vec2)``; with beta 0 the input is not looked at.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> v = lg.ones(2, requires_grad=True)
    >>> lg.addr(lg.zeros((2, 3)), v, lg.asarray([1.0, 2.0, 3.0])).sum().backward()
    >>> v.grad.tolist()
    [6.0, 6.0]
    """
    need_ranks("addr", vec1=(vec1, 1), vec2=(vec2, 1))
    input, vec1, vec2 = evened(input, vec1, vec2)
    return blend(input, outer(vec1, vec2), beta, alpha)


def ger(input: Any, vec2: Any) -> Any:
    """All products of an element of a vector and one of another, as a matrix.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ger(lg.asarray([1.0, 2.0]), lg.asarray([3.0, 4.0])).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    need_ranks("ger", input=(input, 1), vec2=(vec2, 1))
    return outer(input, vec2)


# -- products of several -----------------------------------------------------------------------------
@lru_cache(maxsize=256)
def _cheapest(sizes: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Where to cut each run of a chain of matrices, of which one has ``sizes[i]`` rows and the next size as columns."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    cut: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            prices = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            cut[i, j] = min(prices, key=prices.__getitem__)
            cost[i, j] = prices[cut[i, j]]
    return cut


def _chained(matrices: Sequence[Any]) -> Any:
    cut = _cheapest((matrices[0].shape[0], *(x.shape[1] for x in matrices)))

    def run_of(i: int, j: int) -> Any:
        return matrices[i] if i == j else matmul(run_of(i, cut[i, j]), run_of(cut[i, j] + 1, j))

    return run_of(0, len(matrices) - 1)


@in_precision("low")
def multi_dot(tensors: Sequence[Any]) -> Any:
    """The product of two matrices or more, in the order that takes the fewest multiplications.

    The first may be a vector, which is a row, and the last one, which is a column.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 2), requires_grad=True)
    >>> lg.linalg.multi_dot([x, lg.ones((2, 3)), lg.ones(3)]).sum().backward()
    >>> x.grad.tolist()
    [[3.0, 3.0]]
    """
    matrices = list(tensors)
    if len(matrices) < 2:
        raise RuntimeError(f"multi_dot: given {len(matrices)} tensors, expected at least 2")
    row, column = matrices[0].ndim == 1, matrices[-1].ndim == 1
    matrices[0] = layout.expand_dims(matrices[0], axis=0) if row else matrices[0]
    matrices[-1] = layout.expand_dims(matrices[-1], axis=1) if column else matrices[-1]
    for k, x in enumerate(matrices):
        if x.ndim != 2:
            raise RuntimeError(f"multi_dot: tensor {k} has {x.ndim} dimensions, expected a matrix")
    _need_chain("multi_dot", matrices)
    y = _chained(matrices)
    axes = (0,) * row + (-1,) * column
    return layout.squeeze(y, axis=axes) if axes else y


def _need_chain(name: str, matrices: Sequence[Any]) -> None:
    for k, (x1, x2) in enumerate(itertools.pairwise(matrices)):
        if x1.shape[1] != x2.shape[0]:
            raise RuntimeError(
                f"{name}: tensors {k} and {k + 1} have shapes {tuple(x1.shape)} and {tuple(x2.shape)}, expected as "
                f"many columns as rows"
            )


@in_precision("low")
@apart
def chain_matmul(*matrices: Any) -> Any:
    """The product of matrices, in the order that takes the fewest multiplications.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 2), requires_grad=True)
    >>> lg.chain_matmul(x, lg.ones((2, 3)), lg.ones((3, 1))).sum().backward()
    >>> x.grad.tolist()
    [[3.0, 3.0]]
    """
    if not matrices:
        raise RuntimeError("chain_matmul: given no matrices, expected at least one")
    need_ranks("chain_matmul", **{f"matrix {k}": (x, 2) for k, x in enumerate(matrices)})
    _need_chain("chain_matmul", matrices)
    return _chained(matrices)


def vander(x: Any, N: int | None = None) -> Any:
    """Matrices whose rows are the powers 0, 1, 2 ... of an element, N of them: as many as elements by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0, 3.0], requires_grad=True)
    >>> y = lg.linalg.vander(x, N=3)
    >>> y[:, 2].sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]], [4.0, 6.0])
    """
    N = (x.shape[-1] if x.ndim else 1) if N is None else N
    if not x.ndim or N < 2:
        raise RuntimeError(
            f"vander: given an array of shape {tuple(x.shape)} and N={N}, expected vectors and N above 1"
        )
    factors = layout.broadcast_to(layout.expand_dims(x, axis=-1), (*x.shape, N - 1))
    return cumulative_prod(factors, axis=-1, include_initial=True)
