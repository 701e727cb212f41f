"""Images and volumes sampled at any places: the places of an affine map, and the values there."""

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.amp import rounded_once
from lucidgrad.extents import check_shape
from lucidgrad.tensor import Tensor

__all__ = ["affine_grid", "grid_sample"]

#: An index along an axis, whether it is one of the axis, and its weight.
_Tap = tuple[Tensor, Tensor, Tensor]


def _aligned(name: str, align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            f"{name}: given no align_corners, False is meant; say so, or True for places that count from the centres "
            f"of the outermost elements",
            stacklevel=4,
        )
    return bool(align_corners)


# -- places --------------------------------------------------------------------------------------
@rounded_once
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places that `grid_sample` takes, for affine maps of images or volumes.

    Parameters
    ----------
    theta
        Matrices ``(n, 2, 3)``, or ``(n, 3, 4)`` for volumes.
    size
        The shape of what is to be sampled: ``(n, channels, height, width)``, or ``(n, channels, depth, height,
        width)``.
    align_corners
        Whether -1 and 1 are the centres of the outermost elements, instead of their outer edges.

    Returns
    -------
    Tensor
        ``(n, height, width, 2)`` or ``(n, depth, height, width, 3)``; the width's coordinate is the first.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> theta = lg.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]], requires_grad=True)
    >>> grid = lg.nn.functional.affine_grid(theta, (1, 1, 2, 2), align_corners=False)
    >>> grid[0, :, :, 0].tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    >>> grid.sum().backward()
    >>> theta.grad.tolist()
    [[[0.0, 0.0, 4.0], [0.0, 0.0, 4.0]]]
    """
    aligned = _aligned("affine_grid", align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid: given theta of dtype {theta.dtype}, expected floating point numbers")
    axes = len(size) - 2
    if axes not in (2, 3):
        raise ValueError(
            f"affine_grid: given size={tuple(size)}, expected (n, channels, *sizes) with two or three sizes"
        )
    n, sizes = size[0], tuple(size[2:])
    if tuple(theta.shape) != (n, axes, axes + 1):
        raise ValueError(
            f"affine_grid: given theta of shape {tuple(theta.shape)} and size={tuple(size)}, expected "
            f"{(n, axes, axes + 1)}"
        )
    if min(size) <= 0:
        raise ValueError(f"affine_grid: given size={tuple(size)}, expected sizes above 0")
    check_shape("affine_grid", sizes)
    columns = []
    for k in reversed(range(axes)):
        places = lg.zeros(1, dtype=theta.dtype, device=theta.device)
        if sizes[k] > 1:
            places = lg.linspace(-1.0, 1.0, sizes[k], dtype=theta.dtype, device=theta.device)
            places = places if aligned else places * ((sizes[k] - 1) / sizes[k])
        columns.append(lg.broadcast_to(places.reshape((-1, *(1,) * (axes - 1 - k))), sizes))
    columns.append(lg.ones(sizes, dtype=theta.dtype, device=theta.device))
    base = lg.stack(columns, axis=-1).reshape((math.prod(sizes), axes + 1))
    return lg.matmul(base, theta.mT).reshape((n, *sizes, axes))


def _clipped(x: Tensor, n: int) -> Tensor:
    """Within the axis; what is moved, or at the end, has no derivative."""
    return lg.where((x > 0) & (x < n - 1), x, lg.clip(x.detach(), 0, n - 1))


def _reflected(x: Tensor, n: int, aligned: bool) -> Tensor:
    """Reflected at the outermost centres or edges until it is inside."""
    low, span = (0.0, n - 1.0) if aligned else (-0.5, float(n))
    if span == 0:
        return lg.zeros_like(x)
    away = x - low
    away = lg.where(away < 0, -away, away)
    odd = lg.remainder(lg.floor(away.detach() / span), 2) == 1
    rest = lg.remainder(away, span)
    return lg.where(odd, span - rest, rest) + low


def _inside(x: Tensor, n: int, padding: str, aligned: bool) -> Tensor:
    if padding == "reflection":
        x = _reflected(x, n, aligned)
    return x if padding == "zeros" else _clipped(x, n)


def _tap(at: Tensor, n: int, weight: Tensor) -> _Tap:
    """Of a whole number; a place outside, or none at all, becomes 0 and doesn't count."""
    fits = (at >= 0) & (at <= n - 1)
    return lg.astype(lg.where(fits, at, 0), lg.int64), fits, weight


