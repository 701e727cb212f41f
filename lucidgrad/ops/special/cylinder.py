"""Bessel functions of the first and second kind, of orders zero and one, and the spherical one of order zero.

Up to 5 a polynomial times the distances from the zeros there, which are kept in two parts; those of the second kind
have a logarithm besides below 3. Above, waves whose amplitudes are polynomials in ``1 / x**2``. All are fitted to
1e-17. Near the zeros above 5, errors are small against the amplitude. Largest errors found elsewhere in units in the
last place of float64: 4.
"""

import math
from typing import Any

from lucidgrad.core.primitive import ELEMENTWISE, primitive
from lucidgrad.ops.elementwise.trigonometric import damped_slope

from .polynomials import polynomial

__all__ = ["bessel_j0", "bessel_j1", "bessel_j_quotient", "bessel_y0", "bessel_y1", "spherical_bessel_j0"]

# Zeros, in two parts of which the first has 24 bits; and what the functions are over the distances from them: _SMALL up
# to 5 (J) or 3 (Y) in powers of a multiple of x**2, less one, _MIDDLE from 3 to 5 in powers of x - 4. P and Q are the
# amplitudes from 5 on, Q times x, in powers of 50 / x**2 - 1.
J0_SMALL = (
    *(-3.52449113008727e-16, 1.8688672744978886e-14, -8.404184719394778e-13, 3.163723989196272e-11),
    *(-9.781438946726354e-10, 2.428622038025423e-08, -4.70629166457061e-07, 6.854954847199373e-06),
    *(-7.121705240575853e-05, 0.00048768271776558413, -0.0019210870437164043, 0.0031873556303932387),
)
J1_SMALL = (
    *(9.268689637917528e-15, -4.5448929803664786e-13, 1.8773810470060388e-11, -6.443125533665431e-10),
    *(1.799515992541992e-08, -3.991381172349741e-07, 6.814683895176615e-06, -8.592956232067133e-05),
    *(0.0007552540432951287, -0.004240225993395723, 0.013090777521810029, -0.01587595431164548),
)
Y0_SMALL = (
    *(9.632463358232222e-16, -9.991837753528533e-14, 8.51810648247535e-12, -5.843095062505726e-10),
    *(3.138276880862019e-08, -1.274447204287166e-06, 3.734246189674015e-05, -0.0007388940376109333),
    *(0.008922347276268006, -0.05513371545494011, 0.11731068956802439),
)
Y0_MIDDLE = (
    *(-6.654917970309861e-13, 2.7642319036308113e-12, -8.69458123303702e-12, 3.717817946943567e-11),
    *(-1.619508008605893e-10, 6.727551502837408e-10, -3.2917906681144924e-09, 1.731174469557584e-08),
    *(-1.4190703204336474e-08, -3.0033065807288056e-07, -4.993977089459847e-06, 4.945840245753178e-05),
    *(0.00020801492118547056, -0.0021408432412157266, -0.0072186324056754785, 0.0576304725848257),
    *(0.055772070786748416, -0.40028607275087885),
)
Y1_SMALL = (
    *(-1.4766610836125656e-14, 1.3682290108742419e-12, -1.0271204468026561e-10, 6.09133533772799e-09),
    *(-2.759153089688491e-07, 9.121654899417709e-06, -0.00020602882234585233, 0.0028552875570444537),
    *(-0.019470039763120166, 0.023747381788995436, 0.1781636471945536),
)
Y1_MIDDLE = (
    *(5.748620234453496e-13, -2.2572532572530288e-12, 6.271946090190019e-12, -2.5151757586327194e-11),
    *(1.0574034920617724e-10, -4.2147748281153724e-10, 1.638377660579987e-09, -6.296401087276594e-09),
    *(3.0160433929805214e-08, -1.4578588796419202e-07, -7.384771669701345e-08, 2.6028049314577642e-06),
    *(4.377468148247348e-05, -0.00028214551437260926, -0.0016640265663931458, 0.00828117137140182),
    *(0.04107637880783234, -0.11324878594706227, -0.2783318091258082),
)
P0 = (
    *(1.434214448195217e-12, -2.23539115484294e-12, -2.8395786676472828e-12, 3.4153115422836012e-12),
    *(8.357591426203615e-12, -1.3637307913941881e-11, 1.2588002432498699e-11, -3.5386629229421075e-11),
    *(1.0446084050014943e-10, -2.8517945797273486e-10, 8.537333899002569e-10, -2.870543614923326e-09),
    *(1.1058787126508372e-08, -5.086432308383939e-08, 2.9759005474711905e-07, -2.459963321484891e-06),
    *(3.4917305812543486e-05, -0.0013274931272004003, 0.9986347659091991),
)
Q0 = (
    *(8.561141188804114e-12, -1.250807645302471e-11, -2.1805674341800898e-11, 2.685363108073909e-11),
    *(4.887938592386559e-11, -6.841579487516889e-11, 1.5124462521210536e-11, -6.85705858624778e-11),
    *(2.5848780968318157e-10, -6.042938290660017e-10, 1.5208164406489958e-09, -4.289354315213214e-09),
    *(1.3297944779027403e-08, -4.6398774186056476e-08, 1.887028395255301e-07, -9.409874566961784e-07),
    *(6.2391131760670245e-06, -6.33871544273933e-05, 0.0013142139729101605, -0.12361496352611864),
)
P1 = (
    *(-1.516811852325545e-12, 2.3685225281152708e-12, 2.988136887323446e-12, -3.59067383978506e-12),
    *(-8.878743171282951e-12, 1.4551592852750524e-11, -1.368202856118481e-11, 3.8451893184902895e-11),
    *(-1.1357643207811934e-10, 3.117737074103509e-10, -9.395751413738002e-10, 3.1849577586740155e-09),
    *(-1.2403215219139956e-08, 5.791667842214014e-08, -3.4667186514153773e-07, 2.9786211051441743e-06),
    *(-4.5782806531265707e-05, 0.002241463213917191, 1.0022906462560661),
)
Q1 = (
    *(1.3206143076766547e-11, -1.994683230812487e-11, -2.8238891605624855e-11, 3.41182449289912e-11),
    *(7.247534831215838e-11, -1.106908364815173e-10, 7.462088301980304e-11, -2.176782686176294e-10),
    *(6.54502079860486e-10, -1.6802660856714186e-09, 4.697491706936787e-09, -1.466014532359773e-08),
    *(5.16424458933936e-08, -2.1266795418156622e-07, 1.0798853142795983e-06, -7.369927915299274e-06),
    *(7.89809417818545e-05, -0.0018648496218418749, 0.3730474331740802),
)


