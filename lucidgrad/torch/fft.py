"""PyTorch's Fourier transforms: lucidgrad's, with PyTorch's arguments."""

from typing import Any

from .making import Table

_TABLE = Table(
    __name__,
    """
fft hfft ifft ihfft irfft rfft: (input, n=None, dim=-1, norm=None, *, out=None)
    = lg.fft.@(input, n, dim, norm or 'backward')
fft2 hfft2 ifft2 ihfft2 irfft2 rfft2: (input, s=None, dim=(-2, -1), norm=None, *, out=None)
    = lg.fft.@(input, s, dim, norm or 'backward')
fftn hfftn ifftn ihfftn irfftn rfftn: (input, s=None, dim=None, norm=None, *, out=None)
    = lg.fft.@(input, s, dim, norm or 'backward')
fftfreq rfftfreq: (n, d=1.0, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False)
    = lg.fft.@(n, d=d, dtype=dtype, device=device).requires_grad_(own.dense(layout, requires_grad))
fftshift ifftshift: (input, dim=None)
    = lg.fft.@(input, dim)
""",
)

__all__ = _TABLE.names


def __getattr__(name: str) -> Any:
    """A function when it is first asked for."""
    return _TABLE.find(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
