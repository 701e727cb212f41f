"""Random counts as functions: PyTorch's names at the root."""

from typing import Any

import lucidgrad as lg
from lucidgrad.func import is_transformed

from . import draws

__all__ = ["binomial", "poisson"]


def poisson(input: Any, generator: Any = None) -> Any:
    """Counts of Poisson's distribution, with the mean that each element gives.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.poisson(lg.tensor([0.0, 3.0]))[0].item()
    0.0
    """
    _check("poisson", "means of at least 0", input, lambda x: x >= 0)
    return draws.poisson(input, generator)


def binomial(count: Any, prob: Any, generator: Any = None) -> Any:
    """How many of ``count`` trials succeed that have the probability ``prob``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.binomial(lg.tensor([5.0, 5.0]), lg.tensor([0.0, 1.0])).tolist()
    [0.0, 5.0]
    """
    _check("binomial", "counts of at least 0", count, lambda x: x >= 0)
    _check("binomial", "probabilities between 0 and 1", prob, lambda x: (x >= 0) & (x <= 1))
    count, prob = lg.broadcast_arrays(count, prob)
    return draws.binomial(count, prob, generator)


def _check(name: str, expected: str, x: Any, holds: Any) -> None:
    if not isinstance(x, lg.Tensor) or not x.is_floating_point():
        given = x.dtype if isinstance(x, lg.Tensor) else type(x).__name__
        raise RuntimeError(f"{name}: given {given}, expected a tensor of floating-point numbers")
    if not is_transformed(x) and not bool(holds(x).all()):
        raise RuntimeError(f"{name}: given others, expected {expected}")
