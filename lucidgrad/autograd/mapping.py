"""`Function`s inside vmap that have a rule of their own for it."""

from collections.abc import Iterator, Sequence
from typing import Any

from lucidgrad.core.dispatch import node_of
from lucidgrad.core.engine import tape_namespace
from lucidgrad.core.modes import state
from lucidgrad.core.primitive import LINEAR, primitive
from lucidgrad.func import trees
from lucidgrad.levels.batching import Batched, enter_level, leave_level
from lucidgrad.levels.layer import Layer, Level, check_alive, draws, structural
from lucidgrad.tensor import Tensor


def _back(xp: Any, g: Any, *, level: Level, size: int, shared: bool) -> Any:
    """A walk that began inside the level goes on inside; one that comes when it has ended came from outside."""
    if shared and level.ended:
        return xp.sum(g, axis=0)
    return xp.enter_level(g, level=level, size=size, outside=level.ended)


@primitive(LINEAR, vjp=_back)
def all_examples(xp: Any, x: Any, /, *, level: Level, size: int, shared: bool = False) -> Any:
    """What stands behind a tensor inside a map, with the examples along the first axis; the walk stays in the map."""
    return leave_level.primitive.program(xp, x, level=level, size=size)  # type: ignore[attr-defined]


structural.add("all_examples")


class _Info:
    """What a vmap rule is told."""

    def __init__(self, batch_size: int, randomness: str) -> None:
        self.batch_size, self.randomness = batch_size, randomness


def newest_map(args: Sequence[Any]) -> tuple[Any, int] | None:
    """The level and the size of the newest map that the value (not just the tangent) of an argument is inside of."""
    return max((pair for a in args if isinstance(a, Tensor) for pair in _maps(a.array)), default=None)


def _maps(array: Any) -> Iterator[tuple[Any, int]]:
    while isinstance(array, Layer):
        if isinstance(array, Batched):
            yield array.level, array.spread
        array = array.front


def mapped(function: Any, args: Sequence[Any], kwargs: dict[str, Any], level: Any, size: int) -> Any:
    """The user's own rule for vmap, given the examples of the newest map along first axes.

    An argument that all examples share counts as mapped, too, if a gradient with respect to it may be asked for: inside
    the map it is one per example.
    """
    check_alive(level, state.walking)
    if kwargs:
        raise TypeError(
            f"{function.__name__}: given the keyword-only arguments {', '.join(kwargs)} inside vmap, expected none: "
            f"its vmap method takes positional ones"
        )
    if function.generate_vmap_rule:
        raise RuntimeError(
            f"{function.__name__} has a vmap method and generate_vmap_rule=True; expected one of them: leave one out"
        )
    given, inside = list(args), [False] * len(args)
    for i, a in enumerate(args):
        shared = not isinstance(a, Tensor) or (level, size) not in getattr(a.array, "levels", ())
        if not shared or (isinstance(a, Tensor) and state.recording and node_of(a) is not None):
            given[i], inside[i] = all_examples(a, level=level, size=size, shared=shared), True
    before, randomness = draws.maps, "error"
    for number, _, how in before:
        randomness = how if number == level else randomness
    draws.maps = tuple(entry for entry in before if entry[0] != level)
    try:
        found = function.vmap(_Info(size, randomness), tuple(0 if own else None for own in inside), *given)
    finally:
        draws.maps = before
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError(
            f"{function.__name__}.vmap returned a {type(found).__name__}, expected (outputs, out_dims): out_dims says "
            f"which axis of the outputs holds the examples"
        )
    result, out_dims = found
    outs, shape = trees.flatten(result)
    places = trees.broadcast_prefix(out_dims, result, f"{function.__name__}.vmap: out_dims")
    return trees.unflatten(shape, [_entered(y, d, level, size) for y, d in zip(outs, places, strict=True)])


def _entered(y: Any, place: int | None, level: Any, size: int) -> Any:
    if place is None or not isinstance(y, Tensor):
        return y
    return enter_level(tape_namespace.moveaxis(y, place, 0) if place else y, level=level, size=size)
