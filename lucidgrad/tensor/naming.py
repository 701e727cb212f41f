"""PyTorch's names of the parameters of methods: most methods are functions, which have the standard's or NumPy's."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from lucidgrad import spelling
from lucidgrad.core.operators import compile_method
from lucidgrad.refusals import guarded

#: What methods call their parameters, in order -> those methods; `lucidgrad.spelling.renamed` says how it is read.
_TABLE = {
    "other": """
        allclose arctan2 atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign div
        divide eq equal floor_divide fmax fmin fmod gcd ge greater greater_equal gt hypot inner isclose kron lcm ldexp
        le less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor lt matmul maximum minimum mul
        multiply ne nextafter not_equal remainder true_divide vdot xlogy
    """,
    "dim": "argsort count_nonzero cummax cummin logcumsumexp unbind unsqueeze",
    "dim dtype": "log_softmax softmax",
    "dim keepdim": "all amax amin aminmax any argmax argmin logsumexp mean mode nanmean nansum prod sum",
    "dim index ~sparse_grad": "gather",
    "dim index src|value": "scatter",
    "dim0 dim1": "swapdims swapdims_ transpose transpose_",
    "axis0 axis1": "swapaxes swapaxes_",
    "diagonal": "tril triu",
    "exponent": "float_power pow",
    "input2": "cholesky_solve orgqr",
    "input2 input3": "ormqr",
    "k dim": "topk",
    "k dim keepdim": "kthvalue",
    "k dims": "rot90",
    "mat2": "mm",
    "n": "matrix_power",
    "n dim": "diff",
    "offset dim1 dim2": "diagonal",
    "p dim keepdim dtype": "norm",
    "sections|indices": "dsplit hsplit vsplit",
    "sections|indices|tensor_indices_or_sections dim": "tensor_split",
    "shifts dims": "roll",
    "split_size dim": "split",
    "split_sizes dim": "split_with_sizes",
    "tensor": "dot is_set_to",
    "values": "heaviside",
    "vec2": "outer",
    "*dims": "flip permute tile",
    "*repeats": "repeat",
    "*shape": "reshape",
    "*size": "broadcast_to sum_to_size view",
    "*size ~implicit": "expand",
    "*size ~layout": "new_empty new_ones new_zeros",
    "size fill_value ~layout": "new_full",
    "~memory_format": "clone",
}
NAMES = {method: tuple(names.split()) for names, methods in _TABLE.items() for method in methods.split()}


def named(name: str, function: Any) -> Callable[..., Any]:
    """A function as the method of a name, with PyTorch's names of its parameters."""
    names = NAMES.get(name)
    if names is None:
        return function
    primitive = getattr(function, "primitive", None)
    if primitive is not None and getattr(function, "__wrapped__", None) is primitive.op:
        made = function.around(named(name, primitive.op))
        made.__signature__ = inspect.signature(made.__wrapped__)
        return made
    if primitive is None or function is not primitive.op or primitive.outputs:
        plain = function if "first_call" not in function.__globals__ else function.__wrapped__
        return guarded(plain, names)
    made = compile_method(function, names)
    functools.update_wrapper(made, function, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
    del made.__wrapped__  # type: ignore[attr-defined]
    made.primitive = primitive  # type: ignore[attr-defined]
    pairs, notes = spelling.renamed(primitive.parameters(), names), primitive.program.__annotations__
    notes = {p.name: notes.get(own.name, Any) for p, own in pairs}
    made.__signature__ = spelling.signature([p for p, _ in pairs], notes)  # type: ignore[attr-defined]
    return made
