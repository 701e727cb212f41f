"""Summaries of arrays: extremes, runs of equal elements, histograms in several dimensions, distances and slopes."""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core import dtype as dtypes
from lucidgrad.core.engine import tape_namespace as ops

from . import reduction
from .axes import axes_of, axis_of, part, product
from .combinations import triu_indices
from .conventions import MinAndMax
from .counting import bin_edges, bin_places
from .indexing.taking import take, take_put
from .numbers import inexact
from .precision import in_precision, rounded_once
from .shape.layout import reshape
from .sorting import sort

__all__ = [
    "aminmax", "dist", "gradient", "histogramdd", "msort", "pdist",
    "unique_consecutive",
]  # fmt: skip


# -- extremes and order --------------------------------------------------------------------------
def aminmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> MinAndMax:
    """The smallest and the largest value along an axis, or of all; ties share the gradient (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([3.0, 1.0, 2.0], requires_grad=True)
    >>> low, high = lg.aminmax(x)
    >>> (high - low).backward()
    >>> x.grad.tolist()
    [1.0, -1.0, 0.0]
    """
    return MinAndMax(*(f(x, axis=axis, keepdims=keepdims) for f in (reduction.min, reduction.max)))


def msort(x: Any, /) -> Any:
    """Sorted along the first axis (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.msort(lg.asarray([[2.0, 1.0], [1.0, 3.0]])).tolist()
    [[1.0, 1.0], [2.0, 3.0]]
    """
    return sort(x, axis=0)


