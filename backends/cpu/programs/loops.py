"""Elementwise equations as loops: several of one shape in one loop, their values in registers between them."""

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from lucidgrad.backends.codegen.equations import Expression, collapsed, expression_of
from lucidgrad.backends.codegen.loops import LEAP
from lucidgrad.backends.cpu.compiled.toolchain import STREAMED
from lucidgrad.levels.program import Equation

from .places import Buffer, Immediate, Place
from .steps import LANGUAGE, PART, Step, is_part, pointer, real, stored

__all__ = ["Entry", "Expression", "Loop", "Number", "Source", "collapsed", "nested", "traced"]

#: Elements that are computed together where a loop has no outer axis, and how many a thread takes at a time.
BLOCK, PORTION = 4096, 32768
#: Elements from which a loop over one axis asks memory early.
FAR = 1 << 18


class Number:
    """A number that is given to the program, by its place among these."""

    def __init__(self, index: int, kind: type) -> None:
        self.index = index
        self.word = f"((long long)n{index})" if kind is int else f"n{index}"


Source = Any  # Place, Immediate, Number, or None where an expression does not ask


class Entry:
    """What is done for each element: an expression of sources (None: the only source as it is), and where it goes."""

    __slots__ = ("expression", "sources", "target")

    def __init__(self, expression: Expression | None, sources: Sequence[Source], target: Place) -> None:
        self.expression, self.sources, self.target = expression, list(sources), target

    @property
    def weight(self) -> int:
        """How much a compiler has to do for it."""
        return 1 if self.expression is None else 1 + len(self.expression.lines)


def traced(equation: Equation) -> Expression | None:
    """The expression of an elementwise equation; None if C can't compute it."""
    return expression_of(equation, LANGUAGE)


