"""Elementwise exponentials, logarithms, powers, circular and hyperbolic functions."""

import cmath
import math
from typing import Any

from lucidgrad.core.dispatch import complexes
from lucidgrad.core.primitive import ELEMENTWISE, primitive

from .polynomials import polynomial, rest_of_one

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "exp", "exp2", "expm1",
    "log", "log10", "log1p", "log2", "logaddexp", "pow", "rsqrt", "sin", "sinc", "sinh",
    "sqrt", "tan", "tanh", "xlogy",
]  # fmt: skip

_LN2, _LN10 = math.log(2.0), math.log(10.0)


# -- exponentials and logarithms -----------------------------------------------------------------
@primitive(ELEMENTWISE, vjp=lambda xp, g, y: g * y, dtype="float", precision="full")
def exp(xp: Any, x: Any, /) -> Any:
    """Exponential function.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.exp(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 2.7183]
    """
    return xp.exp(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, y: g * (y * _LN2), dtype="float", precision="full")
def exp2(xp: Any, x: Any, /) -> Any:
    """Two to the power ``x``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.exp2(x).sum().backward()
    >>> x.grad.tolist()
    [0.6931, 1.3863]
    """
    return xp.exp(x * _LN2)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * xp.exp(x), dtype="float", precision="full")
def expm1(xp: Any, x: Any, /) -> Any:
    """``exp(x) - 1`` without cancellation near zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.expm1(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 2.7183]
    """
    return xp.expm1(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.unscale(g, x), dtype="float", precision="full")
def log(xp: Any, x: Any, /) -> Any:
    """Natural logarithm.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.log(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.5]
    """
    return xp.log(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.unscale(g, x + 1), dtype="float", precision="full")
def log1p(xp: Any, x: Any, /) -> Any:
    """``log(1 + x)`` without cancellation near zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.log1p(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.5]
    """
    return xp.log1p(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.unscale(g, x * _LN2), dtype="float", precision="full")
def log2(xp: Any, x: Any, /) -> Any:
    """Logarithm to base two.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.log2(x).sum().backward()
    >>> x.grad.tolist()
    [1.4427, 0.7213]
    """
    return xp.log2(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.unscale(g, x * _LN10), dtype="float", precision="full")
def log10(xp: Any, x: Any, /) -> Any:
    """Logarithm to base ten.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.log10(x).sum().backward()
    >>> x.grad.tolist()
    [0.4343, 0.2171]
    """
    return xp.log10(x)


def share(xp: Any, g: Any, x: Any, other: Any, part: Any = None) -> Any:
    """The part of a cotangent of ``log(exp(x) + exp(other))`` that goes to x; equal infinities take half each."""
    ahead = x - other
    return g * (part or xp.sigmoid)(xp.where((x == other) & (ahead != ahead), 0, ahead))


@primitive(
    ELEMENTWISE,
    vjp=(lambda xp, g, x1, x2: share(xp, g, x1, x2), lambda xp, g, x1, x2: share(xp, g, x2, x1)),
    dtype="float",
    precision="full",
)
def logaddexp(xp: Any, x1: Any, x2: Any, /) -> Any:
    """``log(exp(x1) + exp(x2))`` without overflow.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.logaddexp(x, 0.0).sum().backward()
    >>> x.grad.tolist()
    [0.5, 0.7311]
    """
    return xp.logaddexp(x1, x2)


def filled(xp: Any, x: Any, like: Any) -> Any:
    """A Python number as an array, for functions that take no numbers."""
    return xp.full_like(like, fill_value=x) if isinstance(x, (int, float, complex)) else x


def _xlogy_first(xp: Any, g: Any, x1: Any, x2: Any) -> Any:
    x2 = filled(xp, x2, g)
    return xp.where((x1 == 0) & (x2 <= 0), 0, xp.scale(g, xp.log(x2)))


