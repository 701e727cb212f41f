"""Units: the parameters that are gathered, freed and reduced together, those of one module.

Between its uses a parameter is its shard, the rows of this rank. While the module computes, the whole stands in its
place: `_Gather` makes it of the shards, and its backward is the reduction of the gradients, so that autograd itself
says when all of them have arrived. Nodes don't keep gathered parameters: they keep a note of which it was, and ask for
it again in backward.
"""

import contextlib
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import lucidgrad as lg
from lucidgrad.autograd.keeping import pack_kept
from lucidgrad.communication import functional
from lucidgrad.communication.collectives import all_gather_into_tensor, reduce_scatter_tensor
from lucidgrad.communication.debugging import meant_for
from lucidgrad.communication.groups import ReduceOp, get_rank, get_world_size, resolve
from lucidgrad.core import device
from lucidgrad.core.dispatch import box, node_of
from lucidgrad.core.modes import new_nodes, state, walking
from lucidgrad.core.tape import Leaf, storage, version
from lucidgrad.levels.layer import Layer
from lucidgrad.shards import Shard, rows_of
from lucidgrad.utils.checkpoint import surroundings

#: How many units the members of a group have made together.
_made: "weakref.WeakKeyDictionary[Any, int]" = weakref.WeakKeyDictionary()

#: Units whose modules compute at the moment, the outermost first.
active: list["Unit"] = []

#: The memory of gathered parameters that nodes are not to keep: by the id of its owner.
_gathered: dict[int, list["_Memory"]] = {}


class _Memory(NamedTuple):
    owner: Any
    unit: "Unit"
    at: int  # which parameter


