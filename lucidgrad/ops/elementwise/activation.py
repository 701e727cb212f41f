"""Activation functions.

At kinks the derivative is PyTorch's: that of the left side, except where a docstring says otherwise.
"""

import math
from typing import Any

from lucidgrad.core.dispatch import complexes
from lucidgrad.core.primitive import ELEMENTWISE, primitive
from lucidgrad.refusals import only_real

from . import complex
from .arithmetic import divide, multiply, subtract
from .choice import clip, where
from .trigonometric import tanh

_SELU = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717


_SQRT_HALF, _NORMAL = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)


_GELU_INNER, _GELU_CUBIC = 2 * math.sqrt(2 / math.pi), 0.044715  # sigmoid(2 * u) is (1 + tanh(u)) / 2


# -- made of straight lines ----------------------------------------------------------------------
@primitive(ELEMENTWISE, vjp=lambda xp, g, y: xp.where(y <= 0, 0, g), real=True)
def relu(xp: Any, x: Any, /) -> Any:
    """Rectifier ``max(x, 0)``; its derivative at zero is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.relu(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, 0.0, 1.0]
    """
    return xp.maximum(x, 0)


@primitive(
    ELEMENTWISE,
    vjp=lambda xp, g, x, *, negative_slope: xp.where(x > 0, g, g * negative_slope),
    dtype="float",
    real=True,
)
def leaky_relu(xp: Any, x: Any, /, negative_slope: float = 0.01) -> Any:
    """Rectifier with a slope below zero, which is also its derivative at zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.leaky_relu(x).sum().backward()
    >>> x.grad.tolist()
    [0.01, 0.01, 1.0]
    """
    return xp.where(x > 0, x, x * negative_slope)


def _within(xp: Any, g: Any, x: Any, *, min_val: float, max_val: float) -> Any:
    return xp.where((x <= min_val) | (x >= max_val), 0, g)


@primitive(ELEMENTWISE, vjp=_within, dtype="float", real=True)
def hardtanh(xp: Any, x: Any, /, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """Values limited to ``[min_val, max_val]``; the derivative at both ends is zero (unlike that of `clip`).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.hardtanh(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, 1.0, 0.0]
    """
    return xp.minimum(xp.maximum(x, min_val), max_val)


def relu6(x: Any, /) -> Any:
    """Rectifier limited to six; its derivative at zero and six is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 3.0, 6.0], requires_grad=True)
    >>> lg.relu6(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, 1.0, 0.0]
    """
    return hardtanh(x, min_val=0.0, max_val=6.0)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.where((x > -3) & (x < 3), g / 6, 0), dtype="float", real=True)
def hardsigmoid(xp: Any, x: Any, /) -> Any:
    """Straight lines near the logistic function: ``relu6(x + 3) / 6``; the derivative at -3 and 3 is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-3.0, 0.0, 3.0], requires_grad=True)
    >>> lg.hardsigmoid(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, 0.1667, 0.0]
    """
    return xp.minimum(xp.maximum(x + 3, 0), 6) / 6


def _hardswish_vjp(xp: Any, g: Any, x: Any) -> Any:
    return xp.where(x <= -3, 0, xp.where(x < 3, g * (x / 3 + 0.5), g))


@primitive(ELEMENTWISE, vjp=_hardswish_vjp, dtype="float", real=True)
def hardswish(xp: Any, x: Any, /) -> Any:
    """``x * hardsigmoid(x)``; the derivative at -3 is zero, at 3 it is one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-3.0, 0.0, 3.0], requires_grad=True)
    >>> lg.hardswish(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, 0.5, 1.0]
    """
    return x * (xp.minimum(xp.maximum(x + 3, 0), 6) / 6)


def threshold(x: Any, /, threshold: float, value: float) -> Any:
    """Values that are not above a threshold become ``value``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.threshold(x, 0.0, 5.0).sum().backward()
    >>> x.grad.tolist()
    [0.0, 0.0, 1.0]
    """
    only_real("threshold", x, threshold, value)
    return where(x <= threshold, value, x)


def hardshrink(x: Any, /, lambd: float = 0.5) -> Any:
    """Zero for values of modulus up to ``lambd``, which have derivative zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.5, 2.0], requires_grad=True)
    >>> lg.hardshrink(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.0, 1.0]
    """
    only_real("hardshrink", x)
    return where(complex.abs(x) <= lambd, 0, x)


