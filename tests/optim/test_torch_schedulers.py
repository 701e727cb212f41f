"""Every scheduler draws PyTorch's curve, from its beginning and from the middle."""

import warnings

import pytest
from golden import peer

import lucidgrad as lg

torch = peer("torch")

FACTOR = lambda n: 0.9**n
OTHER = lambda n: 1.0 / (n + 1)
CASES = [
    ("LambdaLR", {"lr_lambda": FACTOR}),
    ("LambdaLR", {"lr_lambda": [FACTOR, OTHER]}),
    ("MultiplicativeLR", {"lr_lambda": OTHER}),
    ("MultiplicativeLR", {"lr_lambda": [FACTOR, OTHER]}),
    ("StepLR", {"step_size": 3}),
    ("StepLR", {"step_size": 4, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [3, 7, 7, 15]}),
    ("ConstantLR", {}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 7}),
    ("LinearLR", {}),
    ("LinearLR", {"start_factor": 0.2, "end_factor": 0.7, "total_iters": 9}),
    ("ExponentialLR", {"gamma": 0.8}),
    ("PolynomialLR", {}),
    ("PolynomialLR", {"total_iters": 12, "power": 2.0}),
    ("CosineAnnealingLR", {"T_max": 7}),
    ("CosineAnnealingLR", {"T_max": 10, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 4}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2, "eta_min": 0.01}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 30}),
    ("OneCycleLR", {"max_lr": [0.5, 0.2], "epochs": 6, "steps_per_epoch": 5, "anneal_strategy": "linear"}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 40, "three_phase": True, "pct_start": 0.25}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 40, "cycle_momentum": False, "div_factor": 5.0}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 4}),
    (
        "CyclicLR",
        {"base_lr": [0.01, 0.02], "max_lr": 0.1, "step_size_up": 4, "step_size_down": 7, "mode": "triangular2"},
    ),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 4, "mode": "exp_range", "gamma": 0.9}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 5, "scale_fn": OTHER, "scale_mode": "iterations"}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 4, "cycle_momentum": False}),
]
OPTIMISERS = [("SGD", {"momentum": 0.9}), ("Adam", {})]


def optimisers(kind="SGD", options=None):
    """Two groups, in both libraries."""
    options = {"momentum": 0.9} if options is None else options
    found = []
    for library in (lg, torch):
        a, b = (library.zeros(2, requires_grad=True) for _ in range(2))
        groups = [{"params": [a], "lr": 0.1}, {"params": [b], "lr": 0.03}]
        found.append(getattr(library.optim, kind)(groups, **options))
    return found


def settings_of(optimiser):
    """What schedulers change."""
    return [
        value
        for group in optimiser.param_groups
        for value in (group["lr"], group.get("momentum", 0), *group.get("betas", ()))
    ]


def agree(ours, theirs, mine, its, steps, advance=lambda scheduler, n: scheduler.step()):
    for n in range(steps):
        for optimiser in (ours, theirs):
            optimiser.step()
        advance(mine, n), advance(its, n)
        assert settings_of(ours) == pytest.approx(settings_of(theirs), rel=1e-12, abs=1e-15), n
        assert mine.get_last_lr() == pytest.approx(its.get_last_lr(), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("kind", "options"), OPTIMISERS)
