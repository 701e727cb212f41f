"""Calls of every primitive that has a hand-written CUDA kernel: shapes that reach each way through a kernel."""

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lucidgrad.extents import out_sizes

LARGE = 1_000_000


@dataclass(frozen=True)
class Case:
    """Shapes of arrays (or makers of them), and keywords. ``large``: a million elements."""

    args: tuple[Any, ...]
    keywords: dict[str, Any]
    large: bool = False
    after: Callable[[list[Any]], list[Any]] | None = None  # what arrays are that depend on others

    def arrays(self, seed: int = 0) -> list[Any]:
        rng = np.random.default_rng([seed, len(self.args)])
        made = (arg(rng) if callable(arg) else arg if arg is None else rng.normal(size=arg) for arg in self.args)
        arrays = [a if a is None else np.asarray(a) for a in made]
        return arrays if self.after is None else self.after(arrays)

    def __str__(self) -> str:
        words = ["made" if callable(arg) else str(arg) for arg in self.args]
        return f"({', '.join(words)}, {self.keywords})"


def integers(low: int, high: int, shape: tuple[int, ...]) -> Callable[[Any], np.ndarray]:
    return lambda rng: rng.integers(low, max(high, low + 1), shape)


def positive(shape: tuple[int, ...]) -> Callable[[Any], np.ndarray]:
    return lambda rng: np.asarray(rng.uniform(0.5, 2.0, shape))


def ones(shape: tuple[int, ...]) -> Callable[[Any], np.ndarray]:
    return lambda rng: np.ones(shape)


def whole(shape: tuple[int, ...]) -> Callable[[Any], np.ndarray]:
    """Few values, so that several are the largest; some rows don't have it."""
    return lambda rng: np.asarray(rng.integers(0, 2, shape), dtype=float)


#: Shapes, and axes along which they are reduced: a thread, lanes of a warp, a block for a row; gaps between elements.
ROWS: list[tuple[tuple[int, ...], Any]] = [
    ((0,), -1), ((0, 3), 1), ((1,), 0), ((3, 1), -1), ((40, 2), 1), ((5, 33), -1), ((2, 1025), 1), ((33, 5), 0),
    ((4, 33, 5), 1), ((2, 3, 40, 40), 1), ((3, 4, 5), (0, 2)), ((3, 4, 5), (1, 2)), ((3, 4, 5), None),
    ((3, 300), (0, 1)), ((4, 3, 50), (0, 2)), ((3, 1, 2, 1, 700), (0, 3, 4)), ((3, 1, 4), (0, 1)),
]  # fmt: skip
BIG_ROWS: list[tuple[tuple[int, ...], Any]] = [((1000, 1000), -1), ((LARGE,), 0)]
#: Rows that several blocks share.
LONG_ROWS: list[tuple[tuple[int, ...], Any]] = [((9000,), 0), ((9000, 3), 0), ((2, 8300), 1), ((3, 2, 6000), (0, 2))]


def _rows(make: Callable[..., tuple[Any, ...]], *more: dict[str, Any], single: bool = False) -> list[Case]:
    """A case for each shape and axis: ``make(shape, reduced)`` gives the arrays."""
    made = []
    for shape, axis in ROWS + BIG_ROWS:
        if single and not isinstance(axis, int):
            continue
        reduced = np.empty(shape, "int8").sum(axis=axis).shape
        large = int(np.prod(shape)) == LARGE
        for keywords in [{}, *more] if not large else [{}]:
            made.append(Case(make(shape, reduced), {"axis": axis, **keywords}, large))
    return made


def _reducing(make: Callable[..., tuple[Any, ...]], *more: dict[str, Any]) -> list[Case]:
    """The same for reductions, which may keep the axes."""
    kept = [Case(make((3, 40), (3, 1)), {"axis": 1, "keepdims": True, **m}) for m in [{}, *more]]
    return _rows(make, *more) + kept


def _down(make: Any = lambda shape, _: (shape,), *more: dict[str, Any], empty: bool = True, one: bool = False) -> Any:
    """Cases of what gives a number for each row: of nothing too, if that is something; along ``one`` axis or all."""
    long = [Case(make(shape, None), {"axis": axis, **m}) for shape, axis in LONG_ROWS for m in [{}, *more]]
    made = [*_reducing(make, *more), *long]
    few = lambda case: not one or not isinstance(case.keywords["axis"], tuple)
    return [case for case in made if few(case) and (empty or np.prod(_shape_of(case)))]


