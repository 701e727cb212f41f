"""Hand-written kernels that add at positions: with atomic additions, or in a fixed order where results must be the same
to the last bit (`use_deterministic_algorithms`). Positions outside are left out,
and noted (`faults`).
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import cupy

from lucidgrad.backends.cuda.compiling import Sources, contiguous, launch, program_of
from lucidgrad.backends.cuda.faults import PLACE, note
from lucidgrad.core.errors import AxisError
from lucidgrad.determinism import are_deterministic_algorithms_enabled

BODIES = {
    # g is (outer, number, inner), y (outer, size, inner); i has the number's size, or g's.
    "put_atomic": r"""
extern "C" __global__ void __launch_bounds__(256) put_atomic(
    const T *g, const I *i, A *y, I number, I inner, I size, bool own, NOTE, I count) {
    const I e = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= count) return;
    const I line = part_of(e, inner), outer = part_of(line, number);
    const I at = place_of(i[own ? e : line - outer * number], size, note, name);
    if (at >= 0) atomicAdd(&y[(outer * size + at) * inner + e - line * inner], (A)g[e]);
}
""",
    # Positions are sorted: the thread at the first of equal ones adds up all of them, in their order.
    "put_sorted": r"""
extern "C" __global__ void __launch_bounds__(256) put_sorted(
    const T *g, const I *i, const I *order, T *y, I number, I inner, I size, NOTE, I count) {
    const I e = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= count) return;
    const I line = part_of(e, inner), outer = part_of(line, number), first = line - outer * number;
    const I at = i[order[first]], column = e - line * inner;
    if (first > 0 && i[order[first - 1]] == at) return;
    A total = 0;
    for (I k = first; k < number && i[order[k]] == at; ++k)
        total += (A)g[(outer * number + order[k]) * inner + column];
    if (at >= 0 && at < size) y[(outer * size + at) * inner + column] = (T)total;
    else class_of(at < 0 ? at - size : at, size, note, name);  // as it was given
}
""",
    # Positions of each line of their own: a thread goes along it.
    "put_lines": r"""
