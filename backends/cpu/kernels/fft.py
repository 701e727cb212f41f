"""NumPy kernels for Fourier transforms, which write into memory that is theirs already. Precision is kept."""

from collections.abc import Callable
from typing import Any

import numpy as np


def dft(x: Any, *, axis: Any, norm: Any = "backward", inverse: bool = False) -> Any:
    if not axis:
        return x.astype(np.result_type(x, np.complex64))
    transform = np.fft.ifft if inverse else np.fft.fft
    y = transform(x, axis=axis[-1], norm=norm)
    for a in axis[-2::-1]:
        transform(y, axis=a, norm=norm, out=y)
    return y


_OTHER_WAY: dict[str, Any] = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _scale_inner(y: Any, axis: int, n: int, factor: float) -> None:
    """Multiply the frequencies whose mirror images are in the other half of a spectrum."""
    inner = y[(*(slice(None),) * (axis % y.ndim), slice(1, (n + 1) // 2))]
    np.multiply(inner, factor, out=inner)


def half_dft(x: Any, *, axis: int, norm: Any = "backward", inverse: bool = False, double: bool = False) -> Any:
    y = np.fft.rfft(x, axis=axis, norm=_OTHER_WAY[norm] if inverse else norm)
    if inverse:
        np.conjugate(y, out=y)
    if double:
        _scale_inner(y, axis, x.shape[axis], 2)
    return y


def real_dft(x: Any, *, axis: int, n: int, norm: Any = "backward", inverse: bool = False, double: bool = True) -> Any:
    if not inverse:
        x = np.conjugate(x)
    elif not double:
        x = x.copy()
    if not double:
        _scale_inner(x, axis, n, 0.5)
    return np.fft.irfft(x, n, axis=axis, norm=norm if inverse else _OTHER_WAY[norm])


TABLE: dict[str, Callable[..., Any]] = {"dft": dft, "half_dft": half_dft, "real_dft": real_dft}
