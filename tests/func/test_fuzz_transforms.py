"""Random compositions of transforms over random programs, compared with the plain tape and loops, and with PyTorch."""

import numpy as np
import pytest
from golden import peer
from random_functions import N, composition

import lucidgrad as lg
from lucidgrad import func
from lucidgrad.autograd import forward_ad

CASES = [(depth, seed, "cpu") for depth, count in ((1, 80), (2, 120), (3, 24)) for seed in range(count)]
CASES += [pytest.param(2, seed, "cuda:0", marks=pytest.mark.cuda) for seed in range(6)]


@pytest.mark.parametrize(("depth", "seed", "device"), CASES)
def test_compositions(depth, seed, device):
    rng = np.random.default_rng([depth, seed])
    ours, plain, name = composition(rng, depth, device)
    x = lg.tensor(rng.normal(size=N), device=device)
    found, wanted = ours(x), plain(x)
    assert found.shape == (N,) and found.device == device and not lg.func.is_transformed(found)
    np.testing.assert_allclose(
        found.detach().cpu().numpy(), wanted.detach().cpu().numpy(), rtol=1e-7, atol=1e-9, err_msg=name
    )
    assert lg.is_grad_enabled() and not forward_ad._levels.entered


# -- beside PyTorch: the same words for both, m is the library ---------------------------------------
# (Without solve and det: derivatives of their forward mode are wrong in PyTorch, as differences show.)
COMMON = {
    "sin": lambda m, x, c: m.sin(x * c),
    "exp": lambda m, x, c: m.exp(0.3 * x) - c,
    "softmax": lambda m, x, c: m.softmax(x * c, 0) * x,
    "logsumexp": lambda m, x, c: x * m.logsumexp(x + c, 0),
    "cumsum": lambda m, x, c: m.cumsum(x, 0) * c,
    "cumprod": lambda m, x, c: m.cumprod(0.5 + 0.2 * x, 0),
    "where": lambda m, x, c: m.where(x > 0.1, x * x, c * x),
    "einsum": lambda m, x, c: m.einsum("i,j,j->i", x, m.tanh(x), c),
    "index": lambda m, x, c: x[m.argsort(m.sin(3 * x))] + x[0] * c,
    "matmul": lambda m, x, c: m.outer(x, c) @ m.tanh(x),
    "norm": lambda m, x, c: x / m.linalg.vector_norm(x + 3 * c),
    "amax": lambda m, x, c: x + m.amax(x * c, dim=0),
    "prod": lambda m, x, c: c * (1 + 0.2 * x).prod() + x,
    "conv": lambda m, x, c: m.nn.functional.conv1d(x.reshape(1, 1, N), c.reshape(1, 1, N), padding=1).reshape(N),
    "fft": lambda m, x, c: m.abs(m.fft.fft(x + c)),
}
AROUND = {
    "grad": lambda m, f, w: m.func.grad(lambda x: (f(x) * w).sum()),
    "vjp": lambda m, f, w: lambda x: m.func.vjp(f, x)[1](w * x)[0],
    "jvp": lambda m, f, w: lambda x: m.func.jvp(f, (x,), (w * m.sin(x),))[1],
    "jacrev": lambda m, f, w: lambda x: m.func.jacrev(f)(x) @ w,
    "jacfwd": lambda m, f, w: lambda x: w @ m.func.jacfwd(f)(x),
    "hessian": lambda m, f, w: lambda x: m.func.hessian(lambda z: (f(z) * w).sum())(x) @ w,
    "vmap": lambda m, f, w: lambda x: w @ m.func.vmap(f)(m.stack([x, x * w, m.cos(x)])),
    "vmap around": lambda m, f, w: lambda x: m.func.vmap(lambda a: f(a * x), out_dims=-1)(w).sum(-1),
}


@pytest.mark.parametrize("seed", range(40))
def test_beside_torch(seed):
    torch = peer("torch")
    rng = np.random.default_rng(seed)
    steps, around = rng.choice(sorted(COMMON), size=2), rng.choice(sorted(AROUND), size=2)
    numbers = rng.normal(size=(5, N))
    found = []
    for m in (lg, torch):
        c1, c2, w1, w2, x = (m.asarray(row) for row in numbers)

        def program(x, m=m, c1=c1, c2=c2):
            return m.tanh(COMMON[steps[1]](m, COMMON[steps[0]](m, x, c1), c2))

        found.append(np.asarray(AROUND[around[1]](m, AROUND[around[0]](m, program, w1), w2)(x).detach()))
    np.testing.assert_allclose(*found, rtol=1e-7, atol=1e-9, err_msg=f"{around} of {steps}")


# -- places that differ between examples -------------------------------------------------------------
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("shared", [(), (0,), (2,)])
def test_writing_at_places_that_differ(accumulate, shared):
    def put(x, i, v):
        return lg.index_put(x, (i,), v * v, accumulate=accumulate)

    rng = np.random.default_rng(0)
    args = [
        lg.tensor(rng.normal(size=(3, 4, 2))),
        lg.tensor([[0, 1], [2, 3], [1, 1]]),
        lg.tensor(rng.normal(size=(3, 2, 2))),
    ]
    args = [a[0] if k in shared else a for k, a in enumerate(args)]
    dims = tuple(None if k in shared else 0 for k in range(3))
    each = [[a if d is None else a[k] for a, d in zip(args, dims, strict=True)] for k in range(3)]
    assert func.vmap(put, dims)(*args).tolist() == [put(*one).tolist() for one in each]
    slope = func.grad(lambda x, i, v: (put(x, i, v) ** 3).sum(), (0, 2))
    for k, found in enumerate(func.vmap(slope, dims)(*args)):
        assert found.tolist() == [slope(*one)[k].tolist() for one in each]


# -- no examples at all ------------------------------------------------------------------------------
@pytest.mark.parametrize("shared", [(), (0,), (1,)])
def test_convolution_of_no_examples(shared):
    def loss(x, w):
        return (lg.nn.functional.conv1d(x, w, padding=1) ** 2).sum()

    args = [lg.ones(shape[k in shared :]) for k, shape in enumerate([(0, 2, 4, 5), (0, 3, 4, 3)])]
    dims = tuple(None if k in shared else 0 for k in range(2))
    assert func.vmap(loss, dims)(*args).shape == (0,)
    assert [g.shape for g in func.vmap(func.grad(loss, (0, 1)), dims)(*args)] == [(0, 2, 4, 5), (0, 3, 4, 3)]