def _taps(x: Tensor, n: int, mode: str, padding: str, aligned: bool) -> list[_Tap]:
    """The elements of an axis of length n that make the values at places between -1 and 1."""
    x = (x + 1) / 2 * (n - 1) if aligned else ((x + 1) * n - 1) / 2
    if padding == "zeros":
        x = lg.clip(x, -3, n + 2)  # as far outside as counts: infinity has no neighbours
    if mode == "bicubic":
        base = lg.floor(x.detach())
        weights = _cubic(x - base)
        return [_tap(_inside(base + k - 1, n, padding, aligned), n, w) for k, w in enumerate(weights)]
    x = _inside(x, n, padding, aligned)
    if mode == "nearest":
        at = lg.round(x)
        return [_tap(at.detach(), n, at - at.detach() + 1)]  # a weight of 1, whose derivative is that of rounding: 0
    base = lg.floor(x.detach())
    return [_tap(base, n, base + 1 - x), _tap(base + 1, n, x - base)]


def _cubic(t: Tensor, a: float = -0.75) -> list[Tensor]:
    """The weights of four neighbours for a place t between the middle ones: cubic convolution with slope a at 1."""

    def near(d: Tensor) -> Tensor:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Tensor) -> Tensor:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


# -- values --------------------------------------------------------------------------------------
def _check(input: Tensor, grid: Tensor, mode: str, padding_mode: str) -> None:
    for what, value, known in (
        ("mode", mode, ("bilinear", "nearest", "bicubic")),
        ("padding_mode", padding_mode, ("zeros", "border", "reflection")),
    ):
        if value not in known:
            raise ValueError(f"grid_sample: given {what}={value!r}, expected {', '.join(map(repr, known))}")
    given = (
        f"grid_sample: given an input of shape {tuple(input.shape)} and a grid of shape {tuple(grid.shape)}, expected"
    )
    if input.ndim not in (4, 5) or grid.ndim != input.ndim:
        raise RuntimeError(f"{given} (n, channels, *sizes) with two or three sizes and a grid of as many axes")
    if grid.shape[-1] != input.ndim - 2 or grid.shape[0] != input.shape[0]:
        raise RuntimeError(f"{given} a grid of shape ({input.shape[0]}, ..., {input.ndim - 2})")
    if min(input.shape[2:]) < 1:
        raise RuntimeError(f"{given} sizes above 0")
    if mode == "bicubic" and input.ndim == 5:
        raise RuntimeError(f"{given} two sizes for mode='bicubic'")
    if input.dtype != grid.dtype or not input.is_floating_point():
        raise RuntimeError(
            f"grid_sample: given an input of dtype {input.dtype} and a grid of dtype {grid.dtype}, expected one "
            f"floating point dtype"
        )


@rounded_once
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Values of images or volumes at any places.

    Parameters
    ----------
    input
        ``(n, channels, height, width)``, or ``(n, channels, depth, height, width)``.
    grid
        The places, ``(n, ..., 2)`` or ``(n, ..., 3)`` with as many axes as the input: coordinates along the width, the
        height and the depth, from -1 to 1.
    mode
        ``"bilinear"`` (between neighbours, of volumes, too), ``"nearest"`` or ``"bicubic"`` (of images).
    padding_mode
        What lies outside: ``"zeros"``, the ``"border"``, or the image's ``"reflection"``.
    align_corners
        Whether -1 and 1 are the centres of the outermost elements, instead of their outer edges.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[[[1.0, 2.0], [3.0, 4.0]]]], requires_grad=True)
    >>> grid = lg.tensor([[[[0.0, 0.0], [-1.0, -1.0]]]], requires_grad=True)
    >>> y = lg.nn.functional.grid_sample(x, grid, align_corners=True)
    >>> y.tolist()
    [[[[2.5, 1.0]]]]
    >>> y[..., 0].sum().backward()
    >>> x.grad.tolist(), grid.grad[0, 0, 0].tolist()
    ([[[[0.25, 0.25], [0.25, 0.25]]]], [0.5, 1.0])
    """
    _check(input, grid, mode, padding_mode)
    aligned = _aligned("grid_sample", align_corners)
    n, channels, *sizes = input.shape
    axes, places = len(sizes), tuple(grid.shape[1:-1])
    count = n * math.prod(sizes)
    rows = lg.moveaxis(input, 1, -1).reshape((count, channels))
    # what lies outside is one more row: zeros, which don't count whatever is beside them
    rows = lg.concat([rows, lg.zeros((1, channels), dtype=input.dtype, device=input.device)], axis=0)
    flat = grid.reshape((n, math.prod(places), axes))
    first = (lg.arange(n, dtype=lg.int64, device=input.device) * math.prod(sizes)).reshape((n, 1))
    along = [_taps(flat[..., axes - 1 - k], size, mode, padding_mode, aligned) for k, size in enumerate(sizes)]
    y: Any = None
    for taps in itertools.product(*along):
        index, fits, weight = taps[0]
        for (at, also, more), size in zip(taps[1:], sizes[1:], strict=True):
            index, fits, weight = index * size + at, fits & also, weight * more
        part = lg.take(rows, lg.where(fits, index + first, count), axis=0)
        part = part * lg.expand_dims(lg.where(fits, weight, 0), axis=-1)
        y = part if y is None else y + part
    return lg.moveaxis(y, -1, 1).reshape((n, channels, *places))
