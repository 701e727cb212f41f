"""Optimiser steps in NumPy: a step's program as a list of ufunc calls, in place and block by block.

The program is traced once for the dtypes and the kind of its settings. Intermediate values live in a few small
buffers that are used again and again; new values go straight into the memory of the old ones where nothing needs
those any more. So a step reads and writes main memory once, however many operations it has.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lucidgrad.backends.codegen.expression import Node, Untraceable
from lucidgrad.backends.codegen.functions import FUNCTIONS
from lucidgrad.backends.codegen.steps import StepKernels, StepTrace
from lucidgrad.backends.cpu.compiled.steps import CompiledStep
from lucidgrad.core.source import run

#: Elements that are updated at a time: what a step touches of them fits into a second-level cache.
BLOCK = 32768
#: Shapes whose scratch arrays are kept.
MOST_SHAPES = 256

_PYTHON = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}


# -- a step as a Python function -----------------------------------------------------------------
def _choose(condition: Any, one: Any, two: Any, out: Any) -> None:
    np.copyto(out, two)
    np.copyto(out, one, where=condition)


class _Writer:
    """Writes a trace as two functions: one of the settings, which makes numbers, one of arrays, scratch and numbers."""

    def __init__(self, trace: StepTrace) -> None:
        self.trace = trace
        self.order = [n for n in trace.nodes if not n.weak and n.op != "argument"]
        self.scope: dict[str, Any] = {"_choose": _choose, "_copy": np.copyto, "_array": np.array}
        self.words = {node: f"a{k}" for k, node in enumerate(trace.arrays)}
        self.numbers: list[str] = []
        self.scratch: list[Any] = []  # the dtypes of scratch arrays
        self._free: dict[Any, list[str]] = {}
        self._scalars = [n for n in self.order if self._is_number(n)]
        self.order = [n for n in self.order if n not in set(self._scalars)]

    @staticmethod
    def _is_number(node: Node) -> bool:
        return node.op == "constant" or (node.op == "cast" and node.args[0].weak)

    def _host(self, node: Node) -> str:
        """A Python expression of the settings."""
        if node.op == "argument":
            return f"s[{node.value!r}]"
        if node.op == "constant":
            return repr(node.value)
        if node.op == "cast":
            return self._host(node.args[0])
        if node.op == "negative":
            return f"(-{self._host(node.args[0])})"
        if node.op not in _PYTHON:
            raise Untraceable(f"{node.op} of settings")
        one, two = map(self._host, node.args)
        return f"({one} {_PYTHON[node.op]} {two})"

    def write(self, name: str) -> tuple[Callable[..., Any], Callable[..., Any], list[Any]]:
        for k, node in enumerate(self._scalars):
            self.scope[f"d{k}"] = node.dtype
            self.numbers.append(f"_array({self._host(node)}, d{k})")
            self.words[node] = f"c{k}"
        places = [0, *range(2, len(self.trace.arrays))]  # the gradient is not written
        last = {node: when for when, made in enumerate(self.order) for node in made.args}
        for node in self.trace.results:
            last[node] = len(self.order)
        home = self._homes(places, last)
        lines, end = [], []
        for when, node in enumerate(self.order):
            args = [self.words[a] for a in node.args]
            taken = node.op == "where"  # its result is written before its arguments are all read
            out = home.get(node)
            if not taken:
                self._release(node, when, last)
            if out is None:
                out = self._take(node.dtype)
            if taken:
                self._release(node, when, last)
            lines.append(self._call(node, args, out))
            self.words[node] = out
        for place, node in zip(places, self.trace.results, strict=True):
            if self.words[node] != f"a{place}":
                end.append(f"_copy(a{place}, {self.words[node]})")
        end.sort(key=lambda line: ", a" not in line)  # what is an old value is copied before it is overwritten
        arrays = ", ".join(f"a{k}" for k in range(len(self.trace.arrays)))
        scratch = "".join(f", t{k}" for k in range(len(self.scratch)))
        numbers = "".join(f", c{k}" for k in range(len(self.numbers)))
        body = "\n    ".join([*lines, *end]) or "pass"
        tuple_of = "".join(f"{number}, " for number in self.numbers)
        source = f"def numbers(s):\n    return ({tuple_of})\n\ndef step({arrays}{scratch}{numbers}):\n    {body}\n"
        run(source, self.scope, name)
        return self.scope["step"], self.scope["numbers"], self.scratch

    def _homes(self, places: Sequence[int], last: dict[Node, int]) -> dict[Node, str]:
        """New values that can be written over the old ones, since those are not needed any more by then."""
        found: dict[Node, str] = {}
        when = {node: k for k, node in enumerate(self.order)}
        for place, node in zip(places, self.trace.results, strict=True):
            old = self.trace.arrays[place]
            made = when.get(node, -1)
            free = last.get(old, -1) <= made and not (node.op == "where" and old in node.args)
            if made >= 0 and node not in found and free and node.dtype == old.dtype:
                found[node] = f"a{place}"
        return found

    def _take(self, dtype: Any) -> str:
        free = self._free.setdefault(dtype, [])
        if free:
            return free.pop()
        self.scratch.append(dtype)
        return f"t{len(self.scratch) - 1}"

    def _release(self, node: Node, when: int, last: dict[Node, int]) -> None:
        for arg in set(node.args):
            word = self.words[arg]
            if last[arg] == when and word[0] == "t":
                self._free.setdefault(arg.dtype, []).append(word)

    def _call(self, node: Node, args: list[str], out: str) -> str:
        if node.op == "where":
            return f"_choose({', '.join(args)}, {out})"
        if node.op == "cast":
            return f"_copy({out}, {args[0]}, 'unsafe')"
        if node.op not in FUNCTIONS:
            raise Untraceable(node.op)
        name = f"f_{node.op}"
        self.scope[name] = FUNCTIONS[node.op].ufunc
        keyword = "out=" if node.op in ("maximum", "minimum") else ""  # by position it is deprecated there
        return f"{name}({', '.join(args)}, {keyword}{out})"


# -- running it ----------------------------------------------------------------------------------
class _Scratch(threading.local):
    """Scratch arrays of a thread by step and shape."""

    def __init__(self) -> None:
        self.of: dict[Any, dict[tuple[int, ...], tuple[Any, ...]]] = {}


_scratch = _Scratch()


class _HostStep:
    """A program for certain dtypes and kinds of settings, ready to run."""

    def __init__(self, name: str, trace: StepTrace) -> None:
        self.step, self.numbers, self.scratch = _Writer(trace).write(name)
        self.compiled = CompiledStep(trace)

    def __call__(self, columns: Sequence[Sequence[Any]], settings: dict[str, Any]) -> Any:
        if self.compiled(columns, settings):
            return self.compiled.again(columns, settings)
        with np.errstate(all="ignore"):
            self._run(columns, self.numbers(settings))
        return None

    def _run(self, columns: Sequence[Sequence[Any]], numbers: Sequence[Any]) -> None:
        step = self.step
        shapes = _scratch.of.get(self)
        if shapes is None:
            shapes = _scratch.of[self] = {}
        for arrays in zip(*columns, strict=True):
            p = arrays[0]
            for part in (arrays,) if p.size <= BLOCK else _blocks(arrays):
                shape = part[0].shape
                scratch = shapes.get(shape)
                if scratch is None:
                    scratch = tuple([np.empty(shape, dtype) for dtype in self.scratch])
                    if p.size <= BLOCK or len(shape) == 1:
                        if len(shapes) >= MOST_SHAPES:
                            shapes.clear()
                        shapes[shape] = scratch
                step(*part, *scratch, *numbers)


def _blocks(arrays: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Pieces of one size of all arrays, views of them."""
    if all(a.flags.c_contiguous for a in arrays):
        arrays, length = [a.reshape(-1) for a in arrays], BLOCK
    else:
        length = max(1, BLOCK * arrays[0].shape[0] // arrays[0].size)
    for k in range(0, arrays[0].shape[0], length):
        yield [a[k : k + length] for a in arrays]


TABLE: dict[str, Callable[..., Any]] = {"elementwise_step": StepKernels(_HostStep)}
