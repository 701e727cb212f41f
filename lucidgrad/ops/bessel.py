"""Modified Bessel functions of the first kind, of orders zero and one.

Up to 8 the power series, whose terms are all positive; above it ``exp(-x) * sqrt(x) * I(x)`` as a polynomial in
``8 / x``, fitted to 5e-17. Largest errors found in units in the last place of float64: i0 and i1 4, i0e and i1e 4.
"""

import math
from collections.abc import Sequence
from typing import Any

from lucidgrad.core.primitive import ELEMENTWISE, primitive

from .polynomials import polynomial

__all__ = ["bessel_quotient", "i0", "i0e", "i1", "i1e"]

I0_LARGE = (
    *(0.0004564239425667149, -0.004946732027962788, 0.02479851420055745, -0.07628739967702916, 0.16115242264504226),
    *(-0.247951980254461, 0.28775108003052513, -0.25746559955012743, 0.18009904215884992, -0.09930596955619408),
    *(0.0433264116012903, -0.014954338242435741, 0.0040669758158161755, -0.0008642913780102672),
    *(0.00014185862063324504, -1.7257358411381738e-05, 2.4790402883167792e-06, 2.660781503256634e-06),
    *(1.0927918056261565e-05, 5.706903014318292e-05, 0.00043829108125822356, 0.006233473131262672),
    0.3989422804014327,
)
I1_LARGE = (
    *(-0.00047516802365472427, 0.0051583182483779235, -0.02590447705482271, 0.0798382871072217, -0.16898758494287802),
    *(0.2605523239447968, -0.3030414232673048, 0.2717736829616532, -0.19056544723505672, 0.10533880645053749),
    *(-0.046075925137500966, 0.015944639489659202, -0.004347608236147105, 0.0009263122476636002),
    *(-0.00015242942065105608, 1.856140921337216e-05, -2.765135469077418e-06, -3.266723732408937e-06),
    *(-1.4049264663890154e-05, -7.98966802825771e-05, -0.0007304851344339821, -0.018700419393806605),
    0.39894228040143265,
)


def _series(n: int) -> list[float]:
    """Coefficients of ``I_n(x) / (x / 2)**n`` in powers of ``x**2 / 64``."""
    return [16.0**k / (math.factorial(k) * math.factorial(k + n)) for k in range(26, -1, -1)]


I0_SMALL, I1_SMALL = _series(0), _series(1)


def _small(xp: Any, a: Any, coefficients: Sequence[float]) -> Any:
    s = xp.minimum(a, 8.0) * 0.125
    return polynomial(s * s, coefficients)


def _large(xp: Any, a: Any, coefficients: Sequence[float]) -> Any:
    far = xp.maximum(a, 8.0)
    return polynomial(8 / far, coefficients) / xp.sqrt(far)


def _grown(xp: Any, a: Any, y: Any) -> Any:
    """``exp(a) * y`` that overflows no earlier than the product; infinite at infinity."""
    end = 714.0 if float(xp.finfo(a.dtype).max) > 1e300 else 92.0
    half = xp.exp(xp.minimum(a, end) * 0.5)
    return xp.where(a >= end, math.inf, half * xp.where(a >= end, 0, y) * half)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.scale(g, xp.i1(x)), dtype="float")
def i0(xp: Any, x: Any, /) -> Any:
    """Modified Bessel function of order zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.bessel import i0
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> i0(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, 0.5652]
    """
    a = xp.abs(x)
    return xp.where(a <= 8, _small(xp, a, I0_SMALL), _grown(xp, a, _large(xp, a, I0_LARGE)))


@primitive(
    ELEMENTWISE, vjp=lambda xp, g, x: xp.scale(g, xp.i0(x)) - xp.scale(g, xp.bessel_quotient(x, order=1)), dtype="float"
)
def i1(xp: Any, x: Any, /) -> Any:
    """Modified Bessel function of order one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.bessel import i1
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> i1(x).sum().backward()
    >>> x.grad.tolist()
    [0.5, 0.7009]
    """
    a = xp.abs(x)
    y = xp.where(a <= 8, a * 0.5 * _small(xp, a, I1_SMALL), _grown(xp, a, _large(xp, a, I1_LARGE)))
    return xp.where(x < 0, -y, y)


def _quotient_vjp(xp: Any, g: Any, x: Any, *, order: int) -> Any:
    return xp.scale(g * x, xp.bessel_quotient(x, order=order + 1))


@primitive(ELEMENTWISE, vjp=_quotient_vjp, dtype="float")
def bessel_quotient(xp: Any, x: Any, /, order: int = 1) -> Any:
    """``I_n(x) / x**n`` for orders n from one: its derivative is ``x`` times the next of them, at zero, too."""
    a = xp.abs(x)
    far = xp.maximum(a, 8.0)
    before, large = _large(xp, a, I0_LARGE), _large(xp, a, I1_LARGE)
    for k in range(1, order):
        before, large = large, before - large * (2 * k) / far
    for _ in range(order):  # first the quotient: what has grown may overflow where that does not
        large = large / xp.where(far == math.inf, 1, far)
    return xp.where(a <= 8, _small(xp, a, _series(order)) * 0.5**order, _grown(xp, a, large))


@primitive(ELEMENTWISE, vjp=lambda xp, g, y, x: g * (xp.i1e(x) - xp.sign(x) * y), dtype="float")
def i0e(xp: Any, x: Any, /) -> Any:
    """Scaled modified Bessel function of order zero, ``exp(-abs(x)) * i0(x)``; its derivative at zero is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.bessel import i0e
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> i0e(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, -0.2579]
    """
    a = xp.abs(x)
    return xp.where(a <= 8, xp.exp(-xp.minimum(a, 8.0)) * _small(xp, a, I0_SMALL), _large(xp, a, I0_LARGE))


def _i1e_slope(xp: Any, g: Any, y: Any, x: Any) -> Any:
    safe = xp.where(x == 0, 1, x)
    return g * (xp.i0e(x) - xp.where(x == 0, 0.5, y / safe) - xp.sign(x) * y)


@primitive(ELEMENTWISE, vjp=_i1e_slope, dtype="float")
def i1e(xp: Any, x: Any, /) -> Any:
    """Scaled modified Bessel function of order one, ``exp(-abs(x)) * i1(x)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.bessel import i1e
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> i1e(x).sum().backward()
    >>> x.grad.tolist()
    [0.5, 0.05]
    """
    a = xp.abs(x)
    near = xp.minimum(a, 8.0)
    y = xp.where(a <= 8, xp.exp(-near) * (near * 0.5) * _small(xp, a, I1_SMALL), _large(xp, a, I1_LARGE))
    return xp.where(x < 0, -y, y)
