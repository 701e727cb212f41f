"""Linear, Bilinear, Identity, Flatten, Unflatten, normalize: values, gradients, states."""

import math

import numpy as np
import pytest
from compared import agree, draw, mapped, twice
from golden import peer

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn import functional as F
from lucidgrad.ops.linalg.linear import affine

SHAPES = [(3,), (4, 3), (2, 4, 3), (0, 3)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bias", [True, False])
def test_linear_is_its_formula(shape, bias):
    x, w, b = draw(*shape), draw(5, 3), draw(5)
    y = F.linear(lg.tensor(x), lg.tensor(w), lg.tensor(b) if bias else None)
    np.testing.assert_allclose(y.numpy(), x @ w.T + (b if bias else 0), rtol=1e-12)


def test_linear_with_a_vector_of_weights():
    x, w = draw(4, 3), draw(3)
    np.testing.assert_allclose(F.linear(lg.tensor(x), lg.tensor(w)).numpy(), x @ w)


def test_linear_has_all_derivatives():
    twice(F.linear, draw(2, 3), draw(4, 3), draw(4))
    twice(F.linear, draw(3), draw(4, 3))
    mapped(F.linear, draw(5, 2, 3), draw(5, 4, 3), draw(5, 4))
    mapped(lambda x: F.linear(x, lg.tensor(draw(4, 3)), lg.tensor(draw(4))), draw(5, 3))


def test_a_layer_is_one_node():
    m = nn.Linear(3, 2)
    node = m(lg.ones(3)).grad_fn
    assert node.name() == "AffineBackward"
    assert nn.Linear(3, 2, bias=False)(lg.ones(3)).grad_fn.name() == "LinearBackward"


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(RuntimeError, match=r"\(4,\) and weights of shape \(2, 3\)"):
        nn.Linear(3, 2)(lg.ones(4))
    with pytest.raises(RuntimeError, match="bias of shape"):
        F.linear(lg.ones(3), lg.ones(2, 3), lg.ones(5))


@pytest.mark.parametrize("bias", [0.5, 2])
@pytest.mark.parametrize("size", [3, 600])
def test_a_number_as_bias_is_refused_by_name(size, bias):
    """In a small product and in one with a kernel of its own."""
    x, w = lg.ones((size, size)), lg.ones((size, size), requires_grad=True)
    with pytest.raises(TypeError, match=r"linear: given .* expected Tensor \| None as bias"):
        F.linear(x, w, bias)
    with pytest.raises(TypeError, match="expected a Tensor as b"):
        affine(x, w, bias)


def test_starting_values():
    lg.manual_seed(0)
    m = nn.Linear(100, 300)
    for p in m.parameters():
        assert float(abs(p).max()) <= 0.1
        assert float(abs(p).max()) > 0.09
        assert abs(float(p.mean())) < 0.01
    assert m.weight.shape == (300, 100)
    b = nn.Bilinear(16, 3, 40)
    assert 0.2 < float(abs(b.weight).max()) <= 0.25
    assert nn.Linear(0, 2).bias.tolist() == [0, 0]


def test_options():
    m = nn.Linear(2, 1, bias=False, dtype="float64")
    assert m.bias is None
    assert list(m.state_dict()) == ["weight"]
    assert m.weight.dtype == "float64"
    assert nn.Linear(2, 1, device="cpu").weight.device == "cpu"
    assert repr(m) == "Linear(in_features=2, out_features=1, bias=False)"


def test_bilinear():
    x, y, w, b = draw(4, 2), draw(4, 3), draw(5, 2, 3), draw(5)
    z = F.bilinear(*map(lg.tensor, (x, y, w, b)))
    np.testing.assert_allclose(z.numpy(), np.einsum("ni,oij,nj->no", x, w, y) + b)
    twice(F.bilinear, draw(2, 2), draw(2, 3), draw(2, 2, 3), draw(2))
    with pytest.raises(ValueError, match="must be > 0"):
        nn.Bilinear(0, 1, 1)
    with pytest.raises(RuntimeError):
        F.bilinear(lg.ones(2, 2), lg.ones(3, 3), lg.ones(1, 2, 3))


def test_shape_layers():
    x = lg.ones(2, 3, 4)
    assert nn.Flatten()(x).shape == (2, 12)
    assert nn.Flatten(0, 1)(x).shape == (6, 4)
    assert nn.Unflatten(1, (3, 1))(x).shape == (2, 3, 1, 4)
    assert nn.Unflatten(-1, [2, 2])(x).shape == (2, 3, 2, 2)
    for bad in (3, (2, "a")):
        with pytest.raises(TypeError):
            nn.Unflatten(1, bad)
    assert nn.Identity(1, a=2)(x) is x


def test_normalize():
    x = draw(2, 3)
    y = F.normalize(lg.tensor(x), p=3, dim=0).numpy()
    np.testing.assert_allclose((abs(y) ** 3).sum(0), 1)
    assert F.normalize(lg.zeros(1, 2)).tolist() == [[0, 0]]
    out = lg.zeros(2, 3, dtype="float64")
    assert F.normalize(lg.tensor(x), out=out) is out
    assert math.isclose(float((out[0] ** 2).sum()), 1)


def test_on_cuda():
    m = nn.Linear(3, 2).double()
    x = draw(4, 3)
    y = m(lg.tensor(x))
    y.sum().backward()
    g = m.weight.grad.numpy()
    m.zero_grad()
    m.cuda()
    z = m(lg.tensor(x, device="cuda"))
    z.sum().backward()
    np.testing.assert_allclose(z.detach().cpu().numpy(), y.detach().numpy())
    np.testing.assert_allclose(m.weight.grad.cpu().numpy(), g)


# -- beside PyTorch
@pytest.mark.parametrize("shape", SHAPES[:3])
def test_pytorch_agrees(shape):
    torch = peer("torch")
    theirs = torch.nn.functional
    agree(torch, F.linear, theirs.linear, draw(*shape), draw(5, 3), draw(5))
    agree(torch, F.linear, theirs.linear, draw(*shape), draw(5, 3))
    agree(torch, F.bilinear, theirs.bilinear, draw(*shape), draw(*shape), draw(5, 3, 3), draw(5))
    if len(shape) > 1:
        for keywords in ({}, {"p": 1.0}, {"p": 3.0, "dim": 0}, {"dim": -1, "eps": 10.0}):
            agree(torch, F.normalize, theirs.normalize, draw(*shape), **keywords)


@pytest.mark.parametrize(
    "make",
    [
        lambda nn: nn.Linear(3, 2),
        lambda nn: nn.Linear(3, 2, bias=False),
        lambda nn: nn.Bilinear(3, 2, 4),
        lambda nn: nn.Bilinear(3, 2, 4, bias=False),
        lambda nn: nn.Identity(),
        lambda nn: nn.Flatten(0, 2),
        lambda nn: nn.Unflatten(1, (2, 3)),
    ],
)
def test_pytorch_has_the_same_states_and_representations(make):
    torch = peer("torch")
    m, t = make(nn), make(torch.nn)
    assert repr(m) == repr(t)
    shapes = [(k, tuple(v.shape)) for k, v in t.state_dict().items()]
    assert [(k, v.shape) for k, v in m.state_dict().items()] == shapes
    m.load_state_dict(t.state_dict())


INTEGERS = {
    "Linear": lambda x: lg.nn.Linear(3, 2)(x),
    "Bilinear": lambda x: lg.nn.Bilinear(3, 3, 2)(x, x),
    "Conv1d": lambda x: lg.nn.Conv1d(2, 2, 1)(x),
    "ConvTranspose1d": lambda x: lg.nn.ConvTranspose1d(2, 2, 1)(x),
    "BatchNorm1d": lambda x: lg.nn.BatchNorm1d(3)(x),
    "LayerNorm": lambda x: lg.nn.LayerNorm(3)(x),
    "RMSNorm": lambda x: lg.nn.RMSNorm(3)(x),
    "GroupNorm": lambda x: lg.nn.GroupNorm(1, 3)(x),
    "GRUCell": lambda x: lg.nn.GRUCell(3, 2)(x),
    "LSTM": lambda x: lg.nn.LSTM(3, 2)(x),
    "MultiheadAttention": lambda x: lg.nn.MultiheadAttention(3, 1)(x, x, x),
}


@pytest.mark.parametrize("kind", ["int64", "bool", "uint8"])
@pytest.mark.parametrize("layer", INTEGERS)
def test_layers_refuse_integers(layer, kind):
    """As PyTorch's: numbers that count something are mostly there by mistake."""
    with pytest.raises((RuntimeError, ValueError), match=f"given an input of (dtype )?{kind}.*expected.*convert"):
        INTEGERS[layer](lg.ones((2, 3), dtype=kind))
    INTEGERS[layer](lg.ones((2, 3)))
