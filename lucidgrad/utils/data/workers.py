"""Processes that make batches, and their end.

A worker has two pipes: tasks come by one, batches leave by the other. A thread of the worker sends them, so that it
makes the next batch while one waits to be read, and never lets the loader wait that sends a task.
"""

import contextlib
import functools
import os
import pickle
import queue
import random
import signal
import sys
import threading
import traceback
import weakref
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

import lucidgrad as lg

from .fetching import Exhausted, make_fetch

__all__ = ["WorkerInfo", "get_worker_info"]

_LOOK_AFTER = 2.0  # seconds after which a worker looks whether its parent lives
_PATIENCE = 5.0  # seconds that a worker has to end


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker knows of itself: its number, how many there are, its seed, and its copy of the dataset.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.utils.data.get_worker_info() is None  # in the main process
    True
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_here: list[WorkerInfo] = []


def get_worker_info() -> WorkerInfo | None:
    """What is known of the worker that this runs in; None in the main process.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.utils.data.get_worker_info() is None
    True
    """
    return _here[-1] if _here else None


class WorkerTraceback(Exception):
    """The text of a traceback in a worker: shown as the cause of an exception that was raised there."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


# -- in the worker -------------------------------------------------------------------------------
def _work(tasks: Any, batches: Any, info: WorkerInfo, parts: tuple[Any, ...], init: Any, parent: int) -> None:
    """Make batches until told to stop, or until nobody is there to tell."""
    with contextlib.suppress(ValueError):  # interrupts are the parent's business
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_send_all, args=(done, batches), daemon=True).start()
    fetch: Any = None
    while (message := _next_message(tasks, parent)) is not None:
        number, task, seed = message
        try:
            if seed is not None:  # an epoch begins
                first, info = not _here, WorkerInfo(info.id, info.num_workers, seed + info.id, info.dataset)
                _here[:] = [info]
                _begin_random(info.seed)
                if first and init is not None:
                    init(info.id)
                fetch = make_fetch(info.dataset, *parts)
                continue
            answer = "batch", fetch(task)
        except Exhausted:
            answer = "exhausted", None
        except Exception as error:
            answer = "error", _packed(error, info.id)
            if seed is not None:  # it is what every task of this epoch gives
                fetch = functools.partial(_raise, error)
                continue
        done.put((number, *answer))


def _raise(error: Exception, task: Any) -> None:
    raise error


def _next_message(tasks: Any, parent: int) -> Any:
    try:
        while not tasks.poll(_LOOK_AFTER):
            if os.getppid() != parent:
                return None
        return tasks.recv()
    except (EOFError, OSError):
        return None


def _begin_random(seed: int) -> None:
    """Let every generator that a dataset may use begin anew from a worker's seed."""
    random.seed(seed)
    lg.manual_seed(seed)
    sys.modules["numpy"].random.seed([seed & 0xFFFFFFFF, seed >> 32, 1])


def _packed(error: Exception, worker: int) -> tuple[bytes | None, str, str]:
    """An exception as bytes, if it survives that; what it was; and its traceback."""
    text = f"{type(error).__qualname__} in DataLoader worker {worker}:\n{traceback.format_exc()}"
    packed: bytes | None = None
    try:
        packed = pickle.dumps(error)
        if type(pickle.loads(packed)) is not type(error) or isinstance(error, StopIteration):
            packed = None
    except Exception:
        packed = None
    return packed, f"{type(error).__name__} in DataLoader worker {worker}: {error}", text


def _send_all(done: "queue.SimpleQueue[Any]", batches: Any) -> None:
    with contextlib.suppress(OSError):  # nobody reads any more
        while True:
            number, kind, value = done.get()
            try:
                _send(batches, (number, kind, value))
            except OSError:
                raise
            except Exception as error:  # the batch can't be sent: say so instead
                _send(batches, (number, "error", _packed(error, _here[-1].id if _here else 0)))


