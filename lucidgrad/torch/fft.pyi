# Written by `python -m tools.stubs`: what is wrong here is mended there.

from collections.abc import Sequence

from lucidgrad.tensor import Tensor
from lucidgrad.typing import ArrayLike, Axes, DTypeLike, DeviceLike

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

def fft(
    input: ArrayLike,
    n: ArrayLike | None = None,
    dim: Axes = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def fft2(
    input: ArrayLike,
    s: Sequence[int] | ArrayLike | None = None,
    dim: Axes = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def fftfreq(
    n: ArrayLike,
    d: float = 1.0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | int | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor: ...
def fftn(
    input: ArrayLike,
    s: Sequence[int] | ArrayLike | None = None,
    dim: Axes = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def fftshift(input: ArrayLike, dim: Axes = None) -> Tensor: ...
def hfft(
    input: ArrayLike,
    n: ArrayLike | None = None,
    dim: Axes = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def hfft2(
    input: ArrayLike,
    s: Sequence[int] | ArrayLike | None = None,
    dim: Axes = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def hfftn(
    input: ArrayLike,
    s: Sequence[int] | ArrayLike | None = None,
    dim: Axes = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def ifft(
    input: ArrayLike,
    n: ArrayLike | None = None,
    dim: Axes = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def ifft2(
    input: ArrayLike,
    s: Sequence[int] | ArrayLike | None = None,
    dim: Axes = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def ifftn(
    input: ArrayLike,
    s: Sequence[int] | ArrayLike | None = None,
    dim: Axes = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def ifftshift(input: ArrayLike, dim: Axes = None) -> Tensor: ...
def ihfft(
    input: ArrayLike,
    n: ArrayLike | None = None,
    dim: Axes = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def ihfft2(
    input: ArrayLike,
    s: Sequence[int] | ArrayLike | None = None,
    dim: Axes = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def ihfftn(
    input: ArrayLike,
    s: Sequence[int] | ArrayLike | None = None,
    dim: Axes = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def irfft(
    input: ArrayLike,
    n: ArrayLike | None = None,
    dim: Axes = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def irfft2(
    input: ArrayLike,
    s: Sequence[int] | ArrayLike | None = None,
    dim: Axes = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def irfftn(
    input: ArrayLike,
    s: Sequence[int] | ArrayLike | None = None,
    dim: Axes = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def rfft(
    input: ArrayLike,
    n: ArrayLike | None = None,
    dim: Axes = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def rfft2(
    input: ArrayLike,
    s: Sequence[int] | ArrayLike | None = None,
    dim: Axes = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def rfftfreq(
    n: ArrayLike,
    d: float = 1.0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | int | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor: ...
def rfftn(
    input: ArrayLike,
    s: Sequence[int] | ArrayLike | None = None,
    dim: Axes = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
