"""The methods of `Tensor` that rearrange, join and index, in PyTorch's spelling and meaning."""

from typing import Any

from lucidgrad.core import device
from lucidgrad.core.dispatch import UNSET
from lucidgrad.ops.elementwise import arithmetic, copies
from lucidgrad.ops.indexing import scattering, selection
from lucidgrad.ops.linalg import products
from lucidgrad.ops.shape import arrangement, diagonals, joining, layout
from lucidgrad.refusals import guard_methods

from .math import _axis


def _shape_of(given: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else given


class Shaping:
    """Methods that rearrange the elements, join and pick them."""

    __slots__ = ()

    def reshape(self, *size: Any) -> Any:
        """Another shape, the same elements in order."""
        return layout.reshape(self, _shape_of(size))

    view = reshape

    def permute(self, *dims: Any) -> Any:
        """The axes in another order."""
        return layout.permute_dims(self, axes=_shape_of(dims))

    def transpose(self, dim0: int, dim1: int) -> Any:
        """Two axes swapped."""
        return layout.swapaxes(self, dim0, dim1)

    swapaxes = transpose

    def t(self) -> Any:
        """The transpose of a matrix; vectors stay as they are."""
        return self if len(self.shape) < 2 else self.T  # type: ignore[attr-defined]

    def squeeze(self, dim: Any = None, *, axis: Any = UNSET) -> Any:
        """Without the axes of length one (or just the given ones, where they have length one)."""
        dim = _axis(dim, axis)
        sizes: tuple[int, ...] = self.shape  # type: ignore[attr-defined]
        dims = range(len(sizes)) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
        return layout.squeeze(self, tuple(d for d in dims if sizes[d] == 1))

    def unsqueeze(self, dim: int) -> Any:
        """With a new axis of length one."""
        return layout.expand_dims(self, axis=dim)

    def expand(self, *sizes: Any) -> Any:
        """Axes of length one stretched, as a view; -1 keeps an axis."""
        return layout.expand(self, *_shape_of(sizes))

    def expand_as(self, other: Any) -> Any:
        """Stretched to another tensor's shape."""
        return layout.broadcast_to(self, other.shape)

    def view_as(self, other: Any) -> Any:
        """In another tensor's shape."""
        return layout.reshape(self, other.shape)

    def repeat(self, *repeats: Any) -> Any:
        """Copies side by side, as PyTorch's method (`lucidgrad.tile`)."""
        return joining.tile(self, _shape_of(repeats))

    def split(self, split_size: Any, dim: int = 0) -> Any:
        """Consecutive parts of a size, or of several sizes, along an axis."""
        return joining.split_by_size(self, split_size, dim)

    def chunk(self, chunks: int, dim: int = 0) -> Any:
        """A number of parts of about equal size along an axis."""
        return joining.chunk(self, chunks, dim)

    flatten = layout.flatten
    ravel = layout.ravel
    unflatten = layout.unflatten
    movedim = moveaxis = layout.moveaxis
    flip = layout.flip
    roll = layout.roll
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

    def contiguous(self) -> Any:
        """This tensor if its elements follow one another in memory; else a copy in which they do."""
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


#: Methods that do no more than call a primitive, which refuses by itself what it can't do.
_QUICK = """reshape view permute transpose swapaxes t unsqueeze expand contiguous""".split()

guard_methods(Shaping, _QUICK)
