"""Kernels by primitive name: CuPy's functions where one does what a primitive's program does in several."""

from collections.abc import Callable
from typing import Any

from .kernels_halves import TABLE as HALVES
from .kernels_indexing import TABLE as INDEXING
from .kernels_matmul import TABLE as PRODUCTS
from .kernels_norms import SOURCES as NORM_SOURCES, TABLE as NORMS
from .kernels_puts import SOURCES as PUT_SOURCES, TABLE as PUTS
from .kernels_rows import SOURCES as ROW_SOURCES, TABLE as ROWS
from .kernels_shape import TABLE as SHAPE
from .kernels_steps import SOURCES as STEP_SOURCES, TABLE as STEPS
from .kernels_windows import SOURCES as WINDOW_SOURCES, TABLE as WINDOWS

__all__ = ["SOURCES", "TABLE"]

#: Kernels by primitive name.
TABLE: dict[str, Callable[..., Any]] = {
    **SHAPE, **HALVES, **INDEXING, **NORMS, **PRODUCTS, **PUTS, **ROWS, **STEPS, **WINDOWS
}  # fmt: skip

#: The CUDA C sources of hand-written kernels, by name and dtype.
SOURCES: dict[str, str] = {**NORM_SOURCES, **PUT_SOURCES, **ROW_SOURCES, **STEP_SOURCES, **WINDOW_SOURCES}
