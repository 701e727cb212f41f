"""Reverse mode as functions of functions: `grad`, `value_and_grad`, `vjp`."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.autograd import gradient
from lucidgrad.core.dispatch import box, floats, node_of
from lucidgrad.core.modes import state, switch
from lucidgrad.core.plan import reach
from lucidgrad.core.tape import Leaf
from lucidgrad.creation import zeros_like
from lucidgrad.ops.shape import reshape
from lucidgrad.tensor import Tensor

from . import trees


class Inputs:
    """Chosen arguments of a function, made into inputs that only this call differentiates with respect to."""

    def __init__(self, who: str, args: Sequence[Any], argnums: int | Sequence[int]) -> None:
        self.outside = state.recording  # may results be differentiated in their turn?
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        try:
            chosen = tuple([args[n] for n in numbers])
        except IndexError:
            n = next(n for n in numbers if not -len(args) <= n < len(args))
            raise ValueError(f"{who}: argnums has {n}, the function was given {len(args)} arguments") from None
        leaves, self.shape = trees.flatten(chosen[0] if isinstance(argnums, int) else chosen)
        self.fresh = [self._input(who, x) for x in leaves]
        self.args = list(args)
        replaced = trees.unflatten(self.shape, self.fresh)
        for n, value in zip(numbers, (replaced,) if isinstance(argnums, int) else replaced, strict=True):
            self.args[n] = value

    def _input(self, who: str, x: Any) -> Tensor:
        if not isinstance(x, Tensor):
            raise TypeError(f"{who}: an argument has a leaf of type {type(x).__name__}, expected tensors only")
        if x.array.dtype not in floats:
            raise TypeError(f"{who}: an argument has dtype {x.dtype}, expected floating-point numbers")
        if self.outside and node_of(x) is not None:
            return reshape(x, x.shape)
        made: Tensor = box(x.array)
        made._node = Leaf(made)
        return made

    def reach_outside(self, outputs: Sequence[Any]) -> bool:
        """Whether outputs depend on more than the inputs, so that gradients are to be differentiable."""
        if not self.outside:
            return False
        own = {node_of(x) for x in self.fresh}
        _, _, leaves = reach([node for node in map(node_of, outputs) if node is not None])
        return any(leaf not in own for leaf in leaves)

    def pull_one(self, y: Tensor) -> tuple[Any, bool]:
        """The gradients of one number, and whether they are differentiable."""
        if node_of(y) is None:
            return self.pull([y], [None], False), False
        ways = None if self.outside else False
        found, differentiable = gradient.differentiate(y, self.fresh, create_graph=ways, materialize_grads=True)
        return trees.unflatten(self.shape, found), differentiable

    def pull(self, outputs: Sequence[Any], seeds: Any, differentiable: bool, **options: Any) -> Any:
        """The gradients, in the structure of the chosen arguments."""
        wanted = [(y, s) for y, s in zip(outputs, seeds, strict=True) if node_of(y) is not None]
        if wanted:
            ends, weights = zip(*wanted, strict=True)
            found = gradient.grad(
                ends, self.fresh, weights, create_graph=differentiable, materialize_grads=True, **options
            )
        else:
            found = tuple(zeros_like(x) for x in self.fresh)
        return trees.unflatten(self.shape, found)


def released(tree: Any, differentiable: bool) -> Any:
    """Results as they leave a transform: without the history inside, if nothing outside is in it."""
    return tree if differentiable else trees.map(lambda y: _cut(y) if isinstance(y, Tensor) else y, tree)


def _cut(y: Tensor) -> Tensor:
    made: Tensor = box(y.array)  # unlike detach it keeps tangents: those of outer transforms
    return made


def run(func: Callable[..., Any], inputs: Inputs, kwargs: dict[str, Any], has_aux: bool, who: str) -> tuple[Any, Any]:
    """Call the function on the inputs; the result and what comes beside it."""
    before = state.enabled, state.fresh
    if not state.enabled:
        switch(True, state.fresh)
    try:
        result = func(*inputs.args, **kwargs)
    finally:
        if (state.enabled, state.fresh) != before:
            switch(*before)
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(f"{who}: with has_aux the function returns (output, aux), this one returned {type(result)}")
    return result


def value_and_grad(
    func: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the value of ``func`` and its gradient, ``(value, gradient)``.

    With ``has_aux`` the function returns ``(output, aux)`` and the result is ``((output, aux), gradient)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> value, g = lg.func.value_and_grad(lambda x: (x**2).sum())(lg.tensor([1.0, 2.0]))
    >>> value.item(), g.tolist()
    (5.0, [2.0, 4.0])
    """

    @functools.wraps(func)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        y, aux, found, differentiable = _differentiated(func, argnums, has_aux, args, kwargs)
        return released((y, aux) if has_aux else y, differentiable), found

    return value_and_gradient