@pytest.mark.parametrize(("name", "settings"), CASES)
def test_curves(name, settings, kind, options):
    ours, theirs = optimisers(kind, options)
    mine = getattr(lg.optim.lr_scheduler, name)(ours, **settings)
    its = getattr(torch.optim.lr_scheduler, name)(theirs, **settings)
    assert settings_of(ours) == settings_of(theirs)
    agree(ours, theirs, mine, its, 29)


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_states_load_from_pytorch_and_from_ours(name, settings):
    ours, theirs = optimisers()
    mine = getattr(lg.optim.lr_scheduler, name)(ours, **settings)
    its = getattr(torch.optim.lr_scheduler, name)(theirs, **settings)
    agree(ours, theirs, mine, its, 6)
    assert set(mine.state_dict()) == set(its.state_dict())
    for state in (mine.state_dict(), its.state_dict()):
        fresh = optimisers()[0]
        scheduler = getattr(lg.optim.lr_scheduler, name)(fresh, **settings)
        fresh.load_state_dict(ours.state_dict())
        scheduler.load_state_dict(dict(state))
        assert scheduler.last_epoch == 6
        expected = getattr(lg.optim.lr_scheduler, name)(optimisers()[0], **settings)
        for _ in range(9):
            expected.optimizer.step()
            expected.step()
        for _ in range(3):
            fresh.step()
            scheduler.step()
        assert settings_of(fresh) == pytest.approx(settings_of(expected.optimizer), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "settings"), [case for case in CASES if case[0] not in ("OneCycleLR", "CyclicLR", "MultiplicativeLR")]
)
def test_closed_forms(name, settings):
    ours, theirs = optimisers()
    mine = getattr(lg.optim.lr_scheduler, name)(ours, **settings)
    its = getattr(torch.optim.lr_scheduler, name)(theirs, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(ours, theirs, mine, its, 15, lambda scheduler, n: scheduler.step(2 * n))


@pytest.mark.parametrize(
    "settings",
    [
        {"patience": 2},
        {"patience": 1, "cooldown": 2, "factor": 0.5},
        {"mode": "max", "patience": 1, "threshold_mode": "abs", "threshold": 0.1},
        {"patience": 0, "min_lr": [0.02, 0.01], "factor": 0.3, "threshold": 0.2},
        {"mode": "max", "patience": 0, "threshold": 0.2, "eps": 0.01},
    ],
)
def test_plateaus(settings):
    ours, theirs = optimisers()
    mine = lg.optim.lr_scheduler.ReduceLROnPlateau(ours, **settings)
    its = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **settings)
    losses = [5, 4, 4, 3.99, 4.5, 3, 3, 3, 3, 2.5, 2.4, 2.39, 2.38, 2.37, 6, 1, 1, 1, 1, 1]
    agree(ours, theirs, mine, its, len(losses), lambda scheduler, n: scheduler.step(losses[n]))
    assert set(mine.state_dict()) == set(its.state_dict())
    assert (mine.best, mine.num_bad_epochs, mine.in_cooldown) == (its.best, its.num_bad_epochs, its.in_cooldown)


def combined(library, optimiser):
    s = library.optim.lr_scheduler
    warm, middle = s.LinearLR(optimiser, 0.1, total_iters=4), s.CosineAnnealingLR(optimiser, T_max=6)
    return s.SequentialLR(optimiser, [warm, middle, s.ExponentialLR(optimiser, 0.9)], milestones=[4, 9])


def test_sequences():
    ours, theirs = optimisers()
    mine, its = combined(lg, ours), combined(torch, theirs)
    assert settings_of(ours) == pytest.approx(settings_of(theirs))
    agree(ours, theirs, mine, its, 15)
    fresh = optimisers()[0]
    resumed = combined(lg, fresh)
    resumed.load_state_dict(mine.state_dict())
    fresh.load_state_dict(ours.state_dict())
    agree(fresh, theirs, resumed, its, 5)


def test_chains():
    ours, theirs = optimisers()
    made = []
    for library, optimiser in ((lg, ours), (torch, theirs)):
        s = library.optim.lr_scheduler
        made.append(s.ChainedScheduler([s.ConstantLR(optimiser, 0.1, 5), s.ExponentialLR(optimiser, 0.9)]))
    agree(ours, theirs, *made, 12)
    assert made[0].state_dict()["_schedulers"][0] == made[1].state_dict()["_schedulers"][0]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("ConstantLR", {"factor": 2.0}),
        ("LinearLR", {"start_factor": 0.0}),
        ("LinearLR", {"end_factor": 1.5}),
        ("CosineAnnealingWarmRestarts", {"T_0": 0}),
        ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 0}),
        ("OneCycleLR", {"max_lr": 1.0}),
        ("OneCycleLR", {"max_lr": 1.0, "total_steps": -1}),
        ("OneCycleLR", {"max_lr": 1.0, "total_steps": 5, "pct_start": 2.0}),
        ("OneCycleLR", {"max_lr": 1.0, "total_steps": 5, "anneal_strategy": "other"}),
        ("OneCycleLR", {"max_lr": [1.0], "total_steps": 5}),
        ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "mode": "other"}),
        ("LambdaLR", {"lr_lambda": [FACTOR]}),
        ("ReduceLROnPlateau", {"factor": 1.0}),
        ("ReduceLROnPlateau", {"mode": "other"}),
        ("ReduceLROnPlateau", {"min_lr": [0.1]}),
    ],
)
def test_bad_settings(name, settings):
    ours, theirs = optimisers()
    with pytest.raises((ValueError, TypeError)) as expected:
        getattr(torch.optim.lr_scheduler, name)(theirs, **settings)
    with pytest.raises(expected.type) as found:
        getattr(lg.optim.lr_scheduler, name)(ours, **settings)
    assert str(found.value) == str(expected.value)
