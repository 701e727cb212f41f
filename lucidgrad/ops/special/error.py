"""Error functions and the normal distribution.

The error functions are rational approximations: W. J. Cody, Rational Chebyshev approximations for the error function,
Math. Comp. 23 (1969), and for the inverses M. J. Wichura, Algorithm AS 241, Appl. Statist. 37 (1988). Largest errors
found in units in the last place of float64, tails included:

    erf 3, erfc 5, erfcx 4, erfinv 6, erfcinv 5, ndtr 6, ndtri 5, log_ndtr 4
"""

import math
from typing import Any

from lucidgrad.core.primitive import ELEMENTWISE, primitive

from .polynomials import polynomial, ratio

__all__ = ["erf", "erfc", "erfcinv", "erfcx", "erfinv", "log_ndtr", "ndtr", "ndtri"]

_TWO_OVER_SQRT_PI, _HALF_SQRT_PI, _INV_SQRT_PI = (
    2 / math.sqrt(math.pi),
    math.sqrt(math.pi) / 2,
    1 / math.sqrt(math.pi),
)
_SQRT_HALF = math.sqrt(0.5)
_SQRT_HALF_PI, _SQRT_TWO_OVER_PI = math.sqrt(math.pi / 2), math.sqrt(2 / math.pi)

#: Coefficients, highest power first: numerator and denominator.
ERF_SMALL = (
    (
        1.85777706184603153e-1,
        3.16112374387056560e0,
        1.13864154151050156e2,
        3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
ERFC_MIDDLE = (
    (
        *(2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1),
        *(2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3),
        1.23033935479799725e3,
    ),
    (
        *(1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3),
        *(3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3),
    ),
)
ERFC_LARGE = (
    (
        *(1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1),
        *(1.60837851487422766e-2, 6.58749161529837803e-4),
    ),
    (
        *(1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2),
        2.33520497626869185e-3,
    ),
)
#: The derivative of erfcx times (x + 1)**2, in powers of (x - 4.9) / (x + 4), from 0.45 on; fitted to 2e-17.
ERFCX_SLOPE = (
    *(2.0277891113310724e-10, -1.2090802708513445e-09, -2.0005526328748294e-09, 1.6410143238007985e-08),
    *(5.300856275450344e-09, -1.379385482488042e-07, 1.003235625833633e-07, 9.010664478731487e-07),
    *(-2.0688089853416866e-06, -3.2221102428897807e-06, 2.268100642769904e-05, -2.9104829931703867e-05),
    *(-0.00010205008641744948, 0.000574105261083511, -0.0013522015057139825, 0.0014577018655713987),
    *(0.0016152586163722226, -0.011031729957884744, 0.026983878127087645, -0.04101028981599856),
    *(0.032622741487144676, 0.025247617852324943, -0.14890973481986336, 0.3212575632354724),
    -0.7715316112198105,
)
PROBIT_CENTRE = (
    (
        *(2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4),
        *(1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0),
    ),
    (
        *(5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4),
        *(5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
    ),
)
PROBIT_TAIL = (
    (
        *(
            7.74545014278341407640e-4,
            2.27238449892691845833e-2,
            2.41780725177450611770e-1,
            1.27045825245236838258e0,
        ),
        *(
            3.64784832476320460504e0,
            5.76949722146069140550e0,
            4.63033784615654529590e0,
            1.42343711074968357734e0,
        ),
    ),
    (
        *(
            1.05075007164441684324e-9,
            5.47593808499534494600e-4,
            1.51986665636164571966e-2,
            1.48103976427480074590e-1,
        ),
        *(6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0),
    ),
)
PROBIT_END = (
    (
        *(
            2.01033439929228813265e-7,
            2.71155556874348757815e-5,
            1.24266094738807843860e-3,
            2.65321895265761230930e-2,
        ),
        *(
            2.96560571828504891230e-1,
            1.78482653991729133580e0,
            5.46378491116411436990e0,
            6.65790464350110377720e0,
        ),
    ),
    (
        *(
            2.04426310338993978564e-15,
            1.42151175831644588870e-7,
            1.84631831751005468180e-5,
            7.86869131145613259100e-4,
        ),
        *(1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
    ),
)


# -- error functions -----------------------------------------------------------------------------
def _erf_centre(xp: Any, x: Any, a: Any) -> Any:
    """The error function for ``a = abs(x)`` up to 0.46875."""
    x = xp.where(a <= 0.46875, x, 0)
    return x * ratio(x * x, ERF_SMALL)


def _erfcx_tail(xp: Any, a: Any) -> Any:
    """The scaled complement ``exp(a**2) * erfc(a)`` for 0.46875 and above."""
    far = xp.maximum(a, 4.0)
    s = 1 / far
    s = s * s
    large = (_INV_SQRT_PI - s * ratio(s, ERFC_LARGE)) / far
    return xp.where(a <= 4.0, ratio(xp.minimum(xp.maximum(a, 0.46875), 4.0), ERFC_MIDDLE), large)


def _bell(xp: Any, a: Any) -> Any:
    """``exp(-a**2)`` to the last digits for ``a`` from zero to 200."""
    high = xp.floor(a * 16) / 16  # its square is exact
    return xp.exp(-(high * high)) * xp.exp((high - a) * (high + a))


def _erfc_tail(xp: Any, a: Any) -> Any:
    """The complement for 0.46875 and above."""
    a = xp.minimum(xp.maximum(a, 0.46875), 30.0)
    return _bell(xp, a) * _erfcx_tail(xp, a)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * (xp.exp(-(x * x)) * _TWO_OVER_SQRT_PI), dtype="float", real=True)
def erf(xp: Any, x: Any, /) -> Any:
    """Error function.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.erf(x).sum().backward()
    >>> x.grad.tolist()
    [1.1284, 0.4151]
    """
    a = xp.abs(x)
    return xp.where(a <= 0.46875, _erf_centre(xp, x, a), xp.sign(x) * (1 - _erfc_tail(xp, a)))


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * (xp.exp(-(x * x)) * -_TWO_OVER_SQRT_PI), dtype="float", real=True)
def erfc(xp: Any, x: Any, /) -> Any:
    """``1 - erf(x)`` without cancellation for large ``x``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.erfc(x).sum().backward()
    >>> x.grad.tolist()
    [-1.1284, -0.4151]
    """
    a = xp.abs(x)
    tail = _erfc_tail(xp, a)
    return xp.where(a <= 0.46875, 1 - _erf_centre(xp, x, a), xp.where(x < 0, 2 - tail, tail))


def _erfcx_slope(xp: Any, g: Any, y: Any, x: Any) -> Any:
    far = x > 0.46875  # the difference would cancel: a polynomial in its place
    safe = xp.where(far, x, 1)
    short = xp.where(safe < 1e16, safe, 1e16)
    slope = polynomial((short - 4.9) / (short + 4), ERFCX_SLOPE) / (safe + 1) / (safe + 1)
    near = xp.scale(xp.scale(g, x), y) * 2 - g * _TWO_OVER_SQRT_PI
    return xp.where(far, g * slope, near)


@primitive(ELEMENTWISE, vjp=_erfcx_slope, dtype="float", real=True)
def erfcx(xp: Any, x: Any, /) -> Any:
    """Scaled complement ``exp(x**2) * erfc(x)``, which does not underflow.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.error import erfcx
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> erfcx(x).sum().backward()
    >>> x.grad.tolist()
    [-1.1284, -0.2732]
    """
    a = xp.abs(x)
    centre = xp.where(a <= 0.46875, x, 0)
    small = xp.exp(centre * centre) * (1 - _erf_centre(xp, centre, xp.abs(centre)))
    tail = _erfcx_tail(xp, a)
    end = 26.6287 if float(xp.finfo(x.dtype).max) > 1e300 else 9.3824
    low = xp.minimum(xp.where(x < 0, a, 0), end)
    high = xp.floor(low * 16) / 16  # its square is exact
    grown = xp.exp(high * high) * xp.exp((low - high) * (low + high)) * 2 - tail
    grown = xp.where(a > end, math.inf, grown)
    return xp.where(a <= 0.46875, small, xp.where(x < 0, grown, tail))


# -- inverses ------------------------------------------------------------------------------------
_PROBIT = PROBIT_CENTRE, PROBIT_TAIL, PROBIT_END
_ERFINV = tuple((tuple(c * _SQRT_HALF for c in top), bottom) for top, bottom in _PROBIT)


def _probit(xp: Any, q: Any, tail: Any, quotients: Any = _PROBIT) -> Any:
    """The normal quantile of ``q + 1/2``, given the smaller of this and its complement."""
    a = xp.abs(q)
    centre = a <= 0.425
    inside = ~centre & (tail > 0)
    r = xp.sqrt(-xp.log(xp.where(inside, tail, 0.0625)))
    outer = xp.where(r <= 5.0, ratio(r - 1.6, quotients[1]), ratio(r - 5.0, quotients[2]))
    outer = xp.where(inside, outer, xp.where(tail == 0, xp.full_like(q, fill_value=math.inf), math.nan))
    outer, q = xp.copysign(outer, q), xp.where(centre, q, 0)
    inner = q * ratio(0.180625 - q * q, quotients[0])
    return xp.where(centre, inner, outer)


def _erfinv_vjp(xp: Any, g: Any, x: Any) -> Any:
    y = xp.erfinv(x)
    return xp.scale(g, xp.exp(y * y) * _HALF_SQRT_PI)


@primitive(ELEMENTWISE, vjp=_erfinv_vjp, dtype="float", real=True, precision="full")
def erfinv(xp: Any, x: Any, /) -> Any:
    """Inverse of `erf`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 0.5], requires_grad=True)
    >>> lg.erfinv(x).sum().backward()
    >>> x.grad.tolist()
    [0.8862, 1.1126]
    """
    return _probit(xp, x * 0.5, (1 - xp.abs(x)) * 0.5, _ERFINV)


def _bell_inverse(xp: Any, a: Any, tail: Any) -> Any:
    """``exp(a**2)`` from ``erfc(a)``, for a from zero on: the square would enlarge the rounding of a."""
    end = tail == 0
    return xp.where(end, 1 / tail, xp.erfcx(a) / xp.where(end, 1, tail))


def _erfcinv_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
    low = x <= 1
    bell = _bell_inverse(xp, xp.where(low, y, -y), xp.where(low, x, 2 - x))
    return xp.scale(g, bell) * -_HALF_SQRT_PI


@primitive(ELEMENTWISE, vjp=_erfcinv_vjp, dtype="float", real=True)
def erfcinv(xp: Any, x: Any, /) -> Any:
    """Inverse of `erfc`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.error import erfcinv
    >>> x = lg.tensor([1.0, 0.5], requires_grad=True)
    >>> erfcinv(x).sum().backward()
    >>> x.grad.tolist()
    [-0.8862, -1.1126]
    """
    return _probit(xp, (1 - x) * 0.5, xp.minimum(x, 2 - x) * 0.5, _ERFINV)


# -- the normal distribution -----------------------------------------------------------------------
@primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * xp.normal_density(x), dtype="float", real=True)
def ndtr(xp: Any, x: Any, /) -> Any:
    """Distribution function of the standard normal distribution.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.error import ndtr
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> ndtr(x).sum().backward()
    >>> x.grad.tolist()
    [0.3989, 0.242]
    """
    a = xp.minimum(xp.abs(x), 40.0)
    t = a * _SQRT_HALF
    high = xp.floor(a * 16) / 16  # its square is exact
    bell = xp.exp(high * high * -0.5) * xp.exp((high - a) * (high + a) * 0.5)
    tail = bell * _erfcx_tail(xp, t) * 0.5
    middle = _erf_centre(xp, x * _SQRT_HALF, t) * 0.5 + 0.5
    return xp.where(t <= 0.46875, middle, xp.where(x < 0, tail, 1 - tail))


def _ndtri_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
    low = x <= 0.5
    bell = _bell_inverse(xp, xp.where(low, -y, y) * _SQRT_HALF, xp.where(low, x, 1 - x))
    return xp.scale(g, bell) * _SQRT_HALF_PI


@primitive(ELEMENTWISE, vjp=_ndtri_vjp, dtype="float", real=True)
def ndtri(xp: Any, x: Any, /) -> Any:
    """Inverse of `ndtr`: quantiles of the standard normal distribution.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.error import ndtri
    >>> x = lg.tensor([0.5, 0.75], requires_grad=True)
    >>> ndtri(x).sum().backward()
    >>> x.grad.tolist()
    [2.5066, 3.1469]
    """
    return _probit(xp, x - 0.5, xp.minimum(x, 1 - x))


def _log_ndtr_slope(xp: Any, g: Any, x: Any) -> Any:
    # Density over distribution; in the lower tail both vanish, their scaled forms do not.
    low, high = xp.where(x < 0, x, 0), xp.where(x < 0, 0, x)
    lower = _SQRT_TWO_OVER_PI / xp.erfcx(low * -_SQRT_HALF)
    upper = xp.normal_density(high) / xp.ndtr(high)
    return g * xp.where(x < 0, lower, upper)


@primitive(ELEMENTWISE, vjp=_log_ndtr_slope, dtype="float", real=True)
def log_ndtr(xp: Any, x: Any, /) -> Any:
    """Logarithm of `ndtr`, exact far out on either side.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.error import log_ndtr
    >>> x = lg.tensor([0.0, -100.0], requires_grad=True)
    >>> log_ndtr(x).sum().backward()
    >>> x.grad.tolist()
    [0.7979, 100.01]
    """
    upper = xp.log1p(-xp.ndtr(-xp.maximum(x, -1.0)))
    low = xp.minimum(x, -1.0)
    scaled = _erfcx_tail(xp, low * -_SQRT_HALF) * 0.5
    lower = xp.log(xp.where(scaled > 0, scaled, 1)) - low * low * 0.5
    return xp.where(x > -1, upper, xp.where(x == x, lower, x))
