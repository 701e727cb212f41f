"""Losses between values and targets of the same shape: differences and probabilities."""

import math
import warnings
from typing import Any

import lucidgrad as lg
from lucidgrad.amp import in_precision
from lucidgrad.ops.losses import mean_squared_error
from lucidgrad.ops.numbers import evened, only_real
from lucidgrad.tensor import Tensor

from .arguments import legacy_reduction, on_host, reduced

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "gaussian_nll_loss", "huber_loss", "kl_div", "l1_loss",
    "mse_loss", "poisson_nll_loss", "smooth_l1_loss",
]  # fmt: skip


# -- differences ---------------------------------------------------------------------------------
def _difference(name: str, x: Any, target: Any) -> Any:
    if tuple(x.shape) != tuple(target.shape):
        warnings.warn(
            f"{name}: given an input of shape {tuple(x.shape)} and a target of shape {tuple(target.shape)}, which "
            f"broadcast against each other; this is rarely meant",
            UserWarning,
            stacklevel=3,
        )
    return x - target


def _weighed(name: str, x: Any, loss: Any, weight: Any, reduction: str, by_weights: bool) -> Any:
    """Reduce a loss, with weights if there are any; a mean is over the weights or over the elements."""
    if weight is None:
        return reduced(name, loss, reduction)
    if tuple(weight.shape) != tuple(x.shape):
        raise ValueError(
            f"{name}: given a weight of shape {tuple(weight.shape)} and an input of shape {tuple(x.shape)}, expected "
            f"one shape"
        )
    loss = loss * weight
    if reduction == "mean" and by_weights:
        only_real(name, loss)
        return loss.sum() / weight.sum()
    return reduced(name, loss, reduction)


@in_precision("full")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``(input - target)**2``.

    Parameters
    ----------
    input, target
        Values, and what they ought to be.
    size_average, reduce
        Older spellings of ``reduction``.
    reduction
        ``"none"``: for each element; ``"mean"``; ``"sum"``.
    weight
        A factor for each element; the mean is then over the weights.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 3.0], requires_grad=True)
    >>> loss = lg.nn.functional.mse_loss(x, lg.zeros(2))
    >>> loss.backward()
    >>> loss.item(), x.grad.tolist()
    (5.0, [1.0, 3.0])
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction == "mean" and weight is None and input.array.shape == target.array.shape:
        if input.array.dtype != target.array.dtype:
            only_real("mse_loss", target)
        return mean_squared_error(input, target)
    d = _difference("mse_loss", input, target)
    return _weighed("mse_loss", input, lg.square(d), weight, reduction, True)


@in_precision("full")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``|input - target|``; arguments are those of `mse_loss`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, -3.0], requires_grad=True)
    >>> loss = lg.nn.functional.l1_loss(x, lg.zeros(2))
    >>> loss.backward()
    >>> loss.item(), x.grad.tolist()
    (2.0, [0.5, -0.5])
    """
    loss = abs(_difference("l1_loss", input, target))
    return _weighed("l1_loss", input, loss, weight, legacy_reduction(size_average, reduce, reduction), True)


@in_precision("full")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """``d**2 / (2 * beta)`` where ``|d| < beta``, else ``|d| - beta / 2``, with d the difference.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, -3.0], requires_grad=True)
    >>> loss = lg.nn.functional.smooth_l1_loss(x, lg.zeros(2), reduction="sum")
    >>> loss.backward()
    >>> loss.item(), x.grad.tolist()
    (2.625, [0.5, -1.0])
    """
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss: given beta={beta}, expected a number not below 0")
    d = _difference("smooth_l1_loss", input, target)
    loss: Any = abs(d) if beta == 0 else _rounded(d, beta, 1.0)
    return reduced("smooth_l1_loss", loss, legacy_reduction(size_average, reduce, reduction))


@in_precision("full")
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """``d**2 / 2`` where ``|d| <= delta``, else ``delta * (|d| - delta / 2)``, with d the difference.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, -3.0], requires_grad=True)
    >>> loss = lg.nn.functional.huber_loss(x, lg.zeros(2), reduction="sum", delta=2.0)
    >>> loss.backward()
    >>> loss.item(), x.grad.tolist()
    (4.125, [0.5, -2.0])
    """
    if delta <= 0:
        raise RuntimeError(f"huber_loss: given delta={delta}, expected a number above 0")
    d = _difference("huber_loss", input, target)
    return _weighed("huber_loss", input, _rounded(d, delta, delta), weight, reduction, False)


def _rounded(d: Any, joint: float, slope: float) -> Any:
    """A parabola up to the joint, from there on a line of this slope; derivatives at infinity are the line's."""
    size = abs(d)
    near = size <= joint
    inner = lg.where(near, d, 0.0)
    outer = size - 0.5 * joint
    return lg.where(near, inner * inner * (0.5 * slope / joint), outer if slope == 1 else outer * slope)


