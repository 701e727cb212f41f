"""Hand-written kernels: their sources for each dtype, compiled when first launched, and how rows are laid out.

A source speaks of ``T``, what arrays hold, and ``A``, what is computed with: half precision adds up in single.
"""

import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np
from cupy.cuda import compiler, get_device_id, runtime

from lucidgrad.backends.codegen import CUDA
from lucidgrad.backends.progress import waiting
from lucidgrad.core import device
from lucidgrad.core.primitive import registry

from .faults import PLACE

#: The C types of a dtype: stored, and computed with.
TYPES = {
    "float16": ("__half", "float"),
    "bfloat16": ("__nv_bfloat16", "float"),
    "float32": ("float", "float"),
    "float64": ("double", "double"),
}
_HEADERS = {"float16": "#include <cuda_fp16.h>\n", "bfloat16": "#include <cuda_bf16.h>\n"}
#: Dtypes that kernels take, the last one of these being bfloat16; for others the program runs.
FLOATS = "efdE"
#: What makes arrays ones of bfloat16's class, and the namespace that their programs run in, where it is known.
brains: tuple[Callable[..., Any], Any] | None = None
#: Float32 keeps numbers below 2^-126, as on the CPU: log(softmax(x)) is finite where scores are 88 to 103 apart. CuPy
#: adds -ftz=true to all that it compiles, which `prepare_compiler` takes away where this is asked for.
SUBNORMALS = "-ftz=false"
#: Threads of a block in which every thread or warp works for itself.
THREADS = 256
#: Bytes that a table among a kernel's arguments may take: these have room for 4 KB.
ROOM = 3584

COMMON = (
    CUDA.constants
    + r"""
typedef long long I;

__device__ inline A infinity() { return (A)LG_INFINITY; }
__device__ inline A nothing() { return (A)LG_NAN; }
__device__ inline bool is_finite(A v) { return v - v == (A)0; }
__device__ inline float root(float v) { return sqrtf(v); }
__device__ inline double root(double v) { return sqrt(v); }
__device__ inline float power(float v) { return expf(v); }
__device__ inline double power(double v) { return exp(v); }
__device__ inline float logarithm(float v) { return logf(v); }
__device__ inline double logarithm(double v) { return log(v); }
#define NOTE unsigned long long note, int name
"""
)

#: A row is worked on by a group of ``deep`` threads. Where its elements are neighbours (``across`` is 0), these are
#: lanes of a warp, or a whole block; else a block has ``across`` neighbouring rows and so many threads for each, so
#: that what a warp reads is in order, and several of such groups where they are small. All threads of a block take part
#: in reductions, those without a row too. Element k of a row is ``place + k * inner``.
ROWS = r"""
__device__ inline A larger(A a, A b) { return b > a ? b : a; }

__device__ inline A reduced(A v, int across, int deep, bool greatest) {
    __shared__ A parts[1024];
    if (across == 0 || deep == 1) {
        for (int m = (deep < 32 ? deep : 32) / 2; m > 0; m /= 2) {
            A other = __shfl_xor_sync(0xffffffff, v, m);
            v = greatest ? larger(v, other) : v + other;
        }
        if (deep <= 32) return v;
        __syncthreads();
        if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
        __syncthreads();
        v = parts[0];
        for (int k = 1; k < deep / 32; ++k) v = greatest ? larger(v, parts[k]) : v + parts[k];
        return v;
    }
    __syncthreads();
    parts[threadIdx.x] = v;
    __syncthreads();
    const int first = threadIdx.x / (across * deep) * (across * deep) + threadIdx.x % across;
    v = parts[first];
    for (int k = 1; k < deep; ++k) {
        const A other = parts[first + k * across];
        v = greatest ? larger(v, other) : v + other;
    }
    return v;
}

#define SUM(v) reduced(v, across, deep, false)
#define MAX(v) reduced(v, across, deep, true)
#define LAYOUT I rows, I n, I inner, int across, int deep
#ifndef BOUNDS
#define BOUNDS __launch_bounds__(1024, 1)
#endif
#define ROW_OF(block) \
    const int lane = across ? threadIdx.x / across % deep : threadIdx.x % deep; \
    I row, place; \
    if (across) { \
        const I unit = (block) * (blockDim.x / (across * deep)) + threadIdx.x / (across * deep); \
        const I tiles = (inner + across - 1) / across, column = unit % tiles * across + threadIdx.x % across; \
        row = column < inner ? unit / tiles * inner + column : rows; \
        place = unit / tiles * n * inner + column; \
    } else { \
        row = (block) * (blockDim.x / deep) + threadIdx.x / deep; \
        place = row * n; \
    }
#define ROW \
    ROW_OF((I)blockIdx.x) \
    const I length = row < rows ? n : 0;
#define EACH(k, at) for (I k = lane, at = place + k * inner; k < length; k += deep, at += (I)deep * inner)
"""


