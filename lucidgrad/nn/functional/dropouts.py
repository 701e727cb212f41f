"""Dropout in its variants as functions."""

import warnings
from typing import Any

import lucidgrad as lg
from lucidgrad.ops.elementwise.choice import thin

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

#: The value that SELU tends to, with the other sign.
_ALPHA = 1.7580993408473766


def check_probability(p: float) -> None:
    """Raise unless p is a probability."""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _kept(input: lg.Tensor, shape: tuple[int, ...], p: float) -> lg.Tensor:
    """Which elements stay."""
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"dropout: given an input of dtype {input.dtype}, expected floating-point numbers")
    dtype = lg.float64 if input.dtype == lg.float64 else lg.float32
    return lg.rand(shape, dtype=dtype, device=input.device) >= p


def _dropped(input: lg.Tensor, shape: tuple[int, ...], p: float, inplace: bool) -> lg.Tensor:
    y = thin(input, _kept(input, shape, p), scale=0.0 if p == 1 else 1.0 / (1.0 - p))
    return input.copy_(y) if inplace else y


def _shifted(input: lg.Tensor, shape: tuple[int, ...], p: float, inplace: bool) -> lg.Tensor:
    """Dropout to the least value of SELU, scaled so that mean and variance stay."""
    if p == 1:
        y: lg.Tensor = input * 0.0
    else:
        scale = 1.0 / ((_ALPHA * _ALPHA * p + 1) * (1 - p)) ** 0.5
        kept = _kept(input, shape, p)
        shift = _ALPHA * scale
        y = thin(input, kept, scale=scale) + lg.where(kept, shift * p, shift * p - shift).to(input.dtype)
    return input.copy_(y) if inplace else y


def _per_channel(input: lg.Tensor) -> tuple[int, ...]:
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return input.shape[:2] + (1,) * (input.ndim - 2)


def dropout(input: lg.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> lg.Tensor:
    """In training, set elements to zero with probability p and scale the others by ``1 / (1 - p)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(1000, requires_grad=True)
    >>> y = lg.nn.functional.dropout(x, 0.5)
    >>> y.sum().backward()
    >>> sorted(set(x.grad.tolist()))
    [0.0, 2.0]
    """
    check_probability(p)
    if not training or p == 0:
        return input
    return _dropped(input, input.shape, p, inplace)


def alpha_dropout(input: lg.Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> lg.Tensor:
    """Dropout for networks of `selu`: mean and variance of the values stay.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.alpha_dropout(lg.ones(2), training=False)
    tensor([1., 1.])
    """
    check_probability(p)
    if not training or p == 0:
        return input
    return _shifted(input, input.shape, p, inplace)


def feature_alpha_dropout(input: lg.Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> lg.Tensor:
    """`alpha_dropout` of whole channels.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.feature_alpha_dropout(lg.ones(1, 2), training=False)
    tensor([[1., 1.]])
    """
    check_probability(p)
    if not training or p == 0:
        return input
    return _shifted(input, _per_channel(input), p, inplace)


def _of_channels(
    name: str, ranks: tuple[int, int], input: lg.Tensor, p: float, training: bool, inplace: bool, strict: bool
) -> lg.Tensor:
    check_probability(p)
    if input.ndim not in ranks:
        told = f"{name}: given an input of {input.ndim} dimensions, expected {ranks[0]} or {ranks[1]}"
        if strict:
            raise RuntimeError(told)
        warnings.warn(f"{told}; channels are along the second", stacklevel=3)
    if not training or p == 0:
        return input
    shape: Any = _per_channel(input)
    if input.ndim == ranks[0] and name != "dropout2d":  # without a batch
        shape = input.shape[:1] + (1,) * (input.ndim - 1)
    return _dropped(input, shape, p, inplace)


def dropout1d(input: lg.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> lg.Tensor:
    """Dropout of whole channels of an input of shape (n, channels, length) or (channels, length).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y = lg.nn.functional.dropout1d(lg.ones(4, 8, 5))
    >>> bool((y == y[:, :, :1]).all())
    True
    """
    return _of_channels("dropout1d", (2, 3), input, p, training, inplace, strict=True)


def dropout2d(input: lg.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> lg.Tensor:
    """Dropout of whole channels of an input of shape (n, channels, height, width).

    Three dimensions are taken as (n, channels, length), as in PyTorch.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y = lg.nn.functional.dropout2d(lg.ones(4, 8, 2, 2))
    >>> bool((y == y[:, :, :1, :1]).all())
    True
    """
    return _of_channels("dropout2d", (3, 4), input, p, training, inplace, strict=False)


def dropout3d(input: lg.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> lg.Tensor:
    """Dropout of whole channels of an input of shape (n, channels, depth, height, width), or without n.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y = lg.nn.functional.dropout3d(lg.ones(4, 8, 2, 2, 2))
    >>> bool((y == y[:, :, :1, :1, :1]).all())
    True
    """
    return _of_channels("dropout3d", (4, 5), input, p, training, inplace, strict=False)
