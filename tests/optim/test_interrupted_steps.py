"""A step that fails in the middle leaves the counts of all parameters equal."""

import pytest

import lucidgrad as lg

OPTIMISERS = [
    "Adam",
    "AdamW",
    "NAdam",
    "RAdam",
    "Adamax",
    "Adagrad",
    "Adadelta",
    "RMSprop",
    "Rprop",
    "ASGD",
    "SparseAdam",
]


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("before", [0, 1, 3])
def test_counts_stay_equal(name, before, monkeypatch):
    params = [lg.ones(3, requires_grad=True) for _ in range(3)]
    optimiser = getattr(lg.optim, name)([{"params": [p]} for p in params], lr=0.1)
    for p in params:
        p.grad = lg.ones(3)
    for _ in range(before):
        optimiser.step()
    take, calls = type(optimiser)._rule.take, []

    def fail(*args, **keywords):
        calls.append(1)
        if len(calls) == 2:
            raise MemoryError
        return take(*args, **keywords)

    monkeypatch.setattr(type(optimiser)._rule, "take", fail, raising=False)
    with pytest.raises(MemoryError):
        optimiser.step()
    assert {optimiser.state[p].get("step", 0) for p in params} == {before}
    monkeypatch.undo()
    optimiser.step()
    assert {optimiser.state[p].get("step", 0) for p in params} == {before + 1}


def test_a_factored_step_that_fails_changes_nothing():
    params = [lg.ones((2, 3), requires_grad=True) for _ in range(3)]
    optimiser = lg.optim.Adafactor([{"params": [p]} for p in params])
    for p in params:
        p.grad = lg.ones((2, 3))
    optimiser.param_groups[1]["d"] = None  # no number
    with pytest.raises(TypeError):
        optimiser.step()
    assert all((p == 1).all() for p in params) and not optimiser.state
