"""A budget for what nodes keep: values beyond it are dropped, and computed again when backward asks for them.

Every operation inside the context is noted with its inputs, so that its result can be computed again from the nearest
results that are still there. Which of them stay is decided as the program runs: when the budget is full, the value
goes whose neighbours are nearest to each other, so that those that stay are spread evenly over the program. Backward
computes a gap again from its older end, and keeps evenly spread values of it while there is room; where there is none
and the gap is long, it keeps the middle, so that a chain of n operations costs at most in the order of n log n.
"""

import heapq
import threading
import weakref
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.dispatch import complexes
from lucidgrad.core.items import Input, Inputs, Part, Result
from lucidgrad.core.modes import new_nodes, state
from lucidgrad.core.primitive import Primitive, registry
from lucidgrad.core.tape import Output, storage
from lucidgrad.levels.layer import Layer
from lucidgrad.refusals import guard as _guard

from .recomputation import Replay, Source, bytes_of, is_firm, is_in, is_written, shape_and_dtype

__all__ = ["memory_budget"]

#: Primitives that are never run a second time: their results are kept. Those that draw random numbers belong here.
RUN_ONCE = {"untraced"}

_LONG = 8  # a gap of more operations is halved even where the budget is used up
_RESERVE = 0.25  # the part of the budget that the first run leaves to backward at most


class _Unpack:
    """Gives a node back what it keeps; and tells which call a node stands for, while that is of use."""

    __slots__ = ("call", "pool")

    def __init__(self, pool: "_Pool", call: Replay | None) -> None:
        self.pool = pool
        self.call: Callable[[], Replay | None] = _nothing if call is None else weakref.ref(call)

    def __call__(self, saved: tuple[Any, ...]) -> tuple[Any, ...]:
        if state.walking is not None and not state.walking.retain_graph:
            self.pool.let_go(self.call())
        targets = {x.call for x in _parts(saved) if type(x) is Source}
        if not targets:
            return saved
        found = self.pool.fetch(targets)
        return tuple(tuple(_given(p, found) for p in x) if type(x) is tuple else _given(x, found) for x in saved)


def _given(x: Any, found: dict[Replay, tuple[Any, ...]]) -> Any:
    return found[x.call][x.index] if type(x) is Source else x


def _nothing() -> None:
    return None


def _parts(saved: tuple[Any, ...]) -> Iterator[Any]:
    return (part for x in saved for part in (x if type(x) is tuple else (x,)))


def _jitter(number: int) -> float:
    """A number in [0, 1), evenly distributed: so that not the same operation of every round of a loop is dropped."""
    return number * 0.6180339887498949 % 1.0


