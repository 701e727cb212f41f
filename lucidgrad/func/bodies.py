"""Parts of a program that are traced apart: what they are given and give, and their gradients.

A *body* is a step of a loop, or a branch of a choice, that was traced once, on arrays that stand for those of every
step. Around these are the levels that the real arrays have, so tangents and examples of a batch are carried along
without further rules. If operations are recorded, the trace leaves a graph from what the body gives to what it was
given. The gradient of a loop is the loop of what a walk through that graph comes to, traced apart in its turn; with
``create_graph`` that walk leaves a graph again, and so on for every order. So the tape's rules are the only ones, and
what was detached in the body, or has a derivative of its own, is so in every step.
"""

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import NoneType
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.dispatch import box, complexes, extras_of, floats, node_of
from lucidgrad.core.engine import Walk
from lucidgrad.core.items import Own, meta_of
from lucidgrad.core.modes import Block, NewNodes, new
from lucidgrad.core.plan import Plan
from lucidgrad.core.primitive import Recipe
from lucidgrad.core.tape import Extras, Fork, Leaf, Output, make_node
from lucidgrad.levels.batching import Batched
from lucidgrad.levels.layer import Layer, run
from lucidgrad.levels.program import Equation, Program, Variable
from lucidgrad.levels.traced import Given, Part, Trace, Traced, Unfit, current
from lucidgrad.ops.elementwise.choice import where
from lucidgrad.tensor import Tensor

__all__ = [
    "Body", "Recorded", "blank", "bottoms", "check_unwritten", "entered", "fresh", "lifted", "pass_on", "placed",
    "plain", "pulled", "rebuilt", "same_levels", "unchanged_nodes",
]  # fmt: skip


# -- arrays and the levels around them -------------------------------------------------------------
def _is_bottom(array: Any) -> bool:
    return type(array) is Traced or not isinstance(array, Layer)


def bottoms(array: Any) -> list[Any]:
    """The arrays below all levels, which are what a program knows."""
    return [part for part, _ in _placed(array, 0)]


def placed(array: Any) -> list[tuple[Any, int]]:
    """The same, each with the number of axes before it that examples of batches have."""
    return _placed(array, 0)


def _placed(array: Any, axes: int) -> list[tuple[Any, int]]:
    if _is_bottom(array):
        return [(array, axes)]
    found: list[tuple[Any, int]] = []
    axes += type(array) is Batched

    def take(part: Any) -> Any:
        found.extend(_placed(part, axes))
        return part

    array.map(take)  # whose order is that of `rebuilt`
    return found


def rebuilt(array: Any, parts: Iterator[Any]) -> Any:
    """The levels of an array around other parts."""
    return next(parts) if _is_bottom(array) else array.map(lambda part: rebuilt(part, parts))


def plain(array: Any) -> Any:
    """The value of an array at the bottom."""
    return array.value if type(array) is Traced else array


def _levels(array: Any) -> Any:
    """What levels an array has, in comparable form."""
    if _is_bottom(array):
        return tuple(array.shape)
    return type(array), int(array.level), array.outside, *map(_levels, array.parts)


