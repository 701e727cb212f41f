"""Handles of running operations."""

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.backends.communication import EngineError, Pending

from .groups import ProcessGroup


class DistError(RuntimeError):
    """Something went wrong between processes.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> issubclass(dist.DistError, RuntimeError)
    True
    """


class DistBackendError(DistError):
    """An operation did not end in time, or an engine failed.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> issubclass(dist.DistBackendError, dist.DistError)
    True
    """


def failed(name: str, group: ProcessGroup, error: Exception, seconds: float) -> DistBackendError:
    """What to raise when an engine could not start an operation, or it did not end within so many seconds."""
    if isinstance(error, TimeoutError):
        return DistBackendError(
            f"{name}: process {group.rank()} of {group!r} waited {seconds:g} s for the others; one has not called it, "
            f"has ended or is slow: look at their output, or pass a longer timeout to init_process_group"
        )
    return DistBackendError(f"{name}: process {group.rank()} of {group!r}: {error}")


def wait_for(name: str, group: ProcessGroup, pending: Pending, seconds: float) -> None:
    """Wait until an operation is over; what goes wrong says which one, and where."""
    try:
        pending.wait(seconds)
    except (EngineError, TimeoutError) as error:
        raise failed(name, group, error, seconds) from error


class Work:
    """A running operation, as `async_op=True` returns it. Its tensors are not to be used before `wait` returned.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x = lg.ones(2)
    >>> work = dist.all_reduce(x, async_op=True)
    >>> work.wait()
    True
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, name: str, pending: Pending, group: ProcessGroup, finish: Callable[[], None], results: Sequence[Any]
    ) -> None:
        self._name, self._pending, self._group, self._results = name, pending, group, list(results)
        self._finish: Callable[[], None] | None = finish
        self._error: Exception | None = None

    def wait(self, timeout: datetime.timedelta | None = None) -> bool:
        """Return when the results are there; on CUDA, when the current stream will have waited for them."""
        if self._finish is None:
            return True
        seconds = self._group.timeout if timeout is None else timeout.total_seconds()
        try:
            wait_for(self._name, self._group, self._pending, seconds)
        except DistBackendError as error:
            self._error = error
            raise
        finish, self._finish = self._finish, None
        finish()
        return True

    def is_completed(self) -> bool:
        """Whether `wait` would return at once."""
        return self._finish is None or self._pending.done()

    def is_success(self) -> bool:
        """Whether it is over, and nothing went wrong."""
        return self._error is None and self.is_completed()

    def exception(self) -> Exception | None:
        """What went wrong."""
        return self._error

    def result(self) -> list[Any]:
        """The tensors that it writes, when they are there."""
        self.wait()
        return self._results

    def source_rank(self) -> int:
        """By whom something was sent that was received from anybody."""
        self.wait()
        member = getattr(self._pending, "source", None)
        if member is None:
            raise RuntimeError(f"{self._name}: only what was received has a source")
        return self._group.ranks[member]

    def get_future(self) -> "Future":
        """The results as a future, to which more can be added that shall happen then."""
        return Future(self.result, self.is_completed)


class Future:
    """A value that will be there: `then` gives another one, made of it when somebody waits.

    Examples
    --------
    >>> from lucidgrad.communication.work import Future
    >>> ready = Future()
    >>> ready.set_result(2)
    >>> ready.then(lambda given: given.value() + 1).wait()
    3
    """

    def __init__(self, make: Callable[[], Any] | None = None, done: Callable[[], bool] | None = None) -> None:
        self._make, self._done = make, done
        self._value: Any = None
        self._there = False
        self._callbacks: list[Callable[[Future], Any]] = []

    def set_result(self, result: Any) -> None:
        """Give it its value."""
        if self._there:
            raise RuntimeError("set_result: the future has a value already")
        self._value, self._there = result, True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def wait(self) -> Any:
        """The value, when it is there."""
        if not self._there:
            if self._make is None:
                raise RuntimeError("wait: nobody has called set_result, and nobody else can")
            self.set_result(self._make())
        return self._value

    def value(self) -> Any:
        """The value, which must be there."""
        return self.wait()

    def done(self) -> bool:
        """Whether `wait` would return at once."""
        return self._there or (self._done is not None and self._done())

    def then(self, callback: Callable[["Future"], Any]) -> "Future":
        """The future of what the callback makes of this one."""
        return Future(lambda: (self.wait(), callback(self))[1], self.done)

    def add_done_callback(self, callback: Callable[["Future"], Any]) -> None:
        """Call something when the value is there."""
        if self._there:
            callback(self)
        else:
            self._callbacks.append(callback)
