"""What `tensor` makes has no history: where data had one, a warning says so, and points at the line."""

import inspect
import warnings

import pytest

import lucidgrad as lg


@pytest.fixture
def w():
    return lg.tensor([1.0, 2.0], requires_grad=True)


def warned(function):
    """The places of the warnings that a function gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
    assert all(one.category is UserWarning and "history" in str(one.message) for one in found)
    return [(one.filename, one.lineno) for one in found]


DROPPING = {
    "a leaf": lambda w: lg.tensor(w),
    "a result": lambda w: lg.tensor(w * 2),
    "a list": lambda w: lg.tensor([w[0], w[1]]),
    "nested": lambda w: lg.tensor([[w[0], 1.0], (2.0, 3.0)]),
    "with a dtype": lambda w: lg.tensor([w[0], w[1]], dtype=lg.float64),
    "by a method": lambda w: lg.ones(1).new_tensor(w),
}
KEEPING = {
    "asarray": lambda w: lg.asarray(w),
    "asarray of a list": lambda w: lg.asarray([w[0], w[1]]),
    "as_tensor": lambda w: lg.as_tensor([w[0], w[1]]),
    "stack": lambda w: lg.stack([w[0], w[1]]),
    "clone": lambda w: w.clone(),
}
PLAIN = {
    "detached": lambda w: lg.tensor(w.detach()),
    "detached in a list": lambda w: lg.tensor([w.detach()[0], 1.0]),
    "numbers": lambda w: lg.tensor([1.0, [2.0]][0]),
    "without recording": lambda w: lg.no_grad()(lg.tensor)(w),
    "inside vmap": lambda w: lg.func.vmap(lg.tensor)(w.detach()),
}


@pytest.mark.parametrize("way", DROPPING)
def test_a_history_that_is_dropped_is_told_of(way, w):
    (place,) = warned(lambda: DROPPING[way](w))
    line = inspect.getsourcelines(DROPPING[way])[1]
    assert place == (__file__, line)
    assert not DROPPING[way](w).requires_grad


@pytest.mark.parametrize("way", KEEPING)
def test_what_keeps_it_says_nothing(way, w):
    assert warned(lambda: KEEPING[way](w)) == []
    y = KEEPING[way](w)
    assert lg.autograd.grad(y.sum(), w)[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("way", PLAIN)
def test_without_a_history_nothing_is_said(way, w):
    assert warned(lambda: PLAIN[way](w)) == []


def test_once_for_each_place(w):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            lg.tensor(w)
        lg.tensor(w)
    assert len(found) == 2


@pytest.mark.parametrize("transform", [lambda f, x: lg.func.grad(f)(x), lambda f, x: lg.func.jvp(f, (x,), (x,))])
def test_inside_transforms(transform):
    assert len(warned(lambda: transform(lambda x: (x * lg.tensor(x)).sum(), lg.ones(2)))) == 1


def test_what_is_written_into_the_copy_stays_there(w):
    with pytest.warns(UserWarning, match="history"):
        made = lg.tensor(w)
    made[0] = 9.0
    assert w.tolist() == [1.0, 2.0]
