"""Functions with a derivative of their own: `Function`, `custom_vjp`.

A call of such a function is a primitive made for the occasion: its program is the user's ``forward``, its rule the
user's ``backward``. So hooks, streams, in-place checks, forward mode and transforms treat it as any other.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lucidgrad.core import device, dispatch, dual
from lucidgrad.core.batching import Batched
from lucidgrad.core.dispatch import box, floats, node_of
from lucidgrad.core.engine import tape_namespace
from lucidgrad.core.levels import Layer, structural
from lucidgrad.core.modes import enable_grad, no_grad, state
from lucidgrad.core.primitive import LINEAR, Kind, joint, meta_of, primitive
from lucidgrad.core.tape import touch
from lucidgrad.func import trees
from lucidgrad.tensor import Tensor

__all__ = ["Function", "FunctionCtx", "custom_vjp", "once_differentiable"]


# -- values without history ------------------------------------------------------------------------
def _refuse(xp: Any, g: Any, *, reason: str) -> Any:
    raise RuntimeError(reason)


@primitive(LINEAR, vjp=joint(_refuse))
def untraced(xp: Any, *xs: Any, value: tuple[Any], reason: str) -> Any:
    """A value that was computed from others in a way that the tape did not see: its derivative raises."""
    return value[0]


structural.add("untraced")


def _untraced(value: Any, sources: Sequence[Tensor], reason: str) -> Tensor:
    """Such a value as a tensor, if any of its sources has a history."""
    with enable_grad():
        return untraced(*sources, value=(value,), reason=reason)


# -- what forward and backward are given -------------------------------------------------------------
class FunctionCtx:
    """What ``forward`` leaves for ``backward``."""

    needs_input_grad: tuple[bool, ...] = ()
    _saved: tuple[Tensor | None, ...] = ()
    _given: tuple[Tensor | None, ...] | None = None
    _dirty: tuple[Tensor, ...] = ()
    _fixed: tuple[Tensor, ...] = ()
    _constants: tuple[Tensor, ...] = ()
    _materialize = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``backward``, which finds them in ``ctx.saved_tensors``."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward: given a {type(t).__name__}, expected tensors; store it on ctx")
        self._saved = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``jvp``; the same as `save_for_backward` here."""
        self._saved = self._saved or tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What `save_for_backward` kept."""
        return self._saved if self._given is None else self._given

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs ``forward`` changed in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no gradient."""
        self._fixed = tensors

    def mark_constant(self, *tensors: Tensor) -> None:
        """Say which saved values do not depend on the inputs, so that second derivatives need no history of them."""
        self._constants = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (the default) or None for outputs that nothing depends on."""
        self._materialize = value


# -- one call ----------------------------------------------------------------------------------------
class _Call:
    """One call of a function, as the primitive and as the recipe of its node."""

    kind, view, outputs, dtype, variadic, precision = Kind("custom"), False, True, "same", True, None
    keywords: dict[str, Any] = {}  # noqa: RUF012
    optional: frozenset[str] = frozenset()
    batch, rules, only, index, pulls = None, (), None, 0, ()

    def __init__(self, function: type["Function"], args: tuple[Any, ...]) -> None:
        self.function, self.args = function, args
        self.name = function.__name__
        self.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        self.tensors = [args[i] for i in self.places]
        self.arrays = tuple(f"x{i}" for i in self.places)
        self.differentiable = tuple(range(len(self.places)))
        self.primitive = self
        self.ctx = FunctionCtx()
        self.ctx.needs_input_grad = tuple(
            state.recording and isinstance(a, Tensor) and node_of(a) is not None for a in args
        )
        self.moving = any(dual.has_tangent(t.array) for t in self.tensors)
        self.single = False
        self.outs: list[Tensor] = []
        self.given: list[Tensor] = []
        self.returned: list[int | None] = []  # outputs that are inputs: which
        self.jvp = self._jvp if function.jvp is not Function.jvp else None

    # as a primitive
    def find_kernel(self, array_type: type) -> Callable[..., Any]:
        if array_type is dual.Dual:
            return dual.interpreter(self)  # type: ignore[arg-type]
        if array_type is Batched and self.function.vmap is not Function.vmap:
            return self._mapped
        return self._forward

    def recipe(self, wanted: tuple[int, ...]) -> "_Call":
        return self

    def fused(self, array_type: type, goes: tuple[bool, ...]) -> None:
        """No back end has a kernel for it."""

    def _with(self, values: Sequence[Any]) -> list[Any]:
        """All arguments, with these tensors."""
        args = list(self.args)
        for i, value in zip(self.places, values, strict=True):
            args[i] = value
        return args

    def _forward(self, *arrays: Any) -> tuple[Any, ...]:
        self.given = [t if t.array is a else box(a) for t, a in zip(self.tensors, arrays, strict=True)]
        args = self._with(self.given)
        with no_grad():
            if self.function.setup_context is not Function.setup_context:
                result = self.function.forward(*args)
                self.function.setup_context(self.ctx, tuple(args), result)
            else:
                result = self.function.forward(self.ctx, *args)
        self.single = not isinstance(result, tuple)
        self.outs = [result] if self.single else list(result)
        for y in self.outs:
            if not isinstance(y, Tensor):
                raise TypeError(
                    f"{self.name}.forward returned a {type(y).__name__}, expected a Tensor or a tuple of them"
                )
        self.returned = [next((k for k, x in enumerate(self.given) if x is y), None) for y in self.outs]
        return tuple(
            y.array if k is None or self._is_dirty(y) else device.by_array[type(y.array)].copy(y.array)
            for y, k in zip(self.outs, self.returned, strict=True)
        )

    def _is_dirty(self, x: Tensor) -> bool:
        return any(x is d for d in self.ctx._dirty)

    def _mapped(self, *arrays: Any) -> tuple[Any, ...]:
        """The user's own rule for vmap."""
        level = max(a.level for a in arrays if type(a) is Batched)
        dims = [0 if type(a) is Batched and a.level == level else None for a in arrays]
        size = next(a.spread for a, d in zip(arrays, dims, strict=True) if d == 0)
        inner = [box(a.value if d == 0 else a) for a, d in zip(arrays, dims, strict=True)]
        in_dims: list[int | None] = [None] * len(self.args)
        for i, d in zip(self.places, dims, strict=True):
            in_dims[i] = d
        result, out_dims = self.function.vmap(_Info(size), tuple(in_dims), *self._with(inner))
        self.single = not isinstance(result, tuple)
        outs = [result] if self.single else list(result)
        places = trees.spread(out_dims, tuple(outs) if not self.single else outs[0], f"{self.name}.vmap: out_dims")
        return tuple(
            y.array if d is None else Batched((tape_namespace.moveaxis(y, d, 0) if d else y).array, level)
            for y, d in zip(outs, places, strict=True)
        )

    def _jvp(self, xp: Any, y: Any, xs: Any, ts: Any, **keywords: Any) -> tuple[Any, ...]:
        tangents: list[Any] = [None] * len(self.args)
        for i, x, t in zip(self.places, xs, ts, strict=True):
            tangents[i] = box(xp.zeros_like(x) if t is None else t) if self.ctx._materialize or t is not None else None
        moved = self.function.jvp(self.ctx, *tangents)
        moved = moved if isinstance(moved, tuple) else (moved,)
        return tuple(xp.zeros_like(part) if m is None else m.array for part, m in zip(y, moved, strict=True))

    # as a recipe
    @property
    def fills(self) -> bool:
        return self.ctx._materialize

    @property
    def items(self) -> tuple[tuple[str, Any], ...]:
        return tuple(self._item(t) for t in self.ctx._saved)

    @property
    def keeps_arrays(self) -> bool:
        return bool(self.ctx._saved)

    def _item(self, t: Tensor | None) -> tuple[str, Any]:
        for k, x in enumerate(self.given):
            if t is x and not self._is_dirty(x):
                return "x", k
        for y in self.outs:
            if t is y:
                return "y", None
        return "own", None

    def save(self, y: Any, xs: Sequence[Any], keywords: dict[str, Any], meta: Any = meta_of) -> tuple[Any, ...]:
        values = []
        for t, (kind, at) in zip(self.ctx._saved, self.items, strict=True):
            values.append(xs[at] if kind == "x" else y if kind == "y" else None if t is None else t.array)
        return tuple(values)

    def joint(self, xp: Any, g: Any, saved: tuple[Any, ...]) -> tuple[Any, ...]:
        """The user's backward, on tensors in either mode."""
        graph = state.recording
        gs = [None if part is None else part if isinstance(part, Tensor) else box(part) for part in g]
        gs = [_conj(part) for part in gs]
        ctx = self.ctx
        kinds = [kind for kind, _ in self.items]
        ctx._given = tuple(map(self._saved_tensor, ctx._saved, kinds, saved, [graph] * len(kinds)))
        try:
            with self._watched_attributes(graph):
                found = self.function.backward(ctx, *gs)
        finally:
            ctx._given = None
        found = found if isinstance(found, tuple) else (found,)
        if len(found) > len(self.args) and all(extra is None for extra in found[len(self.args) :]):
            found = found[: len(self.args)]
        if len(found) != len(self.args):
            raise RuntimeError(
                f"{self.name}.backward returned {len(found)} gradients, expected {len(self.args)}: one per argument of "
                f"forward, None for those that have none"
            )
        return tuple(self._checked(found[i], x) for i, x in zip(self.places, self.tensors, strict=True))

    def _checked(self, g: Any, x: Tensor) -> Any:
        if g is None:
            return None
        if not isinstance(g, Tensor):
            raise TypeError(f"{self.name}.backward returned a {type(g).__name__}, expected tensors or None")
        return _conj(g) if state.recording else _conj(g).array

    def _saved_tensor(self, t: Tensor | None, kind: str, value: Any, graph: bool) -> Tensor | None:
        if t is None:
            return None
        if kind == "y":  # all outputs: which of them
            value = value[next(k for k, y in enumerate(self.outs) if y is t)]
        if kind == "own" and (graph or self.moving):
            return self._own(value, t)
        return value if isinstance(value, Tensor) else box(value)

    def _own(self, value: Any, t: Tensor) -> Tensor:
        """A value that forward computed itself: how it depends on the inputs is not known."""
        if value.dtype not in floats or any(t is c for c in self.ctx._constants) or node_of(t) is not None:
            return t
        reason = (
            f"{self.name}: a second derivative is asked for that goes through a value which forward computed and kept "
            f"without history; compute it from saved inputs in backward, return it as an output, or say "
            f"ctx.mark_constant(...) if it does not depend on the inputs"
        )
        if self.moving:
            raise RuntimeError(reason)
        return _untraced(value, self.tensors, reason)

    @contextmanager
    def _watched_attributes(self, graph: bool) -> Iterator[None]:
        """With a graph, tensors that forward left on ctx without history are watched, too."""
        if not graph and not self.moving:
            yield
            return
        names = vars(self.ctx)
        before = {k: v for k, v in names.items() if not k.startswith("_") and k != "needs_input_grad"}
        inputs = {id(x): t for x, t in zip(self.given, self.tensors, strict=True)}

        def watch(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            return inputs[id(value)] if id(value) in inputs else self._own(value.array, value)

        try:
            names.update({k: trees.map(watch, v) for k, v in before.items()})
            yield
        finally:
            names.update(before)


def _conj(g: Any) -> Any:
    """Users see gradients, walks carry their conjugates."""
    return tape_namespace.conj(g) if g is not None and g.array.dtype in dispatch.complexes else g


class _Info:
    """What a vmap rule is told."""

    randomness = "error"

    def __init__(self, batch_size: int) -> None:
        self.batch_size = batch_size


class Function:
    """A function whose derivative is written by hand: subclass it, and call ``YourFunction.apply(...)``.

    ``forward(ctx, *args)`` computes with tensors (nothing is recorded), ``backward(ctx, *gradients of the outputs)``
    returns one gradient per argument, None for those that have none. Either may be split: ``forward(*args)`` with
    ``setup_context(ctx, inputs, output)``. Where backward is made of lucidgrad's functions, second derivatives follow;
    where they cannot, asking for them raises. Forward mode transposes backward, or uses ``jvp(ctx, *tangents)``; `vmap`
    runs forward on all examples, or uses ``vmap(info, in_dims, *args)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> class Cube(lg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x**2 * g
    >>> x = lg.tensor(2.0, requires_grad=True)
    >>> (g,) = lg.autograd.grad(Cube.apply(x), x, create_graph=True)
    >>> g.item(), lg.autograd.grad(g, x)[0].item()
    (12.0, 12.0)
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs."""
        raise RuntimeError("this Function has no forward: write it as a static method")

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep what backward needs, where forward has no ctx."""

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        """Compute the gradients of the inputs."""
        raise RuntimeError("this Function has no backward: write it as a static method")

    @staticmethod
    def jvp(ctx: FunctionCtx, *tangents: Any) -> Any:
        """Compute the tangents of the outputs; where it is not written, backward is transposed."""

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Compute many examples at once, ``(outputs, out_dims)``; where it is not written, forward does."""

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Call the function."""
        call = _Call(cls, args)
        if not call.tensors:
            raise TypeError(f"{cls.__name__}.apply: expected at least one Tensor among the arguments")
        outs = dispatch.apply(call, call.tensors, {})  # type: ignore[arg-type]
        if call.outs and not isinstance(outs[0].array, Layer):
            outs = tuple(_finished(call, k, y) for k, y in enumerate(outs))
        return outs[0] if call.single else outs


def _finished(call: _Call, k: int, y: Tensor) -> Tensor:
    """An output as users get it: without history if it was marked so, the input itself if that was changed."""
    made = call.outs[k]
    if any(made is fixed for fixed in call.ctx._fixed):
        return y.detach()
    source = call.returned[k]
    if source is not None and call._is_dirty(made):
        x: Tensor = call.tensors[source]
        if state.recording and y._node is not None:
            if x.is_leaf and x.requires_grad:
                raise RuntimeError(
                    f"{call.name}: a leaf tensor that requires grad was changed in place; clone it before"
                )
            x._node = y._node
        touch(x.array)
        return x
    return y


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a ``backward`` that cannot be differentiated: asking for a second derivative raises.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.autograd.function import once_differentiable
    >>> class Double(lg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, g):
    ...         return g * 2
    """

    @functools.wraps(backward)
    def once(ctx: FunctionCtx, *gs: Any) -> Any:
        graph = state.recording
        with no_grad():
            found = backward(ctx, *gs)
        if not graph:
            return found
        sources = [t for t in (*gs, *ctx.saved_tensors) if isinstance(t, Tensor) and node_of(t) is not None]
        reason = "trying to differentiate twice a function that was marked with @once_differentiable"
        several = found if isinstance(found, tuple) else (found,)
        marked = tuple(_untraced(g.array, sources, reason) if isinstance(g, Tensor) and sources else g for g in several)
        return marked if isinstance(found, tuple) else marked[0]

    return once


class custom_vjp:
    """A decorator that gives a function a derivative of its own.

    ``f`` is used as it stands; ``f.defvjp(forward, backward)`` says how to differentiate it: ``forward(*args)`` returns
    ``(output, kept)``, ``backward(kept, g)`` returns one gradient per argument.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> @lg.custom_vjp
    ... def safe_sqrt(x):
    ...     return lg.sqrt(x)
    >>> safe_sqrt.defvjp(lambda x: (lg.sqrt(x), x), lambda x, g: (g * 0.5 / lg.sqrt(x + 1e-6),))
    >>> x = lg.tensor(0.0, requires_grad=True)
    >>> safe_sqrt(x).backward()
    >>> bool(x.grad < 1000)
    True
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._made: type[Function] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Say how to differentiate the function."""

        class Made(Function):
            @staticmethod
            def forward(ctx: FunctionCtx, *args: Any) -> Any:
                output, kept = forward(*args)
                leaves, ctx.kept_shape = trees.flatten(kept)  # type: ignore[attr-defined]
                ctx.places = [isinstance(leaf, Tensor) for leaf in leaves]  # type: ignore[attr-defined]
                ctx.rest = [None if isinstance(leaf, Tensor) else leaf for leaf in leaves]  # type: ignore[attr-defined]
                ctx.save_for_backward(*(leaf for leaf in leaves if isinstance(leaf, Tensor)))
                return output

            @staticmethod
            def backward(ctx: Any, *gs: Any) -> Any:
                saved = iter(ctx.saved_tensors)
                leaves = [next(saved) if t else other for t, other in zip(ctx.places, ctx.rest, strict=True)]
                kept = trees.unflatten(ctx.kept_shape, leaves)
                return tuple(backward(kept, *gs))

        Made.__name__ = Made.__qualname__ = getattr(self._function, "__name__", "custom_vjp")
        self._made = Made

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        if self._made is None:
            raise RuntimeError(
                f"{getattr(self, '__name__', 'custom_vjp')}: say how to differentiate it first: f.defvjp(...)"
            )
        return self._made.apply(*args)
