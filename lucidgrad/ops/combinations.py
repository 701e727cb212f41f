"""Matrices of blocks and of indices, and all combinations of elements."""

import itertools
from collections.abc import Sequence
from typing import Any

from lucidgrad.core import dtype as dtypes
from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.extents import check_count

from .axes import product, sizes_of
from .shape.layout import atleast_2d, meshgrid, reshape

__all__ = ["block_diag", "cartesian_prod", "combinations", "tril_indices", "triu_indices", "unravel_index"]


def block_diag(*tensors: Any) -> Any:
    """A matrix with matrices along its diagonal, zeros elsewhere; vectors count as rows (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 2), requires_grad=True)
    >>> y = lg.block_diag(x, lg.full((1, 1), 3.0))
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]], [[1.0, 1.0]])
    """
    if not tensors:
        return ops.zeros((1, 0))
    parts = [atleast_2d(x) for x in tensors]
    for k, x in enumerate(parts):
        if x.ndim != 2:
            raise RuntimeError(f"block_diag: argument {k + 1} has dimension {x.ndim}, expected at most 2")
    dtype = ops.result_type(*parts)
    rows, columns = sum(x.shape[0] for x in parts), sum(x.shape[1] for x in parts)
    made, column = [], 0
    for x in parts:
        height, width = x.shape
        key = (slice(None), slice(column, column + width))
        made.append(ops.put_add(ops.astype(x, dtype=dtype), key=key, shape=(height, columns)))
        column += width
    return ops.concat(*made, axis=0) if rows else ops.zeros((0, columns), dtype=dtype, device=parts[0].device)


def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of the elements of vectors, one in each row; a vector alone stays (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.cartesian_prod(lg.asarray([1, 2]), lg.asarray([3, 4])).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    for k, x in enumerate(tensors):
        if x.ndim != 1:
            raise RuntimeError(f"cartesian_prod: argument {k + 1} has dimension {x.ndim}, expected 1")
    if not tensors:
        raise RuntimeError("cartesian_prod: given no vectors, expected at least one")
    if len(tensors) == 1:
        return ops.asarray(tensors[0])
    return ops.stack(*(reshape(grid, (product(grid.shape),)) for grid in meshgrid(*tensors, indexing="ij")), axis=1)


def combinations(x: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All combinations of r elements of a vector, one in each row, in its order (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> y = lg.combinations(x)
    >>> y[:, 0].sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[1.0, 2.0], [1.0, 3.0], [2.0, 3.0]], [2.0, 1.0, 0.0])
    """
    if x.ndim != 1:
        raise RuntimeError(f"combinations: given an array of dimension {x.ndim}, expected 1")
    check_count("combinations", "r", r)
    if r == 0:
        return ops.zeros((0,), dtype=x.dtype, device=x.device)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(x.shape[0]), r))
    places = ops.asarray(rows, dtype=dtypes.named("int64"), device=x.device)
    return ops.take(x, reshape(places, (len(rows), r)), axis=0)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Any:
    """Rows and columns of a matrix's lower triangle, as two rows (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.tril_indices(2, 2).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """
    return _triangle("tril_indices", row, col, dtype, device, lambda i, j: i + offset >= j)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Any:
    """Rows and columns of a matrix's upper triangle, as two rows (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.triu_indices(2, 2).tolist()
    [[0, 0, 1], [0, 1, 1]]
    """
    return _triangle("triu_indices", row, col, dtype, device, lambda i, j: i + offset <= j)


def _triangle(name: str, row: int, col: int, dtype: Any, device: Any, inside: Any) -> Any:
    rows, columns = (ops.arange(check_count(name, *given), device=device) for given in (("row", row), ("col", col)))
    i, j = meshgrid(rows, columns, indexing="ij")
    found = ops.stack(*ops.nonzero(inside(i, j)), axis=0)
    return found if dtype is None else ops.astype(found, dtype=dtype)


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Positions in a flattened array as positions along each axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> [i.tolist() for i in lg.unravel_index(lg.asarray([1, 5]), (2, 3))]
    [[0, 1], [1, 2]]
    """
    if "int" not in str(indices.dtype):
        raise ValueError(f"unravel_index: given indices of {indices.dtype}, expected integers")
    sizes: Sequence[int] = sizes_of("unravel_index", shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"unravel_index: given shape {sizes}, expected no negative number")
    found = []
    for n in reversed(sizes):
        found.append(ops.remainder(indices, n))
        indices = indices // n
    return tuple(reversed(found))
