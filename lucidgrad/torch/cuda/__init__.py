"""PyTorch's ``torch.cuda``: `lucidgrad.cuda`, and names that programs ask for on any machine."""

from typing import Any

import lucidgrad as _lg
from lucidgrad.core.device import Device as _Device
from lucidgrad.core.errors import OutOfMemoryError
from lucidgrad.cuda import *  # noqa: F403
from lucidgrad.cuda import __all__ as _names, is_available, is_initialized
from lucidgrad.random import default_generator as _default_generator
from lucidgrad.torch import kinds as _kinds

from . import amp

_CONSTRUCTORS = _kinds.kinds(__name__, is_cuda=True)

__all__ = [
    *(name for name in _names if name not in ("DeviceProperties", "set_allocator_backend", "version")),
    "OutOfMemoryError", "amp", "get_arch_list", "get_rng_state_all", "init",
    "initial_seed", "ipc_collect", "is_bf16_supported", "max_memory_reserved",
    "memory_summary", "reset_max_memory_allocated", "seed", "seed_all", "set_rng_state_all",
    *_CONSTRUCTORS,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _CONSTRUCTORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _CONSTRUCTORS[name]


# -- devices -------------------------------------------------------------------------------------
def init() -> None:
    """Make a device ready, which its first use does, too."""
    _lg.cuda.current_device()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether products can be computed in bfloat16: by the device itself, or by way of float32."""
    if not is_available() or not hasattr(_lg, "bfloat16"):
        return False
    return including_emulation or _lg.cuda.get_device_capability() >= (8, 0)


def get_arch_list() -> list[str]:
    """The architectures that kernels are compiled for: those of the devices that are there."""
    found = {_lg.cuda.get_device_capability(i) for i in range(_lg.cuda.device_count())}
    return [f"sm_{major}{minor}" for major, minor in sorted(found)]


# -- memory --------------------------------------------------------------------------------------
def memory_allocated(device: Any = None) -> int:  # type: ignore[no-redef]
    """Bytes that tensors occupy on a device; none before one is used."""
    return _lg.cuda.memory_allocated(device) if is_initialized() else 0


def max_memory_allocated(device: Any = None) -> int:  # type: ignore[no-redef]
    """The most bytes that tensors occupied; none before a device is used."""
    return _lg.cuda.max_memory_allocated(device) if is_initialized() else 0


def memory_reserved(device: Any = None) -> int:  # type: ignore[no-redef]
    """Bytes that were taken from a device; none before one is used."""
    return _lg.cuda.memory_reserved(device) if is_initialized() else 0


def max_memory_reserved(device: Any = None) -> int:
    """At least the bytes that were taken from a device: what is taken is kept until `empty_cache`."""
    return max(memory_reserved(device), max_memory_allocated(device))


def reset_max_memory_allocated(device: Any = None) -> None:
    """The older name of `reset_peak_memory_stats`."""
    _lg.cuda.reset_peak_memory_stats(device)


def memory_stats(device: Any = None) -> dict[str, int]:  # type: ignore[no-redef]
    """Figures of memory under PyTorch's names; none is in use before a device is used."""
    some = ("allocated_bytes.all.current", "allocated_bytes.all.peak", "reserved_bytes.all.current")
    found = _lg.cuda.memory_stats(device) if is_initialized() else dict.fromkeys(some, 0)
    return {**found, "reserved_bytes.all.peak": max_memory_reserved(device)}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The same as text."""
    return "\n".join(f"{name:<30}{count:>16}" for name, count in memory_stats(device).items())


def ipc_collect() -> None:
    """Nothing is shared between processes, so nothing is to be collected."""


# -- random numbers ------------------------------------------------------------------------------
def get_rng_state_all() -> list[Any]:
    """The states of all devices' default generators."""
    return [_lg.cuda.get_rng_state(i) for i in range(_lg.cuda.device_count())]


def set_rng_state_all(new_states: list[Any]) -> None:
    """Go on from states that `get_rng_state_all` gave."""
    for i, state in enumerate(new_states):
        _lg.cuda.set_rng_state(state, i)


def seed() -> None:
    """Start the current device's default generator anew from a seed that the system gives."""
    if is_available():
        _default_generator(_Device("cuda", _lg.cuda.current_device())).seed()


def seed_all() -> None:
    """The same for all devices, from one seed."""
    if is_available():
        _lg.cuda.manual_seed_all(_default_generator(_Device("cuda", 0)).seed())


def initial_seed() -> int:
    """The seed that the current device's default generator was last started from."""
    return _default_generator(_Device("cuda", _lg.cuda.current_device())).initial_seed()
