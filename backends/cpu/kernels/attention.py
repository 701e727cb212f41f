"""NumPy kernels of attention: some heads at a time, so that their weights stay in the cache."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lucidgrad.backends.cpu.compiled import attention as compiled
from lucidgrad.core import device
from lucidgrad.core.primitive import registry

#: Elements of the weights that are computed together.
BLOCK = 131072


def _lead(*arrays: Any) -> tuple[int, ...]:
    """The axes before the last two, broadcast."""
    return np.broadcast_shapes(*(a.shape[:-2] for a in arrays if a is not None))


def _with_lead(a: Any, lead: tuple[int, ...]) -> Any:
    """A view with all leading axes, and at least one of them."""
    if a is None:
        return None
    a = np.broadcast_to(a, (*lead, *a.shape[-2:])) if a.shape[:-2] != lead else a
    return a if lead else a[None]


def _places(lead: tuple[int, ...], size: int) -> Iterator[tuple[Any, ...]]:
    """Indices of parts that have about a block's elements together: heads of one example."""
    *outer, last = lead or (1,)
    step = max(1, BLOCK // max(size, 1))
    for place in itertools.product(*map(range, outer)):
        for start in range(0, last, step):
            yield *place, slice(start, start + step)


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


def _weigh(p: Any, rate: Any, total: Any, scale: float, later: Any) -> None:
    """Turn scores p into weights that lack a factor; rate gets that of each row, total the row's logsumexp."""
    if compiled.attention_weights(p, rate, total, scale, later is not None):
        return
    p *= scale
    if later is not None:
        np.copyto(p, -np.inf, where=later)
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


def _pull(p: Any, s: Any, total: Any, rest: Any, scale: float, factor: float, later: Any) -> None:
    """Scores p become weights, and the weights' cotangents s become the scores', times a factor."""
    if compiled.attention_slopes(p, s, total, rest, scale, factor, later is not None):
        return
    p *= scale
    if later is not None:
        np.copyto(p, -np.inf, where=later)
    p -= total[..., None]
    np.exp(p, out=p)
    s -= rest[..., None]
    s *= p
    s *= factor


def _add_to(sums: Any, place: tuple[Any, ...], s: Any) -> None:
    """Add to the part of a mask's cotangent what belongs there, summed over axes that the mask does not have."""
    at = tuple(p if n > 1 else 0 if type(p) is int else slice(None) for p, n in zip(place, sums.shape, strict=False))
    part = sums[at]
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


def _later(causal: bool, rows: int, columns: int) -> Any:
    return ~np.tri(rows, columns, dtype=bool) if causal else None


def attention(
    q: Any, k: Any, v: Any, m: Any = None, r: Any = None, *,
    scale: float = 1.0, causal: bool = False, dropout: float = 0.0, learned: bool = True,
) -> Any:  # fmt: skip
    if r is not None:  # all weights at once
        xp = device.by_array[np.ndarray].xp
        return registry["attention"].program(xp, q, k, v, m, r, scale=scale, causal=causal, dropout=dropout)
    m = _as_matrices(m)
    lead, rows, columns = _lead(q, k, v, m), q.shape[-2], k.shape[-2]
    dtype = np.result_type(q, k, v)
    y, total = _like(q, lead, rows, v.shape[-1], dtype), np.empty((*lead, rows), dtype)
    q, k, v, m, target = (_with_lead(a, lead) for a in (q, k, v, m, y))
    sums, later, p = total if lead else total[None], _later(causal, rows, columns), None
    for place in _places(lead, rows * columns):
        part = q[place]
        if p is None or len(p) != len(part):
            p, rate = np.empty((len(part), rows, columns), dtype), np.empty((len(part), rows), dtype)
        np.matmul(part, k[place].swapaxes(-1, -2), out=p)
        _weigh(p, rate, sums[place], _mask(p, None if m is None else m[place], scale), later)
        np.matmul(p, v[place], out=target[place])
        target[place] *= rate[..., None]
    return y, total


def attention_pull(
    h: Any, e: Any, y: Any, t: Any, q: Any, k: Any, v: Any, m: Any = None, r: Any = None, *,
    scale: float = 1.0, causal: bool = False, dropout: float = 0.0, learned: bool = True,
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
    later, p = _later(causal, rows, columns), None
    for place in _places(lead, rows * columns):
        qs, ks, vs, hs = q[place], k[place], v[place], h[place]
        if p is None or len(p) != len(qs):
            p, s = np.empty((len(qs), rows, columns), dtype), np.empty((len(qs), rows, columns), dtype)
        np.matmul(qs, ks.swapaxes(-1, -2), out=p)
        np.matmul(hs, vs.swapaxes(-1, -2), out=s)
        rest = _mask(p, None if m is None else m[place], scale)
        total, less = (np.ascontiguousarray(a[place][..., 0]) for a in (t, d))
        _pull(p, s, total, less, rest, 1.0 if sums is not None else scale, later)
        if sums is not None:
            _add_to(sums, place, s)
            s *= scale
        np.matmul(p.swapaxes(-1, -2), hs, out=ends[2][place])
        np.matmul(s, ks, out=ends[0][place])
        np.matmul(s.swapaxes(-1, -2), qs, out=ends[1][place])
    found = tuple(_summed_to(c, own) for c, own in zip((to_q, to_k, to_v), shapes, strict=True))
    return found if to_m is None else (*found, to_m.reshape(shape))


TABLE: dict[str, Callable[..., Any]] = {"attention": attention, "attention_pull": attention_pull}
