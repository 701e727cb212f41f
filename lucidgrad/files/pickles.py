"""The instructions of a pickle that data need, and no others: what they mean beyond that is told by a table.

A pickle is a program. This runs the part of its language that builds containers, numbers and text, and asks for
everything with a name; it has no way to call or import what it is not given. Steps are counted, and what copies
counts as many as it copies, so that neither time nor memory grow beyond the file's size by much.
"""

import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from .container import FileFormatError

_MOST_STEPS = 5_000_000
_MOST_LEVELS = 200  # of the tree
_MOST_NAME = 200
_MOST_INTEGER = 1 << 10  # bytes

_PROTOCOLS = range(2, 6)
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_MAPPINGS = (dict, OrderedDict, Counter)


class Function(NamedTuple):
    """What a pickle may call, and its name in errors."""

    name: str
    call: Callable[..., Any]


class Machine:
    """Runs a pickle: ``find`` gives the meaning of a global name, ``held`` of a persistent id."""

    def __init__(self, data: bytes, find: Callable[[str, str], Any], held: Callable[[Any], Any]) -> None:
        self._data, self._find, self._held = data, find, held
        self._at = self._steps = 0
        self._stack: list[Any] = []
        self._marked: list[list[Any]] = []
        self._memo: dict[int, Any] = {}

    def run(self) -> Any:
        """The object that the pickle describes; it must be all of the data."""
        if self._data[:1] != b"\x80":
            raise FileFormatError("the pickle has protocol 0 or 1, or is none; expected protocol 2 or later")
        while True:
            self.charge(1)
            code = self._take(1)
            if code == b".":
                break
            step = _STEPS.get(code)
            if step is None:
                raise FileFormatError(
                    f"the pickle has the instruction {code!r} at {self._at - 1}, which data don't need"
                )
            step(self)
        if self._at != len(self._data) or len(self._stack) != 1 or self._marked:
            raise FileFormatError("the pickle ends too early or leaves something over: it is damaged")
        return self._stack.pop()

    def charge(self, steps: int) -> None:
        """Count steps: as many as there are things to copy."""
        self._steps += steps
        if self._steps > _MOST_STEPS:
            raise FileFormatError(f"the pickle takes more than the {_MOST_STEPS} steps that are made")

    # -- data ------------------------------------------------------------------------------------
    def _take(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        if len(found) != count:
            raise FileFormatError("the pickle was cut short")
        self._at += count
        return found

    def _number(self, count: int, signed: bool = False) -> int:
        return int.from_bytes(self._take(count), "little", signed=signed)

    def _line(self) -> str:
        end = self._data.find(b"\n", self._at, self._at + _MOST_NAME + 1)
        if end < 0:
            raise FileFormatError("the pickle has a name without an end")
        text = self._take(end - self._at).decode("utf-8")
        self._at += 1
        return text

    def _integer(self, width: int) -> None:
        """An integer of any length."""
        size = self._number(width)
        if size > _MOST_INTEGER:
            raise FileFormatError(f"the pickle has an integer of {size} bytes, of which {_MOST_INTEGER} are read")
        self._push(int.from_bytes(self._take(size), "little", signed=True))

    def _text(self, width: int) -> None:
        self._push(self._take(self._number(width)).decode("utf-8", "surrogatepass"))

    # -- the stack -------------------------------------------------------------------------------
    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _mark(self) -> None:
        self._marked.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        found, self._stack = self._stack, self._marked.pop()
        return found

    def _last(self, count: int) -> list[Any]:
        if len(self._stack) < count:
            raise FileFormatError("the pickle takes from an empty stack")
        found = self._stack[-count:]
        del self._stack[-count:]
        return found

    def _append(self, values: list[Any]) -> None:
        self._top(list).extend(values)

    def _include(self, values: list[Any]) -> None:
        self._top(set).update(map(as_key, values))

    def _setitems(self, values: list[Any]) -> None:
        if len(values) % 2:
            raise FileFormatError("the pickle has a key without a value")
        made = self._top(dict, OrderedDict)
        for key, value in zip(values[::2], values[1::2], strict=True):
            made[as_key(key)] = value

    def _top(self, *kinds: type) -> Any:
        if type(self._stack[-1]) not in kinds:
            raise FileFormatError(
                f"the pickle fills a {type(self._stack[-1]).__name__}, expected a {kinds[0].__name__}"
            )
        return self._stack[-1]

    def _keep(self, number: int) -> None:
        self._memo[number] = self._stack[-1]

    # -- what has a name -------------------------------------------------------------------------
    def _named(self, module: Any, name: Any) -> None:
        if not (type(module) is type(name) is str and len(module) + len(name) <= 2 * _MOST_NAME):
            raise FileFormatError("the pickle has a name that is none")
        self._push(self._find(module, name))

    def _call(self) -> None:
        function, given = self._last(2)
        if type(function) is not Function or type(given) is not tuple:
            raise FileFormatError(f"the pickle calls a {type(function).__name__}, which is no function")
        try:
            self._push(function.call(self, *given))
        except TypeError as error:
            raise FileFormatError(f"{function.name} is called in a way that is not known here: {error}") from None

    def _build(self) -> None:
        """What is added to an object: PyTorch's metadata to a dict; a byte order to a NumPy dtype."""
        state, owner = self._stack.pop(), self._stack[-1]
        if type(owner) is OrderedDict and type(state) is dict and _is_metadata(state):
            owner._metadata = state["_metadata"]  # type: ignore[attr-defined]
        elif not (hasattr(owner, "byteorder") and type(state) is tuple and state[1:5] in _LITTLE):
            raise FileFormatError(f"the pickle changes a {type(owner).__name__}, which data don't need")


def _is_metadata(state: dict[Any, Any]) -> bool:
    found: Any = state.get("_metadata")
    return len(state) == 1 and type(found) in _MAPPINGS and all(type(part) in _MAPPINGS for part in found.values())


#: The byte order and the parts of a plain dtype, in the order of NumPy's own description.
_LITTLE = [(order, None, None, None) for order in "<|"]


def as_key(key: Any) -> Any:
    """A key of a dict or an element of a set: plain, or a tuple of such, since hashing goes through all of it."""
    for part in key if type(key) is tuple else (key,):
        if type(part) not in _PLAIN or type(part) is complex:
            raise FileFormatError(f"the pickle has a key of type {type(part).__name__}; expected numbers or text")
        if type(part) is int and abs(part) >> 64:  # such can be made to have one hash
            raise FileFormatError("the pickle has a key of more than 64 bits")
    return key


def _numbered(step: Callable[..., None], width: int) -> Callable[[Machine], None]:
    return lambda m: step(m, m._number(width))


_STEPS: dict[bytes, Callable[[Machine], Any]] = {
    b"(": Machine._mark,
    b"N": lambda m: m._push(None),
    b"\x88": lambda m: m._push(True),
    b"\x89": lambda m: m._push(False),
    b"J": lambda m: m._push(m._number(4, signed=True)),
    b"K": lambda m: m._push(m._number(1)),
    b"M": lambda m: m._push(m._number(2)),
    b"\x8a": lambda m: m._integer(1),
    b"\x8b": lambda m: m._integer(4),
    b"G": lambda m: m._push(struct.unpack(">d", m._take(8))[0]),
    b"\x8c": lambda m: m._text(1),
    b"X": lambda m: m._text(4),
    b"\x8d": lambda m: m._text(8),
    b"C": lambda m: m._push(m._take(m._number(1))),
    b"B": lambda m: m._push(m._take(m._number(4))),
    b"\x8e": lambda m: m._push(m._take(m._number(8))),
    b"]": lambda m: m._push([]),
    b"}": lambda m: m._push({}),
    b"\x8f": lambda m: m._push(set()),
    b")": lambda m: m._push(()),
    b"\x85": lambda m: m._push(tuple(m._last(1))),
    b"\x86": lambda m: m._push(tuple(m._last(2))),
    b"\x87": lambda m: m._push(tuple(m._last(3))),
    b"t": lambda m: m._push(tuple(m._since_mark())),
    b"\x91": lambda m: m._push(frozenset(map(as_key, m._since_mark()))),
    b"a": lambda m: m._append(m._last(1)),
    b"e": lambda m: m._append(m._since_mark()),
    b"\x90": lambda m: m._include(m._since_mark()),
    b"s": lambda m: m._setitems(m._last(2)),
    b"u": lambda m: m._setitems(m._since_mark()),
    b"q": _numbered(Machine._keep, 1),
    b"r": _numbered(Machine._keep, 4),
    b"\x94": lambda m: m._keep(len(m._memo)),
    b"h": lambda m: m._push(m._memo[m._number(1)]),
    b"j": lambda m: m._push(m._memo[m._number(4)]),
    b"c": lambda m: m._named(m._line(), m._line()),
    b"\x93": lambda m: m._named(*m._last(2)),
    b"Q": lambda m: m._push(m._held(*m._last(1))),
    b"R": Machine._call,
    b"b": Machine._build,
}


def _protocol(m: Machine) -> None:
    if m._number(1) not in _PROTOCOLS:
        raise FileFormatError("the pickle has a protocol that is not known here; expected 2 to 5")


_STEPS[b"\x80"] = _protocol
_STEPS[b"\x95"] = lambda m: m._number(8)  # the length of a frame, which says nothing new


def check_tree(tree: Any, leaves: tuple[type, ...]) -> None:
    """Refuse a tree that has anything but containers, plain values and leaves, that contains itself, or is deep."""
    heights: dict[int, int] = {}  # of the containers met; zero while their parts are looked at
    pending: list[tuple[Any, bool]] = [(tree, False)]
    while pending:
        obj, done = pending.pop()
        if isinstance(obj, (*_PLAIN, *leaves)):
            continue
        parts = _parts(obj)
        if done:
            heights[id(obj)] = height = 1 + max((heights.get(id(part), 0) for part in parts), default=0)
            if height > _MOST_LEVELS:
                raise FileFormatError(f"the tree has more than {_MOST_LEVELS} levels")
        elif id(obj) not in heights:
            heights[id(obj)] = 0
            pending.append((obj, True))
            pending.extend((part, False) for part in parts)
        elif heights[id(obj)] == 0:
            raise FileFormatError("the tree contains itself")


def _parts(obj: Any) -> list[Any]:
    if type(obj) in _MAPPINGS:
        return [*obj.values(), getattr(obj, "_metadata", None)]
    if type(obj) in (list, tuple):
        return list(obj)
    if type(obj) in (set, frozenset):
        return []
    name = obj.name if type(obj) is Function else f"a {type(obj).__name__}"
    raise FileFormatError(f"the tree has {name} where a value should be")
