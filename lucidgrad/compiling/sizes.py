"""Shapes that follow from an equation without computing it: what contradicts them was not made by tracing.

All that is known of the usual kinds is checked, and all that kernels take for granted: rules hand them arrays that fit
together, and a file may not.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core.primitive import ELEMENTWISE
from lucidgrad.extents import check_channels, out_sizes
from lucidgrad.levels.program import Equation, Program, Structure, Variable

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
        if type(equation.primitive) is Structure:
            _check_structure(equation)
            return None
        expected = _shape_of(equation)
    except (ValueError, RuntimeError) as error:
        return str(error)
    found = equation.results[0].shape
    return None if expected in (None, found) else f"gives the shape {found}, expected {expected}"


# -- loops and choices -------------------------------------------------------------------------------
_WORDS: dict[str, dict[str, type]] = {
    "scan": {"body": Program, "length": int, "reverse": bool, "carries": int, "columns": int},
    "while_loop": {"condition": Program, "body": Program, "carries": int},
    "cond": {"true": Program, "false": Program},
}
_Kind = tuple[Sizes, Any]


def _check_structure(equation: Equation) -> None:
    """Refuse a loop or a choice whose programs do not take what they are given, or give what it gives."""
    name, words, wanted = equation.primitive.name, equation.keywords, _WORDS[equation.primitive.name]
    if words.keys() != wanted.keys() or any(type(words[key]) is not kind for key, kind in wanted.items()):
        raise ValueError(f"has other keywords than {', '.join(wanted)}")
    if any(type(x) is not Variable for x in equation.inputs):
        raise ValueError("is given what is no variable")
    given, made = ([_kind(v) for v in some] for some in (equation.inputs, equation.results))
    n, m, length = words.get("carries", 0), words.get("columns", 0), words.get("length", 1)
    if min(n, m) < 0 or n + m > len(given) or length < 1:
        raise ValueError(f"has {n} values and {m} columns, of {len(given)}, in {length} steps")
    truth = ((), "bool")
    if name == "cond":
        _check("the truth value", given[:1], [truth])
        for word in ("true", "false"):
            _check_program(word, words[word], given[1:], made)
    elif name == "while_loop":
        _check_program("condition", words["condition"], given, [truth], whole=1)
        _check_program("body", words["body"], given, given[:n], whole=n)
        _check("what it gives", made, given[:n])
    else:
        if any(not shape or shape[0] != length for shape, _ in (*given[n : n + m], *made[n:])):
            raise ValueError(f"has columns of other lengths than {length}")
        slices, rows = ([(shape[1:], dtype) for shape, dtype in some] for some in (given[n : n + m], made[n:]))
        _check_program("body", words["body"], [*given[:n], *slices, *given[n + m :]], [*given[:n], *rows], whole=n)
        _check("what it gives", made[:n], given[:n])


def _kind(v: Variable) -> _Kind:
    return v.shape, str(v.dtype)


def _check_program(word: str, program: Program, given: list[_Kind], made: list[_Kind], whole: int = 0) -> None:
    """``whole``: how many of its first outputs must be there."""
    _check(f"what its {word} takes", [_kind(v) for v in program.inputs], given)
    outputs = program.outputs
    if len(outputs) != len(made) or None in outputs[:whole]:
        raise ValueError(f"has a {word} of {len(outputs)} outputs, expected {len(made)}")
    pairs = [(_kind(v), kind) for v, kind in zip(outputs, made, strict=True) if v is not None]
    _check(f"what its {word} gives", [found for found, _ in pairs], [kind for _, kind in pairs])


def _check(what: str, found: list[_Kind], expected: list[_Kind]) -> None:
    if found != expected:
        shown = [
            ", ".join(f"{dtype}{list(shape)}" for shape, dtype in kinds) or "nothing" for kinds in (found, expected)
        ]
        raise ValueError(f"does not fit: {what} is {shown[0]:.200}, expected {shown[1]:.200}")


# -- operations --------------------------------------------------------------------------------------
def _shape_of(equation: Equation) -> Sizes | None:
    """The shape of the result where that is known; None where only computing it tells."""
    primitive, words = equation.primitive, equation.keywords
    name, shapes = primitive.name, [v.shape for v in equation.variables]
    if name in _PATTERNS:
        _match(_PATTERNS[name], [None if x is None else x.shape for x in _arrays(equation)])
        return None
    if name in _WINDOWS:
        return _WINDOWS[name](*(x.shape for x in _arrays(equation)), words)
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


def _arrays(equation: Equation) -> list[Any]:
    """The inputs, all of which must be arrays or None."""
    if not all(x is None or type(x) is Variable for x in equation.inputs):
        raise ValueError("is given a number, expected arrays")
    return list(equation.inputs)


# -- sequences ---------------------------------------------------------------------------------------
#: The shapes of inputs, in letters for sizes: T steps, B examples, n units.
_PATTERNS = {
    name: [re.findall(r"(\d*)(\w)", word) for word in words.split()]
    for name, words in {
        "lstm_sequence": "TB4n Bn Bn 4nn 4n",
        "lstm_sequence_pull": "TBn TB5n TBn TB5n Bn Bn 4nn",
        "gru_sequence": "TB3n Bn 3nn 3n",
        "gru_sequence_pull": "TBn TB4n TBn TB4n Bn 3nn",
        "rnn_sequence": "TBn Bn nn n",
        "rnn_sequence_pull": "TBn TBn Bn nn",
    }.items()
}


def _match(pattern: Sequence[Sequence[tuple[str, str]]], shapes: Sequence[Sizes | None]) -> None:
    """Refuse shapes in which a letter stands for several sizes."""
    known: dict[str, int] = {}
    for sizes, shape in zip(pattern, shapes, strict=False):
        if shape is None:
            continue
        fits = len(sizes) == len(shape)
        for (times, letter), n in zip(sizes, shape, strict=False):
            size, rest = divmod(n, int(times or 1))
            fits = fits and not rest and known.setdefault(letter, size) == size
        if not fits:
            raise ValueError(f"is given shapes that do not fit together, {', '.join(map(str, shapes))}")


# -- windows -----------------------------------------------------------------------------------------
def _steps(words: dict[str, Any], *names: str) -> list[Sizes]:
    found = [words[name] for name in names]
    if not all(type(sizes) is tuple and all(type(n) is int for n in sizes) for sizes in found):
        raise ValueError(f"has a keyword among {', '.join(names)} that is no tuple of integers")
    return found


def _places(sizes: Sizes, window: Sizes, words: dict[str, Any]) -> Sizes:
    stride, padding, dilation = _steps(words, "stride", "padding", "dilation")
    return out_sizes("a convolution", sizes, window, stride, padding, dilation)


def _groups(words: dict[str, Any]) -> int:
    groups = words.get("groups", 1)
    if type(groups) is not int or groups < 1:
        raise ValueError(f"has groups={groups!r:.20}")
    return int(groups)


def _convolution(x: Sizes, w: Sizes, words: dict[str, Any]) -> Sizes:
    if len(x) < 3:
        raise ValueError("is given an array without places")
    check_channels(x, w, _groups(words))
    return x[0], w[0], *_places(x[2:], w[2:], words)


def _convolution_input(h: Sizes, w: Sizes, words: dict[str, Any]) -> Sizes:
    (sizes,) = _steps(words, "sizes")
    x = (*h[:1], *(n * _groups(words) for n in w[1:2]), *sizes)
    if _convolution(x, w, words) != h:
        raise ValueError(f"is given the shape {h}, expected {_convolution(x, w, words)}")
    return x


def _convolution_weight(x: Sizes, h: Sizes, words: dict[str, Any]) -> Sizes:
    (window,) = _steps(words, "window")
    w = (*h[1:2], *(n // _groups(words) for n in x[1:2]), *window)
    if _convolution(x, w, words) != h:
        raise ValueError(f"is given the shape {h}, expected {_convolution(x, w, words)}")
    return w


def _avg_pool_put(h: Sizes, words: dict[str, Any]) -> Sizes:
    sizes, window, stride, padding = _steps(words, "sizes", "window", "stride", "padding")
    ones, lead = (1,) * len(window), h[: max(len(h) - len(sizes), 0)]
    fitting = [out_sizes("avg_pool", sizes, window, stride, padding, ones, ceil) for ceil in (False, True)]
    if h[len(lead) :] not in fitting:
        raise ValueError(f"is given the shape {h}, expected {(*lead, *fitting[0])}")
    return *lead, *sizes


_WINDOWS: dict[str, Callable[..., Sizes]] = {
    "convolution": _convolution,
    "convolution_input": _convolution_input,
    "convolution_weight": _convolution_weight,
    "avg_pool_put": _avg_pool_put,
}
