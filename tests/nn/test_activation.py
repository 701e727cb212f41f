"""Activation functions and layers."""

import numpy as np
import pytest
from compared import agree, draw
from golden import peer

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn import functional as F

#: Functions, and arguments beside the input.
FUNCTIONS = [
    ("relu", {}), ("relu6", {}), ("leaky_relu", {}), ("leaky_relu", {"negative_slope": 0.2}), ("elu", {}),
    ("elu", {"alpha": 0.5}), ("celu", {}), ("celu", {"alpha": 0.5}), ("selu", {}), ("silu", {}), ("mish", {}),
    ("hardsigmoid", {}), ("hardswish", {}), ("hardtanh", {}), ("hardtanh", {"min_val": -0.5, "max_val": 0.7}),
    ("threshold", {"threshold": 0.1, "value": 20.0}), ("sigmoid", {}), ("logsigmoid", {}), ("tanh", {}),
    ("tanhshrink", {}), ("softsign", {}), ("gelu", {}), ("gelu", {"approximate": "tanh"}), ("hardshrink", {}),
    ("hardshrink", {"lambd": 0.2}), ("softshrink", {}), ("softshrink", {"lambd": 0.2}), ("softplus", {}),
    ("softplus", {"beta": 2.0, "threshold": 1.0}), ("rrelu", {}), ("rrelu", {"lower": 0.1, "upper": 0.5}),
    ("glu", {}), ("glu", {"dim": 0}), ("softmax", {"dim": 1}), ("softmin", {"dim": 0}), ("log_softmax", {"dim": -1}),
]  # fmt: skip

INPLACE = ["relu", "relu6", "leaky_relu", "elu", "celu", "selu", "silu", "mish", "hardsigmoid", "hardswish", "hardtanh",
           "threshold", "rrelu"]  # fmt: skip

#: Layers by how they are made.
LAYERS = [
    lambda nn: nn.ReLU(), lambda nn: nn.ReLU(True), lambda nn: nn.ReLU6(), lambda nn: nn.LeakyReLU(0.2),
    lambda nn: nn.LeakyReLU(0.2, True), lambda nn: nn.ELU(0.5), lambda nn: nn.ELU(inplace=True), lambda nn: nn.CELU(),
    lambda nn: nn.SELU(), lambda nn: nn.SELU(True), lambda nn: nn.SiLU(), lambda nn: nn.SiLU(True),
    lambda nn: nn.Mish(), lambda nn: nn.Hardsigmoid(), lambda nn: nn.Hardswish(), lambda nn: nn.Hardtanh(),
    lambda nn: nn.Hardtanh(-0.5, 0.5, True), lambda nn: nn.Threshold(0.1, 20.0), lambda nn: nn.Sigmoid(),
    lambda nn: nn.LogSigmoid(), lambda nn: nn.Tanh(), lambda nn: nn.Tanhshrink(), lambda nn: nn.Softsign(),
    lambda nn: nn.GELU(), lambda nn: nn.GELU("tanh"), lambda nn: nn.Hardshrink(0.2), lambda nn: nn.Softshrink(0.2),
    lambda nn: nn.Softplus(2.0, 10.0), lambda nn: nn.PReLU(), lambda nn: nn.PReLU(4, 0.3), lambda nn: nn.GLU(0),
    lambda nn: nn.RReLU(0.1, 0.3).eval(), lambda nn: nn.Softmax(1), lambda nn: nn.Softmin(1),
    lambda nn: nn.LogSoftmax(1), lambda nn: nn.Softmax2d(),
]  # fmt: skip


@pytest.mark.parametrize("name", INPLACE)
def test_in_place_gives_the_same_values_and_gradients(name):
    args = (0.1, 20.0) if name == "threshold" else ()
    results = []
    for inplace in (False, True):
        leaf = lg.tensor(draw(3, 4), requires_grad=True)
        x = leaf * 1.5
        y = getattr(F, name)(x, *args, inplace=inplace)
        assert (y is x) == inplace
        (y * y).sum().backward()
        results.append((y.tolist(), leaf.grad.tolist()))
    np.testing.assert_allclose(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1])


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "elu", "celu", "selu", "hardtanh", "threshold", "rrelu"])
def test_names_with_an_underscore_write_into_the_input(name):
    args = (0.1, 20.0) if name == "threshold" else ()
    x = lg.tensor(draw(3, 4))
    expected = getattr(F, name)(x, *args).tolist()
    assert getattr(F, name + "_")(x, *args) is x
    assert x.tolist() == expected


@pytest.mark.parametrize("name", INPLACE)
def test_a_leaf_that_requires_grad_is_not_written(name):
    args = (0.1, 20.0) if name == "threshold" else ()
    with pytest.raises(RuntimeError, match="leaf"):
        getattr(F, name)(lg.ones(2, requires_grad=True), *args, inplace=True)


@pytest.mark.parametrize("make", LAYERS)
def test_layers_compute_and_have_gradients(make):
    m = make(nn).double()
    x = lg.tensor(draw(2, 4, 2, 2), requires_grad=True)
    m(x * 1).sum().backward()
    assert x.grad.shape == x.shape
    assert all(p.grad is not None for p in m.parameters())


