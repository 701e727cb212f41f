"""Attention: products of some heads at a time by the BLAS, and between them the hand-written kernels of weights."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.backends.cpu.compiled import blas, threads
from lucidgrad.backends.cpu.compiled.panels import PRODUCTS
from lucidgrad.levels.program import Equation, Variable

from .kernels import Written, address, call
from .loops import collapsed
from .places import Place, steps_of, whole
from .planning import Planner
from .products import are_shared, is_large, leading, matrices, usable
from .steps import real, stored

__all__ = ["HANDLERS"]

#: Portions of heads that threads take, and elements of weights at a time, but a head for each thread.
PORTIONS, MOST_SCORES = 8, 1 << 20


def _accepts(equation: Equation) -> bool:
    """Whether C does it."""
    pull = equation.primitive.name == "attention_pull"
    *floats, m, r = (*equation.inputs, None, None)[: 9 if pull else 5]
    if r is not None:
        return False
    if any(type(v) is not Variable for v in floats) or not (m is None or type(m) is Variable):
        return False
    arrays = [*floats, *equation.results]
    dtypes = {v.dtype for v in arrays}
    if len(dtypes) > 1 or dtypes.pop().char not in "fd" or not all(v.size for v in arrays):
        return False
    if m is not None and (not m.size or m.dtype not in (bool, floats[0].dtype)):
        return False
    kernel = "attention.attention_slopes" if pull else "attention.attention_weights"
    scale = equation.keywords.get("scale", 1.0)
    known = blas.functions() is not None and address(kernel, arrays[0].dtype.char) is not None
    return known and type(scale) in (int, float) and math.isfinite(scale)


class _Heads:
    """Loops over the axes before the last two, which matrices have in common, and products within them."""

    def __init__(self, planner: Planner, lead: tuple[int, ...], scores: int, features: int, together: bool) -> None:
        """``scores``: how many elements the weights of a head have; ``features``: products of numbers for each.

        Threads share the heads, unless something is made of all heads ``together``.
        """
        self.planner, self.lead, self.heads = planner, lead, math.prod(lead)
        self.work = scores * features
        self.shared = not together and are_shared(self.heads, self.work)
        portions = max(threads.get_num_threads(), min(PORTIONS, MOST_SCORES // scores)) if self.shared else 1
        self.grain = -(-self.heads // min(portions, self.heads))
        self.scratches: dict[str, int] = {}
        self.given: dict[str, Place] = {}
        self.made: dict[str, Place] = {}
        self.others: dict[str, Place] = {}  # what is written and has not a matrix for each head
        self.sums: list[tuple[str, int]] = []  # what several heads add to, and its elements

    def read(self, word: str, x: Place) -> Place:
        """A matrix for each head, as the BLAS takes it."""
        found = self.given[word] = usable(self.planner, x).broadcast((*self.lead, *x.shape[-2:]))
        return found

    def write(self, word: str, v: Variable, like: Variable) -> Place:
        """A result whose axes lie in memory as those of another: what was split into heads is joined without a copy."""
        buffer, shape, steps = self.planner.buffer(v.dtype, v.size), v.shape, steps_of(v.shape)
        model = self.planner.place(like)
        if model.shape[:-2] == v.shape[:-2]:
            order = sorted(range(len(shape)), key=lambda a: -abs(model.steps[a]))
            if order[-1] == len(shape) - 1:
                own = steps_of([shape[a] for a in order])
                steps = tuple(own[order.index(a)] for a in range(len(shape)))
        found = self.planner.where[v] = Place(buffer, shape, steps)
        if shape[:-2] != self.lead:  # several heads add to one matrix
            self.sums.append((word, v.size))
        found = self.made[word] = found.broadcast((*self.lead, *shape[-2:]))
        return found

    def scratch(self, word: str, *shape: int, dtype: Any) -> None:
        """Memory that a head needs for itself: as much as for the portions that threads take heads in."""
        portions = -(-self.heads // self.grain)
        self.scratches[word] = math.prod(shape)
        self.others[word] = whole(self.planner.buffer(dtype, portions * math.prod(shape)), (portions, *shape))

    def step(self, inner: Sequence[str], kernel: tuple[str, str], clear: str = "") -> Written:
        """Lines for each head, by number ``head``."""
        places = self.given | self.made
        sizes, moved = collapsed(self.lead, [p.steps[:-2] for p in places.values()])
        first, last = ("begin", "end") if self.shared else ("0", str(self.heads))
        none = [f"for (long i = 0; i < {n}; i++) {word}[i] = 0;" for word, n in self.sums]
        lines = [*none, f"for (long head = {first}; head < {last}; head++) {{"]
        rest = 1
        for a, n in reversed(list(enumerate(sizes))):
            lines.append(f"const long i{a} = head / {rest} % {n};")
            rest *= n
        for (word, place), steps in zip(places.items(), moved, strict=True):
            sort = "const " if word in self.given else ""
            at = "".join(f" + i{a} * {s}" for a, s in enumerate(steps) if s)
            lines.append(f"{sort}{stored(place.dtype)} *const {word}_at = {word}{at};")
        for word, size in self.scratches.items():
            slot = f"begin / {self.grain} * {size}" if self.shared else "0"
            lines.append(f"{stored(self.others[word].dtype)} *const {word} = {word}_all + {slot};")
        total = self.heads * self.work
        step = Written(
            self.given,
            self.made | {f"{w}_all" if w in self.scratches else w: p for w, p in self.others.items()},
            [*lines, *inner, "}"],
            units=self.heads if self.shared else 1,
            elements=total // PRODUCTS,
            kernels=[kernel],
            clear=clear,
        )
        step.grain, step.multiplies = self.grain, is_large(total)
        return step

    def product(self, letter: str, x1: tuple[str, Place], x2: tuple[str, Place], y: tuple[str, Place]) -> str:
        """One product for head e; a place is named where it lies for this one."""
        (a, p1), (b, p2), (c, target) = x1, x2, y
        m, k, n = p1.shape[-2], p1.shape[-1], p2.shape[-1]
        one, two, three = leading(p1), leading(p2), leading(target)
        assert one is not None
        assert two is not None
        assert three is not None
        assert not three[0] or n == 1
        adds = int(any(c == f"{word}_at" for word, _ in self.sums))
        turns = [112 if t else 111 for t, _ in (one, two)]
        return matrices(letter, turns, (m, n, k), (a, one[1]), (b, two[1]), adds, (c, three[1]), not self.shared)


def _turned(x: Place) -> Place:
    return Place(x.buffer, (*x.shape[:-2], x.shape[-1], x.shape[-2]), (*x.steps[:-2], x.steps[-1], x.steps[-2]))


def _mask(heads: _Heads, m: Any, scale: float, rows: int, columns: int) -> tuple[list[str], float]:
    """Lines that apply a mask to the scores p, and the factor that these still have to be multiplied by."""
    if m is None:
        return [], scale
    place = heads.planner.place(m).broadcast((*heads.lead, rows, columns))
    heads.given["m"] = place
    kind = real(heads.others["p"].dtype)
    down, along = place.steps[-2:]
    at = f"m_at[r * {down} + c * {along}]"
    change = f"{at} ? s : ({kind})-LG_INFINITY" if place.dtype == bool else f"s + {at}"
    lines = [
        f"for (long r = 0; r < {rows}; r++) for (long c = 0; c < {columns}; c++) {{",
        f"const {kind} s = p[r * {columns} + c] * ({kind}){scale!r};",
        f"p[r * {columns} + c] = {change};",
        "}",
    ]
    return lines, 1.0


def _mask_slopes(
    heads: _Heads, results: Sequence[Variable], scale: float, rows: int, columns: int
) -> tuple[list[str], float]:
    """Lines that add the scores' cotangents to that of a mask, and the factor that they are computed with."""
    if not results:
        return [], scale
    kind, place = real(results[0].dtype), heads.planner.result(results[0]).broadcast((*heads.lead, rows, columns))
    heads.made["to_m"] = place
    down, along = place.steps[-2:]
    lines = [
        f"for (long r = 0; r < {rows}; r++) for (long c = 0; c < {columns}; c++) {{",
        f"{kind} *const here = s + r * {columns} + c;",
        f"to_m_at[r * {down} + c * {along}] += *here;",
        f"*here *= ({kind}){scale!r};",
        "}",
    ]
    return lines, 1.0


