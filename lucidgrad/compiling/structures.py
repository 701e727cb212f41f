"""Passes inside of loops and choices: their programs are improved, and lose what nobody asks for."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lucidgrad.levels.program import Equation, Program, Variable, acts, inner
from lucidgrad.levels.structures import COND, SCAN

__all__ = ["hoisted", "improved_inside", "known_outside", "pruned"]

Pass = Callable[[Program], Program]


def improved_inside(equation: Equation, constants: dict[Variable, Any], improve: Pass) -> Equation:
    """A structure whose programs are improved; what is constant around them is so inside."""
    if not inner(equation):
        return equation
    first = 1 if equation.primitive is COND else _carries(equation) + equation.keywords.get("columns", 0)
    known = [k for k, v in enumerate(equation.inputs) if k >= first and v in constants]
    skipped = 1 if equation.primitive is COND else 0  # the programs of a choice are not given the truth value
    keywords = dict(equation.keywords)
    for name, program in keywords.items():
        if type(program) is Program:
            own = {program.inputs[k - skipped]: constants[equation.inputs[k]] for k in known}
            inputs = [v for v in program.inputs if v not in own]
            keywords[name] = improve(Program(inputs, program.equations, program.outputs, {**program.constants, **own}))
    given = tuple(v for k, v in enumerate(equation.inputs) if k not in known)
    return Equation(equation.primitive, given, keywords, equation.results)


def _carries(equation: Equation) -> int:
    return int(equation.keywords.get("carries", 0))


def known_outside(equation: Equation) -> dict[Variable, Variable]:
    """Results of a loop that are others: what is collected twice, and slices that are collected again."""
    if equation.primitive is not SCAN:
        return {}
    body, n, m = equation.keywords["body"], _carries(equation), equation.keywords["columns"]
    seen = dict(zip(body.inputs[n : n + m], equation.inputs[n : n + m], strict=True))
    same: dict[Variable, Variable] = {}
    for v, result in zip(body.outputs[n:], equation.results[n:], strict=True):
        found = seen.setdefault(v, result)
        if found is not result:
            same[result] = found
    return same


def _asked(program: Program, outputs: Iterable[Any]) -> set[Variable]:
    """The inputs of a program that some of its outputs depend on."""
    wanted = {v for v in outputs if v is not None}
    for equation in reversed(program.equations):
        if acts(equation) or not wanted.isdisjoint(equation.results):
            wanted.update(equation.variables)
    return wanted.intersection(program.inputs)


def pruned(equation: Equation, wanted: set[Variable], clean: Pass) -> Equation:
    """A structure without results that nobody asks for, and what only they need; ``clean`` removes equations."""
    if not inner(equation):
        return equation
    results, n = equation.results, _carries(equation)
    kept = {k for k, v in enumerate(results) if v in wanted}
    if equation.primitive is COND:
        used = set().union(*(_asked(p, [p.outputs[k] for k in kept]) for p in inner(equation)))
        return _with(equation, kept, used, 1, clean)
    body = equation.keywords["body"]
    while True:
        used = _asked(body, [body.outputs[k] for k in kept])
        for program in inner(equation):
            if program is not body:
                used |= _asked(program, program.outputs)
                used |= {body.inputs[k] for k, v in enumerate(program.inputs) if v in used}
        more = {k for k in range(n) if body.inputs[k] in used} - kept
        if not more:
            return _with(equation, kept, used, 0, clean)
        kept |= more


def _with(equation: Equation, kept: set[int], used: set[Variable], skipped: int, clean: Pass) -> Equation:
    """A structure with some of its results, whose programs ask for some of their inputs."""
    n, m = _carries(equation), equation.keywords.get("columns", 0)
    programs = inner(equation)
    count = len(programs[0].inputs)
    needed = [k for k in range(count) if k in kept or any(p.inputs[k] in used for p in programs)]
    needed = [k for k in needed if k >= n or k in kept]
    keywords = dict(equation.keywords)
    for name, program in keywords.items():
        if type(program) is Program:
            whole = name == "condition"
            outputs = [v for k, v in enumerate(program.outputs) if whole or k in kept]
            inputs = [program.inputs[k] for k in needed]
            keywords[name] = clean(Program(inputs, program.equations, outputs, program.constants))
    if n or "carries" in keywords:
        keywords["carries"] = sum(k < n for k in needed)
    if m:
        keywords["columns"] = sum(n <= k < n + m for k in needed)
    given = (*equation.inputs[:skipped], *(equation.inputs[k + skipped] for k in needed))
    return Equation(equation.primitive, given, keywords, tuple(v for k, v in enumerate(equation.results) if k in kept))


def hoisted(equation: Equation, numbers: Iterator[int]) -> list[Equation]:
    """A loop, and before it what is the same in all its steps; new variables get new numbers."""
    if equation.primitive is COND or not inner(equation):
        return [equation]
    body = equation.keywords["body"]
    first = _carries(equation) + equation.keywords.get("columns", 0)
    names = dict(zip(body.inputs[first:], equation.inputs[first:], strict=True))
    before: list[Equation] = []
    stay: list[Equation] = []
    for step in body.equations:
        if not step.variables or acts(step) or not all(v in names for v in step.variables):
            stay.append(step)
            continue
        made = [Variable(next(numbers), v.shape, v.dtype, v.device) for v in step.results]
        given = tuple(names[x] if type(x) is Variable else x for x in step.inputs)
        before.append(Equation(step.primitive, given, step.keywords, tuple(made)))
        names.update(zip(step.results, made, strict=True))
    if not before:
        return [equation]
    found = [v for step in body.equations for v in step.results if v in names]
    keywords = dict(equation.keywords)
    for name, program in keywords.items():
        if type(program) is Program:
            kept = stay if program is body else program.equations
            keywords[name] = Program([*program.inputs, *found], kept, program.outputs, program.constants)
    inputs = (*equation.inputs, *(names[v] for v in found))
    return [*before, Equation(equation.primitive, inputs, keywords, equation.results)]
