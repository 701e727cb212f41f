"""The walk: from seeds at the outputs, youngest node first, to gradients at the inputs.

A node is older than all its users, so age orders the graph and no sort is needed. Everything that can
be wrong with a call is found in the `Plan`, before anything runs: a call that raises there has freed
nothing and touched nothing.
"""

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import device
from .accumulation import accumulate
from .box import Box
from .dispatch import box, complexes, place_of, raw
from .levels import is_outside
from .modes import state, switch
from .primitive import registry
from .tape import FREED, Extras, Fork, Leaf, Node, Output, check_saved, last_write, node_of_edge

_age = operator.attrgetter("age")


class _TapeNamespace:
    """What rules compute with when they are given tensors: every primitive, and the public names."""

    public: Any = None  # the lucidgrad module, which injects itself

    def __getattr__(self, name: str) -> Any:
        found = registry.get(name)
        value = found.op if found is not None else getattr(self.public, name)
        setattr(self, name, value)
        return value


tape_namespace = _TapeNamespace()


# -- the plan ------------------------------------------------------------------------------------
class Plan:
    """Which nodes a walk visits, youngest first: all that the roots reach, or those on the way to ``wanted``.

    ``needed`` are the nodes that lead to a wanted one (None: all do), ``idle`` the wanted ones among them whose rules
    need not run.
    """

    __slots__ = ("_dead", "_leaves", "idle", "needed", "order", "reached", "wanted")

    def __init__(self, roots: Iterable[Any], wanted: Iterable[Any] | None = None) -> None:
        self.reached, self._dead, self._leaves = reach(roots)
        self.order = sorted(self.reached, key=_age)
        self.wanted: set[Any] | None = None
        self.needed: set[Any] | None = None
        self.idle: set[Any] = set()
        if wanted is not None:
            self.wanted = set(wanted)
            self.order, self.needed, self.idle = _between(self.order, self.wanted)

    def runs(self, node: Any) -> bool:
        """Whether the rules of a node run."""
        return self.needed is None or (node in self.needed and node not in self.idle)

    def check_alive(self) -> None:
        """Raise if a node that would run was freed by an earlier walk."""
        for node in self._dead:
            if self.runs(node):
                raise RuntimeError(
                    f"backward through {node.recipe.primitive.name} a second time: its saved values were "
                    f"freed; pass retain_graph=True to the first backward"
                )

    def hooked_leaves(self) -> dict[Leaf, int]:
        """Leaves with hooks, and how many cotangents each awaits: they fire when the last one arrives."""
        uses = {leaf: 0 for leaf in self._leaves if leaf.extras.hooked}
        if uses:
            for node in self.order:
                for parent in node.inputs if node not in self.idle else ():
                    if parent in uses:
                        uses[parent] += 1
        return uses


def reach(roots: Iterable[Any]) -> tuple[set[Any], list[Any], list[Leaf]]:
    """All nodes that the roots depend on; those of them that were freed; and the leaves."""
    dead, leaves = [], []
    seen = set(roots)
    found = list(seen)
    for node in found:  # which grows on the way
        if node.saved is FREED:
            dead.append(node)
        origin = node.origin
        if type(origin) is not tuple:
            if origin not in seen:
                seen.add(origin)
                found.append(origin)
            continue
        for parent in origin:
            if parent not in seen and parent is not None:
                seen.add(parent)
                found.append(parent)
        if not origin:
            leaves.append(node)
    return seen, dead, leaves


def _between(order: list[Any], wanted: set[Any]) -> tuple[list[Any], set[Any], set[Any]]:
    """The nodes that lead to a wanted one, in order and as a set; and those that are wanted but need not run."""
    needed, idle, kept = set(wanted), set(), []
    for node in reversed(order):  # oldest first
        origin = node.origin
        if origin in needed if type(origin) is not tuple else not needed.isdisjoint(origin):
            needed.add(node)
            kept.append(node)
        elif node in needed:
            idle.add(node)
            kept.append(node)
    kept.reverse()
    return kept, needed, idle


