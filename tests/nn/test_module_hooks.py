"""Hooks of modules: around forward, backward and the state; removed during the call; raising."""

import warnings

import numpy as np
import pytest
from golden import peer

import lucidgrad as lg
from lucidgrad import nn


class Add(nn.Module):
    def forward(self, x, y=0):
        return x + y


# -- around forward
def test_pre_hooks_change_the_arguments():
    m, seen = Add(), []
    m.register_forward_pre_hook(lambda module, args: seen.append((module, args)))
    m.register_forward_pre_hook(lambda module, args: args[0] * 2)
    m.register_forward_pre_hook(lambda module, args, kwargs: (args, {"y": 1}), with_kwargs=True)
    assert m(lg.ones(1)).item() == 3
    assert seen[0][0] is m
    m.register_forward_pre_hook(lambda module, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        m(lg.ones(1))


def test_hooks_change_the_result_in_order():
    m = Add()
    m.register_forward_hook(lambda module, args, output: output * 2)
    m.register_forward_hook(lambda module, args, kwargs, output: output + kwargs["y"], with_kwargs=True)
    m.register_forward_hook(lambda module, args, output: output + 10, prepend=True)
    assert m(lg.ones(1), y=5).item() == (1 + 5 + 10) * 2 + 5


def test_removal_and_context():
    m = Add()
    handle = m.register_forward_hook(lambda module, args, output: output * 2)
    with m.register_forward_hook(lambda module, args, output: output + 1):
        assert m(lg.ones(1)).item() == 3
    assert m(lg.ones(1)).item() == 2
    handle.remove()
    handle.remove()
    assert m(lg.ones(1)).item() == 1


@pytest.mark.parametrize("register", ["register_forward_hook", "register_forward_pre_hook"])
def test_hooks_removed_during_the_call(register):
    m, seen, handles = Add(), [], []

    def first(*args):
        seen.append("first")
        for handle in handles:
            handle.remove()

    handles.append(getattr(m, register)(first))
    handles.append(getattr(m, register)(lambda *args: seen.append("second")))
    for _ in range(2):
        m(lg.ones(1))
    assert seen == ["first"]  # the second was removed before its turn


def test_a_hook_added_during_the_call_starts_with_the_next():
    m, seen = Add(), []
    m.register_forward_hook(lambda *args: m.register_forward_hook(lambda *args: seen.append(1)) and None)
    m(lg.ones(1))
    assert seen == []
    m(lg.ones(1))
    assert seen == [1]


def test_always_called_hooks_see_failures():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("forward")

    m, seen = Fails(), []
    m.register_forward_hook(lambda module, args, output: seen.append("plain"))
    m.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    with pytest.raises(ValueError, match="forward"):
        m(lg.ones(1))
    assert seen == [None]

    def fails(module, args, output):
        raise KeyError("hook")

    m.register_forward_hook(fails, always_call=True)
    with pytest.warns(UserWarning, match="silenced"), pytest.raises(ValueError, match="forward"):
        m(lg.ones(1))


@pytest.mark.parametrize("register", ["register_forward_hook", "register_forward_pre_hook"])
def test_a_raising_hook_leaves_the_module_as_it_was(register):
    m = nn.Linear(2, 1)

    def fails(*args):
        raise ValueError("hook")

    handle = getattr(m, register)(fails)
    x = lg.ones(2)
    with pytest.raises(ValueError, match="hook"):
        m(x)
    handle.remove()
    assert lg.is_grad_enabled()
    m(x).sum().backward()
    assert m.bias.grad.tolist() == [1]


# -- around backward
def test_backward_hooks_see_and_change_gradients():
    m, seen = nn.Linear(2, 1), []
    m.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 3,))
    m.register_full_backward_hook(lambda module, gi, go: seen.append((gi[0].tolist(), go[0].tolist())))
    m.register_full_backward_hook(lambda module, gi, go: (gi[0] * 10,))
    x = lg.ones(2, requires_grad=True)
    m(x).sum().backward()
    w = m.weight.detach()[0]
    assert seen == [((w * 3).tolist(), [3.0])]
    np.testing.assert_allclose(x.grad.numpy(), (w * 30).numpy(), rtol=1e-6)
    assert m.bias.grad.tolist() == [3]


