# Written by `python -m tools.stubs`: what is wrong here is mended there.

from collections.abc import Sequence
from typing import NamedTuple, overload

from lucidgrad.tensor import Tensor
from lucidgrad.typing import ArrayLike, Axes, DTypeLike

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

class EigResult(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class EighResult(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

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

def cholesky(x: ArrayLike, /, *, upper: bool = False) -> Tensor: ...
def cond(x: ArrayLike, /, p: float | str | None = None) -> Tensor: ...
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1, dim: int | None = None) -> Tensor: ...
def det(x: ArrayLike, /) -> Tensor: ...
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Tensor: ...
def eig(x: ArrayLike, /) -> EigResult: ...
def eigh(x: ArrayLike, /) -> EighResult: ...
def eigvals(x: ArrayLike, /) -> Tensor: ...
def eigvalsh(x: ArrayLike, /) -> Tensor: ...
def inv(x: ArrayLike, /) -> Tensor: ...
def lstsq(a: ArrayLike, b: ArrayLike, rcond: ArrayLike | None = None) -> LstsqResult: ...
def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: float | str = "fro") -> Tensor: ...
def matrix_power(x: ArrayLike, n: int, /) -> Tensor: ...
def matrix_rank(x: ArrayLike, /, *, rtol: ArrayLike | None = None) -> Tensor: ...
def matrix_transpose(x: ArrayLike, /) -> Tensor: ...
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def pinv(x: ArrayLike, /, *, rtol: ArrayLike | None = None) -> Tensor: ...
def qr(x: ArrayLike, /, *, mode: str = "reduced") -> QRResult: ...
def slogdet(x: ArrayLike, /) -> SlogdetResult: ...
def solve(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def svd(x: ArrayLike, /, *, full_matrices: bool = True) -> SVDResult: ...
def svdvals(x: ArrayLike, /) -> Tensor: ...
def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    dims: int | Sequence[int] | Sequence[Sequence[int]] | None = None,
) -> Tensor: ...
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Tensor: ...
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1, dim: int | None = None) -> Tensor: ...
@overload
def vector_norm(x: ArrayLike, /, ord: float = 2, axis: Axes = None, keepdims: bool = False) -> Tensor: ...
@overload
def vector_norm(x: ArrayLike, /, ord: float = 2, dim: Axes = None, *, keepdim: bool = False) -> Tensor: ...
