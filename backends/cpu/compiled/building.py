"""C sources to shared libraries, with the system's compiler, when they are first needed.

``LUCIDGRAD_CC`` names the compiler (else cc, gcc, clang), ``LUCIDGRAD_COMPILED=0`` keeps all of this off. Libraries
stay in ``$XDG_CACHE_HOME/lucidgrad/cpu`` under a hash of everything that they are made of, the processor among it, if
that folder is this user's alone; each has its own hash behind it, and one that is not whole is built again. They appear
there by renaming, so that any number of processes may build the same one at once. ``LUCIDGRAD_CFLAGS`` adds flags.

No flag changes what NaN, infinities and signed zeros mean. Products and sums are rounded one by one, as NumPy does.
"""

import ctypes
import functools
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lucidgrad.backends.caches import switched_off

if TYPE_CHECKING:
    from pathlib import Path

    from .toolchain import Toolchain

__all__ = ["folder", "load", "status", "why_not"]

_lock = threading.RLock()
_loaded: dict[str, ctypes.CDLL | None] = {}
_failures: dict[str, str] = {}


def load(name: str, source: str | dict[str, str] | Sequence[str], flags: Sequence[str] = ()) -> ctypes.CDLL | None:
    """The library of a source, of several by their names, or of files in this folder.

    None if it can't be had: `why_not` says why.

    Functions that are to be called have ``__attribute__((visibility("default")))``; `vector_math.h` names it EXPORT.
    ``flags`` are added to the usual ones. Whatever is built once is found again by all later processes.
    """
    with _lock:
        toolchain = _toolchain()
        if toolchain is None:
            return None
        texts = toolchain.texts(name, source)
        key = toolchain.key(texts, flags)
        if key not in _loaded:
            try:
                _loaded[key] = toolchain.library(f"{name}-{key[:24]}", texts, flags)
            except OSError as error:
                _loaded[key], _failures[name] = None, str(error)
                from lucidgrad.backends.codegen import report  # with all that prints kernels

                report(f"the compiled library {name}", str(error))
        return _loaded[key]


def why_not(name: str | None = None) -> str | None:
    """Why there are no libraries at all, or not that of a name; None if nothing failed."""
    if switched_off():
        return "switched off by LUCIDGRAD_COMPILED=0"
    with _lock:
        if _toolchain() is None:
            return _failures[""]
        return _failures.get(name) if name else None


def status() -> str:
    """One line about the compiler, its flags and the cache; or why compiled kernels are not in use."""
    reason = why_not()
    toolchain = None if reason else _toolchain()
    if toolchain is None:
        return f"no ({reason})"
    failed = "".join(f"; {name} failed: {text}" for name, text in _failures.items() if name)
    return f"yes ({toolchain.program}, {' '.join(toolchain.flags)}, kept in {toolchain.folder}){failed}"


def folder() -> "Path | None":
    """Where libraries are kept; None if there are none."""
    toolchain = None if why_not() else _toolchain()
    return None if toolchain is None else toolchain.folder


@functools.cache
def _toolchain() -> "Toolchain | None":
    if switched_off():
        return None
    from .toolchain import find  # with much that programs without large arrays don't need

    try:
        return find()
    except OSError as error:
        _failures[""] = str(error)
        return None


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()  # another thread may have been building


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
