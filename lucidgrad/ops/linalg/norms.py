"""Norms, and distances by them."""

from typing import Any

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.ops import reduction
from lucidgrad.ops.axes import axis_of
from lucidgrad.ops.elementwise.copies import astype
from lucidgrad.ops.precision import in_precision


@in_precision("full")
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Any:
    """Distances between all rows of x1 and all rows of x2, in the p-norm (PyTorch's meaning).

    Leading axes are batches and broadcast. The gradient is 0 where two rows are equal. Every distance is
    computed from the difference of the rows, whatever the ``compute_mode``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[0.0, 0.0]], requires_grad=True)
    >>> y = lg.cdist(x, lg.asarray([[3.0, 4.0], [0.0, 0.0]]))
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[5.0, 0.0]], [[-0.6, -0.8]])
    """
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"cdist: given shapes {tuple(x1.shape)} and {tuple(x2.shape)}, expected matrices of as many columns"
        )
    if p < 0:
        raise RuntimeError(f"cdist: given p={p}, expected at least 0")
    apart = ops.expand_dims(x1, axis=-2) - ops.expand_dims(x2, axis=-3)
    return reduction.vector_norm(apart, ord=p, axis=-1)


def norm(x: Any, /, p: Any = "fro", axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The p-norm of the elements along axes; ``"fro"`` is 2, ``"nuc"`` sums singular values (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0, -4.0]], requires_grad=True)
    >>> lg.norm(x).backward()
    >>> x.grad.tolist()
    [[0.6, -0.8]]
    """
    x = x if dtype is None else astype(x, dtype=dtype)
    if p == "nuc":
        pair = tuple(axis) if axis is not None else (0, 1)
        if len(pair) != 2 or x.ndim < 2 or (axis is None and x.ndim != 2):
            raise RuntimeError(f"norm: given p='nuc', axis={axis} and dimension {x.ndim}, expected two axes")
        matrices = ops.moveaxis(x, source=pair, destination=(-2, -1))
        y = reduction.sum(ops.linalg.svdvals(matrices), axis=-1)
        first, last = sorted(axis_of("norm", a, x.ndim) for a in pair)
        return ops.expand_dims(ops.expand_dims(y, axis=first), axis=last) if keepdims else y
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm: given p={p!r}, expected a number, 'fro' or 'nuc'")
    axis = tuple(axis) if isinstance(axis, list) else axis
    return reduction.vector_norm(x, ord=2 if p == "fro" or p is None else p, axis=axis, keepdims=keepdims)
