"""Programs of `lucidgrad.levels.program` on CUDA: elementwise equations share launches, others call their kernels.

`grouping` says which equations go together, `printing` writes the source of a launch, `launching` gives it arrays, and
`running` runs the whole.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lucidgrad.levels.program import Program

from .running import Runner

__all__ = ["compiled"]


def compiled(program: Program, into: Mapping[int, int], how: str | None = None) -> Callable[[Sequence[Any]], list[Any]]:
    """The function ``(values) -> outputs`` of a program."""
    return Runner(program, into)
