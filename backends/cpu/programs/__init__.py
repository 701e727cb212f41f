"""Programs of `lucidgrad.levels.program` on the CPU: as one Python function of kernel calls, or as C.

`lines` writes the function of kernel calls, which serves without a C compiler. `segments` finds the equations that C
can do and calls them together; `planning` says for a run of them where arrays lie and which loops there are, `loops`,
`reductions`, `products`, `rows`, `copies`, `windows`, `gathers`, `attention` and `sequences` what each does, and
`calling` compiles and calls the whole. Hand-written kernels are called as `kernels` says.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lucidgrad.backends.cpu.compiled import building
from lucidgrad.levels.program import Program

from .lines import flat

__all__ = ["compiled"]


def compiled(program: Program, into: Mapping[int, int], how: str | None = None) -> Callable[[Sequence[Any]], list[Any]]:
    """The function ``(values) -> outputs`` of a program; ``how``: "c", "flat", or None for C if there is a compiler."""
    if how == "flat" or building.why_not() is not None:
        return flat(program, into)
    from .segments import segmented

    return segmented(program, into)
