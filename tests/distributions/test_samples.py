"""Samples: of the right distribution, from the seed alone, and with the derivatives of their distribution function."""

import math

import mpmath
import numpy as np
import pytest
from families import FAMILIES, D, made, tensors
from scipy import stats
from test_families import CONTINUOUS, f64

import lucidgrad as lg
from lucidgrad.distributions import draws

COUNT = 4000


def drawn(d, count=COUNT, seed=3):
    lg.manual_seed(seed)
    return d.sample((count,))


def has_cdf(family):
    try:
        made(family).cdf(f64(family.values))
    except NotImplementedError:
        return False
    return True


@pytest.mark.parametrize("family", [p for p in CONTINUOUS if has_cdf(p.values[0])])
def test_distribution_functions_of_samples_are_uniform(family):
    d = made(family)
    x = drawn(d)
    assert bool(d.support.check(x).all())
    assert stats.kstest(d.cdf(x).numpy(), "uniform").pvalue > 1e-3


DISCRETE = [
    *(f for f in FAMILIES if f.name in "Bernoulli Binomial Geometric NegativeBinomial Poisson Categorical".split()),
    *(f._replace(given=given) for name, given in [
        ("Poisson", dict(rate=0.2)), ("Poisson", dict(rate=9.99)), ("Poisson", dict(rate=10.0)),
        ("Poisson", dict(rate=150.0)), ("Binomial", dict(total_count=40.0, probs=0.9)),
        ("Binomial", dict(total_count=300.0, probs=0.4)), ("Binomial", dict(total_count=60.0, probs=0.8)),
        ("NegativeBinomial", dict(total_count=30.0, probs=0.7)),
    ] for f in [next(f for f in FAMILIES if f.name == name)]),
]  # fmt: skip


@pytest.mark.parametrize("family", DISCRETE, ids=lambda f: f"{f.name}-{list(f.given.values())}")
def test_counts_of_samples(family):
    d = made(family)
    x = drawn(d).to(lg.float64).numpy()
    values = np.arange(0, x.max() + 1)
    chances = np.exp(d.log_prob(f64(values)).numpy())
    counts = np.bincount(x.astype(int), minlength=len(values))
    few = chances * COUNT < 8
    expected = np.append(chances[~few], max(1 - chances[~few].sum(), 0)) * COUNT
    found = np.append(counts[~few], counts[few].sum())
    kept = expected > 1e-6
    assert found[~kept].sum() == 0
    assert stats.chisquare(found[kept], expected[kept] * found[kept].sum() / expected[kept].sum()).pvalue > 1e-3


VECTORS = """OneHotCategorical Multinomial Dirichlet MultivariateNormal LowRankMultivariateNormal Wishart""".split()


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.name in VECTORS], ids=lambda f: f.name)
def test_moments_of_samples_of_vectors(family):
    d = made(family)
    x = drawn(d).numpy()
    error = np.abs(x.mean(0) - d.mean.numpy()) / np.sqrt(d.variance.numpy() / COUNT)
    assert error.max() < 4
    spread = np.abs(x.var(0) / d.variance.numpy() - 1) * np.sqrt(COUNT)
    assert spread.max() < 12
    if hasattr(type(d), "covariance_matrix") and family.name != "Wishart":
        np.testing.assert_allclose(np.cov(x.T), d.covariance_matrix.numpy(), atol=0.35)


def test_samples_of_angles_matrices_and_mixtures():
    for concentration in (1e-7, 0.5, 50.0):
        d = D.VonMises(f64(1.0), f64(concentration))
        x = drawn(d).numpy()
        assert np.abs(x).max() <= np.pi
        apart = (x - 1 + np.pi) % (2 * np.pi) - np.pi
        assert stats.kstest(apart, stats.vonmises(concentration).cdf).pvalue > 1e-3
    x = drawn(D.LKJCholesky(4, f64(1.5)))
    correlations = (x @ x.mT).numpy()[:, np.tril_indices(4, -1)[0], np.tril_indices(4, -1)[1]]
    for column in correlations.T:  # each is of a beta distribution
        assert stats.kstest((column + 1) / 2, stats.beta(1.5 + 1, 1.5 + 1).cdf).pvalue > 1e-3
    d = D.MixtureSameFamily(D.Categorical(f64([0.2, 0.8])), D.Normal(f64([-2.0, 1.0]), f64([0.5, 1.0])))
    assert stats.kstest(d.cdf(drawn(d)).numpy(), "uniform").pvalue > 1e-3
    for d in (
        D.LogisticNormal(f64([0.3, -0.4]), f64([0.8, 1.5])),
        D.RelaxedOneHotCategorical(f64(0.5), f64([0.3, 0.7])),
    ):
        assert bool(d.support.check(drawn(d)).all())


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_the_seed_alone_decides_and_single_precision_is_kept(family):
    d = made(family)
    assert lg.array_equal(drawn(d, 5), drawn(d, 5))
    assert not drawn(d, 50).requires_grad
    if not family.name.startswith("Wishart"):
        given = tensors(family.given, lambda v: lg.tensor(v, dtype=lg.float32, requires_grad=True))
        single = getattr(D, family.name)(**given)
        x = drawn(single, 2000)
        assert str(x.dtype) in ("float32", "int64") and bool(lg.isfinite(x).all()) and not x.requires_grad
        assert bool(lg.isfinite(single.log_prob(x)).all())


