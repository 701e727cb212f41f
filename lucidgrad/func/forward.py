"""Forward mode as functions of functions: `jvp` and `linearize`."""

from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.autograd import grad
from lucidgrad.core.dispatch import bound, box, floats, node_of, settle
from lucidgrad.core.dual import Dual, make_dual, primal_part, tangent_part
from lucidgrad.core.levels import Level
from lucidgrad.core.modes import enable_grad, state, unusual
from lucidgrad.creation import zeros_like
from lucidgrad.tensor import Tensor

from . import trees
from .reverse import vjp


def _check(who: str, primals: Any, tangents: Any) -> tuple[list[Any], list[Any], Any]:
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise TypeError(f"{who}: primals and tangents are tuples with one entry per argument, e.g. (x,)")
    xs, shape = trees.flatten(primals)
    ts, their_shape = trees.flatten(tangents)
    if shape != their_shape:
        raise ValueError(f"{who}: the primals have the structure {shape}, the tangents {their_shape}")
    if not xs:
        raise ValueError(f"{who}: expected at least one primal")
    check_tangents(f"{who}: tangent {{}}", xs, ts)
    return xs, ts, shape


def check_tangents(who: str, xs: Sequence[Any], ts: Sequence[Any]) -> None:
    """Raise unless each t can be a tangent of its x; ``who`` has a place for the number of the one that can't."""
    host = bound["Host"]
    for i, (x, t) in enumerate(zip(xs, ts, strict=True)):
        if type(x) is Tensor and type(t) is Tensor:  # the usual case in short: two arrays of the host that match
            a, b = x.array, t.array
            if type(a) is host and type(b) is host and a.dtype is b.dtype and a.shape == b.shape and a.dtype in floats:
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
        Tuples with one entry per argument: where, and in which direction.
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
    xs, ts, shape = _check("jvp", primals, tangents)
    with Level("jvp") as level:
        duals = [put_together(x, t, level) for x, t in zip(xs, ts, strict=True)]
        result = func(*trees.unflatten(shape, duals))
        aux = None
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(f"jvp: with has_aux the function returns (output, aux), not {type(result).__name__}")
            result, aux = result
        outs, outer = trees.flatten(result)
        for y in outs:
            if not isinstance(y, Tensor):
                raise TypeError(f"jvp: the function returned a {type(y).__name__}, expected tensors only")
        pairs = [take_apart(y, level) for y in outs]
        if strict and any(tangent is None for _, tangent in pairs):
            raise RuntimeError("jvp: an output does not depend on the inputs, and strict=True")
        values = [value for value, _ in pairs]
        moves = [zeros_like(value) if tangent is None else tangent for value, tangent in pairs]
        if has_aux:
            aux = trees.map(lambda a: take_apart(a, level)[0] if isinstance(a, Tensor) else a, aux)
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
    xs, shape = trees.flatten(primals)
    with enable_grad():
        value, pull = vjp(func, *primals)
        outs, outer = trees.flatten(value)
        seeds = [zeros_like(y).requires_grad_() for y in outs]
        found, _ = trees.flatten(pull(trees.unflatten(outer, seeds), create_graph=True))  # linear in the seeds

    def push(*tangents: Any) -> Any:
        ts, their_shape = trees.flatten(tangents)
        if their_shape != shape:
            raise ValueError(f"linearize: the primals have the structure {shape}, the tangents {their_shape}")
        check_tangents("linearize: tangent {}", xs, ts)
        ends = [(g, t) for g, t in zip(found, ts, strict=True) if g.requires_grad]
        if not ends:
            return trees.unflatten(outer, [zeros_like(y) for y in outs])
        gs, weights = zip(*ends, strict=True)
        moves = grad(
            gs, seeds, [t.conj() if t.is_complex() else t for t in weights], retain_graph=True,
            create_graph=state.recording and any(t.requires_grad for t in weights), materialize_grads=True,
        )  # fmt: skip
        return trees.unflatten(outer, [m.conj() if m is not None and m.is_complex() else m for m in moves])

    return value, push
