"""Weights that are computed: spectral norm as a hook, pruning, fusion, older names; against PyTorch and without it."""

import copy

import numpy as np
import pytest
from golden import ask, peer
from nn.compared import draw

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn.utils import prune


@pytest.fixture
def torch():
    peer("torch.nn.utils.prune")
    return peer("torch")


def values(state):
    return {k: np.asarray(v.detach()).copy() for k, v in state.items()}


def twins(torch, name, *args):
    ours, theirs = getattr(nn, name)(*args).double(), getattr(torch.nn, name)(*args).double()
    ours.load_state_dict(values(theirs.state_dict()))
    return ours, theirs


def close(ours, theirs, tolerance=1e-10):
    mine, other = values(ours), values(theirs)
    assert list(mine) == list(other)
    for k, v in mine.items():
        np.testing.assert_allclose(v, other[k], rtol=tolerance, atol=tolerance, err_msg=k)


# -- spectral norm -----------------------------------------------------------------------------------
@pytest.mark.parametrize("case", [("Linear", 4, 3), ("Conv2d", 2, 3, 3), ("ConvTranspose1d", 3, 2, 2)], ids=str)
def test_spectral_norm_is_torchs(torch, case):
    ours, theirs = twins(torch, *case)
    nn.utils.spectral_norm(ours, n_power_iterations=2), torch.nn.utils.spectral_norm(theirs, n_power_iterations=2)
    ours.load_state_dict(values(theirs.state_dict()))
    noted = lambda module: module.state_dict()._metadata[""]["spectral_norm"]
    assert noted(ours) == ask(theirs, noted)
    x = draw(2, case[1], *(5,) * (len(theirs.weight.shape) - 2))
    for training in (True, False, True):
        ours.train(training), theirs.train(training)
        found = []
        for module, make in ((ours, lg.tensor), (theirs, torch.tensor)):
            module.zero_grad()
            y = module(make(x)) * module(make(2 * x))  # twice: the vectors are written in between
            y.sum().backward()
            found.append({"y": y, **{k: p.grad for k, p in module.named_parameters()}})
        close(*found)
        close(ours.state_dict(), theirs.state_dict())
    close(*(u.remove_spectral_norm(m).state_dict() for u, m in ((nn.utils, ours), (torch.nn.utils, theirs))))
    assert isinstance(ours.weight, nn.Parameter) and "spectral_norm" not in ours.state_dict()._metadata[""]


def test_spectral_norm_finds_the_largest_singular_value():
    layer = nn.utils.spectral_norm(nn.Linear(6, 4).double(), n_power_iterations=200)
    layer(lg.zeros(6, dtype="float64"))
    expected = np.linalg.svd(layer.weight_orig.detach().numpy(), compute_uv=False).max()
    np.testing.assert_allclose(layer.weight.detach().numpy() * expected, layer.weight_orig.detach().numpy(), rtol=1e-8)
    with pytest.raises(RuntimeError, match="two spectral_norm hooks"):
        nn.utils.spectral_norm(layer)
    with pytest.raises(ValueError, match="positive"):
        nn.utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)
    with pytest.raises(ValueError, match="not initialised"):
        nn.utils.spectral_norm(nn.LazyLinear(2))
    with pytest.raises(ValueError, match="not found"):
        nn.utils.remove_spectral_norm(nn.Linear(2, 2))


# -- pruning -----------------------------------------------------------------------------------------
STEPS = [
    ("l1_unstructured", {"amount": 3}),
    ("ln_structured", {"amount": 1, "n": 2, "dim": 0}),
    ("l1_unstructured", {"amount": 0.3}),
    ("identity", {}),
    ("ln_structured", {"amount": 0.5, "n": 1, "dim": -1}),
]


def test_pruning_step_after_step_is_torchs(torch):
    ours, theirs = twins(torch, "Linear", 4, 5)
    x = draw(2, 4)
    for name, options in STEPS:
        getattr(prune, name)(ours, "weight", **options)
        getattr(torch.nn.utils.prune, name)(theirs, "weight", **options)
        for module, make in ((ours, lg.tensor), (theirs, torch.tensor)):
            module.zero_grad()
            (module(make(x)) ** 2).sum().backward()
        close(ours.state_dict(), theirs.state_dict())
        close({"g": ours.weight_orig.grad}, {"g": theirs.weight_orig.grad})
    scores = draw(5)
    for module, home, make in ((ours, prune, lg.tensor), (theirs, torch.nn.utils.prune, torch.tensor)):
        home.l1_unstructured(module, "bias", 2, importance_scores=make(scores))
        home.custom_from_mask(module, "bias", make(np.array([1.0, 0, 1, 1, 1])))
        home.remove(module, "weight")
    close(ours.state_dict(), theirs.state_dict())
    assert prune.is_pruned(nn.Sequential(ours)) and isinstance(ours.weight, nn.Parameter)


def test_pruning_many_as_one_is_torchs(torch):
    pairs = [twins(torch, "Linear", 3, 4), twins(torch, "Linear", 4, 2)]
    for amount in (5, 0.4):
        for side, home in ((0, prune), (1, torch.nn.utils.prune)):
            home.global_unstructured([(p[side], "weight") for p in pairs], home.L1Unstructured, amount=amount)
    for ours, theirs in pairs:
        close(ours.state_dict(), theirs.state_dict())


