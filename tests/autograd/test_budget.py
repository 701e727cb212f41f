"""memory_budget: the same gradients to the last bit, whatever is dropped."""

import contextlib
import gc
import tracemalloc
import weakref

import numpy as np
import pytest
from laws.law import differentiable, function, has_samples, live
from samples import LEVELS, samples_of

import lucidgrad as lg
from lucidgrad.autograd import memory_budget
from lucidgrad.core.modes import state, unusual
from lucidgrad.core.primitive import registry
from lucidgrad.utils.checkpoint import checkpoint

BUDGETS = [0, 300, 2_000, 10_000, 10**9]


def leaves(*shapes, dtype=lg.float64):
    rng = np.random.default_rng(0)
    return [lg.tensor(rng.normal(size=shape), dtype=dtype, requires_grad=True) for shape in shapes]


def gradients(function, inputs, budget=None):
    if budget is None:
        return lg.autograd.grad(function(*inputs), inputs)
    with memory_budget(budget):
        y = function(*inputs)
    return lg.autograd.grad(y, inputs)


def same(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(a.detach()), np.asarray(b.detach()))


def chain(x, n=50):
    for i in range(n):
        x = (lg.tanh, lg.exp, lambda y: y * 0.3, lg.sin, lambda y: y + 1, lg.sqrt, lambda y: 1 / y)[i % 7](abs(x) + 1)
    return x.sum()


def network(x, w, b):
    for _ in range(6):
        h = x @ w + b
        h = (h - h.mean(dim=1, keepdim=True)) / lg.sqrt(lg.var(h, axis=1, keepdims=True) + 1e-5)
        x = x + lg.softmax(h, axis=1) * lg.sigmoid(x)
    return lg.logsumexp(x, axis=1).sum()


def views(x, w, b):
    for k in range(8):
        parts = lg.unstack(lg.reshape(x.T, (2, 2, 4)), axis=0)
        x = lg.concat([lg.exp(parts[0] * 0.1), lg.flip(parts[1], axis=0).reshape(2, 4)], axis=0)
        x = lg.where(x > 0, x * w, x[:, [3, 1, 0, 2]] * b)[::-1].T
        x = x / (1 + lg.norm(x)) + k
    return (x**2).sum()


def decompositions(x, w, b):
    for _ in range(3):
        q, r = lg.linalg.qr(x @ w + lg.eye(4))
        u, s, v = lg.linalg.svd(q * b + r, full_matrices=False)
        x = u * s + v
    return (x * x).sum()


def diamond(x, w, b):
    a = c = x
    for _ in range(20):
        a, c = lg.tanh(a @ w), lg.sin(c + b)
    return (a * c).sum()


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("function", [network, views, decompositions, diamond])
def test_gradients_are_the_same_bits(function, budget):
    inputs = leaves((4, 4), (4, 4), (4,))
    same(gradients(function, inputs, budget), gradients(function, inputs))


@pytest.mark.parametrize("dtype", [lg.float32, lg.float64, lg.complex64])
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_chain_gives_the_same_bits(budget, dtype):
    (x,) = leaves((37,), dtype=dtype)
    run = chain if dtype != lg.complex64 else lambda x: abs(lg.sin(lg.exp(x * x) / (1 + x)) * 2).sum()
    same(gradients(run, [x], budget), gradients(run, [x]))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("inside", [True, False])
def test_second_and_third_derivatives(budget, inside):
    def third(x, w, b):
        y = network(x, w, b)
        with memory_budget(budget) if inside else lg.enable_grad():
            (g,) = lg.autograd.grad(y, x, create_graph=True)
            (h,) = lg.autograd.grad((g * g).sum(), x, create_graph=True)
        return (h * w).sum()

    inputs = leaves((4, 4), (4, 4), (4,))
    same(gradients(third, inputs, budget), gradients(third, inputs))


