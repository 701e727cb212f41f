"""S001-33: on which stream each part of a backward pass runs, and who waits for whom.

The back end here is NumPy with streams that only write a log, so the engine's side of the promise is tested
on every machine; a CUDA back end has to bring the real ``enter`` and ``wait_for``.
"""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends.cpu.backend import CPU
from lucidgrad.core import device


class Logged(np.ndarray):
    """An array whose operations are written down with the stream they run on."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **keywords):
        log.append((ufunc.__name__, current[0].name))
        plain = [x.view(np.ndarray) if isinstance(x, Logged) else x for x in inputs]
        if out is not None:
            keywords["out"] = tuple(x.view(np.ndarray) if isinstance(x, Logged) else x for x in out)
        result = getattr(ufunc, method)(*plain, **keywords)
        if out is not None:
            return out[0]
        return result.view(Logged) if isinstance(result, np.ndarray) else np.asarray(result).view(Logged)


class Stream:
    """A place: one stream of one device."""

    device = "logged"

    def __init__(self, name):
        self.name = name

    def enter(self):
        before, current[0] = current[0], self
        return before

    def wait_for(self, other, arrays=()):
        log.append(("wait", self.name, other.name))

    def follow(self, array):
        last = writers.get(id(array))
        if last not in (None, self):
            self.wait_for(last, (array,))

    def wrote(self, array):
        writers[id(array)] = self


class LoggedBackend(CPU):
    name = "logged"
    array_types = (Logged,)

    def settle(self, y):
        return np.asarray(y).view(Logged)

    def asarray(self, value, dtype=None, where=None, copy=None):
        return super().asarray(np.asarray(value), dtype, where, copy).view(Logged)

    def full(self, shape, value, dtype, where):
        return np.full(shape, value, dtype).view(Logged)

    def copy(self, array):
        return np.array(array).view(Logged)

    def storage(self, array):
        return array if array.base is None else array.base

    def accepts(self, value):
        return False

    def device_of(self, array):
        return device.Device("logged")


log: list[tuple[str, ...]] = []
default, one, two = Stream("default"), Stream("one"), Stream("two")
current = [default]
writers = {}  # array -> the stream that last wrote it


@pytest.fixture
def streams():
    backend = LoggedBackend()
    device.register(backend)
    device.places[Logged] = lambda array: current[0]
    log.clear()
    yield backend
    current[0] = default
    del device.places[Logged], device.by_array[Logged], device._by_name["logged"]


class on:
    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        self.before = self.stream.enter()

    def __exit__(self, *exc):
        self.before.enter()


def leaf():
    return lg.tensor([2.0, 3.0], device="logged", requires_grad=True)


def waits():
    return [entry[1:] for entry in log if entry[0] == "wait"]


def two_streams():
    x = leaf()
    with on(one):
        a = lg.exp(x)
    with on(two):
        b = lg.sin(a)
    log.clear()
    return x, b


def seed():
    return lg.tensor([1.0, 1.0], device="logged")


def test_S001_33a_backward_runs_on_the_stream_of_its_forward(streams):
    x, y = two_streams()
    lg.autograd.grad(y, x, seed())
    ran = [entry for entry in log if entry[0] != "wait"]
    assert ("cos", "two") in ran  # the rule of sin
    assert ran[-1][1] == "one"  # the rule of exp multiplies
    assert {name for _, name in ran} == {"one", "two"}


def test_S001_33b_a_wait_stands_where_producer_and_consumer_differ(streams):
    x, y = two_streams()
    lg.autograd.grad(y, x, seed())
    assert ("one", "two") in waits()
    where = log.index(("wait", "one", "two"))
    assert all(entry[1] == "two" for entry in log[:where] if entry[0] != "wait")
    assert all(entry[1] == "one" for entry in log[where:] if entry[0] != "wait")


def test_S001_33c_seeds_belong_to_the_current_stream(streams):
    x, y = two_streams()
    with on(one):
        lg.autograd.grad(y, x, seed())
    assert waits()[0] == ("two", "one")


def test_S001_33d_the_current_stream_has_waited_for_every_result(streams):
    x, y = two_streams()
    lg.autograd.grad(y, x, seed())
    assert waits()[-1] == ("default", "one")
    assert current[0] is default


def test_S001_33d_interior_results_are_waited_for(streams):
    x = leaf()
    with on(one):
        m = lg.exp(x)
    with on(two):
        y = lg.sin(m)
    log.clear()
    lg.autograd.grad(y, m, seed())
    assert waits()[1:] == [("one", "two"), ("default", "one")]  # captured on the stream of its own node


def test_S001_33d_accumulation_is_on_the_stream_of_the_caller(streams):
    _, y = two_streams()
    y.backward(seed(), retain_graph=True)
    log.clear()
    y.backward(seed())
    assert log[-1] == ("add", "default")
    assert ("default", "one") in waits()
    assert current[0] is default


def test_S001_33e_one_stream_needs_no_wait(streams):
    x = leaf()
    y = lg.sin(lg.exp(x))
    log.clear()
    y.backward(seed())
    assert waits() == []


def test_S001_33b_sums_wait_for_both_streams(streams):
    x = leaf()
    m = lg.exp(x)
    with on(one):
        a = m * 2.0
    with on(two):
        b = m * 3.0
    y = a + b
    log.clear()
    (g,) = lg.autograd.grad(y, x, seed())
    assert ("one", "two") in waits() or ("two", "one") in waits()
    np.testing.assert_allclose(np.asarray(g.array), 5 * np.exp([2.0, 3.0]), rtol=1e-6)


def test_S001_33d_the_stream_is_restored_when_a_hook_raises(streams):
    x, y = two_streams()
    x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.backward(seed())
    assert current[0] is default
