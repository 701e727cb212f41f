"""Special functions, by family."""

from typing import Any

from lucidgrad.later import submodule


def __getattr__(name: str) -> Any:
    return submodule(__name__, name)
