"""The gamma function and its kin: logarithm, derivatives of it, beta functions, Hurwitz's zeta function.

Between 0 and 2 a quotient of polynomials (fitted to 1e-17), up to about ten the recurrence, above it Stirling's
series; negative numbers by reflection. The number of steps is fixed, so the programs run on any back end. Largest
errors found in units in the last place of float64 (float32 is alike) against mpmath:

    gammaln (x > 0) 5, gamma 5, psi (x > 0) 4, polygamma (x > 0) 4, zeta 6,
    beta 6 up to a sum of 171 and 80 above, betaln 3 but for the neighbourhood of its zeros

Where a function crosses zero (gammaln and psi below zero, betaln) the error is small in absolute terms only, as in
other libraries; the zeros of gammaln at 1 and 2 and that of psi at 1.46 keep all digits.
"""

import math
import numbers
from collections.abc import Sequence
from typing import Any

from lucidgrad.core.dispatch import number
from lucidgrad.core.primitive import ELEMENTWISE, primitive
from lucidgrad.extents import check_count
from lucidgrad.ops.numbers import as_array, only_real, together

from .jets import bell, leibniz, psis
from .polynomials import polynomial, ratio

__all__ = [
    "beta", "betaln", "digamma", "gamma", "gammaln", "hurwitz_zeta", "lgamma", "multigammaln", "mvlgamma", "polygamma",
    "psi", "psi_derivative", "zeta",
]  # fmt: skip

# In t = x - 1 on [0, 1]: gammaln(x) / (t * (t - 1)), gamma(x), psi(x) / (x - root).
GAMMALN = (
    (
        *(0.0002863302305915675, 0.01335232028577317, 0.15704300250969247, 0.7325115068578646),
        *(1.573396949493047, 1.5596717057522156, 0.5772156649015329),
    ),
    (
        *(6.197815272364046e-05, 0.005110524940277966, 0.09380064459488484, 0.6662951719597183),
        *(2.2347587149262016, 3.7851551293303727, 3.1269474895188387, 1.0),
    ),
)
GAMMA = (
    (
        *(2.902250155872659e-05, 0.0003524597949092313, 0.0027328158824730425, 0.016988237551121128),
        *(0.0738970315467388, 0.2664425060621577, 0.6021935674856143, 1.0),
    ),
    (
        *(0.00021462798133534784, -0.002976412269023573, 0.010970709238829842, 0.02613385940287833),
        *(-0.20927637091403406, -0.04184000500256148, 1.1794092323871486, 1.0),
    ),
)
PSI = (
    (
        *(1.0894678528383955e-06, 0.0005811135063985677, 0.01996408274151926, 0.21631407251432455),
        *(0.9711327526262392, 1.8675925104074453, 1.2503801375034054),
    ),
    (
        *(0.00012043151172286901, 0.006100975692434821, 0.09111902253303285, 0.5710455727133128),
        *(1.6630736963665909, 2.1771665986671342, 1.0),
    ),
)
ROOT = 0.46163177490234375, 3.7006601859126265e-07  # of psi, less one; the first part is exact in float32

#: Bernoulli numbers B2, B4, ...
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
# The sums after Stirling's formula for gammaln and psi, in powers of x**-2.
STIRLING = [b / ((2 * k + 1) * (2 * k + 2)) for k, b in enumerate(BERNOULLI[:9])][::-1]
STIRLING_PSI = [b / (2 * k + 2) for k, b in enumerate(BERNOULLI[:9])][::-1]
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def log_stirling(x: Any) -> Any:
    """What Stirling's formula lacks of gammaln, for 8 and above."""
    s = 1 / x
    return s * polynomial(s * s, STIRLING)


def _cycle(xp: Any, x: Any, there: Any) -> tuple[Any, Any]:
    """``sin(pi x)`` and ``cos(pi x)`` up to a common sign, where ``there``; else one half's."""
    x = xp.where(there, x, 0.5)
    r = x - xp.round(x)
    return xp.sin(r * math.pi), xp.sin((0.5 - xp.abs(r)) * math.pi)


