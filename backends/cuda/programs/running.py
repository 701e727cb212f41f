"""A program on the device, unit by unit: launches of sections, and calls of kernels."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import cupy
from cupy.cuda import get_current_stream, get_device_id

from lucidgrad.backends.cuda import memory
from lucidgrad.backends.cuda.streams import is_recorded
from lucidgrad.backends.cuda.words import Words
from lucidgrad.core.primitive import Primitive
from lucidgrad.levels.program import Action, Equation, Program, Variable, enter

from .grouping import Launch, Unit, grouped
from .launching import Launcher, Reducer

__all__ = ["Runner", "storage"]

_HERE = nullcontext()


class Runner:
    """The function ``(values) -> outputs`` of a program; outputs have memory of their own."""

    def __init__(self, program: Program, into: Mapping[int, int]) -> None:
        self.program, self.into = program, dict(into)
        groups = grouped(program, into)
        self._arithmetic, self.numbers = groups.arithmetic, groups.numbers
        places = {v: k for k, v in enumerate(groups.numbers)}
        self.units = [_ready(unit, places) for unit in groups.units]
        self.actions = [u for u in groups.units if isinstance(u, Equation) and type(u.primitive) is Action]
        self._fresh = {v for unit in self.units if not isinstance(unit, Equation) for v in unit.stored}
        self._free = self._last_uses(groups.units)
        self._constants = self._spared(groups.units)
        arrays = [*program.inputs, *program.constants, *(v for e in program.equations for v in e.results)]
        self.index = next(v.device.index for v in arrays if not v.is_number)

    def _last_uses(self, units: Sequence[Unit]) -> list[list[Variable]]:
        """What nobody asks for after each unit."""
        last = {v: k for k, unit in enumerate(units) for v in unit.variables if not v.is_number}
        kept = {*self.program.outputs, *self.program.inputs, *self.program.constants}
        free: list[list[Variable]] = [[] for _ in units]
        for v, k in last.items():
            if v not in kept:
                free[k].append(v)
        return free

    def _spared(self, units: Sequence[Unit]) -> dict[Variable, Any]:
        """Constants; where zeros are for kernels alone they are absent, by which these know what nobody has given."""
        others = {v for unit in units if not _is_call(unit) for v in unit.variables} | {*self.program.outputs}
        found = dict(self.program.constants)
        if not is_recorded(get_current_stream()):
            found |= {v: memory.absent_if_zero(array) for v, array in found.items() if v not in others}
        return found

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        with self.device():
            return self.run(self.begun(values), values)

    def device(self) -> AbstractContextManager[Any]:
        """A context in which the program's device is current."""
        return _HERE if get_device_id() == self.index else cupy.cuda.Device(self.index)

    def begun(self, values: Sequence[Any]) -> dict[Variable, Any]:
        """What is known before anything is computed on the device: constants, inputs, and numbers made of them."""
        known: dict[Variable, Any] = dict(self._constants)
        known.update(zip(self.program.inputs, values, strict=True))
        for equation in self._arithmetic:
            enter(equation, known)
        return known

    def act(self, known: dict[Variable, Any]) -> None:
        """Do at once what a run does anew: random numbers are drawn in their order."""
        for action in self.actions:
            enter(action, known)

    def run(self, known: dict[Variable, Any], values: Sequence[Any], numbers: Any = None) -> list[Any]:
        """The outputs; ``numbers``: where the numbers are that launches ask for, if they are on the device already."""
        if self.numbers and numbers is None:
            numbers = Words(len(self.numbers)).filled([known[v] for v in self.numbers])
        made: dict[int, Any] = {}
        for unit, free in zip(self.units, self._free, strict=True):
            if isinstance(unit, Reducer):
                unit(known, numbers)
            elif isinstance(unit, Launcher):
                if unit.targets:  # the last: what is to be an output of memory that it writes is taken before
                    self._settle(made, known, values)
                unit(known, numbers)
            elif unit.results[0] not in known:  # or it was done before
                enter(unit, known)
            for v in free:
                del known[v]
        self._settle(made, known, values)
        return [made[k] for k in range(len(self.program.outputs))]

    def _settle(self, made: dict[int, Any], known: Mapping[Variable, Any], values: Sequence[Any]) -> None:
        """The outputs that are known by now, in memory that nobody else has, or in that of their inputs."""
        taken = {id(storage(array)) for array in made.values() if type(array) is cupy.ndarray}
        foreign = {id(storage(x)) for x in (*values, *self.program.constants.values()) if type(x) is cupy.ndarray}
        for k, v in enumerate(self.program.outputs):
            if k in made or (v not in known and k not in self.into):
                continue
            array = values[self.into[k]] if k in self.into else known[v]
            if k not in self.into and type(array) is cupy.ndarray:
                owner = id(storage(array))
                whole = v in self._fresh or (array.base is None and owner not in foreign)
                array = array if whole and owner not in taken else array.copy()
                taken.add(id(storage(array)))
            made[k] = array


def _is_call(unit: Unit) -> bool:
    return isinstance(unit, Equation) and type(unit.primitive) is Primitive


def _ready(unit: Unit, numbers: Mapping[Variable, int]) -> Launcher | Reducer | Equation:
    if isinstance(unit, Equation):
        return unit
    return Launcher(unit, numbers) if isinstance(unit, Launch) else Reducer(unit, numbers)


def storage(array: Any) -> Any:
    """The array that has the memory of another."""
    return array if array.base is None else array.base
