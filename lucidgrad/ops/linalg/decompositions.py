"""Decompositions of matrices, which are the last two axes; the axes before them are batches.

Rules are written with the conjugates of the factors: that makes the formula for a gradient one for a plain
transpose. Vectors that belong to one value span a space in which their choice is arbitrary: their
derivative is infinite or NaN there, as in PyTorch, and that of the values is not touched by it. A complex
vector may be turned by a phase: a loss that changes then has no gradient, which PyTorch checks and nothing
checks here. At every other point the derivatives of all orders are exact.
"""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core.primitive import MATRIX, primitive
from lucidgrad.levels.batching import align
from lucidgrad.ops.axes import need_matrix, on_matrices
from lucidgrad.ops.numbers import INF, is_complex

from .matrices import adjoint, hermitian


# -- parts that rules share ----------------------------------------------------------------------
def _conj(xp: Any, x: Any) -> Any:
    return xp.conj(x) if is_complex(x.dtype) else x


def _skew(xp: Any, x: Any) -> Any:
    return x - adjoint(xp, x)


def _row(xp: Any, x: Any) -> Any:
    return xp.expand_dims(x, axis=-2)


def _column(xp: Any, x: Any) -> Any:
    return xp.expand_dims(x, axis=-1)


def _diagonal(xp: Any, x: Any) -> Any:
    """Matrices with these numbers on the diagonal."""
    return xp.diagonal_put(x, offset=0, axis1=-2, axis2=-1, shape=(*x.shape, x.shape[-1]))


def _over_gaps(xp: Any, x: Any, gaps: Any, values: Any) -> Any:
    """``x / gaps`` with zeros on the diagonal; a cotangent of zero stays zero where values are equal."""
    return xp.unscale(x, gaps + _diagonal(xp, xp.full_like(values, fill_value=INF)))


def _part_of_diagonal(xp: Any, x: Any, part: str = "real") -> Any:
    """The diagonals of matrices, their real or imaginary part."""
    x = xp.diagonal(x, offset=0, axis1=-2, axis2=-1)
    return getattr(xp, part)(x) if is_complex(x.dtype) else x


# -- Hermitian matrices --------------------------------------------------------------------------
def _eigh_vjp(xp: Any, g: Any, y: Any) -> Any:
    """``V (diag(gw) + skew(Vᴴ gv) / 2 gaps) Vᴴ``, of the conjugate of V."""
    (gw, gv), (w, v) = g, y
    v = _conj(xp, v)
    turned = adjoint(xp, v)
    inner = _over_gaps(xp, _skew(xp, xp.matmul(turned, gv)) * 0.5, _row(xp, w) - _column(xp, w), w)
    return xp.matmul(xp.matmul(v, inner + _diagonal(xp, gw)), turned)


def _eigh_jvp(xp: Any, y: Any, xs: Any, ts: Any) -> Any:
    w, v = y
    t = xp.matmul(adjoint(xp, v), xp.matmul(hermitian(xp, ts[0]), v))
    return _part_of_diagonal(xp, t), xp.matmul(v, _over_gaps(xp, t, _row(xp, w) - _column(xp, w), w))


@primitive(MATRIX, vjp=_eigh_vjp, jvp=_eigh_jvp, outputs=True, dtype="float", batch=on_matrices("eigh"))
def eigh(xp: Any, x: Any, /) -> Any:
    """Eigenvalues in ascending order and orthonormal eigenvectors (columns) of Hermitian matrices.

    The gradient is Hermitian: x counts as a Hermitian matrix, whichever triangle is read. With equal
    eigenvalues the gradient by their eigenvectors is infinite or NaN, that by the eigenvalues is finite.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    >>> lg.linalg.eigh(x).eigenvalues[1].backward()
    >>> x.grad.tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    return tuple(xp.linalg.eigh(x))


def _eigvalsh_vjp(xp: Any, g: Any, x: Any) -> Any:
    _, v = xp.eigh(x)
    return xp.matmul(_conj(xp, v) * _row(xp, g), xp.matrix_transpose(v))


def _eigvalsh_jvp(xp: Any, y: Any, xs: Any, ts: Any) -> Any:
    _, v = xp.eigh(xs[0])
    t = xp.sum(_conj(xp, v) * xp.matmul(hermitian(xp, ts[0]), v), axis=-2)
    return xp.real(t) if is_complex(t.dtype) else t


@primitive(MATRIX, vjp=_eigvalsh_vjp, jvp=_eigvalsh_jvp, dtype="float", batch=on_matrices("eigvalsh"))
def eigvalsh(xp: Any, x: Any, /) -> Any:
    """Eigenvalues of Hermitian matrices, in ascending order.

    The gradient is Hermitian, and finite where eigenvalues are equal; the second one is not finite there.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    >>> lg.linalg.eigvalsh(x)[1].backward()
    >>> x.grad.tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    return xp.linalg.eigvalsh(x)


