"""Whole training steps as programs: the losses and parameters of the same steps without compiling."""

import copy
import warnings

import numpy as np
import pytest

import lucidgrad as lg

STEPS = 7


def batches(seed=0, size=6):
    rng = np.random.default_rng(seed)
    return [(lg.asarray(rng.normal(size=(size, 4))), lg.asarray(rng.normal(size=(size, 2)))) for _ in range(STEPS)]


def network(*more):
    lg.manual_seed(1)
    return lg.nn.Sequential(lg.nn.Linear(4, 5), *more, lg.nn.Tanh(), lg.nn.Linear(5, 2)).double()


def plain_step(model, optimizer, loss=lg.nn.functional.mse_loss):
    def step(x, y):
        optimizer.zero_grad()
        error = loss(model(x), y)
        error.backward()
        optimizer.step()
        return error.detach()

    return step


def compare(make, rounds=batches, between=lambda state, k: None, hits=STEPS - 2):
    """Run steps as they are and compiled; ``make()`` gives (step, everything that it changes)."""
    losses, ends = [], []
    for compiling in (False, True):
        step, states = make()
        run = lg.compile(step) if compiling else step
        lg.manual_seed(7)
        own = []
        for k, (x, y) in enumerate(rounds()):
            between(states, k)
            own.append(run(x, y).item())
        losses.append(own)
        ends.append([x.detach().numpy(force=True).copy() for x in states["tensors"]()])
        if compiling:
            info = run.cache_info()
            assert info.hits >= hits, info
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-12)
    for a, b in zip(*ends, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-13)


def everything(model, optimizer):
    def tensors():
        found = [*model.parameters(), *model.buffers(), *(p.grad for p in model.parameters() if p.grad is not None)]
        for p in model.parameters():
            state = optimizer.state.get(p, {})
            found += [value for value in state.values() if isinstance(value, lg.Tensor)]
            found += [lg.tensor(float(value)) for value in state.values() if isinstance(value, (int, float))]
        return found

    return {"tensors": tensors, "model": model, "optimizer": optimizer}


OPTIMISERS = {
    "SGD": {"lr": 0.1},
    "SGD momentum": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    "Adam": {"lr": 0.01},
    "Adam amsgrad": {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1},
    "AdamW": {"lr": 0.01},
    "Adamax": {"lr": 0.01},
    "NAdam": {"lr": 0.01},
    "RAdam": {"lr": 0.01},
    "Adagrad": {"lr": 0.05},
    "Adadelta": {},
    "RMSprop": {"lr": 0.01, "momentum": 0.5, "centered": True},
    "Rprop": {"lr": 0.01},
    "Lion": {"lr": 0.01},
    "ASGD": {"lr": 0.05},
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers(name):
    def make():
        model = network()
        optimizer = getattr(lg.optim, name.split()[0])(model.parameters(), **OPTIMISERS[name])
        return plain_step(model, optimizer), everything(model, optimizer)

    compare(make, hits=0 if name in ("RAdam",) else STEPS - 2)


@pytest.mark.parametrize("name", ["LBFGS", "Muon", "Adafactor"])
def test_optimisers_whose_steps_run_as_they_are(name):
    def make():
        model = lg.nn.Linear(4, 2, bias=False).double()
        lg.manual_seed(2)
        lg.nn.init.normal_(model.weight)
        optimizer = getattr(lg.optim, name)(model.parameters(), lr=0.1)

        def step(x, y):
            def closure():
                optimizer.zero_grad()
                error = lg.nn.functional.mse_loss(model(x), y)
                error.backward()
                return error

            return optimizer.step(closure).detach()

        return step, {"tensors": lambda: list(model.parameters())}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(make, hits=0)


def test_settings_change_without_compiling_anew():
    def make():
        model = network()
        optimizer = lg.optim.Adam(model.parameters(), lr=0.01)
        return plain_step(model, optimizer), everything(model, optimizer)

    def between(states, k):
        group = states["optimizer"].param_groups[0]
        group["lr"] = 0.01 * (k + 1)
        group["betas"] = (0.9 - 0.01 * k, 0.99)

    compare(make, between=between)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_every_setting_may_change(name):
    """A float that was asked for its value while the step was traced would stay as it was."""

    def make():
        model = network()
        optimizer = getattr(lg.optim, name.split()[0])(model.parameters(), **OPTIMISERS[name])
        return plain_step(model, optimizer), everything(model, optimizer)

    def between(states, k):
        for group in states["optimizer"].param_groups:
            for setting, value in group.items():
                if type(value) is float and value:
                    group[setting] = value * 0.97
                if setting == "betas":
                    group[setting] = tuple(beta * 0.99 for beta in value)

    compare(make, between=between, hits=0)


def test_settings_that_become_zero_or_another():
    def make():
        model = network()
        optimizer = lg.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
        return plain_step(model, optimizer), everything(model, optimizer)

    def between(states, k):
        states["optimizer"].param_groups[0].update(weight_decay=0.1 * (k % 3), maximize=k == 4)

    compare(make, between=between, hits=0)


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize(
    "schedule",
    [
        lambda o: lg.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=20),
        lambda o: lg.optim.lr_scheduler.CosineAnnealingLR(o, 50),
        lambda o: lg.optim.lr_scheduler.StepLR(o, 2, 0.5),
    ],
)
def test_schedulers(schedule, inside):
    def make():
        model = network()
        optimizer = lg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        scheduler = schedule(optimizer)
        plain = plain_step(model, optimizer)

        def step(x, y):
            found = plain(x, y)
            if inside:
                scheduler.step()
            return found

        return step, {**everything(model, optimizer), "scheduler": scheduler}

    compare(make, between=lambda states, k: None if inside or k == 0 else states["scheduler"].step())


