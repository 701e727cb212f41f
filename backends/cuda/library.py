"""CuPy as a namespace of the Array API standard: what it spells differently, lacks, or does in its own way.

This is the place where NumPy's and CuPy's arrays differ; all else calls functions of the standard.
"""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import array_api_compat.cupy
import cupy
import numpy as np

from . import captures
from .generated import OPTIONS, PREAMBLE

compat: Any = array_api_compat.cupy
#: Functions of cuSOLVER's, which can't be recorded.
FACTORED = "cholesky det eig eigh eigvals eigvalsh inv matrix_rank pinv qr slogdet solve svd svdvals".split()
_SINGLE = cupy.dtype("float32")


class CuPyFunctions:
    """CuPy's functions, and those of `DIFFERENCES` in place of their own."""

    fft = compat.fft

    def __init__(self) -> None:
        found = {**vars(compat.linalg), "eig": eig, "solve": solve}
        factored = {name: captures.refusing(name, found[name]) for name in FACTORED if name in found}
        self.linalg = SimpleNamespace(**{**found, **factored})

    def __getattr__(self, name: str) -> Any:
        found = DIFFERENCES[name] if name in DIFFERENCES else getattr(cupy, name)
        setattr(self, name, found)
        return found


def _axes(axis: Any) -> Any:
    return tuple(axis) if type(axis) is list else axis


# -- creation: the device is the current one, which every kernel has set ---------------------------
def _created(name: str) -> Callable[..., Any]:
    function = getattr(cupy, name)

    def create(*args: Any, device: Any = None, **options: Any) -> Any:
        return function(*args, **options)

    return create


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return cupy.full(shape, signed(fill_value), dtype)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return cupy.full_like(x, signed(fill_value), dtype)


def signed(value: Any) -> Any:
    """A number to fill memory with: CuPy takes -0.0 for zero bytes, but not in an array."""
    parts = (value.real, value.imag) if isinstance(value, (float, complex)) else ()
    negative = any(part == 0 and math.copysign(1.0, part) < 0 for part in parts)
    return cupy.asarray(np.asarray([value])).reshape(()) if negative else value


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    return cupy.array(obj, dtype=dtype) if copy else cupy.asarray(obj, dtype=dtype)


# -- reductions ----------------------------------------------------------------------------------
def _reduction(name: str) -> Callable[..., Any]:
    function = getattr(cupy, name)

    def reduce(x: Any, /, *, axis: Any = None, **options: Any) -> Any:
        return function(x, axis=_axes(axis), **options)

    return reduce


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return cupy.sum(x != 0, axis=_axes(axis), dtype=cupy.int64, keepdims=keepdims)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """CuPy's sort is stable; backwards and back again ties keep their order."""
    if not x.ndim:
        return cupy.zeros((), cupy.int64)
    if not descending:
        return cupy.argsort(x, axis=axis)
    return x.shape[axis] - 1 - cupy.flip(cupy.argsort(cupy.flip(x, axis=axis), axis=axis), axis=axis)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    y = cupy.sort(x, axis=axis)
    return cupy.flip(y, axis=axis) if descending else y


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    return cupy.searchsorted(x1, x2 if type(x2) is cupy.ndarray else cupy.asarray(x2), side, sorter)


def take_along_axis(x: Any, i: Any, /, *, axis: int = -1) -> Any:
    return cupy.take_along_axis(x, i, axis=axis)


# -- elementwise ---------------------------------------------------------------------------------
def _whole(name: str) -> Callable[..., Any]:
    """Rounding leaves integers as they are."""
    function = getattr(cupy, name)
    return lambda x, /: x.copy() if x.dtype.kind in "iu" else function(x)


#: Where CuPy's rounds a quotient first, makes NaN of infinite divisors, or takes the number of bits modulo something.
_OWN = {
    name: cupy.ElementwiseKernel(
        "T x1, T x2", "T y", f"y = lg_{name}(x1, x2)", f"lucidgrad_{name}", preamble=PREAMBLE, options=OPTIONS
    )
    for name in ("floor_divide", "remainder", "shift_left", "shift_right")
}


def _division(name: str) -> Callable[..., Any]:
    """A quotient or remainder of floating-point numbers by a kernel of our own."""
    function = getattr(cupy, name)

    def divide(x1: Any, x2: Any, /) -> Any:
        dtype = cupy.result_type(x1, x2)
        if dtype.kind != "f":
            return function(x1, x2)
        x1, x2 = (x.astype(dtype, copy=False) if type(x) is cupy.ndarray else dtype.type(x) for x in (x1, x2))
        launch = _OWN[name]
        return launch(x1.astype("f"), x2.astype("f")).astype(dtype) if dtype.char == "e" else launch(x1, x2)

    return divide


#: Functions that make something of float32 numbers below 2^-126, which CuPy's take for zeros.
_STEEP = {
    **{name: f"{name}(a)" for name in ("log", "log2", "log10", "sqrt", "ceil", "floor")},
    **{name: f"{name}(a, b)" for name in ("hypot", "atan2", "pow", "fmod")},
    **{name: f"lg_{name}(a, b)" for name in ("maximum", "minimum")},
    "sign": "lg_sign(a)",
    "reciprocal": "1 / a",
    "divide": "a / b",
}
_ORDERS = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}


