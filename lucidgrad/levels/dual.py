"""Forward mode: dual numbers as a level, and the forward rule of one primitive.

A `Dual` array carries a tangent beside its value; every primitive maps both. A primitive's own forward rule is used
where it declares one. Otherwise elementwise primitives reuse their VJP rules (their Jacobian is diagonal, so it is its
own transpose), linear ones apply themselves to the tangents, and all others transpose their VJP: it is linear in its
seed, and the tape differentiates it.
"""

import functools
import operator
import weakref
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

from lucidgrad.core import device, dispatch
from lucidgrad.core.dispatch import box, complexes, floats, raw
from lucidgrad.core.engine import Walk, fit, is_outside, tape_namespace
from lucidgrad.core.items import meta_of
from lucidgrad.core.modes import recorded, state
from lucidgrad.core.plan import Plan
from lucidgrad.core.primitive import ELEMENTWISE, LINEAR, Primitive, joint, primitive
from lucidgrad.core.source import run as written_out
from lucidgrad.core.tape import Leaf

from .layer import Layer, LayerBackend, Level, check_alive, filled, namespace, newer, run, structural


class Dual(Layer):
    """A value and its tangent; no tangent means zero.

    Cotangents of dual values are dual numbers, too. If a walk came from outside the level, it came through
    `primal_part` or `tangent_part`, and the roles are swapped: the first part is the cotangent of the tangent, the
    second that of the value. (The pairing of ``(a, b)`` with ``(p, t)`` is the dual part of their product,
    ``a·t + b·p``, so rules need not know.) Rules are linear in their cotangent, so what is computed from such a one
    is such a one.

    Values are written in their memory. Tangents are not, for they may lie elsewhere, have other levels, or belong to
    several values: a write replaces them, in the dual number and in all that are views of the same memory.
    """

    __slots__ = ("__weakref__", "primal", "source", "tangent", "views")
    source: tuple["Dual", Primitive, dict[str, Any]]  # if it is a view: of what, and the step from there
    views: set["weakref.ref[Dual]"]  # if there are views of it

    def __init__(self, primal: Any, tangent: Any, level: Level, outside: bool = False) -> None:
        self.primal, self.tangent = primal, tangent
        self.level, self.outside = level, outside

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.primal,) if self.tangent is None else (self.primal, self.tangent)

    front = property(operator.attrgetter("primal"))  # which is quicker than a function of Python
    shape = property(operator.attrgetter("primal.shape"))
    ndim = property(operator.attrgetter("primal.ndim"))
    dtype = property(operator.attrgetter("primal.dtype"))

    @property
    def levels(self) -> tuple[tuple[int, int | None], ...]:
        nested = isinstance(self.primal, Layer) or isinstance(self.tangent, Layer)
        return super().levels if nested else ((self.level, None),)

    def map(self, function: Any) -> "Dual":
        tangent = None if self.tangent is None else function(self.tangent)
        return Dual(function(self.primal), tangent, self.level, self.outside)

    def write(self, value: Any) -> None:
        primal, tangent = (_part_of(value, self.level, name) for name in ("primal_part", "tangent_part"))
        device.by_array[type(self.primal)].write(self.primal, ..., primal)
        if self.tangent is None and getattr(value, "tangent", None) is None:
            return
        whole, tangent = self, tangent if tangent.dtype == self.dtype else run("astype", tangent, dtype=self.dtype)
        while hasattr(whole, "source"):
            whole, step, keywords = whole.source
            old = _part_of(whole, whole.level, "tangent_part")
            backend, made = device.by_array[type(old)], device.by_array[type(old)].copy(old)
            part = run(step.name, made, **keywords)
            fits = type(part) is type(made) and {*getattr(tangent, "held", ())} <= {*getattr(part, "held", ())}
            if fits and backend.storage(part) is backend.storage(made):  # the short way: write into a copy
                backend.write(part, ..., tangent)
            else:
                made = run("overwrite", old, tangent, steps=((step, keywords, meta_of(whole.primal)),))
            tangent = made
        whole._move(tangent)

    def _move(self, tangent: Any) -> None:
        """Take a tangent, and pass it on to the views."""
        self.tangent = tangent
        for view in [known() for known in tuple(getattr(self, "views", ()))]:
            if view is not None:
                view._move(run(view.source[1].name, tangent, **view.source[2]))

    def filled(self, value: Any, make: Callable[..., Any]) -> "Dual":
        tangent = None if self.tangent is None else filled(self.tangent, 0, make)
        return Dual(filled(self.primal, value, make), tangent, self.level)

    def __repr__(self) -> str:
        return f"Dual(level={self.level}, {self.primal!r}, tangent={self.tangent!r})"


