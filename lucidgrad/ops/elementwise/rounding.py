"""Rounding, steps, and neighbours among the numbers of a dtype."""

from collections.abc import Callable
from typing import Any

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.core.primitive import ELEMENTWISE, primitive
from lucidgrad.extents import check_count
from lucidgrad.ops.conventions import dressed
from lucidgrad.ops.numbers import is_inexact


def _zero(xp: Any, g: Any) -> Any:
    """The rule of step functions: flat wherever they have a derivative."""
    return xp.zeros_like(g)


@primitive(ELEMENTWISE, vjp=_zero)
def ceil(xp: Any, x: Any, /) -> Any:
    """The least integer not below; its derivative is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ceil(lg.tensor([1.5, -1.5])).tolist()
    [2.0, -1.0]
    """
    return xp.ceil(x)


@primitive(ELEMENTWISE, vjp=_zero)
def floor(xp: Any, x: Any, /) -> Any:
    """The greatest integer not above; its derivative is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.floor(lg.tensor([1.5, -1.5])).tolist()
    [1.0, -2.0]
    """
    return xp.floor(x)


@primitive(ELEMENTWISE, vjp=_zero)
def trunc(xp: Any, x: Any, /) -> Any:
    """The integer part, towards zero; its derivative is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.trunc(lg.tensor([1.5, -1.5])).tolist()
    [1.0, -1.0]
    """
    return xp.trunc(x)


def _with_decimals(op: Callable[..., Any]) -> Callable[..., Any]:
    """Rounding may keep some decimals, or with a negative number of them round to tens, hundreds, ..."""

    def round(x: Any, /, decimals: int = 0) -> Any:
        if type(decimals) is int and decimals == 0:
            return op(x)
        decimals = check_count("round", "decimals", decimals, -300, 300)
        if not is_inexact(x.dtype):
            return op(x) if decimals > 0 else ops.astype(round(x * 1.0, decimals), dtype=x.dtype)
        scale = 10.0 ** abs(decimals)
        return op(x * scale) / scale if decimals > 0 else op(x / scale) * scale

    return dressed(round, op)


@_with_decimals
@primitive(ELEMENTWISE, vjp=_zero)
def round(xp: Any, x: Any, /) -> Any:
    """The nearest integer, or number of so many decimals, halves to even; its derivative is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.round(lg.tensor([0.5, 1.5, 2.6])).tolist()
    [0.0, 2.0, 3.0]
    """
    return xp.round(x)


@primitive(ELEMENTWISE, dtype="float", real=True)
def heaviside(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Step function: 0 below zero, 1 above, ``x2`` at zero; not differentiable.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.heaviside(lg.tensor([-1.0, 0.0, 1.0]), 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    return xp.where(x1 == 0, x2, xp.where(x1 < 0, 0, xp.where(x1 > 0, 1, x1)))


@primitive(ELEMENTWISE, dtype="float", real=True)
def nextafter(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The next number that the dtype can represent after ``x1`` towards ``x2``; not differentiable.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> bool(lg.nextafter(lg.tensor(1.0), lg.tensor(2.0)) > 1.0)
    True
    """
    return xp.nextafter(x1, x2)
