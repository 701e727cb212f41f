"""Activation functions as layers: smooth ones, those with parameters, and probabilities."""

from typing import Any

import lucidgrad as lg
from lucidgrad.nn.functional import activation as functions
from lucidgrad.nn.functional.probabilities import log_softmax, softmax, softmin
from lucidgrad.nn.init import constant_
from lucidgrad.nn.module import Module
from lucidgrad.nn.parameter import Parameter

__all__ = [
    "GELU",
    "GLU",
    "Hardshrink",
    "LogSigmoid",
    "LogSoftmax",
    "PReLU",
    "RReLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
]


class Sigmoid(Module):
    """Logistic function ``1 / (1 + exp(-x))``, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Sigmoid()(lg.tensor([-1.0, 2.0]))
    tensor([0.2689414, 0.880797 ])
    """

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return lg.sigmoid(input)


class LogSigmoid(Module):
    """``log(sigmoid(x))``, elementwise, without overflow.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LogSigmoid()(lg.tensor([-1.0, 2.0]))
    tensor([-1.3132617, -0.126928 ])
    """

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return lg.logsigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Tanh()(lg.tensor([-1.0, 2.0]))
    tensor([-0.7615942,  0.9640276])
    """

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return lg.tanh(input)


class Tanhshrink(Module):
    """``x - tanh(x)``, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Tanhshrink()(lg.tensor([-1.0, 2.0]))
    tensor([-0.23840582,  1.0359724 ])
    """

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return lg.tanhshrink(input)


class Softsign(Module):
    """``x / (1 + |x|)``, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Softsign()(lg.tensor([-1.0, 2.0]))
    tensor([-0.5      ,  0.6666667])
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
    >>> lg.nn.GELU()(lg.tensor([-1.0, 2.0]))
    tensor([-0.15865526,  1.9544997 ])
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
    >>> lg.nn.Softplus()(lg.tensor([-1.0, 2.0]))
    tensor([0.3132617, 2.126928 ])
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


class Softmax(Module):
    """``exp(x) / sum(exp(x))`` along an axis.

    Parameters
    ----------
    dim : int | None
        The axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Softmax(dim=0)(lg.zeros(2))
    tensor([0.5, 0.5])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"dim={self.dim}"


class Softmin(Module):
    """``softmax(-x)`` along an axis.

    Parameters
    ----------
    dim : int | None
        The axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Softmin(dim=0)(lg.zeros(2))
    tensor([0.5, 0.5])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return softmin(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """``log(softmax(x))`` along an axis.

    Parameters
    ----------
    dim : int | None
        The axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LogSoftmax(dim=0)(lg.zeros(1))
    tensor([0.])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return log_softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"dim={self.dim}"


class Softmax2d(Module):
    """`softmax` over the channels of inputs of shape (n, channels, height, width), or without n.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Softmax2d()(lg.zeros(2, 1, 1))[:, 0, 0]
    tensor([0.5, 0.5])
    """

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return softmax(input, -3)
