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


def test_an_inner_mode_may_look_away(x):
    with detect_anomaly(), detect_anomaly(check_nan=False):
        guilty_line(x).sum().backward()
    assert x.grad.tolist() == [float("inf"), 0.5]


def test_the_call_is_told_where_backward_fails(x):
    class Fails(lg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("no way")

    def calls_it(x):
        return Fails.apply(x)

    with detect_anomaly():
        y = calls_it(x) * 2
        with (
            pytest.warns(UserWarning, match="error came up in backward of Fails(.|\n)*calls_it"),
            pytest.raises(ValueError, match="no way"),
        ):
            y.sum().backward()
        (x * 2).sum().backward()  # and it is over
    assert x.grad.tolist() == [2.0, 2.0]


def hooked(x):
    h = x * 2
    h.register_hook(lambda g: g * float("nan"))
    return lg.exp(h).sum(), None


def large_sum(x):
    h = x.to(lg.float32) * 1
    return (h * 3e38 + h * 3e38).sum(), None


def bad_seed(x):
    return x * 2, lg.asarray([float("nan"), 1.0], dtype=x.dtype)


@pytest.mark.parametrize("f", [hooked, large_sum, bad_seed], ids=lambda f: f.__name__)
def test_what_no_operation_made_is_found_too(f, x):
    with detect_anomaly():
        y, seed = f(x)
        with (
            pytest.warns(UserWarning, match="came into"),
            pytest.raises(RuntimeError, match=r"came into backward of multiply.*line"),
        ):
            y.backward(seed)
    assert x.grad is None


def test_second_derivatives_and_transforms_tell_their_line(x):
    with detect_anomaly():
        (g,) = lg.autograd.grad((lg.abs(x) ** 1.5).sum(), x, create_graph=True)
        assert lg.autograd.grad(g.sum(), x)[0].tolist() == [0.0, 0.75]
        with pytest.warns(UserWarning, match="guilty_line"), pytest.raises(RuntimeError, match="guilty_line"):
            lg.func.vmap(lg.func.grad(guilty_line))(x)
