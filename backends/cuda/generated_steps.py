"""Kernels of optimiser steps, generated from their programs: one launch for 64 tensors.

As in the hand-written ones addresses and sizes travel by value among the kernel's arguments.
"""

from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from lucidgrad.backends.codegen.expression import Untraceable
from lucidgrad.backends.codegen.printing import c_type, statements
from lucidgrad.backends.codegen.steps import StepTrace, key_of_step, trace_step
from lucidgrad.core import device

from .compiling import THREADS, by_value
from .generated import OPTIONS, PREAMBLE

#: Bytes that a table of addresses may take: arguments have room for 4 KB.
ROOM = 3584
_STORED = {"float16": "__half"}


def _stored(dtype: Any) -> str:
    return _STORED.get(dtype.name) or c_type(dtype)


def source_of(name: str, trace: StepTrace, tensors: int) -> str:
    """The source of a step's kernel for up to so many tensors."""
    words = {node: f"x{k}" for k, node in enumerate(trace.arrays)}
    words |= {node: f"s{k}" for k, (_, node) in enumerate(trace.numbers)}
    lines, results = statements(trace.results, words)
    places = [0, *range(2, len(trace.arrays))]
    types = [(_stored(node.dtype), c_type(node.dtype)) for node in trace.arrays]
    parameters = "".join(f", double s{k}" for k in range(len(trace.numbers)))
    reads = [f"const {made} x{k} = static_cast<{made}>(a{k}[k]);" for k, (_, made) in enumerate(types)]
    writes = [f"a{k}[k] = static_cast<{types[k][0]}>({word});" for k, word in zip(places, results, strict=True)]
    pointers = [
        f"{kept} *const a{k} = static_cast<{kept} *>(table.lists[{k}][blockIdx.y]);"
        for k, (kept, _) in enumerate(types)
    ]
    body = "\n        ".join([*reads, *lines, *writes])
    return f"""#include <cuda_fp16.h>
{PREAMBLE}
typedef long long I;
struct Table {{ void *lists[{len(types)}][{tensors}]; I sizes[{tensors}]; }};

extern "C" __global__ void {name}(Table table{parameters}) {{
    {" ".join(pointers)}
    const I size = table.sizes[blockIdx.y];
    for (I k = (I)blockIdx.x * blockDim.x + threadIdx.x; k < size; k += (I)gridDim.x * blockDim.x) {{
        {body}
    }}
}}
"""


class _Step:
    """A program for certain dtypes and kinds of settings, compiled when first launched."""

    def __init__(self, name: str, trace: StepTrace) -> None:
        self.names = [setting for setting, _ in trace.numbers]
        self.tensors = ROOM // (8 * (len(trace.arrays) + 1))
        self.kernel = cupy.RawKernel(source_of(name, trace, self.tensors), name, options=OPTIONS)

    def __call__(self, columns: Sequence[Sequence[Any]], settings: dict[str, Any]) -> None:
        numbers = [settings[name] for name in self.names]
        rows = [row for row in zip(*columns, strict=True) if row[0].size]
        later: list[tuple[Any, Any]] = []
        for start in range(0, len(rows), self.tensors):
            part = rows[start : start + self.tensors]
            table = np.zeros((len(columns) + 1, self.tensors), np.uint64)
            alive = []
            for k, row in enumerate(part):
                for j, array in enumerate(row):
                    ordered = cupy.ascontiguousarray(array)
                    if ordered is not array and j != 1:
                        later.append((array, ordered))
                    table[j, k] = ordered.data.ptr
                    alive.append(ordered)
                table[-1, k] = row[0].size
            most = max(row[0].size for row in part)
            blocks = min((most + 4 * THREADS - 1) // (4 * THREADS), 1024)
            self.kernel((blocks, len(part)), (THREADS,), (by_value(table), *numbers))
        for array, ordered in later:
            array[...] = ordered


def _untraced(program: Callable[..., Any]) -> Callable[..., Any]:
    """The program as it is, operation by operation."""

    def run(columns: Sequence[Sequence[Any]], settings: dict[str, Any]) -> None:
        xp = device.by_array[cupy.ndarray].xp
        for p, g, *states in zip(*columns, strict=True):
            for old, new in zip((p, *states), program(xp, p, g, *states, **settings), strict=True):
                old[...] = new

    return run


_steps: dict[Any, Callable[..., Any]] = {}


def elementwise_step(
    name: str, program: Callable[..., Any], columns: Sequence[Sequence[Any]], settings: dict[str, Any]
) -> None:
    """Update lists of arrays, of one dtype each, by a step's program."""
    dtypes = tuple([column[0].dtype for column in columns])
    key = (program, dtypes, key_of_step(settings))
    run = _steps.get(key)
    if run is None:
        try:
            run = _Step(name, trace_step(program, dtypes, settings))
        except Untraceable:
            run = _untraced(program)
        _steps[key] = run
    run(columns, settings)
