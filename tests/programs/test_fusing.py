"""Large steps that are done some rows at a time: what goes together, and that it comes to the same."""

import itertools

import numpy as np
import pytest
from thoroughness import cases
from traces import apart

import lucidgrad as lg
from lucidgrad.backends.cpu.compiled import building
from lucidgrad.backends.cpu.programs import compiled
from lucidgrad.backends.cpu.programs.fusing import Run
from lucidgrad.backends.cpu.programs.planning import Planner
from lucidgrad.backends.cpu.programs.segments import parts_of
from lucidgrad.levels.traced import program_of as traced

pytestmark = pytest.mark.skipif(building.why_not() is not None, reason="no C compiler")


def planned(program):
    """The steps of a program that is for C as a whole."""
    (part,) = parts_of(program, 1)
    planner = Planner(program)
    for equation, plan in part:
        plan(planner, equation)
    planner.finish(program.outputs, {})
    return planner


def draw(*shape, seed=0, dtype="float32"):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype)


def lengths(function, *arrays):
    """How many steps each step of a plan is made of."""
    return [len(step.steps) if isinstance(step, Run) else 1 for step in planned(traced(function, *arrays)).steps]


ROWS = {
    "norms of rows": (lambda x: x / lg.sqrt((x * x).sum(1, keepdims=True)), [4]),
    "softmax, and what is made of it": (lambda x: lg.softmax(x * 2, axis=-1) * x, [3]),
    "the sum of everything": (lambda x: (lg.tanh(x) * x).sum(), [2, 1]),
    "sums of columns are made of all rows": (lambda x: x * 2 - lg.exp(x).sum(0), [1, 1, 1]),
    "other rows": (lambda x: lg.flip(lg.exp(x).sum(1, keepdims=True) * x, axis=0) + x, [3, 1]),
    "small arrays": (lambda x: lg.softmax(x[:9] * 2, axis=-1), [1, 1]),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_goes_together(name):
    function, want = ROWS[name]
    assert lengths(function, draw(600, 200)) == want


def test_what_only_a_run_asks_for_takes_no_memory():
    x = draw(600, 200)
    alone = planned(traced(lambda x: lg.softmax(lg.exp(x) * 2, axis=-1), x))
    assert alone.arena == 0
    asked = planned(traced(lambda x: lg.softmax(lg.exp(x) * 2, axis=-1) @ x.mT, x))
    assert asked.arena >= x.nbytes


def test_memory_is_used_again():
    x = draw(128, 128)

    def products(x):
        y = x
        for _ in range(20):
            y = lg.tanh(y @ x)
        return y

    assert planned(traced(products, x)).arena <= 3 * x.nbytes


def row_program(rng, x, w):
    """Rows and columns of a square matrix, in every order."""
    pool = [x, lg.tanh(x)]
    for _ in range(14):
        a, b = (pool[rng.integers(len(pool))] for _ in range(2))
        kind = rng.integers(12)
        if kind < 3:
            made = (a + b, a * b * 0.5, lg.tanh(a) - b)[kind]
        elif kind == 3:
            made = a - a.mean(1, keepdims=True)
        elif kind == 4:
            made = a * 0.5 + b.sum(0) * 0.01
        elif kind == 5:
            made = lg.softmax(a, axis=-1) * 3 + b
        elif kind == 6:
            made = lg.nn.functional.layer_norm(a, (a.shape[-1],), *((w, w) if rng.integers(2) else (w * 2, lg.tanh(w))))
        elif kind == 7:
            made = a.mT + b
        elif kind == 8:
            made = lg.flip(a, axis=int(rng.integers(2))) - b
        elif kind == 9:
            made = a + (b * b).mean()
        elif kind == 10:
            made = a - lg.max(b, axis=int(rng.integers(2)), keepdims=True)
        else:
            made = lg.concat([a[:100], b[100:]], axis=0)
        pool.append(lg.clip(made, -4.0, 4.0))
    rows, all_of_it, columns = (a + 5 for a in pool[-3:-6:-1])  # sums of positive numbers keep their digits
    return pool[-1], pool[-2], rows.sum(1), all_of_it.sum(), columns.sum(0)


@pytest.mark.parametrize("seed", range(cases(6, 300)))
def test_rows_and_columns_at_random(seed):
    dtype = ("float32", "float64")[seed % 2]
    n = (300, 257, 384)[seed % 3]
    arrays = [draw(n, n, seed=seed, dtype=dtype), draw(n, seed=seed, dtype=dtype)]
    program = traced(lambda x, w: row_program(np.random.default_rng(seed), x, w), *arrays)
    run = compiled(program, {}, "c")
    want = program.run(arrays)
    before = lg.get_num_threads()
    try:
        for count in (1, 3):
            lg.set_num_threads(count)
            for mine, expected in zip(run(arrays), want, strict=True):
                assert apart(mine, expected) <= 512, f"seed {seed}, {count} threads:\n{program}"
    finally:
        lg.set_num_threads(before)


def along_axes(rng, a, b, v, i):
    """Something of two cubes, a vector and positions, along axes that are drawn."""
    n, axis, axes = len(v), int(rng.integers(3)), tuple(int(k) for k in rng.permutation(3)[: rng.integers(1, 3)])
    turned, along = tuple(int(k) for k in rng.permutation(3)), v.reshape(tuple(n if k == axis else 1 for k in range(3)))
    ways = (
        lambda: a + b * along,
        lambda: a - a.mean(axes, keepdims=True),
        lambda: a * 0.5 + b.sum(axes, keepdims=True) * 0.001,
        lambda: lg.softmax(a, axis=axis) * 3 + b,
        lambda: lg.nn.functional.layer_norm(a, (n,), v, lg.tanh(v)),
        lambda: lg.nn.functional.layer_norm(a, (n, n)) + b,
        lambda: lg.permute_dims(a, turned) + b,
        lambda: a - lg.max(b, axis=axes, keepdims=True),
        lambda: lg.take(a, i, axis=axis) + b,
        lambda: lg.where(b > along, a, along),
        lambda: lg.cumsum(a, axis=axis) * 0.1 + b,
        lambda: (a.reshape(n * n, n) * 1.5).reshape(n, n, n) + lg.log_softmax(b, axis=-1),
    )
    made = lg.clip(ways[rng.integers(len(ways))](), -4.0, 4.0)
    others = tuple(k for k in range(3) if k != axis)
    return made, (lg.mean, lg.max)[rng.integers(2)](lg.abs(made) + 1, axis=others) * 0.3


def cube_program(rng, x, w, i):
    """Rows along every axis of a cube, and vectors along every axis."""
    pool, vectors = [x, lg.tanh(x)], [w, lg.tanh(w) * 0.5 + 1]
    for _ in range(10):
        a, b = (pool[rng.integers(len(pool))] for _ in range(2))
        made, vector = along_axes(rng, a, b, vectors[rng.integers(len(vectors))], i)
        pool.append(made)
        vectors.append(vector)
    last = lg.abs(pool[-2]) + 1
    return pool[-1], *vectors[-3:], last.sum(0), last.sum((0, 2)), last.sum(1)


@pytest.mark.parametrize("seed", range(cases(3, 200)))
def test_rows_of_cubes_at_random(seed):
    n = (48, 41)[seed % 2]
    arrays = [draw(n, n, n, seed=seed), draw(n, seed=seed), np.random.default_rng(seed).permutation(n)]
    program = traced(lambda x, w, i: cube_program(np.random.default_rng(seed), x, w, i), *arrays)
    for mine, expected in zip(compiled(program, {}, "c")(arrays), program.run(arrays), strict=True):
        assert apart(mine, expected) <= 4096, f"seed {seed}:\n{program}"


@pytest.mark.parametrize("name", ["sum", "mean", "max"])
def test_axes_of_one_size_are_told_apart(name):
    """Which axes stay is seen where all have as many elements: rows of one are not those of another."""
    x, fold = draw(18, 18, 18, 18), getattr(lg, name)
    subsets = [axes for count in (1, 2, 3, 4) for axes in itertools.combinations(range(4), count)]

    def function(x):
        made, last = [], 1.0
        for y in (x, x.mT):
            for axes in subsets:
                made.append(fold(lg.abs(y * last), axis=axes))  # each asks for the one before, so that none are merged
                last = made[-1].max() / made[-1].sum()
        return made

    program = traced(function, x)
    for mine, expected in zip(compiled(program, {}, "c")([x]), program.run([x]), strict=True):
        assert apart(mine, expected) <= 512


@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm"])
def test_weights_that_are_made_beside_rows(norm):
    """A weight has as many elements as there are rows, and is asked for by every row."""
    x, w = draw(300, 300), draw(300, seed=1)
    more = (lambda w: (lg.tanh(w),)) if norm == "rms_norm" else (lambda w: (lg.tanh(w), w * 2))
    program = traced(lambda x, w: getattr(lg.nn.functional, norm)(lg.abs(x), (300,), *more(w)), x, w)
    assert apart(compiled(program, {}, "c")([x, w])[0], program.run([x, w])[0]) <= 64


def test_rows_are_written_into_an_input_that_the_same_rows_are_made_of():
    x, g = draw(600, 200), draw(600, 200, seed=1)

    def step(x, g):
        scale = lg.sqrt((g * g).sum(1, keepdims=True))
        return x - 0.1 * g / scale, x.mT

    program = traced(step, x, g)
    want = [np.array(y) for y in program.run([x, g])]
    got = compiled(program, {0: 0}, "c")([x, g])
    assert got[0] is x
    for mine, expected in zip(got, want, strict=True):
        assert apart(mine, expected) <= 4
