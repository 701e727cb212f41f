"""Arrays of PyTorch, JAX and Dask below a tensor: values and gradients are those of the CPU."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import lucidgrad as lg

MODULES = {"torch": "torch", "jax": "jax", "dask": "dask.array"}
NAMES = [name for name in MODULES if importlib.util.find_spec(name)]
EAGER = [name for name in NAMES if name != "dask"]


@pytest.mark.parametrize("name", MODULES)
def test_libraries_that_are_not_installed_are_named_here_once(name):
    assert name in NAMES or pytest.importorskip(MODULES[name])


@pytest.fixture(params=NAMES)
def where(request):
    if request.param != "jax":
        yield request.param
        return
    import jax

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield request.param
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(params=EAGER)
def eager(request):
    return request.param


A = np.array([[0.3, 1.2, 0.7], [2.1, 0.4, 1.5]])
B = np.array([[1.1, 0.6, 1.9], [0.2, 1.3, 0.8]])

OPS = {
    "add": lambda x, y: x + 2 * y,
    "divide": lambda x, y: x / y,
    "pow": lambda x, y: x**y,
    "exp": lambda x, y: lg.exp(x - y),
    "log": lambda x, y: lg.log(x) * y,
    "sqrt": lambda x, y: lg.sqrt(x * y),
    "trigonometry": lambda x, y: lg.sin(x) * lg.cos(y) + lg.tan(x / 3),
    "hyperbolic": lambda x, y: lg.tanh(x) + lg.sinh(y) - lg.cosh(x * y),
    "inverse": lambda x, y: lg.atan2(x, y) + lg.asinh(x) + lg.atan(y),
    "abs": lambda x, y: lg.abs(x - y),
    "maximum": lambda x, y: lg.maximum(x, y) - lg.minimum(x, 1.0),
    "clip": lambda x, y: lg.clip(x, 0.5, 1.4) * y,
    "where": lambda x, y: lg.where(x > y, x * x, y),
    "hypot": lambda x, y: lg.hypot(x, y),
    "logaddexp": lambda x, y: lg.logaddexp(x, y),
    "sum": lambda x, y: lg.sum(x * y, axis=0),
    "mean": lambda x, y: lg.mean(x * y, axis=1, keepdims=True),
    "var": lambda x, y: lg.var(x * y, axis=1),
    "prod": lambda x, y: lg.prod(x * y, axis=0),
    "max": lambda x, y: lg.max(x * y, axis=1),
    "logsumexp": lambda x, y: lg.logsumexp(x * y, axis=1),
    "softmax": lambda x, y: lg.softmax(x * y, axis=1),
    "cumulative_sum": lambda x, y: lg.cumulative_sum(x * y, axis=1),
    "matmul": lambda x, y: x @ lg.matrix_transpose(y),
    "tensordot": lambda x, y: lg.tensordot(x, y, axes=([1], [1])),
    "einsum": lambda x, y: lg.einsum("ij,kj->ik", x, y),
    "outer": lambda x, y: lg.linalg.outer(x[0], y[1]),
    "vector_norm": lambda x, y: lg.linalg.vector_norm(x - y, axis=1),
    "reshape": lambda x, y: lg.reshape(x, (3, 2)) * lg.permute_dims(y, (1, 0)),
    "concat": lambda x, y: lg.concat([x, y * y], axis=1),
    "stack": lambda x, y: lg.stack([x, y * y], axis=0),
    "flip": lambda x, y: lg.flip(x, axis=1) * lg.roll(y, 1, axis=1),
    "broadcast": lambda x, y: x[:, None, :] * y[None, :, :],
    "index": lambda x, y: x[0, 1:] * y[1, :2],
    "sigmoid": lambda x, y: lg.sigmoid(x) * lg.relu(y - 1),
}

MORE = {
    "index(integers)": lambda x, y: x[:, [0, 0, 2]] * y,
    "index(backwards)": lambda x, y: x[:, ::-1] * y + x[..., 2:0:-1, None].sum(),
    "index(mixed)": lambda x, y: x[[1, 0], ::-2] * y[None, ::-1, 1:][0],
    "index(mask)": lambda x, y: x[x > 1] * y[x > 1],
    "sort": lambda x, y: lg.sort(x * y, axis=1) * lg.arange(3, dtype=lg.float64, device=x.device),
    "take": lambda x, y: lg.take(x, lg.asarray([2, 0, 2], device=x.device), axis=1) * y,
    "cumulative_prod": lambda x, y: lg.cumulative_prod(x * y, axis=1),
    "inv": lambda x, y: lg.linalg.inv(x @ y.mT),
    "solve": lambda x, y: lg.linalg.solve(x @ y.mT, x),
    "cholesky": lambda x, y: lg.linalg.cholesky(x @ x.mT) @ y,
    "det": lambda x, y: lg.linalg.det(x @ y.mT),
    "eigvalsh": lambda x, y: lg.linalg.eigvalsh(x @ x.mT + y @ y.mT),
    "svdvals": lambda x, y: lg.linalg.svdvals(x * y),
    "fft": lambda x, y: lg.real(lg.fft.fft(x * y)) + lg.imag(lg.fft.fft(y)),
}


def value_and_gradients(f, device):
    x, y = (lg.tensor(a, device=device, requires_grad=True) for a in (A, B))
    out = f(x, y)
    (out * out).sum().backward()
    assert x.device == out.device == x.grad.device == device
    return [t.detach().cpu().numpy() for t in (out, x.grad, y.grad)]


@pytest.mark.parametrize("name", OPS)
def test_op(name, where):
    compare(OPS[name], where)


@pytest.mark.parametrize("where", EAGER, indirect=True)  # dask has no such functions
@pytest.mark.parametrize("name", MORE)
def test_op_of_eager_libraries(name, where):
    compare(MORE[name], where)


def compare(f, where):
    for got, expected in zip(value_and_gradients(f, where), value_and_gradients(f, "cpu")):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


def test_second_order(where):
    x = lg.tensor([0.5, 2.0], dtype=lg.float64, device=where, requires_grad=True)
    (g,) = lg.autograd.grad((x**3 * lg.sin(x)).sum(), x, create_graph=True)
    (h,) = lg.autograd.grad(g.sum(), x)
    v = np.array([0.5, 2.0])
    np.testing.assert_allclose(h.tolist(), 6 * v * np.sin(v) + 6 * v**2 * np.cos(v) - v**3 * np.sin(v))


def test_a_library_is_recognised_by_its_arrays(where):
    module = {"torch": "torch", "jax": "jax.numpy", "dask": "dask.array"}[where]
    code = f"""
