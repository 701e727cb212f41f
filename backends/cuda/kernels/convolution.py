"""Convolution as a product of matrices one of which is never written down: its elements are read where they lie.

With ``M`` rows, ``N`` columns and ``K`` that are summed, for each group of channels:

- forth: outputs × places of all examples, over channels and elements of the window;
- back to the input: channels × places of the input, over outputs and those elements of windows that reach the place:
  the same for all places with one remainder by the stride, so these are a *class*, worked on together;
- back to the weights: outputs × channels and elements of the window, over the places of all examples. So many are
  summed that several blocks share them; each leaves a part, and the parts are added in their order.

A block makes a tile of the product, its threads squares of it. Where a group has few channels, as it has in depthwise
convolution, tiles would be empty: there a thread, or for weights a block, makes an element. Indices have 32 bits but
for the beginning of an example. No memory is taken beside the result, but for parts of weights.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from lucidgrad.backends.cuda.compiling import (
    SUBNORMALS,
    THREADS,
    TYPES,
    by_value,
    contiguous,
    launch,
    program_of,
    source,
    table,
)
from lucidgrad.extents import Sizes, check_channels, out_sizes

from .columns import ROWS, Columns
from .matmul import matmul
from .windows import PLAN, plan_of

#: Rows and columns of a group from which on tiles are worth it, and weights that single blocks make.
FEW, FEW_WEIGHTS = 4, 512
_MOST = 2**31 - 1

_TILES = r"""
#define SQUARE 4
#define TILE (16 * SQUARE)
#define DEPTH 16
#define LOADS (DEPTH * TILE / 256)

struct Part { int n, channels, outputs, groups, splits; };  // channels and outputs of a group

// Coordinates of a number over three axes.
__device__ inline int split(int at, const int *sizes, int *place) {
    place[2] = at % sizes[2]; at /= sizes[2];
    place[1] = at % sizes[1]; at /= sizes[1];
    place[0] = at % sizes[0];
    return at / sizes[0];
}

__device__ inline int plane(const int *sizes) { return sizes[0] * sizes[1] * sizes[2]; }

__device__ inline bool lies(const int *at, const int *sizes) {
    return at[0] >= 0 && at[0] < sizes[0] && at[1] >= 0 && at[1] < sizes[1] && at[2] >= 0 && at[2] < sizes[2];
}

__device__ inline int flat(const int *at, const int *sizes) { return (at[0] * sizes[1] + at[1]) * sizes[2] + at[2]; }

// Where element k of a window lies that begins at a corner; zero lies outside.
__device__ inline A read(const T *x, const Plan &p, const int *corner, const int *k) {
    int at[3];
    for (int a = 0; a < 3; ++a) at[a] = corner[a] + k[a] * p.dilation[a];
    return lies(at, p.size) ? (A)x[flat(at, p.size)] : (A)0;
}

__device__ inline void corner_of(const Plan &p, const int *place, int *corner) {
    for (int a = 0; a < 3; ++a) corner[a] = place[a] * p.stride[a] - p.padding[a];
}

// The places of a class of the input: the first one, how many, and the window's elements that reach them.
struct Class { int first[3], many[3], element[3], elements[3]; };

__device__ inline Class class_of_places(const Plan &p, int number) {
    Class c;
    int left[3];
    split(number, p.stride, left);
    for (int a = 0; a < 3; ++a) {
        const int padding = p.padding[a] % p.stride[a];
        c.first[a] = (left[a] - padding + p.stride[a]) % p.stride[a];
        c.many[a] = c.first[a] < p.size[a] ? (p.size[a] - c.first[a] - 1) / p.stride[a] + 1 : 0;
        int k = 0;
        while (k < p.window[a] && k < p.step[a] && (k * p.dilation[a]) % p.stride[a] != left[a]) ++k;
        c.element[a] = k;
        c.elements[a] = k < p.window[a] && k < p.step[a] ? (p.window[a] - k - 1) / p.step[a] + 1 : 0;
    }
    return c;
}

// The window whose first reaching element lies at a place of a class; each further one belongs to an earlier window.
__device__ inline void window_at(const Plan &p, const Class &c, const int *at, int *window) {
    for (int a = 0; a < 3; ++a) window[a] = (at[a] + p.padding[a] - c.element[a] * p.dilation[a]) / p.stride[a];
}

