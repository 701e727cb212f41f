"""Exact numbers: arrays of mpmath's, differences that are exact for our purpose, and the unit of errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp

#: Digits that results have; differences lose as many as the step has.
DIGITS, WORKING = 50, 90
STEP = mp.mpf(10) ** -30

mp.dps = WORKING

#: Digits of the significand and least exponent of the floating-point formats.
FORMATS = {"float32": (24, -126), "float64": (53, -1022), "complex64": (24, -126), "complex128": (53, -1022)}


def exact(array: Any) -> Any:
    """An array of floats (or complex numbers) as one of mpmath's, without rounding."""
    array = np.asarray(array)
    if array.dtype.kind == "c":
        return _over(lambda z: mp.mpc(float(z.real), float(z.imag)), array)
    return _over(lambda x: mp.mpf(float(x)), array) if array.dtype.kind == "f" else array


def _over(function: Callable[..., Any], array: Any) -> Any:
    made = np.empty(array.shape, dtype=object)
    for at in np.ndindex(array.shape):
        made[at] = function(array[at])
    return made


def each(function: Callable[..., Any], *arrays: Any) -> Any:
    """A function of numbers on arrays of them, which broadcast."""
    wide = np.broadcast_arrays(*(np.asarray(a, dtype=object) for a in arrays))
    made = np.empty(wide[0].shape, dtype=object)
    for at in np.ndindex(made.shape):
        made[at] = function(*(w[at] for w in wide))
    return made


def zeros(shape: Any) -> Any:
    """Exact zeros."""
    made = np.empty(shape, dtype=object)
    made[...] = mp.mpf(0)
    return made


def size_of(array: Any) -> Any:
    """Absolute values."""
    return each(abs, array)


def ulp(value: Any, dtype: str) -> Any:
    """The distance of floating-point numbers of a format at a value."""
    digits, least = FORMATS[dtype]
    value = abs(value)
    exponent = least if value == 0 else max(int(mp.frexp(value)[1]) - 1, least)
    return mp.mpf(2) ** (exponent - digits + 1)


def largest(dtype: str) -> Any:
    """The greatest finite number of a format."""
    return mp.mpf(float(np.finfo(np.zeros(0, dtype).real.dtype).max))


def error(found: Any, expected: Any, scale: Any, dtype: str) -> float:
    """The largest distance of an array from the exact one, in ulp of a scale; infinite where a number is missing."""
    worst = 0.0
    found, expected, scale = np.broadcast_arrays(np.asarray(found), expected, scale)
    for at in np.ndindex(found.shape):
        value = complex(found[at]) if found.dtype.kind == "c" else float(found[at])
        if not np.isfinite(value):
            return float("inf")
        distance = abs((mp.mpc(value) if isinstance(value, complex) else mp.mpf(value)) - expected[at])
        worst = max(worst, float(distance / ulp(scale[at], dtype)))
    return worst
