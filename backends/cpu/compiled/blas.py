"""The matrix products of NumPy itself: CBLAS functions of the libraries that it has loaded, and their threads."""

import ctypes
import functools
import math
from typing import Any, NamedTuple

import numpy as np

from . import building, memory, threads
from .library import LAYOUT_IS_KNOWN, OFFSET

__all__ = ["calls_of", "dividing", "functions", "multiply", "product", "products", "set_num_threads"]

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
                own = _own()
                if own is not None:
                    own.lg_gemm_begin(found["sgemm"])
                    found["sgemm"] = own.lg_gemm
                return {name: _at(f) for name, f in found.items()}
    return None


def _at(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@functools.cache
def _own() -> ctypes.CDLL | None:
    """Products of float32 that are quicker than the BLAS's, to which they leave others; None: not on this processor."""
    library = building.load("gemm", ["gemm.c"], ["-pthread", "-ffp-contract=fast"])
    return library if library is not None and library.lg_gemm_pays() else None


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


#: Multiplications from which OpenBLAS wakes its threads, and for each of so many a thread of ours is worth waking:
#: its own wait busily for a next product long after one, and take the processors from whoever else wants them. From as
#: many multiplications on `gemm.c` has products of its own.
_WAKES, _PER_THREAD = 1 << 18, 1 << 22


def product(x1: Any, x2: Any, y: Any = None, bias: Any = None) -> Any:
    """``x1 @ x2`` for matrices of one dtype by as many threads as the product is worth; None if that is for NumPy.

    ``y``, by rows, is where it goes; ``bias`` is added to each of them. The BLAS has one thread meanwhile, and its own
    number of them afterwards.
    """
    (m, k), n = x1.shape, x2.shape[1]
    work, dtype = m * n * k, x1.dtype
    if work < _WAKES or dtype is not x2.dtype or not dtype.isnative or (calls := calls_of(dtype.char)) is None:
        return None
    count = threads.get_num_threads()
    if count == 1 and not calls.affine:
        return None
    if bias is not None and bias.dtype is not dtype:
        return None
    if y is None:
        y = memory.empty((m, n), dtype)
    elif y.dtype is not dtype:
        return None
    row, by = None if bias is None else id(bias), 1 if count == 1 else min(count, work // _PER_THREAD) or 1
    if calls.multiply(calls.gemm, calls.affine, x1, x2, row, y, by):
        return y
    x1, x2 = _dense(x1), _dense(x2)
    return y if calls.multiply(calls.gemm, calls.affine, x1, x2, row, y, by) else None


def multiply(x1: Any, x2: Any, y: Any = None) -> Any:
    """``numpy.matmul`` for matrices, or stacks of them, in the quickest way."""
    if x1.ndim > 2 or x2.ndim > 2:
        return products(x1, x2, y)
    made = product(x1, x2, y)
    return np.matmul(x1, x2, out=y) if made is None else made


def products(x1: Any, x2: Any, y: Any = None) -> Any:
    """``numpy.matmul`` for stacks of matrices, in the way of `product`, the matrices divided among threads.

    Stacks that do not lie a step apart have the BLAS's own threads, if any.
    """
    work, count = x1.shape[-2] * x1.shape[-1] * x2.shape[-1], threads.get_num_threads()
    lead, dtype = x1.shape[:-2], x1.dtype
    size = math.prod(lead)
    if (
        lead != x2.shape[:-2]
        or x1.shape[-1] != x2.shape[-2]
        or 1 in (x1.shape[-2], x2.shape[-1])
        or dtype is not x2.dtype
        or not dtype.isnative
        or (calls := calls_of(dtype.char)) is None
        or not ((count > 1 and work * size >= 2 * _PER_THREAD) or (calls.affine and work >= _WAKES))
    ):
        return np.matmul(x1, x2, out=y)
    if y is None:
        y = memory.empty((*lead, x1.shape[-2], x2.shape[-1]), dtype)
    if size < count:  # each is divided
        for place in np.ndindex(lead):
            multiply(x1[place], x2[place], y[place])
        return y
    by = min(count, work * size // _PER_THREAD) or 1
    return y if y.dtype is dtype and calls.stack(calls.gemm, x1, x2, y, by) else np.matmul(x1, x2, out=y)


def _dense(x: Any) -> Any:
    """A matrix that lies by rows or by columns, without gaps."""
    return x if x.flags.forc and x.flags.aligned else x.copy()


class _Calls(NamedTuple):
    """Functions of C for a dtype."""

    alone: Any  #: keeps the BLAS to one thread, or no longer
    multiply: Any  #: divides a product among threads; false: arrays do not lie as they should
    stack: Any  #: the same for stacks of matrices
    gemm: int  #: a product
    affine: int | None  #: one with a bias; None where the BLAS does all


@functools.cache
def calls_of(char: str) -> _Calls | None:
    """Products of a dtype, for kernels too that multiply in loops of their own; None if the BLAS has others."""
    library, found = (_products(), functions()) if char in "fd" else (None, None)
    if library is None or found is None:
        return None
    number, at, thing = ctypes.c_int, ctypes.c_void_p, ctypes.py_object
    alone, multiply, stack = (getattr(library, name) for name in ("lg_alone", f"lg_product_{char}", f"lg_stack_{char}"))
    alone.argtypes, alone.restype = [number], None
    multiply.argtypes = [at, at, thing, thing, at, thing, number]
    stack.argtypes = [at, thing, thing, thing, number]
    own = _own() if char == "f" else None
    return _Calls(
        alone, multiply, stack, found["sgemm" if char == "f" else "dgemm"], None if own is None else _at(own.lg_affine)
    )


@functools.cache
def _products() -> ctypes.CDLL | None:
    found = _threads()
    parallel = threads.parallel()
    if found is None or parallel is None or functions() is None or not LAYOUT_IS_KNOWN:
        return None
    library = building.load("products", ["products.c"], ["-pthread"])
    if library is None:
        return None
    library.lg_products_begin.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long]
    library.lg_products_begin.restype = None
    library.lg_products_begin(parallel, *(ctypes.cast(f, ctypes.c_void_p) for f in found), OFFSET)
    return library
