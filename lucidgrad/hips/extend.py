"""Functions with derivatives of their own, as HIPS autograd has them written: a door to `lucidgrad.autograd.Function`.

A `primitive` computes with plain arrays, by whatever means. `defvjp` and `defjvp` say how it is differentiated; where
these rules are written with ``autograd.numpy``, derivatives of every order follow, in either mode.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from lucidgrad.autograd.function import Function
from lucidgrad.core.modes import state
from lucidgrad.creation import zeros_like
from lucidgrad.func import trees
from lucidgrad.ops.shape.joining import stack
from lucidgrad.tensor import Tensor

from .boxes import Box, boxing, closed_tree, getval, holds_boxes
from .differential_operators import as_tensors, conjugated
from .vspaces import VSpace, vspace

__all__ = [
    "Box", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp", "defvjp_argnum",
    "defvjp_argnums", "notrace_primitive", "primitive", "vspace",
]  # fmt: skip

P = ParamSpec("P")
R = TypeVar("R")


class _Call:
    """One call of a primitive: what is no array, and the structures that hold the arrays."""

    def __init__(self, shape: trees.Shape, keywords: dict[str, Any]) -> None:
        self.shape, self.keywords = shape, keywords
        self.outer: trees.Shape | None = None  # of the result, once it is known

    def args(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments with boxes, or arrays, for tensors."""
        found: tuple[Any, ...] = closed_tree(trees.unflatten(self.shape, leaves))
        return found

    def chosen(self, leaves: Sequence[Any]) -> dict[int, slice]:
        """The numbers of the arguments that can have derivatives, and where their leaves are."""
        found, start = {}, 0
        for number, part in enumerate(self.shape.parts):
            size = len(trees.flatten(trees.unflatten(part, iter(lambda: None, 0)))[0])
            if any(isinstance(x, Tensor) and x.dtype.kind in "fc" for x in leaves[start : start + size]):
                found[number] = slice(start, start + size)
            start += size
        return found


