"""Questions about devices and memory, marks for NVIDIA's tools, and times that the device measures itself."""

import gc

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import cudasim


def test_properties():
    found = lg.cuda.get_device_properties()
    assert found == lg.cuda.get_device_properties("cuda:0") == lg.cuda.get_device_properties(0)
    assert found.name == lg.cuda.get_device_name()
    assert (found.major, found.minor) == lg.cuda.get_device_capability()
    assert found.total_memory == lg.cuda.mem_get_info()[1]
    assert found.warp_size == 32
    assert found.max_threads_per_block == 1024
    assert found.shared_memory_per_block <= found.shared_memory_per_block_optin < found.shared_memory_per_multiprocessor
    with pytest.raises(lg.DeviceError, match="cuda"):
        lg.cuda.get_device_properties("cpu")


def test_peers(second):
    assert lg.cuda.can_device_access_peer(0, second) in (True, False)
    with pytest.raises(lg.DeviceError):
        lg.cuda.can_device_access_peer(0, 99)


@pytest.fixture(params=["native", "cudaMallocAsync"])
def allocator(request):
    lg.cuda.set_allocator_backend(request.param)
    yield request.param
    gc.collect()
    lg.cuda.set_allocator_backend("native")


def test_memory_by_either_allocator(allocator):
    assert lg.cuda.get_allocator_backend() == allocator
    float(lg.ones(100_000, device="cuda").sum())  # the memory in which blocks share sums stays
    gc.collect()
    lg.cuda.reset_peak_memory_stats()
    before = lg.cuda.memory_stats()
    x = lg.ones(100_000, device="cuda")
    y = x + 1
    del x
    now = lg.cuda.memory_stats()
    assert now["allocated_bytes.all.current"] - before["allocated_bytes.all.current"] >= 400_000
    assert now["allocated_bytes.all.peak"] - before["allocated_bytes.all.current"] >= 800_000
    assert now["allocated_bytes.all.current"] == lg.cuda.memory_allocated()
    assert now["allocated_bytes.all.peak"] == lg.cuda.max_memory_allocated()
    assert now["reserved_bytes.all.current"] == lg.cuda.memory_reserved() >= now["allocated_bytes.all.current"]
    if allocator == "native":
        assert now["allocation.all.allocated"] - before["allocation.all.allocated"] >= 2
        assert now["allocation.all.freed"] - before["allocation.all.freed"] >= 1
    assert float(y.sum()) == 200_000
    del y
    lg.cuda.empty_cache()
    assert lg.cuda.memory_stats()["allocated_bytes.all.current"] == before["allocated_bytes.all.current"]


def test_training_with_the_driver_s_pool():
    results = []
    for name in ("native", "cudaMallocAsync"):
        lg.cuda.set_allocator_backend(name)
        x = lg.asarray(np.linspace(-1, 1, 12).reshape(4, 3), device="cuda").requires_grad_()
        (lg.tanh(x) * x).sum().backward()
        results.append(x.grad.numpy(force=True))
    lg.cuda.set_allocator_backend("native")
    assert (results[0] == results[1]).all()


def test_allocators_are_known_by_name():
    with pytest.raises(ValueError, match="given 'mine', expected 'native' or 'cudaMallocAsync'"):
        lg.cuda.set_allocator_backend("mine")
    assert lg.cuda.get_allocator_backend() == "native"


# -- marks -------------------------------------------------------------------------------------------
@pytest.fixture
def marks(monkeypatch):
    """What NVIDIA's library is told."""
    import cupy

    class Library:
        def __getattr__(self, name):
            return lambda *args: self.said.append((name, *args)) or 7

    library = Library()
    library.said = []
    monkeypatch.setattr(cupy.cuda, "nvtx", library)
    return library.said


def test_ranges_and_marks(marks):
    nvtx = lg.cuda.nvtx
    nvtx.range_push("a")
    nvtx.mark("b")
    nvtx.range_pop()
    assert nvtx.range_start("c") == 7
    nvtx.range_end(7)
    with nvtx.range("step {} of {n}", 1, n=3):
        pass

    @nvtx.range("f")
    def f():
        raise KeyError("x")

    with pytest.raises(KeyError):
        f()
    assert marks == [
        ("RangePush", "a"), ("Mark", "b"), ("RangePop",), ("RangeStart", "c", 0), ("RangeEnd", 7),
        ("RangePush", "step 1 of 3"), ("RangePop",), ("RangePush", "f"), ("RangePop",),
    ]  # fmt: skip


def test_the_library_takes_them():
    with lg.cuda.nvtx.range("really"):
        lg.cuda.nvtx.mark("now")


def test_a_range_for_every_operation(marks):
    x = lg.ones(3, device="cuda", requires_grad=True)
    with lg.profiler.profile(emit_nvtx=True), lg.profiler.record_function("step"):
        lg.exp(x).sum().backward()
    names = [mark[1] for mark in marks if mark[0] == "RangePush"]
    assert names[0] == "step"
    assert {"exp", "sum"} <= set(names)
    assert names.count("exp") >= 2  # forward and backward
    depth = np.cumsum([1 if mark[0] == "RangePush" else -1 for mark in marks])
    assert depth[-1] == 0
    assert depth.min() == 0


def test_ranges_end_where_a_step_raises(marks):
    x = lg.ones(3, device="cuda", requires_grad=True)
    y = lg.exp(x)
    y.register_hook(lambda g: 1 / 0)
    with lg.profiler.profile(emit_nvtx=True), pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert sum(1 if mark[0] == "RangePush" else -1 for mark in marks) == 0


# -- times -------------------------------------------------------------------------------------------
def test_times_are_the_device_s_and_nothing_waits_before_the_end():
    x = lg.ones(1000, device="cuda", requires_grad=True)
    (lg.exp(x) * x).sum().backward()  # compiled
    with (
        lg.profiler.profile(synchronize=True) as p,
        cudasim.counting() as counts,
        lg.profiler.record_function("loss"),
    ):
        (lg.exp(x) * x).sum().backward()
    if cudasim.is_installed():
        assert counts.synchronisations == 0
    found = {row.key: row for row in p.key_averages()}
    assert found["exp"].forward.total > 0
    assert found["exp"].backward.total > 0
    assert found["loss"].total >= found["exp"].forward.total
    assert all(event.self_time >= -1e-6 for event in p.events)


def test_they_are_of_running_and_not_of_launching():
    if not cudasim.is_installed():
        pytest.skip("counts on work that runs when it is waited for")
    x = lg.ones(200_000, device="cuda")
    lg.exp(x)
    times = {}
    for synchronize in (False, True):
        with cudasim.lazy(), lg.profiler.profile(synchronize=synchronize) as p:
            lg.exp(x)
        (event,) = p.events
        times[synchronize] = event.total
    assert times[True] > 0
    assert times[True] != times[False]
