"""What all distributions share: shapes, parameters and their constraints, validation, and what is computed of them."""

import copy
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import lucidgrad as lg
from lucidgrad.func import is_transformed
from lucidgrad.tensor import Tensor

from .constraints import is_dependent

__all__ = ["Distribution", "ExponentialFamily"]


def unavailable(what: str) -> NoReturn:
    """Refuse what is not known."""
    raise NotImplementedError(f"{what} is not known in closed form")


def _unknown(what: str) -> Callable[..., Any]:
    def method(self: Any, *_: Any) -> NoReturn:
        unavailable(f"the {what} of {type(self).__name__}")

    return method


class derived:
    """A parameter that follows from others, where it was not given itself."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __get__(self, owner: Any, kind: type) -> Any:
        return self if owner is None else self._function(owner)


def as_tensors(values: Sequence[Any]) -> list[Tensor]:
    """Numbers as tensors, beside tensors of the dtype and on the device of the first."""
    given = [v for v in values if isinstance(v, Tensor)]
    wrong = [v for v in values if not isinstance(v, (Tensor, int, float))]
    if wrong:
        raise TypeError(f"given a parameter of type {type(wrong[0]).__name__}, expected a number or a tensor")
    like = dict(dtype=lg.get_default_dtype())
    if given:
        inexact = given[0].is_floating_point()
        like = dict(dtype=given[0].dtype if inexact else lg.get_default_dtype(), device=given[0].device)
    return [v if isinstance(v, Tensor) else lg.tensor(float(v), **like) for v in values]


def exactly_one(name: str, **given: Any) -> dict[str, Any]:
    """Of several ways to say the same thing, the one that was given."""
    found = {way: value for way, value in given.items() if value is not None}
    if len(found) != 1:
        raise ValueError(f"{name}: given {' and '.join(found) or 'none'}, expected exactly one of {', '.join(given)}")
    return found


def summed(x: Any, axes: int) -> Any:
    """The sum over the last axes."""
    return x.reshape((*x.shape[: x.ndim - axes], -1)).sum(-1) if axes else x


def tiny(x: Any) -> float:
    """The smallest positive number of a tensor's dtype, but for those that are not normal."""
    return float(lg.finfo(x.dtype).smallest_normal)


