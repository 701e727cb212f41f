"""Elementwise equations of a program, one by one, as lines of C for one element; and loops with as few axes as can be.

What loops there are, and which memory they see, is for the devices to say.
"""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core.dtype import get_default_dtype
from lucidgrad.levels.program import Action, Equation, Structure, Variable

from .expression import NeedsValue, Untraceable
from .keys import Value, identity
from .languages import Language
from .printing import arguments_of, statements
from .tracing import is_elementwise, trace_forward

__all__ = ["Expression", "collapsed", "expression_of"]

#: Lines of the longest expression; longer ones, series of special functions, have loops of their own.
LONGEST = 250


class Expression:
    """What one element of a result is: lines of C and a last word, in which ``{0}`` stands for the first source.

    ``asked`` says which sources it depends on.
    """

    __slots__ = ("asked", "lines", "result")

    def __init__(self, lines: list[str], result: str, asked: tuple[bool, ...]) -> None:
        self.lines, self.result, self.asked = lines, result, asked


_known: dict[Any, Expression | None] = {}


def expression_of(equation: Equation, language: Language) -> Expression | None:
    """The expression of an elementwise equation; None if the language can't compute it."""
    primitive: Any = equation.primitive
    if type(primitive) in (Action, Structure) or not is_elementwise(primitive):
        return None
    kinds = [x.dtype if type(x) is Variable else Value(x) for x in equation.inputs]
    words = [identity(kind.value) if isinstance(kind, Value) else (kind, type(kind)) for kind in kinds]
    settings = [(name, identity(value)) for name, value in equation.keywords.items()]
    key = (language, primitive, *words, *settings, get_default_dtype(), equation.results[0].dtype)
    try:
        return _known[key]
    except KeyError:
        made = _known[key] = _traced(equation, kinds, language)
        return made
    except TypeError:  # a keyword that can't be told from others
        return _traced(equation, kinds, language)


def _traced(equation: Equation, kinds: list[Any], language: Language) -> Expression | None:
    try:
        trace = trace_forward(equation.primitive, kinds, equation.keywords)  # type: ignore[arg-type]
        node = trace.results[0]
        assert node is not None
        if node.dtype != equation.results[0].dtype or node.weak:
            return None
        needed = arguments_of([node])
        for a in needed:
            language.type(a.dtype)
        names = {a: f"{{{k}}}" for k, a in enumerate(trace.arguments) if a is not None}
        lines, (result,) = statements([node], names, language)
        language.type(node.dtype)
    except (Untraceable, NeedsValue, KeyError, TypeError):
        return None
    if len(lines) > LONGEST:
        return None
    return Expression(lines, result, tuple(a in needed for a in trace.arguments))


def collapsed(shape: Sequence[int], steps: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """The same loop with as few axes as can be: those of one element go, and such that follow one another are one."""
    axes = [a for a, n in enumerate(shape) if n != 1]
    made: list[int] = []
    moved: list[list[int]] = [[] for _ in steps]
    for a in axes:
        n = shape[a]
        if made and all(new[-1] == old[a] * n for new, old in zip(moved, steps, strict=True)):
            made[-1] *= n
            for new, old in zip(moved, steps, strict=True):
                new[-1] = old[a]
        else:
            made.append(n)
            for new, old in zip(moved, steps, strict=True):
                new.append(old[a])
    return made, moved
