"""Convolution in C: tables of distances for the kernels in ``windows.c``, and the calls."""

import functools
import itertools
import math
from collections.abc import Sequence
from struct import pack
from typing import Any

import numpy as np

from lucidgrad.extents import Sizes

from . import memory, threads
from .library import Library, address, plain, run

_LIBRARY = Library("windows", ("-ffp-contract=fast",))

#: Products and sums below which NumPy is as quick.
WORTH = 1 << 12
#: How full vectors of places must be.
FULL = 0.4
#: Products that take as long as one element of other loops.
PRODUCTS = 16
#: Vectors of places in one of the parts that an example is divided into if there are few of them.
VECTORS = 48
#: Elements of memory that the partial sums of weights may take, for each thread and in all.
PARTIAL = 1 << 17
#: Bytes of examples that are multiplied at a time, so that they stay in the cache.
AT_ONCE = 1 << 18


class _Table:
    """Places in padded planes: ``step * place + tap`` along each axis, for all places and taps.

    Parameters
    ----------
    sizes
        Sizes of a plane.
    left
        Where its first element goes in the padded plane; may be negative.
    taps
        The distances along each axis.
    places, step
        How many places there are along each axis, and how far apart they lie in the padded plane.
    lanes
        Elements of a vector.
    """

    def __init__(
        self, sizes: Sizes, left: Sizes, taps: Sequence[Sequence[int]], places: Sizes, step: Sizes, lanes: int
    ) -> None:
        phases, width = step[-1], -(-places[-1] // lanes) * lanes
        pitch = max(width + max(taps[-1]) // phases, -(-(sizes[-1] + max(left[-1], 0)) // phases))
        extents = [
            max((n - 1) * s + max(t) + 1, size + max(a, 0))
            for n, s, t, size, a in zip(places[:-1], step[:-1], taps[:-1], sizes[:-1], left[:-1], strict=True)
        ]
        strides = [phases * pitch] * len(extents)
        for j in range(len(extents) - 2, -1, -1):
            strides[j] = strides[j + 1] * extents[j + 1]
        self.plane = math.prod(extents) * phases * pitch
        inside = [
            [i for i in range(n) if 0 <= i + a < extent]
            for n, a, extent in zip(sizes[:-1], left[:-1], extents, strict=True)
        ]
        steps = [math.prod(sizes[j + 1 :]) for j in range(len(extents))]
        source = [_dot(at, steps) for at in itertools.product(*inside)]
        target = [
            _dot([i + a for i, a in zip(at, left[:-1], strict=True)], strides) for at in itertools.product(*inside)
        ]
        last = min(sizes[-1], pitch * phases - left[-1])
        layout = [len(source), max(0, -left[-1]), last, left[-1], phases, pitch, math.prod(sizes), self.plane]
        self.lines = [
            _dot([i * s for i, s in zip(at, step[:-1], strict=True)], strides)
            for at in itertools.product(*map(range, places[:-1]))
        ]
        self.taps = _integers(
            _dot(at[:-1], strides) + at[-1] % phases * pitch + at[-1] // phases for at in itertools.product(*taps)
        )
        self.places, self.lanes = places, lanes
        self.layout, self.source, self.target = _integers(layout), _integers(source), _integers(target)

    def over_channels(self, channels: int) -> Any:
        """The distances of all taps of all channels."""
        return (np.arange(channels)[:, None] * self.plane + self.taps).reshape(-1)

    def apart(self) -> Any:
        """Vectors of places, the last of a line with places that do not count."""
        return _integers(at + i for at in self.lines for i in range(0, self.places[-1], self.lanes))

    def lapping(self, step: Sizes, first: Sizes, sizes: Sizes) -> tuple[Any, Any]:
        """Vectors of places, the last of a line laid over the one before; and where they go in a plane of sizes."""
        width, lanes = self.places[-1], self.lanes
        starts = [min(i, max(width - lanes, 0)) for i in range(0, width, lanes)]
        strides = [math.prod(sizes[j + 1 :]) for j in range(len(sizes) - 1)]
        outer = [
            _dot([f + i * s for f, i, s in zip(first[:-1], at, step[:-1], strict=True)], strides)
            for at in itertools.product(*map(range, self.places[:-1]))
        ]
        into = [at + i for at in self.lines for i in starts]
        out = [at + first[-1] + i * step[-1] for at in outer for i in starts]
        more = -len(into) % 3
        return _integers(into + into[-1:] * more), _integers(out + out[-1:] * more)


def _dot(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(i * j for i, j in zip(a, b, strict=True))


def _integers(values: Any) -> Any:
    return np.array(list(values), np.int64)


@functools.cache
def lanes(char: str) -> int:
    """Elements of the kernels' vectors."""
    return _LIBRARY.unit(char) or 0


def _worth(dtype: Any, n: int, places: Sizes, products: int) -> bool:
    """Whether there is work enough, and vectors are not mostly empty."""
    least = 32 // dtype.itemsize  # that any machine's vectors have
    full = places[-1] / (-(-places[-1] // least) * least) if places[-1] else 0.0
    return n > 0 and products >= WORTH and full >= FULL


# -- forward --------------------------------------------------------------------------------------
@functools.lru_cache(maxsize=256)
def _forward(
    channels: int, sizes: Sizes, window: Sizes, out: Sizes, steps: tuple[Sizes, Sizes, Sizes], lanes: int
) -> Any:
    stride, padding, dilation = steps
    taps = [[k * d for k in range(n)] for n, d in zip(window, dilation, strict=True)]
    table = _Table(sizes, padding, taps, out, stride, lanes)
    ones, zeros = (1,) * len(out), (0,) * len(out)
    return table, table.over_channels(channels), *table.lapping(ones, zeros, out)


def _convolve(x: Any, w: Any, y: Any, counts: Sizes, table: Any, taps: Any, places: Any, step: int, plane: int) -> bool:
    """Fill y, or those places of it that the table has; False if there was no memory."""
    n, groups, channels, outputs = counts
    into, out = places
    count, units, work = len(taps), n * groups, n * groups * outputs * len(taps) * len(into) * table.lanes
    functions = [_LIBRARY.get(name, y.dtype) for name in ("pack", "convolve")]
    if None in functions:
        return False
    packed, failed = np.empty(groups * -(-outputs // 4) * 4 * count, y.dtype), np.zeros(1, np.int64)
    run(functions[0], pack("4q", address(w), address(packed), outputs, count), groups, w.size)  # type: ignore[arg-type]
    parts = 1 if units >= threads.get_num_threads() else -(-len(into) // VECTORS)
    task = pack(
        "19q",
        *(address(x), address(packed), address(y), groups, channels, outputs, count, plane),
        *(len(into), parts, step, min(table.places[-1], table.lanes)),
        *map(address, (taps, into, out, table.layout, table.source, table.target, failed)),
    )
    run(functions[1], task, units * parts, work // PRODUCTS)  # type: ignore[arg-type]
    return not failed[0]


def convolution(x: Any, w: Any, out: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Any:
    """The result, or None where this is not for C."""
    products = w.size * x.shape[0] * math.prod(out)
    if not (plain(x) and w.dtype == x.dtype and _worth(x.dtype, x.shape[0], out, products)):
        return None
    if _LIBRARY.get("convolve", x.dtype) is None:
        return None
    n, inner, o = x.shape[0], w.shape[1], w.shape[0]
    steps = tuple(stride), tuple(padding), tuple(dilation)
    table, taps, *places = _forward(inner, x.shape[2:], w.shape[2:], tuple(out), steps, lanes(x.dtype.char))
    y = memory.empty((n, o, *out), x.dtype)
    w = np.ascontiguousarray(w)
    done = _convolve(x, w, y, (n, groups, inner, o // groups), table, taps, places, 1, math.prod(out))
    return y if done else None


# -- the input's cotangent -------------------------------------------------------------------------
@functools.lru_cache(maxsize=256)
def _backward(
    channels: int, sizes: Sizes, window: Sizes, out: Sizes, steps: tuple[Sizes, Sizes, Sizes], lanes: int
) -> list[Any]:
    """For each remainder of places by the stride: which elements of the window meet them, and the tables.

    A place i of the input is met by an element k where ``i + padding - k * dilation`` is a multiple of the stride.
    """
    axes = list(zip(sizes, window, *steps, strict=True))
    made: list[Any] = []
    for first in itertools.product(*(range(min(s, n)) for n, _, s, _, _ in axes)):
        meet = [
            [k for k in range(n) if (r + p - k * d) % s == 0] for r, (_, n, s, p, d) in zip(first, axes, strict=True)
        ]
        if not all(meet):
            made.append((None, None, None, None))
            continue
        taps = [[(r + p - k * d) // s for k in ks] for ks, r, (_, _, s, p, d) in zip(meet, first, axes, strict=True)]
        left = tuple(-min(t) for t in taps)
        taps = [[t + a for t in line] for line, a in zip(taps, left, strict=True)]
        places = tuple(-(-(n - r) // s) for r, (n, _, s, _, _) in zip(first, axes, strict=True))
        table = _Table(out, left, taps, places, (1,) * len(out), lanes)
        key = None if all(len(ks) == n for ks, n in zip(meet, window, strict=True)) else np.ix_(*meet)
        made.append((key, table, table.over_channels(channels), table.lapping(steps[0], first, sizes)))
    return made


def convolution_input(h: Any, w: Any, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Any:
    """The result, or None where this is not for C."""
    n, o, inner, out = h.shape[0], w.shape[0] // groups, w.shape[1], h.shape[2:]
    products = w.size * n * math.prod(out)
    if not (plain(h) and w.dtype == h.dtype and _worth(h.dtype, n, tuple(sizes), products) and min(out)):
        return None
    if _LIBRARY.get("convolve", h.dtype) is None:
        return None
    steps = tuple(stride), tuple(padding), tuple(dilation)
    parts = _backward(o, tuple(sizes), w.shape[2:], out, steps, lanes(h.dtype.char))
    shape = (n, groups * inner, *sizes)
    y = np.zeros(shape, h.dtype) if any(table is None for _, table, *_ in parts) else memory.empty(shape, h.dtype)
    turned = w.reshape(groups, o, inner, *w.shape[2:]).swapaxes(1, 2)
    for key, table, taps, places in parts:
        if table is None:
            continue
        rows = np.ascontiguousarray(turned if key is None else turned[(slice(None),) * 3 + key])
        counts = n, groups, o, inner
        if not _convolve(h, rows, y, counts, table, taps, places, stride[-1], math.prod(sizes)):
            return None
    return y


# -- the weights' cotangent ------------------------------------------------------------------------
@functools.lru_cache(maxsize=256)
def _weights(
    channels: int, sizes: Sizes, window: Sizes, out: Sizes, steps: tuple[Sizes, Sizes, Sizes], lanes: int
) -> Any:
    stride, padding, dilation = steps
    taps = [[k * d for k in range(n)] for n, d in zip(window, dilation, strict=True)]
    table = _Table(sizes, padding, taps, out, stride, lanes)
    every = table.over_channels(channels)
    every = np.concatenate((every, every[-1:].repeat(-len(every) % 3)))
    return table, every, table.apart()


def divided(
    n: int, groups: int, inner: int, o: int, count: int, table: Any, vectors: int, itemsize: int
) -> tuple[int, int]:
    """How many parts the examples are divided into, and how many of them are multiplied at a time."""
    # So many parts that sums in each are of some length, and two of them if there can be.
    parts = max(1, min(n, max(2, min(16, n * vectors // 64)), 8 * PARTIAL // (o * groups * count)))
    example = (inner * table.plane + o * vectors * table.lanes) * itemsize
    return parts, max(1, min(-(-n // parts), AT_ONCE // example))


def convolution_weight(
    x: Any, h: Any, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    """The result, or None where this is not for C."""
    n, inner, o, out = x.shape[0], x.shape[1] // groups, h.shape[1] // groups, h.shape[2:]
    count = inner * math.prod(window)
    products = o * groups * count * n * math.prod(out)
    if not (plain(x) and plain(h) and x.dtype == h.dtype and _worth(x.dtype, n, out, products)):
        return None
    function = _LIBRARY.get("correlate", x.dtype)
    if function is None or o * count > PARTIAL:
        return None
    steps = tuple(stride), tuple(padding), tuple(dilation)
    table, taps, into = _weights(inner, x.shape[2:], tuple(window), out, steps, lanes(x.dtype.char))
    parts, at_once = divided(n, groups, inner, o, count, table, len(into), x.itemsize)
    sums, failed = memory.empty((parts, groups * o, inner, *window), x.dtype), np.zeros(1, np.int64)
    task = pack(
        "19q",
        *(address(x), address(h), address(sums), n, groups, inner, o, count, len(taps) // 3, parts, at_once),
        *(len(table.lines), out[-1]),
        *map(address, (taps, into, table.layout, table.source, table.target, failed)),
    )
    run(function, task, parts * groups, products // PRODUCTS)
    return None if failed[0] else np.add.reduce(sums, axis=0)
