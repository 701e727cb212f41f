"""Reverse mode as functions of functions: `grad`, `value_and_grad`, `vjp`."""

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.autograd import gradient
from lucidgrad.core.dispatch import box, floats, node_of
from lucidgrad.core.modes import Recording, recording, state
from lucidgrad.core.plan import reach
from lucidgrad.core.tape import Leaf
from lucidgrad.creation import zeros_like
from lucidgrad.ops.shape.layout import reshape
from lucidgrad.tensor import Tensor

from . import guests, trees


def chosen_numbers(who: str, argnums: Any, count: int) -> tuple[int, ...]:
    """The numbers of the chosen arguments, each once and in range."""
    if type(argnums) is not tuple and not isinstance(argnums, int):
        if not isinstance(argnums, Sequence) or isinstance(argnums, str):
            raise TypeError(f"{who}: argnums is a {type(argnums).__name__}, expected an int or a tuple of them")
        argnums = tuple(argnums)
    for n in argnums if type(argnums) is tuple else ():  # here, as for a cache 1.0 is 1
        if not isinstance(n, int):
            raise TypeError(f"{who}: argnums has a {type(n).__name__}, expected an int or a tuple of them")
    return _checked_numbers(who, argnums, count)


@functools.lru_cache(maxsize=256)
def _checked_numbers(who: str, argnums: int | tuple[int, ...], count: int) -> tuple[int, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    for n in numbers:
        if not -count <= n < count:
            raise ValueError(f"{who}: argnums has {n}, the function was given {count} arguments")
    if len({n % count for n in numbers}) < len(numbers) or not numbers:
        raise ValueError(f"{who}: argnums is {argnums}, expected at least one argument, and none of them twice")
    return numbers


#: Inputs that `vjp` and `linearize` gave to functions: what is pulled back may hold them, to others they are constant.
_constants: weakref.WeakSet[Leaf] = weakref.WeakSet()


class Inputs:
    """Chosen arguments of a function, made into inputs that only this call differentiates with respect to."""

    has_guests = False  # whether some leaves were given as numbers or as arrays of a library

    def __init__(self, who: str, args: Sequence[Any], argnums: int | Sequence[int]) -> None:
        self.outside = state.recording  # may results be differentiated in their turn?
        numbers = chosen_numbers(who, argnums, len(args))
        chosen = tuple([args[n] for n in numbers])
        self.given, self.shape = trees.flatten(chosen[0] if isinstance(argnums, int) else chosen)
        self.fresh = [self._input(who, x) for x in self.given]
        self.args = list(args)
        replaced = trees.unflatten(self.shape, self.fresh)
        for n, value in zip(numbers, (replaced,) if isinstance(argnums, int) else replaced, strict=True):
            self.args[n] = value

    def _input(self, who: str, x: Any) -> Tensor:
        if not isinstance(x, Tensor):
            x, self.has_guests = guests.received(who, x), True
        if x.array.dtype not in floats:
            raise TypeError(f"{who}: an argument has dtype {x.dtype}, expected floating-point numbers")
        if self.outside and node_of(x) is not None:
            return reshape(x, x.shape)
        made: Tensor = box(x.array)
        made._node, made._alias = Leaf(made), None  # an input may be differentiated, in inference mode too
        return made

    def reach_outside(self, outputs: Sequence[Any]) -> bool:
        """Whether outputs depend on more than the inputs, so that gradients are to be differentiable."""
        if not self.outside:
            return False
        own = {node_of(x) for x in self.fresh}
        _, _, leaves, _ = reach([node for node in map(node_of, outputs) if node is not None])
        return any(leaf not in own and leaf not in _constants for leaf in leaves)

    def release(self, tree: Any, differentiable: bool = True) -> Any:
        """Results as they leave a transform: without the history inside, where nothing outside is in it."""
        leaves, shape = trees.flatten(tree)
        for i, y in enumerate(leaves):
            if isinstance(y, Tensor) and not (differentiable and self.reach_outside([y])):
                leaves[i] = _cut(y)
        return trees.unflatten(shape, leaves if not self.has_guests else [guests.value(self.given, y) for y in leaves])

    def derivatives(self, found: Sequence[Any]) -> Any:
        """One derivative per leaf in the structure of the chosen arguments, each as its leaf was given."""
        return trees.unflatten(self.shape, guests.all_returned(self.given, found) if self.has_guests else found)

    def pull_one(self, y: Tensor, retain: bool | None) -> tuple[Any, bool]:
        """The gradients of one number, and whether they are differentiable."""
        if node_of(y) is None or not self.fresh:
            return self.pull([y], [None], False), self.reach_outside([y])
        ways = None if self.outside else False
        found, differentiable = gradient.differentiate(y, self.fresh, None, retain, ways, materialize_grads=True)
        if differentiable and _constants and not self.reach_outside([y]):
            found, differentiable = tuple([_cut(g) for g in found]), False  # type: ignore[arg-type]  # zeros for None
        found = self.derivatives(found) if self.has_guests else trees.unflatten(self.shape, found)
        return found, differentiable

    def pull(self, outputs: Sequence[Any], seeds: Any, differentiable: bool, **options: Any) -> Any:
        """The gradients, in the structure of the chosen arguments."""
        return self.derivatives(self.pull_leaves(outputs, seeds, differentiable, **options))

    def pull_leaves(self, outputs: Sequence[Any], seeds: Any, differentiable: bool, **options: Any) -> Sequence[Any]:
        """The gradients, one tensor per leaf."""
        wanted = [(y, s) for y, s in zip(outputs, seeds, strict=True) if node_of(y) is not None]
        if wanted and self.fresh:
            ends, weights = zip(*wanted, strict=True)
            found, _ = gradient.differentiate(
                ends, self.fresh, weights, create_graph=differentiable, materialize_grads=True, **options
            )
        else:
            found = tuple(zeros_like(x) for x in self.fresh)
        return found

    def pull_rows(self, output: Tensor, seeds: Tensor, differentiable: bool) -> tuple[Tensor | None, ...]:
        """The gradients for a batch of seeds, one per leaf; None where the output does not depend on it."""
        return gradient.differentiate(
            output, self.fresh, seeds, retain_graph=True, create_graph=differentiable, allow_unused=True,
            is_grads_batched=True,
        )[0]  # fmt: skip


def hold_constant(own: Sequence[Tensor]) -> None:
    """Let no other transform take these for something to differentiate with respect to."""
    _constants.update(node for node in map(node_of, own) if type(node) is Leaf)


def check_outputs(who: str, outs: Sequence[Any]) -> None:
    """Raise unless a function returned tensors only."""
    for y in outs:
        if not isinstance(y, Tensor):
            raise TypeError(f"{who}: the function returned a {type(y).__name__}, expected tensors only")


def _cut(y: Tensor) -> Tensor:
    made: Tensor = box(y.array)  # unlike detach it keeps tangents: those of outer transforms
    return made


def run(func: Callable[..., Any], inputs: Inputs, kwargs: dict[str, Any], has_aux: bool, who: str) -> tuple[Any, Any]:
    """Call the function on the inputs; the result and what comes beside it."""
    before = recording.get()
    if not before.recording:  # be it for no_grad, or for inference mode
        recording.set(Recording(True, None))
    try:
        result = func(*inputs.args, **kwargs)
    finally:
        recording.set(before)
    if inputs.has_guests:  # they were made for this call: to others they are numbers
        hold_constant(inputs.fresh)
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(f"{who}: with has_aux the function returns (output, aux), not {type(result).__name__}")
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
        y, aux, found, differentiable, inputs = _differentiated(func, argnums, has_aux, args, kwargs)
        value = y if differentiable else _cut(y)
        if inputs.has_guests:
            value = guests.value(inputs.given, value)
        return ((value, aux) if has_aux else value), found

    return value_and_gradient


def _differentiated(
    func: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Tensor, Any, Any, bool, Inputs]:
    """The value of a function, what comes beside it, the gradient, whether that may be differentiated, and inputs."""
    inputs = Inputs("grad", args, argnums)
    y, aux = run(func, inputs, kwargs, has_aux, "grad")
    if not isinstance(y, Tensor):
        raise TypeError(f"grad: the function returned a {type(y).__name__}, expected a tensor with one element")
    if y.array.shape != () and y.size != 1:
        raise RuntimeError(
            f"grad: the function returned a tensor of shape {y.shape}, expected one element; "
            f"reduce it, or use vjp or jacrev"
        )
    retain = None
    if has_aux:  # whose history may share nodes with that of the value: the walk must not free them then
        aux = inputs.release(aux)
        retain = any(isinstance(a, Tensor) and node_of(a) is not None for a in trees.flatten(aux)[0]) or None
    found, differentiable = inputs.pull_one(y, retain)
    return y, aux, found, differentiable, inputs


def grad_and_value(
    func: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The same as `value_and_grad` with the gradient first, as PyTorch has it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.func.grad_and_value(lambda x: (x**3).sum())(lg.tensor([1.0, 2.0]))
    (tensor([ 3., 12.]), tensor(9.))
    """
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
        A function of trees of tensors that returns one number. Python's floating-point numbers and arrays of NumPy
        and CuPy may take the place of tensors: the function is given tensors, and derivatives are what was given.
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
        _, aux, found, _, _ = _differentiated(func, argnums, has_aux, args, kwargs)
        return (found, aux) if has_aux else found

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
    if not primals:
        raise ValueError("vjp: expected at least one primal")
    inputs = Inputs("vjp", primals, tuple(range(len(primals))))
    y, aux = run(func, inputs, {}, has_aux, "vjp")
    outs, outer = trees.flatten(y)
    check_outputs("vjp", outs)
    differentiable = inputs.reach_outside(outs)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        seeds = trees.leaves_like(outer, cotangents)
        if seeds is None:
            given = trees.flatten(cotangents)[1]
            raise ValueError(f"vjp: the cotangents have the structure {given}, the outputs {outer}")
        seeds = guests.welcomed("vjp", seeds, outs)
        if create_graph is None:
            seeds_count = any(isinstance(s, Tensor) and node_of(s) is not None for s in seeds)
            create_graph = (differentiable or seeds_count) and state.recording
        if create_graph:
            hold_constant(inputs.fresh)
        return inputs.pull(outs, seeds, create_graph, retain_graph=retain_graph)

    value = inputs.release(y, differentiable)
    return (value, pull, inputs.release(aux)) if has_aux else (value, pull)
