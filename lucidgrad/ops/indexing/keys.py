"""Keys without arrays, worked out for a shape with functions of the standard."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from lucidgrad.keys import completed, parts_of


class ResolvedKey(NamedTuple):
    """A key worked out for a shape."""

    slices: tuple[slice, ...]  # one for each axis
    region: tuple[int, ...]  # the shape that they leave
    whole: bool  # whether that is everything, in its order
    shape: tuple[int, ...]  # the region without the axes of integers, with the key's new ones


def resolve(name: str, key: Any, shape: Sequence[int]) -> ResolvedKey:
    """Work a key out for a shape."""
    slices: list[slice] = []
    made: list[int] = []
    for part in completed(name, parts_of(key), len(shape)):
        if part is None:
            made.append(1)
        elif isinstance(part, slice):
            n = shape[len(slices)]
            slices.append(_slice(part, n))
            made.append(len(range(*slices[-1].indices(n))))
        else:
            k = integer(name, part, shape[len(slices)])
            slices.append(slice(k, k + 1, 1))
    region = tuple(len(range(*s.indices(n))) for s, n in zip(slices, shape, strict=True))
    whole = all(s == slice(0, n, 1) for s, n in zip(slices, shape, strict=True))
    return ResolvedKey(tuple(slices), region, whole, tuple(made))


def _slice(part: slice, n: int) -> slice:
    """A slice inside the bounds, as the standard wants it."""
    start, stop, step = part.indices(n)
    if not range(start, stop, step):
        return slice(0, 0, 1)
    return slice(start, stop if stop >= 0 else None, step)


def integer(name: str, i: Any, n: int) -> int:
    """An integer index counted from the front."""
    k = int(i)
    if not -n <= k < n:
        raise IndexError(f"{name}: index {k} is out of range for an axis of size {n}")
    return k % n
