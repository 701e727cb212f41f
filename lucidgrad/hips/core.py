"""HIPS autograd's inner names that programs use: derivatives of functions of one argument, rules, and spaces."""

from collections.abc import Callable
from typing import Any

from . import differential_operators as _operators
from .boxes import Box, getval, isbox
from .extend import (
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    primitive,
    vspace,
)

__all__ = [
    "Box", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp", "defvjp_argnum",
    "defvjp_argnums", "getval", "isbox", "make_jvp", "make_vjp", "primitive", "vspace",
]  # fmt: skip


def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The function that pulls cotangents back to x, and the value there."""
    return _operators.make_vjp(fun)(x)


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """A function of a direction that gives the value at x and the derivative in that direction."""
    return _operators.make_jvp(fun)(x)
