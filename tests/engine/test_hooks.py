"""Hooks on tensors, leaves and nodes: when they fire, in which order, and what they may change."""

import numpy as np
import pytest

import lucidgrad as lg

get_gradient_edge = lg.autograd.graph.get_gradient_edge


def leaf(*values):
    return lg.tensor(list(values), requires_grad=True)


def close(t, expected):
    np.testing.assert_allclose(t.detach().numpy(), expected, rtol=1e-6)


def recorder(log, name=None):
    """A hook that notes the gradient (under a name, where given) and changes nothing."""
    return lambda g: log.append(g.tolist() if name is None else (name, g.tolist()))


# --- tensor hooks -------------------------------------------------------------------------------------


def test_hook_on_an_interior_tensor_sees_its_gradient():
    x, log = leaf(1.0, 2.0, 3.0), []
    y = x * 2
    y.register_hook(recorder(log))
    (y * y).sum().backward()
    assert log == [[4.0, 8.0, 12.0]]
    close(x.grad, [8.0, 16.0, 24.0])


def test_hook_on_a_leaf_sees_and_changes_what_is_accumulated():
    x, log = leaf(1.0, 2.0), []
    x.grad = lg.tensor([100.0, 100.0])
    x.register_hook(recorder(log))
    x.register_hook(lambda g: g * 10)
    (x * 3).sum().backward()
    assert log == [[3.0, 3.0]]
    close(x.grad, [130.0, 130.0])


def test_hook_fires_once_with_the_summed_gradient():
    x, log = leaf(1.0, 2.0), []
    y = x * x
    y.register_hook(recorder(log, "y"))
    x.register_hook(recorder(log, "x"))
    (y * 1 + y * 2 + y.exp() * 0).sum().backward()
    assert log == [("y", [3.0, 3.0]), ("x", [6.0, 12.0])]


def test_hooks_run_in_the_order_of_registration_each_on_the_last_result():
    x, log = leaf(1.0), []
    y, note = x * 1, recorder(log)  # the same hook twice is two hooks
    y.register_hook(lambda g: g * 2)
    y.register_hook(note)  # returns None: passes the gradient on
    y.register_hook(lambda g: g + 1)
    y.register_hook(note)
    y.sum().backward()
    assert log == [[2.0], [3.0]]
    close(x.grad, [3.0])


def test_remove_takes_out_one_hook_and_may_be_called_twice():
    x = leaf(1.0)
    y = x * 1
    first = y.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: g * 3)
    z = y.sum()
    z.backward(retain_graph=True)
    close(x.grad, [6.0])
    first.remove()
    first.remove()
    x.grad = None
    z.backward()
    close(x.grad, [3.0])
    handle = y.register_hook(lambda g: g)
    del y, z
    handle.remove()  # a handle outlives its tensor


def test_handle_is_a_context_manager():
    x = leaf(1.0)
    with x.register_hook(lambda g: g * 2):
        (x * 1).sum().backward()
    close(x.grad, [2.0])
    (x * 1).sum().backward()
    close(x.grad, [3.0])


def test_a_hook_may_remove_itself_while_it_runs():
    x, log = leaf(1.0), []
    y = x * 1

    def once(g):
        log.append("once")
        handle.remove()

    handle = y.register_hook(once)
    y.register_hook(lambda g: log.append("always"))
    z = y.sum()
    z.backward(retain_graph=True)
    z.backward()
    assert log == ["once", "always", "always"]


def test_a_hook_that_a_leaf_gets_during_the_walk_fires_in_that_walk():
    x, log = leaf(1.0, 2.0), []
    y = x * 2

    def late(g):
        x.register_hook(lambda g: log.append(g.tolist()) or g * 10)

    y.register_hook(late)
    (y * y).sum().backward()
    assert log == [[8.0, 16.0]]
    close(x.grad, [80.0, 160.0])


def test_hook_is_not_called_when_its_tensor_is_not_reached():
    x, log = leaf(1.0), []
    y = x * 2
    other = y * 3
    other.register_hook(recorder(log))
    y.sum().backward()
    assert log == []


def test_hook_is_called_only_where_the_pruned_walk_goes():
    x, w, log = leaf(1.0), leaf(2.0), []
    u, v = x * 2, w * 3
    u.register_hook(recorder(log, "u"))
    v.register_hook(recorder(log, "v"))
    (u + v).sum().backward(inputs=[x])
    assert log == [("u", [1.0])]


