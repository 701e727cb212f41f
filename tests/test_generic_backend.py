"""Any library of the Array API standard as a back end: array-api-strict, and another one if it is there."""

import subprocess
import sys

import array_api_strict
import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends.generic import Generic
from lucidgrad.core import device

STRICT = type(array_api_strict.zeros(()))


@pytest.fixture(autouse=True)
def strictest():
    """No shapes that depend on values, no boolean index."""
    with array_api_strict.ArrayAPIStrictFlags(data_dependent_shapes=False, boolean_indexing=False):
        yield


def strict(values, dtype=lg.float64, requires_grad=True):
    return lg.tensor(values, dtype=dtype, device="strict", requires_grad=requires_grad)


def test_import_does_not_load_it():
    code = "import sys, lucidgrad; print('array_api_strict' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_arrays_are_the_librarys_and_dtypes_are_ours():
    x = strict([[1.0, 2.0]])
    assert type(x.array) is STRICT
    assert x.dtype == lg.float64
    assert x.dtype is lg.float64
    assert x.device == "strict"
    assert x.shape == (1, 2)
    assert "device='strict'" in repr(x)
    assert x.tolist() == [[1.0, 2.0]]
    assert isinstance(x.numpy(force=True), np.ndarray)


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "uint8", "float32", "float64", "complex64", "complex128"])
def test_dtypes_go_there_and_back(dtype):
    x = lg.tensor([0, 1], dtype=dtype, device="strict")
    assert x.dtype == np.dtype(dtype)
    assert lg.zeros_like(x).dtype == np.dtype(dtype)
    assert x.cpu().dtype == np.dtype(dtype)


def test_casting_takes_canonical_dtypes():
    x = strict([1.0, 2.0])
    y = lg.astype(x, lg.float32)
    assert y.dtype == lg.float32
    y.sum().backward()
    assert x.grad.dtype == lg.float64


def test_default_dtype_and_creation_functions():
    assert lg.tensor([1.0], device="strict").dtype == lg.float32
    for made in (lg.zeros(2, device="strict"), lg.ones((2,), device="strict"), lg.linspace(0, 1, 2, device="strict")):
        assert type(made.array) is STRICT
        assert made.dtype == lg.float32
    assert lg.arange(3, device="strict").tolist() == [0, 1, 2]
    assert lg.eye(2, device="strict").tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert lg.full((2,), 7, device="strict").dtype == lg.int64


def test_integers_become_the_default_float():
    x = lg.tensor([1, 2], device="strict")
    assert lg.sin(x).dtype == lg.float32
    assert (x * 0.5).dtype == lg.float32
    assert (x / 2).dtype == lg.float32
    assert (x * 2).dtype == lg.int64
    assert (x * 1j).dtype == lg.complex64


def test_a_network_trains():
    data = [np.random.default_rng(1).normal(size=shape) for shape in ((4, 3), (3, 2), (2,))]
    results = {}
    for where in ("cpu", "strict"):
        x, w, b = (lg.tensor(values, device=where) for values in data)
        w.requires_grad_(), b.requires_grad_()
        for _ in range(3):
            loss = lg.mean((lg.tanh(x @ w + b) - 0.5) ** 2)
            w.grad = b.grad = None
            loss.backward()
            with lg.no_grad():
                w -= 0.1 * w.grad
                b -= 0.1 * b.grad
        results[where] = [loss.item(), w.tolist(), b.tolist()]
    np.testing.assert_allclose(results["strict"][0], results["cpu"][0])
    np.testing.assert_allclose(results["strict"][1], results["cpu"][1])
    np.testing.assert_allclose(results["strict"][2], results["cpu"][2])


def test_higher_orders():
    x = strict([1.0, 2.0])
    (g,) = lg.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = lg.autograd.grad(g.sum(), x, create_graph=True)
    assert lg.autograd.grad(h.sum(), x)[0].tolist() == [6.0, 6.0]


def test_batched_seeds():
    x = strict([1.0, 2.0])
    (jacobian,) = lg.autograd.grad(x * x, x, lg.eye(2, dtype=lg.float64, device="strict"), is_grads_batched=True)
    assert jacobian.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_complex_numbers():
    z = strict([1.0 + 2.0j], lg.complex128)
    lg.abs(z).sum().backward()
    np.testing.assert_allclose(z.grad.tolist(), (1 + 2j) / np.sqrt(5))


def test_views_and_writing_in_place():
    x = strict([[1.0, 2.0], [3.0, 4.0]])
    y = x * 1
    y[0] = y[0] * 10
    y[:, 1] += 1
    y.sum().backward()
    assert y.tolist() == [[10.0, 21.0], [3.0, 5.0]]
    assert x.grad.tolist() == [[10.0, 10.0], [1.0, 1.0]]


def test_a_saved_value_that_was_changed_raises():
    x = strict([1.0, 2.0])
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an in-place operation"):
        z.sum().backward()


def test_indexing():
    x = strict([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    (x[1, ::2].sum() + x[:, [0, 0]].sum() + x[..., None, 1].sum()).backward()
    assert x.grad.tolist() == [[2.0, 1.0, 0.0], [3.0, 1.0, 1.0]]


def test_gradients_travel_between_devices():
    x = lg.tensor([1.0, 2.0], requires_grad=True)
    (x.to("strict") * 3).to("cpu").sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert x.grad.device == "cpu"


def test_devices_do_not_mix():
    with pytest.raises(RuntimeError, match="cpu and strict"):
        strict([1.0, 2.0]) * lg.ones(2)


def test_an_unknown_dtype_is_named():
    with pytest.raises(TypeError, match="float16"):
        lg.zeros(2, dtype="float16", device="strict")


def test_random_numbers_and_printing():
    lg.manual_seed(0)
    x = lg.rand(2, device="strict")
    assert type(x.array) is STRICT
    assert x.dtype == lg.float32


# -- another library ---------------------------------------------------------------------------------------
@pytest.fixture
def torch_device():
    torch = pytest.importorskip("torch")
    backend, before = Generic.of("torchlike", torch.zeros(1)), device.by_array.get(torch.Tensor)
    device.register(backend)
    yield backend.name
    del device._by_name[backend.name], device.by_array[torch.Tensor]
    if before is not None:
        device.register(before)


def test_another_library_by_its_namespace(torch_device):
    x = lg.tensor([[0.5, 2.0], [1.0, 3.0]], dtype=lg.float64, device=torch_device, requires_grad=True)
    assert x.dtype == lg.float64
    y = (lg.sin(x) * x @ x).sum()
    y.backward()
    c = lg.tensor(x.tolist(), dtype=lg.float64, requires_grad=True)
    (lg.sin(c) * c @ c).sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), c.grad.tolist())
    assert lg.autograd.gradgradcheck(lambda x: lg.logsumexp(x * x, axis=1), x)
