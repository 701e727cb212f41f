"""Distributions of integers and of choices."""

import math
from typing import Any

import lucidgrad as lg
from lucidgrad import special

from . import draws
from .constraints import (
    boolean,
    dependent_property,
    half_open_interval,
    integer_interval,
    multinomial,
    nonnegative,
    nonnegative_integer,
    one_hot,
    real,
    real_vector,
    simplex,
    unit_interval,
)
from .distribution import Distribution, ExponentialFamily, derived, exactly_one, unavailable

__all__ = [
    "Bernoulli", "Binomial", "Categorical", "Geometric", "Multinomial", "NegativeBinomial", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Poisson",
]  # fmt: skip


class Chances(Distribution):
    """A family with the probability of success as a parameter, or its log odds."""

    probs: Any = derived(lambda self: lg.sigmoid(self.logits))
    logits: Any = derived(lambda self: special.logit(self.probs))

    @property
    def param_shape(self) -> tuple[int, ...]:
        """The shape of the parameter that was given."""
        return tuple(vars(self)["probs" if "probs" in vars(self) else "logits"].shape)

    def _log_chance(self, wins: Any, losses: Any) -> Any:
        """The logarithm of the probability of wins and losses in an order."""
        if "logits" in vars(self):
            return wins * special.log_expit(self.logits) + losses * special.log_expit(-self.logits)
        return lg.xlogy(wins, self.probs) + special.xlog1py(losses, -self.probs)

    def _log_losing(self) -> Any:
        return special.log_expit(-self.logits) if "logits" in vars(self) else lg.log1p(-self.probs)


class Bernoulli(Chances, ExponentialFamily):
    """One with a probability, or else zero.

    Parameters
    ----------
    probs, logits
        One of both: the probability, or its log odds.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> logits = lg.tensor(0.0, requires_grad=True)
    >>> lg.distributions.Bernoulli(logits=logits).log_prob(lg.tensor(1.0)).backward()
    >>> logits.grad.item()
    0.5
    """

    arg_constraints = {"probs": unit_interval, "logits": real}  # noqa: RUF012
    support = boolean
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._take(validate_args, **exactly_one("Bernoulli", probs=probs, logits=logits))

    def _mean(self) -> Any:
        return self.probs

    def _mode(self) -> Any:
        p = self.probs
        return lg.where(p == 0.5, math.nan, lg.where(p > 0.5, 1.0, 0.0)).to(p.dtype)

    def _variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return lg.bernoulli(self.probs.expand(shape))

    def _log_prob(self, value: Any) -> Any:
        return self._log_chance(value, 1 - value)

    def _entropy(self) -> Any:
        return -self._log_chance(self.probs, 1 - self.probs)

    def _values(self) -> Any:
        return lg.arange(2, dtype=self.probs.dtype, device=self.probs.device)


class Binomial(Chances):
    """The number of successes among many.

    Parameters
    ----------
    total_count
        How many.
    probs, logits
        One of both: the probability of each, or its log odds.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> d = lg.distributions.Binomial(4, probs=lg.tensor(0.5))
    >>> d.log_prob(lg.tensor(2.0)).exp()
    tensor(0.375)
    """

    arg_constraints = {"total_count": nonnegative_integer, "probs": unit_interval, "logits": real}  # noqa: RUF012
    has_enumerate_support = True
    total_count: Any

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        chances = exactly_one("Binomial", probs=probs, logits=logits)
        self._take(validate_args, **chances, total_count=total_count)
        self.total_count = self.total_count.to(self.probs.dtype)

    @dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """Integers up to the count."""
        return integer_interval(0, self.total_count)

    def _mean(self) -> Any:
        return self.total_count * self.probs

    def _mode(self) -> Any:
        return lg.minimum(lg.floor((self.total_count + 1) * self.probs), self.total_count)

    def _variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return draws.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def _log_prob(self, value: Any) -> Any:
        rest = self.total_count - value
        ways = -lg.log(self.total_count + 1) - special.betaln(value + 1, rest + 1)
        return ways + self._log_chance(value, rest)

    def _cdf(self, value: Any) -> Any:
        k = lg.floor(value)
        inside = (k >= 0) & (k < self.total_count)
        k = lg.where(inside, k, 0.0)
        found = special.betaincc(k + 1, lg.where(inside, self.total_count - k, 1.0), self.probs)
        return lg.where(inside, found, lg.where(value < 0, 0.0, 1.0))

    def _count(self) -> int:
        most = int(self.total_count.max())
        if bool((self.total_count != most).any()):
            unavailable("the list of values of binomial distributions of different total_count")
        return most

    def _entropy(self) -> Any:
        log_p = self._log_prob(self.enumerate_support(False))
        return -lg.xlogy(lg.exp(log_p), lg.exp(log_p)).sum(0)

    def _values(self) -> Any:
        return lg.arange(self._count() + 1, dtype=self.probs.dtype, device=self.probs.device)


