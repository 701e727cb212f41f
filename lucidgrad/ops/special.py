"""Special functions; the activation functions reach their users from here, too.

The error functions are rational approximations: W. J. Cody, Rational Chebyshev approximations for the
error function, Math. Comp. 23 (1969), and for the inverse M. J. Wichura, Algorithm AS 241, Appl. Statist. 37
(1988). Both are good to a few units in the last place of float64.
"""

import math
from collections.abc import Sequence
from typing import Any

from lucidgrad.core.primitive import ELEMENTWISE, primitive

from . import activation
from .activation import *  # noqa: F403
from .activation import sigmoid
from .elementwise import clip
from .transcendental import filled, sinc, xlogy

__all__ = [
    *activation.__all__,
    "entr", "erf", "erfc", "erfinv", "expit", "log_expit", "logit", "sinc", "xlog1py", "xlogy",
]  # fmt: skip

expit = sigmoid
log_expit = activation.logsigmoid
_TWO_OVER_SQRT_PI, _HALF_SQRT_PI, _INV_SQRT_PI = (
    2 / math.sqrt(math.pi),
    math.sqrt(math.pi) / 2,
    1 / math.sqrt(math.pi),
)

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


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    y = x * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        y = y * x + c
    return y


def _ratio(x: Any, coefficients: tuple[Sequence[float], Sequence[float]]) -> Any:
    return _polynomial(x, coefficients[0]) / _polynomial(x, coefficients[1])


# -- error functions -----------------------------------------------------------------------------
def _erf_centre(xp: Any, x: Any, a: Any) -> Any:
    """The error function for ``a = abs(x)`` up to 0.46875."""
    return x * _ratio(xp.where(a <= 0.46875, x * x, 0), ERF_SMALL)


def _erfc_tail(xp: Any, a: Any) -> Any:
    """The complement for 0.46875 and above."""
    a = xp.minimum(xp.maximum(a, 0.46875), 30.0)
    high = xp.floor(a * 16) / 16  # its square is exact, so that the exponential keeps its last digits
    bell = xp.exp(-(high * high)) * xp.exp((high - a) * (high + a))
    far = xp.maximum(a, 4.0)
    s = 1 / (far * far)
    large = (_INV_SQRT_PI - s * _ratio(s, ERFC_LARGE)) / far
    return bell * xp.where(a <= 4.0, _ratio(xp.minimum(a, 4.0), ERFC_MIDDLE), large)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * (xp.exp(-(x * x)) * _TWO_OVER_SQRT_PI), dtype="float")
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


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * (xp.exp(-(x * x)) * -_TWO_OVER_SQRT_PI), dtype="float")
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


@primitive(ELEMENTWISE, vjp=lambda xp, g, y: xp.scale(g, xp.exp(y * y) * _HALF_SQRT_PI), dtype="float")
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
    a = xp.abs(x)
    centre = a <= 0.85
    s = 0.180625 - xp.where(centre, x * x, 0) * 0.25
    tail = (1 - a) * 0.5
    inside = ~centre & (a < 1)
    r = xp.sqrt(-xp.log(xp.where(inside, tail, 0.0625)))
    near, end = _ratio(r - 1.6, PROBIT_TAIL), _ratio(r - 5.0, PROBIT_END)
    z = xp.where(centre, x * 0.5 * _ratio(s, PROBIT_CENTRE), xp.sign(x) * xp.where(r <= 5.0, near, end))
    z = z * math.sqrt(0.5)
    edge = xp.where(a > 1, math.nan, xp.where(x == 1, math.inf, xp.where(x == -1, -math.inf, x)))
    return xp.where(centre | inside, z, edge)


# -- logarithms ----------------------------------------------------------------------------------
@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.unscale(g, x * (1 - x)), dtype="float")
def log_odds(xp: Any, x: Any, /) -> Any:
    """Logarithm of the odds, ``log(x / (1 - x))``."""
    d = xp.where(xp.abs(x - 0.5) < 0.2, x + x - 1, 0)  # exact; near one half a quotient would round it away
    return xp.where(d == 0, xp.log(x / (1 - x)), xp.log1p(d) - xp.log1p(-d))


def logit(x: Any, /, eps: float | None = None) -> Any:
    """Logarithm of the odds, ``log(x / (1 - x))``, of ``x`` limited to ``[eps, 1 - eps]`` if eps is given.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.25, 0.5], requires_grad=True)
    >>> lg.logit(x).sum().backward()
    >>> x.grad.tolist()
    [5.3333, 4.0]
    """
    return log_odds(x if eps is None else clip(x, eps, 1 - eps))


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: -xp.scale(g, xp.log(x) + 1), dtype="float")
def entr(xp: Any, x: Any, /) -> Any:
    """Entropy ``-x * log(x)``: zero at zero, minus infinity below.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.entr(x).sum().backward()
    >>> x.grad.tolist()
    [-0.3069, -1.0]
    """
    safe = xp.where(x > 0, x, 1)
    return xp.where(x > 0, -(x * xp.log(safe)), xp.where(x < 0, -math.inf, x))


def _xlog1py_first(xp: Any, g: Any, x1: Any, x2: Any) -> Any:
    x2 = filled(xp, x2, g)
    return xp.where((x1 == 0) & (x2 <= -1), 0, xp.scale(g, xp.log1p(x2)))


@primitive(ELEMENTWISE, vjp=(_xlog1py_first, lambda xp, g, x1, x2: xp.unscale(xp.scale(g, x1), x2 + 1)), dtype="float")
def xlog1py(xp: Any, x1: Any, x2: Any, /) -> Any:
    """``x1 * log1p(x2)``, and zero where ``x1`` is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special import xlog1py
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> xlog1py(x, 1.0).sum().backward()
    >>> x.grad.tolist()
    [0.6931, 0.6931]
    """
    x1, x2 = filled(xp, x1, x2), filled(xp, x2, x1)
    return xp.where((x1 == 0) & (x2 == x2), 0, x1 * xp.log1p(xp.where(x1 == 0, 0, x2)))
