"""One module in several processes, each with its part of a batch: gradients are those of the whole batch."""

import contextlib
import copy
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.autograd import passes
from lucidgrad.communication import collectives, functional, groups
from lucidgrad.func import trees
from lucidgrad.nn.hooks import everywhere
from lucidgrad.nn.module import Module

from .buckets import BYTES, FIRST_BYTES
from .joining import Joining
from .reduction import Reducer, message_device


class DistributedDataParallel(Module):
    """A module that several processes train together, each on its own part of the data.

    Parameters and buffers begin as those of the first process. In each backward the gradients become their mean over
    the processes: with a loss that is a mean over its examples, and as many examples everywhere, the gradients of the
    whole batch in one process. They travel in buckets while backward still runs. Without `init_process_group`, or with
    one process, the module is called as it is. Names in ``state_dict`` begin with ``module.``.

    `lucidgrad.autograd.grad` exchanges nothing: call ``backward()``.

    Parameters
    ----------
    module : Module
        What to call.
    device_ids : sequence of one int or device, optional
        Where inputs are moved to before each call: the device that the module is on. By default they stay.
    output_device, dim, check_reduction, batched_grad_copy
        Accepted; they choose nothing.
    broadcast_buffers, forward_sync_buffers : bool, optional
        Whether buffers become those of the first process before each call, True by default; the second is the newer
        name.
    init_sync : bool
        Whether parameters are compared and begin as those of the first process; False if they are alike for sure.
    process_group : ProcessGroup, optional
        The processes that train together; all by default.
    bucket_cap_mb : float, optional
        Megabytes (2**20 bytes) at which a bucket is full, 25 by default; the first one is full at 1, so that
        communication begins early.
    find_unused_parameters : bool
        Whether a backward may leave out parameters. Their gradients stay as they are if all processes leave them out.
    gradient_as_bucket_view : bool
        Whether gradients are views of the buckets, which takes less memory and time. They are overwritten then by the
        next backward.
    static_graph : bool
        Whether each backward uses the same parameters as the first: those it does not use need no further search.
    delay_all_reduce_named_params, param_to_hook_all_reduce, mixed_precision, skip_all_reduce_unused_params
        Must be left at their defaults; of mixed precision take `lucidgrad.autocast`.
    device_mesh : optional
        Another way to give a process group: it has ``get_group``.
    bucket_cap_mb_list : sequence of float, optional
        The sizes of the first buckets, one by one, in place of ``bucket_cap_mb``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> model = lg.nn.parallel.DistributedDataParallel(lg.nn.Linear(3, 2))
    >>> with model.no_sync():
    ...     model(lg.ones(4, 3)).sum().backward()
    >>> model.module.bias.grad
    tensor([4., 4.])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Sequence[float] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(module, Module):
            raise TypeError(f"DistributedDataParallel: given a {type(module).__name__}, expected a Module")
        _refuse(
            delay_all_reduce_named_params=delay_all_reduce_named_params,
            param_to_hook_all_reduce=param_to_hook_all_reduce,
            mixed_precision=mixed_precision,
            skip_all_reduce_unused_params=skip_all_reduce_unused_params or None,
        )
        limits = _limits(bucket_cap_mb, bucket_cap_mb_list)
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("DistributedDataParallel: given process_group and device_mesh, expected one of them")
        group = device_mesh.get_group() if device_mesh is not None else process_group
        self.module, self.device_ids, self.output_device, self.dim = module, device_ids, output_device, dim
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        given = broadcast_buffers if forward_sync_buffers is None else forward_sync_buffers
        self.broadcast_buffers = True if given is None else given
        self._joining: Joining | None = None
        self._reducer: Reducer | None = None
        self.require_backward_grad_sync = True
        self.process_group: Any = None
        if group is not None or groups.is_initialized():
            self.process_group = groups.resolve(group, "DistributedDataParallel")
            if self.process_group is None:
                raise ValueError("DistributedDataParallel: this process is not in process_group")
        alone = self.process_group is None or self.process_group.size() == 1
        self._passes_on = alone and type(self).forward is DistributedDataParallel.forward
        if alone:
            return
        self._device = _checked_device(module, device_ids)
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = [(n, p) for n, p in module.named_parameters() if n not in ignored]
        self._buffers_ignored = ignored
        if init_sync:
            self._compare_parameters(named)
            self._broadcast([p for _, p in named] + self._synced_buffers(), 0)
        self._limits = limits
        self._reducer = self._make_reducer()

    def _make_reducer(self) -> Reducer:
        ignored = self._buffers_ignored
        named = [(n, p) for n, p in self.module.named_parameters() if n not in ignored and p.requires_grad]
        if not named:
            raise RuntimeError(
                "DistributedDataParallel: given a module without a parameter that requires grad, expected one; "
                "without any it needs no wrapper"
            )
        ways = {"find_unused": self.find_unused_parameters, "static_graph": self.static_graph}
        return Reducer(named, self.process_group, self._limits, as_views=self.gradient_as_bucket_view, **ways)

    def __deepcopy__(self, memo: dict[int, Any]) -> "DistributedDataParallel":
        """A module of its own, in the same group."""
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        shared = {"process_group": self.process_group, "_reducer": None, "_joining": None}
        made.__dict__.update(
            (name, shared[name] if name in shared else copy.deepcopy(value, memo)) for name, value in vars(self).items()
        )
        if self._reducer is not None:
            made._reducer = made._make_reducer()
            made._reducer.hook, made._reducer.syncs = self._reducer.hook, self._reducer.syncs
        return made

    # -- what all begin with
    def _compare_parameters(self, named: Iterable[tuple[str, Any]]) -> None:
        """Raise, in all processes, unless they have the same parameters."""
        group = self.process_group
        own = [[name, list(p.shape), str(p.dtype), p.requires_grad] for name, p in named]
        others = json.loads(self._told_by_first(json.dumps(own)))
        differs = next((k for k, (a, b) in enumerate(zip(own, others)) if a != b), len(own))
        is_same = own == others
        where = message_device(group, list(self.module.parameters()))
        found = lg.full((group.size(),), 1, dtype=lg.int64, device=where)
        found[group.rank()] = int(is_same)
        collectives.all_reduce(found, op=groups.ReduceOp.MIN, group=group)
        if found.tolist() == [1] * group.size():
            return
        if is_same:
            raise RuntimeError(
                f"DistributedDataParallel: process {found.tolist().index(0)} of the group has other parameters than "
                f"process 0; make the same module everywhere"
            )
        differs = min(differs, len(others))
        mine, theirs = (_described(rows[differs]) if differs < len(rows) else "missing" for rows in (own, others))
        raise RuntimeError(
            f"DistributedDataParallel: parameter {differs} of process {group.rank()} is {mine}, expected process 0's, "
            f"{theirs}; make the same module everywhere"
        )

    def _told_by_first(self, text: str) -> str:
        """The text of the group's first process."""
        where = message_device(self.process_group, list(self.module.parameters()))
        data = lg.tensor(list(text.encode()), dtype=lg.uint8, device=where)
        size = lg.tensor([data.size], device=where)
        root = groups.get_global_rank(self.process_group, 0)
        collectives.broadcast(size, root, group=self.process_group)
        data = data if self.process_group.rank() == 0 else lg.zeros(size.item(), dtype=lg.uint8, device=where)
        collectives.broadcast(data, root, group=self.process_group)
        return bytes(data.tolist()).decode()

    def _synced_buffers(self) -> list[Any]:
        return [b for name, b in self.module.named_buffers() if name not in self._buffers_ignored]

    def _broadcast(self, tensors: Sequence[Any], member: int) -> None:
        """Let tensors become those of one member of the group, many in one message."""
        group = self.process_group
        root = groups.get_global_rank(group, member)
        kinds: dict[Any, list[Any]] = {}
        for x in tensors:
            kinds.setdefault((str(x.device), str(x.dtype)), []).append(x)
        with lg.no_grad():
            for alike in kinds.values():
                flat = lg.cat([x.detach().reshape(-1) for x in alike])
                if passes.is_traced():
                    flat = functional.broadcast(flat, root, group=group)
                else:
                    collectives.broadcast(flat, root, group=group)
                if group.rank() == member:
                    continue
                for x, part in zip(alike, flat.split([x.size for x in alike])):
                    x.copy_(part.reshape(tuple(x.shape)))

    # -- calls
    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """`forward`, with the hooks around it; where there is nothing to do, the module itself."""
        if self._passes_on and self._hooks is None and not everywhere:
            return self.module(*inputs, **kwargs)
        return super().__call__(*inputs, **kwargs)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's outputs."""
        reducer = self._reducer
        if reducer is None:
            return self.module(*inputs, **kwargs)
        if lg.is_grad_enabled():
            reducer.attach()
            reducer.called()
            if self._joining is not None:
                passes.untraceable("processes with uneven inputs tell each other whether they have any")
                self._joining.begin_step(reducer.syncs)
        if self._syncs_buffers():
            self._broadcast(self._synced_buffers(), 0 if self._joining is None else self._joining.authority)
        if self._device is not None:
            inputs, kwargs = _moved((inputs, kwargs), self._device)
        return self.module(*inputs, **kwargs)

    @property
    def require_backward_grad_sync(self) -> bool:
        """Whether calls lead to a backward that exchanges gradients; `no_sync` sets it to False."""
        return self._exchanges if self._reducer is None else self._reducer.syncs

    @require_backward_grad_sync.setter
    def require_backward_grad_sync(self, value: bool) -> None:
        self._exchanges = value
        if self._reducer is not None:
            self._reducer.syncs = value

    def _syncs_buffers(self) -> bool:
        return self.broadcast_buffers and self.require_backward_grad_sync and bool(self._synced_buffers())

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A part of a program in which processes don't exchange gradients: they add up in each, until a step outside.

        What counts is where the module is called, as in PyTorch: a backward of what was called inside exchanges
        nothing, be it run outside. Of a module that was compiled, what counts is where backward runs.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> model = lg.nn.parallel.DistributedDataParallel(lg.nn.Linear(1, 1))
        >>> with model.no_sync():
        ...     model(lg.ones(2, 1)).sum().backward()
        >>> model(lg.ones(2, 1)).sum().backward()
        >>> model.module.bias.grad
        tensor([4.])
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextlib.contextmanager
    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Iterator[None]:
        """A training in which some processes may have fewer inputs than others.

        Who has no inputs any more sends zeros for its gradients, until all have ended. In the end all have the
        parameters of one that ended last.

        Parameters
        ----------
        divide_by_initial_world_size
            Whether gradients are sums over those that have inputs, divided by the number of all; else by their number.
        enable
            False: nothing is done.
        throw_on_early_termination
            Raise, in all processes, when the first one has no inputs any more.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> model = lg.nn.parallel.DistributedDataParallel(lg.nn.Linear(1, 1))
        >>> with model.join():
        ...     for x in (lg.ones(2, 1), lg.ones(3, 1)):
        ...         model(x).sum().backward()
        >>> model.module.bias.grad
        tensor([5.])
        """
        if self._reducer is None or not enable:
            yield
            return
        if any(isinstance(part, lg.nn.SyncBatchNorm) for part in self.module.modules()):
            raise RuntimeError(
                "DistributedDataParallel.join: given a module with SyncBatchNorm, which asks all processes in each "
                "forward; expected BatchNorm, or as many inputs everywhere"
            )
        device = message_device(self.process_group, list(self.module.parameters()))
        joining = Joining(self.process_group, device, divide_by_initial_world_size, throw_on_early_termination)
        joining.tells = lambda divisor: setattr(self._reducer, "divisor", divisor)
        self._joining = joining
        try:
            yield
            while joining.others_go_on():
                if joining.syncs and self.broadcast_buffers and self._synced_buffers():
                    self._broadcast(self._synced_buffers(), joining.authority)
                if joining.syncs:
                    self._reducer.shadow()
            self._broadcast([*self.module.parameters(), *self.module.buffers()], joining.last)
        finally:
            self._joining = self._reducer.divisor = None

    # -- communication
    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        """Let a function say how a bucket of gradients becomes that of all processes.

        Parameters
        ----------
        state
            The hook's first argument, whatever it needs.
        hook
            ``hook(state, bucket)`` with a `GradBucket`; returns a future of the reduced vector, such as that of an
            asynchronous collective (``work.get_future()``). Nothing else divides by the number of processes.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> from lucidgrad.distributed.algorithms.ddp_comm_hooks import default_hooks
        >>> model = lg.nn.parallel.DistributedDataParallel(lg.nn.Linear(1, 1))
        >>> model.register_comm_hook(None, default_hooks.fp16_compress_hook)
        """
        if not callable(hook):
            raise TypeError(f"register_comm_hook: given a hook of type {type(hook).__name__}, expected a function")
        if self._reducer is None:
            return
        if self._reducer.hook is not None:
            raise RuntimeError("register_comm_hook: there is one already, expected one at most")
        self._reducer.hook = (state, hook)

    def communication_counts(self) -> dict[str, Any]:
        """How much was communicated: buckets and their bytes, backward passes, and messages that began early.

        ``started`` messages are those of all passes together, ``started_early`` those of them that began while
        gradients of other parameters were still to come; ``bytes`` are what one process gave away.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.nn.parallel.DistributedDataParallel(lg.nn.Linear(1, 1)).communication_counts()["passes"]
        0
        """
        found = self._reducer
        if found is None:
            return {"passes": 0, "started": 0, "started_early": 0, "bytes": 0, "buckets": [], "rebuilt": False}
        return {**found.counts, "buckets": [bucket.bytes for bucket in found.buckets], "rebuilt": found.rebuilt}

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(
        module: Module, params_and_buffers_to_ignore: Iterable[str]
    ) -> None:
        module._ddp_params_and_buffers_to_ignore = list(params_and_buffers_to_ignore)


