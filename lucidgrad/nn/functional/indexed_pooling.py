"""Largest values with their places: pools over windows at random places, and pools that always give places."""

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.tensor import Tensor

from .adaptive_pooling import adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d
from .arguments import Sizes, per_axis
from .pooling import check_rank, max_pool1d, max_pool2d, max_pool3d

__all__ = [
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d_with_indices",
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices", "max_pool1d_with_indices", "max_pool2d_with_indices",
    "max_pool3d_with_indices",
]  # fmt: skip


# -- windows at random places --------------------------------------------------------------------
def _starts(sample: Tensor, n: int, out: int, window: int) -> Tensor:
    """Where the windows along an axis of length n begin, for a number between 0 and 1: the last one ends at the end."""
    last = lg.full((*sample.shape, 1), n - window, dtype=lg.int64, device=sample.device)
    if out == 1:
        return last
    step = (n - window) / (out - 1)
    count = lg.arange(out - 1, dtype=sample.dtype, device=sample.device)
    sample = lg.expand_dims(sample, axis=-1)
    places = lg.trunc((count + sample) * step) - lg.trunc(sample * step)
    return lg.concat([lg.astype(places, lg.int64), last], axis=-1)


def _fractional(
    axes: int, x: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, return_indices: bool, samples: Any
) -> Any:
    name = f"fractional_max_pool{axes}d"
    check_rank(name, x, axes)
    window = per_axis(name, "kernel_size", kernel_size, axes, 1)
    sizes = tuple(x.shape[-axes:])
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name}: given neither output_size nor output_ratio, expected one of them")
    if output_size is None:
        ratios = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * axes
        if len(ratios) != axes:
            raise ValueError(f"{name}: given output_ratio={output_ratio}, expected one number or {axes} of them")
        output_size = tuple(int(n * r) for n, r in zip(sizes, ratios, strict=True))
    out = per_axis(name, "output_size", output_size, axes, 1)
    if any(k + o - 1 > n for k, o, n in zip(window, out, sizes, strict=True)):
        raise RuntimeError(
            f"{name}: given kernel_size={window} and output_size={out} for an input of shape {tuple(x.shape)}, "
            f"expected windows that fit: a smaller kernel or output"
        )
    batched = x.reshape((1, *x.shape)) if x.ndim == axes + 1 else x
    lead = tuple(batched.shape[:2])
    if samples is None:
        samples = lg.rand((*lead, axes), dtype=x.dtype, device=x.device)
    elif tuple(samples.shape) != (*lead, axes):
        raise RuntimeError(f"{name}: given random samples of shape {tuple(samples.shape)}, expected {(*lead, axes)}")
    flat = batched.reshape((*lead, math.prod(sizes)))
    with lg.no_grad():
        places: Any = 0
        for k in range(axes):
            # of images the first number is for the width, of volumes the first is for the depth: as PyTorch has it
            sample = samples[..., axes - 1 - k if axes == 2 else k]
            at = lg.expand_dims(_starts(sample, sizes[k], out[k], window[k]), axis=-1)
            at = at + lg.arange(window[k], dtype=lg.int64, device=x.device)
            shape = [*lead, *(1,) * (2 * axes)]
            shape[2 + k], shape[2 + axes + k] = out[k], window[k]
            places = places * sizes[k] + at.reshape(tuple(shape))
        places = places.reshape((*lead, math.prod(out), math.prod(window)))
        inside = lg.take_along_axis(flat.detach(), places.reshape((*lead, -1)), axis=-1).reshape(places.shape)
        best = lg.argmax(inside, axis=-1, keepdims=True)
        places = lg.take_along_axis(places, best, axis=-1).squeeze(-1)
    y = lg.take_along_axis(flat, places, axis=-1)
    shape = [*x.shape[:-axes], *out]
    return (y.reshape(tuple(shape)), places.reshape(tuple(shape))) if return_indices else y.reshape(tuple(shape))


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest value in windows along two axes, whose places are random (Graham, 2014).

    Parameters
    ----------
    input
        ``(n, channels, height, width)``, or the same without n.
    kernel_size
        The windows: one number, or one for each axis.
    output_size, output_ratio
        How many windows there are, or what the sizes are multiplied by: one of them.
    return_indices
        Whether to return also where the values were found, as places in the flat plane.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.arange(9.0).reshape((1, 3, 3)).requires_grad_()
    >>> y = lg.nn.functional.fractional_max_pool2d(x, 2, output_size=2)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.sum().item()
    ([[[4.0, 5.0], [7.0, 8.0]]], 4.0)
    """
    return _fractional(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest value in windows along three axes, whose places are random; see `fractional_max_pool2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 4, 4, 4), requires_grad=True)
    >>> y = lg.nn.functional.fractional_max_pool3d(x, 2, output_ratio=0.5)
    >>> y.sum().backward()
    >>> y.shape, x.grad.sum().item()
    ((1, 2, 2, 2), 8.0)
    """
    return _fractional(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


# -- always with places --------------------------------------------------------------------------
def _with_indices(function: Callable[..., Any], arguments: str) -> Callable[..., Any]:
    """A pool that gives values and places, whatever ``return_indices`` is."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.arguments["return_indices"] = True
        return function(**bound.arguments)

    call.__name__ = call.__qualname__ = f"{function.__name__}_with_indices"
    call.__doc__ = f"""`{function.__name__}` with ``return_indices=True``: values, and where they were found.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y, places = lg.nn.functional.{call.__name__}({arguments})
    >>> y.shape == places.shape
    True
    """
    return call


max_pool1d_with_indices = _with_indices(max_pool1d, "lg.ones((1, 4)), 2")
max_pool2d_with_indices = _with_indices(max_pool2d, "lg.ones((1, 4, 4)), 2")
max_pool3d_with_indices = _with_indices(max_pool3d, "lg.ones((1, 4, 4, 4)), 2")
adaptive_max_pool1d_with_indices = _with_indices(adaptive_max_pool1d, "lg.ones((1, 4)), 2")
adaptive_max_pool2d_with_indices = _with_indices(adaptive_max_pool2d, "lg.ones((1, 4, 4)), 2")
adaptive_max_pool3d_with_indices = _with_indices(adaptive_max_pool3d, "lg.ones((1, 4, 4, 4)), 2")
fractional_max_pool2d_with_indices = _with_indices(fractional_max_pool2d, "lg.ones((1, 4, 4)), 2, 2")
fractional_max_pool3d_with_indices = _with_indices(fractional_max_pool3d, "lg.ones((1, 4, 4, 4)), 2, 2")
