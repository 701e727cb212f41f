"""`GradScaler` on CUDA: steps that overflowed are left out by the device itself, in CUDA graphs, too."""

import copy
import itertools
from pathlib import Path

import numpy as np
import pytest
from counted import assert_one_launch, counting
from thoroughness import cases

import lucidgrad as lg
from lucidgrad.backends import cudasim

pytestmark = pytest.mark.cuda

#: Optimisers that keep all that they note on the device, with what makes them do so.
OPTIMISERS = {
    "Adam": dict(capturable=True),
    "AdamW": dict(capturable=True, weight_decay=0.1, amsgrad=True),
    "Adamax": dict(capturable=True),
    "NAdam": dict(capturable=True),
    "RMSprop": dict(capturable=True, momentum=0.5),
    "Adadelta": dict(capturable=True),
    "Rprop": dict(capturable=True),
    "RAdam": dict(capturable=True, betas=(0.9, 0.9)),  # which divides by the mean square from the sixth step on
    "ASGD": dict(capturable=True, lambd=0.1, alpha=0.5, t0=3),  # whose mean begins after the third
    "SGD": dict(momentum=0.9, dampening=0.1),
    "Lion": {},
}
SOME = cases(("Adam", "NAdam", "Rprop", "RAdam", "ASGD", "SGD"), tuple(OPTIMISERS))
STEPS, OVERFLOWS, AS_IT_IS = 12, (0, 3, 4, 9), 6  # of a graph's steps one is taken as it is


def numbers(*shape, seed=0):
    return lg.asarray(np.random.default_rng(seed).normal(size=shape).astype("float32"), device="cuda")


class Training:
    """Steps with a scaler, whose gradients overflow now and then."""

    def __init__(self, name, **settings):
        lg.manual_seed(3)
        self.model = lg.nn.Sequential(lg.nn.Linear(4, 8), lg.nn.Tanh(), lg.nn.Linear(8, 2)).to("cuda")
        self.optimizer = getattr(lg.optim, name)(self.model.parameters(), **settings)
        self.scaler = lg.GradScaler("cuda", init_scale=8.0, growth_interval=2)
        self.x = numbers(5, 4)

    def give(self, k):
        self.x.copy_(numbers(5, 4, seed=k))
        if k in OVERFLOWS:
            self.x[1, 2] = float("inf")
        self.optimizer.param_groups[0]["lr"] = 0.01 * (k + 1)

    def step(self):
        self.optimizer.zero_grad()
        self.scaler.scale((self.model(self.x) ** 2).sum()).backward()
        self.scaler.unscale_(self.optimizer)
        lg.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def now(self):
        """Scale, number of steps, parameters and states, read from the device."""
        states = [self.optimizer.state.get(p, {}) for p in self.model.parameters()]
        kept = [
            v.detach().cpu().numpy().copy() for s in states for v in s.values() if isinstance(v, lg.Tensor) and v.ndim
        ]
        parameters = [p.detach().cpu().numpy().copy() for p in self.model.parameters()]
        return self.scaler.get_scale(), [float(s.get("step", 0)) for s in states], parameters + kept


def assert_same(found, expected):
    assert found[:2] == expected[:2]
    for a, b in zip(found[2], expected[2], strict=True):
        if cudasim.is_installed():
            np.testing.assert_array_equal(a, b)
        else:  # powers of the device are not the host's to the last bit
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


@pytest.fixture(scope="module")
def read():
    """By optimiser, what a program that asks the device before every step comes to, step by step."""
    made = {}

    def history(name):
        if name not in made:
            settings = {k: v for k, v in OPTIMISERS[name].items() if k != "capturable"}
            training, found = Training(name, **settings), []
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(lg.optim.elementwise.Elementwise, "_step_supports_amp_scaling", False)
                for k in range(STEPS):
                    training.give(k)
                    training.step()
                    found.append(training.now())
            made[name] = found
        return made[name]

    return history


