"""What a trace is told of an argument that is no array; a cache of kernels knows just that of it.

Both ask `told`: calls that are alike to a cache are alike to a trace, so no kernel meets a number it is not made for.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .expression import Untraceable

__all__ = ["PARAMETERS", "Value", "any_integer", "identity", "told", "traced"]

#: Types of numbers that become parameters of a kernel.
PARAMETERS = frozenset({int, float, complex})
#: Integers up to here are whole floats, too: C rounds none of them, and their negatives don't overflow.
_MOST = 2**53


class Value:
    """An argument whose value goes into the expression: a Python number, a keyword, None."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def identity(value: Any) -> Any:
    """What tells a value from all others in a key: 1, 1.0 and True are three, so are both zeros; NaN is one."""
    if isinstance(value, (float, complex, np.generic)):
        return type(value), repr(value)
    if type(value) is tuple:
        return tuple, tuple(map(identity, value))
    return type(value), value


def told(value: Any) -> Any:
    """The type of a number that becomes a parameter; the identity of one whose value is part of the kernel."""
    kind = type(value)
    if kind is float or kind is complex or (kind is int and -_MOST <= value <= _MOST):
        return kind
    if kind is int or kind is bool or value is None:
        return identity(value)
    raise Untraceable(f"an argument of type {kind.__name__}")


def traced(value: Any, array_type: Any, by_value: bool) -> Any:
    """The same for the trace: a dtype, the type of a parameter, or the value."""
    if type(value) is array_type:
        return value.dtype
    known = told(value)
    return known if known in PARAMETERS and not by_value else Value(value)


def any_integer(run: Callable[..., Any], array_type: Any) -> Callable[..., Any]:
    """A library's function that takes 64 bits at most, for all integers: beside floats they are floats anyway."""

    def kernel(*xs: Any, **keywords: Any) -> Any:
        try:
            return run(*xs, **keywords)
        except OverflowError:
            if not any(type(x) is array_type and x.dtype.kind in "fc" for x in xs):
                raise
            return run(*(float(x) if type(x) is int else x for x in xs), **keywords)

    return kernel
