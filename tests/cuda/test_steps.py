"""A training step never waits for the device and never reads from it: counted on the emulated device."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends import cudasim

pytestmark = pytest.mark.skipif(bool(cudasim.usable_gpus()), reason="counts are the emulated device's")


def mlp(where, rows=8):
    """A network of two layers, a batch for it, and a function that takes a step."""
    rng = np.random.default_rng(0)
    shapes = [(6, 5), (5,), (5, 3), (3,)]
    weights = [lg.asarray(rng.normal(size=s) / 2, dtype="float32", device=where).requires_grad_() for s in shapes]
    x = lg.asarray(rng.normal(size=(rows, 6)), dtype="float32", device=where)
    target = lg.asarray(rng.integers(0, 3, (rows, 1)), device=where)

    def step():
        w1, b1, w2, b2 = weights
        h = lg.tanh(x @ w1 + b1)
        h = h * lg.sigmoid(h) + lg.relu(h) / (1 + h.std(dim=1, keepdim=True))
        loss = -lg.take_along_axis(lg.log_softmax(h @ w2 + b2, axis=1), target, axis=1).mean()
        loss.backward()
        with lg.no_grad():
            for w in weights:
                w.sub_(w.grad, alpha=0.1)
                w.zero_grad()
        return loss

    return step, weights


def cnn(where):
    """Windows, padding, pooling, indexing, scans, statistics."""
    rng = np.random.default_rng(1)
    w = lg.asarray(rng.normal(size=(4, 9)), dtype="float32", device=where).requires_grad_()
    x = lg.asarray(rng.normal(size=(2, 8, 8)), dtype="float32", device=where)
    places = lg.asarray([0, 2, 1, 1], device=where)

    def step():
        windows = lg.stack([x[:, i : i + 6, j : j + 6] for i in range(3) for j in range(3)], axis=-1)
        h = lg.einsum("nijk,ck->ncij", windows, w)
        h = (h - h.mean(dim=(0, 2, 3), keepdim=True)) / lg.sqrt(h.var(dim=(0, 2, 3), keepdim=True) + 1e-5)
        h = lg.where(h > 0, h, 0.1 * h)[:, places].amax(dim=(2, 3))
        h = lg.cumulative_sum(lg.concat([h, lg.flip(h, axis=1)], axis=1), axis=1)
        loss = lg.logsumexp(h, axis=1).sum() + (lg.sort(h, axis=1)[:, 0] ** 2).mean() + lg.pad(h, (1, 1)).norm()
        loss.backward()
        with lg.no_grad():
            w.sub_(w.grad, alpha=0.01)
            w.zero_grad()
        return loss

    return step, [w]


@pytest.mark.parametrize("network", [mlp, cnn])
def test_a_step_neither_waits_nor_reads(network):
    step, weights = network("cuda")
    step(), step()  # kernels are compiled
    with cudasim.counting() as counts:
        loss = step()
    assert counts.synchronisations == 0
    assert counts.copies_to_host == 0
    other, theirs = network("cpu")
    for _ in range(3):
        expected = other()
    np.testing.assert_allclose(loss.item(), expected.item(), rtol=1e-4)
    for a, b in zip(weights, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(force=True), b.detach().numpy(), rtol=1e-3, atol=1e-5)


def test_second_derivatives_neither_wait_nor_read():
    x = lg.asarray(np.linspace(0.1, 1, 5), device="cuda").requires_grad_()

    def twice():
        (g,) = lg.autograd.grad((lg.exp(x) * lg.sin(x)).sum(), x, create_graph=True)
        return lg.autograd.grad((g * g).sum(), x)[0]

    twice()
    with cudasim.counting() as counts:
        found = twice()
    assert counts.synchronisations == 0
    assert counts.copies_to_host == 0
    assert found.shape == (5,)


def test_the_counters_see_a_read():
    x = lg.ones(2, device="cuda")
    with cudasim.counting() as counts:
        x.sum().item()
    assert counts.synchronisations >= 1
    assert counts.copies_to_host == 1
