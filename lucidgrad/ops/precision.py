"""The precision that functions compute in: float32 for what is given in 16 bits, and what autocast chooses."""

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lucidgrad.core.box import Box
from lucidgrad.core.dispatch import bound, dtype_of, floats, halves
from lucidgrad.core.dtype import named
from lucidgrad.core.modes import set_casting, state, unusual
from lucidgrad.core.primitive import registry

F = TypeVar("F", bound=Callable[..., Any])


def in_single(function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Call a function with float32 for 16-bit floats, and round what it gives, once, unless something was wider.

    Casts are operations like any other: gradients are rounded once, too, and what nodes keep is not rounded at all.
    """
    cast, single = registry["astype"].op, named("float32")
    given, asked = {dtype_of(x) for x in (*args, *keywords.values())} & floats, keywords.get("dtype")
    target = asked if asked is not None else given.pop() if len(given) == 1 else single
    keywords = {**keywords, "dtype": single} if asked in halves else keywords

    def widened(x: Any) -> Any:
        return cast(x, dtype=single) if dtype_of(x) in halves else x

    def rounded(y: Any) -> Any:
        if isinstance(y, tuple):
            return type(y)._make(map(rounded, y)) if hasattr(y, "_make") else tuple(map(rounded, y))
        return cast(y, dtype=target) if dtype_of(y) == single else y

    casting = state.casting
    set_casting(None)  # autocast has chosen the dtype already
    try:
        y = function(*map(widened, args), **{name: widened(x) for name, x in keywords.items()})
    finally:
        set_casting(casting)
    return rounded(y) if target in halves else y


bound["in_single"] = in_single


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