def _differentiated(
    func: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Tensor, Any, Any, bool]:
    """The value of a function, what comes beside it, the gradient, and whether all may be differentiated."""
    inputs = Inputs("grad", args, argnums)
    y, aux = run(func, inputs, kwargs, has_aux, "grad")
    if not isinstance(y, Tensor):
        raise TypeError(f"grad: the function returned a {type(y).__name__}, expected a tensor with one element")
    if y.array.shape != () and y.size != 1:
        raise RuntimeError(
            f"grad: the function returned a tensor of shape {y.shape}, expected one element; "
            f"reduce it, or use vjp or jacrev"
        )
    if y.array.shape != ():
        y = reshape(y, ())
    found, differentiable = inputs.pull_one(y)
    return y, aux, found, differentiable


def grad_and_value(
    func: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The same as `value_and_grad` with the gradient first, as PyTorch has it."""
    both = value_and_grad(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return found, value

    return gradient_and_value


def grad(func: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of ``func`` with respect to chosen arguments.

    Parameters
    ----------
    func
        A function of trees of tensors that returns one number.
    argnums
        Which argument to differentiate with respect to; a tuple for several, then the result is a tuple.
    has_aux
        The function returns ``(output, aux)``, the result is ``(gradient, aux)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.func.grad(lg.func.grad(lg.sin))(lg.tensor(0.5)) == -lg.sin(lg.tensor(0.5))
    tensor(True)
    """

    @functools.wraps(func)
    def gradient_only(*args: Any, **kwargs: Any) -> Any:
        _, aux, found, differentiable = _differentiated(func, argnums, has_aux, args, kwargs)
        return (found, released(aux, differentiable)) if has_aux else found

    return gradient_only


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and the function that pulls cotangents of it back to its arguments.

    Returns
    -------
    tuple
        ``(output, vjp_fn)`` or ``(output, vjp_fn, aux)``; ``vjp_fn(cotangents)`` takes the structure of the output and
        returns a tuple with one gradient per argument (or just the gradient if there is one).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y, pull = lg.func.vjp(lg.exp, lg.tensor([0.0, 1.0]))
    >>> pull(lg.tensor([1.0, 0.0]))[0].tolist()
    [1.0, 0.0]
    """
    inputs = Inputs("vjp", primals, tuple(range(len(primals))))
    y, aux = run(func, inputs, {}, has_aux, "vjp")
    outs, outer = trees.flatten(y)
    for out in outs:
        if not isinstance(out, Tensor):
            raise TypeError(f"vjp: the function returned a {type(out).__name__}, expected tensors only")
    differentiable = inputs.reach_outside(outs)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        seeds, shape = trees.flatten(cotangents)
        if shape != outer:
            raise ValueError(f"vjp: the cotangents have the structure {shape}, the outputs {outer}")
        seeds_count = any(isinstance(s, Tensor) and node_of(s) is not None for s in seeds) and state.recording
        found = inputs.pull(
            outs, seeds, differentiable or seeds_count if create_graph is None else create_graph,
            retain_graph=retain_graph,
        )  # fmt: skip
        return found

    value = released(y, differentiable)
    return (value, pull, released(aux, differentiable)) if has_aux else (value, pull)
