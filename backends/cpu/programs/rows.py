"""Operations on rows by the hand-written kernels of `compiled`: softmax, cross-entropy, norms and their pulls."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lucidgrad.backends.cpu.compiled import rows as compiled
from lucidgrad.levels.program import Equation, Variable

from .kernels import WRONG, Kernel, address
from .places import whole
from .planning import Planner

__all__ = ["HANDLERS"]


# -- which, and how --------------------------------------------------------------------------------
def _split(shape: Sequence[int], axis: Any) -> tuple[int, int] | None:
    """How many rows there are and how long they are, if the axes are the last."""
    rank = len(shape)
    axes = (
        sorted(a % rank for a in ((axis,) if type(axis) is int else axis)) if axis is not None and rank else range(rank)
    )
    if list(axes) != list(range(rank - len(axes), rank)) or not rank:
        return None
    n = math.prod(shape[rank - len(axes) :])
    return (math.prod(shape) // n, n) if n and math.prod(shape) else None


def _floats(equation: Equation, name: str) -> bool:
    """Whether all arrays are of one dtype of floats, and there is a kernel."""
    dtypes = {v.dtype for v in (*equation.variables, *equation.results)}
    return len(dtypes) == 1 and next(iter(dtypes)).char in "fd" and address(name, dtypes.pop().char) is not None


def _whole(name: str) -> tuple[Callable[[Equation], bool], Callable[[Planner, Equation], None]]:
    """Kernels whose arrays are all as large as the last one or have an element for each row."""

    def accepts(equation: Equation) -> bool:
        x = equation.inputs[-1]
        split = _split(x.shape, equation.keywords.get("axis"))
        if split is None or not _floats(equation, name):
            return False
        fits = (x.size,) if name.endswith("softmax_pull") else (split[0],)
        return all(h.size in fits for h in equation.inputs[:-1])

    def plan(planner: Planner, equation: Equation) -> None:
        xs = [planner.contiguous(planner.place(x)) for x in equation.inputs]
        split = _split(equation.inputs[-1].shape, equation.keywords.get("axis"))
        assert split is not None
        y = planner.result(equation.results[0])
        planner.append(Kernel(name, [*xs, y, split[1]], [y], split[0], xs[-1].size, split[1]))

    return accepts, plan


def _accepts_classes(equation: Equation) -> bool:
    x, i, *h = equation.inputs
    name = f"rows.{equation.primitive.name}"
    floats = Equation(equation.primitive, (x, *h), {}, equation.results)
    if i.dtype != np.int64 or not x.size or not _floats(floats, name) or i.shape != x.shape[:-1]:
        return False
    return equation.keywords.get("axis", -1) % len(x.shape) == len(x.shape) - 1


def _plan_classes(planner: Planner, equation: Equation) -> None:
    xs = [planner.contiguous(planner.place(x)) for x in equation.inputs]
    y, n = planner.result(equation.results[0]), equation.inputs[0].shape[-1]
    ignored = equation.keywords.get("ignore_index", -100)
    name = f"rows.{equation.primitive.name}"
    planner.append(Kernel(name, [*xs, y, WRONG, n, ignored], [y], equation.inputs[1].size, xs[0].size, n))


def _options(equation: Equation) -> tuple[int, float]:
    words = equation.keywords
    return int(words.get("centre", True)), float(words.get("eps", 1e-5))


def _norm_axis(equation: Equation, x: Variable) -> Any:
    if "axes" in equation.keywords or "axis" not in equation.keywords:
        return tuple(range(len(x.shape) - equation.keywords.get("axes", 1), len(x.shape)))
    return equation.keywords["axis"]


def _accepts_norm(equation: Equation) -> bool:
    name = equation.primitive.name
    x = equation.inputs[1 if name.endswith("_pull") else 0]
    split = _split(x.shape, _norm_axis(equation, x))
    kernel = "norms.layer_norm" if name == "standardise" else f"norms.{name}"
    if split is None or not _floats(equation, kernel) or type(equation.keywords.get("eps", 1e-5)) not in (int, float):
        return False
    if name.endswith("_pull") and equation.inputs[0].shape != x.shape:
        return False
    weights = equation.inputs[2:] if name.endswith("_pull") else equation.inputs[1:]
    return all(w is None or w.size == split[1] for w in weights)


def _plan_norm(planner: Planner, equation: Equation) -> None:
    """`standardise` and `layer_norm`."""
    given = [None if x is None else planner.contiguous(planner.place(x)) for x in equation.inputs]
    x = equation.inputs[0]
    split = _split(x.shape, _norm_axis(equation, x))
    assert split is not None
    y = planner.result(equation.results[0])
    fields = [*given, *[None] * (3 - len(given)), y, split[1], *_options(equation)]
    planner.append(Kernel("norms.layer_norm", fields, [y], split[0], x.size, split[1], shared=given[1:]))


def _plan_standardise_pull(planner: Planner, equation: Equation) -> None:
    h, x = (planner.contiguous(planner.place(v)) for v in equation.inputs)
    split = _split(x.shape, _norm_axis(equation, equation.inputs[1]))
    assert split is not None
    y = planner.result(equation.results[0])
    planner.append(
        Kernel("norms.standardise_pull", [h, x, y, split[1], *_options(equation)], [y], split[0], x.size, split[1])
    )


def _plan_layer_norm_pull(planner: Planner, equation: Equation) -> None:
    h, x, w = (planner.contiguous(planner.place(v)) for v in equation.inputs)
    split = _split(x.shape, _norm_axis(equation, equation.inputs[1]))
    assert split is not None
    rows, n = split
    blocks = -(-rows // compiled.ROWS)
    y, to_w, to_b = (planner.result(v) for v in equation.results)
    parts = whole(planner.buffer(x.dtype, blocks * 2 * n), (blocks, 2, n))
    centre, eps = _options(equation)
    fields = [h, x, w, y, parts, rows, n, centre, eps]
    planner.append(Kernel("norms.layer_norm_pull", fields, [y, parts], blocks, x.size, clear=True))
    units = -(-n // compiled.STRETCH)
    planner.append(Kernel("norms.layer_norm_sums", [parts, to_w, to_b, blocks, n], [to_w, to_b], units, parts.size))


# -- channels --------------------------------------------------------------------------------------
def _accepts_batch_norm(equation: Equation) -> bool:
    name, eps = equation.primitive.name, equation.keywords.get("eps", 1e-5)
    x, *others = equation.inputs[1:] if name.endswith("_pull") else equation.inputs
    if any(type(v) is not Variable for v in equation.inputs) or not _floats(equation, f"norms.{name}"):
        return False
    if len(x.shape) < 2 or not x.size or type(eps) not in (int, float):
        return False
    return equation.inputs[0].shape == x.shape and all(v.shape == x.shape[1:2] for v in others)


def _plan_batch_norm(planner: Planner, equation: Equation) -> None:
    """`batch_norm` and `batch_norm_pull`."""
    name = equation.primitive.name
    given = [planner.contiguous(planner.place(v)) for v in equation.inputs]
    made = [planner.result(v) for v in equation.results]
    n, channels, *places = made[0].shape
    fields = [*given, *made, n, channels, math.prod(places), _options(equation)[1]]
    planner.append(Kernel(f"norms.{name}", fields, made, channels, made[0].size))


HANDLERS: dict[str, tuple[Callable[[Equation], bool], Callable[[Planner, Equation], None]]] = {
    **{
        name: _whole(f"rows.{name}")
        for name in ("softmax", "softmax_pull", "log_softmax", "log_softmax_pull", "logsumexp", "logsumexp_pull")
    },
    "cross_entropy_rows": (_accepts_classes, _plan_classes),
    "cross_entropy_pull": (_accepts_classes, _plan_classes),
    "standardise": (_accepts_norm, _plan_norm),
    "layer_norm": (_accepts_norm, _plan_norm),
    "standardise_pull": (_accepts_norm, _plan_standardise_pull),
    "layer_norm_pull": (_accepts_norm, _plan_layer_norm_pull),
    "batch_norm": (_accepts_batch_norm, _plan_batch_norm),
    "batch_norm_pull": (_accepts_batch_norm, _plan_batch_norm),
}
