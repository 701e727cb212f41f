"""Control flow as functions: values against loops of Python, derivatives of both modes and orders, maps, misuse."""

import collections
import gc
import importlib.util
import inspect
import time

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import func
from lucidgrad.autograd import gradcheck, gradgradcheck

rng = np.random.default_rng(11)
X = lg.asarray(rng.uniform(0.2, 0.9, (5, 3)))
C = lg.asarray(rng.uniform(0.2, 0.9, 3))
W = lg.asarray(rng.uniform(-0.5, 0.5, (3, 3)))
BATCH = lg.asarray(rng.uniform(0.2, 0.9, (4, 3)))
SIGNS = lg.tensor([-1.5, 0.3, 2.0, -0.1], dtype=lg.float64)


def close(a, b):
    def one(x, y):
        assert x.shape == y.shape and x.dtype == y.dtype
        np.testing.assert_allclose(np.asarray(x.detach()), np.asarray(y.detach()), rtol=1e-12, atol=1e-12)

    func.trees.map(one, a, b)  # of one structure; keys may be in any order


# -- five programs, each with control flow and as plain Python -------------------------------------
def cell(c, x):
    c = lg.tanh(W @ c + x * c)
    return c, {"y": c * c, "s": c.sum()}


def scanned(c, xs):
    return func.scan(cell, c, xs)


def scanned_plainly(c, xs):
    ys = []
    for x in xs:
        c, y = cell(c, x)
        ys.append(y)
    return c, {key: lg.stack([y[key] for y in ys]) for key in ("y", "s")}


def scanned_back(c, xs):
    return func.scan(cell, c, xs, reverse=True)


def scanned_back_plainly(c, xs):
    c, ys = scanned_plainly(c, lg.flip(xs, axis=0))
    return c, {key: lg.flip(y, axis=0) for key, y in ys.items()}


def chosen(c, xs):
    return func.cond(xs.sum() > c.sum(), lambda c, x: (lg.sin(c) * x, c), lambda c, x: (lg.cos(c), x * c), c, xs[0])


def chosen_plainly(c, xs):
    return (lg.sin(c) * xs[0], c) if xs.sum() > c.sum() else (lg.cos(c), xs[0] * c)


def mapped(c, xs):
    return func.map(lambda x: (lg.sin(x) * c, x.sum()), xs)


def mapped_in_batches(c, xs):
    return func.map(lambda x: (lg.sin(x) * c, x.sum()), xs, batch_size=2)


def mapped_plainly(c, xs):
    return lg.stack([lg.sin(x) * c for x in xs]), lg.stack([x.sum() for x in xs])


def counted(c, xs):
    return func.fori_loop(1, 4, lambda i, v: [v[0] * lg.cos(v[1]) + i * xs[i], v[1] * 1.1], [c, c])


def counted_plainly(c, xs):
    a, b = c, c
    for i in range(1, 4):
        a, b = a * lg.cos(b) + i * xs[i], b * 1.1
    return [a, b]


def repeated(c, xs):
    step = lambda v: {"c": lg.sin(v["c"]) + xs[0], "n": v["n"] + 1}
    return func.while_loop(lambda v: v["n"] < 4, step, {"c": c, "n": 0})["c"]


def repeated_plainly(c, xs):
    for _ in range(4):
        c = lg.sin(c) + xs[0]
    return c


PROGRAMS = {
    "scan": (scanned, scanned_plainly),
    "scan in reverse": (scanned_back, scanned_back_plainly),
    "cond": (chosen, chosen_plainly),
    "map": (mapped, mapped_plainly),
    "map in batches": (mapped_in_batches, mapped_plainly),
    "fori_loop": (counted, counted_plainly),
    "while_loop": (repeated, repeated_plainly),
}
both = pytest.mark.parametrize(("ours", "plain"), PROGRAMS.values(), ids=PROGRAMS.keys())
FURTHER = {"cond with its other branch": (lambda c, xs: chosen(c, xs - 2), lambda c, xs: chosen_plainly(c, xs - 2))}
all_of_them = pytest.mark.parametrize(
    ("ours", "plain"), [*PROGRAMS.values(), *FURTHER.values()], ids=[*PROGRAMS, *FURTHER]
)


def total(f):
    """A number that depends on all that a function gives."""
    return lambda *args: sum((leaf * leaf).sum() for leaf in func.trees.flatten(f(*args))[0])


@all_of_them
def test_values_are_those_of_a_loop(ours, plain):
    close(ours(C, X), plain(C, X))