# -- through a pipe: arrays leave and arrive without a copy of their own --------------------------
def _send(pipe: Any, obj: Any) -> None:
    buffers: list[Any] = []
    head = pickle.dumps(obj, protocol=5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    pipe.send_bytes(pickle.dumps((head, [part.nbytes for part in raw])))
    for part in raw:
        if part.nbytes:
            pipe.send_bytes(part)


def _receive(pipe: Any) -> Any:
    head, sizes = pickle.loads(pipe.recv_bytes())
    buffers = [bytearray(size) for size in sizes]
    for buffer in buffers:
        if buffer:
            pipe.recv_bytes_into(buffer)
    return pickle.loads(head, buffers=buffers)


# -- in the loader -------------------------------------------------------------------------------
@dataclass
class _Worker:
    process: Any
    tasks: Any
    batches: Any


class Pool:
    """The workers of a loader. They end when it is stopped, dropped, or when the interpreter ends."""

    def __init__(self, count: int, context: Any, dataset: Any, parts: tuple[Any, ...], init: Any) -> None:
        self.workers: list[_Worker] = []
        self.stop = weakref.finalize(self, _end, self.workers, os.getpid())
        self.epoch = 0
        try:
            for i in range(count):
                tasks_out, tasks_in = context.Pipe(duplex=False)
                batches_out, batches_in = context.Pipe(duplex=False)
                info = WorkerInfo(i, count, 0, dataset)
                args = (tasks_out, batches_in, info, parts, init, os.getpid())
                process = context.Process(target=_work, args=args, daemon=True, name=f"DataLoader worker {i}")
                process.start()
                self.workers.append(_Worker(process, tasks_in, batches_out))
                tasks_out.close()  # now, so that the next worker does not hold them open
                batches_in.close()
        except BaseException:
            self.stop()
            raise

    def begin(self, seed: int) -> int:
        """Let all workers begin an epoch; returns its number."""
        for i in range(len(self.workers)):
            self.send(i, None, None, seed)
        self.epoch += 1
        return self.epoch

    def send(self, worker: int, number: Any, task: Any, seed: int | None = None) -> None:
        """Give a worker a task."""
        try:
            self.workers[worker].tasks.send((number, task, seed))
        except OSError:  # it died; whoever waits for its batch will say so
            self._check(worker)

    def receive(self, timeout: float) -> Any:
        """The next batch that any worker has ready, as (number, kind, value)."""
        pipes = {worker.batches: i for i, worker in enumerate(self.workers)}
        ends = {worker.process.sentinel: i for i, worker in enumerate(self.workers)}
        ready = connection.wait([*pipes, *ends], timeout or None)
        if not ready:
            raise RuntimeError(f"DataLoader: no batch came within {timeout} seconds, the timeout")
        for pipe in ready:
            if pipe in pipes:
                try:
                    return _receive(pipe)
                except (EOFError, OSError):
                    self._check(pipes[pipe])
        for end in ready:
            if not self.workers[ends[end]].batches.poll():
                self._check(ends[end])
        return self.receive(timeout)

    def _check(self, worker: int) -> None:
        process = self.workers[worker].process
        process.join(_PATIENCE)
        code = process.exitcode
        how = f"was killed by signal {signal.Signals(-code).name}" if code and code < 0 else f"ended with code {code}"
        raise RuntimeError(
            f"DataLoader worker {worker} (process {process.pid}) {how} before it had sent its batch; "
            f"num_workers=0 shows what happens there"
        )


def _end(workers: list[_Worker], owner: int) -> None:
    """Tell workers to stop, wait for them, and end by force those that don't."""
    if os.getpid() != owner:  # a copy that a worker inherited
        return
    for worker in workers:
        with contextlib.suppress(OSError, ValueError):
            worker.tasks.send(None)
        worker.tasks.close()
        worker.batches.close()
    for worker in workers:
        worker.process.join(_PATIENCE)
        if worker.process.is_alive():
            worker.process.terminate()
            worker.process.join(_PATIENCE)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
    workers.clear()


def raise_again(packed: tuple[bytes | None, str, str]) -> None:
    """Raise what was raised in a worker, with its traceback there as the cause."""
    data, message, text = packed
    error = RuntimeError(message) if data is None else pickle.loads(data)
    raise error from WorkerTraceback(text)
