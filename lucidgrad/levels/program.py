"""Programs: what a traced function comes to, as a list of equations over primitives, and how such a list is run.

A *variable* stands for one array, of which shape, dtype and device are known, or for one Python number. An *equation*
says that a primitive makes some variables of others; where numbers stay as they are, they stand in the equation itself.
What is no primitive but must be done in every run anew, drawing random numbers, is an `Action`, and looks like one.
"""

from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core import dispatch
from lucidgrad.core.primitive import Primitive

__all__ = ["Action", "Equation", "Program", "Variable"]


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
        size = 1
        for n in self.shape:
            size *= n
        return size

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


class Equation:
    """``results = primitive(*inputs, **keywords)``; inputs are variables, Python numbers, or None."""

    __slots__ = ("inputs", "keywords", "primitive", "results")

    def __init__(
        self,
        primitive: Primitive | Action,
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
        given += [f"{name}={_shown(value)}" for name, value in self.keywords.items()]
        return f"{made} = {self.primitive.name}({', '.join(given)})"


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
        lines += [f"  {equation!r}" for equation in self.equations]
        return "\n".join([*lines, f"  return {', '.join(map(repr, self.outputs))}"])

    def _repr_html_(self) -> str:
        from lucidgrad.notebook import preformatted  # loads a parser of HTML, which only notebooks need

        return preformatted(f"program of {len(self)} equations", repr(self))

    def __len__(self) -> int:
        return len(self.equations)

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The outputs for arrays of any kind in place of the inputs: raw ones, or layers."""
        known: dict[Variable, Any] = dict(self.constants)
        known.update(zip(self.inputs, values, strict=True))
        for equation in self.equations:
            given = [known[x] if type(x) is Variable else x for x in equation.inputs]
            made = evaluate(equation, given)
            if equation.primitive.outputs:
                known.update(zip(equation.results, made, strict=True))
            else:
                known[equation.results[0]] = made
        return [known[v] for v in self.outputs]


def evaluate(equation: Equation, values: Sequence[Any]) -> Any:
    """What an equation comes to for these inputs."""
    primitive = equation.primitive
    if type(primitive) is Action:
        return primitive.run(*values)
    if equation.results[0].is_number:
        return NUMBERS[primitive.name](*values)
    return dispatch.compute(primitive, values, equation.keywords)  # type: ignore[arg-type]


#: How Python's numbers are computed with, where they are inputs of a program.
NUMBERS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "negative": lambda a: -a,
    "pow": lambda a, b: a**b,
}
