"""Positions outside of an axis, which kernels find: they note the first one, and the next synchronisation raises.

Looking at positions beforehand would mean to wait for the device. So a kernel that meets one outside leaves it out, and
writes what it found to page-locked memory of the host, which costs no launch and no copy; whoever waits for the device
anyway, to see values or to be sure that all is done, looks there.
"""

from typing import Any

import cupyx
import numpy as np

#: Device code: the position counted from the front, or -1 for one outside, which is noted for the function of a number.
#: Class numbers don't count from the end. Quotients and remainders are for what is not negative.
PLACE = r"""
// Divisions of 64 bits take several times as long as those of 32.
__device__ inline long long part_of(long long i, long long n) {
    return (i | n) >> 32 ? i / n : (long long)((unsigned int)i / (unsigned int)n);
}
__device__ inline long long rest_of(long long i, long long n) {
    return (i | n) >> 32 ? i % n : (long long)((unsigned int)i % (unsigned int)n);
}
__device__ inline long long class_of(long long at, long long size, unsigned long long note, int number) {
    if (at >= 0 && at < size) return at;
    long long *found = (long long *)note;
    if (atomicCAS((unsigned long long *)found, 0ULL, (unsigned long long)number) == 0ULL) {
        found[1] = at;
        found[2] = size;
    }
    return -1;
}
__device__ inline long long place_of(long long at, long long size, unsigned long long note, int number) {
    return at < 0 && at >= -size ? at + size : class_of(at, size, note, number);
}
"""

_names: list[str] = [""]  # by their numbers
_notes: list[Any] = []  # the number of a function, a position, a size; in page-locked memory


def note(name: str) -> tuple[Any, Any]:
    """What a kernel needs to note something for a function: an address, and the function's number."""
    if name not in _names:
        _names.append(name)
    if not _notes:
        made = cupyx.empty_pinned((3,), np.int64)
        made[...] = 0
        _notes.append(made)
    return np.uint64(_notes[0].ctypes.data), np.int32(_names.index(name))


def take() -> list[int] | None:
    """What was noted by now, if anything; it is noted no longer."""
    if not (_notes and _notes[0][0]):
        return None
    found: list[int] = _notes[0].tolist()
    _notes[0][...] = 0
    return found


def check() -> None:
    """Raise if a kernel that has run by now met a position outside; it is said once."""
    if found := take():
        number, at, size = found
        raise IndexError(
            f"{_names[number]}: index {at} is out of range for an axis of size {size}; it was met on the device some "
            f"time before this synchronisation, and left out; the same call on the CPU raises where it stands"
        )
