"""The tensors that a program is given besides the arguments, and whether these and all values are as they were.

Most often all objects are the very same as in the run before. `Guard` has that looked at by one function that is
written out for the purpose, some ten nanoseconds for each; only if one is another is everything looked at closely.
"""

import operator
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.source import definition, run as define
from lucidgrad.core.tape import storage
from lucidgrad.inplace import Marks

from .reach import Reach

__all__ = ["Guard", "Held"]

#: With more conditions than that no function is written out.
_MOST = 50_000
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
            if any(x is None for x in self.tensors):
                return None
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

    def written(self, scope: dict[str, Any]) -> tuple[list[str], list[str]]:
        """Conditions under which the arrays are the same objects, and the words for these."""
        for x in self._fixed:
            x._grad = getattr(x, "_grad", None)  # an empty slot can't be read quickly
        scope.update((f"t{i}", x) for i, x in enumerate(self._fixed))
        words = [f"t{i}" for i in range(len(self._fixed))]
        found = [f"{word}._grad is {'' if bare else 'not '}None" for word, bare in zip(words, self._bare, strict=True)]
        scope.update((f"o{i}", x) for i, x in enumerate(self._owners))
        words += [f"o{i}._grad" for i in range(len(self._owners))]
        for i, word in enumerate(words):
            found += [f"(a{i} := {word}.array) is h{i}", f"{word}._node is n{i}"]
        self.renew(scope)
        return found, [f"a{i}" for i in range(len(words))]

    def renew(self, scope: dict[str, Any]) -> None:
        """Let the conditions be about the arrays and nodes of now."""
        scope.update((f"h{i}", array) for i, array in enumerate(self._arrays))
        scope.update((f"n{i}", node) for i, node in enumerate(self._nodes))

    def memory(self) -> frozenset[int] | None:
        """What is written, by the identities of memory; None if it is written twice, or may not be."""
        if self._marks is None:
            targets = [self._arrays[i] for i in self._writes]
            if not all(device.by_array[type(array)].writable(array) for array in targets):
                return None
            owners = [id(storage(array)) for array in targets]
            if len(set(owners)) < len(owners):
                return None
            self._written, self._marks = frozenset(owners), Marks(targets)
        return self._written

    def touch(self) -> None:
        """Note that they were written; `memory` came before."""
        if self._marks is not None:
            self._marks.touch()


class Guard:
    """Whether a program is for the present state of things: ``look()`` gives the arrays of the tensors held, or None.

    Floats that may be others in every run come after the arrays.

    Parameters
    ----------
    reach
        What the function can reach besides its arguments.
    held
        The tensors among that.
    """

    def __init__(self, reach: Reach, held: Held) -> None:
        self._reach, self._held = reach, held
        self._scope: dict[str, Any] = {"is_": operator.is_, "closely": self._closely}
        conditions: list[str] = []
        for k, watch in enumerate(reach.watches):
            conditions += watch.written(f"w{k}", self._scope)
        more, words = held.written(self._scope)
        conditions += more
        words += [word for k, watch in enumerate(reach.watches) for word in watch.numbers(f"w{k}")]
        lines = ["try:"]
        if conditions:
            lines += [f"    if not ({' and '.join(conditions)}): return closely()"]
        lines += [f"    return [{', '.join(words)}]"]
        lines += ["except (AttributeError, LookupError, ValueError): return closely()  # something is gone"]
        self.look = self._closely
        if len(conditions) < _MOST:
            self.look = define(definition("look()", lines), self._scope, "guard")["look"]

    def _closely(self) -> list[Any] | None:
        """The same, exactly; what counts as the same is known from now on."""
        if self._reach.changed() is not None:
            return None
        arrays = self._held.arrays()
        if arrays is None:
            return None
        for k, watch in enumerate(self._reach.watches):
            watch.renew(f"w{k}", self._scope)
        self._held.renew(self._scope)
        return [*arrays, *(watch.known[i] for watch, i in self._reach.numbers())]