__device__ inline bool earlier(const Plan &p, const int *window, const int *j, int *place) {
    for (int a = 0; a < 3; ++a) place[a] = window[a] - j[a] * (p.step[a] * p.dilation[a] / p.stride[a]);
    return lies(place, p.out);
}

// One step through the depth: squares of the tile from what the block has read.
#define MULTIPLY \
    __syncthreads(); \
    for (int k = 0; k < DEPTH; ++k) { \
        A l[SQUARE], r[SQUARE]; \
        for (int i = 0; i < SQUARE; ++i) l[i] = left[k][threadIdx.x / 16 + 16 * i]; \
        for (int i = 0; i < SQUARE; ++i) r[i] = right[k][threadIdx.x % 16 + 16 * i]; \
        for (int i = 0; i < SQUARE; ++i) \
            for (int j = 0; j < SQUARE; ++j) sum[i][j] += l[i] * r[j]; \
    } \
    __syncthreads();

#define TILED \
    __shared__ A left[DEPTH][TILE + 1], right[DEPTH][TILE + 1]; \
    A sum[SQUARE][SQUARE]; \
    for (int i = 0; i < SQUARE; ++i) for (int j = 0; j < SQUARE; ++j) sum[i][j] = 0; \
    const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE, t = threadIdx.x;

#define SQUARES(row, column) \
    for (int i = 0, row = row0 + t / 16; i < SQUARE; ++i, row += 16) \
        for (int j = 0, column = column0 + t % 16; j < SQUARE; ++j, column += 16)

#define KERNEL extern "C" __global__ void __launch_bounds__(256, 1)
"""

BODIES = {
    "conv": r"""
KERNEL conv(const T *x, const T *w, T *y, Plan p, Part m) {
    TILED
    const int group = blockIdx.z, window = plane(p.window), places = plane(p.out), size = plane(p.size);
    const int depth = m.channels * window, columns = m.n * places;
    w += (I)group * m.outputs * depth;
    const int mine = column0 + t % TILE;  // the column that this thread reads
    int place[3] = {0, 0, 0}, corner[3];
    const int example = mine < columns ? split(mine, p.out, place) : 0;
    corner_of(p, place, corner);
    const T *from = x + ((I)example * m.groups + group) * m.channels * size;
    for (int start = 0; start < depth; start += DEPTH) {
        for (int i = 0; i < LOADS; ++i) {
            const int row = t / DEPTH + i * (256 / DEPTH), at = start + t % DEPTH;
            left[t % DEPTH][row] = row0 + row < m.outputs && at < depth ? (A)w[(row0 + row) * depth + at] : (A)0;
        }
        for (int i = 0; i < LOADS; ++i) {
            const int k = t / TILE + i * (256 / TILE), at = start + k;
            int element[3];
            A v = 0;
            if (at < depth && mine < columns) {
                const int channel = split(at, p.window, element);
                v = read(from + channel * size, p, corner, element);
            }
            right[k][t % TILE] = v;
        }
        MULTIPLY
    }
    SQUARES(row, column) {
        if (row < m.outputs && column < columns)
            y[(((I)(column / places) * m.groups + group) * m.outputs + row) * places + column % places] = (T)sum[i][j];
    }
}
""",
    "conv_input": r"""
