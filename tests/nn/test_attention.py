"""Attention of one head and of many: against PyTorch, against the formula, differences, masks, errors."""

import itertools
import tracemalloc

import numpy as np
import pytest
from golden import peer
from nn.sequence_models import compare, draw, twins

import lucidgrad as lg

F = lg.nn.functional
FLAGS = np.array([[True, False, True, True], [True, True, False, True], [False, True, True, False]])
BLIND = np.array([[True, False, True, True], [False] * 4, [False, True, True, False]])


@pytest.fixture
def torch():
    return peer("torch")


def formula(q, k, v, mask=None, causal=False, scale=None):
    """Attention by definition, in NumPy; zeros where a query may look nowhere."""
    s = q @ np.swapaxes(k, -1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask
    if causal:
        s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, -np.inf)
    top = np.max(s, axis=-1, keepdims=True)
    p = np.exp(s - np.where(np.isinf(top), 0, top))
    total = p.sum(axis=-1, keepdims=True)
    return p / np.where(total == 0, 1, total) @ v


MASKS = {
    "none": (None, False),
    "flags": (FLAGS, False),
    "blind": (BLIND, False),
    "numbers": (draw(3, 4, seed=4), False),
    "one for each head": (draw(2, 1, 3, 4, seed=4), False),
    "infinite": (np.where(FLAGS, 0.0, -np.inf), False),
    "row": (draw(1, 4, seed=4), False),
    "causal": (None, True),
}


