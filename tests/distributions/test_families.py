"""Densities, distribution functions, moments and entropies: beside SciPy, by quadrature, and beside PyTorch."""

import inspect
import warnings

import numpy as np
import pytest
from families import FAMILIES, IDS, D, made, tensors
from golden import ask, peer

import lucidgrad as lg

ALL = [pytest.param(family, id=name) for family, name in zip(FAMILIES, IDS, strict=True)]
CHANCES = [1e-9, 0.01, 0.3, 0.5, 0.8, 0.999]

#: What SciPy knows to fewer digits, computes by a rough quadrature, or defines otherwise.
ROUGH = {
    ("Cauchy", "var"): "infinite here, as PyTorch's",
    ("StudentT", "mean"): "infinite where there is none",
    ("HalfNormal", "ppf"): "of one half more",
    ("VonMises", "var"): "of the angle, not of the direction",
    ("VonMises", "mean"): "of the angle, by quadrature",
    ("ContinuousBernoulli", "var"): "differences of large moments",
    ("ContinuousBernoulli", "mean"): "differences of large moments",
    ("ContinuousBernoulli", "cdf"): "of a difference near one",
    ("ContinuousBernoulli", "ppf"): "of a difference near one",
    ("ContinuousBernoulli", "entropy"): "differences",
}
METHODS = dict(
    logpdf="log_prob", logpmf="log_prob", cdf="cdf", ppf="icdf", mean="mean", var="variance", entropy="entropy"
)


def f64(values):
    return lg.tensor(values, dtype=lg.float64)


#: How SciPy wants values of more than one axis.
TURNED = {"Dirichlet": lambda x: x.T, "Wishart": lambda x: np.moveaxis(x, 0, -1)}


@pytest.mark.parametrize("family", [p for p in ALL if p.values[0].other])
def test_scipy_agrees(family):
    d = made(family)
    other = family.other(*family.given.values())
    compared = 0
    for name, what in METHODS.items():
        if not callable(getattr(other, name, None)) or (family.name, name) in ROUGH:
            continue
        values = None if name in ("mean", "var", "entropy") else CHANCES if name == "ppf" else family.values
        try:
            found = getattr(d, what)
            found = found if isinstance(found, lg.Tensor) else found(*([] if values is None else [f64(values)]))
        except NotImplementedError:
            continue
        turned = TURNED.get(family.name, lambda x: x)
        expected = getattr(other, name)(*([] if values is None else [turned(np.asarray(values))]))
        np.testing.assert_allclose(
            found.numpy(), expected, rtol=1e-10, atol=1e-15 if what == "log_prob" else 1e-300, err_msg=what
        )
        compared += 1
    assert compared >= (1 if (family.name, "mean") in ROUGH else 2)


# -- by their own definitions ----------------------------------------------------------------------
LINE = [p for p in ALL if not made(p.values[0]).event_shape]
CONTINUOUS = [p for p in LINE if not made(p.values[0]).support.is_discrete]
ENDS = {"VonMises": (-np.pi, np.pi)}


def ends(d, name):
    support = d.support
    low, high = getattr(support, "lower_bound", -np.inf), getattr(support, "upper_bound", np.inf)
    return ENDS.get(name, (float(low), float(high)))


def nodes(d, name):
    """Points and weights of the double exponential quadrature over the support."""
    low, high = ends(d, name)
    t = np.linspace(-4.5, 4.5, 1601)
    step = t[1] - t[0]
    inner, slope = np.pi / 2 * np.sinh(t), np.pi / 2 * np.cosh(t) * step
    if np.isfinite(low) and np.isfinite(high):
        part = 1 / (1 + np.exp(-2 * inner))
        x, w = low + (high - low) * part, (high - low) * 2 * part * (1 / (1 + np.exp(2 * inner))) * slope
        keep = (x > low) & (x < high)
    elif np.isfinite(low):
        x, w = low + np.exp(inner), np.exp(inner) * slope
        keep = x > low
    else:
        x, w = np.sinh(inner), np.cosh(inner) * slope
        keep = np.isfinite(x)
    keep &= np.abs(x) < 1e150
    return x[keep], w[keep]


