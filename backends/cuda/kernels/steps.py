"""Hand-written kernels of optimiser steps: one launch for many tensors.

Their addresses and sizes travel by value, as a structure among the kernel's arguments, so nothing is copied to the
device and nothing waits. Blocks of one row of the grid share a tensor.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from lucidgrad.backends.cuda.compiling import FLOATS, THREADS, Sources, by_value
from lucidgrad.backends.cuda.generated_steps import elementwise_step

#: Lists of tensors that a kernel takes at most, and tensors in a launch: arguments have room for 4 KB.
LISTS, TENSORS = 5, 64

TABLES = f"""
struct Table {{ T *lists[{LISTS}][{TENSORS}]; I sizes[{TENSORS}]; }};
""" + (
    r"""
#define ELEMENTS(k) \
    const I size = table.sizes[blockIdx.y]; \
    for (I k = (I)blockIdx.x * blockDim.x + threadIdx.x; k < size; k += (I)gridDim.x * blockDim.x)
"""
)

_BODIES = {
    "sgd_step": r"""
extern "C" __global__ void sgd_step(
    Table table, double lr, double momentum, double dampening, double decay, bool nesterov, bool maximize, bool first) {
    T *p = table.lists[0][blockIdx.y], *buffer = table.lists[2][blockIdx.y];
    const T *grad = table.lists[1][blockIdx.y];
    ELEMENTS(k) {
        A g = maximize ? -(A)grad[k] : (A)grad[k];
        g += (A)decay * (A)p[k];
        if (buffer) {
            A b = first ? g : (A)momentum * (A)buffer[k] + (A)(1 - dampening) * g;
            buffer[k] = (T)b;
            g = nesterov ? g + (A)momentum * b : b;
        }
        p[k] = (T)((A)p[k] - (A)lr * g);
    }
}
""",
    "adam_step": r"""
extern "C" __global__ void adam_step(
    Table table, double lr, double rate, double scale, double beta1, double beta2, double eps, double decay,
    bool decoupled, bool maximize) {
    T *p = table.lists[0][blockIdx.y], *mean = table.lists[2][blockIdx.y];
    T *square = table.lists[3][blockIdx.y], *largest = table.lists[4][blockIdx.y];
    const T *grad = table.lists[1][blockIdx.y];
    ELEMENTS(k) {
        A v = (A)p[k], g = maximize ? -(A)grad[k] : (A)grad[k];
        if (decoupled) v *= (A)(1 - lr * decay);
        else g += (A)decay * v;
        A m = (A)mean[k] + (g - (A)mean[k]) * (A)(1 - beta1);
        A s = (A)square[k] * (A)beta2 + g * g * (A)(1 - beta2);
        mean[k] = (T)m;
        square[k] = (T)s;
        if (largest) {
            if ((A)largest[k] > s) s = (A)largest[k];
            largest[k] = (T)s;
        }
        p[k] = (T)(v - (A)rate * (m / (root(s) / (A)scale + (A)eps)));
    }
}
""",
}

BODIES = {name: TABLES + body for name, body in _BODIES.items()}
SOURCES = Sources(BODIES)


def _launches(name: str, lists: Sequence[Sequence[Any]], *settings: Any) -> None:
    """Launch a kernel for every 64 tensors; what is not in order in memory is copied there and back."""
    rows = [row for row in zip(*lists, strict=True) if row[0].size]
    later: list[Callable[[], Any]] = []
    for start in range(0, len(rows), TENSORS):
        table = np.zeros((LISTS + 1, TENSORS), np.uint64)
        alive, most = [], 0
        for k, row in enumerate(rows[start : start + TENSORS]):
            for j, array in enumerate(row):
                ordered = cupy.ascontiguousarray(array, dtype=row[0].dtype)
                if ordered is not array and j != 1:
                    later.append(lambda old=array, new=ordered: old.__setitem__(..., new))  # type: ignore[misc]
                table[j, k] = ordered.data.ptr
                alive.append(ordered)
            table[LISTS, k] = row[0].size
            most = max(most, row[0].size)
        count = min(len(rows) - start, TENSORS)
        blocks = min((most + 4 * THREADS - 1) // (4 * THREADS), 1024)
        SOURCES.kernel(name, alive[0].dtype)((blocks, count), (THREADS,), (by_value(table), *settings))
    for write in later:
        write()


def _need_floats(name: str, dtype: Any) -> None:
    if dtype.char not in FLOATS:
        raise TypeError(f"{name}: given parameters of dtype {dtype}, expected float16, float32 or float64")


def sgd_step(
    *lists: Sequence[Any],
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    first: bool,
) -> None:
    _need_floats("sgd_step", lists[0][0].dtype)
    numbers = map(float, (lr, momentum, dampening, weight_decay))
    _launches("sgd_step", lists, *numbers, nesterov, maximize, first)


def adam_step(
    *lists: Sequence[Any],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: int,
    decoupled: bool,
    maximize: bool,
) -> None:
    _need_floats("adam_step", lists[0][0].dtype)
    rate, scale = lr / (1 - beta1**step), math.sqrt(1 - beta2**step)
    numbers = map(float, (lr, rate, scale, beta1, beta2, eps, weight_decay))
    _launches("adam_step", lists, *numbers, decoupled, maximize)


TABLE: dict[str, Callable[..., Any]] = {
    "sgd_step": sgd_step,
    "adam_step": adam_step,
    "elementwise_step": elementwise_step,
}
