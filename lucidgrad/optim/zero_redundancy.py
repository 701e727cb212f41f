"""An optimiser whose state is shared out among ranks: each steps the parameters that it owns, and sends them to all."""

import functools
from collections.abc import Callable
from typing import Any

import lucidgrad as lg
from lucidgrad.shards import shard_of

from .lbfgs import LBFGS
from .optimizer import Optimizer, ParamsT, StateDict


class ZeroRedundancyOptimizer(Optimizer):
    """Another optimiser, of whose state every rank keeps a part: the first stage of ZeRO.

    Every rank has all parameters and all gradients, as `DistributedDataParallel` leaves them, but owns only some of
    them, about as many elements as any other rank. A step updates what the rank owns, and then every rank sends its
    parameters to the others: the result is that of the plain optimiser, with its memory divided by the ranks.

    Parameters
    ----------
    params
        What the optimiser is made for, the same on all ranks.
    optimizer_class
        Its class.
    process_group : ProcessGroup, optional
        The ranks; by default all.
    parameters_as_bucket_view
        Accepted for compatibility: parameters are sent in one buffer for each rank in any case.
    overlap_with_ddp
        Must be False: a step begins when all gradients are there.
    **defaults
        The optimiser's settings.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> model = lg.nn.Linear(2, 1)
    >>> optimiser = lg.optim.ZeroRedundancyOptimizer(  # doctest: +SKIP
    ...     model.parameters(), optimizer_class=lg.optim.AdamW, lr=1e-3
    ... )
    """

    optim: Optimizer

    def __init__(
        self,
        params: ParamsT,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        from lucidgrad.communication.groups import get_rank, get_world_size

        kind: Any = optimizer_class
        if not (isinstance(kind, type) and issubclass(kind, Optimizer)):
            raise TypeError(f"ZeroRedundancyOptimizer: given {optimizer_class!r}, expected the class of an optimiser")
        if issubclass(optimizer_class, (LBFGS, ZeroRedundancyOptimizer)):
            raise TypeError(
                f"ZeroRedundancyOptimizer: given {optimizer_class.__name__}, expected an optimiser whose step treats "
                f"each parameter on its own"
            )
        if overlap_with_ddp:
            raise ValueError("ZeroRedundancyOptimizer: given overlap_with_ddp=True, expected False: leave it out")
        self.process_group = process_group
        self.rank, self.world_size = get_rank(process_group), get_world_size(process_group)
        if self.rank < 0:
            raise ValueError("ZeroRedundancyOptimizer: this process is not in the group")
        self._owners: dict[int, int] = {}  # by the id of a parameter
        self._loads = [0] * self.world_size
        self._consolidated: StateDict | None = None
        made: Any = optimizer_class(_copied(params := _listed(params)), **defaults)  # which checks what it is given
        super().__init__(params, made.defaults)
        self.optim = made
        made.state.clear()
        made.param_groups.clear()
        for group in self.param_groups:
            made.add_param_group(self._own_part(group))

    # -- who owns what
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, which are shared out, too."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for p in group["params"]:
            if shard_of(p) is not None:
                self.param_groups.pop()
                raise ValueError(
                    "ZeroRedundancyOptimizer: given a parameter that fully_shard has cut into shards, whose state is "
                    "shared out already; use the optimiser itself"
                )
        for p in sorted(group["params"], key=lambda p: -p.size):
            owner = min(range(self.world_size), key=self._loads.__getitem__)
            self._owners[id(p)] = owner
            self._loads[owner] += p.size
        self._consolidated = None
        if "optim" in self.__dict__:
            self.optim.add_param_group(self._own_part(group))

    def _own_part(self, group: dict[str, Any]) -> dict[str, Any]:
        mine = [self._owners[id(p)] == self.rank for p in group["params"]]
        made = {**group, "params": [p for p, own in zip(group["params"], mine, strict=True) if own]}
        if "param_names" in made:
            made["param_names"] = [name for name, own in zip(group["param_names"], mine, strict=True) if own]
            made["params"] = list(zip(made.pop("param_names"), made["params"], strict=True))
        return made

    def _owned_by(self, rank: int) -> list[Any]:
        """The parameters of a rank, in the order of the groups."""
        return [p for group in self.param_groups for p in group["params"] if self._owners[id(p)] == rank]

    @property
    def state(self) -> Any:
        """The state of the parameters that this rank owns."""
        return self.optim.state if "optim" in self.__dict__ else self.__dict__.setdefault("_early_state", {})

    @state.setter
    def state(self, value: Any) -> None:
        if "optim" in self.__dict__:
            self.optim.state = value

    # -- a step
    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update the parameters that this rank owns, and receive the others; every rank calls this.

        Parameters
        ----------
        closure
            Computes the loss and its gradients anew; called once, with recording on.
        """
        loss = None
        if closure is not None:
            with lg.enable_grad():
                loss = closure()
        self._consolidated = None
        _copy_settings(self.param_groups, self.optim.param_groups)
        self.optim.step(**kwargs)
        _copy_settings(self.optim.param_groups, self.param_groups)
        self._send_parameters()
        return loss

    def _send_parameters(self) -> None:
        from lucidgrad.communication.collectives import broadcast
        from lucidgrad.communication.groups import get_global_rank

        if self.world_size == 1:
            return
        running = []
        with lg.no_grad():
            for owner in range(self.world_size):
                for params in _alike(self._owned_by(owner)):
                    if owner == self.rank:
                        flat = lg.concat([p.detach().reshape(-1) for p in params])
                    else:
                        first = params[0]
                        flat = lg.empty(sum(p.size for p in params), dtype=first.dtype, device=first.device)
                    source = get_global_rank(self.process_group, owner)
                    work = broadcast(flat, source, group=self.process_group, async_op=True)
                    running.append((owner, params, flat, work))
            for owner, params, flat, work in running:
                if work is not None:
                    work.wait()
                offset = 0
                for p in params if owner != self.rank else ():
                    p.copy_(flat[offset : offset + p.size].reshape(p.shape))
                    offset += p.size

    # -- state
    def _numbered(self) -> dict[int, Any]:
        every = (p for group in self.param_groups for p in group["params"])
        return dict(enumerate(every))

    def sharded_state_dict(self) -> StateDict:
        """What this rank has of the state, laid out as `state_dict` does: the states of its parameters."""
        _copy_settings(self.optim.param_groups, self.param_groups)
        groups, start = [], 0
        for group in self.param_groups:
            count = len(group["params"])
            groups.append({**group, "params": list(range(start, start + count))})
            start += count
        own = {i: self.optim.state[p] for i, p in self._numbered().items() if p in self.optim.state}
        return {"state": own, "param_groups": groups}

    def merged_state_dicts(self, parts: list[StateDict]) -> StateDict:
        """Of the parts that ranks have saved, perhaps another number of them, what this rank owns now."""
        owned = {i for i, p in self._numbered().items() if self._owners[id(p)] == self.rank}
        state = {i: state for part in parts for i, state in part["state"].items() if i in owned}
        return {"state": state, "param_groups": parts[0]["param_groups"]}

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the states of all ranks to one of them, where `state_dict` gives the whole then; every rank calls this.

        Parameters
        ----------
        to
            The rank, in the group.
        """
        from lucidgrad.communication.collectives import recv, send
        from lucidgrad.communication.groups import get_global_rank
        from lucidgrad.communication.objects import all_gather_object

        if not 0 <= to < self.world_size:
            raise ValueError(f"consolidate_state_dict: given to={to}, expected a rank below {self.world_size}")
        own = self.sharded_state_dict()
        tensors: list[Any] = []
        plain = [[i, _outlined(state, tensors)] for i, state in own["state"].items()]
        told: list[Any] = [None] * self.world_size
        all_gather_object(told, plain, group=self.process_group)
        if self.rank != to:
            for tensor in tensors:
                send(tensor.detach().contiguous(), get_global_rank(self.process_group, to), group=self.process_group)
            return
        whole = {i: _cloned(state) for i, state in own["state"].items()}
        params = self._numbered()
        for rank, states in enumerate(told):
            source = get_global_rank(self.process_group, rank)
            for i, outline in states if rank != to else ():
                receive = functools.partial(recv, src=source, group=self.process_group)
                whole[i] = _received(outline, receive, params[i].device)
        own["state"] = dict(sorted(whole.items()))
        self._consolidated = own

    def state_dict(self) -> StateDict:
        """The whole state, as the plain optimiser's: on the rank that `consolidate_state_dict` has brought it to."""
        if self._consolidated is None:
            raise RuntimeError(
                f"state_dict: rank {self.rank} has only a part of the state; call consolidate_state_dict(to="
                f"{self.rank}) on all ranks after the last step, or use distributed.checkpoint.save, which needs no "
                f"rank to have the whole"
            )
        for hook in self._before_saving.values():
            hook(self)
        found = self._consolidated
        for hook in self._after_saving.values():
            result = hook(self, found)
            found = found if result is None else result
        return found

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over a state: the whole one, of which this rank keeps what it owns; what does not fit changes nothing.

        Parameters
        ----------
        state_dict
            As `state_dict` of this or of the plain optimiser gave it.
        """
        saved = state_dict["param_groups"]
        if [len(group["params"]) for group in self.param_groups] != [len(group["params"]) for group in saved]:
            raise ValueError("loaded state dict has other parameter groups than this optimiser")
        numbers = (i for group in saved for i in group["params"])
        ours = dict(zip(numbers, self._numbered().values(), strict=True))
        local: dict[int, int] = {}
        groups = []
        for group, new in zip(self.param_groups, saved, strict=True):
            mine = [i for i in new["params"] if self._owners[id(ours[i])] == self.rank]
            names = new.get("param_names", group.get("param_names"))
            local.update((i, len(local) + k) for k, i in enumerate(mine))
            made = {**new, "params": [local[i] for i in mine]}
            if names is not None:
                kept = {id(ours[i]): name for i, name in zip(new["params"], names, strict=True)}
                made["param_names"] = [kept[id(ours[i])] for i in mine]
            groups.append(made)
        state = {local[i]: value for i, value in state_dict["state"].items() if i in local}
        self.optim.load_state_dict({"state": state, "param_groups": groups})
        _copy_settings(self.optim.param_groups, self.param_groups)
        self._consolidated = None

    load_sharded_state_dict = load_state_dict

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("a ZeroRedundancyOptimizer can't be pickled: other ranks have the rest of its state")


def _listed(params: ParamsT) -> Any:
    if isinstance(params, (lg.Tensor, lg.nn.Module)):
        return params  # which is refused
    return list(params)


def _copied(params: Any) -> Any:
    """Groups that may be changed."""
    if isinstance(params, list):
        return [{**entry, "params": _several(entry)} if isinstance(entry, dict) else entry for entry in params]
    return params


def _several(group: dict[str, Any]) -> Any:
    given = group.get("params")
    if not isinstance(given, (lg.Tensor, set, list)) and given is not None:
        group["params"] = given = list(given)  # a generator, which is needed twice
    return given


def _copy_settings(source: list[dict[str, Any]], target: list[dict[str, Any]]) -> None:
    for a, b in zip(source, target, strict=True):
        b.update((name, value) for name, value in a.items() if name not in ("params", "param_names"))


def _alike(params: list[Any]) -> list[list[Any]]:
    """Parameters that can travel in one buffer."""
    found: dict[Any, list[Any]] = {}
    for p in params:
        if p.size:
            found.setdefault((p.dtype, p.device), []).append(p)
    return list(found.values())


_TENSOR = "lucidgrad.tensor"


def _outlined(state: Any, tensors: list[Any]) -> Any:
    """A state with shapes and dtypes in the places of tensors."""
    if isinstance(state, lg.Tensor):
        tensors.append(state)
        return {_TENSOR: [list(state.shape), str(state.dtype), str(state.device) == "cpu"]}
    if isinstance(state, dict):
        return {key: _outlined(value, tensors) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return [_outlined(value, tensors) for value in state]
    return state


def _received(outline: Any, receive: Callable[[Any], Any], device: Any) -> Any:
    """A state again, with its tensors received one after the other."""
    if isinstance(outline, dict):
        if _TENSOR in outline:
            shape, dtype, on_host = outline[_TENSOR]
            made = lg.empty(tuple(shape), dtype=getattr(lg, dtype), device="cpu" if on_host else device)
            receive(made)
            return made
        return {key: _received(value, receive, device) for key, value in outline.items()}
    if isinstance(outline, list):
        return [_received(value, receive, device) for value in outline]
    return outline


def _cloned(state: Any) -> Any:
    if isinstance(state, lg.Tensor):
        return state.detach().clone()
    if isinstance(state, dict):
        return {key: _cloned(value) for key, value in state.items()}
    return type(state)([_cloned(value) for value in state]) if isinstance(state, (list, tuple)) else state
