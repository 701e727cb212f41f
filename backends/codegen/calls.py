"""Calls of elementwise primitives and of their rules: which kernel runs, from the arguments alone.

Kernels are made when arguments of new dtypes (and values of keywords) are first met. Python numbers are parameters
of a kernel, unless a program looks at their values. What a device adds is a `Frame`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lucidgrad.core import device, dtype as dtypes
from lucidgrad.core.items import InputMeta, Keyword
from lucidgrad.core.primitive import ELEMENTWISE, Primitive, Recipe

from .cache import KernelCache
from .expression import Untraceable
from .kernels import Kernel, forward_kernel, picker, pull_kernel
from .keys import identity, told
from .languages import Language
from .tracing import is_elementwise

__all__ = ["Frame", "Run", "forward", "pull"]


class Run(NamedTuple):
    """A compiled kernel: ``run(arguments, shape)`` gives the results of a program, and pays from ``least`` elements.

    It gives None for arguments that are not for it, or whose results would not have the shape, if there is one.
    """

    least: int
    run: Callable[[Sequence[Any], tuple[int, ...] | None], list[Any] | None]
    launch: tuple[Callable[..., Any], Sequence[int]] | None = None  # which gives one result as it is, and what it takes


class Frame(NamedTuple):
    """What a device makes of kernels.

    ``compiled(kernel, usual)`` gives what runs a kernel, ``usual`` being the function that it stands for, if there is
    one. Arrays with fewer than ``smallest`` elements have no kernels.
    """

    array: Any  # the type of its arrays
    language: Language
    compiled: Callable[[Kernel, Any], Run]
    smallest: int = 0


_NOTHING = Run(0, lambda xs, shape: [])  # rules of which all cotangents are the given one


def forward(primitive: Primitive, frame: Frame, usual: Callable[..., Any]) -> Callable[..., Any] | None:
    """The function that computes an elementwise primitive by one kernel, and by ``usual`` where that can't be.

    None for other primitives.
    """
    if primitive.kind is not ELEMENTWISE or not is_elementwise(primitive):
        return None
    array, language, compiled, smallest = frame
    defaults = language.integers and primitive.dtype == "float"  # integers become the default dtype

    def make(xs: Sequence[Any], keywords: dict[str, Any], by_value: bool) -> Run:
        language.check({x.dtype for x in xs if type(x) is array})
        return compiled(forward_kernel(primitive, array, xs, keywords, by_value, language), usual)

    find = KernelCache(primitive.name, make, lambda xs, keywords: usual(*xs, **keywords)).find

    def kernel(*xs: Any, **keywords: Any) -> Any:
        known: list[Any] = []
        size = 0
        try:
            for x in xs:
                if type(x) is array:
                    known.append(x.dtype)
                    if smallest and x.size > size:
                        size = x.size
                else:
                    known.append(told(x))
        except Untraceable:
            return usual(*xs, **keywords)
        if size < smallest:
            return usual(*xs, **keywords)
        for name, value in keywords.items():
            known += (name, identity(value))
        if defaults:
            known.append(dtypes.get_default_dtype())
        found = find(tuple(known), xs, xs, keywords)
        if found is not None:
            least, run, _ = found
            made = None if size < least else run(xs, None)
            if made is not None:
                return made[0]
        return usual(*xs, **keywords)

    kernel.__name__ = primitive.name
    return kernel


def pull(recipe: Recipe, goes: Sequence[bool], frame: Frame) -> Callable[..., Any] | None:
    """The function ``(g, saved, targets) -> cotangents`` that runs the rules of a recipe in one kernel.

    ``targets`` are what cotangents must become, as a node keeps it. Where no sum over broadcast axes is needed the
    cotangent has its target's dtype already. The function gives None where the rules have to run as they are.
    """
    if not is_elementwise(recipe.primitive):
        return None
    array, language, compiled, smallest = frame
    kinds = tuple(map(type, recipe.items))

    def make(g: Any, saved: tuple[Any, ...], targets: Sequence[Any] | None, by_value: bool) -> Any:
        language.check({x.dtype for x in (g, *saved) if type(x) is array})
        into = None if targets is None else [None if t is None or t[0] != g.shape else t[1] for t in targets]
        kernel, results = pull_kernel(recipe, goes, g, saved, into, by_value, language)
        as_made = results == tuple(range(len(results)))
        return *(_NOTHING if kernel is None else compiled(kernel, None)), None if as_made else results

    cache = KernelCache(f"the rules of {recipe.primitive.name}", make, _rules(recipe, goes))
    find = cache.find
    known_calls: dict[Any, Callable[..., Any]] = {}

    def pulled(g: Any, saved: tuple[Any, ...], targets: Sequence[Any] | None) -> Any:
        if smallest and g.size < smallest:
            return None
        known: list[Any] = [g.dtype]
        try:
            for kind, value in zip(kinds, saved, strict=True):
                if type(value) is array or kind is InputMeta:
                    known.append(value.dtype)
                else:
                    known.append(identity(value) if kind is Keyword else told(value))
        except Untraceable:
            return None
        shape = g.shape
        for target in targets or ():
            known.append(None if target is None or target[0] != shape else target[1])
        found = find(tuple(known), saved, g, saved, targets)
        if found is None:
            return None
        least, run, launch, results = found
        if not least and targets is None and not cache.is_by_value(tuple(known)):
            _know(known_calls, kinds, array, known, launch, results)
        made = None if least and g.size < least else run((g, *saved), shape)
        if made is None or results is None:
            return made
        return [None if k is None else g if k < 0 else made[k] for k in results]

    if not smallest and Keyword not in kinds:  # whose values would have to be told apart
        pulled.known = known_calls, ", ".join(["g.dtype", *map(_word, kinds, range(len(kinds)))])  # type: ignore[attr-defined]
    return pulled


def _word(kind: type, place: int) -> str:
    """What a saved value is known by, as source: arrays by type and dtype, numbers by type."""
    value = f"s[{place}]"
    if kind is InputMeta:
        return f"{value}.dtype"
    return f"{value}.__class__, getattr({value}, 'dtype', None)"


def _know(
    calls: dict[Any, Any], kinds: Sequence[type], array: Any, known: list[Any], launch: Any, results: Any
) -> None:
    """Note a call by what `_word` says of it: ``(g, saved) -> cotangents``, those that go anywhere; one is no tuple."""
    key = known[:1]
    for kind, part in zip(kinds, known[1:], strict=True):
        if kind is InputMeta:
            key.append(part)
        elif isinstance(part, type):
            key += (part, None)
        else:
            key += (array, part)
    if any(type(part) is tuple or part is int for part in key):
        return  # a number's value matters
    going = None if results is None else [k for k in results if k is not None]
    if going is not None and all(k < 0 for k in going):
        many = len(going)
        calls[tuple(key)] = (lambda g, saved: g) if many == 1 else (lambda g, saved: (g,) * many)
    elif launch is not None and going in (None, [0]):
        run, takes = launch
        taken, all_of = picker(takes), tuple(takes) == tuple(range(1 + len(kinds)))
        calls[tuple(key)] = (lambda g, saved: run(g, *saved)) if all_of else (lambda g, saved: run(*taken((g, *saved))))


def _rules(recipe: Recipe, goes: Sequence[bool]) -> Callable[..., None]:
    """What checks a call of a recipe's rules: they run as they are."""

    def check(g: Any, saved: tuple[Any, ...], *more: Any) -> None:
        xp = device.by_array[type(g)].xp
        if recipe.joint is not None:
            recipe.joint(xp, g, saved)
        for i, pull in recipe.pulls:
            if goes[i]:
                pull(xp, g, saved)

    return check
