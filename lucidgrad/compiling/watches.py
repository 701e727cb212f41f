"""Values that must stay as they are for a program to be valid, and how to look at all of them in a microsecond or two.

A watch remembers what some place held: a dictionary, a list, the cells of a closure. It can say exactly whether that
still holds, and it can write the lines of a function that looks whether the very same objects are there, which is the
usual case. Where they are not, the exact way decides, and remembers what it found.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["VALUES", "Cells", "Contents", "Items", "Names", "Others", "Watch", "exactly", "same"]

#: Types of values that are told by what they are, not by which object.
VALUES = (bool, int, float, complex, str, bytes, type(None))
_bytes_of, _shape_of = operator.methodcaller("tobytes"), operator.attrgetter("shape")
#: A longer list is compared in one call instead of being written out.
_LONG = 100


def same(new: Any, old: Any) -> bool:
    """Whether a value counts as another: the same object, or a plain value that nothing tells apart."""
    if new is old:
        return True
    return type(new) is type(old) and type(new) in VALUES and bool(exactly(new) == exactly(old))


def exactly(value: Any) -> Any:
    """What tells a plain value from all others of its type: -0.0 is not 0.0, and not a number is itself."""
    kind = type(value)
    return repr(value) if kind is complex or (kind is float and (not value or value != value)) else value


class Watch:
    """What some place held.

    Parameters
    ----------
    path
        What to call it in a message.
    holder
        The container.
    """

    def __init__(self, path: str, holder: Any) -> None:
        self.path, self.holder = path, holder
        self.known = self.now()
        self.loose: list[int] = []  # floats that programs are given: they may be others

    def now(self) -> list[Any]:
        """The values at present; KeyError or ValueError where one is gone."""
        raise AssertionError  # every kind of place says how it is read

    def holds(self) -> bool:
        """Whether all is as it was; equal values that are other objects are known from now on."""
        try:
            now = self.now()
        except (KeyError, ValueError):
            return False
        if len(now) != len(self.known):
            return False
        for i in self.loose:
            if type(now[i]) is float:
                self.known[i] = now[i]
        if not all(map(same, now, self.known)):
            return False
        self.known = now
        return True

    @property
    def whole(self) -> bool:
        """Whether it is a dictionary that must stay as it is."""
        return False

    def places(self) -> dict[int, Any]:
        """Of each value that can be replaced by another for a while: which place it is in."""
        return {}

    def put(self, i: int, value: Any) -> None:
        """Put a value in the place of another."""
        raise AssertionError  # who has places has this

    def numbers(self, word: str) -> list[str]:
        """The words for floats that may be others, once the conditions were looked at."""
        return [f"{word}_number{i}" for i in self.loose]

    def _is(self, i: int, what: str, word: str) -> str:
        """The condition of one value."""
        return f"type({word}_number{i} := {what}) is float" if i in self.loose else f"{what} is {word}_{i}"

    def written(self, word: str, scope: dict[str, Any]) -> list[str]:
        """Conditions under which the same objects are there; words that begin with ``word`` are its own."""
        scope[word], scope[f"{word}_known"] = self.now, self.known
        return [f"len({word}_now := {word}()) == {len(self.known)}", f"all(map(is_, {word}_now, {word}_known))"]

    def renew(self, word: str, scope: dict[str, Any]) -> None:
        """Let the conditions be about the objects that are known now."""
        if f"{word}_known" in scope:
            scope[f"{word}_known"] = self.known
        else:
            scope.update((f"{word}_{i}", value) for i, value in enumerate(self.known))


class Others(Watch):
    """A place that a function reads."""

    def __init__(self, path: str, holder: Any, read: Callable[[], list[Any]]) -> None:
        self._read = read
        super().__init__(path, holder)

    def now(self) -> list[Any]:
        """The values at present."""
        return self._read()


class Names(Watch):
    """What a dictionary has under some names; ``size`` if these are all that count."""

    def __init__(self, path: str, holder: dict[str, Any], names: Sequence[str], size: int | None = None) -> None:
        self.names, self.size = names, size
        super().__init__(path, holder)

    @property
    def whole(self) -> bool:
        """Whether all names count, and all values."""
        return self.size is not None and not self.loose

    def now(self) -> list[Any]:
        """The values at present."""
        if self.size is not None and len(self.holder) != self.size:
            raise KeyError("another number of names")
        return list(map(self.holder.__getitem__, self.names))

    def written(self, word: str, scope: dict[str, Any]) -> list[str]:
        """Conditions under which the same objects are there."""
        if len(self.names) > _LONG:
            return super().written(word, scope)
        scope[word] = self.holder
        self.renew(word, scope)
        size = [] if self.size is None else [f"len({word}) == {self.size}"]
        return size + [self._is(i, f"{word}[{name!r}]", word) for i, name in enumerate(self.names)]

    def places(self) -> dict[int, Any]:
        """Which place each value is in."""
        short = len(self.names) <= _LONG
        return {i: (id(self.holder), name) for i, name in enumerate(self.names)} if short else {}

    def put(self, i: int, value: Any) -> None:
        """Put a value in the place of another."""
        self.holder[self.names[i]] = value


class Items(Watch):
    """The items of a list."""

    def now(self) -> list[Any]:
        """The values at present."""
        return list(self.holder)

    def written(self, word: str, scope: dict[str, Any]) -> list[str]:
        """Conditions under which the same objects are there."""
        count = len(self.known)
        scope[word] = self.holder
        if count > _LONG:
            scope[f"{word}_known"] = self.known
            return [f"len({word}) == {count}", f"all(map(is_, {word}, {word}_known))"]
        self.renew(word, scope)
        return [f"len({word}) == {count}", *(self._is(i, f"{word}[{i}]", word) for i in range(count))]

    def places(self) -> dict[int, Any]:
        """Which place each value is in."""
        return {i: (id(self.holder), i) for i in range(len(self.known))} if len(self.known) <= _LONG else {}

    def put(self, i: int, value: Any) -> None:
        """Put a value in the place of another."""
        self.holder[i] = value


class Cells(Watch):
    """What cells of a closure hold."""

    def now(self) -> list[Any]:
        """The values at present."""
        return [cell.cell_contents for cell in self.holder]

    def written(self, word: str, scope: dict[str, Any]) -> list[str]:
        """Conditions under which the same objects are there."""
        scope.update((f"{word}_cell{i}", cell) for i, cell in enumerate(self.holder))
        self.renew(word, scope)
        return [self._is(i, f"{word}_cell{i}.cell_contents", word) for i in range(len(self.known))]

    def places(self) -> dict[int, Any]:
        """Which place each value is in."""
        return {i: (id(cell), "cell") for i, cell in enumerate(self.holder)}

    def put(self, i: int, value: Any) -> None:
        """Put a value in the place of another."""
        self.holder[i].cell_contents = value


class Contents(Watch):
    """The elements of arrays of another library, all looked at together."""

    def now(self) -> list[Any]:
        """The values at present."""
        return [self._elements(), *map(_shape_of, self.holder), *(str(array.dtype) for array in self.holder)]

    def _elements(self) -> bytes:
        return b"".join(map(_bytes_of, self.holder))

    def holds(self) -> bool:
        """Whether all is as it was."""
        return self.now() == self.known

    def written(self, word: str, scope: dict[str, Any]) -> list[str]:
        """Conditions under which all is as it was."""
        shapes = list(map(_shape_of, self.holder))
        scope.update({word: self.holder, f"{word}_known": self.known[0], f"{word}_shapes": shapes})
        scope.update(join=b"".join, bytes_of=_bytes_of, shape_of=_shape_of)
        return [
            f"join(map(bytes_of, {word})) == {word}_known",
            f"list(map(shape_of, {word})) == {word}_shapes",
        ]

    def renew(self, word: str, scope: dict[str, Any]) -> None:
        """They are what they were."""
