"""Special functions beyond the error functions: accuracy against mpmath, edges, derivatives, SciPy's names."""

import math
import warnings

import mpmath
import numpy as np
import pytest
import scipy.special
from certified.pointwise import besselk
from golden import peer

import lucidgrad as lg
import lucidgrad.special as special
from lucidgrad.core.primitive import registry

INF, NAN = math.inf, math.nan
DTYPES = [np.float32, np.float64]


def tensor(values, dtype=np.float64, requires_grad=False):
    return lg.tensor(np.asarray(values, dtype), dtype=np.dtype(dtype), requires_grad=requires_grad)


# -- accuracy in units in the last place -----------------------------------------------------------
def _ndtr(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _log_ndtr(x):
    return mpmath.log(_ndtr(x)) if x < 0 else mpmath.log1p(-_ndtr(-x))


def _erfcinv(x):
    if x > 1:
        return -_erfcinv(2 - x)
    y = mpmath.mpf(float(scipy.special.erfcinv(float(x))))
    for _ in range(4):
        y += (mpmath.erfc(y) - x) * mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(y * y)
    return y


#: Function, reference, intervals of the arguments, units allowed.
ACCURACY = {
    "gammaln": (
        lambda x: mpmath.loggamma(x).real,
        [[(1e-6, 1)], [(0.9, 1.1)], [(1.9, 2.1)], [(1, 30)], [(30, 1e6)]],
        6,
    ),
    "gamma": (mpmath.gamma, [[(1e-6, 1)], [(1, 12)], [(12, 34)], [(-9.9, -0.1)]], 6),
    "psi": (mpmath.digamma, [[(1e-6, 1)], [(1.45, 1.47)], [(1, 12)], [(12, 1e4)]], 6),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), [[(-9, 0)], [(0, 5)], [(5, 1e6)]], 6),
    "erfcinv": (_erfcinv, [[(1e-9, 1e-3)], [(0.001, 1.999)]], 8),
    "ndtr": (_ndtr, [[(-1, 1)], [(-8, 8)], [(-12, -8)]], 8),
    "ndtri": (lambda p: -mpmath.sqrt(2) * _erfcinv(2 * p), [[(1e-9, 1e-3)], [(0.001, 0.999)]], 8),
    "log_ndtr": (_log_ndtr, [[(-1, 1)], [(-8, 8)], [(-1e3, -8)]], 8),
    "i0": (lambda x: mpmath.besseli(0, x), [[(-1, 1)], [(0, 9)], [(-80, 80)]], 6),
    "i1": (lambda x: mpmath.besseli(1, x), [[(-1, 1)], [(0, 9)], [(-80, 80)]], 6),
    "i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), [[(-9, 9)], [(9, 800)]], 6),
    "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), [[(-9, 9)], [(9, 800)]], 6),
    "exprel": (lambda x: mpmath.expm1(x) / x, [[(-1, 1)], [(-30, 80)]], 6),
    "bessel_j0": (lambda x: mpmath.besselj(0, x), [[(-2.2, 2.2)], [(2.6, 5)], [(5.9, 8.2)]], 6),
    "bessel_j1": (lambda x: mpmath.besselj(1, x), [[(-3.5, 3.5)], [(4, 6.5)]], 6),
    "bessel_y0": (lambda x: mpmath.bessely(0, x), [[(1e-9, 0.8)], [(1, 3.7)], [(4.2, 6.7)]], 6),
    "bessel_y1": (lambda x: mpmath.bessely(1, x), [[(1e-9, 2)], [(2.4, 5)], [(6, 8.2)]], 6),
    "k0": (lambda x: besselk(0, x), [[(1e-9, 1)], [(1, 3)], [(3, 80)]], 6),
    "k1": (lambda x: besselk(1, x), [[(1e-9, 1)], [(1, 3)], [(3, 80)]], 6),
    "k0e": (lambda x: besselk(0, x) * mpmath.exp(x), [[(1e-9, 1)], [(1, 3)], [(3, 80)]], 6),
    "k1e": (lambda x: besselk(1, x) * mpmath.exp(x), [[(1e-9, 1)], [(1, 3)], [(3, 80)]], 6),
    "airy_ai": (mpmath.airyai, [[(-3.4, -2.6)], [(-2.1, 1)], [(1, 5)]], 8),
    "spherical_bessel_j0": (lambda x: mpmath.sin(x) / x, [[(-1, 1)], [(1, 3)], [(4, 6)]], 4),
    "zeta": (mpmath.zeta, [[(1.01, 9), (0.05, 1)], [(1.01, 9), (1, 50)], [(1.5, 8), (-4, -0.1)]], 8),
    "beta": (mpmath.beta, [[(0.01, 8), (0.01, 8)], [(0.1, 9), (9, 25)]], 12),
    "betaln": (
        lambda a, b: mpmath.log(mpmath.beta(a, b)),
        [[(2, 8), (2, 8)], [(1, 8), (8, 1e3)], [(8, 1e5), (8, 1e5)]],
        12,
    ),
    "rel_entr": (lambda x, y: x * mpmath.log(x / y), [[(0.1, 1), (2, 9)], [(0.999, 1), (1.001, 1.002)]], 4),
    "gammainc": (
        lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
        [[(0.01, 1), (0.01, 3)], [(1, 19), (1, 30)], [(20, 60), (20, 60)]],
        60,
    ),
    "gammaincc": (
        lambda a, x: mpmath.gammainc(a, x, mpmath.inf, regularized=True),
        [[(0.01, 1), (2, 30)], [(1, 19), (1, 30)], [(20, 60), (20, 60)]],
        60,
    ),
    "betainc": (
        lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
        [[(0.1, 8), (0.1, 8), (0.01, 0.99)], [(8, 50), (8, 50), (0.2, 0.8)], [(500, 600), (500, 600), (0.45, 0.55)]],
        100,
    ),
}


