"""`autograd.Function`: every feature, at first and second order, forward mode and vmap; and what must raise."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import func
from lucidgrad.autograd import Function, grad
from lucidgrad.autograd.function import once_differentiable


@pytest.fixture
def x():
    return lg.tensor([1.0, 2.0, 3.0], dtype=lg.float64, requires_grad=True)


def close(a, b):
    np.testing.assert_allclose(np.asarray(a.detach()), b, rtol=1e-12)


class Exp(Function):
    """Keeps its output."""

    @staticmethod
    def forward(ctx, x):
        y = lg.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class ScaleAndSquare(Function):
    """Two outputs, an argument that is no tensor."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        ctx.save_for_backward(x)
        return x * k, x**2

    @staticmethod
    def backward(ctx, a, b):
        (x,) = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, False)
        return a * ctx.k + 2 * x * b, None


class Power(Function):
    """With setup_context and jvp."""

    @staticmethod
    def forward(x, n):
        return x**n

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.n = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.n * ctx.saved_tensors[0] ** (ctx.n - 1), None

    @staticmethod
    def jvp(ctx, t, _):
        return t * ctx.n * ctx.saved_tensors[0] ** (ctx.n - 1)


def test_first_and_second_order(x):
    v = np.array([1.0, 2.0, 3.0])
    (g,) = grad(Exp.apply(x).sum(), x, create_graph=True)
    close(g, np.exp(v))
    close(grad(g.sum(), x)[0], np.exp(v))
    a, b = ScaleAndSquare.apply(x, 3.0)
    (g,) = grad((a * b).sum(), x, create_graph=True)
    close(g, 9 * v**2)
    close(grad(g.sum(), x)[0], 18 * v)
    assert lg.autograd.gradcheck(Exp.apply, (x,)) and lg.autograd.gradgradcheck(Exp.apply, (x,))


def test_forward_mode_transposes_backward_or_uses_jvp(x):
    v, ones = x.detach(), lg.ones(3, dtype=lg.float64)
    close(func.jvp(Exp.apply, (v,), (ones,))[1], np.exp(v.numpy()))
    close(func.jvp(lambda x: Power.apply(x, 3), (v,), (ones,))[1], 3 * v.numpy() ** 2)
    close(func.hessian(lambda x: Exp.apply(x).sum())(v), np.diag(np.exp(v.numpy())))


def test_vmap_runs_forward_on_all_examples_or_the_own_rule(x):
    close(func.vmap(func.grad(Exp.apply))(x.detach()), np.exp(x.detach().numpy()))

    class Mapped(Exp):
        @staticmethod
        def vmap(info, in_dims, x):
            assert (info.batch_size, in_dims) == (3, (0,))
            return Exp.apply(x) * 10, 0

    close(func.vmap(Mapped.apply)(x.detach()), 10 * np.exp(x.detach().numpy()))


def test_a_value_without_history_raises_at_second_order(x):
    class Saved(Function):
        @staticmethod
        def forward(ctx, x):
            kept = lg.exp(x)
            ctx.save_for_backward(kept)
            return kept * 1

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    class Stored(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = lg.exp(x)
            return ctx.kept * 1

        @staticmethod
        def backward(ctx, g):
            return g * ctx.kept

    for function in (Saved, Stored):
        (g,) = grad(function.apply(x).sum(), x, create_graph=True)
        close(g, np.exp(x.detach().numpy()))
        with pytest.raises(RuntimeError, match="without history"):
            grad(g.sum(), x)
        with pytest.raises(RuntimeError, match="without history"):
            func.jvp(func.grad(lambda x, f=function: f.apply(x).sum()), (x.detach(),), (x.detach(),))


def test_a_constant_may_be_kept(x):
    class Constant(Function):
        @staticmethod
        def forward(ctx, x):
            k = lg.full((3,), 5.0, dtype=lg.float64)
            ctx.mark_constant(k)
            ctx.save_for_backward(x, k)
            return x * x * k

        @staticmethod
        def backward(ctx, g):
            x, k = ctx.saved_tensors
            return 2 * x * k * g

    (g,) = grad(Constant.apply(x).sum(), x, create_graph=True)
    close(grad(g.sum(), x)[0], [10.0, 10.0, 10.0])


def test_once_differentiable_raises_the_second_time(x):
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    (g,) = grad(Once.apply(x).sum(), x, create_graph=True)
    close(g, [2.0, 4.0, 6.0])
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad(g.sum(), x)


def test_an_input_changed_in_place_is_the_output(x):
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    z = x * 1
    assert Double.apply(z) is z
    close(grad((z * z).sum(), x)[0], [8.0, 16.0, 24.0])


def test_an_input_returned_as_it_is_becomes_a_new_tensor(x):
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7

    y = Same.apply(x)
    assert y is not x
    close(grad(y.sum(), x)[0], [7.0, 7.0, 7.0])


@pytest.mark.parametrize("materialize", [True, False])
def test_outputs_without_gradient(x, materialize):
    seen = []

    class Some(Function):
        @staticmethod
        def forward(ctx, x):
            mask = (x > 1.5).to(lg.float64)
            ctx.mark_non_differentiable(mask)
            ctx.set_materialize_grads(materialize)
            return x * 2, mask, x * 3

        @staticmethod
        def backward(ctx, a, m, c):
            seen.append((a is None, c is None))
            return a * 2

    a, mask, _c = Some.apply(x)
    assert not mask.requires_grad
    close(grad(a.sum(), x)[0], [2.0, 2.0, 2.0])
    assert seen == [(False, not materialize)]


def test_saved_values_are_freed_and_guarded(x):
    y = Exp.apply(x)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
    z = x * 1
    w = Power.apply(z, 3)
    with lg.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match="in-place"):
        w.sum().backward()


def test_complex_gradients_have_the_usual_convention():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0].conj()

    z = lg.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    Square.apply(z).abs().sum().backward()
    w = z.detach().requires_grad_()
    (w * w).abs().sum().backward()
    close(z.grad, w.grad.numpy())


@pytest.mark.parametrize(
    ("backward", "error", "says"),
    [
        (lambda ctx, g: (g, g), RuntimeError, "2 gradients, expected 1"),
        (lambda ctx, g: 3.0, TypeError, "float"),
        (lambda ctx, g: g[:2], RuntimeError, "shape"),
    ],
)
def test_wrong_results_are_told(x, backward, error, says):
    wrong = type("Wrong", (Function,), {"forward": lambda ctx, x: x * 1, "backward": backward})
    with pytest.raises(error, match=says):
        wrong.apply(x).sum().backward()
    assert x.grad is None


def test_custom_vjp(x):
    @lg.custom_vjp
    def clipped(x, limit):
        return x * 1

    with pytest.raises(RuntimeError, match="defvjp"):
        clipped(x, 2.0)
    clipped.defvjp(lambda x, limit: (x * 1, (x, limit)), lambda kept, g: (g * kept[1] * kept[0], None))
    (g,) = grad(clipped(x, 2.0).sum(), x, create_graph=True)
    close(g, [2.0, 4.0, 6.0])
    close(grad(g.sum(), x)[0], [2.0, 2.0, 2.0])
