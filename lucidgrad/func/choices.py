"""A choice between two functions as one equation of the program that is being traced, which runs only one of them."""

from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.dispatch import box, node_of
from lucidgrad.core.modes import state
from lucidgrad.core.tape import clock
from lucidgrad.levels.program import Equation, Program, Variable
from lucidgrad.levels.structures import COND, is_true
from lucidgrad.levels.traced import Given, Part, Trace, Unfit, current, tracing
from lucidgrad.tensor import Tensor

from .bodies import (
    Body,
    Recorded,
    blank,
    bottoms,
    check_unwritten,
    entered,
    fresh,
    lifted,
    pass_on,
    plain,
    pulled,
    rebuilt,
    same_levels,
    unchanged_nodes,
)

__all__ = ["Choice", "chosen"]

Branch = Callable[[], list[Tensor]]
_NAMES = {True: "true", False: "false"}


def chosen(truth: Any, true: Branch, false: Branch) -> list[Tensor] | None:
    """What one of two functions gives, as an array of a truth value says.

    None if no program is traced, if a function does more than compute, or if the other one fails or gives something
    else: then nothing has happened yet.
    """
    trace = tracing()
    if trace is None:
        return None
    taken, branches = is_true(plain(truth)), {True: true, False: false}
    since, start = len(trace.alive), next(clock)
    try:
        with trace.apart() as other, device.quiet(), unchanged_nodes():
            others = branches[not taken]()
    except Exception:  # whatever it is, it would not have come up
        return None
    try:
        with trace.apart(undone=False) as own, unchanged_nodes():
            made = branches[taken]()
        if not _alike(made, others):
            put_back(own)
            return None
        bodies = _bodies(trace, {taken: (own, made), not taken: (other, others)}, start)
        for body in bodies.values():
            body.check_gradients()
    except Unfit:
        put_back(own)
        return None
    return Choice(truth, taken, bodies).run(since)


def put_back(part: Part) -> None:
    """Let random numbers be drawn again."""
    for back in part.drawn.values():
        back()


def _alike(first: Sequence[Tensor], second: Sequence[Tensor]) -> bool:
    return len(first) == len(second) and all(
        (a.shape, a.dtype, a.device) == (b.shape, b.dtype, b.device) for a, b in zip(first, second, strict=True)
    )


def _bodies(
    trace: Trace, parts: dict[bool, tuple[Part, Sequence[Tensor]]], start: int, known: Sequence[Any] = ()
) -> dict[bool, Body]:
    """Two branches whose results have the same levels."""
    bodies = {}
    for which, (part, made) in parts.items():
        likes = parts[not which][1]
        with trace.apart(part=part):
            joined = [y if same_levels([y], [o]) else lifted(trace, y, o) for y, o in zip(made, likes, strict=True)]
            bodies[which] = Body(trace, part, (), joined, start, known)
    if not same_levels(bodies[True].made, bodies[False].made):
        raise Unfit("the branches of a choice give different levels")
    return bodies


