# Written by `python -m tools.stubs`: what is wrong here is mended there.

from collections.abc import Sequence
from typing import Literal, overload

from lucidgrad.signal import windows as windows
from lucidgrad.tensor import Tensor
from lucidgrad.typing import ArrayLike

__all__ = [
    "convolve",
    "correlate",
    "correlation_lags",
    "fftconvolve",
    "windows",
]

def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Literal["full", "same", "valid"] = "full",
    method: Literal["auto", "direct", "fft"] = "auto",
) -> Tensor: ...
def correlate(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Literal["full", "same", "valid"] = "full",
    method: Literal["auto", "direct", "fft"] = "auto",
) -> Tensor: ...
def correlation_lags(in1_len: int, in2_len: int, mode: Literal["full", "same", "valid"] = "full") -> Tensor: ...
@overload
def fftconvolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Literal["full", "same", "valid"] = "full",
    axes: int | Sequence[int] | None = None,
) -> Tensor: ...
@overload
def fftconvolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Literal["full", "same", "valid"] = "full",
    dims: int | Sequence[int] | None = None,
) -> Tensor: ...
