"""PyTorch's data types: NumPy's, which tensors have, with the attributes that PyTorch's have.

``x.dtype.is_floating_point`` is what programs ask of any tensor, so it is NumPy's own dtypes that have these attributes
once the door is open.
"""

from typing import Any

import lucidgrad as lg
from lucidgrad.backends.cpu.attributes import give
from lucidgrad.core.dtype import named
from lucidgrad.datatypes import FloatInfo, IntegerInfo, finfo as _finfo, iinfo as _iinfo

#: PyTorch's names by those of the dtypes.
_NAMES = {
    "bool": "bool", "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "int8": "int8",
    "int16": "int16 short", "int32": "int32 int", "int64": "int64 long", "float16": "float16 half",
    "bfloat16": "bfloat16", "float32": "float32 float", "float64": "float64 double", "complex64": "complex64 cfloat",
    "complex128": "complex128 cdouble",
}  # fmt: skip

_PARTS = {"complex64": "float32", "complex128": "float64"}
_PAIRS = {"float16": "complex64", "float32": "complex64", "float64": "complex128", "bfloat16": "complex64"}

#: The class of dtypes.
dtype: type = type(lg.float32).__mro__[-2]


def _is_floating_point(dtype: Any) -> bool:
    return bool(dtype.kind == "f" or dtype.name == "bfloat16")


give(
    is_floating_point=property(_is_floating_point, doc="Whether it is one of real floating-point numbers."),
    is_complex=property(lambda dtype: dtype.kind == "c", doc="Whether it is one of complex numbers."),
    is_signed=property(lambda dtype: dtype.kind in "ifc" or _is_floating_point(dtype), doc="Whether it has a sign."),
    to_real=lambda dtype: by_name(_PARTS.get(dtype.name, dtype.name)),
    to_complex=lambda dtype: by_name(_PAIRS.get(dtype.name, dtype.name)),
)


def by_name(name: str) -> Any:
    """The dtype of a name."""
    return lg.bfloat16 if name == "bfloat16" else named(name)


#: The dtypes' own names by those that PyTorch has for them.
ALIASES = {alias: name for name, aliases in _NAMES.items() for alias in aliases.split()}

__all__ = ["dtype", "finfo", "iinfo", *ALIASES]


def __getattr__(name: str) -> Any:
    if name not in ALIASES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return by_name(ALIASES[name])


# -- limits --------------------------------------------------------------------------------------
def finfo(type: Any = None) -> FloatInfo:
    """Limits of a floating-point dtype, by default the default one: bits, eps, max, min, tiny, resolution."""
    return _finfo(lg.get_default_dtype() if type is None else type)


def iinfo(type: Any) -> IntegerInfo:
    """Limits of an integer dtype: bits, max, min."""
    return _iinfo(type)
