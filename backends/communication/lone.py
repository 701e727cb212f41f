"""A process by itself, for which nothing has to be installed: what it sends, it receives."""

from collections.abc import Sequence
from typing import Any

from .engine import Done, Engine, Launch, Pending


def missing() -> None:
    """Nothing is: it can always be used."""


def launched() -> Launch:
    return Launch(0, 1, 0, 1)


def library() -> str:
    return "no library"


def connect(launch: Launch, host: Engine | None = None) -> "LoneEngine":
    return LoneEngine()


def end() -> None:
    """Nothing is left to do."""


class LoneEngine(Engine):
    """A group of one."""

    name, host, rank, size = "lone", False, 0, 1
    operations = Engine.operations | {"avg"}

    def takes(self, array: Any) -> bool:
        return hasattr(array, "strides")

    def _to_itself(self, source: Any, target: Any) -> Pending:
        target[...] = source
        return Done()

    def all_reduce(self, array: Any, op: str) -> Pending:
        return Done()

    def reduce(self, array: Any, root: int, op: str) -> Pending:
        return Done()

    def broadcast(self, array: Any, root: int) -> Pending:
        return Done()

    def all_gather(self, source: Any, target: Any) -> Pending:
        return self._to_itself(source, target)

    def reduce_scatter(self, source: Any, target: Any, op: str) -> Pending:
        return self._to_itself(source, target)

    def all_to_all(self, source: Any, target: Any, sent: Sequence[int], received: Sequence[int]) -> Pending:
        return self._to_itself(source, target)

    def gather(self, source: Any, target: Any, root: int) -> Pending:
        return self._to_itself(source, target)

    def scatter(self, source: Any, target: Any, root: int) -> Pending:
        return self._to_itself(source, target)

    def barrier(self) -> Pending:
        return Done()

    def split(self, members: Sequence[int] | None, among_members: bool = False) -> "LoneEngine":
        return LoneEngine()

    def close(self) -> None:
        pass

    def abort(self, code: int) -> None:
        pass