@all_of_them
def test_gradients_are_right_in_orders_one_and_two(ours, plain):
    inputs = [C.clone().requires_grad_(), X.clone().requires_grad_()]
    flat = lambda *args: tuple(func.trees.flatten(ours(*args))[0])
    assert gradcheck(flat, inputs, check_forward_ad=True)
    assert gradgradcheck(total(ours), inputs)


@all_of_them
def test_every_transform_gives_what_it_gives_for_a_loop(ours, plain):
    for one, other in [(func.grad(total(f), argnums=(0, 1)) for f in (ours, plain)),
                       (func.hessian(total(f)) for f in (ours, plain)),
                       (func.jacfwd(func.jacrev(f)) for f in (ours, plain)),
                       (func.jacfwd(func.jacfwd(f)) for f in (ours, plain))]:  # fmt: skip
        close(one(C, X), other(C, X))
    close(func.jvp(ours, (C, X), (C * 2, X - 1)), func.jvp(plain, (C, X), (C * 2, X - 1)))
    pulled, pull = func.vjp(ours, C, X)
    close(pull(pulled), func.vjp(plain, C, X)[1](pulled))


@both
def test_maps_are_loops_over_examples(ours, plain):
    for f, g in ((ours, plain), (func.grad(total(ours), (0, 1)), func.grad(total(plain), (0, 1)))):
        rows = [g(c, X) for c in BATCH]
        close(func.vmap(f, in_dims=(0, None))(BATCH, X), func.trees.map(lambda *ys: lg.stack(ys), *rows))
    rows = lg.stack([func.grad(total(plain))(c, X) for c in BATCH])
    close(func.grad(lambda b: func.vmap(total(ours), (0, None))(b, X).sum())(BATCH), rows)


def test_backward_reaches_what_functions_close_over():
    w = W.clone().requires_grad_()
    c, ys = func.scan(lambda c, x: (lg.tanh(w @ c + x), c.sum()), C, X)
    (c.sum() + ys.sum()).backward()
    v = W.clone().requires_grad_()
    c, collected = C, []
    for x in X:
        collected.append(c.sum())
        c = lg.tanh(v @ c + x)
    (c.sum() + lg.stack(collected).sum()).backward()
    close(w.grad, v.grad)


# -- predicates that differ from example to example -------------------------------------------------
def branch(x):
    return func.cond(x > 0, lambda x: {"a": lg.sin(x), "b": x}, lambda x: {"b": x * x, "a": x**3}, x)


def test_a_batched_predicate_selects_from_both_branches():
    found = func.vmap(branch)(SIGNS)
    close(found, func.trees.map(lambda *ys: lg.stack(ys), *(branch(x) for x in SIGNS)))
    slopes = func.vmap(func.grad(lambda x: branch(x)["a"]))(SIGNS)
    close(slopes, lg.where(SIGNS > 0, lg.cos(SIGNS), 3 * SIGNS**2))
    close(func.grad(lambda x: func.vmap(branch)(x)["a"].sum())(SIGNS), slopes)
    close(func.jvp(lambda x: func.vmap(branch)(x)["a"], (SIGNS,), (lg.ones_like(SIGNS),))[1], slopes)
    second = func.vmap(func.grad(func.grad(lambda x: branch(x)["a"])))(SIGNS)
    close(second, lg.where(SIGNS > 0, -lg.sin(SIGNS), 6 * SIGNS))
    close(func.vmap(func.jacfwd(func.jacfwd(lambda x: branch(x)["a"])))(SIGNS), second)


def test_only_the_chosen_branch_runs_where_there_is_one_answer():
    ran = []
    f = lambda x: func.cond(x.sum() > 0, lambda x: (ran.append(1), x)[1], lambda x: (ran.append(0), -x)[1], x)
    f(C), func.jvp(f, (C,), (C,)), func.grad(lambda x: f(x).sum())(C)
    func.vmap(lambda x: func.cond(C[0] > 0, lambda: (ran.append(1), x)[1], lambda: x))(BATCH)
    assert ran == [1, 1, 1, 1]
    func.vmap(f)(BATCH)
    assert ran[4:] == [1, 0]


def test_nested_maps_choose_per_pair():
    f = lambda x, y: func.cond(x > y, lambda: x * y, lambda: y**2)
    found = func.vmap(func.vmap(f, (None, 0)), (0, None))(SIGNS, SIGNS)
    close(found, lg.stack([lg.stack([f(x, y) for y in SIGNS]) for x in SIGNS]))


