"""Activation functions as layers. Those with ``inplace`` may write into their input."""

import warnings
from collections.abc import Callable
from typing import Any

import lucidgrad as lg
from lucidgrad.nn.functional import activation as functions
from lucidgrad.nn.init import constant_
from lucidgrad.nn.module import Module
from lucidgrad.nn.parameter import Parameter

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _Plain(Module):
    """A function that has no setting but whether it writes into its input; each layer names its function."""

    _function: Callable[..., lg.Tensor]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        if isinstance(inplace, lg.Tensor):
            name = type(self).__name__
            raise TypeError(
                f"{name}: given a Tensor, expected settings; a layer is made first, then called: {name}()(x)"
            )
        self.inplace = inplace

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return functions.written_into(self._function, input) if self.inplace else self._function(input)

    def extra_repr(self) -> str:
        """The arguments."""
        return "inplace=True" if self.inplace else ""


class ReLU(_Plain):
    """``max(x, 0)``, elementwise.

    Parameters
    ----------
    inplace : bool
        Write into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ReLU()(lg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    _function = staticmethod(lg.relu)


class ReLU6(_Plain):
    """``min(max(x, 0), 6)``, elementwise.

    Parameters
    ----------
    inplace : bool
        Write into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ReLU6()(lg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    _function = staticmethod(lg.relu6)


class LeakyReLU(Module):
    """The input x where it is positive, ``negative_slope * x`` elsewhere.

    Parameters
    ----------
    negative_slope : float
        The slope for negative values.
    inplace : bool
        Write into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LeakyReLU()(lg.tensor([-1.0, 2.0]))
    tensor([-0.01,  2.  ])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        if self.inplace:
            return functions.written_into(lg.leaky_relu, input, self.negative_slope)
        return lg.leaky_relu(input, self.negative_slope)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class ELU(Module):
    """The input x where it is positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Parameters
    ----------
    alpha : float
        The limit for negative values, with the other sign.
    inplace : bool
        Write into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ELU()(lg.tensor([-1.0, 2.0])).tolist()
    [-0.6321, 2.0]
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        if self.inplace:
            return functions.written_into(lg.elu, input, self.alpha)
        return lg.elu(input, self.alpha)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(Module):
    """The input x where it is positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere.

    Parameters
    ----------
    alpha : float
        The limit for negative values, with the other sign.
    inplace : bool
        Write into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.CELU()(lg.tensor([-1.0, 2.0])).tolist()
    [-0.6321, 2.0]
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        if self.inplace:
            return functions.written_into(lg.celu, input, self.alpha)
        return lg.celu(input, self.alpha)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class SELU(_Plain):
    """`ELU` scaled so that mean and variance of values tend to 0 and 1.

    Parameters
    ----------
    inplace : bool
        Write into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.SELU()(lg.tensor([-1.0, 2.0])).tolist()
    [-1.1113, 2.1014]
    """

    _function = staticmethod(lg.selu)


class SiLU(_Plain):
    """``x * sigmoid(x)``, elementwise.

    Parameters
    ----------
    inplace : bool
        Write into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.SiLU()(lg.tensor([-1.0, 2.0])).tolist()
    [-0.2689, 1.7616]
    """

    _function = staticmethod(lg.silu)


class Mish(_Plain):
    """``x * tanh(softplus(x))``, elementwise.

    Parameters
    ----------
    inplace : bool
        Write into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Mish()(lg.tensor([-1.0, 2.0])).tolist()
    [-0.3034, 1.9440]
    """

    _function = staticmethod(lg.mish)


class Hardsigmoid(_Plain):
    """A sigmoid of three straight pieces: ``relu6(x + 3) / 6``.

    Parameters
    ----------
    inplace : bool
        Write into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Hardsigmoid()(lg.tensor([-1.0, 2.0])).tolist()
    [0.3333, 0.8333]
    """

    _function = staticmethod(lg.hardsigmoid)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Hardswish(_Plain):
    """``x * hardsigmoid(x)``, elementwise.

    Parameters
    ----------
    inplace : bool
        Write into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Hardswish()(lg.tensor([-1.0, 2.0])).tolist()
    [-0.3333, 1.6667]
    """

    _function = staticmethod(lg.hardswish)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Hardtanh(Module):
    """The input x within bounds, and the bounds outside.

    Parameters
    ----------
    min_val, max_val : float
        The bounds.
    inplace : bool
        Write into the input.
    min_value, max_value : float, optional
        Older names of the bounds.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Hardtanh()(lg.tensor([-3.0, 0.5]))
    tensor([-1. ,  0.5])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for old, new in (("min_value", min_value), ("max_value", max_value)):
            if new is not None:
                warnings.warn(
                    f"keyword argument `{old}` is deprecated and rename to `{old[:-2]}`", FutureWarning, stacklevel=2
                )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val must be larger than min_val, got max_val={self.max_val}, min_val={self.min_val}"
            )

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return functions.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class Threshold(Module):
    """The input x where it exceeds a threshold, another value elsewhere.

    Parameters
    ----------
    threshold : float
        The threshold.
    value : float
        What takes the place of values at or below the threshold.
    inplace : bool
        Write into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Threshold(0.5, 7.0)(lg.tensor([-1.0, 2.0]))
    tensor([7., 2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        if self.inplace:
            return functions.written_into(lg.threshold, input, self.threshold, self.value)
        return lg.threshold(input, self.threshold, self.value)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class Sigmoid(Module):
    """Logistic function ``1 / (1 + exp(-x))``, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Sigmoid()(lg.tensor([-1.0, 2.0])).tolist()
    [0.2689, 0.880797]
    """

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return lg.sigmoid(input)


class LogSigmoid(Module):
    """``log(sigmoid(x))``, elementwise, without overflow.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LogSigmoid()(lg.tensor([-1.0, 2.0])).tolist()
    [-1.3133, -0.126928]
    """

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return lg.logsigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Tanh()(lg.tensor([-1.0, 2.0])).tolist()
    [-0.7616, 0.9640]
    """

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return lg.tanh(input)