# -- one head ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(2, 3), (1,), (2, 2)], ids=str)
@pytest.mark.parametrize("kind", MASKS)
def test_values_are_the_formula(kind, shape):
    mask, causal = MASKS[kind]
    q, k, v = draw(*shape, 3, 5), draw(*shape, 4, 5, seed=1), draw(*shape, 4, 2, seed=2)
    if mask is not None and mask.ndim == 4 and len(shape) < 2:
        mask = mask[0]
    given = None if mask is None else lg.asarray(mask)
    for scale in (None, 0.3):
        y = F.scaled_dot_product_attention(*map(lg.asarray, (q, k, v)), given, 0.0, causal, scale)
        np.testing.assert_allclose(y.numpy(), formula(q, k, v, mask, causal, scale), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", MASKS)
def test_values_and_gradients_are_torchs(torch, kind):
    mask, causal = MASKS[kind]
    arrays = draw(2, 3, 3, 5), draw(2, 3, 4, 5, seed=1), draw(2, 3, 4, 5, seed=2)
    found = []
    for make, f in ((lg.asarray, F), (torch.from_numpy, torch.nn.functional)):
        xs = [make(a.copy()).requires_grad_() for a in arrays]
        given = None if mask is None else make(mask.copy())
        y = f.scaled_dot_product_attention(*xs, attn_mask=given, is_causal=causal)
        (y * make(draw(*y.shape, seed=7))).sum().backward()
        found.append([y.detach().numpy(), *(x.grad.numpy() for x in xs)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_gradients_of_masks_are_torchs(torch):
    for shape in ((3, 4), (1, 4), (2, 1, 3, 4), (2, 3, 3, 4), (3, 1, 1)):
        arrays = draw(2, 3, 3, 5), draw(2, 3, 4, 5, seed=1), draw(2, 3, 4, 5, seed=2), draw(*shape, seed=3)
        found = []
        for make, f in ((lg.asarray, F), (torch.from_numpy, torch.nn.functional)):
            xs = [make(a.copy()).requires_grad_() for a in arrays]
            y = f.scaled_dot_product_attention(*xs)
            (y * make(draw(*y.shape, seed=7))).sum().backward()
            found.append([x.grad.numpy() for x in xs])
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_heads_may_share_keys(torch):
    q, k, v = draw(2, 6, 3, 5), draw(2, 2, 4, 5, seed=1), draw(2, 2, 4, 5, seed=2)
    for mask, causal in ((None, False), (draw(2, 6, 3, 4), False), (draw(2, 1, 3, 4), False), (None, True)):
        found = []
        for make, f in ((lg.asarray, F), (torch.from_numpy, torch.nn.functional)):
            xs = [make(a.copy()).requires_grad_() for a in (q, k, v)]
            given = None if mask is None else make(mask)
            y = f.scaled_dot_product_attention(*xs, attn_mask=given, is_causal=causal, enable_gqa=True)
            (y * make(draw(*y.shape, seed=7))).sum().backward()
            found.append([y.detach().numpy(), *(x.grad.numpy() for x in xs)])
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    with pytest.raises(RuntimeError, match="5 heads"):
        F.scaled_dot_product_attention(*(lg.ones((n, 2, 2)) for n in (5, 2, 2)), enable_gqa=True)


def test_long_sequences_in_parts():
    """Weights of all heads are more than a block's."""
    q, k, v = (draw(2, 5, 300, 8, seed=s) for s in range(3))
    tensors = [lg.tensor(a, requires_grad=True) for a in (q, k, v)]
    y = F.scaled_dot_product_attention(*tensors, is_causal=True)
    np.testing.assert_allclose(y.detach().numpy(), formula(q, k, v, causal=True), rtol=1e-10, atol=1e-12)
    y.sum().backward()
    plain = [lg.tensor(a, requires_grad=True) for a in (q, k, v)]
    s = lg.matmul(plain[0] / 8**0.5, plain[1].swapaxes(-1, -2))
    s = lg.where(lg.tril(lg.ones((300, 300), dtype=lg.bool)), s, -float("inf"))
    lg.matmul(lg.softmax(s), plain[2]).sum().backward()
    for a, b in zip(tensors, plain, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["none", "causal", "flags", "blind", "numbers"])
def test_weights_in_c_are_those_in_numpy(monkeypatch, kind, dtype):
    from lucidgrad.backends.cpu.kernels import attention as kernels

    flags = draw(3, 1, 40, 30) > -1
    flags[:, :, 3] &= kind != "blind"
    mask = {"flags": flags, "blind": flags, "numbers": draw(40, 30).astype(dtype)}.get(kind)
    found = []
    for compiled in (True, False):
        if not compiled:
            for name in ("attention_weights", "attention_slopes"):
                monkeypatch.setattr(kernels.compiled, name, lambda *arrays: False)
        xs = [lg.tensor(draw(3, 2, n, 4, seed=s).astype(dtype), requires_grad=True) for s, n in enumerate((40, 30, 30))]
        given = None if mask is None else lg.tensor(mask)
        if kind == "numbers":
            given.requires_grad_()
        y = F.scaled_dot_product_attention(*xs, given, is_causal=kind == "causal")
        (y * y).sum().backward()
        leaves = [*xs, given] if kind == "numbers" else xs
        found.append([y.detach().numpy(), *(x.grad.numpy() for x in leaves)])
    tolerance = {"float32": 1e-5, "float64": 1e-12}[dtype]
    for a, b in zip(*found, strict=True):
        assert a.dtype == dtype and np.isfinite(a).all()
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_derivatives_of_two_orders():
    for mask, causal in ((None, True), (lg.asarray(FLAGS[:2, :3]), False), (lg.tensor(draw(2, 3)), False)):
        xs = [lg.tensor(draw(2, n, 2, seed=s), requires_grad=True) for s, n in enumerate((2, 3, 3))]
        extra = [] if mask is None or mask.dtype == lg.bool else [mask.requires_grad_()]
        fixed = mask if not extra else None

        def of(q, k, v, *m, fixed=fixed, causal=causal):
            return F.scaled_dot_product_attention(q, k, v, m[0] if m else fixed, is_causal=causal)

        assert lg.autograd.gradcheck(of, [*xs, *extra])
        assert lg.autograd.gradgradcheck(of, [*xs, *extra])


def test_dropout_of_weights():
    lg.manual_seed(0)
    q, v = lg.zeros((1, 2000, 2)), lg.ones((1, 4, 1))
    y = F.scaled_dot_product_attention(q, lg.zeros((1, 4, 2)), v, dropout_p=0.5).numpy()
    assert set(np.round(y.ravel() * 2).tolist()) == {0, 1, 2, 3, 4}
    assert abs(y.mean() - 1) < 0.05
    blind = F.scaled_dot_product_attention(
        *(lg.tensor(draw(3, 4)), lg.tensor(draw(4, 4)), lg.tensor(draw(4, 4)), lg.asarray(BLIND)), dropout_p=0.5
    )
    assert not blind[1].numpy().any() and np.isfinite(blind.numpy()).all()
    causal = F.scaled_dot_product_attention(*[lg.tensor(draw(4, 4))] * 3, dropout_p=1e-9, is_causal=True)
    np.testing.assert_allclose(causal.numpy(), formula(*[draw(4, 4)] * 3, causal=True), rtol=1e-6)


# -- many heads --------------------------------------------------------------------------------------
WAYS = [
    {},
    {"bias": False},
    {"add_bias_kv": True},
    {"add_zero_attn": True},
    {"kdim": 3, "vdim": 5},
    {"batch_first": True},
    {"batch_first": True, "add_bias_kv": True, "add_zero_attn": True, "kdim": 4},
]


def inputs(way, length=3, others=5, batch=2):
    widths = 4, way.get("kdim", 4), way.get("vdim", 4)
    lengths = length, others, others
    if batch is None:
        return [draw(n, w, seed=s) for s, (n, w) in enumerate(zip(lengths, widths, strict=True))]
    order = (lambda n: (batch, n)) if way.get("batch_first") else (lambda n: (n, batch))
    return [draw(*order(n), w, seed=s) for s, (n, w) in enumerate(zip(lengths, widths, strict=True))]


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_modules_are_torchs(torch, way, need_weights):
    ours, theirs = twins(torch, "MultiheadAttention", 4, 2, **way)
    padding = np.array([[False, True, False, False, True], [False] * 5])
    flags = draw(3, 5, seed=9) > 0.8
    masks = [
        {},
        {"key_padding_mask": padding},
        {"attn_mask": flags},
        {"attn_mask": flags, "key_padding_mask": padding},
        {"attn_mask": draw(4, 3, 5)},
        {"attn_mask": draw(3, 5), "key_padding_mask": np.where(padding, -np.inf, 0.0)},
    ]
    for mask in masks:
        compare(torch, ours, theirs, *inputs(way), **mask, need_weights=need_weights)
    compare(torch, ours, theirs, *inputs(way, batch=None), need_weights=need_weights)
    compare(torch, ours, theirs, *inputs(way, batch=None), need_weights=need_weights, key_padding_mask=padding[0])
    compare(torch, ours, theirs, *inputs(way), need_weights=need_weights, average_attn_weights=False)


@pytest.mark.parametrize("batch_first", [True, False])
def test_one_input_for_all_three(torch, batch_first):
    ours, theirs = twins(torch, "MultiheadAttention", 4, 2, batch_first=batch_first)
    causal = np.triu(np.ones((3, 3), dtype=bool), 1)
    for keywords in ({}, {"need_weights": False}, {"need_weights": False, "attn_mask": causal, "is_causal": True}):
        compare(torch, ours, theirs, draw(3, 3, 4), same=True, **keywords)
    query, memory = draw(3, 3, 4), draw(3, 3, 4, seed=1)  # keys are the values

    class Both:
        def __init__(self, module):
            self.module, self.parameters, self.zero_grad = module, module.parameters, module.zero_grad

        def __call__(self, q, m):
            return self.module(q, m, m)

    compare(torch, Both(ours), Both(theirs), query, memory)


def test_masks_of_two_types_warn():
    module = lg.nn.MultiheadAttention(4, 2)
    x = lg.ones((3, 2, 4))
    flags = lg.asarray(np.array([[False, True, False], [False] * 3]))
    with pytest.warns(UserWarning, match="different types"):
        y, _ = module(x, x, x, key_padding_mask=flags, attn_mask=lg.zeros((3, 3)))
    z, _ = module(x, x, x, key_padding_mask=flags)
    np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-6)


def test_static_keys_and_values(torch):
    arrays = [draw(3, 2, 4), draw(3, 2, 4), draw(3, 2, 4), draw(12, 4), draw(12), draw(4, 4), draw(4)]
    static = draw(4, 5, 2), draw(4, 5, 2, seed=1)
    found = []
    for make, f in ((lg.asarray, F), (torch.from_numpy, torch.nn.functional)):
        q, k, v, w, b, wo, bo = map(make, arrays)
        y, p = f.multi_head_attention_forward(
            q, k, v, 4, 2, w, b, None, None, False, 0.0, wo, bo, static_k=make(static[0]), static_v=make(static[1])
        )
        found.append((y.numpy(), p.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def test_dropout_only_while_training():
    lg.manual_seed(0)
    module = lg.nn.MultiheadAttention(4, 2, dropout=0.5)
    x = lg.asarray(draw(5, 2, 4).astype("f"))
    for need_weights in (True, False):
        module.train()
        one, other = (module(x, x, x, need_weights=need_weights)[0].detach().numpy() for _ in range(2))
        assert not np.allclose(one, other)
        module.eval()
        np.testing.assert_array_equal(*(module(x, x, x, need_weights=need_weights)[0].detach().numpy() for _ in "ab"))


def test_parameters_begin_as_torchs_do():
    lg.manual_seed(0)
    module = lg.nn.MultiheadAttention(64, 2)
    bound = np.sqrt(6 / (4 * 64))
    assert bound * 0.95 < np.abs(module.in_proj_weight.detach().numpy()).max() <= bound
    assert not module.in_proj_bias.detach().numpy().any() and not module.out_proj.bias.detach().numpy().any()


@pytest.mark.parametrize(
    ("kind", "make", "message"),
    [
        (ValueError, lambda: lg.nn.MultiheadAttention(0, 2), "embed_dim=0"),
        (AssertionError, lambda: lg.nn.MultiheadAttention(5, 2), "embed_dim=5"),
        (AssertionError, lambda: _call(lg.ones((3, 2, 5))), "5 features"),
        (AssertionError, lambda: _call(lg.ones((3, 2, 4)), key=lg.ones((3, 4))), "axes"),
        (AssertionError, lambda: _call(lg.ones((3, 2, 4)), key_padding_mask=lg.ones(3)), "key_padding_mask"),
        (AssertionError, lambda: _call(lg.ones((3, 2, 4)), attn_mask=lg.ones(3)), "attn_mask"),
        (AssertionError, lambda: _call(lg.ones((3, 2, 4)), attn_mask=lg.asarray(np.ones((3, 3), "int64"))), "int64"),
        (RuntimeError, lambda: _call(lg.ones((3, 2, 4)), is_causal=True), "attn_mask"),
        (RuntimeError, lambda: F.scaled_dot_product_attention(*[lg.ones((2, 4))] * 3, lg.arange(2)), "int64"),
        (RuntimeError, lambda: _call(lg.ones((3, 2, 4)), attn_mask=lg.ones((2, 2))), r"\(3, 3\)"),
        (RuntimeError, lambda: _call(lg.ones((3, 2, 4)), attn_mask=lg.ones((3, 3, 3))), "batch"),
    ],
)
def test_errors(kind, make, message):
    with pytest.raises(kind, match=message):
        make()


def _call(query, key=None, **keywords):
    key = query if key is None else key
    return lg.nn.MultiheadAttention(4, 2)(query, key, key, **keywords)


def test_transforms():
    module = lg.nn.MultiheadAttention(4, 2, dtype=lg.float64)
    x = lg.asarray(draw(3, 5, 2, 4))
    together = lg.func.vmap(lambda one: module(one, one, one, need_weights=False)[0])(x)
    for one, row in itertools.islice(zip(x, together, strict=True), 3):
        np.testing.assert_allclose(
            row.detach().numpy(), module(one, one, one, need_weights=False)[0].detach().numpy(), rtol=1e-10
        )


def test_cuda_is_cpu():
    found = []
    for where in ("cpu", "cuda:0"):
        xs = [lg.tensor(draw(1, 2, n, 2, seed=s), device=where, requires_grad=True) for s, n in enumerate((2, 3, 3))]
        y = F.scaled_dot_product_attention(*xs, is_causal=True)
        (y * y).sum().backward()
        found.append([y.detach().numpy(force=True), *(x.grad.numpy(force=True) for x in xs)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


# -- blocks on the CPU -----------------------------------------------------------------------------
BLOCKED = {
    "none": (None, False),
    "numbers": (draw(13, 9, seed=4), False),
    "one for each head": (draw(2, 1, 13, 9, seed=4), False),
    "row": (draw(1, 9, seed=4), False),
    "column": (draw(13, 1, seed=4), False),
    "causal": (None, True),
    "numbers, causal": (draw(13, 9, seed=4), True),
    "row, causal": (draw(1, 9, seed=4), True),
}


@pytest.mark.parametrize("in_c", [True, False])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", BLOCKED)
def test_some_queries_at_a_time(monkeypatch, kind, turned, in_c):
    """The same as all of them, values and gradients, for more queries than keys and fewer."""
    mask, causal = BLOCKED[kind]
    q, k, v = draw(2, 3, 13, 4), draw(2, 3, 9, 4, seed=1), draw(2, 3, 9, 5, seed=2)
    if turned:
        q, k, v = draw(2, 3, 9, 4, seed=1), draw(2, 3, 13, 4), draw(2, 3, 13, 5, seed=2)
        mask = None if mask is None else np.ascontiguousarray(np.swapaxes(mask, -1, -2))
    monkeypatch.setattr("lucidgrad.backends.cpu.compiled.attention.WORTH", 0 if in_c else 1 << 60)
    found = []
    for block, fewest in ((1 << 20, 32), (40, 4), (1, 1)):
        monkeypatch.setattr("lucidgrad.backends.cpu.kernels.attention.BLOCK", block)
        monkeypatch.setattr("lucidgrad.backends.cpu.kernels.attention.FEWEST", fewest)
        inputs = [lg.tensor(x, requires_grad=True) for x in (q, k, v, mask) if x is not None]
        y, total = lg.ops.attention.attention(*inputs, scale=0.7, causal=causal)
        (lg.sum(y * y) + lg.sum(lg.sin(total))).backward()
        found.append([y.detach().numpy(), total.detach().numpy(), *(x.grad.numpy() for x in inputs)])
    np.testing.assert_allclose(found[0][0], formula(q, k, v, mask, causal, 0.7), rtol=1e-9, atol=1e-12)
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)


HEADS = {  # axes of q, k and v, and how they are turned into heads, queries, features
    "split": ((2, 40, 3, 24), (0, 2, 1, 3)),
    "apart": ((2, 3, 40, 24), (0, 1, 2, 3)),
    "one axis": ((5, 40, 24), (0, 1, 2)),
    "features apart": ((2, 3, 24, 40), (0, 1, 3, 2)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", HEADS)
def test_whole_heads_in_c(monkeypatch, kind, causal, dtype):
    """Are what some at a time give, where they lie by rows; their bits do not depend on the number of threads."""
    from lucidgrad.backends.cpu.compiled import attention as compiled, blas

    if blas.calls_of("f") is None:
        pytest.skip("NumPy's BLAS can't be told how many threads to have, or there is no compiler")
    shape, order = HEADS[kind]
    arrays = [draw(*shape, seed=s).astype(dtype) for s in range(3)]
    shared = draw(1, *shape[1:], seed=3).astype(dtype)  # keys of all examples
    did, threads = [], lg.get_num_threads()
    functions = {name: getattr(compiled, name) for name in ("attend", "attend_pull")}

    def run(own):
        for name, function in functions.items():
            monkeypatch.setattr(compiled, name, lambda *given, f=function: did.append(own and f(*given)) or did[-1])
        found = []
        for keys in (arrays[1], shared):
            inputs = [lg.tensor(x, requires_grad=True) for x in (arrays[0], keys, arrays[2])]
            y, total = lg.ops.attention.attention(*(x.permute(order) for x in inputs), scale=0.3, causal=causal)
            (lg.sum(y * y) + lg.sum(lg.sin(total))).backward()
            found += [y.detach().numpy(), total.detach().numpy(), *(x.grad.numpy() for x in inputs)]
        return found

    try:
        found = [run(False)]
        for count in (1, 2, 3):
            lg.set_num_threads(count)
            did.clear()
            found.append(run(True))
            assert did == [kind != "features apart"] * 4
    finally:
        lg.set_num_threads(threads)
    for parts, one, *others in zip(*found, strict=True):
        np.testing.assert_allclose(
            one, parts, **({"rtol": 2e-5, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-11})
        )
        assert all(np.array_equal(one, other) for other in others)


@pytest.mark.parametrize("causal", [False, True])
def test_memory_grows_with_the_length(causal):
    """And not with its square: all weights of a head would be 16 MB."""
    q, k, v = (lg.tensor(draw(1, 1, 2048, 8, seed=s).astype("f"), requires_grad=True) for s in range(3))
    tracemalloc.start()
    try:
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        lg.sum(y * y).backward()
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_no_queries_or_keys():
    for queries, keys in ((0, 3), (3, 0), (0, 0)):
        for causal in (False, True):
            q, k, v = (lg.ones((2, n, 4), requires_grad=True) for n in (queries, keys, keys))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            y.sum().backward()
            assert y.shape == (2, queries, 4) and not y.any()
            assert all(not x.grad.any() and x.grad.shape == x.shape for x in (q, k, v))
