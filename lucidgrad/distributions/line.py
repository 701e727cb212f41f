"""Distributions on the line and on the circle."""

import math
from typing import Any

import lucidgrad as lg
from lucidgrad import special

from . import draws
from .combinators import TransformedDistribution
from .constraints import dependent_property, greater_than, interval, less_than, positive, real
from .distribution import EULER, HALF_LOG_2PI, Distribution, ExponentialFamily
from .transforms import AffineTransform, ExpTransform

__all__ = ["Cauchy", "Gumbel", "Laplace", "Normal", "StudentT", "Uniform", "VonMises"]


class _Located(Distribution):
    """A family of a location and a scale: what follows from its standard distribution."""

    arg_constraints = {"loc": real, "scale": positive}  # noqa: RUF012
    support = real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale)

    def _z(self, value: Any) -> Any:
        return (value - self.loc) / self.scale

    def _at(self, z: Any) -> Any:
        return self.loc + self.scale * z

    def _mode(self) -> Any:
        return self.loc

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self._at(self._noise(shape))

    def _noise(self, shape: tuple[int, ...]) -> Any:
        return self._standard_icdf(draws.uniform(shape, self.loc))

    def _log_prob(self, value: Any) -> Any:
        return self._standard_log_prob(self._z(value)) - lg.log(self.scale)

    def _cdf(self, value: Any) -> Any:
        return self._standard_cdf(self._z(value))

    def _icdf(self, value: Any) -> Any:
        return self._at(self._standard_icdf(value))

    loc: Any
    scale: Any
    _standard_log_prob: Any
    _standard_cdf: Any
    _standard_icdf: Any


class Normal(_Located, ExponentialFamily):
    """The normal distribution.

    Parameters
    ----------
    loc, scale
        Mean and standard deviation.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> loc = lg.tensor(1.0, requires_grad=True)
    >>> lg.distributions.Normal(loc, 2.0).log_prob(lg.tensor(3.0)).backward()
    >>> loc.grad.item()
    0.5
    """

    def _mean(self) -> Any:
        return self.loc

    def _stddev(self) -> Any:
        return self.scale

    def _variance(self) -> Any:
        return self.scale * self.scale

    def _noise(self, shape: tuple[int, ...]) -> Any:
        return draws.normal(shape, self.loc)

    def _standard_log_prob(self, z: Any) -> Any:
        return -0.5 * z * z - HALF_LOG_2PI

    def _standard_cdf(self, z: Any) -> Any:
        return special.ndtr(z)

    def _standard_icdf(self, p: Any) -> Any:
        return special.ndtri(p)

    def _entropy(self) -> Any:
        return lg.log(self.scale) + (HALF_LOG_2PI + 0.5)


class Laplace(_Located):
    """Laplace's distribution, exponential on both sides.

    Parameters
    ----------
    loc, scale
        Mean, and the mean distance from it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor(2.0, requires_grad=True)
    >>> lg.distributions.Laplace(0.0, 1.0).log_prob(x).backward()
    >>> x.grad
    tensor(-1.)
    """

    def _mean(self) -> Any:
        return self.loc

    def _stddev(self) -> Any:
        return math.sqrt(2) * self.scale

    def _variance(self) -> Any:
        return 2 * self.scale * self.scale

    def _standard_log_prob(self, z: Any) -> Any:
        return -z.abs() - math.log(2)

    def _standard_cdf(self, z: Any) -> Any:
        tail = 0.5 * lg.exp(lg.where(z <= 0, z, -z))
        return lg.where(z <= 0, tail, 1 - tail)

    def _standard_icdf(self, p: Any) -> Any:
        low = p <= 0.5
        tail = lg.log(2 * lg.where(low, p, 1 - p))
        return lg.where(low, tail, -tail)

    def _entropy(self) -> Any:
        return lg.log(self.scale) + (1 + math.log(2))


class Cauchy(_Located):
    """Cauchy's distribution, which has no mean.

    Parameters
    ----------
    loc, scale
        Median, and half of the width at half of the height.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor(1.0, requires_grad=True)
    >>> d = lg.distributions.Cauchy(0.0, 1.0)
    >>> d.log_prob(x).backward()
    >>> x.grad
    tensor(-1.)
    """

    def _mean(self) -> Any:
        return lg.full_like(self.loc, math.nan)

    def _variance(self) -> Any:
        return lg.full_like(self.loc, math.inf)

    def _standard_log_prob(self, z: Any) -> Any:
        return -math.log(math.pi) - lg.log1p(z * z)

    def _standard_cdf(self, z: Any) -> Any:
        return lg.atan2(lg.ones_like(z), -z) * (1 / math.pi)

    def _standard_icdf(self, p: Any) -> Any:
        low = p <= 0.5
        tail = 1 / lg.tan(math.pi * lg.where(low, p, 1 - p))
        return lg.where(low, -tail, tail)

    def _entropy(self) -> Any:
        return lg.log(self.scale) + math.log(4 * math.pi)


