"""Gradients of lookups with ``sparse=True``: the rows that were looked up, and the dense gradient's values."""

import copy
import gc
import pickle
import tracemalloc

import numpy as np
import pytest
from golden import peer
from thoroughness import seeds

import lucidgrad as lg
from lucidgrad.nn import functional as F

torch = peer("torch")
DEVICES = ["cpu", "cuda"]
LENGTH = 11

#: By name, what is done with a table: ``call(F, table, indices, sparse)``.
LOOKUPS = {
    "plain": lambda w, i, **k: F.embedding(i, w, **k),
    "vector": lambda w, i, **k: F.embedding(i.reshape(-1), w, **k),
    "short indices": lambda w, i, **k: F.embedding(i.to(lg.int32), w, **k),
    "padding": lambda w, i, **k: F.embedding(i, w, padding_idx=3, **k),
    "padding alone": lambda w, i, **k: F.embedding(i * 0 + 3, w, padding_idx=3, **k),
    "frequency": lambda w, i, **k: F.embedding(i, w, scale_grad_by_freq=True, **k),
    "both": lambda w, i, **k: F.embedding(i, w, scale_grad_by_freq=True, padding_idx=-2, **k),
    "max_norm": lambda w, i, **k: F.embedding(i, w, max_norm=0.5, **k),
    "sums": lambda w, i, **k: F.embedding_bag(i, w, mode="sum", **k),
    "means": lambda w, i, **k: F.embedding_bag(i, w, mode="mean", padding_idx=3, **k),
    "maxima": lambda w, i, **k: F.embedding_bag(i, w, mode="max", **k),
    "weighed": lambda w, i, **k: F.embedding_bag(
        i, w, mode="sum", per_sample_weights=lg.ones_like(i).to(w.dtype) / 3, **k
    ),
    "nothing": lambda w, i, **k: F.embedding(i[:0], w, **k),
    "twice": lambda w, i, **k: F.embedding(i, w, **k) * F.embedding(i + 1, w, **k),
}


def table(device="cpu", dtype="float64", seed=0):
    values = np.random.default_rng(seed).normal(size=(LENGTH, 3))
    return lg.tensor(values, dtype=dtype, device=device, requires_grad=True)


def some(device="cpu", seed=1, shape=(4, 5)):
    return lg.tensor(np.random.default_rng(seed).integers(0, LENGTH - 1, size=shape), device=device)


