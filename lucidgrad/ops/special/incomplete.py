"""Incomplete gamma and beta functions, and their derivatives of any order with respect to the parameters.

Gamma: a power series below the parameter and a continued fraction above it, both of a fixed number of terms, and for
the upper function with small parameters and limits a power series of its own; for parameters from 20 near the limit
N. M. Temme's uniform expansion (Math. Comp. 33, 1979), whose coefficients are exact.
Beta: the continued fraction of A. R. DiDonato and A. H. Morris (ACM TOMS 18, 1992), evaluated backwards, and for two
parameters from 500 a quadrature. Largest relative errors found in float64:

    gammainc, gammaincc   1e-14 near the parameter (from 20 to 1e6), 1e-13 far out in the tails
    betainc               1e-14 near the mean, 5e-14 in the tails, 1e-12 for parameters from 1e6 to 1e8

Derivatives with respect to parameters: a power series for small limits, else a quadrature of the density's derivative
from the limit to that end of the interval towards which it keeps its sign, in the logarithm of the limit (beta: of its
odds), so that nothing cancels. First ones are 5e-14 off at most, of parameters up to 1e3; later ones have zeros, near
which they lose digits.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

from lucidgrad.core.primitive import ELEMENTWISE, primitive
from lucidgrad.ops.numbers import as_array

from .gamma import betaln_slope, gammaln_after_one, log_stirling, rise
from .jets import bell, fraction, leibniz, psis
from .polynomials import polynomial

__all__ = ["betainc", "betaincc", "gammainc", "gammaincc", "igamma", "igammac"]


@functools.cache
def legendre(n: int) -> list[tuple[float, float]]:
    """Nodes on [0, 1] and weights of Gauss's quadrature of n points."""
    made = []
    for i in range(n):
        t = math.cos(math.pi * (i + 0.75) / (n + 0.5))
        for _ in range(6):  # Newton's method
            p, q = 1.0, t
            for k in range(2, n + 1):
                p, q = q, ((2 * k - 1) * t * q - (k - 1) * p) / k
            slope = n * (t * q - p) / (t * t - 1)
            t -= q / slope
        made.append((0.5 - 0.5 * t, 1 / ((1 - t * t) * slope * slope)))
    return made


def _reach(slope: Any, curvature: Any) -> Any:
    """Where ``slope * w + curvature * w ** 2`` is at the end."""
    return 2 * _END / (slope + (slope * slope + 4 * _END * curvature) ** 0.5)


#: The exponent at which an integrand counts as gone.
_END = 40.0


def _log1p_rest(xp: Any, u: Any) -> Any:
    """``log1p(u) - u`` without cancellation near zero, for ``u`` above -1."""
    near = xp.abs(u) < 0.5
    v = xp.where(near, u, 0)
    z = v / (v + 2)
    s = z * z
    series = z * s * 2 * polynomial(s, [1 / k for k in range(31, 1, -2)]) - v * z
    return xp.where(near, series, xp.log1p(xp.where(near, 0, u)) - xp.where(near, 0, u))


# -- incomplete gamma functions --------------------------------------------------------------------
@functools.cache
def temme(rows: int = 10, terms: int = 18) -> list[list[float]]:
    """Coefficients of Temme's expansion: row k belongs to ``a**-k``, powers of eta from the highest."""
    from fractions import Fraction  # not needed before the first call

    size = terms + 2 * rows + 2
    alpha = [Fraction(0), Fraction(1), Fraction(1, 3)]  # of x / a - 1 in powers of eta
    for n in range(3, size):
        known = sum((j * alpha[j] * alpha[n + 1 - j] for j in range(2, n)), Fraction(0))
        alpha.append((alpha[n - 1] - known) / (n + 1))
    first = [Fraction(-1, 3), *((n + 2) * alpha[n + 2] for n in range(1, size - 2))]
    table, double = [first], 1
    for k in range(1, rows):
        double *= -(2 * k + 1)  # times alpha: the coefficients of Stirling's series
        before = table[-1]
        stirling = double * alpha[2 * k + 1]
        table.append([stirling * first[n] + (n + 2) * before[n + 2] for n in range(len(before) - 2)])
    return [[float(c) for c in reversed(row[: terms - k])] for k, row in enumerate(table)]


