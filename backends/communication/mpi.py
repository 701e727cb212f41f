"""MPI, through mpi4py: arrays in host memory, and CUDA arrays where the library takes them (`takes_cuda`).

All operations are MPI's non-blocking ones: a blocking call would not match the non-blocking one of another process.
MPI moves on only inside of calls, so whoever starts an operation lets those before it go on.
"""

import ctypes
import functools
import importlib.util
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lucidgrad.core.errors import install

from .engine import Done, Engine, Launch, Pending

#: Seconds of polling without a pause, then of giving way to other processes; after that with short sleeps.
_EAGER, _PATIENT, _PAUSE = 2e-3, 10.0, 1e-4
_POLLS = range(1024)  # between two looks at the clock

#: Operations that are not over. They hold their arrays, and every new one lets them go on.
_running: "dict[int, Running]" = {}


def missing() -> str | None:
    """Why MPI can't be used; None: it can."""
    if importlib.util.find_spec("mpi4py") is None:
        return f"mpi4py is not installed: {install('mpi')}; it uses the site's MPI library, or pip install mpich"
    return None


def _mpi() -> Any:
    """mpi4py's module, which starts MPI when it is imported for the first time."""
    reason = missing()
    if reason is not None:
        raise RuntimeError(f"the backend 'mpi' can't be used: {reason}")
    import mpi4py

    mpi4py.rc.finalize = False  # `close` does it: a process that leaves early must not wait there for the others
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(
            f"the backend 'mpi' can't be used: mpi4py finds no MPI library that works ({error}); load the site's MPI "
            f"module, or pip install mpich"
        ) from error
    if MPI.Is_finalized():
        raise RuntimeError("MPI was ended in this process, and can't be started again; start another process")
    return MPI


def connect(launch: Launch | None = None, host: Engine | None = None) -> "MPIEngine":
    """All processes that were started together."""
    mpi = _mpi()
    return MPIEngine(mpi, mpi.COMM_WORLD.Dup())


def launched() -> Launch:
    """This process's number and how many there are, in all and on this host; all processes ask at once."""
    mpi = _mpi()
    local = mpi.COMM_WORLD.Split_type(mpi.COMM_TYPE_SHARED)
    found = Launch(mpi.COMM_WORLD.rank, mpi.COMM_WORLD.size, local.rank, local.size)
    local.Free()
    return found


def library() -> str:
    """The name of the library that mpi4py found."""
    return str(_mpi().Get_library_version()).partition("\n")[0].strip("\0 ")


@functools.cache
def takes_cuda() -> bool:
    """Whether the library takes pointers to CUDA memory: LUCIDGRAD_MPI_CUDA says so, or else the library itself."""
    said = os.environ.get("LUCIDGRAD_MPI_CUDA")
    if said is not None:
        return said not in ("", "0")
    try:
        return bool(ctypes.CDLL(_mpi().__file__).MPIX_Query_cuda_support())
    except (AttributeError, OSError):
        return False


def end() -> None:
    """End MPI, which waits for all processes."""
    from mpi4py import MPI

    if not MPI.Is_finalized():
        MPI.Finalize()


class Running(Pending):
    """A request of MPI's, and the arrays that it uses."""

    __slots__ = ("_held", "_lock", "_request", "_status")

    def __init__(self, request: Any, held: tuple[Any, ...], status: Any = None) -> None:
        self._request, self._held, self._status = request, held, status
        self._lock: Any = None  # once others know of it: one thread at a time asks MPI for it

    @property
    def source(self) -> int | None:
        """By which member something was sent that was received."""
        return None if self._status is None else self._status.source

    def release(self) -> None:
        if self._lock is None and self._request is not None:
            self._lock = threading.Lock()
            _running[id(self)] = self

    def done(self) -> bool:
        return self._asked((0,))

    def _asked(self, times: Sequence[int]) -> bool:
        """Whether it is over, asking so many times at most."""
        lock = self._lock
        if lock is not None and not lock.acquire(blocking=False):
            return self._request is None
        try:
            if self._request is None:
                return True
            test, status = self._request.Test, self._status
            for _ in times:
                if test(status):
                    self._request, self._held = None, ()
                    _running.pop(id(self), None)
                    return True
            return False
        finally:
            if lock is not None:
                lock.release()

    def wait(self, timeout: float | None = None) -> None:
        begin = time.monotonic()
        try:
            while not self._asked(_POLLS):
                waited = time.monotonic() - begin
                if timeout is not None and waited > timeout:
                    raise TimeoutError
                if waited > _EAGER:
                    _poke()  # the others may be waited for elsewhere
                    time.sleep(_PAUSE if waited > _PATIENT else 0)
        except BaseException:
            self.release()  # MPI goes on to use the arrays
            raise


def _poke() -> None:
    for pending in tuple(_running.values()):
        pending.done()


