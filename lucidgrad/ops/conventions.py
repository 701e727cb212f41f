"""What functions promise beside their values: PyTorch's spelling, a signature, named results, writing in place."""

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from lucidgrad.core.dispatch import SPELLINGS, UNSET
from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.inplace import update as update

if TYPE_CHECKING:
    from lucidgrad.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def torch_spelled(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function made of others take ``dim`` and ``keepdim``, as primitives do."""

    @functools.wraps(function)
    def spelled(*args: Any, **keywords: Any) -> R:
        for ours, torch in SPELLINGS.items():
            if torch in keywords:
                keywords[ours] = keywords.pop(torch)
        return function(*args, **keywords)

    return spelled


def dressed(function: Callable[..., Any], op: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function that calls an operator the operator's name and documentation; it keeps its own signature."""
    functools.update_wrapper(function, op)
    del function.__wrapped__, function.__signature__  # type: ignore[attr-defined]
    return function


def cast_before(op: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function along an axis take a ``dtype``, in which it is then computed."""
    signature: inspect.Signature = op.__signature__  # type: ignore[attr-defined]

    def cast(
        x: Any,
        /,
        axis: Any = signature.parameters["axis"].default,
        *,
        dtype: Any = None,
        dim: Any = UNSET,
        **keywords: Any,
    ) -> Any:
        x = x if dtype is None else ops.astype(x, dtype=dtype)
        axis = axis if dim is UNSET else dim
        return op(x, axis, **keywords) if keywords else op(x, axis)

    dressed(cast, op)
    more = inspect.Parameter("dtype", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)
    cast.__signature__ = signature.replace(parameters=[*signature.parameters.values(), more])  # type: ignore[attr-defined]
    return cast


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
