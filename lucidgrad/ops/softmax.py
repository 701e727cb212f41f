"""Functions of several steps with one rule, and the rules themselves as primitives.

What pulls a cotangent back has a name of its own (``softmax_pull``), so that a device can compute it in one pass,
and a rule of its own, so that every order of derivative follows. There ``h`` is the cotangent that is pulled back.
"""

from typing import Any

from lucidgrad.core.primitive import REDUCTION, primitive

from .axes import product
from .forward import bilinear, of_pull, total
from .numbers import INF, inexact
from .reduction import _conj, _freedom, _over, batch_axes, batch_pull, kept


# -- softmax -------------------------------------------------------------------------------------
def _softmax_pull_s(xp: Any, g: Any, h: Any, s: Any, *, axis: Any) -> Any:
    inner = xp.sum(h * s, axis=axis, keepdims=True)
    return g * (h - inner) - h * xp.sum(g * s, axis=axis, keepdims=True)


def _softmax_pull_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, axis: Any) -> Any:
    (h, s), (th, t) = xs, ts
    first = None if th is None else xp.softmax_pull(th, s, axis=axis)
    if t is None:
        return first
    inner = xp.sum(h * s, axis=axis, keepdims=True)
    return total(first, t * (h - inner) - s * xp.sum(h * t, axis=axis, keepdims=True))


@primitive(
    REDUCTION,
    vjp=(lambda xp, g, s, *, axis: xp.softmax_pull(g, s, axis=axis), _softmax_pull_s),
    jvp=_softmax_pull_jvp,
    batch=batch_pull,
)
def softmax_pull(xp: Any, h: Any, s: Any, /, axis: Any = -1) -> Any:
    """The cotangent of x for a cotangent h of ``s = softmax(x)``. The Jacobian is symmetric."""
    h = h * s
    return h - s * xp.sum(h, axis=axis, keepdims=True)


@primitive(
    REDUCTION,
    vjp=lambda xp, g, y, *, axis: xp.softmax_pull(g, y, axis=axis),
    jvp=of_pull("softmax_pull"),
    batch=batch_axes,
    dtype="float",
    precision="full",
)
def softmax(xp: Any, x: Any, /, axis: Any = -1) -> Any:
    """``exp(x) / sum(exp(x))`` along an axis, without overflow. NaN where all elements are ``-inf``.

    An element that is ``-inf`` beside others gives 0, with a gradient of 0.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros(2, requires_grad=True)
    >>> lg.softmax(x)[0].backward()
    >>> x.grad.tolist()
    [0.25, -0.25]
    """
    x = inexact(x)
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True)) if product(x.shape) else +x
    return e / xp.sum(e, axis=axis, keepdims=True)


def _log_softmax_pull_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, axis: Any) -> Any:
    (h, s), (th, t) = xs, ts
    first = None if th is None else xp.log_softmax_pull(th, s, axis=axis)
    return first if t is None else total(first, -t * xp.exp(s) * xp.sum(h, axis=axis, keepdims=True))


@primitive(
    REDUCTION,
    vjp=(
        lambda xp, g, s, *, axis: g - xp.sum(g * xp.exp(s), axis=axis, keepdims=True),
        lambda xp, g, h, s, *, axis: -g * xp.exp(s) * xp.sum(h, axis=axis, keepdims=True),
    ),
    jvp=_log_softmax_pull_jvp,
    batch=batch_pull,
)
def log_softmax_pull(xp: Any, h: Any, s: Any, /, axis: Any = -1) -> Any:
    """The cotangent of x for a cotangent h of ``s = log_softmax(x)``."""
    return h - xp.exp(s) * xp.sum(h, axis=axis, keepdims=True)


@primitive(
    REDUCTION,
    vjp=lambda xp, g, y, *, axis: xp.log_softmax_pull(g, y, axis=axis),
    jvp=of_pull("log_softmax_pull"),
    batch=batch_axes,
    dtype="float",
    precision="full",
)
def log_softmax(xp: Any, x: Any, /, axis: Any = -1) -> Any:
    """``x - logsumexp(x)`` along an axis: the logarithm of `softmax`, exact where that is tiny.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros(2, requires_grad=True)
    >>> lg.log_softmax(x)[0].backward()
    >>> x.grad.tolist()
    [0.5, -0.5]
    """
    x = inexact(x)
    x = x - xp.max(x, axis=axis, keepdims=True) if product(x.shape) else +x
    return x - xp.log(xp.sum(xp.exp(x), axis=axis, keepdims=True))


