"""Linear algebra: the Array API standard's ``linalg``, and what NumPy's and PyTorch's have beside it.

Matrices are the last two axes; the axes before them are batches. Everything but ranks, pivots and what says whether
a matrix is singular is differentiable, of every order. Where a matrix is singular, has too small a rank or is of a
shape that a function does not take, the error is NumPy's ``LinAlgError`` (a ValueError) on the CPU and names the
function. The functions whose names end in ``_ex`` raise nothing: their ``info`` is zero where all is well.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from lucidgrad.refusals import guard as _guard

from .backends.cpu.kernels.linalg import LinAlgError
from .core import dtype as _dtypes
from .core.engine import tape_namespace as _ops
from .levels.batching import Batched as _Batched
from .ops import reduction as _reduction
from .ops.axes import axes_of as _axes_of, need_matrix as _need_matrix
from .ops.elementwise import arithmetic, complex
from .ops.elementwise.copies import astype as _astype
from .ops.indexing import selection as _indexing
from .ops.linalg import checks as _checks, decompositions as _decompositions, matrices as _matrix, products as _linalg
from .ops.linalg.chains import multi_dot, vander
from .ops.linalg.equations import solve_triangular, tensorinv, tensorsolve
from .ops.linalg.exponential import matrix_exp
from .ops.linalg.factors import (
    LUFactorResult,
    LUResult,
    householder_product,
    identity as _identity,
    lu,
    lu_solve,
    need as _need,
    nothing as _nothing,
    packed_lu as _packed_lu,
)
from .ops.linalg.indefinite import LDLFactorResult, ldl_solve, packed_ldl as _packed_ldl
from .ops.linalg.matrices import adjoint as _adjoint, cholesky, det, inv, matrix_power
from .ops.linalg.products import cross, matmul, outer, tensordot, vecdot
from .ops.numbers import together as _together
from .ops.precision import rounded_once as _rounded_once
from .ops.shape import diagonals as _diagonals, layout as _shape
from .ops.shape.layout import matrix_transpose

__all__ = [
    "CholeskyExResult",
    "EigResult",
    "EighResult",
    "InvExResult",
    "LDLFactorExResult",
    "LDLFactorResult",
    "LUFactorExResult",
    "LUFactorResult",
    "LUResult",
    "LinAlgError",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "SolveExResult",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vander",
    "vecdot",
    "vector_norm",
]


# -- diagonals -----------------------------------------------------------------------------------
def diagonal(x: Any, /, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices, which are the last two axes, or those given.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.linalg.diagonal(x, offset=1).sum().backward()
    >>> x.grad.tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return _diagonals.diagonal(x, offset=offset, axis1=dim1, axis2=dim2)


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


def _lower(name: str, x: Any, UPLO: str) -> Any:
    """Matrices of which the lower triangle is to be read."""
    if UPLO.upper() not in ("L", "U"):
        raise ValueError(f"{name}: given UPLO={UPLO!r}, expected 'L' or 'U'")
    return x if UPLO.upper() == "L" else _adjoint(_ops, x)


def eigh(x: Any, /, UPLO: str = "L") -> EighResult:
    """Eigenvalues in ascending order and orthonormal eigenvectors (columns) of Hermitian matrices.

    ``UPLO`` says which triangle is read, the lower one or the upper one. The gradient is Hermitian: x
    counts as a Hermitian matrix, whichever triangle is read. With equal eigenvalues the gradient by their eigenvectors
    is infinite or NaN, that by the eigenvalues is finite. Complex eigenvectors have a phase that is arbitrary: a loss
    must not depend on it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    >>> lg.linalg.eigh(x).eigenvalues[1].backward()
    >>> x.grad.tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    return EighResult(*_decompositions.eigh(_lower("eigh", x, UPLO)))


