"""Distributions on the unit interval."""

import math
from typing import Any

import lucidgrad as lg
from lucidgrad import special
from lucidgrad.ops.special.gamma import BERNOULLI
from lucidgrad.ops.special.polynomials import polynomial

from . import draws
from .combinators import TransformedDistribution
from .constraints import positive, real, unit_interval
from .discrete import Chances
from .distribution import EULER, ExponentialFamily, exactly_one
from .line import Uniform
from .positive import Direct, log1p_over
from .transforms import AffineTransform, PowerTransform, SigmoidTransform

__all__ = ["Beta", "ContinuousBernoulli", "Kumaraswamy", "LogitRelaxedBernoulli", "RelaxedBernoulli"]


class Beta(ExponentialFamily):
    """The beta distribution; derivatives of its samples are exact.

    Parameters
    ----------
    concentration1, concentration0
        The powers at zero and at one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> a = lg.tensor([0.5, 2.0], requires_grad=True)
    >>> lg.distributions.Beta(a, 3.0).mean.sum().backward()
    >>> a.grad.tolist()
    [0.2449, 0.12]
    """

    arg_constraints = {"concentration1": positive, "concentration0": positive}  # noqa: RUF012
    support = unit_interval
    has_rsample = True
    concentration1: Any
    concentration0: Any

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, concentration1=concentration1, concentration0=concentration0)

    def _mean(self) -> Any:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    def _mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        inner, edge = (a > 1) | (b > 1), lg.where(a < b, 0.0, 1.0)
        above, below = ((c - 1).clamp(min=0) for c in (a, b))
        flat = lg.where((a == 1) & (b == 1), math.nan, edge)
        return lg.where(inner, above / lg.where(inner, above + below, 1.0), flat)

    def _variance(self) -> Any:
        total = self.concentration1 + self.concentration0
        return self.concentration1 / total * (self.concentration0 / total) / (total + 1)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return draws.beta(self.concentration1.expand(shape), self.concentration0.expand(shape))

    def _log_prob(self, value: Any) -> Any:
        a, b = self.concentration1, self.concentration0
        return lg.xlogy(a - 1, value) + special.xlog1py(b - 1, -value) - special.betaln(a, b)

    def _cdf(self, value: Any) -> Any:
        return special.betainc(self.concentration1, self.concentration0, value)

    def _entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        rest = (a - 1) * lg.digamma(a) + (b - 1) * lg.digamma(b)
        return special.betaln(a, b) - rest + (a + b - 2) * lg.digamma(a + b)


class Kumaraswamy(Direct):
    """Kumaraswamy's distribution on the unit interval, much like the beta distribution.

    Parameters
    ----------
    concentration1, concentration0
        The powers at zero and at one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> d = lg.distributions.Kumaraswamy(lg.tensor(1.0), lg.tensor(1.0))
    >>> d.mean
    tensor(0.5)
    """

    arg_constraints = {"concentration1": positive, "concentration0": positive}  # noqa: RUF012
    support = unit_interval
    concentration1: Any
    concentration0: Any

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, concentration1=concentration1, concentration0=concentration0)

    @property
    def base_dist(self) -> Any:
        """Uniform values."""
        one = lg.ones_like(self.concentration1)
        return Uniform(0 * one, one, False)

    @property
    def transforms(self) -> list[Any]:
        """``(1 - u**(1 / concentration0))**(1 / concentration1)``."""
        turn = AffineTransform(1.0, -lg.ones_like(self.concentration0))
        return [PowerTransform(1 / self.concentration0), turn, PowerTransform(1 / self.concentration1)]

    def _moment(self, n: int) -> Any:
        a, b = self.concentration1, self.concentration0
        return b * lg.exp(special.betaln(1 + n / a, b))

    def _mean(self) -> Any:
        return self._moment(1)

    def _mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        inside = (a >= 1) & (b >= 1) & (a * b > 1)
        part = (a - 1) / lg.where(inside, a * b - 1, 1.0)
        return lg.where(inside, lg.where(inside, part, 1.0) ** (1 / a), math.nan)

    def _variance(self) -> Any:
        return self._moment(2) - self._moment(1) ** 2

    def _log_prob(self, value: Any) -> Any:
        a, b = self.concentration1, self.concentration0
        return lg.log(a * b) + lg.xlogy(a - 1, value) + special.xlog1py(b - 1, -(value**a))

    def _cdf(self, value: Any) -> Any:
        return -lg.expm1(special.xlog1py(self.concentration0, -(value**self.concentration1)))

    def _icdf(self, value: Any) -> Any:
        return (-lg.expm1(lg.log1p(-value) / self.concentration0)) ** (1 / self.concentration1)

    def _entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        return (1 - 1 / b) + (1 - 1 / a) * (lg.digamma(b + 1) + EULER) - lg.log(a * b)


# -- relaxations of the Bernoulli distribution -----------------------------------------------------
#: Of the mean less one half, in powers of logits squared.
_LANGEVIN = [b / math.factorial(2 * k + 2) for k, b in enumerate(BERNOULLI)][::-1]


