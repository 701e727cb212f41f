"""The state of modules as a dictionary: taking it, and putting it back all or not at all."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import lucidgrad as lg
from lucidgrad.nn.hooks import Hookable, live
from lucidgrad.nn.parameter import Buffer, Parameter, is_lazy, uninitialise

__all__ = ["IncompatibleKeys", "Stateful"]

_EXTRA = "_extra_state"
_WRITES = "writes"  # where a load collects what is to be written, in the metadata that each module is handed


class IncompatibleKeys(NamedTuple):
    """What did not match in `load_state_dict`."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not (self.missing_keys or self.unexpected_keys):
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class _State(OrderedDict[str, Any]):
    """A state dictionary; ``_metadata`` has the version of each module."""

    _metadata: OrderedDict[str, Any]


class _Write:
    """One value that is to replace another."""

    def __init__(self, module: Any, name: str, value: Any, assign: bool) -> None:
        self.module, self.name, self.value, self.assign = module, name, value, assign
        self.old: Any = None
        self.kind: type | None = None  # of a target that had no shape

    def do(self, keep_old: bool) -> None:
        target = getattr(self.module, self.name)
        if self.assign:
            self.old = target
            setattr(self.module, self.name, self.value)
        elif is_lazy(target):
            self.kind = type(target)
            target.materialize(self.value.shape)
            target.copy_(self.value)
        else:
            self.old = target.detach().clone() if keep_old else None
            target.copy_(self.value)

    def undo(self) -> None:
        if self.assign:
            setattr(self.module, self.name, self.old)
        elif self.kind is not None:
            uninitialise(getattr(self.module, self.name), self.kind)
        else:
            getattr(self.module, self.name).copy_(self.old)


class _ExtraState:
    """`set_extra_state`, at its time."""

    def __init__(self, module: Any, value: Any) -> None:
        self.module, self.value = module, value

    def do(self, keep_old: bool) -> None:
        if keep_old and type(self.module).get_extra_state is not Stateful.get_extra_state:
            self.old = self.module.get_extra_state()
        self.module.set_extra_state(self.value)

    def undo(self) -> None:
        if hasattr(self, "old"):
            self.module.set_extra_state(self.old)


def as_values(value: Any, like: lg.Tensor) -> lg.Tensor:
    """A value of a state, which may be another library's array, as a tensor."""
    if isinstance(value, lg.Tensor):
        return value.detach()
    if hasattr(value, "detach"):
        value = value.detach()
        if str(value.dtype).endswith("bfloat16"):  # NumPy has none, so it comes as float32, which holds it exactly
            value = value.float()
    if not (hasattr(value, "__array__") or hasattr(value, "__dlpack__") or isinstance(value, (int, float, complex))):
        raise TypeError(f"expected a Tensor or an array, given {type(value).__name__}")
    return lg.asarray(value, device=like.device)


