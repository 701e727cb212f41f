"""Parameters that are computed from others: reading ``module.weight`` runs a module on what is stored instead.

A parametrised module gets a class of its own, with a property in place of the tensor.
"""

import contextlib
import copy
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import lucidgrad as lg
from lucidgrad.nn.containers import ModuleDict, ModuleList
from lucidgrad.nn.module import Module
from lucidgrad.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

#: Values that were computed inside `cached`, by module and name; None outside.
_cache: ContextVar[dict[tuple[int, str], Any] | None] = ContextVar("cache", default=None)


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Inside, what is parametrised is computed once, when it is first read.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(lg.nn.Linear(2, 1))
    >>> with parametrize.cached():
    ...     same = layer.weight is layer.weight
    >>> same, layer.weight is layer.weight
    (True, False)
    """
    if _cache.get() is not None:
        yield
        return
    before = _cache.set({})
    try:
        yield
    finally:
        _cache.reset(before)


class ParametrizationList(ModuleList):
    """The modules that one tensor passes through, and what is stored in its place.

    Attributes
    ----------
    original : Parameter or Tensor
        What is stored; ``original0``, ``original1`` and so on if there are several.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.utils.parametrizations.weight_norm(lg.nn.Linear(2, 1))
    >>> layer.parametrizations.weight
    ParametrizationList(
      (0): _WeightNorm()
    )
    """

    def __init__(self, modules: Any, original: Any, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        kept = original
        with lg.no_grad():
            for module in reversed(list(modules)):
                if hasattr(module, "right_inverse"):
                    kept = module.right_inverse(kept)
        self.is_tensor = isinstance(kept, lg.Tensor)
        self.ntensors = 1 if self.is_tensor else len(kept)
        if self.is_tensor:
            self._check(original, kept)
            # the parameter stays the same object, so that an optimiser that has it trains it still
            if isinstance(original, Parameter):
                original.data = kept
                self.original = original
            else:
                self.register_buffer("original", original if kept is original else kept)
        else:
            for i, part in enumerate(kept):
                if not isinstance(part, lg.Tensor):
                    raise ValueError(f"'right_inverse' must return a Tensor or a sequence of tensors. Got {type(part)}")
                if isinstance(original, Parameter):
                    setattr(self, f"original{i}", Parameter(part, requires_grad=original.requires_grad))
                else:
                    self.register_buffer(f"original{i}", part)

    def _check(self, original: lg.Tensor, kept: lg.Tensor) -> None:
        if not self.unsafe and kept.dtype != original.dtype:
            raise ValueError(
                f"When `right_inverse` outputs one tensor, it may not change the dtype: given {original.dtype}, "
                f"it returned {kept.dtype}"
            )

    def _originals(self) -> tuple[lg.Tensor, ...]:
        if self.is_tensor:
            return (self.original,)
        return tuple(getattr(self, f"original{i}") for i in range(self.ntensors))

    def right_inverse(self, value: lg.Tensor) -> None:
        """Store what gives a value: the modules' ``right_inverse`` in reverse order."""
        with lg.no_grad():
            kept: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                kept = module.right_inverse(kept)
            parts = (kept,) if isinstance(kept, lg.Tensor) else tuple(kept)
            originals = self._originals()
            if len(parts) != len(originals):
                raise ValueError(
                    f"'right_inverse' must return {len(originals)} tensor(s), as it did before; got {len(parts)}"
                )
            for old, new in zip(originals, parts, strict=True):
                if old.shape != new.shape:
                    raise ValueError(f"right_inverse returned shape {new.shape}, expected the stored {old.shape}")
                old.copy_(new)

    def forward(self) -> Any:
        """The value that the stored tensors give."""
        modules = list(self)
        value = modules[0](*self._originals())
        for module in modules[1:]:
            value = module(value)
        return value


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module, or a tensor of it, is parametrised.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.utils.parametrize.is_parametrized(lg.nn.Linear(1, 1))
    False
    """
    found = module.__dict__.get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before it was parametrised.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.utils.parametrize.type_before_parametrizations(lg.nn.Linear(1, 1)).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def _all(module: Module) -> ModuleDict:
    found: ModuleDict = module.__dict__["parametrizations"]
    return found


def _make_class(module: Module) -> None:
    """Give a module a class of its own, for the properties."""
    base = type(module)

    def deepcopy(self: Any, memo: dict[int, Any]) -> Any:
        made = self.__new__(type(self))
        memo[id(self)] = made
        own = {k: v for k, v in vars(type(self)).items() if k not in ("__dict__", "__weakref__")}
        made.__class__ = type(type(self).__name__, type(self).__bases__, own)  # removing from one leaves the other
        made.__dict__.update(copy.deepcopy(self.__getstate__(), memo))
        return made

    def refuse(self: Any, protocol: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(): save that, and register "
            "the parametrization again before loading"
        )

    body = {"__deepcopy__": deepcopy, "__reduce_ex__": refuse, "__module__": base.__module__}
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), body)


def _make_property(module: Module, name: str) -> None:
    def read(self: Any) -> Any:
        cache = _cache.get()
        if cache is None:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in cache:
            cache[key] = self.parametrizations[name]()
        return cache[key]

    def write(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a tensor of a module be computed by another module from what is stored.

    Parameters
    ----------
    module : Module
        Whose tensor it is.
    tensor_name : str
        A parameter or buffer of the module; it may be parametrised already.
    parametrization : Module
        Maps what is stored to the value. Its ``right_inverse``, if it has one, maps a value to what is stored.
    unsafe : bool
        Don't check that shape and dtype stay as they are.

    Returns
    -------
    Module
        The module, changed.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> class Symmetric(lg.nn.Module):
    ...     def forward(self, x):
    ...         return lg.triu(x) + lg.triu(x, k=1).mT
    >>> layer = lg.nn.Linear(3, 3)
    >>> layer = lg.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.mT).all())
    True
    >>> list(layer.state_dict())
    ['bias', 'parametrizations.weight.original']
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        found = _all(module)[tensor_name]
        if not unsafe:
            _check_map(parametrization, getattr(module, tensor_name))
        found.append(parametrization)
        found.unsafe |= unsafe
        return module
    if tensor_name not in module._buffer_names and tensor_name not in module._parameter_names:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    if not unsafe and not hasattr(parametrization, "right_inverse"):
        _check_map(parametrization, original)
    before = original.detach().clone()
    parts = ParametrizationList([parametrization], original, unsafe)
    if not unsafe:
        with lg.no_grad():
            try:
                _check_alike(before, parts())
            except Exception:
                original.data = before
                raise
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _make_class(module)
        module.parametrizations = ModuleDict()
    _make_property(module, tensor_name)
    _all(module)[tensor_name] = parts
    return module


def _check_map(parametrization: Module, value: lg.Tensor) -> None:
    with lg.no_grad():
        _check_alike(value, parametrization(value))


def _check_alike(value: lg.Tensor, made: Any) -> None:
    if not isinstance(made, lg.Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(made)}.")
    if made.dtype != value.dtype:
        raise ValueError(
            "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is enabled: "
            f"given {value.dtype}, it returned {made.dtype}"
        )
    if made.shape != value.shape:
        raise ValueError(
            "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is enabled: "
            f"given {value.shape}, it returned {made.shape}"
        )


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a tensor an ordinary one again.

    Parameters
    ----------
    module : Module
        Whose tensor it is.
    tensor_name : str
        The tensor.
    leave_parametrized : bool
        Keep the value that was computed; otherwise that which was stored.

    Returns
    -------
    Module
        The module, changed.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.utils.parametrizations.weight_norm(lg.nn.Linear(2, 1))
    >>> list(lg.nn.utils.parametrize.remove_parametrizations(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parts = _all(module)[tensor_name]
    if not leave_parametrized and not parts.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    originals = parts._originals()
    trained = isinstance(originals[0], Parameter)
    if leave_parametrized:
        with lg.no_grad():
            value = getattr(module, tensor_name).detach().clone()
        if parts.is_tensor and trained:
            kept = originals[0]
            kept.data = value
        else:
            wanted = any(part.requires_grad for part in originals)
            kept = Parameter(value, requires_grad=wanted) if trained else value
    else:
        kept = originals[0]
    delattr(type(module), tensor_name)
    del _all(module)[tensor_name]
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    if trained:
        module.register_parameter(tensor_name, kept)
    else:
        module.register_buffer(tensor_name, kept)
    return module


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Let tensors of a module be parametrised as those of another one, and share what is stored.

    Parameters
    ----------
    from_module, to_module : Module
        Whose parametrisations, and where they go; tensors that are missing there are made.
    tensor_name : str, optional
        One of them; all by default.

    Returns
    -------
    Module
        The second module, changed.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils import parametrizations, parametrize
    >>> first = parametrizations.weight_norm(lg.nn.Linear(2, 1))
    >>> second = parametrize.transfer_parametrizations_and_params(first, lg.nn.Linear(2, 1))
    >>> bool((first.weight == second.weight).all())
    True
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(_all(from_module)) if tensor_name is None else [tensor_name]:
        parts = _all(from_module)[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in parts:
            register_parametrization(to_module, name, parametrization, unsafe=parts.unsafe)
        own = _all(to_module)[name]
        for key in ["original"] if parts.is_tensor else [f"original{i}" for i in range(parts.ntensors)]:
            setattr(own, key, getattr(parts, key))
    return to_module
