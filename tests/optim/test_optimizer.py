"""What all optimisers share: groups and their checks, states, hooks, closures, versions, copies."""

import copy
import pickle
import weakref

import numpy as np
import pytest

import lucidgrad as lg

ALL = ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Rprop", "Lion", "Muon"]
OPTIONS = {"SGD": {"momentum": 0.9}, "RMSprop": {"momentum": 0.5, "centered": True}, "Adam": {"amsgrad": True}}


def leaf(*shape, value=1.0):
    return lg.full(shape, value, dtype="float64").requires_grad_()


def give(ps, seed=0):
    rng = np.random.default_rng(seed)
    for p in ps:
        p.grad = lg.tensor(rng.normal(size=p.shape))


def made(name, ps, **more):
    return getattr(lg.optim, name)(ps, **{"lr": 0.05, **OPTIONS.get(name, {}), **more})


# -- groups ------------------------------------------------------------------------------------------
def test_groups_take_defaults():
    a, b = leaf(2), leaf(3)
    optimiser = lg.optim.SGD([{"params": a}, {"params": [b], "lr": 0.5}], lr=0.1, momentum=0.9)
    assert [group["lr"] for group in optimiser.param_groups] == [0.1, 0.5]
    assert [group["momentum"] for group in optimiser.param_groups] == [0.9, 0.9]
    optimiser.add_param_group({"params": leaf(1), "momentum": 0.0})
    assert optimiser.param_groups[2]["momentum"] == 0.0 and optimiser.param_groups[2]["lr"] == 0.1
    assert "momentum: 0.9" in repr(optimiser) and repr(optimiser).startswith("SGD (")


def test_named_parameters():
    a, b = leaf(2), leaf(3)
    optimiser = lg.optim.Adam([("a", a), ("b", b)])
    assert optimiser.param_groups[0]["params"] == [a, b] and optimiser.param_groups[0]["param_names"] == ["a", "b"]
    state = optimiser.state_dict()
    assert state["param_groups"][0]["param_names"] == ["a", "b"]
    other = lg.optim.Adam([("c", a), ("d", b)])
    other.load_state_dict(state)
    assert other.param_groups[0]["param_names"] == ["a", "b"]
    with pytest.raises(ValueError, match="with/without names"):
        optimiser.add_param_group({"params": [leaf(1)]})
    with pytest.raises(ValueError, match="names are missing"):
        lg.optim.Adam([("a", a), b])


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        (lambda: lg.ones(2, requires_grad=True), TypeError, "iterable of Tensors or dicts"),
        (list, ValueError, "empty parameter list"),
        (lambda: [1.0], TypeError, "can only optimize Tensors"),
        (lambda: [leaf(2) * 2], ValueError, "non-leaf"),
        (lambda: [{"params": {leaf(2)}}], TypeError, "ordered collections"),
        (lambda: [{"params": []}, 3], TypeError, "must be a dict"),
    ],
)
def test_parameters_that_are_refused(params, error, match):
    with pytest.raises(error, match=match):
        lg.optim.SGD(params(), lr=0.1)


def test_groups_that_are_refused_change_nothing():
    a = leaf(2)
    optimiser = lg.optim.SGD([a], lr=0.1)
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimiser.add_param_group({"params": [a]})
    with pytest.raises(ValueError, match="non-leaf"):
        optimiser.add_param_group({"params": [a * 1]})
    assert len(optimiser.param_groups) == 1
    with pytest.warns(UserWarning, match="duplicate"):
        lg.optim.SGD([a, a], lr=0.1)


def test_settings_without_a_default():
    from lucidgrad.optim.optimizer import required

    class Needy(lg.optim.Optimizer):
        pass

    with pytest.raises(ValueError, match="required optimization parameter lr"):
        Needy([leaf(1)], {"lr": required})
    with pytest.raises(TypeError, match="has no step"):
        Needy([leaf(1)], {}).step()


def test_muon_takes_matrices():
    for bad in (leaf(3), leaf(2, 2, 2)):
        with pytest.raises(ValueError, match="2D"):
            lg.optim.Muon([bad])
    optimiser = lg.optim.Muon([leaf(2, 3)])
    with pytest.raises(ValueError, match="2D"):
        optimiser.add_param_group({"params": [leaf(3)]})
    assert len(optimiser.param_groups) == 1


