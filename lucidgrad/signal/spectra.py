"""PyTorch's names of the root: short-time Fourier transforms, and windows by their older names."""

import warnings
from typing import Any

import lucidgrad as lg
from lucidgrad.core.dispatch import complexes
from lucidgrad.fft import Norm
from lucidgrad.levels.batching import Batched
from lucidgrad.tensor import Tensor

from . import windows

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "istft", "kaiser_window", "stft"]


# -- windows -------------------------------------------------------------------------------------
def _need_length(name: str, length: int) -> None:
    if length < 0:
        raise RuntimeError(f"{name}: given window_length={length}, expected at least 0")


def hann_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Hann's window: `signal.windows.hann`, periodic by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.hann_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    _need_length("hann_window", window_length)
    return windows.hann(window_length, sym=not periodic, dtype=dtype, device=device, requires_grad=requires_grad)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``alpha - beta cos(2π n / steps)``, periodic by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.hamming_window(4).tolist()
    [0.08, 0.54, 1.0, 0.54]
    """
    _need_length("hamming_window", window_length)
    return windows.general_cosine(
        window_length, a=[alpha, beta], sym=not periodic, dtype=dtype, device=device, requires_grad=requires_grad
    )


def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Blackman's window: `signal.windows.blackman`, periodic by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.blackman_window(4)[2].item()
    1.0
    """
    _need_length("blackman_window", window_length)
    return windows.blackman(window_length, sym=not periodic, dtype=dtype, device=device, requires_grad=requires_grad)


def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A triangle: `signal.windows.bartlett`, periodic by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.bartlett_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    _need_length("bartlett_window", window_length)
    return windows.bartlett(window_length, sym=not periodic, dtype=dtype, device=device, requires_grad=requires_grad)


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser's window: `signal.windows.kaiser`, periodic by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.kaiser_window(4, beta=1.0)[2].item()
    1.0
    """
    _need_length("kaiser_window", window_length)
    return windows.kaiser(
        window_length, beta=beta, sym=not periodic, dtype=dtype, device=device, requires_grad=requires_grad
    )


# -- short-time transforms ---------------------------------------------------------------------------
#: NumPy's names of PyTorch's ways to go on beyond the ends.
_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _is_complex(*xs: Any) -> bool:
    return any(x is not None and x.dtype in complexes for x in xs)


def _lengths(name: str, n_fft: int, hop_length: int | None, win_length: int | None, window: Any) -> tuple[int, int]:
    """The hop and the window's length, which have defaults."""
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    if hop <= 0:
        raise RuntimeError(f"{name}: given hop_length={hop}, expected more than 0")
    if not 0 < size <= n_fft:
        raise RuntimeError(f"{name}: given win_length={size}, expected 1 to n_fft={n_fft}")
    if window is not None and (window.ndim != 1 or window.shape[0] != size):
        raise RuntimeError(f"{name}: given a window of shape {tuple(window.shape)}, expected a vector of size {size}")
    return hop, size


def _widened(window: Any, n_fft: int, like: Tensor) -> Tensor:
    """A window in the middle of n_fft points."""
    size = window.shape[0]
    if size == n_fft:
        return window
    left = (n_fft - size) // 2
    return lg.pad(window, [(left, n_fft - size - left)])