def softshrink(x: Any, /, lambd: float = 0.5) -> Any:
    """Values moved towards zero by ``lambd``, at most to zero, where the derivative is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.5, 2.0], requires_grad=True)
    >>> lg.softshrink(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.0, 1.0]
    """
    only_real("softshrink", x)
    return subtract(x, clip(x, -lambd, lambd))


# -- exponential on one side ---------------------------------------------------------------------
def _elu_vjp(xp: Any, g: Any, x: Any, *, alpha: float) -> Any:
    # Not exp(minimum(x, 0)), which would halve the second derivative at 0.
    return xp.where(x > 0, g, g * (xp.exp(xp.where(x > 0, 0, x)) * alpha))


@primitive(ELEMENTWISE, vjp=_elu_vjp, dtype="float", real=True)
def elu(xp: Any, x: Any, /, alpha: float = 1.0) -> Any:
    """Exponential linear unit: ``x`` above zero, else ``alpha * (exp(x) - 1)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.elu(x).sum().backward()
    >>> x.grad.tolist()
    [0.3679, 1.0, 1.0]
    """
    return xp.where(x > 0, x, xp.expm1(xp.minimum(x, 0)) * alpha)


def _celu_vjp(xp: Any, g: Any, x: Any, *, alpha: float) -> Any:
    return xp.where(x > 0, g, g * xp.exp(xp.where(x > 0, 0, x) / alpha))


@primitive(ELEMENTWISE, vjp=_celu_vjp, dtype="float", real=True)
def celu(xp: Any, x: Any, /, alpha: float = 1.0) -> Any:
    """Smooth `elu` for ``alpha > 0``: ``x`` above zero, else ``alpha * (exp(x / alpha) - 1)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.celu(x, alpha=2.0).sum().backward()
    >>> x.grad.tolist()
    [0.6065, 1.0, 1.0]
    """
    return xp.where(x > 0, x, xp.expm1(xp.minimum(x, 0) / alpha) * alpha)


def selu(x: Any, /) -> Any:
    """Self-normalising `elu` with fixed scales.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.selu(x).sum().backward()
    >>> x.grad.tolist()
    [0.6468, 1.7581, 1.0507]
    """
    return multiply(elu(x, alpha=_SELU[1]), _SELU[0])


# -- smooth --------------------------------------------------------------------------------------
@primitive(ELEMENTWISE, vjp=lambda xp, g, y: xp.sigmoid_pull(g, y), dtype="float")
def sigmoid(xp: Any, x: Any, /) -> Any:
    """Logistic function ``1 / (1 + exp(-x))``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.sigmoid(x).sum().backward()
    >>> x.grad.tolist()
    [0.1966, 0.25, 0.105]
    """
    if x.dtype in complexes:
        high = xp.real(x) >= 0
        e = xp.exp(xp.where(high, -x, x))
        return xp.where(high, 1, e) / (e + 1)
    e = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1, e) / (e + 1)


# A primitive, since it pays: through the program a grad of grad takes 3 to 33 %, a jvp of grad 3 to 19 % longer.
@primitive(ELEMENTWISE, vjp=(lambda xp, g, s: xp.sigmoid_pull(g, s), lambda xp, g, h, s: g * h * (1 - 2 * s)))
def sigmoid_pull(xp: Any, h: Any, s: Any, /) -> Any:
    """The rule of `sigmoid`: what a cotangent h of its value becomes."""
    return h * (s - s * s)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * xp.sigmoid(-x), dtype="float", real=True)
def logsigmoid(xp: Any, x: Any, /) -> Any:
    """Logarithm of `sigmoid`, exact for large negative values.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.logsigmoid(x).sum().backward()
    >>> x.grad.tolist()
    [0.7311, 0.5, 0.1192]
    """
    return xp.minimum(x, 0) - xp.log1p(xp.exp(-xp.abs(x)))


def _softplus_vjp(xp: Any, g: Any, x: Any, *, beta: float, threshold: float) -> Any:
    z = x if beta == 1 else x * beta
    return xp.where(z > threshold, g, g * xp.sigmoid(z))


