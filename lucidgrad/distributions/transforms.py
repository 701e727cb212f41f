"""Maps between regions, with their inverses and the logarithm of the volume they scale by."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.special import log_expit, softplus

from . import constraints
from .distribution import Distribution, summed, tiny
from .mapping import (
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    Shape,
    StackTransform,
    Transform,
    identity_transform,
)

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip


# -- elementwise -----------------------------------------------------------------------------------
class ExpTransform(Transform):
    """``exp(x)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0])
    >>> t = lg.distributions.ExpTransform()
    >>> t.log_abs_det_jacobian(x, t(x))
    tensor([0., 1.])
    """

    codomain = constraints.positive
    bijective, _sign = True, 1

    def _call(self, x: Any) -> Any:
        return lg.exp(x)

    def _inverse(self, y: Any) -> Any:
        return lg.log(y)

    def _log_slope(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """``x**exponent`` of positive numbers.

    Parameters
    ----------
    exponent
        A number or a tensor.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.PowerTransform(2.0)(lg.tensor([1.0, 3.0]))
    tensor([1., 9.])
    """

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = lg.as_tensor(exponent)

    @property
    def sign(self) -> Any:
        """That of the exponent."""
        return self.exponent.sign()

    def _call(self, x: Any) -> Any:
        return x**self.exponent

    def _inverse(self, y: Any) -> Any:
        return y ** (1 / self.exponent)

    def _log_slope(self, x: Any, y: Any) -> Any:
        return lg.log((self.exponent * y / x).abs())

    def _shape(self, shape: Shape, backwards: bool) -> Shape:
        return tuple(lg.broadcast_shapes(shape, tuple(self.exponent.shape)))


class SigmoidTransform(Transform):
    """``1 / (1 + exp(-x))``, between zero and one even where that rounds to them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.SigmoidTransform()(lg.tensor([0.0]))
    tensor([0.5])
    """

    codomain = constraints.unit_interval
    bijective, _sign = True, 1

    def _call(self, x: Any) -> Any:
        return _within(lg.sigmoid(x))

    def _inverse(self, y: Any) -> Any:
        y = _within(y)
        return lg.log(y) - lg.log1p(-y)

    def _log_slope(self, x: Any, y: Any) -> Any:
        return log_expit(x) + log_expit(-x)


def _within(y: Any) -> Any:
    return y.clamp(min=tiny(y), max=1 - float(lg.finfo(y.dtype).eps))


class SoftplusTransform(Transform):
    """``log(1 + exp(x))``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> t = lg.distributions.SoftplusTransform()
    >>> t.inv(t(lg.tensor([1.0]))).tolist()
    [1.0000]
    """

    codomain = constraints.positive
    bijective, _sign = True, 1

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return lg.log(-lg.expm1(-y)) + y

    def _log_slope(self, x: Any, y: Any) -> Any:
        return log_expit(x)


class TanhTransform(Transform):
    """``tanh(x)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.TanhTransform()(lg.tensor([0.0]))
    tensor([0.])
    """

    codomain = constraints.interval(-1.0, 1.0)
    bijective, _sign = True, 1

    def _call(self, x: Any) -> Any:
        return lg.tanh(x)

    def _inverse(self, y: Any) -> Any:
        return lg.atanh(y)

    def _log_slope(self, x: Any, y: Any) -> Any:
        return 2 * (math.log(2) - x - softplus(-2 * x))


class AbsTransform(Transform):
    """``|x|``, whose inverse takes the positive side.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.AbsTransform()(lg.tensor([-1.0, 2.0]))
    tensor([1., 2.])
    """

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """``loc + scale * x``.

    Parameters
    ----------
    loc, scale
        Numbers or tensors.
    event_dim
        How many trailing axes make one value.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> t = lg.distributions.AffineTransform(1.0, 2.0)
    >>> x = lg.tensor([0.0, 3.0])
    >>> t(x), t.inv(t(x))
    (tensor([1., 7.]), tensor([0., 3.]))
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        """How many trailing axes make one value."""
        return self._event_dim

    @property
    def domain(self) -> Any:
        """The real numbers."""
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    @property
    def codomain(self) -> Any:
        """The real numbers."""
        return self.domain

    @property
    def sign(self) -> Any:
        """That of the scale."""
        if isinstance(self.scale, (int, float)):
            return 1 if self.scale > 0 else -1 if self.scale < 0 else 0
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def _log_slope(self, x: Any, y: Any) -> Any:
        if isinstance(self.scale, (int, float)):
            found = lg.full_like(x, math.log(abs(self.scale)))
        else:
            found = lg.log(self.scale.abs())
            found = found.expand(tuple(lg.broadcast_shapes(tuple(found.shape), tuple(x.shape))))
        return summed(found, self._event_dim)

    def _shape(self, shape: Shape, backwards: bool) -> Shape:
        parts = (tuple(getattr(p, "shape", ())) for p in (self.loc, self.scale))
        return tuple(lg.broadcast_shapes(shape, *parts))


