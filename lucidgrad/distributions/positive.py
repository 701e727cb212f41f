"""Distributions of positive numbers."""

import math
from typing import Any

import lucidgrad as lg
from lucidgrad import special
from lucidgrad.ops.special.polynomials import polynomial

from . import draws
from .combinators import TransformedDistribution
from .constraints import dependent_property, greater_than_eq, interval, nonnegative, positive, real
from .distribution import EULER, HALF_LOG_2PI, Distribution, ExponentialFamily, derived, tiny
from .line import Cauchy, Normal
from .transforms import AbsTransform, AffineTransform, ExpTransform, PowerTransform

__all__ = [
    "Chi2", "Exponential", "FisherSnedecor", "Gamma", "GeneralizedPareto", "HalfCauchy", "HalfNormal", "InverseGamma",
    "LogNormal", "Pareto", "Weibull",
]  # fmt: skip


class Direct(TransformedDistribution):
    """A family whose formulas are written out; what it is a transform of, it can tell."""

    has_rsample = True
    sample, rsample, cdf = Distribution.sample, Distribution.rsample, Distribution.cdf

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self._icdf(draws.uniform(shape, next(vars(self)[name] for name in self.arg_constraints)))


# -- gamma and its kin -----------------------------------------------------------------------------
class Exponential(ExponentialFamily):
    """The exponential distribution of waiting times.

    Parameters
    ----------
    rate
        One over the mean.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> rate = lg.tensor(2.0, requires_grad=True)
    >>> lg.distributions.Exponential(rate).log_prob(lg.tensor(1.0)).backward()
    >>> rate.grad
    tensor(-0.5)
    """

    arg_constraints = {"rate": positive}  # noqa: RUF012
    support = nonnegative
    has_rsample = True
    rate: Any

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, rate=rate)

    def _mean(self) -> Any:
        return 1 / self.rate

    _stddev = _mean

    def _mode(self) -> Any:
        return lg.zeros_like(self.rate)

    def _variance(self) -> Any:
        return 1 / (self.rate * self.rate)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return draws.exponential(shape, self.rate) / self.rate

    def _log_prob(self, value: Any) -> Any:
        return lg.log(self.rate) - self.rate * value

    def _cdf(self, value: Any) -> Any:
        return -lg.expm1(-self.rate * value)

    def _icdf(self, value: Any) -> Any:
        return -lg.log1p(-value) / self.rate

    def _entropy(self) -> Any:
        return 1 - lg.log(self.rate)


class Gamma(ExponentialFamily):
    """The gamma distribution; derivatives of its samples are exact.

    Parameters
    ----------
    concentration, rate
        Its shape, and one over its scale.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> a = lg.tensor([0.5, 20.0], requires_grad=True)
    >>> lg.distributions.Gamma(a, 1.0).rsample().sum().backward()
    >>> a.grad.shape
    (2,)
    """

    arg_constraints = {"concentration": positive, "rate": positive}  # noqa: RUF012
    support = nonnegative
    has_rsample = True
    concentration: Any
    rate: Any

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, concentration=concentration, rate=rate)

    def _mean(self) -> Any:
        return self.concentration / self.rate

    def _mode(self) -> Any:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    def _variance(self) -> Any:
        return self.concentration / (self.rate * self.rate)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        made = draws.standard_gamma(self.concentration.expand(shape)) / self.rate
        return lg.where(made.detach() < tiny(made), tiny(made), made)

    def _log_prob(self, value: Any) -> Any:
        a, b = self.concentration, self.rate
        return lg.xlogy(a, b) + lg.xlogy(a - 1, value) - b * value - lg.lgamma(a)

    def _cdf(self, value: Any) -> Any:
        return special.gammainc(self.concentration, self.rate * value)

    def _entropy(self) -> Any:
        a = self.concentration
        return a - lg.log(self.rate) + lg.lgamma(a) + (1 - a) * lg.digamma(a)


class Chi2(Gamma):
    """The sum of squares of normal values.

    Parameters
    ----------
    df
        How many: the degrees of freedom.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> d = lg.distributions.Chi2(lg.tensor(3.0))
    >>> d.mean, d.variance
    (tensor(3.), tensor(6.))
    """

    arg_constraints = {"df": positive}  # noqa: RUF012
    df: Any
    concentration = derived(lambda self: self.df * 0.5)
    rate = derived(lambda self: lg.full_like(self.df, 0.5))

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, df=df)