@pytest.mark.parametrize("name", ACCURACY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_right_to_a_few_units_in_the_last_place(name, dtype):
    reference, areas, units = ACCURACY[name]
    rng = np.random.default_rng(0)
    for area in areas:
        if name == "zeta" and area[-1][1] < 0:
            args = [np.repeat([2.0, 3.0, 6.0], 10).astype(dtype), rng.uniform(*area[1], 30).astype(dtype)]
        else:
            args = [rng.uniform(*interval, 60).astype(dtype) for interval in area]
        with mpmath.workdps(40):
            exact = [
                float(reference(*map(mpmath.mpf, point))) for point in zip(*(a.tolist() for a in args), strict=True)
            ]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = getattr(special, name)(*(tensor(a, dtype) for a in args)).array
        assert found.dtype == dtype
        error = np.abs(found.astype(float) - exact) / np.spacing(np.abs(exact).astype(dtype))
        assert error.max() <= units, (area, [a[error.argmax()] for a in args])


@pytest.mark.parametrize("n", [0, 1, 2, 5, 12])
@pytest.mark.parametrize(("low", "high"), [(0.01, 1), (1, 20), (20, 1e3), (-5.9, -0.1)])
def test_polygamma_is_right_to_a_few_units_in_the_last_place(n, low, high):
    x = np.random.default_rng(n).uniform(low, high, 40)
    with mpmath.workdps(40):
        exact = np.asarray([float(mpmath.polygamma(n, v)) for v in x.tolist()])
    error = np.abs(special.polygamma(n, tensor(x)).array - exact) / np.spacing(np.abs(exact))
    assert error.max() <= (200 if low < 0 else 8)


def test_large_parameters_of_the_incomplete_functions():
    a = np.asarray([1e4, 1e6, 1e5, 3e3])
    for z in (-4.0, -1.0, 0.0, 2.0, 4.0):
        x = a + z * np.sqrt(a)
        np.testing.assert_allclose(special.gammainc(tensor(a), tensor(x)).array, scipy.special.gammainc(a, x), 1e-11)
        np.testing.assert_allclose(special.gammaincc(tensor(a), tensor(x)).array, scipy.special.gammaincc(a, x), 1e-11)
        b = np.asarray([2e4, 1e5, 40.0, 5.0])
        mean = a / (a + b)
        p = np.minimum(mean + z * np.sqrt(mean * (1 - mean) / (a + b)), 1 - 1e-9)
        found = special.betainc(tensor(a), tensor(b), tensor(p)).array
        np.testing.assert_allclose(found, scipy.special.betainc(a, b, p), 1e-10)


def test_betainc_of_a_large_parameter_where_the_sum_is_known():
    a, b = 30, 10**9
    x = 3.6e-8
    with mpmath.workdps(40):
        n, t = a + b - 1, mpmath.mpf(x)
        below = [mpmath.binomial(n, k) * t**k * mpmath.exp((n - k) * mpmath.log1p(-t)) for k in range(a)]
        exact = float(1 - mpmath.fsum(below))
    assert special.betainc(float(a), float(b), tensor([x])).item() == pytest.approx(exact, rel=1e-13)


# -- edges -----------------------------------------------------------------------------------------
EDGES = {
    "gammaln": ([0.0, -0.0, -1.0, INF, -INF, NAN, -1e10], [INF, INF, INF, INF, INF, NAN, INF]),
    "gamma": ([0.0, -0.0, -1.0, INF, -INF, NAN, 200.0], [INF, -INF, NAN, INF, NAN, NAN, INF]),
    "psi": ([0.0, -0.0, -1.0, INF, -INF, NAN], [-INF, INF, NAN, INF, NAN, NAN]),
    "erfcx": ([-INF, INF, NAN, -100.0, 1e30], [INF, 0.0, NAN, INF, 5.641895835477563e-31]),
    "erfcinv": ([0.0, 1.0, 2.0, -1.0, 3.0, NAN], [INF, 0.0, -INF, NAN, NAN, NAN]),
    "ndtr": ([-INF, 0.0, INF, NAN, -1e30], [0.0, 0.5, 1.0, NAN, 0.0]),
    "ndtri": ([0.0, 0.5, 1.0, -1.0, 2.0, NAN], [-INF, 0.0, INF, NAN, NAN, NAN]),
    "log_ndtr": ([-INF, 0.0, INF, NAN, -1e4], [-INF, -math.log(2), 0.0, NAN, -50000010.1292789]),
    "i0": ([0.0, INF, -INF, NAN, 1e4], [1.0, INF, INF, NAN, INF]),
    "i1": ([0.0, INF, -INF, NAN, -1e4], [0.0, INF, -INF, NAN, -INF]),
    "i0e": ([0.0, INF, -INF, NAN], [1.0, 0.0, 0.0, NAN]),
    "i1e": ([0.0, INF, -INF, NAN], [0.0, 0.0, 0.0, NAN]),
    "exprel": ([0.0, INF, -INF, NAN, 1e4, -1e4], [1.0, INF, 0.0, NAN, INF, 1e-4]),
    "bessel_j0": ([0.0, INF, -INF, NAN], [1.0, 0.0, 0.0, NAN]),
    "bessel_j1": ([0.0, -0.0, INF, -INF, NAN, 1e-30], [0.0, -0.0, 0.0, 0.0, NAN, 5e-31]),
    "bessel_y0": ([0.0, -0.0, -1.0, INF, -INF, NAN, 1e-30], [-INF, -INF, NAN, 0.0, NAN, NAN, -44.04994022787]),
    "bessel_y1": ([0.0, -1.0, INF, NAN, 1e-30], [-INF, NAN, 0.0, NAN, -6.366197723675813e29]),
    "k0": ([0.0, -0.0, -1.0, INF, NAN, 1e4, 1e-30], [INF, INF, NAN, 0.0, NAN, 0.0, 69.19348430548]),
    "k1": ([0.0, -1.0, INF, NAN, 1e4, 1e-30], [INF, NAN, 0.0, NAN, 0.0, 1e30]),
    "k0e": ([0.0, -1.0, INF, NAN, 1e30], [INF, NAN, 0.0, NAN, 1.2533141373155e-15]),
    "k1e": ([0.0, -1.0, INF, NAN, 1e30], [INF, NAN, 0.0, NAN, 1.2533141373155e-15]),
    "airy_ai": ([0.0, INF, -INF, NAN, 1e4, 1e30, -1e30], [0.3550280538878, 0.0, 0.0, NAN, 0.0, 0.0, 0.0]),
    "spherical_bessel_j0": ([0.0, INF, -INF, NAN], [1.0, 0.0, 0.0, NAN]),
}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("many", [1, 3000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_edges_neither_overflow_nor_warn(name, many, dtype):
    x, expected = EDGES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = getattr(special, name)(tensor(np.resize(x, len(x) * many), dtype)).array
    np.testing.assert_allclose(found, np.resize(expected, len(x) * many), rtol=1e-6)
    assert found.dtype == dtype


@pytest.mark.parametrize("name", ["log_ndtr", "ndtr", "i0e", "i1e", "erfcx", "gammaln", "psi"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_derivatives_of_two_orders_are_finite_far_out(name, dtype):
    x = tensor([100.0, 1e4] if name in ("erfcx", "gammaln", "psi") else [-1e4, -100.0, 100.0, 1e4], dtype, True)
    y = getattr(special, name)(x)
    (g,) = lg.autograd.grad(y, x, lg.ones_like(y), create_graph=True)
    (h,) = lg.autograd.grad(g, x, lg.ones_like(g))
    assert np.isfinite(g.detach().array).all()
    assert np.isfinite(h.array).all()
    assert g.dtype == h.dtype == dtype


# -- derivatives -----------------------------------------------------------------------------------
def orders(function, at, count):
    """Value and derivatives at a point."""
    x = tensor(at, requires_grad=True)
    y, made = function(x), []
    for _ in range(count):
        made.append(y.item())
        (y,) = lg.autograd.grad(y, x, create_graph=True)
    return [*made, y.item()]


@pytest.mark.parametrize(
    ("name", "at", "reference"),
    [
        ("i0", 0.0, lambda x: mpmath.besseli(0, x)),
        ("i1", 0.0, lambda x: mpmath.besseli(1, x)),
        ("i1", 9.0, lambda x: mpmath.besseli(1, x)),
        ("bessel_j0", 0.0, lambda x: mpmath.besselj(0, x)),
        ("bessel_j1", 0.0, lambda x: mpmath.besselj(1, x)),
        ("bessel_j1", 6.5, lambda x: mpmath.besselj(1, x)),
        ("bessel_y1", 2.5, [0.1459181379667858, 0.43970310442851757, -0.2984524776635071, -0.19829464160573768]),
        ("k0", 0.3, lambda x: besselk(0, x)),
        ("k1e", 0.7, lambda x: besselk(1, x) * mpmath.exp(x)),
        ("k0e", 30.0, lambda x: besselk(0, x) * mpmath.exp(x)),
        ("airy_ai", -5.5, mpmath.airyai),
        ("airy_ai", 2.5, mpmath.airyai),
        ("spherical_bessel_j0", 0.0, lambda x: mpmath.hyp0f1(1.5, -x * x / 4)),
        ("gammaln", 2.5, mpmath.loggamma),
        ("gammaln", -2.5, lambda x: mpmath.loggamma(x).real),
        ("gamma", 3.5, mpmath.gamma),
        ("erfcx", 30.0, lambda x: mpmath.exp(x * x) * mpmath.erfc(x)),
        ("erfcx", -1.5, lambda x: mpmath.exp(x * x) * mpmath.erfc(x)),
        ("log_ndtr", -20.0, _log_ndtr),
        ("log_ndtr", 1.5, _log_ndtr),
        ("exprel", 0.0, lambda x: mpmath.nsum(lambda k: x**k / mpmath.factorial(k + 1), [0, mpmath.inf])),
        ("ndtri", 0.25, lambda p: -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * p)),
    ],
)
def test_derivatives_of_three_orders(name, at, reference):
    with mpmath.workdps(60):  # or recorded values, where mpmath is slow
        exact = (
            [float(mpmath.re(mpmath.diff(reference, at, k))) for k in range(4)] if callable(reference) else reference
        )
    np.testing.assert_allclose(orders(getattr(special, name), at, 3), exact, rtol=1e-10, atol=1e-13)


def test_an_untaken_branch_gives_nothing():
    x = tensor([0.0, 2.0], requires_grad=True)
    with np.errstate(all="ignore"):
        y = lg.where(x > 0, special.gammaln(x) + special.psi(x) + special.gamma(x), 0.0)
        (g,) = lg.autograd.grad(y.sum(), x)
    assert g.array[0] == 0
    assert np.isfinite(g.array).all()


# -- SciPy's names ---------------------------------------------------------------------------------
X = np.asarray([[-1.0, 2.0, 0.3], [4.0, -5.0, 0.7]])
B = np.asarray([[1.0, -2.0, 0.0], [3.0, 1.0, 2.0]])


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp_has_scipys_arguments(axis, keepdims):
    ways = [{}, {"b": abs(B)}, {"b": B, "return_sign": True}, {"return_sign": True}]
    for way in ways:
        ours = {k: tensor(v) if isinstance(v, np.ndarray) else v for k, v in way.items()}
        found = special.logsumexp(tensor(X), axis=axis, keepdims=keepdims, **ours)
        expected = scipy.special.logsumexp(X, axis=axis, keepdims=keepdims, **way)
        pairs = zip(found, expected, strict=True) if "return_sign" in way else [(found, expected)]
        for one, two in pairs:
            np.testing.assert_allclose(one.array, two, rtol=1e-13)
    lg.autograd.gradcheck(lambda x, b: special.logsumexp(x, axis, b, keepdims), [leaf(X), leaf(abs(B) + 0.5)])
    for name in ("softmax", "log_softmax"):
        found = getattr(special, name)(tensor(X), axis=axis).array
        np.testing.assert_allclose(found, getattr(scipy.special, name)(X, axis=axis), rtol=1e-13)


def leaf(values):
    return tensor(values, requires_grad=True)


@pytest.mark.parametrize("name", ["softplus", "cosm1", "exp10"])
def test_functions_made_of_others(name):
    np.testing.assert_allclose(getattr(special, name)(tensor(X)).array, getattr(scipy.special, name)(X), rtol=1e-14)
    lg.autograd.gradcheck(getattr(special, name), [leaf(X)])


@pytest.mark.parametrize("parameter", [0.0, 1.0, -0.5, 2])
@pytest.mark.parametrize("name", ["boxcox", "boxcox1p", "inv_boxcox", "huber", "pseudo_huber"])
def test_functions_with_a_parameter(name, parameter):
    x = np.where(abs(X) == 1, 0, abs(X)) / 3 if "boxcox" in name else X
    args = (x, parameter) if "boxcox" in name else (parameter, x)
    ours = [tensor(a) if isinstance(a, np.ndarray) else a for a in args]
    with np.errstate(all="ignore"):
        found = getattr(special, name)(*ours).array
        expected = getattr(scipy.special, name)(*args)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    if parameter > 0 or (parameter == 0 and "boxcox" in name):
        values = [leaf(abs(a) + 0.11) if isinstance(a, np.ndarray) else leaf(a) for a in args]
        lg.autograd.gradcheck(getattr(special, name), values)


def test_polygamma_takes_arrays_of_orders():
    n, x = np.asarray([0, 1, 2, 3]), np.asarray([1.5, 2.5, 0.3, 4.0])
    expected = scipy.special.polygamma(n, x)
    for order in (tensor(n), lg.asarray(n)):
        np.testing.assert_allclose(special.polygamma(order, tensor(x)).array, expected, rtol=1e-13)
    with pytest.raises(RuntimeError, match="not negative"):
        special.polygamma(-1, tensor(x))


def test_riemanns_zeta_function():
    x = np.asarray([2.0, 0.5, 0.0, -1.0, -2.0, -3.5, 1.0, 30.0])
    np.testing.assert_allclose(special.zeta(tensor(x)).array, scipy.special.zeta(x), rtol=1e-12, atol=1e-15)


#: PyTorch's names, to be there without it.
TORCH = """airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
    chebyshev_polynomial_v chebyshev_polynomial_w digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammainc gammaincc
    gammaln hermite_polynomial_h hermite_polynomial_he i0 i0e i1 i1e laguerre_polynomial_l legendre_polynomial_p log1p
    log_ndtr log_softmax logit logsumexp modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1
    multigammaln ndtr ndtri polygamma psi round scaled_modified_bessel_k0 scaled_modified_bessel_k1
    shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
    shifted_chebyshev_polynomial_w sinc softmax spherical_bessel_j0 xlog1py xlogy zeta""".split()


def test_all_names_are_scipys_or_pytorchs():
    assert [n for n in special.__all__ if not hasattr(scipy.special, n) and n not in TORCH] == ["logaddexp"]
    assert [name for name in [*special.__all__, *TORCH] if not hasattr(special, name)] == []


def test_pytorchs_names():
    torch = peer("torch")
    assert set(torch.special.__all__) <= set(TORCH)
    x = np.random.default_rng(0).uniform(0.1, 0.9, 50)
    for name in TORCH:
        ours, theirs = getattr(special, name), getattr(torch.special, name)
        if "polynomial" in name:
            n = np.arange(50) % 14 - 1
            values = ours(tensor(x * 3 - 1), lg.asarray(n)), theirs(torch.tensor(x * 3 - 1), torch.tensor(n))
        elif name in ("log_softmax", "softmax", "logsumexp"):
            values = ours(tensor(x), axis=0), theirs(torch.tensor(x), 0)
        elif name in ("polygamma", "multigammaln"):
            values = (ours(tensor(x + 1), 2), theirs(torch.tensor(x + 1), 2)) if name[0] == "m" else (
                ours(2, tensor(x)), theirs(2, torch.tensor(x)))  # fmt: skip
        elif name in ("gammainc", "gammaincc", "xlog1py", "xlogy", "zeta"):
            values = ours(tensor(x + 1), tensor(x)), theirs(torch.tensor(x + 1), torch.tensor(x))
        else:
            values = ours(tensor(x)), theirs(torch.tensor(x))
        np.testing.assert_allclose(*(v.numpy() for v in values), rtol=2e-12, atol=1e-13, err_msg=name)


POLYNOMIALS = {
    "chebyshev_polynomial_t": scipy.special.eval_chebyt, "chebyshev_polynomial_u": scipy.special.eval_chebyu,
    "chebyshev_polynomial_v": lambda n, x: np.cos((n + 0.5) * np.arccos(x)) / np.cos(np.arccos(x) / 2),
    "chebyshev_polynomial_w": lambda n, x: np.sin((n + 0.5) * np.arccos(x)) / np.sin(np.arccos(x) / 2),
    "shifted_chebyshev_polynomial_t": scipy.special.eval_sh_chebyt,
    "shifted_chebyshev_polynomial_u": scipy.special.eval_sh_chebyu,
    "hermite_polynomial_h": scipy.special.eval_hermite, "hermite_polynomial_he": scipy.special.eval_hermitenorm,
    "laguerre_polynomial_l": scipy.special.eval_laguerre, "legendre_polynomial_p": scipy.special.eval_legendre,
}  # fmt: skip


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_orthogonal_polynomials(name):
    function, reference = getattr(special, name), POLYNOMIALS[name]
    x = np.linspace(-0.95, 0.95, 15)
    n = np.arange(15) - 2
    many = np.where(n < 0, 0, reference(np.maximum(n, 0), x))
    np.testing.assert_allclose(function(tensor(x), lg.asarray(n)).array, many, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(function(tensor(x), tensor(np.where(n < 0, n, n + 0.7))).array, many, atol=1e-9)
    for k in (-1, 0, 1, 7, 7.9):
        one = reference(int(k), x) if k >= 0 else 0 * x
        np.testing.assert_allclose(function(tensor(x), k).array, one, rtol=1e-12, atol=1e-12)
    assert function(0.5, lg.asarray(n)).shape == (15,)
    assert function(tensor(x[:3, None], np.float32), lg.asarray([1, 2])).dtype == lg.float32
    assert function(lg.asarray([1, 2]), 0).tolist() == [1.0, 1.0]
    assert function(lg.zeros(0), lg.zeros(0, dtype=lg.int64)).shape == (0,)
    lg.autograd.gradcheck(lambda x: function(x, lg.asarray(n)), [leaf(x)])
    lg.autograd.gradgradcheck(lambda x: function(x, 4), [leaf(x)])
    with pytest.raises(RuntimeError, match="expected at most 65536"):
        function(tensor(x), 10**9)


def test_pytorchs_names_at_the_root():
    a, x = tensor([1.5, 2.5]), tensor([0.5, 3.0])
    for found, expected in [
        (lg.igamma(a, x), scipy.special.gammainc(a.array, x.array)), (a.igamma(x), lg.igamma(a, x).array),
        (lg.igammac(a, x), scipy.special.gammaincc(a.array, x.array)), (a.igammac(x), lg.igammac(a, x).array),
        (lg.mvlgamma(a, p=3), scipy.special.multigammaln(a.array, 3)), (a.mvlgamma(3), lg.mvlgamma(a, 3).array),
        (lg.logit(tensor([0.0, 0.5]), eps=0.25), [-math.log(3), 0.0]),
    ]:  # fmt: skip
        np.testing.assert_allclose(found.array, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "name", sorted(({*lg.special.__all__} & {*dir(scipy.special)}) - {"multigammaln", "polygamma"})
)
def test_numbers_beside_tensors_have_their_precision(name):
    """Python's numbers become what the tensor is, wherever they stand: nothing is rounded to the default dtype.

    Orders are no such numbers.
    """
    x, tried = np.array([0.2, 0.5, 0.7]), 0
    for args in ((x,), (1.3, x), (x, 1.3), (2, x), (x, 2), (1.3, 2.1, x), (1.3, x, 0.4), (x, 1.3, 0.4)):
        try:
            expected = getattr(scipy.special, name)(*args)
            found = getattr(lg.special, name)(*(tensor(x) if a is x else a for a in args))
        except (TypeError, ValueError):  # another number of arguments, or another sort
            continue
        if np.shape(expected) == found.shape:
            np.testing.assert_allclose(found.array, expected, rtol=1e-11, err_msg=str(args))
            tried += 1
    assert tried


# -- kernels ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["gammaln", "psi", "ndtr", "i0", "betaln", "lower_gamma", "lower_beta"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_kernels_work_block_by_block(name, dtype):
    primitive = registry[name]
    rng = np.random.default_rng(1)
    xs = [rng.uniform(0.1, 0.9, (3, 7000)).astype(dtype) for _ in primitive.arrays]
    kernel = primitive.find_kernel(np.ndarray)
    whole = kernel(*xs)
    assert whole.dtype == dtype
    np.testing.assert_array_equal(whole[:, ::1000], kernel(*(x[:, ::1000] for x in xs)))


def test_twins_with_orders_write():
    x = lg.tensor([2.5, 3.5])
    y = x.clone().mvlgamma_(2)
    assert y.tolist() == x.mvlgamma(2).tolist()
    z = x.clone().polygamma_(1)
    assert z.tolist() == x.polygamma(1).tolist()