def eigvalsh(x: Any, /, UPLO: str = "L") -> Any:
    """Eigenvalues of Hermitian matrices, in ascending order; ``UPLO`` says which triangle is read.

    The gradient is Hermitian, and finite where eigenvalues are equal; the second one is not finite there.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    >>> lg.linalg.eigvalsh(x)[1].backward()
    >>> x.grad.tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    return _decompositions.eigvalsh(_lower("eigvalsh", x, UPLO))


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

    With ``mode="r"`` Q is left out: it is empty. The gradient is infinite or NaN unless the first columns (as many as
    there are rows) are linearly independent. With ``mode="complete"`` and more rows than columns there is none: the
    backward pass raises RuntimeError.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    >>> (lg.linalg.qr(x).R ** 2).sum().backward()
    >>> x.grad.tolist()
    [[4.0, 0.0], [0.0, 6.0]]
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: given mode={mode!r}, expected 'reduced', 'complete' or 'r'")
    Q, R = _decompositions.qr(x, mode="reduced" if mode == "r" else mode)
    return QRResult(_nothing(Q) if mode == "r" else Q, R)


class SVDResult(NamedTuple):
    """What `svd` gives: left vectors in columns, singular values, right vectors in rows and conjugated."""

    U: Any
    S: Any
    Vh: Any


def _need_driver(name: str, driver: Any, known: Sequence[str]) -> None:
    if driver is not None and driver not in known:
        raise RuntimeError(f"{name}: given driver={driver!r}, expected None or one of {', '.join(map(repr, known))}")


def svd(x: Any, /, full_matrices: bool = True, *, driver: str | None = None) -> SVDResult:
    """Singular value decomposition ``x = U diag(S) Vh``, S in descending order.

    With equal singular values the gradient by their vectors is infinite or NaN, that by S is finite. In full
    matrices the vectors beyond the shorter side are any basis: gradients by these are left out. Pairs of
    complex vectors have a phase that is arbitrary: a loss must not depend on it. The ``driver`` is PyTorch's
    choice among CUDA's algorithms, and makes no difference here.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0, 0.0], [0.0, 2.0]], requires_grad=True)
    >>> lg.linalg.svd(x).S[0].backward()
    >>> x.grad.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    _need_driver("svd", driver, ("gesvd", "gesvdj", "gesvda"))
    return SVDResult(*_decompositions.svd(x, full_matrices=full_matrices))


