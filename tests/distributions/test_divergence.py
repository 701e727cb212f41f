"""Kullback's and Leibler's divergence: by quadrature, its registry, and beside PyTorch."""

import itertools

import numpy as np
import pytest
from families import COV, D, tensors
from golden import ask, peer
from test_families import nodes

import lucidgrad as lg

ONE = {
    "Normal": dict(loc=0.5, scale=2.0),
    "Laplace": dict(loc=0.5, scale=2.0),
    "Cauchy": dict(loc=0.5, scale=2.0),
    "Gumbel": dict(loc=0.5, scale=2.0),
    "Uniform": dict(low=0.2, high=0.9),
    "Exponential": dict(rate=2.0),
    "Gamma": dict(concentration=2.3, rate=1.2),
    "Chi2": dict(df=5.0),
    "HalfNormal": dict(scale=2.0),
    "Pareto": dict(scale=2.0, alpha=4.5),
    "Beta": dict(concentration1=1.6, concentration0=3.0),
    "ContinuousBernoulli": dict(probs=0.9),
    "LogNormal": dict(loc=0.3, scale=0.8),
    "Bernoulli": dict(probs=0.3),
    "Binomial": dict(total_count=12.0, probs=0.3),
    "Geometric": dict(probs=0.3),
    "Poisson": dict(rate=8.0),
    "Categorical": dict(probs=[0.125, 0.25, 0.625]),
    "OneHotCategorical": dict(probs=[0.125, 0.25, 0.625]),
    "Dirichlet": dict(concentration=[0.5, 2.0, 4.0]),
    "MultivariateNormal": dict(loc=[0.1, 0.2, -0.3], covariance_matrix=COV),
    "LowRankMultivariateNormal": dict(
        loc=[0.1, 0.2, -0.3], cov_factor=[[1.0], [0.4], [2.0]], cov_diag=[0.5, 1.5, 0.25]
    ),
    "Wishart": dict(df=4.5, covariance_matrix=COV),
}
OTHER = {
    **{name: dict(loc=-1.0, scale=1.3) for name in ("Normal", "Laplace", "Cauchy", "Gumbel")},
    "Uniform": dict(low=-2.0, high=3.0),
    "Exponential": dict(rate=1.4),
    "Gamma": dict(concentration=1.4, rate=0.7),
    "Chi2": dict(df=2.5),
    "HalfNormal": dict(scale=0.7),
    "Pareto": dict(scale=0.1, alpha=3.0),
    "Beta": dict(concentration1=1.4, concentration0=0.7),
    "ContinuousBernoulli": dict(probs=0.2),
    "LogNormal": dict(loc=-0.3, scale=1.1),
    "Bernoulli": dict(probs=0.6),
    "Binomial": dict(total_count=12.0, probs=0.6),
    "Geometric": dict(probs=0.6),
    "Poisson": dict(rate=2.0),
    "Categorical": dict(logits=[0.3, 0.3, 0.4]),
    "OneHotCategorical": dict(logits=[0.3, 0.3, 0.4]),
    "Dirichlet": dict(concentration=[1.0, 2.0, 0.4]),
    "MultivariateNormal": dict(loc=[0.0, 1.0, 2.0], scale_tril=[[1.0, 0, 0], [0.3, 0.9, 0], [-0.1, 0.2, 1.1]]),
    "LowRankMultivariateNormal": dict(loc=[0.0, 1.0, 2.0], cov_factor=[[1.0], [0.3], [-0.1]], cov_diag=[0.5, 0.7, 0.9]),
    "Wishart": dict(df=5.0, scale_tril=[[1.0, 0, 0], [0.3, 0.9, 0], [-0.1, 0.2, 1.1]]),
}
PAIRS = [
    (p, q)
    for p, q in itertools.product(ONE, ONE)
    if any(issubclass(getattr(D, p), a) and issubclass(getattr(D, q), b) for a, b in D.kl._REGISTRY)
]


def pair(p, q):
    return getattr(D, p)(**tensors(ONE[p])), getattr(D, q)(**tensors(OTHER[q]))


def divergence(p, q):
    try:
        return D.kl_divergence(*pair(p, q)).item()
    except NotImplementedError:
        return None


def definition(name, p, q):
    """The mean of the difference of the logarithms, by a sum or a quadrature."""
    if p.support.is_discrete:
        last = 600 if not p.has_enumerate_support else None
        x = lg.arange(0, last, dtype=lg.float64) if last else p.enumerate_support()
        w = 1.0
    else:
        points, w = nodes(p, name)
        x = lg.tensor(points)
    own = p.log_prob(x).numpy()
    q._validate_args = False
    some = np.exp(own) > 1e-200
    apart = np.where(some, own, 0) - np.where(some, q.log_prob(x).numpy(), 0)
    return (np.exp(own) * apart * w).sum()


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_divergence_is_the_mean_of_the_difference(p, q):
    found = divergence(p, q)
    if found is None or (pair(p, q)[0].event_shape and p != "OneHotCategorical"):
        return  # families of vectors: below, and beside PyTorch
    if np.isinf(found):
        one, other = pair(p, q)
        other._validate_args = False
        lg.manual_seed(5)
        lost = one.sample((20000,))
        assert not bool(other.support.check(lost).all())  # values that q never has
        return
    kink = "Laplace" in (p, q)  # the quadrature is for smooth functions
    np.testing.assert_allclose(found, definition(p, *pair(p, q)), rtol=1e-5 if kink else 1e-9)