def limit(xp: Any, x: Any) -> float:
    """Where the gamma function leaves the range of x's dtype."""
    return 171.6243769563027 if float(xp.finfo(x.dtype).max) > 1e300 else 35.04


def _signed_infinity(xp: Any, x: Any) -> Any:
    return xp.copysign(xp.full_like(x, fill_value=math.inf), x)


def _product(xp: Any, x: Any, steps: int) -> Any:
    """The product of all of ``x - 1, x - 2, ...`` that are not below one."""
    y = xp.maximum(x - 1, 1)
    for k in range(2, steps + 1):
        y = y * xp.maximum(x - k, 1)
    return y


# -- the gamma function and its logarithm --------------------------------------------------------
def gammaln_after_one(xp: Any, x: Any) -> Any:
    """``gammaln(1 + x)`` for ``x`` from 0 to 2, to its last digits near zero."""
    t = xp.where(x < 1, x, x - 1)
    return t * (t - 1) * ratio(t, GAMMALN) + xp.log(xp.maximum(x, 1))


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.scale(g, xp.psi(x)), dtype="float", real=True)
def gammaln(xp: Any, x: Any, /) -> Any:
    """Logarithm of the absolute value of the gamma function.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.gamma import gammaln
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> gammaln(x).sum().backward()
    >>> x.grad.tolist()
    [-0.5772, 0.4228]
    """
    a = xp.abs(x)
    near, far = xp.minimum(a, 8.0), xp.maximum(a, 8.0)
    t = near - xp.floor(near)
    step = xp.log(xp.where(a < 1, xp.where(a == 0, 1, a), _product(xp, near, 6)))
    small = t * (t - 1) * ratio(t, GAMMALN) + xp.where(a < 1, -step, step)
    large = (far - 0.5) * (xp.log(far) - 1) + (_HALF_LOG_2PI - 0.5) + log_stirling(far)
    y = xp.where(a < 8, small, large)
    below = (x < 0) & (a < math.inf)
    sine = xp.abs(_cycle(xp, x, below)[0])
    pole = (x == 0) | (sine == 0) | (x == -math.inf)
    reflected = math.log(math.pi) - xp.log(xp.where(pole, 1, sine)) - xp.log(xp.where(below & ~pole, a, 1)) - y
    return xp.where(pole, math.inf, xp.where(below, reflected, y))


lgamma = gammaln


@primitive(ELEMENTWISE, vjp=lambda xp, g, y, x: xp.scale(xp.scale(g, y), xp.psi(x)), dtype="float", real=True)
def gamma(xp: Any, x: Any, /) -> Any:
    """Gamma function, NaN at negative integers.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.gamma import gamma
    >>> x = lg.tensor([1.0, 4.0], requires_grad=True)
    >>> gamma(x).sum().backward()
    >>> x.grad.tolist()
    [-0.5772, 7.5367]
    """
    a, end = xp.abs(x), limit(xp, x)
    near = xp.minimum(a, 12.0)
    t = near - xp.floor(near)
    base, safe = ratio(t, GAMMA), xp.where(a == 0, 1, a)
    small = xp.where(a < 1, base / xp.where(a < 1, safe, 1), base * _product(xp, near, 10))
    far = xp.minimum(xp.maximum(a, 12.0), end)
    root = xp.pow(far, far * 0.5 - 0.25)  # the exponent is exact
    large = root * xp.exp(-far) * (root * math.sqrt(2 * math.pi)) * xp.exp(log_stirling(far))
    y = xp.where(a < 12, small, xp.where(a >= end, math.inf, large))
    below = (x < 0) & (a < math.inf)
    sine, turns = _cycle(xp, x, below)[0], xp.round(xp.where(below, x, 0))
    sine = xp.where(turns - 2 * xp.floor(turns * 0.5) == 0, sine, -sine)
    pole = below & (sine == 0)
    tiny = below & (a < 1e-17)  # the gamma function is 1 / x there; a * sine would underflow
    reflected = math.pi / xp.where(below & ~pole & ~tiny, safe * sine, 1) / y
    y = xp.where(below, xp.where(tiny, -y, reflected), y)
    y = xp.where(x == 0, _signed_infinity(xp, x), y)
    return xp.where(pole | (x == -math.inf), math.nan, y)


