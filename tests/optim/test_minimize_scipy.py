"""SciPy's minimisers get exact derivatives of functions of trees, and give trees back."""

import importlib

import numpy as np
import pytest

import lucidgrad as lg

optimize = pytest.importorskip("scipy.optimize")

SMOOTH = [
    "CG",
    "BFGS",
    "Newton-CG",
    "L-BFGS-B",
    "TNC",
    "SLSQP",
    "dogleg",
    "trust-ncg",
    "trust-krylov",
    "trust-exact",
    "trust-constr",
]
WITHOUT = ["Nelder-Mead", "Powell", "COBYLA", "COBYQA"]


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@pytest.mark.parametrize("method", [None, *SMOOTH])
def test_smooth_methods(method):
    start = [1.05, 1.1, 1.2] if method == "dogleg" else [-1.0, 1.5, 0.5]  # dogleg needs a positive definite Hessian
    options = {"maxfun": 2000} if method == "TNC" else {"maxiter": 2000}
    found = lg.optim.minimize_scipy(rosenbrock, lg.tensor(start), method=method, options=options)
    assert found.x.dtype == lg.float32 and found.x.shape == (3,)
    np.testing.assert_allclose(found.x.numpy(), np.ones(3), atol=5e-3)


@pytest.mark.parametrize("method", WITHOUT)
def test_methods_without_gradients(method):
    found = lg.optim.minimize_scipy(lambda x: ((x - 2) ** 2).sum(), lg.zeros(2, dtype="float64"), method=method)
    np.testing.assert_allclose(found.x.numpy(), [2, 2], atol=1e-3)


def test_derivatives_are_exact():
    """The same iterations as with SciPy's own derivatives of this function."""
    start = np.array([-1.0, 1.5, 0.5])
    for method, more in (
        ("BFGS", {"jac": optimize.rosen_der}),
        ("Newton-CG", {"jac": optimize.rosen_der, "hessp": optimize.rosen_hess_prod}),
        ("trust-exact", {"jac": optimize.rosen_der, "hess": optimize.rosen_hess}),
    ):
        expected = optimize.minimize(optimize.rosen, start, method=method, **more)
        found = lg.optim.minimize_scipy(rosenbrock, lg.tensor(start), method=method)
        assert (found.nit, found.nfev) == (expected.nit, expected.nfev), method
        np.testing.assert_allclose(found.x.numpy(), expected.x, rtol=1e-8)


