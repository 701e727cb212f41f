"""Graphs that are very deep or very wide, and sums that come out the same to the last bit."""

import os
import subprocess
import sys
import weakref

import numpy as np
import pytest

import lucidgrad as lg

DEEP = 1_000_000


class Token:
    """Something whose end can be observed."""


def watched(y):
    """A weak reference to a token that lives as long as the node of ``y`` does."""
    token = Token()
    y.register_hook(lambda g, token=token: None)
    return weakref.ref(token)


@pytest.mark.slow
def test_a_chain_of_a_million_nodes_runs_backward_and_is_freed():
    x = lg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    alive = watched(y)
    for _ in range(DEEP):
        y = y + 1.0
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert alive() is not None
    del y
    assert alive() is None


@pytest.mark.slow
def test_a_deep_graph_is_freed_without_backward():
    x = lg.tensor([1.0], requires_grad=True)
    c = lg.tensor([1.0])
    y = x * 2
    alive = watched(y)
    for _ in range(DEEP // 4):
        y = y * c  # this one keeps values
    del y
    assert alive() is None


def test_a_deep_graph_is_freed_as_the_walk_proceeds():
    """Saved values go with the walk, the nodes with the output; the leaf's array goes with the leaf."""
    x = lg.tensor([1.0], requires_grad=True)
    y = x * 2
    alive = watched(y)
    for _ in range(100_000):
        y = (y * y).sqrt()
    y.sum().backward()
    assert x.grad.tolist() == [2.0]
    array = weakref.ref(x.array)
    del y
    assert alive() is None
    assert array() is not None
    del x
    assert array() is None


def test_a_deep_graph_of_a_gradient():
    """create_graph records as deep a graph again; both go when the last reference goes."""
    x = lg.tensor([2.0], requires_grad=True)
    y = x * x
    alive = watched(y)
    for _ in range(20_000):
        y = y + x
    (g,) = lg.autograd.grad(y.sum(), x, create_graph=True)
    (gg,) = lg.autograd.grad(g.sum(), x)
    assert g.tolist() == [20_004.0]
    assert gg.tolist() == [2.0]
    del y, g
    assert alive() is None


def test_deep_in_place_chain():
    x = lg.tensor([1.0], requires_grad=True)
    y = x * 2
    alive = watched(y)
    for _ in range(20_000):
        y += 1.0
    y.sum().backward()
    assert x.grad.tolist() == [2.0]
    del y
    assert alive() is None


def test_deep_chain_of_views():
    x = lg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    v = y
    for _ in range(3_000):
        v = v[:]
    v.mul_(3.0)
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_one_tensor_used_ten_thousand_times():
    x = lg.tensor([1.0, -1.0], requires_grad=True)
    total = lg.zeros(2)
    for k in range(10_000):
        total = total + x * float(k % 10)
    total.sum().backward()
    assert x.grad.tolist() == [45_000.0, 45_000.0]


def test_one_tensor_as_ten_thousand_inputs_of_one_operation():
    x = lg.tensor([1.0, 2.0], requires_grad=True)
    lg.stack([x] * 10_000).sum().backward()
    assert x.grad.tolist() == [10_000.0, 10_000.0]


def test_one_interior_tensor_used_ten_thousand_times_is_walked_once():
    x, seen = lg.tensor([3.0], requires_grad=True), []
    y = x * x
    y.register_hook(lambda g: seen.append(g.tolist()))
    lg.autograd.backward([y * 1.0 for _ in range(10_000)])
    assert seen == [[10_000.0]]
    assert x.grad.tolist() == [60_000.0]


def test_diamonds_in_a_row_are_walked_once_each():
    """2**200 paths from the output to the leaf, 400 nodes."""
    x = lg.tensor([1.0], dtype=lg.float64, requires_grad=True)
    y = x
    for _ in range(200):
        y = y + y
    y.sum().backward()
    assert x.grad.item() == 2.0**200


def test_ten_thousand_leaves():
    leaves = [lg.tensor([float(k)], requires_grad=True) for k in range(10_000)]
    y = lg.stack(leaves)
    (y * y).sum().backward()
    assert [p.grad.item() for p in leaves] == [2.0 * k for k in range(10_000)]


# --- the same bits ------------------------------------------------------------------------------------


def contributions():
    """Gradients summed from float32 terms of very different size, so that the order decides the last bits."""
    rng = np.random.default_rng(0)
    scales = (10.0 ** rng.uniform(-6, 6, 200)).astype("float32")
    x = lg.tensor(rng.standard_normal(50).astype("float32"), requires_grad=True)
    w = lg.tensor(rng.standard_normal(50).astype("float32"), requires_grad=True)
    parts = [x]
    for k, s in enumerate(scales):
        a, b = parts[int(rng.integers(len(parts)))], parts[int(rng.integers(len(parts)))]
        parts.append((a * w + b).tanh() * float(s) if k % 3 else a - x * float(s))
    loss = parts[0].sum()
    for p in parts[1:]:
        loss = loss + p.sum()
    return loss, x, w


def digest():
    loss, x, w = contributions()
    return b"".join(g.numpy().tobytes() for g in lg.autograd.grad(loss, [x, w])).hex()


def test_sums_have_the_same_bits_in_every_run_of_one_graph():
    loss, x, w = contributions()
    first = [g.numpy().tobytes() for g in lg.autograd.grad(loss, [x, w], retain_graph=True)]
    for _ in range(10):
        assert [g.numpy().tobytes() for g in lg.autograd.grad(loss, [x, w], retain_graph=True)] == first
        swapped = lg.autograd.grad(loss, [w, x], retain_graph=True)
        assert [g.numpy().tobytes() for g in swapped][::-1] == first
    loss.backward()
    assert [x.grad.numpy().tobytes(), w.grad.numpy().tobytes()] == first


def test_sums_have_the_same_bits_when_the_graph_is_built_again():
    first, keep = digest(), []
    for _ in range(10):
        keep.append([object() for _ in range(1000)])  # other addresses, same answer
        assert digest() == first


def test_sums_have_the_same_bits_in_another_process():
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(os.path.abspath(lg.__file__)))
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([root, here])}
        out = subprocess.run(
            [sys.executable, "-c", "import test_limits; print(test_limits.digest())"],
            env=env,
            capture_output=True,
            text=True,
        )
        assert out.returncode == 0, out.stderr
        assert out.stdout.split()[-1] == digest()
