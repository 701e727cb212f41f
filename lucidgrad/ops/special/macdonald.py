"""Modified Bessel functions of the second kind, of orders zero and one.

Up to one the power series with a logarithm; above, ``exp(x) * sqrt(x) * K(x)`` as a polynomial in ``2 / x - 1``, fitted
to 1e-17. Largest errors found in units in the last place of float64: 4.
"""

import math
from typing import Any

from lucidgrad.core.primitive import ELEMENTWISE, primitive

from .polynomials import polynomial

__all__ = ["k0", "k0e", "k1", "k1e"]

# K0 and K1 times exp(x) * sqrt(x) from one on, in powers of 2 / x - 1; their difference from there on so, and times x
# more; from a half to one times exp(x) * x, in powers of 4 * x - 3.
K0_LARGE = (
    *(-2.3784325324371993e-08, 2.7207916647199747e-08, 1.5290053374732804e-07, -1.6738552893469053e-07),
    *(-4.6055169406190983e-07, 4.835761691154104e-07, 8.370799679362215e-07, -8.386623445044995e-07),
    *(-1.0289697437743068e-06, 9.831071484470645e-07, 8.79904648066647e-07, -7.888900857155188e-07),
    *(-5.726676078239311e-07, 4.997104744033372e-07, 2.0294056719197293e-07, -1.1413859913530229e-07),
    *(-2.3202854099043506e-07, 3.222041145925361e-07, -4.516057829541184e-07, 8.599860986811501e-07),
    *(-1.6653737675636318e-06, 3.2679117134413864e-06, -6.658994277340302e-06, 1.4181412054796078e-05),
    *(-3.1814805634692697e-05, 7.608267047161973e-05, -0.00019727982061389378, 0.0005692398880143064),
    *(-0.0019084014862734363, 0.008067386548377206, -0.0522790114917577, 1.1901571834152027),
)
K1_LARGE = (
    *(2.5863254985428135e-08, -2.964328008824311e-08, -1.6612903727573373e-07, 1.8219929803285458e-07),
    *(5.002196385460044e-07, -5.26186507824766e-07, -9.088111914436952e-07, 9.121302084493807e-07),
    *(1.1170624283760798e-06, -1.0692595854481161e-06, -9.545322742659767e-07, 8.570005699611347e-07),
    *(6.225946843329387e-07, -5.452711368291378e-07, -2.1626576666662002e-07, 1.1699172286047393e-07),
    *(2.6532661923749144e-07, -3.7590847799813226e-07, 5.418683354671322e-07, -1.0387350570047937e-06),
    *(2.0295346733831754e-06, -4.033194971018627e-06, 8.34255194292137e-06, -1.8092583795002915e-05),
    *(4.152315925908083e-05, -0.00010227196572996216, 0.0002760388399705941, -0.000844392741014426),
    *(0.0031120066456231514, -0.015852854565988866, 0.18797890654571855, 1.4615569735231244),
)
APART_MIDDLE = (
    *(-2.7467543374328104e-12, 8.884239673366418e-12, -1.5852256956688884e-11, 5.462375013061411e-11),
    *(-2.1516134430701102e-10, 7.330559565936796e-10, -2.4929190866703912e-09, 8.691219836662629e-09),
    *(-3.0680034795931395e-08, 1.0972380621479999e-07, -3.98926176590162e-07, 1.4793819923729887e-06),
    *(-5.620080672982277e-06, 2.2001162758823375e-05, -8.949299619337153e-05, 0.0003828631928412613),
    *(-0.0017556574942750424, 0.008919670960997782, -0.054028674477255206, 0.5382441499274704),
)
APART_LARGE = (
    *(1.8605896444019359e-07, -2.0007213497250945e-07, -1.4578158123026716e-06, 1.5141037745829488e-06),
    *(5.3255569961536e-06, -5.339762897229856e-06, -1.1924156412998526e-05, 1.1513848888196957e-05),
    *(1.8248113345505713e-05, -1.692254905031503e-05, -2.013053272647495e-05, 1.7853274372219714e-05),
    *(1.6537670562897416e-05, -1.3979640180232638e-05, -1.0207152507318329e-05, 8.138690718363672e-06),
    *(4.9100981493873174e-06, -3.7617057179283233e-06, -1.5191689278242533e-06, 8.734485629755907e-07),
    *(1.0219617240428094e-06, -1.2275408724746073e-06, 1.4762779294564822e-06, -2.6564730992796562e-06),
    *(4.795823655868357e-06, -8.641889196775236e-06, 1.600914329508115e-05, -3.0603926336522075e-05),
    *(6.060932836081903e-05, -0.00012515805605213418, 0.0002718338333637748, -0.0006285430620949323),
    *(0.0015751803890779552, -0.004402445648486574, 0.0144432619121747, -0.06228374414089041, 0.5427995802158435),
)
_EULER = 0.5772156649015329


