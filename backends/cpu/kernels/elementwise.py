"""NumPy kernels of elementwise primitives: what NumPy spells differently, lacks, or does in more passes."""

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lucidgrad.core import device, dtype as dtypes
from lucidgrad.core.primitive import registry

#: Elements that a program of many passes works on at a time: with its temporaries they stay in the cache.
BLOCK = 16384
#: Up to this size a loop over the C library's function costs less than the passes of an approximation.
FEW = 100
#: Above this size choosing by bits beats `numpy.where`.
LARGE = 4096
_BITS = {np.dtype(f).str: np.dtype(i) for f, i in (("f4", "i4"), ("f8", "i8"))}


def astype(x: Any, dtype: Any, copy: bool = True) -> Any:
    return x.astype(native(dtype), copy=copy)


def native(dtype: Any) -> Any:
    """A dtype in the machine's order of bytes: compiled code reads no other."""
    dtype = np.dtype(dtype) if type(dtype) is str else dtype
    return dtype if getattr(dtype, "isnative", True) else dtype.newbyteorder("=")


def where(condition: Any, x1: Any, x2: Any) -> Any:
    if type(condition) is np.ndarray and condition.size > LARGE and condition.dtype == np.bool_:
        lead = x1 if type(x1) is np.ndarray else x2
        if type(lead) is np.ndarray and lead.shape == condition.shape and lead.dtype.str in _BITS:
            return _where_large(condition, x1, x2, lead)
    return _where(condition, x1, x2)


_where = getattr(np.where, "__wrapped__", np.where)  # which asks nobody's types


def _where_large(condition: Any, x1: Any, x2: Any, lead: Any) -> Any:
    """Choose by the bits: NumPy's loop has a branch per element, and processors guess random ones wrong."""
    bits = _BITS[lead.dtype.str]
    y = np.empty(lead.shape, lead.dtype)
    mask = y.view(bits)
    np.copyto(mask, condition)
    if lead is x2 and type(x1) is int and x1 == 0:
        mask -= 1
        mask &= x2.view(bits)
    elif lead is x1 and type(x2) is int and x2 == 0:
        np.negative(mask, mask)
        mask &= x1.view(bits)
    else:
        other = x2 if lead is x1 else x1
        if type(other) is np.ndarray:
            if other.shape != lead.shape or other.dtype != lead.dtype:
                return np.where(condition, x1, x2)
        elif type(other) is not int and type(other) is not float:
            return np.where(condition, x1, x2)
        one, two = (np.asarray(x, lead.dtype).view(bits) for x in (x1, x2))
        np.negative(mask, mask)
        mask &= one ^ two
        mask ^= two
    return y


def scale(x1: Any, x2: Any) -> Any:
    if x1.size > LARGE:
        return where(x1 != 0, x1 * x2, 0)
    return np.where(x1, x1 * x2, x1)  # an array as a condition: true where it is not zero


def unscale(x1: Any, x2: Any) -> Any:
    if type(x2) is float or type(x2) is int:
        return x1 / x2 if x2 else np.where(x1, x1 / np.asarray(x2, x1.dtype), x1)
    return where(x1 != 0, x1 / x2, 0) if x1.size > LARGE else np.where(x1, x1 / x2, x1)


def tanh_pull(h: Any, s: Any) -> Any:
    t = s * s
    if type(t) is not np.ndarray or t.shape != h.shape or t.dtype != h.dtype:
        return h - h * t
    t *= h
    return np.subtract(h, t, out=t)


def sigmoid_pull(h: Any, s: Any) -> Any:
    t = s * s
    if type(t) is not np.ndarray or t.shape != h.shape or t.dtype != h.dtype:
        return h * (s - t)
    np.subtract(s, t, out=t)
    t *= h
    return t


def reciprocal(x: Any) -> Any:
    return np.reciprocal(x) if x.dtype.kind in "fc" else 1 / x  # NumPy's stays within the integers


# -- where NumPy's infinities and zeros are not the standard's -----------------------------------
def _infinite(x: Any, other: Any) -> Any:
    """Where, or whether, there are infinities; None where there are none. A number is one of the other's dtype."""
    if type(x) is float or isinstance(x, int):
        if -65504 <= x <= 65504:  # float16 has these
            return None
        if other.dtype.kind != "f":
            return True if x in (math.inf, -math.inf) else None
        with np.errstate(over="ignore"):
            return True if np.isinf(other.dtype.type(x)) else None
    if x.dtype.kind != "f":
        return None
    found = np.isinf(x)
    return found if 1 in found.tobytes() else None  # faster than any()


