"""Many arrays as one argument of a kernel: a table of their addresses and sizes that travels by value.

Nothing is copied to the device and nothing waits. Arguments have room for 4 KB, and since CUDA 12.1 for 32 KB; the
smaller table is used wherever it suffices, since all of it is sent with each launch.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime
from cupy_backends.cuda.libs import nvrtc

from .compiling import ROOM, THREADS, by_value

__all__ = [
    "CHUNK", "EACH", "ELEMENTS", "FIND", "LARGE_ROOM", "SEARCH", "Chunks", "capacity", "chunks", "first_blocks",
    "in_order",
]  # fmt: skip

#: Bytes for a table in the larger room, with some left for the other arguments.
LARGE_ROOM = 32000
#: Elements that a block works on, and bytes of an array in a table of blocks; a block of elementwise work has fewer.
CHUNK, EACH, ELEMENTS = 4096, 20, 4 * THREADS

#: Blocks have consecutive numbers over all arrays: which array is this block's.
SEARCH = r"""
#define SEARCH(first_of_middle, count) \
    int mine = 0; \
    for (int last = (count) - 1; mine < last;) { \
        const int middle = (mine + last + 1) / 2; \
        if ((first_of_middle) <= (int)blockIdx.x) mine = middle; else last = middle - 1; \
    }
"""

#: And which of its elements are.
FIND = rf"""{SEARCH}
struct Table {{ T *at[COUNT]; long long sizes[COUNT]; int first[COUNT]; }};

#define FIND(t, count) \
    SEARCH(t.first[middle], count) \
    T *const x = t.at[mine]; \
    const I start = (I)((int)blockIdx.x - t.first[mine]) * {CHUNK}; \
    const I end = start + {CHUNK} < t.sizes[mine] ? start + {CHUNK} : t.sizes[mine];
"""


@functools.cache
def _most() -> int:
    """Bytes that a table may have: what compiler and driver both know."""
    both = nvrtc.getVersion() >= (12, 1) and runtime.driverGetVersion() >= 12010
    return LARGE_ROOM if both else ROOM


def capacity(each: int, count: int) -> int:
    """How many arrays a table for ``count`` of them has room for, at so many bytes each."""
    return (ROOM if count * each <= ROOM else _most()) // each


def first_blocks(sizes: Any, chunk: int, room: int) -> tuple[int, Any]:
    """How many blocks arrays take, and the numbers of their first ones, two of 32 bits in one of 64.

    What the table has room for besides begins behind all blocks, so that a search passes it over.
    """
    blocks = -(-sizes // chunk)
    firsts = np.full(room + room % 2, np.iinfo(np.int32).max, np.int32)
    firsts[: len(sizes)] = np.cumsum(blocks) - blocks
    return int(blocks.sum()), firsts.view(np.int64)


class Chunks:
    """A table of some arrays: how many they are and what they hold, how many blocks they take, and the argument."""

    __slots__ = ("argument", "blocks", "count", "elements", "room")

    def __init__(self, arrays: Sequence[Any], room: int) -> None:
        self.room, self.count = room, len(arrays)
        sizes = np.asarray([array.size for array in arrays], np.int64)
        self.blocks, firsts = first_blocks(sizes, CHUNK, room)
        self.elements = int(sizes.sum())
        longs = np.zeros((2, room), np.int64)
        longs[0, : self.count] = [array.data.ptr for array in arrays]
        longs[1, : self.count] = sizes
        self.argument = by_value(np.concatenate([longs.reshape(-1), firsts]))


def chunks(arrays: Sequence[Any]) -> Iterator[Chunks]:
    """Tables of arrays that are in order in memory, most of the time one; without those that hold nothing."""
    arrays = [array for array in arrays if array.size]
    room = capacity(EACH, len(arrays))
    for start in range(0, len(arrays), room):
        yield Chunks(arrays[start : start + room], room)


def in_order(arrays: Sequence[Any]) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """Arrays with their memory in order, and those that had to be copied for it: as given, and copied."""
    made = [array if array.flags.c_contiguous else cupy.ascontiguousarray(array) for array in arrays]
    return made, [(old, new) for old, new in zip(arrays, made, strict=True) if old is not new]
