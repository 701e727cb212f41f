"""Layers that convolve, and windows as columns."""

import math
from collections.abc import Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.nn import functional, init
from lucidgrad.nn.functional.arguments import Sizes, per_axis
from lucidgrad.nn.module import Module
from lucidgrad.nn.parameter import Parameter

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Fold", "Unfold",
]  # fmt: skip

_MODES = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Module):
    """What all convolutions have: their arguments, weights and a bias."""

    axes: int
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes | str,
        dilation: Sizes,
        output_padding: Sizes,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        name, axes = type(self).__name__, self.axes
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{name}: given in_channels={in_channels}, out_channels={out_channels} and groups={groups}, expected a "
                f"positive number of groups that divides both"
            )
        if padding_mode not in _MODES:
            raise ValueError(f"{name}: given padding_mode={padding_mode!r}, expected {', '.join(map(repr, _MODES))}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = per_axis(name, "kernel_size", kernel_size, axes, least=1)
        self.stride = per_axis(name, "stride", stride, axes, least=1)
        self.dilation = per_axis(name, "dilation", dilation, axes, least=1)
        self.output_padding = per_axis(name, "output_padding", output_padding, axes, least=0)
        self.padding_mode = padding_mode
        self.padding: str | tuple[int, ...] = self._read_padding(name, padding)
        self._around = self._pad_widths()
        self.weight = Parameter(lg.empty(self._weight_shape(in_channels, out_channels), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(lg.empty((out_channels,), device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self, i: int, o: int) -> tuple[int, ...]:
        """For so many channels in and out."""
        channels = (i, o // self.groups) if self.transposed else (o, i // self.groups)
        return (*channels, *self.kernel_size)

    def _read_padding(self, name: str, padding: Sizes | str) -> str | tuple[int, ...]:
        if not isinstance(padding, str):
            return per_axis(name, "padding", padding, self.axes, least=0)
        if padding not in ("same", "valid") or self.transposed:
            raise ValueError(f"{name}: given padding={padding!r}, expected numbers, 'same' or 'valid'")
        if padding == "same" and max(self.stride) != 1:
            raise ValueError(f"{name}: given padding='same' and stride={self.stride}, expected a stride of 1")
        return padding

    def _pad_widths(self) -> tuple[int, ...]:
        """The padding as `functional.pad` wants it, for the modes that it makes."""
        made: list[int] = []
        for k in reversed(range(self.axes)):
            if self.padding == "same":
                total = self.dilation[k] * (self.kernel_size[k] - 1)
                made += [total // 2, total - total // 2]
            else:
                made += [0, 0] if isinstance(self.padding, str) else [self.padding[k]] * 2
        return tuple(made)

    def reset_parameters(self) -> None:
        """Draw weights and bias anew, uniformly within one over the square root of what an output sums."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = self.weight.shape[1] * math.prod(self.kernel_size)
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        if self.padding != (0,) * self.axes:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * self.axes:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * self.axes:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Plain(_Convolution):
    """A convolution that is not transposed."""

    _function: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode, device,
            dtype,
        )  # fmt: skip

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Convolve ``(n, channels, *sizes)``, or the same without n."""
        steps = (self.stride, self.padding, self.dilation, self.groups)
        if self.padding_mode != "zeros":
            input = functional.pad(input, self._around, mode=self.padding_mode)
            steps = (self.stride, (0,) * self.axes, self.dilation, self.groups)
        return type(self)._function(input, self.weight, self.bias, *steps)


class Conv1d(_Plain):
    """Convolution along one axis; see `Conv2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.Conv1d(2, 3, 5, padding="same")
    >>> layer(lg.zeros((4, 2, 7))).shape
    (4, 3, 7)
    """

    axes = 1
    _function = staticmethod(functional.conv1d)


class Conv2d(_Plain):
    """Convolution along two axes.

    Parameters
    ----------
    in_channels, out_channels
        Numbers of channels.
    kernel_size, stride, padding, dilation, groups
        As of `functional.conv2d`.
    bias
        Whether there is one.
    padding_mode
        What lies outside: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.Conv2d(1, 2, 3)
    >>> layer(lg.ones((4, 1, 5, 5))).sum().backward()
    >>> layer.bias.grad
    tensor([36., 36.])
    """

    axes = 2
    _function = staticmethod(functional.conv2d)


class Conv3d(_Plain):
    """Convolution along three axes; see `Conv2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Conv3d(1, 2, (1, 2, 3))(lg.zeros((1, 3, 3, 3))).shape
    (2, 3, 2, 1)
    """

    axes = 3
    _function = staticmethod(functional.conv3d)


class _Transposed(_Convolution):
    """A transposed convolution."""

    transposed = True
    _function: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f"{type(self).__name__}: given padding_mode={padding_mode!r}, expected 'zeros'")
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: lg.Tensor, output_size: Sequence[int] | None = None) -> lg.Tensor:
        """Convolve ``(n, channels, *sizes)``, or the same without n; ``output_size`` chooses among possible sizes."""
        extra = self.output_padding if output_size is None else self._extra(input, tuple(output_size))
        return type(self)._function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )

    def _extra(self, x: lg.Tensor, given: tuple[int, ...]) -> tuple[int, ...]:
        """The output padding that gives an output size."""
        name, axes = type(self).__name__, self.axes
        wanted = given[len(given) - axes :] if len(given) == x.ndim else given
        if len(wanted) != axes:
            raise ValueError(f"{name}: given output_size={given}, expected {axes} or {x.ndim} sizes")
        padding: Any = self.padding
        least = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1
            for n, s, p, d, k in zip(x.shape[x.ndim - axes :], self.stride, padding, self.dilation, self.kernel_size)
        ]
        most = [n + s - 1 for n, s in zip(least, self.stride)]
        if any(not low <= n <= high for low, n, high in zip(least, wanted, most)):
            raise ValueError(
                f"{name}: given output_size={given} and an input of shape {tuple(x.shape)}, expected sizes from "
                f"{least} to {most}"
            )
        return tuple(n - low for low, n in zip(least, wanted))


class ConvTranspose1d(_Transposed):
    """Transposed convolution along one axis; see `ConvTranspose2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ConvTranspose1d(2, 3, 4, stride=2)(lg.zeros((2, 5))).shape
    (3, 12)
    """

    axes = 1
    _function = staticmethod(functional.conv_transpose1d)


class ConvTranspose2d(_Transposed):
    """Transposed convolution along two axes: it undoes the sizes of a `Conv2d` with the same arguments.

    Parameters
    ----------
    in_channels, out_channels
        Numbers of channels.
    kernel_size, stride, padding, output_padding, groups, dilation
        As of `functional.conv_transpose2d`.
    bias
        Whether there is one.
    padding_mode
        ``"zeros"``.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> down, up = lg.nn.Conv2d(1, 2, 3, stride=2), lg.nn.ConvTranspose2d(2, 1, 3, stride=2)
    >>> x = lg.zeros((4, 1, 8, 8))
    >>> up(down(x)).shape, up(down(x), output_size=x.shape).shape
    ((4, 1, 7, 7), (4, 1, 8, 8))
    """

    axes = 2
    _function = staticmethod(functional.conv_transpose2d)


class ConvTranspose3d(_Transposed):
    """Transposed convolution along three axes; see `ConvTranspose2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ConvTranspose3d(1, 1, 2)(lg.zeros((1, 2, 2, 2))).shape
    (1, 3, 3, 3)
    """

    axes = 3
    _function = staticmethod(functional.conv_transpose3d)


# -- windows as columns --------------------------------------------------------------------------
class Unfold(Module):
    """The windows of images as columns; see `functional.unfold`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Unfold(2)(lg.zeros((1, 3, 4, 4))).shape
    (1, 12, 9)
    """

    def __init__(self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Unfold ``(n, channels, height, width)``."""
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:  # noqa: D102
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """Columns added up where `Unfold` took them from; see `functional.fold`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Fold((4, 4), 2)(lg.zeros((1, 12, 9))).shape
    (1, 3, 4, 4)
    """

    def __init__(
        self, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Fold ``(n, channels * elements, places)``."""
        return functional.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:  # noqa: D102
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


_ConvNd = _Convolution  # PyTorch's name, which programs ask for
