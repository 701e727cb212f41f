"""Values, gradients and gradients of gradients are PyTorch's, where it is installed."""

import itertools

import numpy as np
import pytest
from golden import peer, thin

import lucidgrad as lg
from lucidgrad.ops import losses, normalisation, pooling, windows
from lucidgrad.ops.steps import adam_step, sgd_step

torch = peer("torch")
functional = torch.nn.functional

FLAGS = (False, True)


def agree(ours, theirs, *shapes):
    """Two functions have the same values and derivatives of first and second order."""
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape) for shape in shapes]
    xs = [lg.tensor(v, requires_grad=True) for v in values]
    ts = [torch.tensor(v, requires_grad=True) for v in values]
    y, z = ours(*xs), theirs(*ts)
    weights = rng.normal(size=tuple(z.shape))
    close([y], [z])
    first = lg.autograd.grad((y * y * lg.asarray(weights)).sum(), xs, create_graph=True)
    expected = torch.autograd.grad((z * z * torch.tensor(weights)).sum(), ts, create_graph=True)
    close(first, expected)
    second = lg.autograd.grad(sum((g**3).sum() for g in first), xs)
    close(second, torch.autograd.grad(sum((g**3).sum() for g in expected), ts))


def close(found, expected):
    for a, b in zip(found, expected, strict=True):
        found, wanted = thin(a.detach(), 150).numpy(), thin(b.detach(), 150).numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-8)


def test_cross_entropy():
    i = np.array([[0, 2, -100], [3, 1, 4]])
    agree(
        lambda x: losses.cross_entropy_rows(x, lg.asarray(i), axis=1),
        lambda x: functional.cross_entropy(x, torch.tensor(i), reduction="none"),
        (2, 5, 3),
    )


@pytest.mark.parametrize("axes", [1, 2])
def test_layer_norm(axes):
    tail = (3, 7)[2 - axes :]
    ours = lambda x, w, b: normalisation.layer_norm(x, w, b, axes=axes)
    agree(ours, lambda x, w, b: functional.layer_norm(x, tail, w, b), (2, 3, 7), tail, tail)
    rms = lambda x, w: normalisation.rms_norm(x, w, axes=axes)
    agree(rms, lambda x, w: functional.rms_norm(x, tail, w, 1e-5), (2, 3, 7), tail)


def test_batch_norm():
    ours = lambda x, w, b: normalisation.batch_norm(x, w, b)[0]
    agree(ours, lambda x, w, b: functional.batch_norm(x, None, None, w, b, True), (4, 3, 5, 2), (3,), (3,))


@pytest.mark.parametrize(("s", "p", "d", "groups"), list(itertools.product((1, 2), (0, 1), (1, 2), (1, 2))))
def test_convolution(s, p, d, groups):
    steps = dict(stride=(s, s), padding=(p, p), dilation=(d, d), groups=groups)
    agree(
        lambda x, w: windows.convolution(x, w, **steps),
        lambda x, w: functional.conv2d(x, w, None, s, p, d, groups),
        (2, 4, 7, 8),
        (6, 4 // groups, 3, 2),
    )
    sizes = tuple((n - 1) * s - 2 * p + d * (k - 1) + s for n, k in ((7, 3), (8, 2)))  # as far as they can reach
    agree(
        lambda h, w: windows.convolution_input(h, w, sizes=sizes, **steps),
        lambda h, w: functional.conv_transpose2d(h, w, None, s, p, s - 1, groups, d),
        (2, 4, 7, 8),
        (4, 6 // groups, 3, 2),
    )


@pytest.mark.parametrize(("s", "p", "d", "ceil_mode"), list(itertools.product((1, 2, 3), (0, 1), (1, 2), FLAGS)))
def test_max_pool(s, p, d, ceil_mode):
    steps = dict(window=(3, 2), stride=(s, s), padding=(p, p), dilation=(d, d), ceil_mode=ceil_mode)
    theirs = lambda x, **more: functional.max_pool2d(x, (3, 2), s, p, d, ceil_mode, **more)
    agree(lambda x: pooling.max_pool(x, **steps)[0], theirs, (2, 4, 7, 8))
    ties = np.random.default_rng(0).integers(0, 4, (2, 3, 9, 8)).astype("float64")
    found, expected = pooling.max_pool(lg.asarray(ties), **steps), theirs(torch.tensor(ties), return_indices=True)
    close(found, expected)


@pytest.mark.parametrize(("s", "p", "ceil_mode", "include"), list(itertools.product((1, 2, 3), (0, 1), FLAGS, FLAGS)))
def test_avg_pool(s, p, ceil_mode, include):
    steps = dict(window=(3, 2), stride=(s, s), padding=(p, p), ceil_mode=ceil_mode, include=include)
    theirs = lambda x: functional.avg_pool2d(x, (3, 2), s, p, ceil_mode, include)
    agree(lambda x: pooling.avg_pool(x, **steps), theirs, (2, 4, 7, 8))


# -- optimisers ----------------------------------------------------------------------------------------
def train(optimiser, step, where):
    """Four steps with the same gradients."""
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape) for shape in ((3,), (2, 5), (40000,))]
    ps, ts = [lg.tensor(v, device=where) for v in values], [torch.tensor(v, requires_grad=True) for v in values]
    theirs = optimiser(ts)
    for k in range(4):
        grads = [rng.normal(size=v.shape) for v in values]
        for t, g in zip(ts, grads, strict=True):
            t.grad = torch.tensor(g)
        theirs.step()
        step(ps, [lg.tensor(g, device=where) for g in grads], k)
    close([p.cpu() for p in ps], ts)


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.parametrize(("momentum", "dampening", "nesterov"), [(0, 0, False), (0.9, 0.3, False), (0.9, 0, True)])
@pytest.mark.parametrize("maximize", FLAGS)
def test_sgd(momentum, dampening, nesterov, maximize, where):
    settings = dict(lr=0.1, momentum=momentum, dampening=dampening, weight_decay=0.1)
    settings |= dict(nesterov=nesterov, maximize=maximize)
    buffers = []

    def step(ps, grads, k):
        buffers.extend(lg.zeros_like(p) for p in ps[len(buffers) :])
        sgd_step(ps, grads, buffers, first=k == 0, **settings)

    train(lambda ts: torch.optim.SGD(ts, **settings), step, where)


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.parametrize(("amsgrad", "decoupled"), list(itertools.product(FLAGS, FLAGS)))
def test_adam(amsgrad, decoupled, where):
    states = []

    def step(ps, grads, k):
        states.extend([lg.zeros_like(p) for p in ps] for _ in range(2 + amsgrad - len(states)))
        adam_step(ps, grads, *states, step=k + 1, lr=0.1, weight_decay=0.1, decoupled=decoupled)

    made = torch.optim.AdamW if decoupled else torch.optim.Adam
    train(lambda ts: made(ts, lr=0.1, weight_decay=0.1, amsgrad=amsgrad), step, where)
