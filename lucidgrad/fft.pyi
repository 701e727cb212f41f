# Written by `python -m tools.stubs`: what is wrong here is mended there.

from collections.abc import Sequence
from typing import Literal

from lucidgrad.tensor import Tensor
from lucidgrad.typing import ArrayLike, DTypeLike, DeviceLike

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
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
def ifft(
    x: ArrayLike,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: int | None = None,
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
def irfft(
    x: ArrayLike,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
    *,
    dim: int | None = None,
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
