"""The CUDA back end: CuPy. Importing this package imports no CuPy; `load` does, and registers the device."""

from typing import Any

from lucidgrad.backends.protocol import when_known
from lucidgrad.core import device
from lucidgrad.levels.layer import Layer


def load() -> None:
    """Make device ``"cuda"`` known, or raise a `DeviceError` that says what is missing."""
    from .driver import need

    need()
    from .compiling import prepare_compiler

    prepare_compiler()
    from .backend import CUDA
    from .streams import place_of_array

    cuda = CUDA()
    device.register(cuda)
    device.places[cuda.array_types[0]] = place_of_array
    for layer in Layer.__subclasses__():
        device.places[layer] = _place_of_layer
    when_known("bfloat16", lambda: _with_bfloat16(cuda))


def _with_bfloat16(cuda: Any) -> None:
    from .bfloat16 import enable

    enable(cuda)


def _place_of_layer(array: Layer) -> object:
    find = device.places.get(type(array.front))
    return None if find is None else find(array.front)
