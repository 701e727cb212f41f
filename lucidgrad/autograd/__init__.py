"""Gradients: `grad`, `backward`, the modes, the graph, and checks of derivatives."""

from lucidgrad.core.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)

from . import graph
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .gradient import backward, grad

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
