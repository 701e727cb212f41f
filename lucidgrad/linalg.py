"""Linear algebra, with the signatures and meanings of the Array API standard's ``linalg``.

Matrices are the last two axes; the axes before them are batches. Everything but `matrix_rank` is differentiable,
of every order. Where a matrix is singular, has too small a rank or is of a shape that a function does not take,
the error is NumPy's ``LinAlgError`` (a ValueError) on the CPU and names the function.
"""

from typing import Any, NamedTuple

from lucidgrad.refusals import guard as _guard

from .core import dtype as _dtypes
from .levels.batching import Batched as _Batched
from .ops import reduction as _reduction
from .ops.axes import need_matrix as _need_matrix
from .ops.elementwise import arithmetic, complex
from .ops.indexing import selection as _indexing
from .ops.linalg import decompositions as _decompositions, matrices as _matrix, products as _linalg
from .ops.linalg.decompositions import eigvalsh, svdvals
from .ops.linalg.matrices import cholesky, det, inv, matrix_power, solve
from .ops.linalg.products import cross, matmul, outer, tensordot, vecdot
from .ops.precision import rounded_once as _rounded_once
from .ops.reduction import vector_norm
from .ops.shape import diagonals as _diagonals, layout as _shape
from .ops.shape.layout import matrix_transpose

__all__ = [
    "EigResult",
    "EighResult",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


# -- diagonals -----------------------------------------------------------------------------------
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of matrices, which are the last two axes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.linalg.diagonal(x, offset=1).sum().backward()
    >>> x.grad.tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return _diagonals.diagonal(x, offset=offset, axis1=-2, axis2=-1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Sums of the diagonals of matrices, which are the last two axes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2, 2), requires_grad=True)
    >>> lg.linalg.trace(x).sum().backward()
    >>> x.grad.tolist()
    [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]
    """
    return _linalg.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


# -- decompositions ------------------------------------------------------------------------------
class SlogdetResult(NamedTuple):
    """What `slogdet` gives: signs, and logarithms of absolute values."""

    sign: Any
    logabsdet: Any


def slogdet(x: Any, /) -> SlogdetResult:
    """Determinants as a sign (a number of modulus 1) and the logarithm of the modulus.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 1.0], [2.0, 4.0]], requires_grad=True)
    >>> lg.linalg.slogdet(x).logabsdet.backward()
    >>> x.grad.tolist()
    [[2.0, -1.0], [-0.5, 0.5]]
    """
    return SlogdetResult(*_matrix.slogdet(x))


class EighResult(NamedTuple):
    """What `eigh` gives: real eigenvalues in ascending order, and eigenvectors in columns."""

    eigenvalues: Any
    eigenvectors: Any


def eigh(x: Any, /) -> EighResult:
    """Eigenvalues in ascending order and orthonormal eigenvectors (columns) of Hermitian matrices.

    The gradient is Hermitian: x counts as a Hermitian matrix, whichever triangle is read. With equal
    eigenvalues the gradient by their eigenvectors is infinite or NaN, that by the eigenvalues is finite.
    Complex eigenvectors have a phase that is arbitrary: a loss must not depend on it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    >>> lg.linalg.eigh(x).eigenvalues[1].backward()
    >>> x.grad.tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    return EighResult(*_decompositions.eigh(x))


class EigResult(NamedTuple):
    """What `eig` gives: complex eigenvalues, and eigenvectors in columns."""

    eigenvalues: Any
    eigenvectors: Any


def eig(x: Any, /) -> EigResult:
    """Eigenvalues and eigenvectors (columns of length 1) of square matrices, always complex.

    With equal eigenvalues the gradient by their eigenvectors is infinite or NaN; a matrix without a basis
    of eigenvectors has no gradient. The phase of an eigenvector is arbitrary: a loss must not depend on it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    >>> lg.real(lg.linalg.eig(x).eigenvalues[1]).backward()
    >>> x.grad.tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    return EigResult(*_decompositions.eig(x))


def eigvals(x: Any, /) -> Any:
    """Eigenvalues of square matrices, always complex, in the order in which `eig` has them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[0.0, 1.0], [-1.0, 0.0]], requires_grad=True)
    >>> lg.imag(lg.linalg.eigvals(x)[0]).backward()
    >>> x.grad.tolist()
    [[0.0, 0.5], [-0.5, 0.0]]
    """
    return _decompositions.eig(x)[0]  # alone, LAPACK may give them in another order than the gradient's


class QRResult(NamedTuple):
    """What `qr` gives: orthonormal columns, and an upper triangle."""

    Q: Any
    R: Any


def qr(x: Any, /, *, mode: str = "reduced") -> QRResult:
    """Orthonormal columns Q and an upper triangle R with ``x = Q R``; ``mode="complete"``: Q is square.

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
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: given mode={mode!r}, expected 'reduced' or 'complete'")
    return QRResult(*_decompositions.qr(x, mode=mode))


