"""Sums, products, quotients and remainders."""

import operator
from collections.abc import Callable
from typing import Any

from lucidgrad.core import dtype as dtypes
from lucidgrad.core.box import Box
from lucidgrad.core.dispatch import SCALARS, number
from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.core.primitive import ELEMENTWISE, primitive
from lucidgrad.ops.conventions import dressed
from lucidgrad.ops.numbers import as_array, evened

from .choice import where
from .complex import abs
from .copies import astype
from .rounding import trunc

_ONE = 1  # what a factor is where none is given


def times(alpha: Any, other: Any) -> Any:
    """``alpha * other``, where alpha may be a number that changes nothing."""
    if type(alpha) is int and alpha == 1:
        return other
    numbers = isinstance(alpha, SCALARS) and isinstance(other, SCALARS)
    return alpha * other if numbers else multiply(alpha, other)


def _with_factor(op: Callable[..., Any]) -> Callable[..., Any]:
    """The second of two arrays may have a factor, as PyTorch's ``alpha``."""

    def combined(x1: Any, x2: Any, /, *, alpha: Any = 1) -> Any:
        return op(x1, x2 if alpha is _ONE else times(alpha, x2))

    return dressed(combined, op)


@_with_factor
@primitive(ELEMENTWISE, vjp=(lambda xp, g: g, lambda xp, g: g))
def add(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Sum ``x1 + x2``, or ``x1 + alpha * x2``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.add(x, 3.0).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    """
    return xp.add(x1, x2)


@_with_factor
@primitive(ELEMENTWISE, vjp=(lambda xp, g: g, lambda xp, g: -g))
def subtract(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Difference ``x1 - x2``, or ``x1 - alpha * x2``.

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


# -- quotients and remainders --------------------------------------------------------------------
def div(x1: Any, x2: Any, /, rounding_mode: str | None = None) -> Any:
    """Quotient ``x1 / x2``, rounded with a mode: ``"trunc"`` towards zero, ``"floor"`` down (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([7.0, -7.0], requires_grad=True)
    >>> lg.div(x, 2.0).sum().backward()
    >>> x.grad.tolist(), lg.div(x, 2.0, rounding_mode="trunc").tolist()
    ([0.5, 0.5], [3.0, -3.0])
    """
    if rounding_mode is None:
        return divide(x1, x2)
    if rounding_mode == "floor":
        return floor_divide(x1, x2)
    if rounding_mode != "trunc":
        raise RuntimeError(f"div: given rounding_mode={rounding_mode!r}, expected None, 'floor' or 'trunc'")
    if any(isinstance(x, float) or (hasattr(x, "dtype") and dtypes.rank(x.dtype) > 1) for x in (x1, x2)):
        return trunc(divide(x1, x2))
    y = floor_divide(x1, x2)
    below = ops.logical_and(ops.not_equal(x1 - y * x2, 0), ops.less(y, 0))
    return y + astype(below, dtype=y.dtype)


div.primitive = divide.primitive  # type: ignore[attr-defined]  # which it is without a mode


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


def _fmod_second(xp: Any, g: Any, x1: Any, x2: Any) -> Any:
    """Minus the truncated quotient, taken from ``x1 - fmod(x1, x2)``: ``x1 / x2`` may round up to the next integer."""
    return -xp.scale(g, xp.round((x1 - xp.fmod(x1, x2)) / x2))


@primitive(ELEMENTWISE, vjp=(lambda xp, g: g, _fmod_second))
def fmod(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Remainder of the division that is rounded towards zero; it has the sign of ``x1``.

    The derivatives are 1 and minus the rounded quotient, also where that jumps.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0, 3.0], requires_grad=True)
    >>> y = lg.fmod(-7.0, x)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([-1.0, -1.0], [3.0, 2.0])
    """
    x1, x2 = as_array(xp, x1, x2), as_array(xp, x2, x1)
    rest = xp.remainder(xp.abs(x1), xp.abs(x2))
    return xp.where(x1 < 0, -rest, rest)


# -- in rules ------------------------------------------------------------------------------------
@primitive(ELEMENTWISE, vjp=(lambda xp, g, x2: xp.scale(g, x2), lambda xp, g, x1: xp.scale(x1, g)))
def scale(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Product in rules: zero where ``x1`` is zero, even if ``x2`` is infinite or NaN there."""
    return xp.where(x1 == 0, x1, x1 * x2)


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


# -- of several arrays ---------------------------------------------------------------------------
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
    way, weight = subtract(end, start), number(weight)
    if isinstance(weight, (int, float)):
        near = -0.5 < weight < 0.5
        return add(start, multiply(way, weight)) if near else subtract(end, multiply(way, 1 - weight))
    weight = weight if isinstance(weight, Box) else positive(weight)  # which takes arrays and refuses the rest
    if dtypes.rank(weight.dtype) < 2:
        weight = astype(weight, dtype=way.dtype)  # 1 - weight is not to wrap around
    near, far = add(start, multiply(way, weight)), subtract(end, multiply(way, subtract(1, weight)))
    return where(abs(weight) < 0.5, near, far)


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


def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """``input + value * tensor1 * tensor2`` (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2, requires_grad=True)
    >>> lg.addcmul(lg.zeros(2), x, lg.asarray([3.0, 4.0]), value=0.5).sum().backward()
    >>> x.grad.tolist()
    [1.5, 2.0]
    """
    y = multiply(tensor1, tensor2)
    y = y if type(value) is int and value == 1 else multiply(y, value)
    z = add(input, y)
    return z if z.array.dtype is y.array.dtype else _wider(addcmul, z, (input, tensor1, tensor2), value)


def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """``input + value * tensor1 / tensor2`` (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2, requires_grad=True)
    >>> lg.addcdiv(lg.zeros(2), x, lg.asarray([2.0, 4.0])).sum().backward()
    >>> x.grad.tolist()
    [0.5, 0.25]
    """
    y = divide(tensor1, tensor2)
    y = y if type(value) is int and value == 1 else multiply(y, value)
    z = add(input, y)
    return z if z.array.dtype is y.array.dtype else _wider(addcdiv, z, (input, tensor1, tensor2), value)


def _wider(function: Callable[..., Any], z: Any, given: tuple[Any, ...], value: Any) -> Any:
    """The result again, from the start in the dtype that floats come to, if a part had a narrower one."""
    wide = evened(*given)
    return z if wide is given or all(map(operator.is_, wide, given)) else function(*wide, value=value)


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """``other - alpha * input`` (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2, requires_grad=True)
    >>> lg.rsub(x, 1.0, alpha=2).sum().backward()
    >>> x.grad.tolist()
    [-2.0, -2.0]
    """
    return subtract(other, multiply(input, alpha))
