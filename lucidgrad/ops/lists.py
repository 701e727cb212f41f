"""What is done with many tensors at once where a device can: their norm, a factor for all of them, joining them.

A back end may bring the kernels ``norm_of_all``, ``clip_all``, ``unscale_all``, ``join_all`` and ``part_all``, which
take lists of arrays. Where it brings none, or a program is being traced, whoever calls goes on tensor by tensor.
"""

from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.box import INFERENCE
from lucidgrad.core.dispatch import box, complexes, floats
from lucidgrad.core.tape import touch
from lucidgrad.inplace import check_writable
from lucidgrad.levels.traced import current

__all__ = ["clip_all", "join_all", "norm_of_all", "part_all", "unscale_all"]


def _kernel(name: str, tensors: Sequence[Any]) -> tuple[Callable[..., Any] | None, Any]:
    """A device's kernel for lists of tensors, all real and on this device, and the device's back end."""
    kind = type(tensors[0].array)
    backend: Any = device.by_array.get(kind)
    raw = backend is not None and not backend.rank and current.get() is None  # no level looks at each tensor
    kernel = backend.kernels.get(name) if raw else None
    if kernel is None:
        return None, backend
    here = backend.device_of(tensors[0].array)
    for x in tensors:
        array = x.array
        real = type(array) is kind and array.dtype in floats and array.dtype not in complexes
        if not real or backend.device_of(array) != here:
            return None, backend
    return kernel, backend


def norm_of_all(tensors: Sequence[Any], order: float) -> Any:
    """The norm of tensors seen as one vector, as a tensor; None where it isn't computed of all at once.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.lists import norm_of_all
    >>> norm_of_all([lg.ones(2)], 2.0) is None  # on the CPU tensors are taken one by one
    True
    """
    kernel, backend = _kernel("norm_of_all", tensors)
    if kernel is None or not order > 0:
        return None
    with backend.at(tensors[0].array):
        return box(kernel([x.array for x in tensors], order))


def clip_all(tensors: Sequence[Any], norm: Any, most: float) -> bool:
    """Multiply tensors, in place, by ``most / (norm + 1e-6)`` if that is less than 1; False where nothing was done."""
    kernel, backend = _kernel("clip_all", [norm, *tensors])
    if kernel is None or norm.ndim or type(most) is not float:
        return False
    return _write("clip_grads_with_norm_", backend, tensors, lambda arrays: kernel(arrays, norm.array, most))


def unscale_all(tensors: Sequence[Any], scale: Any) -> Any:
    """Divide tensors, in place, by a scale on the device; a tensor tells whether any was not finite. None: not done."""
    kernel, backend = _kernel("unscale_all", [scale, *tensors])
    found: list[Any] = []
    if kernel is None or not _write(
        "unscale_", backend, tensors, lambda arrays: found.append(kernel(arrays, scale.array))
    ):
        return None
    return box(found[0])


def join_all(tensors: Sequence[Any], vector: Any) -> bool:
    """Write tensors into a vector of their dtype, one after the other; False where nothing was done."""
    kernel, backend = _kernel("join_all", [vector, *tensors])
    if kernel is None or any(x.array.dtype != vector.array.dtype for x in tensors):
        return False
    arrays = [x.array for x in tensors]
    return _write("join_all", backend, [vector], lambda written: kernel(arrays, *written))


def part_all(vector: Any, tensors: Sequence[Any]) -> bool:
    """Write the parts of a vector of their dtype into tensors, one after the other; False where nothing was done."""
    kernel, backend = _kernel("part_all", [vector, *tensors])
    if kernel is None or any(x.array.dtype != vector.array.dtype for x in tensors):
        return False
    return _write("part_all", backend, tensors, lambda written: kernel(written, vector.array))


def _write(name: str, backend: Any, tensors: Sequence[Any], run: Callable[[list[Any]], Any]) -> bool:
    """Let a kernel write arrays; not where two of them are one, which are to be written twice."""
    arrays = [x.array for x in tensors]
    if len(set(map(id, arrays))) < len(arrays):
        return False
    for x in tensors:
        if x._alias is INFERENCE or not backend.writable(x.array):
            check_writable(x, name, recording=False)
    with backend.at(arrays[0]):
        run(arrays)
    for array in arrays:
        touch(array)
    return True
