"""Copies between host and devices, page-locked memory, and how much memory is in use."""

from typing import Any

import cupy
import cupyx
import numpy as np
from cupy.cuda import Device, MemoryHook, runtime

from . import captures, faults, streams

_PINNED = 1  # cudaMemoryTypeHost


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

    def malloc_postprocess(self, **given: Any) -> None:
        device = given["device_id"]
        self.used[device] = used = self.used.get(device, 0) + given["mem_size"]
        self.most[device] = max(used, self.most.get(device, 0))

    def free_postprocess(self, **given: Any) -> None:
        device = given["device_id"]
        self.used[device] = self.used.get(device, 0) - given["mem_size"]


_peak: list[_Peak] = []


def _pool() -> Any:
    return cupy.get_default_memory_pool()


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
    if not _peak:
        reset_peak(device)
    return max(now, _peak[0].most.get(device, now))


def reset_peak(device: int) -> None:
    """Count the most from now on."""
    now = allocated(device)
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
