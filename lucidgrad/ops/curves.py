"""Functions of one variable by their samples: convolution, interpolation, integrals, differences."""

from typing import Any

from lucidgrad.core.dispatch import number
from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.ops.precision import rounded_once

from . import reduction
from .axes import axis_of, part, product
from .linalg import products
from .numbers import evened, inexact, is_complex, together
from .shape.layout import broadcast_shapes


@rounded_once
def convolve(x1: Any, x2: Any, /, mode: str = "full") -> Any:
    """The convolution of two vectors (NumPy's meaning).

    ``"full"`` has every overlap, ``"same"`` the middle part of the longer one's size, ``"valid"`` what overlaps
    entirely.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> y = lg.convolve(x, lg.asarray([1.0, 10.0]))
    >>> y[1].backward()
    >>> y.tolist(), x.grad.tolist()
    ([1.0, 12.0, 23.0, 30.0], [10.0, 1.0, 0.0])
    """
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"convolve: given mode={mode!r}, expected 'full', 'same' or 'valid'")
    if x1.ndim > 1 or x2.ndim > 1 or not product(x1.shape) or not product(x2.shape):
        raise ValueError(
            f"convolve: given shapes {tuple(x1.shape)} and {tuple(x2.shape)}, expected vectors with elements"
        )
    x1, x2 = (ops.reshape(x, shape=(product(x.shape),)) for x in (x1, x2))
    x1, x2 = (x2, x1) if x2.shape[0] > x1.shape[0] else (x1, x2)
    n, m = x1.shape[0], x2.shape[0]
    before, size = {"full": (m - 1, n + m - 1), "same": (m // 2, n), "valid": (0, n - m + 1)}[mode]
    if before or size > n:
        x1 = ops.put_add(x1, key=slice(before, before + n), shape=(max(size + m - 1, before + n),))
    i = ops.expand_dims(ops.arange(size, device=x1.device), axis=1) + ops.arange(m, device=x1.device)
    return products.matmul(ops.take(x1, i, axis=0), ops.flip(x2))


def correlate(x1: Any, x2: Any, /, mode: str = "valid") -> Any:
    """The correlation of two vectors, sums of ``x1[n + k] conj(x2[n])`` (NumPy's meaning); modes as in `convolve`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> y = lg.correlate(x, lg.asarray([1.0, 10.0]))
    >>> y[1].backward()
    >>> y.tolist(), x.grad.tolist()
    ([21.0, 32.0], [0.0, 1.0, 10.0])
    """
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"correlate: given mode={mode!r}, expected 'full', 'same' or 'valid'")
    if product(x2.shape) > product(x1.shape):
        y = correlate(x2, x1, mode)
        return ops.flip(ops.conj(y) if is_complex(y.dtype) else y)
    return convolve(x1, ops.flip(ops.conj(x2) if is_complex(x2.dtype) else x2), mode)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None) -> Any:
    """The values at x of the polyline through the points ``(xp, fp)`` (NumPy's meaning).

    Parameters
    ----------
    x
        Where to interpolate.
    xp, fp
        The points: vectors of the same size, the first one rising (with a period in any order).
    left, right
        The values before the first point and after the last one; None continues with theirs.
    period
        The period of the first coordinate, with which nothing is left or right.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.5, 9.0], requires_grad=True)
    >>> y = lg.interp(x, lg.asarray([0.0, 1.0, 2.0]), lg.asarray([0.0, 10.0, 40.0]))
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([5.0, 25.0, 40.0], [10.0, 30.0, 0.0])
    """
    if xp.ndim != 1 or tuple(xp.shape) != tuple(fp.shape) or not xp.shape[0]:
        raise ValueError(
            f"interp: given points of shapes {tuple(xp.shape)} and {tuple(fp.shape)}, expected two vectors of one size"
        )
    x, xp, fp = together(x, xp, fp)
    x = x if hasattr(x, "dtype") else ops.asarray(x, dtype=xp.dtype, device=xp.device)
    if period is not None:
        if period == 0:
            raise ValueError("interp: given period=0, expected another number")
        period, left, right = abs(period), None, None
        x, xp = x % period, xp % period
        order = ops.argsort(xp)
        xp, fp = ops.take(xp, order, axis=0), ops.take(fp, order, axis=0)
        xp = ops.concat(xp[-1:] - period, xp, xp[:1] + period, axis=0)
        fp = ops.concat(fp[-1:], fp, fp[:1], axis=0)
    n = xp.shape[0]
    after = ops.searchsorted(xp, x, side="right")
    low = ops.minimum(ops.maximum(after - 1, 0), max(n - 2, 0))
    x0, y0 = ops.take(xp, low, axis=0), ops.take(fp, low, axis=0)
    high = ops.minimum(low + 1, n - 1)
    width = ops.take(xp, high, axis=0) - x0
    slope = (ops.take(fp, high, axis=0) - y0) / ops.where(width == 0, 1, width)
    y = y0 + slope * (x - x0)
    y = ops.where(x < xp[0], fp[0] if left is None else left, y)
    return ops.where(x >= xp[-1], ops.where(x == xp[-1], fp[-1], fp[-1] if right is None else right), y)


@rounded_once
def trapezoid(y: Any, /, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by the trapezoidal rule, with places x or equal steps dx (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> lg.trapezoid(y).backward()
    >>> y.grad.tolist()
    [0.5, 1.0, 0.5]
    """
    axis = axis_of("trapezoid", axis, y.ndim)
    return reduction.sum(_trapezoids(y, x, dx, axis), axis=axis)


def _trapezoids(y: Any, x: Any, dx: float, axis: int) -> Any:
    """The areas between neighbours along an axis."""
    y, x = evened(inexact(y), x)
    step: Any = dx
    if x is not None:
        if x.ndim == 1:
            x = ops.reshape(x, shape=(*x.shape, *(1,) * (y.ndim - axis - 1)))
        at = x.ndim - y.ndim + axis
        step = part(ops, x, at, 1) - part(ops, x, at, None, -1)
        broadcast_shapes(step.shape, part(ops, y, axis, 1).shape)
    return (part(ops, y, axis, 1) + part(ops, y, axis, None, -1)) * step / 2


@rounded_once
def cumulative_trapezoid(y: Any, /, x: Any = None, *, dx: float = 1.0, axis: int = -1) -> Any:
    """The integrals from the first place to each later one by the trapezoidal rule, with places x or steps dx.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> areas = lg.cumulative_trapezoid(y)
    >>> areas[1].backward()
    >>> areas.tolist(), y.grad.tolist()
    ([1.5, 4.0], [0.5, 1.0, 0.5])
    """
    axis = axis_of("cumulative_trapezoid", axis, y.ndim)
    return ops.cumulative_sum(_trapezoids(y, x, dx, axis), axis=axis)


def ediff1d(x: Any, /, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours in the flattened array, with more joined on at both ends (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 4.0, 9.0], requires_grad=True)
    >>> y = lg.ediff1d(x)
    >>> y[0].backward()
    >>> y.tolist(), x.grad.tolist()
    ([3.0, 5.0], [-1.0, 1.0, 0.0])
    """
    x, to_end, to_begin = evened(x, to_end, to_begin)
    flat = ops.reshape(x, shape=(product(x.shape),))
    made = []
    for piece in (to_begin, flat[1:] - flat[:-1], to_end):
        if piece is not None:
            piece = number(piece)
            piece = piece if hasattr(piece, "dtype") else ops.asarray(piece, dtype=x.dtype, device=x.device)
            made.append(ops.reshape(piece, shape=(product(piece.shape),)))
    return ops.concat(*made, axis=0) if len(made) > 1 else made[0]