def _refuse(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DistributedDataParallel: given {name}, expected its default; "
                + ("use lucidgrad.autocast" if name == "mixed_precision" else "a communication hook can do it")
            )


def _limits(cap: float | None, caps: Sequence[float] | None) -> list[int]:
    """The bytes at which buckets are full."""
    for given in (cap, *(caps or ())):
        if given is not None and not given > 0:
            raise ValueError(f"DistributedDataParallel: given a bucket of {given} megabytes, expected more than 0")
    if caps:
        return [int(given * 2**20) for given in caps]
    size = BYTES if cap is None else max(int(cap * 2**20), 1)
    return [min(FIRST_BYTES, size), size]


def _checked_device(module: Module, device_ids: Sequence[Any] | None) -> Any:
    """The device that inputs go to, if one was given: that of the module."""
    if device_ids is None or not len(device_ids):
        return None
    devices = {str(p.device) for p in module.parameters()}
    if len(device_ids) > 1 or len(devices) > 1:
        raise ValueError(
            f"DistributedDataParallel: given device_ids={list(device_ids)} and a module on "
            f"{', '.join(sorted(devices))}, expected one device per process; leave device_ids out for several"
        )
    (first,) = device_ids
    device = lg.empty(0, device=lg.device(first)).device
    if devices != {str(device)}:
        raise ValueError(
            f"DistributedDataParallel: given device_ids=[{device}] and a module on {devices.pop()}, expected the "
            f"module's device; move it there first"
        )
    return device


def _moved(tree: Any, device: Any) -> Any:
    return trees.map(lambda leaf: leaf.to(device) if isinstance(leaf, lg.Tensor) else leaf, tree)


def _described(entry: list[Any]) -> str:
    name, shape, dtype, wants = entry
    return f"{name} of shape {tuple(shape)}, {dtype}{'' if wants else ', frozen'}"
