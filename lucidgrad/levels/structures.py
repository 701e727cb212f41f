"""Loops and choices as parts of programs: how they run, on arrays of any kind.

The inputs of ``scan`` are what is carried, the columns, whose slices along the first axis each step gets, and what is
the same in every step; its body gives what is carried on and what is collected. ``while_loop`` has two bodies of the
same inputs, ``cond`` the truth value before what the branches are given.
"""

from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core import device

from .layer import Layer, run
from .program import Program, Structure

__all__ = ["COND", "SCAN", "STRUCTURES", "WHILE", "is_true", "order"]

_Runner = Callable[[Program], Callable[[Sequence[Any]], list[Any]]]


def order(length: int, reverse: bool) -> range:
    """The places of slices, in the order of steps."""
    return range(length - 1, -1, -1) if reverse else range(length)


def is_true(value: Any) -> bool:
    """The truth value in an array of one element."""
    while isinstance(value, Layer):
        value = value.front
    return bool(device.by_array[type(value)].to_numpy(value))


def _scan(
    values: Sequence[Any], run_program: _Runner, body: Program, length: int, reverse: bool, carries: int, columns: int
) -> tuple[Any, ...]:
    step = run_program(body)
    carry, rest = list(values[:carries]), values[carries + columns :]
    rows: list[Any] = [None] * length
    for i in order(length, reverse):
        slices = [run("index", x, key=(i,)) for x in values[carries : carries + columns]]
        made = step([*carry, *slices, *rest])
        carry, rows[i] = made[:carries], made[carries:]
    stacked = [None if parts[0] is None else run("stack", *parts, axis=0) for parts in zip(*rows, strict=True)]
    return (*carry, *stacked)


def _while(values: Sequence[Any], run_program: _Runner, condition: Program, body: Program, carries: int) -> Any:
    holds, step = run_program(condition), run_program(body)
    carry, rest = list(values[:carries]), values[carries:]
    while is_true(holds([*carry, *rest])[0]):
        carry = step([*carry, *rest])
    return tuple(carry)


def _cond(values: Sequence[Any], run_program: _Runner, true: Program, false: Program) -> tuple[Any, ...]:
    return tuple(run_program(true if is_true(values[0]) else false)(values[1:]))


SCAN = Structure("scan", _scan)
WHILE = Structure("while_loop", _while)
COND = Structure("cond", _cond)
#: All of them, by their names.
STRUCTURES = {structure.name: structure for structure in (SCAN, WHILE, COND)}
