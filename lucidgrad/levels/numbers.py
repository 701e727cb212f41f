"""Python floats that a program is given anew in every run: settings of optimisers, arguments, rates, limits.

While a program is traced, such a float is a `TracedNumber`. Arithmetic with it is noted down. A comparison gives Python
a plain answer, which decides something: the program is for numbers that give the same answer. Everything else reads the
value, and the program is for this value alone. So whatever is done with it, no program uses a number of another call.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from lucidgrad.core.box import Box

from .layer import Layer
from .program import NUMBERS, Variable

__all__ = ["Outcome", "TracedNumber", "plain_number"]


class Outcome:
    """What a comparison came to, which later numbers must come to as well."""

    __slots__ = ("answer", "how", "number", "other")

    def __init__(self, how: Callable[[Any, Any], Any], number: "TracedNumber", other: Any, answer: Any) -> None:
        self.how, self.number, self.other, self.answer = how, number, other, answer

    @property
    def sources(self) -> set[Variable]:
        """The inputs that it depends on."""
        return self.number.sources | (self.other.sources if type(self.other) is TracedNumber else set())

    def holds(self, values: Mapping[Variable, float]) -> bool:
        """Whether it comes to the same with other numbers in place of the inputs."""
        other = self.other.again(values) if type(self.other) is TracedNumber else self.other
        return bool(self.how(self.number.again(values), other)) is self.answer


class TracedNumber:
    """A Python float that a program is given anew in every run, or what is computed of such."""

    __slots__ = ("made", "nonzero", "trace", "value", "variable")

    def __init__(self, value: float, trace: Any, variable: Variable, made: tuple[Any, ...] | None = None) -> None:
        self.value, self.trace, self.variable = value, trace, variable
        self.nonzero = False  # whether somebody else sees to it that it is never zero
        self.made = made  # how it was computed: the name of an operation, and numbers

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # who asks whether it is a float hears yes
        return float

    def again(self, values: Mapping[Variable, float]) -> float:
        """What it comes to with these numbers in place of the inputs."""
        if self.made is None:
            return values[self.variable]
        name, *given = self.made
        return float(NUMBERS[name](*[x.again(values) if type(x) is TracedNumber else x for x in given]))

    @property
    def sources(self) -> set[Variable]:
        """The inputs that it is computed of."""
        if self.made is None:
            return {self.variable}
        return {v for part in self.made[1:] if type(part) is TracedNumber for v in part.sources}

    def read(self) -> float:
        """The value, for which alone the program is from now on."""
        if self.made is None:
            self.trace.pinned[self.variable] = self.value
        else:
            for part in self.made[1:]:
                if type(part) is TracedNumber:
                    part.read()
        return self.value

    def compare(self, how: Callable[[Any, Any], Any], other: Any) -> Any:
        """A comparison with another number."""
        if not isinstance(other, (int, float)):
            if how in (operator.eq, operator.ne) and type(other).__eq__ in _OTHER_EQUALITIES:
                return NotImplemented  # it equals no number, whichever this is
            return NotImplemented if isinstance(other, (Box, Layer)) else how(self.read(), other)
        plain: Any = getattr(other, "value", other)
        if self.nonzero and plain is other and other == 0 and how in (operator.eq, operator.ne):
            return how is operator.ne
        answer = how(self.value, plain)
        self.trace.outcomes.append(Outcome(how, self, other, answer))
        return answer

    def compute(self, name: str, other: Any, reflected: bool) -> Any:
        """Arithmetic with another number."""
        if not isinstance(other, (int, float)):
            if isinstance(other, (Box, Layer)):
                return NotImplemented
            return _WAYS[name](*((other, self.read()) if reflected else (self.read(), other)))
        first, second = (other, self) if reflected else (self, other)
        if name == "divide" and type(second) is TracedNumber:
            second.compare(operator.ne, 0)  # Python refuses that, and a program would not
        if name == "pow" and type(first) is TracedNumber:
            first.compare(operator.gt, 0)  # else the result may be complex
        return self.trace.arithmetic(name, first, second)

    def __neg__(self) -> Any:
        return self.trace.arithmetic("negative", self)

    def __pos__(self) -> Any:
        return self

    def __bool__(self) -> bool:
        return bool(self.compare(operator.ne, 0))

    def __hash__(self) -> int:
        return hash(self.read())

    def __reduce__(self) -> tuple[Any, ...]:
        return float, (self.read(),)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return getattr(function, method)(*map(plain_number, inputs), **keywords)

    def __getattr__(self, name: str) -> Any:
        if name in _OTHER_SLOTS:
            raise AttributeError(name)
        return getattr(self.read(), name)


def plain_number(value: Any) -> Any:
    """A traced number as a float, which is read thereby; anything else as it is."""
    return value.read() if type(value) is TracedNumber else value


_OTHER_SLOTS = frozenset({*TracedNumber.__slots__, "__array_interface__", "__cuda_array_interface__", "__array__"})
#: How objects compare that are never equal to a number: those that are equal to themselves alone, and collections.
_OTHER_EQUALITIES: frozenset[Any] = frozenset(kind.__eq__ for kind in (object, str, bytes, tuple, list, dict, set))
_WAYS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "pow": operator.pow,
}


def _computing(name: str, reflected: bool) -> Callable[..., Any]:
    return lambda self, other: self.compute(name, other, reflected)


def _comparing(how: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda self, other: self.compare(how, other)


def _reading(name: str) -> Callable[..., Any]:
    return lambda self, *given: getattr(float, name)(self.read(), *given)


for _symbol, _name in {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "pow"}.items():
    setattr(TracedNumber, f"__{_symbol}__", _computing(_name, reflected=False))
    setattr(TracedNumber, f"__r{_symbol}__", _computing(_name, reflected=True))
for _symbol in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(TracedNumber, f"__{_symbol}__", _comparing(getattr(operator, _symbol)))
for _symbol in (
    "float", "int", "trunc", "floor", "ceil", "round", "abs", "mod", "rmod", "floordiv", "rfloordiv", "divmod",
    "rdivmod", "repr", "str", "format",
):  # fmt: skip
    setattr(TracedNumber, f"__{_symbol}__", _reading(f"__{_symbol}__"))
TracedNumber.__hash__ = lambda self: hash(self.read())  # type: ignore[method-assign]  # which __eq__ took away
