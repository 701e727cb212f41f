"""Means of gradients over processes, computed while backward still runs.

Each parameter has a hook that is called when its gradient is written. When all of a bucket are there, they are put into
it, at once where a device can, and it begins to travel, in the order of the buckets, which is the same in all
processes. When backward has ended, before it returns, all buckets are waited for, and the means become the gradients.
"""

import functools
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.autograd import passes
from lucidgrad.communication import collectives, functional, groups
from lucidgrad.ops.lists import join_all, part_all

from .buckets import Bucket, Entry, GradBucket, plan_buckets


def message_device(group: Any, parameters: Sequence[Any]) -> Any:
    """Where short messages of a group are: in host memory, if an engine takes them from there."""
    return "cpu" if group.host is not None else parameters[0].device


def _fire(reducer: "weakref.ref[Reducer]", number: int, _: Any) -> None:
    found = reducer()
    if found is not None:
        found.arrived(number)


def _remove(handles: list[Any]) -> None:
    for handle in handles:
        handle.remove()


class _Pass:
    """One backward, from its first gradient on."""

    def __init__(self, count: int) -> None:
        self.walk = passes.under_way()
        self.records, self.is_traced = passes.records(), passes.is_traced()
        self.is_over = False
        self.order: list[int] = []  # parameters as their gradients arrived
        self.ready = [False] * count
        self.next = 0  # the bucket that travels next
        self.started_early = 0
        self.running: deque[Callable[[], bool]] = deque()  # whether what was started is there, oldest first

    @property
    def is_pure(self) -> bool:
        """Whether means are functions of the gradients, which nobody writes: to be differentiated, or traced."""
        return self.records or self.is_traced

    def end(self) -> None:
        self.is_over, self.walk = True, None  # the walk knows this pass


