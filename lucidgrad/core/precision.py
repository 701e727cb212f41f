"""The precision of functions that are made of others: they choose it as a primitive does."""

import functools
import types
from collections.abc import Callable
from typing import Any, TypeVar

from .dispatch import dtype_of, halves, in_single
from .modes import state, unusual

F = TypeVar("F", bound=Callable[..., Any])


def in_precision(precision: str) -> Callable[[F], F]:
    """Let a function compute in a precision.

    ``"full"``: in float32; what is given in 16 bits comes back in 16 bits, rounded once, and under autocast in float32.
    ``"low"``: under autocast in 16 bits. The function must not write into its arguments.
    """
    told = types.SimpleNamespace(precision=precision)

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            if unusual and state.casting is not None:
                args = state.casting(told, args)
                kwargs = dict(zip(kwargs, state.casting(told, kwargs.values())))
            first = args[0] if args else next(iter(kwargs.values()), None)
            if precision == "full" and dtype_of(first) in halves:
                return in_single(function, args, kwargs)
            return function(*args, **kwargs)

        return run  # type: ignore[return-value]

    return decorate