# -- probabilities -------------------------------------------------------------------------------
def _log(p: Any) -> Any:
    """A logarithm not below -100, whose derivative is not above 1e12: a certain, wrong answer can still be mended."""
    fixed = p.detach()
    low = lg.where(fixed > 0, lg.log(lg.where(fixed > 0, fixed, 1)).clip(min=-100.0), -100.0)
    floor = low + (p - fixed) * 1e12
    return lg.where(fixed < 1e-12, floor, lg.log(lg.where(fixed < 1e-12, 1, p)))


def _same_shape(name: str, x: Any, target: Any) -> None:
    if tuple(x.shape) != tuple(target.shape):
        raise ValueError(
            f"{name}: given an input of shape {tuple(x.shape)} and a target of shape {tuple(target.shape)}, expected "
            f"one shape"
        )


@in_precision("full")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-(t * log(p) + (1 - t) * log(1 - p))`` of probabilities p; logarithms count as -100 at least.

    Parameters
    ----------
    input, target
        Probabilities, and what they ought to be, in [0, 1].
    weight
        Factors that broadcast against the loss.
    size_average, reduce, reduction
        As of `mse_loss`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> p = lg.tensor([0.5, 0.5], requires_grad=True)
    >>> loss = lg.nn.functional.binary_cross_entropy(p, lg.tensor([1.0, 0.0]))
    >>> loss.backward()
    >>> round(loss.item(), 4), p.grad.tolist()
    (0.6931, [-1.0, 1.0])
    """
    p, t, weight = evened(input, target, weight)
    _same_shape("binary_cross_entropy", p, t)
    only_real("binary_cross_entropy", p, t)
    raw = on_host(p)
    if raw is not None and raw.size and not (raw.min() >= 0 and raw.max() <= 1):
        raise RuntimeError(
            f"binary_cross_entropy: given an input with values from {raw.min()} to {raw.max()}, expected probabilities "
            f"in [0, 1]; for logits there is binary_cross_entropy_with_logits"
        )
    loss = -(t * _log(p) + (1 - t) * _log(1 - p))
    loss = loss if weight is None else loss * weight
    return reduced("binary_cross_entropy", loss, legacy_reduction(size_average, reduce, reduction))


@in_precision("full")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of ``sigmoid(input)``, exact for logits of any size.

    Parameters
    ----------
    input, target
        Logits, and probabilities in [0, 1].
    weight
        Factors that broadcast against the loss.
    size_average, reduce, reduction
        As of `mse_loss`.
    pos_weight
        Factors of the part that counts positive targets, for each class.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros(2, requires_grad=True)
    >>> loss = lg.nn.functional.binary_cross_entropy_with_logits(x, lg.tensor([1.0, 0.0]))
    >>> loss.backward()
    >>> round(loss.item(), 4), x.grad.tolist()
    (0.6931, [-0.25, 0.25])
    """
    x, t, weight, pos_weight = evened(input, target, weight, pos_weight)
    _same_shape("binary_cross_entropy_with_logits", x, t)
    if pos_weight is None:
        loss = (1 - t) * x - lg.logsigmoid(x)
    else:
        loss = (1 - t) * x - (1 + (pos_weight - 1) * t) * lg.logsigmoid(x)
    loss = loss if weight is None else loss * weight
    return reduced("binary_cross_entropy_with_logits", loss, legacy_reduction(size_average, reduce, reduction))


