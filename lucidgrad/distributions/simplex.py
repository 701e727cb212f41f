"""Distributions of probabilities: vectors whose sum is one."""

import math
from typing import Any

import lucidgrad as lg

from . import draws
from .combinators import TransformedDistribution
from .constraints import independent, positive, real, real_vector, simplex
from .discrete import Choices
from .distribution import ExponentialFamily, exactly_one
from .line import Normal
from .transforms import ExpTransform, StickBreakingTransform

__all__ = ["Dirichlet", "ExpRelaxedCategorical", "LogisticNormal", "RelaxedOneHotCategorical"]


class Dirichlet(ExponentialFamily):
    """Dirichlet's distribution; derivatives of its samples are exact.

    Parameters
    ----------
    concentration
        One for each of the probabilities along the last axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> c = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> x = lg.distributions.Dirichlet(c).rsample()
    >>> (g,) = lg.autograd.grad(x.sum(), c)
    >>> bool((g.abs() < 1e-5).all())
    True
    """

    arg_constraints = {"concentration": independent(positive, 1)}  # noqa: RUF012
    support = simplex
    has_rsample = True
    concentration: Any

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if getattr(concentration, "ndim", 0) < 1:
            raise ValueError("Dirichlet: given a concentration without an axis, expected one of probabilities")
        self._take(validate_args, concentration.shape[-1:], concentration=concentration)

    def _total(self) -> Any:
        return self.concentration.sum(-1).unsqueeze(-1)

    def _mean(self) -> Any:
        return self.concentration / self._total()

    def _mode(self) -> Any:
        above = (self.concentration - 1).clamp(min=0)
        total = above.sum(-1).unsqueeze(-1)
        corner = (self.concentration < 1).all(-1).unsqueeze(-1)
        places = lg.arange(self._event_shape[0], device=above.device)
        edge = (lg.argmax(self.concentration, axis=-1).unsqueeze(-1) == places).to(above.dtype)
        return lg.where(corner, edge, above / lg.where(corner, 1.0, total))

    def _variance(self) -> Any:
        total = self._total()
        return self.concentration * (total - self.concentration) / (total * total * (total + 1))

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return draws.dirichlet(self.concentration.expand(shape))

    def _log_beta(self) -> Any:
        return lg.lgamma(self.concentration).sum(-1) - lg.lgamma(self.concentration.sum(-1))

    def _log_prob(self, value: Any) -> Any:
        return lg.xlogy(self.concentration - 1, value).sum(-1) - self._log_beta()

    def _entropy(self) -> Any:
        c, total = self.concentration, self.concentration.sum(-1)
        rest = (total - self._event_shape[0]) * lg.digamma(total)
        return self._log_beta() + rest - ((c - 1) * lg.digamma(c)).sum(-1)


class LogisticNormal(TransformedDistribution):
    """Normal values, made probabilities by `StickBreakingTransform`.

    Parameters
    ----------
    loc, scale
        Mean and standard deviation of the normal values.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.LogisticNormal(lg.zeros(2), lg.ones(2)).sample().shape
    (3,)
    """

    arg_constraints = {"loc": real, "scale": positive}  # noqa: RUF012
    support = simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Any:
        """The mean of the normal values."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Any:
        """Their standard deviation."""
        return self.base_dist.base_dist.scale


class ExpRelaxedCategorical(Choices):
    """The logarithm of `RelaxedOneHotCategorical`.

    Parameters
    ----------
    temperature
        The lower, the closer to a vector with a single one.
    probs, logits
        One of both: those of the categorical distribution.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> d = lg.distributions.ExpRelaxedCategorical(1.0, probs=lg.tensor([0.2, 0.8]))
    >>> d.rsample((5,)).shape
    (5, 2)
    """

    arg_constraints = {"temperature": positive, **Choices.arg_constraints}  # noqa: RUF012
    support = real_vector
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._choose(validate_args, True, probs, logits)
        chances = exactly_one(type(self).__name__, probs=vars(self).get("probs"), logits=vars(self).get("logits"))
        self._take(validate_args, self._event_shape, **chances, temperature=temperature)

    def _heat(self) -> Any:
        return self.temperature.unsqueeze(-1)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        noise = -lg.log(draws.exponential(shape, self.logits))
        return lg.log_softmax((self.logits + noise) / self._heat(), axis=-1)

    def _log_prob(self, value: Any) -> Any:
        count, heat = self._event_shape[0], self._heat()
        score = lg.log_softmax(self.logits - value * heat, axis=-1).sum(-1)
        return score + math.lgamma(count) + (count - 1) * lg.log(self.temperature)

    temperature: Any


class RelaxedOneHotCategorical(Choices, TransformedDistribution):
    """A continuous stand-in for `OneHotCategorical`, whose samples have derivatives.

    Parameters
    ----------
    temperature
        The lower, the closer to a vector with a single one.
    probs, logits
        One of both: those of the categorical distribution.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.distributions.RelaxedOneHotCategorical(1.0, probs=lg.tensor([0.2, 0.8])).rsample()
    >>> bool(abs(x.sum() - 1) < 1e-6)
    True
    """

    arg_constraints = ExpRelaxedCategorical.arg_constraints
    support = simplex
    has_rsample = True
    temperature: Any
    _heat = ExpRelaxedCategorical._heat
    __init__ = ExpRelaxedCategorical.__init__

    @property
    def base_dist(self) -> Any:
        """The logarithm's distribution."""
        return ExpRelaxedCategorical(self.temperature, logits=self.logits, validate_args=False)

    @property
    def transforms(self) -> list[Any]:
        """Its exponential."""
        return [ExpTransform()]
