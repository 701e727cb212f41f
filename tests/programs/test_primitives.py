"""Every primitive that takes floats, with its cotangents, as a program: a Python function of kernels, and C."""

import numpy as np
import pytest
from samples import LEVELS, samples_of
from thoroughness import cases
from traces import all_samples, apart, is_float

from lucidgrad.backends.cpu.programs.lines import flat
from lucidgrad.backends.cpu.programs.segments import segmented
from lucidgrad.core.primitive import registry
from lucidgrad.levels.traced import program_of as traced

#: Larger programs, derivatives of series, would keep the compiler busy for minutes.
LONGEST = 300

#: How far C may be off, in units in the last place of the largest element; functions add up theirs, at most 4 each.
BOUND = 32

#: Results that magnify the last place of what they are computed from, by how much more.
MAGNIFYING = {}


def usable(sample):
    arrays = sample.arrays()
    return any(map(is_float, arrays)) and not any(a.dtype.kind == "c" for a in arrays) and not sample.data_dependent


def names():
    found = []
    for name in sorted(set(registry) - set(LEVELS)):
        try:
            if any(map(usable, samples_of(registry[name]))):
                found.append(name)
        except LookupError:
            continue
    return found


@pytest.mark.parametrize("name", names())
def test_a_primitive_and_its_cotangents(name):
    primitive = registry[name]
    samples = [sample for sample in samples_of(primitive) if usable(sample)][: cases(4, 100)]
    for dtype in ("float32", "float64")[: cases(1, 2)]:
        function, arrays = all_samples(primitive, samples, dtype)
        program = traced(function, *arrays)
        with np.errstate(all="ignore"):
            want = program.run(arrays)
            for mine, expected in zip(flat(program, {})(arrays), want, strict=True):
                assert apart(mine, expected) == 0, f"flat: {program}"
            if len(program) > LONGEST:
                continue
            for mine, expected in zip(segmented(program, {}, least=1)(arrays), want, strict=True):
                assert apart(mine, expected) <= BOUND * MAGNIFYING.get(name, 1), f"C: {program}"
