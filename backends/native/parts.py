"""What the compiled engine is told: where the parts of Python's are, and what a primitive and its rules look like."""

from typing import Any

import numpy as np

from lucidgrad.backends.cpu.kernels import SMALL, shape
from lucidgrad.core import box, device, dispatch, engine, items, modes, plan, primitive, tape

__all__ = ["Parts"]

_MOST, _ITEMS = 3, 8  # inputs, and what is kept of a call or named in it
_WHAT = {items.Result: "y", items.Input: "x", items.InputMeta: "m", items.InputMetas: "M", items.Keyword: "k"}
_FIXED, _JOIN, _PARTS = range(3)  # one to three inputs; any number of them; several results
_NEVER, _BY_DTYPE, _OF_PAIR, _OF_MATRICES, _OF_THREE = range(5)  # how cotangents are found to fit


def _text(rule: Any) -> tuple[Any, ...]:
    code = rule.__code__
    return code.co_code, code.co_consts, code.co_names, code.co_argcount, code.co_kwonlyargcount, code.co_flags


#: Rules that C knows without calling them, by their code.
_KNOWN = {
    _text(lambda xp, g: g): 1,
    _text(lambda xp, g, x: g * x): 2,
    _text(lambda xp, g, x_meta: xp.reshape(g, shape=x_meta.shape)): 3,
    _text(lambda xp, g: xp.matrix_transpose(g)): 4,
    _text(lambda xp, g, x_meta, *, key: xp.put_add(g, key=key, shape=x_meta.shape)): 5,
    _text(lambda xp, g, *, axis: xp.concat(*g, axis=axis)): 6,
    _text(lambda xp, g, *, axis: xp.unstack(g, axis=axis)): 8,
    _text(lambda xp, g, y: xp.tanh_pull(g, y)): 9,
}
_SPLIT_UP, _TANH, _ROWS = 7, 9, 10  # the rules of `concat` and `tanh`, and a sum of rows
_MATRICES, _KEPT_FIRST, _TURN_FIRST, _TURN_SECOND = 11, 1, 2, 4  # a product, what of it comes first, what is transposed
_LINEAR = "lucidgrad.ops.linalg.linear"
#: Rules that are known by their names, and the operators that they call.
_NAMED = {
    "lucidgrad.ops.linalg.products._left": (_MATRICES + _TURN_SECOND, "linear"),
    "lucidgrad.ops.linalg.products._right": (_MATRICES + _KEPT_FIRST + _TURN_FIRST, "across"),
    f"{_LINEAR}._back": (_MATRICES, "matmul"),
    f"{_LINEAR}._weights": (_MATRICES + _TURN_FIRST, "across"),
    f"{_LINEAR}._bias": (_ROWS, None),
    f"{_LINEAR}._beside": (_MATRICES + _KEPT_FIRST + _TURN_SECOND, "linear"),
    f"{_LINEAR}._behind": (_MATRICES + _KEPT_FIRST, "matmul"),
}

#: Kernels that C knows: they are one call of NumPy's, or two.
_KERNELS = {
    shape.index: 1, shape.reshape: 2, shape.matrix_transpose: 3, shape.concat: 4, shape.split_with_sizes: 5,
}  # fmt: skip
_PRODUCTS = {"matmul": 6, "linear": 7, "across": 8, "affine": 9}


def _known(p: Any, rule: Any) -> tuple[int, Any]:
    """The number that C knows a rule by, and what it calls in place of the rule on tensors."""
    if p.name == "concat" and p is primitive.registry["concat"]:
        return _SPLIT_UP, None
    if getattr(rule, "__closure__", ()) is not None:
        return 0, None
    number, name = _NAMED.get(f"{rule.__module__}.{rule.__qualname__}", (_KNOWN.get(_text(rule), 0), None))
    name = "tanh_pull" if number == _TANH else name
    return number, None if name is None else primitive.registry[name].op


