"""Products of float16 through float32: NumPy has no quick loop for them, and would round after every addition."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

_HALF, _SINGLE = np.dtype("float16"), np.dtype("float32")

#: Primitives that are dominated by products of matrices; matmul sees to it itself.
PRODUCTS = """
    attention attention_pull convolution convolution_input convolution_weight gru_sequence gru_sequence_pull
    lstm_sequence lstm_sequence_pull rnn_sequence rnn_sequence_pull
""".split()


def through_single(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that computes with float16 in float32 and rounds once at its end."""

    @functools.wraps(kernel)
    def run(*arrays: Any, **keywords: Any) -> Any:
        if not any(type(a) is np.ndarray and a.dtype is _HALF for a in arrays):
            return kernel(*arrays, **keywords)
        wide = any(type(a) is np.ndarray and a.dtype is not _HALF and a.dtype.kind in "fc" for a in arrays)
        made = kernel(*map(_widened, arrays), **keywords)
        if wide:
            return made
        return tuple(map(_rounded, made)) if isinstance(made, tuple) else _rounded(made)

    return run


def _widened(a: Any) -> Any:
    return a.astype(_SINGLE) if type(a) is np.ndarray and a.dtype is _HALF else a


def _rounded(y: Any) -> Any:
    return y.astype(_HALF) if type(y) is np.ndarray and y.dtype is _SINGLE else y


def with_halves(table: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Kernels of which those of products compute with float16 in float32."""
    return {name: through_single(kernel) if name in PRODUCTS else kernel for name, kernel in table.items()}
