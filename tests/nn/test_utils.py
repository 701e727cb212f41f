"""Clipping, vectors of parameters, weight norms, parametrisations."""

import copy
import math
import pickle

import numpy as np
import pytest
from compared import draw
from golden import peer

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn import utils
from lucidgrad.nn.utils import parametrizations, parametrize


def _with_gradients(*gradients):
    made = []
    for g in gradients:
        p = nn.Parameter(lg.zeros(np.shape(g), dtype="float64"))
        p.grad = lg.tensor(np.asarray(g, "float64"))
        made.append(p)
    return made


# -- clipping
def test_gradients_are_scaled_to_the_norm():
    ps = _with_gradients([3.0], [[4.0]])
    assert utils.clip_grad_norm_(iter(ps), 1.0).item() == 5
    assert ps[0].grad.item() == pytest.approx(0.6, rel=1e-6)
    assert ps[1].grad.item() == pytest.approx(0.8, rel=1e-6)
    assert utils.clip_grad_norm_(ps, 10.0).item() == pytest.approx(1, rel=1e-6)
    assert ps[0].grad.item() == pytest.approx(0.6, rel=1e-6)


def test_parameters_without_gradients_do_not_count():
    p, q = nn.Parameter(lg.ones(2)), nn.Parameter(lg.ones(1))
    assert utils.clip_grad_norm_([p], 1.0).item() == 0
    q.grad = lg.full((1,), 2.0)
    assert utils.clip_grad_norm_([p, q], 1.0).item() == 2
    assert p.grad is None


def test_a_norm_that_is_not_finite():
    ps = _with_gradients([math.nan], [1.0])
    with pytest.raises(RuntimeError, match="non-finite"):
        utils.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True)
    assert ps[1].grad.item() == 1
    assert math.isnan(utils.clip_grad_norm_(ps, 1.0).item())
    assert math.isnan(ps[1].grad.item())


@pytest.mark.parametrize("norm_type", [2.0, 3.0])
def test_squares_of_16_bit_gradients_do_not_overflow(norm_type):
    p = nn.Parameter(lg.zeros(100, dtype="float16"))
    p.grad = lg.full((100,), 300.0, dtype="float16")
    total = utils.clip_grad_norm_([p], 1.0, norm_type)
    assert total.dtype == lg.float16
    assert total.item() == pytest.approx(300 * 100 ** (1 / norm_type), rel=1e-3)
    assert p.grad[0].item() == pytest.approx(100 ** (-1 / norm_type), rel=1e-3)


def test_values_are_clipped():
    (p,) = _with_gradients([-3.0, 0.5, 2.0])
    utils.clip_grad_value_(p, 1.0)
    assert p.grad.tolist() == [-1, 0.5, 1]


def test_clipping_keeps_the_gradient_tensors():
    (p,) = _with_gradients([3.0, 4.0])
    g = p.grad
    utils.clip_grad_norm_(p, 1.0)
    assert p.grad is g


def test_clipping_on_cuda_does_not_wait(monkeypatch):
    p = nn.Parameter(lg.zeros(2, device="cuda"))
    p.grad = lg.tensor([3.0, 4.0], device="cuda")

    def waits(*args):
        raise AssertionError("the values were fetched")

    with monkeypatch.context() as patch:
        patch.setattr(lg.Tensor, "_host", waits)
        total = utils.clip_grad_norm_([p], 1.0)
        utils.clip_grad_value_([p], 0.7)
    assert total.item() == 5
    np.testing.assert_allclose(p.grad.cpu().numpy(), [0.6, 0.7], rtol=1e-5)


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.0, math.inf])
def test_pytorch_clips_alike(norm_type):
    torch = peer("torch")
    gradients = [draw(3), draw(2, 2), draw(1)]
    ps = _with_gradients(*gradients)
    ts = [torch.nn.Parameter(torch.zeros(g.shape, dtype=torch.float64)) for g in gradients]
    for t, g in zip(ts, gradients, strict=True):
        t.grad = torch.tensor(g)
    theirs = torch.nn.utils
    assert utils.get_total_norm([p.grad for p in ps], norm_type).item() == pytest.approx(
        theirs.get_total_norm([t.grad for t in ts], norm_type).item()
    )
    ours = utils.clip_grad_norm_(ps, 0.5, norm_type).item()
    assert ours == pytest.approx(theirs.clip_grad_norm_(ts, 0.5, norm_type).item())
    for p, t in zip(ps, ts, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), t.grad.numpy(), rtol=1e-12)


