"""Whether there is CuPy, a driver and a device; and if not, how to get them."""

import importlib.util
from typing import Any

from lucidgrad.core.errors import DeviceError, install

_EXTRAS = f"{install('cuda12')} (or cuda13, by the version of the CUDA driver)"
_EMULATOR = "python -m lucidgrad.cudasim <program> runs a program on an emulated device"


def device_count() -> int:
    """The number of devices that the driver offers; 0 without CuPy, a driver or a device."""
    return _probe()[0]


def need() -> None:
    """Raise a `DeviceError` where CUDA can't be used."""
    count, reason = _probe()
    if count == 0:
        raise DeviceError(f"device 'cuda' can't be used: {reason}; device='cpu' works everywhere")


def _probe() -> tuple[int, str]:
    """The number of devices, or 0 and why there is none. The driver is asked: a package alone is no GPU."""
    if importlib.util.find_spec("cupy") is None:
        return 0, f"CuPy is not installed: {_EXTRAS}"
    try:
        from cupy.cuda import runtime
    except Exception as error:  # its libraries may be missing or broken in many ways
        return 0, f"CuPy can't be imported ({_first_line(error)}): {_EXTRAS}"
    try:
        count = int(runtime.getDeviceCount())
    except Exception as error:
        return 0, f"there is no usable CUDA driver or GPU here ({_first_line(error)}); {_EMULATOR}"
    return count, "" if count else f"the CUDA driver finds no GPU; {_EMULATOR}"


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


#: The least compute capability, sm_60: older devices can't add a float64 to memory in one step.
OLDEST = (6, 0)


def too_old(count: int) -> dict[int, str]:
    """Which of the devices can't be used, and what to say where one of them is asked for."""
    from cupy.cuda import runtime

    found = {}
    for index in range(count):
        known = runtime.getDeviceProperties(index)
        capability = int(known["major"]), int(known["minor"])
        if capability < OLDEST:
            found[index] = (
                f"device 'cuda:{index}' ({known['name'].decode()}) has compute capability "
                f"{capability[0]}.{capability[1]}, expected {OLDEST[0]}.{OLDEST[1]} (Pascal) or newer: its kernels add "
                f"float64 numbers atomically; device='cpu' works everywhere"
            )
    return found


def index_of(where: Any, count: int, current: int) -> int:
    """The index that a device names, checked; the current one if it names none."""
    if where.index is None:
        return current
    if where.index >= count:
        there = "cuda:0 only" if count == 1 else f"cuda:0 to cuda:{count - 1}"
        raise DeviceError(f"device {str(where)!r} does not exist here: there is {there}")
    return int(where.index)
