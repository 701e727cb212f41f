"""Which equations C does, and what plans them."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from lucidgrad.core import dispatch
from lucidgrad.levels.program import Action, Equation, Structure, Variable

from . import attention, copies, gathers, products, reductions, rows, sequences, windows
from .loops import Entry, Expression, Number, traced
from .places import Immediate
from .planning import Planner

__all__ = ["handler"]

Handler = Callable[[Planner, Equation], None]

_TABLE: dict[str, tuple[Callable[[Equation], bool], Handler]] = {
    **dict.fromkeys(("sum", "mean", "max", "min"), (reductions.accepts, reductions.plan)),
    **dict.fromkeys(("matmul", "linear", "affine", "across"), (products.accepts, products.plan)),
    **dict.fromkeys(("concat", "stack"), (copies.accepts_join, copies.plan_join)),
    "clone": (lambda equation: equation.inputs[0].dtype.char in copies.CHARS, copies.plan_clone),
    "overwrite": (copies.accepts_parts, copies.plan_overwrite),
    "put_add": (copies.accepts_put, copies.plan_put),
    **rows.HANDLERS,
    **windows.HANDLERS,
    **gathers.HANDLERS,
    **attention.HANDLERS,
    **sequences.HANDLERS,
}


def handler(equation: Equation) -> Handler | None:
    """What plans an equation; None if it is not for C."""
    primitive: Any = equation.primitive
    if type(primitive) in (Action, Structure) or not equation.results or equation.results[0].is_number:
        return None
    arrays = [v for v in equation.variables if not v.is_number]
    if not arrays or any(not isinstance(v.dtype, np.dtype) for v in (*arrays, *equation.results)):
        return None
    if primitive.name in _TABLE:
        accepts, plan = _TABLE[primitive.name]
        return plan if type(equation.inputs[0]) is Variable and accepts(equation) else None
    if primitive.view and copies.accepts_view(equation):
        return copies.plan_view
    expression = traced(equation)
    return None if expression is None else functools.partial(_elementwise, expression)


def _elementwise(expression: Expression, planner: Planner, equation: Equation) -> None:
    values = [planner.value(x) for x in equation.inputs]
    (y,) = equation.results
    asked = [v for v, a in zip(values, expression.asked, strict=True) if a]
    if all(isinstance(v, Immediate) for v in asked) and y.size:  # as eager has it
        with np.errstate(all="ignore"):
            given = [_known(v) for v in values]
            made = dispatch.compute(equation.primitive, given, equation.keywords)  # type: ignore[arg-type]
        planner.where[y] = Immediate(made.reshape(-1)[0], y.shape)
        return
    sources: list[Any] = []
    for x, v, a in zip(equation.inputs, values, expression.asked, strict=True):
        if not a:
            sources.append(None)
        elif type(x) is Variable and x.is_number:
            sources.append(Number(planner.numbers.index(x), x.dtype))
        else:
            sources.append(v)
    planner.entry(Entry(expression, sources, planner.result(y)))


def _known(v: Any) -> Any:
    """An array of one element in place of one whose elements are all the same, or that nobody asks for."""
    if isinstance(v, Immediate):
        return np.asarray(v.value)
    return v if v is None or isinstance(v, (bool, int, float, complex)) else np.zeros((), v.dtype)
