"""The tensors that a program is given besides the arguments, and whether these and all values are as they were.

Most often all objects are the very same as in the run before. `Guard` has that looked at by one function that is
written out for the purpose, some ten nanoseconds for each; only if one is another is everything looked at closely.
"""

import operator
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import lucidgrad as lg
from lucidgrad.core import device
from lucidgrad.core.source import definition, run as define
from lucidgrad.core.tape import storage
from lucidgrad.inplace import Marks

from .reach import Reach

__all__ = ["Guard", "Held"]

looks = device.backend_named("cpu").looks
#: With more conditions than that no function is written out.
_MOST = 50_000
#: Of so many objects it is quicker to let C look.
_MANY = 60
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

    def ready(self) -> None:
        """Fill slots that can't be read quickly while they are empty."""
        for x in self._fixed:
            x._grad = getattr(x, "_grad", None)

    def slots(self) -> list[tuple[Any, str, Any]]:
        """Objects, names of slots, and what is in them, if all tensors are the same in every run."""
        tensors = [(x, name, getattr(x, name)) for x in self._fixed for name in ("array", "_node")]
        grads = [None if bare else looks.ANYTHING for bare in self._bare]
        return [*tensors, *((x, "_grad", grad) for x, grad in zip(self._fixed, grads, strict=True))]

    @property
    def moving(self) -> bool:
        """Whether others may come in the place of tensors: gradients do."""
        return bool(self._owners)

    def written(self, scope: dict[str, Any]) -> tuple[list[str], list[str]]:
        """Conditions under which the arrays are the same objects, and the words for these."""
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
        held.ready()
        self._scope: dict[str, Any] = {"is_": operator.is_, "closely": self._closely}
        self._in_c = self._has_much()
        self._whole = [watch for watch in reach.watches if self._in_c and watch.whole]
        conditions: list[str] = []
        words: list[str] = []
        for k, watch in enumerate(reach.watches):
            if watch not in self._whole:
                conditions += watch.written(f"w{k}", self._scope)
            words += watch.numbers(f"w{k}")
        lines = [f"    if not ({' and '.join(conditions)}): return closely()"] if conditions else []
        if self._in_c:
            self._renew_known()
            lines += ["    now = known", "    if differ(now[0]): return closely()"]
            lines += [f"    return now[1] + [{', '.join(words)}]"]
        else:
            more, arrays = held.written(self._scope)
            lines += [f"    if not ({' and '.join(more)}): return closely()"] if more else []
            lines += [f"    return [{', '.join(arrays + words)}]"]
        lines = ["try:", *lines, "except (AttributeError, LookupError, ValueError): return closely()  # it is gone"]
        self.look = self._closely
        if len(conditions) + len(self._scope) < _MOST:
            self.look = define(definition("look()", lines), self._scope, "guard")["look"]

    def _has_much(self) -> bool:
        """Whether there is so much to look at that C should, and C can."""
        entries = sum(len(watch.holder) for watch in self._reach.watches if watch.whole)
        if 3 * len(self._held) + entries < _MANY or self._held.moving:
            return False
        self._scope["differ"] = looks.differ()
        known = [looks.offset(lg.Tensor, name) for name in ("array", "_node", "_grad")]
        return self._scope["differ"] is not None and None not in known

    def _renew_known(self) -> None:
        """What C compares with, and the arrays, at once: another thread may be looking."""
        things = looks.Things(self._held.slots(), [watch.holder for watch in self._whole])
        self._scope["known"] = things.address, [x.array for x in self._held.tensors], things

    def _closely(self) -> list[Any] | None:
        """The same, exactly; what counts as the same is known from now on."""
        if self._reach.changed() is not None:
            return None
        arrays = self._held.arrays()
        if arrays is None:
            return None
        for k, watch in enumerate(self._reach.watches):
            watch.renew(f"w{k}", self._scope)
        if self._in_c:
            self._renew_known()
        else:
            self._held.renew(self._scope)
        return [*arrays, *(watch.known[i] for watch, i in self._reach.numbers())]
