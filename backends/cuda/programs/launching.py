"""Launches of sections: kernels for the layout of the arrays at hand, tables of addresses, and numbers in memory."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import cupy
import numpy as np

from lucidgrad.backends.cuda.compiling import ROOM, THREADS, Rows, by_value, contiguous
from lucidgrad.backends.cuda.generated import OPTIONS, PREAMBLE
from lucidgrad.backends.cuda.kernels.reductions import SOURCES, constants, planned
from lucidgrad.backends.cuda.tables import ELEMENTS, first_blocks
from lucidgrad.backends.cuda.tickets import tickets
from lucidgrad.levels.program import Variable

from .grouping import Launch, Reduction, Section
from .printing import Text, element_of, kernel_name, source_of, text_of

__all__ = ["Launcher", "Reducer"]

#: Layouts that kernels are made for; of further ones arrays are copied.
MOST_LAYOUTS = 8
#: Different texts of a kernel; a compiler takes ever longer for more.
MOST_TEXTS = 16


class _Call(NamedTuple):
    """A kernel, the grid of its launch, and what its table holds besides addresses."""

    kernel: Any
    grid: tuple[int]
    arrays: list[tuple[Section, Variable]]
    rest: Any


@functools.lru_cache(maxsize=1024)
def _kernel(name: str, source: str) -> Any:
    return cupy.RawKernel(source, name, options=OPTIONS)


class Launcher:
    """A launch of a program; kernels are made for each layout of the arrays that it meets."""

    def __init__(self, launch: Launch, numbers: Mapping[Variable, int]) -> None:
        self._sections, self._numbers = launch.sections, numbers
        self.stored = [v for section in self._sections for v in section.stored]
        self.targets = {target for section in self._sections for target in section.into.values()}
        self.asked = [(s, v) for s in self._sections for v in dict.fromkeys((*s.reads, *s.into.values()))]
        self._calls: dict[Any, list[_Call]] = {}

    def __call__(self, known: dict[Variable, Any], numbers: Any) -> None:
        """Compute what is stored into new arrays, and write into inputs; ``numbers`` are in memory of the device."""
        given = {pair: known[pair[1]] for pair in self.asked}
        if self.targets:
            self._apart(given, known)
        key = tuple([array.strides for array in given.values()])
        if key not in self._calls and len(self._calls) >= MOST_LAYOUTS:
            given = {(s, v): x if v in self.targets else contiguous(x)[0] for (s, v), x in given.items()}
            key = tuple([array.strides for array in given.values()])
        calls = self._calls.get(key)
        if calls is None:
            calls = self._calls[key] = self._made(given)
        for v in self.stored:
            known[v] = cupy.ndarray(v.shape, v.dtype)
        for kernel, grid, arrays, rest in calls:
            addresses = [(given[pair] if pair in given else known[pair[1]]).data.ptr for pair in arrays]
            table = np.concatenate([np.asarray(addresses, np.uint64), rest])
            kernel(grid, (THREADS,), (by_value(table), numbers))

    def _apart(self, given: dict[tuple[Section, Variable], Any], known: Mapping[Variable, Any]) -> None:
        """Copy what is read of memory that is written, but by the thread that writes it."""
        written = {id(_storage(known[v])) for v in self.targets}
        for (section, v), array in given.items():
            own = v in section.into.values() and v.shape == section.shape
            if not own and id(_storage(array)) in written:
                given[section, v] = array.copy()

    def _made(self, given: Mapping[tuple[Section, Variable], Any]) -> list[_Call]:
        """The kernels for a layout: few texts each, and tables that fit."""
        calls: list[_Call] = []
        texts: dict[tuple[str, ...], Text] = {}
        rows: list[tuple[Section, Text]] = []
        room = 0
        for section in self._sections:
            steps = {v: _steps(given.get((section, v)), v, section.shape) for v in (*section.reads, *_written(section))}
            text = text_of(section, steps, self._numbers)
            if rows and (room + text.room > ROOM or (text.lines not in texts and len(texts) == MOST_TEXTS)):
                calls.append(_call(rows, texts))
                texts, rows, room = {}, [], 0
            texts.setdefault(text.lines, text)
            rows.append((section, text))
            room += text.room
        if rows:
            calls.append(_call(rows, texts))
        return calls


def _written(section: Section) -> list[Variable]:
    return [*section.stored, *section.into.values()]


def _storage(array: Any) -> Any:
    return array if array.base is None else array.base


def _steps(array: Any, v: Variable, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The steps of an array in elements, repeated to a shape; of one that is to be made, as it will be."""
    width = v.dtype.itemsize
    missing = (0,) * (len(shape) - len(v.shape))
    if array is None:
        return (*missing, *_contiguous(v.shape))
    return (*missing, *(0 if n == 1 else step // width for n, step in zip(array.shape, array.strides, strict=True)))


def _contiguous(shape: Sequence[int]) -> list[int]:
    steps, step = [], 1
    for n in reversed(shape):
        steps.append(step)
        step *= n
    return steps[::-1]


def _call(rows: Sequence[tuple[Section, Text]], texts: Mapping[tuple[str, ...], Text]) -> _Call:
    arrays = [(section, v) for section, text in rows for v in text.arrays]
    order = {lines: k for k, lines in enumerate(texts)}
    sizes = np.asarray([section_size(section) for section, _ in rows], np.int64)
    blocks, firsts = first_blocks(sizes, ELEMENTS, len(rows))
    begins = np.cumsum([0, *(len(text.arrays) for _, text in rows)], dtype=np.int32)[:-1]
    kinds = np.asarray([order[text.lines] for _, text in rows], np.int32)
    rest = np.concatenate([sizes, firsts, np.concatenate([begins, kinds]).view(np.int64)]).view(np.uint64)
    name = kernel_name(name for text in texts.values() for name in text.names)
    kernel = _kernel(name, source_of(name, list(texts.values()), len(rows), len(arrays)))
    kernel.compile()  # now: what can fail fails before anything is written
    return _Call(kernel, (blocks,), arrays, rest)


class Reducer:
    """A reduction of a section's values, which are computed on the way: of the family of all others, but its elements.

    Kernels are made for each layout of the arrays that it meets.
    """

    def __init__(self, reduction: Reduction, numbers: Mapping[Variable, int]) -> None:
        section, equation = reduction
        self._section, self._numbers, self._how = section, numbers, equation.primitive.name
        self.stored, self._reads = list(equation.results), section.reads
        axis, keepdims = equation.keywords["axis"], equation.keywords["keepdims"]
        rows = Rows(section.shape, axis)
        runs = rows.runs()
        self._order = rows.order if runs == (0, 0) else None  # None: elements are numbered as the shape has them
        self._shape, number = rows.reduced_shape(keepdims), rows.n if self._how == "mean" else 0
        self._planned = planned(self._how, self.stored[0].dtype, rows, number, runs, THREADS)
        self._name = kernel_name([self._how, *(entry.name for entry in section.entries)])
        self._kernels: dict[Any, Any] = {}

    def __call__(self, known: dict[Variable, Any], numbers: Any) -> None:
        """Compute the result into a new array."""
        given = [known[v] for v in self._reads]
        key = tuple([x.strides for x in given])
        if key not in self._kernels and len(self._kernels) >= MOST_LAYOUTS:
            given = list(contiguous(*given))
            key = tuple([x.strides for x in given])
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._made(given)
        (v,) = self.stored
        y = known[v] = cupy.ndarray(self._shape, v.dtype)
        (blocks, threads), shared, told = self._planned
        parts, drawn = (None, None) if shared is None else (cupy.ndarray(shared[:1], "uint8"), tickets(shared[1]))
        addresses = by_value(np.asarray([x.data.ptr for x in given], np.uint64))
        kernel(blocks, threads, (None, None, y, parts, drawn, *told, addresses, numbers))

    def _made(self, given: Sequence[Any]) -> Any:
        """The kernel for a layout; a thread may have many registers in its smaller blocks."""
        section, shape = self._section, self._section.shape
        steps = [_steps(x, v, shape) for x, v in zip(given, self._reads, strict=True)]
        if self._order is not None:
            shape, steps = tuple(shape[a] for a in self._order), [tuple(s[a] for a in self._order) for s in steps]
        text = element_of(section, shape, steps, self._numbers)
        told = f"struct Table {{ void *addresses[{len(given)}]; }};\n"
        told += "#define MORE , Table table, const double *numbers\n"
        told += "#define ELEMENT(at) (A)lg_element(table.addresses, numbers, at)\n"
        told += f"#define reduce {self._name}\n#define BOUNDS __launch_bounds__({THREADS}, 1)\n"
        source = f"{PREAMBLE}{text}{told}{constants(self._how)}{SOURCES[f'reduce_{self.stored[0].dtype.name}']}"
        headers = "#include <cupy/complex.cuh>\n" if "complex<" in text else ""
        kernel = _kernel(self._name, f"#include <cuda_fp16.h>\n{headers}{source}")
        kernel.compile()
        return kernel


def section_size(section: Section) -> int:
    """How many elements a section computes."""
    return int(np.prod(section.shape, dtype=np.int64))