def floor_divide(x1: Any, x2: Any) -> Any:
    over, under = _infinite(x1, x2), _infinite(x2, x1)
    if over is None and under is None:
        return np.floor_divide(x1, x2)
    infinite = over if under is None else under if over is None else over | under
    with np.errstate(invalid="ignore", over="ignore"):  # what is not valid is replaced
        return np.where(infinite, np.floor(np.true_divide(x1, x2)), np.floor_divide(x1, x2))


def complex_expm1(x: Any) -> Any:
    odd = ~np.isfinite(x) | (x == 0)
    with np.errstate(invalid="ignore"):  # infinite parts
        return np.where(odd, np.exp(x) - 1, np.expm1(x))


def complex_tanh(x: Any) -> Any:
    y = np.asarray(np.tanh(x))
    infinite = np.isinf(x.real) & np.isfinite(x.imag)  # there the imaginary part is a zero of its own sign
    np.copyto(y.imag, np.copysign(0, x.imag), where=infinite)
    return y


def nan_to_num(x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


# -- programs of many passes ---------------------------------------------------------------------
def in_blocks(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run a function of one array block by block."""

    @functools.wraps(function)
    def kernel(x: Any, **keywords: Any) -> Any:
        if x.dtype.kind not in "fc":
            x = x.astype(dtypes.get_default_dtype())
        elif x.dtype == np.float16:  # coefficients would overflow
            return kernel(x.astype(np.float32), **keywords).astype(np.float16)
        if x.size <= BLOCK:
            return function(x, **keywords)
        y = np.empty(x.shape, x.dtype)
        source, target = x.reshape(-1), y.reshape(-1)
        for i in range(0, x.size, BLOCK):
            target[i : i + BLOCK] = function(source[i : i + BLOCK], **keywords)
        return y

    return kernel


def program_of(name: str) -> Callable[..., Any]:
    """The program of a primitive, which is declared only later than this table."""

    def program(x: Any, **keywords: Any) -> Any:
        return registry[name].program(device.by_array[np.ndarray].xp, x, **keywords)

    return program


def few(function: Callable[[float], float], many: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python's floats where there are few, else another for arrays."""

    def kernel(x: Any) -> Any:
        if x.size > FEW or x.dtype.kind not in "fc":
            return many(x)
        y = np.empty(x.shape, x.dtype)
        y.reshape(-1)[:] = list(map(function, x.reshape(-1).tolist()))
        return y

    return kernel


@in_blocks
def sigmoid(x: Any) -> Any:
    if x.dtype.kind == "c":  # has no reciprocal of infinity
        return program_of("sigmoid")(x)
    with np.errstate(over="ignore"):  # the reciprocal of infinity is the right result
        return 1 / (np.exp(-x) + 1)


# x * P(x**2) / Q(x**2), fitted to erf on [-3.95, 3.95] with a relative error of 2e-8.
_ERF32 = (
    (2.02594928e-6, 2.846851855e-4, 3.8080024703e-3, 5.28749508366e-2, 0.191546454229555, 1.1283791438048374),
    (3.78321004e-5, 1.170689312e-3, 1.50547673816e-2, 1.14558043161e-1, 0.503086301485387, 1.0),
)


@in_blocks
def erf(x: Any) -> Any:
    if x.dtype.itemsize > 4:
        return program_of("erf")(x)
    x = np.minimum(np.maximum(x, -3.95), 3.95)
    s = x * x
    over, under = (functools.reduce(lambda y, c: y * s + c, row[1:], row[0]) for row in _ERF32)
    return np.minimum(np.maximum(x * over / under, -1.0), 1.0)


# A polynomial of (x - 2) / (x + 2), fitted to exp(x**2) * erfc(x) * (2 * x + 1) on [0, 10.2]; relative error 1.4e-8.
_ERFC32 = (
    *(-3.994495993e-4, -1.228002347e-3, 1.313309935e-3, 8.630097567e-3, -8.060143006e-3),
    *(-5.4203884e-2, 0.1640554255, -0.166031461, -9.276398502e-2, 1.276978394),
)


@in_blocks
def erfc(x: Any) -> Any:
    if x.dtype != np.float32:
        return program_of("erfc")(x)
    a = np.minimum(np.abs(x), 10.2)
    t, s = (a - 2) / (a + 2), a * a
    high = (a.view(np.int32) & -4096).view(np.float32)  # its square is exact
    lost = (high * high - s) + (a - high) * (a + high)  # when a was squared
    y = functools.reduce(lambda y, c: y * t + c, _ERFC32[1:], _ERFC32[0])
    y = y * (np.exp(-s) * (1 - lost)) / (a * 2 + 1)
    return where(x < 0, 2 - y, y)


_SQRT_HALF, _NORMAL = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)


def normal_density(x: Any) -> Any:
    y = x * x
    y *= -0.5
    return np.exp(y) * _NORMAL


def normal_share(x: Any) -> Any:
    return erfc(x * -_SQRT_HALF) * 0.5


PROGRAMS = (
    *("celu", "elu", "erfinv", "gelu", "hardsigmoid", "hardswish", "leaky_relu", "logsigmoid"),
    *("mish", "silu", "softplus"),
)


def _imag(x: Any, /) -> Any:
    return x.imag if x.dtype.kind == "c" else np.zeros_like(x)  # NumPy's zeros can't be written


def _angle(x: Any, /) -> Any:
    return np.angle(x if x.dtype.kind in "fc" else x.astype(dtypes.get_default_dtype()))


# -- special functions: their programs, block by block, so that temporaries stay in the cache --------
# SciPy's are not used even where SciPy is there: results would depend on what else was imported.
#: Primitives of one array whose program has many passes.
ONE = (
    *("bessel_quotient", "entr", "erfcinv", "erfcx", "exprel", "gamma", "gammaln", "i0", "i0e", "i1", "i1e"),
    *("log_ndtr", "log_odds", "ndtr", "ndtri", "psi", "psi_derivative", "riemann_zeta"),
)
#: Primitives of several.
SEVERAL = (
    *("beta", "beta_density", "betaln", "gamma_density", "hurwitz_zeta", "kl_div", "lower_beta", "lower_gamma"),
    *("rel_entr", "upper_gamma"),
)


def blocks_of(name: str) -> Callable[..., Any]:
    """The program of a primitive of several arrays, block by block."""

    def program(*xs: Any) -> Any:
        return registry[name].program(device.by_array[np.ndarray].xp, *xs)

    def kernel(*xs: Any) -> Any:
        arrays = [x for x in xs if isinstance(x, (np.ndarray, np.generic))]
        dtype = np.result_type(*arrays)
        if dtype.kind == "c":
            raise TypeError(f"{name}: given complex numbers, expected real ones")
        if dtype.kind != "f":
            dtype = np.dtype(dtypes.get_default_dtype())
        wide = np.dtype(np.float32) if dtype == np.float16 else dtype  # coefficients would overflow
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
        full = [np.broadcast_to(np.asarray(x, wide), shape) for x in xs]
        y = np.empty(shape, dtype)
        if y.size <= BLOCK:
            y[...] = program(*full)
            return y
        target, sources = y.reshape(-1), [x.reshape(-1) for x in full]
        for i in range(0, y.size, BLOCK):
            target[i : i + BLOCK] = program(*(x[i : i + BLOCK] for x in sources))
        return y

    return kernel


# -- the table -----------------------------------------------------------------------------------
#: For complex numbers, where NumPy's function misses a special case of the standard.
COMPLEX: dict[str, Callable[..., Any]] = {"expm1": complex_expm1, "tanh": complex_tanh}

TABLE: dict[str, Callable[..., Any]] = {
    "sigmoid_pull": sigmoid_pull,
    "tanh_pull": tanh_pull,
    "angle": _angle,
    "astype": astype,
    "cast_discrete": astype,
    "erf": few(math.erf, erf),
    "erfc": few(math.erfc, erfc),
    "exp2": np.exp2,
    "floor_divide": floor_divide,
    "fmod": np.fmod,
    "heaviside": np.heaviside,
    "imag": _imag,
    "logaddexp2": np.logaddexp2,
    "nan_to_num": nan_to_num,
    "normal_density": in_blocks(normal_density),
    "normal_share": few(lambda x: math.erfc(x * -_SQRT_HALF) * 0.5, in_blocks(normal_share)),
    "pow": operator.pow,  # unlike the ufunc it knows squares and roots
    "reciprocal": reciprocal,
    "scale": scale,
    "sigmoid": sigmoid,
    "sinc": np.sinc,
    "unscale": unscale,
    "where": where,
    **{name: in_blocks(program_of(name)) for name in (*PROGRAMS, *ONE)},
    **{name: blocks_of(name) for name in SEVERAL},
}
