"""What a `Function` may not keep without history, or compute off the tape, raises; and `custom_vjp`."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import func
from lucidgrad.autograd import Function, grad
from lucidgrad.autograd.function import once_differentiable

DEVICES = ["cpu", pytest.param("cuda:0", marks=pytest.mark.cuda)]
V = np.array([0.3, 0.7, -1.2])


@pytest.fixture
def x():
    return lg.tensor(V, requires_grad=True)


def close(a, b):
    np.testing.assert_allclose(a.detach().cpu().numpy(), b, rtol=1e-12, atol=1e-14)


class Thing:
    def __init__(self, value):
        self.value = value


HIDDEN = {
    "a list": (lambda c: [(c,)], lambda kept: kept[0][0]),
    "an array": (lambda c: c.numpy(), lg.asarray),
    "a closure": (lambda c: lambda: c, lambda kept: kept()),
    "an object": (Thing, lambda kept: kept.value),
    "a method": (lambda c: c.clone, lambda kept: kept()),
    "a number": (lambda c: float(c.sum()), lambda kept: kept),
}


@pytest.mark.parametrize("name", ["kept", "_kept"])
@pytest.mark.parametrize("what", HIDDEN)
def test_values_may_not_be_smuggled(x, what, name):
    hide, find = HIDDEN[what]

    class Smuggler(Function):
        @staticmethod
        def forward(ctx, x):
            setattr(ctx, name, hide(lg.cos(x)))
            return lg.sin(x)

        @staticmethod
        def backward(ctx, g):
            return g * find(getattr(ctx, name))

    slope = np.cos(V).sum() if what == "a number" else np.cos(V)
    close(grad(Smuggler.apply(x).sum(), x)[0], slope + 0 * V)
    (g,) = grad((Smuggler.apply(x) * x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=f"without history .* ctx.{name}"):
        grad(g.sum(), x)
    with pytest.raises(RuntimeError, match="without history"):
        func.hessian(lambda x: Smuggler.apply(x).sum())(x.detach())


def test_what_may_stay_on_the_context(x):
    class Stays(Function):
        @staticmethod
        def forward(ctx, x, k, table):
            ctx.x, ctx.k, ctx.words, ctx.table = x, k, {"n": [1, "two", None]}, table
            ctx.constant = lg.ones(3, dtype=lg.float64).numpy()
            ctx.mark_constant(ctx.constant)
            ctx.y = lg.exp(x * k)
            ctx.size = float(len(x))
            return ctx.y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.y * ctx.k * lg.asarray(ctx.constant), None, None

    (g,) = grad(Stays.apply(x, 2.5, V).sum(), x, create_graph=True)
    close(g, 2.5 * np.exp(2.5 * V))
    close(grad(g.sum(), x)[0], 2.5**2 * np.exp(2.5 * V))


def test_what_is_older_than_the_call_keeps_its_history_and_is_guarded(x):
    weight = lg.tensor([1.0, 2.0, 3.0], dtype=lg.float64, requires_grad=True)
    scale = weight * 2

    class Scaled(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(scale)
            return x * scale

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    (g,) = grad(Scaled.apply(x).sum(), x, create_graph=True)
    close(grad(g.sum(), weight)[0], 2 + 0 * V)
    y = Scaled.apply(x)
    with lg.no_grad():
        scale.add_(1)
    with pytest.raises(RuntimeError, match="in-place"):
        y.sum().backward()


class Raw(Function):
    """Computes with arrays in both directions."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return lg.asarray(x.array * x.array)

    @staticmethod
    def backward(ctx, g):
        return lg.asarray(2 * ctx.saved_tensors[0].array * g.array)


@pytest.mark.parametrize("device", DEVICES)
def test_a_backward_that_the_tape_cannot_see(device):
    x = lg.tensor(V, device=device, requires_grad=True)
    close(grad(Raw.apply(x).sum(), x)[0], 2 * V)
    for loss in (lambda x: (Raw.apply(x) + x**2).sum(), lambda x: (Raw.apply(x) ** 2).sum()):
        (g,) = grad(loss(x), x, create_graph=True)
        with pytest.raises(RuntimeError, match="other means than"):
            grad(g.sum(), x)
    with pytest.raises(RuntimeError, match="write jvp for forward mode"):
        func.jvp(Raw.apply, (x.detach(),), (x.detach(),))


def test_gradients_that_are_constant_or_written_need_no_history(x):
    rules = {
        "zeros": (lambda ctx, g: lg.zeros_like(g), 0.0),
        "written": (lambda ctx, g: written(g), 3.0),
        "linear": (lambda ctx, g: lg.stack([3 * a for a in g]), 3.0),
    }

    def written(g):
        made = lg.zeros(3, dtype=lg.float64)
        made[:] = g
        return made * 3

    for name, (rule, slope) in rules.items():
        function = type(name, (Function,), {"forward": lambda ctx, x: x * 1, "backward": rule})
        (g,) = grad((function.apply(x) + x**2).sum(), x, create_graph=True)
        close(g, slope + 2 * V)
        close(grad(g.sum(), x)[0], 2 + 0 * V)
        close(func.jvp(function.apply, (x.detach(),), (x.detach(),))[1], slope * V)


def test_once_differentiable_looks_at_all_inputs(x):
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x
            return x**2

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return 2 * g * ctx.x

    (g,) = grad((Once.apply(x) + x**2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad(g.sum(), x)


# -- custom_vjp --------------------------------------------------------------------------------------
def test_custom_vjp_of_trees():
    calls = []

    @lg.custom_vjp
    def energy(p, x, k):
        calls.append("plain")
        return p["w"] * x[0] * k

    energy.defvjp(
        lambda p, x, k: (p["w"] * x[0] * k, (p, x, k)),
        lambda kept, g: ({"w": g * kept[1][0] * kept[2]}, [g * kept[0]["w"] * kept[2]], None),
    )
    p, x = {"w": lg.tensor(2.0)}, [lg.tensor(3.0)]
    assert energy(p, x, 2).item() == 12.0 and calls == ["plain"]  # as it stands, where nothing is differentiated
    slopes = func.grad(energy, (0, 1))(p, x, 2)
    assert slopes[0]["w"].item() == 6.0 and slopes[1][0].item() == 4.0 and calls == ["plain"]
    assert func.hessian(energy, (0, 1))(p, x, 2)[0]["w"][1][0].item() == 2.0
    assert func.jvp(lambda p: energy(p, x, 2), (p,), (p,))[1].item() == 12.0
    assert func.vmap(func.grad(energy), (0, None, None))({"w": lg.ones(2)}, x, 2)["w"].tolist() == [6.0, 6.0]


@pytest.mark.parametrize(
    ("forward", "backward", "error", "says"),
    [
        (lambda x: x * 2, lambda kept, g: (g,), TypeError, "expected .output, kept."),
        (lambda x: (x * 2, None), lambda kept, g: (g, g), RuntimeError, "2 gradients, expected 1"),
        (lambda x: (x * 2, None), lambda kept, g: ([g],), RuntimeError, "structure"),
    ],
)
def test_misuse_of_custom_vjp(x, forward, backward, error, says):
    double = lg.custom_vjp(lambda x: x * 2)
    double.defvjp(forward, backward)
    with pytest.raises(error, match=says):
        double(x).sum().backward()
