"""PyTorch's ``torch.accelerator``: the kind of device that is not the processor, which here is CUDA."""

from typing import Any

import lucidgrad as _lg

__all__ = [
    "current_accelerator", "current_device_index", "device_count", "empty_cache", "is_available", "set_device_index",
    "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is one that can be used."""
    return _lg.cuda.is_available()


def device_count() -> int:
    """How many there are."""
    return _lg.cuda.device_count()


def current_accelerator(check_available: bool = False) -> Any:
    """The kind of device; None where there is none."""
    return _lg.device("cuda") if is_available() else None


def current_device_index() -> int:
    """The index of the one that is used where none is given."""
    return _lg.cuda.current_device()


def set_device_index(device: Any, /) -> None:
    """Use a device where none is given."""
    _lg.cuda.set_device(device)


def synchronize(device: Any = None, /) -> None:
    """Wait until all work on a device is done."""
    _lg.cuda.synchronize(device)


def empty_cache() -> None:
    """Give memory that no tensor occupies back."""
    _lg.cuda.empty_cache()
