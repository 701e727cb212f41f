"""The methods of `Tensor` that rearrange, join and index, in PyTorch's spelling and meaning."""

from typing import Any

from lucidgrad import ops
from lucidgrad.core import device
from lucidgrad.ops.axes import axes_of_one, moved
from lucidgrad.refusals import guard_methods

from .deferred import name_methods


class Shaping:
    """Methods that rearrange the elements, join and pick them."""

    __slots__ = ()

    def t(self) -> Any:
        """The transpose of a matrix; vectors stay as they are."""
        return self if len(self.shape) < 2 else self.T  # type: ignore[attr-defined]

    def squeeze(self, dim: Any = None) -> Any:
        """Without the axes of length one (or just the given ones, where they have length one)."""
        sizes: tuple[int, ...] = self.shape  # type: ignore[attr-defined]
        dims = range(len(sizes)) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
        if not sizes:  # one element, of which no axis is left to remove
            dims = axes_of_one("squeeze", tuple(dims))
        return ops.shape.layout.squeeze(self, tuple(d for d in dims if sizes[d] == 1))

    def expand_as(self, other: Any) -> Any:
        """Stretched to another tensor's shape.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.ones(1).expand_as(lg.zeros(2, 3)).shape
        (2, 3)
        """
        return ops.shape.layout.broadcast_to(self, other.shape)

    def view_as(self, other: Any) -> Any:
        """In another tensor's shape.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.arange(4.0).view_as(lg.zeros(2, 2)).shape
        (2, 2)
        """
        return ops.shape.layout.reshape(self, other.shape)

    def movedim(self, source: Any, destination: Any) -> Any:
        """The axes in another order: some move to new positions, the rest keep theirs."""
        if not self.shape:  # type: ignore[attr-defined]
            moved(source, destination, 1)  # which checks them
            source = destination = ()
        return ops.shape.layout.moveaxis(self, source, destination)

    moveaxis = movedim

    def flip(self, axis: Any = None) -> Any:
        """The elements in reverse order along one axis, several, or all."""
        if axis is not None and not self.shape:  # type: ignore[attr-defined]
            axis = axes_of_one("flip", axis)
        return ops.shape.layout.flip(self, axis)

    def roll(self, shift: Any, axis: Any = None) -> Any:
        """The elements shifted along axes; without any, as if the tensor were flat."""
        return ops.shape.layout.roll(self, shift, None if axis in ((), []) else axis)

    def contiguous(self, memory_format: Any = None) -> Any:
        """This tensor if its elements follow one another in memory; else a copy in which they do.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.ones(2, 3).T.contiguous().is_contiguous()
        True
        """
        x: Any = self
        if device.by_array[type(x.array)].contiguous(x.array):
            return x
        return ops.elementwise.copies.apart(_in_order)(x)

    def diag(self, diagonal: Any = 0) -> Any:
        """A matrix with these elements on a diagonal, or a diagonal of this matrix."""
        return ops.shape.arrangement.diag(self, diagonal)

    def diagflat(self, offset: Any = 0) -> Any:
        """A matrix with all elements on a diagonal."""
        return ops.shape.arrangement.diagflat(self, offset)


def _in_order(x: Any) -> Any:
    return ops.shape.layout.reshape(ops.shape.layout.reshape(x, (-1,)), x.shape)


name_methods(Shaping)
guard_methods(Shaping, ("t", "contiguous"))  # which call a primitive, if anything