def _kept(recipe: Any) -> tuple[str, tuple[int, ...]]:
    """What the nodes of a recipe keep: a letter for each, and the place of the input or keyword."""
    named = list(recipe.primitive.keywords)
    what = "".join(_WHAT.get(type(item), "?") for item in recipe.items)
    at = [named.index(item.at) if type(item) is items.Keyword else item.at or 0 for item in recipe.items]
    return what, tuple(at)


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
            "new": modes.new, "told": modes.told, "precision": modes.precision, "Alias": box.Alias, "Fork": tape.Fork,
            "Output": tape.Output, "Leaf": tape.Leaf, "INFERENCE": box.INFERENCE, "NOTHING": tape.NOTHING,
            "copying": device.copying, "kernels": _KERNELS, "zeros": np.zeros, "copy": device.by_array[np.ndarray].copy,
            "large_recipe": _large_recipe, "subtract": np.subtract, "total": np.add.reduce, "small": SMALL,
            "concatenate": getattr(np.concatenate, "__wrapped__", np.concatenate),  # which asks nobody's types
        }  # fmt: skip
        tensor = given["Tensor"]
        module.setup(given)
        self._module, self._write = module, primitive.Steps.write
        plan.reach = module.reach
        self.keep, self.again = module.keep, module.again  # first gradients, and small steps of optimisers
        engine.Walk._loop = _loop_of(module.loop, engine.Walk._loop)  # type: ignore[method-assign]
        primitive.Steps.write = staticmethod(self.step)
        #: Methods that are a primitive's operator but for what they look at first.
        self._methods = {"index": tensor.__getitem__, "matrix_transpose": tensor.T.fget}

    def operator(self, p: Any, order: Any, op: Any) -> Any:
        """``(*arrays, *keywords) -> tensor or None``, None for a call that is not common; None if C can't know it.

        The function ``op``, which has it among its globals as ``_core``, begins with it; in C, if it has no keywords.
        """
        if p.silenced is not None:  # what fails in C is done again by Python, which other processes would not expect
            return None
        kept: dict[int, Any] = {}
        for subset in range(1, 2**_MOST):
            wanted = tuple(i for i in range(_MOST) if subset >> i & 1)
            if set(wanted) <= set(p.differentiable):
                recipe = p.recipe(wanted)
                kept[subset] = recipe, -1 if recipe.only is None else recipe.index, *_kept(recipe)
        if p.variadic:
            kept = {0: (p.recipe(()), -1, *_kept(p.recipe(())))} if p.joint else {}
        if not kept and (p.variadic or p.outputs):
            return None
        if len(p.keywords) > _ITEMS or any("?" in what or len(what) > _ITEMS for _, _, what, _ in kept.values()):
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
        form = (
            _JOIN if p.variadic else _PARTS if p.outputs else _FIXED,
            tuple(p.keywords.values()),
            f"is one of several views that {p.name} returned",
        )
        if p.name in _PRODUCTS:
            from lucidgrad.backends.cpu.kernels import linalg

            _KERNELS[getattr(linalg, p.name)] = _PRODUCTS[p.name]
        made = self._module.operator(
            p, p.kernels, p.by_dtype, tuple(p.keywords), form, sizes, flags, tuple(places), kept
        )
        if not p.keywords and not p.casts and form[0] == _FIXED:
            self._module.attach(op, False)
        method = self._methods.pop(p.name, None)
        if method is not None:
            method._core = made
            self._module.attach(method, True)
        return made

    def step(self, recipe: Any, kind: Any) -> Any:
        """A walk's step at the nodes of a recipe: in C, if rules are called one by one."""
        p = recipe.primitive
        fuses = getattr(device.by_array.get(kind), "fuses", False)
        adds = p.placing and p.name != "index" and hasattr(device.by_array.get(kind), "adding")
        known = (recipe.plain or recipe.joint) and len(recipe.pulls) <= _MOST and len(recipe.items) <= _ITEMS
        if not known or fuses or adds:
            return self._write(recipe, kind)
        pulls = []
        for i, rule in [(0, p.joint)] if recipe.joint else [(i, p.rules[i]) for i, _ in recipe.pulls]:
            needs = p.needs(rule)
            keywords = tuple(item.at for item in needs if type(item) is items.Keyword)
            number, op = _known(p, rule)
            pulls.append((rule, keywords, i, number, tuple(map(recipe.items.index, needs)), op))
        return self._module.step(recipe.only is not None, recipe.joint is not None, *_kept(recipe), tuple(pulls))


def _loop_of(native: Any, usual: Any) -> Any:
    """`Walk._loop`: in C while no back end has streams and nobody observes."""
    places, observers = device.places, modes.observers.get

    def loop(walk: Any) -> None:
        if places or observers():
            usual(walk)
        else:
            plan, free = walk.plan, not walk.retain_graph
            native(walk, plan.order, walk.pending, walk.owned, plan.needed, plan.special, walk.create_graph, free)

    return loop


def _large_recipe(p: Any, subset: int) -> Any:
    return p.recipe(tuple(i for i in range(_MOST) if subset >> i & 1), True)


def _mask(places: Any) -> int:
    return sum(1 << i for i in places)
