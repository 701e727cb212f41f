"""Several blocks for one result, in one launch: each leaves its part, and the last one to be done joins them all.

Blocks that share something draw tickets, and who draws the last one knows that all parts are there. Parts are joined by
their numbers, whoever is last, so bits are the same every time. A count of tickets is zero again after the last one.
"""

import weakref
from typing import Any

import cupy
from cupy.cuda import get_device_id

from .streams import is_recorded, place_now

#: ``is_last(ticket, count)``: whether all other blocks have drawn theirs; all threads of a block ask together.
SOURCE = r"""
__device__ inline bool is_last(unsigned int *ticket, unsigned int count) {
    __shared__ bool last;
    __threadfence();  // what this block wrote is there before its ticket is drawn
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) last = atomicInc(ticket, count - 1) == count - 1;
    __syncthreads();
    __threadfence();  // what others wrote is read after it
    return last;
}
"""
#: Counts that every stream has: kernels of one run one after the other.
_MOST = 1024
_counts: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()


def tickets(many: int) -> Any:
    """So many counts, all zero whenever a kernel begins that is launched next on the current stream.

    Graphs may run beside each other, whatever streams they were recorded on: there counts are a graph's own.
    """
    here = place_now(get_device_id())
    if many > _MOST or is_recorded(here.stream):
        return cupy.zeros(many, "uint32")
    found = _counts.get(here)
    if found is None:
        found = _counts[here] = cupy.zeros(_MOST, "uint32")
    return found


def forget() -> None:
    """Begin with zeros: for tests of kernels that draw too few tickets."""
    _counts.clear()
