"""NumPy functions for primitives whose names or keywords differ from NumPy's, or which NumPy lacks."""

from collections.abc import Callable
from typing import Any

from .kernels_arithmetic import TABLE as ARITHMETIC
from .kernels_attention import TABLE as ATTENTION
from .kernels_elementwise import COMPLEX, TABLE as ELEMENTWISE
from .kernels_fft import TABLE as FFT
from .kernels_fused import TABLE as FUSED
from .kernels_halves import through_single, with_halves
from .kernels_linalg import TABLE as LINALG
from .kernels_linear import TABLE as LINEAR
from .kernels_recurrence import TABLE as RECURRENCE
from .kernels_reduction import TABLE as REDUCTION
from .kernels_sets import TABLE as SETS
from .kernels_shape import TABLE as SHAPE
from .kernels_special import TABLE as SPECIAL
from .kernels_steps import TABLE as STEPS
from .kernels_windows import TABLE as WINDOWS

__all__ = ["COMPLEX", "TABLE"]

#: Kernels by primitive name.
TABLE: dict[str, Callable[..., Any]] = {
    **(ARITHMETIC | ELEMENTWISE | FFT | LINALG | REDUCTION | SETS | SHAPE | SPECIAL),
    **(FUSED | LINEAR | STEPS),
    **with_halves(ATTENTION | RECURRENCE | WINDOWS),
    "pair_einsum": through_single(LINALG["pair_einsum"]),
}
