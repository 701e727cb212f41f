"""Embedding and EmbeddingBag, one-hot vectors."""

import numpy as np
import pytest
from compared import draw
from golden import peer

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn import functional as F

INDICES = np.asarray([[1, 4, 2], [4, 0, 4]])


def test_embedding_takes_rows_and_gives_gradients_back():
    w = lg.tensor(draw(5, 2), requires_grad=True)
    y = F.embedding(lg.tensor(INDICES), w)
    np.testing.assert_allclose(y.detach().numpy(), draw(5, 2)[INDICES])
    y.sum().backward()
    assert w.grad[:, 0].tolist() == [1, 1, 1, 0, 3]


def test_padding_gets_no_gradient():
    for padding in (4, -1):
        w = lg.tensor(draw(5, 2), requires_grad=True)
        y = F.embedding(lg.tensor(INDICES), w, padding_idx=padding)
        np.testing.assert_allclose(y.detach().numpy(), draw(5, 2)[INDICES])
        y.sum().backward()
        assert w.grad[:, 0].tolist() == [1, 1, 1, 0, 0]


def test_gradients_by_frequency():
    w = lg.tensor(draw(5, 2), requires_grad=True)
    F.embedding(lg.tensor(INDICES), w, scale_grad_by_freq=True).sum().backward()
    np.testing.assert_allclose(w.grad[:, 0].numpy(), [1, 1, 1, 0, 1])


def test_max_norm_shortens_the_rows_that_are_used():
    w = lg.tensor(3 * draw(5, 2), requires_grad=True)
    before = w.detach().numpy().copy()
    F.embedding(lg.tensor(INDICES), w, max_norm=1.0)
    lengths = np.linalg.norm(w.detach().numpy(), axis=1)
    np.testing.assert_allclose(w.detach().numpy()[3], before[3])
    assert all(lengths[[0, 1, 2, 4]] < 1 + 1e-6)


def test_second_derivatives_and_vmap():
    w = lg.tensor(draw(5, 2), requires_grad=True)
    i = lg.tensor(INDICES)

    def f(w):
        return F.embedding(i, w, padding_idx=0)

    y = f(w)
    (g,) = lg.autograd.grad((y**3).sum(), w, create_graph=True)
    (h,) = lg.autograd.grad((g * g).sum(), w)
    counts = np.asarray([0, 1, 1, 0, 3])[:, None]
    x = draw(5, 2)
    np.testing.assert_allclose(h.numpy(), 2 * (3 * counts * x**2) * 6 * counts * x)
    ws = lg.tensor(draw(3, 5, 2))
    z = lg.func.vmap(f)(ws)
    np.testing.assert_allclose(z.numpy(), draw(3, 5, 2)[:, INDICES])
    each = lg.func.vmap(lambda j: F.embedding(j, w))(i)
    np.testing.assert_allclose(each.detach().numpy(), x[INDICES])


def test_indices_are_checked():
    m = nn.Embedding(5, 2)
    for bad in ([5], [-1]):
        with pytest.raises(IndexError, match="index out of range"):
            m(lg.tensor(bad))
    with pytest.raises(RuntimeError, match="dtype"):
        m(lg.tensor([1.0]))
    with pytest.raises(AssertionError):
        nn.Embedding(5, 2, padding_idx=5)


def test_layers():
    m = nn.Embedding(50, 20, padding_idx=-1)
    assert m.weight[49].tolist() == [0] * 20
    assert 0.8 < float(m.weight.std()) < 1.2
    table = lg.tensor(draw(4, 3))
    for cls in (nn.Embedding, nn.EmbeddingBag):
        made = cls.from_pretrained(table)
        assert not made.weight.requires_grad
        assert made.weight.tolist() == table.tolist()
        assert cls.from_pretrained(table, freeze=False).weight.requires_grad
        with pytest.raises(AssertionError):
            cls.from_pretrained(lg.ones(3))
    with pytest.raises(AssertionError):
        nn.Embedding(3, 2, _weight=lg.ones(3, 3))


def test_bags():
    w = lg.tensor([[1.0], [10.0], [100.0], [1000.0]], requires_grad=True)
    bags, starts = lg.tensor([0, 1, 3, 3, 2]), lg.tensor([0, 2, 2])
    assert F.embedding_bag(bags, w, starts, mode="sum").tolist() == [[11], [0], [2100]]
    assert F.embedding_bag(bags, w, starts).tolist() == [[5.5], [0], [700]]
    y = F.embedding_bag(bags, w, starts, mode="max")
    assert y.tolist() == [[10], [0], [1000]]
    y.sum().backward()
    assert w.grad[:, 0].tolist() == [0, 1, 0, 1]
    ends = lg.tensor([0, 2, 2, 5])
    assert F.embedding_bag(bags, w, ends, include_last_offset=True, mode="sum").tolist() == [[11], [0], [2100]]
    assert F.embedding_bag(bags, w, starts, mode="max", padding_idx=3).tolist() == [[10], [0], [100]]


