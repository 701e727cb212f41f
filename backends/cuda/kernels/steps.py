"""Kernels of optimiser steps, generated from their programs: one launch for many tensors.

Their addresses and sizes travel by value, as a structure among the kernel's arguments, so nothing is copied to the
device and nothing waits. Blocks of one row of the grid share a tensor.
"""

from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from lucidgrad.backends.codegen import CUDA, identifier
from lucidgrad.backends.codegen.steps import StepKernels, StepTrace, step_body
from lucidgrad.backends.cuda.compiling import THREADS, by_value
from lucidgrad.backends.cuda.generated import OPTIONS, PREAMBLE

__all__ = ["TABLE", "source_of"]

#: Bytes that a table of addresses may take: arguments have room for 4 KB.
ROOM = 3584


def source_of(name: str, trace: StepTrace, tensors: int) -> str:
    """The source of a step's kernel for up to so many tensors."""
    types = [CUDA.stored(node.dtype) for node in trace.arrays]
    parameters = "".join(f", double s{k}" for k in range(len(trace.numbers)))
    pointers = [
        f"{kept} *const a{k} = static_cast<{kept} *>(table.lists[{k}][blockIdx.y]);" for k, kept in enumerate(types)
    ]
    body = "\n        ".join(step_body(trace, CUDA))
    return f"""#include <cuda_fp16.h>
{PREAMBLE}
typedef long long I;
struct Table {{ void *lists[{len(types)}][{tensors}]; I sizes[{tensors}]; }};

extern "C" __global__ void __launch_bounds__({THREADS}, 1) {name}(Table table{parameters}) {{
    {" ".join(pointers)}
    const I size = table.sizes[blockIdx.y];
    for (I i = (I)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += (I)gridDim.x * blockDim.x) {{
        {body}
    }}
}}
"""


class _LaunchedStep:
    """A program for certain dtypes and kinds of settings, compiled when first launched."""

    def __init__(self, name: str, trace: StepTrace) -> None:
        name = identifier(name)
        self.names = [setting for setting, _ in trace.numbers]
        self.tensors = ROOM // (8 * (len(trace.arrays) + 1))
        self.kernel = cupy.RawKernel(source_of(name, trace, self.tensors), name, options=OPTIONS)

    def __call__(self, columns: Sequence[Sequence[Any]], settings: dict[str, Any]) -> None:
        """Take the step; what is not in order in memory is copied there and back."""
        numbers = [settings[name] for name in self.names]
        later: list[tuple[Any, Any]] = []
        for start in range(0, len(columns[0]), self.tensors):
            given = [column[start : start + self.tensors] for column in columns]
            part = [list(map(cupy.ascontiguousarray, column)) for column in given]
            for k, (column, ordered) in enumerate(zip(given, part, strict=True)):
                if k != 1:
                    later += [pair for pair in zip(column, ordered, strict=True) if pair[0] is not pair[1]]
            sizes = [array.size for array in part[0]]
            table = np.zeros((len(part) + 1, self.tensors), np.uint64)
            table[:, : len(sizes)] = [*([array.data.ptr for array in column] for column in part), sizes]
            blocks = min((max(sizes) + 4 * THREADS - 1) // (4 * THREADS), 1024)
            if blocks:
                self.kernel((blocks, len(sizes)), (THREADS,), (by_value(table), *numbers))
        for array, ordered in later:
            array[...] = ordered


TABLE: dict[str, Callable[..., Any]] = {"elementwise_step": StepKernels(_LaunchedStep)}
