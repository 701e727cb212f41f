"""Any library of the Array API standard as a back end, with the standard's functions and nothing else.

Where a primitive has no function in the standard, its program runs. The first library served this way
is array-api-strict, as device ``"strict"``: it refuses all that the standard does not promise, so a rule that
runs there runs everywhere.
"""

import functools
import operator
import warnings
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

from lucidgrad.backends.protocol import STANDARD, Backend, numbers_as_arrays
from lucidgrad.core import device, dtype as dtypes
from lucidgrad.core.dispatch import complexes, floats
from lucidgrad.core.errors import DeviceError
from lucidgrad.core.items import meta_of
from lucidgrad.core.primitive import ELEMENTWISE, Primitive, registry
from lucidgrad.keys import parted
from lucidgrad.levels.layer import BINARY, COMPARE, Layer


class Offered:
    """What a library offers, of a namespace or a part of it: what is missing or refused is said by name."""

    def __init__(self, device: str, library: Any, replaced: dict[str, Any] | None = None, path: str = "") -> None:
        self._device, self._library, self._replaced, self._path = device, library, replaced or {}, path

    def __getattr__(self, name: str) -> Any:
        path = f"{self._path}{name}"
        found = self._replaced.get(path) or getattr(self._library, name, None)
        if found is None:
            if name.startswith("__"):
                raise AttributeError(name)
            raise self._refusal(path, "its library has no such function")
        if isinstance(found, ModuleType) or (not self._path and name in ("linalg", "fft")):
            found = Offered(self._device, found, self._replaced, f"{path}.")
        elif callable(found) and not isinstance(found, type):
            found = self._guarded(path, found)
        setattr(self, name, found)
        return found

    def _guarded(self, path: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            try:
                return function(*args, **keywords)
            except (RuntimeError, ValueError) as error:
                if isinstance(error, ValueError) and "support" not in str(error):
                    raise
                raise self._refusal(path, str(error).partition("\n")[0] or type(error).__name__) from error

        return call

    def _refusal(self, path: str, reason: str) -> DeviceError:
        return DeviceError(
            f"{path} can't be computed on device {self._device!r}: {reason}; where the CPU can, use x.to('cpu')"
        )


class Generic(Backend):
    """A namespace, the array types that belong to it, and the device name that tensors on it show.

    Tensors show the canonical dtypes; the library's own stay below this class.

    Parameters
    ----------
    name
        The device name.
    library
        A namespace of the standard, as `array_api_compat.array_namespace` gives it.
    array_types
        The exact types of its arrays.
    """

    def __init__(self, name: str, library: Any, array_types: tuple[type, ...]) -> None:
        super().__init__()
        library = Offered(name, library, self.replaced(library))
        self.name, self.library, self.array_types = name, library, array_types
        known = (key for key in dtypes.known() if key != "bfloat16" and hasattr(library._library, key))
        self._native = self.dtype_objects(known)
        self._canonical = {native: dtypes.named(key) for key, native in self._native.items()}
        floats.update(native for key, native in self._native.items() if "float" in key or "complex" in key)
        complexes.update(native for key, native in self._native.items() if "complex" in key)
        self.kernels.update(_kernels(self, library))

    @classmethod
    def of(cls, name: str, array: Any) -> "Generic":
        """The back end of an array's library."""
        import array_api_compat

        return cls(name, array_api_compat.array_namespace(array), (type(array),))

    def replaced(self, library: Any) -> dict[str, Any]:
        """Functions, by their paths, to be used in place of the library's own, which do something else."""
        return {}

    # -- dtypes
    def dtype_objects(self, names: Iterable[str]) -> dict[str, Any]:
        """The dtypes that the library's arrays show, by name."""
        return {name: getattr(self.library, name) for name in names}

    def native(self, dtype: Any) -> Any:
        """The library's dtype for a canonical one."""
        if dtype is None or type(dtype) in {type(own) for own in self._canonical}:
            return dtype
        for key, known in dtypes.known().items():
            if known == dtype and key in self._native:
                return self._native[key]
        raise self._unknown(dtype)

    def dtype_of(self, array: Any) -> Any:
        try:
            return self._canonical[array.dtype]
        except KeyError:
            raise self._unknown(array.dtype) from None

    def _unknown(self, dtype: Any) -> TypeError:
        known = ", ".join(name for name in self._native if name.startswith("float"))
        return TypeError(
            f"given {str(dtype).rpartition('.')[2]}, which is not computed with on device {self.name!r}; there are "
            f"{known}, and others on device 'cpu'"
        )

    def locate(self, where: device.Device) -> device.Device:
        """The library's own choice: it has no devices that are told apart here."""
        if where.index is not None:
            raise DeviceError(f"device {str(where)!r} is not known: there is {self.name!r} alone, without an index")
        return where

    def kernel(self, primitive: Primitive) -> Callable[..., Any]:
        """Python numbers become arrays where a program runs: it may use them where only arrays can stand."""
        run = super().kernel(primitive)
        if primitive.kind is not ELEMENTWISE or primitive.name in {*self.kernels, *STANDARD}:
            return run
        return numbers_as_arrays(self, run)

    def write(self, array: Any, key: Any, value: Any) -> Any:
        """Write whole arrays only: the standard knows few keys, so a part is replaced in a copy first."""
        if type(value) not in self.array_types:
            value = self.asarray(value, dtype=self.dtype_of(array))
        if key is not Ellipsis:
            key, at = parted(key, array.shape)
            steps = ((registry["index" if at is None else "pick"], {"key": key}, meta_of(array)),)
            value = registry["overwrite"].program(self.xp, array, value, at, steps=steps)
        array[...] = self.kernels["astype"](value, array.dtype)
        return array

    # -- making arrays
    def zeros(self, shape: tuple[int, ...], dtype: Any, where: Any) -> Any:
        return self.placed(self.library.zeros(tuple(shape), dtype=self.native(dtype)), where)

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any, where: Any) -> Any:
        return self.placed(self.library.full(tuple(shape), value, dtype=self.native(dtype)), where)

    def create(self, name: str, where: Any, *args: Any, dtype: Any, **options: Any) -> Any:
        return self.placed(getattr(self.library, name)(*args, dtype=self.native(dtype), **options), where)

    def placed(self, array: Any, where: Any) -> Any:
        """A new array on one of the library's own devices, where it has several."""
        return array

    def asarray(self, value: Any, dtype: Any = None, where: Any = None, copy: bool | None = None) -> Any:
        if type(value) in self.array_types:
            self.dtype_of(value)
            made = self.library.asarray(value, dtype=self.native(dtype), copy=copy)
            return made if where is None else self.placed(made, where)
        host = device.backend_named("cpu").asarray(value, dtype=dtype)
        self.native(host.dtype)
        return self.placed(self.library.asarray(host, copy=copy), where)

    def to_numpy(self, array: Any) -> Any:
        return np.from_dlpack(array)

    def format(self, array: Any, **options: Any) -> str:
        return np.array2string(self.to_numpy(array), separator=", ", prefix="tensor(", **options)


