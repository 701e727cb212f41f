"""Scans: what an array has come to after each element along an axis.

`recurrence` is what their derivatives are made of. It is closed under differentiation, divides by
nothing, and so makes the rules of products right where elements are zero.
"""

from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.core.primitive import LINEAR, REDUCTION, joint, primitive
from lucidgrad.levels.batching import of_one_batch
from lucidgrad.levels.layer import run

from .axes import axis_of, part
from .conventions import ValuesAndIndices, pick
from .elementwise.copies import apart
from .numbers import INF, inexact


def _axis(name: str, axis: Any, rank: int) -> int:
    """The axis of a scan; None is the only one, and a 0-d array counts as one element."""
    if axis is None and rank > 1:
        raise ValueError(f"{name}: given no axis and an array of dimension {rank}, expected an axis")
    return axis_of(name, 0 if axis is None else axis, max(rank, 1))


def _shifted(xp: Any, x: Any, axis: int, ahead: bool, fill: int = 0) -> Any:
    """Each element's predecessor along an axis (``ahead``: its successor); where there is none, a fill."""
    most = part(xp, x, axis, 1) if ahead else part(xp, x, axis, None, -1)
    end = part(xp, x, axis, -1) if ahead else part(xp, x, axis, None, 1)
    end = xp.full_like(end, fill_value=fill)
    return xp.concat(most, end, axis=axis) if ahead else xp.concat(end, most, axis=axis)


def _running(xp: Any, combine: Callable[[Any, Any], Any], x: Any, axis: int) -> Any:
    """Combine each element with all before it, in steps that double."""
    step = 1
    while step < x.shape[axis]:
        rest = combine(part(xp, x, axis, step), part(xp, x, axis, None, -step))
        x = xp.concat(part(xp, x, axis, None, step), rest, axis=axis)
        step *= 2
    return x


def _batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    """Batching for scans: the axis one further; a 0-d example is one element."""
    values = of_one_batch(values, batched)
    rank = len(values[0].shape) - 1
    axis = _axis("axis", keywords["axis"], rank) + 1
    if not rank:
        values = [run("reshape", v, shape=(v.shape[0], 1)) for v in values]
    return call(*values, **{**keywords, "axis": axis})


def _batch_same(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    """The same for scans that keep the shape even of a 0-d array."""
    y = _batch(call, values, batched, keywords)
    return y if len(values[0].shape) > 1 else run("reshape", y, shape=(y.shape[0],))


# -- the recurrence ------------------------------------------------------------------------------
def _recurrence_vjp(xp: Any, g: Any, y: Any, a: Any, *, axis: int, reverse: bool) -> Any:
    axis = axis_of("recurrence", axis, len(y.shape))
    g = xp.recurrence(_shifted(xp, a, axis, not reverse), g, axis=axis, reverse=not reverse)
    return g * _shifted(xp, y, axis, reverse), g


def _recurrence_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, axis: int, reverse: bool) -> Any:
    (a, _), (ta, tb) = xs, ts
    axis = axis_of("recurrence", axis, len(y.shape))
    if ta is not None:
        ta = ta * _shifted(xp, y, axis, reverse)
        tb = ta if tb is None else ta + tb
    return xp.recurrence(a, tb, axis=axis, reverse=reverse)


@primitive(REDUCTION, vjp=joint(_recurrence_vjp), jvp=_recurrence_jvp, batch=_batch)
def recurrence(xp: Any, a: Any, b: Any, /, *, axis: int = -1, reverse: bool = False) -> Any:
    """Linear recurrence ``y[k] = a[k] * y[k - 1] + b[k]`` along an axis, from the first element or the last.

    There is nothing before the first element, so the first ``a`` counts for nothing.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.scan import recurrence
    >>> a, b = lg.full(3, 0.5), lg.tensor([8.0, 0.0, 1.0], requires_grad=True)
    >>> y = recurrence(a, b)
    >>> y.tolist()
    [8.0, 4.0, 3.0]
    >>> y.sum().backward()
    >>> b.grad.tolist()
    [1.75, 1.5, 1.0]
    """
    axis = axis_of("recurrence", axis, b.ndim)
    if not reverse:
        return _forth(xp, a, b, axis)
    return xp.flip(_forth(xp, xp.flip(a, axis=axis), xp.flip(b, axis=axis), axis), axis=axis)


