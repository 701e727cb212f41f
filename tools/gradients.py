"""The gradient of a function at the arguments of its docstring's example: found by running the example.

The example is run with the function watched; its first call with tensors of real or complex numbers is written out as
a short program, with numbers rounded as they are shown, and that program is run. So what a page shows is what a reader
gets.
"""

import contextlib
import doctest
import functools
import inspect
import io
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import lucidgrad as lg

#: The places whose functions have gradients; elsewhere functions take modules, functions or settings.
PLACES = frozenset(
    f"lucidgrad{place}" for place in ("", ".fft", ".linalg", ".nn.functional", ".signal", ".special", ".Tensor")
)

#: Functions whose example has no gradient to show.
WITHOUT = {
    "lucidgrad.linalg.ldl_factor_ex": "the example's matrix has no factors",
    **dict.fromkeys(["lucidgrad.Tensor.numpy", "lucidgrad.Tensor.pin_memory"], "it leaves the graph, which it says"),
    **{f"lucidgrad.nn.functional.dropout{n}d": "one of what is kept, which is random" for n in (1, 2, 3)},
}

#: An example that has one of these shows a derivative.
_SHOWN = re.compile(r"\.backward\(|\.grad\b|\bgrad\(|jvp|vjp|jacobian|hessian|jacrev|jacfwd")

_LARGEST = 64  # elements that are written out

Call = tuple[tuple[Any, ...], dict[str, Any]]


class Unwritable(Exception):
    """A value that can't be written out in a line."""


def examples(found: Any) -> list[doctest.Example]:
    """The examples of a docstring."""
    return doctest.DocTestParser().get_examples(inspect.getdoc(found) or "")


def shows_gradient(found: Any) -> bool:
    """Whether the example of a docstring shows a derivative."""
    return any(_SHOWN.search(example.source) for example in examples(found))


def gradient_of(path: str, found: Any) -> list[str] | None:
    """The lines of an example that shows the gradient of a function, or None where there is nothing to show."""
    asked = inspect.isroutine(found) and path.rpartition(".")[0] in PLACES and path not in WITHOUT
    if not asked or shows_gradient(found):
        return None
    call = first_call(path, found)
    program = None if call is None else written_out(path, found, *call)
    return run(program) if program else None


# -- the call in the example ---------------------------------------------------------------------
def first_call(path: str, found: Any) -> Call | None:
    """The arguments with which the example calls a function first, if there are numbers with derivatives among them."""
    calls: list[Call] = []

    @functools.wraps(found)
    def watched(*args: Any, **keywords: Any) -> Any:
        with contextlib.suppress(Unwritable):
            calls.append((_copy(args), {key: _copy(value) for key, value in keywords.items()}))
        return found(*args, **keywords)

    scope: dict[str, Any] = {}
    with _watching(found, watched), _quiet():
        for example in examples(found):
            try:
                exec(compile(example.source, path, "single"), scope)
            except Exception:
                if example.exc_msg is None:
                    raise
    return next((call for call in calls if any(map(_is_continuous, _leaves(call[0])))), None)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def _is_continuous(value: Any) -> bool:
    return isinstance(value, lg.Tensor) and (value.is_floating_point() or value.is_complex())


def _copy(value: Any) -> Any:
    """A tensor as it is now, outside the graph: an example may write into it later."""
    if type(value) in (list, tuple):
        return type(value)(map(_copy, value))
    if not isinstance(value, lg.Tensor):
        return value
    if not type(value.array).__module__.startswith("numpy"):
        raise Unwritable  # inside a transform, or on a device
    return value.detach().clone()


