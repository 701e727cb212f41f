"""Numbers and libraries' arrays among the arguments of transforms: inside they are tensors, outside they stay guests.

Where a transform meets a leaf that is no tensor, it asks here; tensors never come by, and so pay nothing.
"""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core import device as devices, dtype as dtypes
from lucidgrad.core.dispatch import node_of
from lucidgrad.creation import asarray
from lucidgrad.levels.layer import Layer
from lucidgrad.tensor import Tensor

_NUMBERS = {float: "float64", complex: "complex128"}


def received(who: str, x: Any, like: Tensor | None = None) -> Tensor:
    """A leaf as a tensor, double precision for Python's numbers; ``like`` gives them its dtype and device."""
    name = _NUMBERS.get(type(x))
    if name is not None:
        if like is not None and like.dtype.kind in "fc"[name == "complex128" :]:
            return asarray(x, dtype=like.dtype, device=like.device)
        return asarray(x, dtype=dtypes.named(name))
    if devices.recognise(x) is None:
        raise TypeError(
            f"{who}: an argument has a leaf of type {type(x).__name__}, expected tensors, arrays and "
            f"floating-point numbers only"
        )
    return asarray(x)


def welcomed(who: str, leaves: list[Any], like: Sequence[Any] | None = None) -> list[Any]:
    """The leaves as tensors, each ``like`` one of others; the very list if they are."""
    for x in leaves:
        if type(x) is not Tensor:
            pairs = zip(leaves, [None] * len(leaves) if like is None else like, strict=True)
            return [x if isinstance(x, Tensor) else received(who, x, other) for x, other in pairs]
    return leaves


def returned(x: Any, y: Any) -> Any:
    """A derivative with respect to x as x is: a number, a library's array, or a tensor.

    What has a history, or is still inside a transform, stays a tensor: a number would forget it.
    """
    if isinstance(x, Tensor) or not isinstance(y, Tensor) or node_of(y) is not None or isinstance(y.array, Layer):
        return y
    if type(x) in _NUMBERS:
        return y.item() if y.shape == () else _own(y)
    home = devices.recognise(x)
    made = _own(y if devices.by_array[type(y.array)] is home else y.to(home.name))
    return made[()] if y.shape == () and type(x) is type(made[()]) else made  # NumPy has scalars, too


def all_returned(xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
    """One derivative per leaf."""
    return [returned(x, y) for x, y in zip(xs, ys, strict=True)]


def value(xs: Sequence[Any], y: Any) -> Any:
    """A value of a function of these leaves: a tensor if one of them is, else an array, or a number where it is one."""
    if not isinstance(y, Tensor):  # of what a function gives beside its value
        return y
    for x in xs:
        if isinstance(x, Tensor):
            return y
    array = next((x for x in xs if type(x) not in _NUMBERS), xs[0])
    made = returned(array, y)
    return made if type(array) in _NUMBERS or isinstance(made, Tensor) or made.shape != () else made[()]


def _own(y: Tensor) -> Any:
    """Memory of its own: a gradient may be a view, of one number or of an argument."""
    return devices.by_array[type(y.array)].copy(y.array)
