"""The optimisers against their formulas in plain Python, on test functions, and on the CUDA device."""

import math

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends import cudasim
from lucidgrad.backends.codegen.steps import trace_step
from lucidgrad.core import device

STEPS = 20


def gradient(n, x):
    return 0.3 * x + math.sin(3 * n + x)


def run(optimiser_of, start=0.7):
    """The values of one element in the middle of others."""
    p = lg.full((2, 3), start, dtype="float64").requires_grad_()
    optimiser, found = optimiser_of([p]), []
    for n in range(STEPS):
        p.grad = lg.tensor([[gradient(n, x) for x in row] for row in p.tolist()], dtype="float64")
        optimiser.step()
        found.append(p[1, 1].item())
    return found


def sgd(lr=0.1, momentum=0.9, dampening=0.2, decay=0.1):
    x, buffer = 0.7, None
    for n in range(STEPS):
        g = gradient(n, x) + decay * x
        buffer = g if buffer is None else momentum * buffer + (1 - dampening) * g
        x -= lr * buffer
        yield x


def adam(lr=0.1, b1=0.9, b2=0.99, eps=1e-3, decay=0.1, decoupled=False):
    x, m, v = 0.7, 0.0, 0.0
    for n in range(STEPS):
        g = gradient(n, x)
        if decoupled:
            x *= 1 - lr * decay
        else:
            g += decay * x
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        x -= lr * m / (1 - b1 ** (n + 1)) / (math.sqrt(v / (1 - b2 ** (n + 1))) + eps)
        yield x


def radam(lr=0.1, b1=0.9, b2=0.9, eps=1e-3):
    x, m, v = 0.7, 0.0, 0.0
    longest = 2 / (1 - b2) - 1
    for n in range(STEPS):
        g, k = gradient(n, x), n + 1
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        mean, length = m / (1 - b1**k), longest - 2 * k * b2**k / (1 - b2**k)
        if length > 5:
            top, below = (length - 4) * (length - 2) * longest, (longest - 4) * (longest - 2) * length
            x -= lr * mean * math.sqrt(top / below) * math.sqrt(1 - b2**k) / (math.sqrt(v) + eps)
        else:
            x -= lr * mean
        yield x


def rmsprop(lr=0.1, alpha=0.9, eps=1e-3):
    x, v = 0.7, 0.0
    for n in range(STEPS):
        g = gradient(n, x)
        v = alpha * v + (1 - alpha) * g * g
        x -= lr * g / (math.sqrt(v) + eps)
        yield x


def adagrad(lr=0.1, eps=1e-3):
    x, total = 0.7, 0.0
    for n in range(STEPS):
        g = gradient(n, x)
        total += g * g
        x -= lr * g / (math.sqrt(total) + eps)
        yield x


def adadelta(lr=0.5, rho=0.9, eps=1e-3):
    x, v, d = 0.7, 0.0, 0.0
    for n in range(STEPS):
        g = gradient(n, x)
        v = rho * v + (1 - rho) * g * g
        change = math.sqrt(d + eps) / math.sqrt(v + eps) * g
        d = rho * d + (1 - rho) * change * change
        x -= lr * change
        yield x


def lion(lr=0.1, b1=0.9, b2=0.99, decay=0.1):
    x, m = 0.7, 0.0
    for n in range(STEPS):
        g = gradient(n, x)
        x *= 1 - lr * decay
        x -= lr * math.copysign(1.0, b1 * m + (1 - b1) * g)
        m = b2 * m + (1 - b2) * g
        yield x


def asgd(lr=0.1, lambd=0.2, alpha=0.5, decay=0.1):
    x, eta = 0.7, lr
    for n in range(STEPS):
        g = gradient(n, x) + decay * x
        x = x * (1 - lambd * eta) - eta * g
        eta = lr / (1 + lambd * lr * (n + 1)) ** alpha
        yield x


