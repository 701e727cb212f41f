"""States of models and optimisers by the names of parameters, in parts or whole, whatever way they are trained."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import lucidgrad as lg
from lucidgrad.communication.collectives import all_gather_into_tensor, broadcast
from lucidgrad.communication.groups import get_rank, get_world_size, is_initialized
from lucidgrad.communication.objects import broadcast_object_list
from lucidgrad.refusals import guard as _guard
from lucidgrad.shards import rows_of, shard_of

from .trees import mapped

__all__ = [
    "StateDictOptions", "full_tensor", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class StateDictOptions:
    """How states are given and taken.

    Parameters
    ----------
    full_state_dict
        Give whole tensors instead of shards. Every rank asks, and every rank gets them.
    cpu_offload
        Give tensors in host memory; with ``full_state_dict`` the first rank gets them, and the others an empty dict.
    ignore_frozen_params
        Leave out parameters that require no gradient.
    strict
        Whether the names of a state that is taken must be just those of the model.
    broadcast_from_rank0
        The state that is taken is the first rank's, and whole; others may give an empty dict.

    Examples
    --------
    >>> from lucidgrad.distributed.checkpoint.state_dict import StateDictOptions
    >>> StateDictOptions(full_state_dict=True).cpu_offload
    False
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    strict: bool = True
    broadcast_from_rank0: bool = False