def test_lbfgs_has_one_group():
    with pytest.raises(ValueError, match="parameter groups"):
        lg.optim.LBFGS([{"params": [leaf(1)]}, {"params": [leaf(1)]}])
    x = leaf(1)

    def closure():
        x.grad = None
        (x * x).sum().backward()
        return (x * x).sum()

    with pytest.raises(RuntimeError, match="strong_wolfe"):
        lg.optim.LBFGS([x], line_search_fn="other").step(closure)


# -- steps -------------------------------------------------------------------------------------------
def test_zero_grad():
    a, b = leaf(2), leaf(3)
    optimiser = lg.optim.SGD([a, b], lr=0.1)
    give([a])
    kept = a.grad
    optimiser.zero_grad(set_to_none=False)
    assert a.grad.tolist() == [0, 0] and kept.tolist() == [0, 0] and b.grad is None
    optimiser.zero_grad()
    assert a.grad is None


def test_parameters_without_gradient_stay():
    a, b = leaf(2), leaf(3)
    optimiser = lg.optim.Adam([a, b], lr=0.1)
    give([a])
    optimiser.step()
    assert b.tolist() == [1, 1, 1] and b not in optimiser.state and optimiser.state[a]["step"] == 1


@pytest.mark.parametrize("name", ALL)
def test_closures(name):
    p = leaf(2, 2, value=3.0)
    optimiser = made(name, [p])

    def closure():
        assert lg.is_grad_enabled()
        optimiser.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with lg.no_grad():
        losses = [optimiser.step(closure).item() for _ in range(5)]
    assert losses[0] == 36 and losses[-1] < 36


@pytest.mark.parametrize("name", ALL)
def test_a_graph_from_before_the_step_is_noticed(name):
    p = leaf(2, 2)
    y = (p * p).sum()
    give([p])
    made(name, [p]).step()
    assert p.is_leaf and p.requires_grad and p._version == 1
    with pytest.raises(RuntimeError, match="modified by an in-place operation"):
        y.backward()


@pytest.mark.parametrize("name", ALL)
def test_memory_is_written_in_place_and_gradients_are_not(name):
    p = leaf(3, 2)
    optimiser = made(name, [p])
    array = p.array
    for seed in range(3):
        give([p], seed)
        before = p.grad.numpy().copy()
        optimiser.step()
        assert p.array is array and (p.grad.numpy() == before).all()
    assert p._version == 3


@pytest.mark.parametrize("name", ALL)
def test_gradients_are_not_kept_alive(name):
    p = leaf(3, 2)
    optimiser = made(name, [p])
    for seed in range(3):
        give([p], seed)
        optimiser.step()
        gone = weakref.ref(p.grad)
        optimiser.zero_grad()
        assert gone() is None


def test_new_memory_is_found():
    p = leaf(3)
    optimiser = made("Adam", [p])
    for k in range(4):
        give([p], k)
        if k == 2:
            p.data = p.detach().clone()
            optimiser.state[p]["exp_avg"] = optimiser.state[p]["exp_avg"].clone()
        optimiser.step()
    other = leaf(3)
    expected = made("Adam", [other])
    for k in range(4):
        give([other], k)
        expected.step()
    assert p.tolist() == other.tolist()


def test_states_may_be_cleared_or_exchanged():
    p = leaf(2)
    optimiser = made("Adam", [p])
    for k in range(3):
        give([p], k)
        optimiser.step()
    optimiser.state.clear()
    optimiser.step()
    assert optimiser.state[p]["step"] == 1
    optimiser.state[p] = {**optimiser.state[p], "step": 7}
    optimiser.step()
    assert optimiser.state[p]["step"] == 8


def test_parameters_may_come_and_go():
    """The numbers of steps are each parameter's own."""
    a, b = leaf(2), leaf(2)
    optimiser = made("Adam", [a, b])
    for k, has in enumerate(([a, b], [a], [b], [a, b], [a, b], [a])):
        a.grad = b.grad = None
        give(has, k)
        optimiser.step()
    assert (optimiser.state[a]["step"], optimiser.state[b]["step"]) == (5, 4)
    alone = leaf(2)
    single = made("Adam", [alone])
    for k in (0, 2, 3, 4):
        give([leaf(2), alone] if k in (0, 3, 4) else [alone], k)
        single.step()
    assert alone.tolist() == b.tolist()


def test_read_only_memory_is_refused():
    array = np.ones(3)
    array.flags.writeable = False
    p = lg.from_numpy(array).requires_grad_()
    give([p])
    optimiser = lg.optim.Adam([p])
    with pytest.raises(RuntimeError, match="can't be written"):
        optimiser.step()
    assert not optimiser.state


