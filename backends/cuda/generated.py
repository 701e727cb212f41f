"""Kernels of elementwise primitives, generated: one launch for a whole forward program, or for a whole VJP."""

from collections.abc import Callable, Sequence
from typing import Any

import cupy

from lucidgrad.backends import codegen
from lucidgrad.backends.codegen import Kernel
from lucidgrad.core.primitive import Primitive, Recipe

from .compiling import SUBNORMALS, program_of

__all__ = ["OPTIONS", "PREAMBLE", "compiled", "forward", "pull"]

PREAMBLE = codegen.CUDA.functions
#: Products and sums are rounded one by one, and tiny float32 numbers are kept, as on the CPU.
OPTIONS = ("--fmad=false", SUBNORMALS)
_NUMBERS = {int: "int64", float: "float64", complex: "complex128"}


def compiled(kernel: Kernel) -> Any:
    """A kernel as CuPy's."""
    given = [f"{dtype.name} {word}" for dtype, word in kernel.arrays]
    given += [f"{_NUMBERS[dtype]} {word}" for dtype, word in kernel.numbers]
    made = [f"{dtype.name} {word}" for dtype, word in kernel.results]
    return cupy.ElementwiseKernel(
        ", ".join(given), ", ".join(made), "\n".join(kernel.lines), kernel.name, preamble=PREAMBLE, options=OPTIONS
    )


def _launched(kernel: Kernel, usual: Any) -> codegen.Run:
    """A kernel that takes a program's arguments, of any number of elements."""
    launch, taken = compiled(kernel), codegen.picker(kernel.takes)
    if len(kernel.results) > 1:
        return codegen.Run(0, lambda xs, shape: list(launch(*taken(xs))), (launch, kernel.takes))
    return codegen.Run(0, lambda xs, shape: [launch(*taken(xs))], (launch, kernel.takes))


_FRAME = codegen.Frame(cupy.ndarray, codegen.CUDA, _launched)


def forward(primitive: Primitive) -> Callable[..., Any] | None:
    """The function that computes an elementwise primitive in one launch; None for other primitives.

    For arguments with which the program can't be traced the function runs it with CuPy.
    """
    return codegen.forward(primitive, _FRAME, program_of(primitive.name))


def pull(recipe: Recipe, goes: Sequence[bool]) -> Callable[..., Any] | None:
    """The function ``(g, saved, targets) -> cotangents`` that runs the rules of a recipe in one launch."""
    return codegen.pull(recipe, goes, _FRAME)
