"""Further libraries as devices, each loaded when a device name or an array asks for it: PyTorch, JAX, Dask."""

import importlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from lucidgrad.core import device
from lucidgrad.core.errors import DeviceError
from lucidgrad.core.primitive import registry

from .generic import Generic

_NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


def _forwards(key: Any, shape: Any) -> tuple[Any, tuple[int, ...]]:
    """A key without backward slices, and the axes to flip for it: PyTorch knows no negative steps."""
    parts = key if isinstance(key, tuple) else (key,)
    widths = [_width(part) for part in parts]
    axis, axes, made = 0, [], []
    for part, width in zip(parts, widths, strict=True):
        if part is Ellipsis:
            axis += len(shape) - sum(widths)
        elif isinstance(part, slice) and part.step is not None and part.step < 0:
            start, stop, step = part.indices(shape[axis])
            last = shape[axis] - 1
            part = slice(last - start, last - stop, -step)
            axes.append(axis)
        made.append(part)
        axis += width
    return (tuple(made), tuple(axes)) if axes else (key, ())


def _width(part: Any) -> int:
    """How many axes a part of a key stands for."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return len(part.shape) if str(getattr(part, "dtype", "")) in ("bool", "torch.bool") else 1


class Torch(Generic):
    """PyTorch's tensors, used for their values alone: the tape is this package's."""

    def __init__(self, name: str, library: Any, array_types: tuple[type, ...]) -> None:
        super().__init__(name, library, array_types)
        self.kernels.update(index=self._index, put_add=self._put_add)

    def _index(self, x: Any, /, *, key: Any) -> Any:
        key, axes = _forwards(key, x.shape)
        return registry["index"].program(self.xp, self.library.flip(x, axis=axes) if axes else x, key)

    def _put_add(self, g: Any, /, *, key: Any, shape: Any) -> Any:
        key, axes = _forwards(key, shape)
        y = registry["put_add"].program(self.xp, g, key, shape)
        return self.library.flip(y, axis=axes) if axes else y

    def asarray(self, value: Any, dtype: Any = None, where: Any = None, copy: bool | None = None) -> Any:
        return super().asarray(self.settle(value), dtype, where, copy)

    def settle(self, y: Any) -> Any:
        if type(y) in self.array_types and y.requires_grad:
            raise RuntimeError("given a torch tensor that requires grad, which would leave its tape; detach it first")
        return y

    def from_numpy(self, array: Any, where: Any) -> Any:
        return self.library.asarray(array if array.flags.writeable else array.copy())

    def storage(self, array: Any) -> Any:
        return array if array._base is None else array._base

    def owns(self, array: Any) -> bool:
        return array._base is None

    def contiguous(self, array: Any) -> bool:
        return bool(array.is_contiguous())

    def writable(self, array: Any) -> bool:
        return not any(step == 0 and n > 1 for step, n in zip(array.stride(), array.shape, strict=True))

    def to_numpy(self, array: Any) -> Any:
        return array.detach().cpu().resolve_conj().resolve_neg().numpy()


class Immutable(Generic):
    """A library whose arrays never change; their dtypes are NumPy's."""

    unwritable = "its library's arrays never change; use the out-of-place form"

    def dtype_objects(self, names: Iterable[str]) -> dict[str, Any]:
        return {name: np.dtype(name) for name in names}

    def owns(self, array: Any) -> bool:
        return True

    def writable(self, array: Any) -> bool:
        return False

    def copy(self, array: Any) -> Any:
        return array

    def to_numpy(self, array: Any) -> Any:
        return np.asarray(array)


class Jax(Immutable):
    """JAX's arrays; they have 64-bit dtypes only where ``jax_enable_x64`` says so."""

    def __init__(self, name: str, library: Any, array_types: tuple[type, ...]) -> None:
        super().__init__(name, library, array_types)
        self.kernels["put_add"] = self._put_add

    def _put_add(self, g: Any, /, *, key: Any, shape: Any) -> Any:
        return self.library.zeros(tuple(shape), dtype=g.dtype).at[key].add(g)

    def native(self, dtype: Any) -> Any:
        found = super().native(dtype)
        if found is None or importlib.import_module("jax").config.jax_enable_x64:
            return found
        return np.dtype(_NARROW.get(str(found), found))


def _loader(name: str, package: str, module: str, kind: type[Generic]) -> Callable[[], None]:
    def load() -> None:
        try:
            library = importlib.import_module(module)
        except ImportError as error:
            raise DeviceError(f"device {name!r} needs the package {package}: pip install {package}") from error
        import array_api_compat

        sample = library.zeros((1,))
        device.register(kind(name, array_api_compat.array_namespace(sample), (type(sample),)))

    return load


load_torch = _loader("torch", "torch", "torch", Torch)
load_jax = _loader("jax", "jax", "jax.numpy", Jax)
load_dask = _loader("dask", "dask", "dask.array", Immutable)