# -- derivatives of the logarithm ----------------------------------------------------------------
@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.scale(g, xp.psi_derivative(x, order=1)), dtype="float", real=True)
def psi(xp: Any, x: Any, /) -> Any:
    """Digamma function: the derivative of `gammaln`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.gamma import psi
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> psi(x).sum().backward()
    >>> x.grad.tolist()
    [1.6449, 0.6449]
    """
    a = xp.abs(x)
    near, far = xp.minimum(a, 10.0), xp.maximum(a, 10.0)
    t = near - xp.floor(near)
    small = (t - ROOT[0] - ROOT[1]) * ratio(t, PSI)
    for k in range(1, 9):
        d = near - k
        small = small + xp.where(d >= 1, 1 / xp.maximum(d, 1), 0)
    s = 1 / far
    large = xp.log(far) - s * (s * polynomial(s * s, STIRLING_PSI) + 0.5)
    upper = xp.where(a < 10, small, large)  # below one it is psi(a + 1)
    inverse = 1 / xp.where(a == 0, 1, a)
    y = xp.where(a < 1, upper - inverse, upper)
    below = (x < 0) & (a < math.inf)
    sine, cosine = _cycle(xp, x, below)
    pole = below & (sine == 0)
    turn = xp.where(below, cosine, 0) / xp.where(pole, 1, sine) * math.pi
    y = xp.where(below, xp.where(a < 1, upper, upper + inverse) - turn, y)
    y = xp.where(x == 0, -_signed_infinity(xp, x), y)
    return xp.where(pole | (x == -math.inf), math.nan, y)


digamma = psi


def _cotangent_derivative(n: int) -> list[float]:
    """Coefficients in c, highest first, of the n-th derivative of ``c = cot(x)``."""
    p = [0, 1]  # lowest first
    for _ in range(n):
        d = [k * c for k, c in enumerate(p)][1:]
        p = [-(a + b) for a, b in zip([*d, 0, 0], [0, 0, *d], strict=True)]
    return [float(c) for c in reversed(p)]


def _psi_derivative_vjp(xp: Any, g: Any, x: Any, *, order: int) -> Any:
    return xp.scale(g, xp.psi_derivative(x, order=order + 1))


@primitive(ELEMENTWISE, vjp=_psi_derivative_vjp, dtype="float", real=True)
def psi_derivative(xp: Any, x: Any, /, order: int = 1) -> Any:
    """The derivative of an order, at least one, of `psi`."""
    n = order
    start = max(10, n)
    sign = 1.0 if n % 2 else -1.0
    positive = x > 0
    at = xp.where(positive, x, 1 - xp.where(x == -math.inf, 0, x))
    end = at + start
    # Euler's and Maclaurin's sum of (at + k) ** -(n + 1), scaled so that no coefficient is large
    rest, rising = [], float(n + 1) / start
    for k, b in enumerate(BERNOULLI):
        rest.append(b / math.factorial(2 * k + 2) * rising)
        rising *= (n + 2 * k + 2) * (n + 2 * k + 3) / start**2
    u = start / end
    total = xp.pow(end, float(-n)) / n + xp.pow(end, float(-n - 1)) * (u * polynomial(u * u, rest[::-1]) + 0.5)
    for k in range(start - 1, -1, -1):
        total = total + xp.pow(at + k, float(-n - 1))
    y = total * (sign * (math.factorial(n) if n <= 170 else math.inf))
    below = (x < 0) & (x > -math.inf)
    sine, cosine = _cycle(xp, x, below)
    pole = (x == 0) | (sine == 0)
    turn = xp.where(below, cosine, 0) / xp.where(pole, 1, sine)
    turn = polynomial(turn, _cotangent_derivative(n)) * math.pi ** (n + 1)
    y = xp.where(positive, y, y * -sign - turn)
    return xp.where(pole, sign * math.inf, xp.where(x == -math.inf, math.nan, y))


_MOST_ORDER = 1000  # from about 170 on the factorials in it are infinite


