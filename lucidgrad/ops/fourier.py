"""Discrete Fourier transforms: three primitives that are closed under differentiation.

The matrix of the transform, ``w ** (j * k)`` with ``w = exp(-2πi / n)`` (or its conjugate), is symmetric, and so is
every multiple of it. A rule being a plain transpose, `dft` is therefore its own rule, with the same norm and
direction. `half_dft` and `real_dft` are each other's: one takes real numbers to the first half of their
spectrum, the other one goes back. Sizes are changed by other primitives before these run.
"""

from typing import Any

from lucidgrad.core.dispatch import complexes
from lucidgrad.core.primitive import LINEAR, primitive

__all__ = ["dft", "half_dft", "real_dft"]


@primitive(
    LINEAR,
    vjp=lambda xp, g, *, axis, norm, inverse: xp.dft(g, axis=axis, norm=norm, inverse=inverse),
    dtype="float",
)
def dft(xp: Any, x: Any, /, *, axis: tuple[int, ...], norm: str = "backward", inverse: bool = False) -> Any:
    """The Fourier transform over some axes, or the inverse one; the result is complex.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.fourier import dft
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.real(dft(x, axis=(0,))[1]).backward()
    >>> x.grad.tolist()
    [1.0, -1.0]
    """
    if x.dtype not in complexes or not axis:
        x = xp.astype(x, dtype=xp.result_type(x, xp.complex64))
    transform = xp.fft.ifftn if inverse else xp.fft.fftn
    return transform(x, axes=axis, norm=norm) if axis else x


def _weighted(xp: Any, x: Any, axis: int, n: int, factor: float) -> Any:
    """Half a spectrum, with a factor for the frequencies whose mirror images are in the other half."""
    if n < 3:
        return x
    axis, end = axis % x.ndim, (n + 1) // 2
    parts = (slice(0, 1), slice(1, end), slice(end, x.shape[axis]))
    low, inner, high = (x[(*(slice(None),) * axis, part, ...)] for part in parts)
    return xp.concat(low, inner * factor, high, axis=axis)


def _half_dft_vjp(xp: Any, g: Any, x_meta: Any, *, axis: int, norm: str, inverse: bool, double: bool) -> Any:
    return xp.real_dft(g, axis=axis, n=x_meta.shape[axis], norm=norm, inverse=inverse, double=double)


@primitive(LINEAR, vjp=_half_dft_vjp, dtype="float")
def half_dft(
    xp: Any, x: Any, /, *, axis: int, norm: str = "backward", inverse: bool = False, double: bool = False
) -> Any:
    """The first ``n // 2 + 1`` numbers of the transform of n real ones; the others are their conjugates.

    With ``double``, those which have a conjugate among the others are doubled. The adjoint of `real_dft`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.fourier import half_dft
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> lg.real(half_dft(x, axis=0)).sum().backward()
    >>> x.grad.tolist()
    [2.0, 0.5, 0.5]
    """
    y = (xp.fft.ihfft if inverse else xp.fft.rfft)(x, axis=axis, norm=norm)
    return _weighted(xp, y, axis, x.shape[axis], 2.0) if double else y


@primitive(
    LINEAR,
    vjp=lambda xp, g, *, axis, norm, inverse, double: xp.half_dft(
        g, axis=axis, norm=norm, inverse=inverse, double=double
    ),
)
def real_dft(
    xp: Any, x: Any, /, *, axis: int, n: int, norm: str = "backward", inverse: bool = False, double: bool = True
) -> Any:
    """The n real numbers that are the transform of a spectrum of which x is the first half, of ``n // 2 + 1`` numbers.

    The other half is the conjugate of the first one, in reverse; imaginary parts of what has no conjugate there don't
    count. Without ``double`` the other half is zero, and the result is the real part. The adjoint of `half_dft`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.fourier import real_dft
    >>> x = lg.tensor([1.0 + 0.0j, 2.0 + 1.0j], requires_grad=True)
    >>> real_dft(x, axis=0, n=3)[0].backward()
    >>> lg.real(x.grad).tolist()
    [1.0, 2.0]
    """
    x = x if double else _weighted(xp, x, axis, n, 0.5)
    return (xp.fft.irfft if inverse else xp.fft.hfft)(x, n=n, axis=axis, norm=norm)
