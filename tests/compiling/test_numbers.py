"""Python floats that change are inputs of programs: arguments, attributes, rates and limits; never a stale value."""

import decimal
import json
import math
import types
import warnings

import numpy as np
import pytest

import lucidgrad as lg

from .test_training import STEPS, batches, compare, everything, network

F = lg.nn.functional
VALUES = (0.5, 0.25, 0.75, 0.3, 0.9, 0.1)
X = [[1.0, -2.0, 3.0], [0.5, 0.1, -7.0]]


def agree(function, values=VALUES, misses=None):
    """Call with one float after the other, compiled and as it is."""
    compiled = lg.compile(function, fullgraph=True, options={"warn": False})
    for value in values:
        found = []
        for run in (compiled, function):
            lg.manual_seed(3)
            found.append(run(lg.tensor(X), value))
        mine, expected = map(lg.asarray, found)
        assert mine.dtype == expected.dtype
        np.testing.assert_allclose(mine.numpy(), expected.numpy(), rtol=2e-7)
    if misses is not None:
        assert compiled.cache_info().misses == misses, compiled.cache_info()
    return compiled


INPUTS = {
    "product": lambda x, t: x * t,
    "both sides": lambda x, t: t * x + t,
    "quotient": lambda x, t: t / x,
    "power": lambda x, t: abs(x) ** t,
    "base": lambda x, t: t**x,
    "arithmetic": lambda x, t: x * (1 - t) + t**2 * x - t / 2 + -t,
    "comparison": lambda x, t: x > t,
    "where": lambda x, t: lg.where(x > 0, x, t),
    "numbers alone": lambda x, t: lg.where(x > 0, t * 2, t - 1),
    "clip": lambda x, t: lg.clip(x, -t, t),
    "one bound": lambda x, t: x.clamp(max=t),
    "alpha": lambda x, t: x.add(x, alpha=t),
    "in place": lambda x, t: x.mul_(t),
    "half": lambda x, t: x.half() * t,
    "integers": lambda x, t: x.to(lg.int32) * t,
    "keyword of a function": lambda x, t: F.leaky_relu(x, t),
    "dropout": lambda x, t: F.dropout(x, t),
    "dropout of channels": lambda x, t: F.dropout1d(x, t),
    "dropout that keeps moments": lambda x, t: F.alpha_dropout(x, t, training=True),
    "no number": lambda x, t: x * (t if t not in (None, "auto", object()) and t != object() else 3.0),
    "random numbers": lambda x, t: lg.rand(2, 3) * t,
    "huber": lambda x, t: F.huber_loss(x, x * 0, delta=t),
    "gradient": lambda x, t: lg.func.grad(lambda x: (x**2 * t).sum())(x),
    "is a float": lambda x, t: x * (t if isinstance(t, float) else 3.0),
}


@pytest.mark.parametrize("name", INPUTS)
def test_arguments_that_change_are_inputs(name):
    agree(INPUTS[name], misses=2)


READ = {
    "math": lambda x, t: x * math.cos(t),
    "int": lambda x, t: x * int(10 * t),
    "round": lambda x, t: x * round(t, 1),
    "text": lambda x, t: x * float(f"{t:.2f}"),
    "full": lambda x, t: lg.full((2, 3), t) + x,
    "tensor": lambda x, t: lg.tensor(t) + x,
    "nested": lambda x, t: lg.tensor([t, 2 * t, 1.0]) + x,
    "fill": lambda x, t: x.fill_(t),
    "part": lambda x, t: (x.__setitem__(0, t), x)[1],
    "linspace": lambda x, t: lg.linspace(0, t, 3) + x,
    "numpy": lambda x, t: x * float(np.float32(t)) + float((np.ones(2) * t).sum()),
    "complex": lambda x, t: (x * (t * 1j)).imag,
    "hash": lambda x, t: x * {0.5: 1.0, 0.25: 2.0}.get(t, 3.0),
    "result": lambda x, t: t,
    "eps": lambda x, t: F.layer_norm(x, (3,), eps=t),
    "carry": lambda x, t: lg.func.scan(lambda c, row: (c + row.sum(), c), t, x)[0],
    "operation on numbers": lambda x, t: lg.add(t, 1.0) + x,
    "batch": lambda x, t: lg.func.vmap(lambda row: lg.where(row > t, row, t))(x),
    "type": lambda x, t: x * (2.0 if type(t) is float else 3.0),
}


