"""NCCL, through CuPy's module of that name: CUDA arrays, on streams of their own.

A communicator has a stream. It waits for the one that an operation is called from, since that may still write the
arrays; and the stream that `wait` is called from waits for the operation, since it will read them. The host waits for
neither. Memory is kept until the stream is done with it.

Communicators are made when they are needed: one for collectives on a device, when all members are there; one for
messages from a member to another, in a thread, so that whoever sends need not wait for the other to come. Both are
arranged at a `Meeting`. A watchdog sees to it that no operation waits for ever.
"""

import contextlib
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .engine import Done, Engine, EngineError, Launch, Pending
from .meeting import Meeting

_TYPES = {
    "int8": "INT8", "uint8": "UINT8", "int32": "INT32", "uint32": "UINT32", "int64": "INT64", "uint64": "UINT64",
    "float16": "FLOAT16", "float32": "FLOAT32", "float64": "FLOAT64",
}  # fmt: skip
_WIDER = {"int16": "int32", "uint16": "uint32"}  # NCCL has no 16-bit integers
_PARTS = {"complex64": "float32", "complex128": "float64"}  # sums of complex numbers are sums of their parts
_OPERATIONS = {"sum": "SUM", "prod": "PROD", "max": "MAX", "min": "MIN", "avg": "AVG"}
_worlds = 0  # how often all processes of a launch have met at the same address
_kept: dict[tuple[str, int], Meeting] = {}  # meetings of this process at addresses that a launcher gave


def missing() -> str | None:
    """Why NCCL can't be used; None: it can. CuPy is imported only where there is a device."""
    from lucidgrad.backends import cudasim

    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed, through which NCCL is called"
    if not cudasim.is_installed() and not cudasim.usable_gpus():
        return "there is no GPU here; python -m lucidgrad.cudasim <program> runs a program on an emulated device"
    try:
        from cupy.cuda import nccl
    except Exception as error:  # its libraries may be broken in many ways
        return f"CuPy can't be imported ({error})"
    return None if nccl.available else "CuPy finds no NCCL library; pip install nvidia-nccl-cu12 (or cu13)"


def connect(launch: Launch, host: Engine | None) -> "NCCLEngine":
    """All members of ``host``, or of the launch. What they need to find each other is arranged; no device is used."""
    reason = missing()
    if reason is not None:
        raise RuntimeError(f"the backend 'nccl' can't be used: {reason}")
    if host is not None:
        return NCCLEngine(_by_host(launch, host), "all", host.rank, host.size, launch.timeout)
    global _worlds
    _worlds += 1
    return NCCLEngine(_by_environment(launch), f"all, {_worlds}", launch.rank, launch.size, launch.timeout)


def _by_environment(launch: Launch) -> Meeting:
    address, port = launch.address, launch.port
    if address is None or port is None:
        raise RuntimeError(
            "the backend 'nccl' can't be used: without MPI, processes meet at an address and a port of process 0; set "
            "MASTER_ADDR and MASTER_PORT, or start the program with mpiexec or srun and pass backend=None"
        )
    key = os.environ.get("LUCIDGRAD_DISTRIBUTED_KEY", f"lucidgrad {address} {port}").encode()
    if launch.rank != 0:
        return Meeting(address, port, key)
    if (address, port) not in _kept:
        _kept[address, port] = Meeting.keep(address, port, key)
    return _kept[address, port]


def _by_host(launch: Launch, host: Engine) -> Meeting:
    """The first member keeps it, and says over the other engine where; its key, too, which nobody else knows."""
    import socket

    note = np.zeros(512, np.uint8)
    made = None
    if host.rank == 0:
        near = launch.local_size == launch.size
        made = Meeting.keep("127.0.0.1" if near else launch.address or socket.gethostname(), bind=None if near else "")
        text = f"{made.address} {made.port} {made.key.hex()}".encode()
        note[: len(text)] = np.frombuffer(text, np.uint8)
    host.broadcast(note, 0).wait(launch.timeout)
    address, port, key = note.tobytes().rstrip(b"\0").decode().split()
    return made or Meeting(address, int(port), bytes.fromhex(key))


def end() -> None:
    """Give up what is left at the end of a process; what is under way is not waited for, which could take for ever."""
    _watchdog.stop()


