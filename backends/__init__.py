"""Back ends: what computes for a device. This folder is the package ``lucidgrad.backends``."""

if __name__ != "lucidgrad.backends":
    raise ImportError(
        f"this package was imported as {__name__!r}; import it as 'lucidgrad.backends': "
        f"two names would be two registries"
    )

from lucidgrad.core import device
from lucidgrad.core.errors import DeviceError


def _load_strict() -> None:
    from .generic import load_strict

    load_strict()


def _no_cuda() -> None:
    raise DeviceError(
        "device 'cuda' can't be used: this version of lucidgrad computes on the CPU only; use device='cpu'"
    )


device.register_loader("cuda", _no_cuda)
device.register_loader("strict", _load_strict)  # array-api-strict, imported when it is first asked for
