"""Lucid v3 ``autograd.backward``."""

import gc
import inspect
import weakref

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.autograd import backward, grad

from .conftest import fires, same


def test_S002_01_signature(leaf):
    """retain_graph defaults to None, by R3."""
    parameters = inspect.signature(backward).parameters
    assert list(parameters) == ["tensors", "grad_tensors", "retain_graph", "create_graph", "inputs"]
    assert [p.default for p in parameters.values()][1:] == [None, None, False, None]
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters.values())
    x = leaf([1.0, 2.0])
    y = x * x
    backward([y], [lg.ones_like(y)], True, False, [x])
    backward(tensors=y, grad_tensors=lg.ones_like(y), retain_graph=False, create_graph=False, inputs=None)
    same(x.grad, [4.0, 8.0])


def test_S002_02_one_root_or_list(leaf):
    for wrap in (lambda y: y, lambda y: [y], lambda y: (y,)):
        x = leaf([1.0, 2.0])
        backward(wrap((x * x).sum()))
        same(x.grad, [2.0, 4.0])


def test_S002_03_every_reachable_leaf(leaf, const):
    x = leaf([1.0, 2.0, 3.0])
    backward((x * x).sum())
    same(x.grad, [2.0, 4.0, 6.0])

    a, b, c, aside = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf(5.0), leaf([6.0, 7.0])
    aside * a
    backward((a * b).sum() * c)
    same(a.grad, [15.0, 20.0])
    same(b.grad, [5.0, 10.0])
    same(c.grad, 11.0)
    assert aside.grad is None


def test_S002_04_existing_grad_is_added_to(leaf, const):
    x = leaf([1.0, 2.0])
    x.grad = const([10.0, 20.0])
    backward((x * x).sum())
    same(x.grad, [12.0, 24.0])
    x = leaf([1.0, 2.0])
    for expected in ([2.0, 4.0], [4.0, 8.0], [6.0, 12.0]):
        backward((x * x).sum())
        same(x.grad, expected)


def test_S002_04_accumulation_reaches_one_leaf_only(leaf, const):
    a, b, seed = leaf([1.0, 2.0]), leaf([3.0, 4.0]), const([1.0, 1.0])
    m = a + b
    m.retain_grad()
    backward(m, seed)  # all three gradients are the seed: none may share its memory
    backward(a * 1, const([5.0, 5.0]))
    same(a.grad, [6.0, 6.0])
    for t in (b.grad, m.grad, seed):
        same(t, [1.0, 1.0])


def test_S002_05_several_roots_sharing_graph(leaf, const):
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    shared = lg.exp(x * 0) * x * w  # saves values that both roots need
    r1, r2 = shared * 2, (shared * shared).sum()
    backward([r1, r2, r1], [const([1.0, 10.0]), const(0.5), const([1.0, 1.0])])
    cotangent = np.array([2.0 + 3.0 + 2.0, 20.0 + 8.0 + 2.0])
    same(x.grad, cotangent * [3.0, 4.0])
    same(w.grad, cotangent * [1.0, 2.0])


def test_S002_06_each_node_fires_once(leaf):
    x = leaf([1.0, 2.0])
    a = x * 3
    b, c = a * a, lg.sin(a)
    d = b * c + a
    roots = [d.sum(), (d * b).sum(), c.sum(), a.sum()]
    log = fires(a, b, c, d, *roots)
    backward(roots)
    assert sorted(log) == list(range(8))

    # Twenty diamonds in a row have a million paths.
    y, nodes = leaf(1.0), []
    for _ in range(20):
        y = y + y
        nodes.append(y)
    log = fires(*nodes)
    backward(y)
    assert log == list(range(19, -1, -1))


def test_S002_06_hooks_of_a_leaf_fire_once(leaf, const):
    x, seen, done = leaf([1.0, 2.0]), [], []
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.register_post_accumulate_grad_hook(lambda t: done.append(t.grad.tolist()))
    backward([x * x, x, x * 3], [const([1.0, 1.0]), const([10.0, 10.0]), const([1.0, 1.0])])
    same(x.grad, [15.0, 17.0])
    assert seen == done == [[15.0, 17.0]]


def test_S002_07_seeds_of_roots(leaf, const):
    x = leaf([1.0, 2.0])
    backward([x * x, (3 * x).sum()], [const([1.0, 10.0]), None])
    same(x.grad, [5.0, 43.0])
    x = leaf([1.0, 2.0])
    for seed in (None, [None]):
        with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
            backward(x * x, seed)
    for seed in ([1.0], [[1.0, 1.0]], 1.0):
        with pytest.raises(RuntimeError, match="[Mm]ismatch in shape"):
            backward(x * x, const(seed))
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        backward([x * x, x * x], [const([1.0, 1.0])])
    assert x.grad is None


