"""What people write through the doors: PyTorch's habits and NumPy's, checked as `user_code` is."""

from collections.abc import Iterator
from typing import assert_type

import lucidgrad as lg
import lucidgrad.numpy as np
import lucidgrad.torch as torch
import lucidgrad.torch.nn as nn
import lucidgrad.torch.nn.functional as F
from lucidgrad.torch import optim
from lucidgrad.torch.optim.lr_scheduler import CosineAnnealingLR
from lucidgrad.torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, width: int = 8, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.first = nn.Linear(3, width, dtype=dtype)
        self.norm = torch.nn.LayerNorm(width, dtype=dtype)
        self.last = nn.Linear(width, 2, dtype=dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.gelu(self.norm(self.first(x)))
        return self.last(h)


def batches(n: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(n, 3), torch.randint(0, 2, (n,)))
    yield from DataLoader(data, batch_size=4, shuffle=True)


def training() -> None:
    model = Net()
    optimiser = optim.AdamW(model.parameters(), lr=1e-2)
    schedule = CosineAnnealingLR(optimiser, 4)
    for x, y in batches(8):
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        assert_type(float(loss), float)
    with torch.no_grad():
        assert_type(model(torch.zeros(2, 3)).argmax(dim=1), lg.Tensor)


def pytorch_functions(x: torch.Tensor, i: torch.Tensor) -> None:
    assert_type(torch.max(x), lg.Tensor)
    assert_type(torch.max(x, dim=1).values, lg.Tensor)
    assert_type(torch.max(x, x), lg.Tensor)
    values, places = torch.sort(x, dim=-1, descending=True)
    assert_type(values, lg.Tensor)
    assert_type(places, lg.Tensor)
    assert_type(torch.topk(x, 2).indices, lg.Tensor)
    assert_type(torch.std(x, dim=0, unbiased=False), lg.Tensor)
    assert_type(torch.std_mean(x), tuple[lg.Tensor, lg.Tensor])
    assert_type(torch.where(x > 0, x, 0.0), lg.Tensor)
    assert_type(torch.where(x > 0), tuple[lg.Tensor, ...])
    assert_type(torch.split(x, 2, dim=1), tuple[lg.Tensor, ...])
    assert_type(torch.equal(x, x), bool)
    assert_type(torch.numel(x), int)
    assert_type(torch.einsum("ij,kj->ik", x, x), lg.Tensor)
    assert_type(torch.cat([x, x], dim=0), lg.Tensor)
    assert_type(torch.linspace(0, 1, steps=5, dtype=torch.float64), lg.Tensor)
    assert_type(torch.zeros(2, 3, device="cpu", requires_grad=True), lg.Tensor)
    assert_type(torch.gather(x, 1, i), lg.Tensor)
    assert_type(torch.unique(x), lg.Tensor)
    assert_type(torch.unique(x, return_counts=True), tuple[lg.Tensor, ...])
    assert_type(torch.linalg.svd(x, full_matrices=False).S, lg.Tensor)
    assert_type(torch.linalg.lstsq(x, x).solution, lg.Tensor)
    assert_type(torch.fft.rfft(x, dim=0), lg.Tensor)
    assert_type(torch.special.xlogy(x, 2.0), lg.Tensor)
    assert_type(torch.finfo(torch.float32).eps, float)


def numpy_functions(x: np.ndarray) -> None:
    assert_type(np.sin(x), lg.Tensor)
    assert_type(np.add(x, [1.0, 2.0]), lg.Tensor)
    assert_type(np.add.reduce(x, axis=0), lg.Tensor)
    assert_type(np.sum(x, axis=0, keepdims=True), lg.Tensor)
    assert_type(np.array([[1.0, 2.0]]), lg.Tensor)
    assert_type(np.where(x > 0, x, 0.0), lg.Tensor)
    assert_type(np.where(x > 0), tuple[lg.Tensor, ...])
    assert_type(np.concatenate([x, x], axis=0), lg.Tensor)
    assert_type(np.split(x, 2), list[lg.Tensor])
    assert_type(np.linalg.norm(x), lg.Tensor)
    assert_type(np.linalg.svd(x).S, lg.Tensor)
    assert_type(np.linalg.svd(x, compute_uv=False), lg.Tensor)
    assert_type(np.allclose(x, x), bool)
    assert_type(np.einsum("ij->j", x), lg.Tensor)
    assert_type(np.histogram(x, bins=3), tuple[lg.Tensor, lg.Tensor])
    assert_type(np.shape(x), tuple[int, ...])
    assert_type(np.pi, float)


def energy(x: np.ndarray) -> np.ndarray:
    return np.sum(np.exp(-(x**2)))


def refused(x: torch.Tensor) -> None:
    torch.topk(x, "two")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    torch.sum(x, dimension=0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    torch.max(x, dim=1).value  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    np.sum(x, dim=0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def main() -> None:
    """Run what is meant to work."""
    training()
    x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    pytorch_functions(x, torch.tensor([[0], [1]]))
    numpy_functions(x)
    assert_type(lg.func.grad(energy)(x), lg.Tensor)