FORMULAS = {
    "ASGD": (asgd, dict(lr=0.1, lambd=0.2, alpha=0.5, weight_decay=0.1)),
    "SparseAdam": (lambda: adam(b2=0.99, eps=0.0, decay=0.0), dict(lr=0.1, betas=(0.9, 0.99), eps=1e-300)),
    "SGD": (sgd, dict(lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.1)),
    "Adam": (adam, dict(lr=0.1, betas=(0.9, 0.99), eps=1e-3, weight_decay=0.1)),
    "AdamW": (lambda: adam(decoupled=True), dict(lr=0.1, betas=(0.9, 0.99), eps=1e-3, weight_decay=0.1)),
    "RAdam": (radam, dict(lr=0.1, betas=(0.9, 0.9), eps=1e-3)),
    "RMSprop": (rmsprop, dict(lr=0.1, alpha=0.9, eps=1e-3)),
    "Adagrad": (adagrad, dict(lr=0.1, eps=1e-3)),
    "Adadelta": (adadelta, dict(lr=0.5, rho=0.9, eps=1e-3)),
    "Lion": (lion, dict(lr=0.1, weight_decay=0.1)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name):
    formula, settings = FORMULAS[name]
    np.testing.assert_allclose(run(lambda ps: getattr(lg.optim, name)(ps, **settings)), list(formula()), rtol=1e-10)


@pytest.mark.parametrize("shape", [(4, 6), (7, 3)])
def test_muon(shape):
    rng = np.random.default_rng(0)
    p = lg.tensor(rng.normal(size=shape), requires_grad=True)
    x, buffer = p.detach().numpy().copy(), np.zeros(shape)
    optimiser = lg.optim.Muon([p], lr=0.1, weight_decay=0.2, momentum=0.9)
    for _ in range(3):
        g = rng.normal(size=shape)
        p.grad = lg.tensor(g)
        optimiser.step()
        buffer = 0.9 * buffer + 0.1 * g
        y = 0.1 * g + 0.9 * buffer
        y = y.T if shape[0] > shape[1] else y
        y = y / np.linalg.norm(y)
        for _ in range(5):
            gram = y @ y.T
            y = 3.4445 * y + (-4.7750 * gram + 2.0315 * gram @ gram) @ y
        y = y.T if shape[0] > shape[1] else y
        x = x * (1 - 0.1 * 0.2) - 0.1 * math.sqrt(max(1, shape[0] / shape[1])) * y
    np.testing.assert_allclose(p.detach().numpy(), x, rtol=1e-10)


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (5,)])
def test_adafactor(shape):
    rng = np.random.default_rng(0)
    p = lg.tensor(rng.normal(size=shape), requires_grad=True)
    x, rows, columns, squares = p.detach().numpy().copy(), 0.0, 0.0, 0.0
    optimiser = lg.optim.Adafactor([p], lr=0.5, weight_decay=0.1, eps=(1e-3, 0.2), d=1.5)
    for n in range(1, 6):
        g = rng.normal(size=shape)
        p.grad = lg.tensor(g)
        optimiser.step()
        share = n**-0.8
        if len(shape) > 1:
            rows = rows + share * (np.mean(g * g, axis=-1, keepdims=True) - rows)
            columns = columns + share * (np.mean(g * g, axis=-2, keepdims=True) - columns)
            squares = rows * columns / rows.mean(axis=-2, keepdims=True)
        else:
            squares = squares + share * (g * g - squares)
        update = g / np.sqrt(squares)
        size = max(0.2, np.sqrt(np.mean(x * x))) * min(0.5, 1 / math.sqrt(n))
        x = x * (1 - 0.5 * 0.1) - size / max(1, np.sqrt(np.mean(update**2)) / 1.5) * update
    np.testing.assert_allclose(p.detach().numpy(), x, rtol=1e-10)


