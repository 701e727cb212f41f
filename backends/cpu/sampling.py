"""Random numbers from a NumPy generator."""

from typing import Any

import numpy as np


def draw(source: Any, how: str, shape: tuple[int, ...], dtype: Any, *args: Any) -> Any:
    """Numbers of a distribution; float32 and float64 are drawn as such, not rounded from the other."""
    dtype = np.dtype(dtype)
    native = dtype if dtype in (np.float32, np.float64) else np.dtype("float64")
    if how == "uniform":
        low, high = args
        return _finish(source.random(shape, dtype=native), low, high - low, dtype)
    if how == "normal":
        mean, std = args
        if dtype.kind == "c":  # unit variance in all, as PyTorch's
            parts = source.standard_normal((2, *shape))
            return _finish((parts[0] + 1j * parts[1]) / np.sqrt(2), mean, std, dtype)
        return _finish(source.standard_normal(shape, dtype=native), mean, std, dtype)
    if how == "integers":
        return source.integers(*args, size=shape).astype(dtype)
    if how == "permutation":
        return source.permutation(*shape).astype(dtype)
    weights, count, replacement = args
    rows = np.asarray(weights, dtype="float64").reshape(-1, weights.shape[-1])
    picks = [source.choice(len(row), count, replacement, row / row.sum()) for row in rows]
    return np.asarray(picks, dtype=dtype).reshape(*shape, count)


def _finish(values: Any, shift: Any, scale: Any, dtype: Any) -> Any:
    values = np.asarray(values)
    if scale != 1:
        values = values * values.dtype.type(scale)
    if shift != 0:
        values = values + values.dtype.type(shift)
    return np.asarray(values).astype(dtype, copy=False)
