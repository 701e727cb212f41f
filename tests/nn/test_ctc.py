import itertools
import math

import numpy as np
import pytest
from golden import peer
from nn.compared import mapped, twice

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn import functional as F

REDUCTIONS = ["none", "mean", "sum"]


def logits(times, n, classes, seed=0):
    return np.random.default_rng(seed).normal(size=(times, n, classes))


def labels(n, most, classes, blank=0, seed=0):
    drawn = np.random.default_rng(seed).integers(0, classes - 1, (n, most))
    return drawn + (drawn >= blank)


def collapsed(path, blank):
    """A path without repetitions and blanks."""
    return tuple(k for k, _ in itertools.groupby(path) if k != blank)


def by_all_paths(log_probs, target, blank):
    """The definition: a sum over all paths that collapse to the target."""
    times, classes = log_probs.shape
    total = sum(
        math.exp(sum(log_probs[t, k] for t, k in enumerate(path)))
        for path in itertools.product(range(classes), repeat=times)
        if collapsed(path, blank) == tuple(target)
    )
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("blank", [0, 1, 2])
def test_against_the_definition(blank):
    logs = lg.log_softmax(lg.tensor(logits(5, 4, 3)), axis=-1)
    targets, lengths, times = labels(4, 3, 3, blank), [3, 2, 1, 0], [5, 4, 5, 3]
    targets[0, 1] = targets[0, 0]  # a label twice in a row needs a blank between
    loss = F.ctc_loss(logs, lg.tensor(targets), times, lengths, blank=blank, reduction="none")
    for k in range(4):
        expected = by_all_paths(logs.numpy()[: times[k], k], targets[k, : lengths[k]], blank)
        assert loss[k].item() == pytest.approx(expected, rel=1e-12)


def compare(torch, x, targets, times, lengths, **keywords):
    ours = lg.tensor(x, requires_grad=True)
    theirs = torch.tensor(x, requires_grad=True)
    one = F.ctc_loss(lg.log_softmax(ours, axis=-1), lg.tensor(targets), times, lengths, **keywords)
    given = [torch.tensor(v) if isinstance(v, np.ndarray) else v for v in (times, lengths)]
    given = [torch.tensor(v.numpy()) if isinstance(v, lg.Tensor) else v for v in given]
    two = torch.nn.functional.ctc_loss(theirs.log_softmax(-1), torch.tensor(targets), *given, **keywords)
    assert tuple(one.shape) == tuple(two.shape)
    np.testing.assert_allclose(one.detach().numpy(), two.detach().numpy(), rtol=1e-10)
    seed = np.random.default_rng(5).random(tuple(one.shape)) + 0.5
    one.backward(lg.tensor(seed))
    two.backward(torch.tensor(seed))
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("blank", [0, 3])
@pytest.mark.parametrize("concatenated", [False, True])
def test_against_pytorch(reduction, blank, concatenated):
    torch = peer("torch")
    targets, times, lengths = labels(4, 5, 6, blank), (12, 10, 7, 12), (5, 3, 1, 4)
    if concatenated:
        targets = np.concatenate([row[:n] for row, n in zip(targets, lengths, strict=True)])
    compare(torch, logits(12, 4, 6), targets, times, lengths, blank=blank, reduction=reduction)


def test_lengths_as_tensors_and_lists():
    torch = peer("torch")
    x, targets = logits(8, 3, 4), labels(3, 3, 4)
    for times, lengths in (
        ([8, 8, 6], [3, 0, 2]),
        (lg.tensor([8, 8, 6]), lg.tensor([3, 0, 2])),
        (lg.tensor([8, 8, 6], dtype=lg.int32), lg.tensor([3, 0, 2], dtype=lg.int32)),
    ):
        if isinstance(times, list):
            times, lengths = tuple(times), tuple(lengths)
        compare(torch, x, targets, times, lengths)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_one_sequence(reduction):
    torch = peer("torch")
    compare(torch, logits(8, 1, 4)[:, 0], labels(1, 3, 4)[0], (8,), (3,), reduction=reduction)
    ours = F.ctc_loss(
        lg.log_softmax(lg.tensor(logits(8, 1, 4)[:, 0]), axis=-1),
        lg.tensor(labels(1, 3, 4)[0]),
        lg.tensor(8),
        lg.tensor(3),
    )
    assert ours.shape == ()


def test_long_sequences_stay_exact():
    torch = peer("torch")
    compare(torch, logits(400, 2, 20) * 6, labels(2, 60, 20), (400, 380), (60, 41))


def test_targets_that_do_not_fit():
    torch = peer("torch")
    x, targets = logits(3, 2, 4), np.array([[1, 2, 3, 1], [1, 2, 0, 0]])
    given = lg.tensor(x, requires_grad=True)
    logs = lg.log_softmax(given, axis=-1)
    loss = F.ctc_loss(logs, lg.tensor(targets), (3, 3), (4, 2), reduction="none")
    assert loss[0].item() == math.inf and math.isfinite(loss[1].item())
    compare(torch, x, targets, (3, 3), (4, 2), reduction="none", zero_infinity=True)
    compare(torch, x, targets, (3, 3), (4, 2), reduction="mean", zero_infinity=True)
    F.ctc_loss(logs, lg.tensor(targets), (3, 3), (4, 2), reduction="sum", zero_infinity=True).backward()
    assert np.isfinite(given.grad.numpy()).all() and not given.grad.numpy()[:, 0].any()