class Choice(Recorded):
    """A choice between two bodies that are given nothing but what they reach.

    ``parents`` are choices by the same truth value, whose values the bodies ask for.
    """

    name = "cond"

    def __init__(self, truth: Any, taken: bool, bodies: dict[bool, Body], parents: Sequence["Choice"] = ()) -> None:
        self.truth, self.taken, self.bodies = truth, taken, bodies
        self.parents: list[Choice] = list(parents)
        self.trace = bodies[True].trace
        self.home = self.trace.part
        self.equation: Equation | None = None
        self.given: dict[Variable, Given] = {}
        self._kept: dict[Variable, Any] = {}
        self.nodes = list(dict.fromkeys(node for which in (True, False) for node in bodies[which].outside))

    def run(self, since: int) -> list[Tensor]:
        """The tensors of the results."""
        trace, bodies = self.trace, self.bodies
        more: dict[Variable, Any] = {}
        for which, body in bodies.items():
            for v, one in body.asked().items():
                parent = next((p for p in self.parents if p.defines(which, v)), None)
                if parent is not None:
                    more[v] = parent.kept(which, v, one.value)
                else:
                    self.given[v] = one
        inputs = [*more, *self.given]
        programs = {_NAMES[which]: bodies[which].program(inputs, bodies[which].results) for which in (True, False)}
        names = tuple(map(trace.variable, (self.truth, *more.values()))) if current.get() is trace else ()
        pass_on(trace, self.given)
        made = bodies[self.taken].made
        values = [plain(b) for y in made for b in bottoms(y.array)]
        self.equation, arrays = entered(trace, COND, (*names, *self.given), programs, values)
        found = iter(arrays)
        tensors = [box(rebuilt(y.array, found)) for y in made]
        if state.recording:
            self.record(tensors, self.nodes, since)
        return tensors

    def defines(self, which: bool, variable: Variable) -> bool:
        """Whether a variable is made by a branch."""
        return any(variable in equation.results for equation in self.bodies[which].part.equations)

    def kept(self, which: bool, variable: Variable, value: Any) -> Any:
        """The value of a variable of a branch, which is any if the other one was taken."""
        if variable not in self._kept:
            home = device.by_array[type(value)]
            copy = home.copy(value)
            self._kept[variable] = copy
            if self.equation is not None and not self.trace.level.ended:
                made = self.trace.variable_like(copy)
                for own, name in _NAMES.items():
                    program: Program = self.equation.keywords[name]
                    program.outputs = (*program.outputs, variable if own is which else None)
                self.equation.results = (*self.equation.results, made)
                array = self._kept[variable] = self.trace.result(made, copy)
                array.memory.part = self.home
        return self._kept[variable]

    def release(self, plain: Callable[[Any], Any]) -> None:
        """The trace has ended: keep arrays of the usual kind, but for those of bodies."""
        super().release(plain)
        self.truth = plain(self.truth)
        self._kept = {v: plain(array) for v, array in self._kept.items()}
        for parent in self.parents:
            parent.release(plain)

    def keeps(self) -> list[Any]:
        """The arrays that it keeps besides."""
        return [self.truth, *self._kept.values()]

    def all_bodies(self) -> list[Body]:
        """Both branches."""
        return list(self.bodies.values())

    def pull(self, gs: Sequence[Any]) -> Sequence[Any]:
        """The cotangents of what both branches reach: a choice between walks through their graphs."""
        check_unwritten(self.name, self.given.values())
        trace = self.trace
        graph = any(isinstance(g, Tensor) for g in gs)
        seeds = [g if g is None or isinstance(g, Tensor) else box(g) for g in gs]
        if current.get() is not trace:  # it has ended, so what comes now is not known to it
            seeds = [None if g is None else box(fresh(trace, g.array).array, node_of(g)) for g in seeds]
        since = len(trace.alive)
        found: dict[bool, tuple[Part, dict[Any, Tensor]]] = {}
        for which in (True, False):
            with trace.apart() as part, device.quiet():
                found[which] = part, pulled(self.bodies[which].made, seeds, self.bodies[which].outside, graph)
        asked = [node for node in self.nodes if any(node in cts for _, cts in found.values())]
        parts: dict[bool, tuple[Part, Sequence[Tensor]]] = {}
        for which, (part, cts) in found.items():
            likes = found[not which][1]
            with trace.apart(part=part):
                parts[which] = part, [cts[n] if n in cts else box(blank(trace, likes[n].array)) for n in asked]
        stops = [*self.nodes, *(node_of(g) for g in seeds if g is not None)] if graph else []
        bodies = _bodies(trace, parts, self.bodies[True].start, [node for node in stops if node is not None])
        made = Choice(self.truth, self.taken, bodies, [self, *self.parents]).run(since)
        answers = dict(zip(asked, made, strict=True))
        return [None if node not in answers else answers[node] if graph else answers[node].array for node in self.nodes]
