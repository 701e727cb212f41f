"""The few largest values of matrices, and the spaces that belong to them."""

from typing import TYPE_CHECKING, Any, NamedTuple

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.ops.precision import in_precision

from .classics import USVResult
from .factors import need
from .matrices import adjoint, need_square

if TYPE_CHECKING:
    from lucidgrad.tensor import Tensor


def _spanned(A: Any, q: int, niter: int) -> Any:
    """Orthonormal columns whose space nearly holds the products with A, by random vectors and powers of A."""
    lead, columns = tuple(A.shape[:-2]), A.shape[-1]
    start = ops.randn((*lead, columns, q), dtype=ops.real(A).dtype, device=A.device)
    turned = adjoint(ops, A)
    y = ops.linalg.qr(A @ ops.astype(start, dtype=A.dtype)).Q
    for _ in range(niter):
        y = ops.linalg.qr(A @ ops.linalg.qr(turned @ y).Q).Q
    return y


@in_precision("full")
def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> USVResult:
    """The q largest singular values of matrices and their vectors, nearly: ``A ≈ U diag(S) Vᴴ``, less M if it is given.

    A random space is chosen, and brought nearer to the one of the largest values ``niter`` times; the result is exact
    for matrices of a rank up to q.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0, 0.0, 0.0], [0.0, 0.0, 0.0]], requires_grad=True)
    >>> lg.svd_lowrank(x, q=1).S.sum().backward()
    >>> x.grad[0, 0].item()
    1.0
    """
    need("svd_lowrank", A=A)
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    rows, columns = A.shape[-2:]
    if not 0 <= q <= min(rows, columns):
        raise ValueError(
            f"svd_lowrank: given q={q} and matrices of shape {tuple(A.shape)}, expected 0 to the shorter side"
        )
    if not 0 <= niter <= 10_000:
        raise ValueError(f"svd_lowrank: given niter={niter}, expected at least 0 and at most 10,000")
    A = A if M is None else A - M
    if rows < columns:
        U, S, V = svd_lowrank(adjoint(ops, A), q, niter)
        return USVResult(V, S, U)
    basis = _spanned(A, q, niter)
    U, S, Vh = ops.linalg.svd(adjoint(ops, basis) @ A, full_matrices=False)
    return USVResult(basis @ U, S, adjoint(ops, Vh))


def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> USVResult:
    """`svd_lowrank` of rows less their mean, which is principal component analysis; not center: of the rows themselves.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.asarray([[1.0, 0.0], [3.0, 0.0], [5.0, 0.0]])
    >>> lg.pca_lowrank(x, q=1).S.item()
    2.8284
    """
    need("pca_lowrank", A=A)
    q = min(6, *A.shape[-2:]) if q is None else q
    return svd_lowrank(A - ops.mean(A, axis=-2, keepdims=True) if center else A, q, niter)


class LobpcgResult(NamedTuple):
    """What `lobpcg` gives: eigenvalues, and eigenvectors in columns."""

    eigenvalues: "Tensor"
    eigenvectors: "Tensor"


@in_precision("full")
def lobpcg(
    A: Any,
    k: int | None = None,
    B: Any = None,
    X: Any = None,
    n: int | None = None,
    iK: Any = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> LobpcgResult:
    """The k largest eigenvalues (not largest: the smallest) of ``A x = λ B x`` for symmetric A and positive definite B.

    They are those of the whole decomposition, `linalg.eigh`, so that they are exact and have all derivatives: what
    would steer an iteration (X but for its number of columns, iK, niter, tol, method, tracker and parameters) makes no
    difference.

    Parameters
    ----------
    A, B
        Symmetric matrices; B is the identity by default.
    k, X, n
        How many pairs: k, or as many as X has columns, or n, or one.
    largest
        Whether the largest values are wanted, in descending order, or the smallest, in ascending order.
    iK, niter, tol, method, tracker, ortho_iparams, ortho_fparams, ortho_bparams
        Accepted as PyTorch's.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 1.0]], requires_grad=True)
    >>> values, vectors = lg.lobpcg(x, k=1)
    >>> values.sum().backward()
    >>> values.tolist(), x.grad[1].tolist()
    ([5.0], [0.0, 1.0, 0.0])
    """
    need_square("lobpcg", A.shape)
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"lobpcg: given method={method!r}, expected 'basic' or 'ortho'")
    size = A.shape[-1]
    given = n if n is not None else 1 if X is None else X.shape[-1]
    count = given if k is None else k
    if count < 1 or size < 3 * count:
        raise ValueError(f"lobpcg: given {count} pairs of matrices with {size} rows, expected 1 to a third of the rows")
    if B is None:
        values, vectors = ops.linalg.eigh(A)
    else:
        lower = ops.linalg.cholesky(B)
        inner = ops.solve_triangular(lower, adjoint(ops, ops.solve_triangular(lower, A, upper=False)), upper=False)
        values, vectors = ops.linalg.eigh(inner)
        vectors = ops.solve_triangular(adjoint(ops, lower), vectors, upper=True)
    if largest is None or largest:
        values, vectors = ops.flip(values, axis=-1), ops.flip(vectors, axis=-1)
    return LobpcgResult(values[..., :count], vectors[..., :count])
