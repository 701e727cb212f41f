"""The modes that users set: whether operations are recorded. Each is a context manager and a decorator."""

import functools
import inspect
from collections.abc import Callable, Generator, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

from lucidgrad.core.box import INFERENCE, Alias
from lucidgrad.core.modes import recorded, recording, state

F = TypeVar("F", bound=Callable[..., Any])


def is_grad_enabled() -> bool:
    """Whether operations of this thread are recorded.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.is_grad_enabled()
    True
    """
    return state.enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.is_inference_mode_enabled()
    False
    """
    return state.fresh is INFERENCE


class _Mode(recorded):
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
    """Operations inside are recorded, also within `no_grad`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2, requires_grad=True)
    >>> with lg.no_grad(), lg.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

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
        """As a decorator it acts in the calls only."""
        self._undo()
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


class set_multithreading_enabled:
    """Accepted as in PyTorch, and without effect: walks run in the thread that called for them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> with lg.autograd.set_multithreading_enabled(False):
    ...     lg.ones(2, requires_grad=True).sum().backward()
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"set_multithreading_enabled: given {type(mode).__name__}, expected a bool")
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass
