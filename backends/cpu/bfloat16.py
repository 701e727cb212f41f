"""bfloat16 on the CPU: numbers are stored in 16 bits and computed with in 32, as on hardware that has the type.

NumPy with ml_dtypes would add up sums in 16 bits, and take Python floats for 32 or 64. So arrays of this dtype are a
class of their own, of which every operation widens its inputs, runs the usual kernel, and rounds once at its end.
Loaded when ``lucidgrad.bfloat16`` is first asked for.
"""

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from lucidgrad.backends.protocol import announce
from lucidgrad.core import device, dtype as dtypes
from lucidgrad.core.dispatch import floats, halves, numbers
from lucidgrad.core.errors import install
from lucidgrad.core.primitive import Primitive, registry
from lucidgrad.levels.layer import structural

from .backend import CPU

try:
    import ml_dtypes
except ImportError:
    raise AttributeError(f"lucidgrad.bfloat16 needs ml_dtypes: {install('amp')}") from None

bfloat16 = np.dtype(ml_dtypes.bfloat16)
_WIDE = np.dtype("float32")


# -- DLPack, of which NumPy does not know this dtype: it travels as 16 bits with the dtype's code exchanged
_UNSIGNED, _BRAIN = 1, 4
#: Where in a managed tensor the dtype stands: code and bits, a byte each.
_PLACES = {b"dltensor": 20, b"dltensor_versioned": 52}


def _dtype_of(capsule: Any) -> Any:
    """Code and bits of the dtype in a capsule."""
    for name, place in _PLACES.items():
        if _is_capsule(capsule, name):
            return (ctypes.c_uint8 * 2).from_address(_pointer(capsule, name) + place)
    raise BufferError("from_dlpack: given a capsule that was used already, or that is none")


_is_capsule = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule.argtypes, _is_capsule.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


class _Bits:
    """A bfloat16 array of another library, which says that it is one of integers."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __dlpack_device__(self) -> Any:
        return self._value.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._value.__dlpack__(**options)
        dtype = _dtype_of(capsule)
        if tuple(dtype) != (_BRAIN, 16):
            raise BufferError(f"from_dlpack: given a dtype with code {dtype[0]} and {dtype[1]} bits")
        dtype[0] = _UNSIGNED
        return capsule


def from_dlpack(value: Any, copy: bool | None, error: Exception) -> Any:
    """A bfloat16 array of another library; ``error`` is what NumPy says to it, and to others."""
    try:
        bits = np.from_dlpack(_Bits(value), copy=copy)
    except BufferError:
        raise error from None
    return bits.view(bfloat16).view(Brain)


class Brain(np.ndarray):
    """An array of bfloat16. Operators widen and round as kernels do; with wider arrays the result is wide."""

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.view(np.ndarray).view(np.uint16).__dlpack__(**options)
        _dtype_of(capsule)[0] = _BRAIN
        return capsule

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if out is not None:  # in place: the target's dtype is kept
            made = getattr(ufunc, method)(*map(widened, inputs), **options)
            (target,) = out
            target.view(np.ndarray)[...] = made
            return target
        made = getattr(ufunc, method)(*map(widened, inputs), **options)
        return made if made is None or not _narrow(inputs) else rounded(made)


def widened(x: Any) -> Any:
    """A bfloat16 array in float32, and anything else as it is."""
    if type(x) is Brain:
        return x.view(np.ndarray).astype(_WIDE)
    return np.float32(x) if type(x) is ml_dtypes.bfloat16 else x


def rounded(y: Any) -> Any:
    """Float32 rounded to bfloat16, in results of any kind."""
    if isinstance(y, (tuple, list)):
        return type(y)(map(rounded, y))
    return as_brain(np.asarray(y).astype(bfloat16)) if getattr(y, "dtype", None) == _WIDE else y


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if type(x) is Brain else x


def as_brain(y: Any) -> Any:
    """Arrays of the dtype, and only those, as ones of the class."""
    if isinstance(y, tuple):
        return tuple(map(as_brain, y))
    if isinstance(y, ml_dtypes.bfloat16):
        y = np.asarray(y)
    if not isinstance(y, np.ndarray) or (type(y) is Brain) == (y.dtype == bfloat16):
        return y
    return y.view(np.ndarray if type(y) is Brain else Brain)


def _narrow(inputs: Any) -> bool:
    """Whether no input is wider than bfloat16; integers are not, and Python's numbers are weak."""
    return not any(
        isinstance(x, (np.ndarray, np.generic)) and type(x) is not Brain and x.dtype in floats for x in inputs
    )


