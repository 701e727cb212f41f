"""The matrix products of NumPy itself: CBLAS functions of the libraries that it has loaded, and their threads."""

import ctypes
import functools
from typing import Any

import numpy as np

from . import building, threads

__all__ = ["dividing", "functions", "set_num_threads"]

#: How builds of NumPy name them. Whether integers have 32 or 64 bits does not matter where each takes a register or a
#: slot of 8 bytes, and all are small and positive; `_works` tries it.
_PATTERNS = ("scipy_cblas_{}64_", "cblas_{}64_", "cblas_{}64", "scipy_cblas_{}", "cblas_{}", "cblas_{}$NEWLAPACK")
_NAMES = ("sgemm", "dgemm", "sgemv", "dgemv", "sdot", "ddot")
#: The same of OpenBLAS's own functions, which other libraries lack.
_THREADS = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads")


@functools.cache
def _library() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
    except (OSError, AttributeError):
        return None


@functools.cache
def functions() -> dict[str, int] | None:
    """Addresses by name; None if there are none that work."""
    library = _library()
    for pattern in _PATTERNS if library else ():  # symbols are looked for in what a library depends on, too
        if all(hasattr(library, pattern.format(name)) for name in _NAMES):
            found = {name: getattr(library, pattern.format(name)) for name in _NAMES}
            if _works(found["dgemm"]):
                return {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in found.items()}
    return None


def _works(dgemm: Any) -> bool:
    """Whether a product of small matrices is right."""
    long, double, address = ctypes.c_long, ctypes.c_double, ctypes.c_void_p
    dgemm.argtypes = [ctypes.c_int] * 3 + [long] * 3 + [double, address, long, address, long, double, address, long]
    dgemm.restype = None
    a, b, c = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3), np.zeros((2, 4))
    dgemm(101, 111, 112, 2, 4, 3, 1.0, a.ctypes.data, 3, b.ctypes.data, 3, 0.0, c.ctypes.data, 4)
    return bool((c == a @ b.T).all())


@functools.cache
def _threads() -> tuple[Any, Any] | None:
    """Functions that say how many threads the BLAS has, and set it; None if it is another one than OpenBLAS."""
    library = _library()
    for pattern in _THREADS if library else ():
        if all(hasattr(library, pattern.format(word)) for word in ("get", "set")):
            get, put = (getattr(library, pattern.format(word)) for word in ("get", "set"))
            get.argtypes, get.restype, put.argtypes, put.restype = [], ctypes.c_int, [ctypes.c_int], None
            return get, put
    return None


def set_num_threads(n: int) -> None:
    """Let products have so many threads, where NumPy's BLAS can be told."""
    found, library = _threads(), _products.cache_info().currsize and _products()
    if library:
        library.lg_blas_threads(n)  # a program may be running
    elif found is not None:
        found[1](n)


def dividing() -> list[int | None]:
    """Addresses of what keeps the BLAS to one thread, and divides its products among the threads of loops.

    None of them if there is no way to tell it.
    """
    library, names = _products(), ("lg_alone", "lg_products_f", "lg_products_d")
    return [ctypes.cast(getattr(library, name), ctypes.c_void_p).value if library else None for name in names]


@functools.cache
def _products() -> ctypes.CDLL | None:
    found = _threads()
    parallel = threads.parallel()
    if found is None or parallel is None or functions() is None:
        return None
    library = building.load("products", ["products.c"], ["-pthread"])
    if library is None:
        return None
    library.lg_products_begin.argtypes = [ctypes.c_void_p] * 3
    library.lg_products_begin.restype = None
    library.lg_products_begin(parallel, *(ctypes.cast(f, ctypes.c_void_p) for f in found))
    return library
