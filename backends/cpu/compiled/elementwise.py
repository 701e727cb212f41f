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
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lucidgrad.backends import codegen
from lucidgrad.backends.codegen import Kernel, NeedsValue
from lucidgrad.core.primitive import ELEMENTWISE, Primitive, Recipe, registry

from . import building, memory, threads
from .layouts import Layout, layout_of

__all__ = ["MOST_KERNELS", "OFFSET", "bound", "copy", "forward", "least_elements", "pull", "runner"]

#: Of one program with this many loops, new values of keywords and numbers make no more: NumPy runs it.
MOST_KERNELS = 100
#: The sizes from which loops pay: see `least_elements`.
SMALLEST, SMALLEST_PLAIN = 1 << 13, 1 << 18
_CALL = re.compile(r"= ([a-z][a-z0-9]+|lg_(logaddexp|remainder|floor_\w+)f?)\(")  # unlike lg_maximum, __builtin_sqrt
_NUMBER = re.compile(r"= \((float|double)\)\(s\d+\);")  # a parameter, converted
_ARRAY = np.ndarray
_FLOATS = frozenset(map(np.dtype, ("float32", "float64")))
_TAKEN = _FLOATS | {np.dtype("bool")}
_NUMBERS = {int: ctypes.c_longlong, float: ctypes.c_double}
#: Where an array object keeps the address of its data: behind what all objects have.
OFFSET = object.__basicsize__
#: In a cache: the values of numbers belong to the key, too.
_BY_VALUE = object()


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


# -- forward -------------------------------------------------------------------------------------
def forward(primitive: Primitive, usual: Callable[..., Any]) -> Callable[..., Any]:
    """The function that computes a primitive on large arrays; ``usual`` serves where a loop does not."""
    if primitive.kind is not ELEMENTWISE or not codegen.is_elementwise(primitive) or building.why_not():
        return usual
    cache: dict[Any, Any] = {}
    least = SMALLEST  # what loops that were made say, whatever their dtypes

    def kernel(*xs: Any, **keywords: Any) -> Any:
        nonlocal least
        known: list[Any] = []
        arrays = []
        size = 0
        for x in xs:
            if type(x) is _ARRAY:
                known.append(x.dtype)
                arrays.append(x)
                size = max(size, x.size)
            else:
                known.append(type(x))
        if size < least:
            return usual(*xs, **keywords)
        layout = layout_of(arrays)
        if layout is None:
            return usual(*xs, **keywords)
        key: Any = (*known, layout.varies, *keywords.items())
        try:
            plan = cache.get(key)
        except TypeError:  # a keyword without a hash
            return usual(*xs, **keywords)
        by_value = plan is _BY_VALUE
        if by_value:
            key = (key, *(x for x in xs if type(x) is not _ARRAY))
            plan = cache.get(key)
        if plan is None:
            if len(cache) >= MOST_KERNELS:
                return usual(*xs, **keywords)
            plan = cache[key] = _forward_plan(primitive, usual, xs, keywords, layout, by_value)
            if plan is _BY_VALUE:
                return kernel(*xs, **keywords)
            if plan[0] is not None:
                least = plan[1]
        run, enough, places = plan
        if run is None or size < enough:
            return usual(*xs, **keywords)
        return run(layout, arrays, [xs[place] for place in places])[0]

    kernel.__name__ = primitive.name
    return kernel


_NEVER = (None, SMALLEST, ())


def _forward_plan(
    primitive: Primitive,
    usual: Callable[..., Any],
    xs: Sequence[Any],
    keywords: dict[str, Any],
    layout: Layout,
    by_value: bool,
) -> Any:
    """What the cache keeps: the loop, from which size on it runs, and which arguments are numbers for it."""
    dtypes = {x.dtype for x in xs if type(x) is _ARRAY}
    if not dtypes & _FLOATS or not dtypes <= _TAKEN:
        return _NEVER
    try:
        kernel = codegen.forward_kernel(primitive, _ARRAY, xs, keywords, by_value, codegen.PLAIN_C)
        run = runner(kernel, layout)
    except NeedsValue:
        return _NEVER if by_value else _BY_VALUE
    except Exception:  # what can't be traced; and a program that raises does so when it runs
        return _NEVER
    return _NEVER if run is None else (run, least_elements(kernel, usual), kernel.takes[len(kernel.arrays) :])


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
    if not codegen.is_elementwise(recipe.primitive) or building.why_not():
        return None
    whats = tuple(what for what, _ in recipe.items)
    cache: dict[Any, Any] = {}
    least = SMALLEST

    def pulled(g: Any, saved: tuple[Any, ...], targets: Sequence[Any] | None) -> Any:
        nonlocal least
        if g.size < least:
            return None
        known: list[Any] = [g.dtype]
        for what, value in zip(whats, saved, strict=True):
            if type(value) is _ARRAY or what == "meta":
                known.append(value.dtype)
            else:
                known.append(value if what == "kw" else type(value))
        shape, into = g.shape, None
        if targets is not None:
            into = tuple(None if t is None or t[0] != shape else t[1] for t in targets)
        key: Any = (*known, into)
        try:
            plan = cache.get(key)
        except TypeError:  # a keyword without a hash
            return None
        by_value = plan is _BY_VALUE
        if by_value:
            key = (key, tuple(value for value in saved if type(value) in _NUMBERS))
            plan = cache.get(key)
        if plan is None:
            if len(cache) >= MOST_KERNELS:
                return None
            plan = cache[key] = _pull_plan(recipe, goes, g, saved, into, by_value)
            if plan is _BY_VALUE:
                return pulled(g, saved, targets)
            least = plan[1]
        return plan[0](g, saved)

    return pulled


def _nothing(g: Any, saved: tuple[Any, ...]) -> None:
    """The rules have to run as they are."""


_RULES = (_nothing, SMALLEST)


def _pull_plan(recipe: Recipe, goes: Sequence[bool], g: Any, saved: tuple[Any, ...], into: Any, by_value: bool) -> Any:
    """What the cache keeps: a function of the cotangent and what the node kept, and from which size on it pays."""
    dtypes = {g.dtype, *(value.dtype for value in saved if type(value) is _ARRAY)}
    if not dtypes & _FLOATS or not dtypes <= _TAKEN:
        return _RULES
    try:
        found = codegen.pull_kernel(recipe, goes, g, saved, into, by_value, codegen.PLAIN_C)
    except NeedsValue:
        return _RULES if by_value else _BY_VALUE
    except Exception:  # rules that raise do so when they run
        return _RULES
    made, results = found.kernel, found.results
    if made is None:
        return (lambda g, saved: [None if k is None else g for k in results]), SMALLEST
    kernel: Kernel = made
    count = len(kernel.arrays)
    places = tuple(place - 1 for place in kernel.takes[1:count])
    numbers = tuple(place - 1 for place in kernel.takes[count:])
    least = least_elements(kernel)
    runs: dict[tuple[bool, ...], Any] = {}

    def run(g: Any, saved: tuple[Any, ...]) -> list[Any] | None:
        if g.size < least:
            return None
        arrays = [g, *[saved[place] for place in places]]
        layout = layout_of(arrays)
        if layout is None or layout.shape != g.shape:
            return None
        try:
            loop = runs[layout.varies]
        except KeyError:
            loop = runs[layout.varies] = runner(kernel, layout)
        if loop is None:
            return None
        made = loop(layout, arrays, [saved[place] for place in numbers])
        return [None if k is None else g if k < 0 else made[k] for k in results]

    return run, least
