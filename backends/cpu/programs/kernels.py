"""Steps that call the hand-written kernels of `compiled`, and steps whose lines in C are written out."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lucidgrad.backends.cpu.compiled import attention, panels, pools, puts, recurrence, rows, windows

from .places import Buffer, Place
from .steps import Step, is_part, pointer, stored

__all__ = ["Kernel", "Written", "address", "call", "direct", "word"]

_LIBRARIES = {
    "rows": rows._LIBRARY,
    "norms": rows._NORMS,
    "windows": windows._LIBRARY,
    "pools": pools._LIBRARY,
    "puts": puts._LIBRARY,
    "attention": attention._LIBRARY,
    "recurrence": recurrence._LIBRARY,
    "panels": panels._LIBRARY,
}


def address(name: str, char: str) -> int | None:
    """The address of a kernel, named like ``rows.softmax``."""
    library, function = name.split(".")
    return _LIBRARIES[library].get(function, np.dtype(char))


def word(name: str, char: str) -> str:
    """What a kernel is called in the frame."""
    return f"{name.replace('.', '_')}_{char}"


def _task(fields: Sequence[Any]) -> str:
    """A struct of addresses, integers and doubles: places, numbers, None, or words of C for an address.

    A word of C for something else has its type beside it: ``("long", "t + 1")``.
    """
    types, values = [], []
    for k, field in enumerate(fields):
        if isinstance(field, tuple):
            types.append(f"{field[0]} a{k};")
            values.append(field[1])
            continue
        kind = "double" if isinstance(field, float) else "long" if isinstance(field, int) else "const void *"
        types.append(f"{kind} a{k};")
        if isinstance(field, Place):
            values.append(pointer(field.buffer, field.offset))
        elif isinstance(field, str):
            values.append(field)
        else:
            values.append("0" if field is None else f"{field!r}" if isinstance(field, float) else str(int(field)))
    return f"struct {{ {' '.join(types)} }} given = {{ {', '.join(values)} }};"


#: What stands among a kernel's fields for the address of a note that something is wrong.
WRONG = "&f->wrong"


class Kernel(Step):
    """A call of a kernel: a struct of addresses, integers and doubles, and a number of units."""

    def __init__(
        self,
        name: str,
        fields: Sequence[Any],
        made: Sequence[Place],
        units: int,
        elements: int,
        width: int | None = None,
        clear: bool = False,
        shared: Sequence[Place | None] = (),
        calls: Sequence[tuple[str, str]] = (),
    ) -> None:
        """``fields``: see `_task`, `WRONG` among them where a kernel may find that something is.

        ``width``: of rows, where units are such; ``shared``: what every row asks for, all of it; ``clear``: the last
        result is zero before; ``calls``: other kernels that this one calls.
        """
        self.fields, self.made, self.elements, self.clear = fields, list(made), elements, clear
        self._shared = {p.buffer.number for p in shared if p is not None}
        self.kernels = [(name, made[0].dtype.char), *calls]
        self.units, self.width, self.checks = units, width, WRONG in fields
        self.grain = max(1, min(-(-units // 8), 32768 * units // max(elements, 1)))

    def reads(self) -> Iterable[Buffer]:
        own = {p.buffer.number for p in self.made}
        return [p.buffer for p in self.fields if isinstance(p, Place) and p.buffer.number not in own]

    def writes(self) -> Iterable[Buffer]:
        return [p.buffer for p in self.made]

    def proposals(self) -> list[tuple[int, int]]:
        return [] if self.width is None else [(self.units, self.width)]

    def accesses(self, parts: int, width: int) -> list[tuple[Buffer, bool, bool]] | None:
        if (parts, width) not in self.proposals():
            return None
        own = {p.buffer.number for p in self.made}
        given = [p for p in self.fields if isinstance(p, Place)]
        return [
            (p.buffer, p.buffer.number in own, p.buffer.number not in self._shared and is_part(p, parts)) for p in given
        ]

    def body(self) -> list[str]:
        return [_task(self.fields), f"f->kernels.{word(*self.kernels[0])}(&given, begin, end);"]

    def call(self, name: str) -> list[str]:
        return [*(_cleared(self.made[-1]) if self.clear else []), *super().call(name)]


def _cleared(place: Place) -> list[str]:
    """Zeros in all of a place's memory, written in the main function."""
    at = pointer(place.buffer).replace("f->", "f.")
    return [f"__builtin_memset({at}, 0, {place.buffer.bytes});"]


class Written(Step):
    """Lines of C, in which arrays have names.

    Parameters
    ----------
    given, made
        Places that are read, and such that are written, scratch memory among them, by their names in C.
    lines
        What is done for the units from ``begin`` to ``end``, or if there is but one, at once.
    units, elements
        As of every step.
    kernels
        The kernels that are called, with the letters of their dtypes.
    clear
        Which of what is made is zero before.
    """

    def __init__(
        self,
        given: Mapping[str, Place],
        made: Mapping[str, Place],
        lines: Sequence[str],
        *,
        units: int = 1,
        elements: int = 0,
        kernels: Sequence[tuple[str, str]] = (),
        checks: bool = False,
        clear: str = "",
    ) -> None:
        self.given, self.made, self.lines, self.kernels, self.clear = given, made, lines, list(kernels), clear
        self.units, self.elements, self.checks = units, elements, checks
        self.grain = max(1, min(-(-units // 8), 32768 * units // max(elements, 1)))

    def reads(self) -> Iterable[Buffer]:
        return [p.buffer for p in self.given.values()]

    def writes(self) -> Iterable[Buffer]:
        return [p.buffer for p in self.made.values()]

    def body(self) -> list[str]:
        lines = ["(void)begin, (void)end;"]
        for places, sort in ((self.given, "const "), (self.made, "")):
            lines += [f"{sort}{stored(p.dtype)} *const {w} = {pointer(p.buffer, p.offset)};" for w, p in places.items()]
        return [*lines, *self.lines]

    def call(self, name: str) -> list[str]:
        return [*(_cleared(self.made[self.clear]) if self.clear else []), *super().call(name)]


def direct(kernel: tuple[str, str], fields: Sequence[Any], begin: str, end: str) -> str:
    """A call of a kernel for some units, by the thread that is there."""
    return f"{{ {_task(fields)} f->kernels.{word(*kernel)}(&given, {begin}, {end}); }}"


def call(kernel: tuple[str, str], fields: Sequence[Any], units: str, elements: str) -> str:
    """A call of a kernel from within a step that is not divided: its units are shared among threads."""
    shared = f"const int threads = lg_share(f, {elements});"
    grain = f"threads > 1 ? ({units} + 4 * threads - 1) / (4 * threads) : {units}"
    run = f"f->parallel((lg_body)f->kernels.{word(*kernel)}, &given, {units}, {grain}, threads);"
    return f"{{ {_task(fields)} {shared} {run} }}"