class Gumbel(_Located, TransformedDistribution):
    """Gumbel's distribution of the largest of many values.

    Parameters
    ----------
    loc, scale
        Mode and scale.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> loc = lg.tensor(0.0, requires_grad=True)
    >>> lg.distributions.Gumbel(loc, 1.0).rsample().backward()
    >>> loc.grad
    tensor(1.)
    """

    has_rsample = True

    @property
    def base_dist(self) -> Any:
        """Uniform values."""
        one = lg.ones_like(self.loc)
        return Uniform(0 * one, one, False)

    @property
    def transforms(self) -> list[Any]:
        """``loc - scale * log(-log(u))``."""
        log, turn = ExpTransform().inv, lg.ones_like(self.scale)
        return [log, AffineTransform(0, -turn), log, AffineTransform(self.loc, -self.scale)]

    def _mean(self) -> Any:
        return self._at(EULER)

    def _stddev(self) -> Any:
        return math.pi / math.sqrt(6) * self.scale

    def _variance(self) -> Any:
        return math.pi**2 / 6 * self.scale * self.scale

    def _standard_log_prob(self, z: Any) -> Any:
        return -z - lg.exp(-z)

    def _standard_cdf(self, z: Any) -> Any:
        return lg.exp(-lg.exp(-z))

    def _standard_icdf(self, p: Any) -> Any:
        return -lg.log(-lg.log(p))

    def _noise(self, shape: tuple[int, ...]) -> Any:
        return -lg.log(draws.exponential(shape, self.loc))

    def _entropy(self) -> Any:
        return lg.log(self.scale) + (1 + EULER)

    support = real
    sample, rsample, cdf = Distribution.sample, Distribution.rsample, Distribution.cdf


class StudentT(_Located):
    """Student's t distribution.

    Parameters
    ----------
    df
        Degrees of freedom.
    loc, scale
        Median and scale.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.StudentT(lg.tensor([1.0, 3.0])).variance.tolist()
    [nan, 3.0]
    """

    arg_constraints = {"df": positive, "loc": real, "scale": positive}  # noqa: RUF012
    df: Any

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self._take(validate_args, df=df, loc=loc, scale=scale)

    def _mean(self) -> Any:
        return lg.where(self.df > 1, self.loc, math.nan)

    def _variance(self) -> Any:
        wide = self.scale * self.scale * self.df / lg.where(self.df > 2, self.df - 2, 1.0)
        return lg.where(self.df > 2, wide, lg.where(self.df > 1, math.inf, math.nan))

    def _noise(self, shape: tuple[int, ...]) -> Any:
        half = (self.df * 0.5).expand(shape)
        return draws.normal(shape, self.loc) * (half / draws.standard_gamma(half)).sqrt()

    def _log_constant(self) -> Any:
        return 0.5 * lg.log(self.df) + special.betaln(self.df * 0.5, 0.5)

    def _standard_log_prob(self, z: Any) -> Any:
        return -0.5 * (self.df + 1) * lg.log1p(z * z / self.df) - self._log_constant()

    def _standard_cdf(self, z: Any) -> Any:
        half, middle = self.df * 0.5, z == 0
        square = lg.where(middle, 1.0, z * z)
        part, rest = self.df / (self.df + square), square / (self.df + square)
        tail = 0.5 * lg.where(part > 0.5, special.betaincc(0.5, half, rest), special.betainc(half, 0.5, part))
        line = 0.5 + z * lg.exp(-self._log_constant())  # the square has no slope there
        return lg.where(middle, line, lg.where(z < 0, tail, 1 - tail))

    def _standard_icdf(self, p: Any) -> Any:
        return Distribution._icdf(self, p)

    def _entropy(self) -> Any:
        half = self.df * 0.5
        rise = special.psi(half + 0.5) - special.psi(half)
        return lg.log(self.scale) + (half + 0.5) * rise + self._log_constant()


class Uniform(Distribution):
    """The uniform distribution.

    Parameters
    ----------
    low, high
        The ends of the interval; ``high`` itself has density zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> high = lg.tensor(4.0, requires_grad=True)
    >>> lg.distributions.Uniform(0.0, high).entropy().backward()
    >>> high.grad
    tensor(0.25)
    """

    has_rsample = True
    low: Any
    high: Any

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> Any:
        """Each bound constrains the other."""
        return {"low": less_than(self.high), "high": greater_than(self.low)}

    @dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The interval."""
        return interval(self.low, self.high)

    def _mean(self) -> Any:
        return 0.5 * (self.high + self.low)

    def _mode(self) -> Any:
        return lg.full_like(self.high, math.nan)

    def _stddev(self) -> Any:
        return (self.high - self.low) / math.sqrt(12)

    def _variance(self) -> Any:
        return (self.high - self.low) ** 2 / 12

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self._icdf(draws.uniform(shape, self.low))

    def _log_prob(self, value: Any) -> Any:
        inside = (value >= self.low) & (value < self.high)
        return lg.where(inside, -lg.log(self.high - self.low), -math.inf)

    def _cdf(self, value: Any) -> Any:
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def _icdf(self, value: Any) -> Any:
        return self.low + value * (self.high - self.low)

    def _entropy(self) -> Any:
        return lg.log(self.high - self.low)


class VonMises(Distribution):
    """Von Mises's distribution of angles between -π and π.

    Parameters
    ----------
    loc
        The angle about which they lie.
    concentration
        How closely.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor(0.5, requires_grad=True)
    >>> lg.distributions.VonMises(0.5, 2.0).log_prob(x).backward()
    >>> x.grad
    tensor(-0.)
    """

    arg_constraints = {"loc": real, "concentration": positive}  # noqa: RUF012
    support = real
    loc: Any
    concentration: Any

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, concentration=concentration)

    def _mean(self) -> Any:
        return self.loc

    _mode = _mean

    def _variance(self) -> Any:
        """Of directions: one less the length of their mean."""
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)

    def _log_prob(self, value: Any) -> Any:
        height = self.concentration * special.cosm1(value - self.loc)
        return height - lg.log(special.i0e(self.concentration)) - math.log(2 * math.pi)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        angle = draws.von_mises(self.concentration, shape) + self.loc
        return (angle + math.pi) % (2 * math.pi) - math.pi
