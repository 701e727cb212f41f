"""Devices by name, the current device, and tensors of several of them."""

import numpy as np
import pytest

import lucidgrad as lg


def values(t):
    return t.detach().cpu().numpy()


def test_available():
    assert lg.cuda.is_available()
    assert lg.cuda.device_count() >= 1
    assert lg.ones(2, device="cuda").is_cuda
    assert lg.cuda.is_initialized()


def test_cuda_is_the_current_device(second):
    assert lg.cuda.current_device() == 0
    assert str(lg.ones(2, device="cuda").device) == "cuda:0"
    with lg.cuda.device(1):
        assert lg.cuda.current_device() == 1
        assert str(lg.ones(2, device="cuda").device) == "cuda:1"
        with lg.cuda.device("cuda:0"):
            assert str(lg.zeros(2, device="cuda").device) == "cuda:0"
    lg.cuda.set_device(1)
    assert str(lg.tensor([1.0]).cuda().device) == "cuda:1"
    assert str(lg.tensor([1.0]).cuda(0).device) == "cuda:0"


@pytest.mark.parametrize(
    "make",
    [
        lambda d: lg.zeros(2, 3, device=d),
        lambda d: lg.full((2,), 3.0, device=d),
        lambda d: lg.arange(5, device=d),
        lambda d: lg.linspace(0, 1, 5, device=d),
        lambda d: lg.eye(3, device=d),
        lambda d: lg.tensor([[1.0, 2.0]], device=d),
        lambda d: lg.asarray([1, 2], device=d),
        lambda d: lg.rand(3, device=d),
        lambda d: lg.randperm(5, device=d),
        lambda d: lg.ones_like(lg.ones(2, device=d)),
    ],
)
def test_creation_on_a_device(make, second):
    for where in ("cuda:0", second):
        assert str(make(where).device) == where
    assert lg.cuda.current_device() == 0


def test_default_device(second):
    with lg.device(second):
        assert str(lg.ones(2).device) == second
        assert str(lg.tensor([1.0]).device) == second
        assert str(lg.asarray(np.ones(2)).device) == second
        assert str(lg.from_numpy(np.ones(2)).device) == "cpu"
        with lg.device("cpu"):
            assert str(lg.rand(2).device) == "cpu"
    assert str(lg.ones(2).device) == "cpu"
    lg.set_default_device("cuda")
    try:
        assert str(lg.get_default_device()) == "cuda:0"
        assert str(lg.ones(2).device) == "cuda:0"
    finally:
        lg.set_default_device(None)
    assert str(lg.ones(2).device) == "cpu"


def test_operations_run_on_the_device_of_their_tensors(second):
    x = lg.tensor([1.0, 2.0, 3.0], device=second, requires_grad=True)
    assert lg.cuda.current_device() == 0
    y = (lg.exp(x) * 2.0 + x[1:].sum() - lg.stack([x, x]).mean()) @ x
    y.backward()
    assert str(y.device) == str(x.grad.device) == second
    assert lg.cuda.current_device() == 0
    host = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    ((lg.exp(host) * 2.0 + host[1:].sum() - lg.stack([host, host]).mean()) @ host).backward()
    np.testing.assert_allclose(values(x.grad), values(host.grad), rtol=1e-5)
    x.backward(x.detach() * 2)  # adds to what is there
    x.detach()[0] = 5.0
    assert x.tolist() == [5.0, 2.0, 3.0]
    x.detach().mul_(2.0)
    assert x.tolist() == [10.0, 4.0, 6.0]
    assert lg.cuda.current_device() == 0


def test_a_graph_over_two_devices(second):
    w = lg.tensor([1.0, 2.0], device="cuda:0", requires_grad=True)
    v = lg.tensor([3.0, 4.0], device=second, requires_grad=True)
    a = lg.exp(w)
    b = a.to(second) * v
    y = (b.to("cuda:0") * a).sum() + (a.to(second) * v).sum().to("cuda:0")
    y.backward()
    assert str(w.grad.device) == "cuda:0"
    assert str(v.grad.device) == second
    e = np.exp([1.0, 2.0])
    np.testing.assert_allclose(values(w.grad), 2 * e * e * [3, 4] + e * [3, 4], rtol=1e-5)
    np.testing.assert_allclose(values(v.grad), e * e + e, rtol=1e-5)
    assert lg.cuda.current_device() == 0


def test_higher_orders_over_two_devices(second):
    x = lg.tensor([1.0, 2.0], device="cuda:0", requires_grad=True)
    y = (x.to(second) ** 3).to("cuda:0").sum()
    (g,) = lg.autograd.grad(y, x, create_graph=True)
    (h,) = lg.autograd.grad(g.sum(), x)
    assert h.tolist() == [6.0, 12.0]


# -- mixing --------------------------------------------------------------------------------------
def test_mixing_names_both_devices_and_the_way_out(second):
    on = {name: lg.ones(2, device=name) for name in ("cpu", "cuda:0", second)}
    for one, other in [("cpu", "cuda:0"), ("cuda:0", "cpu"), ("cuda:0", second), (second, "cuda:0")]:
        with pytest.raises(lg.DeviceError) as error:
            on[one] + on[other]
        assert one in str(error.value)
        assert other in str(error.value)
        assert ".to(" in str(error.value)
    with pytest.raises(lg.DeviceError, match="cuda:0.*cuda:1"):
        lg.concat([on["cuda:0"], on[second]])
    with pytest.raises(RuntimeError, match="cuda:0"):
        on["cuda:0"][:] = on["cpu"]


