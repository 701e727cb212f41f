"""Primitives as CuPy's functions: shapes, joining, indexing, and what takes fewer launches than a program."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import cupy

from lucidgrad.backends.cuda import generated
from lucidgrad.backends.cuda.library import LIBRARY, computed_with
from lucidgrad.core.primitive import registry


def _tuple(value: Any) -> Any:
    return tuple(value) if type(value) is list else value


def _shape(shape: Any) -> tuple[int, ...]:
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


# -- shapes --------------------------------------------------------------------------------------
def reshape(x: Any, /, *, shape: Any, copy: bool | None = None) -> Any:
    return x.reshape(shape) if copy is None else cupy.reshape(x, shape, copy=copy)


def broadcast_to(x: Any, /, *, shape: Any) -> Any:
    return cupy.broadcast_to(x, _shape(shape))


def expand_dims(x: Any, /, *, axis: Any = 0) -> Any:
    key = _at(x.ndim, axis) if type(axis) is int else None
    return x[key] if key is not None else cupy.expand_dims(x, _tuple(axis))


@functools.cache
def _at(rank: int, axis: int) -> tuple[Any, ...] | None:
    """The key that puts a new axis there; None where it can't be."""
    return (*(slice(None),) * (axis % (rank + 1)), None) if -rank - 1 <= axis <= rank else None


def squeeze(x: Any, /, *, axis: Any = None) -> Any:
    return x.squeeze(_tuple(axis))


def permute_dims(x: Any, /, *, axes: Any) -> Any:
    return x.transpose(tuple(axes))


def moveaxis(x: Any, /, *, source: Any, destination: Any) -> Any:
    return cupy.moveaxis(x, source, destination)


def matrix_transpose(x: Any, /) -> Any:
    return x.swapaxes(-1, -2)


def flip(x: Any, /, *, axis: Any = None) -> Any:
    return cupy.flip(x, _tuple(axis)) if x.ndim else x


def diagonal(x: Any, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    return x.diagonal(offset, axis1, axis2)


def diagonal_put(g: Any, /, *, offset: int, axis1: int, axis2: int, shape: Any) -> Any:
    y = cupy.zeros(shape, g.dtype)
    y.diagonal(offset, axis1, axis2)[...] = g
    return y


# -- joining -------------------------------------------------------------------------------------
def concat(*xs: Any, axis: int | None = 0) -> Any:
    x = xs[0]
    if len(xs) <= _MOST or axis is None or not _are_alike(xs, axis):
        return cupy.concatenate(xs, axis)
    at = axis % x.ndim
    ends = list(itertools.accumulate(o.shape[at] for o in xs))
    y = cupy.empty((*x.shape[:at], ends[-1], *x.shape[at + 1 :]), x.dtype)
    before = (slice(None),) * at
    _put(xs, [y[(*before, slice(end - o.shape[at], end))] for o, end in zip(xs, ends, strict=True)])
    return y


def _are_alike(xs: Sequence[Any], axis: int) -> bool:
    """Whether arrays have one dtype, and one shape but for an axis, which they have."""
    kinds = {(x.dtype, x.ndim, x.shape[:axis], x.shape[axis:][1:]) for x in xs}
    return len(kinds) == 1 and -xs[0].ndim <= axis < xs[0].ndim


def stack(*xs: Any, axis: int = 0) -> Any:
    x = xs[0]
    if len(xs) < 2 or any(o.dtype != x.dtype or o.shape != x.shape for o in xs):
        return cupy.stack(xs, axis)
    at = axis if axis >= 0 else axis + x.ndim + 1
    y = cupy.empty((*x.shape[:at], len(xs), *x.shape[at:]), x.dtype)
    before = (slice(None),) * at
    _put(xs, [y[(*before, k)] for k in range(len(xs))])
    return y


_MOST = 8  # arrays that a launch has room for, whatever their axes


def _put(xs: Sequence[Any], places: Sequence[Any]) -> None:
    """Copies, several in a launch where shapes are the same.

    CuPy's takes a launch for each of a few, and copies addresses of many from the host, which no graph can record.
    """
    for first in range(0, len(xs), _MOST):
        some, to = xs[first : first + _MOST], places[first : first + _MOST]
        if len(some) > 1 and some[0].dtype.kind != "V" and len({x.shape for x in some}) == 1:
            _stacking(len(some))(*some, *to)
            continue
        for x, place in zip(some, to, strict=True):
            place[...] = x


@functools.cache
def _stacking(many: int) -> Any:
    words = [", ".join(f"T {name}{k}" for k in range(many)) for name in "xy"]
    return cupy.ElementwiseKernel(*words, "".join(f"y{k} = x{k};\n" for k in range(many)), "lg_stack")


# -- elements ------------------------------------------------------------------------------------
def astype(x: Any, /, dtype: Any, *, copy: bool = True) -> Any:
    return x.astype(computed_with(dtype), copy=copy)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return x.mean(axis=_tuple(axis), keepdims=keepdims)


def nan_to_num(x: Any, /, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    if x.dtype.kind != "f":
        return cupy.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
    return _generated("nan_to_num")(x, nan=nan, posinf=posinf, neginf=neginf)  # CuPy's takes three launches


@functools.cache
def _generated(name: str) -> Any:
    return generated.forward(registry[name])


def unique_places(x: Any, /) -> Any:
    found = cupy.unique_all(x)
    return found.indices, found.inverse_indices, found.counts


_FUNCTIONS = (
    *(reshape, broadcast_to, expand_dims, squeeze, permute_dims, moveaxis, matrix_transpose, flip),
    *(diagonal, diagonal_put, concat, stack, astype, mean, nan_to_num, unique_places),
)

TABLE: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in _FUNCTIONS},
    "argsort": LIBRARY.argsort,
    "cast_discrete": astype,
    "count_nonzero": LIBRARY.count_nonzero,
    "exp2": cupy.exp2,
    "fmod": LIBRARY.fmod,
    "heaviside": cupy.heaviside,
}
