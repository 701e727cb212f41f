"""The laws of differentiable collectives, across processes: what is differentiated is the sum of all their results."""

import os

import numpy as np
import pytest
from thoroughness import NIGHTLY

import lucidgrad as lg
from lucidgrad import distributed as dist
from lucidgrad.distributed.nn import functional as F

DEVICE = os.environ.get("LUCIDGRAD_TEST_DEVICE", "cpu")
FEW = DEVICE == "cuda" and not NIGHTLY  # one function for each primitive
OPS = dist.ReduceOp


def _rank():
    return dist.get_rank(), dist.get_world_size()


def _draw(*shape, seed=0):
    """Different numbers in each process."""
    return lg.asarray(np.random.default_rng([seed, dist.get_rank(), *shape]).uniform(0.5, 1.5, shape)).to(DEVICE)


def _rows(rank, n):
    """Uneven parts: rows that go from each process to each."""
    return [[1 + (i + 2 * j) % 3 for j in range(n)] for i in range(n)]


def cases():
    """The functions, each of one tensor of so many rows."""
    names = "all_reduce, mean", "all_gather_tensor", "reduce_scatter_tensor", "broadcast", "reduce", "exchange"
    every = _cases()
    return {name: every[name] for name in (*names, "all_to_all_single")} if FEW else every


def _cases():
    rank, n = _rank()
    counts = _rows(rank, n)
    received = [row[rank] for row in counts]
    last = n - 1
    return {
        "all_reduce": (lambda x: F.all_reduce(x), 2),
        "all_reduce, mean": (lambda x: F.all_reduce(x, OPS.AVG), 2),
        "all_reduce, largest": (lambda x: F.all_reduce(x, OPS.MAX), 2),
        "all_reduce, smallest": (lambda x: F.all_reduce(x, OPS.MIN), 2),
        "all_reduce, product": (lambda x: F.all_reduce(x, OPS.PRODUCT), 2),
        "all_gather": (lambda x: lg.cat([(i + 1) * y for i, y in enumerate(F.all_gather(x))]), 2),
        "all_gather_tensor": (lambda x: F.all_gather_tensor(x, 1), 2),
        "reduce_scatter": (lambda x: F.reduce_scatter(x[:2], list(x.split(2))), 2 * n),
        "reduce_scatter_tensor": (lambda x: F.reduce_scatter_tensor(x, OPS.AVG), 2 * n),
        "reduce_scatter_tensor, largest": (lambda x: F.reduce_scatter_tensor(x, OPS.MAX), n),
        "broadcast": (lambda x: F.broadcast(x, last), 2),
        "reduce": (lambda x: F.reduce(x, last), 2),
        "reduce, mean": (lambda x: F.reduce(x, 0, OPS.AVG), 2),
        "reduce, product": (lambda x: F.reduce(x, 0, OPS.PRODUCT), 2),
        "gather": (lambda x: lg.cat([(i + 1) * y for i, y in enumerate(F.gather(x, last))]), 2),
        "scatter": (lambda x: F.scatter(list(x.split(2)), last), 2 * n),
        "all_to_all_single": (
            lambda x: F.all_to_all_single(x.new_zeros(sum(received), *x.shape[1:]), x, received, counts[rank]),
            sum(counts[rank]),
        ),
        "all_to_all": (
            lambda x: lg.cat(F.all_to_all([x.new_zeros(k, 3) for k in received], list(x.split(counts[rank])))),
            sum(counts[rank]),
        ),
        "exchange": (lambda x: F.exchange(x, (rank + 1) % n, (rank - 1) % n), 2),
        "send and recv": (lambda x: F.send(x, 1) + x if rank == 0 else F.recv(x, 0) if rank == 1 else x * 2, 2),
    }  # fmt: skip


def _compiled(function, **options):
    """Compiled, mostly as a list of calls: a compiler takes its time, and has its turn in the tests below."""
    return lg.compile(function, options={"backend": "flat"} if DEVICE == "cpu" else {}, **options)


def _total(value):
    """The sum over all processes of a number."""
    whole = lg.asarray([float(value)], dtype=lg.float64)
    dist.all_reduce(whole)
    return whole.item()


def _dot(a, b):
    return (a.detach() * b.detach()).sum().item()


def _close(a, b, tolerance=1e-10):
    a, b = (v.detach().to("cpu").numpy() if isinstance(v, lg.Tensor) else v for v in (a, b))
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def each(law):
    def check():
        for name, (function, rows) in cases().items():
            try:
                law(function, _draw(rows, 3, seed=len(name)))
            except BaseException as error:
                error.add_note(name)
                raise

    return check


def _curved(function):
    """With something before and after it that is not linear."""
    return lambda x: (function(x.sin()) * 1.3).exp()


