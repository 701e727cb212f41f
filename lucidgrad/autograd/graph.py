"""The graph as users see it: nodes and edges."""

from typing import Any, NamedTuple

from lucidgrad.core.dispatch import node_of
from lucidgrad.core.items import Meta
from lucidgrad.core.tape import GraphNode as Node, Handle, edge_of, node_of_edge, touch
from lucidgrad.refusals import guard as _guard
from lucidgrad.tensor import Tensor

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


class GradientEdge(NamedTuple):
    """Where a gradient arrives: output ``output_nr`` of a node. It outlives the tensor.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([3.0], requires_grad=True)
    >>> m = x * 2
    >>> edge = lg.autograd.graph.get_gradient_edge(m)
    >>> y = m * m
    >>> lg.autograd.grad(y, edge)[0].tolist()
    [12.0]
    """

    node: Any
    output_nr: int

    def resolve(self) -> Any:
        """The node of the tape that stands for this edge."""
        return node_of_edge(self.node, self.output_nr)

    def meta(self) -> Meta | None:
        """Shape, dtype and device of the tensor, where they are known."""
        node = self.resolve()
        if hasattr(node, "meta"):
            return node.meta
        if hasattr(node, "fork"):
            return node.fork.metas[node.index]
        return node.extras.meta if node.extras is not None else None


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