def _harmonic(k: int) -> float:
    return math.fsum(1 / n for n in range(1, k + 1))


_FACTORS = [(k, 0.25**k / (math.factorial(k) * math.factorial(k))) for k in range(10, -1, -1)]
#: Up to one, in powers of x**2: I0, I1 / x, and what is left of K0 and of K1 / x without their logarithms.
I0_SERIES, I1_SERIES = [c for _, c in _FACTORS], [c / (2 * k + 2) for k, c in _FACTORS]
K0_SERIES = [c * _harmonic(k) for k, c in _FACTORS]
K1_SERIES = [c / (k + 1) * (2 * _EULER - _harmonic(k) - _harmonic(k + 1)) / 4 for k, c in _FACTORS]
_LOG_2 = math.log(2)


def _small(xp: Any, x: Any, order: int) -> Any:
    near = xp.where((x > 0) & (x <= 1), x, 1)
    s, log = near * near, xp.log(near)
    if order == 0:
        return polynomial(s, K0_SERIES) - (log - (_LOG_2 - _EULER)) * polynomial(s, I0_SERIES)
    return 1 / near + near * ((log - _LOG_2) * polynomial(s, I1_SERIES) + polynomial(s, K1_SERIES))


def _large(xp: Any, x: Any, order: int) -> Any:
    far = xp.maximum(x, 1.0)
    return polynomial(2 / far - 1, K1_LARGE if order else K0_LARGE) / xp.sqrt(far)


def _joined(xp: Any, x: Any, small: Any, large: Any) -> Any:
    y = xp.where(x <= 1, small, xp.where(x > 1, large, x))
    return xp.where(x < 0, math.nan, xp.where(x == 0, math.inf, y))


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: -xp.scale(g, xp.k1(x)), dtype="float", real=True)
def k0(xp: Any, x: Any, /) -> Any:
    """Modified Bessel function of the second kind and order zero: infinite at zero, NaN below.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.k0(x).sum().backward()
    >>> x.grad.tolist()
    [-1.6564, -0.6019]
    """
    return _joined(xp, x, _small(xp, x, 0), xp.exp(-xp.maximum(x, 1.0)) * _large(xp, x, 0))


@primitive(ELEMENTWISE, vjp=lambda xp, g, y, x: -xp.scale(g, xp.k0(x) + y / x), dtype="float", real=True)
def k1(xp: Any, x: Any, /) -> Any:
    """Modified Bessel function of the second kind and order one: infinite at zero, NaN below.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.k1(x).sum().backward()
    >>> x.grad.tolist()
    [-4.2373, -1.0229]
    """
    return _joined(xp, x, _small(xp, x, 1), xp.exp(-xp.maximum(x, 1.0)) * _large(xp, x, 1))


def _apart(xp: Any, x: Any) -> Any:
    """``exp(x) * (K1(x) - K0(x))``: above a half not as a difference, which would cancel."""
    near, far = xp.where((x > 0) & (x <= 0.5), x, 0.5), xp.where(x > 1, x, 1)
    middle = xp.where((x > 0.5) & (x <= 1), x, 0.75)
    small = xp.exp(near) * (_small(xp, near, 1) - _small(xp, near, 0))
    small = xp.where(x <= 0.5, small, polynomial(middle * 4 - 3, APART_MIDDLE) / middle)
    return _joined(xp, x, small, polynomial(2 / far - 1, APART_LARGE) / far / xp.sqrt(far))


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: -xp.scale(g, _apart(xp, x)), dtype="float", real=True)
def k0e(xp: Any, x: Any, /) -> Any:
    """Scaled modified Bessel function of the second kind and order zero, ``exp(x) * k0(x)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.k0e(x).sum().backward()
    >>> x.grad.tolist()
    [-1.2069, -0.4917]
    """
    return _joined(xp, x, xp.exp(xp.minimum(x, 1.0)) * _small(xp, x, 0), _large(xp, x, 0))


def _k1e_slope(xp: Any, g: Any, y: Any, x: Any) -> Any:
    return -xp.scale(g, xp.where(x == 0, math.inf, y / xp.where(x == 0, 1, x) - _apart(xp, x)))


@primitive(ELEMENTWISE, vjp=_k1e_slope, dtype="float", real=True)
def k1e(xp: Any, x: Any, /) -> Any:
    """Scaled modified Bessel function of the second kind and order one, ``exp(x) * k1(x)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.k1e(x).sum().backward()
    >>> x.grad.tolist()
    [-4.2551, -1.1445]
    """
    return _joined(xp, x, xp.exp(xp.minimum(x, 1.0)) * _small(xp, x, 1), _large(xp, x, 1))
