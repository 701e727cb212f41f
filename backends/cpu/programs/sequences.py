"""Recurrent layers: the kernels of whole sequences, which eager calls run as well, so that results are theirs.

Examples of a batch do not know of each other: threads share them, and each goes through all steps with its own.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.backends.cpu.compiled import blas, panels, recurrence
from lucidgrad.backends.cpu.compiled.recurrence import WORK
from lucidgrad.levels.program import Equation, Variable

from .kernels import Kernel, Written, address, call, word
from .places import Immediate, Place, whole
from .planning import Planner
from .products import call as product, is_large

__all__ = ["HANDLERS"]


def _accepts(equation: Equation) -> bool:
    """Whether all arrays are of one dtype, and there are kernels."""
    given = [v for v in equation.inputs if v is not None]
    arrays = [*given, *equation.results]
    if any(type(v) is not Variable for v in given) or len({v.dtype for v in arrays}) > 1:
        return False
    char = arrays[0].dtype.char
    if char not in "fd" or not all(v.size for v in arrays) or blas.functions() is None:
        return False
    return panels.width(char) is not None and address(f"recurrence.{equation.primitive.name}", char) is not None


class _Layer:
    """A layer over time: what its kernels ask for, all arrays without gaps."""

    def __init__(self, planner: Planner, states: Variable) -> None:
        """``states``: hidden states of all steps, whose shape and dtype all others follow."""
        self.planner, self.dtype = planner, states.dtype
        self.shape = self.steps, self.batch, self.n = states.shape
        self.work = 0  # products of numbers in all

    def given(self, *variables: Variable | None) -> list[Any]:
        """Where inputs are, or None."""
        return [None if v is None else self.planner.contiguous(self.planner.place(v)) for v in variables]

    def results(self, *variables: Variable) -> list[Place]:
        return [self.planner.result(v) for v in variables]

    def scratch(self, *shape: int) -> Place:
        """Memory that nobody else asks for."""
        return whole(self.planner.buffer(self.dtype, math.prod(shape)), shape)

    def room(self, a: Place) -> list[Place]:
        """What products are made in, if it is the kernel that makes them: otherwise it reads them there."""
        return [a] if self.steps > 1 else []

    def weights(self, w: Place, turned: bool) -> list[Any]:
        """What a kernel is told of w, or the transposed w, which is packed once for all steps if there are several."""
        if self.steps == 1:
            return [None, None, 0, 0, 0]
        char, (width, columns), (down, along) = self.dtype.char, w.shape, (w.shape[1], 1)
        if turned:
            width, columns, down, along = columns, width, along, down
        wide = panels.width(char)
        assert wide is not None  # it is accepted
        count = -(-columns // wide)
        packed = self.scratch(count, width, wide)
        fields: list[Any] = [w, packed, width, columns, down, along]
        self.planner.append(Kernel("panels.pack_panels", fields, [packed], count, width * columns))
        self.work = self.steps * self.batch * width * columns
        return [packed, ("const void *", f"f->kernels.{word('panels.panel_product', char)}"), width, columns, count]

    def single(self, a: Place, w: Place, c: Place, turned: bool) -> None:
        """``c = a @ w``, or the transposed w, where there is but one step: a product of the BLAS's."""
        if self.steps > 1:
            return
        width, columns = w.shape[::-1] if turned else w.shape
        two = Place(w.buffer, (width, columns), (1, width)) if turned else whole(w.buffer, (width, columns))
        letter = self.dtype.char.replace("f", "s")
        text = product(letter, whole(a.buffer, (self.batch, width)), two, self.batch, width, columns)
        step = Written({"a": a, "w": w}, {"c": c}, [text.format(a="a", b="w", c="c")])
        step.multiplies = is_large(self.batch * width * columns)
        self.planner.append(step)

    def run(self, name: str, weights: Sequence[Any], places: Sequence[Any], numbers: Sequence[int], made: Any) -> None:
        """The kernel for all steps, whose units are rows."""
        elements = self.work // panels.PRODUCTS + math.prod(self.shape) * WORK
        fields = [*weights, *places, *self.shape, *numbers]
        calls = [("panels.panel_product", self.dtype.char)] if self.steps > 1 else []
        step = Kernel(f"recurrence.{name}", fields, made, self.batch, elements, calls=calls)
        step.grain = recurrence.share(self.batch)
        self.planner.append(step)

    def of_weights(self, a: Place, h: Place, y: Place, to_w: Variable, to_b: Variable) -> None:
        """The recurrent weights' and the bias's cotangents: products and sums over the first step, and all others."""
        batch, n, width, kernel = self.batch, self.n, to_b.size, ("panels.turned_product", self.dtype.char)
        lines = []
        for steps, first, second, adds in ((1, "a", "h", 0), (self.steps - 1, f"a + {batch * width}", "y", 1)):
            if steps:
                fields = [first, second, "to_w", "to_b", steps * batch, width, n, adds]
                work = steps * batch * width * n // panels.PRODUCTS
                lines.append(call(kernel, fields, str(-(-width // panels.TILE)), str(work)))
        made = dict(zip(("to_w", "to_b"), self.results(to_w, to_b), strict=True))
        self.planner.append(Written({"a": a, "h": h, "y": y}, made, lines, kernels=[kernel]))


# -- plain recurrence ------------------------------------------------------------------------------
def _is_tanh(equation: Equation) -> int:
    return int(equation.keywords.get("nonlinearity", "tanh") == "tanh")


def _plan_rnn(planner: Planner, equation: Equation) -> None:
    layer = _Layer(planner, equation.results[0])
    x, h, w, b = layer.given(*(*equation.inputs, None)[:4])
    (hidden,) = layer.results(*equation.results)
    weights = layer.weights(w, turned=True)
    layer.single(h, w, hidden, turned=True)
    numbers = layer.batch * layer.n, layer.n, _is_tanh(equation)
    layer.run("rnn_sequence", weights, [x, h, b, hidden], numbers, [hidden])


def _plan_rnn_pull(planner: Planner, equation: Equation) -> None:
    layer = _Layer(planner, equation.inputs[1])
    gy, y, h, w = layer.given(*equation.inputs)
    a, gh = layer.results(*equation.results[:2])
    numbers = layer.batch * layer.n, layer.n, _is_tanh(equation)
    layer.run("rnn_sequence_pull", layer.weights(w, turned=False), [gy, y, gh, a], numbers, [gh, a])
    layer.single(a, w, gh, turned=False)
    layer.of_weights(a, h, y, *equation.results[2:])


# -- LSTM ------------------------------------------------------------------------------------------
def _plan_lstm(planner: Planner, equation: Equation) -> None:
    layer = _Layer(planner, equation.results[0])
    x, h, c, w, b = layer.given(*(*equation.inputs, None)[:5])
    hidden, inner = layer.results(*equation.results)
    batch, width = layer.batch, 4 * layer.n
    a, weights = layer.scratch(batch, width), layer.weights(w, turned=True)
    made = [inner, hidden, *layer.room(a)]
    layer.single(h, w, a, turned=True)
    layer.run("lstm_sequence", weights, [x, h, c, b, a, inner, hidden], (batch * width, width), made)


def _plan_lstm_pull(planner: Planner, equation: Equation) -> None:
    gs = equation.inputs[1]
    layer = _Layer(planner, equation.inputs[2])
    gy, y, s, h, c, w = layer.given(equation.inputs[0], *equation.inputs[2:])
    a, gh, gc = layer.results(*equation.results[:3])
    batch, n = layer.batch, layer.n
    slopes = _slopes(planner, gs, 4 * n)
    rows = batch * 5 * n, 5 * n
    to_c = None if slopes is None else Place(slopes.buffer, layer.shape, (*rows, 1), slopes.offset + 4 * n)
    numbers = batch * n, n, *rows
    weights = layer.weights(w, turned=False)
    layer.run("lstm_sequence_pull", weights, [gy, to_c, s, c, gh, gc, a], numbers, [gh, gc, a])
    layer.single(a, w, gh, turned=False)
    layer.of_weights(a, h, y, *equation.results[3:])


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
    layer = _Layer(planner, equation.results[0])
    x, h, w, b = layer.given(*(*equation.inputs, None)[:4])
    hidden, inner = layer.results(*equation.results)
    batch, width = layer.batch, 3 * layer.n
    a, weights = layer.scratch(batch, width), layer.weights(w, turned=True)
    made = [inner, hidden, *layer.room(a)]
    layer.single(h, w, a, turned=True)
    layer.run("gru_sequence", weights, [x, h, b, a, inner, hidden], (batch * width, width), made)


def _plan_gru_pull(planner: Planner, equation: Equation) -> None:
    gs = equation.inputs[1]
    layer = _Layer(planner, equation.inputs[2])
    gy, y, s, h, w = layer.given(equation.inputs[0], *equation.inputs[2:])
    to_x, gh = layer.results(*equation.results[:2])
    steps, batch, n = layer.shape
    a, through = layer.scratch(steps, batch, 3 * n), layer.scratch(batch, n)
    _slopes(planner, gs, 4 * n)
    weights, made = layer.weights(w, turned=False), [gh, through, to_x, a]
    layer.run("gru_sequence_pull", weights, [gy, s, h, y, *made], (batch * n, n), made)
    layer.single(a, w, through, turned=False)
    lines = [f"for (long k = 0; k < {batch * n}; k++) gh[k] = directly[k] + through[k];"]
    planner.append(Written({"directly": gh, "through": through}, {"gh": gh}, lines, elements=batch * n))
    layer.of_weights(a, h, y, *equation.results[2:])


HANDLERS: dict[str, tuple[Callable[[Equation], bool], Callable[[Planner, Equation], None]]] = {
    "rnn_sequence": (_accepts, _plan_rnn),
    "rnn_sequence_pull": (_accepts, _plan_rnn_pull),
    "lstm_sequence": (_accepts, _plan_lstm),
    "lstm_sequence_pull": (_accepts, _plan_lstm_pull),
    "gru_sequence": (_accepts, _plan_gru),
    "gru_sequence_pull": (_accepts, _plan_gru_pull),
}
