"""Joins and parts of tensors, the common case: one call of a kernel and one node."""

import weakref
from collections.abc import Sequence
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.dispatch import bound, box, extras_of, floats, history, record_fork, settle, share_memory
from lucidgrad.core.items import meta_of
from lucidgrad.core.primitive import Primitive
from lucidgrad.core.tape import Fork, Node, Output, make_node

__all__ = ["ends_of", "joined", "parted"]


def joined(primitive: Primitive, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A call on tensors of one kind; None where something else is among them."""
    tensor_type, recorded = bound["Tensor"], False
    arrays: list[Any] = []
    nodes: list[Any] = []
    for x in args:
        if type(x) is not tensor_type:
            return None
        array, node = x.array, x._node if x._alias is None else history(x)
        if arrays and (type(array) is not type(arrays[0]) or array.dtype != arrays[0].dtype):
            return None
        recorded = recorded or node is not None
        arrays.append(array)
        nodes.append(node)
    if not arrays or (recorded and (device.by_array[type(arrays[0])].rank or arrays[0].dtype not in floats)):
        return None  # cotangents may have to leave a level
    y = primitive.find_kernel(type(arrays[0]))(*arrays, **keywords)
    y = y if type(y) is type(arrays[0]) else settle(y, arrays[0])
    if not recorded or primitive.joint is None or y.dtype not in floats:
        return box(y)
    recipe = primitive.recipe(())
    saved = recipe.save(y, arrays, keywords)
    extras = extras_of(y) if device.places else None
    return box(y, make_node(Node, recipe, saved, tuple(nodes), None, extras, y, arrays, keywords))


def parted(primitive: Primitive, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The parts of a tensor, views of it; None where something else was given."""
    x: Any = args[0] if args else None
    if type(x) is not bound["Tensor"] or x.array.dtype not in floats or device.by_array[type(x.array)].rank:
        return None
    node = x._node if x._alias is None else history(x)
    ys = primitive.find_kernel(type(x.array))(x.array, **keywords)
    out = tuple([box(y) for y in ys])
    if node is not None and out:
        call = primitive, ys, (x.array,), (node,), (0,), keywords
        for made, end in zip(out, record_fork(*call, [True] * len(ys))):
            made._node = end
    share_memory(primitive, x, out, keywords)
    return out


def ends_of(fork: Fork, ys: tuple[Any, ...]) -> list[Output]:
    """The ends of a fork all of whose results are arrays, as `record_fork` makes them; for the engine in C."""
    ends = [Output(fork, k) for k in range(len(ys))]
    fork.metas, fork.outputs = tuple(map(meta_of, ys)), tuple(map(weakref.ref, ends))
    return ends


bound["joined"], bound["parted"] = joined, parted
