"""Kernels of optimiser steps, generated from their programs: one launch for many tensors.

Their addresses and sizes travel by value, as a structure among the kernel's arguments, so nothing is copied to the
device and nothing waits. A block has so many elements of one tensor: none is idle, however much sizes differ.
"""

from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from lucidgrad.backends.codegen import CUDA, identifier
from lucidgrad.backends.codegen.steps import StepKernels, StepTrace, step_body
from lucidgrad.backends.cuda.compiling import THREADS, by_value
from lucidgrad.backends.cuda.generated import OPTIONS, PREAMBLE
from lucidgrad.backends.cuda.tables import ELEMENTS, SEARCH, capacity, first_blocks, in_order

__all__ = ["TABLE", "source_of"]


def source_of(name: str, trace: StepTrace, tensors: int, recorded: bool = False, optional: bool = False) -> str:
    """The source of a step's kernel for up to so many tensors.

    ``recorded``: its settings are in memory. ``optional``: it does nothing if a number in memory is not zero.
    """
    types = [CUDA.stored(dtype) for dtype in trace.stored]
    own = [k for k, (setting, _) in enumerate(trace.numbers) if setting not in trace.there]
    apart = [k for k, (setting, _) in enumerate(trace.numbers) if setting in trace.there]
    parameters = ["const double *s"] if recorded else [f"double s{k}" for k in own]
    parameters += [f"const double *p{k}" for k in apart] + (["const bool *left_out"] if optional else [])
    settings = [f"const double s{k} = s[{at}];" for at, k in enumerate(own if recorded else ())]
    settings += [f"const double s{k} = *p{k};" for k in apart]
    pointers = ["if (*left_out) return;"] if optional else []
    pointers += [f"{kept} *const a{k} = static_cast<{kept} *>(table.lists[{k}][mine]);" for k, kept in enumerate(types)]
    body = "\n        ".join(step_body(trace, CUDA))
    return f"""#include <cuda_fp16.h>
#include <cuda_bf16.h>
{PREAMBLE}{SEARCH}
typedef long long I;
struct Table {{ void *lists[{len(types)}][{tensors}]; I sizes[{tensors}]; int first[{tensors}]; }};

extern "C" __global__ void __launch_bounds__({THREADS}, 1) {name}({", ".join(["Table table", *parameters])}) {{
    SEARCH(table.first[middle], {tensors})
    {" ".join([*pointers, *settings])}
    const I start = (I)((int)blockIdx.x - table.first[mine]) * {ELEMENTS};
    const I end = start + {ELEMENTS} < table.sizes[mine] ? start + {ELEMENTS} : table.sizes[mine];
    for (I i = start + threadIdx.x; i < end; i += {THREADS}) {{
        {body}
    }}
}}
"""


class _LaunchedStep:
    """A program for certain dtypes and kinds of settings, compiled when first launched."""

    def __init__(self, name: str, trace: StepTrace) -> None:
        name = identifier(name)
        self.names = [setting for setting, _ in trace.numbers if setting not in trace.there]
        self.apart = [setting for setting, _ in trace.numbers if setting in trace.there]
        self.name, self.trace, self.each = name, trace, 8 * (len(trace.arrays) + 1) + 4
        self.kernels: dict[tuple[int, bool, bool], Any] = {}

    def kernel(self, tensors: int, recorded: bool = False, optional: bool = False) -> Any:
        """The kernel with a table for so many tensors, see `source_of`."""
        made = self.kernels.get((tensors, recorded, optional))
        if made is None:
            text = source_of(self.name, self.trace, tensors, recorded, optional)
            made = self.kernels[tensors, recorded, optional] = cupy.RawKernel(text, self.name, options=OPTIONS)
        return made

    def __call__(
        self, columns: Sequence[Sequence[Any]], settings: dict[str, Any], repeated: Any = None, unless: Any = None
    ) -> None:
        """Take the step; what is not in order in memory is copied there and back.

        ``repeated`` says which settings are others in each launch of a graph, and where these are. ``unless`` is an
        array: if it is true, the step is left out.
        """
        numbers = [settings[name] for name in self.names] if repeated is None else [repeated(self.names)]
        numbers += [settings[name] for name in self.apart] + ([] if unless is None else [unless])
        later: list[tuple[Any, Any]] = []
        room = capacity(self.each, len(columns[0]))
        kernel = self.kernel(room, repeated is not None, unless is not None)
        for start in range(0, len(columns[0]), room):
            part = []
            for k, column in enumerate(columns):
                ordered, copied = in_order(column[start : start + room])
                part.append(ordered)
                later += copied if k != 1 else []
            sizes = np.asarray([array.size for array in part[0]], np.int64)
            table = np.zeros((len(part) + 1, room), np.int64)
            table[:-1, : len(sizes)] = [[array.data.ptr for array in column] for column in part]
            table[-1, : len(sizes)] = sizes
            blocks, firsts = first_blocks(sizes, ELEMENTS, room)
            if blocks:
                kernel((blocks,), (THREADS,), (by_value(np.concatenate([table.reshape(-1), firsts])), *numbers))
        for array, ordered in later:
            array[...] = ordered


TABLE: dict[str, Callable[..., Any]] = {"elementwise_step": StepKernels(_LaunchedStep)}
