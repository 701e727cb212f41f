"""Dropout in its variants."""

import numpy as np
import pytest
from golden import peer

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn import functional as F

LAYERS = [nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout]


def test_elements_are_dropped_and_scaled():
    lg.manual_seed(0)
    x = lg.ones(10000, requires_grad=True)
    y = F.dropout(x, 0.2)
    assert set(np.unique(y.detach().numpy())) == {0.0, np.float32(1.25)}
    assert abs(float(y.mean()) - 1) < 0.02
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()


def test_a_seed_gives_the_same_again():
    x = lg.ones(100)
    made = []
    for _ in range(2):
        lg.manual_seed(3)
        made.append(F.dropout(x).tolist())
    assert made[0] == made[1]
    assert made[1] != F.dropout(x).tolist()


@pytest.mark.parametrize("layer", LAYERS)
def test_evaluation_passes_the_input_on(layer):
    x = (
        lg.ones(2, 3, 4, 5, 6)
        if layer is nn.Dropout3d
        else lg.ones(2, 3, 4, 5)
        if layer is nn.Dropout2d
        else lg.ones(2, 3, 4)
    )
    m = layer(0.9)
    assert m.eval()(x) is x
    assert layer(0.0)(x) is x
    assert m.train()(x) is not x


@pytest.mark.parametrize("layer", LAYERS)
def test_probabilities_are_checked(layer):
    for p in (-0.1, 1.1):
        with pytest.raises(ValueError, match=f"between 0 and 1, but got {p}"):
            layer(p)
    with pytest.raises(ValueError, match="between 0 and 1"):
        F.dropout(lg.ones(1), 2.0)


def test_all_is_dropped_with_probability_one():
    x = lg.ones(5, requires_grad=True)
    y = F.dropout(x, 1.0)
    assert y.tolist() == [0] * 5
    y.sum().backward()
    assert x.grad.tolist() == [0] * 5


@pytest.mark.parametrize(
    ("function", "shape", "kept"),
    [
        (F.dropout1d, (20, 8, 5), 2),
        (F.dropout1d, (40, 5), 1),
        (F.dropout2d, (20, 8, 3, 2), 2),
        (F.dropout2d, (20, 8, 3), 2),
        (F.dropout3d, (20, 8, 3, 2, 2), 2),
        (F.dropout3d, (40, 3, 2, 2), 1),
        (F.feature_alpha_dropout, (20, 8, 3, 2), 2),
    ],
)
def test_channels_are_dropped_as_a_whole(function, shape, kept):
    lg.manual_seed(1)
    x = lg.ones(shape)
    y = function(x, 0.5, training=True).numpy()
    flat = y.reshape(*shape[:kept], -1)
    assert (flat == flat[..., :1]).all()
    assert len(np.unique(flat)) == 2
    share = (flat == flat.max()).mean()
    assert 0.3 < share < 0.7


def test_ranks_are_checked():
    with pytest.raises(RuntimeError):
        F.dropout1d(lg.ones(3))
    with pytest.warns(UserWarning, match="dropout2d"):
        F.dropout2d(lg.ones(2, 3))
    with pytest.raises(RuntimeError):
        F.feature_alpha_dropout(lg.ones(2), training=True)
    with pytest.raises(RuntimeError):
        F.dropout(lg.ones(3, dtype="int64"))


def test_alpha_dropout_keeps_mean_and_variance():
    lg.manual_seed(0)
    x = lg.randn(200000)
    y = F.alpha_dropout(x, 0.3, training=True)
    assert abs(float(y.mean())) < 0.02
    assert abs(float(y.std()) - 1) < 0.02
    assert F.alpha_dropout(lg.ones(3), 1.0, training=True).tolist() == [0, 0, 0]


@pytest.mark.parametrize("function", [F.dropout, F.alpha_dropout])
def test_in_place(function):
    leaf = lg.ones(50, requires_grad=True)
    x = leaf * 2
    y = function(x, 0.5, training=True, inplace=True)
    assert y is x
    y.sum().backward()
    values = [part.detach().numpy() for part in (y, leaf.grad)]
    assert len(set(np.unique(values[1]))) == 2
    assert ((values[1] == 0) == (values[0] == values[0].min())).all()


def test_only_a_mask_is_kept():
    x = lg.ones(1000, requires_grad=True)
    kept = [a for a in F.dropout(x)._node.saved if hasattr(a, "nbytes")]
    assert sum(a.nbytes for a in kept) <= 1000


def test_second_derivatives():
    x = lg.tensor(np.arange(1.0, 5.0), requires_grad=True)
    lg.manual_seed(0)
    y = F.dropout(x, 0.5)
    mask = (y.detach() > 0).numpy() * 2.0
    (g,) = lg.autograd.grad((y**2).sum(), x, create_graph=True)
    (h,) = lg.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(h.numpy(), 2 * mask**2)


def test_on_cuda():
    x = lg.ones(100, device="cuda", requires_grad=True)
    y = F.dropout(x, 0.5)
    y.sum().backward()
    assert x.grad.cpu().tolist() == y.detach().cpu().tolist()
    assert set(y.detach().cpu().tolist()) == {0.0, 2.0}


def test_pytorch_shows_the_same():
    torch = peer("torch")
    for layer in LAYERS:
        assert repr(layer(0.3)) == repr(getattr(torch.nn, layer.__name__)(0.3))
        assert repr(layer(inplace=True)) == repr(getattr(torch.nn, layer.__name__)(inplace=True))


def test_pytorch_makes_the_same_values_of_what_stays_and_goes():
    torch = peer("torch")
    x = np.linspace(0.5, 1.5, 60).reshape(3, 20)
    for name in ("dropout", "alpha_dropout"):
        y = getattr(F, name)(lg.tensor(x), 0.3, training=True).numpy()
        z = getattr(torch.nn.functional, name)(torch.tensor(x), 0.3, training=True).numpy()
        for values in (y, z):  # both are one of two affine functions of x
            low = values == values.min()
            slope, shift = np.polyfit(x[~low], values[~low], 1)
            np.testing.assert_allclose(values[~low], slope * x[~low] + shift, atol=1e-9)
        ours, theirs = (np.polyfit(x[v != v.min()], v[v != v.min()], 1) for v in (y, z))
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
        np.testing.assert_allclose(y.min(), z.min(), atol=1e-6)
