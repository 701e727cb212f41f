"""An emulated CUDA device: the unmodified wheel of CuPy runs on it, on a machine without a GPU.

``install()`` before ``import cupy``; kernels are then compiled for the host and run in the order of their streams.
"""

import os

from .controls import (
    Counts,
    counters,
    counting,
    flush,
    guard,
    last_fault,
    launches,
    lazy,
    poison,
    races,
    reset,
    set_flush,
    set_guard,
    set_lazy,
    set_poison,
    synchronise_all,
)
from .errors import EmulatorError
from .gpu import usable as usable_gpus
from .loading import is_installed, load
from .settings import install
from .version import __version__

__all__ = [
    "Counts",
    "EmulatorError",
    "counters",
    "counting",
    "flush",
    "guard",
    "install",
    "is_installed",
    "last_fault",
    "launches",
    "lazy",
    "load",
    "poison",
    "races",
    "reset",
    "set_flush",
    "set_guard",
    "set_lazy",
    "set_poison",
    "synchronise_all",
    "usable_gpus",
    "__version__",
]

if os.environ.get("CUDASIM") == "1":  # set by the launcher, which has looked for a GPU
    install(force=True)
