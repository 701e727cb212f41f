"""The functions that expressions are made of: NumPy's function, which says the dtypes, and how C spells it.

What C lacks, or has with other values at zeros, infinities and NaN than NumPy, is a small function in `c_functions`.
"""

from typing import Any, NamedTuple

import numpy as np


class Function(NamedTuple):
    """A ufunc, and its spelling by the kind of its arguments' dtype: b, i, u, f, c; None: for all the same."""

    ufunc: Any
    everywhere: str | None = None
    kinds: dict[str, str | None] = {}  # noqa: RUF012

    def spelling(self, kind: str) -> str | None:
        return self.kinds.get(kind, self.everywhere)


#: Python's operators with two operands.
PLAIN = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_quotient",
    "mod": "remainder", "pow": "pow", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}  # fmt: skip

#: What parameters may be combined with before they meet an array.
WEAK_RESULTS = frozenset({"add", "subtract", "multiply", "divide", "negative", "positive"})
COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})


def _operator(ufunc: Any, symbol: str, **kinds: str | None) -> Function:
    return Function(ufunc, f"({{0}} {symbol} {{1}})", kinds)


def _call(ufunc: Any, name: str, *, floats: bool = True, complexes: bool = True) -> Function:
    """A function that C has for floats, and CuPy's headers for complex numbers."""
    arguments = ", ".join(f"{{{i}}}" for i in range(ufunc.nin))
    text = f"{name}({arguments})"
    return Function(ufunc, None, {"f": text if floats else None, "c": text if complexes else None})


def _order(ufunc: Any, symbol: str) -> Function:
    return _operator(ufunc, symbol, c=None)


def _same(ufunc: Any, name: str) -> Function:
    """A rounding: integers have nothing to round."""
    return Function(ufunc, "{0}", {"f": f"{name}({{0}})", "c": None})


def _logic(ufunc: Any, symbol: str) -> Function:
    return Function(ufunc, f"(({{0}} != 0) {symbol} ({{1}} != 0))", {"c": None})


FUNCTIONS: dict[str, Function] = {
    "add": _operator(np.add, "+", b="({0} || {1})"),
    "subtract": _operator(np.subtract, "-", b=None),
    "multiply": _operator(np.multiply, "*", b="({0} && {1})"),
    "divide": _operator(np.divide, "/", c="lg_complex_divide({0}, {1})"),
    "negative": Function(np.negative, "(-{0})", {"b": None}),
    "positive": Function(np.positive, "{0}"),
    "reciprocal": Function(np.reciprocal, None, {"f": "({T}(1) / {0})", "c": "lg_complex_reciprocal({0})"}),
    "square": Function(np.square, "({0} * {0})"),
    "remainder": Function(np.remainder, "lg_remainder({0}, {1})", {"b": None, "c": None}),
    "floor_divide": Function(np.floor_divide, "lg_floor_divide({0}, {1})", {"b": None, "c": None}),
    "floor_quotient": Function(np.floor_divide, "lg_floor_quotient({0}, {1})", {"b": None, "c": None}),  # a // b
    "fmod": Function(np.fmod, "lg_integer_fmod({0}, {1})", {"b": None, "f": "fmod({0}, {1})", "c": None}),
    # comparisons and choice
    "equal": _operator(np.equal, "=="),
    "not_equal": _operator(np.not_equal, "!="),
    "less": _order(np.less, "<"),
    "less_equal": _order(np.less_equal, "<="),
    "greater": _order(np.greater, ">"),
    "greater_equal": _order(np.greater_equal, ">="),
    "maximum": Function(np.maximum, "lg_maximum({0}, {1})", {"c": None}),
    "minimum": Function(np.minimum, "lg_minimum({0}, {1})", {"c": None}),
    "isfinite": Function(np.isfinite, "true", {"f": "isfinite({0})", "c": "lg_isfinite({0})"}),
    "isinf": Function(np.isinf, "false", {"f": "isinf({0})", "c": "lg_isinf({0})"}),
    "isnan": Function(np.isnan, "false", {"f": "({0} != {0})", "c": "({0} != {0})"}),
    "signbit": Function(np.signbit, None, {"f": "(signbit({0}) != 0)"}),
    "logical_and": _logic(np.logical_and, "&&"),
    "logical_or": _logic(np.logical_or, "||"),
    "logical_xor": _logic(np.logical_xor, "!="),
    "logical_not": Function(np.logical_not, "({0} == 0)", {"c": None}),
    "bitwise_and": Function(np.bitwise_and, "({0} & {1})"),
    "bitwise_or": Function(np.bitwise_or, "({0} | {1})"),
    "bitwise_xor": Function(np.bitwise_xor, "({0} ^ {1})"),
    "bitwise_invert": Function(np.bitwise_invert, "(~{0})", {"b": "(!{0})"}),
    "bitwise_left_shift": Function(np.bitwise_left_shift, "lg_shift_left({0}, {1})"),
    "bitwise_right_shift": Function(np.bitwise_right_shift, "lg_shift_right({0}, {1})"),
    # modulus, sign, rounding
    "abs": Function(np.absolute, "({0} < 0 ? -{0} : {0})", {"b": "{0}", "u": "{0}", "f": "fabs({0})", "c": "abs({0})"}),
    "sign": Function(np.sign, "(({0} > 0) - ({0} < 0))", {"f": "lg_sign({0})", "c": "lg_complex_sign({0})", "b": None}),
    "copysign": _call(np.copysign, "copysign", complexes=False),
    "nextafter": _call(np.nextafter, "nextafter", complexes=False),
    "hypot": _call(np.hypot, "hypot", complexes=False),
    "floor": _same(np.floor, "floor"),
    "ceil": _same(np.ceil, "ceil"),
    "trunc": _same(np.trunc, "trunc"),
    "round": _same(np.rint, "rint"),
    # parts of complex numbers
    "conj": Function(np.conjugate, "{0}", {"c": "conj({0})"}),
    # exponentials, powers, circular and hyperbolic functions
    **{
        name: _call(getattr(np, name), name)
        for name in ("exp", "log", "log1p", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")
    },
    **{name: _call(getattr(np, name), name) for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    "expm1": Function(np.expm1, None, {"f": "expm1({0})", "c": "lg_complex_expm1({0})"}),
    "log2": Function(np.log2, None, {"f": "log2({0})", "c": "lg_complex_log2({0})"}),
    "exp2": _call(np.exp2, "exp2", complexes=False),
    "atan2": _call(np.atan2, "atan2", complexes=False),
    "pow": Function(np.pow, "lg_power({0}, {1})", {"f": "pow({0}, {1})", "c": "lg_complex_power({0}, {1})", "b": None}),
    "logaddexp": _call(np.logaddexp, "lg_logaddexp", complexes=False),
    # error and gamma functions, which C has and NumPy has not: their dtypes are those of expm1
    "erf": _call(np.expm1, "erf", complexes=False),
    "erfc": _call(np.expm1, "erfc", complexes=False),
    "normal_density": _call(np.expm1, "lg_normal_density", complexes=False),
    "normal_share": _call(np.expm1, "lg_normal_share", complexes=False),
    "gamma": _call(np.expm1, "tgamma", complexes=False),
    "gammaln": _call(np.expm1, "lgamma", complexes=False),
}
