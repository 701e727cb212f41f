"""Modules whose parameters are shared out among ranks: `fully_shard`, as in PyTorch's ``torch.distributed.fsdp``."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import lucidgrad as lg
from lucidgrad.communication.collectives import broadcast
from lucidgrad.communication.groups import get_global_rank, get_rank, get_world_size
from lucidgrad.communication.objects import all_gather_object
from lucidgrad.func import trees
from lucidgrad.nn.parameter import Parameter, is_lazy
from lucidgrad.refusals import guard as _guard
from lucidgrad.shards import Shard, cut, note, rows_of, shard_of

from .replaced import replace
from .units import Member, Unit

__all__ = ["FSDPModule", "MixedPrecisionPolicy", "UnshardHandle", "fully_shard"]


@dataclasses.dataclass(frozen=True)
class MixedPrecisionPolicy:
    """In which dtypes a sharded module computes and communicates; shards, and so optimisers, keep theirs.

    Parameters
    ----------
    param_dtype
        What parameters are gathered and used in.
    reduce_dtype
        What gradients are reduced in; by default that of the parameters.
    output_dtype
        What floating-point outputs of the module are converted to.
    cast_forward_inputs
        Whether floating-point inputs are converted to ``param_dtype``.

    Examples
    --------
    >>> from lucidgrad.distributed.fsdp import MixedPrecisionPolicy
    >>> MixedPrecisionPolicy(param_dtype="bfloat16", reduce_dtype="float32").cast_forward_inputs
    True
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True

    def __post_init__(self) -> None:
        for name in ("param_dtype", "reduce_dtype", "output_dtype"):
            given = getattr(self, name)
            if given is not None:
                dtype = lg.empty(0, dtype=getattr(lg, given, given) if isinstance(given, str) else given).dtype
                if not lg.isdtype(dtype, "real floating"):
                    raise TypeError(f"MixedPrecisionPolicy: {name} is {dtype}, expected a floating-point dtype")
                object.__setattr__(self, name, dtype)


class UnshardHandle:
    """Parameters that are being gathered: see `FSDPModule.unshard`.

    Examples
    --------
    >>> from lucidgrad.distributed.fsdp import UnshardHandle
    >>> handle = model.unshard(async_op=True)  # doctest: +SKIP
    >>> handle.wait()  # doctest: +SKIP
    """

    def __init__(self, unit: Unit) -> None:
        self._unit: Unit | None = unit

    def wait(self) -> None:
        """Return when the module has its whole parameters."""
        unit, self._unit = self._unit, None
        if unit is not None and unit.held and not unit.depth:
            unit.enter()


