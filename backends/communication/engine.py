"""What is asked of an engine that moves arrays between processes.

An engine speaks for one set of processes, its members, numbered from 0. Every call is started, and gives a `Pending`
that says when it is done. Members make the same calls in the same order. Arrays are raw, contiguous, of one dimension;
they are the engine's until the call is done. Sums are of float32, float64, integers, or of complex numbers; 16-bit
floats have become float32, and booleans uint8, before.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple


class Launch(NamedTuple):
    """What a launcher said to this process: its number, how many there are, the same on its host; where they meet."""

    rank: int
    size: int
    local_rank: int
    local_size: int
    address: str | None = None
    port: int | None = None
    timeout: float = 1800.0  # seconds that an operation may take


class EngineError(RuntimeError):
    """An operation failed: another process has ended, calls were different, or took too long."""


class Pending:
    """A running operation."""

    __slots__ = ()

    def release(self) -> None:
        """Whoever started it goes on to something else before it waits: let others, who come by, ask for it, too."""

    def done(self) -> bool:
        """Whether it is over. Asking lets it go on, where nothing else does."""
        raise TypeError(f"{type(self).__name__} does not say when it is done")

    def wait(self, timeout: float | None = None) -> None:
        """Return when it is over, or the current stream will have waited for it; TimeoutError after so many seconds."""
        raise TypeError(f"{type(self).__name__} does not say how to wait for it")


class Done(Pending):
    """An operation that had nothing to do."""

    def done(self) -> bool:
        return True

    def wait(self, timeout: float | None = None) -> None:
        pass


class Engine:
    """Operations among the members. ``op`` is one of ``operations``; ``root``, ``to`` and ``source`` are members."""

    name: ClassVar[str]
    host: ClassVar[bool]  # whether arrays are in host memory
    operations: frozenset[str] = frozenset({"sum", "prod", "max", "min"})  # perhaps "avg"
    rank: int
    size: int
    timeout: float = 1800.0  # seconds that an operation may take, where nobody waits for it

    def takes(self, array: Any) -> bool:
        """Whether an array is in memory that the engine reads and writes; copies of others are."""
        raise TypeError

    def all_reduce(self, array: Any, op: str) -> Pending:
        """Everybody's array becomes the reduction of all."""
        raise TypeError

    def all_reduce_now(self, op: str) -> Callable[[Any, float], bool] | None:
        """The same and waiting for it (TimeoutError after so many seconds) as one call that asks for nothing else.

        It takes an array of any number of dimensions; False, and nothing done: not such memory. None: there is none.
        """
        return None

    def reduce(self, array: Any, root: int, op: str) -> Pending:
        """The root's array becomes the reduction of all; those of others stay."""
        raise TypeError

    def broadcast(self, array: Any, root: int) -> Pending:
        """Everybody's array becomes the root's."""
        raise TypeError

    def all_gather(self, source: Any, target: Any) -> Pending:
        """Everybody's target becomes all sources, one after the other."""
        raise TypeError

    def reduce_scatter(self, source: Any, target: Any, op: str) -> Pending:
        """Sources are reduced, and everybody's target becomes its part: the first member's is the first."""
        raise TypeError

    def all_to_all(self, source: Any, target: Any, sent: Sequence[int], received: Sequence[int]) -> Pending:
        """Everybody sends a part of its source to each, of so many elements; parts arrive in the senders' order."""
        raise TypeError

    def gather(self, source: Any, target: Any, root: int) -> Pending:
        """The root's target becomes all sources; others have None for it."""
        raise TypeError

    def scatter(self, source: Any, target: Any, root: int) -> Pending:
        """Everybody's target becomes its part of the root's source; others have None for the latter."""
        raise TypeError

    def send(self, array: Any, to: int, tag: int) -> Pending:
        raise TypeError

    def recv(self, array: Any, source: int | None, tag: int) -> Pending:
        """Receive what was sent with this tag, by anybody if source is None; the pending's ``source`` says by whom."""
        raise TypeError

    def barrier(self) -> Pending:
        raise TypeError

    def split(self, members: Sequence[int] | None, among_members: bool = False) -> "Engine | None":
        """An engine of some members, in this order; None for the others, who call this, too, with None or their own.

        With ``among_members`` only those call it.
        """
        raise TypeError

    def close(self) -> None:
        """Give back what the engine holds; the others do, too."""
        raise TypeError

    def abort(self, code: int) -> None:
        """End all processes of the job."""
        raise TypeError
