"""What a program depends on of the arguments of a call: exactly, as a key, and quickly, for the kind of call before.

A key is compared and looked up. Most calls are of the same kind as the one before, though, and whether this one is says
a function that was written out for that kind, without making a key.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.core import device, dtype as dtypes
from lucidgrad.core.device import get_default_device as place
from lucidgrad.core.modes import precision, recording, unusual
from lucidgrad.core.source import definition, run as define
from lucidgrad.func import trees

from .reach import is_foreign
from .watches import VALUES, exactly

__all__ = ["Unhashable", "matching", "modes", "replaceable", "replaced", "signature"]

looks = device.backend_named("cpu").looks
_USUAL = (True, None, None)
#: So many arguments are looked at one by one.
_MOST = 5_000
#: Of so many tensors it is quicker to let C look.
_MANY = 6


class Unhashable(Exception):
    """An argument that is neither a tensor nor a value."""


def signature(value: Any, tensors: list[Any], numbers: list[float]) -> Any:
    """What a program depends on of an argument; its tensors and floats are gathered, these as they come."""
    kind = type(value)
    if kind is lg.Tensor:
        tensors.append(value)
        array = value.array
        return type(array), array.shape, array.dtype, value._node is not None, getattr(value, "_grad", None) is None
    if kind is float:
        numbers.append(value)
        return kind
    if kind in VALUES:
        return kind, exactly(value)
    if kind is tuple or kind is list:
        return kind, *[signature(part, tensors, numbers) for part in value]
    if kind is dict:
        return kind, *[(name, signature(part, tensors, numbers)) for name, part in value.items()]
    family = trees._family(value)
    if family is not None:
        parts, rest = family.take_apart(value)
        return kind, rest, *[signature(part, tensors, numbers) for part in parts]
    if is_foreign(value):
        raise Unhashable(
            f"an argument is a {kind.__name__}, whose values a program can't follow; give lg.asarray of it"
        )
    return kind, value


def replaceable(value: Any, free: bool = True) -> list[bool]:
    """Of the floats that `signature` gathers, in order: whether another can stand there. Who knows a list may look."""
    kind = type(value)
    if kind is float:
        return [free]
    if kind is tuple or kind is list:
        return [place for part in value for place in replaceable(part, free and kind is tuple)]
    if kind is dict:
        return [place for part in value.values() for place in replaceable(part, False)]
    family = trees._family(value) if kind not in VALUES else None
    return (
        [] if family is None else [place for part in family.take_apart(value)[0] for place in replaceable(part, False)]
    )


def replaced(value: Any, numbers: Iterator[Any]) -> Any:
    """The same with other floats where `replaceable` says that they can stand."""
    if type(value) is float:
        return next(numbers)
    if type(value) is tuple and any(replaceable(value)):
        return tuple([replaced(part, numbers) for part in value])
    for _ in replaceable(value):
        next(numbers)
    return value


def modes() -> tuple[Any, ...]:
    """What a program depends on of the modes that hold."""
    found: tuple[Any, ...] = (dtypes.get_default_dtype(), place())
    if unusual:
        now, casting = recording.get(), precision.get().casting
        kinds = None if casting is None else tuple(sorted((name, str(to)) for name, to in casting.targets.items()))
        own = (now.recording, now.fresh, kinds)
        found = found if own == _USUAL else (*own, *found)
    return found


def _plain(tensors: Sequence[Any]) -> bool:
    """Whether C can look at tensors."""
    home = device.backend_named("cpu")
    return len(tensors) <= looks.MOST and all(
        device.by_array.get(type(x.array)) is home and getattr(x, "_grad", None) is None for x in tensors
    )


class _Strange(Exception):
    """Arguments that no function is written out for."""


class _Writer:
    """The lines that look at the arguments of a call, made of an example."""

    def __init__(self, in_c: bool) -> None:
        self.lines: list[str] = []
        self.in_c = in_c  # whether tensors are looked at together, later
        self.scope: dict[str, Any] = {}
        self.tensors: list[str] = []
        self.examples: list[Any] = []  # the tensors themselves
        self.numbers: list[str] = []
        self._conditions: list[str] = []

    def known(self, value: Any) -> str:
        """A word for something that is known."""
        word = f"k{len(self.scope)}"
        self.scope[word] = value
        return word

    def need(self, condition: str) -> None:
        self._conditions.append(condition)

    def settle(self) -> None:
        """Look at what is needed so far, before something is taken apart."""
        if self._conditions:
            self.lines.append(f"if not ({' and '.join(self._conditions)}): return None")
            self._conditions = []

    def look(self, word: str, value: Any) -> None:
        """Lines that say whether what ``word`` stands for has the signature of a value."""
        kind = type(value)
        if len(self.scope) > _MOST:
            raise _Strange
        if kind is lg.Tensor:
            self._tensor(word, value)
        elif kind is float:
            self.need(f"type({word}) is float")
            self.numbers.append(word)
        elif kind in VALUES and kind is not complex:
            self.need(f"type({word}) is {self.known(kind)} and {word} == {self.known(value)}")
        elif kind is tuple or kind is list:
            self.need(f"type({word}) is {self.known(kind)} and len({word}) == {len(value)}")
            self._parts(word, value)
        elif kind is dict and all(type(name) is str for name in value):
            self.need(f"type({word}) is dict and tuple({word}) == {self.known(tuple(value))}")
            self._parts(f"{word}.values()", list(value.values()))
        elif trees._family(value) is None and not is_foreign(value):
            self.need(f"{word} is {self.known(value)}")
        else:
            raise _Strange

    def _parts(self, word: str, values: Sequence[Any]) -> None:
        self.settle()
        words = [f"v{len(self.lines)}_{i}" for i in range(len(values))]
        if words:
            self.lines.append(f"{', '.join(words)}, = {word}")
        for part, value in zip(words, values, strict=True):
            self.look(part, value)

    def _tensor(self, word: str, x: Any) -> None:
        if getattr(x, "_grad", None) is not None:  # it is an input, too
            raise _Strange
        array, made = x.array, f"a{len(self.tensors)}"
        self.tensors.append(word)
        self.examples.append(x)
        if self.in_c:
            return
        self.need(f"type({word}) is Tensor and type({made} := {word}.array) is {self.known(type(array))}")
        self.need(f"{made}.shape == {self.known(array.shape)} and {made}.dtype is {self.known(array.dtype)}")
        self.need(f"{word}._node is {'None' if x._node is None else 'not None'}")
        self.need(f"getattr({word}, '_grad', None) is None")


def matching(
    args: tuple[Any, ...], kwargs: dict[str, Any], static: Sequence[str], count: int
) -> Callable[[Any, Any], Any] | None:
    """A function that says quickly whether a call is like this one, which has ``count`` different tensors.

    It gives the tensors, their arrays and the floats among the arguments, or None: maybe not. None if there is none.
    """
    leaves = [x for x in trees.flatten((args, kwargs))[0] if type(x) is lg.Tensor]
    differing = looks.strange(lg.Tensor) if count >= _MANY and _plain(leaves) else None
    writer = _Writer(differing is not None)
    try:
        names = f"tuple(kwargs) == {writer.known(tuple(kwargs))}" if kwargs else "not kwargs"
        writer.need(f"len(args) == {len(args)} and {names}")
        writer._parts("args", args)
        for name, value in kwargs.items():
            if name in static:
                writer.need(f"kwargs[{name!r}] is {writer.known(value)}")
            else:
                writer.look(f"kwargs[{name!r}]", value)
    except _Strange:
        return None
    if len(writer.tensors) != count:  # the same one twice
        return None
    words = writer.tensors
    if differing is not None:
        kinds = looks.Kinds(writer.examples)
        items = f"id(all_ := ({', '.join(words)})) + {tuple.__basicsize__}"
        writer.scope.update(strange=differing, alive=kinds)
        writer.need(f"not strange({items}, {kinds.address})")
        writer.settle()
        writer.lines += [f"a{i} = {word}.array" for i, word in enumerate(words)]
    elif count == 2:
        writer.need(f"{words[0]} is not {words[1]}")
    elif count > 2:
        writer.need(f"len({{{', '.join(f'id({word})' for word in words)}}}) == {count}")
    here = f"modes() == {writer.known(modes())}"
    if len(modes()) == 2:
        usual = f"not unusual and default.real == {dtypes.default.real!r} and place() is {writer.known(place())}"
        here = f"({usual} or {here})"
    writer.need(here)
    writer.settle()
    arrays = ", ".join(f"a{i}" for i in range(count))
    writer.lines.append(f"return ({''.join(f'{w}, ' for w in words)}), [{arrays}], [{', '.join(writer.numbers)}]")
    scope = {**writer.scope, "Tensor": lg.Tensor, "modes": modes, "unusual": unusual, "default": dtypes.default}
    scope["place"] = place
    found: Callable[[Any, Any], Any] = define(definition("match(args, kwargs)", writer.lines), scope, "match")["match"]
    return found
