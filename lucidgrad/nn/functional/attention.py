"""Attention, of one head and of many."""

import math
import warnings
from typing import Any

import lucidgrad as lg
from lucidgrad.ops.attention import attention
from lucidgrad.ops.precision import chosen
from lucidgrad.tensor import Tensor

from .arguments import check_floats
from .dropouts import check_probability, dropout
from .linear import linear

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]

INF = float("inf")


# -- one head ------------------------------------------------------------------------------------
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query @ key.T * scale + attn_mask) @ value``, without keeping the weights in memory.

    Parameters
    ----------
    query, key, value
        Of shapes (..., l, e), (..., s, e) and (..., s, f); axes before the last two broadcast.
    attn_mask
        Broadcasts to (..., l, s): flags, True where a query may look at a key, or numbers to add.
    dropout_p
        The probability that a weight is dropped; it counts whether a module is training or not.
    is_causal
        Whether query i looks at keys up to i only.
    scale
        By default ``1 / sqrt(e)``.
    enable_gqa
        Whether several heads of queries may share a head of keys and values (axis -3).

    Returns
    -------
    Tensor
        Of shape (..., l, f). A query that may look at no key gets zeros.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> q, k = lg.ones((1, 2)), lg.ones((2, 2))
    >>> v = lg.tensor([[1.0], [3.0]], requires_grad=True)
    >>> y = lg.nn.functional.scaled_dot_product_attention(q, k, v)
    >>> y.backward()
    >>> y.tolist(), v.grad.tolist()
    ([[2.0]], [[0.5], [0.5]])
    """
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if not query.dtype == key.dtype == value.dtype:
        for x in (query, key, value):
            check_floats("scaled_dot_product_attention", x, None)
    if attn_mask is not None and attn_mask.dtype != lg.bool and not attn_mask.is_floating_point():
        raise RuntimeError(
            f"scaled_dot_product_attention: given an attn_mask of dtype {attn_mask.dtype}, expected bool, True where a "
            f"query may look, or floating point to add"
        )
    if not query.dtype == key.dtype == value.dtype:  # flags and integers beside floats, before they are scaled
        query = query.to(lg.result_type(query, key, value))
    if enable_gqa:
        query, key, value, attn_mask, shape = _grouped(query, key, value, attn_mask)
    if dropout_p > 0 and not query.is_cuda:
        y = _with_dropout(query, key, value, attn_mask, dropout_p, is_causal, scale)
    else:
        options: dict[str, Any] = {"scale": scale, "causal": is_causal}
        options["learned"] = attn_mask is not None and attn_mask.requires_grad
        counter = None
        if dropout_p > 0:
            check_probability(dropout_p)
            options["dropout"], counter = dropout_p, lg.randint(0, 2**62, (2,), device=query.device)
        elif query.is_cuda:
            (query, key, value), options["narrow"] = chosen(attention, query, key, value)
        y = attention(query, key, value, attn_mask, counter, **options)[0]
    return y.reshape((*shape, *y.shape[-2:])) if enable_gqa else y


def _with_dropout(q: Tensor, k: Tensor, v: Tensor, mask: Any, p: float, is_causal: bool, scale: float) -> Tensor:
    """The weights are there as a whole, so that some can be dropped."""
    s = lg.matmul(q * scale, k.swapaxes(-1, -2))
    if mask is not None:
        s = lg.where(mask, s, -INF) if mask.dtype == lg.bool else s + mask
    if is_causal:
        s = lg.where(lg.tril(lg.ones(s.shape[-2:], dtype=lg.bool, device=s.device)), s, -INF)
    total = lg.logsumexp(s, axis=-1, keepdims=True)
    weights = lg.exp(s - lg.where(total == -INF, 0.0, total))
    return lg.matmul(dropout(weights, p, training=True), v)


def _grouped(q: Tensor, k: Tensor, v: Tensor, mask: Any) -> tuple[Any, ...]:
    """Heads of queries in groups that share keys and values: one more axis, along which these broadcast."""
    heads, shared = q.shape[-3], k.shape[-3]
    if shared == 0 or heads % shared or v.shape[-3] != shared:
        raise RuntimeError(
            f"scaled_dot_product_attention: given {heads} heads of queries, {shared} of keys and {v.shape[-3]} of "
            f"values, expected as many values as keys, and a multiple of them as queries"
        )
    split = (shared, heads // shared)
    if mask is not None and mask.ndim > 2:
        one = mask.shape[-3] == 1
        mask = mask.unsqueeze(-3) if one else mask.reshape((*mask.shape[:-3], *split, *mask.shape[-2:]))
    grouped = q.reshape((*q.shape[:-3], *split, *q.shape[-2:]))
    return grouped, k.unsqueeze(-3), v.unsqueeze(-3), mask, q.shape[:-2]


# -- many heads ----------------------------------------------------------------------------------
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    *,
    batch_first: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of many heads: projections in, attention of each head, and a projection out.

    Parameters
    ----------
    query, key, value
        Of shapes (l, n, e), (s, n, ·) and (s, n, ·), or without the batch axis n. With ``batch_first`` the batch is
        the first axis.
    embed_dim_to_check, num_heads
        The features of a query, e, and how many heads share them.
    in_proj_weight, in_proj_bias
        Of the three projections, one below the other.
    bias_k, bias_v
        One more key and value at the end, (1, 1, e).
    add_zero_attn
        Whether a key and a value of zeros are added at the end.
    dropout_p, training
        The probability that a weight is dropped, while training.
    out_proj_weight, out_proj_bias
        Of the last projection.
    key_padding_mask
        (n, s): True where a key is to be ignored, or numbers to add.
    need_weights
        Whether the weights are returned; without, memory grows with the length and not its square.
    attn_mask
        (l, s) or (n * num_heads, l, s): True where a query must not look, or numbers to add.
    use_separate_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight
        Three weights in place of ``in_proj_weight``.
    static_k, static_v
        Keys and values as projected already, (n * num_heads, s, e / num_heads).
    average_attn_weights
        Whether the weights are averaged over the heads.
    is_causal
        A hint that ``attn_mask``, which must be given, is the causal one.

    Returns
    -------
    tuple
        The output, of the query's shape, and the weights (n, l, s), by head (n, num_heads, l, s), or None.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, w = lg.ones((3, 1, 2)), lg.ones((6, 2), requires_grad=True)
    >>> y, weights = lg.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 2, 1, w, None, None, None, False, 0.0, lg.eye(2), None
    ... )
    >>> y.sum().backward()
    >>> tuple(y.shape), tuple(weights.shape), tuple(w.grad.shape)
    ((3, 1, 2), (1, 3, 3), (6, 2))
    """
    batched = _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    embed_dim = query.shape[-1]
    if embed_dim != embed_dim_to_check or embed_dim % num_heads:
        raise AssertionError(
            f"multi_head_attention_forward: given queries of {embed_dim} features and {num_heads} heads, expected "
            f"{embed_dim_to_check} features, a multiple of the heads"
        )
    if is_causal and attn_mask is None:
        raise RuntimeError("multi_head_attention_forward: given is_causal=True without an attn_mask, expected both")
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    q, k, v = _in_projections(query, key, value, weights, in_proj_bias)
    if not batched:
        q, k, v = (x.unsqueeze(0 if batch_first else 1) for x in (q, k, v))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    n = q.shape[0 if batch_first else 1]
    allowed, added = _masks(key_padding_mask, attn_mask, n, num_heads, q.dtype)
    hint = is_causal and key_padding_mask is None and not need_weights
    if hint:
        allowed, added = None, None
    k, v, more = _longer(k, v, bias_k, bias_v, batch_first)
    q, k, v = (_heads(x, num_heads, batch_first) for x in (q, k, v))
    k = k if static_k is None else static_k.reshape((n, num_heads, *static_k.shape[1:]))
    v = v if static_v is None else static_v.reshape((n, num_heads, *static_v.shape[1:]))
    if add_zero_attn:
        k, v = (lg.concat([x, lg.zeros_like(x[:, :, :1])], axis=2) for x in (k, v))
        more += 1
    _check_masks(allowed if added is None else added, n, num_heads, q.shape[2], k.shape[2] - more)
    if more:
        allowed, added = _more_columns(allowed, True, more), _more_columns(added, 0.0, more)
        if hint:  # what was added is for every query
            allowed = lg.tril(lg.ones((q.shape[2], k.shape[2] - more), dtype=lg.bool, device=q.device))
            allowed, hint = _more_columns(allowed, True, more), False
    mask = allowed if added is None else added
    p = dropout_p if training else 0.0
    if need_weights:
        s = lg.matmul(q * math.sqrt(num_heads / embed_dim), k.swapaxes(-1, -2))
        s = s if mask is None else s + mask if mask is added else lg.where(mask, s, -INF)
        found = lg.softmax(s, axis=-1)
        found = dropout(found, p, training=True) if p > 0 else found
        y = lg.matmul(found, v)
        seen = found.mean(axis=1) if average_attn_weights else found
    else:
        y, seen = scaled_dot_product_attention(q, k, v, mask, p, hint), None
    y = lg.permute_dims(y, (0, 2, 1, 3) if batch_first else (2, 0, 1, 3))
    y = linear(y.reshape((*y.shape[:2], embed_dim)), out_proj_weight, out_proj_bias)
    if not batched:
        y, seen = y.squeeze(0 if batch_first else 1), None if seen is None else seen.squeeze(0)
    return y, seen


