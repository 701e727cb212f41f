"""Steps on row-sparse gradients: PyTorch's, on the rows that were looked up, and refused before anything changes."""

import copy

import numpy as np
import pytest
from golden import peer, thin

import lucidgrad as lg
from lucidgrad.backends import cudasim

torch = peer("torch")
LENGTH = 9
CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.2, "maximize": True}),
    ("SparseAdam", {"lr": 0.1}),
    ("SparseAdam", {"lr": 0.1, "betas": (0.5, 0.6), "eps": 1e-2, "maximize": True}),
]


def batches(seed=0, count=6):
    rng = np.random.default_rng(seed)
    found = [(rng.integers(0, LENGTH - 1, size=(2, 3)), rng.normal(size=(2, 3, 2))) for _ in range(count)]
    nothing = np.zeros((0, 3), dtype=np.int64), np.zeros((0, 3, 2))
    padding = np.full((1, 3), 2), np.ones((1, 3, 2))
    return [*found[:2], nothing, padding, *found[2:]]


def start():
    return np.random.default_rng(5).normal(size=(LENGTH, 2))


def train(library, name, options, device="cpu", steps=None, **lookup):
    """A table that is trained, and its optimiser; the last row is never looked up."""
    w = library.tensor(start(), requires_grad=True, **({"device": device} if device != "cpu" else {}))
    b = library.tensor(start(), requires_grad=True, **({"device": device} if device != "cpu" else {}))
    optimiser = getattr(library.optim, name)([w] if name == "SparseAdam" else [w, b], **options)
    for indices, factor in batches() if steps is None else steps:
        optimiser.zero_grad()
        indices, factor = (library.tensor(x).to(device) for x in (indices, factor))
        y = library.nn.functional.embedding(indices, w, **lookup)
        ((y * factor).sum() + (b * b * 0.1).sum()).backward()
        optimiser.step()
    return w, b, optimiser


