"""All parameters as one vector, and modules without starting values."""

from collections.abc import Iterable
from typing import Any

import lucidgrad as lg
from lucidgrad.nn.init import skipping
from lucidgrad.nn.module import Module

__all__ = ["parameters_to_vector", "skip_init", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[lg.Tensor]) -> lg.Tensor:
    """One vector of all parameters, one after the other; gradients pass through it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.utils.parameters_to_vector([lg.ones(2), lg.zeros(1, 1)])
    tensor([1., 1., 0.])
    """
    listed = list(parameters)
    _one_device(listed)
    return lg.concat([lg.reshape(p, (-1,)) for p in listed], axis=0)


def vector_to_parameters(vec: lg.Tensor, parameters: Iterable[lg.Tensor]) -> None:
    """Let parameters have the values of a vector, whose memory they share from then on.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.nn.Parameter(lg.zeros(2, 1))
    >>> lg.nn.utils.vector_to_parameters(lg.tensor([1.0, 2.0]), [w])
    >>> w.tolist()
    [[1.0], [2.0]]
    """
    if not isinstance(vec, lg.Tensor):
        raise TypeError(f"expected Tensor, but got: {type(vec).__name__}")
    listed = list(parameters)
    _one_device(listed)
    sizes = [int(p.size) for p in listed]
    if sum(sizes) > vec.size:
        raise RuntimeError(
            f"vector_to_parameters: given a vector of {int(vec.size)} elements for parameters of {sum(sizes)}, "
            f"expected as many"
        )
    start = 0
    values = vec.detach()
    for parameter, size in zip(listed, sizes, strict=True):
        parameter.data = lg.reshape(values[start : start + size], parameter.shape)
        start += size


def _one_device(parameters: list[lg.Tensor]) -> None:
    places = {str(p.device) for p in parameters}
    if len(places) > 1:
        raise TypeError(
            f"Found parameters on different devices, {' and '.join(sorted(places))}; this is currently not supported."
        )


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Any:
    """Make a module for whose parameters no starting values are drawn; they hold anything.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.utils.skip_init(lg.nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    before = skipping.set(True)
    try:
        return module_cls(*args, **kwargs)
    finally:
        skipping.reset(before)
