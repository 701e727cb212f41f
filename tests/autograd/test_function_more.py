"""`autograd.Function` in the corners: views, writing, levels, memory, and misuse."""

import gc
import threading
import weakref

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import func
from lucidgrad.autograd import Function, forward_ad, grad

DEVICES = ["cpu", pytest.param("cuda:0", marks=pytest.mark.cuda)]
V = np.array([0.3, 0.7, -1.2])


@pytest.fixture
def x():
    return lg.tensor(V, requires_grad=True)


def close(a, b):
    np.testing.assert_allclose(a.detach().cpu().numpy(), b, rtol=1e-12, atol=1e-14)


class Product(Function):
    """``sin(x) * w``, with every rule."""

    @staticmethod
    def forward(x, w):
        return lg.sin(x) * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * lg.cos(x) * w, g * lg.sin(x)

    @staticmethod
    def jvp(ctx, t, u):
        x, w = ctx.saved_tensors
        return t * lg.cos(x) * w + u * lg.sin(x)

    @staticmethod
    def vmap(info, in_dims, x, w):
        return Product.apply(x, w), 0


class Combined(Function):
    """The same where forward has the context."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return lg.sin(x) * w

    backward = Product.backward

    @staticmethod
    def vmap(info, in_dims, x, w):
        return Combined.apply(x, w), 0


def plain(x, w):
    return lg.sin(x) * w


# -- transforms --------------------------------------------------------------------------------------
COMPOSITIONS = {
    "vmap of grad": lambda f: func.vmap(func.grad(f, (0, 1))),
    "vmap of grad, shared": lambda f: lambda x, w: func.vmap(func.grad(f, (0, 1)), (0, None))(x, w[0]),
    "grad of vmap": lambda f: func.grad(lambda x, w: func.vmap(f)(x, w).sum(), (0, 1)),
    "grad of vmap, shared": lambda f: func.grad(lambda x, w: func.vmap(f, (0, None))(x, w[0]).sum(), (0, 1)),
    "vmap of jvp": lambda f: func.vmap(lambda x, w: func.jvp(f, (x, w), (w, x))),
    "jvp of vmap": lambda f: lambda x, w: func.jvp(func.vmap(f), (x, w), (w, x)),
    "vmap of hessian": lambda f: func.vmap(func.hessian(f, (0, 1))),
    "hessian of vmap": lambda f: func.hessian(lambda x, w: func.vmap(f, (0, None))(x, w[0]).sum(), (0, 1)),
    "jacfwd of jacfwd": lambda f: func.jacfwd(func.jacfwd(f, 0), (0, 1)),
    "jvp of jvp": lambda f: lambda x, w: func.jvp(lambda x: func.jvp(f, (x, w), (w, x))[1], (x,), (x,)),
    "jacrev of jacrev": lambda f: func.jacrev(func.jacrev(f, 0), 0),
    "vmap of vmap of grad": lambda f: lambda x, w: func.vmap(func.vmap(func.grad(f)))(lg.outer(x, w), lg.outer(w, x)),
    "chunks": lambda f: func.vmap(func.grad(f), chunk_size=2),
}


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize("function", [Product, Combined])
def test_transforms(function, name):
    found, wanted = (COMPOSITIONS[name](f)(lg.tensor(V), lg.tensor(V[::-1].copy())) for f in (function.apply, plain))
    for a, b in zip(func.trees.flatten(found)[0], func.trees.flatten(wanted)[0], strict=True):
        close(a, b.numpy())


@pytest.mark.cuda
@pytest.mark.parametrize("name", ["vmap of grad, shared", "hessian of vmap", "jvp of jvp"])
def test_transforms_on_cuda(name):
    there = COMPOSITIONS[name](Product.apply)(lg.tensor(V, device="cuda:0"), lg.tensor(V * 2, device="cuda:0"))
    here = COMPOSITIONS[name](plain)(lg.tensor(V), lg.tensor(V * 2))
    for a, b in zip(func.trees.flatten(there)[0], func.trees.flatten(here)[0], strict=True):
        assert a.device == "cuda:0"
        close(a, b.numpy())


def test_what_a_vmap_rule_is_told():
    seen = []

    class Told(Function):
        @staticmethod
        def forward(x, w, k):
            return x * w * k, x + 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x, w, k):
            seen.append((info.batch_size, info.randomness, in_dims))
            y, z = Told.apply(x, w, k)
            return (y, z.mT), (0, 1)

    points = lg.arange(6.0).reshape(3, 2)
    y, z = func.vmap(Told.apply, (0, None, None), randomness="same")(points, lg.tensor(2.0), 5)
    assert seen == [(3, "same", (0, None, None))]
    assert y.tolist() == (points * 10).tolist() and z.tolist() == (points + 1).tolist()


def test_wrong_vmap_rules():
    lone = type("Lone", (Function,), {"forward": lambda ctx, x: x, "vmap": lambda info, in_dims, x: x})
    with pytest.raises(RuntimeError, match=r"expected \(outputs, out_dims\)"):
        func.vmap(lone.apply)(lg.ones(3))
    shift = type("Shift", (Product,), {"forward": staticmethod(lambda x, w, *, by=0: x * w + by)})
    with pytest.raises(TypeError, match="keyword-only arguments by"):
        func.vmap(lambda x: shift.apply(x, x, by=1))(lg.ones(3))
    assert func.vmap(shift.apply)(lg.zeros(3), lg.ones(3)).tolist() == [0.0, 0.0, 0.0]
    assert func.vmap(lambda x: Combined.apply(x, w=x))(lg.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    both = type("Both", (Product,), {"generate_vmap_rule": True})
    with pytest.raises(RuntimeError, match="generate_vmap_rule"):
        func.vmap(both.apply)(lg.ones(3), lg.ones(3))


# -- forward mode ------------------------------------------------------------------------------------
class Kept(Function):
    """Keeps a value that forward computed: enough for first derivatives."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(lg.cos(x))
        return lg.sin(x)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def test_forward_mode_of_first_order_needs_no_history():
    points = lg.tensor(V)
    close(func.jvp(Kept.apply, (points,), (points,))[1], np.cos(V) * V)
    close(func.jacfwd(Kept.apply)(points), np.diag(np.cos(V)))
    for second in (func.jacfwd(func.jacfwd(Kept.apply)), func.jacrev(func.jacfwd(Kept.apply))):
        with pytest.raises(RuntimeError, match="without history"):
            second(points)


