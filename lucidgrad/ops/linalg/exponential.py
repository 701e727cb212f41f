"""The exponential function of matrices, by a quotient of polynomials and repeated squares."""

import math
from typing import Any

from lucidgrad.core.primitive import MATRIX, primitive
from lucidgrad.ops.axes import beside, on_matrices

from .matrices import need_square

#: By precision: the degree of the polynomials, and the norm up to which their quotient is exact to all digits (Higham).
_DEGREES = {"float32": (7, 3.925724783138660), "float64": (13, 5.371920351148152)}


def _coefficients(degree: int) -> list[float]:
    """Padé's numerator; the denominator has alternating signs."""
    return [
        math.comb(degree, k) * math.factorial(2 * degree - k) / math.factorial(2 * degree) for k in range(degree + 1)
    ]


def _direction(xp: Any, x: Any, t: Any) -> Any:
    """The derivative at x in the direction t: a corner of the exponential of ``[[x, t], [0, x]]``."""
    n = x.shape[-1]
    top, bottom = xp.concat(x, t, axis=-1), xp.concat(xp.zeros_like(x), x, axis=-1)
    y = xp.matrix_exp(xp.concat(top, bottom, axis=-2))
    return xp.index(y, key=(..., slice(0, n), slice(n, None)))


@primitive(
    MATRIX,
    vjp=lambda xp, g, x: _direction(xp, xp.matrix_transpose(x), g),
    jvp=lambda xp, y, xs, ts: _direction(xp, xs[0], ts[0]),
    dtype="float",
    batch=on_matrices("matrix_exp"),
    single=True,
)
def matrix_exp(xp: Any, x: Any, /) -> Any:
    """The exponential of square matrices: ``1 + x + x² / 2 + x³ / 6 + ...``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[0.0, 1.0], [0.0, 0.0]], requires_grad=True)
    >>> y = lg.linalg.matrix_exp(x)
    >>> y[0, 1].backward()
    >>> y.tolist(), x.grad.tolist()
    ([[1.0, 1.0], [0.0, 1.0]], [[0.5, 1.0], [0.166667, 0.5]])
    """
    need_square("matrix_exp", x.shape)
    if not math.prod(x.shape):
        return x * 1
    norm = xp.max(xp.sum(xp.abs(x), axis=-2), axis=-1)
    degree, most = _DEGREES["float32" if xp.finfo(norm.dtype).bits <= 32 else "float64"]
    norm = xp.where(xp.isfinite(norm), norm, xp.zeros_like(norm))  # NaN and infinities stay what they are
    halvings = xp.maximum(xp.ceil(xp.log2(xp.maximum(norm, xp.full_like(norm, most)) / most)), xp.zeros_like(norm))
    halvings = xp.expand_dims(halvings, axis=(-2, -1))
    x = x * xp.astype(2.0**-halvings, dtype=x.dtype)
    square = xp.matmul(x, x)
    power = one = xp.zeros_like(x) + xp.eye(x.shape[-1], dtype=x.dtype, **beside(x))
    even, odd = xp.zeros_like(x), xp.zeros_like(x)
    weights = _coefficients(degree)
    for k in range(0, degree, 2):
        even, odd = even + weights[k] * power, odd + weights[k + 1] * power
        power = xp.matmul(power, square)
    odd = xp.matmul(x, odd)
    y = one + 2 * xp.linalg.solve(even - odd, odd)  # near one, small elements keep their digits
    for k in range(int(xp.max(halvings))):
        y = xp.where(halvings > k, xp.matmul(y, y), y)
    return y
