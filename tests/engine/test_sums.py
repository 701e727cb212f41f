"""Cotangents that meet: parts of one array are added to one sum, which nobody else sees."""

import itertools
import tracemalloc

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.core import device

X = np.arange(12.0).reshape(3, 4)
KEYS = [np.s_[1], np.s_[:, 1:3], np.s_[::-1, ::2], np.s_[..., None, -1], np.s_[2, 3], np.s_[:0]]


def expected(uses):
    """The gradient of a sum of parts and of the whole, each with a weight of its own."""
    g = np.zeros_like(X)
    for weight, key in uses:
        np.add.at(g, key, weight)
    return g


def loss(x, uses):
    total = lg.tensor(0.0, dtype=lg.float64)
    for weight, key in uses:
        part = x if key is ... else x[key]
        total = total + lg.sum(part * weight)
    return total


@pytest.mark.parametrize("keys", [*itertools.permutations([np.s_[1], np.s_[:, 1:3], ..., np.s_[::-1, ::2]])])
def test_parts_and_the_whole_add_up_in_any_order(keys):
    uses = [(2.0**k, key) for k, key in enumerate(keys)]
    x = lg.tensor(X, requires_grad=True)
    loss(x, uses).backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected(uses))


@pytest.mark.parametrize("create_graph", [False, True])
def test_every_sort_of_key(create_graph):
    uses = [(2.0**k, key) for k, key in enumerate(KEYS * 2)]
    x = lg.tensor(X, requires_grad=True)
    (g,) = lg.autograd.grad(loss(x, uses), x, create_graph=create_graph)
    np.testing.assert_array_equal(g.detach().numpy(), expected(uses))


def test_the_gradient_of_an_intermediate_result_is_its_own():
    x = lg.tensor(X, requires_grad=True)
    y = x * 1.0
    y.retain_grad()
    seen = []
    y.register_hook(lambda g: seen.append(g.numpy().copy()))
    uses = [(1.0, np.s_[0]), (2.0, np.s_[1:]), (4.0, ...)]
    (loss(y, uses) + loss(x, uses)).backward()
    np.testing.assert_array_equal(seen[0], expected(uses))
    np.testing.assert_array_equal(y.grad.numpy(), expected(uses))
    np.testing.assert_array_equal(x.grad.numpy(), 2 * expected(uses))


def test_what_the_user_gave_is_not_written():
    """The whole arrives first, as the user's own array; parts must not be added to that."""
    x = lg.tensor(X, requires_grad=True)
    y, part = x.reshape(3, 4), x[1]
    seeds = [lg.tensor(np.ones((3, 4))), lg.tensor(np.ones(4))]
    for roots, given in (([part, y], seeds[::-1]), ([y, part], seeds)):
        (g,) = lg.autograd.grad(roots, [x], given, retain_graph=True)
        np.testing.assert_array_equal(g.numpy(), expected([(1.0, ...), (1.0, np.s_[1])]))
        assert all((seed.numpy() == 1).all() for seed in seeds)


@pytest.mark.parametrize("key", [np.s_[:], np.s_[...], np.s_[::1, 0:4], np.s_[None], np.s_[:3, ...]])
def test_a_key_of_everything_gives_no_array_of_the_users(key):
    x = lg.tensor(X, requires_grad=True)
    whole, part = x[key], x[1]
    seeds = [lg.ones_like(whole).detach(), lg.ones(4, dtype=lg.float64)]
    for order in ((0, 1), (1, 0)):
        roots, given = zip(*((([whole, part])[k], seeds[k]) for k in order), strict=True)
        (g,) = lg.autograd.grad(list(roots), [x], list(given), retain_graph=True)
        np.testing.assert_array_equal(g.numpy(), expected([(1.0, ...), (1.0, np.s_[1])]))
        assert all((seed.numpy() == 1).all() for seed in seeds)


@pytest.mark.parametrize("rows", [3, 400])
def test_rows_taken_twice_and_the_whole(rows):
    """A table that is looked up in, and multiplied by: rows are added to the gradient of the product."""
    rng = np.random.default_rng(0)
    table, at, more = rng.random((rows, 64)), rng.integers(-rows, rows, (7, 5)), rng.integers(0, rows, 40)
    for order in itertools.permutations(range(3)):
        w = lg.tensor(table, requires_grad=True)
        looked_up = [lg.take(w, lg.tensor(i), axis=0) for i in (at, more)]
        parts = [lg.sum(looked_up[0] * 2.0), lg.sum(looked_up[1]), lg.sum(w * 3.0)]
        (parts[order[0]] + parts[order[1]] + parts[order[2]]).backward()
        counts = 2.0 * np.bincount(at.ravel() % rows, minlength=rows) + np.bincount(more, minlength=rows) + 3
        np.testing.assert_array_equal(w.grad.numpy(), np.broadcast_to(counts[:, None], table.shape))


