"""From a call on tensors to a kernel and a node, for any mixture of arguments; and views.

`operators` does the same for the arguments that are common, faster. The *home* of a call is the back end that computes
it, which the types of its arguments tell.
"""

import functools
import operator
import weakref
from collections.abc import Sequence
from typing import Any

from . import device, dtype as dtypes
from .box import INFERENCE, Alias, Box
from .errors import DeviceError
from .items import meta_of
from .modes import recorded, state, unusual
from .primitive import ELEMENTWISE, Primitive, registry
from .tape import NOTHING, Extras, Fork, Node, Output, make_node

SCALARS = (bool, int, float, complex)

#: Dtypes of which Python floats take the dtype; back ends add theirs.
floats: set[Any] = set()
complexes: set[Any] = set()
halves: set[Any] = set()  # those of 16 bits, which hold numbers that float32 computes with

#: Types of libraries' scalars -> the Python numbers that they count as; back ends add theirs.
numbers: dict[type, type] = {}

#: What is defined above the engine, by name: ``Tensor``, which results are boxed in; ``refuse``, which says what is
#: wrong with a call; ``only_real``, which refuses complex numbers; ``in_single``, which computes in float32 what is
#: given in 16 bits; ``widest`` and ``in_widest``, for floats of several dtypes; ``setting``, which makes a number of
#: what stands for one; ``joined`` and ``parted``, for calls with any number of tensors or results that are alike;
#: ``track_copy``, for libraries that copy where others give views.
bound: dict[str, Any] = {}


# -- parts that both paths use -------------------------------------------------------------------
def settle(y: Any, lead: Any) -> Any:
    """Make a kernel's result an array like its input."""
    return device.by_array[type(lead)].settle(y)


def _promote(primitive: Primitive, arrays: Sequence[Any], keywords: dict[str, Any]) -> Sequence[Any]:
    """Integers that are to become floats, by the function or by a Python float, take the default dtype first."""
    if primitive.dtype != "float" and float not in map(type, arrays) and complex not in map(type, arrays):
        return arrays
    meant = range(len(arrays)) if primitive.variadic or not primitive.values else primitive.values
    own = [i in meant and type(a) in device.by_array for i, a in enumerate(arrays)]
    if keywords.get("dtype") is not None or any(a.dtype in floats for a, o in zip(arrays, own, strict=True) if o):
        return arrays
    default = dtypes.get_default_dtype()
    if any(own):
        return [device.by_array[type(a)].cast(a, default) if o else a for a, o in zip(arrays, own, strict=True)]
    _, first = home_of(*map(type, arrays))  # numbers alone, beside a condition
    home, made = device.by_array[type(arrays[first])], list(arrays)
    for i in meant:
        default = dtypes.default_complex_dtype() if type(arrays[i]) is complex else default
        made[i] = home.full((), arrays[i], default, home.device_of(arrays[first]))
    return made


@functools.cache
def lifted(kinds: tuple[int, ...], *found: Any) -> Any:
    """The dtype that those of some kinds, integers, take beside floats, lest they lift them; None: nothing is to do."""
    inexact = {dtype for dtype in found if dtype in floats}
    if not inexact or not any(dtypes.rank(dtype) in kinds for dtype in found):
        return None
    names = {dtypes.plain_name(dtype) for dtype in inexact}
    promote = device.backend_named("cpu").xp.result_type
    return inexact.pop() if len(names) == 1 else promote(*map(dtypes.named, names))


def promoted(*found: Any) -> Any:
    """The dtype that arrays of canonical dtypes come to."""
    dtype = lifted((1,), *found)
    return device.backend_named("cpu").xp.result_type(*found) if dtype is None else dtype


def unified(primitive: Primitive, arrays: Sequence[Any]) -> Any:
    """The arguments with integers in the dtype of the floats beside them; what comes next sees one kind."""
    meant = range(len(arrays)) if primitive.variadic else primitive.values
    places = [i for i in meant if i < len(arrays) and type(arrays[i]) in device.by_array]
    found = {arrays[i].dtype for i in places}
    dtype = lifted(primitive.yields, *found) if len(found) > 1 else None
    if dtype is None:
        return arrays
    cast = [i for i in places if dtypes.rank(arrays[i].dtype) in primitive.yields]
    return [device.by_array[type(a)].cast(a, dtype) if i in cast else a for i, a in enumerate(arrays)]


