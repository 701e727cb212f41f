"""Data parallel training: any number of processes computes what one does on the whole batch."""

import functools

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import distributed as dist, nn
from lucidgrad.nn.parallel import DistributedDataParallel

F = nn.functional


def _mine(x):
    """This process's rows."""
    return lg.chunk(x, dist.get_world_size(), 0)[dist.get_rank()]


def _close(a, b, rtol=1e-10):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=rtol, atol=rtol)


def _same_everywhere(tensors):
    """Raise unless tensors have the same bits in all processes."""
    for x in tensors:
        other = x.detach().clone()
        dist.broadcast(other, 0)
        assert np.array_equal(other.numpy(), x.detach().numpy(), equal_nan=True)


def mlp():
    lg.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 24), nn.Tanh(), nn.Linear(24, 3)).double()


def _pair(make, **options):
    """A module in one process, and a copy of it in all, which begins as another one."""
    alone, other = make(), make()
    if dist.get_rank():
        with lg.no_grad():
            for p in other.parameters():
                p.add_(1.0)
    return alone, DistributedDataParallel(other, **options)


def _loss(model, x, y):
    return F.cross_entropy(model(x), y)


def _data(rows=24, seed=0):
    rng = np.random.default_rng(seed)
    return lg.tensor(rng.normal(size=(rows, 6))), lg.tensor(rng.integers(0, 3, rows))


def check_gradients_of_the_whole_batch():
    for options in ({}, {"bucket_cap_mb": 0.001}, {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.001}):
        alone, model = _pair(mlp, **options)
        _same_everywhere(model.parameters())
        for step in range(3):
            x, y = _data(seed=step)
            for m, part in ((alone, lambda v: v), (model, _mine)):
                m.zero_grad()
                _loss(m, part(x), part(y)).backward()
            for p, q in zip(alone.parameters(), model.parameters()):
                _close(p.grad, q.grad)
            _same_everywhere([p.grad for p in model.parameters()])
