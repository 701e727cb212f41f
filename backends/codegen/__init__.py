"""Elementwise kernels, generated from the programs of primitives.

`tracing` runs a primitive's forward program, or its derivative rules all at once, with symbolic scalars
(`expression`), in which equal subexpressions are one; `printing` writes the result as C statements, with the
functions that `functions` spells and `languages` writes; `kernels` adds parameters. CUDA puts that into a frame of its
own, `loops` has the frame for host memory.
"""

from .c_functions import C_FUNCTIONS
from .expression import NeedsValue, Untraceable
from .kernels import Kernel, Pulled, forward_kernel, pull_kernel
from .languages import CUDA, PLAIN_C
from .loops import loop_source
from .printing import c_type
from .tracing import Trace, Value, is_elementwise, trace_forward, trace_pull

__all__ = [
    "C_FUNCTIONS",
    "CUDA",
    "PLAIN_C",
    "Kernel",
    "NeedsValue",
    "Pulled",
    "Trace",
    "Untraceable",
    "Value",
    "c_type",
    "forward_kernel",
    "is_elementwise",
    "loop_source",
    "pull_kernel",
    "trace_forward",
    "trace_pull",
]
