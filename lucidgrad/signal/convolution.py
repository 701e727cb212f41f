"""Convolution and correlation over all axes, with SciPy's modes."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import lucidgrad as lg
from lucidgrad.core.dispatch import complexes, floats
from lucidgrad.ops.numbers import evened
from lucidgrad.ops.precision import in_precision
from lucidgrad.tensor import Tensor

Mode = Literal["full", "same", "valid"]
Method = Literal["auto", "direct", "fft"]

#: From so many products on, transforms are quicker than sums of them.
_MANY = 1 << 18


def _need(name: str, in1: Any, in2: Any, mode: str) -> None:
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: given mode={mode!r}, expected 'full', 'same' or 'valid'")
    if in1.ndim != in2.ndim:
        raise ValueError(f"{name}: given shapes {in1.shape} and {in2.shape}, expected as many axes")


def _larger_first(name: str, in1: Tensor, in2: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """In mode valid one of both must be larger along all axes, and comes first."""
    pairs = [(in1.shape[a], in2.shape[a]) for a in axes]
    if all(n1 >= n2 for n1, n2 in pairs):
        return in1, in2
    if all(n1 <= n2 for n1, n2 in pairs):
        return in2, in1
    raise ValueError(f"{name}: given shapes {in1.shape} and {in2.shape}, expected one to be larger along all axes")


def _cut(y: Tensor, in1: Tensor, in2: Tensor, mode: str, axes: Sequence[int]) -> Tensor:
    """The middle of a full convolution."""
    if mode == "full":
        return y
    sizes = {a: in1.shape[a] if mode == "same" else in1.shape[a] - in2.shape[a] + 1 for a in axes}
    key = []
    for a, n in enumerate(y.shape):
        start = (n - sizes.get(a, n)) // 2
        key.append(slice(start, start + sizes.get(a, n)))
    return y[tuple(key)]


def _by_sums(in1: Tensor, in2: Tensor, mode: str) -> Tensor:
    """The larger array in windows of the smaller one's shape, times that in reverse."""
    swap = math.prod(in2.shape) > math.prod(in1.shape)
    x1, x2 = (in2, in1) if swap else (in1, in2)
    rank, around = x1.ndim, [(n - 1, n - 1) for n in x2.shape]
    if mode == "valid" and all(n1 >= n2 for n1, n2 in zip(x1.shape, x2.shape)):
        around, cut = [(0, 0)] * rank, False
    else:
        cut = mode != "full"
    x1 = lg.pad(x1, around)
    for axis, n in enumerate(x2.shape):
        x1 = lg.unfold(x1, axis, n, 1)
    y = lg.tensordot(x1, lg.flip(x2), axes=(tuple(range(rank, 2 * rank)), tuple(range(rank))))
    return _cut(y, in1, in2, mode, range(rank)) if cut else y


@in_precision("full")
def fftconvolve(in1: Any, in2: Any, mode: Mode = "full", axes: int | Sequence[int] | None = None) -> Tensor:
    """`convolve` by Fourier transforms, over some axes; others broadcast.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> y = lg.signal.fftconvolve(x, lg.asarray([1.0, 10.0]), mode="same")
    >>> y[0].backward()
    >>> y.tolist(), x.grad.tolist()
    ([1.0, 12.0, 23.0], [1.0, 0.0, 0.0])
    """
    _need("fftconvolve", in1, in2, mode)
    if not in1.ndim:
        return in1 * in2
    given = range(in1.ndim) if axes is None else (axes,) if hasattr(axes, "__index__") else axes
    if any(not -in1.ndim <= a < in1.ndim for a in given):
        raise ValueError(f"fftconvolve: given axes={axes!r} for arrays of dimension {in1.ndim}")
    along = [a % in1.ndim for a in given]
    if mode == "valid":
        in1, in2 = _larger_first("fftconvolve", in1, in2, along)
    in1, in2 = evened(*(x if x.dtype in floats else x * 1.0 for x in (in1, in2)))
    if not math.prod(in1.shape) or not math.prod(in2.shape):
        return lg.zeros((0,) * in1.ndim, dtype=lg.result_type(in1, in2), device=in1.device)
    sizes = [in1.shape[a] + in2.shape[a] - 1 for a in along]
    if in1.dtype in complexes or in2.dtype in complexes:
        y = lg.fft.ifftn(lg.fft.fftn(in1, s=sizes, axes=along) * lg.fft.fftn(in2, s=sizes, axes=along), axes=along)
    else:
        spectrum = lg.fft.rfftn(in1, s=sizes, axes=along) * lg.fft.rfftn(in2, s=sizes, axes=along)
        y = lg.fft.irfftn(spectrum, s=sizes, axes=along)
    return _cut(y, in1, in2, mode, along)


