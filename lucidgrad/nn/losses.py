"""Losses of values and targets as layers, with the arguments of the functions of the same name in `functional`."""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.nn import functional
from lucidgrad.nn.functional.arguments import legacy_reduction
from lucidgrad.nn.linear import Linear
from lucidgrad.nn.module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CrossEntropyLoss", "GaussianNLLLoss", "HuberLoss", "KLDivLoss",
    "L1Loss", "LinearCrossEntropyLoss", "MSELoss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss",
]  # fmt: skip

Weight = lg.Tensor | None


class Loss(Module):
    """A loss with a reduction, which may be given in older spellings."""

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = legacy_reduction(size_average, reduce, reduction)


_Loss = Loss  # PyTorch's name, which losses of one's own are made of


class WeightedLoss(Loss):
    """A loss with weights, which are a buffer."""

    weight: Weight

    def __init__(
        self,
        weight: Weight = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


# -- differences ---------------------------------------------------------------------------------
class MSELoss(Loss):
    """``(input - target)**2``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 3.0], requires_grad=True)
    >>> lg.nn.MSELoss()(x, lg.zeros(2)).backward()
    >>> x.grad
    tensor([1., 3.])
    """

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.mse_loss(input, target, reduction=self.reduction)


class L1Loss(Loss):
    """``|input - target|``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.L1Loss()(lg.tensor([1.0, -3.0]), lg.zeros(2)).item()
    2.0
    """

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(Loss):
    """The absolute difference, a parabola below beta.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.SmoothL1Loss(reduction="none")(lg.tensor([0.5, -3.0]), lg.zeros(2))
    tensor([0.125, 2.5  ])
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(Loss):
    """Half the squared difference, straight lines above delta.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.HuberLoss(delta=2.0)(lg.tensor([3.0]), lg.zeros(1)).item()
    4.0
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.huber_loss(input, target, self.reduction, self.delta)


# -- classes and probabilities -------------------------------------------------------------------
class CrossEntropyLoss(WeightedLoss):
    """``-log_softmax(input)[target]`` of logits with class numbers or probabilities.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros((1, 2), requires_grad=True)
    >>> lg.nn.CrossEntropyLoss()(x, lg.tensor([0])).backward()
    >>> x.grad
    tensor([[-0.5,  0.5]])
    """

    def __init__(
        self,
        weight: Weight = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(WeightedLoss):
    """``-input[target]`` of log-probabilities.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.NLLLoss()(lg.tensor([[-1.0, -2.0]]), lg.tensor([1])).item()
    2.0
    """

    def __init__(
        self,
        weight: Weight = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """`NLLLoss` by an older name: it warns.

    Examples
    --------
    >>> import warnings
    >>> import lucidgrad as lg
    >>> with warnings.catch_warnings(action="ignore"):
    ...     loss = lg.nn.NLLLoss2d()
    """

    def __init__(
        self,
        weight: Weight = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn("`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead.", FutureWarning, stacklevel=3)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class LinearCrossEntropyLoss(WeightedLoss):
    """A linear layer and the cross-entropy of its logits.

    Parameters
    ----------
    in_features, num_classes
        How long an input is, and how many classes there are.
    out_features
        Sizes of places, each with a target of its own.
    bias, device, dtype
        As of `Linear`.
    reduction, weight, ignore_index, label_smoothing, options
        As of `functional.linear_cross_entropy`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> loss = lg.nn.LinearCrossEntropyLoss(3, 5)
    >>> loss(lg.ones(2, 3), lg.tensor([0, 4])).backward()
    >>> loss.linear.weight.grad.shape
    (5, 3)
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Weight = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"given a weight of shape {tuple(weight.shape)}, expected {(num_classes,)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"given label_smoothing={label_smoothing}, expected a number from 0 to 1")
        super().__init__(weight, None, None, reduction)
        self.num_classes, self.out_features, self.options = num_classes, out_features, options
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        rows = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        bias, shape = self.linear.bias, (self.num_classes, *self.out_features)
        return functional.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:  # noqa: D102
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, reduction={self.reduction}, "
            f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}"
        )


class BCELoss(WeightedLoss):
    """Cross-entropy of probabilities with two classes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> round(lg.nn.BCELoss()(lg.tensor([0.5]), lg.tensor([1.0])).item(), 4)
    0.6931
    """

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(WeightedLoss):
    """Cross-entropy of logits with two classes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros(2, requires_grad=True)
    >>> lg.nn.BCEWithLogitsLoss()(x, lg.tensor([1.0, 0.0])).backward()
    >>> x.grad
    tensor([-0.25,  0.25])
    """

    pos_weight: Weight

    def __init__(
        self,
        weight: Weight = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Weight = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class KLDivLoss(Loss):
    """How far log-probabilities are from a distribution.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.log(lg.tensor([[0.5, 0.5]]))
    >>> round(lg.nn.KLDivLoss(reduction="batchmean")(x, lg.tensor([[1.0, 0.0]])).item(), 4)
    0.6931
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class GaussianNLLLoss(Loss):
    """Minus the log-density of normal distributions.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.GaussianNLLLoss()(lg.tensor([2.0]), lg.tensor([0.0]), lg.ones(1)).item()
    2.0
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input: lg.Tensor, target: lg.Tensor, var: lg.Tensor | float) -> lg.Tensor:
        """Compute the loss."""
        return functional.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


class PoissonNLLLoss(Loss):
    """Minus the log-probability of Poisson distributions.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.PoissonNLLLoss()(lg.zeros(2), lg.tensor([1.0, 3.0])).item()
    1.0
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        """Compute the loss."""
        return functional.poisson_nll_loss(
            log_input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction
        )


class CTCLoss(Loss):
    """Minus the log-probability of label sequences, summed over all alignments.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> logs = lg.log_softmax(lg.zeros((2, 1, 3)), axis=-1)
    >>> round(lg.exp(-lg.nn.CTCLoss()(logs, lg.tensor([[1]]), [2], [1])).item(), 4)
    0.3333
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(
        self,
        log_probs: lg.Tensor,
        targets: lg.Tensor,
        input_lengths: lg.Tensor | Sequence[int],
        target_lengths: lg.Tensor | Sequence[int],
    ) -> lg.Tensor:
        """Compute the loss."""
        over = (self.blank, self.reduction, self.zero_infinity)
        return functional.ctc_loss(log_probs, targets, input_lengths, target_lengths, *over)