def _gamma_uniform(xp: Any, a: Any, u: Any) -> tuple[Any, Any]:
    """The smaller of both functions, for a from 20 and ``u = x / a - 1`` of at most 0.3; and where it is the lower."""
    rest = -_log1p_rest(xp, u)
    half = xp.sqrt(rest * 2)
    eta = xp.where(u < 0, -half, half)
    inverse, total = 1 / a, 0 * a
    for row in reversed(temme()):
        total = total * inverse + polynomial(eta, row)
    scaled = xp.erfcx(xp.sqrt(a * rest)) * 0.5
    more = total * xp.sqrt(inverse) * (1 / math.sqrt(2 * math.pi))
    return xp.exp(-a * rest) * (scaled + xp.where(u < 0, -more, more)), u < 0


def _gamma_power(xp: Any, a: Any, x: Any) -> Any:
    """``x**a * exp(-x) / gamma(a + 1)``."""
    large = a >= 8
    b, t = xp.where(large, a, 8), xp.where(large, x, 8)
    rest = _log1p_rest(xp, xp.maximum((t - b) / b, -0.5))
    rest = xp.where(t < b * 0.5, xp.log(t / b) + (1 - t / b), rest)
    far = xp.exp(b * rest - log_stirling(b)) / xp.sqrt(b * (2 * math.pi))
    c, t = xp.where(large, 1, a), xp.where(large, 1, xp.minimum(x, 1e4))
    return xp.where(large, far, xp.pow(t, c) * xp.exp(-t) / xp.gamma(c + 1))


def _gamma_upper_small(xp: Any, a: Any, x: Any) -> Any:
    """The upper function where it is the smaller one and limits are up to 1.1: one less a power series, without 1."""
    series = 1 / (a + 20)
    for k in range(19, 0, -1):
        series = 1 / (a + k) - x * series / (k + 1)
    log_first = xp.log(x) * a - gammaln_after_one(xp, a)
    return xp.exp(log_first) * a * x * series - xp.expm1(log_first)


def _gamma_inside(xp: Any, a: Any, x: Any, upper: bool) -> Any:
    """The lower or the upper function of parameters and limits above zero."""
    u = (x - a) / a
    uniform = (a >= 20) & (xp.abs(u) <= 0.3)
    least, is_lower = _gamma_uniform(xp, xp.where(uniform, a, 20), xp.where(uniform, u, 0))
    power = _gamma_power(xp, xp.where(uniform, 1, a), xp.where(uniform, 1, x))
    below = x < xp.maximum(a, 1.1)
    b, t = xp.where(below & ~uniform, a, 1), xp.where(below & ~uniform, x, 1)
    term = t / (b + 1)
    series = term + 1
    for k in range(2, 100):
        term = term * (t / (b + k))
        series = series + term
    b, t = xp.where(below | uniform, 1, a), xp.where(below | uniform, 4, x)
    fraction = t - b + (2 * 90 + 1)
    for k in range(90, 0, -1):
        fraction = (t - b + (2 * k - 1)) - k * (k - b) / fraction
    other = power * xp.where(below, series, b / fraction)
    least, is_lower = xp.where(uniform, least, other), xp.where(uniform, is_lower, below)
    if not upper:
        return xp.where(is_lower, least, 1 - least)
    small = (x < 1.1) & (a < xp.where(x < 0.5, -0.4 / xp.log(xp.minimum(x, 0.5)), x * 1.1))
    series = _gamma_upper_small(xp, xp.where(small, a, 1), xp.where(small, x, 1))
    return xp.where(small, series, xp.where(is_lower, 1 - least, least))


