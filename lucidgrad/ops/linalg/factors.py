"""Triangular factors: LU with exchanges of rows, and what reflections multiply to.

Rules are plain transposes: the factors are holomorphic functions of the matrix, so nothing is conjugated.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.core.primitive import MATRIX, primitive
from lucidgrad.ops.axes import beside, on_matrices
from lucidgrad.ops.numbers import evened, is_complex
from lucidgrad.ops.precision import in_precision
from lucidgrad.ops.reduction import vector_norm
from lucidgrad.ops.shape.layout import broadcast_shapes

from .matrices import adjoint

if TYPE_CHECKING:
    from lucidgrad.tensor import Tensor


def identity(xp: Any, x: Any) -> Any:
    """Ones on the diagonals of matrices like these, zeros elsewhere."""
    return xp.tril(xp.triu(xp.ones_like(x), k=0), k=0)


def _cut(xp: Any, x: Any, at: int, axis: int) -> tuple[Any, Any]:
    """Rows (axis -2) or columns (axis -1) before a place, and from there on."""
    rest = (slice(None),) * (-1 - axis)
    return xp.index(x, key=(..., slice(0, at), *rest)), xp.index(x, key=(..., slice(at, None), *rest))


def _over(xp: Any, x: Any, triangle: Any, upper: bool) -> Any:
    """``x triangle⁻ᵀ``."""
    return xp.matrix_transpose(xp.solve_triangular(triangle, xp.matrix_transpose(x), upper=upper))


def reordered(xp: Any, x: Any, order: Any) -> Any:
    """The rows of matrices in an order, which each of them has for itself."""
    return xp.take_along_axis(x, xp.broadcast_to(xp.expand_dims(order, axis=-1), shape=tuple(x.shape)), axis=-2)


def need(name: str, least: int = 2, **arguments: Any) -> None:
    """Raise unless arrays have two axes or more."""
    for argument, x in arguments.items():
        if len(x.shape) < least:
            raise RuntimeError(f"{name}: {argument} has shape {tuple(x.shape)}, expected at least {least} dimensions")


def matched(*xs: Any) -> list[Any]:
    """Matrices with batches of one shape."""
    lead = broadcast_shapes(*(tuple(x.shape[:-2]) for x in xs))
    return [x if x.shape[:-2] == lead else ops.broadcast_to(x, shape=(*lead, *x.shape[-2:])) for x in xs]


def nothing(like: Any) -> Any:
    """An array without elements, for a result that was not asked for."""
    return ops.zeros((0,), dtype=like.dtype, device=like.device)


# -- LU ------------------------------------------------------------------------------------------
def triangles(xp: Any, lu: Any) -> tuple[Any, Any]:
    """The factors that are packed into one matrix: L with ones on its diagonal, and U."""
    k = min(lu.shape[-2:])
    lower, upper = _cut(xp, lu, k, -1)[0], _cut(xp, lu, k, -2)[0]
    return xp.tril(lower, k=-1) + identity(xp, lower), xp.triu(upper, k=0)


def _lu_vjp(xp: Any, g: Any, y0: Any, y2: Any) -> Any:
    """``L⁻ᵀ (tril(Lᵀ gl) + triu(gu Uᵀ)) U⁻ᵀ``; what lies beyond the square is a product with an inverse."""
    rows, columns = y0.shape[-2:]
    k = min(rows, columns)
    lower, upper = triangles(xp, y0)
    (lower, below), (upper, beside_it) = _cut(xp, lower, k, -2), _cut(xp, upper, k, -1)
    gl, gu = xp.tril(_cut(xp, g[0], k, -1)[0], k=-1), xp.triu(_cut(xp, g[0], k, -2)[0], k=0)
    (gl, g_below), (gu, g_beside) = _cut(xp, gl, k, -2), _cut(xp, gu, k, -1)
    turned = xp.matrix_transpose(lower)
    by_lower, by_upper = xp.matmul(turned, gl), xp.matmul(gu, xp.matrix_transpose(upper))
    if columns > k:
        by_lower = by_lower - xp.matmul(g_beside, xp.matrix_transpose(beside_it))
    if rows > k:
        by_upper = by_upper - xp.matmul(xp.matrix_transpose(below), g_below)
    inner = xp.tril(by_lower, k=-1) + xp.triu(by_upper, k=0)
    y = _over(xp, xp.solve_triangular(turned, inner, upper=True), upper, True)
    if columns > k:
        y = xp.concat(y, xp.solve_triangular(turned, g_beside, upper=True), axis=-1)
    if rows > k:
        y = xp.concat(y, _over(xp, g_below, upper, True), axis=-2)
    return reordered(xp, y, xp.argsort(y2))


def _lu_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, pivot: bool) -> Any:
    """``M = L⁻¹ t U⁻¹``: its lower triangle moves L, the upper one U."""
    lu, pivots, order = y
    rows, columns = lu.shape[-2:]
    k = min(rows, columns)
    lower, upper = triangles(xp, lu)
    (lower, below), (upper, beside_it) = _cut(xp, lower, k, -2), _cut(xp, upper, k, -1)
    top, t_below = _cut(xp, reordered(xp, ts[0], order), k, -2)
    top, t_beside = _cut(xp, top, k, -1)
    turned = xp.matrix_transpose(upper)
    inner = _over(xp, xp.solve_triangular(lower, top, upper=False), turned, False)
    by_lower, by_upper = xp.tril(inner, k=-1), xp.triu(inner, k=0)
    t = xp.matmul(lower, by_lower) + xp.matmul(by_upper, upper)
    if columns > k:
        moved = xp.solve_triangular(lower, t_beside, upper=False) - xp.matmul(by_lower, beside_it)
        t = xp.concat(t, moved, axis=-1)
    if rows > k:
        t = xp.concat(t, _over(xp, t_below, turned, False) - xp.matmul(below, by_upper), axis=-2)
    return t, xp.zeros_like(pivots), xp.zeros_like(order)


def modulus(xp: Any, x: Any) -> Any:
    """What LAPACK compares pivots by."""
    return xp.abs(xp.real(x)) + xp.abs(xp.imag(x)) if is_complex(x.dtype) else xp.abs(x)


@primitive(MATRIX, vjp=_lu_vjp, jvp=_lu_jvp, outputs=True, dtype="float", batch=on_matrices("lu_factor"))
def packed_lu(xp: Any, x: Any, /, *, pivot: bool = True) -> Any:
    """L and U in one matrix, LAPACK's pivots (row k changed places with this row, from 1), and the order of the rows.

    The derivatives are NaN where U is singular.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0], [4.0, 4.0]], requires_grad=True)
    >>> lu, pivots, order = lg.ops.linalg.factors.packed_lu(x)
    >>> lu[1, 1].backward()
    >>> lu.tolist(), pivots.tolist(), order.tolist(), x.grad.tolist()
    ([[4.0, 4.0], [0.25, 1.0]], [2, 2], [1, 0], [[-1.0, 1.0], [0.25, -0.25]])
    """
    rows, columns = x.shape[-2:]
    lead, places = x.shape[:-2], xp.arange(rows, dtype=xp.int64, **beside(x))
    order, pivots = xp.broadcast_to(places, shape=(*lead, rows)), []
    across = xp.arange(columns, dtype=xp.int64, **beside(x))
    for k in range(min(rows, columns)):
        at = xp.full((*lead, 1), k, dtype=xp.int64, **beside(x))
        if pivot:
            sizes = modulus(xp, x[..., k])
            at = xp.argmax(xp.where(places < k, -xp.ones_like(sizes), sizes), axis=-1, keepdims=True)
            now = xp.where(places == k, at, xp.where(places == at, xp.full_like(places, k), places))
            x, order = reordered(xp, x, now), xp.take_along_axis(order, now, axis=-1)
        pivots.append(xp.astype(at + 1, dtype=xp.int32))
        top = x[..., k : k + 1, k : k + 1]
        column = x[..., :, k : k + 1] / xp.where(top == 0, xp.ones_like(top), top)
        column = xp.where((places > k)[:, None], column, xp.zeros_like(column))
        row = xp.where(across > k, x[..., k : k + 1, :], xp.zeros_like(x[..., k : k + 1, :]))
        x = xp.where((places > k)[:, None] & (across == k), xp.broadcast_to(column, shape=x.shape), x - column * row)
    none = xp.zeros((*lead, 0), dtype=xp.int32, **beside(x))
    return x, xp.concat(none, *pivots, axis=-1), order


@primitive(MATRIX, batch=lambda call, values, batched, keywords: call(*values, **keywords))
def row_order(xp: Any, pivots: Any, /, *, rows: int) -> Any:
    """The order of rows that LAPACK's pivots lead to, which count from 1; those of LDL have signs, which say more.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ops.linalg.factors.row_order(lg.asarray([3, 3]), rows=3).tolist()
    [2, 0, 1]
    """
    places = xp.arange(rows, dtype=xp.int64, **beside(pivots))
    order = xp.broadcast_to(places, shape=(*pivots.shape[:-1], rows))
    for k in range(pivots.shape[-1]):
        at = xp.astype(pivots[..., k : k + 1], dtype=xp.int64) - 1
        now = xp.where(places == k, at, xp.where(places == at, xp.full_like(places, k), places))
        order = xp.take_along_axis(order, now, axis=-1)
    return order


class LUFactorResult(NamedTuple):
    """What `lu_factor` gives: both factors in one matrix, and pivots that count from 1."""

    LU: "Tensor"
    pivots: "Tensor"


class LUResult(NamedTuple):
    """What `lu` gives: a permutation, a lower triangle with ones on its diagonal, and an upper triangle."""

    P: "Tensor"
    L: "Tensor"
    U: "Tensor"


def lu(A: Any, *, pivot: bool = True) -> LUResult:
    """A permutation P, a lower triangle L with ones on its diagonal and an upper triangle U: ``A = P L U``.

    Without ``pivot`` rows stay where they are, and P is empty.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0], [4.0, 4.0]], requires_grad=True)
    >>> P, L, U = lg.linalg.lu(x)
    >>> U[1, 1].backward()
    >>> P.tolist(), x.grad.tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [[-1.0, 1.0], [0.25, -0.25]])
    """
    need("lu", A=A)
    packed, _, order = packed_lu(A, pivot=pivot)
    return LUResult(_permutation(order, packed) if pivot else nothing(packed), *triangles(ops, packed))


def _permutation(order: Any, like: Any) -> Any:
    """The matrix P with ``A = P A[order]``."""
    places = ops.arange(order.shape[-1], device=order.device)
    return ops.astype(ops.expand_dims(places, axis=-1) == ops.expand_dims(order, axis=-2), dtype=like.dtype)


def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> LUResult:
    """P, L and U from what `linalg.lu_factor` gives; those that are not unpacked are empty.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> P, L, U = lg.lu_unpack(*lg.linalg.lu_factor(lg.asarray([[1.0, 2.0], [4.0, 4.0]])))
    >>> L.tolist(), U.tolist()
    ([[1.0, 0.0], [0.25, 1.0]], [[4.0, 4.0], [0.0, 1.0]])
    """
    need("lu_unpack", LU_data=LU_data)
    P = L = U = nothing(LU_data)
    if unpack_data:
        L, U = triangles(ops, LU_data)
    if unpack_pivots:
        _need_pivots("lu_unpack", LU_pivots)
        P = _permutation(row_order(LU_pivots, rows=LU_data.shape[-2]), LU_data)
    return LUResult(P, L, U)


def _need_pivots(name: str, pivots: Any) -> None:
    if str(pivots.dtype).rpartition(".")[2] != "int32":
        raise RuntimeError(f"{name}: given pivots of dtype {pivots.dtype}, expected int32, as the factorisation gives")


@in_precision("full")
def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """Solutions of ``A X = B`` by what `lu_factor` gives of A; not left: ``X A = B``; adjoint: of A's adjoint.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> b = lg.ones((2, 1), requires_grad=True)
    >>> factors = lg.linalg.lu_factor(lg.asarray([[2.0, 0.0], [0.0, 4.0]]))
    >>> lg.linalg.lu_solve(*factors, b).sum().backward()
    >>> b.grad.tolist()
    [[0.5], [0.25]]
    """
    need("lu_solve", LU=LU, B=B)
    _need_pivots("lu_solve", pivots)
    if not left:
        return _adjoint(lu_solve(LU, pivots, _adjoint(B), adjoint=not adjoint))
    if LU.shape[-2] != LU.shape[-1] or LU.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"lu_solve: given LU of shape {tuple(LU.shape)} and B of shape {tuple(B.shape)}, expected square matrices "
            f"and as many rows of B"
        )
    order = ops.expand_dims(row_order(pivots, rows=LU.shape[-1]), axis=-1)
    LU, B, order = matched(LU, B, order)
    order = ops.squeeze(order, axis=-1)
    lower, upper = triangles(ops, LU)
    if adjoint:
        x = ops.solve_triangular(_adjoint(upper), B, upper=False)
        return reordered(ops, ops.solve_triangular(_adjoint(lower), x, upper=True), ops.argsort(order))
    x = ops.solve_triangular(lower, reordered(ops, B, order), upper=False)
    return ops.solve_triangular(upper, x, upper=True)


def _adjoint(x: Any) -> Any:
    return adjoint(ops, x)


# -- reflections -----------------------------------------------------------------------------------
def reflected(xp: Any, vectors: Any, scales: Any, x: Any, adjoint_of: bool = False) -> Any:
    """``H1 H2 ... Hk x`` with ``H = 1 - scale v vᴴ``, or the product's adjoint, as one: ``x - V T (Vᴴ x)``.

    The vectors are columns, whose upper triangle does not count and whose diagonal is 1, as LAPACK keeps them.
    """
    v = xp.tril(vectors, k=-1) + identity(xp, vectors)
    scales = xp.expand_dims(scales, axis=-1)
    inner = xp.triu(xp.matmul(adjoint(xp, v), v), k=1)
    t = identity(xp, inner) + scales * inner  # T⁻¹ = 1 / scales + this triangle, also where a scale is zero
    if adjoint_of:
        right = xp.solve_triangular(adjoint(xp, t), xp.matmul(adjoint(xp, v), x), upper=False)
        return x - xp.matmul(v, (xp.conj(scales) if is_complex(scales.dtype) else scales) * right)
    return x - xp.matmul(v, xp.solve_triangular(t, scales * xp.matmul(adjoint(xp, v), x), upper=True))


def _need_reflections(name: str, vectors: Any, scales: Any) -> None:
    need(name, input=vectors)
    rows, columns = vectors.shape[-2:]
    if rows < columns or len(scales.shape) != len(vectors.shape) - 1 or scales.shape[-1] > columns:
        raise RuntimeError(
            f"{name}: given vectors of shape {tuple(vectors.shape)} and tau of shape {tuple(scales.shape)}, expected "
            f"no more columns than rows, and no more scales than columns"
        )


@in_precision("full")
def householder_product(A: Any, tau: Any) -> Any:
    """The first columns of the product of reflections ``1 - tau v vᴴ``, as many as A has; `geqrf` gives A and tau.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> tau = lg.tensor([2.0], requires_grad=True)
    >>> y = lg.linalg.householder_product(lg.asarray([[0.0], [0.0]]), tau)
    >>> y.sum().backward()
    >>> y.tolist(), tau.grad.tolist()
    ([[-1.0], [0.0]], [-1.0])
    """
    _need_reflections("householder_product", A, tau)
    A, tau = evened(A, tau)
    return reflected(ops, A[..., : tau.shape[-1]], tau, identity(ops, A))


@in_precision("full")
def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """``Q @ other``, Q being the square product of reflections that `geqrf` gives; not left: ``other @ Q``.

    With ``transpose`` it is the adjoint of Q that multiplies.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 1), requires_grad=True)
    >>> lg.ormqr(lg.asarray([[0.0], [0.0]]), lg.asarray([2.0]), x).sum().backward()
    >>> x.grad.tolist()
    [[-1.0], [1.0]]
    """
    _need_reflections("ormqr", input, tau)
    need("ormqr", other=other)
    if other.shape[-2 if left else -1] != input.shape[-2]:
        raise RuntimeError(
            f"ormqr: given reflections of {input.shape[-2]} rows and a matrix of shape {tuple(other.shape)}, expected "
            f"as many {'rows' if left else 'columns'}"
        )
    input, tau, other = evened(input, tau, other)
    vectors = input[..., : tau.shape[-1]]
    if left:
        return reflected(ops, vectors, tau, other, adjoint_of=transpose)
    return _adjoint(reflected(ops, vectors, tau, _adjoint(other), adjoint_of=not transpose))


class GeqrfResult(NamedTuple):
    """What `geqrf` gives: R and the vectors of reflections in one matrix, and the reflections' scales."""

    a: "Tensor"
    tau: "Tensor"


