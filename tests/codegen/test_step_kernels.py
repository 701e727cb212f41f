"""Kernels of optimiser steps: what their programs may do, what their source is made of, and that faults are found."""

import itertools
import linecache
import warnings

import numpy as np
import pytest
from kernels import test_steps as formulas
from mutations import FLIPS, OPERATORS
from thoroughness import cases

import lucidgrad as lg
from lucidgrad.backends.codegen import cache
from lucidgrad.core import device
from lucidgrad.ops import steps
from lucidgrad.ops.steps import Step

DEVICES = ("cpu", "cuda")


def taken(step, where, settings, values=(1.0, -2.0, 3.0), count=1):
    """A parameter after some steps along ones."""
    p = lg.tensor(values, device=where)
    for _ in range(count):
        step([p], [lg.ones_like(p)], **settings)
    return p.tolist()


# -- names -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("name", ["abs", "double", "lg_sign", "a step", "<lambda>", "1", "pow"])
def test_a_step_may_have_any_name(name, where):
    assert taken(Step(name, lambda xp, p, g, *, lr: (p - lr * g,)), where, {"lr": 0.5}) == [0.5, -2.5, 2.5]


@pytest.mark.parametrize("where", DEVICES)
def test_settings_may_be_called_what_the_source_calls_its_own(where):
    words = "state table size i k s s0 a0 x0 t0 c0 step numbers Task t own first n begin end double lists".split()

    def program(xp, p, g, **settings):
        for value in settings.values():
            p = p - value * g
        return (p,)

    found = taken(Step("named", program), where, {word: 2.0 ** -(k % 8) for k, word in enumerate(words)})
    assert found == [x - sum(2.0 ** -(k % 8) for k in range(len(words))) for x in (1.0, -2.0, 3.0)]


def test_the_source_of_a_step_is_shown_in_tracebacks(monkeypatch):
    lines = []
    kernels = device.backend_named("cpu").kernels["elementwise_step"]
    monkeypatch.setattr(kernels, "_caches", {})
    usual = kernels._make

    def made(name, trace):
        found = usual(name, trace)
        code = found.step.__code__
        lines.append(linecache.getline(code.co_filename, code.co_firstlineno))
        return found

    monkeypatch.setattr(kernels, "_make", made)
    for factor in (2.0, 3.0):
        taken(Step("shown", lambda xp, p, g, *, lr, factor=factor: (p - factor * lr * g,)), "cpu", {"lr": 0.5})
    assert len(lines) == 2 and all(line.startswith("def step(a0, a1") for line in lines)


# -- programs ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("where", DEVICES)
def test_a_program_may_look_at_a_setting(where):
    step = Step("looking", lambda xp, p, g, *, lr: (p - lr * g if lr > 0.25 else p,))
    for lr, moved in ((0.5, 0.5), (0.25, 0.0), (1.0, 1.0), (0.5, 0.5)):
        assert taken(step, where, {"lr": lr}) == [1 - moved, -2 - moved, 3 - moved]


@pytest.mark.parametrize("where", DEVICES)
def test_ever_new_settings_make_no_more_kernels_in_the_end(where, monkeypatch):
    monkeypatch.setattr(cache, "MOST_KERNELS", 3)
    made = []
    kernels = device.backend_named(where).kernels["elementwise_step"]
    usual = kernels._make
    monkeypatch.setattr(kernels, "_make", lambda *parts: made.append(parts) or usual(*parts))
    step = Step("counting", lambda xp, p, g, *, number: (p - number * g,))
    for number in range(1, 7):
        assert taken(step, where, {"number": number}) == [1 - number, -2 - number, 3 - number]
    assert len(made) == 3


@pytest.mark.parametrize("where", DEVICES)
def test_what_can_not_be_traced_runs_as_it_is_in_silence(where):
    step = Step("averaging", lambda xp, p, g, *, lr: (p - lr * g * xp.sum(p) / (p - p),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert taken(step, where, {"lr": 1.0}) == [-np.inf] * 3


@pytest.mark.parametrize("where", DEVICES)
def test_a_program_that_refuses_its_settings_says_so_itself(where):
    def program(xp, p, g, *, lr):
        if not lr:
            raise ValueError("lr is zero")
        return (p,)

    with pytest.raises(ValueError, match="lr is zero"):
        taken(Step("picky", program), where, {"lr": 0.0})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_both_devices_have_the_same_bits(dtype):
    runs = [("sgd_step", s, 3 if s["momentum"] else 2) for s in formulas.SGD]
    runs += [("adam_step", s, count) for s in formulas.ADAM for count in (4, 5)]
    for step, settings, count in runs:
        lists = formulas.draw(count, dtype)
        found = []
        for where in DEVICES:
            made = [[lg.tensor(x.copy(), device=where) for x in column] for column in lists]
            getattr(steps, step)(*made, **settings)
            found.append([x.numpy(force=True).tobytes() for column in made for x in column])
        assert found[0] == found[1], f"{step} {settings}"


# -- faults ------------------------------------------------------------------------------------------
def mutants(lines):
    """The statements with one operator flipped, or one result written elsewhere."""
    for at, line in enumerate(lines):
        for found in OPERATORS.finditer(line):
            yield [*lines[:at], line[: found.start()] + FLIPS[found[0]] + line[found.end() :], *lines[at + 1 :]]
        if line.startswith("a"):
            yield [*lines[:at], line.replace("[i]", "[0]", 1), *lines[at + 1 :]]


@pytest.mark.parametrize(
    ("name", "settings", "count"), [("sgd_step", formulas.SGD[-1], 3), ("adam_step", formulas.ADAM[-1], 5)]
)
def test_faults_in_what_is_printed_for_cuda_are_found(name, settings, count, monkeypatch):
    kernels = device.backend_named("cuda").kernels["elementwise_step"]
    from lucidgrad.backends.cuda.kernels import steps as printed_steps

    formula = steps.SGD.formula if name == "sgd_step" else steps.ADAM.formula
    lists, usual, printed = formulas.draw(count, "float64", [(33,)]), printed_steps.step_body, []
    monkeypatch.setattr(printed_steps, "step_body", lambda *parts: printed.append(usual(*parts)) or printed[0])
    monkeypatch.setattr(kernels, "_caches", {})
    formulas.check(name, formula, lists, settings, "cuda", "float64")
    found = list(mutants(printed[0]))
    assert len(found) >= 8
    missed = []
    for mutant in itertools.islice(found, 0, None, max(1, len(found) // cases(5, 100))):
        kernels._caches.clear()
        monkeypatch.setattr(printed_steps, "step_body", lambda *parts, mutant=mutant: mutant)
        try:
            formulas.check(name, formula, lists, settings, "cuda", "float64")
        except AssertionError:
            continue
        missed.append(next(line for line, old in zip(mutant, printed[0], strict=True) if line != old))
    assert not missed
