"""Linear algebra, with the signatures and meanings of the Array API standard's ``linalg``."""

from typing import Any, NamedTuple

from .ops import diagonals as _diagonals, linalg as _linalg, matrix as _matrix
from .ops.linalg import cross, matmul, outer, tensordot, vecdot
from .ops.matrix import cholesky, det, inv, matrix_power, solve
from .ops.reduction import vector_norm
from .ops.shape import matrix_transpose

__all__ = [
    "SlogdetResult",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "inv",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "outer",
    "slogdet",
    "solve",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


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