def test_a_loss_decides_the_rate_outside():
    def make():
        model = network()
        optimizer = lg.optim.SGD(model.parameters(), lr=0.5)
        scheduler = lg.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        return plain_step(model, optimizer), {**everything(model, optimizer), "scheduler": scheduler}

    compare(make, between=lambda states, k: states["scheduler"].step(1.0))


def test_layers_with_state_and_chance():
    def make():
        model = network(lg.nn.BatchNorm1d(5), lg.nn.Dropout(0.3))
        optimizer = lg.optim.SGD(model.parameters(), lr=0.1)  # others would make much of gradients that are rounding
        return plain_step(model, optimizer), everything(model, optimizer)

    compare(make)


def test_gradients_that_add_up():
    def make():
        model = network()
        optimizer = lg.optim.SGD(model.parameters(), lr=0.01)

        def step(x, y):
            error = lg.nn.functional.mse_loss(model(x), y)
            error.backward()
            optimizer.step()
            return error.detach()

        return step, everything(model, optimizer)

    compare(make)


def test_gradients_set_to_zero_and_clipped():
    def make():
        model = network()
        optimizer = lg.optim.SGD(model.parameters(), lr=0.1)

        def step(x, y):
            optimizer.zero_grad(set_to_none=False)
            error = lg.nn.functional.mse_loss(model(x), y)
            error.backward()
            lg.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            lg.nn.utils.clip_grad_value_(model.parameters(), 0.2)
            optimizer.step()
            return error.detach()

        return step, everything(model, optimizer)

    compare(make)


def test_checkpoints_and_autocast():
    def make():
        model = network()
        optimizer = lg.optim.SGD(model.parameters(), lr=0.1)

        def step(x, y):
            optimizer.zero_grad()
            with lg.autocast("cpu", dtype=lg.bfloat16, enabled=False):
                hidden = lg.utils.checkpoint.checkpoint(model[0], x, use_reentrant=False)
            error = lg.nn.functional.mse_loss(model[2](model[1](hidden)), y)
            error.backward()
            optimizer.step()
            return error.detach()

        return step, everything(model, optimizer)

    compare(make)


def test_chance_inside_checkpoints_runs_as_it_is():
    def make():
        model = network(lg.nn.Dropout(0.5))
        optimizer = lg.optim.SGD(model.parameters(), lr=0.1)

        def step(x, y):
            optimizer.zero_grad()
            out = lg.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
            error = lg.nn.functional.mse_loss(out, y)
            error.backward()
            optimizer.step()
            return error.detach()

        return step, everything(model, optimizer)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(make, hits=0)


