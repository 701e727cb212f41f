"""Probability distributions, with PyTorch's names and arguments: samples, densities, entropies, divergences.

Samples come from lucidgrad's generators, on the device of the parameters. Where a sample is a differentiable function
of the parameters (``has_rsample``), `Distribution.rsample` has its derivatives: those of the gamma, beta and Dirichlet
families and of what is made of them follow from the distribution function to all digits, and are differentiable again.

Examples
--------
>>> import lucidgrad as lg
>>> D = lg.distributions
>>> logits = lg.tensor([0.0, 0.0], requires_grad=True)
>>> policy = D.Categorical(logits=logits)
>>> (-policy.log_prob(lg.tensor(1))).backward()
>>> logits.grad.tolist()
[0.5, -0.5]
"""

from lucidgrad.refusals import guard as _guard

from . import constraint_registry, constraints, kl, transforms
from .combinators import Independent, MixtureSameFamily, TransformedDistribution
from .constraint_registry import biject_to, transform_to
from .discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    NegativeBinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
)
from .distribution import Distribution, ExponentialFamily
from .kl import kl_divergence, register_kl
from .line import Cauchy, Gumbel, Laplace, Normal, StudentT, Uniform, VonMises
from .multivariate import LKJCholesky, LowRankMultivariateNormal, MultivariateNormal, Wishart
from .positive import (
    Chi2,
    Exponential,
    FisherSnedecor,
    Gamma,
    GeneralizedPareto,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    LogNormal,
    Pareto,
    Weibull,
)
from .simplex import Dirichlet, ExpRelaxedCategorical, LogisticNormal, RelaxedOneHotCategorical
from .transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from .unit import Beta, ContinuousBernoulli, Kumaraswamy, LogitRelaxedBernoulli, RelaxedBernoulli

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform", "Categorical", "Cauchy",
    "Chi2", "ComposeTransform", "ContinuousBernoulli", "CorrCholeskyTransform", "CumulativeDistributionTransform",
    "Dirichlet", "Distribution", "ExpRelaxedCategorical", "ExpTransform", "Exponential", "ExponentialFamily",
    "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "IndependentTransform", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal",
    "LogitRelaxedBernoulli", "LowRankMultivariateNormal", "LowerCholeskyTransform", "MixtureSameFamily",
    "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "PositiveDefiniteTransform", "PowerTransform",
    "RelaxedBernoulli", "RelaxedOneHotCategorical", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "StudentT", "TanhTransform", "Transform",
    "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "constraint_registry",
    "constraints", "identity_transform", "kl", "kl_divergence", "register_kl", "transform_to", "transforms",
]  # fmt: skip

_guard(__name__, __all__)
