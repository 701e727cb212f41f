"""Every kind of derivative on a CUDA device gives what it gives on the CPU, and stays on the device."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import func

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
W = np.array([[0.3, -0.2], [0.1, 0.7], [-0.5, 0.4]])
V = np.array([[1.0, 0.5, -1.0], [0.25, 2.0, 1.0]])


def net(x, w):
    return lg.tanh(x @ w)


def loss(x, w):
    y = net(x, w)
    return (y**2).sum() + lg.logsumexp(y, axis=-1).sum() + lg.special.erf(x).prod()


def branching(x):
    return func.cond(x[0] > 1, lambda x: lg.sin(x).sum(), lambda x: (x**3).sum(), x)


def growing(x):
    return func.while_loop(lambda x: x.sum() < 9, lambda x: x * x + 1, x).sum()


def summing(x):
    return func.scan(lambda c, row: (c * 0.5 + row, (c * row).sum()), 0 * x[0], x)[1]


def counting(x):
    return func.fori_loop(1, 4, lambda i, y: lg.sin(y) * i, x)


TRANSFORMS = {
    "grad": lambda x, w, v: func.grad(loss, (0, 1))(x, w),
    "value_and_grad": lambda x, w, v: func.value_and_grad(loss)(x, w),
    "vjp": lambda x, w, v: func.vjp(lambda x: net(x, w), x)[1](v[:, :2])[0],
    "jvp": lambda x, w, v: func.jvp(lambda x: loss(x, w), (x,), (v,)),
    "linearize": lambda x, w, v: func.linearize(lambda x: net(x, w), x)[1](v),
    "jacrev": lambda x, w, v: func.jacrev(net)(x, w),
    "jacrev in chunks": lambda x, w, v: func.jacrev(net, chunk_size=3)(x, w),
    "jacfwd": lambda x, w, v: func.jacfwd(net, 1)(x, w),
    "hessian": lambda x, w, v: func.hessian(loss, 1)(x, w),
    "per-sample gradients": lambda x, w, v: func.vmap(func.grad(loss, 1), (0, None))(x, w),
    "grad of vmap": lambda x, w, v: func.grad(lambda w: func.vmap(net, (0, None))(x, w).sum())(w),
    "jvp of grad": lambda x, w, v: func.jvp(func.grad(lambda x: loss(x, w)), (x,), (v,))[1],
    "grad of jvp": lambda x, w, v: func.grad(lambda x: func.jvp(lambda x: net(x, w), (x,), (v,))[1].sum())(x),
    "vmap of hessian": lambda x, w, v: func.vmap(func.hessian(loss), (0, None))(x, w),
    "third derivative": lambda x, w, v: func.jacfwd(func.hessian(lambda x: loss(x, w)))(x[0]),
    "vmap of cond": lambda x, w, v: func.vmap(func.grad(branching))(x),
    "vmap of while_loop": lambda x, w, v: func.vmap(func.grad(growing))(x),
    "grad of scan": lambda x, w, v: func.grad(lambda x: summing(x).sum())(x),
    "jvp of fori_loop": lambda x, w, v: func.jvp(counting, (x,), (v,)),
    "map in batches": lambda x, w, v: func.map(lambda row: row @ w, x, batch_size=1),
    "functional.hvp": lambda x, w, v: lg.autograd.functional.hvp(lambda x: loss(x, w), x, v),
}


def flat(tree):
    return [leaf.detach().cpu().numpy() for leaf in func.trees.flatten(tree)[0]]


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform(name):
    here, there = (TRANSFORMS[name](*(lg.asarray(a, device=device) for a in (X, W, V))) for device in ("cpu", "cuda:0"))
    assert all(leaf.device == "cuda:0" for leaf in func.trees.flatten(there)[0])
    for a, b in zip(flat(here), flat(there), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


class Cube(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


def test_a_function_of_ones_own():
    x = lg.tensor([1.0, 2.0], device="cuda:0", requires_grad=True)
    (g,) = lg.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (h,) = lg.autograd.grad(g.sum(), x)
    assert h.device == "cuda:0" and h.cpu().tolist() == [6.0, 12.0]


def chain(x):
    for _ in range(4):
        x = lg.tanh(x) * 1.5
    return x


def gradient(context, run=chain):
    x = lg.asarray(X, device="cuda:0").requires_grad_()
    with context:
        y = run(x)
    y.sum().backward()
    return x.grad.cpu().tolist()


@pytest.mark.parametrize(
    "context",
    [
        lambda: lg.autograd.graph.saved_tensors_hooks(lambda t: t.cpu(), lambda t: t.to("cuda:0")),
        lambda: lg.autograd.graph.save_on_cpu(),
        lambda: lg.autograd.graph.save_on_cpu(pin_memory=True),
        lambda: lg.autograd.memory_budget(64),
        lambda: lg.autograd.graph.allow_mutation_on_saved_tensors(),
    ],
    ids=["hooks", "save_on_cpu", "pinned", "budget", "mutation"],
)
def test_memory_tools(context):
    assert gradient(context()) == gradient(lg.enable_grad())


def test_checkpoint_draws_the_same_numbers_again():
    def noisy(x):
        return lg.tanh(x) * lg.rand_like(x)

    lg.manual_seed(3)
    plain = gradient(lg.enable_grad(), noisy)
    lg.manual_seed(3)
    assert gradient(lg.enable_grad(), lambda x: lg.utils.checkpoint.checkpoint(noisy, x)) == plain


def test_hooks_see_cuda_tensors():
    seen = []
    a, b = (lg.ones(2, device="cuda:0", requires_grad=True) for _ in range(2))
    handle = lg.autograd.graph.register_multi_grad_hook((a, b), lambda gs: seen.append([g.device for g in gs]))
    (a * b).sum().backward()
    handle.remove()
    assert seen == [["cuda:0", "cuda:0"]]


def test_anomaly_names_the_operation():
    x = lg.zeros(2, device="cuda:0", requires_grad=True)
    with pytest.raises(RuntimeError, match="log"), lg.autograd.detect_anomaly():
        lg.log(x).sum().backward()
    assert x.grad is None


def test_explain_speaks_of_cuda_tensors():
    x = lg.tensor([1.0, 2.0], device="cuda:0", requires_grad=True)
    assert "detach" in str(lg.autograd.explain((x.detach() * 2).sum(), x))
