"""Windows, by which pieces of a signal are multiplied: PyTorch's ``signal.windows``.

Each has M points. A symmetric window (``sym``) ends as it begins; a periodic one, for spectra, is a symmetric one of a
point more without the last. Values are computed in double precision, then rounded to ``dtype``.
"""

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import lucidgrad as lg
from lucidgrad.core import dtype as dtypes
from lucidgrad.core.dispatch import complexes, floats
from lucidgrad.refusals import guard as _guard
from lucidgrad.tensor import Tensor

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip


def _made(
    name: str, M: Any, sym: bool, dtype: Any, device: Any, requires_grad: bool, shape: Callable[[Tensor, int], Tensor]
) -> Tensor:
    """The values of a shape at M points; it gets them and the number of steps from the first to the last or next."""
    try:
        M = operator.index(M)
    except TypeError:
        raise TypeError(f"{name}: given M={M!r}, expected an integer") from None
    if M < 0:
        raise ValueError(f"{name}: given M={M}, expected at least 0")
    dtype = dtypes.get_default_dtype() if dtype is None else dtypes.named(dtype) if isinstance(dtype, str) else dtype
    if dtype not in floats or dtype in complexes:
        raise ValueError(f"{name}: given dtype {dtype}, expected a real floating-point dtype")
    n = lg.arange(M, dtype=lg.float64, device=device)
    y = lg.ones_like(n) if M < 2 else shape(n, M - 1 if sym else M)
    y = lg.astype(y, dtype)
    return y.requires_grad_() if requires_grad else y


def _cosines(weights: Iterable[float]) -> Callable[[Tensor, int], Tensor]:
    """The sum of ``(-1)ⁱ weightᵢ cos(2π i n / steps)``."""

    def shape(n: Tensor, steps: int) -> Tensor:
        y = lg.zeros_like(n)
        for i, weight in enumerate(weights):
            y = y + (-1) ** i * weight * lg.cos(n * (2 * math.pi * i / steps))
        return y

    return shape


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A sum of cosines with alternating signs, whose weights are ``a``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.signal.windows.general_cosine(4, a=[0.46, 0.23, 0.31], sym=False).tolist()
    [0.54, 0.15, 1.0, 0.15]
    """
    weights = list(a)
    if not weights:
        raise ValueError("general_cosine: given no weights as a, expected at least one")
    return _made("general_cosine", M, sym, dtype, device, requires_grad, _cosines(weights))


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``alpha - (1 - alpha) cos(2π n / steps)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.signal.windows.general_hamming(4, alpha=0.6, sym=False).tolist()
    [0.2, 0.6, 1.0, 0.6]
    """
    return _made("general_hamming", M, sym, dtype, device, requires_grad, _cosines([alpha, 1 - alpha]))


def hamming(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``0.54 - 0.46 cos(2π n / steps)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.signal.windows.hamming(4, sym=False).tolist()
    [0.08, 0.54, 1.0, 0.54]
    """
    return _made("hamming", M, sym, dtype, device, requires_grad, _cosines([0.54, 0.46]))


def hann(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``(1 - cos(2π n / steps)) / 2``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.signal.windows.hann(4, sym=False).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return _made("hann", M, sym, dtype, device, requires_grad, _cosines([0.5, 0.5]))


def blackman(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``0.42 - 0.5 cos(2π n / steps) + 0.08 cos(4π n / steps)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.signal.windows.blackman(5)[2].item()
    1.0
    """
    return _made("blackman", M, sym, dtype, device, requires_grad, _cosines([0.42, 0.5, 0.08]))


def nuttall(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Nuttall's sum of four cosines, with the least side lobes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.signal.windows.nuttall(5)[2].item()
    1.0
    """
    weights = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return _made("nuttall", M, sym, dtype, device, requires_grad, _cosines(weights))


def bartlett(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A triangle that begins with zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.signal.windows.bartlett(5).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def triangle(n: Tensor, steps: int) -> Tensor:
        return 1 - lg.abs(n * (2 / steps) - 1)

    return _made("bartlett", M, sym, dtype, device, requires_grad, triangle)


def cosine(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Half a wave of the sine.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.signal.windows.cosine(3)[1].item()
    1.0
    """
    return _made(
        "cosine", M, sym, dtype, device, requires_grad, lambda n, steps: lg.sin((n + 0.5) * (math.pi / (steps + 1)))
    )


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-|n - center| / tau)``; a symmetric window has its centre in the middle.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.signal.windows.exponential(3, tau=0.5).tolist()
    [0.135335, 1.0, 0.135335]
    """
    if tau <= 0:
        raise ValueError(f"exponential: given tau={tau}, expected more than 0")
    if sym and center is not None:
        raise ValueError(f"exponential: given center={center} for a symmetric window, expected None, or sym=False")
    return _made(
        "exponential", M, sym, dtype, device, requires_grad,
        lambda n, steps: lg.exp(-lg.abs(n - (steps / 2 if center is None else center)) / tau),
    )  # fmt: skip


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-n² / 2 std²)``, n counted from the middle.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.signal.windows.gaussian(3).tolist()
    [0.606531, 1.0, 0.606531]
    """
    if std <= 0:
        raise ValueError(f"gaussian: given std={std}, expected more than 0")
    return _made(
        "gaussian", M, sym, dtype, device, requires_grad, lambda n, steps: lg.exp(-(((n - steps / 2) / std) ** 2) / 2)
    )


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser's window ``I₀(β √(1 - t²)) / I₀(β)``, t going from -1 to 1.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.signal.windows.kaiser(3, beta=1.0).tolist()
    [0.789848, 1.0, 0.789848]
    """
    if beta < 0:
        raise ValueError(f"kaiser: given beta={beta}, expected at least 0")

    def shape(n: Tensor, steps: int) -> Tensor:
        t = n * (2 / steps) - 1
        x = beta * lg.sqrt(lg.maximum(1 - t * t, 0.0))
        top = lg.special.i0e(lg.tensor(float(beta), dtype=lg.float64, device=n.device))
        return lg.special.i0e(x) * lg.exp(x - beta) / top  # both without their growth, which would overflow

    return _made("kaiser", M, sym, dtype, device, requires_grad, shape)


_guard(__name__, __all__)
