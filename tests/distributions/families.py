"""Every family with parameters, values, and who else knows it: SciPy's distribution of the same values."""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import lucidgrad as lg

D = lg.distributions


class Family(NamedTuple):
    name: str
    given: dict[str, Any]  # numbers and lists, which become tensors of float64
    values: Any
    other: Any = None  # SciPy's, of the same parameters in their order


def tensors(given: dict[str, Any], make: Any = None) -> dict[str, Any]:
    make = make or (lambda v: lg.tensor(v, dtype=lg.float64))
    return {name: v if isinstance(v, int) else make(v) for name, v in given.items()}


def made(family: Family, **changes: Any) -> Any:
    return getattr(D, family.name)(**tensors({**family.given, **changes}))


SPREAD = [-30.0, -2.5, -0.3, 0.0, 0.7, 3.0, 45.0]
ABOVE = [1e-8, 0.05, 0.6, 1.0, 2.5, 9.0, 40.0]
UNIT = [1e-9, 0.02, 0.3, 0.5, 0.77, 0.999]
COUNTS = [0.0, 1.0, 2.0, 5.0, 9.0]
COV = [[2.0, 0.3, -0.5], [0.3, 1.0, 0.2], [-0.5, 0.2, 0.7]]
TRIL = np.linalg.cholesky(COV).tolist()
CORR = [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-0.48, 0.6, 0.64]]
VECTORS = [[0.0, 0.0, 0.0], [1.0, -2.0, 0.3], [5.0, 4.0, -9.0]]
SIMPLEX = [[0.2, 0.3, 0.5], [1e-6, 0.9, 0.099999]]
FACTOR = [[1.0, 0.2], [-0.4, 0.5], [0.1, 2.0]]
DIAG = [0.5, 1.5, 0.25]
LOW_COV = (np.array(FACTOR) @ np.array(FACTOR).T + np.diag(DIAG)).tolist()