class ContinuousBernoulli(Chances, ExponentialFamily):
    """The continuous Bernoulli distribution: a density in proportion to ``exp(logits * x)``.

    Parameters
    ----------
    probs, logits
        One of both: what a Bernoulli distribution would have.
    lims
        Not used: no region of probabilities needs an approximation here.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.ContinuousBernoulli(lg.tensor([0.5, 0.9])).mean.tolist()
    [0.5, 0.6699]
    """

    arg_constraints = {"probs": unit_interval, "logits": real}  # noqa: RUF012
    support = unit_interval
    has_rsample = True

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._lims = lims
        self._take(validate_args, **exactly_one("ContinuousBernoulli", probs=probs, logits=logits))

    @staticmethod
    def _log_sum(t: Any) -> Any:
        """The logarithm of ``(exp(t) - 1) / t``, the integral of the density."""
        return lg.where(t > 0, t, 0.0) + lg.log(special.exprel(lg.where(t > 0, -t, t)))

    def _mean(self) -> Any:
        t = self.logits
        near = t.abs() < 1
        small, large = lg.where(near, t, 0.0), lg.where(near, 1.0, t)
        series = small * polynomial(small * small, _LANGEVIN)
        return 0.5 + lg.where(near, series, 0.5 / lg.tanh(0.5 * large) - 1 / large)

    def _variance(self) -> Any:
        t = self.logits
        near = t.abs() < 1
        small, large = lg.where(near, t, 0.0), lg.where(near, 1.0, t).abs()
        slopes = [c * (2 * k + 1) for k, c in zip(range(len(_LANGEVIN) - 1, -1, -1), _LANGEVIN, strict=True)]
        tail = lg.exp(-large) / lg.expm1(-large) ** 2
        return lg.where(near, polynomial(small * small, slopes), 1 / (large * large) - tail)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self._icdf(draws.uniform(shape, self.logits))

    def _log_prob(self, value: Any) -> Any:
        return self.logits * value - self._log_sum(self.logits)

    def _cdf(self, value: Any) -> Any:
        t, x = self.logits, value.clamp(0, 1)
        down = lg.where(t > 0, -t, t)
        near = down > -1
        far = lg.where(near, -1.0, down)
        small = lg.where(near, down, 0.0)
        series = x * special.exprel(small * x) / special.exprel(small)
        falling = lg.where(near, series, lg.expm1(far * x) / lg.expm1(far))
        return lg.exp(lg.where(t > 0, t * (x - 1), 0.0)) * falling

    def _icdf(self, value: Any) -> Any:
        t = self.logits
        rising = t > 0  # then from the other end
        t, p = lg.where(rising, -t, t), lg.where(rising, 1 - value, value)
        x = (p * special.exprel(t) * log1p_over(p * lg.expm1(t))).clamp(max=1)
        return lg.where(rising, 1 - x, x)

    def _entropy(self) -> Any:
        return self._log_sum(self.logits) - self.logits * self.mean


class LogitRelaxedBernoulli(Chances):
    """The log odds of `RelaxedBernoulli`.

    Parameters
    ----------
    temperature
        The lower, the closer to zero and one.
    probs, logits
        One of both: those of the Bernoulli distribution.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.LogitRelaxedBernoulli(1.0, probs=lg.tensor([0.3, 0.6])).rsample().shape
    (2,)
    """

    arg_constraints = {"temperature": positive, "probs": unit_interval, "logits": real}  # noqa: RUF012
    support = real
    has_rsample = True
    temperature: Any

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        chances = exactly_one(type(self).__name__, probs=probs, logits=logits)
        self._take(validate_args, temperature=temperature, **chances)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        u = draws.uniform(shape, self.logits)
        return (self.logits + lg.log(u) - lg.log1p(-u)) / self.temperature

    def _log_prob(self, value: Any) -> Any:
        apart = self.logits - value * self.temperature
        return lg.log(self.temperature) + special.log_expit(apart) + special.log_expit(-apart)


class RelaxedBernoulli(Chances, TransformedDistribution):
    """A continuous stand-in for the Bernoulli distribution, whose samples have derivatives.

    Parameters
    ----------
    temperature
        The lower, the closer to zero and one.
    probs, logits
        One of both: those of the Bernoulli distribution.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.RelaxedBernoulli(1.0, probs=lg.tensor([0.3, 0.6])).rsample().shape
    (2,)
    """

    arg_constraints = LogitRelaxedBernoulli.arg_constraints
    support = unit_interval
    has_rsample = True
    temperature: Any
    __init__ = LogitRelaxedBernoulli.__init__

    @property
    def base_dist(self) -> Any:
        """The log odds."""
        return LogitRelaxedBernoulli(self.temperature, logits=self.logits, validate_args=False)

    @property
    def transforms(self) -> list[Any]:
        """Their probabilities."""
        return [SigmoidTransform()]
