"""What moves elements and computes nothing: views, which cost nothing, joins, and parts that are written."""

from typing import Any

import numpy as np

from lucidgrad.core import dispatch
from lucidgrad.core.primitive import registry
from lucidgrad.levels.program import Equation, Variable

from .loops import Entry
from .places import Immediate, Place, whole
from .planning import Planner

__all__ = ["accepts_join", "accepts_parts", "accepts_view", "plan_clone", "plan_join", "plan_overwrite", "plan_view"]


#: Dtypes of elements that are moved.
CHARS = "fd?lqihb"
#: Views that have all elements where they are, given that the dtype stays the same.
_SAME = frozenset({"astype", "cast_discrete", "real"})


def accepts_view(equation: Equation) -> bool:
    """Whether the results are where the input is, or where a copy of it without gaps would be."""
    primitive: Any = equation.primitive
    x = equation.inputs[0]
    if not primitive.view or any(type(v) is Variable for v in equation.inputs[1:]):
        return False
    if any(v.dtype != x.dtype for v in equation.results) or x.dtype.char not in CHARS:
        return False
    if primitive.name == "index":
        key = equation.keywords["key"]
        return all(
            k is None or k is Ellipsis or type(k) in (int, slice) for k in (key if type(key) is tuple else (key,))
        )
    return primitive.name != "imag"


def plan_view(planner: Planner, equation: Equation) -> None:
    """Note where the results are."""
    x = planner.value(equation.inputs[0])
    if type(x) is Immediate:
        for v in equation.results:
            planner.where[v] = Immediate(x.value, v.shape)
        return
    found = _places(equation, x)
    if found is None and any(v.size for v in equation.results):
        found = _places(equation, planner.copied(x, x.shape))
        assert found is not None, equation
    for k, v in enumerate(equation.results):
        if found is None or not v.size:
            planner.result(v)
        else:
            planner.where[v] = found[k]


def _places(equation: Equation, x: Place) -> list[Place] | None:
    """Where the results are in the input's memory; None if they can't be."""
    primitive: Any = equation.primitive
    results = equation.results
    if x.size == 1:
        return [Place(x.buffer, v.shape, (0,) * len(v.shape), x.offset) for v in results]
    if not x.size:
        return None
    if primitive.name in _SAME:
        return [x]
    if primitive.name == "reshape":
        place = x.reshaped(results[0].shape)
        return None if place is None else [place]
    made = dispatch.compute(primitive, [x.modelled(), *equation.inputs[1:]], equation.keywords)
    parts = made if primitive.outputs else (made,)
    found = [x.seen(part) if part.size else x for part in parts]
    return None if any(place is None for place in found) else found  # type: ignore[return-value]


def plan_clone(planner: Planner, equation: Equation) -> None:
    """A copy is the very same: nothing is ever written twice."""
    planner.where[equation.results[0]] = planner.value(equation.inputs[0])


# -- joins -----------------------------------------------------------------------------------------
def accepts_join(equation: Equation) -> bool:
    """Whether arrays of one dtype are put side by side."""
    dtypes = {x.dtype for x in (*equation.inputs, *equation.results)}
    return len(dtypes) == 1 and dtypes.pop().char in CHARS and equation.keywords.get("axis", 0) is not None


def plan_join(planner: Planner, equation: Equation) -> None:
    """`concat` and `stack`: each input is written into its part."""
    (y,) = equation.results
    axis = equation.keywords.get("axis", 0) % len(y.shape)
    target, begin = planner.result(y), 0
    for x in equation.inputs:
        stacked = equation.primitive.name == "stack"
        width = 1 if stacked else x.shape[axis]
        shape = (*y.shape[:axis], width, *y.shape[axis + 1 :])
        steps, offset = target.steps, begin * target.steps[axis]
        if stacked:
            shape, steps = (t[:axis] + t[axis + 1 :] for t in (shape, steps))
        planner.entry(Entry(None, [planner.value(x)], Place(target.buffer, shape, steps, offset)))
        begin += width


# -- parts -----------------------------------------------------------------------------------------
def accepts_parts(equation: Equation) -> bool:
    """Whether views that NumPy gives by steps alone lead to what is written."""
    x, v, at = equation.inputs
    if type(v) is not Variable or at is not None or x.dtype != v.dtype or x.dtype.char not in CHARS or not x.size:
        return False
    return _part(equation, np.empty(x.shape, x.dtype)) is not None


def _part(equation: Equation, model: Any) -> Any:
    """The part of an array that is written, if it is a view."""
    part = model
    for step, keywords, _ in equation.keywords["steps"]:
        part = dispatch.compute(step, [part], keywords)
        if not np.may_share_memory(part, model):
            return None
    return part


def plan_overwrite(planner: Planner, equation: Equation) -> None:
    """All elements, and then those of the part."""
    x, v, _ = equation.inputs
    target = planner.result(equation.results[0])
    at = planner.entry(Entry(None, [planner.value(x)], target))
    part = target.seen(_part(equation, target.modelled()))
    if part is not None:
        planner.entry(Entry(None, [planner.value(v)], part), after=at)


def accepts_put(equation: Equation) -> bool:
    """Whether the key of a put names a part by slices alone, so that nothing is put twice."""
    key = equation.keywords["key"]
    (x,), (y,) = equation.inputs, equation.results
    plain = all(k is None or k is Ellipsis or type(k) in (int, slice) for k in (key if type(key) is tuple else (key,)))
    return plain and x.dtype == y.dtype and x.dtype.char in "fd"


def plan_put(planner: Planner, equation: Equation) -> None:
    """Zeros, and an array in a part of them."""
    (y,) = equation.results
    target = whole(planner.buffer(y.dtype, y.size), y.shape)
    planner.where[y] = target
    at = planner.entry(Entry(None, [Immediate(y.dtype.type(0), y.shape)], target))
    model = target.modelled() if y.size else None
    view = None if model is None else dispatch.compute(registry["index"], [model], {"key": equation.keywords["key"]})
    if view is not None and view.size:
        part = target.seen(view) if y.size > 1 else Place(target.buffer, view.shape, (0,) * view.ndim)
        assert part is not None
        planner.entry(Entry(None, [planner.value(equation.inputs[0])], part), after=at)
