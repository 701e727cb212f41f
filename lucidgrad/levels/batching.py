"""The batch level: an array that stands for many, and how primitives run on all of them at once.

A `Batched` array keeps the batch axis first and hides it: shape, axes and rules speak of one example.
"""

import functools
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core import device, dispatch
from lucidgrad.core.modes import state
from lucidgrad.core.primitive import ELEMENTWISE, LINEAR, MATRIX, Primitive, primitive, registry

from .layer import Layer, LayerBackend, Level, check_alive, filled, namespace, newer, run, structural

#: Primitives that ran example by example for want of a batching rule (they warn once).
loops: set[str] = set()


class Batched(Layer):
    """Arrays of one shape, stacked along a hidden first axis."""

    __slots__ = ("value",)

    def __init__(self, value: Any, level: Any, outside: bool = False) -> None:
        self.value, self.level, self.outside = value, level, outside

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.value,)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape[1:]

    dtype = property(operator.attrgetter("value.dtype"))  # which is quicker than a function of Python

    @property
    def levels(self) -> tuple[tuple[int, int | None], ...]:
        return super().levels if isinstance(self.value, Layer) else ((self.level, self.value.shape[0]),)

    @property
    def spread(self) -> int:  # type: ignore[override]
        return self.value.shape[0]

    def map(self, function: Callable[[Any], Any]) -> "Batched":
        return Batched(function(self.value), self.level, self.outside)

    def write(self, value: Any) -> None:
        below = namespace.leave_level(value, level=self.level, size=self.spread)
        device.by_array[type(self.value)].write(self.value, ..., below)

    def filled(self, value: Any, make: Callable[..., Any]) -> "Batched":
        return Batched(filled(self.value, value, make), self.level)

    def __repr__(self) -> str:
        return f"Batched(level={self.level}, size={self.value.shape[0]}, of={self.value!r})"


# -- running a primitive -------------------------------------------------------------------------
def interpreter(primitive: Primitive) -> Callable[..., Any]:
    """How a primitive runs on arguments of which some are batched: peel the newest level, compute, wrap."""

    def call(*values: Any, **keywords: Any) -> Any:
        return dispatch.compute(primitive, values, keywords)

    rule = primitive.batch
    if rule is None and (primitive.kind is ELEMENTWISE or primitive.kind is MATRIX):
        rule = _aligned
    elif rule is None and "axis" in primitive.keywords and len(primitive.arrays) == 1 and not primitive.variadic:
        rule = shift_axis
    elif rule is None:
        rule = functools.partial(_loop, primitive)

    def run_batched(*args: Any, **keywords: Any) -> Any:
        level: Any = 0
        for a in args:
            if type(a) is Batched and a.level > level:
                level = a.level
        if level.ended:
            check_alive(level, state.walking)
        values, batched, outside = [], [], False
        for a in args:
            if type(a) is Batched and a.level == level:
                values.append(a.value)
                batched.append(True)
                outside = outside or a.outside
            else:
                values.append(a)
                batched.append(False)
        y = rule(call, values, batched, keywords)
        return tuple(Batched(part, level, outside) for part in y) if primitive.outputs else Batched(y, level, outside)

    if rule is not _aligned or primitive.outputs or primitive.variadic or len(primitive.arrays) > 2:
        return run_batched

    # The same in short for one input or two of one level whose axes are aligned as they are.
    def run_one(a: Any, **keywords: Any) -> Any:
        if a.level.ended:
            return run_batched(a, **keywords)
        return Batched(dispatch.compute(primitive, (a.value,), keywords), a.level, a.outside)

    def run_two(a: Any, b: Any = None, **keywords: Any) -> Any:
        if type(a) is type(b):
            x, z, level, outside = a.value, b.value, a.level, a.outside or b.outside
            fits = b.level is level and len(x.shape) == len(z.shape)
        elif type(a) is Batched:
            x, z, level, outside = a.value, b, a.level, a.outside
            fits = len(getattr(b, "shape", ())) < len(x.shape)
        else:
            x, z, level, outside = a, b.value, b.level, b.outside
            fits = len(getattr(a, "shape", ())) < len(z.shape)
        if level.ended or not fits:
            return run_batched(a, b, **keywords)
        return Batched(dispatch.compute(primitive, (x, z), keywords), level, outside)

    return run_one if len(primitive.arrays) == 1 else run_two


