"""Paths through a lattice of states and times, as connectionist temporal classification sums them.

A path begins in one of the first two states and at each time stays, goes on by one state, or by two where that is
allowed; it ends in one of the last two. All is computed with logarithms, and the only loop is over time.
"""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core.primitive import REDUCTION, primitive
from lucidgrad.levels.batching import of_one_batch
from lucidgrad.levels.layer import run

from .numbers import INF


def _sum(xp: Any, a: Any, b: Any, c: Any) -> Any:
    """Logarithm of a sum of exponentials, elementwise."""
    return xp.logaddexp(xp.logaddexp(a, b), c)


def _masked(xp: Any, mask: Any, a: Any) -> Any:
    return xp.where(mask, a, xp.full_like(a, fill_value=-INF))


def _part(xp: Any, a: Any, start: int, stop: int) -> Any:
    return xp.index(a, key=(slice(None), slice(start, stop)))


def _outside(xp: Any, e: Any) -> Any:
    """Two states beside the others, in which no path is."""
    beside = xp.full_like(xp.index(e, key=(0, slice(None), slice(0, 1))), fill_value=-INF)
    return xp.concat(beside, beside, axis=1)


def _forth(xp: Any, e: Any, s: Any, first: Any) -> list[Any]:
    """For each time the logarithm of the sum over all paths up to each state."""
    count, edge = e.shape[2], _outside(xp, e)
    times = xp.unstack(e, axis=0)
    over = _masked(xp, s, xp.zeros_like(times[0]))
    made = [_masked(xp, first, times[0])]
    for here in times[1:]:
        a = xp.concat(edge, made[-1], axis=1)
        made.append(_sum(xp, made[-1], _part(xp, a, 1, count + 1), _part(xp, a, 0, count) + over) + here)
    return made


def _back(xp: Any, e: Any, s: Any, last: Any, n: Any) -> list[Any]:
    """For each time the logarithm of the sum over all paths from each state to the end."""
    count, edge = e.shape[2], _outside(xp, e)
    times = xp.unstack(e, axis=0)
    nothing = xp.zeros_like(times[0])
    final = _masked(xp, last, nothing)
    over = _part(xp, xp.concat(_masked(xp, s, nothing), edge, axis=1), 2, count + 2)
    end = xp.expand_dims(n, axis=1) - 1
    made = [_masked(xp, end == len(times) - 1, final)]
    for t in range(len(times) - 2, -1, -1):
        after = made[-1] + times[t + 1]
        b = xp.concat(after, edge, axis=1)
        on = _sum(xp, after, _part(xp, b, 1, count + 1), _part(xp, b, 2, count + 2) + over)
        made.append(xp.where(end == t, final, on))
    return made[::-1]


def _shares(xp: Any, y: Any, e: Any, s: Any, first: Any, last: Any, n: Any) -> Any:
    """The part of all paths that goes through each state at each time; 0 if there is no path."""
    through = [a + b for a, b in zip(_forth(xp, e, s, first), _back(xp, e, s, last, n), strict=True)]
    total = xp.reshape(xp.where(y == -INF, xp.zeros_like(y), y), shape=(1, y.shape[0], 1))
    return xp.exp(xp.stack(*through, axis=0) - total)


def _vjp(xp: Any, g: Any, y: Any, e: Any, s: Any, first: Any, last: Any, n: Any) -> Any:
    if not e.shape[0]:
        return xp.zeros_like(e)
    return _shares(xp, y, e, s, first, last, n) * xp.reshape(g, shape=(1, g.shape[0], 1))


def _jvp(xp: Any, y: Any, xs: Any, ts: Any) -> Any:
    if ts[0] is None or not xs[0].shape[0]:
        return xp.zeros_like(y)
    return xp.sum(_shares(xp, y, *xs) * ts[0], axis=(0, 2))


def _batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    """Batching: more examples."""
    e, *rest = of_one_batch(values, batched)
    b, t, n, states = e.shape
    e = run("reshape", run("moveaxis", e, source=0, destination=1), shape=(t, b * n, states))
    rest = [run("reshape", r, shape=(b * n, *r.shape[2:])) for r in rest]
    return run("reshape", call(e, *rest, **keywords), shape=(b, n))


@primitive(REDUCTION, vjp=(_vjp, None, None, None, None), jvp=_jvp, batch=_batch, precision="full")
def path_logsumexp(xp: Any, e: Any, s: Any, first: Any, last: Any, n: Any, /) -> Any:
    """The logarithm of the sum of ``exp`` over all paths of what a path collects, for each example.

    Parameters
    ----------
    e
        What a path collects at each time in each state: ``(times, examples, states)``.
    s
        Whether a state may be reached by going over the one before it: ``(examples, states)``.
    first, last
        Whether a path may begin or end in a state, of the same shape.
    n
        How many times there are for each example. Without any there is the empty path, which collects nothing, if it
        may end in state 0.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.ctc import path_logsumexp
    >>> e, no = lg.zeros((2, 1, 3), requires_grad=True), lg.tensor([[False] * 3])
    >>> first, last = lg.tensor([[True, True, False]]), lg.tensor([[False, True, True]])
    >>> y = path_logsumexp(e, no, first, last, lg.tensor([2]))
    >>> y.sum().backward()
    >>> round(lg.exp(y).item(), 4), [[round(v, 4) for v in row[0]] for row in e.grad.tolist()]
    (3.0, [[0.3333, 0.6667, 0.0], [0.0, 0.6667, 0.3333]])
    """
    start = xp.zeros_like(last, dtype=e.dtype)
    empty = xp.index(_masked(xp, last, start), key=(slice(None), 0))
    if not e.shape[0]:
        return empty
    a = xp.stack(*_forth(xp, e, s, first), axis=0)
    at = xp.where(n > 0, n - 1, xp.zeros_like(n))
    at = xp.broadcast_to(xp.reshape(at, shape=(1, a.shape[1], 1)), shape=(1, *a.shape[1:]))
    a = xp.squeeze(xp.take_along_axis(a, at, axis=0), axis=0)
    return xp.where(n > 0, xp.logsumexp(_masked(xp, last, a), axis=1, keepdims=False), empty)
