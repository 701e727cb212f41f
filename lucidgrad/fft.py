"""Fourier transforms: the Array API standard's ``fft``, and what PyTorch's has beside it.

``norm`` says which direction is scaled: ``"backward"`` divides inverse transforms by n, ``"forward"`` the other ones,
and ``"ortho"`` both by the square root of n. Axes are cut, or filled up with zeros at the end, to the length asked for.
Single precision is kept; integers become floats of the default dtype. ``dim`` works in place of ``axis`` and ``axes``.
"""

import operator
from collections.abc import Sequence
from typing import Any, Literal

from lucidgrad.refusals import guard as _guard

from .core import dtype as dtypes
from .core.dispatch import box, complexes, floats, unwrap
from .creation import arange
from .ops.axes import axes_of, axis_of
from .ops.elementwise.copies import astype, clone
from .ops.fourier import dft, half_dft, real_dft
from .ops.indexing.selection import index, put_add
from .ops.shape.layout import roll
from .tensor import Tensor

__all__ = [
    "fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "rfft", "irfft", "rfft2", "irfft2", "rfftn", "irfftn",
    "hfft", "ihfft", "hfft2", "ihfft2", "hfftn", "ihfftn", "fftfreq", "rfftfreq", "fftshift", "ifftshift",
]  # fmt: skip

Norm = Literal["backward", "ortho", "forward"]


# -- arguments -------------------------------------------------------------------------------------
def _given(name: str, x: Any, norm: Any = "backward") -> tuple[Tensor, str]:
    """The array as a tensor, and the norm."""
    if not isinstance(x, Tensor):
        array = unwrap(dft.primitive, x)[0]  # type: ignore[attr-defined]
        if not hasattr(array, "dtype"):
            raise TypeError(f"{name}: x is a {type(x).__name__}, expected a Tensor or an array")
        x = box(array)
    if norm is not None and norm not in ("backward", "ortho", "forward"):
        raise ValueError(f"{name}: given norm={norm!r}, expected 'backward', 'ortho' or 'forward'")
    return x, "backward" if norm is None else norm


def _count(name: str, word: str, n: Any) -> int:
    """A number of points, which is at least one."""
    try:
        number = operator.index(n)
    except TypeError:
        raise TypeError(f"{name}: given {word}={n!r}, expected an integer") from None
    if number < 1:
        raise ValueError(f"{name}: given {word}={n}, expected at least 1")
    return number


