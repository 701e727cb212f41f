"""Convolutions and pools by the hand-written kernels of `compiled`, with their tables of distances as constants."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lucidgrad.backends.cpu.compiled import pools, threads, windows as compiled
from lucidgrad.levels.program import Equation

from . import reductions
from .kernels import WRONG, Kernel, address
from .loops import Entry
from .places import Immediate, Place, whole
from .planning import Planner

__all__ = ["HANDLERS"]

#: Products from which a convolution whose vectors would be mostly empty is left to NumPy's columns.
MANY = 1 << 22


def _are_floats(variables: Sequence[Any]) -> bool:
    """Whether all arrays are of one dtype of floats, and none is empty."""
    dtypes = {v.dtype for v in variables}
    return len(dtypes) == 1 and dtypes.pop().char in "fd" and all(v.size for v in variables)


# -- convolutions ----------------------------------------------------------------------------------
def _accepts_convolution(equation: Equation) -> bool:
    """Whether the kernels take it; as eager calls leave it to NumPy where vectors would be mostly empty."""
    one, two, (y,) = *equation.inputs, equation.results
    if not _are_floats((one, two, y)) or address("windows.convolve", y.dtype.char) is None:
        return False
    name, words = equation.primitive.name, equation.keywords
    if name == "convolution_weight":
        groups, window = words.get("groups", 1), words["window"]
        x, h, places = one, two, two.shape[2:]
        count = x.shape[1] // groups * math.prod(window)
        if h.shape[1] // groups * count > compiled.PARTIAL:
            return False
        products = h.shape[1] * count * x.shape[0] * math.prod(places)
    else:
        w, places = two, y.shape[2:]
        products = w.size * one.shape[0] * math.prod(places if name == "convolution" else one.shape[2:])
    return products < MANY or compiled._worth(y.dtype, y.shape[0], places, products)


def _steps(equation: Equation) -> tuple[Any, Any, Any]:
    return tuple(tuple(equation.keywords[name]) for name in ("stride", "padding", "dilation"))  # type: ignore[return-value]


def _convolve(planner: Planner, x: Place, w: Place, y: Place, counts: Any, found: Any, step: int) -> None:
    """Fill y, or those places of it that the tables have."""
    n, groups, channels, outputs = counts
    tables, taps, (into, out) = found
    count, units = len(taps), n * groups
    packed = whole(planner.buffer(y.dtype, groups * -(-outputs // 4) * 4 * count), (groups, -1))
    planner.append(Kernel("windows.pack", [w, packed, outputs, count], [packed], groups, w.size))
    parts = 1 if units >= threads.get_num_threads() else -(-len(into) // compiled.VECTORS)
    work = units * outputs * count * len(into) * tables.lanes
    fields = [
        *(x, packed, y, groups, channels, outputs, count, y.size // (n * groups * outputs)),
        *(len(into), parts, step, min(tables.places[-1], tables.lanes)),
        *(planner.table(a) for a in (taps, into, out, tables.layout, tables.source, tables.target)),
        WRONG,
    ]
    planner.append(Kernel("windows.convolve", fields, [y], units * parts, work // compiled.PRODUCTS))


def _plan_convolution(planner: Planner, equation: Equation) -> None:
    x, w = (planner.contiguous(planner.place(v)) for v in equation.inputs)
    y = planner.result(equation.results[0])
    inner, groups = w.shape[1], equation.keywords.get("groups", 1)
    tables, taps, *places = compiled._forward(
        inner, x.shape[2:], w.shape[2:], y.shape[2:], _steps(equation), compiled.lanes(y.dtype.char)
    )
    counts = x.shape[0], groups, inner, w.shape[0] // groups
    _convolve(planner, x, w, y, counts, (tables, taps, places), 1)


def _plan_input(planner: Planner, equation: Equation) -> None:
    """The input's cotangent: for each remainder of places by the stride, the elements of the window that meet them."""
    h, w = (planner.contiguous(planner.place(v)) for v in equation.inputs)
    y, groups, steps = planner.result(equation.results[0]), equation.keywords.get("groups", 1), _steps(equation)
    o, inner, window = w.shape[0] // groups, w.shape[1], w.shape[2:]
    found = compiled._backward(o, y.shape[2:], window, h.shape[2:], steps, compiled.lanes(y.dtype.char))
    if any(tables is None for _, tables, *_ in found):
        planner.entry(Entry(None, [Immediate(y.dtype.type(0), y.shape)], y))
    turned = whole(w.buffer, (groups, o, inner, *window)).modelled().swapaxes(1, 2)
    for key, tables, taps, places in found:
        if tables is None:
            continue
        view = turned if key is None else turned[(slice(None),) * 3 + tuple(map(_as_slice, key))]
        rows = whole(w.buffer, w.shape).seen(view) if view.size > 1 else Place(w.buffer, view.shape, (0,) * view.ndim)
        assert rows is not None
        moved = Place(w.buffer, rows.shape, rows.steps, rows.offset + w.offset)
        counts = h.shape[0], groups, o, inner
        _convolve(planner, h, planner.contiguous(moved), y, counts, (tables, taps, places), steps[0][-1])


