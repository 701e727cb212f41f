"""The CUDA back end: CuPy. Importing this package imports no CuPy; `load` does, and registers the device."""

from lucidgrad.core import batching, device


def load() -> None:
    """Make device ``"cuda"`` known, or raise a `DeviceError` that says what is missing."""
    from .driver import need

    need()
    from .backend import CUDA
    from .streams import place_of_array

    cuda = CUDA()
    device.register(cuda)
    device.places[cuda.array_types[0]] = place_of_array
    device.places[batching.Batched] = _place_of_batch


def _place_of_batch(array: batching.Batched) -> object:
    find = device.places.get(type(array.value))
    return None if find is None else find(array.value)