import sys, lucidgrad as lg
print([name for name in ("torch", "jax", "dask") if name in sys.modules])
import {module} as library
a = library.ones((2,))
t = lg.asarray(a)
print(t.device, t.shape, type(t.array) is type(a), lg.asarray(a, device="cpu").device)
t.requires_grad_()
(t * t).sum().backward()
print(t.grad.tolist())
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["[]", f"{where} (2,) True cpu", "[2.0, 2.0]"]


def test_the_data_stays_where_it_is():
    torch = pytest.importorskip("torch")
    a = torch.zeros(2)
    t = lg.asarray(a)
    assert t.array.data_ptr() == a.data_ptr()
    t[0] = 5.0
    assert a.tolist() == [5.0, 0.0]
    assert lg.tensor(a).array.data_ptr() != a.data_ptr()


def test_a_torch_tensor_that_requires_grad_does_not_leave_its_tape():
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError, match="requires grad"):
        lg.asarray(torch.zeros(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="requires grad"):
        lg.asarray(torch.zeros(2)) * torch.zeros(2, requires_grad=True)


def test_in_place_on_torch():
    pytest.importorskip("torch")
    x = lg.tensor([[1.0, 2.0], [3.0, 4.0]], device="torch", requires_grad=True)
    y = x * 1
    y[0] = y[0] * 10
    y[:, 1] += 1
    y.sum().backward()
    assert y.tolist() == [[10.0, 21.0], [3.0, 5.0]]
    assert x.grad.tolist() == [[10.0, 10.0], [1.0, 1.0]]
    z = x * 1
    w = z * z
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an in-place operation"):
        w.sum().backward()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "torch"])
def test_in_place_on_arrays_that_never_change(name):
    x = lg.ones(3, device=name)
    before = x.array
    x.add_(1)
    x[0] = 5.0
    x += 1
    assert x.tolist() == [6.0, 3.0, 3.0]
    assert np.asarray(before).tolist() == [1.0, 1.0, 1.0]


def test_gradients_accumulate_on_arrays_that_never_change():
    pytest.importorskip("jax")
    x = lg.ones(2, device="jax", requires_grad=True)
    for _ in range(2):
        (x * 3).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_jax_without_64_bits_narrows():
    jax = pytest.importorskip("jax")
    if jax.config.jax_enable_x64:
        pytest.skip("64 bits are enabled")
    assert lg.zeros(2, dtype=lg.float64, device="jax").dtype == lg.float32
    assert lg.arange(3, device="jax").dtype == lg.int32


def test_dtypes_are_ours(eager):
    for dtype in ("bool", "uint8", "int32", "float32", "complex64"):
        x = lg.ones(2, dtype=dtype, device=eager)
        assert x.dtype is getattr(lg, dtype)
        assert lg.zeros_like(x).dtype is x.dtype
        assert x.cpu().dtype is x.dtype


def test_devices_do_not_mix(eager):
    with pytest.raises(RuntimeError, match=eager):
        lg.ones(2, device=eager) + lg.ones(2)


def test_gradients_travel(eager):
    x = lg.tensor([1.0, 2.0], requires_grad=True)
    (x.to(eager) * 3).to("cpu").sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_library_that_is_missing_is_named(monkeypatch):
    from lucidgrad.backends import libraries

    with pytest.raises(RuntimeError, match="pip install nothere"):
        libraries._loader("nothere", "nothere", "a_module_that_is_not_there", libraries.Immutable)()