def _steep(name: str, value: str) -> Callable[..., Any]:
    """CuPy's function, but for float32 a kernel of our own, which keeps such numbers."""
    function = _whole(name) if name in ("ceil", "floor") else getattr(cupy, name)
    taken, made = "float32 a, float32 b" if "b" in value else "float32 a", "bool" if name in _ORDERS else "float32"
    launch = cupy.ElementwiseKernel(
        taken, f"{made} y", f"y = {value}", f"lucidgrad_{name}", preamble=PREAMBLE, options=OPTIONS
    )

    def of_one(x: Any, /) -> Any:
        return launch(x) if x.dtype is _SINGLE else function(x)

    def of_two(x1: Any, x2: Any, /) -> Any:
        given = getattr(x1, "dtype", x1.__class__), getattr(x2, "dtype", x2.__class__)
        return launch(x1, x2) if given in _SINGLES else function(x1, x2)

    return of_two if "b" in value else of_one


#: Of two arguments: both are float32, or one is a Python number.
_SINGLES = {
    (_SINGLE, _SINGLE),
    *((_SINGLE, kind) for kind in (int, float)),
    *((kind, _SINGLE) for kind in (int, float)),
}


def _shift(name: str) -> Callable[..., Any]:
    """By more bits than there are, too."""

    def shift(x1: Any, x2: Any, /) -> Any:
        dtype = cupy.result_type(x1, x2)
        return _OWN[name](*(x.astype(dtype, copy=False) if type(x) is cupy.ndarray else x for x in (x1, x2)))

    return shift


def computed_with(dtype: Any) -> Any:
    """A dtype, if this back end computes with it: bfloat16 is one that CuPy knows since version 14."""
    if str(dtype) == "bfloat16" and int(cupy.__version__.partition(".")[0]) < 14:
        raise TypeError(f"given bfloat16, which CuPy {cupy.__version__} does not know; use float16, or CuPy 14")
    return dtype


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return x.astype(computed_with(dtype), copy=copy)


def _completed(name: str, where: str, value: str) -> Any:
    """CuPy's function of complex numbers, with the standard's value where CuPy's is another one."""
    return cupy.ElementwiseKernel(
        "T x",
        "T y",
        f"typedef typename T::value_type R; const R re = x.real(), im = x.imag(); y = {where} ? {value} : {name}(x);",
        f"lucidgrad_{name}",
    )


_ENDLESS = "isinf(re) || isinf(im)", "T(isinf(re) ? fabs(re) : fabs(im), atan2(im, re))"

#: Functions of complex numbers that the standard defines where CuPy has NaN.
COMPLEX: dict[str, Callable[..., Any]] = {
    "acosh": _completed("acosh", "re == 0 && isnan(im)", "T(im, R(1.5707963267948966))"),
    "log": _completed("log", *_ENDLESS),
    "log1p": _completed("log1p", *_ENDLESS),
    "tanh": _completed(
        "tanh",
        "(re == 0 && !isfinite(im)) || (isinf(re) && isfinite(im))",
        "isinf(re) ? T(copysign(R(1), re), copysign(R(0), im)) : T(re, im - im)",
    ),
}


# -- linear algebra ------------------------------------------------------------------------------
def solve(x1: Any, x2: Any, /) -> Any:
    """Batches broadcast, which CuPy's do not."""
    if x2.ndim == 1:
        return solve(x1, x2[:, None])[..., 0]
    batch = cupy.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    x1, x2 = (cupy.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (x1, x2))
    if not x2.size:
        return cupy.empty(x2.shape, cupy.result_type(x1, x2))
    return cupy.linalg.solve(x1, x2)


def eig(x: Any, /) -> Any:
    """Complex also where there is nothing."""
    dtype = cupy.result_type(x.dtype, cupy.complex64)
    return tuple(part.astype(dtype, copy=False) for part in cupy.linalg.eig(x))


DIFFERENCES: dict[str, Callable[..., Any]] = {
    **{name: _created(name) for name in ("arange", "empty", "eye", "linspace", "ones", "zeros")},
    **{name: _created(name) for name in ("empty_like", "ones_like", "zeros_like")},
    **{name: _reduction(name) for name in ("sum", "prod", "max", "min", "all", "any")},
    **{name: _whole(name) for name in ("ceil", "floor", "trunc")},
    **{name: _steep(name, value) for name, value in _STEEP.items()},
    **{name: _steep(name, f"a {sign} b") for name, sign in _ORDERS.items()},
    "argsort": argsort,
    "asarray": asarray,
    "bitwise_left_shift": _shift("shift_left"),
    "bitwise_right_shift": _shift("shift_right"),
    "astype": astype,
    "count_nonzero": count_nonzero,
    "floor_divide": _division("floor_divide"),
    "full": full,
    "full_like": full_like,
    "remainder": _division("remainder"),
    "searchsorted": searchsorted,
    "sort": sort,
    "take_along_axis": take_along_axis,
    "unstack": compat.unstack,
    "vecdot": compat.vecdot,
}

LIBRARY = CuPyFunctions()
