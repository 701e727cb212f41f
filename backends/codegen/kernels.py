"""A trace as the parts of a kernel: parameters, statements, and which arguments it takes."""

import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from lucidgrad.core.items import InputMeta, Keyword
from lucidgrad.core.primitive import Primitive, Recipe

from .expression import Node
from .keys import Value, traced
from .languages import CUDA, Language, identifier
from .printing import arguments_of, statements
from .tracing import Trace, trace_forward, trace_pull


class Kernel(NamedTuple):
    """A kernel without its frame: arrays come first, then numbers; ``takes`` are their places among the arguments."""

    name: str
    arrays: tuple[tuple[Any, str], ...]  # dtype and word
    numbers: tuple[tuple[type, str], ...]
    results: tuple[tuple[Any, str], ...]
    takes: tuple[int, ...]
    lines: tuple[str, ...]

    @property
    def operations(self) -> int:
        """How many statements compute something."""
        return len(self.lines) - len(self.results)


def kernel_of(
    trace: Trace, results: Sequence[Node], name: str, shapes: Collection[int] = (), language: Language = CUDA
) -> Kernel:
    """The kernel that computes results; ``shapes`` are arguments it takes even if only for their shape."""
    used = arguments_of(results)
    arrays: list[tuple[Any, str]] = []
    numbers: list[tuple[int, Any, str]] = []
    takes: list[int] = []
    names: dict[Node, str] = {}
    for place, node in enumerate(trace.arguments):
        if node is None or (node not in used and place not in shapes):
            continue
        if node.weak:
            numbers.append((place, node.dtype, f"s{len(numbers)}"))
            names[node] = numbers[-1][2]
        else:
            arrays.append((node.dtype, f"a{len(arrays)}"))
            takes.append(place)
            half = node.dtype.name == "float16"
            names[node] = language.convert("float", arrays[-1][1]) if half else arrays[-1][1]
    lines, words = statements(results, names, language)
    outputs = tuple((node.dtype, f"r{k}") for k, node in enumerate(results))
    lines += [f"r{k} = {word};" for k, word in enumerate(words)]
    return Kernel(
        name,
        tuple(arrays),
        tuple((dtype, word) for _, dtype, word in numbers),
        outputs,
        (*takes, *(place for place, _, _ in numbers)),
        tuple(lines),
    )


def forward_kernel(
    primitive: Primitive,
    array_type: type,
    xs: Sequence[Any],
    keywords: dict[str, Any],
    by_value: bool = False,
    language: Language = CUDA,
) -> Kernel:
    """The kernel of a primitive's program, for arguments like these; ``by_value``: numbers are constants of it."""
    trace = trace_forward(primitive, [traced(x, array_type, by_value) for x in xs], keywords)
    arrays = [i for i, x in enumerate(xs) if type(x) is array_type]
    results = [node for node in trace.results if node is not None]
    return kernel_of(trace, results, identifier(primitive.name), arrays, language)


def picker(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """The function that picks some of a tuple, as another one."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    return operator.itemgetter(slice(places[0], places[0] + 1) if places else slice(0))


class Pulled(NamedTuple):
    """The rules of a recipe as a kernel, or None if there is nothing to compute.

    ``results`` says of each input: None, nothing goes; -1, the cotangent itself; else which result of the kernel.
    The kernel's first argument is the cotangent, the others are what the node keeps.
    """

    kernel: Kernel | None
    results: tuple[int | None, ...]


def pull_kernel(
    recipe: Recipe,
    goes: Sequence[bool],
    g: Any,
    saved: Sequence[Any],
    into: Sequence[Any] | None = None,
    by_value: bool = False,
    language: Language = CUDA,
) -> Pulled:
    """The kernel of a recipe's rules; ``into`` has the dtype of each result, None where it stays as it is."""
    kinds = [
        value.dtype
        if type(item) is InputMeta
        else Value(value)
        if type(item) is Keyword
        else traced(value, type(g), by_value)
        for item, value in zip(recipe.items, saved, strict=True)
    ]
    trace = trace_pull(recipe, goes, g.dtype, kinds)
    made: list[Node] = []
    results: list[int | None] = []
    for i, node in enumerate(trace.results):
        if node is not None and into is not None and into[i] is not None:
            node = trace.cast(node, into[i])
        if node is None:
            results.append(None)
        elif node is trace.arguments[0]:
            results.append(-1)
        else:
            if node not in made:
                made.append(node)
            results.append(made.index(node))
    name = identifier(f"{recipe.primitive.name}_vjp")
    return Pulled(kernel_of(trace, made, name, (0,), language) if made else None, tuple(results))
