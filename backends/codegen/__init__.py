"""Elementwise kernels, generated from the programs of primitives.

`tracing` runs a primitive's forward program, or its derivative rules all at once, with symbolic scalars
(`expression`), in which equal subexpressions are one; `printing` writes the result as C statements, with the
functions that `functions` spells; `kernels` adds parameters. Back ends put that into a frame of theirs.
"""

from .c_functions import C_FUNCTIONS
from .expression import NeedsValue, Untraceable
from .kernels import Kernel, Pulled, forward_kernel, pull_kernel
from .printing import c_type
from .tracing import Trace, Value, is_elementwise, trace_forward, trace_pull

__all__ = [
    "C_FUNCTIONS",
    "Kernel",
    "NeedsValue",
    "Pulled",
    "Trace",
    "Untraceable",
    "Value",
    "c_type",
    "forward_kernel",
    "is_elementwise",
    "pull_kernel",
    "trace_forward",
    "trace_pull",
]