def test_bag_arguments_are_checked():
    w, i, o = lg.ones(3, 2), lg.tensor([0, 1]), lg.tensor([0])
    for call, error in (
        (lambda: F.embedding_bag(i, w), ValueError),
        (lambda: F.embedding_bag(i[None], w, o), ValueError),
        (lambda: F.embedding_bag(i[None, None], w), ValueError),
        (lambda: F.embedding_bag(i, w, o[None]), ValueError),
        (lambda: F.embedding_bag(i, w, o, mode="product"), ValueError),
        (lambda: F.embedding_bag(i, w, o, mode="mean", per_sample_weights=lg.ones(2)), ValueError),
        (lambda: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=lg.ones(3)), ValueError),
        (lambda: F.embedding_bag(i, w, o, mode="max", scale_grad_by_freq=True), ValueError),
        (lambda: F.embedding_bag(i, w, o + 1), RuntimeError),
        (lambda: F.embedding_bag(i, w, lg.tensor([0, 5])), RuntimeError),
    ):
        with pytest.raises(error):
            call()


def test_one_hot():
    assert F.one_hot(lg.tensor([[0], [2]])).tolist() == [[[1, 0, 0]], [[0, 0, 1]]]
    assert F.one_hot(lg.tensor([1]), 4).tolist() == [[0, 1, 0, 0]]
    assert lg.func.vmap(lambda i: F.one_hot(i, 3))(lg.tensor([2, 0])).tolist() == [[0, 0, 1], [1, 0, 0]]
    for call in (
        lambda: F.one_hot(lg.tensor([-1])),
        lambda: F.one_hot(lg.tensor([3]), 3),
        lambda: F.one_hot(lg.tensor([1.0])),
        lambda: F.one_hot(lg.zeros(0, dtype="int64")),
    ):
        with pytest.raises(RuntimeError):
            call()


def test_on_cuda():
    w = lg.tensor(draw(5, 2), device="cuda", requires_grad=True)
    F.embedding(lg.tensor(INDICES, device="cuda"), w, padding_idx=4).sum().backward()
    assert w.grad[:, 0].tolist() == [1, 1, 1, 0, 0]
    bags, starts = (lg.tensor(a, device="cuda") for a in ([0, 1, 3], [0, 2]))
    y = F.embedding_bag(bags, w.detach(), starts, mode="sum")
    np.testing.assert_allclose(y.cpu().numpy(), [draw(5, 2)[[0, 1]].sum(0), draw(5, 2)[3]])


# -- beside PyTorch
def _both(torch, ours, theirs, input, weight, seed=1, **keywords):
    w, v = lg.tensor(weight, requires_grad=True), torch.tensor(weight, requires_grad=True)

    def give(make, value):
        return make(value) if isinstance(value, np.ndarray) else value

    y = ours(lg.tensor(input), w, **{k: give(lg.tensor, a) for k, a in keywords.items()})
    z = theirs(torch.tensor(input), v, **{k: give(torch.tensor, a) for k, a in keywords.items()})
    np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), atol=1e-12)
    g = np.random.default_rng(seed).normal(size=z.shape)
    (y * lg.tensor(g)).sum().backward()
    (z * torch.tensor(g)).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), v.grad.numpy(), atol=1e-12)
    np.testing.assert_allclose(w.detach().numpy(), v.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize(
    "keywords",
    [
        {}, {"padding_idx": 4}, {"padding_idx": -1}, {"scale_grad_by_freq": True}, {"max_norm": 0.7},
        {"max_norm": 0.7, "norm_type": 1.0}, {"padding_idx": 0, "scale_grad_by_freq": True, "max_norm": 1.0},
    ],
)  # fmt: skip
def test_pytorch_agrees_on_embeddings(keywords):
    torch = peer("torch")
    _both(torch, F.embedding, torch.nn.functional.embedding, INDICES, draw(5, 3), **keywords)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize(
    ("input", "keywords"),
    [
        (INDICES, {}),
        (INDICES, {"padding_idx": 4}),
        (np.asarray([1, 4, 2, 0, 3]), {"offsets": np.asarray([0, 2, 2])}),
        (np.asarray([1, 4, 2, 0, 3]), {"offsets": np.asarray([0, 2, 5]), "include_last_offset": True}),
        (np.asarray([1, 4, 2, 0, 3]), {"offsets": np.asarray([0, 1, 3]), "padding_idx": 1}),
    ],
)
def test_pytorch_agrees_on_bags(mode, input, keywords):
    torch = peer("torch")
    theirs = torch.nn.functional.embedding_bag
    _both(torch, F.embedding_bag, theirs, input, draw(5, 3), mode=mode, **keywords)
    if mode == "sum":
        factors = draw(*input.shape)
        _both(torch, F.embedding_bag, theirs, input, draw(5, 3), mode=mode, per_sample_weights=factors, **keywords)
    if mode != "max" and "padding_idx" not in keywords:
        _both(torch, F.embedding_bag, theirs, input, draw(5, 3), mode=mode, scale_grad_by_freq=True, **keywords)


@pytest.mark.parametrize(
    "make",
    [
        lambda nn: nn.Embedding(5, 3),
        lambda nn: nn.Embedding(5, 3, -1, 1.0, 3.0, True, True),
        lambda nn: nn.EmbeddingBag(5, 3),
        lambda nn: nn.EmbeddingBag(5, 3, 1.0, 3.0, True, "sum", padding_idx=2),
    ],
)
def test_pytorch_has_the_same_states_and_representations(make):
    torch = peer("torch")
    m, t = make(nn), make(torch.nn)
    assert repr(m) == repr(t)
    m.load_state_dict(t.state_dict())
    assert m.weight.tolist() == t.weight.tolist()
    assert F.one_hot(lg.tensor(INDICES), 6).tolist() == torch.nn.functional.one_hot(torch.tensor(INDICES), 6).tolist()
