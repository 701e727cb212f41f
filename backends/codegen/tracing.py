"""Programs and rules, run with symbolic scalars in place of arrays."""

import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from lucidgrad.core import dtype as dtypes
from lucidgrad.core.items import InputMeta
from lucidgrad.core.primitive import ELEMENTWISE, Primitive, Recipe, registry

from .expression import Graph, NeedsValue, Node, Symbol, Untraceable, weak
from .functions import FUNCTIONS
from .keys import Value

__all__ = ["NeedsValue", "Trace", "is_elementwise", "trace_forward", "trace_pull"]

#: Linear primitives that act on each element, too.
_PARTS = frozenset({"astype", "conj", "imag", "real"})
#: Functions that C has for real numbers only, and whose programs serve complex ones.
_PROGRAMS_OF_COMPLEX = frozenset({"exp2"})


def is_elementwise(primitive: Primitive) -> bool:
    """Whether a primitive makes one element from one of each input."""
    acts = primitive.kind is ELEMENTWISE or primitive.name in _PARTS
    return acts and not primitive.variadic and not primitive.outputs


class Trace:
    """What a program made: the nodes of its arguments in order (None where it was a value), and its results."""

    def __init__(self, graph: Graph, arguments: list[Node | None], results: list[Node | None]) -> None:
        self.graph, self.arguments, self.results = graph, arguments, results

    def cast(self, node: Node, dtype: Any) -> Node:
        """A result in another dtype; of complex numbers the real part where that is real."""
        if node.dtype.kind == "c" and np.dtype(dtype).kind != "c":
            node = self.graph.node("real", (node,), _part(node.dtype))
        return self.graph.cast(node, np.dtype(dtype))


class _Meta:
    """Of the shape and device of an input an expression can't depend."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(f"the {name} of an input")


class _Namespace:
    """What programs and rules compute with: C's functions are steps, all other primitives are run in their turn."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __getattr__(self, name: str) -> Any:
        graph = self._graph
        if name in FUNCTIONS or name == "where":

            def step(*values: Any) -> Any:
                if name in _PROGRAMS_OF_COMPLEX and values[0].dtype.kind == "c":
                    return registry[name].program(self, *values)
                return graph.apply(name, *values)

            return step
        if name in registry and registry[name].kind is ELEMENTWISE:
            program = registry[name].program
            return lambda *values, **keywords: program(self, *values, **keywords)
        raise Untraceable(f"xp.{name}")

    def astype(self, x: Any, *, dtype: Any, copy: bool = True) -> Any:
        dtype = np.dtype(dtype)
        if x.dtype.kind == "c" and dtype.kind != "c":
            raise Untraceable("a cast that drops an imaginary part")
        return Symbol(self._graph, self._graph.cast(x.node, dtype))

    cast_discrete = astype

    def real(self, x: Any) -> Any:
        return self._of_complex("real", x) if x.dtype.kind == "c" else x

    def imag(self, x: Any) -> Any:
        return self._of_complex("imag", x) if x.dtype.kind == "c" else self.zeros_like(x)

    def _of_complex(self, name: str, x: Any) -> Any:
        return Symbol(self._graph, self._graph.node(name, (x.node,), _part(x.dtype)))

    def zeros_like(self, x: Any) -> Any:
        return self.full_like(x, 0)

    def ones_like(self, x: Any) -> Any:
        return self.full_like(x, 1)

    def full_like(self, x: Any, fill_value: Any) -> Any:
        return Symbol(self._graph, self._graph.cast(self._graph.operand(fill_value), x.dtype))

    def finfo(self, dtype: Any) -> Any:
        if np.dtype(dtype).kind not in "fc":
            raise Untraceable("the limits of integers")
        limits = np.finfo(dtype)
        return types.SimpleNamespace(max=float(limits.max), min=float(limits.min), eps=float(limits.eps))


def _part(dtype: Any) -> Any:
    return np.dtype("float32" if dtype.itemsize == 8 else "float64")


class _Arguments:
    """Makes symbols of dtypes, parameters of number types, and takes values as they are."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node | None] = []

    def make(self, kind: Any) -> Any:
        if isinstance(kind, Value):
            self.nodes.append(None)
            return kind.value
        node = self.graph.node("argument", (), kind, len(self.nodes))
        self.nodes.append(node)
        return weak(self.graph, node) if isinstance(kind, type) else Symbol(self.graph, node)


def trace_forward(primitive: Primitive, kinds: Sequence[Any], keywords: dict[str, Any]) -> Trace:
    """The program of a primitive, for inputs of these dtypes, number types or `Value`."""
    if not is_elementwise(primitive):
        raise Untraceable("not elementwise")
    graph = Graph()
    arguments = _Arguments(graph)
    xs = [arguments.make(kind) for kind in kinds]
    if primitive.dtype == "float" and not any(isinstance(x, Symbol) and x.dtype.kind in "fc" for x in xs):
        default = np.dtype(dtypes.get_default_dtype())
        xs = [Symbol(graph, graph.cast(x.node, default)) if isinstance(x, Symbol) else x for x in xs]
    y = getattr(_Namespace(graph), primitive.name)(*xs, **keywords)
    return Trace(graph, arguments.nodes, [_result(y)])


def trace_pull(recipe: Recipe, goes: Sequence[bool], g: Any, kinds: Sequence[Any]) -> Trace:
    """The rules of a recipe for the inputs that ``goes`` names, given the dtype of the cotangent and what is kept.

    ``kinds`` has an entry per item that the node keeps; for a meta it is the dtype. The first argument of the trace
    is the cotangent; the results are one per input of the primitive, None where nothing goes.
    """
    if not is_elementwise(recipe.primitive):
        raise Untraceable("not elementwise")
    graph = Graph()
    arguments = _Arguments(graph)
    cotangent = arguments.make(g)
    saved = []
    for item, kind in zip(recipe.items, kinds, strict=True):
        if type(item) is InputMeta:
            arguments.nodes.append(None)
            saved.append(_Meta(kind))
        else:
            saved.append(arguments.make(kind))
    xp = _Namespace(graph)
    found: list[Any] = [None] * len(goes)
    if recipe.joint is not None:
        found = list(recipe.joint(xp, cotangent, tuple(saved)))
    else:
        for i, pull in recipe.pulls:
            if goes[i]:
                found[i] = pull(xp, cotangent, tuple(saved))
    results = [None if ct is None or not go else _result(ct) for ct, go in zip(found, goes, strict=True)]
    return Trace(graph, arguments.nodes, results)


def _result(value: Any) -> Node:
    if not isinstance(value, Symbol):
        raise Untraceable(f"a result of type {type(value).__name__}")
    return value.node
