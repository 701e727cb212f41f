"""Every optimiser with its options takes PyTorch's steps, and PyTorch's states load."""

import copy

import numpy as np
import pytest
from golden import peer, thin

import lucidgrad as lg

torch = peer("torch")

SHAPES = [(3,), (4, 5), (), (2, 3, 2), (1, 1)]
COMMON = [{}, {"weight_decay": 0.1}, {"maximize": True}, {"weight_decay": 0.1, "maximize": True}]
DECOUPLED = [{"weight_decay": 0.1, "decoupled_weight_decay": True}]
CASES = {
    "SGD": [
        *COMMON,
        {"momentum": 0.9},
        {"momentum": 0.9, "dampening": 0.3},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"momentum": 0.5, "dampening": 0.5, "maximize": True, "weight_decay": 0.2},
    ],
    "Adam": [*COMMON, *DECOUPLED, {"amsgrad": True}, {"betas": (0.5, 0.6), "eps": 1e-2}, {"betas": (0.0, 0.0)}],
    "AdamW": [*COMMON, {"amsgrad": True, "weight_decay": 0.3}],
    "NAdam": [*COMMON, *DECOUPLED, {"momentum_decay": 0.1}, {"betas": (0.5, 0.6), "eps": 1e-2}],
    "RAdam": [*COMMON, *DECOUPLED, {"betas": (0.5, 0.6), "eps": 1e-2}, {"betas": (0.9, 0.99)}],
    "Adamax": [*COMMON, {"betas": (0.5, 0.6), "eps": 1e-2}],
    "Adagrad": [*COMMON, {"lr_decay": 0.1}, {"initial_accumulator_value": 0.5}, {"eps": 0.1}],
    "Adadelta": [*COMMON, {"rho": 0.5, "eps": 1e-2}],
    "RMSprop": [
        *COMMON,
        {"momentum": 0.9},
        {"centered": True},
        {"centered": True, "momentum": 0.5, "weight_decay": 0.1, "alpha": 0.8},
    ],
    "ASGD": [*COMMON, {"lambd": 0.1, "alpha": 0.5, "t0": 3}],
    "Adafactor": [*COMMON, {"d": 2.0, "beta2_decay": -0.5}, {"eps": (1e-3, 1.0)}, {"eps": (None, 0.0)}],
    "Rprop": [{}, {"maximize": True}, {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.02)}],
}
ALL = [(name, options) for name, some in CASES.items() for options in some]


