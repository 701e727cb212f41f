"""The data types by name, and the default floating-point type.

The objects themselves come from the CPU back end (`define`): the core names no array library.
"""

import functools
from _thread import _local as local  # what `threading` has by this name, which takes long to import
from typing import Any

_defined: dict[str, Any] = {}
_objects: set[Any] = set()


class _Default(local):
    """What Python floats become: the class knows it for all threads, its instance for one that differs for a while."""

    real = "float32"


default = _Default()
_COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}


def define(**dtypes: Any) -> None:
    """Name the canonical dtype objects."""
    _defined.update(dtypes)
    _objects.update(dtypes.values())


def named(name: str) -> Any:
    """The canonical dtype object of this name."""
    try:
        return _defined[name]
    except KeyError:
        raise TypeError(f"given the dtype {name!r}, expected one of {', '.join(_defined)}") from None


def known() -> dict[str, Any]:
    """All canonical dtypes by name."""
    return dict(_defined)


@functools.cache
def rank(dtype: Any) -> int:
    """The order of the kinds of numbers, for any library's dtype: 0 to 3 for bool, integer, real, complex."""
    name = plain_name(dtype).rstrip("0123456789").removeprefix("u")
    return ["bool", "int", "float", "complex"].index(name.removeprefix("b") if name == "bfloat" else name)


def plain_name(dtype: Any) -> str:
    """The name of a dtype, whatever library it is of."""
    return str(dtype).rpartition(".")[2]


def checked(name: str, dtype: Any) -> Any:
    """The dtype if it is one of those that tensors have; NumPy has others."""
    if dtype in _objects or dtype in _defined.values():  # such as "float32", which equals its dtype
        return dtype
    found = _defined.get(getattr(dtype, "name", None))  # type: ignore[arg-type]  # of another byte order
    if found is None:
        raise TypeError(f"{name}: given dtype {dtype!r}, expected one of {', '.join(_defined)}")
    return found


def get_default_dtype() -> Any:
    """The dtype that Python floats become.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.get_default_dtype()
    dtype('float32')
    """
    return _defined[default.real]


def default_complex_dtype() -> Any:
    """The complex dtype whose parts are of the default dtype."""
    return _defined[_COMPLEX_OF[default.real]]


def set_default_dtype(dtype: Any) -> None:
    """Set the dtype that Python floats become: float32 or float64.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.set_default_dtype(lg.float64)
    >>> lg.tensor(1.0).dtype
    dtype('float64')
    >>> lg.set_default_dtype(lg.float32)
    """
    for name in _COMPLEX_OF:
        if dtype is not None and _defined[name] == dtype:  # NumPy's float64 equals None
            _Default.real = name
            return
    raise TypeError(f"set_default_dtype: given {dtype!r}, expected float32 or float64")
