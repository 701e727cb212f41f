# Written by `python -m tools.stubs`: what is wrong here is mended there.

import builtins as _python
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, overload

from typing_extensions import ParamSpec, TypeVar

from lucidgrad.hips import builtins as builtins
from lucidgrad.hips import core as core
from lucidgrad.hips import differential_operators as differential_operators
from lucidgrad.hips import extend as extend
from lucidgrad.hips import misc as misc
from lucidgrad.hips import numpy as numpy
from lucidgrad.hips import scipy as scipy
from lucidgrad.hips import test_util as test_util
from lucidgrad.hips import tracer as tracer
from lucidgrad.hips import wrap_util as wrap_util
from lucidgrad.hips.builtins import dict as dict
from lucidgrad.hips.builtins import isinstance as isinstance
from lucidgrad.hips.builtins import list as list
from lucidgrad.hips.builtins import tuple as tuple
from lucidgrad.hips.builtins import type as type
from lucidgrad.hips.extend import primitive as primitive

__all__ = [
    "checkpoint",
    "deriv",
    "egrad",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]

_T = TypeVar("_T", bound=Any, default=Any)
_R = TypeVar("_R", bound=Any, default=Any)
_P = ParamSpec("_P")

def checkpoint(fun: Callable[_P, _R]) -> Callable[_P, _R]: ...
@overload
def deriv(fun: Callable[Concatenate[_T, _P], _R], argnum: Literal[0] = 0) -> Callable[Concatenate[_T, _P], _R]: ...
@overload
def deriv(fun: Callable[_P, _R], argnum: int | Sequence[int]) -> Callable[_P, _R]: ...
@overload
def egrad(fun: Callable[Concatenate[_T, _P], Any], argnum: Literal[0] = 0) -> Callable[Concatenate[_T, _P], _T]: ...
@overload
def egrad(fun: Callable[_P, Any], argnum: int | Sequence[int]) -> Callable[_P, Any]: ...
@overload
def elementwise_grad(
    fun: Callable[Concatenate[_T, _P], Any],
    argnum: Literal[0] = 0,
) -> Callable[Concatenate[_T, _P], _T]: ...
@overload
def elementwise_grad(fun: Callable[_P, Any], argnum: int | Sequence[int]) -> Callable[_P, Any]: ...
@overload
def grad(fun: Callable[Concatenate[_T, _P], Any], argnum: Literal[0] = 0) -> Callable[Concatenate[_T, _P], _T]: ...
@overload
def grad(fun: Callable[_P, Any], argnum: int | Sequence[int]) -> Callable[_P, Any]: ...
def grad_and_aux(
    fun: Callable[_P, _python.tuple[Any, _R]],
    argnum: int | Sequence[int] = 0,
) -> Callable[_P, _python.tuple[Any, _R]]: ...
def grad_named(fun: Callable[_P, Any], argname: str) -> Callable[_P, Any]: ...
@overload
def hessian(fun: Callable[Concatenate[_T, _P], Any], argnum: Literal[0] = 0) -> Callable[Concatenate[_T, _P], Any]: ...
@overload
def hessian(fun: Callable[_P, Any], argnum: int | Sequence[int]) -> Callable[_P, Any]: ...
def hessian_tensor_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]: ...
def hessian_vector_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]: ...
@overload
def holomorphic_grad(
    fun: Callable[Concatenate[_T, _P], Any],
    argnum: Literal[0] = 0,
) -> Callable[Concatenate[_T, _P], _T]: ...
@overload
def holomorphic_grad(fun: Callable[_P, Any], argnum: int | Sequence[int]) -> Callable[_P, Any]: ...
@overload
def jacobian(fun: Callable[Concatenate[_T, _P], Any], argnum: Literal[0] = 0) -> Callable[Concatenate[_T, _P], Any]: ...
@overload
def jacobian(fun: Callable[_P, Any], argnum: int | Sequence[int]) -> Callable[_P, Any]: ...
def make_ggnvp(
    f: Callable[_P, _R],
    g: Callable[[_R], Any] = ...,
    f_argnum: int = 0,
) -> Callable[_P, Callable[[Any], Any]]: ...
@overload
def make_hvp(
    fun: Callable[Concatenate[_T, _P], Any],
    argnum: Literal[0] = 0,
) -> Callable[Concatenate[_T, _P], _python.tuple[Callable[[_T], _T], _T]]: ...
@overload
def make_hvp(
    fun: Callable[_P, Any],
    argnum: int | Sequence[int],
) -> Callable[_P, _python.tuple[Callable[[Any], Any], Any]]: ...
@overload
def make_jvp(
    fun: Callable[Concatenate[_T, _P], _R],
    argnum: Literal[0] = 0,
) -> Callable[Concatenate[_T, _P], Callable[[_T], _python.tuple[_R, _R]]]: ...
@overload
def make_jvp(
    fun: Callable[_P, _R],
    argnum: int | Sequence[int],
) -> Callable[_P, Callable[[Any], _python.tuple[_R, _R]]]: ...
@overload
def make_jvp_reversemode(
    fun: Callable[Concatenate[_T, _P], _R],
    argnum: Literal[0] = 0,
) -> Callable[Concatenate[_T, _P], Callable[[_T], _R]]: ...
@overload
def make_jvp_reversemode(fun: Callable[_P, _R], argnum: int | Sequence[int]) -> Callable[_P, Callable[[Any], _R]]: ...
@overload
def make_vjp(
    fun: Callable[Concatenate[_T, _P], _R],
    argnum: Literal[0] = 0,
) -> Callable[Concatenate[_T, _P], _python.tuple[Callable[[Any], _T], _R]]: ...
@overload
def make_vjp(
    fun: Callable[_P, _R],
    argnum: int | Sequence[int],
) -> Callable[_P, _python.tuple[Callable[[Any], Any], _R]]: ...
def multigrad_dict(fun: Callable[_P, Any]) -> Callable[_P, _python.dict[str, Any]]: ...
def tensor_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[_T, _P], _R],
    argnum: Literal[0] = 0,
) -> Callable[Concatenate[_T, _P], _python.tuple[_R, _T]]: ...
@overload
def value_and_grad(fun: Callable[_P, _R], argnum: int | Sequence[int]) -> Callable[_P, _python.tuple[_R, Any]]: ...
def vector_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]: ...
