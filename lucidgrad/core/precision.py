"""The precision of functions that are made of others: they choose it as primitives do."""

import functools
import types
from collections.abc import Callable
from typing import Any, TypeVar

from .box import Box
from .dispatch import halves, in_single
from .modes import state, unusual

F = TypeVar("F", bound=Callable[..., Any])


def in_precision(precision: str) -> Callable[[F], F]:
    """Let a function choose its precision under autocast: ``"low"`` is 16 bits, ``"full"`` is float32.

    Without autocast the latter is `rounded_once`. The function must not write into its arguments.
    """
    told = types.SimpleNamespace(precision=precision)

    def decorate(function: F) -> F:
        usual = rounded_once(function) if precision == "full" else function

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            if unusual and state.casting is not None:
                args = state.casting(told, args)
                kwargs = dict(zip(kwargs, state.casting(told, kwargs.values())))
                return function(*args, **kwargs)
            return usual(*args, **kwargs)

        return run  # type: ignore[return-value]

    return decorate


def rounded_once(function: F) -> F:
    """Let a function compute in float32 what its first tensor holds in 16 bits, and round its result.

    Under autocast the functions it is made of choose their precision. It must not write into its arguments.
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        for x in args or kwargs.values():
            if isinstance(x, Box):
                if x.array.dtype in halves and (not unusual or state.casting is None):
                    return in_single(function, args, kwargs)
                break
        return function(*args, **kwargs)

    return run  # type: ignore[return-value]
