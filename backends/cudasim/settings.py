"""``install``: the settings of the emulated device, and its registration."""

import os

from . import controls, loading
from .errors import EmulatorError


def install(
    devices: int | None = None,
    memory: int | None = None,
    *,
    lazy: bool | None = None,
    poison: bool | None = None,
    guard: bool | None = None,
    ftz: bool | None = None,
    races: bool | None = None,
    capability: int | None = None,
    processors: int | None = None,
    force: bool = False,
) -> None:
    """Make ``import cupy`` find an emulated CUDA device; call it before CuPy is imported.

    It is cheap: the device is built (once per version, into a cache directory) and loaded when CuPy is imported.
    What is not given is taken from the environment, else it is the default.

    Parameters
    ----------
    devices
        Number of devices (``CUDASIM_DEVICES``, 1).
    memory
        Megabytes of memory per device (``CUDASIM_MEM_MB``, 4096).
    lazy
        Work runs only when something waits for it, which shows missing waits (``CUDASIM_LAZY``, off).
    poison
        Fresh and freed memory holds garbage (``CUDASIM_POISON``, off).
    guard
        The host can't touch device memory: it faults, with a traceback (``CUDASIM_GUARD``, off).
    ftz
        Kernels that are compiled with ``-ftz=true``, as CuPy does, take subnormal float32 numbers for zero
        (``CUDASIM_FTZ``, on).
    races
        Kernels tell their accesses to memory, and races between threads are reported (``CUDASIM_RACES``, off).
    capability
        Compute capability that is reported: 80 is 8.0 (``CUDASIM_CC``, 80).
    processors
        Number of multiprocessors that is reported (``CUDASIM_SM``, 4).
    force
        Install it although this machine has a GPU.
    """
    given = {
        "CUDASIM_DEVICES": _at_least(1, devices=devices),
        "CUDASIM_MEM_MB": _at_least(1, memory=memory),
        "CUDASIM_CC": _at_least(10, capability=capability),
        "CUDASIM_SM": _at_least(1, processors=processors),
        "CUDASIM_RACES": None if races is None else int(races),
    }
    switches = {"CUDASIM_LAZY": lazy, "CUDASIM_POISON": poison, "CUDASIM_GUARD": guard, "CUDASIM_FTZ": ftz}
    if loading.State.library is not None:
        changed = [name for name, value in given.items() if value is not None and os.environ.get(name) != str(value)]
        if changed:
            raise EmulatorError(
                f"the emulated CUDA device is loaded already, so {', '.join(changed)} can't change any more; call "
                f"install() with these settings before CuPy is imported"
            )
    loading.register(force)
    for name, value in {**given, **switches}.items():
        if value is not None:
            os.environ[name] = str(int(value))
    if loading.State.library is not None:
        for name, value in switches.items():
            if value is not None:
                controls.SETTERS[name](value)


def _at_least(least: int, **named: int | None) -> int | None:
    ((name, value),) = named.items()
    if value is not None and (type(value) is not int or value < least):
        raise ValueError(f"{name}={value!r}: an integer of at least {least} was expected")
    return value
