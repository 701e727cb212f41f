"""Averages of parameters and of models."""

import itertools

import numpy as np
import pytest
from golden import peer

import lucidgrad as lg


def leaf(*shape, value=1.0):
    return lg.full(shape, value, dtype="float64").requires_grad_()


def test_ema():
    p = leaf(2, value=0.0)
    average = lg.optim.EMA([p], decay=0.9)
    expected = 0.0
    for k in range(5):
        with lg.no_grad():
            p.fill_(float(k))
        average.update()
        expected = 0.9 * expected + 0.1 * k
    assert average.averages[0].tolist() == pytest.approx([expected] * 2)
    with average.applied():
        assert p.tolist() == pytest.approx([expected] * 2)
    assert p.tolist() == [4, 4]
    other = lg.optim.EMA([leaf(2)], decay=0.5)
    other.load_state_dict(average.state_dict())
    assert other.decay == 0.9 and other.averages[0].tolist() == average.averages[0].tolist()
    with pytest.raises(ValueError, match="shapes"):
        lg.optim.EMA([leaf(3)]).load_state_dict(average.state_dict())
    with pytest.raises(ValueError, match="decay"):
        lg.optim.EMA([p], decay=1.5)


def test_averaged_models():
    swa = lg.optim.swa_utils
    model = lg.nn.Sequential(lg.nn.Linear(2, 3), lg.nn.BatchNorm1d(3))
    plain, moving = swa.AveragedModel(model), swa.AveragedModel(model, multi_avg_fn=swa.get_ema_multi_avg_fn(0.5))
    single = swa.AveragedModel(model, avg_fn=swa.get_ema_avg_fn(0.5))
    values = [1.0, 2.0, 6.0]
    for value in values:
        with lg.no_grad():
            for p in model.parameters():
                p.fill_(value)
        for average in (plain, moving, single):
            average.update_parameters(model)
    assert plain.module[0].bias.tolist() == pytest.approx([3.0] * 3)
    assert moving.module[0].bias.tolist() == single.module[0].bias.tolist() == pytest.approx([3.75] * 3)
    assert int(plain.n_averaged) == 3 and plain.state_dict().keys() >= {"n_averaged", "module.0.weight"}
    batches = [(lg.randn(8, 2), None) for _ in range(3)]
    swa.update_bn(batches, plain)
    every = lg.concat([plain.module[0](x) for x, _ in batches])
    np.testing.assert_allclose(plain.module[1].running_mean.numpy(), every.mean(dim=0).detach().numpy(), rtol=1e-5)
    assert plain.module[1].momentum == 0.1
    with pytest.raises(AssertionError, match="Only one"):
        swa.AveragedModel(model, avg_fn=swa.get_swa_avg_fn(), multi_avg_fn=swa.get_swa_multi_avg_fn())


def test_swalr_as_in_pytorch():
    torch = peer("torch")
    for epochs, strategy in itertools.product((0, 1, 5), ("cos", "linear")):
        curves = []
        for library in (lg, torch):
            optimiser = library.optim.SGD([library.zeros(1, requires_grad=True)], lr=0.1)
            scheduler = library.optim.swa_utils.SWALR(optimiser, 0.02, epochs, strategy)
            curve = []
            for _ in range(8):
                optimiser.step()
                scheduler.step()
                curve.append(scheduler.get_last_lr()[0])
            curves.append(curve)
        assert curves[0] == pytest.approx(curves[1], rel=1e-12)
