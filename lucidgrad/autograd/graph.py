"""The graph as users see it: nodes and edges."""

from typing import Any

from lucidgrad.core.dispatch import node_of
from lucidgrad.core.tape import GraphNode as Node, Handle, edge_of, touch
from lucidgrad.refusals import guard as _guard
from lucidgrad.tensor import Tensor

from .edges import GradientEdge
from .keeping import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)
from .multigrad import register_multi_grad_hook
from .passes import after_backward

__all__ = [
    "GradientEdge",
    "Handle",
    "Node",
    "after_backward",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge of a tensor that requires grad: usable in place of the tensor in `grad`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.autograd.graph import get_gradient_edge
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.autograd.grad((x * x).sum(), get_gradient_edge(x))
    (tensor([2., 4.]),)
    """
    node = node_of(tensor)
    if node is None:
        raise RuntimeError("get_gradient_edge: the tensor does not require grad, so no gradient arrives there")
    tensor.grad_fn  # noqa: B018  notes the output's shape on the node
    return GradientEdge(*edge_of(node))


def increment_version(tensors: Any) -> None:
    """Tell the tape that the memory of these tensors was written by other means.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2)
    >>> lg.autograd.graph.increment_version(x)
    """
    for tensor in [tensors] if isinstance(tensors, Tensor) else list(tensors):
        touch(tensor.array)


_guard(__name__, __all__)
