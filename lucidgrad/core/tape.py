"""The tape: nodes, leaves, what they keep, hooks, and the marks of in-place writes.

*Extras* hold what few nodes have: hooks, notes. A node without any is plain, and the walk spends no thought on it;
where work goes to streams, such nodes share their *place* instead. A *fork* is the node of an operation with several
results; each result's tensor points to an *output* of the fork, which hands the cotangent on to it, so that the rule
runs once, when all have arrived.
"""

import itertools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from . import device
from .items import Meta, meta_of
from .modes import new, unusual
from .primitive import Recipe
from .source import deep, definition, run

#: Counts nodes and in-place writes: what came later has a greater number.
clock = itertools.count(1)

#: Takes the place of saved values once they are freed.
FREED = ("freed",)


# -- in-place writes -----------------------------------------------------------------------------
class _Written:
    """When a piece of memory was last written in place, and how often."""

    __slots__ = ("count", "owner", "when")

    when: int
    count: int
    owner: weakref.ref[Any]


#: Memory that was written in place, by the id of the array that owns it; empty in pure programs.
#: A saved value is stale when its memory was written after its node was made: nothing to record.
written: dict[int, _Written] = {}


class _LastWrite:
    """When the last in-place write was, anywhere: nodes that are younger need not be checked."""

    when: int = 0


last_write = _LastWrite()


def storage(array: Any) -> Any:
    """The array that owns the memory of this one: one for all its views."""
    return device.by_array[type(array)].storage(array)


def touch(array: Any) -> None:
    """Note that the memory of an array was written in place."""
    owner = storage(array)
    key = id(owner)
    mark, when = written.get(key), next(clock)
    if mark is None:
        mark = _Written()
        mark.count, mark.when = 0, when
        mark.owner = weakref.ref(owner, lambda _: written.pop(key, None))
        written[key] = mark
    mark.count += 1
    mark.when = last_write.when = when


def version(array: Any) -> int:
    """How often the memory of an array was written in place."""
    mark = written.get(id(storage(array)))
    return mark.count if mark else 0


def check_saved(node: "Node") -> None:
    """Raise if a value that the node keeps was written in place since."""
    primitive = node.recipe.primitive
    for item, value in zip(node.recipe.items, node.saved, strict=True):
        for array in value if type(value) is tuple else (value,):
            if type(array) not in device.by_array:
                continue
            mark = written.get(id(storage(array)))
            if mark is not None and mark.when > node.when:
                what = item.describe(primitive.arrays)
                raise RuntimeError(
                    f"backward through {primitive.name}: a value it keeps ({what}, shape {tuple(array.shape)}, "
                    f"dtype {array.dtype}) was modified by an in-place operation (now at version {mark.count}); "
                    f"clone it before the in-place operation, or use the out-of-place one"
                )


