"""Hand-written reductions, one family: what a row comes to, read once, whatever axes it lies along.

A row goes through states: one that has seen nothing, what an element makes of it, and what two come to; so one kernel
serves all functions, rows of any layout (`ROWS`), and rows that several blocks share: each leaves its state, and the
last one joins these in a fixed order (`tickets`). Bits are the same every time. Half precision is computed in single,
and rounded once. Integers, flags and complex numbers are for CuPy's functions, and so is what they refuse.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from cupy.cuda import get_device_id

from lucidgrad.backends.cuda.compiling import FLOATS, MOST_THREADS, ROWS, Rows, Sources, program_of, splits
from lucidgrad.backends.cuda.library import LIBRARY
from lucidgrad.backends.cuda.tickets import SOURCE as TICKETS, tickets

#: By function: members of a state, what it is at first, what an element v (number k) makes of it, what it is with
#: another one (b), and what it comes to.
STATES: dict[str, tuple[str, str, str, str, str]] = {
    "sum": ("A v;", "{0}", "s.v += v;", "s.v += b.v;", "s.v"),
    "mean": ("A v;", "{0}", "s.v += v;", "s.v += b.v;", "s.v / (A)number"),
    "prod": ("A v;", "{1}", "s.v *= v;", "s.v *= b.v;", "s.v"),
    "max": ("A v;", "{-infinity()}", "MOST(v)", "MOST(b.v)", "s.v"),
    "min": ("A v;", "{infinity()}", "LEAST(v)", "LEAST(b.v)", "s.v"),
    "squares": ("A v;", "{0}", "s.v += v * v;", "s.v += b.v;", "root(s.v)"),
    "sizes": ("A v;", "{0}", "s.v += SIZE(v);", "s.v += b.v;", "s.v"),
    "largest": ("A v;", "{0}", "MOST(SIZE(v))", "MOST(b.v)", "s.v"),
    "smallest": ("A v;", "{infinity()}", "LEAST(SIZE(v))", "LEAST(b.v)", "s.v"),
    "count": ("A v;", "{0}", "s.v += v != (A)0 ? (A)1 : (A)0;", "s.v += b.v;", "s.v"),
    "powers": ("A v;", "{0}", "s.v += raised(SIZE(v), (A)number);", "s.v += b.v;", "raised(s.v, (A)1 / (A)number)"),
    "argmax": ("A v; I at;", "{-infinity(), -1}", "FIRST(v, k, >)", "if (b.at >= 0) FIRST(b.v, b.at, >)", "s.at"),
    "argmin": ("A v; I at;", "{infinity(), -1}", "FIRST(v, k, <)", "if (b.at >= 0) FIRST(b.v, b.at, <)", "s.at"),
    "any": ("A v;", "{0}", "if (v != (A)0) s.v = 1;", "if (b.v != (A)0) s.v = 1;", "s.v != (A)0"),
    "all": ("A v;", "{1}", "if (v == (A)0) s.v = 0;", "if (b.v == (A)0) s.v = 0;", "s.v != (A)0"),
    # Where all is -inf so far, nothing is added up.
    "logsumexp": (
        "A v, top;",
        "{0, -infinity()}",
        "raise(s, v, (A)1);",
        "raise(s, b.top, b.v);",
        "logarithm(s.v) + s.top",
    ),
    # Count, mean, and squares of distances from it.
    "var": (
        "A n, mean, v;",
        "{0, 0, 0}",
        "s.n += 1; const A d = v - s.mean; s.mean += d / s.n; s.v += d * (v - s.mean);",
        "if (b.n > (A)0) { const A n = s.n + b.n, d = b.mean - s.mean, part = b.n / n;"
        " s.v += b.v + d * d * s.n * part; s.mean += d * part; s.n = n; }",
        "number < 0 ? root(s.v / (A)(-number - 1)) : s.v / (A)number",
    ),
}
#: What functions give, where it is not the dtype of x.
GIVES = {"argmax": "int64", "argmin": "int64", "any": "bool", "all": "bool"}

COMMON = (
    ROWS
    + TICKETS
    + r"""
