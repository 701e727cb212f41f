"""What engines are given of tensors: their own memory where that will do, otherwise copies that are written back."""

from collections.abc import Sequence
from typing import Any

from lucidgrad.backends.communication import Engine
from lucidgrad.core import device as devices
from lucidgrad.core.dtype import rank as kind_of
from lucidgrad.core.modes import state
from lucidgrad.core.tape import Leaf, touch
from lucidgrad.inplace import check_writable
from lucidgrad.levels.traced import read
from lucidgrad.tensor import Tensor


def check_tensor(name: str, x: Any, written: bool) -> str:
    """The kind of device that a tensor is on; raises if it can't be communicated, or not be written."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}: given a {type(x).__name__}, expected a Tensor")
    if x.is_sparse:
        raise RuntimeError(f"{name}: given a row-sparse gradient, expected a dense tensor; send g.to_dense()")
    if type(_raw(x)) in devices.layers:
        raise RuntimeError(
            f"{name}: inside vmap or a derivative a tensor is no array that could be sent; use "
            f"lucidgrad.distributed.nn.functional, which works there"
        )
    if written:
        check_target(name, x)
    return str(x.device.type)


def check_target(name: str, x: Any) -> None:
    """Raise if a tensor can't be written."""
    if state.recording and x._node is not None and type(x._node) is not Leaf:
        raise RuntimeError(
            f"{name}: the tensor has a history, which would not know of what other processes send; use the "
            f"function of this name in lucidgrad.distributed.nn.functional, or call it under no_grad()"
        )
    check_writable(x, name, recording=False)


def _raw(x: Any) -> Any:
    """The array of a tensor. A function that is being compiled goes on with it, but there will be no program."""
    return read(x.array, "processes communicated in place, which lucidgrad.distributed.nn.functional does not")


def check_alike(name: str, what: str, tensors: Sequence[Any]) -> None:
    """Raise unless all tensors have one shape and dtype."""
    first = tensors[0]
    for i, x in enumerate(tensors):
        if x.shape != first.shape or x.dtype != first.dtype:
            raise ValueError(
                f"{name}: {what} {i} has shape {tuple(x.shape)} and dtype {x.dtype}, expected {tuple(first.shape)} and "
                f"{first.dtype}, as the one before it"
            )


class Buffer:
    """The memory of one or several tensors as one vector, of the dtype that an engine works with.

    ``reads``: the engine reads it; ``written``: it writes it, and `restore` brings that to the tensors.
    """

    __slots__ = ("_arrays", "_tensors", "array", "own", "written")

    def __init__(
        self, tensors: Sequence[Any], engine: Engine, dtype: Any = None, reads: bool = True, written: bool = True
    ) -> None:
        arrays = [_raw(x) for x in tensors]
        self._tensors, self._arrays, self.written = tensors, arrays, written
        first = arrays[0]
        backend, taken = devices.by_array[type(first)], engine.takes(first)
        #: Whether the engine is given the tensor's own memory.
        self.own = taken and dtype is None and len(arrays) == 1 and backend.contiguous(first)
        if self.own:
            flat = first if first.ndim == 1 else backend.library.reshape(first, (-1,))
        else:
            flat = _copy(backend, arrays, dtype, taken, reads)
        if engine.host and taken and type(flat) in devices.places:
            devices.places[type(flat)](flat).stream.synchronize()  # MPI does not wait for what uses device memory
        self.array = flat.view("uint8") if flat.dtype.kind == "b" else flat
        if written:
            for a in arrays:
                touch(a)

    def restore(self) -> None:
        """Bring what was written to the tensors, which are touched once more: others had their turn meanwhile."""
        begin = 0
        for x, array in zip(self._tensors, self._arrays, strict=True):
            if not self.own:
                backend, size = devices.by_array[type(array)], int(array.size)
                part = self.array[begin : begin + size].reshape(array.shape)
                begin += size
                part = part.view("bool") if kind_of(array.dtype) == 0 else part
                if type(part) not in backend.array_types:
                    part = backend.from_numpy(part, backend.device_of(array))
                made = backend.write(array, ..., part)
                if made is not array:  # a library whose arrays never change
                    x.array = array = made
            touch(array)


def _copy(backend: Any, arrays: Sequence[Any], dtype: Any, taken: bool, reads: bool) -> Any:
    """A vector that an engine takes, with the values of some arrays if it ``reads`` them."""
    if not reads:
        where = backend if taken else devices.backend_named("cpu")
        size = sum(int(a.size) for a in arrays)
        own = backend.dtype_of(arrays[0])
        return where.zeros((size,), own if dtype is None else dtype, backend.device_of(arrays[0]))
    parts = [backend.library.reshape(a, (-1,)) for a in arrays]
    flat = parts[0] if len(parts) == 1 else backend.settle(backend.library.concat(parts))
    flat = flat if dtype is None else backend.cast(flat, dtype)
    flat = flat if backend.contiguous(flat) else backend.copy(flat)
    return flat if taken else _on_host(backend, flat)


def _on_host(backend: Any, array: Any) -> Any:
    """The values in host memory, page-locked where that is quicker."""
    host = backend.to_pinned(array)
    if type(array) in devices.places:
        devices.places[type(array)](array).stream.synchronize()
    return host
