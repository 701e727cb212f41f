"""Programs as CUDA graphs: recorded in the second run, and given to a stream as one launch from then on.

A graph has the addresses that it was recorded with. So inputs that stay where they are, parameters and the states of
optimisers above all, are read and written in place: the graph is bound to their addresses, which are compared before
every launch. Other inputs are copied into memory of the graph's own, by the graph itself: where they are this time it
reads from a block of words, which the first of its launches fills: what that takes with it is replaced before the graph
is launched (`words`). The same block says where outputs are to be copied to, which are new arrays in every run, and has
the numbers that the program is given. A bound input that does move is
copied from then on, and the graph is recorded anew: at most as many times as there are inputs.

All memory that is taken while recording comes from a pool that is the graph's alone. The recording stream is a private
one that does not wait for others, and its mode lets other threads do what they want meanwhile. Random numbers, and what
else is done anew in every run, are made before the launch, and are inputs. Where a recording fails, the program runs
without a graph, and so do programs that are shorter than what a graph takes besides.
"""

import threading
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import cupy
import numpy as np
from cupy.cuda import runtime
from cupy.cuda.device import get_cublas_handle

from lucidgrad.backends.cuda.captures import UNRECORDABLE, Held
from lucidgrad.backends.cuda.compiling import ROOM, THREADS, bounded, by_value, contiguous
from lucidgrad.backends.cuda.streams import Place, is_recorded, place_now
from lucidgrad.backends.cuda.tables import ELEMENTS, SEARCH, first_blocks
from lucidgrad.backends.cuda.words import Words
from lucidgrad.levels.program import Action, Equation, Structure, Variable, communicates, inner

from .running import Runner

__all__ = ["Graphs"]

#: Units that launch something, from which a graph pays: it takes a launch and a change of its words itself.
WORTH = 3
#: And up to which: a graph takes memory for each, and a loop of many steps would be all of them.
MOST = 5000


class _Move(NamedTuple):
    """A copy of contiguous memory between an address that the graph knows, and one that it finds among the words."""

    array: Any  # of the graph
    word: int
    inward: bool


class Graphs:
    """The function ``(values) -> outputs`` of a program, as a graph where that is possible.

    Programs of fewer than ``least`` units have none.
    """

    def __init__(self, runner: Runner, least: int = WORTH) -> None:
        self._runner, self._lock = runner, threading.Lock()
        self._possible = _is_recordable(runner, least)
        self._layouts: list[Any] | None = None  # of the inputs in the run before
        self._moving: set[int] = set()
        self._recorded: _Recorded | None = None

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        runner = self._runner
        with runner.device():
            here = place_now(runner.index)
            if not self._possible or is_recorded(here.stream):
                return runner.run(runner.begun(values), values)
            with self._lock:  # the words of one run are not those of another
                return self._call(values, here)

    def _call(self, values: Sequence[Any], here: Place) -> list[Any]:
        runner = self._runner
        pairs = zip(runner.program.inputs, values, strict=True)
        layouts = [None if v.is_number else (x.data.ptr, x.strides, x.flags.c_contiguous) for v, x in pairs]
        before = self._layouts
        if before is None:
            written = runner.into.values()  # others as the graph will have them, so that their kernels are there
            values = [
                x if i in written or now is None else contiguous(x)[0]
                for i, (x, now) in enumerate(zip(values, layouts, strict=True))
            ]
            made = runner.run(runner.begun(values), values)
            self._layouts = layouts
            return made
        known = runner.begun(values)
        runner.act(known)
        recorded = self._recorded
        if recorded is not None:
            recorded.memory.enter(here)
        if recorded is not None:
            moved = {i for i, layout in recorded.bound.items() if layouts[i] != layout}
            if moved:
                self._moving |= moved
                before, recorded = layouts, None
        self._layouts = layouts
        if recorded is None:
            recorded = self._recorded = _record(runner, known, values, self._staying(before, layouts), here)
            if recorded is None:
                self._possible = False
                return runner.run(known, values)
        return recorded.launch(known, values)

    def _staying(self, before: Sequence[Any], now: Sequence[Any]) -> dict[int, Any]:
        """The inputs that are where they were, with their layouts."""
        pairs = enumerate(zip(before, now, strict=True))
        return {i: b for i, (a, b) in pairs if b is not None and a == b and b[2] and i not in self._moving}


