"""Optimiser steps: kernels give what the formulas give, on both devices, and touch nothing else."""

import importlib
import itertools

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.core import device, tape
from lucidgrad.ops import steps

from .comparison import TOLERANCE

SHAPES = [(0,), (1,), (33,), (5, 205), (2, 3, 4)]
SGD = [
    dict(lr=0.1, momentum=m, dampening=d, weight_decay=w, nesterov=n, maximize=x, first=f)
    for m, d, w, n, x, f in itertools.product((0.0, 0.9), (0.0, 0.3), (0.0, 0.2), *[(False, True)] * 3)
    if not (m == 0 and (d or n or f))
]
ADAM = [
    dict(lr=0.1, beta1=0.8, beta2=0.9, eps=1e-3, weight_decay=w, step=s, decoupled=d, maximize=x)
    for w, s, d, x in itertools.product((0.0, 0.2), (1, 7), (False, True), (False, True))
]


def draw(count, dtype, shapes=SHAPES, seed=0):
    """Lists of arrays: parameters, gradients, states (not negative)."""
    rng = np.random.default_rng(seed)
    lists = [[rng.normal(size=shape).astype(dtype) for shape in shapes] for _ in range(count)]
    return [lists[0], lists[1], *([np.abs(x) for x in column] for column in lists[2:])]


def expected(formula, lists, settings):
    """The formula, in double precision."""
    xp = device.backend_named("cpu").xp
    rows = zip(*lists, strict=True)
    new = [formula(xp, *(np.asarray(x, dtype="float64") for x in row), **settings) for row in rows]
    return [list(column) for column in zip(*new, strict=True)]


def check(step, formula, lists, settings, where, dtype, arrange=lambda x: x):
    wanted = expected(formula, lists, settings)
    made = [[lg.tensor(x.copy(), device=where) for x in column] for column in lists]
    made = [[arrange(x) for x in column] for column in made]
    versions = [[tape.version(x.array) for x in column] for column in made]
    getattr(steps, step)(*made, **settings)
    for k, (column, new) in enumerate(zip([made[0], *made[2:]], wanted, strict=True)):
        for x, e in zip(column, new, strict=True):
            found = x.detach().numpy(force=True)
            assert found.dtype == np.dtype(dtype) and found.shape == e.shape
            tolerance = TOLERANCE[dtype]
            np.testing.assert_allclose(found, e, rtol=tolerance, atol=tolerance, err_msg=f"{step} {settings} list {k}")
    for x, g in zip(made[1], lists[1], strict=True):
        np.testing.assert_array_equal(x.numpy(force=True), g)
    for k, (column, before) in enumerate(zip(made, versions, strict=True)):
        assert [tape.version(x.array) - v for x, v in zip(column, before, strict=True)] == [int(k != 1)] * len(column)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_sgd(where, dtype):
    for settings in SGD:
        lists = draw(3 if settings["momentum"] else 2, dtype)
        check("sgd_step", steps._sgd, lists, settings, where, dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_adam(where, dtype):
    for settings in ADAM:
        for count in (4, 5):
            check("adam_step", steps._adam, draw(count, dtype), settings, where, dtype)


@pytest.mark.parametrize("where", ["cpu", "cuda", "strict"])
def test_many_and_large_tensors(where):
    shapes = [(7,)] * 150 if where == "strict" else [(7,)] * 150 + [(1_000_000,)]
    check("sgd_step", steps._sgd, draw(3, "float32", shapes), SGD[-1], where, "float32")
    check("adam_step", steps._adam, draw(4, "float32", shapes), ADAM[-1], where, "float32")


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_any_memory_layout(where):
    def turned(x):
        y = lg.empty(tuple(reversed(x.shape)), dtype=x.dtype, device=where).T
        y[...] = x
        return y

    shapes = [(3, 4), (1, 5), (200, 300)]
    check("sgd_step", steps._sgd, draw(3, "float64", shapes), SGD[-1], where, "float64", turned)
    check("adam_step", steps._adam, draw(5, "float64", shapes), ADAM[-1], where, "float64", turned)


def test_leaves_can_be_stepped_and_graphs_notice():
    p = lg.tensor([1.0, 2.0], requires_grad=True)
    y = (p * p).sum()
    steps.sgd_step([p], [lg.ones(2)], lr=0.5)
    assert p.tolist() == [0.5, 1.5] and p.requires_grad and p.is_leaf
    with pytest.raises(RuntimeError, match="modified by an in-place operation"):
        y.backward()


def test_what_does_not_fit_is_refused():
    with pytest.raises(RuntimeError, match="shape"):
        steps.sgd_step([lg.ones(2)], [lg.ones(3)], lr=0.1)
    with pytest.raises(ValueError, match="buffers"):
        steps.sgd_step([lg.ones(2)], [lg.ones(2)], lr=0.1, momentum=0.9)


@pytest.mark.skipif(lg.cuda.device_count() < 2, reason="needs two devices")
def test_every_tensor_is_stepped_on_its_device():
    ps = [lg.ones(3, device=where) for where in ("cuda:0", "cuda:1", "cpu", "cuda:1")]
    steps.sgd_step(ps, [lg.ones_like(p) for p in ps], lr=0.5)
    assert [p.tolist() for p in ps] == [[0.5] * 3] * 4
    assert [str(p.device) for p in ps] == ["cuda:0", "cuda:1", "cpu", "cuda:1"]
    assert lg.cuda.current_device() == 0


def test_no_block_is_idle(monkeypatch):
    """A large tensor among many small ones: blocks are as many as there is work for, and empty tensors have none."""
    kernels = importlib.import_module("lucidgrad.backends.cuda.kernels.steps")
    make, grids = kernels._LaunchedStep.kernel, []

    def watched(self, *args):
        kernel = make(self, *args)
        return lambda grid, *rest: (grids.append(grid), kernel(grid, *rest))

    monkeypatch.setattr(kernels._LaunchedStep, "kernel", watched)
    shapes = [(0,), *[(7,)] * 60, (0, 3), (100_000,), (0,)]
    check("sgd_step", steps._sgd, draw(3, "float32", shapes), SGD[-1], "cuda", "float32")
    assert grids == [(60 + -(-100_000 // kernels.ELEMENTS),)]
