"""The engine in C: what it does is what `lucidgrad.core` says, for calls on NumPy's arrays that are common.

``LUCIDGRAD_ENGINE=python`` keeps it off, ``LUCIDGRAD_ENGINE=compiled`` insists on it: then it is built at once, and
what goes wrong is raised; with ``LUCIDGRAD_ENGINE=built`` it is loaded if it is there. Otherwise the same, but if it is
not there, a process of its own builds it for later ones.
"""

from typing import Any

__all__ = ["load", "status"]

_reason = "nothing was computed yet"


def load() -> Any:
    """The compiled parts of the engine; None where there are none, and `status` says why."""
    global _reason
    from . import library

    found, _reason = library.found()
    if found is None:
        return None
    from . import parts

    try:
        return parts.Parts(found)
    except TypeError as error:  # slots or arrays have another layout
        if library.insists():
            raise
        _reason = str(error)
        return None


def status() -> str:
    """Which engine runs in this process."""
    from lucidgrad import native

    return f"compiled ({_reason})" if native.parts() is not None else f"Python ({_reason})"
