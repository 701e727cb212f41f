"""Copies between host and devices, page-locked memory, and how much memory is in use."""

from typing import Any

import cupy
import cupyx
import numpy as np
from cupy.cuda import Device, MemoryHook, get_current_stream, get_device_id, runtime

from . import captures, faults, streams

_PINNED = 1  # cudaMemoryTypeHost


# -- one zero --------------------------------------------------------------------------------------
_zeros: dict[tuple[int, Any], Any] = {}  # for good, so that graphs may read them, too


def zero(dtype: Any) -> Any:
    """A zero on the current device, which nobody writes; None where there is none yet, and work is only recorded."""
    key = get_device_id(), dtype
    found = _zeros.get(key)
    if found is None and dtype.kind != "V":
        stream = get_current_stream()
        if streams.is_recorded(stream):
            return None
        found = cupy.zeros((), dtype)
        stream.synchronize()  # other streams read it as well
        _zeros[key] = found
    return found


def is_absent(x: Any) -> bool:
    """Whether an array is that `zero` in every place: a cotangent that nobody has given."""
    return x.base is not None and x.base is _zeros.get((x.data.device_id, x.dtype))


def absent_if_zero(x: Any) -> Any:
    """An array, whose values are read, or the `zero` for all of its places."""
    if type(x) is not cupy.ndarray or x.dtype.kind != "f" or np.ascontiguousarray(cupy.asnumpy(x)).view("uint8").any():
        return x
    with Device(x.data.device_id):
        one = zero(x.dtype)
    return x if one is None else cupy.broadcast_to(one, x.shape)


def unless_absent(x: Any) -> Any:
    """An array with its memory in order; None for zeros that are `absent`."""
    if x is None or is_absent(x):
        return None
    return x if x.flags.c_contiguous else cupy.ascontiguousarray(x)


# -- copies --------------------------------------------------------------------------------------
def to_device(array: Any, device: int, non_blocking: bool = False) -> Any:
    """A NumPy array's values on a device, on its current stream. CuPy copies them to page-locked memory first.

    Only if they are there already the copy reads them later: that is waited for unless ``non_blocking`` is set.
    """
    captures.refuse(
        "host data is copied to the device, where launches would not find it", "make the tensor before the recording"
    )
    with Device(device):
        if array.shape == () and array == 0:  # one number is filled in, which would lose the sign of -0.0
            return cupy.asarray(array.reshape(1)).reshape(())
        return cupy.asarray(array, blocking=not non_blocking and is_pinned(array))


def to_host(array: Any) -> Any:
    """The values as a NumPy array; waits for the work on them that was sent to the current stream."""
    captures.refuse("values are read (item, tolist, numpy, printing, an if)", "read them after a launch of the graph")
    with Device(array.data.device_id):
        made = array.get()
    faults.check()
    return made


def to_pinned(array: Any) -> Any:
    """The values as a NumPy array in page-locked memory, not yet there: synchronize before reading them."""
    captures.refuse("values are copied to the host", "do it after a launch of the graph")
    place = streams.place_of_array(array)
    with Device(array.data.device_id):
        made = cupyx.empty_pinned(array.shape, array.dtype)
        array.get(out=made, blocking=False)
        streams.keep(made, place)
    return made


def to_other(array: Any, device: int) -> Any:
    """A copy on another device. It runs on the current stream of the source; that of the target waits for it."""
    source = streams.place_of_array(array)
    with Device(source.device):
        array = cupy.ascontiguousarray(array).reshape(array.shape)
    with Device(device):
        made = cupy.empty(array.shape, array.dtype)
        target = streams.place_now(device)
    if made.size:
        source.wait_for(target)  # what used this memory before must be done
        with Device(source.device):
            runtime.memcpyPeerAsync(
                made.data.ptr, device, array.data.ptr, source.device, array.nbytes, source.stream.ptr
            )
        target.wait_for(source)
    return made


# -- page-locked memory --------------------------------------------------------------------------
def pinned(array: Any) -> Any:
    """A copy of a NumPy array in page-locked memory."""
    made = cupyx.empty_pinned(array.shape, array.dtype)
    made[...] = array
    return made


def is_pinned(array: Any) -> bool:
    """Whether a NumPy array is in page-locked memory."""
    if type(array) is not np.ndarray or not array.size:
        return False
    try:
        return bool(runtime.pointerGetAttributes(array.ctypes.data).type == _PINNED)
    except runtime.CUDARuntimeError:  # old drivers say so of memory they don't know
        return False


# -- use of memory -------------------------------------------------------------------------------
class _Peak(MemoryHook):  # type: ignore[misc]  # CuPy has no types
    """Follows the memory in use on each device, and the most that there was."""

    name = "lucidgrad"

    def __init__(self) -> None:
        super().__init__()
        self.used: dict[int, int] = {}
        self.most: dict[int, int] = {}
        self.made: dict[int, int] = {}  # how often memory was taken, and given back
        self.freed: dict[int, int] = {}

    def malloc_postprocess(self, **given: Any) -> None:
        device = given["device_id"]
        self.used[device] = used = self.used.get(device, 0) + given["mem_size"]
        self.most[device] = max(used, self.most.get(device, 0))
        self.made[device] = self.made.get(device, 0) + 1

    def free_postprocess(self, **given: Any) -> None:
        device = given["device_id"]
        self.used[device] = self.used.get(device, 0) - given["mem_size"]
        self.freed[device] = self.freed.get(device, 0) + 1


_peak: list[_Peak] = []


_async: list[Any] = []  # the pool of the driver, where it is chosen
_MOST_USED = 8  # cudaMemPoolAttrUsedMemHigh


def _pool() -> Any:
    return _async[0] if _async else cupy.get_default_memory_pool()


def allocator() -> str:
    """Whose pool memory comes from: CuPy's ("native"), or the driver's ("cudaMallocAsync")."""
    return "cudaMallocAsync" if _async else "native"


def set_allocator(name: str) -> None:
    """Take memory from a pool from now on; arrays keep what they have."""
    if name == allocator():
        return
    if name == "native":
        cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)
        _async.clear()
        return
    pool = cupy.cuda.MemoryAsyncPool()  # raises where the driver has none
    cupy.cuda.set_allocator(pool.malloc)
    _async.append(pool)


def statistics(device: int) -> dict[str, int]:
    """What is known of a device's memory, under PyTorch's names; counted since somebody first asked."""
    most, now, held = max_allocated(device), allocated(device), reserved(device)
    made, freed = (counts.get(device, 0) for counts in (_peak[0].made, _peak[0].freed)) if _peak else (0, 0)
    return {
        "allocated_bytes.all.current": now,
        "allocated_bytes.all.peak": most,
        "reserved_bytes.all.current": held,
        "inactive_split_bytes.all.current": held - now,
        "allocation.all.allocated": made,
        "allocation.all.freed": freed,
    }


def allocated(device: int) -> int:
    """Bytes that arrays occupy."""
    streams.sweep()
    with Device(device):
        return int(_pool().used_bytes())


def reserved(device: int) -> int:
    """Bytes that the pool has taken from the device, in use or not."""
    with Device(device):
        return int(_pool().total_bytes())


def max_allocated(device: int) -> int:
    """The most bytes that arrays occupied since the first call of this or of `reset_peak`, in the calling thread."""
    now = allocated(device)
    if _async:
        return max(now, int(runtime.memPoolGetAttribute(runtime.deviceGetMemPool(device), _MOST_USED)))
    if not _peak:
        reset_peak(device)
    return max(now, _peak[0].most.get(device, now))


def reset_peak(device: int) -> None:
    """Count the most from now on."""
    now = allocated(device)
    if _async:
        runtime.memPoolSetAttribute(runtime.deviceGetMemPool(device), _MOST_USED, 0)
        return
    if not _peak:  # allocations are followed once somebody asks
        _peak.append(_Peak())
        _peak[0].__enter__()
    _peak[0].used[device] = _peak[0].most[device] = now


def empty_cache() -> None:
    """Give memory that no array occupies back to the devices."""
    streams.sweep()
    for device in range(runtime.getDeviceCount()):
        with Device(device):
            _pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()
