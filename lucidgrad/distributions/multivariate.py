"""Distributions of vectors and matrices."""

import math
import warnings
from typing import Any

import lucidgrad as lg
from lucidgrad import special

from . import draws
from .constraints import (
    corr_cholesky,
    dependent,
    greater_than,
    independent,
    lower_cholesky,
    positive,
    positive_definite,
    real,
    real_vector,
)
from .distribution import HALF_LOG_2PI, Distribution, ExponentialFamily, derived, exactly_one, tiny
from .unit import Beta

__all__ = ["LKJCholesky", "LowRankMultivariateNormal", "MultivariateNormal", "Wishart"]


def log_diagonal(factor: Any) -> Any:
    """The sum of the logarithms of a diagonal: half of the logarithm of the determinant, if it is a Cholesky factor."""
    return lg.log(lg.linalg.diagonal(factor)).sum(-1)


def solved(factor: Any, x: Any) -> Any:
    """``factor**-1 @ x``, with batches of either broadcast."""
    batch = lg.broadcast_shapes(tuple(factor.shape[:-2]), tuple(x.shape[:-2]))
    return lg.linalg.solve(factor.expand((*batch, *factor.shape[-2:])), x.expand((*batch, *x.shape[-2:])))


def length2(factor: Any, x: Any) -> Any:
    """The squared length of ``factor**-1 @ x``."""
    z = solved(factor, x.unsqueeze(-1)).squeeze(-1)
    return (z * z).sum(-1)


def _applied(matrix: Any, x: Any) -> Any:
    return (matrix @ x.unsqueeze(-1)).squeeze(-1)


def _from_precision(precision: Any) -> Any:
    """The Cholesky factor of the inverse: the inverse of that factor which has the other triangle."""
    turned = lg.linalg.cholesky(lg.flip(precision, axis=(-2, -1)))
    return lg.linalg.inv(lg.flip(turned, axis=(-2, -1)).mT).tril()


def _inverse_square(factor: Any) -> Any:
    inverse = lg.linalg.inv(factor)
    return inverse.mT @ inverse


