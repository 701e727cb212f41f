"""Exponentials, logarithms, powers and roots."""

import math
from typing import Any

from lucidgrad.core import dtype as dtypes
from lucidgrad.core.dispatch import complexes
from lucidgrad.core.primitive import ELEMENTWISE, primitive
from lucidgrad.ops.numbers import as_array, is_complex

from .copies import astype

_LN2, _LN10 = math.log(2.0), math.log(10.0)

_LOG2E = 1.4426950408889634


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


def _portion(xp: Any, g: Any, x: Any, other: Any, part: Any = None) -> Any:
    """The part of a cotangent of ``log(exp(x) + exp(other))`` that goes to x; equal infinities take half each."""
    ahead = x - other
    return g * (part or xp.sigmoid)(xp.where((x == other) & (ahead != ahead), 0, ahead))


@primitive(
    ELEMENTWISE,
    vjp=(lambda xp, g, x1, x2: _portion(xp, g, x1, x2), lambda xp, g, x1, x2: _portion(xp, g, x2, x1)),
    dtype="float",
    real=True,
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


def _binary_portion(xp: Any, g: Any, x: Any, other: Any) -> Any:
    """As for `logaddexp`, but with powers of two: a factor log(2) would round the difference."""

    def part(ahead: Any) -> Any:
        first = ahead >= 0
        power = xp.exp2(xp.where(first, -ahead, ahead))
        return xp.where(first, 1, power) / (power + 1)

    return _portion(xp, g, x, other, part)


@primitive(
    ELEMENTWISE,
    vjp=(lambda xp, g, x1, x2: _binary_portion(xp, g, x1, x2), lambda xp, g, x1, x2: _binary_portion(xp, g, x2, x1)),
    dtype="float",
    real=True,
)
def logaddexp2(xp: Any, x1: Any, x2: Any, /) -> Any:
    """``log2(2**x1 + 2**x2)`` without overflow.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1000.0], requires_grad=True)
    >>> y = lg.logaddexp2(x, 0.0)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([1.0, 1000.0], [0.5, 1.0])
    """
    x1, x2 = as_array(xp, x1, x2), as_array(xp, x2, x1)
    apart = xp.where(x1 == x2, 0, xp.abs(x1 - x2))
    return xp.maximum(x1, x2) + xp.log1p(xp.exp2(-apart)) * _LOG2E


def _xlogy_first(xp: Any, g: Any, x1: Any, x2: Any) -> Any:
    x2 = as_array(xp, x2, g)
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
    x1, x2 = as_array(xp, x1, x2), as_array(xp, x2, x1)
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
        import cmath  # which few programs need

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


def float_power(x1: Any, x2: Any, /) -> Any:
    """``x1 ** x2`` in double precision, whatever the dtypes are.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0, 3.0], requires_grad=True)
    >>> y = lg.float_power(x, 2)
    >>> y.sum().backward()
    >>> y.dtype, x.grad.tolist()
    (dtype('float64'), [4.0, 6.0])
    """
    given = [x for x in (x1, x2) if hasattr(x, "dtype")]
    wide = any(is_complex(x.dtype) for x in given) or complex in (type(x1), type(x2))
    dtype = dtypes.named("complex128" if wide else "float64")
    x1, x2 = (astype(x, dtype=dtype) if hasattr(x, "dtype") else complex(x) if wide else float(x) for x in (x1, x2))
    return pow(x1, x2)


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