def test_pruned_weights_are_trained_and_stay_zero():
    lg.manual_seed(0)
    layer = nn.Linear(3, 4)
    weight, smallest = layer.weight, np.argsort(np.abs(layer.weight.detach().numpy()).ravel())
    assert prune.l1_unstructured(layer, "weight", 5) is layer
    assert layer.weight_orig is weight and [n for n, _ in layer.named_parameters()] == ["bias", "weight_orig"]
    assert sorted(np.flatnonzero(layer.weight_mask.numpy() == 0)) == sorted(smallest[:5])
    prune.random_unstructured(layer, "weight", 0.5)  # of the seven that are left
    assert int(layer.weight_mask.sum()) == 7 - round(0.5 * 7)
    prune.random_structured(layer, "weight", 1, dim=1)
    optimiser = lg.optim.SGD(layer.parameters(), lr=0.1)
    layer(lg.ones((2, 3))).sum().backward()
    optimiser.step()
    with lg.no_grad():
        layer(lg.ones(3))
    assert ((layer.weight == 0) == (layer.weight_mask == 0)).all()
    other = copy.deepcopy(layer)
    assert len(prune.BasePruningMethod.of(other, "weight")) == 3
    prune.remove(other, "weight")
    assert other.weight is not None and not prune.is_pruned(other) and list(other.state_dict()) == ["bias", "weight"]


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (TypeError, lambda m: prune.l1_unstructured(m, "weight", "all")),
        (ValueError, lambda m: prune.l1_unstructured(m, "weight", 1.5)),
        (ValueError, lambda m: prune.l1_unstructured(m, "weight", -1)),
        (ValueError, lambda m: prune.l1_unstructured(m, "weight", 100)),
        (ValueError, lambda m: prune.ln_structured(m, "bias", 1, 2, 0)),
        (IndexError, lambda m: prune.ln_structured(m, "weight", 1, 2, 2)),
        (AssertionError, lambda m: prune.l1_unstructured(m, "weight", 1, importance_scores=lg.ones(3))),
        (AssertionError, lambda m: prune.custom_from_mask(m, "weight", lg.ones(3))),
        (ValueError, lambda m: prune.remove(m, "weight")),
        (TypeError, lambda m: prune.global_unstructured([(m, "weight")], prune.LnStructured, amount=1, n=1)),
        (TypeError, lambda m: prune.PruningContainer().add_pruning_method(3)),
    ],
)
def test_a_pruning_that_fails_changes_nothing(kind, call):
    layer = nn.Linear(3, 2)
    before = values(layer.state_dict())
    with pytest.raises(kind):
        call(layer)
    assert list(layer.state_dict()) == list(before) and not prune.is_pruned(layer)
    assert layer(lg.ones(3)).shape == (2,)


# -- fusion and older names --------------------------------------------------------------------------
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_fused_layers_do_what_both_do(bias, affine):
    lg.manual_seed(0)
    for layer, bn, x, transpose in (
        (nn.Conv2d(2, 4, 3, groups=2, bias=bias), nn.BatchNorm2d(4, affine=affine), (2, 2, 5, 5), False),
        (nn.ConvTranspose1d(2, 3, 2, bias=bias), nn.BatchNorm1d(3, affine=affine), (2, 2, 5), True),
        (nn.Linear(3, 4, bias=bias), nn.BatchNorm1d(4, affine=affine), (2, 3), None),
    ):
        layer, bn = layer.double(), bn.double()
        for _ in range(3):
            bn(layer(lg.tensor(draw(*x)) * 2 + 1))
        for p in bn.parameters():
            nn.init.normal_(p)
        with pytest.raises(AssertionError, match="eval"):
            nn.utils.fuse_conv_bn_eval(layer, bn)
        layer.eval(), bn.eval()
        if transpose is None:
            fused = nn.utils.fuse_linear_bn_eval(layer, bn)
        else:
            fused = nn.utils.fuse_conv_bn_eval(layer, bn, transpose)
        given = lg.tensor(draw(*x, seed=4))
        np.testing.assert_allclose(fused(given).detach().numpy(), bn(layer(given)).detach().numpy(), rtol=1e-10)
        assert type(fused) is type(layer) and isinstance(fused.bias, nn.Parameter)


def test_older_names_warn():
    for name, args in (("constant", (2.0,)), ("xavier_uniform", ()), ("orthogonal", ()), ("sparse", (0.5,))):
        with pytest.warns(FutureWarning, match=f"nn.init.{name}.*nn.init.{name}_"):
            w = getattr(nn.init, name)(lg.zeros(4, 4), *args)
        assert bool((w != 0).any())
    w = nn.Parameter(lg.ones(2))
    w.grad = lg.tensor([3.0, 4.0])
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        assert nn.utils.clip_grad_norm(w, 1.0).item() == 5


def test_other_paths():
    layer = nn.Linear(2, 2)
    found = nn.utils.stateless.functional_call(layer, {"bias": lg.full(2, 3.0)}, lg.zeros(2))
    assert found.tolist() == [3.0, 3.0]
    first = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    second = nn.utils.parametrize.transfer_parametrizations_and_params(first, nn.Linear(3, 2))
    shared = [m.parametrizations.weight.original0 for m in (first, second)]
    assert shared[0] is shared[1] and (first.weight == second.weight).all()
    assert nn.modules.Linear is nn.Linear and nn.modules.module.Module is nn.Module