def polygamma(n: Any, x: Any, /) -> Any:
    """The derivative of order ``n`` of `psi`: an integer, or an array of them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.gamma import polygamma
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> polygamma(1, x).sum().backward()
    >>> x.grad.tolist()
    [-2.4041, -0.4041]
    """
    only_real("polygamma", n, x)
    n = number(n)
    if isinstance(n, numbers.Integral):
        n = int(n)
        if not 0 <= n <= _MOST_ORDER:
            raise RuntimeError(
                f"polygamma: order n = {n}, expected an integer that is not negative, and at most {_MOST_ORDER}"
            )
        return psi_derivative(x, order=n) if n else psi(x)
    from lucidgrad.ops.elementwise.choice import where

    n, x = together(n, x)
    order = (n % 2 * 2 - 1) * gamma(n + 1.0)
    return where(n == 0, psi(x), order * hurwitz_zeta(where(n == 0, 2.0, n + 1.0), x))


def multigammaln(a: Any, d: int) -> Any:
    """Logarithm of the gamma function of ``d`` dimensions.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.gamma import multigammaln
    >>> x = lg.tensor([2.0, 3.0], requires_grad=True)
    >>> multigammaln(x, 2).sum().backward()
    >>> x.grad.tolist()
    [0.4593, 1.626]
    """
    d = check_count("multigammaln", "d", d, 1, 2**20)
    total = gammaln(a) + d * (d - 1) / 4 * math.log(math.pi)
    for k in range(1, d):
        total = total + gammaln(a - k / 2)
    return total


def mvlgamma(input: Any, p: int) -> Any:
    """`multigammaln` under PyTorch's name.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.mvlgamma(lg.tensor([2.0, 3.0]), p=2).tolist()
    [0.4516, 1.5501]
    """
    return multigammaln(input, check_count("mvlgamma", "p", p, 1, 2**20))


# -- Hurwitz's zeta function ---------------------------------------------------------------------
def _zeta_vjp(xp: Any, g: Any, x1: Any, x2: Any) -> Any:
    return -xp.scale(g, x1 * xp.hurwitz_zeta(x1 + 1, x2))


def _zeta_sum(xp: Any, s: Any, q: Any) -> Any:
    """The sum of ``(q + k) ** -s`` for positive ``q``: ten terms, then Euler's and Maclaurin's formula."""
    end = q + 10
    power = xp.pow(end, -s)
    s = xp.minimum(s, 1000.0)  # of higher orders the first terms are all there is
    term, rest = power * s / end, power * 0.5
    for k, b in enumerate(BERNOULLI):
        rest = rest + term * (b / math.factorial(2 * k + 2))
        term = term * ((s + (2 * k + 1)) * (s + (2 * k + 2)) / (end * end))
    total = rest + xp.pow(end, 1 - s) / (s - 1)
    for k in range(9, -1, -1):
        total = total + xp.pow(q + k, -s)
    return total


@primitive(
    ELEMENTWISE, vjp=(lambda xp, g, x1, x2: xp.scale(g, xp.zeta_slope(x1, x2)), _zeta_vjp), dtype="float", real=True
)
def hurwitz_zeta(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The sum of ``(x2 + k) ** -x1`` over all k; where ``x1`` is an integer, ``x2`` may be negative.

    There it has no derivative with respect to ``x1``: NaN.
    """
    x1, x2 = as_array(xp, x1, x2), as_array(xp, x2, x1)
    s = xp.where(x1 > 1, x1, 2)
    below = (x2 < 0) & (x2 > -math.inf)
    whole = xp.floor(x2)
    pole = (x2 <= 0) & (whole == x2)
    first = xp.where(x2 > 0, x2, xp.where(pole | ~below, 1, x2 - whole))
    # The bases below zero, without their signs: 1 - first, 2 - first, ..., -x2.
    other = _zeta_sum(xp, s, xp.where(below & ~pole, 1 - first, 1)) - _zeta_sum(xp, s, xp.where(below, 1 - x2, 1))
    odd = s - 2 * xp.floor(s * 0.5) == 1
    y = _zeta_sum(xp, s, first) + xp.where(below, xp.where(odd, -other, other), 0)
    y = xp.where((x1 == 1) | pole, math.inf, y)
    return xp.where((x1 >= 1) & ((x2 >= 0) | pole | (below & (xp.floor(s) == s))), y, math.nan)


def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz's zeta function, the sum of ``(q + k) ** -x``; Riemann's if ``q`` is not given.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.gamma import zeta
    >>> q = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> zeta(2.0, q).sum().backward()
    >>> q.grad.tolist()
    [-2.4041, -0.4041]
    """
    return riemann_zeta(x) if q is None else hurwitz_zeta(x, q)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.scale(g, xp.riemann_slope(x)), dtype="float", real=True)