class InverseGamma(Direct):
    """One over values of the gamma distribution.

    Parameters
    ----------
    concentration, rate
        Those of the gamma distribution.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.InverseGamma(lg.tensor(3.0), lg.tensor(4.0)).mean
    tensor(2.)
    """

    arg_constraints = {"concentration": positive, "rate": positive}  # noqa: RUF012
    support = positive
    concentration: Any
    rate: Any

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, concentration=concentration, rate=rate)

    @property
    def base_dist(self) -> Any:
        """The gamma distribution."""
        return Gamma(self.concentration, self.rate, False)

    @property
    def transforms(self) -> list[Any]:
        """``1 / x``."""
        return [PowerTransform(-lg.ones_like(self.rate))]

    def _mean(self) -> Any:
        a = self.concentration
        return lg.where(a > 1, self.rate / lg.where(a > 1, a - 1, 1.0), math.inf)

    def _mode(self) -> Any:
        return self.rate / (self.concentration + 1)

    def _variance(self) -> Any:
        a = lg.where(self.concentration > 2, self.concentration, 3.0)
        return lg.where(self.concentration > 2, (self.rate / (a - 1)) ** 2 / (a - 2), math.inf)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return 1 / self.base_dist._drawn(shape)

    def _log_prob(self, value: Any) -> Any:
        a, b = self.concentration, self.rate
        return a * lg.log(b) - (a + 1) * lg.log(value) - b / value - lg.lgamma(a)

    def _cdf(self, value: Any) -> Any:
        return special.gammaincc(self.concentration, self.rate / value)

    def _entropy(self) -> Any:
        a = self.concentration
        return a + lg.log(self.rate) + lg.lgamma(a) - (1 + a) * lg.digamma(a)


class FisherSnedecor(Distribution):
    """The F distribution: the quotient of two mean squares.

    Parameters
    ----------
    df1, df2
        Degrees of freedom above and below.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.FisherSnedecor(lg.tensor(3.0), lg.tensor(6.0)).mean
    tensor(1.5)
    """

    arg_constraints = {"df1": positive, "df2": positive}  # noqa: RUF012
    support = positive
    has_rsample = True
    df1: Any
    df2: Any

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, df1=df1, df2=df2)

    def _mean(self) -> Any:
        d = lg.where(self.df2 > 2, self.df2, math.nan)
        return d / (d - 2)

    def _mode(self) -> Any:
        d = lg.where(self.df1 > 2, self.df1, math.nan)
        return (d - 2) / d * self.df2 / (self.df2 + 2)

    def _variance(self) -> Any:
        a, b = self.df1, lg.where(self.df2 > 4, self.df2, math.nan)
        return 2 * (b / (b - 2)) ** 2 * (a + b - 2) / (a * (b - 4))

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        above, below = ((d * 0.5).expand(shape) for d in (self.df1, self.df2))
        made = draws.standard_gamma(above) / above / (draws.standard_gamma(below) / below)
        return lg.where(made.detach() < tiny(made), tiny(made), made)

    def _log_prob(self, value: Any) -> Any:
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        bulk = a * lg.log(ratio) + (a - 1) * lg.log(value) - (a + b) * lg.log1p(ratio * value)
        return bulk - special.betaln(a, b)

    def _cdf(self, value: Any) -> Any:
        return special.fdtr(self.df1, self.df2, value)


# -- half of others, and exponentials ------------------------------------------------------------
class _Half(Direct):
    """The absolute value of a symmetric distribution about zero."""

    arg_constraints = {"scale": positive}  # noqa: RUF012
    support = nonnegative
    _whole: Any
    scale: Any

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, scale=scale)

    @property
    def base_dist(self) -> Any:
        """The whole distribution."""
        return self._whole(lg.zeros_like(self.scale), self.scale, False)

    @property
    def transforms(self) -> list[Any]:
        """``|x|``."""
        return [AbsTransform()]

    def _mode(self) -> Any:
        return lg.zeros_like(self.scale)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self.base_dist._drawn(shape).abs()

    def _log_prob(self, value: Any) -> Any:
        return lg.where(value >= 0, self.base_dist._log_prob(value) + math.log(2), -math.inf)

    def _entropy(self) -> Any:
        return self.base_dist._entropy() - math.log(2)


