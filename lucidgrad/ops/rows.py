"""Lookups whose gradients are the rows that were looked up, and what steps of optimisers do with such gradients."""

import functools
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.dispatch import box
from lucidgrad.core.primitive import LINEAR, Primitive, Recipe
from lucidgrad.core.tape import Leaf, Node, touch
from lucidgrad.inplace import check_writable
from lucidgrad.levels.rows import RowSparse, rows_at

from .indexing.taking import take

__all__ = ["add_multiple", "summed", "take_rows", "touched"]

_TAKE: Primitive = take.primitive  # type: ignore[attr-defined]
_DEVICES = ("cpu", "cuda")  # whose back ends have all that sums of rows need


@functools.cache
def _recipe(nowhere: int | None) -> Recipe:
    """What nodes of `take` get in place of their own recipe: its rule gives rows of what is not recorded or traced."""
    dense = _TAKE.rules[0]

    def rule(xp: Any, g: Any, i: Any, x_meta: Any, *, axis: Any) -> Any:
        home = device.by_array.get(type(g))
        if home is None or home.name not in _DEVICES or type(i) is not type(g) or g.dtype != x_meta.dtype:
            return dense(xp, g, i, x_meta, axis=axis)
        return rows_at(i, g, x_meta.shape[0], nowhere)

    made = Primitive(
        _TAKE.program, LINEAR, (rule, None), _TAKE.jvp, _TAKE.batch, False, False, _TAKE.dtype, None, _TAKE.single
    )
    return made.recipe((0,))


def take_rows(x: Any, i: Any, nowhere: int | None = None) -> Any:
    """Rows of a tensor at indices from 0 up: `take`, whose gradient is row-sparse if x is a leaf.

    Of the row ``nowhere`` the gradient says nothing. It is dense where it is recorded (``create_graph=True``), traced
    or mapped, and on devices other than the CPU and CUDA.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.rows import take_rows
    >>> x = lg.ones((3, 2), requires_grad=True)
    >>> take_rows(x, lg.asarray([2, 2])).sum().backward()
    >>> x.grad.is_sparse, x.grad.to_dense().tolist()
    (True, [[0.0, 0.0], [0.0, 0.0], [2.0, 2.0]])
    """
    y = take(x, i, axis=0)
    node = y._node
    if type(node) is Node and type(node.origin) is Leaf:
        node.recipe = _recipe(nowhere)
    return y


def touched(g: Any) -> tuple[Any, Any, Any]:
    """The rows of a row-sparse gradient, the sum for each, and None or a tensor that says whether there are none.

    On CUDA, which is not waited for, a row may be there several times, each time with the same sum.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.rows import take_rows, touched
    >>> x = lg.ones((3, 2), requires_grad=True)
    >>> take_rows(x, lg.asarray([2, 2])).sum().backward()
    >>> touched(x.grad)[:2]
    (tensor([2]), tensor([[2., 2.]]))
    """
    at, values, none = g.array.touched()
    return box(at), box(values), None if none is None else box(none)


def add_multiple(x: Any, g: Any, factor: float) -> bool:
    """Add a multiple of a row-sparse gradient to a tensor, in place; False where that would take a pass over all of it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.rows import add_multiple, take_rows
    >>> x = lg.ones((3, 1), requires_grad=True)
    >>> take_rows(x, lg.asarray([2, 2])).sum().backward()
    >>> add_multiple(x, x.grad, -0.25), x.tolist()
    (True, [[1.0], [1.0], [0.5]])
    """
    rows, array = g.array, x.array
    if type(rows.values) is not type(array) or rows.dtype != array.dtype or not rows.adds_in_place:
        return False
    check_writable(x, "add_multiple", recording=False)
    rows.with_values(rows.values * factor).add_to(array)
    touch(array)
    return True


def summed(g: Any) -> Any:
    """A tensor of the same norm: the rows of a row-sparse gradient, each once, and perhaps zeros; others as they are.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.rows import summed, take_rows
    >>> x = lg.ones((3, 2), requires_grad=True)
    >>> take_rows(x, lg.asarray([2, 2])).sum().backward()
    >>> summed(x.grad).sum()
    tensor(4.)
    """
    return box(g.array.totals()) if type(g.array) is RowSparse else g
