"""A program as one Python function: a line per equation, which calls the kernel that eager would have called.

What decides on a kernel, types, dtypes and sizes, is known beforehand, so the lines are plain calls. An array is let go
after the line that asks for it last.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lucidgrad.core import device, dispatch
from lucidgrad.core.source import run
from lucidgrad.levels.program import Action, Equation, Program, Structure, Variable, inner, structured

__all__ = ["NUMBERS", "Lines", "flat"]

#: Python's operators, for equations of numbers.
NUMBERS = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "negative": "-{}",
    "pow": "{} ** {}",
}


def flat(program: Program, into: Mapping[int, int]) -> Callable[[Sequence[Any]], list[Any]]:
    """The function that runs a program."""
    lines = Lines(program, lambda part: flat(part, {}))
    for equation in program.equations:
        lines.equation(equation)
    return lines.function(into)


class Lines:
    """A function in the making: lines of Python over the variables of a program.

    ``inside`` makes functions of the programs that loops and choices are made of.
    """

    def __init__(self, program: Program, inside: Callable[[Program], Callable[[Sequence[Any]], list[Any]]]) -> None:
        self.program, self.inside = program, inside
        self.names: dict[str, Any] = {"np": np, "copy": device.by_array[np.ndarray].copy}
        self.lines: list[tuple[str, list[Variable], tuple[Variable, ...]]] = []
        #: Results that may be views, of whatever it is.
        self.views: set[Variable] = set()
        #: Outputs that are in the memory of an input already.
        self.written: set[int] = set()

    def name(self, value: Any) -> str:
        """A word for something that a line needs."""
        word = f"k{len(self.names)}"
        self.names[word] = value
        return word

    def add(self, text: str, asked: list[Variable], made: tuple[Variable, ...]) -> None:
        """A line that asks for some variables and makes others."""
        self.lines.append((text, asked, made))

    def word(self, value: Any) -> str:
        """What stands for an input of an equation."""
        if type(value) is Variable:
            return f"v{value.number}"
        return repr(value) if type(value) in (int, bool) or value is None else self.name(value)

    def equation(self, equation: Equation) -> None:
        """The line of an equation."""
        given = [self.word(x) for x in equation.inputs]
        self.add(self._call(equation, given), equation.variables, equation.results)
        if getattr(equation.primitive, "view", False) or type(equation.primitive) is Structure:
            self.views.update(equation.results)

    def _call(self, equation: Equation, given: list[str]) -> str:
        primitive, results = equation.primitive, equation.results
        made = "".join(f"v{v.number}" for v in results[:1])
        if type(primitive) is Action:
            return f"{made} = {self.name(primitive.run)}({', '.join(given)})"
        if results and results[0].is_number:
            return f"{made} = {NUMBERS[primitive.name].format(*given)}"
        if primitive.outputs:
            made = "".join(f"v{v.number}, " for v in results) or "_"
        if type(primitive) is Structure:
            return f"{made} = {self.name(self._structured(equation))}([{', '.join(given)}])"
        kernel = _kernel(equation)
        if kernel is None:
            keywords = self.name(equation.keywords)
            return f"{made} = {self.name(dispatch.compute)}({self.name(primitive)}, [{', '.join(given)}], {keywords})"
        given += [f"{name}={self.word(value)}" for name, value in equation.keywords.items()]
        text = f"{self.name(kernel)}({', '.join(given)})"
        if not primitive.outputs:
            return f"{made} = np.asarray({text})" if results[0].shape == () else f"{made} = {text}"
        return f"{made} = map(np.asarray, {text})" if any(v.shape == () for v in results) else f"{made} = {text}"

    def _structured(self, equation: Equation) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
        """A loop or a choice as a function: Python goes through steps, of which each is a call."""
        made = {id(part): self.inside(part) for part in inner(equation)}
        return lambda values: structured(equation, values, lambda part: made[id(part)])

    def function(self, into: Mapping[int, int]) -> Callable[[Sequence[Any]], list[Any]]:
        """All lines together; the results are nobody else's."""
        program = self.program
        for variable, value in program.constants.items():
            self.names[f"v{variable.number}"] = value
        last: dict[Variable, int] = {}
        for k, (_, asked, made) in enumerate(self.lines):
            for v in (*asked, *made):
                last[v] = k
        kept = set(program.outputs) | set(program.inputs) | set(program.constants)
        body = [f"{''.join(f'v{v.number}, ' for v in program.inputs)} = values"] if program.inputs else []
        for k, (text, asked, made) in enumerate(self.lines):
            body.append(text)
            done = dict.fromkeys(v for v in (*asked, *made) if last[v] == k and v not in kept)
            if done:
                body.append(f"del {', '.join(f'v{v.number}' for v in done)}")
        body += self._end(into)
        source = "def run(values):\n" + "\n".join(f"    {line}" for line in body)
        return run(source, self.names)["run"]

    def _end(self, into: Mapping[int, int]) -> list[str]:
        """What is written into inputs is taken before anything is written."""
        program, body, words, writes = self.program, list[str](), list[str](), list[str]()
        seen = set(program.inputs)
        for k, v in enumerate(program.outputs):
            if v is None:
                words.append("None")
                continue
            word, own = f"v{v.number}", v not in seen and v not in self.views and v not in program.constants
            seen.add(v)
            if k in into:
                target = f"values[{into[k]}]"
                if v is program.inputs[into[k]] or k in self.written:
                    words.append(word)
                    continue
                if not own:
                    body.append(f"o{k} = copy({word})")
                    word = f"o{k}"
                writes.append(f"np.copyto({target}, {word})")
                words.append(target)
            elif own or v.is_number or (v in program.inputs and program.inputs.index(v) not in into.values()):
                words.append(word)
            else:
                words.append(f"copy({word})")
        body += [f"o = [{', '.join(words)}]", *writes] if writes else []
        return [*body, "return o" if writes else f"return [{', '.join(words)}]"]


def _kernel(equation: Equation) -> Callable[..., Any] | None:
    """The function that eager would call, if types and sizes alone tell; None: `dispatch.compute` finds it."""
    arrays = [x for x in equation.inputs if type(x) is Variable and not x.is_number]
    if not arrays or arrays[0].dtype not in dispatch.floats:
        return None
    primitive: Any = equation.primitive
    dtype = arrays[0].dtype if primitive.dtype == "float" else None
    return primitive.kernels_for(np.ndarray, dtype).of(*equation.inputs)
