"""A program on the device, unit by unit: launches of sections, and calls of kernels."""

from collections.abc import Mapping, Sequence
from typing import Any

import cupy

from lucidgrad.levels.program import Equation, Program, Variable, evaluate

from .grouping import Launch, grouped
from .launching import Launcher, Numbers

__all__ = ["Runner"]


class Runner:
    """The function ``(values) -> outputs`` of a program; outputs have memory of their own."""

    def __init__(self, program: Program, into: Mapping[int, int]) -> None:
        self._program, self._into = program, dict(into)
        groups = grouped(program, into)
        self._arithmetic, self._numbers = groups.arithmetic, groups.numbers
        places = {v: k for k, v in enumerate(groups.numbers)}
        self._units = [Launcher(unit, places) if isinstance(unit, Launch) else unit for unit in groups.units]
        self._fresh = {v for unit in self._units if isinstance(unit, Launcher) for v in unit.stored}
        self._free = self._last_uses(groups.units)

    def _last_uses(self, units: Sequence[Launch | Equation]) -> list[list[Variable]]:
        """What nobody asks for after each unit."""
        last = {v: k for k, unit in enumerate(units) for v in unit.variables if not v.is_number}
        kept = {*self._program.outputs, *self._program.inputs, *self._program.constants}
        free: list[list[Variable]] = [[] for _ in units]
        for v, k in last.items():
            if v not in kept:
                free[k].append(v)
        return free

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        known: dict[Variable, Any] = dict(self._program.constants)
        known.update(zip(self._program.inputs, values, strict=True))
        for equation in self._arithmetic:
            self._evaluate(equation, known)
        numbers = None
        if self._numbers:
            numbers = Numbers(len(self._numbers))
            numbers.fill([known[v] for v in self._numbers])
        return self._run(known, values, None if numbers is None else numbers.array)

    def _run(self, known: dict[Variable, Any], values: Sequence[Any], numbers: Any) -> list[Any]:
        made: dict[int, Any] = {}
        for unit, free in zip(self._units, self._free, strict=True):
            if isinstance(unit, Launcher):
                if unit.targets:  # the last: what is to be an output of memory that it writes is taken before
                    self._settle(made, known, values)
                unit(known, numbers)
            else:
                self._evaluate(unit, known)
            for v in free:
                del known[v]
        self._settle(made, known, values)
        return [made[k] for k in range(len(self._program.outputs))]

    @staticmethod
    def _evaluate(equation: Equation, known: dict[Variable, Any]) -> None:
        found = evaluate(equation, [known[x] if type(x) is Variable else x for x in equation.inputs])
        known.update(zip(equation.results, found if equation.primitive.outputs else (found,), strict=True))

    def _settle(self, made: dict[int, Any], known: Mapping[Variable, Any], values: Sequence[Any]) -> None:
        """The outputs that are known by now, in memory that nobody else has, or in that of their inputs."""
        taken = {id(_storage(array)) for array in made.values() if type(array) is cupy.ndarray}
        foreign = {id(_storage(x)) for x in (*values, *self._program.constants.values()) if type(x) is cupy.ndarray}
        for k, v in enumerate(self._program.outputs):
            if k in made:
                continue
            if k in self._into:
                made[k] = values[self._into[k]]
                continue
            if v not in known:
                continue
            array = known[v]
            if type(array) is cupy.ndarray:
                owner = id(_storage(array))
                whole = v in self._fresh or (array.base is None and owner not in foreign)
                array = array if whole and owner not in taken else array.copy()
                taken.add(id(_storage(array)))
            made[k] = array


def _storage(array: Any) -> Any:
    return array if array.base is None else array.base
