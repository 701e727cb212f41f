"""Modes: whether operations are recorded on the tape, and who sees them. Each thread and asyncio task has its own."""

import functools
import inspect
import itertools
import operator
import weakref
from _io import _IOBase
from collections.abc import Callable, Generator, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

from .box import INFERENCE, Alias

F = TypeVar("F", bound=Callable[..., Any])


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


def is_grad_enabled() -> bool:
    """Whether operations of this thread are recorded."""
    return state.enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return state.fresh is INFERENCE


class _Mode(Block):
    """A context manager and decorator that says whether operations are recorded."""

    def __new__(cls, *args: Any, **keywords: Any) -> Any:
        made = super().__new__(cls)
        if args and callable(args[0]):  # a decorator without parentheses
            made.__init__()  # type: ignore[misc]
            return made(args[0])
        return made

    def __init__(self) -> None:
        self._leaving = []

    def _target(self) -> tuple[bool, Alias | None]:
        raise AssertionError  # every mode says what it sets

    def _changes(self) -> Sequence[tuple[ContextVar[Any], Any]]:
        return ((recording, Recording(*self._target())),)

    def _again(self) -> "_Mode":
        return type(self)()

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            before = recording.get()
            try:
                with self._again():
                    return function(*args, **kwargs)
            finally:  # again: an exception may come between the function and the end of the block
                recording.set(before)

        return wrapped  # type: ignore[return-value]

    def _wrap_generator(self, function: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., Any]:
        """The mode holds while the generator runs, never while its consumer does."""

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            generator = function(*args, **kwargs)
            resume: Callable[[], Any] = functools.partial(next, generator)
            while True:
                try:
                    with self._again():
                        value = resume()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield value
                except GeneratorExit:
                    with self._again():
                        generator.close()
                    raise
                except BaseException as error:
                    resume = functools.partial(generator.throw, error)
                else:
                    resume = functools.partial(generator.send, sent)

        return wrapped


class no_grad(_Mode):
    """Operations inside are not recorded: results do not require grad.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> with lg.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def _target(self) -> tuple[bool, Alias | None]:
        return False, state.fresh


class enable_grad(_Mode):
    """Operations inside are recorded, also within `no_grad`."""

    def _target(self) -> tuple[bool, Alias | None]:
        return True, state.fresh


class set_grad_enabled(_Mode):
    """Switch recording on or off: at once, and back again where used as a context manager.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> with lg.set_grad_enabled(False):
    ...     lg.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._mode = bool(mode)
        self._at_once = False
        self.__enter__()
        self._at_once = True  # as a call it lasts

    def _target(self) -> tuple[bool, Alias | None]:
        return self._mode, state.fresh

    def _changes(self) -> Sequence[tuple[ContextVar[Any], Any]]:
        self._undo()  # a block goes back to what was before the constructor
        return super()._changes()

    def _undo(self) -> None:
        if self._at_once:
            self._at_once = False
            self.__exit__()

    def _again(self) -> "_Mode":
        return _Set(self._mode)

    def __call__(self, function: F) -> F:
        self._undo()  # as a decorator it acts in the calls only
        return super().__call__(function)


class _Set(_Mode):
    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._mode = mode

    def _target(self) -> tuple[bool, Alias | None]:
        return self._mode, state.fresh


class inference_mode(_Mode):
    """Like `no_grad`, and the results can never be part of a graph: no views are tracked.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> with lg.inference_mode():
    ...     y = lg.ones(2) * 3
    >>> y.is_inference()
    True
    """

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self._mode = mode

    def _again(self) -> "_Mode":
        return inference_mode(self._mode)

    def _target(self) -> tuple[bool, Alias | None]:
        return (False, INFERENCE) if self._mode else (True, None)


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
    """A context in which new nodes are left as they are, whatever is set outside."""

    def _changes(self) -> Sequence[tuple[ContextVar[Any], Any]]:
        return ((new, NewNodes(None, ())),)


def _all(notes: tuple[Callable[..., None], ...], keep: Callable[..., None] | None) -> Callable[..., None]:
    def each(node: Any, *call: Any) -> None:
        for note in notes:
            note(node, *call)
        if keep is not None:
            keep(node, *call)

    return each
