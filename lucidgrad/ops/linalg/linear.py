"""Products with a transposed matrix as one primitive each: a layer, and a rule of `matmul`, is one node of the tape.

`matmul`, `linear` and `across` are closed under differentiation: each rule of one is a call of another.
"""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core.primitive import REDUCTION, primitive
from lucidgrad.levels.batching import through_program
from lucidgrad.levels.layer import run
from lucidgrad.ops.axes import product
from lucidgrad.ops.jvp_rules import bilinear


def _rows(xp: Any, x: Any) -> Any:
    """All vectors along the last axis as rows of one matrix."""
    return x if x.ndim == 2 else xp.reshape(x, shape=(product(x.shape[:-1]), x.shape[-1]))


def _back(xp: Any, g: Any, w: Any) -> Any:
    return xp.matmul(g, w)


def _weights(xp: Any, g: Any, x: Any) -> Any:
    return xp.across(_rows(xp, g), _rows(xp, x))


def _bias(xp: Any, g: Any) -> Any:
    return g if g.ndim == 1 else xp.sum(g, axis=tuple(range(g.ndim - 1)))


def _linear_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    return _through_linear(call, values, batched, keywords) if batched[1] else call(*values)


_through_linear = through_program("linear")


@primitive(REDUCTION, vjp=(_back, _weights), jvp=bilinear("linear"), batch=_linear_batch, precision="low", single=False)
def linear(xp: Any, x: Any, w: Any, /) -> Any:
    """The linear map ``x @ w.T`` of the last axis of x.

    Parameters
    ----------
    x : Tensor
        Of shape (..., inputs).
    w : Tensor
        Of shape (outputs, inputs).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.linalg.linear import linear
    >>> w = lg.ones((1, 2), requires_grad=True)
    >>> linear(lg.asarray([3.0, 4.0]), w).sum().backward()
    >>> w.grad
    tensor([[3., 4.]])
    """
    return xp.matmul(x, xp.matrix_transpose(w))


def _beside(xp: Any, g: Any, x2: Any) -> Any:
    return xp.linear(x2, g)


def _behind(xp: Any, g: Any, x1: Any) -> Any:
    return xp.matmul(x1, g)


def _across_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    return run("matmul", run("matrix_transpose", values[0]), values[1])


@primitive(
    REDUCTION,
    vjp=(_beside, _behind),
    jvp=bilinear("across"),
    batch=_across_batch,
    precision="low",
    single=False,
)
def across(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The product ``x1.T @ x2`` of two matrices: their columns, by all rows.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.linalg.linear import across
    >>> x = lg.tensor([[1.0, 2.0]], requires_grad=True)
    >>> across(x, lg.tensor([[3.0]])).sum().backward()
    >>> x.grad
    tensor([[3., 3.]])
    """
    return xp.matmul(xp.matrix_transpose(x1), x2)


def _affine_jvp(xp: Any, y: Any, xs: Any, ts: Any) -> Any:
    (x, w, _), (dx, dw, db) = xs, ts
    if dx is None and dw is None:
        return xp.zeros_like(y) if db is None else xp.broadcast_to(db, shape=y.shape)
    moved = None if dw is None else xp.linear(x, dw) if db is None else xp.affine(x, dw, db)
    if dx is None:
        return moved
    if moved is None:
        return xp.linear(dx, w) if db is None else xp.affine(dx, w, db)
    return xp.linear(dx, w) + moved


@primitive(
    REDUCTION,
    vjp=(_back, _weights, _bias),
    jvp=_affine_jvp,
    batch=through_program("affine"),
    precision="low",
    single=False,
)
def affine(xp: Any, x: Any, w: Any, b: Any, /) -> Any:
    """The affine map ``x @ w.T + b`` of the last axis of x.

    Parameters
    ----------
    x : Tensor
        Of shape (..., inputs).
    w : Tensor
        Of shape (outputs, inputs).
    b : Tensor
        Of shape (outputs,).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.linalg.linear import affine
    >>> b = lg.ones(1, requires_grad=True)
    >>> affine(lg.ones((3, 2)), lg.ones((1, 2)), b).sum().backward()
    >>> b.grad
    tensor([3.])
    """
    return xp.linear(x, w) + b
