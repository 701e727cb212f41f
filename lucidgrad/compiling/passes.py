"""What is done to a program before it is made to run: each pass gives one that has the same results, to the bit."""

import itertools
from typing import Any

from lucidgrad.core import device, dispatch
from lucidgrad.core.primitive import registry
from lucidgrad.levels.program import Action, Equation, Program, Structure, Variable, acts, alive, variables

from . import structures
from .structures import improved_inside, known_outside, pruned

__all__ = ["common", "dead", "folded", "hoisted", "identities", "improved", "inside", "with_own_outputs"]

#: Constants of more elements are computed in every run rather than kept.
_LARGEST_CONSTANT = 1 << 16


def improved(program: Program) -> Program:
    """All passes in their order."""
    better = inside(common(folded(identities(dead(program)))))
    outside = hoisted(better)
    return dead(better if len(outside) == len(better) else common(folded(identities(outside))))


def inside(program: Program) -> Program:
    """All passes for the programs that loops and choices are made of."""
    equations = [improved_inside(equation, program.constants, improved) for equation in program.equations]
    return Program(program.inputs, equations, program.outputs, program.constants)


def hoisted(program: Program) -> Program:
    """What is the same in all steps of a loop is computed before it."""
    numbers = itertools.count(1 + max((v.number for v in variables(program)), default=0))
    equations = [step for equation in program.equations for step in structures.hoisted(equation, numbers)]
    return Program(program.inputs, equations, program.outputs, program.constants)


def with_own_outputs(program: Program) -> Program:
    """Inputs that are outputs are copied, as the function did it: the other passes have left that out."""
    highest = max((v.number for v in variables(program)), default=0)
    given, clone = set(program.inputs), registry["clone"]
    equations, outputs = list(program.equations), list(program.outputs)
    for k, v in enumerate(outputs):
        if v in given:
            copy = Variable(highest := highest + 1, v.shape, v.dtype, v.device)
            equations.append(Equation(clone, (v,), dict(clone.keywords), (copy,)))
            outputs[k] = copy
    return Program(program.inputs, equations, outputs, program.constants)


def dead(program: Program) -> Program:
    """Without equations whose results nobody asks for; actions stay, since they do something."""
    kept, wanted = alive(program, lambda equation, wanted: pruned(equation, wanted, dead))
    constants = {v: array for v, array in program.constants.items() if v in wanted}
    return Program(program.inputs, kept, program.outputs, constants)


def common(program: Program) -> Program:
    """Each computation once."""
    same: dict[Variable, Variable] = {}
    known: dict[Any, tuple[Variable, ...]] = {}
    kept: list[Equation] = []
    for equation in program.equations:
        equation = _renamed(equation, same)
        same.update(known_outside(equation))
        key = _key(equation)
        found = None if key is None else known.get(key)
        if found is None:
            kept.append(equation)
            if key is not None:
                known[key] = equation.results
        else:
            same.update(zip(equation.results, found, strict=True))
    return Program(program.inputs, kept, [same.get(v, v) for v in program.outputs], program.constants)


def folded(program: Program) -> Program:
    """What depends on constants alone is one."""
    constants = dict(program.constants)
    kept: list[Equation] = []
    for equation in program.equations:
        fixed = type(equation.primitive) is not Structure and not acts(equation) and not equation.results[0].is_number
        if fixed and equation.primitive.name in _FILLS:  # the values of the input don't matter
            found = _filled(equation)
            if found is not None:
                constants[equation.results[0]] = found
                continue
        fixed = fixed and bool(equation.variables) and all(v in constants for v in equation.variables)
        if not fixed or sum(v.size for v in equation.results) > _LARGEST_CONSTANT:
            kept.append(equation)
            continue
        given = [constants[x] if type(x) is Variable else x for x in equation.inputs]
        made = dispatch.compute(equation.primitive, given, equation.keywords)  # type: ignore[arg-type]
        parts = made if equation.primitive.outputs else (made,)
        constants.update(zip(equation.results, parts, strict=True))
    return Program(program.inputs, kept, program.outputs, constants)


_FILLS = {"ones_like": 1, "zeros_like": 0}


def _filled(equation: Equation) -> Any:
    made = equation.results[0]
    if made.size > 1:
        return None
    return device.backend_named(made.device).full(made.shape, _FILLS[equation.primitive.name], made.dtype, made.device)


def identities(program: Program) -> Program:
    """Without operations that change nothing: copies (no variable is ever written), and what keeps shape or dtype."""
    same: dict[Variable, Variable] = {}
    kept: list[Equation] = []
    for equation in program.equations:
        equation = _renamed(equation, same)
        x = _unchanged(equation)
        if x is None:
            kept.append(equation)
        else:
            same[equation.results[0]] = x
    return Program(program.inputs, kept, [same.get(v, v) for v in program.outputs], program.constants)


def _unchanged(equation: Equation) -> Variable | None:
    """The input that the result is, bit by bit."""
    name = equation.primitive.name
    if type(equation.primitive) in (Action, Structure) or len(equation.results) != 1 or not equation.variables:
        return None
    y, variables = equation.results[0], equation.variables
    x = variables[0]
    if y.is_number or x.is_number or x.shape != y.shape or x.dtype != y.dtype or x.device != y.device:
        return None
    if name in ("clone", "positive", "broadcast_to", "reshape", "astype") and x is equation.inputs[0]:
        return x
    if name in ("real", "conj") and "complex" not in str(x.dtype):
        return x
    if name in ("multiply", "divide") and len(variables) == 1:
        other = equation.inputs[1] if equation.inputs[0] is x else equation.inputs[0]
        if type(other) in (int, float) and other == 1 and (name == "multiply" or equation.inputs[0] is x):
            return x
    return None


def _renamed(equation: Equation, same: dict[Variable, Variable]) -> Equation:
    if same.keys().isdisjoint(equation.variables):
        return equation
    inputs = tuple(same.get(x, x) if type(x) is Variable else x for x in equation.inputs)
    return Equation(equation.primitive, inputs, equation.keywords, equation.results)


def _key(equation: Equation) -> Any:
    """What is the same of equal computations; None for what acts, structures, and where a keyword has no hash."""
    if type(equation.primitive) is Structure or acts(equation):
        return None
    inputs = tuple(x if type(x) is Variable else (type(x), repr(x)) for x in equation.inputs)
    words = tuple((name, type(value), repr(value)) for name, value in sorted(equation.keywords.items()))
    if any(" at 0x" in word or "..." in word for _, _, word in words):  # something that does not show all that it is
        return None
    return equation.primitive, inputs, words
