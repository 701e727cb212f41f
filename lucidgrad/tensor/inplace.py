"""The methods of `Tensor` that write into it; their names end with an underscore, as PyTorch's."""

from typing import Any

from lucidgrad import inplace, ops
from lucidgrad.core.box import Box
from lucidgrad.refusals import guard_methods


class InPlace:
    """Methods that write into the tensor."""

    __slots__ = ()

    # -- functions of the elements, whose arguments are not just arrays
    def add_(self, other: Any, *, alpha: Any = 1) -> Any:
        """`add`, written into the tensor itself."""
        return inplace.update(ops.elementwise.arithmetic.add, self, ops.elementwise.arithmetic.times(alpha, other))

    def sub_(self, other: Any, *, alpha: Any = 1) -> Any:
        """`sub`, written into the tensor itself."""
        return inplace.update(ops.elementwise.arithmetic.subtract, self, ops.elementwise.arithmetic.times(alpha, other))

    subtract_ = sub_

    def mul_(self, other: Any) -> Any:
        """`mul`, written into the tensor itself."""
        return inplace.update(ops.elementwise.arithmetic.multiply, self, other)

    def clamp_(self, min: Any = None, max: Any = None) -> Any:
        """`clamp`, written into the tensor itself."""
        return inplace.update(ops.elementwise.choice.clip, self, min, max)

    clip_ = clamp_

    # -- values from elsewhere
    def copy_(self, other: Any, non_blocking: bool = False) -> Any:
        """Write another tensor's values into this one, from any device; gradients flow to the source.

        Parameters
        ----------
        other
            A tensor, or a number.
        non_blocking
            Whether a copy from page-locked host memory to a device is left to the device: the host must not write the
            other before that has read it. A copy to the host is always waited for, as its values are written here.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> x = lg.zeros(2)
        >>> x.copy_(lg.tensor([1.0, 2.0]))
        tensor([1., 2.])
        """
        if isinstance(other, Box) and other.device != self.device:  # type: ignore[attr-defined]
            waits = not non_blocking or self.device == "cpu"  # type: ignore[attr-defined]
            other = other.to(self.device, non_blocking=not waits)  # type: ignore[attr-defined]
        return _assign(self, other)

    def fill_(self, value: Any) -> Any:
        """Write one value everywhere.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.zeros(2).fill_(7.0)
        tensor([7., 7.])
        """
        return _assign(self, value)

    def zero_(self) -> Any:
        """Write zeros.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.ones(2).zero_()
        tensor([0., 0.])
        """
        x: Any = self
        return _assign(self, ops.elementwise.copies.zeros_like(x.detach()) if x.is_sparse else 0)

    def masked_fill_(self, mask: Any, value: Any) -> Any:
        """Write a value where a mask is true.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.tensor([1.0, 2.0]).masked_fill_(lg.tensor([True, False]), 0.0)
        tensor([0., 2.])
        """
        ops.indexing.selection.check_fill("masked_fill_", mask, value)
        x: Any = self
        if mask.shape != x.shape:
            if len(mask.shape) > x.ndim or any(m not in (1, n) for m, n in zip(mask.shape[::-1], x.shape[::-1])):
                raise RuntimeError(
                    f"masked_fill_: given a mask of shape {tuple(mask.shape)}, which can't be broadcast to "
                    f"the tensor's {x.shape}"
                )
            mask = ops.shape.layout.broadcast_to(mask, x.shape)
        x[mask] = value
        return x


def _assign(x: Any, value: Any) -> Any:
    if len(getattr(value, "shape", ())) > x.ndim:
        raise RuntimeError(
            f"given a value of shape {tuple(value.shape)}, which does not fit into the tensor's shape {x.shape}"
        )
    inplace.assign(x, ..., value)
    return x


#: Methods that compute before they write; the others call one primitive, which refuses by itself what it can't do.
_GUARDED = "copy_ fill_ masked_fill_".split()

guard_methods(InPlace, vars(InPlace).keys() - _GUARDED)
