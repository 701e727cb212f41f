"""The methods of `Tensor` that are linear algebra or spectra: PyTorch's root functions, loaded when first called."""

from typing import Any

from lucidgrad.core.engine import tape_namespace
from lucidgrad.ops.linalg import products

from .inplace import _written_back


def _root() -> Any:
    return tape_namespace.public


class Matrices:
    """Methods that are functions of matrices, or of signals; those of the root refuse what they can't do."""

    __slots__ = ()

    # -- sums with products, each also in place
    def addbmm(self, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        """The sum with the sum of products of matrices (`lucidgrad.addbmm`)."""
        return _root().addbmm(self, batch1, batch2, beta=beta, alpha=alpha)

    def addmv(self, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        """The sum with a matrix by a vector (`lucidgrad.addmv`)."""
        return _root().addmv(self, mat, vec, beta=beta, alpha=alpha)

    def addr(self, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        """The sum with all products of elements of two vectors (`lucidgrad.addr`)."""
        return _root().addr(self, vec1, vec2, beta=beta, alpha=alpha)

    def ger(self, vec2: Any) -> Any:
        """All products with an element of another vector (`lucidgrad.ger`)."""
        return _root().ger(self, vec2)

    def renorm(self, p: float, dim: int, maxnorm: float) -> Any:
        """The slices along an axis, long ones shortened (`lucidgrad.renorm`)."""
        return _root().renorm(self, p, dim, maxnorm)

    addbmm_, addmv_, addr_, renorm_ = map(_written_back, (addbmm, addmv, addr, renorm))
    addmm_, baddbmm_ = map(_written_back, (products.addmm, products.baddbmm))

    # -- determinants and inverses
    def det(self) -> Any:
        """Determinants (`lucidgrad.linalg.det`)."""
        return _root().det(self)

    def logdet(self) -> Any:
        """The logarithm of determinants (`lucidgrad.logdet`)."""
        return _root().logdet(self)

    def slogdet(self) -> Any:
        """Determinants as a sign and the logarithm of the modulus (`lucidgrad.linalg.slogdet`)."""
        return _root().slogdet(self)

    def inverse(self) -> Any:
        """Inverse matrices (`lucidgrad.linalg.inv`)."""
        return _root().inverse(self)

    def pinverse(self, rcond: Any = 1e-15) -> Any:
        """Pseudo-inverses (`lucidgrad.pinverse`)."""
        return _root().pinverse(self, rcond)

    def matrix_power(self, n: int) -> Any:
        """Products of matrices with themselves (`lucidgrad.linalg.matrix_power`)."""
        return _root().matrix_power(self, n)

    def matrix_exp(self) -> Any:
        """The exponential of matrices (`lucidgrad.linalg.matrix_exp`)."""
        return _root().matrix_exp(self)

    # -- decompositions
    def cholesky(self, upper: bool = False) -> Any:
        """Cholesky's triangle (`lucidgrad.linalg.cholesky`)."""
        return _root().cholesky(self, upper=upper)

    def cholesky_solve(self, L: Any, upper: bool = False) -> Any:
        """Solutions with this right side, by Cholesky's triangle (`lucidgrad.cholesky_solve`)."""
        return _root().cholesky_solve(self, L, upper)

    def cholesky_inverse(self, upper: bool = False) -> Any:
        """The inverse of what this is Cholesky's triangle of (`lucidgrad.cholesky_inverse`)."""
        return _root().cholesky_inverse(self, upper)

    def qr(self, some: bool = True) -> Any:
        """Orthonormal columns and an upper triangle (`lucidgrad.qr`)."""
        return _root().qr(self, some)

    def svd(self, some: bool = True, compute_uv: bool = True) -> Any:
        """Singular value decomposition (`lucidgrad.svd`)."""
        return _root().svd(self, some, compute_uv)

    def geqrf(self) -> Any:
        """LAPACK's QR decomposition (`lucidgrad.geqrf`)."""
        return _root().geqrf(self)

    def orgqr(self, tau: Any) -> Any:
        """The first columns of a product of reflections (`lucidgrad.linalg.householder_product`)."""
        return _root().orgqr(self, tau)

    def ormqr(self, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
        """A product of reflections times a matrix (`lucidgrad.ormqr`)."""
        return _root().ormqr(self, tau, other, left, transpose)

    def lu(self, pivot: bool = True, get_infos: bool = False) -> Any:
        """The packed LU decomposition and its pivots (`lucidgrad.lu`)."""
        return _root().lu(self, pivot, get_infos)

    def lu_solve(self, LU_data: Any, LU_pivots: Any) -> Any:
        """Solutions with this right side, by the packed LU decomposition (`lucidgrad.lu_solve`)."""
        return _root().lu_solve(self, LU_data, LU_pivots)

    def triangular_solve(self, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
        """Solutions with this right side, by a triangle (`lucidgrad.triangular_solve`)."""
        return _root().triangular_solve(self, A, upper, transpose, unitriangular)

    # -- spectra
    def stft(
        self,
        n_fft: int,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Any = None,
        center: bool = True,
        pad_mode: str = "reflect",
        normalized: bool = False,
        onesided: bool | None = None,
        return_complex: bool | None = None,
        align_to_window: bool | None = None,
    ) -> Any:
        """Short-time Fourier transforms (`lucidgrad.stft`)."""
        return _root().stft(
            self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex,
            align_to_window,
        )  # fmt: skip

    def istft(
        self,
        n_fft: int,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Any = None,
        center: bool = True,
        normalized: bool = False,
        onesided: bool | None = None,
        length: int | None = None,
        return_complex: bool = False,
    ) -> Any:
        """The signal of a short-time Fourier transform (`lucidgrad.istft`)."""
        return _root().istft(
            self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex
        )
