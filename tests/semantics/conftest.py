"""Devices, tensor makers and exact comparison, shared by the tests of what grad and backward promise."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends.cpu.backend import CPU
from lucidgrad.core import device as devices


@pytest.fixture(params=["cpu", "cuda:0"])
def device(request):
    return request.param


class Elsewhere(np.ndarray):
    """An array of a second device."""


class ElsewhereBackend(CPU):
    """NumPy once more, as a device of its own: tensors there must not meet those of another device."""

    name = "elsewhere"
    array_types = (Elsewhere,)

    def asarray(self, value, dtype=None, where=None, copy=None):
        return super().asarray(value, dtype, where, copy).view(Elsewhere)

    def device_of(self, array):
        return devices.Device(self.name)


@pytest.fixture
def other_device(monkeypatch):
    """A device beside the one that the test runs on."""
    backend = ElsewhereBackend()
    monkeypatch.setitem(devices._by_name, backend.name, backend)
    monkeypatch.setitem(devices.by_array, Elsewhere, backend)
    return backend.name


@pytest.fixture
def leaf(device):
    """Make a leaf tensor that requires grad."""

    def make(data, dtype=lg.float64):
        return lg.tensor(data, dtype=dtype, device=device, requires_grad=True)

    return make


@pytest.fixture
def const(device):
    """Make a tensor that does not require grad."""

    def make(data, dtype=lg.float64):
        return lg.tensor(data, dtype=dtype, device=device)

    return make


def values(t):
    """Give the values of a tensor as a NumPy array, whatever its device and history."""
    return t.detach().cpu().numpy()


def same(t, expected):
    """Assert that t is a Tensor with exactly the expected shape and values."""
    assert isinstance(t, lg.Tensor), f"a {type(t).__name__}, not a Tensor"
    expected = np.asarray(expected)
    assert tuple(t.shape) == expected.shape
    np.testing.assert_array_equal(values(t), expected)


def fires(*tensors):
    """Give a list that gains i each time the node that made tensors[i] runs backward."""
    log = []
    for i, t in enumerate(tensors):
        t.grad_fn.register_prehook(lambda *_, i=i: log.append(i))
    return log


class Interrupt(Exception):
    """What a hook of these tests raises to stop a walk half way."""


def interrupt(*_):
    raise Interrupt
