"""Counting elements: by value, and by the interval that they fall into. Weights are differentiable."""

from typing import Any

from lucidgrad.core import dtype as dtypes
from lucidgrad.core.engine import tape_namespace as ops

from .axes import axis_of, product
from .indexing.taking import take_put
from .numbers import inexact, is_complex, is_inexact
from .sets import unique_all, unique_places


def _flat(x: Any) -> Any:
    return ops.reshape(x, shape=(product(x.shape),))


def _edges(name: str, bins: Any, like: Any) -> Any:
    """A sequence of edges as a tensor."""
    made = bins
    if not hasattr(bins, "dtype"):
        same = {"dtype": like.dtype} if hasattr(like, "dtype") and inexact(like) is like else {}
        made = ops.asarray(bins, device=getattr(like, "device", None), **same)
    if made.ndim != 1:
        raise ValueError(f"{name}: given edges of shape {tuple(made.shape)}, expected one dimension")
    return made


# -- by value ------------------------------------------------------------------------------------
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number from 0 to the largest occurs, or the sum of its weights (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> i, w = lg.asarray([0, 2, 2]), lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> y = lg.bincount(i, w)
    >>> y[2].backward()
    >>> y.tolist(), w.grad.tolist()
    ([1.0, 0.0, 5.0], [0.0, 1.0, 1.0])
    """
    if x.ndim != 1 or "int" not in str(x.dtype):
        raise ValueError(f"bincount: given {x.dtype} of shape {tuple(x.shape)}, expected integers in one dimension")
    if minlength < 0:
        raise ValueError(f"bincount: given minlength={minlength}, expected at least 0")
    if weights is not None and tuple(weights.shape) != tuple(x.shape):
        raise ValueError(f"bincount: given weights of shape {tuple(weights.shape)}, expected {tuple(x.shape)}")
    size = 0
    if x.shape[0]:
        if int(ops.min(x)) < 0:
            raise ValueError("bincount: given negative numbers, expected none")
        size = int(ops.max(x)) + 1
    return _counted(ops.astype(x, dtype=dtypes.named("int64")), weights, max(size, minlength))


def _counted(i: Any, weights: Any, size: int) -> Any:
    """The number of each index, or the sum of its weights."""
    if weights is None:
        return take_put(ops.ones_like(i), i, axis=0, size=size)
    weights = weights if is_inexact(weights.dtype) else ops.astype(weights, dtype=dtypes.named("float64"))
    return take_put(weights, i, axis=0, size=size)


def unique(
    x: Any,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct values in order, and on demand a tuple with more about them (NumPy's meaning).

    Parameters
    ----------
    x
        An array; it is flattened unless there is an axis.
    return_index, return_inverse, return_counts
        Whether to return also where each value first stands, which value each element has, and how often.
    axis
        The axis whose slices are compared, element by element; each NaN is a value of its own there.
    equal_nan
        Whether all NaNs are one value; in the standard's `unique_all` they are distinct.
    sorted
        Values are always in order.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([3.0, 1.0, 3.0], requires_grad=True)
    >>> values, counts = lg.unique(x, return_counts=True)
    >>> values.sum().backward()
    >>> values.tolist(), counts.tolist(), x.grad.tolist()
    ([1.0, 3.0], [1, 2], [1.0, 1.0, 0.0])
    """
    values, places, inverse, counts = unique_all(x) if axis is None else _unique_slices(x, axis)
    first = values.shape[0]
    if axis is None and equal_nan and inexact(x) is x:  # NaNs stand last
        first -= max(int(ops.count_nonzero(values != values)) - 1, 0)
    if first < values.shape[0]:
        rest = ops.sum(counts[first - 1 :], axis=0, keepdims=True)
        values, places, counts = values[:first], places[:first], ops.concat(counts[: first - 1], rest, axis=0)
        inverse = ops.minimum(inverse, first - 1)
    asked = (True, return_index, return_inverse, return_counts)
    found = tuple(r for r, want in zip((values, places, inverse, counts), asked, strict=True) if want)
    return found if len(found) > 1 else found[0]


def _unique_slices(x: Any, axis: int) -> tuple[Any, ...]:
    """What `unique_all` gives, of the slices along an axis: their elements' ranks, as the digits of one number."""
    axis = axis_of("unique", axis, x.ndim)
    n = x.shape[axis]
    width = product(x.shape) // n if n else 0
    rows = ops.reshape(ops.moveaxis(x, source=axis, destination=0), shape=(n, width))
    digits = ops.reshape(unique_places(rows)[1], shape=(n, width))
    base = max(product(x.shape), 1)
    code, size = ops.zeros((n,), dtype=dtypes.named("int64"), device=x.device), 1
    for k in range(width):
        if size * base >= 2**62:
            code, size = unique_places(code)[1], n
        code, size = code * base + digits[:, k], size * base
    first, inverse, counts = unique_places(code)
    return ops.take(x, first, axis=axis), first, inverse, counts


# -- by interval ---------------------------------------------------------------------------------
def bucketize(x: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """The interval between boundaries in which each element lies (PyTorch's meaning).

    An element on a boundary belongs to the interval below it, with ``right`` to the one above.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.bucketize(lg.asarray([0.5, 1.0, 3.0]), lg.asarray([1.0, 2.0])).tolist()
    [0, 0, 2]
    """
    edges = _edges("bucketize", boundaries, x)
    i = ops.searchsorted(edges, x if hasattr(x, "shape") else ops.asarray(x), side="right" if right else "left")
    return ops.astype(i, dtype=dtypes.named("int32" if out_int32 else "int64"))


def digitize(x: Any, /, bins: Any, right: bool = False) -> Any:
    """The bin to which each element belongs: 0 below the first edge (NumPy's meaning).

    A bin has its left edge, with ``right`` its right one. Edges may rise or fall.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.digitize(lg.asarray([0.5, 1.0, 3.0]), lg.asarray([1.0, 2.0])).tolist()
    [0, 1, 2]
    """
    edges = _edges("digitize", bins, x)
    side = "left" if right else "right"
    step = edges[1:] - edges[:-1] if edges.shape[0] > 1 else None
    if step is None or bool(ops.all(step >= 0)):
        return ops.searchsorted(edges, x, side=side)
    if not bool(ops.all(step <= 0)):
        raise ValueError("digitize: given bins that rise and fall, expected one of both")
    return edges.shape[0] - ops.searchsorted(ops.flip(edges), x, side=side)


def _limits(name: str, x: Any, low: Any, high: Any) -> tuple[float, float]:
    """The interval of a histogram; one without a width is widened."""
    if low is None:
        low, high = (float(ops.min(x)), float(ops.max(x))) if x.shape[0] else (0.0, 1.0)
    if not abs(low) + abs(high) < float("inf"):
        raise ValueError(f"{name}: the range from {low} to {high} is not finite")
    if low > high:
        raise ValueError(f"{name}: given a range from {low} to {high}, expected a rising one")
    return low, high


def histogram(
    x: Any,
    /,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
    *,
    weight: Any = None,
) -> tuple[Any, Any]:
    """How many elements, or what weight, each bin has, and the edges of the bins (NumPy's meaning).

    Parameters
    ----------
    x
        An array of real numbers.
    bins
        The number of bins, or their rising edges; the last bin has both its edges.
    range
        Where the bins begin and end: a pair. Without one, all elements fit in.
    density
        Whether to divide by the total and by the widths of the bins.
    weights, weight
        What each element counts: a tensor of the same shape. The result is differentiable with respect to it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> counts, edges = lg.histogram(lg.asarray([0.0, 1.0, 4.0]), 2, weights=w)
    >>> counts[0].backward()
    >>> counts.tolist(), edges.tolist(), w.grad.tolist()
    ([3.0, 3.0], [0.0, 2.0, 4.0], [1.0, 1.0, 0.0])
    """
    weights = weights if weight is None else weight
    if weights is not None and tuple(weights.shape) != tuple(x.shape):
        raise ValueError(f"histogram: given weights of shape {tuple(weights.shape)}, expected {tuple(x.shape)}")
    if isinstance(bins, str) or is_complex(x.dtype):
        raise TypeError(f"histogram: given bins={bins!r} and {x.dtype}, expected a number or edges, and real numbers")
    x, weights = _flat(x), None if weights is None else _flat(weights)
    edges = bin_edges("histogram", x, bins, range)
    counts = _counted(bin_places(x, edges), weights, edges.shape[0])[:-1]
    if not density:
        return counts, edges
    return counts / (edges[1:] - edges[:-1]) / ops.sum(counts), edges


def bin_edges(name: str, x: Any, bins: Any, range: Any) -> Any:
    """The edges of bins: so many equal ones that a vector, or a range, fits into, or those that are given."""
    if not isinstance(bins, int):
        edges = _edges(name, bins, x)
        if not bool(ops.all(edges[1:] >= edges[:-1])):
            raise ValueError(f"{name}: given edges that fall, expected rising ones")
        return edges
    if bins < 1:
        raise ValueError(f"{name}: given bins={bins}, expected at least 1")
    low, high = _limits(name, x, *(range or (None, None)))
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    return ops.linspace(low, high, bins + 1, dtype=inexact(x).dtype, device=x.device)


def bin_places(x: Any, edges: Any) -> Any:
    """The bin between edges that each element falls into; for what falls outside, one more than there are."""
    n = edges.shape[0] - 1
    i = ops.searchsorted(edges, x, side="right") - 1
    i = ops.where(x == edges[-1], n - 1, i)
    return ops.where((x >= edges[0]) & (x <= edges[-1]), i, n)


def histc(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """How many elements each of a number of equal bins has, in the array's dtype (PyTorch's meaning).

    Elements outside the interval, and NaN, are left out. Without one, the interval has all elements.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.histc(lg.asarray([0.0, 1.0, 4.0]), 2).tolist()
    [2.0, 1.0]
    """
    if bins < 1:
        raise RuntimeError(f"histc: given bins={bins}, expected at least 1")
    x = _flat(x)
    low, high = _limits("histc", x, *((None, None) if min == max and x.shape[0] else (min, max)))
    low, high = (low - 1, high + 1) if low == high else (low, high)
    inside = (x >= low) & (x <= high)
    i = ops.where(inside, (inexact(x) - low) * bins / (high - low), float(bins))
    i = ops.astype(ops.floor(i), dtype=dtypes.named("int64"))
    i = ops.where(inside, ops.minimum(i, bins - 1), bins)
    return ops.astype(_counted(i, None, bins + 1)[:-1], dtype=x.dtype)
