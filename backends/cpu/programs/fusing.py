"""Large steps that follow one another, done for some rows at a time, so that what one makes is near for the next.

Steps go together if the work of each can be divided into the same parts, and part k of one needs of what others in the
run make, or write over, no more than their part k.
"""

from collections.abc import Iterable, Sequence

from .places import Buffer
from .steps import Step, stored

__all__ = ["Run", "fused"]

#: Elements of a step from which it pays, and how many are done at a time.
WORTH, TOGETHER = 1 << 16, 1 << 12
#: Bytes that values of a run may have on the stack.
LOCAL = 1 << 17
#: Steps that are looked at together.
MOST = 16


class Run(Step):
    """Several steps, part by part."""

    def __init__(self, steps: Sequence[Step], parts: int, width: int) -> None:
        self.steps, self.units, self.width = steps, parts, width
        self.checks = any(step.checks for step in steps)
        self.multiplies = any(step.multiplies for step in steps)
        self.local: list[Buffer] = []
        self.together = max(1, TOGETHER // width)
        self.grain = self.together * max(1, 32768 // (self.together * width))
        self.elements = parts * width * len(steps)
        for step in steps:
            step.divide(parts, width)

    def reads(self) -> Iterable[Buffer]:
        return [buffer for step in self.steps for buffer in step.reads()]

    def writes(self) -> Iterable[Buffer]:
        return [buffer for step in self.steps for buffer in step.writes()]

    def helpers(self) -> Iterable[str]:
        return [text for step in self.steps for text in step.helpers()]

    def keep(self, buffers: Iterable[Buffer]) -> None:
        """Have what nobody else asks for on the stack, only the parts that are worked at."""
        left = LOCAL
        for buffer in buffers:
            whole = (self.units - 1) * self.width < buffer.size <= self.units * self.width
            part = self.width if whole else buffer.size // self.units
            left -= part * self.together * buffer.dtype.itemsize
            if left < 0:
                return
            buffer.kind, buffer.index = "local", part
            self.local.append(buffer)

    def body(self) -> list[str]:
        local = [
            f"{stored(b.dtype)} local{b.number}[{b.index * self.together}] __attribute__((aligned(64)));"
            for b in self.local
        ]
        lines = [*local, f"for (long at = begin; at < end; at += {self.together}) {{"]
        lines.append(f"const long to = end - at < {self.together} ? end : at + {self.together};")
        for step in self.steps:
            lines += ["{", "const long begin = at, end = to;", *step.body(), "}"]
        return [*lines, "}"]


def fused(steps: Sequence[Step]) -> list[Step]:
    """The same steps, some of them together."""
    made: list[Step] = []
    at = 0
    while at < len(steps):
        best, way = 1, (0, 0)
        if steps[at].elements >= WORTH:
            ways = dict.fromkeys(way for step in steps[at : at + MOST] for way in step.proposals())
            for parts, width in ways:
                length = _longest(steps[at : at + MOST], parts, width)
                if length > best:
                    best, way = length, (parts, width)
        made.append(steps[at] if best == 1 else Run(steps[at : at + best], *way))
        at += best
    return made


def _key(buffer: Buffer) -> tuple[str, int]:
    """What tells pieces of memory apart: an input may be known under several numbers."""
    return (buffer.kind, buffer.index) if buffer.kind == "input" else ("", buffer.number)


def _longest(steps: Sequence[Step], parts: int, width: int) -> int:
    """How many steps from the first on can be done part by part."""
    if parts < 2:
        return 0
    written: set[tuple[str, int]] = set()
    apart: set[tuple[str, int]] = set()  # what is touched in another way
    for k, step in enumerate(steps):
        found = step.accesses(parts, width)
        if found is None or (k and step.checks):  # lest something is written before
            return k
        for buffer, writes, own in found:
            if writes:
                written.add(_key(buffer))
            if not own:
                apart.add(_key(buffer))
        if written & apart:
            return k
    return len(steps)