class Reducer:
    """What makes the gradients of some parameters means over a group."""

    def __init__(
        self,
        named: Sequence[tuple[str, Any]],
        group: Any,
        limits: Sequence[int],
        *,
        find_unused: bool,
        static_graph: bool,
        as_views: bool,
    ) -> None:
        self.names, self.parameters = [name for name, _ in named], [p for _, p in named]
        self.group, self.limits = group, limits
        self._messages = message_device(group, self.parameters)
        self.find_unused, self.static_graph, self.as_views = find_unused, static_graph, as_views
        self.syncs = True  # whether gradients are exchanged that calls of the module from now on lead to
        self._expects: bool | None = None  # whether those of the next backward are; None: as `syncs` says then
        self._replays = False  # whether calls may be a program's, which nobody here knows of
        self.hook: tuple[Any, Callable[..., Any]] | None = None
        self.divisor: int | None = None  # None: the size of the group
        self.rebuilt = False
        self.counts = {"passes": 0, "started": 0, "started_early": 0, "bytes": 0}
        self._pass: _Pass | None = None
        self._unused: list[int] | None = None  # that a static graph does not use, once it is known
        self._leaves: list[Any] = [None] * len(named)
        self._handles: list[Any] = []
        weakref.finalize(self, _remove, self._handles)
        self._build(list(reversed(range(len(named)))))
        self.attach()

    def program_terms(self) -> list[Any]:
        """What a compiled program depends on."""
        return [self.syncs, self.divisor, self.hook, self.group, self.rebuilt]

    # -- buckets
    def _plan(self, order: Sequence[int]) -> list[list[int]]:
        entries = []
        for number in order:
            p = self.parameters[number]
            entries.append(Entry(number, p.nbytes, (str(p.device), str(p.dtype))))
        return plan_buckets(entries, self.limits)

    def _build(self, order: Sequence[int]) -> None:
        self.order = list(order)
        self.buckets = [Bucket(self.parameters, numbers) for numbers in self._plan(order)]
        self.places = {n: (b, k) for b, bucket in enumerate(self.buckets) for k, n in enumerate(bucket.numbers)}

    def _view(self, number: int) -> Any:
        bucket, k = self.places[number]
        return self.buckets[bucket].views[k]

    def _rebuild(self, order: list[int]) -> None:
        """Let buckets be complete in the order in which the gradients of the first process arrived."""
        self.rebuilt = True
        order += [n for n in self.order if n not in set(order)]
        told = lg.tensor(order, dtype=lg.int64, device=self._messages)
        collectives.broadcast(told, groups.get_global_rank(self.group, 0), group=self.group)
        order = told.tolist()
        if self._plan(order) == [bucket.numbers for bucket in self.buckets]:
            self.order = order
            return
        before = {n: self._view(n) for n in self.places}
        self._build(order)
        with lg.no_grad():
            for n, old in before.items():
                if self.parameters[n].grad is old:
                    self.parameters[n].grad = self._view(n).copy_(old)

    # -- parameters
    def attach(self) -> None:
        """See that each parameter has its hook: one that stopped to want gradients and wants them again has lost it."""
        leaves = [passes.leaf_of(p) for p in self.parameters]
        if leaves == self._leaves:
            return
        for number, (p, leaf) in enumerate(zip(self.parameters, leaves)):
            if leaf is not None and leaf is not self._leaves[number]:
                fire = functools.partial(_fire, weakref.ref(self), number)
                self._handles.append(p.register_post_accumulate_grad_hook(fire))
        self._leaves = leaves

    def called(self) -> None:
        """The module is called, which decides whether backward will exchange gradients."""
        if passes.under_way() is not None:  # computed again, for a backward that has begun
            return
        self._replays |= passes.is_traced()
        if self._replays:
            self._expects = None
        elif self.syncs or not self._expects:  # a call without exchange leaves what another one waits for
            self._expects = self.syncs

    def arrived(self, number: int) -> None:
        """The gradient of a parameter was written."""
        now = self._pass
        if now is None or now.walk is not passes.under_way():
            if not (self.syncs if self._expects is None else self._expects):
                return
            now = self._begin()
        now.order.append(number)
        self._ready(now, number)
        while now.running and now.running[0]():  # lets the oldest go on
            now.running.popleft()

    def _begin(self) -> _Pass:
        before = self._pass
        if before is not None:
            if not before.is_over:
                raise RuntimeError(
                    "DistributedDataParallel: given a backward inside of a backward through the same parameters, "
                    "expected one after the other; run the inner one under no_sync()"
                )
            self._abandon(before)
        now = _Pass(len(self.parameters))
        if self.hook is not None and now.is_pure:
            raise RuntimeError(
                "DistributedDataParallel: given a communication hook, which has no derivative and belongs to no "
                "program, with "
                + ("create_graph=True" if now.records else "a compiled backward; compile the module, or the forward")
                + ", or make the model without register_comm_hook"
            )
        self._pass = now
        self._expects = None
        passes.when_over(now.end)
        passes.after_backward(self._end)
        for bucket in self.buckets:
            bucket.awaited, bucket.finish = len(bucket.numbers), None
        for number in self._known_unused():
            self._ready(now, number)
        return now

    def _known_unused(self) -> list[int]:
        """Parameters that no gradient of this backward will come to."""
        if self.find_unused:
            return [n for n, awaited in enumerate(passes.awaited(self.parameters)) if not awaited]
        frozen = [n for n, leaf in enumerate(self._leaves) if leaf is None]
        return frozen if self._unused is None else sorted({*frozen, *self._unused})

    def _ready(self, now: _Pass, number: int) -> None:
        """A gradient is there, or will not come: buckets that wait for nothing else begin to travel."""
        if now.ready[number]:
            raise RuntimeError(
                f"DistributedDataParallel: given a gradient of {self.names[number]}, which the first backward did not "
                f"use; expected the same parameters each time, as static_graph=True says"
            )
        now.ready[number] = True
        self.buckets[self.places[number][0]].awaited -= 1
        while now.next < len(self.buckets) and not self.buckets[now.next].awaited:
            self._start(now, now.next)
            now.next += 1

    def _fill(self, bucket: Bucket) -> None:
        """Put gradients into their bucket, or zeros for those that will not come."""
        pairs = [(self.parameters[n], view) for n, view in zip(bucket.numbers, bucket.views)]
        with lg.no_grad():
            apart = [(p, view) for p, view in pairs if p.grad is not None and p.grad is not view]
            if len(apart) < len(pairs) or not join_all([p.grad.detach() for p, _ in apart], bucket.flat):
                for p, view in apart:
                    view.copy_(p.grad.detach())
            for p, view in pairs:
                if p.grad is None:
                    view.zero_()
                elif self.as_views and p.requires_grad:
                    p.grad = view

    # -- communication
    def _start(self, now: _Pass, at: int) -> None:
        bucket = self.buckets[at]
        if not all(now.ready):
            now.started_early += 1
        self.counts["started"] += 1
        self.counts["bytes"] += bucket.bytes
        if now.is_pure:
            with lg.set_grad_enabled(now.records):
                self._reduce_purely(bucket)
            return
        self._fill(bucket)
        bucket.finish, running = self._launch(at)
        now.running.append(running)

    def _launch(self, at: int) -> tuple[Callable[[], Any], Callable[[], bool]]:
        """Let a bucket travel: how to wait for it, and what says whether it is there."""
        bucket = self.buckets[at]
        with lg.no_grad():
            if self.hook is not None:
                state, hook = self.hook
                future = hook(state, GradBucket(bucket, at, len(self.buckets), self.parameters))
                return functools.partial(_take, bucket, future), future.done
            op = groups.ReduceOp.AVG if self.divisor is None else groups.ReduceOp.SUM
            work: Any = collectives.all_reduce(bucket.flat, op=op, group=self.group, async_op=True)
        return functools.partial(_settle, bucket, work, self.divisor), work.is_completed

    def _reduce_purely(self, bucket: Bucket) -> None:
        """The means as functions of the gradients."""
        members = [self.parameters[n] for n in bucket.numbers]
        given = [lg.zeros_like(p) if p.grad is None else p.grad for p in members]
        op = groups.ReduceOp.AVG if self.divisor is None else groups.ReduceOp.SUM
        flat = functional.all_reduce(lg.cat([g.reshape(-1) for g in given]), op=op, group=self.group)
        flat = flat if self.divisor is None else flat / self.divisor
        parts = flat.split([p.size for p in members])
        for p, part in zip(members, parts):
            if p.grad is not None or (p.requires_grad and self.find_unused):
                p.grad = part.reshape(tuple(p.shape)).clone()  # no view of the whole, which would have to be kept

    def _abandon(self, now: _Pass) -> None:
        """After a backward that raised: nothing travels any more when the next one begins."""
        self._pass = None
        for bucket in self.buckets[: now.next]:
            if bucket.finish is not None:
                bucket.finish()

    def _end(self) -> None:
        """Backward has written all gradients of this process: wait for those of all."""
        now = self._pass
        if now is None:
            return
        rest = [n for n, ready in enumerate(now.ready) if not ready]
        first_of_static = self.static_graph and self._unused is None
        if rest and not self.find_unused and not first_of_static:
            raise RuntimeError(self._complaint(rest))
        for number in rest:
            self._ready(now, number)
        idle = self._finish(now.order, now)
        if first_of_static:
            self._unused = idle
        self._pass = None
        self.counts["passes"] += 1
        self.counts["started_early"] += now.started_early

    def _finish(self, order: list[int], now: _Pass | None = None) -> list[int]:
        """Wait for all buckets and take what they bring. Gives the parameters that no process has used."""
        idle: list[int] = []
        if self.find_unused or (self.static_graph and self._unused is None):
            passes.untraceable("processes tell each other which parameters they use")
            flags = [p.grad is not None for p in self.parameters]
            flags = flags if order else [False] * len(flags)
            used = lg.tensor(flags, dtype=lg.int32, device=self._messages)
            if passes.is_traced():
                used = functional.all_reduce(used, op=groups.ReduceOp.MAX, group=self.group)
            else:
                collectives.all_reduce(used, op=groups.ReduceOp.MAX, group=self.group)
            idle = [n for n, flag in enumerate(used.tolist()) if not flag]
        elif self._unused is not None:
            idle = self._unused
        for bucket in self.buckets:
            if bucket.finish is not None:
                bucket.finish()
                bucket.finish = None
        left = {*idle, *(n for n, leaf in enumerate(self._leaves) if leaf is None)}
        if order and not (now and now.is_pure):
            self._hand_out(left)
        if not self.rebuilt and (self.static_graph or not self.find_unused) and not (now and now.is_traced):
            self._rebuild(list(order))
        return idle

    def _hand_out(self, left: set[int]) -> None:
        """Let what buckets bring become the gradients, but for those that no process has."""
        with lg.no_grad():
            for bucket in self.buckets:
                written = []
                for number, view in zip(bucket.numbers, bucket.views):
                    p = self.parameters[number]
                    if number in left or p.grad is view:
                        continue
                    if self.as_views:
                        p.grad = view
                    elif p.grad is None or p.grad.requires_grad or p.grad.is_sparse:  # rows of others came, too
                        p.grad = view.clone()
                    else:
                        written.append((p.grad, view))
                if len(written) < len(bucket.views) or not part_all(bucket.flat, [g for g, _ in written]):
                    for g, view in written:
                        g.copy_(view)

    def shadow(self) -> None:
        """Take part in the exchange of a backward of others with zeros: this process has no inputs any more."""
        with lg.no_grad():
            for at, bucket in enumerate(self.buckets):
                bucket.flat.zero_()
                bucket.finish, _ = self._launch(at)
        idle = self._finish([])
        if self.static_graph and self._unused is None:
            self._unused = idle

    def _complaint(self, rest: list[int]) -> str:
        names = ", ".join(self.names[n] for n in rest[:8]) + (f" and {len(rest) - 8} more" if len(rest) > 8 else "")
        why = "static_graph=True, and they had one in the first backward" if self.static_graph else "all of them"
        out = (
            "let each backward use the same parameters"
            if self.static_graph
            else "pass find_unused_parameters=True to DistributedDataParallel, or freeze them, requires_grad_(False)"
        )
        return (
            f"DistributedDataParallel: backward ended without a gradient of {names}, expected one of {why}: they were "
            f"not used in forward, or the outputs that they made are not part of the loss; {out}"
        )


def _settle(bucket: Bucket, work: Any, divisor: int | None) -> None:
    work.wait()
    if divisor is not None:
        with lg.no_grad():
            bucket.flat /= divisor


def _take(bucket: Bucket, future: Any) -> None:
    """What a communication hook's future brings becomes the bucket's."""
    made = future.wait()
    made = made[0] if isinstance(made, (list, tuple)) else made
    if not isinstance(made, lg.Tensor) or made.size != bucket.flat.size:
        raise TypeError(
            f"DistributedDataParallel: a communication hook's future gave {type(made).__name__}, expected a Tensor "
            f"with the bucket's {bucket.flat.size} elements"
        )
    if made is not bucket.flat:
        with lg.no_grad():
            bucket.flat.copy_(made.reshape(-1))
