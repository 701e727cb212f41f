"""A call that fails leaves everything as it was: every ``.grad``, the graph, the modes."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.core import device

grad, backward = lg.autograd.grad, lg.autograd.backward


class Scene:
    """A small graph with two used leaves, an unused one and a constant; the leaves have gradients already."""

    def __init__(self):
        self.x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
        self.w = lg.tensor([0.5, 0.25, 0.125], requires_grad=True)
        self.u = lg.tensor([7.0], requires_grad=True)
        self.c = lg.tensor([1.0, 1.0, 1.0])
        self.x.grad = lg.tensor([10.0, 20.0, 30.0])
        self.w.grad = lg.tensor([-1.0, -2.0, -3.0])
        self.m = self.x * self.w
        self.y = self.m.exp()
        self.loss = self.y.sum()
        self.before = [(t, t.grad, None if t.grad is None else t.grad.tolist()) for t in (self.x, self.w, self.u)]
        self.mode = lg.is_grad_enabled()

    def untouched(self):
        for t, g, values in self.before:
            assert t.grad is g
            assert g is None or g.tolist() == values
        for t in (self.c, self.loss):
            assert not t.retains_grad
        assert lg.is_grad_enabled() is self.mode

    def usable(self):
        """Backward, with the graph freed at the end, gives the right gradients once and only once."""
        e = np.exp([0.5, 0.5, 0.375])
        self.loss.backward()
        np.testing.assert_allclose(self.x.grad.numpy(), [10, 20, 30] + e * [0.5, 0.25, 0.125], rtol=1e-6)
        np.testing.assert_allclose(self.w.grad.numpy(), [-1, -2, -3] + e * [1, 2, 3], rtol=1e-6)
        assert self.u.grad is None
        with pytest.raises(RuntimeError, match="second time|freed"):
            self.loss.backward()


FAILING = {
    "unused input": (lambda s: grad(s.loss, [s.x, s.u]), RuntimeError),
    "unused input first": (lambda s: grad(s.loss, [s.u, s.x]), RuntimeError),
    "unused among several outputs": (lambda s: grad([s.loss, s.loss], [s.x, s.w, s.u]), RuntimeError),
    "input beyond the output": (lambda s: grad(s.m.sum(), [s.x, s.y]), RuntimeError),
    "no seed for a vector": (lambda s: grad(s.y, s.x), RuntimeError),
    "no seed for the second output": (lambda s: grad([s.loss, s.y], s.x), RuntimeError),
    "None seed for the second output": (lambda s: grad([s.loss, s.y], s.x, [None, None]), RuntimeError),
    "longer seed": (lambda s: grad(s.y, s.x, lg.ones(4)), RuntimeError),
    "broadcastable seed": (lambda s: grad(s.y, s.x, lg.ones(1)), RuntimeError),
    "seed with an axis more": (lambda s: grad(s.y, s.x, lg.ones(1, 3)), RuntimeError),
    "second seed of a wrong shape": (lambda s: grad([s.loss, s.y], s.x, [None, lg.ones(4)]), RuntimeError),
    "too many seeds": (lambda s: grad(s.loss, s.x, [None, None]), RuntimeError),
    "too few seeds": (lambda s: grad([s.loss, s.loss], s.x, [None]), RuntimeError),
    "too many seeds, ValueError too": (lambda s: grad(s.loss, s.x, [None, None]), ValueError),
    "wrong seed shape, ValueError too": (lambda s: grad(s.y, s.x, lg.ones(4)), ValueError),
    "complex seed": (lambda s: grad(s.y, s.x, lg.tensor([1j, 1j, 1j])), RuntimeError),
    "text as a seed": (lambda s: grad(s.loss, s.x, "1"), TypeError),
    "object as a seed": (lambda s: grad(s.loss, s.x, [object()]), TypeError),
    "input that needs no grad": (lambda s: grad(s.loss, s.c), RuntimeError),
    "input that needs no grad, allowed unused": (
        lambda s: grad(s.loss, [s.x, s.c], allow_unused=True),
        RuntimeError,
    ),
    "number as an input": (lambda s: grad(s.loss, 3.0), TypeError),
    "number among the inputs": (lambda s: grad(s.loss, [s.x, 3.0]), TypeError),
    "array as an input": (lambda s: grad(s.loss, [s.x, np.ones(3)]), TypeError),
    "None as an input": (lambda s: grad(s.loss, None), TypeError),
    "dictionary of inputs": (lambda s: grad(s.loss, {"x": s.x}), TypeError),
    "no inputs": (lambda s: grad(s.loss, []), (RuntimeError, ValueError)),
    "no outputs": (lambda s: grad([], s.x), (RuntimeError, ValueError)),
    "number as an output": (lambda s: grad(3.0, s.x), TypeError),
    "number among the outputs": (lambda s: grad([s.loss, 3.0], s.x), TypeError),
    "dictionary of outputs": (lambda s: grad({"y": s.loss}, s.x), TypeError),
    "output without history": (lambda s: grad(s.c.sum(), s.x), RuntimeError),
    "second output without history": (lambda s: grad([s.loss, s.c.sum()], s.x), RuntimeError),
    "materialize without allow_unused": (
        lambda s: grad(s.loss, [s.x, s.u], allow_unused=False, materialize_grads=True),
        ValueError,
    ),
    "batched seed of a wrong shape": (
        lambda s: grad(s.y, s.x, lg.ones(2, 4), is_grads_batched=True),
        RuntimeError,
    ),
    "batched seed without a batch": (
        lambda s: grad(s.y, s.x, lg.tensor(1.0), is_grads_batched=True),
        RuntimeError,
    ),
    "unused input, create_graph": (lambda s: grad(s.loss, [s.x, s.u], create_graph=True), RuntimeError),
    "backward: no seed for a vector": (lambda s: s.y.backward(), RuntimeError),
    "backward: wrong seed shape": (lambda s: s.y.backward(lg.ones(4)), RuntimeError),
    "backward: text as a seed": (lambda s: s.loss.backward("1"), TypeError),
    "backward: wrong length": (lambda s: backward([s.loss], [None, None]), RuntimeError),
    "backward: second root fails": (lambda s: backward([s.loss, s.y]), RuntimeError),
    "backward: root without history": (lambda s: backward([s.loss, s.c.sum()]), RuntimeError),
    "backward: number as a root": (lambda s: backward([s.loss, 3.0]), TypeError),
    "backward: no inputs": (lambda s: s.loss.backward(inputs=[]), RuntimeError),
    "backward: input that needs no grad": (lambda s: s.loss.backward(inputs=[s.x, s.c]), RuntimeError),
    "backward: number among the inputs": (
        lambda s: s.loss.backward(inputs=[s.x, 3.0]),
        (TypeError, RuntimeError),
    ),
}


CALLS = [(name, recording) for name in FAILING for recording in (True, False) if recording or "beyond" not in name]


@pytest.mark.parametrize(("name", "recording"), CALLS)  # those that build a piece of graph need gradients on
def test_a_call_refused_for_its_arguments_changes_nothing(name, recording):
    call, error = FAILING[name]
    s = Scene()
    s.mode = recording
    with lg.set_grad_enabled(recording):
        for _ in range(2):
            with pytest.raises(error):
                call(s)
            s.untouched()
    s.usable()


def test_hooks_do_not_run_in_a_call_that_is_refused():
    s, log = Scene(), []
    for t in (s.x, s.m, s.y):
        t.register_hook(lambda g: log.append(1))
    s.y.grad_fn.register_prehook(lambda go: log.append(1))
    s.x.register_post_accumulate_grad_hook(lambda p: log.append(1))
    for call, error in FAILING.values():
        with pytest.raises(error):
            call(s)
    assert log == []


# --- a graph of which a part was freed ----------------------------------------------------------------


def freed_below():
    """``top = sum(exp(x * w) * v)`` where the part up to ``exp`` was walked, and freed, before."""
    s = Scene()
    v = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    top = (s.y * v).sum()
    grad(s.loss, s.x)
    return s, v, top


@pytest.mark.parametrize("call", [lambda s, t: t.backward(), lambda s, t: grad(t, s.x), lambda s, t: grad([t, t], s.w)])
def test_a_freed_part_below_is_found_before_anything_runs(call):
    s, v, top = freed_below()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="second time|freed"):
            call(s, top)
        s.untouched()
        assert v.grad is None
    # What was not freed is still there, and the freed part is not needed for it.
    (g,) = grad(top, v)
    np.testing.assert_allclose(g.numpy(), np.exp([0.5, 0.5, 0.375]), rtol=1e-6)


def test_freed_part_is_no_matter_to_a_walk_that_does_not_pass_it():
    s, v, top = freed_below()
    top.backward(inputs=[v])
    s.untouched()
    np.testing.assert_allclose(v.grad.numpy(), np.exp([0.5, 0.5, 0.375]), rtol=1e-6)


def test_a_freed_graph_stays_refused_with_the_same_error():
    s = Scene()
    s.usable()
    before = s.x.grad, s.x.grad.tolist()
    for call in (s.loss.backward, lambda: grad(s.loss, s.x), lambda: grad(s.loss, s.x, create_graph=True)):
        with pytest.raises(RuntimeError, match="retain_graph"):
            call()
    assert s.x.grad is before[0]
    assert s.x.grad.tolist() == before[1]


def test_changed_saved_value_leaves_gradients_alone():
    s = Scene()
    with lg.no_grad():
        s.w += 1
    for _ in range(2):
        with pytest.raises(RuntimeError, match="in-?place"):
            s.loss.backward(retain_graph=True)
        s.untouched()


# --- errors in the walk -------------------------------------------------------------------------------


class Boom(Exception):
    pass


def boom(*args):
    raise Boom


RAISING = {
    "interior hook": lambda s: s.m.register_hook(boom),
    "output hook": lambda s: s.y.register_hook(boom),
    "hook of one leaf": lambda s: s.x.register_hook(boom),
    "hook of the other leaf": lambda s: s.w.register_hook(boom),
    "node prehook": lambda s: s.m.grad_fn.register_prehook(boom),
    "node hook": lambda s: s.m.grad_fn.register_hook(boom),
    "last node's hook": lambda s: s.y.grad_fn.register_hook(boom),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", RAISING)
def test_a_hook_that_raises_leaves_every_grad_untouched(name, create_graph):
    s = Scene()
    s.m.retain_grad()
    handle = RAISING[name](s)
    for _ in range(2):
        with pytest.raises(Boom):
            s.loss.backward(retain_graph=True, create_graph=create_graph)
        s.untouched()
        assert s.m.grad is None
        with pytest.raises(Boom):
            grad(s.loss, [s.x, s.w], retain_graph=True, create_graph=create_graph)
        s.untouched()
    handle.remove()
    s.usable()


def test_a_hook_that_raises_on_the_way_to_a_leaf_reached_early():
    """The leaf of the short branch is finished long before the hook of the long branch raises."""
    near = lg.tensor([1.0], requires_grad=True)
    far = lg.tensor([1.0], requires_grad=True)
    deep = far * 2
    deep.register_hook(boom)
    for _ in range(20):
        deep = deep * 1.0
    y = (deep * near).sum()
    with pytest.raises(Boom):
        y.backward()
    assert near.grad is None
    assert far.grad is None


def test_hooks_with_wrong_results_leave_every_grad_untouched():
    for wrong in (3.0, lg.ones(4)):
        s = Scene()
        handle = s.m.register_hook(lambda g, wrong=wrong: wrong)
        with pytest.raises((TypeError, RuntimeError)):
            s.loss.backward(retain_graph=True)
        s.untouched()
        handle.remove()
        s.usable()


def test_a_library_that_can_not_be_silenced_leaves_the_others_as_they_were(monkeypatch):
    def failing():
        raise OSError("no")

    monkeypatch.setattr(device, "_quiets", [*device._quiets, failing])
    before, x = np.geterr(), lg.ones(2, requires_grad=True)
    with pytest.raises(OSError, match="no"):
        x.sum().backward()
    assert np.geterr() == before