def riemann_zeta(xp: Any, x: Any, /) -> Any:
    """Riemann's zeta function of real numbers; far below zero its derivative overflows where its value is zero."""
    below = x < -1e-3
    s = xp.where(below, 1 - xp.maximum(x, -400.0), x)  # reflected
    y = xp.where(s == 1, math.inf, _zeta_sum(xp, xp.where(s == 1, 2, s), xp.ones_like(s)))
    turn = xp.where(below, x * 0.25, 0)
    turn = (turn - xp.floor(turn)) * 2
    sine = xp.sin(turn * math.pi)
    power = xp.exp(xp.gammaln(xp.where(below, s, 1)) - xp.where(below, s, 0) * math.log(2 * math.pi))
    reflected = xp.where(turn - xp.floor(turn) == 0, 0, power * (sine * 2) * xp.where(below, y, 1))
    return xp.where(below, xp.where(x == -math.inf, math.nan, reflected), y)


# -- derivatives of zeta functions with respect to the exponent ------------------------------------
def _zeta_sum_derivative(xp: Any, s: Any, q: Any, order: int) -> Any:
    """The derivative of the sum of ``(q + k) ** -s`` for positive ``q``."""
    end = q + 10
    log_end = xp.log(end)
    power = xp.pow(end, -s)
    s = xp.minimum(s, 1000.0)  # of higher orders the first terms are all there is

    def derivative(parts: Sequence[Any]) -> Any:
        """Of ``end ** -s`` times what has these derivatives."""
        return sum(math.comb(order, k) * (-log_end) ** (order - k) * part for k, part in enumerate(parts))

    total = [0.5 * (k == 0) + (-1) ** k * math.factorial(k) * end / (s - 1) ** (k + 1) for k in range(order + 1)]
    rising = [s, 1.0 + 0 * s, *[0 * s] * order][: order + 1]
    scale = 1 / end
    for k, b in enumerate(BERNOULLI):
        total = [part + r * scale * (b / math.factorial(2 * k + 2)) for part, r in zip(total, rising, strict=True)]
        for shift in (2 * k + 1, 2 * k + 2):
            rising = [r * (s + shift) + (j * rising[j - 1] if j else 0) for j, r in enumerate(rising)]
        scale = scale / (end * end)
    found = derivative(total) * power
    for k in range(9, -1, -1):
        found = found + (-xp.log(q + k)) ** order * xp.pow(q + k, -s)
    return found


def _zeta_slope_shift(xp: Any, g: Any, x1: Any, x2: Any, *, order: int) -> Any:
    """From ``-s * zeta(s + 1, q)``, the derivative with respect to q."""
    x1, x2 = as_array(xp, x1, g), as_array(xp, x2, g)
    less = xp.hurwitz_zeta(x1 + 1, x2) if order == 1 else xp.zeta_slope(x1 + 1, x2, order=order - 1)
    slope = x1 * xp.zeta_slope(x1 + 1, x2, order=order) + order * less
    return -xp.scale(g, xp.where(x1 > 1, slope, math.nan))  # as the value itself


@primitive(
    ELEMENTWISE,
    vjp=(lambda xp, g, x1, x2, *, order: xp.scale(g, xp.zeta_slope(x1, x2, order=order + 1)), _zeta_slope_shift),
    dtype="float",
    real=True,
)
def zeta_slope(xp: Any, x1: Any, x2: Any, /, order: int = 1) -> Any:
    """The derivative of an order, at least one, of Hurwitz's zeta function with respect to ``x1``."""
    x1, x2 = as_array(xp, x1, x2), as_array(xp, x2, x1)
    inside = (x1 > 1) & (x1 < math.inf) & (x2 > 0) & (x2 < math.inf)
    y = _zeta_sum_derivative(xp, xp.where(inside, x1, 2), xp.where(inside, x2, 1), order)
    return xp.where(inside, y, xp.where((x1 == math.inf) & (x2 > 1), xp.zeros_like(y), math.nan))