#: The largest block: of a long row.
MOST_THREADS = 1024


def bounded(code: str, threads: int = THREADS) -> str:
    """A source in which kernels are told the largest block that they are launched with, unless they say so themselves.

    The compiler then gives a thread as many registers as a block of that size finds room for. Without the 1 it spills
    some rather than have fewer blocks at once.
    """
    return re.sub(r"(__global__ void )(?!__launch_bounds__|BOUNDS)", rf"\1__launch_bounds__({threads}, 1) ", code)


def source(body: str, dtype: str, common: str = "") -> str:
    """The whole source of a kernel for a dtype."""
    body = bounded(body, MOST_THREADS if common else THREADS)
    stored, computed = TYPES[dtype]
    types = f"{_HEADERS.get(dtype, '')}typedef {stored} T;\ntypedef {computed} A;\n"
    return f"{types}{COMMON}{PLACE}{common}{body}"


class Sources(dict[str, str]):
    """The bodies of a family of kernels by name, each ``extern "C"``, and the compiled kernels."""

    def __init__(self, bodies: dict[str, str], common: str = "", dtypes: Sequence[str] = tuple(TYPES)) -> None:
        super().__init__(
            {f"{name}_{dtype}": source(body, dtype, common) for name, body in bodies.items() for dtype in dtypes}
        )
        self._kernels: dict[tuple[Any, ...], Any] = {}

    def kernel(self, name: str, dtype: Any, constants: str = "", device: int = 0, shared: int = 0) -> Any:
        """The kernel of a name for a dtype, after ``constants``; one that asks for shared memory is a device's."""
        found = self._kernels.get((name, dtype, constants, device))
        if found is None:
            found = cupy.RawKernel(f"{constants}{self[f'{name}_{dtype.name}']}", name, options=(SUBNORMALS,))
            if shared:
                found.max_dynamic_shared_size_bytes = shared
            self._kernels[name, dtype, constants, device] = found
        return found

    def forget(self) -> None:
        """Compile afresh: for tests that change a source."""
        self._kernels.clear()


def prepare_compiler() -> None:
    """Let CuPy's compiler keep `SUBNORMALS` where they are asked for, and say when it keeps somebody waiting."""
    program: Any = getattr(compiler, "_NVRTCProgram", None)  # what all of CuPy's ways to a kernel lead to
    compile_now = getattr(program, "compile", None)
    if compile_now is None or hasattr(compile_now, "__wrapped__"):
        return

    @functools.wraps(compile_now)
    def prepared(self: Any, options: Sequence[str] = (), *args: Any, **keywords: Any) -> Any:
        if SUBNORMALS in options:
            options = tuple(option for option in options if option != "-ftz=true")
        with waiting("compiling CUDA kernels"):
            return compile_now(self, options, *args, **keywords)

    program.compile = prepared


