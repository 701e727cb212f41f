"""Distances and angles between vectors, as layers."""

import lucidgrad as lg
from lucidgrad.nn import functional
from lucidgrad.nn.module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along an axis; see `functional.cosine_similarity`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.CosineSimilarity()(lg.tensor([[1.0, 0.0]]), lg.tensor([[0.0, 2.0]])).item()
    0.0
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: lg.Tensor, x2: lg.Tensor) -> lg.Tensor:
        """Compute the cosines."""
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of differences along the last axis; see `functional.pairwise_distance`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.PairwiseDistance(eps=0.0)(lg.tensor([[3.0, 4.0]]), lg.zeros((1, 2))).item()
    5.0
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: lg.Tensor, x2: lg.Tensor) -> lg.Tensor:
        """Compute the distances."""
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
