"""Functions of square matrices, which are the last two axes; the axes before them are batches."""

import operator
from collections.abc import Sequence
from typing import Any

from lucidgrad.core.primitive import MATRIX, joint, primitive
from lucidgrad.levels.batching import align
from lucidgrad.levels.layer import run
from lucidgrad.ops.axes import beside, need_matrix, on_matrices
from lucidgrad.ops.elementwise.copies import apart, ones_like
from lucidgrad.ops.jvp_rules import by_gradient, symmetric, total
from lucidgrad.ops.numbers import NAN, is_complex
from lucidgrad.ops.shape.diagonals import diagonal, diagonal_put

from .products import matmul


def need_square(name: str, shape: Sequence[int]) -> None:
    """Raise unless a shape is one of square matrices."""
    need_matrix(name, len(shape))
    if shape[-2] != shape[-1]:
        raise ValueError(f"{name}: given matrices of shape {tuple(shape)}, expected square ones")


# -- inverses and equations ----------------------------------------------------------------------
def _inv_vjp(xp: Any, g: Any, y: Any) -> Any:
    turned = xp.matrix_transpose(y)
    return -xp.matmul(xp.matmul(turned, g), turned)


def _inv_jvp(xp: Any, y: Any, xs: Any, ts: Any) -> Any:
    return -xp.matmul(xp.matmul(y, ts[0]), y)


@primitive(MATRIX, vjp=_inv_vjp, jvp=_inv_jvp, dtype="float", batch=on_matrices("inv"))
def inv(xp: Any, x: Any, /) -> Any:
    """Inverse matrices.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 4.0]], requires_grad=True)
    >>> lg.linalg.inv(x).sum().backward()
    >>> x.grad.tolist()
    [[-0.25, -0.125], [-0.125, -0.0625]]
    """
    return xp.linalg.inv(x)


def _solve_vjp(xp: Any, g: Any, y: Any, x1: Any) -> Any:
    """``x1ᵀ t = g``; t is the cotangent of the right side, ``-t yᵀ`` that of the matrix."""
    vector = y.ndim < x1.ndim
    if vector:
        g, y = xp.expand_dims(g, axis=-1), xp.expand_dims(y, axis=-1)
    t = xp.solve(xp.matrix_transpose(x1), g)
    first = -xp.matmul(t, xp.matrix_transpose(y))
    return first, xp.squeeze(t, axis=-1) if vector else t


def _solve_jvp(xp: Any, y: Any, xs: Any, ts: Any) -> Any:
    """``x1 ty = t2 - t1 y``."""
    if ts[0] is None:
        return xp.solve(xs[0], ts[1])
    vector = y.ndim < xs[0].ndim
    moved = -xp.matmul(ts[0], xp.expand_dims(y, axis=-1) if vector else y)
    moved = xp.squeeze(moved, axis=-1) if vector else moved
    return xp.solve(xs[0], total(moved, ts[1]))


def _solve_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    x1, x2 = values
    if not batched[1]:
        return call(x1, x2) if x2.ndim == 1 else call(*align(values, batched))
    vector = x2.ndim == 2
    x2 = run("expand_dims", x2, axis=-1) if vector else x2
    if x1.ndim == 2 and not batched[0] and x2.ndim == 3:  # the right sides are columns of one equation
        size, rows, columns = x2.shape
        x2 = run("reshape", run("permute_dims", x2, axes=(1, 0, 2)), shape=(rows, size * columns))
        y = run("reshape", call(x1, x2), shape=(rows, size, columns))
        y = run("permute_dims", y, axes=(1, 0, 2))
    else:
        y = call(*align((x1, x2), batched))
    return run("squeeze", y, axis=-1) if vector else y


