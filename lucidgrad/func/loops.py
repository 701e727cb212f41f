"""Loops of a fixed number of steps as one equation of the program that is being traced."""

from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core.dispatch import box, node_of
from lucidgrad.core.modes import state
from lucidgrad.core.tape import clock, node_of_edge
from lucidgrad.levels.layer import run
from lucidgrad.levels.program import Draws, Equation, Program, Variable, acts, enter, inner
from lucidgrad.levels.structures import SCAN, WHILE, order
from lucidgrad.levels.traced import Given, Trace, Unfit, current, tracing
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
    placed,
    plain,
    pulled,
    rebuilt,
    same_levels,
    unchanged_nodes,
)

__all__ = ["Loop", "looped", "repeated"]

#: How often a body is traced until what it is given has all levels, and histories, of what it gives.
_MOST = 8

Step = Callable[[list[Tensor], list[Tensor]], tuple[list[Tensor], list[Tensor]]]


def looped(
    step: Step, init: Sequence[Tensor], columns: Sequence[Tensor], length: int, reverse: bool
) -> tuple[list[Tensor], list[Tensor]] | None:
    """What is carried in the end and what was collected.

    None if no program is traced, or a step does more than compute: then nothing has happened yet.
    ``step(carry, slices)`` gives the next carry and what is collected: all of them tensors.
    """
    trace = tracing()
    if trace is None or length < 2:
        return None
    init, since = list(init), len(trace.alive)
    moves = [state.recording and node_of(x) is not None for x in init]
    try:
        for _ in range(_MOST):
            start = next(clock)
            with trace.apart() as part, unchanged_nodes():
                carry = [fresh(trace, x.array, moving) for x, moving in zip(init, moves, strict=True)]
                slices = [_slice(trace, x) for x in columns]
                made, collected = step(list(carry), list(slices))
                out = [y if same_levels([x], [y]) else lifted(trace, y, x) for x, y in zip(carry, made, strict=True)]
                body = Body(trace, part, [*carry, *slices], [*out, *collected], start)
            known, moves = moves, [old or node_of(y) is not None for old, y in zip(moves, out, strict=True)]
            if known == moves and same_levels(carry, out):
                break
            init = [
                x if same_levels([c], [y]) else lifted(trace, x, y) for x, c, y in zip(init, carry, out, strict=True)
            ]
        else:
            return None
        body.check_gradients()
        loop = Loop(body, len(carry), init, columns, length, reverse)
    except Unfit:
        return None
    made = loop.run(since)
    return made[: len(carry)], made[len(carry) :]


def repeated(
    holds: Callable[[list[Tensor]], Tensor], step: Callable[[list[Tensor]], list[Tensor]], init: Sequence[Tensor]
) -> list[Tensor] | None:
    """What is carried when a condition does not hold any longer; None as `looped`, and if gradients may be asked for.

    ``holds(carry)`` gives one truth value, ``step(carry)`` the next carry.
    """
    trace = tracing()
    if trace is None or (state.recording and any(node_of(x) is not None for x in init)):
        return None
    init = list(init)
    try:
        for _ in range(_MOST):
            start = next(clock)
            with trace.apart() as part:
                carry = [fresh(trace, x.array) for x in init]
                condition = Body(trace, part, carry, [holds(list(carry))], start)
            with trace.apart() as part:
                made = step(list(carry))
                out = [y if same_levels([x], [y]) else lifted(trace, y, x) for x, y in zip(carry, made, strict=True)]
                body = Body(trace, part, carry, out, start)
            if same_levels(carry, out):
                break
            init = [x if same_levels([x], [y]) else lifted(trace, x, y) for x, y in zip(init, out, strict=True)]
        else:
            return None
    except Unfit:
        return None
    if state.recording and (body.outside or condition.outside):
        return None
    return _run_while(trace, condition, body, init)


def _run_while(trace: Trace, condition: Body, body: Body, init: Sequence[Tensor]) -> list[Tensor]:
    constants = {**condition.asked(), **body.asked()}
    inputs = [*body.inputs, *constants]
    carry = [b for x in init for b in bottoms(x.array)]
    settings: dict[str, Any] = {"condition": condition.program(inputs, condition.results)}
    settings.update(body=body.program(inputs, body.results), carries=len(carry))
    values = [*map(plain, carry), *(one.value for one in constants.values())]
    token = current.set(None)
    try:
        made = WHILE.run(values, lambda program: program.run, **settings)
    finally:
        current.reset(token)
    pass_on(trace, constants)
    names = tuple(map(trace.variable, carry))
    _, arrays = entered(trace, WHILE, (*names, *constants), settings, made)
    found = iter(arrays)
    return [box(rebuilt(y.array, found)) for y in body.made]


