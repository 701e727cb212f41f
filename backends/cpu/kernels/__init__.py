"""NumPy functions for primitives whose names or keywords differ from NumPy's, or which NumPy lacks."""

import importlib
from collections.abc import Callable
from typing import Any

from lucidgrad.later import Table

from .elementwise import COMPLEX, TABLE as ELEMENTWISE

__all__ = ["COMPLEX", "SMALL", "Kernels"]

#: Elements from which products choose among several ways; smaller ones are NumPy's, and C may call it itself.
SMALL = 8192

#: The modules of other kernels, which are loaded when one is asked for; a test compares this with their tables.
_FAMILIES = {
    "attention": "attention attention_pull",
    "fft": "dft half_dft real_dft",
    "linalg": """
        across affine cholesky cofactor det eig eigh eigvalsh failing_minor inv linear matmul packed_lu pair_einsum qr
        slogdet solve svd svdvals zero_pivot
    """,
    "recurrence": "gru_sequence gru_sequence_pull lstm_sequence lstm_sequence_pull rnn_sequence rnn_sequence_pull",
    "reduction": """
        any argsort argtopk count_nonzero cumulative_argmax cumulative_argmin cumulative_prod cumulative_sum isin
        logcumsumexp logsumexp max mean min prod searchsorted std sum unique_places var
    """,
    "rows": """
        batch_norm batch_norm_pull cross_entropy_pull cross_entropy_rows extreme_pull layer_norm layer_norm_pull
        log_softmax log_softmax_pull logsumexp_pull mean_squared_error softmax softmax_pull standardise
        standardise_pull std_pull var_pull
    """,
    "shape": """
        broadcast_to concat diagonal diagonal_put expand_dims extreme_put flip index last_put matrix_transpose moveaxis
        nonzero permute_dims pick pick_put put_add put_along_axis_add reshape roll split_with_sizes squeeze stack take
        take_along_axis take_put tril triu unstack
    """,
    "steps": "elementwise_step",
    "windows": """
        avg_pool avg_pool_put convolution convolution_input convolution_weight fold_windows max_pool pool_put
        unfold_windows
    """,
}

#: Those that add up in loops of NumPy's, or by a library that has no float16; others see to it themselves.
_ADDING = frozenset(
    """
    avg_pool avg_pool_put convolution convolution_input convolution_weight fold_windows pair_einsum pool_put
    """.split()
)


class Kernels(Table[Callable[..., Any]]):
    """Kernels by primitive name."""

    def __init__(self) -> None:
        super().__init__({name: family for family, names in _FAMILIES.items() for name in names.split()})
        self.update(ELEMENTWISE)

    def load(self, module: str) -> None:
        from .halves import through_single

        for name, kernel in importlib.import_module(f"{__name__}.{module}").TABLE.items():
            self.setdefault(name, through_single(kernel) if name in _ADDING else kernel)
