"""Elementwise kernels, generated from the programs of primitives.

`tracing` runs a primitive's forward program, or its derivative rules all at once, with symbolic scalars
(`expression`), in which equal subexpressions are one; `printing` writes the result as C statements, with the
functions that `functions` spells and `languages` writes; `kernels` adds parameters. `calls` finds the kernel of a call,
and `cache` keeps what was made. CUDA puts kernels into a frame of its own, `loops` has the frame for host memory.
`steps` does the same for the steps of optimisers.
"""

from .cache import KernelCache, report
from .calls import Frame, Run, forward, pull
from .expression import NeedsValue, Untraceable
from .kernels import Kernel, Pulled, forward_kernel, picker, pull_kernel
from .keys import Value, any_integer, identity, told
from .languages import CUDA, PLAIN_C, identifier
from .loops import loop_source
from .printing import c_type
from .tracing import Trace, is_elementwise, trace_forward, trace_pull

__all__ = [
    "CUDA",
    "PLAIN_C",
    "Frame",
    "Kernel",
    "KernelCache",
    "NeedsValue",
    "Pulled",
    "Run",
    "Trace",
    "Untraceable",
    "Value",
    "any_integer",
    "c_type",
    "forward",
    "forward_kernel",
    "identifier",
    "identity",
    "is_elementwise",
    "loop_source",
    "picker",
    "pull",
    "pull_kernel",
    "report",
    "told",
    "trace_forward",
    "trace_pull",
]