class MPIEngine(Engine):
    """A communicator."""

    name, host = "mpi", True

    def __init__(self, mpi: Any, comm: Any) -> None:
        self._mpi, self._comm, self.rank, self.size = mpi, comm, comm.rank, comm.size
        self._in_place = mpi.IN_PLACE
        self._operations = {"sum": mpi.SUM, "prod": mpi.PROD, "max": mpi.MAX, "min": mpi.MIN}

    def takes(self, array: Any) -> bool:
        return isinstance(array, np.ndarray) or (type(array).__module__.startswith("cupy") and takes_cuda())

    def _started(self, request: Any, *held: Any) -> Pending:
        if _running:
            _poke()
        return Running(request, held)

    def all_reduce(self, array: Any, op: str) -> Pending:
        if not array.size:
            return Done()
        return self._started(self._comm.Iallreduce(self._in_place, array, self._operations[op]), array)

    def all_reduce_now(self, op: str) -> Callable[[Any, float], bool]:
        begin, in_place, how = self._comm.Iallreduce, self._in_place, self._operations[op]

        def reduced(array: Any, timeout: float) -> bool:
            if not array.flags.carray or _running or not array.size:
                return False
            request = begin(in_place, array, how)
            try:
                test = request.Test
                for _ in _POLLS:  # most are over by then, and nothing else needs to be made for them
                    if test():
                        return True
            except BaseException:
                Running(request, (array,)).release()  # MPI goes on to use the array
                raise
            Running(request, (array,)).wait(timeout)
            return True

        return reduced

    def reduce(self, array: Any, root: int, op: str) -> Pending:
        if not array.size:
            return Done()
        pair = (self._in_place, array) if self.rank == root else (array, None)
        return self._started(self._comm.Ireduce(*pair, self._operations[op], root), array)

    def broadcast(self, array: Any, root: int) -> Pending:
        if not array.size:
            return Done()
        return self._started(self._comm.Ibcast(_octets(array), root), array)

    def all_gather(self, source: Any, target: Any) -> Pending:
        if not target.size:
            return Done()
        return self._started(self._comm.Iallgather(_octets(source), _octets(target)), source, target)

    def reduce_scatter(self, source: Any, target: Any, op: str) -> Pending:
        if not source.size:
            return Done()
        request = self._comm.Ireduce_scatter_block(source, target, self._operations[op])
        return self._started(request, source, target)

    def all_to_all(self, source: Any, target: Any, sent: Sequence[int], received: Sequence[int]) -> Pending:
        width, octet = source.dtype.itemsize, self._mpi.BYTE
        messages = [
            [_octets(array), [n * width for n in counts], [int(n) * width for n in np.cumsum([0, *counts[:-1]])], octet]
            for array, counts in ((source, list(sent)), (target, list(received)))
        ]
        return self._started(self._comm.Ialltoallv(*messages), source, target)

    def gather(self, source: Any, target: Any, root: int) -> Pending:
        if not source.size:
            return Done()
        into = _octets(target) if self.rank == root else None
        return self._started(self._comm.Igather(_octets(source), into, root), source, target)

    def scatter(self, source: Any, target: Any, root: int) -> Pending:
        if not target.size:
            return Done()
        parts = _octets(source) if self.rank == root else None
        return self._started(self._comm.Iscatter(parts, _octets(target), root), source, target)

    def send(self, array: Any, to: int, tag: int) -> Pending:
        return self._started(self._comm.Isend(_octets(array), to, tag), array)

    def recv(self, array: Any, source: int | None, tag: int) -> Pending:
        origin = self._mpi.ANY_SOURCE if source is None else source
        _poke()
        return Running(self._comm.Irecv(_octets(array), origin, tag), (array,), self._mpi.Status())

    def barrier(self) -> Pending:
        return self._started(self._comm.Ibarrier())

    def split(self, members: Sequence[int] | None, among_members: bool = False) -> "MPIEngine | None":
        if among_members:
            group = self._comm.group.Incl(list(members or ()))
            return MPIEngine(self._mpi, self._comm.Create_group(group))
        inside = members is not None and self.rank in members
        comm = self._comm.Split(0 if inside else self._mpi.UNDEFINED, members.index(self.rank) if inside else 0)  # type: ignore[union-attr]
        return MPIEngine(self._mpi, comm) if inside else None

    def close(self) -> None:
        for pending in tuple(_running.values()):
            pending.wait(_PATIENT)
        if self._comm != self._mpi.COMM_NULL:
            self._comm.Free()

    def abort(self, code: int) -> None:
        self._mpi.COMM_WORLD.Abort(code)


def _octets(array: Any) -> Any:
    """The memory of an array, whatever its numbers are: MPI knows no bfloat16."""
    return (array.view(np.ndarray) if isinstance(array, np.ndarray) else array).view(np.uint8)
