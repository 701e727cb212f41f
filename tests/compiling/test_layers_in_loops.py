"""Layers whose kernels are in C, inside of compiled loops: frames and tables of loops hold all that they need."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import func

F = lg.nn.functional


def numbers(*shape, seed=0, scale=1.0):
    return lg.asarray((np.random.default_rng([seed, *shape]).normal(size=shape) * scale).astype(np.float32))


def positions(*shape, below=7):
    return lg.asarray(np.random.default_rng(3).integers(0, below, shape))


def windows(w, x):
    def body(h, _):
        h = lg.tanh(F.conv2d(h, w, padding=1))
        return h, (F.max_pool2d(h, 2).sum(), F.batch_norm(h, None, None, training=True).mean((0, 2, 3)))

    h, (ys, zs) = func.scan(body, x, None, length=4)
    return (h**2).sum() + ys.sum() + (zs**2).sum()


def gathered(table, w, i):
    def body(h, i):
        h = lg.tanh(h @ w + F.embedding(i, table))
        return h, (F.softmax(h, -1)[:, 0], F.layer_norm(h, (5,)).sum(), F.cross_entropy(h, i % 5), h[:, i[:1] % 5])

    h, collected = func.scan(body, lg.zeros(3, 5), i)
    return (h**2).sum() + sum((y**2).sum() for y in collected)


def attending(q, w):
    def body(h, _):
        made = F.scaled_dot_product_attention(h, h @ w, h)
        return made + 0.1 * h, made.sum()

    h, collected = func.scan(body, q, None, length=4)
    return h.sum() + collected.sum()


lg.manual_seed(0)
LSTM = lg.nn.LSTM(5, 6, batch_first=True)


def recurrent(x):
    def body(h, _):
        y, _ = LSTM(h)
        return h + 0.5 * y[..., :5], y.sum()

    h, collected = func.scan(body, x, None, length=3)
    return h.sum() + collected.sum()


CASES = {
    "windows": (windows, (numbers(4, 4, 3, 3, scale=0.2), numbers(2, 4, 8, 8)), (0, 1)),
    "gathers": (gathered, (numbers(7, 5), numbers(5, 5, scale=0.4), positions(11, 3)), (0, 1)),
    "attention": (attending, (numbers(2, 3, 6, 5), numbers(5, 5, scale=0.4)), (0, 1)),
    "recurrence": (recurrent, (numbers(2, 7, 5),), (0,)),
}


@pytest.mark.parametrize("backend", ["c", "flat"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, backend):
    function, args, wanted = CASES[name]
    slope = func.grad_and_value(function, wanted)
    run = lg.compile(slope, fullgraph=True, options={"backend": backend})
    (grads, value) = slope(*args)
    for _ in range(2):
        found, y = run(*args)
    assert run.cache_info().hits == 1
    for a, b in zip((*found, y), (*grads, value), strict=True):
        a, b = a.detach().numpy(), b.detach().numpy()
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * abs(b).max())


def test_a_position_out_of_range_changes_nothing():
    function, (table, w, i), _ = CASES["gathers"]
    total = lg.zeros(())

    def step(i):
        total.add_(function(table, w, i))
        return total.clone()

    run = lg.compile(step)
    run(i), run(i)
    before, wrong = total.item(), i.clone()
    wrong[7, 1] = 99
    with pytest.raises(IndexError):
        run(wrong)
    assert total.item() == before
    run(i)
    assert total.item() == pytest.approx(before * 1.5)
    assert run.cache_info().hits >= 2
