"""Elements at positions that arrays say, and sums at such positions.

Positions are looked at before anything is written: one that is out of range leaves all as it was, and the kernel calls,
which run instead, say what is wrong. Those that several equations ask for are looked at once.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lucidgrad.backends.cpu.compiled import puts
from lucidgrad.keys import At
from lucidgrad.levels.program import Equation, Variable

from .copies import CHARS
from .kernels import Kernel, Written, address
from .places import Place, steps_of, whole
from .planning import Planner
from .steps import stored

__all__ = ["HANDLERS"]

_POSITIONS, _EVERYTHING = "lqihb", slice(None)


# -- positions -------------------------------------------------------------------------------------
def _positions(planner: Planner, variable: Variable, sizes: Sequence[int]) -> Place:
    """Positions from 0 up as int64, inside an axis of a size; where there are several, in all of them together."""
    place = planner.place(variable)
    key = "positions", place.buffer.number, place.offset, place.shape, place.steps, tuple(sizes)
    found = planner.notes.get(key)
    if found is None:
        found = planner.notes[key] = _looked_at(planner, planner.contiguous(place), sizes)
    return found


def _looked_at(planner: Planner, place: Place, sizes: Sequence[int]) -> Place:
    shape = place.shape if len(sizes) == 1 else place.shape[1:]
    count = math.prod(shape)
    if place.buffer.kind == "constant" and len(sizes) == 1:
        array = planner.constants[place.buffer.index].reshape(-1)[place.offset : place.offset + count]
        array = np.where(array < 0, array + sizes[0], array).astype(np.int64)
        if ((array >= 0) & (array < sizes[0])).all():
            return planner.table(array.reshape(shape))
    made = whole(planner.buffer(np.dtype(np.int64), count), shape)
    lines = ["int wrong = 0;", f"for (long k = 0; k < {count}; k++) {{", "long at = 0;"]
    for axis, (size, step) in enumerate(zip(sizes, steps_of(sizes), strict=True)):
        lines += [
            f"{{ long i = (long)x[k + {axis * count}]; i += i < 0 ? {size} : 0;",
            f"wrong |= i < 0 || i >= {size}; at += i * {step}; }}",
        ]
    lines += ["y[k] = at;", "}", "if (!wrong) return;", "f->wrong = 1;"]
    lines.append(f"for (long k = 0; k < {count}; k++) y[k] = 0;")
    planner.append(Written({"x": place}, {"y": made}, lines, elements=count, checks=True))
    return made


def _are_positions(i: Any) -> bool:
    return type(i) is Variable and isinstance(i.dtype, np.dtype) and i.dtype.char in _POSITIONS


def _moved(x: Any, y: Any, i: Any, chars: str) -> bool:
    """Whether elements of one dtype are moved by positions, and nothing is empty."""
    return _are_positions(i) and x.dtype == y.dtype and x.dtype.char in chars and all(v.size for v in (x, y, i))


# -- take ------------------------------------------------------------------------------------------
def _accepts_take(equation: Equation) -> bool:
    (x, i), (y,) = equation.inputs, equation.results
    return bool(x.shape) and _moved(x, y, i, CHARS)


def _plan_take(planner: Planner, equation: Equation) -> None:
    x = planner.contiguous(planner.place(equation.inputs[0]))
    axis = (equation.keywords.get("axis") or 0) % len(x.shape)
    _gather(planner, x, axis, 1, equation.inputs[1], equation.results[0])


def _gather(planner: Planner, x: Place, axis: int, axes: int, i: Variable, y: Variable) -> None:
    """Rows of x, at positions in some axes together."""
    sizes = x.shape[axis : axis + axes]
    lead, n, tail = (math.prod(s) for s in (x.shape[:axis], sizes, x.shape[axis + axes :]))
    at = _positions(planner, i, sizes)
    count, kind, units = at.size, stored(x.dtype), lead * at.size
    first = "0" if lead == 1 else f"u / {count} * {n}"
    lines = [
        "for (long u = begin; u < end; u++) {",
        f"const {kind} *const from = x + ({first} + i[{'u' if lead == 1 else f'u % {count}'}]) * {tail};",
        f"for (long k = 0; k < {tail}; k++) y[u * {tail} + k] = from[k];",
        "}",
    ]
    made = planner.result(y)
    planner.append(_Rows({"x": x, "i": at}, {"y": made}, lines, units=units, elements=made.size))


class _Rows(Written):
    """Rows that are moved, which may go with what is done to them next."""

    def proposals(self) -> list[tuple[int, int]]:
        return [(self.units, self.elements // self.units)]

    def accesses(self, parts: int, width: int) -> list[tuple[Any, bool, bool]] | None:
        if (parts, width) not in self.proposals():
            return None
        return [*((p.buffer, False, False) for p in self.given.values()), (self.made["y"].buffer, True, True)]


def _accepts_take_put(equation: Equation) -> bool:
    (g, i), (y,) = equation.inputs, equation.results
    return _moved(g, y, i, "fd") and address("puts.put_rows", y.dtype.char) is not None


def _plan_take_put(planner: Planner, equation: Equation) -> None:
    (g, i), (y,) = equation.inputs, equation.results
    axis = equation.keywords["axis"] % len(y.shape)
    _scatter(planner, planner.contiguous(planner.place(g)), axis, 1, i, y)


def _scatter(planner: Planner, g: Place, axis: int, axes: int, i: Variable, y: Variable) -> None:
    """Zeros, to which rows are added at positions in some axes together."""
    sizes = y.shape[axis : axis + axes]
    lead, size, tail = (math.prod(s) for s in (y.shape[:axis], sizes, y.shape[axis + axes :]))
    at = _positions(planner, i, sizes)
    if lead > 1:  # positions first
        own = Place(g.buffer, (at.size, lead, tail), (tail, at.size * tail, 1), g.offset)
        g = planner.copied(own, own.shape)
    buffer = planner.buffer(y.dtype, y.size)
    rows = whole(buffer, (size, lead * tail))
    units = min(puts.STRETCHES if y.size >= puts.MANY else 1, size)
    fields = [g, at, rows, at.size, lead * tail, size, -(-size // units)]
    planner.append(Kernel("puts.put_rows", fields, [rows], units, max(g.size, y.size)))
    outer = [step * tail for step in steps_of(y.shape[:axis])]
    inner = [step * lead * tail for step in steps_of(sizes)]
    planner.where[y] = Place(buffer, y.shape, (*outer, *inner, *steps_of(y.shape[axis + axes :])))


# -- keys with arrays ------------------------------------------------------------------------------
def _picked(key: Sequence[Any], shape: Sequence[int]) -> tuple[int, int] | None:
    """The first axis that arrays stand for and how many there are, if they are side by side and all else is whole."""
    places = [k for k, part in enumerate(key) if type(part) is At]
    if len(key) > len(shape) or any(type(part) is not At and part != _EVERYTHING for part in key):
        return None
    together = places[-1] - places[0] + 1 == len(places)
    return (places[0], len(places)) if together and all(key[k].axes == 1 for k in places) else None


def _accepts_pick(equation: Equation) -> bool:
    (x, i), (y,) = equation.inputs, equation.results
    put = equation.primitive.name == "pick_put"
    wide = y if put else x
    found = _picked(equation.keywords["key"], wide.shape)
    if found is None or not _moved(x, y, i, "fd" if put else CHARS):
        return False
    return not put or address("puts.put_rows", y.dtype.char) is not None


def _plan_pick(planner: Planner, equation: Equation) -> None:
    """`pick` and `pick_put`."""
    (x, i), (y,), key = equation.inputs, equation.results, equation.keywords["key"]
    put = equation.primitive.name == "pick_put"
    wide, own = (y if put else x).shape, planner.contiguous(planner.place(x))
    axis, axes = _picked(key, wide)  # type: ignore[misc]
    (_scatter if put else _gather)(planner, own, axis, axes, i, y)


# -- along an axis ---------------------------------------------------------------------------------
def _accepts_along(equation: Equation) -> bool:
    (x, i), (y,) = equation.inputs, equation.results
    chars = CHARS if equation.primitive.name == "take_along_axis" else "fd"
    return _are_positions(i) and len(x.shape) == len(i.shape) > 0 and _moved(x, y, i, chars)


def _plan_along(planner: Planner, equation: Equation) -> None:
    """`take_along_axis` and `put_along_axis_add`: one element after the other, in the order of positions."""
    (v, i), (w,) = equation.inputs, equation.results
    put, rank = equation.primitive.name == "put_along_axis_add", len(w.shape)
    axis = equation.keywords.get("axis", -1) % rank
    source, target = planner.place(v), planner.result(w)
    size = w.shape[axis] if put else v.shape[axis]
    at = _positions(planner, i, [size])
    shape = tuple(at.shape[a] if a == axis else w.shape[a] for a in range(rank))
    wide, narrow = (target, source.broadcast(shape)) if put else (source, target)
    where = at.broadcast(shape).steps
    steps = [0 if n == 1 and a != axis else s for a, (n, s) in enumerate(zip(wide.shape, wide.steps, strict=True))]
    loops = [f"for (long i{a} = {'begin' if not a else 0}; i{a} < {'end' if not a else n}; i{a}++)" for a, n in
             enumerate(shape)]  # fmt: skip
    units = shape[0]
    if put and axis == 0:  # one thread adds up what comes to a place
        loops[0], units = f"for (long i0 = 0; i0 < {shape[0]}; i0++)", 1
    position = f"i[{_index(where)}] * {steps[axis]}"
    far = f"{_index([0 if a == axis else s for a, s in enumerate(steps)])} + {position}"
    line = f"y[{far}] += x[{_index(narrow.steps)}];" if put else f"y[{_index(narrow.steps)}] = x[{far}];"
    given = {"x": source, "i": at}
    elements = math.prod(shape)
    planner.append(
        Written(given, {"y": target}, [*loops, line], units=units, elements=elements, clear="y" if put else "")
    )


def _index(steps: Sequence[int]) -> str:
    return " + ".join(f"i{a} * {s}" for a, s in enumerate(steps) if s) or "0"


# -- sums up to each place -------------------------------------------------------------------------
def _accepts_cumulative(equation: Equation) -> bool:
    (x,), (y,), words = equation.inputs, equation.results, equation.keywords
    known = type(words.get("axis")) is int or (words.get("axis") is None and len(x.shape) == 1)
    plain = known and words.get("dtype") in (None, x.dtype) and not words.get("include_initial")
    return plain and bool(x.shape) and x.size > 0 and x.dtype == y.dtype and x.dtype.char in "fd"


def _plan_cumulative(planner: Planner, equation: Equation) -> None:
    x = planner.contiguous(planner.place(equation.inputs[0]))
    y = planner.result(equation.results[0])
    axis = (equation.keywords.get("axis") or 0) % len(x.shape)
    lead, n, tail = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
    lines = [
        "for (long u = begin; u < end; u++) {",
        f"const long first = u * {n * tail};",
        f"for (long k = 0; k < {tail}; k++) y[first + k] = x[first + k];",
        f"for (long k = first + {tail}; k < first + {n * tail}; k++) y[k] = y[k - {tail}] + x[k];",
        "}",
    ]
    planner.append(Written({"x": x}, {"y": y}, lines, units=lead, elements=x.size))


HANDLERS: dict[str, tuple[Callable[[Equation], bool], Callable[[Planner, Equation], None]]] = {
    "take": (_accepts_take, _plan_take),
    "take_put": (_accepts_take_put, _plan_take_put),
    "pick": (_accepts_pick, _plan_pick),
    "pick_put": (_accepts_pick, _plan_pick),
    "take_along_axis": (_accepts_along, _plan_along),
    "put_along_axis_add": (_accepts_along, _plan_along),
    "cumulative_sum": (_accepts_cumulative, _plan_cumulative),
}