KERNEL conv_input(const T *h, const T *w, T *y, Plan p, Part m) {
    TILED
    const int group = blockIdx.z % m.groups, window = plane(p.window), places = plane(p.out), size = plane(p.size);
    const Class c = class_of_places(p, blockIdx.z / m.groups);
    const int reaching = plane(c.elements), depth = m.outputs * reaching, columns = m.n * plane(c.many);
    if (column0 >= columns) return;  // the whole block
    w += (I)group * m.outputs * m.channels * window;
    const int mine = column0 + t % TILE;
    int at[3] = {0, 0, 0}, last[3];
    const int example = mine < columns ? split(mine, c.many, at) : 0;
    for (int a = 0; a < 3; ++a) at[a] = c.first[a] + at[a] * p.stride[a];
    window_at(p, c, at, last);
    const T *from = h + ((I)example * m.groups + group) * m.outputs * places;
    for (int start = 0; start < depth; start += DEPTH) {
        for (int i = 0; i < LOADS; ++i) {
            const int row = t / DEPTH + i * (256 / DEPTH), k = start + t % DEPTH;
            int j[3];
            A v = 0;
            if (row0 + row < m.channels && k < depth) {
                const int output = split(k, c.elements, j);
                for (int a = 0; a < 3; ++a) j[a] = c.element[a] + j[a] * p.step[a];
                v = (A)w[(output * m.channels + row0 + row) * window + flat(j, p.window)];
            }
            left[t % DEPTH][row] = v;
        }
        for (int i = 0; i < LOADS; ++i) {
            const int k = t / TILE + i * (256 / TILE);
            int j[3], place[3];
            A v = 0;
            if (start + k < depth && mine < columns) {
                const int output = split(start + k, c.elements, j);
                if (earlier(p, last, j, place)) v = (A)from[output * places + flat(place, p.out)];
            }
            right[k][t % TILE] = v;
        }
        MULTIPLY
    }
    SQUARES(row, column) {
        if (row < m.channels && column < columns) {
            int there[3];
            const int one = split(column, c.many, there);
            for (int a = 0; a < 3; ++a) there[a] = c.first[a] + there[a] * p.stride[a];
            y[(((I)one * m.groups + group) * m.channels + row) * size + flat(there, p.size)] = (T)sum[i][j];
        }
    }
}
""",
    "conv_weight": r"""
KERNEL conv_weight(const T *x, const T *h, A *y, Plan p, Part m) {
    TILED
    __shared__ int elements[TILE][4];
    const int group = blockIdx.z % m.groups, part = blockIdx.z / m.groups, window = plane(p.window);
    const int places = plane(p.out), size = plane(p.size), depth = m.n * places, columns = m.channels * window;
    const int share = (depth + m.splits - 1) / m.splits, begin = part * share;
    const int end = begin + share < depth ? begin + share : depth;
    if (t < TILE) {
        const int column = column0 + t;
        elements[t][3] = column < columns ? split(column, p.window, elements[t]) : -1;
    }
    __syncthreads();
    for (int start = begin; start < end; start += DEPTH) {
        const int at = start + t % DEPTH;
        int place[3] = {0, 0, 0}, corner[3];
        const int example = at < end ? split(at, p.out, place) : 0, here = flat(place, p.out);
        corner_of(p, place, corner);
        const T *given = h + ((I)example * m.groups + group) * m.outputs * places;
        const T *from = x + ((I)example * m.groups + group) * m.channels * size;
        for (int i = 0; i < LOADS; ++i) {
            const int row = t / DEPTH + i * (256 / DEPTH), channel = elements[row][3];
            left[t % DEPTH][row] = at < end && row0 + row < m.outputs ? (A)given[(row0 + row) * places + here] : (A)0;
            A v = 0;
            if (at < end && channel >= 0) v = read(from + channel * size, p, corner, elements[row]);
            right[t % DEPTH][row] = v;
        }
        MULTIPLY
    }
    y += ((I)part * m.groups + group) * m.outputs * columns;
    SQUARES(row, column) {
        if (row < m.outputs && column < columns) y[row * columns + column] = sum[i][j];
    }
}
""",
    "conv_parts": r"""
KERNEL conv_parts(const A *parts, T *y, I splits, I count) {
    const I e = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= count) return;
    A total = 0;
    for (I k = 0; k < splits; ++k) total += parts[k * count + e];
    y[e] = (T)total;
}
""",
    "conv_few": r"""
KERNEL conv_few(const T *x, const T *w, T *y, Plan p, Part m, I count) {
    const I e = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= count) return;
    const int places = plane(p.out), size = plane(p.size), window = plane(p.window), all = m.groups * m.outputs;
    const I line = part_of(e, places), example = part_of(line, all);
    const int output = (int)(line - example * all), group = output / m.outputs;
    int place[3], corner[3], k[3];
    split((int)(e - line * places), p.out, place);
    corner_of(p, place, corner);
    x += (example * m.groups + group) * m.channels * size;
    w += (I)output * m.channels * window;
    A total = 0;
    for (int c = 0; c < m.channels; ++c)
        for (k[0] = 0; k[0] < p.window[0]; ++k[0])
            for (k[1] = 0; k[1] < p.window[1]; ++k[1])
                for (k[2] = 0; k[2] < p.window[2]; ++k[2])
                    total += read(x + c * size, p, corner, k) * (A)w[c * window + flat(k, p.window)];
    y[e] = (T)total;
}
""",
    "conv_input_few": r"""
