"""The comparison of loops with programs notices a kernel that is wrong in one operation."""

import re

import numpy as np
import pytest
from test_loop_values import ULPS, differences, kernel_of

from lucidgrad.backends import codegen
from lucidgrad.backends.cpu.compiled import building, elementwise
from lucidgrad.backends.cpu.compiled.layouts import layout_of

#: Operations, and what stands in their place in a mutant.
SWAPS = {
    " + ": " - ",
    " * ": " + ",
    " / ": " * ",
    " > ": " < ",
    " lg_expf(": " expm1f(",
    " lg_tanhf(": " sinhf(",
    " lg_erfcf(": " lg_tanhf(",
    " lg_normal_sharef(": " lg_normal_densityf(",
    " lg_normal_densityf(": " lg_expf(",
}
NAMES = ("erfc", "gelu", "silu", "softplus", "tanh", "mish", "elu", "logaddexp", "hypot", "pow", "divide")


def mutants(kernel):
    """The kernel with one operation replaced, for every line that has one."""
    for at, line in enumerate(kernel.lines):
        for old, new in SWAPS.items():
            if old in line:
                text = line.replace(old, new, 1)
                yield kernel._replace(lines=(*kernel.lines[:at], text, *kernel.lines[at + 1 :]))
                break


@pytest.fixture(scope="module")
def found():
    """For every mutant whether it gives other values: compiled together, as they are many."""
    import catalogue

    pairs = []
    for name in NAMES:
        for case in catalogue.cases_of(name, ("float32",)):
            kernel = kernel_of(case).kernel
            if kernel and not case.variant:
                pairs += [(case, kernel, mutant) for mutant in mutants(kernel)]
    loops = [(f"m{i}", mutant, (True,) * len(mutant.arrays)) for i, (_, _, mutant) in enumerate(pairs)]
    library = building.load("mutants", codegen.loop_source(loops, elementwise.OFFSET), ["-O1"])
    assert library is not None, building.why_not("mutants")
    noticed = []
    for i, (case, kernel, mutant) in enumerate(pairs):
        run = elementwise.bound(mutant, getattr(library, f"m{i}_flat"), getattr(library, f"m{i}_rows"))
        given = [case.arguments()[place] for place in kernel.takes]
        arrays = [np.ravel(a) for a in np.broadcast_arrays(*given[: len(kernel.arrays)])]
        results = run(layout_of(arrays), arrays, given[len(kernel.arrays) :])
        wrong = any(
            differences(y, np.ravel(expected), ULPS["float32"]).size
            for y, expected in zip(results, case.expected(), strict=True)
        )
        changed = next(a for a, b in zip(mutant.lines, kernel.lines, strict=True) if a != b)
        noticed.append((f"{case}: {changed}", wrong))
    return noticed


def test_wrong_operations_are_noticed(found):
    missed = [text for text, wrong in found if not wrong]
    assert len(found) >= 60
    assert not missed, "\n".join(missed)


def test_mutants_are_of_every_kind(found):
    assert all(any(re.search(re.escape(new), text) for text, _ in found) for new in SWAPS.values())
