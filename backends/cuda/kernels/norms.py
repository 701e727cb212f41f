"""Hand-written kernels of normalisation. Pulling a layer norm back takes two launches: rows, then columns."""

import math
from typing import Any

import cupy

from lucidgrad.backends.cuda.compiling import ROWS, Rows, Sources, contiguous, table

BODIES = {
    "standardise": r"""
extern "C" __global__ void standardise(
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
extern "C" __global__ void standardise_pull(
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
    # A block has 32 columns, and 32 rows at a time.
    "layer_columns": r"""
extern "C" __global__ void layer_columns(
    const T *h, const T *x, const A *means, const A *rates, T *to_w, T *to_b, I rows, I n) {
    __shared__ A parts[2][32][33];
    const I column = (I)blockIdx.x * 32 + threadIdx.x;
    A weight = 0, bias = 0;
    if (column < n) {
        for (I row = threadIdx.y; row < rows; row += 32) {
            A g = (A)h[row * n + column];
            weight += g * ((A)x[row * n + column] - means[row]) * rates[row];
            bias += g;
        }
    }
    parts[0][threadIdx.y][threadIdx.x] = weight;
    parts[1][threadIdx.y][threadIdx.x] = bias;
    __syncthreads();
    if (threadIdx.y < 2 && column < n) {
        A total = 0;
        for (int k = 0; k < 32; ++k) total += parts[threadIdx.y][k][threadIdx.x];
        (threadIdx.y == 0 ? to_w : to_b)[column] = (T)total;
    }
}
""",
    # A block for each channel of (count, channels, places).
    "batch_norm": r"""
extern "C" __global__ void batch_norm(
    const T *x, const T *w, const T *b, T *y, T *means, T *vars, double eps, I count, I channels, I places) {
    const int group = blockDim.x;
    const I channel = blockIdx.x, n = count * places;
    A mean = 0, total = 0;
    for (I k = threadIdx.x; k < n; k += group) mean += (A)x[(k / places * channels + channel) * places + k % places];
    mean = SUM(mean) / (A)n;
    for (I k = threadIdx.x; k < n; k += group) {
        A d = (A)x[(k / places * channels + channel) * places + k % places] - mean;
        total += d * d;
    }
    total = SUM(total) / (A)n;
    const A scale = (A)w[channel] / root(total + (A)eps), shift = (A)b[channel];
    for (I k = threadIdx.x; k < n; k += group) {
        I at = (k / places * channels + channel) * places + k % places;
        y[at] = (T)(((A)x[at] - mean) * scale + shift);
    }
    if (threadIdx.x == 0) {
        means[channel] = (T)mean;
        vars[channel] = (T)total;
    }
}
""",
    "batch_norm_pull": r"""
extern "C" __global__ void batch_norm_pull(
    const T *h, const T *x, const T *w, const T *m, const T *v, T *y, T *to_w, T *to_b, double eps,
    I count, I channels, I places) {
    const int group = blockDim.x;
    const I channel = blockIdx.x, n = count * places;
    A mean = 0, total = 0, sum_h = 0, inner_product = 0;
    for (I k = threadIdx.x; k < n; k += group) mean += (A)x[(k / places * channels + channel) * places + k % places];
    mean = SUM(mean) / (A)n;
    for (I k = threadIdx.x; k < n; k += group) {
        I at = (k / places * channels + channel) * places + k % places;
        A d = (A)x[at] - mean;
        total += d * d;
        sum_h += (A)h[at];
        inner_product += (A)h[at] * d;
    }
    const A rate = (A)1 / root(SUM(total) / (A)n + (A)eps);
    sum_h = SUM(sum_h);
    inner_product = SUM(inner_product) * rate;
    const A scale = (A)w[channel] * rate;
    const A by_distance = ((A)2 * (A)v[channel] - scale * rate * inner_product) / (A)n;
    const A shift = ((A)m[channel] - scale * sum_h) / (A)n;
    for (I k = threadIdx.x; k < n; k += group) {
        I at = (k / places * channels + channel) * places + k % places;
        y[at] = (T)((A)h[at] * scale + ((A)x[at] - mean) * by_distance + shift);
    }
    if (threadIdx.x == 0) {
        to_w[channel] = (T)inner_product;
        to_b[channel] = (T)sum_h;
    }
}
""",
}

SOURCES = Sources(BODIES, ROWS)


def standardise(x: Any, *, axis: Any = -1, eps: float = 1e-5, centre: bool = True) -> Any:
    rows = Rows(x.shape, axis)
    x = rows.lay(x)
    y = cupy.empty(x.shape, x.dtype)
    rows.launch(SOURCES.kernel("standardise", x.dtype), x, None, None, y, float(eps), centre)
    return rows.back(y)


def standardise_pull(h: Any, x: Any, *, axis: Any = -1, eps: float = 1e-5, centre: bool = True) -> Any:
    rows = Rows(x.shape, axis)
    h, x = rows.lay(h), rows.lay(x)
    y = cupy.empty(x.shape, x.dtype)
    kernel = SOURCES.kernel("standardise_pull", x.dtype)
    rows.launch(kernel, h, x, None, y, None, None, float(eps), centre)
    return rows.back(y)


def _trailing(axes: int, rank: int) -> tuple[int, ...]:
    return tuple(range(rank - axes, rank))


def layer_norm(x: Any, w: Any, b: Any = None, *, axes: int = 1, eps: float = 1e-5, centre: bool = True) -> Any:
    rows = Rows(x.shape, _trailing(axes, x.ndim))
    x, w = contiguous(x, w)
    b = None if b is None else contiguous(b)[0]
    y = cupy.empty(x.shape, x.dtype)
    rows.launch(SOURCES.kernel("standardise", x.dtype), x, w, b, y, float(eps), centre)
    return y


def layer_norm_pull(h: Any, x: Any, w: Any, *, axes: int = 1, eps: float = 1e-5, centre: bool = True) -> Any:
    rows = Rows(x.shape, _trailing(axes, x.ndim))
    h, x, w = contiguous(h, x, w)
    y, wide = cupy.empty(x.shape, x.dtype), "float64" if x.dtype.char == "d" else "float32"
    means, rates = cupy.empty(rows.rows, wide), cupy.empty(rows.rows, wide)
    rows.launch(SOURCES.kernel("standardise_pull", x.dtype), h, x, w, y, means, rates, float(eps), centre)
    to_w, to_b = cupy.empty(w.shape, x.dtype), cupy.empty(w.shape, x.dtype)
    if rows.n:
        kernel = SOURCES.kernel("layer_columns", x.dtype)
        kernel(((rows.n + 31) // 32,), (32, 32), (h, x, means, rates, to_w, to_b, rows.rows, rows.n))
    return y, to_w, to_b


def _channels(x: Any) -> tuple[int, int, int, int]:
    """Count, channels and places of a batch, and the threads that share a channel."""
    count, channels, places = x.shape[0], x.shape[1], math.prod(x.shape[2:])
    threads = 32
    while threads < 1024 and threads * 4 < count * places:
        threads *= 2
    return count, channels, places, threads


def batch_norm(x: Any, w: Any, b: Any, *, eps: float = 1e-5) -> Any:
    count, channels, places, threads = _channels(x)
    x, w, b = contiguous(x, w, b)
    y, mean, var = cupy.empty(x.shape, x.dtype), cupy.empty(channels, x.dtype), cupy.empty(channels, x.dtype)
    if channels:
        kernel = SOURCES.kernel("batch_norm", x.dtype)
        kernel((channels,), (threads,), (x, w, b, y, mean, var, float(eps), count, channels, places))
    return y, mean, var


def batch_norm_pull(h: Any, x: Any, w: Any, m: Any, v: Any, *, eps: float = 1e-5) -> Any:
    count, channels, places, threads = _channels(x)
    h, x, w, m, v = contiguous(h, x, w, m, v)
    y, to_w, to_b = cupy.empty(x.shape, x.dtype), cupy.empty(channels, x.dtype), cupy.empty(channels, x.dtype)
    if channels:
        kernel = SOURCES.kernel("batch_norm_pull", x.dtype)
        arrays = (h, x, w, m, v, y, to_w, to_b)
        kernel((channels,), (threads,), (*arrays, float(eps), count, channels, places))
    return y, to_w, to_b


TABLE = table((standardise, standardise_pull, layer_norm, layer_norm_pull, batch_norm, batch_norm_pull))
