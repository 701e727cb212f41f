# Written by `python -m tools.stubs`: what is wrong here is mended there.

from collections.abc import Sequence
from typing import Literal, overload

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

@overload
def fft(
    x: ArrayLike,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def fft(
    x: ArrayLike,
    /,
    n: int | None = None,
    dim: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def fft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def fft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    dims: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
def fftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor: ...
@overload
def fftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def fftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    dims: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def fftshift(x: ArrayLike, /, axes: int | Sequence[int] | None = None) -> Tensor: ...
@overload
def fftshift(x: ArrayLike, /, dims: int | Sequence[int] | None = None) -> Tensor: ...
@overload
def hfft(
    x: ArrayLike,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def hfft(
    x: ArrayLike,
    /,
    n: int | None = None,
    dim: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def hfft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def hfft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    dims: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def hfftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def hfftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    dims: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def ifft(
    x: ArrayLike,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def ifft(
    x: ArrayLike,
    /,
    n: int | None = None,
    dim: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def ifft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def ifft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    dims: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def ifftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def ifftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    dims: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def ifftshift(x: ArrayLike, /, axes: int | Sequence[int] | None = None) -> Tensor: ...
@overload
def ifftshift(x: ArrayLike, /, dims: int | Sequence[int] | None = None) -> Tensor: ...
@overload
def ihfft(
    x: ArrayLike,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def ihfft(
    x: ArrayLike,
    /,
    n: int | None = None,
    dim: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def ihfft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def ihfft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    dims: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def ihfftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def ihfftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    dims: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def irfft(
    x: ArrayLike,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def irfft(
    x: ArrayLike,
    /,
    n: int | None = None,
    dim: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def irfft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def irfft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    dims: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def irfftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def irfftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    dims: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def rfft(
    x: ArrayLike,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def rfft(
    x: ArrayLike,
    /,
    n: int | None = None,
    dim: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def rfft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def rfft2(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    dims: Sequence[int] = (-2, -1),
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
def rfftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor: ...
@overload
def rfftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
@overload
def rfftn(
    x: ArrayLike,
    /,
    s: Sequence[int] | None = None,
    dims: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Tensor: ...
