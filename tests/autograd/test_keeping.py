"""What nodes keep: hooks, host memory, checkpoints; and hooks on several gradients."""

import contextlib
import gc
import weakref

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.autograd import graph
from lucidgrad.utils import checkpoint as checkpoints
from lucidgrad.utils.checkpoint import checkpoint


@pytest.fixture
def x():
    lg.manual_seed(0)
    return lg.randn(5, dtype=lg.float64, requires_grad=True)


@pytest.fixture
def w():
    return lg.randn(5, dtype=lg.float64, requires_grad=True)


def same(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(a.detach()), np.asarray(b.detach()))


def test_hooks_see_what_is_kept_and_give_it_back(x):
    packed, unpacked = [], []

    def pack(t):
        assert isinstance(t, lg.Tensor) and not t.requires_grad and not lg.is_grad_enabled()
        packed.append(t)
        return len(packed) - 1

    def unpack(i):
        unpacked.append(i)
        return packed[i]

    with graph.saved_tensors_hooks(pack, unpack):
        y = lg.exp(x) * lg.sin(x)
    y.sum().backward()
    assert len(packed) == len(unpacked) == 4  # exp keeps y, sin keeps x, multiply keeps both inputs
    np.testing.assert_allclose(x.grad.numpy(), (lg.exp(x) * (lg.sin(x) + lg.cos(x))).detach().numpy())


def test_hooks_serve_the_second_order(x):
    with graph.saved_tensors_hooks(lambda t: t.numpy(), lg.asarray):
        y = x**3
        (g,) = lg.autograd.grad(y.sum(), x, create_graph=True)
    np.testing.assert_allclose(lg.autograd.grad(g.sum(), x)[0].numpy(), 6 * x.detach().numpy())


def test_the_innermost_hooks_count_and_can_be_forbidden(x):
    seen = []
    with graph.saved_tensors_hooks(lambda t: seen.append("outer") or t, lambda t: t):
        with graph.saved_tensors_hooks(lambda t: seen.append("inner") or t, lambda t: t):
            lg.exp(x)
        lg.exp(x)
    assert seen == ["inner", "outer"]
    with (
        graph.disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        pass


def test_hooks_are_forbidden_around_and_inside(x):
    with graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"):
        checkpoint(lg.exp, x)
    identity = graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with identity, pytest.raises(RuntimeError, match="too late"), graph.disable_saved_tensors_hooks("too late"):
        pass
    same(lg.autograd.grad(checkpoint(lg.exp, x).sum(), x), [lg.exp(x)])  # both contexts are over


@pytest.mark.parametrize(("back", "error"), [(lambda t: 3, TypeError), (lambda t: t[:2], RuntimeError)])
def test_a_wrong_unpack_is_told(x, back, error):
    with graph.saved_tensors_hooks(lambda t: t, back):
        y = lg.exp(x)
    with pytest.raises(error, match="unpack hook"):
        y.sum().backward()
    assert x.grad is None


def test_a_failing_pack_leaves_the_modes_as_they_were(x):
    def fail(t):
        raise ValueError("no room")

    with pytest.raises(ValueError, match="no room"), graph.saved_tensors_hooks(fail, lambda t: t):
        lg.exp(x)
    y = lg.exp(x)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(x.detach().numpy()))


def test_a_pack_hook_that_writes_is_told(x):
    with pytest.raises(RuntimeError, match="pack hook"), graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        lg.exp(x)


def test_values_and_indices_may_be_overwritten(x):
    with graph.allow_mutation_on_saved_tensors():
        at, mask = lg.asarray([0, 1, 4]), lg.asarray([True, False, True])
        h = x * 1
        part = h[at]
        y = lg.exp(part) * part + lg.where(mask, h[:3], 0.0) + h[lg.asarray([2, 3, 4]), ...]
        for written in (at, mask, h, part):
            written.zero_()
    plain = x[lg.asarray([0, 1, 4])]
    expected = lg.exp(plain) * plain + lg.where(lg.asarray([True, False, True]), x[:3], 0.0) + x[2:]
    same(lg.autograd.grad(y.sum(), x), lg.autograd.grad(expected.sum(), x))


def test_save_on_cpu_changes_nothing(x):
    with graph.save_on_cpu():
        y = lg.tanh(x) * x
    same(lg.autograd.grad(y.sum(), x), lg.autograd.grad((lg.tanh(x) * x).sum(), x))


