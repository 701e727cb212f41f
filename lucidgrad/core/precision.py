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
    return lambda function: _choosing(function, types.SimpleNamespace(precision=precision), precision == "full")


def rounded_once(function: F) -> F:
    """Let a function compute in float32 what its first tensor holds in 16 bits, and round its result.

    Under autocast the functions it is made of choose their precision. It must not write into its arguments.
    """
    return _choosing(function, None, True)


def _choosing(function: F, told: Any, rounds: bool) -> F:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        casting = state.casting if unusual else None
        if casting is None:
            for x in (args or kwargs.values()) if rounds else ():
                if isinstance(x, Box):
                    if x.array.dtype in halves:
                        return in_single(function, args, kwargs)
                    break
        elif told is not None:
            args, kwargs = casting(told, args), dict(zip(kwargs, casting(told, kwargs.values())))
        return function(*args, **kwargs)

    return run  # type: ignore[return-value]
