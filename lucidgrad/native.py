"""The engine's hot paths, where they are compiled: a back end offers them. Otherwise there is Python's source."""

import os
from _thread import allocate_lock  # of `threading`, which takes long to import
from collections.abc import Callable
from typing import Any

__all__ = ["offer", "operator", "parts"]

_lock = allocate_lock()
_offers: list[Callable[[], Any]] = []
_found: list[Any] = []


def offer(load: Callable[[], Any]) -> None:
    """Name the function that loads the compiled parts; it returns None where they can't be had."""
    _offers.append(load)


def parts() -> Any:
    """The compiled parts, loaded when first asked for; None: there are none, in this process from then on."""
    if not _found:
        with _lock:
            if not _found:
                _found.append(next((found for load in _offers if (found := load()) is not None), None))
    return _found[0]


def _after_fork() -> None:
    global _lock
    _lock = allocate_lock()  # another thread may have been loading


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def operator(primitive: Any, order: Any, function: Any) -> Any:
    """What the compiled engine puts before the function of a primitive; None: there is nothing to put there."""
    found = parts()
    return None if found is None else found.operator(primitive, order, function)
