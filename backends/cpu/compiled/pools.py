"""Pooling in C. Each function gives None where the work is for NumPy."""

import functools
import math
from struct import pack
from typing import Any

import numpy as np

from lucidgrad.extents import Sizes

from . import memory
from .library import Library, address, plain, run

_LIBRARY = Library("pools")

#: Elements below which NumPy is as quick.
WORTH = 1 << 9


@functools.lru_cache(maxsize=256)
def _pool(sizes: Sizes, out: Sizes, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    """What C's struct Pool has, with three axes."""
    more = 3 - len(sizes)
    ones, zeros = (1,) * more, (0,) * more
    lines = (*(ones + line for line in (sizes, out, window, stride)), zeros + padding, ones + dilation)
    return np.array(lines, np.int64)


def _taken(x: Any, count: int, sizes: Sizes) -> bool:
    return x.size >= WORTH and count <= 3 and plain(x) and 0 < math.prod(sizes) < 1 << 31


def max_pool(x: Any, out: Sizes, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    """Largest values, and their places."""
    lead, sizes = x.shape[: x.ndim - len(window)], x.shape[x.ndim - len(window) :]
    function = _LIBRARY.get("max_pool", x.dtype) if _taken(x, len(window), sizes) else None
    if function is None:
        return None
    table = _pool(sizes, tuple(out), tuple(window), tuple(stride), tuple(padding), tuple(dilation))
    y, places = memory.empty((*lead, *out), x.dtype), memory.empty((*lead, *out), np.dtype(np.int64))
    failed = np.zeros(1, np.int64)
    run(function, pack("5q", *map(address, (x, y, places, table, failed))), math.prod(lead), x.size)
    return None if failed[0] else (y, places)


def pool_put(h: Any, i: Any, sizes: Sizes) -> Any:
    """Planes of zeros with h at the places i."""
    lead, size = h.shape[: h.ndim - len(sizes)], math.prod(sizes)
    if not (_taken(h, len(sizes), sizes) and i.dtype == np.int64 and i.shape == h.shape and i.flags.c_contiguous):
        return None
    if (function := _LIBRARY.get("pool_put", h.dtype)) is None:
        return None
    y, planes, failed = memory.empty((*lead, *sizes), h.dtype), math.prod(lead), np.zeros(1, np.int64)
    run(function, pack("6q", *map(address, (h, i, y)), h.size // planes, size, address(failed)), planes, y.size)
    return None if failed[0] else y


def avg_pool(
    x: Any, out: Sizes, window: Sizes, stride: Sizes, padding: Sizes, include: bool, divisor: float | None
) -> Any:
    """Means of windows."""
    lead, sizes = x.shape[: x.ndim - len(window)], x.shape[x.ndim - len(window) :]
    function = _LIBRARY.get("avg_pool", x.dtype) if _taken(x, len(window), sizes) else None
    if function is None:
        return None
    table = _pool(sizes, tuple(out), tuple(window), tuple(stride), tuple(padding), (1,) * len(window))
    y, failed = memory.empty((*lead, *out), x.dtype), np.zeros(1, np.int64)
    at = map(address, (x, y, table))
    run(function, pack("4qdq", *at, include, divisor or 0.0, address(failed)), math.prod(lead), x.size)
    return None if failed[0] else y


def avg_pool_put(
    h: Any, sizes: Sizes, window: Sizes, stride: Sizes, padding: Sizes, include: bool, divisor: float | None
) -> Any:
    """Each window's share of h."""
    lead, out = h.shape[: h.ndim - len(window)], h.shape[h.ndim - len(window) :]
    function = _LIBRARY.get("avg_pool_put", h.dtype) if _taken(h, len(window), sizes) else None
    if function is None:
        return None
    table = _pool(tuple(sizes), out, tuple(window), tuple(stride), tuple(padding), (1,) * len(window))
    y, failed = memory.empty((*lead, *sizes), h.dtype), np.zeros(1, np.int64)
    at = map(address, (h, y, table))
    run(function, pack("4qdq", *at, include, divisor or 0.0, address(failed)), math.prod(lead), y.size)
    return None if failed[0] else y
