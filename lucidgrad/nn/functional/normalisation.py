"""Normalisation of batches, layers, groups and instances."""

import math
from collections.abc import Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.amp import is_autocast_enabled, rounded_once
from lucidgrad.ops.normalisation import batch_norm as _batch_norm, layer_norm as _layer_norm, standardise
from lucidgrad.ops.numbers import only_real
from lucidgrad.ops.pooling import avg_pool
from lucidgrad.tensor import Tensor

from .arguments import check_floats

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm"]


def _is_short(x: Any) -> bool:
    """Whether values are of 16 bits, whose squares overflow: then statistics are computed in float32."""
    if getattr(x.dtype, "itemsize", 4) != 2 or is_autocast_enabled(
        x.device.type
    ):  # autocast chooses the precision itself
        return False
    return bool(x.is_floating_point())


def _in_single(norm: Any, x: Any, *args: Any) -> Any:
    """What a function makes of tensors as float32, as values of x's dtype."""
    made = norm(*(lg.astype(a, lg.float32) if isinstance(a, Tensor) else a for a in (x, *args)))
    return lg.astype(made, x.dtype)


def _along_channels(x: Any, rank: int) -> Any:
    """One number for each channel, to broadcast."""
    return x.reshape((x.shape[0], *(1,) * (rank - 2)))


def _affine(y: Any, weight: Any, bias: Any) -> Any:
    """``y * weight + bias`` for each channel; either may be None."""
    if weight is not None:
        y = y * _along_channels(weight, y.ndim)
    return y if bias is None else y + _along_channels(bias, y.ndim)


def _check_channels(name: str, x: Any, **given: Any) -> None:
    check_floats(name, x, None)
    if x.ndim < 2:
        raise RuntimeError(f"{name}: given an input of shape {tuple(x.shape)}, expected (n, channels, *sizes)")
    for argument, value in given.items():
        if value is not None and tuple(value.shape) != (x.shape[1],):
            raise RuntimeError(
                f"{name}: given {argument} of shape {tuple(value.shape)} and an input of shape {tuple(x.shape)}, "
                f"expected ({x.shape[1]},)"
            )
        if value is not None and value.dtype != x.dtype:
            only_real(name, value)


def _track(running: Any, new: Any, momentum: float) -> None:
    """Move running statistics towards new ones, in one step: if it fails they are as they were."""
    if running is not None:
        running.copy_(running * (1 - momentum) + lg.astype(new, running.dtype) * momentum)