def test_inputs_without_times():
    logs = lg.log_softmax(lg.tensor(logits(3, 2, 4)), axis=-1)
    loss = F.ctc_loss(logs, lg.tensor([[1], [1]]), (0, 0), (0, 1), reduction="none")
    assert loss.tolist() == [0.0, math.inf]


def test_gradients_sum_to_the_number_of_times():
    logs = lg.tensor(logits(7, 2, 4), requires_grad=True)
    F.ctc_loss(logs, lg.tensor(labels(2, 2, 4)), (7, 5), (2, 1), reduction="sum").backward()
    sums = -logs.grad.numpy().sum(axis=2)  # at each time a path is in one state
    np.testing.assert_allclose(sums[:, 0], np.ones(7))
    np.testing.assert_allclose(sums[:, 1], [1, 1, 1, 1, 1, 0, 0])


def test_derivatives():
    targets = lg.tensor([[1, 1], [2, 1]])
    twice(lambda x: F.ctc_loss(x, targets, (4, 3), (2, 1), reduction="none"), logits(4, 2, 3))
    twice(lambda x: F.ctc_loss(lg.log_softmax(x, axis=-1), targets, (4, 4), (2, 2)), logits(4, 2, 3))


def test_forward_mode():
    x, t = lg.tensor(logits(4, 2, 3)), lg.tensor(logits(4, 2, 3, seed=1))

    def loss(x):
        return F.ctc_loss(x, lg.tensor([[1, 1], [2, 1]]), (4, 3), (2, 1), reduction="sum")

    _, pushed = lg.func.jvp(loss, (x,), (t,))
    np.testing.assert_allclose(pushed.item(), (lg.func.grad(loss)(x) * t).sum().item(), rtol=1e-12)


def test_vmap():
    x = np.stack([logits(4, 2, 3, seed=k) for k in range(3)])
    mapped(lambda x: F.ctc_loss(x, lg.tensor([[1, 1], [2, 1]]), (4, 3), (2, 1), reduction="none"), x)
    targets = np.array([[[1, 2], [2, 1]], [[1, 1], [2, 2]], [[2, 1], [1, 1]]])
    mapped(lambda x, t: F.ctc_loss(x, t, (4, 3), (2, 1)), x, targets)


ERRORS = [
    (lambda x: F.ctc_loss(x, lg.tensor([[1]]), [5], [1]), RuntimeError, "above 4"),
    (lambda x: F.ctc_loss(x, lg.tensor([[1]]), [4], [2]), RuntimeError, "above 1"),
    (lambda x: F.ctc_loss(x, lg.tensor([[1]]), [4, 4], [1]), RuntimeError, "2 input_lengths"),
    (lambda x: F.ctc_loss(x, lg.tensor([1, 2]), [4], [1]), RuntimeError, "add up to 1"),
    (lambda x: F.ctc_loss(x, lg.tensor([[1]]), [4], [1], blank=3), RuntimeError, "blank=3"),
    (lambda x: F.ctc_loss(x, lg.tensor([[1.0]]), [4], [1]), RuntimeError, "integers"),
    (lambda x: F.ctc_loss(x[0, 0], lg.tensor([[1]]), [4], [1]), RuntimeError, "log_probs"),
    (lambda x: F.ctc_loss(x, lg.tensor([[1], [1]]), [4], [1]), RuntimeError, "1 rows"),
    (lambda x: F.ctc_loss(x, lg.tensor([[1]]), [4], [1], reduction="all"), ValueError, "'all'"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call(lg.zeros((4, 1, 3)))


def test_layer():
    torch = peer("torch")
    ours = nn.CTCLoss(blank=2, reduction="sum", zero_infinity=True)
    assert repr(ours) == repr(torch.nn.CTCLoss(blank=2))
    logs = lg.log_softmax(lg.tensor(logits(4, 2, 3)), axis=-1)
    args = (logs, lg.tensor([[1, 0], [0, 1]]), [4, 4], [2, 1])
    expected = F.ctc_loss(*args, blank=2, reduction="sum", zero_infinity=True)
    assert ours(*args).item() == expected.item()


def test_on_the_device():
    results = []
    for device in ("cpu", "cuda:0"):
        x = lg.tensor(logits(4, 2, 3).astype("f"), device=device, requires_grad=True)
        targets = lg.tensor([[1, 1], [2, 1]], device=device)
        loss = F.ctc_loss(lg.log_softmax(x, axis=-1), targets, lg.tensor([4, 3], device=device), [2, 1])
        loss.backward()
        results.append([loss.item(), x.grad.cpu().numpy()])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