class Strict(Generic):
    """array-api-strict: NumPy behind a wall. Its arrays' memory is NumPy's, so views can be told."""

    def device_of(self, array: Any) -> device.Device:
        """Its devices are ``strict``, ``strict:1`` and ``strict:2``."""
        number = str(array.device).strip("')").rpartition("device")[2]
        return device.Device(self.name, int(number) if number.isdigit() else None)

    def locate(self, where: device.Device) -> device.Device:
        if where.index not in (None, 1, 2):
            raise DeviceError(f"device {str(where)!r} is not known: array-api-strict has strict, strict:1 and strict:2")
        return where

    def placed(self, array: Any, where: Any) -> Any:
        number = None if where is None else device.Device(where).index
        return array if number is None else array.to_device(self.library.Device(f"device{number}"))

    def storage(self, array: Any) -> Any:
        base = array._array.base
        return base if type(base) is np.ndarray else array._array

    def owns(self, array: Any) -> bool:
        return bool(array._array.flags.owndata)

    def contiguous(self, array: Any) -> bool:
        return bool(array._array.flags.c_contiguous)

    def writable(self, array: Any) -> bool:
        return bool(array._array.flags.writeable)

    def write(self, array: Any, key: Any, value: Any) -> Any:
        """Write into the memory itself: the standard has no word for what repeated indices do, NumPy has."""
        parts = tuple(getattr(part, "_array", part) for part in (key if isinstance(key, tuple) else (key,)))
        array._array[parts] = getattr(value, "_array", value)
        return array

    def to_numpy(self, array: Any) -> Any:
        return array._array


def load_strict() -> None:
    """Register array-api-strict as device ``"strict"``."""
    try:
        import array_api_strict
    except ImportError as error:
        raise DeviceError("device 'strict' needs the package array-api-strict: pip install array-api-strict") from error
    # Its dtypes have NumPy's hashes, so looking one up among both meets this warning.
    warnings.filterwarnings("ignore", message="You are comparing a array_api_strict dtype")
    kind = type(array_api_strict.zeros(()))
    _defer_to_layers(kind)
    device.register(Strict("strict", array_api_strict, (kind,)))


