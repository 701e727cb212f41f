"""Steps of optimisers, traced: what a program makes of a parameter, its gradient and its states.

A step is ``program(xp, p, g, *states, **settings) -> (p, *states)``. Settings that are floats other than zero become
parameters, so that a kernel serves all their values; zeros, truth values and None are part of the trace, so that a
program may ask ``if weight_decay``.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .expression import Graph, Node, Symbol, Untraceable, WeakFloat
from .keys import identity
from .printing import _in_order
from .tracing import _Arguments, _Namespace

__all__ = ["StepTrace", "key_of_step", "trace_step"]


class _NonZero(WeakFloat):
    """A parameter of which a program may know that it is not zero."""

    def __bool__(self) -> bool:
        return True


class StepTrace(NamedTuple):
    """The nodes of the arrays, those of the numbers by the names of their settings, and the new values."""

    arrays: tuple[Node, ...]
    numbers: tuple[tuple[str, Node], ...]
    results: tuple[Node, ...]

    @property
    def nodes(self) -> list[Node]:
        """All nodes that the results need, every one after its arguments."""
        return _in_order(list(self.results), {})


def key_of_step(settings: dict[str, Any]) -> tuple[Any, ...]:
    """What a trace depends on: for parameters only that they are some."""
    return tuple([float if value and type(value) is float else identity(value) for value in settings.values()])


def trace_step(program: Callable[..., Any], dtypes: Sequence[Any], settings: dict[str, Any]) -> StepTrace:
    """Run a step's program with symbols of these dtypes."""
    graph = Graph()
    arguments = _Arguments(graph)
    symbols = [arguments.make(np.dtype(dtype)) for dtype in dtypes]
    known: dict[str, Any] = {}
    numbers: list[tuple[str, Node]] = []
    for name, value in settings.items():
        if type(value) is float and value:
            node = graph.node("argument", (), float, name)
            numbers.append((name, node))
            made = known[name] = _NonZero(value)
            made.graph, made.node = graph, node
        else:
            known[name] = value
    found = program(_Namespace(graph), *symbols, **known)
    targets = [symbols[0], *symbols[2:]]
    if len(found) != len(targets):
        raise Untraceable(f"{len(found)} results for {len(targets)} arrays")
    results = []
    for value, target in zip(found, targets, strict=True):
        if not isinstance(value, Symbol):
            raise Untraceable(f"a result of type {type(value).__name__}")
        results.append(graph.cast(value.node, target.dtype))
    return StepTrace(tuple(symbol.node for symbol in symbols), tuple(numbers), tuple(results))