def _by_running(x: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Normalise by given statistics: one factor and one summand for each channel."""
    if _is_short(x):
        return _in_single(_by_running, x, mean, var, weight, bias, eps)
    factor = lg.rsqrt(var + eps)
    factor = factor if weight is None else factor * weight
    summand = -mean * factor if bias is None else bias - mean * factor
    factor, summand = (lg.astype(_along_channels(part, x.ndim), x.dtype) for part in (factor, summand))
    return x * factor + summand


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel less its mean over its standard deviation, times a weight, plus a bias.

    Parameters
    ----------
    input
        ``(n, channels, *sizes)``.
    running_mean, running_var
        Statistics for each channel: used if not ``training``, else updated in place (with the unbiased variance).
    weight, bias
        A number for each channel.
    training
        Whether the statistics are those of this batch.
    momentum
        How much of the running statistics is replaced.
    eps
        What is added to the variance.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, w, mean = lg.tensor([[1.0], [3.0]]), lg.ones(1, requires_grad=True), lg.zeros(1)
    >>> y = lg.nn.functional.batch_norm(x, mean, lg.ones(1), w, training=True, eps=0.0)
    >>> y[0, 0].backward()
    >>> y.tolist(), w.grad.tolist(), round(mean.item(), 4)
    ([[-1.0], [1.0]], [-1.0], 0.2)
    """
    x: Any = input
    _check_channels("batch_norm", x, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "batch_norm: given no running_mean or running_var, expected both, or training=True for the batch's own"
            )
        return _by_running(x, running_mean, running_var, weight, bias, eps)
    n = x.size // x.shape[1] if x.shape[1] else 0
    if n == 1:
        raise ValueError(
            f"batch_norm: given an input of shape {tuple(x.shape)} while training, expected more than one value per "
            f"channel: one alone has no variance"
        )
    if x.size == 0:
        return _affine(x * 1, weight, bias)
    rows: Any = (x, _given_or(x, weight, 1), _given_or(x, bias, 0))
    short = _is_short(x)
    made: Any = _batch_norm(*(lg.astype(part, lg.float32) for part in rows) if short else rows, eps=eps)
    y, mean, var = made
    y = lg.astype(y, x.dtype) if short else y
    if running_mean is not None or running_var is not None:
        with lg.no_grad():
            _track(running_mean, mean.detach(), momentum)
            _track(running_var, var.detach() * (n / (n - 1)), momentum)
    return y


def batch_norm_of_all(
    x: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, momentum: float, eps: float, group: Any
) -> Any:
    """`batch_norm` in training, by the statistics of the batches of all processes of a group, which may differ in size.

    Each tells the others its mean, its sum of squared deviations and its number of values, in one message; so large
    means lose no digits, and a batch may be empty.
    """
    from lucidgrad.communication import functional  # which few programs need

    _check_channels("batch_norm", x, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if _is_short(x):
        wide: Any = [None if part is None else lg.astype(part, lg.float32) for part in (x, weight, bias)]
        y = batch_norm_of_all(wide[0], running_mean, running_var, wide[1], wide[2], momentum, eps, group)
        return lg.astype(y, x.dtype)
    channels, axes = x.shape[1], (0, *range(2, x.ndim))
    n = x.size // channels if channels else 0
    mean = lg.sum(x, axis=axes) / max(n, 1)
    deviations = lg.sum((x - _along_channels(mean, x.ndim)) ** 2, axis=axes)
    own = lg.cat([mean, deviations, lg.full((1,), float(n), dtype=mean.dtype, device=x.device)])
    rows = functional.all_gather_tensor(own.reshape(1, -1), 0, group=group)
    means, squares, counts = rows[:, :channels], rows[:, channels:-1], rows[:, -1:].detach()
    total = lg.clip(lg.sum(counts), 1.0, None)
    mean = lg.sum(counts * means, axis=0) / total
    var = lg.sum(squares + counts * (means - mean) ** 2, axis=0) / total
    y = (x - _along_channels(mean, x.ndim)) * _along_channels(lg.rsqrt(var + eps), x.ndim)
    if running_mean is not None or running_var is not None:
        with lg.no_grad():
            _track(running_mean, mean.detach(), momentum)
            _track(running_var, var.detach() * (total / lg.clip(total - 1, 1.0, None)), momentum)
    return lg.astype(_affine(y, weight, bias), x.dtype)


def _given_or(x: Any, given: Any, value: float) -> Any:
    return given if given is not None else lg.full((x.shape[1],), value, dtype=x.dtype, device=x.device)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`batch_norm` for each example alone: running statistics are means over the batch.

    Parameters
    ----------
    input, running_mean, running_var, weight, bias, momentum, eps
        As of `batch_norm`.
    use_input_stats
        Whether the statistics are those of each example, instead of the running ones.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, w = lg.tensor([[[1.0, 3.0]]]), lg.ones(1, requires_grad=True)
    >>> y = lg.nn.functional.instance_norm(x, weight=w, eps=0.0)
    >>> y[0, 0, 1].backward()
    >>> y.tolist(), w.grad.tolist()
    ([[[-1.0, 1.0]]], [1.0])
    """
    x: Any = input
    _check_channels("instance_norm", x, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "instance_norm: given use_input_stats=False and no running_mean or running_var, expected both"
            )
        return _by_running(x, running_mean, running_var, weight, bias, eps)
    axis, n = tuple(range(2, x.ndim)), math.prod(x.shape[2:])
    if n == 1:
        raise ValueError(
            f"instance_norm: given an input of shape {tuple(x.shape)}, expected more than one value per channel of an "
            f"example: one alone has no variance"
        )
    if x.size == 0:
        return _affine(x * 1, weight, bias)
    short = _is_short(x)
    if running_mean is not None or running_var is not None:
        with lg.no_grad():
            seen = lg.astype(x.detach(), lg.float32) if short else x.detach()
            _track(running_mean, lg.mean(seen, axis=(0, *axis)), momentum)
            _track(running_var, lg.mean(lg.var(seen, axis=axis, correction=1), axis=0), momentum)
    if short:
        return _in_single(lambda x, w, b: _affine(standardise(x, axis=axis, eps=eps), w, b), x, weight, bias)
    return _affine(standardise(x, axis=axis, eps=eps), weight, bias)


# -- layers --------------------------------------------------------------------------------------
def _check_layer(name: str, x: Any, normalized_shape: Sequence[int], **given: Any) -> int:
    """How many axes are normalised."""
    check_floats(name, x, None)
    shape = tuple(normalized_shape)
    if not shape or tuple(x.shape[max(x.ndim - len(shape), 0) :]) != shape:
        raise RuntimeError(
            f"{name}: given normalized_shape={list(shape)} and an input of shape {tuple(x.shape)}, expected the "
            f"input's last sizes, at least one"
        )
    for argument, value in given.items():
        if value is not None and tuple(value.shape) != shape:
            raise RuntimeError(f"{name}: given {argument} of shape {tuple(value.shape)}, expected {shape}")
    return len(shape)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Values less their mean over their standard deviation, along the last axes; times a weight, plus a bias.

    Parameters
    ----------
    input
        ``(*, *normalized_shape)``.
    normalized_shape
        The sizes of the last axes.
    weight, bias
        Of that shape.
    eps
        What is added to the variance.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, w = lg.tensor([[1.0, 3.0]]), lg.ones(2, requires_grad=True)
    >>> lg.nn.functional.layer_norm(x, (2,), w, eps=0.0).sum().backward()
    >>> w.grad.tolist()
    [-1.0, 1.0]
    """
    x: Any = input
    axes = _check_layer("layer_norm", x, normalized_shape, weight=weight, bias=bias)
    if _is_short(x):
        return _in_single(layer_norm, x, normalized_shape, weight, bias, eps)
    if weight is not None:
        return _layer_norm(x, weight, bias, axes=axes, eps=eps)
    y = standardise(x, axis=tuple(range(x.ndim - axes, x.ndim)), eps=eps)
    return y if bias is None else y + bias


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """``x / sqrt(mean(x**2) + eps) * weight`` along the last axes; eps is the dtype's if None, float32's for 16 bits.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.ones(2, requires_grad=True)
    >>> lg.nn.functional.rms_norm(lg.tensor([3.0, 3.0]), (2,), w, eps=0.0).sum().backward()
    >>> w.grad.tolist()
    [1.0, 1.0]
    """
    x: Any = input
    axes = _check_layer("rms_norm", x, normalized_shape, weight=weight)
    eps = lg.finfo(lg.float32 if x.itemsize == 2 else x.dtype).eps if eps is None else eps
    if _is_short(x):
        return _in_single(rms_norm, x, normalized_shape, weight, eps)
    if weight is not None:
        return _layer_norm(x, weight, axes=axes, eps=eps, centre=False)
    return standardise(x, axis=tuple(range(x.ndim - axes, x.ndim)), eps=eps, centre=False)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Values less their mean over their standard deviation, within groups of channels of each example.

    Parameters
    ----------
    input
        ``(n, channels, *sizes)``.
    num_groups
        How many groups the channels make.
    weight, bias
        A number for each channel.
    eps
        What is added to the variance.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, w = lg.tensor([[1.0, 3.0]]), lg.ones(2, requires_grad=True)
    >>> lg.nn.functional.group_norm(x, 1, w, eps=0.0).sum().backward()
    >>> w.grad.tolist()
    [-1.0, 1.0]
    """
    x: Any = input
    _check_channels("group_norm", x, weight=weight, bias=bias)
    n, c = x.shape[:2]
    if num_groups < 1 or c % num_groups:
        raise RuntimeError(
            f"group_norm: given num_groups={num_groups} and an input of shape {tuple(x.shape)}, expected a positive "
            f"number that divides {c}"
        )
    if n * c // num_groups * math.prod(x.shape[2:]) == 1:
        raise ValueError(
            f"group_norm: given an input of shape {tuple(x.shape)} in {num_groups} groups, expected more than one "
            f"value per group: one alone has no variance"
        )
    if x.size == 0:
        return _affine(x * 1, weight, bias)
    if _is_short(x):
        return _in_single(group_norm, x, num_groups, weight, bias, eps)
    rows = x.reshape((n, num_groups, x.size // (n * num_groups)))
    return _affine(standardise(rows, axis=-1, eps=eps).reshape(tuple(x.shape)), weight, bias)


@rounded_once
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """``x / (k + alpha * mean(x**2)) ** beta``, the mean over ``size`` neighbouring channels.

    Parameters
    ----------
    input
        ``(n, channels, *sizes)``.
    size
        How many channels count, half of them before; zeros lie outside.
    alpha, beta, k
        The numbers in the formula.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 2, 1), requires_grad=True)
    >>> y = lg.nn.functional.local_response_norm(x, 2, alpha=1.0, beta=1.0)
    >>> y.sum().backward()
    >>> [round(v, 4) for v in y.flatten().tolist()]
    [0.6667, 0.5]
    """
    x: Any = input
    if x.ndim < 3:
        raise ValueError(
            f"local_response_norm: given an input of shape {tuple(x.shape)}, expected (n, channels, *sizes)"
        )
    if x.size == 0:
        return x
    n, c = x.shape[:2]
    squares = lg.pad((x * x).reshape((n, c, -1)), [(0, 0), (size // 2, (size - 1) // 2), (0, 0)])
    mean: Any = avg_pool(squares, window=(size, 1), stride=(1, 1), padding=(0, 0))
    return x / (mean.reshape(tuple(x.shape)) * alpha + k) ** beta
