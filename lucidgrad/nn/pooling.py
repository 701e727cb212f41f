"""Layers that pool."""

from collections.abc import Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.nn import functional
from lucidgrad.nn.functional.adaptive_pooling import AdaptiveSizes
from lucidgrad.nn.functional.arguments import Sizes, per_axis
from lucidgrad.nn.module import Module

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
    "MaxUnpool3d",
]  # fmt: skip


# -- the largest value ---------------------------------------------------------------------------
class _MaxPool(Module):
    _function: Any

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: lg.Tensor) -> Any:
        """Pool ``(n, channels, *sizes)``, or the same without n."""
        return type(self)._function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest value in each window along one axis; arguments are those of `functional.max_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.MaxPool1d(2)(lg.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    _function = staticmethod(functional.max_pool1d)


class MaxPool2d(_MaxPool):
    """The largest value in each window along two axes; arguments are those of `functional.max_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[[1.0, 3.0], [5.0, 2.0]]], requires_grad=True)
    >>> lg.nn.MaxPool2d(2)(x).sum().backward()
    >>> x.grad.tolist()
    [[[0.0, 0.0], [1.0, 0.0]]]
    """

    _function = staticmethod(functional.max_pool2d)


class MaxPool3d(_MaxPool):
    """The largest value in each window along three axes; arguments are those of `functional.max_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.MaxPool3d(2)(lg.zeros((1, 4, 4, 4))).shape
    (1, 2, 2, 2)
    """

    _function = staticmethod(functional.max_pool3d)


class _FractionalMaxPool(Module):
    axes: int
    _function: Any
    _random_samples: Any

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: lg.Tensor | None = None,
    ) -> None:
        super().__init__()
        name, axes = type(self).__name__, self.axes
        if (output_size is None) == (output_ratio is None):
            given = "neither" if output_size is None else "both"
            raise ValueError(f"{name}: given {given} of output_size and output_ratio, expected one of them")
        self.kernel_size = per_axis(name, "kernel_size", kernel_size, axes)
        self.output_size = None if output_size is None else per_axis(name, "output_size", output_size, axes)
        ratios: Any = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * axes
        self.output_ratio = None if output_ratio is None else ratios
        if output_ratio is not None and not all(0 < r < 1 for r in ratios):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: lg.Tensor) -> Any:
        """Pool ``(n, channels, *sizes)``, or the same without n."""
        return type(self)._function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest value in windows at random places, along two axes; see `functional.fractional_max_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.FractionalMaxPool2d(3, output_ratio=0.5)(lg.ones((1, 2, 8, 6))).shape
    (1, 2, 4, 3)
    """

    axes = 2
    _function = staticmethod(functional.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest value in windows at random places, along three axes; see `functional.fractional_max_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.FractionalMaxPool3d(2, output_size=2)(lg.ones((1, 4, 4, 4))).shape
    (1, 2, 2, 2)
    """

    axes = 3
    _function = staticmethod(functional.fractional_max_pool3d)


