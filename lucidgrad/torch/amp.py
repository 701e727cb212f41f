"""PyTorch's ``torch.amp``: `lucidgrad.amp`, which without a CUDA device is off where it was asked for one."""

import warnings
from typing import Any

from lucidgrad import amp as _amp, cuda as _cuda
from lucidgrad.amp import custom_bwd, custom_fwd
from lucidgrad.core.device import Device as _Device, known as _known
from lucidgrad.core.dtype import named as _named

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def _is_possible(name: str, device: Any, enabled: bool) -> bool:
    """Whether to do what was asked for; a warning says if there is no device to do it on."""
    if enabled and _Device(device).type == "cuda" and not _cuda.is_available():
        warnings.warn(f"{name}: asked for on CUDA, which is not available; it is off", UserWarning, stacklevel=3)
        return False
    return enabled


class autocast(_amp.autocast):
    """A context, or decorator, in which operations choose their precision: `lucidgrad.autocast`.

    Asked for on CUDA where there is no device, it warns and is off.
    """

    def __init__(
        self, device_type: Any, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        possible = _is_possible("autocast", device_type, enabled)
        if dtype is None and isinstance(device_type, (str, _Device)) and _Device(device_type).type == "cuda":
            dtype = _named("float16")  # PyTorch's, whatever the device
        super().__init__(device_type, dtype=dtype if possible else None, enabled=possible, cache_enabled=cache_enabled)


class GradScaler(_amp.GradScaler):
    """Scales a loss and unscales the gradients: `lucidgrad.amp.GradScaler`.

    Asked for on CUDA where there is no device, it warns and is off.
    """

    def __init__(
        self,
        device: Any = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        possible = _is_possible("GradScaler", device, enabled)
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, possible)


def is_autocast_available(device_type: str) -> bool:
    """Whether operations on a device can choose their precision."""
    return device_type in _known()


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operations on a device choose their precision now."""
    return _amp.is_autocast_enabled(device_type)


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype that autocast lowers to on a device."""
    set_now = _amp.is_autocast_enabled(device_type)
    return _named("float16") if device_type == "cuda" and not set_now else _amp.get_autocast_dtype(device_type)
