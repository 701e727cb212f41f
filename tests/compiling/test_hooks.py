"""Hooks that come and go, and what they reach: a program is for the hooks that there were when it was made."""

import warnings

import pytest

import lucidgrad as lg

SCALE = 2.0


def quiet(function):
    return lg.compile(function, options={"warn": False})


def _added(owner, how, hook):
    """(a step that returns a gradient, what adds a hook)"""
    weight = lg.ones(2, requires_grad=True)
    model = lg.nn.Linear(2, 1, bias=False)
    lg.nn.init.ones_(model.weight)
    optimizer = lg.optim.SGD([weight, model.weight], lr=0.5)
    owners = {
        "weight": weight,
        "model": model,
        "optimizer": optimizer,
        "modules": lg.nn.modules.module,
        "optim": lg.optim,
    }

    def step(x):
        weight.grad = None
        (model(weight * x)).sum().backward()
        optimizer.step()
        made = weight.grad.clone()
        with lg.no_grad():
            weight.fill_(1)
            model.weight.fill_(1)
        return made

    return step, lambda: getattr(owners[owner], how)(hook)


def _three_times(gradient):
    return gradient * 3


def _written(weight):
    weight.grad.mul_(3)


def _stepped(optimizer, args, kwargs):
    optimizer.param_groups[0]["params"][0].grad.mul_(3)


CASES = {
    "of a tensor": ("weight", "register_hook", _three_times),
    "that waits for a gradient": ("weight", "register_post_accumulate_grad_hook", _written),
    "of a module": ("model", "register_forward_hook", lambda module, args, y: y * 3),
    "of a module's gradient": ("model", "register_full_backward_hook", lambda module, before, after: (before[0] * 3,)),
    "of all modules": ("modules", "register_module_forward_hook", lambda module, args, y: y * 3),
    "before a step": ("optimizer", "register_step_pre_hook", _stepped),
    "after a step": ("optimizer", "register_step_post_hook", _stepped),
    "of all steps": ("optim", "register_optimizer_step_post_hook", _stepped),
}


@pytest.mark.parametrize("name", CASES)
def test_a_hook_comes_and_goes(name):
    step, add = _added(*CASES[name])
    compiled, x = quiet(step), lg.full((2,), 5.0)
    for _ in range(3):
        assert compiled(x).tolist() == [5, 5]
    hits = compiled.cache_info().hits
    handle = add()
    try:
        for _ in range(3):
            assert compiled(x).tolist() == [15, 15]
    finally:
        handle.remove()
    for _ in range(3):
        assert compiled(x).tolist() == [5, 5]
    assert compiled.cache_info().hits >= hits + 2


@pytest.mark.parametrize("name", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_of_arguments(name):
    def step(w):
        w.grad = None
        (w * 2).sum().backward()
        made, w.grad = w.grad, None
        return made

    plain, hooked = lg.ones(2, requires_grad=True), lg.ones(2, requires_grad=True)
    getattr(hooked, name)(_three_times if name == "register_hook" else _written)
    for first, others in ((plain, 2), (hooked, 6)):
        compiled = quiet(step)
        for _ in range(2):
            assert compiled(first).tolist() == [others] * 2
        assert compiled(hooked).tolist() == [6, 6]
        assert compiled(plain).tolist() == [2, 2]


def test_what_hooks_reach(monkeypatch):
    weight, calls = lg.ones(2, requires_grad=True), []

    def step(x):
        weight.grad = None
        (weight * x).sum().backward()
        return weight.grad.clone()

    handle = weight.register_hook(lambda g: g * SCALE)
    compiled = lg.compile(step)
    for scale in (2.0, 2.0, 3.0, 4.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        assert compiled(lg.ones(2)).tolist() == [scale] * 2
    handle.remove()
    weight.register_hook(lambda g: calls.append(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for count in range(1, 5):
            compiled(lg.ones(2))
            assert len(calls) == count


def test_optimisers_that_hooks_call():
    """The step of each parameter, as soon as its gradient is there."""
    ends = []
    for compiling in (False, True):
        lg.manual_seed(0)
        model = lg.nn.Sequential(lg.nn.Linear(3, 4), lg.nn.Tanh(), lg.nn.Linear(4, 1))
        optimizers = {p: lg.optim.SGD([p], lr=0.1) for p in model.parameters()}

        def finish(p, optimizers=optimizers):
            optimizers[p].step()
            optimizers[p].zero_grad()

        for p in model.parameters():
            p.register_post_accumulate_grad_hook(finish)
        step = lambda x, model=model: model(x).square().mean().backward()
        step = lg.compile(step, fullgraph=True) if compiling else step
        for k in range(5):
            step(lg.full((2, 3), 1.0 + k))
        ends.append([p.detach() for p in model.parameters()])
    assert step.cache_info().hits == 4
    for one, other in zip(*ends, strict=True):
        assert lg.allclose(one, other, rtol=1e-5, atol=1e-6)
