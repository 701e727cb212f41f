"""Training from the same weights on the same batches goes the same way as in PyTorch."""

import numpy as np
import pytest
from golden import peer
from parity.models import RECIPES, batches, train

import lucidgrad as lg

torch = peer("torch")

STEPS = 50


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """PyTorch's threads wait for one another actively: on a busy machine, small steps take 20 times as long."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def both(name, dtype):
    """The losses and the final models of both libraries, ours first."""
    recipe = RECIPES[name]
    torch.manual_seed(0)
    theirs = recipe.model(torch, recipe.width).to(getattr(torch, dtype))
    ours = recipe.model(lg, recipe.width).to(getattr(lg, dtype))
    initial = {key: value.clone() for key, value in theirs.state_dict().items()}
    ours.load_state_dict({key: lg.tensor(value.numpy()) for key, value in initial.items()})
    data = []
    for m in (lg, torch):
        as_tensor = lambda a, m=m: m.tensor(a, dtype=getattr(m, dtype) if a.dtype.kind == "f" else m.int64)
        data.append([(as_tensor(x), as_tensor(y)) for x, y in batches(recipe, recipe.rows)])
    losses = [train(m, recipe, model, d, STEPS) for m, model, d in zip((lg, torch), (ours, theirs), data, strict=True)]
    return losses, (ours, theirs)


def state_of(model):
    """The state as arrays. Of float32 nobody asks PyTorch: what 50 steps make of its rounding is a processor's own."""
    return {key: np.asarray(value.detach()) for key, value in model.state_dict().items()}


@pytest.mark.parametrize("name", RECIPES)
def test_parameters_after_training_in_float64(name):
    (losses, expected_losses), models = both(name, "float64")
    state, expected = map(state_of, models)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-8)
    assert list(state) == list(expected)
    for key, value in expected.items():
        assert state[key].dtype == value.dtype, key
        np.testing.assert_allclose(state[key], value, rtol=0, atol=1e-8, err_msg=key)


@pytest.mark.parametrize("name", RECIPES)
def test_loss_curves_in_float32(name):
    (losses, expected), (ours, _) = both(name, "float32")
    np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-3)
    assert np.mean(losses[-4:]) < 0.8 * np.mean(losses[:4])  # it learned
    assert {value.dtype.name for value in state_of(ours).values()} <= {"float32", "int64"}
