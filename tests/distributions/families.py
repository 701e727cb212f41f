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
    other: Any = None  # of SciPy, from the same parameters as arrays


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
    Family("Normal", dict(loc=0.5, scale=2.0), SPREAD, lambda loc, scale: stats.norm(loc, scale)),
    Family("Laplace", dict(loc=0.5, scale=2.0), SPREAD, lambda loc, scale: stats.laplace(loc, scale)),
    Family("Cauchy", dict(loc=0.5, scale=2.0), SPREAD, lambda loc, scale: stats.cauchy(loc, scale)),
    Family("Gumbel", dict(loc=0.5, scale=2.0), SPREAD[1:], lambda loc, scale: stats.gumbel_r(loc, scale)),
    Family("StudentT", dict(df=3.5, loc=0.5, scale=2.0), SPREAD, lambda df, loc, scale: stats.t(df, loc, scale)),
    Family("StudentT", dict(df=0.6), SPREAD, lambda df: stats.t(df)),
    Family("StudentT", dict(df=400.0), SPREAD[1:-1], lambda df: stats.t(df)),
    Family("Uniform", dict(low=-1.0, high=3.0), [-1.0, 0.2, 2.9], lambda low, high: stats.uniform(low, high - low)),
    Family("VonMises", dict(loc=0.5, concentration=2.0), [-3.0, 0.0, 0.5, 3.1], lambda loc, concentration: stats.vonmises(concentration, loc)),
    Family("VonMises", dict(loc=0.5, concentration=300.0), [0.3, 0.5], lambda loc, concentration: stats.vonmises(concentration, loc)),
    Family("Exponential", dict(rate=2.0), ABOVE, lambda rate: stats.expon(scale=1 / rate)),
    Family("Gamma", dict(concentration=0.3, rate=2.0), ABOVE, lambda concentration, rate: stats.gamma(concentration, scale=1 / rate)),
    Family("Gamma", dict(concentration=25.0, rate=3.0), ABOVE, lambda concentration, rate: stats.gamma(concentration, scale=1 / rate)),
    Family("Chi2", dict(df=3.0), ABOVE, lambda df: stats.chi2(df)),
    Family("InverseGamma", dict(concentration=3.0, rate=2.0), ABOVE[1:], lambda concentration, rate: stats.invgamma(concentration, scale=rate)),
    Family("FisherSnedecor", dict(df1=3.0, df2=7.5), ABOVE, lambda df1, df2: stats.f(df1, df2)),
    Family("HalfNormal", dict(scale=2.0), ABOVE, lambda scale: stats.halfnorm(scale=scale)),
    Family("HalfCauchy", dict(scale=2.0), ABOVE, lambda scale: stats.halfcauchy(scale=scale)),
    Family("LogNormal", dict(loc=0.3, scale=0.8), ABOVE, lambda loc, scale: stats.lognorm(scale, scale=np.exp(loc))),
    Family("Weibull", dict(scale=2.0, concentration=1.7), ABOVE, lambda scale, concentration: stats.weibull_min(concentration, scale=scale)),
    Family("Pareto", dict(scale=2.0, alpha=4.5), [2.0, 2.5, 90.0], lambda scale, alpha: stats.pareto(alpha, scale=scale)),
    Family("GeneralizedPareto", dict(loc=0.5, scale=2.0, concentration=0.3), [0.5, 2.5, 90.0], lambda loc, scale, concentration: stats.genpareto(concentration, loc, scale)),
    Family("GeneralizedPareto", dict(loc=0.5, scale=2.0, concentration=0.0), [0.5, 2.5, 90.0], lambda loc, scale, concentration: stats.expon(loc, scale)),
    Family("GeneralizedPareto", dict(loc=0.5, scale=2.0, concentration=-0.4), [0.5, 2.5, 5.0], lambda loc, scale, concentration: stats.genpareto(concentration, loc, scale)),
    Family("Beta", dict(concentration1=0.5, concentration0=3.0), UNIT, lambda concentration1, concentration0: stats.beta(concentration1, concentration0)),
    Family("Beta", dict(concentration1=30.0, concentration0=12.0), UNIT, lambda concentration1, concentration0: stats.beta(concentration1, concentration0)),
    Family("Kumaraswamy", dict(concentration1=2.0, concentration0=3.0), UNIT),
    Family("ContinuousBernoulli", dict(probs=0.9), UNIT, lambda probs: stats.truncexpon(*_turned(probs))),
    Family("ContinuousBernoulli", dict(probs=0.5003), UNIT, lambda probs: stats.truncexpon(*_turned(probs))),
    Family("ContinuousBernoulli", dict(logits=-40.0), UNIT),
    Family("RelaxedBernoulli", dict(temperature=0.7, probs=0.3), UNIT),
    Family("Bernoulli", dict(probs=0.3), [0.0, 1.0], lambda probs: stats.bernoulli(probs)),
    Family("Bernoulli", dict(logits=-2.0), [0.0, 1.0]),
    Family("Binomial", dict(total_count=12.0, probs=0.3), COUNTS, lambda total_count, probs: stats.binom(total_count, probs)),
    Family("Geometric", dict(probs=0.3), COUNTS, lambda probs: stats.geom(probs, loc=-1)),
    Family("NegativeBinomial", dict(total_count=2.5, probs=0.4), COUNTS, lambda total_count, probs: stats.nbinom(total_count, 1 - probs)),
    Family("Poisson", dict(rate=3.3), COUNTS, lambda rate: stats.poisson(rate)),
    Family("Categorical", dict(probs=[1.0, 2.0, 5.0]), [0.0, 1.0, 2.0]),
    Family("Categorical", dict(logits=[1.0, -2.0, 0.5]), [0.0, 1.0, 2.0]),
    Family("OneHotCategorical", dict(probs=[1.0, 2.0, 5.0]), [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    Family("OneHotCategoricalStraightThrough", dict(logits=[1.0, 2.0, 0.5]), [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    Family("Multinomial", dict(total_count=6, probs=[0.2, 0.3, 0.5]), [[1.0, 2.0, 3.0], [0.0, 0.0, 6.0]], lambda total_count, probs: stats.multinomial(total_count, probs)),
    Family("Dirichlet", dict(concentration=[0.5, 2.0, 4.0]), SIMPLEX, lambda concentration: stats.dirichlet(concentration)),
    Family("LogisticNormal", dict(loc=[0.3, -0.4], scale=[0.8, 1.5]), SIMPLEX),
    Family("RelaxedOneHotCategorical", dict(temperature=0.7, probs=[0.2, 0.3, 0.5]), SIMPLEX),
    Family("MultivariateNormal", dict(loc=[0.1, 0.2, -0.3], covariance_matrix=COV), VECTORS, lambda loc, covariance_matrix: stats.multivariate_normal(loc, covariance_matrix)),
    Family("MultivariateNormal", dict(loc=[0.1, 0.2, -0.3], precision_matrix=COV), VECTORS, lambda loc, precision_matrix: stats.multivariate_normal(loc, np.linalg.inv(precision_matrix))),
    Family("MultivariateNormal", dict(loc=[0.1, 0.2, -0.3], scale_tril=TRIL), VECTORS, lambda loc, scale_tril: stats.multivariate_normal(loc, COV)),
    Family("LowRankMultivariateNormal", dict(loc=[0.1, 0.2, -0.3], cov_factor=FACTOR, cov_diag=DIAG), VECTORS, lambda loc, cov_factor, cov_diag: stats.multivariate_normal(loc, LOW_COV)),
    Family("Wishart", dict(df=4.5, covariance_matrix=COV), [COV, LOW_COV], lambda df, covariance_matrix: stats.wishart(df, covariance_matrix)),
    Family("LKJCholesky", dict(dim=3, concentration=1.7), [CORR]),
]  # fmt: skip


def _turned(probs: Any) -> tuple[float, float, float]:
    """A continuous Bernoulli distribution as an exponential one that was cut off: bound, loc, scale."""
    logit = float(np.log(probs) - np.log1p(-probs))
    return -logit, 0.0, -1 / logit


IDS = [f"{i}-{family.name}" for i, family in enumerate(FAMILIES)]
