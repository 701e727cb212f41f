"""Steps of optimisers, traced: what a program makes of a parameter, its gradient and its states.

A step is ``program(xp, p, g, *states, **settings) -> (p, *states)``. Settings that are floats other than zero become
parameters, so that a kernel serves all their values; zeros, truth values and None are part of the trace, so that a
program may ask ``if weight_decay``. Of a program that asks for more, all values are part of the trace.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lucidgrad.core import device

from .cache import KernelCache
from .expression import Graph, Node, Symbol, Untraceable, WeakFloat
from .keys import identity
from .languages import Language
from .printing import _in_order, statements
from .tracing import _Arguments, _Namespace

__all__ = ["StepKernels", "StepTrace", "step_body", "trace_step"]


class _NonZero(WeakFloat):
    """A parameter of which a program may know that it is not zero."""

    def __bool__(self) -> bool:
        return True


class StepTrace(NamedTuple):
    """The nodes of the arrays, those of the numbers by the names of their settings, and the new values."""

    arrays: tuple[Node, ...]
    numbers: tuple[tuple[str, Node], ...]
    results: tuple[Node, ...]
    stored: tuple[Any, ...]  # the dtypes that memory holds: bfloat16 is computed with in float32
    there: frozenset[str] = frozenset()  # settings that are in memory of the device

    @property
    def nodes(self) -> list[Node]:
        """All nodes that the results need, every one after its arguments."""
        return _in_order(list(self.results), {})


def trace_step(
    program: Callable[..., Any], dtypes: Sequence[Any], settings: dict[str, Any], by_value: bool = False
) -> StepTrace:
    """Run a step's program with symbols of these dtypes; ``by_value``: settings are constants of it."""
    graph = Graph()
    arguments = _Arguments(graph)
    stored = [np.dtype(dtype) for dtype in dtypes]
    symbols = [arguments.make(np.dtype("float32") if dtype.name == "bfloat16" else dtype) for dtype in stored]
    known: dict[str, Any] = {}
    numbers: list[tuple[str, Node]] = []
    there = frozenset(name for name, value in settings.items() if type(value) in device.by_array)
    for name, value in settings.items():
        if name in there or (type(value) is float and value and not by_value):
            node = graph.node("argument", (), float, name)
            numbers.append((name, node))
            made = known[name] = _NonZero(math.nan if name in there else value)
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
    return StepTrace(tuple(symbol.node for symbol in symbols), tuple(numbers), tuple(results), tuple(stored), there)


def step_body(trace: StepTrace, language: Language) -> list[str]:
    """The statements that update element ``i`` of arrays ``a0, a1, ...`` with settings ``s0, s1, ...``."""
    words = {node: f"x{k}" for k, node in enumerate(trace.arrays)}
    words |= {node: f"s{k}" for k, (_, node) in enumerate(trace.numbers)}
    lines, results = statements(trace.results, words, language)
    types = [language.type(node.dtype) for node in trace.arrays]
    reads = [f"const {made} x{k} = {language.convert(made, f'a{k}[i]')};" for k, made in enumerate(types)]
    writes = [
        f"a{k}[i] = {language.convert(language.stored(trace.stored[k]), word)};"
        for k, word in zip((0, *range(2, len(types))), results, strict=True)  # the gradient is not written
    ]
    return [*reads, *lines, *writes]


class StepKernels:
    """The kernels of steps on a device: ``make(name, trace)`` gives a function of columns of arrays and settings."""

    def __init__(self, make: Callable[[str, StepTrace], Callable[..., None]]) -> None:
        self._make = make
        self._caches: dict[Callable[..., Any], KernelCache] = {}

    def __call__(
        self,
        name: str,
        program: Callable[..., Any],
        columns: Sequence[Sequence[Any]],
        settings: dict[str, Any],
        **options: Any,
    ) -> Any:
        """Update lists of arrays, of one dtype each, by a program; without a kernel, operation by operation.

        Options are for kernels of some devices: ``repeated`` where work is recorded, ``unless`` where an array of one
        element may leave the step out. Settings may be such arrays, of float64, too. A kernel may give a function that
        takes steps like this one with less ado, see `lucidgrad.ops.steps`.
        """
        cache = self._caches.get(program)
        if cache is None:
            cache = self._caches[program] = self._new(name, program)
        known: list[Any] = list(settings)
        for column in columns:
            known.append(column[0].dtype)
        for value in settings.values():
            kind = type(value)
            if kind is float:
                known.append(kind if value else repr(value))
            else:
                plain = value is None or kind is bool
                known.append(value if plain else kind if kind in device.by_array else identity(value))
        run = cache.find(tuple(known), settings.values(), columns, settings)
        if run is None:
            if "repeated" in options:
                options["repeated"]([])  # nothing that a kernel would find there: it is refused
            _run_as_it_is(program, columns, settings, unless=options.get("unless"))
            return None
        return run(columns, settings, **options)

    def _new(self, name: str, program: Callable[..., Any]) -> KernelCache:
        def make(columns: Sequence[Sequence[Any]], settings: dict[str, Any], by_value: bool) -> Any:
            return self._make(name, trace_step(program, [column[0].dtype for column in columns], settings, by_value))

        return KernelCache(name, make, functools.partial(_run_as_it_is, program, writes=False))


def _run_as_it_is(
    program: Callable[..., Any],
    columns: Sequence[Sequence[Any]],
    settings: dict[str, Any],
    writes: bool = True,
    unless: Any = None,
) -> None:
    xp = device.by_array[type(columns[0][0])].xp
    with device.quiet():
        for row in zip(*columns, strict=True):
            made = program(xp, *row, **settings)
            for old, new in zip((row[0], *row[2:]), made, strict=True) if writes else ():
                old[...] = new if unless is None else xp.where(unless, old, new)
