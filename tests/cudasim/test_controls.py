"""Counters are exact, and the switches do what they say."""

import numpy as np
import pytest

from lucidgrad import cudasim


@pytest.fixture
def x(xp):
    x = xp.arange(1000, dtype="float32")
    (x + x).sum().get()  # compiled before anything is counted
    return x


def test_nothing_is_counted_when_nothing_happens(xp, x):
    with cudasim.counting() as counts:
        x[3:].reshape(-1).T  # views
        len(x), x.dtype, x.data.ptr
    assert counts.launches == {}
    assert set(counts.counters.values()) == {0}


def test_launches_by_name(xp, x):
    cudasim.reset()
    with cudasim.counting() as counts:
        y = x + x
        y = y + x
        y *= 2
    assert sum(counts.launches.values()) == 3
    assert counts.counters["launches"] == 3
    assert sorted(counts.launches.values()) == [1, 2]
    (twice,) = (name for name, count in counts.launches.items() if count == 2)
    assert "add" in twice
    assert cudasim.launches() == counts.launches
    assert (counts.synchronisations, counts.copies_to_device, counts.copies_to_host) == (0, 0, 0)


def test_copies_and_bytes(xp):
    host = np.arange(1000.0)
    with cudasim.counting() as counts:
        x = xp.asarray(host)
    assert (counts.copies_to_device, counts.bytes_to_device) == (1, 8000)
    assert (counts.copies_to_host, counts.copies_on_device) == (0, 0)
    with cudasim.counting() as counts:
        x.get()
    assert (counts.copies_to_host, counts.bytes_to_host) == (1, 8000)
    assert counts.copies_to_device == 0
    y = xp.empty_like(x)
    with cudasim.counting() as counts:
        y.data.copy_from_device_async(x.data, x.nbytes)
    assert (counts.copies_on_device, counts.bytes_on_device, counts.counters["launches"]) == (1, 8000, 0)


def test_allocations(xp):
    with cudasim.counting() as counts:
        memory = [xp.cuda.Memory(1000) for _ in range(3)]
        del memory
    assert (counts.allocations, counts.frees) == (3, 3)


def test_synchronisations(xp, x):
    stream = xp.cuda.Stream()
    with cudasim.counting() as counts:
        stream.synchronize()
        xp.cuda.Device().synchronize()
        stream.record().synchronize()
    assert counts.synchronisations == 3
    with cudasim.counting() as counts:
        float(x[5])
    assert counts.synchronisations + counts.copies_to_host >= 1


def test_memsets_and_library_calls(xp):
    with cudasim.counting() as counts:
        x = xp.zeros((20, 20))
    assert counts.memsets == 1
    with cudasim.counting() as counts:
        x @ x
    assert counts.library_calls == 1
    assert any("gemm" in name.lower() for name in counts.launches)


def test_reset(xp, x):
    assert sum(cudasim.counters().values()) > 0
    cudasim.reset()
    assert sum(cudasim.counters().values()) == 0
    assert cudasim.launches() == {}


def test_unknown_counters(xp):
    with cudasim.counting() as counts:
        pass
    with pytest.raises(AttributeError, match="there is no counter 'sunsets'; there are .*launches"):
        counts.sunsets


def test_compilations_are_cached(xp):
    number = np.random.default_rng().integers(1 << 60)
    code = f'extern "C" __global__ void f(long long *x) {{ *x = {number}LL; }}'
    x = xp.zeros(1, "int64")
    with cudasim.counting() as counts:
        xp.RawKernel(code, "f")((1,), (1,), (x,))
        xp.RawKernel(code, "f")((1,), (1,), (x,))
    assert x.get()[0] == number
    assert counts.compilations == 1


def test_poison(xp):
    with cudasim.poison():
        memory = xp.cuda.Memory(1024)
        x = xp.ndarray(1024, "uint8", xp.cuda.MemoryPointer(memory, 0))
        assert (x.get() == 0xA5).all()
    assert cudasim.set_poison(False) is False


def test_switches_return_what_they_were(xp):
    for switch in (cudasim.set_lazy, cudasim.set_poison, cudasim.set_guard):
        assert switch(True) is False
        assert switch(False) is True


def test_guarded_memory_computes_as_usual(xp):
    with cudasim.guard():
        x = xp.asarray(np.arange(100.0))
        y = xp.sort(-x) @ x
        assert y.get() == np.sort(-np.arange(100.0)) @ np.arange(100.0)
        np.testing.assert_allclose(xp.linalg.norm(x).get(), np.linalg.norm(np.arange(100.0)))


def test_installing_twice(xp):
    cudasim.install()
    assert cudasim.is_installed()
    with pytest.raises(cudasim.EmulatorError, match="CUDASIM_DEVICES can't change any more"):
        cudasim.install(devices=7)
    cudasim.install(lazy=True)
    assert cudasim.set_lazy(False) is True
    with pytest.raises(ValueError, match="devices=0: an integer of at least 1 was expected"):
        cudasim.install(devices=0)