def test_inputs_without_gradient_give_none():
    m, seen = nn.Linear(2, 1), []
    m.register_full_backward_hook(lambda module, gi, go: seen.append((gi, go[0].tolist())))
    m(lg.ones(2)).sum().backward()
    assert seen == [((None,), [1.0])]
    m.register_full_backward_hook(lambda module, gi, go: (lg.ones(2),))
    with pytest.raises(RuntimeError, match="no input requires gradient"):
        m(lg.ones(2)).sum().backward()


def test_several_inputs_and_outputs():
    class Swap(nn.Module):
        def forward(self, x, n, y):
            return y * n, x, "text"

    m, seen = Swap(), []
    m.register_full_backward_hook(lambda module, gi, go: seen.append((gi, go)))
    x, y = lg.ones(1, requires_grad=True), lg.ones(1, requires_grad=True)
    a, b, text = m(x, 2, y)
    assert text == "text"
    (a + 5 * b).sum().backward()
    ((gx, none, gy), (ga, gb, nothing)) = seen[0]
    assert (gx.item(), none, gy.item()) == (5, None, 2)
    assert (ga.item(), gb.item(), nothing) == (1, 5, None)
    seen.clear()
    m(x, 2, y)[0].sum().backward()
    assert seen[0][1][1] is None or seen[0][1][1].item() == 0


def test_without_gradients_nothing_is_watched():
    m, seen = nn.Linear(2, 1), []
    m.register_full_backward_hook(lambda *args: seen.append(args))
    with lg.no_grad():
        assert not m(lg.ones(2)).requires_grad
    m.requires_grad_(False)
    assert not m(lg.ones(2)).requires_grad
    assert seen == []


def test_a_wrong_number_of_gradients_is_refused():
    m = nn.Linear(2, 1)
    m.register_full_backward_hook(lambda module, gi, go: (gi[0], gi[0]))
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        m(lg.ones(2, requires_grad=True)).sum().backward()


def test_other_results_are_passed_on_with_a_warning():
    class Dict(nn.Module):
        def forward(self, x):
            return {"x": x}

    m = Dict()
    m.register_full_backward_hook(lambda *args: None)
    with pytest.warns(UserWarning, match="backward hooks"):
        m(lg.ones(1))["x"]


def test_a_raising_backward_hook_leaves_all_clean():
    m, seen = nn.Linear(2, 1), []

    def fails(module, gi, go):
        raise ValueError("hook")

    handle = m.register_full_backward_hook(fails)
    m.register_full_backward_hook(lambda module, gi, go: seen.append(gi[0].tolist()))
    x = lg.ones(2, requires_grad=True)
    y = m(x).sum()
    with pytest.raises(ValueError, match="hook"):
        y.backward(retain_graph=True)
    assert x.grad is None
    assert lg.is_grad_enabled()
    assert seen == []
    handle.remove()
    m.zero_grad()
    y.backward()
    assert seen == [m.weight.tolist()[0]]
    assert x.grad.tolist() == m.weight.tolist()[0]


