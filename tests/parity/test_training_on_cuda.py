"""A few steps of training on a CUDA device give what the CPU gives."""

import numpy as np
import pytest
from parity.models import RECIPES, Recipe, batches, train

import lucidgrad as lg

STEPS = 5


def trained(recipe: Recipe, initial: dict[str, lg.Tensor], device: str) -> tuple[list[float], dict[str, lg.Tensor]]:
    model = recipe.model(lg, 4).to(device, lg.float64)
    model.load_state_dict(initial)
    data = [tuple(lg.tensor(array, device=device) for array in batch) for batch in batches(recipe, 2, count=2)]
    losses = train(lg, recipe, model, data, STEPS)
    return losses, model.state_dict()


@pytest.mark.parametrize("name", RECIPES)
def test_cuda_trains_like_the_cpu(name):
    recipe = RECIPES[name]
    lg.manual_seed(0)
    initial = {key: value.clone() for key, value in recipe.model(lg, 4).double().state_dict().items()}
    losses, state = trained(recipe, initial, "cpu")
    losses_there, state_there = trained(recipe, initial, "cuda:0")
    np.testing.assert_allclose(losses_there, losses, rtol=1e-10)
    for key, value in state_there.items():
        assert value.device == lg.device("cuda:0"), key
        assert value.dtype == state[key].dtype, key
        np.testing.assert_allclose(value.cpu().numpy(), state[key].numpy(), rtol=0, atol=1e-10, err_msg=key)
    moved = max(abs(state[key] - initial[key]).max().item() for key in state)
    assert moved > 1e-3  # they did train


def test_copies_come_from_any_device():
    x = lg.tensor([1.0, 2.0], requires_grad=True)
    there = lg.zeros(2, device="cuda:0").copy_(x * 3)
    assert there.device == lg.device("cuda:0")
    assert there.tolist() == [3.0, 6.0]
    (there * lg.tensor([1.0, 10.0], device="cuda:0")).sum().backward()
    assert x.grad.tolist() == [3.0, 30.0]
