"""Programs on CUDA: the same as without compiling, without waiting for the device."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import func

pytestmark = pytest.mark.cuda


def numbers(*shape, seed=0):
    return lg.asarray(np.random.default_rng(seed).normal(size=shape), device="cuda")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: lg.tanh(x * 2).sum(),
        func.grad(lambda x: (x * lg.tanh(x)).sum()),
        lambda x: x.T @ x + lg.ones(3, 3, dtype=x.dtype, device=x.device),
    ],
)
def test_functions(function):
    compiled = lg.compile(function)
    for seed in range(3):
        x = numbers(4, 3, seed=seed)
        found = compiled(x)
        assert found.device == x.device
        np.testing.assert_allclose(found.cpu().numpy(), function(x).cpu().numpy(), rtol=1e-13)
    assert compiled.cache_info()[:3] == (2, 1, 0)


def test_a_step_of_training():
    losses = []
    for compiling in (False, True):
        lg.manual_seed(0)
        model = lg.nn.Sequential(lg.nn.Linear(3, 4), lg.nn.Tanh(), lg.nn.Dropout(0.3), lg.nn.Linear(4, 2))
        model = model.double().to("cuda")
        optimizer = lg.optim.Adam(model.parameters(), lr=0.01)

        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = lg.compile(step) if compiling else step
        lg.manual_seed(1)
        losses.append([run(numbers(5, 3, seed=k)).item() for k in range(5)])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-11)
    assert run.cache_info().hits == 3


def test_gradients_of_results():
    compiled = lg.compile(lambda x, w: lg.tanh(x @ w).sum())
    for seed in range(3):
        x, w = numbers(2, 3, seed=seed).requires_grad_(), numbers(3, 2, seed=seed + 5).requires_grad_()
        found = lg.autograd.grad(compiled(x, w), (x, w))
        expected = lg.autograd.grad(lg.tanh(x @ w).sum(), (x, w))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a.cpu().numpy(), b.cpu().numpy(), rtol=1e-13)


def test_floats_that_change_and_steps_that_overflow():
    """A scaler leaves out a step on the device, too; rates, limits and dropout's p are inputs."""
    ends = []
    for compiling in (False, True):
        lg.manual_seed(0)
        model = lg.nn.Sequential(lg.nn.Linear(3, 4), lg.nn.Dropout(0.3), lg.nn.Linear(4, 2)).to("cuda")
        optimizer = lg.optim.Adam(model.parameters(), lr=0.01)
        scaler = lg.GradScaler("cuda", init_scale=4.0, growth_interval=2)

        def step(x, limit, model=model, optimizer=optimizer, scaler=scaler):
            optimizer.zero_grad()
            loss = (model(x) ** 2).sum()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            lg.nn.utils.clip_grad_norm_(model.parameters(), limit)
            scaler.step(optimizer)
            scaler.update()
            return loss.detach()

        run = lg.compile(step) if compiling else step
        lg.manual_seed(1)
        for k in range(8):
            model[1].p, optimizer.param_groups[0]["lr"] = 0.3 + 0.05 * k, 0.01 * (k + 1)
            run(numbers(5, 3, seed=k).to(lg.float32) * (1e30 if k == 5 else 1), 0.5 + k)
        counts = [state["step"] for state in optimizer.state.values()]
        ends.append([*(p.detach().cpu().numpy() for p in model.parameters()), scaler.get_scale(), *counts])
        if compiling:
            assert run.cache_info().misses <= 3 and run.cache_info().eager == 0, run.cache_info()
    for a, b in zip(*ends, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5)
    assert ends[0][-1] == 7


def test_control_flow():
    def steps(w, xs):
        def body(h, x):
            return func.cond(x.sum() > 0, lambda: lg.tanh(w @ h + x), lambda: h * 0.5), h.sum()

        h, ys = func.scan(body, xs[0], xs)
        return h.sum() + ys.sum()

    slope = func.grad(steps, (0, 1))
    halved = lambda x: func.while_loop(lambda v: v.sum() > 1, lambda v: v / 2, x)
    compiled, repeated = lg.compile(slope, fullgraph=True), lg.compile(halved, fullgraph=True)
    for seed in range(3):
        w, xs = numbers(3, 3, seed=seed), numbers(4, 3, seed=seed + 7)
        for found, wanted in zip(compiled(w, xs), slope(w, xs), strict=True):
            np.testing.assert_allclose(found.cpu().numpy(), wanted.cpu().numpy(), rtol=1e-10, atol=1e-12)
        x = abs(w) * (seed + 1)
        np.testing.assert_allclose(repeated(x).cpu().numpy(), halved(x).cpu().numpy())
    assert compiled.cache_info().programs == repeated.cache_info().programs == 1


def test_the_device_may_change():
    """Of arguments, and of a module that is moved: a program for each, and every one again when it comes back."""
    model = lg.nn.Sequential(lg.nn.Linear(3, 4), lg.nn.Tanh(), lg.nn.BatchNorm1d(4))
    step = lambda x: lg.func.grad(lambda x: (model(x) ** 3).sum())(x).detach()
    other = lg.nn.Sequential(lg.nn.Linear(3, 4), lg.nn.Tanh(), lg.nn.BatchNorm1d(4))
    other.load_state_dict(model.state_dict())
    compiled = lg.compile(step)
    for k, where in enumerate(("cpu", "cpu", "cuda", "cuda", "cpu", "cuda")):
        model.to(where)
        x = numbers(5, 3, seed=k).to(dtype=lg.float32, device="cpu")
        found = compiled(x.to(where))
        wanted = lg.func.grad(lambda x: (other(x) ** 3).sum())(x).detach()
        assert str(found.device).startswith(where)
        np.testing.assert_allclose(found.cpu().numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model[2].running_mean.cpu().numpy(), other[2].running_mean.numpy(), rtol=1e-4, atol=1e-6)
    compiled = lg.compile(lambda x: lg.tanh(x) * 2)
    for where in ("cpu", "cuda") * 3:
        x = numbers(4).to(where)
        assert str(compiled(x).device) == str(x.device)
    assert compiled.cache_info().programs == 2
