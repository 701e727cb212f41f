"""The earlier Lucid's ``autograd.grad``."""

import collections
import inspect

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.autograd import backward, grad

from .conftest import Interrupt, interrupt, same


def test_S003_01_signature(leaf, const):
    """retain_graph and allow_unused default to None, by R3 and R7; create_graph exists."""
    defaults = {name: p.default for name, p in inspect.signature(grad).parameters.items()}
    assert defaults["grad_outputs"] is defaults["retain_graph"] is defaults["allow_unused"] is None
    assert defaults["create_graph"] is False
    x = leaf([1.0, 2.0])
    arguments = {"grad_outputs": const([1.0, 3.0]), "retain_graph": False, "allow_unused": False}
    same(grad(outputs=x * x, inputs=x, **arguments)[0], [2.0, 12.0])


def test_S003_02_any_iterable_of_tensors(leaf):
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y1, y2 = (a * b).sum(), (a * a).sum()
    for wrap in (list, tuple, iter, collections.deque, lambda pair: (t for t in pair)):
        ga, gb = grad(wrap([y1, y2]), wrap([a, b]), retain_graph=True)
        same(ga, [5.0, 8.0])
        same(gb, [1.0, 2.0])
    ga, gb = grad({"loss": y1, "penalty": y2}.values(), {"a": a, "b": b}.values())
    same(ga, [5.0, 8.0])
    same(gb, [1.0, 2.0])


def test_S003_03_scalar_seeds(leaf, const):
    x = leaf([1.0, 2.0])
    y = x * x
    same(grad(y, x, const([1.0, 3.0]), retain_graph=True)[0], [2.0, 12.0])
    same(grad([y, y], x, (const(s) for s in ([1.0, 3.0], [0.0, 1.0])), retain_graph=True)[0], [2.0, 16.0])
    same(grad([y, y.sum()], x, (s for s in (3, 0.5)), retain_graph=True)[0], [7.0, 14.0])
    same(grad([y], x, [-2])[0], [-4.0, -8.0])


def test_S003_04_no_implicit_ones_for_a_vector(leaf):
    """An error that offers ones_like, by R4."""
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="ones_like"):
        grad(x * x, x)


def test_S003_05_one_input_gives_a_tuple(leaf):
    """Always a tuple, by R1."""
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = (a * b).sum()
    result = grad(y, a, retain_graph=True)
    assert type(result) is tuple
    assert len(result) == 1
    ga, gb = grad(y, (a, b))
    same(ga, [3.0, 4.0])
    same(gb, [1.0, 2.0])


def test_S003_06_gradients_are_tensors(leaf):
    """Tensors whose .array is the raw array, by R2."""
    x = leaf([1.0, -2.0, 3.0])
    (g,) = grad((x * x).sum(), x)
    assert isinstance(g, lg.Tensor)
    assert type(g.array) is type(x.array)
    assert g.array.tolist() == [2.0, -4.0, 6.0]


def test_S003_07_existing_grads_survive_exceptions(leaf, const):
    """Those of all tensors, by R13."""
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    m = x * w
    m.retain_grad()
    backward(m, const([1.0, 1.0]), retain_graph=True)
    y = (m * m).sum()
    before = [(t, t.grad) for t in (x, w, m)]
    grad(y, x, retain_graph=True)
    assert all(t.grad is g for t, g in before)
    x.register_hook(interrupt)
    with pytest.raises(Interrupt):
        grad(y, [x, w], retain_graph=True)
    assert all(t.grad is g for t, g in before)
    same(x.grad, [3.0, 4.0])
    same(w.grad, [1.0, 2.0])
    same(m.grad, [1.0, 1.0])
    assert y.grad is None


def test_S003_08_several_outputs_are_summed(leaf):
    a, b = leaf([2.0, -1.0, 0.5]), leaf([3.0, 4.0, -2.0])
    da, db = grad(((a * b).sum(), (a * a).sum()), (a, b))
    same(da, [7.0, 2.0, -1.0])
    same(db, [2.0, -1.0, 0.5])


def test_S003_09_unconnected_input(leaf):
    x, unused = leaf([1.0, 2.0]), leaf([3.0])
    y = (x * x).sum()
    with pytest.raises(RuntimeError, match="allow_unused=True"):
        grad(y, unused)
    assert grad(y, unused, allow_unused=True) == (None,)


def test_S003_10_output_that_does_not_require_grad(leaf, const):
    x, c = leaf([1.0, 2.0]), const(3.0)
    y = (x * x).sum()
    with pytest.raises(RuntimeError, match="does not require grad"):
        grad([y, c], x, allow_unused=False)
    same(grad([y, c], x, [None, 2.0], allow_unused=True)[0], [2.0, 4.0])
    assert grad(c, x, allow_unused=True) == (None,)


def test_S003_11_argument_errors(leaf, const):
    x = leaf([1.0, 2.0])
    y = x * x
    with pytest.raises(ValueError, match="gradients"):
        grad([y, y], x, [const([1.0, 1.0])])
    with pytest.raises(ValueError, match="shape"):
        grad(y, x, const([1.0, 1.0, 1.0]))
    loss = y.sum()
    for wrong in (3.0, np.ones(2), "y", None):
        for argument in (wrong, [wrong], [x, wrong]):
            with pytest.raises(TypeError, match="outputs"):
                grad(argument, x)
            with pytest.raises(TypeError, match="inputs"):
                grad(loss, argument)


def test_S003_12_numpy_seed_is_moved(leaf, device):
    x = leaf([1.0, 2.0])
    (g,) = grad(x * x, x, [np.array([1.0, 3.0])])
    same(g, [2.0, 12.0])
    assert g.device == device
    (g,) = grad(x * x, x, np.array([1.0, 3.0], np.float32)[::-1])
    same(g, [6.0, 4.0])
    assert g.dtype == lg.float64


def test_S003_13_flags_of_inputs_stay(leaf):
    x = leaf([1.0, 2.0])
    m = x * 3
    kept = m * 2
    kept.retain_grad()
    y = (kept * m).sum()
    grad(y, [x, m, kept], retain_graph=True)
    assert not m.retains_grad
    assert kept.retains_grad
    assert (x.is_leaf, m.is_leaf) == (True, False)
    assert x.requires_grad
    assert m.requires_grad
    backward(y)
    assert m.grad is None
    same(kept.grad, [3.0, 6.0])