def test_backward_hooks_removed_during_the_walk():
    m, seen, handles = nn.Linear(2, 1), [], []

    def first(module, gi, go):
        seen.append("first")
        for handle in handles:
            handle.remove()

    handles.append(m.register_full_backward_hook(first))
    handles.append(m.register_full_backward_hook(lambda *args: seen.append("second")))
    x = lg.ones(2, requires_grad=True)
    y = m(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert seen == ["first"]


def test_second_derivatives_pass_through_hooks():
    m = nn.Tanh()
    m.register_full_backward_hook(lambda module, gi, go: (gi[0] * 2,))
    x = lg.tensor([0.3, -0.2], dtype="float64", requires_grad=True)
    (g,) = lg.autograd.grad(m(x).sum(), x, create_graph=True)
    (h,) = lg.autograd.grad(g.sum(), x)
    t = np.tanh([0.3, -0.2])
    np.testing.assert_allclose(g.detach().numpy(), 2 * (1 - t**2))
    np.testing.assert_allclose(h.numpy(), 2 * 2 * -2 * t * (1 - t**2) / 2)


# -- around the state
def test_state_hooks():
    m, seen = nn.Linear(1, 1), []
    m.register_state_dict_pre_hook(lambda module, prefix, keep_vars: seen.append((prefix, keep_vars)))
    m.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.update({prefix + "more": 1}))
    state = nn.Sequential(m).state_dict()
    assert list(state) == ["0.weight", "0.bias", "0.more"]
    assert seen == [("0.", False)]
    m.register_state_dict_post_hook(lambda *args: 3)
    with pytest.raises(RuntimeError, match="must return None"):
        m.state_dict()


def test_load_hooks():
    m, seen = nn.Linear(1, 1), []

    def rename(module, state, prefix, *rest):
        state[prefix + "weight"] = state.pop(prefix + "w")

    m.register_load_state_dict_pre_hook(rename)

    def forgive(module, keys):
        seen.append(module.weight.item())
        keys.missing_keys.clear()

    m.register_load_state_dict_post_hook(forgive)
    given = {"0.w": lg.full((1, 1), 5.0)}
    nn.Sequential(m).load_state_dict(given)  # the missing bias was struck from the list
    assert seen == [5.0]
    assert list(given) == ["0.w"]


def test_a_raising_load_hook_changes_nothing():
    m = nn.Linear(1, 1)
    before = m.weight.item()

    def fails(module, keys):
        assert module.weight.item() == before + 1
        raise ValueError("hook")

    handle = m.register_load_state_dict_post_hook(fails)
    state = {k: v + 1 for k, v in m.state_dict().items()}
    for assign in (False, True):
        with pytest.raises(ValueError, match="hook"):
            m.load_state_dict(state, assign=assign)
        assert m.weight.item() == before
    handle.remove()
    m.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.append("one more"))
    with pytest.raises(RuntimeError, match='"one more"'):
        m.load_state_dict(state)
    assert m.weight.item() == before


# -- beside PyTorch
def _story(nn, tensor):
    """All hooks of a small model, as they are called."""
    told = []
    m = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    state = {"0.weight": [[0.1, 0.2], [0.3, 0.4]], "0.bias": [0.5, 0.6], "2.weight": [[0.7, 0.8]], "2.bias": [0.9]}
    m.load_state_dict({k: tensor(v) for k, v in state.items()})

    def rounded(parts):
        return [None if p is None else np.round(np.asarray(p.tolist()), 5).tolist() for p in parts]

    for name, part in m.named_modules():
        part.register_forward_pre_hook(lambda mod, args, n=name: told.append(("before", n)))
        part.register_forward_hook(lambda mod, args, out, n=name: told.append(("after", n, rounded([out]))))
        part.register_full_backward_pre_hook(lambda mod, go, n=name: told.append(("back", n, rounded(go))))
        part.register_full_backward_hook(lambda mod, gi, go, n=name: told.append(("done", n, rounded(gi), rounded(go))))
    for wants in (True, False):
        x = tensor([[1.0, 2.0]])
        m(x.requires_grad_() if wants else x).sum().backward()
    return told