class Geometric(Chances):
    """The number of failures before the first success.

    Parameters
    ----------
    probs, logits
        One of both: the probability of success, or its log odds.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> d = lg.distributions.Geometric(lg.tensor(0.25))
    >>> d.mean, d.log_prob(lg.tensor(0.0)).exp()
    (tensor(3.), tensor(0.25))
    """

    arg_constraints = {"probs": unit_interval, "logits": real}  # noqa: RUF012
    support = nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._take(validate_args, **exactly_one("Geometric", probs=probs, logits=logits))
        if self._validate_args and probs is not None and not bool((self.probs.detach() > 0).all()):
            raise ValueError("Geometric: given probs with zeros, expected positive probabilities: nothing would end")

    def _mean(self) -> Any:
        return (1 - self.probs) / self.probs

    def _mode(self) -> Any:
        return lg.zeros_like(self.probs)

    def _variance(self) -> Any:
        return (1 - self.probs) / (self.probs * self.probs)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return lg.floor(-draws.exponential(shape, self.probs) / self._log_losing())

    def _log_prob(self, value: Any) -> Any:
        return self._log_chance(lg.ones_like(value), value)

    def _cdf(self, value: Any) -> Any:
        return -lg.expm1((lg.floor(value) + 1) * self._log_losing())

    def _entropy(self) -> Any:
        return -self._log_chance(self.probs, 1 - self.probs) / self.probs


