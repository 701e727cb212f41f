"""Planted faults are found: one for each kernel here, all of them by ``python tests/kernels/mutations.py``."""

import importlib

import pytest
from thoroughness import cases

import lucidgrad as lg
from lucidgrad.backends.cuda import kernels

from . import mutations, single
from .cases import CASES
from .comparison import compare

lg.zeros(1, device="cuda")  # loads the back end
FIRST = [(module, kernel, *pairs[0]) for module, made in mutations.FAULTS.items() for kernel, pairs in made.items()]


def test_every_kernel_has_faults():
    for module, faults in mutations.FAULTS.items():
        sources = importlib.import_module(f"lucidgrad.backends.cuda.kernels.{module}").SOURCES
        assert set(faults) == {key.rpartition("_")[0] for key in sources}
        assert sources.items() <= kernels.SOURCES.items()


@pytest.mark.parametrize("module", ["columns", "convolution", "lists", "puts", "recurrence", "windows"])
def test_every_kernel_says_how_many_threads_it_has(module):
    """So that a compiler gives them registers for so many."""
    for name, text in importlib.import_module(f"lucidgrad.backends.cuda.kernels.{module}").SOURCES.items():
        assert "__launch_bounds__(256" in text[text.rindex('extern "C"') :], name


@pytest.mark.parametrize("fault", FIRST, ids=lambda fault: fault[1])
def test_a_planted_fault_is_found(fault):
    with mutations.planted(*fault):
        assert not mutations.survives(fault[1])


@pytest.mark.parametrize("name", cases(["argmax", "logsumexp", "var"], list(mutations.STATE_FAULTS)))
def test_a_fault_in_a_state_is_found(name):
    for fault in mutations.STATE_FAULTS[name]:
        with mutations.planted_state(name, *fault):
            assert not mutations.survives(name), fault


@pytest.mark.parametrize("name", single.FAULTS)
def test_kernels_that_stand_alone(name):
    assert single.survives(name)
    for old, new in single.FAULTS[name][2]:
        with single.planted(name, old, new):
            assert not single.survives(name), f"{old!r} -> {new!r} is not found"


def test_without_fault_nothing_is_found():
    with mutations.planted("rows", "softmax_pull", "inner_product) *", "(inner_product)) *"):
        for case in CASES["softmax_pull"][:4]:
            compare("softmax_pull", case, "float32")
