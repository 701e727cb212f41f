"""Numbers and their dtypes: infinity, NaN, and what kind of numbers an array holds."""

from typing import Any

from lucidgrad.core.dispatch import complexes, dtype_of, floats, number, numbers, promoted
from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.ops.precision import widest
from lucidgrad.refusals import only_real as only_real

INF, NAN = float("inf"), float("nan")


def is_complex(dtype: Any) -> bool:
    """Whether a dtype of any back end is complex."""
    return dtype in complexes


def is_inexact(dtype: Any) -> bool:
    """Whether a dtype is real or complex, and not of integers."""
    return dtype in floats


def inexact(x: Any) -> Any:
    """Integers as floats, before differences or squares of them can overflow."""
    return x if is_inexact(x.dtype) else x * 1.0


def evened(*values: Any) -> tuple[Any, ...]:
    """Arguments with their floats in the dtype that they come to, before parts are computed in a narrower one."""
    found = [None if type(value) in numbers else dtype_of(value) for value in values]  # libraries' scalars are weak
    dtype = widest(*found)
    if dtype is None:
        return values
    narrow = [own in floats and own != dtype for own in found]
    return tuple(
        [ops.astype(value, dtype=dtype) if cast else value for value, cast in zip(values, narrow, strict=True)]
    )


def together(*values: Any) -> list[Any]:
    """Arguments that come to one dtype, before any is computed with: integers take that of the floats beside them.

    Libraries' scalars are Python's numbers then, and arrays of integers without any float are floats.
    """
    plain = evened(*(number(value) for value in values))
    dtype = (
        promoted(*{value.dtype for value in plain if hasattr(value, "dtype")}) if any(map(_is_array, plain)) else None
    )
    if dtype is not None and is_inexact(dtype):
        return [
            ops.astype(value, dtype=dtype) if _is_array(value) and not is_inexact(value.dtype) else value
            for value in plain
        ]
    return [inexact(value) if _is_array(value) else value for value in plain]


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype")


def as_array(xp: Any, x: Any, like: Any) -> Any:
    """A Python number as an array, for functions that take no numbers."""
    if isinstance(x, complex) and not is_complex(like.dtype):
        return xp.zeros_like(like) + x
    return xp.full_like(like, fill_value=x) if isinstance(x, (int, float, complex)) else x
