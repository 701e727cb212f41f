"""Programs: what a traced function comes to, as a list of equations over primitives, and how such a list is run.

A *variable* stands for one array, of which shape, dtype and device are known, or for one Python number. An *equation*
says that a primitive makes some variables of others; where numbers stay as they are, they stand in the equation itself.
What is no primitive but must be done in every run anew, drawing random numbers, is an `Action`, and looks like one.
What is made of programs, a loop or a choice between two, is a `Structure`; the programs are among the keywords.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from lucidgrad.core import device, dispatch
from lucidgrad.core.primitive import Primitive

__all__ = [
    "Action", "Draws", "Equation", "Program", "Structure", "Variable", "actions", "acts", "alive",
    "communicates", "enter", "inner", "structured", "variables",
]  # fmt: skip


class Variable:
    """One array, or one number where the dtype is a type of Python's; the number tells variables of a trace apart."""

    __slots__ = ("device", "dtype", "number", "shape")

    def __init__(self, number: int, shape: tuple[int, ...], dtype: Any, device: Any) -> None:
        self.number, self.shape, self.dtype, self.device = number, shape, dtype, device

    @property
    def is_number(self) -> bool:
        return isinstance(self.dtype, type)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"v{self.number}"

    def described(self) -> str:
        """Name, dtype and shape."""
        if self.is_number:
            return f"v{self.number}: {self.dtype.__name__}"
        place = "" if str(self.device) == "cpu" else f" on {self.device}"
        return f"v{self.number}: {self.dtype}[{', '.join(map(str, self.shape))}]{place}"


class Action:
    """Something that is done anew in every run, in its place: ``run(*inputs)`` gives the result.

    ``draws``: doing it once more gives something else. ``source`` is the data that it looks at.
    """

    outputs = False

    def __init__(self, name: str, run: Callable[..., Any], draws: bool = False, source: Any = None) -> None:
        self.name, self.run, self.draws, self.source = name, run, draws, source

    def __repr__(self) -> str:
        return f"<action {self.name}>"


class Structure:
    """A loop or a choice: ``run(values, run_program, **keywords)`` gives the results, as a tuple.

    ``run_program(program)`` is the function ``(values) -> outputs`` of a program among the keywords. Such a program is
    given all that it asks for as inputs. An output that is None is an array of the shape of the result, whatever it
    holds: nobody asks for it then.
    """

    outputs, view = True, False

    def __init__(self, name: str, run: Callable[..., tuple[Any, ...]]) -> None:
        self.name, self.run = name, run

    def __repr__(self) -> str:
        return f"<structure {self.name}>"


class Equation:
    """``results = primitive(*inputs, **keywords)``; inputs are variables, Python numbers, or None."""

    __slots__ = ("inputs", "keywords", "primitive", "results")

    def __init__(
        self,
        primitive: Primitive | Action | Structure,
        inputs: tuple[Any, ...],
        keywords: dict[str, Any],
        results: tuple[Variable, ...],
    ) -> None:
        self.primitive, self.inputs, self.keywords, self.results = primitive, inputs, keywords, results

    @property
    def variables(self) -> list[Variable]:
        """The inputs that are variables."""
        return [x for x in self.inputs if type(x) is Variable]

    def __repr__(self) -> str:
        made = ", ".join(v.described() for v in self.results)
        given = [repr(x) for x in self.inputs]
        given += [f"{name}={_shown(value)}" for name, value in self.keywords.items() if type(value) is not Program]
        lines = [f"{made} = {self.primitive.name}({', '.join(given)})"]
        for name, value in self.keywords.items() if type(self.primitive) is Structure else ():
            if type(value) is Program:
                lines += [f"  {line}" for line in f"{name}: {value!r}".splitlines()]
        return "\n".join(lines)


def _shown(value: Any) -> str:
    """A keyword in short: parts of the library's own by their names."""
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_shown, value))})"
    return getattr(value, "name", None) or repr(value)


