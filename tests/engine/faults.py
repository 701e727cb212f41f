"""Faults at chosen moments: an exception before the n-th instruction, or the n-th call of a kernel, of the library."""

import dis
import functools
import sys
from pathlib import Path

import numpy as np
from thoroughness import draw

import lucidgrad as lg
from lucidgrad.autograd.accumulation import _turn

_ROOT = Path(lg.__file__).resolve().parent.parent
_OURS = (f"{_ROOT}/lucidgrad/", f"{_ROOT}/backends/", "<")  # "<": code that the library writes itself
_KERNELS = (f"{_ROOT}/backends/", f"{_ROOT}/lucidgrad/backends/")


class Fault(BaseException):
    """What is raised; nothing but a bare ``except`` may catch it."""


class _Moments:
    """Counts moments of a call, and raises at the one of a number."""

    def __init__(self, number=0):
        self.number, self.count = number, 0

    def __enter__(self):
        self._errors = np.geterr()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *exc):
        sys.settrace(None)
        # Python looks for no signal between taking a lock and the block that gives it back, but faults come there, too.
        while _turn.lock._is_owned():
            _turn.lock.release()
        np.seterr(**self._errors)  # the same

    def _tick(self):
        self.count += 1
        if self.count == self.number:
            raise Fault


class Instructions(_Moments):
    """The instructions of the library's own code, or of the files that are named."""

    def __init__(self, number=0, files=()):
        super().__init__(number)
        self._files = files

    def _trace(self, frame, event, _):
        name = frame.f_code.co_filename
        if not name.startswith(_OURS) or (self._files and not name.endswith(self._files)):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, _, event, __):
        if event == "opcode":
            self._tick()
        return self._step


class Interruptions(Instructions):
    """The moments at which Python lets signal handlers run: after calls, where functions begin, where loops go back."""

    _BEFORE = ("CALL", "RESUME", "JUMP_BACKWARD")

    def _step(self, frame, event, _):
        if event == "opcode":
            before, self._earlier = self._earlier, (frame, _names(frame.f_code)[frame.f_lasti])
            if before[0] is frame and before[1].startswith(self._BEFORE):
                self._tick()
        return self._step

    _earlier = None, ""


@functools.cache
def _names(code):
    return {at.offset: at.opname for at in dis.get_instructions(code)}


class Kernels(_Moments):
    """The calls of the back ends' functions: each may find no memory, but those that give something back."""

    _GIVING_BACK = ("__exit__", "free_postprocess")  # the second runs in destructors, which let nothing out

    def _trace(self, frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_KERNELS) and code.co_name not in self._GIVING_BACK:
            self._tick()


def moments(kind, call, most):
    """The numbers of the moments of a call: all of them, or so many by chance."""
    with kind() as found:
        call()
    numbers = range(1, found.count + 1)
    return numbers if len(numbers) <= most else sorted(draw(0).sample(numbers, most))