def _shape_of(case: Case) -> tuple[int, ...]:
    first = case.args[0]
    return first(np.random.default_rng(0)).shape if callable(first) else first


def _few(shape: tuple[int, ...]) -> Callable[[Any], np.ndarray]:
    """Few values, so that there are ties, one that is not a number where there are many, and -inf alone at first."""

    def make(rng: Any) -> np.ndarray:
        x = np.where(rng.random(shape) > 0.999, np.nan, rng.integers(0, 9, shape))
        x[:1] = -np.inf if len(shape) > 1 else 0
        return x

    return make


def _near_one(shape: tuple[int, ...], _: Any) -> tuple[Any, ...]:
    return (lambda rng: 1 + 0.01 * np.asarray(rng.normal(size=shape)),)


def _with_zeros(shape: tuple[int, ...], _: Any) -> tuple[Any, ...]:
    return (lambda rng: np.where(rng.random(shape) > 0.3, rng.normal(size=shape), 0.0),)


def _rarely(value: float) -> Callable[..., tuple[Any, ...]]:
    """Arrays that are otherwise in few places, near the end of a row or nowhere."""

    def make(shape: tuple[int, ...], _: Any) -> tuple[Any, ...]:
        return (lambda rng: np.where(rng.random(shape) > 1 - 2 / (1 + np.prod(shape)), value, 1 - value),)

    return make


def _errors() -> list[Case]:
    shapes: list[tuple[int, ...]] = [(0,), (), (3, 5), (9000,), (1000, 1000)]
    return [Case((shape, shape), {}, large=int(np.prod(shape)) == LARGE) for shape in shapes]


def _one_for_all(shape: tuple[int, ...], times: float = 1.0) -> Callable[[Any], np.ndarray]:
    """One number that is there once; a zero is a cotangent that never came."""
    return lambda rng: np.broadcast_to(times * rng.normal(), shape)


def _cross_entropy(pull: bool) -> list[Case]:
    made = []
    for shape, axis in ROWS + BIG_ROWS:
        if isinstance(axis, int) and np.prod(shape):
            rest = tuple(n for a, n in enumerate(shape) if a != axis % len(shape))
            target = integers(0, shape[axis], rest)
            arrays = (shape, target, rest) if pull else (shape, target)
            large = int(np.prod(shape)) == LARGE
            made.append(Case(arrays, {"axis": axis, "ignore_index": 0}, large))
    empty = ((0, 3), integers(0, 3, (0,)), (0,)) if pull else ((0, 3), integers(0, 3, (0,)))
    usual = ((5, 3), integers(0, 3, (5,)), *([(5,)] if pull else []))
    shared = [Case((*usual[:2], _one_for_all((5,))), {})] if pull else []
    return [*made, Case(usual, {}), Case(empty, {}), *shared]


def _norms(pull: bool) -> list[Case]:
    # Where values are nearly equal, an error is multiplied by 1 / sqrt(eps).
    made = _rows(lambda shape, _: (shape, shape) if pull else (shape,), {"centre": False})
    return [replace(case, keywords={**case.keywords, "eps": 0.1}) for case in made]


LAYERS: list[tuple[tuple[int, ...], int]] = [
    ((0, 3), 1), ((1, 1), 1), ((5, 33), 1), ((70, 40), 1), ((150, 33), 1), ((2, 1025), 1), ((2, 3, 4), 2), ((7,), 1),
    ((1000, 1000), 1),
]  # fmt: skip


def _layers(pull: bool) -> list[Case]:
    made = []
    for shape, axes in LAYERS:
        tail = shape[len(shape) - axes :]
        large = int(np.prod(shape)) == LARGE
        for centre in (True, False):
            keywords = {"axes": axes, "eps": 0.1, "centre": centre}
            if pull:
                made.append(Case((shape, shape, tail), keywords, large))
            else:
                made.append(Case((shape, tail, tail), keywords, large))
                made.append(Case((shape, tail), keywords, large))
    return made


BATCHES: list[tuple[int, ...]] = [
    (3, 0),
    (1, 1),
    (33, 3),
    (70, 40),
    (3000, 3),
    (65, 1, 130),
    (4, 3, 7),
    (2, 5, 5, 41),
    (2, 2, 1025),
    (10, 10, 100, 100),
]