KERNEL conv_input_few(const T *h, const T *w, T *y, Plan p, Part m, I count) {
    const I e = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= count) return;
    const int places = plane(p.out), size = plane(p.size), window = plane(p.window), all = m.groups * m.channels;
    const I line = part_of(e, size), example = part_of(line, all);
    const int channel = (int)(line - example * all), group = channel / m.channels;
    int at[3], first[3], k[3], place[3];
    split((int)(e - line * size), p.size, at);
    reaching(p, at, first);
    h += (example * m.groups + group) * m.outputs * places;
    w += ((I)group * m.outputs * m.channels + channel % m.channels) * window;
    A total = 0;
    for (k[0] = first[0]; k[0] < p.window[0]; k[0] += p.step[0])
        for (k[1] = first[1]; k[1] < p.window[1]; k[1] += p.step[1])
            for (k[2] = first[2]; k[2] < p.window[2]; k[2] += p.step[2])
                if (window_of(p, at, k, place)) {
                    const int here = flat(place, p.out), element = flat(k, p.window);
                    for (int o = 0; o < m.outputs; ++o)
                        total += (A)h[o * places + here] * (A)w[o * m.channels * window + element];
                }
    y[e] = (T)total;
}
""",
    "conv_weight_few": r"""
KERNEL conv_weight_few(const T *x, const T *h, T *y, Plan p, Part m) {
    __shared__ A sums[256];
    const int places = plane(p.out), size = plane(p.size), depth = m.n * places;
    int k[3];
    const int rest = split(blockIdx.x, p.window, k), channel = rest % m.channels, output = rest / m.channels;
    const int group = output / m.outputs;
    A total = 0;
    for (int at = threadIdx.x; at < depth; at += 256) {
        int place[3], corner[3];
        const int example = split(at, p.out, place);
        corner_of(p, place, corner);
        const T *from = x + (((I)example * m.groups + group) * m.channels + channel) * size;
        total += read(from, p, corner, k) * (A)h[((I)example * m.groups * m.outputs + output) * places + at % places];
    }
    sums[threadIdx.x] = total;
    for (int step = 128; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
    }
    if (threadIdx.x == 0) y[blockIdx.x] = (T)sums[0];
}
""",
}
_TILED = ("conv", "conv_input", "conv_weight")


class TileSources(dict[str, str]):
    """The sources by name and dtype with squares of 4 × 4; `kernel` compiles them with others, too."""

    def __init__(self) -> None:
        names = [(name, dtype) for name in BODIES for dtype in TYPES]
        super().__init__({f"{name}_{dtype}": source(PLAN + _TILES + BODIES[name], dtype) for name, dtype in names})
        self._kernels: dict[tuple[str, str, int], Any] = {}

    def kernel(self, name: str, dtype: Any, square: int = 4) -> Any:
        """The kernel of a name for a dtype, whose threads make so many rows and columns."""
        found = self._kernels.get((name, dtype.name, square))
        if found is None:
            text = _of_square(self[f"{name}_{dtype.name}"], square)
            found = self._kernels[name, dtype.name, square] = cupy.RawKernel(text, name, options=(SUBNORMALS,))
        return found

    def of_large_tiles(self) -> dict[str, str]:
        """The sources that are compiled with squares of 8 × 8 as well."""
        large = {name: text for name, text in self.items() if name.rpartition("_")[0] in _TILED}
        return {name: _of_square(text, 8) for name, text in large.items() if not name.endswith("float64")}

    def forget(self) -> None:
        """Compile afresh: for tests that change a source."""
        self._kernels.clear()


def _of_square(text: str, square: int) -> str:
    return text.replace("#define SQUARE 4\n", f"#define SQUARE {square}\n")


SOURCES = TileSources()


@functools.cache
def _processors(device: int) -> int:
    return int(cupy.cuda.Device(device).attributes["MultiProcessorCount"])


def _square(rows: int, columns: int, many: int, dtype: Any) -> int:
    """Large tiles where they are full and there are enough of them; in double precision registers don't suffice."""
    if dtype.char == "d" or rows <= 64:
        return 4
    tiles = -(-rows // 128) * -(-columns // 128) * many
    return 8 if tiles >= 2 * _processors(cupy.cuda.get_device_id()) else 4


def _tiles(name: str, rows: int, columns: int, many: int, dtype: Any, *args: Any, square: int = 0) -> None:
    """A launch with a block for each tile of each of so many products."""
    square = square or _square(rows, columns, many, dtype)
    tile = 16 * square
    SOURCES.kernel(name, dtype, square)((-(-columns // tile), -(-rows // tile), many), (THREADS,), args)


class _Sizes:
    """The sizes of a convolution, and what kernels are told of them."""

    def __init__(
        self, n: int, channels: int, sizes: Sizes, outputs: int, window: Sizes, out: Sizes, groups: int, steps: Any
    ) -> None:
        self.n, self.groups, self.channels, self.outputs = n, groups, channels // groups, outputs // groups
        self.size, self.window, self.places = math.prod(sizes), math.prod(window), math.prod(out)
        self.classes = math.prod(steps["stride"])
        self.plan = plan_of(sizes, out, window, **steps)

    def part(self, splits: int = 1) -> Any:
        numbers = [self.n, self.channels, self.outputs, self.groups, splits]
        return by_value(np.asarray(numbers, np.int32))


def convolution(x: Any, w: Any, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int = 1) -> Any:
    check_channels(x.shape, w.shape, groups)
    steps: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation}
    out = out_sizes("convolution", x.shape[2:], w.shape[2:], **steps)
    x, w = contiguous(x, w)
    y = cupy.empty((x.shape[0], w.shape[0], *out), x.dtype)
    s = _Sizes(len(x), x.shape[1], x.shape[2:], w.shape[0], w.shape[2:], out, groups, steps)
    if not y.size:
        return y
    by = Columns(s.n, x.shape[1], w.shape[0], x.shape[2:], w.shape[2:], out, steps)
    if by.needless(groups):
        matmul(w.reshape(w.shape[:2]), x.reshape(*x.shape[:2], s.places), out=y.reshape(*y.shape[:2], s.places))
    elif by.pay(x.dtype, groups, s.outputs, s.channels * s.window):
        by.forth(x, w, y)
    elif s.outputs <= FEW:
        launch(SOURCES.kernel("conv_few", x.dtype), y.size, x, w, y, s.plan, s.part(), y.size)
    else:
        _tiles("conv", s.outputs, s.n * s.places, groups, x.dtype, x, w, y, s.plan, s.part())
    return y


def convolution_input(
    h: Any, w: Any, *, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int = 1
) -> Any:
    steps: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation}
    h, w = contiguous(h, w)
    n, channels = h.shape[0], w.shape[1] * groups
    y = cupy.empty((n, channels, *sizes), h.dtype)
    s = _Sizes(n, channels, sizes, w.shape[0], w.shape[2:], h.shape[2:], groups, steps)
    if not y.size:
        return y
    by = Columns(n, channels, w.shape[0], sizes, w.shape[2:], h.shape[2:], steps)
    if by.needless(groups):
        matmul(w.reshape(w.shape[:2]).T, h.reshape(*h.shape[:2], s.places), out=y.reshape(*y.shape[:2], s.size))
    elif by.pay(h.dtype, groups, s.channels * s.window, s.outputs, wide=True):
        by.to_input(h, w, y)
    elif s.channels <= FEW:
        launch(SOURCES.kernel("conv_input_few", h.dtype), y.size, h, w, y, s.plan, s.part(), y.size)
    else:
        columns = n * math.prod(-(-a // b) for a, b in zip(sizes, stride, strict=True))  # of the largest class
        _tiles("conv_input", s.channels, columns, groups * s.classes, h.dtype, h, w, y, s.plan, s.part())
    return y


def convolution_weight(
    x: Any, h: Any, *, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int = 1
) -> Any:
    steps: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation}
    x, h = contiguous(x, h)
    y = cupy.empty((h.shape[1], x.shape[1] // groups, *window), x.dtype)
    s = _Sizes(len(x), x.shape[1], x.shape[2:], h.shape[1], window, h.shape[2:], groups, steps)
    if not y.size:
        return y
    by = Columns(s.n, x.shape[1], h.shape[1], x.shape[2:], window, h.shape[2:], steps)
    if by.pay(x.dtype, groups, s.outputs, s.n * s.places) and s.channels * s.window >= ROWS:
        by.to_weight(x, h, y)
        return y
    if s.outputs <= FEW or y.size <= FEW_WEIGHTS:
        SOURCES.kernel("conv_weight_few", x.dtype)((y.size,), (THREADS,), (x, h, y, s.plan, s.part()))
        return y
    rows, columns = s.outputs, s.channels * s.window
    square, splits = _shares(s, rows, columns, x)
    if splits == 1 and x.dtype.char in "fd":
        _tiles("conv_weight", rows, columns, groups, x.dtype, x, h, y, s.plan, s.part(), square=square)
        return y
    parts = cupy.empty((splits, *y.shape), "float64" if x.dtype.char == "d" else "float32")
    args = (x, h, parts, s.plan, s.part(splits))
    _tiles("conv_weight", rows, columns, groups * splits, x.dtype, *args, square=square)
    launch(SOURCES.kernel("conv_parts", x.dtype), y.size, parts, y, splits, y.size)
    return y


def _shares(s: _Sizes, rows: int, columns: int, x: Any) -> tuple[int, int]:
    """Squares, and into how many parts the sum is cut: two blocks per processor, but no more memory than x has."""
    square = 8 if rows > 64 and columns > 64 and x.dtype.char != "d" else 4
    tile, wanted = 16 * square, 2 * _processors(cupy.cuda.get_device_id())
    tiles = -(-rows // tile) * -(-columns // tile) * s.groups
    most = min(x.nbytes // (4 * rows * columns * s.groups), s.n * s.places // 256, 65535 // s.groups)
    return square, max(1, min(-(-wanted // tiles), most))


def _fitting(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel for windows of one to three axes; batches that 32 bits do not suffice for are cut in two."""

    def run(a: Any, b: Any, **keywords: Any) -> Any:
        if not _known(name, a, b, **keywords):
            return program_of(name)(a, b, **keywords)
        if _most_index(a, b, **keywords) <= _MOST:
            return kernel(a, b, **keywords)
        half = len(a) // 2
        if not half:
            return program_of(name)(a, b, **keywords)
        if name == "convolution_weight":
            return run(a[:half], b[:half], **keywords) + run(a[half:], b[half:], **keywords)
        return cupy.concatenate([run(a[:half], b, **keywords), run(a[half:], b, **keywords)])

    return run


def _known(name: str, a: Any, b: Any, *, stride: Sizes, groups: int = 1, **_: Any) -> bool:
    """Whether arguments fit each other, and a launch has room for all groups; the program says what is wrong."""
    axes = a.ndim - 2
    known = 1 <= axes <= 3 and b.ndim == a.ndim and len(stride) == axes and groups > 0 < min(stride)
    if not known or groups * math.prod(stride) > 65535:
        return False
    if name == "convolution_weight":
        return bool(len(a) == len(b) and not a.shape[1] % groups and not b.shape[1] % groups)
    return bool(a.shape[1] == (b.shape[1] * groups if name == "convolution" else len(b)) and not len(b) % groups)


def _most_index(a: Any, b: Any, *, padding: Sizes, sizes: Sizes = (), window: Sizes | None = None, **_: Any) -> int:
    """A bound for all that kernels compute with: elements of planes of all examples, of one example, of weights."""
    n = max(len(a), 1)
    wide = math.prod(m + 2 * p for m, p in zip(a.shape[2:], padding, strict=True))
    channels = max(a.shape[1], b.shape[1], len(b) if window is None else 0)
    weights = b.size if window is None else a.shape[1] * b.shape[1] * math.prod(window)
    return max(max(wide, math.prod(sizes), math.prod(b.shape[2:])) * max(n, channels), weights) * 2


TABLE = {
    name: _fitting(name, kernel) for name, kernel in table((convolution, convolution_input, convolution_weight)).items()
}
