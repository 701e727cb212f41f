"""Linear algebra: products, norms, functions and decompositions of matrices."""

from typing import Any

from lucidgrad.later import submodule


def __getattr__(name: str) -> Any:
    return submodule(__name__, name)
