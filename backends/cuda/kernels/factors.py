"""Factorisations by cuSOLVER and cuBLAS."""

from collections.abc import Callable
from typing import Any

import cupy
from cupy.linalg._decomposition import _lu_factor  # unlike the public function it neither copies back nor waits

from lucidgrad.backends.cuda import captures
from lucidgrad.core import device
from lucidgrad.core.primitive import registry


def packed_lu(x: Any, /, *, pivot: bool = True) -> Any:
    xp = device.by_array[cupy.ndarray].xp
    if not pivot or not x.size or x.ndim < 2 or x.shape[-2] != x.shape[-1]:
        return registry["packed_lu"].program(xp, x, pivot=pivot)
    captures.refuse("packed_lu waits for the device", "call it before or after the graph")
    packed, pivots, _ = _lu_factor(x.swapaxes(-1, -2), x.dtype)
    return packed.swapaxes(-1, -2), pivots, xp.row_order(pivots, rows=x.shape[-1])


TABLE: dict[str, Callable[..., Any]] = {"packed_lu": packed_lu}
