"""Transforms and constraints: inverses, volumes, shapes, ways into every region; and what distributions refuse."""

import copy
import pickle

import numpy as np
import pytest
from families import COV, FAMILIES, IDS, D, made
from golden import peer
from test_families import f64

import lucidgrad as lg

C = D.constraints
TRANSFORMS = {
    "Exp": (lambda D, t: D.ExpTransform(), [-1.0, 0.0, 2.0]),
    "Power": (lambda D, t: D.PowerTransform(t([1.5])), [0.3, 1.0, 2.0]),
    "Sigmoid": (lambda D, t: D.SigmoidTransform(), [-3.0, 0.0, 2.0]),
    "Softplus": (lambda D, t: D.SoftplusTransform(), [-3.0, 0.0, 25.0]),
    "Tanh": (lambda D, t: D.TanhTransform(), [-3.0, 0.1, 2.0]),
    "Affine": (lambda D, t: D.AffineTransform(t(1.0), t(-2.0)), [-3.0, 0.1, 2.0]),
    "Affine of events": (lambda D, t: D.AffineTransform(t([1.0, 2.0, 3.0]), -2.0, event_dim=1), [-3.0, 0.1, 2.0]),
    "Cumulative": (lambda D, t: D.CumulativeDistributionTransform(D.Normal(t(0.5), t(2.0))), [-3.0, 0.1, 2.0]),
    "StickBreaking": (lambda D, t: D.StickBreakingTransform(), [-1.0, 0.5, 2.0]),
    "CorrCholesky": (lambda D, t: D.CorrCholeskyTransform(), [-1.0, 0.5, 0.3]),
    "Reshape": (lambda D, t: D.ReshapeTransform((4,), (2, 2)), [-1.0, 0.5, 2.0, 3.0]),
    "Compose": (lambda D, t: D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, t(3.0))]), [-1.0, 0.5]),
    "Inverse": (lambda D, t: D.SigmoidTransform().inv, [0.2, 0.5, 0.9]),
    "Independent": (lambda D, t: D.IndependentTransform(D.ExpTransform(), 1), [-1.0, 0.5]),
    "Cat": (lambda D, t: D.CatTransform([D.ExpTransform(), D.TanhTransform()], -1, [2, 1]), [-1.0, 0.5, 0.3]),
    "Stack": (lambda D, t: D.StackTransform([D.ExpTransform(), D.TanhTransform()], -1), [-1.0, 0.5]),
    "Compose of events": (
        lambda D, t: D.ComposeTransform([D.ExpTransform(), D.ReshapeTransform((4,), (2, 2))]),
        [-1.0, 0.5, 2.0, 3.0],
    ),
    "Identity": (lambda D, t: D.identity_transform, [-1.0, 0.5]),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    make, values = TRANSFORMS[name]
    t, x = make(D, f64), f64(values)
    y = t(x)
    np.testing.assert_allclose(t.inv(y).numpy(), values, rtol=1e-12, atol=1e-14)
    assert t.inv.inv == t and t.bijective
    assert t.forward_shape((5, *x.shape)) == (5, *y.shape) and t.inverse_shape((5, *y.shape)) == (5, *x.shape)
    assert bool(t.codomain.check(y).all()) and bool(t.domain.check(x).all())
    axes, free = t.domain.event_dim, y
    if name == "StickBreaking":
        pick = lambda v: t(v)[:-1]
    elif name == "CorrCholesky":
        pick = lambda v: t(v)[lg.tensor([1, 2, 2]), lg.tensor([0, 0, 1])]
    else:
        pick = lambda v: t(v).reshape((-1,))
    jacobian = lg.func.jacrev(pick)(x)
    found = t.log_abs_det_jacobian(x, free)
    assert found.ndim == x.ndim - axes or name in ("Cat", "Stack")
    np.testing.assert_allclose(found.sum().item(), lg.linalg.slogdet(jacobian).logabsdet.item(), rtol=1e-11, atol=1e-12)
    cached = t.with_cache()
    again = cached(x)
    if name != "Identity":
        assert cached.inv(again) is x or name in ("Compose", "Compose of events", "Independent", "Cat", "Stack")
    torch = peer("torch")
    of = lambda v: torch.tensor(v, dtype=torch.float64)
    other = make(torch.distributions, of)
    np.testing.assert_allclose(y.numpy(), other(of(values)).numpy(), rtol=1e-12)
    expected = other.log_abs_det_jacobian(of(values), other(of(values)))
    assert tuple(found.shape) == tuple(expected.shape)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-9, atol=1e-12)