def launch(kernel: Any, size: int, *args: Any) -> None:
    """A launch with a thread for each of ``size`` elements."""
    if size:
        kernel(((size + THREADS - 1) // THREADS,), (THREADS,), args)


def by_value(numbers: Any) -> Any:
    """An array in host memory as a structure among a kernel's arguments."""
    return numbers.reshape(-1).view(f"V{numbers.nbytes}")


# -- rows ----------------------------------------------------------------------------------------
class Rows:
    """The rows that a reduction along axes makes of an array: element k of row r is ``outer * n + k, inner``.

    Axes that are not neighbours (but for such of one element) are brought to the end first; `back` undoes it.
    """

    __slots__ = ("axes", "grid", "inner", "n", "order", "outer", "rows", "shape")

    def __init__(self, shape: tuple[int, ...], axis: Any) -> None:
        rank = len(shape)
        given = range(rank) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
        axes = sorted(_axis(a, rank) for a in given) if rank else []
        self.shape, self.axes = shape, axes
        self.order: tuple[int, ...] | None = None
        long = [a for a in axes if shape[a] != 1]
        first, last = (long[0], long[-1] + 1) if long else (rank, rank)
        if any(shape[a] != 1 and a not in axes for a in range(first, last)):
            self.order = (*(a for a in range(rank) if a not in axes), *axes)
            shape, first, last = tuple(shape[a] for a in self.order), rank - len(axes), rank
        self.outer, self.inner = math.prod(shape[:first]), math.prod(shape[last:])
        self.n = math.prod(shape[first:last])
        self.rows = self.outer * self.inner
        across, deep, threads, blocks = self.layout()
        #: Of a launch with a group of threads for each row: blocks, threads, and the last arguments.
        self.grid = (blocks,), (threads,), (self.rows, self.n, self.inner, np.int32(across), np.int32(deep))

    def lay(self, x: Any) -> Any:
        """An array of the whole shape, so that its memory is in order."""
        return contiguous(x if self.order is None else x.transpose(self.order))[0]

    def runs(self) -> tuple[int, int]:
        """How rows of neighbours lie where the order is another, if the first axes and the last are reduced.

        Elements of a run are neighbours, as runs of neighbouring rows are, and it is so far to the next of the row.
        Zeros where rows lie otherwise.
        """
        kept = [a for a, n in enumerate(self.shape) if n != 1 and a not in self.axes]
        if self.order is None or any(kept[0] < a < kept[-1] and self.shape[a] != 1 for a in self.axes):
            return 0, 0
        return math.prod(self.shape[kept[-1] + 1 :]), math.prod(self.shape[kept[0] :])

    def back(self, y: Any) -> Any:
        """A result in the order of `lay` in the shape that was given."""
        if self.order is None:
            return y.reshape(self.shape)
        y = y.reshape([self.shape[a] for a in self.order])
        return y.transpose(sorted(range(len(self.order)), key=self.order.__getitem__))

    def reduced_shape(self, keepdims: bool) -> tuple[int, ...]:
        """The shape after the reduction."""
        if keepdims:
            return tuple(1 if a in self.axes else n for a, n in enumerate(self.shape))
        return tuple(n for a, n in enumerate(self.shape) if a not in self.axes)

    def launch(self, kernel: Any, *args: Any) -> None:
        """A launch with a group of threads for each row."""
        if self.rows:
            blocks, threads, told = self.grid
            kernel(blocks, threads, (*args, *told))

    def layout(self, most: int = MOST_THREADS) -> tuple[int, int, int, int]:
        """Neighbouring rows of a block (0: elements are neighbours), threads of a row, of a block, and blocks."""
        if self.inner == 1:
            deep = self._lanes(most)
            threads = max(deep, THREADS) if deep <= 32 else deep
            return 0, deep, threads, -(-self.rows * deep // threads)
        across = min(self.inner, 32)
        deep = self._lanes(most // across)
        pack = max(THREADS // (across * deep), 1)
        units = self.outer * -(-self.inner // across)
        return across, deep, across * deep * pack, -(-units // pack)

    def _lanes(self, most: int) -> int:
        """How many threads share a row: a power of two; they have two elements each, or more, where rows are long."""
        lanes = 1
        while lanes * 2 <= most and lanes < self.n:
            lanes *= 2
        return max(lanes // 2, 1) if lanes > 32 else lanes


_known_rows = functools.lru_cache(maxsize=4096, typed=True)(Rows)


def rows_of(shape: tuple[int, ...], axis: Any) -> Rows:
    """Those of a shape and axes, which come again at every step."""
    return _known_rows(shape, tuple(axis) if type(axis) is list else axis)


@functools.cache
def processors(number: int) -> int:
    """The multiprocessors of a device."""
    return int(runtime.deviceGetAttribute(runtime.cudaDevAttrMultiProcessorCount, number))


def splits(blocks: int, n: int, least: int) -> int:
    """In how many parts, of ``least`` elements or more, to go through n, so that every processor has two blocks."""
    wanted = -(-2 * processors(get_device_id()) // max(blocks, 1))
    return max(min(wanted, n // least), 1)


def _axis(axis: Any, rank: int) -> int:
    if not -rank <= axis < rank:
        raise IndexError(f"axis {axis} is out of range for an array of dimension {rank}")
    return int(axis) % rank


def contiguous(*xs: Any) -> tuple[Any, ...]:
    """Arrays whose memory is in order."""
    return tuple(x if x.flags.c_contiguous else cupy.ascontiguousarray(x) for x in xs)


def program_of(name: str) -> Callable[..., Any]:
    """A primitive's program, for arguments that its kernel does not take."""

    def program(*xs: Any, **keywords: Any) -> Any:
        if brains is not None and any(getattr(x, "dtype", None) == "bfloat16" for x in xs):
            as_brain, xp = brains
            return registry[name].program(xp, *as_brain(xs), **keywords)
        return registry[name].program(device.by_array[cupy.ndarray].xp, *xs, **keywords)

    return program


def floats_only(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel for floats of one dtype; other arguments go to the program."""
    name = function.__name__

    @functools.wraps(function)
    def kernel(*xs: Any, **keywords: Any) -> Any:
        dtype = xs[0].dtype
        for x in xs:
            if x is not None and x.dtype is not dtype and x.dtype != dtype and x.dtype.kind not in "biu":
                break
        else:
            if dtype.char in FLOATS:
                return function(*xs, **keywords)
        return program_of(name)(*xs, **keywords)

    return kernel


def table(functions: Sequence[Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Kernels by the names of their primitives."""
    return {function.__name__: floats_only(function) for function in functions}