@pytest.mark.parametrize("name", SOME)
def test_a_step_is_left_out_where_it_overflowed_and_nobody_asks(name, read):
    training = Training(name, **OPTIMISERS[name])
    for k, expected in enumerate(read(name)):
        training.give(k)
        with counting() as counts:
            training.step()
        if k > 1:  # the first that is taken makes the states
            assert counts is None or counts.synchronisations == counts.copies_to_host == 0
        assert_same(training.now(), expected)
    assert training.scaler.get_scale() == 8 and STEPS - len(OVERFLOWS) == 8


@pytest.mark.parametrize("name", SOME)
def test_the_same_in_a_graph(name, read):
    training, g = Training(name, **OPTIMISERS[name]), lg.cuda.CUDAGraph()
    for k, expected in enumerate(read(name)):
        training.give(k)
        if k == 2:
            with lg.cuda.graph(g):
                training.step()
        if k < 2 or k == AS_IT_IS:
            training.step()
        else:
            with counting() as counts:
                g.replay()
            assert_one_launch(counts)
        assert_same(training.now(), expected)


def test_the_same_in_a_program(read):
    training = Training("Adam", **OPTIMISERS["Adam"])
    run = lg.compile(training.step)
    for k, expected in enumerate(read("Adam")):
        training.give(k)
        with counting() as counts:
            run()
        if k > 6:
            assert counts is None or counts.synchronisations == counts.copies_to_host == 0
        found = training.now()
        assert found[:2] == expected[:2]
        for a, b in zip(found[2], expected[2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)  # the program's sums are in another order
    assert run.cache_info().eager == 0, run.cache_info()


def test_what_asks_the_device_names_itself():
    for name in ("Adam", "ASGD"):
        training, g = Training(name), lg.cuda.CUDAGraph()
        training.step()
        with pytest.raises(RuntimeError, match=f"a step of {name} is taken; .*capturable=True"), lg.cuda.graph(g):
            training.step()
        with pytest.raises(RuntimeError, match="nothing was recorded"):
            g.replay()
    training = Training("Adam", capturable=True)
    with pytest.raises(RuntimeError, match=r"GradScaler.scale is called for the first time"), lg.cuda.graph(g):
        training.step()
    training.optimizer.zero_grad()
    training.scaler.scale((training.model(training.x) ** 2).sum()).backward()
    with pytest.raises(RuntimeError, match="take a step before the recording"), lg.cuda.graph(g):
        training.scaler.step(training.optimizer)


def test_steps_that_are_counted_on_the_device_are_the_usual_ones():
    """Without a scaler: parameters that begin later, that pause, groups, states that are saved, loaded and moved."""
    found = []
    for capturable in (False, True):
        a, b, c = (numbers(3, seed=k).requires_grad_() for k in range(3))
        groups = [{"params": [a, b]}, {"params": [c], "lr": 0.1}]
        optimizer = lg.optim.Adam(groups, lr=0.01, capturable=capturable)
        for k in range(12):
            optimizer.zero_grad()
            use = [a, c] if k < 2 else [b] if k in (4, 7) else [a, b, c]
            sum((x**2).sum() * (k + 1) for x in use).backward()
            optimizer.step()
            if k == 5:
                saved = copy.deepcopy(optimizer.state_dict())
                optimizer = lg.optim.Adam([{"params": [a, b]}, {"params": [c]}], capturable=not capturable)
                optimizer.load_state_dict(saved)
                optimizer.param_groups[0]["capturable"] = capturable
            if k == 9:
                optimizer.param_groups[1]["capturable"] = not capturable
        steps = [float(optimizer.state[x]["step"]) for x in (a, b, c)]
        found.append((steps, [x.tolist() for x in (a, b, c)]))
    assert found[0] == found[1]
    assert found[0][0] == [10, 10, 10]


def test_counts_go_to_pytorch_and_back(tmp_path):
    p = numbers(3).requires_grad_()
    optimizer = lg.optim.NAdam([p], capturable=True)
    for _ in range(3):
        p.grad = lg.ones_like(p).detach()
        optimizer.step()
    path = Path(tmp_path) / "state"
    lg.save(optimizer.state_dict(), path)
    state = lg.load(path)["state"][0]
    assert state["step"].item() == 3 and state["step"].ndim == 0
    other = lg.optim.NAdam([p])
    other.load_state_dict(optimizer.state_dict())
    assert other.state[p]["step"] == 3 and isinstance(other.state[p]["mu_product"], float)


@pytest.mark.parametrize("name", [name for name, settings in OPTIMISERS.items() if "capturable" in settings])
def test_capturable_means_nothing_on_the_cpu(name):
    found = []
    for capturable in (False, True):
        p = lg.ones(3, requires_grad=True)
        optimizer = getattr(lg.optim, name)([p], **(OPTIMISERS[name] | {"capturable": capturable}))
        for k in range(8):
            p.grad = lg.tensor([1.0, 0.0, -float(k)])
            optimizer.step()
        assert optimizer.state[p]["step"] == 8 and type(optimizer.state[p]["step"]) is int
        found.append(p.tolist())
    assert found[0] == found[1]


def test_a_graph_notices_other_gradients():
    a, b = (numbers(3, seed=k).requires_grad_() for k in range(2))
    optimizer = lg.optim.Adam([a, b], capturable=True)

    def step(*use):
        optimizer.zero_grad()
        sum((x**2).sum() for x in use).backward()
        optimizer.step()

    step(a, b)
    with pytest.raises(RuntimeError, match="other ones have gradients"), lg.cuda.graph(lg.cuda.CUDAGraph()):
        step(a)
    step(a)
    g = lg.cuda.CUDAGraph()
    with lg.cuda.graph(g):
        step(a)
    for _ in range(2):
        g.replay()
    assert [optimizer.state[x]["step"].item() for x in (a, b)] == [4, 1]


def test_pytorchs_own_names_reach_an_optimiser():
    class Own:
        _step_supports_amp_scaling = True

        def __init__(self, p):
            self.param_groups, self.seen = [{"params": [p]}], []

        def step(self):
            self.seen.append((self.grad_scale, self.found_inf.item()))

    p = numbers(2).requires_grad_()
    own, scaler = Own(p), lg.GradScaler("cuda", init_scale=4.0)
    for value in (1.0, float("nan")):
        scaler.scale(lg.ones((), device="cuda"))
        p.grad = lg.full((2,), value, device="cuda")
        scaler.step(own)
        scaler.update()
    assert own.seen == [(None, False), (None, True)]
    assert not hasattr(own, "found_inf")


@pytest.mark.parametrize("dtype", ["float16", "float64", "complex64"])
def test_dtypes(dtype):
    """All kinds of memory: the kernels, pairs of real numbers, and what is out of order."""
    ends = []
    for capturable in (False, True):
        start = numbers(3, 4).to(getattr(lg, dtype))
        ps = [start.clone().requires_grad_(), start.clone().T.requires_grad_()]
        optimizer = lg.optim.Adam(ps, lr=0.1, capturable=capturable)
        for k in range(4):
            for p in ps:
                p.grad = lg.full_like(p.detach(), 0.5 + k)
            if k and capturable:
                optimizer.found_inf = lg.full((), k == 2, dtype=lg.bool, device="cuda")
            if k != 2 or capturable:
                optimizer.step()
        ends.append([p.detach().cpu().numpy() for p in ps])
        assert {float(s["step"]) for s in optimizer.state.values()} == {3}
    for a, b in zip(*ends, strict=True):
        np.testing.assert_array_equal(a, b)


def test_programs_without_a_kernel():
    """A step that can't be traced, and settings that are tensors: operation by operation, and left out as well."""
    from lucidgrad.ops.steps import Step

    step = Step("averaging", lambda xp, p, g, *, lr: (p - lr * g * xp.sum(p),))
    flags = [lg.full((), value, dtype=lg.bool, device="cuda") for value in (False, True)]
    for flag, lr in itertools.product(flags, (0.5, lg.full((), 0.5, device="cuda"))):
        p = lg.ones(2, device="cuda")
        step.take([[p], [lg.ones(2, device="cuda")]], {"lr": lr}, unless=flag)
        assert p.tolist() == ([1.0, 1.0] if flag.item() else [0.0, 0.0])
