"""Distributions made of others: batches as events, transformed values, mixtures."""

import copy
from collections.abc import Sequence
from typing import Any

import lucidgrad as lg

from . import constraints
from .distribution import Distribution, summed, unavailable
from .transforms import ComposeTransform, Transform

__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]


class Independent(Distribution):
    """The last batch axes of a distribution as axes of one event.

    Parameters
    ----------
    base_distribution
        The distribution.
    reinterpreted_batch_ndims
        How many of its batch axes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> d = lg.distributions.Independent(lg.distributions.Normal(lg.zeros(4, 3), 1.0), 1)
    >>> d.batch_shape, d.event_shape, d.log_prob(lg.zeros(4, 3)).shape
    ((4,), (3,), (4,))
    """

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        axes = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > axes:
            raise ValueError(
                f"Independent: given reinterpreted_batch_ndims={reinterpreted_batch_ndims}, expected at most the "
                f"{axes} batch axes of the distribution"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        shape, cut = base_distribution.batch_shape + base_distribution.event_shape, axes - reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distributions, broadcast to another batch shape."""
        made = copy.copy(self)
        made.base_dist = self.base_dist.expand((*batch_shape, *self._event_shape[: self.reinterpreted_batch_ndims]))
        made._batch_shape = tuple(batch_shape)
        return made

    @property
    def has_rsample(self) -> bool:
        """Whether samples have derivatives: those of the distribution inside."""
        return bool(self.base_dist.has_rsample)

    @property
    def has_enumerate_support(self) -> bool:
        """Whether values can be listed: only if no batch axis is a part of them."""
        return self.reinterpreted_batch_ndims == 0 and bool(self.base_dist.has_enumerate_support)

    @constraints.dependent_property
    def support(self) -> Any:
        """The constraint that values satisfy."""
        inside, axes = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(inside, axes) if axes else inside

    def _mean(self) -> Any:
        return self.base_dist.mean

    def _mode(self) -> Any:
        return self.base_dist.mode

    def _variance(self) -> Any:
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Values, without gradients."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Values that are differentiable functions of the parameters."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, at ``value``."""
        return summed(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def _entropy(self) -> Any:
        return summed(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution along a new first axis."""
        if self.reinterpreted_batch_ndims > 0:
            unavailable("the list of values of Independent, all combinations along its batch axes,")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of transformed values.

    Parameters
    ----------
    base_distribution
        The distribution of the values before.
    transforms
        A transform, or a list of them, of which the first comes first.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> D = lg.distributions
    >>> logistic = D.TransformedDistribution(
    ...     D.Uniform(0.0, 1.0), [D.SigmoidTransform().inv, D.AffineTransform(1.0, 2.0)]
    ... )
    >>> logistic.cdf(lg.tensor(1.0)).item()
    0.5
    """

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        parts = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(parts, list) or not all(isinstance(t, Transform) for t in parts):
            raise ValueError(
                f"TransformedDistribution: given transforms of type {type(transforms).__name__}, expected a transform "
                f"or a list of them"
            )
        whole, inside = ComposeTransform(parts), len(base_distribution.event_shape)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                f"TransformedDistribution: given a distribution of shape {shape}, expected {whole.domain.event_dim} "
                f"or more axes, as the transforms take"
            )
        after = whole.forward_shape(shape)
        before = whole.inverse_shape(after)
        if before != shape:
            base_distribution = base_distribution.expand(before[: len(before) - inside])
        if whole.domain.event_dim > inside:
            base_distribution = Independent(base_distribution, whole.domain.event_dim - inside)
        self._base, self._parts = base_distribution, parts
        axes = max(whole.codomain.event_dim, inside + whole.codomain.event_dim - whole.domain.event_dim)
        super().__init__(after[: len(after) - axes], after[len(after) - axes :], validate_args)

    @property
    def base_dist(self) -> Any:
        """The distribution of the values before."""
        return self._base

    @property
    def transforms(self) -> list[Any]:
        """The transforms, the first of them first."""
        return self._parts

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distributions, broadcast to another batch shape."""
        made = super().expand(batch_shape)
        if "_base" in vars(self):  # families that are made of parameters make it anew
            shape = ComposeTransform(self.transforms).inverse_shape((*batch_shape, *self._event_shape))
            made._base = self._base.expand(shape[: len(shape) - len(self._base.event_shape)])
        return made

    @property
    def has_rsample(self) -> bool:
        """Whether samples have derivatives: those of the distribution before."""
        return bool(self.base_dist.has_rsample)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """The constraint that values satisfy."""
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self._event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Values, without gradients."""
        with lg.no_grad():
            return self._after(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Values that are differentiable functions of the parameters."""
        return self._after(self.base_dist.rsample(sample_shape))

    def _after(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def _log_prob(self, y: Any) -> Any:
        axes, found = len(self._event_shape), 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            axes += transform.domain.event_dim - transform.codomain.event_dim
            found = found - summed(transform.log_abs_det_jacobian(x, y), axes - transform.domain.event_dim)
            y = x
        base = self.base_dist
        return found + summed(base.log_prob(y), axes - len(base.event_shape))

    def _turned(self, p: Any) -> Any:
        """Probabilities up to a value as those from it on, where the transforms fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return p if isinstance(sign, int) and sign == 1 else sign * (p - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        """The probability of values up to ``value``."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._turned(self.base_dist.cdf(value))

    def _icdf(self, value: Any) -> Any:
        return self._after(self.base_dist.icdf(self._turned(value)))


class MixtureSameFamily(Distribution):
    """A mixture of distributions of one family, the last batch axis of ``component_distribution``.

    Parameters
    ----------
    mixture_distribution
        A `Categorical` of the weights.
    component_distribution
        The distributions that are mixed.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> D = lg.distributions
    >>> d = D.MixtureSameFamily(D.Categorical(lg.ones(2)), D.Normal(lg.tensor([-1.0, 1.0]), 0.5))
    >>> d.mean.item(), d.variance.item()
    (0.0, 1.25)
    """

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        from .discrete import Categorical

        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                f"MixtureSameFamily: given a mixture of type {type(mixture_distribution).__name__}, expected a "
                f"Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                f"MixtureSameFamily: given components of type {type(component_distribution).__name__}, expected a "
                f"distribution"
            )
        weights, batch = mixture_distribution.batch_shape, component_distribution.batch_shape
        count = mixture_distribution.param_shape[-1]
        if len(weights) > len(batch) - 1 or any(
            i not in (1, j) for i, j in zip(reversed(weights), reversed(batch[:-1]))
        ):
            raise ValueError(
                f"MixtureSameFamily: given weights of batch shape {weights}, expected one that broadcasts with "
                f"{batch[:-1]}, the components' without the last axis"
            )
        if batch[-1] != count:
            raise ValueError(f"MixtureSameFamily: given {count} weights and {batch[-1]} components, expected as many")
        self._mixture, self._components = mixture_distribution, component_distribution
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distributions, broadcast to another batch shape."""
        made = copy.copy(self)
        made._components = self._components.expand((*batch_shape, self._components.batch_shape[-1]))
        made._mixture = self._mixture.expand(batch_shape)
        made._batch_shape = tuple(batch_shape)
        return made

    @property
    def mixture_distribution(self) -> Any:
        """The distribution of the weights."""
        return self._mixture

    @property
    def component_distribution(self) -> Any:
        """The distributions that are mixed."""
        return self._components

    @constraints.dependent_property
    def support(self) -> Any:
        """The constraint that values satisfy."""
        return constraints.MixtureSameFamilyConstraint(self._components.support)

    def _mixed(self, x: Any) -> Any:
        """The mean over the components, which are the axis before the event's."""
        axes = len(self._event_shape)
        weights = self._mixture.probs
        return (weights.reshape((*weights.shape, *(1,) * axes)) * x).sum(-1 - axes)

    def _mean(self) -> Any:
        return self._mixed(self._components.mean)

    def _variance(self) -> Any:
        apart = self._components.mean - self.mean.unsqueeze(-1 - len(self._event_shape))
        return self._mixed(self._components.variance) + self._mixed(apart * apart)

    def _spread_out(self, value: Any) -> Any:
        return value.unsqueeze(-1 - len(self._event_shape))

    def _cdf(self, value: Any) -> Any:
        return (self._components.cdf(self._spread_out(value)) * self._mixture.probs).sum(-1)

    def _log_prob(self, value: Any) -> Any:
        return lg.logsumexp(self._components.log_prob(self._spread_out(value)) + self._mixture.logits, axis=-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Values, without gradients."""
        with lg.no_grad():
            axes = len(self._event_shape)
            values = self._components.sample(sample_shape)
            which = self._mixture.expand(self._batch_shape).sample(sample_shape)
            which = which.reshape((*which.shape, *(1,) * (axes + 1)))
            which = which.expand((*which.shape[: which.ndim - axes], *self._event_shape))
            return lg.take_along_axis(values, which, axis=-1 - axes).squeeze(-1 - axes)

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self._mixture!r}, {self._components!r})"
