"""Signals: windows, and convolution and correlation over any number of axes.

`windows` has PyTorch's functions, and the others are SciPy's; `lucidgrad.stft` and `lucidgrad.istft` are made of
these. All are differentiable, of every order.
"""

from lucidgrad.refusals import guard as _guard

from . import windows
from .convolution import convolve, correlate, correlation_lags, fftconvolve

__all__ = ["convolve", "correlate", "correlation_lags", "fftconvolve", "windows"]

_guard(__name__, __all__)
