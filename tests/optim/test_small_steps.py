"""Small steps on the CPU, which C takes while they are alike: the bits of others, whatever changes in between."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import native
from lucidgrad.backends.cpu.compiled import steps
from lucidgrad.backends.cpu.kernels import steps as kernels_steps

STEPS, WHEN = 12, 8


def new_setting(name, value):
    def change(optimizer, params):
        optimizer.param_groups[0][name] = value

    return change


def other_memory(optimizer, params):
    params[0].array = params[0].array.copy()


def fortran_gradient(optimizer, params):
    params[0].grad = lg.asarray(np.asfortranarray(params[0].grad.numpy()))


def strided_gradient(optimizer, params):
    params[1].grad = lg.asarray(np.repeat(params[1].grad.numpy(), 2)[::2])


def no_gradient(optimizer, params):
    params[1].grad = None


def other_states(optimizer, params):
    for state in optimizer.state.values():
        for name, value in state.items():
            if isinstance(value, lg.Tensor):
                state[name] = value * 2


def other_number(optimizer, params):
    for state in list(optimizer.state.values())[:1]:
        if "step" in state:
            state["step"] += 3


def no_states(optimizer, params):
    optimizer.state.clear()


def loaded(optimizer, params):
    optimizer.load_state_dict(optimizer.state_dict())


def fewer_params(optimizer, params):
    optimizer.param_groups[0]["params"].pop()


def another_group(optimizer, params):
    extra = lg.ones(2, requires_grad=True)
    extra.grad = lg.ones(2)
    optimizer.add_param_group({"params": [extra], "lr": 0.5})


CHANGES = {
    "nothing": lambda *_: None,
    "lr": new_setting("lr", 0.25),
    "lr of zero": new_setting("lr", 0.0),
    "lr of minus zero": new_setting("lr", -0.0),
    "lr as an int": new_setting("lr", 1),
    "lr as a tensor": lambda optimizer, _: optimizer.param_groups[0].update(lr=lg.tensor(0.125)),
    "lr of infinity": new_setting("lr", float("inf")),
    "weight_decay": new_setting("weight_decay", 0.1),
    "maximize": new_setting("maximize", True),
    "eps": new_setting("eps", 0.5),
    **{
        change.__name__: change
        for change in (
            *(other_memory, fortran_gradient, strided_gradient, no_gradient, other_states, other_number),
            *(no_states, loaded, fewer_params, another_group),
        )
    },
}
OPTIMISERS = {
    "SGD": lambda params: lg.optim.SGD(params, lr=0.1),
    "momentum": lambda params: lg.optim.SGD(params, lr=0.1, momentum=0.9, nesterov=True),
    "Adam": lambda params: lg.optim.Adam(params, lr=0.1),
    "AMSGrad": lambda params: lg.optim.AdamW(params, lr=0.1, amsgrad=True),
    "ASGD": lambda params: lg.optim.ASGD(params, lr=0.1, t0=2),
}


def trained(make, change):
    source = np.random.default_rng(0)
    params = [lg.asarray(source.standard_normal(shape, np.float32)).requires_grad_() for shape in ((3, 4), (5,), ())]
    optimizer, found = make(list(params)), []
    for i in range(STEPS):
        for p in params:
            p.grad = lg.asarray(source.standard_normal(p.shape, np.float32))
        if i == WHEN:
            change(optimizer, params)
        optimizer.step()
        found.append([p.detach().numpy().tobytes() for p in params])
    states = [v for state in optimizer.state.values() for v in state.values()]
    return found, [v.numpy().tobytes() if isinstance(v, lg.Tensor) else repr(v) for v in states]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", OPTIMISERS)
def test_what_changes_between_steps_counts(name, change, monkeypatch):
    monkeypatch.setattr(kernels_steps.TABLE["elementwise_step"], "_caches", {})
    monkeypatch.setattr(steps, "PATIENCE", 2)
    usual, taken = steps.CompiledStep.again, []

    def again(*args):
        made = usual(*args)
        return made and (lambda *given: taken.append(made(*given)) or taken[-1])

    monkeypatch.setattr(steps.CompiledStep, "again", again)
    in_c = trained(OPTIMISERS[name], CHANGES[change])
    monkeypatch.setattr(steps.CompiledStep, "again", lambda *_: None)
    assert in_c == trained(OPTIMISERS[name], CHANGES[change])
    assert sum(taken) >= STEPS - WHEN or native.parts() is None
