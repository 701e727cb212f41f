"""How a loop with at most two outer axes goes through arrays that broadcast together."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Layout", "layout_of"]

#: Rows shorter than this are left to NumPy, whose loops have axes enough.
SHORTEST = 32


class Layout(NamedTuple):
    """The loop's axes, and of each array whether the innermost one moves it, and its strides along the others.

    ``flat``: there is but one axis. ``order`` is that of the results: C's or Fortran's.
    """

    shape: tuple[int, ...]
    order: str
    flat: bool
    varies: tuple[bool, ...]
    axes: tuple[int, int, int]
    strides: tuple[tuple[int, int], ...]


def layout_of(arrays: Sequence[Any]) -> Layout | None:
    """The loop through arrays; None if it would need more axes, or steps over gaps."""
    return _found(tuple([(a.shape, a.strides, a.itemsize, a.flags.aligned) for a in arrays]))


@functools.lru_cache(4096)
def _found(parts: tuple[tuple[tuple[int, ...], tuple[int, ...], int, bool], ...]) -> Layout | None:
    if not all(aligned for *_, aligned in parts):
        return None
    try:
        shape = np.broadcast_shapes(*(shape for shape, *_ in parts))
    except ValueError:  # NumPy says it best
        return None
    order = "C"
    whole = [(strides, size) for own, strides, size, _ in parts if own == shape]
    if not all(_dense(shape[::-1], strides[::-1], size) for strides, size in whole) and all(
        _dense(shape, strides, size) for strides, size in whole
    ):
        order = "F"
    strides = [_elements(shape, own, given, size) for own, given, size, _ in parts]
    if None in strides:
        return None
    axes: list[tuple[int, ...]] = list(zip(shape, *[s for s in strides if s is not None], strict=True))
    if order == "F":
        axes.reverse()
    merged: list[tuple[int, ...]] = []
    for n, *steps in axes:
        if n == 1:
            continue
        if merged and all(far == near * n for far, near in zip(merged[-1][1:], steps, strict=True)):
            merged[-1] = (merged[-1][0] * n, *steps)
        else:
            merged.append((n, *steps))
    if not merged:
        return None
    if len(merged) > 3 or (len(merged) > 1 and merged[-1][0] < SHORTEST):
        return None
    *outer, (n, *inner) = merged
    if any(step not in (0, 1) for step in inner):
        return None
    outer = [(1, *(0,) * len(parts))] * (2 - len(outer)) + outer
    (a, *far), (b, *near) = outer
    varies = tuple(step == 1 for step in inner)
    return Layout(shape, order, len(merged) == 1, varies, (a, b, n), tuple(zip(far, near, strict=True)))


def _dense(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> bool:
    """Whether an array has no gaps, and the first axis quickest."""
    for n, step in zip(shape, strides, strict=True):
        if n != 1 and step != size:
            return False
        size *= n
    return True


def _elements(
    shape: tuple[int, ...], own: tuple[int, ...], strides: tuple[int, ...], size: int
) -> tuple[int, ...] | None:
    """The strides of an array that is stretched to a shape, in elements."""
    if any(step % size for step in strides):
        return None
    steps = (0 if n == 1 else step // size for n, step in zip(own, strides, strict=True))
    return (0,) * (len(shape) - len(own)) + tuple(steps)
