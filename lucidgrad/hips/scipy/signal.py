"""Convolution with HIPS autograd's arguments: along some axes, while others are contracted."""

import functools
from collections.abc import Sequence
from typing import Any

import lucidgrad as lg

from ..boxes import lifted
from ..differential_operators import as_tensors

__all__ = ["convolve"]


def _convolve(
    A: Any, B: Any, axes: Any = None, dot_axes: Sequence[Sequence[int]] = ((), ()), mode: str = "full"
) -> Any:
    """The convolution of two arrays along some axes; others are contracted, and each pair of the rest is convolved.

    Examples
    --------
    >>> import lucidgrad.hips.numpy as np
    >>> from lucidgrad.hips import grad
    >>> from lucidgrad.hips.scipy.signal import convolve
    >>> grad(lambda x: np.sum(convolve(x, np.array([1.0, 2.0])) ** 2))(np.array([1.0, 3.0])).tolist()
    [22.0, 34.0]
    """
    A, B = as_tensors((A, B))
    if mode not in ("full", "valid"):
        raise ValueError(f"convolve: given mode={mode!r}, expected 'full' or 'valid'")
    if axes is None:
        axes = [[a for a in range(x.ndim) if a not in dots] for x, dots in zip((A, B), dot_axes, strict=True)]
    moved, dots = (
        [[a % x.ndim for a in own] for x, own in zip((A, B), chosen, strict=True)] for chosen in (axes, dot_axes)
    )
    if len(moved[0]) != len(moved[1]) or len(dots[0]) != len(dots[1]):
        raise ValueError(f"convolve: given axes={axes!r} and dot_axes={dot_axes!r}, expected as many of both arrays")
    lengths = [(A.shape[a], B.shape[b]) for a, b in zip(*moved, strict=True)]
    if mode == "valid" and any(n < m for n, m in lengths):
        if any(n > m for n, m in lengths):
            raise ValueError("convolve: in mode 'valid' one array is larger along all axes that are convolved")
        B_first = _convolve(B, A, axes[::-1], dot_axes[::-1], mode)  # its other axes come first then
        return lg.permute_dims(B_first, _swapped(A.ndim, B.ndim, len(lengths), len(dots[0])))
    if mode == "full":
        around = [(0, 0)] * A.ndim
        for a, b in zip(*moved, strict=True):
            around[a] = (B.shape[b] - 1, B.shape[b] - 1)
        A = lg.pad(A, around)
    rank = A.ndim
    windows = A
    for a, b in zip(*moved, strict=True):
        windows = lg.unfold(windows, a, B.shape[b], 1)
    kernel = lg.flip(B, axis=tuple(moved[1])) if moved[1] else B
    left = [*dots[0], *range(rank, rank + len(lengths))]
    y = lg.tensordot(windows, kernel, axes=(tuple(left), (*dots[1], *moved[1])))
    others = [a for a in range(rank) if a not in dots[0]]
    places = [others.index(a) for a in moved[0]]  # the convolved axes come last
    return lg.permute_dims(y, tuple(i for i in range(y.ndim) if i not in places) + tuple(places))


def _swapped(rank1: int, rank2: int, moved: int, dots: int) -> tuple[int, ...]:
    """The axes of a result whose factors were swapped, as they are otherwise."""
    first, second = rank2 - moved - dots, rank1 - moved - dots
    return (*range(first, first + second), *range(first), *range(first + second, first + second + moved))


convolve = functools.update_wrapper(lifted("convolve", lambda: _convolve), _convolve, ("__doc__", "__module__"))
