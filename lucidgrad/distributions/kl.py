"""Kullback's and Leibler's divergence, by pairs of families.

Pairs of one family have formulas of their own. Those of different families are ``-entropy(p) - mean of log q under p``,
and for the families of q here that needs a few means under p only: of x, its square, its logarithm and so on.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any

import lucidgrad as lg
from lucidgrad import special

from .combinators import Independent, TransformedDistribution
from .constraints import boolean, unit_interval
from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from .distribution import EULER, HALF_LOG_2PI, Distribution, ExponentialFamily, summed, unavailable
from .line import Cauchy, Gumbel, Laplace, Normal, Uniform
from .multivariate import LowRankMultivariateNormal, MultivariateNormal, Wishart, length2, log_diagonal, solved
from .positive import Exponential, Gamma, HalfNormal, Pareto
from .simplex import Dirichlet
from .unit import Beta, ContinuousBernoulli

__all__ = ["kl_divergence", "register_kl"]

Pair = tuple[type, type]
Formula = Callable[[Any, Any], Any]

_REGISTRY: dict[Pair, Formula] = {}
_FOUND: dict[Pair, Formula | None] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Formula], Formula]:
    """A decorator: this function computes the divergence between distributions of two classes, or derived ones.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> D = lg.distributions
    >>> class Mine(D.Normal):
    ...     pass
    >>> @D.register_kl(Mine, Mine)
    ... def _(p, q):
    ...     return lg.zeros(())
    >>> D.kl_divergence(Mine(0.0, 1.0), Mine(1.0, 1.0)).item()
    0.0
    """
    for kind in (type_p, type_q):
        if not isinstance(kind, type) or not issubclass(kind, Distribution):
            raise TypeError(f"register_kl: given {kind!r}, expected a class derived from Distribution")

    def keep(formula: Formula) -> Formula:
        _REGISTRY[type_p, type_q] = formula
        _FOUND.clear()
        return formula

    return keep


def kl_divergence(p: Any, q: Any) -> Any:
    """The divergence of ``p`` from ``q``: the mean under ``p`` of ``p.log_prob(x) - q.log_prob(x)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> D = lg.distributions
    >>> loc = lg.tensor(1.0, requires_grad=True)
    >>> D.kl_divergence(D.Normal(loc, 1.0), D.Normal(0.0, 1.0)).backward()
    >>> loc.grad.item()
    1.0
    """
    kinds = type(p), type(q)
    if kinds not in _FOUND:
        _FOUND[kinds] = _closest(*kinds)
    formula = _FOUND[kinds]
    if formula is None:
        unavailable(f"the divergence of {kinds[0].__name__} from {kinds[1].__name__}")
    return formula(p, q)


def _closest(kind_p: type, kind_q: type) -> Formula | None:
    """The formula of the closest classes: of p before q, and of q before p, which should be the same."""
    found = [pair for pair in _REGISTRY if issubclass(kind_p, pair[0]) and issubclass(kind_q, pair[1])]
    if not found:
        return None

    def far(kind: type, base: type) -> int:
        return kind.__mro__.index(base)

    first = min(found, key=lambda pair: (far(kind_p, pair[0]), far(kind_q, pair[1])))
    other = min(found, key=lambda pair: (far(kind_q, pair[1]), far(kind_p, pair[0])))
    if _REGISTRY[first] is not _REGISTRY[other]:
        warnings.warn(
            f"kl_divergence({kind_p.__name__}, {kind_q.__name__}) is ambiguous; "
            f"register_kl({first[0].__name__}, {other[1].__name__}) decides",
            RuntimeWarning,
            stacklevel=3,
        )
    return _REGISTRY[first]


def _apart(ratio: Any) -> Any:
    """``ratio - 1 - log(ratio)``."""
    return ratio - 1 - lg.log(ratio)


# -- one family --------------------------------------------------------------------------------------
def _normal(p: Any, q: Any) -> Any:
    z = (p.loc - q.loc) / q.scale
    return 0.5 * (_apart((p.scale / q.scale) ** 2) + z * z)


def _laplace(p: Any, q: Any) -> Any:
    apart, ratio = (p.loc - q.loc).abs(), p.scale / q.scale
    return apart / q.scale + ratio * lg.exp(-apart / p.scale) - 1 - lg.log(ratio)


def _cauchy(p: Any, q: Any) -> Any:
    return lg.log1p(((p.scale - q.scale) ** 2 + (p.loc - q.loc) ** 2) / (4 * p.scale * q.scale))


def _gumbel(p: Any, q: Any) -> Any:
    ratio, z = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return z - lg.log(ratio) + EULER * (ratio - 1) + lg.exp(lg.lgamma(1 + ratio) - z) - 1


def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    shapes = lg.lgamma(b) - lg.lgamma(a) + (a - b) * lg.digamma(a)
    return shapes + b * lg.log(p.rate / q.rate) + a * (q.rate / p.rate - 1)


def _beta(p: Any, q: Any) -> Any:
    a, b, total = p.concentration1, p.concentration0, p.concentration1 + p.concentration0
    c, d = q.concentration1, q.concentration0
    slopes = (a - c) * lg.digamma(a) + (b - d) * lg.digamma(b) + (c + d - total) * lg.digamma(total)
    return special.betaln(c, d) - special.betaln(a, b) + slopes


def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    slopes = (a - b) * (lg.digamma(a) - lg.digamma(a.sum(-1)).unsqueeze(-1))
    return q._log_beta() - p._log_beta() + slopes.sum(-1)


def _pareto(p: Any, q: Any) -> Any:
    found = q.alpha * lg.log(p.scale / q.scale) + _apart(q.alpha / p.alpha)
    return lg.where(p.scale < q.scale, math.inf, found)


def _continuous_bernoulli(p: Any, q: Any) -> Any:
    return p.mean * (p.logits - q.logits) - p._log_sum(p.logits) + q._log_sum(q.logits)


def _relative(p: Any, q: Any) -> Any:
    """``p * log(p / q)``; nothing where p is zero, infinite where only q is."""
    return special.rel_entr(p, q)


def _bernoulli(p: Any, q: Any) -> Any:
    if "logits" in vars(p) and "logits" in vars(q):
        a, b = p.logits, q.logits
        return p.probs * (a - b) + special.softplus(b) - special.softplus(a)
    return _relative(p.probs, q.probs) + _relative(1 - p.probs, 1 - q.probs)


def _binomial(p: Any, q: Any) -> Any:
    if bool((p.total_count < q.total_count).any()):
        unavailable("the divergence of a binomial distribution from one of a larger total_count")
    return lg.where(p.total_count > q.total_count, math.inf, p.total_count * _bernoulli(p, q))


def _categorical(p: Any, q: Any) -> Any:
    if "logits" in vars(p) and "logits" in vars(q):
        none = p.logits == -math.inf
        return lg.where(none, 0.0, p.probs * (lg.where(none, 0.0, p.logits) - q.logits)).sum(-1)
    return _relative(p.probs, q.probs).sum(-1)


def _poisson(p: Any, q: Any) -> Any:
    return _relative(p.rate, q.rate) - p.rate + q.rate


def _uniform(p: Any, q: Any) -> Any:
    return _cross(p, q, lg.log(q.high - q.low))


def _multivariate(p: Any, q: Any) -> Any:
    """Of normal vectors, with a full or a low rank on either side."""
    if p.event_shape != q.event_shape:
        raise ValueError(f"kl_divergence: given events of shape {p.event_shape} and {q.event_shape}, expected one")
    size, apart = p.event_shape[0], q.loc - p.loc
    if isinstance(p, MultivariateNormal):
        columns, log_p = [p._factor], 2 * log_diagonal(p._factor)
    else:
        columns, log_p = [p.cov_factor, lg.diag_embed(p.cov_diag.sqrt())], p._log_determinant()
    if isinstance(q, MultivariateNormal):
        log_q, far = 2 * log_diagonal(q._factor), length2(q._factor, apart)
        trace = sum(_squares(solved(q._factor, c)) for c in columns)
    else:
        log_q, far, weight = q._log_determinant(), q._length2(apart), q.cov_diag.sqrt().unsqueeze(-1)
        part = solved(q._core, q._weighed())
        trace = sum(_squares(c / weight) - _squares(part @ c) for c in columns)
    return 0.5 * (log_q - log_p + trace + far - size)


def _squares(x: Any) -> Any:
    return (x * x).sum(-1).sum(-1)


def _wishart(p: Any, q: Any) -> Any:
    size = p.event_shape[-1]
    logs = log_diagonal(q._factor) - log_diagonal(p._factor)
    shapes = special.multigammaln(0.5 * q.df, size) - special.multigammaln(0.5 * p.df, size)
    slopes = 0.5 * (p.df - q.df) * p._mean_log()
    return q.df * logs + shapes + slopes + 0.5 * p.df * (_squares(solved(q._factor, p._factor)) - size)


def _exponential_family(p: Any, q: Any) -> Any:
    """Of a user's families: the divergence of L. M. Bregman of the normaliser."""
    if type(p) is not type(q):
        unavailable(f"the divergence of {type(p).__name__} from {type(q).__name__}")
    own, value, means = p._normalised()
    found = q._log_normalizer(*q._natural_params) - value
    for a, b, mean in zip(own, q._natural_params, means, strict=True):
        found = found - summed((b - a) * mean, len(q.event_shape))
    return found