def _plan_attention(planner: Planner, equation: Equation) -> None:
    (q, k, v, *rest), (out, sums) = equation.inputs[:4], equation.results
    dtype, letter = out.dtype, out.dtype.char.replace("f", "s")
    rows, columns, width = q.shape[-2], k.shape[-2], v.shape[-1]
    heads = _Heads(planner, out.shape[:-2], rows * columns, q.shape[-1] + width, together=False)
    pq, pk, pv = (heads.read(w, planner.place(x)) for w, x in (("q", q), ("k", k), ("v", v)))
    y = heads.write("y", out, q)
    heads.others["total"] = planner.result(sums)
    heads.scratch("p", rows, columns, dtype=dtype)
    heads.scratch("rate", rows, dtype=dtype)
    scores = whole(heads.others["p"].buffer, (rows, columns))
    scale, causal = float(equation.keywords.get("scale", 1.0)), int(equation.keywords.get("causal", False))
    masked, factor = _mask(heads, rest[0] if rest else None, scale, rows, columns)
    kernel = "attention.attention_weights", dtype.char
    down = y.steps[-2]

    fields = ["p", "rate", f"total + head * {rows}", rows, columns, causal, factor]
    inner = [
        heads.product(letter, ("q_at", pq), ("k_at", _turned(pk)), ("p", scores)),
        *masked,
        call(kernel, fields, str(rows), str(2 * rows * columns)),
        heads.product(letter, ("p", scores), ("v_at", pv), ("y_at", y)),
        f"for (long r = 0; r < {rows}; r++) {{",
        f"const {real(dtype)} by = rate[r];",
        f"for (long c = 0; c < {width}; c++) y_at[r * {down} + c] *= by;",
        "}",
    ]
    planner.append(heads.step(inner, kernel))


