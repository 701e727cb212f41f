"""How a job ends when one of its processes does: by an error, by ``sys.exit``, or without leaving its groups.

The others would wait for it for ever. So an error that nobody caught, in any thread, is shown and then ends the job; a
process that leaves without `destroy_process_group` waits a while for the others to leave, too, and ends the job then.
"""

import array
import atexit
import os
import stat
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

#: How long a process that leaves waits for the others: LUCIDGRAD_DISTRIBUTED_EXIT_SECONDS says otherwise.
EXIT_SECONDS = 30.0
_AT_ONCE = 1.0  # after sys.exit with another code than 0

#: Launchers forward what they have read until they learn of the end, and may forget the rest: seconds that they have to
#: read it, at most, and then to forward it.
_READ, _FORWARDED = 20.0, 0.3
_ABORTED = 1
_INTERRUPTED = 130  # as shells say of Ctrl-C


def _unread(stream: Any) -> bool:
    """Whether a stream is a pipe, and not all that was written to it was read."""
    try:
        import fcntl
        import termios

        file, count = stream.fileno(), array.array("i", [0])
        fcntl.ioctl(file, termios.FIONREAD, count)
        return stat.S_ISFIFO(os.fstat(file).st_mode) and count[0] > 0
    except (ImportError, OSError, ValueError, AttributeError):  # not on this system, or no file of it
        return False


class Watch:
    """What a process has to do, from `init_process_group` to `destroy_process_group`, if it ends.

    ``leave(seconds)`` waits for the others and says whether they came; ``abort(code)`` ends the job; ``end`` is called
    at the end of a process that left its groups.
    """

    def __init__(
        self,
        title: str,
        leave: Callable[[float], bool],
        abort: Callable[[int], None],
        end: Callable[[], None],
    ) -> None:
        self._title, self._leave, self._abort, self._end = title, leave, abort, end
        self._code: Any = None  # what sys.exit was called with
        self._active, self._process = False, os.getpid()
        self._hooks = sys.excepthook, threading.excepthook, sys.exit

    def begin(self, alone: bool = False) -> None:
        """Look on from now on; a process that is alone may end as it likes."""
        atexit.register(self._at_exit)
        if not alone:
            self._active = True
            sys.excepthook, threading.excepthook, sys.exit = self._on_error, self._on_thread_error, self._on_exit

    def finish(self) -> None:
        """Let Python do again what it does; MPI is ended when the process does."""
        if self._active:
            self._active = False
            sys.excepthook, threading.excepthook, sys.exit = self._hooks

    def _mine(self) -> bool:
        return self._active and os.getpid() == self._process  # a worker process has the hooks, too

    def _tell(self, what: str) -> None:
        print(f"{self._title}: {what}", file=sys.stderr)
        limit = time.monotonic() + _READ
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            while _unread(stream) and time.monotonic() < limit:
                time.sleep(0.01)
        time.sleep(_FORWARDED)

    def _on_error(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        self._hooks[0](kind, error, trace)
        if self._mine() and not hasattr(sys, "ps1"):  # at a prompt errors end nothing
            self._tell(f"ended by this {kind.__name__}; the job ends with it")
            self._abort(_INTERRUPTED if issubclass(kind, KeyboardInterrupt) else _ABORTED)

    def _on_thread_error(self, args: Any) -> None:
        self._hooks[1](args)
        if self._mine() and not issubclass(args.exc_type, SystemExit):
            self._tell(f"a thread was ended by this {args.exc_type.__name__}; the job ends with it")
            self._abort(_ABORTED)

    def _on_exit(self, status: Any = None, /) -> Any:
        self._code = status
        self._hooks[2](status)

    def _at_exit(self) -> None:
        if os.getpid() != self._process:
            return
        if not self._active:
            self._end()
            return
        code = self._code if isinstance(self._code, int) else int(self._code is not None)
        seconds = float(os.environ.get("LUCIDGRAD_DISTRIBUTED_EXIT_SECONDS") or EXIT_SECONDS)
        if self._leave(min(seconds, _AT_ONCE) if code else seconds):
            self._end()
            return
        why = f"left by sys.exit({self._code!r})" if code else "left without destroy_process_group()"
        self._tell(f"{why}, and others are still at work; the job ends")
        self._abort(code or _ABORTED)