def test_hook_needs_a_tensor_that_requires_grad():
    with pytest.raises(RuntimeError, match="requires? grad"):
        lg.tensor([1.0]).register_hook(lambda g: g)


def test_hook_registered_under_no_grad_still_fires():
    x = leaf(1.0)
    y = x * 1
    with lg.no_grad():
        y.register_hook(lambda g: g * 2)
    y.sum().backward()
    close(x.grad, [2.0])


def test_hook_on_an_input_of_grad_changes_the_returned_value():
    x, log = leaf(1.0, 2.0), []
    x.register_hook(lambda g: g * 3)
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    (g,) = lg.autograd.grad((x * 2).sum(), x)
    close(g, [6.0, 6.0])
    assert x.grad is None
    assert log == []


def test_hook_on_an_interior_input_of_grad_fires_and_the_walk_stops_there():
    x, log = leaf(1.0), []
    y = x * 2
    y.register_hook(lambda g: (log.append("y"), g * 5)[1])
    x.register_hook(lambda g: log.append("x"))
    (g,) = lg.autograd.grad((y * y).sum(), y)
    close(g, [20.0])
    assert log == ["y"]


@pytest.mark.parametrize("on", ["leaf", "interior"])
@pytest.mark.parametrize(
    ("result", "error"),
    [(3.0, TypeError), (np.ones(3), TypeError), (lg.ones(4), RuntimeError), (lg.ones(1), RuntimeError)],
    ids=["float", "ndarray", "longer", "broadcastable"],
)
def test_hook_that_returns_the_wrong_thing_raises(on, result, error):
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    (x if on == "leaf" else y).register_hook(lambda g: result)
    with pytest.raises(error, match="hook"):
        y.sum().backward()
    assert x.grad is None


def test_hooks_run_in_the_grad_mode_of_the_walk():
    x, log = leaf(1.0), []
    y = x * 1
    y.register_hook(lambda g: log.append(lg.is_grad_enabled()))
    lg.autograd.grad(y.sum(), x, create_graph=True)
    lg.autograd.grad(y.sum(), x)
    assert log == [True, False]


def test_a_hook_is_differentiated_through_when_the_graph_is_created():
    x = leaf(1.0, 2.0, 3.0)
    x.register_hook(lambda g: g * x)
    (g,) = lg.autograd.grad((x**3).sum(), x, create_graph=True)
    close(g, [3.0, 24.0, 81.0])
    assert g.requires_grad
    close(lg.autograd.grad(g.sum(), x)[0], [9.0, 72.0, 243.0])  # and the hook once more: 9 x^2, times x


def test_leaf_gradients_are_not_yet_there_when_an_interior_hook_runs():
    x, w, log = leaf(1.0), leaf(2.0), []
    y = x * w
    y.register_hook(lambda g: log.append((x.grad, w.grad)))
    y.sum().backward()
    assert log == [(None, None)]


# --- hooks and retain_grad ----------------------------------------------------------------------------


def test_retain_grad_keeps_the_gradient_after_all_tensor_hooks():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    y.register_hook(lambda g: g * 100)  # registered later, counts as well
    y.sum().backward()
    close(y.grad, [1000.0, 1000.0])
    close(x.grad, [2000.0, 2000.0])


def test_retain_grad_flags_and_errors():
    x = leaf(1.0)
    x.retain_grad()  # nothing to do on a leaf
    assert not x.retains_grad
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    assert y.grad is None
    with pytest.raises(RuntimeError, match="retain_grad"):
        lg.tensor([1.0]).retain_grad()


def test_retained_gradients_accumulate_like_those_of_leaves():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    z = (y * y).sum()
    z.backward(retain_graph=True)
    z.backward()
    close(x.grad, [16.0, 32.0])
    close(y.grad, [8.0, 16.0])


def test_retained_gradient_is_differentiable_when_the_graph_is_created():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    y.retain_grad()
    (y**3).sum().backward(create_graph=True)
    assert y.grad.requires_grad
    close(lg.autograd.grad(y.grad.sum(), x)[0], [24.0, 48.0, 72.0])


def test_hooks_stay_with_the_value_they_were_registered_on_when_the_tensor_is_rebound():
    x, log = leaf(1.0, 2.0), []
    y = x * 2
    y.register_hook(recorder(log, "before"))
    y.mul_(5)
    y.register_hook(recorder(log, "after"))
    y.sum().backward()
    assert log == [("after", [1.0, 1.0]), ("before", [5.0, 5.0])]