def _plan_pull(planner: Planner, equation: Equation) -> None:
    h, e, y, t, q, k, v, *rest = equation.inputs[:8]
    dtype, letter = q.dtype, q.dtype.char.replace("f", "s")
    rows, columns = q.shape[-2], k.shape[-2]
    features, lead = 3 * q.shape[-1] + 2 * v.shape[-1], h.shape[:-2]
    together = len(equation.results) > 3 or any(r.shape[:-2] != lead for r in equation.results)
    heads = _Heads(planner, lead, rows * columns, features, together)
    py, ph, pq, pk, pv = (heads.read(w, planner.place(x)) for w, x in zip("yhqkv", (y, h, q, k, v), strict=True))
    ends = [heads.write(f"to_{x}", y, like) for x, y, like in zip("qkv", equation.results, (q, k, v), strict=False)]
    sums = {w: planner.place(x).broadcast((*heads.lead, rows)) for w, x in (("t", t), ("of_t", e))}
    for w, p in sums.items():
        heads.given[w] = Place(p.buffer, (*p.shape, 1), (*p.steps, 1), p.offset)
    for w in ("p", "s"):
        heads.scratch(w, rows, columns, dtype=dtype)
    for w in ("total", "less"):
        heads.scratch(w, rows, dtype=dtype)
    scores = whole(heads.others["p"].buffer, (rows, columns))
    scale, causal = float(equation.keywords.get("scale", 1.0)), int(equation.keywords.get("causal", False))
    masked, factor = _mask(heads, rest[0] if rest else None, scale, rows, columns)
    slopes, share = _mask_slopes(heads, equation.results[3:], scale, rows, columns)
    kernel = "attention.attention_slopes", dtype.char
    (down, along), (below, beside) = ph.steps[-2:], py.steps[-2:]

    at = {w: f"{w}_at" for w in (*"hqkv", "to_q", "to_k", "to_v")}
    weights, slopes_at = ((w, scores) for w in "ps")
    turned_weights, turned_slopes = ((word, _turned(place)) for word, place in (weights, slopes_at))
    fields = ["p", "s", "total", "less", rows, columns, causal, factor, share]
    inner = [
        heads.product(letter, (at["q"], pq), (at["k"], _turned(pk)), weights),
        heads.product(letter, (at["h"], ph), (at["v"], _turned(pv)), slopes_at),
        f"for (long r = 0; r < {rows}; r++) {{",
        f"const {real(dtype)} all = t_at[r * {sums['t'].steps[-1]}];",
        f"total[r] = all == ({real(dtype)})-LG_INFINITY ? 0 : all;",
        f"{real(dtype)} less_here = -of_t_at[r * {sums['of_t'].steps[-1]}];",
        f"for (long c = 0; c < {v.shape[-1]}; c++)",
        f"less_here += h_at[r * {down} + c * {along}] * y_at[r * {below} + c * {beside}];",
        "less[r] = less_here;",
        "}",
        *masked,
        call(kernel, fields, str(rows), str(2 * rows * columns)),
        *slopes,
        heads.product(letter, turned_weights, (at["h"], ph), (at["to_v"], ends[2])),
        heads.product(letter, slopes_at, (at["k"], pk), (at["to_q"], ends[0])),
        heads.product(letter, turned_slopes, (at["q"], pq), (at["to_k"], ends[1])),
    ]
    planner.append(heads.step(inner, kernel, "to_m" if slopes else ""))


HANDLERS: dict[str, tuple[Callable[[Equation], bool], Callable[[Planner, Equation], None]]] = {
    "attention": (_accepts, _plan_attention),
    "attention_pull": (_accepts, _plan_pull),
}
