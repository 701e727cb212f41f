"""Calling a module with other parameters, by an older path."""

from typing import Any

from lucidgrad.func import functional_call as _call
from lucidgrad.nn.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers; `lucidgrad.func.functional_call` is the newer path.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.Linear(1, 1, bias=False)
    >>> lg.nn.utils.stateless.functional_call(layer, {"weight": lg.full((1, 1), 3.0)}, lg.ones(1)).item()
    3.0
    """
    return _call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