def test_retain_grad_follows_the_tensor_when_it_is_rebound():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.mul_(5)
    y.sum().backward()
    close(y.grad, [1.0, 1.0])
    close(x.grad, [10.0, 10.0])


# --- post-accumulate hooks ----------------------------------------------------------------------------


def test_post_accumulate_hook_gets_the_leaf_after_its_grad_was_written():
    x, log = leaf(1.0, 2.0), []
    x.register_hook(lambda g: log.append("hook 1"))
    x.register_post_accumulate_grad_hook(lambda p: log.append((p is x, p.grad.tolist())))
    x.register_hook(lambda g: log.append("hook 2"))
    handle = x.register_post_accumulate_grad_hook(lambda p: log.append("post 2"))
    (x * 2 + x).sum().backward()
    assert log == ["hook 1", "hook 2", (True, [3.0, 3.0]), "post 2"]
    (x * 2).sum().backward()
    assert log[-2:] == [(True, [5.0, 5.0]), "post 2"]
    handle.remove()
    (x * 2).sum().backward()
    assert log[-1] == (True, [7.0, 7.0])


def test_post_accumulate_hook_may_take_an_optimiser_step():
    x = leaf(1.0, 2.0)

    def step(p):
        with lg.no_grad():
            p -= 0.5 * p.grad
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    close(x, [0.0, 1.0])
    assert x.grad is None
    assert x.is_leaf


def test_post_accumulate_hook_fires_only_for_leaves_that_backward_writes_to():
    x, w, log = leaf(1.0), leaf(2.0), []
    x.register_post_accumulate_grad_hook(lambda p: log.append("x"))
    w.register_post_accumulate_grad_hook(lambda p: log.append("w"))
    (x * w).sum().backward(inputs=[x])
    assert log == ["x"]


@pytest.mark.parametrize("make", [lambda: leaf(1.0) * 2, lambda: lg.tensor([1.0])], ids=["interior", "plain"])
def test_post_accumulate_hook_needs_a_leaf_that_requires_grad(make):
    with pytest.raises(RuntimeError, match="hook"):
        make().register_post_accumulate_grad_hook(lambda p: None)


# --- nodes --------------------------------------------------------------------------------------------
def test_node_hooks_get_tuples():
    x, w, log = leaf(1.0, 2.0), leaf(3.0, 4.0), []
    y = x * w
    pre = y.grad_fn.register_prehook(lambda grad_outputs: log.append(("pre", grad_outputs)))
    post = y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: log.append(("post", grad_inputs, grad_outputs)))
    z = y.sum()
    z.backward(retain_graph=True)
    (_, before), (_, gi, go) = log
    assert type(before) is type(gi) is type(go) is tuple
    assert [g.tolist() for g in before] == [g.tolist() for g in go] == [[1.0, 1.0]]
    assert [g.tolist() for g in gi] == [[3.0, 4.0], [1.0, 2.0]]
    pre.remove()
    post.remove()
    z.backward()
    assert len(log) == 2


def test_post_hook_gets_none_for_an_input_without_gradient():
    x, c, log = leaf(1.0, 2.0), lg.tensor([3.0, 4.0]), []
    y = x * c
    y.grad_fn.register_hook(lambda gi, go: log.append([None if g is None else g.tolist() for g in gi]))
    y.sum().backward()
    assert log == [[[3.0, 4.0], None]]


def test_node_hooks_may_replace_gradients():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * w
    y.grad_fn.register_prehook(lambda go: (go[0] * 3,))
    y.grad_fn.register_hook(lambda gi, go: (gi[0] + 1, gi[1]))
    y.sum().backward()
    close(x.grad, [10.0, 13.0])
    close(w.grad, [3.0, 6.0])


def test_post_hook_may_drop_a_gradient():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * w
    y.grad_fn.register_hook(lambda gi, go: (None, gi[1]))
    y.sum().backward()
    assert x.grad is None
    close(w.grad, [1.0, 2.0])


def test_tensor_hooks_come_before_node_prehooks_and_those_before_node_hooks():
    x, log = leaf(1.0), []
    y = x * 2
    y.grad_fn.register_hook(lambda gi, go: log.append("post"))
    y.grad_fn.register_prehook(lambda go: log.append("pre"))
    y.register_hook(lambda g: log.append("tensor"))
    y.sum().backward()
    assert log == ["tensor", "pre", "post"]


