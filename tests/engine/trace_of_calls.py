"""``python trace_of_calls.py``: a line per call of every primitive, and what came of it; both engines are compared.

Each call is made with tensors that want gradients in every combination, with numbers in the place of tensors, with
views, in every mode, on several dtypes; a line tells the result to the bit, its node with all that it keeps, the first
and second gradients, or the error.
"""

import hashlib
import itertools
import sys
import warnings

import numpy as np
import views_of_calls
from samples import LONG, samples_of

import lucidgrad as lg
from lucidgrad.backends import native
from lucidgrad.core.box import INFERENCE
from lucidgrad.core.primitive import registry
from lucidgrad.core.tape import Leaf, Node

NUMBERS = (2, 1.5, True, 1 + 2j)
MODES = {"usual": lg.enable_grad, "no_grad": lg.no_grad, "inference": lg.inference_mode}


def value_of(value):
    """Anything that a result, a node or an error is made of, as text."""
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(value_of, value))})"
    if hasattr(value, "array"):
        alias = value._alias
        kind = "inference" if alias is INFERENCE else alias and [[p.name for p, _ in alias.steps], alias.barrier]
        return f"{type(value).__name__}[{value_of(value.array)} {kind} {node_of(value._node)}]"
    if isinstance(value, (np.ndarray, np.generic)):
        bits = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:12]
        return f"{type(value).__name__} {value.dtype} {value.shape} {value.strides} {bits}"
    return repr(value) if not hasattr(value, "__code__") else value.__name__


def node_of(node):
    if node is None or type(node) is Leaf:
        return type(node).__name__
    if type(node) is not Node:
        return f"{node.name()} {type(node).__name__}"
    inputs = [type(n).__name__ for n in node.inputs]
    pulls = [i for i, _ in node.recipe.pulls]
    return (
        f"{node.name()} {pulls} {node.recipe.plain} {inputs} {value_of(node.fit)} {value_of(node.saved)} "
        f"{type(node.extras).__name__}"
    )


def gradients(y, leaves):
    ys = [part for part in (y if isinstance(y, tuple) else (y,)) if isinstance(part, lg.Tensor) and part.requires_grad]
    if not leaves or not ys:
        return ""
    seeds = [lg.ones_like(part) * 0.75 for part in ys]
    values = lg.autograd.grad(ys, leaves, grad_outputs=seeds, retain_graph=True, allow_unused=True)
    values += lg.autograd.grad(ys[:1], leaves, grad_outputs=seeds[:1], retain_graph=True, allow_unused=True)
    options = {"create_graph": True, "allow_unused": True}
    first = lg.autograd.grad(ys, leaves, grad_outputs=seeds, **options)
    found = [g for g in first if g is not None and g.requires_grad]
    again = lg.autograd.grad(found, leaves, grad_outputs=[lg.ones_like(g) for g in found], **options) if found else ()
    return value_of([None if g is None else g.detach() for g in (*values, *first, *again)])


def outcome(op, args, keywords, leaves, mode):
    try:
        with MODES[mode]():
            y = op(*args, **keywords)
        return value_of(y), gradients(y, leaves) if mode == "usual" else ""
    except Exception as error:
        return type(error).__name__, str(error)


def argument(a, dtype, wants, view):
    if not isinstance(a, np.ndarray):
        return a
    a = a.astype(dtype) if a.dtype.kind == "f" else a
    x = lg.asarray(a.copy())
    if wants and x.array.dtype.kind in "fc":
        x.requires_grad_()
    return x[...] if view else x


def calls(sample, full):
    """Pairs of a description and the arguments."""
    places = [i for i, a in enumerate(sample.args) if isinstance(a, np.ndarray)]
    for dtype in ("float32", "float64") if full else ("float32",):
        for wanted in itertools.product((False, True), repeat=len(places)) if len(places) <= 3 else [()]:
            wants = dict(zip(places, wanted))
            yield f"{dtype} {wanted}", [argument(a, dtype, wants.get(i), False) for i, a in enumerate(sample.args)]
    yield "views", [argument(a, "float32", True, True) for a in sample.args]
    if full and 2 <= len(places) <= 3:
        yield "mixed", [argument(a, ("float32", "float64")[i % 2], True, False) for i, a in enumerate(sample.args)]
        for i, number in itertools.product(places, NUMBERS):
            args = [argument(a, "float32", True, False) for a in sample.args]
            args[i] = number
            yield f"number {number} at {i}", args
        yield "unlike", [argument(a[..., None, :2] if a.ndim else a, "float32", True, False) if i == places[-1] else
                         argument(a, "float32", True, False) for i, a in enumerate(sample.args)]  # fmt: skip


def main():
    warnings.simplefilter("ignore")
    print(native.status().split()[0], file=sys.stderr)
    few = int(sys.argv[1])
    lines = list(views_of_calls.lines(value_of, gradients))
    for name, primitive in sorted(registry.items()):
        try:
            samples = samples_of(primitive)[:few]
        except (KeyError, LookupError):
            continue
        if name == "transfer" or primitive.silenced is not None:
            continue
        brief = few == 1 and name in LONG
        for k, sample in enumerate(samples):
            for mode in MODES:
                for about, args in itertools.islice(
                    calls(sample, full=k == 0 and not brief), None if mode == "usual" else 2
                ):
                    leaves = [x for x in args if isinstance(x, lg.Tensor) and type(x._node) is Leaf]
                    for time in range(2):  # the first call of all makes the operator
                        found = outcome(primitive.op, args, sample.keywords, leaves, mode)
                        lines.append((name, str(k), mode, about, str(time), *found))
    print("\n".join(map(" ".join, lines)))  # at once: a pipe may be slow


if __name__ == "__main__":
    main()