def test_pytorch_calls_the_same_hooks_in_the_same_order():
    torch = peer("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about an outer module none of whose inputs requires gradients
        assert _story(nn, lg.tensor) == _story(torch.nn, torch.tensor)


# -- for all modules ---------------------------------------------------------------------------------
def _observed(nn, hooks, tensor):
    """What hooks for all modules are called with, in order, while a small network runs."""
    log = []

    def note(what, change=None):
        def hook(module, *given):
            log.append(
                (what, repr(module).partition("(")[0], [tuple(p.shape) for part in given for p in _tensors(part)])
            )
            return change(given) if change is not None and isinstance(module, nn.Tanh) else None

        return hook

    network = nn.Sequential(nn.Linear(2, 2), nn.Tanh()).double()
    with_own = network[1].register_forward_hook(note("own forward"))
    handles = [
        hooks.register_module_forward_pre_hook(note("pre", lambda given: (2 * given[0][0],))),
        hooks.register_module_forward_hook(note("forward", lambda given: 3 * given[1])),
        hooks.register_module_full_backward_pre_hook(note("backward pre", lambda given: (5 * given[0][0],))),
        hooks.register_module_full_backward_hook(note("backward", lambda given: (7 * given[0][0],))),
    ]
    x = tensor([[0.1, 0.2]])
    x.requires_grad_()
    with_values = [p.data.fill_(0.3) for p in network.parameters()]
    y = network(x)
    y.sum().backward()
    for handle in handles:
        handle.remove()
    count = len(log)
    with_own.remove()
    assert network(x).shape == y.shape and len(log) == count and len(with_values) == 2
    return log, y.detach().tolist(), x.grad.tolist()


def _tensors(part):
    return [p for p in (part if isinstance(part, tuple) else (part,)) if hasattr(p, "shape")]


def test_hooks_for_all_modules():
    log, y, g = _observed(nn, nn.modules.module, lambda v: lg.tensor(v, dtype="float64"))
    assert [entry[:2] for entry in log] == [
        ("pre", "Sequential"), ("pre", "Linear"), ("forward", "Linear"), ("pre", "Tanh"), ("forward", "Tanh"),
        ("own forward", "Tanh"), ("forward", "Sequential"), ("backward pre", "Sequential"), ("backward pre", "Tanh"),
        ("backward", "Tanh"), ("backward pre", "Linear"), ("backward", "Linear"), ("backward", "Sequential"),
    ]  # fmt: skip
    h = 2 * (0.3 * 0.3 + 0.3)
    np.testing.assert_allclose(y, [[3 * np.tanh(h)] * 2], rtol=1e-12)
    np.testing.assert_allclose(g, [[2 * 0.3 * 3 * 5 * 7 * 2 * (1 - np.tanh(h) ** 2)] * 2], rtol=1e-12)


def test_hooks_for_all_modules_are_torchs():
    torch = peer("torch")
    ours = _observed(nn, nn.modules.module, lambda v: lg.tensor(v, dtype="float64"))
    theirs = _observed(torch.nn, torch.nn.modules.module, lambda v: torch.tensor(v, dtype=torch.float64))
    assert ours[0] == theirs[0]
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-12)
    np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-12)


def test_hooks_when_a_module_is_given_something():
    hooks, log = nn.modules.module, []

    def note(module, name, value):
        log.append(name)
        return Doubled() if isinstance(value, nn.Tanh) else None

    class Doubled(nn.Module):
        def forward(self, x):
            return 2 * x

    kinds = ("parameter", "buffer", "module")
    handles = [getattr(hooks, f"register_module_{kind}_registration_hook")(note) for kind in kinds]
    try:
        module = nn.Module()
        module.w = nn.Parameter(lg.ones(1))
        module.register_parameter("none", None)
        module.register_buffer("b", lg.ones(1))
        module.b = lg.zeros(1)
        module.layer = nn.Tanh()
        module.w = nn.Parameter(lg.ones(1))
        assert log == ["w", "none", "b", "b", "layer", "w"] and isinstance(module.layer, Doubled)
    finally:
        for handle in handles:
            handle.remove()
    module.late = nn.Parameter(lg.ones(1))
    assert "late" not in log


def test_an_output_hook_for_all_modules_is_called_after_failures():
    called = []
    handle = nn.modules.module.register_module_forward_hook(lambda *given: called.append(1), always_call=True)
    with handle, pytest.raises(RuntimeError):
        nn.Linear(2, 2)(lg.ones(3))
    assert called == [1]