# -- what `reduction` pulls back -----------------------------------------------------------------
def _logsumexp_pull_h(xp: Any, g: Any, s: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
    part = xp.logsumexp_pull(xp.ones_like(s), s, x, axis=axis, keepdims=keepdims)
    return xp.sum(g * part, axis=axis, keepdims=keepdims)


def _logsumexp_pull_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, axis: Any, keepdims: bool) -> Any:
    (_, s, x), (th, t_s, t_x) = xs, ts
    first = None if th is None else xp.logsumexp_pull(th, s, x, axis=axis, keepdims=keepdims)
    moved = total(t_x, None if t_s is None else -kept(xp, t_s, x, axis, keepdims))
    return first if moved is None else total(first, y * moved)


@primitive(
    REDUCTION,
    vjp=(
        _logsumexp_pull_h,
        lambda xp, g, y, *, axis, keepdims: -xp.sum(g * y, axis=axis, keepdims=keepdims),
        lambda xp, g, y: g * y,
    ),
    jvp=_logsumexp_pull_jvp,
    batch=batch_pull,
)
def logsumexp_pull(xp: Any, h: Any, s: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The cotangent of x for a cotangent h of ``s = logsumexp(x)``: a softmax, so never above h."""
    h, s = (kept(xp, r, x, axis, keepdims) for r in (h, s))
    return h * xp.exp(x - xp.where(s == -INF, 0, s))


def _var_pull_h(xp: Any, g: Any, x: Any, *, axis: Any, correction: float, keepdims: bool) -> Any:
    d = _conj(xp, x - xp.mean(x, axis=axis, keepdims=True))
    return xp.sum(g * d, axis=axis, keepdims=keepdims) * 2 / _freedom(x.shape, axis, correction)


def _var_pull_x(xp: Any, g: Any, h: Any, *, axis: Any, correction: float, keepdims: bool) -> Any:
    return xp.var_pull(h, g, axis=axis, correction=correction, keepdims=keepdims)


@primitive(REDUCTION, vjp=(_var_pull_h, _var_pull_x), jvp=bilinear("var_pull"), batch=batch_pull)
def var_pull(xp: Any, h: Any, x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The cotangent of x for a cotangent h of ``var(x)``."""
    h = kept(xp, h, x, axis, keepdims) * 2 / _freedom(x.shape, axis, correction)
    return h * _conj(xp, x - xp.mean(x, axis=axis, keepdims=True))


def _std_pull_h(xp: Any, g: Any, s: Any, x: Any, *, axis: Any, correction: float, keepdims: bool) -> Any:
    return _over(xp, _var_pull_h(xp, g, x, axis=axis, correction=correction, keepdims=keepdims), s) / 2


def _std_pull_s(xp: Any, g: Any, h: Any, s: Any, x: Any, *, axis: Any, correction: float, keepdims: bool) -> Any:
    d = _var_pull_h(xp, g, x, axis=axis, correction=correction, keepdims=keepdims)
    return -_over(xp, _over(xp, h, s) * d, s) / 2


def _std_pull_x(xp: Any, g: Any, h: Any, s: Any, *, axis: Any, correction: float, keepdims: bool) -> Any:
    return xp.std_pull(h, s, g, axis=axis, correction=correction, keepdims=keepdims)


def _std_pull_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, axis: Any, correction: float, keepdims: bool) -> Any:
    (h, s, x), (th, t_s, t_x) = xs, ts
    over: dict[str, Any] = {"axis": axis, "correction": correction, "keepdims": keepdims}
    first = None if th is None else xp.std_pull(th, s, x, **over)
    second = None if t_x is None else xp.std_pull(h, s, t_x, **over)
    third = None if t_s is None else -y * kept(xp, _over(xp, t_s, s), x, axis, keepdims)
    return total(first, second, third)


@primitive(REDUCTION, vjp=(_std_pull_h, _std_pull_s, _std_pull_x), jvp=_std_pull_jvp, batch=batch_pull)
def std_pull(
    xp: Any, h: Any, s: Any, x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False
) -> Any:
    """The cotangent of x for a cotangent h of ``s = std(x)``; 0 where s is 0."""
    h = _over(xp, *(kept(xp, r, x, axis, keepdims) for r in (h, s)))
    return h / _freedom(x.shape, axis, correction) * _conj(xp, x - xp.mean(x, axis=axis, keepdims=True))
