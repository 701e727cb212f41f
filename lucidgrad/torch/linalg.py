"""PyTorch's linear algebra: lucidgrad's, with PyTorch's arguments."""

from typing import Any

from lucidgrad.linalg import LinAlgError as LinAlgError

from .making import Table

_TABLE = Table(
    __name__,
    """
det inv slogdet: (A, *, out=None)
    = lg.linalg.@(A)
eig eigvals matrix_exp: (input, *, out=None)
    = lg.linalg.@(input)
eigh eigvalsh: (input, UPLO='L', *, out=None)
    = lg.linalg.@(input, UPLO)
cholesky: (input, *, upper=False, out=None)
    = lg.linalg.cholesky(input, upper)
cholesky_ex: (input, *, upper=False, check_errors=False, out=None)
    = lg.linalg.cholesky_ex(input, upper=upper, check_errors=check_errors)
inv_ex: (A, *, check_errors=False, out=None)
    = lg.linalg.inv_ex(A, check_errors=check_errors)
cond: (input, p=None, *, out=None)
    = lg.linalg.cond(input, p)
cross: (input, other, *, dim=-1, out=None)
    = lg.linalg.cross(input, other, axis=dim)
vecdot: (x, y, *, dim=-1, out=None)
    = lg.linalg.vecdot(x, y, axis=dim)
matmul: (input, other, *, out=None)
    = lg.matmul(input, other)
diagonal: (A, *, offset=0, dim1=-2, dim2=-1)
    = lg.linalg.diagonal(A, offset=offset, dim1=dim1, dim2=dim2)
householder_product: (input, tau, *, out=None)
    = lg.linalg.householder_product(input, tau)
ldl_factor: (input, *, hermitian=False, out=None)
    = lg.linalg.ldl_factor(input, hermitian=hermitian)
ldl_factor_ex: (input, *, hermitian=False, check_errors=False, out=None)
    = lg.linalg.ldl_factor_ex(input, hermitian=hermitian, check_errors=check_errors)
ldl_solve: (LD, pivots, B, *, hermitian=False, out=None)
    = lg.linalg.ldl_solve(LD, pivots, B, hermitian=hermitian)
lstsq: (input, b, rcond=None, *, driver=None, out=None)
    = own.lstsq(input, b, rcond, driver)
lu lu_factor: (A, *, pivot=True, out=None)
    = lg.linalg.@(A, pivot=pivot)
lu_factor_ex: (A, *, pivot=True, check_errors=False, out=None)
    = lg.linalg.lu_factor_ex(A, pivot=pivot, check_errors=check_errors)
lu_solve: (LU, pivots, B, *, left=True, adjoint=False, out=None)
    = lg.linalg.lu_solve(LU, pivots, B, left=left, adjoint=adjoint)
matrix_norm: (input, ord='fro', dim=(-2, -1), keepdim=False, *, dtype=None, out=None)
    = lg.linalg.matrix_norm(input, ord, dim, keepdim, dtype=dtype)
vector_norm: (input, ord=2, dim=None, keepdim=False, *, dtype=None, out=None)
    = lg.linalg.vector_norm(input, ord, dim, keepdim, dtype=dtype)
norm: (input, ord=None, dim=None, keepdim=False, *, dtype=None, out=None)
    = lg.linalg.norm(input, ord, dim, keepdim, dtype=dtype)
matrix_power: (input, n, *, out=None)
    = lg.linalg.matrix_power(input, n)
matrix_rank: (input, tol=None, hermitian=False, *, atol=None, rtol=None, out=None)
    = lg.linalg.matrix_rank(input, tol, hermitian, rtol=rtol, atol=atol)
pinv: (input, rcond=None, hermitian=False, *, atol=None, rtol=None, out=None)
    = lg.linalg.pinv(input, rcond, hermitian, rtol=rtol, atol=atol)
multi_dot: (tensors, *, out=None)
    = lg.linalg.multi_dot(tensors)
qr: (A, mode='reduced', *, out=None)
    = lg.linalg.qr(A, mode=mode)
solve: (A, B, *, left=True, out=None)
    = own.solve(A, B, left)
solve_ex: (A, B, *, left=True, check_errors=False, out=None)
    = lg.linalg.solve_ex(A, B, left=left, check_errors=check_errors)
solve_triangular: (input, B, *, upper, left=True, unitriangular=False, out=None)
    = lg.linalg.solve_triangular(input, B, upper=upper, left=left, unitriangular=unitriangular)
svd: (A, full_matrices=True, *, driver=None, out=None)
    = lg.linalg.svd(A, full_matrices, driver=driver)
svdvals: (A, *, driver=None, out=None)
    = lg.linalg.svdvals(A, driver=driver)
tensorinv: (input, ind=2, *, out=None)
    = lg.linalg.tensorinv(input, ind)
tensorsolve: (input, other, dims=None, *, out=None)
    = lg.linalg.tensorsolve(input, other, dims)
vander: (x, *, N=None)
    = lg.linalg.vander(x, N)
""",
)

__all__ = ["LinAlgError", *_TABLE.names]


def __getattr__(name: str) -> Any:
    """A function when it is first asked for."""
    return _TABLE.find(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
