"""How many programs were made in this process, of how many functions in C, and how long that took."""

import time
from typing import NamedTuple

__all__ = ["Clock", "Tally", "add", "of_process"]


class Tally(NamedTuple):
    """What was made, and in how many seconds."""

    programs: int = 0
    equations: int = 0
    tracing: float = 0.0
    compiling: float = 0.0
    built: int = 0  # functions in C, or kernels, that a compiler made
    found: int = 0  # those that were on disk already

    def plus(self, **more: float) -> "Tally":
        """Both together."""
        return self._replace(**{name: getattr(self, name) + value for name, value in more.items()})


_now = Tally()


def of_process() -> Tally:
    """What was made so far."""
    return _now


def add(**more: float) -> None:
    """Something more was made."""
    global _now
    _now = _now.plus(**more)


class Clock:
    """Seconds since the last time that it was asked."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        """These seconds."""
        last, self._last = self._last, time.perf_counter()
        return self._last - last
