"""Probabilities from logits."""

import warnings
from typing import Any

import lucidgrad as lg
from lucidgrad.ops.numbers import only_real

__all__ = ["gumbel_softmax", "log_softmax", "softmax", "softmin"]


def _axis(name: str, dim: int | None, rank: int, stacklevel: int) -> int:
    if dim is not None:
        return dim
    chosen = 0 if rank in (0, 1, 3) else 1
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim={chosen} "
        "as an argument.",
        stacklevel=stacklevel,
    )
    return chosen


def softmax(input: lg.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> lg.Tensor:
    """``exp(x) / sum(exp(x))`` along an axis, without overflow.

    Parameters
    ----------
    input : Tensor
        The logits.
    dim : int
        The axis.
    dtype : dtype, optional
        The input is converted to it first.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.softmax(lg.zeros(2), dim=0)
    tensor([0.5, 0.5])
    """
    if dim is None:
        dim = _axis("softmax", dim, input.ndim, _stacklevel)
    return lg.softmax(input if dtype is None else input.to(dtype), dim)


def softmin(input: lg.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> lg.Tensor:
    """``softmax(-x)`` along an axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.softmin(lg.zeros(2), dim=0)
    tensor([0.5, 0.5])
    """
    if dim is None:
        dim = _axis("softmin", dim, input.ndim, _stacklevel)
    return lg.softmax(-(input if dtype is None else input.to(dtype)), dim)


def log_softmax(input: lg.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> lg.Tensor:
    """``log(softmax(x))`` along an axis, without overflow.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.log_softmax(lg.zeros(1), dim=0)
    tensor([0.])
    """
    if dim is None:
        dim = _axis("log_softmax", dim, input.ndim, _stacklevel)
    return lg.log_softmax(input if dtype is None else input.to(dtype), dim)


def gumbel_softmax(
    logits: lg.Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> lg.Tensor:
    """Draw from categories so that gradients reach the logits.

    Parameters
    ----------
    logits : Tensor
        Unnormalised log-probabilities.
    tau : float
        Temperature.
    hard : bool
        Give one-hot vectors, with the gradients of the soft ones.
    eps : float
        Has no effect.
    dim : int
        The axis of the categories.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.gumbel_softmax(lg.randn(4, 3), hard=True).sum(dim=-1)
    tensor([1., 1., 1., 1.])
    """
    only_real("gumbel_softmax", logits)
    smallest = lg.finfo(logits.dtype).smallest_normal
    drawn = lg.rand(logits.shape, dtype=logits.dtype, device=logits.device)
    noise = -lg.log(-lg.log(lg.clip(drawn, smallest, None)))
    soft: lg.Tensor = lg.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = lg.argmax(soft.detach(), axis=dim, keepdims=True)
    places = lg.arange(soft.shape[dim], device=soft.device)
    axis = dim % soft.ndim
    places = lg.reshape(places, tuple(-1 if i == axis else 1 for i in range(soft.ndim)))
    one_hot = (places == chosen).to(soft.dtype)
    return one_hot - soft.detach() + soft
