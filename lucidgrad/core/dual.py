"""Forward mode: dual numbers as a level, and the forward rule of one primitive.

A `Dual` array carries a tangent beside its value; every primitive maps both. A primitive's own forward rule is used
where it declares one. Otherwise elementwise primitives reuse their VJP rules (their Jacobian is diagonal, so it is its
own transpose), linear ones apply themselves to the tangents, and all others transpose their VJP: it is linear in its
seed, and the tape differentiates it.
"""

import functools
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

from . import device, dispatch
from .dispatch import box, complexes, floats, raw
from .engine import Plan, Walk, fit, tape_namespace
from .levels import Layer, LayerBackend, Level, check_alive, filled, is_outside, namespace, newer, run, structural
from .modes import state, switch
from .primitive import ELEMENTWISE, LINEAR, Primitive, joint, meta_of, primitive
from .tape import Leaf


class Dual(Layer):
    """A value and its tangent; no tangent means zero.

    Cotangents of dual values are dual numbers, too. If a walk came from outside the level, it came through
    `primal_part` or `tangent_part`, and the roles are swapped: the first part is the cotangent of the tangent, the
    second that of the value. (The pairing of ``(a, b)`` with ``(p, t)`` is the dual part of their product,
    ``a·t + b·p``, so rules need not know.) Rules are linear in their cotangent, so what is computed from such a one
    is such a one.
    """

    __slots__ = ("primal", "tangent")

    def __init__(self, primal: Any, tangent: Any, level: Level, outside: bool = False) -> None:
        self.primal, self.tangent, self.level, self.outside = primal, tangent, level, outside

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.primal,) if self.tangent is None else (self.primal, self.tangent)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.primal.shape

    @property
    def dtype(self) -> Any:
        return self.primal.dtype

    @property
    def levels(self) -> tuple[tuple[int, int | None], ...]:
        nested = isinstance(self.primal, Layer) or isinstance(self.tangent, Layer)
        return super().levels if nested else ((self.level, None),)

    def map(self, function: Any) -> "Dual":
        tangent = None if self.tangent is None else function(self.tangent)
        return Dual(function(self.primal), tangent, self.level, self.outside)

    @property
    def whole(self) -> bool:
        return self.tangent is not None

    def split(self, value: Any) -> tuple[Any, ...]:
        return tuple(_part_of(value, self.level, name) for name in ("primal_part", "tangent_part"))

    def filled(self, value: Any, make: Callable[..., Any]) -> "Dual":
        tangent = None if self.tangent is None else filled(self.tangent, 0, make)
        return Dual(filled(self.primal, value, make), tangent, self.level)

    def __repr__(self) -> str:
        return f"Dual(level={self.level}, {self.primal!r}, tangent={self.tangent!r})"


def interpreter(primitive: Primitive) -> Callable[..., Any]:
    """How a primitive runs on dual numbers: its value one level down, and the tangent by its forward rule."""
    moves = bool(primitive.jvp or primitive.joint or primitive.differentiable)
    forward, compute = forward_rule(primitive), dispatch.compute

    def run_dual(*args: Any, **keywords: Any) -> Any:
        level: Any = None
        for a in args:
            if type(a) is Dual and a.level is not level:
                level = a.level if level is None else max(level, a.level)
        if level.ended:
            if level.forgets and state.walking is None:
                args = tuple(a.primal if type(a) is Dual and a.level is level else a for a in args)
                return compute(primitive, args, keywords)
            check_alive(level, state.walking)
        xs, ts, outside, still = [], [], False, True
        for a in args:
            if type(a) is Dual and a.level is level:
                xs.append(a.primal)
                ts.append(a.tangent)
                still = still and a.tangent is None
                outside = outside or a.outside
            else:
                xs.append(a)
                ts.append(None)
        y = compute(primitive, xs, keywords)
        still = still or not moves
        if not primitive.outputs:
            if y.dtype not in floats:
                return y
            return Dual(y, None if still else _tangent(forward, y, xs, ts, keywords), level, outside)
        still = still or all(part.dtype not in floats for part in y)
        t = [None] * len(y) if still else _tangent(forward, y, xs, ts, keywords)
        return tuple(Dual(a, b, level, outside) if a.dtype in floats else a for a, b in zip(y, t, strict=True))

    if primitive.outputs or primitive.variadic or len(primitive.arrays) > 2:
        return run_dual

    def run_one(a: Any, **keywords: Any) -> Any:
        x, t = a.primal, a.tangent
        xp = _on_host(type(x), type(t))  # type: ignore[arg-type]  # a type has a hash
        if xp is None or a.level.ended or not moves:
            return run_dual(a, **keywords)
        y = compute(primitive, (x,), keywords)
        return Dual(y, forward(xp, y, (x,), (t,), keywords), a.level, a.outside) if y.dtype in floats else y

    def run_two(a: Any, b: Any = None, **keywords: Any) -> Any:
        if type(a) is not Dual or type(b) is not Dual or a.level is not b.level or a.level.ended or not moves:
            return run_dual(a, b, **keywords)
        xs, ts = (a.primal, b.primal), (a.tangent, b.tangent)
        xp = _on_host(*map(type, xs), *map(type, ts))
        if xp is None:
            return run_dual(a, b, **keywords)
        y = compute(primitive, xs, keywords)
        outside = a.outside or b.outside
        return Dual(y, forward(xp, y, xs, ts, keywords), a.level, outside) if y.dtype in floats else y

    return run_one if len(primitive.arrays) == 1 else run_two