def _forth(xp: Any, a: Any, y: Any, axis: int) -> Any:
    """The recurrence from the first element, in steps that double."""
    a, y, step = part(xp, a, axis, 1), +y, 1
    while step < y.shape[axis]:  # a: what an element has of the one ``step`` before it
        rest = part(xp, y, axis, step) + xp.scale(part(xp, y, axis, None, -step), a)
        y = xp.concat(part(xp, y, axis, None, step), rest, axis=axis)
        a, step = part(xp, a, axis, step) * part(xp, a, axis, None, -step), step * 2
    return y


# -- sums and products ---------------------------------------------------------------------------
def _cumulative_sum_vjp(xp: Any, g: Any, x_meta: Any, *, axis: Any, include_initial: bool) -> Any:
    axis = _axis("cumulative_sum", axis, x_meta.ndim)
    if include_initial:
        g = part(xp, g, axis, 1)
    g = xp.flip(xp.cumulative_sum(xp.flip(g, axis=axis), axis=axis), axis=axis)
    return g if x_meta.shape else xp.reshape(g, shape=())


@primitive(LINEAR, vjp=_cumulative_sum_vjp, batch=_batch, precision="full")
def cumulative_sum(
    xp: Any, x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running sum along an axis, which an array of one dimension need not name.

    ``include_initial`` puts the empty sum, 0, in front.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> y = lg.cumulative_sum(x)
    >>> y.tolist()
    [1.0, 3.0, 6.0]
    >>> y.sum().backward()
    >>> x.grad.tolist()
    [3.0, 2.0, 1.0]
    """
    return xp.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)


def _before(xp: Any, y: Any, axis: int, include_initial: bool) -> Any:
    """For each element the product of those before it."""
    return part(xp, y, axis, None, -1) if include_initial else _shifted(xp, y, axis, ahead=False, fill=1)


def _cumulative_prod_vjp(xp: Any, g: Any, y: Any, x: Any, *, axis: Any, dtype: Any, include_initial: bool) -> Any:
    shape, axis = x.shape, _axis("cumulative_prod", axis, len(x.shape))
    x = x if shape else xp.reshape(x, shape=(1,))
    x = x if dtype is None else xp.astype(x, dtype=dtype)
    g = part(xp, g, axis, 1) if include_initial else g
    before = _before(xp, y, axis, include_initial)
    after = xp.recurrence(_shifted(xp, x, axis, ahead=True), g, axis=axis, reverse=True)
    ct = xp.scale(after, before)  # products may have overflowed before elements that get no gradient
    return ct if shape else xp.reshape(ct, shape=())


def _cumulative_prod_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, axis: Any, dtype: Any, include_initial: bool) -> Any:
    axis, (x, t) = _axis("cumulative_prod", axis, len(xs[0].shape)), (xs[0], ts[0])
    x, t = (v if v.shape else xp.reshape(v, shape=(1,)) for v in (x, t))
    x, t = (v if dtype is None else xp.astype(v, dtype=dtype) for v in (x, t))
    t = xp.recurrence(
        x, xp.scale(t, _before(xp, xp.reshape(y, shape=tuple(y.shape) or (1,)), axis, include_initial)), axis=axis
    )
    if include_initial:
        t = xp.concat(xp.zeros_like(part(xp, y, axis, None, 1)), t, axis=axis)
    return t if y.shape else xp.reshape(t, shape=())


@primitive(REDUCTION, vjp=_cumulative_prod_vjp, jvp=_cumulative_prod_jvp, batch=_batch, precision="full")
def cumulative_prod(
    xp: Any, x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running product along an axis, which an array of one dimension need not name.

    ``include_initial`` puts the empty product, 1, in front. Derivatives are right where elements are zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0, 0.0, 3.0], requires_grad=True)
    >>> lg.cumulative_prod(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 8.0, 0.0]
    """
    return xp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


# -- exponentials --------------------------------------------------------------------------------
def _logcumsumexp_vjp(xp: Any, g: Any, y: Any, x: Any, *, axis: int) -> Any:
    """Every factor is a ratio of sums of which the smaller stands above: none exceeds 1."""
    finite = xp.where(y == -INF, 0, y)
    if x.shape:
        axis = axis_of("logcumsumexp", axis, len(x.shape))
        ratio = xp.exp(part(xp, y, axis, None, -1) - part(xp, finite, axis, 1))
        ratio = xp.concat(ratio, xp.zeros_like(part(xp, y, axis, None, 1)), axis=axis)
        g = xp.recurrence(ratio, g, axis=axis, reverse=True)
    return xp.exp(x - finite) * g


def _logcumsumexp_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, axis: int) -> Any:
    """A weighted mean of all before and of what is new: the weights are ratios of sums, none exceeds 1."""
    finite = xp.where(y == -INF, 0, y)
    t = xp.exp(xs[0] - finite) * ts[0]
    if not y.shape:
        return t
    axis = axis_of("logcumsumexp", axis, len(y.shape))
    ratio = xp.exp(part(xp, y, axis, None, -1) - part(xp, finite, axis, 1))
    ratio = xp.concat(xp.zeros_like(part(xp, y, axis, None, 1)), ratio, axis=axis)
    return xp.recurrence(ratio, t, axis=axis, reverse=False)


