"""The plan of a walk: which nodes it visits, found before anything runs.

A node is older than all its users, so their times order the graph, and no other sort is needed.
"""

import operator
from collections import Counter
from collections.abc import Iterable
from itertools import filterfalse
from typing import Any

from .modes import state
from .tape import FREED, Leaf

_when, extras_of_node = operator.attrgetter("when"), operator.attrgetter("extras")
by_age = operator.methodcaller("sort", key=_when, reverse=True)  # of a list of nodes: youngest first
_NONE: frozenset[Any] = frozenset()


class Plan:
    """Which nodes a walk visits, youngest first: all that the roots reach, or those on the way to ``wanted``.

    Plain leaves are not among them: a cotangent that is sent to one has arrived. ``needed`` are the nodes that lead to
    a wanted one (None: all do), ``idle`` those whose rules need not run, ``special`` those that a walk looks closely
    at: wanted ones that are no leaves, and those that send to a leaf with hooks.
    """

    __slots__ = ("_dead", "_leaves", "idle", "needed", "order", "reached", "special", "wanted")

    def __init__(self, roots: Iterable[Any], wanted: Iterable[Any] | None = None) -> None:
        self.reached, self._dead, leaves, self.order = reach(roots)
        self._leaves = list(filter(extras_of_node, leaves))
        self.wanted: set[Any] | None = None
        self.needed: set[Any] | None = None
        self.special: set[Any] | frozenset[Any] = _NONE
        self.idle: set[Any] | frozenset[Any] = _NONE
        if wanted is not None:
            self.wanted = set(wanted)
            self.special = self.wanted.difference(leaves)
            if not self.wanted.issuperset(leaves):  # or else everything leads to a wanted leaf
                self.needed = _between(self.order, self.wanted)
                self.order = list(filter(self.needed.__contains__, self.order))
                self.idle = {node for node in self.special if self.needed.isdisjoint(node.inputs)}

    def runs(self, node: Any) -> bool:
        """Whether the rules of a node run."""
        return self.needed is None or (node in self.needed and node not in self.idle)

    def check_alive(self) -> None:
        """Raise if a node that would run was freed by an earlier walk."""
        for node in self._dead:
            if self.runs(node):
                raise_freed(node)

    def hooked_leaves(self) -> dict[Leaf, int]:
        """Leaves with hooks, and how many cotangents each awaits: they fire when the last one arrives."""
        uses = {leaf: 0 for leaf in self._leaves if leaf.extras.hooked} if self._leaves else {}  # type: ignore[union-attr]
        if uses:
            sent = [(node, to) for node in self.order if node not in self.idle for to in node.inputs if to in uses]
            uses.update(Counter([to for _, to in sent]))
            self.special = self.special.union([node for node, _ in sent])
        return uses


def raise_freed(node: Any) -> None:
    """Tell that a node's saved values are gone."""
    for observer in state.observers:
        observer.failed(node)
    raise RuntimeError(
        f"backward through {node.recipe.primitive.name} a second time: its saved values were "
        f"freed; pass retain_graph=True to the first backward"
    )


def reach(roots: Iterable[Any]) -> tuple[set[Any], list[Any], list[Leaf], list[Any]]:
    """All nodes that the roots depend on; those that were freed; the leaves; all but plain leaves, youngest first."""
    dead, leaves = [], []
    seen = {None, *roots}
    found = list(seen.difference((None,)))
    for node in found:  # which grows on the way
        origin = node.origin
        if type(origin) is tuple:
            for parent in origin:
                if parent not in seen:
                    seen.add(parent)
                    found.append(parent)
            if not origin:
                leaves.append(node)
        elif origin not in seen:
            seen.add(origin)
            found.append(origin)
        if node.saved is FREED:
            dead.append(node)
    seen.discard(None)
    plain = {leaf for leaf in leaves if leaf.extras is None}
    by_age(order := list(filterfalse(plain.__contains__, found)))
    return seen, dead, leaves, order


def _between(order: list[Any], wanted: set[Any]) -> set[Any]:
    """The nodes that lead to a wanted one."""
    needed = set(wanted)
    for node in reversed(order):  # oldest first
        origin = node.origin
        if origin in needed if type(origin) is not tuple else not needed.isdisjoint(origin):
            needed.add(node)
    return needed
