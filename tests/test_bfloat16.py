"""bfloat16 on both devices: values are those of float32, rounded once per operation."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from golden import peer

import lucidgrad as lg

ml_dtypes = pytest.importorskip("ml_dtypes")
bf16 = lg.bfloat16
VALUES = np.array([[0.5, 1.25, -2.0], [3.0, 0.125, 7.5]], dtype="float32")


@pytest.fixture(autouse=True, params=["cpu", "cuda"])
def where(request):
    """All of it on each device."""
    with lg.device(request.param):
        yield request.param


def rounded(x):
    return np.asarray(x, dtype="float32").astype(ml_dtypes.bfloat16).astype("float32")


def low(**options):
    return lg.tensor(VALUES, dtype=bf16, **options)


def same(t, expected):
    assert t.dtype == bf16
    np.testing.assert_array_equal(t.detach().float().numpy(force=True), rounded(expected))


# -- the dtype -----------------------------------------------------------------------------------
def test_what_is_known_of_it():
    assert lg.isdtype(bf16, "real floating") and lg.isdtype(bf16, "numeric") and not lg.isdtype(bf16, "integral")
    info = lg.finfo(bf16)
    assert (info.bits, info.eps, info.dtype) == (16, 2.0**-7, bf16)
    assert lg.result_type(bf16, lg.float32) == lg.result_type(bf16, lg.float16) == lg.float32
    assert lg.result_type(bf16, bf16) == lg.result_type(bf16, 1.5) == lg.result_type(bf16, 1) == bf16
    assert lg.result_type(bf16, lg.float64) == lg.float64
    assert lg.can_cast(bf16, lg.float32) and not lg.can_cast(lg.float32, bf16)
    assert low().is_floating_point() and low().itemsize == 2


def test_what_was_computed_before_it_is_loaded_goes_on():
    """Forward mode keeps the tables of kernels that it found."""
    code = """import lucidgrad as lg
    x = lg.tensor([1.0, 2.0, 3.0], dtype=lg.float64)
    run = [lambda f=f: lg.func.jvp(f, (x,), (x,))[1].tolist() for f in (lg.prod, lg.sum, lg.mean, lg.cumsum, lg.exp)]
    before = [f() for f in run]
    lg.bfloat16
    assert [f() for f in run] == before""".replace("\n    ", "\n")
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True
    )


def test_printing(where):
    shown = "" if where == "cpu" else ", device='cuda:0'"
    assert repr(lg.tensor([1.0, 2.5], dtype=bf16)) == f"tensor([1. , 2.5], dtype=bfloat16{shown})"


@pytest.mark.parametrize(
    "make",
    [
        lambda: lg.zeros(2, 3, dtype=bf16), lambda: lg.ones((2, 3), dtype=bf16), lambda: lg.full((2,), 1.5, dtype=bf16),
        lambda: lg.empty(2, dtype=bf16), lambda: lg.arange(3, dtype=bf16), lambda: lg.asarray([1.0], dtype=bf16),
        lambda: lg.asarray(np.ones(2), dtype=bf16), lambda: lg.asarray(np.ones(2, ml_dtypes.bfloat16)),
        lambda: lg.randn(3, dtype=bf16), lambda: lg.zeros_like(low()), lambda: lg.ones_like(lg.ones(2), dtype=bf16),
        lambda: lg.ones(2).to(bf16), lambda: low().clone(), lambda: low()[0], lambda: low()[0, 1], lambda: low().mT,
        lambda: pickle.loads(pickle.dumps(low())), lambda: lg.eye(2, dtype=bf16),
        lambda: lg.linspace(0, 1, 3, dtype=bf16),
        lambda: lg.broadcast_to(low()[0], (2, 3)), lambda: low().detach(), lambda: lg.sum(lg.ones(3), dtype=bf16),
    ],
)  # fmt: skip
def test_how_it_is_made(make):
    made = make()
    assert made.dtype == bf16
    assert type(made.array).__name__ == "Brain"
    assert (made + 0.5).dtype == bf16


def test_to_others_and_back():
    for dtype in (lg.float32, lg.float64, lg.float16, lg.int64, lg.bool):
        there = low().to(dtype)
        assert there.dtype == dtype and type(there.array).__name__ == "ndarray"
        np.testing.assert_array_equal(there.numpy(force=True), VALUES.astype(dtype))
    host = low().numpy(force=True)
    assert type(host) is np.ndarray and host.dtype == ml_dtypes.bfloat16
    assert low().tolist() == VALUES.tolist() and low()[0, 0].item() == 0.5


# -- arithmetic ----------------------------------------------------------------------------------
OPS = {
    "weak floats": lambda x: x * 2.3 + 0.7,
    "weak ints": lambda x: 3 - x * 2,
    "exp": lambda x: lg.exp(x),
    "pow": lambda x: x**2,
    "softmax": lambda x: lg.softmax(x, axis=-1),
    "sum": lambda x: lg.sum(x, axis=0),
    "mean": lambda x: lg.mean(x),
    "matmul": lambda x: x @ x.mT,
    "einsum": lambda x: lg.einsum("ij,kj->ik", x, x),
    "where": lambda x: lg.where(x > 1, x, 0.0),
    "maximum": lambda x: lg.maximum(x, 1.0),
    "concat": lambda x: lg.concat([x, x]),
    "sort": lambda x: lg.sort(x, axis=1),
    "cumulative_sum": lambda x: lg.cumulative_sum(x, axis=1),
    "var": lambda x: lg.var(x, axis=1),
    "take": lambda x: lg.take(x, lg.tensor([1, 0]), axis=1),
    "gelu": lambda x: lg.gelu(x),
    "logsumexp": lambda x: lg.logsumexp(x, axis=0),
    "layer_norm": lambda x: lg.nn.functional.layer_norm(x, (3,)),
    "conv": lambda x: lg.nn.functional.conv1d(x[None], x[None, :, :2]),
}


@pytest.mark.parametrize("name", [n for n in OPS if not n.startswith("weak")])
def test_operations_round_once(name):
    same(OPS[name](low()), OPS[name](lg.tensor(VALUES)).numpy(force=True))


@pytest.mark.parametrize("name", OPS)
def test_gradients(name):
    x, wide = low(requires_grad=True), lg.tensor(VALUES, requires_grad=True)
    y = OPS[name](x)
    y.sum().backward()
    OPS[name](wide).sum().backward()
    assert y.dtype == x.grad.dtype == bf16
    scale = max(1.0, float(abs(wide.grad.numpy(force=True)).max()))
    assert np.abs(x.grad.float().numpy(force=True) - wide.grad.numpy(force=True)).max() < 0.06 * scale


def test_a_tensor_is_cast_before_it_is_loaded():
    code = "import lucidgrad as lg; assert str(lg.ones(2).to('bfloat16').dtype) == 'bfloat16'"
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True
    )


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_systems_beside_wider_arrays(where):
    """Rules compute with the arrays that a node kept: all of one dtype."""
    a = lg.eye(3, device=where) * 2 + 0.1
    for first, second in ((bf16, lg.float32), (lg.float32, bf16)):
        b, lower = (a.to(dtype).clone().requires_grad_() for dtype in (first, second))
        for solve in (lg.cholesky_solve, lambda b, lower: lg.linalg.solve_triangular(lower, b, upper=False)):
            found = lg.autograd.grad(solve(b, lower).sum(), [b, lower])
            wide = [x.detach().float().requires_grad_() for x in (b, lower)]
            expected = lg.autograd.grad(solve(*wide).sum(), wide)
            for g, h, x in zip(found, expected, (b, lower), strict=True):
                assert g.dtype == x.dtype
                np.testing.assert_allclose(g.cpu().float().numpy(), h.cpu().numpy(), rtol=1e-2, atol=1e-2)


def test_sums_are_not_added_up_in_16_bits():
    assert lg.full((1000,), 1.0, dtype=bf16).sum().item() == 1000
    assert lg.mean(lg.full((70000,), 1.0, dtype=bf16)).item() == 1


def test_with_wider_arrays():
    x, wide = low(), lg.tensor(VALUES)
    for y in (
        x + wide,
        wide + x,
        x * wide.double().float(),
        lg.where(x > 1, wide, x),
        x @ wide.mT,
        lg.concat([wide, x]),
    ):
        assert y.dtype == lg.float32 and type(y.array).__name__ == "ndarray"
    assert (x + wide.double()).dtype == (wide.double() + x).dtype == lg.float64
    assert (x + lg.ones(3, dtype=lg.float16)).dtype == lg.float32
    assert (x * lg.tensor([True, False, True])).dtype == bf16
    a = wide.clone().requires_grad_()
    b = low(requires_grad=True)
    (a * b).sum().backward()
    assert a.grad.dtype == lg.float32 and b.grad.dtype == bf16


def test_comparisons_and_indices():
    x = low()
    assert (x > 1).dtype == lg.bool and lg.argmax(x).item() == 5 and lg.isfinite(x).all()
    assert lg.nonzero(x > 3)[0].tolist() == [1]


# -- views, in place, transforms, training --------------------------------------------------------
def test_views_share_memory():
    x = low()
    row, flat = x[0], x.reshape(6)
    row.add_(1)
    assert flat.tolist()[:3] == [1.5, 2.25, -1.0]
    x[1] = 0.5
    assert flat.tolist()[3:] == [0.5] * 3
    x.mul_(2.5)
    assert row.dtype == bf16 and type(row.array).__name__ == "Brain"


def test_in_place_with_history():
    x = low(requires_grad=True)
    y = x * 1
    y[0] *= 3
    y.sum().backward()
    assert x.grad.tolist() == [[3.0] * 3, [1.0] * 3]


def test_higher_orders_and_transforms():
    x = lg.tensor([1.0, 2.0], dtype=bf16, requires_grad=True)
    (g,) = lg.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = lg.autograd.grad(g.sum(), x)
    assert (g.tolist(), h.tolist()) == ([3.0, 12.0], [6.0, 12.0])
    assert lg.func.vmap(lambda r: r * 2)(low()).tolist() == (2 * VALUES).tolist()
    y, t = lg.func.jvp(lambda x: x * x, (low(),), (low(),))
    assert y.dtype == t.dtype == bf16
    assert t.tolist() == rounded(2 * VALUES * VALUES).tolist()


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW"])
def test_training(optimizer):
    lg.manual_seed(0)
    model = lg.nn.Sequential(lg.nn.Linear(3, 16), lg.nn.Tanh(), lg.nn.Linear(16, 1)).to(bf16)
    assert {p.dtype for p in model.parameters()} == {bf16}
    step = getattr(lg.optim, optimizer)(model.parameters(), lr=0.05)
    x = lg.randn(64, 3, dtype=bf16)
    losses = []
    for _ in range(60):
        step.zero_grad()
        loss = ((model(x) - x.sum(-1, keepdim=True)) ** 2).mean()
        loss.backward()
        step.step()
        losses.append(loss.item())
    assert {p.dtype for p in model.parameters()} == {bf16}
    assert losses[-1] < 0.2 * losses[0]


def test_files(tmp_path):
    lg.save({"x": low(requires_grad=True)}, tmp_path / "f")
    found = lg.load(tmp_path / "f")["x"]
    assert found.requires_grad and found.tolist() == VALUES.tolist() and type(found.array).__name__ == "Brain"
    st = pytest.importorskip("safetensors")
    with st.safe_open(tmp_path / "f", framework="np") as file:
        assert file.get_slice("x").get_dtype() == "BF16"


def test_values_are_pytorchs():
    torch = peer("torch")
    a, b = np.random.default_rng(0).normal(size=(2, 16, 16)).astype("float32")
    ours = lg.tensor(a, dtype=bf16), lg.tensor(b, dtype=bf16)
    theirs = torch.tensor(a).bfloat16(), torch.tensor(b).bfloat16()
    for op in (lambda m, x, y: x + y, lambda m, x, y: x * y * 2.5, lambda m, x, y: m.exp(x), lambda m, x, y: x @ y):
        found, expected = op(lg, *ours).float().numpy(force=True), op(torch, *theirs).float().numpy(force=True)
        np.testing.assert_allclose(found, expected, rtol=2**-7, atol=1e-2)


def test_between_devices(where):
    for there in ("cpu", "cuda"):
        moved = low().to(there)
        assert moved.dtype == bf16 and type(moved.array).__name__ == "Brain" and moved.device.type == there
        assert moved.to(where).tolist() == VALUES.tolist()
    x = low(requires_grad=True)
    (x.to("cuda") * x.to("cpu").to("cuda")).sum().backward()
    assert x.grad.dtype == bf16 and x.grad.tolist() == (2 * VALUES).tolist()


def test_result_type_takes_arrays_as_well():
    wide, narrow = lg.ones(3), lg.ones(3, dtype=lg.bfloat16)
    assert lg.result_type(wide, narrow) == lg.float32
    assert lg.concat([wide, narrow]).dtype == lg.float32
    assert lg.concat([wide, wide]).dtype == lg.float32
