"""Modules as functions of their parameters."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lucidgrad.core.engine import tape_namespace
from lucidgrad.ops.shape.joining import stack
from lucidgrad.tensor import Tensor

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in place of its parameters and buffers.

    The module is as before when the call returns or raises; buffers that it writes in place are written in the
    tensors that were given.

    Parameters
    ----------
    module : Module
        What to call.
    parameter_and_buffer_dicts : dict of str to Tensor, or a sequence of them
        Tensors by full name, as `named_parameters` and `named_buffers` give them.
    args : tuple, or one argument
        What to call it with.
    kwargs : dict, optional
        Keyword arguments.
    tie_weights : bool
        A tensor for one name of a parameter that has several goes to all of them.
    strict : bool
        Whether every parameter and buffer must be given, and nothing else.

    Returns
    -------
    Any
        What the module returns.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.Linear(2, 1)
    >>> def loss(params):
    ...     return lg.func.functional_call(layer, params, (lg.ones(2),)).sum()
    >>> lg.func.grad(loss)(dict(layer.named_parameters()))["weight"]
    tensor([[1., 1.]])
    """
    dicts = parameter_and_buffer_dicts
    if not isinstance(dicts, Mapping):
        if not isinstance(dicts, Sequence) or not all(isinstance(part, Mapping) for part in dicts):
            raise ValueError(
                "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, "
                f"but got {type(dicts).__name__}"
            )
        names = [name for part in dicts for name in part]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        dicts = {name: value for part in dicts for name, value in part.items()}
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _swapped(module, _resolved(module, dicts, tie_weights, strict)):
        return module(*args, **(kwargs or {}))


def _members(module: Any) -> Iterator[tuple[str, Any, str]]:
    """Every name of a parameter or buffer, its module, and its name there."""
    for path, part in module.named_modules(remove_duplicate=False):
        for names in (part._parameter_names, part._buffer_names):
            for name in names:
                yield f"{path}.{name}" if path else name, part, name


def _resolved(module: Any, given: Mapping[str, Any], tie_weights: bool, strict: bool) -> dict[str, Any]:
    """Which module, name and tensor each full name means."""
    known = {full: (part, name) for full, part, name in _members(module)}
    for full, value in given.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"functional_call: {full!r} is a {type(value).__name__}, expected a Tensor")
    wrong = [full for full in given if full not in known]
    if strict:
        missing = [full for full, (part, name) in known.items() if part.__dict__[name] is not None]
        missing = [full for full in missing if full not in given and not _tied(known, full, given, tie_weights)]
        if wrong or missing:
            told = [f"Unexpected key(s): {', '.join(wrong)}."] if wrong else []
            told += [f"Missing key(s): {', '.join(missing)}."] if missing else []
            raise RuntimeError(f"Error(s) in functional_call for {type(module).__name__}:\n\t" + "\n\t".join(told))
    elif wrong:
        raise AttributeError(f"functional_call: {type(module).__name__} has no parameter or buffer {wrong[0]!r}")
    made = {full: (*known[full], value) for full, value in given.items()}
    if tie_weights:
        _tie(known, made)
    return made


def _tied(known: Mapping[str, Any], full: str, given: Mapping[str, Any], tie_weights: bool) -> bool:
    own = _current(known[full])
    return tie_weights and any(_current(known[other]) is own for other in given if other in known)


def _current(place: tuple[Any, str]) -> Any:
    part, name = place
    return part.__dict__[name]


def _tie(known: Mapping[str, Any], made: dict[str, Any]) -> None:
    """Give the other names of a parameter the same tensor."""
    chosen: dict[int, Any] = {}
    for full, (part, name, value) in made.items():
        own = part.__dict__[name]
        before = chosen.setdefault(id(own), value)
        if own is not None and before is not value:
            raise ValueError(
                f"functional_call got multiple values for keys that are tied, {full!r} among them: give one of them, "
                f"or pass tie_weights=False"
            )
    for full, place in known.items():
        own = _current(place)
        if full not in made and own is not None and id(own) in chosen:
            made[full] = (*place, chosen[id(own)])


@contextlib.contextmanager
def _swapped(module: Any, made: dict[str, Any]) -> Iterator[None]:
    before = [(part.__dict__, name, part.__dict__[name]) for part, name, _ in made.values()]
    try:
        for part, name, value in made.values():
            part.__dict__[name] = value
        yield
    finally:
        for own, name, value in before:
            own[name] = value


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Stack the parameters and the buffers of modules of one kind, to call them all at once with `vmap`.

    Parameters
    ----------
    models : sequence of Module
        Of the same class, all in training or all in evaluation mode.

    Returns
    -------
    tuple of dict
        Parameters and buffers by name, with a new first axis; the parameters are new leaves.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> models = [lg.nn.Linear(2, 1) for _ in range(3)]
    >>> params, buffers = lg.func.stack_module_state(models)
    >>> params["weight"].shape
    (3, 1, 2)
    >>> def call(params, buffers, x):
    ...     return lg.func.functional_call(models[0], (params, buffers), (x,))
    >>> lg.func.vmap(call, in_dims=(0, 0, None))(params, buffers, lg.ones(5, 2)).shape
    (3, 5, 1)
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(model.training for model in models) or all(not model.training for model in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return (
        {name: _stacked([dict(model.named_parameters())[name] for model in models], name)
         for name, _ in models[0].named_parameters()},
        {name: _stacked([dict(model.named_buffers())[name] for model in models], name)
         for name, _ in models[0].named_buffers()},
    )  # fmt: skip


def _stacked(tensors: list[Any], name: str) -> Any:
    wanted = {tensor.requires_grad for tensor in tensors}
    if len(wanted) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return stack([tensor.detach() for tensor in tensors]).requires_grad_(wanted.pop())


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let the batch norms of a module have no running statistics, which `vmap` can't write; returns the module.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> net = lg.func.replace_all_batch_norm_modules_(lg.nn.Sequential(lg.nn.BatchNorm1d(3)))
    >>> net[0].running_mean is None
    True
    """
    nn = tape_namespace.public.nn
    kinds = nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm
    for module in root.modules():
        if isinstance(module, kinds):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
