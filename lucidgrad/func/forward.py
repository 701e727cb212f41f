"""Forward mode as functions of functions: `jvp` and `linearize`."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.autograd import grad
from lucidgrad.core import device
from lucidgrad.core.dispatch import box, floats, node_of, settle
from lucidgrad.core.modes import recorded, state, unusual
from lucidgrad.creation import zeros_like
from lucidgrad.levels.dual import Dual, make_dual, primal_part, tangent_part
from lucidgrad.levels.layer import Level
from lucidgrad.tensor import Tensor

from . import guests, trees
from .reverse import Inputs, check_outputs, hold_constant, run

_array_of = operator.attrgetter("array")


def _check(who: str, primals: Any, tangents: Any) -> tuple[list[Any], list[Any], list[Any], Any]:
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise TypeError(f"{who}: primals and tangents are tuples with one entry per argument, e.g. (x,)")
    given, shape = trees.flatten(primals)
    if not given:
        raise ValueError(f"{who}: expected at least one primal")
    xs = guests.welcomed(who, given)
    return given, xs, _tangents(who, xs, shape, tangents), shape


def _tangents(who: str, xs: Sequence[Any], shape: trees.Shape, given: Any) -> list[Any]:
    """The leaves of the given tangents in the order of the primals."""
    ts = trees.leaves_like(shape, given)
    if ts is None:
        raise ValueError(
            f"{who}: the primals have the structure {shape}, the tangents {trees.flatten(given)[1]}; expected the same"
        )
    ts = guests.welcomed(who, ts, xs)
    check_tangents(f"{who}: tangent {{}}", xs, ts)
    return ts


def check_tangents(who: str, xs: Sequence[Any], ts: Sequence[Any]) -> None:
    """Raise unless each t can be a tangent of its x; ``who`` has a place for the number of the one that can't."""
    for i, (x, t) in enumerate(zip(xs, ts, strict=True)):
        if type(x) is Tensor and type(t) is Tensor:  # the usual case in short: two arrays of one kind that match
            a, b = x.array, t.array
            same = type(a) is type(b) and type(a) not in device.places
            if same and a.dtype is b.dtype and a.shape == b.shape and a.dtype in floats:
                continue
        check_tangent(who.format(i), x, t)