def gradient(lookup, sparse, device="cpu", seed=1, dtype="float64"):
    w = table(device, dtype)
    y = LOOKUPS[lookup](w, some(device, seed), sparse=sparse)
    (y * y).sum().backward()
    return w.grad


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("lookup", LOOKUPS)
def test_rows_have_the_values_of_the_dense_gradient(lookup, device):
    for seed in seeds(3, 30):
        dense, sparse = (gradient(lookup, s, device, seed) for s in (False, True))
        assert sparse.is_sparse and not dense.is_sparse
        assert (sparse.shape, sparse.dtype, sparse.device) == (dense.shape, dense.dtype, dense.device)
        np.testing.assert_allclose(sparse.to_dense().cpu().numpy(), dense.cpu().numpy(), rtol=1e-12, atol=1e-14)
        once = sparse.coalesce()
        assert once.is_coalesced() and once.coalesce() is once
        at = once.indices().cpu().numpy()
        assert at.shape == (1, once._nnz()) and at.dtype == np.int64 and (np.diff(at[0]) > 0).all()
        np.testing.assert_allclose(once.values().cpu().numpy(), dense.cpu().numpy()[at[0]], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_other_floats(dtype):
    dense, sparse = (gradient("plain", s, dtype=dtype) for s in (False, True))
    assert sparse.is_sparse and str(sparse.dtype) == dtype
    assert sparse.to_dense().tolist() == dense.tolist()
    with pytest.raises(TypeError, match="given a tensor as dtype"):
        sparse.to_dense(dense)
    assert sparse.coalesce().to_dense().tolist() == dense.tolist()  # a sum is rounded once, however it is made


@pytest.mark.parametrize("options", [{}, {"padding_idx": 3}, {"max_norm": 0.5}, {"padding_idx": 0}])
def test_rows_are_those_of_pytorch(options):
    indices = some().numpy()
    found = []
    for library, w in ((lg, table()), (torch, torch.tensor(table().detach().numpy(), requires_grad=True))):
        y = library.nn.functional.embedding(library.tensor(indices), w, sparse=True, **options)
        (y * y).sum().backward()
        g = w.grad.coalesce()
        found.append(
            (g.indices().numpy(), g.values().numpy(), w.grad.to_dense().numpy(), g.sparse_dim(), g.dense_dim())
        )
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_the_door():
    import lucidgrad.torch as door

    w = table()
    (door.embedding(w, some(), sparse=True) ** 2).sum().backward()
    assert w.grad.is_sparse
    g = door.nn.Embedding(LENGTH, 3, sparse=True)
    assert not g.weight.is_sparse
    g(some()).sum().backward()
    assert g.weight.grad.is_sparse and g.weight.grad.coalesce().values().shape[1:] == (3,)


def test_what_pytorch_refuses():
    for call in (lambda g: g.indices(), lambda g: g.values()):
        messages = []
        for library, w in ((lg, table()), (torch, torch.tensor(table().detach().numpy(), requires_grad=True))):
            library.nn.functional.embedding(library.tensor([1, 1]), w, sparse=True).sum().backward()
            with pytest.raises(RuntimeError) as error:
                call(w.grad)
            messages.append(str(error.value))
        assert messages[0] == messages[1]
    for name in ("indices", "values", "coalesce", "is_coalesced"):
        with pytest.raises(RuntimeError, match="row-sparse"):
            getattr(table(), name)()
    x = table()
    assert x.to_dense() is x and x.sparse_dim() == 0 and x.dense_dim() == 2 and not x.is_sparse


# -- accumulation ------------------------------------------------------------------------------------
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("order", ["ss", "sd", "ds", "sss", "sds", "dss", "ssssssss"])
def test_several_backwards(order, device):
    """Rows and rows are rows; anything with something dense is dense."""
    w, other = table(device), table(device)
    for k, kind in enumerate(order):
        i = some(device, seed=k)
        for x, sparse in ((w, kind == "s"), (other, False)):
            (F.embedding(i, x, sparse=sparse) ** 2).sum().backward()
    assert w.grad.is_sparse == ("d" not in order)
    np.testing.assert_allclose(w.grad.to_dense().cpu().numpy(), other.grad.cpu().numpy(), rtol=1e-12, atol=1e-14)
    if w.grad.is_sparse:
        assert w.grad._nnz() <= max(LENGTH, 20)  # they don't grow without end


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("order", ["lookup first", "product first", "between"])
def test_tied_weights(order, device):
    """As in a language model: looked up in, and the matrix of its last layer."""
    found = []
    for sparse in (False, True):
        w, i = table(device), some(device)
        parts = [
            lambda w=w, i=i, s=sparse: (F.embedding(i, w, sparse=s) @ w.T).sum(),
            lambda w=w: (w @ w.T).sum(),
            lambda w=w, i=i, s=sparse: (F.embedding(i, w, sparse=s) ** 3).sum(),
        ]
        parts = {"lookup first": parts[:2], "product first": parts[1::-1], "between": parts}[order]
        sum(part() for part in parts).backward()
        assert not w.grad.is_sparse
        found.append(w.grad.cpu().numpy())
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_zero_grad_and_none():
    w = table()
    F.embedding(some(), w, sparse=True).sum().backward()
    g = w.grad
    w.zero_grad(set_to_none=False)
    assert w.grad is g and g.is_sparse and g._nnz() == 0 and not g.to_dense().any()
    (F.embedding(lg.tensor([4, 4]), w, sparse=True)).sum().backward()
    assert w.grad.is_sparse and w.grad.coalesce().indices().tolist() == [[4]]
    w.zero_grad()
    assert w.grad is None


def test_gradients_of_grad():
    w = table()
    loss = (F.embedding(some(), w, sparse=True) ** 2).sum()
    (g,) = lg.autograd.grad(loss, w, retain_graph=True)
    assert g.is_sparse
    (recorded,) = lg.autograd.grad(loss, w, create_graph=True)
    assert not recorded.is_sparse and recorded.requires_grad
    np.testing.assert_allclose(g.to_dense().numpy(), recorded.detach().numpy(), rtol=1e-12)
    (second,) = lg.autograd.grad((recorded**2).sum(), w)
    dense = (F.embedding(some(), w) ** 2).sum()
    (expected,) = lg.autograd.grad((lg.autograd.grad(dense, w, create_graph=True)[0] ** 2).sum(), w)
    np.testing.assert_allclose(second.numpy(), expected.numpy(), rtol=1e-12)


# -- what else looks at gradients --------------------------------------------------------------------
def test_hooks_see_them():
    w, seen = table(), []
    w.register_hook(lambda g: seen.append(g.is_sparse))
    w.register_hook(lambda g: g * 2)
    w.register_post_accumulate_grad_hook(lambda w: seen.append(w.grad.is_sparse))
    (F.embedding(some(), w, sparse=True) ** 2).sum().backward()
    assert seen == [True, True]
    np.testing.assert_allclose(w.grad.to_dense().numpy(), 2 * gradient("plain", False).numpy(), rtol=1e-12)


@pytest.mark.parametrize("watch", [lg.autograd.detect_anomaly, lambda: lg.profiler.profile()])
def test_who_watches_changes_nothing(watch):
    w = table()
    with watch():
        (F.embedding(some(), w, sparse=True) ** 2).sum().backward()
    assert w.grad.is_sparse
    np.testing.assert_allclose(w.grad.to_dense().numpy(), gradient("plain", False).numpy(), rtol=1e-12)


def test_tables_that_were_computed_have_dense_gradients():
    found = []
    for sparse in (False, True):
        w = table()
        (F.embedding(some(), w * 2, sparse=sparse) ** 2).sum().backward()
        assert not w.grad.is_sparse
        found.append(w.grad.numpy())
    np.testing.assert_array_equal(*found)


def test_transforms():
    i, w = some(), table().detach()

    def f(w, sparse):
        return (F.embedding(i, w, sparse=sparse) ** 3).sum()

    for transform in (
        lambda f: lg.func.grad(f)(w),
        lambda f: lg.func.hessian(f)(w),
        lambda f: lg.func.jvp(f, (w,), (w,))[1],
        lambda f: lg.func.vmap(lg.func.grad(f))(lg.stack([w, 2 * w])),
        lambda f: lg.func.jacrev(lambda w: lg.stack([f(w), f(2 * w)]))(w),
        lambda f: lg.func.grad(lambda w: (lg.func.grad(f)(w) ** 2).sum())(w),
        lambda f: lg.func.vjp(f, w)[1](lg.tensor(2.0, dtype="float64"))[0],
    ):
        sparse, dense = (transform(lambda w, s=s: f(w, s)) for s in (True, False))
        np.testing.assert_allclose(sparse.numpy(), dense.numpy(), rtol=1e-10, atol=1e-12)


def test_compiled_steps_have_dense_gradients():
    found = []
    for compiles in (False, True):
        w, i = table(), some()
        optimiser = lg.optim.SGD([w], lr=0.1)

        def step(i, w=w, optimiser=optimiser):
            optimiser.zero_grad()
            loss = (F.embedding(i, w, sparse=True) ** 2).sum()
            loss.backward()
            optimiser.step()
            return loss

        step = lg.compile(step) if compiles else step
        for k in range(4):
            step(some(seed=k))
        assert w.grad.is_sparse == (not compiles)
        found.append(w.detach().numpy())
    np.testing.assert_allclose(*found, rtol=1e-12)
    w = table()
    (F.embedding(i, w, sparse=True) ** 2).sum().backward()
    more = lg.compile(lambda w: (F.embedding(i, w, sparse=True) ** 2).sum().backward())
    for _ in range(2):  # to rows that are there already
        more(w)
    np.testing.assert_allclose(w.grad.numpy(), 3 * gradient("plain", False).numpy(), rtol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
def test_operations_see_the_whole(device):
    g, whole = gradient("padding", True, device), gradient("padding", False, device).cpu().numpy()
    same = np.testing.assert_allclose
    for kept, expected in (
        (g * 2, whole * 2), (2 * g, whole * 2), (g / 4, whole / 4), (-g, -whole), (g + g, 2 * whole),
        (g * lg.tensor(3.0, dtype="float64", device=device), 3 * whole), (g.clone(), whole), (g.detach(), whole),
        (g.to(lg.float32), whole.astype("float32")), (g.cpu(), whole),
        (copy.deepcopy(g), whole),
    ):  # fmt: skip
        assert kept.is_sparse
        same(kept.to_dense().cpu().numpy(), expected, rtol=1e-12 if kept.itemsize == 8 else 1e-6)
    dense = lg.tensor(whole, device=device)
    for made, expected in (
        (g + 1, whole + 1), (g + dense, 2 * whole), (dense + g, 2 * whole), (dense - g, 0 * whole), (g**2, whole**2),
        (1 / (g + 1), 1 / (whole + 1)), (g.T, whole.T), (g[2], whole[2]), (g @ g.T, whole @ whole.T), (g * g, whole**2),
        (lg.sum(g, axis=0), whole.sum(0)), (g.exp(), np.exp(whole)), (g > 0, whole > 0), (lg.zeros_like(g), 0 * whole),
        (lg.where(dense > 0, g, dense), whole), (g.norm(), np.linalg.norm(whole)), (lg.cat([g, dense]), [*whole] * 2),
        (g.to(lg.int64), whole.astype("int64")),
    ):  # fmt: skip
        assert not made.is_sparse
        same(made.cpu().numpy(), expected, rtol=1e-12)
    same(g.cpu().numpy(), whole, rtol=1e-12)
    same(np.asarray(g.cpu()), whole, rtol=1e-12)
    same(pickle.loads(pickle.dumps(g)).cpu().numpy(), whole, rtol=1e-12)
    assert g.tolist() == whole.tolist() and "indices=" in repr(g) and f"size=({LENGTH}, 3)" in repr(g)


@pytest.mark.parametrize("device", DEVICES)
def test_writes(device):
    """In place: other tensors that share the gradient see it, too."""
    for change in (
        lambda g: g.mul_(3), lambda g: g.add_(1), lambda g: g.clamp_(-0.1, 0.1), lambda g: g.zero_(),
        lambda g: g.copy_(lg.ones_like(g.to_dense())), lambda g: g.copy_(2 * g), lambda g: g.fill_(2.0),
        lambda g: g.__setitem__(2, 7.0), lambda g: g.div_(lg.full_like(g.to_dense(), 2.0)), lambda g: g.add_(g),
    ):  # fmt: skip
        g, dense = gradient("plain", True, device), gradient("plain", False, device)
        shared, version = g.detach(), g._version
        change(g)
        change(dense)
        assert g.is_sparse and g._version > version
        for x in (g, shared):
            np.testing.assert_allclose(x.to_dense().cpu().numpy(), dense.cpu().numpy(), rtol=1e-12)
    g, dense = gradient("plain", True, device), gradient("plain", False, device)
    for write in (
        lambda x: x.copy_(g),
        lambda x: x.__setitem__(..., g),
        lambda x: x.zero_().add_(g),
    ):  # into dense ones
        x = lg.zeros_like(dense)
        write(x)
        np.testing.assert_allclose(x.cpu().numpy(), dense.cpu().numpy(), rtol=1e-12)
    g._values().zero_()
    assert not g.to_dense().any()


@pytest.mark.parametrize("device", DEVICES)
def test_clipping(device):
    for clip in (
        lambda ps: lg.nn.utils.clip_grad_norm_(ps, 0.5),
        lambda ps: lg.nn.utils.clip_grad_norm_(ps, 0.5, norm_type=1),
        lambda ps: lg.nn.utils.clip_grad_norm_(ps, 0.5, norm_type=float("inf")),
        lambda ps: lg.nn.utils.clip_grad_norm_(ps, 0.5, norm_type=-float("inf")),
        lambda ps: lg.nn.utils.clip_grad_value_(ps, 0.1),
    ):
        found = []
        for sparse in (False, True):
            w, b = table(device), table(device, seed=5)
            ((F.embedding(some(device), w, sparse=sparse) ** 2).sum() + (b * b).sum()).backward()
            total = clip([w, b])
            assert w.grad.is_sparse == sparse
            found.append([x.cpu().numpy() for x in (w.grad, b.grad)] + ([] if total is None else [total.cpu().numpy()]))
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_indices_may_be_written_afterwards():
    w, i = table(), lg.tensor([1, 2, 2])
    (F.embedding(i, w, sparse=True)).sum().backward()
    i.zero_()
    assert w.grad.coalesce().indices().tolist() == [[1, 2]]


def test_gradients_share_no_memory_with_others():
    w = table()
    y = F.embedding(some(), w, sparse=True)
    y.retain_grad()
    (y * y).sum().backward()
    y.grad.zero_()
    np.testing.assert_allclose(w.grad.numpy(), gradient("plain", False).numpy(), rtol=1e-12)


def test_nothing_as_large_as_the_table_is_made():
    """A few rows of 50,000: what a step allocates goes with the rows."""
    w = lg.zeros((50_000, 128), requires_grad=True)
    i = lg.tensor(np.random.default_rng(0).integers(0, 50_000, size=4096))
    whole, rows = w.nbytes, 4096 * 128 * 4
    for name in ("SGD", "Adagrad", "SparseAdam"):
        optimiser = getattr(lg.optim, name)([w], lr=0.1)

        def step(optimiser=optimiser):
            optimiser.zero_grad()
            (F.embedding(i, w, sparse=True, padding_idx=0) ** 2).sum().backward()
            lg.nn.utils.clip_grad_norm_([w], 1.0)
            optimiser.step()

        step()  # states are made with the first one
        gc.collect()
        tracemalloc.start()
        try:
            step()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 10 * rows < whole, (name, peak / rows)