def test_a_number_is_a_part_of_itself():
    """NumPy gives numbers for arrays without axes: nothing can be added to them in place."""
    x = lg.tensor(3.0, requires_grad=True)
    (x[...] * x[()] * x * 1.0 + x[()]).backward()
    assert float(x.grad) == 28


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_rows_of_16_bits_are_rounded_once(dtype, order):
    """A row is looked up a thousand times, whose sum a running one of 16 bits would never reach."""
    w = lg.ones((2, 64), dtype=getattr(lg, dtype), requires_grad=True)
    parts = [lg.sum(lg.take(w, lg.zeros(1000, dtype="int64"), axis=0)), lg.sum(w * 8.0)]
    (parts[order[0]] / 64 + parts[order[1]] / 64).backward()
    np.testing.assert_allclose(w.grad.float().numpy()[:, 0], [1008 / 64, 8 / 64], rtol=2e-2)


def test_joined_and_parted_again():
    x, y = (lg.tensor(a, requires_grad=True) for a in (X, X + 1))
    top, bottom = lg.chunk(lg.concat([x, y * 2.0], 1), 2, 1)
    (lg.sum(top * 3.0) + lg.sum(lg.stack([bottom, top])[0] * bottom)).backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((3, 4), 3.0))
    np.testing.assert_array_equal(y.grad.numpy(), 8 * (X + 1))


def peak_of(step):
    tracemalloc.start()
    try:
        step()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        step()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_looking_up_twice_takes_one_array_of_memory():
    w = lg.zeros((2000, 50), dtype=lg.float64, requires_grad=True)
    i, seed = lg.tensor([1, 5, 1, 700]), lg.ones((4, 50), dtype=lg.float64)

    def step():
        w.grad = None
        lg.autograd.backward([lg.take(w, i, axis=0) for _ in range(8)], [seed] * 8)

    assert peak_of(step) < 1.3 * w.array.nbytes


def test_many_parts_take_one_array_of_memory():
    x = lg.zeros((64, 500), dtype=lg.float64, requires_grad=True)
    seeds = [lg.ones(500, dtype=lg.float64)] * 64

    def step():
        x.grad = None
        lg.autograd.backward([x[k] for k in range(64)], seeds)

    assert peak_of(step) < 1.5 * x.array.nbytes


LAYERS = {
    "mlp": (lambda nn: nn.Sequential(nn.Linear(40, 30), nn.ReLU(), nn.Linear(30, 5)), (16, 40)),
    "layer norm": (lambda nn: nn.LayerNorm(64), (32, 64)),
    "group norm": (lambda nn: nn.GroupNorm(4, 8), (32, 8, 9)),
    "batch norm": (lambda nn: nn.BatchNorm2d(4), (8, 4, 6, 6)),
    "convolutions": (lambda nn: nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3)), (4, 3, 12, 12)),
    "transposed": (lambda nn: nn.ConvTranspose2d(3, 8, 3), (4, 3, 12, 12)),
    "gru": (lambda nn: nn.GRU(8, 16), (5, 4, 8)),
    "transformer": (lambda nn: nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True), (4, 8, 32)),
}


@pytest.fixture
def copied(monkeypatch):
    """Bytes that are copied, one by one."""
    backend, found = type(device.by_array[np.ndarray]), []
    copy = backend.copy
    monkeypatch.setattr(backend, "copy", lambda self, a: found.append(a.nbytes) or copy(self, a))
    return found


@pytest.mark.parametrize("name", LAYERS)
def test_a_gradient_that_arrives_is_not_copied(name, copied):
    make, shape = LAYERS[name]
    module, x = make(lg.nn), lg.randn(shape)
    y = module(x)
    y = y[0] if isinstance(y, tuple) else y
    copied.clear()
    lg.mean(y * y).backward()
    assert sum(copied) == 0
    assert all(p.grad is not None for p in module.parameters())


def test_rows_of_a_table_are_not_copied_either(copied):
    table = lg.nn.Embedding(100, 16)
    y = table(lg.tensor([[1, 2], [3, 1]]))
    copied.clear()
    lg.sum(y * y).backward()
    assert sum(copied) == 0


def test_what_somebody_else_sees_is_copied(copied):
    """A gradient that is the user's own array, that of two leaves, or a part of another array."""
    x, y, z = (lg.tensor(X, requires_grad=True) for _ in range(3))
    seed = lg.ones((3, 4), dtype=lg.float64)
    (x + y).backward(seed)
    lg.concat([z, z]).backward(lg.ones((6, 4), dtype=lg.float64))
    for t in (x, y, z):
        t.grad.mul_(5.0)
    assert (seed.numpy() == 1).all()
    assert (x.grad.numpy() == 5).all() and (y.grad.numpy() == 5).all() and (z.grad.numpy() == 10).all()


def test_a_view_that_a_rule_made_of_what_others_see_is_copied():
    kept = []

    class Keeping(lg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            kept.append(lg.zeros(12, dtype=lg.float64) + 1.0)
            return kept[0].reshape(3, 4)

    x = lg.tensor(X, requires_grad=True)
    Keeping.apply(x).backward(lg.ones((3, 4), dtype=lg.float64))
    x.grad.mul_(5.0)
    assert (kept[0].numpy() == 1).all() and (x.grad.numpy() == 5).all()
