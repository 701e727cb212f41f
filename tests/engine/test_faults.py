"""A fault anywhere in a backward pass changes no ``.grad``, or comes when all of them are written; modes stay."""

import numpy as np
import pytest
from faults import Fault, Instructions, Kernels, moments
from thoroughness import cases

import lucidgrad as lg
from lucidgrad.core import modes

WHERE = ["cpu", "cpu-large", "cuda"]


class Square(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Scene:
    """Three leaves, of which two have gradients, and an interior tensor that keeps its own."""

    def __init__(self, where):
        size, device = (40_000, "cpu") if where == "cpu-large" else (3, where)
        rng = np.random.default_rng(0)
        self.x, self.w, self.b = (
            lg.asarray(rng.normal(size=size).astype("f"), device=device).requires_grad_() for _ in range(3)
        )
        self.x.grad = lg.asarray(rng.normal(size=size).astype("f"), device=device)
        self.w.grad = lg.asarray(rng.normal(size=size).astype("f"), device=device)
        self.flat = self.x.grad.reshape(-1)  # shares its memory
        self.m = self.x * self.w
        self.m.retain_grad()
        self.y = lg.exp(0.1 * self.m) + self.b
        self.loss = self.y.sum()

    def grads(self):
        tensors = self.x, self.w, self.b, self.m
        return [(id(t.grad), None if t.grad is None else t.grad.numpy(force=True).tobytes()) for t in tensors]


def plain(s):
    return s.loss.backward


def retained(s):
    return lambda: s.loss.backward(retain_graph=True)


def recorded(s):
    return lambda: s.loss.backward(create_graph=True)


def several(s):
    return lambda: lg.autograd.backward([s.loss, s.y], [None, lg.ones_like(s.y).detach()])


def chosen(s):
    return lambda: s.loss.backward(inputs=[s.w, s.x, s.m])


def hooked(s):
    s.m.register_hook(lambda g: 2 * g)
    s.x.register_hook(lambda g: g + 1)
    s.m.grad_fn.register_prehook(lambda gs: None)
    return s.loss.backward


def custom(s):
    return Square.apply(s.y).sum().backward


PROGRAMS = [plain, retained, recorded, several, chosen, hooked, custom]


def settings():
    state = modes.state
    now = [getattr(state, name) for name in ("enabled", "recording", "fresh", "walking", "keeping", "casting", "told")]
    return [*now, state.observers, len(modes.unusual)]


def outcome(program, where, fault):
    """Run a program with a fault; returns whether its gradients are there."""
    s = Scene(where)
    call = program(s)
    usual = settings()
    before = s.grads()
    raised = False
    try:
        with fault:
            call()
    except Fault:
        raised = True
    assert settings() == usual
    after = s.grads()
    written = [now != then for now, then in zip(after, before, strict=True)]
    if program is not recorded:  # accumulation is in place, in memory that others may share
        assert all(a == b for (a, _), (b, old) in zip(after, before, strict=True) if old is not None)
        assert s.flat.numpy(force=True).tobytes() == s.x.grad.numpy(force=True).tobytes()
    complaint = "freed"
    try:  # the graph is as it was, or says that it was freed
        lg.autograd.grad(s.loss, [s.x, s.w, s.b], retain_graph=True)
    except RuntimeError as error:
        complaint = str(error)
    assert "freed" in complaint
    return raised, written


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_kernel_that_fails_leaves_every_grad_as_it_was(program, where):
    _, everything = outcome(program, where, Kernels())
    for n in moments(Kernels, program(Scene(where)), cases(8, 200)):
        raised, written = outcome(program, where, Kernels(n))
        assert raised
        assert not any(written), (n, written)
    assert any(everything)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("program", PROGRAMS)
def test_an_exception_at_any_instruction_leaves_all_gradients_or_none(program, where):
    _, everything = outcome(program, where, Instructions())
    for n in moments(Instructions, program(Scene(where)), cases(12, 300) if where == "cuda" else cases(40, 1500)):
        _, written = outcome(program, where, Instructions(n))
        assert written == everything or not any(written), n