class Program:
    """Equations in order, with what goes in, what comes out, and the arrays that are the same in every run."""

    def __init__(
        self,
        inputs: Sequence[Variable],
        equations: Sequence[Equation],
        outputs: Sequence[Any],
        constants: dict[Variable, Any],
    ) -> None:
        self.inputs, self.equations, self.constants = tuple(inputs), list(equations), dict(constants)
        self.outputs = tuple(outputs)  #: Variables.

    def __repr__(self) -> str:
        lines = [f"program({', '.join(v.described() for v in self.inputs)})"]
        lines += [f"  {v.described()} is constant" for v in self.constants]
        lines += [f"  {line}" for equation in self.equations for line in repr(equation).splitlines()]
        return "\n".join([*lines, f"  return {', '.join(map(repr, self.outputs))}"])

    def _repr_html_(self) -> str:
        from lucidgrad.notebook import preformatted  # loads a parser of HTML, which only notebooks need

        return preformatted(f"program of {len(self)} equations", repr(self))

    def __len__(self) -> int:
        return len(self.equations)

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The outputs for arrays of any kind in place of the inputs: raw ones, or layers."""
        return self.outputs_of(self.trail(values))

    def trail(self, values: Sequence[Any]) -> dict[Variable, Any]:
        """What all variables come to."""
        known: dict[Variable, Any] = dict(self.constants)
        known.update(zip(self.inputs, values, strict=True))
        for equation in self.equations:
            enter(equation, known)
        return known

    def outputs_of(self, known: dict[Variable, Any]) -> list[Any]:
        """The outputs, given what variables come to."""
        return [known[v] if v is not None else None for v in self.outputs]


class Draws:
    """What actions give while equations are evaluated for the first time, and again when they are a second time."""

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self._again: Iterator[Any] | None = None

    def made(self, action: Action, values: Sequence[Any]) -> Any:
        """What an action gives."""
        if self._again is not None:
            return next(self._again)
        self._kept.append(action.run(*values))
        return self._kept[-1]

    def enter(self, equation: Equation, known: dict[Variable, Any], again: bool = False) -> None:
        """Add the results of an equation to what is known, as `enter` does."""
        self._again = iter(self._kept) if again else None
        token = _draws.set(self)
        try:
            enter(equation, known)
        finally:
            _draws.reset(token)


_draws: ContextVar[Draws | None] = ContextVar("draws", default=None)


def enter(equation: Equation, known: dict[Variable, Any]) -> None:
    """Add the results of an equation to what is known."""
    made = evaluate(equation, [known[x] if type(x) is Variable else x for x in equation.inputs])
    known.update(zip(equation.results, made if equation.primitive.outputs else (made,), strict=True))


def evaluate(equation: Equation, values: Sequence[Any]) -> Any:
    """What an equation comes to for these inputs."""
    primitive = equation.primitive
    if type(primitive) is Action:
        draws = _draws.get()
        return primitive.run(*values) if draws is None else draws.made(primitive, values)
    if type(primitive) is Structure:
        return structured(equation, values, lambda program: program.run)
    if equation.results[0].is_number:
        return NUMBERS[primitive.name](*values)
    return dispatch.compute(primitive, values, equation.keywords)  # type: ignore[arg-type]


def structured(equation: Equation, values: Sequence[Any], run_program: Callable[[Program], Any]) -> tuple[Any, ...]:
    """What a structure comes to; ``run_program`` makes functions of its programs."""
    made = equation.primitive.run(values, run_program, **equation.keywords)  # type: ignore[union-attr]
    return tuple(
        device.backend_named(v.device).zeros(v.shape, v.dtype, v.device) if y is None else y
        for v, y in zip(equation.results, made, strict=True)
    )


def inner(equation: Equation) -> list[Program]:
    """The programs that an equation is made of."""
    if type(equation.primitive) is not Structure:
        return []
    return [value for value in equation.keywords.values() if type(value) is Program]


def variables(program: Program) -> Iterator[Variable]:
    """All variables of a program, those inside of structures as well."""
    yield from program.inputs
    yield from program.constants
    for equation in program.equations:
        yield from equation.results
        for part in inner(equation):
            yield from variables(part)


def alive(
    program: Program, pruned: Callable[[Equation, set[Variable]], Equation] | None = None
) -> tuple[list[Equation], set[Variable]]:
    """The equations that outputs depend on, and all actions, since they do something; and all that is asked for.

    ``pruned`` may give a smaller equation in place of one, of whose results only some are asked for.
    """
    wanted, kept = set(program.outputs), list[Equation]()
    for equation in reversed(program.equations):
        if acts(equation) or not wanted.isdisjoint(equation.results):
            kept.append(equation if pruned is None else pruned(equation, wanted))
            wanted.update(kept[-1].variables)
    return kept[::-1], wanted


def actions(equations: Iterable[Equation]) -> list[Action]:
    """All actions, those inside of structures as well."""
    found: list[Action] = []
    for equation in equations:
        if type(equation.primitive) is Action:
            found.append(equation.primitive)
        for program in inner(equation):
            found += actions(program.equations)
    return found


def communicates(equation: Equation) -> bool:
    """Whether other processes take part."""
    return type(equation.primitive) is Primitive and equation.primitive.silenced is not None


def acts(equation: Equation) -> bool:
    """Whether an equation does something besides computing its results, or has others in every run."""
    return communicates(equation) or bool(actions([equation]))


#: How Python's numbers are computed with, where they are inputs of a program.
NUMBERS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "negative": lambda a: -a,
    "pow": lambda a, b: a**b,
}
