"""Linear algebra, as `numpy.linalg` has it."""

from collections.abc import Callable
from typing import Any

import lucidgrad as lg

from .entrance import (
    TABLE,
    UNSET,
    Array,
    Arrays,
    DType,
    Operand,
    Refused,
    cast,
    library,
    numpy_function,
    numpy_functions,
    readable,
    values_of,
)

_la = lg.linalg


def _real(x: Any) -> Any:
    """Integers as float64: decompositions have no others."""
    return x if x.dtype.kind in "fc" else cast(x, lg.float64)


def _eigvals(a: Any) -> Any:
    values = _la.eigvals(a)
    return lg.real(values) if _all_real(a, values) else values


def _eig(a: Any) -> Any:
    found = _la.eig(a)
    return _la.EigResult(*map(lg.real, found)) if _all_real(a, found.eigenvalues) else found


def _all_real(a: Any, values: Any) -> bool:
    """Whether eigenvalues are real, as NumPy asks; inside a transform nobody knows, and they stay complex."""
    return a.dtype.kind == "f" and readable(values) and not library().any(values_of(values).imag)


@numpy_functions("linalg", det=_la.det, inv=_la.inv, eig=_eig, eigvals=_eigvals, slogdet=_la.slogdet)
def _of_one(compute: Callable[..., Any], a: Array) -> Any:
    return compute(_real(a))


@numpy_functions("linalg", eigh=_la.eigh, eigvalsh=_la.eigvalsh)
def _hermitian(compute: Callable[..., Any], a: Array, UPLO: str = "L") -> Any:
    return compute(_real(a), UPLO=UPLO)


@numpy_function("linalg")
def cholesky(a: Array, /, *, upper: bool = False) -> Any:
    """The triangular factor of a positive definite matrix."""
    return _la.cholesky(_real(a), upper=bool(upper))


@numpy_function("linalg")
def qr(a: Array, mode: str = "reduced") -> Any:
    """An orthogonal and a triangular factor; of mode ``"r"`` the latter alone."""
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"given mode={mode!r}, expected 'reduced', 'complete' or 'r'")
    found = _la.qr(_real(a), mode=mode)
    return found.R if mode == "r" else found


@numpy_function("linalg")
def svd(a: Array, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular values and vectors."""
    return _la.svd(_real(a), full_matrices=bool(full_matrices)) if compute_uv else _la.svdvals(_real(a))


@numpy_function("linalg")
def svdvals(x: Array, /) -> Any:
    """Singular values."""
    return _la.svdvals(_real(x))


@numpy_function("linalg")
def solve(a: Array, b: Array) -> Any:
    """The solution of linear equations."""
    return _la.solve(_real(a), _real(b))


@numpy_function("linalg")
def lstsq(a: Array, b: Array, rcond: Any = None) -> Any:
    """The solution of linear equations by least squares: it, the residuals, the rank, the singular values."""
    x, residuals, rank, values = _la.lstsq(_real(a), _real(b), rcond)
    return x, residuals, cast(rank, lg.int32), values


@numpy_function("linalg")
def pinv(a: Array, rcond: Operand = None, hermitian: bool = False, *, rtol: Operand = UNSET) -> Any:
    """The pseudoinverse."""
    if rcond is not None and rtol is not UNSET:
        raise ValueError("given rcond and rtol, expected one of them: they mean the same")
    if rcond is None and rtol is UNSET:
        rcond = 1e-15  # the standard's, which depends on the shape, is rtol=None
    return _la.pinv(_real(a), rcond if rtol is UNSET else rtol, bool(hermitian))


@numpy_function("linalg")
def matrix_rank(A: Array, tol: Operand = None, hermitian: bool = False, *, rtol: Operand = None) -> Any:
    """How many singular values count as more than zero."""
    if A.ndim < 2:
        return cast(lg.any(A != 0), lg.int64)
    return _la.matrix_rank(_real(A), tol, bool(hermitian), rtol=rtol)


@numpy_function("linalg")
def matrix_power(a: Array, n: int) -> Any:
    """A matrix multiplied with itself so many times."""
    return _la.matrix_power(_real(a) if n < 0 else a, n)


@numpy_function("linalg")
def cond(x: Array, p: Any = None) -> Any:
    """How much errors in a matrix grow when equations are solved."""
    return _la.cond(_real(x), p)


@numpy_function("linalg")
def norm(x: Array, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors or matrices; of all elements where nothing is said."""
    axis = tuple(axis) if isinstance(axis, list) else axis
    return _la.norm(_real(x), ord, axis, bool(keepdims))


@numpy_function("linalg")
def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices."""
    return _la.matrix_norm(_real(x), ord=ord, keepdims=bool(keepdims))


@numpy_function("linalg")
def vector_norm(x: Array, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors."""
    return _la.vector_norm(_real(x), axis=axis, keepdims=bool(keepdims), ord=ord)


@numpy_function("linalg")
def multi_dot(arrays: Arrays, *, out: Refused = None) -> Any:
    """The product of several matrices, in the order that costs least."""
    return _la.multi_dot(arrays)


@numpy_function("linalg")
def tensorinv(a: Array, ind: int = 2) -> Any:
    """The inverse of an array as a linear map."""
    return _la.tensorinv(_real(a), ind)


@numpy_function("linalg")
def tensorsolve(a: Array, b: Array, axes: Any = None) -> Any:
    """The solution of linear equations between arrays."""
    return _la.tensorsolve(_real(a), _real(b), axes=axes)


@numpy_functions("linalg", matmul=lg.matmul, outer=_la.outer)
def _products(compute: Callable[..., Any], x1: Array, x2: Array, /) -> Any:
    return compute(x1, x2)


@numpy_functions("linalg", cross=_la.cross, vecdot=lg.vecdot)
def _products_along(compute: Callable[..., Any], x1: Array, x2: Array, /, *, axis: int = -1) -> Any:
    return compute(x1, x2, axis=axis)


@numpy_function("linalg")
def tensordot(x1: Array, x2: Array, /, *, axes: Any = 2) -> Any:
    """The sum of products along axes of both."""
    return TABLE["", "tensordot"](x1, x2, axes)


@numpy_function("linalg")
def matrix_transpose(x: Array, /) -> Any:
    """Matrices with rows and columns swapped."""
    return lg.matrix_transpose(x)


@numpy_function("linalg")
def diagonal(x: Array, /, *, offset: int = 0) -> Any:
    """A diagonal of matrices."""
    return _la.diagonal(x, offset=offset)


@numpy_function("linalg")
def trace(x: Array, /, *, offset: int = 0, dtype: DType = None) -> Any:
    """The sum of a diagonal of matrices."""
    return _la.trace(x, offset=offset, dtype=dtype)


LinAlgError = library().linalg.LinAlgError
__all__ = ["LinAlgError", *(name for place, name in TABLE if place == "linalg")]
globals().update({name: found for (place, name), found in TABLE.items() if place == "linalg"})
