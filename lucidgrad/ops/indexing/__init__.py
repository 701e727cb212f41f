"""Picking elements, adding them back and writing them: by key, by position, by mask."""

from typing import Any

from lucidgrad.later import submodule


def __getattr__(name: str) -> Any:
    return submodule(__name__, name)
