"""Sums, means and extremes along axes, added up in the order in which NumPy does it.

NumPy adds along the innermost axis in pairs of pairs (blocks of 128 elements in eight sums), and along outer ones row
by row. Sums of everything in a large array are sums of parts, in float64, so that threads can share the work.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from lucidgrad.levels.program import Equation

from .loops import collapsed
from .places import Buffer, Place, whole
from .planning import Planner
from .steps import PART, Step, is_part, pointer, real

__all__ = ["accepts", "plan", "plan_sum"]

#: Columns of a matrix that a thread adds up together, at least: it comes by all rows for them.
NARROW = 256

PAIRWISE = """
static T lg_pairwise_T(const T *x, long n, long step)
{
    if (n < 8) {
        T s = -(T)0;
        for (long i = 0; i < n; i++) s += x[i * step];
        return s;
    }
    if (n <= 128) {
        T r[8];
        long i;
        for (int j = 0; j < 8; j++) r[j] = x[j * step];
        for (i = 8; i < n - n % 8; i += 8)
            for (int j = 0; j < 8; j++) r[j] += x[(i + j) * step];
        T s = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
        for (; i < n; i++) s += x[i * step];
        return s;
    }
    long half = n / 2;
    half -= half % 8;
    return lg_pairwise_T(x, half, step) + lg_pairwise_T(x + half * step, n - half, step);
}
static T lg_total_T(const T *x, long n, long step)
{
    return step == 1 ? lg_pairwise_T(x, n, 1) : lg_pairwise_T(x, n, step);
}
"""

EXTREME = """
static T lg_fold_WORD_T(const T *x, long n, long step)
{
    enum { LANES = 16 };
    T y = x[0];
    long i = 1;
    if (step == 1 && n >= 2 * LANES) {
        T m[LANES];
        for (int j = 0; j < LANES; j++) m[j] = x[j];
        for (i = LANES; i + LANES <= n; i += LANES)
            for (int j = 0; j < LANES; j++) m[j] = CALL(m[j], x[i + j]);
        for (int j = 0; j < LANES; j++) y = CALL(y, m[j]);
    }
    for (; i < n; i++) y = CALL(y, x[i * step]);
    return y;
}
"""


def accepts(equation: Equation) -> bool:
    """Whether C does a reduction."""
    (x,), (y,) = equation.inputs, equation.results
    if x.dtype != y.dtype or x.dtype.char not in "fd" or equation.keywords.get("dtype") not in (None, x.dtype):
        return False
    return x.size > 0


def plan(planner: Planner, equation: Equation) -> None:
    """The steps of a reduction."""
    x, (y,) = planner.place(equation.inputs[0]), equation.results
    axis = equation.keywords.get("axis")
    rank = len(x.shape)
    axes = range(rank) if axis is None or not rank else ([axis] if isinstance(axis, int) else axis)
    gone = {a % rank for a in axes} if rank else set()
    name, target = equation.primitive.name, planner.result(y)
    count = math.prod(x.shape[a] for a in gone)
    divisor = count if name == "mean" else 0
    lost, steps = collapsed([x.shape[a] for a in sorted(gone)], [[x.steps[a] for a in sorted(gone)]])
    if target.size == 1 and len(lost) == 1 and lost[0] >= 2 * PART and name in ("sum", "mean"):
        parts = whole(planner.buffer(np.dtype(np.float64), -(-lost[0] // PART)), (-(-lost[0] // PART),))
        planner.append(_Parts(x, parts, lost[0], steps[0][0]))
        planner.append(_Joined(parts, target, divisor))
        return
    kept = [a for a in range(rank) if a not in gone]
    planner.append(_Fold(name, x, target, kept, sorted(gone), divisor))


def plan_sum(planner: Planner, x: Place, target: Place, axes: Sequence[int]) -> None:
    """The step of a sum that no equation asks for."""
    planner.append(_Fold("sum", x, target, [a for a in range(len(x.shape)) if a not in axes], list(axes), 0))


class _Reading(Step):
    """A step that reads one place and fills another."""

    def __init__(self, source: Place, target: Place) -> None:
        self.source, self.target = source, target
        self.elements = source.size
        self.kind = real(source.dtype)

    def reads(self) -> Iterable[Buffer]:
        return [self.source.buffer]

    def writes(self) -> Iterable[Buffer]:
        return [self.target.buffer]

    def helpers(self) -> Iterable[str]:
        return [PAIRWISE.replace("T", self.kind)]

    def _pointers(self) -> list[str]:
        return [
            f"const {self.kind} *const x = {pointer(self.source.buffer, self.source.offset)};",
            f"{real(self.target.dtype)} *const y = {pointer(self.target.buffer, self.target.offset)};",
        ]


class _Parts(_Reading):
    """Sums of parts of a long row."""

    def __init__(self, source: Place, target: Place, n: int, step: int) -> None:
        super().__init__(source, target)
        self.n, self.step, self.units = n, step, target.size

    def proposals(self) -> list[tuple[int, int]]:
        return [(self.units, PART)]

    def accesses(self, parts: int, width: int) -> list[tuple[Buffer, bool, bool]] | None:
        if (parts, width) != (self.units, PART):
            return None
        return [(self.source.buffer, False, self.source.is_whole()), (self.target.buffer, True, True)]

    def body(self) -> list[str]:
        size = f"{self.n} - k * {PART} < {PART} ? {self.n} - k * {PART} : {PART}"
        total = f"lg_total_{self.kind}(x + k * {PART * self.step}, {size}, {self.step})"
        return [*self._pointers(), f"for (long k = begin; k < end; k++) y[k] = {total};"]


class _Joined(_Reading):
    """The sum of parts."""

    def __init__(self, source: Place, target: Place, divisor: int) -> None:
        super().__init__(source, target)
        self.divisor, self.elements = divisor, 1

    def body(self) -> list[str]:
        made = f"({real(self.target.dtype)})lg_total_double(x, {self.source.size}, 1)"
        over = f" / {self.divisor}" if self.divisor else ""
        return [*self._pointers(), "(void)begin, (void)end;", f"*y = {made}{over};"]


class _Fold(_Reading):
    """Any axes of an array."""

    def __init__(self, name: str, source: Place, target: Place, kept: list[int], gone: list[int], divisor: int) -> None:
        super().__init__(source, target)
        self.name, self.divisor = name, divisor
        shape, steps = source.shape, source.steps
        # Where a loop along the result is innermost, its axis stays.
        self.kept, (self.own,) = collapsed([shape[a] for a in kept], [[steps[a] for a in kept]])
        self.gone, (self.lost,) = collapsed([shape[a] for a in gone], [[steps[a] for a in gone]])
        self.rowwise = bool(self.gone) and not (self.kept and abs(self.own[-1]) < abs(self.lost[-1]))
        last = max((a for a in kept if shape[a] > 1), default=0)
        first = min((a for a in gone if shape[a] > 1), default=len(shape))
        self._in_front = last < first  # the axes that stay: row k of what is read is for result k
        if self.kept:
            self.units = self.kept[0]
            narrow = 1 if self.rowwise or len(self.kept) > 1 else NARROW
            self.grain = max(narrow, 32768 * self.units // max(self.elements, 1))

    def proposals(self) -> list[tuple[int, int]]:
        rows = self.rowwise and len(self.kept) == 1 and self._in_front
        return [(self.kept[0], self.elements // self.kept[0])] if rows else []

    def accesses(self, parts: int, width: int) -> list[tuple[Buffer, bool, bool]] | None:
        if (parts, width) not in self.proposals():
            return None
        return [(self.source.buffer, False, is_part(self.source, parts)), (self.target.buffer, True, True)]

    def helpers(self) -> Iterable[str]:
        if self.name in ("sum", "mean"):
            return super().helpers()
        call = f"lg_{self.name}imum{'f' if self.kind == 'float' else ''}"
        return [EXTREME.replace("WORD", self.name).replace("CALL", call).replace("T ", f"{self.kind} ").replace(
            "_T(", f"_{self.kind}(")]  # fmt: skip

    def _join(self, a: str, b: str) -> str:
        if self.name in ("sum", "mean"):
            return f"{a} + {b}"
        return f"lg_{self.name}imum{'f' if self.kind == 'float' else ''}({a}, {b})"

    def _whole_row(self, at: str) -> str:
        if self.name in ("sum", "mean"):
            return f"lg_total_{self.kind}({at}, {self.gone[-1]}, {self.lost[-1]})"
        return f"lg_fold_{self.name}_{self.kind}({at}, {self.gone[-1]}, {self.lost[-1]})"

    def body(self) -> list[str]:
        over = f" / ({self.kind}){self.divisor}" if self.divisor else ""
        return [
            *self._pointers(),
            *(self._by_rows(over) if self.rowwise or not self.kept or not self.gone else self._by_columns(over)),
        ]

    def _outer(self, shape: list[int], word: str, first: bool) -> tuple[list[str], int]:
        lines = []
        for a, n in enumerate(shape):
            start, stop = ("begin", "end") if first and not a else ("0", str(n))
            lines.append(f"for (long {word}{a} = {start}; {word}{a} < {stop}; {word}{a}++) {{")
        return lines, len(shape)

    @staticmethod
    def _at(word: str, steps: Iterable[int]) -> str:
        return "".join(f" + {word}{a} * {s}" for a, s in enumerate(steps) if s)

    def _place(self, shape: list[int]) -> str:
        """The place in the result, which has no gaps."""
        steps, step = [], 1
        for n in reversed(shape):
            steps.append(step)
            step *= n
        return "0" + self._at("k", reversed(steps))

    def _by_rows(self, over: str) -> list[str]:
        """For each result: rows of the innermost axis, one behind the other."""
        lines, depth = self._outer(self.kept, "k", True)
        if not self.kept:
            lines.append("(void)begin, (void)end;")
        source = "x" + self._at("k", self.own)
        if not self.gone:
            lines.append(f"y[{self._place(self.kept)}] = *({source}){over};")
            return [*lines, *["}"] * depth]
        inner, more = self._outer(self.gone[:-1], "r", False)
        row = self._whole_row(source + self._at("r", self.lost[:-1]))
        if more:
            start = "0" if self.name in ("sum", "mean") else f"*({source})"
            lines += [f"{self.kind} all = {start};", *inner, f"all = {self._join('all', row)};", *["}"] * more]
        else:
            lines.append(f"{self.kind} all = {row};")
        lines.append(f"y[{self._place(self.kept)}] = all{over};")
        return [*lines, *["}"] * depth]

    def _by_columns(self, over: str) -> list[str]:
        """Rows of results: what is added to them, row by row. Where that is the only axis, in stretches of it."""
        n, step = self.kept[-1], self.own[-1]
        outer = self.kept[:-1]
        lines, depth = self._outer(outer, "k", True)
        low, high = ("begin", "end") if not outer else ("0", str(n))
        place = self._place(self.kept).replace(f" + k{len(outer)} * 1", "")
        at = "x" + self._at("k", self.own[:-1])
        lines += [f"{self.kind} *const to = y + {place};", f"const {self.kind} *const from = {at};"]
        lines += ["#pragma omp simd", f"for (long k = {low}; k < {high}; k++) to[k] = from[k * {step}];"]
        inner, more = self._outer(self.gone, "r", False)
        skip = " && ".join(f"!r{a}" for a in range(more))
        lines += [*inner, f"if ({skip}) continue;", f"const {self.kind} *const row = from{self._at('r', self.lost)};"]
        join = self._join("to[k]", f"row[k * {step}]")
        lines += ["#pragma omp simd", f"for (long k = {low}; k < {high}; k++) to[k] = {join};", *["}"] * more]
        if over:
            lines += ["#pragma omp simd", f"for (long k = {low}; k < {high}; k++) to[k] = to[k]{over};"]
        return [*lines, *["}"] * depth]