@pytest.mark.parametrize("name", READ)
def test_values_that_are_read_make_programs_of_their_own(name):
    agree(READ[name], (0.5, 0.25, 0.5, 0.75, 0.25))


def test_code_that_takes_true_floats_alone():
    """It meets what stands for one while the function is traced, which then runs once more, if it did nothing yet."""
    compiled = lg.compile(lambda x, t: x * float(json.loads(json.dumps(t))) + float(decimal.Decimal(t)))
    for t in (0.5, 0.25, 0.75, 0.25):
        assert compiled(lg.ones(1), t).item() == 2 * t
    count = lg.zeros(())

    def counting(x, t):
        count.add_(1)
        return x * float(decimal.Decimal(t))

    compiled = lg.compile(counting)
    compiled(lg.ones(1), 0.5)
    with pytest.raises(TypeError):
        compiled(lg.ones(1), 0.25)
    assert count.item() == 2
    assert [compiled(lg.ones(1), t).item() for t in (0.25, 0.75, 0.25)] == [0.25, 0.75, 0.25]
    assert count.item() == 5


def test_decisions_are_guarded():
    def function(x, t):
        if 2 * t > 1:
            return x * t
        return x - t if t else x

    compiled = agree(function, (0.2, 0.3, 0.7, 0.4, 0.9, 0.0, -0.0, 0.45, 0.8))
    assert compiled.cache_info().programs == 3


def test_zero_division_is_python_s():
    compiled = lg.compile(lambda x, t: x * (1 / t))
    for t in (0.5, 0.25, 4.0):
        assert compiled(lg.ones(1), t).item() == 1 / t
    with pytest.raises(ZeroDivisionError):
        compiled(lg.ones(1), 0.0)
    assert compiled(lg.ones(1), 0.125).item() == 8
    assert compiled.cache_info().programs == 1


def test_integers_and_flags_are_no_inputs():
    compiled = lg.compile(lambda x, n: x.repeat(n) if n is not True else x)
    for n in (1, 2, True, 3):
        assert compiled(lg.ones(2), n).shape == (2 if n is True else 2 * n,)
    assert compiled.cache_info().programs == 4


def test_a_list_keeps_its_identity():
    def function(x, box):
        box[0] += 1.0
        return x * box[0]

    compiled = lg.compile(function, options={"warn": False})
    for start in (0.5, 1.5, 2.5):
        box = [start]
        assert compiled(lg.ones(1), box).item() == start + 1 == box[0]


FACTOR = 2.0


@pytest.mark.parametrize("place", ["closure", "dictionary", "attribute", "module", "list", "global"])
def test_floats_that_it_reaches_are_inputs_once_they_change(place, monkeypatch):
    cell, table, holder, items = 2.0, {"f": 2.0}, types.SimpleNamespace(f=2.0), [2.0, "x"]
    module = lg.nn.Module()
    module.f = 2.0

    def set_cell(value):
        nonlocal cell
        cell = value

    read, write = {
        "closure": (lambda: cell, set_cell),
        "dictionary": (lambda: table["f"], lambda v: table.update(f=v)),
        "attribute": (lambda: holder.f, lambda v: setattr(holder, "f", v)),
        "module": (lambda: module.f, lambda v: setattr(module, "f", v)),
        "list": (lambda: items[0], lambda v: items.__setitem__(0, v)),
        "global": (lambda: FACTOR, lambda v: monkeypatch.setitem(globals(), "FACTOR", v)),
    }[place]
    compiled = lg.compile(lambda x: x * read() + 1)
    for value in (2.0, 3.0, 4.0, 0.5, 5.0):
        write(value)
        for _ in range(2):
            assert compiled(lg.ones(1)).item() == value + 1
        assert type(read()) is float
    assert compiled.cache_info() == (8, 2, 0, 1)


