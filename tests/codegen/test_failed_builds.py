"""What can't be traced runs as it is, in silence; anything else that fails while a kernel is made is told."""

import logging

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends import codegen
from lucidgrad.backends.codegen import cache, kernels
from lucidgrad.backends.cpu.compiled import building, elementwise
from lucidgrad.core.primitive import ELEMENTWISE, primitive, registry

N = 20_000


@pytest.fixture
def broken(monkeypatch):
    """A bug in the code generator."""

    def statements(*parts):
        raise KeyError("a bug")

    monkeypatch.setattr(kernels, "statements", statements)
    monkeypatch.setattr(cache, "_reported", set())


def calls():
    """The CPU's and CUDA's caches, fresh: forward, and backward with what it is given."""
    x = np.full(N, 0.5)
    recipe = registry["tanh"].recipe((0,))
    yield elementwise.forward(registry["tanh"], np.tanh), (x,)
    yield elementwise.pull(recipe, (True,)), (x, recipe.save(x, (x,), {}), None)
    cupy = pytest.importorskip("cupy")
    lg.ones(1, device="cuda")
    from lucidgrad.backends.cuda import generated

    x = cupy.full(4, 0.5)
    yield generated.forward(registry["sigmoid"]), (x,)
    yield generated.pull(recipe, (True,)), (x, recipe.save(x, (x,), {}), None)


@pytest.mark.skipif(bool(building.why_not()), reason="no compiled kernels")
def test_a_bug_in_code_generation_is_an_error_in_tests(broken):
    for call, arguments in calls():
        with pytest.raises(AssertionError, match=r"kernel of .* can't be made: KeyError: 'a bug'"):
            call(*arguments)


@pytest.mark.skipif(bool(building.why_not()), reason="no compiled kernels")
def test_for_users_it_is_logged_once_and_results_are_right(broken, monkeypatch, caplog):
    monkeypatch.delenv("LUCIDGRAD_STRICT")
    for call, arguments in calls():
        with caplog.at_level(logging.WARNING, "lucidgrad"):
            first, second = call(*arguments), call(*arguments)
        if first is not None:
            expected = 1 / (1 + np.exp(-0.5)) if hasattr(arguments[0], "get") else np.tanh(0.5)
            assert (first == second).all() and abs(float(first[0]) - expected) < 1e-15
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == len(set(said)) >= 2  # forward and rules, each once for both devices or for each
    assert all("can't be made" in message and "'a bug'" in message for message in said)


def test_programs_that_refuse_their_arguments_say_so_themselves():
    @primitive(ELEMENTWISE, vjp=lambda xp, g, x, *, k: g * _known(k))
    def picky(xp, x, /, *, k=1.0):
        return x * _known(k)

    def _known(k):
        if k < 0:
            raise ValueError("k is negative")
        return k

    try:
        x = lg.ones(N, requires_grad=True)
        with pytest.raises(ValueError, match="k is negative"):
            picky(x, k=-1.0)
        y = picky(x, k=2.0)
        y.backward(lg.ones(N))
        assert (x.grad == 2).all()
    finally:
        del registry["picky"]


def test_what_cannot_be_traced_is_silent(caplog):
    @primitive(ELEMENTWISE, vjp=lambda xp, g, x: g)
    def looking(xp, x, /):
        return x + len(x.shape)

    try:
        with caplog.at_level(logging.DEBUG, "lucidgrad"):
            assert (looking(lg.ones(N)) == 2).all()
        assert not caplog.records
        with pytest.raises(codegen.Untraceable):
            codegen.forward_kernel(registry["looking"], np.ndarray, (np.ones(3),), {})
    finally:
        del registry["looking"]


def test_a_compiler_that_fails_is_logged_once(monkeypatch, caplog):
    if building.why_not():
        pytest.skip("no compiler")
    monkeypatch.setattr(cache, "_reported", set())
    with caplog.at_level(logging.WARNING, "lucidgrad"):
        for _ in range(2):
            assert building.load("nonsense", "this is no C") is None
    assert len(caplog.records) == 1 and "nonsense" in caplog.text
    building._failures.pop("nonsense")
