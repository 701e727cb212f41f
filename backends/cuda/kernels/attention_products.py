"""Attention of 16-bit numbers by products of cuBLAS's on tensor cores, where a model says that tiles take longer.

Tensor cores look at 11 bits of a float32 (TF32): all that a number of 16 bits has, so queries, keys, values and their
cotangent lose nothing. Weights and slopes have more bits: each is two numbers, its first 11 bits and the rest, whose
products are added. So results are those of float32, as from tiles. Forth is 4 launches, back 9, for as many heads at a
time as there is room for scores.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import cupy
from cupy.cuda import Device, get_device_id

from lucidgrad.backends.cuda.compiling import Sources

from .attention_sources import COMMON, Tile, constants
from .matmul import NARROW, matmul

# -- when ----------------------------------------------------------------------------------------
#: Operations of float32 and bytes of memory in a second, at best, of architectures whose tensor cores and memory are
#: fast enough (A100, H100, B200, by their data sheets). On others (8.6, 8.9, 12.0) memory is too slow for scores.
PEAKS = {80: (19.5e12, 1.56e12), 90: (67e12, 3.35e12), 100: (80e12, 8e12)}
#: What is reached of them: of operations by tiles, of bytes by products and the kernels between.
REACHED = 0.5, 0.8
#: The longest queries or keys, and bytes that scores may take: one head has 16 MB of them on the way back.
LONGEST, ROOM = 1024, 64 << 20
#: Bytes that are moved for a score forth: it is written and read, its weight is written and read in two parts.
MOVED = 24
#: How much faster it must be, and how many seconds must be gained: the launches are 3 more forth, 7 back.
GAIN, LAUNCHES = 1.25, 10e-6


@functools.cache
def capability(device: int) -> int:
    """The compute capability of a device, 80 for 8.0."""
    return int(Device(device).compute_capability)


def is_faster(heads: int, queries: int, keys: int, width: int, causal: bool) -> bool:
    """Whether products take less time than tiles, on paper; these leave out what an order forbids."""
    if max(queries, keys) > LONGEST or capability(get_device_id()) not in PEAKS:
        return False
    operations, moved = PEAKS[capability(get_device_id())]
    by_tiles = 4 * width * (0.5 if causal else 1) / (REACHED[0] * operations)
    by_products = MOVED / (REACHED[1] * moved)
    gained = heads * queries * keys * (by_tiles - by_products)
    return by_tiles >= GAIN * by_products and gained >= LAUNCHES


# -- kernels -------------------------------------------------------------------------------------
#: A warp has a row of scores, a block eight.
_ROWS = 8
BODIES = {
    # Scores become the first parts of weights.
    "attention_weights": r"""
extern "C" __global__ void __launch_bounds__(NT, 1) attention_weights(T *s, T *low, A *t, I rows, CHANGE, Plan p) {
    THREAD
    const I at = (I)blockIdx.x * TY + ty;
    if (at >= rows) return;
    const I head = part_of(at, p.queries), row = rest_of(at, p.queries), place = at * p.keys;
    const I at_m = offset(p.m, p.own, (unsigned int)head);
    A top = -infinity(), total = 0;
    for (I c = tx; c < p.keys; c += TX) {
        const A score = changed(s[place + c], by, p, at_m, row, c);
        top = score > top ? score : top;
    }
    top = along(top, true);
    const A base = top == -infinity() ? (A)0 : top;
    for (I c = tx; c < p.keys; c += TX) total += power(changed(s[place + c], by, p, at_m, row, c) - base);
    total = along(total, false);
    const A whole = total == (A)0 ? (A)1 : total;
    for (I c = tx; c < p.keys; c += TX)
        parts(power(changed(s[place + c], by, p, at_m, row, c) - base) / whole, s[place + c], low[place + c]);
    if (tx == 0) t[at] = logarithm(total) + base;
}
""",
    # Scores become the first parts of weights, and products of cotangents and values the first parts of slopes.
    "attention_slopes": r"""
