"""Calls that can be made again: an operation with its inputs, whose results need not stay in memory."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.dispatch import compute
from lucidgrad.core.primitive import Primitive
from lucidgrad.core.tape import Node, Output, last_write, storage, written


class Replay:
    """One operation: how to compute its results again, and the results if they are held."""

    __slots__ = (
        "__weakref__",
        "base",
        "bytes",
        "held",
        "inputs",
        "keywords",
        "metas",
        "number",
        "place",
        "position",
        "primitive",
        "refs",
        "wanted",
        "when",
    )  # fmt: skip

    primitive: Primitive
    inputs: tuple[Any, ...]  # a `Source` for what can be computed again, else the array or number itself
    keywords: dict[str, Any]
    metas: tuple[Any, ...]  # shape and dtype of each result
    refs: tuple[Any, ...]  # weak references to the results: they may live on elsewhere
    held: tuple[Any, ...] | None
    base: Any  # the input whose memory the results share, if they are views
    bytes: int
    position: int  # the bytes of all results before this one
    number: int
    when: int
    place: Any
    wanted: bool

    def now(self) -> tuple[Any, ...] | None:
        """The results, if they are in memory and nobody wrote into them."""
        found = self.held if self.held is not None else tuple(ref() for ref in self.refs)
        if any(a is None for a in found) or self.changed(found):
            return None
        return found

    def changed(self, arrays: Iterable[Any]) -> bool:
        """Whether one of these arrays was written in place after the call."""
        if last_write.when < self.when:
            return False
        marks = [written.get(id(storage(a))) for a in arrays if type(a) in device.by_array]
        return any(mark is not None and mark.when > self.when for mark in marks)

    def sources(self) -> Iterator["Source"]:
        """The inputs that other calls made."""
        return (x for x in self.inputs if type(x) is Source)

    def root(self) -> "Replay | None":
        """The call that made the memory of the results; None if it is that of a constant."""
        call = self
        while call.base is not None:
            if type(call.base) is not Source:
                return None
            call = call.base.call
        return call

    def run(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Compute the results again."""
        if last_write.when > self.when and self.changed(self.inputs):
            raise RuntimeError(
                f"memory_budget: {self.primitive.name} has to be computed again, but an input of it was modified by an "
                f"in-place operation since; clone it before, or do this part outside of memory_budget"
            )
        y = compute(self.primitive, arrays, self.keywords)
        made = tuple(y) if self.primitive.outputs else (y,)
        if tuple(map(shape_and_dtype, made)) != self.metas:
            raise RuntimeError(
                f"memory_budget: {self.primitive.name}, computed again, gave {[*map(shape_and_dtype, made)]}; "
                f"the first time it gave {[*self.metas]}; was the default dtype changed?"
            )
        return made


class Source:
    """One result of a call: stands for an array that may be dropped."""

    __slots__ = ("call", "index")

    def __init__(self, call: Replay, index: int) -> None:
        self.call, self.index = call, index


def shape_and_dtype(array: Any) -> tuple[Any, Any]:
    """What a result must have when it is computed again."""
    return tuple(array.shape), array.dtype


def bytes_of(array: Any) -> int:
    """The memory that an array takes."""
    size = getattr(array, "nbytes", None)
    return int(array.size) * 8 if size is None else int(size)


def is_firm(array: Any, parent: Any) -> bool:
    """Whether a constant input will likely be there unchanged: not if it is the result of an in-place operation."""
    return type(array) not in device.by_array or not isinstance(parent, (Node, Output)) or not is_written(array)


def is_written(array: Any) -> bool:
    """Whether the memory of an array was ever written in place."""
    return id(storage(array)) in written


def is_in(array: Any, memory: Any) -> bool:
    """Whether a value is an array in this memory."""
    return type(array) in device.by_array and storage(array) is memory
