"""The data type functions of the Array API standard, on the canonical dtypes that all devices show."""

import math
from typing import Any, NamedTuple

from .core import device, dtype as dtypes
from .core.dispatch import SCALARS, number, promoted
from .tensor import Tensor

__all__ = ["can_cast", "finfo", "iinfo", "isdtype", "promote_types", "result_type"]

_SIGNED = ("int8", "int16", "int32", "int64")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_REAL = ("float16", "float32", "float64")
_COMPLEX = ("complex64", "complex128")
_BRAIN = "bfloat16"  # real, too, but not one that every device has

#: The dtype names of each kind that the standard names.
KINDS = {
    "bool": ("bool",),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": _REAL,
    "complex floating": _COMPLEX,
    "numeric": _SIGNED + _UNSIGNED + _REAL + _COMPLEX,
}


class FloatInfo(NamedTuple):
    """Limits of a floating-point dtype; those of a complex one are its parts'."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any

    @property
    def tiny(self) -> float:
        """PyTorch's name of the smallest normal number."""
        return self.smallest_normal

    @property
    def resolution(self) -> float:
        """The power of ten that decimal digits can be told apart by."""
        return 10.0 ** -math.floor(-math.log10(self.eps))


class IntegerInfo(NamedTuple):
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: Any


def _name(function: str, dtype: Any) -> str:
    """The name of a dtype, which may be given as an array of it or in any form that equals it."""
    dtype = _dtype(dtype)
    for name, known in dtypes.known().items():
        if dtype is known or known == dtype:
            return name
    raise TypeError(f"{function}: given {dtype!r}, expected a dtype")


def _dtype(given: Any) -> Any:
    if isinstance(given, Tensor):
        return given.dtype
    home = device.by_array.get(type(given))
    return given if home is None else home.dtype_of(given)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: a dtype, one of the standard's names of kinds, or a tuple of such.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.isdtype(lg.float32, ("real floating", lg.int8))
    True
    >>> lg.isdtype(lg.bool, "numeric")
    False
    """
    name = _name("isdtype", dtype)
    if isinstance(kind, tuple):
        return any(isdtype(dtype, part) for part in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: given kind {kind!r}, expected one of {', '.join(KINDS)}")
        return name in KINDS[kind] or (name == _BRAIN and kind in ("real floating", "numeric"))
    return name == _name("isdtype", kind)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that an operation on these arrays, dtypes and Python numbers gives.

    Integers and booleans never lift a float: float32 with int64 is float32. Numbers, Python's and NumPy's scalars
    alike, take the arrays' dtype where their kind allows; a float with integers alone gives the default dtype.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.result_type(lg.float32, lg.float64)
    dtype('float64')
    >>> lg.result_type(lg.float32, lg.int64)
    dtype('float32')
    >>> lg.result_type(lg.ones(2), 1.5)
    dtype('float32')
    """
    given = [number(x) for x in arrays_and_dtypes]
    numbers = {type(x) for x in given if type(x) in SCALARS}
    dtypes_given = [dtypes.named(_name("result_type", x)) for x in given if type(x) not in SCALARS]
    if not dtypes_given:
        raise ValueError("result_type: expected at least one array or dtype")
    found = promoted(*dtypes_given)
    inexact = isdtype(found, ("real floating", "complex floating"))
    if complex in numbers:
        return device.backend_named("cpu").xp.result_type(found, 1j) if inexact else dtypes.default_complex_dtype()
    if float in numbers:
        return found if inexact else dtypes.get_default_dtype()
    return dtypes.named("int64") if int in numbers and isdtype(found, "bool") else found


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether a dtype, or an array's, promotes to another one without loss.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.can_cast(lg.int8, lg.int32), lg.can_cast(lg.float64, lg.float32)
    (True, False)
    """
    cast = device.backend_named("cpu").xp.can_cast
    return bool(cast(dtypes.named(_name("can_cast", from_)), dtypes.named(_name("can_cast", to))))


def finfo(type: Any, /) -> FloatInfo:
    """Limits of a floating-point dtype, or of an array's: bits, eps, max, min, smallest_normal.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.finfo(lg.float32).bits, lg.finfo(lg.complex128).eps
    (32, 2.220446049250313e-16)
    """
    name = _name("finfo", type)
    if name not in (*_REAL, *_COMPLEX, _BRAIN):
        raise TypeError(f"finfo: given {name}, expected a floating-point dtype")
    real = dtypes.named({"complex64": "float32", "complex128": "float64"}.get(name, name))
    found = device.backend_named("cpu").xp.finfo(real)
    eps, high, low, normal = (float(limit) for limit in (found.eps, found.max, found.min, found.smallest_normal))
    return FloatInfo(int(found.bits), eps, high, low, normal, real)


def iinfo(type: Any, /) -> IntegerInfo:
    """Limits of an integer dtype, or of an array's: bits, max, min.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.iinfo(lg.uint8).max
    255
    """
    name = _name("iinfo", type)
    if name not in KINDS["integral"]:
        raise TypeError(f"iinfo: given {name}, expected an integer dtype")
    found = device.backend_named("cpu").xp.iinfo(dtypes.named(name))
    return IntegerInfo(int(found.bits), int(found.max), int(found.min), dtypes.named(name))


def promote_types(type1: Any, type2: Any) -> Any:
    """The dtype that two dtypes promote to.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.promote_types(lg.int8, lg.float32)
    dtype('float32')
    """
    return result_type(type1, type2)