extern "C" __global__ void __launch_bounds__(NT, 1) attention_slopes(
    T *s, T *g, T *low_s, T *low_g, const A *t, I rows, CHANGE, Plan p) {
    THREAD
    const I at = (I)blockIdx.x * TY + ty;
    if (at >= rows) return;
    const I head = part_of(at, p.queries), row = rest_of(at, p.queries), place = at * p.keys;
    const I at_m = offset(p.m, p.own, (unsigned int)head);
    A base = t[offset(p.t, p.own, (unsigned int)head) + row * p.t.row], rest = 0;
    if (base == -infinity()) base = 0;
    for (I c = tx; c < p.keys; c += TX)
        rest += power(changed(s[place + c], by, p, at_m, row, c) - base) * g[place + c];
    rest = along(rest, false);
    for (I c = tx; c < p.keys; c += TX) {
        const A w = power(changed(s[place + c], by, p, at_m, row, c) - base);
        const A slope = w * (g[place + c] - rest) * by.scale;
        parts(w, s[place + c], low_s[place + c]);
        parts(slope, g[place + c], low_g[place + c]);
    }
}
""",
}
_PARTS = r"""
// The bits of a number that tensor cores look at, and the rest, of which they look at as many.
__device__ inline void parts(float v, float &high, float &low) {
    high = __int_as_float(__float_as_int(v) & ~0x1fff);
    low = high == v ? 0 : v - high;
}
"""
SOURCES = Sources(BODIES, constants(Tile(_ROWS, 32, 32, 32 * _ROWS), 32) + COMMON + _PARTS, dtypes=("float32",))


# -- calls ---------------------------------------------------------------------------------------
Change = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], Any]]


def _portions(lead: tuple[int, ...], most: int) -> Iterator[tuple[Any, ...]]:
    """Keys of leading axes for so many heads at a time, or one."""
    if not lead:
        yield ()
        return
    axis = next(a for a in range(len(lead)) if math.prod(lead[a + 1 :]) <= most)
    step = most // math.prod(lead[axis + 1 :])
    for outer in itertools.product(*map(range, lead[:axis])):
        for first in range(0, lead[axis], step):
            yield (*outer, slice(first, first + step))


def _wide(x: Any, lead: tuple[int, ...]) -> Any:
    return cupy.broadcast_to(x, (*lead, *x.shape[-2:]))


class Heads:
    """Heads by portions: memory for their scores, products, and launches of a kernel for their rows."""

    def __init__(self, lead: tuple[int, ...], queries: int, keys: int, tables: int) -> None:
        self.lead, self.size = lead, (queries, keys)
        each = queries * keys
        self.most = min(max(ROOM // (4 * tables * each), 1), math.prod(lead))
        self.room = cupy.empty((tables, self.most * each), "float32")

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return _portions(self.lead, self.most)

    def tables(self, lead: tuple[int, ...]) -> list[Any]:
        """Tables of scores for a portion."""
        count = math.prod(lead) * math.prod(self.size)
        return [part[:count].reshape((*lead, *self.size)) for part in self.room]

    def launch(self, name: str, lead: tuple[int, ...], given: tuple[Any, ...], changes: Any, numbers: Any) -> None:
        rows = math.prod(lead) * self.size[0]
        kernel = SOURCES.kernel(name, self.room.dtype)
        kernel((-(-rows // _ROWS),), (32 * _ROWS,), (*given, rows, *changes, numbers))


def _product(x1: Any, x2: Any, to: Any) -> None:
    matmul(x1, x2, out=to, how=NARROW)


def _both(high: Any, low: Any, x: Any, to: Any) -> None:
    """Two parts of a table times a matrix."""
    matmul(high, x, out=to, how=NARROW)
    matmul(low, x, onto=to, how=NARROW)


def _turned(x: Any) -> Any:
    return x.swapaxes(-1, -2)


def values(q: Any, k: Any, v: Any, m: Any, lead: tuple[int, ...], change: Change) -> tuple[Any, Any]:
    """The values as weighted, and the logarithms of sums."""
    queries, keys = q.shape[-2], k.shape[-2]
    y, t = cupy.empty((*lead, queries, v.shape[-1]), q.dtype), cupy.empty((*lead, queries), q.dtype)
    q, k, v, m = (x if x is None else _wide(x, lead) for x in (q, k, v, m))
    heads = Heads(lead, queries, keys, 2)
    for at in heads:
        here = y[at].shape[:-2]
        s, low = heads.tables(here)
        _product(q[at], _turned(k[at]), s)
        changes, numbers = change(here, {} if m is None else {"m": m[at]})
        heads.launch("attention_weights", here, (s, low, t[at]), changes, numbers)
        _both(s, low, v[at], y[at])
    return y, t


def pulled(
    h: Any, t: Any, q: Any, k: Any, v: Any, m: Any, lead: tuple[int, ...], change: Change
) -> tuple[Any, Any, Any]:
    """The cotangents of q, k and v, for all leading axes; the logarithms have none."""
    queries, keys = q.shape[-2], k.shape[-2]
    sizes = (queries, q.shape[-1]), (keys, k.shape[-1]), (keys, v.shape[-1])
    to_q, to_k, to_v = (cupy.empty((*lead, *size), q.dtype) for size in sizes)
    q, k, v, h, m = (x if x is None else _wide(x, lead) for x in (q, k, v, h, m))
    t = cupy.broadcast_to(t, (*lead, queries))
    heads = Heads(lead, queries, keys, 4)
    for at in heads:
        here = to_q[at].shape[:-2]
        s, g, low_s, low_g = heads.tables(here)
        _product(q[at], _turned(k[at]), s)
        _product(h[at], _turned(v[at]), g)
        changes, numbers = change(here, {"t": t[at]} | ({} if m is None else {"m": m[at]}))
        heads.launch("attention_slopes", here, (s, g, low_s, low_g, t[at]), changes, numbers)
        _both(_turned(s), _turned(low_s), h[at], to_v[at])
        _both(g, low_g, k[at], to_q[at])
        _both(_turned(g), _turned(low_g), q[at], to_k[at])
    return to_q, to_k, to_v
