"""The walk: from seeds at the outputs, youngest node first, to gradients at the inputs.

Everything that can be wrong with a call is found in the `Plan`, before anything runs: a call that raises there has
freed nothing and touched nothing.
"""

import functools
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import device
from .box import Box
from .dispatch import bound, box, complexes, extras_of, node_of, place_of, raw
from .items import Item
from .modes import Recording, plain_nodes, recording, state, walking
from .plan import Plan, extras_of_node, raise_freed, reach
from .primitive import LINEAR, Primitive, registry
from .source import definition, run
from .tape import FREED, Extras, Fork, Leaf, Node, Output, check_saved, last_write, make_node, node_of_edge

_dtype_of_array, _dtype_of_tensor = operator.attrgetter("dtype"), operator.attrgetter("array.dtype")


class _TapeNamespace:
    """What rules compute with when they are given tensors: every primitive, and the public names."""

    public: Any = None  # the lucidgrad module, which injects itself

    def __getattr__(self, name: str) -> Any:
        found = registry.get(name)
        if found is None:
            value = getattr(self.public, name)
        else:
            value = functools.partial(found.program, self) if found.inline else found.op
        setattr(self, name, value)
        return value


tape_namespace = _TapeNamespace()


# -- making a cotangent fit its input ------------------------------------------------------------
def fit(xp: Any, ct: Any, target: tuple[Any, ...]) -> Any:
    """Sum over broadcast axes and batch levels, drop an imaginary part, take the input's dtype."""
    shape, dtype, levels = target
    for level, size in levels:  # which the input has not: one value served all examples, or had no tangent
        if is_outside(raw(ct), level):
            ct = xp.tangent_part(ct, level=level) if size is None else xp.sum_level(ct, level=level, size=size)
    array = ct.array if xp is tape_namespace else ct
    if array.shape != shape:  # the adjoint of broadcasting
        ct = xp.sum(ct, axis=_stretched(tuple(array.shape), tuple(shape)), keepdims=False)
        array = ct.array if xp is tape_namespace else ct
        if array.shape != shape:
            ct = xp.reshape(ct, shape=shape)
    if array.dtype is not dtype and array.dtype != dtype:
        if array.dtype in complexes and dtype not in complexes:
            ct = xp.real(ct)
        if raw(ct).dtype != dtype:
            ct = xp.astype(ct, dtype=dtype)
    return ct


def is_outside(array: Any, level: int) -> bool:
    """Whether an array is a cotangent that came into a level from outside: then it ends where the level ends.

    A walk that began inside a level stays inside: the gradient with respect to a value that all examples share
    is one per example, and the gradient at a value without tangent has a tangent. A walk that came from outside sums
    over the examples, and takes the part that belongs to the value.
    """
    own = getattr(array, "level", 0)  # raw arrays have none
    if own > level:
        return any(is_outside(part, level) for part in array.parts)
    return own == level and array.outside