# -- communicators and their streams -------------------------------------------------------------
class Line:
    """A communicator on a device, and the stream that its operations run on."""

    def __init__(self, meeting: Meeting, name: str, rank: int, size: int, device: int, timeout: float) -> None:
        from cupy.cuda import Device, Stream, nccl

        from lucidgrad.backends.cuda import streams

        if rank == 0:  # it tells the number when all are there: NCCL itself would wait for them for ever
            until = time.monotonic() + timeout
            for other in range(1, size):
                meeting.get(f"{name}, member {other}", max(0.0, until - time.monotonic()))
            made = nccl.get_unique_id()
            meeting.put(name, made)
        else:
            meeting.put(f"{name}, member {rank}", b"")
            made = meeting.get(name, timeout)
        with Device(device):
            try:
                self.comm = nccl.NcclCommunicator(size, made, rank)
            except nccl.NcclError as error:
                raise EngineError(
                    f"NCCL can't connect the {size} members of {name!r}: {error}; each process needs a GPU of its own, "
                    f"such as lucidgrad.cuda.set_device(int(os.environ['LOCAL_RANK']))"
                ) from error
            self.place = streams.place_for(device, Stream(non_blocking=True))
        _watchdog.lines.append(self)

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Send work here; where it went before, it goes afterwards."""
        with self.place.current():
            before = self.place.enter()
            try:
                yield
            finally:
                before.enter()

    def follow(self, ready: Any) -> None:
        """Let work on this line wait for an event of the stream that arrays were written on."""
        self.place.stream.wait_event(ready)

    def keep(self, arrays: Sequence[Any]) -> None:
        """Keep the memory of arrays until the line is done with it, though nothing else refers to it any more."""
        from lucidgrad.backends.cuda import streams

        for array in arrays:
            streams.hold(array, self.place)

    def close(self) -> None:
        """Let it finish, and give it back."""
        if self in _watchdog.lines:
            self.place.stream.synchronize()
            _watchdog.lines.remove(self)
            self.comm.destroy()


class Running(Pending):
    """An operation on its way through a line."""

    source: int | None = None

    def __init__(self, text: str, arrays: Sequence[Any], call: Callable[[Any, int], None], timeout: float) -> None:
        from lucidgrad.backends.cuda import streams

        self.text, self._arrays, self._call, self._error = text, arrays, call, ""
        self._device = arrays[0].data.device_id
        now = streams.place_now(self._device)
        self._ready, self._end, self._launched = now.mark(), None, threading.Event()
        self.line: Line | None = None
        self.timeout = timeout
        self.until = time.monotonic() + timeout
        self.watched = not now.stream.is_capturing()  # an event of a graph can't be asked

    def launch(self, line: Line) -> None:
        """Give it to the line; in any thread."""
        from cupy.cuda import nccl

        self.line = line
        try:
            with line.current():
                line.follow(self._ready)
                line.keep(self._arrays)
                self._call(line.comm, line.place.stream.ptr)
                self._end = line.place.mark()
        except nccl.NcclError as error:
            self.fail(f"NCCL: {self.text}: {error}")
        else:
            self._call, self._arrays = None, ()  # type: ignore[assignment]
            self._launched.set()

    def fail(self, text: str) -> None:
        """Let whoever waits know that it will not happen."""
        self._error = text
        self._launched.set()

    def done(self) -> bool:
        self._check()
        if not self.watched:  # it is a part of a graph, for which nobody waits while it is recorded
            return self._launched.is_set()
        return self._end is not None and bool(self._end.done)

    def _check(self) -> None:
        if self._error or _watchdog.failure:
            raise EngineError(self._error or _watchdog.failure)

    def wait(self, timeout: float | None = None) -> None:
        if not self._launched.wait(timeout):
            raise TimeoutError
        self._check()
        from lucidgrad.backends.cuda import streams

        now = streams.place_now(self._device)
        with now.current():
            now.stream.wait_event(self._end)


class Meet(Running):
    """An operation that the host waits for."""

    def wait(self, timeout: float | None = None) -> None:
        until = time.monotonic() + (self.timeout if timeout is None else timeout)
        while not self.done():
            if time.monotonic() > until:
                raise TimeoutError
            time.sleep(1e-4)


class Channel:
    """The line of messages from one member to another. It connects in a thread; what is sent meanwhile waits."""

    def __init__(self, connect: Callable[[], Line]) -> None:
        self._connect, self._lock, self._waiting = connect, threading.Lock(), list[Running]()
        self.line: Line | None = None
        self._error = ""
        self._thread = threading.Thread(target=self._open, name="lucidgrad messages", daemon=True)
        self._thread.start()

    def _open(self) -> None:
        line, error = None, ""
        try:
            line = self._connect()
        except (RuntimeError, OSError) as caught:
            error = str(caught)
        with self._lock:
            self.line, self._error = line, error
            waiting, self._waiting = self._waiting, []
            for operation in waiting:
                self._give(operation)

    def _give(self, operation: Running) -> None:
        if self.line is None:
            operation.fail(f"NCCL: {operation.text}: {self._error}")
        else:
            operation.launch(self.line)

    def start(self, operation: Running) -> None:
        """Launch an operation, as soon as that is possible, in the order of the calls."""
        with self._lock:
            if self.line is None and not self._error:
                self._waiting.append(operation)
            else:
                self._give(operation)

    def close(self) -> None:
        """Let it finish, and give it back."""
        self._thread.join()
        if self.line is not None:
            self.line.close()


class Watchdog:
    """A thread that looks at what is under way. If something fails or takes too long, all communicators of this
    process are aborted, before any is collected (that would wait), and the thread ends with an error, which ends the
    job: the others learn of it, or come to the same end by themselves.
    """

    interval = 0.25

    def __init__(self) -> None:
        self.lines: list[Line] = []  # they are kept alive
        self.failure, self._stopped = "", False
        self._running: list[Running] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def watch(self, operation: Running) -> None:
        """Look at an operation from now on."""
        with self._lock:
            self._running.append(operation)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="lucidgrad watchdog", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._stopped:
            time.sleep(self.interval)
            with self._lock:
                looked = tuple(self._running)
            over = {id(operation) for operation in looked if self._over(operation)}
            with self._lock:
                self._running = [operation for operation in self._running if id(operation) not in over]
            for line in tuple(self.lines):
                self._look_at(line)

    def _over(self, operation: Running) -> bool:
        try:
            if operation.done():
                return True
        except EngineError:
            return True  # whoever waits is told
        except Exception as error:  # of the device
            self._give_up(f"NCCL: {operation.text}: {error}")
        if time.monotonic() > operation.until:
            self._give_up(
                f"NCCL: {operation.text} has not ended within {operation.timeout:g} s: another process has not called "
                f"it, has ended or is slow; look at their output, or pass a longer timeout to init_process_group"
            )
        return False

    def _look_at(self, line: Line) -> None:
        from cupy.cuda import nccl

        try:
            line.comm.check_async_error()
        except nccl.NcclError as error:
            if line in self.lines and not self._stopped:
                time.sleep(self.interval)  # whoever noticed first says why, and ends the job
                self._give_up(f"NCCL: {error}")

    def _give_up(self, text: str) -> None:
        self.failure = text
        # Said first: the others see aborted communicators at once, and may end this process before its traceback.
        print(text, file=sys.stderr, flush=True)
        self.abort()
        raise EngineError(text)

    def stop(self) -> None:
        """Look at nothing any more, and give up communicators."""
        self._stopped = True
        for line in tuple(self.lines):
            if line.place.stream.done:
                line.close()
        self.abort()

    def abort(self) -> None:
        """End all communicators of this process, without waiting for anything."""
        lines, self.lines = self.lines, []
        for line in lines:
            line.comm.abort()


_watchdog = Watchdog()


# -- the engine ----------------------------------------------------------------------------------
class NCCLEngine(Engine):
    """Members that meet at a place, under a title that they have in common."""

    name, host = "nccl", False

    def __init__(self, meeting: Meeting, title: str, rank: int, size: int, timeout: float) -> None:
        self._meeting, self._title, self.rank, self.size, self.timeout = meeting, title, rank, size, timeout
        # NCCL multiplies by 1/n first, which rounds unless n is a power of two; then the sum is divided.
        self.operations = frozenset(_OPERATIONS) if size & (size - 1) == 0 else Engine.operations
        self._lines: dict[int, Line] = {}  # by device
        self._channels: dict[tuple[int, int, int], Channel] = {}  # by sender, receiver and device
        self._parts: dict[tuple[int, ...], int] = {}  # how often the same members were split off

    def takes(self, array: Any) -> bool:
        import cupy

        return type(array) is cupy.ndarray

    # -- how an operation starts -----------------------------------------------------------------
    def _line(self, device: int) -> Line:
        """The line of collectives on a device; all members ask for the first time at the same point."""
        if device not in self._lines:
            name = f"{self._title}, device {len(self._lines)}"  # its number may be another one there
            try:
                self._lines[device] = Line(self._meeting, name, self.rank, self.size, device, self.timeout)
            except TimeoutError as error:
                raise EngineError(f"NCCL can't connect the {self.size} members of {name!r}: {error}") from error
        return self._lines[device]

    def _text(self, name: str, array: Any) -> str:
        return (
            f"{name} of {array.size} numbers of {array.dtype} on cuda:{array.data.device_id}, member {self.rank} of "
            f"{self.size}"
        )

    def _start(
        self, name: str, arrays: Sequence[Any], call: Callable[[Any, int], None], kind: type[Running] = Running
    ) -> Running:
        if _watchdog.failure:
            raise EngineError(_watchdog.failure)
        line = self._line(arrays[0].data.device_id)
        made = kind(self._text(name, arrays[0]), arrays, call, self.timeout)
        made.launch(line)
        return self._watched(made)

    def _watched(self, made: Running) -> Running:
        if made.watched:
            _watchdog.watch(made)
        return made

    # -- collectives -----------------------------------------------------------------------------
    def _reduced(self, name: str, source: Any, target: Any, op: str, call: Callable[..., None]) -> Pending:
        """Start a reduction: ``call(comm, send, receive, count, type, operation, stream)``."""
        from cupy.cuda import nccl

        dtype = source.dtype.name
        number = getattr(nccl, f"NCCL_{_OPERATIONS[op]}")
        parts = 2 if dtype in _PARTS else 1
        kind = getattr(nccl, f"NCCL_{_TYPES[_WIDER.get(dtype) or _PARTS.get(dtype) or dtype]}")

        def run(comm: Any, stream: int) -> None:
            if dtype not in _WIDER:
                call(comm, source.data.ptr, target.data.ptr, target.size * parts, kind, number, stream)
                return
            send = source.astype(_WIDER[dtype])
            receive = send if target is source else target.astype(_WIDER[dtype])
            call(comm, send.data.ptr, receive.data.ptr, target.size, kind, number, stream)
            target[...] = receive

        return self._start(name, (source,) if target is source else (source, target), run)

    def all_reduce(self, array: Any, op: str) -> Pending:
        if not array.size:
            return Done()
        return self._reduced("all_reduce", array, array, op, lambda comm, *words: comm.allReduce(*words))

    def reduce(self, array: Any, root: int, op: str) -> Pending:
        if not array.size:
            return Done()
        call = lambda comm, *words: comm.reduce(*words[:-1], root, words[-1])
        return self._reduced("reduce", array, array, op, call)

    def reduce_scatter(self, source: Any, target: Any, op: str) -> Pending:
        if not source.size:
            return Done()
        return self._reduced("reduce_scatter", source, target, op, lambda comm, *words: comm.reduceScatter(*words))

    def broadcast(self, array: Any, root: int) -> Pending:
        if not array.size:
            return Done()
        octet, pointer = _octet(), array.data.ptr
        call = lambda comm, stream: comm.broadcast(pointer, pointer, array.nbytes, octet, root, stream)
        return self._start("broadcast", (array,), call)

    def all_gather(self, source: Any, target: Any) -> Pending:
        if not target.size:
            return Done()
        octet = _octet()
        call = lambda comm, stream: comm.allGather(source.data.ptr, target.data.ptr, source.nbytes, octet, stream)
        return self._start("all_gather", (source, target), call)

    # -- from one to another, in a group ---------------------------------------------------------
    def _exchange(self, name: str, source: Any, target: Any, sent: Sequence[int], received: Sequence[int]) -> Pending:
        """Send parts of so many elements to each member, and receive others; the own part is copied."""
        arrays = tuple(array for array in (source, target) if array is not None and array.size)
        if not arrays:
            return Done()

        def run(comm: Any, stream: int) -> None:
            from cupy.cuda import nccl

            octet, width = _octet(), arrays[0].dtype.itemsize
            nccl.groupStart()
            try:
                begin = 0
                for member, count in enumerate(sent):
                    if count and member != self.rank:
                        comm.send(source.data.ptr + begin * width, count * width, octet, member, stream)
                    begin += count
                begin = 0
                for member, count in enumerate(received):
                    if count and member != self.rank:
                        comm.recv(target.data.ptr + begin * width, count * width, octet, member, stream)
                    begin += count
            finally:
                nccl.groupEnd()
            own = sent[self.rank] if sent and received else 0
            if own:
                start, end = sum(sent[: self.rank]), sum(received[: self.rank])
                target[end : end + own] = source[start : start + own]

        return self._start(name, arrays, run)

    def all_to_all(self, source: Any, target: Any, sent: Sequence[int], received: Sequence[int]) -> Pending:
        self._line(source.data.device_id)  # others may have something to send, though this member has not
        return self._exchange("all_to_all", source, target, list(sent), list(received))

    def gather(self, source: Any, target: Any, root: int) -> Pending:
        n, here = source.size, self.rank == root
        sent = [n if member == root else 0 for member in range(self.size)]
        return self._exchange("gather", source, target, sent, [n] * self.size if here else [0] * self.size)

    def scatter(self, source: Any, target: Any, root: int) -> Pending:
        n, here = target.size, self.rank == root
        received = [n if member == root else 0 for member in range(self.size)]
        return self._exchange("scatter", source, target, [n] * self.size if here else [0] * self.size, received)

    # -- messages --------------------------------------------------------------------------------
    def _channel(self, sender: int, receiver: int, device: int) -> Channel:
        key = sender, receiver, device
        if key not in self._channels:
            place = sum(k[:2] == key[:2] for k in self._channels)
            name = f"{self._title}, from {sender} to {receiver}, device {place}"
            connect = lambda: Line(self._meeting, name, int(self.rank == receiver), 2, device, self.timeout)
            self._channels[key] = Channel(connect)
        return self._channels[key]

    def _message(self, name: str, array: Any, other: int, tag: int) -> Pending:
        if tag:
            raise ValueError(
                f"{name}: given tag={tag} and a tensor on CUDA, expected 0: NCCL has no tags, and messages arrive in "
                f"the order in which they are sent"
            )
        if not array.size:
            return Done()
        if _watchdog.failure:
            raise EngineError(_watchdog.failure)
        octet, pointer, bytes_, sends = _octet(), array.data.ptr, array.nbytes, name == "send"

        def run(comm: Any, stream: int) -> None:  # the sender is member 0 of the two
            (comm.send if sends else comm.recv)(pointer, bytes_, octet, int(sends), stream)

        made = Running(f"{self._text(name, array)}, with {other}", (array,), run, self.timeout)
        pair = (self.rank, other) if sends else (other, self.rank)
        self._channel(*pair, array.data.device_id).start(made)
        return self._watched(made)

    def send(self, array: Any, to: int, tag: int) -> Pending:
        return self._message("send", array, to, tag)

    def recv(self, array: Any, source: int | None, tag: int) -> Pending:
        if source is None:
            raise ValueError(
                "recv: given no source and a tensor on CUDA, expected one: NCCL receives from a process that is named"
            )
        made = self._message("recv", array, source, tag)
        made.source = source  # type: ignore[attr-defined]
        return made

    # -- the rest --------------------------------------------------------------------------------
    def barrier(self) -> Pending:
        import cupy
        from cupy.cuda import nccl

        mark = cupy.zeros(1, np.int32)
        pointer = mark.data.ptr
        call = lambda comm, stream: comm.allReduce(pointer, pointer, 1, nccl.NCCL_INT32, nccl.NCCL_SUM, stream)
        return self._start("barrier", (mark,), call, Meet)

    def split(self, members: Sequence[int] | None, among_members: bool = False) -> "NCCLEngine | None":
        """Nothing is sent: members meet under a title that they all know."""
        if members is None or self.rank not in members:
            return None
        key = tuple(members)
        self._parts[key] = self._parts.get(key, 0) + 1
        title = f"{self._title}, part {' '.join(map(str, key))}, {self._parts[key]}"
        return NCCLEngine(self._meeting, title, key.index(self.rank), len(key), self.timeout)

    def close(self) -> None:
        for line in self._lines.values():
            line.close()
        for channel in self._channels.values():
            channel.close()
        self._lines, self._channels = {}, {}

    def abort(self, code: int) -> None:
        _watchdog.abort()


def _octet() -> int:
    """NCCL's number for bytes, as which arrays of any dtype are moved."""
    from cupy.cuda import nccl

    return int(nccl.NCCL_UINT8)
