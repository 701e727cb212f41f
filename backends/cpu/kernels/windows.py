"""NumPy kernels of windows, convolution and pooling.

Columns of a convolution are made for a few examples at a time, in memory that is used again: they are many times
larger than the input, and fresh memory costs more than the arithmetic.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lucidgrad.backends.cpu.compiled import blas, pools, windows as direct
from lucidgrad.extents import Sizes, check_channels, out_sizes

#: Bytes of columns that are made at a time.
CHUNK = 1 << 21


# -- windows as strides --------------------------------------------------------------------------
def _padded(x: Any, padding: Sizes, sizes: Sizes | None = None, fill: float = 0) -> Any:
    """The last axes with a border, or in the middle of larger sizes."""
    lead, old = x.shape[: x.ndim - len(padding)], x.shape[x.ndim - len(padding) :]
    sizes = sizes or tuple(n + 2 * p for n, p in zip(old, padding, strict=True))
    if sizes == old:
        return x
    y = np.full((*lead, *sizes), fill, x.dtype) if fill else np.zeros((*lead, *sizes), x.dtype)
    middle: Any = (..., *(slice(p, p + n) for p, n in zip(padding, old, strict=True)))
    y[middle] = x
    return y


def _view(x: Any, window: Sizes, out: Sizes, stride: Sizes, dilation: Sizes) -> Any:
    """All windows of the last axes of a padded array, without copying: (*lead, *window, *out)."""
    at = x.ndim - len(window)
    steps = x.strides[at:]
    strides = (
        *x.strides[:at],
        *(t * d for t, d in zip(steps, dilation, strict=True)),
        *(t * s for t, s in zip(steps, stride, strict=True)),
    )
    return np.lib.stride_tricks.as_strided(x, (*x.shape[:at], *window, *out), strides, writeable=False)


def _offsets(window: Sizes, out: Sizes, stride: Sizes, dilation: Sizes) -> Iterator[tuple[int, Sizes, tuple[Any, ...]]]:
    """For each element of a window: its number, its place in the window, and the key of its places in the array."""
    for j, at in enumerate(itertools.product(*map(range, window))):
        key = tuple(
            slice(a * d, a * d + s * (o - 1) + 1, s) for a, d, s, o in zip(at, dilation, stride, out, strict=True)
        )
        yield j, at, (..., *key)


def unfold_windows(x: Any, *, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    sizes = x.shape[x.ndim - len(window) :]
    out = out_sizes("unfold_windows", sizes, window, stride, padding, dilation)
    return np.array(_view(_padded(x, padding), window, out, stride, dilation), order="C")


def _fold_into(y: Any, h: Any, window: Sizes, out: Sizes, stride: Sizes, dilation: Sizes) -> None:
    """Add windows h of the shape (*lead, *window, *out) into a padded array."""
    lead = (slice(None),) * (h.ndim - len(window) - len(out))
    for _, at, key in _offsets(window, out, stride, dilation):
        y[key] += h[(*lead, *at)]


def _crop(y: Any, padding: Sizes, sizes: Sizes) -> Any:
    if not any(padding) and y.shape[y.ndim - len(sizes) :] == tuple(sizes):
        return y
    part = y[(..., *(slice(p, p + n) for p, n in zip(padding, sizes, strict=True)))]
    return np.ascontiguousarray(part)


def fold_windows(h: Any, *, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    n = len(sizes)
    lead, window, out = h.shape[: h.ndim - 2 * n], h.shape[h.ndim - 2 * n : h.ndim - n], h.shape[h.ndim - n :]
    y = np.zeros((*lead, *(a + 2 * p for a, p in zip(sizes, padding, strict=True))), h.dtype)
    _fold_into(y, h, window, out, stride, dilation)
    return _crop(y, padding, sizes)


# -- convolution ---------------------------------------------------------------------------------
class _Portions:
    """The sizes of one convolution, and its work in portions of examples."""

    def __init__(self, x: Sizes, w: Sizes, out: Sizes, groups: int, itemsize: int) -> None:
        self.n, self.window, self.out, self.groups = x[0], w[2:], out, groups
        self.inner = x[1] // groups
        self.rows, self.places = self.inner * math.prod(self.window), math.prod(out)
        self.outputs = w[0] // groups
        per = max(self.rows * self.places * itemsize, 1)
        self.step = max(1, min(self.n, CHUNK // per))
        self.buffer: Any = None

    def portions(self) -> Iterator[tuple[int, int, int]]:
        """Group, and first and last example."""
        for g in range(self.groups):
            for k in range(0, self.n, self.step):
                yield g, k, min(k + self.step, self.n)

    def columns(self, count: int, dtype: Any) -> Any:
        """Memory for the columns of some examples: (inner, *window, examples, *out)."""
        if self.buffer is None:
            self.buffer = np.empty(self.rows * self.step * self.places, dtype)
        part = self.buffer[: self.rows * count * self.places]
        return part.reshape(self.inner, *self.window, count, *self.out)

    def fill(self, windows: Any, g: int, start: int, end: int) -> Any:
        """The columns of some examples as a matrix."""
        cols = self.columns(end - start, windows.dtype)
        part = windows[start:end, g * self.inner : (g + 1) * self.inner]
        np.copyto(cols, np.moveaxis(part, 0, len(self.window) + 1))
        return cols.reshape(self.rows, (end - start) * self.places)

    def values(self, h: Any, g: int, start: int, end: int) -> Any:
        """Values at the places of windows as a matrix: (outputs, examples × places)."""
        part = h.reshape(self.n, self.groups, self.outputs, self.places)[start:end, g]
        if end - start == 1:
            return part[0]
        return part.transpose(1, 0, 2).reshape(self.outputs, (end - start) * self.places)


def _pointwise(window: Sizes, stride: Sizes, padding: Sizes) -> bool:
    return max(window) == 1 and max(stride) == 1 and max(padding) == 0


def _grouped(x: Any, groups: int) -> Any:
    n, c = x.shape[:2]
    return x.reshape(n, groups, c // groups, math.prod(x.shape[2:]))


def convolution(x: Any, w: Any, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int = 1) -> Any:
    window, o = w.shape[2:], w.shape[0]
    check_channels(x.shape, w.shape, groups)
    out = out_sizes("convolution", x.shape[2:], window, stride, padding, dilation)
    dtype = np.result_type(x, w)
    made = direct.convolution(x, w, out, stride, padding, dilation, groups)
    if made is not None:
        return made
    rows = w.reshape(groups, o // groups, -1) if w.size else w.reshape(groups, o // groups, 0)
    if _pointwise(window, stride, padding):
        return blas.multiply(rows, _grouped(x, groups)).reshape(x.shape[0], o, *out)
    plan = _Portions(x.shape, w.shape, out, groups, dtype.itemsize)
    windows = _view(_padded(x.astype(dtype, copy=False), padding), window, out, stride, dilation)
    y = np.empty((plan.n, groups, plan.outputs, plan.places), dtype)
    for g, start, end in plan.portions():
        cols = plan.fill(windows, g, start, end)
        if end - start == 1:
            blas.multiply(rows[g], cols, y[start, g])
        else:
            part = blas.multiply(rows[g], cols).reshape(plan.outputs, end - start, plan.places)
            y[start:end, g] = part.transpose(1, 0, 2)
    return y.reshape(x.shape[0], o, *out)


def convolution_input(
    h: Any, w: Any, *, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int = 1
) -> Any:
    window, out, n = w.shape[2:], h.shape[2:], h.shape[0]
    c, dtype = w.shape[1] * groups, np.result_type(h, w)
    made = direct.convolution_input(h, w, sizes, stride, padding, dilation, groups)
    if made is not None:
        return made
    rows = w.reshape(groups, w.shape[0] // groups, math.prod(w.shape[1:])).transpose(0, 2, 1)
    if _pointwise(window, stride, padding) and tuple(out) == tuple(sizes):
        return blas.multiply(rows, _grouped(h, groups)).reshape(n, c, *sizes)
    plan = _Portions((n, c), w.shape, out, groups, dtype.itemsize)
    wide = tuple(a + 2 * p for a, p in zip(sizes, padding, strict=True))
    y = np.zeros((n, c, *wide), dtype)
    for g, start, end in plan.portions():
        cols = plan.columns(end - start, dtype)
        blas.multiply(rows[g], plan.values(h, g, start, end), cols.reshape(plan.rows, (end - start) * plan.places))
        part = y[start:end, g * plan.inner : (g + 1) * plan.inner]
        _fold_into(part, np.moveaxis(cols, len(window) + 1, 0), window, out, stride, dilation)
    return _crop(y, padding, sizes)


def convolution_weight(
    x: Any, h: Any, *, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int = 1
) -> Any:
    c, o, out = x.shape[1], h.shape[1], h.shape[2:]
    made = direct.convolution_weight(x, h, window, stride, padding, dilation, groups)
    if made is not None:
        return made
    shape, dtype = (o, c // groups, *window), np.result_type(x, h)
    plan = _Portions(x.shape, shape, out, groups, dtype.itemsize)
    y = np.zeros((groups, plan.outputs, plan.rows), dtype)
    windows = _view(_padded(x.astype(dtype, copy=False), padding), window, out, stride, dilation)
    for g, start, end in plan.portions():
        y[g] += blas.multiply(plan.values(h, g, start, end), plan.fill(windows, g, start, end).T)
    return y.reshape(shape)


# -- pooling -------------------------------------------------------------------------------------
def _reach(out: Sizes, window: Sizes, stride: Sizes, dilation: Sizes, sizes: Sizes, padding: Sizes) -> Sizes:
    """The sizes that all windows cover, and no less than the padded ones."""
    return tuple(
        max((o - 1) * s + d * (k - 1) + 1, n + 2 * p)
        for o, k, s, d, n, p in zip(out, window, stride, dilation, sizes, padding, strict=True)
    )


def max_pool(x: Any, *, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool = False) -> Any:
    lead, sizes = x.shape[: x.ndim - len(window)], x.shape[x.ndim - len(window) :]
    out = out_sizes("max_pool", sizes, window, stride, padding, dilation, ceil_mode)
    made = pools.max_pool(x, out, window, stride, padding, dilation)
    if made is not None:
        return made
    wide = _padded(x, padding, _reach(out, window, stride, dilation, sizes, padding), -np.inf)
    parts = list(_offsets(window, out, stride, dilation))
    y = np.array(wide[parts[0][2]])
    for _, _, key in parts[1:]:
        np.maximum(y, wide[key], out=y)
    which = np.zeros((*lead, *out), np.int32)
    for j, _, key in reversed(parts):
        np.copyto(which, j, where=wide[key] == y)
    if np.isnan(np.add.reduce(y, axis=None)):  # nothing equals NaN: its first place is looked for
        for j, _, key in reversed(parts):
            np.copyto(which, j, where=np.isnan(wide[key]))
    places = _places(sizes, out, window, stride, padding, dilation)
    at = which.reshape(*lead, -1) * np.int64(places.shape[1]) if which.size else which.reshape(*lead, places.shape[1])
    return y, places.reshape(-1)[at + np.arange(places.shape[1])].reshape(*lead, *out)


def _places(sizes: Sizes, out: Sizes, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    """The flat place of each element of each window: (elements, windows)."""
    place: Any = np.zeros((1, 1), np.int64)
    for n, o, k, s, p, d in zip(sizes, out, window, stride, padding, dilation, strict=True):
        at = np.arange(k)[:, None] * d + np.arange(o) * s - p
        place = place[:, None, :, None] * n + np.clip(at, 0, n - 1)[None, :, None, :]
        place = place.reshape(place.shape[0] * k, place.shape[2] * o)
    return place


def pool_put(h: Any, i: Any, *, sizes: Sizes, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    made = pools.pool_put(h, i, sizes)
    if made is not None:
        return made
    n, count = len(sizes), math.prod(sizes)
    lead = h.shape[: h.ndim - n]
    planes = math.prod(lead)
    y = np.zeros(planes * count, h.dtype)
    at = (i.reshape(planes, -1) if i.size else i.reshape(planes, 0)) + np.arange(planes)[:, None] * count
    apart = all(s > d * (k - 1) for k, s, d in zip(window, stride, dilation, strict=True))
    if apart:
        y[at.reshape(-1)] = h.reshape(-1)
    else:
        np.add.at(y, at.reshape(-1), h.reshape(-1))
    return y.reshape(*lead, *sizes)


def _shares(sizes: Sizes, out: Sizes, window: Sizes, stride: Sizes, padding: Sizes, include: bool, dtype: Any) -> Any:
    """How many elements each window counts; a number where all count as many."""
    made: Any = np.ones((), np.int64)
    for n, o, k, s, p in zip(sizes, out, window, stride, padding, strict=True):
        start = np.arange(o) * s - p
        end = np.minimum(start + k, n + p)
        if not include:
            start, end = np.maximum(start, 0), np.minimum(end, n)
        made = made[..., None] * (end - start)
    return made.astype(dtype)


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
    ones, sizes = (1,) * len(window), x.shape[x.ndim - len(window) :]
    out = out_sizes("avg_pool", sizes, window, stride, padding, ones, ceil_mode)
    made = pools.avg_pool(x, out, window, stride, padding, include, divisor)
    if made is not None:
        return made
    wide = _padded(x, padding, _reach(out, window, stride, ones, sizes, padding))
    parts = _offsets(window, out, stride, ones)
    y = np.array(wide[next(parts)[2]])
    for _, _, key in parts:
        y += wide[key]
    y /= divisor or _shares(sizes, out, window, stride, padding, include, x.dtype)
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
    made = pools.avg_pool_put(h, sizes, window, stride, padding, include, divisor)
    if made is not None:
        return made
    n, ones = len(window), (1,) * len(window)
    lead, out = h.shape[: h.ndim - n], h.shape[h.ndim - n :]
    h = h / (divisor or _shares(sizes, out, window, stride, padding, include, h.dtype))
    y = np.zeros((*lead, *_reach(out, window, stride, ones, sizes, padding)), h.dtype)
    for _, _, key in _offsets(window, out, stride, ones):
        y[key] += h
    return _crop(y, padding, sizes)


_FUNCTIONS = (
    *(unfold_windows, fold_windows, convolution, convolution_input, convolution_weight),
    *(max_pool, pool_put, avg_pool, avg_pool_put),
)

TABLE: dict[str, Callable[..., Any]] = {function.__name__: function for function in _FUNCTIONS}