@functools.lru_cache(maxsize=4096)
def _stretched(large: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes along which a shape was repeated to become a larger one."""
    extra = len(large) - len(shape)
    if extra < 0 or any(n != 1 and large[i + extra] != n for i, n in enumerate(shape)):
        raise AssertionError(f"a rule gave a cotangent of shape {large} for an input of shape {shape}")
    return tuple(i for i in range(len(large)) if i < extra or shape[i - extra] != large[i])


# -- the walk ------------------------------------------------------------------------------------
def _namespace(gs: tuple[Any, ...]) -> Any:
    """What a rule computes with that gets several cotangents, of which some may be batched."""
    return max((device.by_array[type(g)] for g in gs if g is not None), key=operator.attrgetter("rank")).xp


#: The frames that Python allows a walk inside a walk beside those of the outer one, and all of them together.
_ROOM, _DEEPEST = 50, 25_000


class Walk:
    """One pass. In value mode cotangents are raw arrays; with ``create_graph`` they are tensors.

    Inside, complex cotangents are the conjugates of the gradients that users see (PyTorch's convention), so
    that rules are plain transposes: seeds, results and what hooks see are conjugated at the border.
    ``arrived`` holds the finished cotangents of leaves and wanted nodes, ``retained`` those of tensors
    that keep theirs. The caller writes them into ``.grad`` or returns them once the walk has succeeded; for leaves
    whose hooks see it written, the walk does, with the caller's ``accumulate(arrived, owners, create_graph)``.
    """

    __slots__ = (
        "_before", "accumulate", "arrived", "at_end", "callers", "common", "complete", "create_graph", "here", "nested",
        "origins", "owned", "pending", "plan", "retain_graph", "retained", "then", "uses",
    )  # fmt: skip

    def __init__(self, plan: Plan, create_graph: bool, retain_graph: bool, accumulate: Any = None) -> None:
        self.plan, self.accumulate, self.create_graph, self.retain_graph = plan, accumulate, create_graph, retain_graph
        self.pending: dict[Any, Any] = {}  # node -> the sum of its cotangents so far (a list for a Fork)
        self.owned: set[Any] = set()  # nodes whose sum is in a buffer that the walk made itself
        self.uses = plan.hooked_leaves()
        self.complete: list[Leaf] = []  # hooked leaves that await nothing
        self.arrived: dict[Any, Any] = {}
        self.retained: list[tuple[Any, Any]] = []
        self.at_end: list[Callable[[Walk], Any]] = []
        self.then: list[Callable[[Walk], Any]] = []  # what follows a success, before the caller goes on
        self.nested = False  # whether another walk ran inside: it may have freed what this one needs
        self._before: Recording | None = None  # what held outside, once functions run as `create_graph` says
        self.here: Any = None  # the place that work goes to; None while no back end with streams took part
        self.common: Any = None  # the place where all work is, and goes; None while nothing has a place, or several
        self.callers: dict[Any, Any] = {}  # device -> the place that was current when the walk began
        self.origins: dict[Any, Any] = {}  # node -> the place its pending cotangent was made at

    def run(self, seeds: Sequence[tuple[Any, Any]]) -> None:
        """Walk from the seeds, pairs of node and cotangent; what follows is done where warnings are still silenced."""
        outer = walking.get()
        room = _ROOM if outer is not None and sys.getrecursionlimit() < _DEEPEST else 0
        try:
            with device.quiet():
                try:
                    if room:
                        sys.setrecursionlimit(sys.getrecursionlimit() + room)
                    walking.set(self)
                    if self.create_graph:
                        self._switch()
                    self._sow(seeds)
                    self._loop()
                    self._reap()
                finally:
                    if self._before is not None:
                        recording.set(self._before)
                    walking.set(outer)
                    if outer is not None:
                        outer.nested = True
                    if room:
                        sys.setrecursionlimit(sys.getrecursionlimit() - room)
                    for call in self.at_end:
                        call(self)
                    for place in self.callers.values():
                        place.enter()
                for follow in self.then:
                    follow(self)
        finally:  # again: an exception may come anywhere, be it between two steps of the first time
            if self._before is not None:
                recording.set(self._before)
            walking.set(outer)

    def _switch(self) -> None:
        """Record what functions do, or not: before the first one of a user's runs, and before rules are recorded."""
        if self._before is None:
            self._before = recording.get()
            recording.set(Recording(self.create_graph, None))

    def _sow(self, seeds: Sequence[tuple[Any, Any]]) -> None:
        if device.places:
            self.common = self._common(seeds)
        for node in [node for node, _ in seeds if node in self.uses] if self.uses else ():
            self.uses[node] += 1
        for node, g in seeds:
            if device.places and self.common is None:
                self.here = place_of(raw(g))
            self.send(node, self._conj(g))
        self._finish_complete()

    def _common(self, seeds: Sequence[tuple[Any, Any]]) -> Any:
        """The one place of nodes and seeds, if work goes there now: then nobody has to wait for anybody."""
        some = {extras.place for extras in set(map(extras_of_node, self.plan.order)) if extras is not None} - {None}
        place = some.pop() if len(some) == 1 else None
        here = getattr(place, "is_current", False) and all(place_of(raw(g)) is place for _, g in seeds)
        return place if here else None

    def _reap(self) -> None:
        pending, arrived = self.pending, self.arrived
        for leaf in [node for node in filter(extras_of_node, pending) if type(node) is Leaf]:
            self._finish(leaf)  # a plain one when the walk began: it got a hook on the way
        arrived.update(pending)  # what no node of the walk took is at a leaf
        pending.clear()
        dtypes = map(_dtype_of_tensor if self.create_graph else _dtype_of_array, arrived.values())
        if self.origins or not complexes.isdisjoint(dtypes):
            for node, g in arrived.items():
                self._wait(node, None, g)  # results are ready for the streams of the caller
                arrived[node] = self._conj(g)

    def send(self, node: Any, ct: Any) -> None:
        """A cotangent arrives: the first is kept as it is, the second makes a fresh sum, later ones add to it."""
        pending = self.pending
        if node not in pending:
            pending[node] = ct
        else:
            if self.here is not None:
                self._come(ct)
                self._wait(node, self.here, pending[node])
            self._add(node, ct)
        if self.here is not None:
            self.origins[node] = self.here
        if self.uses and node in self.uses:
            self.uses[node] -= 1
            if not self.uses[node]:
                self.complete.append(node)

    def _add(self, node: Any, ct: Any) -> None:
        pending = self.pending
        if node in self.owned and type(ct) is type(pending[node]):  # libraries know no others that they could write
            pending[node] += ct
        else:
            pending[node] = pending[node] + ct
            if not self.create_graph:
                self.owned.add(node)

    def _loop(self) -> None:
        plan, pending = self.plan, self.pending
        needed, take = plan.needed, pending.pop
        create_graph, free = self.create_graph, not self.retain_graph
        special = plan.special if not state.observers else set(plan.order)
        common = self.common
        add = self._add if not device.places or common is not None else self.send
        array_type: Any = None
        xp: Any = tape_namespace
        oldest = plan.order[-1].when if plan.order else 0
        stale = last_write.when > oldest  # whether something was written since the oldest node was made
        for node in plan.order:
            g = take(node, None)
            if g is None:
                continue
            if node.extras is not common or (special and node in special):
                self._step(node, g)
                stale = last_write.when > oldest  # hooks and functions of users may write
                special = special if not self.nested else plan.reached
                continue
            if stale and last_write.when > node.when:
                check_saved(node)
            recipe = node.recipe
            saved = node.saved
            if create_graph:
                saved = (recipe.revive or _reviver(recipe))(node, saved)
                if recipe.flat is not False:
                    g = _tied(node, g, saved)
            elif type(g) is not array_type:
                array_type = type(g)
                xp = device.by_array[array_type].xp
            recipe.steps[array_type](node, xp, g, saved, pending, add, needed)
            if free and recipe.keeps_arrays:
                node.saved = FREED

    def _step(self, node: Any, g: Any) -> None:
        """One node with all that may be special about it."""
        self._switch()
        shown = g = self._attend(node, g)
        if g is None:
            return
        if type(node) is Fork:
            shown, g = tuple(g), self._fill(node, g)
        for observer in state.observers:
            observer.before(node, g)
        recipe, extras = node.recipe, node.extras
        if last_write.when > node.when:
            check_saved(node)
        saved = node.saved
        if saved is FREED:
            raise_freed(node)
        if extras is not None and extras.unpack is not None:
            saved = extras.unpack(saved)
        xp: Any = tape_namespace
        if self.create_graph:
            saved = (recipe.revive or _reviver(recipe))(node, saved)
            if recipe.flat is not False:
                g = _tied(node, g, saved)
        else:
            xp = device.by_array[type(g)].xp if type(g) is not tuple else _namespace(g)
        self.pull_all(node, xp, g, saved, shown)
        self._finish_complete()
        if not self.retain_graph and recipe.keeps_arrays:
            node.saved = FREED

    def _attend(self, node: Any, g: Any) -> Any:
        """What plain nodes don't need: streams, hooks, capture, several outputs. None: nothing to run."""
        if type(node) is Leaf:
            self.pending[node] = g
            self._finish(node)
            return None
        extras, plan = node.extras, self.plan
        if extras is not None and extras.place is not None:
            self._go(extras.place)
            self._wait(node, extras.place, g)
        if extras is not None and type(node) is not Fork:
            g = self._hooked(extras, g)
        if plan.wanted is not None:
            if node in plan.wanted:
                self.arrived[node] = g
                if self.here is not None:
                    self.origins[node] = self.here
            if node in plan.idle:
                return None
        if type(node) is Output:
            self._to_fork(node, g)
            return None
        if extras is not None and extras.pre:
            g = self._prehooked(extras, g)
        return None if type(node) is Fork and not node.recipe.fills and all(part is None for part in g) else g

    def _to_fork(self, node: Output, g: Any) -> None:
        fork = node.fork
        slots = self.pending.get(fork)
        if slots is None:
            slots = self.pending[fork] = [None] * len(fork.metas)
        slots[node.index] = g if slots[node.index] is None else slots[node.index] + g
        if self.here is not None:
            self.origins[fork] = self.here

    def _fill(self, fork: Fork, slots: list[Any]) -> tuple[Any, ...]:
        """Outputs that nothing depends on have zero cotangents."""
        if not fork.recipe.fills:
            return tuple(slots)
        first = next((g for g in slots if g is not None), None)
        home = device.by_array[type(raw(first))] if first is not None else None
        filled = [
            (home or device.backend_named(meta.device)).absent(*meta) if g is None and meta is not None else g
            for g, meta in zip(slots, fork.metas, strict=True)
        ]
        return tuple(box(g) if self.create_graph and g is not s else g for g, s in zip(filled, slots, strict=True))

    def pull_all(self, node: Node, xp: Any, g: Any, saved: tuple[Any, ...], shown: Any = None) -> None:
        """Run the rules of a node with several inputs, a joint rule, or hooks that see all cotangents at once."""
        recipe, needed, fits = node.recipe, self.plan.needed, node.fit
        posts = node.extras is not None and node.extras.post
        inputs = node.inputs
        goes = tuple([p is not None and (needed is None or p in needed) for p in inputs])
        fused = recipe.fused(type(g), goes) if recipe.joint is None else None  # type: ignore[arg-type]
        cts: Any = None if fused is None else fused(g, saved, fits)
        if cts is None and recipe.joint is None and not posts and not state.observers:  # in the order of plain nodes
            for i, pull in recipe.pulls:
                if goes[i]:
                    ct = pull(xp, g, saved)
                    self.send(inputs[i], ct if fits is None else fit(xp, ct, fits[i]))
            return
        if cts is None and recipe.joint is not None:
            cts = [ct if go else None for ct, go in zip(recipe.joint(xp, g, saved), goes, strict=True)]
        elif cts is None:
            cts = [None] * len(goes)
            for i, pull in recipe.pulls:
                if goes[i]:
                    cts[i] = pull(xp, g, saved)
        if fits is not None:
            cts = [None if ct is None else fit(xp, ct, fits[i]) for i, ct in enumerate(cts)]
        for observer in state.observers:
            observer.after(node, g, cts)
        if posts:
            cts = self._posthooked(node.extras, cts, shown)
        for parent, ct, go in zip(inputs, cts, goes, strict=True):
            if go and ct is not None:
                self.send(parent, ct)

    def _finish_complete(self) -> None:
        """Finish leaves when nothing refers to their cotangents any more that sent them: they need no copy then."""
        while self.complete:
            self._finish(self.complete.pop(0))

    def _finish(self, leaf: Leaf) -> None:
        """All cotangents of a leaf are there: its hooks run, on the streams of the caller."""
        self._switch()
        here = self.here
        for place in self.callers.values():
            self._go(place)
        self._wait(leaf, None, self.pending[leaf])
        extras, arrived = leaf.more(), self.arrived
        arrived[leaf] = self._hooked(extras, self.pending.pop(leaf))
        if self.accumulate is not None:
            if extras.pre:
                arrived[leaf] = self._prehooked(extras, arrived[leaf])
            if arrived[leaf] is None:
                del arrived[leaf]
            elif extras.accumulated or extras.post:  # these see .grad written
                tensor = leaf.tensor()
                if tensor is not None:
                    arrived[leaf] = self._conj(arrived[leaf])
                    self.accumulate(arrived, [(tensor, leaf)], self.create_graph)
                    for hook in list(extras.accumulated.values()):
                        given = hook(tensor)
                        if given is not None and given is not tensor:
                            error = RuntimeError if isinstance(given, Box) else TypeError
                            raise error(f"a post accumulate grad hook returned {type(given).__name__}, expected None")
                    self._posthooked(extras, [], self._conj(arrived[leaf]))
                del arrived[leaf]
        if here is not None:
            self._go(here)

    # -- streams
    def _go(self, place: Any) -> None:
        if place is not self.here or place.device not in self.callers:
            before = place.enter()
            self.callers.setdefault(place.device, before)
            self.here = place

    def _come(self, ct: Any) -> None:
        """Go to the device of a cotangent that a rule sent to another one than its own."""
        place = None if self.here is None else place_of(raw(ct))
        if place is not None and place.device != self.here.device:
            place.wait_for(self.here, (raw(ct),))
            self._go(place)

    def _wait(self, node: Any, consumer: Any, g: Any) -> None:
        """The consumer's stream (None: the caller's) waits for the one that made g, the cotangent of a node."""
        origin = self.origins.pop(node, None)
        if origin is not None:
            parts = [raw(part) for part in (g if type(g) is list else (g,)) if part is not None]
            here = place_of(parts[0]) or origin
            consumer = consumer or self.callers.get(here.device, here)
            if consumer is not origin:
                consumer.wait_for(origin, parts)

    def _conj(self, g: Any) -> Any:
        if (g.array if self.create_graph else g).dtype not in complexes:
            return g
        return (tape_namespace if self.create_graph else device.by_array[type(g)].xp).conj(g)

    # -- hooks see tensors, whatever the walk computes with
    def _show(self, g: Any) -> Any:
        if g is None:
            return None
        g = self._conj(g)
        return g if self.create_graph else box(device.by_array[type(g)].settle(g))

    def _take(self, given: Any, g: Any, who: str) -> Any:
        """What a hook returned in place of g."""
        if not isinstance(given, Box):
            raise TypeError(f"{who} returned {type(given).__name__}, expected a Tensor or None")
        if g is None:
            raise RuntimeError(f"{who} returned a gradient where none arrived")
        if given.array.shape != raw(g).shape or given.array.dtype != raw(g).dtype:
            raise RuntimeError(
                f"{who} changed the gradient from shape {tuple(raw(g).shape)}, {raw(g).dtype} "
                f"to shape {tuple(given.array.shape)}, {given.array.dtype}; both must stay"
            )
        return self._conj(given if self.create_graph else given.array)

    def _hooked(self, extras: Extras, g: Any) -> Any:
        for hook in list(extras.tensor.values()):
            given = hook(self._show(g))
            if given is not None:
                g = self._take(given, g, "a tensor hook")
        tensor = extras.retain and extras.retain()
        if tensor is not None and self.accumulate is not None:
            self.retained.append((tensor, self._conj(g)))
        return g

    def _prehooked(self, extras: Extras, g: Any) -> Any:
        several = type(g) in (tuple, list)
        for hook in list(extras.pre.values()):
            gs = g if several else (g,)
            given = hook(tuple(map(self._show, gs)))
            if given is not None:
                taken = self._take_all(given, gs, "a prehook")
                g = taken if several else taken[0]
        return g

    def _posthooked(self, extras: Extras, cts: list[Any], g: Any) -> list[Any]:
        outer = tuple(map(self._show, g if type(g) is tuple else (g,)))
        for hook in list(extras.post.values()):
            given = hook(tuple(map(self._show, cts)), outer)
            if given is not None:
                cts = self._take_all(given, cts, "a hook")
        return cts

    def _take_all(self, given: Any, gs: Sequence[Any], who: str) -> list[Any]:
        if not isinstance(given, tuple):
            raise TypeError(f"{who} of a node returned {type(given).__name__}, expected a tuple of gradients or None")
        if len(given) != len(gs):
            raise RuntimeError(f"{who} returned {len(given)} gradients, expected {len(gs)}")
        return [None if n is None else self._take(n, o, who) for n, o in zip(given, gs, strict=True)]


# -- gradients that don't change ---------------------------------------------------------------------
_TIE = Primitive(
    lambda xp, x, of, /: x, LINEAR, (lambda xp, g: g, None), None, None, False, False, "same", None, False
)  # fmt: skip
_TIE.name, _TIED, _CONSTANT = "tie", _TIE.recipe((0,)), _TIE.recipe(())
_TIED.only = None  # the second input gets nothing, and is reached all the same


def tied(g: Any, *nodes: Any) -> Any:
    """A gradient as one that depends on nodes, if only with slope zero: second derivatives are zeros, no errors."""
    end = node_of(g)
    for node in nodes:
        if node is not None:
            recipe = _CONSTANT if end is None else _TIED
            end = make_node(Node, recipe, (), (end, node), None, extras_of(g.array), g.array, (g.array, None), {})
    return box(g.array, end)


def _tied(node: Any, g: Any, saved: tuple[Any, ...]) -> Any:
    """The cotangent of a node, tied to its inputs where a rule uses what it keeps only to choose."""
    recipe = node.recipe
    if recipe.flat is None:
        with plain_nodes():  # whether a rule was tried before is nothing that hooks may depend on
            recipe.flat = _is_flat(recipe, g, saved)
    if not recipe.flat:
        return g
    nodes = node.inputs if recipe.only is None else (node.origin,)
    if type(g) is not tuple:
        return tied(g, *nodes)
    at = next(k for k, part in enumerate(g) if part is not None)
    return (*g[:at], tied(g[at], *nodes), *g[at + 1 :])


def _is_flat(recipe: Any, g: Any, saved: tuple[Any, ...]) -> bool:
    """Whether a rule's results have no slope with respect to something that it keeps."""
    leaves: dict[int, set[Any]] = {}  # by the place among what is kept, in a graph of their own

    def leaf(value: Any, k: int) -> Any:
        if type(value) is tuple:
            return tuple(leaf(part, k) for part in value)
        if not isinstance(value, Box):
            return value
        made = box(value.array)
        if value._node is not None:
            made._node = Leaf(made)
            leaves.setdefault(k, set()).add(made._node)
        return made

    fresh = tuple(leaf(value, k) for k, value in enumerate(saved))
    parts = [None if part is None else box(part.array) for part in (g if type(g) is tuple else (g,))]
    constant = tuple(parts) if type(g) is tuple else parts[0]
    rules = [recipe.primitive.rules[i] for i, _ in recipe.pulls]
    found = [(rule, (pull(tape_namespace, constant, fresh),)) for rule, (_, pull) in zip(rules, recipe.pulls)]
    if recipe.joint is not None:
        found = [(recipe.primitive.joint, recipe.joint(tape_namespace, constant, fresh))]
    for rule, cts in found:
        reached = reach([ct._node for ct in cts if isinstance(ct, Box)])[0]
        kept = [leaves.get(recipe.items.index(item), set()) for item in recipe.primitive.needs(rule)]
        if any(part and part.isdisjoint(reached) for part in kept):
            return True
    return False


# -- what a node keeps, as tensors: written out per recipe ------------------------------------------
def _reviver(recipe: Any) -> Callable[..., Any]:
    """``(node, saved) -> saved`` with tensors in place of arrays, which have their history: the rule then records."""
    recipe.revive = _written_reviver(recipe.items, recipe.index if recipe.only is not None else None)
    return recipe.revive


@functools.cache
def _written_reviver(items: tuple[Item, ...], only: int | None) -> Callable[..., Any]:
    lines = [line for k, item in enumerate(items) for line in (f"v{k} = saved[{k}]", *item.revive(f"v{k}", only))]
    words = [f"v{k}, " for k in range(len(items))]
    known = {"arrays": device.by_array, "box": box, "Fork": Fork, "outputs": _outputs, "end": node_of_edge}
    source = definition("revive(node, saved)", [*lines, f"return ({''.join(words)})"])
    return run(source, {**known, **bound})["revive"]


def _outputs(fork: Fork, values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(None if value is None else box(value, node_of_edge(fork, k)) for k, value in enumerate(values))
