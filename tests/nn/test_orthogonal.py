"""Weights that stay orthogonal, beside PyTorch's where it is installed."""

import numpy as np
import pytest
from golden import peer

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn.utils.parametrizations import orthogonal

MAPS = ["matrix_exp", "cayley", "householder"]


def error_of(q):
    q = np.asarray(q.detach())
    q = q if q.shape[-2] >= q.shape[-1] else q.swapaxes(-1, -2)
    return np.abs(q.swapaxes(-1, -2).conj() @ q - np.eye(q.shape[-1])).max()


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("how", MAPS)
@pytest.mark.parametrize("base", [True, False])
def test_training_keeps_it_orthogonal(how, shape, base):
    lg.manual_seed(0)
    layer = nn.Linear(shape[1], shape[0], dtype=lg.float64)
    nn.init.orthogonal_(layer.weight)
    before = layer.weight.detach().clone()
    orthogonal(layer, orthogonal_map=how, use_trivialization=base)
    if base or how == "householder":
        np.testing.assert_allclose(np.asarray(layer.weight.detach()), np.asarray(before), atol=1e-12)
    optimizer = lg.optim.SGD(layer.parameters(), lr=0.01)
    x, losses = lg.randn(8, shape[1], dtype=lg.float64), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = ((layer(x) - 1) ** 2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        assert error_of(layer.weight) < 1e-12
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 3, 3)])
@pytest.mark.parametrize("how", MAPS)
@pytest.mark.parametrize("base", [True, False])
def test_beside_pytorch(how, shape, base):
    torch = peer("torch")
    rng = np.random.default_rng(0)
    size = max(shape[-2:])
    q = np.linalg.qr(rng.standard_normal((*shape[:-2], size, size)))[0][..., : shape[-2], : shape[-1]]
    gradients = []
    for library in (lg, torch):
        module = library.nn.Module()
        module.weight = library.nn.Parameter(library.tensor(q))
        library.nn.utils.parametrizations.orthogonal(module, orthogonal_map=how, use_trivialization=base)
        stored = module.parametrizations.weight.original
        with library.no_grad():
            if shape[-2] == shape[-1]:  # other bases are completed by random columns
                stored.add_(0.1)
        (module.weight * library.tensor(np.arange(q.size).reshape(shape) * 1.0)).sum().backward()
        gradients.append((np.asarray(module.weight.detach()), np.asarray(stored.grad)))
    (value, gradient), (theirs, slope) = gradients
    np.testing.assert_allclose(value, theirs, atol=1e-10)
    if shape[-2] == shape[-1]:
        np.testing.assert_allclose(gradient, slope, atol=1e-9)


def test_complex_weights_are_unitary_and_wrong_ones_refused():
    module = nn.Module()
    module.weight = nn.Parameter(lg.randn(3, 3, dtype=lg.complex128))
    orthogonal(module)
    assert error_of(module.weight) < 1e-12
    with pytest.raises(ValueError, match="complex"):
        orthogonal(nn.Linear(2, 2, dtype=lg.complex64), orthogonal_map="householder")
    with pytest.raises(ValueError, match="matrix"):
        orthogonal(nn.Linear(2, 2), "bias")
    with pytest.raises(ValueError, match="orthogonal_map"):
        orthogonal(nn.Linear(2, 2), orthogonal_map="qr")


def test_a_value_is_set():
    layer = orthogonal(nn.Linear(3, 3, dtype=lg.float64))
    layer.weight = lg.asarray([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]], dtype=lg.float64)
    np.testing.assert_allclose(np.asarray(layer.weight.detach()), [[0, 1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)
