"""Thread-local modes: whether operations are recorded on the tape."""

import functools
import inspect
import threading
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from .box import INFERENCE, Alias

F = TypeVar("F", bound=Callable[..., Any])


class _State(threading.local):
    enabled = True  # what the user asked for
    recording = True  # what follows: never in inference mode
    fresh: Alias | None = None  # the alias slot of new tensors: None, or INFERENCE in inference mode
    walking: Any = None  # the walk that is under way
    keep: Callable[..., None] | None = None  # changes what a new node keeps
    notes: tuple[Callable[..., None], ...] = ()  # note something in a new node
    keeping: Callable[..., None] | None = None  # both in one call
    observers: tuple[Any, ...] = ()  # see every step of a walk
    casting: Any = None  # (primitive, args) -> args: the precision of operations that have one
    told: Callable[[Any, tuple[Any, ...], Any], None] | None = None  # hears of every result, on the tape or not


state = _State()

#: Threads that are not in the usual state (recording, no inference): while it is empty, and it mostly is,
#: an operation need not look its thread up.
unusual: set[int] = set()


def switch(enabled: bool, fresh: Alias | None) -> None:
    """Set the state of this thread."""
    state.enabled, state.recording, state.fresh = enabled, enabled and fresh is None, fresh
    if state.recording and state.keeping is None and state.casting is None:
        unusual.discard(threading.get_ident())
    else:
        unusual.add(threading.get_ident())


def set_casting(how: Any) -> None:
    """Let operations that have a precision cast their inputs; None: run in the dtypes they are given."""
    state.casting = how
    switch(state.enabled, state.fresh)


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


class _Mode:
    """A context manager and decorator that sets the state of this thread and restores it."""

    def __new__(cls, *args: Any, **keywords: Any) -> Any:
        made = super().__new__(cls)
        if args and callable(args[0]):  # a decorator without parentheses
            made.__init__()  # type: ignore[misc]
            return made(args[0])
        return made

    def __init__(self) -> None:
        self._before: list[tuple[bool, Alias | None]] = []

    def _target(self) -> tuple[bool, Alias | None]:
        raise AssertionError  # every mode says what it sets

    def _again(self) -> "_Mode":
        return type(self)()

    def __enter__(self) -> None:
        self._before.append((state.enabled, state.fresh))
        switch(*self._target())

    def __exit__(self, *exc: object) -> None:
        switch(*self._before.pop())

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

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
        self._before.append((state.enabled, state.fresh))
        switch(self._mode, state.fresh)

    def _target(self) -> tuple[bool, Alias | None]:
        return self._mode, state.fresh

    def _again(self) -> "_Mode":
        return _Set(self._mode)

    def __enter__(self) -> None:
        if len(self._before) == 1:  # already switched by the constructor
            switch(*self._target())
            self._before.append(self._before[0])
        else:
            super().__enter__()

    def __call__(self, function: F) -> F:
        switch(*self._before[0])  # as a decorator it acts in the calls only
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


class new_nodes:
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
        self._keep = keep if call or keep is None else lambda node, *_: keep(node)
        self._note = note if call or note is None else lambda node, *_: note(node)
        self._before: list[Any] = []

    def __enter__(self) -> Any:
        self._before.append((state.keep, state.notes))
        notes = state.notes if self._note is None else (*state.notes, self._note)
        self._set(state.keep if self._keep is None else self._keep, notes)

    def __exit__(self, *exc: object) -> None:
        self._set(*self._before.pop())

    def _set(self, keep: Callable[..., None] | None, notes: tuple[Callable[..., None], ...]) -> None:
        state.keep, state.notes = keep, notes
        state.keeping = _all(notes, keep) if notes or keep is not None else None
        switch(state.enabled, state.fresh)


class plain_nodes(new_nodes):
    """A context in which new nodes are left as they are, whatever is set outside."""

    def __enter__(self) -> None:
        self._before.append((state.keep, state.notes))
        self._set(None, ())


def _all(notes: tuple[Callable[..., None], ...], keep: Callable[..., None] | None) -> Callable[..., None]:
    def each(node: Any, *call: Any) -> None:
        for note in notes:
            note(node, *call)
        if keep is not None:
            keep(node, *call)

    return each