def _axes(name: str, x: Tensor, s: Any, axes: Any) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The axes to transform, and for each the size asked for, or None."""
    sizes = s if s is None or isinstance(s, (tuple, list)) else (s,)
    if axes is not None:
        axes = axes_of(name, axes, x.ndim)
    elif sizes is None:
        axes = tuple(range(x.ndim))
    else:
        axes = tuple(range(x.ndim))[-len(sizes) :] if sizes else ()
    if sizes is not None and len(sizes) != len(axes):
        raise ValueError(f"{name}: given {len(sizes)} sizes in s for {len(axes)} axes, expected one for each")
    return axes, (None,) * len(axes) if sizes is None else tuple(None if n == -1 else n for n in sizes)


def _fitted(name: str, x: Tensor, axes: Sequence[int], sizes: Sequence[Any], word: str = "n") -> Tensor:
    """The array with as many points along each axis as were asked for; None leaves one as it is."""
    shape, lengths = x.shape, []
    for a, n in zip(axes, sizes):
        if n is None and shape[a] < 1:
            raise ValueError(f"{name}: x has length 0 along axis {a}, expected at least 1; give {word} to fill it up")
        lengths.append(shape[a] if n is None else _count(name, word, n))
    return _resized(x, axes, lengths)


def _real_length(name: str, x: Tensor, axis: int, n: Any, word: str = "n") -> int:
    """How many real points half a spectrum stands for: an even number, unless one was asked for."""
    if n is None and x.shape[axis] < 2:
        raise ValueError(
            f"{name}: x has length {x.shape[axis]} along axis {axis}, expected at least 2, or {word}, "
            f"the number of points in the result"
        )
    return 2 * (x.shape[axis] - 1) if n is None else _count(name, word, n)


def _resized(x: Tensor, axes: Sequence[int], lengths: Sequence[int]) -> Tensor:
    """Axes cut or filled up with zeros."""
    shape = x.shape
    if all(shape[a] == n for a, n in zip(axes, lengths)):
        return x
    wanted = list(shape)
    for a, n in zip(axes, lengths):
        wanted[a] = n
    key = tuple(slice(None) if n == m else slice(min(n, m)) for n, m in zip(wanted, shape))
    if any(n < m for n, m in zip(wanted, shape)):
        x = index(x, key=key)
    if any(n > m for n, m in zip(wanted, shape)):
        x = put_add(x, key=key, shape=tuple(wanted))
    return x


_COMPLEX = {"float16": "complex64", "float32": "complex64", "float64": "complex128"}


def _complex(x: Tensor) -> Tensor:
    if x.dtype in complexes:
        return x
    name = _COMPLEX.get(str(x.dtype))
    return astype(x, dtype=dtypes.default_complex_dtype() if name is None else dtypes.named(name))


def _need_real(name: str, x: Tensor, other: str) -> None:
    if x.dtype in complexes:
        raise TypeError(f"{name}: x is of dtype {x.dtype}, expected real numbers; for complex ones use {other}")


# -- the families ----------------------------------------------------------------------------------
def _full(name: str, x: Any, n: Any, axis: Any, norm: Any, inverse: bool) -> Tensor:
    """Complex numbers from complex ones, over one axis."""
    x, norm = _given(name, x, norm)
    axes = (axis_of(name, axis, x.ndim),)
    x = _fitted(name, x, axes, (n,))
    return dft(x, axis=axes, norm=norm, inverse=inverse)


def _full_many(name: str, x: Any, s: Any, axes: Any, norm: Any, inverse: bool) -> Tensor:
    x, norm = _given(name, x, norm)
    axes, sizes = _axes(name, x, s, axes)
    x = _fitted(name, x, axes, sizes, "s")
    return dft(x, axis=axes, norm=norm, inverse=inverse)


def _to_half(name: str, x: Any, n: Any, axis: Any, norm: Any, inverse: bool) -> Tensor:
    """Half a spectrum from real numbers."""
    x, norm = _given(name, x, norm)
    _need_real(name, x, "ifft" if inverse else "fft")
    axis = axis_of(name, axis, x.ndim)
    x = _fitted(name, x, (axis,), (n,))
    return half_dft(x, axis=axis, norm=norm, inverse=inverse)


def _to_real(name: str, x: Any, n: Any, axis: Any, norm: Any, inverse: bool) -> Tensor:
    """Real numbers from half a spectrum."""
    x, norm = _given(name, x, norm)
    axis = axis_of(name, axis, x.ndim)
    n = _real_length(name, x, axis, n)
    x = _resized(_complex(x), (axis,), (n // 2 + 1,))
    return real_dft(x, axis=axis, n=n, norm=norm, inverse=inverse)


def _to_half_many(name: str, x: Any, s: Any, axes: Any, norm: Any, inverse: bool) -> Tensor:
    """From real numbers: the last axis is halved, then the others are transformed."""
    x, norm = _given(name, x, norm)
    _need_real(name, x, "ifftn" if inverse else "fftn")
    where, sizes = _axes(name, x, s, axes)
    _need_axis(name, where)
    x = _fitted(name, x, where, sizes, "s")
    x = half_dft(x, axis=where[-1], norm=norm, inverse=inverse)
    return dft(x, axis=where[:-1], norm=norm, inverse=inverse) if where[1:] else x


def _to_real_many(name: str, x: Any, s: Any, axes: Any, norm: Any, inverse: bool) -> Tensor:
    """To real numbers, by the last axis, which has half a spectrum."""
    x, norm = _given(name, x, norm)
    where, sizes = _axes(name, x, s, axes)
    _need_axis(name, where)
    n = _real_length(name, x, where[-1], sizes[-1], "s")
    x = _resized(_fitted(name, _complex(x), where[:-1], sizes[:-1], "s"), where[-1:], (n // 2 + 1,))
    x = dft(x, axis=where[:-1], norm=norm, inverse=inverse) if where[1:] else x
    return real_dft(x, axis=where[-1], n=n, norm=norm, inverse=inverse)


def _need_axis(name: str, axes: Sequence[int]) -> None:
    if not axes:
        raise ValueError(f"{name}: given no axes, expected at least one")


# -- complex numbers -------------------------------------------------------------------------------
def fft(x: Any, /, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The Fourier transform over one axis.

    Parameters
    ----------
    x
        Complex or real numbers.
    n
        The number of points: the axis is cut, or filled up with zeros. Its length by default.
    axis
        The axis to transform.
    norm
        What is scaled: ``"backward"`` the inverse by 1/n, ``"forward"`` this by 1/n, ``"ortho"`` both by 1/√n.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    >>> power = lg.abs(lg.fft.fft(x)) ** 2
    >>> power.sum().backward()  # Parseval: 4 times the sum of squares
    >>> x.grad.tolist()
    [8.0, 16.0, 24.0, 32.0]
    """
    return _full("fft", x, n, axis, norm, inverse=False)