# -- square matrices -----------------------------------------------------------------------------
def _eig_vjp(xp: Any, g: Any, y: Any) -> Any:
    """``V⁻ᴴ (diag(gw) + (Vᴴ gv - Vᴴ V re diag(Vᴴ gv)) / gaps) Vᴴ``, of the conjugates of V and of the gaps."""
    (gw, gv), (w, v) = g, y
    turned, v = xp.matrix_transpose(v), xp.conj(v)
    inner = xp.matmul(turned, gv)
    along = xp.real(xp.diagonal(inner, offset=0, axis1=-2, axis2=-1))  # vectors keep their length
    inner = inner - xp.matmul(turned, v * _row(xp, along))
    inner = _over_gaps(xp, inner, _row(xp, w) - _column(xp, w), w) + _diagonal(xp, gw)
    return xp.solve(turned, xp.matmul(inner, turned))


def _eig_jvp(xp: Any, y: Any, xs: Any, ts: Any) -> Any:
    w, v = y
    t = xp.solve(v, xp.matmul(xp.astype(ts[0], dtype=v.dtype), v))
    turned = xp.matmul(v, _over_gaps(xp, t, _row(xp, w) - _column(xp, w), w))
    along = xp.real(xp.sum(xp.conj(v) * turned, axis=-2))  # vectors keep their length
    return xp.diagonal(t, offset=0, axis1=-2, axis2=-1), turned - v * _row(xp, along)


@primitive(MATRIX, vjp=_eig_vjp, jvp=_eig_jvp, outputs=True, dtype="float", batch=on_matrices("eig"))
def eig(xp: Any, x: Any, /) -> Any:
    """Eigenvalues and eigenvectors (columns of length 1) of square matrices, always complex.

    With equal eigenvalues the gradient by their eigenvectors is infinite or NaN; a matrix without a basis
    of eigenvectors has no gradient.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    >>> lg.real(lg.linalg.eig(x).eigenvalues[1]).backward()
    >>> x.grad.tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    return tuple(xp.linalg.eig(x))


# -- singular values -----------------------------------------------------------------------------
def _svd_vjp(xp: Any, g: Any, y: Any, *, full_matrices: bool) -> Any:
    """From ``Uᴴ dx V``: its diagonal moves S, the rest turns U and V; what lies outside of U or V turns them too."""
    (gu, gs, gvh), (u, s, vh) = g, y
    m, k, n = u.shape[-2], s.shape[-1], vh.shape[-1]
    if full_matrices:  # the vectors beyond the k-th are any basis of what is left
        u, gu = (xp.index(a, key=(..., slice(0, k))) for a in (u, gu))
        vh, gvh = (xp.index(a, key=(..., slice(0, k), slice(None))) for a in (vh, gvh))
    u, vh = _conj(xp, u), _conj(xp, vh)
    by_u, by_v = xp.matmul(adjoint(xp, u), gu), xp.matmul(gvh, adjoint(xp, vh))
    row, column = _row(xp, s), _column(xp, s)
    turn_u, turn_v = _skew(xp, by_u), -_skew(xp, by_v)
    inner = _over_gaps(xp, turn_u * row + column * turn_v, (row - column) * (row + column), s)
    if is_complex(u.dtype):  # phases of pairs of vectors, of which one takes all
        gs = gs + xp.unscale(xp.diagonal(turn_u, offset=0, axis1=-2, axis2=-1), 2 * s)
    inner = inner + _diagonal(xp, gs)
    if m > k:
        outside = xp.unscale(gu - xp.matmul(u, by_u), row)
        return xp.matmul(xp.matmul(u, inner) + outside, vh)
    inner = xp.matmul(inner, vh)
    if n > k:
        inner = inner + xp.unscale(gvh - xp.matmul(by_v, vh), column)
    return xp.matmul(u, inner)


def _svd_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, full_matrices: bool) -> Any:
    """The vectors beyond the shorter side do not move, as their gradients are left out."""
    (u, s, vh), (t,) = y, ts
    m, k, n = u.shape[-2], s.shape[-1], vh.shape[-1]
    rest_u, rest_vh = xp.index(u, key=(..., slice(k, None))), xp.index(vh, key=(..., slice(k, None), slice(None)))
    u, vh = xp.index(u, key=(..., slice(0, k))), xp.index(vh, key=(..., slice(0, k), slice(None)))
    by_v = xp.matmul(t, adjoint(xp, vh))
    p = xp.matmul(adjoint(xp, u), by_v)
    row, column, turned = _row(xp, s), _column(xp, s), adjoint(xp, p)
    gaps = (row - column) * (row + column)
    turn_u = _over_gaps(xp, p * row + column * turned, gaps, s)
    turn_v = _over_gaps(xp, column * p + turned * row, gaps, s)
    if is_complex(u.dtype):  # phases of pairs of vectors, of which one takes all
        turn_u = turn_u + 1j * _diagonal(xp, xp.unscale(_part_of_diagonal(xp, p, "imag"), s))
    tu, tvh = xp.matmul(u, turn_u), -xp.matmul(turn_v, vh)
    if m > k:
        tu = tu + xp.unscale(by_v - xp.matmul(u, p), row)
    if n > k:
        tvh = tvh + xp.unscale(xp.matmul(adjoint(xp, u), t) - xp.matmul(p, vh), column)
    if full_matrices:
        tu, tvh = xp.concat(tu, xp.zeros_like(rest_u), axis=-1), xp.concat(tvh, xp.zeros_like(rest_vh), axis=-2)
    return tu, _part_of_diagonal(xp, p), tvh


@primitive(MATRIX, vjp=_svd_vjp, jvp=_svd_jvp, outputs=True, dtype="float", batch=on_matrices("svd"))
def svd(xp: Any, x: Any, /, *, full_matrices: bool = True) -> Any:
    """Singular value decomposition ``x = U diag(S) Vh``, S in descending order.

    With equal singular values the gradient by their vectors is infinite or NaN, that by S is finite. In full
    matrices the vectors beyond the shorter side are any basis: gradients by these are left out.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0, 0.0], [0.0, 2.0]], requires_grad=True)
    >>> lg.linalg.svd(x).S[0].backward()
    >>> x.grad.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return tuple(xp.linalg.svd(x, full_matrices=full_matrices))


