"""A program in parts: runs of equations that C does, one call each, and lines of Python for the others.

What can be done is done as early as it can be, others first, so that there are few parts.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lucidgrad.backends.codegen.tracing import is_elementwise
from lucidgrad.levels.program import Equation, Program, Variable, acts, alive, inner, variables

from . import controls
from .calling import bound, is_possible
from .expanding import expanded
from .handlers import Handler, handler
from .lines import Lines, flat
from .planning import Planner

__all__ = ["parts_of", "segmented"]

Run = Callable[[Sequence[Any]], list[Any]]


def segmented(program: Program, into: Mapping[int, int], least: int = 2) -> Run:
    """The function that runs a program; runs of fewer than ``least`` equations are left to Python."""
    if not is_possible():
        return flat(program, into)
    parts = parts_of(program, least)
    _sink(parts, {program.outputs[k] for k in into})
    if len(parts) == 1 and not isinstance(parts[0], Equation) and _direct(program, into):
        made = _in_c(program, into, parts[0])
        return made or flat(program, into)
    lines = Lines(program, lambda part: segmented(part, {}))
    asked = [set(_asked(part)) for part in parts]
    later = set(program.outputs)
    needs: list[set[Variable]] = []
    for own in reversed(asked):
        needs.append(set(later))
        later |= own
    needs.reverse()
    for part, need in zip(parts, needs, strict=True):
        if isinstance(part, Equation):
            lines.equation(part)
        else:
            _segment(lines, program, part, need, into if part is parts[-1] else {})
    return lines.function(into)


Planned = list[tuple[Equation, Handler]]


def _asked(part: Equation | Planned) -> Iterable[Variable]:
    equations = [part] if isinstance(part, Equation) else [equation for equation, _ in part]
    return [v for equation in equations for v in equation.variables]


def _direct(program: Program, into: Mapping[int, int]) -> bool:
    """Whether C alone makes all outputs."""
    given = set(program.inputs) | set(program.constants)
    return not any(v is None or v.is_number or v in program.inputs for v in program.outputs) and bool(given)


def _segment(lines: Lines, program: Program, part: Planned, need: set[Variable], into: Mapping[int, int]) -> None:
    """A call of what C does, as one line."""
    made = {v for equation, _ in part for v in equation.results}
    wanted = [v for equation, _ in part for v in equation.results if v in need]
    given = list(dict.fromkeys(v for v in _asked(part) if v not in made))
    constants = {v: program.constants[v] for v in given if v in program.constants}
    given = [v for v in given if v not in constants]
    writes: dict[int, int] = {}
    for k, i in into.items():  # what this makes, and nobody else wants the old values of
        v, target = program.outputs[k], program.inputs[i]
        if v in made and program.outputs.count(v) == 1 and target not in program.outputs:
            given += [] if target in given else [target]
            writes[wanted.index(v)] = given.index(target)
            lines.written.add(k)
    own = Program(given, [equation for equation, _ in part], wanted, constants)
    run = _in_c(own, writes, part)
    if run is None or not wanted:
        lines.written.clear()
        for equation, _ in part:
            lines.equation(equation)
        return
    values, results = ("".join(f"v{v.number}, " for v in some) for some in (given, wanted))
    lines.add(f"{results} = {lines.name(run)}(({values}))", given, tuple(wanted))


def _in_c(program: Program, into: Mapping[int, int], part: Planned) -> Run | None:
    planner = Planner(program)
    for equation, plan in part:
        plan(planner, equation)
    inputs = {v: k for k, v in enumerate(planner.arrays)}
    among = {k: inputs[program.inputs[i]] for k, i in into.items()}
    planner.finish(program.outputs, among)
    return bound(planner, among, lambda values: flat(program, into)(values))


def _sink(parts: list[Equation | Planned], written: set[Variable]) -> None:
    """What is written into inputs, and is asked for by nobody else, is made last: then it is written there at once."""
    last = parts[-1] if parts else None
    if not isinstance(last, list):
        return
    late: Planned = []
    asked = set(_asked(last)) | written
    others = {v for part in parts[:-1] for v in _asked(part)}
    for part in reversed(parts[:-1]):
        if not isinstance(part, list):
            continue
        for equation, plan in reversed(part):
            (v, *more), primitive = equation.results, equation.primitive
            plain = not more and is_elementwise(primitive)  # type: ignore[arg-type]
            if plain and v in asked and v not in others and (v in written or len(equation.variables) < 2):
                late.insert(0, (equation, plan))
                asked.update(equation.variables)
        moved = {id(equation) for equation, _ in late}
        part[:] = [pair for pair in part if id(pair[0]) not in moved]
        others = {v for one in parts[:-1] for v in _asked(one)}
    last[:0] = late
    parts[:] = [part for part in parts if part]


# -- which parts there are -------------------------------------------------------------------------
def parts_of(program: Program, least: int) -> list[Equation | Planned]:
    """Equations for Python, and runs of such that C does, in an order in which they can be done."""
    equations: list[Equation] = []
    plans: dict[int, Handler | None] = {}
    numbers = itertools.count(1 + max((v.number for v in variables(program)), default=0))
    for equation in alive(program)[0]:
        plan = controls.handler(equation, parts_of) if inner(equation) else handler(equation)
        more = [equation] if plan is not None else expanded(equation, numbers) or [equation]
        equations += more
        plans.update((id(e), plan if e is equation else handler(e)) for e in more)
    equations, _ = alive(Program(program.inputs, equations, program.outputs, {}))
    left, done = equations, set(program.inputs) | set(program.constants)
    parts: list[Equation | Planned] = []
    while left:
        left, others = _ready(left, done, lambda e: plans[id(e)] is None)
        parts += others
        left, own = _ready(left, done, lambda e: plans[id(e)] is not None)
        work = [e for e in own if not getattr(e.primitive, "view", False)]
        if len(work) < least and not any(map(inner, own)):
            parts += own
        else:
            parts.append([(e, plans[id(e)]) for e in own])  # type: ignore[misc]
    return parts


def _ready(
    left: list[Equation], done: set[Variable], chosen: Callable[[Equation], bool]
) -> tuple[list[Equation], list[Equation]]:
    """Of the equations that are left: those for later, and those of one sort that can be done now."""
    later, now, waits = [], [], False
    for equation in left:
        action = acts(equation)
        if chosen(equation) and done.issuperset(equation.variables) and not (action and waits):
            now.append(equation)
            done.update(equation.results)
        else:
            later.append(equation)
            waits = waits or action  # what is drawn is drawn in order
    return later, now