@primitive(MATRIX, vjp=joint(_solve_vjp), jvp=_solve_jvp, batch=_solve_batch, dtype="float")
def solve(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Solutions of ``x1 @ y = x2``, where x2 is a vector or has matrices in its last two axes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> b = lg.ones(2, requires_grad=True)
    >>> lg.linalg.solve(lg.asarray([[2.0, 0.0], [0.0, 4.0]]), b).sum().backward()
    >>> b.grad.tolist()
    [0.5, 0.25]
    """
    return xp.linalg.solve(x1, x2)


def _triangle(xp: Any, x: Any, upper: bool) -> Any:
    return xp.triu(x, k=0) if upper else xp.tril(x, k=0)


def _solve_triangular_vjp(xp: Any, g: Any, y: Any, x1: Any, *, upper: bool) -> Any:
    t = xp.solve_triangular(xp.matrix_transpose(x1), g, upper=not upper)
    return _triangle(xp, -xp.matmul(t, xp.matrix_transpose(y)), upper), t


def _solve_triangular_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, upper: bool) -> Any:
    moved = None if ts[0] is None else -xp.matmul(_triangle(xp, ts[0], upper), y)
    return xp.solve_triangular(xs[0], total(moved, ts[1]), upper=upper)


def _matrices_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    for x, b in zip(values, batched, strict=True):
        need_matrix("solve_triangular", len(x.shape) - b)
    return call(*align(values, batched), **keywords)


@primitive(MATRIX, vjp=joint(_solve_triangular_vjp), jvp=_solve_triangular_jvp, batch=_matrices_batch, dtype="float")
def solve_triangular(xp: Any, x1: Any, x2: Any, /, *, upper: bool) -> Any:
    """Solutions of ``x1 @ y = x2``, of which only one triangle of x1 counts; with a zero on its diagonal, NaN.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> b = lg.ones((2, 1), requires_grad=True)
    >>> lg.ops.linalg.matrices.solve_triangular(lg.asarray([[2.0, 0.0], [9.0, 4.0]]), b, upper=True).sum().backward()
    >>> b.grad.tolist()
    [[0.5], [0.25]]
    """
    x1 = _triangle(xp, x1, upper)
    zero = xp.linalg.diagonal(x1) == 0
    lost = xp.expand_dims(xp.any(zero, axis=-1, keepdims=True), axis=-1)
    y = xp.linalg.solve(xp.where(lost, xp.eye(x1.shape[-1], dtype=x1.dtype, **beside(x1)), x1), x2)
    return xp.where(lost, xp.full_like(y, NAN), y)


@apart
def matrix_power(x: Any, n: int, /) -> Any:
    """Products of a matrix with itself, n factors; with n negative, of its inverse.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    >>> lg.linalg.trace(lg.linalg.matrix_power(x, 3)).backward()
    >>> x.grad.tolist()
    [[12.0, 0.0], [0.0, 27.0]]
    """
    need_square("matrix_power", x.shape)
    n = operator.index(n)
    x, n = (inv(x), -n) if n < 0 else (x, n)
    if n == 0:
        ones = diagonal(ones_like(x), axis1=-2, axis2=-1)
        return diagonal_put(ones, offset=0, axis1=-2, axis2=-1, shape=tuple(x.shape))
    y = None
    while True:  # squares of squares
        n, odd = divmod(n, 2)
        if odd:
            y = x if y is None else matmul(y, x)
        if n == 0:
            return y
        x = matmul(x, x)


# -- determinants --------------------------------------------------------------------------------
def _scaled(xp: Any, scale: Any, matrices: Any) -> Any:
    """Every matrix times its number."""
    return xp.reshape(scale, shape=(*scale.shape, 1, 1)) * matrices


#: As many singular values are raised: up to this rank deficiency all derivatives of determinants exist.
RAISED = 3


@primitive(MATRIX, outputs=True, dtype="float", batch=on_matrices("raising"))
def raising(xp: Any, x: Any, /) -> Any:
    """Constants that make matrices regular: ``x + a @ b + rest`` has larger singular values in place of small ones.

    ``a`` has three columns and ``b`` three rows. Only where more values than three are zero does ``rest`` raise the
    others, and is ``alive`` zero, else one: derivatives of the determinant vanish there, up to the third. ``one`` is an
    identity matrix for three rows.
    """
    u, s, vh = xp.linalg.svd(xp.where(xp.isfinite(x), x, xp.zeros_like(x)))
    n, k = x.shape[-1], min(x.shape[-1], RAISED)
    top = xp.where(s[..., :1] > 0, s[..., :1], xp.ones_like(s[..., :1])) if n else s
    by = xp.expand_dims(xp.where(s < 0.1 * top, top - s, xp.zeros_like(s)), axis=-2)
    gone = xp.expand_dims(s <= n * xp.finfo(s.dtype).eps * top, axis=-2)
    raised, last = u * xp.astype(by, dtype=u.dtype), n - k
    none = xp.zeros((*x.shape[:-1], RAISED - k), dtype=u.dtype, **beside(x))
    a = xp.concat(raised[..., last:], none, axis=-1)
    b = xp.concat(vh[..., last:, :], xp.matrix_transpose(none), axis=-2)
    others = xp.where(gone[..., :last], raised[..., :last], xp.zeros_like(raised[..., :last]))
    rest = xp.matmul(others, vh[..., :last, :])
    alive = xp.astype(~xp.any(gone[..., :last], axis=-1, keepdims=True), dtype=u.dtype)
    one = xp.broadcast_to(xp.eye(RAISED, dtype=u.dtype, **beside(x)), shape=(*x.shape[:-2], RAISED, RAISED))
    return a, b, rest, alive, one


def _minors(xp: Any, x: Any, t: Any) -> Any:
    """The bilinear form of which the cofactors of a matrix with three rows are half the square."""

    def turned(m: Any, rows: int, columns: int) -> Any:
        return xp.roll(m, shift=(-rows, -columns), axis=(-2, -1))

    def product(rows: int, columns: int) -> Any:
        one, other = (rows, columns), (3 - rows, 3 - columns)
        return turned(x, *one) * turned(t, *other)

    return product(1, 1) + product(2, 2) - product(1, 2) - product(2, 1)


def _cofactor_vjp(xp: Any, g: Any, x: Any) -> Any:
    """The second derivative of a determinant, from ``det(x) = det(full) det(m)``.

    ``full = x + a b`` is regular, with constants a and b, so it can be inverted; ``m = 1 - b full⁻¹ a`` has three rows,
    so its determinant and cofactors are polynomials. Both can be differentiated again, also where x is singular.
    """
    a, b, rest, alive, one = xp.raising(x)
    full = x + xp.matmul(a, b) + rest
    y, size = xp.inv(full), xp.reshape(xp.det(full), shape=(*x.shape[:-2], 1, 1)) * alive
    w, z = xp.matmul(y, a), xp.matmul(b, y)
    m = one - xp.matmul(b, w)
    adjugate = xp.matrix_transpose(_minors(xp, m, m) * 0.5)
    det_m = xp.sum(m * xp.matrix_transpose(adjugate), axis=(-2, -1), keepdims=True) * (1 / 3)
    h, gy = xp.matmul(xp.matmul(z, g), w), xp.matmul(g, y)
    turned = xp.matrix_transpose(adjugate)
    change = xp.sum(turned * h, axis=(-2, -1), keepdims=True)
    inner = xp.matmul(xp.matmul(w, adjugate), z)
    whole = det_m * y + inner
    trace = xp.sum(xp.matrix_transpose(y) * g, axis=(-2, -1), keepdims=True)
    bent = xp.matmul(xp.matmul(w, xp.matrix_transpose(_minors(xp, m, h))), z)
    made = trace * whole + change * y + bent - xp.matmul(xp.matmul(y, g), whole) - xp.matmul(inner, gy)
    return size * xp.matrix_transpose(made)


@primitive(MATRIX, vjp=_cofactor_vjp, jvp=symmetric("cofactor"), dtype="float", batch=on_matrices("cofactor"))
def cofactor(xp: Any, x: Any, /) -> Any:
    """The gradient of the determinant, also of singular matrices.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ops.linalg.matrices.cofactor(lg.asarray([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[4.0, -3.0], [-2.0, 1.0]]
    """
    u, s, vh = xp.linalg.svd(x)
    n = x.shape[-1]
    spread = xp.broadcast_to(xp.expand_dims(s, axis=-2), shape=(*s.shape, n))
    others = xp.where(xp.eye(n, dtype=xp.bool, **beside(x)), xp.ones_like(spread), spread)
    products = xp.expand_dims(xp.prod(others, axis=-1), axis=-2)
    phase = xp.linalg.det(u) * xp.linalg.det(vh)
    if is_complex(x.dtype):
        u, vh = xp.conj(u), xp.conj(vh)
    return _scaled(xp, phase, xp.matmul(u * products, vh))


@primitive(
    MATRIX,
    vjp=lambda xp, g, x: _scaled(xp, g, xp.cofactor(x)),
    jvp=by_gradient("det", axis=(-2, -1)),
    dtype="float",
    batch=on_matrices("det"),
)
def det(xp: Any, x: Any, /) -> Any:
    """Determinants. All derivatives exist for singular matrices, too.

    The gradient is the matrix of cofactors. Where a matrix lacks more than three of its full rank, derivatives up to
    the third, which are zero there, are right, and later ones count as zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> lg.linalg.det(x).backward()
    >>> x.grad.tolist()
    [[4.0, -3.0], [-2.0, 1.0]]
    """
    return xp.linalg.det(x)


def _inverse(xp: Any, y: Any, x: Any) -> Any:
    """Transposed inverses, with NaN for the matrices whose determinant is zero."""
    singular = xp.reshape(y[0], shape=(*y[0].shape, 1, 1)) == 0
    regular = xp.where(singular, xp.tril(xp.triu(xp.ones_like(x), k=0), k=0), x)
    turned = xp.matrix_transpose(xp.inv(regular))
    return xp.where(singular, xp.full_like(turned, fill_value=NAN), turned)


def _slogdet_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
    """The logarithm's real part is one output, its imaginary part turns the sign."""
    scale = g[1]
    if is_complex(x.dtype):
        scale = scale + 1j * xp.imag(g[0] * y[0])
    return _scaled(xp, scale, _inverse(xp, y, x))


def _slogdet_jvp(xp: Any, y: Any, xs: Any, ts: Any) -> Any:
    t = xp.sum(_inverse(xp, y, xs[0]) * ts[0], axis=(-2, -1))
    return (1j * y[0] * xp.imag(t), xp.real(t)) if is_complex(t.dtype) else (xp.zeros_like(t), t)


@primitive(MATRIX, vjp=_slogdet_vjp, jvp=_slogdet_jvp, outputs=True, dtype="float", batch=on_matrices("slogdet"))
def slogdet(xp: Any, x: Any, /) -> Any:
    """Determinants as a sign (a number of modulus 1) and the logarithm of the modulus.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 1.0], [2.0, 4.0]], requires_grad=True)
    >>> sign, logabsdet = lg.linalg.slogdet(x)
    >>> logabsdet.backward()
    >>> x.grad.tolist()
    [[2.0, -1.0], [-0.5, 0.5]]
    """
    return tuple(xp.linalg.slogdet(x))


# -- Cholesky ------------------------------------------------------------------------------------
def adjoint(xp: Any, x: Any) -> Any:
    """Conjugate transposes."""
    x = xp.matrix_transpose(x)
    return xp.conj(x) if is_complex(x.dtype) else x


def hermitian(xp: Any, x: Any) -> Any:
    """The Hermitian part."""
    return (x + adjoint(xp, x)) * 0.5


def _cholesky_vjp(xp: Any, g: Any, y: Any, *, upper: bool) -> Any:
    """The Hermitian part of ``L⁻ᵀ Φ(Lᵀ g) L̄⁻¹``; Φ takes the lower triangle and half of the diagonal."""
    if upper:
        g, y = adjoint(xp, g), adjoint(xp, y)
    p = xp.matmul(xp.matrix_transpose(y), g)
    p = xp.tril(p, k=0) + xp.tril(p, k=-1)
    p = (p + adjoint(xp, p)) * 0.25
    left = xp.solve(xp.matrix_transpose(y), p)
    return xp.matrix_transpose(xp.solve(adjoint(xp, y), xp.matrix_transpose(left)))


def _cholesky_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, upper: bool) -> Any:
    """``L Φ(L⁻¹ t L⁻ᴴ)``, of the Hermitian part of t."""
    y = adjoint(xp, y) if upper else y
    p = xp.solve_triangular(y, hermitian(xp, ts[0]), upper=False)
    p = adjoint(xp, xp.solve_triangular(y, adjoint(xp, p), upper=False))
    t = xp.matmul(y, (xp.tril(p, k=0) + xp.tril(p, k=-1)) * 0.5)
    return adjoint(xp, t) if upper else t


@primitive(MATRIX, vjp=_cholesky_vjp, jvp=_cholesky_jvp, dtype="float", batch=on_matrices("cholesky"))
def cholesky(xp: Any, x: Any, /, upper: bool = False) -> Any:
    """The lower triangle L with ``x = L Lᴴ`` of positive definite matrices; upper: its adjoint.

    The gradient is Hermitian: x counts as a Hermitian matrix, whichever triangle is read.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[4.0, 0.0], [0.0, 16.0]], requires_grad=True)
    >>> lg.linalg.cholesky(x).sum().backward()
    >>> x.grad.tolist()
    [[0.25, 0.25], [0.25, 0.125]]
    """
    return xp.linalg.cholesky(x, upper=upper)
