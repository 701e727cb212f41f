"""Axes and shapes as Python data: counted from the front, checked, and put in order."""

import operator
from collections.abc import Sequence
from typing import Any

from lucidgrad.core.errors import AxisError


def axis_of(name: str, axis: Any, rank: int) -> int:
    """An axis counted from the front."""
    try:
        number = operator.index(axis)
    except TypeError:
        raise TypeError(f"{name}: given axis {axis!r}, expected an integer") from None
    if not -rank <= number < rank:
        raise AxisError(f"{name}: axis {number} is out of range for an array of dimension {rank}")
    return number % rank


def axes_of(name: str, axis: Any, rank: int) -> tuple[int, ...]:
    """One axis or several, counted from the front; each may occur once."""
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(axis_of(name, a, rank) for a in given)
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: given axes {given}, expected each axis once")
    return axes


def axes_of_one(name: str, axis: Any) -> tuple[int, ...]:
    """No axes, for a 0-d tensor: to PyTorch it is a vector of one element, whose axis may be named."""
    axes_of(name, axis, 1)
    return ()


def sizes_of(name: str, shape: Any) -> tuple[int, ...]:
    """A shape, of which a single size may stand for a tuple of one."""
    try:
        given = shape if isinstance(shape, (tuple, list)) else (shape,)
        return tuple(operator.index(n) for n in given)
    except TypeError:
        raise TypeError(f"{name}: given shape {shape!r}, expected integers") from None


def complete(name: str, shape: Any, old: Sequence[int]) -> tuple[int, ...]:
    """A new shape for an array of an old one, with its -1 worked out."""
    sizes, total, known = sizes_of(name, shape), product(old), 1
    for n in sizes:
        known *= n if n != -1 else 1
    if sizes.count(-1) == 1 and known > 0 and total % known == 0:
        sizes, known = tuple(total // known if n == -1 else n for n in sizes), total
    if -1 in sizes or known != total or min(sizes, default=0) < 0:
        raise ValueError(f"{name}: an array of shape {tuple(old)} can't take the shape {sizes}")
    return sizes


def product(sizes: Sequence[int]) -> int:
    """The number of elements of a shape."""
    size = 1
    for n in sizes:
        size *= n
    return size


def need_matrix(name: str, rank: int) -> None:
    """Raise unless an array has two axes or more."""
    if rank < 2:
        raise ValueError(f"{name}: given an array of dimension {rank}, expected at least 2")


def order_of(name: str, axes: Any, rank: int) -> tuple[int, ...]:
    """All axes of an array, in a new order."""
    try:
        given = tuple(axes)
    except TypeError:
        raise TypeError(f"{name}: expected axes, a tuple of {rank} integers") from None
    order = tuple(axis_of(name, a, rank) for a in given)
    if sorted(order) != list(range(rank)):
        raise ValueError(f"{name}: given axes {given}, expected each of the {rank} axes once")
    return order


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def moved(source: Any, destination: Any, rank: int) -> tuple[int, ...]:
    """The order of axes after some of them have moved."""
    start, end = axes_of("moveaxis", source, rank), axes_of("moveaxis", destination, rank)
    if len(start) != len(end):
        raise ValueError(f"moveaxis: given {len(start)} source axes and {len(end)} destinations, expected as many")
    order = [a for a in range(rank) if a not in start]
    for place, a in sorted(zip(end, start)):
        order.insert(place, a)
    return tuple(order)


def on_matrices(name: str) -> Any:
    """Batching for primitives that act on the last two axes."""

    def batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
        need_matrix(name, len(values[0].shape) - 1)
        return call(*values, **keywords)

    return batch


def beside(x: Any) -> dict[str, Any]:
    """The keyword that makes a new array on the device of another, in programs: there arrays are raw."""
    return {"device": x.device} if hasattr(x, "device") else {}


def part(xp: Any, x: Any, axis: int, start: int | None, stop: int | None = None) -> Any:
    """A slice along one axis."""
    return xp.index(x, key=(*(slice(None),) * axis, slice(start, stop)))
