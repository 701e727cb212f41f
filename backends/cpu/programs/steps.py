"""What all steps of a plan have in common: memory that they read and write, and a function in C."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from lucidgrad.backends.codegen.languages import PlainC

from .places import Buffer, Place

__all__ = ["LANGUAGE", "PART", "Step", "is_part", "pointer", "real", "stored"]


#: Elements of the parts of a large sum, and of loops that are divided like one.
PART = 1 << 14


def is_part(place: Place, rows: int) -> bool:
    """Whether row k of a place, along its first axes, is in the part k of its buffer, of as many parts as rows."""
    size = place.buffer.size // rows
    return size * rows == place.buffer.size and not place.offset and _ordered(place, rows, size)


def _ordered(place: Place, rows: int, size: int) -> bool:
    """Whether the first axes go through parts in order, and the others stay within one."""
    far, count, k = rows * size, 1, 0
    for n, step in zip(place.shape, place.steps, strict=True):
        if count == rows:
            break
        count, k = count * n, k + 1
        far //= n
        if n > 1 and step != far:
            return False
    reach = sum((n - 1) * step for n, step in zip(place.shape[k:], place.steps[k:], strict=True))
    low = sum(min(0, (n - 1) * step) for n, step in zip(place.shape[k:], place.steps[k:], strict=True))
    return count == rows and low == 0 and reach < size


class _WithIntegers(PlainC):
    """Integers as well, as far as C's operators compute with them; they wrap around."""

    _TAKEN = PlainC._TAKEN | set(map(np.dtype, ("int8", "int16", "int32", "int64")))


LANGUAGE = _WithIntegers()


def real(dtype: Any) -> str:
    """The type in C of a dtype."""
    return LANGUAGE.type(dtype)


def stored(dtype: Any) -> str:
    """The type in C of elements in memory."""
    return LANGUAGE.stored(dtype)


def pointer(buffer: Buffer, offset: int = 0) -> str:
    """The address of a buffer's element, in a step's function."""
    if buffer.kind == "local":  # of which there are the parts from `at` on
        base = f"(char *)local{buffer.number} - at * {buffer.index * buffer.dtype.itemsize}"
    elif buffer.kind == "arena":
        base = f"f->arena + {buffer.offset}"
    elif buffer.kind == "constant":
        base = f"f->constants[{buffer.index}]"
    else:
        base = f"f->{buffer.kind}[{buffer.index}]"
    text = f"({stored(buffer.dtype)} *)({base})"
    return f"({text} + {offset})" if offset else f"({text})"


class Step:
    """A function ``(frame, begin, end)``, which does some of the units of a step's work.

    ``units`` of work are done ``grain`` at a time; ``elements`` is how many elements they have in all, or how many
    would take as long.
    """

    units, grain, elements = 1, 1, 0
    #: Whether it may find that something is wrong with what is given: nothing of the caller's is written before.
    checks = False
    #: Whether products of matrices are among it.
    multiplies = False
    #: Kernels that are called, by name and the letter of a dtype.
    kernels: Sequence[tuple[str, str]] = ()

    def reads(self) -> Iterable[Buffer]:
        """What is read from memory."""
        return ()

    def writes(self) -> Iterable[Buffer]:
        """What is written, scratch memory included."""
        return ()

    def offers(self, source: Place, shape: tuple[int, ...]) -> bool:
        """Whether a loop that this is can give a value to another of its entries."""
        return False

    def keeps_index(self, index: int) -> bool:
        """Whether an element of an input is read only where the result at the same place is made of it."""
        return False

    def proposals(self) -> list[tuple[int, int]]:
        """Ways to divide the work so that others may be divided likewise: (parts, elements of each but the last)."""
        return []

    def accesses(self, parts: int, width: int) -> list[tuple[Buffer, bool, bool]] | None:
        """If the work can be divided like this: memory, whether it is written, and whether it is, too, part by part."""
        return None

    def divide(self, parts: int, width: int) -> None:
        """Let units of work be these parts."""

    def body(self) -> list[str]:
        """The lines of the function, in which ``f`` is the frame."""
        return []

    def helpers(self) -> Iterable[str]:
        """Functions in C that the body calls, written out."""
        return ()

    def call(self, name: str) -> list[str]:
        """How the whole is done: at once, or by several threads."""
        if self.units < 2 or self.elements < 65536:
            return [f"{name}(&f, 0, {self.units});"]
        return [f"f.parallel({name}, &f, {self.units}, {self.grain}, lg_share(&f, {self.elements}));"]
