"""Functions with a derivative of their own: `Function`, `custom_vjp`.

A call of such a function is a primitive made for the occasion: its program is the user's ``forward``, its rule the
user's ``backward``. So hooks, streams, in-place checks, forward mode and transforms treat it as any other.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core.dispatch import node_of
from lucidgrad.core.modes import state
from lucidgrad.func import trees
from lucidgrad.levels import dual
from lucidgrad.refusals import guard as _guard
from lucidgrad.tensor import Tensor

from .calls import Call
from .context import FunctionCtx
from .explanation.untraced import without_history
from .mapping import mapped, newest_map
from .modes import no_grad

__all__ = ["Function", "FunctionCtx", "custom_vjp", "once_differentiable"]


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

    plain: "type[Function]"
    generate_vmap_rule = False  # forward runs on all examples in any case; True forbids a ``vmap`` beside it

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
    def vjp(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        """Another name for ``backward``."""

    @staticmethod
    def jvp(ctx: FunctionCtx, *tangents: Any) -> Any:
        """Compute the tangents of the outputs; where it is not written, backward is transposed."""

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Compute many examples at once, ``(outputs, out_dims)``; where it is not written, forward does.

        ``in_dims`` says which axis of each argument holds the examples, None: they share it.
        """

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function; keyword arguments reach forward and have no gradient."""
        split = cls.setup_context is not Function.setup_context
        if split or (kwargs and cls.vmap is not Function.vmap):
            context = () if split else (None,)
            bound = _signature(cls.forward).bind(*context, *args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args[len(context) :], {k: v for k, v in bound.kwargs.items() if k in kwargs}
        newest = None if split or cls.vmap is Function.vmap else newest_map(args)
        if newest is not None:
            return mapped(cls, args, kwargs, *newest)
        return Call(cls, args, kwargs).call()


Function.plain = Function  # whose methods are not written yet


@functools.lru_cache(maxsize=1024)
def _signature(forward: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(forward)


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
        nodes = [*ctx._nodes, *(node_of(g) for g in gs if isinstance(g, Tensor))]
        reason = (
            "trying to differentiate twice a function that was marked with @once_differentiable (forward mode "
            "differentiates backward, too, where no jvp is written)"
        )
        several = found if isinstance(found, tuple) else (found,)
        marked = tuple(without_history(g.array, nodes, reason) if isinstance(g, Tensor) else g for g in several)
        return marked if isinstance(found, tuple) else marked[0]

    return once


class custom_vjp:
    """A decorator that gives a function a derivative of its own.

    ``f`` is used as it stands where no derivative is asked for; ``f.defvjp(forward, backward)`` says how to
    differentiate it: ``forward(*args)`` returns ``(output, kept)``, ``backward(kept, g)`` returns one gradient per
    argument, None for those that have none. Arguments may be trees, their gradients are trees alike; for an output that
    is a tuple, backward is given one gradient for each.

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
        name = getattr(self._function, "__name__", "custom_vjp")

        class Made(Function):
            @staticmethod
            def forward(ctx: Any, shape: trees.Shape, *leaves: Any) -> Any:
                made = forward(*trees.unflatten(shape, leaves))
                if not isinstance(made, tuple) or len(made) != 2:
                    raise TypeError(f"{name}: forward returned a {type(made).__name__}, expected (output, kept)")
                output, kept = made
                items, ctx.kept_shape = trees.flatten(kept)
                ctx.shape = shape
                ctx.places = [isinstance(item, Tensor) for item in items]
                ctx.rest = [None if isinstance(item, Tensor) else item for item in items]
                ctx.save_for_backward(*(item for item in items if isinstance(item, Tensor)))
                return output

            @staticmethod
            def backward(ctx: Any, *gs: Any) -> Any:
                saved = iter(ctx.saved_tensors)
                items = [next(saved) if t else other for t, other in zip(ctx.places, ctx.rest, strict=True)]
                found = backward(trees.unflatten(ctx.kept_shape, items), *gs)
                return None, *_gradients(name, ctx.shape, found if isinstance(found, (tuple, list)) else (found,))

        Made.__name__ = Made.__qualname__ = name
        self._made = Made

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        if self._made is None:
            raise RuntimeError(
                f"{getattr(self, '__name__', 'custom_vjp')}: say how to differentiate it first: f.defvjp(...)"
            )
        leaves, shape = trees.flatten(args)
        if not any(isinstance(x, Tensor) and _is_differentiated(x) for x in leaves):
            return self._function(*args)
        return self._made.apply(shape, *leaves)


def _is_differentiated(x: Tensor) -> bool:
    return (state.recording and node_of(x) is not None) or dual.has_tangent(x.array)


def _gradients(name: str, shape: trees.Shape, found: Sequence[Any]) -> list[Any]:
    """The gradients of the leaves of all arguments, from one tree (or None) per argument."""
    if len(found) != len(shape.parts):
        raise RuntimeError(
            f"{name}: backward returned {len(found)} gradients, expected {len(shape.parts)}: one per argument, None "
            f"for those that have none"
        )
    leaves: list[Any] = []
    for i, (g, part) in enumerate(zip(found, shape.parts, strict=True)):
        if g is None:
            leaves += [None] * len(trees.flatten(trees.unflatten(part, iter(lambda: None, 0)))[0])
            continue
        own, its_shape = trees.flatten(g)
        if its_shape != part:
            raise RuntimeError(
                f"{name}: backward returned a gradient of structure {its_shape} for argument {i}, expected {part}"
            )
        leaves += own
    return leaves


_guard(__name__, __all__)
