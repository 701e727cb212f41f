"""The tensors that a program is given besides the arguments: whether they are as they were, quickly.

Most often the arrays are the very same as in the run before, so one pass of C over their identities tells enough, and
what was found out about their memory still holds. Only if one is another is it looked at.
"""

import operator
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.tape import storage
from lucidgrad.inplace import Marks

__all__ = ["Held"]

_array_of = operator.attrgetter("array")
_node_of = operator.attrgetter("_node")


class Held:
    """Tensors, and how they were.

    Parameters
    ----------
    fixed
        Tensors that are always the same ones.
    owners
        Those among them whose gradients come next, whatever tensors they are at the time.
    """

    def __init__(self, fixed: Sequence[Any], owners: Sequence[Any] = ()) -> None:
        self._fixed, self._owners = list(fixed), list(owners)
        self.tensors = self._now()
        self._arrays = list(map(_array_of, self.tensors))
        self._kinds = [(type(array), array.shape, array.dtype) for array in self._arrays]
        self._nodes = list(map(_node_of, self.tensors))
        self._wants = [node is not None for node in self._nodes]
        self._bare = self._without_grad()
        self._writes: list[int] = []
        self._marks: Marks | None = None
        self._written: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.tensors)

    def _now(self) -> list[Any]:
        return [*self._fixed, *(owner._grad for owner in self._owners)] if self._owners else self._fixed

    def _without_grad(self) -> list[bool]:
        return list(map(operator.is_, map(getattr, self._fixed, repeat("_grad"), repeat(None)), repeat(None)))

    def keep(self, places: Sequence[int]) -> None:
        """Forget all but some of them."""
        count = len(self._fixed)
        self._bare = [self._bare[i] for i in places if i < count]
        self._owners = [self._owners[i - count] for i in places if i >= count]
        for name in ("tensors", "_arrays", "_kinds", "_nodes", "_wants"):
            known = getattr(self, name)
            setattr(self, name, [known[i] for i in places])
        self._fixed = [self._fixed[i] for i in places if i < count]

    def writes(self, places: Sequence[int]) -> None:
        """These are written in every run."""
        self._writes = list(places)

    def arrays(self) -> list[Any] | None:
        """The arrays now; None if one is of another kind, wants a gradient or has one where it did not, or did."""
        if self._without_grad() != self._bare:
            return None
        if self._owners:
            self.tensors = self._now()
        tensors = self.tensors
        if not all(map(operator.is_, map(_array_of, tensors), self._arrays)) and not self._renew():
            return None
        if not all(map(operator.is_, map(_node_of, tensors), self._nodes)):
            nodes = list(map(_node_of, tensors))
            if [node is not None for node in nodes] != self._wants:
                return None
            self._nodes = nodes
        return self._arrays

    def _renew(self) -> bool:
        arrays = list(map(_array_of, self.tensors))
        if [(type(array), array.shape, array.dtype) for array in arrays] != self._kinds:
            return False
        self._arrays, self._marks = arrays, None
        return True

    def apart(self, arrays: Sequence[Any]) -> bool:
        """Whether arrays share no memory with what is written, and that may be written."""
        if self._marks is None:
            targets = [self._arrays[i] for i in self._writes]
            if not all(device.by_array[type(array)].writable(array) for array in targets):
                return False
            owners = [id(storage(array)) for array in targets]
            if len(set(owners)) < len(owners):
                return False
            self._written, self._marks = frozenset(owners), Marks(targets)
        return not any(id(storage(array)) in self._written for array in arrays)

    def touch(self) -> None:
        """Note that they were written; `apart` came before."""
        if self._marks is not None:
            self._marks.touch()
