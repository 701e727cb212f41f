"""Functions of several steps with one rule, which keeps the result only."""

from typing import Any

from lucidgrad.core.primitive import REDUCTION, primitive

from .axes import product
from .reduction import batch_axes
from .scan import inexact


def _softmax_vjp(xp: Any, g: Any, y: Any, *, axis: Any) -> Any:
    g = g * y
    return g - y * xp.sum(g, axis=axis, keepdims=True)


@primitive(REDUCTION, vjp=_softmax_vjp, batch=batch_axes, dtype="float")
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


def _log_softmax_vjp(xp: Any, g: Any, y: Any, *, axis: Any) -> Any:
    return g - xp.exp(y) * xp.sum(g, axis=axis, keepdims=True)


@primitive(REDUCTION, vjp=_log_softmax_vjp, batch=batch_axes, dtype="float")
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
