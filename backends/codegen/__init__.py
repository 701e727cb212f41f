"""Elementwise kernels, generated from the programs of primitives.

`tracing` runs a primitive's forward program, or its derivative rules all at once, with symbolic scalars
(`expression`), in which equal subexpressions are one; `printing` writes the result as C statements, with the
functions that `functions` spells and `languages` writes; `kernels` adds parameters, `plans` keeps what was made.
CUDA puts that into a frame of its
own, `loops` has the frame for host memory.
"""

from .c_functions import C_FUNCTIONS
from .expression import NeedsValue, Untraceable
from .kernels import Kernel, Pulled, forward_kernel, pull_kernel
from .keys import Value, identity, told
from .languages import CUDA, PLAIN_C
from .loops import loop_source
from .plans import Plans, report, rules_of
from .printing import c_type
from .tracing import Trace, is_elementwise, trace_forward, trace_pull

__all__ = [
    "C_FUNCTIONS",
    "CUDA",
    "PLAIN_C",
    "Kernel",
    "NeedsValue",
    "Plans",
    "Pulled",
    "Trace",
    "Untraceable",
    "Value",
    "c_type",
    "forward_kernel",
    "identity",
    "is_elementwise",
    "loop_source",
    "pull_kernel",
    "report",
    "rules_of",
    "told",
    "trace_forward",
    "trace_pull",
]
