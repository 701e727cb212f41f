"""Curves and polynomials, products, and functions of functions."""

import operator
from collections.abc import Callable
from typing import Any

import lucidgrad as lg

from .entrance import (
    TABLE,
    Array,
    Operand,
    Refused,
    cast,
    fits_axis,
    library,
    numpy_function,
    numpy_functions,
    values_of,
)


@numpy_function()
def interp(x: Array, xp: Array, fp: Array, left: Operand = None, right: Operand = None, period: Any = None) -> Any:
    """Between the points of a curve, on straight lines."""
    return lg.interp(x, xp, fp, left, right, period)


@numpy_functions(convolve=lg.convolve)
def _convolutions(compute: Callable[..., Any], a: Array, v: Array, mode: str = "full") -> Any:
    return compute(*(lg.reshape(x, (-1,)) if x.ndim == 0 else x for x in (a, v)), mode)


@numpy_functions(correlate=lg.correlate)
def _correlations(compute: Callable[..., Any], a: Array, v: Array, mode: str = "valid") -> Any:
    return compute(a, v, mode)


# -- products ------------------------------------------------------------------------------------
@numpy_functions(dot=lg.dot, outer=lg.outer)
def _products_with_out(compute: Callable[..., Any], a: Array, b: Array, out: Refused = None) -> Any:
    return compute(*(lg.reshape(x, (-1,)) for x in (a, b))) if compute is lg.outer else compute(a, b)


@numpy_functions(inner=lg.inner, vdot=lg.vdot)
def _products(compute: Callable[..., Any], a: Array, b: Array, /) -> Any:
    return compute(a, b)


@numpy_function()
def kron(a: Array, b: Array) -> Any:
    """Kronecker's product."""
    return lg.kron(a, b)


@numpy_function()
def tensordot(a: Array, b: Array, axes: Any = 2) -> Any:
    """The sum of products along axes of both."""
    return lg.tensordot(a, b, axes if isinstance(axes, int) else tuple(_axes(part) for part in axes))


def _axes(value: Any) -> Any:
    return tuple(value) if isinstance(value, (tuple, list)) else (int(value),)


