"""`Optimizer`: parameter groups, state, its dictionary, and hooks; what all optimisers share."""

import functools
import itertools
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import lucidgrad as lg
from lucidgrad.autograd.graph import Handle
from lucidgrad.ops.steps import not_again
from lucidgrad.shards import note, shard_of

StateDict = dict[str, Any]
#: What an optimiser is made for: tensors, named tensors, or groups of them with settings of their own.
ParamsT = Iterable[Any]


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


#: The default of a setting that every group has to give.
required = _Required()

#: Hooks around the steps of all optimisers.
before_all: dict[int, Any] = {}
after_all: dict[int, Any] = {}


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> Handle:
    """Call ``hook(optimizer, args, kwargs)`` before every step of every optimiser.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> p = lg.ones(1, requires_grad=True)
    >>> p.grad = lg.ones(1)
    >>> steps = []
    >>> with lg.optim.register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: steps.append(p.item())):
    ...     lg.optim.SGD([p], lr=0.5).step()
    >>> steps
    [1.0]
    """
    return Handle(before_all, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> Handle:
    """Call ``hook(optimizer, args, kwargs)`` after every step of every optimiser.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> p = lg.ones(1, requires_grad=True)
    >>> p.grad = lg.ones(1)
    >>> steps = []
    >>> with lg.optim.register_optimizer_step_post_hook(lambda optimizer, args, kwargs: steps.append(p.item())):
    ...     lg.optim.SGD([p], lr=0.5).step()
    >>> steps
    [0.5]
    """
    return Handle(after_all, hook)


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step with the hooks around it."""

    @functools.wraps(step)
    def wrapped(self: "Optimizer", *args: Any, **kwargs: Any) -> Any:
        if not (self._before_step or self._after_step or before_all or after_all):
            if not self._compiles:
                not_again(f"{type(self).__name__}.step() keeps numbers that a program does not know of")
            found = step(self, *args, **kwargs)
            self._opt_called = True
            return found
        not_again("a step has hooks")
        given: tuple[Any, ...] = (self, *args)
        for hook in (*before_all.values(), *self._before_step.values()):
            result = hook(self, given, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"a hook before step returned {type(result).__name__}; expected None or (args, kwargs)"
                    )
                given, kwargs = result
        found = step(*given, **kwargs)
        self._opt_called = True
        for hook in (*self._after_step.values(), *after_all.values()):
            hook(self, given, kwargs)
        return found

    wrapped.hooked = True  # type: ignore[attr-defined]
    return wrapped


_HOOKS = ("_before_step", "_after_step", "_before_saving", "_after_saving", "_before_loading", "_after_loading")


def _number(value: Any) -> Any:
    """An array library's scalar as a Python number, lest settings are computed in its dtype."""
    if isinstance(value, lg.Tensor) or getattr(value, "shape", None) != ():
        return value
    return float(value) if "float" in str(value.dtype) else value.item()


class Optimizer:
    """The base of all optimisers; a subclass brings ``step``.

    Parameters
    ----------
    params
        Tensors, pairs of a name and a tensor, or dictionaries: each is a group, with its tensors under ``"params"``
        and settings of its own beside. The order matters, since saved states go by it.
    defaults
        The settings of groups that say nothing else.

    Attributes
    ----------
    param_groups : list of dict
        The groups.
    state : dict
        What is kept for each parameter.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> class Shrink(lg.optim.Optimizer):
    ...     def __init__(self, params, by=0.5):
    ...         super().__init__(params, {"by": by})
    ...
    ...     @lg.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p.mul_(group["by"])
    >>> x = lg.tensor([2.0, 4.0], requires_grad=True)
    >>> Shrink([x]).step()
    >>> x.tolist()
    [1.0, 2.0]
    """

    _compiles = False  # whether programs that are traced can repeat a step
    _whole = False  # whether a step looks at a parameter as a whole, so that it can't be taken on some of its rows
    #: Entries of a state that are numbers of Python here and 0-d tensors in PyTorch's.
    _numbers: tuple[str, ...] = ("step",)
    _before_step: dict[int, Any]
    _after_step: dict[int, Any]
    _before_saving: dict[int, Any]
    _after_saving: dict[int, Any]
    _before_loading: dict[int, Any]
    _after_loading: dict[int, Any]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        own = cls.__dict__.get("step")
        if own is not None and not getattr(own, "hooked", False):
            cls.step = _hooked(own)  # type: ignore[method-assign]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self._prepare_hooks()
        self.defaults = defaults
        if isinstance(params, lg.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got a Tensor; "
                "put it into a list: [x]"
            )
        if isinstance(params, lg.nn.Module):
            raise TypeError(
                f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got a module, "
                f"{type(params).__name__}; give its .parameters()"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list; a generator such as parameters() can be used only once, and "
                "modules that stand in a plain list or dict are not found: use nn.ModuleList or nn.ModuleDict"
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _prepare_hooks(self) -> None:
        for name in _HOOKS:
            self.__dict__.setdefault(name, {})
        self._opt_called = False  # schedulers ask whether a step came first

    # -- groups
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, for which settings may be given; the rest are the defaults.

        Parameters
        ----------
        param_group
            A dictionary with ``"params"`` and settings.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        entries = [given] if isinstance(given, lg.Tensor) else list(given)
        names = [entry[0] for entry in entries if isinstance(entry, tuple)]
        params = [entry[1] if isinstance(entry, tuple) else entry for entry in entries]
        if names and len(names) != len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        for p in params:
            if not isinstance(p, lg.Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if self._whole and shard_of(p) is not None:
                raise ValueError(
                    f"{type(self).__name__}: given a parameter that fully_shard has cut into rows, expected whole "
                    f"ones: its step depends on all rows; use DistributedDataParallel with ZeroRedundancyOptimizer, or "
                    f"an optimiser that treats elements alike, such as AdamW"
                )
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError(
                    "can't optimize a non-leaf Tensor: it was computed, so its gradient goes to what it was computed "
                    "from; give that, or x.detach().requires_grad_()"
                )
        made = {**param_group, "params": params}
        if names:
            made["param_names"] = names
        for name, default in self.defaults.items():
            if default is required and name not in made:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            made[name] = _number(made.get(name, default))
        if len(params) != len(set(params)):
            warnings.warn("optimizer contains a parameter group with duplicate parameters", stacklevel=3)
        for group in self.param_groups:
            if ("param_names" in made) != ("param_names" in group):
                what = "with names" if "param_names" in made else "without names"
                raise ValueError(
                    f"all optimizer param groups should be with/without names. cannot add param group {what} to the "
                    f"optimizer"
                )
            if not set(group["params"]).isdisjoint(params):
                raise ValueError("some parameters appear in more than one parameter group")
        self._check_group(made)
        param_group.update(made)
        self.param_groups.append(param_group)

    def _check_group(self, group: dict[str, Any]) -> None:
        """Raise if the optimiser can't take this group."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.zero_grad(set_to_none=False)

    def _check_sparse(self, group: dict[str, Any]) -> None:
        """Raise if a step can't be taken on the row-sparse gradients that a group has."""
        name = type(self).__name__
        instead = ", please consider SparseAdam instead" if name in ("Adam", "AdamW") else ""
        raise RuntimeError(
            f"{name} does not support sparse gradients{instead}; p.grad = p.grad.to_dense() makes one dense, and "
            f"lookups with sparse=False give such"
        )

    def _check_gradients(self) -> bool:
        """Whether some gradients are row-sparse; raises, before anything has changed, if the optimiser takes none."""
        if "lucidgrad.levels.rows" not in sys.modules:  # nobody has asked for such yet
            return False
        found = [g for g in self.param_groups if any(p.grad is not None and p.grad.is_sparse for p in g["params"])]
        for group in found:
            self._check_sparse(group)
            if any(p.is_cuda for p in group["params"]) and lg.cuda.is_current_stream_capturing():
                raise RuntimeError(
                    f"{type(self).__name__}: a CUDA graph is being recorded, and a gradient is row-sparse, for which "
                    f"settings would stay as they are now; p.grad = p.grad.to_dense() makes it dense"
                )
        return bool(found)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients; every optimiser has its own."""
        raise TypeError(f"{type(self).__name__} has no step(); an optimiser has to define one")

    # -- state
    def state_dict(self) -> StateDict:
        """The state and the groups, with numbers in place of parameters, as PyTorch lays them out.

        Returns
        -------
        dict
            ``"state"``: number of the parameter to its state; ``"param_groups"``: the settings of each group. The
            tensors are the optimiser's own, not copies.
        """
        for hook in self._before_saving.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups, start = [], 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), i)
            packed = {name: value for name, value in group.items() if name != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            start += len(group["params"])
            groups.append(packed)
        for k, value in self.state.items():
            _note_shards(k, value)
        state = {numbers[id(k)] if isinstance(k, lg.Tensor) else k: value for k, value in self.state.items()}
        found: StateDict = {"state": state, "param_groups": groups}
        for hook in self._after_saving.values():
            result = hook(self, found)
            found = found if result is None else result
        return found

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over a state that `state_dict` gave, also one of PyTorch's; what does not fit changes nothing.

        Parameters
        ----------
        state_dict
            The state; its tensors are copied, to the device and dtype of their parameters. They may be any arrays
            that `lucidgrad.asarray` takes.
        """
        state_dict = state_dict.copy()
        for hook in self._before_loading.values():
            result = hook(self, state_dict)
            state_dict = state_dict if result is None else result
        saved = deepcopy(state_dict["param_groups"])
        if len(self.param_groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for group, new in zip(self.param_groups, saved, strict=True):
            if len(group["params"]) != len(new["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
                )
        ids = itertools.chain.from_iterable(new["params"] for new in saved)
        ours = itertools.chain.from_iterable(group["params"] for group in self.param_groups)
        by_id = dict(zip(ids, ours, strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in by_id:
                state[by_id[key]] = self._taken(by_id[key], value, None)
                self._check_state(by_id[key], state[by_id[key]])
            else:
                state[key] = value
        groups = []
        for group, new in zip(self.param_groups, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
            for name, default in self.defaults.items():
                new.setdefault(name, default)  # a state from before there was this setting
            groups.append(new)
        self.state, self.param_groups = state, groups
        for hook in self._after_loading.values():
            hook(self)

    def _taken(self, p: Any, value: Any, key: Any) -> Any:
        """A copy of a saved value, as it suits the parameter."""
        if isinstance(value, dict):
            return {k: self._taken(p, v, k) for k, v in value.items()}
        if key in self._numbers and value is not None:
            number = float(value)
            return int(number) if number.is_integer() and key == "step" else number
        if not isinstance(value, lg.Tensor) and hasattr(value, "__dlpack__") and hasattr(value, "shape"):
            value = lg.asarray(value)
        if isinstance(value, lg.Tensor):
            dtype = p.dtype if lg.isdtype(p.dtype, ("real floating", "complex floating")) else value.dtype
            return value.detach().to(device=p.device, dtype=dtype, copy=True)
        if isinstance(value, (list, tuple)):
            return type(value)([self._taken(p, v, None) for v in value])
        return value

    def _check_state(self, p: Any, state: Any) -> None:
        """Raise if a loaded state can't be the parameter's."""

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare_hooks()

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])

    # -- hooks
    def register_step_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return other ``(args, kwargs)``."""
        return Handle(self._before_step, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return Handle(self._after_step, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call ``hook(optimizer)`` before `state_dict` collects anything."""
        return _added(self._before_saving, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call ``hook(optimizer, state_dict)`` on what `state_dict` made; it may return another one."""
        return _added(self._after_saving, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call ``hook(optimizer, state_dict)`` before a state is loaded; it may return another one."""
        return _added(self._before_loading, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call ``hook(optimizer)`` after a state was loaded."""
        return _added(self._after_loading, hook, prepend)


def _note_shards(p: Any, state: Any) -> None:
    """What is kept for each element of a shard is a shard, too."""
    shard = shard_of(p)
    if shard is not None:
        for value in state.values():
            if isinstance(value, lg.Tensor) and value.shape == p.shape:
                note(value, shard)


def _added(hooks: dict[int, Any], hook: Callable[..., Any], prepend: bool) -> Handle:
    before = dict(hooks)
    handle = Handle(hooks, hook)
    if prepend:
        for key in before:  # they move behind the new one
            hooks[key] = hooks.pop(key)
    return handle
