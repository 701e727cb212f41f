"""SciPy's functions for arrays and for what is being differentiated; SciPy must be installed."""

import importlib as _importlib
from types import ModuleType as _ModuleType

_MODULES = "integrate linalg misc signal special stats".split()

__all__ = list(_MODULES)


def __getattr__(name: str) -> _ModuleType:
    """A module when it is first asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _importlib.import_module(f"{__name__}.{name}")