# -- derivatives -------------------------------------------------------------------------------------
def velocity(cdf, at, density):
    return -mpmath.diff(cdf, at) / density


def gradients(made_by, *parameters):
    x = made_by(*parameters)
    return x, lg.autograd.grad(x, parameters, create_graph=True)


def test_gamma_samples_move_as_their_distribution_function_says():
    mpmath.mp.dps = 40
    try:
        for concentration, seed in [(1e-3, 1), (0.05, 0), (0.7, 1), (1.0, 2), (30.0, 3), (3e3, 4)]:
            a = f64(concentration).requires_grad_()
            lg.manual_seed(seed)
            z, (g,) = gradients(draws.standard_gamma, a)
            x, c = mpmath.mpf(z.item()), mpmath.mpf(concentration)
            density = mpmath.exp((c - 1) * mpmath.log(x) - x - mpmath.loggamma(c))
            lower = lambda t, x=x: mpmath.gammainc(t, 0, x, regularized=True)
            assert abs(g.item() / velocity(lower, c, density) - 1) < 1e-12
        a = f64(3.3).requires_grad_()
        z, (g,) = gradients(draws.standard_gamma, a)
        (h,) = lg.autograd.grad(g, a)
        u = mpmath.gammainc(mpmath.mpf(3.3), 0, mpmath.mpf(z.item()), regularized=True)
        inverse = lambda c: mpmath.findroot(lambda t: mpmath.gammainc(c, 0, t, regularized=True) - u, z.item())
        assert abs(h.item() / mpmath.diff(inverse, mpmath.mpf(3.3), 2) - 1) < 1e-10
    finally:
        mpmath.mp.dps = 15


def _beta_velocity(a, b, x, which):
    a, b, x = map(mpmath.mpf, (a, b, x))
    density = x ** (a - 1) * (1 - x) ** (b - 1) / mpmath.beta(a, b)
    if which:
        return velocity(lambda t: mpmath.betainc(a, t, 0, x, regularized=True), b, density)
    return velocity(lambda t: mpmath.betainc(t, b, 0, x, regularized=True), a, density)


def test_beta_and_dirichlet_samples_move_as_their_distribution_function_says():
    mpmath.mp.dps = 40
    try:
        for one, other in [(0.05, 0.3), (2.0, 3.0), (0.1, 40.0), (200.0, 70.0)]:
            a, b = f64(one).requires_grad_(), f64(other).requires_grad_()
            lg.manual_seed(6)
            x, (ga, gb) = gradients(draws.beta, a, b)
            for which, g in enumerate((ga, gb)):
                assert abs(g.item() / _beta_velocity(one, other, x.item(), which) - 1) < 1e-12
        c = f64([0.4, 2.0, 5.0]).requires_grad_()
        x = draws.dirichlet(c)
        table = np.array([lg.autograd.grad(x[j], c, retain_graph=True)[0].tolist() for j in range(3)])
        values, rest = x.tolist(), [7.0, 5.4, 2.4]
        for i in range(3):
            flow = float(_beta_velocity(c.tolist()[i], rest[i], values[i], 0)) / (1 - values[i])
            expected = [flow * ((i == j) - values[j]) for j in range(3)]
            np.testing.assert_allclose(table[:, i], expected, rtol=1e-10, atol=1e-13)
    finally:
        mpmath.mp.dps = 15


@pytest.mark.parametrize("family", [p for p in CONTINUOUS if made(p.values[0]).has_rsample and has_cdf(p.values[0])])
def test_samples_keep_their_place(family):
    """While parameters move, the distribution function of a sample stays; but for quotients of two random numbers."""
    if family.name in ("StudentT", "FisherSnedecor"):
        return
    given = {name: v.requires_grad_() for name, v in tensors(family.given).items()}
    d = getattr(D, family.name)(**given, validate_args=False)
    lg.manual_seed(8)
    x = d.rsample((20,))
    inner = [*given.values()]
    if family.name == "HalfNormal" or family.name == "HalfCauchy":
        total, part = x / given["scale"], x.detach() / given["scale"]
    else:
        total, part = d.cdf(x), d.cdf(x.detach())
    # No total derivative is larger than the rounding of its two parts.
    weights = lg.linspace(0.5, 1.5, 20, dtype=lg.float64)
    for whole, partial in zip(
        lg.autograd.grad((total * weights).sum(), inner), lg.autograd.grad((part * weights).sum(), inner), strict=True
    ):
        assert abs(whole.item()) <= 1e-12 * max(abs(partial.item()), 1e-3)


