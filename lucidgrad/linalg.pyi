# Written by `python -m tools.stubs`: what is wrong here is mended there.

from collections.abc import Sequence
from typing import NamedTuple, overload

from numpy.linalg import LinAlgError as LinAlgError

from lucidgrad.ops.linalg.factors import LUFactorResult as LUFactorResult
from lucidgrad.ops.linalg.factors import LUResult as LUResult
from lucidgrad.ops.linalg.indefinite import LDLFactorResult as LDLFactorResult
from lucidgrad.tensor import Tensor
from lucidgrad.typing import ArrayLike, Axes, DTypeLike

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

class CholeskyExResult(NamedTuple):
    L: Tensor
    info: Tensor

class EigResult(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class EighResult(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class InvExResult(NamedTuple):
    inverse: Tensor
    info: Tensor

class LDLFactorExResult(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor

class LUFactorExResult(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class LstsqResult(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class QRResult(NamedTuple):
    Q: Tensor
    R: Tensor

class SVDResult(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class SlogdetResult(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class SolveExResult(NamedTuple):
    result: Tensor
    info: Tensor

def cholesky(x: ArrayLike, /, upper: bool = False) -> Tensor: ...
def cholesky_ex(A: ArrayLike, *, upper: bool = False, check_errors: bool = False) -> CholeskyExResult: ...
def cond(x: ArrayLike, /, p: float | str | None = None) -> Tensor: ...
@overload
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Tensor: ...
@overload
def cross(x1: ArrayLike, x2: ArrayLike, /, *, dim: int = -1) -> Tensor: ...
def det(x: ArrayLike, /) -> Tensor: ...
def diagonal(x: ArrayLike, /, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor: ...
def eig(x: ArrayLike, /) -> EigResult: ...
def eigh(x: ArrayLike, /, UPLO: str = "L") -> EighResult: ...
def eigvals(x: ArrayLike, /) -> Tensor: ...
def eigvalsh(x: ArrayLike, /, UPLO: str = "L") -> Tensor: ...
def householder_product(A: ArrayLike, tau: ArrayLike) -> Tensor: ...
def inv(x: ArrayLike, /) -> Tensor: ...
def inv_ex(A: ArrayLike, *, check_errors: bool = False) -> InvExResult: ...
def ldl_factor(A: ArrayLike, *, hermitian: bool = False) -> LDLFactorResult: ...
def ldl_factor_ex(A: ArrayLike, *, hermitian: bool = False, check_errors: bool = False) -> LDLFactorExResult: ...
def ldl_solve(LD: ArrayLike, pivots: ArrayLike, B: ArrayLike, *, hermitian: bool = False) -> Tensor: ...
def lstsq(a: ArrayLike, b: ArrayLike, rcond: ArrayLike | None = None, *, driver: str | None = None) -> LstsqResult: ...
def lu(A: ArrayLike, *, pivot: bool = True) -> LUResult: ...
def lu_factor(A: ArrayLike, *, pivot: bool = True) -> LUFactorResult: ...
def lu_factor_ex(A: ArrayLike, *, pivot: bool = True, check_errors: bool = False) -> LUFactorExResult: ...
def lu_solve(LU: ArrayLike, pivots: ArrayLike, B: ArrayLike, *, left: bool = True, adjoint: bool = False) -> Tensor: ...
def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def matrix_exp(x: ArrayLike, /) -> Tensor: ...
@overload
def matrix_norm(
    x: ArrayLike,
    /,
    ord: float | str = "fro",
    axis: Axes = (-2, -1),
    keepdims: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
@overload
def matrix_norm(
    x: ArrayLike,
    /,
    ord: float | str = "fro",
    dim: Axes = (-2, -1),
    *,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
def matrix_power(x: ArrayLike, n: int, /) -> Tensor: ...
def matrix_rank(
    x: ArrayLike,
    /,
    tol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
    atol: ArrayLike | None = None,
) -> Tensor: ...
def matrix_transpose(x: ArrayLike, /) -> Tensor: ...
def multi_dot(tensors: Sequence[ArrayLike]) -> Tensor: ...
@overload
def norm(
    x: ArrayLike,
    /,
    ord: float | str | None = None,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
@overload
def norm(
    x: ArrayLike,
    /,
    ord: float | str | None = None,
    dim: Axes = None,
    *,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def pinv(
    x: ArrayLike,
    /,
    rcond: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
    atol: ArrayLike | None = None,
) -> Tensor: ...
def qr(x: ArrayLike, /, *, mode: str = "reduced") -> QRResult: ...
def slogdet(x: ArrayLike, /) -> SlogdetResult: ...
def solve(x1: ArrayLike, x2: ArrayLike, /, *, left: bool = True) -> Tensor: ...
def solve_ex(A: ArrayLike, B: ArrayLike, *, left: bool = True, check_errors: bool = False) -> SolveExResult: ...
def solve_triangular(
    A: ArrayLike,
    B: ArrayLike,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Tensor: ...
def svd(x: ArrayLike, /, full_matrices: bool = True, *, driver: str | None = None) -> SVDResult: ...
def svdvals(x: ArrayLike, /, *, driver: str | None = None) -> Tensor: ...
@overload
def tensordot(x1: ArrayLike, x2: ArrayLike, /, axes: int | Sequence[int] | Sequence[Sequence[int]] = 2) -> Tensor: ...
@overload
def tensordot(x1: ArrayLike, x2: ArrayLike, /, dims: int | Sequence[int] | Sequence[Sequence[int]] = 2) -> Tensor: ...
def tensorinv(A: ArrayLike, ind: int = 2) -> Tensor: ...
@overload
def tensorsolve(A: ArrayLike, B: ArrayLike, dims: Sequence[int] | None = None) -> Tensor: ...
@overload
def tensorsolve(A: ArrayLike, B: ArrayLike, axes: Sequence[int] | None = None) -> Tensor: ...
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Tensor: ...
def vander(x: ArrayLike, N: int | None = None) -> Tensor: ...
@overload
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Tensor: ...
@overload
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, dim: int = -1) -> Tensor: ...
@overload
def vector_norm(
    x: ArrayLike,
    /,
    ord: float | str = 2,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
@overload
def vector_norm(
    x: ArrayLike,
    /,
    ord: float | str = 2,
    dim: Axes = None,
    *,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