def _is_recordable(runner: Runner, least: int) -> bool:
    """Whether what a program calls can be recorded, and is worth it."""
    if any(v.is_number for v in runner.program.outputs) or any(action.variables for action in runner.actions):
        return False
    work = 0
    for unit in runner.units:
        if not isinstance(unit, Equation):
            work += 1
        elif type(unit.primitive) is not Action:
            if not _can_record(unit):
                return False
            work += _steps(unit)
    return least <= work <= MOST


def _steps(equation: Equation) -> int:
    """How many calls an equation is that launch something; all steps of a loop are recorded."""
    if type(equation.primitive) is Structure:
        columns = len(equation.results)  # slices are stacked
        return columns + equation.keywords["length"] * sum(map(_steps, equation.keywords["body"].equations))
    return not getattr(equation.primitive, "view", False)


def _can_record(equation: Equation) -> bool:
    """Whether a call looks at nothing but arrays of the device and what is the same in every run."""
    if any(not _can_record(part) or part.results[0].is_number for p in inner(equation) for part in p.equations):
        return False
    if equation.primitive.name in ("cond", "while_loop") or communicates(equation):  # conditions, others are waited for
        return False
    if type(equation.primitive) is Action:  # inside of a loop: anew in every step
        return False
    if equation.primitive.name in UNRECORDABLE or any(v.is_number for v in equation.variables):
        return False
    return not any(_has_data(value) for value in equation.keywords.values())


def _has_data(value: Any) -> bool:
    """Whether a keyword is, or holds, an array or a list of positions, which would be copied from the host."""
    if isinstance(value, (tuple, dict)):
        return any(map(_has_data, value.values() if isinstance(value, dict) else value))
    return isinstance(value, (list, np.ndarray, cupy.ndarray))


# -- recording -------------------------------------------------------------------------------------
class _Recorded:
    """A graph, and what goes in and out; ``bound`` has the layouts of inputs that are used where they are."""

    def __init__(self, runner: Runner, bound: dict[int, Any], place: Place) -> None:
        program = runner.program
        self.runner, self.bound, self.memory = runner, bound, Held(place)
        #: What is copied in: inputs that move, and what is done anew in every run.
        self.copied = [v for i, v in enumerate(program.inputs) if not v.is_number and i not in bound]
        self.copied += [v for action in runner.actions for v in action.results]
        self.written = {program.inputs[i] for i in runner.into.values()}.intersection(self.copied)
        self.new = [k for k in range(len(program.outputs)) if k not in runner.into]

    def record(self, known: dict[Variable, Any], values: Sequence[Any]) -> None:
        """Record a run; nothing is computed."""
        runner, memory, stream = self.runner, self.memory, cupy.cuda.Stream(non_blocking=True)
        get_cublas_handle()  # which this thread may not have yet
        _MOVES.compile()
        with cupy.cuda.using_allocator(memory.pool.malloc), stream:
            self._words = words = Words(len(runner.numbers) + len(self.copied) + len(self.new))
            buffers = {v: cupy.ndarray(v.shape, v.dtype) for v in self.copied}
            given = [buffers.get(v, x) for v, x in zip(runner.program.inputs, values, strict=True)]
            numbers = len(runner.numbers)
            stream.begin_capture(runtime.streamCaptureModeRelaxed)
            try:
                words.record()
                inward = [_Move(buffers[v], numbers + k, True) for k, v in enumerate(self.copied)]
                _move(inward, words)
                made = runner.run({**known, **buffers}, given, words.array)
                new = list(contiguous(*(made[k] for k in self.new)))
                outward = [move for v, move in zip(self.copied, inward, strict=True) if v in self.written]
                outward += [_Move(array, numbers + len(inward) + k, False) for k, array in enumerate(new)]
                _move([move._replace(inward=False) for move in outward], words)
            finally:
                graph = stream.end_capture()
        words.bind(graph)
        memory.graph, memory.arrays = graph, (words, buffers, made, new)
        self._like = [(array.shape, array.dtype) for array in new]
        weakref.finalize(self, memory.let_go).atexit = False

    def launch(self, known: dict[Variable, Any], values: Sequence[Any]) -> list[Any]:
        """Run the graph on the current stream."""
        runner = self.runner
        given = contiguous(*(known[v] for v in self.copied))
        made = [cupy.ndarray(shape, dtype) for shape, dtype in self._like]
        numbers = [known[v] for v in runner.numbers]
        self._words.renew(numbers, [array.data.ptr for array in (*given, *made)])
        self.memory.graph.launch()
        for v, array in zip(self.copied, given, strict=True):
            if v in self.written and array is not known[v]:
                known[v][...] = array
        new = iter(made)
        count = len(runner.program.outputs)
        return [values[runner.into[k]] if k in runner.into else next(new) for k in range(count)]