@functools.cache
def _on_host(*kinds: type) -> Any:
    """The namespace for values and tangents of these types, if they are raw arrays of one kind that has no streams."""
    kind, tangents = kinds[0], kinds[len(kinds) // 2 :]
    home = device.by_array[kind]
    simple = home.rank == 0 and kind not in device.places and {kind} == {*kinds} - {NoneType} and kind in tangents
    return home.xp if simple else None


def _tangent(
    forward: Callable[..., Any], y: Any, xs: Sequence[Any], ts: Sequence[Any], keywords: dict[str, Any]
) -> Any:
    """By the forward rule; it computes with a device's own namespace where all arrays are raw ones of it."""
    home, first = dispatch.home_of(*map(type, xs), *map(type, ts))
    if home is None or home.rank:
        return forward(namespace, y, xs, ts, keywords)
    if not device.places:
        return forward(home.xp, y, xs, ts, keywords)
    with home.at((*xs, *ts)[first]):
        return forward(home.xp, y, xs, ts, keywords)


# Primitives that put dual numbers together and take them apart, so that the tape can record it. Newer levels are
# outside of theirs: they are looked through.
structural.update(("make_dual", "primal_part", "tangent_part"))


def _parts_from(xp: Any, g: Any, *, level: int) -> tuple[Any, Any]:
    first = xp.primal_part(g, level=level)
    if is_outside(raw(g), level):
        return xp.tangent_part(g, level=level), first
    return g, xp.make_dual(xp.zeros_like(first), first, level=level)


@primitive(LINEAR, vjp=joint(_parts_from))
def make_dual(xp: Any, x: Any, t: Any, /, *, level: Level, outside: bool = False) -> Any:
    """A dual number from its value and its tangent."""
    above = [a for a in (x, t) if newer(a, level)]
    if not above:
        return Dual(x, t, level, outside)
    outer = max(above, key=lambda a: a.level)
    entered = any(a.outside for a in above if a.level == outer.level)
    if type(outer) is Dual:
        pairs = [[_part_of(a, outer.level, name) for a in (x, t)] for name in ("primal_part", "tangent_part")]
        primal, tangent = (namespace.make_dual(*pair, level=level, outside=outside) for pair in pairs)
        return Dual(primal, tangent, outer.level, entered)
    parts = [namespace.leave_level(a, level=outer.level, size=outer.spread) for a in (x, t)]
    made = namespace.make_dual(*parts, level=level, outside=outside)
    return namespace.enter_level(made, level=outer.level, size=outer.spread, outside=entered)


def _part_of(x: Any, level: int, name: str) -> Any:
    if newer(x, level):
        return x.map(lambda part: _part_of(part, level, name))
    if type(x) is not Dual or x.level != level:
        return x if name == "primal_part" else run("zeros_like", x)
    if name == "primal_part":
        return x.primal
    return run("zeros_like", x.primal) if x.tangent is None else x.tangent


@primitive(LINEAR, vjp=lambda xp, g, *, level: xp.make_dual(xp.zeros_like(g), g, level=level, outside=True))
def primal_part(xp: Any, x: Any, /, *, level: int) -> Any:
    """The value of a dual number."""
    return _part_of(x, level, "primal_part")


@primitive(LINEAR, vjp=lambda xp, g, *, level: xp.make_dual(g, xp.zeros_like(g), level=level, outside=True))
def tangent_part(xp: Any, x: Any, /, *, level: int) -> Any:
    """The tangent of a dual number."""
    return _part_of(x, level, "tangent_part")


def has_tangent(array: Any) -> bool:
    """Whether an array carries a tangent at any level."""
    return isinstance(array, Layer) and (type(array) is Dual or any(map(has_tangent, array.parts)))


def without_tangents(array: Any) -> Any:
    """The value alone, at every level."""
    if not isinstance(array, Layer):
        return array
    return without_tangents(array.primal) if type(array) is Dual else array.map(without_tangents)


LayerBackend("dual", Dual, interpreter)
dispatch.bind(Dual=Dual)


# -- one primitive -------------------------------------------------------------------------------
def jvp(primitive: Primitive, xp: Any, y: Any, xs: Sequence[Any], ts: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The tangent of ``y = primitive(*xs, **keywords)`` for tangents ``ts`` (None: zero) of its inputs.

    Computes with the namespace ``xp`` that fits the arrays: a back end's for raw ones, the tape's for tensors.
    """
    return forward_rule(primitive)(xp, y, xs, ts, keywords)


def forward_rule(primitive: Primitive) -> Callable[..., Any]:
    """``(xp, y, xs, ts, keywords) -> tangent``: the primitive's own rule, or the one that follows from its kind."""
    if primitive.jvp is not None:
        rule: Any = primitive.jvp
        return lambda xp, y, xs, ts, keywords: rule(xp, y, tuple(xs), tuple(ts), **keywords)
    if primitive.kind is ELEMENTWISE:
        return _diagonal(primitive)
    follow = _itself if primitive.kind is LINEAR else _transposed

    def following(xp: Any, y: Any, xs: Sequence[Any], ts: Sequence[Any], keywords: dict[str, Any]) -> Any:
        return _zero(xp, y) if all(t is None for t in ts) else follow(primitive, xp, y, xs, ts, keywords)

    return following


def _zero(xp: Any, y: Any) -> Any:
    return tuple(map(xp.zeros_like, y)) if isinstance(y, tuple) else xp.zeros_like(y)


def _diagonal(primitive: Primitive) -> Callable[..., Any]:
    """The sum over the inputs of their VJP rules, given the tangents as cotangents."""
    pushes = {i: primitive.recipe((i,)).push(i, _meta) for i in primitive.differentiable}

    def forward(xp: Any, y: Any, xs: Sequence[Any], ts: Sequence[Any], keywords: dict[str, Any]) -> Any:
        total: Any = None
        for i, push in pushes.items():
            if i < len(ts) and ts[i] is not None:
                part = push(xp, ts[i], y, xs, keywords)
                total = part if total is None else total + part
        if total is None:
            return xp.zeros_like(y)
        total = total if total.shape == y.shape else xp.broadcast_to(total, shape=tuple(y.shape))
        return total if total.dtype == y.dtype else xp.astype(total, dtype=y.dtype)

    return forward


def _itself(
    primitive: Primitive, xp: Any, y: Any, xs: Sequence[Any], ts: Sequence[Any], keywords: dict[str, Any]
) -> Any:
    fixed = [i not in primitive.differentiable and not primitive.variadic for i in range(len(xs))]
    args = [
        t if t is not None else x if x is None or keep else xp.zeros_like(x)
        for x, t, keep in zip(xs, ts, fixed, strict=True)
    ]
    return getattr(xp, primitive.name)(*args, **keywords)


def _transposed(
    primitive: Primitive, xp: Any, y: Any, xs: Sequence[Any], ts: Sequence[Any], keywords: dict[str, Any]
) -> Any:
    """Record the VJP as a function of its seed, then walk it backwards from the tangents."""
    outer = next(a for a in (*xs, *ts) if a is not None and not isinstance(a, (int, float, complex)))
    on_tape = type(outer) not in device.by_array  # tensors: the result is differentiable in its turn
    wanted = tuple(
        i for i in range(len(xs)) if ts[i] is not None and (primitive.variadic or i in primitive.differentiable)
    )
    if not wanted:
        return _zero(xp, y)
    recipe = primitive.recipe(() if primitive.variadic else wanted)
    boxed = [_boxed(x) for x in xs]
    ys = tuple(map(_boxed, y)) if primitive.outputs else (_boxed(y),)
    before = state.recording, state.fresh
    switch(True, None)
    try:
        seeds = tuple(box(_zeros(part.array)) for part in ys)
        for seed in seeds:
            seed._node = Leaf(seed)
        saved = recipe.save(ys if primitive.outputs else ys[0], boxed, keywords, _meta)
        g = seeds if primitive.outputs else seeds[0]
        if recipe.joint is not None:
            found = recipe.joint(tape_namespace, g, saved)
            cts = {i: found[i] for i in wanted}
        else:
            cts = {i: pull(tape_namespace, g, saved) for i, pull in recipe.pulls}
        ends = []
        for i, ct in cts.items():
            if ct is not None:
                array = boxed[i].array
                ct = fit(tape_namespace, ct, (array.shape, array.dtype, ()))
                if ct._node is not None:
                    ends.append((ct._node, _conj(xp, ts[i])))  # walks speak of gradients, conjugates of cotangents
        plan = Plan([node for node, _ in ends], [seed._node for seed in seeds])
        walk = Walk(plan, create_graph=on_tape, retain_graph=on_tape)
        walk.run(ends)
    finally:
        switch(*before)
    parts = [
        _conj(xp, walk.arrived[seed._node]) if seed._node in walk.arrived else xp.zeros_like(part)
        for seed, part in zip(seeds, y if primitive.outputs else (y,), strict=True)
    ]
    return tuple(parts) if primitive.outputs else parts[0]


def _zeros(array: Any) -> Any:
    return device.by_array[type(array)].xp.zeros_like(array)


def _conj(xp: Any, t: Any) -> Any:
    return xp.conj(t) if raw(t).dtype in complexes else t


def _boxed(x: Any) -> Any:
    return box(x) if type(x) in device.by_array else x


def _meta(x: Any) -> Any:
    return meta_of(raw(x))