class SVDResult(NamedTuple):
    """What `svd` gives: left vectors in columns, singular values, right vectors in rows and conjugated."""

    U: Any
    S: Any
    Vh: Any


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """Singular value decomposition ``x = U diag(S) Vh``, S in descending order.

    With equal singular values the gradient by their vectors is infinite or NaN, that by S is finite. In full
    matrices the vectors beyond the shorter side are any basis: gradients by these are left out. Pairs of
    complex vectors have a phase that is arbitrary: a loss must not depend on it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0, 0.0], [0.0, 2.0]], requires_grad=True)
    >>> lg.linalg.svd(x).S[0].backward()
    >>> x.grad.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return SVDResult(*_decompositions.svd(x, full_matrices=full_matrices))


# -- what follows from singular values -------------------------------------------------------------
_EPS = {"float32": 2.0**-23, "complex64": 2.0**-23, "float64": 2.0**-52, "complex128": 2.0**-52}


def _tolerance(x: Any, rtol: Any, axes: int) -> Any:
    """A number, or an array with one for each matrix that has so many axes of size 1 at its end."""
    if rtol is None:
        name = str(x.dtype).rpartition(".")[2]
        return max(x.shape[-2:]) * _EPS.get(name, _EPS[str(_dtypes.get_default_dtype())])
    if getattr(rtol, "ndim", 0):
        return _shape.expand_dims(rtol, axis=tuple(range(-axes, 0)))
    return rtol


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """Pseudo-inverses; singular values up to ``rtol`` times the largest one count as zeros.

    The default of rtol is the longer side times the dtype's epsilon; it may be an array, with one for each matrix.
    The gradient is the one at constant rank, for matrices of any rank.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 0.0]], requires_grad=True)
    >>> lg.linalg.pinv(x).sum().backward()
    >>> x.grad.tolist()
    [[-0.25, 0.25], [0.25, 0.0]]
    """
    _need_matrix("pinv", len(x.shape))
    return _decompositions.pinv(x, _tolerance(x, rtol, 2))


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """The number of singular values above ``rtol`` times the largest one; it has no derivative.

    The default of rtol is the longer side times the dtype's epsilon; it may be an array, with one for each matrix.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.linalg.matrix_rank(lg.asarray([[1.0, 2.0], [2.0, 4.0]])).item()
    1
    """
    _need_matrix("matrix_rank", len(x.shape))
    s = svdvals(x)
    if s.shape[-1]:
        s = s > _reduction.max(s, axis=-1, keepdims=True) * _tolerance(x, rtol, 1)
    return _reduction.count_nonzero(s, axis=-1)


@_rounded_once
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Norms of matrices.

    ``ord`` is ``"fro"`` (the root of the sum of squares), ``"nuc"`` (the sum of singular values), 2 or -2 (the largest
    or smallest singular value), 1 or -1 (the largest or smallest sum of moduli in a column), inf or -inf (in a row).
    The gradient is 0 where the norm ``"fro"`` is 0; columns, rows or singular values that tie share it evenly.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0, 0.0], [0.0, 4.0]], requires_grad=True)
    >>> lg.linalg.matrix_norm(x).backward()
    >>> x.grad.tolist()
    [[0.6, 0.0], [0.0, 0.8]]
    """
    _need_matrix("matrix_norm", len(x.shape))
    if ord is None or ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord == "nuc" or ord in (2, -2):
        parts, axis = _shape.expand_dims(svdvals(x), axis=-1), -2
    elif ord in (1, -1):
        parts, axis = _reduction.sum(complex.abs(x), axis=-2, keepdims=True), -1
    elif ord in (float("inf"), -float("inf")):
        parts, axis = _reduction.sum(complex.abs(x), axis=-1, keepdims=True), -2
    else:
        raise ValueError(f"matrix_norm: given ord={ord!r}, expected 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    if ord == "nuc" or (ord > 0 and not parts.shape[axis]):
        y = _reduction.sum(parts, axis=axis, keepdims=True)
    else:
        y = (_reduction.max if ord > 0 else _reduction.min)(parts, axis=axis, keepdims=True)
    return y if keepdims else _shape.squeeze(y, axis=(-2, -1))


def cond(x: Any, /, p: Any = None) -> Any:
    """Condition numbers: the norm of a matrix times that of its inverse; of singular values without p.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[4.0, 0.0], [0.0, 2.0]], requires_grad=True)
    >>> lg.linalg.cond(x).backward()
    >>> x.grad.tolist()
    [[0.5, 0.0], [0.0, -1.0]]
    """
    if p is None or p in (2, -2):
        sign = -1 if p == -2 else 1
        return arithmetic.divide(matrix_norm(x, ord=2 * sign), matrix_norm(x, ord=-2 * sign))
    return arithmetic.multiply(matrix_norm(x, ord=p), matrix_norm(inv(x), ord=p))


class LstsqResult(NamedTuple):
    """What `lstsq` gives: solutions, sums of squared residuals, the rank, and singular values."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


def lstsq(a: Any, b: Any, rcond: Any = None) -> LstsqResult:
    """Solutions of ``a @ y = b`` with the least sum of squares, the shortest where there are several.

    As in NumPy: a is a matrix, b a vector or the columns of a matrix; singular values up to ``rcond`` times the largest
    one count as zeros; there are no residuals unless a has more rows than columns and full rank. (Inside vmap ranks may
    differ between the examples, so residuals are given whatever they are.)

    Examples
    --------
    >>> import lucidgrad as lg
    >>> b = lg.tensor([1.0, 2.0, 6.0], requires_grad=True)
    >>> lg.linalg.lstsq(lg.ones((3, 1)), b).solution.sum().backward()
    >>> b.grad.tolist()
    [0.333333, 0.333333, 0.333333]
    """
    if len(a.shape) != 2 or len(b.shape) not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ValueError(
            f"lstsq: given arrays of shape {tuple(a.shape)} and {tuple(b.shape)}, expected a matrix and a vector or "
            f"matrix with as many rows"
        )
    rank = matrix_rank(a, rtol=rcond)
    y = matmul(pinv(a, rtol=rcond), b)
    left = complex.abs(arithmetic.subtract(b, matmul(a, y)))
    residuals = _reduction.sum(arithmetic.square(left), axis=0, keepdims=len(b.shape) == 1)
    if a.shape[0] <= a.shape[1] or (type(rank.array) is not _Batched and rank.item() < a.shape[1]):
        residuals = _indexing.index(residuals, key=slice(0, 0))
    return LstsqResult(y, residuals, rank, svdvals(a))


_guard(__name__, __all__)
