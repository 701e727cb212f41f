"""NumPy's functions on CUDA tensors give CUDA tensors: the CPU's values and gradients."""

import numpy as np
import pytest
from numpy_expressions import GIVEN, expressions, flat, names_in
from thoroughness import NIGHTLY

import lucidgrad as lg

#: A few of each kind; the others in the nightly run.
FEW = """
np.sin(x) | np.add(x, u) | np.add(x, [1.0, 2.0, 3.0, 4.0]) | np.power(p, x) | np.divmod(x, p) | np.add.outer(u, v)
np.add.reduce(x, axis=1) | np.subtract.reduce(x, 1) | np.sum(x, 0) | np.std(x, 0) | np.median(x, 1) | np.cumsum(x, 1)
np.quantile(x, [0.2, 0.7], axis=1) | np.concatenate((x, y), axis=1) | np.stack([x, y]) | np.split(u, [1, 3])
np.block([[h, v[:, None]], [v, 1.0]]) | np.insert(u, 1, 5.0) | np.delete(x, 1, axis=1) | np.pad(x, 2, "reflect")
np.where(x > 0, x, 0.0) | np.where(mask) | np.take(x, i, axis=1) | np.sort(x) | np.interp(x, rising, w)
np.convolve(u, [1.0, 2.0], "same") | np.einsum("ij,jk->ik", x, m) | np.polyfit(rising, w, 2) | np.linalg.inv(m)
np.linalg.solve(m, u) | np.linalg.norm(x, axis=1) | np.fft.rfft(x) | np.linspace(u, v[0], 3) | np.zeros_like(x)
np.unique(n) | np.bincount(j, weights=u) | np.clip(x, -1.0, 1.0) | np.array_str(n) | np.shape(b)
"""
CHOSEN = [part.strip() for part in FEW.replace("\n", " | ").split(" | ") if part.strip()]
#: Of memory; of vectors whose signs are any; without a derivative.
CPU_ALONE = (
    "np.shares_memory", "np.may_share_memory", "np.linalg.svd(", "np.linalg.eig(", 'np.linalg.qr(tall, "complete")'
)  # fmt: skip
EVERY = [e for e in expressions() if not e.startswith(CPU_ALONE)]


@pytest.fixture(scope="module")
def there():
    return {name: lg.asarray(array, device="cuda") for name, array in GIVEN.items()}


def test_chosen_expressions_are_among_all():
    assert set(CHOSEN) <= set(EVERY)


@pytest.mark.parametrize("expression", EVERY if NIGHTLY else CHOSEN)
def test_values_and_gradients_are_the_cpus(expression, there):
    names = [name for name in names_in(expression) if GIVEN[name].dtype == np.float64]
    results = []
    for given in ({name: lg.asarray(array) for name, array in GIVEN.items()}, there):
        leaves = {name: given[name].clone().requires_grad_() for name in names}
        found = flat(eval(expression, {"np": np, **given, **leaves}))
        loss = sum(lg.abs(lg.sin(y)).sum() for y in found if isinstance(y, lg.Tensor) and y.requires_grad)
        if isinstance(loss, lg.Tensor):
            loss.backward()
        results.append((found, [leaf.grad for leaf in leaves.values()]))
    (values, gradients), (values_there, gradients_there) = results
    single = any(y.dtype.itemsize <= 4 for y in values if isinstance(y, lg.Tensor) and y.is_floating_point())
    for one, other in zip([*values, *gradients], [*values_there, *gradients_there], strict=True):
        if not isinstance(one, lg.Tensor):
            assert one == other
            continue
        assert other.is_cuda
        assert other.dtype == one.dtype
        exact = 1e-5 if single or one.dtype.itemsize <= 4 else 1e-9  # gradients, too, came by way of the values
        np.testing.assert_allclose(other.numpy(force=True), one.numpy(force=True), rtol=exact, atol=exact)


def test_operators_with_numbers_and_arrays(there):
    x = there["x"]
    assert (np.float64(2.0) * x).is_cuda
    assert (np.asarray(2.0) * x).is_cuda
    with pytest.raises(lg.DeviceError, match="move one"):
        np.ones((3, 4)) * x
    with pytest.raises(TypeError, match="cuda"):
        np.asarray(x)


def test_like_makes_tensors_where_a_tensor_is(there):
    assert np.zeros(3, like=there["x"]).is_cuda
    assert np.arange(3, like=there["x"]).is_cuda


def test_default_device_is_where_the_door_makes_tensors():
    with lg.device("cuda"):
        assert lg.numpy.zeros(3).is_cuda
        assert lg.numpy.array([1.0, 2.0]).is_cuda
        assert lg.numpy.random.rand(2).is_cuda
        assert lg.numpy.linspace(0, 1, 3).is_cuda