def test_learning_rates_may_be_tensors():
    p, q = leaf(2), leaf(2)
    rate = lg.tensor(0.1, dtype="float64")
    one, two = lg.optim.AdamW([p], lr=rate), lg.optim.AdamW([q], lr=0.1)
    for k in range(3):
        give([p], k), give([q], k)
        one.step(), two.step()
    assert p.tolist() == q.tolist()
    scheduler = lg.optim.lr_scheduler.ExponentialLR(one, 0.5)
    scheduler.step()
    assert one.param_groups[0]["lr"] is rate and rate.item() == pytest.approx(0.05)
    with pytest.raises(ValueError, match="1-element"):
        lg.optim.SGD([p], lr=lg.ones(2))


# -- gradients of steps ------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [name for name in ALL if name != "Muon"])
def test_steps_can_be_recorded(name):
    """The derivative of what two steps lead to, with respect to the start, is that of finite differences."""

    def after(start):
        p = start * 1.0
        optimiser = made(name, [p], differentiable=True)
        for _ in range(2):
            (p.grad,) = lg.autograd.grad((p.clone() ** 4).sum(), p, create_graph=True)
            optimiser.step()
        return (p * lg.tensor([1.0, 2.0, 3.0], dtype="float64")).sum()

    start = lg.tensor([0.5, -1.0, 2.0], dtype="float64", requires_grad=True)
    (found,) = lg.autograd.grad(after(start), start)
    for k in range(3):
        shift = lg.zeros(3, dtype="float64")
        shift[k] = 1e-6
        expected = (
            after(start.detach().requires_grad_() + shift) - after(start.detach().requires_grad_() - shift)
        ).item()
        assert found[k].item() == pytest.approx(expected / 2e-6, rel=1e-5, abs=1e-7)


def test_the_gradient_of_a_learning_rate():
    rate = lg.tensor(0.1, dtype="float64", requires_grad=True)
    p = leaf(2, value=3.0) * 1.0
    optimiser = lg.optim.SGD([p], lr=rate, differentiable=True)
    p.grad = lg.tensor([1.0, 2.0], dtype="float64")
    optimiser.step()
    assert lg.autograd.grad(p.sum(), rate)[0].item() == pytest.approx(-3.0)


# -- states ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("way", ["state_dict", "pickle", "deepcopy"])
def test_training_resumes_to_the_last_bit(name, way):
    def run(optimiser, ps, seeds):
        for seed in seeds:
            give(ps, seed)
            optimiser.step()

    ps = [leaf(3, 2), leaf(1, 4, value=2.0)]
    optimiser = made(name, ps)
    run(optimiser, ps, range(4))
    if way == "state_dict":
        copies = [p.detach().clone().requires_grad_() for p in ps]
        resumed = made(name, copies, lr=1.0)
        resumed.load_state_dict(copy.deepcopy(optimiser.state_dict()))
    else:
        resumed = pickle.loads(pickle.dumps(optimiser)) if way == "pickle" else copy.deepcopy(optimiser)
        copies = resumed.param_groups[0]["params"]
        assert copies[0] is not ps[0]
    run(optimiser, ps, range(4, 8)), run(resumed, copies, range(4, 8))
    for p, q in zip(ps, copies, strict=True):
        assert (p.detach().numpy() == q.detach().numpy()).all()


def test_a_loaded_state_is_a_copy():
    p = leaf(2)
    optimiser = made("SGD", [p])
    give([p])
    optimiser.step()
    other = made("SGD", [p])
    other.load_state_dict(optimiser.state_dict())
    other.step()
    assert optimiser.state[p]["momentum_buffer"].tolist() != other.state[p]["momentum_buffer"].tolist()


def bad_states(good):
    yield ValueError, "number of parameter groups", {**good, "param_groups": good["param_groups"] * 2}
    group = {**good["param_groups"][0], "params": [0]}
    yield ValueError, "match the size", {**good, "param_groups": [group]}
    shapes = {**good["state"], 1: {**good["state"][1], "exp_avg": lg.ones(7)}}
    yield ValueError, "shape", {**good, "state": shapes}
    yield KeyError, "param_groups", {"state": good["state"]}
    yield KeyError, "state", {"param_groups": good["param_groups"]}


