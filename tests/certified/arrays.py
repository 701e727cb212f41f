"""Functions of arrays of exact numbers: moving, reductions, scans, products, normalisation, losses, transforms.

NumPy moves and adds objects as it does numbers; what it computes itself is written out with mpmath.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp
from samples import _added, _numpy_key, _pick, _pick_put, _put_add, _recurrence, _take_along_axis

import lucidgrad as lg
from lucidgrad.ops.attention import dropout_flags

from .numbers import each, zeros


def _exp(x: Any) -> Any:
    return each(lambda v: mp.mpf(0) if v == -mp.inf else mp.exp(v), x)


def _log(x: Any) -> Any:
    return each(mp.log, x)


def _sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.asarray(np.sum(x, axis=axis, keepdims=keepdims), dtype=object)


def _count(x: Any, axis: Any) -> int:
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return int(np.prod([x.shape[a] for a in axes], dtype=int))


def _kept(r: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """A reduced array with its axes as ones."""
    return r if keepdims else np.reshape(r, _sum(x, axis, True).shape)


def _squares(x: Any) -> Any:
    return each(lambda v: abs(v) ** 2, x)


# -- reductions --------------------------------------------------------------------------------------
def mean(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    return _sum(x, axis, keepdims) / mp.mpf(_count(x, axis))


def var(x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    d = x - mean(x, axis=axis, keepdims=True)
    return _sum(_squares(d), axis, keepdims) / (_count(x, axis) - mp.mpf(correction))


def std(x: Any, **keywords: Any) -> Any:
    return each(mp.sqrt, var(x, **keywords))


def logsumexp(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    return _log(_sum(_exp(x), axis, keepdims))


def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    size = each(abs, x)
    if abs(ord) == np.inf:
        return np.asarray((np.max if ord > 0 else np.min)(size, axis=axis, keepdims=keepdims), dtype=object)
    if ord == 0:
        return _sum(each(lambda v: mp.mpf(v != 0), size), axis, keepdims)
    powers = each(lambda v: v ** mp.mpf(ord), size)
    return each(lambda v: v ** (1 / mp.mpf(ord)), _sum(powers, axis, keepdims))


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, **keywords: np.asarray(function(x, **keywords), dtype=object)


def extreme_put(x: Any, src: Any, i: Any, *, axis: int, largest: bool = True) -> Any:
    y = np.array(x, dtype=object)
    for at in np.ndindex(src.shape):
        to = tuple(int(i[at]) if a == axis % x.ndim else n for a, n in enumerate(at))
        y[to] = (max if largest else min)(y[to], src[at])
    return y


# -- scans -------------------------------------------------------------------------------------------
def _scan(function: Callable[..., Any], first: int) -> Callable[..., Any]:
    def of(x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        axis = 0 if axis is None else axis
        y = function(np.atleast_1d(x), axis=axis)
        if not include_initial:
            return y
        start = zeros([1 if a == axis % y.ndim else n for a, n in enumerate(y.shape)]) + mp.mpf(first)
        return np.concatenate([start, y], axis=axis)

    return of


def logcumsumexp(x: Any, *, axis: int) -> Any:
    return _log(np.cumsum(_exp(x), axis=axis))


# -- softmax -----------------------------------------------------------------------------------------
def softmax(x: Any, *, axis: Any = -1) -> Any:
    e = _exp(x)
    return e / _sum(e, axis, True)


def log_softmax(x: Any, *, axis: Any = -1) -> Any:
    return x - _log(_sum(_exp(x), axis, True))


def softmax_pull(h: Any, s: Any, *, axis: Any = -1) -> Any:
    return s * (h - _sum(h * s, axis, True))


def logsumexp_pull(h: Any, s: Any, x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    h, s = (_kept(r, x, axis, keepdims) for r in (h, s))
    return h * _exp(x - s)


def var_pull(h: Any, x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    d = x - mean(x, axis=axis, keepdims=True)
    return _kept(h, x, axis, keepdims) * 2 * d / (_count(x, axis) - mp.mpf(correction))


def cross_entropy_rows(x: Any, i: Any, *, axis: int = -1, ignore_index: int = -100) -> Any:
    rows = np.moveaxis(-log_softmax(x, axis=axis), axis, -1)
    y = zeros(i.shape)
    for at in np.ndindex(i.shape):
        y[at] = mp.mpf(0) if i[at] == ignore_index else rows[(*at, int(i[at]))]
    return y


def cross_entropy_pull(x: Any, i: Any, h: Any, *, axis: int = -1, ignore_index: int = -100) -> Any:
    rows = np.array(np.moveaxis(softmax(x, axis=axis), axis, -1))
    for at in np.ndindex(i.shape):
        if i[at] == ignore_index:
            rows[at] = zeros(rows.shape[-1])
        else:
            rows[(*at, int(i[at]))] -= 1
    return np.moveaxis(rows * h[..., None], -1, axis)


# -- normalisation -----------------------------------------------------------------------------------
def _parts(x: Any, axis: Any, eps: float, centre: bool) -> tuple[Any, Any]:
    """Centred values, and one over their deviation."""
    d = x - mean(x, axis=axis, keepdims=True) if centre else x
    return d, each(lambda v: 1 / mp.sqrt(v + mp.mpf(eps)), mean(d * d, axis=axis, keepdims=True))


def standardise(x: Any, *, axis: Any = -1, eps: float = 1e-5, centre: bool = True) -> Any:
    d, rate = _parts(x, axis, eps, centre)
    return d * rate


def _over(x: Any, axes: int, eps: float, centre: bool) -> dict[str, Any]:
    return {"axis": tuple(range(x.ndim - axes, x.ndim)), "eps": eps, "centre": centre}


def layer_norm(x: Any, w: Any, b: Any = None, *, axes: int = 1, eps: float = 1e-5, centre: bool = True) -> Any:
    y = standardise(x, **_over(x, axes, eps, centre)) * w
    return y if b is None else y + b


def _along(r: Any, rank: int) -> Any:
    return np.reshape(r, (-1, *(1,) * (rank - 2)))


def batch_norm(x: Any, w: Any, b: Any, *, eps: float = 1e-5) -> Any:
    axis = (0, *range(2, x.ndim))
    y = standardise(x, axis=axis, eps=eps) * _along(w, x.ndim) + _along(b, x.ndim)
    return y, mean(x, axis=axis), var(x, axis=axis)


# -- recurrent layers and attention ------------------------------------------------------------------
def _sigmoid(x: Any) -> Any:
    return each(lambda v: 1 / (1 + mp.exp(-v)), x)


def _tanh(x: Any) -> Any:
    return each(mp.tanh, x)


def lstm_sequence(x: Any, h: Any, c: Any, w: Any, b: Any = None) -> Any:
    hidden, inner = [], []
    for step in x:
        i, f, g, o = np.split(step + h @ w.T + (0 if b is None else b), 4, axis=-1)
        i, f, g, o = _sigmoid(i), _sigmoid(f), _tanh(g), _sigmoid(o)
        c = f * c + i * g
        h = o * _tanh(c)
        hidden.append(h)
        inner.append(np.concatenate([i, f, g, o, c], axis=-1))
    return np.stack(hidden), np.stack(inner)


def gru_sequence(x: Any, h: Any, w: Any, b: Any = None) -> Any:
    hidden, inner = [], []
    for step in x:
        (xr, xz, xn), (hr, hz, hn) = (
            np.split(part, 3, axis=-1) for part in (step, h @ w.T + (0 if b is None else b))
        )  # fmt: skip
        r, z = _sigmoid(xr + hr), _sigmoid(xz + hz)
        n = _tanh(xn + r * hn)
        h = (1 - z) * n + z * h
        hidden.append(h)
        inner.append(np.concatenate([r, z, n, hn], axis=-1))
    return np.stack(hidden), np.stack(inner)


def rnn_sequence(x: Any, h: Any, w: Any, b: Any = None, *, nonlinearity: str = "tanh") -> Any:
    hidden = []
    for step in x:
        h = step + h @ w.T + (0 if b is None else b)
        h = _tanh(h) if nonlinearity == "tanh" else each(lambda v: max(v, mp.mpf(0)), h)
        hidden.append(h)
    return np.stack(hidden)


def attention(
    q: Any, k: Any, v: Any, m: Any = None, r: Any = None, *, scale: float = 1.0, causal: bool = False, dropout: Any = 0
) -> Any:
    s = (q * mp.mpf(scale)) @ np.swapaxes(k, -1, -2)
    if m is not None:
        s = each(lambda a, b: a if b else -mp.inf, s, m) if m.dtype == bool else s + m
    if causal:
        s = each(lambda a, b: a if b else -mp.inf, s, np.tril(np.ones(s.shape)) > 0)
    p = softmax(s)
    if r is not None:
        p = p * (dropout_flags(lg.asarray(r), shape=p.shape, dropout=dropout).numpy() / (1 - mp.mpf(dropout)))
    return p @ v, logsumexp(s, axis=-1)


def path_logsumexp(e: Any, s: Any, first: Any, last: Any, n: Any) -> Any:
    """Path by path."""
    found = zeros(e.shape[1])
    for b in range(e.shape[1]):
        total = mp.mpf(bool(last[b, 0])) if n[b] == 0 else mp.mpf(0)
        for path in itertools.product(range(e.shape[2]), repeat=int(n[b])):
            steps = itertools.pairwise(path)
            if path and first[b, path[0]] and last[b, path[-1]] and all(
                to - at in (0, 1) or (to - at == 2 and s[b, to]) for at, to in steps
            ):  # fmt: skip
                total += mp.exp(sum(e[t, b, state] for t, state in enumerate(path)))
        found[b] = mp.log(total) if total else -mp.inf
    return found


# -- transforms --------------------------------------------------------------------------------------
def _twiddle(n: int, inverse: bool) -> Any:
    sign = 1 if inverse else -1
    return each(lambda j, k: mp.expjpi(mp.mpf(2 * sign * j * k) / n), *np.meshgrid(range(n), range(n), indexing="ij"))


def _norm(n: int, norm: Any, inverse: bool) -> Any:
    plain = {"backward": not inverse, "forward": inverse}.get(norm or "backward")
    return 1 / mp.sqrt(n) if plain is None else mp.mpf(1) if plain else 1 / mp.mpf(n)


def dft(x: Any, *, axis: Any, norm: Any = "backward", inverse: bool = False) -> Any:
    for a in axis:
        n = x.shape[a]
        x = np.moveaxis(np.moveaxis(x, a, -1) @ _twiddle(n, inverse) * _norm(n, norm, inverse), -1, a)
    return each(mp.mpc, x)


def _doubled(n: int, double: bool) -> Any:
    return np.array([mp.mpf(2 if double and 0 < 2 * k < n else 1) for k in range(n // 2 + 1)], dtype=object)


def half_dft(x: Any, *, axis: int, norm: Any = "backward", inverse: bool = False, double: bool = False) -> Any:
    n = x.shape[axis]
    y = np.moveaxis(dft(x, axis=(axis,), norm=norm, inverse=inverse), axis, -1)[..., : n // 2 + 1]
    return np.moveaxis(y * _doubled(n, double), -1, axis)


def real_dft(x: Any, *, axis: int, n: int, norm: Any = "backward", inverse: bool = False, double: bool = True) -> Any:
    x = np.moveaxis(x, axis, -1) * _doubled(n, double)
    y = x @ _twiddle(n, inverse)[: x.shape[-1]] * _norm(n, norm, inverse)
    return np.moveaxis(each(mp.re, y), -1, axis)


# -- moving ------------------------------------------------------------------------------------------
def diagonal_put(x: Any, *, offset: int, axis1: int, axis2: int, shape: Any) -> Any:
    y = zeros(shape)
    place = np.diagonal(np.arange(y.size).reshape(shape), offset=offset, axis1=axis1, axis2=axis2)
    np.put(y, place, x)
    return y


def put_along_axis_add(g: Any, i: Any, *, axis: int, size: int) -> Any:
    y = zeros([size if a == axis % g.ndim else n for a, n in enumerate(g.shape)])
    i = np.broadcast_to(i, g.shape)
    for at in np.ndindex(g.shape):
        y[tuple(int(i[at]) if a == axis % g.ndim else n for a, n in enumerate(at))] += g[at]
    return y


def overwrite(x: Any, part: Any, at: Any = None, *, steps: Any) -> Any:
    y = np.array(x, dtype=object)
    key = steps[0][1]["key"]
    y[key if at is None else _numpy_key(key, at, x.shape)] = part
    return y


def _masked(function: Callable[..., Any]) -> Callable[..., Any]:
    def of(x: Any, *, k: int = 0) -> Any:
        return np.where(function(np.ones(x.shape), k=k) > 0, x, mp.mpf(0))

    return of


def _own(array: Any) -> Any:
    return np.array(array, dtype=object)


def _numbered(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's adding at positions, with exact zeros to add to."""
    return lambda *args, **keywords: each(lambda v: v if isinstance(v, (mp.mpf, mp.mpc)) else mp.mpf(v),
                                          function(*args, **keywords))  # fmt: skip


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "astype": lambda x, *, dtype, copy=True: each(mp.mpc, x) if np.dtype(dtype).kind == "c" else _own(x),
    "clone": _own,
    "transfer": lambda x, *, device: _own(x),
    "real": lambda x: each(mp.re, x),
    "imag": lambda x: each(mp.im, x),
    "conj": lambda x: each(mp.conj, x),
    "join_parts": lambda real, imag: real + imag * mp.mpc(0, 1),
    "reshape": lambda x, *, shape, copy=None: np.reshape(x, shape),
    "broadcast_to": lambda x, *, shape: np.broadcast_to(x, shape),
    "expand_dims": lambda x, *, axis: np.expand_dims(x, axis),
    "squeeze": lambda x, *, axis: np.squeeze(x, axis),
    "permute_dims": lambda x, *, axes: np.transpose(x, axes),
    "moveaxis": lambda x, *, source, destination: np.moveaxis(x, source, destination),
    "matrix_transpose": lambda x: np.swapaxes(x, -1, -2),
    "flip": lambda x, *, axis=None: np.flip(x, axis),
    "roll": lambda x, *, shift, axis=None: np.roll(x, shift, axis),
    "tril": _masked(np.tril),
    "triu": _masked(np.triu),
    "diagonal": lambda x, *, offset=0, axis1=0, axis2=1: np.diagonal(x, offset, axis1, axis2),
    "diagonal_put": diagonal_put,
    "stack": lambda *xs, axis=0: np.stack(xs, axis=axis),
    "concat": lambda *xs, axis=0: np.concatenate([x.ravel() for x in xs] if axis is None else xs, axis=axis or 0),
    "unstack": lambda x, *, axis=0: tuple(np.moveaxis(x, axis, 0)),
    "split_with_sizes": lambda x, *, split_sizes, axis=0: tuple(np.split(x, np.cumsum(split_sizes)[:-1], axis=axis)),
    "index": lambda x, *, key: _own(x[key]),
    "put_add": _numbered(_put_add),
    "pick": lambda x, at, *, key: _own(_pick(x, at, key=key)),
    "pick_put": _numbered(_pick_put),
    "take": lambda x, i, *, axis=None: np.take(x, i, axis=axis),
    "take_put": _numbered(lambda g, i, *, axis, size: _added(g, i, axis, size)),
    "take_along_axis": _take_along_axis,
    "put_along_axis_add": put_along_axis_add,
    "overwrite": overwrite,
    "cumulative_sum": _scan(np.cumsum, 0),
    "cumulative_prod": _scan(np.cumprod, 1),
    "recurrence": _recurrence,
    "sum": lambda x, *, axis=None, dtype=None, keepdims=False: _sum(x, axis, keepdims),
    "prod": lambda x, *, axis=None, dtype=None, keepdims=False: np.asarray(
        np.prod(x, axis=axis, keepdims=keepdims), dtype=object
    ),
    "max": _extreme(np.max),
    "min": _extreme(np.min),
    "matmul": np.matmul,
    "linear": lambda x, w: x @ w.T,
    "across": lambda x1, x2: x1.T @ x2,
    "mean_squared_error": lambda x1, x2: mean(np.asarray((x1 - x2) ** 2, dtype=object)),
    "affine": lambda x, w, b: x @ w.T + b,
    "pair_einsum": lambda x1, x2, *, subscripts: np.asarray(np.einsum(subscripts, x1, x2), dtype=object),
    **{
        f.__name__: f
        for f in (
            mean, var, std, logsumexp, vector_norm, extreme_put, logcumsumexp, softmax, log_softmax,
            softmax_pull, logsumexp_pull, var_pull, cross_entropy_rows, cross_entropy_pull,
            standardise, layer_norm, batch_norm, lstm_sequence,
            gru_sequence, rnn_sequence, attention, path_logsumexp, dft, half_dft, real_dft,
        )
    },
}  # fmt: skip
