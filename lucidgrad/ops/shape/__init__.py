"""Operations that move values about and change none: layouts, diagonals, joining, arrangements."""

from typing import Any

from lucidgrad.later import submodule


def __getattr__(name: str) -> Any:
    return submodule(__name__, name)
