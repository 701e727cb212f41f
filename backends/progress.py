"""A line on the standard error for whoever waits for more than two seconds: what is being done, and for how long.

``LUCIDGRAD_PROGRESS=0`` (or ``CUDASIM_PROGRESS=0``) keeps it quiet. Nothing is said of what takes less. Of several
processes that a launcher started together, the first one speaks for all.
"""

import os
import sys
import threading
import time
from types import TracebackType

__all__ = ["speaks", "waiting"]

PATIENCE = 2.0  # seconds before anything is said
AGAIN = 15.0  # seconds between lines at first; the pause grows, so that an hour has few lines
PAUSE = 1.0  # seconds between waits for the same thing that still are one wait
_SWITCHES, _OFF = ("LUCIDGRAD_PROGRESS", "CUDASIM_PROGRESS"), ("0", "off", "false", "no")
#: Where launchers say which process this is: mpiexec of several makes, srun, torchrun.
_NUMBERS = ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")


def speaks() -> bool:
    """Whether this process tells users of its progress: the first of those that were started together."""
    return next((os.environ[name] for name in _NUMBERS if name in os.environ), "0") == "0"


class _Topic:
    """What was waited for: many short waits, one soon after the other, are a long one."""

    def __init__(self) -> None:
        self.spent = self.ended = self.next = 0.0
        self.hints: set[str] = set()

    def begin(self, now: float) -> None:
        if now - self.ended > PAUSE:
            self.spent, self.next = 0.0, PATIENCE


_topics: dict[str, _Topic] = {}
_lock = threading.Lock()


class waiting:
    """A context around work that may take long.

    Parameters
    ----------
    what
        What is being done, such as ``"compiling kernels"``.
    hint
        What else to say in the first line, once in a process: why it takes long, and the way out.
    finish
        Whether the end is told, too, if a line was: not of work that comes in many pieces.
    """

    def __init__(self, what: str, hint: str = "", finish: bool = False) -> None:
        self.what, self.hint, self.finish = what, hint, finish
        self._timer: threading.Timer | None = None
        self._told = False

    def __enter__(self) -> "waiting":
        self._start = time.monotonic()
        off = any(os.environ.get(name, "1").strip().lower() in _OFF for name in _SWITCHES)
        self._quiet = off or not speaks()
        if not self._quiet:
            with _lock:
                self._topic = _topics.setdefault(self.what, _Topic())
                self._topic.begin(self._start)
                self._wait()
        return self

    def _spent(self) -> float:
        return self._topic.spent + time.monotonic() - self._start

    def _wait(self) -> None:
        self._timer = threading.Timer(max(self._topic.next - self._spent(), 0.0), self._tell)
        self._timer.daemon = True
        self._timer.start()

    def _tell(self) -> None:
        with _lock:
            if self._timer is None:  # the end came first
                return
            self._told = True
            spent, new = self._spent(), self.hint and self.hint not in self._topic.hints
            _say(f"{self.what}, {spent:.0f} s so far" + (f"; {self.hint}" if new else ""))
            self._topic.hints.add(self.hint)
            self._topic.next = spent + max(AGAIN, spent)
            self._wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._quiet:
            return
        with _lock:
            timer, self._timer = self._timer, None
            self._topic.spent, self._topic.ended = self._spent(), time.monotonic()
            if timer is not None:
                timer.cancel()
            if self._told and self.finish:
                _say(f"{self.what}: {'done' if kind is None else 'given up'} after {self._topic.spent:.0f} s")


def _say(line: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{__name__.partition('.')[0]}: {line}\n")
        sys.stderr.flush()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread may have been telling


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
