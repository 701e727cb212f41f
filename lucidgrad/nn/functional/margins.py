"""Losses with margins: between pairs and triples of vectors, and between scores of classes."""

from collections.abc import Callable
from typing import Any

import lucidgrad as lg
from lucidgrad.amp import in_precision
from lucidgrad.ops.numbers import evened, only_real
from lucidgrad.tensor import Tensor

from .arguments import legacy_reduction, reduced
from .classification import check_classes
from .distances import pairwise_distance

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip


def _one_shape(name: str, x: Any, target: Any) -> None:
    if tuple(x.shape) != tuple(target.shape):
        raise ValueError(
            f"{name}: given an input of shape {tuple(x.shape)} and a target of shape {tuple(target.shape)}, expected "
            f"one shape"
        )


# -- pairs and triples ---------------------------------------------------------------------------
@in_precision("full")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` of pairs that belong together (target 1), ``max(0, cos - margin)`` of others (-1).

    Parameters
    ----------
    input1, input2
        Vectors ``(n, d)``, or one pair ``(d,)``.
    target
        1 or -1 for each pair.
    margin
        The cosine up to which a pair counts as apart.
    size_average, reduce, reduction
        As of `mse_loss`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 0.0], requires_grad=True)
    >>> loss = lg.nn.functional.cosine_embedding_loss(x, lg.tensor([0.0, 1.0]), lg.tensor(1))
    >>> loss.backward()
    >>> loss.item(), x.grad.tolist()
    (1.0, [0.0, -1.0])
    """
    a, b = evened(input1, input2)
    t: Any = target
    if t.ndim > 1 or a.ndim != t.ndim + 1 or b.ndim != t.ndim + 1:
        raise RuntimeError(
            f"cosine_embedding_loss: given inputs of shapes {tuple(a.shape)} and {tuple(b.shape)} and a target of "
            f"shape {tuple(t.shape)}, expected (n, d), (n, d) and (n,), or the same without n"
        )
    small = 1e-12  # a vector of zeros has cosine 0
    cos = (a * b).sum(axis=-1) / lg.sqrt(((a * a).sum(axis=-1) + small) * ((b * b).sum(axis=-1) + small))
    loss = lg.where(t == 1, 1 - cos, 0) + lg.where(t == -1, (cos - margin).clip(min=0), 0)
    return reduced("cosine_embedding_loss", loss, legacy_reduction(size_average, reduce, reduction))


@in_precision("full")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, margin - target * (input1 - input2))``: the first ought to rank higher where the target is 1, else -1.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 3.0], requires_grad=True)
    >>> loss = lg.nn.functional.margin_ranking_loss(x, lg.tensor([2.0, 2.0]), lg.tensor([1.0, 1.0]))
    >>> loss.backward()
    >>> loss.item(), x.grad.tolist()
    (0.5, [-0.5, 0.0])
    """
    a: Any = input1
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            f"margin_ranking_loss: given shapes {tuple(input1.shape)}, {tuple(input2.shape)} and "
            f"{tuple(target.shape)}, expected as many axes of each"
        )
    loss = (margin - target * (a - input2)).clip(min=0)
    return reduced("margin_ranking_loss", loss, legacy_reduction(size_average, reduce, reduction))


@in_precision("full")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """A distance itself where the target is 1, ``max(0, margin - distance)`` where it is -1.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 0.25], requires_grad=True)
    >>> loss = lg.nn.functional.hinge_embedding_loss(x, lg.tensor([1, -1]), reduction="sum")
    >>> loss.backward()
    >>> loss.item(), x.grad.tolist()
    (1.25, [1.0, -1.0])
    """
    x: Any = input
    only_real("hinge_embedding_loss", x, target)
    loss = lg.where(target != 1, (margin - x).clip(min=0), 0) + lg.where(target != -1, x, 0)
    return reduced("hinge_embedding_loss", loss, legacy_reduction(size_average, reduce, reduction))


@in_precision("full")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, margin + |anchor - positive| - |anchor - negative|)`` in the p-norm.

    Parameters
    ----------
    anchor, positive, negative
        Vectors ``(n, d)`` or ``(d,)``.
    margin
        By how much the negative ought to be further away.
    p, eps
        Of `pairwise_distance`.
    swap
        Whether the negative counts as near the anchor if it is near the positive.
    size_average, reduce, reduction
        As of `mse_loss`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[0.0]], requires_grad=True)
    >>> far, near = lg.tensor([[3.0]]), lg.tensor([[-1.0]])
    >>> loss = lg.nn.functional.triplet_margin_loss(x, far, near, eps=0.0)
    >>> loss.backward()
    >>> loss.item(), x.grad.tolist()
    (3.0, [[-2.0]])
    """

    def distance(a: Any, b: Any) -> Any:
        return pairwise_distance(a, b, p, eps)

    reduction = legacy_reduction(size_average, reduce, reduction)
    return _triplets("triplet_margin_loss", anchor, positive, negative, distance, margin, swap, reduction)


def _triplets(
    name: str, anchor: Any, positive: Any, negative: Any, distance: Any, margin: float, swap: bool, reduction: str
) -> Any:
    if margin <= 0:
        raise ValueError(f"{name}: given margin={margin}, expected a number above 0")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            f"{name}: given shapes {tuple(anchor.shape)}, {tuple(positive.shape)} and {tuple(negative.shape)}, "
            f"expected as many axes of each"
        )
    anchor, positive, negative = evened(anchor, positive, negative)
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = lg.minimum(far, distance(positive, negative))
    return reduced(name, (margin + near - far).clip(min=0), reduction)


@in_precision("full")
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of one's own; None is `pairwise_distance`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[0.0]], requires_grad=True)
    >>> far, near = lg.tensor([[3.0]]), lg.tensor([[-1.0]])
    >>> loss = lg.nn.functional.triplet_margin_with_distance_loss(
    ...     x, far, near, distance_function=lambda a, b: ((a - b) ** 2).sum(axis=1)
    ... )
    >>> loss.backward()
    >>> loss.item(), x.grad.tolist()
    (9.0, [[-8.0]])
    """
    name = "triplet_margin_with_distance_loss"
    return _triplets(name, anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction)


# -- scores --------------------------------------------------------------------------------------
@in_precision("full")
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))`` for targets 1 and -1.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros(2, requires_grad=True)
    >>> loss = lg.nn.functional.soft_margin_loss(x, lg.tensor([1.0, -1.0]))
    >>> loss.backward()
    >>> round(loss.item(), 4), x.grad.tolist()
    (0.6931, [-0.25, 0.25])
    """
    x: Any = input
    loss = -lg.logsigmoid(x * target)
    return reduced("soft_margin_loss", loss, legacy_reduction(size_average, reduce, reduction))


@in_precision("full")
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of `binary_cross_entropy_with_logits`, with a weight for each class.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros((1, 2), requires_grad=True)
    >>> loss = lg.nn.functional.multilabel_soft_margin_loss(x, lg.tensor([[1.0, 0.0]]))
    >>> loss.backward()
    >>> round(loss.item(), 4), x.grad.tolist()
    (0.6931, [[-0.25, 0.25]])
    """
    x, t, weight = evened(input, target, weight)
    loss = -(t * lg.logsigmoid(x) + (1 - t) * lg.logsigmoid(-x))
    loss = loss if weight is None else loss * weight
    reduction = legacy_reduction(size_average, reduce, reduction)
    return reduced("multilabel_soft_margin_loss", loss.mean(axis=-1), reduction)


def _rows(name: str, x: Any) -> tuple[Any, bool]:
    """Scores ``(n, classes)``, and whether n had to be added."""
    if x.ndim == 0:  # one class
        return x.reshape((1, 1)), True
    if x.ndim > 2 or not x.shape[-1]:
        raise RuntimeError(f"{name}: given an input of shape {tuple(x.shape)}, expected (n, classes) or (classes,)")
    return (x.reshape((1, *x.shape)), True) if x.ndim == 1 else (x, False)


@in_precision("full")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``sum(max(0, margin - x[y] + x[i])**p) / classes`` over all classes i but the right one, y.

    Parameters
    ----------
    input, target
        Scores ``(n, classes)`` or ``(classes,)``, and class numbers.
    p
        1 or 2.
    margin
        By how much the right class ought to lead.
    weight
        A factor for each class, of the margins that it ought to have.
    size_average, reduce, reduction
        As of `mse_loss`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[0.0, 0.5]], requires_grad=True)
    >>> loss = lg.nn.functional.multi_margin_loss(x, lg.tensor([0]))
    >>> loss.backward()
    >>> loss.item(), x.grad.tolist()
    (0.75, [[-0.5, 0.5]])
    """
    name = "multi_margin_loss"
    if p not in (1, 2):
        raise ValueError(f"{name}: given p={p}, expected 1 or 2")
    x, single = _rows(name, input)
    y: Any = target.reshape((1,)) if single and target.size == 1 else target
    if tuple(y.shape) != (x.shape[0],):
        raise RuntimeError(
            f"{name}: given an input of shape {tuple(input.shape)} and a target of shape {tuple(target.shape)}, "
            f"expected a class number for each row"
        )
    check_classes(name, y, x.shape[1])
    at = y.reshape((x.shape[0], 1))
    lead = (margin - lg.take_along_axis(x, at, axis=1) + x).clip(min=0)
    loss = lead if p == 1 else lead * lead
    if weight is not None:
        loss = loss * lg.take(weight, at)
    others = lg.arange(x.shape[1], device=x.device) != at
    loss = lg.where(others, loss, 0).sum(axis=1) / x.shape[1]
    reduction = legacy_reduction(size_average, reduce, reduction)
    return reduced(name, loss.reshape(tuple(target.shape)), reduction)


@in_precision("full")
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``sum(max(0, 1 - x[j] + x[i])) / classes`` over the right classes j and all others, i.

    Parameters
    ----------
    input, target
        Scores ``(n, classes)`` or ``(classes,)``, and as many class numbers, of which those before the first negative
        one count.
    size_average, reduce, reduction
        As of `mse_loss`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 0.5], requires_grad=True)
    >>> loss = lg.nn.functional.multilabel_margin_loss(x, lg.tensor([0, -1]))
    >>> loss.backward()
    >>> loss.item(), x.grad.tolist()
    (0.75, [-0.5, 0.5])
    """
    name = "multilabel_margin_loss"
    x, single = _rows(name, input)
    _one_shape(name, input, target)
    y: Any = target.reshape(tuple(x.shape))
    check_classes(name, y, x.shape[1], negative=True)
    counts = lg.cumulative_sum(lg.astype(y < 0, lg.int64), axis=1) == 0
    at = lg.where(counts, y, 0)
    classes = lg.arange(x.shape[1], device=x.device)
    right = lg.any((classes == at[:, :, None]) & counts[:, :, None], axis=1)
    lead = (1 - lg.take_along_axis(x, at, axis=1)[:, :, None] + x[:, None, :]).clip(min=0)
    loss = lg.where(counts[:, :, None] & ~right[:, None, :], lead, 0).sum(axis=(1, 2)) / x.shape[1]
    reduction = legacy_reduction(size_average, reduce, reduction)
    return reduced(name, loss.reshape(()) if single else loss, reduction)
