"""The matrix products that NumPy calls itself: CBLAS functions of the libraries that it has loaded."""

import ctypes
import functools
from typing import Any

import numpy as np

__all__ = ["functions"]

#: How builds of NumPy name them. Whether integers have 32 or 64 bits does not matter where each takes a register or a
#: slot of 8 bytes, and all are small and positive; `_works` tries it.
_PATTERNS = ("scipy_cblas_{}64_", "cblas_{}64_", "cblas_{}64", "scipy_cblas_{}", "cblas_{}", "cblas_{}$NEWLAPACK")
_NAMES = ("sgemm", "dgemm", "sgemv", "dgemv", "sdot", "ddot")


@functools.cache
def functions() -> dict[str, int] | None:
    """Addresses by name; None if there are none that work."""
    try:
        library = ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
    except (OSError, AttributeError):
        return None
    for pattern in _PATTERNS:  # a library's symbols are looked for in those that it depends on, too
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
