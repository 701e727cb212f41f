"""Regions of values: what parameters must satisfy, and where distributions live.

A constraint checks values, one answer for each; `event_dim` trailing axes make one value together.
"""

from collections.abc import Callable, Sequence
from typing import Any

import lucidgrad as lg

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A region of values: whether it is one of integers, and how many trailing axes make one value.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.constraints.positive.check(lg.tensor([-1.0, 2.0])).tolist()
    [False, True]
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Any) -> Any:
        """Which values are inside, as booleans."""
        raise TypeError(f"{self!r} has no check: a constraint that is derived from Constraint writes its own")

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__.lstrip('_')}({given})"


def _rows(valid: Any, axes: int) -> Any:
    """One answer for the last axes together."""
    return valid.reshape((*valid.shape[: valid.ndim - axes], -1)).all(-1) if axes else valid


# -- numbers -------------------------------------------------------------------------------------
class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _GreaterThan(Constraint):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Any) -> Any:
        return value > self.lower_bound


class _GreaterThanEq(_GreaterThan):
    def check(self, value: Any) -> Any:
        return value >= self.lower_bound


class _IntegerGreaterThan(_GreaterThan):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _LessThan(Constraint):
    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Interval(Constraint):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Any) -> Any:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(_Interval):
    def check(self, value: Any) -> Any:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _IntegerInterval(_Interval):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & super().check(value)


# -- vectors -------------------------------------------------------------------------------------
class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return boolean.check(value).all(-1) & (value.sum(-1) == 1)


class _Multinomial(Constraint):
    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return nonnegative_integer.check(value).all(-1) & (value.sum(-1) <= self.upper_bound)


# -- matrices ------------------------------------------------------------------------------------
class _Matrix(Constraint):
    event_dim = 2


class _Square(_Matrix):
    def check(self, value: Any) -> Any:
        right = value.shape[-1] == value.shape[-2]
        return lg.full(value.shape[:-2], right, dtype=lg.bool, device=value.device)


class _LowerTriangular(_Matrix):
    def check(self, value: Any) -> Any:
        return _rows(value.tril() == value, 2)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Any) -> Any:
        return super().check(value) & (lg.linalg.diagonal(value) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value: Any) -> Any:
        slack = 10 * float(lg.finfo(value.dtype).eps) * value.shape[-1]  # ten: rows are sums of rounded squares
        lengths = (value * value).sum(-1).sqrt()
        return super().check(value) & ((lengths - 1).abs() <= slack).all(-1)


class _Symmetric(_Square):
    def check(self, value: Any) -> Any:
        square = super().check(value)
        return square & _rows(lg.isclose(value, value.mT, atol=1e-6), 2) if bool(square.all()) else square


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        return symmetric & self._inside(lg.linalg.eigvalsh(value)).all(-1) if bool(symmetric.all()) else symmetric

    def _inside(self, eigenvalues: Any) -> Any:
        return eigenvalues >= 0


class _PositiveDefinite(_PositiveSemidefinite):
    def _inside(self, eigenvalues: Any) -> Any:
        return eigenvalues > 0


# -- made of others ------------------------------------------------------------------------------
class _IndependentConstraint(Constraint):
    """Another, which all elements of the last batch axes satisfy together.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> C = lg.distributions.constraints
    >>> C.independent(C.positive, 1).check(lg.tensor([[1.0, 2.0], [1.0, -1.0]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        found = self.base_constraint.check(value)
        if found.ndim < self.reinterpreted_batch_ndims:
            raise ValueError(f"given a value of {value.ndim} axes, expected {self.event_dim} or more for {self!r}")
        return _rows(found, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: values that all components could have drawn.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> C = lg.distributions.constraints
    >>> C.MixtureSameFamilyConstraint(C.positive).check(lg.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Any) -> None:
        self.base_constraint = base_constraint
        self.is_discrete, self.event_dim = base_constraint.is_discrete, base_constraint.event_dim

    def check(self, value: Any) -> Any:
        """Which values are in the support of every component."""
        if value.ndim < self.event_dim:
            raise ValueError(f"given a value of {value.ndim} axes, expected {self.event_dim} or more for {self!r}")
        kept = value.ndim - self.event_dim
        found = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return _rows(found, found.ndim - kept)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Several(Constraint):
    """A constraint for each part of a value along an axis."""

    def __init__(self, cseq: Sequence[Any], dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        self.event_dim = max(c.event_dim for c in self.cseq)


class _Cat(_Several):
    """Constraints for the parts of a value, one after the other along an axis, of given lengths.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> C = lg.distributions.constraints
    >>> C.cat([C.positive, C.unit_interval], lengths=[1, 1]).check(lg.tensor([3.0, 3.0]))
    tensor([ True, False])
    """

    def __init__(self, cseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    def check(self, value: Any) -> Any:
        parts, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths, strict=True):
            parts.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return lg.cat(parts, self.dim)


class _Stack(_Several):
    """A constraint for each position along an axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> C = lg.distributions.constraints
    >>> C.stack([C.positive, C.unit_interval]).check(lg.tensor([3.0, 3.0]))
    tensor([ True, False])
    """

    def check(self, value: Any) -> Any:
        parts = value.unbind(self.dim)
        return lg.stack([c.check(v) for c, v in zip(self.cseq, parts, strict=True)], axis=self.dim)


class _Dependent(Constraint):
    """One that depends on other parameters, so that it can't be checked by itself.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> C = lg.distributions.constraints
    >>> C.is_dependent(C.dependent(event_dim=1))
    True
    """

    def __init__(self, *, is_discrete: bool | None = None, event_dim: int | None = None) -> None:
        if is_discrete is not None:
            self.is_discrete = is_discrete
        if event_dim is not None:
            self.event_dim = event_dim

    def check(self, value: Any) -> Any:
        raise ValueError("a dependent constraint has no check of its own: ask that of an instance")

    def __call__(self, *, is_discrete: bool | None = None, event_dim: int | None = None) -> "_Dependent":
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)


class _DependentProperty(property, _Dependent):
    """A constraint that a class knows of, and that an instance computes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> D = lg.distributions
    >>> D.constraints.is_dependent(D.Uniform.support), D.Uniform(0.0, 2.0).support.check(lg.tensor(1.0)).item()
    (True, True)
    """

    def __init__(
        self, fn: Callable[..., Any] | None = None, *, is_discrete: bool | None = None, event_dim: int | None = None
    ) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Any) -> "_DependentProperty":  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other parameters.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.constraints.is_dependent(lg.distributions.Uniform.support)
    True
    """
    return isinstance(constraint, _Dependent)


dependent, dependent_property = _Dependent(), _DependentProperty
independent, cat, stack = _IndependentConstraint, _Cat, _Stack
greater_than, greater_than_eq, less_than = _GreaterThan, _GreaterThanEq, _LessThan
interval, half_open_interval, integer_interval, multinomial = (
    *(_Interval, _HalfOpenInterval, _IntegerInterval, _Multinomial),
)
real, boolean, simplex, one_hot = _Real(), _Boolean(), _Simplex(), _OneHot()
real_vector = independent(real, 1)
positive, nonnegative, unit_interval = greater_than(0.0), greater_than_eq(0.0), interval(0.0, 1.0)
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
square, symmetric, lower_triangular = _Square(), _Symmetric(), _LowerTriangular()
lower_cholesky, corr_cholesky = _LowerCholesky(), _CorrCholesky()
positive_semidefinite, positive_definite = _PositiveSemidefinite(), _PositiveDefinite()
