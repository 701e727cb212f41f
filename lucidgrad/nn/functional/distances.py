"""Distances and angles between vectors."""

import lucidgrad as lg
from lucidgrad.amp import in_precision
from lucidgrad.ops.numbers import evened, only_real
from lucidgrad.ops.summaries import pdist
from lucidgrad.tensor import Tensor

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]


@in_precision("full")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis; lengths count as eps at least.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 0.0]], requires_grad=True)
    >>> y = lg.nn.functional.cosine_similarity(x, lg.tensor([[0.0, 2.0]]))
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([0.0], [[0.0, 1.0]])
    """
    only_real("cosine_similarity", x1, x2)
    a, b = lg.broadcast_arrays(*evened(x1, x2))
    inner = (a * b).sum(axis=dim)
    norms = (lg.linalg.vector_norm(v, axis=dim).clip(min=eps) for v in (a, b))
    return inner / (next(norms) * next(norms))


@in_precision("full")
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of ``x1 - x2 + eps`` along the last axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0, 4.0]], requires_grad=True)
    >>> y = lg.nn.functional.pairwise_distance(x, lg.zeros((1, 2)), eps=0.0)
    >>> y.sum().backward()
    >>> y.tolist(), [round(g, 4) for g in x.grad[0].tolist()]
    ([5.0], [0.6, 0.8])
    """
    return lg.linalg.vector_norm(x1 - x2 + eps, axis=-1, ord=p, keepdims=keepdim)
