"""Picking and writing at positions, in one launch each: a position outside is left out and noted (`faults`)."""

import functools
import math
import string
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from lucidgrad.backends.cuda.compiling import program_of
from lucidgrad.backends.cuda.faults import PLACE, note
from lucidgrad.core import device
from lucidgrad.keys import At, joined


# -- keys ----------------------------------------------------------------------------------------
def _is_positions(part: Any) -> bool:
    return isinstance(part, (cupy.ndarray, np.ndarray)) and part.dtype.kind in "iu"


def has_positions(key: Any) -> bool:
    """Whether a key has arrays of positions, and no mask, whose shape only the device knows."""
    parts = key if type(key) is tuple else (key,)
    found = False
    for part in parts:
        if _is_positions(part):
            found = True
        elif isinstance(part, (bool, list)) or getattr(part, "dtype", None) is not None:
            return False
    return found


def _chosen(parts: Sequence[Any]) -> list[int]:
    return [k for k, part in enumerate(parts) if not (part is None or part is Ellipsis or isinstance(part, slice))]


def _laid(x: Any, key: Any) -> tuple[Any, list[Any], tuple[int, ...], int]:
    """An array with the axes that positions are given for in front, these, their sizes, and where they end up."""
    parts = list(key) if type(key) is tuple else [key]
    dots = [k for k, part in enumerate(parts) if part is Ellipsis]
    chosen = _chosen(parts)
    together = chosen[-1] - chosen[0] < len(chosen)  # an ellipsis stands between also where it stands for no axis
    if dots:
        missing = x.ndim - sum(part is not None for part in parts) + 1
        parts[dots[0] : dots[0] + 1] = [slice(None)] * missing
        chosen = _chosen(parts)
    positions = [parts[k] for k in chosen]
    for k in chosen:
        parts[k] = slice(None)
    x = x[tuple(parts)]
    rest = [a for a in range(x.ndim) if a not in chosen]
    return x.transpose(*chosen, *rest), positions, tuple(x.shape[a] for a in chosen), chosen[0] if together else 0


_LETTERS = [letter for letter in string.ascii_uppercase if letter != "T"]  # types of positions


@functools.cache
def _kernel(arrays: int, writes: bool) -> Any:
    """The kernel for so many arrays of positions, which are broadcast to the shape of what is read or written."""
    given = "".join(f", {letter} at{k}, int64 size{k}" for k, letter in zip(range(arrays), _LETTERS, strict=False))
    lines = ["long long k = 0, at;"]
    for k in range(arrays):
        lines += [f"at = place_of((long long)at{k}, size{k}, note, number);"]
        lines += [f"k = k < 0 || at < 0 ? -1 : k * size{k} + at;"]
    common = f"int64 inner, uint64 note, int32 number{given}"
    if writes:
        lines.append("if (k >= 0) y[k * inner + rest_of(i, inner)] = v;")
        return cupy.ElementwiseKernel(f"T v, {common}", "raw T y", "\n".join(lines), f"put_{arrays}", preamble=PLACE)
    lines.append("y = k < 0 ? T() : x[k * inner + rest_of(i, inner)];")
    return cupy.ElementwiseKernel(f"raw T x, {common}", "T y", "\n".join(lines), f"pick_{arrays}", preamble=PLACE)


def _common_shape(positions: Sequence[Any], sizes: Sequence[int], rest: int) -> tuple[tuple[int, ...], list[Any]]:
    """The common shape of positions, and what a kernel gets of them; numbers are checked here."""
    arrays = [p if type(p) is cupy.ndarray else cupy.asarray(p) for p in positions]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return shape, [
        given
        for array, size in zip(arrays, sizes, strict=True)
        for given in (array.reshape(array.shape + (1,) * rest), size)
    ]


def _check_numbers(name: str, positions: Sequence[Any], sizes: Sequence[int]) -> None:
    for p, n in zip(positions, sizes, strict=True):
        if not isinstance(p, (cupy.ndarray, np.ndarray)) and not -n <= int(p) < n:
            raise IndexError(f"{name}: index {int(p)} is out of range for an axis of size {n}")


def picked(name: str, x: Any, key: Any) -> Any:
    """``x[key]`` for a key with arrays of positions."""
    x, positions, sizes, place = _laid(x, key)
    _check_numbers(name, positions, sizes)
    rest = x.shape[len(sizes) :]
    shape, given = _common_shape(positions, sizes, len(rest))
    y = cupy.ndarray((*rest[:place], *shape, *rest[place:]), x.dtype)
    if y.size:
        if not math.prod(sizes):
            raise IndexError(f"{name}: given positions in an axis of size 0, expected none")
        ends = range(place, place + len(shape)), range(len(shape))
        out = cupy.moveaxis(y, *map(tuple, ends)) if place and shape else y
        _kernel(len(sizes), False)(x, math.prod(rest), *note(name), *given, out)
    return y


