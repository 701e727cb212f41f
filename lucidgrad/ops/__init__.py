"""Primitives and their rules, by family.

A family is loaded when one of its primitives is first asked for, or a name of its module: ``ops.reduction.sum``.
"""

from typing import Any

from lucidgrad.core.primitive import registry
from lucidgrad.later import submodule

from . import precision  # noqa: F401  which tells the engine how floats of several dtypes meet

#: Which module declares which primitives; a test compares this with what they declare.
_FAMILIES = {
    "attention": "attention attention_pull dropout_flags",
    "ctc": "path_logsumexp",
    "elementwise.activation": """
        celu elu gelu hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish normal_density normal_share relu
        sigmoid sigmoid_pull silu softplus
    """,
    "elementwise.arithmetic": """
        add divide floor_divide fmod multiply negative positive reciprocal remainder scale square subtract
        unscale
    """,
    "elementwise.choice": "clip maximum minimum nan_to_num thin where",
    "elementwise.comparison": """
        bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor equal greater
        greater_equal isfinite isinf isnan less less_equal logical_and logical_not logical_or logical_xor
        not_equal signbit
    """,
    "elementwise.complex": "abs angle conj copysign hypot imag real sign",
    "elementwise.composition": "join_parts",
    "elementwise.copies": "astype cast_discrete clone full_like ones_like transfer zeros_like",
    "elementwise.exponential": "exp exp2 expm1 log log10 log1p log2 logaddexp logaddexp2 pow rsqrt sqrt xlogy",
    "elementwise.rounding": "ceil floor heaviside nextafter round trunc",
    "elementwise.trigonometric": "acos acosh asin asinh atan atan2 atanh cos cosh sin sinc sinh tan tanh tanh_pull",
    "fourier": "dft half_dft real_dft",
    "indexing.scattering": "extreme_put",
    "indexing.selection": "index pick pick_put put_add stays",
    "indexing.taking": "last_put put_along_axis_add take take_along_axis take_put",
    "linalg.checks": "failing_minor zero_pivot",
    "linalg.decompositions": "eig eigh eigvalsh pinv qr svd svdvals",
    "linalg.einsum": "pair_einsum",
    "linalg.exponential": "matrix_exp",
    "linalg.factors": "packed_lu row_order",
    "linalg.indefinite": "ldl_layout packed_ldl",
    "linalg.linear": "across affine linear",
    "linalg.matrices": "cholesky cofactor det inv raising slogdet solve solve_triangular",
    "linalg.products": "matmul",
    "losses": "cross_entropy_pull cross_entropy_rows mean_squared_error",
    "normalisation": "batch_norm batch_norm_pull layer_norm layer_norm_pull standardise standardise_pull",
    "pooling": "avg_pool avg_pool_put max_pool pool_put",
    "recurrence": "gru_sequence gru_sequence_pull lstm_sequence lstm_sequence_pull rnn_sequence rnn_sequence_pull",
    "reduction": """
        all any argmax argmin count_nonzero extreme_pull logsumexp logsumexp_pull max mean min prod std std_pull
        sum var var_pull vector_norm
    """,
    "scan": "cumulative_argmax cumulative_argmin cumulative_prod cumulative_sum logcumsumexp recurrence",
    "sets": "isin unique_places",
    "shape.diagonals": "diagonal diagonal_put tril triu",
    "shape.joining": "concat split_with_sizes stack unstack",
    "shape.layout": "broadcast_to expand_dims flip matrix_transpose moveaxis permute_dims reshape roll squeeze",
    "softmax": "log_softmax log_softmax_pull softmax softmax_pull",
    "sorting": "argsort argtopk nonzero searchsorted",
    "special.airy": "airy_ai airy_slope",
    "special.bessel": "bessel_quotient i0 i0e i1 i1e",
    "special.cylinder": "bessel_j0 bessel_j1 bessel_j_quotient bessel_y0 bessel_y1 spherical_bessel_j0",
    "special.entropy": "entr exprel kl_div log_odds rel_entr xlog1py",
    "special.error": "erf erfc erfcinv erfcx erfinv log_ndtr ndtr ndtri",
    "special.gamma": "beta betaln gamma gammaln hurwitz_zeta psi psi_derivative riemann_slope riemann_zeta zeta_slope",
    "special.incomplete": """
        beta_density beta_slope gamma_density gamma_slope lower_beta lower_gamma upper_beta upper_gamma
    """,
    "special.macdonald": "k0 k0e k1 k1e",
    "windows": "convolution convolution_input convolution_weight fold_windows unfold_windows",
}
registry.homes.update((name, f"{__name__}.{module}") for module, names in _FAMILIES.items() for name in names.split())


def __getattr__(name: str) -> Any:
    return submodule(__name__, name)