def test_rows_without_a_gradient_stay_as_they_are():
    p = lg.ones((3, 2), dtype="float64").requires_grad_()
    optimiser = lg.optim.SparseAdam([p], lr=0.1)
    for rows in ([0, 1], [1], []):
        p.grad = lg.zeros((3, 2), dtype="float64")
        for row in rows:
            p.grad[row, 0] = 1.0  # the other element of a touched row moves by its moments
        optimiser.step()
    state = optimiser.state[p]
    assert state["step"] == 3 and state["exp_avg"][2].tolist() == [0.0, 0.0] and p[2].tolist() == [1.0, 1.0]
    np.testing.assert_allclose(state["exp_avg"][:, 0].numpy(), [0.1, 0.19, 0.0], rtol=1e-12)
    np.testing.assert_allclose(p[:, 0].detach().numpy(), [0.9, 0.8, 1.0], rtol=1e-6)
    p.grad = lg.full((3, 2), np.nan, dtype="float64")
    optimiser.step()
    assert bool(lg.isnan(p).all())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_few_rows_of_a_large_table_take_the_step_of_the_whole(dtype, monkeypatch):
    source, results, taken = np.random.default_rng(0), [], []
    start, batches = source.normal(size=(50, 7, 3)), [source.integers(0, 30, n) for n in (8, 3, 0, 300)]
    usual = lg.optim.SparseAdam._take_rows
    monkeypatch.setattr(lg.optim.SparseAdam, "_take_rows", lambda *args: (taken.append(1), usual(*args))[1])
    for least in (0, 1 << 60):
        monkeypatch.setattr("lucidgrad.optim.sparse_adam._MANY", least)
        p, other = (lg.tensor(start, dtype=dtype, requires_grad=True) for _ in range(2))
        optimiser = lg.optim.SparseAdam([p, other], lr=0.1)
        for rows in batches:
            p.grad = other.grad = None
            (lg.take(p, lg.asarray(rows), axis=0) ** 2).sum().backward()
            (other * 2).sum().backward()  # every row of it
            optimiser.step()
        states = [optimiser.state[x] for x in (p, other)]
        results.append([x.numpy().tobytes() for s in states for x in (s["exp_avg"], s["exp_avg_sq"])])
        results[-1] += [x.detach().numpy().tobytes() for x in (p, other)]
        assert p[30:].tolist() == lg.tensor(start, dtype=dtype)[30:].tolist()
    assert results[0] == results[1] and len(taken) == 3


def rosenbrock(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


@pytest.mark.parametrize(
    ("name", "settings", "steps"),
    [
        ("SGD", dict(lr=5e-4, momentum=0.95), 1000),
        ("Adam", dict(lr=0.05), 1000),
        ("AdamW", dict(lr=0.05, weight_decay=0.0), 1000),
        ("NAdam", dict(lr=0.05), 1000),
        ("Adamax", dict(lr=0.1), 1500),
        ("Adagrad", dict(lr=0.5), 1500),
        ("RMSprop", dict(lr=2e-3), 1500),
        ("Rprop", dict(lr=0.01), 1000),
    ],
)
def test_down_the_valley(name, settings, steps):
    x = lg.tensor([-1.0, 1.5], dtype="float64", requires_grad=True)
    optimiser = getattr(lg.optim, name)([x], **settings)
    for _ in range(steps):
        optimiser.zero_grad()
        rosenbrock(x).backward()
        optimiser.step()
    assert rosenbrock(x).item() < 0.3  # from 29, and past the steep walls


def test_lbfgs_down_the_valley():
    x = lg.tensor([-1.0, 1.5], dtype="float64", requires_grad=True)
    optimiser = lg.optim.LBFGS([x], line_search_fn="strong_wolfe", max_iter=100)

    def closure():
        optimiser.zero_grad()
        loss = rosenbrock(x)
        loss.backward()
        return loss

    optimiser.step(closure)
    np.testing.assert_allclose(x.detach().numpy(), [1, 1], atol=1e-6)


# -- programs and kernels ----------------------------------------------------------------------------
FAMILIES = {
    "SGD": dict(momentum=0.9, nesterov=True, weight_decay=0.1),
    "Adam": dict(amsgrad=True, weight_decay=0.1),
    "AdamW": dict(maximize=True),
    "NAdam": dict(weight_decay=0.1, decoupled_weight_decay=True),
    "RAdam": dict(betas=(0.9, 0.9)),
    "Adamax": dict(),
    "Adagrad": dict(lr_decay=0.1),
    "Adadelta": dict(),
    "RMSprop": dict(momentum=0.5, centered=True),
    "Rprop": dict(),
    "Lion": dict(weight_decay=0.1),
    "Muon": dict(),
    "ASGD": dict(t0=1),
    "Adafactor": dict(),
    "SparseAdam": dict(),
}


def stepped(name, where, dtype, steps=4, shapes=((5, 7), (3, 2), (1, 1), (4, 0)), **more):
    rng = np.random.default_rng(0)
    ps = [lg.tensor(rng.normal(size=s), dtype=dtype, device=where).requires_grad_() for s in shapes]
    optimiser = getattr(lg.optim, name)(ps, lr=0.05, **FAMILIES[name], **more)
    for _ in range(steps):
        for p in ps:
            p.grad = lg.tensor(rng.normal(size=p.shape), dtype=dtype, device=where)
        optimiser.step()
    return ps, optimiser


@pytest.mark.parametrize("name", FAMILIES)
def test_on_the_device_as_on_the_cpu(name):
    shapes = ((5, 7), (3, 2), (1, 1))
    here, _ = stepped(name, "cpu", "float64", shapes=shapes)
    there, optimiser = stepped(name, "cuda:0", "float64", shapes=shapes)
    for p, q in zip(here, there, strict=True):
        assert str(q.device) == "cuda:0"
        np.testing.assert_allclose(q.detach().numpy(force=True), p.detach().numpy(), rtol=1e-12)
    for state in optimiser.state.values():
        assert all(str(x.device) == "cuda:0" for x in state.values() if isinstance(x, lg.Tensor))


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Lion"])
@pytest.mark.skipif(bool(cudasim.usable_gpus()), reason="counts are the emulated device's")
def test_a_step_is_one_launch_that_waits_for_nothing(name):
    _, optimiser = stepped(name, "cuda:0", "float32")
    with cudasim.counting() as counts:
        optimiser.step()
    assert sum(counts.launches.values()) == 1, counts.launches
    assert counts.synchronisations == 0 and counts.copies_to_host == 0


@pytest.mark.skipif(bool(cudasim.usable_gpus()), reason="counts are the emulated device's")
def test_a_learning_rate_on_the_device_is_not_read():
    ps, qs = (lg.ones(4, device="cuda:0").requires_grad_() for _ in range(2))
    rate = lg.tensor(0.25, device="cuda:0")
    one, two = lg.optim.Adam([ps], lr=rate), lg.optim.Adam([qs], lr=0.25)
    ps.grad, qs.grad = lg.ones(4, device="cuda:0"), lg.ones(4, device="cuda:0")
    one.step(), two.step()
    schedule = lg.optim.lr_scheduler.ExponentialLR(one, gamma=1.0)
    with cudasim.counting() as counts:
        one.step()
        schedule.step()
    two.step()
    assert counts.synchronisations == 0 and counts.copies_to_host == 0
    np.testing.assert_allclose(ps.detach().cpu().numpy(), qs.detach().cpu().numpy(), rtol=1e-6)
    other = lg.ones(4).requires_grad_()
    other.grad = lg.ones(4)
    with pytest.raises(RuntimeError, match="lr on cuda"):
        lg.optim.SGD([other], lr=rate).step()


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_low_precision(name, dtype):
    more = (
        {"eps": 1e-2} if name in ("Adam", "AdamW", "NAdam", "RAdam", "Adagrad", "SparseAdam") else {}
    )  # 1e-8 is 0 in float16
    expected, _ = stepped(name, "cpu", "float64", **more)
    found, _ = stepped(name, "cpu", dtype, **more)
    tolerance = {"float16": 0.05, "float32": 1e-3}[dtype]
    for p, q in zip(found, expected, strict=True):
        assert str(p.dtype) == dtype
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=tolerance, atol=tolerance)


