"""Methods of `Tensor` for gradients of lookups with ``sparse=True``, which hold some rows and where they are."""

from typing import Any

from lucidgrad.core.box import Box
from lucidgrad.core.dispatch import box


def _need_sparse(name: str, x: Any, coalesced: bool = False) -> Any:
    if not x.is_sparse:
        raise RuntimeError(f"{name} expected a row-sparse tensor, as gradients of embeddings with sparse=True are")
    if coalesced and not x.array.coalesced:
        raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
    return x.array


def to_dense(x: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    """The whole of a row-sparse tensor; another one is itself.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.ones((3, 1), requires_grad=True)
    >>> lg.nn.functional.embedding(lg.tensor([2, 0, 2]), w, sparse=True).sum().backward()
    >>> w.grad.to_dense().tolist()
    [[1.0], [0.0], [2.0]]
    """
    if isinstance(dtype, Box):
        raise TypeError("to_dense: given a tensor as dtype, expected a dtype, as x.dtype is one")
    made = box(x.array.dense()) if x.is_sparse else x
    return made if dtype is None else made.to(dtype)


def coalesce(x: Any) -> Any:
    """The same row-sparse tensor with each row once, in order. On CUDA this waits for the number of rows.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.ones((3, 1), requires_grad=True)
    >>> lg.nn.functional.embedding(lg.tensor([2, 0, 2]), w, sparse=True).sum().backward()
    >>> g = w.grad.coalesce()
    >>> g.indices(), g.values().tolist()
    (tensor([[0, 2]]), [[1.0], [2.0]])
    """
    found = _need_sparse("coalesce", x).once()
    return x if found is x.array else box(found)


def is_coalesced(x: Any) -> bool:
    """Whether each row of a row-sparse tensor is there once, in order.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.ones((3, 1), requires_grad=True)
    >>> lg.nn.functional.embedding(lg.tensor([2, 0, 2]), w, sparse=True).sum().backward()
    >>> w.grad.is_coalesced(), w.grad.coalesce().is_coalesced()
    (False, True)
    """
    return bool(_need_sparse("is_coalesced", x).coalesced)


def indices(x: Any) -> Any:
    """Which rows a coalesced row-sparse tensor holds, of shape ``(1, rows)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.ones((3, 1), requires_grad=True)
    >>> lg.nn.functional.embedding(lg.tensor([2, 0, 2]), w, sparse=True).sum().backward()
    >>> w.grad.coalesce().indices()
    tensor([[0, 2]])
    """
    return box(_need_sparse("indices", x, coalesced=True).indices.reshape((1, -1)))


def values(x: Any) -> Any:
    """The rows that a coalesced row-sparse tensor holds, in the memory that it has.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.ones((3, 1), requires_grad=True)
    >>> lg.nn.functional.embedding(lg.tensor([2, 0, 2]), w, sparse=True).sum().backward()
    >>> w.grad.coalesce().values().tolist()
    [[1.0], [2.0]]
    """
    return box(_need_sparse("values", x, coalesced=True).values)


def _indices(x: Any) -> Any:
    """The same of one that need not be coalesced; on CUDA, -1 stands for no row."""
    return box(_need_sparse("_indices", x).indices.reshape((1, -1)))


def _values(x: Any) -> Any:
    return box(_need_sparse("_values", x).values)


def _nnz(x: Any) -> int:
    return int(_need_sparse("_nnz", x).indices.size)


def sparse_dim(x: Any) -> int:
    """How many axes indices speak of: 1 of a row-sparse tensor, 0 of a dense one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones((3, 2)).sparse_dim()
    0
    """
    return int(x.is_sparse)


def dense_dim(x: Any) -> int:
    """How many axes a row has; all of a dense tensor.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones((3, 2)).dense_dim()
    2
    """
    return int(x.ndim) - sparse_dim(x)