def _gamma_functions(xp: Any, x1: Any, x2: Any, upper: bool) -> Any:
    x1, x2 = as_array(xp, x1, x2), as_array(xp, x2, x1)
    inside = (x1 > 0) & (x2 > 0) & (x1 < math.inf) & (x2 < math.inf)
    y = _gamma_inside(xp, xp.where(inside, x1, 1), xp.where(inside, x2, 1), upper)
    full = (x1 == 0) | (x2 == math.inf)  # all of the integral is below the limit
    empty = (x2 == 0) | (x1 == math.inf)
    y = xp.where(full, float(not upper), xp.where(empty, float(upper), y))
    return xp.where((x1 >= 0) & (x2 >= 0) & ~(full & empty), y, math.nan)


def _density_parameter(xp: Any, g: Any, y: Any, x1: Any, x2: Any) -> Any:
    return xp.scale(xp.scale(g, y), xp.log(as_array(xp, x2, g)) - xp.psi(as_array(xp, x1, g)))


def _density_limit(xp: Any, g: Any, y: Any, x1: Any, x2: Any) -> Any:
    a, x = as_array(xp, x1, g), as_array(xp, x2, g)
    end = (x == 0) & (a >= 1)  # of zero nothing is left to divide: there by the density of one parameter less
    more = end & (a > 1)
    less = xp.gamma_density(xp.where(more, a - 1, 1), xp.where(more, x, 1))
    rise = xp.unscale(xp.scale(xp.scale(g, y), a - 1), xp.where(end, 1, x))
    return xp.where(more, xp.scale(g, less), rise) - xp.scale(g, y)