def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        unavailable("the divergence of events of different numbers of axes")
    return summed(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        unavailable("the divergence of values that were transformed in different ways")
    return kl_divergence(p.base_dist, q.base_dist)


def _base(p: Any, q: Any) -> Any:
    return kl_divergence(p.base_dist, q.base_dist)


_ONE_FAMILY: dict[type, Formula] = {
    Bernoulli: _bernoulli,
    Beta: _beta,
    Binomial: _binomial,
    Categorical: _categorical,
    Cauchy: _cauchy,
    ContinuousBernoulli: _continuous_bernoulli,
    Dirichlet: _dirichlet,
    Exponential: lambda p, q: _apart(q.rate / p.rate),
    ExponentialFamily: _exponential_family,
    Gamma: _gamma,
    Geometric: lambda p, q: _bernoulli(p, q) / p.probs,
    Gumbel: _gumbel,
    HalfNormal: _base,
    Independent: _independent,
    Laplace: _laplace,
    LowRankMultivariateNormal: _multivariate,
    MultivariateNormal: _multivariate,
    Normal: _normal,
    OneHotCategorical: _categorical,
    Pareto: _pareto,
    Poisson: _poisson,
    TransformedDistribution: _transformed,
    Uniform: _uniform,
    Wishart: _wishart,
}


# -- different families ------------------------------------------------------------------------------
def _over(p: Any, x: Any, y: Any) -> Any:
    return (x - y) / (p.high - p.low)


def _x_log(x: Any) -> Any:
    return lg.xlogy(x, x)


#: The mean of ``log(x)``.
_LOG: dict[type, Callable[[Any], Any]] = {
    Beta: lambda p: lg.digamma(p.concentration1) - lg.digamma(p.concentration1 + p.concentration0),
    Exponential: lambda p: -EULER - lg.log(p.rate),
    Gamma: lambda p: lg.digamma(p.concentration) - lg.log(p.rate),
    Pareto: lambda p: lg.log(p.scale) + 1 / p.alpha,
    Uniform: lambda p: _over(p, _x_log(p.high), _x_log(p.low)) - 1,
}
#: The mean of ``log(1 - x)``.
_LOG_REST: dict[type, Callable[[Any], Any]] = {
    Uniform: lambda p: _over(p, _x_log(1 - p.low), _x_log(1 - p.high)) - 1,
}
#: The mean of ``exp(-x / s)``.
_DECAY: dict[type, Callable[[Any, Any], Any]] = {
    Exponential: lambda p, s: p.rate * s / (p.rate * s + 1),
    Gamma: lambda p, s: lg.exp(-p.concentration * lg.log1p(1 / (p.rate * s))),
    Normal: lambda p, s: lg.exp(0.5 * (p.scale / s) ** 2 - p.loc / s),
    Uniform: lambda p, s: s * _over(p, lg.exp(-p.low / s), lg.exp(-p.high / s)),
}


def _of(table: dict[type, Any], p: Any) -> Any:
    return next(table[kind] for kind in type(p).__mro__ if kind in table)


def _bounds(p: Any) -> tuple[Any, Any]:
    """The ends of the support."""
    support = unit_interval if p.support is boolean else p.support
    return getattr(support, "lower_bound", -math.inf), getattr(support, "upper_bound", math.inf)


def _cross(p: Any, q: Any, cross_entropy: Any) -> Any:
    """From minus the mean of the density's logarithm; infinite where q does not have all values of p."""
    found = cross_entropy - p.entropy()
    (low, high), (least, most), zero = _bounds(p), _bounds(q), lg.zeros_like(found)
    return lg.where((zero + low < least) | (zero + high > most), math.inf, found)


#: Minus the mean under p of the logarithm of q's density.
_CROSS: dict[type, Formula] = {
    Beta: lambda p, q: (
        special.betaln(q.concentration1, q.concentration0)
        - (q.concentration1 - 1) * _of(_LOG, p)(p)
        - (q.concentration0 - 1) * _of(_LOG_REST, p)(p)
    ),
    ContinuousBernoulli: lambda p, q: q._log_sum(q.logits) - q.logits * p.mean,
    Exponential: lambda p, q: q.rate * p.mean - lg.log(q.rate),
    Gamma: lambda p, q: (
        lg.lgamma(q.concentration)
        - q.concentration * lg.log(q.rate)
        - (q.concentration - 1) * _of(_LOG, p)(p)
        + q.rate * p.mean
    ),
    Gumbel: lambda p, q: (
        lg.log(q.scale) + (p.mean - q.loc) / q.scale + lg.exp(q.loc / q.scale) * _of(_DECAY, p)(p, q.scale)
    ),
    Laplace: lambda p, q: lg.log(2 * q.scale) + _mean_distance(p, q.loc) / q.scale,
    Normal: lambda p, q: (
        lg.log(q.scale) + HALF_LOG_2PI + 0.5 * (p.variance + (p.mean - q.loc) ** 2) / (q.scale * q.scale)
    ),
    Pareto: lambda p, q: (q.alpha + 1) * _of(_LOG, p)(p) - lg.log(q.alpha) - q.alpha * lg.log(q.scale),
    Poisson: lambda p, q: q.rate - p.mean * lg.log(q.rate),
    Uniform: lambda p, q: lg.log(q.high - q.low),
}


def _mean_distance(p: Any, loc: Any) -> Any:
    """Of normal values from a number."""
    z = (p.loc - loc) / p.scale
    return p.scale * (math.sqrt(2 / math.pi) * lg.exp(-0.5 * z * z) + z * lg.erf(z * math.sqrt(0.5)))


#: For each family of p those of q with a formula, and those that never have all of its values.
_PAIRS: dict[type, tuple[str, str]] = {
    Bernoulli: ("Poisson", ""),
    Beta: ("ContinuousBernoulli Exponential Gamma Normal Uniform", "Pareto"),
    ContinuousBernoulli: ("Exponential Normal Uniform", "Pareto"),
    Exponential: ("Gamma Gumbel Normal", "Beta ContinuousBernoulli Pareto Uniform"),
    Gamma: ("Exponential Gumbel Normal", "Beta ContinuousBernoulli Pareto Uniform"),
    Gumbel: ("Normal", "Beta ContinuousBernoulli Exponential Gamma Pareto Uniform"),
    Laplace: ("Normal", "Beta ContinuousBernoulli Exponential Gamma Pareto Uniform"),
    Normal: ("Gumbel Laplace", "Beta ContinuousBernoulli Exponential Gamma Pareto Uniform"),
    Pareto: ("Exponential Gamma Normal", "Beta ContinuousBernoulli Uniform"),
    Poisson: ("", "Bernoulli Binomial"),
    Uniform: ("Beta ContinuousBernoulli Exponential Gamma Gumbel Normal Pareto", ""),
}
_KINDS: dict[str, type] = {kind.__name__: kind for kind in (*_ONE_FAMILY, *_CROSS)}


def _never(p: Any, q: Any) -> Any:
    return lg.full_like(p.mean + q.mean, math.inf)


def _by_cross(kind: type) -> Formula:
    return lambda p, q: _cross(p, q, _CROSS[kind](p, q))


for _kind, _formula in _ONE_FAMILY.items():
    register_kl(_kind, _kind)(_formula)
for _kind, (_some, _none) in _PAIRS.items():
    for _name in _some.split():
        register_kl(_kind, _KINDS[_name])(_by_cross(_KINDS[_name]))
    for _name in _none.split():
        register_kl(_kind, _KINDS[_name])(_never)
register_kl(LowRankMultivariateNormal, MultivariateNormal)(_multivariate)
register_kl(MultivariateNormal, LowRankMultivariateNormal)(_multivariate)
