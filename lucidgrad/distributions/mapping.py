"""What all transforms are, and those that are made of others: inverses, chains, parts side by side."""

import copy
from collections.abc import Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.tensor import Tensor

from . import constraints
from .distribution import summed, unavailable

__all__ = [
    "CatTransform", "ComposeTransform", "IndependentTransform", "StackTransform", "Transform", "identity_transform",
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


def _checked(name: str, given: Any, cache_size: int) -> list[Any]:
    """Transforms, with a cache if there is to be one."""
    parts: list[Any] = list(given) if isinstance(given, (list, tuple)) else [None]
    if not all(isinstance(part, Transform) for part in parts):
        raise TypeError(f"{name}: given parts of type {type(given).__name__}, expected a list of transforms")
    return [part.with_cache(cache_size) for part in parts] if cache_size else parts


# -- made of others --------------------------------------------------------------------------------
class ComposeTransform(Transform):
    """Transforms one after the other.

    Parameters
    ----------
    parts
        The transforms, the first of them first.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> D = lg.distributions
    >>> t = D.ComposeTransform([D.AffineTransform(0.0, 2.0), D.ExpTransform()])
    >>> t(lg.tensor([0.0, 0.5])).tolist()
    [1.0, 2.7183]
    """

    def __init__(self, parts: list[Any], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = _checked("ComposeTransform", parts, cache_size)
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

    Examples
    --------
    >>> import lucidgrad as lg
    >>> D = lg.distributions
    >>> t = D.IndependentTransform(D.ExpTransform(), 1)
    >>> x = lg.tensor([0.5, 1.0])
    >>> t.log_abs_det_jacobian(x, t(x))
    tensor(1.5)
    """

    def __init__(self, base_transform: Any, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.base_transform,) = _checked("IndependentTransform", [base_transform], cache_size)
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

    Examples
    --------
    >>> import lucidgrad as lg
    >>> D = lg.distributions
    >>> D.StackTransform([D.ExpTransform(), D.AffineTransform(1.0, 1.0)])(lg.zeros(2))
    tensor([1., 1.])
    """

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms = _checked("StackTransform", tseq, cache_size)
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
        self.transforms = _checked("CatTransform", tseq, cache_size)
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
