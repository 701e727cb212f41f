"""The methods of `Tensor` that compute, in PyTorch's spelling and meaning."""

from collections.abc import Callable
from typing import Any

from lucidgrad import ops
from lucidgrad.core import dtype as dtypes
from lucidgrad.core.dispatch import complexes, floats, number
from lucidgrad.core.engine import tape_namespace as xp
from lucidgrad.ops.conventions import ValuesAndIndices
from lucidgrad.refusals import guard_methods

from .deferred import name_methods


class Mathematics:
    """Methods that are functions of the elements."""

    __slots__ = ()

    # -- sums
    def add(self, other: Any, *, alpha: Any = 1) -> Any:
        """The sum with ``alpha`` times another."""
        return xp.add(self, ops.elementwise.arithmetic.times(alpha, other))

    def sub(self, other: Any, *, alpha: Any = 1) -> Any:
        """The difference to ``alpha`` times another."""
        return xp.subtract(self, ops.elementwise.arithmetic.times(alpha, other))

    subtract = sub

    # -- reductions
    def max(self, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        """The largest element; along an axis, or with another tensor, as PyTorch's method."""
        return _extreme(self, dim if other is None else other, keepdim, "max")

    def min(self, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        """The smallest element; along an axis, or with another tensor, as PyTorch's method."""
        return _extreme(self, dim if other is None else other, keepdim, "min")

    def var(self, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None) -> Any:
        """The variance, unbiased by default as PyTorch's (`lucidgrad.var` is the standard's: correction 0)."""
        return _spread(ops.reduction.var, self, dim, unbiased, keepdim, correction)

    def std(self, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None) -> Any:
        """The standard deviation, unbiased by default as PyTorch's."""
        return _spread(ops.reduction.std, self, dim, unbiased, keepdim, correction)

    def cumsum(self, dim: Any = None, *, dtype: Any = None) -> Any:
        """Running sums along an axis."""
        return _along(self, lambda x: ops.scan.cumulative_sum(x, axis=dim, dtype=dtype))

    def cumprod(self, dim: Any = None, *, dtype: Any = None) -> Any:
        """Running products along an axis."""
        return _along(self, lambda x: ops.scan.cumulative_prod(x, axis=dim, dtype=dtype))

    def sort(self, dim: int = -1, descending: bool = False, stable: bool = False) -> ValuesAndIndices:
        """Sorted values and where they were."""

        def both(x: Any) -> ValuesAndIndices:
            order = ops.sorting.argsort(x, axis=dim, descending=descending)
            return ValuesAndIndices(ops.indexing.taking.take_along_axis(x, order, axis=dim), order)

        return _along(self, both)

    def nonzero(self, *, as_tuple: Any = False) -> Any:
        """Where the elements are not zero: one row per place, or the indices of each axis with ``as_tuple``."""
        flat = ops.shape.layout.reshape(self, (1,)) if self.ndim == 0 else self  # type: ignore[attr-defined]
        places = ops.sorting.nonzero(flat)
        if as_tuple:
            return places
        return ops.shape.joining.stack(places, axis=1)[:, : self.ndim]  # type: ignore[attr-defined]

    # -- statistics
    def median(self, dim: Any = None, keepdim: bool = False) -> Any:
        """The lower of the two middle values, along an axis with its index (`lucidgrad.median` is NumPy's)."""
        return ops.quantiles.lower_median(self, dim, keepdim)

    def nanmedian(self, dim: Any = None, keepdim: bool = False) -> Any:
        """`median` of the elements that are not NaN."""
        return ops.quantiles.lower_median(self, dim, keepdim, skip=True)

    def quantile(self, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear") -> Any:
        """Values below which fractions of the elements lie."""
        return ops.quantiles.quantile(self, q, axis=dim, keepdims=keepdim, method=interpolation)

    def nanquantile(self, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear") -> Any:
        """`quantile` of the elements that are not NaN."""
        return ops.quantiles.nanquantile(self, q, axis=dim, keepdims=keepdim, method=interpolation)

    def cov(self, *, correction: Any = 1, fweights: Any = None, aweights: Any = None) -> Any:
        """The matrix of covariances of the rows."""
        return ops.statistics.cov(self, ddof=correction, fweights=fweights, aweights=aweights)

    def unique(self, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
               dim: int | None = None) -> Any:  # fmt: skip
        """The distinct values in order, or the distinct slices along an axis."""
        return ops.counting.unique(
            self, return_inverse=return_inverse, return_counts=return_counts, axis=dim, equal_nan=False
        )

    def lgamma(self) -> Any:
        """The logarithm of the gamma function."""
        return xp.lgamma(self)

    def digamma(self) -> Any:
        """The derivative of `lgamma`."""
        return xp.digamma(self)

    def polygamma(self, n: Any) -> Any:
        """The derivative of order ``n`` of `digamma`."""
        return xp.polygamma(n, self)

    def mvlgamma(self, p: int) -> Any:
        """The logarithm of the gamma function of ``p`` dimensions."""
        return xp.mvlgamma(self, p)

    def igamma(self, other: Any) -> Any:
        """The regularised lower incomplete gamma function, of which this is the parameter."""
        return xp.igamma(self, other)

    def igammac(self, other: Any) -> Any:
        """The regularised upper incomplete gamma function, of which this is the parameter."""
        return xp.igammac(self, other)

    def i0(self) -> Any:
        """The modified Bessel function of order zero."""
        return xp.i0(self)

    def where(self, condition: Any, other: Any) -> Any:
        """These elements where a condition holds, those of another tensor elsewhere."""
        return ops.elementwise.choice.where(condition, self, other)

    def clamp(self, min: Any = None, max: Any = None) -> Any:
        """Limited to an interval."""
        return ops.elementwise.choice.clip(self, min, max)

    clip = clamp

    # -- dtypes
    def type_as(self, other: Any) -> Any:
        """In another tensor's dtype and on its device.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.tensor([1, 2]).type_as(lg.ones(1))
        tensor([1., 2.])
        """
        return self.to(other)  # type: ignore[attr-defined]

    def float(self) -> Any:
        """As float32.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.tensor([1, 2]).float()
        tensor([1., 2.])
        """
        return self.to(dtypes.named("float32"))  # type: ignore[attr-defined]

    def double(self) -> Any:
        """As float64.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.ones(2).double().dtype
        dtype('float64')
        """
        return self.to(dtypes.named("float64"))  # type: ignore[attr-defined]

    def half(self) -> Any:
        """As float16.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.ones(2).half().dtype
        dtype('float16')
        """
        return self.to(dtypes.named("float16"))  # type: ignore[attr-defined]

    def long(self) -> Any:
        """As int64.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.tensor([1.7, -1.7]).long()
        tensor([ 1, -1])
        """
        return self.to(dtypes.named("int64"))  # type: ignore[attr-defined]

    def int(self) -> Any:
        """As int32.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.tensor([1.7, -1.7]).int()
        tensor([ 1, -1], dtype=int32)
        """
        return self.to(dtypes.named("int32"))  # type: ignore[attr-defined]

    def bool(self) -> Any:
        """As bool."""
        return self.to(dtypes.named("bool"))  # type: ignore[attr-defined]

    @property
    def real(self) -> Any:
        """The real part."""
        return ops.elementwise.complex.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        ops.elementwise.complex.real(self).copy_(value)

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return ops.elementwise.complex.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        if not self.is_complex():
            raise RuntimeError(f"imag: given a tensor of dtype {self.array.dtype}, expected a complex one")  # type: ignore[attr-defined]
        ops.elementwise.complex.imag(self).copy_(value)

    def is_floating_point(self) -> Any:
        """Whether the dtype is a real floating-point one.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.is_floating_point(lg.ones(2))
        True
        """
        own = self.array.dtype  # type: ignore[attr-defined]
        return own in floats and own not in complexes

    def is_complex(self) -> Any:
        """Whether the dtype is complex.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.is_complex(lg.tensor([1j]))
        True
        """
        return self.array.dtype in complexes  # type: ignore[attr-defined]

    def numel(self) -> Any:
        """The number of elements.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.numel(lg.ones(2, 3))
        6
        """
        return 0 + self.size  # type: ignore[attr-defined]

    def dim(self) -> Any:
        """The number of axes.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.ones(2, 3).dim()
        2
        """
        return self.ndim  # type: ignore[attr-defined]

    def element_size(self) -> Any:
        """The size of an element in bytes.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.ones(2).element_size()
        4
        """
        return self.itemsize  # type: ignore[attr-defined]

    def lerp(self, end: Any, weight: Any) -> Any:
        """A point between this tensor and another."""
        return ops.elementwise.arithmetic.lerp(self, end, weight)


def _along(x: Any, function: Callable[[Any], Any]) -> Any:
    """What a function of a tensor with axes gives; a 0-d tensor is a vector of one element to it, as in PyTorch."""
    if x.array.shape:
        return function(x)
    y = function(ops.shape.layout.reshape(x, (1,)))
    return (
        ValuesAndIndices(*(ops.shape.layout.reshape(part, ()) for part in y))
        if type(y) is ValuesAndIndices
        else (ops.shape.layout.reshape(y, ()))
    )


def _spread(op: Any, x: Any, dim: Any, unbiased: bool, keepdim: bool, correction: Any) -> Any:
    if dim is True or dim is False:  # as PyTorch, where that may be all that is given
        dim, unbiased = None, dim
    return op(x, axis=dim, correction=int(unbiased) if correction is None else correction, keepdims=keepdim)


def _extreme(x: Any, dim: Any, keepdim: Any, name: str) -> Any:
    op = getattr(ops.reduction, name)
    if dim is None:
        return op(x)
    if hasattr(dim, "array"):
        return getattr(ops.elementwise.choice, f"{name}imum")(x, dim)
    if isinstance(dim, (tuple, list)):
        return op(x, axis=tuple(dim), keepdims=keepdim)
    dim = number(dim)
    if not x.array.shape:
        return _along(x, lambda one: _extreme(one, dim, True, name))
    where = getattr(ops.reduction, f"arg{name}")(x, axis=dim, keepdims=True)
    values = ops.indexing.taking.take_along_axis(x, where, axis=dim)
    if keepdim:
        return ValuesAndIndices(values, where)
    return ValuesAndIndices(ops.shape.layout.squeeze(values, dim), ops.shape.layout.squeeze(where, dim))


#: Methods that do no more than call a primitive, which refuses by itself what it can't do.
_QUICK = """add sub subtract float double half long int bool is_floating_point is_complex numel dim element_size lgamma
    digamma i0 where clamp clip lerp""".split()

name_methods(Mathematics)
guard_methods(Mathematics, _QUICK)