def _batches(pull: bool) -> list[Case]:
    made = []
    for shape in BATCHES:
        c, large = (shape[1],), int(np.prod(shape)) == LARGE
        made.append(Case((shape, shape, c, c, c) if pull else (shape, c, c), {"eps": 0.1}, large))
    if pull:
        nothing = _one_for_all((3,), 0.0)
        made.append(Case(((33, 3), (33, 3), (3,), nothing, nothing), {"eps": 0.1}))
    return made


def _steps(window: Any, stride: Any = None, padding: Any = None, dilation: Any = None) -> dict[str, Any]:
    n = len(window)
    ones, none = (1,) * n, (0,) * n
    return dict(window=window, stride=stride or ones, padding=padding or none, dilation=dilation or ones)


#: Leading axes, sizes of planes, and windows on them.
PLANES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((0,), (5,), _steps((2,))),
    ((), (1,), _steps((1,))),
    ((2,), (33,), _steps((3,), (2,), (1,))),
    ((3,), (1025,), _steps((5,), (1,), (2,), (3,))),
    ((2, 3), (7, 9), _steps((2, 3), (2, 1), (1, 0))),
    ((2,), (9, 8), _steps((3, 2), (1, 2), (1, 1), (2, 3))),
    ((2,), (10, 7), _steps((3, 2), (3, 2))),
    ((2,), (25, 13), _steps((4, 4), (4, 6), (2, 0), (6, 4))),
    ((2,), (6, 6), _steps((3, 3), (3, 3), (1, 1))),
    ((1, 2), (4, 5, 6), _steps((2, 3, 2), (1, 2, 3), (1, 1, 0))),
    ((2,), (2, 3, 2, 3), _steps((2, 2, 1, 2))),
    ((1,), (1000, 1000), _steps((2, 2), (2, 2))),
]


def _but(steps: dict[str, Any], *names: str) -> dict[str, Any]:
    return {k: v for k, v in steps.items() if k not in names}


def _planes() -> Iterator[tuple[Any, Any, Any, bool]]:
    for lead, sizes, steps in PLANES:
        yield lead, sizes, steps, int(np.prod(sizes)) == LARGE


def _unfold() -> list[Case]:
    return [Case(((*lead, *sizes),), steps, large) for lead, sizes, steps, large in _planes()]


def _fold() -> list[Case]:
    made = []
    for lead, sizes, steps, large in _planes():
        shape = (*lead, *steps["window"], *out_sizes("case", sizes, **steps))
        made.append(Case((shape,), {"sizes": sizes, **_but(steps, "window")}, large))
    return made


def _max_pool() -> list[Case]:
    made = []
    for lead, sizes, steps, large in _planes():
        few = integers(0, 4, (*lead, *sizes))  # so that there are ties
        for ceil_mode in (False, True):
            keywords = {**steps, "ceil_mode": ceil_mode}
            made.append(Case(((*lead, *sizes),), keywords, large))
            made.append(Case((lambda rng, few=few: few(rng).astype("float64"),), keywords, large))
    return made


def _picks(lead: Any, sizes: Any, steps: Any, ceil_mode: bool) -> Callable[[Any], np.ndarray]:
    """Places that a pool gives."""
    import lucidgrad as lg
    from lucidgrad.ops.pooling import max_pool

    def make(rng: Any) -> np.ndarray:
        x = lg.asarray(rng.normal(size=(*lead, *sizes)))
        return max_pool(x, ceil_mode=ceil_mode, **steps)[1].numpy()

    return make


def _pool_put() -> list[Case]:
    made = []
    for lead, sizes, steps, large in _planes():
        for ceil_mode in (False, True):
            shape = (*lead, *out_sizes("case", sizes, **steps, ceil_mode=ceil_mode))
            picks = _picks(lead, sizes, steps, ceil_mode)
            made.append(Case((shape, picks), {"sizes": sizes, **steps}, large))
    return made


def _means(put: bool) -> list[Case]:
    made = []
    for lead, sizes, steps, large in _planes():
        plain, ones = _but(steps, "dilation"), (1,) * len(sizes)
        for ceil_mode in (False, True):
            shape = (*lead, *out_sizes("case", sizes, **plain, dilation=ones, ceil_mode=ceil_mode))
            for more in ({}, {"include": False}, {"divisor": 3.0}):
                if put:
                    made.append(Case((shape,), {"sizes": sizes, **plain, **more}, large))
                else:
                    made.append(Case(((*lead, *sizes),), {"ceil_mode": ceil_mode, **plain, **more}, large))
    return made