@pytest.mark.parametrize("name", ONE)
def test_no_divergence_from_itself(name):
    d = getattr(D, name)(**tensors(ONE[name]))
    assert abs(D.kl_divergence(d, d).item()) < 1e-14


def test_divergence_of_vectors_by_known_matrices():
    """Of normal vectors from the traces and determinants that it is made of."""
    for p, q in itertools.product(("MultivariateNormal", "LowRankMultivariateNormal"), repeat=2):
        one, other = pair(p, q)
        a, b, m = one.covariance_matrix.numpy(), other.covariance_matrix.numpy(), (other.loc - one.loc).numpy()
        inverse = np.linalg.inv(b)
        expected = 0.5 * (np.trace(inverse @ a) + m @ inverse @ m - 3 + np.log(np.linalg.det(b) / np.linalg.det(a)))
        np.testing.assert_allclose(divergence(p, q), expected, rtol=1e-12)


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_torch_agrees_on_divergence(p, q):
    torch = peer("torch")
    if (p, q) in (("Uniform", "ContinuousBernoulli"), ("ContinuousBernoulli", "Uniform")):
        return  # theirs is infinite, though all values of p are inside
    make = lambda v: torch.tensor(v, dtype=torch.float64)
    kinds = torch.distributions
    theirs = getattr(kinds, p)(**tensors(ONE[p], make)), getattr(kinds, q)(**tensors(OTHER[q], make))
    try:
        expected = kinds.kl_divergence(*theirs).item()
    except NotImplementedError:
        expected = None
    found = divergence(p, q)
    assert (found is None) == (expected is None)
    if expected is not None:
        np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_the_registry_has_all_pairs_of_torchs():
    names = lambda registry: sorted((a.__name__, b.__name__) for a, b in registry)
    theirs = ask(peer("torch.distributions.kl"), lambda kl: names(kl._KL_REGISTRY))
    assert set(theirs) - set(names(D.kl._REGISTRY)) == set()


def test_edges_and_gradients():
    zero = lg.tensor([0.0, 1.0], dtype=lg.float64, requires_grad=True)
    half = lg.tensor([0.5, 0.5], dtype=lg.float64, requires_grad=True)
    found = D.kl_divergence(D.Bernoulli(zero), D.Bernoulli(half))
    np.testing.assert_allclose(found.tolist(), [np.log(2)] * 2)
    assert D.kl_divergence(D.Bernoulli(half), D.Bernoulli(zero)).tolist() == [np.inf] * 2
    found = D.kl_divergence(D.Categorical(half), D.Categorical(lg.tensor([0.25, 0.75], dtype=lg.float64)))
    (g,) = lg.autograd.grad(found, half)
    np.testing.assert_allclose(g.tolist(), [0.5 * np.log(3), -0.5 * np.log(3)])
    outside = D.kl_divergence(D.Uniform(lg.tensor([0.0, 1.0]), 2.0), D.Uniform(0.5, 3.0))
    assert outside[0].item() == np.inf and np.isclose(outside[1].item(), np.log(2.5))
    normal = D.Independent(D.Normal(lg.zeros(2, 3), 1.0), 1), D.Independent(D.Normal(lg.ones(2, 3), 1.0), 1)
    assert D.kl_divergence(*normal).tolist() == [1.5, 1.5]


def test_the_closest_pair_of_classes_is_used():
    class A(D.Normal):
        pass

    class B(A):
        pass

    D.register_kl(A, D.Normal)(lambda p, q: 1)
    D.register_kl(D.Normal, B)(lambda p, q: 2)
    try:
        assert D.kl_divergence(B(0.0, 1.0), D.Normal(0.0, 1.0)) == 1
        with pytest.warns(RuntimeWarning, match="ambiguous"):
            assert D.kl_divergence(B(0.0, 1.0), B(0.0, 1.0)) == 1
        with pytest.raises(NotImplementedError, match="VonMises from Normal"):
            D.kl_divergence(D.VonMises(0.0, 1.0), D.Normal(0.0, 1.0))
        with pytest.raises(TypeError, match="expected a class"):
            D.register_kl(int, D.Normal)
    finally:
        del D.kl._REGISTRY[A, D.Normal], D.kl._REGISTRY[D.Normal, B]
        D.kl._FOUND.clear()


class Waiting(D.ExponentialFamily):
    """An exponential distribution as a user might write it."""

    arg_constraints = {"rate": D.constraints.positive}  # noqa: RUF012

    def __init__(self, rate):
        self.rate = rate
        super().__init__(tuple(rate.shape))

    @property
    def _natural_params(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -lg.log(-x)


def test_a_family_by_its_normaliser():
    rate = lg.tensor([2.0, 3.0], dtype=lg.float64, requires_grad=True)
    p, q = Waiting(rate), Waiting(lg.tensor([1.4, 0.5], dtype=lg.float64))
    known = D.Exponential(rate), D.Exponential(q.rate)
    for found, expected in ((p.entropy(), known[0].entropy()), (D.kl_divergence(p, q), D.kl_divergence(*known))):
        np.testing.assert_allclose(found.tolist(), expected.tolist(), rtol=1e-13)
        own, its = (lg.autograd.grad(y.sum(), rate, retain_graph=True)[0].tolist() for y in (found, expected))
        np.testing.assert_allclose(own, its, rtol=1e-12)
