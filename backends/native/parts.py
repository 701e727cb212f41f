"""What the compiled engine is told: where the parts of Python's are, and what a primitive and its rules look like."""

import sys
from typing import Any

import numpy as np

from lucidgrad.backends import joins
from lucidgrad.backends.cpu.kernels import SMALL, shape
from lucidgrad.core import box, device, dispatch, engine, items, modes, plan, primitive, tape

__all__ = ["Parts"]

_INPUTS, _ITEMS = 3, 8  # of a call; what is kept of it, or named in it
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
    _text(lambda xp, g, y: xp.where(y <= 0, 0, g)): 10,
}
_PLACED, _CUT, _TANH, _ROWS = 5, 7, 9, 11  # the rules of `index`, `concat` and `tanh`, and a sum of rows
_MATRICES, _KEPT_FIRST, _TURN_FIRST, _TURN_SECOND = 12, 1, 2, 4  # a product, what of it comes first, what is transposed
#: Rules that are known by their names, and the operators that they call.
_NAMED = {
    "lucidgrad.ops.shape.joining._concat_vjp": (_CUT, None),
    "lucidgrad.ops.linalg.products._left": (_MATRICES + _TURN_SECOND, "linear"),
    "lucidgrad.ops.linalg.products._right": (_MATRICES + _KEPT_FIRST + _TURN_FIRST, "across"),
    "lucidgrad.ops.linalg.linear._back": (_MATRICES, "matmul"),
    "lucidgrad.ops.linalg.linear._weights": (_MATRICES + _TURN_FIRST, "across"),
    "lucidgrad.ops.linalg.linear._bias": (_ROWS, None),
    "lucidgrad.ops.linalg.linear._beside": (_MATRICES + _KEPT_FIRST + _TURN_SECOND, "linear"),
    "lucidgrad.ops.linalg.linear._behind": (_MATRICES + _KEPT_FIRST, "matmul"),
}

#: Kernels that C knows: they are one call of NumPy's, or two.
_KERNELS = {"index": 1, "reshape": 2, "matrix_transpose": 3, "concat": 4, "split_with_sizes": 5}
_PRODUCTS = {"matmul": 6, "linear": 7, "across": 8, "affine": 9}


def _known_rule(rule: Any) -> tuple[Any, int, Any]:
    """The code of a rule, the number that C knows it by, and what it calls in place of the rule on tensors."""
    if getattr(rule, "__closure__", ()) is not None:
        return None, 0, None
    number, name = _NAMED.get(f"{rule.__module__}.{rule.__qualname__}", (_KNOWN.get(_text(rule), 0), None))
    name = "tanh_pull" if number == _TANH else name
    return rule.__code__, number, None if name is None else primitive.registry[name].op


def _known_kernel(name: str) -> tuple[int, Any]:
    """The number that C knows the kernel of a primitive by, and the function that it then is."""
    if name in _KERNELS:
        return _KERNELS[name], getattr(shape, name)
    if name not in _PRODUCTS:
        return 0, None
    from lucidgrad.backends.cpu.kernels import linalg

    return _PRODUCTS[name], getattr(linalg, name)


def _kept(recipe: Any) -> str:
    """What the nodes of a recipe keep: a letter for each, and the place of the input or keyword."""
    named = list(recipe.primitive.keywords)
    places = [named.index(item.at) if type(item) is items.Keyword else item.at or 0 for item in recipe.items]
    letters = [_WHAT.get(type(item), "?") if at < 10 else "?" for item, at in zip(recipe.items, places, strict=True)]
    return "".join(f"{letter}{at}" for letter, at in zip(letters, places, strict=True))


