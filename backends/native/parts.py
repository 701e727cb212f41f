"""What the compiled engine is told: where the parts of Python's are, and what a primitive and its rules look like."""

from typing import Any

import numpy as np

from lucidgrad.core import device, dispatch, engine, items, modes, plan, primitive, tape

__all__ = ["Parts"]

_MOST, _ITEMS = 3, 8  # inputs, and what is kept of a call or named in it
_WHAT = {items.Result: "y", items.Input: "x", items.InputMeta: "m", items.Keyword: "k"}
_NEVER, _BY_DTYPE, _OF_PAIR, _OF_MATRICES, _OF_THREE = range(5)  # how cotangents are found to fit


def _text(rule: Any) -> tuple[Any, ...]:
    code = rule.__code__
    return code.co_code, code.co_consts, code.co_names, code.co_argcount, code.co_kwonlyargcount, code.co_flags


#: Rules that C knows without calling them, by their code.
_KNOWN = {_text(lambda xp, g: g): 1, _text(lambda xp, g, x: g * x): 2}


class Parts:
    """The compiled parts of the engine, as the Python source asks for them."""

    def __init__(self, module: Any) -> None:
        sample = np.zeros((2, 3), dtype=np.float32)
        given = {
            "Tensor": dispatch.bound["Tensor"], "Node": tape.Node, "Recipe": primitive.Recipe, "Meta": items.Meta,
            "Kernels": primitive.Kernels, "Recording": modes.Recording, "NewNodes": modes.NewNodes,
            "Precision": modes.Precision, "plain": np.ndarray, "sample": sample, "FREED": tape.FREED,
            "cpu": device.by_array[np.ndarray].device_of(sample), "unusual": modes.unusual, "places": device.places,
            "floats": dispatch.floats, "clock": tape.clock, "by_array": device.by_array, "last_write": tape.last_write,
            "tape_namespace": engine.tape_namespace, "settle": dispatch.settle, "history": dispatch.history,
            "fits": dispatch.fits, "fit": engine.fit, "track_view": dispatch.track_view, "tied": engine._tied,
            "check_saved": tape.check_saved, "reviver": engine._reviver, "recording": modes.recording,
            "new": modes.new, "told": modes.told, "precision": modes.precision,
        }  # fmt: skip
        module.setup(given)
        self._module, self._loop, self._write = module, engine.Walk._loop, primitive.Steps.write
        plan.reach = module.reach
        engine.Walk._loop = lambda walk: self.loop(walk)  # type: ignore[method-assign, assignment]
        primitive.Steps.write = staticmethod(self.step)

    def operator(self, p: Any, order: Any, op: Any) -> Any:
        """``(*arrays, *keywords) -> tensor or None``, None for a call that is not common; None if C can't know it.

        The function ``op``, which has it among its globals as ``_core``, begins with it; in C, if it has no keywords.
        """
        kept: dict[int, Any] = {}
        for subset in range(1, 2**_MOST):
            wanted = tuple(i for i in range(_MOST) if subset >> i & 1)
            if set(wanted) <= set(p.differentiable):
                recipe = p.recipe(wanted)
                what = "".join(_WHAT.get(type(item), "?") for item in recipe.items)
                if "?" in what or len(what) > _ITEMS:
                    return None
                named = list(p.keywords)
                at = tuple(0 if item.at is None else named.index(item.at) if type(item) is items.Keyword else item.at
                           for item in recipe.items)  # fmt: skip
                kept[subset] = recipe, -1 if recipe.only is None else recipe.index, what, at
        if len(p.keywords) > _ITEMS:
            return None
        n, broadcasts = len(p.arrays), p.kind.broadcasts
        if not broadcasts or (n == 1 and p.dtype == "real"):
            fit = _BY_DTYPE
        else:
            fit = (_NEVER, _OF_MATRICES if p.kind.name == "matrix" else _OF_PAIR, _OF_THREE)[n - 1]
        sizes = n, _mask(p.differentiable), _mask(p.values), fit
        by_dtype = p.dtype == "float" or p.single or p.real
        flags = (broadcasts and n > 1, p.kind is primitive.ELEMENTWISE, p.view, by_dtype, "dtype" in p.keywords,
                 p.precision is not None)  # fmt: skip
        places = [order.index(x) for x in p.arrays] + [0] * (_MOST - n)
        made = self._module.operator(p, p.kernels, p.by_dtype, tuple(p.keywords), sizes, flags, tuple(places), kept)
        if not p.keywords and not p.casts:
            self._module.attach(op)
        return made

    def loop(self, walk: Any) -> None:
        """`Walk._loop`: in C while no back end has streams and nobody observes."""
        if device.places or modes.state.observers:
            self._loop(walk)
        else:
            plan, free = walk.plan, not walk.retain_graph
            self._module.loop(
                walk, plan.order, walk.pending, walk.owned, plan.needed, plan.special, walk.create_graph, free
            )

    def step(self, recipe: Any, kind: Any) -> Any:
        """A walk's step at the nodes of a recipe: in C, if rules are called one by one."""
        fuses = getattr(device.by_array.get(kind), "fuses", False)
        known = recipe.plain and len(recipe.pulls) <= _MOST and len(recipe.items) <= _ITEMS
        if not known or fuses or recipe.primitive.placing:
            return self._write(recipe, kind)
        pulls = []
        for i, _ in recipe.pulls:
            rule = recipe.primitive.rules[i]
            needs = recipe.primitive.needs(rule)
            keywords = tuple(item.at for item in needs if type(item) is items.Keyword)
            known = _KNOWN.get(_text(rule), 0) if hasattr(rule, "__code__") and rule.__closure__ is None else 0
            pulls.append((rule, keywords, i, known, tuple(map(recipe.items.index, needs))))
        return self._module.step(recipe.only is not None, tuple(pulls))


def _mask(places: Any) -> int:
    return sum(1 << i for i in places)
