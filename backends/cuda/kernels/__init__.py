"""Kernels by primitive name: CuPy's functions where one does what a primitive's program does in several."""

from collections.abc import Callable
from typing import Any

from .attention import TABLE as ATTENTION
from .attention_products import SOURCES as PRODUCT_SOURCES
from .attention_sources import SOURCES as ATTENTION_SOURCES
from .columns import SOURCES as COLUMN_SOURCES
from .convolution import SOURCES as CONVOLUTION_SOURCES, TABLE as CONVOLUTION
from .factors import TABLE as FACTORS
from .halves import TABLE as HALVES
from .indexing import TABLE as INDEXING
from .lists import SOURCES as LIST_SOURCES, TABLE as LISTS
from .matmul import TABLE as PRODUCTS
from .norms import SOURCES as NORM_SOURCES, TABLE as NORMS
from .puts import SOURCES as PUT_SOURCES, TABLE as PUTS
from .recurrence import SOURCES as CELL_SOURCES, TABLE as RECURRENCE
from .reductions import SOURCES as REDUCTION_SOURCES, TABLE as REDUCTIONS
from .rows import SOURCES as ROW_SOURCES, TABLE as ROWS
from .shape import TABLE as SHAPE
from .steps import TABLE as STEPS
from .windows import SOURCES as WINDOW_SOURCES, TABLE as WINDOWS

__all__ = ["SOURCES", "TABLE"]

#: Kernels by primitive name.
TABLE: dict[str, Callable[..., Any]] = {
    **ATTENTION, **CONVOLUTION, **SHAPE, **FACTORS, **HALVES, **INDEXING, **LISTS, **NORMS, **PRODUCTS, **PUTS,
    **RECURRENCE, **REDUCTIONS, **ROWS, **STEPS, **WINDOWS,
}  # fmt: skip

#: The CUDA C sources of hand-written kernels, by name and dtype.
SOURCES: dict[str, str] = {
    **ATTENTION_SOURCES,
    **CELL_SOURCES,
    **COLUMN_SOURCES,
    **CONVOLUTION_SOURCES,
    **LIST_SOURCES,
    **NORM_SOURCES,
    **PRODUCT_SOURCES,
    **PUT_SOURCES,
    **REDUCTION_SOURCES,
    **ROW_SOURCES,
    **WINDOW_SOURCES,
}