class Loop(Step):
    """A loop over a shape, with all that is done for each element."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.entries: list[Entry] = []
        self._offered: dict[int, Entry] = {}  # by the number of a buffer that an entry fills wholly
        self.weight = 0
        self._parts: tuple[int, int] | None = None
        self.elements = functools.reduce(lambda a, b: a * b, shape, 1)

    def add(self, entry: Entry) -> None:
        """One more thing to do, behind those that are there."""
        self.entries.append(entry)
        self.weight += entry.weight
        if entry.target.is_whole() and entry.target.buffer.kind == "arena":
            self._offered[entry.target.buffer.number] = entry

    def offers(self, source: Place, shape: tuple[int, ...]) -> bool:
        return source.buffer.number in self._offered and self._same(source) and shape == self.shape

    def _same(self, source: Place) -> bool:
        return source.is_whole() and source.shape == self.shape

    def _read(self) -> list[Place]:
        """What is read from memory, as this loop's shape sees it; every one once."""
        found: dict[Any, Place] = {}
        for entry in self.entries:
            for source in entry.sources:
                if isinstance(source, Place) and not self.offers(source, self.shape):
                    seen = source.broadcast(self.shape)
                    found.setdefault(_key(seen), seen)
        return list(found.values())

    def reads(self) -> Iterable[Buffer]:
        return [place.buffer for place in self._read()]

    def writes(self) -> Iterable[Buffer]:
        return [entry.target.buffer for entry in self.entries]

    def keeps_index(self, index: int) -> bool:
        own = [p for p in self._read() if p.buffer.kind == "input" and p.buffer.index == index]
        return all(self._same(p) for p in own)

    # -- division
    def proposals(self) -> list[tuple[int, int]]:
        return [(-(-self.elements // PART), PART)]

    def accesses(self, parts: int, width: int) -> list[tuple[Buffer, bool, bool]] | None:
        targets = [entry.target for entry in self.entries]
        found = [(p, False) for p in self._read()] + [(p, True) for p in targets]
        width = 1 if self.elements == parts else width  # what rows come to
        if (parts - 1) * width >= self.elements or parts * width < self.elements:
            return None
        if self._axes(parts, [p for p, _ in found]) is None:  # then in stretches, if that is all that there is
            if len(collapsed(self.shape, [p.steps for p, _ in found])[0]) > 1:
                return None
            return [(p.buffer, written, p.is_whole() and p.shape == self.shape) for p, written in found]
        if parts * width != self.elements:
            return None
        return [(p.buffer, written, is_part(p, parts)) for p, written in found]

    def _axes(self, parts: int, places: Sequence[Place]) -> int | None:
        """How many first axes make up the parts, if they can be one loop."""
        count = 1
        for k, n in enumerate((*self.shape, 1)):
            if count == parts:
                joined, _ = collapsed(self.shape[:k], [p.steps[:k] for p in places])
                return k if len(joined) <= 1 else None
            count *= n
        return None

    def divide(self, parts: int, width: int) -> None:
        self._parts = parts, 1 if self.elements == parts else width

    # -- printing
    def body(self) -> list[str]:
        read = self._read()
        kept = [e.target for e in self.entries if e.target.buffer.stored]
        shape, steps = self._collapsed([*read, *kept])
        varied, targets = steps[: len(read)], steps[len(read) :]
        lines = [f"const {stored(p.dtype)} *const p{k} = {pointer(p.buffer, p.offset)};" for k, p in enumerate(read)]
        lines += [f"{stored(p.dtype)} *const q{k} = {pointer(p.buffer, p.offset)};" for k, p in enumerate(kept)]
        names = {_key(p): f"x{k}" for k, p in enumerate(read)}
        loads: list[tuple[int, str]] = []  # the innermost axis that moves a load, and its text
        for k, (p, own) in enumerate(zip(read, varied, strict=True)):
            depth = max((a for a, s in enumerate(own) if s), default=-1)
            loads.append((depth, f"const {real(p.dtype)} x{k} = p{k}[{_index(own)}];"))
        past = self._past(kept, len(shape))
        inner = self._element(names, targets, past)
        given = {source.index for e in self.entries for source in e.sources if isinstance(source, Number)}
        loads += [(-1, f"const double n{k} = f->numbers[{k}];") for k in sorted(given)]
        self._divide(shape)
        block = BLOCK if self._parts is None else self._parts[1]
        if len(shape) == 1 and self._parts is None and self.elements >= FAR:
            even = [f"lg_early(p{k} + from, some * sizeof *p{k}, 0);" for k, own in enumerate(varied) if own == [1]]
            even += [
                f"lg_early(q{k} + from, some * sizeof *q{k}, 1);"
                for k, own in enumerate(targets)
                if own == [1] and k not in past
            ]
            return [*lines, *_leaps(shape[0], loads, inner, even, {k: stored(kept[k].dtype) for k in past})]
        return [*lines, *nested(shape, loads, inner, block)]

    def _past(self, kept: Sequence[Place], axes: int) -> list[int]:
        """Which targets are stored past the caches: large results of the program, where there is but one axis."""
        if axes != 1 or self._parts is not None:
            return []
        large = [
            p.buffer.kind == "output" and p.is_whole() and self.elements * p.dtype.itemsize >= STREAMED for p in kept
        ]
        return [k for k, found in enumerate(large) if found]

    def _collapsed(self, places: Sequence[Place]) -> tuple[list[int], list[list[int]]]:
        """The axes of the loop, the first of which are parts where it is divided into such."""
        k = None if self._parts is None else self._axes(self._parts[0], places)
        if not k or self._parts is None or self._parts[0] * self._parts[1] != self.elements or self._parts[1] == 1:
            return collapsed(self.shape, [p.steps for p in places])
        first, outer = collapsed(self.shape[:k], [p.steps[:k] for p in places])
        rest, inner = collapsed(self.shape[k:], [p.steps[k:] for p in places])
        return first + rest, [a + b for a, b in zip(outer, inner, strict=True)]

    def _divide(self, shape: Sequence[int]) -> None:
        if self._parts is not None:
            self.units = self._parts[0]
        elif len(shape) == 1:
            self.units, self.grain = -(-shape[0] // BLOCK), PORTION // BLOCK
        elif shape:
            self.units, self.grain = shape[0], PORTION // (self.elements // shape[0] or 1) + 1

    def _element(self, names: dict[Any, str], targets: Sequence[Sequence[int]], past: Sequence[int]) -> list[str]:
        """What is done for one element; what goes past the caches is put beside first."""
        lines: list[str] = []
        words: dict[int, str] = {}
        at = 0
        for k, entry in enumerate(self.entries):
            given = [self._word(source, names, words) for source in entry.sources]
            target = entry.target
            expression = entry.expression
            if expression is None:
                made = given[0]
            else:
                text = [line.format(*given) for line in expression.lines]
                made = expression.result.format(*given)
                lines += [f"{real(target.dtype)} v{k};", "{", *text, f"v{k} = {made};", "}"]
                made = f"v{k}"
            if target.buffer.number in self._offered:
                words[target.buffer.number] = made
            if target.buffer.stored:
                lines.append(f"b{at}[j] = {made};" if at in past else f"q{at}[{_index(targets[at])}] = {made};")
                at += 1
        return lines

    def _word(self, source: Source, names: dict[Any, str], words: dict[int, str]) -> str:
        if isinstance(source, Place):
            if self.offers(source, self.shape) and source.buffer.number in words:
                return words[source.buffer.number]
            return names[_key(source.broadcast(self.shape))]
        if isinstance(source, Immediate):
            return LANGUAGE.constant(source.value.item(), source.dtype)
        return source.word if isinstance(source, Number) else ""


def _key(place: Place) -> Any:
    return place.buffer.number, place.offset, place.steps


def _index(steps: Sequence[int]) -> str:
    return " + ".join(f"i{a}" if s == 1 else f"i{a} * {s}" for a, s in enumerate(steps) if s) or "0"


def nested(shape: Sequence[int], loads: Sequence[tuple[int, str]], inner: Sequence[str], block: int) -> list[str]:
    """Loops over a shape, the first of which does the units from begin to end; loads stand as far out as they can."""
    lines = [text for depth, text in loads if depth < 0]
    if not shape:
        return ["(void)begin, (void)end;", *lines, *inner]
    for a, n in enumerate(shape):
        last = a == len(shape) - 1
        if last:
            lines.append("#pragma omp simd")
        if a:
            lines.append(f"for (long i{a} = 0; i{a} < {n}; i{a}++) {{")
        elif last:
            bound = f"end * {block} < {n} ? end * {block} : {n}"
            lines.insert(-1, f"const long stop = {bound};")
            lines.append(f"for (long i0 = begin * {block}; i0 < stop; i0++) {{")
        else:
            lines.append("for (long i0 = begin; i0 < end; i0++) {")
        lines += [text for depth, text in loads if depth == a]
    return [*lines, *inner, *["}"] * len(shape)]


def _leaps(
    n: int, loads: Sequence[tuple[int, str]], inner: Sequence[str], early: Sequence[str], past: dict[int, str]
) -> list[str]:
    """A loop over one long axis, some elements at a time, before which memory is asked for what comes later.

    ``past`` are the types of targets by their numbers: these are computed beside, then stored past the caches.
    """
    lines = [text for depth, text in loads if depth < 0]
    lines += [f"{kind} b{k}[{LEAP}] __attribute__((aligned(64)));" for k, kind in past.items()]
    lines += [f"const long stop = end * {BLOCK} < {n} ? end * {BLOCK} : {n};"]
    lines += [f"for (long from = begin * {BLOCK}; from < stop; from += {LEAP}) {{"]
    lines += [f"const long some = stop - from < {LEAP} ? stop - from : {LEAP};"]
    lines += [*early, "#pragma omp simd", "for (long j = 0; j < some; j++) {", "const long i0 = from + j;"]
    lines += [*(text for depth, text in loads if depth == 0), *inner, "}"]
    lines += [f"lg_stream(q{k} + from, b{k}, some * sizeof *b{k});" for k in past]
    return [*lines, "}", *(["STREAMED_ALL();"] if past else [])]