class Distribution:
    """A distribution of random tensors: `batch_shape` of them, each of `event_shape`.

    Parameters are broadcast against each other; gradients reach them through `log_prob`, `entropy`, and `rsample`
    where there is one (``has_rsample``).

    Parameters
    ----------
    batch_shape, event_shape
        How many there are, and the shape of one.
    validate_args
        Whether parameters and values are checked against constraints; None: as `set_default_validate_args` says.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> d = lg.distributions.Normal(lg.zeros(3), 2.0)
    >>> d.batch_shape, d.event_shape, d.sample((5,)).shape
    ((3,), (), (5, 3))
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    arg_constraints: Any = {}  # noqa: RUF012  read only
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether arguments are checked where a distribution is not told; at first as Python's ``assert``."""
        if value not in (True, False):
            raise ValueError(f"given {value!r}, expected True or False")
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = (tuple(map(operator.index, s)) for s in (batch_shape, event_shape))
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self.arg_constraints.items():
                if name in vars(self) and not is_dependent(constraint):
                    value = vars(self)[name]
                    if not _all_inside(constraint, value):
                        raise ValueError(
                            f"{type(self).__name__}: given a {name} of shape {tuple(value.shape)} with values that "
                            f"are not allowed, expected {constraint!r}; validate_args=False checks nothing"
                        )

    # -- parameters ------------------------------------------------------------------------------
    def _take(self, validate_args: bool | None, event_shape: Sequence[int] = (), **given: Any) -> None:
        """Keep parameters, broadcast against each other but for the axes that make one value of each."""
        vars(self).update(zip(given, as_tensors(list(given.values()))))
        events = {name: constraint.event_dim for name, constraint in self.arg_constraints.items()}
        batch: tuple[int, ...] = ()
        for name in given:
            shape = tuple(vars(self)[name].shape)
            if len(shape) < events[name]:
                raise ValueError(
                    f"{type(self).__name__}: given a {name} of {len(shape)} axes, expected {events[name]} or more"
                )
            batch = lg.broadcast_shapes(batch, shape[: len(shape) - events[name]])
        self._spread(batch)
        Distribution.__init__(self, batch, event_shape, validate_args)

    def _spread(self, batch: tuple[int, ...]) -> None:
        for name, constraint in self.arg_constraints.items():
            if name in vars(self):
                value = vars(self)[name]
                vars(self)[name] = value.expand((*batch, *value.shape[value.ndim - constraint.event_dim :]))

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distributions, broadcast to another batch shape.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.distributions.Beta(2.0, 3.0).expand((4, 2)).mean.shape
        (4, 2)
        """
        made = copy.copy(self)
        made._spread(tuple(batch_shape))
        made._batch_shape = tuple(batch_shape)
        return made

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """How many distributions there are."""
        return self._batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one value."""
        return self._event_shape

    @property
    def support(self) -> Any:
        """The constraint that values satisfy."""
        unavailable(f"the support of {type(self).__name__}")

    def __repr__(self) -> str:
        kept = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        told = ", ".join(f"{name}: {v if v.numel() == 1 else tuple(v.shape)}" for name, v in kept.items())
        return f"{type(self).__name__}({told})"

    # -- what families write -----------------------------------------------------------------------
    _mean: Callable[..., Any] = _unknown("mean")
    _mode: Callable[..., Any] = _unknown("mode")
    _variance: Callable[..., Any] = _unknown("variance")
    _entropy: Callable[..., Any] = _unknown("entropy")
    _log_prob: Callable[..., Any] = _unknown("density")
    _cdf: Callable[..., Any] = _unknown("cumulative distribution function")
    _icdf: Callable[..., Any] = _unknown("inverse of the cumulative distribution function")
    _drawn: Callable[..., Any] = _unknown("way of sampling")
    _values: Callable[..., Any] = _unknown("list of values")

    def _stddev(self) -> Any:
        return self.variance.sqrt()

    # -- what users read ---------------------------------------------------------------------------
    @property
    def mean(self) -> Any:
        """The mean."""
        return self._mean()

    @property
    def mode(self) -> Any:
        """Where the density, or the probability, is largest."""
        return self._mode()

    @property
    def variance(self) -> Any:
        """The variance of each element."""
        return self._variance()

    @property
    def stddev(self) -> Any:
        """The standard deviation of each element."""
        return self._stddev()

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Values of the shape ``sample_shape + batch_shape + event_shape``, without gradients."""
        with lg.no_grad():
            if type(self).rsample is not Distribution.rsample:  # a class of the user's, in PyTorch's manner
                return self.rsample(sample_shape)
            return self._drawn(self._extended_shape(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        """`sample` whose values are differentiable functions of the parameters.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> scale = lg.tensor(2.0, requires_grad=True)
        >>> x = lg.distributions.Normal(0.0, scale).rsample()
        >>> (g,) = lg.autograd.grad(x, scale)
        >>> bool((g - x / scale).abs() < 1e-6)
        True
        """
        if not self.has_rsample:
            unavailable(f"the derivative of samples of {type(self).__name__}")
        return self._drawn(self._extended_shape(sample_shape))

    def sample_n(self, n: int) -> Any:
        """``sample((n,))``, in an old spelling."""
        warnings.warn("sample_n(n) is an old spelling; write sample((n,)) instead", FutureWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, at ``value``."""
        return self._log_prob(self._checked(value))

    def cdf(self, value: Any) -> Any:
        """The probability of values up to ``value``."""
        return self._cdf(self._checked(value))

    def icdf(self, value: Any) -> Any:
        """Inverse of `cdf`."""
        return self._icdf(value)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution along a new first axis; the same for all batches without ``expand``."""
        values = self._values()
        values = values.reshape((-1, *(1,) * len(self._batch_shape), *self._event_shape))
        return values.expand((values.shape[0], *self._batch_shape, *self._event_shape)) if expand else values

    def entropy(self) -> Any:
        """The entropy, in nats."""
        return self._entropy()

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return lg.exp(self.entropy())

    # -- checks ------------------------------------------------------------------------------------
    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> tuple[int, ...]:
        return (*sample_shape, *self._batch_shape, *self._event_shape)

    def _checked(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return value

    def _validate_sample(self, value: Any) -> None:
        name, own = type(self).__name__, self._batch_shape + self._event_shape
        if not isinstance(value, Tensor):
            raise ValueError(f"{name}: given a value of type {type(value).__name__}, expected a tensor")
        shape = tuple(value.shape)
        if shape[len(shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(
                f"{name}: given a value of shape {shape}, expected one that ends with the event shape "
                f"{self._event_shape}"
            )
        if any(i != 1 and j != 1 and i != j for i, j in zip(reversed(shape), reversed(own))):
            raise ValueError(f"{name}: given a value of shape {shape}, expected one that broadcasts with {own}")
        if not _all_inside(self.support, value):
            raise ValueError(
                f"{name}: given a value of shape {shape} with elements outside of the support, expected "
                f"{self.support!r}; validate_args=False checks nothing"
            )


def _all_inside(constraint: Any, value: Any) -> bool:
    """Whether all values satisfy a constraint; inside a transform, where nobody can tell, they count as if."""
    value = value.detach()
    if is_transformed(value):
        return True
    return bool(constraint.check(value).all())


class ExponentialFamily(Distribution):
    """A family whose density is ``exp(<t(x), natural parameters> - log_normalizer + carrier measure)``.

    A class that writes ``_natural_params``, ``_log_normalizer`` and ``_mean_carrier_measure`` has its entropy and its
    `kl_divergence` by differentiating the normaliser.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> isinstance(lg.distributions.Normal(0.0, 1.0), lg.distributions.ExponentialFamily)
    True
    """

    _natural_params: Any = ()
    _mean_carrier_measure: Any = 0

    def _log_normalizer(self, *natural_params: Any) -> Any:
        unavailable(f"the normaliser of {type(self).__name__}")

    def _normalised(self) -> tuple[list[Any], Any, Sequence[Any]]:
        """Natural parameters, the logarithm of the normaliser, and its derivatives: the means of the statistics."""
        with lg.enable_grad():
            own = [p if p.requires_grad else p.detach().requires_grad_() for p in self._natural_params]
            value = self._log_normalizer(*own)
            return own, value, lg.autograd.grad(value.sum(), own, create_graph=True)

    def _entropy(self) -> Any:
        own, value, means = self._normalised()
        found = value - self._mean_carrier_measure
        for parameter, mean in zip(own, means, strict=True):
            found = found - summed(parameter * mean, len(self._event_shape))
        return found


HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
EULER = 0.5772156649015329
