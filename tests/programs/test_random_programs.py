"""Random programs: C gives what eager kernels give, bit by bit where only arithmetic is done."""

import numpy as np
import pytest
from thoroughness import cases
from traces import apart

import lucidgrad as lg
from lucidgrad.backends.cpu.programs import compiled
from lucidgrad.levels.traced import program_of as traced

EXACT_UNARY = [
    lambda x: x * 0.5,
    lambda x: 1.25 - x,
    lambda x: -x,
    lg.abs,
    lg.square,
    lambda x: lg.sqrt(lg.abs(x)),
    lambda x: x / (lg.abs(x) + 1),
    lambda x: lg.where(x > 0.3, x, 2.0),
    lg.floor,
    lambda x: lg.clip(x, -1.5, 1.5),
    lambda x: lg.astype(x < 0.25, x.dtype),
]
SMOOTH_UNARY = [lg.tanh, lg.sin, lg.sigmoid, lg.atan]
SMOOTH_UNARY += [lambda x: lg.log1p(lg.abs(x)), lambda x: lg.exp(-x * x / (x * x + 1))]  # none magnifies an ulp
BINARY = [lg.add, lg.subtract, lg.multiply, lg.maximum, lambda a, b: a / (lg.abs(b) + 0.5)]


def _axes(rng, rank):
    if rank == 0 or rng.random() < 0.2:
        return None
    return tuple(sorted(rng.choice(rank, size=rng.integers(1, rank + 1), replace=False).tolist()))


def view(rng, x):
    """A view of some kind; of what steps can't say a copy."""
    rank, kind = x.ndim, rng.integers(7)
    if rank == 0:
        return lg.broadcast_to(x, (3,)) if kind < 3 else x.reshape((1,))
    if kind == 0:
        return lg.permute_dims(x, tuple(rng.permutation(rank).tolist()))
    if kind == 1:
        return x.reshape((-1,)) if x.size else x
    if kind == 2:
        axis = int(rng.integers(rank))
        key = [slice(None)] * rank
        key[axis] = slice(0, None, 2) if rng.random() < 0.5 else slice(1, None)
        return x[tuple(key)] if x.shape[axis] > 1 else x
    if kind == 3:
        return lg.flip(x, axis=int(rng.integers(rank)))
    if kind == 4:
        return lg.expand_dims(x, axis=int(rng.integers(rank + 1)))
    if kind == 5:
        return lg.broadcast_to(x, (2, *x.shape)) if rank < 4 and x.size < 3000 else x
    return x[0] if x.shape[0] else x


def gathered(rng, x):
    """Elements at positions, sums up to each place, or extremes of windows: all of them exact."""
    kind, axis = rng.integers(6), int(rng.integers(x.ndim))
    n = x.shape[axis]
    if kind < 2:
        at = rng.integers(-n, n, size=(2, 3) if x.ndim < 3 else (4,))
        return lg.take(x, lg.asarray(at), axis=axis)
    if kind == 2:
        shape = [1 if rng.random() < 0.3 else size for size in x.shape]
        shape[axis] = 5
        return lg.take_along_axis(x, lg.asarray(rng.integers(-n, n, size=shape)), axis=axis)
    if kind == 3:
        return lg.cumulative_sum(x, axis=axis) * 0.25
    if kind == 4:
        return x[(slice(None),) * axis + (lg.asarray(rng.integers(-n, n, size=(3,))),)]
    return lg.nn.functional.max_pool1d(x[None], 2, 1) if x.ndim == 2 and x.shape[1] > 1 else x * 2


def layered(rng, x):
    """What layers make of a matrix."""
    kind, (n, m) = rng.integers(4), x.shape
    functional = lg.nn.functional
    if kind == 0:
        return functional.conv1d(x[None], x[:, :2][None] * 0.25, padding=1)[0] if m > 1 else lg.tanh(x)
    if kind == 1:
        return functional.avg_pool1d(x[None], 3, 2, 1)[0] if m > 2 else x + 0.5
    if kind == 2:
        return functional.scaled_dot_product_attention(x, x * 0.5, lg.tanh(x), is_causal=bool(rng.integers(2)))
    return functional.batch_norm(x, None, None, None, None, True, eps=0.1) if n > 1 else x - 0.5


def fits(a, b):
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return np.prod(shape) <= 20_000 or np.prod(shape) == max(a.size, b.size)


