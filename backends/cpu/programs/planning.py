"""From equations to steps in C: which loops there are, where arrays lie, and what of the arena each has for how long.

A step is a function in C. Elementwise equations of one shape share a loop where nothing that they ask for is made
later; what only they ask for stays in registers. Views are steps along axes and nothing else.
"""

import bisect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lucidgrad.levels.program import Program, Variable

from .fusing import Run, fused
from .loops import Entry, Loop, Source
from .places import Buffer, Immediate, Place, whole
from .steps import Step

__all__ = ["Planner"]

#: Lines of a loop; a compiler takes ever longer for larger ones.
MOST_LINES = 400
#: Bytes that parts of the arena begin at multiples of.
ALIGNED = 64


def _is_one_number(array: Any) -> bool:
    """Whether all elements have the same bits: -0.0 is another number than 0.0, NaN the same."""
    bits = np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}")
    return bool(bits[0] == bits[-1] and (bits == bits[0]).all())


class Planner:
    """The steps of a program, and the places of its variables.

    Programs inside of loops and choices have plans of their own (``inner``), with constants in common, and a
    ``prefix`` to the names of their steps.
    """

    def __init__(self, program: Program, constants: list[Any] | None = None, prefix: str = "step") -> None:
        self.program, self.prefix = program, prefix
        self.inner: list[Planner] = []
        self.steps: list[Step] = []
        self.where: dict[Variable, Place | Immediate] = {}
        self.buffers: list[Buffer] = []
        self.arrays = [v for v in program.inputs if not v.is_number]
        self.numbers = [v for v in program.inputs if v.is_number]
        self.constants: list[Any] = [] if constants is None else constants
        self.notes: dict[Any, Any] = {}  # what equations found out that others may ask for
        self.arena = 0  # bytes
        self.outputs: list[tuple[Buffer, tuple[int, ...]]] = []
        self._loops: dict[tuple[int, ...], list[int]] = {}  # places of loops among the steps, by shape
        for k, v in enumerate(self.arrays):
            self.where[v] = whole(self.buffer(v.dtype, v.size, "input", k), v.shape)
        for v, array in program.constants.items():
            self.where[v] = self._constant(array)

    def all(self) -> "list[Planner]":
        """This plan, and those inside."""
        return [self, *(part for own in self.inner for part in own.all())]

    def buffer(self, dtype: Any, size: int, kind: str = "arena", index: int = 0) -> Buffer:
        """A new piece of memory."""
        made = Buffer(len(self.buffers), dtype, size, kind, index)
        self.buffers.append(made)
        return made

    def _constant(self, array: Any) -> Place | Immediate:
        if array.size and array.dtype.kind in "fbiu" and _is_one_number(array):
            return Immediate(array.reshape(-1)[0], array.shape)
        return self.table(np.array(array, order="C"))

    def table(self, array: Any) -> Place:
        """The place of values that are the same in every run."""
        self.constants.append(np.ascontiguousarray(array))
        return whole(self.buffer(array.dtype, array.size, "constant", len(self.constants) - 1), array.shape)

    # -- what steps ask for
    def value(self, x: Any) -> Any:
        """What an input of an equation is: a place, a number that is known, or a variable of a number."""
        return self.where[x] if type(x) is Variable and not x.is_number else x

    def place(self, x: Any) -> Place:
        """The place of a variable in memory."""
        found = self.value(x)
        if type(found) is Immediate:
            found = self.where[x] = self.table(np.full(found.shape, found.value))
        return found

    def contiguous(self, place: Place) -> Place:
        """The same values without gaps."""
        return place if place.contiguous else self.copied(place, place.shape)

    def result(self, variable: Variable) -> Place:
        """A place of its own for a variable."""
        made = self.where[variable] = whole(self.buffer(variable.dtype, variable.size), variable.shape)
        return made

    # -- steps
    def append(self, step: Step) -> int:
        """Enter a step behind all others."""
        self.steps.append(step)
        for buffer in step.writes():
            buffer.made = len(self.steps) - 1
        return len(self.steps) - 1

    def copied(self, source: Source, shape: tuple[int, ...]) -> Place:
        """Values in memory of their own, without gaps."""
        dtype = source.dtype
        size = 1
        for n in shape:
            size *= n
        target = whole(self.buffer(dtype, size), shape)
        self.entry(Entry(None, [source], target))
        return target

    def entry(self, entry: Entry, after: int = -1) -> int:
        """Put something that is done for each element into a loop, behind the step ``after``; which one it is."""
        target = entry.target
        if not target.size:
            return -1
        need = after + 1
        for source in entry.sources:
            if isinstance(source, Place) and source.size:
                at = source.buffer.made
                own = at >= 0 and self.steps[at].offers(source, target.shape)
                need = max(need, at if own else at + 1)
        known = self._loops.setdefault(target.shape, [])
        for at in known[bisect.bisect_left(known, need) :]:
            loop = self.steps[at]
            assert isinstance(loop, Loop)
            if loop.weight + entry.weight <= MOST_LINES:
                break
        else:
            at, loop = len(self.steps), Loop(target.shape)
            self.steps.append(loop)
            known.append(at)
        loop.add(entry)
        target.buffer.made = max(target.buffer.made, at)
        return at

    # -- what comes out
    def finish(self, outputs: Sequence[Variable], into: Mapping[int, int]) -> None:
        """Decide where outputs are written, and what of the arena each buffer has."""
        taken: set[int] = set()
        writes: list[tuple[Place, int]] = []
        for k, v in enumerate(outputs):
            place = self.value(v)
            own = type(place) is Place and place.is_whole() and place.buffer.kind == "arena"
            if not own or place.buffer.number in taken or not place.size:
                place = self.copied(place, v.shape)
            taken.add(place.buffer.number)
            place.buffer.stored = True
            if k in into:
                writes.append((place, into[k]))
            else:
                place.buffer.kind, place.buffer.index = "output", len(self.outputs)
                self.outputs.append((place.buffer, v.shape))
        self._into(writes)
        self._forget_unasked()
        self.steps = fused(self.steps)
        self._lifetimes()

    def _forget_unasked(self) -> None:
        """Leave out steps whose results nobody reads; what others write has memory, but for registers of loops."""
        asked: set[int] = set()
        kept: list[Step] = []
        for step in reversed(self.steps):
            own = list(step.writes())
            alone = not step.checks and all(b.kind == "arena" and b.number not in asked for b in own)
            if isinstance(step, Loop) or not alone:
                kept.append(step)
                asked.update(b.number for b in step.reads())
                for buffer in () if isinstance(step, Loop) else own:
                    buffer.stored = True
        self.steps = kept[::-1]

    def _into(self, writes: list[tuple[Place, int]]) -> None:
        """Write into inputs: at once where nothing asks for their old values later."""
        readers: dict[int, list[int]] = {}
        for at, step in enumerate(self.steps):
            for buffer in step.reads():
                if buffer.kind == "input":
                    readers.setdefault(buffer.index, []).append(at)
        late = []
        checked = max((at for at, step in enumerate(self.steps) if step.checks), default=-1)
        for place, i in writes:
            made, asked = place.buffer.made, readers.get(i, [])
            if (
                place.size
                and made > checked
                and all(at < made or (at == made and self.steps[at].keeps_index(i)) for at in asked)
            ):
                place.buffer.kind, place.buffer.index = "input", i
            else:
                late.append((place, i))
        last = len(self.steps) - 1
        for place, i in late:
            target = whole(self.buffer(place.dtype, place.buffer.size, "input", i), place.shape)
            self.entry(Entry(None, [place], target), after=last)

    def _lifetimes(self) -> None:
        """Parts of the arena for as long as they are needed."""
        for step in self.steps:
            for buffer in step.reads():
                buffer.stored = True
        for at, step in enumerate(self.steps):
            for buffer in step.writes():
                if buffer.stored:
                    buffer.first = at if buffer.first < 0 else buffer.first
                    buffer.last = max(at, buffer.last)
            for buffer in step.reads():
                buffer.last = max(at, buffer.last)
        for at, step in enumerate(self.steps):
            if isinstance(step, Run):
                made = {
                    b.number: b for b in step.writes() if b.kind == "arena" and b.first == at == b.last and b.stored
                }
                step.keep(made.values())
        active: list[Buffer] = []  # by offset
        for buffer in sorted((b for b in self.buffers if b.kind == "arena" and b.first >= 0), key=lambda b: b.first):
            active = [b for b in active if b.last >= buffer.first]
            at, place = 0, 0
            for place, other in enumerate(active):  # noqa: B007
                if other.offset - at >= buffer.bytes:
                    break
                at = -(-(other.offset + other.bytes) // ALIGNED) * ALIGNED
            else:
                place = len(active)
            buffer.offset = at
            active.insert(place, buffer)
            self.arena = max(self.arena, at + buffer.bytes)
