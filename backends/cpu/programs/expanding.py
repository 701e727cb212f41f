"""Equations of which C does not do the whole, but all that their primitives' programs are made of."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from lucidgrad.levels.program import Equation, Variable
from lucidgrad.levels.traced import BACKEND, Trace, Traced, current

from .handlers import handler

__all__ = ["expanded"]

#: Primitives whose programs are a few equations, none of which is much slower than a kernel for the whole.
_SHORT = frozenset(
    """
    mean_squared_error var std var_pull std_pull vector_norm extreme_pull logsumexp logsumexp_pull softmax softmax_pull
    log_softmax log_softmax_pull standardise standardise_pull layer_norm layer_norm_pull pair_einsum
    """.split()
)
#: Elements up to which the program is tried on arrays.
_MOST = 1 << 24


def expanded(equation: Equation, numbers: Iterator[int]) -> list[Equation] | None:
    """The same in several equations that C does, whose variables get new numbers; None if there are none."""
    primitive: Any = equation.primitive
    if primitive.name not in _SHORT or any(v.is_number or not v.size for v in equation.variables):
        return None
    if any(v.dtype.kind != "f" for v in (*equation.variables, *equation.results)):
        return None
    if sum(v.size for v in equation.variables) > _MOST:
        return None
    trace = Trace("expand")
    given = {v: trace.input(np.ones(v.shape, v.dtype)) for v in equation.variables}
    token = current.set(trace)
    try:
        with np.errstate(all="ignore"):
            args = [given[x] if type(x) is Variable else x for x in equation.inputs]
            made = primitive.program(BACKEND.xp, *args, **equation.keywords)
            parts = made if primitive.outputs else (made,)
            if trace.failure is not None or any(type(part) is not Traced for part in parts) or trace.constants:
                return None
            results = [trace.variable(part) for part in parts]
    except (TypeError, ValueError, AttributeError):
        return None
    finally:
        current.reset(token)
        trace.level.ended = True
    return _renamed(equation, trace, {t.variable: v for v, t in given.items()}, results, numbers)


def _renamed(
    equation: Equation,
    trace: Trace,
    names: dict[Variable, Variable],
    results: list[Variable],
    numbers: Iterator[int],
) -> list[Equation] | None:
    """The equations of a trace over the variables of the program; others get new ones."""
    if len(set(results)) < len(results) or any(v in names for v in results):
        return None
    for mine, own in zip(results, equation.results, strict=True):
        if (mine.shape, mine.dtype) != (own.shape, own.dtype):
            return None
        names[mine] = own
    found = []
    for step in trace.equations:
        for v in step.results:
            names.setdefault(v, Variable(next(numbers), v.shape, v.dtype, v.device))
        inputs = tuple(names[x] if type(x) is Variable else x for x in step.inputs)
        new = Equation(step.primitive, inputs, step.keywords, tuple(names[v] for v in step.results))
        if handler(new) is not None:
            found.append(new)
            continue
        more = None if new.primitive is equation.primitive else expanded(new, numbers)
        if more is None:
            return None
        found += more
    return found
