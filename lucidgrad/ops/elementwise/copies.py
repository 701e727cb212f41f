"""Moving arrays between devices, and into memory of their own."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from lucidgrad.core import device as devices
from lucidgrad.core.primitive import LINEAR, primitive

P = ParamSpec("P")
R = TypeVar("R")


def _batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    return call(*values, **keywords)


@primitive(LINEAR, vjp=lambda xp, g, x_meta: xp.transfer(g, device=str(x_meta.device)), batch=_batch)
def transfer(xp: Any, x: Any, /, *, device: str, non_blocking: bool = False) -> Any:
    """A copy of an array on another device; gradients travel back.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2, requires_grad=True)
    >>> x.to("cpu") is x
    True
    """
    return devices.backend_named(device).receive(x, devices.backend_of(x), device, non_blocking)


@primitive(LINEAR, vjp=lambda xp, g: g, batch=_batch)
def clone(xp: Any, x: Any, /) -> Any:
    """A copy in memory of its own, with history.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2, requires_grad=True)
    >>> lg.clone(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    """
    return devices.backend_of(x).copy(x)


def apart(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function as no view: a result that would share its first argument's memory is copied."""

    @functools.wraps(function)
    def with_own_memory(*args: P.args, **keywords: P.kwargs) -> R:
        y: Any = function(*args, **keywords)
        of: Any = args[0] if args else next(iter(keywords.values()))
        return clone(y) if _share(y.array, getattr(of, "array", of)) else y

    return with_own_memory


def _share(y: Any, x: Any) -> bool:
    """Whether two arrays lie in the same memory."""
    if type(y) is not type(x):
        return False
    storage = devices.by_array[type(y)].storage
    return storage(y) is storage(x)