def test_node_prehook_changes_what_flows_on_but_not_the_gradient_of_the_tensor():
    x = leaf(1.0)
    y = x * 2
    y.grad_fn.register_prehook(lambda go: (go[0] * 5,))
    y.register_hook(lambda g: g * 3)
    y.retain_grad()
    z = y.sum()
    close(lg.autograd.grad(z, y, retain_graph=True)[0], [3.0])
    y.grad = None
    z.backward()
    close(y.grad, [3.0])
    close(x.grad, [30.0])


def test_node_hooks_do_not_run_where_the_walk_stops():
    x, log = leaf(1.0), []
    y = x * 2
    y.grad_fn.register_prehook(lambda go: log.append("pre"))
    y.grad_fn.register_hook(lambda gi, go: log.append("post"))
    lg.autograd.grad((y * y).sum(), y)
    assert log == []


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (lambda gi: gi[0] * 7, TypeError),
        (lambda gi: 3.0, TypeError),
        (lambda gi: (3.0, gi[1]), TypeError),
        (lambda gi: (gi[0],) * 5, RuntimeError),
        (lambda gi: (lg.ones(4), gi[1]), RuntimeError),
    ],
    ids=["bare tensor", "float", "float inside", "wrong length", "wrong shape"],
)
def test_node_hook_that_returns_the_wrong_thing_raises(result, error):
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * w
    y.grad_fn.register_hook(lambda gi, go: result(gi))
    with pytest.raises(error, match="hook"):
        y.sum().backward()
    assert x.grad is None
    assert w.grad is None


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (lambda go: go[0] * 7, TypeError),
        (lambda go: 3.0, TypeError),
        (lambda go: (go[0],) * 5, RuntimeError),
        (lambda go: (lg.ones(4),), RuntimeError),
    ],
    ids=["bare tensor", "float", "wrong length", "wrong shape"],
)
def test_node_prehook_that_returns_the_wrong_thing_raises(result, error):
    x = leaf(1.0, 2.0)
    y = x * 2
    y.grad_fn.register_prehook(result)
    with pytest.raises(error, match="hook"):
        y.sum().backward()
    assert x.grad is None


def test_post_hook_cannot_invent_a_gradient():
    x, c = leaf(1.0, 2.0), lg.tensor([3.0, 4.0])
    y = x * c
    y.grad_fn.register_hook(lambda gi, go: (gi[0], gi[0]))
    with pytest.raises(RuntimeError, match="[Nn]one"):
        y.sum().backward()


def test_hooks_on_the_node_of_an_edge():
    x, log = leaf(1.0, 2.0), []
    y = x * x
    edge = get_gradient_edge(y)
    assert edge.node is y.grad_fn
    assert edge.output_nr == 0
    edge.node.register_prehook(lambda go: (go[0] * 2,))
    edge.node.register_hook(lambda gi, go: log.append(go[0].tolist()))
    z = y.sum()
    del y
    z.backward()
    assert log == [[2.0, 2.0]]
    close(x.grad, [4.0, 8.0])


def test_hooks_on_the_node_of_a_leaf_edge():
    x, log = leaf(1.0, 2.0), []
    node = get_gradient_edge(x).node
    assert node is x.exp().grad_fn.next_functions[0][0]
    node.register_prehook(lambda go: (go[0] * 2,))
    node.register_hook(lambda gi, go: log.append((gi, go[0].tolist(), x.grad.tolist())))
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    (x * 3).sum().backward()
    assert log == ["accumulated", ((), [6.0, 6.0], [6.0, 6.0])]


def test_edge_needs_a_tensor_that_requires_grad():
    with pytest.raises(RuntimeError, match="requires? grad"):
        get_gradient_edge(lg.ones(2))


def test_prehook_of_a_node_with_several_outputs_sees_none_for_the_unreached():
    x, log = leaf(1.0, 2.0, 3.0), []
    a, b, _ = lg.unstack(x * 2)
    a.grad_fn.register_prehook(lambda go: log.append([None if g is None else g.tolist() for g in go]))
    b.backward()
    assert log == [[None, 1.0, None]]
    close(x.grad, [0.0, 2.0, 0.0])