# -- what is held --------------------------------------------------------------------------------
class _Pool:
    """The calls of one budget, and the results that are held."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.used = 0
        self._full = False
        self.recomputed = 0
        self._lock = threading.RLock()
        self._number = self._position = 0
        self._strong: dict[int, Replay] = {}  # calls of tensors that nothing keeps yet, but that may be used later
        self._held: dict[int, tuple[Any, int, int]] = {}  # number -> weak call, bytes, position
        self._order: list[int] = []  # the numbers of those that are held, sorted
        self._heap: list[tuple[float, int]] = []  # (gap, number): who goes first; gaps may have grown since
        self._gone: deque[int] = deque()  # numbers of held calls that nobody needs any more
        self._places: dict[Any, Any] = {}  # device -> the one stream whose calls can be computed again

    # -- the first run
    def keep(self, node: Any, y: Any, arrays: Sequence[Any], keywords: dict[str, Any]) -> None:
        """Note a call, and let its node keep sources instead of arrays."""
        recipe = node.recipe
        primitive: Primitive = recipe.primitive
        place = node.extras.place if node.extras is not None else None
        if registry.get(primitive.name) is not primitive:
            return  # a function of the user's: it keeps what it says
        if place is not None and self._places.setdefault(place.device, place) is not place:
            return
        with self._lock:
            parents = (*node.inputs, *(None for _ in arrays))
            sources = [self._source(a, p, place) for a, p in zip(arrays, parents, strict=False)]
            firm = all(s or is_firm(a, p) for a, p, s in zip(arrays, parents, sources, strict=False))
            call = self._call(primitive, y, arrays, sources, keywords) if firm else None
            if call is not None:
                call.when, call.place = node.when, place
            saved: list[Any] = []
            for item, value in zip(recipe.items, node.saved, strict=True):
                if type(item) is Result and call is not None:
                    several = tuple(Source(call, k) for k in range(len(call.metas)))
                    value = several if primitive.outputs else several[0]
                elif type(item) is Part and call is not None:
                    value = Source(call, item.at)
                elif type(item) is Input and sources[item.at] is not None:
                    value = sources[item.at]
                elif type(item) is Inputs:
                    value = tuple(a if s is None else s for a, s in zip(value, sources, strict=True))
                saved.append(value)
            node.saved = tuple(saved)
            node.more().unpack = _Unpack(self, call)
            for x in _parts(node.saved):
                if type(x) is Source:
                    self._want(x.call)

    def let_go(self, call: Replay | None) -> None:
        """The graph of this call is freed: its tensor, if there still is one, is a constant from now on."""
        self._strong.pop(id(call), None)

    def _source(self, array: Any, parent: Any, place: Any) -> Source | None:
        """Where an input comes from, if it can be computed again and is what its node once made."""
        index = 0
        if type(parent) is Output:
            parent, index = parent.fork, parent.index
        extras = parent.extras if parent is not None else None
        if extras is None or type(extras.unpack) is not _Unpack or extras.unpack.pool is not self:
            return None
        call = extras.unpack.call()
        if call is None or call.place is not place or call.refs[index]() is not array or call.changed((array,)):
            return None
        return Source(call, index)

    def _call(
        self, primitive: Primitive, y: Any, arrays: Sequence[Any], sources: Sequence[Any], keywords: dict[str, Any]
    ) -> Replay | None:
        """The note of a call; None if its results must stay."""
        ys = tuple(y) if primitive.outputs else (y,)
        own = [a for a in arrays if type(a) in device.by_array]
        if primitive.name in RUN_ONCE or any(isinstance(a, Layer) for a in (*ys, *own)):
            return None
        if len({a.dtype in complexes for a in own}) > 1:
            return None  # which kernel served depends on how it was called
        if any(map(is_written, ys)):
            return None  # an in-place operation: its input is no more
        call = Replay()
        call.primitive, call.held, call.wanted, call.base = primitive, None, False, None
        call.inputs = tuple(a if s is None else s for a, s in zip(arrays, sources, strict=True))
        call.keywords = {k: list(v) if type(v) is list else v for k, v in keywords.items()}
        call.metas = tuple(map(shape_and_dtype, ys))
        call.bytes = 0
        for part in ys:
            memory = storage(part)
            shared = [x for a, x in zip(arrays, call.inputs, strict=True) if is_in(a, memory)]
            if shared:
                call.base = shared[0]
            else:
                call.bytes += bytes_of(part)
        if call.bytes:
            call.base = None
        self._number += 1
        self._position += call.bytes
        call.number, call.position = self._number, self._position
        strong, key = self._strong, id(call)

        def let_go(_: Any) -> None:
            strong.pop(key, None)

        try:
            call.refs = tuple(weakref.ref(part, let_go) for part in ys)
        except TypeError:
            return None  # an array that can't be referred to weakly
        strong[key] = call
        return call

    def _want(self, call: Replay) -> None:
        """A node keeps a result of this call: hold it, for now."""
        root = call.root()
        self._strong.pop(id(call), None)
        if root is None or root.wanted:
            return
        root.wanted = True
        arrays = root.now()
        if arrays is not None:
            self._strong.pop(id(root), None)
            self._hold(root, arrays)
        else:  # only a view of it is left
            arrays = call.now()
            if arrays is None:
                return
            self._hold(call, arrays, root.bytes)
        self._settle()
        if self.used > self.budget:
            self._full = True
        while self._full and self._order and self.used > self._limit():
            self._evict(self._least())

    def _limit(self) -> float:
        """What the first run may use once values are dropped: backward needs room for the values of two gaps."""
        return self.budget - min(self.budget * _RESERVE, 2 * self._position / len(self._order))

    # -- holding
    def _hold(self, call: Replay, arrays: tuple[Any, ...], size: int | None = None) -> None:
        if call.held is not None:
            call.held = arrays
            return
        call.held, number, gone = arrays, call.number, self._gone
        size = call.bytes if size is None else size
        self._held[number] = (weakref.ref(call, lambda _: gone.append(number)), size, call.position)
        self.used += size
        newest = self._order[-1] if self._order else number
        insort(self._order, number)
        candidate = min(number, newest)  # the newest has no neighbour after it; the one before has one now
        if len(self._order) > 1:
            heapq.heappush(self._heap, (self._gap(candidate), candidate))

    def _gap(self, number: int) -> float:
        """How far apart the neighbours are that remain if this one goes."""
        at = bisect_left(self._order, number)
        before = self._held[self._order[at - 1]][2] if at else 0
        after = self._held[self._order[at + 1]][2]
        return (after - before) * (1 + 0.4 * _jitter(number))

    def _least(self) -> int:
        """Who goes first."""
        while self._heap:
            gap, number = heapq.heappop(self._heap)
            if number not in self._held or number == self._order[-1]:
                continue
            now = self._gap(number)
            if now > gap:
                heapq.heappush(self._heap, (now, number))
            else:
                return number
        return self._order[-1]

    def _evict(self, number: int) -> None:
        self._forget(number)
        call = self._last[0]()
        if call is not None:
            call.held = None

    def _forget(self, number: int) -> None:
        self._last = self._held.pop(number)
        self.used -= self._last[1]
        del self._order[bisect_left(self._order, number)]

    def _settle(self) -> None:
        """Count out what nobody needs any more."""
        while self._gone:
            number = self._gone.popleft()
            if number in self._held:
                self._forget(number)

    # -- backward
    def fetch(self, targets: set[Replay]) -> dict[Replay, tuple[Any, ...]]:
        """The results of these calls, computed again where they are not in memory."""
        with self._lock:
            self._settle()
            ready: dict[Replay, tuple[Any, ...]] = {}
            missing: list[Replay] = []
            seen, stack = set(targets), list(targets)
            while stack:
                call = stack.pop()
                arrays = call.now()
                if arrays is not None:
                    ready[call] = arrays
                    continue
                if call.held is not None:  # written in place
                    self._evict(call.number)
                missing.append(call)
                for source in call.sources():
                    if source.call not in seen:
                        seen.add(source.call)
                        stack.append(source.call)
            if missing:
                missing.sort(key=lambda call: call.number)
                self._run(missing, targets, ready)
            return ready

    def _run(self, missing: list[Replay], targets: set[Replay], ready: dict[Replay, tuple[Any, ...]]) -> None:
        """Run calls in their old order; what no later one needs is dropped at once."""
        stays = self._chosen(missing, targets)
        uses = dict.fromkeys(targets, 1)
        for call in missing:
            for source in call.sources():
                uses[source.call] = uses.get(source.call, 0) + 1
        for call in missing:
            arrays = [ready[x.call][x.index] if type(x) is Source else x for x in call.inputs]
            made = ready[call] = call.run(arrays)
            self.recomputed += 1
            del arrays
            self._strong.pop(id(call), None)
            call.refs = tuple(map(weakref.ref, made))
            if call in stays:
                self._hold(call, made)
            del made
            for source in call.sources():
                uses[source.call] -= 1
                if not uses[source.call]:
                    ready.pop(source.call, None)

    def _chosen(self, missing: list[Replay], targets: set[Replay]) -> set[Replay]:
        """Which results to hold: those that are asked for, and others evenly spread, as far as there is room."""
        chosen = {root for root in (call.root() for call in targets) if root is not None} & set(missing)
        others = [call for call in missing if call.bytes and call not in chosen]
        total, asked = sum(call.bytes for call in others), sum(call.bytes for call in chosen)
        newest = max(call.number for call in targets)
        while self._order and self._order[-1] > newest and self.used + asked + total > self.budget:
            self._evict(self._order[-1])  # backward has been there
        room = self.budget - self.used - asked
        if total <= room:
            return chosen | set(others)
        if not others:
            return chosen
        mean = total / len(others)
        count = max(int(room / 2 / mean), int(room >= mean or len(others) > _LONG))
        step, passed, next_at = total / (count + 1), 0, 1
        for call in others:
            passed += call.bytes
            if passed >= (next_at + 0.3 * (_jitter(call.number) - 0.5)) * step and next_at <= count:
                chosen.add(call)
                next_at += 1
        return chosen


class memory_budget(new_nodes):
    """A context in which operations keep at most so many bytes for backward; the rest is computed again when needed.

    Gradients of every order are the same to the last bit: what is computed again comes from the same kernels and the
    same inputs. Leaves, constants, random numbers and results of in-place operations and of your own
    `Function` objects are never computed again: they are kept and do not count. An input that is modified in place
    before it is needed again raises an error.

    Parameters
    ----------
    bytes
        The budget. During backward a few values more are in memory: those at work, and in a long chain of n operations
        with a very small budget about log2(n) others.

    Attributes
    ----------
    used : int
        The bytes that are held now.
    recomputed : int
        How many operations were run again so far.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(1000, requires_grad=True)
    >>> with lg.autograd.memory_budget(40_000) as budget:
    ...     y = x
    ...     for _ in range(100):
    ...         y = lg.tanh(y)
    >>> y.sum().backward()
    >>> 80 < budget.recomputed < 300
    True
    >>> again = lg.ones(1000, requires_grad=True)
    >>> y = again
    >>> for _ in range(100):
    ...     y = lg.tanh(y)
    >>> y.sum().backward()
    >>> bool((x.grad == again.grad).all())
    True
    """

    def __init__(self, bytes: int) -> None:
        if isinstance(bytes, bool) or not isinstance(bytes, (int, float)):
            raise TypeError(f"memory_budget: given a {type(bytes).__name__}, expected a number of bytes")
        if not bytes >= 0:
            raise ValueError(f"memory_budget: given {bytes} bytes, expected a number that is not negative")
        self._pool = _Pool(bytes)
        super().__init__(self._pool.keep, call=True)

    @property
    def _result(self) -> Any:
        return self

    @property
    def used(self) -> int:
        """The bytes that are held now."""
        self._pool._settle()
        return self._pool.used

    @property
    def recomputed(self) -> int:
        """How many operations were run again so far."""
        return self._pool.recomputed


_guard(__name__, __all__)