class FSDPModule:
    """What a module has besides, once `fully_shard` was applied to it: it is an instance of this class, too.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.distributed.fsdp import FSDPModule
    >>> isinstance(lg.nn.Linear(2, 1), FSDPModule)
    False
    """

    _unit: Unit

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own call, with whole parameters in their places."""
        unit, policy = self._unit, self._unit.policy
        with unit.computing():
            if policy.param_dtype is not None and policy.cast_forward_inputs:
                args, kwargs = _cast((args, kwargs), policy.param_dtype)
            found = super().__call__(*args, **kwargs)  # type: ignore[misc]
            return found if policy.output_dtype is None else _cast(found, policy.output_dtype)

    def _units(self, recurse: bool) -> list[Unit]:
        modules = self.modules() if recurse else [self]  # type: ignore[attr-defined]
        return [module._unit for module in modules if isinstance(module, FSDPModule)]

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Put the whole parameters into this module, without those below it, until `reshard`.

        With ``async_op`` a handle is returned at once, and the parameters are there after its ``wait``.
        """
        unit = self._unit
        if unit.held:
            return None
        unit.held = True
        unit.start()
        handle = UnshardHandle(unit)
        if async_op:
            return handle
        handle.wait()
        return None

    def reshard(self) -> None:
        """Put the shards back after `unshard`."""
        unit = self._unit
        if unit.held:
            unit.held = False
            unit.leave() if unit.depth else unit.release()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether the next backward passes reduce gradients, or add them up on each rank, whole.

        With False for all passes but the last, gradients are accumulated with one reduction.
        """
        for unit in self._units(recurse):
            unit.synchronises = bool(requires_gradient_sync)

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether parameters are freed between forward and backward."""
        for unit in self._units(recurse):
            unit.reshard = bool(reshard_after_forward)

    def set_modules_to_forward_prefetch(self, modules: "list[FSDPModule]") -> None:
        """Which modules are gathered while this one computes; by default the one that followed in the last call."""
        self._unit.forward_prefetch = [module._unit for module in modules]

    def set_modules_to_backward_prefetch(self, modules: "list[FSDPModule]") -> None:
        """Which modules are gathered while backward is in this one; by default the one that came before it."""
        self._unit.backward_prefetch = [module._unit for module in modules]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients, those that were not reduced yet, too."""
        for unit in self._units(recurse=True):
            for member in unit.members:
                member.unreduced = None
        super().zero_grad(set_to_none)  # type: ignore[misc]

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError(
            f"given a {type(self).__name__} to copy, but other ranks have the rest of its parameters; copy the module "
            f"before fully_shard, or make it anew and load a state into it"
        )

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"given a {type(self).__name__} to pickle, but other ranks have the rest of its parameters; use "
            f"distributed.checkpoint.save"
        )


def _cast(tree: Any, dtype: Any) -> Any:
    leaves, shape = trees.flatten(tree)
    floats = [isinstance(x, lg.Tensor) and x.is_floating_point() for x in leaves]
    return trees.unflatten(shape, [x.to(dtype) if real else x for x, real in zip(leaves, floats, strict=True)])


def fully_shard(
    module: Any,
    *,
    mesh: Any = None,
    reshard_after_forward: bool | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    ignored_params: "Iterable[lg.Tensor] | None" = None,
) -> Any:
    """Share out the parameters of a module, their gradients and so the state of optimisers among ranks, by rows.

    The module is changed in place and returned. Its parameters become shards: the rows of this rank. When it is called,
    the whole parameters are gathered, and freed afterwards; backward gathers them again, and leaves in each shard's
    ``grad`` its rows of the mean of all ranks' gradients. Parameters of modules below that were sharded before are
    theirs: apply it to the blocks of a model, and then to the model, so that one block at a time is whole, while the
    next one is on its way.

    The values are those of the first rank, which all others receive, buffers as well. Make the optimiser afterwards:
    the parameters are others than before. Inside of `lucidgrad.compile` gathers and reductions are equations: nothing
    is gathered ahead, and a program keeps whole parameters from forward to backward. With ``block.compile()`` before
    blocks are sharded, each has a program of its own, and all is as without.

    Parameters
    ----------
    module : Module
        The module. Parameters that occur twice in it stay one; those that it has in common with a module that was
        sharded before are refused.
    mesh : ProcessGroup, optional
        The ranks; by default all.
    reshard_after_forward : bool, optional
        Whether parameters are freed between forward and backward, at the cost of gathering them twice. By default they
        are, but for the outermost module, whose backward begins at once.
    mp_policy : MixedPrecisionPolicy, optional
        The dtypes of computation and communication.
    ignored_params : iterable of Parameter, optional
        Parameters that stay whole, and whose gradients are not reduced.

    Returns
    -------
    Module
        The module, which now is an `FSDPModule`, too.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.distributed import fully_shard
    >>> model = lg.nn.Sequential(lg.nn.Linear(8, 8), lg.nn.Linear(8, 2))
    >>> for layer in model:  # doctest: +SKIP
    ...     fully_shard(layer)
    >>> fully_shard(model)  # doctest: +SKIP
    >>> optimiser = lg.optim.AdamW(model.parameters())
    """
    if not isinstance(module, lg.nn.Module):
        raise TypeError(f"fully_shard: given a {type(module).__name__}, expected a module")
    if isinstance(module, FSDPModule):
        raise ValueError(f"fully_shard: this {type(module).__name__} was sharded before")
    if isinstance(module, (lg.nn.ModuleList, lg.nn.ModuleDict)):
        raise ValueError(
            f"fully_shard: given a {type(module).__name__}, which is never called, so that its parameters would never "
            f"be gathered; apply it to each of its modules"
        )
    if reshard_after_forward is not None and not isinstance(reshard_after_forward, bool):
        raise TypeError(
            f"fully_shard: given reshard_after_forward={reshard_after_forward!r}, expected True, False or None: "
            f"parameters are shared by all ranks of the group, or whole"
        )
    rank, ranks = get_rank(mesh), get_world_size(mesh)
    if rank < 0:
        raise ValueError("fully_shard: this process is not in the group; only its members shard a module")
    unit = Unit(module, mesh, mp_policy or MixedPrecisionPolicy(), reshard_after_forward)
    found = _own_parameters(module, set(map(id, ignored_params or ())))
    _check_alike(module, [(names[0], p) for p, _, names in found], mesh)
    source = get_global_rank(mesh, 0)
    with lg.no_grad():
        for p, places, names in found:
            whole = p.detach().contiguous()
            broadcast(whole, source, group=mesh)
            shape = tuple(p.shape)
            spec = Shard(shape, *cut(rows_of(shape), ranks)[rank], mesh)
            own = whole.reshape(rows_of(shape), *shape[1:])[spec.start : spec.stop].clone()
            shard = Parameter(own, requires_grad=p.requires_grad)
            note(shard, spec)
            unit.members.append(Member(shard, spec, ranks, places, names))
        for owner in module.modules():
            if owner is module or not isinstance(owner, FSDPModule):
                for name in owner._buffer_names:
                    if owner.__dict__[name] is not None:
                        broadcast(owner.__dict__[name], source, group=mesh)
    for (p, places, _), member in zip(found, unit.members, strict=True):
        for owner, name in places:
            owner.__dict__[name] = member.shard
        replace(p)
    module._register_state_dict_hook(_noting)
    module._register_load_state_dict_pre_hook(_cutting, with_module=True)
    module.__dict__["_unit"] = unit
    kind = type(module)
    module.__class__ = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": kind.__module__})
    return module


def _own_parameters(module: Any, ignored: set[int]) -> list[tuple[Any, list[tuple[Any, str]], list[str]]]:
    """The parameters that are not ignored, and in no unit yet; with the places and names that each has."""
    found: dict[int, tuple[Any, list[tuple[Any, str]], list[str]]] = {}
    for prefix, owner in module.named_modules(remove_duplicate=False):
        for name in owner._parameter_names:
            p = owner.__dict__[name]
            full = f"{prefix}.{name}" if prefix else name
            if p is None or id(p) in ignored or shard_of(p) is not None:
                continue
            _check_parameter(full, p)
            _, places, names = found.setdefault(id(p), (p, [], []))
            if (owner, name) not in places:
                places.append((owner, name))
            names.append(full)
    return list(found.values())


def _check_parameter(name: str, p: Any) -> None:
    if is_lazy(p):
        raise ValueError(
            f"fully_shard: {name} has no shape yet; call the module on an example first, or materialize() it"
        )
    if not isinstance(p, Parameter) or not p.is_leaf:
        raise ValueError(
            f"fully_shard: {name} is no parameter but a tensor that was computed: is the module being called?"
        )
    if p.grad is not None:
        raise ValueError(f"fully_shard: {name} has a gradient, which would be lost; call zero_grad() first")


def _check_alike(module: Any, named: list[tuple[str, Any]], group: Any) -> None:
    """All ranks must have the same parameters, or they would wait for each other for ever."""
    own = [[name, list(p.shape), str(p.dtype), bool(p.requires_grad)] for name, p in named]
    told: list[Any] = [None] * get_world_size(group)
    all_gather_object(told, own, group=group)
    for rank, other in enumerate(told):
        if other != own:
            here = next((a for a, b in zip(own, other, strict=False) if a != b), None) or f"{len(own)} parameters"
            there = next((b for a, b in zip(own, other, strict=False) if a != b), None) or f"{len(other)} parameters"
            raise ValueError(
                f"fully_shard: {type(module).__name__} has {here} on rank {get_rank(group)} and {there} on rank "
                f"{rank}; expected the same module on all ranks"
            )


def _noting(module: Any, state: Any, prefix: str, metadata: Any) -> None:
    """Shards in a state are known as such, so that a checkpoint has the whole of them."""
    for member in module._unit.members:
        for name in member.names:
            found = state.get(prefix + name)
            if isinstance(found, lg.Tensor) and tuple(found.shape) == member.spec.own_shape:
                note(found, member.spec)


def _cutting(module: Any, state: Any, prefix: str, *_: Any) -> None:
    """Of whole tensors in a state that is loaded, take the rows of this rank."""
    for member in module._unit.members:
        spec = member.spec
        for name in member.names:
            found = state.get(prefix + name)
            if found is None or shard_of(found) is not None or tuple(getattr(found, "shape", ())) != spec.shape:
                continue
            if spec.own_shape != spec.shape:
                state[prefix + name] = found.reshape(rows_of(spec.shape), *spec.shape[1:])[spec.start : spec.stop]


_guard(__name__, __all__)