class _Scaled(Distribution):
    """A family with a covariance matrix, its inverse, or its Cholesky factor as a parameter."""

    covariance_matrix: Any = derived(lambda self: self.scale_tril @ self.scale_tril.mT)
    precision_matrix: Any = derived(lambda self: _inverse_square(self.scale_tril))
    scale_tril: Any = derived(lambda self: self._factor.expand((*self._batch_shape, *self._factor.shape[-2:])))
    _factor: Any

    def _matrix(self, covariance_matrix: Any, precision_matrix: Any, scale_tril: Any) -> dict[str, Any]:
        given = exactly_one(
            type(self).__name__,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        ((name, matrix),) = given.items()
        if getattr(matrix, "ndim", 0) < 2:
            raise ValueError(f"{type(self).__name__}: given a {name} that is no matrix, expected two or more axes")
        return given

    def _factorise(self, given: dict[str, Any]) -> None:
        """Once, and after the parameters were checked."""
        ((name, matrix),) = given.items()
        if name == "scale_tril":
            self._factor = matrix
        else:
            self._factor = lg.linalg.cholesky(matrix) if name == "covariance_matrix" else _from_precision(matrix)


class MultivariateNormal(_Scaled):
    """The normal distribution of vectors.

    Parameters
    ----------
    loc
        The mean.
    covariance_matrix, precision_matrix, scale_tril
        One of them: the covariance, its inverse, or its Cholesky factor, which is the quickest.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> d = lg.distributions.MultivariateNormal(lg.zeros(2), lg.tensor([[2.0, 1.0], [1.0, 2.0]]))
    >>> d.log_prob(lg.zeros(2)).item()
    -2.3872
    """

    arg_constraints = {  # noqa: RUF012
        "loc": real_vector,
        "covariance_matrix": positive_definite,
        "precision_matrix": positive_definite,
        "scale_tril": lower_cholesky,
    }
    support = real_vector
    has_rsample = True
    loc: Any

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if getattr(loc, "ndim", 0) < 1:
            raise ValueError("MultivariateNormal: given a loc without an axis, expected a vector")
        given = self._matrix(covariance_matrix, precision_matrix, scale_tril)
        size = next(iter(given.values())).shape[-1]
        if loc.shape[-1] != size:  # one number may stand for all
            loc = loc.expand((*loc.shape[:-1], size))
        self._take(validate_args, (size,), loc=loc, **given)
        self._factorise(given)

    def _mean(self) -> Any:
        return self.loc

    _mode = _mean

    def _variance(self) -> Any:
        wide = (self._factor * self._factor).sum(-1)
        return wide.expand((*self._batch_shape, *self._event_shape))

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self.loc + _applied(self._factor, draws.normal(shape, self.loc))

    def _log_prob(self, value: Any) -> Any:
        far = length2(self._factor, value - self.loc)
        return -0.5 * far - log_diagonal(self._factor) - self._event_shape[0] * HALF_LOG_2PI

    def _entropy(self) -> Any:
        found = log_diagonal(self._factor) + self._event_shape[0] * (HALF_LOG_2PI + 0.5)
        return found.expand(self._batch_shape)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with covariance ``cov_factor @ cov_factor.mT + diag(cov_diag)``.

    Parameters
    ----------
    loc
        The mean.
    cov_factor, cov_diag
        A matrix of few columns, and a diagonal.

    Notes
    -----
    Only matrices of the size of the few columns are decomposed, by Woodbury's formula.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> d = lg.distributions.LowRankMultivariateNormal(lg.zeros(2), lg.ones(2, 1), lg.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    arg_constraints = {  # noqa: RUF012
        "loc": real_vector,
        "cov_factor": independent(real, 2),
        "cov_diag": independent(positive, 1),
    }
    support = real_vector
    has_rsample = True
    loc: Any
    cov_factor: Any
    cov_diag: Any

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        if getattr(loc, "ndim", 0) < 1:
            raise ValueError("LowRankMultivariateNormal: given a loc without an axis, expected a vector")
        size = loc.shape[-1]
        if getattr(cov_factor, "ndim", 0) < 2 or cov_factor.shape[-2] != size:
            raise ValueError(f"LowRankMultivariateNormal: given a cov_factor that has not {size} rows")
        if getattr(cov_diag, "ndim", 0) < 1 or cov_diag.shape[-1] != size:
            raise ValueError(f"LowRankMultivariateNormal: given a cov_diag that has not {size} elements")
        self._take(validate_args, (size,), loc=loc, cov_factor=cov_factor, cov_diag=cov_diag)
        few, like = cov_factor.shape[-1], dict(dtype=cov_factor.dtype, device=cov_factor.device)
        self._core = lg.linalg.cholesky(self._weighed() @ self.cov_factor + lg.eye(few, **like))

    def _weighed(self) -> Any:
        return self.cov_factor.mT / self.cov_diag.unsqueeze(-2)

    def _spread(self, batch: tuple[int, ...]) -> None:
        super()._spread(batch)
        if "_core" in vars(self):
            self._core = self._core.expand((*batch, *self._core.shape[-2:]))

    def _mean(self) -> Any:
        return self.loc

    _mode = _mean

    def _variance(self) -> Any:
        return (self.cov_factor * self.cov_factor).sum(-1) + self.cov_diag

    @property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        return self.cov_factor @ self.cov_factor.mT + lg.diag_embed(self.cov_diag)

    @property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        return lg.linalg.cholesky(self.covariance_matrix)

    @property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        part = lg.linalg.solve(self._core, self._weighed())
        return lg.diag_embed(1 / self.cov_diag) - part.mT @ part

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        common = draws.normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        own = draws.normal(shape, self.loc)
        return self.loc + _applied(self.cov_factor, common) + self.cov_diag.sqrt() * own

    def _log_determinant(self) -> Any:
        return 2 * log_diagonal(self._core) + lg.log(self.cov_diag).sum(-1)

    def _length2(self, x: Any) -> Any:
        return (x * x / self.cov_diag).sum(-1) - length2(self._core, _applied(self._weighed(), x))

    def _log_prob(self, value: Any) -> Any:
        far = self._length2(value - self.loc)
        return -0.5 * (far + self._log_determinant()) - self._event_shape[0] * HALF_LOG_2PI

    def _entropy(self) -> Any:
        return 0.5 * self._log_determinant() + self._event_shape[0] * (HALF_LOG_2PI + 0.5)


