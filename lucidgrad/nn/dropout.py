"""Layers that drop a part of their input in training."""

from collections.abc import Callable
from typing import Any

import lucidgrad as lg
from lucidgrad.nn.functional.dropouts import (
    alpha_dropout,
    check_probability,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from lucidgrad.nn.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _Dropout(Module):
    """What these layers share; each names its function.

    Parameters
    ----------
    p : float
        How likely an element, or a channel, is dropped.
    inplace : bool
        Write into the input.
    """

    _function: Callable[..., Any]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        check_probability(p)
        self.p = p
        self.inplace = inplace

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Drop a part in training; give back the input in evaluation."""
        found: lg.Tensor = type(self)._function(input, self.p, self.training, self.inplace)
        return found

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """In training, sets elements to zero with probability p and scales the others by ``1 / (1 - p)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.Dropout(0.5)
    >>> sorted(set(layer(lg.ones(1000)).tolist()))
    [0.0, 2.0]
    >>> layer.eval()(lg.ones(2))
    tensor([1., 1.])
    """

    _function = staticmethod(dropout)

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Drop a part in training; give back the input in evaluation."""
        return dropout(input, self.p, True, self.inplace) if self.training else input


class Dropout1d(_Dropout):
    """Drops whole channels of inputs of shape (n, channels, length).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Dropout1d(0.2)
    Dropout1d(p=0.2, inplace=False)
    """

    _function = staticmethod(dropout1d)


class Dropout2d(_Dropout):
    """Drops whole channels of inputs of shape (n, channels, height, width).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Dropout2d(0.2)
    Dropout2d(p=0.2, inplace=False)
    """

    _function = staticmethod(dropout2d)


class Dropout3d(_Dropout):
    """Drops whole channels of inputs of shape (n, channels, depth, height, width).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Dropout3d(0.2)
    Dropout3d(p=0.2, inplace=False)
    """

    _function = staticmethod(dropout3d)


class AlphaDropout(_Dropout):
    """Dropout for networks of `SELU`: mean and variance of the values stay.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.AlphaDropout(0.2)
    AlphaDropout(p=0.2, inplace=False)
    """

    _function = staticmethod(alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """`AlphaDropout` of whole channels.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.FeatureAlphaDropout(0.2)
    FeatureAlphaDropout(p=0.2, inplace=False)
    """

    _function = staticmethod(feature_alpha_dropout)
