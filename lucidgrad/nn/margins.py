"""Losses with margins as layers. Their arguments are those of the functions of the same name in `functional`."""

from collections.abc import Callable

import lucidgrad as lg
from lucidgrad.nn import functional
from lucidgrad.nn.distances import PairwiseDistance
from lucidgrad.nn.losses import Loss, Weight, WeightedLoss

__all__ = [
    "CosineEmbeddingLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "SoftMarginLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]  # fmt: skip


class _MarginLoss(Loss):
    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class CosineEmbeddingLoss(_MarginLoss):
    """One less the cosine of pairs that belong together, the cosine of others.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.CosineEmbeddingLoss()(lg.tensor([1.0, 0.0]), lg.tensor([0.0, 1.0]), lg.tensor(1)).item()
    1.0
    """

    def forward(self, input1: lg.Tensor, input2: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.cosine_embedding_loss(input1, input2, target, self.margin, reduction=self.reduction)


class MarginRankingLoss(_MarginLoss):
    """By how much the second of a pair ranks too high.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.MarginRankingLoss()(lg.tensor([1.0]), lg.tensor([2.0]), lg.tensor([1.0])).item()
    1.0
    """

    def forward(self, input1: lg.Tensor, input2: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.margin_ranking_loss(input1, input2, target, self.margin, reduction=self.reduction)


class HingeEmbeddingLoss(_MarginLoss):
    """Distances of pairs that belong together, what others lack to the margin.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.HingeEmbeddingLoss(reduction="sum")(lg.tensor([0.5, 0.25]), lg.tensor([1, -1])).item()
    1.25
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.hinge_embedding_loss(input, target, self.margin, reduction=self.reduction)


class TripletMarginLoss(_MarginLoss):
    """By how much a negative is too near an anchor, compared with a positive.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> far, near = lg.tensor([[3.0]]), lg.tensor([[-1.0]])
    >>> round(lg.nn.TripletMarginLoss()(lg.zeros((1, 1)), far, near).item(), 4)
    3.0
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: given margin={margin}, expected a number above 0")
        self.p, self.eps, self.swap = p, eps, swap

    def forward(self, anchor: lg.Tensor, positive: lg.Tensor, negative: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        over = (self.margin, self.p, self.eps, self.swap)
        return functional.triplet_margin_loss(anchor, positive, negative, *over, reduction=self.reduction)


class TripletMarginWithDistanceLoss(Loss):
    """`TripletMarginLoss` with a distance of one's own.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> loss = lg.nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: abs(a - b).sum(axis=1))
    >>> loss(lg.zeros((1, 1)), lg.tensor([[3.0]]), lg.tensor([[-1.0]])).item()
    3.0
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[lg.Tensor, lg.Tensor], lg.Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: given margin={margin}, expected a number above 0")
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor: lg.Tensor, positive: lg.Tensor, negative: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class SoftMarginLoss(Loss):
    """``log(1 + exp(-target * input))`` for targets 1 and -1.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> round(lg.nn.SoftMarginLoss()(lg.zeros(1), lg.ones(1)).item(), 4)
    0.6931
    """

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(WeightedLoss):
    """The mean over classes of cross-entropies of logits.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> round(lg.nn.MultiLabelSoftMarginLoss()(lg.zeros((1, 2)), lg.tensor([[1.0, 0.0]])).item(), 4)
    0.6931
    """

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class MultiLabelMarginLoss(Loss):
    """By how much right classes fail to lead before all others.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.MultiLabelMarginLoss()(lg.tensor([0.0, 0.5]), lg.tensor([0, -1])).item()
    0.75
    """

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(WeightedLoss):
    """By how much the right class fails to lead before all others.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.MultiMarginLoss()(lg.tensor([[0.0, 0.5]]), lg.tensor([0])).item()
    0.75
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Weight = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"MultiMarginLoss: given p={p}, expected 1 or 2")
        self.p, self.margin = p, margin

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.multi_margin_loss(input, target, self.p, self.margin, self.weight, reduction=self.reduction)
