"""Kernels for lists of arrays: one launch for all of one dtype, whatever their number and sizes.

A norm takes two: blocks leave a part each, in double precision, and one block adds the parts in their order. So it
has the same bits every time.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import cupy

from lucidgrad.backends.cuda.compiling import SUBNORMALS, THREADS, TYPES, source
from lucidgrad.backends.cuda.tables import EACH, FIND, LARGE_ROOM, Chunks, capacity, chunks, in_order

_REDUCED = r"""
__device__ inline double joined(double a, double b, bool greatest) {
    return greatest ? (b > a || b != b ? b : a) : a + b;
}

// The parts of all threads of a block together, in the first thread: others would read while it writes.
__device__ inline double of_block(double v, bool greatest) {
    __shared__ double parts[256];
    parts[threadIdx.x] = v;
    for (int m = 128; m > 0; m /= 2) {
        __syncthreads();
        if (threadIdx.x < m) parts[threadIdx.x] = joined(parts[threadIdx.x], parts[threadIdx.x + m], greatest);
    }
    return threadIdx.x == 0 ? parts[0] : 0;
}
"""

BODIES = {
    "norm_parts": _REDUCED
    + r"""
extern "C" __global__ void __launch_bounds__(256) norm_parts(Table t, I count, double order, double *parts) {
    FIND(t, count)
    const bool greatest = isinf(order);
    A total = 0;
    for (I i = start + threadIdx.x; i < end; i += 256) {
        const A v = (A)x[i] < 0 ? -(A)x[i] : (A)x[i];
        if (greatest) total = v > total || v != v ? v : total;
        else total += order == 2 ? v * v : order == 1 ? v : (A)pow((double)v, order);
    }
    const double part = of_block((double)total, greatest);
    if (threadIdx.x == 0) parts[blockIdx.x] = part;
}
""",
    "norm_whole": _REDUCED
    + r"""
extern "C" __global__ void __launch_bounds__(256) norm_whole(const double *parts, I count, double order, T *y) {
    const bool greatest = isinf(order);
    double total = 0;
    for (I i = threadIdx.x; i < count; i += 256) total = joined(total, parts[i], greatest);
    total = of_block(total, greatest);
    const double found = greatest || order == 1 ? total : order == 2 ? sqrt(total) : pow(total, 1 / order);
    if (threadIdx.x == 0) y[0] = (T)(A)found;
}
""",
    "clip_all": r"""
extern "C" __global__ void __launch_bounds__(256) clip_all(Table t, I count, const A *norm, double most) {
    FIND(t, count)
    const A factor = (A)most / (*norm + (A)1e-6), rate = factor > 1 ? (A)1 : factor;
    for (I i = start + threadIdx.x; i < end; i += 256) x[i] = (T)((A)x[i] * rate);
}
""",
    "unscale_all": r"""
extern "C" __global__ void __launch_bounds__(256) unscale_all(Table t, I count, const float *scale, int *found) {
    FIND(t, count)
    const A rate = (A)(float)(1 / (double)*scale);
    bool odd = false;
    for (I i = start + threadIdx.x; i < end; i += 256) {
        const A v = (A)x[i];
        if (!is_finite(v)) odd = true;
        x[i] = (T)(v * rate);
    }
    if (__syncthreads_or(odd) && threadIdx.x == 0) atomicOr(found, 1);
}
""",
    "move_all": r"""
