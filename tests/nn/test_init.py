"""Starting values."""

import math

import numpy as np
import pytest
from golden import peer, thin

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn import init

DRAWN = [
    ("uniform_", {"a": -1.0, "b": 3.0}),
    ("normal_", {"mean": 2.0, "std": 0.5}),
    ("trunc_normal_", {"mean": 1.0, "std": 2.0, "a": 0.0, "b": 3.0}),
    ("xavier_uniform_", {"gain": 2.0}),
    ("xavier_normal_", {}),
    ("kaiming_uniform_", {"a": 0.3}),
    ("kaiming_uniform_", {"mode": "fan_out", "nonlinearity": "relu"}),
    ("kaiming_normal_", {"nonlinearity": "tanh"}),
    ("orthogonal_", {"gain": 2.0}),
    ("sparse_", {"sparsity": 0.1}),
]


@pytest.mark.parametrize(("name", "keywords"), DRAWN)
def test_a_tensor_is_filled_without_a_record(name, keywords):
    p = nn.Parameter(lg.zeros(6, 8))
    assert getattr(init, name)(p, **keywords) is p
    assert p.is_leaf
    assert p.requires_grad
    assert float(abs(p).sum()) > 0


@pytest.mark.parametrize(("name", "keywords"), DRAWN)
def test_a_generator_gives_the_same_again(name, keywords):
    made = []
    for _ in range(2):
        generator = lg.Generator()
        generator.manual_seed(5)
        made.append(getattr(init, name)(lg.zeros(6, 8), generator=generator, **keywords).tolist())
    assert made[0] == made[1]


def test_ranges_and_moments():
    lg.manual_seed(0)
    x = init.uniform_(lg.empty(20000), -1.0, 3.0)
    assert (-1 <= float(x.min()) < -0.99) and (2.99 < float(x.max()) <= 3)
    x = init.normal_(lg.empty(20000), 2.0, 0.5)
    assert (abs(float(x.mean()) - 2) < 0.02) and (abs(float(x.std()) - 0.5) < 0.02)
    x = init.trunc_normal_(lg.empty(20000), 0.0, 1.0, -0.5, 1.0)
    assert (-0.5 <= float(x.min()) < -0.49) and (0.99 < float(x.max()) <= 1)
    with pytest.warns(UserWarning, match="more than 2 std"):
        init.trunc_normal_(lg.empty(3), 10.0, 1.0)


def test_scales():
    lg.manual_seed(0)
    w = lg.empty(200, 100, 2)
    assert float(abs(init.xavier_uniform_(w)).max()) == pytest.approx(math.sqrt(6 / 600), rel=0.01)
    assert float(init.xavier_normal_(w, 3.0).std()) == pytest.approx(3 * math.sqrt(2 / 600), rel=0.02)
    assert float(init.kaiming_normal_(w).std()) == pytest.approx(math.sqrt(2 / 200), rel=0.02)
    assert float(init.kaiming_normal_(w, mode="fan_out").std()) == pytest.approx(math.sqrt(2 / 400), rel=0.02)
    bound = math.sqrt(3) * (5 / 3) / math.sqrt(200)
    assert float(abs(init.kaiming_uniform_(w, nonlinearity="tanh")).max()) == pytest.approx(bound, rel=0.01)


def test_fixed_values():
    assert init.constant_(lg.empty(2), 0.5).tolist() == [0.5, 0.5]
    assert init.ones_(lg.empty(2)).tolist() == [1, 1]
    assert init.zeros_(lg.ones(2)).tolist() == [0, 0]
    assert init.eye_(lg.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 3)])
def test_orthogonal(shape):
    w = init.orthogonal_(lg.empty(shape, dtype="float64"), gain=2.0).numpy().reshape(shape[0], -1)
    small = w @ w.T if w.shape[0] < w.shape[1] else w.T @ w
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-10)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: init.eye_(lg.ones(2)), "2 dimensions"),
        (lambda: init.dirac_(lg.ones(2, 2)), "3, 4, or 5"),
        (lambda: init.dirac_(lg.ones(3, 2, 2), groups=2), "divisible"),
        (lambda: init.xavier_uniform_(lg.ones(3)), "fewer than 2"),
        (lambda: init.orthogonal_(lg.ones(3)), "2 or more"),
        (lambda: init.sparse_(lg.ones(3), 0.5), "2 dimensions"),
        (lambda: init.kaiming_normal_(lg.ones(3, 3), mode="fan"), "Mode fan"),
        (lambda: init.calculate_gain("unknown"), "Unsupported nonlinearity"),
        (lambda: init.calculate_gain("leaky_relu", True), "not a valid number"),
    ],
)
def test_arguments_are_checked(call, told):
    with pytest.raises(ValueError, match=told):
        call()


def test_empty_tensors_are_left():
    with pytest.warns(UserWarning, match="no-op"):
        init.kaiming_uniform_(lg.ones(0, 3))


def test_on_cuda():
    w = nn.Parameter(lg.zeros(8, 4, device="cuda"))
    init.kaiming_uniform_(w)
    assert str(w.device) == "cuda:0"
    assert 0 < float(abs(w).max().cpu()) <= math.sqrt(6 / 4)


# -- beside PyTorch
@pytest.mark.parametrize(("shape", "groups"), [((3, 2, 3), 1), ((4, 2, 3, 3), 2), ((2, 3, 2, 3, 1), 1)])
def test_pytorch_has_the_same_dirac(shape, groups):
    torch = peer("torch")
    ours, theirs = init.dirac_(lg.empty(shape), groups), torch.nn.init.dirac_(torch.empty(shape), groups)
    assert ours.tolist() == theirs.tolist()


def test_pytorch_has_the_same_gains():
    torch = peer("torch")
    for name in ("linear", "conv2d", "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"):
        assert init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    assert init.calculate_gain("leaky_relu", 0.3) == torch.nn.init.calculate_gain("leaky_relu", 0.3)


@pytest.mark.parametrize(("name", "keywords"), DRAWN)
def test_pytorch_draws_from_the_same_distribution(name, keywords):
    torch = peer("torch")
    scipy = pytest.importorskip("scipy.stats")
    lg.manual_seed(0)
    torch.manual_seed(0)
    ours = getattr(init, name)(lg.empty(60, 80), **keywords).numpy().ravel()
    theirs = thin(getattr(torch.nn.init, name)(torch.empty(60, 80), **keywords), 600).numpy().ravel()
    assert scipy.ks_2samp(ours, theirs).pvalue > 1e-3
