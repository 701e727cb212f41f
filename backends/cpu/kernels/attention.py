"""NumPy kernels of attention: some heads or queries at a time, so that their weights stay in the cache."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lucidgrad.backends.cpu.compiled import attention as compiled, blas
from lucidgrad.core import device
from lucidgrad.core.primitive import registry

#: Elements of the weights that are computed together.
BLOCK = 131072
#: Queries that are taken together at least.
FEWEST = 32


def _lead(*arrays: Any) -> tuple[int, ...]:
    """The axes before the last two, broadcast."""
    return np.broadcast_shapes(*(a.shape[:-2] for a in arrays if a is not None))


def _with_lead(a: Any, lead: tuple[int, ...]) -> Any:
    """A view with all leading axes, and at least one of them."""
    if a is None:
        return None
    a = np.broadcast_to(a, (*lead, *a.shape[-2:])) if a.shape[:-2] != lead else a
    return a if lead else a[None]


def _places(lead: tuple[int, ...], rows: int, columns: int, causal: bool) -> Iterator[tuple[Any, Any, int]]:
    """Parts that have about a block's weights: heads of one example, or queries of one head.

    Each is an index of heads, a slice of queries, and how many keys these see.
    """
    *outer, last = lead or (1,)
    step = max(1, BLOCK // max(rows * columns, 1))
    whole = rows * columns <= BLOCK
    some = max(rows, 1) if whole else max(FEWEST, BLOCK // columns)
    for place in itertools.product(*map(range, outer)):
        for start in range(0, last, step):
            for first in range(0, max(rows, 1), some):
                end = min(first + some, rows)
                keys = columns if whole or not causal else min(end, columns)
                yield (*place, slice(start, start + step)), slice(first, end), keys


def _of(m: Any, place: Any, queries: slice, keys: int) -> Any:
    """The part of a mask for some queries and keys, where it has several."""
    part = m[place]
    part = part[:, queries] if part.shape[1] != 1 else part
    return part[..., :keys] if part.shape[2] != 1 else part


def _like(a: Any, lead: tuple[int, ...], rows: int, columns: int, dtype: Any) -> Any:
    """A new array whose axes lie in memory as those of a: what was split into heads is joined again without a copy."""
    if a.shape[:-2] == lead:
        order = np.argsort([-abs(s) for s in a.strides], kind="stable")
        shape = (*lead, rows, columns)
        made = np.empty([shape[k] for k in order], dtype)
        return made.transpose(np.argsort(order))
    return np.empty((*lead, rows, columns), dtype)


def _mask(s: Any, m: Any, scale: float) -> float:
    """Apply a mask to scores, and return the factor that they still have to be multiplied by."""
    if m is None:
        return scale
    s *= scale
    if m.dtype == bool:
        np.copyto(s, -np.inf, where=~m)
    else:
        s += m
    return 1.0


def _weigh(p: Any, rate: Any, total: Any, scale: float, causal: int) -> None:
    """Turn scores p into weights that lack a factor; rate gets that of each row, total the row's logsumexp."""
    if compiled.attention_weights(p, rate, total, scale, causal):
        return
    p *= scale
    if causal:
        np.copyto(p, -np.inf, where=_later(p, causal))
    top = np.maximum.reduce(p, axis=-1, keepdims=True, initial=-np.inf)
    blind = np.isneginf(top)
    top[blind] = 0
    p -= top
    np.exp(p, out=p)
    norm = np.add.reduce(p, axis=-1, keepdims=True)
    norm[blind] = 1
    np.reciprocal(norm[..., 0], out=rate)
    np.log(norm, out=norm)
    norm += top
    norm[blind] = -np.inf
    total[...] = norm[..., 0]


def _pull(p: Any, s: Any, total: Any, rest: Any, scale: float, factor: float, causal: int) -> None:
    """Scores p become weights, and the weights' cotangents s become the scores', times a factor."""
    if compiled.attention_slopes(p, s, total, rest, scale, factor, causal):
        return
    p *= scale
    if causal:
        np.copyto(p, -np.inf, where=_later(p, causal))
    p -= total[..., None]
    np.exp(p, out=p)
    s -= rest[..., None]
    s *= p
    s *= factor


def _add_to(sums: Any, place: tuple[Any, ...], queries: slice, keys: int, s: Any) -> None:
    """Add to the part of a mask's cotangent what belongs there, summed over axes that the mask does not have."""
    at = tuple(p if n > 1 else 0 if type(p) is int else slice(None) for p, n in zip(place, sums.shape, strict=False))
    part = _of(sums, at, queries, keys)
    axes = tuple(a for a in range(3) if part.shape[a] == 1 and s.shape[a] != 1)
    part += np.add.reduce(s, axis=axes, keepdims=True) if axes else s


