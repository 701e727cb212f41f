"""Order statistics: a value is picked by its place in the sorted array, which also gets its gradient."""

from collections.abc import Callable
from typing import Any

from lucidgrad.core import dtype as dtypes
from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.levels.batching import Batched

from .axes import axis_of, part, product
from .conventions import ValuesAndIndices, pick
from .numbers import NAN, inexact, only_real
from .reduction import mean, reduced
from .sorting import argsort


# -- axes as one ---------------------------------------------------------------------------------
def _rows(name: str, x: Any, axis: Any) -> Any:
    """A real array with the axes to reduce as one, the last."""
    only_real(name, x)
    axes = reduced(axis, x.ndim)
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    sizes = tuple(x.shape[a] for a in rest), product([x.shape[a] for a in axes])
    return ops.reshape(ops.permute_dims(x, axes=(*rest, *axes)), shape=(*sizes[0], sizes[1]))


def _left(x: Any, axis: Any, keepdims: bool) -> tuple[int, ...]:
    """The shape that a reduction leaves."""
    axes = reduced(axis, x.ndim)
    return tuple(1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes)


def _at(rows: Any, order: Any, places: Any) -> Any:
    """The values at places of the order."""
    return ops.take_along_axis(rows, ops.take_along_axis(order, places, axis=-1), axis=-1)


