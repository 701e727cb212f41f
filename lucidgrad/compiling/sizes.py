"""Shapes that follow from an equation without computing it: what contradicts them was not made by tracing."""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core.primitive import ELEMENTWISE
from lucidgrad.levels.program import Equation

__all__ = ["contradiction"]

Sizes = tuple[int, ...]

#: Reductions whose axes are an integer, a tuple, or all.
_REDUCTIONS = frozenset(
    "all any argmax argmin count_nonzero logsumexp max mean min prod std sum var vector_norm".split()
)
_SAME = frozenset("astype clone conj flip imag real roll tril triu softmax log_softmax".split())


def contradiction(equation: Equation) -> str | None:
    """What is wrong with the shapes of an equation, as far as its kind tells; else None."""
    try:
        expected = _shape_of(equation)
    except ValueError as error:
        return str(error)
    found = equation.results[0].shape
    return None if expected in (None, found) else f"gives the shape {found}, expected {expected}"


def _shape_of(equation: Equation) -> Sizes | None:
    """The shape of the result where that is known; None where only computing it tells."""
    primitive, words = equation.primitive, equation.keywords
    name, shapes = primitive.name, [v.shape for v in equation.variables]
    if len(equation.results) != 1:
        return None
    if primitive.kind is ELEMENTWISE:  # type: ignore[union-attr]  # no action
        return _broadcast(shapes)
    if name in _SAME:
        return shapes[0]
    if name in _REDUCTIONS:
        return _reduced(shapes[0], words.get("axis"), words.get("keepdims", False))
    if name in ("reshape", "broadcast_to"):
        return _given(name, shapes[0], words["shape"])
    return _product(*shapes) if name == "matmul" and len(shapes) == 2 else None


def _broadcast(shapes: Sequence[Sizes]) -> Sizes:
    rank = max(map(len, shapes))
    made = []
    for column in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
        sizes = {n for n in column if n != 1}
        if len(sizes) > 1:
            raise ValueError(f"is given shapes that do not broadcast, {' and '.join(map(str, shapes))}")
        made.append(sizes.pop() if sizes else 1)
    return tuple(made)


def _reduced(shape: Sizes, axis: Any, keepdims: Any) -> Sizes | None:
    axes = range(len(shape)) if axis is None else (axis,) if type(axis) is int else axis
    if not isinstance(axes, (tuple, range)) or type(keepdims) is not bool:
        raise ValueError(f"is given axis={axis!r:.40}, keepdims={keepdims!r:.40}")
    if not all(type(a) is int and -len(shape) <= a < len(shape) for a in axes):
        raise ValueError(f"is given axis={axis!r:.40} and an array of dimension {len(shape)}")
    gone = {a % len(shape) for a in axes}
    return tuple([1 if i in gone else n for i, n in enumerate(shape) if keepdims or i not in gone])


def _given(name: str, shape: Sizes, new: Any) -> Sizes | None:
    if type(new) is not tuple or not all(type(n) is int for n in new):
        raise ValueError(f"is given shape={new!r:.40}")
    if name == "broadcast_to":
        return new if _broadcast([shape, new]) == new else _broadcast([shape, new])
    return new if -1 not in new else None


def _product(one: Sizes, two: Sizes) -> Sizes | None:
    if not one or not two:
        raise ValueError("is given an array without axes")
    inner = two[-2] if len(two) > 1 else two[0]
    if one[-1] != inner:
        raise ValueError(f"is given shapes that do not fit, {one} and {two}")
    batch = _broadcast([one[:-2], two[:-2]])
    return (*batch, *one[-2:-1], *(two[-1:] if len(two) > 1 else ()))
