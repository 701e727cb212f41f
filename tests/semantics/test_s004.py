"""Sorix ``grad``."""

import inspect

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.autograd import backward, grad

from .conftest import Interrupt, fires, interrupt, same


def test_S004_01_signature(leaf, const):
    """retain_graph and allow_unused default to None, by R3 and R7."""
    names = ["outputs", "inputs", "grad_outputs", "retain_graph", "create_graph", "allow_unused"]
    parameters = inspect.signature(grad).parameters
    assert [name for name in parameters if name in names] == names
    assert parameters["retain_graph"].default is parameters["allow_unused"].default is None
    x = leaf([1.0, 2.0])
    arguments = (x * x, x, const([1.0, 3.0]), True, False, False)
    same(grad(**dict(zip(names, arguments, strict=True)))[0], [2.0, 12.0])


def test_S004_02_tensor_list_or_tuple(leaf):
    x, unused = leaf([1.0, 2.0]), leaf([1.0])
    y = (x * x).sum()
    for outputs in (y, [y], (y,)):
        for inputs in (x, [x], (x,), [x, unused]):
            result = grad(outputs, inputs, retain_graph=True, allow_unused=True)
            assert type(result) is tuple
            same(result[0], [2.0, 4.0])
            assert result[1:] == ((None,) if len(result) == 2 else ())


def test_S004_03_input_without_grad_raises_first(leaf, const):
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
    m = x * c
    y = (m * m).sum()
    log = fires(m, y)
    for allow_unused in (False, True):
        with pytest.raises(RuntimeError, match="does not require grad"):
            grad(y, [x, c], allow_unused=allow_unused)
    assert log == []
    same(grad(y, [x])[0], [18.0, 64.0])


def test_S004_04_seeds_of_every_type(leaf, const):
    x = leaf([1.0, 2.0])
    y = x * x
    one, three = const([1.0, 10.0]), np.array([1.0, 3.0])
    same(grad(y, x, one, retain_graph=True)[0], [2.0, 40.0])
    same(grad(y, x, three, retain_graph=True)[0], [2.0, 12.0])
    same(grad(y, x, one.array, retain_graph=True)[0], [2.0, 40.0])
    mixed = [one, three, None, one.array]
    same(grad([y, y, y.sum(), y], x, mixed)[0], [2.0 * 4, 4.0 * 24])


def test_S004_05_length_mismatch(leaf, const):
    x = leaf([1.0, 2.0])
    y = x * x
    for seeds in ([], [const([1.0, 1.0])] * 2):
        with pytest.raises(ValueError, match="grad_outputs must be the same length as outputs"):
            grad([y], x, seeds)


def test_S004_06_implicit_seed(leaf):
    x = leaf([3.0])
    same(grad(x * x, x)[0], [6.0])
    x = leaf([[1.0, 2.0]])
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        grad(x * x, x)
    x = leaf(np.ones((0,)))
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        grad(x * x, x)


def test_S004_07_gradients_of_seeds(leaf, const):
    """A seed that requires grad is differentiable, by R14; the caller's tensor is not changed."""
    x, seed, plain = leaf([1.0, 2.0]), leaf([3.0, 4.0]), const([1.0, 1.0])
    (g,) = grad(x * x, x, seed, create_graph=True)
    same(g, [6.0, 16.0])
    same(grad(g.sum(), seed)[0], [2.0, 4.0])
    (g,) = grad(x * x, x, plain, create_graph=True)
    assert g.requires_grad
    assert not plain.requires_grad
    (g,) = grad(x * x, x, seed)
    assert not g.requires_grad
    assert seed.requires_grad


def test_S004_08_strict_isolation(leaf, const):
    x, w, unused = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([5.0])
    a = x * w
    b = a * a
    for t in (a, b):
        t.retain_grad()
    y = b.sum()
    backward(y, retain_graph=True)
    before = [(t, t.grad) for t in (x, w, a, b, y, unused)]
    numbers = [None if g is None else g.tolist() for _, g in before]

    def unchanged():
        assert all(t.grad is g for t, g in before)
        assert [None if g is None else g.tolist() for _, g in before] == numbers

    grad(y, [x, a], retain_graph=True)
    unchanged()
    grad(y, [x, a], create_graph=True)
    unchanged()
    with pytest.raises(RuntimeError):
        grad(y, [x, unused], retain_graph=True)
    unchanged()
    a.register_hook(interrupt)
    with pytest.raises(Interrupt):
        grad(y, [x, w])
    unchanged()


@pytest.mark.parametrize("outside", [True, False])
@pytest.mark.parametrize("create_graph", [True, False])
def test_S004_09_grad_mode_during_the_walk(leaf, outside, create_graph):
    x = leaf([1.0, 2.0])
    m = x * x
    y, seen = m.sum(), []
    m.register_hook(lambda g: seen.append(lg.is_grad_enabled()))
    with lg.set_grad_enabled(outside):
        (g,) = grad(y, x, create_graph=create_graph, retain_graph=True)
        assert seen == [create_graph]
        assert g.requires_grad is create_graph
        assert lg.is_grad_enabled() is outside
        m.register_hook(interrupt)
        with pytest.raises(Interrupt):
            grad(y, x, create_graph=create_graph)
        assert seen == [create_graph] * 2
        assert lg.is_grad_enabled() is outside
    assert lg.is_grad_enabled()


def test_S004_10_unused_input(leaf):
    x, unused = leaf([1.0, 2.0]), leaf([3.0])
    y = (x * x).sum()
    with pytest.raises(RuntimeError, match="allow_unused=True"):
        grad(y, [x, unused], allow_unused=False)
    gx, none = grad(y, [x, unused], allow_unused=True)
    same(gx, [2.0, 4.0])
    assert none is None


def test_S004_11_results_are_tensors_on_the_inputs_device(leaf, device):
    x, w = leaf([1.0, 2.0]), leaf(3.0)
    for create_graph in (False, True):
        for t, g in zip((x, w), grad((x * x * w).sum(), (x, w), create_graph=create_graph), strict=True):
            assert type(g) is lg.Tensor
            assert g.device == t.device == device


def test_S004_12_releasing_the_graph(leaf):
    """The default releases too, by R3."""
    x = leaf([1.0, 2.0])
    for release in ({"retain_graph": False}, {}):
        y = (x * x).sum()
        same(grad(y, x, retain_graph=True)[0], [2.0, 4.0])
        same(grad(y, x, **release)[0], [2.0, 4.0])
        with pytest.raises(RuntimeError, match="a second time"):
            grad(y, x)


def test_S004_13_several_outputs_in_one_walk(leaf):
    x = leaf([1.0, 2.0])
    m = x * 3
    n = m * m
    y1, y2, y3 = n.sum(), (n * m).sum(), m.sum()
    log = fires(m, n, y1, y2, y3)
    same(grad([y1, y2, y3], x)[0], [18.0 + 81.0 + 3.0, 36.0 + 324.0 + 3.0])
    assert sorted(log) == [0, 1, 2, 3, 4]
    assert log.index(1) < log.index(0)


def test_S004_14_graph_survives_a_failing_call(leaf):
    x, unused = leaf([1.0, 2.0]), leaf([3.0])
    y = (lg.exp(x * 0) * x * x).sum()
    with pytest.raises(RuntimeError, match="allow_unused=True"):
        grad(y, [x, unused])
    gx, none = grad(y, [x, unused], allow_unused=True)
    same(gx, [2.0, 4.0])
    assert none is None