def _as_slice(places: Any) -> slice:
    """Elements of the window that are equally far apart, as those that meet a remainder are."""
    at = places.reshape(-1).tolist()
    return slice(at[0], at[-1] + 1, at[1] - at[0] if len(at) > 1 else 1)


def _plan_weight(planner: Planner, equation: Equation) -> None:
    x, h = (planner.contiguous(planner.place(v)) for v in equation.inputs)
    y, groups = planner.result(equation.results[0]), equation.keywords.get("groups", 1)
    n, inner, o, out = x.shape[0], x.shape[1] // groups, h.shape[1] // groups, h.shape[2:]
    window, lanes = y.shape[2:], compiled.lanes(y.dtype.char)
    count = inner * math.prod(window)
    tables, taps, into = compiled._weights(inner, x.shape[2:], window, out, _steps(equation), lanes)
    parts, at_once = compiled.divided(n, groups, inner, o, count, tables, len(into), y.dtype.itemsize)
    sums = y if parts == 1 else whole(planner.buffer(y.dtype, parts * y.size), (parts, *y.shape))
    fields = [
        *(x, h, sums, n, groups, inner, o, count, len(taps) // 3, parts, at_once, len(tables.lines), out[-1]),
        *(planner.table(a) for a in (taps, into, tables.layout, tables.source, tables.target)),
        WRONG,
    ]
    products = o * groups * count * n * math.prod(out)
    planner.append(Kernel("windows.correlate", fields, [sums], parts * groups, products // compiled.PRODUCTS))
    if parts > 1:
        reductions.plan_sum(planner, sums, y, [0])


# -- pools -----------------------------------------------------------------------------------------
def _accepts_pool(equation: Equation) -> bool:
    name, floats = equation.primitive.name, [equation.inputs[0], equation.results[0]]
    planes = (equation.inputs[0] if name in ("max_pool", "avg_pool") else equation.results[0]).shape
    count = len(equation.keywords["window"])
    if not _are_floats(floats) or count > 3 or address(f"pools.{name}", floats[0].dtype.char) is None:
        return False
    if name == "pool_put" and equation.inputs[1].dtype != np.int64:
        return False
    return math.prod(planes[len(planes) - count :]) < 1 << 31


def _shape_of(planner: Planner, equation: Equation, wide: Place, narrow: Place) -> Place:
    """What C's struct Pool has."""
    words = equation.keywords
    count = len(words["window"])
    sizes, out = (p.shape[len(p.shape) - count :] for p in (wide, narrow))
    more = [tuple(words[name]) for name in ("window", "stride", "padding")]
    return planner.table(pools._pool(sizes, out, *more, tuple(words.get("dilation", (1,) * count))))


def _planes(place: Place, equation: Equation) -> int:
    return math.prod(place.shape[: len(place.shape) - len(equation.keywords["window"])])


def _plan_max_pool(planner: Planner, equation: Equation) -> None:
    x = planner.contiguous(planner.place(equation.inputs[0]))
    y, places = (planner.result(v) for v in equation.results)
    fields = [x, y, places, _shape_of(planner, equation, x, y), WRONG]
    planner.append(Kernel("pools.max_pool", fields, [y, places], _planes(x, equation), x.size))


def _plan_pool_put(planner: Planner, equation: Equation) -> None:
    h, i = (planner.contiguous(planner.place(v)) for v in equation.inputs)
    y = planner.result(equation.results[0])
    planes = _planes(h, equation)
    planner.append(Kernel("pools.pool_put", [h, i, y, h.size // planes, y.size // planes, WRONG], [y], planes, y.size))


def _plan_avg_pool(planner: Planner, equation: Equation) -> None:
    """`avg_pool` and `avg_pool_put`."""
    x = planner.contiguous(planner.place(equation.inputs[0]))
    y, words = planner.result(equation.results[0]), equation.keywords
    wide, narrow = (x, y) if equation.primitive.name == "avg_pool" else (y, x)
    fields = [
        *(x, y, _shape_of(planner, equation, wide, narrow)),
        *(bool(words.get("include", True)), float(words.get("divisor") or 0.0), WRONG),
    ]
    planner.append(Kernel(f"pools.{equation.primitive.name}", fields, [y], _planes(x, equation), wide.size))


HANDLERS: dict[str, tuple[Callable[[Equation], bool], Callable[[Planner, Equation], None]]] = {
    "convolution": (_accepts_convolution, _plan_convolution),
    "convolution_input": (_accepts_convolution, _plan_input),
    "convolution_weight": (_accepts_convolution, _plan_weight),
    "max_pool": (_accepts_pool, _plan_max_pool),
    "pool_put": (_accepts_pool, _plan_pool_put),
    "avg_pool": (_accepts_pool, _plan_avg_pool),
    "avg_pool_put": (_accepts_pool, _plan_avg_pool),
}
