"""The same values elsewhere: in another dtype, on another device, in memory of their own; and arrays of one value."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from lucidgrad.core import device as devices, dtype as dtypes
from lucidgrad.core.primitive import ELEMENTWISE, LINEAR, primitive
from lucidgrad.ops.conventions import dressed

P = ParamSpec("P")
R = TypeVar("R")


def itself(call: Any, values: Any, batched: Any, keywords: dict[str, Any]) -> Any:
    """Batching for linear primitives that act on each element."""
    return call(*values, **keywords)


@primitive(LINEAR, vjp=lambda xp, g, x_meta: xp.transfer(g, device=str(x_meta.device)), batch=itself)
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


@primitive(LINEAR, vjp=lambda xp, g: g, batch=itself)
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
        return clone(y) if _same_memory(y.array, getattr(of, "array", of)) else y

    with_own_memory.around = apart  # type: ignore[attr-defined]  # what is to be said of the function's methods, too
    return with_own_memory


def _same_memory(y: Any, x: Any) -> bool:
    """Whether two arrays lie in the same memory."""
    if type(y) is not type(x):
        return False
    storage = devices.by_array[type(y)].storage
    return storage(y) is storage(x)


# -- casting -------------------------------------------------------------------------------------
@primitive(LINEAR, batch=itself, view=True)
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

    return dressed(astype, op)


@_by_target
@primitive(LINEAR, vjp=lambda xp, g: g, batch=itself, view=True)
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


# -- arrays of one value, in rules ---------------------------------------------------------------
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