def ifft(x: Any, /, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse Fourier transform over one axis; parameters as in `fft`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([4.0, 0.0], requires_grad=True)
    >>> lg.real(lg.fft.ifft(x)[1]).backward()
    >>> x.grad.tolist()
    [0.5, -0.5]
    """
    return _full("ifft", x, n, axis, norm, inverse=True)


def fftn(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The Fourier transform over several axes.

    Parameters
    ----------
    x
        Complex or real numbers.
    s
        The number of points along each axis; -1 leaves one as it is. The axes' lengths by default.
    axes
        The axes to transform, each once: by default all, or as many of the last ones as there are sizes in s.
    norm
        As in `fft`, n being the number of all points.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.real(lg.fft.fftn(x)[1, 1]).backward()
    >>> x.grad.tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    return _full_many("fftn", x, s, axes, norm, inverse=False)


def ifftn(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The inverse Fourier transform over several axes; parameters as in `fftn`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.real(lg.fft.ifftn(x)[1, 1]).backward()
    >>> x.grad.tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """
    return _full_many("ifftn", x, s, axes, norm, inverse=True)


def fft2(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = "backward",
) -> Tensor:
    """The Fourier transform over two axes, by default the last ones; parameters as in `fftn`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.real(lg.fft.fft2(x)[1, 1]).backward()
    >>> x.grad.tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    return _full_many("fft2", x, s, axes, norm, inverse=False)


def ifft2(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = "backward",
) -> Tensor:
    """The inverse Fourier transform over two axes, by default the last ones; parameters as in `fftn`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.real(lg.fft.ifft2(x)[1, 1]).backward()
    >>> x.grad.tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """
    return _full_many("ifft2", x, s, axes, norm, inverse=True)


# -- real numbers ----------------------------------------------------------------------------------
def rfft(x: Any, /, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The first ``n // 2 + 1`` numbers of the Fourier transform of real ones; parameters as in `fft`.

    The others are conjugates of these.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    >>> y = lg.fft.rfft(x)
    >>> lg.real(y).sum().backward()
    >>> y.shape, x.grad.tolist()
    ((3,), [3.0, 0.0, 1.0, 0.0])
    """
    return _to_half("rfft", x, n, axis, norm, inverse=False)


def irfft(x: Any, /, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of `rfft`: n real numbers from ``n // 2 + 1`` complex ones.

    Imaginary parts without meaning (of the first number and, if n is even, of the last) don't count, and get no
    gradient.

    Parameters
    ----------
    x
        The first half of a spectrum.
    n
        The number of real points, ``2 * (m - 1)`` by default, m being the length of the axis.
    axis, norm
        As in `fft`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0 + 0.0j, 2.0 + 0.0j, 3.0 + 0.0j], requires_grad=True)
    >>> lg.fft.irfft(x)[0].backward()
    >>> lg.real(x.grad).tolist()
    [0.25, 0.5, 0.25]
    """
    return _to_real("irfft", x, n, axis, norm, inverse=True)


def rfftn(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The Fourier transform of real numbers over several axes, of which the last one is halved as by `rfft`.

    Parameters are as in `fftn`; there must be an axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.real(lg.fft.rfftn(x)[1, 0]).backward()
    >>> x.grad.tolist()
    [[1.0, 1.0], [-1.0, -1.0]]
    """
    return _to_half_many("rfftn", x, s, axes, norm, inverse=False)


def irfftn(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The inverse of `rfftn`: real numbers from a spectrum of which the last axis has the first half.

    Parameters are as in `fftn`, ``s[-1]`` being as the n of `irfft`; there must be an axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0 + 0.0j, 2.0 + 0.0j]], requires_grad=True)
    >>> lg.fft.irfftn(x)[0, 1].backward()
    >>> lg.real(x.grad).tolist()
    [[0.5, -0.5]]
    """
    return _to_real_many("irfftn", x, s, axes, norm, inverse=True)


def rfft2(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = "backward",
) -> Tensor:
    """`rfftn` over two axes, by default the last ones.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.real(lg.fft.rfft2(x)[1, 0]).backward()
    >>> x.grad.tolist()
    [[1.0, 1.0], [-1.0, -1.0]]
    """
    return _to_half_many("rfft2", x, s, axes, norm, inverse=False)


def irfft2(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = "backward",
) -> Tensor:
    """`irfftn` over two axes, by default the last ones.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0 + 0.0j, 2.0 + 0.0j]], requires_grad=True)
    >>> lg.fft.irfft2(x)[0, 1].backward()
    >>> lg.real(x.grad).tolist()
    [[0.5, -0.5]]
    """
    return _to_real_many("irfft2", x, s, axes, norm, inverse=True)


# -- spectra of real numbers in the role of time ---------------------------------------------------
def hfft(x: Any, /, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The Fourier transform, n real numbers, of a signal that is its own conjugate in reverse.

    Parameters are as in `irfft`, x being the first half of the signal.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0 + 0.0j, 2.0 + 0.0j, 3.0 + 0.0j], requires_grad=True)
    >>> lg.fft.hfft(x)[1].backward()
    >>> lg.imag(x.grad).tolist()
    [0.0, 2.0, 0.0]
    """
    return _to_real("hfft", x, n, axis, norm, inverse=False)


