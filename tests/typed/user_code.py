"""What people write with lucidgrad: type checkers know every result, and object to what does not work.

`test_typed_code` runs it and has it checked by mypy and pyright; ``type: ignore`` is mypy's word for an error that is
expected, ``pyright: ignore`` pyright's. Both report those that are not needed.
"""

from collections.abc import Callable, Iterator
from typing import Any, assert_type

import numpy as np

import lucidgrad as lg
import lucidgrad.nn.functional as F
from lucidgrad import nn
from lucidgrad.typing import Array, ArrayLike, DType, Scalar, Shape
from lucidgrad.utils.data import DataLoader, TensorDataset


def operators(x: lg.Tensor, n: int) -> None:
    assert_type(x * 2, lg.Tensor)
    assert_type(2 - x, lg.Tensor)
    assert_type(1.5 / x + 1j, lg.Tensor)
    assert_type(x @ x.mT, lg.Tensor)
    assert_type(x**2 // 3 % 2, lg.Tensor)
    assert_type(-abs(x), lg.Tensor)
    assert_type(x < 1, lg.Tensor)
    assert_type(x == x, lg.Tensor)
    assert_type((x > 0) & ~(x > 1), lg.Tensor)
    assert_type(x + np.ones(3), lg.Tensor)
    assert_type(x.shape, tuple[int, ...])
    assert_type(x.size(0), int)
    assert_type(x.size().numel(), int)
    assert_type(x.ndim + n, int)
    assert_type(x.device, lg.device)
    assert_type(x.requires_grad, bool)
    assert_type(x.grad, lg.Tensor | None)
    y = x.clone()
    y += 1
    y *= x
    assert_type(y, lg.Tensor)
    assert_type(float(x.sum()), float)
    assert_type(list(x), list[lg.Tensor])


def indexing(x: lg.Tensor, i: lg.Tensor) -> None:
    assert_type(x[0], lg.Tensor)
    assert_type(x[..., 0, None, 1:2], lg.Tensor)
    assert_type(x[i], lg.Tensor)
    assert_type(x[i, 0], lg.Tensor)
    assert_type(x[[0, 1]], lg.Tensor)
    assert_type(x[x > 0], lg.Tensor)
    y = lg.zeros_like(x)
    y[0] = 1.0
    y[y > 0] = x[y > 0]
    y[i, :] = np.ones(3)


def functions(x: lg.Tensor) -> None:
    assert_type(lg.tanh(x), lg.Tensor)
    assert_type(lg.add(x, 1.0), lg.Tensor)
    assert_type(lg.exp(np.ones(3)), lg.Tensor)
    assert_type(lg.sum(x, axis=0, keepdims=True), lg.Tensor)
    assert_type(lg.sum(x, dim=0, keepdim=True), lg.Tensor)
    assert_type(lg.sum(x, 0, keepdim=True), lg.Tensor)
    assert_type(lg.mean(x, axis=(0, 1)), lg.Tensor)
    assert_type(lg.median(x, dim=0), lg.Tensor)
    assert_type(lg.concat([x, x], axis=1), lg.Tensor)
    assert_type(lg.concat((x, x), 1), lg.Tensor)
    assert_type(lg.stack([x, x], dim=1), lg.Tensor)
    assert_type(lg.einsum("ij,kj->ik", x, x), lg.Tensor)
    assert_type(lg.where(x > 0, x, 0), lg.Tensor)
    assert_type(lg.split(x, 2), tuple[lg.Tensor, ...])
    assert_type(lg.unstack(x), tuple[lg.Tensor, ...])
    assert_type(lg.nonzero(x), tuple[lg.Tensor, ...])
    assert_type(lg.average(x), lg.Tensor)
    assert_type(lg.average(x, returned=True), tuple[lg.Tensor, lg.Tensor])
    assert_type(lg.unique(x), lg.Tensor)
    assert_type(lg.unique(x, return_counts=True), tuple[lg.Tensor, ...])
    assert_type(lg.unique_counts(x).counts, lg.Tensor)
    assert_type(lg.topk(x, 1).indices, lg.Tensor)
    assert_type(lg.allclose(x, x), bool)
    assert_type(lg.linalg.solve(x @ x.mT, x), lg.Tensor)
    assert_type(lg.linalg.svd(x).S, lg.Tensor)
    assert_type(lg.linalg.qr(x)[0], lg.Tensor)
    assert_type(lg.fft.rfft(x, dim=0), lg.Tensor)
    assert_type(lg.special.gammaln(x), lg.Tensor)
    values, where = lg.cummax(x, axis=0)
    assert_type(values + where, lg.Tensor)


def methods(x: lg.Tensor) -> None:
    assert_type(x.sum(), lg.Tensor)
    assert_type(x.sum(0, True), lg.Tensor)
    assert_type(x.sum(dim=(0, 1), keepdim=True), lg.Tensor)
    assert_type(x.sum(axis=0, keepdims=True, dtype=lg.float64), lg.Tensor)
    assert_type(x.mean(0, keepdims=True), lg.Tensor)
    assert_type(x.max(), lg.Tensor)
    assert_type(x.max(x), lg.Tensor)
    assert_type(x.max(0).values, lg.Tensor)
    assert_type(x.max(axis=0).indices, lg.Tensor)
    assert_type(x.median(dim=1)[1], lg.Tensor)
    assert_type(x.sort(descending=True).values, lg.Tensor)
    assert_type(x.reshape(-1).view(3, -1).permute(1, 0), lg.Tensor)
    assert_type(x.nonzero(), lg.Tensor)
    assert_type(x.nonzero(as_tuple=True), tuple[lg.Tensor, ...])
    assert_type(x.detach().clone().exp_().add_(1, alpha=2).clamp_(0, 1), lg.Tensor)
    assert_type(x.to("cpu").to(lg.float64).float(), lg.Tensor)
    assert_type(x.T.unsqueeze(0).squeeze(), lg.Tensor)
    assert_type(x.chunk(2), tuple[lg.Tensor, ...])
    assert_type(x.numel() + x.dim(), int)


def creation() -> None:
    assert_type(lg.tensor([[1, 2.0], [3, 4]], dtype=lg.float64, requires_grad=True), lg.Tensor)
    assert_type(lg.zeros(2, 3), lg.Tensor)
    assert_type(lg.ones((2, 3), device="cpu", dtype="float32"), lg.Tensor)
    assert_type(lg.full((2,), 1.0), lg.Tensor)
    assert_type(lg.arange(3), lg.Tensor)
    assert_type(lg.randn(2, 3, generator=lg.Generator()), lg.Tensor)
    assert_type(lg.rand_like(lg.ones(2), dtype=float), lg.Tensor)
    assert_type(lg.asarray(np.ones(3)).numpy(), np.ndarray[Any, Any])
    dtype: DType = lg.ones(2).dtype
    assert dtype == lg.float32
    where: lg.device = lg.device("cpu")
    with where:
        assert_type(lg.empty(0), lg.Tensor)


class Perceptron(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(2, width)
        self.outer = nn.Sequential(nn.ReLU(), nn.Linear(width, 1))
        self.scale = nn.Parameter(lg.ones(1))

    def forward(self, x: lg.Tensor, *, double: bool = False) -> lg.Tensor:
        h = self.inner(x)
        assert_type(h, lg.Tensor)
        assert_type(self.scale, nn.Parameter)
        assert_type(F.dropout(F.relu(h), 0.1), lg.Tensor)
        y: lg.Tensor = self.outer(h) * self.scale
        return 2 * y if double else y


def training() -> float:
    lg.manual_seed(0)
    x, y = lg.randn(16, 2), lg.randn(16, 1)
    model = Perceptron(4)
    optimiser = lg.optim.Adam(model.parameters(), lr=1e-2)
    schedule = lg.optim.lr_scheduler.StepLR(optimiser, step_size=2)
    loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
    loss = lg.zeros(())
    for _ in range(2):
        for inputs, targets in loader:
            optimiser.zero_grad()
            loss = F.mse_loss(model(inputs), targets)
            assert_type(loss, lg.Tensor)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
        schedule.step()
    model.eval()
    with lg.no_grad():
        assert_type(model(x, double=True).mean(), lg.Tensor)
    state = model.state_dict()
    model.load_state_dict(state)
    return float(loss.item())


def derivatives(x: lg.Tensor) -> None:
    def energy(x: lg.Tensor, k: float = 1.0) -> lg.Tensor:
        return (k * x**2).sum()

    def loss(parameters: dict[str, lg.Tensor], x: lg.Tensor) -> lg.Tensor:
        return ((parameters["w"] * x) ** 2).sum()

    def beside(x: lg.Tensor) -> tuple[lg.Tensor, str]:
        return energy(x), "aux"

    assert_type(lg.func.grad(energy)(x), lg.Tensor)
    assert_type(lg.func.grad(energy)(x, k=2.0), lg.Tensor)
    assert_type(lg.func.grad(loss)({"w": x}, x), dict[str, lg.Tensor])
    assert_type(lg.func.grad(beside, has_aux=True)(x), tuple[lg.Tensor, str])
    assert_type(lg.func.value_and_grad(energy)(x), tuple[lg.Tensor, lg.Tensor])
    assert_type(lg.func.vmap(lg.func.grad(energy))(x), lg.Tensor)
    assert_type(lg.func.cond(x.sum() > 0, energy, energy, x), lg.Tensor)
    assert_type(lg.func.while_loop(lambda x: x.sum() < 0, lg.tanh, x), lg.Tensor)
    assert_type(lg.func.while_loop(lg.isnan, energy, 1.0), lg.Tensor)
    assert_type(lg.func.fori_loop(0, 3, lambda i, x: energy(x, 2.0) + i, x.sum()), lg.Tensor)
    assert_type(lg.func.scan(lambda c, x: (energy(x), None), 0.0, x), tuple[lg.Tensor, None])
    assert_type(lg.func.map(energy, x, batch_size=2), lg.Tensor)
    assert_type(lg.func.hessian(energy)(x), lg.Tensor)
    assert_type(lg.func.jacrev(lg.tanh)(x[0]), lg.Tensor)
    assert_type(lg.func.jvp(energy, (x,), (x,)), tuple[lg.Tensor, lg.Tensor])
    value, pull = lg.func.vjp(energy, x)
    assert_type(value, lg.Tensor)
    assert_type(pull(value), tuple[Any, ...])
    f: Callable[[lg.Tensor], lg.Tensor] = lg.func.grad(lambda x: (x * x).sum())
    assert_type(f(x), lg.Tensor)
    model = nn.Linear(3, 1)
    assert_type(lg.func.functional_call(model, dict(model.named_parameters()), (x,)), lg.Tensor)
    w = x.clone().requires_grad_()
    (g,) = lg.autograd.grad(energy(w), w, create_graph=True)
    assert_type(g, lg.Tensor)
    found = lg.autograd.grad(g.sum(), [w, x.clone().requires_grad_()], allow_unused=True)
    assert_type(found, tuple[lg.Tensor | None, ...])


class Cube(lg.autograd.Function):
    @staticmethod
    def forward(ctx: lg.autograd.function.FunctionCtx, x: lg.Tensor) -> lg.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: lg.autograd.function.FunctionCtx, *gradients: lg.Tensor) -> lg.Tensor:
        (x,) = ctx.saved_tensors
        assert_type(x, lg.Tensor)
        return 3 * x**2 * gradients[0]


def standardised(x: Array, /, *, axis: int = 0) -> Any:
    """A function of the Array API standard, for any library."""
    xp = x.__array_namespace__()
    return (x - xp.mean(x, axis=axis, keepdims=True)) / xp.std(x, axis=axis, keepdims=True)


def noisy(x: ArrayLike, shape: Shape, scale: Scalar = 1.0) -> lg.Tensor:
    return x + scale * lg.randn(shape)


def batches(x: lg.Tensor, n: int) -> Iterator[lg.Tensor]:
    yield from x.split(n)


@lg.no_grad()
def evaluated(model: nn.Module, x: lg.Tensor) -> list[lg.Tensor]:
    return [row for batch in batches(x, 2) for row in (batch, model(batch))]


def wrong(x: lg.Tensor) -> None:
    """Nothing here works, and type checkers say so."""
    lg.tanh("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    lg.tanh([1.0])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    lg.tanh(x, x)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    lg.tanh(x=x)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    lg.sum(x, axes=0)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    lg.sum(x, keepdim="yes")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    lg.zeros("ab")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    lg.ones(2, device=0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    lg.no_such_name  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    lg.linalg.solve(x)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    lg.einsum(1, x)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    x.no_such_method()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    x + "1"  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue]
    x["a"]  # type: ignore[index]  # pyright: ignore[reportArgumentType]
    x.backward("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    x.shape = (2,)  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    x.grad.sum()  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
    lg.func.grad(2)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    lg.func.grad(lg.sum)(x, x, x, x)  # type: ignore[call-arg, arg-type]  # pyright: ignore[reportCallIssue]
    nn.Linear(2, 3)(x, x)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    nn.Linear(2, 3)(np.ones(2))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    nn.Linear(2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    F.relu(x, True, 2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    lg.optim.Adam(2.0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    text: str = x * 2  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    count: int = lg.sum(x)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    print(text, count)


def main() -> None:
    x = lg.arange(6.0).reshape(2, 3) + 0.5
    operators(lg.ones(3, 3), 1)
    indexing(x, lg.tensor([1, 0]))
    functions(x)
    methods(x)
    creation()
    assert training() > 0
    derivatives(x)
    leaf = lg.tensor(2.0, requires_grad=True)
    y: lg.Tensor = Cube.apply(leaf)
    y.backward()
    assert leaf.grad is not None
    assert_type(leaf.grad.item(), Any)
    assert abs(float(standardised(x).mean())) < 1e-6
    assert noisy(x, (2, 3)).shape == (2, 3)
    assert len(evaluated(nn.Linear(3, 1), x)) == 2


if __name__ == "__main__":
    main()
