"""What functions promise beside their values: a signature, named results, writing in place."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.inplace import update as update

if TYPE_CHECKING:
    from lucidgrad.tensor import Tensor


def dressed(function: Callable[..., Any], op: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function that calls an operator the operator's name and documentation; it keeps its own signature."""
    functools.update_wrapper(function, op)
    del function.__wrapped__, function.__signature__  # type: ignore[attr-defined]
    return function


# -- results -------------------------------------------------------------------------------------
class ValuesAndIndices(NamedTuple):
    """Values that were picked along an axis, and where they stood."""

    values: "Tensor"
    indices: "Tensor"


class MantissaAndExponent(NamedTuple):
    """Numbers from 0.5 to below 1 in size, and the powers of two that they are multiplied by."""

    mantissa: "Tensor"
    exponent: "Tensor"


class MinAndMax(NamedTuple):
    """The smallest and the largest value along an axis, or of all."""

    min: "Tensor"
    max: "Tensor"


def pick(x: Any, i: Any, axis: int) -> ValuesAndIndices:
    """The values at positions along an axis, and the positions."""
    if x.ndim:
        return ValuesAndIndices(ops.take_along_axis(x, i, axis=axis), i)
    return ValuesAndIndices(ops.reshape(x, shape=()), i)
