"""Memory of large results: blocks that arrays gave back are used again.

Fresh memory costs a page fault per page, which takes longer than most kernels compute. NumPy lets an allocator be
chosen per context (NEP 49); here it is chosen for single calls of ``numpy.empty``, so that no other code notices.
The arrays own their memory like any others, and may be freed by any thread. ``LUCIDGRAD_CPU_CACHE`` is the number
of megabytes that may wait for their next use, 0 switches the cache off; default: 1024, or an eighth of the machine's
memory if that is less.
"""

import contextvars
import ctypes
import functools
import math
import os
import threading
from typing import Any

import numpy as np

from . import building

__all__ = ["empty", "empty_like", "kept", "release"]

#: Arrays of fewer bytes come from NumPy's own allocator.
LEAST = 1 << 18
_SET_HANDLER = 304  # the place of PyDataMem_SetHandler in NumPy's table of functions
_NAME = b"mem_handler"


class _Contexts(threading.local):
    """A context per thread, in which NumPy's allocator is this one."""

    def __init__(self) -> None:
        pool = _pool()
        self.empty: Any = None if pool is None else pool.context().run


class _Pool:
    """The compiled cache."""

    def __init__(self, library: ctypes.CDLL, limit: int) -> None:
        library.lg_handler.restype = ctypes.c_void_p
        library.lg_keep.argtypes, library.lg_keep.restype = [ctypes.c_size_t], None
        library.lg_kept.restype = ctypes.c_size_t
        self.library, self.limit = library, limit
        library.lg_keep(limit)
        python = ctypes.pythonapi
        address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", python)
        )
        capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
            ("PyCapsule_New", python)
        )
        table = ctypes.cast(address(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))  # type: ignore[attr-defined]
        self._set = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])
        self._handler = capsule(library.lg_handler(), _NAME, None)

    def context(self) -> contextvars.Context:
        made = contextvars.Context()
        made.run(self._set, self._handler)
        return made


def _limit() -> int:
    given = os.environ.get("LUCIDGRAD_CPU_CACHE", "").strip()
    if given:
        return int(float(given) * (1 << 20))
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return 1 << 30
    return min(1 << 30, memory // 8)


@functools.cache
def _pool() -> _Pool | None:
    """Made when the first large array is."""
    limit = _limit()
    library = building.load("memory", ["memory.c"]) if limit > 0 else None
    return None if library is None else _Pool(library, limit)


_contexts: Any = None


def empty(shape: tuple[int, ...], dtype: Any, order: Any = "C") -> Any:
    """``numpy.empty``, of memory that was used before if there is some."""
    global _contexts
    if math.prod(shape) * dtype.itemsize < LEAST:
        return np.empty(shape, dtype, order)
    if _contexts is None:
        _contexts = _Contexts()
    run = _contexts.empty
    if run is not None:
        try:
            return run(np.empty, shape, dtype, order)
        except RuntimeError:  # something that ran in between (a finaliser) makes an array, too
            pass
    return np.empty(shape, dtype, order)


def empty_like(x: Any) -> Any:
    """The same for an array's shape, dtype and order of axes."""
    if x.flags.c_contiguous or 0 in x.strides:
        return empty(x.shape, x.dtype)
    return empty(x.shape, x.dtype, "F") if x.flags.f_contiguous else np.empty_like(x)


def kept() -> int:
    """How many bytes wait for their next use."""
    pool = _pool() if _contexts is not None else None
    return 0 if pool is None else pool.library.lg_kept()


def release() -> None:
    """Give what waits back to the system."""
    pool = _pool() if _contexts is not None else None
    if pool is not None:
        pool.library.lg_keep(0)
        pool.library.lg_keep(pool.limit)