class _Primitive(Function):
    """What lucidgrad knows of a primitive; each has a subclass of its own."""

    compute: Callable[..., Any]  # the function itself, of arrays
    pull: Callable[..., Any] | None = None  # (argnums, ans, args, kwargs) -> g -> one gradient for each
    push: Callable[..., Any] | None = None  # (argnums, tangents, ans, args, kwargs) -> tangent

    @classmethod
    def call(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves, shape = trees.flatten(args)
        if holds_boxes(kwargs.values()):
            raise TypeError(
                f"{cls.__name__}: an argument given by name is being differentiated; primitives are differentiated "
                f"with respect to arguments that are given by position"
            )
        if not holds_boxes(leaves):
            return cls.compute(*args, **kwargs)
        call = _Call(shape, kwargs)
        outs = cls.apply(call, *(x.tensor if isinstance(x, Box) else x for x in leaves))
        assert call.outer is not None  # forward ran
        return closed_tree(trees.unflatten(call.outer, outs))

    @classmethod
    def forward(cls, ctx: Any, call: _Call, *leaves: Any) -> Any:
        """Run the function on arrays."""
        args = trees.unflatten(call.shape, [getval(x) for x in leaves])
        with boxing(False):
            outs, call.outer = trees.flatten(as_tensors(cls.compute(*args, **call.keywords)))
        ctx.call, ctx.places = call, [isinstance(x, Tensor) for x in leaves]
        ctx.rest = [None if isinstance(x, Tensor) else x for x in leaves]
        ctx.save_for_backward(*(x for x in leaves if isinstance(x, Tensor)), *outs)
        return tuple(outs)

    @staticmethod
    def _kept(ctx: Any) -> tuple[list[Any], Any]:
        """The leaves of the arguments, and the result."""
        saved = list(ctx.saved_tensors)
        count = sum(ctx.places)
        given, outs = iter(saved[:count]), saved[count:]
        leaves = [next(given) if own else x for own, x in zip(ctx.places, ctx.rest, strict=True)]
        return leaves, closed_tree(trees.unflatten(ctx.call.outer, outs))

    @classmethod
    def backward(cls, ctx: Any, *gs: Any) -> Any:
        """Apply the rules that defvjp gave."""
        if cls.pull is None:
            raise RuntimeError(f"{cls.__name__} has no rule for reverse mode: say defvjp({cls.__name__}, ...)")
        with boxing(state.recording):
            leaves, ans = cls._kept(ctx)
            numbers = ctx.call.chosen(leaves)
            rule = cls.pull(tuple(numbers), ans, ctx.call.args(leaves), ctx.call.keywords)
            gradients = rule(closed_tree(conjugated(trees.unflatten(ctx.call.outer, gs))))
        found: list[Any] = [None] * len(leaves)
        for number, gradient in zip(numbers, gradients, strict=True):
            if gradient is not None:
                own = trees.leaves_like(ctx.call.shape.parts[number], conjugated(as_tensors(gradient)))
                if own is None:
                    raise TypeError(
                        f"{cls.__name__}: the gradient of argument {number} has the structure "
                        f"{trees.flatten(gradient)[1]}, the argument {ctx.call.shape.parts[number]}"
                    )
                found[numbers[number]] = own
        return None, *(g if isinstance(x, Tensor) else None for g, x in zip(found, leaves, strict=True))

    @classmethod
    def vmap(cls, info: Any, in_dims: Any, call: _Call, *leaves: Any) -> Any:
        """One example after the other, since the function computes by means of its own."""
        rows = []
        for i in range(info.batch_size):
            one = [x if d is None else x[(slice(None),) * d + (i,)] for x, d in zip(leaves, in_dims[1:], strict=True)]
            rows.append(cls.apply(call, *one))
        outs = tuple(stack(list(column), axis=0) for column in zip(*rows, strict=True))
        return outs, (0,) * len(outs)


def _moved(cls: type[_Primitive], ctx: Any, *tangents: Any) -> Any:
    """Apply the rules that defjvp gave."""
    assert cls.push is not None
    with boxing(state.recording):
        leaves, ans = cls._kept(ctx)
        numbers = ctx.call.chosen(leaves)
        steps = [zeros_like(x) if t is None and isinstance(x, Tensor) else t for x, t in zip(leaves, tangents[1:])]
        parts = [closed_tree(trees.unflatten(ctx.call.shape.parts[n], steps[at])) for n, at in numbers.items()]
        moved = cls.push(tuple(numbers), tuple(parts), ans, ctx.call.args(leaves), ctx.call.keywords)
    return tuple(trees.flatten(as_tensors(moved))[0])


def primitive(f_raw: Callable[P, R]) -> Callable[P, R]:
    """A function of arrays that is differentiated by rules of its own.

    Examples
    --------
    >>> import numpy
    >>> import lucidgrad.hips.numpy as np
    >>> from lucidgrad.hips import grad
    >>> from lucidgrad.hips.extend import defvjp, primitive
    >>> @primitive
    ... def cube(x):
    ...     return numpy.power(x, 3)
    >>> defvjp(cube, lambda ans, x: lambda g: 3 * x**2 * g)
    >>> float(grad(cube)(2.0)), float(grad(grad(cube))(2.0))
    (12.0, 12.0)
    """
    name = getattr(f_raw, "__name__", "primitive")
    rules = type(name, (_Primitive,), {"compute": staticmethod(f_raw)})

    @functools.wraps(f_raw)
    def function(*args: Any, **kwargs: Any) -> Any:
        return rules.call(args, kwargs)  # type: ignore[attr-defined]

    function.fun, function._rules = f_raw, rules  # type: ignore[attr-defined]
    return function


def notrace_primitive(f_raw: Callable[P, R]) -> Callable[P, R]:
    """A function of the values alone: its results do not depend on what is being differentiated."""

    @functools.wraps(f_raw)
    def function(*args: Any, **kwargs: Any) -> Any:
        return f_raw(*trees.map(getval, args), **trees.map(getval, kwargs))

    return function


# -- rules ---------------------------------------------------------------------------------------
def _rules_of(who: str, fun: Any) -> Any:
    rules = getattr(fun, "_rules", None)
    if rules is None:
        name = getattr(fun, "__name__", type(fun).__name__)
        raise TypeError(f"{who}: {name} is no primitive; decorate it with @primitive, and give rules to the result")
    return rules


def _by_number(who: str, fun: Any, given: Sequence[Any], argnums: Any) -> dict[int, Any]:
    numbers = tuple(range(len(given))) if argnums is None else tuple(argnums)
    if len(numbers) != len(given):
        raise ValueError(f"{who}: given {len(given)} rules and {len(numbers)} argnums; expected as many")
    return dict(zip(numbers, given, strict=True))


def _missing(fun: Any, mode: str, number: int) -> RuntimeError:
    name = getattr(fun, "__name__", "the primitive")
    return RuntimeError(f"{name} has no rule for argument {number} in {mode} mode; None says that it has no derivative")


def defvjp_argnums(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """Give the rule for all arguments: ``vjpmaker(argnums, ans, args, kwargs)`` gives g -> one gradient for each."""
    _rules_of("defvjp_argnums", fun).pull = staticmethod(vjpmaker)


def defvjp_argnum(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """Give the rule for any one argument: ``vjpmaker(argnum, ans, args, kwargs)`` gives g -> gradient."""

    def maker(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        pulls = [vjpmaker(number, ans, args, kwargs) for number in argnums]
        return lambda g: tuple(pull(g) for pull in pulls)

    defvjp_argnums(fun, maker)


def defvjp(fun: Any, *vjpmakers: Any, argnums: Any = None) -> None:
    """Give a rule per argument: ``vjpmaker(ans, *args, **kwargs)`` gives g -> gradient; None for no derivative."""
    by_number = _by_number("defvjp", fun, vjpmakers, argnums)

    def maker(number: int, ans: Any, args: Any, kwargs: Any) -> Any:
        if number not in by_number:
            raise _missing(fun, "reverse", number)
        rule = by_number[number]
        return (lambda g: None) if rule is None else rule(ans, *args, **kwargs)

    defvjp_argnum(fun, maker)


def defjvp_argnums(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """Give the rule for all arguments: ``jvpmaker(argnums, tangents, ans, args, kwargs)`` gives the tangent of ans."""
    rules = _rules_of("defjvp_argnums", fun)
    rules.push = staticmethod(jvpmaker)
    rules.jvp = classmethod(_moved)


def defjvp_argnum(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """Give the rule for any one argument: ``jvpmaker(argnum, tangent, ans, args, kwargs)`` gives the tangent of ans."""

    def maker(argnums: Any, gs: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        space = vspace(ans)
        moved = [jvpmaker(number, g, ans, args, kwargs) for number, g in zip(argnums, gs, strict=True)]
        return functools.reduce(space.add, [t for t in moved if t is not None], space.zeros())

    defjvp_argnums(fun, maker)


def defjvp(fun: Any, *jvpfuns: Any, argnums: Any = None) -> None:
    """Give a rule per argument: ``jvpfun(tangent, ans, *args, **kwargs)``; None: there is no derivative.

    ``"same"`` is for a function that is linear in the argument: its tangent is the function of the tangent.
    """
    by_number = _by_number("defjvp", fun, jvpfuns, argnums)

    def maker(number: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        if number not in by_number:
            raise _missing(fun, "forward", number)
        rule = by_number[number]
        if rule is None:
            return None
        if isinstance(rule, str) and rule == "same":
            return fun(*args[:number], g, *args[number + 1 :], **kwargs)
        return rule(g, ans, *args, **kwargs)

    defjvp_argnum(fun, maker)


def def_linear(fun: Any) -> None:
    """Say that a primitive is linear in each argument."""
    defjvp_argnum(fun, lambda number, g, ans, args, kwargs: fun(*args[:number], g, *args[number + 1 :], **kwargs))