def _summed_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Sums over the axes along which an array of a shape was broadcast."""
    lead = x.ndim - len(shape)
    axes = (*range(lead), *(lead + a for a, n in enumerate(shape) if n != x.shape[lead + a]))
    return np.add.reduce(x, axis=axes, keepdims=True).reshape(shape) if axes else x


def _as_matrices(m: Any) -> Any:
    """A mask with two axes at least."""
    return m if m is None or m.ndim > 1 else m.reshape((1,) * (2 - m.ndim) + m.shape)


def _later(p: Any, causal: int) -> Any:
    """The keys behind the queries, of which the first is at this place, less one."""
    return ~np.tri(p.shape[-2], p.shape[-1], causal - 1, dtype=bool)


class _Room:
    """Scratch arrays that are made once, and views of them for smaller ones."""

    def __init__(self, dtype: Any) -> None:
        self._dtype, self._arrays = dtype, {}  # type: ignore[var-annotated]

    def of(self, number: int, *shape: int) -> Any:
        size = math.prod(shape)
        made = self._arrays.get(number)
        if made is None or made.size < size:
            made = self._arrays[number] = np.empty(size, self._dtype)
        return made[:size].reshape(shape)


def attention(
    q: Any, k: Any, v: Any, m: Any = None, r: Any = None, *,
    scale: float = 1.0, causal: bool = False, dropout: float = 0.0, learned: bool = True, narrow: bool = False,
) -> Any:  # fmt: skip
    if r is not None:  # all weights at once
        xp = device.by_array[np.ndarray].xp
        return registry["attention"].program(xp, q, k, v, m, r, scale=scale, causal=causal, dropout=dropout)
    m = _as_matrices(m)
    lead, rows, columns = _lead(q, k, v, m), q.shape[-2], k.shape[-2]
    dtype = np.result_type(q, k, v)
    y, total = _like(q, lead, rows, v.shape[-1], dtype), np.empty((*lead, rows), dtype)
    q, k, v, m, target = (_with_lead(a, lead) for a in (q, k, v, m, y))
    sums, room = total if lead else total[None], _Room(dtype)
    if m is None and rows * columns <= BLOCK and compiled.attend(q, k, v, target, sums, scale, causal):
        return y, total
    for place, queries, keys in _places(lead, rows, columns, causal):
        part, end = q[place][:, queries], target[place][:, queries]
        p, rate, logs = (
            room.of(0, len(part), part.shape[1], keys),
            room.of(1, *part.shape[:2]),
            room.of(2, *part.shape[:2]),
        )
        blas.products(part, k[place][:, :keys].swapaxes(-1, -2), p)
        rest = _mask(p, None if m is None else _of(m, place, queries, keys), scale)
        _weigh(p, rate, logs, rest, (queries.start + 1) * causal)
        blas.products(p, v[place][:, :keys], end)
        end *= rate[..., None]
        sums[place][:, queries] = logs
    return y, total


def attention_pull(
    h: Any, e: Any, y: Any, t: Any, q: Any, k: Any, v: Any, m: Any = None, r: Any = None, *,
    scale: float = 1.0, causal: bool = False, dropout: float = 0.0, learned: bool = True, narrow: bool = False,
) -> Any:  # fmt: skip
    if r is not None:
        xp, arrays = device.by_array[np.ndarray].xp, (h, e, y, t, q, k, v, m, r)
        keywords: dict[str, Any] = {"scale": scale, "causal": causal, "dropout": dropout, "learned": learned}
        return registry["attention_pull"].program(xp, *arrays, **keywords)
    shape, m, d = None if m is None else m.shape, _as_matrices(m), np.einsum("...e,...e->...", h, y) - e
    shapes = q.shape, k.shape, v.shape
    lead, rows, columns = _lead(h, q, k, v, m, d[..., None], t[..., None]), q.shape[-2], k.shape[-2]
    dtype = np.result_type(h, q, k, v)
    to_q, to_k = _like(q, lead, rows, q.shape[-1], dtype), _like(k, lead, columns, k.shape[-1], dtype)
    to_v = _like(v, lead, columns, v.shape[-1], dtype)
    to_m = np.zeros(m.shape, dtype) if learned and m is not None and m.dtype != bool else None
    rank = len(lead or (1,)) + 2
    sums = None if to_m is None else to_m.reshape((1,) * (rank - to_m.ndim) + to_m.shape)
    t = np.where(np.isneginf(t), t.dtype.type(0), t)
    h, d, t, q, k, v, m = (_with_lead(a, lead) for a in (h, d[..., None], t[..., None], q, k, v, m))
    ends = [_with_lead(a, lead) for a in (to_q, to_k, to_v)]
    room = _Room(dtype)
    whole = m is None and rows * columns <= BLOCK
    if whole and compiled.attend_pull(h, q, k, v, ends, t[..., 0], d[..., 0], scale, causal):
        return tuple(_summed_to(c, own) for c, own in zip((to_q, to_k, to_v), shapes, strict=True))
    for place, queries, keys in _places(lead, rows, columns, causal):
        qs, hs, ks, vs = q[place][:, queries], h[place][:, queries], k[place][:, :keys], v[place][:, :keys]
        p, s = (room.of(i, len(qs), qs.shape[1], keys) for i in (0, 1))
        blas.products(qs, ks.swapaxes(-1, -2), p)
        blas.products(hs, vs.swapaxes(-1, -2), s)
        rest = _mask(p, None if m is None else _of(m, place, queries, keys), scale)
        total, less = (np.ascontiguousarray(a[place][:, queries, 0]) for a in (t, d))
        _pull(p, s, total, less, rest, 1.0 if sums is not None else scale, (queries.start + 1) * causal)
        if sums is not None:
            _add_to(sums, place, queries, keys, s)
            s *= scale
        blas.products(s, ks, ends[0][place][:, queries])
        for end, weights, values in ((ends[2], p, hs), (ends[1], s, qs)):
            own, turned = end[place], weights.swapaxes(-1, -2)
            if qs.shape[1] == rows and keys == columns:
                blas.products(turned, values, own)
            elif not queries.start:
                blas.products(turned, values, own[:, :keys])
                own[:, keys:] = 0
            else:
                own[:, :keys] += blas.products(turned, values, room.of(2, len(qs), keys, values.shape[-1]))
    found = tuple(_summed_to(c, own) for c, own in zip((to_q, to_k, to_v), shapes, strict=True))
    return found if to_m is None else (*found, to_m.reshape(shape))


TABLE: dict[str, Callable[..., Any]] = {"attention": attention, "attention_pull": attention_pull}