# -- values ----------------------------------------------------------------------------------------
def check_values():
    rank, n = _rank()
    x = _draw(2, 3)
    whole = x.new_zeros(n, 2, 3)
    dist.all_gather_into_tensor(whole, x)
    _close(F.all_reduce(x), whole.sum(0), 1e-14)
    _close(F.all_reduce(x, OPS.AVG), whole.mean(0), 1e-14)
    _close(F.all_reduce(x, OPS.MAX), whole.amax(0))
    _close(F.all_reduce(x, OPS.PRODUCT), whole.prod(0), 1e-14)
    _close(lg.stack(F.all_gather(x)), whole)
    _close(F.all_gather_tensor(x, 1), lg.cat(list(whole), 1))
    _close(F.broadcast(x, n - 1), whole[n - 1])
    _close(F.reduce(x, 0), whole.sum(0) if rank == 0 else x * 0, 1e-14)
    _close(lg.stack(F.gather(x, 0)), whole if rank == 0 else whole * 0)
    _close(F.scatter(list(whole), 0), x)
    _close(F.reduce_scatter(x, list(whole)), n * x, 1e-14)
    _close(F.exchange(x, (rank + 1) % n, (rank - 1) % n), whole[rank - 1])
    y = _draw(2, 2 * n)
    _close(F.reduce_scatter_tensor(y, scatter_dim=1), F.all_reduce(y)[:, 2 * rank : 2 * rank + 2], 1e-14)
    assert not F.all_reduce(x).requires_grad


# -- laws ------------------------------------------------------------------------------------------
@each
def check_adjoint(function, x):
    y, t = lg.func.jvp(function, (x,), (_draw(*x.shape, seed=5),))
    g = _draw(*y.shape, seed=6)
    _, pull = lg.func.vjp(function, x)
    (gx,) = pull(g)
    _close(_total(_dot(g, t)), _total(_dot(gx, _draw(*x.shape, seed=5))))


