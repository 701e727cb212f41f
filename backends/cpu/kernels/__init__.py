"""NumPy functions for primitives whose names or keywords differ from NumPy's, or which NumPy lacks."""

from collections.abc import Callable
from typing import Any

from .kernels_arithmetic import TABLE as ARITHMETIC
from .kernels_attention import TABLE as ATTENTION
from .kernels_elementwise import COMPLEX, TABLE as ELEMENTWISE
from .kernels_fft import TABLE as FFT
from .kernels_fused import TABLE as FUSED
from .kernels_halves import through_single
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
    **(ARITHMETIC | ATTENTION | ELEMENTWISE | FFT | FUSED | LINALG | LINEAR | RECURRENCE | REDUCTION | SETS | SHAPE),
    **(SPECIAL | STEPS | WINDOWS),
}

#: Those that add up in loops of NumPy's, or by a library that has no float16; others see to it themselves.
_ADDING = """
    avg_pool avg_pool_put convolution convolution_input convolution_weight fold_windows pair_einsum pool_put
""".split()

TABLE.update((name, through_single(TABLE[name])) for name in _ADDING)