# -- runs of equal elements ----------------------------------------------------------------------
def unique_consecutive(
    x: Any, /, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None
) -> Any:
    """The first of each run of equal elements, or of equal slices along an axis (PyTorch's meaning).

    Parameters
    ----------
    x
        An array; it is flattened unless there is an axis.
    return_inverse, return_counts
        Whether to return also which run each element belongs to, and how long each is.
    axis
        The axis whose slices are compared.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 1.0, 2.0, 1.0], requires_grad=True)
    >>> values, counts = lg.unique_consecutive(x, return_counts=True)
    >>> values.sum().backward()
    >>> values.tolist(), counts.tolist(), x.grad.tolist()
    ([1.0, 2.0, 1.0], [2, 1, 1], [1.0, 0.0, 1.0, 1.0])
    """
    shape = tuple(x.shape)
    along = 0 if axis is None else axis_of("unique_consecutive", axis, x.ndim)
    x = reshape(x, (product(shape),)) if axis is None else x
    n = x.shape[along]
    rows = reshape(ops.moveaxis(x, source=along, destination=0), (n, product(x.shape) // n if n else 0))
    new = ops.concat(
        ops.ones((min(n, 1),), dtype=dtypes.named("bool"), device=x.device),
        ops.any(rows[1:] != rows[:-1], axis=1),
        axis=0,
    )
    (first,) = ops.nonzero(new)
    run = ops.cumulative_sum(ops.astype(new, dtype=dtypes.named("int64")), axis=0) - 1
    found = [take(x, first, axis=along)]
    if return_inverse:
        found.append(reshape(run, shape) if axis is None else run)
    if return_counts:
        found.append(take_put(ops.ones_like(run), run, axis=0, size=first.shape[0]))
    return tuple(found) if len(found) > 1 else found[0]


# -- histograms ----------------------------------------------------------------------------------
def histogramdd(
    x: Any,
    /,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
    *,
    weight: Any = None,
) -> tuple[Any, tuple[Any, ...]]:
    """How many points, or what weight, each cell of a grid has, and the edges along each axis.

    Parameters
    ----------
    x
        Points: the last axis has their coordinates.
    bins
        The number of bins along all axes, along each, or the rising edges along each.
    range
        Where the bins begin and end: a pair for each axis, or all these numbers one after the other.
    density
        Whether to divide by the total and by the volumes of the cells.
    weights, weight
        What each point counts: a tensor of the shape of x without its last axis. The result is differentiable with
        respect to it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> points = lg.asarray([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> counts, edges = lg.histogramdd(points, 2)
    >>> counts.tolist(), edges[0].tolist()
    ([[0.0, 1.0], [1.0, 1.0]], [0.0, 0.5, 1.0])
    """
    weights = weights if weight is None else weight
    if x.ndim < 2:
        raise RuntimeError(f"histogramdd: given an array of dimension {x.ndim}, expected at least 2")
    count = x.shape[-1]
    lead = tuple(x.shape[:-1])
    if weights is not None and tuple(weights.shape) != lead:
        raise RuntimeError(f"histogramdd: given weights of shape {tuple(weights.shape)}, expected {lead}")
    points = reshape(x, (product(lead), count))
    pairs = _pairs(range, count)
    each = [bins] * count if isinstance(bins, int) else list(bins)
    if len(each) != count:
        raise RuntimeError(f"histogramdd: given {len(each)} bins, expected one number, or {count}")
    cells: Any = 0
    inside: Any = True
    edges = []
    for k, (how, ends) in enumerate(zip(each, pairs, strict=True)):
        column = points[:, k]
        made = bin_edges("histogramdd", column, how, ends)
        place, n = bin_places(column, made), made.shape[0] - 1
        cells, inside = cells * n + place, inside & (place < n)
        edges.append(made)
    sizes = tuple(e.shape[0] - 1 for e in edges)
    total = product(sizes)
    given = ops.ones(points.shape[0], dtype=inexact(x).dtype, device=x.device) if weights is None else weights
    counts = take_put(
        reshape(inexact(given), (points.shape[0],)), ops.where(inside, cells, total), axis=0, size=total + 1
    )
    counts = reshape(counts[:-1], sizes)
    if density:
        counts = counts / ops.sum(counts)
        for k, e in enumerate(edges):
            counts = counts / reshape(e[1:] - e[:-1], (-1, *(1,) * (count - k - 1)))
    return counts, tuple(edges)


def _pairs(range: Any, count: int) -> Sequence[Any]:
    if range is None:
        return [None] * count
    flat = [v for part in range for v in (part if isinstance(part, (tuple, list)) else (part,))]
    if len(flat) != 2 * count:
        raise RuntimeError(f"histogramdd: given a range of {len(flat)} numbers, expected {2 * count}")
    return list(zip(flat[::2], flat[1::2], strict=True))


# -- distances -----------------------------------------------------------------------------------
def dist(x: Any, other: Any, p: float = 2) -> Any:
    """The p-norm of a difference (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([3.0, 4.0], requires_grad=True)
    >>> lg.dist(x, lg.zeros(2)).backward()
    >>> x.grad.tolist()
    [0.6, 0.8]
    """
    return reduction.vector_norm(x - other, ord=p)


@in_precision("full")
def pdist(input: Any, p: float = 2.0) -> Any:
    """Distances between all pairs of rows of a matrix, in the p-norm (PyTorch's meaning).

    The gradient is 0 where two rows are equal.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]], requires_grad=True)
    >>> y = lg.pdist(x)
    >>> y[0].backward()
    >>> y.tolist(), x.grad[1].tolist()
    ([5.0, 3.0, 4.0], [0.6, 0.8])
    """
    if input.ndim != 2 or not input.is_floating_point() or p < 0:
        raise RuntimeError(
            f"pdist: given an input of shape {tuple(input.shape)} and dtype {input.dtype} and p={p}, expected a matrix "
            f"of floating point numbers and a p that is not negative"
        )
    pairs = triu_indices(input.shape[0], input.shape[0], 1, device=input.device)
    return reduction.vector_norm(take(input, pairs[0], axis=0) - take(input, pairs[1], axis=0), ord=p, axis=-1)


# -- along curves --------------------------------------------------------------------------------
@rounded_once
def _slope(y: Any, places: Any, axis: int, edge_order: int) -> Any:
    """Slopes along an axis from differences of the second order inside, and of the edge's order at both ends."""
    n = y.shape[axis]
    if n < edge_order + 1:
        raise ValueError(f"gradient: axis {axis} has size {n}, expected at least {edge_order + 1}")
    if isinstance(places, (int, float)) or not places.ndim:
        h = [places] * max(n - 1, 1)
        first, last = ([h[0], h[0]], [h[0], h[0]])
        before: Any = places
        after: Any = places
    else:
        if tuple(places.shape) != (n,):
            raise ValueError(f"gradient: given coordinates of shape {tuple(places.shape)}, expected ({n},)")
        steps = inexact(places)[1:] - inexact(places)[:-1]
        tail = (1,) * (y.ndim - axis - 1)
        before, after = reshape(steps[:-1], (-1, *tail)), reshape(steps[1:], (-1, *tail))
        first, last = [steps[0], steps[min(1, n - 2)]], [steps[-1], steps[max(-2, 1 - n)]]

    def at(k: int) -> Any:
        return part(ops, y, axis, k, k + 1 if k != -1 else None)

    middle = (
        before * before * part(ops, y, axis, 2)
        + (after * after - before * before) * part(ops, y, axis, 1, -1)
        - after * after * part(ops, y, axis, None, -2)
    ) / (before * after * (before + after))
    if edge_order == 1:
        ends = (at(1) - at(0)) / first[0], (at(-1) - at(-2)) / last[0]
    else:
        ends = _edge(at(0), at(1), at(2), *first), -_edge(at(-1), at(-2), at(-3), *last)
    return ops.concat(ends[0], middle, ends[1], axis=axis) if n > 2 else ops.concat(*ends, axis=axis)


def _edge(y0: Any, y1: Any, y2: Any, h1: Any, h2: Any) -> Any:
    """The slope at the end of three points, from the parabola through them."""
    return -(2 * h1 + h2) / (h1 * (h1 + h2)) * y0 + (h1 + h2) / (h1 * h2) * y1 - h1 / (h2 * (h1 + h2)) * y2


def gradient(y: Any, /, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes by differences along each axis (NumPy's meaning): a tensor for one axis, a tuple for several.

    Parameters
    ----------
    y
        Values at the points of a grid.
    varargs
        The step or the coordinates: one for all axes, or one for each. None: steps of 1.
    axis
        One axis or several; None: all.
    edge_order
        1 or 2: how many neighbours the slopes at both ends take.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y = lg.tensor([1.0, 4.0, 9.0], requires_grad=True)
    >>> slope = lg.gradient(y)
    >>> slope[1].backward()
    >>> slope.tolist(), y.grad.tolist()
    ([3.0, 4.0, 5.0], [-0.5, 0.0, 0.5])
    """
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: given edge_order={edge_order}, expected 1 or 2")
    y = inexact(y)
    axes = tuple(range(y.ndim)) if axis is None else axes_of("gradient", axis, y.ndim)
    given: tuple[Any, ...] = varargs or (1.0,)
    if len(given) not in (1, len(axes)):
        raise TypeError(f"gradient: given {len(given)} steps, expected one, or {len(axes)}")
    if len(given) == 1 and len(axes) > 1 and hasattr(given[0], "ndim") and given[0].ndim:
        raise TypeError(f"gradient: given coordinates for one axis, expected {len(axes)}")
    given = given if len(given) == len(axes) else given * len(axes)
    places = [g if hasattr(g, "dtype") or isinstance(g, (int, float)) else ops.asarray(g, dtype=y.dtype) for g in given]
    made = tuple(_slope(y, h, a, edge_order) for h, a in zip(places, axes, strict=True))
    return made[0] if len(made) == 1 else made