@primitive(ELEMENTWISE, vjp=(_density_parameter, _density_limit), dtype="float", real=True)
def gamma_density(xp: Any, x1: Any, x2: Any, /) -> Any:
    """``x2**(x1 - 1) * exp(-x2) / gamma(x1)``, the derivative of `gammainc`; its own may be infinite at zero."""
    x1, x2 = as_array(xp, x1, x2), as_array(xp, x2, x1)
    inside = (x1 > 0) & (x2 > 0) & (x1 < math.inf) & (x2 < math.inf)
    a, x = xp.where(inside, x1, 1), xp.where(inside, x2, 1)
    edge = xp.where(x1 > 1, 0, xp.where(x1 == 1, 1, xp.full_like(x2 + x1, fill_value=math.inf)))
    y = xp.where(inside, _gamma_power(xp, a, x) * (a / x), xp.where((x2 == 0) & (x1 > 0), edge, 0))
    return xp.where((x1 >= 0) & (x1 < math.inf) & (x2 >= 0) & (x1 + x2 > 0), y, math.nan)


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, x1, x2: xp.scale(g, xp.gamma_slope(x1, x2)),
        lambda xp, g, x1, x2: xp.scale(g, xp.gamma_density(x1, x2)),
    ),
    dtype="float",
    real=True,
)
def lower_gamma(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Regularised lower incomplete gamma function; its derivative at zero is infinite for parameters below one."""
    return _gamma_functions(xp, x1, x2, False)


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, x1, x2: -xp.scale(g, xp.gamma_slope(x1, x2)),
        lambda xp, g, x1, x2: -xp.scale(g, xp.gamma_density(x1, x2)),
    ),
    dtype="float",
    real=True,
)
def upper_gamma(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Regularised upper incomplete gamma function; its derivative at zero is infinite for parameters below one."""
    return _gamma_functions(xp, x1, x2, True)


def gammainc(a: Any, x: Any) -> Any:
    """Regularised lower incomplete gamma function.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.incomplete import gammainc
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> gammainc(1.0, x).sum().backward()
    >>> x.grad.tolist()
    [0.3679, 0.1353]
    """
    return lower_gamma(a, x)


def gammaincc(a: Any, x: Any) -> Any:
    """Regularised upper incomplete gamma function.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.incomplete import gammaincc
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> gammaincc(1.0, x).sum().backward()
    >>> x.grad.tolist()
    [-0.3679, -0.1353]
    """
    return upper_gamma(a, x)


igamma, igammac = gammainc, gammaincc


# -- their derivatives with respect to the parameter -----------------------------------------------
def _gamma_logs(xp: Any, a: Any, order: int) -> tuple[Any, Callable[[Any], Any]]:
    """``psi(a)``, and the function of ``log(t)`` that is the density's derivative over the density.

    The density is ``a`` times an exponential whose logarithm has moderate derivatives for the smallest ``a``, too.
    """
    slopes = psis(xp, a + 1, order)
    once = 1 / a

    def factor(log_t: Any) -> Any:
        logs = [log_t - slopes[0], *(-slope for slope in slopes[1:])]
        powers: list[Any] = [1.0]  # derivatives of the exponential, over it
        for n in range(order):
            powers.append(sum(math.comb(n, i) * logs[i] * powers[n - i] for i in range(n + 1)))
        return powers[order] + (order * once) * powers[order - 1]

    return slopes[0] - once, factor


def _gamma_series(xp: Any, a: Any, x: Any, order: int) -> Any:
    """``x**a / gamma(a + 1)`` times a power series."""
    slopes, log_x = psis(xp, a + 1, order), xp.log(x)
    first = xp.exp(a * log_x - xp.gammaln(a + 1))

    def series(k: int, _: int) -> Any:
        total, power = (1.0 if k == 0 else 0.0) + 0 * x, 1.0
        for n in range(1, 21):
            power = power * (x / -n)
            total = total + power * fraction(a, n, k)
        return total

    def powers(i: int, j: int) -> Any:
        return bell(lambda i, j: log_x - slopes[0] if i == 1 else -slopes[i - 1], i, j)

    return first * leibniz(order, 0, powers, series)


def _gamma_integral(xp: Any, a: Any, x: Any, order: int) -> Any:
    """The density's derivative, integrated from x to an end, in ``w``, by which the logarithm of the limit moves."""
    psi, factor = _gamma_logs(xp, a, order)
    log_x = xp.log(x)
    lower = log_x < psi
    sign = xp.where(lower, 0 * x - 1, 0 * x + 1)
    apart = xp.abs(x - a)
    short = _reach(apart, x * (1 / 3))  # which is far enough where it is less than one
    below = xp.where(short <= 1, short, (x + _END) / a)
    above = _reach(apart, x * 0.5)
    above = xp.minimum(above, xp.log1p((_END + a * above) / x))
    length = xp.where(lower, below, above)
    total = 0 * x
    for node, weight in legendre(40):
        w = sign * length * node
        total = total + xp.exp(a * w - x * xp.expm1(w)) * factor(log_x + w) * weight
    return -sign * _gamma_power(xp, a, x) * a * length * total


def _gamma_slope_limit(xp: Any, g: Any, x1: Any, x2: Any, *, order: int) -> Any:
    a, x = as_array(xp, x1, g), as_array(xp, x2, g)
    a = xp.where(a == 0, 1e-30, a)  # zero times infinity, which has a limit
    _, factor = _gamma_logs(xp, a, order)
    return xp.scale(g, xp.gamma_density(a, x) * factor(xp.log(x)))


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, x1, x2, *, order: xp.scale(g, xp.gamma_slope(x1, x2, order=order + 1)),
        _gamma_slope_limit,
    ),
    dtype="float",
    real=True,
)
def gamma_slope(xp: Any, x1: Any, x2: Any, /, order: int = 1) -> Any:
    """The derivative of an order, at least one, of the lower incomplete gamma function with respect to ``x1``."""
    x1, x2 = as_array(xp, x1, x2), as_array(xp, x2, x1)
    inside = (x1 >= 0) & (x2 > 0) & (x1 < math.inf) & (x2 < math.inf)
    a, x = xp.where(inside, xp.maximum(x1, 1e-30), 1), xp.where(inside, x2, 1)
    small = x <= 1.1
    series = _gamma_series(xp, xp.where(small, a, 1), xp.where(small, x, 1), order)
    y = xp.where(small, series, _gamma_integral(xp, xp.where(small, 2, a), xp.where(small, 2, x), order))
    return xp.where((x1 >= 0) & (x2 >= 0), xp.where(inside, y, 0), math.nan)