# -- checkpoints -----------------------------------------------------------------------------------------
def noisy(x, w):
    return lg.tanh(x * w) * (lg.rand(5) > 0.5) * lg.exp(x)


def test_gradients_of_every_order_are_the_same(x, w):
    results = []
    for run in (lambda: noisy(x, w), lambda: checkpoint(lambda x: noisy(x, w), x)):
        lg.manual_seed(7)
        y = run()
        after = lg.rand(2)
        first = lg.autograd.grad(y.sum(), (x, w), create_graph=True)
        second = lg.autograd.grad(sum(g.sum() for g in first), (x, w))
        results.append([y, after, *first, *second, lg.rand(2)])
    same(*results)


@pytest.mark.parametrize("seeded", [False, True])
def test_random_numbers_are_the_same_where_they_are_the_first_of_all(x, seeded, monkeypatch):
    monkeypatch.setattr(lg.random, "_seed", {"value": 3} if seeded else {})
    monkeypatch.setattr(lg.random, "_defaults", {})
    y = checkpoint(lambda x: x * x * lg.rand(5), x)
    after = lg.random.get_rng_state()
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), (2 * y / x).detach().numpy())
    assert str(lg.random.get_rng_state()) == str(after)


def test_the_function_runs_again_once_per_walk_and_keeps_nothing_between(x):
    runs, alive = [], []

    def f(x):
        runs.append(1)
        h = lg.exp(x)
        alive.append(weakref.ref(h.array))
        return lg.sin(h)

    y = checkpoint(f, x)
    gc.collect()
    assert alive[0]() is None
    y.sum().backward(retain_graph=True)
    assert len(runs) == 2
    y.sum().backward()
    assert len(runs) == 3
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_the_second_run_stops_when_all_is_there(x):
    calls = []

    def f(x):
        y = lg.exp(x)
        calls.append("end")
        return y

    checkpoint(f, x).sum().backward()
    assert calls == ["end"]
    checkpoint(f, x, early_stop=False).sum().backward()
    assert calls == ["end"] * 3
    with checkpoints.set_checkpoint_early_stop(False):
        y = checkpoint(f, x)
    y.sum().backward()
    assert calls == ["end"] * 5


def test_each_run_has_its_context(x):
    entered = []

    @contextlib.contextmanager
    def named(name):
        entered.append(name)
        yield

    y = checkpoint(lg.exp, x, context_fn=lambda: (named("first"), named("second")))
    assert entered == ["first"]
    y.sum().backward()
    assert entered == ["first", "second"]
    assert lg.allclose(x.grad, lg.exp(x.detach()))


def test_checkpoints_nest(x, w):
    def inner(y):
        return lg.sin(y) * w

    y = checkpoint(lambda x: checkpoint(inner, lg.exp(x)) * x, x)
    same(lg.autograd.grad(y.sum(), (x, w)), lg.autograd.grad((inner(lg.exp(x)) * x).sum(), (x, w)))


