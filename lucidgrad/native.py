"""The engine's hot paths, where they are compiled: a back end offers them; otherwise Python's source is all there is."""

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["offer", "parts"]

_offers: list[Callable[[], Any]] = []


def offer(load: Callable[[], Any]) -> None:
    """Name the function that loads the compiled parts; it returns None where they can't be had."""
    _offers.append(load)
    parts.cache_clear()


@functools.cache
def parts() -> Any:
    """The compiled parts, loaded when first asked for; None: there are none, in this process from then on."""
    return next((found for load in _offers if (found := load()) is not None), None)
