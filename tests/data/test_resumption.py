"""Checkpoints: a training that is interrupted, saved and loaded ends as if it had not been."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.utils import data, load_checkpoint, save_checkpoint


class Model:
    """The least that a checkpoint asks of a model."""

    def __init__(self, device="cpu"):
        self.parts = {name: lg.randn(*shape, device=device, requires_grad=True) for name, shape in
                      {"w": (4, 8), "v": (8, 1)}.items()}  # fmt: skip

    def __call__(self, x):
        h = lg.tanh(x @ self.parts["w"])
        kept = lg.bernoulli(lg.full(h.shape, 0.7, device=h.device))
        return (h * kept / 0.7) @ self.parts["v"]

    def state_dict(self):
        return {name: t.detach() for name, t in self.parts.items()}

    def load_state_dict(self, state):
        with lg.no_grad():
            for name, t in self.parts.items():
                t.copy_(state[name].to(t.device))


class Momentum:
    """The least that it asks of an optimiser."""

    def __init__(self, parts):
        self.parts, self.state = list(parts), {}

    def step(self):
        with lg.no_grad():
            for i, t in enumerate(self.parts):
                self.state[i] = t.grad if i not in self.state else 0.9 * self.state[i] + t.grad
                t.sub_(0.05 * self.state[i])
                t.grad = None

    def state_dict(self):
        return {"state": {i: {"m": m} for i, m in self.state.items()}, "lr": 0.05}

    def load_state_dict(self, state):
        self.state = {i: m["m"].to(self.parts[i].device) for i, m in state["state"].items()}


def training(device="cpu", workers=0):
    model = Model(device)
    rows = data.TensorDataset(lg.asarray(np.random.default_rng(0).normal(size=(20, 4)).astype("float32")))
    loader = data.DataLoader(rows, batch_size=3, shuffle=True, num_workers=workers, device=device)
    return model, Momentum(model.parts.values()), loader


def train(model, optimizer, loader, steps, after_half=None):
    """So many steps, through several epochs, beginning where the loader is."""
    half = steps // 2
    while steps:
        for (x,) in loader:
            ((model(x) - x.sum(-1, keepdim=True)) ** 2).mean().backward()
            optimizer.step()
            steps -= 1
            if steps == half and after_half is not None:
                after_half()
            if not steps:
                break


def values(model):
    return [t.numpy(force=True).tolist() for t in model.parts.values()]


@pytest.mark.parametrize(
    ("device", "workers", "k"), [("cpu", 0, 3), ("cpu", 0, 7), ("cpu", 2, 7), ("cpu", 2, 10), ("cuda", 0, 10)]
)
def test_resuming_is_exact(k, device, workers, tmp_path):
    path = tmp_path / "checkpoint"
    lg.manual_seed(11)
    parts = training(device, workers)
    names = dict(zip(("model", "optimizer", "loader"), parts, strict=True))
    train(*parts, 2 * k, lambda: save_checkpoint(path, **names, step=k))
    expected = values(parts[0])

    lg.manual_seed(5)  # a fresh program
    lg.rand(3)
    model, optimizer, loader = training(device, workers)
    assert load_checkpoint(path, model=model, optimizer=optimizer, loader=loader) == {"step": k}
    train(model, optimizer, loader, k)
    assert values(model) == expected


def test_with_nn_and_optim(tmp_path):
    nn, optim = pytest.importorskip("lucidgrad.nn"), pytest.importorskip("lucidgrad.optim")

    def make():
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 1))
        optimizer = optim.Adam(model.parameters(), lr=0.01)
        scheduler = optim.lr_scheduler.StepLR(optimizer, 4, 0.5)
        return model, optimizer, scheduler, training()[2]

    def run(model, optimizer, scheduler, loader, steps, after_half=None):
        half = steps // 2
        while steps:
            for (x,) in loader:
                optimizer.zero_grad()
                ((model(x) - x.sum(-1, keepdim=True)) ** 2).mean().backward()
                optimizer.step()
                scheduler.step()
                steps -= 1
                if steps == half and after_half is not None:
                    after_half()
                if not steps:
                    break

    path = tmp_path / "checkpoint"
    names = ("model", "optimizer", "scheduler", "loader")
    lg.manual_seed(1)
    parts = make()
    run(*parts, 18, lambda: save_checkpoint(path, **dict(zip(names, parts, strict=True)), epoch=1))
    lg.manual_seed(2)
    again = make()
    assert load_checkpoint(path, **dict(zip(names, again, strict=True))) == {"epoch": 1}
    run(*again, 9)
    for a, b in zip(parts[0].state_dict().values(), again[0].state_dict().values(), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


# -- all or nothing ------------------------------------------------------------------------------
class Stubborn(Momentum):
    def load_state_dict(self, state):
        if "lr" in state and self.state == {}:
            self.state = {0: "half done"}
            raise KeyError("bad state")
        super().load_state_dict(state)

    def state_dict(self):
        return {"state": {}, "marker": 1}


def test_a_part_that_fails_leaves_all_as_it_was(tmp_path):
    path = tmp_path / "checkpoint"
    model, optimizer, loader = training()
    train(model, optimizer, loader, 4)
    save_checkpoint(path, model=model, optimizer=optimizer)
    fresh, stubborn = Model(), Stubborn([])
    before, numbers = values(fresh), lg.random.get_rng_state()
    with pytest.raises(KeyError, match="bad state"):
        load_checkpoint(path, model=fresh, optimizer=stubborn)
    assert values(fresh) == before and stubborn.state == {}
    assert lg.random.get_rng_state() == numbers


def test_what_does_not_fit_is_refused_first(tmp_path):
    path = tmp_path / "checkpoint"
    model, optimizer, _ = training()
    save_checkpoint(path, model=model, rng=False)
    other = Model()
    other.parts["w"] = lg.zeros(3, 8)
    with pytest.raises(ValueError, match=r"model\['w'\] was saved with the shape \(4, 8\), expected \(3, 8\)"):
        load_checkpoint(path, model=other)
    other.parts["extra"] = lg.zeros(1)
    with pytest.raises(ValueError, match=r"lacks \['extra'\]"):
        load_checkpoint(path, model=other)
    with pytest.raises(ValueError, match="asked for the state 'optimizer', the file has model"):
        load_checkpoint(path, optimizer=optimizer)
    with pytest.raises(TypeError, match="no load_state_dict"):
        load_checkpoint(path, model=object())
    lg.save({"x": 1}, path)
    with pytest.raises(ValueError, match="not written by save_checkpoint"):
        load_checkpoint(path)


@pytest.mark.parametrize("cut", [10, 200, -1])
def test_a_damaged_checkpoint_changes_nothing(cut, tmp_path):
    path = tmp_path / "checkpoint"
    model = Model()
    save_checkpoint(path, model=model)
    path.write_bytes(path.read_bytes()[:cut])
    fresh = Model()
    before = values(fresh)
    with pytest.raises(lg.files.FileFormatError):
        load_checkpoint(path, model=fresh)
    assert values(fresh) == before


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("MultiStepLR", {"milestones": [2, 3, 3]}),
        ("StepLR", {"step_size": 2}),
        ("LambdaLR", {"lr_lambda": lambda n: 1 / (n + 1)}),
        ("OneCycleLR", {"max_lr": 1.0, "total_steps": 9}),
        ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 2}),
        ("CosineAnnealingWarmRestarts", {"T_0": 3}),
    ],
)
def test_schedules_go_on_from_a_file(name, settings, tmp_path):
    def made():
        optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0, momentum=0.5)
        return optimiser, getattr(lg.optim.lr_scheduler, name)(optimiser, **settings)

    def rates(optimiser, scheduler, count):
        found = []
        for _ in range(count):
            optimiser.step()
            scheduler.step()
            found += scheduler.get_last_lr()
        return found

    optimiser, scheduler = made()
    rates(optimiser, scheduler, 2)
    save_checkpoint(tmp_path / "file", optimiser=optimiser, scheduler=scheduler)
    expected = rates(optimiser, scheduler, 4)
    optimiser, scheduler = made()
    load_checkpoint(tmp_path / "file", optimiser=optimiser, scheduler=scheduler)
    assert rates(optimiser, scheduler, 4) == expected


# -- random numbers ------------------------------------------------------------------------------
def test_states_of_all_generators(tmp_path):
    lg.manual_seed(1)
    lg.rand(3), lg.rand(2, device="cuda")
    state = lg.random.get_rng_state()
    expected = lg.rand(3).tolist(), lg.rand(2, device="cuda").tolist()
    lg.save(state, tmp_path / "state")
    lg.manual_seed(2)
    lg.random.set_rng_state(lg.load(tmp_path / "state"))
    assert (lg.rand(3).tolist(), lg.rand(2, device="cuda").tolist()) == expected
    one = lg.random.get_rng_state("cuda")
    a = lg.rand(2, device="cuda").tolist()
    lg.random.set_rng_state(one, "cuda")
    assert lg.rand(2, device="cuda").tolist() == a


def test_states_that_are_none():
    lg.rand(2)
    before = lg.random.get_rng_state()
    with pytest.raises(TypeError, match="say which device"):
        lg.random.set_rng_state(3)
    for bad in (3, {}, {"bit_generator": "PCG64", "state": {}}, None):
        with pytest.raises(ValueError, match="no state of a generator on cpu"):
            lg.random.set_rng_state({**before, "cpu": bad})
    assert lg.random.get_rng_state() == before
