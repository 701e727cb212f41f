"""Anomaly mode tells the operation whose backward made a NaN, and the line that called it."""

import pytest

import lucidgrad as lg
from lucidgrad.autograd import detect_anomaly, set_detect_anomaly
from lucidgrad.autograd.anomaly import is_anomaly_enabled


@pytest.fixture
def x():
    return lg.tensor([0.0, 1.0], requires_grad=True)


def guilty_line(x):
    return lg.sqrt(x)


def test_the_line_is_told(x):
    with detect_anomaly():
        y = guilty_line(x)
        with (
            pytest.warns(UserWarning, match="guilty_line"),
            pytest.raises(RuntimeError, match=r"backward of sqrt made an infinity.*test_anomaly.py.*guilty_line"),
        ):
            y.sum().backward()
    assert x.grad is None
    guilty_line(x).sum().backward()  # without the mode nothing is looked at


def test_nan_is_found_where_it_is_made_and_not_where_it_passes(x):
    class Bad(lg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * float("nan")

    with detect_anomaly():
        y = (Bad.apply(lg.exp(x * 2)) * 3).sum()
        with pytest.warns(UserWarning, match="Bad"), pytest.raises(RuntimeError, match="backward of Bad made NaN"):
            y.backward()


def test_operations_from_before_are_checked_too(x):
    y = guilty_line(x)
    with detect_anomaly(), pytest.warns(UserWarning, match="before"), pytest.raises(RuntimeError, match="sqrt"):
        y.sum().backward()


def test_the_mode_nests_and_ends(x):
    assert not is_anomaly_enabled()
    with detect_anomaly():
        with detect_anomaly(check_nan=False):
            assert is_anomaly_enabled()
        assert is_anomaly_enabled()
        with lg.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = guilty_line(x)
        with pytest.warns(UserWarning, match="guilty_line"), pytest.raises(RuntimeError, match="sqrt"):
            y.sum().backward()
    assert not is_anomaly_enabled()
    with set_detect_anomaly(True):
        assert is_anomaly_enabled()
        with set_detect_anomaly(False):
            assert not is_anomaly_enabled()
        assert is_anomaly_enabled()
    assert not is_anomaly_enabled()


def test_healthy_gradients_pass(x):
    with detect_anomaly():
        (lg.exp(x) * x).sum().backward()
    assert x.grad is not None
