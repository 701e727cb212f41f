"""Moving arrays between devices."""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core import device as devices
from lucidgrad.core.primitive import LINEAR, primitive


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
