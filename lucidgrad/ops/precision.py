"""The precision that functions compute in: float32 for what is given in 16 bits, and what autocast chooses."""

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lucidgrad.core import device
from lucidgrad.core.box import Box
from lucidgrad.core.dispatch import SCALARS, bound, box, dtype_of, floats, halves, number, promoted
from lucidgrad.core.dtype import named, plain_name
from lucidgrad.core.modes import set_casting, state, unusual
from lucidgrad.core.primitive import Primitive, registry

F = TypeVar("F", bound=Callable[..., Any])


def in_single(function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Call a function with float32 for 16-bit floats, and round what it gives, once, unless something was wider.

    Casts are operations like any other: gradients are rounded once, too, and what nodes keep is not rounded at all.
    """
    cast, single = registry["astype"].op, named("float32")
    args, keywords = [number(x) for x in args], {name: number(x) for name, x in keywords.items()}
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


@functools.cache
def widest(*found: Any) -> Any:
    """The dtype that floats of several dtypes come to; None where they have one, or there are none."""
    names = {plain_name(dtype) for dtype in found if dtype in floats}
    return promoted(*map(named, names)) if len(names) > 1 else None


def in_widest(primitive: Primitive, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Call a primitive with its floats in the dtype that they come to, lest parts of it are computed in a narrower one.

    Casts are operations like any other: gradients come back in the dtypes that were given.
    """
    if all(type(x) in SCALARS for x in args):  # numbers alone, real and complex ones: they have dtypes as tensors
        args = [box(device.backend_named("cpu").asarray(x)) for x in args]
    found, wide = [dtype_of(x) for x in args], list(args)
    dtype, cast = widest(*(found[i] for i in primitive.values)), registry["astype"].op
    for i in primitive.values:
        if found[i] is not dtype and found[i] in floats:
            wide[i] = cast(args[i], dtype=dtype, copy=False)
    return primitive.op(*wide, **keywords)


bound.update(in_single=in_single, in_widest=in_widest, widest=widest)


def chosen(op: Any, *args: Any) -> tuple[Sequence[Any], bool]:
    """Floats for a primitive's function as autocast casts them, and whether all of them have 16 bits."""
    args = state.casting(op.primitive, args) if unusual and state.casting is not None else args
    return args, all(dtype_of(x) in halves for x in args)


def in_precision(precision: str) -> Callable[[F], F]:
    """Let a function choose its precision under autocast: ``"low"`` is 16 bits, ``"full"`` is float32.

    Without autocast the latter is `rounded_once`. The function must not write into its arguments.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.amp import in_precision
    >>> square = in_precision("full")(lambda x: x * x)
    >>> square(lg.tensor([3.0]))
    tensor([9.])
    """
    return lambda function: _choosing(function, types.SimpleNamespace(precision=precision), precision == "full")


def rounded_once(function: F) -> F:
    """Let a function compute in float32 what its first tensor of floats holds in 16 bits, and round its result.

    Under autocast the functions it is made of choose their precision. It must not write into its arguments.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.amp import rounded_once
    >>> thrice = rounded_once(lambda x: x + x + x)
    >>> thrice(lg.tensor([1.0], dtype=lg.float16))
    tensor([3.], dtype=float16)
    """
    return _choosing(function, None, True)


def _choosing(function: F, told: Any, rounds: bool) -> F:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        casting = state.casting if unusual else None
        if casting is None:
            for x in (args or kwargs.values()) if rounds else ():
                if isinstance(x, Box) and x.array.dtype in floats:
                    if x.array.dtype in halves:
                        return in_single(function, args, kwargs)
                    break
        elif told is not None:
            args, kwargs = casting(told, args), dict(zip(kwargs, casting(told, kwargs.values())))
        return function(*args, **kwargs)

    return run  # type: ignore[return-value]
