"""Attention of queries to keys: one primitive that keeps no weights, and what pulls cotangents back through it.

The weights are made anew from their logarithm of a sum, so memory grows with the length of a sequence, not its
square. Axes before the last two broadcast.
"""

import math
from typing import Any

from lucidgrad.core.primitive import MATRIX, joint, primitive
from lucidgrad.levels.batching import through_program

from .axes import beside, product
from .jvp_rules import on_duals
from .numbers import INF


def _scores(xp: Any, q: Any, k: Any, m: Any, scale: float, causal: bool) -> Any:
    """Products of queries and keys; ``-inf`` where a query must not look."""
    s = xp.matmul(q * scale, xp.matrix_transpose(k))
    if m is not None:
        s = s + m if _adds(m) else xp.where(m, s, -INF)
    if causal:
        s = xp.where(xp.tril(xp.ones_like(s), k=0) > 0, s, -INF)
    return s


def _adds(m: Any) -> bool:
    """Whether a mask is one of numbers to add, instead of flags."""
    return "bool" not in str(m.dtype)


def _weights(xp: Any, s: Any, total: Any) -> Any:
    """Weights from scores and the logarithm of their sum; zeros where a query looks nowhere."""
    total = xp.expand_dims(total, axis=-1)
    return xp.exp(s - xp.where(total == -INF, 0, total))


def _summed_to(xp: Any, x: Any, shape: tuple[int, ...]) -> Any:
    """Sums over the axes along which an array of a shape was broadcast."""
    lead = x.ndim - len(shape)
    axes = (*range(lead), *(lead + a for a, n in enumerate(shape) if n == 1 and x.shape[lead + a] != 1))
    return xp.reshape(xp.sum(x, axis=axes, keepdims=True), shape=shape) if axes else x


# -- dropout: which weights stay is a function of a key and their places, so that nothing of their size is kept --------
_LOW = 2**32 - 1


def _mixed(xp: Any, key: Any, at: Any) -> Any:
    """The first 32 bits of Philox 4x32-10, as int64, for counters ``at`` and a seed ``key``; all of them int64."""
    low, high, zero = xp.bitwise_and(at, _LOW), xp.bitwise_right_shift(at, 32), at * 0
    r = [low, high, zero, zero]
    k0, k1 = xp.bitwise_and(key, _LOW), xp.bitwise_right_shift(key, 32)
    for _ in range(10):
        (a0, a1), (b0, b1) = _product(xp, r[0], 0xD2511F53), _product(xp, r[2], 0xCD9E8D57)
        r = [xp.bitwise_xor(xp.bitwise_xor(b1, r[1]), k0), b0, xp.bitwise_xor(xp.bitwise_xor(a1, r[3]), k1), a0]
        k0, k1 = xp.bitwise_and(k0 + 0x9E3779B9, _LOW), xp.bitwise_and(k1 + 0xBB67AE85, _LOW)
    return r[0]


def _product(xp: Any, x: Any, c: int) -> tuple[Any, Any]:
    """The low and the high 32 bits of ``x * c`` for numbers of 32 bits, by parts that int64 has room for."""
    low, high = x * (c & 0xFFFF), x * (c >> 16)
    middle = high + xp.bitwise_right_shift(low, 16)
    whole = xp.bitwise_left_shift(xp.bitwise_and(middle, 0xFFFF), 16)
    return xp.bitwise_or(whole, xp.bitwise_and(low, 0xFFFF)), xp.bitwise_right_shift(middle, 16)


def _batch_flags(call: Any, values: Any, batched: Any, keywords: dict[str, Any]) -> Any:
    return call(*values, **keywords)


@primitive(MATRIX, batch=_batch_flags)
def dropout_flags(xp: Any, r: Any, /, *, shape: tuple[int, ...], dropout: float) -> Any:
    """Whether elements of an array of a shape stay: a function of r, seeds and counts (..., 2), and their places alone.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.attention import dropout_flags
    >>> dropout_flags(lg.asarray([7, 0]), shape=(4,), dropout=0.5).tolist()
    [True, False, False, False]
    """
    lead, ones = tuple(r.shape[:-1]), (1,) * len(shape)
    at = xp.reshape(xp.arange(product(shape), dtype=xp.int64, **beside(r)), shape=tuple(shape))
    key, start = (xp.reshape(xp.index(r, key=(Ellipsis, a)), shape=(*lead, *ones)) for a in (0, 1))
    return xp.bitwise_right_shift(_mixed(xp, key, start + at), 8) >= math.ceil(dropout * 2**24)


