"""Layers that change the shape alone."""

from typing import Any

import lucidgrad as lg
from lucidgrad.nn.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Makes one axis of several.

    Parameters
    ----------
    start_dim, end_dim : int
        The first and the last of them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Flatten()(lg.ones(4, 3, 2)).shape
    (4, 6)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Reshape."""
        return lg.flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Makes several axes of one.

    Parameters
    ----------
    dim : int
        The axis.
    unflattened_size : tuple of int
        The lengths of the new ones.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Unflatten(1, (3, 2))(lg.ones(4, 6)).shape
    (4, 3, 2)
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError(f"Unflatten: given dim of type {type(dim).__name__}, expected an int")
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} "
                    f"at pos {i}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Reshape."""
        return lg.unflatten(input, self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """The axis and the lengths."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
