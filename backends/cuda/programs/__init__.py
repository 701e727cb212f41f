"""Programs of `lucidgrad.levels.program` on CUDA: elementwise equations share launches, others call their kernels.

`grouping` says which equations go together, `printing` writes the source of a launch, `launching` gives it arrays,
`running` runs the whole, and `graphs` records that, so that it is one launch.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lucidgrad.levels.program import Program

from .graphs import Graphs
from .running import Runner

__all__ = ["compiled"]


def compiled(program: Program, into: Mapping[int, int], how: str | None = None) -> Callable[[Sequence[Any]], list[Any]]:
    """The function ``(values) -> outputs`` of a program.

    ``how``: "graph" for a graph, however short the program is, "launches" for none; by default where it pays.
    """
    runner = Runner(program, into)
    return runner if how == "launches" else Graphs(runner, 1) if how == "graph" else Graphs(runner)