def _slice(trace: Trace, x: Tensor) -> Tensor:
    """A tensor that stands for the slices of another."""
    token = current.set(None)
    try:
        first = run("index", rebuilt(x.array, iter(map(plain, bottoms(x.array)))), key=(0,))
    finally:
        current.reset(token)
    return fresh(trace, first, state.recording and node_of(x) is not None)


class Loop(Recorded):
    """A loop over a body, whose first tensors are carried.

    Parameters
    ----------
    body
        The step.
    carries
        How many of the tensors that it is given, and of its results, are carried.
    init, columns
        What is carried into the first step, and what the slices are taken of.
    length, reverse
        How many steps, and whether the last slice comes first.
    parents
        Loops of as many steps whose values the body asks for, step by step.
    held
        Nodes of parents' bodies, with the tensors that these stand for.
    """

    name = "scan"

    def __init__(
        self,
        body: Body,
        carries: int,
        init: Sequence[Tensor],
        columns: Sequence[Tensor],
        length: int,
        reverse: bool,
        parents: Sequence["Loop"] = (),
        held: Sequence[tuple[Any, Tensor]] = (),
    ) -> None:
        self.body, self.trace, self.carries = body, body.trace, carries
        self.init, self.columns = ([box(x.array, node_of(x)) for x in xs] for xs in (init, columns))
        self.length, self.reverse, self.held = length, reverse, list(held)
        self.parents: list[Loop] = list(parents)
        self.home = self.trace.part
        self.rows: list[dict[Variable, Any]] = []
        self.equation: Equation | None = None
        self._stacked: dict[Variable, Any] = {}
        self._draws: dict[tuple[int, Equation], Draws] = {}
        self.results: list[Any] = []
        self._find_moving()
        self._own = set(body.inputs).union(v for e in body.part.equations for v in e.results)
        self.constants = body.asked()
        #: What is the same in all steps, by the equations.
        self.fixed: dict[Variable, Equation] = {}

    def _find_moving(self) -> None:
        """Which carries have gradients: those that depend on something that has, be it a step later."""
        body, n = self.body, self.carries
        leaves = [x._node for x in body.given[:n]]
        wanted = {x._node for x in body.given[n:] if x._node is not None}
        wanted.update(body.outside)
        wanted.update(leaf for leaf, x in zip(leaves, self.init, strict=True) if leaf and node_of(x) is not None)
        before = -1
        while before != len(wanted):
            before = len(wanted)
            for leaf, ends in zip(leaves, body.ends, strict=False):
                if leaf is not None and not wanted.isdisjoint(ends):
                    wanted.add(leaf)
        #: Places of the carries that have gradients; nothing has, if nothing does that is not carried.
        self.moving = [k for k, leaf in enumerate(leaves) if leaf in wanted and leaf is not None]
        self.records = state.recording and bool(wanted)
        self.wanted = wanted

    def given_back(self) -> list[Tensor]:
        """What a step gives: its results, and what it was given of the carries, if the tape needs to know of it."""
        return [*self.body.made, *self._hidden()]

    def _hidden(self) -> list[Tensor]:
        return [self.body.given[k] for k in self.moving] if self.records else []

    def defines(self, variable: Variable) -> bool:
        """Whether a variable has a value of its own in every step."""
        return variable in self._own or any(variable in e.results for e in self.body.part.equations)

    # -- the loop itself
    def run(self, since: int = 0) -> list[Tensor]:
        """The tensors of the results."""
        trace, body, n = self.trace, self.body, self.carries
        carry = [b for x in self.init for b in bottoms(x.array)]
        columns = [_moved(b, axes, 0) for x in self.columns for b, axes in placed(x.array)]
        more: dict[Variable, Any] = {}  # what other loops have found in every step
        constants: dict[Variable, Given] = {}
        again: list[Equation] = []  # what is the same in every step need not be kept
        for v, one in self.constants.items():
            parent = next((loop for loop in self.parents if loop.defines(v)), None)
            if parent is None:
                constants[v] = one
            elif v in parent.fixed:
                self._take_over(parent, v, again, constants)
            else:
                more[v] = parent.stacked(v)
        self.constants = constants
        inputs = [*body.inputs, *more, *constants]
        outputs = [*body.results, *(b.variable for x in self._hidden() for b in bottoms(x.array))]
        body.part.equations[:0] = again
        program = body.program(inputs, outputs)
        columns += more.values()
        values = [plain(x) for x in carry]
        slices, rest = [plain(x) for x in columns], [one.value for one in constants.values()]
        self.rows = [{}] * self.length
        token = current.set(None)
        try:
            for i in order(self.length, self.reverse):
                given = [*values, *[run("index", x, key=(i,)) for x in slices], *rest]
                known = self._trail(i, program, given) if self.records else program.trail(given)
                values = [known[v] for v in outputs[: len(carry)]]
                self.rows[i] = known if self.records else {v: known[v] for v in outputs[len(carry) :]}
            collected = [run("stack", *[row[v] for row in self.rows], axis=0) for v in outputs[len(carry) :]]
        finally:
            current.reset(token)
        for equation in body.part.equations:
            fixed = all(v in constants or v in self.fixed for v in equation.variables)
            if fixed and not acts(equation) and equation.variables:
                self.fixed.update(dict.fromkeys(equation.results, equation))
        names = tuple(trace.variable(x) for x in (*carry, *columns)) if current.get() is trace else ()
        pass_on(trace, constants)
        settings = {"body": program, "length": self.length, "reverse": self.reverse}
        settings.update(carries=len(carry), columns=len(columns))
        self.equation, arrays = entered(trace, SCAN, (*names, *constants), settings, [*values, *collected])
        return self._finished(arrays, n, since)

    def _trail(self, i: int, program: Program, values: Sequence[Any]) -> dict[Variable, Any]:
        """What all variables are in a step; random numbers inside of structures are kept."""
        known = dict(zip(program.inputs, values, strict=True))
        for equation in program.equations:
            if inner(equation) and acts(equation):
                draws = self._draws[i, equation] = Draws()
                draws.enter(equation, known)
            else:
                enter(equation, known)
        return known

    def _take_over(self, parent: "Loop", v: Variable, again: list[Equation], constants: dict[Variable, Given]) -> None:
        """Compute once more what is the same in all steps of another loop."""
        equation = parent.fixed[v]
        if equation in again:
            return
        for x in equation.variables:
            if x in parent.fixed:
                self._take_over(parent, x, again, constants)
            else:
                constants.setdefault(x, parent.constants[x])
        again.append(equation)
        self._own.update(equation.results)

    def _finished(self, arrays: list[Any], n: int, since: int) -> list[Tensor]:
        found, made = iter(arrays), list[Tensor]()
        for k, y in enumerate(self.given_back()):
            parts = [_moved(next(found), 0, 0 if k < n else axes) for _, axes in placed(y.array)]
            made.append(box(rebuilt(y.array, iter(parts))))
        if self.records:
            self.results = [y.array for y in made]
            nodes = [node_of(x) for x in (*self.init, *self.columns)]
            nodes = [node if k >= n or k in self.moving else None for k, node in enumerate(nodes)]
            nodes += [node_of(x) for _, x in self.held]
            self.outside = [node for node in self.body.outside if all(node is not leaf for leaf, _ in self.held)]
            self.record(made, [*nodes, *self.outside], since)
        return made[: len(self.body.made)]

    # -- what gradients ask for
    def stacked(self, variable: Variable) -> Any:
        """The values of a variable of the body in all steps, as one array."""
        if variable not in self._stacked:
            token = current.set(None)
            try:
                value = run("stack", *[self._value(i, variable) for i in range(self.length)], axis=0)
            finally:
                current.reset(token)
            self._stacked[variable] = value
            if self.equation is not None and not self.trace.level.ended:
                made = self.trace.variable_like(value)
                program = self.equation.keywords["body"]
                program.outputs = (*program.outputs, variable)
                self.equation.results = (*self.equation.results, made)
                array = self._stacked[variable] = self.trace.result(made, value)
                array.memory.part = self.home
        return self._stacked[variable]

    def keeps(self) -> list[Any]:
        """The arrays and tensors that it keeps besides."""
        return [*self.results, *self.init, *self.columns, *(x for _, x in self.held), *self._stacked.values()]

    def all_bodies(self) -> list[Body]:
        """The step."""
        return [self.body]

    def release(self, plain: Callable[[Any], Any]) -> None:
        """The trace has ended: keep arrays of the usual kind, but for those of bodies."""
        super().release(plain)
        self.results = [plain(array) for array in self.results]
        self.init, self.columns = ([box(plain(x.array), x._node) for x in xs] for xs in (self.init, self.columns))
        self.held = [(leaf, box(plain(x.array), x._node)) for leaf, x in self.held]
        self._stacked = {v: plain(array) for v, array in self._stacked.items()}
        for parent in self.parents:
            parent.release(plain)

    def _value(self, i: int, variable: Variable) -> Any:
        """What a variable is in a step; one that a structure gives since later is computed now."""
        known = self.rows[i]
        if variable not in known:
            for equation in self.body.part.equations:
                if any(v not in known for v in equation.results):
                    if (i, equation) in self._draws:
                        self._draws[i, equation].enter(equation, known, again=True)
                    else:
                        enter(equation, known)
        return known[variable]

    def pull(self, gs: Sequence[Any]) -> Sequence[Any]:
        """The cotangents of what the loop was recorded with: a loop that goes the other way."""
        check_unwritten(self.name, self.constants.values())
        graph = any(isinstance(g, Tensor) for g in gs)
        given = [g if g is None or isinstance(g, Tensor) else box(g) for g in gs]
        trace = self.trace
        carry: list[Any] = [box(blank(trace, self.results[k])) if given[k] is None else given[k] for k in self.moving]
        ys = [k for k in range(self.carries, len(given)) if given[k] is not None]
        columns: list[Any] = [given[k] for k in ys]
        for _ in range(_MOST):
            since = len(trace.alive)
            back = _StepBack(self, carry, ys, columns, graph)
            if back.body is not None:
                break
            carry = [
                x if same_levels([s], [y]) else lifted(trace, x, y)
                for x, s, y in zip(carry, back.first, back.out, strict=True)
            ]
        else:
            raise RuntimeError("scan: the levels of cotangents don't settle; expected those of one step in all")
        init = [*carry, *(box(blank(trace, back.cotangents[node].array)) for node in back.sums)]
        held = self._held() if graph else []
        loop = Loop(back.body, len(init), init, columns, self.length, not self.reverse, [self, *self.parents], held)
        made = loop.run(since)
        leaves = [x._node for x in self.body.given]
        answers = dict(zip([*(leaves[k] for k in self.moving), *back.sums, *back.others], made, strict=True))
        asked = [leaf if k >= self.carries or k in self.moving else None for k, leaf in enumerate(leaves)]
        asked += [*(leaf for leaf, _ in self.held), *self.outside]
        return [None if leaf not in answers else answers[leaf] if graph else answers[leaf].array for leaf in asked]

    def targets(self) -> list[Any]:
        """The nodes that gradients are asked for: of what a step is given, and of what it reaches."""
        given = [x._node for k, x in enumerate(self.body.given) if k >= self.carries or k in self.moving]
        return [*(leaf for leaf in given if leaf is not None), *(leaf for leaf, _ in self.held), *self.outside]

    def _held(self) -> list[tuple[Any, Tensor]]:
        """The nodes of the body, with the tensors that they stand for."""
        body, n, fork = self.body, self.carries, self.fork()
        hidden = len(body.made)
        found = [
            (body.given[k]._node, box(self.results[hidden + i], node_of_edge(fork, hidden + i)))
            for i, k in enumerate(self.moving)
        ]
        own = zip(body.given[n:], self.columns, strict=True)
        return [*found, *((x._node, column) for x, column in own if x._node is not None), *self.held]