# -- incomplete beta function ----------------------------------------------------------------------
def _beta_power(xp: Any, a: Any, b: Any, x: Any, rest: Any) -> Any:
    """``x**a * rest**b / beta(a, b)``, where ``rest = 1 - x``."""
    large = (a >= 8) & (b >= 8)
    p, q = xp.where(large, a, 8), xp.where(large, b, 8)
    t, r, s = xp.where(large, x, 0.5), xp.where(large, rest, 0.5), p + q
    d = t * q - p * r  # (x - mean) * s
    u, v = d / p, -d / q
    near = (u > -0.5) & (v > -0.5)
    exponent = p * _log1p_rest(xp, xp.where(near, u, 0)) + q * _log1p_rest(xp, xp.where(near, v, 0))
    far_u = xp.where(u > -0.5, xp.log1p(xp.maximum(u, -0.5)), xp.log(t * (s / p)))
    far_v = xp.where(v > -0.5, xp.log1p(xp.maximum(v, -0.5)), xp.log(r * (s / q)))
    exponent = xp.where(near, exponent, p * far_u + q * far_v)
    exponent = exponent - log_stirling(p) - log_stirling(q) + log_stirling(s)
    far = xp.exp(exponent) * xp.sqrt(p / s * q * (1 / (2 * math.pi)))
    p, q = xp.where(large, 1, a), xp.where(large, 1, b)
    t = xp.where(large, 0.5, xp.minimum(x, rest))
    p, q = xp.where(x <= rest, p, q), xp.where(x <= rest, q, p)
    return xp.where(large, far, xp.pow(t, p) * xp.exp(q * xp.log1p(-t)) / xp.beta(p, q))


def _beta_lower(xp: Any, a: Any, b: Any, x: Any, rest: Any) -> Any:
    """The integral up to ``x``, which is below the mean or about there."""
    power = _beta_power(xp, a, b, x, rest)
    wide = (a >= 500) & (b >= 500)
    p, q, t, r = xp.where(wide, 1, a), xp.where(wide, 1, b), xp.where(wide, 0.5, x), xp.where(wide, 0.5, rest)
    start = p * r - q * t + 1
    fraction = 0 * t
    for n in range(100, -1, -1):
        if n < 100:
            s = p + (2 * n + 1)
            fraction = (p + n) * (p + q + n) * (n + 1) * (q - (n + 1)) / s * (t / s) * t / fraction
        step = (p + n) / (p + (2 * n + 1)) * (start + n * (r + 1))
        fraction = step + fraction if n == 0 else n * (q - n) * t / (p + (2 * n - 1)) + n + step + fraction
    # With large parameters a bell in the logarithm of the odds: quadrature down from x
    p, q, t = xp.where(wide, a, 500), xp.where(wide, b, 500), xp.where(wide, x, 0.5)
    width = xp.sqrt(1 / p + 1 / q)
    z = xp.maximum(p * xp.where(wide, rest, 0.5) - q * t, 0) * width  # of its widths below the peak
    length = width * (xp.sqrt(z * z + 110) - z)
    total = 0 * t
    for node, weight in legendre(40):
        w = length * node
        total = total + xp.exp(-p * w - (p + q) * xp.log1p(t * xp.expm1(-w))) * weight
    return power * xp.where(wide, total * length, 1 / fraction)


def _beta_edges(x1: Any, x2: Any, x3: Any) -> Any:
    return (x1 > 0) & (x2 > 0) & (x3 > 0) & (x3 < 1) & (x1 < math.inf) & (x2 < math.inf)


def _as_arrays(xp: Any, *xs: Any) -> tuple[Any, ...]:
    like = next((x for x in xs if not isinstance(x, (int, float))), None)
    return xs if like is None else tuple(as_array(xp, x, like) for x in xs)


