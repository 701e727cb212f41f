"""Where gradients arrive: edges of the graph."""

from typing import Any, NamedTuple

from lucidgrad.core.items import Meta
from lucidgrad.core.tape import node_of_edge

__all__ = ["GradientEdge"]


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
