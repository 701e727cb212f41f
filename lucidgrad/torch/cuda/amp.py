"""The older names of mixed precision, which mean CUDA."""

from typing import Any

from lucidgrad.torch import amp

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """`lucidgrad.autocast` on CUDA; tensors on the CPU are left as they are."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """`lucidgrad.amp.GradScaler` for CUDA, with PyTorch's older arguments."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """`lucidgrad.amp.custom_fwd` for CUDA."""
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """`lucidgrad.amp.custom_bwd` for CUDA."""
    return amp.custom_bwd(bwd, device_type="cuda")
