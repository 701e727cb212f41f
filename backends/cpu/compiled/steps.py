"""Optimiser steps in C, generated from their programs: one pass, in place, over all tensors in one call.

A loop is compiled for a program, dtypes and kinds of settings when it pays: for many elements at once, for few after
a number of steps. It does the same operations as NumPy, rounded in the same way, so nobody can tell when it took over.
"""

import ctypes
import functools
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

import numpy as np

from lucidgrad import native
from lucidgrad.backends.codegen import PLAIN_C, Untraceable
from lucidgrad.backends.codegen.steps import StepTrace, step_body

from . import building, threads
from .library import address, plain, run

#: Elements of a tensor that are updated at a time.
PIECE = 1 << 14
#: Elements from which a loop is compiled at once, and steps after which it is for fewer.
MANY, PATIENCE = 1 << 14, 50

#: Operations that C rounds as NumPy does.
_EXACT = frozenset(
    """
    argument constant cast where add subtract multiply divide negative positive abs sign sqrt square reciprocal maximum
    minimum equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not copysign isnan
    """.split()
)


def _source(trace: StepTrace) -> str:
    """The C text; raises `Untraceable` for what a loop would not do in NumPy's way."""
    for node in trace.nodes:
        if node.op not in _EXACT:
            raise Untraceable(f"{node.op}, which C may round in another way")
    types = [PLAIN_C.stored(node.dtype) for node in trace.arrays]
    pointers = [
        f"{'const ' if k == 1 else ''}{t} *restrict a{k} = own[{k}] + first * sizeof({t});" for k, t in enumerate(types)
    ]
    fields = "".join(f" double s{k};" for k in range(len(trace.numbers)))
    opened = "".join(f" const double s{k} = t->s{k};" for k in range(len(trace.numbers)))
    return "\n".join(
        [
            PLAIN_C.functions,
            f"typedef struct {{ char *const *arrays; const long long *pieces;{fields} }} Task;",
            "EXPORT void lg_step(const void *task, long begin, long end) {",
            f"    const Task *t = task;{opened}",
            "    for (long k = begin; k < end; k++) {",
            f"        char *const *own = t->arrays + t->pieces[3 * k] * {len(types)};",
            "        const long long first = t->pieces[3 * k + 1], n = t->pieces[3 * k + 2] - first;",
            *(f"        {line}" for line in pointers),
            "        #pragma omp simd",
            "        for (long long i = 0; i < n; i++) {",
            *(f"            {line}" for line in step_body(trace, PLAIN_C)),
            "        }",
            "    }",
            "}",
            "",
        ]
    )


@functools.lru_cache(maxsize=64)
def _pieces(sizes: tuple[int, ...]) -> Any:
    """Tensor, first and last element of each piece."""
    pieces = [(t, k, min(k + PIECE, n)) for t, n in enumerate(sizes) for k in range(0, n, PIECE)]
    return np.array(pieces, np.int64).reshape(-1, 3)


class _Prepared:
    """What C is told of columns of arrays: where they lie, and in which pieces they are updated."""

    __slots__ = ("addresses", "count", "head", "total")

    def __init__(self, columns: Sequence[Sequence[Any]]) -> None:
        sizes = tuple([p.size for p in columns[0]])
        self.total = sum(sizes)
        self.addresses = np.array([[address(x) for x in column] for column in columns], np.uintp).T.copy()
        pieces = _pieces(sizes)
        self.count, self.head = len(pieces), (address(self.addresses), address(pieces), pieces)

    def renew(self, grads: Sequence[Any]) -> None:
        self.addresses[:, 1] = [address(g) for g in grads]


def _prepared(columns: Sequence[Sequence[Any]]) -> _Prepared | None:
    """The same as the last time but for the gradients, if the columns can tell; None if they are for NumPy."""
    found: _Prepared | None = getattr(columns, "prepared", None)
    if found is not None:
        for g in columns[1]:
            if not plain(g):
                return None
        found.renew(columns[1])
        return found
    for column in columns:
        for x in column:
            if not plain(x):
                return None
    found = _Prepared(columns)
    if hasattr(columns, "prepared"):
        columns.prepared = found
    return found


class CompiledStep:
    """A step's loop, compiled when it pays."""

    def __init__(self, trace: StepTrace) -> None:
        self._trace: StepTrace | None = trace
        self._function: int | None = None
        self._names = [name for name, _ in trace.numbers]
        self._pack = Struct(f"2q{len(self._names)}d").pack
        self._calls = 0

    def __call__(self, columns: Sequence[Sequence[Any]], settings: dict[str, Any]) -> bool:
        """Take the step on all rows of arrays; False if it is for NumPy."""
        if self._function is None and not self._compile(sum([p.size for p in columns[0]])):
            return False
        prepared = _prepared(columns)
        if prepared is None:
            return False
        addresses, pieces, _ = prepared.head
        task = self._pack(addresses, pieces, *map(settings.__getitem__, self._names))
        run(self._function, task, prepared.count, len(columns) * prepared.total)  # type: ignore[arg-type]
        return True

    def again(self, columns: Sequence[Sequence[Any]], settings: dict[str, Any]) -> Callable[..., bool] | None:
        """``(lists of tensors, settings) -> bool`` takes the next step if it is like this one; None if none can."""
        engine, prepared = native.parts(), getattr(columns, "prepared", None)
        if engine is None or prepared is None or len(columns) * prepared.total >= 2 * threads.PER_THREAD:
            return None
        if self._names != [name for name, value in settings.items() if type(value) is float and value]:
            return None  # numbers are part of the loop
        if any(g.dtype is not p.dtype for p, g in zip(columns[0], columns[1], strict=True)):
            return None
        task = bytearray(self._pack(*prepared.head[:2], *map(settings.__getitem__, self._names)))
        last = (columns, dict(settings), task, self._function, prepared.count)
        return functools.partial(engine.again, last)

    def _compile(self, total: int) -> bool:
        self._calls += 1
        if self._trace is None or (total < MANY and self._calls < PATIENCE):
            return False
        trace, self._trace = self._trace, None  # it is tried once
        try:
            library = building.load("step", _source(trace))
        except Untraceable:
            return False
        if library is not None:
            self._function = ctypes.cast(library.lg_step, ctypes.c_void_p).value
        return library is not None
