"""NumPy kernels for products with a transpose: a view for the BLAS, and the bias added into the result."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .halves import HALF
from .linalg import matmul


def linear(x: Any, w: Any) -> Any:
    if w.ndim != 2 or not x.ndim or x.shape[-1] != w.shape[1]:
        raise RuntimeError(
            f"linear: given an input of shape {tuple(x.shape)} and weights of shape {tuple(w.shape)}, expected "
            f"(..., inputs) and (outputs, inputs)"
        )
    return matmul(x, w.T)


def affine(x: Any, w: Any, b: Any) -> Any:
    dtype = b.dtype
    if dtype is HALF is x.dtype is w.dtype:  # rounded once, after the bias
        return affine(*(a.astype(np.float32) for a in (x, w, b))).astype(HALF)
    y = linear(x, w)
    if b.shape != y.shape[-1:]:
        raise RuntimeError(
            f"linear: given weights of shape {tuple(w.shape)} and a bias of shape {tuple(b.shape)}, expected as many "
            f"outputs of both"
        )
    if dtype is not y.dtype:
        return y + b
    y += b
    return y


def across(x1: Any, x2: Any) -> Any:
    return matmul(x1.T, x2)


TABLE: dict[str, Callable[..., Any]] = {"across": across, "affine": affine, "linear": linear}