# -- hooks ---------------------------------------------------------------------------------------
class Handle:
    """Removes a hook; also as a context manager.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2, requires_grad=True)
    >>> y = x * 2
    >>> handle = y.register_hook(lambda g: g * 10)
    >>> handle.remove()
    >>> y.sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    __slots__ = ("_hooks", "_key")
    _keys, changes = itertools.count(), -1  # the second one is another whenever a hook has come or gone

    def __init__(self, hooks: dict[int, Any], hook: Callable[..., Any]) -> None:
        self._hooks, self._key = hooks, next(self._keys)
        hooks[self._key], Handle.changes = hook, self._key

    def remove(self) -> None:
        self._hooks.pop(self._key, None)
        Handle.changes = next(self._keys)

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class Extras:
    """What only few nodes have: hooks by purpose, a tensor that retains its gradient, a stream, metadata."""

    __slots__ = ("accumulated", "meta", "metadata", "place", "post", "pre", "retain", "tensor", "unpack")

    tensor: dict[int, Any]  # hook(gradient), in the order of registration
    pre: dict[int, Any]  # hook(gradients of the outputs)
    post: dict[int, Any]  # hook(gradients of the inputs, gradients of the outputs)
    accumulated: dict[int, Any]  # hook(leaf tensor), after .grad was written

    def __init__(self, place: Any = None) -> None:
        self.place: Any = place  # the device and stream the operation ran on
        self.tensor = self.pre = self.post = self.accumulated = _NO_HOOKS
        self.retain: weakref.ref[Any] | None = None
        self.meta: Meta | None = None
        self.metadata: dict[Any, Any] | None = None
        self.unpack: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None  # gives back what was packed away

    @property
    def hooked(self) -> bool:
        return bool(self.tensor or self.pre or self.post or self.accumulated)

    def add(self, purpose: str, hook: Callable[..., Any]) -> Handle:
        if getattr(self, purpose) is _NO_HOOKS:
            setattr(self, purpose, {})
        return Handle(getattr(self, purpose), hook)


_NO_HOOKS: dict[int, Any] = {}


#: Extras with nothing in them, which nodes share that are never plain.
NOTHING = Extras()


class GraphNode:
    """What every node offers to users: a name, where it leads, hooks.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y = lg.ones(2, requires_grad=True) * 2
    >>> y.grad_fn.name()
    'MultiplyBackward'
    """

    __slots__ = ()
    origin: Any
    saved: tuple[Any, ...]
    extras: Any  # Extras, a place that has nothing in it, or None

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The nodes that made the inputs, None where no gradient goes."""
        return self.origin

    def more(self) -> Extras:
        """The extras of this node alone, made if there are none yet."""
        extras = self.extras
        if type(extras) is not Extras or extras is NOTHING:
            self.extras = extras = Extras(None if extras is None else extras.place)  # a slot of every subclass
        return extras

    def name(self) -> str:
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return ()

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for users' own notes."""
        extras = self.more()
        if extras.metadata is None:
            extras.metadata = {}
        return extras.metadata

    def register_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(grad_inputs, grad_outputs)`` after this node ran; it may return new grad_inputs."""
        return self.more().add("post", hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(grad_outputs)`` before this node runs; it may return new grad_outputs."""
        return self.more().add("pre", hook)

    def __repr__(self) -> str:
        return f"<{self.name()}>"


class Node(GraphNode):
    """One recorded operation.

    ``origin`` is the node that the cotangent goes to, or a tuple of one per input (or None) if it goes to
    several: most nodes have one, and a tuple less per node is less for the garbage collector to look at.
    ``fit`` is None where every cotangent has its input's shape and dtype as it leaves the rule;
    ``extras`` is None for a plain node, or its place and nothing else; a walk that stays there spends no thought on it.
    """

    __slots__ = ("__weakref__", "extras", "fit", "origin", "recipe", "saved", "when")

    recipe: Recipe
    when: int
    fit: tuple[Any, ...] | None

    @property
    def inputs(self) -> tuple[Any, ...]:
        if self.recipe.only is None:
            return self.origin
        index = self.recipe.index
        return tuple(self.origin if i == index else None for i in range(len(self.recipe.primitive.arrays)))

    def name(self) -> str:
        return "".join(word[:1].upper() + word[1:] for word in self.recipe.primitive.name.split("_")) + "Backward"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        for i, node in enumerate(self.inputs):
            if isinstance(node, Node) and node.more().meta is None:
                node.more().meta = self._input_meta(i)  # an edge made from it then knows its shape
        return tuple((None, 0) if node is None else edge_of(node) for node in self.inputs)

    def _input_meta(self, i: int) -> Meta | None:
        """What can be told of an input from what is kept of it, or of the output of an elementwise operation."""
        for item, value in zip(self.recipe.items, self.saved, strict=False):
            if self.saved is not FREED and (found := item.meta(i, value)) is not None:
                return found
        own = self.extras.meta if self.extras is not None else None
        if own is None or not self.recipe.primitive.kind.broadcasts:
            return None
        return own if self.fit is None else Meta(self.fit[i][0], self.fit[i][1], own.device)


