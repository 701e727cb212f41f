"""Hooks of modules: around forward, backward, and the state."""

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import lucidgrad as lg
from lucidgrad.autograd.graph import Handle

__all__ = [
    "Hookable", "Hooks", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]  # fmt: skip

_Registry = OrderedDict[int, Any]

#: Hooks around the calls of all modules, (purpose, hook) each. One registry, so that a call asks one question.
everywhere: _Registry = OrderedDict()
#: Hooks for what all modules are given: parameters, buffers and submodules.
registrations: dict[str, _Registry] = {kind: OrderedDict() for kind in ("parameter", "buffer", "module")}


class Hooks:
    """All hooks of one module, by purpose; a module without hooks has none of these."""

    def __init__(self) -> None:
        self.forward_pre: _Registry = OrderedDict()  # (hook, with_kwargs)
        self.forward: _Registry = OrderedDict()  # (hook, with_kwargs, always_call)
        self.backward_pre: _Registry = OrderedDict()
        self.backward: _Registry = OrderedDict()
        self.saving: _Registry = OrderedDict()
        self.saved: _Registry = OrderedDict()  # (hook, may return another dictionary)
        self.loading: _Registry = OrderedDict()  # (hook, with_module)
        self.loaded: _Registry = OrderedDict()


def live(registry: _Registry) -> Iterator[Any]:
    """The hooks as they are now, without those that are removed before their turn comes."""
    for key, hook in tuple(registry.items()):
        if key in registry:
            yield hook


def around(module: Any, purpose: str) -> Iterator[Any]:
    """The hooks of all modules, then those of one."""
    for kind, hook in live(everywhere):
        if kind == purpose:
            yield hook
    if module._hooks is not None:
        yield from live(getattr(module._hooks, purpose))


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """What a module is given under a name, after the hooks for that."""
    for hook in live(registrations[kind]):
        other = hook(module, name, value)
        value = value if other is None else other
    return value


class _Identity(lg.autograd.Function):
    """Passes values and gradients on: a place in the graph for hooks."""

    @staticmethod
    def forward(ctx: Any, *xs: Any) -> Any:
        ctx.set_materialize_grads(False)
        return tuple(x.clone() for x in xs)  # views of inputs could not be written in place

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        return gs


def _through_identity(values: tuple[Any, ...], watch: Callable[[Any, list[int]], None]) -> tuple[Any, ...] | None:
    """The values with one node behind all tensors among them, which ``watch`` is given; None without a gradient."""
    places = [i for i, value in enumerate(values) if isinstance(value, lg.Tensor)]
    if not lg.is_grad_enabled() or not any(values[i].requires_grad for i in places):
        return None
    passed = _Identity.apply(*(values[i] for i in places))
    node = next((t.grad_fn for t in passed if t.grad_fn is not None), None)
    if node is None:
        return None
    watch(node, places)
    made = list(values)
    for i, tensor in zip(places, passed, strict=True):
        # what needs no gradient stays outside the graph
        made[i] = tensor if values[i].requires_grad else values[i]
    return tuple(made)


def _packed(places: list[int], gradients: Any, size: int) -> tuple[Any, ...]:
    made: list[Any] = [None] * size
    for i, g in zip(places, gradients, strict=True):
        made[i] = g
    return tuple(made)


class _BackwardWatch:
    """The backward hooks of one call of a module: sees the gradients of its outputs, then of its inputs."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.outside: tuple[Any, ...] | None = None  # gradients of the outputs, while the walk is inside
        self.inputs_watched = False
        self.n_inputs = 0

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, watched."""
        self.n_inputs = len(args)

        def watch(node: Any, places: list[int]) -> None:
            def arrived(gradients: Any, _: Any) -> Any:
                if self.outside is None:
                    return None
                try:
                    packed = self._run(
                        around(self.module, "backward"), _packed(places, gradients, self.n_inputs), "grad_input"
                    )
                finally:
                    self.outside = None
                return tuple(packed[i] for i in places)

            node.register_hook(arrived)
            self.inputs_watched = True

        return _through_identity(args, watch) or args

    def leave(self, result: Any) -> Any:
        """The results, watched."""
        single = not isinstance(result, tuple)
        values = (result,) if single else tuple(result)

        def watch(node: Any, places: list[int]) -> None:
            def started(gradients: Any) -> Any:
                packed = _packed(places, gradients, len(values))
                for hook in around(self.module, "backward_pre"):
                    packed = self._checked(hook(self.module, packed), packed, "grad_output")
                self.outside = packed
                if not self.inputs_watched:
                    self._without_inputs()
                return tuple(packed[i] for i in places)

            node.register_prehook(started)

        watched = _through_identity(values, watch)
        if watched is None:
            return result
        if single:
            return watched[0]
        return type(result)(*watched) if hasattr(result, "_fields") else watched

    def _run(self, hooks: Iterator[Any], packed: tuple[Any, ...], what: str) -> tuple[Any, ...]:
        for hook in hooks:
            packed = self._checked(hook(self.module, packed, self.outside), packed, what)
        return packed

    def _checked(self, returned: Any, packed: tuple[Any, ...], what: str) -> tuple[Any, ...]:
        if returned is None:
            return packed
        returned = tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
        if len(returned) != len(packed):
            raise RuntimeError(
                f"Backward hook returned an invalid number of {what}, got {len(returned)}, but expected {len(packed)}"
            )
        return returned

    def _without_inputs(self) -> None:
        """No input wants a gradient: the hooks still see the gradients of the outputs."""
        try:
            for hook in around(self.module, "backward"):
                returned = hook(self.module, (None,) * self.n_inputs, self.outside)
                if returned is not None and not (
                    isinstance(returned, tuple) and all(part is None for part in returned)
                ):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should "
                        "always return None or None for all gradients."
                    )
        finally:
            self.outside = None


