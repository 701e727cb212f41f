"""Gradients: `grad`, `backward`, the modes, the graph, and checks of derivatives."""

import importlib
from typing import TYPE_CHECKING, Any

from lucidgrad.refusals import guard as _guard

from .modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

if TYPE_CHECKING:
    from . import forward_ad, function, functional, graph
    from .budget import memory_budget
    from .checks import GradcheckError, gradcheck, gradgradcheck
    from .explanation.answer import explain
    from .explanation.provenance import explaining
    from .function import Function
    from .gradient import backward, grad

#: What is loaded when it is first asked for.
_LATER = {
    "Function": ".function",
    "GradcheckError": ".checks",
    "anomaly": ".anomaly",
    "backward": ".gradient",
    "detect_anomaly": ".anomaly",
    "explain": ".explanation.answer",
    "explaining": ".explanation.provenance",
    "forward_ad": ".forward_ad",
    "function": ".function",
    "functional": ".functional",
    "grad": ".gradient",
    "gradcheck": ".checks",
    "gradgradcheck": ".checks",
    "graph": ".graph",
    "memory_budget": ".budget",
    "set_detect_anomaly": ".anomaly",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_LATER[name], __name__)
    globals()[name] = module if _LATER[name] == f".{name}" else getattr(module, name)
    _guard(__name__, (name,))
    return globals()[name]


__all__ = [
    "Function",
    "GradcheckError",
    "anomaly",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "explain",
    "explaining",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "memory_budget",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

_guard(__name__, __all__)