def test_some_values():
    x = lg.tensor([-2.0, 0.0, 3.0])
    assert nn.ReLU()(x).tolist() == [0, 0, 3]
    assert nn.Threshold(1.0, 7.0)(x).tolist() == [7, 7, 3]
    assert nn.Hardtanh()(x).tolist() == [-1, 0, 1]
    assert nn.LeakyReLU(0.5)(x).tolist() == [-1, 0, 3]
    assert nn.PReLU()(x).tolist() == [-0.5, 0, 3]
    assert nn.Softshrink(1.0)(x).tolist() == [-1, 0, 2]
    assert nn.GLU()(lg.tensor([3.0, 0.0])).tolist() == [1.5]


def test_rrelu_draws_in_training():
    lg.manual_seed(0)
    x = lg.full((1000,), -1.0, requires_grad=True)
    y = F.rrelu(x, 0.2, 0.4, training=True)
    y.sum().backward()
    slopes = x.grad.numpy()
    assert 0.2 <= slopes.min() < 0.21
    assert 0.39 < slopes.max() <= 0.4
    np.testing.assert_allclose(y.detach().numpy(), -slopes)
    m = nn.RReLU(0.2, 0.4)
    assert m(lg.ones(3)).tolist() == [1, 1, 1]
    np.testing.assert_allclose(m.eval()(lg.full((2,), -1.0)).numpy(), -0.3, rtol=1e-6)


def test_gumbel_softmax():
    lg.manual_seed(0)
    logits = lg.log(lg.tensor([0.7, 0.2, 0.1]))
    drawn = F.gumbel_softmax(lg.broadcast_to(logits, (20000, 3)), hard=True)
    np.testing.assert_allclose(drawn.mean(0).numpy(), [0.7, 0.2, 0.1], atol=0.02)
    assert set(np.round(np.unique(drawn.numpy()), 5)) == {0.0, 1.0}
    soft = F.gumbel_softmax(lg.randn(5, 4), tau=2.0, dim=0)
    np.testing.assert_allclose(soft.sum(0).numpy(), 1, rtol=1e-6)
    x = lg.randn(3, 4, requires_grad=True)
    (F.gumbel_softmax(x, hard=True, dim=1) * lg.arange(4.0)).sum().backward()
    assert float(abs(x.grad).sum()) > 0
    assert F.gumbel_softmax(lg.randn(3, 4), hard=True, dim=0).sum(0).tolist() == pytest.approx([1, 1, 1, 1])


def test_arguments_are_checked():
    with pytest.raises(RuntimeError, match="must be even"):
        F.glu(lg.ones(3))
    with pytest.raises(RuntimeError):
        F.glu(lg.tensor(1.0))
    with pytest.raises(RuntimeError, match="expected one"):
        F.prelu(lg.ones(2, 3), lg.ones(4))
    with pytest.raises(ValueError, match="3D or 4D"):
        nn.Softmax2d()(lg.ones(2))
    with pytest.raises(AssertionError):
        nn.Hardtanh(1.0, -1.0)
    with pytest.warns(FutureWarning):
        assert nn.Hardtanh(min_value=-2.0).min_val == -2
    for f in (F.softmax, F.softmin, F.log_softmax):
        with pytest.warns(UserWarning, match="Implicit dimension choice"):
            f(lg.ones(2, 2))
    assert F.softmax(lg.ones(2), 0, dtype="float64").dtype == "float64"


def test_a_new_start_for_prelu():
    m = nn.PReLU(3, init=0.5)
    with lg.no_grad():
        m.weight.zero_()
    m.reset_parameters()
    assert m.weight.tolist() == [0.5] * 3


# -- beside PyTorch
@pytest.mark.parametrize(("name", "keywords"), FUNCTIONS)
def test_pytorch_agrees(name, keywords):
    torch = peer("torch")
    ours, theirs = getattr(F, name), getattr(torch.nn.functional, name)
    rtol = 1e-7 if name == "hardsigmoid" else 1e-9  # PyTorch rounds its sixth to single precision
    for scale in (1.0, 5.0):
        agree(torch, ours, theirs, draw(4, 6) * scale, rtol=rtol, atol=rtol, **keywords)


@pytest.mark.parametrize(("shape", "weights"), [((4,), 1), ((2, 3), 1), ((2, 3), 3), ((2, 3, 4, 5), 3), ((), 1)])
def test_pytorch_agrees_on_prelu(shape, weights):
    torch = peer("torch")
    agree(torch, F.prelu, torch.nn.functional.prelu, draw(*shape), draw(weights))


@pytest.mark.parametrize("make", LAYERS)
def test_pytorch_shows_and_computes_the_same(make):
    torch = peer("torch")
    m, t = make(nn), make(torch.nn)
    assert repr(m) == repr(t)
    assert list(m.state_dict()) == list(t.state_dict())
    m.load_state_dict(t.state_dict())
    x = draw(2, 4, 2, 2).astype("float32")
    np.testing.assert_allclose(
        m(lg.tensor(x)).detach().numpy(), t(torch.tensor(x)).detach().numpy(), rtol=1e-4, atol=1e-6
    )
