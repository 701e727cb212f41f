"""Layers that make probabilities of logits."""

import lucidgrad as lg
from lucidgrad.nn.functional.probabilities import log_softmax, softmax, softmin
from lucidgrad.nn.module import Module

__all__ = ["LogSoftmax", "Softmax", "Softmax2d", "Softmin"]


class _AlongAxis(Module):
    """A function along an axis, which PyTorch chooses if none is given."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """The arguments."""
        return f"dim={self.dim}"


class Softmax(_AlongAxis):
    """``exp(x) / sum(exp(x))`` along an axis.

    Parameters
    ----------
    dim : int | None
        The axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Softmax(dim=0)(lg.zeros(2))
    tensor([0.5, 0.5])
    """

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongAxis):
    """``softmax(-x)`` along an axis.

    Parameters
    ----------
    dim : int | None
        The axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Softmin(dim=0)(lg.zeros(2))
    tensor([0.5, 0.5])
    """

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongAxis):
    """``log(softmax(x))`` along an axis.

    Parameters
    ----------
    dim : int | None
        The axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LogSoftmax(dim=0)(lg.zeros(1))
    tensor([0.])
    """

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        return log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """`softmax` over the channels of inputs of shape (n, channels, height, width), or without n.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Softmax2d()(lg.zeros(2, 1, 1))[:, 0, 0]
    tensor([0.5, 0.5])
    """

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Apply the function."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return softmax(input, -3)
