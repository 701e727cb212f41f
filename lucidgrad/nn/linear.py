"""Linear layers."""

import math
from typing import Any

import lucidgrad as lg
from lucidgrad.nn import init
from lucidgrad.nn.functional.arguments import check_floats
from lucidgrad.nn.functional.linear import bilinear, linear
from lucidgrad.nn.module import Module
from lucidgrad.nn.parameter import Parameter
from lucidgrad.ops.linalg.linear import affine

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """Gives back what it is given; all arguments are ignored.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Identity(54, unused=True)(lg.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


class Linear(Module):
    """The affine map ``x @ weight.T + bias`` of the last axis.

    Parameters
    ----------
    in_features, out_features : int
        How long the last axis is before and after.
    bias : bool
        Whether a bias is added.
    device, dtype
        Of the parameters.

    Attributes
    ----------
    weight : Parameter
        Of shape (out_features, in_features), uniform within 1 / sqrt(in_features) at first.
    bias : Parameter or None
        Of shape (out_features,), likewise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.Linear(20, 30)
    >>> y = layer(lg.ones(128, 20))
    >>> y.shape
    (128, 30)
    >>> y.sum().backward()
    >>> layer.bias.grad[0].item()
    128.0
    """

    weight: Any
    bias: Any

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(lg.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(lg.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Map the last axis."""
        weight, bias = self.weight, self.bias
        if getattr(input, "array", weight.array).dtype is not weight.array.dtype:
            check_floats("linear", input, weight)
        return affine(input, weight, bias) if bias is not None else linear(input, weight)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """The bilinear map ``y[o] = x1 @ weight[o] @ x2 + bias[o]`` of the last axes.

    Parameters
    ----------
    in1_features, in2_features, out_features : int
        How long the last axes of the inputs and of the output are.
    bias : bool
        Whether a bias is added.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Bilinear(20, 30, 40)(lg.ones(8, 20), lg.ones(8, 30)).shape
    (8, 40)
    """

    weight: Any
    bias: Any

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(lg.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(lg.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: lg.Tensor, input2: lg.Tensor) -> lg.Tensor:
        """Map the last axes."""
        return bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
