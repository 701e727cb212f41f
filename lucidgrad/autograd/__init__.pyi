# Written by `python -m tools.stubs`: what is wrong here is mended there.

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, overload

from lucidgrad.autograd import anomaly as anomaly
from lucidgrad.autograd import forward_ad as forward_ad
from lucidgrad.autograd import function as function
from lucidgrad.autograd import functional as functional
from lucidgrad.autograd import graph as graph
from lucidgrad.autograd.anomaly import detect_anomaly as detect_anomaly
from lucidgrad.autograd.anomaly import set_detect_anomaly as set_detect_anomaly
from lucidgrad.autograd.budget import memory_budget as memory_budget
from lucidgrad.autograd.differences import GradcheckError as GradcheckError
from lucidgrad.autograd.edges import GradientEdge
from lucidgrad.autograd.explanation.answer import Explanation
from lucidgrad.autograd.explanation.provenance import explaining as explaining
from lucidgrad.autograd.function import Function as Function
from lucidgrad.autograd.modes import enable_grad as enable_grad
from lucidgrad.autograd.modes import inference_mode as inference_mode
from lucidgrad.autograd.modes import no_grad as no_grad
from lucidgrad.autograd.modes import set_grad_enabled as set_grad_enabled
from lucidgrad.autograd.modes import set_multithreading_enabled as set_multithreading_enabled
from lucidgrad.tensor import Tensor
from lucidgrad.typing import ArrayLike

__all__ = [
    "Function",
    "GradcheckError",
    "anomaly",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "explain",
    "explaining",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "memory_budget",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

def backward(
    tensors: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    grad_tensors: ArrayLike | Sequence[ArrayLike | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge] | None = None,
) -> None: ...
def explain(
    loss: Tensor,
    x: Tensor,
    grad_outputs: ArrayLike | Sequence[ArrayLike | None] | None = None,
    *,
    huge: float = 1000000.0,
) -> Explanation: ...
@overload
def grad(
    outputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    inputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    grad_outputs: ArrayLike | Sequence[ArrayLike | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: Literal[False] | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    *,
    chunk_size: int | None = None,
) -> tuple[Tensor, ...]: ...
@overload
def grad(
    outputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    inputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    grad_outputs: ArrayLike | Sequence[ArrayLike | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    *,
    allow_unused: Literal[True],
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    chunk_size: int | None = None,
) -> tuple[Tensor | None, ...]: ...
def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[object],
    *,
    eps: float = 1e-06,
    atol: float = 1e-05,
    rtol: float = 0.001,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
) -> bool: ...
def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[object],
    grad_outputs: Tensor | Sequence[ArrayLike] | None = None,
    *,
    eps: float = 1e-06,
    atol: float = 1e-05,
    rtol: float = 0.001,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
) -> bool: ...
def is_grad_enabled() -> bool: ...
def is_inference_mode_enabled() -> bool: ...
