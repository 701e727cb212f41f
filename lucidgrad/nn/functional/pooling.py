"""Pools over windows: the largest value, the mean, a power mean."""

import math
from collections.abc import Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.amp import rounded_once
from lucidgrad.ops.pooling import avg_pool, max_pool
from lucidgrad.tensor import Tensor

from .arguments import Sizes, per_axis

__all__ = [
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d",
    "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip


def check_rank(name: str, x: Any, axes: int) -> None:
    """Raise unless an input has so many axes besides channels and, maybe, a batch."""
    if x.ndim not in (axes + 1, axes + 2):
        raise RuntimeError(
            f"{name}: given an input of shape {tuple(x.shape)}, expected {axes + 2} axes (n, channels, *sizes) or, "
            f"without a batch, {axes + 1}"
        )


def _windows(
    name: str, x: Any, axes: int, kernel_size: Any, stride: Any, padding: Any
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Window, stride and padding, checked."""
    check_rank(name, x, axes)
    window = per_axis(name, "kernel_size", kernel_size, axes, 1)
    padding = per_axis(name, "padding", padding, axes, 0)
    if any(2 * p > k for p, k in zip(padding, window)):
        raise RuntimeError(
            f"{name}: given padding={padding} and kernel_size={window}, expected a padding of at most half the window"
        )
    if stride is None or (isinstance(stride, (tuple, list)) and not stride):
        return window, window, padding
    return window, per_axis(name, "stride", stride, axes, 1), padding


# -- the largest value ---------------------------------------------------------------------------
def _max(
    name: str,
    axes: int,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    window, stride, padding = _windows(name, x, axes, kernel_size, stride, padding)
    dilation = per_axis(name, "dilation", dilation, axes, 1)
    made: Any = max_pool(x, window=window, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode)
    return tuple(made) if return_indices else made[0]


def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value in each window along one axis; see `max_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 3.0, 3.0, 2.0]], requires_grad=True)
    >>> y = lg.nn.functional.max_pool1d(x, 2)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[3.0, 3.0]], [[0.0, 1.0, 1.0, 0.0]])
    """
    return _max("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value in each window along two axes.

    Parameters
    ----------
    input
        ``(n, channels, height, width)``, or the same without n.
    kernel_size, stride, padding, dilation
        Windows, their steps (as large as they are, if None), what lies outside on both sides, and the steps
        inside a window: one number, or one for each axis.
    ceil_mode
        Whether a last window may reach beyond the end.
    return_indices
        Whether to return also where the values were found, as places in the flat plane.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[[1.0, 3.0], [5.0, 2.0]]], requires_grad=True)
    >>> y, places = lg.nn.functional.max_pool2d(x, 2, return_indices=True)
    >>> y.backward(lg.ones_like(y))
    >>> places.tolist(), x.grad.tolist()
    ([[[2]]], [[[0.0, 0.0], [1.0, 0.0]]])
    """
    return _max("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value in each window along three axes; see `max_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.arange(8.0).reshape((1, 2, 2, 2)).requires_grad_()
    >>> y = lg.nn.functional.max_pool3d(x, 2)
    >>> y.sum().backward()
    >>> y.item(), x.grad[0, 1, 1].tolist()
    (7.0, [0.0, 1.0])
    """
    return _max("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _unpool(
    name: str, axes: int, x: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Any:
    window, stride, padding = _windows(name, x, axes, kernel_size, stride, padding)
    lead, old = tuple(x.shape[: x.ndim - axes]), tuple(x.shape[x.ndim - axes :])
    if tuple(indices.shape) != tuple(x.shape):
        raise RuntimeError(
            f"{name}: given an input of shape {tuple(x.shape)} and indices of shape {tuple(indices.shape)}, expected "
            f"one shape"
        )
    sizes = tuple((n - 1) * s + k - 2 * p for n, s, k, p in zip(old, stride, window, padding))
    if output_size is not None:
        given = tuple(output_size)
        given = given[2:] if len(given) == axes + 2 else given
        if len(given) != axes:
            raise ValueError(f"{name}: given output_size={tuple(output_size)}, expected {axes} or {axes + 2} sizes")
        if any(not n - s < g < n + s for n, s, g in zip(sizes, stride, given)):
            raise ValueError(f"{name}: given output_size={given}, expected sizes less than {stride} away from {sizes}")
        sizes = given
    places, count = math.prod(old), math.prod(sizes)
    flat = lg.zeros((*lead, count), dtype=x.dtype, device=x.device)
    flat = lg.scatter(flat, -1, indices.reshape((*lead, places)), x.reshape((*lead, places)))
    return flat.reshape((*lead, *sizes))


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros with the values of `max_pool1d` where they came from.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[5.0]], requires_grad=True)
    >>> y = lg.nn.functional.max_unpool1d(x, lg.tensor([[1]]), 2)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[0.0, 5.0]], [[1.0]])
    """
    return _unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros with the values of `max_pool2d` where they came from; ``output_size`` says how large they were.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[[5.0]]], requires_grad=True)
    >>> y = lg.nn.functional.max_unpool2d(x, lg.tensor([[[2]]]), 2)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.item()
    ([[[0.0, 0.0], [5.0, 0.0]]], 1.0)
    """
    return _unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros with the values of `max_pool3d` where they came from.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 1, 1, 1), requires_grad=True)
    >>> y = lg.nn.functional.max_unpool3d(x, lg.tensor([[[[7]]]]), 2)
    >>> y.sum().backward()
    >>> y[0, 1, 1].tolist(), x.grad.item()
    ([0.0, 1.0], 1.0)
    """
    return _unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)


# -- means ---------------------------------------------------------------------------------------
def _avg(
    name: str,
    axes: int,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None = None,
) -> Any:
    window, stride, padding = _windows(name, x, axes, kernel_size, stride, padding)
    if divisor_override == 0:
        raise RuntimeError(f"{name}: given divisor_override=0, expected another number or None")
    over: Any = {"ceil_mode": ceil_mode, "include": count_include_pad, "divisor": divisor_override}
    if x.is_floating_point() or x.is_complex():
        return avg_pool(x, window=window, stride=stride, padding=padding, **over)
    if x.dtype == lg.bool:
        raise RuntimeError(f"{name}: given booleans, expected numbers")
    mean: Any = avg_pool(x.double(), window=window, stride=stride, padding=padding, **over)
    return lg.astype(lg.trunc(mean), x.dtype)  # of integers PyTorch's mean is one, too


def avg_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window along one axis; see `avg_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 3.0, 3.0, 5.0]], requires_grad=True)
    >>> y = lg.nn.functional.avg_pool1d(x, 2)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[2.0, 4.0]], [[0.5, 0.5, 0.5, 0.5]])
    """
    return _avg("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window along two axes.

    Parameters
    ----------
    input, kernel_size, stride, padding, ceil_mode
        As of `max_pool2d`; zeros lie outside.
    count_include_pad
        Whether these zeros count.
    divisor_override
        What the sums are divided by instead.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[[1.0, 3.0], [5.0, 7.0]]], requires_grad=True)
    >>> y = lg.nn.functional.avg_pool2d(x, 2)
    >>> y.sum().backward()
    >>> y.item(), x.grad.tolist()
    (4.0, [[[0.25, 0.25], [0.25, 0.25]]])
    """
    over = (ceil_mode, count_include_pad, divisor_override)
    return _avg("avg_pool2d", 2, input, kernel_size, stride, padding, *over)


def avg_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window along three axes; see `avg_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.arange(8.0).reshape((1, 2, 2, 2)).requires_grad_()
    >>> y = lg.nn.functional.avg_pool3d(x, 2)
    >>> y.sum().backward()
    >>> y.item(), x.grad[0, 0, 0].tolist()
    (3.5, [0.125, 0.125])
    """
    over = (ceil_mode, count_include_pad, divisor_override)
    return _avg("avg_pool3d", 3, input, kernel_size, stride, padding, *over)


