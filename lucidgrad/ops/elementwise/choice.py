"""Choosing between values: by a condition, by size, within bounds."""

from collections.abc import Callable
from typing import Any

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.core.primitive import ELEMENTWISE, primitive
from lucidgrad.ops.conventions import dressed


@primitive(
    ELEMENTWISE,
    vjp=(
        None,
        lambda xp, g, condition: xp.where(condition, g, 0),
        lambda xp, g, condition: xp.where(condition, 0, g),
    ),
)
def where(xp: Any, condition: Any, x1: Any, x2: Any, /) -> Any:
    """``x1`` where the condition holds, else ``x2``; the one not taken gets a gradient of exactly zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 4.0], requires_grad=True)
    >>> lg.where(x > 0, lg.sqrt(x), 0.0).sum().backward()
    >>> x.grad.tolist()
    [0.0, 0.25]
    """
    return xp.where(condition, x1, x2)


def _lesser_gets_none(xp: Any, g: Any, x: Any, other: Any) -> Any:
    return xp.where(x < other, 0, xp.where(x == other, g * 0.5, g))


def _greater_gets_none(xp: Any, g: Any, x: Any, other: Any) -> Any:
    return xp.where(x > other, 0, xp.where(x == other, g * 0.5, g))


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, x1, x2: _lesser_gets_none(xp, g, x1, x2),
        lambda xp, g, x1, x2: _lesser_gets_none(xp, g, x2, x1),
    ),
)
def maximum(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The greater of two; equal ones share the gradient evenly.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> lg.maximum(x, 2.0).sum().backward()
    >>> x.grad.tolist()
    [0.0, 0.5, 1.0]
    """
    return xp.maximum(x1, x2)


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, x1, x2: _greater_gets_none(xp, g, x1, x2),
        lambda xp, g, x1, x2: _greater_gets_none(xp, g, x2, x1),
    ),
)
def minimum(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The lesser of two; equal ones share the gradient evenly.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> lg.minimum(x, 2.0).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.5, 0.0]
    """
    return xp.minimum(x1, x2)


def fmax(x1: Any, x2: Any, /) -> Any:
    """The greater of two, or the one that is not NaN; of equal ones the first gets the gradient.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, float("nan")], requires_grad=True)
    >>> y = lg.fmax(x, 2.0)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([2.0, 2.0, 2.0], [0.0, 1.0, 0.0])
    """
    return _sound(x1, x2, ops.greater_equal)


def fmin(x1: Any, x2: Any, /) -> Any:
    """The lesser of two, or the one that is not NaN; of equal ones the first gets the gradient.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, float("nan")], requires_grad=True)
    >>> y = lg.fmin(x, 2.0)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([1.0, 2.0, 2.0], [1.0, 1.0, 0.0])
    """
    return _sound(x1, x2, ops.less_equal)


def _sound(x1: Any, x2: Any, wins: Callable[[Any, Any], Any]) -> Any:
    """The first of two where it wins, or where the second is NaN."""
    return where(ops.logical_or(wins(x1, x2), ops.not_equal(x2, x2) if hasattr(x2, "dtype") else x2 != x2), x1, x2)


def _named_bounds(op: Callable[..., Any]) -> Callable[..., Any]:
    """Bounds are arrays, so positional for the engine; the standard also has them by keyword."""

    def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
        return op(x, min, max)

    return dressed(clip, op)


def _clip_x(xp: Any, g: Any, x: Any, min: Any, max: Any) -> Any:
    if min is not None:
        g = xp.where(x >= min, g, 0)
    return g if max is None else xp.where(x <= max, g, 0)


def _clip_min(xp: Any, g: Any, x: Any, min: Any, max: Any) -> Any:
    g = xp.where(x < min, g, 0)
    return g if max is None else xp.where(min < max, g, 0)


def _clip_max(xp: Any, g: Any, x: Any, min: Any, max: Any) -> Any:
    over = x > max
    return xp.where(over if min is None else over | (max < min), g, 0)


@_named_bounds
@primitive(ELEMENTWISE, vjp=(_clip_x, _clip_min, _clip_max))
def clip(xp: Any, x: Any, min: Any = None, max: Any = None, /) -> Any:
    """Values below ``min`` become ``min``, those above ``max`` become ``max``; None is no bound.

    The gradient goes to the value within the bounds (and on them), else to the bound that is active.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 0.5, 2.0], requires_grad=True)
    >>> lg.clip(x, 0.0, 1.0).sum().backward()
    >>> x.grad.tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    y = x if min is None else xp.maximum(x, min)
    y = y if max is None else xp.minimum(y, max)
    return xp.astype(x, dtype=x.dtype) if min is None and max is None else y


clamp = clip


def clamp_min(x: Any, min: Any) -> Any:
    """Values below ``min`` become ``min`` (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.clamp_min(x, 0.0).sum().backward()
    >>> x.grad.tolist()
    [0.0, 1.0]
    """
    return clip(x, min)


def clamp_max(x: Any, max: Any) -> Any:
    """Values above ``max`` become ``max`` (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.clamp_max(x, 0.0).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.0]
    """
    return clip(x, None, max)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: xp.where(xp.isfinite(x), g, 0))
def nan_to_num(xp: Any, x: Any, /, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """Numbers in place of NaN and infinities (None: the greatest and least finite one), with gradient zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, float("nan")], requires_grad=True)
    >>> lg.nan_to_num(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.0]
    """
    limits = xp.finfo(x.dtype)
    y = xp.where(xp.isnan(x), nan, x)
    y = xp.where(x == float("inf"), limits.max if posinf is None else posinf, y)
    return xp.where(x == -float("inf"), limits.min if neginf is None else neginf, y)


@primitive(ELEMENTWISE, vjp=(lambda xp, g, i, *, scale: xp.thin(g, i, scale=scale), None))
def thin(xp: Any, x: Any, i: Any, /, *, scale: float = 1.0) -> Any:
    """``x * scale`` where i is true, and zero elsewhere; only i is kept, a byte per element.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.elementwise.choice import thin
    >>> x = lg.ones(2, requires_grad=True)
    >>> thin(x, lg.asarray([True, False]), scale=2.0).sum().backward()
    >>> x.grad
    tensor([2., 0.])
    """
    return xp.where(i, x * scale, 0)