def fits(y: Any, *arrays: Any) -> tuple[Any, ...]:
    """What each cotangent must become: shape, dtype, and the batch levels it was spread over."""
    levels = getattr(y, "levels", ())
    return tuple([
        None if type(a) not in device.by_array else (a.shape, a.dtype, _missing(levels, a) if levels else ())
        for a in arrays
    ])  # fmt: skip


def alike(array: Any, *others: Any) -> bool:
    """Whether arrays are made of the same levels, so that no cotangent has to leave one."""
    own = getattr(array, "levels", ())
    return all(getattr(other, "levels", ()) == own for other in others)


def _missing(levels: Any, array: Any) -> tuple[Any, ...]:
    own = getattr(array, "levels", ())
    return tuple(level for level in levels if level not in own)


def place_of(array: Any) -> Any:
    """The device and stream that work on an array goes to now, where its back end has streams."""
    find = device.places.get(type(array))
    return None if find is None else find(array)


def extras_of(*arrays: Any) -> Any:
    """What a node of work on arrays, some of which may have a place, knows beside the usual.

    Places that have what extras have, and nothing in it, are shared by all nodes that ran there.
    """
    for array in arrays:
        find = device.places.get(type(array))
        if find is not None:
            found = find(array)
            return found if hasattr(found, "hooked") else Extras(found)
    return None


def raw(x: Any) -> Any:
    """The array of a tensor, or the array itself."""
    return x if type(x) in device.by_array else x.array


def dtype_of(x: Any) -> Any:
    """The dtype of a tensor or an array; None for anything else."""
    return getattr(getattr(x, "array", x), "dtype", None)


def box(array: Any, node: Any = None) -> Any:
    """A new tensor around an array."""
    made = bound["blank"]()
    made.array, made._node, made._grad, made._alias = array, node, None, state.fresh if unusual and not node else None
    return made


def history(x: Any) -> Any:
    """The node of a view; replayed from its base where an in-place operation rewrote that."""
    alias = x._alias
    if alias is INFERENCE:
        return x._node
    base = alias.base
    now = base._node if base._alias is None else history(base)
    if now is not alias.seen and isinstance(now, (Node, Output)):
        if not alias.steps:
            raise RuntimeError(
                f"a tensor that {alias.barrier} shares memory with one that was modified in place since; "
                f"take it again after the modification, or clone it before"
            )
        with recorded(True):
            fresh = base
            for step, keywords in alias.steps:
                fresh = step.op(fresh, **keywords)
        old, x._node, alias.seen = x._node, fresh._node, now
        move_retain(x, old)
    return x._node


def move_retain(x: Any, old: Any) -> None:
    """A tensor that retains its gradient retains that of its newest value; hooks stay with the old one."""
    new, extras = x._node, None if old is None else old.extras
    if extras is not None and extras.retain is not None and extras.retain() is x and new not in (None, old):
        new.more().retain, extras.retain = extras.retain, None


def node_of(x: Any) -> Any:
    """The node of a tensor, brought up to date."""
    return x._node if x._alias is None else history(x)


def track_view(x: Any, out: Any, primitive: Primitive, keywords: dict[str, Any]) -> None:
    """If a result shares its input's memory, note from which base and how."""
    if type(out.array) is type(x.array):
        storage = device.by_array[type(x.array)].storage
        if storage(out.array) is storage(x.array):
            out._alias = alias_of(x, ((primitive, keywords),))
        if device.copying:
            bound["track_copy"](x, out, primitive.name, keywords)


def share_memory(primitive: Primitive, x: Any, out: Sequence[Any], keywords: dict[str, Any]) -> None:
    """Note of all views that a call returned what they are views of."""
    for made in out:
        if type(made.array) is type(x.array):
            made._alias = alias_of(x, (), f"is one of several views that {primitive.name} returned")
            if device.copying:
                bound["track_copy"](x, made, primitive.name, keywords)


def alias_of(x: Any, steps: tuple[Any, ...], barrier: str | None = None) -> Alias | None:
    """The alias of a view of x. Without steps its history, and that of its own views, can't be replayed."""
    if x._alias is INFERENCE:
        return INFERENCE
    if not state.recording:
        barrier = "is a view made in inference mode" if state.fresh else barrier or "is a view made under no_grad"
    if x._alias is None:
        return Alias(x, steps, x._node, barrier)
    parent = x._alias
    steps = parent.steps + steps if parent.steps and steps else ()
    return Alias(parent.base, steps, parent.seen, barrier or parent.barrier)