@in_precision("full")
def geqrf(input: Any) -> GeqrfResult:
    """LAPACK's QR decomposition: R in the upper triangle, vectors of reflections below, and their scales tau.

    The vectors have ones on the diagonal, which are not stored; `householder_product` makes Q of them. It is computed
    column by column, so that all derivatives exist; `linalg.qr` is quicker.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0], [4.0]], requires_grad=True)
    >>> y = lg.geqrf(x)
    >>> y.a[0, 0].backward()
    >>> y.a.tolist(), y.tau.tolist(), x.grad.tolist()
    ([[-5.0], [0.5]], [1.6], [[-0.6], [-0.8]])
    """
    need("geqrf", input=input)
    x = input if str(input.dtype).rpartition(".")[2].startswith(("float", "complex")) else input * 1.0
    rows, columns = x.shape[-2:]
    done, scales = [], []
    left = x
    for k in range(min(rows, columns)):
        above, rest = left[..., :k, :1], left[..., k:, :]
        column, others = rest[..., :1], rest[..., 1:]
        top, below = column[..., :1, :], column[..., 1:, :]
        real, zero = (ops.real(top), ops.imag(top)) if is_complex(x.dtype) else (top, ops.zeros_like(top))
        length = vector_norm(column, axis=-2, keepdims=True)
        moved = (vector_norm(below, axis=-2, keepdims=True) > 0) | (zero != 0)
        r = ops.where(moved, ops.where(real < 0, length, -length), real)  # away from the top, so that nothing cancels
        scale = ops.where(moved, (r - top) / ops.where(moved, r, 1), 0)
        vector = below / ops.where(moved, top - r, 1)
        full = ops.concat(ops.ones_like(top), vector, axis=-2)
        # LAPACK multiplies by the adjoint: the scales are those of Q.
        others = others - full @ ((ops.conj(scale) if is_complex(x.dtype) else scale) * (_adjoint(full) @ others))
        done.append(ops.concat(above, ops.astype(r, dtype=x.dtype), vector, axis=-2))
        scales.append(ops.squeeze(scale, axis=-1))
        left = ops.concat(left[..., :k, 1:], others, axis=-2)
    none = ops.zeros((*x.shape[:-2], 0), dtype=x.dtype, device=x.device)
    return GeqrfResult(ops.concat(*done, left, axis=-1), ops.concat(none, *scales, axis=-1))
