"""Transforms of functions: derivatives of every kind, and vectorisation; they nest in any order."""

from lucidgrad.func import trees
from lucidgrad.func.control import cond, fori_loop, map, scan, while_loop
from lucidgrad.func.forward import jvp, linearize
from lucidgrad.func.jacobians import hessian, jacfwd, jacrev
from lucidgrad.func.modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from lucidgrad.func.reverse import grad, grad_and_value, value_and_grad, vjp
from lucidgrad.func.vectorising import is_transformed, vmap
from lucidgrad.refusals import guard as _guard

__all__ = [
    "cond", "fori_loop", "functional_call", "grad", "grad_and_value", "hessian", "is_transformed", "jacfwd", "jacrev",
    "jvp", "linearize", "map", "replace_all_batch_norm_modules_", "scan", "stack_module_state", "trees",
    "value_and_grad", "vjp", "vmap", "while_loop",
]  # fmt: skip


_guard(__name__, __all__)