# -- making a cotangent fit its input ------------------------------------------------------------
def fit(xp: Any, ct: Any, target: tuple[Any, ...]) -> Any:
    """Sum over broadcast axes and batch levels, drop an imaginary part, take the input's dtype."""
    shape, dtype, levels = target
    for level, size in levels:  # those that the input has not: one value served all examples, or had no tangent
        if is_outside(raw(ct), level):
            ct = xp.tangent_part(ct, level=level) if size is None else xp.sum_level(ct, level=level, size=size)
    if ct.shape != shape:
        ct = _unbroadcast(xp, ct, shape)
    own = raw(ct).dtype
    if own != dtype:
        if own in complexes and dtype not in complexes:
            ct = xp.real(ct)
        if raw(ct).dtype != dtype:
            ct = xp.astype(ct, dtype=dtype)
    return ct


def _unbroadcast(xp: Any, ct: Any, shape: tuple[int, ...]) -> Any:
    """The adjoint of broadcasting: sum over the axes that were stretched."""
    ct = xp.sum(ct, axis=_stretched(tuple(ct.shape), tuple(shape)), keepdims=False)
    return ct if ct.shape == shape else xp.reshape(ct, shape=shape)


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


class Walk:
    """One pass. In value mode cotangents are raw arrays; with ``create_graph`` they are tensors.

    Inside, complex cotangents are the conjugates of the gradients that users see (PyTorch's convention), so
    that rules are plain transposes: seeds, results and what hooks see are conjugated at the border.
    ``arrived`` holds the finished cotangents of leaves and wanted nodes, ``retained`` those of tensors
    that keep theirs. The caller writes them into ``.grad`` or returns them once the walk has succeeded.
    """

    def __init__(self, plan: Plan, create_graph: bool, retain_graph: bool, accumulate: bool = False) -> None:
        self.plan, self.accumulate = plan, accumulate
        self.create_graph, self.retain_graph = create_graph, retain_graph
        self.pending: dict[Any, Any] = {}  # node -> the sum of its cotangents so far (a list for a Fork)
        self.owned: set[Any] = set()  # nodes whose sum is in a buffer that the walk made itself
        self.uses = plan.hooked_leaves()
        self.arrived: dict[Any, Any] = {}
        self.retained: list[tuple[Any, Any]] = []
        self.at_end: list[Callable[[], Any]] = []
        self.here: Any = None  # the place that work goes to; None while no back end with streams took part
        self.callers: dict[Any, Any] = {}  # device -> the place that was current when the walk began
        self.origins: dict[Any, Any] = {}  # node -> the place its pending cotangent was made at

    def run(self, seeds: Sequence[tuple[Any, Any]]) -> None:
        """Walk from the seeds, pairs of node and cotangent."""
        before, walking = (state.enabled, state.fresh), state.walking
        for node, _ in seeds if self.uses else ():
            if node in self.uses:
                self.uses[node] += 1
        with device.quiet():
            switch(self.create_graph, None)
            state.walking = self
            try:
                for node, g in seeds:
                    self.here = place_of(raw(g))
                    self.send(node, self._conj(g))
                self._loop()
                for node, g in self.arrived.items():
                    if self.origins:
                        self._wait(node, None, g)  # results are ready for the streams of the caller
                    if raw(g).dtype in complexes:
                        self.arrived[node] = self._conj(g)
            finally:
                switch(*before)
                state.walking = walking
                for finish in self.at_end:
                    finish()
                for place in self.callers.values():
                    place.enter()

    def send(self, node: Any, ct: Any) -> None:
        """A cotangent arrives: the first is kept as it is, the second makes a fresh sum, later ones add to it."""
        pending = self.pending
        if node not in pending:
            pending[node] = ct
        else:
            if self.here is not None:
                self._come(ct)
                self._wait(node, self.here, pending[node])
            if node in self.owned:
                pending[node] = operator.iadd(pending[node], ct)
            else:
                pending[node] = pending[node] + ct
                if not self.create_graph:
                    self.owned.add(node)
        if self.here is not None:
            self.origins[node] = self.here
        if node in self.uses:
            self.uses[node] -= 1
            if not self.uses[node]:
                self._finish(node)

    def _loop(self) -> None:
        pending, wanted, hooked_leaves = self.pending, self.plan.wanted or (), bool(self.uses)
        needed = self.plan.needed
        create_graph, free = self.create_graph, not self.retain_graph
        observers = state.observers
        array_type: Any = None
        xp: Any = tape_namespace
        for node in self.plan.order:
            g = pending.pop(node, None)
            if g is None:
                continue
            extras = node.extras
            if extras is not None or node in wanted:
                g = self._attend(node, g)
                if g is None:
                    continue
            recipe = node.recipe
            if last_write.age < node.age:  # something was written since the node was made
                check_saved(node)
            saved = node.saved
            if extras is not None and extras.unpack is not None:
                saved = extras.unpack(saved)
            if create_graph:
                saved = _as_tensors(node, saved)
            elif type(g) is not array_type or array_type is tuple:
                array_type = type(g)
                xp = device.by_array[array_type].xp if array_type is not tuple else _namespace(g)
            if extras is not None or observers or (recipe.only is None and recipe.joint is not None):
                for observer in observers:
                    observer.before(node, g)
                self._pull_all(node, xp, g, saved)
            elif recipe.only is None:
                for i, pull in recipe.pulls:
                    parent = node.origin[i]
                    if needed is None or parent in needed:
                        ct = pull(xp, g, saved)
                        if node.fit is not None:
                            ct = fit(xp, ct, node.fit[i])
                        if hooked_leaves or parent in pending:
                            self.send(parent, ct)
                        else:
                            pending[parent] = ct
            else:
                ct = recipe.only(xp, g, saved)
                if node.fit is not None:
                    ct = fit(xp, ct, node.fit[recipe.index])
                if hooked_leaves or node.origin in pending:
                    self.send(node.origin, ct)
                else:
                    pending[node.origin] = ct
            if free and recipe.keeps_arrays:
                node.saved = FREED

    def _attend(self, node: Any, g: Any) -> Any:
        """What plain nodes don't need: streams, hooks, capture, several outputs. None: nothing to run."""
        if type(node) is Leaf:
            if not self.uses and self.here is None and not node.extras.retain:
                self.arrived[node] = g
            else:
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
        return self._fill(node, g) if type(node) is Fork else g

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
        zeros = device.by_array[type(raw(next(g for g in slots if g is not None)))].zeros
        filled = [zeros(*meta) if g is None else g for g, meta in zip(slots, fork.metas, strict=True)]
        return tuple(box(g) if self.create_graph and g is not s else g for g, s in zip(filled, slots, strict=True))

    def _pull_all(self, node: Node, xp: Any, g: Any, saved: tuple[Any, ...]) -> None:
        """Run the rules of a node with several inputs, a joint rule, or hooks that see all cotangents at once."""
        recipe, needed, fits = node.recipe, self.plan.needed, node.fit
        one_by_one = recipe.joint is None and not state.observers
        inputs = node.inputs
        goes = tuple([p is not None and (needed is None or p in needed) for p in inputs])
        fused = recipe.fused(type(g), goes)  # type: ignore[arg-type]  # a type has a hash
        cts: Any = None if fused is None else fused(g, saved, fits)
        if cts is None and one_by_one and not node.extras.post:  # type: ignore[union-attr]  # in the order of plain nodes
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
        if node.extras is not None and node.extras.post:
            cts = self._posthooked(node.extras, cts, g)
        for parent, ct, go in zip(inputs, cts, goes, strict=True):
            if go and ct is not None:
                self.send(parent, ct)

    def _finish(self, leaf: Leaf) -> None:
        """All cotangents of a leaf are there: its hooks run, on the streams of the caller."""
        here = self.here
        for place in self.callers.values():
            self._go(place)
        self._wait(leaf, None, self.pending[leaf])
        extras, arrived = leaf.extras, self.arrived
        arrived[leaf] = self._hooked(extras, self.pending.pop(leaf))
        if self.accumulate:
            if extras.pre:
                arrived[leaf] = self._prehooked(extras, arrived[leaf])
            if extras.accumulated or extras.post:  # these see .grad written
                tensor = leaf.tensor()
                if tensor is not None:
                    arrived[leaf] = self._conj(arrived[leaf])
                    accumulate(tensor, arrived, leaf, self.create_graph)
                    for hook in list(extras.accumulated.values()):
                        hook(tensor)
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
        if raw(g).dtype not in complexes:
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
        if tensor is not None and self.accumulate:
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


def _as_tensors(node: Node, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a node keeps, as tensors with their history: the rule then records the next order."""
    out: list[Any] = []
    for (kind, at), value in zip(node.recipe.items, saved, strict=True):
        if kind == "x" and type(value) in device.by_array:
            value = box(value, node.inputs[at])
        elif kind == "y":
            if type(node) is Fork:
                value = tuple(box(part, node_of_edge(node, k)) for k, part in enumerate(value))
            else:
                value = box(value, node)
        elif kind == "xs":
            value = tuple(box(part, parent) for part, parent in zip(value, node.inputs, strict=True))
        out.append(value)
    return tuple(out)
