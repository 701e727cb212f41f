"""Which equations of a program share a launch.

Elementwise equations of one shape, one of which asks for what another makes or both for the same array, are a
*section*: an element of each is computed by one thread, and what nobody else asks for stays in registers. Sections that
don't depend on each other share a launch. All other equations are calls of their kernels, in the order of the program.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from lucidgrad.backends.codegen import CUDA
from lucidgrad.backends.codegen.equations import Expression, expression_of
from lucidgrad.core.primitive import registry
from lucidgrad.levels.program import Equation, Program, Variable

__all__ = ["Entry", "Groups", "Launch", "Reduction", "Section", "Unit", "grouped"]

#: Statements of a section, since a compiler takes ever longer for larger ones, and variables, whose addresses it gets.
MOST_LINES, MOST_VARIABLES = 400, 200
_KINDS = "biufc"
#: Reductions that compute what they reduce.
_REDUCTIONS = frozenset({"sum", "mean"})
#: Primitives whose programs are a few equations, none of which is slower than a kernel for the whole.
_SPLIT = frozenset({"affine", "mean_squared_error"})


class Entry(NamedTuple):
    """What one element of a variable is: an expression of sources (None: the first of them as it is)."""

    name: str  # of the primitive
    expression: Expression | None
    sources: tuple[Any, ...]  # variables of arrays or numbers; None where the expression does not ask
    made: Variable

    @property
    def weight(self) -> int:
        """How much a compiler has to do for it."""
        return 1 if self.expression is None else 1 + len(self.expression.lines)


class Section:
    """What one thread does for one element.

    ``stored`` are the variables that others ask for. ``into`` has, by variables, inputs of the program that they are
    written into.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.entries: list[Entry] = []
        self.stored: list[Variable] = []
        self.into: dict[Variable, Variable] = {}
        self._touched: set[Variable] = set()
        self.weight = 0

    def add(self, entries: Iterable[Entry]) -> None:
        """More to do, behind what is there."""
        for entry in entries:
            self.entries.append(entry)
            self.weight += entry.weight
            self._touched.update(_arrays(entry))
            self._touched.add(entry.made)

    @property
    def variables(self) -> int:
        """How many variables it reads and makes."""
        return len(self._touched)

    def shares(self, entry: Entry) -> bool:
        """Whether an entry asks for something of the same shape that this reads or makes."""
        return entry.made.shape == self.shape and any(
            v.shape == self.shape and v in self._touched for v in _arrays(entry)
        )

    def divided(self, x: Variable) -> "tuple[Section | None, Section | None]":
        """A section that makes a variable, and one that makes the others; None: there is none."""
        mine = self._needed({x})
        others = self._needed({*self.stored, *self.into} - {x})
        if mine & others:
            return None, self
        own, rest = Section(self.shape), Section(self.shape)
        own.add(entry for entry in self.entries if entry.made in mine)
        rest.add(entry for entry in self.entries if entry.made in others)
        own.stored = [x]
        rest.stored, rest.into = [v for v in self.stored if v is not x], self.into
        return own, rest if others else None

    def _needed(self, wanted: set[Variable]) -> set[Variable]:
        """What has to be made to have some of what is made here."""
        found: set[Variable] = set()
        for entry in reversed(self.entries):
            if entry.made in wanted or entry.made in found:
                found.add(entry.made)
                found.update(_arrays(entry))
        return found.intersection(self.made)

    @property
    def made(self) -> list[Variable]:
        return [entry.made for entry in self.entries]

    @property
    def reads(self) -> list[Variable]:
        """The arrays that are read from memory, each once."""
        own = set(self.made)
        return list(dict.fromkeys(v for entry in self.entries for v in _arrays(entry) if v not in own))


class Launch:
    """Sections that don't depend on each other."""

    def __init__(self) -> None:
        self.sections: list[Section] = []

    @property
    def variables(self) -> list[Variable]:
        """What it asks for."""
        return [v for section in self.sections for v in section.reads]


class Reduction(NamedTuple):
    """A sum or a mean of what a section makes, and nobody else asks for."""

    section: Section
    equation: Equation

    @property
    def variables(self) -> list[Variable]:
        """What it asks for."""
        return self.section.reads


Unit = Launch | Reduction | Equation


class Groups(NamedTuple):
    """A program in units, one after the other; numbers are computed before. ``numbers`` are those that launches use."""

    units: list[Unit]
    arithmetic: list[Equation]
    numbers: list[Variable]