def svdvals(x: Any, /, *, driver: str | None = None) -> Any:
    """Singular values, in descending order; the ``driver`` makes no difference, as in `svd`.

    The gradient is finite where singular values are equal or zero; the second one is not finite there.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0, 0.0], [0.0, 2.0]], requires_grad=True)
    >>> lg.linalg.svdvals(x)[0].backward()
    >>> x.grad.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    _need_driver("svdvals", driver, ("gesvd", "gesvdj", "gesvda"))
    return _decompositions.svdvals(x)


# -- what follows from singular values -------------------------------------------------------------
_EPS = {"float32": 2.0**-23, "complex64": 2.0**-23, "float64": 2.0**-52, "complex128": 2.0**-52}


def _tolerances(x: Any, rtol: Any, atol: Any, axes: int) -> tuple[Any, Any]:
    """Relative and absolute ones: numbers, or an array for each matrix with so many axes of size 1 at its end."""
    if rtol is None:
        name = str(x.dtype).rpartition(".")[2]
        rtol = max(x.shape[-2:]) * _EPS.get(name, _EPS[str(_dtypes.get_default_dtype())])
        if hasattr(atol, "dtype"):
            rtol = _ops.where(atol > 0, 0.0, rtol)
        elif atol is not None and atol > 0:
            rtol = 0.0
    given = (rtol, 0.0 if atol is None else atol)
    rtol, atol = (_ops.expand_dims(t, axis=tuple(range(-axes, 0))) if getattr(t, "ndim", 0) else t for t in given)
    return rtol, atol


def pinv(x: Any, /, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None, atol: Any = None) -> Any:
    """Pseudo-inverses; singular values up to ``atol``, or to ``rtol`` times the largest one, count as zeros.

    The default of rtol (whose older name is ``rcond``) is the longer side times the dtype's epsilon, or zero where atol
    is given; both may be arrays, with one for each matrix. The gradient is the one at constant rank, for matrices of
    any rank.

    Parameters
    ----------
    x
        Matrices.
    rcond, rtol, atol
        Tolerances.
    hermitian
        Whether x is Hermitian: eigenvalues take the place of singular ones, and the lower triangle alone is read.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 0.0]], requires_grad=True)
    >>> lg.linalg.pinv(x).sum().backward()
    >>> x.grad.tolist()
    [[-0.25, 0.25], [0.25, 0.0]]
    """
    _need_matrix("pinv", len(x.shape))
    rtol = rcond if rtol is None else rtol
    return _decompositions.pinv(x, *_tolerances(x, rtol, atol, 2), hermitian=hermitian)


def matrix_rank(x: Any, /, tol: Any = None, hermitian: bool = False, *, rtol: Any = None, atol: Any = None) -> Any:
    """The number of singular values above ``atol`` and above ``rtol`` times the largest one; it has no derivative.

    Parameters are as in `pinv`; ``tol`` is an older name of atol.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.linalg.matrix_rank(lg.asarray([[1.0, 2.0], [2.0, 4.0]])).item()
    1
    """
    _need_matrix("matrix_rank", len(x.shape))
    if tol is not None and atol is None and rtol is None:
        rtol, atol = 0.0, tol
    s = complex.abs(eigvalsh(x)) if hermitian else svdvals(x)
    if s.shape[-1]:
        relative, absolute = _tolerances(x, rtol, atol, 1)
        s = (s > _reduction.max(s, axis=-1, keepdims=True) * relative) & (s > absolute)
    return _reduction.count_nonzero(s, axis=-1)


# -- norms ---------------------------------------------------------------------------------------
def vector_norm(
    x: Any,
    /,
    ord: Any = 2,
    axis: Any = None,
    keepdims: bool = False,
    *,
    dtype: Any = None,
) -> Any:
    """The norm of vectors: the root, of order ``ord``, of the sum of so high powers; over all axes without ``axis``.

    The orders inf and -inf are the largest and the smallest modulus, 0 is the number of elements that are not zero.
    ``dtype`` is one to compute in. The gradient is 0 where the norm of order 2 is 0.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([3.0, -4.0], requires_grad=True)
    >>> lg.linalg.vector_norm(x).backward()
    >>> x.grad.tolist()
    [0.6, -0.8]
    """
    x = x if dtype is None else _astype(x, dtype=dtype)
    axis = tuple(axis) if type(axis) is list else axis
    return _reduction.vector_norm(x, ord=ord, axis=axis, keepdims=keepdims)


def norm(x: Any, /, ord: Any = None, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """The norm of vectors (one axis) or of matrices (two axes, in the orders of `matrix_norm`).

    Without ``ord`` it is that of all elements along the axes, as a vector. Without ``axis`` a vector or a matrix is
    taken whole. ``dtype`` is one to compute in.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0, 0.0], [0.0, 4.0]], requires_grad=True)
    >>> lg.linalg.norm(x, "nuc").backward()
    >>> x.grad.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    axes = axis if axis is None or isinstance(axis, (tuple, list)) else (axis,)
    if axes is None and ord is not None:
        if x.ndim not in (1, 2):
            raise ValueError(f"norm: given ord={ord!r} and an array of dimension {x.ndim}, expected axis, or 1 or 2")
        axes = tuple(range(x.ndim))
    if ord is None or (axes is not None and len(axes) == 1 and not isinstance(ord, str)):
        axes = axes if axis is None else axis  # a 0-d array takes an axis, but no tuple of them
        return vector_norm(x, ord=2 if ord is None else ord, axis=axes, keepdims=keepdims, dtype=dtype)
    if axes is None or len(axes) != 2:
        raise ValueError(f"norm: given ord={ord!r} and axis={axis!r}, expected one axis or two, and two for {ord!r}")
    return matrix_norm(x, ord=ord, axis=axes, keepdims=keepdims, dtype=dtype)


def _two_axes(axis: Any, rank: int) -> tuple[int, ...]:
    axes = _axes_of("matrix_norm", axis, rank)
    if len(axes) != 2:
        raise ValueError(f"matrix_norm: given axis={axis!r}, expected two axes")
    return axes


