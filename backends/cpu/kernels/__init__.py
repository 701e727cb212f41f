"""NumPy functions for primitives whose names or keywords differ from NumPy's, or which NumPy lacks."""

from collections.abc import Callable
from typing import Any

from .attention import TABLE as ATTENTION
from .elementwise import COMPLEX, TABLE as ELEMENTWISE
from .fft import TABLE as FFT
from .halves import through_single
from .linalg import TABLE as LINALG
from .recurrence import TABLE as RECURRENCE
from .reduction import TABLE as REDUCTION
from .rows import TABLE as ROWS
from .shape import TABLE as SHAPE
from .steps import TABLE as STEPS
from .windows import TABLE as WINDOWS

__all__ = ["COMPLEX", "TABLE"]

#: Kernels by primitive name.
TABLE: dict[str, Callable[..., Any]] = {
    **(ATTENTION | ELEMENTWISE | FFT | LINALG | RECURRENCE | REDUCTION | ROWS | SHAPE | STEPS | WINDOWS),
}

#: Those that add up in loops of NumPy's, or by a library that has no float16; others see to it themselves.
_ADDING = """
    avg_pool avg_pool_put convolution convolution_input convolution_weight fold_windows pair_einsum pool_put
""".split()

TABLE.update((name, through_single(TABLE[name])) for name in _ADDING)
