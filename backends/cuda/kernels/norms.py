"""Hand-written kernels of normalisation. Pulling a layer norm back is one launch, or two where rows are long."""

import math
from typing import Any

import cupy
import numpy as np
from cupy.cuda import get_device_id

from lucidgrad.backends.cuda.compiling import ROWS, Sources, contiguous, processors, rows_of, splits, table
from lucidgrad.backends.cuda.memory import unless_absent
from lucidgrad.backends.cuda.tickets import SOURCE as TICKETS, tickets

BODIES = {
    "standardise": r"""
extern "C" __global__ void BOUNDS standardise(
    const T *x, const T *w, const T *b, T *y, double eps, bool centred, LAYOUT) {
    ROW
    A mean = 0, total = 0;
    if (centred) {
        EACH(k, at) mean += (A)x[at];
        mean = SUM(mean) / (A)n;
    }
    EACH(k, at) total += ((A)x[at] - mean) * ((A)x[at] - mean);
    A rate = (A)1 / root(SUM(total) / (A)n + (A)eps);
    EACH(k, at) {
        A v = ((A)x[at] - mean) * rate;
        if (w) v *= (A)w[k];
        if (b) v += (A)b[k];
        y[at] = (T)v;
    }
}
""",
    # Weights w are there for a layer; means and rates are kept for its columns.
    "standardise_pull": r"""
extern "C" __global__ void BOUNDS standardise_pull(
    const T *h, const T *x, const T *w, T *y, A *means, A *rates, double eps, bool centred, LAYOUT) {
    ROW
    A mean = 0, total = 0, sum_h = 0, inner_product = 0;
    if (centred) {
        EACH(k, at) mean += (A)x[at];
        mean = SUM(mean) / (A)n;
    }
    EACH(k, at) {
        A d = (A)x[at] - mean, g = (A)h[at] * (w ? (A)w[k] : (A)1);
        total += d * d;
        sum_h += g;
        inner_product += g * d;
    }
    A rate = (A)1 / root(SUM(total) / (A)n + (A)eps);
    sum_h = centred ? SUM(sum_h) / (A)n : (A)0;
    inner_product = SUM(inner_product) * rate * rate / (A)n;
    EACH(k, at) {
        A d = (A)x[at] - mean, g = (A)h[at] * (w ? (A)w[k] : (A)1);
        y[at] = (T)((g - sum_h - d * inner_product) * rate);
    }
    if (means && row < rows && lane == 0) {
        means[row] = mean;
        rates[row] = rate;
    }
}
""",
    # A layer's rows and columns in one pass: a block goes through some of the rows, and keeps sums of columns in shared
    # memory, one for each group of threads that has a row. Each thread adds to its own columns. The last block of a
    # team adds the sums of the team, the last team those of all: a team is some square root of all blocks, so that none
    # has much to add while others have nothing to do.
    "layer_pull": r"""
extern "C" __global__ void __launch_bounds__(512, 1) layer_pull(
    const T *h, const T *x, const T *w, T *y, T *to_w, T *to_b, A *parts, unsigned int *tickets, double eps,
    bool centred, I rows, I n, int deep, int team) {
    extern __shared__ __align__(16) unsigned char memory[];
    const int across = 0, groups = blockDim.x / deep, group = threadIdx.x / deep, lane = threadIdx.x % deep;
    const I inner = 1, steps = (rows + (I)gridDim.x * groups - 1) / ((I)gridDim.x * groups);
    A *sums = (A *)memory, *own = sums + group * 2 * n;
    for (I k = threadIdx.x; k < groups * 2 * n; k += blockDim.x) sums[k] = 0;
    __syncthreads();
    for (I step = 0; step < steps; ++step) {
        const I row = (step * gridDim.x + blockIdx.x) * groups + group, length = row < rows ? n : 0, place = row * n;
        A mean = 0, total = 0, sum_h = 0, inner_product = 0;
        if (centred) {
            EACH(k, at) mean += (A)x[at];
            mean = SUM(mean) / (A)n;
        }
        EACH(k, at) {
            A d = (A)x[at] - mean, g = (A)h[at] * (A)w[k];
            total += d * d;
            sum_h += g;
            inner_product += g * d;
        }
        A rate = (A)1 / root(SUM(total) / (A)n + (A)eps);
        sum_h = centred ? SUM(sum_h) / (A)n : (A)0;
        inner_product = SUM(inner_product) * rate * rate / (A)n;
        EACH(k, at) {
            A d = (A)x[at] - mean;
            y[at] = (T)(((A)h[at] * (A)w[k] - sum_h - d * inner_product) * rate);
            own[k] += (A)h[at] * d * rate;
            own[n + k] += (A)h[at];
        }
    }
    __syncthreads();
    for (I k = threadIdx.x; k < 2 * n; k += blockDim.x) {
        A total = 0;
        for (int g = 0; g < groups; ++g) total += sums[g * 2 * n + k];
        parts[(I)blockIdx.x * 2 * n + k] = total;
    }
    const int own_team = blockIdx.x / team, teams = (gridDim.x + team - 1) / team, from = own_team * team;
    const int members = from + team < gridDim.x ? team : gridDim.x - from;
    if (!is_last(tickets + 1 + own_team, members)) return;
    A *team_parts = parts + (I)gridDim.x * 2 * n;
    for (I k = threadIdx.x; k < 2 * n; k += blockDim.x) team_parts[own_team * 2 * n + k] = PARTS(parts, from, members);
    if (!is_last(tickets, teams)) return;
    for (I k = threadIdx.x; k < 2 * n; k += blockDim.x) {
        const A total = PARTS(team_parts, 0, teams);
        if (k < n) to_w[k] = (T)total;
        else to_b[k - n] = (T)total;
    }
}
""",
    # The same for rows that are longer. A block has 32 columns of some of the rows, 8 rows at a time; where there are
    # several parts, the last block of a column adds them.
    "layer_columns": r"""
extern "C" __global__ void __launch_bounds__(256) layer_columns(
    const T *h, const T *x, const A *means, const A *rates, T *to_w, T *to_b, A *parts, unsigned int *tickets,
    I rows, I n, I chunk) {
    __shared__ A sums[2][8][33];
    const I column = (I)blockIdx.x * 32 + threadIdx.x, first = (I)blockIdx.y * chunk;
    const I end = first + chunk < rows ? first + chunk : rows;
    A weight = 0, bias = 0;
    if (column < n) {
        for (I row = first + threadIdx.y; row < end; row += 8) {
            A g = (A)h[row * n + column];
            weight += g * ((A)x[row * n + column] - means[row]) * rates[row];
            bias += g;
        }
    }
    sums[0][threadIdx.y][threadIdx.x] = weight;
    sums[1][threadIdx.y][threadIdx.x] = bias;
    __syncthreads();
    const bool adds = threadIdx.y < 2 && column < n;
    const I k = threadIdx.y * n + column;
    A total = 0;
    if (adds) for (int r = 0; r < 8; ++r) total += sums[threadIdx.y][r][threadIdx.x];
    if (parts) {
        if (adds) parts[(I)blockIdx.y * 2 * n + k] = total;
        if (!is_last(tickets + blockIdx.x, gridDim.y)) return;
        if (adds) total = PARTS(parts, 0, (int)gridDim.y);
    }
    if (adds) (threadIdx.y == 0 ? to_w : to_b)[column] = (T)total;
}
""",
    # Of (count, channels, places). A block has a channel, and goes through places of several images at a time; without
    # places it has neighbouring channels (across), so that what it reads is in order. Where several blocks share a
    # channel, each a chunk of the images, moments of chunks are there before: count, mean, squares of distances from
    # it, and of a cotangent the sum, and the sum of products with the distances.
    "batch_moments": r"""
extern "C" __global__ void BOUNDS batch_moments(const T *h, const T *x, A *parts, CHANNELS) {
    CHANNEL
    A mean = 0, total = 0, sum_h = 0, inner_product = 0;
    const I own = (limit - first) * places;
    EVERY(at) mean += (A)x[at];
    mean = SUM(mean) / (A)(own > 0 ? own : 1);
    EVERY(at) {
        A d = (A)x[at] - mean;
        total += d * d;
        if (h) {
            sum_h += (A)h[at];
            inner_product += (A)h[at] * d;
        }
    }
    total = SUM(total);
    sum_h = SUM(sum_h);
    inner_product = SUM(inner_product);
    if (channel < channels && is_first) {
        A *to = parts + (channel * gridDim.y + blockIdx.y) * 5;
        to[0] = (A)own;
        to[1] = mean;
        to[2] = total;
        to[3] = sum_h;
        to[4] = inner_product;
    }
}
""",
    "batch_norm": r"""
extern "C" __global__ void BOUNDS batch_norm(
    const T *x, const T *w, const T *b, T *y, T *means, T *vars, const A *parts, double eps, CHANNELS) {
    CHANNEL
    A mean = 0, total = 0, sum_h = 0, inner_product = 0;
    if (parts) {
        joined(parts, channel, channels, mean, total, sum_h, inner_product);
    } else {
        EVERY(at) mean += (A)x[at];
        mean = SUM(mean) / (A)n;
        EVERY(at) {
            A d = (A)x[at] - mean;
            total += d * d;
        }
        total = SUM(total);
    }
    total /= (A)n;
    if (channel >= channels) return;
    const A scale = (A)w[channel] / root(total + (A)eps), shift = (A)b[channel];
    EVERY(at) y[at] = (T)(((A)x[at] - mean) * scale + shift);
    if (is_first && blockIdx.y == 0) {
        means[channel] = (T)mean;
        vars[channel] = (T)total;
    }
}
""",
    "batch_norm_pull": r"""
extern "C" __global__ void BOUNDS batch_norm_pull(
    const T *h, const T *x, const T *w, const T *m, const T *v, T *y, T *to_w, T *to_b, const A *parts, double eps,
    CHANNELS) {
    CHANNEL
    A mean = 0, total = 0, sum_h = 0, inner_product = 0;
    if (parts) {
        joined(parts, channel, channels, mean, total, sum_h, inner_product);
    } else {
        EVERY(at) mean += (A)x[at];
        mean = SUM(mean) / (A)n;
        EVERY(at) {
            A d = (A)x[at] - mean;
            total += d * d;
            sum_h += (A)h[at];
            inner_product += (A)h[at] * d;
        }
        total = SUM(total);
        sum_h = SUM(sum_h);
        inner_product = SUM(inner_product);
    }
    const A rate = (A)1 / root(total / (A)n + (A)eps);
    inner_product *= rate;
    if (channel >= channels) return;
    const A scale = (A)w[channel] * rate;
    const A by_distance = ((v ? (A)2 * (A)v[channel] : (A)0) - scale * rate * inner_product) / (A)n;
    const A shift = ((m ? (A)m[channel] : (A)0) - scale * sum_h) / (A)n;
    EVERY(at) y[at] = (T)((A)h[at] * scale + ((A)x[at] - mean) * by_distance + shift);
    if (is_first && blockIdx.y == 0) {
        to_w[channel] = (T)inner_product;
        to_b[channel] = (T)sum_h;
    }
}
""",
}