#define SIZE(v) ((v) < (A)0 ? -(v) : (v))
#define MOST(w) if ((w) > s.v || (w) != (w)) s.v = (w);
#define LEAST(w) if ((w) < s.v || (w) != (w)) s.v = (w);
// Of ties the first; what is not a number is before all else.
#define FIRST(w, place, OVER) { \
    const bool odd = (w) != (w), odd_so_far = s.v != s.v; \
    const bool better = odd ? !odd_so_far : !odd_so_far && (w) OVER s.v; \
    const bool tied = odd ? odd_so_far : (w) == s.v; \
    if (s.at < 0 || better || (tied && (place) < s.at)) { s.v = (w); s.at = (place); } }
__device__ inline float raised(float v, float p) { return powf(v, p); }
__device__ inline double raised(double v, double p) { return pow(v, p); }
#ifndef MEMBERS
#define MEMBERS A v;
#define NOTHING {0}
#define TAKE s.v += v;
#define JOIN s.v += b.v;
#define COMES_TO s.v
#define SHUFFLE b.v = __shfl_xor_sync(0xffffffff, s.v, m);
typedef T R;
#endif
#ifndef ELEMENT
#define ELEMENT(at) (A)x[at]
#define MORE
#endif
struct State { MEMBERS };
// For logarithms of sums: more of exp(top).
template <class S> __device__ inline void raise(S &s, A top, A more) {
    if (top > s.top || top != top) {
        s.v = s.v * (s.top == top ? (A)1 : power(s.top - top)) + more;
        s.top = top;
    } else if (more != (A)0 && top != -infinity()) {
        s.v += more * (top == s.top ? (A)1 : power(top - s.top));
    }
}
__device__ inline void take(State &s, A v, I k, double number) { TAKE }
__device__ inline void join(State &s, State b) { JOIN }
__device__ inline R outcome(State s, double number) { return (R)(COMES_TO); }

// What the first lane of a group has is right; others may differ from it in the last bit.
__device__ inline State joined(State s, int across, int deep) {
    __shared__ State parts[1024];
    if (across == 0) {
        for (int m = (deep < 32 ? deep : 32) / 2; m > 0; m /= 2) {
            State b;
            SHUFFLE
            join(s, b);
        }
        if (deep <= 32) return s;
        __syncthreads();
        if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
        __syncthreads();
        s = parts[0];
        for (int k = 1; k < deep / 32; ++k) join(s, parts[k]);
        return s;
    }
    if (deep == 1) return s;
    __syncthreads();
    parts[threadIdx.x] = s;
    __syncthreads();
    const int first = threadIdx.x / (across * deep) * (across * deep) + threadIdx.x % across;
    s = parts[first];
    for (int k = 1; k < deep; ++k) join(s, parts[first + k * across]);
    return s;
}
"""
)

BODIES = {
    # Blocks of one row are neighbours: each has a chunk of its elements. Where elements lie in runs, the first axis is
    # reduced and one between is not: a run for each of its indices, ``jump`` after the one before. x2 is what x is less
    # by, if anything. Programs have elements that are computed, of what MORE has.
    "reduce": r"""
