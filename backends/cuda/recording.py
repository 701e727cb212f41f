"""cuBLAS on a stream that is being recorded for a graph, which CuPy refuses and cuBLAS does not.

The functions are those of the very library that CuPy calls, found through its module, and so is the handle. While it
records, cuBLAS must be given memory to work with, since its own serves other streams, too.
"""

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import cupy
from cupy.cuda import get_current_stream
from cupy_backends.cuda.libs import cublas

from .streams import is_recorded

__all__ = ["call"]

_INT, _LONG, _POINTER = ctypes.c_int, ctypes.c_longlong, ctypes.c_void_p
_SIZES = (_POINTER, *[_INT] * 5)  # the handle, two flags, three sizes
_BATCHED = (*_SIZES, _POINTER, _POINTER, _INT, _POINTER, _INT, _POINTER, _POINTER, _INT, _INT)

#: The names that cuBLAS has for CuPy's functions, and the types of their arguments.
_FUNCTIONS: dict[Any, tuple[str, tuple[Any, ...]]] = {
    cublas.gemmEx: (
        "cublasGemmEx",
        (*_SIZES, _POINTER, *[_POINTER, _INT, _INT] * 2, _POINTER, _POINTER, _INT, _INT, _INT, _INT),
    ),
    cublas.gemmStridedBatchedEx: (
        "cublasGemmStridedBatchedEx",
        (
            *(*_SIZES, _POINTER, *[_POINTER, _INT, _INT, _LONG] * 2),
            *(_POINTER, _POINTER, _INT, _INT, _LONG, _INT, _INT, _INT),
        ),
    ),
    cublas.sgemmBatched: ("cublasSgemmBatched", _BATCHED),
    cublas.dgemmBatched: ("cublasDgemmBatched", _BATCHED),
    cublas.cgemmBatched: ("cublasCgemmBatched", _BATCHED),
    cublas.zgemmBatched: ("cublasZgemmBatched", _BATCHED),
}
#: Bytes that cuBLAS wants to work with, before and from compute capability 9 on.
_WORKSPACES = (4 << 20, 32 << 20)


def call(function: Callable[..., Any], handle: int, *args: Any) -> None:
    """Call a function of cuBLAS, on a stream that is recorded, too."""
    try:
        function(handle, *args)
    except RuntimeError:
        if not is_recorded(get_current_stream()):
            raise
        _recorded(function, handle, *args)


def _recorded(function: Callable[..., Any], handle: int, *args: Any) -> None:
    stream = get_current_stream().ptr
    size = _WORKSPACES[int(cupy.cuda.Device().compute_capability) >= 90]
    space = cupy.ndarray((size,), "uint8")  # work that is recorded later may have it: it runs later
    _function("cublasSetStream_v2", (_POINTER, _POINTER))(handle, stream)
    _function("cublasSetWorkspace_v2", (_POINTER, _POINTER, ctypes.c_size_t))(handle, space.data.ptr, size)
    try:
        _function(*_FUNCTIONS[function])(handle, *args)
    finally:
        _function("cublasSetStream_v2", (_POINTER, _POINTER))(handle, stream)  # which also takes the memory away


@functools.cache
def _function(name: str, types: tuple[Any, ...]) -> Callable[..., None]:
    """A function of the library that CuPy's module was linked with."""
    found = getattr(ctypes.CDLL(cublas.__file__), name)
    found.argtypes, found.restype = types, _INT

    def checked(*args: Any) -> None:
        status = found(*args)
        if status:
            raise RuntimeError(f"{name} failed with status {status}")

    return checked