class HalfNormal(_Half):
    """The absolute value of normal values about zero.

    Parameters
    ----------
    scale
        The standard deviation of the whole distribution.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.HalfNormal(lg.tensor(1.0)).mean
    tensor(0.7979)
    """

    _whole = Normal

    def _mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    def _variance(self) -> Any:
        return self.scale * self.scale * (1 - 2 / math.pi)

    def _cdf(self, value: Any) -> Any:
        return lg.erf(value / (self.scale * math.sqrt(2)))

    def _icdf(self, value: Any) -> Any:
        return self.scale * (math.sqrt(2) * lg.erfinv(value))


class HalfCauchy(_Half):
    """The absolute value of Cauchy's distribution about zero.

    Parameters
    ----------
    scale
        That of the whole distribution: the median.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.HalfCauchy(lg.tensor(1.0)).cdf(lg.tensor(1.0))
    tensor(0.5)
    """

    _whole = Cauchy

    def _mean(self) -> Any:
        return lg.full_like(self.scale, math.inf)

    _variance = _mean

    def _cdf(self, value: Any) -> Any:
        return lg.atan(value / self.scale) * (2 / math.pi)

    def _icdf(self, value: Any) -> Any:
        low = value <= 0.5
        turn = lg.tan(math.pi / 2 * lg.where(low, value, 1 - value))
        return self.scale * lg.where(low, turn, 1 / lg.where(low, 1.0, turn))


class LogNormal(TransformedDistribution):
    """Values whose logarithm is normal.

    Parameters
    ----------
    loc, scale
        Mean and standard deviation of the logarithm.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> d = lg.distributions.LogNormal(0.0, 1.0)
    >>> d.mode, d.mean
    (tensor(0.3679), tensor(1.6487))
    """

    arg_constraints = {"loc": real, "scale": positive}  # noqa: RUF012
    support = positive
    has_rsample = True
    loc: Any
    scale: Any

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale)

    @property
    def base_dist(self) -> Any:
        """The logarithm's distribution."""
        return Normal(self.loc, self.scale, False)

    @property
    def transforms(self) -> list[Any]:
        """``exp(x)``."""
        return [ExpTransform()]

    def _mean(self) -> Any:
        return lg.exp(self.loc + 0.5 * self.scale * self.scale)

    def _mode(self) -> Any:
        return lg.exp(self.loc - self.scale * self.scale)

    def _variance(self) -> Any:
        wide = self.scale * self.scale
        return lg.expm1(wide) * lg.exp(2 * self.loc + wide)

    def _entropy(self) -> Any:
        return lg.log(self.scale) + self.loc + (HALF_LOG_2PI + 0.5)


# -- powers ------------------------------------------------------------------------------------------
class Weibull(Direct):
    """Weibull's distribution: a power of waiting times.

    Parameters
    ----------
    scale, concentration
        Scale, and one over the power.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.Weibull(lg.tensor(2.0), lg.tensor(1.0)).mean
    tensor(2.)
    """

    arg_constraints = {"scale": positive, "concentration": positive}  # noqa: RUF012
    support = positive
    scale: Any
    concentration: Any

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, scale=scale, concentration=concentration)

    @property
    def base_dist(self) -> Any:
        """Waiting times."""
        return Exponential(lg.ones_like(self.scale), False)

    @property
    def transforms(self) -> list[Any]:
        """``scale * x**(1 / concentration)``."""
        return [PowerTransform(1 / self.concentration), AffineTransform(0, self.scale)]

    def _moment(self, n: int) -> Any:
        return lg.exp(lg.lgamma(1 + n / self.concentration))

    def _mean(self) -> Any:
        return self.scale * self._moment(1)

    def _mode(self) -> Any:
        k = lg.where(self.concentration > 1, self.concentration, 2.0)
        return lg.where(self.concentration > 1, self.scale * ((k - 1) / k) ** (1 / k), 0.0)

    def _variance(self) -> Any:
        return self.scale**2 * (self._moment(2) - self._moment(1) ** 2)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self.scale * draws.exponential(shape, self.scale) ** (1 / self.concentration)

    def _log_prob(self, value: Any) -> Any:
        k, log_x = self.concentration, lg.log(value / self.scale)
        return lg.log(k / self.scale) + (k - 1) * log_x - lg.exp(k * log_x)

    def _cdf(self, value: Any) -> Any:
        return -lg.expm1(-((value / self.scale) ** self.concentration))

    def _icdf(self, value: Any) -> Any:
        return self.scale * (-lg.log1p(-value)) ** (1 / self.concentration)

    def _entropy(self) -> Any:
        k = self.concentration
        return EULER * (1 - 1 / k) + lg.log(self.scale / k) + 1