def _aligned(call: Callable[..., Any], values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    return call(*align(values, batched), **keywords)


def align(values: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    """Put ones after the batch axis so that arguments of several ranks broadcast as their examples do."""
    ranks = [len(v.shape) - b if hasattr(v, "shape") else -1 for v, b in zip(values, batched, strict=True)]
    rank = max(ranks)
    return [
        run("reshape", v, shape=(v.shape[0], *(1,) * (rank - own), *v.shape[1:])) if b and own < rank else v
        for v, b, own in zip(values, batched, ranks, strict=True)
    ]


def shift_axis(
    call: Callable[..., Any], values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]
) -> Any:
    """Batching for primitives with an ``axis``: one further to the right, the batch axis being hidden."""
    values = of_one_batch(values, batched)
    rank = len(values[0].shape) - 1
    return call(*values, **{**keywords, "axis": shifted(keywords["axis"], rank)})


def shifted(axis: Any, rank: int) -> Any:
    """Axes of an example of this rank as axes of the whole batch."""
    if axis is None:
        return tuple(range(1, rank + 1))
    if isinstance(axis, (tuple, list)):
        return tuple(shifted(a, rank) for a in axis)
    axis = operator.index(axis)
    if not -max(rank, 1) <= axis < max(rank, 1):
        raise IndexError(f"axis {axis} is out of range for an array of dimension {rank}")
    return axis % max(rank, 1) + 1


def of_one_batch(values: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    """Give every array a batch axis."""
    size = next(v.shape[0] for v, b in zip(values, batched, strict=True) if b)
    return [
        v if b or not hasattr(v, "shape") else run("broadcast_to", v, shape=(size, *v.shape))
        for v, b in zip(values, batched, strict=True)
    ]


def _loop(
    primitive: Primitive,
    call: Callable[..., Any],
    values: Sequence[Any],
    batched: Sequence[bool],
    keywords: dict[str, Any],
) -> Any:
    if primitive.name not in loops:
        loops.add(primitive.name)
        warnings.warn(f"{primitive.name} has no batching rule: it runs example by example", stacklevel=2)
    size = next(v.shape[0] for v, b in zip(values, batched, strict=True) if b)
    rows = [
        call(*(run("index", v, key=(k,)) if b else v for v, b in zip(values, batched, strict=True)), **keywords)
        for k in range(size)
    ]
    if primitive.outputs:
        return tuple(run("stack", *parts, axis=0) for parts in zip(*rows, strict=True))
    return run("stack", *rows, axis=0)


def through_program(name: str) -> Callable[..., Any]:
    """Batching for primitives whose program is made of primitives: it runs on the batched values."""

    def batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
        size = next(v.shape[0] for v, b in zip(values, batched, strict=True) if b)
        with Level(name) as level:
            given = [Batched(v, level) if b else v for v, b in zip(values, batched, strict=True)]
            y = registry[name].program(namespace, *given, **keywords)
            parts = [namespace.leave_level(part, level=level, size=size) for part in (y if type(y) is tuple else (y,))]
        return tuple(parts) if type(y) is tuple else parts[0]

    return batch


# Three primitives that act on levels instead of running inside them, so that the tape can record them. Levels that
# are newer than the one they act on are outside of it: they are looked through.
structural.update(("enter_level", "leave_level", "sum_level"))


@primitive(LINEAR, vjp=lambda xp, g, *, level, size: xp.leave_level(g, level=level, size=size))
def enter_level(xp: Any, x: Any, /, *, level: int, size: int, outside: bool = False) -> Any:
    """See the first axis of an array as a batch."""
    if not newer(x, level):
        return Batched(x, level, outside)
    if type(x) is Batched:  # the outer batch stays first
        x = x.map(lambda part: run("moveaxis", part, source=1, destination=0))
    return x.map(lambda part: namespace.enter_level(part, level=level, size=size, outside=outside))


@primitive(LINEAR, vjp=lambda xp, g, *, level, size: xp.enter_level(g, level=level, size=size, outside=True))
def leave_level(xp: Any, x: Any, /, *, level: int, size: int) -> Any:
    """The inverse of `enter_level`; what does not depend on the level is repeated."""
    if not newer(x, level):
        if isinstance(x, Batched) and x.level == level:
            return x.value
        return run("broadcast_to", x, shape=(size, *x.shape))
    y = x.map(lambda part: namespace.leave_level(part, level=level, size=size))
    if type(y) is Batched:  # the outer batch stays first
        y = y.map(lambda part: run("moveaxis", part, source=1, destination=0))
    return y


def _all_alike(xp: Any, g: Any, *, level: Any, size: int) -> Any:
    g = xp.broadcast_to(g, shape=(size, *g.shape))
    return xp.enter_level(g, level=level, size=size, outside=True)


@primitive(LINEAR, vjp=_all_alike)
def sum_level(xp: Any, x: Any, /, *, level: int, size: int) -> Any:
    """Sum over one level."""
    if newer(x, level):
        return x.map(lambda part: namespace.sum_level(part, level=level, size=size))
    return run("sum", x.value, axis=0)


LayerBackend("batch", Batched, interpreter)