def _zero(head: float, tail: float) -> tuple[float, float, float]:
    return head, tail, head + tail


J0_ZERO, J0_SECOND = _zero(2.404825448989868, 1.0870590460455913e-07), _zero(5.520078182220459, -7.19341483347784e-08)
J1_ZERO = _zero(3.8317060470581055, -7.685059315313556e-08)
Y0_ZERO, Y0_SECOND = (
    _zero(0.893576979637146, -1.3357978474508862e-08),
    _zero(3.9576783180236816, 1.0129117622775068e-07),
)
Y1_ZERO, Y1_SECOND = _zero(2.197141408920288, -8.288927105078847e-08), _zero(5.429680824279785, 2.16514349976522e-07)
_TWO_OVER_PI = 2 / math.pi


def _distance(x: Any, zero: tuple[float, float, float]) -> Any:
    return x - zero[0] - zero[1]


def _between(x: Any, zero: tuple[float, float, float]) -> Any:
    """The square less that of a zero."""
    return _distance(x, zero) * (x + zero[2])


def _j0_small(xp: Any, a: Any) -> Any:
    near = xp.minimum(a, 5.0)
    return _between(near, J0_ZERO) * (_between(near, J0_SECOND) * polynomial(near * near * 0.08 - 1, J0_SMALL))


def _j1_small(xp: Any, a: Any) -> Any:
    """The function over its argument."""
    near = xp.minimum(a, 5.0)
    return _between(near, J1_ZERO) * polynomial(near * near * 0.08 - 1, J1_SMALL)


def _waves(xp: Any, a: Any, order: int) -> tuple[Any, Any]:
    """Both kinds of functions from 5 on; zero at infinity."""
    far = xp.where((a > 5) & (a < math.inf), a, 5)
    c, s = xp.cos(far), xp.sin(far)
    t = 50 / far / far - 1
    p, q = polynomial(t, P1 if order else P0), polynomial(t, Q1 if order else Q0) / far
    one, other = (s - c, -(s + c)) if order else (c + s, s - c)
    size = xp.sqrt(far * math.pi)
    end = a == math.inf
    return xp.where(end, 0, (p * one - q * other) / size), xp.where(end, 0, (p * other + q * one) / size)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: -(g * xp.bessel_j1(x)), dtype="float", real=True)
def bessel_j0(xp: Any, x: Any, /) -> Any:
    """Bessel function of the first kind and order zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.special.bessel_j0(x).sum().backward()
    >>> x.grad.tolist()
    [-0.0, -0.4401]
    """
    a = xp.abs(x)
    return xp.where(a <= 5, _j0_small(xp, a), xp.where(a > 5, _waves(xp, a, 0)[0], a))


#: The derivative of J1 in powers of x**2.
J1_SLOPE = [(-0.25) ** k * (k + 0.5) / (math.factorial(k) * math.factorial(k + 1)) for k in range(14, -1, -1)]


def _j1_slope(xp: Any, g: Any, x: Any) -> Any:
    near = xp.abs(x) <= 2  # the difference would lose digits
    within = xp.where(near, x, 0)
    return g * xp.where(near, polynomial(within * within, J1_SLOPE), xp.bessel_j0(x) - xp.bessel_j_quotient(x))