MEANS = {
    "StudentT": (dict(df=7.0, loc=0.3, scale=1.5), lambda x: x**2, lambda d: d.variance + d.mean**2),
    "FisherSnedecor": (dict(df1=3.0, df2=20.0), lambda x: x, lambda d: d.mean),
    "InverseGamma": (dict(concentration=6.0, rate=2.0), lambda x: x, lambda d: d.mean),
    "Chi2": (dict(df=3.0), lambda x: x, lambda d: d.mean),
    "Dirichlet": (
        dict(concentration=[0.5, 2.0, 4.0]),
        lambda x: x[..., 0] ** 2 + x[..., 1],
        lambda d: d.variance[0] + d.mean[0] ** 2 + d.mean[1],
    ),
    "MultivariateNormal": (
        dict(loc=[0.1, 0.3], scale_tril=[[1.0, 0.0], [0.5, 2.0]]),
        lambda x: x[..., 1] ** 2,
        lambda d: d.variance[1] + d.mean[1] ** 2,
    ),
    "LowRankMultivariateNormal": (
        dict(loc=[0.1, 0.3], cov_factor=[[1.0], [0.5]], cov_diag=[0.4, 1.0]),
        lambda x: x[..., 1] ** 2,
        lambda d: d.variance[1] + d.mean[1] ** 2,
    ),
    "Wishart": (dict(df=6.0, scale_tril=[[1.0, 0.0], [0.5, 2.0]]), lambda x: x[..., 1, 1], lambda d: d.mean[1, 1]),
}


@pytest.mark.parametrize("name", MEANS)
def test_gradients_of_means_are_means_of_gradients(name):
    given, of, expected = MEANS[name]
    parameters = {k: v.requires_grad_() for k, v in tensors(given).items()}
    d = getattr(D, name)(**parameters)
    exact = lg.autograd.grad(expected(d), [*parameters.values()], allow_unused=True)
    lg.manual_seed(12)
    groups = [
        lg.autograd.grad(of(d.rsample((400,))).mean(), [*parameters.values()], allow_unused=True) for _ in range(25)
    ]
    for k, one in enumerate(exact):
        if one is None:
            continue
        found = np.array([g[k].tolist() for g in groups])
        error = np.abs(found.mean(0) - one.numpy()) / np.maximum(found.std(0) / 5, 1e-12)
        assert error.max() < 4.5


def test_transforms_of_functions_draw_too():
    a = f64([0.5, 3.0, 20.0])
    lg.manual_seed(0)
    many = lg.func.vmap(lambda c: D.Gamma(c, 1.0).sample((300,)), randomness="different")(a)
    np.testing.assert_allclose(many.numpy().mean(1), a.tolist(), rtol=0.3)

    def once(c):
        lg.manual_seed(4)
        return D.Beta(c, 2.0).rsample()

    forward = lg.func.jvp(once, (a,), (lg.ones_like(a),))[1]
    np.testing.assert_allclose(forward.numpy(), np.diag(lg.func.jacrev(once)(a).numpy()), rtol=1e-13)
    counts = lg.func.vmap(lambda r: D.Poisson(r).sample((300,)), randomness="different")(a)
    np.testing.assert_allclose(counts.numpy().mean(1), a.tolist(), rtol=0.3)


@pytest.mark.cuda
def test_devices_draw_and_differentiate():
    """On CUDA: a few families whose kernels are small, and the derivative of gamma samples."""
    on = lambda v: lg.tensor(v, dtype=lg.float64, device="cuda:0")
    lg.manual_seed(3)
    for d in (D.Normal(on([0.0, 1.0]), on(2.0)), D.Exponential(on([1.0, 2.0])), D.Categorical(on([0.2, 0.8]))):
        x = d.sample((50,))
        assert str(x.device) == "cuda:0"
        like = type(d)(**{n: v.cpu() for n, v in vars(d).items() if n in d.arg_constraints})
        np.testing.assert_allclose(d.log_prob(x).cpu().numpy(), like.log_prob(x.cpu()).numpy(), rtol=1e-12)
    a = on([0.5, 4.0]).requires_grad_()
    z = D.Gamma(a, on(2.0)).rsample()
    assert str(z.device) == "cuda:0"
    (g,) = lg.autograd.grad(z.sum(), a)
    c = f64([0.5, 4.0]).requires_grad_()
    y = z.detach().cpu() * 2
    expected = -lg.special.gammainc(c, y)
    (slope,) = lg.autograd.grad(expected.sum(), c)
    density = lg.exp(D.Gamma(c.detach(), f64(1.0)).log_prob(y))
    np.testing.assert_allclose(g.cpu().numpy(), (slope / density / 2).numpy(), rtol=1e-11)
    kl = D.kl_divergence(D.Normal(on(0.0), on(1.0)), D.Normal(on(1.0), on(1.0)))
    assert math.isclose(kl.item(), 0.5)