def _check_ranks(q: Tensor, k: Tensor, v: Tensor, padding: Any, mask: Any, heads: int) -> bool:
    """Whether there is a batch; raises AssertionError, as PyTorch does, where ranks don't fit."""
    batched = q.ndim == 3
    if q.ndim not in (2, 3) or k.ndim != q.ndim or v.ndim != q.ndim:
        raise AssertionError(
            f"multi_head_attention_forward: given query, key and value of {q.ndim}, {k.ndim} and {v.ndim} axes, "
            f"expected 3 each, or 2 without a batch"
        )
    if padding is not None and padding.ndim != 1 + batched:
        raise AssertionError(
            f"multi_head_attention_forward: given a key_padding_mask of {padding.ndim} axes, expected {1 + batched}"
        )
    if mask is not None and mask.ndim not in (2, 3):
        raise AssertionError(f"multi_head_attention_forward: given an attn_mask of {mask.ndim} axes, expected 2 or 3")
    for name, given in (("key_padding_mask", padding), ("attn_mask", mask)):
        if given is not None and given.dtype != lg.bool and not given.is_floating_point():
            raise AssertionError(
                f"multi_head_attention_forward: given a {name} of dtype {given.dtype}, expected bool or floating point"
            )
    return batched


def _in_projections(q: Tensor, k: Tensor, v: Tensor, weights: Any, bias: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values as projected; where they come from one input, by one product."""
    if isinstance(weights, tuple):
        biases = (None,) * 3 if bias is None else bias.chunk(3)
        made = [linear(x, w, b) for x, w, b in zip((q, k, v), weights, biases, strict=True)]
        return made[0], made[1], made[2]
    if q is k and k is v:
        made = linear(q, weights, bias).chunk(3, -1)
        return made[0], made[1], made[2]
    e = q.shape[-1]
    w, b = weights.split([e, 2 * e]), (None, None) if bias is None else bias.split([e, 2 * e])
    if k is v:
        both = linear(k, w[1], b[1]).chunk(2, -1)
        return linear(q, w[0], b[0]), both[0], both[1]
    (w1, w2), (b1, b2) = w[1].chunk(2), (None, None) if b[1] is None else b[1].chunk(2)
    return linear(q, w[0], b[0]), linear(k, w1, b1), linear(v, w2, b2)


def _heads(x: Tensor, heads: int, batch_first: bool) -> Tensor:
    """(n, heads, length, features of a head), a view."""
    split = x.reshape((*x.shape[:2], heads, x.shape[2] // heads))
    return lg.permute_dims(split, (0, 2, 1, 3) if batch_first else (1, 2, 0, 3))


def _masks(padding: Any, mask: Any, n: int, heads: int, dtype: Any) -> tuple[Tensor | None, Tensor | None]:
    """The masks as one: of flags, True where a query may look, or of numbers to add where one of them has numbers."""
    if mask is not None:
        if mask.ndim == 3 and mask.shape[0] != n * heads:
            raise RuntimeError(
                f"multi_head_attention_forward: given an attn_mask of shape {tuple(mask.shape)}, expected "
                f"{n * heads} = batch * heads matrices"
            )
        mask = mask.reshape((n, heads, *mask.shape[1:])) if mask.ndim == 3 else mask
    if padding is not None:
        if padding.shape[0] != n:
            raise AssertionError(
                f"multi_head_attention_forward: given a key_padding_mask of shape {tuple(padding.shape)}, expected "
                f"{n} rows as the batch has"
            )
        padding = padding.reshape((n, 1, 1, padding.shape[1]))
    given = [part for part in (padding, mask) if part is not None]
    if len({part.dtype == lg.bool for part in given}) > 1:
        warnings.warn("key_padding_mask and attn_mask have different types; use the same for both", stacklevel=4)
        given = [_as_numbers(part, dtype) if part.dtype == lg.bool else part for part in given]
    if not given:
        return None, None
    if given[0].dtype == lg.bool:
        flags = given[0] if len(given) == 1 else lg.logical_or(*given)
        return lg.logical_not(flags), None
    return None, given[0] if len(given) == 1 else given[0] + given[1]


def _as_numbers(flags: Tensor, dtype: Any) -> Tensor:
    return lg.where(flags, -INF, lg.zeros(flags.shape, dtype=dtype, device=flags.device))


def _check_masks(mask: Tensor | None, n: int, heads: int, rows: int, columns: int) -> None:
    if mask is not None:
        fits = all(given in (1, size) for given, size in zip(mask.shape[::-1], (columns, rows, heads, n), strict=False))
        if not fits or mask.shape[-1] != columns:
            raise RuntimeError(
                f"multi_head_attention_forward: given masks that make one of shape {tuple(mask.shape)}, expected "
                f"({rows}, {columns}) in its last axes"
            )


def _longer(k: Tensor, v: Tensor, bias_k: Any, bias_v: Any, batch_first: bool) -> tuple[Tensor, Tensor, int]:
    """Keys and values with one more at the end, if there is one; and how many there are more."""
    if bias_k is None or bias_v is None:
        if bias_k is not bias_v:
            raise AssertionError("multi_head_attention_forward: given one of bias_k and bias_v, expected both or none")
        return k, v, 0
    axis = 1 if batch_first else 0
    shape = (k.shape[0], 1, k.shape[2]) if batch_first else (1, *k.shape[1:])
    k, v = (lg.concat([x, lg.broadcast_to(b, shape)], axis=axis) for x, b in ((k, bias_k), (v, bias_v)))
    return k, v, 1


def _more_columns(mask: Tensor | None, value: Any, count: int) -> Any:
    """A mask with columns for keys that were added."""
    if mask is None:
        return None
    columns = lg.full((*mask.shape[:-1], count), value, dtype=mask.dtype, device=mask.device)
    return lg.concat([mask, columns], axis=-1)