class _StepBack:
    """A step of the loop that goes the other way: a walk through the graph of a loop's body, traced apart.

    The cotangents of what is carried are carried, and so are the sums of those of what all steps reach.
    """

    body: Body | None = None  # None: what is carried has other levels in the end than in the beginning

    def __init__(
        self, loop: Loop, carry: Sequence[Tensor], ys: Sequence[int], columns: Sequence[Tensor], graph: bool
    ) -> None:
        trace, body, targets = loop.trace, loop.body, loop.targets()
        leaves = [x._node for x in body.given[: loop.carries]]
        given_back = loop.given_back()
        seeds: list[Any] = [None] * len(given_back)
        with trace.apart() as part:
            for k, x in zip(loop.moving, carry, strict=True):
                seeds[k] = fresh(trace, x.array, graph)
            for k, x in zip(ys, columns, strict=True):
                seeds[k] = _sliced(trace, x, graph)
            self.cotangents = cts = pulled(given_back, seeds, targets, graph)
            self.first = [seeds[k] for k in loop.moving]
            self.out = []
            for x, leaf in zip(self.first, [leaves[k] for k in loop.moving], strict=True):
                y = cts[leaf] if leaf in cts else box(blank(trace, x.array))
                self.out.append(y if same_levels([x], [y]) else lifted(trace, y, x))
            if not same_levels(self.first, self.out):
                return
            self.sums = [node for node in loop.outside if node in cts]
            self.others = [leaf for leaf in targets if leaf in cts and leaf not in (*leaves, *loop.outside)]
            totals = [fresh(trace, _zeros(cts[node].array), graph) for node in self.sums]
            made = [*self.out, *(t + cts[node] for t, node in zip(totals, self.sums, strict=True))]
            made += [cts[leaf] for leaf in self.others]
            given = [*self.first, *totals, *(seeds[k] for k in ys)]
            self.body = Body(trace, part, given, made, body.start, targets if graph else ())


def _moved(array: Any, source: int, destination: int) -> Any:
    return array if source == destination else run("moveaxis", array, source=source, destination=destination)


def _zeros(array: Any) -> Any:
    return rebuilt(array, iter([run("zeros_like", plain(part)) for part in bottoms(array)]))


def _sliced(trace: Trace, x: Tensor, graph: bool) -> Tensor:
    made = _slice(trace, x)
    if graph and made._node is None:
        made = fresh(trace, made.array, True)
    elif not graph:
        made._node = None
    return made