def halves(x, n, alive):
    if n == 1:
        y = lg.sqrt(x + 3)
        alive.append(weakref.ref(y.array))
        return y
    return checkpoint(halves, checkpoint(halves, x, n // 2, alive), n=n // 2, alive=alive)


def test_nested_checkpoints_keep_only_the_outermost_inputs(x):
    alive = []
    x = lg.exp(x).detach().requires_grad_()
    y = checkpoint(halves, x, 16, alive)
    gc.collect()
    assert [ref() is not None for ref in alive] == [False] * 15 + [True]  # the last one is y itself
    expected = x
    for _ in range(16):
        expected = lg.sqrt(expected + 3)
    results = []
    for end in (y, expected):
        (g,) = lg.autograd.grad(end.sum(), x, create_graph=True)
        results.append([g, *lg.autograd.grad(g.sum(), x)])
    same(*results)


def later_write(x, w):
    h = x * 1
    y = checkpoint(lg.exp, h)
    h.mul_(3)
    return y


def write_into_the_input(x, w):
    return checkpoint(lambda h: lg.exp(h.mul_(2)), x * 1)


def write_into_a_member(x, w):
    members = {"h": [x * 1]}
    y = checkpoint(lambda members: lg.exp(members["h"][0]), members)
    members["h"][0].add_(1)
    return y


def write_into_a_parameter(x, w):
    y = checkpoint(lambda x: lg.sin(x * w), x)
    with lg.no_grad():
        w.mul_(2)
    return y


def write_into_what_is_kept(x, w):
    def f(x):
        y = lg.exp(x)
        y.mul_(3)
        return lg.sin(y * 1)

    return checkpoint(f, x)


WRITES = [later_write, write_into_the_input, write_into_a_member, write_into_a_parameter, write_into_what_is_kept]


@pytest.mark.parametrize("f", WRITES, ids=lambda f: f.__name__)
def test_a_write_that_would_change_the_second_run_raises(f, x, w):
    y = f(x, w)
    with pytest.raises(RuntimeError, match="checkpoint: .* in-place operation"):
        y.sum().backward()
    assert x.grad is None


def test_writes_that_change_nothing_are_fine(x, w):
    def f(x):
        y = x * 2
        y.mul_(w)
        y = lg.exp(y)
        z = y * 1
        z.add_(1)
        return z * z

    def outer(x):
        h = x * 1
        h.mul_(2)
        return checkpoint(f, h)

    y = checkpoint(outer, x)
    y_after = y * 1
    y_after.zero_()
    same(lg.autograd.grad(y.sum(), (x, w)), lg.autograd.grad(f(x * 2).sum(), (x, w)))


def test_both_runs_are_told(x):
    functions = iter([lg.exp, lg.tanh, lg.exp, lambda x: x + 1])
    y = checkpoint(lambda x: lg.sin(next(functions)(x)) * next(functions)(x), x, debug=True)
    with pytest.raises(
        checkpoints.CheckpointError, match=r"first run:  exp, sin, tanh, mul[^\n]*\nsecond run: exp, sin, add"
    ):
        y.sum().backward()
    with pytest.raises(TypeError, match="pair of contexts"):
        checkpoint(lg.exp, x, context_fn=lambda: 3)


def test_a_policy_keeps_what_it_names(x):
    runs = []

    def f(x):
        runs.append(1)
        return lg.sin(lg.exp(x))

    checkpoint(f, x, policy=lambda name: name in ("exp", "sin")).sum().backward()
    assert len(runs) == 1
    same([x.grad], lg.autograd.grad(lg.sin(lg.exp(x)).sum(), x))


def test_a_function_that_changes_is_found_out(x):
    sizes = iter([5, 3])
    y = checkpoint(lambda x: lg.sin(x[: next(sizes)]).sum(), x)
    with pytest.raises(checkpoints.CheckpointError, match="second run"):
        y.backward()
    assert x.grad is None


def test_segments(x):
    functions = [lg.sin, lg.exp, lg.tanh, lg.cos, lg.exp]
    y = checkpoints.checkpoint_sequential(functions, 2, x)
    same(lg.autograd.grad(y.sum(), x), lg.autograd.grad(lg.exp(lg.cos(lg.tanh(lg.exp(lg.sin(x))))).sum(), x))


# -- hooks on several gradients --------------------------------------------------------------------------
def test_a_hook_on_several_gradients_fires_when_all_are_there(x, w):
    seen = []
    handle = graph.register_multi_grad_hook((x, w), lambda gs: seen.append([g is not None for g in gs]))
    (x * w).sum().backward()
    (x * x).sum().backward()
    assert seen == [[True, True], [True, False]]
    handle.remove()
    (x * w).sum().backward()
    assert len(seen) == 2


def test_a_gradient_that_is_none_does_not_keep_the_others_from_being_told(x, w):
    class First(lg.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            return x * w

        @staticmethod
        def backward(ctx, g):
            return g, None

    seen = []
    graph.register_multi_grad_hook((x, w), lambda gs: seen.append([g is not None for g in gs]))
    First.apply(x, w).sum().backward()
    assert seen == [[True, False]]
    try:
        raise KeyError
    except KeyError:  # an exception that is being handled is not the walk's
        First.apply(x, w).sum().backward()
    (x * w).sum().backward()
    assert seen == [[True, False], [True, False], [True, True]]
    h = x * 1
    h.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (First.apply(h, w) + x).sum().backward()
    assert len(seen) == 3


def test_a_hook_on_any_gradient_fires_once(x, w):
    seen = []
    with graph.register_multi_grad_hook((x, w), seen.append, mode="any"):
        (x * w).sum().backward()
    assert len(seen) == 1


def test_an_exception_in_a_hook_leaves_nothing_behind(x, w):
    def fail(gs):
        raise ValueError("stop")

    with graph.register_multi_grad_hook((x, w), fail), pytest.raises(ValueError, match="stop"):
        (x * w).sum().backward()
    assert x.grad is None and w.grad is None
    seen = []
    with graph.register_multi_grad_hook((x, w), seen.append):
        (x * w).sum().backward()
    assert len(seen) == 1
