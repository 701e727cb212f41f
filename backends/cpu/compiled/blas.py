"""The matrix products of NumPy itself: CBLAS functions of the libraries that it has loaded, and their threads."""

import ctypes
import functools
import math
from itertools import pairwise
from typing import Any

import numpy as np

from . import building, memory, threads

__all__ = ["dividing", "functions", "product", "products", "set_num_threads"]

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


#: Multiplications from which OpenBLAS wakes its threads, and for each of so many a thread of ours is worth waking:
#: its own wait busily for a next product long after one, and take the processors from whoever else wants them.
_WAKES, _PER_THREAD = 1 << 18, 1 << 22


def product(x1: Any, x2: Any, y: Any = None) -> Any:
    """``x1 @ x2`` for matrices of one dtype by as many threads as the product is worth; None if that is for NumPy.

    ``y``, by rows, is where it goes. The BLAS has one thread meanwhile, and its own number of them afterwards.
    """
    (m, k), (inner, n) = x1.shape, x2.shape
    work, count = m * n * k, threads.get_num_threads()
    if (
        work < _WAKES
        or count == 1
        or inner != k
        or x1.dtype is not x2.dtype
        or not x1.dtype.isnative
        or (calls := _calls(x1.dtype.char)) is None
    ):
        return None
    if y is not None and not (y.dtype is x1.dtype and y.flags.c_contiguous):
        return None
    (x1, one), (x2, two) = _laid(x1), _laid(x2)
    if y is None:
        y = memory.empty((m, n), x1.dtype)
    alone, multiply, gemm, _ = calls
    alone(1)
    try:
        if work < 2 * _PER_THREAD:
            np.matmul(x1, x2, out=y)
        else:
            count = min(count, work // _PER_THREAD)
            at = x1.ctypes.data, one[1], x2.ctypes.data, two[1], 0.0, y.ctypes.data, n, count
            multiply(gemm, one[0], two[0], m, n, k, *at)
    finally:
        alone(0)
    return y


def products(x1: Any, x2: Any, y: Any = None) -> Any:
    """``numpy.matmul`` for stacks of matrices, in the way of `product`, the matrices divided among threads.

    Stacks that do not lie a step apart, or are fewer than threads, have the BLAS's own threads, if any.
    """
    if x1.ndim == 3 and len(x1) == len(x2) == 1 and x1.dtype.char in "fd":
        made = product(x1[0], x2[0], None if y is None else y[0])
        if made is not None:
            return made[None] if y is None else y
    work, count = x1.shape[-2] * x1.shape[-1] * x2.shape[-1], threads.get_num_threads()
    lead = x1.shape[:-2]
    size = math.prod(lead)
    if (
        size < count
        or count == 1
        or work * size < 2 * _PER_THREAD
        or lead != x2.shape[:-2]
        or x1.shape[-1] != x2.shape[-2]
        or 1 in (x1.shape[-2], x2.shape[-1])
        or x1.dtype is not x2.dtype
        or not x1.dtype.isnative
        or (calls := _calls(x1.dtype.char)) is None
    ):
        return np.matmul(x1, x2, out=y)
    if y is None:
        y = memory.empty((*lead, x1.shape[-2], x2.shape[-1]), x1.dtype)
    one, two, three = (_stacked(x) for x in (x1, x2, y))
    if one is None or two is None or three is None or three[0] != 111 or y.dtype is not x1.dtype:
        return np.matmul(x1, x2, out=y)
    alone, _, gemm, multiply = calls
    sizes = x1.shape[-2], x2.shape[-1], x1.shape[-1]
    at = [p for x, laid in ((x1, one), (x2, two), (y, three)) for p in (x.ctypes.data, *laid[1:])]
    alone(1)
    try:
        multiply(gemm, one[0], two[0], *sizes, *at, size, min(count, work * size // _PER_THREAD))
    finally:
        alone(0)
    return y


def _stacked(x: Any) -> tuple[int, int, int] | None:
    """CBLAS's word for matrices of a stack, how far rows or columns are apart, and matrices; None: not evenly."""
    width, (down, along) = x.itemsize, x.strides[-2:]
    steps = [(n, step) for n, step in zip(x.shape[:-2], x.strides[:-2], strict=True) if n > 1]
    if not x.flags.aligned or any(far != near * n for (_, far), (n, near) in pairwise(steps)):
        return None
    step = steps[-1][1] if steps else 0
    if step < 0 or step % width:
        return None
    if along == width and down >= x.shape[-1] * width and down % width == 0:
        return 111, down // width, step // width
    if down == width and along >= x.shape[-2] * width and along % width == 0:
        return 112, along // width, step // width
    return None


def _laid(x: Any) -> tuple[Any, tuple[int, int]]:
    """A matrix by rows or by columns, a copy if it is neither; CBLAS's word for it, and how far these are apart."""
    (rows, columns), (down, along), width = x.shape, x.strides, x.itemsize
    if not x.flags.aligned:
        return x.copy(), (111, columns)
    if along == width and down >= columns * width and down % width == 0:
        return x, (111, down // width)
    if down == width and along >= rows * width and along % width == 0:
        return x, (112, along // width)
    return np.ascontiguousarray(x), (111, columns)


@functools.cache
def _calls(char: str) -> tuple[Any, Any, int, Any] | None:
    """What keeps the BLAS to one thread, what divides products of a dtype, its product, and what divides stacks."""
    library, found = (_products(), functions()) if char in "fd" else (None, None)
    if library is None or found is None:
        return None
    real = ctypes.c_float if char == "f" else ctypes.c_double
    number, address, long = ctypes.c_int, ctypes.c_void_p, ctypes.c_long
    alone, multiply = library.lg_alone, getattr(library, f"lg_products_{char}")
    alone.argtypes, alone.restype, multiply.restype = [number], None, None
    matrices = [address, long, address, long, real, address, long]
    multiply.argtypes = [address, number, number, long, long, long, *matrices, number]
    stack = getattr(library, f"lg_stack_{char}")
    stack.argtypes = [address, number, number, long, long, long, *[address, long, long] * 3, long, number]
    stack.restype = None
    return alone, multiply, found["sgemm" if char == "f" else "dgemm"], stack


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
