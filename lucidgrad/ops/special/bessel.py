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

# exp(-x) * (I0(x) - I1(x)): times x + 1 in powers of (2 * x - 9) / 7 from 1 to 8, above times x * sqrt(x) in powers
# of 16 / x - 1; fitted to 2e-17.
APART_MIDDLE = (
    *(-6.396075236745025e-10, 2.5183293494405597e-09, -5.0766336570607504e-09, 1.7873023939966614e-08),
    *(-7.415372140925638e-08, 2.440773184609682e-07, -7.416345523888002e-07, 2.2092941174787315e-06),
    *(-6.276230771651038e-06, 1.6793941662643267e-05, -4.229223690328314e-05, 9.981106741465706e-05),
    *(-0.00021917337906174404, 0.00044366403156749555, -0.000816922995711167, 0.0013388192935660183),
    *(-0.0018730636275274576, 0.0020112815887115137, -0.0009555471345087857, -0.00244116620135746),
    *(0.00931372536157117, -0.020086013078967877, 0.0337661972461663, -0.04788981091784241),
    *(0.05959807872830561, -0.067486161550907, 0.07307008223567663, -0.08205708564188419),
    0.12781700431989595,
)
APART_LARGE = (
    *(-1.4100747123386612e-10, -8.875289756454639e-10, 1.3833789692572696e-09, 7.124110037810284e-09),
    *(-6.376679749333011e-09, -2.6602600721922404e-08, 1.8483685924978736e-08, 6.22906332766428e-08),
    *(-3.8081620779208684e-08, -1.0549567671026874e-07, 5.9453643839597374e-08, 1.4477540036043342e-07),
    *(-7.082937073576603e-08, -1.8033212407279536e-07, 5.261211582837863e-08, 2.1830929606484626e-07),
    *(3.206885875485041e-08, -2.2240759985758665e-07, -2.1880769172783516e-07, 4.8891045365286046e-09),
    *(2.5123939650318553e-07, 4.6726525880828943e-07, 8.51966078341134e-07, 2.1678164347029322e-06),
    *(8.16411382576346e-06, 4.493600841770415e-05, 0.0003739692873426968, 0.005313260124286597),
    0.20444880670617194,
)
# The derivative of exp(-x) * I1(x) over x - peak, times (x + 1)**2, in powers of (2 * x - 8.5) / 7.5 from 0.5 to 8.
I1E_SLOPE = (
    *(1.5672692988737498e-09, -5.9114810136707654e-09, 1.0129804318501105e-08, -3.382648736644502e-08),
    *(1.4471672740625807e-07, -4.558638696517377e-07, 1.300437766021174e-06, -3.6921880937086963e-06),
    *(1.0020217730159078e-05, -2.5473086313194058e-05, 6.069267135613709e-05, -0.00013485625648836983),
    *(0.00027644505986223057, -0.0005149106505697636, 0.0008498197002504125, -0.0011810454559305582),
    *(0.001197413041122067, -0.0002690582467537184, -0.0025256130356337957, 0.008033291358062146),
    *(-0.016181560174856537, 0.024874298168308967, -0.029433931697958236, 0.02372931165466942),
    *(-0.0034187101925566314, -0.030197055667087393, 0.06895679301498507, -0.10169038364796326),
    *(0.12249057000404398, -0.15874876557260476),
)
I1E_PEAK = 1.5451272579925426, 1.0630756383046672e-16


def _series(n: int) -> list[float]:
    """Coefficients of ``I_n(x) / (x / 2)**n`` in powers of ``x**2 / 64``."""
    return [16.0**k / (math.factorial(k) * math.factorial(k + n)) for k in range(26, -1, -1)]


I0_SMALL, I1_SMALL = _series(0), _series(1)
I1_OVER = [0.5 * c / 64.0**k for k, c in zip(range(8, -1, -1), I1_SMALL[-9:], strict=True)]  # I1(x) / x up to 0.5


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


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.scale(g, xp.i1(x)), dtype="float", real=True)
def i0(xp: Any, x: Any, /) -> Any:
    """Modified Bessel function of order zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.bessel import i0
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> i0(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, 0.5652]
    """
    a = xp.abs(x)
    return xp.where(a <= 8, _small(xp, a, I0_SMALL), _grown(xp, a, _large(xp, a, I0_LARGE)))


def _i1_slope(xp: Any, g: Any, x: Any) -> Any:
    part = xp.scale(x * x, xp.bessel_quotient(x, order=2))
    return xp.scale(g, (xp.i0(x) + part) * 0.5)  # not a difference: both may overflow


@primitive(ELEMENTWISE, vjp=_i1_slope, dtype="float", real=True)
def i1(xp: Any, x: Any, /) -> Any:
    """Modified Bessel function of order one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.bessel import i1
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


@primitive(ELEMENTWISE, vjp=_quotient_vjp, dtype="float", real=True)
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


def _apart_far(xp: Any, a: Any) -> Any:
    """``exp(-a) * (I0(a) - I1(a))`` from 8 on: the difference itself would cancel."""
    far = xp.where(a > 8, a, 8)
    return polynomial(16 / far - 1, APART_LARGE) / far / xp.sqrt(far)


def _i0e_slope(xp: Any, g: Any, y: Any, x: Any) -> Any:
    a, sign = xp.where(x < 0, -x, x), xp.sign(x)
    middle = xp.where((a > 1) & (a <= 8), a, 1)
    apart = xp.where(a <= 8, polynomial((middle * 2 - 9) / 7, APART_MIDDLE) / (middle + 1), _apart_far(xp, a))
    return g * xp.where(a <= 1, xp.i1e(x) - sign * y, sign * -apart)


@primitive(ELEMENTWISE, vjp=_i0e_slope, dtype="float", real=True)
def i0e(xp: Any, x: Any, /) -> Any:
    """Scaled modified Bessel function of order zero, ``exp(-abs(x)) * i0(x)``; its derivative at zero is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.bessel import i0e
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> i0e(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, -0.2579]
    """
    a = xp.abs(x)
    return xp.where(a <= 8, xp.exp(-xp.minimum(a, 8.0)) * _small(xp, a, I0_SMALL), _large(xp, a, I0_LARGE))


def _i1e_slope(xp: Any, g: Any, y: Any, x: Any) -> Any:
    a = xp.where(x < 0, -x, x)
    close = a <= 0.5
    within = xp.where(close, x, 0)
    small = xp.i0e(x) - xp.exp(-xp.abs(within)) * polynomial(within * within, I1_OVER) - xp.sign(x) * y
    over = y / xp.where(close, 1, x)
    middle = xp.where((a > 0.5) & (a <= 8), a, 1)
    peak = (middle - I1E_PEAK[0] - I1E_PEAK[1]) / (middle + 1) / (middle + 1)
    near = xp.where(close, small, polynomial((middle * 2 - 8.5) / 7.5, I1E_SLOPE) * peak)
    return g * xp.where(a <= 8, near, _apart_far(xp, a) - over)


@primitive(ELEMENTWISE, vjp=_i1e_slope, dtype="float", real=True)
def i1e(xp: Any, x: Any, /) -> Any:
    """Scaled modified Bessel function of order one, ``exp(-abs(x)) * i1(x)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.bessel import i1e
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> i1e(x).sum().backward()
    >>> x.grad.tolist()
    [0.5, 0.05]
    """
    a = xp.abs(x)
    near = xp.minimum(a, 8.0)
    y = xp.where(a <= 8, xp.exp(-near) * (near * 0.5) * _small(xp, a, I1_SMALL), _large(xp, a, I1_LARGE))
    return xp.where(x < 0, -y, y)