def stft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Short-time Fourier transforms: those of overlapping pieces of a signal, frequencies by pieces.

    Parameters
    ----------
    input
        A signal, or a batch of them.
    n_fft
        The number of points of each piece.
    hop_length
        How far one piece is from the next, ``n_fft // 4`` by default.
    win_length, window
        The window that pieces are multiplied by, and its size, n_fft by default; a shorter one gets zeros on both
        sides. Ones without a window.
    center, pad_mode
        Whether pieces have their middle at multiples of the hop, for which the signal goes on beyond its ends as
        `nn.functional.pad` says.
    normalized
        Whether the results are divided by the root of n_fft.
    onesided
        Whether to give only the first ``n_fft // 2 + 1`` frequencies, as the others are conjugates; if nothing is
        complex, yes.
    return_complex
        Whether results are complex, or have a last axis of real and imaginary parts. It must be given for real input.
    align_to_window
        Without ``center``: whether the first window, not the first piece, begins with the signal.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(8, requires_grad=True)
    >>> y = lg.stft(x, 4, hop_length=4, center=False, return_complex=True)
    >>> y[0].real.sum().backward()
    >>> y.shape, x.grad.tolist()
    ((3, 2), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    """
    if center and align_to_window is not None:
        raise RuntimeError("stft: given align_to_window with center=True, expected None, or center=False")
    if return_complex is None and not _is_complex(input, window):
        raise RuntimeError("stft: given real input without return_complex, expected True, or False for pairs of reals")
    if input.ndim not in (1, 2):
        raise RuntimeError(f"stft: given input of shape {tuple(input.shape)}, expected (B, L) or (L)")
    onesided = not _is_complex(input, window) if onesided is None else onesided
    if onesided and _is_complex(input, window):
        raise RuntimeError("stft: given onesided=True and complex numbers, expected onesided=False")
    if center:
        if pad_mode not in _MODES:
            raise ValueError(f"stft: given pad_mode={pad_mode!r}, expected one of {', '.join(map(repr, _MODES))}")
        around = n_fft // 2
        if pad_mode == "reflect" and around >= input.shape[-1]:
            raise RuntimeError(f"stft: given {input.shape[-1]} points and n_fft={n_fft}, expected more than n_fft // 2")
        input = lg.pad(input, [(0, 0)] * (input.ndim - 1) + [(around, around)], mode=_MODES[pad_mode])
    length = input.shape[-1]
    hop, size = _lengths("stft", n_fft, hop_length, win_length, window)
    aligned = bool(align_to_window)
    if n_fft < 1 or length < (size if aligned else n_fft):
        raise RuntimeError(f"stft: given n_fft={n_fft} for {length} points, expected 1 to {length}")
    if aligned:
        left = (n_fft - size) // 2
        input = lg.pad(input, [(0, 0)] * (input.ndim - 1) + [(left, n_fft - size - left)])
    pieces = lg.unfold(input, -1, n_fft, hop)
    if window is not None or size < n_fft:
        ones = lg.ones(size, dtype=input.dtype, device=input.device) if window is None else window
        pieces = pieces * _widened(ones, n_fft, input)
    norm: Norm = "ortho" if normalized else "backward"
    y = (lg.fft.rfft if onesided else lg.fft.fft)(pieces, norm=norm)
    y = lg.matrix_transpose(y)
    return lg.stack([lg.real(y), lg.imag(y)], axis=-1) if return_complex is False else y


def istft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose `stft` is nearest to this one: pieces are added up, and divided by the sum of squared windows.

    Parameters are as in `stft`, but for

    Parameters
    ----------
    input
        Complex numbers, frequencies by pieces, or a batch of such.
    length
        How many points of the signal to give; as many as are known by default.
    return_complex
        Whether the signal is complex.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    >>> window = lg.hann_window(4)
    >>> y = lg.stft(x, 4, window=window, return_complex=True).requires_grad_()
    >>> back = lg.istft(y, 4, window=window)
    >>> back.sum().backward()
    >>> back.tolist(), y.grad.shape
    ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], (3, 9))
    """
    if not _is_complex(input):
        raise RuntimeError(f"istft: given input of dtype {input.dtype}, expected complex numbers")
    if input.ndim not in (2, 3) or 0 in input.shape:
        raise RuntimeError(f"istft: given input of shape {tuple(input.shape)}, expected (B, N, T) or (N, T), not empty")
    count = input.shape[-2]
    if return_complex and onesided:
        raise RuntimeError("istft: given onesided=True and return_complex=True, expected one of them")
    if _is_complex(window) and not return_complex:
        raise RuntimeError("istft: given a complex window, expected return_complex=True")
    onesided = count != n_fft if onesided is None else onesided
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if count != wanted:
        raise RuntimeError(
            f"istft: given {count} frequencies, expected {wanted} for n_fft={n_fft}, onesided={onesided}"
        )
    hop, size = _lengths("istft", n_fft, hop_length, win_length, window)
    norm: Norm = "ortho" if normalized else "backward"
    y = lg.matrix_transpose(input)
    if return_complex:
        y = lg.fft.ifft(y, norm=norm)
    else:
        y = lg.fft.irfft(y if onesided else y[..., : n_fft // 2 + 1], n=n_fft, norm=norm)
    ones = lg.ones(size, dtype=lg.real(y).dtype, device=y.device) if window is None else window
    wide = _widened(ones, n_fft, y)
    frames = y.shape[-2]
    signal, weights = (_overlapped(part, hop) for part in (y * wide, lg.broadcast_to(wide * wide, (frames, n_fft))))
    start, stop = n_fft // 2 if center else 0, n_fft + hop * (frames - 1)
    end = start + length if length is not None else stop - (n_fft // 2 if center else 0)
    signal, weights = signal[..., start : min(end, stop)], weights[start : min(end, stop)]
    if type(weights.array) is not Batched and (not weights.size or lg.min(lg.abs(weights)).item() < 1e-11):
        raise RuntimeError(
            "istft: windows that overlap add up to zero somewhere, expected a window and hop that do not"
        )
    signal = signal / weights
    if end > stop:
        warnings.warn(f"istft: given length={length}, of which {stop - start} are known; zeros follow", stacklevel=2)
        signal = lg.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, end - stop)])
    return signal


def _overlapped(pieces: Tensor, hop: int) -> Tensor:
    """Pieces in the last two axes added up, each at its place."""
    frames, size = pieces.shape[-2:]
    places = lg.expand_dims(lg.arange(frames, device=pieces.device) * hop, axis=-1) + lg.arange(
        size, device=pieces.device
    )
    lead = pieces.shape[:-2]
    zeros = lg.zeros((*lead, size + hop * (frames - 1)), dtype=pieces.dtype, device=pieces.device)
    return lg.index_add(zeros, len(lead), lg.reshape(places, (-1,)), lg.reshape(pieces, (*lead, frames * size)))
