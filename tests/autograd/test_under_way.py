"""What hooks may ask of the backward that is under way."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.autograd import passes


def test_what_is_to_be_done_at_the_end_sees_every_gradient():
    a, b = lg.ones(2, requires_grad=True), lg.ones(2, requires_grad=True)
    seen = []

    def hook(_):
        for word in "xy":
            lg.autograd.graph.after_backward(lambda word=word: seen.append((word, b.grad.tolist(), a.grad.tolist())))

    (a * 2).register_hook(hook)  # of a node that is not reached
    b.register_post_accumulate_grad_hook(hook)
    (a * b * 3).sum().backward()
    assert seen == [("x", [3.0, 3.0], [3.0, 3.0]), ("y", [3.0, 3.0], [3.0, 3.0])]
    assert passes.under_way() is None
    (a * 1).sum().backward()  # one backward, not the next
    assert len(seen) == 2


def test_a_backward_that_fails_calls_nothing():
    x, seen = lg.ones(2, requires_grad=True), []
    y = x * 2
    z = y * 3
    z.register_hook(lambda g: lg.autograd.graph.after_backward(lambda: seen.append(1)))

    def fail(g):
        raise ZeroDivisionError

    y.register_hook(fail)
    with pytest.raises(ZeroDivisionError):
        z.sum().backward()
    assert seen == [] and x.grad is None and passes.under_way() is None
    with pytest.raises(RuntimeError, match="no backward is under way"):
        lg.autograd.graph.after_backward(print)


def test_what_a_backward_will_reach_is_known_in_its_hooks():
    x, y, z = (lg.ones(2, requires_grad=True) for _ in range(3))
    seen = []
    x.register_hook(lambda g: seen.append((passes.awaited([x, y, z]), passes.records())))
    (x * y).sum().backward()
    (x * y).sum().backward(inputs=[x], create_graph=True)
    lg.autograd.grad((x * z).sum(), [x, z])
    assert seen == [([True, True, False], False), ([True, False, False], True), ([True, False, True], False)]


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_of_leaves_leave_other_nodes_as_they_are(create_graph):
    """A walk with hooked leaves takes the short way through nodes that send nothing to them: the same gradients."""
    rng = np.random.default_rng(3)

    def gradients(hooked):
        ws = [lg.tensor(rows, requires_grad=True) for rows in (w1, w2, w3)]
        fired = []
        for k in hooked:
            ws[k].register_post_accumulate_grad_hook(lambda w, k=k: fired.append((k, w.grad.detach().numpy().copy())))
        h = lg.tanh(x @ ws[0])
        h = lg.tanh(h @ ws[1]) + h @ ws[2]  # both used again
        h = lg.tanh(h @ ws[1]).reshape(-1)
        (h * h).sum().backward(create_graph=create_graph)
        assert sorted(k for k, _ in fired) == hooked
        for k, g in fired:  # complete when the hook fired
            assert np.array_equal(g, ws[k].grad.detach().numpy())
        return [w.grad.detach().numpy() for w in ws]

    x = lg.tensor(rng.normal(size=(5, 4)))
    w1, w2, w3 = (rng.normal(size=(4, 4)) for _ in range(3))
    expected = gradients([])
    for hooked in ([0], [1], [2], [0, 2], [0, 1, 2]):
        for found, g in zip(gradients(hooked), expected, strict=True):
            assert np.array_equal(found, g)
