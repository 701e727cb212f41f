"""NumPy functions for primitives whose names or keywords differ from NumPy's, or which NumPy lacks."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lucidgrad.core import device

from .attention import TABLE as ATTENTION
from .elementwise import COMPLEX, TABLE as ELEMENTWISE
from .fft import TABLE as FFT
from .halves import through_single
from .linalg import TABLE as LINALG
from .recurrence import TABLE as RECURRENCE
from .reduction import TABLE as REDUCTION
from .rows import TABLE as ROWS
from .shape import ADDING, TABLE as SHAPE
from .windows import TABLE as WINDOWS

__all__ = ["ADDING", "COMPLEX", "TABLE"]


def elementwise_step(*args: Any) -> None:
    """The kernel of optimiser steps until the first one is taken: what traces programs takes a while to import."""
    from .steps import TABLE as STEPS

    device.by_array[np.ndarray].kernels.update(STEPS)
    STEPS["elementwise_step"](*args)


#: Kernels by primitive name.
TABLE: dict[str, Callable[..., Any]] = {
    **(ATTENTION | ELEMENTWISE | FFT | LINALG | RECURRENCE | REDUCTION | ROWS | SHAPE | WINDOWS),
    "elementwise_step": elementwise_step,
}

#: Those that add up in loops of NumPy's, or by a library that has no float16; others see to it themselves.
_ADDING = """
    avg_pool avg_pool_put convolution convolution_input convolution_weight fold_windows pair_einsum pool_put
""".split()

TABLE.update((name, through_single(TABLE[name])) for name in _ADDING)
