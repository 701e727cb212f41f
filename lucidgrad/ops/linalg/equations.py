"""Systems of equations: by triangles, by Cholesky's factors, and of arrays with more axes than two."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.ops.axes import axes_of, axes_of_one, product
from lucidgrad.ops.numbers import evened
from lucidgrad.ops.precision import in_precision

from .factors import identity, matched, need
from .matrices import adjoint

if TYPE_CHECKING:
    from lucidgrad.tensor import Tensor


def _need_fitting(name: str, A: Any, B: Any, left: bool = True) -> None:
    need(name, A=A, B=B)
    if A.shape[-2] != A.shape[-1] or A.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: given A of shape {tuple(A.shape)} and B of shape {tuple(B.shape)}, expected square matrices and "
            f"as many {'rows' if left else 'columns'} of B"
        )


@in_precision("full")
def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """Solutions of ``A X = B``, of which only one triangle of A counts; not left: of ``X A = B``.

    With ``unitriangular`` the diagonal counts as ones. With a zero on the diagonal the result is NaN.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> b = lg.ones((2, 1), requires_grad=True)
    >>> lg.linalg.solve_triangular(lg.asarray([[2.0, 0.0], [9.0, 4.0]]), b, upper=True).sum().backward()
    >>> b.grad.tolist()
    [[0.5], [0.25]]
    """
    _need_fitting("solve_triangular", A, B, left)
    if unitriangular:
        A = (ops.triu(A, k=1) if upper else ops.tril(A, k=-1)) + identity(ops, A)
    if left:
        return ops.solve_triangular(A, B, upper=upper)
    turned = ops.solve_triangular(ops.matrix_transpose(A), ops.matrix_transpose(B), upper=not upper)
    return ops.matrix_transpose(turned)


class TriangularSolveResult(NamedTuple):
    """What `triangular_solve` gives: solutions, and a copy of the matrices."""

    solution: "Tensor"
    cloned_coefficient: "Tensor"


def triangular_solve(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> TriangularSolveResult:
    """Solutions of ``A X = b``, of which only one triangle of A counts; transpose: of its transpose.

    It is PyTorch's older name; `linalg.solve_triangular` takes its arguments the other way round.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.triangular_solve(lg.ones((2, 1)), lg.asarray([[2.0, 0.0], [9.0, 4.0]])).solution.tolist()
    [[0.5], [0.25]]
    """
    turned, side = (ops.matrix_transpose(A), not upper) if transpose else (A, upper)
    y = solve_triangular(turned, b, upper=side, unitriangular=unitriangular)
    lead = tuple(y.shape[:-2])
    return TriangularSolveResult(y, ops.clone(ops.broadcast_to(A, shape=(*lead, *A.shape[-2:]))))


@in_precision("full")
def cholesky_solve(B: Any, L: Any, upper: bool = False) -> Any:
    """Solutions of ``A X = B``, L being the lower triangle of A's Cholesky decomposition, or the upper one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> b = lg.ones((2, 1), requires_grad=True)
    >>> lg.cholesky_solve(b, lg.asarray([[2.0, 0.0], [0.0, 4.0]])).sum().backward()
    >>> b.grad.tolist()
    [[0.25], [0.0625]]
    """
    _need_fitting("cholesky_solve", L, B)
    L, B = evened(L, B)  # lest the rule of one triangle met numbers of another dtype
    lower = adjoint(ops, L) if upper else L
    lower, B = matched(lower, B)
    return ops.solve_triangular(adjoint(ops, lower), ops.solve_triangular(lower, B, upper=False), upper=True)


def cholesky_inverse(L: Any, upper: bool = False) -> Any:
    """Inverses of the matrices whose Cholesky decompositions have this lower triangle, or this upper one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 4.0]], requires_grad=True)
    >>> y = lg.cholesky_inverse(x)
    >>> y[0, 0].backward()
    >>> y.tolist(), x.grad.tolist()
    ([[0.25, 0.0], [0.0, 0.0625]], [[-0.25, 0.0], [0.0, 0.0]])
    """
    need("cholesky_inverse", L=L)
    return cholesky_solve(identity(ops, L), L, upper)


# -- arrays of more axes -----------------------------------------------------------------------------
def tensorinv(A: Any, ind: int = 2) -> Any:
    """The inverse of an array as a matrix whose rows are its first ``ind`` axes and whose columns are the others.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.reshape(lg.eye(4), (2, 2, 4)) * 2
    >>> lg.linalg.tensorinv(x).shape, lg.linalg.tensorinv(x)[0, 0, 0].item()
    ((4, 2, 2), 0.5)
    """
    if ind <= 0:
        raise RuntimeError(f"tensorinv: given ind={ind}, expected at least 1")
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if product(rows) != product(columns):
        raise RuntimeError(
            f"tensorinv: given an array of shape {tuple(A.shape)} and ind={ind}, expected as many elements before that "
            f"axis as from there on"
        )
    return ops.reshape(ops.inv(ops.reshape(A, shape=(product(rows), product(columns)))), shape=(*columns, *rows))


def tensorsolve(A: Any, B: Any, dims: Sequence[int] | None = None) -> Any:
    """The array X for which ``tensordot(A, X, X.ndim)`` is B; ``dims`` of A are moved to its end first.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> b = lg.ones((2, 2), requires_grad=True)
    >>> x = lg.linalg.tensorsolve(lg.reshape(lg.eye(4), (2, 2, 4)) * 2, b)
    >>> x.sum().backward()
    >>> x.tolist(), b.grad.tolist()
    ([0.5, 0.5, 0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]])
    """
    if dims is not None:
        moved = axes_of("tensorsolve", dims, A.ndim) if A.ndim else axes_of_one("tensorsolve", dims)
        A = ops.permute_dims(A, axes=(*(a for a in range(A.ndim) if a not in moved), *moved))
    wanted, size = tuple(A.shape[B.ndim :]), product(B.shape)
    if product(wanted) != size or product(A.shape[: B.ndim]) != size:
        raise RuntimeError(
            f"tensorsolve: given A of shape {tuple(A.shape)} and B of shape {tuple(B.shape)}, expected A to have the "
            f"elements of B times as many"
        )
    y = ops.solve(ops.reshape(A, shape=(size, size)), ops.reshape(B, shape=(size,)))
    return ops.reshape(y, shape=wanted)