@primitive(
    ELEMENTWISE,
    vjp=lambda xp, g, x, *, order: xp.scale(g, xp.riemann_slope(x, order=order + 1)),
    dtype="float",
    real=True,
)
def riemann_slope(xp: Any, x: Any, /, order: int = 1) -> Any:
    """The derivative of an order, at least one, of Riemann's zeta function."""
    below = x < -1e-3
    s = xp.where(below, 1 - xp.maximum(x, -400.0), xp.where((x == 1) | (x == math.inf), 2, x))
    at = xp.ones_like(s)
    zetas = [_zeta_sum_derivative(xp, s, at, k) for k in range(order + 1)]
    turn = xp.where(below, x * 0.25, 0)
    turn = (turn - xp.floor(turn)) * (2 * math.pi)
    sines, half = (xp.sin(turn), xp.cos(turn)), math.pi / 2
    t = xp.where(below, s, 1)
    slopes = psis(xp, t, order)
    power = 2 * xp.exp(xp.gammaln(t) - t * math.log(2 * math.pi))

    def powers(i: int, j: int) -> Any:
        return bell(lambda i, _: math.log(2 * math.pi) - slopes[0] if i == 1 else (-1) ** i * slopes[i - 1], i, j)

    def others(i: int, _: int) -> Any:
        return leibniz(
            i,
            0,
            lambda k, _: sines[k % 2] * (1 if k % 4 < 2 else -1) * half**k,
            lambda k, _: (-1) ** k * zetas[k],
        )

    y = xp.where(below, power * leibniz(order, 0, powers, others), zetas[order])
    y = xp.where(x == 1, -math.inf if order % 2 else math.inf, xp.where(x == math.inf, 0, y))
    return xp.where((x != x) | (x == -math.inf), math.nan, y)


# -- beta functions --------------------------------------------------------------------------------
def rise(xp: Any, a: Any, b: Any) -> Any:
    """``psi(a + b) - psi(a)`` of positive numbers: every term has the factor b, so that nothing cancels."""
    small, steps = a < 10, 0.0
    for k in range(10):
        steps = steps + b / (a + k + b) / (a + k)
    z = xp.where(small, a + 10, a)
    end = z + b
    part = b / end
    u, v = 1 / (z * z), 1 / (end * end)
    first = rest = STIRLING_PSI[0]  # the difference quotient of Stirling's series at u and v, by Horner's rule
    for c in STIRLING_PSI[1:]:
        first = first * v + c
        rest = rest * u + first
    return xp.where(small, steps, 0) + (xp.log1p(b / z) + part * (0.5 / z + (z + end) / end * u * rest))


