"""Grad modes and inference mode: as blocks, as decorators, in generators, nested, after errors."""

import numpy as np
import pytest

import lucidgrad as lg

on = lg.is_grad_enabled
inference = lg.autograd.is_inference_mode_enabled
SWITCHES = pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (lg.no_grad, (False, False)),
        (lg.inference_mode, (False, True)),
        (lambda: lg.set_grad_enabled(False), (False, False)),
        (lg.enable_grad, (True, False)),
        (lambda: lg.set_grad_enabled(True), (True, False)),
        (lambda: lg.inference_mode(False), (True, False)),
    ],
    ids=["no_grad", "inference_mode", "set False", "enable_grad", "set True", "inference False"],
)


def leaf(*values):
    return lg.tensor(list(values), requires_grad=True)


def close(t, expected):
    np.testing.assert_allclose(t.detach().numpy(), expected, rtol=1e-6)


def state():
    return on(), inference()


# --- switching ----------------------------------------------------------------------------------------


def test_recording_is_on_from_the_start():
    assert state() == (True, False)
    assert on() is True


@SWITCHES
def test_mode_as_a_block(mode, expected):
    with mode():
        assert state() == expected
    assert state() == (True, False)


@SWITCHES
def test_mode_is_restored_after_an_exception(mode, expected):
    with pytest.raises(KeyError), mode():
        raise KeyError
    assert state() == (True, False)


@SWITCHES
def test_mode_as_a_decorator(mode, expected):
    cm = mode()
    lg.set_grad_enabled(True)  # set_grad_enabled(False) switches when it is called, decorator or not

    @cm
    def f(a, *, b):
        """Doc."""
        return state(), a, b

    for _ in range(3):
        assert f(1, b=2) == (expected, 1, 2)
        assert state() == (True, False)
    assert f.__name__ == "f"
    assert f.__doc__ == "Doc."


def test_set_grad_enabled_used_as_a_decorator_does_not_leave_the_mode_switched():
    @lg.set_grad_enabled(False)
    def f():
        return on()

    assert on()
    assert f() is False
    assert on()


@SWITCHES
def test_decorated_function_restores_the_mode_when_it_raises(mode, expected):
    cm = mode()
    lg.set_grad_enabled(True)

    @cm
    def f():
        raise KeyError

    with pytest.raises(KeyError):
        f()
    assert state() == (True, False)


@pytest.mark.parametrize("mode", [lg.no_grad, lg.inference_mode], ids=["no_grad", "inference_mode"])
def test_mode_as_a_decorator_without_parentheses(mode):
    @mode
    def f(a):
        return on(), a

    assert f(1) == (False, 1)
    assert f.__name__ == "f"
    assert on()


def test_enable_grad_as_a_decorator_without_parentheses():
    @lg.enable_grad
    def f():
        return on()

    with lg.no_grad():
        assert f()
        assert not on()


def test_decorated_method_gets_its_self():
    class Model:
        @lg.no_grad()
        def predict(self, x):
            return self, (x * 2).requires_grad

    model = Model()
    assert model.predict(leaf(1.0)) == (model, False)


def test_decorated_recursion_nests():
    @lg.no_grad()
    def f(n):
        return [on()] + (f(n - 1) if n else [])

    assert f(5) == [False] * 6
    assert on()


def test_modes_nest_and_unwind_in_order():
    with lg.no_grad():
        with lg.enable_grad():
            assert on()
            with lg.no_grad():
                assert not on()
                with lg.set_grad_enabled(True):
                    assert on()
                assert not on()
            assert on()
        assert not on()
    assert on()


def test_set_grad_enabled_as_a_plain_call():
    lg.set_grad_enabled(False)
    assert not on()
    assert not (leaf(1.0) * 2).requires_grad
    lg.set_grad_enabled(True)
    assert on()
    assert (leaf(1.0) * 2).requires_grad


def test_plain_call_inside_a_block_ends_with_the_block():
    with lg.no_grad():
        lg.set_grad_enabled(True)
        assert on()
    assert on()
    with lg.enable_grad():
        lg.set_grad_enabled(False)
        assert not on()
    assert on()


