"""PyTorch's `Size`: a tuple of lengths. Shapes of tensors are plain tuples, which count as instances."""

from typing import Any

from lucidgrad.extents import Shape

__all__ = ["Size"]


class _Sizes(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, tuple) and all(type(n) is int for n in instance)


class Size(Shape, metaclass=_Sizes):
    """The lengths of the axes of a tensor.

    Examples
    --------
    >>> import lucidgrad.torch as torch
    >>> torch.Size([2, 3]).numel(), torch.Size([2, 3]) == torch.ones(2, 3).shape
    (6, True)
    >>> torch.Size([2, 3])[1:]
    torch.Size([3])
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"
