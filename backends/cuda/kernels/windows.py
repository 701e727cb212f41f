"""Hand-written kernels of windows and pools: a thread for each element of the result, so that nothing is added twice.

Kernels know three axes; fewer have sizes of 1 before them. The sizes travel by value, as one structure.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from lucidgrad.backends.cuda.compiling import Sources, by_value, contiguous, launch, program_of, table
from lucidgrad.extents import Sizes, lead_and_last, out_sizes

PLAN = r"""
struct Plan { int size[3], out[3], window[3], stride[3], padding[3], dilation[3], step[3]; };

// The coordinates of an element of three axes, and what is left of its number.
__device__ inline I unravel(I at, const int *sizes, int *place) {
    if (at <= 0x7fffffff) {  // divisions of 64 bits take several times as long
        unsigned left = (unsigned)at;
        place[2] = (int)(left % (unsigned)sizes[2]); left /= (unsigned)sizes[2];
        place[1] = (int)(left % (unsigned)sizes[1]); left /= (unsigned)sizes[1];
        place[0] = (int)(left % (unsigned)sizes[0]);
        return left / (unsigned)sizes[0];
    }
    place[2] = (int)(at % sizes[2]); at /= sizes[2];
    place[1] = (int)(at % sizes[1]); at /= sizes[1];
    place[0] = (int)(at % sizes[0]);
    return at / sizes[0];
}

__device__ inline I ravel(const int *place, const int *sizes) {
    return ((I)place[0] * sizes[1] + place[1]) * sizes[2] + place[2];
}

// Where element k of the window at a place lies; false outside.
__device__ inline bool inside(const Plan &p, const int *place, const int *k, int *at) {
    bool within = true;
    for (int a = 0; a < 3; ++a) {
        at[a] = place[a] * p.stride[a] - p.padding[a] + k[a] * p.dilation[a];
        within = within && at[a] >= 0 && at[a] < p.size[a];
    }
    return within;
}

// The window whose element k, one of those reaching it, lies at a place; false where there is none.
__device__ inline bool window_of(const Plan &p, const int *at, const int *k, int *place) {
    bool within = true;
    for (int a = 0; a < 3; ++a) {
        int start = at[a] + p.padding[a] - k[a] * p.dilation[a];
        place[a] = start / p.stride[a];
        within = within && start >= 0 && place[a] < p.out[a];
    }
    return within;
}

// The first elements of windows that can lie at a place; from there on every step-th one can.
__device__ inline void reaching(const Plan &p, const int *at, int *first) {
    for (int a = 0; a < 3; ++a) {
        int from = at[a] + p.padding[a];
        first[a] = p.dilation[a] == 1 ? from % p.stride[a] : 0;
        while (first[a] < p.window[a] && (from - first[a] * p.dilation[a]) % p.stride[a] != 0) ++first[a];
    }
}

#define ELEMENT const I e = (I)blockIdx.x * blockDim.x + threadIdx.x; if (e >= count) return;
#define OFFSETS(k) int k[3]; \
    for (k[0] = 0; k[0] < p.window[0]; ++k[0]) \
        for (k[1] = 0; k[1] < p.window[1]; ++k[1]) \
            for (k[2] = 0; k[2] < p.window[2]; ++k[2])
#define REACHING(k) int k[3], first[3]; reaching(p, at, first); \
    for (k[0] = first[0]; k[0] < p.window[0]; k[0] += p.step[0]) \
        for (k[1] = first[1]; k[1] < p.window[1]; k[1] += p.step[1]) \
            for (k[2] = first[2]; k[2] < p.window[2]; k[2] += p.step[2])
#define PLANE(sizes) ((I)sizes[0] * sizes[1] * sizes[2])