class Member:
    """One parameter of a unit: its shard, and the attributes of modules that it is."""

    def __init__(self, shard: Any, spec: Shard, ranks: int, places: list[tuple[Any, str]], names: list[str]) -> None:
        self.shard, self.spec, self.places, self.names = shard, spec, places, names
        self.rows = rows_of(spec.shape)
        self.length = -(-self.rows // ranks)  # rows of a rank, filled up
        self.width = _product(spec.shape[1:])
        self.room = self.length * self.width  # elements of a rank, filled up
        self.unreduced: Any = None  # the gradient of passes without synchronisation


def _product(sizes: Sequence[int]) -> int:
    made = 1
    for size in sizes:
        made *= size
    return made


class _Lane(NamedTuple):
    """Members that travel in one buffer, since they have a dtype and a device in common: (number, offset) of each."""

    dtype: Any
    device: Any
    places: list[tuple[int, int]]
    length: int  # elements of a rank


class Unit:
    """The parameters of one module, and what is known of them at the moment."""

    def __init__(self, module: Any, group: Any, policy: Any, reshard: bool | None) -> None:
        self.module, self.group, self.policy, self.reshard = module, group, policy, reshard
        self.rank, self.ranks = get_rank(group), get_world_size(group)
        self.members: list[Member] = []
        self.synchronises = True
        self.depth = 0  # how many calls of the module are under way
        self.held = False  # by `unshard`
        self.outermost = False  # in the last call
        self.asked = False  # whether a node of the last call will ask for them in backward
        self.full: list[Any] | None = None  # the whole parameters, while somebody needs them
        self.stamp: tuple[int, ...] = ()  # versions of the shards that they were made of
        self._running: list[tuple[Any, _Lane, Any, Any]] | None = None  # gathers that were started
        self.forward_prefetch: list[Unit] | None = None  # what users said; by default the order of the last call
        self.backward_prefetch: list[Unit] | None = None
        self.order: list[Unit] = []  # of the last call, if this is the outermost
        self._early: list[Unit] = []  # which were started before their turn
        self.following: Unit | None = None
        self.preceding: Unit | None = None
        self.number = _made[self.processes] = _made.get(self.processes, 0) + 1
        self.counts = {"gathers": 0, "early": 0, "reductions": 0, "deferred": 0}

    @property
    def processes(self) -> Any:
        """The group itself, which None stands for if it is the world."""
        return resolve(self.group, "fully_shard")

    def __str__(self) -> str:
        held = ", ".join(member.names[0] for member in self.members[:3]) + ", ..." * (len(self.members) > 3)
        kind = type(self.module).__name__.removeprefix("FSDP")
        return f"{kind} with {held or 'no parameters'}, module {self.number} of fully_shard"

    # -- gathering
    def _dtypes(self, wanted: Any) -> list[Any]:
        shards = [member.shard for member in self.members]
        return [wanted if wanted is not None and shard.is_floating_point() else shard.dtype for shard in shards]

    def _lanes(self, dtypes: Sequence[Any], which: Sequence[int]) -> list[_Lane]:
        lanes: dict[Any, _Lane] = {}
        for i in which:
            member, key = self.members[i], (dtypes[i], self.members[i].shard.device)
            lane = lanes.get(key) or _Lane(*key, [], 0)
            lane.places.append((i, lane.length))
            lanes[key] = lane._replace(length=lane.length + member.room)
        return list(lanes.values())

    def by_functions(self) -> bool:
        """Whether parameters are gathered by differentiable functions, which become equations of a program."""
        return any(isinstance(member.shard.array, Layer) for member in self.members)

    def program_terms(self) -> list[Any]:
        """What a compiled program depends on."""
        return [self.processes, self.policy, self.synchronises, *(member.unreduced is None for member in self.members)]

    def start(self, early: bool = False) -> None:
        """Start to gather, and don't wait; nothing if that was done."""
        if self.full is not None or self._running is not None or self.by_functions():
            return
        self.counts["gathers"] += 1
        self.counts["early"] += early
        self.stamp = self._versions()
        running = []
        with lg.no_grad():
            for lane in self._lanes(self._dtypes(self.policy.param_dtype), range(len(self.members))):
                own = lg.empty(lane.length, dtype=lane.dtype, device=lane.device)
                with _raw(own) as (backend, vector):
                    for i, offset in lane.places:
                        shard = self.members[i].shard.array
                        if shard.size:
                            values = shard if shard.dtype == vector.dtype else backend.cast(shard, lane.dtype)
                            vector[offset : offset + shard.size] = values.reshape(-1)
                everything = lg.empty(lane.length * self.ranks, dtype=lane.dtype, device=lane.device)
                with meant_for(self.processes, f"parameters of {self}"):
                    work = all_gather_into_tensor(everything, own, group=self.group, async_op=True)
                running.append((work, lane, own, everything))
        self._running = running

    def values(self) -> list[Any]:
        """The whole parameters."""
        if self.full is None:
            self.start()
            assert self._running is not None
            full: list[Any] = [None] * len(self.members)
            with lg.no_grad():
                for work, lane, _, everything in self._running:
                    work.wait()
                    with _raw(everything) as (backend, vector):
                        table = vector.reshape(self.ranks, lane.length)
                        for i, offset in lane.places:
                            member = self.members[i]
                            flat = table[:, offset : offset + member.room].reshape(-1)
                            if not backend.contiguous(flat):  # a column, of which reshape is a view
                                flat = backend.copy(flat)
                            full[i] = box(flat[: member.rows * member.width].reshape(member.spec.shape))
            self._running, self.full = None, full
        return self.full

    def release(self) -> None:
        """Forget the whole parameters; what was started is waited for."""
        for work, *_ in self._running or ():
            work.wait()
        self._unlist()
        self._running = self.full = None

    def _versions(self) -> tuple[int, ...]:
        return tuple(version(member.shard.array) for member in self.members)

    # -- in the place of shards
    def enter(self) -> None:
        """Put the whole parameters into the modules, for a call."""
        if not self.depth:
            for member in self.members:
                for module, name in member.places:
                    if module.__dict__[name] is not member.shard:
                        raise RuntimeError(
                            f"fully_shard: the parameter {name!r} of {type(module).__name__} is not the one that was "
                            f"sharded: it was replaced; put values into it with copy_ or load_state_dict instead"
                        )
            shards = [member.shard for member in self.members]
            if self.by_functions():
                self._check_functions()
            self._place(_Gather.apply(self, *shards))
            self._list()
        self.depth += 1

    def leave(self) -> None:
        """Put the shards back into the modules."""
        self.depth -= 1
        if self.depth:
            return
        self._place([member.shard for member in self.members])
        if walking.get() is None:
            self.release()
        else:  # a second run inside of backward, which goes on to need them
            self._unlist()
            _ending(self)

    def _place(self, tensors: Sequence[Any]) -> None:
        for member, tensor in zip(self.members, tensors, strict=True):
            for module, name in member.places:
                module.__dict__[name] = tensor

    def reshards(self) -> bool:
        """Whether nodes let go of parameters between forward and backward: not those of the outermost, by default."""
        return self.reshard if self.reshard is not None else not self.outermost

    def _list(self) -> None:
        """Let nodes know the memory of the parameters."""
        if not self.reshards() or self.full is None:
            return
        for i, tensor in enumerate(self.full):
            if tensor.size:
                owner = storage(tensor.array)
                _gathered.setdefault(id(owner), []).append(_Memory(owner, self, i))

    def _unlist(self) -> None:
        for tensor in self.full or ():
            _gathered.pop(id(storage(tensor.array)), None)

    # -- calls
    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        """A call of the module: parameters are whole inside."""
        again = walking.get() is not None  # a second run, which is no call of its own
        outermost = not active
        if not again:
            self.outermost, self.asked = outermost, False
        active.append(self)
        try:
            self.enter()
            try:
                if not again:
                    self._prefetch()
                with new_nodes(_keeper(state.keep), call=True):
                    yield
            finally:
                self.leave()
        finally:
            active.pop()
            if outermost and not again:
                self._finish_order()

    def _prefetch(self) -> None:
        root = active[0]
        if root is self:
            self.order = []
        root.order.append(self)
        for unit in [self.following] if self.forward_prefetch is None else self.forward_prefetch:
            if unit is not None and not unit.depth:
                unit.start(early=True)
                root._early.append(unit)

    def _finish_order(self) -> None:
        """What comes after what in the next call, and the other way round in backward."""
        for unit in self._early:
            if not unit.depth:
                unit.release()  # if it was started for a call that did not come
        self._early = []
        for unit in self.order:
            unit.following = unit.preceding = None
        for first, second in zip(self.order, self.order[1:], strict=False):
            if first is not second:
                first.following, second.preceding = second, first

    # -- backward
    def in_backward(self, stamp: tuple[int, ...]) -> list[Any]:
        """The whole parameters again, until their gradients have been reduced."""
        if self._versions() != stamp:
            raise RuntimeError(
                f"backward through {type(self.module).__name__}, which fully_shard gathers again: its parameters were "
                f"modified by an in-place operation, such as a step of an optimiser, since forward; call backward first"
            )
        found = self.values()
        if walking.get() is None:
            if not self.depth:
                self.release()
            return found
        _ending(self)
        for unit in [self.preceding] if self.backward_prefetch is None else self.backward_prefetch:
            if unit is not None and unit.asked:
                unit.start(early=True)
                _ending(unit)
        return found

    def reduced(self, gradients: Sequence[Any]) -> list[Any]:
        """The gradients of the shards: rows of the mean over all ranks."""
        if not self.depth:
            self.release()
        which = [i for i, member in enumerate(self.members) if member.shard.requires_grad]
        given = list(gradients)
        for i in which:
            member = self.members[i]
            if member.unreduced is not None:
                given[i] = member.unreduced if given[i] is None else member.unreduced + given[i]
            member.unreduced = None if self.synchronises else given[i]
        if not self.synchronises:
            return [None] * len(self.members)
        return self.reduced_by_functions(given) if lg.is_grad_enabled() else self._reduce(which, given)

    def _reduce(self, which: list[int], given: list[Any]) -> list[Any]:
        walk = walking.get()
        for call in walk.at_end if walk is not None else ():  # one is under way at a time: it has a whole gradient
            if isinstance(call, _Reduction):
                call.finish_inside(walk)
        policy = self.policy
        wanted = policy.reduce_dtype if policy.reduce_dtype is not None else policy.param_dtype
        made = _Reduction(self, walk)
        for lane in self._lanes(self._dtypes(wanted), which):
            made.start(lane, given)
        self.counts["reductions"] += 1
        if walk is None or made.absent or not self._may_defer(walk, which):
            made.finish()
        else:
            self.counts["deferred"] += 1
            walk.at_end.append(made)
        return made.found

    def _may_defer(self, walk: Any, which: list[int]) -> bool:
        """Whether nobody looks at the gradients of the shards before the walk ends."""
        uses = _uses(walk)
        for i in which:
            shard = self.members[i].shard
            leaf = node_of(shard)
            if leaf.extras is not None or shard.is_complex() or uses.get(leaf, 0) > 1:
                return False
        return True

    # -- by functions that are differentiable, and equations of programs
    # Two ways remain, since neither can be the other. A gather that begins ahead and is waited for later, a reduction
    # that ends behind backward, memory that is freed in between, gradients that are None if everybody's are: these are
    # no equations. And what is written into memory has no derivative, which programs and second derivatives need.
    def _check_functions(self) -> None:
        if not self.synchronises or any(member.unreduced is not None for member in self.members):
            raise RuntimeError(
                f"fully_shard: {type(self.module).__name__} accumulates gradients without reducing them "
                f"(set_requires_gradient_sync), which a program can't; compile what is inside, with module.compile() "
                f"before fully_shard(module), or reduce them each time"
            )

    def gathered_by_functions(self, shards: Sequence[Any]) -> list[Any]:
        """The whole parameters."""
        full: list[Any] = [None] * len(self.members)
        for lane in self._lanes(self._dtypes(self.policy.param_dtype), range(len(self.members))):
            own = lg.concat([_filled(shards[i].to(lane.dtype), self.members[i].room) for i, _ in lane.places])
            table = functional.all_gather_tensor(own, group=self.group).reshape(self.ranks, lane.length)
            for i, offset in lane.places:
                member = self.members[i]
                flat = table[:, offset : offset + member.room].reshape(-1)
                full[i] = flat[: member.rows * member.width].reshape(member.spec.shape)
        return full

    def reduced_by_functions(self, given: Sequence[Any]) -> list[Any]:
        """The gradients of the shards, of those of the whole parameters; where there is none, all have zeros."""
        found: list[Any] = [None] * len(self.members)
        which = [i for i, member in enumerate(self.members) if member.shard.requires_grad]
        for lane in self._lanes(self._dtypes(self.policy.reduce_dtype or self.policy.param_dtype), which):
            parts = []
            for i, _ in lane.places:
                member, g = self.members[i], given[i]
                if g is None:
                    g = lg.zeros(member.spec.shape, dtype=lane.dtype, device=lane.device)
                flat = _filled(g.to(lane.dtype), member.room * self.ranks)
                parts.append(flat.reshape(self.ranks, member.room))
            table = lg.concat(parts, axis=1).reshape(-1)
            own = functional.reduce_scatter_tensor(table, ReduceOp.AVG, group=self.group)
            for i, offset in lane.places:
                shard = self.members[i].shard
                found[i] = own[offset : offset + shard.size].reshape(shard.shape).to(shard.dtype)
        return found


def _filled(x: Any, size: int) -> Any:
    """The numbers of a tensor as a vector, and zeros behind them, so many in all."""
    flat = x.reshape(-1)
    rest = size - int(flat.size)
    return lg.concat([flat, lg.zeros(rest, dtype=flat.dtype, device=flat.device)]) if rest else flat


class _Reduction:
    """A reduction of the gradients of a unit that is under way, and what is to be done when it is over."""

    def __init__(self, unit: Unit, walk: Any) -> None:
        self.unit, self.place = unit, None if walk is None else walk.here
        self.found: list[Any] = [None] * len(unit.members)  # written at the end
        self.absent: set[int] = set()
        self._running: list[tuple[Any, _Lane, Any]] = []

    def start(self, lane: _Lane, given: Sequence[Any]) -> None:
        """Start to reduce what travels in one buffer; behind the gradients it says which of them there are."""
        unit, count = self.unit, len(lane.places)
        table = lg.zeros((unit.ranks, lane.length + count), dtype=lane.dtype, device=lane.device)
        with _raw(table) as (backend, rows):
            for k, (i, offset) in enumerate(lane.places):
                if given[i] is None:
                    self.absent.add(i)
                    continue
                g = given[i].array
                _spread(rows, offset, unit.members[i], g if g.dtype == rows.dtype else backend.cast(g, lane.dtype))
                rows[:, lane.length + k] = 1
        own = lg.empty(lane.length + count, dtype=lane.dtype, device=lane.device)
        with meant_for(unit.processes, f"gradients of {unit}"):
            work = reduce_scatter_tensor(own, table.reshape(-1), op=ReduceOp.AVG, group=unit.group, async_op=True)
        for i, _ in lane.places:
            self.found[i] = lg.empty_like(unit.members[i].shard.detach())
        self._running.append((work, lane, own))

    def finish(self) -> None:
        """Wait for it, and write the gradients of the shards."""
        with lg.no_grad():
            for work, lane, own in self._running:
                work.wait()
                for k, (i, offset) in enumerate(lane.places):
                    if i in self.absent and not bool(lg.abs(own[lane.length + k]) > 0):
                        self.found[i] = None  # nobody has one
                        continue
                    with _raw(self.found[i]) as (backend, made), _raw(own) as (_, vector):
                        part = vector[offset : offset + made.size].reshape(made.shape)
                        made[...] = part if part.dtype == made.dtype else backend.cast(part, made.dtype)
        self._running = []

    def finish_inside(self, walk: Any) -> None:
        """The same before the walk is over, on the stream that the walk believes the gradients come from."""
        if self._running and self.place is not None and self.place is not walk.here:
            self.place.enter()
            self.finish()
            walk.here.enter()
        else:
            self.finish()

    def __call__(self, walk: Any) -> None:
        """At the end of a walk: the caller's streams go on."""
        if self._running:
            for place in walk.callers.values():
                place.enter()
            self.finish()


@contextlib.contextmanager
def _raw(tensor: Any) -> Iterator[tuple[Any, Any]]:
    """The back end and the array of a tensor that nobody else knows of: no tape and no version is asked."""
    backend = device.by_array[type(tensor.array)]
    with backend.at(tensor.array):
        yield backend, tensor.array


def _spread(table: Any, offset: int, member: Member, g: Any) -> None:
    """Write a gradient into the buffer that is reduced: to each rank its rows."""
    if not member.room:
        return
    filled = member.rows // member.length
    flat = g.reshape(-1)
    if filled:
        table[:filled, offset : offset + member.room] = flat[: filled * member.room].reshape(filled, member.room)
    rest = flat[filled * member.room :]
    if rest.size:
        table[filled, offset : offset + rest.size] = rest


class _Gather(lg.autograd.Function):
    """The whole parameters of the shards; backward, the shards' gradients of the whole ones'."""

    @staticmethod
    def forward(ctx: Any, unit: Unit, *shards: Any) -> Any:
        ctx.unit, ctx.by_functions = unit, unit.by_functions()
        ctx.set_materialize_grads(False)
        whole = tuple(unit.gathered_by_functions(shards) if ctx.by_functions else unit.values())
        ctx.mark_non_differentiable(*(x for x, shard in zip(whole, shards, strict=True) if not shard.requires_grad))
        return whole

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        return None, *(ctx.unit.reduced_by_functions if ctx.by_functions else ctx.unit.reduced)(gs)


# -- what nodes keep ---------------------------------------------------------------------------------
class _Kept(NamedTuple):
    """Which gathered parameter a node needs, and how it sees it."""

    unit: Unit
    at: int
    stamp: tuple[int, ...]
    offset: int
    shape: tuple[int, ...]
    steps: tuple[int, ...]


def _address(array: Any) -> int:
    seen = getattr(array, "__cuda_array_interface__", None) or array.__array_interface__
    return int(seen["data"][0])


def _found(array: Any) -> _Kept | None:
    """What to keep in the place of an array: None for all that are not seen from a gathered parameter."""
    backend = device.by_array.get(type(array))
    if backend is None or not _gathered or not hasattr(array, "strides"):
        return None
    owner = backend.storage(array)
    for memory in _gathered.get(id(owner), ()):
        full = memory.unit.full[memory.at].array if memory.unit.full is not None else None
        if memory.owner is not owner or full is None or full.dtype != array.dtype or min(array.strides, default=0) < 0:
            continue
        width = full.dtype.itemsize
        begin = _address(array) - _address(full)
        last = begin + sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True))
        if array.size and begin >= 0 and last < full.size * width and begin % width == 0:
            steps = tuple(step // width for step in array.strides)
            return _Kept(memory.unit, memory.at, memory.unit.stamp, begin // width, tuple(array.shape), steps)
    return None


def _pack(tensor: Any) -> Any:
    kept = _found(tensor.array)
    assert kept is not None
    kept.unit.asked = True
    return kept


def _unpack(kept: _Kept) -> Any:
    full = kept.unit.in_backward(kept.stamp)[kept.at].array
    vector = full.reshape(-1)[kept.offset :]
    return box(device.by_array[type(full)].strided(vector, kept.shape, kept.steps))


def _keeper(outer: Any) -> Any:
    """What changes a new node: gathered parameters first, then whatever was there outside."""

    def keep(node: Any, *call: Any) -> None:
        if _gathered:
            pack_kept(node, _pack, _unpack, lambda array: _found(array) is not None)
        if outer is not None:
            outer(node, *call)

    return keep


def _uses(walk: Any) -> dict[Any, int]:
    """How many cotangents each leaf awaits in a walk."""
    known = next((call for call in walk.at_end if isinstance(call, _Uses)), None)
    if known is None:
        known = _Uses(walk.plan)
        walk.at_end.append(known)
    return known.counts


class _Uses:
    """Counted once for a walk, and kept where the walk keeps what is to happen at its end: nothing."""

    def __init__(self, plan: Any) -> None:
        leaves = (parent for node in plan.order for parent in node.inputs if type(parent) is Leaf)
        self.counts: dict[Any, int] = Counter(leaves)

    def __call__(self, walk: Any) -> None:
        pass


def _ending(unit: Unit) -> None:
    """Let go of parameters at the end of a walk, if nothing did before."""
    walk = walking.get()
    if walk is not None and not any(getattr(call, "unit", None) is unit for call in walk.at_end):
        walk.at_end.append(_Ending(unit))


class _Ending:
    def __init__(self, unit: Unit) -> None:
        self.unit = unit

    def __call__(self, walk: Any) -> None:
        if not self.unit.depth:
            self.unit.release()


class _Again:
    """What surrounds a checkpointed function inside of modules: their whole parameters, in its second run, too."""

    def __init__(self) -> None:
        self.units = [unit for unit in active if unit.depth]

    def __enter__(self) -> None:
        for unit in self.units:
            unit.enter()

    def __exit__(self, *exc: object) -> None:
        for unit in self.units:
            unit.leave()


surroundings.append(_Again)