@primitive(ELEMENTWISE, vjp=(_xlogy_first, lambda xp, g, x1, x2: xp.unscale(xp.scale(g, x1), x2)), dtype="float")
def xlogy(xp: Any, x1: Any, x2: Any, /) -> Any:
    """``x1 * log(x2)``, and zero where ``x1`` is zero.

    Where both are zero, so is the derivative with respect to ``x1``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.xlogy(x, 2.0).sum().backward()
    >>> x.grad.tolist()
    [0.6931, 0.6931]
    """
    x1, x2 = filled(xp, x1, x2), filled(xp, x2, x1)
    zero = (x1 == 0) & (x2 == x2)  # NaN stays NaN
    return xp.where(zero, 0, x1 * xp.log(xp.where(zero, 1, x2)))


# -- powers and roots ----------------------------------------------------------------------------
def _pow_base(xp: Any, g: Any, x1: Any, x2: Any) -> Any:
    if isinstance(x2, (int, float, complex)):  # constant exponents: cheap, and right at zero
        if x2 == 2:
            return xp.scale(g, x1 + x1)
        if x2 == 1:
            return g
        if x2 == 0:
            return xp.zeros_like(g)
        if x2 == -1:
            return -xp.unscale(xp.unscale(g, x1), x1)
        return xp.scale(g, x1 ** (x2 - 1) * (x2 + 0.0))
    return xp.scale(g, xp.scale(x2, x1 ** (x2 - 1)))


def _pow_exponent(xp: Any, g: Any, y: Any, x1: Any, x2: Any) -> Any:
    real = x2.dtype not in complexes
    if not isinstance(x1, (int, float, complex)):
        flat = (x1 == 0) & ((x2 if real else xp.real(x2)) >= 0)
        return xp.where(flat, 0, xp.scale(xp.scale(g, y), xp.log(x1)))
    if x1 == 0:
        return xp.where((x2 if real else xp.real(x2)) >= 0, 0, xp.scale(g, y) * -math.inf)
    if isinstance(x1, complex) or not real:
        return g * (y * cmath.log(x1))
    return g * (y * (math.log(x1) if x1 > 0 else math.nan))


@primitive(ELEMENTWISE, vjp=(_pow_base, _pow_exponent), precision="full")
def pow(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Power ``x1 ** x2``.

    At base zero the derivative with respect to the exponent is zero if the exponent isn't negative.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 2.0], requires_grad=True)
    >>> lg.pow(x, 3).sum().backward()
    >>> x.grad.tolist()
    [0.0, 12.0]
    """
    return xp.pow(x1, x2)


@primitive(ELEMENTWISE, vjp=lambda xp, g, y: xp.unscale(g, y + y), dtype="float")
def sqrt(xp: Any, x: Any, /) -> Any:
    """Square root; its derivative at zero is infinite.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 4.0], requires_grad=True)
    >>> lg.sqrt(x).sum().backward()
    >>> x.grad.tolist()
    [0.5, 0.25]
    """
    return xp.sqrt(x)


@primitive(
    ELEMENTWISE, vjp=lambda xp, g, y: xp.scale(xp.scale(xp.scale(g, y), y), y) * -0.5, dtype="float", precision="full"
)
def rsqrt(xp: Any, x: Any, /) -> Any:
    """Reciprocal square root ``1 / sqrt(x)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 4.0], requires_grad=True)
    >>> lg.rsqrt(x).sum().backward()
    >>> x.grad.tolist()
    [-0.5, -0.0625]
    """
    return xp.reciprocal(xp.sqrt(x))


# -- circular functions --------------------------------------------------------------------------
@primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * xp.cos(x), dtype="float")
def sin(xp: Any, x: Any, /) -> Any:
    """Sine.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.sin(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.5403]
    """
    return xp.sin(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: -(g * xp.sin(x)), dtype="float")
def cos(xp: Any, x: Any, /) -> Any:
    """Cosine.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.cos(x).sum().backward()
    >>> x.grad.tolist()
    [-0.0, -0.8415]
    """
    return xp.cos(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, y: g + g * (y * y), dtype="float", precision="full")
def tan(xp: Any, x: Any, /) -> Any:
    """Tangent.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.tan(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 3.4255]
    """
    return xp.tan(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.unscale(g, xp.sqrt(rest_of_one(x))), dtype="float", precision="full")
def asin(xp: Any, x: Any, /) -> Any:
    """Inverse sine. Its derivative at -1 and 1 is infinite.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 0.5], requires_grad=True)
    >>> lg.asin(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.1547]
    """
    return xp.asin(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: -xp.unscale(g, xp.sqrt(rest_of_one(x))), dtype="float", precision="full")
def acos(xp: Any, x: Any, /) -> Any:
    """Inverse cosine. Its derivative at -1 and 1 is minus infinity.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 0.5], requires_grad=True)
    >>> lg.acos(x).sum().backward()
    >>> x.grad.tolist()
    [-1.0, -1.1547]
    """
    return xp.acos(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.unscale(g, x * x + 1), dtype="float")
def atan(xp: Any, x: Any, /) -> Any:
    """Inverse tangent.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.atan(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.5]
    """
    return xp.atan(x)


def _over_square(xp: Any, g: Any, r: Any) -> Any:
    """``g / r**2``, where the square may overflow or vanish; zero at infinity."""
    return xp.where(r == math.inf, 0, xp.unscale(xp.unscale(g, r), r))


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, x1, x2: _over_square(xp, xp.scale(g, x2), xp.hypot(x1, x2)),
        lambda xp, g, x1, x2: -_over_square(xp, xp.scale(g, x1), xp.hypot(x1, x2)),
    ),
    dtype="float",
)
def atan2(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Angle of the point (x2, x1); its derivatives at (0, 0) are zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.atan2(x, 1.0).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.5]
    """
    return xp.atan2(x1, x2)