def test_a_graph_that_is_retained_serves_again():
    (x,) = leaves((100,))
    with memory_budget(5 * 800) as budget:
        y = chain(x, 200)
    first = lg.autograd.grad(y, x, retain_graph=True)
    assert budget.used <= 5 * 800 + 8 * 800
    second = lg.autograd.grad(y, x, retain_graph=True)
    assert budget.used <= 5 * 800 + 8 * 800
    same(first, second)
    same(lg.autograd.grad(y, x), gradients(lambda x: chain(x, 200), [x]))
    assert budget.used == 0


# -- in-place operations ---------------------------------------------------------------------------
def test_a_value_written_after_it_was_kept_is_computed_again():
    (x,) = leaves((5,))
    for size in (0, 10**6):  # dropped, or held in the memory that is overwritten
        with memory_budget(size):
            h = x * 2
            y = lg.sin(h)
            with lg.no_grad():
                h.zero_()
        (g,) = lg.autograd.grad(y.sum(), x)
        np.testing.assert_array_equal(g.numpy(), np.cos(x.detach().numpy() * 2) * 2)


def test_a_value_written_before_it_is_used_is_what_counts():
    (x,) = leaves((5,))

    def run(x):
        h = x * 2
        with lg.no_grad():
            h += 1
        y = lg.sin(h)
        h = x * 3
        h.mul_(y)
        h[1:3] = lg.sin(h[2:4].clone())
        v = h[::2]
        v *= h[::2] * 3
        return (lg.tanh(h) * v.sum()).sum()

    for budget in BUDGETS:
        same(gradients(run, [x], budget), gradients(run, [x]))


def test_a_changed_input_raises():
    x, w = leaves((5,), (5,))
    c = lg.ones(5, dtype=lg.float64)
    for changed in (w, c):
        with memory_budget(0):
            y = lg.sin(x + w + c)
        with lg.no_grad():
            changed += 1
        with pytest.raises(RuntimeError, match=r"memory_budget: add .* in-place"):
            y.sum().backward()
        assert x.grad is None
        assert state.recording and not unusual


def test_a_changed_index_raises_or_is_not_needed():
    (x,) = leaves((5,))
    i = lg.asarray([4, 2, 0])
    with memory_budget(0):
        y = lg.sin(lg.take(x * 2, i, axis=0))
    i.zero_()
    with pytest.raises(RuntimeError, match="in-place"):
        y.sum().backward()


# -- what is never computed again ------------------------------------------------------------------
def test_random_numbers_are_drawn_once():
    (x,) = leaves((50,))

    def run(x):
        lg.manual_seed(3)
        for _ in range(20):
            x = lg.tanh(x * (lg.rand(50) > 0.3) + lg.randn(50, dtype=lg.float64))
        return x.sum()

    expected = gradients(run, [x])
    with memory_budget(1000) as budget:
        y = run(x)
    before = lg.random.states()
    found = lg.autograd.grad(y, x)
    assert budget.recomputed > 20
    assert str(before) == str(lg.random.states())
    same(found, expected)