def _thinned(xp: Any, x: Any, r: Any, dropout: float) -> Any:
    """Weights without those that are dropped."""
    if r is None:
        return x
    flags = xp.dropout_flags(r, shape=tuple(x.shape), dropout=dropout)
    return xp.thin(x, flags, scale=0.0 if dropout >= 1 else 1.0 / (1.0 - dropout))


# -- attention -----------------------------------------------------------------------------------
def _attention_vjp(
    xp: Any, g: Any, y: Any, q: Any, k: Any, v: Any, m: Any, r: Any, *,
    scale: float, causal: bool, dropout: float, learned: bool, narrow: bool,
) -> Any:  # fmt: skip
    keywords: dict[str, Any] = {"scale": scale, "causal": causal, "dropout": dropout, "learned": learned}
    keywords["narrow"] = narrow
    found = xp.attention_pull(g[0], g[1], y[0], y[1], q, k, v, m, r, **keywords)
    return (*found, *(None,) * (5 - len(found)))


@primitive(
    MATRIX,
    vjp=joint(_attention_vjp, constants=("r",)),
    batch=through_program("attention"),
    jvp=on_duals("attention"),
    outputs=True,
    precision="low",
    single=True,
)
def attention(
    xp: Any, q: Any, k: Any, v: Any, m: Any = None, r: Any = None, /, *,
    scale: float = 1.0, causal: bool = False, dropout: float = 0.0, learned: bool = True, narrow: bool = False,
) -> Any:  # fmt: skip
    """``softmax(q @ k.T * scale + m) @ v``, and the logarithms of the sums that the weights were divided by.

    Parameters
    ----------
    q, k, v
        Queries (..., l, e), keys (..., s, e) and values (..., s, f).
    m
        A mask that broadcasts to (..., l, s): flags, True where a query may look at a key, or numbers to add.
    r
        For dropout: two int64 numbers, a seed and a count, of which it follows what weights are dropped.
    scale
        What products of queries and keys are multiplied by.
    causal
        Whether query i looks at keys up to i only.
    dropout
        The probability that a weight is dropped.
    learned
        Whether numbers to add have a cotangent; False spares the work.
    narrow
        A promise that q, k and v are numbers of 16 bits, and that a cotangent of the values will be where the
        logarithms have none: kernels may multiply them where 11 bits are looked at. Results are those of float32 all
        the same.

    Returns
    -------
    tuple of Tensor
        The values as weighted, (..., l, f), and the logarithms, (..., l). A query that may look at no key gets zeros.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.attention import attention
    >>> q, k, v = lg.zeros((1, 2)), lg.ones((2, 2)), lg.tensor([[1.0], [3.0]], requires_grad=True)
    >>> y, _ = attention(q, k, v)
    >>> y.backward()
    >>> y.tolist(), v.grad.tolist()
    ([[2.0]], [[0.5], [0.5]])
    """
    s = _scores(xp, q, k, m, scale, causal)
    total = xp.logsumexp(s, axis=-1, keepdims=False)
    p = _weights(xp, s, total)
    return xp.matmul(_thinned(xp, p, r, dropout), v), total


@primitive(MATRIX, batch=through_program("attention_pull"), outputs=True, inline=True)
def attention_pull(
    xp: Any, h: Any, e: Any, y: Any, t: Any, q: Any, k: Any, v: Any, m: Any = None, r: Any = None, /, *,
    scale: float = 1.0, causal: bool = False, dropout: float = 0.0, learned: bool = True, narrow: bool = False,
) -> Any:  # fmt: skip
    """The cotangents of q, k, v, and of m if it is learned, for cotangents h and e of ``y, t = attention(...)``."""
    p = _weights(xp, _scores(xp, q, k, m, scale, causal), t)
    s = _thinned(xp, xp.matmul(h, xp.matrix_transpose(v)), r, dropout)
    s = p * (s - xp.expand_dims(xp.sum(h * y, axis=-1) - e, axis=-1))
    to_q, to_k = xp.matmul(s, k) * scale, xp.matmul(xp.matrix_transpose(s), q) * scale
    found = to_q, to_k, xp.matmul(xp.matrix_transpose(_thinned(xp, p, r, dropout)), h)
    found = tuple(_summed_to(xp, c, tuple(x.shape)) for c, x in zip(found, (q, k, v), strict=True))
    return (*found, _summed_to(xp, s, tuple(m.shape))) if learned and m is not None and _adds(m) else found
