"""Further libraries as devices, each loaded when a device name or an array asks for it: PyTorch, JAX, Dask."""

import importlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from lucidgrad.core import device, dtype as dtypes
from lucidgrad.core.dispatch import complexes
from lucidgrad.core.errors import DeviceError
from lucidgrad.core.primitive import registry
from lucidgrad.keys import joined, parted, parts_of

from .generic import Generic

_NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


def _forwards(key: Any, shape: Any) -> tuple[Any, tuple[int, ...]]:
    """A key without backward slices, and the axes to flip for it: PyTorch knows no negative steps."""
    parts = parts_of(key)
    axis, axes, made = 0, [], []
    for part in parts:
        if part is Ellipsis:
            axis += len(shape) - sum(p is not None for p in parts) + 1
        elif isinstance(part, slice) and _is_backward(part):
            start, stop, step = part.indices(shape[axis])
            last = shape[axis] - 1
            part = slice(last - start, last - stop, -step)
            axes.append(axis)
        made.append(part)
        axis += part is not None and part is not Ellipsis
    return (tuple(made), tuple(axes)) if axes else (key, ())


def _is_backward(part: slice) -> bool:
    return part.step is not None and part.step < 0


def _has_positions(key: Any) -> bool:
    """Whether a key has arrays of integers, which may name a place twice."""
    return any("int" in str(getattr(part, "dtype", "")) for part in parts_of(key))


class Torch(Generic):
    """PyTorch's tensors, used for their values alone: the tape is this package's."""

    why_copied = "PyTorch knows no negative steps, so flip and backward slices copy; write by a forward slice, or clone"

    def __init__(self, name: str, library: Any, array_types: tuple[type, ...]) -> None:
        super().__init__(name, library, array_types)
        self.kernels.update(index=self._index, put_add=self._put_add, unscale=self._unscale)
        self.kernels["join_parts"] = library.complex  # sums of infinite complex numbers are NaN in PyTorch
        device.copying.update(dict.fromkeys(array_types, self._copies))

    @staticmethod
    def _copies(name: str, keywords: dict[str, Any]) -> bool:
        if name == "index":
            return any(isinstance(part, slice) and _is_backward(part) for part in parts_of(keywords["key"]))
        return name == "flip"

    def _index(self, x: Any, /, *, key: Any) -> Any:
        key, axes = _forwards(key, x.shape)
        return registry["index"].program(self.xp, self.library.flip(x, axis=axes) if axes else x, key)

    def _unscale(self, x1: Any, x2: Any, /) -> Any:
        """A complex number divided by an infinite one is zero, NaN in PyTorch."""
        y = registry["unscale"].program(self.xp, x1, x2)
        endless = self.library.isinf(x2) if type(x2) in self.array_types and x2.dtype in complexes else None
        return y if endless is None else self.library.where(endless, self.library.zeros_like(y), y)

    def _put_add(self, g: Any, /, *, key: Any, shape: Any) -> Any:
        key, axes = _forwards(key, shape)
        y = registry["put_add"].program(self.xp, g, key, shape)
        return self.library.flip(y, axis=axes) if axes else y

    def write(self, array: Any, key: Any, value: Any) -> Any:
        """By positions: of several values for one place the last one stays, which PyTorch does not promise."""
        torch = self.library
        if type(value) not in self.array_types:
            value = torch.asarray(value, dtype=array.dtype)
        if key is Ellipsis:
            array[...] = value
            return array
        places = torch.reshape(torch.arange(array.numel()), tuple(array.shape))
        key_without, at = parted(key, array.shape)
        places = self.xp.index(places, key=key) if at is None else self.xp.pick(places, at, key=key_without)
        while value.ndim > places.ndim and value.shape[0] == 1:
            value = value[0]
        value = torch.broadcast_to(value.to(array.dtype), tuple(places.shape)).reshape(-1)
        places = places.reshape(-1)
        if _has_positions(key):
            last = torch.full((array.numel(),), -1, dtype=torch.int64)
            last.scatter_reduce_(0, places, torch.arange(places.numel()), "amax")
            places = torch.arange(array.numel())[last >= 0]
            value = value[last[places]]
        array.put_(places, value)
        return array

    def asarray(self, value: Any, dtype: Any = None, where: Any = None, copy: bool | None = None) -> Any:
        return super().asarray(self.settle(value), dtype, where, copy)

    def settle(self, y: Any) -> Any:
        if type(y) in self.array_types and y.requires_grad:
            raise RuntimeError("given a torch tensor that requires grad, which would leave its tape; detach it first")
        return y

    def from_numpy(self, array: Any, where: Any) -> Any:
        self.native(array.dtype)
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
    """A library whose arrays never change; their dtypes are NumPy's. A tensor that is written gets another array."""

    replaces = True
    why_copied = "its library's arrays never change; use the out-of-place form, or clone"

    def __init__(self, name: str, library: Any, array_types: tuple[type, ...]) -> None:
        super().__init__(name, library, array_types)
        device.copying.update(dict.fromkeys(array_types, self._copies))

    @staticmethod
    def _copies(name: str, keywords: dict[str, Any]) -> bool:
        return True

    def dtype_objects(self, names: Iterable[str]) -> dict[str, Any]:
        return {name: dtypes.named(name) for name in names}

    def owns(self, array: Any) -> bool:
        return True

    def write(self, array: Any, key: Any, value: Any) -> Any:
        if type(value) not in self.array_types:
            value = self.asarray(value, dtype=self.dtype_of(array))
        if key is not Ellipsis:
            return self._written(array, key, value)
        while len(value.shape) > len(array.shape) and value.shape[0] == 1:
            value = value[0]
        return self.kernels["astype"](self.library.broadcast_to(value, array.shape), array.dtype)

    def _written(self, array: Any, key: Any, value: Any) -> Any:
        """A copy with a part replaced: of several values for one place the last one stays."""
        made = np.array(self.to_numpy(array))
        made[tuple(map(_on_host, key)) if isinstance(key, tuple) else _on_host(key)] = self.to_numpy(value)
        return self.from_numpy(made, None)

    def copy(self, array: Any) -> Any:
        return array

    def to_numpy(self, array: Any) -> Any:
        return np.asarray(array)