def put(name: str, x: Any, key: Any, value: Any) -> None:
    """``x[key] = value`` for a key with arrays of positions."""
    x, positions, sizes, place = _laid(x, key)
    _check_numbers(name, positions, sizes)
    rest = x.shape[len(sizes) :]
    shape, given = _common_shape(positions, sizes, len(rest))
    value = cupy.asarray(value).astype(x.dtype, copy=False)
    whole = (*rest[:place], *shape, *rest[place:])
    while value.ndim > len(whole) and value.shape[0] == 1:
        value = value[0]
    value = cupy.broadcast_to(value, whole)
    if value.size:
        if not math.prod(sizes):
            raise IndexError(f"{name}: given positions in an axis of size 0, expected none")
        ends = range(place, place + len(shape)), range(len(shape))
        value = cupy.moveaxis(value, *map(tuple, ends)) if place and shape else value
        _kernel(len(sizes), True)(value, math.prod(rest), *note(name), *given, x)


def index(x: Any, /, key: Any) -> Any:
    return x[key]


def put_add(g: Any, /, *, key: Any, shape: Any) -> Any:
    whole = g.size == math.prod(shape)  # no place is written twice, so none is left out
    y = cupy.ndarray(shape, g.dtype) if whole else cupy.zeros(shape, g.dtype)
    y[key] = g
    return y


def pick(x: Any, at: Any, /, *, key: tuple[Any, ...]) -> Any:
    whole = joined(key, at)
    return program_of("pick")(x, at, key=key) if whole is None else picked("index", x, whole)


def pick_put(g: Any, at: Any, /, *, key: tuple[Any, ...], shape: Any) -> Any:
    if key == (At(),):
        return device.by_array[cupy.ndarray].xp.take_put(g, at, axis=0, size=shape[0])
    return program_of("pick_put")(g, at, key=key, shape=shape)


# -- along an axis -------------------------------------------------------------------------------
def take(x: Any, i: Any, /, *, axis: int | None = None) -> Any:
    along = 0 if axis is None and x.ndim == 1 else axis
    if along is None or not -x.ndim <= along < x.ndim or i.dtype.kind not in "iu":
        return program_of("take")(x, i, axis=axis)  # raises
    return picked("take", x, (*(slice(None),) * (along % x.ndim), i))


_TAKE_ALONG = cupy.ElementwiseKernel(
    "raw T x, I at, int64 size, int64 number, int64 inner, uint64 note, int32 name",
    "T y",
    """
    long long k = place_of((long long)at, size, note, name);
    const long long line = part_of(i, inner);
    y = k < 0 ? T() : x[(part_of(line, number) * size + k) * inner + i - line * inner];
    """,
    "take_along",
    preamble=PLACE,
)


def take_along_axis(x: Any, i: Any, /, *, axis: int = -1) -> Any:
    if x.ndim != i.ndim or not -x.ndim <= axis < x.ndim or i.dtype.kind not in "iu":
        return cupy.take_along_axis(x, i, axis=axis)  # raises
    axis %= x.ndim
    size, number = x.shape[axis], i.shape[axis]
    rest, other = (s[:axis] + s[axis + 1 :] for s in (x.shape, i.shape))
    rest = rest if rest == other else np.broadcast_shapes(rest, other)
    lead, tail = rest[:axis], rest[axis:]
    y = cupy.ndarray((*lead, number, *tail), x.dtype)
    if y.size and not size:
        raise IndexError("take_along_axis: given positions in an axis of size 0, expected none")
    if y.size:
        x = cupy.broadcast_to(x, (*lead, size, *tail))
        i = cupy.broadcast_to(i, y.shape)
        _TAKE_ALONG(x, i, size, number, math.prod(tail), *note("take_along_axis"), y)
    return y


_LAST_PUT = cupy.ElementwiseKernel(
    "I at, int64 size, int64 number, int64 inner, uint64 note, int32 name",
    "raw int64 y",
    """
    long long k = place_of((long long)at, size, note, name);
    const long long line = part_of(i, inner), outer = part_of(line, number);
    if (k >= 0) atomicMax(&y[(outer * size + k) * inner + i - line * inner], line - outer * number);
    """,
    "last_put",
    preamble=PLACE,
)


def last_put(i: Any, /, *, axis: int, size: int) -> Any:
    if not -i.ndim <= axis < i.ndim or i.dtype.kind not in "iu":
        return program_of("last_put")(i, axis=axis, size=size)  # raises
    axis %= i.ndim
    lead, number, tail = i.shape[:axis], i.shape[axis], i.shape[axis + 1 :]
    y = cupy.full((*lead, size, *tail), -1, np.int64)
    if i.size:
        _LAST_PUT(i, size, number, math.prod(tail), *note("scatter"), y)
    return y


_CHECK = cupy.ElementwiseKernel(
    "I at, int64 size, uint64 note, int32 name", "I k", "k = (I)place_of((long long)at, size, note, name);",
    "check_positions", preamble=PLACE,
)  # fmt: skip


def extreme_put(x: Any, src: Any, i: Any, /, *, axis: int, **keywords: Any) -> Any:
    if i.dtype.kind in "iu" and -x.ndim <= axis < x.ndim:
        _CHECK(i, x.shape[axis], *note("scatter"))
    return program_of("extreme_put")(x, src, i, axis=axis, **keywords)


_FUNCTIONS = (index, put_add, pick, pick_put, take, take_along_axis, last_put, extreme_put)

TABLE: dict[str, Callable[..., Any]] = {function.__name__: function for function in _FUNCTIONS}
