"""Matrix products by NumPy's BLAS, straight from C: transposed operands as they are, batches one by one."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from lucidgrad.backends.cpu.compiled import blas, threads
from lucidgrad.backends.cpu.compiled.panels import PRODUCTS
from lucidgrad.levels.program import Equation

from .loops import Entry, Expression, collapsed
from .places import Buffer, Place, whole
from .planning import Planner
from .steps import Step, pointer, real

__all__ = ["accepts", "are_shared", "call", "is_large", "leading", "matrices", "plan", "usable"]


_SUM = Expression([], "({0} + {1})", (True, True))


def accepts(equation: Equation) -> bool:
    """Whether C calls the BLAS for a product."""
    dtypes = {x.dtype for x in (*equation.inputs, *equation.results)}
    if len(dtypes) > 1 or dtypes.pop().char not in "fd" or blas.functions() is None:
        return False
    sizes = [x.size for x in (*equation.inputs, *equation.results)]
    return all(0 < n < 1 << 31 for n in sizes) and all(x.shape for x in equation.inputs[:2])


def _turned(x: Place) -> Place:
    order = (*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2)
    return Place(x.buffer, tuple(x.shape[a] for a in order), tuple(x.steps[a] for a in order), x.offset)


def plan(planner: Planner, equation: Equation) -> None:
    """The steps of `matmul`, `linear`, `affine` or `across`."""
    name = equation.primitive.name
    x1, x2 = (planner.place(x) for x in equation.inputs[:2])
    bias = [planner.value(x) for x in equation.inputs[2:]]
    (y,) = equation.results
    if name in ("linear", "affine"):
        x2 = _turned(x2)
    elif name == "across":
        x1 = _turned(x1)
    if len(x1.shape) == 1:
        x1 = Place(x1.buffer, (1, *x1.shape), (0, *x1.steps), x1.offset)
    if len(x2.shape) == 1:
        x2 = Place(x2.buffer, (*x2.shape, 1), (*x2.steps, 0), x2.offset)
    if len(x1.shape) > 2 and len(x2.shape) == 2:  # one product for all
        lead, inner = x1.shape[:-1], x1.shape[-1]
        merged = x1.reshaped((math.prod(lead), inner)) if math.prod(lead) and inner else None
        x1 = merged or x1
    x1, x2 = (usable(planner, x) for x in (x1, x2))
    if not bias:
        planner.append(_Product(x1, x2, planner.result(y)))
        return
    product = whole(planner.buffer(y.dtype, y.size), y.shape)
    planner.append(_Product(x1, x2, product))
    planner.entry(Entry(_SUM, [product, bias[0]], planner.result(y)))  # with what is done to the sum next


def usable(planner: Planner, x: Place) -> Place:
    """As it is if the BLAS takes it, else a copy."""
    return x if leading(x) is not None else planner.copied(x, x.shape)


def leading(x: Place) -> tuple[bool, int] | None:
    """Whether a matrix is stored by columns, and how far its rows (or columns) are apart."""
    (rows, columns), (down, along) = x.shape[-2:], x.steps[-2:]
    if columns == 1 or along == 1:
        return (False, max(down if rows > 1 else columns, columns)) if rows == 1 or down >= columns else None
    if (rows == 1 or down == 1) and along >= rows:
        return True, along
    return None


class _Product(Step):
    """Products of matrices."""

    def __init__(self, x1: Place, x2: Place, target: Place) -> None:
        self.x1, self.x2, self.target = x1, x2, target
        m, k, n = x1.shape[-2], x1.shape[-1], x2.shape[-1]
        self.count = target.size // (m * n)
        self.units = self.count if are_shared(self.count, m * n * k) else 1
        self.elements = target.size * k // PRODUCTS
        self.grain = max(1, min(-(-self.units // 8), 65536 * self.units // max(self.elements, 1)))
        self.multiplies = is_large(target.size * k)

    def reads(self) -> Iterable[Buffer]:
        return [self.x1.buffer, self.x2.buffer]

    def writes(self) -> Iterable[Buffer]:
        return [self.target.buffer]

    def body(self) -> list[str]:
        x1, x2, y = self.x1, self.x2, self.target
        kind, letter = real(y.dtype), y.dtype.char.replace("f", "s")
        m, k, n = x1.shape[-2], x1.shape[-1], x2.shape[-1]
        lines = ["(void)begin, (void)end;"] if self.units == 1 else []
        lines += [
            f"{'const ' if word != 'y' else ''}{kind} *const {word} = {pointer(p.buffer, p.offset)};"
            for word, p in (("x1", x1), ("x2", x2), ("y", y))
        ]
        text = call(letter, x1, x2, m, k, n, self.units == 1)
        if self.count == 1:
            lines.append(text.format(a="x1", b="x2", c="y"))
        else:
            lines += self._batches(text, m * n)
        return lines

    def _batches(self, text: str, size: int) -> list[str]:
        lead: Any = self._lead()
        first, second = (p.broadcast((*lead, *p.shape[-2:])).steps[:-2] for p in (self.x1, self.x2))
        own, step = [], size
        for n in reversed(lead):
            own.append(step)
            step *= n
        shape, (a, b, c) = collapsed(lead, [first, second, own[::-1]])
        head = f"for (long e = 0; e < {self.count}; e++) {{"
        lines = [head if self.units == 1 else "for (long e = begin; e < end; e++) {"]
        rest = 1
        for axis, n in reversed(list(enumerate(shape))):
            lines.append(f"const long i{axis} = e / {rest} % {n};")
            rest *= n
        at = ["".join(f" + i{axis} * {s}" for axis, s in enumerate(steps) if s) for steps in (a, b, c)]
        return [*lines, text.format(a=f"x1{at[0]}", b=f"x2{at[1]}", c=f"y{at[2]}"), "}"]

    def _lead(self) -> tuple[int, ...]:
        one, two = self.x1.shape[:-2], self.x2.shape[:-2]
        rank = max(len(one), len(two))
        one, two = ((1,) * (rank - len(s)) + s for s in (one, two))
        return tuple(b if a == 1 else a for a, b in zip(one, two, strict=True))


def call(letter: str, x1: Place, x2: Place, m: int, k: int, n: int, divided: bool = True) -> str:
    """One product: of vectors where one side is one, as NumPy has it."""
    one, two = leading(x1), leading(x2)
    assert one is not None
    assert two is not None
    if m == 1 and n == 1:
        by1, by2 = (x1.steps[-1] if k > 1 else 1), (x2.steps[-2] if k > 1 else 1)
        return f"*({{c}}) = f->blas.{letter}dot({k}, {{a}}, {by1}, {{b}}, {by2});"
    if n == 1:
        turned, by = (112, 111)[not one[0]], (x2.steps[-2] if k > 1 else 1)
        rows, columns = (k, m) if one[0] else (m, k)
        return f"f->blas.{letter}gemv(101, {turned}, {rows}, {columns}, 1, {{a}}, {one[1]}, {{b}}, {by}, 0, {{c}}, 1);"
    if m == 1:
        turned, by = (111, 112)[not two[0]], (x1.steps[-1] if k > 1 else 1)
        rows, columns = (n, k) if two[0] else (k, n)
        return f"f->blas.{letter}gemv(101, {turned}, {rows}, {columns}, 1, {{b}}, {two[1]}, {{a}}, {by}, 0, {{c}}, 1);"
    turns = [112 if t else 111 for t, _ in (one, two)]
    return matrices(letter, turns, (m, n, k), ("{a}", one[1]), ("{b}", two[1]), 0, ("{c}", n), divided)


def matrices(
    letter: str,
    turns: Sequence[int],
    sizes: tuple[int, int, int],
    a: tuple[str, int],
    b: tuple[str, int],
    beta: int,
    c: tuple[str, int],
    divided: bool = True,
) -> str:
    """``c = a @ b + beta * c``, where matrices are addresses with the distance of their rows.

    ``turns`` says in CBLAS's words which of a and b are transposed, ``sizes`` are the rows of the result, its columns,
    and the terms of sums. ``divided``: by several threads if it is large.
    """
    head = ", ".join(map(str, (*turns, *sizes)))
    rest = ", ".join(map(str, (*a, *b, beta, *c)))
    if divided:
        return f"lg_{letter}gemm(f, {head}, {rest});"
    return f"f->blas.{letter}gemm(101, {head}, 1, {rest});"


def are_shared(count: int, work: int) -> bool:
    """Whether threads share so many pieces of work, instead of going through them one by one together."""
    return count > 1 and (count >= threads.get_num_threads() or not is_large(work))


def is_large(work: int) -> bool:
    """Whether so many products of numbers are worth several threads."""
    return work // PRODUCTS >= 2 * threads.PER_THREAD
