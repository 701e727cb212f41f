"""Slices, diagonals and flat positions written out of place, and elements repeated: PyTorch's names for both."""

from typing import Any

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.extents import check_count
from lucidgrad.ops.axes import axis_of, product
from lucidgrad.ops.shape.arrangement import argwhere
from lucidgrad.ops.shape.diagonals import diagonal
from lucidgrad.ops.shape.joining import repeat
from lucidgrad.ops.shape.layout import broadcast_to, reshape

from .scattering import copy_beside, index_put, scatter_reduce
from .selection import index as part_of, vector
from .taking import take

__all__ = [
    "diagonal_scatter", "index_reduce", "nonzero_static", "put", "repeat_interleave", "select_scatter", "slice_scatter",
]  # fmt: skip


# -- parts written -------------------------------------------------------------------------------
def _embedded(name: str, x: Any, src: Any, part: Any) -> Any:
    """A copy of x in which the part that a function of it gives has the values src."""
    y = copy_beside(x, src)
    place = part(y)
    if tuple(place.shape) != tuple(src.shape):
        raise RuntimeError(f"{name}: given src of shape {tuple(src.shape)}, expected that of the part, {place.shape}")
    place.copy_(src)
    return y


def select_scatter(x: Any, src: Any, dim: int, index: int) -> Any:
    """A copy of x with src as one slice along an axis (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, s = lg.ones((2, 2), requires_grad=True), lg.zeros(2, requires_grad=True)
    >>> y = lg.select_scatter(x, s, 1, 0)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist(), s.grad.tolist()
    ([[0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]], [1.0, 1.0])
    """
    lead = (slice(None),) * axis_of("select_scatter", dim, x.ndim)
    return _embedded("select_scatter", x, src, lambda y: part_of(y, key=(*lead, index)))


def slice_scatter(
    x: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    """A copy of x with src as the slices from a start to before an end along an axis (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(4, requires_grad=True)
    >>> y = lg.slice_scatter(x, lg.zeros(2), start=1, end=3)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0])
    """
    lead = (slice(None),) * axis_of("slice_scatter", dim, x.ndim)
    if step < 1:
        raise RuntimeError(f"slice_scatter: given step={step}, expected at least 1")
    return _embedded("slice_scatter", x, src, lambda y: part_of(y, key=(*lead, slice(start, end, step))))


def diagonal_scatter(x: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A copy of x with src on the diagonals of the matrices in two axes (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros((2, 2), requires_grad=True)
    >>> y = lg.diagonal_scatter(x, lg.ones(2))
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]])
    """
    return _embedded("diagonal_scatter", x, src, lambda y: diagonal(y, offset=offset, axis1=dim1, axis2=dim2))


# -- by flat positions ---------------------------------------------------------------------------
def put(x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """A copy of x with elements of source at positions in the flattened array (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros((2, 2), requires_grad=True)
    >>> y = lg.put(x, lg.asarray([3, 0]), lg.asarray([5.0, 6.0]))
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[6.0, 0.0], [0.0, 5.0]], [[0.0, 1.0], [1.0, 0.0]])
    """
    if product(index.shape) != product(source.shape):
        raise IndexError(
            f"put: given {product(index.shape)} positions and {product(source.shape)} elements, expected as many"
        )
    flat, places, values = (reshape(a, (product(a.shape),)) for a in (x, index, source))
    return reshape(index_put(flat, (places,), values, accumulate), x.shape)


def take_flat(x: Any, index: Any) -> Any:
    """Elements at positions in the flattened array: PyTorch's ``take``, the method of tensors.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> x.take(lg.asarray([3, 0])).sum().backward()
    >>> x.grad.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return take(reshape(x, (product(x.shape),)), index, axis=0)


def index_reduce(x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """A copy of x in which slices of source are reduced with the slices at positions along dim (PyTorch's meaning).

    Parameters
    ----------
    x, dim, index, source
        What to reduce into, along which axis, at which positions, and the slices.
    reduce
        ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``; of these two, ties share the gradient.
    include_self
        Whether the slices of x take part where something falls.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> s = lg.tensor([2.0, 5.0, 3.0], requires_grad=True)
    >>> y = lg.index_reduce(lg.ones(2), 0, lg.asarray([0, 0, 1]), s, "amax")
    >>> y.sum().backward()
    >>> y.tolist(), s.grad.tolist()
    ([5.0, 3.0], [0.0, 1.0, 1.0])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce: given reduce={reduce!r}, expected one of prod, mean, amax, amin")
    if x.ndim == 0:
        whole = (vector(a) for a in (x, index, source))
        x, index, source = whole
        return reshape(index_reduce(x, dim, index, source, reduce, include_self=include_self), ())
    dim = axis_of("index_reduce", dim, x.ndim)
    sizes = (*x.shape[:dim], product(index.shape), *x.shape[dim + 1 :])
    if index.ndim > 1 or tuple(source.shape) != sizes:
        raise IndexError(
            f"index_reduce: given an index of shape {tuple(index.shape)} and a source of shape {tuple(source.shape)}, "
            f"expected one dimension and {sizes}"
        )
    lined = reshape(index, (product(index.shape), *(1,) * (x.ndim - dim - 1)))
    return scatter_reduce(x, dim, broadcast_to(lined, sizes), source, reduce, include_self=include_self)


# -- elements repeated, and counted --------------------------------------------------------------
def repeat_interleave(x: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Any:
    """Each element repeated, in its place (PyTorch's meaning); alone, ``x`` says how often to repeat 0, 1, 2, ...

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> y = lg.repeat_interleave(x, lg.asarray([2, 1]))
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([1.0, 1.0, 2.0], [2.0, 1.0])
    """
    if repeats is None:
        if x.ndim != 1 or "int" not in str(x.dtype):
            raise RuntimeError(
                f"repeat_interleave: given repeats of {x.dtype}, dimension {x.ndim}, expected integers, 1"
            )
        x, repeats = ops.arange(x.shape[0], device=x.device), x
    return repeat(vector(x), repeats, axis=dim)


def nonzero_static(x: Any, *, size: int, fill_value: int = -1) -> Any:
    """The first positions of elements that are not zero, one in each of so many rows (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nonzero_static(lg.asarray([0.0, 1.0, 2.0]), size=3).tolist()
    [[1], [2], [-1]]
    """
    check_count("nonzero_static", "size", size)
    found = argwhere(x)[:size]
    rest = ops.full((size - found.shape[0], x.ndim), fill_value, dtype=found.dtype, device=x.device)
    return ops.concat(found, rest, axis=0)
