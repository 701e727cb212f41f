"""Calls of the kernels that have a hand-written version in C, and what compares the two.

``python tests/cpu/hand_written.py`` plants a fault at a time into the C sources and prints killed/total.
"""

import contextlib
import functools
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lucidgrad.backends.cpu.compiled import (
    building,
    library,
    memory,
    panels,
    pools,
    puts,
    recurrence,
    rows,
    threads,
    windows,
)
from lucidgrad.backends.cpu.compiled.toolchain import STREAMED
from lucidgrad.backends.cpu.kernels import (
    recurrence as recurrence_kernels,
    reduction,
    rows as row_kernels,
    shape as shape_kernels,
    windows as window_kernels,
)

KERNELS: dict[str, Callable[..., Any]] = {
    name: function
    for module in (row_kernels, reduction, shape_kernels, window_kernels, recurrence_kernels)
    for name, function in module.TABLE.items()
}
MODULES = {"rows": rows, "pools": pools, "puts": puts, "windows": windows, "panels": panels}
MODULES["recurrence"] = recurrence
LIBRARIES = {**{name: module._LIBRARY for name, module in MODULES.items()}, "norms": rows._NORMS}


def packed_product(a: Any, w: Any) -> Any:
    """``a @ w``: w is packed into panels, where that pays."""
    wide = panels.width(a.dtype.char)
    if wide is None or len(a) < panels.WORTH:
        return a @ w
    (rows_, width), columns = a.shape, w.shape[1]
    count = -(-columns // wide)
    packed, y = np.empty((count, width, wide), a.dtype), np.full((rows_, columns), np.nan, a.dtype)
    places = [library.address(x) for x in (a, w, packed, y)]
    steps = [s // a.itemsize for s in (*w.strides, a.strides[0])]
    for name, task in (
        ("pack_panels", (*places[1:3], width, columns, *steps[:2])),
        ("panel_product", (places[0], *places[2:], rows_, width, columns, steps[2], columns)),
    ):
        function = panels._LIBRARY.get(name, a.dtype)
        library.run(function, struct.pack(f"{len(task)}q", *task), count, y.size * width)
    return y


def turned_product(a: Any, b: Any, *before: Any) -> Any:
    """``a.T @ b`` and the sums of a's columns, added to what was before, if there was something."""
    if len(a) < panels.WORTH:
        results = a.T @ b, a.sum(0)
        return tuple(x + y for x, y in zip(results, before or (0, 0), strict=True))
    y, sums = (x.copy() for x in before or (np.full((a.shape[1], b.shape[1]), np.nan, a.dtype), a[0] * np.nan))
    panels.turned_product(a, b, y, sums, bool(before))
    return y, sums


KERNELS |= {"packed_product": packed_product, "turned_product": turned_product}
#: Rows and columns: single ones, odd numbers, more than a part of a sum.
SHAPES = [(1, 1), (5, 1), (1, 33), (7, 13), (70, 19), (3, 2, 45), (2, 2500)]
SPECIAL = (np.nan, np.inf, -np.inf)


@contextlib.contextmanager
def compiled(wanted: bool, count: int = 1) -> Iterator[None]:
    """Everything in C, or nothing; loops are shared among so many threads."""
    before = {(m, k): getattr(m, k) for m in MODULES.values() for k in ("WORTH", "WORTH_SUM", "FULL") if hasattr(m, k)}
    share = threads.share
    try:
        for module, name in before:
            setattr(module, name, 0 if wanted else 1 << 60)
        threads.share = lambda elements: count
        yield
    finally:
        threads.share = share
        for (module, name), value in before.items():
            setattr(module, name, value)


class Calls:
    """Random arrays of a dtype, some with special values, and the calls that are made of them."""

    def __init__(self, dtype: str) -> None:
        self.source, self.dtype = np.random.default_rng(3), np.dtype(dtype)

    def floats(self, *shape: int, special: float | None = None) -> Any:
        x = self.source.standard_normal(shape).astype(self.dtype)
        if special is not None:
            x[self.source.random(shape) < 0.1] = special
        return x

    def whole(self, *shape: int) -> Any:
        """Small integers: sums of them are exact in any order."""
        return self.source.integers(-9, 9, shape).astype(self.dtype)

    def softmax(self) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
        for shape in SHAPES:
            for special in (None, *SPECIAL):
                x, h = self.floats(*shape, special=special), self.floats(*shape)
                for axis in (-1, None, (len(shape) - 2, len(shape) - 1)):
                    for name in ("softmax", "log_softmax"):
                        yield name, (x,), {"axis": axis}
                        with compiled(False):
                            s = KERNELS[name](x, axis=axis)
                        yield f"{name}_pull", (h, s), {"axis": axis}
                    yield "logsumexp", (x,), {"axis": axis, "keepdims": bool(special)}
                    with compiled(False):
                        s = np.asarray(KERNELS["logsumexp"](x, axis=axis))
                    yield "logsumexp_pull", (self.floats(*s.shape), s, x), {"axis": axis}
            x = np.full(shape, -np.inf, self.dtype)
            yield "softmax", (x,), {}
            yield "logsumexp", (x,), {"axis": -1}
            yield "logsumexp_pull", (self.floats(*shape[:-1]), x[..., 0].copy(), x), {"axis": -1}

    def cross_entropy(self) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
        for shape in SHAPES:
            for special in (None, *SPECIAL):
                x, n = self.floats(*shape, special=special), shape[-1]
                i = self.source.integers(-n, n, shape[:-1])
                i[self.source.random(i.shape) < 0.3] = -100
                h = self.floats(*i.shape)
                yield "cross_entropy_rows", (x, i), {}
                yield "cross_entropy_pull", (x, i, h), {}
                yield "cross_entropy_rows", (x, np.zeros(i.shape, np.int32)), {"ignore_index": 1}
                yield "cross_entropy_pull", (x, np.zeros(i.shape, np.int32), h), {"ignore_index": 0}

    def normalisation(self) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
        for shape in SHAPES:
            for special in (None, np.nan, np.inf):
                x, h = self.floats(*shape, special=special) + 2, self.floats(*shape)
                for centre in (True, False):
                    for axes in range(1, len(shape) + 1):
                        axis, given = tuple(range(len(shape) - axes, len(shape))), {"eps": 0.1, "centre": centre}
                        w, b = self.floats(*shape[-axes:]), self.floats(*shape[-axes:])
                        yield "standardise", (x,), {"axis": axis, **given}
                        yield "standardise_pull", (h, x), {"axis": axis, **given}
                        yield "layer_norm", (x, w, b), {"axes": axes, **given}
                        yield "layer_norm", (x, w), {"axes": axes, **given}
                        yield "layer_norm_pull", (h, x, w), {"axes": axes, **given}
        for shape in ((3, 2, 9), (2, 5, 3, 7), (1, 1, 2100)):
            x, h = self.floats(*shape) + 1, self.floats(*shape)
            w, b, m, v = (self.floats(shape[1]) for _ in range(4))
            yield "batch_norm", (x, w, b), {"eps": 0.1}
            yield "batch_norm_pull", (h, x, w, m, v), {"eps": 0.1}

    def sums(self) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
        for shape in (*SHAPES, (40000,), (3, 20, 33), (70, 40), (2, 3, 4, 19)):
            for special in (None, np.nan, np.inf):
                x, rank = self.floats(*shape, special=special), len(shape)
                for axis in {None, 0, -1, tuple(range(rank - 1)), tuple(range(rank))[::2], tuple(range(1, rank)) or 0}:
                    for keepdims in (True, False):
                        for name in ("sum", "mean", "var", "std"):
                            yield name, (x,), {"axis": axis, "keepdims": keepdims}
                    given = {"axis": axis, "correction": 0.5}
                    with compiled(False):
                        s = np.asarray(KERNELS["std"](x, **given))
                    yield "var_pull", (s, x), given
                    tied = np.round(x)
                    top = np.asarray(KERNELS["max"](tied, axis=axis))
                    yield "extreme_pull", (self.floats(*top.shape), top, tied), {"axis": axis}
                    yield "any", (np.where(self.source.random(shape) < 0.02, x, 0).astype(x.dtype),), {"axis": axis}
                    yield "std_pull", (self.floats(*s.shape), s, x), given

    def puts(self) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
        for size in ((1 << 20) // 68 + 3, STREAMED // 68 + 3):  # what is larger than caches is written past them
            i = np.r_[3, self.source.integers(-size, size, 60), self.source.integers(1, 7, 20), size - 2, -size + 4]
            yield "take_put", (self.whole(i.size, 17), i), {"axis": 0, "size": size}
        i = self.source.integers(-50, 50, (40, 60))  # what is large enough for memory that was used before
        yield "take", (self.whole(50, 3, 11), i), {"axis": 0}
        yield "take_put", (np.broadcast_to(self.whole(1, 17), (300, 17)), i.reshape(-1)[:300]), {"axis": 0, "size": 50}
        for n, m, size in ((1, 1, 1), (40, 1, 7), (5, 3, 900), (300, 17, 40), (2000, 40, 3)):
            g, i = self.whole(n, m), self.source.integers(-size, size, n)
            yield "take_put", (g, i), {"axis": 0, "size": size}
            yield "take_put", (np.ascontiguousarray(g.T), i), {"axis": 1, "size": size}
            i = self.source.integers(-size, size, (n, m))
            for axis in (0, 1):
                yield "put_along_axis_add", (g, i), {"axis": axis, "size": size}

    def pools(self) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
        two, none = (2, 2), (0, 0)
        for width in (1, 3, 5, 9, 16, 21, 40):  # windows beside each other, of which few have a NaN
            x = self.whole(64, 6, 2 * width + width % 2)
            x[self.source.random(x.shape) < 0.02] = np.nan
            yield "max_pool", (x,), {"window": two, "stride": two, "padding": none, "dilation": (1, 1)}
        for sizes, window, stride, padding, dilation in GEOMETRIES:
            for lead in ((), (3,), (2, 2)):
                for special in (None, *SPECIAL):
                    x, steps = self.whole(*lead, *sizes), {"window": window, "stride": stride, "padding": padding}
                    if special is not None:
                        x[self.source.random(x.shape) < 0.4] = special
                    if any(2 * p > k for p, k in zip(padding, window, strict=True)):
                        continue
                    for ceil in (False, True):
                        given = {**steps, "ceil_mode": ceil}
                        yield "max_pool", (x,), {**given, "dilation": dilation}
                        with compiled(False):
                            y, i = KERNELS["max_pool"](x, **given, dilation=dilation)
                        yield "pool_put", (self.whole(*y.shape), i), {**steps, "sizes": sizes, "dilation": dilation}
                        for include, divisor in ((True, None), (False, None), (True, 3.0)):
                            more = {"include": include, "divisor": divisor}
                            yield "avg_pool", (x,), {**given, **more}
                            with compiled(False):
                                y = KERNELS["avg_pool"](x, **given, **more)
                            h = self.floats(*y.shape)
                            yield "avg_pool_put", (h,), {**steps, **more, "sizes": sizes}

    def windows(self) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
        for sizes, window, stride, padding, dilation in GEOMETRIES:
            for n, groups, c, o in ((1, 1, 1, 1), (3, 2, 2, 5), (2, 1, 5, 8)):
                x, w = self.floats(n, groups * c, *sizes), self.floats(groups * o, c, *window)
                steps = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
                yield "convolution", (x, w), steps
                with compiled(False):
                    h = self.floats(*KERNELS["convolution"](x, w, **steps).shape)
                yield "convolution_input", (h, w), {"sizes": sizes, **steps}
                yield "convolution_weight", (x, h), {"window": window, **steps}

    def packed(self) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
        for rows_ in (*range(1, 15), 24, 31):  # in every way that rows are taken together
            for width, columns in ((1, 1), (7, 16), (20, 33), (3, 13), (33, 64)):
                a, w = self.floats(rows_, width), self.floats(width, columns)
                yield "packed_product", (a, w), {}
                yield "packed_product", (self.floats(rows_, 2 * width)[:, :width], self.floats(columns, width).T), {}

    def turned(self) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
        for rows_ in (1, 7, 64, 65, 150):  # blocks, and what is left of them
            for width, columns in ((1, 1), (12, 16), (15, 33), (29, 13), (300, 64)):
                a, b = self.floats(rows_, width), self.floats(rows_, columns)
                yield "turned_product", (a, b), {}
                yield "turned_product", (a, b, self.floats(width, columns), self.floats(width)), {}

    def recurrence(self) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
        for steps, batch, n in ((1, 5, 3), (4, 1, 20), (5, 4, 33), (3, 30, 7)):
            gy, h, c = self.floats(steps, batch, 2 * n)[..., ::2], self.floats(batch, n), self.floats(2 * batch, n)[::2]
            for kind, gates, kept, states in (("lstm", 4, 5, (h, c)), ("gru", 3, 4, (h,)), ("rnn", 1, 0, (h,))):
                x, w, b = self.floats(batch, steps, gates * n), self.floats(gates * n, n), self.floats(gates * n)
                given = (np.swapaxes(x, 0, 1), *states, w / n**0.5)
                inner = [self.floats(steps, batch, kept * n) * 0] if kept else []
                for keywords in ({}, {"nonlinearity": "relu"}) if kind == "rnn" else ({},):
                    yield f"{kind}_sequence", given, keywords
                    yield f"{kind}_sequence", (*given, b), keywords
                    with compiled(False):
                        made = KERNELS[f"{kind}_sequence"](*given, **keywords)
                    made = made if kept else (made,)
                    yield f"{kind}_sequence_pull", (gy, *inner, *made, *given[1:]), keywords
                if kind == "lstm":  # the cell states are asked for, too
                    inner[0][..., 4 * n :] = self.floats(steps, batch, n)
                    yield "lstm_sequence_pull", (gy, *inner, *made, *given[1:]), {}


#: Sizes, window, stride, padding and dilation along one, two and three axes.
GEOMETRIES = [
    ((9,), (3,), (1,), (1,), (1,)),
    ((37,), (4,), (3,), (0,), (2,)),
    ((11, 14), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((8, 16), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((7, 23), (3, 2), (2, 3), (1, 1), (1, 2)),
    ((5, 9), (1, 1), (1, 2), (0, 0), (1, 1)),
    ((6, 12), (2, 3), (3, 4), (1, 0), (2, 1)),
    ((4, 8), (2, 3), (1, 1), (3, 4), (1, 1)),
    ((4, 5, 10), (2, 3, 3), (1, 2, 2), (1, 0, 1), (1, 1, 2)),
]

FAMILIES = ("softmax", "cross_entropy", "normalisation", "sums", "puts", "pools", "windows", "packed")
FAMILIES += "turned", "recurrence"
#: What must agree in every bit, because C does the same operations in the same order.
EXACT = ("any", "take", "take_put", "put_along_axis_add", "max_pool", "pool_put", "avg_pool", "avg_pool_put")


def run(name: str, args: tuple[Any, ...], keywords: dict[str, Any], in_c: bool, count: int = 1) -> list[Any]:
    """The results of a call as a list of arrays."""
    if name == "take_put":  # memory that it may get is not zero
        memory.empty((keywords["size"], args[0].size // args[1].size), args[0].dtype).fill(np.nan)
    with compiled(in_c, count), np.errstate(all="ignore"):
        y = KERNELS[name](*args, **keywords)
    return [np.asarray(r) for r in (y if isinstance(y, tuple) else (y,))]


def agree(name: str, found: list[Any], right: list[Any]) -> bool:
    """Whether results are those of NumPy: the same shapes, dtypes and special values, and nearly the same others."""
    for a, b in zip(found, right, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if name in EXACT:
            if not np.array_equal(a, b, equal_nan=True):
                return False
            continue
        near = 5e-5 if b.dtype == np.float32 else 1e-12
        size = np.abs(b[np.isfinite(b)]).max(initial=0.01)
        if not np.allclose(a, b, near, near * float(size), equal_nan=True):
            return False
    return True


@functools.cache
def calls(family: str, dtype: str) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """All calls of a family."""
    with np.errstate(all="ignore"):
        return list(getattr(Calls(dtype), family)())


@functools.cache
def expected(family: str, dtype: str) -> list[list[Any]]:
    """What NumPy makes of them."""
    return [run(*call, in_c=False) for call in calls(family, dtype)]


def disagreement(family: str, dtype: str) -> str | None:
    """The first call of a family that C and NumPy do not agree on."""
    for (name, args, keywords), right in zip(calls(family, dtype), expected(family, dtype), strict=True):
        if not agree(name, run(name, args, keywords, in_c=True), right):
            return f"{name} of {[a.shape for a in args]} with {keywords}"
    return None


# -- planted faults ------------------------------------------------------------------------------
#: By source: the family that must notice, and what is replaced by what, where it occurs first after the third entry.
FAULTS: dict[str, list[tuple[str, str, str, str]]] = {
    "rows": [
        ("softmax", "y[k] * rate * scale", "y[k] + rate * scale", "shares)"),
        ("softmax", "powers[k] * rate", "powers[k] + rate", "shares)"),
        ("softmax", "x[k] : (REAL)-LG_INFINITY", "x[k] : 0", "fill_up)"),
        ("softmax", "(AT(a, k) - inner)", "(AT(a, k) + inner)", "softmax_pull_rows)"),
        ("softmax", "AT(from, k) - top - size", "AT(from, k) - top + size", "log_softmax)"),
        ("softmax", "POWER(AT(b, k)) * all", "POWER(AT(a, k)) * all", "log_softmax_pull)"),
        ("softmax", "+ shift;", "- shift;", "log_powers_of)"),
        ("softmax", "top <= shift", "1", "log_powers_of)"),
        ("softmax", "s[row] == (REAL)-LG_INFINITY", "s[row] == 1", "logsumexp_pull)"),
        ("cross_entropy", "- from[target]", "+ from[target]", "cross_entropy_rows)"),
        ("cross_entropy", "given += n", "given += n - 1", "class_of"),
        ("cross_entropy", "to[target] -= scale", "to[target] += scale", "cross_entropy_pull)"),
        ("cross_entropy", "? 0 : h[row]", "? 1 : h[row]", "cross_entropy_pull)"),
        ("sums", "y[c] = (REAL)s", "y[c] = -(REAL)s", "channel_sums)"),
        ("sums", "all[k] += s[k]", "all[k] = s[k]", "column_sums)"),
        ("sums", "c[k] + d[k]", "d[k] + d[k]", "column_sums)"),
        ("sums", "row < to; row++", "row < to - 1; row++", "column_sums)"),
        ("sums", "rooted ? sqrt(q) : q", "rooted ? q : sqrt(q)", "variances)"),
        ("sums", "(AT(from, k) - mean)", "(AT(from, k) + mean)", "scaled_distance_rows)"),
        ("sums", "count += some", "count = some", "extreme_pull)"),
        ("sums", "h[row] / count", "h[row]", "extreme_pull)"),
        ("sums", "k < t->n && !found", "k < t->n - 1 && !found", "any_rows)"),
        ("sums", "found |= from[k + j]", "found = from[k + j]", "any_rows)"),
        ("sums", "n - part * size : size", "size : n - part * size", "part_sums)"),
    ],
    "norms": [
        ("normalisation", "/ n + eps", "/ n - eps", "moments)"),
        ("normalisation", "+ AT(b, k)", "- AT(b, k)", "layer_norm_rows)"),
        ("normalisation", "- level - to[k]", "+ level - to[k]", "standardise_pull)"),
        ("normalisation", "sum_w[k] += a[k] * s", "sum_w[k] += s", "layer_norm_pull_rows)"),
        ("normalisation", "sum_b[k] += a[k]", "sum_b[k] -= a[k]", "layer_norm_pull_rows)"),
        ("normalisation", "* rate * slope", "* slope", "layer_norm_pull_rows)"),
        ("normalisation", "2 * block + 1", "2 * block", "layer_norm_sums)"),
        ("normalisation", "* rate + shift", "* rate - shift", "batch_norm)"),
        ("normalisation", "2 * (double)v[c]", "(double)v[c]", "batch_norm_pull)"),
        ("normalisation", "(m[c] - w[c]", "(m[c] + w[c]", "batch_norm_pull)"),
    ],
    "puts": [
        ("puts", "to[j] += from[j]", "to[j] -= from[j]", "add_stretch)"),
        ("puts", "t->x + t->i[k] *", "t->x + t->i[0] *", "take_rows)"),
        ("puts", "y[i[k]] += g[k]", "y[i[k]] = g[k]", "add_stretch)"),
        ("puts", "i[k] >= last", "i[k] >= last - 1", "add_stretch)"),
        (
            "puts",
            "heads[i[k] - first] = (int)k + 1",
            "if (!heads[i[k] - first]) heads[i[k] - first] = (int)k + 1",
            "by_place",
        ),
        ("puts", "to[j] += t->g", "to[j] = t->g", "write_stretch)"),
        ("puts", "write_zeros(", "if (empty) write_zeros(", "write_stretch)"),
        ("puts", "row * m + j", "row + j", "write_stretch)"),
    ],
    "pools": [
        ("pools", "a == top ? 0 : place", "a > top ? 0 : place", "some_squares)"),
        ("pools", "b > top ? b : top", "b < top ? b : top", "some_squares)"),
        ("pools", "pitch + below : right", "pitch + right : below", "odd_squares)"),
        ("pools", "(x[k + pitch] != x[k + pitch])", "0", " NAME(squares)"),
        ("pools", "(v > old)", "(v >= old)", "larger)"),
        ("pools", "(v != v) & (old == old)", "(v != v)", "larger)"),
        ("pools", "(v != v) & (old == old)", "0", "larger)"),
        ("pools", "to[at[k]] += from[k]", "to[at[k]] = from[k]", "pool_put)"),
        ("pools", "start < 0", "start < -1", "extent"),
        ("pools", "to[k] /= count[k]", "to[k] *= count[k]", "avg_pool)"),
        ("pools", "from[k] / count[k]", "from[k]", "avg_pool_put)"),
        ("pools", "up(-offset, s)", "up(-offset, s) + 1", "reach"),
        ("pools", "x >= p->sizes[1]", "x > p->sizes[1]", "line"),
    ],
    "windows": [
        ("windows", "b1 += u * x1", "b1 -= u * x1", "block)"),
        ("windows", "c2 += u * x2", "c2 += u * x1", "outer)"),
        ("windows", "at / a->phases", "at / a->phases + 1", "fill)"),
        ("windows", "to[l * step]", "to[l]", "places)"),
        ("windows", "w[(o + i) * count + k] : 0", "w[o * count + k] : 0", "pack)"),
        ("windows", "part * t->n / t->parts", "0", "correlate)"),
        ("windows", "unit % t->groups", "0 * t->groups", "correlate)"),
        ("windows", "e % t->groups", "0 * t->groups", "convolve)"),
    ],
    "panels": [
        ("packed", "r[i] += u * two", "r[i] += u * one", "rows)"),
        ("packed", "k * t->down", "k * t->along", "pack_panels)"),
        ("packed", "s[c]", "r[c]", "put)"),
        ("packed", "r[c - LANES]", "s[c - LANES]", "put)"),
        ("packed", "i * a_row + k", "i * width + k", "rows)"),
        ("packed", "p * width * WIDE", "0 * width * WIDE", "panel_product)"),
        ("packed", "I p = begin", "I p = begin + 1", "pack_panels)"),
        ("packed", "I k = 0", "I k = 1", "rows)"),
        ("packed", "row += some", "row += some + 1", "panel_product)"),
        ("turned", "r[i] += u * two", "r[i] += u * one", "tile)"),
        ("turned", "s[i][c] = from[c]", "s[i][c] = 0", "tile)"),
        ("turned", "r[i][c - LANES] = from[c]", "r[i][c - LANES] = 0", "tile)"),
        ("turned", "s[i] = LOAD(from)", "s[i] = LOAD(from + LANES)", "tile)"),
        ("turned", "first += COLUMNS", "first += COLUMNS + 1", "add_columns)"),
        ("turned", "k || t->adds", "t->adds", "turned_product)"),
        ("turned", "if (!t->adds)", "if (t->adds)", "turned_product)"),
        ("turned", "c - whole", "0", "turned_product)"),
        ("turned", "? columns : WIDE", "? columns : columns", "turned_product)"),
    ],
    "recurrence": [
        ("recurrence", "a[k] + x[k] + b[k]", "a[k] + x[k]", "lstm_cell)"),
        ("recurrence", "1 + EXP", "2 + EXP", "sigmoid)"),
        ("recurrence", "(step - 1) * size", "0 * size", "lstm_sequence)"),
        ("recurrence", "step ? 5 * n : n", "5 * n", "lstm_sequence)"),
        ("recurrence", "r * t->x_row", "r * 4 * n", "lstm_sequence)"),
        ("recurrence", "gc[k] += to_c[k]", "gc[k] += 0", "lstm_cell_pull)"),
        ("recurrence", "t->gh[k] = t->gc[k] = 0", "t->gh[k] = t->gc[k] = 1", "lstm_sequence_pull)"),
        ("recurrence", "r * t->to_c_row", "r * n", "lstm_sequence_pull)"),
        ("recurrence", "a[k] + b[k]", "a[k]", "gru_cell)"),
        ("recurrence", "h[k] - s[k + 2 * n]", "h[k]", "gru_cell)"),
        ("recurrence", "t->gh[k] = t->product[k] = 0", "t->gh[k] = t->product[k] = 1", "gru_sequence_pull)"),
        ("recurrence", "product[k] + gy[k]", "gy[k]", "gru_cell_pull)"),
        ("recurrence", "y[k] + x[k] + b[k]", "y[k] + x[k]", "rnn_sequence)"),
        ("recurrence", "y[k] > 0 ||", "y[k] > 1 ||", "rnn_sequence)"),
        ("recurrence", "y[k] > 0 ?", "1 ?", "rnn_sequence_pull)"),
        ("recurrence", "t->gh[k] = 0", "t->gh[k] = 1", "rnn_sequence_pull)"),
    ],
}


@contextlib.contextmanager
def planted(name: str, old: str, new: str, after: str) -> Iterator[None]:
    """A source with a fault, for the time of a block."""
    text = (Path(library.__file__).parent / f"{name}.c").read_text()
    start = text.index(after)
    assert old in text[start:], f"{name}.c has no {old!r} after {after!r}"
    text = text[:start] + text[start:].replace(old, new, 1)
    load, found, flags = building.load, LIBRARIES[name]._found, ("-O1",)
    before = dict(found)
    try:
        building.load = lambda n, source, given=(): load(n, text if n == name else source, (*given, *flags))
        found.clear()
        yield
    finally:
        building.load = load
        found.clear()
        found.update(before)


def survives(name: str, family: str, old: str, new: str, after: str) -> bool:
    """Whether nobody notices a fault."""
    with planted(name, old, new, after):
        return all(disagreement(family, dtype) is None for dtype in ("float64", "float32"))


if __name__ == "__main__":
    faults = [(name, *fault) for name, each in FAULTS.items() for fault in each]
    alive = [fault for fault in faults if survives(*fault)]
    print(f"{len(faults) - len(alive)}/{len(faults)} killed", *alive, sep="\n")
    sys.exit(bool(alive))
