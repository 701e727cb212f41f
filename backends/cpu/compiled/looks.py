"""Whether objects of Python's are where they were: many of them in one call of C.

C reads slots of objects where CPython keeps them; it is checked once that they lie where they should. Entries of
dictionaries it asks the interpreter for. The call holds the interpreter's lock, so that nothing changes meanwhile.
"""

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import building
from .library import LAYOUT_IS_KNOWN, OFFSET

__all__ = ["ANYTHING", "MOST", "Kinds", "Things", "differ", "offset", "strange"]

#: In the place of what is in a slot: anything but None.
ANYTHING = object()
#: Where objects keep their type: at the end of what all have.
_KIND = OFFSET - 8
#: So many tensors at most are looked at together.
MOST = 4096


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


def differ() -> Callable[[int], int] | None:
    """``differ(address)`` of `Things`: zero if all is as it was. None where C can't tell."""
    return _function("lg_differ", (ctypes.c_void_p,))


def strange(kind: Any) -> Callable[[int, int], int] | None:
    """``strange(address of the first item of a tuple, address)`` of `Kinds`: zero if all tensors are like that.

    None where C can't tell; ``kind`` is the class of tensors.
    """
    if None in [offset(kind, name) for name in ("array", "_node", "_grad")] or _word(kind, _KIND) != id(type(kind)):
        return None
    return _function("lg_strange", (ctypes.c_size_t, ctypes.c_void_p))


def _word(x: Any, at: int) -> int:
    """What stands somewhere in an object."""
    return ctypes.c_size_t.from_address(id(x) + at).value


@functools.cache
def _function(name: str, takes: tuple[Any, ...]) -> Callable[..., int] | None:
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    if not LAYOUT_IS_KNOWN or not locked or building.why_not() is not None:
        return None
    library = building.load("looks", ["looks.c"])
    if library is None:
        return None
    found = getattr(ctypes.PyDLL(library._name), name)
    found.argtypes, found.restype = list(takes), ctypes.c_long
    return found


@functools.cache
def offset(kind: Any, name: str) -> int | None:
    """Where objects of a type keep what is in a slot; None if that can't be found out."""
    if not LAYOUT_IS_KNOWN:
        return None
    mark, made = object(), kind.__new__(kind)
    setattr(made, name, mark)
    words = range(object.__basicsize__, kind.__basicsize__, ctypes.sizeof(ctypes.c_size_t))
    found = [k for k in words if _word(made, k) == id(mark)]
    delattr(made, name)
    return found[0] if len(found) == 1 and _word(made, found[0]) == 0 else None


def _offset_in(x: Any, name: str) -> int:
    kind: Any = type(x)
    return offset(kind, name) or 0


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
            _words([id(x) + _offset_in(x, name) for x, name, _ in slots]),
            _words([0 if value is ANYTHING else id(value) for _, _, value in slots]),
            _words(list(map(id, dictionaries))),
            _words(list(map(len, dictionaries))),
            _words(list(map(id, entries))),
        ]
        where, what, dictionary, sizes, pairs = map(ctypes.addressof, self._parts)
        following = ctypes.cast(ctypes.pythonapi.PyDict_Next, ctypes.c_void_p).value
        self._whole = _Things(len(slots), where, what, id(None), len(dictionaries), dictionary, sizes, pairs, following)
        self.address = ctypes.addressof(self._whole)


class _Kinds(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_long),
        ("tensor", ctypes.c_void_p),
        ("array", ctypes.c_void_p),
        ("none", ctypes.c_void_p),
        ("kind", ctypes.c_long),
        ("holds", ctypes.c_long),
        ("node", ctypes.c_long),
        ("grad", ctypes.c_long),
        ("data", ctypes.c_long),
        ("dtypes", ctypes.c_void_p),
        ("ranks", ctypes.c_void_p),
        ("sizes", ctypes.c_void_p),
        ("grown", ctypes.c_void_p),
    )


class Kinds:
    """Shapes, dtypes and histories of tensors on the CPU, which have no gradients: C compares others with them."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        kind, arrays = type(tensors[0]), [x.array for x in tensors]
        slots = [_offset_in(tensors[0], name) for name in ("array", "_node", "_grad")]
        self._alive = [kind, *(array.dtype for array in arrays)]
        self._parts = [
            _words([id(array.dtype) for array in arrays]),
            _words([array.ndim for array in arrays]),
            _words([n for array in arrays for n in array.shape]),
            _words([x._node is not None for x in tensors]),
        ]
        self._whole = _Kinds(
            len(tensors), id(kind), id(np.ndarray), id(None), _KIND, *slots, OFFSET, *map(ctypes.addressof, self._parts)
        )
        self.address = ctypes.addressof(self._whole)


def _words(values: Sequence[int]) -> Any:
    return (ctypes.c_size_t * (len(values) or 1))(*values)