@pytest.mark.parametrize("method", ["BFGS", "trust-ncg", "trust-exact"])
def test_trees(method):
    x = np.random.default_rng(0).normal(size=(20, 3))
    y = x @ np.array([1.0, -2.0, 0.5]) + 3
    data, target = lg.tensor(x), lg.tensor(y)
    start = {"w": lg.zeros(3, dtype="float32"), "b": (lg.tensor(0.0, dtype="float64"),)}
    found = lg.optim.minimize_scipy(lambda p: ((data @ p["w"] + p["b"][0] - target) ** 2).mean(), start, method=method)
    assert list(found.x) == ["w", "b"] and isinstance(found.x["b"], tuple)
    assert found.x["w"].dtype == lg.float32 and found.x["b"][0].dtype == lg.float64 and found.x["b"][0].shape == ()
    np.testing.assert_allclose(found.x["w"].numpy(), [1, -2, 0.5], atol=1e-4)
    assert found.x["b"][0].item() == pytest.approx(3, abs=1e-5)
    assert not start["w"].requires_grad and start["w"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("method", ["BFGS", "trust-ncg"])
def test_complex_numbers(method):
    goal = lg.tensor([1 + 2j, -3j])
    found = lg.optim.minimize_scipy(lambda z: (lg.abs(z * z - goal * goal) ** 2).sum(), goal + 0.3, method=method)
    assert found.x.dtype == goal.dtype
    np.testing.assert_allclose(found.x.numpy(), goal.numpy(), atol=1e-4)


def test_some_arguments_are_varied():
    f = lambda a, b, c: ((a - b) ** 2).sum() + (c - 1) ** 2
    a, b, c = lg.zeros(2), lg.tensor([1.0, 2.0]), lg.tensor(5.0)
    found = lg.optim.minimize_scipy(f, (a, b, c), argnums=0)
    np.testing.assert_allclose(found.x.numpy(), [1, 2], atol=1e-5)
    found = lg.optim.minimize_scipy(f, (a, b, c), argnums=(0, -1))
    assert isinstance(found.x, tuple) and found.x[1].item() == pytest.approx(1, abs=1e-4)
    found = lg.optim.minimize_scipy(lambda x, k: ((x - k) ** 2).sum(), a, args=(3.0,))
    np.testing.assert_allclose(found.x.numpy(), [3, 3], atol=1e-5)


@pytest.mark.parametrize("bounds", [(None, 0.5), (lg.tensor([-1.0, -1.0]), lg.tensor([0.5, 0.5])), [(-1, 0.5)] * 2])
def test_bounds(bounds):
    found = lg.optim.minimize_scipy(lambda x: ((x - 2) ** 2).sum(), lg.zeros(2, dtype="float64"), bounds=bounds)
    np.testing.assert_allclose(found.x.numpy(), [0.5, 0.5], atol=1e-8)


def test_bounds_like_a_tree():
    start = {"a": lg.zeros(2, dtype="float64"), "b": lg.zeros((), dtype="float64")}
    high = {"a": lg.tensor([0.5, 9.0]), "b": 0.25}
    loss = lambda p: ((p["a"] - 2) ** 2).sum() + (p["b"] - 2) ** 2
    found = lg.optim.minimize_scipy(loss, start, bounds=(None, high))
    np.testing.assert_allclose(found.x["a"].numpy(), [0.5, 2.0], atol=1e-6)
    assert found.x["b"].item() == pytest.approx(0.25)


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_constraints(method):
    start, distance = lg.tensor([1.0, 0.5], dtype="float64"), lambda x: ((x - 2) ** 2).sum()
    circle = {"type": "ineq", "fun": lambda x: 1 - (x * x).sum()}
    line = {"type": "eq", "fun": lambda x, k: x[0] - k * x[1], "args": (2.0,)}
    found = lg.optim.minimize_scipy(distance, start, method=method, constraints=[circle, line])
    np.testing.assert_allclose(found.x.numpy(), np.array([2, 1]) / 5**0.5, atol=1e-3)
    both = optimize.NonlinearConstraint(lambda x: lg.stack([(x * x).sum(), x[0] - 2 * x[1]]), [-np.inf, 0], [1, 0])
    found = lg.optim.minimize_scipy(distance, start, method=method, constraints=both)
    np.testing.assert_allclose(found.x.numpy(), np.array([2, 1]) / 5**0.5, atol=1e-3)
    plane = optimize.LinearConstraint([[1, 1]], -np.inf, 1)
    found = lg.optim.minimize_scipy(distance, start, method=method, constraints=plane)
    np.testing.assert_allclose(found.x.numpy(), [0.5, 0.5], atol=1e-3)


def test_callbacks_hear_of_trees():
    seen, values = [], []
    start = {"x": lg.tensor([3.0])}
    loss = lambda p: ((p["x"] - 1) ** 2).sum()
    lg.optim.minimize_scipy(loss, start, method="BFGS", callback=lambda p: seen.append(p["x"].item()))

    def told(intermediate_result):
        values.append((intermediate_result.fun, intermediate_result.x["x"].item()))

    lg.optim.minimize_scipy(loss, start, method="BFGS", callback=told)
    assert seen[-1] == pytest.approx(1) and values[-1][1] == seen[-1]


def test_parts_without_influence_and_linear_functions():
    start = (lg.ones(2, dtype="float64"), lg.ones(1, dtype="float64"))
    found = lg.optim.minimize_scipy(lambda p: (p[0] ** 2).sum(), start, method="trust-ncg")
    assert found.x[1].tolist() == [1.0]
    found = lg.optim.minimize_scipy(lambda x: x.sum(), lg.ones(2), method="TNC", bounds=(0.25, 4.0))
    assert found.x.tolist() == [0.25, 0.25]


def test_on_the_device():
    start = lg.tensor([-1.0, 1.5], device="cuda:0")
    found = lg.optim.minimize_scipy(lambda x: ((x - lg.ones(2, device="cuda:0")) ** 2).sum(), start)
    assert str(found.x.device) == "cuda:0"
    np.testing.assert_allclose(found.x.cpu().numpy(), [1, 1], atol=1e-6)


def test_what_can_not_be_minimised():
    with pytest.raises(ValueError, match="one real number"):
        lg.optim.minimize_scipy(lambda x: x, lg.ones(2))
    with pytest.raises(TypeError, match="int64"):
        lg.optim.minimize_scipy(lambda x: x.sum(), lg.arange(2))
    with pytest.raises(ValueError, match="without tensors"):
        lg.optim.minimize_scipy(lambda x: 0.0, [])
    with pytest.raises(TypeError, match="constraint of type int"):
        lg.optim.minimize_scipy(lambda x: x.sum(), lg.ones(2), constraints=[3])


def test_without_scipy(monkeypatch):
    known = importlib.import_module

    def absent(name, *rest):
        if name.startswith("scipy"):
            raise ImportError(name)
        return known(name, *rest)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ImportError, match="pip install scipy"):
        lg.optim.minimize_scipy(lambda x: x.sum(), lg.ones(2))
