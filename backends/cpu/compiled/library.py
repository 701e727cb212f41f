"""The hand-written C kernels of one file, for float32 and float64, found when first called."""

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from struct import pack
from typing import Any

import numpy as np

from . import building, threads

_SUFFIX = {"f": "_f", "d": "_d"}
#: Where an array object keeps the address of its elements: behind what all objects have.
OFFSET = object.__basicsize__
_read = ctypes.c_size_t.from_address


def address(x: Any) -> int:
    """Where an array's elements lie; an eighth of the time that NumPy's own attributes take."""
    return _read(id(x) + OFFSET).value


def _asked(x: Any) -> int:
    return x.ctypes.data


def _is_laid_out(x: Any) -> bool:
    """Whether an array object is as `arrays.h` says."""
    at, long, rank = id(x) + OFFSET, ctypes.c_long, x.ndim
    return (
        sys.implementation.name == "cpython"
        and ctypes.sizeof(long) == ctypes.sizeof(ctypes.c_void_p) == 8
        and address(x) == _asked(x)
        and ctypes.c_int.from_address(at + 8).value == rank
        and tuple((long * rank).from_address(_read(at + 16).value)) == x.shape
        and tuple((long * rank).from_address(_read(at + 24).value)) == x.strides
        and _read(at + 40).value == id(x.dtype)
    )


#: False with another Python, or another NumPy.
LAYOUT_IS_KNOWN = _is_laid_out(np.zeros((3, 5), np.int16))
if not LAYOUT_IS_KNOWN:
    address = _asked


def plain(x: Any) -> bool:
    """Whether C can read an array: float32 or float64, without gaps, the last axis quickest."""
    return (
        type(x) is np.ndarray
        and x.dtype.char in _SUFFIX
        and x.dtype.isnative
        and x.flags.c_contiguous
        and x.flags.aligned
    )


class Library:
    """Functions of one source file, by name and dtype; none where there is no compiler.

    In C a function takes a task, which is a struct of addresses, int64 and double, and the units of the work that it
    is to do: ``(task, begin, end)``.
    """

    def __init__(self, name: str, flags: Sequence[str] = ()) -> None:
        self._name, self._flags = name, flags
        self._found: dict[tuple[str, str], int | None] = {}

    def get(self, name: str, dtype: Any) -> int | None:
        """The address of the function of a name for arrays of a dtype."""
        key = name, dtype.char
        try:
            return self._found[key]
        except KeyError:
            self._found[key] = made = self._find(name, dtype.char)
            return made

    def unit(self, char: str) -> int | None:
        """The elements that a source which includes `vectors.h` makes tables for; None if there is no such library."""
        function, found = self.get("unit", np.dtype(char)), np.zeros(1, np.int64)
        if function is None:
            return None
        run(function, pack("q", address(found)), 1, 1)
        return int(found[0])

    def _find(self, name: str, kind: str) -> int | None:
        library = building.load(self._name, [f"{self._name}.c"], self._flags) if kind in _SUFFIX else None
        if library is None or _parallel() is None:
            return None
        return ctypes.cast(getattr(library, name + _SUFFIX[kind]), ctypes.c_void_p).value


@functools.cache
def _parallel() -> Callable[..., None] | None:
    """The function that shares units of work among threads."""
    at = threads.parallel()
    if at is None:
        return None
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_long, ctypes.c_long, ctypes.c_int)(at)


def run(function: int, task: bytes, units: int, elements: int, grain: int | None = None) -> None:
    """Do units of work that have so many elements in all (or take as long as so many), so many of them at a time."""
    parallel = _parallel()
    assert parallel is not None  # there is a function
    count = threads.share(elements)
    some = grain or -(-units // (4 * count))
    parallel(function, task, units, some if count > 1 else units, count)