def grouped(program: Program, into: Mapping[int, int]) -> Groups:
    """The units of a program. What is written into inputs is written by the last of them."""
    arithmetic = [e for e in program.equations if e.results[0].is_number]
    known = [*program.inputs, *program.constants, *(v for e in program.equations for v in e.results)]
    numbers = itertools.count(1 + max((v.number for v in known), default=0))
    grouping = _Grouping(numbers)
    for equation in program.equations:
        if not equation.results[0].is_number:
            for part in _parts(equation, numbers):
                grouping.enter(part)
    grouping.finish(program, into)
    units = [unit for unit in grouping.units if not isinstance(unit, Launch) or unit.sections]
    sections = [s for unit in units if isinstance(unit, Launch) for s in unit.sections]
    sections += [unit.section for unit in units if isinstance(unit, Reduction)]
    entries = [entry for section in sections for entry in section.entries]
    asked = [v for entry in entries for v in entry.sources if type(v) is Variable and v.is_number]
    return Groups(units, arithmetic, list(dict.fromkeys(asked)))


def _parts(equation: Equation, numbers: Iterator[int]) -> list[Equation]:
    """The same in several equations, where some of them are elementwise: those that its program is made of."""
    name, inputs, (y, *_) = equation.primitive.name, equation.inputs, equation.results
    if name not in _SPLIT or y.dtype.char not in "fd":
        return [equation]
    if any(type(x) is not Variable or x.dtype != y.dtype for x in inputs):
        return [equation]

    def new(shape: tuple[int, ...]) -> Variable:
        return Variable(next(numbers), shape, y.dtype, y.device)

    def of(name: str, made: Variable, *given: Variable) -> Equation:
        return Equation(registry[name], given, dict(registry[name].keywords), (made,))

    if name == "affine":
        x, w, b = inputs
        product = new((*x.shape[:-1], w.shape[-2]))
        return [of("linear", product, x, w), of("add", y, product, b)]
    apart, square = new(inputs[0].shape), new(inputs[0].shape)
    return [of("subtract", apart, *inputs), of("square", square, apart), of("mean", y, square)]


def _arrays(entry: Entry) -> list[Variable]:
    return [v for v in entry.sources if type(v) is Variable and not v.is_number]


def entry_of(equation: Equation) -> Entry | None:
    """What an equation does for one element; None if it is no such equation, or there is no element."""
    arrays = [v for v in equation.variables if not v.is_number]
    if not arrays or not all(_is_plain(v) for v in (*arrays, *equation.results)):
        return None
    (y, *_), name = equation.results, equation.primitive.name
    if name == "clone" or (name == "overwrite" and _overwrites_all(equation)):
        return Entry(name, None, (equation.inputs[0 if name == "clone" else 1],), y)
    expression = expression_of(equation, CUDA)
    if expression is None:
        return None
    sources = [x if asked else None for x, asked in zip(equation.inputs, expression.asked, strict=True)]
    if np.broadcast_shapes(*(v.shape for v in arrays)) != y.shape:
        return None
    return Entry(name, expression, tuple(sources), y)


def _is_plain(v: Variable) -> bool:
    return isinstance(v.dtype, np.dtype) and v.dtype.kind in _KINDS and v.size > 0


def _overwrites_all(equation: Equation) -> bool:
    """Whether nothing is left of the old values."""
    x, new, at = equation.inputs
    steps = equation.keywords["steps"]
    whole = all(step.name == "index" and keywords.get("key") is Ellipsis for step, keywords, *_ in steps)
    return whole and at is None and type(new) is Variable and (x.shape, x.dtype) == (new.shape, new.dtype)


