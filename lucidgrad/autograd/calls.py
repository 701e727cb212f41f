"""One call of a `Function`: a primitive made for the occasion, and the recipe of its node."""

import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from lucidgrad import inplace
from lucidgrad.core import device, dispatch
from lucidgrad.core.dispatch import box, floats, node_of
from lucidgrad.core.engine import tape_namespace
from lucidgrad.core.items import Input, Item, Own, Result, meta_of
from lucidgrad.core.modes import state, unusual
from lucidgrad.core.plan import reach
from lucidgrad.core.primitive import Kernels, Kind, watchers
from lucidgrad.core.tape import FREED, Leaf, check_saved, clock, node_of_edge, storage, touch
from lucidgrad.func import trees
from lucidgrad.levels import dual
from lucidgrad.levels.layer import Layer
from lucidgrad.tensor import Tensor

from .context import FunctionCtx
from .explanation.untraced import Followed, hidden_values, is_zero, without_history
from .mapping import mapped, newest_map
from .modes import no_grad


class Call:
    """One call of a function, as the primitive and as the recipe of its node."""

    kind, view, outputs, dtype, variadic, precision = Kind("custom"), False, True, "same", True, None
    keywords: dict[str, Any] = {}  # noqa: RUF012
    optional: frozenset[str] = frozenset()
    batch, rules, only, index, pulls, revive, flat = None, (), None, 0, (), None, False

    pushing = False  # whether backward is being transposed
    single = inline = real = False
    reads = False  # whether forward read values, which may have become numbers on ctx
    elder: Any = None  # the observer of operations that was there before this call
    fork: Any = None
    results: Sequence[Any] = ()  # what forward returned
    is_tensor: Sequence[bool] = ()
    spots: Sequence[int] = ()  # where among them the tensors are
    outs: Sequence[Tensor] = ()  # the tensors of it
    given: Sequence[Tensor] = ()
    returned: Sequence[int | None] = ()  # outputs that are inputs: which
    items: tuple[Item, ...] = ()
    saved_outputs: Sequence[int | None] = ()
    trusted: Sequence[bool] = ()  # saved values with a history, or that need none
    kept_nodes: Sequence[Any] = ()  # the history of those that are no outputs
    links: Sequence[tuple[Any, type[Item], int]] = ()  # what forward left on ctx that is an input or an output

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.name, self.begin, self.count = function.__name__, next(clock), len(args)
        self.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        self.tensors = [args[i] for i in self.places]
        self.shapes = [t.array.shape for t in self.tensors]
        self.arguments = [a for a in (*args, *kwargs.values()) if not isinstance(a, Tensor)]
        self.nodes = [node_of(t) for t in self.tensors]
        self.ctx = FunctionCtx()
        needs = [False] * len(args)
        for i, node in zip(self.places, self.nodes, strict=True):
            needs[i] = node is not None
        self.ctx.needs_input_grad, self.ctx._nodes = tuple(needs), tuple(self.nodes)
        self.moving = any(dual.has_tangent(t.array) for t in self.tensors)

    @property
    def primitive(self) -> "Call":
        """The call itself."""
        return self

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of the tensors among the arguments."""
        return tuple(f"x{i}" for i in self.places)

    @property
    def differentiable(self) -> tuple[int, ...]:
        """All tensors may have gradients."""
        return tuple(range(len(self.places)))

    # as a primitive
    def kernels_for(self, array_type: type, dtype: Any = None) -> Kernels:
        """Forward, or what dual numbers make of it."""
        return Kernels(dual.interpreter(self) if array_type is dual.Dual else self._forward)  # type: ignore[arg-type]

    def recipe(self, wanted: tuple[int, ...]) -> "Call":
        """The call itself is the recipe of its node."""
        return self

    def run(self) -> tuple[Any, ...]:
        """The arrays of the outputs."""
        compute: Callable[..., Any] = self._compute
        for watch in watchers:
            compute = watch(self, compute)  # type: ignore[arg-type]
        return compute(*(t.array for t in self.tensors))

    def _compute(self, *arrays: Any) -> tuple[Any, ...]:
        """Here arrays may be on several devices."""
        layers = [a for a in arrays if isinstance(a, Layer)]
        if not layers:
            return self._forward(*arrays)
        return tuple(self.kernels_for(type(max(layers, key=lambda a: a.level))).usual(*arrays))

    def _forward(self, *arrays: Any) -> tuple[Any, ...]:
        function, ctx = self.function, self.ctx
        self.given = [t if t.array is a else box(a) for t, a in zip(self.tensors, arrays, strict=True)]
        args = list(self.args)
        for i, value in zip(self.places, self.given, strict=True):
            args[i] = value
        self.elder = state.told
        try:
            if self.moving or any(n is not None for n in self.nodes):
                state.told = self._told
            with no_grad():
                result = self._result(function, ctx, args)
        finally:
            state.told = self.elder
        self.single = not isinstance(result, tuple)
        self.results = [result] if self.single else list(result)
        self.is_tensor = [isinstance(y, Tensor) for y in self.results]
        self.spots = [k for k, own in enumerate(self.is_tensor) if own]
        self.outs = [y for y in self.results if isinstance(y, Tensor)]
        self.returned = [next((k for k, x in enumerate(self.given) if x is y), None) for y in self.outs]
        for x in ctx._dirty:
            if not any(x is y for y in self.outs):
                raise RuntimeError(
                    f"{self.name}: an input was marked as dirty and is no output; what forward changes in place it "
                    f"must return"
                )
            touch(x.array)
        self._classify()
        return tuple(y.array for y in self.outs)

    def _result(self, function: Any, ctx: FunctionCtx, args: list[Any]) -> Any:
        if not _wrote(function, "forward"):
            raise RuntimeError(f"{self.name} has no forward: write it as a static method")
        if not _wrote(function, "setup_context"):
            return function.forward(ctx, *args, **self.kwargs)
        newest = newest_map(self.given) if _wrote(function, "vmap") else None
        result = mapped(function, args, self.kwargs, *newest) if newest else function.forward(*args, **self.kwargs)
        function.setup_context(ctx, tuple(args), result)
        return result

    def _told(self, how: Any, xs: Any, made: Any) -> None:
        """Take notice of values that forward reads: as numbers they have no history."""
        self.reads = self.reads or (how == "host" and xs[0].size == 1 and xs[0].array.dtype in floats)
        if self.elder is not None:
            self.elder(how, xs, made)

    def _is_dirty(self, x: Tensor) -> bool:
        return any(x is d for d in self.ctx._dirty)

    def _is_fixed(self, y: Tensor) -> bool:
        return any(y is f for f in self.ctx._fixed)

    def _classify(self) -> None:
        """What the saved values are, and the tensors on ctx: inputs, outputs, or forward's own."""
        saved, attributes = self.ctx._saved, self._attributes()
        tensors = [t for t in trees.flatten(attributes)[0] if isinstance(t, Tensor)] if attributes else []
        self.ctx._constants += tuple(filter(self._is_fixed, tensors))
        kinds = [self._item(t) for t in saved]
        self.items = tuple([Result() if kind is Result else kind(at) for kind, at in kinds])
        self.saved_outputs = [at if kind is Result else None for kind, at in kinds]
        self.trusted = [k[0] is not Own or t is None or self._is_traced(t) for t, k in zip(saved, kinds, strict=True)]
        self.kept_nodes = [
            None if t is None or k[0] is Result else node_of(t) for t, k in zip(saved, kinds, strict=True)
        ]
        self.links = [(t, kind, at) for t in tensors for kind, at in [self._item(t)] if kind is not Own]

    def _item(self, t: Tensor | None) -> tuple[type[Item], Any]:
        """What a tensor is in this call, and which of them."""
        if t is not None and self._is_fixed(t):
            return Own, None
        for k, x in enumerate(self.given):
            if t is x and not self._is_dirty(x):
                return Input, k
        for k in reversed(range(len(self.outs))):  # of one that is returned twice, the last place counts
            if t is self.outs[k]:
                return Result, k
        return Own, None

    def _attributes(self) -> dict[str, Any]:
        names = vars(self.ctx)
        return {k: v for k, v in names.items() if k not in FunctionCtx.__annotations__ and k != "_materialize"}

    def release(self) -> None:
        """Let go of what the node does not keep: inputs, outputs, and what is saved in the node itself."""
        self.args, self.kwargs, self.tensors, self.given, self.outs, self.results = (), {}, [], (), (), ()
        self.ctx._saved = self.ctx._dirty = self.ctx._fixed = ()

    # forward mode
    def jvp(self, xp: Any, y: Any, xs: Any, ts: Any, **keywords: Any) -> tuple[Any, ...]:
        """The user's jvp, or else backward transposed."""
        before, self.moving = self.moving, any(map(dual.has_tangent, xs))  # of older levels
        self.pushing = True
        try:
            if not _wrote(self.function, "jvp"):
                return tuple(dual._transposed(self, xp, y, xs, ts, keywords))  # type: ignore[arg-type]
            return self._own_jvp(xp, y, xs, ts)
        finally:
            self.moving, self.pushing = before, False

    def _own_jvp(self, xp: Any, y: Any, xs: Any, ts: Any) -> tuple[Any, ...]:
        tangents: list[Any] = [None] * len(self.args)
        for i, x, t in zip(self.places, xs, ts, strict=True):
            tangents[i] = box(xp.zeros_like(x) if t is None else t) if self.ctx._materialize or t is not None else None
        with self._watched(self.save(y, xs, {}), [box(x) for x in xs], graph=False):
            found = self.function.jvp(self.ctx, *tangents)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(self.results):
            raise RuntimeError(
                f"{self.name}.jvp returned {len(found)} tangents, expected {len(self.results)}: one per output"
            )
        moved = [m for m, result in zip(found, self.results, strict=True) if isinstance(result, Tensor)]
        for k, (m, part) in enumerate(zip(moved, y, strict=True)):
            if m is not None and not isinstance(m, Tensor):
                raise TypeError(f"{self.name}.jvp returned a {type(m).__name__}, expected tensors or None")
            if m is not None and tuple(m.shape) != tuple(part.shape):
                raise RuntimeError(
                    f"{self.name}.jvp returned a tangent of shape {m.shape} for output {k}, expected {part.shape}"
                )
        return tuple(xp.zeros_like(part) if m is None else m.array for part, m in zip(y, moved, strict=True))

    # as a recipe
    @property
    def fills(self) -> bool:
        """Whether backward is given zeros for outputs that nothing depends on."""
        return self.ctx._materialize

    @property
    def keeps_arrays(self) -> bool:
        """Whether anything was saved."""
        return bool(self.items)

    def save(self, y: Any, xs: Sequence[Any], keywords: dict[str, Any], meta: Any = meta_of) -> tuple[Any, ...]:
        """What save_for_backward was given, with the inputs and outputs as they are at a level."""
        values: list[Any] = []
        for t, item, number in zip(self.ctx._saved, self.items, self.saved_outputs, strict=True):
            if type(item) is Input:
                values.append(xs[item.at])
            elif type(item) is Result:  # of several outputs, only the one that is meant
                values.append(self._by_spot([part if k == number else None for k, part in enumerate(y)]))
            else:
                values.append(None if t is None else t.array)
        return tuple(values)

    def _by_spot(self, parts: Sequence[Any]) -> tuple[Any, ...]:
        """One entry per output, from one per output that is a tensor."""
        found = iter(parts)
        return tuple([next(found) if own else None for own in self.is_tensor])

    def joint(self, xp: Any, g: Any, saved: tuple[Any, ...]) -> tuple[Any, ...]:
        """The user's backward, on tensors in either mode."""
        graph = state.recording
        gs = self._by_spot(g) if self.pushing else g
        all_gs = [None if part is None else _conj(part if isinstance(part, Tensor) else box(part)) for part in gs]
        other = not _wrote(self.function, "backward") and _wrote(self.function, "vjp")
        rule = self.function.vjp if other else self.function.backward
        if rule is self.function.plain.backward:
            raise RuntimeError(f"{self.name} has no backward: write it as a static method")
        followed = Followed([g for g in all_gs if g is not None])
        with self._watched(saved, None, graph) as reasons, followed if graph else nullcontext():
            found = rule(self.ctx, *all_gs)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) > self.count and all(extra is None for extra in found[self.count :]):
            found = found[: self.count]
        if len(found) != self.count:
            raise RuntimeError(
                f"{self.name}.backward returned {len(found)} gradients, expected {self.count}: one per argument of "
                f"forward, None for those that have none"
            )
        for i, g in enumerate(found):
            if g is not None and i not in self.places:
                raise RuntimeError(
                    f"{self.name}.backward returned a gradient for argument {i}, which is no tensor; expected None"
                )
        checked = [self._checked(found[i], k) for k, i in enumerate(self.places)]
        if not graph:
            return tuple(None if g is None else _conj(g).array for g in checked)
        nodes = [*self.nodes, *(node_of(g) for g in all_gs if g is not None)]
        linked = any(n is not None for n in nodes)
        doubtful = [linked and g is not None and node_of(g) is None and g not in followed for g in checked]
        if any(doubtful):
            shown: Sequence[Any] = checked
            if self.pushing:  # the seeds are zeros: look at what others give
                with self._watched(saved, None, graph), no_grad():
                    found = rule(self.ctx, *(None if g is None else tape_namespace.ones_like(g) for g in all_gs))
                found = found if isinstance(found, tuple) else (found,)
                shown = [found[i] for i in self.places]
            doubtful = [d and not is_zero(g.array) for g, d in zip(shown, doubtful, strict=True)]
        traced = [
            g if g is None else self._traced(g, nodes, d, reasons) for g, d in zip(checked, doubtful, strict=True)
        ]
        return tuple(map(_conj, traced))

    def _traced(self, g: Tensor, nodes: list[Any], doubtful: bool, reasons: list[str]) -> Tensor:
        """A gradient that tells if its own derivative can't be known."""
        if doubtful:
            return without_history(
                g.array,
                nodes,
                f"{self.name}: a derivative is asked for of a gradient that backward computed with other means than "
                f"lucidgrad's operations; use those, or write jvp for forward mode",
            )
        for reason in reasons:
            g = g + without_history(tape_namespace.zeros_like(g.detach()).array, self.nodes, reason)
        return g

    def _checked(self, g: Any, k: int) -> Tensor | None:
        if g is None:
            return None
        if not isinstance(g, Tensor):
            raise TypeError(f"{self.name}.backward returned a {type(g).__name__}, expected tensors or None")
        own, expected = tuple(g.shape), self.shapes[k]
        extra = len(own) - len(expected)
        if extra < 0 or any(n not in (1, m) for n, m in zip(expected, own[extra:], strict=True)):
            raise RuntimeError(
                f"{self.name}.backward returned a gradient of shape {own} for argument {self.places[k]}, expected the "
                f"argument's shape {expected}"
            )
        return g

    # what backward and jvp see of ctx
    @contextmanager
    def _watched(self, saved: tuple[Any, ...], xs: Sequence[Tensor] | None, graph: bool) -> Iterator[list[str]]:
        """Saved values, and tensors on ctx, as they may be used now; the reasons why the results may not be."""
        ctx, reasons = self.ctx, list[str]()
        names, before = vars(ctx), {}
        given = self._saved_tensors(saved, xs is None, graph or self.moving)
        if graph or self.moving or any(kind is Result for _, kind, _ in self.links):
            before = self._attributes()
            seen = {k: functools.partial(self._watch, k, xs, reasons, graph) for k in before}
            names.update({k: trees.map(seen[k], v) for k, v in before.items()})
        elder, ctx._given = ctx._given, given
        try:
            yield reasons
        finally:
            ctx._given = elder
            names.update(before)

    def unpacked(self, fork: Any) -> tuple[Tensor | None, ...]:
        """What the node of the call keeps, as backward would get it."""
        if fork.saved is FREED:
            raise RuntimeError(
                f"saved_tensors of {self.name}: they were freed by a backward pass; pass retain_graph=True to it"
            )
        check_saved(fork)
        return self._saved_tensors(fork.saved if fork.extras.unpack is None else fork.extras.unpack(fork.saved))

    def _saved_tensors(
        self, saved: tuple[Any, ...], history: bool = True, strict: bool = False
    ) -> tuple[Tensor | None, ...]:
        """What was saved, with its history; strictly: what has none where it needs one refuses derivatives."""
        given: list[Tensor | None] = []
        for item, at, trusted, node, value in zip(
            self.items, self.saved_outputs, self.trusted, self.kept_nodes, saved, strict=True
        ):
            k = at or 0
            value = value[self.spots[k]] if type(item) is Result and value is not None else value
            if value is None or isinstance(value, Tensor):
                given.append(value)
            elif strict and not trusted:
                given.append(self._refused(value, "in save_for_backward"))
            elif type(item) is Result:
                given.append(self._output(box(value), k) if history else box(value))
            else:
                given.append(_revived(value, node if history or type(item) is Own else None))
        return tuple(given)

    def _watch(self, name: str, xs: Sequence[Tensor] | None, reasons: list[str], graph: bool, value: Any) -> Any:
        """An object on ctx as backward may use it."""
        for known, kind, k in self.links:
            if known is value:
                if kind is Input:
                    return value if xs is None else xs[k]
                return self._refused(value.array, f"as ctx.{name}") if self.moving else self._output(value, k)
        if not (graph or self.moving):
            return value
        if isinstance(value, Tensor):
            return value if self._is_traced(value) else self._refused(value.array, f"as ctx.{name}")
        known_values = [*self.ctx._constants, *(known for known, _, _ in self.links), *self.arguments]
        if isinstance(value, (float, complex)):
            doubtful = self.reads and not any(type(one) is type(value) and one == value for one in known_values)
        else:
            hidden = hidden_values(value, known_values)
            doubtful = any(not isinstance(one, Tensor) or not self._is_traced(one) for one in hidden)
        if doubtful:
            reason = self._reason(f"in ctx.{name}")
            if self.moving:
                raise RuntimeError(reason)
            reasons.append(reason)
        return value

    def _output(self, y: Tensor, k: int) -> Tensor:
        fork = None if self.fork is None else self.fork()
        return y if fork is None else box(y.array, node_of_edge(fork, self.spots[k]))

    def _is_traced(self, t: Tensor) -> bool:
        """Whether a tensor has the history that its derivatives need: it is constant, or older, or made of inputs."""
        if t.array.dtype not in floats or self._is_fixed(t) or any(t is c for c in self.ctx._constants):
            return True
        node = node_of(t)
        if node is None:
            return False
        return node.when < self.begin or any(n is not None and n in reach([node])[0] for n in self.nodes)

    def _reason(self, where: str) -> str:
        return (
            f"{self.name}: a second derivative is asked for that goes through a value which forward computed and kept "
            f"without history ({where}); compute it from saved inputs in backward, return it as an output, or say "
            f"ctx.mark_constant(...) if it does not depend on the inputs"
        )

    def _refused(self, value: Any, where: str) -> Tensor:
        if self.moving:
            raise RuntimeError(self._reason(where))
        array = value.array if isinstance(value, Tensor) else value
        return without_history(array, self.nodes, self._reason(where))

    # the call itself
    def call(self) -> Any:
        """Run forward, record it, and give what users get."""
        ys = self.run()
        outs = self._recorded(ys)
        if unusual and state.told is not None:
            state.told(self, tuple(self.tensors), tuple(outs))
        found = iter(self._finished(outs))
        results = tuple([next(found) if own else y for y, own in zip(self.results, self.is_tensor, strict=True)])
        self.release()
        return results[0] if self.single else results

    def _recorded(self, ys: tuple[Any, ...]) -> list[Tensor]:
        outs = [box(y) for y in ys]
        wanted = tuple([i for i, n in enumerate(self.nodes) if n is not None]) if state.recording else ()
        if wanted and outs:
            arrays = [t.array for t in self.tensors]
            ends = dispatch.record_fork(self, ys, arrays, self.nodes, wanted, {}, self.is_tensor)  # type: ignore[arg-type]
            self.fork = self.ctx._fork = weakref.ref(ends[0].fork)
            for out, made, end in zip(outs, self.outs, ends, strict=True):
                if out.array.dtype in floats and not self._is_fixed(made):
                    out._node, out._alias = end, None
        return outs

    def _finished(self, outs: Sequence[Tensor]) -> list[Tensor]:
        """The outputs as users get them: what is returned twice is one tensor; a view knows what it is a view of."""
        found: list[Tensor] = []
        for k, (made, y) in enumerate(zip(self.outs, outs, strict=True)):
            twin = next((j for j in range(k) if self.outs[j] is made), None) if self.returned[k] is None else None
            if twin is not None:
                found[twin]._node = y._node  # the last place counts
            found.append(self._handed(k, y) if twin is None else found[twin])
        for k, y in enumerate(found):
            if y is outs[k]:
                self._share(k, found)
        return found

    def _handed(self, k: int, y: Tensor) -> Tensor:
        """An output, or the input itself if that was changed."""
        made, source = self.outs[k], self.returned[k]
        x = None if source is None else self.tensors[source]
        if self._is_fixed(made) and (x is None or node_of(x) is not None):
            return y.detach() if x is not None or isinstance(y.array, Layer) else y
        if x is None or not self._is_dirty(made):
            return y
        if x.array is not y.array and isinstance(x.array, Layer):  # the tangent, too
            inplace.check_levels(self.name, x.array, y.array)
            inplace.check_writable(x, self.name, recording=False)
            x.array = device.by_array[type(x.array)].write(x.array, ..., y.array)
        if state.recording and (y._node is not None or node_of(x) is not None):
            inplace.check_writable(x, self.name, recording=True)
            inplace._rebase(x, y._node)
        return x

    def _share(self, k: int, found: list[Tensor]) -> None:
        """Let an output know what it shares memory with: a write into either can't go through both histories."""
        y, view = found[k], self.outs[k]._alias
        for x in self.tensors:
            if _share_memory(x, y):
                y._alias = dispatch.alias_of(x, (), f"is a view of an input that {self.name} returned")
                return
        group = [(t, made) for t, made in zip(found, self.outs, strict=True) if t is y or _share_memory(t, y)]
        if y._alias is None and any(
            t is not y for t, _ in group
        ):  # the base is another output, or known to forward only
            base = next((t for t, made in group if made._alias is None), None)
            base = view.base if base is None and view is not None else base
            if base is not y:
                barrier = f"is one of several outputs of {self.name} that share memory"
                y._alias = dispatch.alias_of(base, (), barrier)


def _wrote(function: Any, name: str) -> bool:
    """Whether a subclass of `Function` has a method of its own."""
    return getattr(function, name) is not getattr(function.plain, name)


def _revived(value: Any, node: Any) -> Tensor:
    """A saved value with its history: the leaf itself, if it is one."""
    leaf = node.tensor() if type(node) is Leaf else None
    return leaf if leaf is not None and leaf.array is value else box(value, node)


def _share_memory(x: Tensor, y: Tensor) -> bool:
    return type(x.array) is type(y.array) and storage(x.array) is storage(y.array)


def _conj(g: Any) -> Any:
    """Users see gradients, walks carry their conjugates."""
    return tape_namespace.conj(g) if g is not None and g.array.dtype in dispatch.complexes else g
