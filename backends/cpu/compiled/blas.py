"""The matrix products of NumPy itself: CBLAS functions of the libraries that it has loaded, and their threads."""

import ctypes
import functools
import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from . import building, memory, threads
from .library import address

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
    (m, k), (inner, n) = x1.shape, x2.shape
    work, count, dtype = m * n * k, threads.get_num_threads(), x1.dtype
    if work < _WAKES or inner != k or dtype is not x2.dtype or not dtype.isnative:
        return None
    calls = calls_of(dtype.char)
    if calls is None or (count == 1 and not calls.affine):
        return None
    if y is not None and not (y.dtype is dtype and y.flags.c_contiguous):
        return None
    if bias is not None and not (bias.dtype is dtype and bias.shape == (n,) and bias.flags.c_contiguous):
        return None
    (x1, one), (x2, two) = _laid(x1), _laid(x2)
    if y is None:
        y = memory.empty((m, n), dtype)
    at = address(x1), one[1], address(x2), two[1], None if bias is None else address(bias), address(y), n
    calls.alone(1)
    try:
        calls.multiply(calls.gemm, calls.affine, one[0], two[0], m, n, k, *at, min(count, work // _PER_THREAD) or 1)
    finally:
        calls.alone(0)
    return y


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
    one, two, three = (_stacked(x) for x in (x1, x2, y))
    if one is None or two is None or three is None or three[0] != 111 or y.dtype is not dtype:
        return np.matmul(x1, x2, out=y)
    sizes = x1.shape[-2], x2.shape[-1], x1.shape[-1]
    at = [p for x, laid in ((x1, one), (x2, two), (y, three)) for p in (address(x), *laid[1:])]
    calls.alone(1)
    try:
        calls.stack(calls.gemm, one[0], two[0], *sizes, *at, size, min(count, work * size // _PER_THREAD) or 1)
    finally:
        calls.alone(0)
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


class _Calls(NamedTuple):
    """Functions of C for a dtype."""

    alone: Any  #: keeps the BLAS to one thread, or no longer
    multiply: Any  #: divides a product among threads
    stack: Any  #: the same for many
    gemm: int  #: a product
    affine: int | None  #: one with a bias; None where the BLAS does all


@functools.cache
def calls_of(char: str) -> _Calls | None:
    """Products of a dtype, for kernels too that multiply in loops of their own; None if the BLAS has others."""
    library, found = (_products(), functions()) if char in "fd" else (None, None)
    if library is None or found is None:
        return None
    number, at, long = ctypes.c_int, ctypes.c_void_p, ctypes.c_long
    alone, multiply, stack = (
        getattr(library, name) for name in ("lg_alone", f"lg_affine_products_{char}", f"lg_stack_{char}")
    )
    alone.argtypes, alone.restype, multiply.restype, stack.restype = [number], None, None, None
    multiply.argtypes = [at, at, number, number, long, long, long, at, long, at, long, at, at, long, number]
    stack.argtypes = [at, number, number, long, long, long, *[at, long, long] * 3, long, number]
    own = _own() if char == "f" else None
    return _Calls(
        alone, multiply, stack, found["sgemm" if char == "f" else "dgemm"], None if own is None else _at(own.lg_affine)
    )


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
