"""PyTorch's ``torch.compile``: `lucidgrad.compile`, which tells nobody where a function runs as it is."""

from typing import Any

import lucidgrad as lg
from lucidgrad.levels.traced import current

__all__ = ["allow_in_graph", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling", "reset"]


def compile(model: Any = None, **options: Any) -> Any:
    """A function or module that runs as a program; without one, a decorator that makes it.

    Parameters
    ----------
    model
        A function or a module.
    **options
        PyTorch's: ``fullgraph`` and ``disable`` count; ``mode``, ``dynamic``, ``backend`` and ``options`` are accepted.

    Examples
    --------
    >>> import lucidgrad.torch as torch
    >>> @torch.compile(mode="max-autotune")
    ... def f(x):
    ...     return x + 1
    >>> f(torch.ones(2))
    tensor([2., 2.])
    """
    unknown = options.keys() - {"mode", "fullgraph", "dynamic", "backend", "options", "disable"}
    if unknown:
        raise TypeError(f"compile: given {', '.join(sorted(unknown))}, expected PyTorch's options")
    if model is None:
        return lambda function: compile(function, **options)
    if not callable(model):
        raise TypeError(f"compile: given a {type(model).__name__}, expected a function or a module")
    if options.get("disable"):
        return model
    return lg.compile(model, fullgraph=bool(options.get("fullgraph")), options={"warn": False})


def disable(fn: Any = None, recursive: bool = True, **options: Any) -> Any:
    """The function itself, with arguments or without; in a compiled one it is compiled all the same."""
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


def is_compiling() -> bool:
    """Whether a program is being traced."""
    return current.get() is not None


def reset() -> None:
    """Accepted; a compiled function forgets its programs by ``cache_clear()``."""


def cudagraph_mark_step_begin() -> None:
    """A step begins, which nobody needs to know."""