class CumulativeDistributionTransform(Transform):
    """The distribution function of a distribution, whose values become uniform by it.

    Parameters
    ----------
    distribution
        The distribution.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> D = lg.distributions
    >>> D.CumulativeDistributionTransform(D.Uniform(0.0, 4.0))(lg.tensor([1.0, 2.0]))
    tensor([0.25, 0.5 ])
    """

    codomain = constraints.unit_interval
    bijective, _sign = True, 1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        if not isinstance(distribution, Distribution):
            raise TypeError(
                f"CumulativeDistributionTransform: given a {type(distribution).__name__}, expected a distribution"
            )
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """The support of the distribution."""
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def _log_slope(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)


# -- vectors and matrices --------------------------------------------------------------------------
class ReshapeTransform(Transform):
    """The same elements in another shape.

    Parameters
    ----------
    in_shape, out_shape
        The shapes of one value before and after.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.ReshapeTransform((4,), (2, 2))(lg.arange(4.0))
    tensor([[0., 1.],
            [2., 3.]])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = (tuple(map(operator.index, shape)) for shape in (in_shape, out_shape))
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError(
                f"ReshapeTransform: given the shapes {self.in_shape} and {self.out_shape}, expected as many elements"
            )

    @property
    def domain(self) -> Any:
        """Real numbers in the shape before."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        """Real numbers in the shape after."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Any) -> Any:
        return x.reshape(self.forward_shape(tuple(x.shape)))

    def _inverse(self, y: Any) -> Any:
        return y.reshape(self.inverse_shape(tuple(y.shape)))

    def _log_slope(self, x: Any, y: Any) -> Any:
        return lg.zeros(x.shape[: x.ndim - len(self.in_shape)], dtype=x.dtype, device=x.device)

    def _shape(self, shape: Shape, backwards: bool) -> Shape:
        before, after = (self.out_shape, self.in_shape) if backwards else (self.in_shape, self.out_shape)
        cut = len(shape) - len(before)
        if cut < 0 or shape[cut:] != before:
            raise ValueError(f"ReshapeTransform: given the shape {shape}, expected one that ends with {before}")
        return shape[:cut] + after