extern "C" __global__ void BOUNDS reduce(
    const T *x, const T *x2, R *y, State *parts, unsigned int *tickets, double number, I count, I chunk, I run, I jump,
    LAYOUT MORE) {
    const unsigned int part = blockIdx.x % (unsigned int)count;
    ROW_OF((I)(blockIdx.x / (unsigned int)count))
    const I first = part * chunk, end = first + chunk < n ? first + chunk : n;
    State s = NOTHING;
    if (row < rows) {
        if (x2) for (I k = first + lane; k < end; k += deep) {
            const A d = ELEMENT(place + k * inner) - (A)x2[place + k * inner];
            take(s, d * d, k, number);
        }
        else if (run) {
            const I runs = deep / run, rest = deep % run;
            I k = first + lane, in_run = k % run, at = row * run + k / run * jump;
#pragma unroll 2 // four at once spill, for variances of doubles on sm_90
            for (; k < end; k += deep) {
                take(s, ELEMENT(at + in_run), k, number);
                at += runs * jump;
                in_run += rest;
                if (in_run >= run) {
                    in_run -= run;
                    at += jump;
                }
            }
        }
        else for (I k = first + lane; k < end; k += deep) take(s, ELEMENT(place + k * inner), k, number);
    }
    s = joined(s, across, deep);
    if (parts) {
        if (row < rows && lane == 0) parts[row * count + part] = s;
        if (!is_last(tickets + blockIdx.x / (unsigned int)count, (unsigned int)count)) return;
        s = NOTHING;
        if (row < rows) for (I k = lane; k < count; k += deep) join(s, parts[row * count + k]);
        s = joined(s, across, deep);
    }
    if (row < rows && lane == 0) y[row] = outcome(s, number);
}
""",
}

SOURCES = Sources(BODIES, COMMON)
#: Elements of a row that are worth a block of their own: so many, or so many for each thread.
LEAST, LEAST_EACH = 4096, 16


@functools.cache
def constants(name: str) -> str:
    """What the source is told of a function."""
    members, nothing, take, join, comes_to = STATES[name]
    own = [word.strip() for part in members.split(";") for word in part.strip()[1:].split(",") if word.strip()]
    moves = " ".join(f"b.{word} = __shfl_xor_sync(0xffffffff, s.{word}, m);" for word in own)
    result = {"int64": "long long", "bool": "bool", None: "T"}[GIVES.get(name)]
    known = {"MEMBERS": members, "NOTHING": nothing, "TAKE": take, "JOIN": join, "COMES_TO": comes_to}
    lines = "".join(f"#define {word} {text}\n" for word, text in {**known, "SHUFFLE": moves}.items())
    return f"{lines}#define R {result}\n"


@functools.cache
def state_bytes(name: str, wide: int) -> int:
    """The bytes of a state, of which all members are as wide as the widest."""
    words = STATES[name][0].replace(",", ";").count(";")
    return words * (8 if "I " in STATES[name][0] else wide)


class Reduction:
    """A function of the rows of arrays of a shape along axes; ``number`` is what its outcome needs."""

    __slots__ = ("_dtype", "_gives", "_grid", "_is_plain", "_name", "_parts", "_runs", "_shape", "_told", "rows")

    def __init__(self, name: str, dtype: Any, rows: Rows, keepdims: bool, number: float) -> None:
        self._name, self._dtype, self.rows = name, dtype, rows
        self._shape, self._gives = rows.reduced_shape(keepdims), np.dtype(GIVES.get(name, dtype))
        self._grid, self._parts, self._told = planned(name, dtype, rows, number)
        self._runs, self._is_plain = rows.runs(), rows.rows > 0 and rows.order is None and self._parts is None

    def __call__(self, x: Any, x2: Any = None) -> Any:
        y = cupy.ndarray(self._shape, self._gives)
        if not self._is_plain or x2 is not None or not x.flags.c_contiguous:
            return self._reduced(x, x2, y) if self.rows.rows else y
        kernel = SOURCES.kernel("reduce", self._dtype, constants(self._name))
        kernel(*self._grid, (x, None, y, None, None, *self._told))
        return y

    def _reduced(self, x: Any, x2: Any, y: Any) -> Any:
        """Of arrays that lie in another way, or by several blocks for a row."""
        told, parts, drawn = self._told, None, None
        if x2 is None and x.flags.c_contiguous and self._runs != (0, 0):
            told = (*told[:3], *self._runs, *told[5:])
        else:
            x, x2 = self.rows.lay(x), None if x2 is None else self.rows.lay(x2)
        if self._parts is not None:
            parts, drawn = cupy.ndarray(self._parts[:1], "uint8"), tickets(self._parts[1])
        kernel = SOURCES.kernel("reduce", self._dtype, constants(self._name))
        kernel(*self._grid, (x, x2, y, parts, drawn, *told))
        return y


def planned(
    name: str, dtype: Any, rows: Rows, number: float, runs: tuple[int, int] = (0, 0), most: int = MOST_THREADS
) -> tuple[tuple[Any, Any], tuple[int, int] | None, tuple[Any, ...]]:
    """A launch for rows, by blocks of no more threads: blocks and threads, parts, and the last arguments.

    parts: where several blocks share rows, the bytes that they leave, and how many counts of tickets they draw from.
    """
    across, deep, threads, blocks = rows.layout(most)
    count = splits(blocks, rows.n, min(LEAST, LEAST_EACH * deep))
    wide = 8 if dtype.char == "d" else 4
    parts = (rows.rows * count * state_bytes(name, wide), blocks) if count > 1 else None
    layout = (rows.rows, rows.n, rows.inner, np.int32(across), np.int32(deep))
    return ((blocks * count,), (threads,)), parts, (float(number), count, -(-rows.n // count), *runs, *layout)


@functools.lru_cache(maxsize=4096, typed=True)
def _known(name: str, dtype: Any, shape: tuple[int, ...], axis: Any, keepdims: bool, number: Any, _: int) -> Any:
    """The reduction of arrays like one, on a device; None: CuPy's, which says what is wrong with axes.

    number: where it depends on how many elements a row has, a function of that.
    """
    if dtype.char not in FLOATS:
        return None
    rank, axes = len(shape), () if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if any(type(a) is not int or not -rank <= a < rank for a in axes) or len({a % rank for a in axes}) < len(axes):
        return None
    rows = Rows(shape, axis)
    return Reduction(name, dtype, rows, keepdims, number(rows.n) if callable(number) else number)


def _reduction(name: str, x: Any, axis: Any, keepdims: bool, number: Any = 0.0) -> Any:
    axis = tuple(axis) if type(axis) is list else axis
    return _known(name, x.dtype, x.shape, axis, keepdims, number, get_device_id())


# -- functions -----------------------------------------------------------------------------------
def _sum(name: str) -> Callable[..., Any]:
    def kernel(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        if type(axis) is list:
            axis = tuple(axis)
        made = _known(name, x.dtype, x.shape, axis, keepdims, 0.0, get_device_id())
        if made is None or (dtype is not None and dtype != x.dtype):
            return getattr(LIBRARY, name)(x, axis=axis, dtype=dtype, keepdims=keepdims)
        return made(x)

    return kernel


def _usual(name: str, empty: bool = True, several: bool = True) -> Callable[..., Any]:
    """A reduction without numbers; ``empty``: of nothing, too; ``several``: along several axes, too."""

    def kernel(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        made = _reduction(name, x, axis, keepdims) if several or not isinstance(axis, (tuple, list)) else None
        if made is None or not (empty or made.rows.n):
            return getattr(LIBRARY, name)(x, axis=axis, keepdims=keepdims)
        return made(x)

    return kernel


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    made = _reduction("mean", x, axis, keepdims, float)
    return program_of("mean")(x, axis=axis, keepdims=keepdims) if made is None else made(x)


@functools.cache
def _freedom(correction: float, is_root: bool) -> Callable[[int], float]:
    """What squares of distances are divided by; below zero, and one less, where the root is asked for."""

    def number(n: int) -> float:
        divisor = max(n - correction, 0.0)
        return -1 - divisor if is_root else divisor

    return number


def _spread(name: str) -> Callable[..., Any]:
    def kernel(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        made = _reduction("var", x, axis, keepdims, _freedom(float(correction), name == "std"))
        if made is None:
            return program_of(name)(x, axis=axis, correction=correction, keepdims=keepdims)
        return made(x)

    return kernel


def logsumexp(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    made = _reduction("logsumexp", x, axis, keepdims)
    return program_of("logsumexp")(x, axis=axis, keepdims=keepdims) if made is None else made(x)


_NORMS = {2: "squares", 1: "sizes", math.inf: "largest", -math.inf: "smallest", 0: "count"}


def vector_norm(x: Any, /, *, ord: float = 2, axis: Any = None, keepdims: bool = False) -> Any:
    made = _reduction(_NORMS.get(ord, "powers"), x, axis, keepdims, float(ord))
    if made is None or (ord == -math.inf and not made.rows.n):
        return program_of("vector_norm")(x, ord=ord, axis=axis, keepdims=keepdims)
    return made(x)


def mean_squared_error(x1: Any, x2: Any, /) -> Any:
    made = _reduction("mean", x1, None, False, float)
    if made is None or x2.dtype != x1.dtype or x1.shape != x2.shape:
        return program_of("mean_squared_error")(x1, x2)
    return made(x1, x2)


TABLE: dict[str, Callable[..., Any]] = {
    **{name: _sum(name) for name in ("sum", "prod")},
    "mean": mean,
    **{name: _usual(name, empty=False) for name in ("max", "min")},
    **{name: _usual(name) for name in ("any", "all")},
    **{name: _usual(name, empty=False, several=False) for name in ("argmax", "argmin")},
    **{name: _spread(name) for name in ("var", "std")},
    "logsumexp": logsumexp,
    "vector_norm": vector_norm,
    "mean_squared_error": mean_squared_error,
}
