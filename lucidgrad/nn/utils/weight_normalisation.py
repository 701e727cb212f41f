"""`weight_norm` as a hook, with the keys that older checkpoints have."""

from typing import TypeVar

import lucidgrad as lg
from lucidgrad.nn.module import Module
from lucidgrad.nn.parameter import Parameter
from lucidgrad.nn.utils.computed import ComputedWeight
from lucidgrad.nn.utils.parametrizations import norm_but

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

_M = TypeVar("_M", bound=Module)


class WeightNorm(ComputedWeight):
    """Computes a weight from its lengths ``<name>_g`` and its directions ``<name>_v``; `weight_norm` makes these."""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def value(self, module: Module) -> lg.Tensor:
        """The directions with their lengths."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        made: lg.Tensor = v * (g / norm_but(v, self.dim))
        return made


def weight_norm(module: _M, name: str = "weight", dim: int | None = 0) -> _M:
    """Learn the lengths ``<name>_g`` of a weight's parts and their directions ``<name>_v`` apart.

    `lucidgrad.nn.utils.parametrizations.weight_norm` does the same in the newer way.

    Parameters
    ----------
    module : Module
        Whose weight it is.
    name : str
        The weight.
    dim : int or None
        The axis along which every part has a length; None for one length of the whole.

    Returns
    -------
    Module
        The module, changed.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.utils.weight_norm(lg.nn.Linear(2, 3))
    >>> list(layer.state_dict())
    ['bias', 'weight_g', 'weight_v']
    """
    if WeightNorm.of(module, name) is not None:
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, -1 if dim is None else dim)
    weight = getattr(module, name)
    if name not in module._parameter_names:
        raise ValueError(f"weight_norm: {name!r} is not a parameter of {type(module).__name__}")
    values = weight.detach()
    delattr(module, name)
    module.register_parameter(f"{name}_g", Parameter(norm_but(values, hook.dim).clone()))
    module.register_parameter(f"{name}_v", Parameter(values))
    with lg.no_grad():
        hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: _M, name: str = "weight") -> _M:
    """Undo `weight_norm`: the weight is a parameter again.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.utils.weight_norm(lg.nn.Linear(2, 3))
    >>> list(lg.nn.utils.remove_weight_norm(layer).state_dict())
    ['bias', 'weight']
    """
    hook = WeightNorm.of(module, name)
    if hook is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    hook.detach_from(module)
    with lg.no_grad():
        value = hook.value(module)
    for part in (name, f"{name}_g", f"{name}_v"):
        delattr(module, part)
    module.register_parameter(name, Parameter(value))
    return module
