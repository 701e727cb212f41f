"""Sources of attention by tiles: scores of some queries and some keys are there at a time, in shared memory.

Forth is one launch, with sums that are corrected whenever a larger score is met. Back is one, onto zeros: blocks own
keys and values, and add to the cotangents of queries atomically. Where bits must be the same every time it is two, each
result added up by one block in a fixed order: one for queries, which also leaves what every row's slopes are less by,
and one for keys and values. There is another where a mask is learned.
"""

import functools
from typing import NamedTuple

from cupy.cuda import runtime

from lucidgrad.backends.cuda.compiling import Sources
from lucidgrad.backends.cuda.sampling import PHILOX


# -- tiles ---------------------------------------------------------------------------------------
class Tile(NamedTuple):
    """Rows that a block owns, rows that it goes through at a time, and threads: so many in a row, so many in all."""

    own: int
    others: int
    across: int
    threads: int

    def shared_bytes(self, kernel: str, width: int, size: int) -> int:
        """The shared memory of a kernel: matrices of its own rows and of others, tables of scores, numbers of rows."""
        own, others, tables, numbers = NEEDS[kernel]
        rows = (own * self.own + others * self.others) * (width + 4)
        return (rows + tables * self.own * (self.others + 4) + numbers * self.others) * size


#: What a block has in shared memory, by kernel: see `Tile.shared_bytes`.
NEEDS = {
    "attention_values": (1, 2, 1, 0),
    "attention_queries": (2, 2, 1, 0),
    "attention_keys": (2, 2, 2, 2),
    "attention_mask": (2, 2, 1, 0),
}


_SMALL, _MEDIUM, _LARGE = Tile(8, 8, 8, 64), Tile(16, 16, 16, 128), Tile(32, 32, 16, 128)
_LONG, _HUGE = Tile(64, 32, 16, 256), Tile(64, 64, 16, 256)

#: By KB of shared memory that a block may ask for (sm_60 and 75; 70, 86, 89 and 120; 80; 90 and 100), the bytes of what
#: is computed with, and the width of a head: what fits. Nothing does for 256 float64 numbers in 48 KB.
TILES: dict[int, dict[int, dict[int, Tile]]] = {
    48: {
        4: {16: _LARGE, 32: _LARGE, 64: _LARGE, 128: _MEDIUM, 256: _SMALL},
        8: {16: Tile(32, 16, 16, 128), 32: Tile(32, 16, 16, 128), 64: _MEDIUM, 128: _SMALL},
    },
    96: {
        4: {16: Tile(64, 48, 16, 256), 32: Tile(64, 48, 16, 256), 64: Tile(64, 48, 16, 256), 128: _LARGE, 256: _MEDIUM},
        8: {16: _LARGE, 32: _LARGE, 64: _LARGE, 128: _MEDIUM, 256: _SMALL},
    },
    163: {
        4: {16: _HUGE, 32: _HUGE, 64: _HUGE, 128: _LONG, 256: _LARGE},
        8: {16: _HUGE, 32: _HUGE, 64: _LONG, 128: _LARGE, 256: _MEDIUM},
    },
    227: {
        4: {16: _HUGE, 32: _HUGE, 64: _HUGE, 128: _HUGE, 256: _LARGE},
        8: {16: _HUGE, 32: _HUGE, 64: _HUGE, 128: _LARGE, 256: _MEDIUM},
    },
}
WIDTHS = (16, 32, 64, 128, 256)


@functools.cache
def shared_room(device: int) -> int:
    """KB of shared memory that a block of a device may ask for."""
    return int(runtime.deviceGetAttribute(runtime.cudaDevAttrMaxSharedMemoryPerBlockOptin, device)) >> 10


