"""Error classes of their own; everything else raises Python's and PyTorch's usual classes."""


class GradArgError(RuntimeError, ValueError):
    """An argument of ``grad`` or ``backward`` does not fit the others.

    PyTorch raises RuntimeError here and other libraries ValueError; handlers for either catch this.
    """


class DeviceError(RuntimeError):
    """Tensors of different devices met, or a device cannot be used."""


class AxisError(ValueError, IndexError):
    """An axis is out of range; NumPy's class of this name has the same bases."""


class OutOfMemoryError(RuntimeError, MemoryError):
    """A result is larger than the memory there is; PyTorch's class of this name is a RuntimeError."""


def install(extra: str) -> str:
    """How to get an optional dependency, for the end of a message: from a package index, and from a clone."""
    return f"pip install 'lucidgrad[{extra}]', or in a clone of the repository pip install '.[{extra}]'"
