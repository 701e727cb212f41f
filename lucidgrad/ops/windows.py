"""Windows that slide over the last axes, and convolution.

`unfold_windows` and `fold_windows` are each other's transposes. Convolution is linear in its input and in its weights,
and so are the functions that pull its cotangents back: the three are closed under differentiation.
"""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core.primitive import LINEAR, REDUCTION, primitive
from lucidgrad.extents import Sizes, check_channels, lead_and_last, out_sizes
from lucidgrad.levels.batching import of_one_batch
from lucidgrad.levels.layer import run

from .axes import beside, product
from .jvp_rules import bilinear


# -- places of windows ----------------------------------------------------------------------------
def positions(
    xp: Any, x: Any, sizes: Sizes, out: Sizes, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> tuple[Any, Any]:
    """For each element of each window its place in the flat plane, and whether it lies inside: (*window, *out)."""
    place, inside = None, None
    for a, (n, o, k, s, p, d) in enumerate(zip(sizes, out, window, stride, padding, dilation, strict=True)):
        lined = [1] * (2 * len(sizes))
        lined[a] = k
        first = xp.reshape(xp.arange(k, dtype=xp.int64, **beside(x)), shape=tuple(lined)) * d
        lined[a], lined[a + len(sizes)] = 1, o
        at = first + xp.reshape(xp.arange(o, dtype=xp.int64, **beside(x)), shape=tuple(lined)) * s - p
        here = (at >= 0) & (at < n)
        at = xp.where(here, at, 0)
        place = at if place is None else place * n + at
        inside = here if inside is None else inside & here
    return place, inside


def _as_is(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    """Batching for what acts on the last axes."""
    return call(*values, **keywords)


# -- an adjoint pair -----------------------------------------------------------------------------
def _unfold_vjp(xp: Any, g: Any, x_meta: Any, *, window: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    sizes = lead_and_last(x_meta.shape, len(window))[1]
    return xp.fold_windows(g, sizes=sizes, stride=stride, padding=padding, dilation=dilation)


@primitive(LINEAR, vjp=_unfold_vjp, batch=_as_is)
def unfold_windows(xp: Any, x: Any, /, *, window: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """The windows of the last axes: ``(*lead, *sizes)`` becomes ``(*lead, *window, *places)``; zeros lie outside.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.windows import unfold_windows
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> y = unfold_windows(x, window=(2,), stride=(1,), padding=(0,), dilation=(1,))
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[1.0, 2.0], [2.0, 3.0]], [1.0, 2.0, 1.0])
    """
    lead, sizes = lead_and_last(x.shape, len(window))
    out = out_sizes("unfold_windows", sizes, window, stride, padding, dilation)
    place, inside = positions(xp, x, sizes, out, window, stride, padding, dilation)
    flat = xp.reshape(x, shape=(*lead, product(sizes)))
    return xp.where(inside, xp.take(flat, place, axis=len(lead)), xp.zeros_like(inside, dtype=x.dtype))


def _fold_vjp(xp: Any, g: Any, h_meta: Any, *, sizes: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    window = h_meta.shape[-2 * len(sizes) : -len(sizes)]
    return xp.unfold_windows(g, window=tuple(window), stride=stride, padding=padding, dilation=dilation)


@primitive(LINEAR, vjp=_fold_vjp, batch=_as_is)
def fold_windows(xp: Any, h: Any, /, *, sizes: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """Windows added up where they came from: the adjoint of `unfold_windows`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.windows import fold_windows
    >>> h = lg.ones((2, 2), requires_grad=True)
    >>> fold_windows(h, sizes=(3,), stride=(1,), padding=(0,), dilation=(1,)).tolist()
    [1.0, 2.0, 1.0]
    """
    lead, both = lead_and_last(h.shape, 2 * len(sizes))
    window, out = both[: len(sizes)], both[len(sizes) :]
    place, inside = positions(xp, h, sizes, out, window, stride, padding, dilation)
    h = xp.where(inside, h, xp.zeros_like(inside, dtype=h.dtype))
    flat = xp.take_put(h, place, axis=len(lead), size=product(sizes))
    return xp.reshape(flat, shape=(*lead, *sizes))


# -- convolution ---------------------------------------------------------------------------------
def _columns(xp: Any, x: Any, window: Sizes, groups: int, **steps: Any) -> Any:
    """Windows as columns of matrices, one for each example and group."""
    cols = xp.unfold_windows(x, window=window, **steps)
    n, c = x.shape[:2]
    return xp.reshape(cols, shape=(n, groups, c // groups * product(window), product(cols.shape[2 + len(window) :])))


def _rows(xp: Any, w: Any, groups: int) -> Any:
    """Weights as a matrix for each group."""
    return xp.reshape(w, shape=(groups, w.shape[0] // groups, product(w.shape[1:])))


def _grouped(xp: Any, h: Any, groups: int) -> Any:
    """Values at the places of windows as a matrix for each example and group."""
    n, o = h.shape[:2]
    return xp.reshape(h, shape=(n, groups, o // groups, product(h.shape[2:])))


def _into_channels(x: Any) -> Any:
    """A batch of inputs as one whose channels are those of all examples."""
    b, n, c, *rest = x.shape
    return run("reshape", run("moveaxis", x, source=0, destination=1), shape=(n, b * c, *rest))


def _out_of_channels(y: Any, b: int) -> Any:
    n, c, *rest = y.shape
    return run("moveaxis", run("reshape", y, shape=(n, b, c // b, *rest)), source=1, destination=0)


def _stacked(w: Any) -> Any:
    """A batch of weights as those of one group each."""
    return run("reshape", w, shape=(w.shape[0] * w.shape[1], *w.shape[2:]))


def _of_none(rule: Any, call: Any, values: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A batch without examples, which would have no groups: of one that is cut off again."""
    one = [run("put_add", v, key=(slice(0, 0),), shape=(1, *v.shape[1:])) for v in values]
    return run("index", rule(call, one, (True, True), keywords), key=(slice(0, 0),))


def _with_weights(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    """Batching for an input and weights: more examples, or, where weights differ, more groups."""
    x, w = values
    if not batched[1]:
        b, n, *rest = x.shape
        y = call(run("reshape", x, shape=(b * n, *rest)), w, **keywords)
        return run("reshape", y, shape=(b, n, *y.shape[1:]))
    x, w = of_one_batch(values, batched)
    b = x.shape[0]
    if not b:
        return _of_none(_with_weights, call, (x, w), keywords)
    y = call(_into_channels(x), _stacked(w), **{**keywords, "groups": keywords["groups"] * b})
    return _out_of_channels(y, b)


def _for_weights(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    x, h = of_one_batch(values, batched)
    b = x.shape[0]
    if not b:
        return _of_none(_for_weights, call, (x, h), keywords)
    y = call(_into_channels(x), _into_channels(h), **{**keywords, "groups": keywords["groups"] * b})
    return run("reshape", y, shape=(b, y.shape[0] // b, *y.shape[1:]))


def _conv_x(xp: Any, g: Any, w: Any, x_meta: Any, *, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    steps = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return xp.convolution_input(g, w, sizes=x_meta.shape[2:], **steps)


def _conv_w(xp: Any, g: Any, x: Any, w_meta: Any, *, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    steps = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return xp.convolution_weight(x, g, window=w_meta.shape[2:], **steps)


@primitive(
    REDUCTION, vjp=(_conv_x, _conv_w), jvp=bilinear("convolution"), batch=_with_weights, precision="low", single=False
)
def convolution(xp: Any, x: Any, w: Any, /, *, stride: Any, padding: Any, dilation: Any, groups: int = 1) -> Any:
    """Convolution of x ``(n, channels, *sizes)`` with weights ``(outputs, channels / groups, *window)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.windows import convolution
    >>> x, w = lg.tensor([[[1.0, 2.0, 3.0]]], requires_grad=True), lg.tensor([[[1.0, 10.0]]])
    >>> y = convolution(x, w, stride=(1,), padding=(0,), dilation=(1,))
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[[21.0, 32.0]]], [[[1.0, 11.0, 10.0]]])
    """
    check_channels(x.shape, w.shape, groups)
    window = tuple(w.shape[2:])
    out = out_sizes("convolution", tuple(x.shape[2:]), window, stride, padding, dilation)
    cols = _columns(xp, x, window, groups, stride=stride, padding=padding, dilation=dilation)
    return xp.reshape(xp.matmul(_rows(xp, w, groups), cols), shape=(x.shape[0], w.shape[0], *out))


def _input_h(xp: Any, g: Any, w: Any, *, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    return xp.convolution(g, w, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _input_w(xp: Any, g: Any, h: Any, w_meta: Any, *, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    steps = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return xp.convolution_weight(g, h, window=w_meta.shape[2:], **steps)


@primitive(
    REDUCTION,
    vjp=(_input_h, _input_w),
    jvp=bilinear("convolution_input"),
    batch=_with_weights,
    precision="low",
    single=False,
)
def convolution_input(
    xp: Any, h: Any, w: Any, /, *, sizes: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1
) -> Any:
    """The cotangent of an input of these sizes for a cotangent h of a convolution: a transposed convolution.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.windows import convolution_input
    >>> h, w = lg.ones((1, 1, 2)), lg.tensor([[[1.0, 10.0]]])
    >>> convolution_input(h, w, sizes=(3,), stride=(1,), padding=(0,), dilation=(1,)).tolist()
    [[[1.0, 11.0, 10.0]]]
    """
    n, window, out = h.shape[0], tuple(w.shape[2:]), tuple(h.shape[2:])
    cols = xp.matmul(xp.matrix_transpose(_rows(xp, w, groups)), _grouped(xp, h, groups))
    cols = xp.reshape(cols, shape=(n, w.shape[1] * groups, *window, *out))
    return xp.fold_windows(cols, sizes=tuple(sizes), stride=stride, padding=padding, dilation=dilation)


def _weight_x(xp: Any, g: Any, h: Any, x_meta: Any, *, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    steps = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return xp.convolution_input(h, g, sizes=x_meta.shape[2:], **steps)


def _weight_h(xp: Any, g: Any, x: Any, *, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    return xp.convolution(x, g, stride=stride, padding=padding, dilation=dilation, groups=groups)


@primitive(REDUCTION, vjp=(_weight_x, _weight_h), jvp=bilinear("convolution_weight"), batch=_for_weights, single=False)
def convolution_weight(
    xp: Any, x: Any, h: Any, /, *, window: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1
) -> Any:
    """The cotangent of weights with a window for a cotangent h of a convolution of x.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.windows import convolution_weight
    >>> x, h = lg.tensor([[[1.0, 2.0, 3.0]]]), lg.ones((1, 1, 2))
    >>> convolution_weight(x, h, window=(2,), stride=(1,), padding=(0,), dilation=(1,)).tolist()
    [[[3.0, 5.0]]]
    """
    cols = _columns(xp, x, tuple(window), groups, stride=stride, padding=padding, dilation=dilation)
    w = xp.sum(xp.matmul(_grouped(xp, h, groups), xp.matrix_transpose(cols)), axis=0)
    return xp.reshape(w, shape=(h.shape[1], x.shape[1] // groups, *window))
