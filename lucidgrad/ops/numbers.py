"""Numbers and their dtypes: infinity, NaN, and what kind of numbers an array holds."""

from typing import Any

from lucidgrad.core.dispatch import complexes, floats

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


def as_array(xp: Any, x: Any, like: Any) -> Any:
    """A Python number as an array, for functions that take no numbers."""
    return xp.full_like(like, fill_value=x) if isinstance(x, (int, float, complex)) else x