# -- vectors
def test_parameters_as_a_vector_and_back():
    m = nn.Linear(2, 3)
    v = utils.parameters_to_vector(m.parameters())
    assert v.shape == (9,)
    (v * v).sum().backward()
    np.testing.assert_allclose(m.bias.grad.numpy(), 2 * m.bias.detach().numpy())
    before = list(m.parameters())
    utils.vector_to_parameters(lg.arange(9.0), m.parameters())
    assert m.weight.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert m.bias.tolist() == [6, 7, 8]
    assert all(p is q for p, q in zip(before, m.parameters(), strict=True))
    m(lg.ones(2)).sum().backward()
    with pytest.raises(TypeError):
        utils.vector_to_parameters([1.0], m.parameters())
    with pytest.raises(RuntimeError, match="expected as many"):
        utils.vector_to_parameters(lg.ones(3), m.parameters())
    assert m.bias.tolist() == [6, 7, 8]


def test_skip_init_draws_nothing():
    lg.manual_seed(0)
    first = lg.rand(1).item()
    lg.manual_seed(0)
    m = utils.skip_init(nn.Linear, 3, 2, bias=False)
    assert lg.rand(1).item() == first
    assert m.weight.shape == (2, 3)
    assert float(abs(nn.Linear(3, 2).weight).sum()) > 0
    with pytest.raises(RuntimeError):
        utils.skip_init(int)


# -- weight norm as a hook
def test_weight_norm_hook():
    m = nn.Linear(3, 2)
    w = m.weight.detach().clone()
    assert utils.weight_norm(m) is m
    assert list(m.state_dict()) == ["bias", "weight_g", "weight_v"]
    assert m.weight_g.shape == (2, 1)
    x = lg.randn(4, 3)
    np.testing.assert_allclose(m(x).detach().numpy(), lg.nn.functional.linear(x, w, m.bias).detach().numpy(), atol=1e-6)
    m(x).sum().backward()
    assert m.weight_g.grad is not None
    assert m.weight_v.grad is not None
    with lg.no_grad():
        m.weight_g.mul_(2)
    m(x)
    np.testing.assert_allclose(m.weight.detach().numpy(), 2 * w.numpy(), rtol=1e-5)
    with pytest.raises(RuntimeError, match="two weight_norm hooks"):
        utils.weight_norm(m)
    utils.remove_weight_norm(m)
    assert list(m.state_dict()) == ["bias", "weight"]
    assert isinstance(m.weight, nn.Parameter)
    with pytest.raises(ValueError, match="not found"):
        utils.remove_weight_norm(m)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_pytorch_has_the_same_weight_norms(dim):
    torch = peer("torch")
    theirs = torch.nn.utils
    x = draw(4, 3)
    for ours, other in (
        (utils.weight_norm, theirs.weight_norm),
        (parametrizations.weight_norm, theirs.parametrizations.weight_norm),
    ):
        m, t = ours(nn.Linear(3, 2).double(), dim=dim), other(torch.nn.Linear(3, 2).double(), dim=dim)
        shapes = [(k, tuple(v.shape)) for k, v in t.state_dict().items()]
        assert [(k, v.shape) for k, v in m.state_dict().items()] == shapes
        assert repr(m) == repr(t)
        m.load_state_dict(t.state_dict())
        y, z = m(lg.tensor(x)), t(torch.tensor(x))
        np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-9)
        (y**2).sum().backward()
        (z**2).sum().backward()
        for p, q in zip(m.parameters(), t.parameters(), strict=True):
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-8, atol=1e-10)


