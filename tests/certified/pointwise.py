"""Elementwise functions of mpmath's numbers: what each primitive should be at a point.

A function raises `OutsideDomain` (or any arithmetic error) at points where it is not defined.
"""

from collections.abc import Callable
from typing import Any

from mpmath import mp

PI = mp.pi


class OutsideDomain(ArithmeticError):
    """The function is not defined there, or not real."""


def real(value: Any) -> Any:
    """A number that must be real."""
    if isinstance(value, mp.mpc):
        if value.imag != 0:
            raise OutsideDomain
        return value.real
    return value


def within(condition: bool) -> None:
    """Raise unless a condition holds."""
    if not condition:
        raise OutsideDomain


def _positive(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers greater than zero."""

    def of(*xs: Any, **keywords: Any) -> Any:
        within(all(x > 0 for x in xs))
        return function(*xs, **keywords)

    return of


def _piecewise(condition: Callable[..., bool], first: Callable[..., Any], second: Callable[..., Any]) -> Any:
    return lambda x, **k: first(x, **k) if condition(x, **k) else second(x, **k)


def _sign(x: Any) -> Any:
    return mp.sign(x)


def _trunc(x: Any) -> Any:
    return mp.floor(x) if x >= 0 else mp.ceil(x)


def _remainder(x1: Any, x2: Any) -> Any:
    within(x2 != 0)
    return x1 - x2 * mp.floor(x1 / x2)


def _fmod(x1: Any, x2: Any) -> Any:
    within(x2 != 0)
    return x1 - x2 * _trunc(x1 / x2)


def _xlogy(x: Any, y: Any) -> Any:
    within(y > 0 or isinstance(y, mp.mpc))
    return mp.mpf(0) if x == 0 else x * mp.log(y)


def _relative_entropy(x1: Any, x2: Any) -> Any:
    within(x1 > 0 and x2 > 0)
    return x1 * mp.log(x1 / x2)


def _ndtr(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _erfinv(y: Any) -> Any:
    within(-1 < y < 1)
    return mp.erfinv(y)


def _erfcinv(y: Any) -> Any:
    within(0 < y < 2)
    return mp.findroot(lambda x: mp.log(mp.erfc(x)) - mp.log(y), mp.sqrt(-mp.log(y))) if y < 0.1 else _erfinv(1 - y)


def _ndtri(p: Any) -> Any:
    return -mp.sqrt(2) * _erfcinv(2 * p)


def _gelu(x: Any, *, approximate: str = "none") -> Any:
    if approximate == "none":
        return x * _ndtr(x)
    return x / 2 * (1 + mp.tanh(mp.sqrt(2 / PI) * (x + mp.mpf(0.044715) * x**3)))


def _bessel_quotient(x: Any, *, order: int = 1) -> Any:
    return mp.hyp0f1(order + 1, x * x / 4) / mp.mpf(2) ** order / mp.factorial(order)


def _bessel_j_quotient(x: Any, *, order: int = 1) -> Any:
    return mp.hyp0f1(order + 1, -x * x / 4) / mp.mpf(2) ** order / mp.factorial(order)


def besselk(n: int, x: Any) -> Any:
    """The modified Bessel function of the second kind of order 0 or 1, by its series: mpmath takes a limit, slowly."""
    within(x > 0)
    with mp.extradps(int(x) + 10):  # of terms as large as exp(x) there remains exp(-x)
        q, start = x * x / 4, mp.log(x / 2) + mp.euler
        term, harmonic, total, k = mp.mpf(1), mp.mpf(0), mp.mpf(0), 0
        while abs(term) > mp.eps * abs(total) or k < 2:
            weight = harmonic - start if n == 0 else start - harmonic - mp.mpf(1) / (2 * k + 2)
            total += term * weight
            k += 1
            term, harmonic = term * q / (k * (k + n)), harmonic + mp.mpf(1) / k
        return total if n == 0 else 1 / x + x / 2 * total


def _lower_beta(a: Any, b: Any, x: Any) -> Any:
    within(a > 0 and b > 0 and 0 < x < 1)
    return mp.betainc(a, b, 0, x, regularized=True)


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    within(a > 0 and b > 0 and 0 < x < 1)
    return x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b)


def _zeta(x: Any, q: Any) -> Any:
    """mpmath's has digits after the point, of which small values keep none: (30, 90) gives 1e-59."""
    within(x > 1 and q > 0)
    with mp.extradps(int(x * mp.log10(q)) if q > 1 else 0):
        return mp.zeta(x, q)


def _exp2(x: Any) -> Any:
    return mp.mpf(2) ** x


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _softplus(x: Any, *, beta: float = 1.0, threshold: float = 20.0) -> Any:
    return x if x * beta > threshold else mp.log1p(mp.exp(beta * x)) / beta


def _pow(x1: Any, x2: Any) -> Any:
    within(x1 != 0 or x2 > 0)
    return mp.power(x1, x2)


def _hardsigmoid(x: Any) -> Any:
    return min(max(x / 6 + mp.mpf(0.5), mp.mpf(0)), mp.mpf(1))


def _quotient(x1: Any, x2: Any) -> Any:
    within(x2 != 0)
    return x1 / x2


def _elu(x: Any, *, alpha: float = 1.0) -> Any:
    return x if x > 0 else alpha * mp.expm1(x)


def _celu(x: Any, *, alpha: float = 1.0) -> Any:
    return x if x > 0 else alpha * mp.expm1(x / alpha)


#: By name; functions of mpmath's numbers, with the primitive's keywords.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "acos": mp.acos,
    "acosh": mp.acosh,
    "add": lambda x1, x2: x1 + x2,
    "angle": mp.arg,
    "asin": mp.asin,
    "asinh": mp.asinh,
    "atan": mp.atan,
    "atan2": mp.atan2,
    "atanh": mp.atanh,
    "bessel_quotient": _bessel_quotient,
    "airy_ai": mp.airyai,
    "airy_slope": lambda x: mp.airyai(x, derivative=1),
    "bessel_j0": lambda x: mp.besselj(0, x),
    "bessel_j1": lambda x: mp.besselj(1, x),
    "bessel_j_quotient": _bessel_j_quotient,
    "bessel_y0": _positive(lambda x: mp.bessely(0, x)),
    "bessel_y1": _positive(lambda x: mp.bessely(1, x)),
    "beta": _positive(mp.beta),
    "beta_density": _beta_density,
    "betaln": _positive(lambda a, b: mp.log(mp.beta(a, b))),
    "ceil": mp.ceil,
    "celu": _celu,
    "clip": lambda x, low, high: min(max(x, low), high),
    "conj": mp.conj,
    "copysign": lambda x1, x2: abs(x1) if x2 >= 0 else -abs(x1),
    "cos": mp.cos,
    "cosh": mp.cosh,
    "divide": _quotient,
    "elu": _elu,
    "entr": _positive(lambda x: -x * mp.log(x)),
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfcinv": _erfcinv,
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "erfinv": _erfinv,
    "exp": mp.exp,
    "exp2": _exp2,
    "expm1": mp.expm1,
    "exprel": lambda x: mp.expm1(x) / x if x != 0 else mp.mpf(1),
    "floor": mp.floor,
    "floor_divide": lambda x1, x2: mp.floor(_quotient(x1, x2)),
    "fmod": _fmod,
    "gamma": mp.gamma,
    "gamma_density": _positive(lambda a, x: x ** (a - 1) * mp.exp(-x) / mp.gamma(a)),
    "gammaln": lambda x: mp.log(abs(mp.gamma(x))),
    "gelu": _gelu,
    "hardsigmoid": _hardsigmoid,
    "hardswish": lambda x: x * _hardsigmoid(x),
    "hardtanh": lambda x, *, min_val=-1.0, max_val=1.0: min(max(x, mp.mpf(min_val)), mp.mpf(max_val)),
    "hurwitz_zeta": _zeta,
    "hypot": mp.hypot,
    "i0": lambda x: mp.besseli(0, x),
    "i0e": lambda x: mp.besseli(0, x) * mp.exp(-abs(x)),
    "i1": lambda x: mp.besseli(1, x),
    "i1e": lambda x: mp.besseli(1, x) * mp.exp(-abs(x)),
    "imag": lambda x: mp.im(x),
    "k0": lambda x: besselk(0, x),
    "k0e": lambda x: besselk(0, x) * mp.exp(x),
    "k1": lambda x: besselk(1, x),
    "k1e": lambda x: besselk(1, x) * mp.exp(x),
    "kl_div": lambda x1, x2: _relative_entropy(x1, x2) - x1 + x2,
    "leaky_relu": lambda x, *, negative_slope=0.01: x if x > 0 else mp.mpf(negative_slope) * x,
    "log": mp.log,
    "log10": mp.log10,
    "log1p": lambda x: mp.log1p(x),
    "log2": lambda x: mp.log(x) / mp.log(2),
    "log_ndtr": lambda x: mp.log(_ndtr(x)) if x < 0 else mp.log1p(-_ndtr(-x)),
    "log_odds": lambda x: mp.log(x / (1 - x)) if 0 < x < 1 else within(False),
    "logaddexp": lambda x1, x2: max(x1, x2) + mp.log1p(mp.exp(-abs(x1 - x2))),
    "logaddexp2": lambda x1, x2: max(x1, x2) + mp.log1p(_exp2(-abs(x1 - x2))) / mp.log(2),
    "logsigmoid": lambda x: -mp.log1p(mp.exp(-x)),
    "lower_beta": _lower_beta,
    "lower_gamma": _positive(lambda a, x: mp.gammainc(a, 0, x, regularized=True)),
    "maximum": max,
    "minimum": min,
    "mish": lambda x: x * mp.tanh(mp.log1p(mp.exp(x))),
    "multiply": lambda x1, x2: x1 * x2,
    "nan_to_num": lambda x, **k: x,
    "ndtr": _ndtr,
    "ndtri": _ndtri,
    "normal_density": lambda x: mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi),
    "normal_share": _ndtr,
    "negative": lambda x: -x,
    "positive": lambda x: x,
    "pow": _pow,
    "psi": mp.digamma,
    "psi_derivative": lambda x, *, order=1: mp.psi(order, x),
    "real": lambda x: mp.re(x),
    "reciprocal": lambda x: 1 / x,
    "rel_entr": _relative_entropy,
    "relu": lambda x: max(x, mp.mpf(0)),
    "remainder": _remainder,
    "riemann_zeta": lambda x: mp.zeta(x) if x > 1 else within(False),
    "round": mp.nint,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "scale": lambda x1, x2: x1 * x2,
    "sigmoid_pull": lambda h, y: h * y * (1 - y),
    "tanh_pull": lambda h, y: h * (1 - y) * (1 + y),
    "sigmoid": _sigmoid,
    "sign": lambda x: x / abs(x) if x != 0 else mp.mpf(0),
    "silu": lambda x: x * _sigmoid(x),
    "sin": mp.sin,
    "sinc": lambda x: mp.sin(PI * x) / (PI * x) if x != 0 else mp.mpf(1),
    "sinh": mp.sinh,
    "softplus": _softplus,
    "spherical_bessel_j0": lambda x: mp.sin(x) / x if x != 0 else mp.mpf(1),
    "sqrt": mp.sqrt,
    "square": lambda x: x * x,
    "subtract": lambda x1, x2: x1 - x2,
    "tan": mp.tan,
    "tanh": mp.tanh,
    "thin": lambda x, i, *, scale=1.0: x * mp.mpf(scale) if i else mp.mpf(0),
    "trunc": _trunc,
    "unscale": _quotient,
    "upper_beta": lambda a, b, x: _lower_beta(b, a, 1 - x),
    "upper_gamma": _positive(lambda a, x: mp.gammainc(a, x, regularized=True)),
    "where": lambda c, x1, x2: x1 if c else x2,
    "xlog1py": lambda x, y: _xlogy(x, 1 + y),
    "xlogy": _xlogy,
}

#: Elementwise functions that are analytic and take complex numbers: the complex step works for these.
ANALYTIC = frozenset(
    """
    acos acosh add asin asinh atan atanh cos cosh divide exp exp2 expm1 log log10 log1p log2 multiply negative positive
    pow reciprocal rsqrt scale sigmoid silu sin sinc sinh sqrt square subtract tan tanh unscale where
    """.split()
)
