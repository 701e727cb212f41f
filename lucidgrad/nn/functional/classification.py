"""Losses of scores with class numbers or class probabilities."""

from typing import Any

import lucidgrad as lg
from lucidgrad.amp import in_precision, rounded_once
from lucidgrad.ops.losses import cross_entropy_rows
from lucidgrad.ops.numbers import evened
from lucidgrad.tensor import Tensor

from .arguments import legacy_reduction, on_host, reduced
from .linear import linear

__all__ = ["cross_entropy", "linear_cross_entropy", "nll_loss"]


def check_classes(
    name: str, target: Any, classes: int, ignore_index: int | None = None, negative: bool = False
) -> bool:
    """Raise if a class number is out of range, where looking costs nothing: on the CPU, outside of transforms.

    True if it is known that all numbers count.
    """
    raw = on_host(target)
    if raw is None or not raw.size:
        return False
    low, high = raw.min(), raw.max()
    if high < classes and (negative or low >= 0):
        return ignore_index is None or not low <= ignore_index <= high
    bad = raw >= classes if negative else (raw < 0) | (raw >= classes)
    if ignore_index is not None:
        bad &= raw != ignore_index
    if bad.any():
        raise IndexError(
            f"{name}: given a target with class number {raw[bad][0]}, expected numbers from 0 to {classes - 1}"
            + ("" if ignore_index is None else f", or ignore_index={ignore_index}")
        )
    return False


def _class_axis(name: str, x: Any, target: Any) -> int:
    """Where the classes are; the target has the other axes."""
    sizes = tuple(x.shape)
    if not sizes:
        raise ValueError(f"{name}: given an input without axes, expected (classes,) or (n, classes, *sizes)")
    axis = 0 if len(sizes) == 1 else 1
    expected = (*sizes[:axis], *sizes[axis + 1 :])
    if tuple(target.shape) != expected:
        kind = ValueError if target.ndim and sizes[0] != target.shape[0] and axis else RuntimeError
        raise kind(
            f"{name}: given an input of shape {tuple(x.shape)} and a target of shape {tuple(target.shape)}, expected "
            f"a target of shape {expected}{_way_out(x, target, axis, expected)}"
        )
    if not lg.isdtype(target.dtype, "integral"):
        raise RuntimeError(
            f"{name}: given a target of dtype {target.dtype} and shape {tuple(target.shape)}, expected class numbers, "
            f"which are integers; target.long() makes them"
        )
    return axis


def _way_out(x: Any, target: Any, axis: int, expected: tuple[int, ...]) -> str:
    """What helps where a target has the wrong shape: it may be one-hot, or have an axis of length one too many."""
    shape = tuple(target.shape)
    if shape == tuple(x.shape):
        return (
            f" with class numbers; if it is one-hot, target.argmax({axis}) gives them, and target.float() is taken as "
            f"probabilities"
        )
    return f"; target.squeeze({axis}) has it" if shape == (*expected[:axis], 1, *expected[axis:]) else ""


def _check_weight(name: str, weight: Any, classes: int) -> None:
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(f"{name}: given a weight of shape {tuple(weight.shape)}, expected ({classes},)")


def _row_weights(target: Any, weight: Any, ignore_index: int, dtype: Any) -> Any:
    """How much each row counts: 0 if it is to be ignored."""
    used = target != ignore_index
    if weight is None:
        return lg.astype(used, dtype)
    return lg.where(used, lg.take(weight, lg.where(used, target, 0)), 0)