@each
def check_gradient(function, x):
    """Every number of every process is moved a little, one after the other."""
    f = _curved(function)
    g = _draw(*f(x).shape, seed=6)
    x = x.detach().requires_grad_()
    (gx,) = lg.autograd.grad(f(x), x, g)
    step, places = 1e-6, [0, x.numel() // 2, x.numel() - 1]
    for who in range(dist.get_world_size()):
        for place in places:
            ends = []
            for sign in (1, -1):
                moved = x.detach().clone()
                if who == dist.get_rank():
                    moved.reshape(-1)[place] += sign * step
                ends.append(_total(_dot(g, f(moved))))
            mine = gx.reshape(-1)[place].item() if who == dist.get_rank() else 0.0
            _close((ends[0] - ends[1]) / (2 * step), _total(mine), 1e-7)


@each
def check_second_order(function, x):
    """Forward over reverse, reverse over reverse, and differences of gradients."""
    f, v = _curved(function), _draw(*x.shape, seed=9)
    gradient = lg.func.grad(lambda z: f(z).sum())
    _, forward = lg.func.jvp(gradient, (x,), (v,))
    z = x.detach().requires_grad_()
    (g,) = lg.autograd.grad(f(z).sum(), z, create_graph=True)
    (backward,) = lg.autograd.grad((g * v).sum(), z)
    _close(forward, backward, 1e-9)
    step = 1e-6
    _close((gradient(x + step * v) - gradient(x - step * v)) / (2 * step), forward, 1e-6)


@each
def check_vmap(function, x):
    """A batch travels as one message."""
    xs = lg.stack([x, 2 * x, x.square()], 1)
    together = lg.vmap(function, in_dims=1)(xs)
    _close(together, lg.stack([function(xs[:, i]) for i in range(3)]), 1e-13)
    gradient = lg.func.grad(lambda z: _curved(function)(z).sum())
    _close(lg.vmap(gradient, in_dims=1)(xs), lg.stack([gradient(xs[:, i]) for i in range(3)]), 1e-12)


@each
def check_compiled(function, x):
    """A compiled function is the function, and communicates as often."""
    world = dist.group.WORLD

    def step(z):
        z = z.detach().requires_grad_()
        (g,) = lg.autograd.grad(_curved(function)(z).sum(), z)
        return z - 0.1 * g

    before = world.started
    expected = step(x)
    count = world.started - before
    compiled = _compiled(step, fullgraph=True)
    for _ in range(4):
        before = world.started
        _close(compiled(x), expected, 1e-14)
        assert world.started - before == count


@each
def check_devices(function, x):
    """Values and gradients are the CPU's, to the bit."""
    made = []
    for z in (x, x.to("cpu")):
        z = z.detach().requires_grad_()
        y = function(z)
        (g,) = lg.autograd.grad(y, z, _draw(*y.shape, seed=6).to(z.device))
        assert y.device == z.device == g.device
        made.append((y, g))
    for a, b in zip(*made):
        _close(a, b, 0)


def check_compiled_without_use():
    """What only one process looks at is computed by all; equal calls are two."""
    rank, _ = _rank()

    def function(x):
        unused = F.all_reduce(x)
        a, b = F.all_reduce(x * 2), F.all_reduce(x * 2)
        constant = F.all_reduce(lg.ones(2, dtype=x.dtype, device=x.device))
        return a + b + constant + (unused if rank == 0 else 0)

    compiled = lg.compile(function, fullgraph=True)
    for _ in range(3):
        before = dist.group.WORLD.started
        x = _draw(2)
        _close(compiled(x), function(x), 1e-14)
        assert dist.group.WORLD.started - before == 8


@each
def check_compiled_with_a_history(function, x):
    """Gradients are asked for outside: forwards and backwards communicate as they do without compiling."""
    f, world = _curved(function), dist.group.WORLD
    compiled = _compiled(f, fullgraph=True)
    made = []
    for g in (f, compiled, compiled, compiled):
        z, started = x.detach().requires_grad_(), [world.started]
        y = g(z)
        started.append(world.started)
        (y * _draw(*y.shape, seed=6)).sum().backward()
        started.append(world.started)
        made.append((y, z.grad, started[1] - started[0], started[2] - started[1]))
    for y, grad, *counts in made[1:]:
        _close(y, made[0][0], 1e-13)
        _close(grad, made[0][1], 1e-13)
        assert counts == list(made[0][2:])


def check_compiled_anew_in_one_process():
    """A process that traces once more, since its batch has another size, says no more than the others."""
    rank, _ = _rank()
    w = _draw(3, seed=8).requires_grad_()
    loss = lambda x: F.all_reduce((x @ w).square().sum())
    compiled = lg.compile(loss, fullgraph=True)
    for rows in (4, 4, 4 + rank, 4, 3 - rank % 2, 4):
        x = _draw(rows, 3)
        grads = []
        for function in (loss, compiled):
            w.grad = None
            function(x).backward()
            grads.append(w.grad)
        _close(*grads, 1e-12)


def check_compiled_with_writes():
    """What is sent in place ends the trace, not the call: every call communicates once."""
    n = dist.get_world_size()

    def function(x):
        y = (x * 2).detach()
        dist.all_reduce(y)
        return y + x

    compiled = lg.compile(function)
    for _ in range(3):
        x = _draw(3)
        before = dist.group.WORLD.started
        _close(compiled(x), function(x), 1e-14)
        assert dist.group.WORLD.started - before == 2
    with pytest.raises(RuntimeError, match="fullgraph=True, but processes communicated in place"):
        lg.compile(function, fullgraph=True)(x)
    assert n == _total(1)  # nobody is out of step


def check_inside_loops():
    x = _draw(4)

    def body(carry, row):
        total = F.all_reduce(row * carry)
        return total, total

    def function(z):
        carry, rows = lg.func.scan(body, z.sum() * 0 + 1, z)
        return carry + rows.sum()

    def plain(z):
        carry, rows = z.sum() * 0 + 1, []
        for row in z:
            carry = F.all_reduce(row * carry)
            rows.append(carry)
        return carry + lg.stack(rows).sum()

    _close(function(x), plain(x), 1e-12)
    _close(lg.func.grad(function)(x), lg.func.grad(plain)(x), 1e-12)
    _close(lg.compile(function)(x), plain(x), 1e-12)


def check_halves():
    """Gradients of 16 bits are those of 32, rounded once."""
    rank, n = _rank()
    x = lg.full((2,), 2048.0 if rank == 0 else 2.0 / (n - 1), dtype=lg.float16, device=DEVICE, requires_grad=True)
    y = F.all_reduce(x)
    assert y.dtype == lg.float16 and y.tolist() == [2050.0] * 2
    g = lg.full((2,), 2048.0 if rank == 0 else 2.0 / (n - 1), dtype=lg.float16, device=DEVICE)
    y.backward(g)
    assert x.grad.dtype == lg.float16 and x.grad.tolist() == [2050.0] * 2


def check_complex_numbers():
    z = (_draw(3) + 1j * _draw(3, seed=4)).requires_grad_()
    y = F.all_reduce(z)
    g = (_draw(3, seed=1) + 1j * _draw(3, seed=2)).detach()
    y.backward(g)
    dist.all_reduce(g)
    _close(z.grad, g, 1e-14)


def check_refusals():
    x = _draw(3)
    n = dist.get_world_size()
    for call, error, words in (
        (lambda: F.all_reduce([1.0]), TypeError, "given a list, expected a Tensor"),
        (lambda: F.all_reduce(x, "sum"), TypeError, "given op='sum'"),
        (lambda: F.reduce_scatter_tensor(_draw(n + 1)), ValueError, "can't be divided among"),
        (lambda: F.all_gather_tensor(x, 1), IndexError, "given gather_dim=1"),
        (lambda: F.broadcast(x, n), ValueError, f"given src={n}"),
        (lambda: F.scatter([x], 0), ValueError, "expected one for each"),
        (lambda: F.reduce_scatter(x[:1], [x] * n), ValueError, "output has shape"),
    ):
        with pytest.raises(error, match=words):
            call()