// How many elements the window at a place counts.
__device__ inline A share(const Plan &p, const int *place, bool include) {
    A count = 1;
    for (int a = 0; a < 3; ++a) {
        int start = place[a] * p.stride[a] - p.padding[a], end = start + p.window[a];
        if (end > p.size[a] + p.padding[a]) end = p.size[a] + p.padding[a];
        if (!include) {
            if (start < 0) start = 0;
            if (end > p.size[a]) end = p.size[a];
        }
        count *= (A)(end - start);
    }
    return count;
}
"""

_BODIES = {
    "unfold_windows": r"""
extern "C" __global__ void __launch_bounds__(256, 1) unfold_windows(const T *x, T *y, Plan p, I count) {
    ELEMENT
    int place[3], k[3], at[3];
    I plane = unravel(unravel(e, p.out, place), p.window, k);
    y[e] = inside(p, place, k, at) ? x[plane * PLANE(p.size) + ravel(at, p.size)] : (T)(A)0;
}
""",
    "fold_windows": r"""
extern "C" __global__ void __launch_bounds__(256, 1) fold_windows(const T *h, T *y, Plan p, I count) {
    ELEMENT
    int at[3], place[3];
    I plane = unravel(e, p.size, at);
    A total = 0;
    REACHING(k) {
        if (window_of(p, at, k, place))
            total += (A)h[(plane * PLANE(p.window) + ravel(k, p.window)) * PLANE(p.out) + ravel(place, p.out)];
    }
    y[e] = (T)total;
}
""",
    "max_pool": r"""
extern "C" __global__ void __launch_bounds__(256, 1) max_pool(const T *x, T *y, I *i, Plan p, I count) {
    ELEMENT
    int place[3], at[3];
    I plane = unravel(e, p.out, place) * PLANE(p.size), best = -1;
    A top = -infinity();
    OFFSETS(k) {
        if (!inside(p, place, k, at)) continue;
        I here = ravel(at, p.size);
        A v = (A)x[plane + here];
        if (best < 0 || v > top || (v != v && top == top)) {
            top = v;
            best = here;
        }
    }
    y[e] = (T)top;
    i[e] = best < 0 ? 0 : best;
}
""",
    "pool_put": r"""
extern "C" __global__ void __launch_bounds__(256, 1) pool_put(const T *h, const I *i, T *y, Plan p, I count) {
    ELEMENT
    int at[3], place[3];
    I plane = unravel(e, p.size, at) * PLANE(p.out), own = ravel(at, p.size);
    A total = 0;
    REACHING(k) {
        if (!window_of(p, at, k, place)) continue;
        I from = plane + ravel(place, p.out);
        if (i[from] == own) total += (A)h[from];
    }
    y[e] = (T)total;
}
""",
    "avg_pool": r"""
extern "C" __global__ void __launch_bounds__(256, 1) avg_pool(
    const T *x, T *y, Plan p, bool include, double divisor, I count) {
    ELEMENT
    int place[3], at[3];
    I plane = unravel(e, p.out, place) * PLANE(p.size);
    A total = 0;
    OFFSETS(k) {
        if (inside(p, place, k, at)) total += (A)x[plane + ravel(at, p.size)];
    }
    y[e] = (T)(total / (divisor != 0 ? (A)divisor : share(p, place, include)));
}
""",
    "avg_pool_put": r"""