def test_numbers_and_0d_cpu_tensors_mix():
    x = lg.tensor([1.0, 2.0], device="cuda", requires_grad=True)
    s = lg.tensor(3.0, requires_grad=True)
    for y, expected in [(x * s, [3.0, 6.0]), (s - x, [2.0, 1.0]), (lg.maximum(x, s), [3.0, 3.0])]:
        assert str(y.device) == "cuda:0"
        assert y.tolist() == expected
    (x * s + 2 * x).sum().backward()
    assert str(s.grad.device) == "cpu"
    assert s.grad.item() == 3.0
    assert x.grad.tolist() == [5.0, 5.0]
    assert (x * np.float32(2.0)).tolist() == [2.0, 4.0]
    x.detach().mul_(lg.tensor(2.0))
    assert x.tolist() == [2.0, 4.0]


def test_0d_cpu_tensors_mix_in_place():
    x = lg.tensor([1.0, 2.0], device="cuda", requires_grad=True)
    s = lg.tensor(3.0, requires_grad=True)
    y = x * 1
    y.mul_(s)
    y[0] = s
    y.sum().backward()
    assert y.tolist() == [3.0, 6.0]
    assert s.grad.item() == 3.0
    assert x.grad.tolist() == [0.0, 3.0]


def test_indices_may_be_on_the_cpu():
    x = lg.arange(5.0, device="cuda").requires_grad_()
    y = x[lg.asarray([0, 0, 3])]
    assert y.tolist() == [0.0, 0.0, 3.0]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 0.0, 1.0, 0.0]
    assert x[lg.asarray([True, False, True, False, True])].tolist() == [0.0, 2.0, 4.0]


# -- what there is not ---------------------------------------------------------------------------
def test_a_device_that_does_not_exist():
    with pytest.raises(lg.DeviceError, match="cuda:99.*does not exist"):
        lg.ones(2, device="cuda:99")
    with pytest.raises(lg.DeviceError, match="cuda:99"):
        lg.ones(2).to("cuda:99")
    with pytest.raises(lg.DeviceError, match="cpu"):
        lg.cuda.set_device("cpu")


def test_properties():
    assert isinstance(lg.cuda.get_device_name(), str)
    assert lg.cuda.get_device_capability() >= (3, 5)
    free, total = lg.cuda.mem_get_info()
    assert 0 < free <= total


def test_memory():
    lg.cuda.synchronize()
    before = lg.cuda.memory_allocated()
    lg.cuda.reset_peak_memory_stats()
    x = lg.zeros(1000, device="cuda")
    assert lg.cuda.memory_allocated() >= before + x.nbytes
    del x
    assert lg.cuda.memory_allocated() == before
    assert lg.cuda.max_memory_allocated() >= before + 4000
    assert lg.cuda.memory_reserved() >= before
    lg.cuda.empty_cache()
    assert lg.cuda.memory_reserved() <= before + 2**21


# -- reading -------------------------------------------------------------------------------------
def test_values_leave_the_device_only_when_asked():
    x = lg.tensor([1.0, 2.0], device="cuda")
    for read in (x.numpy, lambda: np.asarray(x)):
        with pytest.raises(TypeError, match="cuda:0"):
            read()
    assert x.numpy(force=True).tolist() == x.tolist() == [1.0, 2.0]
    assert x.sum().item() == 3.0
    assert float(x[1]) == 2.0
    assert bool(x[0])
    assert repr(x) == "tensor([1., 2.], device='cuda:0')"
    assert f"{x[0]:.2f}" == "1.00"


def test_pickle_and_deepcopy(second):
    import copy
    import pickle

    x = lg.tensor([1.0, 2.0], device=second, requires_grad=True)
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert str(made.device) == second
        assert made.tolist() == [1.0, 2.0]
        assert made.requires_grad


def test_batches_of_cotangents(second):
    for where in ("cuda:0", second):
        x = lg.tensor([1.0, 2.0, 3.0], device=where, requires_grad=True)
        y = lg.exp(x) * x.sum()
        (found,) = lg.autograd.grad(y, x, lg.eye(3, device=where), is_grads_batched=True)
        e = np.exp([1.0, 2.0, 3.0])
        assert str(found.device) == where
        np.testing.assert_allclose(values(found), np.diag(6 * e) + e[:, None], rtol=1e-5)


# -- views and writing -----------------------------------------------------------------------------
def test_views_share_memory_and_versions():
    x = lg.zeros(2, 3, device="cuda")
    v = x.mT[1:]
    v[...] = 5.0
    assert x.tolist() == [[0.0, 5.0, 5.0], [0.0, 5.0, 5.0]]
    assert x._version == v._version == 1
    assert lg.reshape(x, (6,))._version == 1
    with pytest.raises(RuntimeError, match="expanded view"):
        lg.broadcast_to(lg.ones(1, device="cuda"), (3,)).add_(1)


def test_gradients_through_writes():
    x = lg.tensor([1.0, 2.0, 3.0], device="cuda", requires_grad=True)
    y = x * 2
    y[1:] = lg.exp(x[:2])
    y[0].mul_(3)
    y.sum().backward()
    np.testing.assert_allclose(values(x.grad), [6 + np.exp(1), np.exp(2), 0], rtol=1e-5)
    z = x * x
    w = lg.exp(z)
    w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an in-place"):
        w.sum().backward()