@pytest.fixture(autouse=True)
def double_precision():
    """PyTorch keeps NAdam's product in the default dtype."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def make(dtype="float64", shapes=SHAPES, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    values = [rng.normal(size=s) + (1j * rng.normal(size=s) if kind == "c" else 0) for s in shapes]
    values = [np.asarray(v, dtype=dtype) for v in values]
    return [lg.tensor(v, requires_grad=True) for v in values], [torch.tensor(v, requires_grad=True) for v in values]


def train(ours, theirs, ps, ts, steps=20, skip=True, seed=1):
    rng = np.random.default_rng(seed)
    for n in range(steps):
        for k, (p, t) in enumerate(zip(ps, ts, strict=True)):
            if skip and k == 1 and n in (0, 5):
                p.grad, t.grad = None, None  # its steps have other numbers
                continue
            g = rng.normal(size=p.shape) * (0.1 if n % 3 else 2.0)
            if np.dtype(str(p.dtype)).kind == "c":
                g = g + 1j * rng.normal(size=p.shape)
            g = np.asarray(g, dtype=str(p.dtype))
            p.grad, t.grad = lg.tensor(g), torch.tensor(g)
        ours.step()
        theirs.step()


def close(ps, ts, tolerance=1e-10, of=lambda x: x):
    for p, t in zip(ps, ts, strict=True):
        found, expected = of(p.detach()).numpy(), of(t.detach()).numpy()
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("name", "options"), ALL)
def test_twenty_steps(name, options):
    ps, ts = make()
    settings = {"lr": 0.05, **options}
    ours, theirs = getattr(lg.optim, name)(ps, **settings), getattr(torch.optim, name)(ts, **settings)
    train(ours, theirs, ps, ts)
    close(ps, ts)
    assert set(ours.state_dict()["state"]) == set(theirs.state_dict()["state"])
    for k, state in theirs.state_dict()["state"].items():
        mine = ours.state_dict()["state"][k]
        assert list(mine) == list(state)
        for key, value in state.items():
            np.testing.assert_allclose(np.asarray(mine[key]), np.asarray(value), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_groups_with_settings_of_their_own(name):
    ps, ts = make()
    cut = [{"params": ps[:2], "lr": 0.2}, {"params": ps[2:], "maximize": True}]
    cut_theirs = [{"params": ts[:2], "lr": 0.2}, {"params": ts[2:], "maximize": True}]
    ours, theirs = getattr(lg.optim, name)(cut, lr=0.01), getattr(torch.optim, name)(cut_theirs, lr=0.01)
    train(ours, theirs, ps, ts)
    close(ps, ts)


@pytest.mark.parametrize("name", CASES)
def test_groups_and_defaults_are_laid_out_alike(name):
    ps, ts = make()
    ours, theirs = getattr(lg.optim, name)(ps), getattr(torch.optim, name)(ts)
    assert ours.defaults == theirs.defaults
    assert list(ours.defaults) == list(theirs.defaults)
    assert ours.state_dict()["param_groups"] == theirs.state_dict()["param_groups"]


@pytest.mark.parametrize(("name", "options"), ALL)
def test_a_state_of_pytorch_goes_on(name, options):
    ps, ts = make()
    settings = {"lr": 0.05, **options}
    ours, theirs = getattr(lg.optim, name)(ps, **settings), getattr(torch.optim, name)(ts, **settings)
    train(ours, theirs, ps, ts, steps=5)
    fresh = [lg.tensor(t.detach().numpy(), requires_grad=True) for t in ts]
    resumed = getattr(lg.optim, name)(fresh, lr=1.0)
    resumed.load_state_dict(copy.deepcopy(theirs.state_dict()))
    train(resumed, theirs, fresh, ts, steps=10, seed=2)
    close(fresh, ts)


@pytest.mark.parametrize("name", CASES)
def test_a_state_of_ours_goes_on_in_pytorch(name):
    ps, ts = make()
    ours, theirs = getattr(lg.optim, name)(ps, lr=0.05), getattr(torch.optim, name)(ts, lr=0.05)
    train(ours, theirs, ps, ts, steps=5)
    state = ours.state_dict()
    state["state"] = {
        k: {name: torch.tensor(v.numpy()) if isinstance(v, lg.Tensor) else v for name, v in entry.items()}
        for k, entry in state["state"].items()
    }
    resumed = getattr(torch.optim, name)(ts, lr=1.0)
    resumed.load_state_dict(state)
    train(ours, resumed, ps, ts, steps=5, seed=2)
    close(ps, ts)


@pytest.mark.parametrize(
    "name", ["SGD", "ASGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "RMSprop", "Rprop"]
)
def test_complex_parameters(name):
    ps, ts = make("complex128")
    ours, theirs = getattr(lg.optim, name)(ps, lr=0.05), getattr(torch.optim, name)(ts, lr=0.05)
    train(ours, theirs, ps, ts)
    close(ps, ts)


@pytest.mark.parametrize("name", CASES)
def test_single_precision(name):
    ps, ts = make("float32", [(64, 3), (7,)])
    ours, theirs = getattr(lg.optim, name)(ps, lr=0.05), getattr(torch.optim, name)(ts, lr=0.05)
    train(ours, theirs, ps, ts)
    close(ps, ts, 1e-4)


@pytest.mark.parametrize("name", CASES)
def test_large_tensors_in_any_layout(name):
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(300, 150)), rng.normal(size=(150, 300)).T, rng.normal(size=50000)]
    ps, ts = [lg.zeros(3)] * 3, [torch.tensor(v.copy(), requires_grad=True) for v in values]
    ps = [lg.from_numpy(v).requires_grad_() for v in values]
    ours, theirs = getattr(lg.optim, name)(ps, lr=0.05), getattr(torch.optim, name)(ts, lr=0.05)
    train(ours, theirs, ps, ts, steps=3, skip=False)
    close(ps, ts, of=thin)


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
@pytest.mark.parametrize("options", [{}, {"history_size": 2}, {"max_iter": 7, "lr": 0.5}, {"max_eval": 9}])
def test_lbfgs(line_search, options):
    settings = {"lr": 1.0 if line_search else 1e-3, **options, "line_search_fn": line_search}
    ps, ts = make(shapes=[(2, 2), (3,)])

    def run(optimiser, xs, one, steps=6):
        def closure():
            optimiser.zero_grad()
            a, b = xs
            loss = ((a * a - 1) ** 2).sum() + 3 * ((b[1:] - b[:-1] ** 2) ** 2).sum() + ((one - b) ** 2).sum()
            loss.backward()
            return loss

        return [optimiser.step(closure).item() for _ in range(steps)]

    ours, theirs = lg.optim.LBFGS(ps, **settings), torch.optim.LBFGS(ts, **settings)
    np.testing.assert_allclose(run(ours, ps, 1.0), run(theirs, ts, 1.0), rtol=1e-6, atol=1e-12)
    close(ps, ts, 1e-6)
    assert ours.state_dict()["param_groups"] == theirs.state_dict()["param_groups"]
    mine, its = ours.state_dict()["state"][0], theirs.state_dict()["state"][0]
    assert (mine["n_iter"], mine["func_evals"]) == (its["n_iter"], its["func_evals"])
    ours.load_state_dict(theirs.state_dict())
    np.testing.assert_allclose(run(ours, ps, 1.0, 2), run(theirs, ts, 1.0, 2), rtol=1e-5, atol=1e-10)


@pytest.mark.parametrize("options", [{}, {"nesterov": False}, {"adjust_lr_fn": "match_rms_adamw"}])
def test_muon_to_the_precision_of_bfloat16(options):
    ps, ts = make(shapes=[(4, 6), (9, 3), (5, 5)])
    start = [p.detach().clone() for p in ps]
    ours, theirs = lg.optim.Muon(ps, lr=0.02, **options), torch.optim.Muon(ts, lr=0.02, **options)
    train(ours, theirs, ps, ts, steps=5, skip=False)
    for p, t, s in zip(ps, ts, start, strict=True):
        moved = (p.detach() - s).numpy()
        np.testing.assert_allclose(moved, t.detach().numpy() - s.numpy(), atol=0.05 * np.abs(moved).max())
    assert ours.defaults == theirs.defaults
    resumed = lg.optim.Muon(ps)
    resumed.load_state_dict(theirs.state_dict())
    close([resumed.state[p]["momentum_buffer"] for p in ps], [theirs.state[t]["momentum_buffer"] for t in ts])


@pytest.mark.parametrize("options", [{}, {"betas": (0.5, 0.6), "eps": 1e-2}, {"maximize": True}])
def test_rows_of_tables(options):
    """Only rows that are looked up move, by numbers of steps that all rows share."""
    start, rng = np.random.default_rng(0).normal(size=(6, 3)), np.random.default_rng(1)
    ours, theirs = lg.nn.Embedding(6, 3, sparse=True).double(), torch.nn.Embedding(6, 3, sparse=True).double()
    ours.weight.data.copy_(lg.tensor(start)), theirs.weight.data.copy_(torch.tensor(start))
    mine = lg.optim.SparseAdam(ours.parameters(), lr=0.05, **options)
    other = torch.optim.SparseAdam(theirs.parameters(), lr=0.05, **options)
    for n in range(12):
        rows = rng.integers(0, 5 if n < 6 else 3, size=4)  # the last row never
        factor = rng.normal(size=(4, 3))
        for table, optimiser, make in ((ours, mine, lg.tensor), (theirs, other, torch.tensor)):
            optimiser.zero_grad()
            (table(make(rows)) * make(factor)).sum().backward()
            optimiser.step()
    close([ours.weight], [theirs.weight])
    np.testing.assert_array_equal(ours.weight[5].detach().numpy(), start[5])
    assert mine.state_dict()["param_groups"] == other.state_dict()["param_groups"]
    state, expected = mine.state_dict()["state"][0], other.state_dict()["state"][0]
    assert list(state) == list(expected) and state["step"] == expected["step"] == 12
    close([state["exp_avg"], state["exp_avg_sq"]], [expected["exp_avg"], expected["exp_avg_sq"]])
    resumed = lg.optim.SparseAdam(ours.parameters())
    resumed.load_state_dict(other.state_dict())
    close([resumed.state[ours.weight]["exp_avg"]], [expected["exp_avg"]])


def test_learning_rates_may_be_tensors():
    for name in ("SGD", "Adam", "AdamW", "RMSprop"):
        ps, ts = make()
        rate, theirs_rate = lg.tensor(0.05, dtype="float64"), torch.tensor(0.05)
        ours, theirs = (
            getattr(lg.optim, name)(ps, lr=rate),
            getattr(torch.optim, name)(ts, lr=theirs_rate, foreach=False),
        )
        train(ours, theirs, ps, ts, steps=3)
        rate.fill_(0.5), theirs_rate.fill_(0.5)
        train(ours, theirs, ps, ts, steps=3)
        close(ps, ts)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": -1.0}),
        ("SGD", {"momentum": -1.0}),
        ("SGD", {"weight_decay": -1.0}),
        ("SGD", {"nesterov": True}),
        ("SGD", {"nesterov": True, "momentum": 0.5, "dampening": 0.5}),
        ("SGD", {"fused": True, "foreach": True}),
        ("SGD", {"fused": True, "differentiable": True}),
        ("Adam", {"lr": -1.0}),
        ("Adam", {"eps": -1.0}),
        ("Adam", {"betas": (1.0, 0.5)}),
        ("Adam", {"betas": (0.5, 1.0)}),
        ("Adam", {"weight_decay": -1}),
        ("AdamW", {"betas": (0.5, -0.1)}),
        ("NAdam", {"momentum_decay": -1}),
        ("RAdam", {"betas": (1.0, 0.5)}),
        ("Adamax", {"betas": (0.0, 1.0)}),
        ("Adagrad", {"lr_decay": -0.5}),
        ("Adagrad", {"initial_accumulator_value": -0.5}),
        ("Adadelta", {"rho": 1.1}),
        ("RMSprop", {"momentum": -1.0}),
        ("RMSprop", {"alpha": -1.0}),
        ("Rprop", {"etas": (1.0, 0.5)}),
        ("ASGD", {"weight_decay": -1.0}),
        ("SparseAdam", {"lr": 0.0}),
        ("SparseAdam", {"eps": 0.0}),
        ("SparseAdam", {"betas": (1.0, 0.5)}),
        *(("Adafactor", {k: v}) for k, v in (("lr", -1.0), ("beta2_decay", 0.1), ("d", 0.5), ("eps", (None, -1.0)))),
        ("LBFGS", {"lr": -1.0}),
    ],
)
def test_bad_settings_raise_the_same_error(name, options):
    with pytest.raises((ValueError, RuntimeError)) as theirs:
        getattr(torch.optim, name)([torch.zeros(2, requires_grad=True)], **options)
    with pytest.raises(theirs.type) as ours:
        getattr(lg.optim, name)([lg.zeros(2, requires_grad=True)], **options)
    assert str(ours.value) == str(theirs.value)
