"""Training steps of whole models as CUDA graphs: a hundred launches are a hundred steps as they are."""

import numpy as np
import pytest
from counted import assert_one_launch, counting

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.backends import cudasim

pytestmark = pytest.mark.cuda

STEPS = 100


def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.2), nn.Linear(8, 3))


def cnn():
    features = (nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2))
    return nn.Sequential(*features, nn.Flatten(), nn.Dropout(0.2), nn.Linear(8, 3))


class GPT(nn.Module):
    """Tokens and places, a block of attention and two layers, and the next token."""

    def __init__(self, tokens=5, length=4, width=8):
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.all, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width), nn.Dropout(0.2))
        self.head = nn.Linear(width, tokens, bias=False)
        self.register_buffer("order", lg.arange(length))

    def forward(self, i):
        x = self.tokens(i) + self.places(self.order)
        q, k, v = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in self.all(self.before(x)).chunk(3, -1))
        drop = 0.2 if self.training else 0.0
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=drop, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return self.head(x + self.wide(self.between(x))).flatten(0, 1)


#: A model, and its input and target of a number.
MODELS = {
    "MLP": (mlp, lambda draw: draw.normal(size=(4, 6)).astype("float32"), lambda draw: draw.integers(0, 3, 4)),
    "CNN": (cnn, lambda draw: draw.normal(size=(3, 1, 4, 4)).astype("float32"), lambda draw: draw.integers(0, 3, 3)),
    "GPT": (GPT, lambda draw: draw.integers(0, 5, (2, 4)), lambda draw: draw.integers(0, 5, 8)),
}


class Training:
    """Steps with dropout, clipping and Adam, whose learning rate follows a schedule."""

    def __init__(self, name):
        make, self.input, self.target = MODELS[name]
        lg.manual_seed(3)
        self.model = make().to("cuda")
        self.optimizer = lg.optim.Adam(self.model.parameters(), lr=3e-3, capturable=True)
        self.scheduler = lg.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, STEPS)
        draw = np.random.default_rng(0)
        self.x, self.y = (lg.asarray(made(draw), device="cuda") for made in (self.input, self.target))

    def give(self, k):
        draw = np.random.default_rng(k)
        self.x.copy_(lg.asarray(self.input(draw), device="cuda"))
        self.y.copy_(lg.asarray(self.target(draw), device="cuda"))

    def step(self):
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(self.x), self.y)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()
        return loss.detach()

    def kept(self):
        """Parameters, statistics of batches, and what the optimiser keeps."""
        states = [x for state in self.optimizer.state.values() for x in state.values()]
        return [x.detach().cpu().numpy() for x in (*self.model.state_dict().values(), *states)]


@pytest.mark.parametrize("name", MODELS)
def test_a_hundred_launches_are_a_hundred_steps(name):
    plain, recorded, g = Training(name), Training(name), lg.cuda.CUDAGraph()
    losses, found = lg.zeros(STEPS, device="cuda"), lg.zeros(STEPS, device="cuda")
    lg.manual_seed(7)
    for k in range(STEPS):
        plain.give(k)
        losses[k] = plain.step()
        plain.scheduler.step()
    lg.manual_seed(7)
    recorded.give(0)
    found[0] = recorded.step()
    recorded.scheduler.step()
    with lg.cuda.graph(g):
        loss = recorded.step()
    for k in range(1, STEPS):
        recorded.give(k)
        with counting() as counts:
            g.replay()
        recorded.scheduler.step()
        found[k] = loss
        assert_one_launch(counts)
    if not cudasim.is_installed():  # atomic sums, and products with another workspace, may differ in last bits
        np.testing.assert_allclose(found.cpu().numpy(), losses.cpu().numpy(), rtol=1e-2)
        return
    np.testing.assert_array_equal(found.cpu().numpy(), losses.cpu().numpy())
    for a, b in zip(recorded.kept(), plain.kept(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert {state["step"].item() for state in recorded.optimizer.state.values()} == {STEPS}
