"""The methods of `Tensor` that rearrange, join and index, in PyTorch's spelling and meaning."""

from collections.abc import Callable
from typing import Any

from lucidgrad.core import device
from lucidgrad.ops.axes import axes_of_one, moved
from lucidgrad.ops.elementwise import arithmetic, copies
from lucidgrad.ops.indexing import scattering, selection
from lucidgrad.ops.linalg import products
from lucidgrad.ops.shape import arrangement, diagonals, joining, layout
from lucidgrad.refusals import guard_methods

from .deferred import name_methods


class Shaping:
    """Methods that rearrange the elements, join and pick them."""

    __slots__ = ()

    reshape: Callable[..., Any] = layout.reshape
    view: Callable[..., Any] = layout.reshape
    permute: Callable[..., Any] = layout.permute_dims
    transpose = swapaxes = layout.swapaxes
    unsqueeze = layout.expand_dims
    expand = layout.expand
    repeat: Callable[..., Any] = joining.tile  # as PyTorch's method; `lucidgrad.repeat` is the standard's
    split: Callable[..., Any] = joining.split_by_size
    chunk: Callable[..., Any] = joining.chunk

    def t(self) -> Any:
        """The transpose of a matrix; vectors stay as they are."""
        return self if len(self.shape) < 2 else self.T  # type: ignore[attr-defined]

    def squeeze(self, dim: Any = None) -> Any:
        """Without the axes of length one (or just the given ones, where they have length one)."""
        sizes: tuple[int, ...] = self.shape  # type: ignore[attr-defined]
        dims = range(len(sizes)) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
        if not sizes:  # one element, of which no axis is left to remove
            dims = axes_of_one("squeeze", tuple(dims))
        return layout.squeeze(self, tuple(d for d in dims if sizes[d] == 1))

    def expand_as(self, other: Any) -> Any:
        """Stretched to another tensor's shape.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.ones(1).expand_as(lg.zeros(2, 3)).shape
        (2, 3)
        """
        return layout.broadcast_to(self, other.shape)

    def view_as(self, other: Any) -> Any:
        """In another tensor's shape.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.arange(4.0).view_as(lg.zeros(2, 2)).shape
        (2, 2)
        """
        return layout.reshape(self, other.shape)

    flatten = layout.flatten
    ravel = layout.ravel
    unflatten = layout.unflatten

    def movedim(self, source: Any, destination: Any) -> Any:
        """The axes in another order: some move to new positions, the rest keep theirs."""
        if not self.shape:  # type: ignore[attr-defined]
            moved(source, destination, 1)  # which checks them
            source = destination = ()
        return layout.moveaxis(self, source, destination)

    moveaxis = movedim

    def flip(self, axis: Any = None) -> Any:
        """The elements in reverse order along one axis, several, or all."""
        if axis is not None and not self.shape:  # type: ignore[attr-defined]
            axis = axes_of_one("flip", axis)
        return layout.flip(self, axis)

    def roll(self, shift: Any, axis: Any = None) -> Any:
        """The elements shifted along axes; without any, as if the tensor were flat."""
        return layout.roll(self, shift, None if axis in ((), []) else axis)

    tril = diagonals.tril
    triu = diagonals.triu
    diagonal = diagonals.diagonal
    gather = selection.gather
    index_select = selection.index_select
    masked_fill = selection.masked_fill
    masked_select = selection.masked_select
    scatter = selection.scatter
    scatter_add = selection.scatter_add
    clone = copies.clone
    matmul = products.matmul
    mm = products.matmul
    dot = products.dot
    outer = products.outer
    addmm, baddbmm, bmm = products.addmm, products.baddbmm, products.bmm
    kron, mv, vdot = products.kron, products.mv, products.vdot

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
        return _in_order(x)

    flipud, fliplr, rot90 = arrangement.flipud, arrangement.fliplr, arrangement.rot90
    diag_embed = arrangement.diag_embed
    narrow, select = arrangement.narrow, arrangement.select_slice
    unbind, unfold = arrangement.unbind, arrangement.unfold
    take_along_dim, argwhere = arrangement.take_along_dim, arrangement.argwhere
    sum_to_size = arrangement.sum_to_size

    def diag(self, diagonal: Any = 0) -> Any:
        """A matrix with these elements on a diagonal, or a diagonal of this matrix."""
        return arrangement.diag(self, diagonal)

    def diagflat(self, offset: Any = 0) -> Any:
        """A matrix with all elements on a diagonal."""
        return arrangement.diagflat(self, offset)

    index_fill, index_copy = scattering.index_fill, scattering.index_copy
    index_put, index_add = scattering.index_put, selection.index_add
    masked_scatter, scatter_reduce = scattering.masked_scatter, scattering.scatter_reduce
    addcmul, addcdiv = arithmetic.addcmul, arithmetic.addcdiv


@copies.apart
def _in_order(x: Any) -> Any:
    return layout.reshape(layout.reshape(x, (-1,)), x.shape)


name_methods(Shaping)
guard_methods(Shaping, ("t", "contiguous"))  # which call a primitive, if anything