def _sinc_slope(xp: Any, g: Any, x: Any) -> Any:
    # Near zero a series, so that no order of derivative cancels.
    t = x * math.pi
    near = xp.abs(t) < 1
    s = xp.where(near, t * t, 0)
    series = polynomial(s, _SINC_SLOPE)
    far = xp.where(near, 1, t)
    return g * xp.where(near, t * series, (xp.cos(far) - xp.sin(far) / far) / far) * math.pi


_SINC_SLOPE = [(-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(12, 0, -1)]


@primitive(ELEMENTWISE, vjp=_sinc_slope, dtype="float")
def sinc(xp: Any, x: Any, /) -> Any:
    """``sin(pi x) / (pi x)``, and one at zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.sinc(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, -1.0]
    """
    t = xp.where(x == 0, 1, x * math.pi)
    return xp.where(x == 0, 1, xp.sin(t) / t)


# -- hyperbolic functions ------------------------------------------------------------------------
@primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * xp.cosh(x), dtype="float", precision="full")
def sinh(xp: Any, x: Any, /) -> Any:
    """Hyperbolic sine.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.sinh(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.5431]
    """
    return xp.sinh(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * xp.sinh(x), dtype="float", precision="full")
def cosh(xp: Any, x: Any, /) -> Any:
    """Hyperbolic cosine.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.cosh(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, 1.1752]
    """
    return xp.cosh(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, y: xp.tanh_pull(g, y), dtype="float")
def tanh(xp: Any, x: Any, /) -> Any:
    """Hyperbolic tangent.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.tanh(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.42]
    """
    return xp.tanh(x)


def _asinh_slope(xp: Any, g: Any, x: Any) -> Any:
    root = xp.sqrt(x * x - -1)  # the square may overflow; far out the root is abs(x), to the last digit
    return xp.unscale(g, root if x.dtype in complexes else xp.where(xp.abs(x) < 1e9, root, xp.abs(x)))


@primitive(ELEMENTWISE, vjp=_asinh_slope, dtype="float")
def asinh(xp: Any, x: Any, /) -> Any:
    """Inverse hyperbolic sine.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.asinh(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.7071]
    """
    return xp.asinh(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.unscale(xp.unscale(g, xp.sqrt(x - 1)), xp.sqrt(x - -1)), dtype="float")
def acosh(xp: Any, x: Any, /) -> Any:
    """Inverse hyperbolic cosine. Its derivative at 1 is infinite.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0, 3.0], requires_grad=True)
    >>> lg.acosh(x).sum().backward()
    >>> x.grad.tolist()
    [0.5774, 0.3536]
    """
    return xp.acosh(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.unscale(g, rest_of_one(x)), dtype="float")
def atanh(xp: Any, x: Any, /) -> Any:
    """Inverse hyperbolic tangent.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 0.5], requires_grad=True)
    >>> lg.atanh(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.3333]
    """
    return xp.atanh(x)