# -- the generic path ----------------------------------------------------------------------------
def compute(primitive: Primitive, arrays: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Run a primitive on raw arrays, batched ones and Python scalars in any mixture."""
    if primitive.real:
        bound["only_real"](primitive.name, *arrays)
    home, first = home_of(*map(type, arrays))
    if home is None:
        return _compute_mixed(primitive, arrays, keywords)
    if home.rank:  # which computes one level down
        return primitive.kernels_for(type(arrays[first])).usual(*arrays, **keywords)
    if arrays[first].dtype not in floats:
        arrays = _promote(primitive, arrays, keywords)
    dtype = arrays[first].dtype if primitive.dtype == "float" else None
    y = primitive.kernels_for(type(arrays[first]), dtype).of(*arrays)(*arrays, **keywords)
    return tuple(map(home.settle, y)) if primitive.outputs else home.settle(y)


@functools.cache
def home_of(*kinds: type) -> tuple[Any, int]:
    """The back end that computes with arguments of these types, and the place of the first array of it.

    Layers come before raw arrays. None: there are several, and the arrays themselves tell what is to be done.
    """
    homes = [device.by_array.get(kind) for kind in kinds]
    found = {id(home): home for home in homes if home is not None}
    chosen = [home for home in found.values() if home.rank] or list(found.values())
    return (chosen[0], homes.index(chosen[0])) if len(chosen) == 1 else (None, 0)


def _compute_mixed(primitive: Primitive, arrays: Sequence[Any], keywords: dict[str, Any]) -> Any:
    own = [a for a in arrays if type(a) in device.by_array]
    layers = [a for a in own if device.by_array[type(a)].rank]
    if layers:
        newest = max(layers, key=operator.attrgetter("level"))
        return primitive.kernels_for(type(newest)).usual(*arrays, **keywords)
    for a in own:
        if device.by_array[type(a)].mixes:  # two kinds of arrays of one device
            return primitive.kernels_for(type(a)).usual(*arrays, **keywords)
    return compute(primitive, meet(primitive, arrays), keywords)


def meet(primitive: Primitive, values: Sequence[Any]) -> Sequence[Any]:
    """Bring values of several back ends together: 0-d CPU ones go to the others' device, else it's an error."""
    arrays = [value.array if isinstance(value, Box) else value for value in values]
    homes = [device.recognise(a) for a in arrays]
    found = {str(b.device_of(a)): a for a, b in zip(arrays, homes, strict=True) if b is not None and b.rank == 0}
    elsewhere = [name for name, a in found.items() if name != "cpu"]
    if not elsewhere or len(found) == 1:
        return values  # arrays of one device, some of them batched
    met, move = list(values), registry["transfer"].op
    for i, (a, home) in enumerate(zip(arrays, homes, strict=True)):
        if len(elsewhere) > 1 or (home is not None and home.name == "cpu" and a.shape != ()):
            k = next((k for k, value in enumerate(values) if device.library_of(value)), None)
            raise different(primitive.name, *found) if k is None else bound["foreign"](primitive.name, k, values[k])
        if home is not None and home.name == "cpu":
            moved = move(values[i] if isinstance(values[i], Box) else box(a), device=elsewhere[0])
            met[i] = moved if isinstance(values[i], Box) else moved.array
    return met


def different(name: str, *places: str) -> DeviceError:
    """What is wrong with tensors of several devices."""
    return DeviceError(
        f"{name}: given tensors on {' and '.join(sorted(places))}, expected one device; "
        f"move one with .to({max(places)!r})"
    )


def number(value: Any) -> Any:
    """A library's scalar as the Python number that it counts as; anything else as it is."""
    plain = numbers.get(type(value))
    return value if plain is None else plain(value)


def unwrap(primitive: Primitive, value: Any) -> tuple[Any, Any]:
    """The raw array (or scalar) and the node of one argument; NotImplemented for a foreign object."""
    if isinstance(value, Box):
        return value.array, node_of(value)
    value = number(value)
    if value is None or value.__class__ in SCALARS:  # a number that is traced says that it is a float
        return value, None
    home = device.by_array.get(type(value))
    if home is not None:  # a raw array, which may be in another order of bytes
        return value if home.rank else home.asarray(value), None
    for backend in set(device.by_array.values()):
        if backend.accepts(value):
            return backend.asarray(value), None
    return NotImplemented, None


def apply(primitive: Primitive, args: Sequence[Any], keywords: dict[str, Any], strict: bool = True) -> Any:
    """Call a primitive on any mixture of tensors, arrays and scalars."""
    if unusual and primitive.precision is not None and state.casting is not None:
        args = state.casting(primitive, args)
    if not numbers.keys().isdisjoint(map(type, args)):  # with Python's numbers the compiled operator takes them all
        return primitive.op(*map(number, args), **keywords)
    if primitive.single and dtype_of(args[0]) in halves:
        return bound["in_single"](primitive.op, args, keywords)
    for value in args:
        device.recognise(value)  # lest it mattered whether its library was met before
    args = meet(primitive, args) if len(device._by_name) > 1 else args
    pairs = [unwrap(primitive, value) for value in args]
    for i, (array, _) in enumerate(pairs):
        if array is NotImplemented or (array is None and args and not _may_be_none(primitive, i)):
            if not strict and device.library_of(args[i]) is None:
                return NotImplemented
            raise bound["foreign"](primitive.name, i, args[i])
    arrays = [array for array, _ in pairs]
    if not any(type(a) in device.by_array for a in arrays):
        if not arrays:
            raise TypeError(f"{primitive.name}: expected at least one tensor")
        cpu = device.backend_named("cpu")
        arrays = [a if a is None else cpu.asarray(float(a) if a.__class__ is float else a) for a in arrays]
    if not primitive.mixes and bound["widest"](*(dtype_of(arrays[i]) for i in primitive.values)) is not None:
        return bound["in_widest"](primitive, args, keywords)
    arrays = unified(primitive, arrays)
    nodes = [node if state.recording else None for _, node in pairs]
    tensor = args[0] if args and isinstance(args[0], Box) else None
    y = compute(primitive, arrays, keywords)
    if not primitive.outputs and y.dtype not in floats:
        nodes = [None] * len(nodes)  # integers are constants
    if primitive.variadic:
        wanted = tuple(i for i, n in enumerate(nodes) if n is not None) if primitive.joint else ()
    else:
        wanted = tuple(i for i in primitive.differentiable if i < len(nodes) and nodes[i] is not None)
    call = primitive, y, arrays, nodes, wanted, keywords
    if not primitive.outputs:
        out = box(y)
        if wanted:
            out._node, out._alias = record(*call), None
        if primitive.view and tensor is not None:
            track_view(tensor, out, primitive, keywords)
    else:
        out = tuple(map(box, y))
        for made, end in zip(out, record_fork(*call, [True] * len(y)) if wanted and out else ()):
            if made.array.dtype in floats:
                made._node, made._alias = end, None
        if primitive.view and tensor is not None:
            share_memory(primitive, tensor, out, keywords)
    if unusual and state.told is not None:
        state.told(primitive, tuple(args), out)
    return out


def _may_be_none(primitive: Primitive, i: int) -> bool:
    return not primitive.variadic and primitive.arrays[i] in primitive.optional


def record(
    primitive: Primitive,
    y: Any,
    arrays: Sequence[Any],
    nodes: Sequence[Any],
    wanted: tuple[int, ...],
    keywords: dict[str, Any],
    node_type: type[Node] = Node,
) -> Any:
    """Make the node of a call."""
    first = y[0] if primitive.outputs else y
    limit = device.by_array[type(first)].limit if primitive.kind is ELEMENTWISE else None
    large = limit is not None and first.size > limit
    recipe = primitive.recipe(wanted, True) if large else primitive.recipe(() if primitive.variadic else wanted)
    among = wanted if len(wanted) < 8 else frozenset(wanted)  # a join of thousands takes linear time
    inputs = tuple(node if i in among else None for i, node in enumerate(nodes))
    origin = inputs if recipe.only is None else inputs[recipe.index]
    extras = extras_of(first, *arrays)
    if node_type is not Node:
        extras = NOTHING if extras is None else Extras(extras.place)
    saved = recipe.save(y, arrays, keywords)
    return make_node(node_type, recipe, saved, origin, fits(first, *arrays), extras, y, arrays, keywords)


def record_fork(
    primitive: Primitive,
    y: tuple[Any, ...],
    arrays: Sequence[Any],
    nodes: Sequence[Any],
    wanted: tuple[int, ...],
    keywords: dict[str, Any],
    is_array: Sequence[bool],
) -> list[Output]:
    """Make the node of a call with several results, of which some are arrays: the ends of those."""
    fork = record(primitive, y, arrays, nodes, wanted, keywords, Fork)
    ends = [Output(fork, k) for k, own in enumerate(is_array) if own]
    metas, outputs = map(meta_of, y), map(weakref.ref, ends)
    fork.metas = tuple([next(metas) if own else None for own in is_array])
    fork.outputs = tuple([next(outputs) if own else None for own in is_array])
    return ends
