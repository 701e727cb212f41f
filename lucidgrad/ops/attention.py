"""Attention of queries to keys: one primitive that keeps no weights, and what pulls cotangents back through it.

The weights are made anew from their logarithm of a sum, so memory grows with the length of a sequence, not its
square. Axes before the last two broadcast.
"""

from typing import Any

from lucidgrad.core.primitive import MATRIX, joint, primitive
from lucidgrad.levels.batching import through_program

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


def _attention_vjp(xp: Any, g: Any, y: Any, q: Any, k: Any, v: Any, m: Any, *, scale: float, causal: bool) -> Any:
    (g, of_total), (y, total) = g, y
    rest = xp.sum(g * y, axis=-1) - of_total
    found = xp.attention_pull(g, rest, total, q, k, v, m, scale=scale, causal=causal)
    return found if len(found) == 4 else (*found, None)


@primitive(
    MATRIX,
    vjp=joint(_attention_vjp),
    batch=through_program("attention"),
    jvp=on_duals("attention"),
    outputs=True,
    precision="low",
    single=True,
)
def attention(xp: Any, q: Any, k: Any, v: Any, m: Any = None, /, *, scale: float = 1.0, causal: bool = False) -> Any:
    """``softmax(q @ k.T * scale + m) @ v``, and the logarithms of the sums that the weights were divided by.

    Parameters
    ----------
    q, k, v
        Queries (..., l, e), keys (..., s, e) and values (..., s, f).
    m
        A mask that broadcasts to (..., l, s): flags, True where a query may look at a key, or numbers to add.
    scale
        What products of queries and keys are multiplied by.
    causal
        Whether query i looks at keys up to i only.

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
    return xp.matmul(_weights(xp, s, total), v), total


@primitive(MATRIX, batch=through_program("attention_pull"), outputs=True, inline=True)
def attention_pull(
    xp: Any, h: Any, d: Any, t: Any, q: Any, k: Any, v: Any, m: Any = None, /, *,
    scale: float = 1.0, causal: bool = False,
) -> Any:  # fmt: skip
    """The cotangents of q, k, v, and of m where it adds, for a cotangent h of ``y, t = attention(q, k, v, m)``.

    d is ``sum(h * y)`` along the last axis, less the cotangent of t.
    """
    p = _weights(xp, _scores(xp, q, k, m, scale, causal), t)
    s = p * (xp.matmul(h, xp.matrix_transpose(v)) - xp.expand_dims(d, axis=-1))
    to_q, to_k = xp.matmul(s, k) * scale, xp.matmul(xp.matrix_transpose(s), q) * scale
    found = to_q, to_k, xp.matmul(xp.matrix_transpose(p), h)
    return (*found, _summed_to(xp, s, m.shape)) if m is not None and _adds(m) else found
