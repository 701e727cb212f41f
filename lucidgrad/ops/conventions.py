"""What functions promise beside their values: PyTorch's spelling, a signature, named results, writing in place."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from lucidgrad.core.dispatch import SPELLINGS
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


# -- results -------------------------------------------------------------------------------------
class ValuesAndIndices(NamedTuple):
    """Values that were picked along an axis, and where they stood."""

    values: "Tensor"
    indices: "Tensor"


def pick(x: Any, i: Any, axis: int) -> ValuesAndIndices:
    """The values at positions along an axis, and the positions."""
    if x.ndim:
        return ValuesAndIndices(ops.take_along_axis(x, i, axis=axis), i)
    return ValuesAndIndices(ops.reshape(x, shape=()), i)
