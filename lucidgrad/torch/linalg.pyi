# Written by `python -m tools.stubs`: what is wrong here is mended there.

from collections.abc import Sequence

from numpy.linalg import LinAlgError as LinAlgError

from lucidgrad.linalg import (
    CholeskyExResult,
    EigResult,
    EighResult,
    InvExResult,
    LDLFactorExResult,
    LUFactorExResult,
    LstsqResult,
    QRResult,
    SVDResult,
    SlogdetResult,
    SolveExResult,
)
from lucidgrad.ops.linalg.factors import LUFactorResult, LUResult
from lucidgrad.ops.linalg.indefinite import LDLFactorResult
from lucidgrad.tensor import Tensor
from lucidgrad.typing import ArrayLike, Axes, DTypeLike

__all__ = [
    "LinAlgError",
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
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

def cholesky(input: ArrayLike, *, upper: bool = False, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def cholesky_ex(
    input: ArrayLike,
    *,
    upper: bool = False,
    check_errors: ArrayLike = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> CholeskyExResult: ...
def cond(input: ArrayLike, p: ArrayLike | None = None, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def cross(
    input: ArrayLike,
    other: ArrayLike,
    *,
    dim: Axes = -1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def det(A: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def diagonal(A: ArrayLike, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor: ...
def eig(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> EigResult: ...
def eigh(input: ArrayLike, UPLO: str = "L", *, out: Tensor | tuple[Tensor, ...] | None = None) -> EighResult: ...
def eigvals(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def eigvalsh(input: ArrayLike, UPLO: str = "L", *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def householder_product(
    input: ArrayLike,
    tau: ArrayLike,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def inv(A: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def inv_ex(
    A: ArrayLike,
    *,
    check_errors: ArrayLike = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> InvExResult: ...
def ldl_factor(
    input: ArrayLike,
    *,
    hermitian: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> LDLFactorResult: ...
def ldl_factor_ex(
    input: ArrayLike,
    *,
    hermitian: bool = False,
    check_errors: ArrayLike = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> LDLFactorExResult: ...
def ldl_solve(
    LD: ArrayLike,
    pivots: ArrayLike,
    B: ArrayLike,
    *,
    hermitian: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def lstsq(
    input: ArrayLike,
    b: ArrayLike,
    rcond: ArrayLike | None = None,
    *,
    driver: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> LstsqResult: ...
def lu(A: ArrayLike, *, pivot: bool = True, out: Tensor | tuple[Tensor, ...] | None = None) -> LUResult: ...
def lu_factor(
    A: ArrayLike,
    *,
    pivot: bool = True,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> LUFactorResult: ...
def lu_factor_ex(
    A: ArrayLike,
    *,
    pivot: bool = True,
    check_errors: ArrayLike = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> LUFactorExResult: ...
def lu_solve(
    LU: ArrayLike,
    pivots: ArrayLike,
    B: ArrayLike,
    *,
    left: bool = True,
    adjoint: ArrayLike = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def matmul(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def matrix_exp(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def matrix_norm(
    input: ArrayLike,
    ord: float | str = "fro",
    dim: Axes = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def matrix_power(input: ArrayLike, n: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def matrix_rank(
    input: ArrayLike,
    tol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def norm(
    input: ArrayLike,
    ord: float | str | None = None,
    dim: Axes = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def pinv(
    input: ArrayLike,
    rcond: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def qr(A: ArrayLike, mode: str = "reduced", *, out: Tensor | tuple[Tensor, ...] | None = None) -> QRResult: ...
def slogdet(A: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> SlogdetResult: ...
def solve(
    A: ArrayLike,
    B: ArrayLike,
    *,
    left: bool = True,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def solve_ex(
    A: ArrayLike,
    B: ArrayLike,
    *,
    left: bool = True,
    check_errors: ArrayLike = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> SolveExResult: ...
def solve_triangular(
    input: ArrayLike,
    B: ArrayLike,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def svd(
    A: ArrayLike,
    full_matrices: bool = True,
    *,
    driver: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> SVDResult: ...
def svdvals(A: ArrayLike, *, driver: str | None = None, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def tensorinv(input: ArrayLike, ind: ArrayLike = 2, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def tensorsolve(
    input: ArrayLike,
    other: ArrayLike,
    dims: int | Sequence[int] | Sequence[Sequence[int]] | Tensor | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def vander(x: ArrayLike, *, N: int | None = None) -> Tensor: ...
def vecdot(x: ArrayLike, y: ArrayLike, *, dim: Axes = -1, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def vector_norm(
    input: ArrayLike,
    ord: float | str = 2,
    dim: Axes = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
