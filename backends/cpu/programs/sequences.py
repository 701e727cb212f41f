"""Recurrent layers: a loop over time in C, with the hand-written kernels of cells.

Examples of a batch do not know of each other: threads share them, and each goes through all steps with its own.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.backends.cpu.compiled import blas, panels, threads
from lucidgrad.levels.program import Equation, Variable

from . import reductions
from .kernels import Kernel, Written, address, direct
from .places import Immediate, Place, whole
from .planning import Planner
from .products import call as product, is_large, matrices
from .steps import real

__all__ = ["HANDLERS"]

#: A unit of a cell takes about as long as this many elements of other loops.
WORK = 4


def _accepts(equation: Equation) -> bool:
    """Whether all arrays are of one dtype, and there are kernels."""
    given = [v for v in equation.inputs if v is not None]
    arrays = [*given, *equation.results]
    if any(type(v) is not Variable for v in given) or len({v.dtype for v in arrays}) > 1:
        return False
    char, kind = arrays[0].dtype.char, equation.primitive.name.partition("_")[0]
    if char not in "fd" or not all(v.size for v in arrays) or blas.functions() is None:
        return False
    names = [] if kind == "rnn" else [f"recurrence.{kind}_step", f"recurrence.{kind}_step_pull"]
    return all(address(name, char) is not None for name in names)


class _Layer:
    """A layer over time: its arrays by their names in C, all without gaps, and the lines of its loop."""

    def __init__(self, planner: Planner, states: Variable, **given: Variable | None) -> None:
        """``states``: hidden states of all steps, whose shape and dtype all others follow."""
        self.planner, self.dtype = planner, states.dtype
        self.steps, self.batch, self.n = states.shape
        self.size = self.batch * self.n
        self.kind, self.letter = real(self.dtype), self.dtype.char.replace("f", "s")
        self.given = {w: planner.contiguous(planner.place(v)) for w, v in given.items() if v is not None}
        self.made: dict[str, Place] = {}
        self.kernels: list[tuple[str, str]] = []
        wide = panels.width(self.dtype.char)
        #: Columns of the panels that weights are packed in; None where that does not pay, or can't be done.
        self.wide = wide if self.batch >= panels.WORTH and self.steps > 1 else None
        self.work = 0  # products of numbers in all

    def write(self, **variables: Variable) -> None:
        """Results."""
        self.made.update({w: self.planner.result(v) for w, v in variables.items()})

    def scratch(self, word: str, *shape: int) -> None:
        """Memory that nobody else asks for."""
        self.made[word] = whole(self.planner.buffer(self.dtype, math.prod(shape)), shape)

    def matmul(self, a: str, width: int, columns: int, c: str, turned: bool = False) -> str:
        """``c = a @ w``, or the transposed w, for the rows that are worked at; w is packed before where that pays."""
        self.work += self.steps * self.batch * width * columns
        if self.wide is not None:
            return self._panels(self.wide, a, width, columns, c, turned)
        buffer = self.given["w"].buffer
        two = Place(buffer, (width, columns), (1, width)) if turned else whole(buffer, (width, columns))
        text = product(self.letter, whole(buffer, (self.batch, width)), two, self.batch, width, columns)
        return text.format(a=a, b="w", c=c)

    def _panels(self, wide: int, a: str, width: int, columns: int, c: str, turned: bool) -> str:
        count, char = -(-columns // wide), self.dtype.char
        packed = whole(self.planner.buffer(self.dtype, count * width * wide), (count, width, wide))
        down, along = (1, width) if turned else (columns, 1)
        fields: list[Any] = [self.given["w"], packed, width, columns, down, along]
        self.planner.append(Kernel("panels.pack_panels", fields, [packed], count, width * columns))
        self.given["panels"] = packed
        self.kernels.append(("panels.panel_product", char))
        rows = ("long", "to - from")
        fields = [f"{a} + from * {width}", "panels", f"{c} + from * {columns}", rows, width, columns, width, columns]
        return direct(self.kernels[-1], fields, "0", str(count))

    def of_weights(self, to_w: Variable, gates: int) -> None:
        """The recurrent weights' cotangent: a product for the first step, and one for all others."""
        width, batch, n = gates * self.n, self.batch, self.n

        def product(rows: int, a: str, y: str, beta: int) -> str:
            return matrices(self.letter, (112, 111), (width, n, rows), (a, width), (y, n), beta, ("to_w", n))

        lines = [product(batch, "a", "h", 0)]
        if self.steps > 1:
            lines.append(product((self.steps - 1) * batch, f"a + {batch * width}", "y", 1))
        given = {"a": self.made["a"], "h": self.given["h"], "y": self.given["y"]}
        step = Written(given, {"to_w": self.planner.result(to_w)}, lines)
        step.multiplies = is_large(self.steps * batch * width * n)
        self.planner.append(step)

    def cell(self, name: str, fields: Sequence[Any]) -> str:
        """A call of a cell's kernel for the rows that are worked at."""
        self.kernels.append((name, self.dtype.char))
        return direct(self.kernels[-1], fields, "from", "to")

    def finish(self, lines: Sequence[str]) -> None:
        """Enter the loop as a step: for the rows ``from`` up to ``to``, which are all where the BLAS multiplies."""
        units, rows = (1, f"0, to = {self.batch}") if self.wide is None else (self.batch, "begin, to = end")
        elements = self.work // panels.PRODUCTS + self.steps * self.size * WORK
        lines = [f"const long from = {rows};", "(void)from, (void)to;", *lines]
        step = Written(self.given, self.made, lines, units=units, elements=elements, kernels=self.kernels)
        share = -(-self.batch // (threads.get_num_threads() * panels.WORTH)) * panels.WORTH
        step.grain = max(panels.WORTH, share)  # more rows at a time read the weights less often
        step.multiplies = is_large(self.work)
        self.planner.append(step)

    def of_bias(self, to_b: Variable, word: str = "a") -> None:
        """The bias's cotangent: sums over all steps and rows."""
        flat = whole(self.made[word].buffer, (self.steps * self.batch, to_b.size))
        reductions.plan_sum(self.planner, flat, self.planner.result(to_b), [0])

    def forwards(self, *lines: str) -> list[str]:
        return [f"for (long t = 0; t < {self.steps}; t++) {{", *lines, "}"]

    def backwards(self, *lines: str) -> list[str]:
        return [f"for (long t = {self.steps - 1}; t >= 0; t--) {{", *lines, "}"]

    def zeros(self, *words: str) -> list[str]:
        cleared = " = ".join(f"{w}[k]" for w in words)
        return [f"for (long k = from * {self.n}; k < to * {self.n}; k++) {cleared} = 0;"]


# -- plain recurrence ------------------------------------------------------------------------------
def _plan_rnn(planner: Planner, equation: Equation) -> None:
    x, h, w, b = (*equation.inputs, None)[:4]
    layer = _Layer(planner, equation.results[0], x=x, h=h, w=w, b=b)
    layer.write(hidden=equation.results[0])
    n, size, kind = layer.n, layer.size, layer.kind
    function = {"tanh": f"tanh{'f' if kind == 'float' else ''}(row[k])"}
    value = function.get(equation.keywords.get("nonlinearity", "tanh"), "row[k] > 0 || row[k] != row[k] ? row[k] : 0")
    each = f"#pragma omp simd\nfor (long k = 0; k < {n}; k++)"
    lines = layer.forwards(
        f"{kind} *const now = hidden + t * {size};",
        layer.matmul(f"(t ? hidden + (t - 1) * {size} : h)", n, n, "now", turned=True),
        "for (long e = from; e < to; e++) {",
        f"{kind} *const row = now + e * {n};",
        f"const {kind} *const in = x + t * {size} + e * {n};",
        f"{each} row[k] = row[k] + in[k]{'' if b is None else ' + b[k]'};",
        f"{each} row[k] = {value};",
        "}",
    )
    layer.finish(lines)


def _plan_rnn_pull(planner: Planner, equation: Equation) -> None:
    (gy, y, h, w), (a, gh, to_w, to_b) = equation.inputs, equation.results
    layer = _Layer(planner, y, gy=gy, y=y, h=h, w=w)
    layer.write(a=a, gh=gh)
    n, size, kind = layer.n, layer.size, layer.kind
    tanh = equation.keywords.get("nonlinearity", "tanh") == "tanh"
    slope = "1 - now[k] * now[k]" if tanh else f"({kind})(now[k] > 0)"
    lines = layer.backwards(
        f"const {kind} *const now = y + t * {size}, *const above = gy + t * {size};",
        f"{kind} *const row = a + t * {size};",
        "#pragma omp simd",
        f"for (long k = from * {n}; k < to * {n}; k++) row[k] = ({slope}) * (gh[k] + above[k]);",
        layer.matmul("row", n, n, "gh"),
    )
    layer.finish([*layer.zeros("gh"), *lines])
    layer.of_weights(to_w, 1)
    layer.of_bias(to_b)


# -- LSTM ------------------------------------------------------------------------------------------
def _plan_lstm(planner: Planner, equation: Equation) -> None:
    x, h, c, w, b = (*equation.inputs, None)[:5]
    layer = _Layer(planner, equation.results[0], x=x, h=h, c=c, w=w, b=b)
    layer.write(hidden=equation.results[0], inner=equation.results[1])
    n, size = layer.n, layer.size
    layer.scratch("a", layer.batch, 4 * n)
    fields = [
        *("a", f"x + t * {4 * size}", None if b is None else "b", *_cells(n, size)[:1]),
        *(f"inner + t * {5 * size}", f"hidden + t * {size}", n, 4 * n, _cells(n, size)[1]),
    ]
    name = "recurrence.lstm_step"
    step = layer.matmul(f"(t ? hidden + (t - 1) * {size} : h)", n, 4 * n, "a", turned=True)
    layer.finish(layer.forwards(step, layer.cell(name, fields)))


def _cells(n: int, size: int) -> tuple[str, tuple[str, str]]:
    """Where the cell states before a step are, and how far apart rows of them."""
    return f"t ? inner + (t - 1) * {5 * size} + {4 * n} : c", ("long", f"t ? {5 * n} : {n}")


def _plan_lstm_pull(planner: Planner, equation: Equation) -> None:
    (gy, gs, y, s, h, c, w), (a, gh, gc, to_w, to_b) = equation.inputs, equation.results
    layer = _Layer(planner, y, gy=gy, y=y, inner=s, h=h, c=c, w=w)
    layer.write(a=a, gh=gh, gc=gc)
    n, size = layer.n, layer.size
    slopes = _slopes(planner, gs, 4 * n)
    if slopes is not None:
        layer.given["gs"] = slopes
    before, row = _cells(n, size)
    fields = [
        *(f"gy + t * {size}", "gh", None if slopes is None else f"gs + t * {5 * size} + {4 * n}"),
        *(f"inner + t * {5 * size}", before, "gc", f"a + t * {4 * size}", n, n, 5 * n, row),
    ]
    name = "recurrence.lstm_step_pull"
    lines = layer.backwards(layer.cell(name, fields), layer.matmul(f"a + t * {4 * size}", 4 * n, n, "gh"))
    layer.finish([*layer.zeros("gh", "gc"), *lines])
    layer.of_weights(to_w, 4)
    layer.of_bias(to_b)


def _slopes(planner: Planner, gs: Variable, width: int) -> Place | None:
    """The cotangent of inner values, of which the first of each row have to be zero; None if all are.

    Where they are asked for, which is rare, the kernel calls run instead.
    """
    if isinstance(found := planner.value(gs), Immediate) and found.value == 0:
        return None
    place = planner.contiguous(planner.place(gs))
    n = gs.shape[-1]
    lines = [
        "int other = 0;",
        f"for (long r = 0; r < {gs.size // n}; r++)",
        f"for (long k = 0; k < {width}; k++) other |= x[r * {n} + k] != 0;",
        "if (other) f->wrong = 1;",
    ]
    planner.append(Written({"x": place}, {}, lines, elements=gs.size, checks=True))
    return place


# -- GRU -------------------------------------------------------------------------------------------
def _plan_gru(planner: Planner, equation: Equation) -> None:
    x, h, w, b = (*equation.inputs, None)[:4]
    layer = _Layer(planner, equation.results[0], x=x, h=h, w=w, b=b)
    layer.write(hidden=equation.results[0], inner=equation.results[1])
    n, size = layer.n, layer.size
    layer.scratch("a", layer.batch, 3 * n)
    before = f"(t ? hidden + (t - 1) * {size} : h)"
    fields = [
        *("a", f"x + t * {3 * size}", None if b is None else "b", before),
        *(f"inner + t * {4 * size}", f"hidden + t * {size}", n, 3 * n, n),
    ]
    name = "recurrence.gru_step"
    step = layer.matmul(before, n, 3 * n, "a", turned=True)
    layer.finish(layer.forwards(step, layer.cell(name, fields)))


def _plan_gru_pull(planner: Planner, equation: Equation) -> None:
    (gy, gs, y, s, h, w), (to_x, gh, to_w, to_b) = equation.inputs, equation.results
    layer = _Layer(planner, y, gy=gy, y=y, inner=s, h=h, w=w)
    layer.write(to_x=to_x, gh=gh)
    n, size = layer.n, layer.size
    layer.scratch("a", layer.steps, layer.batch, 3 * n)
    layer.scratch("product", layer.batch, n)
    _slopes(planner, gs, 4 * n)
    fields = [
        *(f"gy + t * {size}", "product", f"inner + t * {4 * size}", f"t ? y + (t - 1) * {size} : h", "gh"),
        *(f"to_x + t * {3 * size}", f"a + t * {3 * size}", n, n, n),
    ]
    name = "recurrence.gru_step_pull"
    lines = layer.backwards(layer.cell(name, fields), layer.matmul(f"a + t * {3 * size}", 3 * n, n, "product"))
    lines.append(f"for (long k = from * {n}; k < to * {n}; k++) gh[k] += product[k];")
    layer.finish([*layer.zeros("gh", "product"), *lines])
    layer.of_weights(to_w, 3)
    layer.of_bias(to_b)


HANDLERS: dict[str, tuple[Callable[[Equation], bool], Callable[[Planner, Equation], None]]] = {
    "rnn_sequence": (_accepts, _plan_rnn),
    "rnn_sequence_pull": (_accepts, _plan_rnn_pull),
    "lstm_sequence": (_accepts, _plan_lstm),
    "lstm_sequence_pull": (_accepts, _plan_lstm_pull),
    "gru_sequence": (_accepts, _plan_gru),
    "gru_sequence_pull": (_accepts, _plan_gru_pull),
}