@pytest.mark.parametrize("family", CONTINUOUS)
def test_moments_are_integrals_of_the_density(family):
    d = made(family)
    x, w = nodes(d, family.name)
    log_p = d.log_prob(lg.tensor(x)).numpy()
    p = np.exp(log_p)
    poles = family.given.get("concentration1", 1) < 1 or family.given.get("df", 1) < 1
    mass = 1e-5 if poles or family.name == "Laplace" else 1e-9  # what the quadrature reaches
    np.testing.assert_allclose((p * w).sum(), 1, rtol=mass)

    def known(what):
        try:
            found = getattr(d, what)
            return float(found() if callable(found) else found)
        except NotImplementedError:
            return None

    if family.name != "VonMises" and known("mean") is not None and np.isfinite(known("variance")):
        mean = (x * p * w).sum()
        np.testing.assert_allclose(known("mean"), mean, rtol=max(mass, 1e-7), atol=1e-9)
        np.testing.assert_allclose(known("variance"), ((x - mean) ** 2 * p * w).sum(), rtol=1e-5)
    if known("entropy") is not None and mass < 1e-6:
        np.testing.assert_allclose(known("entropy"), -(np.where(p > 0, log_p, 0) * p * w).sum(), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("family", [p for p in LINE if made(p.values[0]).support.is_discrete])
def test_moments_are_sums_of_probabilities(family):
    d = made(family)
    last = float(getattr(d.support, "upper_bound", 1 if family.name == "Bernoulli" else 600))
    x = lg.arange(0, last + 1, dtype=lg.float64)
    p = lg.exp(d.log_prob(x)).numpy()
    np.testing.assert_allclose(p.sum(), 1, rtol=1e-12)
    if family.name != "Categorical":
        mean = (x.numpy() * p).sum()
        np.testing.assert_allclose(d.mean.item(), mean, rtol=1e-12)
        np.testing.assert_allclose(d.variance.item(), ((x.numpy() - mean) ** 2 * p).sum(), rtol=1e-11)
    if family.name in ("Binomial", "Geometric", "NegativeBinomial", "Poisson"):
        np.testing.assert_allclose(d.cdf(x).numpy(), np.cumsum(p), rtol=1e-12)
    if d.has_enumerate_support:
        np.testing.assert_array_equal(d.enumerate_support().numpy(), x.numpy())
        np.testing.assert_allclose(d.entropy().item(), -(p * np.log(p)).sum(), rtol=1e-12)


@pytest.mark.parametrize("family", CONTINUOUS)
def test_the_density_is_the_slope_of_the_distribution_function(family):
    d = made(family)
    x = f64(family.values).requires_grad_()
    try:
        y = d.cdf(x)
    except NotImplementedError:
        return
    (slope,) = lg.autograd.grad(y.sum(), x)
    inside = np.asarray(y.tolist()) < 1 - 1e-12
    kept = inside & (family.name != "HalfCauchy") | (np.asarray(family.values) != 0)
    np.testing.assert_allclose(
        slope.numpy()[kept], np.exp(d.log_prob(x.detach()).numpy())[kept], rtol=1e-9, atol=1e-300
    )
    try:
        u = f64(CHANCES)
        np.testing.assert_allclose(d.cdf(d.icdf(u)).numpy(), CHANCES, rtol=1e-9, atol=1e-15)
    except NotImplementedError:
        pass


def test_densities_of_vectors_have_integral_one():
    """Where two numbers make the vector, or the matrix, one of them is free."""
    one = f64([1.0])
    part, w = nodes(D.Uniform(f64(0.0), f64(1.0)), "Uniform")
    inner = (part > 1e-14) & (part < 1 - 1e-14)
    part, w = part[inner], w[inner]
    x = lg.tensor(part)
    pair = lg.stack([x, 1 - x], axis=-1)
    vectors = [
        D.Dirichlet(lg.tensor([2.5, 3.0], dtype=lg.float64)),
        D.LogisticNormal(one * 0.3, one * 0.8),
        D.RelaxedOneHotCategorical(one * 0.9, lg.tensor([0.4, 0.6], dtype=lg.float64)),
    ]
    for d in vectors:
        np.testing.assert_allclose((lg.exp(d.log_prob(pair)).numpy() * w).sum(), 1, rtol=1e-8)
    r = 2 * x - 1
    zero = lg.zeros_like(r)
    rows = lg.stack([lg.stack([zero + 1, zero], -1), lg.stack([r, (1 - r * r).sqrt()], -1)], -2)
    d = D.LKJCholesky(2, lg.tensor(2.5, dtype=lg.float64))
    np.testing.assert_allclose((lg.exp(d.log_prob(rows)).numpy() * w * 2).sum(), 1, rtol=1e-8)


#: Computed with mpmath at 40 digits from the definitions: name, parameters, value, logarithm of the density.
RECORDED = [
    ("LKJCholesky", dict(dim=3, concentration=1.7), FAMILIES[-1].values[0], -2.008939957681354840),
]


def test_recorded_densities():
    for name, given, value, expected in RECORDED:
        d = getattr(D, name)(**tensors(given))
        np.testing.assert_allclose(d.log_prob(lg.tensor(value, dtype=lg.float64)).item(), expected, rtol=1e-13)


MATRICES = "covariance_matrix precision_matrix scale_tril total_count dim".split()  # not every number in them is free


@pytest.mark.parametrize("family", ALL)
def test_derivatives_with_respect_to_parameters(family):
    fixed = {name: f64(v) if not isinstance(v, int) else v for name, v in family.given.items() if name in MATRICES}
    free = {name: f64(v).requires_grad_() for name, v in family.given.items() if name not in MATRICES}

    def computed(*values):
        d = getattr(D, family.name)(**dict(zip(free, values, strict=True)), **fixed, validate_args=False)
        found = [d.log_prob(f64(family.values)[1:-1] if len(family.values) > 2 else f64(family.values)).sum()]
        for what in ("mean", "variance", "entropy"):
            try:
                part = getattr(d, what)
                part = (part() if callable(part) else part).sum()
            except NotImplementedError:
                continue
            if bool(lg.isfinite(part)) and part.requires_grad:
                found.append(part)
        return tuple(found)

    assert lg.autograd.gradcheck(computed, [*free.values()], eps=1e-6, atol=1e-5, rtol=1e-4)


# -- beside PyTorch ----------------------------------------------------------------------------------
#: Where PyTorch is less exact, or fails.
THEIRS = {
    ("VonMises", "log_prob"): "a polynomial of single precision",
    ("VonMises", "variance"): "a polynomial of single precision",
    ("VonMises", "stddev"): "a polynomial of single precision",
    ("GeneralizedPareto", "log_prob"): "refuses double precision",
    ("GeneralizedPareto", "cdf"): "refuses double precision",
    ("Kumaraswamy", "mode"): "NaN everywhere",
    ("Kumaraswamy", "log_prob"): "zero too early",
    ("Multinomial", "entropy"): "a constant of single precision",
    ("Multinomial", "perplexity"): "a constant of single precision",
    **{("ContinuousBernoulli", what): "probabilities are cut off, and a region has an approximation"
       for what in "mean variance stddev entropy log_prob cdf icdf perplexity".split()},
}  # fmt: skip
PROPERTIES = "mean mode variance stddev".split()


@pytest.mark.parametrize("family", ALL)
def test_torch_agrees(family):
    torch = peer("torch")
    make = lambda v: torch.tensor(v, dtype=torch.float64)
    d, t = made(family), getattr(torch.distributions, family.name)(**tensors(family.given, make))
    assert (d.batch_shape, d.event_shape) == (tuple(t.batch_shape), tuple(t.event_shape))
    assert bool(d.has_rsample) == bool(t.has_rsample)
    assert bool(d.has_enumerate_support) == bool(t.has_enumerate_support)
    for what in "mean mode variance stddev entropy perplexity log_prob cdf icdf enumerate_support".split():
        value = family.values if what in ("log_prob", "cdf") else CHANCES if what == "icdf" else None
        try:
            expected = getattr(t, what)
            if what not in PROPERTIES:
                expected = expected() if value is None else expected(make(value))
        except NotImplementedError:
            continue
        except RuntimeError:
            assert (family.name, what) in THEIRS
            continue
        found = getattr(d, what)
        if what not in PROPERTIES:
            found = found() if value is None else found(lg.tensor(value, dtype=lg.float64))
        assert tuple(found.shape) == tuple(expected.shape), what
        if (family.name, what) not in THEIRS:
            np.testing.assert_allclose(
                found.numpy(), expected.numpy(), rtol=2e-7 if what == "icdf" else 1e-9, atol=1e-11, err_msg=what
            )
    for shape in ((), (2, 3)):
        assert tuple(d.sample(shape).shape) == tuple(t.sample(shape).shape)
        assert str(d.sample(shape).dtype) == str(t.sample(shape).dtype).removeprefix("torch.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wide = d.expand((4, 2, *d.batch_shape))
    assert wide.log_prob(wide.sample()).shape == (4, 2, *d.batch_shape)


def test_names_and_arguments_are_torchs():
    torch = peer("torch")
    theirs = ask(torch.distributions, _arguments_of_classes)
    missing = [name for name in torch.distributions.__all__ if not hasattr(D, name)]
    assert missing == []
    assert [n for n in torch.distributions.constraints.__all__ if n not in D.constraints.__all__] == []
    for name, (own, _) in _arguments_of_classes(D, theirs).items():
        its, public = theirs[name]
        assert its == own, name
        kind = getattr(D, name)
        known = {*dir(kind), *(n for base in kind.__mro__ for n in vars(base).get("__annotations__", ()))}
        assert [n for n in public if n not in known] == [], name


def _arguments_of_classes(home, names=None):
    """Parameters with defaults, and public names, of every class."""
    found = {name: getattr(home, name) for name in names or home.__all__}
    return {
        name: (
            [(p.name, p.default) for p in inspect.signature(kind.__init__).parameters.values()],
            [n for n in vars(kind) if not n.startswith("_")],
        )
        for name, kind in found.items()
        if inspect.isclass(kind)
    }


#: What has no closed form that is used here; everything else must be there, or the tests above would pass it over.
NOT_KNOWN = {
    "mean": "LKJCholesky LogisticNormal RelaxedBernoulli RelaxedOneHotCategorical",
    "variance": "LKJCholesky LogisticNormal RelaxedBernoulli RelaxedOneHotCategorical",
    "mode": "ContinuousBernoulli LKJCholesky LogisticNormal Multinomial RelaxedBernoulli RelaxedOneHotCategorical",
    "entropy": """FisherSnedecor LKJCholesky LogisticNormal NegativeBinomial Poisson RelaxedBernoulli
        RelaxedOneHotCategorical VonMises""",
    "cdf": """Bernoulli Categorical Dirichlet LKJCholesky LogisticNormal LowRankMultivariateNormal Multinomial
        MultivariateNormal OneHotCategorical OneHotCategoricalStraightThrough RelaxedBernoulli RelaxedOneHotCategorical
        VonMises Wishart""",
    "icdf": """Bernoulli Beta Binomial Categorical Chi2 Dirichlet FisherSnedecor Gamma Geometric InverseGamma
        LKJCholesky LogisticNormal LowRankMultivariateNormal Multinomial MultivariateNormal NegativeBinomial
        OneHotCategorical OneHotCategoricalStraightThrough Poisson RelaxedBernoulli RelaxedOneHotCategorical StudentT
        VonMises Wishart""",
}


@pytest.mark.parametrize("what", NOT_KNOWN)
def test_what_is_not_known_is_listed(what):
    missing = set()
    for family in FAMILIES:
        found = made(family)
        try:
            part = getattr(found, what)
            if callable(part):
                part(*([] if what == "entropy" else [f64(CHANCES if what == "icdf" else family.values)]))
        except NotImplementedError:
            missing.add(family.name)
    assert missing == set(NOT_KNOWN[what].split())
