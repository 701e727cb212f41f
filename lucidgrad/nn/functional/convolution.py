"""Convolutions and transposed convolutions along one, two or three axes; windows as columns and back."""

from typing import Any

import lucidgrad as lg
from lucidgrad.amp import is_autocast_enabled, rounded_once
from lucidgrad.func import is_transformed
from lucidgrad.ops.windows import convolution, convolution_input, fold_windows, unfold_windows
from lucidgrad.tensor import Tensor

from .arguments import Sizes, check_floats, per_axis, with_batch

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "fold",
    "unfold",
]  # fmt: skip

#: From so many elements on a bias is added in place: the pass over fresh memory costs more than the bookkeeping.
_LARGE = 1 << 16


def _add_bias(y: Any, bias: Any, axes: int) -> Any:
    if bias.dtype != y.dtype and is_autocast_enabled(
        y.device.type
    ):  # a bias does not undo the precision of the product
        bias = lg.astype(bias, y.dtype)
    bias = bias.reshape((bias.shape[0], *(1,) * axes))
    if y.size < _LARGE or y.dtype != bias.dtype or is_transformed(y) or is_transformed(bias):
        return y + bias
    y += bias  # nobody else has seen y, and its rule does not need it
    return y


def _check_bias(name: str, bias: Any, outputs: int) -> None:
    if bias is not None and tuple(bias.shape) != (outputs,):
        raise RuntimeError(f"{name}: given a bias of shape {tuple(bias.shape)}, expected ({outputs},)")


def _check_weight(name: str, x: Any, weight: Any, axes: int, groups: int, inputs: int) -> None:
    """Raise unless the weights fit: ``inputs`` channels are what they act on."""
    check_floats(name, x, weight)
    if weight.ndim != axes + 2:
        raise RuntimeError(
            f"{name}: given a weight of shape {tuple(weight.shape)}, expected {axes + 2} axes for an input of shape "
            f"{tuple(x.shape)}"
        )
    if groups < 1 or weight.shape[0] % groups:
        raise RuntimeError(
            f"{name}: given groups={groups} and a weight of shape {tuple(weight.shape)}, expected a positive number "
            f"that divides its first size"
        )
    if x.shape[1] != inputs:
        raise RuntimeError(
            f"{name}: given groups={groups}, a weight of shape {tuple(weight.shape)} and an input of shape "
            f"{tuple(x.shape)}, expected an input with {inputs} channels, but it has {x.shape[1]}"
        )