def test_bad_states_change_nothing():
    ps = [leaf(3), leaf(2)]
    optimiser = made("Adam", ps)
    give(ps)
    optimiser.step()
    before = copy.deepcopy(optimiser.state_dict())
    for error, match, state in bad_states(optimiser.state_dict()):
        with pytest.raises(error, match=match):
            optimiser.load_state_dict(state)
        after = optimiser.state_dict()
        assert after["param_groups"] == before["param_groups"]
        for k, entry in before["state"].items():
            assert entry["step"] == after["state"][k]["step"]
            assert entry["exp_avg"].tolist() == after["state"][k]["exp_avg"].tolist()


def test_a_state_on_another_device_is_told_and_can_be_moved():
    layer = lg.nn.Linear(2, 1)
    optimiser = lg.optim.SGD(layer.parameters(), lr=0.5, momentum=0.5)
    layer(lg.ones(1, 2)).sum().backward()
    optimiser.step()
    layer.to("cuda:0")
    before = layer.weight.detach().cpu().tolist()
    with pytest.raises(RuntimeError, match="parameter on cuda:0 with a gradient or state on cpu.*load_state_dict"):
        optimiser.step()
    assert layer.weight.detach().cpu().tolist() == before
    optimiser.load_state_dict(optimiser.state_dict())
    optimiser.step()
    np.testing.assert_allclose(layer.weight.detach().cpu().numpy(), np.array(before) - 0.75, rtol=1e-6)


def test_states_take_the_parameters_dtype():
    p = leaf(2)
    optimiser = made("Adam", [p])
    give([p])
    optimiser.step()
    single = lg.ones(2, requires_grad=True)
    other = made("Adam", [single])
    state = optimiser.state_dict()
    state["state"][0]["step"] = lg.tensor(1.0)  # as PyTorch has it
    other.load_state_dict(state)
    assert other.state[single]["exp_avg"].dtype == lg.float32 and other.state[single]["step"] == 1
    single.grad = lg.ones(2)
    other.step()


# -- hooks -------------------------------------------------------------------------------------------
def test_hooks_around_steps():
    p = leaf(2)
    optimiser, seen = made("SGD", [p]), []
    give([p])
    handles = [
        optimiser.register_step_pre_hook(lambda o, args, kwargs: seen.append(("pre", o is optimiser, args[0] is o))),
        optimiser.register_step_post_hook(lambda o, args, kwargs: seen.append(("post", p._version))),
        lg.optim.register_optimizer_step_pre_hook(lambda o, args, kwargs: seen.append("all, pre")),
        lg.optim.register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append("all, post")),
    ]
    optimiser.step()
    assert seen == ["all, pre", ("pre", True, True), ("post", 1), "all, post"]
    for handle in handles:
        handle.remove()
    optimiser.step()
    assert len(seen) == 4
    optimiser.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: "changed"), {}))
    assert optimiser.step() == "changed"
    optimiser.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="returned int"):
        optimiser.step()


def test_hooks_around_states():
    p = leaf(2)
    optimiser, seen = made("SGD", [p]), []
    optimiser.register_state_dict_pre_hook(lambda o: seen.append("before"))
    optimiser.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
    optimiser.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    state = optimiser.state_dict()
    assert seen == ["first", "before"] and state["more"] == 1
    optimiser.register_load_state_dict_pre_hook(lambda o, state: seen.append(state.pop("more")))
    optimiser.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    optimiser.load_state_dict(state)
    assert seen[2:] == [1, "loaded"] and "more" in state


def test_steps_of_subclasses_have_hooks():
    class Plain(lg.optim.Optimizer):
        def step(self, closure=None):
            return "stepped"

    optimiser, seen = Plain([leaf(1)], {}), []
    optimiser.register_step_post_hook(lambda *_: seen.append(1))
    assert optimiser.step() == "stepped" and seen == [1]


# -- schedulers, without PyTorch ---------------------------------------------------------------------
def test_the_order_of_calls():
    optimiser = made("SGD", [leaf(1)])
    scheduler = lg.optim.lr_scheduler.StepLR(optimiser, 2)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        scheduler.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()
    with pytest.raises(TypeError, match="not an Optimizer"):
        lg.optim.lr_scheduler.StepLR(3, 2)
    with pytest.raises(KeyError, match="initial_lr"):
        lg.optim.lr_scheduler.StepLR(made("SGD", [leaf(1)]), 2, last_epoch=3)


