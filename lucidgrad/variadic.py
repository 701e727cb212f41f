"""Functions of any number of inputs, or of several results: joins, parts, and what has more inputs than a template.

Joins and parts of tensors of one kind are recorded here; everything else goes to `dispatch.apply`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .core import device
from .core.dispatch import apply, bound, box, extras_of, floats, history, record_fork, settle, share_memory
from .core.modes import unusual
from .core.primitive import Primitive
from .core.tape import Node, make_node
from .spelling import REQUIRED, complete, others, settings


def generic(primitive: Primitive) -> Callable[..., Any]:
    """The function that users call; nothing of it is compiled."""
    defaults, numbers = primitive.keywords, settings(primitive.program)
    by_position = tuple(defaults) if primitive.variadic else primitive.positional  # after a sequence, as PyTorch
    ours = {other: k for k in defaults for other in others(defaults, k)}
    inputs = 0 if primitive.variadic else len(primitive.arrays)
    joins = primitive.variadic and not primitive.outputs
    parts = primitive.outputs and primitive.view and len(primitive.arrays) == 1 and not primitive.variadic

    def op(*args: Any, **keywords: Any) -> Any:
        if primitive.variadic and len(args) >= 1 and isinstance(args[0], (list, tuple)):
            args, extra = tuple(args[0]), args[1:]
        else:
            extra = () if primitive.variadic else args[len(primitive.arrays) :]
            args = args[: len(args) - len(extra)]
            if len(args) < inputs and primitive.arrays[len(args)] in primitive.optional:
                args += (None,) * (inputs - len(args))  # rules and nodes speak of all inputs
        if extra and len(extra) <= len(by_position) and keywords.keys().isdisjoint(by_position[: len(extra)]):
            given = {**defaults, **dict(zip(by_position, extra)), **keywords}
            extra = () if len(given) == len(defaults) else extra
        else:
            given = {**defaults, **keywords}
        for k in numbers:
            given[k] = bound["setting"](given[k], primitive.name, k)
        try:
            if extra or len(given) > len(defaults) or REQUIRED in given.values():
                given = complete(
                    primitive.name, defaults, ours, zip(by_position, extra), extra[len(by_position) :], keywords
                )
            if not unusual:
                y = _joined(primitive, args, given) if joins else _parted(primitive, args[0], given) if parts else None
                if y is not None:
                    return y
            return apply(primitive, args, given)
        except Exception as error:
            bound["refuse"](error, primitive, args, given)
            raise

    return op


def _joined(primitive: Primitive, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A call on tensors of one kind; None where something else is among them."""
    tensor_type, arrays, nodes, recorded = bound["Tensor"], [], [], False
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


def _parted(primitive: Primitive, x: Any, keywords: dict[str, Any]) -> Any:
    """The parts of a tensor, views of it; None where something else was given."""
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


bound["generic"] = generic
