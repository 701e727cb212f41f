"""Where the values of a program's variables are: in a buffer, with steps along the axes, or written out as a number."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["Buffer", "Immediate", "Place", "steps_of", "whole"]


def steps_of(shape: Sequence[int]) -> tuple[int, ...]:
    """The steps of an array without gaps, in elements."""
    steps, step = [], 1
    for n in reversed(shape):
        steps.append(step)
        step *= n
    return tuple(reversed(steps))


class Buffer:
    """A piece of memory: an input's, an output's, a constant's, or a part of the arena.

    ``made`` is the last step that writes it, -1 if it is there from the start; ``stored``: it must be in memory.
    """

    __slots__ = ("_model", "dtype", "first", "index", "kind", "last", "made", "number", "offset", "size", "stored")

    def __init__(self, number: int, dtype: Any, size: int, kind: str = "arena", index: int = 0) -> None:
        self.number, self.dtype, self.size, self.kind, self.index = number, dtype, size, kind, index
        self.made, self.first, self.last, self.offset, self.stored = -1, -1, -1, 0, kind != "arena"
        self._model: Any = None

    @property
    def model(self) -> Any:
        """Memory of the same size that nobody touches: what a view of it is, NumPy says."""
        if self._model is None:
            self._model = np.empty(self.size, self.dtype)
        return self._model

    @property
    def bytes(self) -> int:
        return self.size * self.dtype.itemsize


class Place:
    """An array in a buffer: steps and offset are in elements."""

    __slots__ = ("buffer", "offset", "shape", "steps")

    def __init__(self, buffer: Buffer, shape: tuple[int, ...], steps: tuple[int, ...], offset: int = 0) -> None:
        self.buffer, self.shape, self.steps, self.offset = buffer, shape, steps, offset

    @property
    def dtype(self) -> Any:
        return self.buffer.dtype

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def contiguous(self) -> bool:
        """Whether elements follow one another; steps along axes of one element mean nothing."""
        own = steps_of(self.shape)
        return all(n == 1 or a == b for n, a, b in zip(self.shape, self.steps, own, strict=True))

    def is_whole(self) -> bool:
        """Whether this is all of the buffer, in its order."""
        return self.offset == 0 and self.size == self.buffer.size and self.contiguous

    def broadcast(self, shape: tuple[int, ...]) -> "Place":
        """The same values, repeated to a shape."""
        missing = len(shape) - len(self.shape)
        own = [0 if n == 1 else step for n, step in zip(self.shape, self.steps, strict=True)]
        return Place(self.buffer, shape, (*(0,) * missing, *own), self.offset)

    def reshaped(self, shape: tuple[int, ...]) -> "Place | None":
        """The same elements in another shape, if steps can say that."""
        return self.seen(self.modelled().reshape(shape))

    def modelled(self) -> Any:
        """A NumPy array whose memory nobody touches, laid out like this."""
        width = self.dtype.itemsize
        return np.ndarray(
            self.shape, self.dtype, self.buffer.model, self.offset * width, [s * width for s in self.steps]
        )

    def seen(self, view: Any) -> "Place | None":
        """The place of a view of the model; None if it is a copy."""
        model, width = self.buffer.model, self.dtype.itemsize
        apart = view.__array_interface__["data"][0] - model.__array_interface__["data"][0]
        if not view.size or view.dtype != self.dtype or not 0 <= apart < model.nbytes:
            return None
        return Place(self.buffer, view.shape, tuple(s // width for s in view.strides), apart // width)


class Immediate:
    """An array whose elements are all one number that is known."""

    __slots__ = ("shape", "value")

    def __init__(self, value: Any, shape: tuple[int, ...]) -> None:
        self.value, self.shape = value, shape  # value: NumPy's scalar

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def whole(buffer: Buffer, shape: tuple[int, ...]) -> Place:
    """All of a buffer, without gaps."""
    return Place(buffer, shape, steps_of(shape))
