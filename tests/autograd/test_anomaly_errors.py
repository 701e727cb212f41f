"""Anomaly mode names lines of forward for every error of backward, and for the first NaN; it makes no cycles."""

import gc
import warnings

import pytest

import lucidgrad as lg
from lucidgrad.autograd import detect_anomaly
from lucidgrad.core.engine import Walk
from lucidgrad.core.tape import GraphNode


@pytest.fixture
def x():
    return lg.tensor([0.25, 1.0], requires_grad=True)


class Fails(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        raise ZeroDivisionError("by design")


class Misshapen(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return lg.ones(7)


def raises(x):
    return Fails.apply(x)


def returns_another_shape(x):
    return Misshapen.apply(x)


def is_written_later(x):
    y = lg.exp(x)
    y.mul_(2)
    return y


def is_walked_twice(x):
    y = lg.sin(x)
    y.sum().backward()
    return y


ERRORS = {
    raises: (ZeroDivisionError, "by design"),
    returns_another_shape: (RuntimeError, "shape"),
    is_written_later: (RuntimeError, "in-place"),
    is_walked_twice: (RuntimeError, "a second time"),
}


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("line", ERRORS, ids=lambda line: line.__name__)
def test_errors_name_the_line_of_forward(x, line, check):
    kind, text = ERRORS[line]
    with detect_anomaly(check_nan=check):
        y = (line(x * 1) * 3).sum()
        with (
            pytest.warns(UserWarning, match=rf"(?s)an error came up in backward of .*in {line.__name__}"),
            pytest.raises(kind, match=text) as caught,
        ):
            y.backward()
    if line is not is_walked_twice:  # which is found before anything runs
        assert any(line.__name__ in note for note in caught.value.__notes__)
        assert x.grad is None


def told():
    return pytest.warns(UserWarning, match="backward of")


def makes_nan(x):
    return lg.sqrt(x - 0.5)


def passes_nan(y):
    return y * y + 1


@pytest.mark.parametrize("way", [passes_nan, lambda y: (y - 1) * y * 2, lambda y: lg.exp(y).sum() * y])
def test_the_first_nan_of_forward_is_found(x, way):
    with detect_anomaly():
        z = way(makes_nan(x)).sum()
        with (
            told(),
            pytest.raises(RuntimeError, match=r"sqrt made the first NaN.* in makes_nan"),
        ):
            z.backward()


def test_a_nan_that_was_given_is_told_as_such():
    x = lg.tensor([1.0, float("nan")], requires_grad=True)
    with detect_anomaly():
        z = passes_nan(x).sum()
        with (
            told(),
            pytest.raises(RuntimeError, match=r"multiply was given the first NaN.* in passes_nan"),
        ):
            z.backward()


def test_a_difference_of_infinities_is_the_first_nan(x):
    with detect_anomaly():
        y = lg.log(x * 0)
        z = ((y - y) * x).sum()  # subtract keeps nothing: only its result tells
        with (
            told(),
            pytest.raises(RuntimeError, match=r"subtract made the first NaN"),
        ):
            z.backward()


def test_nothing_is_said_of_forward_where_only_backward_makes_nan():
    x = lg.tensor([0.0, 1.0], requires_grad=True)
    with detect_anomaly():
        z = lg.sqrt(x).sum()
        with told(), pytest.raises(RuntimeError) as caught:
            z.backward()
    assert "In forward" not in str(caught.value)


def walk_well(x):
    lg.exp(x * 2).sum().backward()


def walk_badly(x):
    with pytest.raises(ZeroDivisionError):
        (raises(x * 1) * 2).sum().backward()


def walk_to_nan(x):
    with pytest.raises(RuntimeError):
        passes_nan(makes_nan(x)).sum().backward()


def walk_with_a_hook_on_several(x):
    y = x * 2
    with lg.autograd.graph.register_multi_grad_hook((x, y), lambda gs: None):
        y.sum().backward()


@pytest.mark.parametrize("walk", [walk_well, walk_badly, walk_to_nan, walk_with_a_hook_on_several])
def test_it_makes_no_reference_cycles(x, walk):
    def run():
        with warnings.catch_warnings(), detect_anomaly():
            warnings.simplefilter("ignore")
            walk(x)

    run()
    gc.collect()
    gc.disable()
    try:
        before = {id(thing) for thing in gc.get_objects()}
        for _ in range(3):
            run()
        left = [thing for thing in gc.get_objects() if type(thing) is Walk or isinstance(thing, GraphNode)]
        assert [thing for thing in left if id(thing) not in before] == []
    finally:
        gc.enable()