def _svdvals_vjp(xp: Any, g: Any, x: Any) -> Any:
    u, _, vh = xp.svd(x, full_matrices=False)
    return xp.matmul(_conj(xp, u) * _row(xp, g), _conj(xp, vh))


def _svdvals_jvp(xp: Any, y: Any, xs: Any, ts: Any) -> Any:
    u, _, vh = xp.svd(xs[0], full_matrices=False)
    t = xp.sum(_conj(xp, u) * xp.matmul(ts[0], adjoint(xp, vh)), axis=-2)
    return xp.real(t) if is_complex(t.dtype) else t


@primitive(MATRIX, vjp=_svdvals_vjp, jvp=_svdvals_jvp, dtype="float", batch=on_matrices("svdvals"))
def svdvals(xp: Any, x: Any, /) -> Any:
    """Singular values, in descending order.

    The gradient is finite where singular values are equal or zero; the second one is not finite there.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0, 0.0], [0.0, 2.0]], requires_grad=True)
    >>> lg.linalg.svdvals(x)[0].backward()
    >>> x.grad.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return xp.linalg.svdvals(x)


# -- pseudo-inverses -----------------------------------------------------------------------------
def _pinv_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
    """The derivative at constant rank, of the conjugates of x and y; products go by way of the shorter side."""
    y, x, g = _conj(xp, y), _conj(xp, x), adjoint(xp, g)
    yh = adjoint(xp, y)
    if x.shape[-2] <= x.shape[-1]:
        k = xp.matmul(g, y)
        ky = xp.matmul(k, yh)
        outside = ky - xp.matmul(xp.matmul(x, y), ky) + xp.matmul(xp.matmul(yh, y), g - xp.matmul(k, x))
        return outside - adjoint(xp, xp.matmul(y, k))
    k = xp.matmul(y, g)
    yk = xp.matmul(yh, k)
    outside = yk - xp.matmul(xp.matmul(yk, y), x) + xp.matmul(xp.matmul(g - xp.matmul(x, k), y), yh)
    return outside - adjoint(xp, xp.matmul(k, y))


def _pinv_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, hermitian: bool) -> Any:
    """``-y t y``, and what moves the spaces: ``y yᴴ tᴴ (1 - x y) + (1 - y x) tᴴ yᴴ y``."""
    x, t, yh = xs[0], ts[0], adjoint(xp, y)
    th = adjoint(xp, t)
    if x.shape[-2] <= x.shape[-1]:
        inner = xp.matmul(t, y)
        rows, columns = xp.matmul(y, adjoint(xp, inner)), xp.matmul(th, xp.matmul(yh, y))
        rows = rows - xp.matmul(rows, xp.matmul(x, y))
        columns = columns - xp.matmul(y, xp.matmul(x, columns))
        return rows + columns - xp.matmul(y, inner)
    inner = xp.matmul(y, t)
    rows, columns = xp.matmul(xp.matmul(y, yh), th), xp.matmul(adjoint(xp, inner), y)
    rows = rows - xp.matmul(xp.matmul(rows, x), y)
    columns = columns - xp.matmul(xp.matmul(y, x), columns)
    return rows + columns - xp.matmul(inner, y)


def _pinv_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    need_matrix("pinv", len(values[0].shape) - batched[0])
    return call(*align(values, batched), **keywords)


@primitive(MATRIX, vjp=(_pinv_vjp, None, None), jvp=_pinv_jvp, dtype="float", batch=_pinv_batch)
def pinv(xp: Any, x: Any, rtol: Any, atol: Any, /, *, hermitian: bool = False) -> Any:
    """Pseudo-inverses; tolerances are numbers or, with two axes of size 1 at their end, one for each matrix.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ops.linalg.decompositions.pinv(lg.asarray([[2.0, 0.0], [0.0, 0.0]]), 1e-3, 0.0).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    if hermitian:
        values, u = xp.linalg.eigh(x)
        vh = adjoint(xp, u)
    else:
        u, values, vh = xp.linalg.svd(x, full_matrices=False)
    values = _row(xp, values)
    if values.shape[-1]:
        sizes = xp.abs(values)
        least = rtol * xp.max(sizes, axis=-1, keepdims=True)
        kept = (sizes > least) & (sizes > atol)
        values = xp.where(kept, 1 / xp.where(kept, values, xp.ones_like(values)), xp.zeros_like(values))
    return xp.matmul(adjoint(xp, vh) * values, adjoint(xp, u))