class Wishart(_Scaled, ExponentialFamily):
    """Wishart's distribution of the sum of squares of normal vectors, as matrices.

    Parameters
    ----------
    df
        How many: the degrees of freedom, more than the size of the matrices less one.
    covariance_matrix, precision_matrix, scale_tril
        One of them: the covariance of the vectors, its inverse, or its Cholesky factor.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.Wishart(lg.tensor(3.0), lg.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = positive_definite
    has_rsample = True
    df: Any

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        given = self._matrix(covariance_matrix, precision_matrix, scale_tril)
        shape = tuple(next(iter(given.values())).shape[-2:])
        self._take(validate_args, shape, **given, df=df)
        self._factorise(given)
        if self._validate_args and bool((self.df.detach() < shape[-1]).any()):
            warnings.warn(
                f"Wishart: given df below the size {shape[-1]}; samples are often singular",
                UserWarning,
                stacklevel=2,
            )

    @property
    def arg_constraints(self) -> Any:
        """The degrees of freedom depend on the size of the matrices."""
        least = self._event_shape[-1] - 1 if "_event_shape" in vars(self) else None
        return {
            "covariance_matrix": positive_definite,
            "precision_matrix": positive_definite,
            "scale_tril": lower_cholesky,
            "df": dependent if least is None else greater_than(least),
        }

    def _wide(self) -> Any:
        return self.df.unsqueeze(-1).unsqueeze(-1)

    def _mean(self) -> Any:
        return self._wide() * self.covariance_matrix

    def _mode(self) -> Any:
        more = self._wide() - self._event_shape[-1] - 1
        return lg.where(more > 0, more, math.nan) * self.covariance_matrix

    def _variance(self) -> Any:
        v = self.covariance_matrix
        own = lg.linalg.diagonal(v)
        return self._wide() * (v * v + own.unsqueeze(-1) * own.unsqueeze(-2))

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        """By the factor of M. S. Bartlett: normal values below a diagonal of the roots of chi-squares."""
        size = shape[-1]
        fewer = lg.arange(size, dtype=self._factor.dtype, device=self._factor.device)
        half = ((self.df.unsqueeze(-1) - fewer) * 0.5).expand(shape[:-1])
        roots = (2 * draws.standard_gamma(half)).sqrt().clamp(min=float(lg.finfo(half.dtype).eps))
        factor = self._factor @ (draws.normal(shape, half).tril(-1) + lg.diag_embed(roots))
        return factor @ factor.mT

    def _log_scale(self) -> Any:
        return self._event_shape[-1] * (0.5 * math.log(2)) + log_diagonal(self._factor)

    def _log_prob(self, value: Any) -> Any:
        size, root = self._event_shape[-1], lg.linalg.cholesky(value)
        ratio = solved(self._factor, root)
        bulk = (self.df - size - 1) * log_diagonal(root) - 0.5 * (ratio * ratio).sum(-1).sum(-1)
        return bulk - self.df * self._log_scale() - special.multigammaln(self.df * 0.5, size)

    def _mean_log(self) -> Any:
        """The sum of the digamma functions in the mean of the logarithm of the determinant."""
        return sum(lg.digamma(0.5 * (self.df - k)) for k in range(self._event_shape[-1]))

    def _entropy(self) -> Any:
        size = self._event_shape[-1]
        rest = 0.5 * (self.df - size - 1) * self._mean_log()
        found = (size + 1) * self._log_scale() + special.multigammaln(self.df * 0.5, size) - rest
        return found + 0.5 * self.df * size


class LKJCholesky(Distribution):
    """The distribution of Lewandowski, Kurowicka and Joe of correlation matrices, as Cholesky factors.

    Parameters
    ----------
    dim
        The size of the matrices.
    concentration
        One: all correlation matrices alike; more: closer to the identity.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.distributions.LKJCholesky(3, 0.5).sample()
    >>> bool(((x * x).sum(-1) - 1).abs().max() < 1e-5)
    True
    """

    arg_constraints = {"concentration": positive}  # noqa: RUF012
    support = corr_cholesky
    concentration: Any

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"LKJCholesky: given dim={dim}, expected 2 or more")
        self.dim = dim
        self._take(validate_args, (dim, dim), concentration=concentration)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        """Row by row: a direction, and the part of its length that belongs to it (the onion)."""
        c = self.concentration.unsqueeze(-1)
        row = lg.arange(self.dim, dtype=c.dtype, device=c.device)
        before = (row - 1).clamp(min=0)
        part = Beta(0.5 * before + 0.5, c + 0.5 * (self.dim - 2) - 0.5 * before, False)
        y = part.sample(shape[: len(shape) - 2 - len(self._batch_shape)]).unsqueeze(-1)
        u = draws.normal(shape, c).tril(-1)
        length = (u * u).sum(-1).unsqueeze(-1)
        w = y.sqrt() * u / lg.where(length > 0, length, 1.0).sqrt()
        rest = (1 - (w * w).sum(-1)).clamp(min=tiny(w))
        return w + lg.diag_embed(rest.sqrt())

    def _log_prob(self, value: Any) -> Any:
        n, c = self.dim, self.concentration
        powers = 2 * (c.unsqueeze(-1) - 1) + n - lg.arange(2, n + 1, dtype=c.dtype, device=c.device)
        bulk = (powers * lg.log(lg.linalg.diagonal(value)[..., 1:])).sum(-1)
        top = c + 0.5 * (n - 1)
        constant = 0.5 * (n - 1) * math.log(math.pi) + special.multigammaln(top - 0.5, n - 1)
        return bulk - constant + lg.lgamma(top) * (n - 1)
