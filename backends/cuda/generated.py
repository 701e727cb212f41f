"""Kernels of elementwise primitives, generated: one launch for a whole forward program, or for a whole VJP.

Kernels are made when arguments of new dtypes (and values of keywords) are first met. Python numbers are parameters
of a kernel, unless a rule looks at their values.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import cupy

from lucidgrad.backends import codegen
from lucidgrad.backends.codegen import Kernel, Untraceable
from lucidgrad.core import device, dtype as dtypes
from lucidgrad.core.primitive import ELEMENTWISE, Primitive, Recipe

__all__ = ["compiled", "forward", "pull"]

PREAMBLE = (
    "#define LG_INFINITY __longlong_as_double(0x7ff0000000000000LL)\n"
    "#define LG_NAN __longlong_as_double(0x7ff8000000000000LL)\n" + codegen.C_FUNCTIONS
)
#: Products and sums are rounded one by one, as on the CPU. (CuPy adds -ftz=true: tiny float32 results are zero.)
OPTIONS = ("--fmad=false",)
_NUMBERS = {int: "int64", float: "float64", complex: "complex128"}
_ARRAY = cupy.ndarray


def compiled(kernel: Kernel) -> Any:
    """A kernel as CuPy's."""
    given = [f"{dtype.name} {word}" for dtype, word in kernel.arrays]
    given += [f"{_NUMBERS[dtype]} {word}" for dtype, word in kernel.numbers]
    made = [f"{dtype.name} {word}" for dtype, word in kernel.results]
    return cupy.ElementwiseKernel(
        ", ".join(given), ", ".join(made), "\n".join(kernel.lines), kernel.name, preamble=PREAMBLE, options=OPTIONS
    )


# -- forward -------------------------------------------------------------------------------------
def forward(primitive: Primitive) -> Callable[..., Any] | None:
    """The function that computes an elementwise primitive in one launch; None for other primitives.

    For arguments with which the program can't be traced the function runs it with CuPy.
    """
    if primitive.kind is not ELEMENTWISE or not codegen.is_elementwise(primitive):
        return None
    program = _program(primitive)
    plans = codegen.Plans(primitive.name, functools.partial(_forward_plan, primitive), program)
    told, identity = codegen.told, codegen.identity
    floats = primitive.dtype == "float"  # integers become the default dtype

    def kernel(*xs: Any, **keywords: Any) -> Any:
        try:
            known: list[Any] = [x.dtype if type(x) is _ARRAY else told(x) for x in xs]
        except Untraceable:
            return program(xs, keywords)
        for name, value in keywords.items():
            known += (name, identity(value))
        if floats:
            known.append(dtypes.get_default_dtype())
        return (plans.find(tuple(known), xs, xs, keywords) or program)(xs, keywords)

    kernel.__name__ = primitive.name
    return kernel


def _forward_plan(primitive: Primitive, xs: Sequence[Any], keywords: dict[str, Any], by_value: bool) -> Any:
    """What the cache keeps: a function of arguments and keywords."""
    kernel = codegen.forward_kernel(primitive, _ARRAY, xs, keywords, by_value)
    launch, takes = compiled(kernel), kernel.takes
    if takes == tuple(range(len(xs))):
        return lambda xs, keywords: launch(*xs)
    return lambda xs, keywords: launch(*[xs[i] for i in takes])


def _program(primitive: Primitive) -> Callable[..., Any]:
    return lambda xs, keywords: primitive.program(device.by_array[_ARRAY].xp, *xs, **keywords)


# -- backward ------------------------------------------------------------------------------------
def pull(recipe: Recipe, goes: Sequence[bool]) -> Callable[..., Any] | None:
    """The function ``(g, saved, targets) -> cotangents`` that runs the rules of a recipe in one launch.

    ``targets`` are what cotangents must become, as a node keeps it. Where no sum over broadcast axes is needed the
    cotangent has its target's dtype already. The function gives None for values that the kernel can't take.
    """
    if not codegen.is_elementwise(recipe.primitive):
        return None
    whats = tuple(what for what, _ in recipe.items)
    make = functools.partial(_pull_plan, recipe, goes)
    plans = codegen.Plans(f"the rules of {recipe.primitive.name}", make, codegen.rules_of(recipe, goes))
    told, identity = codegen.told, codegen.identity

    def pulled(g: Any, saved: tuple[Any, ...], targets: Sequence[Any] | None) -> Any:
        known: list[Any] = [g.dtype]
        try:
            for what, value in zip(whats, saved, strict=True):
                if type(value) is _ARRAY or what == "meta":
                    known.append(value.dtype)
                else:
                    known.append(identity(value) if what == "kw" else told(value))
        except Untraceable:
            return None
        into = None
        if targets is not None:
            shape = g.shape
            into = tuple([None if t is None or t[0] != shape else t[1] for t in targets])
        run = plans.find((*known, into), saved, g, saved, into)
        return None if run is None else run(g, saved)

    return pulled


def _pull_plan(recipe: Recipe, goes: Sequence[bool], g: Any, saved: tuple[Any, ...], into: Any, by_value: bool) -> Any:
    """What the cache keeps: a function of the cotangent and what the node kept."""
    made = codegen.pull_kernel(recipe, goes, g, saved, into, by_value)
    results = made.results
    if made.kernel is None:
        return lambda g, saved: [None if k is None else g for k in results]
    launch, places = compiled(made.kernel), tuple(place - 1 for place in made.kernel.takes[1:])
    single = len(made.kernel.results) == 1

    def run(g: Any, saved: tuple[Any, ...]) -> list[Any]:
        found = launch(g, *[saved[place] for place in places])
        if single:
            return [None if k is None else g if k < 0 else found for k in results]
        return [None if k is None else g if k < 0 else found[k] for k in results]

    return run
