"""Where the compiled engine lies, whether it is whole, and who builds it if it is not there."""

import os
import sys
import time
from pathlib import Path
from typing import Any

from lucidgrad.backends import caches

__all__ = ["found", "insists", "path"]

SOURCE = Path(__file__).resolve().parent / "engine.c"
RETRY = 86400  # seconds after which what failed is tried again
PATIENCE = 300  # seconds after which a build that others began counts as lost


def choice() -> str:
    """What the environment says: python, compiled, built, or nothing."""
    chosen = os.environ.get("LUCIDGRAD_ENGINE", "").strip().lower()
    if chosen not in ("", "python", "compiled", "built"):
        raise ValueError(f"LUCIDGRAD_ENGINE: given {chosen!r}, expected 'python', 'compiled', 'built' or nothing")
    return chosen


def insists() -> bool:
    """Whether the compiled engine must be had."""
    return choice() == "compiled"


def path() -> Path:
    """The library's place: it has a hash of all that it depends on in its name."""
    flags = os.environ.get("LUCIDGRAD_CFLAGS", "")
    source = b"".join(file.read_bytes() for file in sorted(SOURCE.parent.glob("*.[ch]")))
    key = caches.digest(source, sys.version, sys.implementation.cache_tag or "", sys.platform, flags)
    return caches.home("engine") / f"engine-{key[:24]}.so"


def found() -> tuple[Any, str]:
    """The module and where it lies; or None and why there is none."""
    chosen = choice()
    if chosen == "python" or (caches.switched_off() and chosen != "compiled"):
        return None, "LUCIDGRAD_ENGINE=python" if chosen == "python" else "switched off by LUCIDGRAD_COMPILED=0"
    reason = unfit()
    if reason is None:
        library = path()
        try:
            if not caches.sealed(library):
                reason = "it was not built before" if chosen == "built" else _build(library, chosen == "compiled")
            if reason is None:
                caches.make_private(library.parent)  # or it says who else could have written there
                return _loaded(library), str(library)
        except (OSError, ImportError) as error:
            reason = str(error)
    if chosen == "compiled":
        raise ImportError(f"LUCIDGRAD_ENGINE=compiled, but the engine can't be compiled here: {reason}")
    return None, reason


def unfit() -> str | None:
    """Why this Python has no compiled engine, if so."""
    if sys.implementation.name != "cpython":
        return f"it is for CPython, this is {sys.implementation.name}"
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or "t" in getattr(sys, "abiflags", ""):
        return "a free-threaded Python has the engine in Python"
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        return f"it is for Python 3.11 to 3.13, this is {sys.version.split()[0]}"
    return None


def _build(library: Path, now: bool) -> str | None:
    """Build it now, or let another process do so; the reason why there is none yet."""
    caches.make_private(library.parent)
    note, mark = library.with_suffix(".why"), library.with_suffix(".building")
    from . import building

    if now:
        building.build(SOURCE, library)
        return None
    if _age(note) < RETRY:
        return note.read_text(encoding="utf-8", errors="replace")
    if PATIENCE < _age(mark) < float("inf"):
        mark.unlink(missing_ok=True)
    if not mark.exists() and caches.sealed(library):  # it was finished since it was looked for
        return None
    if not building.begin(SOURCE, library, mark):
        return "another process is building it"
    return "it is being built, for processes that start later"


def _age(file: Path) -> float:
    try:
        return time.time() - file.stat().st_mtime
    except OSError:
        return float("inf")


def _loaded(library: Path) -> Any:
    from importlib.machinery import ExtensionFileLoader
    from importlib.util import module_from_spec, spec_from_loader

    loader = ExtensionFileLoader("lucidgrad_engine", str(library))
    spec = spec_from_loader("lucidgrad_engine", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module