@in_precision("full")
def convolve(in1: Any, in2: Any, mode: Mode = "full", method: Method = "auto") -> Tensor:
    """The convolution of two arrays over all their axes.

    Parameters
    ----------
    in1, in2
        Arrays of as many axes.
    mode
        ``"full"`` has every overlap, ``"same"`` the middle part of the first one's shape, ``"valid"`` what overlaps
        entirely.
    method
        ``"direct"`` adds up products, ``"fft"`` goes by Fourier transforms; ``"auto"`` chooses by the sizes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> y = lg.signal.convolve(x, lg.asarray([1.0, 10.0]))
    >>> y[1].backward()
    >>> y.tolist(), x.grad.tolist()
    ([1.0, 12.0, 23.0, 30.0], [10.0, 1.0, 0.0])
    """
    _need("convolve", in1, in2, mode)
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"convolve: given method={method!r}, expected 'auto', 'direct' or 'fft'")
    if not in1.ndim:
        return in1 * in2
    if mode == "valid":
        in1, in2 = _larger_first("convolve", in1, in2, range(in1.ndim))
    sizes = math.prod(in1.shape), math.prod(in2.shape)
    exact = lg.result_type(in1, in2) not in floats
    if method == "fft" or (method == "auto" and not exact and sizes[0] * sizes[1] > _MANY):
        return fftconvolve(in1, in2, mode)
    if not all(sizes):
        raise ValueError(f"convolve: given shapes {in1.shape} and {in2.shape}, expected arrays with elements")
    return _by_sums(in1, in2, mode)


def correlate(in1: Any, in2: Any, mode: Mode = "full", method: Method = "auto") -> Tensor:
    """The correlation of two arrays over all their axes: sums of ``in1[n + k] conj(in2[n])``.

    Parameters are as in `convolve`, by which it is computed.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> y = lg.signal.correlate(x, lg.asarray([1.0, 10.0]))
    >>> y[1].backward()
    >>> y.tolist(), x.grad.tolist()
    ([10.0, 21.0, 32.0, 3.0], [1.0, 10.0, 0.0])
    """
    _need("correlate", in1, in2, mode)
    return convolve(in1, lg.flip(lg.conj(in2) if in2.dtype in complexes else in2), mode, method)


def correlation_lags(in1_len: int, in2_len: int, mode: Mode = "full") -> Tensor:
    """By how much the second array is shifted in each number of a `correlate` of two vectors.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.signal.correlation_lags(3, 2).tolist()
    [-1, 0, 1, 2]
    """
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"correlation_lags: given mode={mode!r}, expected 'full', 'same' or 'valid'")
    if mode == "valid":
        gap = in1_len - in2_len
        return lg.arange(gap + 1) if gap >= 0 else lg.arange(gap, 1)
    lags = lg.arange(-in2_len + 1, in1_len)
    if mode == "full":
        return lags
    middle, bound = lags.shape[0] // 2, in1_len // 2
    return lags[middle - bound : middle + bound + in1_len % 2]