class Fork(Node):
    """A node with several outputs: each tensor points to an `Output` of it. All of them always have extras."""

    __slots__ = ("metas", "outputs")

    metas: tuple[Meta | None, ...]  # None: an output that is no tensor
    outputs: tuple["weakref.ref[Output] | None", ...]

    def __getattr__(self, name: str) -> Any:
        """The node of a `Function` has what is on its ``ctx``, as in PyTorch, where they are one."""
        ctx = getattr(self.recipe, "ctx", None) if name != "recipe" else None
        if ctx is None:
            raise AttributeError(f"{self.name()} has no attribute {name!r}")
        return getattr(ctx, name)


class Output(GraphNode):
    """One output of a `Fork`."""

    __slots__ = ("__weakref__", "extras", "fork", "index", "origin", "when")

    saved = ()
    extras: Extras

    def __init__(self, fork: Fork, index: int) -> None:
        self.fork, self.index, self.origin, self.when = fork, index, (fork,), next(clock)
        self.extras = NOTHING if fork.extras.place is None else Extras(fork.extras.place)

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return ((self.fork, self.index),)


class Leaf(GraphNode):
    """Where a gradient ends. It knows its tensor weakly: the tensor owns the gradient, the graph must not."""

    __slots__ = ("__weakref__", "extras", "tensor", "when")

    origin = ()
    saved = ()
    extras: Extras | None

    def __init__(self, tensor: Any) -> None:
        self.when = next(clock)
        self.extras = None
        self.tensor = weakref.ref(tensor)

    def name(self) -> str:
        return "AccumulateGrad"

    @property
    def meta(self) -> Meta | None:
        """Shape, dtype and device of the tensor; None if it is gone."""
        tensor = self.tensor()
        return None if tensor is None else meta_of(tensor.array)

    @property
    def variable(self) -> Any:
        """The tensor, or None if it is gone."""
        return self.tensor()


def edge_of(node: Any) -> tuple[Any, int]:
    """A node as users name it: the operation, and which of its outputs."""
    return (node.fork, node.index) if type(node) is Output else (node, 0)


def node_of_edge(node: Any, index: int) -> Any:
    """The inverse of `edge_of`."""
    if type(node) is not Fork:
        if index:
            raise IndexError(f"{node.name()} has one output, given output_nr {index}")
        return node
    if not 0 <= index < len(node.outputs):
        raise IndexError(f"{node.name()} has {len(node.outputs)} outputs, given output_nr {index}")
    output = node.outputs[index]
    if output is None:
        raise IndexError(f"output {index} of {node.name()} is no tensor, given it as output_nr")
    found = output()
    return Output(node, index) if found is None else found


# -- how a node is made ----------------------------------------------------------------------------
def node_source(made: str, parts: Iterable[str], call: str, seen: Iterable[str] = ()) -> list[str]:
    """Source that makes ``_node``: of a type, with the parts that lines give it; ``seen`` runs in unusual modes.

    The compiled operators write it out, each with what it knows of its calls; `make_node` is for all others.
    """
    keeping = ["if _new().keeping is not None:", f"    _new().keeping(_node, {call})"]
    lines = [f"_node = {made}", *parts, "_node.when = next(_clock)", "if _unusual:"]
    return [*lines, *deep([*keeping, *seen])]


def _node_maker() -> Callable[..., Any]:
    parts = [f"_node.{part} = {part}" for part in ("recipe", "saved", "origin", "fit", "extras")]
    head = "make_node(node_type, recipe, saved, origin, fit, extras, *call)"
    source = definition(head, [*node_source("node_type()", parts, "*call"), "return _node"])
    return run(source, {"_clock": clock, "_new": new.get, "_unusual": unusual})["make_node"]


#: ``(node_type, recipe, saved, origin, fit, extras, y, arrays, keywords) -> node``
make_node = _node_maker()
