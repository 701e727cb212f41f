"""Convolutions and pools of exact numbers, element by element."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from mpmath import mp

from .numbers import zeros

Sizes = tuple[int, ...]


def meetings(sizes: Sizes, out: Sizes, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Iterator[Any]:
    """All (place of a window, place in it, place in the plane) that lie inside."""
    for place in np.ndindex(*out):
        for part in np.ndindex(*window):
            at = tuple(p * s - b + k * d for p, s, b, k, d in zip(place, stride, padding, part, dilation, strict=True))
            if all(0 <= a < n for a, n in zip(at, sizes, strict=True)):
                yield place, part, at


def places(
    sizes: Sizes, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool = False
) -> Sizes:
    """How many windows there are; with ceil_mode the last may reach out, if it starts inside or in the left padding."""
    found = []
    for n, k, s, p, d in zip(sizes, window, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        count = (-(-room // s) if ceil_mode else room // s) + 1
        found.append(count - 1 if ceil_mode and (count - 1) * s >= n + p else count)
    return tuple(found)


def unfold_windows(x: Any, *, window: Sizes, **steps: Any) -> Any:
    at = x.ndim - len(window)
    lead, sizes = x.shape[:at], x.shape[at:]
    out = places(sizes, window, **steps)
    y = zeros((*lead, *window, *out))
    for place, part, here in meetings(sizes, out, window, **steps):
        y[(..., *part, *place)] = x[(..., *here)]
    return y


def fold_windows(h: Any, *, sizes: Sizes, **steps: Any) -> Any:
    n = len(sizes)
    lead, window, out = h.shape[: h.ndim - 2 * n], h.shape[h.ndim - 2 * n : h.ndim - n], h.shape[h.ndim - n :]
    y = zeros((*lead, *sizes))
    for place, part, here in meetings(sizes, out, window, **steps):
        y[(..., *here)] = y[(..., *here)] + h[(..., *part, *place)]
    return y


def _channels(outputs: int, inputs: int, groups: int) -> Iterator[tuple[int, int, int]]:
    """Output channel, input channel, and the latter's number within its group."""
    for o, c in itertools.product(range(outputs), range(inputs // groups)):
        yield o, o // (outputs // groups) * (inputs // groups) + c, c


def convolution(x: Any, w: Any, *, groups: int = 1, **steps: Any) -> Any:
    out = places(x.shape[2:], w.shape[2:], **steps)
    y = zeros((x.shape[0], w.shape[0], *out))
    for place, part, here in meetings(x.shape[2:], out, w.shape[2:], **steps):
        for o, c, k in _channels(w.shape[0], x.shape[1], groups):
            y[(slice(None), o, *place)] += x[(slice(None), c, *here)] * w[(o, k, *part)]
    return y


def convolution_input(h: Any, w: Any, *, sizes: Sizes, groups: int = 1, **steps: Any) -> Any:
    x = zeros((h.shape[0], w.shape[1] * groups, *sizes))
    for place, part, here in meetings(sizes, h.shape[2:], w.shape[2:], **steps):
        for o, c, k in _channels(w.shape[0], x.shape[1], groups):
            x[(slice(None), c, *here)] += h[(slice(None), o, *place)] * w[(o, k, *part)]
    return x


def convolution_weight(x: Any, h: Any, *, window: Sizes, groups: int = 1, **steps: Any) -> Any:
    w = zeros((h.shape[1], x.shape[1] // groups, *window))
    for place, part, here in meetings(x.shape[2:], h.shape[2:], window, **steps):
        for o, c, k in _channels(w.shape[0], x.shape[1], groups):
            for n in range(x.shape[0]):
                w[(o, k, *part)] += x[(n, c, *here)] * h[(n, o, *place)]
    return w


def max_pool(x: Any, *, window: Sizes, ceil_mode: bool = False, **steps: Any) -> Any:
    at = x.ndim - len(window)
    lead, sizes = x.shape[:at], x.shape[at:]
    out = places(sizes, window, **steps, ceil_mode=ceil_mode)
    y = zeros((*lead, *out)) - mp.inf
    for place, _, here in meetings(sizes, out, window, **steps):
        y[(..., *place)] = np.maximum(y[(..., *place)], x[(..., *here)])
    return y, None


def pool_put(h: Any, i: Any, *, sizes: Sizes, **steps: Any) -> Any:
    n = len(sizes)
    y = zeros((*h.shape[: h.ndim - n], int(np.prod(sizes))))
    for at in np.ndindex(h.shape):
        y[(*at[: h.ndim - n], int(i[at]))] += h[at]
    return y.reshape((*h.shape[: h.ndim - n], *sizes))


def _divisors(sizes: Sizes, out: Sizes, window: Sizes, stride: Sizes, padding: Sizes, include: bool) -> Any:
    made = np.empty(out, dtype=object)
    for place in np.ndindex(*out):
        made[place] = mp.mpf(1)
        for p, n, k, s, b in zip(place, sizes, window, stride, padding, strict=True):
            start, end = p * s - b, min(p * s - b + k, n + b)
            made[place] *= end - start if include else min(end, n) - max(start, 0)
    return made


def avg_pool(
    x: Any, *, window: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool = False, include: bool = True,
    divisor: Any = None,
) -> Any:  # fmt: skip
    at, ones = x.ndim - len(window), (1,) * len(window)
    lead, sizes = x.shape[:at], x.shape[at:]
    out = places(sizes, window, stride, padding, ones, ceil_mode)
    y = zeros((*lead, *out))
    for place, _, here in meetings(sizes, out, window, stride, padding, ones):
        y[(..., *place)] = y[(..., *place)] + x[(..., *here)]
    return y / (mp.mpf(divisor) if divisor else _divisors(sizes, out, window, stride, padding, include))


def avg_pool_put(
    h: Any, *, sizes: Sizes, window: Sizes, stride: Sizes, padding: Sizes, include: bool = True, divisor: Any = None
) -> Any:
    at = h.ndim - len(window)
    lead, out = h.shape[:at], h.shape[at:]
    h = h / (mp.mpf(divisor) if divisor else _divisors(sizes, out, window, stride, padding, include))
    y = zeros((*lead, *sizes))
    for place, _, here in meetings(sizes, out, window, stride, padding, (1,) * len(window)):
        y[(..., *here)] = y[(..., *here)] + h[(..., *place)]
    return y


FUNCTIONS = {
    f.__name__: f
    for f in (
        unfold_windows, fold_windows, convolution, convolution_input, convolution_weight, max_pool, pool_put,
        avg_pool, avg_pool_put,
    )
}  # fmt: skip
