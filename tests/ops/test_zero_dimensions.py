"""0-d tensors with ``dim=0`` or -1, as in PyTorch: to functions of an axis they are vectors of one element."""

import numpy as np
import pytest
from golden import peer

import lucidgrad as lg

V, ZERO, ONE = 3.0, 0, [0]

#: (name, call of (module, tensor, index), expected values, expected gradients)
CALLS = {
    "index_select": (lambda m, x, i: x.index_select(0, i), V, 1.0),
    "cumsum": (lambda m, x, i: x.cumsum(0), V, 1.0),
    "cumprod": (lambda m, x, i: x.cumprod(-1), V, 1.0),
    "logsumexp": (lambda m, x, i: x.logsumexp(0), V, 1.0),
    "sort": (lambda m, x, i: x.sort(0)[0], V, 1.0),
    "max": (lambda m, x, i: x.max(0)[0], V, 1.0),
    "min": (lambda m, x, i: x.min(-1)[0], V, 1.0),
    "index_add": (lambda m, x, i: x.index_add(0, i, m.tensor(2.0)), 5.0, 1.0),
    "index_copy": (lambda m, x, i: x.index_copy(0, i, m.tensor(2.0)), 2.0, 0.0),
    "index_fill": (lambda m, x, i: x.index_fill(0, i, 2.0), 2.0, 0.0),
    "squeeze": (lambda m, x, i: x.squeeze(0), V, 1.0),
    "squeeze of all axes": (lambda m, x, i: x.squeeze(), V, 1.0),
    "transpose": (lambda m, x, i: x.transpose(0, -1), V, 1.0),
    "swapaxes": (lambda m, x, i: m.swapaxes(x, -1, 0), V, 1.0),
    "flip": (lambda m, x, i: x.flip(0), V, 1.0),
    "flip of several axes": (lambda m, x, i: x.flip((-1,)), V, 1.0),
    "movedim": (lambda m, x, i: x.movedim(0, -1), V, 1.0),
    "moveaxis": (lambda m, x, i: x.moveaxis((0,), (0,)), V, 1.0),
    "roll": (lambda m, x, i: x.roll(1, ()), V, 1.0),
    "index_fill of a tensor": (lambda m, x, i: x.index_fill(0, i, m.tensor(2.0)), 2.0, 0.0),
}


@pytest.mark.parametrize("index", [ZERO, ONE])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name, index):
    call, value, slope = CALLS[name]
    x = lg.tensor(V, requires_grad=True)
    y = call(lg, x, lg.tensor(index))
    assert (y.shape, y.item()) == ((), value)
    y.backward()
    assert (x.grad.shape, x.grad.item()) == ((), slope)


@pytest.mark.parametrize("index", [ZERO, ONE])
@pytest.mark.parametrize("name", CALLS)
def test_they_are_pytorchs(name, index):
    torch = peer("torch")
    call = CALLS[name][0]
    theirs = torch.tensor(V, requires_grad=True)
    expected = call(torch, theirs, torch.tensor(index))
    expected.backward()
    ours = lg.tensor(V, requires_grad=True)
    found = call(lg, ours, lg.tensor(index))
    found.backward()
    assert (found.shape, found.item()) == (tuple(expected.shape), expected.item())
    assert ours.grad.item() == theirs.grad.item()


@pytest.mark.parametrize(
    ("x", "i"), [((), ()), ((), (1,)), ((3,), ()), ((3,), (1,)), ((), (2,)), ((3,), (4,))], ids=lambda s: str(s)
)
def test_gather(x, i):
    torch = peer("torch")
    values, index = np.arange(1.0, 4.0)[: int(np.prod(x))].reshape(x), np.zeros(i, "int64")
    found = lg.tensor(values).gather(0, lg.tensor(index))
    assert found.tolist() == torch.tensor(values).gather(0, torch.tensor(index)).tolist()


@pytest.mark.parametrize("index", [ZERO, ONE])
def test_scatters(index):
    torch = peer("torch")
    for name, more in (("scatter", ()), ("scatter_add", ()), ("scatter_reduce", ("prod",))):
        made = []
        for m in (torch, lg):
            source = m.tensor(np.full(np.shape(index), 2.0))
            made.append(getattr(m.tensor(V, dtype=m.float64), name)(0, m.tensor(index), source, *more))
        assert (made[1].shape, made[1].item()) == (tuple(made[0].shape), made[0].item())


def test_nonzero():
    assert lg.tensor(V).nonzero().shape == (1, 0)
    assert lg.tensor(0.0).nonzero().shape == (0, 0)
    assert [i.tolist() for i in lg.tensor(V).nonzero(as_tuple=True)] == [[0]]
    assert [i.tolist() for i in lg.tensor(0.0).nonzero(as_tuple=True)] == [[]]


def test_what_a_0d_tensor_has_not():
    x = lg.tensor(V)
    for call in (
        lambda: x.index_select(1, lg.tensor([0])),
        lambda: x.cumsum(1),
        lambda: x.index_fill(1, lg.tensor(0), 1),
        lambda: x.squeeze(1),
        lambda: x.transpose(0, 1),
        lambda: x.flip(1),
        lambda: x.movedim(0, 1),
        lambda: x.flatten(1),
    ):
        with pytest.raises(IndexError, match="out of"):
            call()
    with pytest.raises(RuntimeError, match="expected one"):
        x.index_select(0, lg.tensor([0, 0]))


def test_no_axes_roll_all():
    """As in PyTorch, where that is the default."""
    assert lg.arange(3).roll(1, ()).tolist() == [2, 0, 1]


def test_margin_losses():
    F = lg.nn.functional
    x = lg.tensor(V, requires_grad=True)
    for loss in (F.multi_margin_loss(x, lg.tensor(0)), F.multi_margin_loss(x, lg.tensor([0]))):
        assert (loss.shape, loss.item()) == ((), 0.0)
    for target in (0, -1):
        loss = F.multilabel_margin_loss(x, lg.tensor(target))
        loss.backward()
        assert (loss.shape, loss.item(), x.grad.item()) == ((), 0.0, 0.0)
