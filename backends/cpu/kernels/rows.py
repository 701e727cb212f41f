"""NumPy kernels of softmax, norms and losses and of their pulls, in blocks of rows that stay in the cache."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lucidgrad.backends.cpu.compiled import rows as compiled

from .halves import HALF
from .reduction import mean

#: Elements of a block of rows.
BLOCK = 65536


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    given = axis if type(axis) is tuple or type(axis) is list else (axis,)
    return tuple(a % rank for a in given) if rank else ()


def _sum(x: Any, axis: Any) -> Any:
    return np.add.reduce(x, axis=axis, keepdims=True)


def _dot(a: Any, b: Any, axis: Any) -> Any:
    """Sums of products; of rows by the BLAS, in one pass."""
    if axis == 1 and a.ndim == 2 and a.dtype.char in "fd":
        return np.vecdot(a, b)[:, None]
    return _sum(a * b, axis)


def _kept(r: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """A reduced array with its reduced axes as ones."""
    return np.reshape(r, tuple(1 if a in axes else n for a, n in enumerate(shape)))


def _run(block: Callable[..., None], axis: Any, *xs: Any, **keywords: Any) -> Any:
    """Fill a new array like the last of xs: ``block(out, *xs, axis)``, row by row where the last axes are reduced.

    Arrays of fewer elements than the last are reduced ones.
    """
    x = xs[-1]
    axes = _axes(axis, x.ndim)
    y = np.empty(x.shape, np.result_type(*xs))
    n = math.prod(x.shape[a] for a in axes)
    if x.size <= BLOCK or n == 0 or n > BLOCK or axes != tuple(range(x.ndim - len(axes), x.ndim)):
        block(y, *(r if r.shape == x.shape else _kept(r, x.shape, axes) for r in xs), axes, **keywords)
        return y
    rows = x.size // n
    flat = [r.reshape(rows, n if r.shape == x.shape else 1) for r in xs]
    target, step = y.reshape(rows, n), max(1, BLOCK // n)
    for k in range(0, rows, step):
        block(target[k : k + step], *(r[k : k + step] for r in flat), 1, **keywords)
    return y


def _floats(x: Any) -> Any:
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


# -- softmax -------------------------------------------------------------------------------------
def _softmax(y: Any, x: Any, axis: Any) -> None:
    if not x.size:
        return
    np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True), out=y)
    np.exp(y, out=y)
    y /= _sum(y, axis)


def softmax(x: Any, *, axis: Any = -1) -> Any:
    if (made := compiled.softmax(x, axis)) is not None:
        return made
    return _run(_softmax, axis, _floats(x))


def _softmax_pull(y: Any, h: Any, s: Any, axis: Any) -> None:
    np.subtract(h, _dot(h, s, axis), out=y)
    y *= s


def softmax_pull(h: Any, s: Any, *, axis: Any = -1) -> Any:
    if (made := compiled.softmax_pull(h, s, axis)) is not None:
        return made
    return _run(_softmax_pull, axis, h, s)


def _log_softmax(y: Any, x: Any, axis: Any) -> None:
    if not x.size:
        return
    np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True), out=y)
    y -= np.log(_sum(np.exp(y), axis))


def log_softmax(x: Any, *, axis: Any = -1) -> Any:
    if (made := compiled.log_softmax(x, axis)) is not None:
        return made
    return _run(_log_softmax, axis, _floats(x))


def _log_softmax_pull(y: Any, h: Any, s: Any, axis: Any) -> None:
    np.exp(s, out=y)
    y *= _sum(h, axis)
    np.subtract(h, y, out=y)


def log_softmax_pull(h: Any, s: Any, *, axis: Any = -1) -> Any:
    if (made := compiled.log_softmax_pull(h, s, axis)) is not None:
        return made
    return _run(_log_softmax_pull, axis, h, s)


def _logsumexp_pull(y: Any, h: Any, s: Any, x: Any, axis: Any) -> None:
    np.subtract(x, np.where(s == -np.inf, 0, s), out=y)
    np.exp(y, out=y)
    y *= h


def logsumexp_pull(h: Any, s: Any, x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    if (made := compiled.logsumexp_pull(h, s, x, axis)) is not None:
        return made
    return _run(_logsumexp_pull, axis, h, s, x)


# -- extremes and variance -----------------------------------------------------------------------
def extreme_pull(h: Any, s: Any, x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    if (made := compiled.extreme_pull(h, s, x, axis)) is not None:
        return made
    axes = _axes(axis, x.ndim)
    h, s = (_kept(r, x.shape, axes) for r in (h, s))
    hit = x == s
    if x.dtype is HALF:
        return hit * (h / np.add.reduce(hit, axis=axes, dtype=np.float32, keepdims=True)).astype(HALF)
    return hit * (h / np.add.reduce(hit, axis=axes, dtype=x.dtype, keepdims=True))


def _count(x: Any, axis: Any) -> int:
    return math.prod(x.shape[a] for a in (axis if type(axis) is tuple else (axis,)))


def _freedom(x: Any, axis: Any, correction: float) -> float:
    return max(_count(x, _axes(axis, x.ndim)) - correction, 0)


def _scaled_distance(y: Any, h: Any, x: Any, axis: Any) -> None:
    np.subtract(x, _sum(x, axis) / _count(x, axis), out=y)
    if y.dtype.kind == "c":
        np.conjugate(y, out=y)
    y *= h


def _distances(h: Any, x: Any, axis: Any) -> Any:
    made = compiled.scaled_distance(h, x, axis)
    return _run(_scaled_distance, axis, h, x) if made is None else made


def var_pull(h: Any, x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    return _distances(h * 2 / _freedom(x, axis, correction), x, axis)


def std_pull(h: Any, s: Any, x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    h = np.where(s == 0, 0, h) / np.where(s == 0, 1, s)
    return _distances(h / _freedom(x, axis, correction), x, axis)


# -- cross-entropy -------------------------------------------------------------------------------
def _as_rows(x: Any, i: Any, axis: int, ignore_index: int) -> tuple[Any, Any, Any]:
    """Logits with the classes last, class numbers as a line, and which rows count (None: all)."""
    n = x.shape[axis]
    x = np.moveaxis(x, axis, -1)
    flat = i.reshape(-1).astype(np.intp, copy=False)
    used = flat != ignore_index
    if used.all():
        used = None
    else:
        flat = np.where(used, flat, 0)
    if flat.size:
        low, high = flat.min(), flat.max()
        if low < -n or high >= n:
            wrong = high if high >= n else low
            raise IndexError(f"cross_entropy_rows: class number {wrong} is out of range for {n} classes")
    return x.reshape(flat.size, n), flat, used


def cross_entropy_rows(x: Any, i: Any, *, axis: int = -1, ignore_index: int = -100) -> Any:
    if (made := compiled.cross_entropy_rows(x, i, axis, ignore_index)) is not None:
        return made
    rows, flat, used = _as_rows(_floats(x), i, axis, ignore_index)
    y = np.empty(flat.size, rows.dtype)
    step = max(1, BLOCK // max(rows.shape[1], 1))
    for k in range(0, flat.size, step):
        part = rows[k : k + step]
        top = np.maximum.reduce(part, axis=1, keepdims=True)
        top = np.where(np.isfinite(top), top, part.dtype.type(0))
        total = np.log(_sum(np.exp(part - top), 1))
        total += top
        y[k : k + step] = total[:, 0] - part[np.arange(len(part)), flat[k : k + step]]
    if used is not None:
        y[~used] = 0
    return y.reshape(i.shape)


def cross_entropy_pull(x: Any, i: Any, h: Any, *, axis: int = -1, ignore_index: int = -100) -> Any:
    if (made := compiled.cross_entropy_pull(x, i, h, axis, ignore_index)) is not None:
        return made
    rows, flat, used = _as_rows(x, i, axis, ignore_index)
    h = h.reshape(-1, 1) if used is None else np.where(used, h.reshape(-1), 0).reshape(-1, 1)
    y = np.empty(rows.shape, x.dtype)
    step = max(1, BLOCK // max(rows.shape[1], 1))
    for k in range(0, flat.size, step):
        part, scale = y[k : k + step], h[k : k + step]
        _softmax(part, rows[k : k + step], 1)
        part *= scale
        part[np.arange(len(part)), flat[k : k + step]] -= scale[:, 0]
    y = y.reshape(*i.shape, rows.shape[1])
    return np.moveaxis(y, -1, axis) if axis % x.ndim != x.ndim - 1 else y


# -- normalisation -------------------------------------------------------------------------------
def _standardise(y: Any, x: Any, axis: Any, eps: float, centre: bool) -> Any:
    """Fill y; return one over the standard deviation."""
    n = _count(x, axis) or 1
    if centre:
        np.subtract(x, _sum(x, axis) / n, out=y)
    else:
        y[...] = x
    r = 1 / np.sqrt(_dot(y, y, axis) / n + eps)
    y *= r
    return r


def standardise(x: Any, *, axis: Any = -1, eps: float = 1e-5, centre: bool = True) -> Any:
    if (made := compiled.layer_norm(x, None, None, axis, eps, centre)) is not None:
        return made
    return _run(_standardise, axis, _floats(x), eps=eps, centre=centre)


def _standardise_pull(y: Any, h: Any, x: Any, axis: Any, eps: float, centre: bool) -> None:
    s = np.empty(x.shape, y.dtype)
    _pull_standard(y, h, s, _standardise(s, x, axis, eps, centre), axis, centre)


def _pull_standard(y: Any, h: Any, s: Any, r: Any, axis: Any, centre: bool) -> None:
    n = _count(s, axis) or 1
    np.multiply(s, _dot(h, s, axis) / -n, out=y)
    y += h
    if centre:
        y -= _sum(h, axis) / n
    y *= r


def standardise_pull(h: Any, x: Any, *, axis: Any = -1, eps: float = 1e-5, centre: bool = True) -> Any:
    if (made := compiled.standardise_pull(h, x, axis, eps, centre)) is not None:
        return made
    return _run(_standardise_pull, axis, h, x, eps=eps, centre=centre)


def _layer_norm(y: Any, x: Any, axis: Any, w: Any, b: Any, eps: float, centre: bool) -> None:
    _standardise(y, x, axis, eps, centre)
    if type(axis) is int:  # rows of a block
        w, b = w.reshape(-1), None if b is None else b.reshape(-1)
    y *= w
    if b is not None:
        y += b


def layer_norm(x: Any, w: Any, b: Any = None, *, axes: int = 1, eps: float = 1e-5, centre: bool = True) -> Any:
    axis = tuple(range(x.ndim - axes, x.ndim))
    if (made := compiled.layer_norm(x, w, b, axis, eps, centre)) is not None:
        return made
    return _run(_layer_norm, axis, x, w=w, b=b, eps=eps, centre=centre)


def layer_norm_pull(h: Any, x: Any, w: Any, *, axes: int = 1, eps: float = 1e-5, centre: bool = True) -> Any:
    if (made := compiled.layer_norm_pull(h, x, w, axes, eps, centre)) is not None:
        return made
    whole, shape = x.shape, x.shape[x.ndim - axes :]
    n = math.prod(shape)
    h, x = (r.reshape(math.prod(whole[: len(whole) - axes]), n) for r in (h, x))
    w = w.reshape(n)
    to_x, to_w, to_b = np.empty(x.shape, h.dtype), np.zeros(n, h.dtype), np.zeros(n, h.dtype)
    step = max(1, BLOCK // max(n, 1))
    for k in range(0, len(x), step):
        part = h[k : k + step]
        s = np.empty(part.shape, h.dtype)
        r = _standardise(s, x[k : k + step], 1, eps, centre)
        to_w += np.add.reduce(part * s, axis=0)
        to_b += np.add.reduce(part, axis=0)
        _pull_standard(to_x[k : k + step], part * w, s, r, 1, centre)
    return to_x.reshape(whole), to_w.reshape(shape), to_b.reshape(shape)


def _channels(x: Any) -> Any:
    return x.reshape(*x.shape[:2], math.prod(x.shape[2:]))


def _over_channels(x: Any) -> Any:
    """Sums for each channel of (n, channels, places)."""
    return np.add.reduce(np.add.reduce(x, axis=2), axis=0)


def batch_norm(x: Any, w: Any, b: Any, *, eps: float = 1e-5) -> Any:
    if (made := compiled.batch_norm(x, w, b, eps)) is not None:
        return made
    flat = _channels(x)
    n = flat.shape[0] * flat.shape[2]
    mean = _over_channels(flat) / n
    y = flat - mean[:, None]
    var = _over_channels(y * y) / n
    y *= (w / np.sqrt(var + eps))[:, None]
    y += b[:, None]
    return y.reshape(x.shape), mean.astype(x.dtype, copy=False), var.astype(x.dtype, copy=False)


def batch_norm_pull(h: Any, x: Any, w: Any, m: Any, v: Any, *, eps: float = 1e-5) -> Any:
    if (made := compiled.batch_norm_pull(h, x, w, m, v, eps)) is not None:
        return made
    shape, (h, x) = x.shape, (_channels(h), _channels(x))
    n = x.shape[0] * x.shape[2] or 1
    d = x - (_over_channels(x) / n)[:, None]
    r = 1 / np.sqrt(_over_channels(d * d) / n + eps)
    product = h * d
    to_w, to_b = _over_channels(product) * r, _over_channels(h)
    y = np.multiply(d, ((v * 2 - w * r * r * to_w) / n)[:, None], out=d)
    y += np.multiply(h, (w * r)[:, None], out=product)
    y += ((m - w * r * to_b) / n)[:, None]
    return y.reshape(shape), to_w, to_b


def mean_squared_error(x1: Any, x2: Any) -> Any:
    if x1.shape != x2.shape:
        raise RuntimeError(f"mean_squared_error: given arrays of shape {x1.shape} and {x2.shape}, expected one shape")
    d = np.asarray(x1 - x2)
    np.multiply(d, d, out=d)
    return mean(d) if d.size >= compiled.WORTH_SUM or not d.size else np.asarray(np.add.reduce(d, axis=None) / d.size)


_FUNCTIONS = (
    *(softmax, softmax_pull, log_softmax, log_softmax_pull, logsumexp_pull, var_pull, std_pull),
    *(cross_entropy_rows, cross_entropy_pull, standardise, standardise_pull, layer_norm, layer_norm_pull),
    *(batch_norm, batch_norm_pull, extreme_pull, mean_squared_error),
)

TABLE: dict[str, Callable[..., Any]] = {function.__name__: function for function in _FUNCTIONS}