def close(ours, theirs):
    theirs = theirs.to_dense() if theirs.is_sparse else theirs
    np.testing.assert_allclose(thin(ours.detach().cpu()).numpy(), thin(theirs.detach()).numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_steps_are_those_of_pytorch(name, options, padding, device):
    ours = train(lg, name, options, device, sparse=True, padding_idx=padding)
    theirs = train(torch, name, options, sparse=True, padding_idx=padding)
    close(ours[0], theirs[0])
    close(ours[1], theirs[1])
    assert ours[0][LENGTH - 1].tolist() == start()[LENGTH - 1].tolist()
    mine, other = (found[2].state_dict() for found in (ours, theirs))
    assert mine["param_groups"] == other["param_groups"] and list(mine["state"]) == list(other["state"])
    for number, state in mine["state"].items():
        assert list(state) == list(other["state"][number])
        for key, value in state.items():
            if key == "step":
                assert value == float(other["state"][number][key])
            else:
                close(value, other["state"][number][key])
    resumed = getattr(lg.optim, name)(list(ours[:1] if name == "SparseAdam" else ours[:2]), **options)
    resumed.load_state_dict(mine)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_states_of_pytorch_are_taken_over(name, options):
    w, b, theirs = train(torch, name, options, sparse=True, steps=batches()[:3])
    ours = [lg.tensor(x.detach().numpy(), requires_grad=True) for x in (w, b)]
    mine = getattr(lg.optim, name)(ours[:1] if name == "SparseAdam" else ours, **options)
    saved = copy.deepcopy(theirs.state_dict())
    for state in saved["state"].values():
        state.update({k: v.to_dense() for k, v in state.items() if getattr(v, "is_sparse", False)})
    mine.load_state_dict(saved)
    for library, x, optimiser in ((lg, ours[0], mine), (torch, w, theirs)):
        optimiser.zero_grad()
        library.nn.functional.embedding(library.tensor([1, 1, 4]), x, sparse=True).sum().backward()
        optimiser.step()
    close(ours[0], w)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(("name", "options"), [case for case in CASES if case[0] != "SparseAdam"])
def test_rows_take_the_step_of_the_whole(name, options, device):
    """Without a padding row, and where zeros as a gradient change nothing."""
    sparse = train(lg, name, options, device, sparse=True)[0]
    dense = train(lg, name, options, device, sparse=False)[0]
    np.testing.assert_allclose(sparse.detach().cpu().numpy(), dense.detach().cpu().numpy(), rtol=1e-12)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_rows_with_zeros_are_touched_and_padding_is_not(device):
    """PyTorch's meaning: moments of rows that were looked up decay, whatever their gradient was."""
    w = lg.ones((4, 2), dtype="float64", device=device).requires_grad_()
    optimiser = lg.optim.SparseAdam([w], lr=0.1)
    for padding, factor, rows in ((None, 1.0, [1, 2, 3]), (2, 0.0, [1, 2]), (2, 1.0, [2, 2])):
        optimiser.zero_grad()
        i = lg.tensor(rows, device=device)
        (lg.nn.functional.embedding(i, w, sparse=True, padding_idx=padding) * factor).sum().backward()
        optimiser.step()
    means = optimiser.state[w]["exp_avg"][:, 0].cpu().numpy()
    np.testing.assert_allclose(means, [0.0, 0.09, 0.1, 0.1], rtol=1e-12)
    assert optimiser.state[w]["step"] == 3


def test_a_padding_row_stays_without_epsilon():
    w = lg.ones((3, 2), device="cuda").requires_grad_()
    optimiser = lg.optim.Adagrad([w], lr=0.1, eps=0)
    for rows in ([0, 1, 1], [1, 1]):
        optimiser.zero_grad()
        lg.nn.functional.embedding(lg.tensor(rows, device="cuda"), w, sparse=True, padding_idx=1).sum().backward()
        optimiser.step()
    np.testing.assert_allclose(w.tolist(), [[0.9, 0.9], [1.0, 1.0], [1.0, 1.0]], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex128"])
@pytest.mark.parametrize("name", ["SGD", "Adagrad", "SparseAdam"])
def test_other_dtypes(name, dtype):
    if name == "SparseAdam" and dtype == "complex128":
        pytest.skip("PyTorch refuses it, too")
    found = []
    for sparse in (True, False):
        w = lg.tensor(start(), dtype=dtype, requires_grad=True)
        eps = {} if name == "SGD" else {"eps": 1e-2}  # the usual ones are nothing in 16 bits
        optimiser = getattr(lg.optim, name)([w], lr=0.1, **eps)
        for rows in ([0, 1, 1], [4, 4, 1]):
            optimiser.zero_grad()
            y = lg.nn.functional.embedding(lg.tensor(rows), w, sparse=sparse)
            abs(y * y).sum().backward()
            assert w.grad.is_sparse == sparse
            optimiser.step()
        assert str(w.dtype) == dtype
        found.append(w.detach().numpy())
    np.testing.assert_allclose(*found, rtol=1e-2 if dtype == "float16" else 1e-6)


# -- refusals ----------------------------------------------------------------------------------------
REFUSING = [
    *((name, {}) for name in "Adadelta Adafactor Adam AdamW Adamax ASGD Lion Muon NAdam RAdam RMSprop Rprop".split()),
    ("SGD", {"weight_decay": 0.1}),
    ("SGD", {"weight_decay": 0.1, "momentum": 0.9}),
    ("Adagrad", {"weight_decay": 0.1}),
    ("SGD", {"differentiable": True}),
]


@pytest.mark.parametrize("closes", [False, True])
@pytest.mark.parametrize(("name", "options"), REFUSING)
def test_others_refuse_and_change_nothing(name, options, closes):
    first = lg.tensor(start(), requires_grad=True)  # in a group of its own, which comes first
    w = lg.tensor(start(), requires_grad=True)
    optimiser = getattr(lg.optim, name)([{"params": [first]}, {"params": [w]}], **{"lr": 0.1, **options})

    def closure():
        optimiser.zero_grad()
        loss = (first * first).sum() + lg.nn.functional.embedding(lg.tensor([1, 1]), w, sparse=True).sum()
        loss.backward()
        return loss

    before = copy.deepcopy(optimiser.state_dict()["state"])
    given = [closure] if closes else []
    if not closes:
        closure()
    with pytest.raises(RuntimeError, match="sparse gradients"):
        optimiser.step(*given)
    assert first.tolist() == w.tolist() == start().tolist()
    assert str(optimiser.state_dict()["state"]) == str(before)
    w.grad = w.grad.to_dense()
    if not options:
        optimiser.step()
        assert first.tolist() != start().tolist()


def test_messages_are_those_of_pytorch():
    for name in ("Adam", "Adamax", "RMSprop"):
        messages = []
        for library in (lg, torch):
            w = library.ones((3, 2), requires_grad=True)
            library.nn.functional.embedding(library.tensor([1]), w, sparse=True).sum().backward()
            with pytest.raises(RuntimeError) as error:
                getattr(library.optim, name)([w], lr=0.1).step()
            messages.append(str(error.value))
        assert messages[0].startswith(messages[1])


def test_optimisers_of_users_and_lbfgs_see_the_whole():
    class Descent(lg.optim.Optimizer):
        @lg.no_grad()
        def step(self, closure=None):
            for p in self.param_groups[0]["params"]:
                p.add_(p.grad, alpha=-0.1)

    w = lg.ones((3, 2), requires_grad=True)
    lg.nn.functional.embedding(lg.tensor([1]), w, sparse=True).sum().backward()
    Descent([w], {}).step()
    np.testing.assert_allclose(w.detach().numpy(), [[1, 1], [0.9, 0.9], [1, 1]], rtol=1e-6)
    found = []
    for sparse in (False, True):
        w = lg.tensor(start(), requires_grad=True)
        optimiser = lg.optim.LBFGS([w], lr=0.5, max_iter=4)

        def closure(w=w, optimiser=optimiser, sparse=sparse):
            optimiser.zero_grad()
            loss = (lg.nn.functional.embedding(lg.tensor([1, 4, 4]), w, sparse=sparse) ** 2).sum()
            loss.backward()
            return loss

        optimiser.step(closure)
        found.append(w.detach().numpy())
    np.testing.assert_allclose(*found)


# -- mixed precision, and devices --------------------------------------------------------------------
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", ["SGD", "Adagrad", "SparseAdam"])
@pytest.mark.parametrize("unscales", [False, True])
def test_scaled_losses(name, device, unscales):
    found = []
    for sparse in (False, True):
        w = lg.tensor(start(), dtype="float32", device=device, requires_grad=True)
        optimiser, scaler = getattr(lg.optim, name)([w], lr=0.1), lg.amp.GradScaler(device, init_scale=1024.0)
        for factor in (1.0, float("inf"), 2.0):
            optimiser.zero_grad()
            y = lg.nn.functional.embedding(lg.tensor([1, 4, 4], device=device), w, sparse=sparse)
            scaler.scale((y * y * factor).sum()).backward()
            if unscales:
                scaler.unscale_(optimiser)
                assert w.grad.is_sparse == sparse
            scaler.step(optimiser)
            scaler.update()
        found.append((w.detach().cpu().numpy(), scaler.get_scale()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    assert found[0][1] == found[1][1] and np.isfinite(found[0][0]).all()


@pytest.mark.skipif(not cudasim.is_installed(), reason="only the emulated device counts")
@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("name", ["SGD", "Adagrad", "SparseAdam"])
def test_nothing_waits_and_nothing_as_large_as_the_table_is_moved(name, padding):
    w = lg.zeros((20_000, 32), device="cuda").requires_grad_()
    optimiser = getattr(lg.optim, name)([w], lr=0.1)
    i = lg.tensor(np.random.default_rng(0).integers(0, 20_000, size=64), device="cuda")
    for _ in range(3):
        optimiser.zero_grad()
        used = lg.cuda.memory_allocated()
        lg.cuda.reset_peak_memory_stats()
        with cudasim.counting() as counts:
            (lg.nn.functional.embedding(i, w, sparse=True, padding_idx=padding) ** 2).sum().backward()
            lg.nn.utils.clip_grad_norm_([w], 1.0)
            optimiser.step()
        assert w.grad.is_sparse
    assert counts.synchronisations == counts.copies_to_host == counts.copies_to_device == 0
    assert lg.cuda.max_memory_allocated() - used < w.nbytes / 4  # of which most are numbers of rows


def test_graphs_refuse_by_name():
    w = lg.ones((4, 2), device="cuda").requires_grad_()
    optimiser, i = lg.optim.SparseAdam([w], lr=0.1), lg.tensor([1, 1, 3], device="cuda")

    def step(whole):
        optimiser.zero_grad()
        lg.nn.functional.embedding(i, w, sparse=True).sum().backward()
        w.grad = w.grad.to_dense() if whole else w.grad
        optimiser.step()

    step(False)
    step(True)
    before = w.tolist()
    with pytest.raises(RuntimeError, match="row-sparse"), lg.cuda.graph(lg.cuda.CUDAGraph()):
        step(False)
    assert w.tolist() == before


def test_streams(lazy):
    side = lg.cuda.Stream()
    w = lg.ones((4, 2), device="cuda").requires_grad_()
    with lg.cuda.stream(side):
        y = lg.nn.functional.embedding(lg.tensor([1, 1, 3], device="cuda"), w, sparse=True) * 2
    y.sum().backward()
    (lg.nn.functional.embedding(lg.tensor([0], device="cuda"), w, sparse=True) * 2).sum().backward()
    optimiser = lg.optim.SGD([w], lr=0.25)
    optimiser.step()
    assert w.tolist() == [[0.5, 0.5], [0.0, 0.0], [1.0, 1.0], [0.5, 0.5]]
