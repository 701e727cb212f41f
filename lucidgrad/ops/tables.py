"""Tables that functions read beside their tensors, of places or weights; where copies are queued they are kept."""

from collections.abc import Callable, Hashable
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.dispatch import box
from lucidgrad.levels.traced import current

__all__ = ["kept"]

_MOST = 256
_tables: dict[Hashable, Any] = {}


def kept(like: Any, key: Hashable, make: Callable[[], Any]) -> Any:
    """The tensor that ``make()`` gives, for a tensor beside it; on a device with streams it is made once for a key.

    It belongs to the stream that it was made on, where nobody has to wait for it. While a program is traced it is
    made afresh: it becomes a constant there.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.tables import kept
    >>> kept(lg.ones(2), "an example", lambda: lg.asarray([1, 2])).tolist()
    [1, 2]
    """
    find = device.places.get(type(like.array))
    place = None if find is None else find(like.array)  # a level's is that of what it is made of
    if place is None or current.get() is not None:
        return make()
    key = (place, key)
    found = _tables.get(key)
    if found is None:
        found = make().array
        if len(_tables) >= _MOST:
            _tables.clear()
        _tables[key] = found
    return box(found)