@primitive(ELEMENTWISE, vjp=_softplus_vjp, dtype="float", real=True, precision="full")
def softplus(xp: Any, x: Any, /, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """Smooth rectifier ``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x > threshold``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.softplus(x).sum().backward()
    >>> x.grad.tolist()
    [0.2689, 0.5, 0.8808]
    """
    z = x if beta == 1 else x * beta
    y = xp.maximum(z, 0) + xp.log1p(xp.exp(-xp.abs(z)))
    return xp.where(z > threshold, x, y if beta == 1 else y / beta)


def _silu_vjp(xp: Any, g: Any, x: Any) -> Any:
    s = xp.sigmoid(x)
    return g * (s + xp.scale(s - s * s, x))


@primitive(ELEMENTWISE, vjp=_silu_vjp, dtype="float")
def silu(xp: Any, x: Any, /) -> Any:
    """``x * sigmoid(x)``, also called swish.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.silu(x).sum().backward()
    >>> x.grad.tolist()
    [0.0723, 0.5, 1.0908]
    """
    return x * xp.sigmoid(x)


def _mish_vjp(xp: Any, g: Any, x: Any) -> Any:
    # In powers of exp(-abs(x)): 1 - tanh**2 would cancel where tanh is close to 1.
    high = x >= 0
    e = xp.exp(xp.where(high, -x, x))
    s = e * e
    below = xp.where(high, s + e + 0.5, s * 0.5 + e + 1)
    t = xp.where(high, e + 0.5, s * 0.5 + e) / below
    slope = xp.where(high, s, e) * (e + 1) / (below * below)
    return g * (t + xp.scale(slope, x))


@primitive(ELEMENTWISE, vjp=_mish_vjp, dtype="float", real=True)
def mish(xp: Any, x: Any, /) -> Any:
    """``x * tanh(softplus(x))``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.mish(x).sum().backward()
    >>> x.grad.tolist()
    [0.0592, 0.6, 1.0693]
    """
    return x * xp.tanh(xp.softplus(x))


def _shares(xp: Any, z: Any) -> tuple[Any, Any, Any]:
    """The larger and the smaller of ``sigmoid(z)`` and ``sigmoid(-z)``, and whether the first is the larger one."""
    high = z >= 0
    e = xp.exp(xp.where(high, -z, z))  # abs would have no slope at zero, which the next order needs
    share = 1 / (e + 1)
    return share, e * share, high


# -- the standard normal distribution: primitives, since loops compute one exponential for both ----
@primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * xp.scale(-xp.normal_density(x), x), dtype="float", real=True)
def normal_density(xp: Any, x: Any, /) -> Any:
    """The density of the standard normal distribution."""
    return xp.exp(x * x * -0.5) * _NORMAL


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * xp.normal_density(x), dtype="float", real=True)
def normal_share(xp: Any, x: Any, /) -> Any:
    """The share of the standard normal distribution that lies below x.

    With erfc, which is small far below zero, where 1 + erf would cancel. `ndtr` has more digits there.
    """
    return xp.erfc(x * -_SQRT_HALF) * 0.5


def _gelu_vjp(xp: Any, g: Any, x: Any, *, approximate: str) -> Any:
    if approximate == "none":
        return g * (xp.normal_share(x) + xp.scale(xp.normal_density(x), x))
    s = x * x
    z = x * (s * _GELU_CUBIC + 1) * _GELU_INNER
    share, other, high = _shares(xp, z)
    slope = xp.scale(other * share, x * (s * (3 * _GELU_CUBIC) + 1) * _GELU_INNER)
    return g * (xp.where(high, share, other) + slope)


@primitive(ELEMENTWISE, vjp=_gelu_vjp, dtype="float", real=True)
def gelu(xp: Any, x: Any, /, approximate: str = "none") -> Any:
    """``x`` times the normal distribution function of ``x``, or a formula with ``tanh`` that is close to it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.gelu(x).sum().backward()
    >>> x.grad.tolist()
    [-0.0833, 0.5, 1.0852]
    """
    if approximate == "none":
        return x * xp.normal_share(x)
    if approximate == "tanh":  # sigmoid is small far below zero, where 1 + tanh would cancel
        return x * xp.sigmoid(x * (x * x * _GELU_CUBIC + 1) * _GELU_INNER)
    raise RuntimeError(f"gelu: given approximate={approximate!r}, expected 'none' or 'tanh'")


def softsign(x: Any, /) -> Any:
    """``x / (1 + abs(x))``; its derivative at zero is one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.softsign(x).sum().backward()
    >>> x.grad.tolist()
    [0.25, 1.0, 0.1111]
    """
    return divide(x, complex.abs(x) + 1)


def tanhshrink(x: Any, /) -> Any:
    """``x - tanh(x)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    >>> lg.tanhshrink(x).sum().backward()
    >>> x.grad.tolist()
    [0.58, 0.0, 0.9293]
    """
    return subtract(x, tanh(x))
