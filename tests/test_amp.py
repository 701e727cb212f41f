"""Mixed precision: which operation runs in which dtype, and what the scaler does; beside PyTorch where it is there."""

import threading

import numpy as np
import pytest
from golden import peer

import lucidgrad as lg
from lucidgrad.amp import autocast, custom_bwd, custom_fwd
from lucidgrad.core.modes import state, unusual
from lucidgrad.core.primitive import registry

F = lg.nn.functional
HALVES = ["float16", "bfloat16"]


@pytest.fixture(params=HALVES)
def half(request):
    if request.param == "bfloat16":
        pytest.importorskip("ml_dtypes")
        return lg.bfloat16
    return lg.float16


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert state.casting is None
    assert threading.get_ident() not in unusual


def ones(*shape, dtype=None, **options):
    return lg.ones(() if shape == ((),) else shape, dtype=dtype or lg.float32, **options)


LOW = {
    "matmul": lambda x: x @ x,
    "linear": lambda x: F.linear(x, x),
    "affine": lambda x: F.linear(x, x, x[0]),
    "bmm": lambda x: lg.bmm(x[None], x[None]),
    "addmm": lambda x: lg.addmm(x, x, x),
    "einsum": lambda x: lg.einsum("ij,kj->ik", x, x),
    "mv": lambda x: lg.mv(x, x[0]),
    "conv1d": lambda x: F.conv1d(x[None], x[None]),
    "conv2d": lambda x: F.conv2d(x[None, None], x[None, None]),
    "conv2d with bias": lambda x: F.conv2d(x[None, None], x[None, None], x[0, :1]),
    "conv_transpose1d": lambda x: F.conv_transpose1d(x[None], x[:, None]),
    "scaled_dot_product_attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "Linear": lambda x: lg.nn.Linear(2, 2)(x),
    "LSTM": lambda x: lg.nn.LSTM(2, 2)(x)[0],
    "GRU": lambda x: lg.nn.GRU(2, 2)(x)[0],
    "MultiheadAttention": lambda x: lg.nn.MultiheadAttention(2, 1)(x, x, x)[0],
}
FULL = {
    **{name: getattr(lg, name) for name in "exp expm1 log log1p log2 log10 rsqrt reciprocal acos asin".split()},
    **{name: getattr(lg, name) for name in "cosh sinh tan erfinv sum mean prod std var logsumexp norm".split()},
    "pow": lambda x: x**1.5,
    "rpow": lambda x: 2.0**x,
    "softmax": lambda x: lg.softmax(x, axis=-1),
    "log_softmax": lambda x: lg.log_softmax(x, axis=-1),
    "softplus": F.softplus,
    "cumsum": lambda x: lg.cumulative_sum(x, axis=0),
    "cumprod": lambda x: lg.cumulative_prod(x, axis=0),
    "layer_norm": lambda x: F.layer_norm(x, (2,)),
    "group_norm": lambda x: F.group_norm(x, 1),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "cdist": lambda x: lg.cdist(x, x),
    "mse_loss": lambda x: F.mse_loss(x, x, reduction="none"),
    "l1_loss": lambda x: F.l1_loss(x, x, reduction="none"),
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, x, reduction="none"),
    "huber_loss": lambda x: F.huber_loss(input=x, target=x, reduction="none"),
    "cross_entropy": lambda x: F.cross_entropy(x, lg.tensor([0, 1])),
    "nll_loss": lambda x: F.nll_loss(x, lg.tensor([0, 1])),
    "bce_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, x),
    "kl_div": lambda x: F.kl_div(x, x, reduction="none"),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x),
}
SAME = {
    "add": lambda x: x + x,
    "relu": lg.relu,
    "tanh": lg.tanh,
    "sqrt": lg.sqrt,
    "max": lg.max,
    "concat": lambda x: lg.concat([x, x]),
    "reshape": lambda x: x.reshape(4),
    "gelu": F.gelu,
    "max_pool1d": lambda x: F.max_pool1d(x[None], 2),
}


