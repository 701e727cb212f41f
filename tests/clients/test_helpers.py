"""array-api-compat's helpers and array-api-extra's functions on tensors."""

import array_api_compat as compat
import array_api_extra as xpx
import numpy as np
import pytest
from clients import check, check_mutates, like, numbers

import lucidgrad as lg

A, B = numbers(3, 4, seed=1), numbers(3, 4, seed=2)
V = numbers(5, low=0.2, high=2.0, seed=3)
MIXED = np.array([[0.5, -1.2, 2.0], [-0.1, 0.7, -3.0]])


# -- array-api-compat --------------------------------------------------------------------------------------
def test_the_namespace_of_a_tensor():
    x = lg.ones(3)
    assert compat.array_namespace(x) is lg
    assert compat.array_namespace(x, lg.zeros(2), 1.0, None) is lg
    assert compat.is_array_api_obj(x)
    assert not compat.is_numpy_array(x)
    assert not compat.is_lazy_array(x)
    with pytest.raises(TypeError, match="Multiple namespaces"):
        compat.array_namespace(x, np.ones(3))


def test_size_and_writing():
    x = lg.ones((2, 3))
    assert compat.size(x) == 6
    assert compat.is_writeable_array(x)


def test_devices():
    x = lg.tensor([1.0, 2.0], requires_grad=True)
    assert compat.device(x) == "cpu"
    assert compat.to_device(x, "cpu") is x
    there = compat.to_device(x, "strict")
    assert compat.device(there) == "strict"
    (there * there).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


# -- array-api-extra ---------------------------------------------------------------------------------------
def at(method, *value, key=(slice(None), 1)):
    return lambda x: getattr(xpx.at(x, key), method)(*(v(x) if callable(v) else v for v in value), copy=True)


CASES = {
    "angle": (lambda x: xpx.angle(x + 1j * x * x), V),
    "apply_where": (lambda x: xpx.apply_where(x > 0, x, lambda t: t**0.5, lambda t: t * t), MIXED),
    "apply_where(fill_value)": (
        lambda x, y: xpx.apply_where(x > 0, (x, y), lambda s, t: s**0.5 * t, fill_value=0.5),
        MIXED,
        MIXED + 3,
    ),
    "at.add": (at("add", lambda x: x[:, 0] * x[:, 2]), A),
    "at.subtract": (at("subtract", lambda x: x[:, 0] * x[:, 2]), A),
    "at.multiply": (at("multiply", lambda x: x[:, 0]), A),
    "at.divide": (at("divide", 2.0), A),
    "at.power": (at("power", 3), A),
    "at.set": (at("set", lambda x: x[:, 0] ** 2), A),
    "at.set(mask)": (lambda x: xpx.at(x, x > 0).set(0.0, copy=True) * x, MIXED),
    "at.multiply(mask)": (lambda x: xpx.at(x, x > 0).multiply(2.0, copy=True), MIXED),
    "at.add(in place)": (lambda x: xpx.at(x * 2, (slice(None), 1)).add(2.0) ** 2, A),
    "atleast_nd": (lambda x: xpx.atleast_nd(x * x, ndim=3), V),
    "cov": (lambda x: xpx.cov(x), A),
    "create_diagonal": (lambda x: xpx.create_diagonal(x * x), V),
    "deg2rad": (lambda x: xpx.deg2rad(x), V),
    "rad2deg": (lambda x: xpx.rad2deg(x), V),
    "expand_dims": (lambda x: xpx.expand_dims(x * x, axis=(0, 2)), V),
    "kron": (lambda x, y: xpx.kron(x, y), A, B),
    "lazy_apply": (lambda x: xpx.lazy_apply(lambda t: t * t, x, xp=x.__array_namespace__()), V),
    "nan_to_num": (lambda x: xpx.nan_to_num(x * x), V),
    "nanmax": (lambda x: xpx.nanmax(x, axis=1), A),
    "nanmean": (lambda x: xpx.nanmean(x, axis=1), A),
    "nanmin": (lambda x: xpx.nanmin(x, axis=1), A),
    "nansum": (lambda x: xpx.nansum(x * x, axis=1), A),
    "pad": (lambda x: xpx.pad(x * x, 2, constant_values=1.0), A),
    "pad(per axis)": (lambda x: xpx.pad(x * x, ((0, 1), (2, 0))), A),
    "partition": (lambda x: xpx.partition(x, 2), V),
    "setdiff1d": (lambda x: xpx.setdiff1d(x, like(x, [0.5, 0.6])), V),
    "sinc": (lambda x: xpx.sinc(x), V),
    "union1d": (lambda x, y: xpx.union1d(x, y), V, V[:2] + 3),
}
MUTATES = {"at.min": (at("min", 0.2), A), "at.max": (at("max", 0.2), A)}
WITHOUT_GRADIENT = {
    "argpartition": (lambda x: like(x, 1) * (xpx.argpartition(x, 2)[:3] < 5), V),
    "broadcast_shapes": (lambda x: like(x, xpx.broadcast_shapes(x.shape, (2, 1))), V),
    "default_dtype": (lambda x: like(x, str(xpx.default_dtype(x.__array_namespace__())).startswith("float")), V),
    "diag_indices": (lambda x: xpx.diag_indices(3, xp=x.__array_namespace__())[0], V),
    "isclose": (lambda x, y: xpx.isclose(x, y), A, A + 1e-12),
    "isin": (lambda x, y: xpx.isin(x, y), A, A[0, :2]),
    "nunique": (lambda x: like(x, xpx.nunique(x)), A),
    "one_hot": (lambda i: xpx.one_hot(i, 4), np.array([0, 2])),
    "searchsorted": (lambda x, y: xpx.searchsorted(x, y), np.sort(V), V),
    "tril_indices": (lambda x: xpx.tril_indices(3, xp=x.__array_namespace__())[0], V),
    "triu_indices": (lambda x: xpx.triu_indices(3, xp=x.__array_namespace__())[0], V),
    "unravel_index": (lambda i: xpx.unravel_index(i, (3, 4))[1], np.array([3, 5])),
}


@pytest.mark.filterwarnings("ignore:`xpx")
@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient(name):
    f, *arrays = CASES[name]
    check(f, *arrays)


@pytest.mark.parametrize("name", MUTATES)
def test_writing_over_a_kept_value_must_be_allowed(name):
    f, *arrays = MUTATES[name]
    check_mutates(f, *arrays)


@pytest.mark.filterwarnings("ignore:`xpx")
@pytest.mark.parametrize("name", WITHOUT_GRADIENT)
def test_value(name):
    f, *arrays = WITHOUT_GRADIENT[name]
    y = f(*map(lg.tensor, arrays))
    assert isinstance(y, lg.Tensor)
    np.testing.assert_array_equal(y.numpy(), f(*arrays))


def test_setdiff1d_with_tensors_that_share_values():
    x = lg.tensor([3.0, 1.0, 2.0], requires_grad=True)
    y = xpx.setdiff1d(x, lg.tensor([1.0]))
    (y * lg.tensor([10.0, 20.0])).sum().backward()
    assert y.tolist() == [2.0, 3.0]
    assert x.grad.tolist() == [20.0, 0.0, 10.0]
