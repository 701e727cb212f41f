"""Back ends: what computes for a device. This folder is the package ``lucidgrad.backends``."""

if __name__ != "lucidgrad.backends":
    raise ImportError(
        f"this package was imported as {__name__!r}; import it as 'lucidgrad.backends': "
        f"two names would be two registries"
    )

from collections.abc import Callable

from lucidgrad.core import device
from lucidgrad.native import offer


def _load_strict() -> None:
    from .generic import load_strict

    load_strict()


def _load(name: str) -> Callable[[], None]:
    def load() -> None:
        from . import libraries

        getattr(libraries, f"load_{name}")()

    return load


def _load_cuda() -> None:
    from .cuda import load

    load()


device.register_loader("cuda", _load_cuda, "cupy")
# Libraries that are imported when their device or one of their arrays is first met.
device.register_loader("strict", _load_strict, "array_api_strict")
device.register_loader("torch", _load("torch"), "torch")
device.register_loader("jax", _load("jax"), "jaxlib")
device.register_loader("dask", _load("dask"), "dask")


def _load_native() -> object:
    from . import native

    return native.load()


offer(_load_native)