def test_transforms_that_are_no_bijections():
    x = f64([[-1.0, 0.5], [0.3, 2.0]])
    for t in (D.SoftmaxTransform(), D.AbsTransform(), D.LowerCholeskyTransform(), D.PositiveDefiniteTransform()):
        y = t(x)
        assert bool(t.codomain.check(y).all()) and not t.bijective
        np.testing.assert_allclose(t(t.inv(y)).numpy(), y.numpy(), rtol=1e-12)
        with pytest.raises(NotImplementedError):
            t.log_abs_det_jacobian(x, y)
    assert (
        D.AffineTransform(0.0, f64([2.0])) == D.AffineTransform(0.0, f64([2.0])) != D.AffineTransform(0.0, f64([3.0]))
    )
    assert D.ExpTransform() != D.TanhTransform()


REGIONS = [
    C.real, C.positive, C.nonnegative, C.greater_than(2.0), C.less_than(-1.0), C.unit_interval, C.interval(-2.0, 5.0),
    C.half_open_interval(1.0, 2.0), C.simplex, C.real_vector, C.independent(C.positive, 1), C.corr_cholesky,
    C.stack([C.positive, C.real, C.unit_interval], -1), C.cat([C.positive, C.real], -1, [2, 1]),
]  # fmt: skip


@pytest.mark.parametrize("region", REGIONS, ids=repr)
def test_ways_into_regions(region):
    x = f64([-2.0, 0.3, 1.0])
    for way in (D.biject_to, D.transform_to):
        y = way(region)(x)
        assert bool(region.check(y).all())
        if way is D.biject_to:
            np.testing.assert_allclose(way(region).inv(y).numpy(), x.numpy(), rtol=1e-10)


def test_ways_into_regions_of_matrices():
    for region in (C.lower_cholesky, C.positive_definite, C.positive_semidefinite):
        assert bool(region.check(D.transform_to(region)(f64([[1.0, 2.0], [3.0, -4.0]]))))
        with pytest.raises(NotImplementedError):
            D.biject_to(region)
    registry = D.constraint_registry.ConstraintRegistry()
    registry.register(C.real)(lambda c: D.ExpTransform())
    assert registry(C.real) == D.ExpTransform()
    with pytest.raises(TypeError, match="expected a constraint"):
        registry.register(3, lambda c: c)


def test_constraints():
    lower, wrong = [[1.0, 0.0], [2.0, 3.0]], [[1.0, 2.0], [2.0, 1.0]]
    inside = {
        C.boolean: ([0.0, 1.0], [0.5]),
        C.nonnegative_integer: ([0.0, 3.0], [-1.0, 0.5]),
        C.positive_integer: ([1.0], [0.0]),
        C.integer_interval(1, 3): ([1.0, 3.0], [0.0, 2.5, 4.0]),
        C.half_open_interval(0.0, 1.0): ([0.0], [1.0]),
        C.one_hot: ([0.0, 1.0], [1.0, 1.0]),
        C.multinomial(3): ([1.0, 2.0], [2.0, 2.0]),
        C.simplex: ([0.25, 0.75], [0.5, 0.6]),
        C.lower_triangular: (lower, wrong),
        C.lower_cholesky: (lower, [[-1.0, 0.0], [2.0, 3.0]]),
        C.symmetric: (COV, lower),
        C.square: (COV, [[1.0, 2.0]]),
        C.positive_definite: (COV, wrong),
        C.positive_semidefinite: ([[1.0, 0.0], [0.0, 0.0]], wrong),
        C.corr_cholesky: ([[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.9]]),
        C.real_vector: ([1.0, 2.0], [1.0, np.nan]),
    }
    for constraint, (good, bad) in inside.items():
        assert bool(constraint.check(f64(good)).all()), constraint
        assert not bool(constraint.check(f64(bad)).any()), constraint


