"""Maps between regions, with their inverses and the logarithm of the volume they scale by."""

import copy
import math
import operator
from collections.abc import Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.special import log_expit, softplus
from lucidgrad.tensor import Tensor

from . import constraints
from .distribution import summed, tiny, unavailable

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip

Shape = tuple[int, ...]


class Transform:
    """A map from its `domain` to its `codomain`, called on values; ``t.inv`` is its inverse.

    Parameters
    ----------
    cache_size
        One: the inverse of the last value is remembered, not computed; zero: not so.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> t = lg.distributions.ExpTransform()
    >>> x = lg.tensor([0.0, 1.0])
    >>> t.inv(t(x)).tolist(), t.log_abs_det_jacobian(x, t(x)).tolist()
    ([0.0, 1.0], [0.0, 1.0])
    """

    bijective: Any = False
    domain: Any = constraints.real
    codomain: Any = constraints.real
    _sign: Any = None
    _cached: tuple[Any, Any] | None = None

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"given cache_size={cache_size}, expected 0 or 1")
        self._cache_size = cache_size

    @property
    def event_dim(self) -> int:
        """How many trailing axes make one value, where that is the same before and after."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError(
                f"{type(self).__name__}: one value has {self.domain.event_dim} axes before and "
                f"{self.codomain.event_dim} after; ask domain.event_dim or codomain.event_dim"
            )
        return int(self.domain.event_dim)

    @property
    def inv(self) -> Any:
        """The inverse, a transform, too."""
        return _InverseTransform(self)

    @property
    def sign(self) -> Any:
        """1 where it rises, -1 where it falls."""
        if self._sign is None:
            unavailable(f"the sign of the derivative of {type(self).__name__}")
        return self._sign

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same with another cache."""
        made = copy.copy(self)
        made._cache_size, made._cached = cache_size, None
        return made

    def __call__(self, x: Any) -> Any:
        """Transform values."""
        if self._cache_size and self._cached and self._cached[0] is x:
            return self._cached[1]
        y = self._call(x)
        if self._cache_size:
            self._cached = x, y
        return y

    def _inv_call(self, y: Any) -> Any:
        if self._cache_size and self._cached and self._cached[1] is y:
            return self._cached[0]
        x = self._inverse(y)
        if self._cache_size:
            self._cached = x, y
        return x

    def _call(self, x: Any) -> Any:
        unavailable(f"{type(self).__name__} of a value")

    def _inverse(self, y: Any) -> Any:
        unavailable(f"the inverse of {type(self).__name__}")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of how volumes grow from ``x`` to ``y``, which is its image."""
        return self._log_slope(x, y)

    def _log_slope(self, x: Any, y: Any) -> Any:
        unavailable(f"the determinant of {type(self).__name__}")

    def forward_shape(self, shape: Shape) -> Shape:
        """The shape of the image of values of a shape."""
        return self._shape(tuple(shape), False)

    def inverse_shape(self, shape: Shape) -> Shape:
        """The shape of the values whose image has a shape."""
        return self._shape(tuple(shape), True)

    def _shape(self, shape: Shape, backwards: bool) -> Shape:
        return shape

    def _facts(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_cached", "_cache_size")}

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, Transform):
            return False
        own, its = self._facts(), other._facts()
        return own.keys() == its.keys() and all(_same(value, its[name]) for name, value in own.items())

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return bool(lg.array_equal(lg.as_tensor(a), lg.as_tensor(b)))
    return bool(a == b)


class _InverseTransform(Transform):
    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform
        self.bijective, self.domain, self.codomain = transform.bijective, transform.codomain, transform.domain

    @property
    def inv(self) -> Any:
        return self._inv

    @property
    def sign(self) -> Any:
        return self._inv.sign

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def _facts(self) -> dict[str, Any]:
        return {"inverse": self._inv}

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def _log_slope(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def _shape(self, shape: Shape, backwards: bool) -> Shape:
        return self._inv._shape(shape, not backwards)

    def __repr__(self) -> str:
        return f"{self._inv!r}.inv"


# -- made of others --------------------------------------------------------------------------------
class ComposeTransform(Transform):
    """Transforms one after the other.

    Parameters
    ----------
    parts
        The transforms, the first of them first.
    """

    def __init__(self, parts: list[Any], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)
        self.bijective = all(part.bijective for part in self.parts)
        self.domain, self.codomain = self._ends(self.parts), self._ends([part.inv for part in reversed(self.parts)])

    @staticmethod
    def _ends(parts: list[Any]) -> Any:
        """The domain of the first, with as many more axes as those after it need."""
        if not parts:
            return constraints.real
        axes = parts[-1].codomain.event_dim
        for part in reversed(parts):
            axes = max(axes + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        domain = parts[0].domain
        return constraints.independent(domain, axes - domain.event_dim) if axes > domain.event_dim else domain

    @property
    def sign(self) -> Any:
        """The product of the signs."""
        found: Any = 1
        for part in self.parts:
            found = found * part.sign
        return found

    @property
    def inv(self) -> Any:
        """The inverses, the last of them first."""
        return ComposeTransform([part.inv for part in reversed(self.parts)], self._cache_size)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same with another cache, also of the parts."""
        return ComposeTransform([part.with_cache(cache_size) for part in self.parts], cache_size)

    def _facts(self) -> dict[str, Any]:
        return {"parts": self.parts}

    def __call__(self, x: Any) -> Any:
        """Transform values."""
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def _log_slope(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return lg.zeros_like(x)
        found, axes = 0.0, self.domain.event_dim
        for part in self.parts:
            z = y if part is self.parts[-1] else part(x)
            found = found + summed(part.log_abs_det_jacobian(x, z), axes - part.domain.event_dim)
            axes += part.codomain.event_dim - part.domain.event_dim
            x = z
        return found

    def _shape(self, shape: Shape, backwards: bool) -> Shape:
        for part in reversed(self.parts) if backwards else self.parts:
            shape = part._shape(shape, backwards)
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.parts!r})"