extern "C" __global__ void __launch_bounds__(256, 1) avg_pool_put(
    const T *h, T *y, Plan p, bool include, double divisor, I count) {
    ELEMENT
    int at[3], place[3];
    I plane = unravel(e, p.size, at) * PLANE(p.out);
    A total = 0;
    REACHING(k) {
        if (window_of(p, at, k, place))
            total += (A)h[plane + ravel(place, p.out)] / (divisor != 0 ? (A)divisor : share(p, place, include));
    }
    y[e] = (T)total;
}
""",
}

BODIES = {name: PLAN + body for name, body in _BODIES.items()}
SOURCES = Sources(BODIES)


def plan_of(sizes: Sizes, out: Sizes, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    """The structure that kernels take."""
    missing = 3 - len(sizes)
    rows = [(1,) * missing + tuple(row) for row in (sizes, out, window, stride)]
    rows += [(0,) * missing + tuple(padding), (1,) * missing + tuple(dilation)]
    rows.append(tuple(s // math.gcd(s, d) for s, d in zip(rows[3], rows[5], strict=True)))
    return by_value(np.asarray(rows, dtype=np.int32))


def unfold_windows(x: Any, *, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    lead, sizes = lead_and_last(x.shape, len(window))
    out = out_sizes("unfold_windows", sizes, window, stride, padding, dilation)
    (x,) = contiguous(x)
    y = cupy.empty((*lead, *window, *out), x.dtype)
    plan = plan_of(sizes, out, window, stride, padding, dilation)
    launch(SOURCES.kernel("unfold_windows", x.dtype), y.size, x, y, plan, y.size)
    return y


def fold_windows(h: Any, *, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    lead, both = lead_and_last(h.shape, 2 * len(sizes))
    window, out = both[: len(sizes)], both[len(sizes) :]
    (h,) = contiguous(h)
    y = cupy.empty((*lead, *sizes), h.dtype)
    plan = plan_of(sizes, out, window, stride, padding, dilation)
    launch(SOURCES.kernel("fold_windows", h.dtype), y.size, h, y, plan, y.size)
    return y


def max_pool(x: Any, *, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool = False) -> Any:
    lead, sizes = lead_and_last(x.shape, len(window))
    out = out_sizes("max_pool", sizes, window, stride, padding, dilation, ceil_mode)
    (x,) = contiguous(x)
    y, i = cupy.empty((*lead, *out), x.dtype), cupy.empty((*lead, *out), "int64")
    plan = plan_of(sizes, out, window, stride, padding, dilation)
    launch(SOURCES.kernel("max_pool", x.dtype), y.size, x, y, i, plan, y.size)
    return y, i


def pool_put(h: Any, i: Any, *, sizes: Sizes, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    lead, out = lead_and_last(h.shape, len(sizes))
    h, i = contiguous(h, i.astype("int64", copy=False))
    y = cupy.empty((*lead, *sizes), h.dtype)
    plan = plan_of(sizes, out, window, stride, padding, dilation)
    launch(SOURCES.kernel("pool_put", h.dtype), y.size, h, i, y, plan, y.size)
    return y


def avg_pool(
    x: Any,
    *,
    window: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool = False,
    include: bool = True,
    divisor: float | None = None,
) -> Any:
    (lead, sizes), ones = lead_and_last(x.shape, len(window)), (1,) * len(window)
    out = out_sizes("avg_pool", sizes, window, stride, padding, ones, ceil_mode)
    (x,) = contiguous(x)
    y = cupy.empty((*lead, *out), x.dtype)
    plan = plan_of(sizes, out, window, stride, padding, ones)
    launch(SOURCES.kernel("avg_pool", x.dtype), y.size, x, y, plan, include, float(divisor or 0), y.size)
    return y


def avg_pool_put(
    h: Any,
    *,
    sizes: Sizes,
    window: Sizes,
    stride: Sizes,
    padding: Sizes,
    include: bool = True,
    divisor: float | None = None,
) -> Any:
    lead, out = lead_and_last(h.shape, len(window))
    (h,) = contiguous(h)
    y = cupy.empty((*lead, *sizes), h.dtype)
    plan = plan_of(sizes, out, window, stride, padding, (1,) * len(window))
    launch(SOURCES.kernel("avg_pool_put", h.dtype), y.size, h, y, plan, include, float(divisor or 0), y.size)
    return y


def _up_to_three(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel for windows of one to three axes; others go to the program."""

    @functools.wraps(function)
    def kernel(*xs: Any, **keywords: Any) -> Any:
        few = len(keywords["stride"]) <= 3
        return (function if few else program_of(function.__name__))(*xs, **keywords)

    return kernel


_FUNCTIONS = (unfold_windows, fold_windows, max_pool, pool_put, avg_pool, avg_pool_put)
TABLE = {name: _up_to_three(kernel) for name, kernel in table(_FUNCTIONS).items()}
