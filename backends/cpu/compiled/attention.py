"""Weights of attention in C. Each function tells whether it did the work: if not, it is for NumPy."""

from struct import pack
from typing import Any

from .library import Library, address, plain, run

_LIBRARY = Library("attention")

#: Elements below which NumPy is as quick.
WORTH = 1 << 10


def _found(name: str, p: Any, *others: Any) -> int | None:
    if p.size < WORTH or not plain(p) or not all(plain(a) and a.dtype == p.dtype for a in others):
        return None
    return _LIBRARY.get(name, p.dtype)


def attention_weights(p: Any, rate: Any, total: Any, scale: float, causal: int) -> bool:
    """Scores p, (heads, queries, keys), become weights that are yet to be multiplied by their row's rate.

    ``causal``: the place of the first query plus one, if it is to see keys up to there only, or 0.
    """
    function = _found("attention_weights", p, rate, total)
    if function is None:
        return False
    heads, queries, n = p.shape
    task = pack("6qd", address(p), address(rate), address(total), queries, n, causal, scale)
    run(function, task, heads * queries, 2 * p.size)
    return True


def attention_slopes(p: Any, s: Any, total: Any, rest: Any, scale: float, factor: float, causal: int) -> bool:
    """Scores p become weights, and the weights' cotangents s become the scores', times a factor."""
    function = _found("attention_slopes", p, s, total, rest)
    if function is None:
        return False
    heads, queries, n = p.shape
    places = address(p), address(s), address(total), address(rest)
    run(function, pack("7q2d", *places, queries, n, causal, scale, factor), heads * queries, 2 * p.size)
    return True