@pytest.mark.parametrize("pred", [True, 1, 2.5, np.True_, np.array(3), lg.tensor(True), lg.tensor(0.5), lg.tensor(-2)])
def test_predicates_are_truth_values_and_numbers(pred):
    assert func.cond(pred, lambda: 1, lambda: 2).item() == 1


@pytest.mark.parametrize("pred", [False, 0, 0.0, np.False_, lg.tensor(False), lg.tensor(0.0)])
def test_zero_is_false(pred):
    assert func.cond(pred, lambda: 1, lambda: 2).item() == 2


def test_the_value_of_a_dual_number_decides():
    f = lambda x: func.cond(x, lambda: 2 * x, lambda: 3 * x)
    assert func.jvp(f, (lg.tensor(0.0),), (lg.tensor(1.0),))[1].item() == 3
    assert func.jvp(func.vmap(f), (lg.tensor([0.0, 1.0]),), (lg.ones(2),))[1].tolist() == [3, 2]
    assert func.vmap(lambda x: func.jvp(f, (x,), (x + 1,))[1])(lg.tensor([0.0, 1.0])).tolist() == [3, 4]


def collatz(n):
    odd = lambda n: n % 2 == 1
    step = lambda v: (func.cond(odd(v[0]), lambda n: 3 * n + 1, lambda n: n // 2, v[0]), v[1] + 1)
    return func.while_loop(lambda v: v[0] > 1, step, (n, 0))[1]


def test_a_batched_while_loop_ends_with_its_last_example():
    assert func.vmap(collatz)(lg.arange(1, 11)).tolist() == [0, 1, 7, 2, 5, 8, 16, 3, 19, 6]
    nested = func.vmap(func.vmap(collatz))(lg.arange(1, 11).reshape((2, 5)))
    assert nested.tolist() == [[0, 1, 7, 2, 5], [8, 16, 3, 19, 6]]


def doubled(x):
    return func.while_loop(lambda x: x < 1, lambda x: x * x + 0.7, x)


def test_derivatives_of_batched_while_loops_stop_with_each_example():
    close(func.vmap(doubled)(SIGNS), lg.stack([doubled(x) for x in SIGNS]))
    slopes = lg.stack([func.grad(doubled)(x) for x in SIGNS])
    assert slopes[2] == 1  # no step
    close(func.vmap(func.grad(doubled))(SIGNS), slopes)
    close(func.vmap(func.jacfwd(doubled))(SIGNS), slopes)
    close(func.grad(lambda x: func.vmap(doubled)(x).sum())(SIGNS), slopes)
    close(func.jvp(func.vmap(doubled), (SIGNS,), (lg.ones_like(SIGNS),))[1], slopes)
    second = lg.stack([func.grad(func.grad(doubled))(x) for x in SIGNS])
    close(func.vmap(func.grad(func.grad(doubled)))(SIGNS), second)


def test_bounds_of_a_loop_may_differ_between_examples():
    f = lambda n, x: func.fori_loop(1, n, lambda i, y: x * y + i, lg.ones_like(x))
    counts = lg.tensor([0, 1, 3, 5])
    close(func.vmap(f)(counts, SIGNS), lg.stack([f(n, x) for n, x in zip(counts, SIGNS, strict=True)]))
    slopes = lg.stack([func.grad(f, 1)(n, x) for n, x in zip(counts, SIGNS, strict=True)])
    close(func.vmap(func.grad(f, 1))(counts, SIGNS), slopes)
    g = lambda n: func.fori_loop(n, 4, lambda i, y: y + i, 0)
    assert func.vmap(g)(counts).tolist() == [6, 6, 3, 0]


# -- what goes around, and what is collected --------------------------------------------------------
Point = collections.namedtuple("Point", "x y")


def test_trees_keep_their_structure():
    step = lambda c, x: (Point(c.y, {"b": c.x, "a": x["u"][0]}["b"] + x["u"][0]), [c.x, None])
    c, ys = func.scan(step, Point(C, C * 2), {"u": (X,), "none": None})
    assert isinstance(c, Point) and isinstance(ys, list) and ys[0].shape == X.shape and ys[1] is None
    swapped = func.while_loop(lambda v: v["a"] < 3, lambda v: {"b": v["b"], "a": v["a"] + 1}, {"a": 0, "b": C})
    assert list(swapped) == ["a", "b"] and swapped["a"].item() == 3


def test_nothing_needs_to_be_collected_or_given():
    assert func.scan(lambda c, x: (c * 2, x), 1.0, None, length=5) == (32, None)
    assert func.scan(lambda c, _: (c, ()), C, length=2)[1] == ()
    assert func.map(lambda x: None, X) is None and func.map(lambda x: (None, x), X, batch_size=2)[0] is None


@pytest.mark.parametrize("kind", [lg.float32, lg.float64, lg.bfloat16])
def test_numbers_go_by_the_tensors_beside_them(kind):
    xs = X.astype(kind)
    assert func.scan(lambda c, x: (c + x.sum(), c), 0.0, xs)[0].dtype == kind
    assert (
        func.while_loop(lambda v: v[1] < 3, lambda v: (v[0] + v[1], v[1] + xs[0, 0]), (0.0, xs[0, 0]))[0].dtype == kind
    )
    c, ys = func.scan(lambda c, x: (2.5, 1), xs[0, 0], xs)
    assert c.dtype == kind and c.item() == 2.5 and ys.dtype == lg.int64 and ys.tolist() == [1] * 5
    assert func.fori_loop(0, 2, lambda i, c: c, True).dtype == lg.bool


def test_arrays_of_numpy_are_welcome():
    c, ys = func.scan(lambda c, x: (c + x, c * x), np.zeros(3), np.asarray(X))
    close(c, X.sum(0))
    assert isinstance(ys, lg.Tensor) and isinstance(func.map(lg.sin, np.ones(2), batch_size=1), lg.Tensor)
    assert func.fori_loop(np.int64(0), lg.tensor(3), lambda i, c: c + 1, np.float64(1)).item() == 4


def test_counters_have_the_dtype_of_the_bounds():
    seen = []
    func.fori_loop(lg.tensor(0, dtype=lg.int32), 2, lambda i, c: (seen.append(i), c)[1], C)
    func.fori_loop(0, 2, lambda i, c: (seen.append(i), c)[1], C)
    assert [(i.dtype, i.shape, i.item()) for i in seen] == [(t, (), n) for t in (lg.int32, lg.int64) for n in (0, 1)]
    assert func.fori_loop(3, 1, lambda i, c: c + 1, 0).item() == 0
    assert func.fori_loop(-2, 3000, lambda i, c: c + i, 0).item() == sum(range(-2, 3000))


def test_no_steps_collect_nothing_of_the_right_shape():
    lg.manual_seed(3)
    expected = lg.rand(2)
    lg.manual_seed(3)
    kept = C.clone()
    c, ys = func.scan(lambda c, x: (c.mul_(2), {"a": x.sum() + lg.rand(2), "n": None}), kept, X[:0])
    close(c, C)
    assert ys["a"].shape == (0, 2) and ys["a"].dtype == lg.float64 and ys["n"] is None
    assert lg.rand(2).tolist() == expected.tolist()
    assert func.map(lambda x: x @ x, X[:0]).shape == func.map(lambda x: x @ x, X[:0], batch_size=3).shape == (0,)
    assert func.vmap(lambda c: func.scan(lambda c, x: (c, c + x), c, X[:0])[1])(BATCH).shape == (4, 0, 3)
    g = func.grad(lambda x: func.scan(lambda c, x: (c + x, c), C, x)[0].sum())(X[:0])
    assert g.shape == (0, 3)


def test_slices_in_batches_draw_different_numbers():
    assert len(set(func.map(lambda x: x + lg.rand(()), lg.zeros(6), batch_size=4).tolist())) == 6


def test_modes_hold_inside():
    c = C.clone().requires_grad_()
    with lg.no_grad():
        assert not func.scan(cell, c, X)[0].requires_grad
    assert func.scan(cell, c, X)[0].requires_grad


# -- costs ------------------------------------------------------------------------------------------
def seconds(call):
    """Processor time, without that of looking for garbage among whatever other tests left."""

    def once():
        gc.collect()
        gc.disable()
        try:
            start = time.process_time()
            call()
            return time.process_time() - start
        finally:
            gc.enable()

    return min(once() for _ in range(3))


def pulled_through(n):
    xs = lg.ones((n, 2), dtype=lg.float64)
    return func.grad(lambda xs: func.scan(lambda c, x: (c + x, c), lg.zeros(2, dtype=lg.float64), xs)[1].sum())(xs)


@pytest.mark.parametrize(
    "run",
    [
        pulled_through,
        lambda n: func.jvp(lambda xs: func.scan(lambda c, x: (c + x, c), 0.0, xs), (lg.ones(n),), (lg.ones(n),)),
        lambda n: func.vmap(lambda xs: func.scan(lambda c, x: (c + x, c), 0.0, xs))(lg.ones((2, n))),
        lambda n: lg.stack(lg.unstack(lg.ones(2 * n, requires_grad=True))),
    ],
    ids=["gradient of scan", "jvp of scan", "vmap of scan", "stack with history"],
)
def test_costs_are_linear_in_the_steps(run):
    run(100)
    short, long = (seconds(lambda n=n: run(n)) for n in (1250, 10_000))
    assert long < 24 * short, (short, long)  # 8 times for linear costs, 64 for quadratic ones


def test_ten_thousand_steps():
    g = pulled_through(10_000)
    assert g[0].tolist() == [9999, 9999] and g[-1].tolist() == [0, 0]
    assert func.fori_loop(0, 10_000, lambda i, c: c + i, 0).item() == sum(range(10_000))


# -- misuse -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: func.cond(True, 1, len), TypeError, "true_fun is a int, expected a function"),
        (lambda: func.cond("yes", len, len, C), TypeError, "pred is a str, expected a bool"),
        (lambda: func.cond(C > 0, lg.sin, lg.cos, C), TypeError, r"shape \(3,\), expected a single truth value.*any"),
        (lambda: func.cond(1j * C[0], lg.sin, lg.cos, C), TypeError, "complex128, expected a truth value"),
        (lambda: func.cond(True, lg.sin, lg.cos, "x"), TypeError, "leaf of type str, expected tensors"),
        (lambda: func.vmap(lambda x: func.cond(x > 0, lambda: x, lambda: (x,)))(SIGNS), TypeError, "structure"),
        (lambda: func.vmap(lambda x: func.cond(x > 0, lambda: x, lambda: 1))(SIGNS), TypeError, "int64 .*astype"),
        (lambda: func.vmap(lambda x: func.cond(x > 0, lambda: x, lambda: None))(SIGNS), TypeError, "is None"),
        (lambda: func.vmap(lambda x: func.cond(x > 0, lambda: x, lambda: C))(SIGNS), TypeError, r"\(3,\)"),
        (lambda: func.while_loop(lambda c: c.sum(), lg.sin, C), TypeError, "float64, expected a truth value"),
        (lambda: func.while_loop(lambda c: 1, lg.sin, C), TypeError, "int, expected a truth value"),
        (lambda: func.while_loop(lambda c: c > 0, lg.sin, C), TypeError, "single truth value"),
        (lambda: func.while_loop(lambda c: True, lambda c: c[:2], C), TypeError, r"shape \(2,\), before it had \(3,\)"),
        (lambda: func.while_loop(lambda c: True, lambda c: [c], C), TypeError, "structure list.*before it was"),
        (lambda: func.scan(lambda c, x: (c.float(), x), C, X), TypeError, "float32, before it had float64.*astype"),
        (lambda: func.scan(lambda c, x: (None, x), C, X), TypeError, "is None, before it was a tensor"),
        (lambda: func.scan(lambda c, x: (1.5, x), 1, X), TypeError, "float32, before it had int64"),
        (lambda: func.scan(lambda c, x: c, C, X), TypeError, r"f gave a Tensor, expected a pair \(carry, y\)"),
        (lambda: func.scan(lambda c, x: (c, x, x), C, X), TypeError, "f gave 3 values"),
        (lambda: func.scan(lambda c, x: (c + 1, [x] * int(c)), 1, X), TypeError, "what f collects has the structure"),
        (lambda: func.scan(cell, C), ValueError, "xs has no tensor and length is None"),
        (lambda: func.scan(cell, C, X, length=4), ValueError, "length is 4, the first axes of xs have length 5"),
        (lambda: func.scan(cell, C, (X, C)), ValueError, r"lengths \[3, 5\], expected one"),
        (lambda: func.scan(cell, C, X[0, 0]), ValueError, "without axes"),
        (lambda: func.scan(cell, C, length=-1), ValueError, "length is -1"),
        (lambda: func.scan(cell, C, length=2.5), TypeError, "length is a float"),
        (lambda: func.scan(cell, C, X, reverse=1), TypeError, "reverse is a int"),
        (lambda: func.scan(cell, C, X, unroll=0), ValueError, "unroll is 0"),
        (lambda: func.scan(cell, C, X, unroll="all"), TypeError, "unroll is a str"),
        (lambda: func.fori_loop(0, 2.5, cell, C), TypeError, "upper is a float, expected a whole number"),
        (lambda: func.fori_loop(C, 2, cell, C), TypeError, r"lower has shape \(3,\)"),
        (lambda: func.fori_loop(C[0], 2, cell, C), TypeError, "lower has dtype float64"),
        (lambda: func.fori_loop(True, 2, cell, C), TypeError, "lower is a bool"),
        (lambda: func.fori_loop(0, 2**70, cell, C), ValueError, "64 bits"),
        (
            lambda: func.fori_loop(lg.tensor(0), lg.tensor(2, dtype=lg.int32), lambda i, c: c, C),
            TypeError,
            "lower has dtype int64, upper int32",
        ),
        (lambda: func.map(lg.sin, X, batch_size=0), ValueError, "batch_size is 0"),
        (lambda: func.map(lg.sin, X, batch_size=True), TypeError, "batch_size is a bool"),
        (lambda: func.map(lg.sin, 1.0), ValueError, "map: xs has a tensor without axes"),
        (lambda: func.map(3, X), TypeError, "map: f is a int"),
    ],
)
def test_misuse_is_told(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_an_error_inside_a_function_is_the_users_own():
    class Own(Exception):
        pass

    def fail(*_):
        raise Own

    for call in (
        lambda: func.cond(True, fail, fail),
        lambda: func.scan(fail, C, X),
        lambda: func.scan(fail, C, X[:0]),
        lambda: func.while_loop(fail, fail, C),
        lambda: func.fori_loop(0, 1, fail, C),
        lambda: func.map(fail, X),
        lambda: func.map(fail, X, batch_size=2),
    ):
        with pytest.raises(Own):
            call()
    assert lg.is_grad_enabled() and func.scan(cell, C.clone().requires_grad_(), X)[0].requires_grad


# -- beside jax ---------------------------------------------------------------------------------------
NAMES = ("cond", "fori_loop", "map", "scan", "while_loop")
of_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")


@of_jax
@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_jax(name):
    from jax import lax

    ours, theirs = (list(inspect.signature(getattr(space, name)).parameters) for space in (func, lax))
    left_out = ("operand", "_split_transpose")  # an old spelling, and advice to its compiler
    assert ours == [parameter for parameter in theirs if parameter not in left_out]


PROGRAMS_OF_BOTH = [
    lambda lax, xp, x: lax.scan(lambda c, x: (xp.sin(c * x), c), x[0], x),
    lambda lax, xp, x: lax.scan(lambda c, x: (xp.sin(c * x), c), x[0], x, reverse=True),
    lambda lax, xp, x: lax.scan(lambda c, _: (xp.sin(c), c), x, None, length=3),
    lambda lax, xp, x: lax.cond(x[0, 0] > 0.5, lambda x: xp.sin(x), lambda x: x * x, x),
    lambda lax, xp, x: lax.fori_loop(1, 4, lambda i, c: c * x[i] + i, x[0]),
    lambda lax, xp, x: lax.map(lambda row: (xp.sin(row), xp.sum(row)), x),
    lambda lax, xp, x: lax.map(lambda row: (xp.sin(row), xp.sum(row)), x, batch_size=2),
    lambda lax, xp, x: lax.while_loop(lambda c: xp.sum(c) < 9, lambda c: c * 1.5, x),
]


@of_jax
@pytest.mark.parametrize("number", range(len(PROGRAMS_OF_BOTH)))
def test_meanings_are_those_of_jax(number):
    import jax

    def same(a, b):
        for one, other in zip(func.trees.flatten(a)[0], jax.tree.leaves(b), strict=True):
            np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-12)

    program = PROGRAMS_OF_BOTH[number]
    f, g = lambda x: program(func, lg, x), lambda x: program(jax.lax, jax.numpy, x)
    with jax.enable_x64(True):
        xs = lg.stack([X, X / 3])
        values = jax.numpy.asarray(np.asarray(xs))
        same(func.vmap(f)(xs), jax.vmap(g)(values))
        same(func.jvp(f, (X,), (X,)), jax.jvp(g, (values[0],), (values[0],)))
        if number == len(PROGRAMS_OF_BOTH) - 1:  # a while_loop has forward mode alone there
            return
        energies = lambda x: sum((leaf * leaf).sum() for leaf in jax.tree.leaves(g(x)))
        same(func.vmap(func.grad(total(f)))(xs), jax.vmap(jax.grad(energies))(values))
        if number == 0:
            same(func.hessian(total(f))(X), jax.hessian(energies)(values[0]))
