"""Where the five documents disagree: the decision that holds here."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.autograd import backward, grad
from lucidgrad.autograd.graph import get_gradient_edge

from .conftest import fires, same


def test_R01_always_a_tuple(leaf):
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    for inputs in (x, [x], get_gradient_edge(x)):
        result = grad(y, inputs, retain_graph=True)
        assert type(result) is tuple
        assert len(result) == 1


def test_R02_entries_are_tensors(leaf):
    x = leaf([1.0, 2.0])
    (g,) = grad((x * x).sum(), x)
    assert type(g) is lg.Tensor
    assert type(g.array) is type(x.array)
    assert g.array.tolist() == [2.0, 4.0]


def test_R03_retain_graph_follows_create_graph(leaf):
    x = leaf([1.0, 2.0])
    walks = (
        lambda y, **how: grad(y, x, **how),
        lambda y, **how: backward(y, **how),
        lambda y, **how: y.backward(**how),
    )
    for walk in walks:
        y = (x * x * x).sum()
        walk(y, create_graph=True)
        walk(y, create_graph=True, retain_graph=None)
        walk(y, retain_graph=True)
        walk(y)
        with pytest.raises(RuntimeError, match="a second time"):
            walk(y)
        x.grad = None


@pytest.mark.parametrize("shape", [(2,), (1, 2), (0,)])
def test_R04_no_implicit_seed_for_non_scalars(leaf, shape):
    x = leaf(np.ones(shape))
    y = x * x
    message = r"(?s)only for scalar outputs.*ones_like"
    for walk in (lambda: grad(y, x), lambda: grad(y, x, [None]), lambda: backward(y), y.backward):
        with pytest.raises(RuntimeError, match=message):
            walk()
    same(grad(y, x, lg.ones_like(y))[0], np.full(shape, 2.0))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (1, 1, 1)])
def test_R05_one_element_is_a_scalar(leaf, shape):
    x = leaf(np.full(shape, 3.0))
    same(grad(x * x, x)[0], np.full(shape, 6.0))
    backward(x * x)
    same(x.grad, np.full(shape, 6.0))
    (x * x).backward()
    same(x.grad, np.full(shape, 12.0))


FLAGS = [{}, {"allow_unused": False}, {"allow_unused": True}, {"materialize_grads": True}]


@pytest.mark.parametrize("flags", FLAGS)
def test_R06_input_without_requires_grad(leaf, const, flags):
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
    with pytest.raises(RuntimeError, match=r"does not require grad") as error:
        grad((x * c).sum(), [x, c], **flags)
    assert error.match(r"inputs\[1\]")


def test_R07_allow_unused_follows_materialize_grads(leaf):
    x, unused = leaf([1.0, 2.0]), leaf([3.0])
    y = (x * x).sum()
    with pytest.raises(RuntimeError, match="allow_unused=True"):
        grad(y, unused)
    same(grad(y, unused, materialize_grads=True, retain_graph=True)[0], [0.0])
    same(grad(y, unused, materialize_grads=True, allow_unused=True, retain_graph=True)[0], [0.0])
    assert grad(y, unused, materialize_grads=False, allow_unused=True) == (None,)


def test_R08_output_without_graph(leaf, const):
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
    y = (x * x).sum()
    for flags in ({}, {"allow_unused": False}):
        with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad"):
            grad([y, c], x, [None, const([1.0, 1.0])], **flags)
    for flags in ({"allow_unused": True}, {"materialize_grads": True}):
        for seed in (None, const([1.0, 1.0])):
            same(grad([c, y], x, [seed, None], retain_graph=True, **flags)[0], [2.0, 4.0])
    assert grad(c, x, allow_unused=True) == (None,)
    same(grad(c, x, materialize_grads=True)[0], [0.0, 0.0])


@pytest.mark.parametrize("walk", [grad, lambda outputs, x: backward(outputs)], ids=["grad", "backward"])
def test_R09_several_outputs_in_one_pass(leaf, walk):
    x = leaf([1.0, 2.0])
    m = x * 3
    n = lg.exp(m)
    outputs = [n.sum(), (n * m).sum(), m.sum(), m[0], n[1]]
    log = fires(m, n, *outputs)
    walk(outputs, x)
    assert sorted(log) == list(range(7))


def test_R10_seed_types(leaf, const):
    x = leaf([1.0, 2.0])
    y = x * x
    accepted = [
        (const([1.0, 3.0]), [2.0, 12.0]),
        (np.array([1.0, 3.0]), [2.0, 12.0]),
        (np.array([1, 3]), [2.0, 12.0]),
        (const([1.0, 3.0]).array, [2.0, 12.0]),
        (3, [6.0, 12.0]),
        (0.5, [1.0, 2.0]),
        (np.float32(0.5), [1.0, 2.0]),
        (np.int64(3), [6.0, 12.0]),
    ]
    for seed, expected in accepted:
        same(grad(y, x, [seed], retain_graph=True)[0], expected)
        same(grad(y, x, seed, retain_graph=True)[0], expected)
    same(grad([y.sum(), y], x, [None, 2.0], retain_graph=True)[0], [6.0, 12.0])
    backward(y, 0.5, retain_graph=True)
    same(x.grad, [1.0, 2.0])
    for wrong in ("1", object(), [1.0, 1.0], {"a": 1.0}):
        with pytest.raises(TypeError) as error:
            grad([y, y], x, [1.0, wrong])
        assert error.match(r"grad_outputs\[1\]")
        assert error.match(type(wrong).__name__)
    for wrong in (object(), "12"):
        with pytest.raises(TypeError, match="grad_outputs"):
            grad(y, x, wrong)
    # An array is not a scalar: no broadcasting.
    for wrong in (np.array(1.0), np.array([1.0]), const(1.0)):
        with pytest.raises(RuntimeError, match="[Mm]ismatch in shape"):
            grad(y, x, [wrong])
    z = leaf([1.0 + 1.0j], lg.complex128)
    same(grad(z * 2, z, [3.0j])[0], [6.0j])


def test_R11_wrong_length_is_both_classes(leaf, const):
    x = leaf([1.0, 2.0])
    y = x * x
    seed = const([1.0, 1.0])
    assert issubclass(lg.GradArgError, RuntimeError)
    assert issubclass(lg.GradArgError, ValueError)
    for call in (lambda: grad([y, y], x, [seed]), lambda: grad(y, x, [seed, seed]), lambda: grad(y, x, [])):
        with pytest.raises(lg.GradArgError, match="same length"):
            call()
    for call in (lambda: backward([y, y], [seed]), lambda: backward(y, [seed, seed])):
        with pytest.raises(lg.GradArgError, match="same length"):
            call()


def test_R12_wrong_seed_shape_is_both_classes(leaf, const):
    x = leaf([1.0, 2.0])
    y = x * x
    for seed in (const([1.0, 1.0, 1.0]), const(1.0), np.ones((2, 1))):
        for call in (lambda s: grad(y, x, s), lambda s: backward(y, s), y.backward):
            with pytest.raises(lg.GradArgError, match="[Mm]ismatch in shape") as error:
                call(seed)
            assert error.match(r"\(2,\)")


def test_R13_every_grad_survives(leaf, const):
    x, w, unused = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([5.0])
    m = x * w
    m.retain_grad()
    y = (m * m).sum()
    for t in (x, m, unused):
        t.grad = const(np.full(tuple(t.shape), 7.0))
    before = [(t, t.grad) for t in (x, w, m, y, unused)]
    grad(y, [x, m], retain_graph=True)
    grad(y, [w], create_graph=True)
    with pytest.raises(RuntimeError):
        grad(y, [x, unused])
    m.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        grad(y, [x])
    assert all(t.grad is g for t, g in before)
    for t in (x, m, unused):
        same(t.grad, np.full(tuple(t.shape), 7.0))
    assert w.grad is None
    assert y.grad is None


def test_R14_differentiable_with_respect_to_seeds(leaf, const):
    # A vjp of a vjp is a jvp: J v for f(x) = [x0 x1, x0 + 3 x1].
    x, dummy, v = leaf([2.0, 5.0]), leaf([0.0, 0.0]), const([1.0, 10.0])
    y = lg.stack([x[0] * x[1], x[0] + 3 * x[1]])
    (g,) = grad(y, x, dummy, create_graph=True)
    same(g, [0.0, 0.0])
    same(grad(g, dummy, v)[0], [5.0 * 1 + 2.0 * 10, 1.0 * 1 + 3.0 * 10])

    seed = leaf([3.0, 4.0])
    backward(x * x, seed, create_graph=True)
    backward(x.grad, const([1.0, 1.0]), inputs=[seed])
    same(seed.grad, [4.0, 10.0])


def test_R15_inputs_of_backward(leaf, const):
    x, w, unused = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([5.0])
    m = x * w
    y = (m * m).sum()
    w.grad = before = const([7.0, 7.0])
    y.backward(inputs=[m], retain_graph=True)
    y.backward(inputs=[m, x, unused], retain_graph=True)
    same(m.grad, [12.0, 32.0])
    same(x.grad, [18.0, 64.0])
    assert unused.grad is None
    assert w.grad is before
    same(w.grad, [7.0, 7.0])
    backward(y, inputs=m)
    same(m.grad, [18.0, 48.0])

    m = x * w
    m.retain_grad()
    backward((m * m).sum(), inputs=[m, m])
    same(m.grad, [6.0, 16.0])  # once, however often it is asked for


def test_R16_raw_seeds_are_moved(leaf, device):
    x = leaf([1.0, 2.0])
    y = x * x
    for seed in (np.array([2.0, 2.0]), 2.0, np.float64(2.0)):
        (g,) = grad(y, x, [seed], retain_graph=True)
        same(g, [4.0, 8.0])
        assert g.device == device


def test_R16_tensor_seed_on_another_device(leaf, device, other_device):
    x = leaf([1.0, 2.0])
    seed = lg.tensor([1.0, 1.0], dtype=lg.float64, device=other_device)
    with pytest.raises(RuntimeError, match=r"grad_outputs\[0\]") as error:
        grad(x * x, x, [seed])
    assert error.match(device)
    assert error.match(other_device)


def test_R17_create_graph_with_explicit_release(leaf):
    x = leaf([1.0, 2.0])
    y = (x * x * x).sum()
    (g,) = grad(y, x, create_graph=True, retain_graph=False)
    same(g, [3.0, 12.0])
    assert g.requires_grad
    with pytest.raises(RuntimeError, match="a second time"):
        grad(y, x)


FAILING = {
    "unused input": lambda y, x, c, u: grad(y, [x, u], [y.detach()]),
    "input without grad": lambda y, x, c, u: grad(y, [x, c], [y.detach()], allow_unused=True),
    "input is no tensor": lambda y, x, c, u: grad(y, [x, 3.0], [y.detach()]),
    "inputs empty": lambda y, x, c, u: grad(y, [], [y.detach()]),
    "inputs a dict": lambda y, x, c, u: grad(y, {"x": x}, [y.detach()]),
    "output without grad": lambda y, x, c, u: grad([y, c], x, [y.detach(), c]),
    "seed missing": lambda y, x, c, u: grad(y, x),
    "seed of wrong shape": lambda y, x, c, u: grad([y, y], x, [y.detach(), np.ones(3)]),
    "seed of wrong type": lambda y, x, c, u: grad([y, y], x, [y.detach(), "1"]),
    "seed complex": lambda y, x, c, u: grad(y, x, [np.ones(2, complex)]),
    "seeds too few": lambda y, x, c, u: grad([y, y], x, [y.detach()]),
    "seeds not batched": lambda y, x, c, u: grad(y, x, [y.detach()], is_grads_batched=True),
    "flags at odds": lambda y, x, c, u: grad(y, x, [y.detach()], materialize_grads=True, allow_unused=False),
    "edge not zero": lambda y, x, c, u: grad(y, get_gradient_edge(u * 2), [1.0], materialize_grads=True),
    "backward, seed missing": lambda y, x, c, u: backward(y),
    "backward, seed of wrong shape": lambda y, x, c, u: backward([y, y], [y.detach(), np.ones(3)]),
    "backward, inputs empty": lambda y, x, c, u: backward(y, y.detach(), inputs=[]),
    "backward, input without grad": lambda y, x, c, u: backward(y, y.detach(), inputs=[x, c]),
}


@pytest.mark.parametrize("call", FAILING.values(), ids=FAILING)
def test_R18_failing_call_leaves_everything(leaf, const, call):
    x, c, unused = leaf([1.0, 2.0]), const([3.0, 4.0]), leaf([5.0])
    x.grad = before = const([7.0, 7.0])
    m = lg.exp(x * 0) * x
    y = m * m * c
    log = fires(m, y)
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        call(y, x, c, unused)
    assert log == []
    assert x.grad is before
    same(before, [7.0, 7.0])
    assert unused.grad is None
    same(grad(y, x, lg.ones_like(y))[0], [6.0, 16.0])
    assert sorted(log) == [0, 1]


def test_R19_batches_zeros_and_edges(leaf, const):
    """The promises of torch.autograd.grad together in one call."""
    x, unused = leaf([1.0, 2.0]), leaf([[3.0, 4.0, 5.0]])
    m = x * 3
    y = m * m
    edges = get_gradient_edge(y), get_gradient_edge(m)
    seeds = const([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    options = {"is_grads_batched": True, "materialize_grads": True, "create_graph": True}
    gx, gm, zeros = grad(edges[0], [x, edges[1], unused], [seeds], **options)
    same(gx, [[18.0, 0.0], [0.0, 36.0], [18.0, 36.0]])
    same(gm, [[6.0, 0.0], [0.0, 12.0], [6.0, 12.0]])
    same(zeros, [[0.0, 0.0, 0.0]])
    same(grad(gx.sum(), x)[0], [36.0, 36.0])


def test_R20_any_iterable_but_no_dict(leaf, const):
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = a * b
    taken = []

    def once(*things):
        for thing in things:
            taken.append(thing)
            yield thing

    ga, gb = grad(once(y, y.sum()), once(a, b), once(const([1.0, 10.0]), 2.0), retain_graph=True)
    same(ga, [9.0, 48.0])
    same(gb, [3.0, 24.0])
    assert len(taken) == 6
    backward(once(y, y.sum()), once(1.0, None), inputs=once(a))
    same(a.grad, [6.0, 8.0])
    assert b.grad is None

    loss = (a * b).sum()
    calls = [
        lambda: grad({"y": loss}, a),
        lambda: grad(loss, {"a": a}),
        lambda: grad(loss, a, {"y": 1.0}),
        lambda: grad(loss, {a: "a"}),
        lambda: backward({"y": loss}),
        lambda: backward(loss, {"y": 1.0}),
        lambda: backward(loss, inputs={"a": a}),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="dict"):
            call()


# -- what PyTorch computes is not refused, and nothing depends on who looks, or on what came before ----------------
WRITTEN = {
    "quotient": lambda x, c: x / c,
    "number over tensor": lambda x, c: 2.0 / x,
    "remainder": lambda x, c: lg.fmod(x, c),
    "sign": lambda x, c: lg.sign(x),
    "erfinv": lambda x, c: lg.special.erfinv(x / 10),
    "maximum pool": lambda x, c: lg.nn.functional.max_pool1d(lg.stack([x, c])[None], 2)[:, 0, 0],
    "normalize": lambda x, c: lg.nn.functional.normalize(x, dim=0),
}


@pytest.mark.parametrize("op", WRITTEN.values(), ids=WRITTEN)
def test_R21_results_may_be_written(leaf, const, op):
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
    (expected,) = grad((op(x, c) * 5).sum(), x)
    y = op(x, c)
    y *= 5
    same(grad(y.sum(), x)[0], expected.tolist())


@pytest.mark.parametrize("other", [2, True, 2.0, np.float64(2), np.int64(2), np.float32(2)], ids=repr)
def test_R22_numbers_do_not_lift(leaf, other):
    x = leaf([1.0, 2.0]).detach().to(lg.float32).requires_grad_()
    for op in (lambda a, b: a * b, lambda a, b: b * a, lambda a, b: a / b, lambda a, b: b - a, lambda a, b: a**b):
        y = op(x, other)
        assert type(y) is lg.Tensor
        assert y.dtype == lg.float32
        assert grad(y.sum(), x)[0].dtype == lg.float32


def test_R22_integer_tensors_do_not_lift(leaf, const):
    x = leaf([1.0, 2.0]).detach().to(lg.float32).requires_grad_()
    for dtype in (lg.bool, lg.int8, lg.uint8, lg.int64):
        n = const([1.0, 2.0]).to(dtype)
        for y in (x / n, n * x, x + n.sum(), x.sum() / (x > 0).sum(), lg.where(x > 1, x, n)):
            assert y.dtype == lg.float32
            assert grad(y.sum(), x)[0].dtype == lg.float32
    assert (x * const([1.0, 2.0]).to(lg.float64)).dtype == lg.float64


LOOKS = {
    "repr": repr,
    "grad_fn": lambda y: y.grad_fn.name(),
    "next_functions": lambda y: y.grad_fn.next_functions,
    "metadata": lambda y: y.grad_fn.metadata,
    "hook": lambda y: y.register_hook(lambda g: None),
    "prehook": lambda y: y.grad_fn.register_prehook(lambda gs: None),
    "posthook": lambda y: y.grad_fn.register_hook(lambda inner, outer: None),
}


@pytest.mark.parametrize("size", [10, 20_000])
@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_R23_observing_changes_no_bit(leaf, look, size):
    start = np.linspace(-3.0, 3.0, size).tolist()

    def gradient(look):
        x = leaf(start)
        y = lg.logaddexp(lg.tanh(x), x * x)
        look(y)
        return grad(lg.softplus(y).sum(), x)[0].cpu().numpy().tobytes()

    assert gradient(look) == gradient(lambda y: None)


@pytest.mark.parametrize("size", [4, 400_000])
def test_R24_calls_before_do_not_matter(leaf, size):
    x = leaf([1.0] * size)
    for number in (2, 2**70, 3, 2**64, True, -0.0, 0.0, 10**20, float("nan"), 0.5, -1):
        y = x * number
        assert np.array_equal(y.detach().cpu().numpy(), np.ones(size) * float(number), equal_nan=True)
        assert np.array_equal(np.signbit(y.detach().cpu().numpy()[:1]), np.signbit([float(number)]))
        (g,) = grad(y.sum(), x)
        assert np.array_equal(g.cpu().numpy(), np.full(size, float(number)), equal_nan=True)


@pytest.mark.parametrize("sizes", [(1, 7), (1, 30_000), (30_000, 30_000)])
def test_R24_commutative_functions_commute(const, sizes):
    a, b = (const(np.linspace(-2.0 - k, 3.0, size).tolist()) for k, size in enumerate(sizes))
    for op in (lg.add, lg.multiply, lg.maximum, lg.minimum, lg.logaddexp, lg.hypot):
        assert op(a, b).cpu().numpy().tobytes() == op(b, a).cpu().numpy().tobytes()


COPIES = {
    "repeat": lambda x: x.repeat(1, 1),
    "repeat in front": lambda x: x.repeat(2, 1, 1),
    "tile": lambda x: lg.tile(x, (1, 1)),
    "matrix_power": lambda x: lg.linalg.matrix_power(x, 1),
    "pixel_shuffle": lambda x: lg.nn.functional.pixel_shuffle(x[None], 1),
    "pad": lambda x: lg.nn.functional.pad(x[None], (0, 0), mode="circular"),
}


@pytest.mark.parametrize("op", COPIES.values(), ids=COPIES)
def test_R25_copies_share_no_memory(const, op):
    x = const([[1.0, 2.0], [3.0, 4.0]])
    y = op(x)
    before = y.tolist()
    x.fill_(9.0)
    assert y.tolist() == before
    y.fill_(7.0)
    same(x, [[9.0, 9.0], [9.0, 9.0]])


def test_R26_retained_gradients_are_of_the_newest_value(leaf):
    x = leaf([1.0, 2.0, 3.0])
    b = x * 1
    b.retain_grad()
    b[1:].mul_(2)
    (b * b).sum().backward()
    same(b.grad, [2.0, 8.0, 12.0])
    same(x.grad, [2.0, 16.0, 24.0])


def test_R26_inside_a_function_saved_inputs_have_their_history(leaf):
    w = leaf([3.0, 3.0])

    class Squared(lg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with lg.enable_grad():
                (inner,) = grad((x * x * w).sum(), x)
                (x.detach() * w).sum().backward()
            return g * inner / w.detach()

    x = leaf([1.0, 2.0])
    Squared.apply(x).sum().backward()
    same(x.grad, [2.0, 4.0])
    same(w.grad, [1.0, 2.0])
