"""Which matrices a factorisation fails on, as numbers: nothing is raised, and no device is waited for."""

from typing import Any

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.core.primitive import MATRIX, primitive
from lucidgrad.ops.axes import beside, on_matrices
from lucidgrad.ops.numbers import is_complex

from .matrices import adjoint, need_square


def _first(xp: Any, found: Any) -> Any:
    """The number, from 1, of the first place along the last axis where something holds; 0: nowhere."""
    some = xp.astype(xp.any(found, axis=-1), dtype=xp.int32)
    if not found.shape[-1]:
        return some
    return some * (xp.astype(xp.argmax(xp.astype(found, dtype=xp.int32), axis=-1), dtype=xp.int32) + 1)


def first_zero(x: Any) -> Any:
    """The number of the first zero along the last axis of a tensor, or 0."""
    return _first(ops, x == 0)


@primitive(MATRIX, dtype="float", batch=on_matrices("zero_pivot"))
def zero_pivot(xp: Any, x: Any, /) -> Any:
    """The number of the first zero on the diagonal of U in an LU decomposition, or 0: such matrices are singular.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ops.linalg.checks.zero_pivot(lg.asarray([[1.0, 2.0], [2.0, 4.0]])).item()
    2
    """
    need_square("zero_pivot", x.shape)
    return _first(xp, xp.linalg.diagonal(xp.packed_lu(x, pivot=True)[0]) == 0)


@primitive(MATRIX, dtype="float", batch=on_matrices("failing_minor"))
def failing_minor(xp: Any, x: Any, /) -> Any:
    """The order of the first leading minor that is not positive, or 0: only then is there a Cholesky decomposition.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ops.linalg.checks.failing_minor(lg.asarray([[1.0, 2.0], [2.0, 3.0]])).item()
    2
    """
    need_square("failing_minor", x.shape)
    x = xp.tril(x, k=0) + adjoint(xp, xp.tril(x, k=-1))
    tops = []
    for _ in range(x.shape[-1]):
        top, column = x[..., :1, :1], x[..., 1:, :1]
        size = xp.real(top) if is_complex(x.dtype) else top
        tops.append(~(size[..., 0, :] > 0))  # NaN is not positive
        scaled = column / xp.where(top == 0, xp.ones_like(top), top)
        x = x[..., 1:, 1:] - xp.matmul(scaled, adjoint(xp, column))
    none = xp.zeros((*x.shape[:-2], 0), dtype=xp.bool, **beside(x))
    return _first(xp, xp.concat(none, *tops, axis=-1))