@_rounded_once
def matrix_norm(
    x: Any,
    /,
    ord: Any = "fro",
    axis: Any = (-2, -1),
    keepdims: bool = False,
    *,
    dtype: Any = None,
) -> Any:
    """Norms of matrices, which are the last two axes, or those given; ``dtype`` is one to compute in.

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
    x = x if dtype is None else _astype(x, dtype=dtype)
    axes = axis if axis == (-2, -1) else _two_axes(axis, x.ndim)
    if ord is None or ord == "fro":
        return _reduction.vector_norm(x, axis=axes, keepdims=keepdims)
    axes = tuple(a % x.ndim for a in axes)
    x = x if axes == (x.ndim - 2, x.ndim - 1) else _shape.moveaxis(x, source=axes, destination=(-2, -1))
    if ord == "nuc" or ord in (2, -2):
        parts, at = _shape.expand_dims(svdvals(x), axis=-1), -2
    elif ord in (1, -1):
        parts, at = _reduction.sum(complex.abs(x), axis=-2, keepdims=True), -1
    elif ord in (float("inf"), -float("inf")):
        parts, at = _reduction.sum(complex.abs(x), axis=-1, keepdims=True), -2
    else:
        raise ValueError(f"matrix_norm: given ord={ord!r}, expected 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    if ord == "nuc" or (ord > 0 and not parts.shape[at]):
        y = _reduction.sum(parts, axis=at, keepdims=True)
    else:
        y = (_reduction.max if ord > 0 else _reduction.min)(parts, axis=at, keepdims=True)
    y = _shape.squeeze(y, axis=(-2, -1))
    return _shape.expand_dims(y, axis=tuple(sorted(axes))) if keepdims else y


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
    _matrix.need_square("cond", x.shape)
    info = _checks.zero_pivot(x)
    y = arithmetic.multiply(matrix_norm(x, ord=p), matrix_norm(inv(_mended(x, info)), ord=p))
    return _ops.where(info > 0, float("inf"), y)


# -- equations -------------------------------------------------------------------------------------
def _failed(info: Any) -> Any:
    """Whether each matrix failed, with two axes of size 1."""
    return _shape.expand_dims(info > 0, axis=(-2, -1))


def _mended(x: Any, info: Any) -> Any:
    """Identity matrices in place of those that fail."""
    return _ops.where(_failed(info), _identity(_ops, x), x)


def _unless(info: Any, y: Any) -> Any:
    """Results, and NaN for matrices that fail."""
    return _ops.where(_failed(info), float("nan"), y)


def _check(name: str, info: Any, wanted: str, error: type[Exception] = LinAlgError) -> None:
    """Raise if a matrix failed, unless they are many in one, inside vmap."""
    if type(info.array) is not _Batched and info.size and _reduction.any(info > 0).item():
        raise error(f"{name}: info is {_reduction.max(info).item()} for a matrix, expected {wanted}")


def solve(x1: Any, x2: Any, /, *, left: bool = True) -> Any:
    """Solutions of ``x1 @ y = x2``, where x2 is a vector or has matrices in its last two axes.

    Not ``left``: of ``y @ x1 = x2``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> b = lg.ones(2, requires_grad=True)
    >>> lg.linalg.solve(lg.asarray([[2.0, 0.0], [0.0, 4.0]]), b).sum().backward()
    >>> b.grad.tolist()
    [0.5, 0.25]
    """
    if left:
        return _matrix.solve(x1, x2)
    if x2.ndim == 1:
        return _matrix.solve(matrix_transpose(x1), x2)
    return matrix_transpose(_matrix.solve(matrix_transpose(x1), matrix_transpose(x2)))


class SolveExResult(NamedTuple):
    """What `solve_ex` gives: solutions, and the number of the first zero pivot, or 0."""

    result: Any
    info: Any


def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> SolveExResult:
    """`solve`, and which matrices are singular, whose solutions are NaN; ``check_errors`` raises for them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.linalg.solve_ex(lg.zeros((2, 2)), lg.ones((2, 1))).info.item()
    1
    """
    _matrix.need_square("solve_ex", A.shape)
    info = _checks.zero_pivot(A)
    if check_errors:
        _check("solve_ex", info, "matrices that are not singular")
    y = solve(_mended(A, info), B, left=left)
    failed = _shape.expand_dims(info > 0, axis=-1) if B.ndim == 1 else _failed(info)
    return SolveExResult(_ops.where(failed, float("nan"), y), info)


class InvExResult(NamedTuple):
    """What `inv_ex` gives: inverses, and the number of the first zero pivot, or 0."""

    inverse: Any
    info: Any


def inv_ex(A: Any, *, check_errors: bool = False) -> InvExResult:
    """`inv`, and which matrices are singular, whose inverses are NaN; ``check_errors`` raises for them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.linalg.inv_ex(lg.asarray([[1.0, 2.0], [2.0, 4.0]])).info.item()
    2
    """
    _matrix.need_square("inv_ex", A.shape)
    info = _checks.zero_pivot(A)
    if check_errors:
        _check("inv_ex", info, "matrices that are not singular")
    return InvExResult(_unless(info, inv(_mended(A, info))), info)


class CholeskyExResult(NamedTuple):
    """What `cholesky_ex` gives: triangles, and the order of the first leading minor that is not positive, or 0."""

    L: Any
    info: Any


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> CholeskyExResult:
    """`cholesky`, and which matrices are not positive definite, whose triangles are NaN; ``check_errors`` raises.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.linalg.cholesky_ex(lg.asarray([[1.0, 2.0], [2.0, 3.0]])).info.item()
    2
    """
    _matrix.need_square("cholesky_ex", A.shape)
    info = _checks.failing_minor(A)
    if check_errors:
        _check("cholesky_ex", info, "positive definite matrices")
    return CholeskyExResult(_unless(info, cholesky(_mended(A, info), upper=upper)), info)


class LUFactorExResult(NamedTuple):
    """What `lu_factor_ex` gives: what `lu_factor` does, and the number of the first zero pivot, or 0."""

    LU: Any
    pivots: Any
    info: Any


def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> LUFactorExResult:
    """`lu_factor`, and which matrices are singular; ``check_errors`` raises for them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.linalg.lu_factor_ex(lg.asarray([[1.0, 2.0], [2.0, 4.0]])).info.item()
    2
    """
    _need("lu_factor_ex", A=A)
    packed, pivots, _ = _packed_lu(A, pivot=pivot)
    info = _checks.first_zero(_diagonals.diagonal(packed, axis1=-2, axis2=-1))
    if check_errors:
        _check("lu_factor_ex", info, "a diagonal of U without zeros")
    return LUFactorExResult(packed, pivots, info)


def lu_factor(A: Any, *, pivot: bool = True) -> LUFactorResult:
    """L and U in one matrix, without L's diagonal of ones, and the pivots: row k changed places with row pivots[k].

    Rows count from 1. Where U has a zero on its diagonal, which `lu_solve` would divide by, this raises RuntimeError;
    `lu_factor_ex` does not.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0], [4.0, 4.0]], requires_grad=True)
    >>> LU, pivots = lg.linalg.lu_factor(x)
    >>> LU[1, 1].backward()
    >>> LU.tolist(), pivots.tolist(), x.grad.tolist()
    ([[4.0, 4.0], [0.25, 1.0]], [2, 2], [[-1.0, 1.0], [0.25, -0.25]])
    """
    found = lu_factor_ex(A, pivot=pivot)
    _check("lu_factor", found.info, "a diagonal of U without zeros; lu_factor_ex takes any", RuntimeError)
    return LUFactorResult(found.LU, found.pivots)


class LDLFactorExResult(NamedTuple):
    """What `ldl_factor_ex` gives: what `ldl_factor` does, and the number of the first zero in D, or 0."""

    LD: Any
    pivots: Any
    info: Any


def ldl_factor_ex(A: Any, *, hermitian: bool = False, check_errors: bool = False) -> LDLFactorExResult:
    """`ldl_factor`, and which matrices are singular; ``check_errors`` raises for them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.linalg.ldl_factor_ex(lg.zeros((2, 2))).info.item()
    1
    """
    _matrix.need_square("ldl_factor_ex", A.shape)
    packed, pivots = _packed_ldl(A, hermitian=hermitian)
    zero = _diagonals.diagonal(packed, axis1=-2, axis2=-1)
    info = _checks.first_zero(_ops.where(pivots < 0, 1, zero))  # a pair's diagonal may be zero
    if check_errors:
        _check("ldl_factor_ex", info, "matrices that are not singular")
    return LDLFactorExResult(packed, pivots, info)


def ldl_factor(A: Any, *, hermitian: bool = False) -> LDLFactorResult:
    """L and D in one matrix with ``A = L D Lᵀ`` for symmetric matrices, and LAPACK's pivots; hermitian: ``L D Lᴴ``.

    D has blocks of one row or two on its diagonal; pivots of the latter are negative. Only the lower triangle is read.
    Unlike PyTorch's, it has a gradient, which is symmetric or Hermitian.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[4.0, 2.0], [2.0, 3.0]], requires_grad=True)
    >>> LD, pivots = lg.linalg.ldl_factor(x)
    >>> LD[1, 1].backward()
    >>> LD.tolist(), pivots.tolist(), x.grad.tolist()
    ([[4.0, 0.0], [0.5, 2.0]], [1, 2], [[0.25, -0.5], [-0.5, 1.0]])
    """
    found = ldl_factor_ex(A, hermitian=hermitian)
    return LDLFactorResult(found.LD, found.pivots)


class LstsqResult(NamedTuple):
    """What `lstsq` gives: solutions, sums of squared residuals, the rank, and singular values."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def lstsq(a: Any, b: Any, rcond: Any = None, *, driver: str | None = None) -> LstsqResult:
    """Solutions of ``a @ y = b`` with the least sum of squares, the shortest where there are several.

    There are no residuals unless a has more rows than columns and full rank. (Inside vmap ranks may differ between the
    examples, so residuals are given whatever they are.)

    Parameters
    ----------
    a
        Matrices.
    b
        The right sides: columns of matrices, or a vector for each matrix of a.
    rcond
        Singular values up to so many times the largest one count as zeros; as ``rtol`` of `pinv`.
    driver
        One of PyTorch's names of LAPACK's functions. The solution is the same; ``"gels"`` leaves the rank out, and
        singular values are given by ``"gelsd"`` and ``"gelss"``, and without a driver.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> b = lg.tensor([1.0, 2.0, 6.0], requires_grad=True)
    >>> lg.linalg.lstsq(lg.ones((3, 1)), b).solution.sum().backward()
    >>> b.grad.tolist()
    [0.333333, 0.333333, 0.333333]
    """
    _need_driver("lstsq", driver, _DRIVERS)
    vector = len(b.shape) == len(a.shape) - 1 and (len(b.shape) == 1 or b.shape == a.shape[:-1])
    if len(a.shape) < 2 or (len(b.shape) < 2 and not vector) or b.shape[-1 if vector else -2] != a.shape[-2]:
        raise ValueError(
            f"lstsq: given arrays of shape {tuple(a.shape)} and {tuple(b.shape)}, expected matrices and vectors or "
            f"matrices with as many rows"
        )
    a, b = _together(a, b)
    b = _shape.expand_dims(b, axis=-1) if vector else b
    rank = matrix_rank(a, rtol=rcond)
    y = matmul(pinv(a, rtol=rcond), b)
    left = complex.abs(arithmetic.subtract(b, matmul(a, y)))
    residuals = _reduction.sum(arithmetic.square(left), axis=-2)
    rows, columns = a.shape[-2:]
    full = rows > columns and (type(rank.array) is _Batched or rank.size == 0 or _reduction.min(rank).item() == columns)
    if not full or driver == "gelsy":
        residuals = _indexing.index(residuals, key=(..., slice(0, 0))) if len(a.shape) == 2 else _nothing(residuals)
    values = svdvals(a) if driver in (None, "gelsd", "gelss") else _nothing(residuals)
    y = _shape.squeeze(y, axis=-1) if vector else y
    return LstsqResult(y, residuals, _nothing(rank) if driver == "gels" else rank, values)


_guard(__name__, __all__)
