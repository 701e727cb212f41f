"""Fourier transforms, as `numpy.fft` has them."""

from collections.abc import Callable
from typing import Any

import lucidgrad as lg

from .entrance import TABLE, Array, Refused, numpy_functions

_fft = lg.fft


def _named(norm: Any) -> Any:
    return "backward" if norm is None else norm


@numpy_functions(
    "fft", fft=_fft.fft, ifft=_fft.ifft, rfft=_fft.rfft, irfft=_fft.irfft, hfft=_fft.hfft, ihfft=_fft.ihfft
)
def _along_one(
    compute: Callable[..., Any], a: Array, n: Any = None, axis: int = -1, norm: Any = None, out: Refused = None
) -> Any:
    return compute(a, n, axis, _named(norm))


@numpy_functions("fft", fft2=_fft.fft2, ifft2=_fft.ifft2, rfft2=_fft.rfft2, irfft2=_fft.irfft2)
def _along_two(
    compute: Callable[..., Any], a: Array, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Refused = None
) -> Any:
    return compute(a, s, axes, _named(norm))


@numpy_functions("fft", fftn=_fft.fftn, ifftn=_fft.ifftn, rfftn=_fft.rfftn, irfftn=_fft.irfftn)
def _along_several(
    compute: Callable[..., Any], a: Array, s: Any = None, axes: Any = None, norm: Any = None, out: Refused = None
) -> Any:
    return compute(a, s, axes, _named(norm))


@numpy_functions("fft", fftshift=_fft.fftshift, ifftshift=_fft.ifftshift)
def _shifts(compute: Callable[..., Any], x: Array, axes: Any = None) -> Any:
    return compute(x, axes)


@numpy_functions("fft", fftfreq=_fft.fftfreq, rfftfreq=_fft.rfftfreq)
def _frequencies(compute: Callable[..., Any], n: int, d: Any = 1.0, device: Any = None) -> Any:
    return compute(n, d=d, device=device)


__all__ = [name for place, name in TABLE if place == "fft"]
globals().update({name: found for (place, name), found in TABLE.items() if place == "fft"})