# -- parametrisations
class Double(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return x / 2


class Positive(nn.Module):
    def forward(self, x):
        return lg.exp(x)


def test_a_parametrised_tensor_is_computed():
    m = nn.Linear(2, 2)
    p, before = m.weight, m.weight.tolist()
    parametrize.register_parametrization(m, "weight", Double())
    assert type(m).__name__ == "ParametrizedLinear"
    assert isinstance(m, nn.Linear)
    assert parametrize.is_parametrized(m, "weight")
    assert not parametrize.is_parametrized(m, "bias")
    assert parametrize.type_before_parametrizations(m) is nn.Linear
    assert m.parametrizations.weight.original is p
    assert m.weight.tolist() == before
    assert [n for n, _ in m.named_parameters()] == ["bias", "parametrizations.weight.original"]
    m(lg.ones(2)).sum().backward()
    assert p.grad.tolist() == [[2, 2], [2, 2]]
    m.weight = lg.ones(2, 2)
    assert p.tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_parametrisations_follow_each_other():
    m = nn.Linear(2, 2)
    parametrize.register_parametrization(m, "weight", Positive())
    parametrize.register_parametrization(m, "weight", Double())
    original = m.parametrizations.weight.original.detach().numpy()
    np.testing.assert_allclose(m.weight.detach().numpy(), 2 * np.exp(original), rtol=1e-6)
    with pytest.raises(RuntimeError, match="right_inverse"):
        m.weight = lg.ones(2, 2)
    parametrize.register_parametrization(m, "bias", Double())
    assert list(m.state_dict()) == ["parametrizations.weight.original", "parametrizations.bias.original"]


@pytest.mark.parametrize("leave", [True, False])
def test_removal(leave):
    m = nn.Linear(2, 2)
    p, w = m.weight, m.weight.detach().clone()
    parametrize.register_parametrization(m, "weight", Positive())
    parametrize.remove_parametrizations(m, "weight", leave_parametrized=leave)
    assert type(m) is nn.Linear
    assert m.weight is p
    np.testing.assert_allclose(m.weight.detach().numpy(), np.exp(w.numpy()) if leave else w.numpy(), rtol=1e-6)
    assert sorted(m.state_dict()) == ["bias", "weight"]
    assert not parametrize.is_parametrized(m)
    with pytest.raises(ValueError, match="does not have a parametrization"):
        parametrize.remove_parametrizations(m, "weight")


def test_removal_of_several_originals():
    m = parametrizations.weight_norm(nn.Linear(2, 2))
    w = m.weight.tolist()
    with pytest.raises(ValueError, match="sequence of tensors"):
        parametrize.remove_parametrizations(m, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(m, "weight")
    np.testing.assert_allclose(m.weight.tolist(), w)
    assert isinstance(m.weight, nn.Parameter)


def test_a_parametrisation_must_keep_shape_and_dtype():
    class Longer(nn.Module):
        def forward(self, x):
            return lg.concat([x, x], axis=0)

    class Converted(nn.Module):
        def forward(self, x):
            return x.to("float64")

    m = nn.Linear(2, 2)
    w = m.weight
    for bad, told in ((Longer(), "shape"), (Converted(), "dtype")):
        with pytest.raises(ValueError, match=told):
            parametrize.register_parametrization(m, "weight", bad)
        assert m.weight is w
        assert type(m) is nn.Linear
    with pytest.raises(ValueError, match="does not have a parameter"):
        parametrize.register_parametrization(m, "more", Double())
    parametrize.register_parametrization(m, "weight", Longer(), unsafe=True)
    assert m.weight.shape == (4, 2)


def test_values_are_cached():
    calls = []

    class Counted(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x * 1

    m = nn.Linear(2, 2)
    parametrize.register_parametrization(m, "weight", Counted())
    calls.clear()
    with parametrize.cached():
        with parametrize.cached():
            m(lg.ones(2))
        m(lg.ones(2))
    assert len(calls) == 1
    m(lg.ones(2))
    m(lg.ones(2))
    assert len(calls) == 3


def test_buffers_can_be_parametrised():
    m = nn.Module()
    m.register_buffer("b", lg.ones(2))
    parametrize.register_parametrization(m, "b", Positive())
    assert list(m.state_dict()) == ["parametrizations.b.original"]
    assert m.b.tolist() == pytest.approx([math.e, math.e])
    parametrize.remove_parametrizations(m, "b")
    assert list(m._buffers) == ["b"]


@pytest.mark.parametrize(
    ("make", "name", "shape"),
    [
        (lambda: nn.LSTM(3, 4), "weight_hh_l0", (2, 1, 3)),
        (lambda: nn.GRUCell(3, 4), "bias_hh", (1, 3)),
        (lambda: nn.Linear(3, 4), "bias", (1, 3)),
    ],
)
def test_layers_read_parametrised_tensors(make, name, shape):
    layer = make()
    x = lg.ones(shape)

    def run():
        y = layer(x)
        return y[0] if isinstance(y, tuple) else y

    before = run()
    parametrizations.weight_norm(layer, name, dim=None)
    after = run()
    np.testing.assert_allclose(after.detach().numpy(), before.detach().numpy(), rtol=1e-5, atol=1e-6)
    after.sum().backward()
    assert all(p.grad is not None for p in layer.parametrizations[name].parameters())


def test_attention_reads_parametrised_tensors():
    layer, x = nn.MultiheadAttention(4, 2), lg.ones((3, 1, 4))
    before = layer(x, x, x)[0]
    parametrizations.weight_norm(layer, "in_proj_weight")
    after = layer(x, x, x)[0]
    np.testing.assert_allclose(after.detach().numpy(), before.detach().numpy(), rtol=1e-5, atol=1e-6)
    after.sum().backward()
    assert all(p.grad is not None for p in layer.parametrizations["in_proj_weight"].parameters())


def test_copies_are_independent_and_pickling_is_refused():
    m = parametrizations.weight_norm(nn.Linear(2, 2))
    other = copy.deepcopy(m)
    parametrize.remove_parametrizations(other, "weight")
    assert parametrize.is_parametrized(m)
    assert m.weight.shape == (2, 2)
    assert other.weight.tolist() == m.weight.tolist()
    with pytest.raises(RuntimeError, match="state_dict"):
        pickle.dumps(m)


def test_old_keys_of_weight_norm_load():
    old, new = utils.weight_norm(nn.Linear(2, 2)), parametrizations.weight_norm(nn.Linear(2, 2))
    nn.Sequential(new).load_state_dict(nn.Sequential(old).state_dict())
    x = lg.ones(2)
    np.testing.assert_allclose(new(x).detach().numpy(), old(x).detach().numpy(), rtol=1e-6)


def test_spectral_norm():
    lg.manual_seed(0)
    m = parametrizations.spectral_norm(nn.Linear(5, 4).double(), n_power_iterations=30)
    assert np.linalg.svd(m.weight.detach().numpy())[1][0] == pytest.approx(1, rel=1e-4)
    y = m(lg.tensor(draw(3, 5))).sum() - m(lg.tensor(draw(2, 5))).sum()  # two calls, one walk
    y.backward()
    m.eval()
    before = m.parametrizations.weight[0]._u.tolist()
    m.weight
    assert m.parametrizations.weight[0]._u.tolist() == before
    with pytest.raises(ValueError, match="n_power_iterations"):
        parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)
    with pytest.raises(IndexError):
        parametrizations.spectral_norm(nn.Linear(2, 2), dim=2)
    with pytest.raises(ValueError, match="no parameter"):
        parametrizations.spectral_norm(nn.ReLU())


def test_pytorch_has_the_same_spectral_norm():
    torch = peer("torch")
    m = parametrizations.spectral_norm(nn.Linear(3, 2).double())
    t = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(3, 2).double())
    shapes = [(k, tuple(v.shape)) for k, v in t.state_dict().items()]
    assert [(k, v.shape) for k, v in m.state_dict().items()] == shapes
    assert repr(m) == repr(t)
    m.load_state_dict(t.state_dict())
    x = draw(4, 3)
    for _ in range(3):
        y, z = m(lg.tensor(x)), t(torch.tensor(x))
        np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-9)
        m.zero_grad()
        t.zero_grad()
        (y**2).sum().backward()
        (z**2).sum().backward()
        for p, q in zip(m.parameters(), t.parameters(), strict=True):
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-8, atol=1e-10)