@pytest.mark.parametrize(("family", "name"), zip(FAMILIES, IDS, strict=True), ids=IDS)
def test_batches_copies_and_wrong_values(family, name):
    d = made(family)
    wide = d.expand((4, 2))
    x = f64(family.values[0])
    np.testing.assert_allclose(wide.log_prob(x).numpy(), np.full((4, 2), d.log_prob(x).item()), rtol=1e-13)
    assert wide.expand((3, 4, 2)).sample((5,)).shape == (5, 3, 4, 2, *d.event_shape)
    assert family.name in repr(d) and wide.batch_shape == (4, 2)
    if family.name != "Wishart":  # its constraints and samples are those of any matrix
        for other in (copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
            assert other.log_prob(x).item() == d.log_prob(x).item()
    with pytest.raises(ValueError, match="expected a tensor"):
        d.log_prob(0.5)
    with pytest.raises(ValueError, match="outside of the support|event shape"):
        d.log_prob(lg.full_like(x, np.nan))
    if d.event_shape:
        with pytest.raises(ValueError, match="event shape"):
            d.log_prob(lg.cat([x, x], 0))
    for parameter in family.given:
        if not isinstance(family.given[parameter], int):
            wrong = np.full_like(np.asarray(family.given[parameter]), np.nan).tolist()
            with pytest.raises(ValueError, match=f"{parameter}|probs|logits|low"):
                made(family, **{parameter: wrong})


def test_what_is_refused():
    one = lg.ones(2)
    for call, error in [
        (lambda: D.Bernoulli(), "given none"),
        (lambda: D.Bernoulli(0.5, 0.0), "probs and logits"),
        (lambda: D.Categorical(lg.tensor(0.5)), "without an axis"),
        (lambda: D.Geometric(lg.zeros(2)), "zeros"),
        (lambda: D.Independent(D.Normal(one, 1.0), 2), "at most the 1 batch axes"),
        (lambda: D.MultivariateNormal(one), "given none"),
        (lambda: D.MultivariateNormal(one, one), "no matrix"),
        (lambda: D.LKJCholesky(1), "2 or more"),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [3]), "expected a transform"),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform()), "or more axes"),
        (lambda: D.MixtureSameFamily(D.Categorical(lg.ones(3)), D.Normal(one, 1.0)), "3 weights and 2 components"),
        (lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(one, 1.0)), "expected a Categorical"),
        (lambda: D.Uniform(2.0, 1.0), "low"),
        (lambda: D.ExpTransform(cache_size=2), "expected 0 or 1"),
        (lambda: D.Distribution.set_default_validate_args(3), "True or False"),
    ]:
        with pytest.raises(ValueError, match=error):
            call()
    with pytest.raises(NotImplementedError, match="derivative of samples of Poisson"):
        D.Poisson(1.0).rsample()
    with pytest.raises(NotImplementedError, match="entropy of VonMises"):
        D.VonMises(0.0, 1.0).entropy()
    with pytest.raises(TypeError, match="expected a number or a tensor"):
        D.Normal("a", 1.0)
    with pytest.warns(FutureWarning, match="old spelling"):
        D.Normal(0.0, 1.0).sample_n(2)
    assert D.Normal(0.0, -1.0, validate_args=False).scale.item() == -1
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
    finally:
        D.Distribution.set_default_validate_args(True)


def test_edges_of_probabilities():
    """Impossible values have the logarithm of zero, and what is certain has finite gradients."""
    p = f64([0.0, 1.0]).requires_grad_()
    assert D.Bernoulli(p).log_prob(lg.zeros_like(p)).tolist() == [0.0, -np.inf]
    np.testing.assert_allclose(D.Binomial(3, p).log_prob(lg.zeros_like(p)).tolist(), [0.0, -np.inf], atol=1e-15)
    (g,) = lg.autograd.grad(D.Bernoulli(p).log_prob(f64([0.0, 1.0])).sum(), p)
    assert g.tolist() == [-1.0, 1.0]
    c = D.Categorical(f64([0.0, 0.25, 0.75]))
    assert c.log_prob(lg.tensor(0)).item() == -np.inf
    np.testing.assert_allclose(c.entropy().item(), -(0.25 * np.log(0.25) + 0.75 * np.log(0.75)))
    assert 0 not in c.sample((500,)).tolist()
    assert D.NegativeBinomial(f64(0.0), f64(0.5)).log_prob(f64([0.0, 1.0])).tolist() == [0.0, -np.inf]
    assert D.OneHotCategorical(f64([1.0, 2.0])).enumerate_support().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert D.Bernoulli(lg.ones(3) / 2).enumerate_support(expand=False).shape == (2, 1)
    logits = f64([0.0, 1.0]).requires_grad_()
    straight = D.OneHotCategoricalStraightThrough(logits=logits)
    (g,) = lg.autograd.grad(straight.rsample()[0], logits, retain_graph=True)
    (expected,) = lg.autograd.grad(straight.probs[0], logits)
    np.testing.assert_allclose(g.tolist(), expected.tolist())