@contextlib.contextmanager
def _watching(found: Any, watched: Callable[..., Any]) -> Iterator[None]:
    """Put a watched function wherever the function is a public name of the package."""
    places: list[tuple[Any, str]] = [
        (module, name)
        for key, module in list(sys.modules.items())
        if key.startswith("lucidgrad") and "__all__" in vars(module)
        for name, value in list(vars(module).items())
        if value is found
    ]
    places += [(lg.Tensor, name) for name, value in list(vars(lg.Tensor).items()) if value is found]
    for owner, name in places:
        setattr(owner, name, watched)
    try:
        yield
    finally:
        for owner, name in places:
            setattr(owner, name, found)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Neither output nor warnings, and the state of the random numbers as it was."""
    state = lg.get_rng_state()
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            lg.set_rng_state(state)


# -- a program -----------------------------------------------------------------------------------
def written_out(path: str, found: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> list[str]:
    """A program that prints the gradient with respect to the first tensor that can have one; empty if there is none."""
    part = _differentiable_part(found, args, keywords)
    if part is None:
        return []
    lines: list[str] = []
    leaf = ""

    def word(value: Any, name: str) -> str:
        nonlocal leaf
        if isinstance(value, (list, tuple)):
            words = [word(each, f"{name}{i + 1}") for i, each in enumerate(value)]
            inside = ", ".join(words)
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(words) == 1)})"
        if not isinstance(value, lg.Tensor):
            return _value(value)
        chosen = not leaf and _is_continuous(value)
        lines.append(f"{name} = {_tensor(value, chosen)}")
        if chosen:
            leaf = name
            return f"{name}.clone()" if path[-1] == "_" else name  # a leaf can't be written into
        return name

    words = [word(value, name) for value, name in zip(args, _parameter_names(found, len(args)), strict=True)]
    words += [f"{name}={word(value, name)}" for name, value in keywords.items()]
    public = path.replace("lucidgrad", "lg", 1)
    return [*lines, f"{public}({', '.join(words)}){part}.sum().backward()", f"{leaf}.grad"]


def _parameter_names(found: Any, count: int) -> list[str]:
    """What to call the arguments: as the function does, where it has a name for each."""
    parameters = list(inspect.signature(found).parameters.values())
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters) or len(parameters) < count:
        return [f"x{i + 1}" for i in range(count)] if count > 1 else ["x"]
    return [p.name for p in parameters[:count]]


def _differentiable_part(found: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> str | None:
    """How to get from the result to what is added up: "", or an index; None if nothing of it has a gradient."""

    def wanting(value: Any) -> Any:
        if type(value) in (list, tuple):
            return type(value)(map(wanting, value))
        return value.detach().clone().requires_grad_() * 1 if _is_continuous(value) else value

    with lg.enable_grad(), _quiet():
        out = found(*map(wanting, args), **keywords)
    parts = [("", out)] if isinstance(out, lg.Tensor) else [(f"[{i}]", part) for i, part in enumerate(_parts(out))]
    for index, part in parts:
        if isinstance(part, lg.Tensor) and part.requires_grad:
            return f"{index}.abs()" if part.is_complex() else index
    return None


def _parts(out: Any) -> tuple[Any, ...]:
    return tuple(out) if isinstance(out, (list, tuple)) else ()


def _tensor(value: lg.Tensor, leaf: bool) -> str:
    if value.numel() > _LARGEST:
        raise Unwritable(f"{value.numel()} elements")
    words = [_numbers(value.tolist())]
    if lg.tensor(value.tolist()).dtype != value.dtype:
        words.append(f"dtype=lg.{str(value.dtype).rpartition('.')[2]}")
    words += ["requires_grad=True"] * leaf
    return f"lg.tensor({', '.join(words)})"


def _numbers(value: Any) -> str:
    """Nested lists of numbers with at most five digits."""
    if isinstance(value, list):
        return f"[{', '.join(map(_numbers, value))}]"
    if isinstance(value, float):
        return repr(float(f"{value:.5g}")) if value - value == 0 else f"float('{value}')"
    return repr(value)


def _value(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return repr(value)
    raise Unwritable(f"a value of type {type(value).__name__}")


def run(program: list[str]) -> list[str]:
    """The program as a doctest with the output that it gave."""
    scope: dict[str, Any] = {"lg": lg}
    with _quiet():
        exec("\n".join(program[:-1]), scope)
        printed = repr(eval(program[-1], scope))
    return [*(f">>> {line}" for line in program), *printed.splitlines()]