def test_floats_that_it_changes_are_not_forgotten():
    holder = types.SimpleNamespace(t=0.0)

    def function(x):
        holder.t += 0.5
        return x * holder.t

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = lg.compile(function)
        for k in range(1, 5):
            holder.t += 1.0
            assert compiled(lg.ones(1)).item() == holder.t == 1.5 * k
            assert type(holder.t) is float


def test_an_error_puts_floats_back():
    holder = types.SimpleNamespace(t=1.0)

    def function(x, fine):
        y = x * holder.t
        if not fine:
            raise KeyError("no")
        return y

    compiled = lg.compile(function)
    compiled(lg.ones(1), True)
    holder.t = 2.0
    with pytest.raises(KeyError):
        compiled(lg.ones(1), False)
    assert type(holder.t) is float
    assert compiled(lg.ones(1), True).item() == 2.0


def test_dropout_of_a_layer_may_change():
    def make():
        model = network(lg.nn.Dropout(0.3))
        optimizer = lg.optim.SGD(model.parameters(), lr=0.1)

        def step(x, y):
            optimizer.zero_grad()
            error = F.mse_loss(model(x), y)
            error.backward()
            optimizer.step()
            return error.detach()

        return step, everything(model, optimizer)

    compare(make, between=lambda states, k: setattr(states["model"][1], "p", 0.1 + 0.05 * k), hits=STEPS - 3)


NORMS = {
    "layer norm": lambda: (lg.nn.LayerNorm(4), (3, 4)),
    "layer norm without weights": lambda: (lg.nn.LayerNorm(4, elementwise_affine=False), (3, 4)),
    "root mean square": lambda: (lg.nn.RMSNorm(4), (3, 4)),
    "batch norm": lambda: (lg.nn.BatchNorm1d(4), (3, 4)),
    "batch norm, evaluated": lambda: (lg.nn.BatchNorm1d(4).eval(), (3, 4)),
    "groups": lambda: (lg.nn.GroupNorm(2, 4), (3, 4, 5)),
    "instances": lambda: (lg.nn.InstanceNorm1d(4), (3, 4, 5)),
}


@pytest.mark.parametrize("name", NORMS)
def test_eps_of_a_norm_may_change(name):
    (layer, shape), (other, _) = NORMS[name](), NORMS[name]()
    x = lg.asarray(np.random.default_rng(0).normal(size=shape).astype("float32"), requires_grad=True)

    def step(layer, x):
        y = layer(x)
        return y.detach(), lg.autograd.grad((y**3).sum(), x)[0]

    compiled = lg.compile(lambda x: step(layer, x))
    for k in range(6):
        layer.eps = other.eps = 0.1 * (k + 1)
        for mine, expected in zip(compiled(x), step(other, x), strict=True):
            assert np.allclose(mine.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)
    assert compiled.cache_info().misses == 2


@pytest.mark.parametrize("clip", [lg.nn.utils.clip_grad_norm_, lg.nn.utils.clip_grad_value_])
def test_limits_of_gradients_may_change(clip):
    limits = types.SimpleNamespace(most=1.0)

    def make():
        model = network()
        optimizer = lg.optim.SGD(model.parameters(), lr=0.1)

        def step(x, y):
            optimizer.zero_grad()
            error = F.mse_loss(model(x), y)
            error.backward()
            clip(model.parameters(), limits.most)
            optimizer.step()
            return error.detach()

        return step, everything(model, optimizer)

    compare(make, between=lambda states, k: setattr(limits, "most", 0.5 / (k + 1)), hits=STEPS - 3)


def test_a_rate_that_is_an_argument():
    model = network()
    other = network()
    rates = [0.1, 0.2, 0.1, 0.05, 0.2]

    def stepping(model):
        def step(x, y, lr):
            loss = F.mse_loss(model(x), y)
            with lg.no_grad():
                for p, g in zip(model.parameters(), lg.autograd.grad(loss, list(model.parameters())), strict=True):
                    p -= lr * g
            return loss.detach()

        return step

    plain, compiled = stepping(other), lg.compile(stepping(model))
    for (x, y), lr in zip(batches(), rates, strict=False):
        assert compiled(x, y, lr).item() == pytest.approx(plain(x, y, lr).item(), rel=1e-13)
    assert compiled.cache_info().misses == 2