def _record(
    runner: Runner, known: dict[Variable, Any], values: Sequence[Any], bound: dict[int, Any], place: Place
) -> _Recorded | None:
    """A graph of a program; None where it can't be recorded."""
    made = _Recorded(runner, bound, place)
    try:
        made.record(known, values)
    except Exception:
        return None
    return made


# -- copies ----------------------------------------------------------------------------------------
_ROW = np.dtype([("own", "u8"), ("word", "i8"), ("count", "i8"), ("width", "i2"), ("inward", "i2"), ("first", "i4")])
_MOVES = cupy.RawKernel(
    bounded(
        SEARCH
        + r"""
typedef long long I;
struct Row { char *own; I word, count; short width, inward; int first; };
struct Table { Row rows[ROWS]; };
template <typename T> __device__ inline void copied(void *to, const void *from, I i, I end) {
    for (; i < end; i += blockDim.x) static_cast<T *>(to)[i] = static_cast<const T *>(from)[i];
}
extern "C" __global__ void lg_moves(Table table, const unsigned long long *words) {
    SEARCH(table.rows[middle].first, ROWS)
    const Row &row = table.rows[mine];
    const I start = (I)((int)blockIdx.x - row.first) * ELEMENTS, i = start + threadIdx.x;
    const I end = start + ELEMENTS < row.count ? start + ELEMENTS : row.count;
    char *other = (char *)words[row.word];
    char *to = row.inward ? row.own : other, *from = row.inward ? other : row.own;
    if (row.width == 8) copied<unsigned long long>(to, from, i, end);
    else if (row.width == 4) copied<unsigned int>(to, from, i, end);
    else if (row.width == 2) copied<unsigned short>(to, from, i, end);
    else copied<char>(to, from, i, end);
}
""".replace("ROWS", str(ROOM // _ROW.itemsize)).replace("ELEMENTS", str(ELEMENTS))
    ),
    "lg_moves",
)


def _move(moves: Sequence[_Move], words: Words) -> None:
    """Copies, as many as a table has room for in a launch."""
    moves = [move for move in moves if move.array.size]
    most = ROOM // _ROW.itemsize
    for begin in range(0, len(moves), most):
        some = moves[begin : begin + most]
        table = np.zeros(most, _ROW)
        for k, (array, word, inward) in enumerate(some):
            width = min(array.itemsize, 8)
            table[k] = (array.data.ptr, word, array.nbytes // width, width, inward, 0)
        blocks, firsts = first_blocks(table["count"][: len(some)], ELEMENTS, most)
        table["first"] = firsts.view(np.int32)[:most]
        _MOVES((blocks,), (THREADS,), (by_value(table), words.array))