def _beta_functions(xp: Any, x1: Any, x2: Any, x3: Any, upper: bool) -> Any:
    x1, x2, x3 = _as_arrays(xp, x1, x2, x3)
    inside = _beta_edges(x1, x2, x3)
    a, b, x = xp.where(inside, x1, 1), xp.where(inside, x2, 1), xp.where(inside, x3, 0.5)
    low = x * (a + b + 2) <= a + 1
    least = _beta_lower(xp, xp.where(low, a, b), xp.where(low, b, a), xp.where(low, x, 1 - x), xp.where(low, 1 - x, x))
    y = xp.where(low, 1 - least, least) if upper else xp.where(low, least, 1 - least)
    full = (x3 == 1) | (x1 == 0) | (x2 == math.inf)  # all of the integral is below the limit
    empty = (x3 == 0) | (x2 == 0) | (x1 == math.inf)
    all_, nothing = float(not upper), float(upper)
    y = xp.where(full, all_, xp.where(empty, nothing, y))
    both = (x3 > 0) & (x3 < 1) & full & empty
    y = xp.where(x3 == 0, nothing, xp.where(x3 == 1, all_, y))
    degenerate = both | ((x1 == 0) & (x2 == 0)) | ((x1 == math.inf) & (x2 == math.inf))
    return xp.where((x1 >= 0) & (x2 >= 0) & (x3 >= 0) & (x3 <= 1) & ~degenerate, y, math.nan)


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, x1, x2, x3: xp.scale(g, xp.beta_slope(x1, x2, x3, orders=(1, 0))),
        lambda xp, g, x1, x2, x3: xp.scale(g, xp.beta_slope(x1, x2, x3, orders=(0, 1))),
        lambda xp, g, x1, x2, x3: xp.scale(g, xp.beta_density(x1, x2, x3)),
    ),
    dtype="float",
    real=True,
)
def lower_beta(xp: Any, x1: Any, x2: Any, x3: Any, /) -> Any:
    """Regularised incomplete beta function; derivatives at 0 and 1 are infinite for parameters below one.

    The derivative with respect to a parameter that is zero is NaN.
    """
    return _beta_functions(xp, x1, x2, x3, False)


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, x1, x2, x3: -xp.scale(g, xp.beta_slope(x1, x2, x3, orders=(1, 0))),
        lambda xp, g, x1, x2, x3: -xp.scale(g, xp.beta_slope(x1, x2, x3, orders=(0, 1))),
        lambda xp, g, x1, x2, x3: -xp.scale(g, xp.beta_density(x1, x2, x3)),
    ),
    dtype="float",
    real=True,
)
def upper_beta(xp: Any, x1: Any, x2: Any, x3: Any, /) -> Any:
    """The complement of `lower_beta`, with all digits where it is small, and derivatives of the other sign."""
    return _beta_functions(xp, x1, x2, x3, True)


def _beta_density_limit(xp: Any, g: Any, y: Any, x1: Any, x2: Any, x3: Any) -> Any:
    a, b, x = (as_array(xp, v, g) for v in (x1, x2, x3))
    return _beta_density_part(xp, g, y, a, b, x) - _beta_density_part(xp, g, y, b, a, 1 - x)


def _log_slope(xp: Any, g: Any, a: Any, b: Any, log_t: Any) -> Any:
    """The derivative of the density's logarithm with respect to ``a``."""
    a, b = as_array(xp, a, g), as_array(xp, b, g)
    return log_t - betaln_slope(xp, a, b)


