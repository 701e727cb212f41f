"""Versions: of PyTorch's names that are here, of lucidgrad, and of CUDA."""

from typing import Any

import lucidgrad as _lg

#: PyTorch's version whose names the door has, and lucidgrad's own.
__version__ = f"2.13.0+lucidgrad.{_lg.__version__}"
git_version = "lucidgrad"
debug = False
hip = None
xpu = None


def __getattr__(name: str) -> Any:
    if name != "cuda":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _lg.cuda.version()