@in_precision("full")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """``t * (log(t) - input)``: how far log-probabilities are from a distribution t.

    Parameters
    ----------
    input, target
        Log-probabilities, and probabilities.
    size_average, reduce, reduction
        As of `mse_loss`; ``"batchmean"`` divides the sum by the first size, which is the divergence's definition.
    log_target
        Whether the target too is given as logarithms.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.log(lg.tensor([[0.5, 0.5]])).requires_grad_()
    >>> loss = lg.nn.functional.kl_div(x, lg.tensor([[1.0, 0.0]]), reduction="batchmean")
    >>> loss.backward()
    >>> round(loss.item(), 4), x.grad.tolist()
    (0.6931, [[-1.0, 0.0]])
    """
    x, t = evened(input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    loss = lg.exp(t) * (t - x) if log_target else lg.xlogy(t, t) - t * x
    if reduction == "batchmean":
        return loss.sum() / x.shape[0] if x.ndim else loss.sum()
    if reduction == "mean":
        warnings.warn(
            "kl_div: reduction='mean' divides by the number of elements; the divergence is reduction='batchmean'",
            UserWarning,
            stacklevel=2,
        )
    return reduced("kl_div", loss, reduction)


@in_precision("full")
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """``(log(var) + (input - target)**2 / var) / 2``: minus the log-density of normal distributions.

    Parameters
    ----------
    input, target
        Means, and values.
    var
        Variances: a number, or of the input's shape, which may lack the last axis or have 1 there.
    full
        Whether to add ``log(2 * pi) / 2``.
    eps
        Variances below it count as it.
    reduction
        As of `mse_loss`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> var = lg.tensor([1.0], requires_grad=True)
    >>> loss = lg.nn.functional.gaussian_nll_loss(lg.tensor([2.0]), lg.tensor([0.0]), var)
    >>> loss.backward()
    >>> loss.item(), var.grad.tolist()
    (2.0, [-1.5])
    """
    only_real("gaussian_nll_loss", input, target, var)
    x, target, var = evened(input, target, var)
    v: Any = var if isinstance(var, Tensor) else lg.full_like(x, var)
    shape = tuple(x.shape)
    if tuple(v.shape) != shape:
        if tuple(v.shape) == shape[:-1]:
            v = v.reshape((*v.shape, 1))
        elif v.ndim != x.ndim or tuple(v.shape) != (*shape[:-1], 1):
            raise ValueError(
                f"gaussian_nll_loss: given var of shape {tuple(v.shape)} and an input of shape {shape}, expected that "
                f"shape, {shape[:-1]} or {(*shape[:-1], 1)}"
            )
    raw = on_host(v)
    if raw is not None and raw.size and raw.min() < 0:
        raise ValueError(f"gaussian_nll_loss: given a var of {raw.min()}, expected none below 0")
    fixed = v.detach()
    v = v + (fixed.clip(min=eps) - fixed)  # the gradient is that at eps, and is not cut off
    d = x - target
    loss = (lg.log(v) + d * d / v) * 0.5
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced("gaussian_nll_loss", loss, reduction)


@in_precision("full")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``exp(input) - target * input``: minus the log-probability of Poisson distributions.

    Parameters
    ----------
    input, target
        Logarithms of expected numbers, and numbers.
    log_input
        Else the input is the expected numbers: ``input - target * log(input + eps)``.
    full
        Whether to add Stirling's approximation of ``log(target!)`` where the target is above 1.
    eps
        What is added in the logarithm.
    size_average, reduce, reduction
        As of `mse_loss`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros(2, requires_grad=True)
    >>> loss = lg.nn.functional.poisson_nll_loss(x, lg.tensor([1.0, 3.0]), reduction="sum")
    >>> loss.backward()
    >>> loss.item(), x.grad.tolist()
    (2.0, [0.0, -2.0])
    """
    x, t = evened(input, target)
    loss = lg.exp(x) - t * x if log_input else x - t * lg.log(x + eps)
    if full:
        some = lg.where(t > 1, t, 1)
        loss = loss + lg.where(t > 1, some * lg.log(some) - some + 0.5 * lg.log(2 * math.pi * some), 0)
    return reduced("poisson_nll_loss", loss, legacy_reduction(size_average, reduce, reduction))
