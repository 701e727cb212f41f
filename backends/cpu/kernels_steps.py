"""NumPy kernels of optimiser steps: in place, block by block, with one or two small temporaries."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

#: Elements that are updated at a time.
BLOCK = 32768


def _blocks(rows: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """Pieces of one size of all arrays of a row, which are views wherever they must be written."""
    for arrays in zip(*rows, strict=True):
        p = arrays[0]
        if p.size <= BLOCK or not all(a.flags.c_contiguous for k, a in enumerate(arrays) if k != 1):
            yield arrays
            continue
        flat = [a.reshape(-1) for a in arrays]
        for k in range(0, p.size, BLOCK):
            yield tuple(a[k : k + BLOCK] for a in flat)


def sgd_step(
    *rows: Sequence[Any],
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    first: bool,
) -> None:
    for p, g, *buffers in _blocks(rows):
        if maximize:
            g = -g
        if weight_decay:
            g = g + p * weight_decay
        for buffer in buffers:
            if first:
                buffer[...] = g
            else:
                buffer *= momentum
                buffer += g * (1 - dampening) if dampening else g
            g = g + buffer * momentum if nesterov else buffer
        p -= g * lr


def adam_step(
    *rows: Sequence[Any],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: int,
    decoupled: bool,
    maximize: bool,
) -> None:
    rate, root = lr / (1 - beta1**step), math.sqrt(1 - beta2**step)
    for p, g, mean, square, *largest in _blocks(rows):
        if maximize:
            g = -g
        if weight_decay and decoupled:
            p *= 1 - lr * weight_decay
        elif weight_decay:
            g = g + p * weight_decay
        change = g - mean
        change *= 1 - beta1
        mean += change
        np.multiply(g, g, out=change)
        change *= 1 - beta2
        square *= beta2
        square += change
        if largest:
            square = np.maximum(largest[0], square, out=largest[0])
        np.sqrt(square, out=change)
        change /= root
        change += eps
        np.divide(mean, change, out=change)
        change *= rate
        p -= change


TABLE: dict[str, Callable[..., Any]] = {"sgd_step": sgd_step, "adam_step": adam_step}