class NegativeBinomial(Chances):
    """The number of successes before a count of failures.

    Parameters
    ----------
    total_count
        How many failures; any number that is not negative.
    probs, logits
        One of both: the probability of success, or its log odds.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.NegativeBinomial(lg.tensor(3.0), probs=lg.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints = {  # noqa: RUF012
        "total_count": nonnegative,
        "probs": half_open_interval(0.0, 1.0),
        "logits": real,
    }
    support = nonnegative_integer
    total_count: Any

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        chances = exactly_one("NegativeBinomial", probs=probs, logits=logits)
        self._take(validate_args, **chances, total_count=total_count)
        self.total_count = self.total_count.to(self.probs.dtype)

    def _odds(self) -> Any:
        return lg.exp(self.logits) if "logits" in vars(self) else self.probs / (1 - self.probs)

    def _mean(self) -> Any:
        return self.total_count * self._odds()

    def _mode(self) -> Any:
        return lg.floor((self.total_count - 1) * self._odds()).clamp(min=0)

    def _variance(self) -> Any:
        return self.mean * (1 + self._odds())

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        some = self.total_count > 0
        rate = lg.exp(draws.log_gamma(lg.where(some, self.total_count, 1.0).expand(shape))) * self._odds()
        return draws.poisson(lg.where(some, rate, 0.0))

    def _log_prob(self, value: Any) -> Any:
        total = self.total_count + value
        none = total == 0
        one = lg.where(none, 1.0, self.total_count)
        ways = -lg.log(lg.where(none, 1.0, total)) - special.betaln(one, value + 1)
        return lg.where(none, 0.0, ways) + self._log_chance(value, self.total_count)

    def _cdf(self, value: Any) -> Any:
        k = lg.floor(value)
        found = special.betaincc(k.clamp(min=0) + 1, self.total_count, self.probs)
        return lg.where(k < 0, 0.0, found)


class Poisson(ExponentialFamily):
    """The number of events that come at a rate.

    Parameters
    ----------
    rate
        The mean.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> rate = lg.tensor(4.0, requires_grad=True)
    >>> lg.distributions.Poisson(rate).log_prob(lg.tensor(2.0)).backward()
    >>> rate.grad
    tensor(-0.5)
    """

    arg_constraints = {"rate": nonnegative}  # noqa: RUF012
    support = nonnegative_integer
    rate: Any

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, rate=rate)

    def _mean(self) -> Any:
        return self.rate

    _variance = _mean

    def _mode(self) -> Any:
        return lg.floor(self.rate)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return draws.poisson(self.rate.expand(shape))

    def _log_prob(self, value: Any) -> Any:
        return lg.xlogy(value, self.rate) - self.rate - lg.lgamma(value + 1)

    def _cdf(self, value: Any) -> Any:
        k = lg.floor(value)
        return lg.where(k < 0, 0.0, special.gammaincc(k.clamp(min=0) + 1, self.rate))

    def _entropy(self) -> Any:
        return Distribution._entropy(self)


# -- choices -----------------------------------------------------------------------------------------
class Choices(Distribution):
    """A family with probabilities along the last axis, or logits, which are normalised."""

    arg_constraints = {"probs": simplex, "logits": real_vector}  # noqa: RUF012
    probs: Any = derived(lambda self: lg.exp(self.logits))
    logits: Any = derived(lambda self: lg.log(self.probs))

    def _choose(self, validate_args: bool | None, event: bool, probs: Any, logits: Any) -> None:
        ((name, given),) = exactly_one(type(self).__name__, probs=probs, logits=logits).items()
        if getattr(given, "ndim", 0) < 1:
            raise ValueError(f"{type(self).__name__}: given {name} without an axis, expected one of choices")
        given = given / given.sum(-1).unsqueeze(-1) if name == "probs" else lg.log_softmax(given, axis=-1)
        self._take(validate_args, given.shape[-1:] if event else (), **{name: given})

    @property
    def param_shape(self) -> tuple[int, ...]:
        """The shape of the parameter that was given."""
        return tuple(vars(self)["probs" if "probs" in vars(self) else "logits"].shape)

    def _chosen(self, shape: tuple[int, ...]) -> Any:
        return draws.categorical(self.probs, shape)

    def _choice_entropy(self) -> Any:
        p = self.probs
        return special.entr(p).sum(-1) if "probs" in vars(self) else -lg.where(p == 0, 0.0, p * self.logits).sum(-1)

    def _log_prob_of(self, index: Any) -> Any:
        index = index.to(lg.int64).unsqueeze(-1)
        shape = lg.broadcast_shapes(tuple(index.shape[:-1]), self.param_shape[:-1])
        logits = self.logits.expand((*shape, self.param_shape[-1]))
        return lg.take_along_axis(logits, index.expand((*shape, 1)), axis=-1).squeeze(-1)

    def _one_hot(self, index: Any) -> Any:
        places = lg.arange(self.param_shape[-1], device=index.device)
        return (index.unsqueeze(-1) == places).to(self.probs.dtype)


class Categorical(Choices):
    """One of many choices, by its number.

    Parameters
    ----------
    probs, logits
        One of both: the choices along the last axis; their sum may be any.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> d = lg.distributions.Categorical(lg.tensor([1.0, 3.0]))
    >>> d.probs.tolist(), d.entropy().item()
    ([0.25, 0.75], 0.5623)
    """

    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._choose(validate_args, False, probs, logits)

    @dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The numbers of the choices."""
        return integer_interval(0, self.param_shape[-1] - 1)

    def _mean(self) -> Any:
        return lg.full(self._batch_shape, math.nan, dtype=self.probs.dtype, device=self.probs.device)

    _variance = _mean

    def _mode(self) -> Any:
        return lg.argmax(self.probs, axis=-1)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self._chosen(shape)

    def _log_prob(self, value: Any) -> Any:
        return self._log_prob_of(value)

    def _entropy(self) -> Any:
        return self._choice_entropy()

    def _values(self) -> Any:
        return lg.arange(self.param_shape[-1], dtype=lg.int64, device=self.probs.device)