class _MaxUnpool(Module):
    axes: int
    _function: Any

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = per_axis(name, "kernel_size", kernel_size, self.axes)
        self.stride = per_axis(name, "stride", kernel_size if stride is None else stride, self.axes)
        self.padding = per_axis(name, "padding", padding, self.axes)

    def forward(self, input: lg.Tensor, indices: lg.Tensor, output_size: Sequence[int] | None = None) -> lg.Tensor:
        """Put values where a pool found them."""
        over = (self.kernel_size, self.stride, self.padding, output_size)
        return type(self)._function(input, indices, *over)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Zeros with the values of `MaxPool1d` where they came from.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y, places = lg.nn.MaxPool1d(2, return_indices=True)(lg.tensor([[1.0, 3.0, 2.0, 0.0]]))
    >>> lg.nn.MaxUnpool1d(2)(y, places)
    tensor([[0., 3., 2., 0.]])
    """

    axes = 1
    _function = staticmethod(functional.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """Zeros with the values of `MaxPool2d` where they came from.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.MaxUnpool2d(2)(lg.tensor([[[5.0]]]), lg.tensor([[[2]]])).tolist()
    [[[0.0, 0.0], [5.0, 0.0]]]
    """

    axes = 2
    _function = staticmethod(functional.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """Zeros with the values of `MaxPool3d` where they came from.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.MaxUnpool3d(2)(lg.ones((1, 1, 1, 1)), lg.tensor([[[[7]]]])).sum().item()
    1.0
    """

    axes = 3
    _function = staticmethod(functional.max_unpool3d)


# -- means ---------------------------------------------------------------------------------------
class AvgPool1d(Module):
    """The mean of each window along one axis; arguments are those of `functional.avg_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.AvgPool1d(2)(lg.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[2., 1.]])
    """

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = per_axis("AvgPool1d", "kernel_size", kernel_size, 1)
        self.stride = per_axis("AvgPool1d", "stride", kernel_size if stride is None else stride, 1)
        self.padding = per_axis("AvgPool1d", "padding", padding, 1)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Pool ``(n, channels, size)``, or the same without n."""
        over = (self.padding, self.ceil_mode, self.count_include_pad)
        return functional.avg_pool1d(input, self.kernel_size, self.stride, *over)

    def extra_repr(self) -> str:  # noqa: D102
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Module):
    _function: Any

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Pool ``(n, channels, *sizes)``, or the same without n."""
        over = (self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)
        return type(self)._function(input, self.kernel_size, self.stride, *over)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """The mean of each window along two axes; arguments are those of `functional.avg_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros((1, 2, 2), requires_grad=True)
    >>> lg.nn.AvgPool2d(2)(x).sum().backward()
    >>> x.grad.tolist()
    [[[0.25, 0.25], [0.25, 0.25]]]
    """

    _function = staticmethod(functional.avg_pool2d)


class AvgPool3d(_AvgPool):
    """The mean of each window along three axes; arguments are those of `functional.avg_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.AvgPool3d(2)(lg.ones((1, 2, 2, 2))).item()
    1.0
    """

    _function = staticmethod(functional.avg_pool3d)


class _LPPool(Module):
    _function: Any

    def __init__(
        self, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Pool ``(n, channels, *sizes)``, or the same without n."""
        over = (float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)
        return type(self)._function(input, *over)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """``sum(x**p) ** (1 / p)`` of each window along one axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LPPool1d(2, 2)(lg.tensor([[3.0, 4.0]])).item()
    5.0
    """

    _function = staticmethod(functional.lp_pool1d)


class LPPool2d(_LPPool):
    """``sum(x**p) ** (1 / p)`` of each window along two axes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LPPool2d(2, 2)(lg.ones((1, 2, 2))).item()
    2.0
    """

    _function = staticmethod(functional.lp_pool2d)


class LPPool3d(_LPPool):
    """``sum(x**p) ** (1 / p)`` of each window along three axes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> round(lg.nn.LPPool3d(3, 2)(lg.ones((1, 2, 2, 2))).item(), 4)
    2.0
    """

    _function = staticmethod(functional.lp_pool3d)


# -- given numbers of windows --------------------------------------------------------------------
class _AdaptiveAvgPool(Module):
    _function: Any

    def __init__(self, output_size: AdaptiveSizes) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Pool ``(n, channels, *sizes)``, or the same without n."""
        return type(self)._function(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means of so many windows that cover an axis; see `functional.adaptive_avg_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.AdaptiveAvgPool1d(2)(lg.tensor([[1.0, 2.0, 6.0]]))
    tensor([[1.5, 4. ]])
    """

    _function = staticmethod(functional.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means of so many windows that cover two axes; see `functional.adaptive_avg_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.AdaptiveAvgPool2d((None, 1))(lg.zeros((2, 3, 5, 7))).shape
    (2, 3, 5, 1)
    """

    _function = staticmethod(functional.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means of so many windows that cover three axes; see `functional.adaptive_avg_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.AdaptiveAvgPool3d(2)(lg.zeros((3, 5, 5, 5))).shape
    (3, 2, 2, 2)
    """

    _function = staticmethod(functional.adaptive_avg_pool3d)


class _AdaptiveMaxPool(Module):
    _function: Any

    def __init__(self, output_size: AdaptiveSizes, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: lg.Tensor) -> Any:
        """Pool ``(n, channels, *sizes)``, or the same without n."""
        return type(self)._function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Largest values of so many windows that cover an axis; see `functional.adaptive_avg_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.AdaptiveMaxPool1d(2)(lg.tensor([[1.0, 2.0, 6.0]]))
    tensor([[2., 6.]])
    """

    _function = staticmethod(functional.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Largest values of so many windows that cover two axes; see `functional.adaptive_avg_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.AdaptiveMaxPool2d((None, 1))(lg.zeros((2, 3, 5, 7))).shape
    (2, 3, 5, 1)
    """

    _function = staticmethod(functional.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Largest values of so many windows that cover three axes; see `functional.adaptive_avg_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.AdaptiveMaxPool3d(2)(lg.zeros((3, 5, 5, 5))).shape
    (3, 2, 2, 2)
    """

    _function = staticmethod(functional.adaptive_max_pool3d)
