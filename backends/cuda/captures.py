"""CUDA graphs of whatever a program does: work that goes to a stream is recorded, and launched again and again.

What a recording must not do is refused where it would be done, by name: waiting for the device, copies from and to the
host, libraries that keep memory for later calls. After that there is no graph, even if somebody caught the error: half
a graph would be worse than none.

Numbers that are others in every launch are not recorded: settings of optimisers, and where in their stream random
numbers begin. They are in `words.Words`, which a launch is given anew. All memory that is taken while recording comes
from a pool of the graph's, or of several graphs that are never launched at the same time.
"""

import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import cupy
import numpy as np
from cupy.cuda import runtime
from cupy.cuda.device import get_cublas_handle

from . import streams
from .words import MOST, Words

__all__ = ["UNRECORDABLE", "Capture", "Held", "now", "refuse", "refusing"]

#: Primitives whose libraries wait for the device, look at values, or keep memory for later calls: cuFFT, Thrust.
UNRECORDABLE = frozenset("argsort argtopk dft half_dft matrix_exp nonzero real_dft transfer unique_places".split())


now = streams.captured_by


def refuse(what: str, way_out: str) -> None:
    """Raise, if something is being recorded."""
    capture = now()
    if capture is not None:
        raise capture.failed(RuntimeError(f"a CUDA graph is being recorded, but {what}; {way_out}"))


