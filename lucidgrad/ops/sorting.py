"""Order: sorting is a permutation found without derivatives, then applied with them."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core import dtype as dtypes
from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.core.primitive import REDUCTION, primitive
from lucidgrad.levels.batching import shift_axis
from lucidgrad.levels.layer import run

from .axes import axis_of, part
from .conventions import ValuesAndIndices, dressed, pick
from .indexing.taking import take, take_along_axis


def _batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    (x,) = values
    if len(x.shape) > 1:
        return shift_axis(call, values, batched, keywords)
    i = call(run("reshape", x, shape=(x.shape[0], 1)), **{**keywords, "axis": 1})
    return run("reshape", i, shape=x.shape)


@primitive(REDUCTION, batch=_batch)
def argsort(xp: Any, x: Any, /, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Positions that sort an array along an axis. Ties keep their order; NaN counts as the largest value.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.argsort(lg.asarray([2.0, 3.0, 1.0, 3.0]), descending=True).tolist()
    [1, 3, 0, 2]
    """
    return xp.argsort(x, axis=axis, descending=descending, stable=stable)


def sort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Any:
    """An array sorted along an axis. Ties keep their order; NaN counts as the largest value.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0, 3.0, 1.0], requires_grad=True)
    >>> (lg.sort(x) * lg.asarray([10.0, 20.0, 30.0])).sum().backward()
    >>> x.grad.tolist()
    [20.0, 30.0, 10.0]
    """
    return pick(x, argsort(x, axis=axis, descending=descending, stable=stable), axis).values


@primitive(REDUCTION, batch=_batch)
def argtopk(xp: Any, x: Any, /, k: int, axis: int = -1, largest: bool = True) -> Any:
    """Positions of the k largest (or smallest) values along an axis, in order; NaN counts as the largest.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.sorting import argtopk
    >>> argtopk(lg.asarray([2.0, 5.0, 1.0, 4.0]), 2).tolist()
    [1, 3]
    """
    axis = axis_of("argtopk", axis, x.ndim)
    return part(xp, xp.argsort(x, axis=axis, descending=largest), axis, None, k)


def topk(x: Any, /, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> ValuesAndIndices:
    """The k largest (or smallest) values along an axis, and where they stand; always in order.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0, 5.0, 1.0, 4.0], requires_grad=True)
    >>> values, indices = lg.topk(x, 2)
    >>> values.sum().backward()
    >>> indices.tolist(), x.grad.tolist()
    ([1, 3], [0.0, 1.0, 0.0, 1.0])
    """
    size = x.shape[axis_of("topk", axis, x.ndim)] if x.ndim else 1
    if not 0 <= k <= size:
        raise ValueError(f"topk: given k={k} and an axis of size {size}, expected 0 <= k <= {size}")
    i = argtopk(x, k=k, axis=axis, largest=largest) if x.ndim else argsort(x, axis=axis)
    return pick(x, i, axis)


def _nonzero_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    raise RuntimeError("nonzero: given a batched array, whose examples may give results of different sizes")


@primitive(REDUCTION, batch=_nonzero_batch, outputs=True)
def nonzero(xp: Any, x: Any, /) -> Any:
    """Positions of the elements that are not zero, one array for each axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> [i.tolist() for i in lg.nonzero(lg.asarray([[0.0, 1.0], [2.0, 0.0]]))]
    [[0, 1], [1, 0]]
    """
    return xp.nonzero(x)


def _found(xp: Any, x1: Any, x2: Any, side: str) -> Any:
    """How many along the last axis of x1 stand before each of x2; NaN counts as the largest value."""
    if side == "left":
        before = xp.logical_or(xp.less(x1, x2), xp.logical_and(xp.not_equal(x2, x2), xp.equal(x1, x1)))
    else:
        before = xp.logical_or(xp.less_equal(x1, x2), xp.not_equal(x2, x2))
    return xp.count_nonzero(before, axis=-1)


class _Run:
    """Primitives by name on values one level down."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return functools.partial(run, name)


def _searchsorted_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    x1, x2 = values
    if not batched[0]:
        return call(x1, x2, **keywords)
    rank = len(x2.shape) - batched[1]
    x1 = run("reshape", x1, shape=(x1.shape[0], *(1,) * rank, x1.shape[1]))
    return _found(_Run(), x1, run("expand_dims", x2, axis=-1), keywords["side"])


def _with_sorter(op: Callable[..., Any]) -> Callable[..., Any]:
    """Numbers may be searched for, rows each in a row of their own, and after a permutation that sorts."""

    def searchsorted(
        x1: Any,
        x2: Any,
        /,
        *,
        side: str = "left",
        sorter: Any = None,
        right: bool = False,
        out_int32: bool = False,
    ) -> Any:
        if side not in ("left", "right"):
            raise ValueError(f"searchsorted: given side {side!r}, expected 'left' or 'right'")
        side = "right" if right else side
        shape = tuple(getattr(x1, "shape", ()))
        if not shape:
            raise ValueError(f"searchsorted: given x1 of shape {shape}, expected one dimension or more")
        if sorter is not None:
            x1 = take(x1, sorter, axis=0) if len(shape) == 1 else take_along_axis(x1, sorter, axis=-1)
        y = op(x1, x2, side=side) if len(shape) == 1 else _in_rows(x1, x2, side)
        return ops.astype(y, dtype=dtypes.named("int32")) if out_int32 else y

    return dressed(searchsorted, op)


def _in_rows(x1: Any, x2: Any, side: str) -> Any:
    if tuple(getattr(x2, "shape", ())[:-1]) != tuple(x1.shape[:-1]):
        raise ValueError(
            f"searchsorted: given x1 of shape {tuple(x1.shape)} and x2 of shape {tuple(getattr(x2, 'shape', ()))}, "
            f"expected one dimension of x1, or the same shape but for the last axis"
        )
    return _found(ops, ops.expand_dims(x1, axis=-2), ops.expand_dims(x2, axis=-1), side)


@_with_sorter
@primitive(REDUCTION, batch=_searchsorted_batch)
def searchsorted(xp: Any, x1: Any, x2: Any, /, *, side: str = "left") -> Any:
    """Where the elements of ``x2`` would have to stand in the sorted ``x1``: before equal ones, or right of them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.searchsorted(lg.asarray([1.0, 2.0, 3.0]), lg.asarray([0.0, 2.0, 9.0])).tolist()
    [0, 1, 3]
    """
    return _found(xp, x1, xp.expand_dims(x2, axis=-1), side)
