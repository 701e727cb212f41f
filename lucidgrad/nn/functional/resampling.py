"""Images and signals in other sizes: interpolation, and channels that become places."""

import math
import struct
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import lucidgrad as lg
from lucidgrad.amp import rounded_once
from lucidgrad.extents import check_shape
from lucidgrad.ops.elementwise.copies import apart
from lucidgrad.tensor import Tensor

from .adaptive_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .arguments import table

__all__ = [
    "channel_shuffle", "interpolate", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle", "upsample",
    "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

Taps = tuple[list[list[int]], list[list[float]]]

#: Modes, and for how many axes they are.
_MODES = {
    "nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "area": (1, 2, 3), "linear": (1,), "bilinear": (2,),
    "bicubic": (2,), "trilinear": (3,),
}  # fmt: skip


# -- one axis ------------------------------------------------------------------------------------
def _single(x: float) -> float:
    """Rounded to single precision."""
    return float(struct.unpack("f", struct.pack("f", x))[0])


@lru_cache(maxsize=256)
def _nearest(n: int, out: int, scale: float | None, shift: float, double: bool) -> list[int]:
    """The place of the input that is nearest to each place of the output; rounded so that ties fall as in PyTorch."""
    step = 1 / scale if scale else n / out
    step = step if double else _single(step)
    return [min(math.floor(_single(_single((i + shift) * step - shift) + shift)), n - 1) for i in range(out)]


def _cubic(a: float) -> Callable[[float], float]:
    """The piecewise cubic kernel with slope a at 1."""

    def kernel(t: float) -> float:
        t = abs(t)
        if t <= 1:
            return ((a + 2) * t - (a + 3)) * t * t + 1
        return (((t - 5) * t + 8) * t - 4) * a if t < 2 else 0.0

    return kernel


def _triangle(t: float) -> float:
    return max(1 - abs(t), 0.0)


@lru_cache(maxsize=256)
def _taps(n: int, out: int, scale: float | None, cubic: bool, align_corners: bool, antialias: bool) -> Taps:
    """Places of the input that make each place of the output, and their weights: (taps, out) each."""
    if align_corners:
        step = (n - 1) / (out - 1) if out > 1 else 0.0
    else:
        step = 1 / scale if scale else n / out
    reach = 2 if cubic else 1
    kernel = _cubic(-0.5 if antialias else -0.75) if cubic else _triangle
    width = max(step, 1.0) if antialias else 1.0
    columns = []
    for i in range(out):
        at = i * step if align_corners and not antialias else (i + 0.5) * step - 0.5
        if not cubic and not antialias:
            at = max(at, 0.0)
        if antialias:
            first = max(int(at + 0.5 - reach * width + 0.5), 0)
            last = min(int(at + 0.5 + reach * width + 0.5), n)
            weights = [kernel((j - at) / width) for j in range(first, last)]
            total = sum(weights)
            columns.append([(j, w / total) for j, w in zip(range(first, last), weights)])
        else:
            base = math.floor(at)
            places = range(base - reach + 1, base + reach + 1)
            columns.append([(min(max(j, 0), n - 1), kernel(j - at)) for j in places])
    most = max(map(len, columns), default=1)
    columns = [column + [(column[-1][0], 0.0)] * (most - len(column)) for column in columns]
    return [[c[k][0] for c in columns] for k in range(most)], [[c[k][1] for c in columns] for k in range(most)]


def _weighted(x: Any, axis: int, *how: Any) -> Any:
    """Weighted sums of places along an axis; places without weight don't count, whatever they hold."""
    _, weights = _taps(*how)
    rest = (1,) * (x.ndim - axis - 1)
    made: Any = None
    for k, row in enumerate(weights):
        if not any(row):
            continue
        w = table(x, _taps, *how, part=(1, k)).reshape((len(row), *rest))
        part: Any = lg.take(x, table(x, _taps, *how, part=(0, k), dtype=lg.int64), axis=axis)
        part = part * w if all(row) else lg.where(w == 0, 0, part) * w
        made = part if made is None else made + part
    return made


# -- interpolation -------------------------------------------------------------------------------
def _sizes(
    sizes: tuple[int, ...], size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The new sizes, and the factors that places are computed with (None: the quotient of the sizes)."""
    axes = len(sizes)
    if (size is None) == (scale_factor is None):
        given = "neither" if size is None else "both"
        raise ValueError(f"interpolate: given {given} of size and scale_factor, expected one of them")
    given = size if scale_factor is None else scale_factor
    parts = tuple(given) if isinstance(given, (tuple, list)) else (given,) * axes
    if len(parts) != axes:
        raise ValueError(
            f"interpolate: given {given!r} for an input with sizes {sizes}, expected one number or {axes} of them"
        )
    if scale_factor is None:
        if recompute:
            raise ValueError("interpolate: given recompute_scale_factor=True and a size, expected a scale_factor")
        out = tuple(int(n) for n in parts)
        factors: tuple[float | None, ...] = (None,) * axes
    else:
        out = tuple(math.floor(float(n * f)) for n, f in zip(sizes, parts))
        factors = (None,) * axes if recompute else tuple(float(f) for f in parts)
    if min(out) < 1 or min(sizes) < 1:
        raise RuntimeError(f"interpolate: sizes {sizes} become {out}, expected sizes above 0")
    check_shape("interpolate", out)
    return out, factors


@rounded_once
def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Sample a signal, image or volume at other places.

    Parameters
    ----------
    input
        ``(n, channels, *sizes)`` with one, two or three sizes.
    size, scale_factor
        The new sizes, or what the old ones are multiplied by: one number, or one for each axis.
    mode
        ``"nearest"``, ``"nearest-exact"`` (rounds to the nearest centre), ``"linear"``, ``"bilinear"``, ``"bicubic"``,
        ``"trilinear"`` or ``"area"`` (means).
    align_corners
        Whether the centres of the outermost elements stay where they are, instead of their outer edges.
    recompute_scale_factor
        Whether places are computed with the quotient of the sizes even if a factor is given.
    antialias
        Whether bilinear and bicubic windows widen when an image becomes smaller.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[[1.0, 3.0]]], requires_grad=True)
    >>> y = lg.nn.functional.interpolate(x, scale_factor=2, mode="linear")
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[[1.0, 1.5, 2.5, 3.0]]], [[[2.0, 2.0]]])
    """
    axes = input.ndim - 2
    if mode not in _MODES or axes not in _MODES[mode]:
        fitting = [repr(m) for m, ranks in _MODES.items() if axes in ranks]
        raise RuntimeError(
            f"interpolate: given mode={mode!r} and an input of shape {tuple(input.shape)}, expected (n, channels, "
            f"*sizes) and a mode for these axes: {', '.join(fitting) or 'for one to three sizes'}"
        )
    plain = mode in ("nearest", "nearest-exact", "area")
    if plain and align_corners is not None:
        raise ValueError(f"interpolate: given mode={mode!r} and align_corners={align_corners}, expected none of them")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(f"interpolate: given antialias=True and mode={mode!r}, expected 'bilinear' or 'bicubic'")
    out, factors = _sizes(tuple(input.shape[2:]), size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[axes - 1](input, out)
    y: Any = input
    for axis, (n, o, factor) in enumerate(zip(input.shape[2:], out, factors), start=2):
        if plain:
            if n != o:
                shift = 0.5 if mode == "nearest-exact" else 0.0
                at = table(y, _nearest, n, o, factor, shift, y.dtype == lg.float64, dtype=lg.int64)
                y = lg.take(y, at, axis=axis)
        elif n != o or (factor is not None and factor != 1 and not align_corners):
            y = _weighted(y, axis, n, o, factor, mode == "bicubic", bool(align_corners), antialias)
    return lg.clone(y) if y is input else y


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate` by an older name.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[[1.0, 3.0]]], requires_grad=True)
    >>> y = lg.nn.functional.upsample(x, scale_factor=2)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[[1.0, 1.0, 3.0, 3.0]]], [[[2.0, 2.0]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def _deprecated(name: str) -> None:
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", UserWarning, stacklevel=4
    )


def upsample_nearest(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """`interpolate` with ``mode="nearest"``, by an older name: it warns.

    Examples
    --------
    >>> import warnings
    >>> import lucidgrad as lg
    >>> with warnings.catch_warnings(action="ignore"):
    ...     lg.nn.functional.upsample_nearest(lg.ones((1, 1, 2)), scale_factor=2).shape
    (1, 1, 4)
    """
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """`interpolate` with ``mode="bilinear", align_corners=True``, by an older name: it warns.

    Examples
    --------
    >>> import warnings
    >>> import lucidgrad as lg
    >>> with warnings.catch_warnings(action="ignore"):
    ...     lg.nn.functional.upsample_bilinear(lg.ones((1, 1, 2, 2)), size=3).shape
    (1, 1, 3, 3)
    """
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# -- channels and places -------------------------------------------------------------------------
def _check_image(name: str, x: Any, fits: bool, expected: str) -> None:
    if x.ndim < 3 or not fits:
        raise RuntimeError(f"{name}: given an input of shape {tuple(x.shape)}, expected {expected}")


@apart
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels become places: ``(*, c * r**2, height, width)`` becomes ``(*, c, height * r, width * r)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.arange(4.0).reshape((4, 1, 1)).requires_grad_()
    >>> y = lg.nn.functional.pixel_shuffle(x, 2)
    >>> y[0, 0, 1].backward()
    >>> y.tolist(), x.grad.flatten().tolist()
    ([[[0.0, 1.0], [2.0, 3.0]]], [0.0, 1.0, 0.0, 0.0])
    """
    r = upscale_factor
    _check_image(
        "pixel_shuffle", input, r > 0 and input.ndim > 2 and input.shape[-3] % r**2 == 0,
        f"(*, channels, height, width) with channels divisible by {r} squared",
    )  # fmt: skip
    *lead, c, h, w = input.shape
    k = len(lead)
    x = input.reshape((*lead, c // r**2, r, r, h, w))
    x = lg.permute_dims(x, (*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return x.reshape((*lead, c // r**2, h * r, w * r))


@apart
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Places become channels: the inverse of `pixel_shuffle`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.arange(4.0).reshape((1, 2, 2)).requires_grad_()
    >>> y = lg.nn.functional.pixel_unshuffle(x, 2)
    >>> y[1, 0, 0].backward()
    >>> y.shape, x.grad.tolist()
    ((4, 1, 1), [[[0.0, 1.0], [0.0, 0.0]]])
    """
    r = downscale_factor
    _check_image(
        "pixel_unshuffle", input, r > 0 and input.ndim > 2 and input.shape[-2] % r == 0 and input.shape[-1] % r == 0,
        f"(*, channels, height, width) with height and width divisible by {r}",
    )  # fmt: skip
    *lead, c, h, w = input.shape
    k = len(lead)
    x = input.reshape((*lead, c, h // r, r, w // r, r))
    x = lg.permute_dims(x, (*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return x.reshape((*lead, c * r**2, h // r, w // r))


@apart
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave groups of channels: ``(n, groups * c, *sizes)``, the first of each group first.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.arange(4.0).reshape((1, 4, 1)).requires_grad_()
    >>> y = lg.nn.functional.channel_shuffle(x, 2)
    >>> y[0, 1, 0].backward()
    >>> y.flatten().tolist(), x.grad.flatten().tolist()
    ([0.0, 2.0, 1.0, 3.0], [0.0, 0.0, 1.0, 0.0])
    """
    fits = groups > 0 and input.ndim > 2 and input.shape[1] % groups == 0
    _check_image("channel_shuffle", input, fits, f"(n, channels, *sizes) with channels divisible by {groups}")
    n, c, *sizes = input.shape
    x = input.reshape((n, groups, c // groups, *sizes))
    return lg.swapaxes(x, 1, 2).reshape((n, c, *sizes))


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The same as `channel_shuffle`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.native_channel_shuffle(lg.arange(4.0).reshape((1, 4, 1)), 2).flatten().tolist()
    [0.0, 2.0, 1.0, 3.0]
    """
    return channel_shuffle(input, groups)
