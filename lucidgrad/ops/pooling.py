"""Pooling over windows of the last axes: largest values, and means."""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core.primitive import LINEAR, REDUCTION, primitive
from lucidgrad.extents import Sizes, lead_and_last, out_sizes
from lucidgrad.levels.batching import of_one_batch

from .axes import beside, product
from .numbers import INF
from .windows import positions


def _as_is(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    """Batching for what acts on the last axes."""
    return call(*of_one_batch(values, batched), **keywords)


def _flat(xp: Any, x: Any, count: int) -> Any:
    """The last axes as one."""
    lead, sizes = lead_and_last(x.shape, count)
    return xp.reshape(x, shape=(*lead, product(sizes)))


# -- largest values ------------------------------------------------------------------------------
def _max_pool_vjp(
    xp: Any, g: Any, y1: Any, x_meta: Any, *, window: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    sizes = lead_and_last(x_meta.shape, len(window))[1]
    return xp.pool_put(g[0], y1, sizes=sizes, window=window, stride=stride, padding=padding, dilation=dilation)


def _picked(xp: Any, t: Any, i: Any, count: int) -> Any:
    """The elements of planes at flat positions."""
    picked = xp.take_along_axis(_flat(xp, t, count), _flat(xp, i, count), axis=-1)
    return xp.reshape(picked, shape=tuple(i.shape))


def _max_pool_jvp(xp: Any, y: Any, xs: Any, ts: Any, *, window: Any, **steps: Any) -> Any:
    t = xp.zeros_like(y[0]) if ts[0] is None else _picked(xp, ts[0], y[1], len(window))
    return t, xp.zeros_like(y[1])


@primitive(REDUCTION, vjp=_max_pool_vjp, jvp=_max_pool_jvp, batch=_as_is, outputs=True, single=False, real=True)
def max_pool(
    xp: Any, x: Any, /, *, window: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool = False
) -> Any:
    """The largest value in each window of the last axes, and its place in the flat plane.

    Of equal values the first counts, and gets the gradient. With ``ceil_mode`` a last window may reach beyond
    the edge.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.pooling import max_pool
    >>> x = lg.tensor([1.0, 3.0, 3.0, 2.0], requires_grad=True)
    >>> y, i = max_pool(x, window=(2,), stride=(2,), padding=(0,), dilation=(1,))
    >>> y.sum().backward()
    >>> y.tolist(), i.tolist(), x.grad.tolist()
    ([3.0, 3.0], [1, 2], [0.0, 1.0, 1.0, 0.0])
    """
    lead, sizes = lead_and_last(x.shape, len(window))
    out = out_sizes("max_pool", sizes, window, stride, padding, dilation, ceil_mode)
    place, inside = positions(xp, x, sizes, out, window, stride, padding, dilation)
    values = xp.take(_flat(xp, x, len(window)), place, axis=len(lead))
    values = xp.where(inside, values, xp.full_like(values, fill_value=-INF))
    values = xp.reshape(values, shape=(*lead, product(window), product(out)))
    best = xp.argmax(values, axis=len(lead), keepdims=True)
    y = xp.take_along_axis(values, best, axis=len(lead))
    i = best * product(out) + xp.arange(product(out), dtype=best.dtype, **beside(best))
    i = xp.take(xp.reshape(place, shape=(product(place.shape),)), i, axis=0)
    return xp.reshape(y, shape=(*lead, *out)), xp.reshape(i, shape=(*lead, *out))


@primitive(
    LINEAR,
    vjp=(lambda xp, g, i, *, sizes: _picked(xp, g, i, len(sizes)), None),
    jvp=lambda xp, y, xs, ts, **steps: xp.pool_put(ts[0], xs[1], **steps),
    batch=_as_is,
)
def pool_put(xp: Any, h: Any, i: Any, /, *, sizes: Any, window: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """Planes of zeros of these sizes with h added at flat places i, each in its window: the adjoint of `max_pool`."""
    count = len(sizes)
    flat = xp.put_along_axis_add(_flat(xp, h, count), _flat(xp, i, count), axis=-1, size=product(sizes))
    return xp.reshape(flat, shape=(*lead_and_last(h.shape, count)[0], *sizes))


# -- means ---------------------------------------------------------------------------------------
def _weights(
    xp: Any, x: Any, sizes: Sizes, out: Sizes, window: Sizes, stride: Sizes, padding: Sizes, include: bool
) -> Any:
    """How many elements each window counts: those inside, and those of the padding if they are included."""
    made: Any = 1
    for a, (n, o, k, s, p) in enumerate(zip(sizes, out, window, stride, padding, strict=True)):
        start = xp.arange(o, dtype=xp.int64, **beside(x)) * s - p
        end = xp.where(start + k < n + p, start + k, n + p)
        if not include:
            start, end = xp.where(start < 0, 0, start), xp.where(end < n, end, n)
        made = made * xp.reshape(end - start, shape=(o, *(1,) * (len(sizes) - a - 1)))
    return xp.astype(made, dtype=x.dtype)


def _avg_pool_vjp(
    xp: Any, g: Any, x_meta: Any, *, window: Any, stride: Any, padding: Any, include: bool, divisor: Any
) -> Any:
    over = {"window": window, "stride": stride, "padding": padding, "include": include, "divisor": divisor}
    return xp.avg_pool_put(g, sizes=lead_and_last(x_meta.shape, len(window))[1], **over)


@primitive(LINEAR, vjp=_avg_pool_vjp, batch=_as_is)
def avg_pool(
    xp: Any,
    x: Any,
    /,
    *,
    window: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool = False,
    include: bool = True,
    divisor: float | None = None,
) -> Any:
    """The mean of each window of the last axes.

    Parameters
    ----------
    x
        Values.
    window, stride, padding, ceil_mode
        As of `max_pool`; zeros lie outside.
    include
        Whether the padding counts in the mean.
    divisor
        What sums are divided by instead.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.pooling import avg_pool
    >>> x = lg.tensor([1.0, 3.0, 3.0, 5.0], requires_grad=True)
    >>> y = avg_pool(x, window=(2,), stride=(2,), padding=(0,))
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([2.0, 4.0], [0.5, 0.5, 0.5, 0.5])
    """
    lead, sizes = lead_and_last(x.shape, len(window))
    ones = (1,) * len(window)
    out = out_sizes("avg_pool", sizes, window, stride, padding, ones, ceil_mode)
    place, inside = positions(xp, x, sizes, out, window, stride, padding, ones)
    values = xp.take(_flat(xp, x, len(window)), place, axis=len(lead))
    values = xp.where(inside, values, xp.zeros_like(inside, dtype=x.dtype))
    total = xp.sum(values, axis=tuple(range(len(lead), len(lead) + len(window))))
    return total / (divisor or _weights(xp, x, sizes, out, window, stride, padding, include))


def _avg_put_vjp(
    xp: Any, g: Any, h_meta: Any, *, sizes: Any, window: Any, stride: Any, padding: Any, include: bool, divisor: Any
) -> Any:
    over = {"window": window, "stride": stride, "padding": padding, "include": include, "divisor": divisor}
    plain = out_sizes("avg_pool", sizes, window, stride, padding, (1,) * len(window))
    return xp.avg_pool(g, ceil_mode=lead_and_last(h_meta.shape, len(window))[1] != plain, **over)


@primitive(LINEAR, vjp=_avg_put_vjp, batch=_as_is)
def avg_pool_put(
    xp: Any,
    h: Any,
    /,
    *,
    sizes: Any,
    window: Any,
    stride: Any,
    padding: Any,
    include: bool = True,
    divisor: float | None = None,
) -> Any:
    """Planes of these sizes in which each window has its share of h: the adjoint of `avg_pool`."""
    lead, out = lead_and_last(h.shape, len(window))
    place, inside = positions(xp, h, sizes, out, window, stride, padding, (1,) * len(window))
    h = h / (divisor or _weights(xp, h, sizes, out, window, stride, padding, include))
    spread_out = xp.reshape(h, shape=(*lead, *(1,) * len(window), *out))
    values = xp.where(inside, spread_out, xp.zeros_like(inside, dtype=h.dtype))
    flat = xp.take_put(values, place, axis=len(lead), size=product(sizes))
    return xp.reshape(flat, shape=(*lead, *sizes))