class Pareto(Direct):
    """Pareto's distribution: a power that falls from ``scale`` on.

    Parameters
    ----------
    scale, alpha
        The least value, and the power of the tail.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.Pareto(lg.tensor(1.0), lg.tensor(3.0)).mean
    tensor(1.5)
    """

    arg_constraints = {"alpha": positive, "scale": positive}  # noqa: RUF012
    scale: Any
    alpha: Any

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, scale=scale, alpha=alpha)

    @dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From the scale on."""
        return greater_than_eq(self.scale)

    @property
    def base_dist(self) -> Any:
        """Waiting times."""
        return Exponential(self.alpha, False)

    @property
    def transforms(self) -> list[Any]:
        """``scale * exp(x)``."""
        return [ExpTransform(), AffineTransform(0, self.scale)]

    def _mean(self) -> Any:
        a = lg.where(self.alpha > 1, self.alpha, 2.0)
        return lg.where(self.alpha > 1, a * self.scale / (a - 1), math.inf)

    def _mode(self) -> Any:
        return self.scale

    def _variance(self) -> Any:
        a = lg.where(self.alpha > 2, self.alpha, 3.0)
        return lg.where(self.alpha > 2, (self.scale / (a - 1)) ** 2 * a / (a - 2), math.inf)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self.scale * lg.exp(draws.exponential(shape, self.scale) / self.alpha)

    def _log_prob(self, value: Any) -> Any:
        return lg.log(self.alpha / value) + self.alpha * lg.log(self.scale / value)

    def _cdf(self, value: Any) -> Any:
        return -lg.expm1(self.alpha * lg.log(self.scale / value))

    def _icdf(self, value: Any) -> Any:
        return self.scale * lg.exp(-lg.log1p(-value) / self.alpha)

    def _entropy(self) -> Any:
        return lg.log(self.scale / self.alpha) + (1 + 1 / self.alpha)


def log1p_over(x: Any) -> Any:
    """``log1p(x) / x``, and one at zero, with all its derivatives."""
    near = x.abs() < 0.1
    far = lg.where(near, 1.0, x)
    series = polynomial(lg.where(near, x, 0.0), [(-1) ** k / (k + 1) for k in range(17, -1, -1)])
    return lg.where(near, series, lg.log1p(far) / far)


class GeneralizedPareto(Distribution):
    """The generalised Pareto distribution of what exceeds a threshold.

    Parameters
    ----------
    loc, scale
        The threshold, and the scale.
    concentration
        The power of the tail; zero: an exponential one; negative: it ends.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> d = lg.distributions.GeneralizedPareto(0.0, 1.0, 0.5)
    >>> d.log_prob(lg.tensor(2.0)).exp()
    tensor(0.125)
    """

    arg_constraints = {"loc": real, "scale": positive, "concentration": real}  # noqa: RUF012
    has_rsample = True
    loc: Any
    scale: Any
    concentration: Any

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale, concentration=concentration)

    @dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From the threshold to the end of the tail."""
        ends = self.concentration < 0
        end = self.loc - self.scale / lg.where(ends, self.concentration, -1.0)
        return interval(self.loc, lg.where(ends, end, math.inf))

    def _mean(self) -> Any:
        c = lg.where(self.concentration < 1, self.concentration, math.nan)
        return self.loc + self.scale / (1 - c)

    def _mode(self) -> Any:
        return self.loc

    def _variance(self) -> Any:
        c = lg.where(self.concentration < 0.5, self.concentration, math.nan)
        return (self.scale / (1 - c)) ** 2 / (1 - 2 * c)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self._icdf(draws.uniform(shape, self.loc))

    def _survival(self, value: Any) -> Any:
        z = (value - self.loc) / self.scale
        return -z * log1p_over(self.concentration * z)

    def _log_prob(self, value: Any) -> Any:
        c, least = self.concentration, self.concentration == -1  # there the density is constant
        return lg.where(least, 0.0, (c + 1) * self._survival(value)) - lg.log(self.scale)

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of values from ``value`` on."""
        return self._survival(self._checked(value))

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of the probability of values up to ``value``."""
        return lg.log(self.cdf(value))

    def _cdf(self, value: Any) -> Any:
        return -lg.expm1(self._survival(value))

    def _icdf(self, value: Any) -> Any:
        t = -lg.log1p(-value)
        return self.loc + self.scale * (t * special.exprel(self.concentration * t))

    def _entropy(self) -> Any:
        return lg.log(self.scale) + self.concentration + 1