class _Grouping:
    """Units in the making, and where each variable is made."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self.units: list[Unit] = []
        self._numbers = numbers
        self._made: dict[Variable, tuple[int, Section | None]] = {}
        self._launches: list[int] = []

    def enter(self, equation: Equation) -> None:
        """Put an equation into a section, as early as it can be computed, or behind all units."""
        entry = entry_of(equation)
        if entry is not None:
            self.place(entry)
            return
        self.units.append(equation)
        for v in equation.results:
            self._made[v] = len(self.units) - 1, None

    def place(self, entry: Entry) -> None:
        """Find the section of an entry, or make one."""
        need = 0
        for v in _arrays(entry):
            at, section = self._made.get(v, (-1, None))
            own = section is not None and section.shape == entry.made.shape == v.shape
            need = max(need, at if own else at + 1)
        for at in self._launches:
            if at >= need and self._joined(at, entry):
                return
        self.units.append(Launch())
        self._launches.append(len(self.units) - 1)
        self._joined(len(self.units) - 1, entry)

    def _joined(self, at: int, entry: Entry) -> bool:
        """Whether there is room for an entry in a launch; then it is there."""
        launch = self.units[at]
        assert isinstance(launch, Launch)
        near = [section for section in launch.sections if section.shares(entry)]
        depends = any(self._made.get(v, (-1, None))[0] == at for v in _arrays(entry))
        lines = entry.weight + sum(section.weight for section in near)
        variables = 1 + len(entry.sources) + sum(section.variables for section in near)
        if near and (lines > MOST_LINES or variables > MOST_VARIABLES):
            if depends:
                return False
            near = []
        if not near:
            near = [Section(entry.made.shape)]
            launch.sections.append(near[0])
        home, *others = near
        for other in others:
            home.add(other.entries)
            launch.sections.remove(other)
            self._made.update((v, (at, home)) for v in other.made)
        home.add([entry])
        self._made[entry.made] = at, home
        return True

    # -- what comes out
    def finish(self, program: Program, into: Mapping[int, int]) -> None:
        """Bring what only the outputs ask for together at the end, say what is stored, and what is written where."""
        if into:
            self.units.append(Launch())
            self._launches.append(len(self.units) - 1)
        asked = self._asked()
        if self._launches:
            self._sink(asked)
        if into:
            self._write(program, into)
        outputs = set(program.outputs)
        asked = self._asked()
        for at in self._launches:
            for section in self._sections(at):
                made = [v for v in section.made if v not in section.into]
                section.stored = [v for v in made if v in outputs or asked.get(v)]
        for at, unit in enumerate(self.units):
            if isinstance(unit, Equation) and unit.primitive.name in _REDUCTIONS:
                self._end(at, unit, outputs, asked)

    def _end(self, at: int, equation: Equation, outputs: set[Variable], asked: Mapping[Variable, set[Any]]) -> None:
        """Let a reduction compute what it reduces, if nobody else asks for that, or for what it is made of."""
        x: Any = equation.inputs[0]
        launch, section = self._made.get(x, (-1, None))
        if section is None or x in outputs or asked[x] != {equation}:
            return
        (y,) = equation.results
        if x.dtype.char not in "fd" or y.dtype != x.dtype or x.size <= y.size:
            return
        own, rest = section.divided(x)
        if own is not None and np.broadcast_shapes(*(v.shape for v in own.reads)) == x.shape:
            sections = self._sections(launch)
            sections[:] = [other for other in sections if other is not section]
            sections += [] if rest is None else [rest]
            self._made.update((v, (launch, rest)) for v in ([] if rest is None else rest.made))
            self.units[at] = Reduction(own, equation)

    def _sections(self, at: int) -> list[Section]:
        launch = self.units[at]
        assert isinstance(launch, Launch)
        return launch.sections

    def _asked(self) -> dict[Variable, set[Any]]:
        """The sections and equations that ask for each variable."""
        found: dict[Variable, set[Any]] = {}
        for unit in self.units:
            if isinstance(unit, Launch):
                for section in unit.sections:
                    for v in section.reads:
                        found.setdefault(v, set()).add(section)
            else:
                for v in unit.variables:
                    found.setdefault(v, set()).add(unit)
        return found

    def _sink(self, asked: Mapping[Variable, set[Any]]) -> None:
        """Move sections that nothing else waits for, steps of optimisers above all, into the last launch."""
        last = self._launches[-1]
        target = self._sections(last)
        for at in reversed(self._launches[:-1]):
            sections = self._sections(at)
            for section in list(sections):
                if all(v not in asked for v in section.made):
                    sections.remove(section)
                    target.append(section)
                    self._made.update((v, (last, section)) for v in section.made)

    def _write(self, program: Program, into: Mapping[int, int]) -> None:
        """Let the last launch write into inputs: what it makes itself at once, other things as copies."""
        last = self._launches[-1]
        outputs = Counter(program.outputs)
        for k, i in into.items():
            v, target = program.outputs[k], program.inputs[i]
            if v is target:
                continue
            at, section = self._made.get(v, (-1, None))
            if at == last and section is not None and outputs[v] == 1:
                section.into[v] = target
                continue
            if not _is_plain(v):  # nothing to write
                continue
            copy = Variable(next(self._numbers), v.shape, v.dtype, v.device)
            if at == last:  # more than one wants it: it is computed, and copied by the same thread
                assert section is not None
            else:
                section = Section(v.shape)
                self._sections(last).append(section)
            section.add([Entry("write", None, (v,), copy)])
            section.into[copy] = target
            self._made[copy] = last, section