def ihfft(x: Any, /, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of `hfft`: the first ``n // 2 + 1`` numbers from n real ones; parameters as in `fft`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    >>> lg.imag(lg.fft.ihfft(x)[1]).backward()
    >>> x.grad.tolist()
    [0.0, 0.25, 0.0, -0.25]
    """
    return _to_half("ihfft", x, n, axis, norm, inverse=True)


def hfftn(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The Fourier transform over several axes of a signal that is its own conjugate in reverse: real numbers.

    Parameters are as in `irfftn`, x being the first half of the signal along the last axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0 + 0.0j, 2.0 + 0.0j]], requires_grad=True)
    >>> lg.fft.hfftn(x)[0, 1].backward()
    >>> lg.real(x.grad).tolist()
    [[1.0, -1.0]]
    """
    return _to_real_many("hfftn", x, s, axes, norm, inverse=False)


def ihfftn(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The inverse of `hfftn`, of which the last axis has the first half; parameters as in `rfftn`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.real(lg.fft.ihfftn(x)[1, 0]).backward()
    >>> x.grad.tolist()
    [[0.25, 0.25], [-0.25, -0.25]]
    """
    return _to_half_many("ihfftn", x, s, axes, norm, inverse=True)


def hfft2(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = "backward",
) -> Tensor:
    """`hfftn` over two axes, by default the last ones.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.fft.hfft2(lg.asarray([[1.0 + 0.0j, 2.0 + 0.0j]])).tolist()
    [[3.0, -1.0]]
    """
    return _to_real_many("hfft2", x, s, axes, norm, inverse=False)


def ihfft2(
    x: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = "backward",
) -> Tensor:
    """`ihfftn` over two axes, by default the last ones.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.real(lg.fft.ihfft2(lg.asarray([[3.0, -1.0]]))).tolist()
    [[1.0, 2.0]]
    """
    return _to_half_many("ihfft2", x, s, axes, norm, inverse=True)


# -- frequencies -----------------------------------------------------------------------------------
def _frequencies(name: str, start: int, stop: int, n: int, d: float, dtype: Any, device: Any) -> Tensor:
    dtype = dtypes.get_default_dtype() if dtype is None else dtypes.named(dtype) if isinstance(dtype, str) else dtype
    if dtype not in floats or dtype in complexes:
        raise TypeError(f"{name}: given dtype {dtype}, expected a real floating-point dtype")
    if d == 0:
        raise ZeroDivisionError(f"{name}: given d=0, expected the distance of samples")
    return arange(start, stop, dtype=dtype, device=device) * (1.0 / (n * d))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of a transform's n numbers, for samples at a distance d: first those from zero up.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.fft.fftfreq(4, d=0.5)
    tensor([ 0. ,  0.5, -1. , -0.5])
    """
    n = _count("fftfreq", "n", n)
    return ifftshift(_frequencies("fftfreq", -(n // 2), (n + 1) // 2, n, d, dtype, device))


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of the ``n // 2 + 1`` numbers that `rfft` gives, for samples at a distance d.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.fft.rfftfreq(4, d=0.5)
    tensor([0. , 0.5, 1. ])
    """
    n = _count("rfftfreq", "n", n)
    return _frequencies("rfftfreq", 0, n // 2 + 1, n, d, dtype, device)


def _shifted(name: str, x: Any, axes: Any, sign: int) -> Tensor:
    x, _ = _given(name, x)
    axes = tuple(range(x.ndim)) if axes is None else axes_of(name, axes, x.ndim)
    if not axes:
        return clone(x)
    # In the middle of n places there is the one with number n // 2.
    return roll(x, shift=tuple(sign * (x.shape[a] // 2) for a in axes), axis=axes)


def fftshift(x: Any, /, axes: int | Sequence[int] | None = None) -> Tensor:
    """Move the frequency zero to the middle of axes (by default of all).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0, -1.0], requires_grad=True)
    >>> y = lg.fft.fftshift(x)
    >>> y[0].backward()
    >>> y.tolist(), x.grad.tolist()
    ([-1.0, 0.0, 1.0], [0.0, 0.0, 1.0])
    """
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x: Any, /, axes: int | Sequence[int] | None = None) -> Tensor:
    """Move the frequency zero from the middle of axes (by default of all) to their start: undoes `fftshift`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 0.0, 1.0], requires_grad=True)
    >>> y = lg.fft.ifftshift(x)
    >>> y[0].backward()
    >>> y.tolist(), x.grad.tolist()
    ([0.0, 1.0, -1.0], [0.0, 1.0, 0.0])
    """
    return _shifted("ifftshift", x, axes, -1)


_guard(__name__, __all__)
