"""Why some errors are above four ulp, and why some primitives have no row."""

FROM_VALUE = (
    "the derivative is made from the value, which saves memory: where that is near ±1, one ulp of it is all that is "
    "known of the derivative, whose absolute error stays below two ulp of 1"
)
TAIL_OF_ONE = (
    "a number next to 1 is taken from 1 (or one next to -1 is added to it): what is left has "
    "the absolute error of an ulp of 1"
)
LAPACK = "LAPACK's errors are small against the norm of a matrix, not against each entry"
CENTRED = "values less their mean: one ulp of the values, which are 1000 times their distance from the mean, shows"

#: By primitive and column (or all columns, ""): errors above four ulp that conditioning does not explain.
REASONS: dict[tuple[str, str], str] = {
    ("tanh", ""): FROM_VALUE,
    ("sigmoid", ""): FROM_VALUE,
    ("rnn_sequence", ""): FROM_VALUE + " (tanh, through all steps)",
    ("silu", ""): TAIL_OF_ONE + ": 1 - sigmoid with sigmoid near 1",
    ("softmax", ""): FROM_VALUE + " (logits 300 apart)",
    **{
        (name, ""): TAIL_OF_ONE + ": the logarithm of a sum, or the share of a class, next to 1 (logits 300 apart)"
        for name in ("log_softmax", "cross_entropy_rows", "cross_entropy_pull")
    },
    ("gelu", ""): "an exponential whose argument, about -650, is a product of rounded factors",
    ("erfcinv", ""): "the rounding of the value (3 ulp), of its erfcx, of a quotient and of two products",
    ("log_ndtr", ""): "the roundings of an argument, of its erfcx, of a quotient and of a product add up",
    ("path_logsumexp", "vjp"): "the exponential of a sum of logarithms, which were rounded at every step",
    **dict.fromkeys(
        (("lower_gamma", "vjp"), ("lower_gamma", "jvp"), ("upper_gamma", "vjp"), ("upper_beta", "vjp")),
        "with respect to a parameter: the roundings of a power, of its exponent and of a sum add up",
    ),
    (
        "beta_density",
        "vjp",
    ): "with respect to a parameter: the roundings of the value and of a sum of logarithms",
    ("std", ""): CENTRED,
    ("det", "value"): LAPACK,
    ("det", ""): "the determinant times the inverse: " + LAPACK,
    ("qr", ""): LAPACK,
    ("pinv", "vjp"): "differences of products of inverses: " + LAPACK,
    ("matrix_exp", "value"): "squares of squares of the exponential of a part: errors are small against the norm",
}

CONDITION = "conditioning"

CUDA_COFACTOR = "cofactors come from singular values; the CPU takes the determinant times the inverse if that is exact"

#: Where CUDA is further off than the CPU, in float64.
CUDA_REASONS: dict[str, str] = {
    **dict.fromkeys(["cofactor", "det"], CUDA_COFACTOR),
}

#: Primitives without a row of their own, each with its reason.
MISSING: dict[str, str] = {
    name: f"the derivative of {of} with respect to a parameter, which that row shows; it is compared with mpmath "
    f"to the second order in tests/ops/test_parameter_derivatives.py"
    for name, of in {
        "beta_slope": "lower_beta",
        "gamma_slope": "lower_gamma",
        "riemann_slope": "riemann_zeta",
        "zeta_slope": "hurwitz_zeta",
    }.items()
} | dict.fromkeys(
    (
        "rank_broadcast rank_exchange rank_gather rank_join rank_part rank_pass rank_reduce rank_scatter rank_spread "
        "rank_sum rank_total"
    ).split(),
    "moves numbers between processes, and adds up those of several as MPI and NCCL do; one process copies them",
)


def reason(name: str, column: str) -> str | None:
    """Why an error of a primitive is large."""
    return REASONS.get((name, column)) or REASONS.get((name, ""))