class SoftmaxTransform(Transform):
    """Softmax along the last axis, whose inverse is the logarithm: not a bijection.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.SoftmaxTransform()(lg.tensor([0.0, 0.0]))
    tensor([0.5, 0.5])
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Any) -> Any:
        return lg.softmax(x, axis=-1)

    def _inverse(self, y: Any) -> Any:
        return lg.log(y)

    def _shape(self, shape: Shape, backwards: bool) -> Shape:
        return _with_axes("SoftmaxTransform", shape, 1)


class StickBreakingTransform(Transform):
    """From vectors to probabilities, one more of them: each takes its part of what those before it left.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.StickBreakingTransform()(lg.zeros(2)).tolist()
    [0.3333, 0.3333, 0.3333]
    """

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    def _parts(self, x: Any) -> Any:
        """Log odds of each part, of which zeros make equal ones."""
        left = lg.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device)
        return x - lg.log(left)

    def _call(self, x: Any) -> Any:
        odds = self._parts(x)
        one = lg.ones_like(x[..., :1])
        left = lg.cumprod(lg.sigmoid(-odds), -1)
        return _within(lg.cat([lg.sigmoid(odds), one], -1) * lg.cat([one, left], -1))

    def _inverse(self, y: Any) -> Any:
        taken = y[..., :-1]
        left = lg.flip(lg.cumsum(lg.flip(y, axis=-1), -1), axis=-1)[..., 1:]  # summed from the end: nothing cancels
        count = lg.arange(taken.shape[-1], 0, -1, dtype=y.dtype, device=y.device)
        return lg.log(taken) - lg.log(left.clamp(min=tiny(y))) + lg.log(count)

    def _log_slope(self, x: Any, y: Any) -> Any:
        odds = self._parts(x)
        return (log_expit(odds) - odds + lg.log(y[..., :-1])).sum(-1)

    def _shape(self, shape: Shape, backwards: bool) -> Shape:
        shape = _with_axes("StickBreakingTransform", shape, 1)
        return (*shape[:-1], shape[-1] + (-1 if backwards else 1))


def _with_axes(name: str, shape: Shape, axes: int) -> Shape:
    if len(shape) < axes:
        raise ValueError(f"{name}: given the shape {shape}, expected {axes} or more axes")
    return shape


def _lower_indices(n: int, diagonal: int) -> list[tuple[int, int]]:
    """Positions below a diagonal of a square matrix, row by row."""
    return [(i, j) for i in range(n) for j in range(n) if j - i <= diagonal]


def _to_lower(x: Any, n: int) -> Any:
    """The elements of vectors as those below the diagonal."""
    order = {place: k + 1 for k, place in enumerate(_lower_indices(n, -1))}
    places = lg.tensor([[order.get((i, j), 0) for j in range(n)] for i in range(n)], dtype=lg.int64, device=x.device)
    return lg.cat([lg.zeros_like(x[..., :1]), x], -1)[..., places]


def _from_lower(x: Any, diagonal: int) -> Any:
    n = x.shape[-1]
    places = lg.tensor([i * n + j for i, j in _lower_indices(n, diagonal)], dtype=lg.int64, device=x.device)
    return x.reshape((*x.shape[:-2], n * n))[..., places]


class CorrCholeskyTransform(Transform):
    """From vectors to the Cholesky factors of correlation matrices.

    Each element, by its hyperbolic tangent, is a partial correlation: the part of what its row has left of length one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.CorrCholeskyTransform()(lg.zeros(1)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        n = self._size(tuple(x.shape))
        limit = 1 - float(lg.finfo(x.dtype).eps)
        r = _to_lower(lg.tanh(x).clamp(-limit, limit), n)
        left = lg.cumprod(((1 - r) * (1 + r)).sqrt(), -1)[..., :-1]
        before = lg.cat([lg.ones_like(r[..., :1]), left], -1)
        return (r + lg.eye(n, dtype=x.dtype, device=x.device)) * before

    def _inverse(self, y: Any) -> Any:
        left = (1 - lg.cumsum(y * y, -1))[..., :-1]
        left = lg.cat([lg.ones_like(y[..., :1]), left], -1)
        return lg.atanh(_from_lower(y, -1) / _from_lower(left, -1).sqrt())

    def _log_slope(self, x: Any, y: Any) -> Any:
        left = _from_lower(1 - lg.cumsum(y * y, -1), -2)
        return 0.5 * lg.log(left).sum(-1) - 2 * (x + softplus(-2 * x) - math.log(2)).sum(-1)

    @staticmethod
    def _size(shape: Shape) -> int:
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError(
                f"CorrCholeskyTransform: given {shape[-1]} elements, expected n * (n - 1) / 2 of them, one for each "
                f"pair"
            )
        return n

    def _shape(self, shape: Shape, backwards: bool) -> Shape:
        if backwards:
            n = _square("CorrCholeskyTransform", shape)[-1]
            return (*shape[:-2], n * (n - 1) // 2)
        n = self._size(_with_axes("CorrCholeskyTransform", shape, 1))
        return (*shape[:-1], n, n)


def _square(name: str, shape: Shape) -> Shape:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"{name}: given the shape {shape}, expected that of square matrices")
    return shape


class LowerCholeskyTransform(Transform):
    """From square matrices to lower triangular ones whose diagonal is positive: its exponential.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.LowerCholeskyTransform()(lg.tensor([[0.0, 9.0], [1.0, 0.0]]))
    tensor([[1., 0.],
            [1., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + lg.diag_embed(lg.exp(lg.linalg.diagonal(x)))

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + lg.diag_embed(lg.log(lg.linalg.diagonal(y)))


class PositiveDefiniteTransform(Transform):
    """From square matrices to positive definite ones, by `LowerCholeskyTransform`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.distributions.PositiveDefiniteTransform()(lg.tensor([[0.0, 0.0], [1.0, 0.0]]))
    tensor([[1., 1.],
            [1., 2.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(lg.linalg.cholesky(y))
