"""Pools beside PyTorch: every small combination of size, window, stride, padding, dilation and ceil_mode."""

import itertools

import numpy as np
import pytest
from golden import peer

import lucidgrad as lg
from lucidgrad.nn import functional as F


def _outcome(call, *args):
    try:
        return np.asarray(call(*args).tolist())
    except RuntimeError:
        return "refused"


SIZES = ((1, 2, 3, 4, 5, 7), (1, 2, 3), (None, 1, 2, 3, 4), (0, 1))


def test_max_pools():
    torch = peer("torch")
    x = np.random.default_rng(0).normal(size=(2, 7))
    for n, k, s, p, d, ceil in itertools.product(*SIZES, (1, 2, 3), (False, True)):
        given = (k, s, p, d, ceil)
        expected = _outcome(torch.nn.functional.max_pool1d, torch.tensor(x[None, :, :n]), *given)
        np.testing.assert_array_equal(_outcome(F.max_pool1d, lg.tensor(x[None, :, :n]), *given), expected, str(given))


def test_average_pools():
    torch = peer("torch")
    x = np.random.default_rng(0).normal(size=(2, 7))
    for n, k, s, p, ceil, include in itertools.product(*SIZES, (False, True), (False, True)):
        given = (k, s, p, ceil, include)
        expected = _outcome(torch.nn.functional.avg_pool1d, torch.tensor(x[None, :, :n]), *given)
        found = _outcome(F.avg_pool1d, lg.tensor(x[None, :, :n]), *given)
        if isinstance(expected, str) or isinstance(found, str):
            assert str(found) == str(expected), (n, given)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=str((n, given)))


def test_windows_that_reach_beyond_the_end():
    x = lg.tensor([[[1.0, 3.0]]], requires_grad=True)
    y = F.max_pool1d(x, 3, 2, ceil_mode=True)
    assert y.tolist() == [[[3.0]]]
    y.sum().backward()
    assert x.grad.tolist() == [[[0.0, 1.0]]]


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_averages_of_integers_are_cut(dtype):
    x = lg.tensor([[[[5, 2], [3, 1]]]], dtype=getattr(lg, dtype))
    y = F.avg_pool2d(x, 2)
    assert (y.tolist(), str(y.dtype)) == ([[[[2]]]], dtype)
    assert F.avg_pool2d(-lg.tensor([[[[5, 2], [3, 1]]]]), 2).item() == -2
    with pytest.raises(RuntimeError, match="booleans"):
        F.avg_pool2d(x > 2, 2)


def test_a_module_without_forward():
    class Empty(lg.nn.Module):
        pass

    with pytest.raises(NotImplementedError, match=r'Module \[Empty\] is missing the required "forward" function'):
        Empty()(lg.ones(2))