@numpy_function()
def cross(a: Array, b: Array, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    """The vector product of vectors of three numbers, or of two."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = lg.moveaxis(a, axisa, -1), lg.moveaxis(b, axisb, -1)
    if {a.shape[-1], b.shape[-1]} - {2, 3}:
        raise ValueError(f"given vectors of {a.shape[-1]} and {b.shape[-1]} numbers, expected 2 or 3")
    flat = a.shape[-1] == b.shape[-1] == 2
    a, b = (lg.concat([x, lg.zeros_like(x[..., :1])], axis=-1) if x.shape[-1] == 2 else x for x in (a, b))
    y = lg.cross(*lg.broadcast_arrays(a, b), axis=-1)
    return y[..., 2] if flat else lg.moveaxis(y, -1, axisc)


@numpy_function()
def einsum(*operands: Any, out: Refused = None, optimize: Any = False, **kwargs: Any) -> Any:
    """Sums of products in Einstein's notation."""
    for name, value in kwargs.items():
        if (name, value) not in (("order", "K"), ("casting", "safe"), ("dtype", None)):
            raise TypeError(f"given {name}, which tensors don't have; cast the operands with astype")
    where = next((x.device for x in operands if isinstance(x, lg.Tensor)), None)
    if isinstance(operands[0], str):
        return lg.einsum(operands[0], *(lg.asarray(x, device=where) for x in operands[1:]))
    pairs = [lg.asarray(x, device=where) if i % 2 == 0 and i + 1 < len(operands) else x for i, x in enumerate(operands)]
    return lg.einsum(*pairs)


@numpy_function()
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """In which order `einsum` had best multiply: NumPy's answer for arrays of these shapes."""
    return library().einsum_path(*map(_stand_in, operands), optimize=optimize, einsum_call=einsum_call)


def _stand_in(x: Any) -> Any:
    return library().broadcast_to(library().zeros((), x.dtype), x.shape) if isinstance(x, lg.Tensor) else x


# -- polynomials, the highest power first --------------------------------------------------------
def _coefficients(p: Any) -> Any:
    return lg.atleast_1d(p)


@numpy_function()
def polyval(p: Array, x: Array) -> Any:
    """The value of a polynomial, by Horner's rule."""
    y = lg.zeros_like(x)
    for c in lg.unstack(_coefficients(p)):
        y = y * x + c
    return y


@numpy_functions(polyadd=operator.add, polysub=operator.sub)
def _polynomial_sums(compute: Callable[..., Any], a1: Array, a2: Array) -> Any:
    a, b = _coefficients(a1), _coefficients(a2)
    n = max(a.shape[0], b.shape[0])
    return compute(*(lg.pad(p, (n - p.shape[0], 0)) if p.shape[0] < n else p for p in (a, b)))


@numpy_function()
def polymul(a1: Array, a2: Array) -> Any:
    """The product of polynomials."""
    return lg.convolve(_trimmed(_coefficients(a1)), _trimmed(_coefficients(a2)))


def _trimmed(p: Any) -> Any:
    """Without zeros in front."""
    filled = library().flatnonzero(values_of(p))
    return p[int(filled[0]) if filled.size else p.shape[0] - 1 :] if p.shape[0] > 1 else p


@numpy_function()
def polydiv(u: Array, v: Array) -> tuple[Any, Any]:
    """The quotient of polynomials, and what remains."""
    u, v = (_coefficients(p) for p in (u, v))
    u = cast(u, lg.result_type(u, v, 1.0))
    n = v.shape[0]
    found = []
    for _ in range(u.shape[0] - n + 1):
        found.append(u[0] / v[0])
        head = u[:n] - found[-1] * v
        u = lg.concat([head[1:], u[n:]], axis=0)
    quotient = lg.stack(found) if found else lg.zeros((1,), dtype=u.dtype, device=u.device)
    rest = u if u.shape[0] else lg.zeros((1,), dtype=u.dtype, device=u.device)
    near_zero = library().isclose(values_of(rest), 0, rtol=1e-14)
    first = int(library().argmin(near_zero)) if not near_zero.all() else rest.shape[0] - 1
    return quotient, rest[first:]


@numpy_function()
def polyder(p: Array, m: int = 1) -> Any:
    """The derivative of a polynomial."""
    p, m = _coefficients(p), operator.index(m)
    if m < 0:
        raise ValueError(f"given m={m}, expected 0 or more; polyint integrates")
    for _ in range(m):
        n = p.shape[0] - 1
        p = p[:-1] * lg.asarray(library().arange(n, 0, -1), device=p.device)
    return p


@numpy_function()
def polyint(p: Array, m: int = 1, k: Operand = None) -> Any:
    """The antiderivative of a polynomial, with constants of integration."""
    p, m = _coefficients(p), operator.index(m)
    if m < 0:
        raise ValueError(f"given m={m}, expected 0 or more; polyder differentiates")
    constants = lg.zeros((m,), dtype=lg.float64, device=p.device) if k is None else lg.atleast_1d(lg.asarray(k))
    if constants.shape[0] == 1 and m > 1:
        constants = lg.broadcast_to(constants, (m,))
    if constants.shape[0] < m:
        raise ValueError(f"given {constants.shape[0]} constants, expected one or {m}")
    for i in range(m):
        n = p.shape[0]
        p = lg.concat([p / lg.asarray(library().arange(n, 0, -1), device=p.device), constants[i : i + 1]], axis=0)
    return p


@numpy_function()
def poly(seq_of_zeros: Array) -> Any:
    """The polynomial with given zeros, or the characteristic one of a matrix."""
    zeros = lg.atleast_1d(seq_of_zeros)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.shape[0]:
        zeros = lg.linalg.eigvals(zeros)
    elif zeros.ndim != 1:
        raise ValueError(f"given the shape {zeros.shape}, expected a vector or a square matrix")
    kind = zeros.dtype if zeros.dtype.kind in "fc" else lg.float64
    one = lg.ones((1,), dtype=kind, device=zeros.device)
    p = one
    for zero in lg.unstack(zeros) if zeros.shape[0] else ():
        p = lg.convolve(p, lg.concat([one, lg.reshape(-cast(zero, kind), (1,))], axis=0))
    if kind.kind == "c":
        values = values_of(zeros)
        if (library().sort(values) == library().sort(values.conjugate())).all():  # in pairs, so coefficients are real
            p = lg.real(p)
    return p


@numpy_function()
def roots(p: Array) -> Any:
    """The zeros of a polynomial: the eigenvalues of its companion matrix."""
    p = _coefficients(p)
    if p.ndim != 1:
        raise ValueError(f"given the shape {p.shape}, expected a vector of coefficients")
    filled = library().flatnonzero(values_of(p))
    if not filled.size:
        return lg.zeros((0,), dtype=lg.float64, device=p.device)
    none = p.shape[0] - 1 - int(filled[-1])  # zeros at 0
    p = p[int(filled[0]) : int(filled[-1]) + 1]
    p = p if p.dtype.kind in "fc" else cast(p, lg.float64)
    n = p.shape[0] - 1
    if not n:
        return lg.zeros((none,), dtype=p.dtype, device=p.device)
    below = lg.eye(n - 1, n, dtype=p.dtype, device=p.device)
    found = lg.linalg.eigvals(lg.concat([lg.reshape(-p[1:] / p[0], (1, n)), below], axis=0))
    if p.dtype.kind == "f" and not library().any(values_of(found).imag):
        found = lg.real(found)
    return lg.concat([found, lg.zeros((none,), dtype=found.dtype, device=p.device)], axis=0) if none else found


@numpy_function()
def polyfit(
    x: Array, y: Array, deg: Any, rcond: Any = None, full: bool = False, w: Array = None, cov: Any = False
) -> Any:
    """The polynomial that fits points best, by least squares."""
    deg = operator.index(deg)
    if deg < 0 or x.ndim != 1 or not x.size or y.ndim not in (1, 2) or x.shape[0] != y.shape[0]:
        raise ValueError(
            f"given deg={deg}, x of shape {x.shape} and y of shape {y.shape}; expected deg not below 0, a vector x "
            f"that is not empty, and a vector or matrix y of as many rows"
        )
    x, y = (v if v.dtype.kind in "fc" else cast(v, lg.float64) for v in (x, y))
    rcond = x.shape[0] * float(lg.finfo(x.dtype).eps) if rcond is None else rcond
    left, right = lg.vander(x, deg + 1), y
    if w is not None:
        if w.ndim != 1 or w.shape[0] != x.shape[0]:
            raise ValueError(f"given weights of shape {w.shape}, expected one for each point")
        left, right = left * w[:, None], right * (w[:, None] if y.ndim == 2 else w)
    scale = lg.sqrt(lg.sum(left * left, axis=0))
    found, residuals, rank, values = lg.linalg.lstsq(left / scale, right, rcond)
    c = found / (scale[:, None] if y.ndim == 2 else scale)
    if full:
        return c, residuals, rank, values, rcond
    if not cov:
        return c
    base = lg.linalg.inv(lg.matrix_transpose(left) @ left / lg.outer(scale, scale)) / lg.outer(scale, scale)
    factor: Any = 1.0
    if str(cov) != "unscaled":
        if x.shape[0] <= deg + 1:
            raise ValueError(f"given {x.shape[0]} points, expected more than {deg + 1} to scale the covariances")
        factor = residuals / (x.shape[0] - deg - 1)
    if y.ndim == 1:
        return c, base * (factor if isinstance(factor, float) else factor[0])
    return c, base[:, :, None] * factor


# -- functions of functions ----------------------------------------------------------------------
@numpy_function(calls=True)
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Array, *args: Any, **kwargs: Any) -> Any:
    """What a function makes of each vector along an axis."""
    arr, axis = fits_axis(arr, axis)
    rows = lg.moveaxis(arr, axis, -1)
    lead = tuple(rows.shape[:-1])
    parts = [
        TABLE["", "asarray"](func1d(row, *args, **kwargs), device=arr.device)
        for row in lg.unstack(lg.reshape(rows, (-1, rows.shape[-1])))
    ]
    if not parts:
        raise ValueError(f"given the shape {arr.shape}, expected at least one vector to apply the function to")
    y = lg.stack(parts)
    y = lg.reshape(y, (*lead, *y.shape[1:]))
    results = y.ndim - len(lead)
    return lg.moveaxis(y, tuple(range(len(lead), y.ndim)), tuple(range(axis, axis + results)))


@numpy_function(calls=True)
def apply_over_axes(func: Callable[..., Any], a: Array, axes: Any) -> Any:
    """What a function makes of an array along one axis after the other."""
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        axis = fits_axis(a, axis)[1]
        y = TABLE["", "asarray"](func(a, axis), device=a.device)
        y = lg.expand_dims(y, axis=axis) if y.ndim == a.ndim - 1 else y
        if y.ndim != a.ndim:
            raise ValueError(f"given a function that makes {y.ndim} axes of {a.ndim}, expected as many or one fewer")
        a = y
    return a
