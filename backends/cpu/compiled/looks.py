"""Whether objects of Python's are where they were: many of them in one call of C.

C reads slots of objects where CPython keeps them; it is checked once that they lie where they should. Entries of
dictionaries it asks the interpreter for. The call holds the interpreter's lock, so that nothing changes meanwhile.
"""

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import building

__all__ = ["ANYTHING", "Things", "differ", "offset"]

#: In the place of what is in a slot: anything but None.
ANYTHING = object()


class _Things(ctypes.Structure):
    _fields_ = (
        ("slots", ctypes.c_long),
        ("where", ctypes.c_void_p),
        ("what", ctypes.c_void_p),
        ("none", ctypes.c_void_p),
        ("dictionaries", ctypes.c_long),
        ("dictionary", ctypes.c_void_p),
        ("sizes", ctypes.c_void_p),
        ("entries", ctypes.c_void_p),
        ("next", ctypes.c_void_p),
    )


@functools.cache
def differ() -> Callable[[int], int] | None:
    """``differ(address)`` of `Things`: zero if all is as it was. None where C can't tell."""
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or not locked or building.why_not() is not None:
        return None
    library = building.load("looks", ["looks.c"])
    if library is None:
        return None
    found = ctypes.PyDLL(library._name).lg_differ
    found.argtypes, found.restype = [ctypes.c_void_p], ctypes.c_long
    return found  # type: ignore[no-any-return]


@functools.cache
def offset(kind: Any, name: str) -> int | None:
    """Where objects of a type keep what is in a slot; None if that can't be found out."""
    mark, made = object(), kind.__new__(kind)
    setattr(made, name, mark)
    words = range(object.__basicsize__, kind.__basicsize__, ctypes.sizeof(ctypes.c_size_t))
    found = [k for k in words if ctypes.c_size_t.from_address(id(made) + k).value == id(mark)]
    delattr(made, name)
    if len(found) != 1 or ctypes.c_size_t.from_address(id(made) + found[0]).value != 0:
        return None
    return found[0]


class Things:
    """Slots of objects and dictionaries, as they are now: C compares them by `address`.

    Parameters
    ----------
    slots
        Objects, names of slots, and what is in them.
    dictionaries
        Which are compared as a whole, keys and values.
    """

    def __init__(self, slots: Sequence[tuple[Any, str, Any]], dictionaries: Sequence[dict[Any, Any]]) -> None:
        entries = [part for holder in dictionaries for pair in holder.items() for part in pair]
        self._alive = [*slots, *dictionaries, *entries]  # so that no other objects get their addresses
        self._parts = [
            _words([id(x) + (offset(type(x), name) or 0) for x, name, _ in slots]),
            _words([0 if value is ANYTHING else id(value) for _, _, value in slots]),
            _words(list(map(id, dictionaries))),
            _words(list(map(len, dictionaries))),
            _words(list(map(id, entries))),
        ]
        where, what, dictionary, sizes, pairs = map(ctypes.addressof, self._parts)
        following = ctypes.cast(ctypes.pythonapi.PyDict_Next, ctypes.c_void_p).value
        self._whole = _Things(len(slots), where, what, id(None), len(dictionaries), dictionary, sizes, pairs, following)
        self.address = ctypes.addressof(self._whole)


def _words(values: list[int]) -> Any:
    return (ctypes.c_size_t * (len(values) or 1))(*values)
