"""How many threads the loops of compiled kernels are shared among.

Kernels get the number as an argument. In a child of `fork` it is one: the threads of `parallel.c` do not survive a fork
and would be made again, but children of `fork` usually share the processors among themselves.
"""

import ctypes
import functools
import os

from . import building

__all__ = ["get_num_threads", "parallel", "set_num_threads", "share"]

#: Fewer elements than this per thread are not worth waking one for.
PER_THREAD = 32_768


def _at_first() -> int:
    given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if given.isdigit() and int(given):
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_count = _at_first()
_forked = False


def get_num_threads() -> int:
    """The number of threads that loops on the CPU are shared among."""
    return 1 if _forked else _count


def set_num_threads(n: int) -> None:
    """Share loops among ``n`` threads; one in a child of `fork`, whatever is said there."""
    global _count
    if type(n) is not int:
        raise TypeError(f"set_num_threads: given {type(n).__name__}, expected an int")
    if n < 1:
        raise RuntimeError(f"set_num_threads: given {n!r}, expected a positive integer")
    _count = n


def share(elements: int) -> int:
    """The number of threads for a loop over so many elements (or as much work as these would be)."""
    if _forked or _count == 1:
        return 1
    return min(_count, elements // PER_THREAD) or 1


def _after_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@functools.cache
def parallel() -> int | None:
    """The address of the function that shares a loop among threads: see `parallel.h`."""
    library = building.load("parallel", ["parallel.c"], ["-pthread"])
    return None if library is None else ctypes.cast(library.lg_parallel, ctypes.c_void_p).value