def _on_host(part: Any) -> Any:
    return np.asarray(part) if hasattr(part, "dtype") else part


class Jax(Immutable):
    """JAX's arrays; they have 64-bit dtypes only where ``jax_enable_x64`` says so."""

    def __init__(self, name: str, library: Any, array_types: tuple[type, ...]) -> None:
        super().__init__(name, library, array_types)
        self.kernels.update(put_add=self._put_add, pick_put=self._pick_put, searchsorted=self._searchsorted)

    def _searchsorted(self, *arrays: Any, **keywords: Any) -> Any:
        """Positions are of the default integer, of 32 bits in JAX."""
        return self.kernels["astype"](self.library.searchsorted(*arrays, **keywords), dtypes.named("int64"))

    def _put_add(self, g: Any, /, *, key: Any, shape: Any) -> Any:
        return self.library.zeros(tuple(shape), dtype=g.dtype).at[key].set(g)

    def _pick_put(self, g: Any, at: Any, /, *, key: tuple[Any, ...], shape: Any) -> Any:
        whole = joined(key, at)
        if whole is None:
            return registry["pick_put"].program(self.xp, g, at, key=key, shape=shape)
        return self.library.zeros(tuple(shape), dtype=g.dtype).at[whole].add(g)

    def _written(self, array: Any, key: Any, value: Any) -> Any:
        return super()._written(array, key, value) if _has_positions(key) else array.at[key].set(value)

    def native(self, dtype: Any) -> Any:
        found = super().native(dtype)
        if found is None or importlib.import_module("jax").config.jax_enable_x64:
            return found
        return np.dtype(_NARROW.get(str(found), found))


class Dask(Immutable):
    """Dask's arrays."""

    def replaced(self, library: Any) -> dict[str, Any]:
        return {"linalg.cholesky": self._cholesky(library), "nonzero": self._nonzero}

    @staticmethod
    def _nonzero(x: Any, /) -> Any:
        raise RuntimeError("the shape of the result would depend on values, which are computed later")

    @staticmethod
    def _cholesky(library: Any) -> Callable[..., Any]:
        """Dask's own gives the upper factor unless it is told otherwise."""
        cholesky = library.linalg.cholesky

        def lower(x: Any, /, *, upper: bool = False) -> Any:
            return cholesky(x, lower=not upper)

        return lower


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
load_dask = _loader("dask", "dask", "dask.array", Dask)
