"""Modes: whether operations are recorded on the tape, and who sees them. Each thread and asyncio task has its own."""

import functools
import itertools
import operator
import weakref
from _io import _IOBase
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from .box import Alias

#: Modes that are not the usual ones (recording, and nobody casts or sees new nodes) and hold in some thread or task:
#: while there are none, and mostly there are none, an operation need not look up its own.
unusual: set["weakref.ref[Any]"] = set()


class _Modes:
    """Modes that belong together, as they hold at a moment: never changed, others are put in their place."""

    __slots__ = ("__weakref__",)


class Recording(_Modes):
    """Whether operations are recorded."""

    __slots__ = ("enabled", "fresh", "recording")

    def __init__(self, enabled: bool, fresh: Alias | None) -> None:
        self.enabled = enabled  # what the user asked for
        self.recording = enabled and fresh is None  # what follows: never in inference mode
        self.fresh = fresh  # the alias slot of new tensors: None, or INFERENCE in inference mode
        if not self.recording:
            unusual.add(weakref.ref(self, unusual.discard))  # until it holds nowhere


class NewNodes(_Modes):
    """Who sees new nodes."""

    __slots__ = ("keep", "keeping", "notes")

    def __init__(self, keep: Callable[..., None] | None, notes: tuple[Callable[..., None], ...]) -> None:
        self.keep = keep  # changes what a new node keeps
        self.notes = notes  # functions that note something in a new node
        self.keeping = _all(notes, keep) if notes or keep is not None else None  # both in one call
        if self.keeping is not None:
            unusual.add(weakref.ref(self, unusual.discard))


class Precision(_Modes):
    """Whether operations that have a precision cast their inputs."""

    __slots__ = ("casting",)

    def __init__(self, casting: Any) -> None:
        self.casting = casting  # (primitive, args) -> args
        if casting is not None:
            unusual.add(weakref.ref(self, unusual.discard))


class Attention(_Modes):
    """As long as this is alive, `told` is asked."""

    __slots__ = ()

    def __init__(self) -> None:
        unusual.add(weakref.ref(self, unusual.discard))


recording: ContextVar[Recording] = ContextVar("recording", default=Recording(True, None))  # noqa: B039  never changed
new: ContextVar[NewNodes] = ContextVar("nodes", default=NewNodes(None, ()))  # noqa: B039
precision: ContextVar[Precision] = ContextVar("precision", default=Precision(None))  # noqa: B039
told: ContextVar[Any] = ContextVar("told", default=None)  # hears of every result, while the modes are unusual
observers: ContextVar[tuple[Any, ...]] = ContextVar("observers", default=())  # see every step of a walk
walking: ContextVar[Any] = ContextVar("walking", default=None)  # the walk that is under way


def _part(modes: ContextVar[Any], name: str) -> Any:
    return property(eval(f"lambda _: now().{name}", {"now": modes.get}))


def _whole(mode: ContextVar[Any]) -> Any:
    def change(_: Any, value: Any) -> None:
        mode.set(value)

    return property(lambda _: mode.get(), change)


class _State:
    """The modes that hold here, by their names."""

    enabled, fresh, recording = (_part(recording, name) for name in ("enabled", "fresh", "recording"))
    keep, notes, keeping = (_part(new, name) for name in ("keep", "notes", "keeping"))
    casting = _part(precision, "casting")
    told, observers, walking = _whole(told), _whole(observers), _whole(walking)


state: Any = _State()


class _Leaving(_IOBase):
    """An object whose ``__exit__`` is C: it calls ``close``, which is C, too, and ignores its arguments."""

    closed = True  # so that the end of the object closes nothing
    close: Callable[[], None]


class _Entered:
    """``__enter__``: all is made ready when it is looked up; the call is one step of C, and so is leaving."""

    def __get__(self, block: Any, owner: type) -> Any:
        if block is None:
            return lambda block: block.__enter__()  # as `contextlib.ExitStack` asks for it
        changes = block._changes()
        leaving = _Leaving()
        if len(changes) == 1:
            ((mode, value),) = changes
            leaving.close = functools.partial([].extend, map(mode.set, (mode.get(),)))
            enter = map(mode.set, (value,))
        else:
            back = [functools.partial(mode.set, mode.get()) for mode, _ in changes]
            leaving.close = functools.partial([].extend, map(operator.call, back))
            enter = map(list, (map(operator.call, [functools.partial(mode.set, value) for mode, value in changes]),))
        block._leaving.append(leaving.__exit__)
        return functools.partial(next, itertools.compress((block._result,), enter))


class _Left:
    """``__exit__``, which a ``with`` looks up before it enters."""

    def __get__(self, block: Any, owner: type) -> Any:
        return (lambda block, *exc: block.__exit__(*exc)) if block is None else block._leaving.pop()


class Block:
    """A context in which some modes are others. Entering and leaving survive an exception at any instruction.

    A function of Python could be interrupted when it has switched and not returned yet, or before it switches back.
    """

    __enter__: Any = _Entered()
    __exit__: Any = _Left()

    def __init__(self) -> None:
        self._leaving: list[Callable[..., None]] = []

    def _changes(self) -> Sequence[tuple[ContextVar[Any], Any]]:
        raise AssertionError  # every block says what it sets

    @property
    def _result(self) -> Any:
        """What ``with ... as`` gives."""
        return None


def set_casting(how: Any) -> None:
    """Let operations that have a precision cast their inputs; None: run in the dtypes they are given."""
    precision.set(Precision(how))


def leave(how: str, x: Any, made: Any) -> Any:
    """What is made of a tensor without the tape; whoever wants to know of it is told."""
    if unusual and state.told is not None:
        state.told(how, (x,), made)
    return made


class recorded(Block):
    """A context in which operations are recorded or not, whatever holds outside; ``fresh`` as in `Recording`."""

    def __init__(self, enabled: bool, fresh: Alias | None = None) -> None:
        super().__init__()
        self._enabled, self._fresh = enabled, fresh

    def _target(self) -> tuple[bool, Alias | None]:
        return self._enabled, self._fresh

    def _changes(self) -> Sequence[tuple[ContextVar[Any], Any]]:
        return ((recording, Recording(*self._target())),)


class new_nodes(Block):
    """A context in which functions see every new node: one that changes what it keeps, one that notes something.

    Parameters
    ----------
    keep
        ``keep(node)`` may replace ``node.saved``; the innermost one counts.
    note
        ``note(node)`` may store something in the node's extras; all of them are called.
    call
        Both are called with ``(node, y, arrays, keywords)``: with the call as the kernel saw it.
    """

    def __init__(
        self, keep: Callable[..., None] | None = None, note: Callable[..., None] | None = None, /, call: bool = False
    ) -> None:
        super().__init__()
        self._keep = keep if call or keep is None else lambda node, *_: keep(node)
        self._note = note if call or note is None else lambda node, *_: note(node)

    def _changes(self) -> Sequence[tuple[ContextVar[Any], Any]]:
        notes = state.notes if self._note is None else (*state.notes, self._note)
        return ((new, NewNodes(state.keep if self._keep is None else self._keep, notes)),)


class plain_nodes(Block):
    """A context in which new nodes are left as they are and nobody hears of results, whatever is set outside."""

    def _changes(self) -> Sequence[tuple[ContextVar[Any], Any]]:
        return (new, NewNodes(None, ())), (told, None)


def _all(notes: tuple[Callable[..., None], ...], keep: Callable[..., None] | None) -> Callable[..., None]:
    def each(node: Any, *call: Any) -> None:
        for note in notes:
            note(node, *call)
        if keep is not None:
            keep(node, *call)

    return each