def test_what_is_made_of_other_distributions():
    weights, loc, scale, x = f64([0.3, 0.7]), f64([-1.0, 2.0]), f64([0.5, 1.5]), f64([-2.0, 0.3, 4.0])
    parts = D.Normal(loc, scale)
    mixture = D.MixtureSameFamily(D.Categorical(weights), parts)
    wide = x.unsqueeze(-1)
    np.testing.assert_allclose(
        mixture.log_prob(x).exp().numpy(), (weights * parts.log_prob(wide).exp()).sum(-1).numpy()
    )
    np.testing.assert_allclose(mixture.cdf(x).numpy(), (weights * parts.cdf(wide)).sum(-1).numpy())
    np.testing.assert_allclose(mixture.mean.item(), 1.1)
    np.testing.assert_allclose(mixture.variance.item(), 0.3 * 0.25 + 0.7 * 2.25 + 0.3 * 2.1**2 + 0.7 * 0.9**2)
    assert bool(mixture.support.check(x).all()) and mixture.expand((4, 3)).sample((2,)).shape == (2, 4, 3)
    vectors = D.MixtureSameFamily(
        D.Categorical(weights.expand((5, 2))), D.MultivariateNormal(lg.zeros(5, 2, 3).double(), f64(COV))
    )
    assert vectors.sample((4,)).shape == (4, 5, 3) and vectors.mean.shape == (5, 3)
    normal = D.MultivariateNormal(lg.zeros(3).double(), f64(COV))
    points = vectors.sample()
    np.testing.assert_allclose(vectors.log_prob(points).numpy(), normal.log_prob(points).numpy(), rtol=1e-12)

    both = D.Independent(parts, 1)
    np.testing.assert_allclose(both.log_prob(f64([1.0, 2.0])).item(), parts.log_prob(f64([1.0, 2.0])).sum().item())
    assert both.entropy().item() == parts.entropy().sum().item() and both.has_rsample
    assert both.expand((4,)).rsample((3,)).shape == (3, 4, 2) and both.support.event_dim == 1

    logistic = D.TransformedDistribution(
        D.Uniform(f64(0.0), f64(1.0)), [D.SigmoidTransform().inv, D.AffineTransform(f64(1.0), f64(-2.0))]
    )
    z = (x - 1) / 2
    np.testing.assert_allclose(logistic.cdf(x).numpy(), lg.sigmoid(z).numpy(), rtol=1e-12)
    density = lg.sigmoid(z) * lg.sigmoid(-z) / 2
    np.testing.assert_allclose(logistic.log_prob(x).exp().numpy(), density.numpy(), rtol=1e-12)
    np.testing.assert_allclose(logistic.icdf(logistic.cdf(x)).numpy(), x.numpy(), rtol=1e-12)
    flow = D.TransformedDistribution(both, D.AffineTransform(f64(0.0), f64([1.0, 2.0])))
    assert (flow.batch_shape, flow.event_shape) == ((), (2,)) and flow.expand((3,)).sample().shape == (3, 2)
    np.testing.assert_allclose(flow.log_prob(f64([1.0, 4.0])).item(), both.log_prob(f64([1.0, 2.0])).item() - np.log(2))


class Half(D.Distribution):
    """A distribution as users of PyTorch write one."""

    has_rsample = True
    support = C.unit_interval

    def rsample(self, sample_shape=()):
        return lg.rand(*self._extended_shape(sample_shape)) / 2

    def log_prob(self, value):
        self._validate_sample(value)
        return lg.full_like(value, np.log(2))


def test_a_class_of_the_users():
    d = Half((3,))
    assert d.sample((2,)).shape == (2, 3) and d.log_prob(d.sample()).shape == (3,)
    with pytest.raises(ValueError, match="outside of the support"):
        d.log_prob(lg.ones(3) * 2)
    with pytest.raises(NotImplementedError, match="mean of Half"):
        d.mean
