"""Comparisons, predicates, logic and bits: functions without derivatives."""

from typing import Any

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.core.primitive import ELEMENTWISE, primitive
from lucidgrad.ops import reduction
from lucidgrad.ops.numbers import INF, inexact, is_complex, only_real


# -- order ---------------------------------------------------------------------------------------
@primitive(ELEMENTWISE)
def equal(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Whether ``x1 == x2``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.equal(lg.tensor([1.0, 2.0, 3.0]), 2.0).tolist()
    [False, True, False]
    """
    return xp.equal(x1, x2)


@primitive(ELEMENTWISE)
def not_equal(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Whether ``x1 != x2``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.not_equal(lg.tensor([1.0, 2.0, 3.0]), 2.0).tolist()
    [True, False, True]
    """
    return xp.not_equal(x1, x2)


@primitive(ELEMENTWISE)
def less(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Whether ``x1 < x2``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.less(lg.tensor([1.0, 2.0, 3.0]), 2.0).tolist()
    [True, False, False]
    """
    return xp.less(x1, x2)


@primitive(ELEMENTWISE)
def less_equal(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Whether ``x1 <= x2``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.less_equal(lg.tensor([1.0, 2.0, 3.0]), 2.0).tolist()
    [True, True, False]
    """
    return xp.less_equal(x1, x2)


@primitive(ELEMENTWISE)
def greater(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Whether ``x1 > x2``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.greater(lg.tensor([1.0, 2.0, 3.0]), 2.0).tolist()
    [False, False, True]
    """
    return xp.greater(x1, x2)


@primitive(ELEMENTWISE)
def greater_equal(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Whether ``x1 >= x2``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.greater_equal(lg.tensor([1.0, 2.0, 3.0]), 2.0).tolist()
    [False, True, True]
    """
    return xp.greater_equal(x1, x2)


#: PyTorch's short names.
eq, ne, lt, le, gt, ge = equal, not_equal, less, less_equal, greater, greater_equal


# -- predicates ----------------------------------------------------------------------------------
@primitive(ELEMENTWISE)
def isfinite(xp: Any, x: Any, /) -> Any:
    """Whether a number is neither infinite nor NaN.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.isfinite(lg.tensor([1.0, float("inf"), float("nan")])).tolist()
    [True, False, False]
    """
    return xp.isfinite(x)


@primitive(ELEMENTWISE)
def isinf(xp: Any, x: Any, /) -> Any:
    """Whether a number is infinite.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.isinf(lg.tensor([1.0, float("inf"), float("nan")])).tolist()
    [False, True, False]
    """
    return xp.isinf(x)


@primitive(ELEMENTWISE)
def isnan(xp: Any, x: Any, /) -> Any:
    """Whether a number is NaN.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.isnan(lg.tensor([1.0, float("inf"), float("nan")])).tolist()
    [False, False, True]
    """
    return xp.isnan(x)


def isposinf(x: Any, /) -> Any:
    """Whether a real number is positive infinity.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.isposinf(lg.tensor([1.0, float("inf"), float("-inf")])).tolist()
    [False, True, False]
    """
    only_real("isposinf", x)
    return equal(x, INF)


def isneginf(x: Any, /) -> Any:
    """Whether a real number is negative infinity.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.isneginf(lg.tensor([1.0, float("inf"), float("-inf")])).tolist()
    [False, False, True]
    """
    only_real("isneginf", x)
    return equal(x, -INF)


def isreal(x: Any, /) -> Any:
    """Whether a number has no imaginary part.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.isreal(lg.tensor([1.0 + 0.0j, 1.0j])).tolist()
    [True, False]
    """
    return ops.imag(x) == 0 if is_complex(x.dtype) else ops.ones_like(x) != 0


@primitive(ELEMENTWISE)
def signbit(xp: Any, x: Any, /) -> Any:
    """Whether the sign bit is set: of negative numbers and of -0.0.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.signbit(lg.tensor([1.0, -1.0, -0.0])).tolist()
    [False, True, True]
    """
    return xp.signbit(x)


# -- logic ---------------------------------------------------------------------------------------
@primitive(ELEMENTWISE)
def logical_and(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Whether both are true.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.logical_and(lg.tensor([True, True, False]), lg.tensor([True, False, False])).tolist()
    [True, False, False]
    """
    return xp.logical_and(x1, x2)


@primitive(ELEMENTWISE)
def logical_or(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Whether one or both are true.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.logical_or(lg.tensor([True, True, False]), lg.tensor([True, False, False])).tolist()
    [True, True, False]
    """
    return xp.logical_or(x1, x2)


@primitive(ELEMENTWISE)
def logical_xor(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Whether exactly one is true.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.logical_xor(lg.tensor([True, True, False]), lg.tensor([True, False, False])).tolist()
    [False, True, False]
    """
    return xp.logical_xor(x1, x2)


@primitive(ELEMENTWISE)
def logical_not(xp: Any, x: Any, /) -> Any:
    """Whether a value is false.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.logical_not(lg.tensor([True, False])).tolist()
    [False, True]
    """
    return xp.logical_not(x)


# -- bits ----------------------------------------------------------------------------------------
@primitive(ELEMENTWISE)
def bitwise_and(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Bits set in both.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.bitwise_and(lg.tensor([5, 6]), 3).tolist()
    [1, 2]
    """
    return xp.bitwise_and(x1, x2)


@primitive(ELEMENTWISE)
def bitwise_or(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Bits set in one or both.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.bitwise_or(lg.tensor([5, 6]), 3).tolist()
    [7, 7]
    """
    return xp.bitwise_or(x1, x2)


@primitive(ELEMENTWISE)
def bitwise_xor(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Bits set in exactly one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.bitwise_xor(lg.tensor([5, 6]), 3).tolist()
    [6, 5]
    """
    return xp.bitwise_xor(x1, x2)


@primitive(ELEMENTWISE)
def bitwise_left_shift(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Bits of ``x1`` moved up by ``x2`` places.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.bitwise_left_shift(lg.tensor([5, 6]), 3).tolist()
    [40, 48]
    """
    return xp.bitwise_left_shift(x1, x2)


@primitive(ELEMENTWISE)
def bitwise_right_shift(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Bits of ``x1`` moved down by ``x2`` places.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.bitwise_right_shift(lg.tensor([5, 6]), 3).tolist()
    [0, 0]
    """
    return xp.bitwise_right_shift(x1, x2)


@primitive(ELEMENTWISE)
def bitwise_invert(xp: Any, x: Any, /) -> Any:
    """All bits flipped.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.bitwise_invert(lg.tensor([0, 5])).tolist()
    [-1, -6]
    """
    return xp.bitwise_invert(x)


# -- equality ------------------------------------------------------------------------------------
def isclose(x1: Any, x2: Any, /, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether ``abs(x1 - x2) <= atol + rtol * abs(x2)``, elementwise; infinities are close to themselves.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.isclose(lg.asarray([1.0, 2.0]), lg.asarray([1.000001, 2.1])).tolist()
    [True, False]
    """
    same = equal(x1, x2)
    a, b = (inexact(x) if hasattr(x, "dtype") else x for x in (x1, x2))
    b = b if hasattr(b, "dtype") else ops.full_like(a, fill_value=b)
    finite = ops.isfinite(b)
    size = ops.where(finite, b, 0)
    close = same | (finite & (ops.abs(a - size) <= atol + rtol * ops.abs(size)))
    return close | ((b != b) & (a != a)) if equal_nan else close


def allclose(x1: Any, x2: Any, /, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as `isclose` says.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.allclose(lg.asarray([1.0, 2.0]), lg.asarray([1.000001, 2.0]))
    True
    """
    return bool(reduction.all(isclose(x1, x2, rtol, atol, equal_nan)))


def array_equal(x1: Any, x2: Any, /, equal_nan: bool = False) -> bool:
    """Whether two arrays have the same shape and elements.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.array_equal(lg.ones(2), lg.ones(2)), lg.array_equal(lg.ones(2), lg.ones((2, 1)))
    (True, False)
    """
    if tuple(x1.shape) != tuple(x2.shape):
        return False
    same = equal(x1, x2)
    return bool(reduction.all(same | ((x1 != x1) & (x2 != x2)) if equal_nan else same))