def build(rng, tensors, length, smooth):
    """A few values that are made of others at random."""
    pool = list(tensors)
    for _ in range(length):
        x, kind = pool[rng.integers(len(pool))], rng.random()
        if kind < 0.3:
            table = EXACT_UNARY + SMOOTH_UNARY if smooth else EXACT_UNARY
            made = table[rng.integers(len(table))](x)
        elif kind < 0.6:
            others = [y for y in pool if fits(x, y)]
            made = BINARY[rng.integers(len(BINARY))](x, others[rng.integers(len(others))])
        elif kind < 0.75:
            made = view(rng, x)
        elif kind < 0.84 and x.size:
            name = ("max", "min", "sum", "mean")[rng.integers(4 if smooth else 2)]  # sums: see below
            made = getattr(lg, name)(x, axis=_axes(rng, x.ndim), keepdims=bool(rng.integers(2))) * 0.125
        elif kind < 0.91 and x.ndim and 0 < x.size < 5000:
            made = layered(rng, x) if smooth and x.ndim == 2 and rng.random() < 0.7 else gathered(rng, x)
        elif kind < 0.95 and smooth:
            others = [
                y for y in pool if x.ndim and y.ndim > 1 and x.shape[-1] == y.shape[-2] and x.ndim < 4 and y.ndim < 4
            ]
            others = [y for y in others if fits(x[..., :1, :1] if x.ndim > 1 else y, y[..., :1, :1])]
            made = lg.matmul(x, others[rng.integers(len(others))]) * 0.25 if others and x.size < 5000 else x * 2
        else:
            others = [y for y in pool if y.shape == x.shape and x.ndim and x.size < 5000]
            made = lg.concat([x, others[rng.integers(len(others))]], axis=-1) if others else x + 1
        pool.append(made)
    picks = rng.choice(len(pool), size=4)
    return [pool[k] for k in picks] + pool[-4:]


def inputs(rng, dtype, large):
    shapes = [(5, 3), (3,), (4, 5, 3), (), (3, 3), (1, 3), (7, 1)]
    shapes += [(300, 130), (130,), (40_000,)] if large else [(0, 3), (129, 8)]
    return [np.asarray(rng.normal(size=shape)).astype(dtype) for shape in shapes]


def check(seed, dtype, smooth, large, length=40):
    rng = np.random.default_rng(seed)
    arrays = inputs(rng, dtype, large)
    program = traced(lambda *xs: build(np.random.default_rng(seed + 1), xs, length, smooth), *arrays)
    want = program.run(arrays)
    for how in ("flat", "c"):
        run = compiled(program, {}, how)
        for _ in range(2):
            got = run(arrays)
            for mine, expected, v in zip(got, want, program.outputs, strict=True):
                bound = 0 if how == "flat" or not (smooth or large) else 64
                assert apart(mine, expected) <= bound, f"{how}, seed {seed}: {v.described()} of\n{program}"


CASES = [(seed, dtype) for seed in range(cases(6, 200)) for dtype in ("float32", "float64")]


@pytest.mark.parametrize(("seed", "dtype"), CASES)
def test_arithmetic_views_and_extremes_have_the_bits_of_eager(seed, dtype):
    check(1000 + 7 * seed, dtype, smooth=False, large=False)


@pytest.mark.parametrize(("seed", "dtype"), CASES)
def test_functions_products_and_large_arrays_are_close(seed, dtype):
    check(5000 + 7 * seed, dtype, smooth=True, large=seed % 2 == 1)


SUMS = [(shape, axis) for shape in [(7,), (8,), (1000,), (5, 3), (4, 300), (6, 7, 9), (3, 129, 2)] for axis in
        [None, 0, -1, (0, -1), tuple(range(len(shape)))]]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_arrays_without_gaps_are_added_in_the_order_of_eager(dtype):
    """Of others NumPy's order depends on how memory is laid out, which programs may choose."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape).astype(dtype) for shape, _ in SUMS]

    def sums(*xs):
        found = [(x, axis if axis != (0, -1) or x.ndim > 1 else 0) for x, (_, axis) in zip(xs, SUMS, strict=True)]
        return [lg.sum(x, axis=axis) for x, axis in found] + [lg.mean(x, axis=axis, keepdims=True) for x, axis in found]

    program = traced(sums, *arrays)
    run = compiled(program, {}, "c")
    for mine, expected, v in zip(run(arrays), program.run(arrays), program.outputs, strict=True):
        assert apart(mine, expected) == 0, v.described()