class Tanhshrink(Module):
    """``x - tanh(x)``, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Tanhshrink()(lg.tensor([-1.0, 2.0])).tolist()
    [-0.2384, 1.0360]
    """

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return lg.tanhshrink(input)


class Softsign(Module):
    """``x / (1 + |x|)``, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Softsign()(lg.tensor([-1.0, 2.0])).tolist()
    [-0.5, 0.6667]
    """

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return lg.softsign(input)


class GELU(Module):
    """The input x times the probability that a normal number is below it.

    Parameters
    ----------
    approximate : str
        ``"none"``, or ``"tanh"`` for the usual approximation.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.GELU()(lg.tensor([-1.0, 2.0])).tolist()
    [-0.1587, 1.9545]
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return lg.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """The input x where its size exceeds ``lambd``, zero elsewhere.

    Parameters
    ----------
    lambd : float
        The threshold.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Hardshrink()(lg.tensor([-1.0, 2.0]))
    tensor([-1.,  2.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return lg.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """The arguments."""
        return str(self.lambd)


class Softshrink(Module):
    """The input x moved towards zero by ``lambd``, and no further than zero.

    Parameters
    ----------
    lambd : float
        The threshold.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Softshrink()(lg.tensor([-1.0, 2.0]))
    tensor([-0.5,  1.5])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return lg.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """The arguments."""
        return str(self.lambd)


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``; x itself where ``beta * x`` exceeds the threshold.

    Parameters
    ----------
    beta : float
        The steepness.
    threshold : float
        The threshold.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Softplus()(lg.tensor([-1.0, 2.0])).tolist()
    [0.3133, 2.1269]
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return lg.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"beta={self.beta}, threshold={self.threshold}"


class PReLU(Module):
    """The input x where it is positive, ``weight * x`` elsewhere, with weights that are learnt.

    Parameters
    ----------
    num_parameters : int
        One weight, or one per channel (the second axis).
    init : float
        Their starting value.
    device, dtype
        Of the weights.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.PReLU()
    >>> layer(lg.tensor([-1.0, 2.0])).sum().backward()
    >>> layer.weight.grad
    tensor([-1.])
    """

    weight: Any

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(lg.full((num_parameters,), init, device=device, dtype=dtype or lg.get_default_dtype()))

    def reset_parameters(self) -> None:
        """Set the starting value."""
        constant_(self.weight, self.init)

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return functions.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"num_parameters={self.num_parameters}"


class RReLU(Module):
    """The input x where it is positive, ``a * x`` elsewhere.

    In training a is drawn between bounds, otherwise it is in their middle.

    Parameters
    ----------
    lower, upper : float
        The bounds.
    inplace : bool
        Write into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.RReLU(0.1, 0.3).eval()(lg.tensor([-1.0, 2.0]))
    tensor([-0.2,  2. ])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return functions.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class GLU(Module):
    """The first half along an axis, times the sigmoid of the second half.

    Parameters
    ----------
    dim : int
        The axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.GLU()(lg.tensor([3.0, 0.0]))
    tensor([1.5])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return functions.glu(input, self.dim)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"dim={self.dim}"