LAYERS = r"""
// Column k of sums of weights and biases, of some parts.
#define PARTS(parts, from, count) columns((parts) + ((I)(from) * 2 * n + k), count, 2 * n)
__device__ inline A columns(const A *parts, int count, I step) {
    A total = 0;
    for (int k = 0; k < count; ++k) total += parts[k * step];
    return total;
}
"""

CHANNELS = r"""
#define CHANNELS I count, I channels, I places, I chunk, int across, int deep, int wide
#define CHANNEL \
    const I n = count * places, channel = across ? (I)blockIdx.x * across + threadIdx.x % across : (I)blockIdx.x; \
    const int image0 = across ? threadIdx.x / across : threadIdx.x / wide, place0 = across ? 0 : threadIdx.x % wide; \
    const int images = deep / wide; \
    const I first = (I)blockIdx.y * chunk, last = first + chunk < count ? first + chunk : count; \
    const I limit = channel < channels ? last : first; \
    const bool is_first = image0 == 0 && place0 == 0;
#define EVERY(at) \
    for (I i_ = first + image0; i_ < limit; i_ += images) \
        for (I p_ = place0, at = (i_ * channels + channel) * places + p_; p_ < places; p_ += wide, at += wide)

__device__ inline void joined(const A *parts, I channel, I channels, A &mean, A &total, A &sum_h, A &inner_product) {
    A n = 0;
    const A *from = parts + (channel < channels ? channel : 0) * gridDim.y * 5;
    for (unsigned int k = 0; k < gridDim.y; ++k, from += 5) {
        if (from[0] <= (A)0) continue;
        const A all = n + from[0], d = from[1] - mean, part = from[0] / all;
        total += from[2] + d * d * n * part;
        inner_product += from[4] + (d - d * part) * from[3] - d * part * sum_h;
        sum_h += from[3];
        mean += d * part;
        n = all;
    }
}
"""