# -- which dtype ---------------------------------------------------------------------------------
@pytest.mark.parametrize("name", LOW)
def test_products_run_in_16_bits(name, half):
    x = ones(2, 2, requires_grad=True)
    with autocast("cpu", dtype=half):
        y, from_half = LOW[name](x), LOW[name](x.detach().to(half))
    assert y.dtype == from_half.dtype == half
    assert LOW[name](ones(2, 2)).dtype == lg.float32
    y.sum().backward()
    assert x.grad.dtype == lg.float32


@pytest.mark.parametrize("name", FULL)
def test_what_needs_it_runs_in_float32(name, half):
    x = lg.full((2, 2), 0.5, dtype=half)
    with autocast("cpu", dtype=half):
        y = FULL[name](x)
    assert y.dtype == lg.float32
    assert FULL[name](x).dtype == half
    np.testing.assert_allclose(y.numpy(), FULL[name](x.float()).numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", SAME)
def test_others_keep_their_dtype(name, half):
    with autocast("cpu", dtype=half):
        assert SAME[name](ones(2, 2)).dtype == lg.float32
        assert SAME[name](ones(2, 2, dtype=half)).dtype == half
        assert (ones(2, dtype=half) + ones(2)).dtype == lg.float32


@pytest.mark.parametrize("name", LOW)
def test_float64_and_integers_are_left_alone(name):
    with autocast("cpu", dtype=lg.float16):
        if name not in ("Linear", "LSTM", "GRU", "MultiheadAttention"):
            assert LOW[name](ones(2, 2, dtype=lg.float64)).dtype == lg.float64
        assert (lg.ones((2, 2), dtype=lg.int64) @ lg.ones((2, 2), dtype=lg.int64)).dtype == lg.int64
        assert lg.sum(lg.ones(2, dtype=lg.int64)).dtype == lg.int64
        assert lg.exp(ones(2, dtype=lg.float64)).dtype == lg.float64


#: PyTorch's names of operations that its CPU runs in 16 bits, or in float32, too.
IN_TORCH = {
    "matmul": lambda t, x: x @ x,
    "linear": lambda t, x: t.nn.functional.linear(x, x),
    "affine": lambda t, x: t.nn.functional.linear(x, x, x[0]),
    "bmm": lambda t, x: t.bmm(x[None], x[None]),
    "addmm": lambda t, x: t.addmm(x, x, x),
    "einsum": lambda t, x: t.einsum("ij,kj->ik", x, x),
    "conv1d": lambda t, x: t.nn.functional.conv1d(x[None], x[None]),
    "conv2d": lambda t, x: t.nn.functional.conv2d(x[None, None], x[None, None]),
    "conv2d with bias": lambda t, x: t.nn.functional.conv2d(x[None, None], x[None, None], x[0, :1]),
    "conv_transpose1d": lambda t, x: t.nn.functional.conv_transpose1d(x[None], x[:, None]),
    "scaled_dot_product_attention": lambda t, x: t.nn.functional.scaled_dot_product_attention(*[x[None]] * 3),
    "mse_loss": lambda t, x: t.nn.functional.mse_loss(x, x),
    "l1_loss": lambda t, x: t.nn.functional.l1_loss(x, x),
    "smooth_l1_loss": lambda t, x: t.nn.functional.smooth_l1_loss(x, x),
    "huber_loss": lambda t, x: t.nn.functional.huber_loss(x, x),
    "cross_entropy": lambda t, x: t.nn.functional.cross_entropy(x, t.tensor([0, 1])),
    "nll_loss": lambda t, x: t.nn.functional.nll_loss(x, t.tensor([0, 1])),
    "kl_div": lambda t, x: t.nn.functional.kl_div(x, x, reduction="sum"),
    "add": lambda t, x: x + x,
    "relu": lambda t, x: t.relu(x),
    "concat": lambda t, x: t.cat([x, x]),
}


@pytest.mark.parametrize("name", IN_TORCH)
@pytest.mark.parametrize("given", ["float32", "half"])
def test_dtypes_are_pytorchs(name, given, half):
    torch = peer("torch")
    theirs = getattr(torch, str(half))
    x = torch.ones(2, 2, dtype=theirs if given == "half" else torch.float32)
    with torch.autocast("cpu", dtype=theirs):
        expected = str(IN_TORCH[name](torch, x).dtype).removeprefix("torch.")
    ours = {**LOW, **FULL, **SAME}[name]
    with autocast("cpu", dtype=half):
        assert str(ours(ones(2, 2, dtype=half if given == "half" else None)).dtype) == expected


def test_values_are_those_of_16_bits(half):
    rng = np.random.default_rng(0)
    a, b = (lg.asarray(rng.normal(size=(8, 8)).astype("float32")) for _ in range(2))
    with autocast("cpu", dtype=half):
        y = a @ b
    rounded = a.to(half).float() @ b.to(half).float()
    np.testing.assert_allclose(y.float().numpy(), rounded.numpy(), rtol=lg.finfo(half).eps * 2, atol=1e-2)


@pytest.mark.parametrize("name", ["matmul", "linear", "bmm", "einsum", "conv1d", "conv2d", "conv_transpose1d"])
def test_products_of_float16_round_once(name):
    x = lg.asarray(np.random.default_rng(1).normal(size=(2, 2)).astype("float16"))
    expected = LOW[name](x.float()).numpy().astype("float16")
    np.testing.assert_array_equal(LOW[name](x).numpy(), expected)
    long = lg.full((1, 4096), 1.0, dtype=lg.float16)
    assert (long @ long.mT).item() == 4096  # beyond 2048 float16 can't count by ones


def test_every_product_says_its_precision():
    """A primitive that multiplies matrices and forgot to say so would silently run in float32."""
    said = {name for name, p in registry.items() if p.precision == "low"}
    assert {"matmul", "linear", "affine", "pair_einsum", "convolution", "convolution_input", "attention"} <= said
    assert {p.precision for p in registry.values()} == {None, "low", "full"}


# -- nesting, restoring --------------------------------------------------------------------------
def test_nesting():
    x = ones(2, 2)
    with autocast("cpu", dtype=lg.float16):
        with autocast("cpu", enabled=False):
            assert (x @ x).dtype == lg.float32
            with autocast("cpu", dtype=lg.float16):
                assert (x @ x).dtype == lg.float16
            assert (x @ x).dtype == lg.float32
            assert not lg.amp.is_autocast_enabled("cpu")
        assert (x @ x).dtype == lg.float16
        with autocast("cuda", dtype=lg.float16):
            assert (x @ x).dtype == lg.float16
            assert lg.amp.is_autocast_enabled("cuda")
        assert not lg.amp.is_autocast_enabled("cuda")
    assert (x @ x).dtype == lg.float32


def test_exceptions_restore():
    with pytest.raises(ZeroDivisionError), autocast("cpu", dtype=lg.float16), autocast("cpu", enabled=False):
        1 / 0
    assert (ones(2, 2) @ ones(2, 2)).dtype == lg.float32


def test_as_a_decorator():
    @autocast("cpu", dtype=lg.float16)
    def product(x, depth=2):
        return product(x, depth - 1) if depth else x @ x

    assert product(ones(2, 2)).dtype == lg.float16
    assert product.__name__ == "product"
    assert (ones(2, 2) @ ones(2, 2)).dtype == lg.float32


def test_other_threads_are_not_concerned():
    found = []
    with autocast("cpu", dtype=lg.float16):
        thread = threading.Thread(target=lambda: found.append((ones(2, 2) @ ones(2, 2)).dtype))
        thread.start()
        thread.join()
    assert found == [lg.float32]


def test_with_no_grad_and_inference():
    x = ones(2, 2, requires_grad=True)
    with autocast("cpu", dtype=lg.float16):
        with lg.no_grad():
            assert (x @ x).dtype == lg.float16
        with lg.inference_mode():
            assert (x @ x).is_inference()
        y = x @ x  # what was cast without history is not used here
    y.sum().backward()
    assert x.grad is not None
    with lg.no_grad(), autocast("cpu", dtype=lg.float16):
        pass
    assert (x @ x).requires_grad


def test_arguments():
    assert lg.autocast is lg.amp.autocast and lg.GradScaler is lg.amp.GradScaler
    with pytest.raises(ValueError, match="device_type is a int"):
        autocast(3)
    with pytest.warns(UserWarning, match="float32"):
        off = autocast("cpu", dtype=lg.float32)
    with off:
        assert (ones(2, 2) @ ones(2, 2)).dtype == lg.float32
    if not pytest.importorskip("ml_dtypes"):
        return
    assert lg.amp.get_autocast_dtype("cpu") == lg.bfloat16
    with autocast("cpu"):
        assert (ones(2, 2) @ ones(2, 2)).dtype == lg.bfloat16


def test_without_ml_dtypes(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    monkeypatch.delitem(sys.modules, "lucidgrad.backends.cpu.bfloat16", raising=False)
    monkeypatch.delitem(vars(lg), "bfloat16", raising=False)
    with pytest.raises(AttributeError, match=r"pip install 'lucidgrad\[amp\]'"):
        lg.bfloat16
    assert not hasattr(lg, "bfloat16")
    with pytest.raises(ImportError, match="needs ml_dtypes"):
        autocast("cpu")
    with autocast("cpu", dtype=lg.float16):
        assert (ones(2, 2) @ ones(2, 2)).dtype == lg.float16


# -- gradients and the cache ---------------------------------------------------------------------
def test_parameters_are_cast_once(half):
    w, x = ones(2, 2, requires_grad=True), ones(2, 2)
    casts = []
    with autocast("cpu", dtype=half):
        for _ in range(3):
            y = x @ w
            casts.append(y.grad_fn.next_functions[1][0])
            x = y
    assert len(set(map(id, casts))) == 1 or len({repr(c) for c in casts}) == 1
    with autocast("cpu", dtype=half):
        assert len(state.casting.cache) == 0
        x @ w, w @ w
        assert len(state.casting.cache) == 1
        with autocast("cpu", dtype=half):
            x @ w
            assert len(state.casting.cache) == 1
        with autocast("cpu", dtype=half, cache_enabled=False):
            assert state.casting.cache is None
            assert (x @ w).dtype == half
    y.sum().backward()
    assert w.grad.dtype == lg.float32


def test_a_parameter_that_changes_is_cast_again():
    w = ones(2, 2, requires_grad=True)
    with autocast("cpu", dtype=lg.float16):
        before = (w @ w).detach()
        with lg.no_grad():
            w.mul_(2)
        assert (w @ w).tolist() == (4 * before).tolist()


def test_backward_twice_through_one_cast():
    w = ones(2, 2, requires_grad=True)
    with autocast("cpu", dtype=lg.float16):
        a, b = (w @ w).sum(), (w @ w).sum()
    a.backward()
    once = w.grad.tolist()
    b.backward()
    assert w.grad.tolist() == [[2 * x for x in row] for row in once]


def test_gradients_agree_with_float32(half):
    lg.manual_seed(0)
    model = lg.nn.Sequential(lg.nn.Linear(4, 16), lg.nn.LayerNorm(16), lg.nn.GELU(), lg.nn.Linear(16, 3))
    x, target = lg.randn(8, 4), lg.tensor([0, 1, 2, 0, 1, 2, 0, 1])

    def gradients(**options):
        model.zero_grad()
        with autocast("cpu", dtype=half, **options):
            loss = F.cross_entropy(model(x), target)
        loss.backward()
        return [p.grad.numpy().copy() for p in model.parameters()]

    for low, full in zip(gradients(), gradients(enabled=False), strict=True):
        assert low.dtype == np.float32
        assert np.abs(low - full).max() < 16 * lg.finfo(half).eps * max(1, np.abs(full).max())


def test_second_derivatives_and_transforms():
    w = lg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with autocast("cpu", dtype=lg.float16):
        y = (w @ w).sum()
        (g,) = lg.autograd.grad(y, w, create_graph=True)
        assert g.dtype == lg.float32
        (h,) = lg.autograd.grad((g * g).sum(), w)
        by_func = lg.func.grad(lambda w: (w @ w).sum())(w.detach())
        rows = lg.func.vmap(lambda r: lg.matmul(w.detach(), r))(w.detach())
        out, tangent = lg.func.jvp(lambda w: w @ w, (w.detach(),), (w.detach(),))
    assert by_func.dtype == lg.float32
    np.testing.assert_allclose(by_func.numpy(), g.detach().numpy())
    assert rows.dtype == out.dtype == tangent.dtype == lg.float16
    (exact,) = lg.autograd.grad((w @ w).sum(), w, create_graph=True)
    (expected,) = lg.autograd.grad((exact * exact).sum(), w)
    np.testing.assert_allclose(h.numpy(), expected.numpy(), rtol=1e-3)


def test_checkpoints_run_again_in_the_same_precision(half):
    w = ones(4, 4, requires_grad=True)
    x = ones(4, 4, requires_grad=True)

    def part(x):
        return lg.tanh(x @ w / 8) @ w

    grads = []
    for run in (part, lambda x: lg.utils.checkpoint.checkpoint(part, x)):
        w.grad = x.grad = None
        with autocast("cpu", dtype=half):
            y = run(x)
        assert y.dtype == half
        y.sum().backward()
        grads.append((w.grad.tolist(), x.grad.tolist()))
    assert grads[0] == grads[1]


def test_functions_with_their_own_backward():
    seen = []

    class Product(lg.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            y = a @ b
            seen.append(("forward", y.dtype))
            return y

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            da = g @ b.mT
            seen.append(("backward", da.dtype))
            return da, a.mT @ g

    class Exact(lg.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=lg.float32)
        def forward(ctx, a, n):
            seen.append(("exact", a.dtype, (a @ a).dtype, n))
            return a * 2

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, g):
            seen.append(("exact backward", (g @ g).dtype))
            return g * 2, None

    x = ones(2, 2, requires_grad=True)
    with autocast("cpu", dtype=lg.float16):
        y = Product.apply(x, x)
        z = Exact.apply(y, 3)
    z.float().sum().backward()
    assert seen[0] == ("forward", lg.float16)
    assert seen[1] == ("exact", lg.float32, lg.float32, 3)
    assert seen[2] == ("exact backward", lg.float32)
    assert seen[3] == ("backward", lg.float16)
    assert x.grad.dtype == lg.float32


@pytest.mark.parametrize(("capability", "dtype"), [((8, 0), "bfloat16"), ((7, 5), "float16"), (None, "float16")])
def test_on_cuda(monkeypatch, capability, dtype):
    """The default is bfloat16 where the device multiplies it."""
    x = ones(2, 2, device="cuda", requires_grad=True)
    if capability is None:
        dtype, how = "float16", {"dtype": lg.float16}
    else:
        pytest.importorskip("ml_dtypes")
        monkeypatch.setattr(lg.cuda, "get_device_capability", lambda: capability)
        how = {}
        assert str(lg.amp.get_autocast_dtype("cuda")) == dtype
    with autocast("cuda", **how):
        y = x @ x
        z = lg.softmax(y, axis=-1)
        assert (ones(2, 2) @ ones(2, 2)).dtype == lg.float32
    assert (str(y.dtype), z.dtype) == (dtype, lg.float32)
    z.sum().backward()
    assert x.grad.dtype == lg.float32 and str(x.grad.device) == "cuda:0"