def refusing(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """A function that can't be recorded, and says so."""

    def kernel(*args: Any, **keywords: Any) -> Any:
        refuse(f"{name} waits for the device or keeps memory for later calls", "call it before or after the graph")
        return run(*args, **keywords)

    return kernel


def repeated(kept: Any) -> Callable[[list[str]], Any]:
    """For a step that is being recorded: gives the memory of its settings, once their names are known."""

    def place(names: list[str]) -> Any:
        capture = now()
        if names != kept.names:
            refuse(f"{kept.step.name} has settings that are part of its kernel", "take this step outside of the graph")
        if not names:
            return np.uint64(0)

        def supply() -> Any:
            found = kept()
            return None if found is None else np.asarray(found, np.float64).view(np.uint64)

        return capture.numbers(len(names), supply, kept.done, kept.again.undoing())

    return place


class Held:
    """What a graph needs until its last launch is done. ``place`` is where that was sent."""

    def __init__(self, place: streams.Place, pool: Any = None) -> None:
        self.place, self.pool = place, cupy.cuda.MemoryPool() if pool is None else pool
        self.graph: Any = None
        self.arrays: Any = ()

    def let_go(self) -> None:
        """Keep all until the device is done with it."""
        streams.keep((self.graph, self.arrays, self.pool), self.place)

    def enter(self, here: streams.Place) -> None:
        """Launch from here from now on: it waits for where the memory was in use."""
        if self.place is not here:
            here.wait_for(self.place)
            self.place = here


class _Slot(NamedTuple):
    """Words of a block that are asked for before every launch."""

    block: int
    begin: int
    end: int
    supply: Callable[[], Any]  # the words, or None: they can't be told any more


class Capture:
    """A graph in the making, and then what launches it.

    Parameters
    ----------
    pool
        Where memory comes from; a new one by default.
    """

    def __init__(self, pool: Any = None) -> None:
        self._held = Held(streams.place_now(cupy.cuda.get_device_id()), pool)
        self._blocks: list[Words] = []
        self._room = 0  # words that are left in the last block
        self._slots: list[_Slot] = []
        self._after: list[Callable[[], None]] = []  # what is noted after a launch
        self._undo: list[Callable[[], None]] = []  # what was noted as done, and was only recorded
        self._draws: dict[int, _Draws] = {}
        self._kept: list[Any] = []
        self._error: BaseException | None = None
        self._lock = threading.Lock()

    @property
    def pool(self) -> Any:
        """Where the memory comes from."""
        return self._held.pool

    @property
    def graph(self) -> Any:
        """The graph, once it is recorded."""
        return self._held.graph

    # -- recording
    def begin(self) -> None:
        """Record what goes to the current stream of this thread, which must not be the default one."""
        if now() is not None:
            raise RuntimeError("a CUDA graph is being recorded in this thread already; end that first")
        stream = cupy.cuda.get_current_stream()
        if not stream.ptr:
            raise RuntimeError(
                "the default stream can't be recorded; enter another one, or use lucidgrad.cuda.graph(g), which does"
            )
        get_cublas_handle()  # which this thread may not have yet
        streams.sweep()
        self._stream, self._allocator = stream, cupy.cuda.using_allocator(self.pool.malloc)
        self._allocator.__enter__()
        try:
            stream.begin_capture(runtime.streamCaptureModeRelaxed)  # allocations are allowed, and other threads' work
        except BaseException:
            self._allocator.__exit__(None, None, None)
            raise
        streams.record_for(self)

    def end(self, error: BaseException | None = None) -> None:
        """Make the graph, unless something went wrong: that is raised, and nothing is left of the recording."""
        if now() is not self:
            raise RuntimeError("no CUDA graph is being recorded in this thread, or another one")
        streams.record_for(None)
        try:
            graph = self._stream.end_capture()
        except Exception as broken:  # something that CUDA does not record, and that was not told by name
            error = error or self._error or broken
        finally:
            self._allocator.__exit__(None, None, None)
            for undo in reversed(self._undo):
                undo()
        error = error or self._error
        if error is not None:
            self._blocks, self._slots, self._after, self._draws, self._kept = [], [], [], {}, []
            raise error
        for words in self._blocks:
            words.bind(graph)
        held = self._held
        held.graph, held.arrays = graph, (self._blocks, self._kept)
        weakref.finalize(self, held.let_go).atexit = False

    def failed(self, error: BaseException) -> BaseException:
        """Note that there will be no graph."""
        self._error = self._error or error
        return error

    def keep(self, what: Any) -> None:
        """Keep something as long as the graph."""
        self._kept.append(what)

    # -- what is another in every launch
    def numbers(
        self, count: int, supply: Callable[[], Any], after: Callable[[], None], undo: Callable[[], None] | None = None
    ) -> Any:
        """Memory for numbers of 64 bits that every launch is given anew.

        Parameters
        ----------
        count
            How many there are.
        supply
            Called before a launch: an array of them, or None if they can't be told any more.
        after
            Called after a launch.
        undo
            Called when the recording ends: what it noted as done was not done yet.
        """
        words = self._taken(count, supply)
        self._after.append(after)
        if undo is not None:
            self._undo.append(undo)
        return words

    def _taken(self, count: int, supply: Callable[[], Any]) -> Any:
        if count > self._room:
            if count > MOST:
                raise self.failed(RuntimeError(f"given {count} numbers at once, expected at most {MOST}"))
            # Not of the pool: what was freed while recording, and is written by every launch, may be given out again.
            with cupy.cuda.using_allocator(cupy.get_default_memory_pool().malloc):
                self._blocks.append(Words(MOST))
            self._blocks[-1].record()
            self._room = MOST
        begin = MOST - self._room
        self._room -= count
        self._slots.append(_Slot(len(self._blocks) - 1, begin, begin + count, supply))
        return self._blocks[-1].array[begin : begin + count]

    def drawn(self, source: Any, count: int) -> tuple[Any, int]:
        """Where the seed and the first number of a generator are, and how many were drawn of it in this recording."""
        draws = self._draws.get(id(source))
        if draws is None:
            draws = self._draws[id(source)] = _Draws(source)
            draws.words = self._taken(2, draws.take)
        before = draws.count
        draws.count += count
        return draws.words, before

    # -- launching
    def launch(self) -> None:
        """Launch the graph on the current stream, with the numbers of this time."""
        with self._lock:
            self._held.enter(streams.place_now(cupy.cuda.get_device_id()))
            given = [np.zeros(MOST, np.uint64) for _ in self._blocks]
            slots = sorted(self._slots, key=lambda slot: isinstance(getattr(slot.supply, "__self__", None), _Draws))
            for block, begin, end, supply in slots:  # random numbers last: they are drawn only if all else is well
                words = supply()
                if words is None:
                    raise RuntimeError(
                        "what a recorded step of an optimiser depends on is not what it was: its parameters, its "
                        "states, or a setting that is no float or was zero; record the graph anew"
                    )
                given[block][begin:end] = words
            for words, now in zip(self._blocks, given, strict=True):
                words.renew((), now)
            self.graph.launch()
            for note in self._after:
                note()


class _Draws:
    """What a recording draws of a generator: as many numbers in every launch."""

    def __init__(self, source: Any) -> None:
        self.source, self.count = source, 0
        self.words: Any = None

    def take(self) -> Any:
        return np.asarray(self.source.advanced(self.count), np.uint64)