def test_gradients_that_others_made():
    """Gradients are those that tensors have at the time of a call, not those of the first one."""
    model = network()
    total = lg.compile(lambda: sum((p.grad**2).sum() for p in model.parameters()))
    clip = lg.compile(lambda: lg.nn.utils.clip_grad_norm_(model.parameters(), 0.1))
    for x, y in batches():
        model.zero_grad()
        lg.nn.functional.mse_loss(model(x), y).backward()
        expected = sum(float((p.grad**2).sum()) for p in model.parameters())
        np.testing.assert_allclose(total().item(), expected, rtol=1e-12)
        np.testing.assert_allclose(clip().item(), expected**0.5, rtol=1e-12)
        np.testing.assert_allclose(total().item(), min(expected, 0.01), rtol=1e-4)
    assert total.cache_info().misses == 1


def test_two_optimisers_and_frozen_parameters():
    def make():
        model = network()
        model[0].bias.requires_grad_(False)
        one = lg.optim.SGD(model[0].parameters(), lr=0.1)
        two = lg.optim.Adam(model[2].parameters(), lr=0.01)

        def step(x, y):
            one.zero_grad()
            two.zero_grad()
            error = lg.nn.functional.mse_loss(model(x), y)
            error.backward()
            one.step()
            two.step()
            return error.detach()

        return step, everything(model, two)

    compare(make)


def test_a_state_that_is_loaded_midway():
    def make():
        model = network()
        optimizer = lg.optim.Adam(model.parameters(), lr=0.01)
        return plain_step(model, optimizer), {**everything(model, optimizer), "saved": {}}

    def between(states, k):
        if k == 2:
            states["saved"] = copy.deepcopy((states["model"].state_dict(), states["optimizer"].state_dict()))
        if k == 4:
            states["model"].load_state_dict(states["saved"][0])
            states["optimizer"].load_state_dict(states["saved"][1])

    compare(make, between=between, hits=3)


def test_states_that_are_replaced_midway():
    def make():
        model = network()
        optimizer = lg.optim.Adam(model.parameters(), lr=0.01)
        return plain_step(model, optimizer), everything(model, optimizer)

    def between(states, k):
        if k in (3, 5):
            state = states["optimizer"].state[states["model"][0].weight]
            state["exp_avg"] = lg.ones_like(state["exp_avg"])

    compare(make, between=between, hits=0)


def test_groups_that_are_added_midway():
    def make():
        model = network()
        optimizer = lg.optim.SGD(model[0].parameters(), lr=0.1)
        return plain_step(model, optimizer), everything(model, optimizer)

    def between(states, k):
        if k == 3:
            states["optimizer"].add_param_group({"params": states["model"][2].parameters(), "lr": 0.3})
        if k == 5:
            states["optimizer"].param_groups[1]["params"].pop()

    compare(make, between=between, hits=0)


def test_a_batch_of_another_size():
    def make():
        model = network()
        optimizer = lg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        return plain_step(model, optimizer), everything(model, optimizer)

    def rounds():
        return [*batches()[:3], *batches(1, size=3)[:2], *batches(2)[:2]]

    compare(make, rounds, hits=3)


def test_hooks_of_steps():
    def make():
        model = network()
        optimizer = lg.optim.SGD(model.parameters(), lr=0.1)
        heard = lg.zeros(1)
        optimizer.register_step_post_hook(lambda *_: heard.add_(1))
        return plain_step(model, optimizer), {"tensors": lambda: [*model.parameters(), heard]}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(make, hits=0)


def test_the_result_may_still_have_its_history():
    """A loss whose graph was used up inside is a plain tensor outside."""
    model = network()
    optimizer = lg.optim.SGD(model.parameters(), lr=0.1)

    @lg.compile
    def step(x, y):
        optimizer.zero_grad()
        error = lg.nn.functional.mse_loss(model(x), y)
        error.backward()
        optimizer.step()
        return error

    found = [step(x, y).item() for x, y in batches()]
    assert step.cache_info().hits >= STEPS - 2 and np.isfinite(found).all()


def test_a_module_compiled_and_trained_outside():
    losses = []
    for compiling in (False, True):
        model = network(lg.nn.Dropout(0.2))
        forward = lg.compile(model) if compiling else model
        optimizer = lg.optim.Adam(model.parameters(), lr=0.01)
        lg.manual_seed(3)
        own = []
        for x, y in batches():
            optimizer.zero_grad()
            error = lg.nn.functional.mse_loss(forward(x), y)
            error.backward()
            optimizer.step()
            own.append(error.item())
        losses.append(own)
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-12)
    assert forward.cache_info().hits >= STEPS - 3