def betaln_slope(xp: Any, a: Any, b: Any) -> Any:
    """``psi(a) - psi(a + b)``."""
    a, b = as_array(xp, a, b), as_array(xp, b, a)
    plain = (a > 0) & (b > 0) & (a < math.inf) & (b < math.inf)
    one = xp.where(plain, 1, a)
    return xp.where(plain, -rise(xp, xp.where(plain, a, 1), xp.where(plain, b, 1)), xp.psi(one) - xp.psi(one + b))


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, x1, x2: xp.scale(g, betaln_slope(xp, x1, x2)),
        lambda xp, g, x1, x2: xp.scale(g, betaln_slope(xp, x2, x1)),
    ),
    dtype="float",
    real=True,
)
def betaln(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Logarithm of the absolute value of the beta function, NaN at negative integers.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.gamma import betaln
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> betaln(x, 1.0).sum().backward()
    >>> x.grad.tolist()
    [-1.0, -0.5]
    """
    x1, x2 = as_array(xp, x1, x2), as_array(xp, x2, x1)
    low, high = xp.minimum(x1, x2), xp.maximum(x1, x2)
    one, large, both = xp.gammaln(low), (high >= 8) & (low > -1), low >= 8
    # Stirling's formula with the large terms cancelled on paper
    q = xp.where(large & (high < math.inf), high, 8)
    p = xp.where(large & (low < math.inf), low, 1)
    ends = log_stirling(q) - log_stirling(p + q) - (q - 0.5) * xp.log1p(p / q)
    half = xp.where(large, one, 0) - p * (xp.log(p + q) - 1)
    p = xp.where(both, p, 8)
    full = p * xp.log(p / (p + q)) - xp.log(p) * 0.5 + _HALF_LOG_2PI + log_stirling(p)
    three = xp.gammaln(xp.where(large, 1, low + high))
    endless = three == math.inf
    plain = xp.where(endless, -math.inf, one + xp.gammaln(high) - xp.where(endless, 0, three))
    y = xp.where(large, ends + xp.where(both, full, half), plain)
    y = xp.where(high == math.inf, xp.where(low > 0, -math.inf, xp.where(low <= 0, math.inf, low)), y)
    y = xp.where((low == 0) | (high == 0), math.inf, y)
    return xp.where(_outside(xp, low) | _outside(xp, high), math.nan, y)


def _outside(xp: Any, x: Any) -> Any:
    """Where the gamma function has no value: at negative integers."""
    return (x != x) | ((x < 0) & (xp.floor(x) == x))


def _sign(xp: Any, x: Any) -> Any:
    """The sign of the gamma function."""
    half = xp.floor(xp.where((x < 0) & (x > -math.inf), x, 0)) * 0.5
    return 1 - 4 * (half - xp.floor(half))


def _beta_slope(xp: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
    a, b = as_array(xp, a, b), as_array(xp, b, a)
    total = a + b
    # Where beta is zero its logarithm has a pole: there it is gamma(a) gamma(b) gamma(1 - total) sin(pi total) / pi
    zero = (total <= 0) & (total > -math.inf) & (xp.floor(total) == total) & (xp.floor(a) != a)
    p, q, rest = xp.where(zero, a, 1), xp.where(zero, b, 1), xp.where(zero, 1 - total, 1)
    r, half = xp.where(zero, total - xp.floor(total), 0) * math.pi, xp.floor(total) * 0.5
    flip = 1 - 4 * (half - xp.floor(half))  # the cosine of pi times an integer
    slope = (xp.psi(p) - xp.psi(rest)) * (xp.sin(r) * (1 / math.pi)) + xp.cos(r)
    slope = xp.gamma(p) * xp.gamma(rest) * xp.gamma(q) * flip * slope
    plain = betaln_slope(xp, xp.where(zero, 1, a), xp.where(zero, 1, b))
    return xp.where(zero, xp.scale(g, slope), xp.scale(xp.scale(g, y), plain))


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, y, x1, x2: _beta_slope(xp, g, y, x1, x2),
        lambda xp, g, y, x1, x2: _beta_slope(xp, g, y, x2, x1),
    ),
    dtype="float",
    real=True,
)
def beta(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Beta function ``gamma(x1) * gamma(x2) / gamma(x1 + x2)``, NaN at negative integers.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.gamma import beta
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> beta(x, 1.0).sum().backward()
    >>> x.grad.tolist()
    [-1.0, -0.25]
    """
    x1, x2 = as_array(xp, x1, x2), as_array(xp, x2, x1)
    low, high = xp.minimum(x1, x2), xp.maximum(x1, x2)
    total = low + high
    near = (xp.maximum(high, total) < limit(xp, total)) & (low > -20)
    one, two, three = (xp.gamma(xp.where(near, x, 1)) for x in (low, high, total))
    lost = low - (total - high)  # of the sum, to its rounding
    three = xp.where(_outside(xp, total) & (total == total), math.inf, three)  # one over it is zero
    first = one * (two / three) * (1 - lost * xp.log(xp.where(near & (total > 1), total, 1)))
    second = xp.exp(xp.betaln(xp.where(near, 1, x1), xp.where(near, 1, x2)))
    y = xp.where(near, first, second * (_sign(xp, low) * _sign(xp, high) * _sign(xp, total)))
    return xp.where(((low == 0) | (high == 0)) & (low == low) & ~_outside(xp, low), math.inf, y)
