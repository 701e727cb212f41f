"""Hand-written kernels: their sources for each dtype, compiled when first launched, and how rows are laid out.

A source speaks of ``T``, what arrays hold, and ``A``, what is computed with: half precision adds up in single.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import cupy
from cupy.cuda import compiler

from lucidgrad.backends.codegen import CUDA
from lucidgrad.backends.progress import waiting
from lucidgrad.core import device
from lucidgrad.core.primitive import registry

from .faults import PLACE

#: The C types of a dtype: stored, and computed with.
TYPES = {"float16": ("__half", "float"), "float32": ("float", "float"), "float64": ("double", "double")}
#: Dtypes that kernels take; for others the program runs.
FLOATS = "efd"
#: Threads of a block in which every thread or warp works for itself.
THREADS = 256

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

#: A row is worked on by a group of threads: lanes of a warp, or a whole block. All threads of a block take part in
#: reductions, those without a row too. Element k of a row is ``place + k * inner``.
ROWS = r"""
__device__ inline A larger(A a, A b) { return b > a ? b : a; }

__device__ inline A reduced(A v, int group, bool greatest) {
    __shared__ A parts[32];
    for (int m = (group < 32 ? group : 32) / 2; m > 0; m /= 2) {
        A other = __shfl_xor_sync(0xffffffff, v, m);
        v = greatest ? larger(v, other) : v + other;
    }
    if (group <= 32) return v;
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    v = parts[0];
    for (int k = 1; k < group / 32; ++k) v = greatest ? larger(v, parts[k]) : v + parts[k];
    return v;
}

#define SUM(v) reduced(v, group, false)
#define MAX(v) reduced(v, group, true)
#define LAYOUT I rows, I n, I inner, I threads
#define ROW \
    const int group = (int)threads, lane = threadIdx.x % group; \
    const I row = (I)blockIdx.x * (blockDim.x / group) + threadIdx.x / group; \
    const I length = row < rows ? n : 0; \
    const I place = row / inner * n * inner + row % inner;
#define EACH(k, at) for (I k = lane, at = place + k * inner; k < length; k += group, at += (I)group * inner)
"""


def source(body: str, dtype: str, common: str = "") -> str:
    """The whole source of a kernel for a dtype."""
    stored, computed = TYPES[dtype]
    include = "#include <cuda_fp16.h>\n" if dtype == "float16" else ""
    return f"{include}typedef {stored} T;\ntypedef {computed} A;\n{COMMON}{PLACE}{common}{body}"


class Sources(dict[str, str]):
    """The bodies of a family of kernels by name, each ``extern "C"``, and the compiled kernels."""

    def __init__(self, bodies: dict[str, str], common: str = "") -> None:
        super().__init__(
            {f"{name}_{dtype}": source(body, dtype, common) for name, body in bodies.items() for dtype in TYPES}
        )
        self._kernels: dict[tuple[Any, ...], Any] = {}

    def kernel(self, name: str, dtype: Any, constants: str = "", device: int = 0, shared: int = 0) -> Any:
        """The kernel of a name for a dtype, after ``constants``; one that asks for shared memory is a device's."""
        found = self._kernels.get((name, dtype, constants, device))
        if found is None:
            found = cupy.RawKernel(f"{constants}{self[f'{name}_{dtype.name}']}", name)
            if shared:
                found.max_dynamic_shared_size_bytes = shared
            self._kernels[name, dtype, constants, device] = found
        return found

    def forget(self) -> None:
        """Compile afresh: for tests that change a source."""
        self._kernels.clear()


def tell_of_compilations() -> None:
    """Let CuPy say when its compiler, which is asked for what is not in its cache, keeps somebody waiting."""
    program: Any = getattr(compiler, "_NVRTCProgram", None)  # what all of CuPy's ways to a kernel lead to
    compile_now = getattr(program, "compile", None)
    if compile_now is None or hasattr(compile_now, "__wrapped__"):
        return

    @functools.wraps(compile_now)
    def told(*args: Any, **keywords: Any) -> Any:
        with waiting("compiling CUDA kernels"):
            return compile_now(*args, **keywords)

    program.compile = told


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

    Axes that are not neighbours are brought to the end first; `back` undoes it.
    """

    __slots__ = ("axes", "inner", "n", "order", "outer", "rows", "shape")

    def __init__(self, shape: tuple[int, ...], axis: Any) -> None:
        rank = len(shape)
        given = range(rank) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
        axes = sorted(_axis(a, rank) for a in given) if rank else []
        self.shape, self.axes = shape, axes
        self.order: tuple[int, ...] | None = None
        if axes and axes[-1] - axes[0] + 1 != len(axes):
            self.order = (*(a for a in range(rank) if a not in axes), *axes)
            shape, axes = tuple(shape[a] for a in self.order), list(range(rank - len(axes), rank))
        at = axes[0] if axes else rank
        self.outer, self.inner = math.prod(shape[:at]), math.prod(shape[at + len(axes) :])
        self.n = math.prod(shape[at : at + len(axes)])
        self.rows = self.outer * self.inner

    def lay(self, x: Any) -> Any:
        """An array of the whole shape, so that its memory is in order."""
        return contiguous(x if self.order is None else x.transpose(self.order))[0]

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
        if not self.rows:
            return
        group = self.group()
        threads = max(group, THREADS) if group <= 32 else group
        blocks = (self.rows * group + threads - 1) // threads
        kernel((blocks,), (threads,), (*args, self.rows, self.n, self.inner, group))

    def group(self) -> int:
        """How many threads share a row: a power of two; one where neighbouring rows are neighbours in memory."""
        if self.inner >= 32 and self.rows >= 1024:
            return 1
        group = 1
        while group < self.n and group < 1024:
            group *= 2
        return max(group // 2, 1) if group > 32 else group  # two elements each, or more


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
        return registry[name].program(device.by_array[cupy.ndarray].xp, *xs, **keywords)

    return program


def floats_only(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel for floats of one dtype; other arguments go to the program."""
    name = function.__name__

    @functools.wraps(function)
    def kernel(*xs: Any, **keywords: Any) -> Any:
        dtypes = {x.dtype for x in xs if x is not None and x.dtype.kind not in "biu"}
        if len(dtypes) == 1 and next(iter(dtypes)).char in FLOATS and xs[0].dtype.kind == "f":
            return function(*xs, **keywords)
        return program_of(name)(*xs, **keywords)

    return kernel


def table(functions: Sequence[Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Kernels by the names of their primitives."""
    return {function.__name__: floats_only(function) for function in functions}