identity_transform: Transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch axes count as axes of one value.

    Parameters
    ----------
    base_transform
        The transform.
    reinterpreted_batch_ndims
        How many axes.
    """

    def __init__(self, base_transform: Any, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size) if cache_size else base_transform
        self.reinterpreted_batch_ndims, self.bijective = reinterpreted_batch_ndims, base_transform.bijective
        self.domain = constraints.independent(base_transform.domain, reinterpreted_batch_ndims)
        self.codomain = constraints.independent(base_transform.codomain, reinterpreted_batch_ndims)

    def _facts(self) -> dict[str, Any]:
        return {"base": self.base_transform, "axes": self.reinterpreted_batch_ndims}

    @property
    def sign(self) -> Any:
        """That of the transform inside."""
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        return self.base_transform.inv(y)

    def _log_slope(self, x: Any, y: Any) -> Any:
        return summed(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def _shape(self, shape: Shape, backwards: bool) -> Shape:
        return self.base_transform._shape(shape, backwards)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class _Several(Transform):
    """A transform for each part of a value along an axis."""

    transforms: list[Any]
    dim: int

    def _split(self, x: Any) -> list[Any]:
        return list(x.unbind(self.dim))

    def _joined(self, parts: list[Any]) -> Any:
        return lg.stack(parts, axis=self.dim)

    def _each(self, how: str, *values: Any) -> Any:
        columns = zip(*(self._split(value) for value in values), strict=True)
        return self._joined([getattr(t, how)(*parts) for t, parts in zip(self.transforms, columns, strict=True)])

    def _call(self, x: Any) -> Any:
        return self._each("__call__", x)

    def _inverse(self, y: Any) -> Any:
        return self._each("_inv_call", y)

    def _log_slope(self, x: Any, y: Any) -> Any:
        return self._each("log_abs_det_jacobian", x, y)

    @property
    def bijective(self) -> bool:
        """Whether all are."""
        return all(t.bijective for t in self.transforms)


class StackTransform(_Several):
    """A transform for each position along an axis.

    Parameters
    ----------
    tseq
        The transforms.
    dim
        The axis.
    """

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def domain(self) -> Any:
        """Those of the transforms, stacked."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        """Those of the transforms, stacked."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CatTransform(_Several):
    """A transform for each stretch along an axis.

    Parameters
    ----------
    tseq
        The transforms.
    dim
        The axis.
    lengths
        How long the stretches are; one each, if it is not given.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> D = lg.distributions
    >>> D.CatTransform([D.ExpTransform(), D.identity_transform], 0, [2, 1])(lg.zeros(3)).tolist()
    [1.0, 1.0, 0.0]
    """

    def __init__(
        self, tseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim, self.lengths = dim, [1] * len(self.transforms) if lengths is None else list(lengths)

    @property
    def event_dim(self) -> int:
        """The most axes that one value of a part has."""
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The length of all together."""
        return sum(self.lengths)

    @property
    def domain(self) -> Any:
        """Those of the transforms, one after the other."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        """Those of the transforms, one after the other."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _split(self, x: Any) -> list[Any]:
        if x.shape[self.dim] != self.length:
            raise ValueError(
                f"CatTransform: given {x.shape[self.dim]} elements along axis {self.dim}, expected {self.length}"
            )
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        return [x.narrow(self.dim, start, n) for start, n in zip(starts, self.lengths, strict=True)]

    def _joined(self, parts: list[Any]) -> Any:
        return lg.cat(parts, self.dim)

    def _log_slope(self, x: Any, y: Any) -> Any:
        axes = self.event_dim
        columns = zip(self.transforms, self._split(x), self._split(y), strict=True)
        found = [summed(t.log_abs_det_jacobian(v, w), axes - t.domain.event_dim) for t, v, w in columns]
        dim = self.dim if self.dim < 0 else self.dim - x.ndim
        if dim + axes < 0:  # the axis is one of the batch
            return lg.cat(found, dim + axes)
        total = found[0]
        for part in found[1:]:
            total = total + part
        return total


# -- elementwise -----------------------------------------------------------------------------------
class ExpTransform(Transform):
    """``exp(x)``."""

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
    """``1 / (1 + exp(-x))``, between zero and one even where that rounds to them."""

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
    """``log(1 + exp(x))``."""

    codomain = constraints.positive
    bijective, _sign = True, 1

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return lg.log(-lg.expm1(-y)) + y

    def _log_slope(self, x: Any, y: Any) -> Any:
        return log_expit(x)


class TanhTransform(Transform):
    """``tanh(x)``."""

    codomain = constraints.interval(-1.0, 1.0)
    bijective, _sign = True, 1

    def _call(self, x: Any) -> Any:
        return lg.tanh(x)

    def _inverse(self, y: Any) -> Any:
        return lg.atanh(y)

    def _log_slope(self, x: Any, y: Any) -> Any:
        return 2 * (math.log(2) - x - softplus(-2 * x))


class AbsTransform(Transform):
    """``|x|``, whose inverse takes the positive side."""

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
    """

    codomain = constraints.unit_interval
    bijective, _sign = True, 1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
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
    """Softmax along the last axis, whose inverse is the logarithm: not a bijection."""

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
    """From square matrices to lower triangular ones whose diagonal is positive: its exponential."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + lg.diag_embed(lg.exp(lg.linalg.diagonal(x)))

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + lg.diag_embed(lg.log(lg.linalg.diagonal(y)))


class PositiveDefiniteTransform(Transform):
    """From square matrices to positive definite ones, by `LowerCholeskyTransform`."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(lg.linalg.cholesky(y))