@rounded_once
def _power(name: str, axes: int, x: Any, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Any:
    """``sum(x**p) ** (1 / p)`` of each window; a sum of 0 or less gives 0, as a root does."""
    if norm_type == math.inf:
        return _max(name, axes, abs(x), kernel_size, stride, 0, 1, ceil_mode, False)
    if norm_type == -math.inf:
        return -_max(name, axes, -abs(x), kernel_size, stride, 0, 1, ceil_mode, False)
    x = x if x.is_floating_point() or x.is_complex() else x.to(lg.get_default_dtype())
    mean = _avg(name, axes, x**norm_type, kernel_size, stride, 0, ceil_mode, True)
    return (mean * math.prod(per_axis(name, "kernel_size", kernel_size, axes))) ** (1 / norm_type)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """``sum(x**p) ** (1 / p)`` of each window along one axis, with p the ``norm_type``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0, 4.0]], requires_grad=True)
    >>> y = lg.nn.functional.lp_pool1d(x, 2, 2)
    >>> y.sum().backward()
    >>> y.item(), [round(g, 4) for g in x.grad[0].tolist()]
    (5.0, [0.6, 0.8])
    """
    return _power("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """``sum(x**p) ** (1 / p)`` of each window along two axes, with p the ``norm_type``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 2, 2), requires_grad=True)
    >>> y = lg.nn.functional.lp_pool2d(x, 2, 2)
    >>> y.sum().backward()
    >>> y.item(), x.grad.tolist()
    (2.0, [[[0.5, 0.5], [0.5, 0.5]]])
    """
    return _power("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """``sum(x**p) ** (1 / p)`` of each window along three axes, with p the ``norm_type``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 2, 2, 2), requires_grad=True)
    >>> y = lg.nn.functional.lp_pool3d(x, 3, 2)
    >>> y.sum().backward()
    >>> round(y.item(), 4), round(x.grad[0, 0, 0, 0].item(), 4)
    (2.0, 0.25)
    """
    return _power("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode)