class Hookable:
    """What a module has to do with hooks."""

    _hooks: Hooks | None
    forward: Callable[..., Any]

    def _register(self, purpose: str, hook: Any, prepend: bool = False) -> Handle:
        if self._hooks is None:
            self.__dict__["_hooks"] = Hooks()
        registry: _Registry = getattr(self._hooks, purpose)
        handle = Handle(registry, hook)
        if prepend:
            registry.move_to_end(handle._key, last=False)
        return handle

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Call ``hook(module, args)`` before `forward`; what it returns, if anything, takes the place of ``args``.

        With ``with_kwargs`` it is ``hook(module, args, kwargs)`` and returns None or ``(args, kwargs)``.
        """
        return self._register("forward_pre", (hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> Handle:
        """Call ``hook(module, args, output)`` after `forward`; what it returns, if anything, is the output.

        With ``with_kwargs`` it is ``hook(module, args, kwargs, output)``; with ``always_call`` it is called even if
        `forward` raises.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> layer = lg.nn.Identity()
        >>> with layer.register_forward_hook(lambda module, args, output: 2 * output):
        ...     layer(lg.ones(2))
        tensor([2., 2.])
        """
        return self._register("forward", (hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call ``hook(module, grad_output)`` before gradients pass this module; it may return other ones."""
        return self._register("backward_pre", hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients of the inputs are known.

        It may return other gradients for the inputs.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> layer = lg.nn.Identity()
        >>> handle = layer.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 10,))
        >>> x = lg.ones(2, requires_grad=True)
        >>> layer(x).sum().backward()
        >>> x.grad
        tensor([10., 10.])
        """
        return self._register("backward", hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> Handle:
        """The same as `register_full_backward_hook`, by an older name."""
        return self.register_full_backward_hook(hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict` collects."""
        return self._register("saving", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after `state_dict` collected."""
        return self._register("saved", (hook, False))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> Handle:
        return self._register("saved", (hook, True))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)`` before loading.

        It may change ``state_dict``, which is a copy.
        """
        return self._register("loading", (hook, True))

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> Handle:
        return self._register("loading", (hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, incompatible_keys)`` after loading; it may change the lists of keys in place."""
        return self._register("loaded", hook)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result: Any = None
        called: list[Any] = []
        try:
            args, kwargs = self._before(args, kwargs)
            asked = any(True for purpose in ("backward", "backward_pre") for _ in around(self, purpose))
            watch = _BackwardWatch(self) if asked else None
            if watch is not None:
                args = watch.enter(args)
            result = self.forward(*args, **kwargs)
            for entry in around(self, "forward"):
                called.append(entry)
                hook, with_kwargs, _ = entry
                returned = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                if returned is not None:
                    result = returned
            if watch is not None:
                if not isinstance(result, (lg.Tensor, tuple)):
                    warnings.warn(
                        "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                        f"but received {type(result)}",
                        stacklevel=3,
                    )
                else:
                    result = watch.leave(result)
            return result
        except Exception:
            self._after_failure(called, args, kwargs, result)
            raise

    def _before(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        for hook, with_kwargs in around(self, "forward_pre"):
            if with_kwargs:
                returned = hook(self, args, kwargs)
                if returned is not None:
                    if not isinstance(returned, tuple) or len(returned) != 2:
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                            f"but got {returned}."
                        )
                    args, kwargs = returned
            else:
                returned = hook(self, args)
                if returned is not None:
                    args = returned if isinstance(returned, tuple) else (returned,)
        return args, kwargs

    def _after_failure(self, called: list[Any], args: Any, kwargs: Any, result: Any) -> None:
        for entry in around(self, "forward"):
            hook, with_kwargs, always = entry
            if not always or any(entry is other for other in called):
                continue
            try:
                hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            except Exception as error:
                warnings.warn(
                    "module forward hook with ``always_call=True`` raised an exception that was silenced as another "
                    f"error was raised in forward: {error}",
                    stacklevel=4,
                )


# -- for all modules -----------------------------------------------------------------------------
def _everywhere(purpose: str, hook: Any) -> Handle:
    entry: Any = (purpose, hook)
    return Handle(everywhere, entry)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> Handle:
    """Call ``hook(module, args)`` before the `forward` of every module, and before hooks of its own.

    What it returns, if anything, takes the place of ``args``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.modules.module import register_module_forward_pre_hook
    >>> seen = []
    >>> with register_module_forward_pre_hook(lambda module, args: seen.append(type(module).__name__)):
    ...     y = lg.nn.Tanh()(lg.ones(2))
    >>> seen
    ['Tanh']
    """
    return _everywhere("forward_pre", (hook, False))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> Handle:
    """Call ``hook(module, args, output)`` after the `forward` of every module, and before hooks of its own.

    What it returns, if anything, is the output. Arguments as of `Module.register_forward_hook`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> called = []
    >>> with lg.nn.modules.module.register_module_forward_hook(lambda module, args, y: called.append(module)):
    ...     y = lg.nn.Sequential(lg.nn.ReLU(), lg.nn.Tanh())(lg.ones(2))
    >>> [type(module).__name__ for module in called]
    ['ReLU', 'Tanh', 'Sequential']
    """
    return _everywhere("forward", (hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> Handle:
    """Call ``hook(module, grad_output)`` before gradients pass any module; it may return other ones.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.modules.module import register_module_full_backward_pre_hook
    >>> seen = []
    >>> with register_module_full_backward_pre_hook(lambda module, after: seen.append(after[0].tolist())):
    ...     lg.nn.Tanh()(lg.ones(2, requires_grad=True)).sum().backward()
    >>> seen
    [[1.0, 1.0]]
    """
    return _everywhere("backward_pre", hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> Handle:
    """Call ``hook(module, grad_input, grad_output)`` when the gradients of any module's inputs are known.

    It may return other gradients for the inputs.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.modules.module import register_module_full_backward_hook
    >>> seen = []
    >>> with register_module_full_backward_hook(lambda module, before, after: seen.append(after[0].tolist())):
    ...     lg.nn.Tanh()(lg.ones(2, requires_grad=True)).sum().backward()
    >>> seen
    [[1.0, 1.0]]
    """
    return _everywhere("backward", hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> Handle:
    """The same as `register_module_full_backward_hook`, by an older name.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.modules.module import register_module_backward_hook
    >>> seen = []
    >>> with register_module_backward_hook(lambda module, before, after: seen.append(type(module).__name__)):
    ...     lg.nn.Tanh()(lg.ones(2, requires_grad=True)).sum().backward()
    >>> seen
    ['Tanh']
    """
    return register_module_full_backward_hook(hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> Handle:
    """Call ``hook(module, name, parameter)`` when a module is given a parameter; it may return another one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.modules.module import register_module_parameter_registration_hook
    >>> seen = []
    >>> with register_module_parameter_registration_hook(lambda module, name, parameter: seen.append(name)):
    ...     layer = lg.nn.Linear(2, 1)
    >>> seen
    ['weight', 'bias']
    """
    return Handle(registrations["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> Handle:
    """Call ``hook(module, name, buffer)`` when a module is given a buffer; it may return another one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.modules.module import register_module_buffer_registration_hook
    >>> seen = []
    >>> with register_module_buffer_registration_hook(lambda module, name, buffer: seen.append(name)):
    ...     layer = lg.nn.BatchNorm1d(2)
    >>> seen
    ['running_mean', 'running_var', 'num_batches_tracked']
    """
    return Handle(registrations["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> Handle:
    """Call ``hook(module, name, submodule)`` when a module is given a submodule; it may return another one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.modules.module import register_module_module_registration_hook
    >>> seen = []
    >>> with register_module_module_registration_hook(lambda module, name, inner: seen.append(name)):
    ...     network = lg.nn.Sequential(lg.nn.Tanh(), lg.nn.ReLU())
    >>> seen
    ['0', '1']
    """
    return Handle(registrations["module"], hook)