SOURCES = Sources(BODIES, ROWS + TICKETS + LAYERS + CHANNELS)
#: Bytes of shared memory for sums of columns: every device has so much beside what reductions need.
ROOM = 32 << 10


def standardise(x: Any, *, axis: Any = -1, eps: float = 1e-5, centre: bool = True) -> Any:
    rows = rows_of(x.shape, axis)
    x = rows.lay(x)
    y = cupy.empty(x.shape, x.dtype)
    rows.launch(SOURCES.kernel("standardise", x.dtype), x, None, None, y, float(eps), centre)
    return rows.back(y)


def standardise_pull(h: Any, x: Any, *, axis: Any = -1, eps: float = 1e-5, centre: bool = True) -> Any:
    rows = rows_of(x.shape, axis)
    h, x = rows.lay(h), rows.lay(x)
    y = cupy.empty(x.shape, x.dtype)
    kernel = SOURCES.kernel("standardise_pull", x.dtype)
    rows.launch(kernel, h, x, None, y, None, None, float(eps), centre)
    return rows.back(y)


def _trailing(axes: int, rank: int) -> tuple[int, ...]:
    return tuple(range(rank - axes, rank))


def layer_norm(x: Any, w: Any, b: Any = None, *, axes: int = 1, eps: float = 1e-5, centre: bool = True) -> Any:
    rows = rows_of(x.shape, _trailing(axes, x.ndim))
    x, w = contiguous(x, w)
    b = None if b is None else contiguous(b)[0]
    y = cupy.empty(x.shape, x.dtype)
    rows.launch(SOURCES.kernel("standardise", x.dtype), x, w, b, y, float(eps), centre)
    return y


