"""Elementwise primitives on large arrays: one loop in C for a whole program, or for all cotangents of a VJP.

Loops are generated and compiled when arguments of new dtypes, layouts and keywords are first met, as on CUDA: the call
waits for the compiler (some tenths of a second, once per machine), so that results never depend on when something was
ready. What a loop can't do, and what is too small for one, NumPy does.

Functions are at most 4 units in the last place off, operations are rounded as NumPy's. There are no warnings of
overflow or division by zero, which NumPy gives outside of backward.
"""

import ctypes
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lucidgrad.backends import codegen
from lucidgrad.backends.codegen import Kernel
from lucidgrad.core.primitive import Primitive, Recipe, registry

from . import building, memory, threads
from .layouts import Layout, layout_of
from .library import LAYOUT_IS_KNOWN, OFFSET
from .toolchain import INTERLEAVED

__all__ = ["OFFSET", "bound", "copy", "forward", "least_elements", "pull", "runner"]

#: The sizes from which loops pay: see `least_elements`.
SMALLEST, SMALLEST_PLAIN = 1 << 13, 1 << 18
# Functions that take their time, unlike lg_maximum and __builtin_sqrt.
_CALL = re.compile(r"= ([a-z][a-z0-9]+|lg_(logaddexp|hypot|remainder|floor_\w+|normal_\w+|erfc|exp|tanh)f?)\(")
_NUMBER = re.compile(r"= \((float|double)\)\(s\d+\);")  # a parameter, converted
_NUMBERS = {int: ctypes.c_longlong, float: ctypes.c_double}


# -- running a loop ------------------------------------------------------------------------------
def least_elements(kernel: Kernel, usual: Any = None) -> int:
    """The size from which a loop pays.

    Its call takes some microseconds more than NumPy's. Where NumPy would need several passes, or has a slow function,
    that is little; else a loop pays where threads and memory that was used before do.
    """
    work = [line for line in kernel.lines if not _NUMBER.search(line)]
    plain = len(work) - len(kernel.results) <= 1 and not any(map(_CALL.search, work))
    return SMALLEST_PLAIN if plain and (usual is None or type(usual) is np.ufunc) else SMALLEST


def runner(kernel: Kernel, layout: Layout) -> Callable[..., Any] | None:
    """The function ``(layout, arrays, numbers) -> results`` of a loop for arrays laid out like these."""
    if not LAYOUT_IS_KNOWN or threads.parallel() is None:
        return None
    source = codegen.loop_source([("lg", kernel, layout.varies)], OFFSET)
    library = building.load(kernel.name, source, INTERLEAVED)
    return None if library is None else bound(kernel, library.lg_flat, library.lg_rows)


def bound(kernel: Kernel, flat: Any, rows: Any) -> Callable[..., Any]:
    """The function ``(layout, arrays, numbers) -> results`` of a kernel's compiled functions."""
    made = [dtype for dtype, _ in kernel.results]
    numbers = [_NUMBERS[dtype] for dtype, _ in kernel.numbers]
    long, thing = ctypes.c_long, ctypes.py_object
    outs = [thing] * len(made)
    flat.argtypes = [ctypes.c_void_p, ctypes.c_int, long, *outs, *[thing] * len(kernel.arrays), *numbers]
    rows.argtypes = [
        ctypes.c_void_p,
        ctypes.c_int,
        long,
        long,
        long,
        *outs,
        *[thing, long, long] * len(kernel.arrays),
        *numbers,
    ]
    flat.restype = rows.restype = None
    share, empty, parallel = threads.share, memory.empty, threads.parallel()

    def run(layout: Layout, arrays: Sequence[Any], numbers: Sequence[Any]) -> list[Any]:
        shape, order = layout.shape, layout.order
        results = [empty(shape, dtype, order) for dtype in made]
        a, b, n = layout.axes
        if layout.flat:
            flat(parallel, share(n), n, *results, *arrays, *numbers)
        else:
            given: list[Any] = []
            for array, steps in zip(arrays, layout.strides, strict=True):
                given += (array, *steps)
            rows(parallel, share(a * b * n), a, b, n, *results, *given, *numbers)
        return results

    return run


def _looped(kernel: Kernel, usual: Any) -> codegen.Run:
    """A kernel with what is compiled of it: a function for each way in which arrays are laid out."""
    count = len(kernel.arrays)
    arrays_of, numbers_of = codegen.picker(kernel.takes[:count]), codegen.picker(kernel.takes[count:])
    runs: dict[tuple[bool, ...], Any] = {}

    def run(xs: Sequence[Any], shape: tuple[int, ...] | None) -> list[Any] | None:
        arrays = arrays_of(xs)
        layout = layout_of(arrays)
        if layout is None or (shape is not None and layout.shape != shape):
            return None
        try:
            found = runs[layout.varies]
        except KeyError:
            found = runs[layout.varies] = runner(kernel, layout)
        return None if found is None else found(layout, arrays, numbers_of(xs))

    return codegen.Run(least_elements(kernel, usual), run)


_FRAME = codegen.Frame(np.ndarray, codegen.PLAIN_C, _looped, SMALLEST)


def forward(primitive: Primitive, usual: Callable[..., Any]) -> Callable[..., Any]:
    """The function that computes a primitive on large arrays; ``usual`` serves where a loop does not."""
    return usual if building.why_not() else codegen.forward(primitive, _FRAME, usual) or usual


def pull(recipe: Recipe, goes: Sequence[bool]) -> Callable[..., Any] | None:
    """The function ``(g, saved, targets) -> cotangents`` that runs the rules of a recipe in one loop."""
    return None if building.why_not() else codegen.pull(recipe, goes, _FRAME)


# -- copies --------------------------------------------------------------------------------------
@functools.cache
def _copier() -> Callable[[Any], Any]:
    return forward(registry["positive"], _copy)


def _copy(x: Any) -> Any:
    made = memory.empty_like(x)
    np.copyto(made, x)
    return made


def copy(x: Any) -> Any:
    """A large array's values in memory of their own; broadcast ones are written out."""
    return _copier()(x) if x.dtype in codegen.PLAIN_C.floats else _copy(x)
