"""The forward rule of one primitive: how a tangent of its inputs becomes a tangent of its output.

A primitive's own rule is used where it declares one. Otherwise elementwise primitives reuse their VJP
rules (their Jacobian is diagonal, so it is its own transpose), linear ones apply themselves to the
tangents, and all others transpose their VJP: it is linear in its seed, and the tape differentiates it.
"""

from collections.abc import Sequence
from typing import Any

from . import device
from .dispatch import box, complexes
from .engine import Plan, Walk, fit, tape_namespace
from .modes import state, switch
from .primitive import ELEMENTWISE, LINEAR, Primitive, meta_of
from .tape import Leaf


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
        saved = _save(recipe.items, y, xs, keywords)
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
        saved = _save(recipe.items, ys if primitive.outputs else ys[0], boxed, keywords)
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
    raw = t if type(t) in device.by_array else t.array
    return xp.conj(t) if raw.dtype in complexes else t


def _boxed(x: Any) -> Any:
    return box(x) if type(x) in device.by_array else x


def _save(items: Sequence[tuple[str, Any]], y: Any, xs: Sequence[Any], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """What rules keep, from arrays or tensors alike."""
    metas = {"meta": lambda at: _meta(xs[at]), "metas": lambda _: tuple(map(_meta, xs))}
    values = {"y": lambda _: y, "x": lambda at: xs[at], "xs": lambda _: tuple(xs), "kw": keywords.__getitem__}
    return tuple({**metas, **values}[kind](at) for kind, at in items)


def _meta(x: Any) -> Any:
    return meta_of(x if type(x) in device.by_array else x.array)