def _beta_density_part(xp: Any, g: Any, y: Any, a: Any, b: Any, x: Any) -> Any:
    """``g * y * (a - 1) / x``; at zero by the density of one parameter less."""
    end = (x == 0) & (a >= 1)
    more = end & (a > 1)
    less = xp.beta_density(xp.where(more, a - 1, 1), xp.where(more, b, 1), xp.where(more, x, 0.5)) * (a + b - 1)
    return xp.where(more, xp.scale(g, less), xp.unscale(xp.scale(xp.scale(g, y), a - 1), xp.where(end, 1, x)))


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, y, x1, x2, x3: xp.scale(xp.scale(g, y), _log_slope(xp, g, x1, x2, xp.log(as_array(xp, x3, g)))),
        lambda xp, g, y, x1, x2, x3: xp.scale(
            xp.scale(g, y), _log_slope(xp, g, x2, x1, xp.log1p(-as_array(xp, x3, g)))
        ),
        _beta_density_limit,
    ),
    dtype="float",
    real=True,
)
def beta_density(xp: Any, x1: Any, x2: Any, x3: Any, /) -> Any:
    """The derivative of `betainc`, ``x3**(x1 - 1) * (1 - x3)**(x2 - 1) / beta(x1, x2)``, with poles."""
    x1, x2, x3 = _as_arrays(xp, x1, x2, x3)
    inside = _beta_edges(x1, x2, x3)
    a, b, x = xp.where(inside, x1, 1), xp.where(inside, x2, 1), xp.where(inside, x3, 0.5)
    near = xp.where(x3 == 0, x1, x2)  # the parameter that counts at an end
    edge = xp.where(near > 1, 0, xp.where(near == 1, x1 * x2, xp.full_like(near + x1, fill_value=math.inf)))
    y = xp.where(inside, _beta_power(xp, a, b, x, 1 - x) / (x * (1 - x)), edge)
    within, zero = (x3 > 0) & (x3 < 1), (x1 == 0) | (x2 == 0)
    y = xp.where(zero & within, 0, xp.where(zero & (near < 1) & ~within, math.nan, y))
    return xp.where((x1 >= 0) & (x2 >= 0) & (x1 + x2 < math.inf) & (x3 >= 0) & (x3 <= 1), y, math.nan)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """Regularised incomplete beta function.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.incomplete import betainc
    >>> x = lg.tensor([0.25, 0.5], requires_grad=True)
    >>> betainc(2.0, 1.0, x).sum().backward()
    >>> x.grad.tolist()
    [0.5, 1.0]
    """
    return lower_beta(a, b, x)


def betaincc(a: Any, b: Any, x: Any) -> Any:
    """Complement of `betainc`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.incomplete import betaincc
    >>> x = lg.tensor([0.25, 0.5], requires_grad=True)
    >>> betaincc(2.0, 1.0, x).sum().backward()
    >>> x.grad.tolist()
    [-0.5, -1.0]
    """
    return upper_beta(a, b, x)


# -- its derivatives with respect to the parameters ------------------------------------------------
def _beta_logs(xp: Any, a: Any, b: Any, m: int, n: int) -> Callable[..., Any]:
    """The function of ``log(t)`` and ``log(1 - t)`` that is the density's derivative over the density."""
    first, second, both = psis(xp, a, m), psis(xp, b, n), psis(xp, a + b, m + n)
    to_a, to_b = (rise(xp, a, b) if m else 0), (rise(xp, b, a) if n else 0)

    def factor(log_t: Any, log_rest: Any) -> Any:
        def logs(i: int, j: int) -> Any:
            if i + j == 1:
                return log_t + to_a if i else log_rest + to_b
            return both[i + j - 1] - (first[i - 1] if j == 0 else second[j - 1] if i == 0 else 0)

        return bell(logs, m, n)

    return factor


def _beta_series(xp: Any, p: Any, q: Any, z: Any, m: int, n: int) -> Any:
    """``z**p / (p * beta(p, q))`` times a power series, for limits up to a half that are small beside ``1 / q``."""
    log_rest = xp.log1p(-z)
    first = _beta_power(xp, p, q, z, 1 - z) * xp.exp(-q * log_rest) / p
    ones, seconds, both, log_z = psis(xp, p + 1, m), psis(xp, q, n), psis(xp, p + q, m + n), xp.log(z)

    def logs(i: int, j: int) -> Any:
        if i + j == 1:
            return log_z + (both[0] - ones[0]) if i else rise(xp, q, p)
        return both[i + j - 1] - (ones[i - 1] if j == 0 else seconds[j - 1] if i == 0 else 0)

    sums = {(i, j): (1.0 if i == j == 0 else 0.0) + 0 * z for i in range(m + 1) for j in range(n + 1)}
    terms = [1.0 + 0 * z] + [0 * z] * n  # derivatives of the coefficient with respect to q
    for k in range(1, 56):
        terms = [(terms[j] * (k - q) - (j * terms[j - 1] if j else 0)) * (z / k) for j in range(n + 1)]
        for i, j in sums:
            sums[i, j] = sums[i, j] + terms[j] * fraction(p, k, i)
    return first * leibniz(m, n, lambda i, j: bell(logs, i, j), lambda i, j: sums[i, j])


