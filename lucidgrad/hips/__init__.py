"""HIPS autograd's names and habits: ``import lucidgrad.hips as autograd``.

Functions of arrays and numbers, written with ``autograd.numpy``, give arrays and numbers; their derivatives are taken
with `grad`, `jacobian` and their like. All of it is a table over lucidgrad's own transforms and functions.

Examples
--------
>>> import lucidgrad.hips.numpy as np
>>> from lucidgrad.hips import grad
>>> def tanh(x):
...     return (1.0 - np.exp(-2 * x)) / (1.0 + np.exp(-2 * x))
>>> bool(np.isclose(grad(tanh)(1.0), 0.419974341614026))
True
"""

import importlib as _importlib
from collections.abc import Iterable as _Iterable
from types import ModuleType as _ModuleType

from lucidgrad.refusals import guard as _guard

from .builtins import dict, isinstance, list, tuple, type  # noqa: F401
from .differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    elementwise_grad as egrad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from .extend import primitive

_MODULES = """
builtins core differential_operators extend misc numpy scipy test_util tracer wrap_util
""".split()

#: Without the names of Python's own types, which an import of all names is to leave alone.
__all__ = [
    "checkpoint", "deriv", "egrad", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian",
    "hessian_tensor_product", "hessian_vector_product", "holomorphic_grad", "jacobian", "make_ggnvp", "make_hvp",
    "make_jvp", "make_jvp_reversemode", "make_vjp", "multigrad_dict", "primitive", "tensor_jacobian_product",
    "value_and_grad", "vector_jacobian_product",
]  # fmt: skip


def __getattr__(name: str) -> _ModuleType:
    """A module when it is first asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _importlib.import_module(f"{__name__}.{name}")


def __dir__() -> _Iterable[str]:
    return sorted({*globals(), *_MODULES})


_guard(__name__, ("checkpoint", "grad_named", "make_ggnvp", "multigrad_dict", "primitive"))
