"""PyTorch's older functions of matrices, which are names of its root; `linalg` has their successors."""

from typing import TYPE_CHECKING, Any, NamedTuple

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.ops.axes import axis_of
from lucidgrad.ops.numbers import is_complex
from lucidgrad.ops.precision import in_precision
from lucidgrad.ops.reduction import vector_norm

from . import factors
from .factors import householder_product as orgqr
from .matrices import adjoint, inv as inverse

if TYPE_CHECKING:
    from lucidgrad.tensor import Tensor

__all__ = ["inverse", "logdet", "lu", "lu_solve", "orgqr", "pinverse", "qr", "renorm", "svd"]


def logdet(input: Any) -> Any:
    """The logarithm of determinants: NaN where one is negative, -inf where it is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 1.0], [2.0, 4.0]], requires_grad=True)
    >>> lg.logdet(x).backward()
    >>> x.grad.tolist()
    [[2.0, -1.0], [-0.5, 0.5]]
    """
    sign, size = ops.linalg.slogdet(input)
    if is_complex(sign.dtype):
        return size + 1j * ops.angle(sign)
    return ops.where(sign < 0, float("nan"), size)


def pinverse(input: Any, rcond: Any = 1e-15) -> Any:
    """Pseudo-inverses: `linalg.pinv`, whose ``rtol`` is ``rcond``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.pinverse(lg.asarray([[2.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    return ops.linalg.pinv(input, rcond)


class USVResult(NamedTuple):
    """What `svd` gives: left vectors in columns, singular values, and right vectors in columns."""

    U: "Tensor"
    S: "Tensor"
    V: "Tensor"


def svd(input: Any, some: bool = True, compute_uv: bool = True) -> USVResult:
    """Singular value decomposition ``input = U diag(S) Vᴴ``; not some: U and V are square.

    The right vectors are columns of V, whereas `linalg.svd` has them as rows. Not ``compute_uv``: U and V are zeros.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0, 0.0], [0.0, 2.0]], requires_grad=True)
    >>> lg.svd(x).S[0].backward()
    >>> x.grad.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    if not compute_uv:
        s = ops.linalg.svdvals(input)
        sides = [ops.zeros((*input.shape[:-2], n, n), dtype=input.dtype, device=input.device) for n in input.shape[-2:]]
        return USVResult(sides[0], s, sides[1])
    u, s, vh = ops.linalg.svd(input, full_matrices=not some)
    return USVResult(u, s, adjoint(ops, vh))


def qr(input: Any, some: bool = True) -> Any:
    """Orthonormal columns Q and an upper triangle R with ``input = Q R``; not some: Q is square.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    >>> (lg.qr(x).R ** 2).sum().backward()
    >>> x.grad.tolist()
    [[4.0, 0.0], [0.0, 6.0]]
    """
    return ops.linalg.qr(input, mode="reduced" if some else "complete")


def lu(A: Any, pivot: bool = True, get_infos: bool = False) -> Any:
    """The packed LU decomposition and its pivots; ``get_infos``: also which matrices are singular.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> LU, pivots = lg.lu(lg.asarray([[1.0, 2.0], [4.0, 4.0]]))
    >>> LU.tolist(), pivots.tolist()
    ([[4.0, 4.0], [0.25, 1.0]], [2, 2])
    """
    found = ops.linalg.lu_factor_ex(A, pivot=pivot)
    return tuple(found) if get_infos else (found.LU, found.pivots)


def lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """Solutions of ``A X = b`` by what `lu` gives of A; `linalg.lu_solve` takes b last.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> b = lg.ones((2, 1), requires_grad=True)
    >>> lg.lu_solve(b, *lg.lu(lg.asarray([[2.0, 0.0], [0.0, 4.0]]))).sum().backward()
    >>> b.grad.tolist()
    [[0.5], [0.25]]
    """
    return factors.lu_solve(LU_data, LU_pivots, b)


@in_precision("full")
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """The slices along an axis, those whose p-norm is larger than ``maxnorm`` shortened to it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0, 4.0], [0.3, 0.4]], requires_grad=True)
    >>> y = lg.renorm(x, 2, 0, 1.0)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[0.6, 0.8], [0.3, 0.4]], [[0.032, -0.024], [1.0, 1.0]])
    """
    if not p > 0:
        raise RuntimeError(f"renorm: given p={p}, expected more than 0")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: given maxnorm={maxnorm}, expected at least 0")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: given a tensor of dimension {input.ndim}, expected at least 2")
    along = axis_of("renorm", dim, input.ndim)
    others = tuple(a for a in range(input.ndim) if a != along)
    sizes = vector_norm(input, ord=p, axis=others, keepdims=True)
    return input * ops.where(sizes > maxnorm, maxnorm / (sizes + 1e-7), 1.0)
