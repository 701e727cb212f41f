"""Forward mode: dual numbers as a level, and the forward rule of one primitive.

A `Dual` array carries a tangent beside its value; every primitive maps both. A primitive's own forward rule is used
where it declares one. Otherwise elementwise primitives reuse their VJP rules (their Jacobian is diagonal, so it is its
own transpose), linear ones apply themselves to the tangents, and all others transpose their VJP: it is linear in its
seed, and the tape differentiates it.
"""

from collections.abc import Sequence
from typing import Any

from . import device, dispatch
from .dispatch import box, complexes, floats
from .engine import Plan, Walk, fit, tape_namespace
from .levels import Layer, LayerBackend, Level, check_alive, is_outside, namespace, newer, run, structural
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

    def map(self, function: Any) -> "Dual":
        tangent = None if self.tangent is None else function(self.tangent)
        return Dual(function(self.primal), tangent, self.level, self.outside)

    def __repr__(self) -> str:
        return f"Dual(level={self.level}, {self.primal!r}, tangent={self.tangent!r})"


def interpret(primitive: Primitive, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Run a primitive on dual numbers: its value one level down, and the tangent by its forward rule."""
    level = max(a.level for a in args if type(a) is Dual)
    if level.ended and level.forgets and state.walking is None:
        args = [a.primal if type(a) is Dual and a.level == level else a for a in args]
        return dispatch.compute(primitive, args, keywords)
    check_alive(level, state.walking)
    dual = [type(a) is Dual and a.level == level for a in args]
    xs = [a.primal if d else a for a, d in zip(args, dual, strict=True)]
    ts = [a.tangent if d else None for a, d in zip(args, dual, strict=True)]
    y = dispatch.compute(primitive, xs, keywords)
    ys = y if primitive.outputs else (y,)
    moves = any(t is not None for t in ts) and (primitive.jvp or primitive.joint or primitive.differentiable)
    t = None
    if moves and any(part.dtype in floats for part in ys):
        t = _tangent(primitive, y, xs, ts, keywords)
    outside = any(a.outside for a, d in zip(args, dual, strict=True) if d)
    parts = (t if primitive.outputs else (t,)) if t is not None else [None] * len(ys)
    out = [Dual(a, b, level, outside) if a.dtype in floats else a for a, b in zip(ys, parts, strict=True)]
    return tuple(out) if primitive.outputs else out[0]


def _tangent(primitive: Primitive, y: Any, xs: Sequence[Any], ts: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """By the forward rule; it computes with a device's own namespace where all arrays are raw ones of it."""
    homes = {device.by_array[type(a)]: a for a in (*xs, *ts) if type(a) in device.by_array}
    home, array = next(iter(homes.items()))
    if len(homes) > 1 or home.rank:
        return jvp(primitive, namespace, y, xs, ts, keywords)
    with home.at(array):
        return jvp(primitive, home.xp, y, xs, ts, keywords)


# Primitives that put dual numbers together and take them apart, so that the tape can record it. Newer levels are
# outside of theirs: they are looked through.
structural.update(("make_dual", "primal_part", "tangent_part"))


def _parts_from(xp: Any, g: Any, *, level: int) -> tuple[Any, Any]:
    first = xp.primal_part(g, level=level)
    if is_outside(_raw(g), level):
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


LayerBackend("dual", Dual, interpret)
dispatch.bind(Dual=Dual)


def _raw(x: Any) -> Any:
    return x if type(x) in device.by_array else x.array


# -- one primitive -------------------------------------------------------------------------------
def jvp(primitive: Primitive, xp: Any, y: Any, xs: Sequence[Any], ts: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The tangent of ``y = primitive(*xs, **keywords)`` for tangents ``ts`` (None: zero) of its inputs.

    Computes with the namespace ``xp`` that fits the arrays: a back end's for raw ones, the tape's for tensors.
    """
    if primitive.jvp is not None:
        return primitive.jvp(xp, y, tuple(xs), tuple(ts), **keywords)
    if all(t is None for t in ts):
        return _zero(xp, y)
    if primitive.kind is ELEMENTWISE:
        return _diagonal(primitive, xp, y, xs, ts, keywords)
    if primitive.kind is LINEAR:
        return _itself(primitive, xp, xs, ts, keywords)
    return _transposed(primitive, xp, y, xs, ts, keywords)


def _zero(xp: Any, y: Any) -> Any:
    return tuple(map(xp.zeros_like, y)) if isinstance(y, tuple) else xp.zeros_like(y)


def _diagonal(
    primitive: Primitive, xp: Any, y: Any, xs: Sequence[Any], ts: Sequence[Any], keywords: dict[str, Any]
) -> Any:
    """The sum over the inputs of their VJP rules, given the tangents as cotangents."""
    total = None
    for i, t in enumerate(ts):
        if t is None or i not in primitive.differentiable:
            continue
        recipe = primitive.recipe((i,))
        saved = recipe.save(y, xs, keywords, _meta)
        pulled = (recipe.joint or recipe.pulls[0][1])(xp, t, saved)
        part = pulled[i] if recipe.joint else pulled
        total = part if total is None else total + part
    if total is None:
        return xp.zeros_like(y)
    total = total if total.shape == y.shape else xp.broadcast_to(total, shape=tuple(y.shape))
    return total if total.dtype == y.dtype else xp.astype(total, dtype=y.dtype)


def _itself(primitive: Primitive, xp: Any, xs: Sequence[Any], ts: Sequence[Any], keywords: dict[str, Any]) -> Any:
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
    return xp.conj(t) if _raw(t).dtype in complexes else t


def _boxed(x: Any) -> Any:
    return box(x) if type(x) in device.by_array else x


def _meta(x: Any) -> Any:
    return meta_of(_raw(x))