class OneHotCategorical(Choices):
    """One of many choices, as a vector with a one in its place.

    Parameters
    ----------
    probs, logits
        One of both: the choices along the last axis; their sum may be any.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> d = lg.distributions.OneHotCategorical(probs=lg.tensor([0.25, 0.75]))
    >>> d.log_prob(lg.tensor([0.0, 1.0])).exp()
    tensor(0.75)
    """

    support = one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._choose(validate_args, True, probs, logits)

    def _mean(self) -> Any:
        return self.probs

    def _mode(self) -> Any:
        return self._one_hot(lg.argmax(self.probs, axis=-1))

    def _variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self._one_hot(self._chosen(shape[:-1]))

    def _log_prob(self, value: Any) -> Any:
        return self._log_prob_of(lg.argmax(value, axis=-1))

    def _entropy(self) -> Any:
        return self._choice_entropy()

    def _values(self) -> Any:
        return lg.eye(self.param_shape[-1], dtype=self.probs.dtype, device=self.probs.device)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples have the derivatives of the probabilities (Bengio and others, 2013).

    Parameters
    ----------
    probs, logits
        One of both: the choices along the last axis; their sum may be any.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> p = lg.tensor([0.25, 0.75], requires_grad=True)
    >>> d = lg.distributions.OneHotCategoricalStraightThrough(probs=p)
    >>> d.rsample().requires_grad
    True
    """

    has_rsample = True

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        made = super()._drawn(shape)
        return made + (self.probs - self.probs.detach())


class Multinomial(Choices):
    """How often each of many choices was made.

    Parameters
    ----------
    total_count
        How many choices were made, an integer.
    probs, logits
        One of both: the choices along the last axis; their sum may be any.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> d = lg.distributions.Multinomial(2, probs=lg.tensor([0.5, 0.5]))
    >>> d.log_prob(lg.tensor([1.0, 1.0])).exp()
    tensor(0.5)
    """

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            unavailable("a multinomial distribution of different total_count")
        self.total_count = total_count
        self._choose(validate_args, True, probs, logits)

    @dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Counts, up to that of all."""
        return multinomial(self.total_count)

    def _mean(self) -> Any:
        return self.probs * self.total_count

    def _variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        chosen = self._chosen((self.total_count, *shape[:-1]))
        counts = lg.zeros(shape, dtype=self.probs.dtype, device=self.probs.device)
        which = lg.moveaxis(chosen, 0, -1)
        return lg.scatter_add(counts, -1, which, lg.ones_like(which).to(counts.dtype))

    def _log_prob(self, value: Any) -> Any:
        ways = lg.lgamma(value.sum(-1) + 1) - lg.lgamma(value + 1).sum(-1)
        some = value != 0
        return ways + (value * lg.where(some, self.logits, 0.0)).sum(-1)

    def _entropy(self) -> Any:
        n = self.total_count
        counts = lg.arange(2, n + 1, dtype=self.probs.dtype, device=self.probs.device)
        counts = counts.reshape((-1, *(1,) * len(self.param_shape)))
        own = lg.exp(Binomial(n, probs=self.probs, validate_args=False)._log_prob(counts))
        rest = (own * lg.lgamma(counts + 1)).sum(0).sum(-1)
        return n * self._choice_entropy() - math.lgamma(n + 1) + rest