def _beta_integral(xp: Any, p: Any, q: Any, z: Any, rest: Any, m: int, n: int) -> Any:
    """The density's derivative, integrated from z down, in ``w``, by which the logarithm of the odds moves."""
    factor, s = _beta_logs(xp, p, q, m, n), p + q
    low = z < 0.5
    log_z, log_rest = xp.log(z), xp.log(rest)
    short = _reach(p * rest - q * z, s * z * rest * (1 / 3))
    long = (_END - s * log_rest) / p
    for _ in range(2):
        long = xp.minimum(long, xp.log1p(xp.expm1((_END + q * long) / s) / rest))
    length = xp.where(short <= 1, short, long)
    total = 0 * z
    for node, weight in legendre(40):
        w = length * node
        down = xp.log1p(z * xp.expm1(-w))
        up = xp.log1p(rest * xp.expm1(w))  # the same and w more
        exponent = xp.where(low, -p * w - s * down, q * w - s * up)
        total = total + xp.exp(exponent) * factor(log_z - xp.where(low, w + down, up), log_rest - down) * weight
    return _beta_power(xp, p, q, z, rest) * length * total


def _beta_slope_inside(xp: Any, a: Any, b: Any, x: Any, m: int, n: int) -> Any:
    rest = 1 - x
    below = (x <= 0.5) & (b * x <= 1.1)
    above = (rest <= 0.5) & (a * rest <= 1.1) & ~below
    series = below | above
    # Both orders and both parameters change places with the ends
    root = xp.exp(-rise(xp, a, b)) if m else -xp.expm1(-rise(xp, b, a))
    lower = xp.where(series, below, x < root)
    p, q, z, r = (xp.where(lower, one, other) for one, other in ((a, b), (b, a), (x, rest), (rest, x)))
    made = []
    for one, other in ((m, n), (n, m)):
        u, v, t = (xp.where(series, value, c) for value, c in ((p, 1), (q, 1), (z, 0.25)))
        power = _beta_series(xp, u, v, t, one, other)
        u, v, t, s = (xp.where(series, c, value) for value, c in ((p, 3), (q, 3), (z, 0.5), (r, 0.5)))
        made.append(xp.where(series, power, _beta_integral(xp, u, v, t, s, one, other)))
    return xp.where(lower, made[0], -made[1])


def _beta_slope_limit(xp: Any, g: Any, x1: Any, x2: Any, x3: Any, *, orders: tuple[int, int]) -> Any:
    a, b, x = (as_array(xp, v, g) for v in (x1, x2, x3))
    factor = _beta_logs(xp, a, b, *orders)
    return xp.scale(g, xp.beta_density(a, b, x) * factor(xp.log(x), xp.log1p(-x)))


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, x1, x2, x3, *, orders: xp.scale(g, xp.beta_slope(x1, x2, x3, orders=(orders[0] + 1, orders[1]))),
        lambda xp, g, x1, x2, x3, *, orders: xp.scale(g, xp.beta_slope(x1, x2, x3, orders=(orders[0], orders[1] + 1))),
        _beta_slope_limit,
    ),
    dtype="float",
    real=True,
)
def beta_slope(xp: Any, x1: Any, x2: Any, x3: Any, /, orders: tuple[int, int] = (1, 0)) -> Any:
    """The derivative of orders, not both zero, of the incomplete beta function with respect to ``x1`` and ``x2``."""
    x1, x2, x3 = _as_arrays(xp, x1, x2, x3)
    inside = (x1 > 0) & (x2 > 0) & (x3 > 0) & (x3 < 1) & (x1 < math.inf) & (x2 < math.inf)
    a, b, x = xp.where(inside, x1, 1), xp.where(inside, x2, 1), xp.where(inside, x3, 0.5)
    y = _beta_slope_inside(xp, a, b, x, *orders)
    end = (x1 > 0) & (x2 > 0) & ((x3 == 0) | (x3 == 1))
    return xp.where(inside, y, xp.where(end, xp.zeros_like(y), math.nan))
