"""What a walk does at a node, written out per recipe: rule by rule, or by one call of a back end for all of them."""

import functools
from collections.abc import Callable
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.engine import fit
from lucidgrad.core.primitive import Steps
from lucidgrad.core.source import deep, definition, run

__all__ = ["step_of"]


def step_of(recipe: Any, kind: Any) -> Callable[..., Any]:
    """``(node, xp, g, saved, pending, add, needed)``: run the rules of a node and send what they give.

    On a back end whose calls cost more than Python, and of large arrays, rules are one call wherever they can be.
    """
    if recipe.joint is not None:
        return _joint_step(recipe.joint)
    wanted = tuple(i for i, _ in recipe.pulls)
    words = tuple(recipe.arguments(recipe.primitive.rules[i]) for i in wanted)
    rules = [recipe.primitive.rules[i] for i in wanted]
    single = recipe.only is not None
    step = _written_step(wanted, words, single)(*rules)
    if not recipe.plain and not single:  # one call for those rules that are needed
        step = lambda node, xp, g, saved, pending, add, needed: add.__self__.pull_all(node, xp, g, saved)
    if single and recipe.primitive.placing:
        adding = getattr(device.by_array.get(kind), "adding", None)
        if adding:
            return _placing_step(recipe, adding, step)
    fuses = not recipe.plain or getattr(device.by_array.get(kind), "fuses", False)
    fuses = fuses and not all(map(_passes_on, rules, words))
    fused = recipe.fused(kind, tuple(i in wanted for i in range(len(recipe.primitive.arrays)))) if fuses else None
    if fused is None:
        return step
    calls, key = getattr(fused, "known", ({}, ""))
    return _written_fused(wanted, key, single)(fused, calls, step)


def _passes_on(rule: Callable[..., Any], arguments: str) -> bool:
    """Whether a rule gives the cotangent as it is: there is nothing to launch."""
    if arguments != "xp, g":
        return False
    token = object()
    try:
        return rule(None, token) is token
    except (AttributeError, TypeError):  # it computes
        return False


Steps.write = staticmethod(step_of)
_STEP = "step(node, xp, g, s, pending, add, needed)"


def _sending(i: int, single: bool, made: str, fitting: list[str]) -> list[str]:
    """Source that sends the cotangent of an input to its node."""
    part = [made, *fitting, "if parent in pending:", "    add(parent, ct)", "else:", "    pending[parent] = ct"]
    if single:
        return ["parent = node.origin", *part]
    return [f"parent = node.origin[{i}]", "if needed is None or parent in needed:", *deep(part)]


def _joint_step(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The step of a rule that gives the cotangents of all inputs at once; who watches nodes does not come here."""

    def step(node: Any, xp: Any, g: Any, s: Any, pending: Any, add: Any, needed: Any) -> None:
        fits = node.fit
        for i, (parent, ct) in enumerate(zip(node.inputs, rule(xp, g, s), strict=True)):
            if parent is None or ct is None or (needed is not None and parent not in needed):
                continue
            if fits is not None:
                ct = fit(xp, ct, fits[i])
            if parent in pending:
                add(parent, ct)
            else:
                pending[parent] = ct

    return step


class _Adding:
    """A namespace in which kernels that put values among zeros add them to a sum instead."""

    __slots__ = ("kernels", "total", "xp")

    def __init__(self, total: Any, kernels: dict[str, Any], xp: Any) -> None:
        self.total, self.kernels, self.xp = total, kernels, xp

    def __getattr__(self, name: str) -> Any:
        kernel = self.kernels.get(name)
        return getattr(self.xp, name) if kernel is None else functools.partial(self._added, kernel)

    def _added(self, kernel: Any, *args: Any, **keywords: Any) -> Any:
        kernel(self.total, *args, **keywords)
        return self.total


def _placing_step(recipe: Any, kernels: dict[str, Any], other: Callable[..., Any]) -> Callable[..., Any]:
    """The step of a rule that puts the cotangent among zeros: the first makes a sum that later ones add to.

    So many parts of one array cost one array of its size, and each no more than its own.
    """
    index = recipe.index

    def step(node: Any, xp: Any, g: Any, s: Any, pending: Any, add: Any, needed: Any) -> None:
        walk, parent, total = add.__self__, node.origin, pending.get(node.origin)
        plain = node.fit is None or (not node.fit[index][2] and node.fit[index][1] == g.dtype)
        plain = plain and g.dtype.itemsize > 2  # sums of 16-bit floats are rounded once, by the kernel itself
        if total is None or not (plain and total.ndim) or type(total) is not type(g) or total.dtype != g.dtype:
            other(node, xp, g, s, pending, add, needed)
            if total is None and plain:
                walk.owned.add(parent)
            return
        if parent not in walk.owned:
            total = pending[parent] = device.by_array[type(total)].copy(total)
            walk.owned.add(parent)
        recipe.only(_Adding(total, kernels, xp), g, s)

    return step


@functools.cache
def _written_step(wanted: tuple[int, ...], words: tuple[str, ...], single: bool) -> Callable[..., Any]:
    """The step that runs rules one by one."""
    lines = []
    for i, arguments in zip(wanted, words, strict=True):
        fitting = ["if node.fit is not None:", f"    ct = fit(xp, ct, node.fit[{i}])"]
        lines += _sending(i, single, f"ct = rule{i}({arguments})", fitting)
    step, rules = definition(_STEP, lines or ["pass"]), ", ".join(f"rule{i}" for i in wanted)
    return run(definition(f"make({rules})", [*step.splitlines(), "return step"]), {"fit": fit})["make"]


@functools.cache
def _written_fused(wanted: tuple[int, ...], key: str, single: bool) -> Callable[..., Any]:
    """The step that calls a back end once for all rules; calls that it has known before are found by a key."""
    lines = [] if single else ["if needed is not None:", f"    return other{_STEP[4:]}"]
    parts = ["ct = cts"] if single else [f"ct = cts[{k}]" for k in range(len(wanted))]
    usual = [line for i, part in zip(wanted, parts, strict=True) for line in _sending(i, single, part, [])]
    if key:
        lines += ["if node.fit is None:", f"    call = calls.get(({key},))", "    if call is not None:"]
        lines += deep(deep(["cts = call(g, s)", *usual, "return"]))
    lines += ["cts = fused(g, s, node.fit)", "if cts is None:", f"    return other{_STEP[4:]}"]
    for i in wanted:
        fitting = ["if node.fit is not None:", f"    shape, _, levels = node.fit[{i}]"]
        fitting += ["    if ct.shape != shape or levels:", f"        ct = fit(xp, ct, node.fit[{i}])"]
        lines += _sending(i, single, f"ct = cts[{i}]", fitting)
    source = definition("make(fused, calls, other)", [*definition(_STEP, lines).splitlines(), "return step"])
    return run(source, {"fit": fit})["make"]
