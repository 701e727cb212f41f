"""Forward rules that follow from what is declared already, so that no derivative is stated twice.

A primitive ``y = f(x)`` whose rule calls a pull with rules, ``f_pull(h, x) = Jᵀ h``, has its Jacobian in that pull's
own rule for h: the transpose of the transpose. A pull is linear in h, and its derivative by x is a Hessian, which is
symmetric: the rule for x serves in both directions. Others are products, whose rule is the product rule, have a
symmetric Jacobian, or are reductions, whose tangent is the sum of tangents times the gradient.
"""

import functools
from collections.abc import Callable
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.engine import tape_namespace
from lucidgrad.core.items import Meta, meta_of
from lucidgrad.core.primitive import registry
from lucidgrad.levels.layer import Level, namespace

from .numbers import is_complex

Rule = Callable[..., Any]


def pulled_back(name: str, xp: Any, g: Any, y: Any, xs: Any, keywords: dict[str, Any], at: int = 0) -> Any:
    """The cotangent of one input of a primitive, by its own rule."""
    recipe = registry[name].recipe((at,))
    return recipe.pulls[0][1](xp, g, recipe.save(y, xs, keywords, _meta))


def _meta(x: Any) -> Meta:
    return meta_of(x if type(x) in device.by_array else x.array)


def fitted(xp: Any, t: Any, y: Any) -> Any:
    """The tangent of a value: real where it is real."""
    return xp.real(t) if is_complex(t.dtype) and not is_complex(y.dtype) else t


def total(*parts: Any) -> Any:
    """The sum of those that are there."""
    found = None
    for part in parts:
        if part is not None:
            found = part if found is None else found + part
    return found


def bilinear(name: str) -> Rule:
    """The forward rule of a product: ``t1·x2 + x1·t2``."""

    def jvp(xp: Any, y: Any, xs: Any, ts: Any, **keywords: Any) -> Any:
        (x1, x2), (t1, t2), product = xs, ts, getattr(xp, name)
        if keywords:
            product = functools.partial(product, **keywords)
        if t2 is None:
            return xp.zeros_like(y) if t1 is None else product(t1, x2)
        later = product(x1, t2)
        return later if t1 is None else product(t1, x2) + later

    return jvp


def of_pull(name: str) -> Rule:
    """The forward rule of what is pulled back by a primitive ``name(h, s, x)``, s being the value: its rule for h."""

    def jvp(xp: Any, y: Any, xs: Any, ts: Any, **keywords: Any) -> Any:
        if ts[0] is None:
            return xp.zeros_like(y)
        known = {"s": y, "x": xs[0], "i": xs[-1]}
        given = [known.get(array) for array in registry[name].arrays]
        return fitted(xp, pulled_back(name, xp, ts[0], None, given, keywords, registry[name].arrays.index("h")), y)

    return jvp


def hessian(name: str) -> Rule:
    """The forward rule of a pull itself: linear in h, and symmetric in x."""

    def jvp(xp: Any, y: Any, xs: Any, ts: Any, **keywords: Any) -> Any:
        arrays = registry[name].arrays
        h, x = arrays.index("h"), arrays.index("x")
        first = None if ts[h] is None else _with(xp, name, xs, {h: ts[h]}, keywords)
        second = None if ts[x] is None else pulled_back(name, xp, ts[x], y, xs, keywords, x)
        found = total(first, second)
        return xp.zeros_like(y) if found is None else found

    return jvp


def linear_in(name: str, at: int = 0) -> Rule:
    """The forward rule of what is linear in one input, and does not move with the others."""

    def jvp(xp: Any, y: Any, xs: Any, ts: Any, **keywords: Any) -> Any:
        return xp.zeros_like(y) if ts[at] is None else _with(xp, name, xs, {at: ts[at]}, keywords)

    return jvp


def _with(xp: Any, name: str, xs: Any, others: dict[int, Any], keywords: dict[str, Any]) -> Any:
    """A primitive with other arrays in some places."""
    return getattr(xp, name)(*(others.get(i, x) for i, x in enumerate(xs)), **keywords)


def symmetric(name: str) -> Rule:
    """The forward rule of what has a symmetric Jacobian: the VJP rule."""

    def jvp(xp: Any, y: Any, xs: Any, ts: Any, **keywords: Any) -> Any:
        return xp.zeros_like(y) if ts[0] is None else pulled_back(name, xp, ts[0], y, xs, keywords)

    return jvp


def by_gradient(name: str, axis: Any = None) -> Rule:
    """The forward rule of a reduction: tangents times the gradient, which is the VJP of ones, summed along its axes."""

    def jvp(xp: Any, y: Any, xs: Any, ts: Any, **keywords: Any) -> Any:
        if ts[0] is None:
            return xp.zeros_like(y)
        slope = pulled_back(name, xp, xp.ones_like(y), y, xs, keywords)
        keepdims = keywords.get("keepdims", False)
        return fitted(xp, xp.sum(slope * ts[0], axis=keywords.get("axis", axis), keepdims=keepdims), y)

    return jvp


def on_duals(name: str) -> Rule:
    """The forward rule of a primitive whose program is made of primitives: it runs on dual numbers."""

    def jvp(xp: Any, y: Any, xs: Any, ts: Any, **keywords: Any) -> Any:
        inside = tape_namespace if xp is tape_namespace else namespace
        with Level(name) as level:
            duals = [
                x if t is None else inside.make_dual(x, t, level=level, outside=False)
                for x, t in zip(xs, ts, strict=True)
            ]
            found = registry[name].program(inside, *duals, **keywords)
            parts = found if registry[name].outputs else (found,)
            parts = tuple(inside.tangent_part(part, level=level) for part in parts)
        return parts if registry[name].outputs else parts[0]

    return jvp