def test_S002_08_retained_graph_walks_again(leaf):
    x = leaf([1.0, 2.0])
    y = (lg.exp(x * 0) * x * x).sum()
    for expected in ([2.0, 4.0], [4.0, 8.0], [6.0, 12.0]):
        backward(y, retain_graph=True)
        same(x.grad, expected)
    backward(y)
    same(x.grad, [8.0, 16.0])
    with pytest.raises(RuntimeError, match="a second time"):
        backward(y)
    same(x.grad, [8.0, 16.0])


def test_S002_09_saved_values_are_freed(leaf):
    gc.disable()  # freed by counting references, not by luck
    try:
        for keep in (True, False):
            x = leaf([1.0, 2.0])
            m = lg.exp(x)
            y = (m * m).sum()
            saved = weakref.ref(m.array)
            del m
            assert saved() is not None
            backward(y, retain_graph=keep)
            assert (saved() is not None) == keep
            assert y.grad_fn is not None
    finally:
        gc.enable()


def test_S002_10_create_graph_makes_grad_differentiable(leaf, const):
    x, v = leaf([1.0, 2.0]), const([3.0, 5.0])
    backward((x**3).sum(), create_graph=True)
    same(x.grad, [3.0, 12.0])
    assert x.grad.requires_grad
    same(grad((x.grad * v).sum(), [x])[0], [18.0, 60.0])  # the Hessian times v

    x = leaf([1.0, 2.0])
    backward((x**2).sum(), create_graph=True)
    backward((x**3).sum(), create_graph=True)
    same(x.grad, [5.0, 16.0])
    same(grad(x.grad.sum(), [x])[0], [8.0, 14.0])  # both terms have kept their history

    x = leaf([1.0, 2.0])
    backward((x**3).sum())
    assert not x.grad.requires_grad
    assert x.grad.grad_fn is None


def test_S002_11_inputs(leaf):
    """Accumulates into inputs only, by R15."""
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    m = x * w
    y = (m * m).sum()
    backward(y, inputs=[x], retain_graph=True)
    same(x.grad, [18.0, 64.0])
    assert w.grad is None
    backward(y, inputs=m, retain_graph=True)
    same(m.grad, [6.0, 16.0])
    same(x.grad, [18.0, 64.0])
    assert w.grad is None
    with pytest.raises(RuntimeError, match=r"inputs.*cannot be empty"):
        backward(y, inputs=[])
    backward(y, inputs=[w, m])
    same(m.grad, [12.0, 32.0])
    same(w.grad, [6.0, 32.0])


def test_S002_12_returns_none(leaf):
    x = leaf([1.0, 2.0])
    assert backward((x * x).sum()) is None
    assert (x * x).sum().backward() is None


def test_S002_13_who_gets_a_gradient(leaf, const):
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
    m = x * c
    kept = m * 2
    kept.retain_grad()
    y = (kept * m).sum()
    backward(y)
    same(x.grad, [36.0, 128.0])
    same(kept.grad, [3.0, 8.0])
    assert (c.grad, m.grad, y.grad) == (None, None, None)
    assert kept.retains_grad
    assert not m.retains_grad


def test_S002_14_grad_is_like_its_leaf(leaf, const, device):
    x, row, z = leaf([[1.0], [2.0]], lg.float32), leaf([1.0, 2.0, 3.0]), leaf([[1.0 + 1.0j]], lg.complex64)
    y = x * row + lg.real(z * lg.conj(z))
    assert y.dtype == lg.float64
    backward(y, const(np.ones((2, 3))))
    same(x.grad, [[6.0], [6.0]])
    same(row.grad, [3.0, 3.0, 3.0])
    same(z.grad, [[12.0 + 12.0j]])
    for t in (x, row, z):
        assert t.grad.dtype == t.dtype
        assert t.grad.shape == t.shape
        assert t.grad.device == t.device == device


def test_S002_15_zero_grad_resets(leaf):
    x = leaf([1.0, 2.0])
    for _ in range(3):
        backward((x * x).sum())
        same(x.grad, [2.0, 4.0])
        x.zero_grad()
        assert x.grad is None or x.grad.tolist() == [0.0, 0.0]
