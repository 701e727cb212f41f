# Written by `python -m tools.stubs`: what is wrong here is mended there.

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, Literal, Protocol, overload, type_check_only

from typing_extensions import ParamSpec, TypeVar

from lucidgrad.func import trees as trees
from lucidgrad.nn.module import Module
from lucidgrad.tensor import Tensor
from lucidgrad.typing import ArrayLike

__all__ = [
    "cond",
    "fori_loop",
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "is_transformed",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "map",
    "replace_all_batch_norm_modules_",
    "scan",
    "stack_module_state",
    "trees",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

_T = TypeVar("_T", bound=Any, default=Any)
_R = TypeVar("_R", bound=Any, default=Any)
_R_co = TypeVar("_R_co", covariant=True, default=Any)
_P = ParamSpec("_P", default=...)

@type_check_only
class _Forward(Protocol[_R_co]):
    def forward(self, *args: Any, **kwargs: Any) -> _R_co: ...

def cond(pred: ArrayLike, true_fun: Callable[..., _R], false_fun: Callable[..., _R], *operands: object) -> _R: ...
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Tensor, Any], _R],
    init_val: object,
    *,
    unroll: int | bool | None = None,
) -> _R: ...
def functional_call(
    module: _Forward[_R],
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: object = None,
    kwargs: Mapping[str, object] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> _R: ...
@overload
def grad(
    func: Callable[Concatenate[_T, _P], Any],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
) -> Callable[Concatenate[_T, _P], _T]: ...
@overload
def grad(
    func: Callable[Concatenate[_T, _P], tuple[Any, _R]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
) -> Callable[Concatenate[_T, _P], tuple[_T, _R]]: ...
@overload
def grad(func: Callable[_P, Any], argnums: int | Sequence[int], has_aux: bool = False) -> Callable[_P, Any]: ...
@overload
def grad_and_value(
    func: Callable[Concatenate[_T, _P], _R],
    argnums: Literal[0] = 0,
    has_aux: bool = False,
) -> Callable[Concatenate[_T, _P], tuple[_T, _R]]: ...
@overload
def grad_and_value(
    func: Callable[_P, _R],
    argnums: int | Sequence[int],
    has_aux: bool = False,
) -> Callable[_P, tuple[Any, _R]]: ...
@overload
def hessian(
    func: Callable[Concatenate[Tensor, _P], Tensor],
    argnums: Literal[0] = 0,
    *,
    chunk_size: int | None = None,
) -> Callable[Concatenate[Tensor, _P], Tensor]: ...
@overload
def hessian(
    func: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    *,
    chunk_size: int | None = None,
) -> Callable[_P, Any]: ...
def is_transformed(x: Tensor) -> bool: ...
@overload
def jacfwd(
    func: Callable[Concatenate[Tensor, _P], Tensor],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    *,
    randomness: Literal["error", "different", "same"] = "error",
    chunk_size: int | None = None,
) -> Callable[Concatenate[Tensor, _P], Tensor]: ...
@overload
def jacfwd(
    func: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    randomness: Literal["error", "different", "same"] = "error",
    chunk_size: int | None = None,
) -> Callable[_P, Any]: ...
@overload
def jacrev(
    func: Callable[Concatenate[Tensor, _P], Tensor],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    chunk_size: int | None = None,
) -> Callable[Concatenate[Tensor, _P], Tensor]: ...
@overload
def jacrev(
    func: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[_P, Any]: ...
@overload
def jvp(
    func: Callable[..., _R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    strict: bool = False,
    has_aux: Literal[False] = False,
) -> tuple[_R, _R]: ...
@overload
def jvp(
    func: Callable[..., tuple[_R, _T]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    strict: bool = False,
    has_aux: Literal[True],
) -> tuple[_R, _R, _T]: ...
def linearize(func: Callable[_P, _R], *primals: Any) -> tuple[_R, Callable[_P, _R]]: ...
def map(f: Callable[[Any], _R], xs: object, *, batch_size: int | None = None) -> _R: ...
def replace_all_batch_norm_modules_(root: _T) -> _T: ...
def scan(
    f: Callable[[Any, Any], tuple[_R, _T]],
    init: object,
    xs: object = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[_R, _T]: ...
def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]: ...
@overload
def value_and_grad(
    func: Callable[Concatenate[_T, _P], _R],
    argnums: Literal[0] = 0,
    has_aux: bool = False,
) -> Callable[Concatenate[_T, _P], tuple[_R, _T]]: ...
@overload
def value_and_grad(
    func: Callable[_P, _R],
    argnums: int | Sequence[int],
    has_aux: bool = False,
) -> Callable[_P, tuple[_R, Any]]: ...
@overload
def vjp(
    func: Callable[..., _R],
    *primals: Any,
    has_aux: Literal[False] = False,
) -> tuple[_R, Callable[..., tuple[Any, ...]]]: ...
@overload
def vjp(
    func: Callable[..., tuple[_R, _T]],
    *primals: Any,
    has_aux: Literal[True],
) -> tuple[_R, Callable[..., tuple[Any, ...]], _T]: ...
def vmap(
    func: Callable[_P, _R],
    in_dims: int | tuple[object, ...] | list[object] | dict[str, object] | None = 0,
    out_dims: int | tuple[object, ...] | list[object] | dict[str, object] | None = 0,
    randomness: Literal["error", "different", "same"] = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[_P, _R]: ...
def while_loop(cond_fun: Callable[[Any], ArrayLike], body_fun: Callable[[Any], _R], init_val: object) -> _R: ...
