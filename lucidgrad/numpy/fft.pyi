# Written by `python -m tools.stubs`: what is wrong here is mended there.

from collections.abc import Sequence

from lucidgrad.tensor import Tensor
from lucidgrad.typing import ArrayLike, Axes, Data, DeviceLike

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

def fft(
    a: Data,
    n: Data | None = None,
    axis: Axes = -1,
    norm: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def fft2(
    a: Data,
    s: Sequence[int] | ArrayLike | None = None,
    axes: Axes = (-2, -1),
    norm: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def fftfreq(n: Data, d: float = 1.0, device: DeviceLike | int | None = None) -> Tensor: ...
def fftn(
    a: Data,
    s: Sequence[int] | ArrayLike | None = None,
    axes: Axes = None,
    norm: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def fftshift(x: Data, axes: Axes = None) -> Tensor: ...
def hfft(
    a: Data,
    n: Data | None = None,
    axis: Axes = -1,
    norm: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def ifft(
    a: Data,
    n: Data | None = None,
    axis: Axes = -1,
    norm: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def ifft2(
    a: Data,
    s: Sequence[int] | ArrayLike | None = None,
    axes: Axes = (-2, -1),
    norm: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def ifftn(
    a: Data,
    s: Sequence[int] | ArrayLike | None = None,
    axes: Axes = None,
    norm: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def ifftshift(x: Data, axes: Axes = None) -> Tensor: ...
def ihfft(
    a: Data,
    n: Data | None = None,
    axis: Axes = -1,
    norm: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def irfft(
    a: Data,
    n: Data | None = None,
    axis: Axes = -1,
    norm: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def irfft2(
    a: Data,
    s: Sequence[int] | ArrayLike | None = None,
    axes: Axes = (-2, -1),
    norm: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def irfftn(
    a: Data,
    s: Sequence[int] | ArrayLike | None = None,
    axes: Axes = None,
    norm: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def rfft(
    a: Data,
    n: Data | None = None,
    axis: Axes = -1,
    norm: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def rfft2(
    a: Data,
    s: Sequence[int] | ArrayLike | None = None,
    axes: Axes = (-2, -1),
    norm: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def rfftfreq(n: Data, d: float = 1.0, device: DeviceLike | int | None = None) -> Tensor: ...
def rfftn(
    a: Data,
    s: Sequence[int] | ArrayLike | None = None,
    axes: Axes = None,
    norm: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
