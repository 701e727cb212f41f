"""A call that is traced: what goes in, what comes out and what it changed, as the plan of later runs."""

import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

import lucidgrad as lg
from lucidgrad.core import device, dtype as dtypes
from lucidgrad.core.box import INFERENCE
from lucidgrad.core.dispatch import box
from lucidgrad.core.modes import Attention, told
from lucidgrad.core.tape import FREED, Leaf
from lucidgrad.func import trees
from lucidgrad.func.bodies import Recorded
from lucidgrad.levels.layer import Layer
from lucidgrad.levels.numbers import TracedNumber
from lucidgrad.levels.program import Variable, actions, communicates
from lucidgrad.levels.traced import NO_WAY, Trace, Traced, current, value_of

from .entry import Grows, Output, Plan, Terms
from .hooks import hears
from .watches import Watch

__all__ = ["MISSED", "Session"]

_VALUES = (bool, int, float, complex, str, bytes, type(None), type, Enum, device.Device)


class Session:
    """A call that is traced: the arrays of all tensors that it may meet are traced ones meanwhile."""

    def __init__(
        self,
        tensors: Sequence[Any],
        held: Sequence[Any],
        strict: bool,
        places: Sequence[tuple[Watch, int]] = (),
        given: Sequence[float] = (),
    ) -> None:
        self.trace = Trace("compile", strict)
        self.places = [(watch, i, self.trace.number(watch.known[i])) for watch, i in places]
        self.given = [self.trace.number(value) for value in given]  #: Floats among the arguments, as it may meet them.
        self.all = [*tensors, *held]
        self._count = len(tensors)
        self.raw: list[Any] = []
        self.inputs: list[Traced] = []
        self.grads: list[Any] = []
        self.leaked = False
        self._strange: dict[int, weakref.ref[Any]] = {}

    def __enter__(self) -> None:
        for x in self.all:
            self.raw.append(x.array)
            self.inputs.append(self.trace.input(x.array))
            self.grads.append(getattr(x, "_grad", None))
        self.begun = [made.variable for made in self.inputs]
        self._nodes = [x._node for x in self.all]
        for x, made in zip(self.all, self.inputs, strict=True):
            x.array = made
        for watch, i, number in self.places:
            watch.put(i, number)
        self._tokens = current.set(self.trace), told.set(self._told)
        self._attention: Attention | None = Attention()

    def _told(self, how: Any, args: Sequence[Any], made: Any) -> None:
        """Operations on tensors that are not traced: made inside, or known outside in a way that nobody saw."""
        for x in args:
            if type(x) is lg.Tensor and type(x.array) not in device.layers and id(x) not in self._strange:
                self._strange[id(x)] = weakref.ref(x)

    def sources(self) -> list[Any]:
        """The data that the program looks at in every run."""
        return [action.source for action in actions(self.trace.equations) if action.source is not None]

    def missed(self) -> list[Any]:
        """Tensors from outside that were not traced; those that were made inside are gone by now."""
        self._strange = {key: ref for key, ref in self._strange.items() if ref() is not None}
        if self._strange:
            gc.collect()
        found = [ref() for ref in self._strange.values()]
        return [x for x in found if x is not None]

    def __exit__(self, kind: Any, *exc: object) -> None:
        trace_token, told_token = self._tokens
        current.reset(trace_token)
        told.reset(told_token)
        self._attention = None
        self._put_back()
        if kind is not None:
            self.trace.level.ended = True
            self._restore()
            self._find_leaks()

    def _put_back(self) -> None:
        """Let numbers be floats again, in the places that they came from."""
        for watch, i, number in self.places:
            try:
                now = watch.now()[i]
            except (KeyError, ValueError):  # it is gone, and what it belongs to has changed
                continue
            if type(now) is TracedNumber:
                watch.put(i, now.value)
            if now is not number:
                self.trace.fail(f"it changed values that {watch.path} holds, which a program would not change again")

    def _restore(self) -> None:
        """Give all tensors arrays of their own kind again, with the values that they have now."""
        for x, raw in zip(self.all, self.raw, strict=True):
            now = x.array
            if type(now) is Traced and now.level is self.trace.level:
                if now.value is not raw:
                    device.by_array[type(raw)].write(raw, ..., now.value)
                x.array = raw
        for x in self.all:
            own = getattr(x, "_grad", None)
            if own is not None and type(own.array) is Traced and own.array.level is self.trace.level:
                own.array = own.array.value

    def finish(self, result: Any) -> tuple[Any, Plan | None]:
        """The result with arrays of the usual kind, and the plan of later runs, if there can be one."""
        trace, level = self.trace, self.trace.level
        leaves, shape = trees.flatten(result)
        if TracedNumber in map(type, leaves):
            leaves = [leaf.read() if type(leaf) is TracedNumber else leaf for leaf in leaves]
            result = trees.unflatten(shape, leaves)
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, lg.Tensor)]
        found = [leaves[i] for i in places]
        others = [None if i in places else leaf for i, leaf in enumerate(leaves)]
        plain = dtypes.known().values()
        if not all(isinstance(leaf, _VALUES) or any(leaf is dtype for dtype in plain) for leaf in others):
            trace.fail("a result is neither a tensor nor a plain value, and would be the same object in every call")

        def put_together(tensors: Sequence[Any]) -> Any:
            new = list(others)
            for i, x in zip(places, tensors, strict=True):
                new[i] = x
            return trees.unflatten(shape, new)

        token = current.set(trace)
        try:
            plan = self._plan(found, _first if isinstance(result, lg.Tensor) else put_together)
        finally:
            current.reset(token)
        level.ended = True
        for x in (*found, *(x._alias.base for x in found if x._alias not in (None, INFERENCE))):
            if type(x.array) is Traced and x.array.level is level and all(x is not t for t in self.all):
                x.array = x.array.value
        self._restore()
        for x in found:
            _release_history(x._node, level)
        self._find_leaks()
        return result, plan

    def _plan(self, found: Sequence[Any], result: Callable[[Sequence[Any]], Any]) -> Plan | None:
        """What was done, to be done again; ``found`` are the tensors of the result."""
        trace = self.trace
        writes: list[int] = []
        made: list[Any] = []
        grads: list[tuple[int, int | None]] = []
        for i, (x, old) in enumerate(zip(self.all, self.inputs, strict=True)):
            now = x.array
            if x._node is not self._nodes[i] and not (type(x._node) is Leaf and type(self._nodes[i]) is Leaf):
                trace.fail("a tensor from outside got another history")
            if type(now) is not Traced or now.shape != old.shape or now.dtype != old.dtype:
                trace.fail("a tensor from outside got another shape, dtype or device")
            elif now is not old or old.memory.version:
                writes.append(i)
                made.append(trace.variable(now))
        for i, x in enumerate(self.all):
            own = getattr(x, "_grad", None)
            if own is self.grads[i]:
                continue
            if own is None:
                grads.append((i, None))
            elif type(own.array) is Traced and own._node is None:
                grads.append((i, len(made)))
                made.append(trace.variable(own.array))
            else:
                trace.fail("a tensor got a gradient that has a history, or that was not computed here")
        outputs, growing = self._outputs(found, made)
        for host in trace.hosts:
            if getattr(host, "unless", None) is not None:
                host.flag = len(made)
                made.append(trace.variable(host.unless))
                host.unless = None
        if trace.failure is not None:
            return None
        grows = self._gradients(growing, made) if growing else None
        if trace.failure is not None:
            return None
        if grows is None:
            outputs = [Output("made", out.of) if type(out) is Output and out.grows else out for out in outputs]
        own = [number.variable for number in (*(number for _, _, number in self.places), *self.given)]
        numbers = [*own, *(v for host in trace.hosts for v in getattr(host, "variables", ()))]
        self._check_order(set(own))
        if trace.failure is not None:
            return None
        inputs = [*self.begun, *numbers, *(grows.seeds if grows else ())]
        terms = Terms(numbers, dict(trace.pinned), list(trace.outcomes))
        return Plan(trace.program(inputs, made), writes, grads, outputs, result, grows, terms)

    def _check_order(self, own: set[Variable]) -> None:
        """What settings come to is known before a run, unless Python changes them in the middle of it."""
        trace = self.trace
        asked = set(trace.pinned).union(*(outcome.sources for outcome in trace.outcomes)) - own
        if asked and not all(hasattr(host, "done") for host in trace.hosts):
            trace.fail("Python decides by a setting of an optimiser that a schedule inside changes")

    def read_all(self) -> bool:
        """Let all numbers count as read; whether there are any."""
        numbers = [*(number for _, _, number in self.places), *self.given]
        for number in numbers:
            number.read()
        return bool(numbers)

    def is_idle(self) -> bool:
        """Whether nothing was written or drawn, so that all may be done once more."""
        return not (
            self.trace.hosts
            or self.trace.set_back
            or any(action.draws for action in actions(self.trace.equations))
            or any(map(communicates, self.trace.equations))
            or any(made.memory.version for made in self.inputs)
            or any(getattr(x, "_grad", None) is not own for x, own in zip(self.all, self.grads, strict=True))
        )

    def hears(self, written: bool) -> bool:
        """Whether an argument has hooks, which the next one may not have; ``written``: see `hooks_of`."""
        return hears(self.all[: self._count], written)

    def pinned(self) -> tuple[list[tuple[Watch, int]], list[int]]:
        """The numbers whose values were read: those of places, and the positions of given ones."""
        known = self.trace.pinned
        places = [(watch, i) for watch, i, number in self.places if number.variable in known]
        return places, [i for i, number in enumerate(self.given) if number.variable in known]

    def _gradients(self, growing: dict[int, Any], made: list[Any]) -> Grows | None:
        """Trace the gradients of results that have a history; None where that was used up inside."""
        trace = self.trace
        targets = [i for i, node in enumerate(self._nodes) if node is not None]
        if not targets:  # it leads to what was made inside, which nobody can ask for
            return None
        if any(self._hooked(x._node) for x in growing.values()):
            trace.fail("a result's history has hooks")
            return None
        if any(getattr(at, "saved", ()) is FREED for x in growing.values() for at in _nodes(x._node)):
            return None
        seeds = [trace.input(device.by_array[type(x.array.value)].copy(x.array.value)) for x in growing.values()]
        variables = [seed.variable for seed in seeds]
        ends, starts = list(growing.values()), [self.all[i] for i in targets]
        trace.rehearses = True
        try:
            found = lg.autograd.grad(ends, starts, list(map(box, seeds)), retain_graph=True, allow_unused=True)
        except Exception as error:
            trace.fail(f"its gradients can't be computed ({type(error).__name__}: {error})")
            return None
        finally:
            trace.rehearses = False
        reached = [(i, g) for i, g in zip(targets, found, strict=True) if g is not None]
        made += [trace.variable(g.array) for _, g in reached]
        return Grows(list(growing), variables, [i for i, _ in reached])

    def _hooked(self, node: Any) -> bool:
        """Whether a node, or one before it, has hooks that the program would not call.

        The walk that gets gradients from the program writes them into ``.grad`` of leaves from outside, and calls what
        waits for that.
        """
        own = {id(leaf) for leaf in self._nodes if type(leaf) is Leaf}
        for at in _nodes(node):
            extras = at.extras
            if extras is None or not (extras.hooked or extras.retain is not None):
                continue
            if id(at) not in own or extras.tensor or extras.retain is not None:
                return True
        return False

    def _outputs(self, tensors: Sequence[Any], made: list[Any]) -> tuple[list[Any], dict[int, Any]]:
        """How the tensors of the result are made, and those that have a history, by the outputs that they are."""
        trace = self.trace
        found: list[Any] = []
        growing: dict[int, Any] = {}
        wholes: dict[int, int] = {}
        for x in tensors:
            own = [i for i, t in enumerate(self.all) if t is x]
            if own:
                found.append(own[0])
                continue
            array = x.array
            if type(array) is not Traced or array.level is not trace.level:
                if isinstance(array, Layer):
                    trace.fail("a result belongs to another transform")
                array = trace.constant(array) if not isinstance(array, Layer) else array
            if trace.failure is not None:
                continue
            if x._node is not None:  # it gets memory of its own
                growing[len(made)] = x
                found.append(Output("made", len(made), grows=True))
                made.append(trace.variable(array))
                continue
            memory = array.memory
            if array.steps is NO_WAY:
                memory = None
            if memory is not None and memory.external and not memory.shared:
                i = next(i for i, t in enumerate(self.inputs) if t.memory is memory)
                found.append(Output("given", i, array.steps))
                continue
            if memory is not None and array.steps and memory.version == array.version:
                k = wholes.get(id(memory))
                if k is None:
                    k = wholes[id(memory)] = len(made)
                    made.append(memory.whole)
                found.append(Output("made", k, array.steps))
                continue
            k = None if memory is None else wholes.get(id(memory))
            if k is None:
                k = len(made)
                made.append(trace.variable(array))
                if memory is not None and not array.steps:
                    wholes[id(memory)] = k
            found.append(Output("made", k))
        return found, growing

    def _find_leaks(self) -> None:
        """Tensors that were made inside and are still known outside: later runs would not make them anew."""
        strangers = self._strangers()
        if strangers and self.trace.failure is None:
            del strangers
            gc.collect()  # they may be rubbish that waits for its collection
            strangers = self._strangers()
            if strangers:
                self.leaked = True
                self.trace.failure = _LEAK
        if strangers:
            self._release(strangers)

    def _strangers(self) -> list[Any]:
        known = {id(made) for made in self.inputs}
        return [made for made in (ref() for ref in self.trace.alive) if made is not None and id(made) not in known]

    def _release(self, strangers: list[Any]) -> None:
        """Give tensors that are kept outside arrays of the usual kind: states of optimisers, for example."""
        for owner in gc.get_referrers(*strangers):
            if type(owner) is lg.Tensor and type(owner.array) is Traced and owner.array.level is self.trace.level:
                owner.array = owner.array.value


