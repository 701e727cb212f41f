"""Softmax, cross-entropy, normalisation and sums in C. Each function gives None where the work is for NumPy."""

import functools
import math
from struct import pack
from typing import Any, NamedTuple

import numpy as np

from . import memory
from .library import Library, address, plain, run
from .toolchain import INTERLEAVED, STREAMED

_LIBRARY = Library("rows", ("-ffp-contract=fast", *INTERLEAVED))
_NORMS = Library("norms", ("-ffp-contract=fast", *INTERLEAVED))

#: Elements below which NumPy is as quick: of functions that take many passes there, and of sums.
WORTH, WORTH_SUM = 1 << 8, 1 << 15
#: Rows of which the sums that weights get are taken together, as in C.
ROWS = 64
#: Columns whose sums over blocks are taken together, as in C.
STRETCH = 1024
#: Columns that are summed together: at least, and at most, as in C.
WIDE, WIDEST = 64, 256
#: Elements of which a part of a sum over everything is made.
PART = 1 << 14
_STREAMING = {"layer_norm", "softmax_pull", "scaled_distance"}


def _split(x: Any, axis: Any) -> tuple[int, int] | None:
    """How many rows there are, and how long they are; None if reduced axes are not the last, or there are none such."""
    rank = x.ndim
    if type(axis) is int and (axis == -1 or axis == rank - 1):
        n = x.shape[-1] if rank else 0
    else:
        axes = range(rank) if axis is None else (axis,) if type(axis) is int else axis
        if sorted(a + rank if a < 0 else a for a in axes) != list(range(rank - len(axes), rank)):
            return None
        n = math.prod(x.shape[rank - len(axes) :])
    return (x.size // n, n) if n else None


def _function(name: str, x: Any) -> int | None:
    """The kernel of a name whose result is like x."""
    library = _NORMS if "norm" in name else _LIBRARY
    return library.get(f"{name}_streamed" if x.nbytes >= STREAMED and name in _STREAMING else name, x.dtype)


def _ready(x: Any, dtype: Any) -> Any:
    """An array as C reads it; a copy where that is needed, and None where a copy would not do."""
    if plain(x):
        return x if x.dtype == dtype else None
    return np.ascontiguousarray(x) if x.dtype == dtype else None


def _run(name: str, axis: Any, *xs: Any) -> Any:
    """A result like the last of xs; others that are smaller have an element for each row."""
    x = xs[-1]
    if x.size < WORTH or x.dtype.char not in "fd" or not x.dtype.isnative:
        return None
    function, split = _function(name, x), _split(x, axis)
    given = [_ready(r, x.dtype) for r in xs]
    if function is None or split is None or any(r is None for r in given):
        return None
    y = memory.empty(x.shape, x.dtype)
    rows, n = split
    run(function, pack(f"{len(xs) + 2}q", *map(address, given), address(y), n), rows, x.size)
    return y


def _shortened(x: Any, axis: Any, keepdims: bool) -> tuple[int, ...]:
    """The shape without the last axes that are reduced."""
    count = x.ndim if axis is None else 1 if type(axis) is int else len(axis)
    return (*x.shape[: x.ndim - count], *(1,) * count) if keepdims else x.shape[: x.ndim - count]


# -- softmax -------------------------------------------------------------------------------------
def softmax(x: Any, axis: Any) -> Any:
    return _run("softmax", axis, x)


def softmax_pull(h: Any, s: Any, axis: Any) -> Any:
    return _run("softmax_pull", axis, h, s) if h.shape == s.shape else None


def log_softmax(x: Any, axis: Any) -> Any:
    return _run("log_softmax", axis, x)


def log_softmax_pull(h: Any, s: Any, axis: Any) -> Any:
    return _run("log_softmax_pull", axis, h, s) if h.shape == s.shape else None


def logsumexp(x: Any, axis: Any, keepdims: bool) -> Any:
    if x.size < WORTH or not plain(x) or (split := _split(x, axis)) is None:
        return None
    function = _LIBRARY.get("logsumexp", x.dtype)
    if function is None:
        return None
    y = np.empty(_shortened(x, axis, keepdims), x.dtype)
    run(function, pack("3q", address(x), address(y), split[1]), split[0], x.size)
    return y


def logsumexp_pull(h: Any, s: Any, x: Any, axis: Any) -> Any:
    return _run("logsumexp_pull", axis, h, s, x) if h.size == s.size and _counts(h, x, axis) else None


def _counts(h: Any, x: Any, axis: Any) -> bool:
    """Whether a reduced array has an element for each row."""
    split = _split(x, axis) if x.size >= WORTH else None
    return split is not None and h.size == split[0]


# -- extremes ------------------------------------------------------------------------------------
def extreme_pull(h: Any, s: Any, x: Any, axis: Any) -> Any:
    return _run("extreme_pull", axis, h, s, x) if h.size == s.size and _counts(h, x, axis) else None


def any_rows(x: Any, axis: Any, keepdims: bool) -> Any:
    if x.size < WORTH_SUM or not plain(x) or (split := _split(x, axis)) is None:
        return None
    if (function := _LIBRARY.get("any_rows", x.dtype)) is None:
        return None
    y = np.empty(_shortened(x, axis, keepdims), np.bool_)
    run(function, pack("3q", address(x), address(y), split[1]), split[0], x.size)
    return y


# -- cross-entropy -------------------------------------------------------------------------------
def _classes(x: Any, i: Any, axis: int) -> Any:
    """Class numbers as C reads them; None if rows of logits are not contiguous or not as many."""
    if x.size < WORTH or not plain(x) or axis % x.ndim != x.ndim - 1 or i.dtype.kind not in "iu":
        return None
    return np.ascontiguousarray(i, np.int64) if i.shape == x.shape[:-1] else None


def cross_entropy_rows(x: Any, i: Any, axis: int, ignore_index: int) -> Any:
    classes = _classes(x, i, axis)
    function = None if classes is None else _LIBRARY.get("cross_entropy_rows", x.dtype)
    if function is None:
        return None
    y, wrong = np.empty(i.shape, x.dtype), np.zeros(1, np.int64)
    at = map(address, (x, classes, y, wrong))
    run(function, pack("6q", *at, x.shape[-1], ignore_index), i.size, x.size)
    return None if wrong[0] else y


def cross_entropy_pull(x: Any, i: Any, h: Any, axis: int, ignore_index: int) -> Any:
    classes = _classes(x, i, axis)
    function = None if classes is None else _LIBRARY.get("cross_entropy_pull", x.dtype)
    if function is None or h.dtype != x.dtype or h.size != i.size:
        return None
    h, y, wrong = np.ascontiguousarray(h), memory.empty(x.shape, x.dtype), np.zeros(1, np.int64)
    at = map(address, (x, classes, h, y, wrong))
    run(function, pack("7q", *at, x.shape[-1], ignore_index), i.size, x.size)
    return None if wrong[0] else y


# -- normalisation -------------------------------------------------------------------------------
def layer_norm(x: Any, w: Any, b: Any, axis: Any, eps: float, centre: bool) -> Any:
    """With no weights the standardised rows."""
    if x.size < WORTH or not plain(x) or (split := _split(x, axis)) is None:
        return None
    function, given = _function("layer_norm", x), [r for r in (w, b) if r is not None]
    if function is None or any(not plain(r) or r.dtype != x.dtype or r.size != split[1] for r in given):
        return None
    y = memory.empty(x.shape, x.dtype)
    at = [0 if r is None else address(r) for r in (x, w, b, y)]
    run(function, pack("6qd", *at, split[1], centre, eps), split[0], x.size)
    return y


def standardise_pull(h: Any, x: Any, axis: Any, eps: float, centre: bool) -> Any:
    if x.size < WORTH or not plain(x) or h.dtype != x.dtype or h.shape != x.shape or (split := _split(x, axis)) is None:
        return None
    if (function := _NORMS.get("standardise_pull", x.dtype)) is None:
        return None
    h, y = np.ascontiguousarray(h), memory.empty(x.shape, x.dtype)
    run(function, pack("5qd", address(h), address(x), address(y), split[1], centre, eps), split[0], x.size)
    return y


def layer_norm_pull(h: Any, x: Any, w: Any, axes: int, eps: float, centre: bool) -> Any:
    shape = x.shape[x.ndim - axes :]
    n = math.prod(shape)
    if x.size < WORTH or not (plain(x) and plain(w)) or not h.dtype == w.dtype == x.dtype or h.shape != x.shape:
        return None
    function, then = _function("layer_norm_pull", x), _NORMS.get("layer_norm_sums", x.dtype)
    if function is None or then is None or w.size != n:
        return None
    rows, blocks = x.size // n, -(-x.size // (n * ROWS))
    h, y, parts = np.ascontiguousarray(h), memory.empty(x.shape, x.dtype), np.zeros((blocks, 2, n), x.dtype)
    at = map(address, (h, x, w, y, parts))
    run(function, pack("8qd", *at, rows, n, centre, eps), blocks, x.size)
    to_w, to_b = np.empty(shape, x.dtype), np.empty(shape, x.dtype)
    run(then, pack("5q", *map(address, (parts, to_w, to_b)), blocks, n), -(-n // STRETCH), parts.size)
    return y, to_w, to_b


def _channels(x: Any, *others: Any) -> tuple[int, int, int] | None:
    """The sizes (n, channels, places) of a batch, if C reads it and runs of places are long enough."""
    if x.size < WORTH or x.ndim < 3 or not plain(x):
        return None
    n, channels = x.shape[:2]
    places = x.size // (n * channels)
    fit = all(plain(r) and r.dtype == x.dtype and r.shape == (channels,) for r in others)
    return (n, channels, places) if fit and places >= 8 else None


def batch_norm(x: Any, w: Any, b: Any, eps: float) -> Any:
    sizes = _channels(x, w, b)
    function = None if sizes is None else _NORMS.get("batch_norm", x.dtype)
    if function is None or sizes is None:
        return None
    y, mean, var = memory.empty(x.shape, x.dtype), np.empty_like(w), np.empty_like(w)
    run(function, pack("9qd", *map(address, (x, w, b, y, mean, var)), *sizes, eps), sizes[1], x.size)
    return y, mean, var


def batch_norm_pull(h: Any, x: Any, w: Any, m: Any, v: Any, eps: float) -> Any:
    m, v = (np.ascontiguousarray(r) for r in (m, v))
    sizes = _channels(x, w, m, v)
    function = None if sizes is None else _NORMS.get("batch_norm_pull", x.dtype)
    if function is None or sizes is None or h.dtype != x.dtype or h.shape != x.shape:
        return None
    h, y = np.ascontiguousarray(h), memory.empty(x.shape, x.dtype)
    to_w, to_b = np.empty_like(w), np.empty_like(w)
    run(function, pack("11qd", *map(address, (h, x, w, m, v, y, to_w, to_b)), *sizes, eps), sizes[1], x.size)
    return y, to_w, to_b


# -- sums ----------------------------------------------------------------------------------------
class _Sums(NamedTuple):
    """How sums are taken: by which function of C, or None if by that of everything; its sizes, and those of results."""

    name: str | None
    sizes: tuple[int, ...]
    units: int
    shape: tuple[int, ...]


def sums(x: Any, axis: Any, keepdims: bool) -> Any:
    """Sums over the last axes, the first ones, all, or all but the second."""
    if x.size < WORTH_SUM or not x.size or not plain(x):
        return None
    way = _way_to_sum(x.shape, tuple(axis) if type(axis) is list else axis, keepdims)
    if way is None:
        return None
    if way.name is None:
        return _total(x, way.shape)
    if (function := _LIBRARY.get(way.name, x.dtype)) is None:
        return None
    y = np.empty(way.shape, x.dtype)
    run(function, pack(f"{2 + len(way.sizes)}q", address(x), address(y), *way.sizes), way.units, x.size)
    return y


@functools.lru_cache(4096, typed=True)  # 1.0 is no axis, though it is 1
def _way_to_sum(given: tuple[int, ...], axis: Any, keepdims: bool) -> _Sums | None:
    rank = len(given)
    axes = tuple(range(rank)) if axis is None else (axis,) if type(axis) is int else tuple(axis)
    if not axes or min(axes) < -rank or max(axes) >= rank:
        return None
    axes = tuple(sorted(a % rank for a in axes))
    if len(set(axes)) < len(axes):
        return None
    left = [n for a, n in enumerate(given) if a not in axes]
    shape = tuple(1 if a in axes else n for a, n in enumerate(given)) if keepdims else tuple(left)
    if len(axes) == rank:
        return _Sums(None, (), 0, shape)
    if axes[-1] == len(axes) - 1:
        n = math.prod(left)
        wide = min(max(n // 4 // WIDE * WIDE, WIDE), WIDEST)
        return _Sums("column_sums", (math.prod(given) // n, n, wide), -(-n // wide), shape) if n >= 16 else None
    gap = next((k for k, a in enumerate(axes) if a != k), len(axes))  # the leading axes that are reduced
    tail = axes[gap:]
    if not tail or tail[-1] != rank - 1 or len(tail) != rank - tail[0]:
        return None
    n, places, channels = math.prod(given[:gap]), math.prod(given[tail[0] :]), math.prod(left)
    return _Sums("channel_sums", (n, channels, places), channels, shape) if places >= 16 else None


def _total(x: Any, shape: tuple[int, ...]) -> Any:
    function = _LIBRARY.get("part_sums", x.dtype)
    if function is None:
        return None
    parts = np.empty(-(-x.size // PART))
    run(function, pack("4q", address(x), address(parts), x.size, PART), parts.size, x.size)
    return np.add.reduce(parts).astype(x.dtype).reshape(shape)


def variances(x: Any, axis: Any, correction: float, keepdims: bool, rooted: bool) -> Any:
    """Variances of the last axes, or their roots."""
    if x.size < WORTH_SUM or not plain(x) or (split := _split(x, axis)) is None:
        return None
    left = split[1] - correction
    if left <= 0:
        return None
    if (function := _LIBRARY.get("variances", x.dtype)) is None:
        return None
    y = np.empty(_shortened(x, axis, keepdims), x.dtype)
    run(function, pack("4qd", address(x), address(y), split[1], rooted, left), split[0], x.size)
    return y


def scaled_distance(h: Any, x: Any, axis: Any) -> Any:
    """``h * (x - mean)``, with an element of h for each row."""
    return _run("scaled_distance", axis, h, x) if _counts(h, x, axis) else None
