"""Weights of attention in C. Each function tells whether it did the work: if not, it is for NumPy."""

import math
from struct import pack
from typing import Any

from . import blas, memory, threads
from .library import Library, address, plain, run
from .panels import PRODUCTS
from .toolchain import INTERLEAVED

_LIBRARY = Library("attention", INTERLEAVED)

#: Elements below which NumPy is as quick.
WORTH = 1 << 10
#: Portions of heads for each thread: threads do not always begin together.
EACH = 2


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


def _laid(x: Any) -> tuple[int, int, int, int] | None:
    """Where the matrices of heads on one or two axes lie: the first, axes and rows apart; None: not by rows."""
    width, (*lead, down, along) = x.itemsize, x.strides
    if x.ndim not in (3, 4) or not x.flags.aligned or along != width or down < x.shape[-1] * width:
        return None
    if any(step % width for step in (*lead, down)):
        return None
    far, near = (0, *lead) if x.ndim == 3 else lead
    return address(x), far // width, near // width, down // width


def _by_heads(
    name: str, matrices: list[Any], vectors: list[Any], sizes: tuple[int, ...], each: int, scale: float, causal: bool
) -> bool:
    """Run a function on whole heads. ``sizes``: queries, keys, and features of both kinds; ``each``: a head's room."""
    dtype, lead = matrices[0].dtype, matrices[0].shape[:-2]
    heads, count = math.prod(lead), threads.get_num_threads()
    work = heads * sizes[0] * sizes[1]
    if heads < count or work < WORTH or min(sizes) < 2 or any(a.dtype is not dtype for a in matrices):
        return False
    calls = blas.calls_of(dtype.char) if dtype.isnative else None
    function = None if calls is None else _LIBRARY.get(name, dtype)
    places = [place for a in matrices if (place := _laid(a)) is not None]
    if calls is None or function is None or len(places) < len(matrices):
        return False
    if not all(plain(a) and a.dtype is dtype for a in vectors):
        return False
    grain = -(-heads // min(heads, EACH * count if count > 1 else 1))
    room = memory.empty((-(-heads // grain) * each,), dtype)
    at = [calls.gemm, *(n for place in places for n in place), *map(address, (*vectors, room))]
    task = pack(f"{len(at) + 7}qd", *at, lead[-1], *sizes, int(causal), grain, scale)
    calls.alone(1)
    try:
        run(function, task, heads, work * (2 + (sizes[2] + sizes[3]) // PRODUCTS), grain)
    finally:
        calls.alone(0)
    return True


def attend(q: Any, k: Any, v: Any, y: Any, total: Any, scale: float, causal: bool) -> bool:
    """Attention of whole heads, (heads, queries, features) or with an axis more, into y and the logarithms of sums."""
    rows, columns = q.shape[-2], k.shape[-2]
    sizes = rows, columns, q.shape[-1], v.shape[-1]
    return _by_heads("attend", [q, k, v, y], [total], sizes, rows * (columns + 1), scale, causal)


def attend_pull(
    h: Any, q: Any, k: Any, v: Any, ends: list[Any], total: Any, rest: Any, scale: float, causal: bool
) -> bool:
    """The cotangents of q, k and v into ``ends``; rest is what the cotangents of a row of weights have in common."""
    rows, columns = q.shape[-2], k.shape[-2]
    sizes = rows, columns, q.shape[-1], v.shape[-1]
    return _by_heads("attend_pull", [h, q, k, v, *ends], [total, rest], sizes, 2 * rows * columns, scale, causal)