class Parts:
    """The compiled parts of the engine, as the Python source asks for them."""

    def __init__(self, module: Any) -> None:
        sample = np.zeros((2, 3), dtype=np.float32)
        given = {
            "Tensor": dispatch.bound["Tensor"], "Node": tape.Node, "Recipe": primitive.Recipe, "Meta": items.Meta,
            "Kernels": primitive.Kernels, "Recording": modes.Recording, "NewNodes": modes.NewNodes,
            "Precision": modes.Precision, "plain": np.ndarray, "sample": sample, "FREED": tape.FREED,
            "cpu": device.by_array[np.ndarray].device_of(sample), "unusual": modes.unusual, "places": device.places,
            "floats": dispatch.floats, "single": np.dtype(np.float32), "real": np.dtype(np.float64),
            "clock": tape.clock, "by_array": device.by_array, "tape_namespace": engine.tape_namespace,
            "settle": dispatch.settle, "history": dispatch.history, "fit": engine.fit, "tied": engine._tied,
            "track_view": dispatch.track_view, "ends_of": joins.ends_of, "reviver": engine._reviver,
            "check_written": _check_written, "recording": modes.recording, "new": modes.new, "told": modes.told,
            "precision": modes.precision, "Alias": box.Alias, "Fork": tape.Fork, "Output": tape.Output,
            "Leaf": tape.Leaf, "INFERENCE": box.INFERENCE, "NOTHING": tape.NOTHING, "copying": device.copying,
            "large_recipe": _large_recipe, "subtract": np.subtract, "total": np.add.reduce, "small": SMALL,
            "zeros": np.zeros, "add": np.add, "multiply": np.multiply,
            "array_api": sys.modules["numpy._core._multiarray_umath"]._ARRAY_API, "by_age": plan.by_age,
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
        self._methods = {"index": [tensor.__getitem__], "matrix_transpose": [tensor.T.fget]}

    def operator(self, p: Any, order: Any, op: Any) -> Any:
        """``(*arrays, *keywords) -> tensor or None``, None for a call that is not common; None if C can't know it.

        The function ``op``, which has it as ``_core``, begins with it; in C, if it has no keywords.
        """
        if p.silenced is not None:  # what fails in C is done again by Python, which other processes would not expect
            return None
        kept: dict[int, Any] = {}
        for subset in range(1, 2**_INPUTS):
            wanted = tuple(i for i in range(_INPUTS) if subset >> i & 1)
            if set(wanted) <= set(p.differentiable):
                recipe = p.recipe(wanted)
                kept[subset] = _keeping(recipe)
        if p.variadic:
            kept = {1: _keeping(p.recipe(()))} if p.joint else {}
        form = _JOIN if p.variadic else _PARTS if p.outputs else _FIXED
        if (form != _FIXED and not kept) or len(p.keywords) > _ITEMS:
            return None
        if any("?" in what or len(what) > 2 * _ITEMS for _, _, what in kept.values()):
            return None
        n, broadcasts = len(p.arrays), p.kind.broadcasts
        if not broadcasts or (n == 1 and p.dtype == "real"):
            fit = _BY_DTYPE
        else:
            fit = (_NEVER, _OF_MATRICES if p.kind.name == "matrix" else _OF_PAIR, _OF_THREE)[n - 1]
        sizes = n, _mask(p.differentiable), _mask(p.values), fit if form == _FIXED else _NEVER
        by_dtype = p.by_dtype if form == _FIXED and (p.dtype == "float" or p.single or p.real) else None
        large = form == _FIXED and p.kind is primitive.ELEMENTWISE
        flags = broadcasts and n > 1, large, p.view, form == _JOIN or "dtype" in p.keywords, p.precision is not None
        barrier = f"is one of several views that {p.name} returned"
        made = self._module.operator(
            p, p.kernels, by_dtype, tuple(p.keywords), (form, tuple(p.keywords.values()), barrier),
            _known_kernel(p.name), sizes, flags, (*map(order.index, p.arrays), *[0] * (_INPUTS - n)), kept,
        )  # fmt: skip
        functions = [op] if not p.keywords and not p.casts and form == _FIXED else []
        for function in functions + self._methods.pop(p.name, []):
            function._core = made
            self._module.attach(function)
        return made

    def step(self, recipe: Any, kind: Any) -> Any:
        """A walk's step at the nodes of a recipe: in C, if rules are called one by one."""
        p, usual, home = recipe.primitive, self._write(recipe, kind), device.by_array.get(kind)
        known = (recipe.plain or recipe.joint) and len(recipe.pulls) <= _INPUTS and len(recipe.items) <= _ITEMS
        adds = p.placing and hasattr(home, "adding")
        if not known or getattr(home, "fuses", False):
            return usual
        pulls = []
        for i, rule in [(0, p.joint)] if recipe.joint else [(i, p.rules[i]) for i, _ in recipe.pulls]:
            needs = p.needs(rule)
            keywords = tuple(item.at for item in needs if type(item) is items.Keyword)
            code, number, op = _known_rule(rule)
            places = "".join(str(recipe.items.index(item)) for item in needs)
            pulls.append((rule, code, keywords, op, places, i, number if number != _PLACED or adds else 0))
        if adds and pulls[0][-1] != _PLACED:
            return usual
        return self._module.step(usual, recipe.only is not None, recipe.joint is not None, tuple(pulls))


def _loop_of(native: Any, usual: Any) -> Any:
    """`Walk._loop`: in C while no back end has streams and nobody observes, but for nodes that are special."""
    places, observers, last_write = device.places, modes.observers.get, tape.last_write

    def loop(walk: Any) -> None:
        if places or observers():
            return usual(walk)
        plan, pending, free, at = walk.plan, walk.pending, not walk.retain_graph, 0
        order, special = plan.order, plan.special
        oldest = order[-1].when if order else 0
        while True:
            stale = last_write.when > oldest  # which hooks and functions of users may change
            common = pending, walk.owned, plan.needed, special, stale, walk.create_graph, free
            at = native(walk, order, at, *common)
            if at == len(order):
                return None
            walk._step(order[at], pending.pop(order[at]))
            special = special if not walk.nested else plan.reached
            at += 1

    return loop


def _check_written(node: Any) -> None:
    """Raise if a value that the node keeps was written in place since."""
    if tape.last_write.when > node.when:
        tape.check_saved(node)


def _keeping(recipe: Any) -> tuple[Any, int, str]:
    """What C is told of a recipe: the one input that gets a gradient, or -1, and what is kept."""
    return recipe, -1 if recipe.only is None else recipe.index, _kept(recipe)


def _large_recipe(p: Any, subset: int) -> Any:
    return p.recipe(tuple(i for i in range(_INPUTS) if subset >> i & 1), True)


def _mask(places: Any) -> int:
    return sum(1 << i for i in places)
