"""The methods of `Tensor` that write into it; their names end with an underscore, as PyTorch's."""

from collections.abc import Callable
from typing import Any

from lucidgrad import inplace
from lucidgrad.core.box import Box
from lucidgrad.ops.elementwise import (
    activation,
    arithmetic,
    choice,
    complex,
    copies,
    exponential,
    rounding,
    trigonometric,
)
from lucidgrad.ops.indexing import scattering, selection
from lucidgrad.ops.shape import layout
from lucidgrad.refusals import guard_methods

from .math import _times


def _in_place(op: Any) -> Callable[..., Any]:
    """The method with a trailing underscore: the result is written into the tensor itself."""

    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        return inplace.update(op, self, *args, **keywords)

    method.__name__ = f"{op.__name__}_"
    method.__doc__ = f"`{op.__name__}`, written into the tensor itself."
    return method


def _written_back(op: Any) -> Callable[..., Any]:
    """The in-place method of a function made of others: rules keep a copy of what is overwritten."""

    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        y = op(copies.clone(self), *args, **keywords)
        if y.shape != self.shape:
            raise RuntimeError(
                f"{method.__name__}: the result has shape {y.shape}, which does not fit into the tensor's {self.shape}"
            )
        return self.copy_(y)

    method.__name__ = f"{op.__name__}_"
    method.__doc__ = f"`{op.__name__}`, written into the tensor itself."
    return method


class InPlace:
    """Methods that write into the tensor."""

    __slots__ = ()

    # -- functions of the elements
    abs_ = absolute_ = _in_place(complex.abs)
    acos_ = _in_place(trigonometric.acos)
    asin_ = _in_place(trigonometric.asin)
    atan_ = _in_place(trigonometric.atan)
    ceil_ = _in_place(rounding.ceil)
    cos_ = _in_place(trigonometric.cos)
    cosh_ = _in_place(trigonometric.cosh)
    div_ = divide_ = true_divide_ = _in_place(arithmetic.divide)
    exp_ = _in_place(exponential.exp)
    expm1_ = _in_place(exponential.expm1)
    floor_ = _in_place(rounding.floor)
    floor_divide_ = _in_place(arithmetic.floor_divide)
    log_ = _in_place(exponential.log)
    log1p_ = _in_place(exponential.log1p)
    mul_ = multiply_ = _in_place(arithmetic.multiply)
    neg_ = negative_ = _in_place(arithmetic.negative)
    pow_ = _in_place(exponential.pow)
    reciprocal_ = _in_place(arithmetic.reciprocal)
    relu_ = _in_place(activation.relu)
    remainder_ = _in_place(arithmetic.remainder)
    round_ = _in_place(rounding.round)
    rsqrt_ = _in_place(exponential.rsqrt)
    sigmoid_ = _in_place(activation.sigmoid)
    sin_ = _in_place(trigonometric.sin)
    sinh_ = _in_place(trigonometric.sinh)
    sqrt_ = _in_place(exponential.sqrt)
    square_ = _in_place(arithmetic.square)
    tan_ = _in_place(trigonometric.tan)
    tanh_ = _in_place(trigonometric.tanh)
    trunc_ = _in_place(rounding.trunc)

    def add_(self, other: Any, *, alpha: Any = 1) -> Any:
        """`add`, written into the tensor itself."""
        return inplace.update(arithmetic.add, self, _times(alpha, other))

    def sub_(self, other: Any, *, alpha: Any = 1) -> Any:
        """`sub`, written into the tensor itself."""
        return inplace.update(arithmetic.subtract, self, _times(alpha, other))

    subtract_ = sub_
    fmod_ = _in_place(arithmetic.fmod)

    def clamp_(self, min: Any = None, max: Any = None) -> Any:
        """`clamp`, written into the tensor itself."""
        return inplace.update(choice.clip, self, min, max)

    # -- values from elsewhere
    def copy_(self, source: Any, non_blocking: bool = False) -> Any:
        """Write another tensor's values into this one, from any device; gradients flow to the source.

        Parameters
        ----------
        source
            A tensor, or a number.
        non_blocking
            Whether a copy from page-locked host memory to a device is left to the device: the host must not write the
            source before that has read it. A copy to the host is always waited for, as its values are written here.
        """
        if isinstance(source, Box) and source.device != self.device:  # type: ignore[attr-defined]
            waits = not non_blocking or self.device == "cpu"  # type: ignore[attr-defined]
            source = source.to(self.device, non_blocking=not waits)  # type: ignore[attr-defined]
        return _assign(self, source)

    def fill_(self, value: Any) -> Any:
        """Write one value everywhere."""
        return _assign(self, value)

    def zero_(self) -> Any:
        """Write zeros."""
        return _assign(self, 0)

    def masked_fill_(self, mask: Any, value: Any) -> Any:
        """Write a value where a mask is true."""
        selection.check_fill("masked_fill_", mask, value)
        x: Any = self
        if mask.shape != x.shape:
            if len(mask.shape) > x.ndim or any(m not in (1, n) for m, n in zip(mask.shape[::-1], x.shape[::-1])):
                raise RuntimeError(
                    f"masked_fill_: given a mask of shape {tuple(mask.shape)}, which can't be broadcast to "
                    f"the tensor's {x.shape}"
                )
            mask = layout.broadcast_to(mask, x.shape)
        x[mask] = value
        return x

    index_fill_ = _written_back(scattering.index_fill)
    index_copy_ = _written_back(scattering.index_copy)
    index_put_ = _written_back(scattering.index_put)
    index_add_ = _written_back(selection.index_add)
    masked_scatter_ = _written_back(scattering.masked_scatter)
    scatter_reduce_ = _written_back(scattering.scatter_reduce)
    scatter_ = _written_back(selection.scatter)
    scatter_add_ = _written_back(selection.scatter_add)
    addcmul_ = _written_back(arithmetic.addcmul)
    addcdiv_ = _written_back(arithmetic.addcdiv)


def _assign(x: Any, value: Any) -> Any:
    if len(getattr(value, "shape", ())) > x.ndim:
        raise RuntimeError(
            f"given a value of shape {tuple(value.shape)}, which does not fit into the tensor's shape {x.shape}"
        )
    inplace.assign(x, ..., value)
    return x


#: Methods that compute before they write; the others call one primitive, which refuses by itself what it can't do.
_GUARDED = """copy_ fill_ masked_fill_ index_fill_ index_copy_ index_put_ index_add_ masked_scatter_ scatter_reduce_
    scatter_ scatter_add_ addcmul_ addcdiv_""".split()

guard_methods(InPlace, vars(InPlace).keys() - _GUARDED)
