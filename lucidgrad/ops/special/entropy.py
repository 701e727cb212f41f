"""Logarithms and entropies."""

import math
from typing import Any

from lucidgrad.core.primitive import ELEMENTWISE, primitive
from lucidgrad.ops.elementwise import activation
from lucidgrad.ops.elementwise.activation import sigmoid
from lucidgrad.ops.elementwise.choice import clip
from lucidgrad.ops.numbers import as_array

from .polynomials import polynomial

expit = sigmoid
log_expit = activation.logsigmoid


# -- logarithms ----------------------------------------------------------------------------------
@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.unscale(g, x) + xp.unscale(g, 1 - x), dtype="float")
def log_odds(xp: Any, x: Any, /) -> Any:
    """Logarithm of the odds, ``log(x / (1 - x))``."""
    d = xp.where(xp.abs(x - 0.5) < 0.2, x + x - 1, 0)  # exact; near one half a quotient would round it away
    return xp.where(d == 0, xp.log(x / (1 - x)), xp.log1p(d) - xp.log1p(-d))


def logit(x: Any, /, eps: float | None = None) -> Any:
    """Logarithm of the odds, ``log(x / (1 - x))``, of ``x`` limited to ``[eps, 1 - eps]`` if eps is given.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.25, 0.5], requires_grad=True)
    >>> lg.logit(x).sum().backward()
    >>> x.grad.tolist()
    [5.3333, 4.0]
    """
    return log_odds(x if eps is None else clip(x, eps, 1 - eps))


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: -xp.scale(g, xp.log(x) + 1), dtype="float", real=True)
def entr(xp: Any, x: Any, /) -> Any:
    """Entropy ``-x * log(x)``: zero at zero, with an infinite derivative; minus infinity below.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.entr(x).sum().backward()
    >>> x.grad.tolist()
    [-0.3069, -1.0]
    """
    safe = xp.where(x > 0, x, 1)
    return xp.where(x > 0, -(x * xp.log(safe)), xp.where(x < 0, -math.inf, x))


def _xlog1py_first(xp: Any, g: Any, x1: Any, x2: Any) -> Any:
    x2 = as_array(xp, x2, g)
    return xp.where((x1 == 0) & (x2 <= -1), 0, xp.scale(g, xp.log1p(x2)))


@primitive(ELEMENTWISE, vjp=(_xlog1py_first, lambda xp, g, x1, x2: xp.unscale(xp.scale(g, x1), x2 + 1)), dtype="float")
def xlog1py(xp: Any, x1: Any, x2: Any, /) -> Any:
    """``x1 * log1p(x2)``, and zero where ``x1`` is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.entropy import xlog1py
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> xlog1py(x, 1.0).sum().backward()
    >>> x.grad.tolist()
    [0.6931, 0.6931]
    """
    x1, x2 = as_array(xp, x1, x2), as_array(xp, x2, x1)
    zero = (x1 == 0) & (x2 == x2)  # NaN stays NaN
    return xp.where(zero, 0, x1 * xp.log1p(xp.where(zero, 0, x2)))


# -- relative entropy --------------------------------------------------------------------------------
def _log_ratio(xp: Any, x1: Any, x2: Any) -> Any:
    """``log(x1 / x2)`` of positive numbers, exact where they are close."""
    close = (x1 * 0.5 < x2) & (x2 * 0.5 < x1)
    d = xp.where(close, (x1 - x2) / xp.where(close, x2, 1), 0)
    return xp.where(close, xp.log1p(d), xp.log(x1) - xp.log(x2))


def _log_ratio_slope(xp: Any, g: Any, x1: Any, x2: Any, more: int) -> Any:
    x2 = as_array(xp, x2, g)
    return xp.where((x1 == 0) & (x2 == 0), 0, xp.scale(g, _log_ratio(xp, x1, x2) + more))


def _divergence(xp: Any, x1: Any, x2: Any, more: Any, at_zero: Any) -> Any:
    """``x1 * log(x1 / x2) + more`` where both are positive, ``at_zero`` where ``x1`` is zero, else infinite."""
    inside = (x1 > 0) & (x2 > 0)
    y = x1 * _log_ratio(xp, xp.where(inside, x1, 1), xp.where(inside, x2, 1)) + more
    y = xp.where((x1 != x1) | (x2 != x2), x1 + x2, xp.where(inside, y, math.inf))
    return xp.where((x1 == 0) & (x2 >= 0), at_zero, y)


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, x1, x2: _log_ratio_slope(xp, g, x1, x2, 1),
        lambda xp, g, x1, x2: -xp.unscale(xp.scale(g, x1), x2),
    ),
    dtype="float",
    real=True,
)
def rel_entr(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Relative entropy ``x1 * log(x1 / x2)``: zero where ``x1`` is zero, infinite where either is negative.

    The derivative with respect to ``x1`` is infinite where that is zero, but zero where both are.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.entropy import rel_entr
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> rel_entr(x, 1.0).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.6931]
    """
    x1, x2 = as_array(xp, x1, x2), as_array(xp, x2, x1)
    return _divergence(xp, x1, x2, 0, 0)


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, x1, x2: _log_ratio_slope(xp, g, x1, x2, 0),
        lambda xp, g, x1, x2: xp.where(as_array(xp, x1, g) == 0, g, xp.unscale(xp.scale(g, x2 - x1), x2)),
    ),
    dtype="float",
    real=True,
)
def kl_div(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Kullback and Leibler's divergence ``x1 * log(x1 / x2) - x1 + x2``, which is never negative.

    The derivative with respect to ``x1`` is infinite where that is zero, but zero where both are.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.entropy import kl_div
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> kl_div(x, 1.0).sum().backward()
    >>> x.grad.tolist()
    [0.0, 0.6931]
    """
    x1, x2 = as_array(xp, x1, x2), as_array(xp, x2, x1)
    return _divergence(xp, x1, x2, x2 - x1, x2)


# -- exponentials ------------------------------------------------------------------------------------
#: The derivative of exprel in powers of x.
EXPREL_SLOPE = [(k + 1) / math.factorial(k + 2) for k in range(17, -1, -1)]


def _exprel_slope(xp: Any, g: Any, y: Any, x: Any) -> Any:
    near = xp.abs(x) < 1  # a series: no order of derivative cancels
    far = xp.where(near, 1, x)
    series = polynomial(xp.where(near, x, 0), EXPREL_SLOPE)
    low = far < 0
    part = (xp.exp(xp.where(low, far, 0)) - y) / far  # above zero exp(x) would overflow before its quotient
    return xp.where(near, g * series, xp.scale(g, xp.where(low, part, xp.where(y == math.inf, y, y + part))))


@primitive(ELEMENTWISE, vjp=_exprel_slope, dtype="float")
def exprel(xp: Any, x: Any, /) -> Any:
    """``(exp(x) - 1) / x``, and one at zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.special.entropy import exprel
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> exprel(x).sum().backward()
    >>> x.grad.tolist()
    [0.5, 1.0]
    """
    end = 716.35 if float(xp.finfo(x.dtype).max) > 1e300 else 93.25
    low = xp.where((x == 0) | (x > 50), 1, x)
    high = xp.where(x > 50, xp.minimum(x, end), 50)
    half = xp.exp(high * 0.5)  # its square may overflow where the quotient does not
    y = xp.where(x > 50, half / high * half, xp.expm1(low) / low)
    return xp.where(x == 0, 1, xp.where(x > end, math.inf, y))