def test_programs_are_traced():
    """A program that fell back to running as it is would make new arrays for everything."""
    from lucidgrad.ops import steps

    double = np.dtype("float64")
    others = {"Muon", "Adafactor", "SparseAdam"}  # whose steps are not of a parameter, its gradient and states alone
    optimisers = [getattr(lg.optim, name) for name in FAMILIES if name not in others]
    for kind in optimisers:
        made = kind([lg.ones(2, dtype="float64").requires_grad_()], lr=0.1, **FAMILIES[kind.__name__])
        group = made.param_groups[0]
        state = made._begin(group["params"][0], group)
        settings = made._settings(group, made._number(state))
        rule = made._rule
        settings = rule.prepared(settings)
        trace = trace_step(rule.program, [double] * (2 + len(made._names(group))), settings)
        assert len(trace.results) == 1 + len(made._names(group)) and trace.numbers
    assert isinstance(steps.SGD, steps.Step)


def test_a_step_of_ones_own():
    """Adding an optimiser takes a program, and nothing for each device."""
    from lucidgrad.ops.steps import Step

    step = Step("own_step", lambda xp, p, g, s, *, lr: (p - lr * xp.tanh(s + g), xp.where(g > 0, s + g, s)))
    found = []
    for where in ("cpu", "cuda:0", "strict"):
        device.backend_named(where)
        p, g, s = (lg.tensor([0.5, -1.0, 2.0], dtype="float64", device=where) for _ in range(3))
        for _ in range(3):
            step([p], [g], [s], lr=0.5)
        found.append((p.tolist(), s.tolist()))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-14)
    np.testing.assert_allclose(found[0], found[2], rtol=1e-14)
    assert found[0][1] == [2.0, -1.0, 8.0]