def check_tangent(who: str, x: Any, t: Any) -> None:
    """Raise unless t can be a tangent of x."""
    for what, value in (("primal", x), ("tangent", t)):
        if not isinstance(value, Tensor):
            raise TypeError(f"{who}: the {what} is a {type(value).__name__}, expected a Tensor")
    if x.shape != t.shape:
        raise ValueError(f"{who} has shape {t.shape}, its primal {x.shape}; expected the same")
    if x.dtype != t.dtype:
        raise ValueError(f"{who} has dtype {t.dtype}, its primal {x.dtype}; expected the same")
    if x.device != t.device:
        raise ValueError(f"{who} is on {t.device}, its primal on {x.device}; expected the same")
    if x.array.dtype not in floats:
        raise TypeError(f"{who}: its primal has dtype {x.dtype}, expected floating-point numbers")


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of a function and its derivative in a direction, in one pass and without a graph.

    Parameters
    ----------
    func
        A function of trees of tensors.
    primals, tangents
        Tuples with one entry per argument: where, and in which direction. Numbers and arrays may take the place of
        tensors, as in `grad`; then the results are of their sort.
    strict
        Raise if an output does not depend on the inputs, instead of giving a zero tangent.
    has_aux
        The function returns ``(output, aux)``.

    Returns
    -------
    tuple
        ``(output, tangent)`` or ``(output, tangent, aux)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y, t = lg.func.jvp(lambda x: x**3, (lg.tensor(2.0),), (lg.tensor(1.0),))
    >>> y.item(), t.item()
    (8.0, 12.0)
    """
    given, xs, ts, shape = _check("jvp", primals, tangents)
    with Level("jvp") as level:
        duals = [put_together(x, t, level) for x, t in zip(xs, ts, strict=True)]
        result = func(*trees.unflatten(shape, duals))
        aux = None
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(f"jvp: with has_aux the function returns (output, aux), not {type(result).__name__}")
            result, aux = result
        outs, outer = trees.flatten(result)
        check_outputs("jvp", outs)
        pairs = [take_apart(y, level) for y in outs]
        if strict and any(tangent is None for _, tangent in pairs):
            raise RuntimeError("jvp: an output does not depend on the inputs, and strict=True")
        values = [value for value, _ in pairs]
        moves = [zeros_like(value) if tangent is None else tangent for value, tangent in pairs]
        known = set(map(id, map(_array_of, ts)))
        if not known.isdisjoint(map(id, map(_array_of, moves))):  # who writes into the result means not the tangents
            moves = [t.clone() if id(t.array) in known else t for t in moves]
        if has_aux:
            aux = trees.map(lambda a: take_apart(a, level)[0] if isinstance(a, Tensor) else a, aux)
    if xs is not given:
        values, moves = ([guests.value(given, y) for y in ys] for ys in (values, moves))
    found = trees.unflatten(outer, values), trees.unflatten(outer, moves)
    return (*found, aux) if has_aux else found


def put_together(x: Tensor, t: Tensor, level: Level) -> Tensor:
    """A tensor with a tangent at a new level."""
    if unusual or not (x._node is t._node is x._alias is t._alias is None):
        return make_dual(x, t, level=level)
    made: Tensor = box(Dual(x.array, t.array, level))  # what is not on the tape needs no node
    return made


def take_apart(y: Tensor, level: Level) -> tuple[Tensor, Tensor | None]:
    """The value of a tensor and its tangent at a level, None if it has none."""
    array = y.array
    if type(array) is Dual and array.level is level and node_of(y) is None:
        primal, tangent = array.primal, array.tangent
        if type(tangent) is not type(primal) and tangent is not None:  # a scalar of NumPy, maybe
            tangent = settle(tangent, tangent)
        return box(primal), None if tangent is None else box(tangent)
    if all(number != level for number, _ in getattr(array, "levels", ())):
        return y, None
    return primal_part(y, level=level), tangent_part(y, level=level)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of a function, and its derivative there as a linear function of tangents.

    The function runs once; each call of the result costs about one backward pass.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y, df = lg.func.linearize(lambda x: x**2, lg.tensor([1.0, 3.0]))
    >>> df(lg.tensor([1.0, 1.0])).tolist()
    [2.0, 6.0]
    """
    if not primals:
        raise ValueError("linearize: expected at least one primal")
    inputs = Inputs("linearize", primals, tuple(range(len(primals))))
    xs, shape = inputs.fresh, inputs.shape
    y, _ = run(func, inputs, {}, False, "linearize")
    outs, outer = trees.flatten(y)
    check_outputs("linearize", outs)
    differentiable = inputs.reach_outside(outs)
    with recorded(True):  # what is pulled back is linear in the seeds
        ends = [out for out in outs if node_of(out) is not None]
        seeds = [zeros_like(out).requires_grad_() for out in ends]
        found = grad(ends, inputs.fresh, seeds, create_graph=True, allow_unused=True) if ends and xs else ()
    zeros = [None if node_of(out) is not None else zeros_like(out) for out in outs]

    def push(*tangents: Any) -> Any:
        ts = _tangents("linearize", xs, shape, tangents)
        used = [(g, t) for g, t in zip(found, ts) if g is not None]
        if used:  # J^T is pulled back in its turn, which gives J
            gs, weights = zip(*used, strict=True)
            ways = state.recording and (differentiable or any(node_of(t) is not None for t in weights))
            if ways:
                hold_constant([*inputs.fresh, *seeds])
            pulled = grad(gs, seeds, weights, retain_graph=True, create_graph=ways, materialize_grads=True)
            moves = iter(pulled)
        else:
            moves = iter([zeros_like(out) for out in ends])
        pushed = [next(moves) if zero is None else zero for zero in zeros]
        return trees.unflatten(outer, [guests.value(inputs.given, t) for t in pushed] if inputs.has_guests else pushed)

    return inputs.release(y, differentiable), push