# -- medians -------------------------------------------------------------------------------------
def median(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The middle value along axes, of an even number the mean of the two middle ones (NumPy's meaning).

    It is NaN where any element is. The method of `Tensor` is PyTorch's: the lower median and its index.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([4.0, 1.0, 3.0, 9.0], requires_grad=True)
    >>> y = lg.median(x)
    >>> y.backward()
    >>> y.item(), x.grad.tolist()
    (3.5, [0.5, 0.0, 0.5, 0.0])
    """
    x = inexact(x)
    rows = _rows("median", x, axis)
    n = rows.shape[-1]
    if not n:
        return mean(x, axis=axis, keepdims=keepdims)
    order = argsort(rows, axis=-1)
    y = mean(ops.take_along_axis(rows, part(ops, order, rows.ndim - 1, (n - 1) // 2, n // 2 + 1), axis=-1), axis=-1)
    y = ops.where(ops.any(ops.isnan(rows), axis=-1), NAN, y)
    return ops.reshape(y, shape=_left(x, axis, keepdims))


def nanmedian(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`median` of the elements that are not NaN; NaN where there are none (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([4.0, float("nan"), 3.0], requires_grad=True)
    >>> lg.nanmedian(x).backward()
    >>> x.grad.tolist()
    [0.5, 0.0, 0.5]
    """
    if not product(x.shape):
        return median(x, axis=axis, keepdims=keepdims)
    return _quantile("nanmedian", x, 0.5, axis, "linear", keepdims, skip=True)


# -- quantiles -----------------------------------------------------------------------------------
def _between(v: Any) -> tuple[Any, Any]:
    """A place between two elements: the one below, and how far the place is on its way to the next."""
    below = ops.floor(v)
    return below, v - below


def _nearly(v: Any, stay: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """The element below a place where a condition holds, the next one elsewhere."""
    below = ops.floor(v)
    return ops.where(stay(v - below, below), below, below + 1), 0


def _whole(v: Any) -> tuple[Any, Any]:
    return v, 0


def _midpoint(v: Any) -> tuple[Any, Any]:
    return ops.floor(v), ops.where(ops.floor(v) == v, 0.0, 0.5)


def _averaged(v: Any) -> tuple[Any, Any]:
    return ops.floor(v), ops.where(ops.floor(v) == v, 0.5, 1.0)


def _hyndman(alpha: float, beta: float) -> Callable[[Any, Any], tuple[Any, Any]]:
    """The continuous methods of Hyndman and Fan, which differ in two numbers."""
    return lambda n, q: _between(n * q + (alpha + q * (1 - alpha - beta)) - 1)


#: From the number of elements and the fractions to places in the order and weights of the next element.
METHODS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "linear": lambda n, q: _between((n - 1) * q),
    "lower": lambda n, q: _whole(ops.floor((n - 1) * q)),
    "higher": lambda n, q: _whole(ops.ceil((n - 1) * q)),
    "nearest": lambda n, q: _whole(ops.round((n - 1) * q)),
    "midpoint": lambda n, q: _midpoint((n - 1) * q),
    "inverted_cdf": lambda n, q: _nearly(n * q - 1, lambda rest, below: rest == 0),
    "averaged_inverted_cdf": lambda n, q: _averaged(n * q - 1),
    "closest_observation": lambda n, q: _nearly(n * q - 1.5, lambda rest, below: (rest == 0) & (below % 2 == 1)),
    "interpolated_inverted_cdf": _hyndman(0, 1),
    "hazen": _hyndman(0.5, 0.5),
    "weibull": _hyndman(0, 0),
    "median_unbiased": _hyndman(1 / 3, 1 / 3),
    "normal_unbiased": _hyndman(3 / 8, 3 / 8),
}


def _fractions(name: str, q: Any, x: Any, whole: int) -> Any:
    """Fractions as float64, in which places are exact, whatever the array's dtype is."""
    double = dtypes.named("float64")
    q = ops.astype(q, dtype=double) if hasattr(q, "dtype") else ops.asarray(q, dtype=double, device=x.device)
    q = q / whole if whole != 1 else q
    if type(getattr(q, "array", q)) is not Batched and not bool(ops.all((q >= 0) & (q <= 1))):
        raise ValueError(f"{name}: given a q that is not between 0 and {whole}")
    return q


def _quantile(
    name: str, x: Any, q: Any, axis: Any, method: str, keepdims: bool, skip: bool = False, whole: int = 1
) -> Any:
    if method not in METHODS:
        raise ValueError(f"{name}: given method={method!r}, expected one of {', '.join(METHODS)}")
    x = inexact(x)
    rows = _rows(name, x, axis)
    size = rows.shape[-1]
    if not size:
        raise ValueError(f"{name}: given an array of shape {tuple(x.shape)}, expected elements along axis {axis}")
    q = _fractions(name, q, x, whole)
    flat = ops.reshape(q, shape=(*(1,) * (rows.ndim - 1), product(q.shape)))
    missing = ops.isnan(rows)
    n: Any = size
    if skip:
        n = ops.astype(size - ops.count_nonzero(missing, axis=-1, keepdims=True), dtype=flat.dtype)
        n = ops.maximum(n, 1)
    below, weight = METHODS[method](n, flat)
    order = argsort(rows, axis=-1)
    y = _at(rows, order, _place(below, n))
    if not isinstance(weight, int):
        weight = ops.astype(weight, dtype=x.dtype)
        y = _mixed(y, _at(rows, order, _place(below + 1, n)), weight)
    void = (ops.all if skip else ops.any)(missing, axis=-1, keepdims=True)
    y = ops.moveaxis(ops.where(void, NAN, y), source=-1, destination=0)
    return ops.reshape(y, shape=(*q.shape, *_left(x, axis, keepdims)))


def _place(place: Any, n: Any) -> Any:
    return ops.astype(ops.minimum(ops.maximum(place, 0), n - 1), dtype=dtypes.named("int64"))


def _mixed(a: Any, b: Any, t: Any) -> Any:
    """From a to b, exact at both ends; with weight 0 an infinite b does not count."""
    d = ops.where(t == 0, 0, b - a)
    return ops.where(t < 0.5, a + d * t, b - d * (1 - t))


def quantile(
    x: Any,
    /,
    q: Any,
    axis: Any = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    interpolation: str | None = None,
) -> Any:
    """Values below which fractions q of the elements along axes lie (NumPy's meaning).

    Parameters
    ----------
    x, axis, keepdims
        An array of real numbers and the axes to reduce, all without one. NaN where any element is NaN.
    q
        Fractions between 0 and 1: a number, a sequence or a tensor, whose axes come first in the result. The
        result is differentiable with respect to a tensor, too.
    method
        What to do between two elements: ``"linear"``, ``"lower"``, ``"higher"``, ``"midpoint"``, ``"nearest"``, or
        another of NumPy's methods.
    interpolation
        PyTorch's name of ``method``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([4.0, 1.0, 3.0], requires_grad=True)
    >>> y = lg.quantile(x, 0.75)
    >>> y.backward()
    >>> y.item(), x.grad.tolist()
    (3.5, [0.5, 0.0, 0.5])
    """
    return _quantile("quantile", x, q, axis, interpolation or method, keepdims)


def nanquantile(
    x: Any,
    /,
    q: Any,
    axis: Any = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    interpolation: str | None = None,
) -> Any:
    """`quantile` of the elements that are not NaN; NaN where there are none (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([4.0, float("nan"), 3.0], requires_grad=True)
    >>> lg.nanquantile(x, 0.25).backward()
    >>> x.grad.tolist()
    [0.25, 0.0, 0.75]
    """
    return _quantile("nanquantile", x, q, axis, interpolation or method, keepdims, skip=True)


def percentile(x: Any, /, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any:
    """`quantile` with q in percent (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> lg.percentile(x, 75).backward()
    >>> x.grad.tolist()
    [0.0, 0.5, 0.5]
    """
    return _quantile("percentile", x, q, axis, method, keepdims, whole=100)


def nanpercentile(x: Any, /, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any:
    """`nanquantile` with q in percent (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, float("nan"), 3.0], requires_grad=True)
    >>> lg.nanpercentile(x, 75).backward()
    >>> x.grad.tolist()
    [0.25, 0.0, 0.75]
    """
    return _quantile("nanpercentile", x, q, axis, method, keepdims, skip=True, whole=100)


# -- with indices --------------------------------------------------------------------------------
def _dropped(found: ValuesAndIndices, axis: int, keepdims: bool) -> ValuesAndIndices:
    if keepdims or not found.indices.ndim:
        return found
    return ValuesAndIndices(*(ops.squeeze(r, axis=axis) for r in found))


def kthvalue(x: Any, /, k: int, axis: int = -1, keepdims: bool = False) -> ValuesAndIndices:
    """The k-th smallest value along an axis, counted from 1, and where it stands (PyTorch's meaning).

    NaN counts as the largest value; of ties the first comes first.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([4.0, 1.0, 3.0], requires_grad=True)
    >>> values, indices = lg.kthvalue(x, 2)
    >>> values.backward()
    >>> indices.item(), x.grad.tolist()
    (2, [0.0, 0.0, 1.0])
    """
    axis = axis_of("kthvalue", axis, max(x.ndim, 1))
    size = x.shape[axis] if x.ndim else 1
    if not 1 <= k <= size:
        raise RuntimeError(f"kthvalue: given k={k} and an axis of size {size}, expected 1 <= k <= {size}")
    i = argsort(x, axis=axis) if x.ndim else ops.argmax(x)
    return _dropped(pick(x, part(ops, i, axis, k - 1, k) if x.ndim else i, axis), axis, keepdims)


def mode(x: Any, /, axis: int = -1, keepdims: bool = False) -> ValuesAndIndices:
    """The value that is most frequent along an axis, of several the smallest, and where it stands last.

    PyTorch's meaning; the gradient goes to the element that the index names.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([3.0, 1.0, 3.0, 2.0], requires_grad=True)
    >>> values, indices = lg.mode(x)
    >>> values.backward()
    >>> indices.item(), x.grad.tolist()
    (2, [0.0, 0.0, 1.0, 0.0])
    """
    axis = axis_of("mode", axis, max(x.ndim, 1))
    if not x.ndim:
        return pick(x, ops.argmax(x), axis)
    if not x.shape[axis]:
        raise IndexError(f"mode: given an array of shape {tuple(x.shape)}, expected elements along axis {axis}")
    order = argsort(x, axis=axis)
    s = ops.take_along_axis(x, order, axis=axis)
    fresh = part(ops, s, axis, 1) != part(ops, s, axis, None, -1)
    place = ops.cumulative_sum(ops.ones_like(order), axis=axis)
    start = ops.where(fresh, part(ops, place, axis, 1), 1)
    start = ops.concat(part(ops, place, axis, None, 1), start, axis=axis)
    run = place - ops.take_along_axis(start, ops.cumulative_argmax(start, axis=axis), axis=axis)
    most = ops.argmax(run, axis=axis, keepdims=True)
    return _dropped(pick(x, ops.take_along_axis(order, most, axis=axis), axis), axis, keepdims)


def lower_median(x: Any, axis: int | None = None, keepdims: bool = False, *, skip: bool = False) -> Any:
    """PyTorch's median: the lower of the two middle values and where it stands, without an axis just the value.

    Without an axis, elements that tie share the gradient. ``skip`` leaves NaN out, else it is the result.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.quantiles import lower_median
    >>> x = lg.tensor([4.0, 1.0, 3.0, 1.0], requires_grad=True)
    >>> y = lower_median(x)
    >>> y.backward()
    >>> y.item(), x.grad.tolist()
    (1.0, [0.0, 0.5, 0.0, 0.5])
    """
    if axis is None:
        flat = ops.reshape(x, shape=(product(x.shape),))
        if not flat.shape[0]:
            return mean(flat)
        value = lower_median(flat, 0, skip=skip).values
        if inexact(flat) is not flat:
            return value
        shared = ops.min(ops.where(flat == value, flat, float("inf")))
        return ops.where(ops.isnan(value), value, shared)
    axis = axis_of("median", axis, max(x.ndim, 1))
    if not x.ndim:
        return pick(x, ops.argmax(x), axis)
    size = x.shape[axis]
    if not size:
        raise IndexError(f"median: given an array of shape {tuple(x.shape)}, expected elements along axis {axis}")
    order = argsort(x, axis=axis)
    if inexact(x) is x:
        missing = ops.count_nonzero(x != x, axis=axis, keepdims=True)
        middle = (size - missing - 1) // 2
        middle = ops.maximum(middle, 0) if skip else ops.where(missing > 0, size - missing, middle)
        i = ops.take_along_axis(order, middle, axis=axis)
    else:
        i = part(ops, order, axis, (size - 1) // 2, (size - 1) // 2 + 1)
    return _dropped(pick(x, i, axis), axis, keepdims)