FAMILIES = [
    Family("Normal", dict(loc=0.5, scale=2.0), SPREAD, lambda a, b: stats.norm(a, b)),
    Family("Laplace", dict(loc=0.5, scale=2.0), SPREAD, lambda a, b: stats.laplace(a, b)),
    Family("Cauchy", dict(loc=0.5, scale=2.0), SPREAD, lambda a, b: stats.cauchy(a, b)),
    Family("Gumbel", dict(loc=0.5, scale=2.0), SPREAD[1:], lambda a, b: stats.gumbel_r(a, b)),
    Family("StudentT", dict(df=3.5, loc=0.5, scale=2.0), SPREAD, lambda a, b, c: stats.t(a, b, c)),
    Family("StudentT", dict(df=0.6), SPREAD, lambda a: stats.t(a)),
    Family("StudentT", dict(df=400.0), SPREAD[1:-1], lambda a: stats.t(a)),
    Family("Uniform", dict(low=-1.0, high=3.0), [-1.0, 0.2, 2.9], lambda a, b: stats.uniform(a, b - a)),
    Family("VonMises", dict(loc=0.5, concentration=2.0), [-3.0, 0.0, 0.5, 3.1], lambda a, b: stats.vonmises(b, a)),
    Family("VonMises", dict(loc=0.5, concentration=300.0), [0.3, 0.5], lambda a, b: stats.vonmises(b, a)),
    Family("Exponential", dict(rate=2.0), ABOVE, lambda a: stats.expon(scale=1 / a)),
    Family("Gamma", dict(concentration=0.3, rate=2.0), ABOVE, lambda a, b: stats.gamma(a, scale=1 / b)),
    Family("Gamma", dict(concentration=25.0, rate=3.0), ABOVE, lambda a, b: stats.gamma(a, scale=1 / b)),
    Family("Chi2", dict(df=3.0), ABOVE, lambda a: stats.chi2(a)),
    Family("InverseGamma", dict(concentration=3.0, rate=2.0), ABOVE[1:], lambda a, b: stats.invgamma(a, scale=b)),
    Family("FisherSnedecor", dict(df1=3.0, df2=7.5), ABOVE, lambda a, b: stats.f(a, b)),
    Family("HalfNormal", dict(scale=2.0), ABOVE, lambda a: stats.halfnorm(scale=a)),
    Family("HalfCauchy", dict(scale=2.0), ABOVE, lambda a: stats.halfcauchy(scale=a)),
    Family("LogNormal", dict(loc=0.3, scale=0.8), ABOVE, lambda a, b: stats.lognorm(b, scale=np.exp(a))),
    Family("Weibull", dict(scale=2.0, concentration=1.7), ABOVE, lambda a, b: stats.weibull_min(b, scale=a)),
    Family("Pareto", dict(scale=2.0, alpha=4.5), [2.0, 2.5, 90.0], lambda a, b: stats.pareto(b, scale=a)),
    Family("GeneralizedPareto", dict(loc=0.5, scale=2.0, concentration=0.3), [0.5, 2.5, 90.0],
           lambda a, b, c: stats.genpareto(c, a, b)),
    Family("GeneralizedPareto", dict(loc=0.5, scale=2.0, concentration=0.0), [0.5, 2.5, 90.0],
           lambda a, b, c: stats.expon(a, b)),
    Family("GeneralizedPareto", dict(loc=0.5, scale=2.0, concentration=-0.4), [0.5, 2.5, 5.0],
           lambda a, b, c: stats.genpareto(c, a, b)),
    Family("Beta", dict(concentration1=0.5, concentration0=3.0), UNIT, lambda a, b: stats.beta(a, b)),
    Family("Beta", dict(concentration1=30.0, concentration0=12.0), UNIT, lambda a, b: stats.beta(a, b)),
    Family("Kumaraswamy", dict(concentration1=2.0, concentration0=3.0), UNIT),
    Family("ContinuousBernoulli", dict(probs=0.1), UNIT, lambda a: stats.truncexpon(*_turned(a))),
    Family("ContinuousBernoulli", dict(probs=0.4997), UNIT, lambda a: stats.truncexpon(*_turned(a))),
    Family("ContinuousBernoulli", dict(probs=0.9), UNIT),
    Family("ContinuousBernoulli", dict(logits=-40.0), UNIT),
    Family("RelaxedBernoulli", dict(temperature=0.7, probs=0.3), UNIT),
    Family("Bernoulli", dict(probs=0.3), [0.0, 1.0], lambda a: stats.bernoulli(a)),
    Family("Bernoulli", dict(logits=-2.0), [0.0, 1.0]),
    Family("Binomial", dict(total_count=12.0, probs=0.3), COUNTS, lambda a, b: stats.binom(a, b)),
    Family("Geometric", dict(probs=0.3), COUNTS, lambda a: stats.geom(a, loc=-1)),
    Family("NegativeBinomial", dict(total_count=2.5, probs=0.4), COUNTS, lambda a, b: stats.nbinom(a, 1 - b)),
    Family("Poisson", dict(rate=3.3), COUNTS, lambda a: stats.poisson(a)),
    Family("Categorical", dict(probs=[1.0, 2.0, 5.0]), [0.0, 1.0, 2.0]),
    Family("Categorical", dict(logits=[1.0, -2.0, 0.5]), [0.0, 1.0, 2.0]),
    Family("OneHotCategorical", dict(probs=[1.0, 2.0, 5.0]), [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    Family("OneHotCategoricalStraightThrough", dict(logits=[1.0, 2.0, 0.5]), [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    Family("Multinomial", dict(total_count=6, probs=[0.2, 0.3, 0.5]), [[1.0, 2.0, 3.0], [0.0, 0.0, 6.0]],
           lambda a, b: stats.multinomial(a, b)),
    Family("Dirichlet", dict(concentration=[0.5, 2.0, 4.0]), SIMPLEX, lambda a: stats.dirichlet(a)),
    Family("LogisticNormal", dict(loc=[0.3, -0.4], scale=[0.8, 1.5]), SIMPLEX),
    Family("RelaxedOneHotCategorical", dict(temperature=0.7, probs=[0.2, 0.3, 0.5]), SIMPLEX),
    Family("MultivariateNormal", dict(loc=[0.1, 0.2, -0.3], covariance_matrix=COV), VECTORS,
           lambda a, b: stats.multivariate_normal(a, b)),
    Family("MultivariateNormal", dict(loc=[0.1, 0.2, -0.3], precision_matrix=COV), VECTORS,
           lambda a, b: stats.multivariate_normal(a, np.linalg.inv(b))),
    Family("MultivariateNormal", dict(loc=[0.1, 0.2, -0.3], scale_tril=TRIL), VECTORS,
           lambda a, b: stats.multivariate_normal(a, COV)),
    Family("LowRankMultivariateNormal", dict(loc=[0.1, 0.2, -0.3], cov_factor=FACTOR, cov_diag=DIAG), VECTORS,
           lambda a, b, c: stats.multivariate_normal(a, LOW_COV)),
    Family("Wishart", dict(df=4.5, covariance_matrix=COV), [COV, LOW_COV], lambda a, b: stats.wishart(a, b)),
    Family("LKJCholesky", dict(dim=3, concentration=1.7), [CORR]),
]  # fmt: skip


def _turned(probs: Any) -> tuple[float, float, float]:
    """A continuous Bernoulli distribution as an exponential one that was cut off: bound, loc, scale."""
    logit = float(np.log(probs) - np.log1p(-probs))
    return -logit, 0.0, -1 / logit


IDS = [f"{i}-{family.name}" for i, family in enumerate(FAMILIES)]