@pytest.mark.parametrize(
    ("jvp", "error", "says"),
    [
        (lambda ctx, t: t[:2], RuntimeError, r"shape \(2,\) for output 0, expected \(3,\)"),
        (lambda ctx, t: (t, t), RuntimeError, "2 tangents, expected 1"),
        (lambda ctx, t: 3.0, TypeError, "float"),
    ],
)
def test_wrong_tangents_are_told(jvp, error, says):
    wrong = type("Wrong", (Function,), {"forward": lambda ctx, x: x * 1, "jvp": jvp})
    with pytest.raises(error, match=says):
        func.jvp(wrong.apply, (lg.tensor(V),), (lg.tensor(V),))


def test_a_tensor_takes_one_tangent_per_level():
    with forward_ad.dual_level():
        moving = forward_ad.make_dual(lg.ones(2), lg.ones(2))
        with pytest.raises(RuntimeError, match="carries a tangent"):
            forward_ad.make_dual(moving, lg.ones(2))
        with forward_ad.dual_level():
            forward_ad.make_dual(moving, lg.ones(2))


def test_levels_end_with_the_block_and_belong_to_their_thread():
    first, second = threading.Event(), threading.Event()
    found = []

    def other():
        with forward_ad.dual_level():
            moving = forward_ad.make_dual(lg.ones(2), lg.ones(2))
            first.set()
            second.wait(10)  # meanwhile the main thread enters and leaves levels of its own
            found.append(forward_ad.unpack_dual(moving * 3).tangent)

    thread = threading.Thread(target=other)
    thread.start()
    assert first.wait(10)
    with forward_ad.dual_level():
        forward_ad.enter_dual_level()
    with pytest.raises(RuntimeError, match="no dual level"):
        forward_ad.exit_dual_level()
    with pytest.raises(TypeError, match="float"):
        forward_ad.unpack_dual(1.0)
    second.set()
    thread.join()
    assert found[0].tolist() == [3.0, 3.0]