def test_settings_that_the_function_sets_itself():
    """No program sets them again, so none is made."""
    w = lg.ones(1, requires_grad=True)
    optimizer = lg.optim.SGD([w], lr=0.5)

    def step(lr):
        optimizer.param_groups[0]["lr"] = lr
        optimizer.zero_grad()
        (w * 1.0).sum().backward()
        optimizer.step()

    compiled = lg.compile(step, options={"warn": False})
    expected = 1.0
    for lr in (0.5, 0.25, 0.5, 0.5, 0.125, 0.25):
        compiled(lr)
        expected -= lr
        assert w.item() == expected
        assert type(optimizer.param_groups[0]["lr"]) is float


# -- mixed precision -----------------------------------------------------------------------------------
def scaled_step(model, optimizer, scaler, clipped):
    def step(x, y):
        optimizer.zero_grad()
        with lg.autocast("cpu", dtype=lg.float16):
            loss = F.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        if clipped:
            scaler.unscale_(optimizer)
            lg.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return step


@pytest.mark.parametrize("name", ["SGD", "Adam"])
@pytest.mark.parametrize("clipped", [False, True])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_scaler_leaves_out_steps_that_overflow(name, clipped):
    """Parameters, states, their counts and the scale are those of steps that run as they are."""
    found = []
    for compiling in (False, True):
        model = network().to(lg.float32)
        optimizer = getattr(lg.optim, name)(model.parameters(), lr=0.1)
        scaler = lg.GradScaler("cpu", init_scale=2.0**14, growth_interval=3)
        step = scaled_step(model, optimizer, scaler, clipped)
        run = lg.compile(step) if compiling else step
        own = []
        for k, (x, y) in enumerate(batches() * 3):
            factor = 1e6 if k in (5, 9, 10) else 1.0  # at which float16 overflows
            own.append([run(x.to(lg.float32), y.to(lg.float32) * factor).item(), scaler.get_scale()])
        counts = [state.get("step", 0) for state in optimizer.state.values()]
        found.append((own, [p.tolist() for p in model.parameters()], counts))
        if compiling:
            assert run.cache_info().misses <= 3, run.cache_info()
    assert len({scale for _, scale in found[0][0]}) > 3
    for a, b in zip(*found, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(np.asarray(y), np.asarray(x), rtol=1e-5)


class _Noting(lg.optim.SGD):
    def step(self, closure=None):
        super().step(closure)
        self.noted.add_(1)


def test_a_scaler_and_an_optimiser_of_somebody_else():
    """What its step writes besides can't be left out by a program, so none is made."""
    w = lg.ones(2, requires_grad=True)
    optimizer, scaler = _Noting([w], lr=0.1), lg.GradScaler("cpu", init_scale=2.0)
    optimizer.noted = lg.zeros(())

    def step(x):
        optimizer.zero_grad()
        scaler.scale((w * x).sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    compiled = lg.compile(step, options={"warn": False})
    for x in (1.0, 1.0, 1.0, float("inf"), 1.0):
        compiled(lg.full((2,), x))
    assert optimizer.noted.item() == 4 and compiled.cache_info().hits == 0


def autocast_step(model, optimizer, inside):
    def step(x, y):
        optimizer.zero_grad()
        with lg.autocast("cpu", dtype=lg.float16) if inside else lg.enable_grad():
            loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("before", [False, True])
def test_casts_that_autocast_keeps(inside, before):
    """What was cast outside, in the same context, serves no program, and keeps none from being made."""
    found = []
    for compiling in (False, True):
        model = network().to(lg.float32)
        step = autocast_step(model, lg.optim.SGD(model.parameters(), lr=0.1), inside)
        run, losses = lg.compile(step, fullgraph=True) if compiling else step, []
        with lg.autocast("cpu", dtype=lg.float16):
            for x, y in batches():
                if before:
                    model(x.to(lg.float32))
                losses.append(run(x.to(lg.float32), y.to(lg.float32)).item())
        found.append(losses)
        if compiling:
            assert run.cache_info()[1:] == (2, 0, 2)
    assert found[1] == pytest.approx(found[0], rel=1e-5)