class BrainCPU(CPU):
    """The CPU for arrays of bfloat16, and for such with others among them."""

    array_types = (Brain, ml_dtypes.bfloat16)
    mixes = True
    limit, steady = None, False
    pull = None  # type: ignore[assignment]  # no kernel of a rule in one call: rules run as they are written

    def kernel(self, primitive: Primitive) -> Callable[..., Any]:
        wide = device.backend_named("cpu").kernel(primitive)
        if primitive.view:  # the same memory, seen in another way
            return lambda *arrays, **keywords: as_brain(wide(*map(_plain, arrays), **keywords))
        if primitive.name in ("transfer", "clone", "overwrite") or primitive.name in structural:
            return wide  # copies, and levels, which hold what they are given
        return _rounding(wide)

    def kernel_for(self, primitive: Primitive, kernel: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
        return kernel

    def settle(self, y: Any) -> Any:
        return as_brain(np.asarray(y) if isinstance(y, np.generic) else y)

    def storage(self, array: Any) -> Any:
        while isinstance(array.base, np.ndarray):
            array = array.base
        return array

    def cast(self, array: Any, dtype: Any) -> Any:
        return as_brain(widened(array).astype(dtype))

    def copy(self, array: Any) -> Any:
        return as_brain(super().copy(array))

    def to_numpy(self, array: Any) -> Any:
        return np.asarray(array).view(np.ndarray)

    def format(self, array: Any, **options: Any) -> str:
        return super().format(widened(array), **options)


class _Names:
    """The CPU's functions by name, which round at their end."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(device.backend_named("cpu").xp, name)
        if name in registry:
            found = registry[name].find_kernel(Brain)
        elif callable(found) and not isinstance(found, type):  # dtypes are called by their names, too
            found = _rounding(found)
        setattr(self, name, found)
        return found


def _rounding(wide: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that computes in float32 and rounds at its end, unless told a dtype or given wider arrays."""

    def kernel(*arrays: Any, **keywords: Any) -> Any:
        dtype = keywords.get("dtype")
        if dtype is not None:
            low = dtype == bfloat16
            keywords["dtype"] = _WIDE if low else dtype
        else:
            low = _narrow(arrays)
        y = wide(*map(widened, arrays), **keywords)
        return rounded(y) if low else y

    return kernel


def _step(wide: Callable[..., Any], name: str, program: Any, columns: Any, settings: dict[str, Any]) -> None:
    """An optimiser's step in float32; what it writes is rounded: all but the gradients, which come second."""
    copies = [list(map(widened, column)) for column in columns]
    wide(name, program, copies, settings)
    for column, copied in ((columns[i], copies[i]) for i in range(len(columns)) if i != 1):
        for target, value in zip(column, copied, strict=True):
            if target is not value:
                target.view(np.ndarray)[...] = value


def _with_brains(make: Callable[..., Any]) -> Callable[..., Any]:
    return functools.wraps(make)(lambda *args, **options: as_brain(make(*args, **options)))


def _asarray(make: Callable[..., Any]) -> Callable[..., Any]:
    def asarray(value: Any, dtype: Any = None, where: Any = None, copy: bool | None = None) -> Any:
        if dtype is None or dtype != bfloat16 or getattr(value, "dtype", None) == bfloat16:
            return as_brain(make(value, dtype, where, copy))
        if copy is False:
            raise ValueError("copy=False, but the dtype asked for needs a copy")
        return as_brain(np.asarray(make(value, _WIDE, where)).astype(bfloat16))

    return asarray


def _known_limits(find: Callable[..., Any]) -> Callable[..., Any]:
    return lambda of: ml_dtypes.finfo(bfloat16) if of == bfloat16 else find(of)


def _promotion(find: Callable[..., Any]) -> Callable[..., Any]:
    """As float32 with others: ml_dtypes knows no type that holds both halves, and float32 does."""

    def result_type(*given: Any) -> Any:
        given = tuple(x.dtype if isinstance(x, (np.ndarray, np.generic)) else x for x in given)
        if any(x == bfloat16 for x in given) and not all(x in (bfloat16, np.dtype(bool)) for x in given):
            return find(*(_WIDE if x == bfloat16 else x for x in given))
        return bfloat16 if bfloat16 in given else find(*given)

    return result_type


def _enable() -> None:
    """Make the dtype known, and let the CPU's functions that are told a dtype give arrays of the class."""
    cpu = device.backend_named("cpu")
    dtypes.define(bfloat16=bfloat16)
    floats.add(bfloat16)
    halves.add(bfloat16)
    numbers[ml_dtypes.bfloat16] = float
    brain = BrainCPU()
    brain.xp = _Names()  # type: ignore[assignment]
    brain.kernels = {"elementwise_step": lambda *args: _step(cpu.kernels["elementwise_step"], *args)}
    for kind in brain.array_types:
        device.by_array[kind] = brain
    for backend in (cpu, brain):
        for name in ("zeros", "full", "create", "cast", "draw"):
            setattr(backend, name, _with_brains(getattr(backend, name)))
        setattr(backend, "asarray", _asarray(backend.asarray))  # noqa: B010  it is a method
    for name, primitive in registry.items():
        if "dtype" in primitive.keywords:
            _replace(cpu, name, _with_brains(getattr(cpu.xp, name)))
            _renew(primitive)
    _replace(cpu, "finfo", _known_limits(cpu.xp.finfo))
    _replace(cpu, "result_type", _promotion(cpu.xp.result_type))


def _renew(primitive: Primitive) -> None:
    """Find a primitive's functions again, in the same tables: others keep these, and the keys they used."""
    by_dtype = primitive.by_dtype.get(np.ndarray, {})
    used = [None] * (primitive.kernels.pop(np.ndarray, None) is not None) + list(by_dtype)
    by_dtype.clear()
    for dtype in used:
        primitive.kernels_for(np.ndarray, dtype)


def _replace(cpu: Any, name: str, function: Callable[..., Any]) -> None:
    cpu.kernels[name] = function
    setattr(cpu.xp, name, function)


_enable()
announce("bfloat16")