# -- outputs -----------------------------------------------------------------------------------------
class Flat(Function):
    @staticmethod
    def forward(ctx, x):
        return x.reshape(-1)

    @staticmethod
    def backward(ctx, g):
        return 5 * g.reshape(1, 3)


class Same(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return 5 * g


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("function", [Flat, Same])
def test_views_as_outputs(function, device):
    x = lg.tensor(V[None], device=device, requires_grad=True)
    z = x * 1
    y = function.apply(z)
    close(grad((y * y).sum(), x)[0], 10 * V[None])
    with pytest.raises(RuntimeError, match="is a view of an input"):
        function.apply(z).mul_(2)
    y = function.apply(z)
    z.mul_(2)
    with pytest.raises(RuntimeError, match="modified in place"):
        y.sum().backward()


def test_outputs_that_are_no_tensors(x):
    class Mixed(Function):
        @staticmethod
        def forward(ctx, x, words):
            return x * 2, None, len(words), x * 3

        @staticmethod
        def backward(ctx, a, nothing, number, b):
            assert nothing is None and number is None
            return a * 2 + b * 3, None

    a, nothing, number, b = Mixed.apply(x, ["p", "q"])
    assert nothing is None and number == 2
    close(grad((a * b).sum(), x)[0], 12 * V)
    close(func.jvp(lambda x: Mixed.apply(x, ())[0], (x.detach(),), (x.detach(),))[1], 2 * V)


def test_arguments(x):
    class Scaled(Function):
        @staticmethod
        def forward(x, by=2.0, *, shift=0.0):
            return x * by + shift

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.by = inputs[1]

        @staticmethod
        def vjp(ctx, g):  # another name for backward
            return g * ctx.by, None

    close(grad(Scaled.apply(x).sum(), x)[0], 2 + 0 * V)
    close(grad(Scaled.apply(x, by=3.0, shift=1.0).sum(), x)[0], 3 + 0 * V)
    constant = type("Constant", (Function,), {"forward": lambda ctx, n: lg.ones(n)})
    assert constant.apply(2).tolist() == [1.0, 1.0]
    with lg.no_grad():
        assert Needs.apply(x, 3).tolist() == x.tolist()


class Needs(Function):
    @staticmethod
    def forward(ctx, x, k):
        assert ctx.needs_input_grad == (True, False)
        return x * 1


def test_marked_outputs_inside_transforms():
    class Marked(Function):
        @staticmethod
        def forward(ctx, x):
            second = x * 3
            ctx.mark_non_differentiable(second)
            return x * 2, second

        @staticmethod
        def backward(ctx, a, b):
            return 2 * a + 3 * b

    points = lg.tensor(V)
    assert func.vmap(func.grad(lambda x: sum(Marked.apply(x))))(points).tolist() == [2.0, 2.0, 2.0]
    close(func.jvp(lambda x: sum(Marked.apply(x)), (points,), (points,))[1], 2 * V)


# -- writing -----------------------------------------------------------------------------------------
class Double(Function):
    """In place."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return 2 * g


def test_writing_through_a_view(x):
    z = x * 1
    Double.apply(z[:2])
    close(grad((z * z).sum(), x)[0], [8 * V[0], 8 * V[1], 2 * V[2]])
    z = x * 1
    part = z[:2]
    Double.apply(z)
    close(grad((part * part).sum(), x)[0], [8 * V[0], 8 * V[1], 0])


def test_writing_inside_transforms():
    def squares(x):
        z = x * 1
        assert Double.apply(z) is z
        return z * z

    points = lg.tensor(V)
    close(func.vmap(func.grad(squares))(points), 8 * V)
    close(func.jvp(squares, (points,), (points,))[1], 8 * V * V)
    close(func.hessian(lambda x: squares(x).sum())(points), 8 * np.eye(3))


def test_what_is_written_may_be_saved(x):
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            x.exp_()
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    z = x * 1
    Exp.apply(z)
    (g,) = grad(z.sum(), x, create_graph=True)
    close(g, np.exp(V))
    close(grad(g.sum(), x)[0], np.exp(V))


def test_what_is_written_must_be_returned(x):
    class Forgets(Double):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 1

    with pytest.raises(RuntimeError, match="marked as dirty and is no output"):
        Forgets.apply(x * 1)
    with pytest.raises(RuntimeError, match="leaf"):
        Double.apply(x)


# -- memory, misuse ----------------------------------------------------------------------------------
def test_only_what_is_saved_is_kept(x):
    gc.disable()
    try:
        kept = {}

        class Saves(Function):
            @staticmethod
            def forward(ctx, x):
                own = lg.cos(x)
                kept["own"] = weakref.ref(own.array)
                ctx.save_for_backward(own)
                return lg.sin(x)

            backward = Kept.backward

        z = x * 1
        kept["input"] = weakref.ref(z.array)
        y = Saves.apply(z)
        kept["output"] = weakref.ref(y.array)
        total = y.sum()
        del z, y
        assert {name: ref() is not None for name, ref in kept.items()} == {"own": True, "input": False, "output": False}
        total.backward()
        assert kept["own"]() is None
    finally:
        gc.enable()


def test_hooks_on_saved_values(x):
    packed, w = [], x * 2
    with lg.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.tolist()) or t, lambda t: t):
        y = Product.apply(x, w)
    assert packed == [V.tolist(), (2 * V).tolist()]
    close(grad(y.sum(), x)[0], np.cos(V) * 2 * V + 2 * np.sin(V))


def test_a_gradient_for_what_is_no_tensor(x):
    wrong = type("Wrong", (Function,), {"forward": lambda ctx, x, k: x * k, "backward": lambda ctx, g: (g, g)})
    with pytest.raises(RuntimeError, match="argument 1, which is no tensor"):
        wrong.apply(x, 2.0).sum().backward()
    assert x.grad is None


@pytest.mark.cuda
def test_inputs_on_two_devices():
    class Across(Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a.to(b.device) * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return (g * b).to(a.device), g * a.to(b.device)

    a = lg.tensor(V, requires_grad=True)
    b = lg.tensor(2 * V, device="cuda:0", requires_grad=True)
    found = grad(Across.apply(a, b).sum(), (a, b), create_graph=True)
    assert [g.device for g in found] == ["cpu", "cuda:0"]
    close(found[0], 2 * V)
    close(found[1], V)
    close(grad(found[0].sum(), b)[0], 1 + 0 * V)


@pytest.mark.parametrize("method", ["forward", "backward", "jvp", "vmap"])
def test_errors_leave_modes_and_levels_as_they_were(method):
    def fails(*args):
        raise ZeroDivisionError

    broken = type("Broken", (Combined,), {method: staticmethod(fails)})
    points = lg.tensor(V)
    runs = {
        "forward": lambda: broken.apply(points, points),
        "backward": lambda: func.hessian(lambda x: broken.apply(x, points).sum())(points),
        "jvp": lambda: func.jvp(lambda x: broken.apply(x, points), (points,), (points,)),
        "vmap": lambda: func.vmap(func.grad(broken.apply))(points, points),
    }
    with pytest.raises(ZeroDivisionError):
        runs[method]()
    assert lg.is_grad_enabled()
    with pytest.raises(RuntimeError, match="draws random numbers"):  # of a map with its own mode
        func.vmap(lambda x: x * lg.rand(1))(points)
    close(func.vmap(func.grad(Combined.apply))(points, points), np.cos(V) * V)


def test_results_of_modules_with_hooks_may_be_written():
    layers = lg.nn.Sequential(lg.nn.Linear(2, 2), lg.nn.ReLU(inplace=True))
    layers[0].register_full_backward_hook(lambda module, inner, outer: None)
    layers(lg.ones((3, 2))).sum().backward()
    weight = lg.ones((2, 3), requires_grad=True)
    rows = lg.nn.functional.embedding(lg.tensor([0, 0]), weight, scale_grad_by_freq=True)
    rows += 1
    rows.sum().backward()
    assert weight.grad.tolist() == [[1.0] * 3, [0.0] * 3]


def test_nodes_have_the_names_of_the_classes(x):
    class MyFunc(Combined):
        pass

    assert MyFunc.apply(x, x).grad_fn.name() == "MyFuncBackward"
    assert lg.log1p(x * x).grad_fn.name() == "Log1pBackward"
    assert lg.matrix_transpose(x * lg.ones((3, 1))).grad_fn.name() == "MatrixTransposeBackward"
