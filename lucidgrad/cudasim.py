"""An emulated CUDA device, for machines without a GPU: tests, continuous integration, a look at what is launched.

Call `install` before CuPy is imported, or run a program with it: ``python -m lucidgrad.cudasim pytest tests``.
"""

from .backends.cudasim import (
    Counts,
    EmulatorError,
    counters,
    counting,
    guard,
    install,
    is_installed,
    last_fault,
    launches,
    lazy,
    load,
    poison,
    reset,
    set_guard,
    set_lazy,
    set_poison,
    synchronise_all,
    usable_gpus,
)

__all__ = [
    "Counts",
    "EmulatorError",
    "counters",
    "counting",
    "guard",
    "install",
    "is_installed",
    "last_fault",
    "launches",
    "lazy",
    "load",
    "poison",
    "reset",
    "set_guard",
    "set_lazy",
    "set_poison",
    "synchronise_all",
    "usable_gpus",
]

if __name__ == "__main__":
    from .backends.cudasim.launcher import main

    main()