@primitive(ELEMENTWISE, vjp=_j1_slope, dtype="float", real=True)
def bessel_j1(xp: Any, x: Any, /) -> Any:
    """Bessel function of the first kind and order one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.special.bessel_j1(x).sum().backward()
    >>> x.grad.tolist()
    [0.5, 0.3251]
    """
    a = xp.abs(x)
    far = _waves(xp, a, 1)[0]
    return xp.where(a <= 5, x * _j1_small(xp, a), xp.where(a > 5, xp.where(x < 0, -far, far), x))


def _quotient_vjp(xp: Any, g: Any, x: Any, *, order: int) -> Any:
    return -(g * (xp.where(xp.abs(x) == math.inf, 0, x) * xp.bessel_j_quotient(x, order=order + 1)))


@primitive(ELEMENTWISE, vjp=_quotient_vjp, dtype="float", real=True)
def bessel_j_quotient(xp: Any, x: Any, /, order: int = 1) -> Any:
    """``J_n(x) / x**n`` for orders n from one: its derivative is ``-x`` times the next of them, at zero, too."""
    a = xp.abs(x)
    end = 5.0 if order == 1 else float(order)  # up to here a series: the recurrence would cancel
    far = xp.where((a > end) & (a < math.inf), a, end)
    near = xp.minimum(a, end)
    if order == 1:
        small = _j1_small(xp, near)
    else:
        s = near * near
        terms = [(-0.25) ** k / (math.factorial(k) * math.factorial(k + order)) for k in range(12 + order, -1, -1)]
        small = polynomial(s, terms) * 0.5**order
    before, large = xp.bessel_j0(far), xp.bessel_j1(far)
    for k in range(1, order):
        before, large = large, large * (2 * k) / far - before
    for _ in range(order):
        large = large / far
    return xp.where(a <= end, small, xp.where(a == math.inf, 0, xp.where(a > end, large, a)))


def _logarithm(xp: Any, x: Any, zero: tuple[float, float, float]) -> Any:
    """``log(x / zero)``, exact near the zero."""
    d = _distance(x, zero) / zero[2]
    return xp.where(d > -0.5, xp.log1p(xp.where(d > -0.5, d, 0)), xp.log(x) - math.log(zero[2]))


def _joined(xp: Any, x: Any, small: Any, middle: Any, large: Any) -> Any:
    y = xp.where(x <= 3, small, xp.where(x <= 5, middle, xp.where(x > 5, large, x)))
    return xp.where(x < 0, math.nan, xp.where(x == 0, -math.inf, y))


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: -xp.scale(g, xp.bessel_y1(x)), dtype="float", real=True)
def bessel_y0(xp: Any, x: Any, /) -> Any:
    """Bessel function of the second kind and order zero: minus infinity at zero, NaN below.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.bessel_y0(x).sum().backward()
    >>> x.grad.tolist()
    [1.4715, 0.7812]
    """
    low = xp.where((x > 0) & (x <= 3), x, 1)
    small = _logarithm(xp, low, Y0_ZERO) * _j0_small(xp, low) * _TWO_OVER_PI
    small = small + _between(low, Y0_ZERO) * polynomial(low * low * (2 / 9) - 1, Y0_SMALL)
    middle = xp.where((x > 3) & (x <= 5), x, 4)
    y = _distance(middle, Y0_SECOND) * polynomial(middle - 4, Y0_MIDDLE)
    return _joined(xp, x, small, y, _waves(xp, x, 0)[1])


def _y1_slope(xp: Any, g: Any, y: Any, x: Any) -> Any:
    return xp.scale(g, xp.where(x == 0, math.inf, xp.bessel_y0(x) - y / xp.where(x == 0, 1, x)))


@primitive(ELEMENTWISE, vjp=_y1_slope, dtype="float", real=True)
def bessel_y1(xp: Any, x: Any, /) -> Any:
    """Bessel function of the second kind and order one: minus infinity at zero, NaN below.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.bessel_y1(x).sum().backward()
    >>> x.grad.tolist()
    [2.4985, 0.8695]
    """
    low = xp.where((x > 0) & (x <= 3), x, 1)
    small = _logarithm(xp, low, Y1_ZERO) * (_j1_small(xp, low) * low) * _TWO_OVER_PI
    small = small + _between(low, Y1_ZERO) * polynomial(low * low * (2 / 9) - 1, Y1_SMALL) / low
    middle = xp.where((x > 3) & (x <= 5), x, 4)
    y = _distance(middle, Y1_SECOND) * polynomial(middle - 4, Y1_MIDDLE)
    return _joined(xp, x, small, y, _waves(xp, x, 1)[1])


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * damped_slope(xp, x), dtype="float", real=True)
def spherical_bessel_j0(xp: Any, x: Any, /) -> Any:
    """Spherical Bessel function of order zero, ``sin(x) / x``, and one at zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.special.spherical_bessel_j0(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, -0.3012]
    """
    end = xp.abs(x) == math.inf
    t = xp.where((x == 0) | end, 1, x)
    return xp.where(x == 0, 1, xp.where(end, 0, xp.sin(t) / t))