extern "C" __global__ void __launch_bounds__(256) put_lines(
    const T *g, const I *i, A *y, I number, I inner, I size, NOTE, I count) {
    const I e = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= count) return;
    const I line = part_of(e, inner), column = e - line * inner;
    const I from = line * number * inner + column, to = line * size * inner + column;
    for (I k = 0; k < number; ++k) {
        I at = place_of(i[from + k * inner], size, note, name);
        if (at >= 0) y[to + at * inner] += (A)g[from + k * inner];
    }
}
""",
}

SOURCES = Sources(BODIES, dtypes=("float16", "float32", "float64"))


def _zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    """What is added into: half precision adds up in single."""
    return cupy.zeros(shape, "float32" if dtype.char == "e" else dtype)


def _atomic(g: Any, i: Any, outer: int, number: int, inner: int, size: int, noted: tuple[Any, Any], own: bool) -> Any:
    y = _zeros((outer, size, inner), g.dtype)
    launch(SOURCES.kernel("put_atomic", g.dtype), g.size, g, i, y, number, inner, size, own, *noted, g.size)
    return y.astype(g.dtype, copy=False)


def _sorted(g: Any, i: Any, outer: int, number: int, inner: int, size: int, noted: tuple[Any, Any]) -> Any:
    y = cupy.zeros((outer, size, inner), g.dtype)
    i = cupy.where(i < 0, i + size, i)
    order = cupy.argsort(i, kind="stable")
    launch(SOURCES.kernel("put_sorted", g.dtype), g.size, g, i, order, y, number, inner, size, *noted, g.size)
    return y


def _lines(g: Any, i: Any, outer: int, number: int, inner: int, size: int, noted: tuple[Any, Any]) -> Any:
    y = _zeros((outer, size, inner), g.dtype)
    count = outer * inner
    launch(SOURCES.kernel("put_lines", g.dtype), count, g, i, y, number, inner, size, *noted, count)
    return y.astype(g.dtype, copy=False)


_ADD = cupy.ElementwiseKernel(
    "T g, int64 at, int64 size, int64 number, int64 inner, uint64 note, int32 name",
    "raw T y",
    """
    long long k = place_of(at, size, note, name);
    if (k >= 0) {
        const long long line = part_of(i, inner);
        T *to = &y[(part_of(line, number) * size + k) * inner + i - line * inner];
        if (sizeof(T) == 8) atomicAdd((unsigned long long *)to, (unsigned long long)g);
        else atomicAdd((unsigned int *)to, (unsigned int)g);
    }
    """,
    "add_at",
    preamble=PLACE,
)


def _integers(g: Any, i: Any, outer: int, number: int, inner: int, size: int, noted: tuple[Any, Any]) -> Any:
    """Sums of integers are the same in any order."""
    y = cupy.zeros((outer, size, inner), g.dtype)
    if g.size:
        i = i.reshape(outer, number, inner) if i.size == g.size else i.reshape(1, number, 1)
        _ADD(g.reshape(outer, number, inner), i, size, number, inner, *noted, y)
    return y


def _by_dtype(put: Callable[..., Any]) -> Callable[..., Any]:
    """A function for floats and wide integers; complex numbers are two floats, narrow integers add up in wide ones."""

    @functools.wraps(put)
    def kernel(g: Any, i: Any, *, axis: int, size: int) -> Any:
        if g.dtype.kind == "c":
            parts = (kernel(part, i, axis=axis, size=size) for part in (g.real, g.imag))
            real, imaginary = parts
            y = cupy.empty(real.shape, g.dtype)
            y.real, y.imag = real, imaginary
            return y
        if g.dtype.kind in "biu" and g.dtype.itemsize < 4:
            y = put(g.astype("int64"), i, axis=axis, size=size)
            return y != 0 if g.dtype.kind == "b" else y.astype(g.dtype)
        return put(g, i, axis=axis, size=size)

    return kernel


def _take_put(g: Any, i: Any, *, axis: int, size: int) -> Any:
    rank = g.ndim - i.ndim + 1
    if not -rank <= axis < rank:
        raise AxisError(f"take_put: axis {axis} is out of range for an array of dimension {rank}")
    axis %= rank
    lead, tail = g.shape[:axis], g.shape[axis + i.ndim :]
    g, i = contiguous(g, i.astype("int64", copy=False))
    sizes = (math.prod(lead), i.size, math.prod(tail), size, note("take_put"))
    if g.dtype.kind != "f":
        y = _integers(g, i, *sizes)
    elif are_deterministic_algorithms_enabled():
        y = _sorted(g, i.reshape(-1), *sizes)
    else:
        y = _atomic(g, i, *sizes, own=False)
    return y.reshape(*lead, size, *tail)


def _put_along_axis_add(g: Any, i: Any, *, axis: int, size: int) -> Any:
    if g.ndim != i.ndim or not -g.ndim <= axis < g.ndim:
        return program_of("put_along_axis_add")(g, i, axis=axis, size=size)  # raises
    axis %= g.ndim
    g, i = contiguous(*cupy.broadcast_arrays(g, i.astype("int64", copy=False)))
    lead, number, tail = g.shape[:axis], g.shape[axis], g.shape[axis + 1 :]
    sizes = (math.prod(lead), number, math.prod(tail), size, note("put_along_axis_add"))
    if g.dtype.kind != "f":
        y = _integers(g, i, *sizes)
    elif not are_deterministic_algorithms_enabled():
        y = _atomic(g, i, *sizes, own=True)
    elif sizes[0] * sizes[2] == 1:
        y = _sorted(g, i.reshape(-1), *sizes)
    else:
        y = _lines(g, i, *sizes)
    return y.reshape(*lead, size, *tail)


TABLE = {
    "take_put": _by_dtype(_take_put),
    "put_along_axis_add": _by_dtype(_put_along_axis_add),
}