# -- orthogonal and triangular -------------------------------------------------------------------
def _sides(q: Any, r: Any, mode: str) -> tuple[int, int]:
    """Rows and columns of the matrix; raises where there is no derivative."""
    rows, columns = q.shape[-2], r.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            f"qr: given mode='complete' and matrices of {rows} rows and {columns} columns; the columns of Q beyond "
            f"those of the matrix are any basis, so there is no derivative; use mode='reduced'"
        )
    return rows, columns


def _qr_vjp(xp: Any, g: Any, y: Any, *, mode: str) -> Any:
    """``(gq + Q sym(triu(gr Rᴴ - Qᴴ gq))) R⁻ᴴ``, of the conjugates of Q and R."""
    (gq, gr), (q, r) = g, y
    rows, columns = _sides(q, r, mode)
    q, r = _conj(xp, q), _conj(xp, r)
    more = []
    if columns > rows:  # the columns that follow are products with Qᴴ
        (r, rest), (gr, grest) = (_cut(xp, a, rows) for a in (r, gr))
        gq = gq + xp.matmul(q, xp.matmul(rest, adjoint(xp, grest)))
        more.append(xp.matmul(q, grest))
    p = xp.matmul(gr, adjoint(xp, r)) - xp.matmul(adjoint(xp, q), gq)
    p = xp.triu(p, k=0) + xp.triu(p, k=1)
    first = gq + xp.matmul(q, (p + adjoint(xp, p)) * 0.5)
    first = adjoint(xp, xp.solve_triangular(r, adjoint(xp, first), upper=True))
    return xp.concat(first, *more, axis=-1) if more else first


def _qr_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, mode: str) -> Any:
    """``tq = t R⁻¹ - Q N`` and ``tr = N R``: N is the upper triangle of the Hermitian part of ``Qᴴ t R⁻¹``, twice."""
    (q, r), (t,) = y, ts
    rows, columns = _sides(q, r, mode)
    if columns > rows:
        (r, rest), (t, later) = (_cut(xp, a, rows) for a in (r, t))
    turned = adjoint(xp, xp.solve_triangular(adjoint(xp, r), adjoint(xp, t), upper=False))
    p = hermitian(xp, xp.matmul(adjoint(xp, q), turned))
    p = xp.triu(p, k=0) + xp.triu(p, k=1)
    tq, tr = turned - xp.matmul(q, p), xp.matmul(p, r)
    if columns > rows:
        tr = xp.concat(tr, xp.matmul(adjoint(xp, q), later - xp.matmul(tq, rest)), axis=-1)
    return tq, tr


def _cut(xp: Any, x: Any, at: int) -> tuple[Any, Any]:
    """The columns before a place, and from there on."""
    return xp.index(x, key=(..., slice(0, at))), xp.index(x, key=(..., slice(at, None)))


@primitive(MATRIX, vjp=_qr_vjp, jvp=_qr_jvp, outputs=True, dtype="float", batch=on_matrices("qr"))
def qr(xp: Any, x: Any, /, *, mode: str = "reduced") -> Any:
    """Orthonormal columns Q and an upper triangle R with ``x = Q R``; complete: Q is square.

    The gradient is infinite or NaN unless the first columns (as many as there are rows) are linearly independent.
    With ``mode="complete"`` and more rows than columns there is none: the backward pass raises RuntimeError.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    >>> (lg.linalg.qr(x).R ** 2).sum().backward()
    >>> x.grad.tolist()
    [[4.0, 0.0], [0.0, 6.0]]
    """
    return tuple(xp.linalg.qr(x, mode=mode))