MISSED = "it computes with a tensor that it reaches in a way that is not followed: give it as an argument"
_LEAK = "a tensor that was made inside is kept outside, where later runs would not renew it"


def _nodes(node: Any) -> Iterator[Any]:
    """A node and all before it."""
    todo, seen = [node], set()
    while todo:
        at = todo.pop()
        if at is not None and id(at) not in seen:
            seen.add(id(at))
            yield at
            todo += [following for following, _ in at.next_functions]


def _release_history(node: Any, level: Any) -> None:
    """Let nodes keep arrays of the usual kind in place of traced ones."""
    for at in _nodes(node):
        if type(at) is not Leaf and at.saved:
            at.saved = tuple([_released(value, level) for value in at.saved])


def _released(value: Any, level: Any) -> Any:
    if type(value) is tuple:
        return tuple([_released(part, level) for part in value])
    if isinstance(value, Recorded):
        value.release(lambda array: _released(array, level))
    if type(value) is lg.Tensor and isinstance(value.array, Layer):
        value.array = _released(value.array, level)
    if isinstance(value, Layer) and type(value) is not Traced:  # of a transform inside, which has ended
        return value.map(lambda part: _released(part, level))
    return value_of(value, level)


def _first(tensors: Sequence[Any]) -> Any:
    return tensors[0]
