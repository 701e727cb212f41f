"""NumPy functions for primitives whose names or keywords differ from NumPy's, or which NumPy lacks."""

from collections.abc import Callable
from typing import Any

from . import (
    kernels_arithmetic,
    kernels_elementwise,
    kernels_fft,
    kernels_linalg,
    kernels_reduction,
    kernels_sets,
    kernels_shape,
    kernels_special,
)


def table() -> dict[str, Callable[..., Any]]:
    """Kernels by primitive name."""
    families = (
        kernels_arithmetic,
        kernels_elementwise,
        kernels_fft,
        kernels_linalg,
        kernels_reduction,
        kernels_sets,
        kernels_shape,
        kernels_special,
    )
    return {name: kernel for family in families for name, kernel in family.TABLE.items()}
