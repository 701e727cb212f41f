"""Layers that wait for their first input: against PyTorch's, their state, and what can't be done before."""

import copy
import pickle

import numpy as np
import pytest
from golden import peer
from nn.compared import draw

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn.modules.lazy import LazyModuleMixin
from lucidgrad.nn.parameter import is_lazy

#: Arguments, and the shape of an input.
LAYERS = {
    "LazyLinear": [((3,), {}, (2, 4)), ((3, False), {}, (4,))],
    **{f"LazyConv{n}d": [((4, 3), {"groups": 2, "padding": 1}, (2, 2, *(4,) * n)),
                         ((2, 1), {"bias": False}, (3, *(2,) * n))] for n in (1, 2, 3)},
    **{f"LazyConvTranspose{n}d": [((4, 3), {"groups": 2, "stride": 2}, (2, 2, *(3,) * n))] for n in (1, 2, 3)},
    **{f"Lazy{kind}Norm{n}d": [((), way, (2, 3, *(4,) * n)) for way in ({}, other)] for n in (1, 2, 3)
       for kind, other in (("Batch", {"affine": False}), ("Instance", {"track_running_stats": False, "bias": False}))},
}  # fmt: skip
CASES = [(name, *case) for name, some in LAYERS.items() for case in some]


def copied(module):
    """A state as another library takes it."""
    return {k: v.detach().numpy() for k, v in module.state_dict().items()}


@pytest.mark.parametrize(("name", "args", "options", "shape"), CASES)
def test_layers_are_torchs(name, args, options, shape):
    torch = peer("torch")
    ours = getattr(nn, name)(*args, **options, dtype=lg.float64)
    theirs = getattr(torch.nn, name)(*args, **options, dtype=torch.float64)
    assert repr(ours) == repr(theirs)
    assert ours.has_uninitialized_params() == theirs.has_uninitialized_params()
    assert list(ours.state_dict()) == list(theirs.state_dict())
    values = draw(*shape)
    ours(lg.tensor(values)), theirs(torch.tensor(values))
    assert repr(ours) == repr(theirs) and repr(ours).startswith(f"{type(ours).__name__}(")  # another class
    ours.load_state_dict(copied(theirs))
    for module, make in ((ours, lg.tensor), (theirs, torch.tensor)):
        module(make(values, requires_grad=True)).sum().backward()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-9, atol=1e-9)
    for (k, a), b in zip(ours.state_dict().items(), theirs.state_dict().values(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-12, err_msg=k)


@pytest.mark.parametrize(("name", "args", "options", "shape"), CASES)
def test_a_first_call_makes_the_ordinary_layer(name, args, options, shape):
    waiting = getattr(nn, name)(*args, **options)
    assert all(is_lazy(p) for p in waiting.parameters())
    parameters = list(waiting.parameters())
    other = copy.deepcopy(pickle.loads(pickle.dumps(waiting))).double()
    x = lg.tensor(draw(*shape))
    waiting.double()(x)
    assert type(waiting) is getattr(nn, name.removeprefix("Lazy")) and waiting._hooks is None
    assert all(a is b for a, b in zip(parameters, waiting.parameters(), strict=True))
    assert all(type(p) is lg.Tensor and p.dtype == lg.float64 and p.requires_grad for p in parameters)
    state = waiting.state_dict()
    other.load_state_dict(state)
    assert not other.has_uninitialized_params()
    y, z = waiting.eval()(x), other.eval()(x)
    np.testing.assert_array_equal(y.detach().numpy(), z.detach().numpy())
    assert repr(waiting) == repr(other)


def test_an_optimiser_may_come_first():
    lg.manual_seed(0)
    network = nn.Sequential(nn.LazyLinear(4), nn.Tanh(), nn.LazyLinear(1))
    optimiser = lg.optim.Adam(network.parameters(), lr=0.1)
    x = lg.tensor(draw(8, 3), dtype="float32")
    losses = []
    for _ in range(20):
        optimiser.zero_grad()
        losses.append((network(x) ** 2).mean())
        losses[-1].backward()
        optimiser.step()
    assert losses[-1].item() < 0.1 * losses[0].item()


def test_nothing_is_computed_before():
    w = nn.UninitializedParameter()
    for use in (
        lambda: w + 1, lambda: 1 + w, lambda: lg.ones(2) * w, lambda: lg.add(w, 1), lambda: w.sum(), lambda: w[0],
        lambda: nn.functional.linear(lg.ones(2), w), lambda: w.detach(), lambda: w.mul_(2), lambda: w.ndim,
    ):  # fmt: skip
        with pytest.raises(ValueError, match="UninitializedParameter"):
            use()
    with pytest.raises(RuntimeError, match="shape of an uninitialized"):
        len(w.shape)
    assert repr(w) == "<UninitializedParameter>" and w.requires_grad and w.is_leaf and w.grad is None
    assert w.to("float64").dtype == lg.float64 and w.half().dtype == lg.float16 and w.float() is w
    assert w.cuda().device.type == "cuda" and w.requires_grad_(False) is w and not w.requires_grad
    buffer = nn.UninitializedBuffer(persistent=False)
    module = nn.Module()
    module.b = buffer
    assert list(dict(module.named_buffers())) == ["b"] and list(module.state_dict()) == []
    buffer.materialize((2,))
    assert isinstance(buffer, nn.Buffer) and not is_lazy(buffer) and buffer.shape == (2,)


def test_states_that_do_not_fit_change_nothing():
    layer = nn.LazyLinear(3)
    with pytest.raises(RuntimeError, match="Missing key"):
        layer.load_state_dict({"weight": lg.ones(3, 2)})
    assert all(map(is_lazy, layer.parameters()))
    layer.register_load_state_dict_post_hook(lambda module, keys: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        layer.load_state_dict(nn.Linear(2, 3).state_dict())
    assert all(map(is_lazy, layer.parameters()))
    ordinary = nn.Linear(2, 3)
    before = copied(ordinary)
    with pytest.raises(RuntimeError, match="shape is not known"):
        ordinary.load_state_dict(nn.LazyLinear(3).state_dict())
    assert all(np.array_equal(v, before[k]) for k, v in copied(ordinary).items())
    assert str(nn.LazyLinear(3).load_state_dict(nn.LazyLinear(3).state_dict())) == "<All keys matched successfully>"


def test_errors():
    conv = nn.LazyConv2d(4, 3, groups=2)
    for wrong, kind in ((lg.ones((1, 3, 5, 5)), ValueError), (lg.ones(3), RuntimeError), ("a", TypeError)):
        with pytest.raises(kind):
            conv(wrong)
        assert all(map(is_lazy, conv.parameters())) and conv.in_channels == 0

    class Half(LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.UninitializedParameter()

        def forward(self, x):
            return x

    with pytest.raises(TypeError, match="does not say"):
        Half()(1)
    Half.initialize_parameters = lambda self, x: None
    with pytest.raises(RuntimeError, match="not been fully"):
        Half()(1)


def test_cuda():
    layer = nn.LazyLinear(2).to("cuda")
    assert layer(lg.ones((2, 3), device="cuda")).device.type == "cuda" and layer.weight.device.type == "cuda"