@primitive(REDUCTION, vjp=_logcumsumexp_vjp, jvp=_logcumsumexp_jvp, batch=_batch_same, dtype="float", precision="full")
def logcumsumexp(xp: Any, x: Any, /, axis: int) -> Any:
    """``log(cumulative_sum(exp(x)))`` along an axis, without overflow.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1000.0, 1000.0], requires_grad=True)
    >>> lg.logcumsumexp(x, axis=0).sum().backward()
    >>> x.grad.tolist()
    [1.5, 0.5]
    """
    x, axis = inexact(x), _axis("logcumsumexp", axis, x.ndim)
    return _running(xp, xp.logaddexp, x, axis) if x.ndim and x.shape[axis] > 1 else +x


# -- extremes ------------------------------------------------------------------------------------
def _last_of(xp: Any, x: Any, axis: int, combine: Callable[[Any, Any], Any]) -> Any:
    """Where the running extreme stands: of ties the last. A NaN stays, until the next one."""
    if not x.ndim:
        return xp.zeros_like(x, dtype=xp.int64)
    axis = axis_of("axis", axis, x.ndim)
    place = xp.cumulative_sum(xp.ones_like(x, dtype=xp.int64), axis=axis) - 1
    hit = (x == _running(xp, combine, x, axis)) | (x != x)
    return _running(xp, xp.maximum, xp.where(hit, place, 0), axis)


@primitive(REDUCTION, batch=_batch_same)
def cumulative_argmax(xp: Any, x: Any, /, *, axis: int) -> Any:
    """Position of the running maximum along an axis; of ties the last.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.scan import cumulative_argmax
    >>> cumulative_argmax(lg.asarray([3.0, 1.0, 3.0, 2.0]), axis=0).tolist()
    [0, 0, 2, 2]
    """
    return _last_of(xp, x, axis, xp.maximum)


@primitive(REDUCTION, batch=_batch_same)
def cumulative_argmin(xp: Any, x: Any, /, *, axis: int) -> Any:
    """Position of the running minimum along an axis; of ties the last.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.scan import cumulative_argmin
    >>> cumulative_argmin(lg.asarray([3.0, 1.0, 3.0, 1.0]), axis=0).tolist()
    [0, 1, 1, 3]
    """
    return _last_of(xp, x, axis, xp.minimum)


def cummax(x: Any, /, axis: int) -> ValuesAndIndices:
    """Running maximum along an axis and where it stands; of ties the last, which gets the gradient.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 3.0, 2.0], requires_grad=True)
    >>> values, indices = lg.cummax(x, 0)
    >>> values.sum().backward()
    >>> indices.tolist(), x.grad.tolist()
    ([0, 1, 1], [1.0, 2.0, 0.0])
    """
    return pick(x, cumulative_argmax(x, axis=axis), axis)


def cummin(x: Any, /, axis: int) -> ValuesAndIndices:
    """Running minimum along an axis and where it stands; of ties the last, which gets the gradient.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0, 1.0, 3.0], requires_grad=True)
    >>> values, indices = lg.cummin(x, 0)
    >>> values.sum().backward()
    >>> indices.tolist(), x.grad.tolist()
    ([0, 1, 1], [1.0, 2.0, 0.0])
    """
    return pick(x, cumulative_argmin(x, axis=axis), axis)


# -- the inverse of a running sum ----------------------------------------------------------------
@apart
def diff(x: Any, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along an axis, n times over, after joining ``prepend`` and ``append`` on.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 4.0, 9.0], requires_grad=True)
    >>> y = lg.diff(x)
    >>> y.tolist()
    [3.0, 5.0]
    >>> y[0].backward()
    >>> x.grad.tolist()
    [-1.0, 1.0, 0.0]
    """
    if n < 0:
        raise ValueError(f"diff: given n={n}, expected at least 0")
    axis = axis_of("diff", axis, x.ndim)
    joined = [end for end in (prepend, x, append) if end is not None]
    x = ops.concat(*joined, axis=axis) if len(joined) > 1 else x
    for _ in range(min(n, x.shape[axis] + 1)):  # nothing is left of the axis then
        x = part(ops, x, axis, 1) - part(ops, x, axis, None, -1)
    return x