@in_precision("full")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-input[target]`` of log-probabilities.

    Parameters
    ----------
    input, target
        Log-probabilities ``(n, classes, *sizes)`` or ``(classes,)``, and class numbers of the same shape without the
        classes.
    weight
        A factor for each class; a mean is over the weights.
    ignore_index
        A class number of rows that do not count. If none counts, the mean is NaN.
    size_average, reduce, reduction
        As of `mse_loss`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.log(lg.tensor([[0.25, 0.75]])).requires_grad_()
    >>> loss = lg.nn.functional.nll_loss(x, lg.tensor([0]))
    >>> loss.backward()
    >>> round(loss.item(), 4), x.grad.tolist()
    (1.3863, [[-1.0, 0.0]])
    """
    x: Any = input
    t: Any = target
    axis = _class_axis("nll_loss", x, t)
    _check_weight("nll_loss", weight, x.shape[axis])
    whole = check_classes("nll_loss", t, x.shape[axis], ignore_index)
    reduction = legacy_reduction(size_average, reduce, reduction)
    return _from_rows("nll_loss", _picked(x, t, axis, ignore_index), t, weight, ignore_index, reduction, whole)


def _picked(x: Any, t: Any, axis: int, ignore_index: int) -> Any:
    """Minus the elements that class numbers point to; 0 in rows that are ignored."""
    used = t != ignore_index
    at = lg.expand_dims(lg.where(used, t, 0), axis=axis)
    return lg.where(used, -lg.squeeze(lg.take_along_axis(x, at, axis=axis), axis=axis), 0)


def _from_rows(name: str, loss: Any, t: Any, weight: Any, ignore_index: int, reduction: str, whole: bool) -> Any:
    """Reduce a loss that is 0 in ignored rows; a mean is over the weights of the others."""
    if weight is None and (whole or reduction != "mean"):
        return reduced(name, loss, reduction)
    rows = _row_weights(t, weight, ignore_index, loss.dtype)
    if weight is not None:
        loss = loss * rows
    return loss.sum() / rows.sum() if reduction == "mean" else reduced(name, loss, reduction)


@in_precision("full")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """``-log_softmax(input)[target]`` of logits.

    Parameters
    ----------
    input, target
        Logits ``(n, classes, *sizes)`` or ``(classes,)``, and class numbers of the same shape without the classes, or
        probabilities of the same shape.
    weight
        A factor for each class; with class numbers a mean is over the weights.
    ignore_index
        A class number of rows that do not count. If none counts, the mean is NaN.
    size_average, reduce, reduction
        As of `mse_loss`.
    label_smoothing
        How much of each target is spread over all classes, in [0, 1].

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros((1, 2), requires_grad=True)
    >>> loss = lg.nn.functional.cross_entropy(x, lg.tensor([0]))
    >>> loss.backward()
    >>> round(loss.item(), 4), x.grad.tolist()
    (0.6931, [[-0.5, 0.5]])
    """
    name = "cross_entropy"
    x: Any = input
    t: Any = target
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"{name}: given label_smoothing={label_smoothing}, expected a number in [0, 1]")
    reduction = legacy_reduction(size_average, reduce, reduction)
    if tuple(t.shape) == tuple(x.shape) and not lg.isdtype(t.dtype, "integral"):
        return _with_probabilities(x, t, weight, ignore_index, reduction, label_smoothing)
    axis = _class_axis(name, x, t)
    classes = x.shape[axis]
    _check_weight(name, weight, classes)
    whole = check_classes(name, t, classes, ignore_index)
    if not label_smoothing:
        loss: Any = cross_entropy_rows(x, t, axis=axis, ignore_index=ignore_index)
        return _from_rows(name, loss, t, weight, ignore_index, reduction, whole)
    logs = lg.log_softmax(x, axis=axis)
    right = _picked(logs, t, axis, ignore_index)
    each = logs if weight is None else logs * weight.reshape((classes, *(1,) * (x.ndim - axis - 1)))
    spread = lg.where(t != ignore_index, -each.sum(axis=axis), 0)
    rows = None if weight is None else _row_weights(t, weight, ignore_index, logs.dtype)
    right = right if rows is None else right * rows
    loss = (1 - label_smoothing) * right + (label_smoothing / classes) * spread
    if reduction == "mean":
        rows = _row_weights(t, None, ignore_index, logs.dtype) if rows is None else rows
        return loss.sum() / rows.sum()
    return reduced(name, loss, reduction)


def _with_probabilities(x: Any, t: Any, weight: Any, ignore_index: int, reduction: str, smoothing: float) -> Any:
    name, axis = "cross_entropy", 0 if x.ndim == 1 else 1
    x, t, weight = evened(x, t, weight)
    classes = x.shape[axis]
    _check_weight(name, weight, classes)
    if ignore_index >= 0:
        raise RuntimeError(f"{name}: given class probabilities and ignore_index={ignore_index}, expected class numbers")
    if smoothing:
        t = t * (1 - smoothing) + smoothing / classes
    if weight is not None:
        t = t * weight.reshape((classes, *(1,) * (x.ndim - axis - 1)))
    loss = -(lg.log_softmax(x, axis=axis) * t).sum(axis=axis)
    return reduced(name, loss, reduction)


@rounded_once
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: None = None,
) -> Tensor:
    """`cross_entropy` of the logits that a linear map makes.

    Parameters
    ----------
    input
        ``(n, features)``, or the same without n.
    linear_weight, linear_bias
        ``(classes, features)`` and ``(classes,)``; more axes between classes and features are places, each with a
        target of its own.
    target, weight, reduction, ignore_index, label_smoothing
        As of `cross_entropy`.
    options
        None: there is no other way of computing it here.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 2), requires_grad=True)
    >>> loss = lg.nn.functional.linear_cross_entropy(x, lg.zeros((4, 2)), lg.tensor([3]))
    >>> loss.backward()
    >>> round(loss.item(), 4), x.grad.tolist()
    (1.3863, [[0.0, 0.0]])
    """
    given = f"linear_cross_entropy: given an input of shape {tuple(input.shape)} and a linear_weight of shape "
    given += f"{tuple(linear_weight.shape)}, expected"
    if options is not None:
        raise ValueError("linear_cross_entropy: given options, expected None: there is one way of computing it here")
    if input.ndim not in (1, 2) or linear_weight.ndim < 2 or input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(f"{given} (n, features) and (classes, *places, features)")
    classes, *places, features = linear_weight.shape
    if places and input.ndim == 1:
        raise RuntimeError(f"{given} (n, features) where there are places")
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *places):
        raise RuntimeError(
            f"linear_cross_entropy: given a linear_bias of shape {tuple(linear_bias.shape)}, expected "
            f"{(classes, *places)}"
        )
    bias = None if linear_bias is None else linear_bias.reshape((-1,))
    logits = linear(input, linear_weight.reshape((-1, features)), bias)
    logits = logits.reshape((*input.shape[:-1], classes, *places))
    if ignore_index is not None and target.shape == logits.shape:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )
