"""Expressions of scalars: what a program makes of its arguments, each subexpression once.

A dtype is NumPy's, or one of Python's number types: such a value is weak, it takes the dtype of what it meets.
float16 is the dtype of expressions as of arrays, but their values are computed in float32.
"""

import math
from typing import Any

import numpy as np

from .functions import COMPARISONS, FUNCTIONS, PLAIN, WEAK_RESULTS

#: Larger kernels would take a compiler longer than they save.
MOST_NODES = 20_000


class Untraceable(Exception):
    """A program did something that has no expression: the reason."""


class NeedsValue(Exception):
    """A program looked at the value of a Python number that was given as a parameter."""


class Node:
    """An operation on other nodes; an input, a parameter or a constant."""

    __slots__ = ("args", "dtype", "number", "op", "value")

    def __init__(self, op: str, args: tuple["Node", ...], dtype: Any, value: Any, number: int) -> None:
        self.op, self.args, self.dtype, self.value, self.number = op, args, dtype, value, number

    @property
    def weak(self) -> bool:
        return isinstance(self.dtype, type)


class Graph:
    """The nodes of one trace; asking for one that is there gives that one."""

    def __init__(self) -> None:
        self._nodes: dict[Any, Node] = {}

    def node(self, op: str, args: tuple[Node, ...], dtype: Any, value: Any = None) -> Node:
        label = (repr(value), type(value)) if isinstance(value, (float, complex)) else value  # -0.0 is not 0.0
        key = (op, tuple(a.number for a in args), dtype, label)
        found = self._nodes.get(key)
        if found is None:
            if len(self._nodes) >= MOST_NODES:
                raise Untraceable(f"more than {MOST_NODES} operations")
            found = self._nodes[key] = Node(op, args, dtype, value, len(self._nodes))
        return found

    def constant(self, value: Any, dtype: Any = None) -> Node:
        return self.node("constant", (), type(value) if dtype is None else dtype, value)

    def cast(self, node: Node, dtype: Any) -> Node:
        if node.dtype == dtype and node.weak == isinstance(dtype, type):  # for NumPy float64 equals float
            return node
        if node.op == "constant":
            return self.constant(node.value, dtype)
        return self.node("cast", (node,), dtype)

    def operand(self, value: Any) -> Node:
        if isinstance(value, (Symbol, WeakInt, WeakFloat, WeakComplex)):
            return value.node
        if type(value) in (bool, int, float, complex):
            return self.constant(value)
        raise Untraceable(f"an operand of type {type(value).__name__}")

    def apply(self, name: str, *values: Any) -> Any:
        """A function of expressions and numbers."""
        nodes = tuple(map(self.operand, values))
        if all(node.weak for node in nodes):
            return self._apply_weak(name, nodes)
        if name == "where":
            return self._where(*nodes)
        if name == "round" and nodes[0].dtype.kind in "iu":
            return values[0]
        if name == "pow" and nodes[1].weak:
            if nodes[1].op != "constant":
                raise NeedsValue  # some powers are computed in another way
            return self._constant_power(*nodes)
        ufunc = FUNCTIONS[name].ufunc
        asked = [int if node.dtype is bool and node.weak else node.dtype for node in nodes]
        try:
            *into, out = ufunc.resolve_dtypes((*asked, None))
        except TypeError as error:
            raise Untraceable(f"{name} of {', '.join(map(str, asked))}") from error
        if any(part.char in "gG" for part in (*into, out)):
            raise Untraceable(f"{name} in extended precision")
        args = tuple(self.cast(node, dtype) for node, dtype in zip(nodes, into, strict=True))
        if FUNCTIONS[name].spelling(args[0].dtype.kind) is None:
            raise Untraceable(f"{name} of {args[0].dtype}")
        return Symbol(self, self.node(name, args, out))

    def _apply_weak(self, name: str, nodes: tuple[Node, ...]) -> Any:
        """Python's own arithmetic; everything else needs the value."""
        types = [int if node.dtype is bool else node.dtype for node in nodes]
        if name not in WEAK_RESULTS | COMPARISONS or any(node.dtype is complex for node in nodes):
            raise NeedsValue
        out = float if name == "divide" or float in types else int
        if out is int and len(nodes) > 1 and name not in COMPARISONS:
            raise NeedsValue  # Python's integers grow, C's overflow
        args = tuple(self.cast(node, out) for node in nodes)
        if name in COMPARISONS:
            return Symbol(self, self.node(name, args, np.dtype(bool)))
        return weak(self, self.node(name, args, out))

    def _where(self, condition: Node, one: Node, two: Node) -> Any:
        if one.weak and two.weak and _of_numbers(condition):
            number = float if float in (one.dtype, two.dtype) else int
            args = (condition, self.cast(one, number), self.cast(two, number))
            return weak(self, self.node("where", args, number))
        asked = [node.dtype(0) if node.weak else node.dtype for node in (one, two)]
        out = np.result_type(*asked)
        args = (self.cast(condition, np.dtype(bool)), self.cast(one, out), self.cast(two, out))
        return Symbol(self, self.node("where", args, out))

    def _constant_power(self, base: Node, exponent: Node) -> Any:
        """NumPy has these powers in another way, too; their values differ at zeros and infinities."""
        x, e = Symbol(self, base), exponent.value
        if base.dtype.kind in "fc" and not isinstance(e, complex):
            if e == 2:
                return self.apply("square", x)
            if e == 1:
                return x
            if e == 0:
                return Symbol(self, self.constant(1, base.dtype))
            if e == 0.5:
                return self.apply("sqrt", x)
            if e == -1:
                return self.apply("reciprocal", x)
        dtype = np.result_type(base.dtype, e)
        if dtype.kind not in "fc" and e < 0:
            raise Untraceable("integers to a negative power")
        return Symbol(self, self.node("pow", (self.cast(base, dtype), self.cast(exponent, dtype)), dtype))


def _of_numbers(node: Node) -> bool:
    """Whether a truth value is a comparison of Python numbers."""
    return bool(node.args) and all(a.weak for a in node.args)


class Operators:
    """Python's operators make expressions."""

    graph: Graph
    node: Node

    def __bool__(self) -> bool:
        raise NeedsValue if self.node.weak or _of_numbers(self.node) else Untraceable("a branch on an element's value")

    __int__ = __float__ = __complex__ = __index__ = __bool__


def _binary(name: str, reflected: bool) -> Any:
    def operator(self: Any, other: Any) -> Any:
        return self.graph.apply(name, other, self) if reflected else self.graph.apply(name, self, other)

    return operator


def _unary(name: str) -> Any:
    return lambda self: self.graph.apply(name, self)


for _word, _name in PLAIN.items():
    setattr(Operators, f"__{_word}__", _binary(_name, False))
    setattr(Operators, f"__r{_word}__", _binary(_name, True))
for _word, _name in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}.items():
    setattr(Operators, f"__{_word}__", _binary(_name, False))
Operators.__eq__ = _binary("equal", False)  # type: ignore[method-assign]
Operators.__ne__ = _binary("not_equal", False)  # type: ignore[method-assign]
for _word, _name in {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}.items():
    setattr(Operators, f"__{_word}__", _unary(_name))


class Symbol(Operators):
    """One element of an array."""

    __slots__ = ("graph", "node")

    def __init__(self, graph: Graph, node: Node) -> None:
        self.graph, self.node = graph, node

    @property
    def dtype(self) -> Any:
        return self.node.dtype

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(f"the {name} of an array")


class WeakInt(Operators, int):
    """A Python number that becomes a parameter. It is one for `isinstance`, but its value can't be had."""


class WeakFloat(Operators, float):
    """The same of a float."""


class WeakComplex(Operators, complex):
    """The same of a complex number."""


def weak(graph: Graph, node: Node) -> Any:
    """A number whose value is not known."""
    made: Any
    if node.dtype is int:
        made = WeakInt(0)
    else:
        made = WeakFloat(math.nan) if node.dtype is float else WeakComplex(math.nan)
    made.graph, made.node = graph, node
    return made