class Stateful(Hookable):
    """What a module has to do with its state."""

    _version: int = 1
    _parameter_names: dict[str, None]
    _buffer_names: dict[str, bool]
    _module_names: dict[str, None]
    named_children: Callable[..., Any]

    # -- taking
    def get_extra_state(self) -> Any:
        """What else belongs to the state: defined by a subclass, together with `set_extra_state`."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called: define it in the subclass"
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called: define it in the subclass"
        )

    def _own_state(self) -> dict[str, Any]:
        """Parameters and persistent buffers of this module itself."""
        own = self.__dict__
        names = (*self._parameter_names, *(name for name, persistent in self._buffer_names.items() if persistent))
        return {name: own[name] for name in names if own[name] is not None}

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, value in self._own_state().items():
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters and persistent buffers by their full names; they share memory with the module's.

        Parameters
        ----------
        destination : dict, optional
            Where they go; a new ordered dictionary by default.
        prefix : str
            Put before all names.
        keep_vars : bool
            Give the parameters themselves, not detached tensors.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> list(lg.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        for name, value in zip(("destination", "prefix", "keep_vars"), args, strict=False):
            destination = value if name == "destination" and destination is None else destination
            prefix = value if name == "prefix" and prefix == "" else prefix
            keep_vars = value if name == "keep_vars" and keep_vars is False else keep_vars
        if destination is None:
            destination = _State()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        if self._hooks is not None:
            for hook in live(self._hooks.saving):
                hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():  # type: ignore[attr-defined]
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        if self._hooks is not None:
            for hook, may_replace in live(self._hooks.saved):
                returned = hook(self, destination, prefix, metadata)
                if may_replace:
                    destination = destination if returned is None else returned
                elif returned is not None:
                    raise RuntimeError("state_dict post-hook must return None")
        return destination

    # -- putting back
    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Find and check the values of this module itself; what is right is written when all modules agree."""
        if self._hooks is not None:
            for hook, with_module in live(self._hooks.loading):
                given = (state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
                hook(self, *given) if with_module else hook(*given)
        writes: list[Any] = local_metadata.get(_WRITES, [])
        own = self._own_state()
        for name, target in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            found = self._checked(key, target, state_dict[key], error_msgs)
            if found is not None:
                writes.append(self._write(name, target, found, local_metadata.get("assign_to_params_buffers", False)))
        key = prefix + _EXTRA
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if key in state_dict:
                writes.append(_ExtraState(self, state_dict[key]))
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)
        if strict:
            for other in state_dict:
                if other.startswith(prefix) and other != key:
                    name, dot, _ = other[len(prefix) :].partition(".")
                    if name not in (self._module_names if dot else own):
                        unexpected_keys.append(other)
        if _WRITES not in local_metadata:  # called on its own
            _write_all(writes, keep_old=False)

    @staticmethod
    def _checked(key: str, target: Any, value: Any, error_msgs: list[str]) -> Any:
        if is_lazy(target) and is_lazy(value):
            return None
        try:
            found = as_values(value, target)
        except Exception as error:
            error_msgs.append(
                f'While copying the parameter named "{key}", expected Tensor or Tensor-like object from checkpoint '
                f"but received {type(value)}: {error}."
            )
            return None
        if is_lazy(target):
            return found
        if target.ndim == 0 and found.shape == (1,):
            found = found[0]
        if found.shape != target.shape:
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {found.shape} from checkpoint, "
                f"the shape in current model is {target.shape}."
            )
            return None
        return found

    def _write(self, name: str, target: Any, value: Any, assign: bool) -> _Write:
        if assign:
            if isinstance(target, Parameter):
                value = Parameter(value, requires_grad=target.requires_grad)
            elif isinstance(target, Buffer):
                value = Buffer(value)
        return _Write(self, name, value, assign)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy a state into the parameters and buffers of this module and its descendants.

        Values may be tensors or other libraries' arrays, so a checkpoint of PyTorch loads as it is. If anything does
        not fit, an error lists all of it, and the module is as it was.

        Parameters
        ----------
        state_dict : mapping
            Values by name, as `state_dict` gives them.
        strict : bool
            Whether the names must be just those of this module.
        assign : bool
            Put the values themselves in place of the parameters instead of copying; keeps the values' dtypes.

        Returns
        -------
        IncompatibleKeys
            ``missing_keys`` and ``unexpected_keys``.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> layer = lg.nn.Linear(1, 1)
        >>> layer.load_state_dict({"weight": lg.full((1, 1), 2.0), "bias": lg.ones(1)})
        <All keys matched successfully>
        >>> layer(lg.ones(1)).item()
        3.0
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        writes: list[Any] = []
        visited: list[Any] = []
        metadata = getattr(state_dict, "_metadata", None)
        values = OrderedDict(state_dict)
        if metadata is not None:
            values._metadata = metadata  # type: ignore[attr-defined]

        def visit(module: Any, part: Any, prefix: str) -> None:
            local = dict((metadata or {}).get(prefix[:-1], {}))
            local.update({_WRITES: writes, "assign_to_params_buffers": assign})
            module._load_from_state_dict(part, prefix, local, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    below = f"{prefix}{name}."
                    visit(child, {k: v for k, v in part.items() if k.startswith(below)}, below)
            visited.append(module)

        visit(self, values, "")
        if errors:
            raise _failure(self, errors, missing if strict else [], unexpected if strict else [])
        keys = IncompatibleKeys(missing, unexpected)
        hooked = any(module._hooks is not None and module._hooks.loaded for module in visited)
        if not hooked and strict and (missing or unexpected):
            raise _failure(self, errors, missing, unexpected)
        _write_all(writes, hooked)
        if hooked:
            try:
                for module in visited:
                    for hook in live(module._hooks.loaded) if module._hooks is not None else ():
                        if hook(module, keys) is not None:
                            raise RuntimeError(
                                "load_state_dict post-hooks must return None: change the lists of keys in place"
                            )
                if strict and (missing or unexpected):
                    raise _failure(self, errors, missing, unexpected)
            except Exception:
                _undo(writes)
                raise
        return keys


def _write_all(writes: list[Any], keep_old: bool) -> None:
    with lg.no_grad():
        for write in writes:
            write.do(keep_old)


def _undo(writes: list[Any]) -> None:
    with lg.no_grad():
        for write in reversed(writes):
            write.undo()


def _failure(module: Any, errors: list[str], missing: list[str], unexpected: list[str]) -> RuntimeError:
    def quoted(keys: list[str]) -> str:
        return ", ".join(f'"{key}"' for key in keys)

    told = [f"Missing key(s) in state_dict: {quoted(missing)}. "] if missing else []
    told += [f"Unexpected key(s) in state_dict: {quoted(unexpected)}. "] if unexpected else []
    return RuntimeError("\n\t".join([f"Error(s) in loading state_dict for {type(module).__name__}:", *told, *errors]))