def tile_for(width: int, size: int, room: int, rows: int, heads: int, processors: int) -> Tile | None:
    """The largest tile that there is room for, but smaller ones while multiprocessors would have nothing to do."""
    found = None
    for limit in sorted(TILES, reverse=True):
        tile = TILES[limit][size].get(width) if limit <= room else None
        if tile is not None:
            found = tile
            if heads * -(-rows // tile.own) >= processors:
                break
    return found


# -- sources -------------------------------------------------------------------------------------
#: D is the width of a head in shared memory, BR and BC a tile's rows, TX threads across, NT in all. A thread has RM
#: rows of a tile and RN of the others, and RD columns of results. A row's results belong to the lanes of one warp.
#: Where results are those of the others, it has RQ rows, and so many columns at a time that registers suffice.
COMMON = (
    PHILOX
    + r"""
#ifndef D
#define D 64
#define BR 32
#define BC 32
#define TX 16
#define NT 128
#endif
#define TY (NT / TX)
#define RM (BR / TY)
#define RN (BC / TX)
#define RD (D / TX)
#define RQ (BC / TY)
#define ATOMS (RD < 4 ? RD : 4)
#define WIDE (D + 4)
#define SCORES (BC + 4)

struct Place { I lead[4], row, column; };
struct Plan {
    I own[4], others[4], queries, keys, e, f, heads;
    Place q, k, v, m, y, t, h, of_t, less, to_q, to_k, to_v, to_m, number;
};
struct __align__(16) Four { A v[4]; };

__device__ inline I offset(const Place &p, const I *sizes, unsigned int head) {
    I at = 0;
    #pragma unroll
    for (int a = 3; a >= 0; --a) {
        const unsigned int n = (unsigned int)sizes[a];
        at += (I)(head % n) * p.lead[a];
        head /= n;
    }
    return at;
}

// Rows of a matrix into shared memory: zeros beyond its end.
__device__ inline void fetch(A *to, const T *from, int rows, I first, I count, I width, I row) {
    for (int k = threadIdx.x; k < rows * D; k += NT) {
        const int r = k / D, c = k % D;
        to[r * WIDE + c] = first + r < count && c < width ? (A)from[(first + r) * row + c] : (A)0;
    }
}

__device__ inline void products(A (&s)[RM][RN], const A *own, const A *others, int ty, int tx) {
    #pragma unroll
    for (int i = 0; i < RM; ++i)
        #pragma unroll
        for (int j = 0; j < RN; ++j) s[i][j] = 0;
    #pragma unroll 2
    for (int d = 0; d < D; d += 4) {
        Four a[RM], b[RN];
        #pragma unroll
        for (int i = 0; i < RM; ++i) a[i] = *(const Four *)(own + (ty + i * TY) * WIDE + d);
        #pragma unroll
        for (int j = 0; j < RN; ++j) b[j] = *(const Four *)(others + (tx + j * TX) * WIDE + d);
        #pragma unroll
        for (int i = 0; i < RM; ++i)
            #pragma unroll
            for (int j = 0; j < RN; ++j)
                #pragma unroll
                for (int c = 0; c < 4; ++c) s[i][j] += a[i].v[c] * b[j].v[c];
    }
}

// Adds a table of weights times rows.
__device__ inline void gather(A (&y)[RM][RD], const A *weights, const A *others, int ty, int tx) {
    #pragma unroll 2
    for (int k = 0; k < BC; k += 4) {
        Four w[RM];
        #pragma unroll
        for (int i = 0; i < RM; ++i) w[i] = *(const Four *)(weights + (ty + i * TY) * SCORES + k);
        #pragma unroll
        for (int c = 0; c < 4; ++c)
            #pragma unroll
            for (int j = 0; j < RD; ++j) {
                const A v = others[(k + c) * WIDE + tx + j * TX];
                #pragma unroll
                for (int i = 0; i < RM; ++i) y[i][j] += w[i].v[c] * v;
            }
    }
}

// Adds a table's columns times its own rows to rows that other blocks add to, too.
__device__ inline void scatter(
    T *to, const A *weights, const A *own, A scale, I first, I count, I width, I row, int ty, int tx) {
    #pragma unroll 1
    for (int from = 0; from < RD; from += ATOMS) {
        A sum[RQ][ATOMS];
        #pragma unroll
        for (int i = 0; i < RQ; ++i)
            #pragma unroll
            for (int j = 0; j < ATOMS; ++j) sum[i][j] = 0;
        #pragma unroll 4
        for (int k = 0; k < BR; ++k) {
            Four w[(RQ + 3) / 4];
            #pragma unroll
            for (int i = 0; i < RQ; ++i) {
                const A *at = weights + k * SCORES + ty * RQ + i;
                if (RQ % 4) w[i / 4].v[i % 4] = *at;
                else if (i % 4 == 0) w[i / 4] = *(const Four *)at;
            }
            #pragma unroll
            for (int j = 0; j < ATOMS; ++j) {
                const A v = own[k * WIDE + tx + (from + j) * TX];
                #pragma unroll
                for (int i = 0; i < RQ; ++i) sum[i][j] += w[i / 4].v[i % 4] * v;
            }
        }
        #pragma unroll
        for (int i = 0; i < RQ; ++i)
            #pragma unroll
            for (int j = 0; j < ATOMS; ++j) {
                const int r = ty * RQ + i, c = tx + (from + j) * TX;
                if (first + r < count && c < width) atomicAdd(to + (first + r) * row + c, (T)(sum[i][j] * scale));
            }
    }
}

__device__ inline A along(A v, bool greatest) {
    #pragma unroll
    for (int m = TX / 2; m > 0; m /= 2) {
        const A other = __shfl_xor_sync(0xffffffff, v, m);
        v = greatest ? (other > v ? other : v) : v + other;
    }
    return v;
}

// What changes scores and weights: a mask of bytes (kind 1) or numbers (2), an order, and dropout.
struct Change {
    const void *mask;
    int kind;
    bool causal;
    A scale;
    const I *key;
    unsigned int threshold;
    A share;
};

__device__ inline A changed(A s, const Change &by, const Plan &p, I mask, I row, I column) {
    if (row >= p.queries || column >= p.keys || (by.causal && column > row)) return -infinity();
    s *= by.scale;
    const I at = mask + row * p.m.row + column * p.m.column;
    if (by.kind == 1) return ((const unsigned char *)by.mask)[at] ? s : -infinity();
    return by.kind == 2 ? s + (A)((const T *)by.mask)[at] : s;
}

__device__ inline A rate(const Change &by, const Plan &p, I head, I row, I column) {
    if (by.key == 0) return (A)1;
    unsigned int r[4];
    philox((unsigned long long)by.key[0],
           (unsigned long long)(by.key[1] + (head * p.queries + row) * p.keys + column), r);
    return (r[0] >> 8) >= by.threshold ? by.share : (A)0;
}

#define SHARED extern __shared__ __align__(16) unsigned char memory[];
#define CHANGE const void *mask, int kind, bool causal, double scale, const I *key, unsigned int threshold, double share
#define THREAD \
    const int tx = threadIdx.x % TX, ty = threadIdx.x / TX; \
    const Change by = {mask, kind, causal, (A)scale, key, threshold, (A)share};
"""
)

BODIES = {
    "attention_values": r"""
extern "C" __global__ void __launch_bounds__(NT, 1) attention_values(
    const T *q, const T *k, const T *v, T *y, A *t, CHANGE, Plan p) {
    SHARED
    A *qs = (A *)memory, *ks = qs + BR * WIDE, *vs = ks + BC * WIDE, *ps = vs + BC * WIDE;
    THREAD
    const unsigned int tiles = (unsigned int)((p.queries + BR - 1) / BR), head = blockIdx.x / tiles;
    const I first = (I)(tiles - 1 - blockIdx.x % tiles) * BR;  // the longest first, where there is an order
    const I number = offset(p.number, p.own, head), at_m = offset(p.m, p.own, head);
    k += offset(p.k, p.own, head);
    v += offset(p.v, p.own, head);
    fetch(qs, q + offset(p.q, p.own, head), BR, first, p.queries, p.e, p.q.row);
    A top[RM], sum[RM], s[RM][RN], out[RM][RD];
    #pragma unroll
    for (int i = 0; i < RM; ++i) {
        top[i] = -infinity();
        sum[i] = 0;
        #pragma unroll
        for (int j = 0; j < RD; ++j) out[i][j] = 0;
    }
    const I end = causal && first + BR < p.keys ? first + BR : p.keys;
    for (I start = 0; start < end; start += BC) {
        __syncthreads();
        fetch(ks, k, BC, start, p.keys, p.e, p.k.row);
        fetch(vs, v, BC, start, p.keys, p.f, p.v.row);
        __syncthreads();
        products(s, qs, ks, ty, tx);
        #pragma unroll
        for (int i = 0; i < RM; ++i) {
            const I row = first + ty + i * TY;
            A high = top[i];
            #pragma unroll
            for (int j = 0; j < RN; ++j) {
                s[i][j] = changed(s[i][j], by, p, at_m, row, start + tx + j * TX);
                high = s[i][j] > high ? s[i][j] : high;
            }
            high = along(high, true);
            const A base = high == -infinity() ? (A)0 : high, less = power(top[i] - base);
            top[i] = high;
            sum[i] *= less;
            #pragma unroll
            for (int j = 0; j < RD; ++j) out[i][j] *= less;
            #pragma unroll
            for (int j = 0; j < RN; ++j) {
                const A w = power(s[i][j] - base);
                sum[i] += w;
                ps[(ty + i * TY) * SCORES + tx + j * TX] = w * rate(by, p, number, row, start + tx + j * TX);
            }
        }
        __syncwarp();
        gather(out, ps, vs, ty, tx);
    }
    y += offset(p.y, p.own, head);
    t += offset(p.t, p.own, head);
    #pragma unroll
    for (int i = 0; i < RM; ++i) {
        const I row = first + ty + i * TY;
        const A total = along(sum[i], false), over = total == (A)0 ? (A)1 : (A)1 / total;
        if (row >= p.queries) continue;
        #pragma unroll
        for (int j = 0; j < RD; ++j)
            if (tx + j * TX < p.f) y[row * p.y.row + tx + j * TX] = (T)(out[i][j] * over);
        if (tx == 0) t[row * p.t.row] = logarithm(total) + top[i];  // -inf without keys
    }
}
""",
    "attention_queries": r"""
extern "C" __global__ void __launch_bounds__(NT, 1) attention_queries(
    const T *h, const A *of_t, const T *y, const A *t, A *less, const T *q, const T *k, const T *v, T *to_q, CHANGE,
    Plan p) {
    SHARED
    A *qs = (A *)memory, *hs = qs + BR * WIDE, *ks = hs + BR * WIDE, *vs = ks + BC * WIDE, *ss = vs + BC * WIDE;
    THREAD
    const unsigned int tiles = (unsigned int)((p.queries + BR - 1) / BR), head = blockIdx.x / tiles;
    const I first = (I)(tiles - 1 - blockIdx.x % tiles) * BR;
    const I number = offset(p.number, p.own, head), at_m = offset(p.m, p.own, head);
    k += offset(p.k, p.own, head);
    v += offset(p.v, p.own, head);
    y += offset(p.y, p.own, head);
    t += offset(p.t, p.own, head);
    of_t += offset(p.of_t, p.own, head);
    less += offset(p.less, p.own, head);
    fetch(qs, q + offset(p.q, p.own, head), BR, first, p.queries, p.e, p.q.row);
    fetch(hs, h + offset(p.h, p.own, head), BR, first, p.queries, p.f, p.h.row);
    __syncthreads();
    A base[RM], rest[RM], s[RM][RN], g[RM][RN], out[RM][RD];
    #pragma unroll
    for (int i = 0; i < RM; ++i) {
        const I row = first + ty + i * TY;
        A part = 0;
        base[i] = 0;
        #pragma unroll
        for (int j = 0; j < RD; ++j) {
            out[i][j] = 0;
            if (row < p.queries && tx + j * TX < p.f)
                part += hs[(ty + i * TY) * WIDE + tx + j * TX] * (A)y[row * p.y.row + tx + j * TX];
        }
        rest[i] = along(part, false);
        if (row < p.queries) {
            base[i] = t[row * p.t.row] == -infinity() ? (A)0 : t[row * p.t.row];
            rest[i] -= of_t[row * p.of_t.row];
            if (tx == 0) less[row * p.less.row] = rest[i];
        }
    }
    const I end = causal && first + BR < p.keys ? first + BR : p.keys;
    for (I start = 0; start < end; start += BC) {
        __syncthreads();
        fetch(ks, k, BC, start, p.keys, p.e, p.k.row);
        fetch(vs, v, BC, start, p.keys, p.f, p.v.row);
        __syncthreads();
        products(s, qs, ks, ty, tx);
        products(g, hs, vs, ty, tx);
        #pragma unroll
        for (int i = 0; i < RM; ++i) {
            const I row = first + ty + i * TY;
            #pragma unroll
            for (int j = 0; j < RN; ++j) {
                const I column = start + tx + j * TX;
                const A w = power(changed(s[i][j], by, p, at_m, row, column) - base[i]);
                ss[(ty + i * TY) * SCORES + tx + j * TX] = w * (g[i][j] * rate(by, p, number, row, column) - rest[i]);
            }
        }
        __syncwarp();
        gather(out, ss, ks, ty, tx);
    }
    to_q += offset(p.to_q, p.own, head);
    #pragma unroll
    for (int i = 0; i < RM; ++i) {
        const I row = first + ty + i * TY;
        if (row >= p.queries) continue;
        #pragma unroll
        for (int j = 0; j < RD; ++j)
            if (tx + j * TX < p.e) to_q[row * p.to_q.row + tx + j * TX] = (T)(out[i][j] * by.scale);
    }
}
""",
    # A block has keys and values of heads that share them, and goes through the queries of all of these. Alone, it
    # finds what their slopes are less by, and adds to to_q; else that is known, and to_q another launch's.
    "attention_keys": r"""
extern "C" __global__ void __launch_bounds__(NT, 1) attention_keys(
    const T *h, const A *of_t, const T *y, const A *t, A *less, const T *q, const T *k, const T *v, T *to_q, T *to_k,
    T *to_v, bool alone, CHANGE, Plan p) {
    SHARED
    A *ks = (A *)memory, *vs = ks + BR * WIDE, *qs = vs + BR * WIDE, *hs = qs + BC * WIDE;
    A *ps = hs + BC * WIDE, *ss = ps + BR * SCORES, *bases = ss + BR * SCORES, *rests = bases + BC;
    THREAD
    const unsigned int tiles = (unsigned int)((p.keys + BR - 1) / BR), group = blockIdx.x / tiles;
    const I first = (I)(blockIdx.x % tiles) * BR;
    fetch(ks, k + offset(p.k, p.own, group), BR, first, p.keys, p.e, p.k.row);
    fetch(vs, v + offset(p.v, p.own, group), BR, first, p.keys, p.f, p.v.row);
    A s[RM][RN], g[RM][RN], of_k[RM][RD], of_v[RM][RD];
    #pragma unroll
    for (int i = 0; i < RM; ++i)
        #pragma unroll
        for (int j = 0; j < RD; ++j) of_k[i][j] = of_v[i][j] = 0;
    for (unsigned int one = 0; one < (unsigned int)p.heads; ++one) {
        #define AT(x) (offset(p.x, p.own, group) + offset(p.x, p.others, one))
        const I at_q = AT(q), at_h = AT(h), at_y = AT(y), at_t = AT(t), at_of_t = AT(of_t), at_less = AT(less);
        const I at_m = AT(m), at_to_q = AT(to_q), number = AT(number);
        for (I start = causal ? first / BC * BC : 0; start < p.queries; start += BC) {
            __syncthreads();
            fetch(qs, q + at_q, BC, start, p.queries, p.e, p.q.row);
            #pragma unroll 1
            for (int i = 0; i < RQ; ++i) {
                const int r = ty + i * TY;
                const I row = start + r;
                A rest = 0;
                #pragma unroll 4
                for (int j = 0; j < RD; ++j) {
                    const int c = tx + j * TX;
                    const bool there = row < p.queries && c < p.f;
                    const A value = there ? (A)h[at_h + row * p.h.row + c] : (A)0;
                    hs[r * WIDE + c] = value;
                    if (alone && there) rest += value * (A)y[at_y + row * p.y.row + c];
                }
                if (alone) rest = along(rest, false);
                if (tx > 0) continue;
                bases[r] = 0;
                if (row < p.queries) {
                    const A base = t[at_t + row * p.t.row];
                    if (base != -infinity()) bases[r] = base;
                    rest = alone ? rest - of_t[at_of_t + row * p.of_t.row] : less[at_less + row * p.less.row];
                    if (alone && less && first == 0) less[at_less + row * p.less.row] = rest;
                }
                rests[r] = rest;
            }
            __syncthreads();
            products(s, ks, qs, ty, tx);
            products(g, vs, hs, ty, tx);
            #pragma unroll
            for (int j = 0; j < RN; ++j) {
                const I row = start + tx + j * TX;
                const A base = bases[tx + j * TX], rest = rests[tx + j * TX];
                #pragma unroll
                for (int i = 0; i < RM; ++i) {
                    const I column = first + ty + i * TY;
                    const A w = power(changed(s[i][j], by, p, at_m, row, column) - base);
                    const A by_chance = rate(by, p, number, row, column);
                    ps[(ty + i * TY) * SCORES + tx + j * TX] = w * by_chance;
                    ss[(ty + i * TY) * SCORES + tx + j * TX] = w * (g[i][j] * by_chance - rest);
                }
            }
            if (alone) __syncthreads();
            else __syncwarp();
            gather(of_v, ps, hs, ty, tx);
            gather(of_k, ss, qs, ty, tx);
            if (alone) scatter(to_q + at_to_q, ss, ks, by.scale, start, p.queries, p.e, p.to_q.row, ty, tx);
        }
    }
    to_k += offset(p.to_k, p.own, group);
    to_v += offset(p.to_v, p.own, group);
    #pragma unroll
    for (int i = 0; i < RM; ++i) {
        const I row = first + ty + i * TY;
        if (row >= p.keys) continue;
        #pragma unroll
        for (int j = 0; j < RD; ++j) {
            const int c = tx + j * TX;
            if (c < p.e) to_k[row * p.to_k.row + c] = (T)(of_k[i][j] * by.scale);
            if (c < p.f) to_v[row * p.to_v.row + c] = (T)of_v[i][j];
        }
    }
}
""",
    # A block has a tile of a mask, and goes through all heads, rows and columns that the mask is one for.
    "attention_mask": r"""
extern "C" __global__ void __launch_bounds__(NT, 1) attention_mask(
    const T *h, const A *t, const A *less, const T *q, const T *k, const T *v, T *to_m, CHANGE, bool one_row,
    bool one_column, Plan p) {
    SHARED
    A *qs = (A *)memory, *hs = qs + BR * WIDE, *ks = hs + BR * WIDE, *vs = ks + BC * WIDE, *ss = vs + BC * WIDE;
    THREAD
    const unsigned int down = one_row ? 1 : (unsigned int)((p.queries + BR - 1) / BR);
    const unsigned int across = one_column ? 1 : (unsigned int)((p.keys + BC - 1) / BC);
    const unsigned int group = blockIdx.x / (down * across), tile = blockIdx.x % (down * across);
    const I row0 = (I)(tile / across) * BR, column0 = (I)(tile % across) * BC;
    const I row1 = one_row ? p.queries : row0 + BR, column1 = one_column ? p.keys : column0 + BC;
    A s[RM][RN], g[RM][RN], sum[RM][RN];
    #pragma unroll
    for (int i = 0; i < RM; ++i)
        #pragma unroll
        for (int j = 0; j < RN; ++j) sum[i][j] = 0;
    for (unsigned int one = 0; one < (unsigned int)p.heads; ++one) {
        const I at_m = offset(p.m, p.own, group) + offset(p.m, p.others, one);
        const I at_t = offset(p.t, p.own, group) + offset(p.t, p.others, one);
        const I at_less = offset(p.less, p.own, group) + offset(p.less, p.others, one);
        const I number = offset(p.number, p.own, group) + offset(p.number, p.others, one);
        for (I first = row0; first < row1; first += BR) {
            __syncthreads();
            fetch(qs, q + offset(p.q, p.own, group) + offset(p.q, p.others, one), BR, first, p.queries, p.e, p.q.row);
            fetch(hs, h + offset(p.h, p.own, group) + offset(p.h, p.others, one), BR, first, p.queries, p.f, p.h.row);
            for (I start = column0; start < column1 && !(causal && start >= first + BR); start += BC) {
                __syncthreads();
                fetch(ks, k + offset(p.k, p.own, group) + offset(p.k, p.others, one), BC, start, p.keys, p.e, p.k.row);
                fetch(vs, v + offset(p.v, p.own, group) + offset(p.v, p.others, one), BC, start, p.keys, p.f, p.v.row);
                __syncthreads();
                products(s, qs, ks, ty, tx);
                products(g, hs, vs, ty, tx);
                #pragma unroll
                for (int i = 0; i < RM; ++i) {
                    const I row = first + ty + i * TY;
                    A base = row < p.queries ? t[at_t + row * p.t.row] : (A)0;
                    const A rest = row < p.queries ? less[at_less + row * p.less.row] : (A)0;
                    if (base == -infinity()) base = 0;
                    #pragma unroll
                    for (int j = 0; j < RN; ++j) {
                        const I column = start + tx + j * TX;
                        const A w = power(changed(s[i][j], by, p, at_m, row, column) - base);
                        sum[i][j] += w * (g[i][j] * rate(by, p, number, row, column) - rest);
                    }
                }
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < RM; ++i)
        #pragma unroll
        for (int j = 0; j < RN; ++j) ss[(ty + i * TY) * SCORES + tx + j * TX] = sum[i][j];
    __syncthreads();
    to_m += offset(p.to_m, p.own, group);
    const int rows = one_row ? 1 : BR, columns = one_column ? 1 : BC;
    for (int n = threadIdx.x; n < rows * columns; n += NT) {
        const int r = n / columns, c = n % columns;
        A total = 0;
        for (int i = r; i < (one_row ? BR : r + 1); ++i)
            for (int j = c; j < (one_column ? BC : c + 1); ++j) total += ss[i * SCORES + j];
        if (row0 + r < p.queries && column0 + c < p.keys)
            to_m[(row0 + r) * p.to_m.row + (column0 + c) * p.to_m.column] = (T)total;
    }
}
""",
}

#: Half precision comes in single: what nodes keep is not rounded.
SOURCES = Sources(BODIES, COMMON, dtypes=("float32", "float64"))


def constants(tile: Tile, width: int) -> str:
    """What a source is told of its tile."""
    known = {"D": width, "BR": tile.own, "BC": tile.others, "TX": tile.across, "NT": tile.threads}
    return "".join(f"#define {name} {value}\n" for name, value in known.items())