def same_levels(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Whether tensors have the same levels around arrays of the same shapes, one by one."""
    return all(_levels(a.array) == _levels(b.array) for a, b in zip(first, second, strict=True))


def fresh(trace: Trace, array: Any, leaf: bool = False) -> Tensor:
    """A tensor that stands for others like this one while a part is traced; with a ``leaf``, the tape knows it."""
    made: Tensor = box(rebuilt(array, iter([trace.fresh(plain(part)) for part in bottoms(array)])))
    made._alias = None
    if leaf and made.array.dtype in floats:
        made._node = Leaf(made)
    return made


def blank(trace: Trace, array: Any) -> Any:
    """Zeros with the levels and shapes of an array."""
    zeros = []
    for part in bottoms(array):
        home = device.backend_named(device.by_array[type(part)].device_of(part))
        made = home.zeros(tuple(part.shape), part.dtype, home.device_of(plain(part)))
        zeros.append(trace.constant(made) if current.get() is trace else made)
    return rebuilt(array, iter(zeros))


def lifted(trace: Trace, x: Any, like: Any) -> Any:
    """A tensor with the levels of another besides its own; the values stay the same, to the bit."""
    home = device.backend_named(x.device)
    true = home.full((), True, device.backend_named("cpu").xp.bool, x.device)
    return where(box(true), x, box(blank(trace, like.array)))


class unchanged_nodes(Block):
    """A context in which nodes keep what they keep, whatever hooks do with that outside: a program has it anyway."""

    def _changes(self) -> Any:
        return ((new, NewNodes(None, ())),)


# -- bodies ----------------------------------------------------------------------------------------
class Body:
    """A part of a program, with the tensors that it is given and those that it gives.

    Parameters
    ----------
    trace, part
        Where it was traced.
    given
        Tensors that stand for what it is given.
    made
        Tensors of its results.
    start
        When it was begun: older nodes are those of what it reaches from outside.
    known
        Nodes of earlier bodies at which its graph ends.
    """

    def __init__(
        self, trace: Trace, part: Part, given: Sequence[Any], made: Sequence[Any], start: int, known: Iterable[Any] = ()
    ) -> None:
        self.trace, self.part, self.given, self.start = trace, part, list(given), start
        self.made: list[Tensor] = [box(y.array, node_of(y)) for y in made]  # which are views of nothing
        own = {x._node for x in given if x._node is not None}
        stops = own.union(known)
        #: For each result, the nodes at which its graph ends.
        self.ends = [_ends(node_of(y), start, stops) for y in self.made]
        #: The nodes of what is reached from outside.
        self.outside = list(dict.fromkeys(node for ends in self.ends for node in ends if node not in own))
        self.inputs = [b.variable for x in given for b in bottoms(x.array)]
        self.results = [trace.variable(b) for y in made for b in bottoms(y.array)]

    def asked(self) -> dict[Variable, Given]:
        """What it asks for, besides the tensors that it is given."""
        used = {v for equation in self.part.equations for v in equation.variables}.union(self.results)
        used.difference_update(self.inputs)
        return {v: one for v, one in self.part.given().items() if v in used}

    def program(self, inputs: Sequence[Variable], outputs: Sequence[Any]) -> Program:
        """The program of the part."""
        return Program(inputs, self.part.equations, outputs, {})

    def check_gradients(self) -> None:
        """Raise `Unfit` if gradients do more than compute, which functions and hooks of users may."""
        for node in self._nodes():
            own = type(getattr(node, "recipe", None)) not in (Recipe, _Recipe, NoneType)
            extras = node.extras
            if own or (extras is not None and (extras.hooked or extras.unpack is not None)):
                break
        else:
            return
        moving = [y if node_of(y) is not None else None for y in self.made]
        try:
            with self.trace.apart():
                seeds = [None if y is None else fresh(self.trace, y.array) for y in moving]
                pulled(self.made, seeds, list(dict.fromkeys(node for ends in self.ends for node in ends)), False)
        except Exception as error:
            raise Unfit("gradients do more than compute") from error

    def _nodes(self) -> Iterator[Any]:
        """The nodes of its graph."""
        todo, seen = [node_of(y) for y in self.made], {None}
        while todo:
            node = todo.pop()
            if node not in seen and node.when >= self.start:
                seen.add(node)
                yield node
                todo += node.inputs

    def owned(self) -> set[int]:
        """Ids of the arrays that the graph keeps; the trace need not wonder why they are alive."""
        found: set[int] = set()
        values = [x.array for x in (*self.given, *self.made)]
        for node in self._nodes():
            values += getattr(node, "saved", ())
        while values:
            value = values.pop()
            if type(value) in (tuple, list):
                values += value
            elif isinstance(value, Tensor):
                values.append(value.array)
            elif isinstance(value, Recorded):
                found |= value.owned()
                for part in (value, *value.parents):
                    values += part.keeps()
            elif isinstance(value, Layer):
                found.add(id(value))
                values += value.parts
        return found


def _ends(node: Any, start: int, stops: set[Any]) -> list[Any]:
    """The nodes at which the graph of a result ends: leaves of the body, and what is older than it."""
    todo, seen, found = [node], {None}, []
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        if at in stops or at.when < start:
            found.append(at)
        else:
            todo += at.inputs
    return found


def pulled(made: Sequence[Tensor], seeds: Sequence[Any], targets: Sequence[Any], graph: bool) -> dict[Any, Tensor]:
    """The cotangents of nodes for those of a body's results (None: it has none), by a walk through its graph."""
    ends = [(node_of(y), g) for y, g in zip(made, seeds, strict=True) if g is not None and node_of(y) is not None]
    if not ends or not targets:
        return {}
    plan = Plan([node for node, _ in ends], targets)
    plan.idle = plan.special  # one may lead to another outside, but the body ends at each of them
    walk = Walk(plan, create_graph=graph, retain_graph=True)
    walk.run([(node, _conj(g) if graph else _conj(g).array) for node, g in ends])
    found = {node: walk.arrived[node] for node in targets if node in walk.arrived}
    return {node: _conj(g if isinstance(g, Tensor) else box(g)) for node, g in found.items()}


def _conj(x: Any) -> Any:
    """Walks are given and give gradients, rules cotangents, which are the conjugates."""
    if x.array.dtype not in complexes:
        return x
    return box(run("conj", x.array)) if x._node is None else x.conj()


# -- nodes -----------------------------------------------------------------------------------------
class _Name:
    """What a node calls its operation."""

    arrays, variadic, kind = (), True, None

    def __init__(self, name: str) -> None:
        self.name = name


class _Recipe:
    """What a walk needs to know of a loop or a choice: that `Recorded.pull` gives all cotangents."""

    items, keeps_arrays, pulls, only, index, flat, fills, plain = (Own(),), True, (), None, 0, False, False, False
    step = None

    def __init__(self, name: str) -> None:
        self.primitive = _Name(name)

    @staticmethod
    def joint(xp: Any, g: Any, saved: tuple[Any, ...]) -> Sequence[Any]:
        try:
            return saved[0].pull(g)
        except Unfit as error:
            raise RuntimeError(
                f"backward through {saved[0].name}: what is compiled must only compute, but {error}; leave that part "
                f"out of the compiled function"
            ) from None

    @staticmethod
    def revive(node: Any, saved: tuple[Any, ...]) -> tuple[Any, ...]:
        return saved


_RECIPES: dict[str, _Recipe] = {name: _Recipe(name) for name in ("scan", "cond")}


class Recorded:
    """A loop or a choice that is on the tape.

    ``pull(g)`` gives a cotangent (or None) for every node that it was recorded with, in their order.
    """

    name = ""
    trace: Trace
    fork: Any = None
    parents: Sequence["Recorded"]

    def record(self, made: Sequence[Tensor], nodes: Sequence[Any], since: int) -> None:
        """Let results know how they were made."""
        if not any(node is not None for node in nodes):
            return
        arrays = [y.array for y in made]
        found = extras_of(*arrays)
        extras = Extras(found and found.place)
        with unchanged_nodes():
            fork = make_node(Fork, _RECIPES[self.name], (self,), tuple(nodes), None, extras, tuple(arrays), (), {})
        ends = [Output(fork, k) for k in range(len(made))]
        fork.metas = tuple(map(meta_of, arrays))
        fork.outputs = tuple(map(weakref.ref, ends))
        for y, end in zip(made, ends, strict=True):
            if y.array.dtype in floats:
                y._node, y._alias = end, None
        self.fork = weakref.ref(fork)
        self._disown(since)

    def _disown(self, since: int) -> None:
        """Let the trace not wonder why arrays of bodies are alive."""
        owned, alive = self.owned(), self.trace.alive
        alive[since:] = [ref for ref in alive[since:] if id(ref()) not in owned]

    def owned(self) -> set[int]:
        """Ids of the arrays that the graphs of its bodies keep, and those of what it was made of."""
        found = set().union(*(body.owned() for body in self.all_bodies()))
        return found.union(*(parent.owned() for parent in self.parents))

    def keeps(self) -> Sequence[Any]:
        """The arrays and tensors that it keeps besides."""
        raise AssertionError  # every one has some

    def all_bodies(self) -> Sequence[Body]:
        """What it is made of."""
        raise AssertionError  # every one has some

    def pull(self, gs: Sequence[Any]) -> Sequence[Any]:
        """The cotangents, given those of the results."""
        raise AssertionError  # every one has it

    def release(self, plain: Callable[[Any], Any]) -> None:
        """The trace has ended: keep arrays of the usual kind, but for those of bodies."""
        self._disown(0)


def check_unwritten(name: str, given: Iterable[Given]) -> None:
    """Raise if something that gradients need was written since."""
    for one in given:
        if one.memory is not None and one.memory.version != one.version:
            raise RuntimeError(
                f"backward through {name}: a value that it reaches from outside was modified by an in-place "
                f"operation since; clone it before, or use the out-of-place operation"
            )


def pass_on(trace: Trace, given: dict[Variable, Given]) -> None:
    """What a structure is given, the part around it is given, unless it has made it."""
    part = trace.part
    if part is None:
        return
    for v, one in given.items():
        if one.memory is None or one.memory.part is not part:
            part.give(v, one)


def entered(
    trace: Trace, structure: Any, inputs: tuple[Any, ...], keywords: dict[str, Any], values: Sequence[Any]
) -> tuple[Equation | None, list[Any]]:
    """An equation with results of these values, if the trace goes on, and the arrays of the results.

    Values that were given may come out again: the results have memory of their own.
    """
    values = [device.by_array[type(value)].copy(value) for value in values]
    if current.get() is not trace:
        return None, values
    results = tuple([trace.variable_like(value) for value in values])
    equation = Equation(structure, inputs, keywords, results)
    trace.equations.append(equation)
    return equation, [trace.result(v, value) for v, value in zip(results, values, strict=True)]