extern "C" __global__ void __launch_bounds__(256) move_all(Table t, I count, T *vector, int joins) {
    FIND(t, count)
    __shared__ unsigned long long before;
    if (threadIdx.x == 0) before = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < mine; k += 256) atomicAdd(&before, (unsigned long long)t.sizes[k]);
    __syncthreads();
    T *const y = vector + before;
    for (I i = start + threadIdx.x; i < end; i += 256) {
        if (joins) y[i] = x[i]; else x[i] = y[i];
    }
}
""",
}
#: What takes no table, and how many arrays a small one has room for.
_COUNTED, _FEW = ("norm_whole",), capacity(EACH, 1)


class ListSources(dict[str, str]):
    """The sources of these kernels by name and dtype, for a small table; `kernel` compiles them for any."""

    def __init__(self) -> None:
        super().__init__({f"{name}_{dtype}": _source(name, dtype, _FEW) for name in BODIES for dtype in TYPES})
        self._kernels: dict[tuple[str, str, int], Any] = {}

    def kernel(self, name: str, dtype: str, room: int) -> Any:
        """The kernel of a name for a dtype and a table with room for so many arrays."""
        found = self._kernels.get((name, dtype, room))
        if found is None:
            text = _with_room(self[f"{name}_{dtype}"], room)
            found = self._kernels[name, dtype, room] = cupy.RawKernel(text, name, options=(SUBNORMALS,))
        return found

    def of_many(self) -> dict[str, str]:
        """The sources with the largest table there is."""
        return {name: _with_room(text, LARGE_ROOM // EACH) for name, text in self.items()}

    def forget(self) -> None:
        """Compile afresh: for tests that change a source."""
        self._kernels.clear()


def _with_room(text: str, room: int) -> str:
    return text.replace(f"#define COUNT {_FEW}\n", f"#define COUNT {room}\n")


def _source(name: str, dtype: str, room: int) -> str:
    table = "" if name in _COUNTED else f"#define COUNT {room}\n{FIND}"
    return source(table + BODIES[name], dtype)


SOURCES = ListSources()


def _launch(name: str, part: Chunks, dtype: Any, *args: Any) -> None:
    kernel = SOURCES.kernel(name, dtype.name, part.room)
    kernel((part.blocks,), (THREADS,), (part.argument, part.count, *args))


def _tables(arrays: Sequence[Any]) -> list[tuple[Any, Chunks]]:
    """Tables with their dtypes."""
    by_dtype: dict[Any, list[Any]] = {}
    for array in arrays:
        by_dtype.setdefault(array.dtype, []).append(array)
    return [(dtype, part) for dtype, some in by_dtype.items() for part in chunks(some)]


def norm_of_all(arrays: Sequence[Any], order: float) -> Any:
    arrays, _ = in_order(arrays)
    tables = _tables(arrays)
    dtype = functools.reduce(cupy.promote_types, [array.dtype for array in arrays])
    if not tables:
        return cupy.zeros((), dtype)
    count = sum(part.blocks for _, part in tables)
    parts, y, at = cupy.empty(count, "float64"), cupy.empty((), dtype), 0
    for own, part in tables:
        _launch("norm_parts", part, own, order, parts.data.ptr + 8 * at)
        at += part.blocks
    SOURCES.kernel("norm_whole", dtype.name, 0)((1,), (THREADS,), (parts, count, order, y))
    return y


def clip_all(arrays: Sequence[Any], norm: Any, most: float) -> None:
    ordered, copied = in_order(arrays)
    for dtype, part in _tables(ordered):
        wide = norm.astype("float64" if dtype.char == "d" else "float32", copy=False)
        _launch("clip_all", part, dtype, wide, most)
    for array, new in copied:
        array[...] = new


def unscale_all(arrays: Sequence[Any], scale: Any) -> Any:
    ordered, copied = in_order(arrays)
    found = cupy.zeros(1, "int32")
    for dtype, part in _tables(ordered):
        _launch("unscale_all", part, dtype, scale.astype("float32", copy=False), found)
    for array, new in copied:
        array[...] = new
    return found.view("bool")[0]  # the lowest byte of the number


def _move(arrays: Sequence[Any], vector: Any, joins: bool) -> None:
    at = vector.data.ptr
    for part in chunks(arrays):
        _launch("move_all", part, vector.dtype, at, int(joins))
        at += part.elements * vector.dtype.itemsize


def join_all(arrays: Sequence[Any], vector: Any) -> None:
    _move(in_order(arrays)[0], vector, True)


def part_all(arrays: Sequence[Any], vector: Any) -> None:
    ordered, copied = in_order(arrays)
    _move(ordered, vector, False)
    for array, new in copied:
        array[...] = new


TABLE: dict[str, Callable[..., Any]] = {f.__name__: f for f in (norm_of_all, clip_all, unscale_all, join_all, part_all)}