def test_functions_of_the_user_run_once():
    calls = []

    class Double(lg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            calls.append(1)
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 + 0 * ctx.saved_tensors[0]

    def run(x):
        for _ in range(5):
            x = lg.tanh(Double.apply(lg.exp(-x)))
        return x.sum()

    (x,) = leaves((7,))
    for budget in BUDGETS:
        same(gradients(run, [x], budget), gradients(run, [x]))
    assert len(calls) == 10 * len(BUDGETS)


@pytest.mark.parametrize("budget", BUDGETS)
def test_transforms_and_checkpoints_inside(budget):
    x, w = leaves((6, 4), (4, 4))

    def run(x, w):
        y = lg.func.vmap(lambda row: lg.tanh(w @ lg.exp(row)))(x)
        y = checkpoint(lambda y: lg.sin(lg.exp(y)) * y, y)
        y = lg.func.jvp(lambda y: lg.sin(y) * y, (y,), (y * 2,))[1]
        return (y + lg.func.grad(lambda y: lg.sin(y * y).sum())(y)).sum()

    same(gradients(run, [x, w], budget), gradients(run, [x, w]))


# -- cost ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("part", "most"), [(0, 12), (0.02, 6), (0.1, 2), (0.25, 1), (0.5, 0.6), (1.01, 0)])
def test_how_much_is_computed_again(part, most):
    n = 1000
    (x,) = leaves((10,))
    with memory_budget(int(n * 80 * part)) as budget:
        y = x
        for _ in range(n):
            y = lg.tanh(y)
    assert budget.used <= n * 80 * part
    y.sum().backward()
    assert budget.recomputed <= most * n


def test_two_chains_side_by_side_are_both_spread():
    n = 400
    a, b = leaves((10,), (10,))
    with memory_budget(2 * n * 80 // 8) as budget:
        y, z = a, b
        for _ in range(n):
            y, z = lg.tanh(y), lg.sin(z)
    (y * z).sum().backward()
    assert budget.recomputed < 8 * n


def test_peak_memory_is_the_budget_and_a_few_values():
    n, size = 60, 100_000
    (x,) = leaves((size,), dtype=lg.float32)
    gc.collect()
    tracemalloc.start()
    try:
        with memory_budget(10 * size * 4) as budget:
            y = x
            for _ in range(n):
                y = lg.sin(y)
        forward = tracemalloc.get_traced_memory()[1] / (size * 4)
        tracemalloc.reset_peak()
        y.sum().backward()
        backward = tracemalloc.get_traced_memory()[1] / (size * 4)
    finally:
        tracemalloc.stop()
    assert forward < 13
    assert backward < 10 + 6
    assert budget.recomputed < 3 * n


def test_nothing_is_left_without_the_collector():
    (x,) = leaves((10,))
    gc.collect()
    gc.disable()
    try:
        context = memory_budget(500)
        with context:
            y = chain(x, 60)
            seen = weakref.ref(y._node)
        pool = weakref.ref(context._pool)
        y.backward()
        assert context.used == 0
        assert not context._pool._strong
        del y, context
        assert seen() is None and pool() is None
        with memory_budget(500):  # dropped without a walk
            y = lg.tanh(chain(x, 5000))
            kept = lg.tanh(x) + 1
        seen = weakref.ref(y._node)
        del y, kept
        assert seen() is None
    finally:
        gc.enable()


def test_a_chain_of_ten_thousand_operations():
    (x,) = leaves((3,))
    with memory_budget(100 * 24) as budget:
        y = x
        for _ in range(10_000):
            y = lg.tanh(y)
    y.sum().backward()
    z = x.detach().requires_grad_()
    y = z
    for _ in range(10_000):
        y = lg.tanh(y)
    y.sum().backward()
    same([x.grad], [z.grad])
    assert budget.recomputed < 25_000


# -- misuse ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("given", "error"), [("1GB", TypeError), (None, TypeError), (-1, ValueError)])
def test_bad_budgets(given, error):
    with pytest.raises(error, match="memory_budget"):
        memory_budget(given)


def test_the_state_is_restored_after_an_error():
    with pytest.raises(ZeroDivisionError), memory_budget(10):
        raise ZeroDivisionError
    assert state.keeping is None and not unusual


def test_a_budget_inside_another_counts_alone():
    (x,) = leaves((10,))
    with memory_budget(0) as outer:
        y = lg.tanh(lg.tanh(x))
        with memory_budget(10**6) as inner:
            y = lg.tanh(lg.tanh(y))
        y = lg.tanh(lg.tanh(y))
    assert inner.used == 160 and outer.used == 0
    found = lg.autograd.grad(y.sum(), x)
    same(found, gradients(lambda x: lg.tanh(lg.tanh(lg.tanh(lg.tanh(lg.tanh(lg.tanh(x)))))).sum(), [x]))
    assert inner.recomputed == 0 and outer.recomputed > 0


# -- every primitive -------------------------------------------------------------------------------
def _gradients_of(primitive, sample, context):
    of, xs = function(primitive, sample)
    with context:
        parts = [y * y + y for y in live(of(*(x * 1 for x in xs)))]  # the results themselves are gone
        total = sum((part.abs() if part.is_complex() else part).sum() for part in parts)
    return lg.autograd.grad(total, xs, allow_unused=True) if parts else []


def test_every_primitive_computed_again_gives_the_same_bits():
    again = 0
    for name in sorted(set(registry) - set(LEVELS)):
        primitive = registry[name]
        if not differentiable(primitive) or not has_samples(primitive):
            continue
        for sample in samples_of(primitive):
            with np.errstate(all="ignore"):
                found = _gradients_of(primitive, sample, budget := memory_budget(0))
                expected = _gradients_of(primitive, sample, contextlib.nullcontext())
            again += budget.recomputed
            for a, b in zip(found, expected, strict=True):
                assert (a is None) == (b is None), name
                if a is not None:
                    np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=f"{name} {sample}")
    assert again > 1000


# -- programs at random ----------------------------------------------------------------------------
UNARY = [lg.sin, lg.tanh, lg.exp, lambda x: x * 2, lambda x: 1 - x, lambda x: x / (1 + x * x), lg.sigmoid, abs]
BINARY = [lg.add, lg.multiply, lg.subtract, lg.maximum, lg.hypot, lambda a, b: a @ b / 3]
VIEWS = [lambda x: x.T, lambda x: x[::-1], lambda x: x.reshape(9).reshape(3, 3), lambda x: x[:, [2, 0, 1]], lg.clone]
WRITES = [
    lambda x, y: x.add_(y),
    lambda x, y: x.mul_(y),
    lambda x, y: x.__setitem__(0, y[1]),
    lambda x, y: x[1:].add_(1),
]


def random_program(seed, inputs, steps=40):
    """Operations, views and in-place writes at random; tensors come and go."""
    rng = np.random.default_rng(seed)
    values = list(inputs)
    one_of = lambda things: things[rng.integers(len(things))]
    for _ in range(steps):
        x, y, kind = one_of(values), one_of(values), rng.random()
        if kind < 0.35:
            made = one_of(UNARY)(x)
        elif kind < 0.6:
            made = one_of(BINARY)(x, y)
        elif kind < 0.75:
            made = one_of(VIEWS)(x)
        elif kind < 0.78:
            made = x.detach() * y
        elif kind < 0.8:
            made = x * lg.tensor(rng.normal(size=(3, 3)))
        else:
            write, recorded = one_of(WRITES), rng.random() < 0.5
            with contextlib.suppress(RuntimeError), contextlib.nullcontext() if recorded else lg.no_grad():
                if not any(x is leaf for leaf in inputs) and not x.is_leaf:
                    write(x, y.detach().clone() if rng.random() < 0.3 else y)
            continue
        values.append(lg.tanh(made))
        if len(values) > 8:
            del values[rng.integers(2, len(values))]
    return sum((v * (k + 1)).sum() for k, v in enumerate(values[2:]))


def test_random_programs_give_the_same_bits_or_an_error():
    outcomes = {"same": 0, "refused": 0}
    for seed in range(100):
        inputs = leaves((3, 3), (3, 3))
        with lg.autograd.graph.allow_mutation_on_saved_tensors():
            expected = lg.autograd.grad(random_program(seed, inputs), inputs, allow_unused=True)
        for size in (0, 200, 600):
            with memory_budget(size):
                y = random_program(seed, inputs)
            try:
                found = lg.autograd.grad(y, inputs, allow_unused=True)
            except RuntimeError:
                outcomes["refused"] += 1
                continue
            outcomes["same"] += 1
            for a, b in zip(found, expected, strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=f"seed {seed}, budget {size}")
    assert outcomes["refused"] < outcomes["same"] / 3, outcomes
