"""Pools with given numbers of windows, which cover sizes as evenly as they can."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import lucidgrad as lg
from lucidgrad.amp import rounded_once
from lucidgrad.extents import check_shape
from lucidgrad.ops.pooling import max_pool
from lucidgrad.tensor import Tensor

from .arguments import table
from .pooling import check_rank

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d",
]  # fmt: skip

AdaptiveSizes = int | None | Sequence[int | None]


def _counts(name: str, x: Any, axes: int, output_size: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes of the input, and how many windows there are to be."""
    check_rank(name, x, axes)
    sizes = tuple(x.shape[x.ndim - axes :])
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * axes
    given = given * axes if len(given) == 1 else given
    if len(given) != axes:
        raise RuntimeError(f"{name}: given output_size={output_size!r}, expected one number or {axes} of them")
    counts = tuple(n if c is None else c for c, n in zip(given, sizes))
    if min(counts) < 0 or min(sizes) < 1:
        raise RuntimeError(
            f"{name}: given an input of shape {tuple(x.shape)} and output_size={output_size!r}, expected sizes above "
            f"0 and numbers of windows not below 0"
        )
    check_shape(name, counts)
    return sizes, counts


@lru_cache(maxsize=256)
def _spans(n: int, count: int) -> tuple[list[list[int]], list[list[bool]], list[int]]:
    """Places of so many windows that cover n elements evenly, padded to one length: (elements, windows)."""
    starts = [i * n // count for i in range(count)]
    lengths = [-(-(i + 1) * n // count) - start for i, start in enumerate(starts)]
    most = range(max(lengths, default=1))
    places = [[start + min(j, length - 1) for start, length in zip(starts, lengths)] for j in most]
    return places, [[j < length for length in lengths] for j in most], lengths


def _regular(sizes: tuple[int, ...], counts: tuple[int, ...]) -> tuple[int, ...] | None:
    """The window that does the same, if windows are all alike."""
    if any(c < 1 or n % c for n, c in zip(sizes, counts)):
        return None
    return tuple(n // c for n, c in zip(sizes, counts))


@rounded_once
def _adaptive_avg(name: str, axes: int, x: Any, output_size: Any) -> Any:
    sizes, counts = _counts(name, x, axes, output_size)
    window = _regular(sizes, counts)
    if window is not None:  # windows are blocks
        lead, blocks = tuple(x.shape[: x.ndim - axes]), [n for pair in zip(counts, window) for n in pair]
        return x.reshape((*lead, *blocks)).mean(axis=tuple(range(len(lead) + 1, len(lead) + 2 * axes, 2)))
    for k, (n, count) in enumerate(zip(sizes, counts)):  # a mean over a box is a mean of means
        axis = x.ndim - axes + k
        rest = (1,) * (axes - k - 1)
        taken: Any = lg.take(x, table(x, _spans, n, count, part=(0,), dtype=lg.int64), axis=axis)
        mask = table(x, _spans, n, count, part=(1,), dtype=lg.bool)
        total = lg.where(mask.reshape((*mask.shape, *rest)), taken, 0).sum(axis=axis)
        x = total / table(x, _spans, n, count, part=(2,)).reshape((count, *rest))
    return x


def _adaptive_max(name: str, axes: int, x: Any, output_size: Any, return_indices: bool) -> Any:
    sizes, counts = _counts(name, x, axes, output_size)
    window = _regular(sizes, counts)
    if window is not None:
        made: Any = max_pool(x, window=window, stride=window, padding=(0,) * axes, dilation=(1,) * axes)
        return tuple(made) if return_indices else made[0]
    lead, at = tuple(x.shape[: x.ndim - axes]), x.ndim - axes
    place: Any = lg.zeros((1, 1), dtype=lg.int64, device=x.device)
    inside: Any = lg.ones((1, 1), dtype=lg.bool, device=x.device)
    for n, count in zip(sizes, counts):  # (elements, windows) of planes, one axis after the other
        at_axis: Any = table(x, _spans, n, count, part=(0,), dtype=lg.int64)[None, :, None, :]
        here: Any = table(x, _spans, n, count, part=(1,), dtype=lg.bool)[None, :, None, :]
        shape = place.shape[0] * at_axis.shape[1], place.shape[1] * count
        place = (place[:, None, :, None] * n + at_axis).reshape(shape)
        inside = (inside[:, None, :, None] & here).reshape(shape)
    flat = x.reshape((*lead, math.prod(sizes)))
    values: Any = lg.where(inside, lg.take(flat.detach(), place, axis=at), -math.inf)
    if math.prod(counts):
        best: Any = lg.argmax(values, axis=at)
        places = lg.take(
            place.reshape((place.size,)), best * place.shape[1] + lg.arange(place.shape[1], device=x.device)
        )
    else:
        places = lg.zeros((*lead, 0), dtype=lg.int64, device=x.device)
    y = lg.take_along_axis(flat, places, axis=at).reshape((*lead, *counts))
    return (y, places.reshape((*lead, *counts))) if return_indices else y


def adaptive_avg_pool1d(input: Tensor, output_size: AdaptiveSizes) -> Tensor:
    """Means of so many windows that cover an axis; see `adaptive_avg_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0, 6.0]], requires_grad=True)
    >>> y = lg.nn.functional.adaptive_avg_pool1d(x, 2)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[1.5, 4.0]], [[0.5, 1.0, 0.5]])
    """
    return _adaptive_avg("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: AdaptiveSizes) -> Tensor:
    """Means of so many windows that cover two axes: the i-th of m begins at ``i * n // m`` of n elements.

    Parameters
    ----------
    input
        ``(n, channels, height, width)``, or the same without n.
    output_size
        How many windows: one number, or one for each axis; None keeps a size.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[[1.0, 3.0], [5.0, 7.0]]], requires_grad=True)
    >>> y = lg.nn.functional.adaptive_avg_pool2d(x, (None, 1))
    >>> y.sum().backward()
    >>> y.tolist(), x.grad[0, 0].tolist()
    ([[[2.0], [6.0]]], [0.5, 0.5])
    """
    return _adaptive_avg("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: AdaptiveSizes) -> Tensor:
    """Means of so many windows that cover three axes; see `adaptive_avg_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.arange(8.0).reshape((1, 2, 2, 2)).requires_grad_()
    >>> y = lg.nn.functional.adaptive_avg_pool3d(x, 1)
    >>> y.sum().backward()
    >>> y.item(), x.grad[0, 0, 0].tolist()
    (3.5, [0.125, 0.125])
    """
    return _adaptive_avg("adaptive_avg_pool3d", 3, input, output_size)


def adaptive_max_pool1d(input: Tensor, output_size: AdaptiveSizes, return_indices: bool = False) -> Any:
    """Largest values of so many windows that cover an axis; see `adaptive_avg_pool2d` for the windows.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0, 6.0]], requires_grad=True)
    >>> y = lg.nn.functional.adaptive_max_pool1d(x, 2)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[2.0, 6.0]], [[0.0, 1.0, 1.0]])
    """
    return _adaptive_max("adaptive_max_pool1d", 1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: AdaptiveSizes, return_indices: bool = False) -> Any:
    """Largest values of so many windows that cover two axes; see `adaptive_avg_pool2d` for the windows.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[[1.0, 3.0], [5.0, 7.0]]], requires_grad=True)
    >>> y, places = lg.nn.functional.adaptive_max_pool2d(x, (None, 1), return_indices=True)
    >>> y.sum().backward()
    >>> places.tolist(), x.grad.tolist()
    ([[[1], [3]]], [[[0.0, 1.0], [0.0, 1.0]]])
    """
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: AdaptiveSizes, return_indices: bool = False) -> Any:
    """Largest values of so many windows that cover three axes; see `adaptive_avg_pool2d` for the windows.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.arange(8.0).reshape((1, 2, 2, 2)).requires_grad_()
    >>> y = lg.nn.functional.adaptive_max_pool3d(x, 1)
    >>> y.sum().backward()
    >>> y.item(), x.grad[0, 1, 1].tolist()
    (7.0, [0.0, 1.0])
    """
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size, return_indices)
