"""Weights that a hook computes before each call of their module."""

from typing import Any, Self

import lucidgrad as lg
from lucidgrad.nn.module import Module

__all__ = ["ComputedWeight"]


class ComputedWeight:
    """A hook that computes one weight of a module; a subclass says how, in `value`.

    Attributes
    ----------
    name : str
        The weight.
    """

    name: str

    def value(self, module: Module) -> lg.Tensor:
        """The weight, computed from what the module keeps instead."""
        raise TypeError(f"{type(self).__name__} does not say how its weight is computed")

    def __call__(self, module: Module, args: Any) -> None:
        """Before `forward`."""
        setattr(module, self.name, self.value(module))

    @classmethod
    def all_of(cls, module: Module) -> list[Self]:
        """The hooks of this kind that a module has."""
        found = () if module._hooks is None else tuple(module._hooks.forward_pre.values())
        return [hook for hook, _ in found if isinstance(hook, cls)]

    @classmethod
    def of(cls, module: Module, name: str) -> Self | None:
        """The hook of this kind for a weight, if there is one."""
        return next((hook for hook in cls.all_of(module) if hook.name == name), None)

    def detach_from(self, module: Module) -> None:
        """Take the hook off a module."""
        assert module._hooks is not None
        registry = module._hooks.forward_pre
        for key in [key for key, (other, _) in registry.items() if other is self]:
            del registry[key]
