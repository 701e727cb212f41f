"""Symmetric and Hermitian matrices that need not be positive: ``L D Lᵀ`` with blocks of one row or two in D.

The packed form is LAPACK's: exchanges of rows that come later are not applied to the columns of L before them, and a
pair of rows that makes one block has negative pivots. `layout` says how to put the rows in order.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.core.primitive import MATRIX, primitive
from lucidgrad.ops.axes import beside, on_matrices
from lucidgrad.ops.numbers import is_complex
from lucidgrad.ops.precision import in_precision

from .factors import identity, matched, modulus, need, reordered
from .matrices import adjoint, need_square

if TYPE_CHECKING:
    from lucidgrad.tensor import Tensor


def _turned(xp: Any, x: Any, hermitian: bool) -> Any:
    return adjoint(xp, x) if hermitian else xp.matrix_transpose(x)


def _swapped(xp: Any, places: Any, one: Any, other: Any) -> Any:
    """Places with two of them exchanged, for each matrix its own."""
    one, other = one + xp.zeros_like(places), other + xp.zeros_like(places)
    return xp.where(places == one, other, xp.where(places == other, one, places))


@primitive(MATRIX, outputs=True, batch=lambda call, values, batched, keywords: call(*values, **keywords))
def ldl_layout(xp: Any, pivots: Any, /) -> Any:
    """The order of the rows, where each element of L stands in the packed matrix, and ones where a pair begins."""
    n = pivots.shape[-1]
    places = xp.arange(n, dtype=xp.int64, **beside(pivots))
    pivots = xp.astype(pivots, dtype=xp.int64)
    order = places + xp.zeros_like(pivots)
    where = xp.expand_dims(order, axis=-1) + xp.zeros_like(places)
    second, pairs = xp.zeros((*pivots.shape[:-1], 1), dtype=xp.bool, **beside(pivots)), []
    for k in range(n):
        pivot = pivots[..., k : k + 1]
        pair = (pivot < 0) & ~second
        at = xp.where(second, xp.full_like(pivot, k), xp.abs(pivot) - 1)
        now = _swapped(xp, places, xp.astype(pair, dtype=xp.int64) + k, at)
        order = xp.take_along_axis(order, now, axis=-1)
        where = xp.where(places < k, reordered(xp, where, now), where)
        pairs.append(xp.astype(pair, dtype=xp.int64))
        second = pair
    return order, where, xp.concat(xp.zeros_like(pivots[..., :0]), *pairs, axis=-1)


def _pairs(xp: Any, x: Any, first: Any) -> Any:
    """The elements below the diagonal that belong to pairs, alone."""
    below = xp.diagonal(x, offset=-1, axis1=-2, axis2=-1)
    below = xp.where(xp.index(first, key=(..., slice(0, below.shape[-1]))) > 0, below, xp.zeros_like(below))
    return xp.diagonal_put(below, offset=-1, axis1=-2, axis2=-1, shape=tuple(x.shape))


def _parts(xp: Any, ld: Any, layout: Any, hermitian: bool) -> tuple[Any, Any]:
    """L and D, as matrices, with the rows in order."""
    _, where, first = layout
    pairs = _pairs(xp, ld, first)
    lower = xp.take_along_axis(xp.tril(ld, k=-1) - pairs, where, axis=-2) + identity(xp, ld)
    return lower, xp.tril(xp.triu(ld, k=0), k=0) + pairs + _turned(xp, pairs, hermitian)


def _ordered(xp: Any, x: Any, order: Any) -> Any:
    """Rows and columns in an order."""
    return xp.matrix_transpose(reordered(xp, xp.matrix_transpose(reordered(xp, x, order)), order))


def _ldl_vjp(xp: Any, g: Any, y: Any, *, hermitian: bool) -> Any:
    """``L⁻ᵀ G L⁻¹``, symmetric: below the blocks G is ``Lᵀ gl D⁻ᵀ``, in them the cotangent of D."""
    (ld, pivots), g = y, g[0]
    layout = xp.ldl_layout(pivots)
    order, where, first = layout
    lower, middle = _parts(xp, ld, layout, hermitian)
    pairs = _pairs(xp, g, first)
    by_lower = xp.take_along_axis(xp.tril(g, k=-1) - pairs, where, axis=-2)
    turned = xp.matrix_transpose(lower)
    inner = xp.matmul(turned, by_lower)
    inner = xp.matrix_transpose(xp.solve(middle, xp.matrix_transpose(inner)))
    inner = xp.tril(inner, k=-1) - _pairs(xp, inner, first) + pairs + xp.tril(xp.triu(g, k=0), k=0)
    y = xp.solve_triangular(turned, inner, upper=True)
    right = xp.conj(lower) if hermitian and is_complex(lower.dtype) else lower
    y = xp.matrix_transpose(xp.solve_triangular(xp.matrix_transpose(right), xp.matrix_transpose(y), upper=True))
    return _ordered(xp, (y + _turned(xp, y, hermitian)) * 0.5, xp.argsort(order))


def _ldl_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, hermitian: bool) -> Any:
    """``M = L⁻¹ t L⁻ᵀ``: its blocks move D, and what is below them, times ``D⁻¹``, moves L."""
    ld, pivots = y
    layout = xp.ldl_layout(pivots)
    order, where, first = layout
    lower, middle = _parts(xp, ld, layout, hermitian)
    t = _ordered(xp, (ts[0] + _turned(xp, ts[0], hermitian)) * 0.5, order)
    t = xp.solve_triangular(lower, t, upper=False)
    t = _turned(xp, xp.solve_triangular(lower, _turned(xp, t, hermitian), upper=False), hermitian)
    pairs = _pairs(xp, t, first)
    below = xp.matrix_transpose(xp.tril(t, k=-1) - pairs)
    moved = xp.matmul(lower, xp.matrix_transpose(xp.solve(xp.matrix_transpose(middle), below)))
    moved = xp.take_along_axis(xp.tril(moved, k=-1), xp.argsort(where, axis=-2), axis=-2)
    return moved + pairs + xp.tril(xp.triu(t, k=0), k=0), xp.zeros_like(pivots)


#: Bunch and Kaufman's: a pivot this much smaller than what is beside it gives way to another, or to a pair.
_SMALLEST = (1 + 17**0.5) / 8


@primitive(MATRIX, vjp=_ldl_vjp, jvp=_ldl_jvp, outputs=True, dtype="float", batch=on_matrices("ldl_factor"))
def packed_ldl(xp: Any, x: Any, /, *, hermitian: bool = False) -> Any:
    """L and D in one matrix, and LAPACK's pivots, by Bunch and Kaufman's algorithm; only the lower triangle is read.

    All matrices of a batch go through the same steps; one that took two rows at once rests in the next.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[4.0, 2.0], [2.0, 3.0]], requires_grad=True)
    >>> ld, pivots = lg.ops.linalg.indefinite.packed_ldl(x)
    >>> ld[1, 1].backward()
    >>> ld.tolist(), pivots.tolist(), x.grad.tolist()
    ([[4.0, 0.0], [0.5, 2.0]], [1, 2], [[0.25, -0.5], [-0.5, 1.0]])
    """
    need_square("ldl_factor", x.shape)
    n = x.shape[-1]
    hermitian = hermitian and is_complex(x.dtype)
    places = xp.arange(n, dtype=xp.int64, **beside(x))
    x = xp.tril(x, k=0) + _turned(xp, xp.tril(x, k=-1), hermitian)
    if hermitian:
        x = x - 1j * xp.tril(xp.triu(xp.astype(xp.imag(x), dtype=x.dtype), k=0), k=0)
    rest = xp.zeros((*x.shape[:-2], 1), dtype=xp.bool, **beside(x))
    columns, pivots = [], []
    column2, pivot2 = x[..., :0], xp.zeros(rest.shape, dtype=xp.int64, **beside(x))  # of pairs that the last step took
    for k in range(n):
        column, next_column = x[..., k], x[..., min(k + 1, n - 1)]
        sizes = xp.where(places > k, modulus(xp, column), xp.zeros_like(modulus(xp, column)))
        top, largest = modulus(xp, column)[..., k : k + 1], xp.max(sizes, axis=-1, keepdims=True)
        at = xp.where(largest > 0, xp.argmax(sizes, axis=-1, keepdims=True), xp.zeros_like(pivot2) + k)
        row = modulus(xp, xp.take_along_axis(x, at[..., None] + xp.zeros_like(places), axis=-2)[..., 0, :])
        own = xp.take_along_axis(row, at, axis=-1)
        others = xp.where((places >= k) & (places != at), row, xp.zeros_like(row))
        beyond = xp.max(others, axis=-1, keepdims=True)
        stays = (top >= _SMALLEST * largest) | (top * beyond >= _SMALLEST * largest * largest) | rest
        pair = ~stays & (own < _SMALLEST * beyond)
        at = xp.where(stays, xp.zeros_like(at) + k, at)
        now = _swapped(xp, places, xp.astype(pair, dtype=xp.int64) + k, at)
        x = xp.where(rest[..., None], x, _ordered(xp, x, now))
        column, next_column = x[..., k], x[..., min(k + 1, n - 1)]
        one, two = _eliminated(xp, column, next_column, k, pair, places)
        columns.append(xp.where(rest, column2, one) if k else one)
        pivots.append(xp.where(rest, pivot2, xp.where(pair, -at - 1, at + 1)))
        column2, pivot2 = two, -at - 1
        zero = xp.zeros_like(one)
        first, second = xp.where(places > k + xp.astype(pair, dtype=xp.int64), one, zero), xp.where(pair, two, zero)
        second = xp.where(places > k + 1, second, zero)
        taken = first[..., :, None] * x[..., k : k + 1, :] + second[..., :, None] * x[..., min(k + 1, n - 1), None, :]
        x = xp.where(rest[..., None], x, x - taken)
        rest = pair
    packed = xp.stack(*columns, axis=-1) if columns else x
    none = xp.zeros((*x.shape[:-2], 0), dtype=xp.int64, **beside(x))
    return packed, xp.astype(xp.concat(none, *pivots, axis=-1), dtype=xp.int32)


def _eliminated(xp: Any, one: Any, two: Any, k: int, pair: Any, places: Any) -> tuple[Any, Any]:
    """Column k of the packed matrix, and the next one where both are a pair."""
    after = min(k + 1, one.shape[-1] - 1)
    top, below, corner = one[..., k : k + 1], one[..., after : after + 1], two[..., after : after + 1]
    beside_it = two[..., k : k + 1]
    zero, unit = xp.zeros_like(one), xp.ones_like(top)
    alone = one / xp.where(top == 0, unit, top)
    alone = xp.where(places > k, alone, xp.where(places == k, one, zero))
    size = xp.where(pair, xp.abs(below) + xp.zeros_like(xp.abs(below)), xp.abs(unit))
    top, below, corner, beside_it = (e / size for e in (top, below, corner, beside_it))
    det = xp.where(pair, (top * corner - below * beside_it) * size, unit)
    first, second = (one * corner - two * below) / det, (two * top - one * beside_it) / det
    first = xp.where(places > k + 1, first, xp.where(places >= k, one, zero))
    second = xp.where(places > k + 1, second, xp.where(places == k + 1, two, zero))
    return xp.where(pair, first, alone), second


class LDLFactorResult(NamedTuple):
    """What `ldl_factor` gives: both factors in one matrix, and pivots that count from 1, negative for pairs."""

    LD: "Tensor"
    pivots: "Tensor"


@in_precision("full")
def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False) -> Any:
    """Solutions of ``A X = B`` by what `ldl_factor` gives of A.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> b = lg.ones((2, 1), requires_grad=True)
    >>> factors = lg.linalg.ldl_factor(lg.asarray([[2.0, 0.0], [0.0, -4.0]]))
    >>> lg.linalg.ldl_solve(*factors, b).sum().backward()
    >>> b.grad.tolist()
    [[0.5], [-0.25]]
    """
    need("ldl_solve", LD=LD, B=B)
    if LD.shape[-2] != LD.shape[-1] or LD.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"ldl_solve: given LD of shape {tuple(LD.shape)} and B of shape {tuple(B.shape)}, expected square matrices "
            f"and as many rows of B"
        )
    layout = ops.ldl_layout(pivots)
    lower, middle = _parts(ops, LD, layout, hermitian)
    lower, middle, order, B = matched(lower, middle, ops.expand_dims(layout[0], axis=-1), B)
    order = ops.squeeze(order, axis=-1)
    y = ops.solve(middle, ops.solve_triangular(lower, reordered(ops, B, order), upper=False))
    y = ops.solve_triangular(_turned(ops, lower, hermitian), y, upper=True)
    return reordered(ops, y, ops.argsort(order))
