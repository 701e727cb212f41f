"""Elementwise arithmetic: sums, products, choosing, casting.

Exponentials, powers and circular functions are in `transcendental`, modulus, sign, rounding and the
parts of complex numbers in `parts`; both reach their users from here.

Where a derivative can be infinite, rules multiply with `scale` and divide with `unscale`, which leave a
cotangent of zero zero, in every order: so the branch that ``where`` did not take adds nothing, whatever its
value. Plain products are exempt for the sake of speed: a factor that is infinite itself still gives NaN.
At kinks the derivative is PyTorch's; each docstring says which where there is one.
"""

from collections.abc import Callable
from typing import Any

from lucidgrad.core import dtype as dtypes
from lucidgrad.core.primitive import ELEMENTWISE, LINEAR, primitive

from . import parts, transcendental
from .movement import transfer
from .parts import *  # noqa: F403
from .transcendental import *  # noqa: F403

__all__ = [
    *parts.__all__, *transcendental.__all__,
    "add", "astype", "clip", "deg2rad", "divide", "floor_divide", "lerp", "maximum", "minimum",
    "multiply", "nan_to_num", "negative", "positive", "rad2deg", "reciprocal", "remainder", "square",
    "subtract", "where",
]  # fmt: skip


# -- arithmetic ----------------------------------------------------------------------------------
@primitive(ELEMENTWISE, vjp=(lambda xp, g: g, lambda xp, g: g))
def add(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Sum ``x1 + x2``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.add(x, 3.0).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    """
    return xp.add(x1, x2)


@primitive(ELEMENTWISE, vjp=(lambda xp, g: g, lambda xp, g: -g))
def subtract(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Difference ``x1 - x2``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.subtract(3.0, x).sum().backward()
    >>> x.grad.tolist()
    [-1.0, -1.0]
    """
    return xp.subtract(x1, x2)


@primitive(ELEMENTWISE, vjp=(lambda xp, g, x2: g * x2, lambda xp, g, x1: g * x1))
def multiply(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Product ``x1 * x2``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.multiply(x, x).sum().backward()
    >>> x.grad.tolist()
    [2.0, 4.0]
    """
    return xp.multiply(x1, x2)


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, x2: xp.unscale(g, x2),
        lambda xp, g, x1, x2: -xp.scale(xp.unscale(g, x2), x1 / x2),  # y may be overwritten
    ),
    dtype="float",
)
def divide(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Quotient ``x1 / x2``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.divide(1.0, x).sum().backward()
    >>> x.grad.tolist()
    [-1.0, -0.25]
    """
    return xp.divide(x1, x2)


@primitive(ELEMENTWISE, vjp=(lambda xp, g, x2: xp.scale(g, x2), lambda xp, g, x1: xp.scale(x1, g)))
def scale(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Product in rules: zero where ``x1`` is zero, even if ``x2`` is infinite or NaN there."""
    return xp.where(x1 == 0, x1, x1 * x2)


# Second derivatives go through these as one node each, and keep no more than what they are given; s is the value.
@primitive(ELEMENTWISE, vjp=(lambda xp, g, s: xp.tanh_pull(g, s), lambda xp, g, h, s: g * h * s * -2))
def tanh_pull(xp: Any, h: Any, s: Any, /) -> Any:
    """The rule of `tanh`: what a cotangent h of its value becomes."""
    return h - h * (s * s)


@primitive(ELEMENTWISE, vjp=(lambda xp, g, s: xp.sigmoid_pull(g, s), lambda xp, g, h, s: g * h * (1 - 2 * s)))
def sigmoid_pull(xp: Any, h: Any, s: Any, /) -> Any:
    """The rule of `sigmoid`: what a cotangent h of its value becomes."""
    return h * (s - s * s)


@primitive(
    ELEMENTWISE,
    vjp=(
        lambda xp, g, x2: xp.unscale(g, x2),
        lambda xp, g, y, x2: -xp.scale(xp.unscale(y, x2), g),
    ),
)
def unscale(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Quotient in rules: zero where ``x1`` is zero, even if ``x2`` is zero or NaN there."""
    return xp.where(x1 == 0, x1, x1 / x2)


@primitive(ELEMENTWISE, vjp=lambda xp, g: -g)
def negative(xp: Any, x: Any, /) -> Any:
    """The negative ``-x``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.negative(x).sum().backward()
    >>> x.grad.tolist()
    [-1.0, -1.0]
    """
    return xp.negative(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g: g)
def positive(xp: Any, x: Any, /) -> Any:
    """A copy, ``+x``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.positive(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    """
    return xp.positive(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * (x + x))
def square(xp: Any, x: Any, /) -> Any:
    """The square ``x * x``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.square(x).sum().backward()
    >>> x.grad.tolist()
    [2.0, 4.0]
    """
    return xp.square(x)


@primitive(ELEMENTWISE, vjp=lambda xp, g, y: -xp.scale(xp.scale(g, y), y), dtype="float", precision="full")
def reciprocal(xp: Any, x: Any, /) -> Any:
    """The reciprocal ``1 / x``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.reciprocal(x).sum().backward()
    >>> x.grad.tolist()
    [-1.0, -0.25]
    """
    return xp.reciprocal(x)


def _remainder_by_divisor(xp: Any, g: Any, x1: Any, x2: Any) -> Any:
    below = xp.isinf(x2) & ((x1 < 0) != (x2 < 0)) & (x1 != 0)  # there the standard's quotient is -0, not -1
    return -xp.scale(g, xp.where(below, -1, xp.floor_divide(x1, x2)))


@primitive(ELEMENTWISE, vjp=(lambda xp, g: g, _remainder_by_divisor))
def remainder(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Remainder ``x1 % x2`` of the floored division; it has the sign of ``x2``.

    Its derivatives are 1 and ``-(x1 // x2)``, at its jumps too.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0, 3.0], requires_grad=True)
    >>> lg.remainder(7.0, x).sum().backward()
    >>> x.grad.tolist()
    [-3.0, -2.0]
    """
    return xp.remainder(x1, x2)


@primitive(ELEMENTWISE, vjp=(lambda xp, g: xp.zeros_like(g), lambda xp, g: xp.zeros_like(g)))
def floor_divide(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Floored quotient ``x1 // x2``; its derivative is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.floor_divide(lg.tensor([5.0, -5.0]), 2.0).tolist()
    [2.0, -3.0]
    """
    return xp.floor_divide(x1, x2)


def lerp(start: Any, end: Any, weight: Any) -> Any:
    """Linear interpolation: ``start`` for weight 0, exactly ``end`` for weight 1.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.tensor([0.25, 0.5], requires_grad=True)
    >>> lg.lerp(lg.tensor([0.0, 1.0]), lg.tensor([4.0, 3.0]), w).sum().backward()
    >>> w.grad.tolist()
    [4.0, 2.0]
    """
    way = subtract(end, start)
    if isinstance(weight, (int, float)):
        near = -0.5 < weight < 0.5
        return add(start, multiply(way, weight)) if near else subtract(end, multiply(way, 1 - weight))
    if dtypes.rank(weight.dtype) < 2:
        weight = astype(weight, dtype=way.dtype)  # 1 - weight is not to wrap around
    near, far = add(start, multiply(way, weight)), subtract(end, multiply(way, subtract(1, weight)))
    return where(parts.abs(weight) < 0.5, near, far)


def deg2rad(x: Any, /) -> Any:
    """Degrees as radians.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([180.0], requires_grad=True)
    >>> lg.deg2rad(x).sum().backward()
    >>> x.grad.tolist()
    [0.017453]
    """
    return multiply(x, 0.017453292519943295)


def rad2deg(x: Any, /) -> Any:
    """Radians as degrees.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0], requires_grad=True)
    >>> lg.rad2deg(x).sum().backward()
    >>> x.grad.tolist()
    [57.2958]
    """
    return multiply(x, 57.29577951308232)


# -- choosing ------------------------------------------------------------------------------------
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


def _named_bounds(op: Callable[..., Any]) -> Callable[..., Any]:
    """Bounds are arrays, so positional for the engine; the standard also has them by keyword."""

    def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
        return op(x, min, max)

    return parts.dressed(clip, op)


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


# -- casting and filling -------------------------------------------------------------------------
@primitive(LINEAR, batch=parts.itself, view=True)
def cast_discrete(xp: Any, x: Any, /, dtype: Any, *, copy: bool = True) -> Any:
    """Integers or booleans of an array: a result that never wants a gradient."""
    return xp.astype(x, dtype=dtype, copy=copy)


def _by_target(op: Callable[..., Any]) -> Callable[..., Any]:
    """Casts to floats are differentiable; casts to integers and booleans end the history."""

    def astype(x: Any, /, dtype: Any, *, copy: bool = True, device: Any = None) -> Any:
        dtype = dtypes.named(dtype) if isinstance(dtype, str) else dtype
        name = str(dtype)
        cast = op if "float" in name or "complex" in name else cast_discrete
        y = cast(x, dtype=dtype, copy=copy)
        return y if device is None or device == y.device else transfer(y, device=str(device))

    return parts.dressed(astype, op)


@_by_target
@primitive(LINEAR, vjp=lambda xp, g: g, batch=parts.itself, view=True)
def astype(xp: Any, x: Any, /, dtype: Any, *, copy: bool = True) -> Any:
    """The values in another dtype; without ``copy`` the array itself if it has that dtype already.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.astype(x, lg.float64).sum().backward()
    >>> x.grad.dtype
    dtype('float32')
    >>> lg.astype(x, lg.int64).requires_grad
    False
    """
    return xp.astype(x, dtype=dtype, copy=copy)


@primitive(ELEMENTWISE)
def zeros_like(xp: Any, x: Any, /) -> Any:
    """Zeros of an array's shape and dtype, in rules."""
    return xp.zeros_like(x)


@primitive(ELEMENTWISE)
def ones_like(xp: Any, x: Any, /) -> Any:
    """Ones of an array's shape and dtype, in rules."""
    return xp.ones_like(x)


@primitive(ELEMENTWISE)
def full_like(xp: Any, x: Any, /, fill_value: Any) -> Any:
    """One value in an array's shape and dtype, in rules."""
    return xp.full_like(x, fill_value)