def _same_padding(
    name: str, x: Any, window: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> tuple[Any, tuple[int, ...]]:
    """The padding that keeps sizes. Where it is odd, one more zero goes to the end, ahead of the convolution."""
    if max(stride) != 1:
        raise RuntimeError(f"{name}: given padding='same' and stride={stride}, expected a stride of 1")
    total = [d * (k - 1) for k, d in zip(window, dilation)]
    if any(t % 2 for t in total):
        x = lg.pad(x, [(0, 0)] * (x.ndim - len(total)) + [(0, t % 2) for t in total])
    return x, tuple(t // 2 for t in total)


def _convolve(
    name: str, axes: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    stride = per_axis(name, "stride", stride, axes, 1)
    dilation = per_axis(name, "dilation", dilation, axes, 1)
    x, single = with_batch(name, x, axes)
    _check_weight(name, x, weight, axes, groups, weight.shape[1] * groups)
    _check_bias(name, bias, weight.shape[0])
    if not isinstance(padding, str):
        padding = per_axis(name, "padding", padding, axes, 0)
    elif padding == "same":
        x, padding = _same_padding(name, x, tuple(weight.shape[2:]), stride, dilation)
    elif padding == "valid":
        padding = (0,) * axes
    else:
        raise RuntimeError(f"{name}: given padding={padding!r}, expected numbers, 'same' or 'valid'")
    y = convolution(x, weight, stride=stride, padding=padding, dilation=dilation, groups=groups)
    if bias is not None:
        y = _add_bias(y, bias, axes)
    return y.reshape(y.shape[1:]) if single else y


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution along one axis; see `conv2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, w = lg.tensor([[[1.0, 2.0, 3.0]]]), lg.tensor([[[1.0, 10.0]]], requires_grad=True)
    >>> y = lg.nn.functional.conv1d(x, w)
    >>> y.sum().backward()
    >>> y.tolist(), w.grad.tolist()
    ([[[21.0, 32.0]]], [[[3.0, 5.0]]])
    """
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution along two axes (no kernel is flipped).

    Parameters
    ----------
    input
        ``(n, channels, height, width)``, or the same without n.
    weight
        ``(outputs, channels / groups, *window)``.
    bias
        One number for each output.
    stride, dilation
        Steps between windows, and between the elements of a window: one number, or one for each axis.
    padding
        How many zeros are added at both ends; ``"valid"`` is 0, ``"same"`` keeps the sizes (for a stride of 1).
    groups
        Into how many groups the channels are split, each with weights and outputs of its own.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, w = lg.ones((1, 1, 3, 3)), lg.ones((1, 1, 2, 2), requires_grad=True)
    >>> y = lg.nn.functional.conv2d(x, w, stride=2, padding=1)
    >>> y.sum().backward()
    >>> y.tolist(), w.grad.tolist()
    ([[[[1.0, 2.0], [2.0, 4.0]]]], [[[[1.0, 2.0], [2.0, 4.0]]]])
    """
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution along three axes; see `conv2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, w = lg.ones((1, 1, 2, 2, 2)), lg.ones((1, 1, 2, 2, 2), requires_grad=True)
    >>> y = lg.nn.functional.conv3d(x, w)
    >>> y.backward(lg.ones_like(y))
    >>> y.item(), w.grad.sum().item()
    (8.0, 8.0)
    """
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


# -- transposed ----------------------------------------------------------------------------------
def _transposed(
    name: str,
    axes: int,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Any:
    stride = per_axis(name, "stride", stride, axes, 1)
    padding = per_axis(name, "padding", padding, axes, 0)
    dilation = per_axis(name, "dilation", dilation, axes, 1)
    extra = per_axis(name, "output_padding", output_padding, axes, 0)
    x, single = with_batch(name, x, axes)
    _check_weight(name, x, weight, axes, groups, weight.shape[0])
    _check_bias(name, bias, weight.shape[1] * groups)
    if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation)):
        raise RuntimeError(
            f"{name}: given output_padding={extra}, stride={stride} and dilation={dilation}, expected an "
            f"output_padding below the stride or the dilation"
        )
    full = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(x.shape[2:], stride, dilation, weight.shape[2:])]
    sizes = tuple(f - 2 * p + e for f, p, e in zip(full, padding, extra))
    if min(sizes) < 1:
        raise RuntimeError(
            f"{name}: an input of shape {tuple(x.shape)} gives sizes {sizes}: padding={padding} takes all away"
        )
    steps = {"stride": stride, "dilation": dilation, "groups": groups}
    if all(e < s for e, s in zip(extra, stride)):
        y = convolution_input(x, weight, sizes=sizes, padding=padding, **steps)
    else:  # windows would find one more place in such sizes, so they get all there is, and the rest is cut off or added
        y = convolution_input(x, weight, sizes=tuple(full), padding=(0,) * axes, **steps)
        y = lg.pad(y, [(0, 0), (0, 0), *((0, e) for e in extra)])
        y = y[(..., *(slice(p, p + n) for p, n in zip(padding, sizes)))]
    if bias is not None:
        y = _add_bias(y, bias, axes)
    return y.reshape(y.shape[1:]) if single else y


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Transposed convolution along one axis; see `conv_transpose2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, w = lg.ones((1, 1, 2), requires_grad=True), lg.tensor([[[1.0, 10.0]]])
    >>> y = lg.nn.functional.conv_transpose1d(x, w)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[[1.0, 11.0, 10.0]]], [[[11.0, 11.0]]])
    """
    return _transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Transposed convolution along two axes: what pulls a cotangent of `conv2d` back to its input.

    Parameters
    ----------
    input
        ``(n, channels, height, width)``, or the same without n.
    weight
        ``(channels, outputs / groups, *window)``.
    bias
        One number for each output.
    stride, padding, groups, dilation
        As of the convolution that is transposed.
    output_padding
        How many places are added at the far ends: a stride leaves open which sizes were convolved.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, w = lg.ones((1, 1, 1, 2), requires_grad=True), lg.ones((1, 1, 1, 2))
    >>> y = lg.nn.functional.conv_transpose2d(x, w, stride=2, output_padding=(0, 1))
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[[[1.0, 1.0, 1.0, 1.0, 0.0]]]], [[[[2.0, 2.0]]]])
    """
    return _transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Transposed convolution along three axes; see `conv_transpose2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, w = lg.ones((1, 1, 1, 1, 1), requires_grad=True), lg.ones((1, 1, 2, 2, 2))
    >>> y = lg.nn.functional.conv_transpose3d(x, w)
    >>> y.sum().backward()
    >>> y.shape, x.grad.item()
    ((1, 1, 2, 2, 2), 8.0)
    """
    return _transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


# -- windows as columns --------------------------------------------------------------------------
def unfold(input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> Tensor:
    """The windows of images as columns: ``(n, c, height, width)`` becomes ``(n, c * elements, places)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 1, 2, 3), requires_grad=True)
    >>> y = lg.nn.functional.unfold(x, kernel_size=2)
    >>> y.sum().backward()
    >>> y.shape, x.grad.tolist()
    ((1, 4, 2), [[[[1.0, 2.0, 1.0], [1.0, 2.0, 1.0]]]])
    """
    x, single = with_batch("unfold", input, 2)
    window = per_axis("unfold", "kernel_size", kernel_size, 2, 1)
    cols: Any = unfold_windows(
        x,
        window=window,
        stride=per_axis("unfold", "stride", stride, 2, 1),
        padding=per_axis("unfold", "padding", padding, 2, 0),
        dilation=per_axis("unfold", "dilation", dilation, 2, 1),
    )
    n, c, places = x.shape[0], x.shape[1], cols.shape[4] * cols.shape[5]
    shape = (c * window[0] * window[1], places)
    return cols.reshape(shape if single else (n, *shape))


def fold(
    input: Tensor, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Tensor:
    """Columns added up where `unfold` took them from: ``(n, c * elements, places)`` becomes ``(n, c, *output_size)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 4, 2), requires_grad=True)
    >>> y = lg.nn.functional.fold(x, output_size=(2, 3), kernel_size=2)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.sum().item()
    ([[[[1.0, 2.0, 1.0], [1.0, 2.0, 1.0]]]], 8.0)
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"fold: given an input of shape {tuple(input.shape)}, expected (n, channels * elements, places) or the "
            f"same without n"
        )
    sizes = per_axis("fold", "output_size", output_size, 2, 1)
    window = per_axis("fold", "kernel_size", kernel_size, 2, 1)
    dilation = per_axis("fold", "dilation", dilation, 2, 1)
    padding = per_axis("fold", "padding", padding, 2, 0)
    stride = per_axis("fold", "stride", stride, 2, 1)
    out = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(sizes, padding, dilation, window, stride)]
    lead, (rows, places) = tuple(input.shape[:-2]), tuple(input.shape[-2:])
    elements = window[0] * window[1]
    if rows % elements or min(out) < 1 or places != out[0] * out[1]:
        raise RuntimeError(
            f"fold: given an input of shape {tuple(input.shape)}, expected a number of rows divisible by the "
            f"{elements} elements of kernel_size={window}, and {out[0]} * {out[1]} places for output_size={sizes}"
        )
    h: Any = input.reshape((*lead, rows // elements, *window, *out))
    return fold_windows(h, sizes=sizes, stride=stride, padding=padding, dilation=dilation)


@rounded_once
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution along the first axis of (time, batch, channels), with weights (window, channels in, channels out).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.arange(3.0).reshape((3, 1, 1)).requires_grad_()
    >>> y = lg.nn.functional.conv_tbc(x, lg.ones((2, 1, 1)), lg.zeros(1))
    >>> y.sum().backward()
    >>> y.flatten().tolist(), x.grad.flatten().tolist()
    ([1.0, 3.0], [1.0, 2.0, 1.0])
    """
    if input.ndim != 3 or weight.ndim != 3 or bias.ndim != 1:
        raise RuntimeError(
            f"conv_tbc: given an input of shape {tuple(input.shape)}, a weight of shape {tuple(weight.shape)} and a "
            f"bias of shape {tuple(bias.shape)}, expected (time, batch, channels), (window, channels, out) and (out,)"
        )
    y = conv1d(lg.permute_dims(input, (1, 2, 0)), lg.permute_dims(weight, (2, 1, 0)), bias, padding=pad)
    return lg.permute_dims(y, (2, 0, 1))
