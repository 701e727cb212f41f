"""PyTorch's ``torch.jit``: programs run as they are written. Nothing is compiled or saved as a program."""

from collections.abc import Callable
from typing import Any

from lucidgrad.nn import Module as ScriptModule
from lucidgrad.torch.flags import has_no_meaning

__all__ = [
    "ScriptModule", "export", "freeze", "ignore", "is_scripting", "is_tracing", "optimize_for_inference", "script",
    "trace", "unused",
]  # fmt: skip


def script(obj: Any, *args: Any, **options: Any) -> Any:
    """The function, class or module itself."""
    has_no_meaning("torch.jit.script")
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **options: Any) -> Any:
    """The function or module itself: it runs as it is written for any input, not as it ran for an example."""
    has_no_meaning("torch.jit.trace")
    return func


def freeze(mod: Any, *args: Any, **options: Any) -> Any:
    """The module itself."""
    has_no_meaning("torch.jit.freeze")
    return mod


def optimize_for_inference(mod: Any, *args: Any, **options: Any) -> Any:
    """The module itself."""
    has_no_meaning("torch.jit.optimize_for_inference")
    return mod


def _mark(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function itself: what a compiler should do with it is of no interest here."""
    return fn


export = unused = _mark


def ignore(drop: Any = False, **options: Any) -> Any:
    """The function itself, with arguments or without."""
    return drop if callable(drop) else _mark


def is_scripting() -> bool:
    """Whether a program is being compiled: never."""
    return False


def is_tracing() -> bool:
    """Whether a program is being traced: never."""
    return False