def layer_norm_pull(h: Any, x: Any, w: Any, *, axes: int = 1, eps: float = 1e-5, centre: bool = True) -> Any:
    rows = rows_of(x.shape, _trailing(axes, x.ndim))
    h, x, w = contiguous(h, x, w)
    y, wide = cupy.empty(x.shape, x.dtype), "float64" if x.dtype.char == "d" else "float32"
    to_w, to_b = cupy.empty(w.shape, x.dtype), cupy.empty(w.shape, x.dtype)
    _, deep, threads, blocks = rows.layout()
    room = threads // deep * 2 * rows.n * (8 if wide == "float64" else 4)
    if room <= ROOM and rows.n and rows.rows:
        blocks = min(blocks, 2 * processors(get_device_id()))
        team = math.isqrt(blocks - 1) + 1
        teams = -(-blocks // team)
        parts = cupy.empty((blocks + teams, 2, rows.n), wide)
        arrays = (h, x, w, y, to_w, to_b, parts, tickets(1 + teams))
        told = (float(eps), centre, rows.rows, rows.n, np.int32(deep), np.int32(team))
        SOURCES.kernel("layer_pull", x.dtype)((blocks,), (threads,), (*arrays, *told), shared_mem=room)
        return y, to_w, to_b
    means, rates = cupy.empty(rows.rows, wide), cupy.empty(rows.rows, wide)
    rows.launch(SOURCES.kernel("standardise_pull", x.dtype), h, x, w, y, means, rates, float(eps), centre)
    _columns(h, x, means, rates, to_w, to_b, rows.rows, rows.n)
    return y, to_w, to_b


def _columns(h: Any, x: Any, means: Any, rates: Any, to_w: Any, to_b: Any, rows: int, n: int) -> None:
    """Sums along columns, in parts of rows where the columns alone would leave multiprocessors without work."""
    if not n:
        return
    tiles = -(-n // 32)
    count = splits(tiles, rows, 64)
    parts = cupy.empty((count, 2, n), means.dtype) if count > 1 else None
    chunk = -(-rows // count)
    kernel = SOURCES.kernel("layer_columns", x.dtype)
    drawn = None if parts is None else tickets(tiles)
    kernel((tiles, count), (32, 8), (h, x, means, rates, to_w, to_b, parts, drawn, rows, n, chunk))


def _channels(x: Any) -> tuple[tuple[int, int], int, tuple[Any, ...]]:
    """Blocks and threads for a batch, and what kernels are told: how many threads a channel has, and how they lie."""
    count, channels, places = x.shape[0], x.shape[1], math.prod(x.shape[2:])
    across = min(channels, 32) if places == 1 else 0
    deep, most = (1, 1024 // across) if across else (32, 1024)
    while deep * 2 <= most and deep * 4 < count * places:
        deep *= 2
    wide = 1
    while wide < places and wide < deep:
        wide *= 2
    tiles = -(-channels // across) if across else channels
    each = -(-4 * deep // max(places, 1))  # images that are worth a block
    few = 2 * tiles < processors(get_device_id())  # else it does not pay to read a batch twice
    parts = splits(tiles, count, each) if few else 1
    told = (count, channels, places, -(-count // parts), *map(np.int32, (across, deep, wide)))
    return (tiles, parts), max(across, 1) * deep, told


def _moments(h: Any, x: Any, grid: tuple[int, int], threads: int, told: tuple[Any, ...]) -> Any:
    """Moments of chunks of images, where several blocks share a channel."""
    if grid[1] == 1:
        return None
    parts = cupy.empty((x.shape[1], grid[1], 5), "float64" if x.dtype.char == "d" else "float32")
    SOURCES.kernel("batch_moments", x.dtype)(grid, (threads,), (h, x, parts, *told))
    return parts


def batch_norm(x: Any, w: Any, b: Any, *, eps: float = 1e-5) -> Any:
    x, w, b = contiguous(x, w, b)
    channels = x.shape[1]
    y, mean, var = cupy.empty(x.shape, x.dtype), cupy.empty(channels, x.dtype), cupy.empty(channels, x.dtype)
    if channels:
        grid, threads, told = _channels(x)
        arrays = (x, w, b, y, mean, var, _moments(None, x, grid, threads, told))
        SOURCES.kernel("batch_norm", x.dtype)(grid, (threads,), (*arrays, float(eps), *told))
    return y, mean, var


def batch_norm_pull(h: Any, x: Any, w: Any, m: Any, v: Any, *, eps: float = 1e-5) -> Any:
    (h, x, w), m, v = contiguous(h, x, w), unless_absent(m), unless_absent(v)
    channels = x.shape[1]
    y, to_w, to_b = cupy.empty(x.shape, x.dtype), cupy.empty(channels, x.dtype), cupy.empty(channels, x.dtype)
    if channels:
        grid, threads, told = _channels(x)
        arrays = (h, x, w, m, v, y, to_w, to_b, _moments(h, x, grid, threads, told))
        SOURCES.kernel("batch_norm_pull", x.dtype)(grid, (threads,), (*arrays, float(eps), *told))
    return y, to_w, to_b


TABLE = table((standardise, standardise_pull, layer_norm, layer_norm_pull, batch_norm, batch_norm_pull))
