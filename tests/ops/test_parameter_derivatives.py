"""Derivatives of incomplete gamma and beta functions and of zeta functions with respect to their parameters."""

import itertools

import mpmath as mp
import numpy as np
import pytest
from certified import pointwise
from thoroughness import cases

import lucidgrad as lg
from lucidgrad import special


def exact(f, at, orders):
    """A derivative of mpmath's function, by differences with 60 digits, whose steps are small beside the arguments."""
    with mp.workdps(60):
        at = tuple(map(mp.mpf, at))
        found = mp.diff(lambda *t: f(*map(mp.fmul, at, t)), (mp.mpf(1),) * len(at), orders, h=mp.mpf(10) ** -15)
        return float(mp.re(found) / mp.fprod(x**n for x, n in zip(at, orders, strict=True)))


FUNCTIONS = {
    "gammainc": lambda a, x: mp.gammainc(a, 0, x, regularized=True),
    "gammaincc": lambda a, x: mp.gammainc(a, x, regularized=True),
    "betainc": lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
    "betaincc": lambda a, b, x: mp.betainc(a, b, x, 1, regularized=True),
    "zeta": pointwise.FUNCTIONS["hurwitz_zeta"],
}
GAMMA = [(a, a * r) for a in (1e-3, 0.1, 0.7, 1.5, 5.0, 19.0, 60.0, 130.0) for r in (1e-3, 0.5, 0.9, 1.0, 1.2, 5.0)]
GAMMA += [(a, x) for a in (1e-3, 0.05, 0.5) for x in (1e-20, 0.3, 1.0, 1.2, 3.0, 30.0)]
BETA = list(
    itertools.product((0.05, 0.6, 2.0, 40.0, 300.0), (0.08, 0.5, 3.0, 90.0, 700.0), (1e-9, 1e-3, 0.04, 0.3, 0.62, 0.9))
)
ZETA = list(itertools.product((1.001, 1.5, 3.3, 12.0, 30.0), (1e-3, 0.3, 1.0, 7.0, 90.0)))
POINTS = {"gammainc": GAMMA, "gammaincc": GAMMA, "betainc": BETA, "betaincc": BETA, "zeta": ZETA}


def chosen(points, quick):
    rng = np.random.default_rng(12)
    return [points[i] for i in rng.permutation(len(points))[: cases(quick, len(points))]]


def derivative(name, at, orders):
    """The same here, by nested reverse mode, in the order of the arguments."""
    f = getattr(special, name)
    for k, order in enumerate(orders):
        for _ in range(order):
            f = lg.func.grad(f, argnums=k)
    return f(*(lg.tensor(v, dtype=lg.float64) for v in at)).item()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_derivatives(name):
    count = 3 if "beta" in name else 2
    for at in chosen(POINTS[name], 25):
        for k in range(count - 1):
            orders = tuple(int(i == k) for i in range(count))
            want = exact(FUNCTIONS[name], at, orders)
            if abs(want) > 1e-250:
                assert derivative(name, at, orders) == pytest.approx(want, rel=2e-13), (at, orders)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives(name):
    """Mixed ones, too; where they cross zero they are small in absolute terms only."""
    count = 3 if "beta" in name else 2
    pairs = [o for o in itertools.product(range(3), repeat=count) if sum(o) == 2 and any(o[: count - 1])]
    for at in chosen(POINTS[name], 6):
        for orders in pairs:
            want = exact(FUNCTIONS[name], at, orders)
            if abs(want) > 1e-250:
                assert derivative(name, at, orders) == pytest.approx(want, rel=1e-11, abs=1e-15), (at, orders)


def test_third_derivatives():
    assert derivative("gammainc", (2.5, 1.7), (3, 0)) == pytest.approx(exact(FUNCTIONS["gammainc"], (2.5, 1.7), (3, 0)))
    found = derivative("betainc", (2.5, 1.7, 0.4), (2, 1, 0))
    assert found == pytest.approx(exact(FUNCTIONS["betainc"], (2.5, 1.7, 0.4), (2, 1, 0)))


@pytest.mark.parametrize("x", [-7.5, -2.0, -0.4, 0.3, 0.9, 1.2, 3.0, 20.0])
def test_riemanns_zeta_function(x):
    f = special.zeta
    for order in (1, 2):
        f = lg.func.grad(f)
        want = float(mp.zeta(x, 1, order))
        assert f(lg.tensor(x, dtype=lg.float64)).item() == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_in_narrow_dtypes(dtype):
    kept = getattr(lg, dtype)
    a, x = lg.tensor([0.5, 3.0, 40.0], dtype=kept, requires_grad=True), lg.asarray([1.0, 2.0, 41.0], dtype=kept)
    (g,) = lg.autograd.grad(special.gammainc(a, x).sum(), a)
    want = [derivative("gammainc", at, (1, 0)) for at in zip(a.tolist(), x.tolist(), strict=True)]
    assert g.dtype == kept
    np.testing.assert_allclose(g.numpy().astype(float), want, rtol=2e-2 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("x", [0.5, 1.5, 2.5, 8.0])
@pytest.mark.parametrize("a", [1e-3, 0.02, 0.4])
def test_small_parameters_in_float32(a, x):
    """Where ``psi(a)`` is large, its powers must not cancel."""
    a, x = float(np.float32(a)), float(np.float32(x))
    f, at = special.gammainc, (lg.tensor(a, dtype=lg.float32), lg.tensor(x, dtype=lg.float32))
    for order in (1, 2, 3):
        f = lg.func.grad(f)
        assert f(*at).item() == pytest.approx(exact(FUNCTIONS["gammainc"], (a, x), (order, 0)), rel=2e-5)


def test_large_parameters():
    """The gamma distribution is a normal one there: the derivative is that of the limit, turned around."""
    for a in (1e4, 1e6):
        for z in (-2.0, -0.5, 0.0, 0.5, 2.0):
            x = a + z * a**0.5
            slope, density = derivative("gammainc", (a, x), (1, 0)), derivative("gammainc", (a, x), (0, 1))
            assert slope == pytest.approx(-density, rel=3 / a**0.5)


def test_ends():
    a = lg.tensor([2.0, 2.0, 0.0], dtype=lg.float64, requires_grad=True)
    (g,) = lg.autograd.grad(special.gammainc(a, lg.asarray([0.0, np.inf, 2.0], dtype=lg.float64)).sum(), a)
    assert g.tolist()[:2] == [0, 0]
    assert g.tolist()[2] == pytest.approx(-float(mp.e1(2.0)))
    b = lg.tensor([2.0, 2.0], dtype=lg.float64, requires_grad=True)
    (g,) = lg.autograd.grad(special.betainc(b, 3.0, lg.asarray([0.0, 1.0], dtype=lg.float64)).sum(), b)
    assert g.tolist() == [0, 0]


def test_the_f_distribution():
    n, d, x = (lg.tensor(v, dtype=lg.float64, requires_grad=True) for v in (3.0, 7.0, 1.5))
    y, rest = special.fdtr(n, d, x), special.fdtrc(n, d, x)
    assert (y + rest).item() == pytest.approx(1, rel=1e-15)
    found = [g.item() for g in lg.autograd.grad(y, (n, d, x))]
    share = lambda n, d, x: mp.betainc(n / 2, d / 2, 0, n * x / (n * x + d), regularized=True)
    want = [exact(share, (3, 7, 1.5), tuple(int(i == k) for i in range(3))) for k in range(3)]
    assert found == pytest.approx(want, rel=1e-13)
