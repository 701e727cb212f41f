"""Gradients: `grad`, `backward`, the modes, the graph, and checks of derivatives."""

import importlib
from typing import TYPE_CHECKING, Any

from lucidgrad.core.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)

from . import graph
from .gradient import backward, grad

if TYPE_CHECKING:
    from .checks import GradcheckError, gradcheck, gradgradcheck


def __getattr__(name: str) -> Any:
    """Load the checks when they are first asked for: programs that train don't."""
    if name in ("GradcheckError", "gradcheck", "gradgradcheck"):
        checks = importlib.import_module(".checks", __name__)
        for found in ("GradcheckError", "gradcheck", "gradgradcheck"):
            globals()[found] = getattr(checks, found)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "GradcheckError",
    "backward",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]