def interpreter(primitive: Primitive) -> Callable[..., Any]:
    """How a primitive runs on dual numbers: its value one level down, and the tangent by its forward rule."""
    if primitive.inline and primitive.jvp is None:
        return functools.partial(primitive.program, namespace)
    moves = bool(primitive.jvp or primitive.joint or primitive.differentiable)

    def run_dual(*args: Any, **keywords: Any) -> Any:
        level: Any = None
        for a in args:
            if type(a) is Dual and a.level is not level:
                level = a.level if level is None else max(level, a.level)
        if level.ended:
            if level.forgets and state.walking is None:
                args = tuple(a.primal if type(a) is Dual and a.level is level else a for a in args)
                return dispatch.compute(primitive, args, keywords)
            check_alive(level, state.walking)
        xs, ts, outside = [], [], False
        for a in args:
            if type(a) is Dual and a.level is level:
                xs.append(a.primal)
                ts.append(a.tangent)
                outside = outside or a.outside
            else:
                xs.append(a)
                ts.append(None)
        y = dispatch.compute(primitive, xs, keywords)
        moving = moves and any(t is not None for t in ts)
        if not primitive.outputs:
            if y.dtype not in floats:
                return y
            return Dual(y, _tangent(primitive, y, xs, ts, keywords) if moving else None, level, outside)
        moving = moving and any(part.dtype in floats for part in y)
        t = _tangent(primitive, y, xs, ts, keywords) if moving else [None] * len(y)
        return tuple(Dual(a, b, level, outside) if a.dtype in floats else a for a, b in zip(y, t, strict=True))

    if primitive.outputs or primitive.variadic or len(primitive.arrays) > 2:
        return functools.partial(primitive.program, namespace) if primitive.view else run_dual  # views one by one
    casts = "dtype" in primitive.keywords  # maybe to integers, which are constants

    @functools.cache
    def find(dtype: Any, *kinds: Any) -> Any:
        """What `run_dual` comes to for values and tangents of these types, the first array being of a dtype.

        ``(table, key, settle, push, xp)``: ``table[key]`` are the kernels, ``push`` is the forward rule, and what it
        computes with. None: the arrays themselves tell what is to be done.
        """
        values, tangents = kinds[: len(kinds) // 2], kinds[len(kinds) // 2 :]
        moving = tuple(i for i, kind in enumerate(tangents) if kind is not NoneType) if moves else ()
        (home, first), (rules, _) = dispatch.home_of(*values), dispatch.home_of(*kinds)
        if home is None or not (home.rank or dtype in floats) or (moving and device.places.keys() & {*kinds}):
            return None
        xp = namespace if rules is None or rules.rank else rules.xp
        push, kind = forward_rule(primitive, moving) if moving else None, values[first]
        if primitive.dtype == "float" and not home.rank:
            primitive.kernels_for(kind, dtype)
            return primitive.by_dtype[kind], dtype, home.settle, push, xp
        primitive.kernels_for(kind)
        return primitive.kernels, kind, home.settle, push, xp

    # The same in short for one input or two of one level.
    def run_one(a: Any, **keywords: Any) -> Any:
        x, t, level = a.primal, a.tangent, a.level
        way = None if level.ended else find(x.dtype, type(x), type(t))  # type: ignore[arg-type]  # types have a hash
        if way is None:
            return run_dual(a, **keywords)
        table, key, settle, push, xp = way
        found = table[key]
        kernel = found.usual if found.limit is None or x.size <= found.limit else found.larger()
        y = kernel(x, **keywords) if keywords else kernel(x)
        y = y if type(y) is type(x) else settle(y)
        if push is None or (casts and y.dtype not in floats):
            return Dual(y, None, level, a.outside) if y.dtype in floats else y
        t = push(xp, y, (x,), (t,), **keywords) if keywords else push(xp, y, (x,), (t,))
        return Dual(y, t, level, a.outside)

    def run_two(a: Any, b: Any = None, **keywords: Any) -> Any:
        if type(a) is type(b):
            x, t, level = a.primal, a.tangent, a.level
            z, u, outside = b.primal, b.tangent, a.outside or b.outside
            if b.level is not level:
                return run_dual(a, b, **keywords)
            lead = x
        elif type(a) is Dual:
            x, t, level = a.primal, a.tangent, a.level
            z, u, outside = b, None, a.outside
            lead = x
        else:
            x, t, level = a, None, b.level
            z, u, outside = b.primal, b.tangent, b.outside
            lead = a if hasattr(a, "dtype") else z
        way = None if level.ended else find(lead.dtype, type(x), type(z), type(t), type(u))  # type: ignore[arg-type]
        if way is None:
            return run_dual(a, b, **keywords)
        table, key, settle, push, xp = way
        found = table[key]
        kernel = found.usual if found.limit is None else found.of(x, z)
        y = kernel(x, z, **keywords) if keywords else kernel(x, z)
        if type(y) is not type(lead):
            y = settle(y)
        if push is None or (casts and y.dtype not in floats):
            return Dual(y, None, level, outside) if y.dtype in floats else y
        t = push(xp, y, (x, z), (t, u), **keywords) if keywords else push(xp, y, (x, z), (t, u))
        return Dual(y, t, level, outside)

    def run_view(a: Dual, **keywords: Any) -> Any:
        y = run_one(a, **keywords)
        if type(y) is Dual and type(y.primal) is type(a.primal):
            storage = device.by_array[type(a.primal)].storage
            if storage(y.primal) is storage(a.primal):
                y.source = a, primitive, keywords
                if not hasattr(a, "views"):
                    a.views = set()
                a.views.add(weakref.ref(y, a.views.discard))
        return y

    return run_view if primitive.view else run_one if len(primitive.arrays) == 1 else run_two


def _tangent(primitive: Primitive, y: Any, xs: Sequence[Any], ts: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """By the forward rule; it computes with a device's own namespace where all arrays are raw ones of it."""
    home, first = dispatch.home_of(*map(type, xs), *map(type, ts))
    if home is None or home.rank:
        return jvp(primitive, namespace, y, xs, ts, keywords)
    with home.at((*xs, *ts)[first]):
        return jvp(primitive, home.xp, y, xs, ts, keywords)


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
    return run("zeros_like", x.primal) if x.tangent is None else dispatch.settle(x.tangent, x.tangent)


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


def has_tangents(array: Any) -> bool:
    """Whether an array has a tangent, at any level."""
    if not isinstance(array, Layer):
        return False
    return (type(array) is Dual and array.tangent is not None) or any(map(has_tangents, array.parts))


def without_tangents(array: Any) -> Any:
    """The value alone, at every level."""
    if not isinstance(array, Layer):
        return array
    return without_tangents(array.primal) if type(array) is Dual else array.map(without_tangents)


LayerBackend("dual", Dual, interpreter)


# -- one primitive -------------------------------------------------------------------------------
def jvp(primitive: Primitive, xp: Any, y: Any, xs: Sequence[Any], ts: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The tangent of ``y = primitive(*xs, **keywords)`` for tangents ``ts`` (None: zero) of its inputs.

    Computes with the namespace ``xp`` that fits the arrays: a back end's for raw ones, the tape's for tensors.
    """
    moving = tuple([i for i, t in enumerate(ts) if t is not None])
    return forward_rule(primitive, moving)(xp, y, tuple(xs), tuple(ts), **keywords)


def forward_rule(primitive: Primitive, moving: tuple[int, ...]) -> Callable[..., Any]:
    """``(xp, y, xs, ts, **keywords) -> tangent`` for inputs of which these have tangents.

    The primitive's own rule, as calls of custom functions have one, or that of its kind, written once.
    """
    return primitive.jvp or _rule_of_kind(primitive, moving)


@functools.cache
def _rule_of_kind(primitive: Primitive, moving: tuple[int, ...]) -> Callable[..., Any]:
    name, follow = primitive.name, _itself if primitive.kind is LINEAR else _transposed
    if primitive.kind is ELEMENTWISE:
        moving = tuple(i for i in moving if i in primitive.differentiable)
    if not moving:
        return lambda xp, y, xs, ts, /, **keywords: _zero(xp, y)
    if primitive.kind is ELEMENTWISE:
        return _diagonal(primitive, moving)
    if primitive.kind is LINEAR and len(primitive.arrays) == 1 and not primitive.variadic:
        return lambda xp, y, xs, ts, /, **keywords: getattr(xp, name)(ts[0], **keywords)
    return lambda xp, y, xs, ts, /, **keywords: follow(primitive, xp, y, xs, ts, keywords)


def _zero(xp: Any, y: Any) -> Any:
    return tuple(map(xp.zeros_like, y)) if isinstance(y, tuple) else xp.zeros_like(y)


def _diagonal(primitive: Primitive, moving: tuple[int, ...]) -> Callable[..., Any]:
    """The sum over the inputs of their VJP rules, given the tangents as cotangents."""
    names = "".join(f", push{i}" for i in moving)
    parts = " + ".join(f"push{i}(xp, ts[{i}], y, xs, keywords)" for i in moving)
    made = f"t if (t := {parts}).dtype is y.dtype and t.shape == y.shape else fitted(xp, t, y)"
    source = f"make = lambda fitted{names}: lambda xp, y, xs, ts, /, **keywords: {made}"
    make = written_out(source, {})["make"]
    return make(_fitted, *(primitive.recipe((i,)).push(i, _meta) for i in moving))


def _fitted(xp: Any, t: Any, y: Any) -> Any:
    t = t if t.shape == y.shape else xp.broadcast_to(t, shape=tuple(y.shape))
    return t if t.dtype == y.dtype else xp.astype(t, dtype=y.dtype)


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
    with recorded(True):
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
