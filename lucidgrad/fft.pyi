# Written by `python -m tools.stubs`: what is wrong here is mended there.

from collections.abc import Sequence
from typing import Literal

from lucidgrad.tensor import Tensor
from lucidgrad.typing import ArrayLike, DTypeLike, DeviceLike

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
    x: ArrayLike,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: int | None = None,
) -> Tensor: ...
def fft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: Sequence[int] | None = None,
) -> Tensor: ...
def fftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor: ...
def fftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: Sequence[int] | None = None,
) -> Tensor: ...
def fftshift(
    x: ArrayLike,
    /,
    axes: int | Sequence[int] | None = None,
    *,
    dim: int | Sequence[int] | None = None,
) -> Tensor: ...
def hfft(
    x: ArrayLike,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: int | None = None,
) -> Tensor: ...
def hfft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: Sequence[int] | None = None,
) -> Tensor: ...
def hfftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: Sequence[int] | None = None,
) -> Tensor: ...
def ifft(
    x: ArrayLike,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: int | None = None,
) -> Tensor: ...
def ifft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: Sequence[int] | None = None,
) -> Tensor: ...
def ifftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: Sequence[int] | None = None,
) -> Tensor: ...
def ifftshift(
    x: ArrayLike,
    /,
    axes: int | Sequence[int] | None = None,
    *,
    dim: int | Sequence[int] | None = None,
) -> Tensor: ...
def ihfft(
    x: ArrayLike,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: int | None = None,
) -> Tensor: ...
def ihfft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: Sequence[int] | None = None,
) -> Tensor: ...
def ihfftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: Sequence[int] | None = None,
) -> Tensor: ...
def irfft(
    x: ArrayLike,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: int | None = None,
) -> Tensor: ...
def irfft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: Sequence[int] | None = None,
) -> Tensor: ...
def irfftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: Sequence[int] | None = None,
) -> Tensor: ...
def rfft(
    x: ArrayLike,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: int | None = None,
) -> Tensor: ...
def rfft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: Sequence[int] | None = None,
) -> Tensor: ...
def rfftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor: ...
def rfftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: Sequence[int] | None = None,
) -> Tensor: ...