def test_plain_curves():
    s = lg.optim.lr_scheduler

    def curve(make, steps=6):
        optimiser = lg.optim.SGD([leaf(1)], lr=1.0, momentum=0.9)
        scheduler, found = make(optimiser), [optimiser.param_groups[0]["lr"]]
        for _ in range(steps):
            optimiser.step()
            scheduler.step()
            found.append(scheduler.get_last_lr()[0])
        return found

    cosine = [(1 + np.cos(np.pi * n / 4)) / 2 for n in range(7)]
    assert curve(lambda o: s.StepLR(o, 2, 0.5)) == [1, 1, 0.5, 0.5, 0.25, 0.25, 0.125]
    assert curve(lambda o: s.MultiStepLR(o, [1, 4], 0.5)) == [1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25]
    assert curve(lambda o: s.LambdaLR(o, lambda n: 1 / (n + 1))) == pytest.approx([1 / (n + 1) for n in range(7)])
    assert curve(lambda o: s.ExponentialLR(o, 0.5)) == [0.5**n for n in range(7)]
    assert curve(lambda o: s.CosineAnnealingLR(o, 4)) == pytest.approx(cosine, abs=1e-12)
    assert curve(lambda o: s.CosineAnnealingWarmRestarts(o, 4)) == pytest.approx(cosine[:4] + cosine[:3])
    assert curve(lambda o: s.LinearLR(o, 0.5, total_iters=2)) == pytest.approx([0.5, 0.75, 1, 1, 1, 1, 1])
    assert curve(lambda o: s.PolynomialLR(o, 4)) == pytest.approx([1, 0.75, 0.5, 0.25, 0, 0, 0])
    peak = curve(lambda o: s.OneCycleLR(o, 1.0, total_steps=7, pct_start=0.5, anneal_strategy="linear"))
    assert peak[0] == 1 / 25 and max(peak) < 1.01 and peak[-1] == pytest.approx(1 / 25e4)


def test_other_parameters_and_states_for_a_while():
    def stepped(params, count):
        optimiser = lg.optim.Adam(params, lr=0.1)
        for _ in range(count):
            for p in params:
                p.grad = p.detach() + 1
            optimiser.step()
        return optimiser

    values = [lg.tensor([1.0, 2.0], dtype="float64"), lg.tensor(3.0, dtype="float64")]
    own, other, expected = ([v.clone().requires_grad_() for v in values] for _ in range(3))
    optimiser, source = stepped(own, 3), stepped(other, 1)
    stepped(expected, 2)
    before = [p.detach().clone() for p in own]
    state, groups = source.state_dict(), [dict(group) for group in optimiser.param_groups]
    with lg.optim.swap_in_optimizer_params_and_state(optimiser, dict(zip("ab", other, strict=True)), state):
        for p in other:
            p.grad = p.detach() + 1
        optimiser.step()
    assert [p.tolist() for p in other] == [p.tolist() for p in expected]
    assert [entry["step"] for entry in state["state"].values()] == [2, 2]
    assert all((a == b).all() for a, b in zip(own, before, strict=True)) and optimiser.param_groups == groups
    assert {entry["step"] for entry in optimiser.state.values()} == {3}
    for params, wrong in (
        ({"a": other[0]}, state),
        ({"a": other[0], "b": other[1]}, {"state": {}, "param_groups": []}),
        ({"a": other[0], "b": other[1]}, {**state, "state": {7: {}}}),
    ):
        with (
            pytest.raises(RuntimeError, match="given"),
            lg.optim.swap_in_optimizer_params_and_state(optimiser, params, wrong),
        ):
            pass
    with (
        pytest.raises(RuntimeError, match="taken a step"),
        lg.optim.swap_in_optimizer_params_and_state(lg.optim.Adam(own), {}, state),
    ):
        pass


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Lion", "RMSprop", "Adagrad", "Adadelta", "Rprop", "NAdam"])
def test_parameters_without_axes(name):
    """A gradient that is a sum over everything is an array, as any other, and a step can be taken with it."""
    w, same = (lg.nn.Parameter(lg.full(shape, 1.5, dtype="float64")) for shape in ((), (1,)))
    x = lg.arange(6.0).to("float64").reshape(2, 3)
    for p in (w, same):
        optimiser = getattr(lg.optim, name)([p], lr=0.1)
        for _ in range(3):
            optimiser.zero_grad()
            ((x * p) ** 2).mean().backward()
            assert type(p.grad.array) is type(p.array) and p.grad.shape == p.shape
            optimiser.step()
    assert w.item() == same.item() != 1.5