def _take_put() -> list[Case]:
    def case(lead: Any, number: Any, tail: Any, size: int, large: bool = False) -> Case:
        return Case(((*lead, *number, *tail), integers(-size, size, number)), {"axis": len(lead), "size": size}, large)

    return [
        case((), (0,), (3,), 4), case((), (1,), (), 1), case((), (33,), (), 5), case((2,), (33,), (3,), 7),
        case((), (1025,), (2,), 50), case((2, 2), (3, 4), (2,), 5), case((), (5,), (0,), 3),
        case((), (1000,), (1000,), 300, True), case((), (LARGE,), (), LARGE // 4, True),
    ]  # fmt: skip


def _put_along() -> list[Case]:
    def case(g: Any, i: Any, axis: int, size: int, large: bool = False) -> Case:
        return Case((g, integers(-size, size, i)), {"axis": axis, "size": size}, large)

    return [
        case((0, 3), (0, 3), 1, 4), case((1,), (1,), 0, 1), case((33,), (33,), 0, 5), case((4, 33), (4, 33), 1, 7),
        case((33, 4), (33, 4), 0, 7), case((2, 5, 3), (2, 5, 3), -2, 4), case((2, 5, 3), (1, 5, 1), 1, 4),
        case((3, 1025), (3, 1025), 1, 100), case((1000, 1000), (1000, 1000), 1, 500, True),
    ]  # fmt: skip


#: Steps, examples and features of sequences: one of each, and more elements of a step than a block has threads.
SEQUENCES = [(1, 1, 1), (3, 2, 5), (2, 30, 11)]


def _scaled(shape: tuple[int, ...]) -> Callable[[Any], np.ndarray]:
    """Weights and cotangents under which sequences stay tame."""
    return lambda rng: rng.normal(size=shape) * 0.4


def _sequences(gates: int, kept: int, starts: int, pull: bool, **keywords: Any) -> list[Case]:
    """Of recurrent layers: kept is how many parts of what was inside of the cells there are."""
    made = []
    for t, b, n in SEQUENCES:
        states = [_scaled((b, n))] * starts + [_scaled((gates * n, n))]
        if pull:
            inside = [_scaled((t, b, kept * n))] if kept else []
            whole = [_scaled((t, b, n)), *inside]
            made.append(Case((*whole, *whole, *states), keywords))
            if kept:
                made.append(Case((whole[0], _one_for_all((t, b, kept * n), 0.0), *whole, *states), keywords))
                made.append(Case((_one_for_all((t, b, n), 0.0), *inside, *whole, *states), keywords))
        else:
            made.append(Case((_scaled((t, b, gates * n)), *states), keywords))
            made.append(Case((_scaled((t, b, gates * n)), *states, (gates * n,)), keywords))
    nothing = [
        Case(
            tuple((1, 0, k * 2) for k in ([1, kept] * 2 if kept else [1, 1])) + ((0, 2),) * starts + ((gates * 2, 2),),
            keywords,
        )
    ]
    return made + nothing if pull else [*made, Case(((1, 0, gates * 2), *[(0, 2)] * starts, (gates * 2, 2)), keywords)]


def conv(n: int, c: int, sizes: Any, o: int, window: Any, groups: int = 1, **steps: Any) -> tuple[Any, ...]:
    """Shapes of input, weights and output, and keywords."""
    made = _but(_steps(window, **steps), "window")
    x, w = (n, c, *sizes), (o, c // groups, *window)
    return x, w, (n, o, *out_sizes("case", sizes, window, **made)), {**made, "groups": groups}


#: Few and many channels of a group, tiles that are not full, one to three axes, strides, dilation, groups, nothing.
CONVOLUTIONS = [
    conv(2, 1, (5,), 1, (1,)),
    conv(0, 6, (5,), 6, (2,)),
    conv(2, 3, (7, 9), 2, (2, 3), stride=(2, 1), padding=(1, 0)),
    conv(2, 5, (5, 6), 66, (3, 3), padding=(1, 1)),
    conv(3, 70, (4,), 5, (3,), stride=(2,), padding=(1,)),
    conv(2, 12, (9, 8), 10, (3, 2), 2, stride=(1, 2), padding=(1, 1), dilation=(2, 3)),
    conv(2, 6, (6, 6), 6, (3, 3), 6, padding=(1, 1)),
    conv(1, 5, (25, 13), 6, (4, 4), stride=(4, 6), padding=(2, 0), dilation=(6, 4)),
    conv(1, 5, (4, 5, 6), 5, (2, 3, 2), stride=(1, 2, 3), padding=(1, 1, 0)),
    conv(1, 5, (7, 5), 6, (2, 1), stride=(3, 3)),
    conv(1, 17, (7,), 6, (1,), stride=(3,), padding=(1,)),
    conv(9, 6, (8, 8), 20, (3, 3), padding=(1, 1)),
    conv(30, 4, (44,), 4, (3,), 2, stride=(4,), dilation=(2,)),
    conv(1, 2, (2, 3, 2, 3), 2, (2, 2, 1, 2)),
]


def convolutions(which: str, of: Any = CONVOLUTIONS) -> list[Case]:
    made = []
    for x, w, y, keywords in of:
        if which == "convolution":
            made.append(Case((x, w), keywords))
        elif which == "convolution_input":
            made.append(Case((y, w), {**keywords, "sizes": x[2:]}))
        else:
            made.append(Case((x, y), {**keywords, "window": w[2:]}))
    return made


def flags(*shape: int) -> Callable[[Any], np.ndarray]:
    return lambda rng: rng.random(shape) > 0.4


def _blind(*shape: int) -> Callable[[Any], np.ndarray]:
    """Numbers to add; every third row may look nowhere."""
    return lambda rng: np.where(np.arange(shape[-2])[:, None] % 3 == 1, -np.inf, rng.normal(size=shape))


#: Leading axes of queries, and of keys and values; queries, keys, widths; a mask, and more. Two tiles at least.
HEADS: list[tuple[Any, ...]] = [
    ((2,), (2,), 37, 45, 5, 9, None, {}),
    ((2,), (2,), 37, 45, 5, 9, None, {"causal": True}),
    ((2,), (2,), 45, 37, 70, 3, None, {"causal": True, "scale": 0.1}),  # wide: columns are added to in turns
    ((2, 1, 3), (2, 1, 1), 5, 35, 7, 5, None, {"causal": True}),  # groups of queries
    ((1, 2, 3), (1, 2, 1), 35, 4, 7, 5, (1, 2, 1, 35, 4), {}),
    ((2,), (3, 1), 5, 6, 2, 2, None, {}),
    ((), (), 40, 33, 3, 4, flags(40, 33), {"causal": True}),
    ((2, 3), (2, 3), 34, 33, 4, 4, lambda rng: (np.arange(34)[:, None] % 3 != 1) & (rng.random((34, 33)) > 0.3), {}),
    ((2, 3), (2, 3), 34, 33, 4, 4, _blind(34, 33), {}),
    ((2, 3), (2, 3), 34, 33, 4, 4, (3, 1, 33), {}),
    ((2, 3), (2, 3), 34, 33, 4, 4, (2, 1, 34, 1), {"causal": True}),
    ((2,), (2,), 34, 33, 4, 4, (33,), {}),
    ((2,), (2,), 34, 33, 4, 4, (), {}),
    ((2,), (2,), 34, 33, 4, 4, (34, 33), {"dropout": 0.3}),
    ((2, 2), (2, 1), 34, 33, 4, 4, None, {"dropout": 0.6, "causal": True}),
    ((2,), (2,), 3, 4, 4, 4, None, {"dropout": 1.0}),
    ((2,), (2,), 3, 4, 4, 4, (3, 4), {"learned": False}),
    ((0,), (0,), 3, 4, 4, 4, None, {}), ((2,), (2,), 0, 4, 4, 4, (1, 4), {}), ((2,), (2,), 3, 0, 4, 4, (3, 1), {}),
    ((2,), (2,), 3, 4, 0, 4, None, {}), ((2,), (2,), 3, 4, 4, 0, None, {}), ((1,), (1,), 1, 1, 1, 1, None, {}),
]  # fmt: skip
#: Widths of heads for which there are other tiles.
WIDE_HEADS = [((1,), (1,), 20, 18, e, f, None, {"causal": e > f}) for e, f in ((64, 50), (33, 100), (256, 256))]


def _attended(keywords: dict[str, Any], arrays: list[Any]) -> list[Any]:
    """What pulls back is given what came out."""
    from .comparison import program

    h, of_t, _, _, *given = arrays
    with np.errstate(all="ignore"):
        return [h, of_t, *program("attention", *given, **keywords), *given]


def _of_16_bits(after: Any, arrays: list[Any]) -> list[Any]:
    """Numbers that float16 has; what pulls back gets no cotangent of logarithms."""
    made = [a if a is None or a.dtype.kind != "f" else a.astype("float16").astype("float64") for a in arrays]
    if after is None:
        return made
    made[1] = np.broadcast_to(0.0, made[1].shape)
    return after(made)


def narrow(pull: bool) -> list[Case]:
    """Heads of 16-bit numbers for products: nothing is dropped, and masks are not learned."""
    heads = [(*head, {"learned": False, **keywords, "narrow": True}) for *head, keywords in HEADS]
    made = attending(pull, [head for head in heads if "dropout" not in head[-1]])
    return [replace(case, after=functools.partial(_of_16_bits, case.after)) for case in made]


def attending(pull: bool, heads: list[tuple[Any, ...]] = HEADS) -> list[Case]:
    made = []
    for lead, others, queries, keys, e, f, mask, keywords in heads:
        key = (lambda rng: rng.integers(0, 2**62, 2)) if "dropout" in keywords else None
        arrays = ((*lead, queries, e), (*others, keys, e), (*others, keys, f), mask, key)
        shape = np.empty(mask(np.random.default_rng(0)).shape if callable(mask) else mask or ()).shape[:-2]
        rows = (*np.broadcast_shapes(lead, others, shape), queries)
        keywords = {"scale": 0.7, **keywords}
        if pull:
            after = functools.partial(_attended, keywords)
            made.append(Case(((*rows, f), rows, (*rows, f), rows, *arrays), keywords, after=after))
        else:
            made.append(Case(arrays, keywords))
    return made


_ROWS_OF_ONE = functools.partial(_rows, lambda shape, reduced: (shape,))

#: Cases by primitive.
CASES: dict[str, list[Case]] = {
    "attention": attending(pull=False),
    "attention_pull": attending(pull=True),
    "softmax": _ROWS_OF_ONE(),
    "log_softmax": _ROWS_OF_ONE(),
    "softmax_pull": _rows(lambda shape, reduced: (shape, shape)),
    "log_softmax_pull": _rows(lambda shape, reduced: (shape, shape)),
    "logsumexp": _down(),
    "sum": _down(),
    "mean": _down(),
    "prod": _down(_near_one),
    "max": _down(empty=False),
    "min": _down(empty=False),
    "any": _down(_rarely(1.0)),
    "all": _down(_rarely(0.0)),
    "argmax": _down(lambda shape, _: (_few(shape),), empty=False, one=True),
    "argmin": _down(empty=False, one=True),
    "vector_norm": _down(_with_zeros, *({"ord": p} for p in (1, math.inf, 0, 3))),
    "mean_squared_error": _errors(),
    "logsumexp_pull": _reducing(lambda shape, reduced: (reduced, positive(reduced), shape)),
    "var": _down(lambda shape, reduced: (shape,), {"correction": 1.0}),
    "std": _down(lambda shape, reduced: (shape,), {"correction": 1.0}),
    "var_pull": _reducing(lambda shape, reduced: (reduced, shape), {"correction": 0.5}),
    "std_pull": _reducing(lambda shape, reduced: (reduced, positive(reduced), shape), {"correction": 0.5}),
    "extreme_pull": _reducing(lambda shape, reduced: (reduced, ones(reduced), whole(shape))),
    "cross_entropy_rows": _cross_entropy(pull=False),
    "cross_entropy_pull": _cross_entropy(pull=True),
    "standardise": _norms(pull=False),
    "standardise_pull": _norms(pull=True),
    "layer_norm": _layers(pull=False),
    "layer_norm_pull": _layers(pull=True),
    "batch_norm": _batches(pull=False),
    "batch_norm_pull": _batches(pull=True),
    "lstm_sequence": _sequences(4, 5, 2, pull=False),
    "lstm_sequence_pull": _sequences(4, 5, 2, pull=True),
    "gru_sequence": _sequences(3, 4, 1, pull=False),
    "gru_sequence_pull": _sequences(3, 4, 1, pull=True),
    "rnn_sequence": _sequences(1, 0, 1, pull=False) + _sequences(1, 0, 1, pull=False, nonlinearity="relu"),
    "rnn_sequence_pull": _sequences(1, 0, 1, pull=True) + _sequences(1, 0, 1, pull=True, nonlinearity="relu"),
    **{name: convolutions(name) for name in ("convolution", "convolution_input", "convolution_weight")},
    "unfold_windows": _unfold(),
    "fold_windows": _fold(),
    "max_pool": _max_pool(),
    "pool_put": _pool_put(),
    "avg_pool": _means(put=False),
    "avg_pool_put": _means(put=True),
    "take_put": _take_put(),
    "put_along_axis_add": _put_along(),
}
