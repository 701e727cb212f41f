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
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from lucidgrad.backends import codegen
from lucidgrad.backends.codegen import Kernel, Untraceable
from lucidgrad.core.primitive import ELEMENTWISE, Primitive, Recipe, registry

from . import building, memory, threads
from .layouts import Layout, layout_of

__all__ = ["OFFSET", "bound", "copy", "forward", "least_elements", "pull", "runner"]

#: The sizes from which loops pay: see `least_elements`.
SMALLEST, SMALLEST_PLAIN = 1 << 13, 1 << 18
# Functions that take their time, unlike lg_maximum and __builtin_sqrt.
_CALL = re.compile(r"= ([a-z][a-z0-9]+|lg_(logaddexp|hypot|remainder|floor_\w+)f?)\(")
_NUMBER = re.compile(r"= \((float|double)\)\(s\d+\);")  # a parameter, converted
_ARRAY = np.ndarray
_FLOATS = frozenset(map(np.dtype, ("float32", "float64")))
_TAKEN = _FLOATS | {np.dtype("bool")}
_NUMBERS = {int: ctypes.c_longlong, float: ctypes.c_double}
#: Where an array object keeps the address of its data: behind what all objects have.
OFFSET = object.__basicsize__


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
    if not _addresses_are_known() or threads.parallel() is None:
        return None
    library = building.load(kernel.name, codegen.loop_source([("lg", kernel, layout.varies)], OFFSET))
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


@functools.cache
def _addresses_are_known() -> bool:
    if sys.implementation.name != "cpython":
        return False
    probe = np.zeros(3)
    return bool(ctypes.c_void_p.from_address(id(probe) + OFFSET).value == probe.ctypes.data)


class _Loop:
    """A kernel with what is compiled of it: a function for each way in which arrays are laid out."""

    __slots__ = ("_kernel", "_runs", "arrays", "least", "numbers")

    def __init__(self, kernel: Kernel, usual: Any = None) -> None:
        count = len(kernel.arrays)
        self.arrays, self.numbers = kernel.takes[:count], kernel.takes[count:]
        self.least = least_elements(kernel, usual)
        self._kernel, self._runs = kernel, {}  # type: tuple[Kernel, dict[tuple[bool, ...], Any]]

    def __call__(self, xs: Sequence[Any], shape: tuple[int, ...] | None = None) -> list[Any] | None:
        """The results for the arguments of a program, which must have the shape; None if they are for NumPy."""
        arrays = [xs[place] for place in self.arrays]
        layout = layout_of(arrays)
        if layout is None or (shape is not None and layout.shape != shape):
            return None
        try:
            run = self._runs[layout.varies]
        except KeyError:
            run = self._runs[layout.varies] = runner(self._kernel, layout)
        return None if run is None else run(layout, arrays, [xs[place] for place in self.numbers])


def _check_dtypes(arrays: Iterable[Any]) -> None:
    dtypes = {x.dtype for x in arrays if type(x) is _ARRAY}
    if not dtypes & _FLOATS or not dtypes <= _TAKEN:
        raise Untraceable("dtypes that loops don't take")


# -- forward -------------------------------------------------------------------------------------
def forward(primitive: Primitive, usual: Callable[..., Any]) -> Callable[..., Any]:
    """The function that computes a primitive on large arrays; ``usual`` serves where a loop does not."""
    if primitive.kind is not ELEMENTWISE or not codegen.is_elementwise(primitive) or building.why_not():
        return usual

    def make(xs: Sequence[Any], keywords: dict[str, Any], by_value: bool) -> _Loop:
        _check_dtypes(xs)
        return _Loop(codegen.forward_kernel(primitive, _ARRAY, xs, keywords, by_value, codegen.PLAIN_C), usual)

    plans = codegen.Plans(primitive.name, make, lambda xs, keywords: usual(*xs, **keywords))
    told, identity = codegen.told, codegen.identity

    def kernel(*xs: Any, **keywords: Any) -> Any:
        known: list[Any] = []
        size = 0
        try:
            for x in xs:
                if type(x) is _ARRAY:
                    known.append(x.dtype)
                    size = max(size, x.size)
                else:
                    known.append(told(x))
        except Untraceable:
            return usual(*xs, **keywords)
        if size < SMALLEST:
            return usual(*xs, **keywords)
        for name, value in keywords.items():
            known += (name, identity(value))
        loop = plans.find(tuple(known), xs, xs, keywords)
        made = None if loop is None or size < loop.least else loop(xs)
        return usual(*xs, **keywords) if made is None else made[0]

    kernel.__name__ = primitive.name
    return kernel


@functools.cache
def _copier() -> Callable[[Any], Any]:
    return forward(registry["positive"], _copy)


def _copy(x: Any) -> Any:
    made = memory.empty_like(x)
    np.copyto(made, x)
    return made


def copy(x: Any) -> Any:
    """A large array's values in memory of their own; broadcast ones are written out."""
    return _copier()(x) if x.dtype in _FLOATS else _copy(x)


# -- backward ------------------------------------------------------------------------------------
def pull(recipe: Recipe, goes: Sequence[bool]) -> Callable[..., Any] | None:
    """The function ``(g, saved, targets) -> cotangents`` that runs the rules of a recipe in one loop.

    It gives None where the rules have to run as they are. ``targets`` are what cotangents must become; where no sum
    over broadcast axes is needed they have the right dtype already.
    """
    primitive = recipe.primitive
    if not codegen.is_elementwise(primitive) or building.why_not():
        return None
    whats = tuple(what for what, _ in recipe.items)
    told, identity = codegen.told, codegen.identity

    def make(g: Any, saved: tuple[Any, ...], into: Any, by_value: bool) -> Any:
        _check_dtypes((g, *saved))
        found = codegen.pull_kernel(recipe, goes, g, saved, into, by_value, codegen.PLAIN_C)
        return None if found.kernel is None else _Loop(found.kernel), found.results

    plans = codegen.Plans(f"the rules of {primitive.name}", make, codegen.rules_of(recipe, goes))

    def pulled(g: Any, saved: tuple[Any, ...], targets: Sequence[Any] | None) -> Any:
        if g.size < SMALLEST:
            return None
        known: list[Any] = [g.dtype]
        try:
            for what, value in zip(whats, saved, strict=True):
                if type(value) is _ARRAY or what == "meta":
                    known.append(value.dtype)
                else:
                    known.append(identity(value) if what == "kw" else told(value))
        except Untraceable:
            return None
        shape, into = g.shape, None
        if targets is not None:
            into = tuple([None if t is None or t[0] != shape else t[1] for t in targets])
        plan = plans.find((*known, into), saved, g, saved, into)
        if plan is None:
            return None
        loop, results = plan
        if loop is None:
            return [None if k is None else g for k in results]
        made = None if g.size < loop.least else loop((g, *saved), shape)
        return None if made is None else [None if k is None else g if k < 0 else made[k] for k in results]

    return pulled