def _defer_to_layers(kind: type) -> None:
    """Make operators return NotImplemented for a layer, so that Python asks the layer; array-api-strict's raise."""

    def deferring(plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        @functools.wraps(plain)
        def method(self: Any, other: Any) -> Any:
            return NotImplemented if isinstance(other, Layer) else plain(self, other)

        return method

    for name in (f"__{symbol}__" for symbol in (*BINARY, *COMPARE)):
        setattr(kind, name, deferring(getattr(kind, name)))


# -- functions whose calls differ between the primitives and the standard ----------------------------
def _ints(sizes: Any) -> tuple[int, ...]:
    return tuple(operator.index(n) for n in sizes) if isinstance(sizes, (tuple, list)) else (operator.index(sizes),)


def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _kernels(backend: Generic, library: Any) -> dict[str, Callable[..., Any]]:
    """Kernels by primitive name: they take the primitives' keywords and call the library as the standard says."""
    native = backend.native

    def with_dtype(name: str) -> Callable[..., Any]:
        function = getattr(library, name)

        def kernel(*arrays: Any, dtype: Any = None, **keywords: Any) -> Any:
            if dtype is not None:
                keywords["dtype"] = native(dtype)
            return function(*arrays, **keywords)

        return kernel

    def reduction(name: str) -> Callable[..., Any]:
        function = with_dtype(name)

        def kernel(x: Any, /, *, axis: Any = None, **keywords: Any) -> Any:
            return function(x, axis=_axes(axis), **keywords)

        return kernel

    def astype(x: Any, /, dtype: Any, *, copy: bool = True, device: Any = None) -> Any:
        return library.astype(x, native(dtype), copy=copy)

    def isdtype(dtype: Any, kind: Any) -> bool:
        kinds = kind if isinstance(kind, tuple) else (kind,)
        return bool(library.isdtype(native(dtype), tuple(k if isinstance(k, str) else native(k) for k in kinds)))

    def result_type(*given: Any) -> Any:
        return library.result_type(
            *(g if type(g) in (*backend.array_types, bool, int, float, complex) else native(g) for g in given)
        )

    def concat(*xs: Any, axis: int | None = 0) -> Any:
        return library.concat(xs, axis=axis)

    def stack(*xs: Any, axis: int = 0) -> Any:
        return library.stack(xs, axis=axis)

    def floor_divide(x1: Any, x2: Any, /) -> Any:
        """Infinities as the standard has them: libraries may follow C instead."""
        y = library.floor_divide(x1, x2)
        if y.dtype not in floats:
            return y
        for x in (x1, x2):
            infinite = library.isinf(x if type(x) in backend.array_types else library.asarray(float(x)))
            y = library.where(infinite, library.floor(library.divide(x1, x2)), y)
        return y

    table: dict[str, Callable[..., Any]] = {
        "astype": astype,
        "floor_divide": floor_divide,
        "isdtype": isdtype,
        "result_type": result_type,
        "concat": concat,
        "stack": stack,
        "finfo": lambda of: library.finfo(of if type(of) in backend.array_types else native(of)),
        "iinfo": lambda of: library.iinfo(of if type(of) in backend.array_types else native(of)),
        "reshape": lambda x, /, *, shape, copy=None: library.reshape(x, _ints(shape), copy=copy),
        "broadcast_to": lambda x, /, *, shape: library.broadcast_to(x, _ints(shape)),
        "permute_dims": lambda x, /, *, axes: library.permute_dims(x, _ints(axes)),
        "moveaxis": lambda x, /, *, source, destination: library.moveaxis(x, _axes(source), _axes(destination)),
        "matrix_transpose": library.matrix_transpose,
        "real": lambda x, /: library.real(x) if x.dtype in complexes else x,
        "imag": lambda x, /: library.imag(x) if x.dtype in complexes else library.zeros_like(x),
        "conj": lambda x, /: library.conj(x) if x.dtype in complexes else x,
    }
    table.update({name: with_dtype(name) for name in ("zeros_like", "ones_like", "full_like", "empty_like")})
    table.update({name: reduction(name) for name in ("sum", "prod", "max", "min", "all", "any")})
    table.update({name: with_dtype(name) for name in ("cumulative_sum", "cumulative_prod")})
    return table