def test_set_grad_enabled_object_entered_later_returns_to_the_mode_at_its_creation():
    switch = lg.set_grad_enabled(False)
    assert not on()
    with switch:
        assert not on()
    assert on()


def test_modes_are_the_same_objects_in_both_places():
    for name in ["no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "is_grad_enabled"]:
        assert getattr(lg, name) is getattr(lg.autograd, name)


# --- generators ---------------------------------------------------------------------------------------


def test_decorated_generator_has_its_own_mode_and_the_caller_keeps_theirs():
    log = []

    @lg.no_grad()
    def numbers():
        log.append(on())
        try:
            sent = yield 1
            log.append((on(), sent))
            try:
                yield 2
            except ValueError:
                log.append(("caught", on()))
                yield 3
        finally:
            log.append(("finally", on()))

    it = numbers()
    assert log == []
    assert next(it) == 1
    assert on()
    assert it.send("sent") == 2
    assert on()
    assert it.throw(ValueError) == 3
    assert on()
    it.close()
    assert on()
    assert log == [False, (False, "sent"), ("caught", False), ("finally", False)]


def test_decorated_generator_returns_its_value_and_can_be_delegated_to():
    @lg.no_grad()
    def inner():
        yield on()
        return on()

    def outer():
        result = yield from inner()
        yield ("returned", result, on())

    assert list(outer()) == [False, ("returned", False, True)]


def test_decorated_generator_that_raises_restores_the_mode():
    @lg.no_grad()
    def broken():
        yield 1
        raise KeyError

    it = broken()
    next(it)
    with pytest.raises(KeyError):
        next(it)
    assert on()


def test_generator_decorated_with_enable_grad_records_under_no_grad():
    x = leaf(3.0)

    @lg.enable_grad()
    def squares():
        yield x * x
        yield x * x * x

    with lg.no_grad():
        results = list(squares())
        assert not on()
    assert [y.requires_grad for y in results] == [True, True]


def test_generator_in_inference_mode():
    @lg.inference_mode()
    def batches():
        for _ in range(2):
            yield lg.ones(2).is_inference()

    it = batches()
    assert next(it)
    assert not inference()
    assert next(it)


# --- what the modes do --------------------------------------------------------------------------------


def test_no_grad_results_are_leaves_without_history():
    x = leaf(1.0, 2.0)
    with lg.no_grad():
        y = x * x
        assert not y.requires_grad
        assert y.is_leaf
        assert y.grad_fn is None
        assert not x.clone().requires_grad
        assert not x.detach().requires_grad
    assert (x * y).requires_grad
    assert x.requires_grad


def test_factories_keep_requires_grad_under_no_grad():
    with lg.no_grad():
        t = lg.ones(2, requires_grad=True)
        s = lg.tensor([1.0], requires_grad=True)
    assert t.requires_grad
    assert s.requires_grad
    (t * s).sum().backward()
    close(t.grad, [1.0, 1.0])


def test_enable_grad_inside_no_grad_records():
    x = leaf(2.0)
    with lg.no_grad(), lg.enable_grad():
        y = x * x
    close(lg.autograd.grad(y.sum(), x)[0], [4.0])


def test_what_was_recorded_before_stays_recorded():
    x = leaf(2.0)
    y = x * x
    with lg.no_grad():
        z = y * 10
    (y * z).sum().backward()  # z is a constant, 40
    close(x.grad, [160.0])


def test_backward_runs_under_no_grad():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    with lg.no_grad():
        y.backward()
        assert not on()
    close(x.grad, [2.0, 4.0])


def test_create_graph_records_even_under_no_grad_and_restores_the_mode():
    x = leaf(1.0, 2.0)
    y = (x**3).sum()
    with lg.no_grad():
        (g,) = lg.autograd.grad(y, x, create_graph=True)
        assert not on()
    close(lg.autograd.grad(g.sum(), x)[0], [6.0, 12.0])


def test_backward_without_create_graph_restores_the_mode():
    x = leaf(1.0)
    (x * x).sum().backward()
    assert on()
    assert not x.grad.requires_grad


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("recording", [False, True])
def test_mode_is_restored_when_the_walk_raises(create_graph, recording):
    x = leaf(1.0)
    y = x * 1

    def boom(g):
        raise KeyError

    y.register_hook(boom)
    z = y.sum()
    with lg.set_grad_enabled(recording):
        with pytest.raises(KeyError):
            lg.autograd.grad(z, x, create_graph=create_graph)
        assert on() is recording


# --- inference mode -----------------------------------------------------------------------------------


def inferred(*values):
    with lg.inference_mode():
        return lg.tensor(list(values))


def test_inference_mode_marks_what_it_creates():
    x = leaf(1.0, 2.0)
    with lg.inference_mode():
        y = x * 2
        assert y.is_inference()
        assert not y.requires_grad
        assert y.is_leaf
        assert lg.ones(2).is_inference()
        assert not x.is_inference()
        assert x.requires_grad
    assert not x.is_inference()
    assert y.is_inference()
    assert not (x * 2).is_inference()


def test_enable_grad_does_not_record_inside_inference_mode():
    x = leaf(1.0)
    with lg.inference_mode(), lg.enable_grad():
        assert on()
        assert not (x * 2).requires_grad


def test_inference_mode_false_is_a_way_out():
    x = leaf(1.0)
    with lg.inference_mode():
        with lg.inference_mode(False):
            assert state() == (True, False)
            y = x * 2
            assert y.requires_grad
            assert not y.is_inference()
        assert state() == (False, True)


def test_inference_mode_accepts_a_flag():
    with lg.inference_mode(mode=True):
        assert inference()
    with lg.inference_mode(mode=False):
        assert not inference()


def test_inference_tensor_may_be_saved_and_is_guarded():
    x, c = leaf(1.0), inferred(2.0)
    (x * c).sum().backward()
    close(x.grad, [2.0])
    y = (x * c).sum()
    with lg.inference_mode():
        c.add_(1)
    with pytest.raises(RuntimeError, match="in-?place"):
        y.backward()


def test_inference_tensor_may_take_part_where_nothing_of_it_is_saved():
    x = leaf(1.0)
    y = x + inferred(2.0)
    y.sum().backward()
    close(x.grad, [1.0])


def test_clone_of_an_inference_tensor_is_an_ordinary_one():
    x, c = leaf(3.0), inferred(2.0).clone()
    assert not c.is_inference()
    (x * c).sum().backward()
    close(x.grad, [2.0])


def test_results_outside_are_ordinary_and_views_of_inference_tensors_are_not():
    c = inferred(1.0, 2.0)
    assert not (c * 2).is_inference()
    assert c[0].is_inference()
    assert c.detach().is_inference()


def test_inference_tensor_cannot_be_changed_or_made_a_parameter_outside():
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        inferred(1.0).add_(1)
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        inferred(1.0)[0] = 1.0
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        inferred(1.0).requires_grad_()


def test_inference_tensor_can_be_changed_inside():
    with lg.inference_mode():
        t = lg.tensor([1.0, 2.0])
        t += 1
        t[0] = 7.0
    close(t, [7.0, 3.0])


def test_in_place_on_an_ordinary_tensor_in_inference_mode_counts():
    x = leaf(1.0, 2.0)
    y = x * x
    with lg.inference_mode():
        x.add_(1)
    assert x._version == 1
    with pytest.raises(RuntimeError, match="in-?place"):
        y.sum().backward()


def test_view_of_an_ordinary_tensor_made_in_inference_mode_is_ordinary_but_may_not_be_changed_outside():
    x = leaf(1.0, 2.0)
    y = x * 1
    with lg.inference_mode():
        v = y[:1]
    assert not v.is_inference()
    with pytest.raises(RuntimeError, match="inference"):
        v.add_(1)


def test_backward_runs_in_inference_mode():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    with lg.inference_mode():
        y.backward()
    close(x.grad, [2.0, 4.0])
