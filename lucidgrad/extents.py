"""Sizes: of tensors, and of windows that slide over axes, which rules and kernels both ask."""

import math
import operator
from collections.abc import Iterable
from typing import Any, overload

from .core.errors import OutOfMemoryError

#: So many elements no tensor has; what is made one by one is refused from here on, before a loop begins.
TOO_MANY = 2**36

Sizes = tuple[int, ...]


class Shape(tuple[int, ...]):
    """The lengths of axes, which know that they are no values, and their product."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return type(self)(found) if isinstance(key, slice) else found

    def __add__(self, other: Iterable[int]) -> "Shape":  # type: ignore[override]
        return type(self)((*self, *other))

    def __mul__(self, times: Any) -> "Shape":
        return type(self)(tuple(self) * times)

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


class Size(int):
    """The number of elements, which can also be asked for one axis as PyTorch's method can."""

    _shape: tuple[int, ...]

    def __new__(cls, shape: tuple[int, ...]) -> "Size":  # noqa: D102
        n = 1
        for k in shape:
            n *= k
        made = super().__new__(cls, n)
        made._shape = shape
        return made

    @overload
    def __call__(self, dim: None = None) -> Shape: ...
    @overload
    def __call__(self, dim: int) -> int: ...
    def __call__(self, dim: int | None = None) -> int | Shape:  # noqa: D102
        return Shape(self._shape) if dim is None else self._shape[dim]


def lead_and_last(shape: Sizes, count: int) -> tuple[Sizes, Sizes]:
    """The leading axes, and the last ``count``."""
    at = len(shape) - count
    return tuple(shape[:at]), tuple(shape[at:])


def check_shape(name: str, shape: Sizes) -> None:
    """Raise if a result would have more elements than any memory holds."""
    if Size(shape) >= TOO_MANY or any(n >= TOO_MANY for n in shape):
        raise OutOfMemoryError(f"{name}: a result of shape {tuple(shape)} was asked for, which no memory holds")


def check_count(name: str, argument: str, value: Any, least: int = 0, most: int = TOO_MANY) -> int:
    """A whole number of things that are made one by one."""
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: given {argument} of type {type(value).__name__}, expected a whole number") from None
    if not least <= count <= most:
        raise ValueError(f"{name}: given {argument}={count}, expected a number from {least} to {most}")
    return count


def out_sizes(
    name: str, sizes: Sizes, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool = False
) -> Sizes:
    """How many places a window has along each axis."""
    if not len(sizes) == len(window) == len(stride) == len(padding) == len(dilation):
        raise ValueError(
            f"{name}: given sizes {tuple(sizes)}, window {window}, stride {stride}, padding {padding} and dilation "
            f"{dilation}, expected as many of each"
        )
    made = []
    for n, k, s, p, d in zip(sizes, window, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        places = (room + (s - 1) * ceil_mode) // s + 1 if min(k, s, d) > 0 <= p else 0
        if ceil_mode and (places - 1) * s >= n + p:  # the last window has to start inside
            places -= 1
        if places < 1:
            raise RuntimeError(
                f"{name}: a window {window} with stride {stride}, padding {padding} and dilation {dilation} does not "
                f"fit into sizes {tuple(sizes)}"
            )
        made.append(places)
    check_shape(name, tuple(made))
    return tuple(made)


def check_channels(x: Sizes, w: Sizes, groups: int) -> None:
    """Raise unless weights fit the channels of an input."""
    if len(x) != len(w) or groups < 1 or w[0] % groups or x[1] != w[1] * groups:
        raise RuntimeError(
            f"convolution: given an input of shape {tuple(x)} and weights of shape {tuple(w)} in {groups} groups, "
            f"expected (n, channels, ...) and (outputs, channels / groups, ...), both divisible by the groups"
        )
