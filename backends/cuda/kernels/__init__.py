"""Kernels by primitive name: CuPy's functions where one does what a primitive's program does in several."""

from collections.abc import Callable
from typing import Any

from .attention import TABLE as ATTENTION
from .attention_sources import SOURCES as ATTENTION_SOURCES
from .factors import TABLE as FACTORS
from .halves import TABLE as HALVES
from .indexing import TABLE as INDEXING
from .matmul import TABLE as PRODUCTS
from .norms import SOURCES as NORM_SOURCES, TABLE as NORMS
from .puts import SOURCES as PUT_SOURCES, TABLE as PUTS
from .reductions import SOURCES as REDUCTION_SOURCES, TABLE as REDUCTIONS
from .rows import SOURCES as ROW_SOURCES, TABLE as ROWS
from .shape import TABLE as SHAPE
from .steps import TABLE as STEPS
from .windows import SOURCES as WINDOW_SOURCES, TABLE as WINDOWS

__all__ = ["SOURCES", "TABLE"]

#: Kernels by primitive name.
TABLE: dict[str, Callable[..., Any]] = {
    **ATTENTION, **SHAPE, **FACTORS, **HALVES, **INDEXING, **NORMS, **PRODUCTS, **PUTS, **REDUCTIONS, **ROWS, **STEPS,
    **WINDOWS,
}  # fmt: skip

#: The CUDA C sources of hand-written kernels, by name and dtype.
SOURCES: dict[str, str] = {
    **ATTENTION_SOURCES,
    **NORM_SOURCES,
    **PUT_SOURCES,
    **REDUCTION_SOURCES,
    **ROW_SOURCES,
    **WINDOW_SOURCES,
}
