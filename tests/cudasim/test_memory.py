"""Memory: pools, pinned memory, limits, exchange with other libraries."""

import numpy as np
import pytest

from lucidgrad.backends import cudasim


def test_pool_reuses_and_counts(xp):
    pool = xp.cuda.MemoryPool()
    with xp.cuda.using_allocator(pool.malloc):
        x = xp.zeros(1000, "float32")
        address, used = x.data.ptr, pool.used_bytes()
        assert used == 4096
        del x
        assert (pool.used_bytes(), pool.total_bytes()) == (0, 4096)
        assert xp.ones(1000, "float32").data.ptr == address
        pool.free_all_blocks()
        assert pool.total_bytes() == 0


def test_pool_limit(xp):
    pool = xp.cuda.MemoryPool()
    pool.set_limit(1 << 20)
    with xp.cuda.using_allocator(pool.malloc), pytest.raises(xp.cuda.memory.OutOfMemoryError, match="limit"):
        xp.zeros(1 << 21, "uint8")


def test_asynchronous_and_managed_memory(xp):
    for allocator in (xp.cuda.MemoryAsyncPool().malloc, xp.cuda.MemoryPool(xp.cuda.malloc_managed).malloc):
        with xp.cuda.using_allocator(allocator):
            assert (xp.arange(100).sum()).get() == 4950


def test_out_of_memory(xp):
    free, total = xp.cuda.Device().mem_info
    assert 0 < free <= total
    with pytest.raises(xp.cuda.memory.OutOfMemoryError):
        xp.empty(total + 1, "uint8")
    assert xp.arange(3).sum().get() == 3  # the device goes on


def test_free_memory_is_what_was_allocated(xp):
    xp.get_default_memory_pool().free_all_blocks()
    before, _ = xp.cuda.Device().mem_info
    memory = xp.cuda.alloc(16 << 20)
    assert before - xp.cuda.Device().mem_info[0] >= 16 << 20
    del memory
    xp.get_default_memory_pool().free_all_blocks()
    assert xp.cuda.Device().mem_info[0] == before


def test_pinned_memory(xp):
    memory = xp.cuda.alloc_pinned_memory(4000)
    host = np.frombuffer(memory, "float32", 1000)
    host[...] = np.arange(1000)
    attributes = xp.cuda.runtime.pointerGetAttributes(host.ctypes.data)
    assert attributes.type == xp.cuda.runtime.memoryTypeHost
    x = xp.empty(1000, "float32")
    stream = xp.cuda.Stream(non_blocking=True)
    x.set(host, stream=stream)
    stream.synchronize()
    host[...] = 0
    x.get(stream=stream, out=host)
    stream.synchronize()
    assert (host == np.arange(1000)).all()


def test_kinds_of_pointers(xp):
    x = xp.zeros(10)
    attributes = xp.cuda.runtime.pointerGetAttributes(x.data.ptr + 8)
    assert attributes.type == xp.cuda.runtime.memoryTypeDevice
    assert attributes.device == 0


def test_copies_are_checked(xp):
    x = xp.zeros(10)
    xp.get_default_memory_pool().free_all_blocks()
    memory = xp.cuda.Memory(512)
    with pytest.raises(xp.cuda.runtime.CUDARuntimeError, match="invalid argument|InvalidValue"):
        xp.cuda.runtime.memcpy(memory.ptr, x.data.ptr, 1 << 20, xp.cuda.runtime.memcpyDeviceToDevice)


def test_two_dimensional_copies_and_fills(xp):
    x = xp.zeros((8, 16), "uint8")
    y = xp.asarray(np.arange(64, dtype="uint8").reshape(8, 8))
    xp.cuda.runtime.memcpy2DAsync(x.data.ptr, 16, y.data.ptr, 8, 8, 8, xp.cuda.runtime.memcpyDeviceToDevice, 0)
    assert (x.get()[:, :8] == y.get()).all()
    assert (x.get()[:, 8:] == 0).all()
    x.data.memset(7, 16)
    assert (x.get()[0] == 7).all()


def test_exchange(xp):
    x = xp.arange(12.0).reshape(3, 4)
    y = xp.from_dlpack(x[:, ::2])
    y += 1
    assert (x.get()[:, ::2] == np.arange(12.0).reshape(3, 4)[:, ::2] + 1).all()
    assert x.__dlpack_device__() == (2, 0)

    class Foreign:
        __cuda_array_interface__ = x.__cuda_array_interface__

    z = xp.asarray(Foreign())
    assert z.data.ptr == x.data.ptr


def test_exchange_with_the_host(xp):
    assert (np.from_dlpack(xp.arange(5.0), device="cpu") == np.arange(5.0)).all()


def test_several_devices(xp):
    assert xp.cuda.runtime.getDeviceCount() == 2
    with xp.cuda.Device(1):
        x = xp.arange(10) * 2
        assert x.device.id == 1
        assert xp.cuda.runtime.pointerGetAttributes(x.data.ptr).device == 1
    y = xp.arange(10)
    assert y.device.id == 0
    y[...] = x  # from one device to the other
    assert (y.get() == np.arange(10) * 2).all()
    assert xp.asarray(x).device.id == 0
    with xp.cuda.Device(1):
        assert xp.asarray(y).device.id == 1
    used = [xp.cuda.Device(i).mem_info for i in range(2)]
    assert all(free <= total for free, total in used)


def test_properties(xp):
    properties = xp.cuda.runtime.getDeviceProperties(0)
    assert (properties["major"], properties["minor"]) == (8, 0)
    assert properties["warpSize"] == 32
    assert properties["maxThreadsPerBlock"] == 1024
    assert properties["name"]
    assert xp.cuda.Device(0).compute_capability == "80"
    assert xp.cuda.runtime.driverGetVersion() >= 12000
    assert not cudasim.usable_gpus() or cudasim.is_installed() is False