def full_tensor(tensor: Any) -> Any:
    """The whole of a tensor of which ranks have rows, which all of them ask for; others are given back as they are.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.distributed.checkpoint.state_dict import full_tensor
    >>> full_tensor(lg.ones(2))
    tensor([1., 1.])
    """
    shard = shard_of(tensor)
    if shard is None:
        return tensor
    ranks, rows = get_world_size(shard.group), rows_of(shard.shape)
    room = -(-rows // ranks) * _width(shard.shape)
    with lg.no_grad():
        own = lg.zeros(room, dtype=tensor.dtype, device=tensor.device)
        if tensor.size:
            own[: tensor.size] = tensor.detach().reshape(-1)
        everything = lg.empty(room * ranks, dtype=tensor.dtype, device=tensor.device)
        all_gather_into_tensor(everything, own, group=shard.group)
        return everything[: rows * _width(shard.shape)].reshape(shard.shape).clone()


def _width(shape: tuple[int, ...]) -> int:
    made = 1
    for size in shape[1:]:
        made *= size
    return made


def _rank() -> int:
    return get_rank() if is_initialized() else 0


def _given(state: Any, options: StateDictOptions) -> Any:
    """A state as it was asked for."""

    def change(_: Any, leaf: Any) -> Any:
        if not isinstance(leaf, lg.Tensor):
            return leaf
        leaf = full_tensor(leaf) if options.full_state_dict else leaf
        return leaf.cpu() if options.cpu_offload else leaf

    if not options.full_state_dict and not options.cpu_offload:
        return state
    found = mapped(state, change)
    return {} if options.full_state_dict and options.cpu_offload and _rank() else found


def _inner(model: Any) -> Any:
    """The model that is trained, without the one around it that trains it."""
    return model.module if isinstance(model, lg.nn.parallel.DistributedDataParallel) else model


def _names(model: Any) -> dict[int, str]:
    return {id(p): name for name, p in _inner(model).named_parameters()}


def get_model_state_dict(model: Any, *, submodules: Any = None, options: StateDictOptions | None = None) -> Any:
    """The state of a model, whole or in parts.

    Parameters
    ----------
    model : Module
        The model; names are those without `DistributedDataParallel` around it.
    submodules : set of Module, optional
        Give only what is in these.
    options : StateDictOptions, optional
        Whether to give whole tensors.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.distributed.checkpoint.state_dict import get_model_state_dict
    >>> list(get_model_state_dict(lg.nn.Linear(2, 1)))
    ['weight', 'bias']
    """
    options = options or StateDictOptions()
    model = _inner(model)
    state = model.state_dict()
    if options.ignore_frozen_params:
        for name, p in model.named_parameters(remove_duplicate=False):
            if not p.requires_grad:
                state.pop(name, None)
    if submodules is not None:
        prefixes = tuple(f"{name}." for name, module in model.named_modules() if module in submodules and name)
        state = {key: value for key, value in state.items() if key.startswith(prefixes)}
    return _given(state, options)


def set_model_state_dict(model: Any, model_state_dict: Any, *, options: StateDictOptions | None = None) -> Any:
    """Load a state, whole or in parts, into a model: a sharded one takes its rows of whole tensors.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
    >>> layer = lg.nn.Linear(2, 1)
    >>> set_model_state_dict(layer, get_model_state_dict(lg.nn.Linear(2, 1)))
    <All keys matched successfully>
    """
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and is_initialized():
        model_state_dict = _received(model_state_dict)
    return _inner(model).load_state_dict(model_state_dict, strict=options.strict)


def _received(state: Any) -> Any:
    """The first rank's tree, on all ranks."""
    outline: list[Any] = [None]
    tensors: list[Any] = []
    if _rank() == 0:

        def take(_: Any, leaf: Any) -> Any:
            if not isinstance(leaf, lg.Tensor):
                return leaf
            tensors.append(leaf.detach().cpu().contiguous())
            return {"lucidgrad.tensor": [list(leaf.shape), str(leaf.dtype)]}

        outline = [_pairs(mapped(state, take))]
    broadcast_object_list(outline, src=0)
    waiting = iter(tensors)

    def give(tree: Any) -> Any:
        if isinstance(tree, dict) and "lucidgrad.tensor" in tree:
            shape, dtype = tree["lucidgrad.tensor"]
            made = next(waiting) if _rank() == 0 else lg.empty(tuple(shape), dtype=getattr(lg, dtype))
            broadcast(made, 0)
            return made
        if isinstance(tree, dict):
            return {key: give(value) for key, value in tree["pairs"]}
        return [give(value) for value in tree] if isinstance(tree, list) else tree

    return give(outline[0])


def _pairs(tree: Any) -> Any:
    """Dicts as lists of pairs: their keys need not be strings."""
    if isinstance(tree, dict):
        if "lucidgrad.tensor" in tree:
            return tree
        return {"pairs": [[key, _pairs(value)] for key, value in tree.items()]}
    return [_pairs(value) for value in tree] if isinstance(tree, (list, tuple)) else tree


def _listed(optimizers: Any) -> list[Any]:
    return [optimizers] if isinstance(optimizers, lg.optim.Optimizer) else list(optimizers)


def get_optimizer_state_dict(
    model: Any,
    optimizers: "lg.optim.Optimizer | Iterable[lg.optim.Optimizer]",
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> Any:
    """The state of an optimiser, or of several, by the names of the model's parameters.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.distributed.checkpoint.state_dict import get_optimizer_state_dict
    >>> layer = lg.nn.Linear(2, 1)
    >>> optimiser = lg.optim.SGD(layer.parameters(), lr=0.1)
    >>> get_optimizer_state_dict(layer, optimiser)["param_groups"][0]["params"]
    ['weight', 'bias']
    """
    names = _names(model)
    state: dict[str, Any] = {}
    groups: list[Any] = []
    for optimizer in _listed(optimizers):
        params = [p for group in optimizer.param_groups for p in group["params"]]
        called = [_name(names, p) for p in params]
        found = optimizer.state_dict()
        state.update((called[i], value) for i, value in found["state"].items())
        groups += [{**group, "params": [called[i] for i in group["params"]]} for group in found["param_groups"]]
    if submodules is not None:
        inside = {id(p) for module in submodules for p in module.parameters()}
        kept = {name for key, name in names.items() if key in inside}
        state = {name: value for name, value in state.items() if name in kept}
        groups = [{**group, "params": [name for name in group["params"] if name in kept]} for group in groups]
    return _given({"state": state, "param_groups": groups}, options or StateDictOptions())


def _name(names: dict[int, str], p: Any) -> str:
    if id(p) not in names:
        raise ValueError("given an optimiser with a parameter that the model does not have, expected one for its own")
    return names[id(p)]


def set_optimizer_state_dict(
    model: Any,
    optimizers: "lg.optim.Optimizer | Iterable[lg.optim.Optimizer]",
    optim_state_dict: Any,
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load a state by the names of parameters, whole or in parts, into an optimiser or several.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.distributed.checkpoint.state_dict import get_optimizer_state_dict, set_optimizer_state_dict
    >>> layer = lg.nn.Linear(2, 1)
    >>> optimiser = lg.optim.SGD(layer.parameters(), lr=0.1)
    >>> set_optimizer_state_dict(layer, optimiser, get_optimizer_state_dict(layer, optimiser))
    """
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and is_initialized():
        optim_state_dict = _received(optim_state_dict)
    names = _names(model)
    settings = {name: group for group in optim_state_dict["param_groups"] for name in group["params"]}
    made = []
    for optimizer in _listed(optimizers):
        state: dict[int, Any] = {}
        groups, start = [], 0
        for group in optimizer.param_groups:
            called = [_name(names, p) for p in group["params"]]
            missing = [name for name in called if name not in settings]
            if missing:
                raise ValueError(f"set_optimizer_state_dict: the state has no {missing[0]!r}, which the optimiser has")
            first = settings[called[0]] if called else group
            numbers = list(range(start, start + len(called)))
            groups.append({**{k: v for k, v in first.items() if k != "param_names"}, "params": numbers})
            for i, name, p in zip(numbers, called, group["params"], strict=True):
                if name in optim_state_dict["state"]:
                    state[i] = _rows(optim_state_dict["state"][name], p)
            start += len(called)
        made.append((optimizer, {"state": state, "param_groups": groups}))
    for optimizer, found in made:
        optimizer.load_state_dict(found)


def _rows(state: Any, p: Any) -> Any:
    """The state of a shard, of that of the whole."""
    shard = shard_of(p)
    if shard is None or shard.own_shape == shard.shape:
        return state

    def own(_: Any, leaf: Any) -> Any:
        if not isinstance(leaf, lg.Tensor) or shard_of(leaf) is not None or tuple(leaf.shape) != shard.shape:
            return leaf
        return leaf.reshape(rows_of(shard.shape), *shard.shape[1:])[shard.start : shard.stop]

    return mapped(state, own)


def get_state_dict(
    model: Any,
    optimizers: "lg.optim.Optimizer | Iterable[lg.optim.Optimizer]",
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> tuple[Any, Any]:
    """The states of a model and of its optimiser.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.distributed.checkpoint.state_dict import get_state_dict
    >>> layer = lg.nn.Linear(2, 1)
    >>> model_state, optimiser_state = get_state_dict(layer, lg.optim.SGD(layer.parameters(), lr=0.1))
    """
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Any,
    optimizers: "lg.optim.Optimizer | Iterable[lg.optim.Optimizer]",
    *,
    model_state_dict: Any,
    optim_state_dict: Any,
    options: StateDictOptions | None = None,
) -> Any:
    """Load the states of a model and of its optimiser.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    >>> layer = lg.nn.Linear(2, 1)
    >>> optimiser = lg.optim.SGD(layer.parameters(), lr=0.1)
    >>> a, b = get_state_dict(layer, optimiser)
    >>> set_state_dict(layer, optimiser, model_state_dict=a, optim_state_dict=b)
    <All keys matched successfully>
    """
    keys = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return keys


_guard(__name__, __all__)
