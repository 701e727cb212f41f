"""Modules as functions of their parameters."""

import numpy as np
import pytest
from golden import ask, peer

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.func import functional_call, grad, stack_module_state, vmap


def _model():
    return nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))


def test_other_tensors_take_the_place_of_parameters():
    m = _model()
    params = {k: lg.ones(v.shape) for k, v in m.named_parameters()}
    before = dict(m.named_parameters())
    x = lg.ones(2)
    y = functional_call(m, params, (x,))
    assert y.item() == pytest.approx(1 + 3 * np.tanh(3), rel=1e-6)
    assert all(p is q for p, q in zip(before.values(), m.parameters(), strict=True))
    assert functional_call(m, {"2.bias": lg.zeros(1)}, x).item() == pytest.approx((m(x) - m[2].bias).item(), abs=1e-6)


def test_gradients_reach_what_was_given():
    m = _model()
    params = {k: p.detach() for k, p in m.named_parameters()}
    x = lg.ones(4, 2)
    found = grad(lambda p: functional_call(m, p, (x,)).sum())(params)
    m(x).sum().backward()
    for name, p in m.named_parameters():
        np.testing.assert_allclose(found[name].numpy(), p.grad.numpy(), rtol=1e-5)


def test_gradients_per_example():
    m = _model()
    params = {k: p.detach() for k, p in m.named_parameters()}
    xs = lg.randn(5, 2)
    per_example = vmap(grad(lambda p, x: functional_call(m, p, (x,)).sum()), in_dims=(None, 0))(params, xs)
    for k in range(5):
        m.zero_grad()
        m(xs[k]).sum().backward()
        np.testing.assert_allclose(per_example["0.weight"][k].numpy(), m[0].weight.grad.numpy(), rtol=1e-5, atol=1e-7)


def test_the_module_is_as_before_when_the_call_raises():
    class Fails(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(lg.ones(1))

        def forward(self):
            raise ValueError("forward")

    m = Fails()
    before = m.w
    with pytest.raises(ValueError, match="forward"):
        functional_call(m, {"w": lg.zeros(1)})
    assert m.w is before
    assert isinstance(m.w, nn.Parameter)


def test_several_dictionaries_and_keyword_arguments():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(lg.ones(1))
            self.register_buffer("b", lg.ones(1))

        def forward(self, x, factor=1):
            return self.w * x * factor + self.b

    m = Scaled()
    y = functional_call(m, ({"w": lg.full((1,), 2.0)}, {"b": lg.full((1,), 5.0)}), (lg.ones(1),), {"factor": 3})
    assert y.item() == 11
    with pytest.raises(ValueError, match="multiple dictionaries"):
        functional_call(m, ({"w": m.w}, {"w": m.w}), (lg.ones(1),))
    with pytest.raises(ValueError, match="Expected parameter_and_buffer_dicts"):
        functional_call(m, 3, (lg.ones(1),))
    with pytest.raises(TypeError):
        functional_call(m, {"w": 3}, (lg.ones(1),))
    with pytest.raises(AttributeError, match="'v'"):
        functional_call(m, {"v": lg.ones(1)}, (lg.ones(1),))


def test_strictness():
    m = _model()
    params = dict(m.named_parameters())
    x = (lg.ones(2),)
    functional_call(m, params, x, strict=True)
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): more"):
        functional_call(m, {**params, "more": lg.ones(1)}, x, strict=True)
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): 2.bias"):
        functional_call(m, {k: v for k, v in params.items() if k != "2.bias"}, x, strict=True)


def test_tied_weights():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(lg.ones(1))
            self.b = self.a

        def forward(self, x):
            return x * self.a + self.b

    m, x = Tied(), lg.ones(1)
    two, three = lg.full((1,), 2.0), lg.full((1,), 3.0)
    assert functional_call(m, {"a": two}, x).item() == 4
    assert functional_call(m, {"b": two}, x, strict=True).item() == 4
    assert functional_call(m, {"a": two}, x, tie_weights=False).item() == 3
    assert functional_call(m, {"a": two, "b": three}, x, tie_weights=False).item() == 5
    with pytest.raises(ValueError, match="tied"):
        functional_call(m, {"a": two, "b": three}, x)


def test_stacked_models_run_as_one():
    models = [_model() for _ in range(3)]
    params, buffers = stack_module_state(models)
    assert buffers == {}
    assert params["0.weight"].shape == (3, 3, 2)
    assert all(p.is_leaf and p.requires_grad for p in params.values())
    x = lg.randn(4, 2)
    y = vmap(lambda p, b, x: functional_call(models[0], (p, b), (x,)), in_dims=(0, 0, None))(params, buffers, x)
    for k, model in enumerate(models):
        np.testing.assert_allclose(y[k].detach().numpy(), model(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    y.sum().backward()
    models[1](x).sum().backward()
    np.testing.assert_allclose(params["2.weight"].grad[1].numpy(), models[1][2].weight.grad.numpy(), rtol=1e-5)


def test_models_that_can_not_be_stacked():
    for models, told in (
        ([], "at least one"),
        ([_model(), _model().eval()], "training/eval"),
        ([_model(), nn.Linear(1, 1)], "same class"),
        ([_model(), _model().requires_grad_(False)], "requires_grad"),
    ):
        with pytest.raises(RuntimeError, match=told):
            stack_module_state(models)


def test_pytorch_has_the_same_arguments():
    torch = peer("torch")
    import inspect

    for ours, theirs in (
        (functional_call, torch.func.functional_call),
        (stack_module_state, torch.func.stack_module_state),
    ):
        arguments = lambda f: [(p.name, p.default) for p in inspect.signature(f).parameters.values()]
        assert arguments(ours) == ask(theirs, arguments)
