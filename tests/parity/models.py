"""Models and ways to train them, written once: `m` is lucidgrad or PyTorch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def mlp(m: Any, width: int) -> Any:
    """Three linear layers for 5 classes."""
    nn = m.nn
    return nn.Sequential(
        *(nn.Linear(12, width), nn.ReLU(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 5)),
    )


def cnn(m: Any, width: int) -> Any:
    """Convolutions with strides, groups and pooling, batch normalisation, for 5 classes."""
    nn = m.nn
    return nn.Sequential(
        *(nn.Conv2d(2, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(width, 2 * width, 3, stride=2, padding=1, groups=2), nn.SiLU(), nn.AvgPool2d(2)),
        *(nn.Flatten(), nn.Linear(2 * width, 5)),
    )


def lstm(m: Any, width: int) -> Any:
    """Two layers of LSTM; the last state gives one number."""

    class Forecast(m.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.recurrence = m.nn.LSTM(3, width, num_layers=2, batch_first=True)
            self.out = m.nn.Linear(width, 1)

        def forward(self, x: Any) -> Any:
            y, _ = self.recurrence(x)
            return self.out(y[:, -1])

    return Forecast()


def gpt(m: Any, width: int) -> Any:
    """Two causal blocks with two heads, over 11 characters; the embedding is the last layer's weight, too."""
    nn, functional = m.nn, m.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.split, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mix = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

        def forward(self, x: Any) -> Any:
            n, length, _ = x.shape
            parts = self.split(self.norm1(x)).chunk(3, dim=-1)
            q, k, v = (part.reshape(n, length, 2, width // 2).transpose(1, 2) for part in parts)
            seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.join(seen.transpose(1, 2).reshape(n, length, width))
            return x + self.mix(self.norm2(x))

    class GPT(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.characters, self.places = nn.Embedding(11, width), nn.Embedding(8, width)
            self.blocks = nn.ModuleList([Block(), Block()])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 11, bias=False)
            self.head.weight = self.characters.weight

        def forward(self, given: Any) -> Any:
            x = self.characters(given) + self.places(m.arange(given.shape[1], device=given.device))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x)).reshape(-1, 11)

    return GPT()


@dataclass(frozen=True)
class Recipe:
    """A model with its data, loss, optimiser and schedule."""

    model: Callable[[Any, int], Any]
    width: int  # of the layers
    rows: int  # of a batch
    batch: Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]  # inputs and targets
    loss: Callable[[Any, Any, Any], Any]
    optimiser: Callable[[Any, Any], Any]
    schedule: Callable[[Any, Any], Any]
    clip: float | None = None


def classes(shape: tuple[int, ...]) -> Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]:
    """Inputs of this shape: noise and the pattern of a class."""
    patterns = np.random.default_rng(1).standard_normal((5, *shape))

    def draw(source: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
        target = source.integers(0, 5, rows)
        return patterns[target] + source.standard_normal((rows, *shape)), target

    return draw


def waves(source: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Three sampled waves of one frequency, and how they go on."""
    time = np.arange(10)[None, :, None] * source.uniform(0.2, 0.8, (rows, 1, 1))
    signal = np.sin(time + source.uniform(0, 6, (rows, 1, 3)))
    return signal[:, :-1], signal[:, -1, :1]


def text(source: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Characters that follow one another by a rule with some noise, and the same one later."""
    numbers = (source.integers(0, 11, (rows, 1)) + 3 * np.arange(9) + source.integers(0, 2, (rows, 9))) % 11
    return numbers[:, :-1], numbers[:, 1:].reshape(-1)


def cross_entropy(m: Any, y: Any, target: Any) -> Any:
    return m.nn.functional.cross_entropy(y, target)


def adamw_with_groups(m: Any, model: Any) -> Any:
    """Weights decay; biases and the parameters of norms don't."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    return m.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.95))


RECIPES = {
    "mlp": Recipe(
        *(mlp, 24, 32, classes((12,)), cross_entropy),
        optimiser=lambda m, model: m.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3),
        schedule=lambda m, optimiser: m.optim.lr_scheduler.StepLR(optimiser, 20, 0.5),
    ),
    "cnn": Recipe(
        *(cnn, 6, 16, classes((2, 8, 8)), lambda m, y, t: m.nn.CrossEntropyLoss(label_smoothing=0.1)(y, t)),
        optimiser=lambda m, model: m.optim.Adam(model.parameters(), lr=1e-2),
        schedule=lambda m, optimiser: m.optim.lr_scheduler.CosineAnnealingLR(optimiser, 50),
    ),
    "lstm": Recipe(
        *(lstm, 12, 16, waves, lambda m, y, t: m.nn.functional.mse_loss(y, t)),
        optimiser=lambda m, model: m.optim.Adam(model.parameters(), lr=1e-2, amsgrad=True),
        schedule=lambda m, optimiser: m.optim.lr_scheduler.OneCycleLR(optimiser, 2e-2, total_steps=60),
        clip=0.5,
    ),
    "gpt": Recipe(
        *(gpt, 16, 8, text, cross_entropy),
        optimiser=adamw_with_groups,
        schedule=lambda m, optimiser: m.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1.0, (step + 1) / 10)),
        clip=1.0,
    ),
}


def batches(recipe: Recipe, rows: int, count: int = 4) -> list[tuple[np.ndarray, np.ndarray]]:
    """The same batches for everybody."""
    source = np.random.default_rng(0)
    return [recipe.batch(source, rows) for _ in range(count)]


def train(m: Any, recipe: Recipe, model: Any, data: list[tuple[Any, Any]], steps: int) -> list[float]:
    """Train; return the loss of every step."""
    optimiser = recipe.optimiser(m, model)
    schedule = recipe.schedule(m, optimiser)
    losses = []
    for step in range(steps):
        x, target = data[step % len(data)]
        optimiser.zero_grad()
        loss = recipe.loss(m, model(x), target)
        loss.backward()
        if recipe.clip is not None:
            m.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
    return losses
