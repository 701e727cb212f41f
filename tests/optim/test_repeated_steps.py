"""What a step keeps for the next one never outlives a change of the tensors."""

import numpy as np
import pytest

import lucidgrad as lg

MANY = 60  # after fewer steps small tensors are still NumPy's


def taken(kind, change, steps):
    """The parameters after steps, with a change of something before each."""
    source = np.random.default_rng(0)
    params = [lg.tensor(source.standard_normal(shape), requires_grad=True) for shape in ((4, 3), (5,), (1,))]
    optimiser = getattr(lg.optim, kind)(params, lr=0.01, **({"momentum": 0.9} if kind == "SGD" else {}))
    for step in range(steps):
        for p in params:
            p.grad = lg.tensor(source.standard_normal(p.shape))
        change(step, params, optimiser)
        optimiser.step()
    return [p.detach().numpy().copy() for p in params]


def nothing(step, params, optimiser):
    pass


def new_memory(step, params, optimiser):
    for p in params:
        p.data = p.data.clone()


def new_states(step, params, optimiser):
    for state in optimiser.state.values():
        state.update({key: value.clone() for key, value in state.items() if isinstance(value, lg.Tensor)})


def loaded_states(step, params, optimiser):
    if step:
        optimiser.load_state_dict(optimiser.state_dict())


def turned_gradients(step, params, optimiser):
    params[0].grad = lg.tensor(params[0].grad.numpy().T.copy()).T


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("change", [new_memory, new_states, loaded_states, turned_gradients])
def test_other_memory_is_noticed(kind, change):
    often = lambda step, *rest: change(step, *rest) if step % 7 == 3 else None
    for found, expected in zip(taken(kind, often, MANY + 20), taken(kind, nothing, MANY + 20), strict=True):
        np.testing.assert_array_equal(found, expected)
