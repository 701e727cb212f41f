"""The stubs of the door for HIPS autograd: what its operators make of a function, and NumPy's own types for its NumPy.

Programs of that door are functions of arrays, and of nothing else as far as a reader can tell: so its NumPy has
NumPy's types. SciPy has none, and neither have the door's functions under its names, but for those of `stats`.
"""

import importlib
from collections.abc import Callable
from types import ModuleType

import lucidgrad.hips as door

#: What writes the head of a function: ``(start, head, indent) -> text``.
Line = Callable[[str, str, str], str]

#: The modules that are NumPy's, types and all, and what they have beside that.
LIBRARIES = {
    "numpy": "numpy_boxes",
    "numpy.fft": "",
    "numpy.linalg": "",
    "numpy.random": "",
}

_FIRST = "Callable[Concatenate[_T, _P], {}]"
_WHOLE = "Callable[_P, {}]"
_PRODUCT = "(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]"


def _heads(first: str, whole: str, given: str = "Any") -> tuple[str, ...]:
    """The heads of an operator: with respect to the first argument, whose type is then known, and to others."""
    return (
        f"(fun: {_FIRST.format(given)}, argnum: Literal[0] = 0) -> {_FIRST.format(first)}",
        f"(fun: {_WHOLE.format(given)}, argnum: int | Sequence[int]) -> {_WHOLE.format(whole)}",
    )


#: Operators, and how they are called; the derivative of a number is a number, that of an array an array.
OPERATORS = {
    "grad": _heads("_T", "Any"),
    "elementwise_grad": _heads("_T", "Any"),
    "egrad": _heads("_T", "Any"),
    "holomorphic_grad": _heads("_T", "Any"),
    "deriv": _heads("_R", "_R", "_R"),
    "jacobian": _heads("Any", "Any"),
    "hessian": _heads("Any", "Any"),
    "value_and_grad": _heads("_python.tuple[_R, _T]", "_python.tuple[_R, Any]", "_R"),
    "grad_and_aux": (
        "(fun: Callable[_P, _python.tuple[Any, _R]], argnum: int | Sequence[int] = 0) "
        "-> Callable[_P, _python.tuple[Any, _R]]",
    ),
    "make_vjp": _heads("_python.tuple[Callable[[Any], _T], _R]", "_python.tuple[Callable[[Any], Any], _R]", "_R"),
    "make_jvp": _heads("Callable[[_T], _python.tuple[_R, _R]]", "Callable[[Any], _python.tuple[_R, _R]]", "_R"),
    "make_jvp_reversemode": _heads("Callable[[_T], _R]", "Callable[[Any], _R]", "_R"),
    "make_hvp": _heads("_python.tuple[Callable[[_T], _T], _T]", "_python.tuple[Callable[[Any], Any], Any]"),
    "hessian_tensor_product": (_PRODUCT,),
    "hessian_vector_product": (_PRODUCT,),
    "tensor_jacobian_product": (_PRODUCT,),
    "vector_jacobian_product": (_PRODUCT,),
    "make_ggnvp": (
        "(f: Callable[_P, _R], g: Callable[[_R], Any] = ..., f_argnum: int = 0) -> Callable[_P, Callable[[Any], Any]]",
    ),
    "grad_named": ("(fun: Callable[_P, Any], argname: str) -> Callable[_P, Any]",),
    "multigrad_dict": ("(fun: Callable[_P, Any]) -> Callable[_P, _python.dict[str, Any]]",),
    "checkpoint": ("(fun: Callable[_P, _R]) -> Callable[_P, _R]",),
}

_OPENING = """import builtins as _python
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, overload

from typing_extensions import ParamSpec, TypeVar

"""
_VARIABLES = """_T = TypeVar("_T", bound=Any, default=Any)
_R = TypeVar("_R", bound=Any, default=Any)
_P = ParamSpec("_P")

"""

#: What the families of `stats` have between the variable and the location.
FAMILIES = {
    "beta": "a b",
    "chi2": "df",
    "gamma": "a",
    "norm": "",
    "t": "df",
}
_DENSITIES = """import numpy as np
from numpy.typing import ArrayLike, NDArray

"""


def operators_stub(line: Line) -> str:
    """The stub of the door itself."""
    below = "".join(f"from lucidgrad.hips import {name} as {name}\n" for name in sorted(door._MODULES))
    types = "".join(
        f"from lucidgrad.hips.builtins import {name} as {name}\n" for name in "dict isinstance list tuple type".split()
    )
    types += "from lucidgrad.hips.extend import primitive as primitive\n"
    exported = "".join(f'    "{name}",\n' for name in sorted(door.__all__))
    functions = ""
    for name in sorted(OPERATORS):
        mark = "@overload\n" if len(OPERATORS[name]) > 1 else ""
        functions += "".join(f"{mark}{line(f'def {name}', head, '')}\n" for head in OPERATORS[name])
    return f"{_OPENING}{below}{types}\n__all__ = [\n{exported}]\n\n{_VARIABLES}{functions}"


def library_stub(name: str) -> str:
    """The stub of a module of NumPy's."""
    own = "".join(f"from lucidgrad.hips.{name} import {each} as {each}\n" for each in LIBRARIES[name].split())
    return f"from {name} import *\n" + (f"\n{own}" if own else "")


def family_stub(name: str, line: Line) -> str:
    """The stub of a family of distributions: the parameters that all of its functions have."""
    shapes = "".join(f"{each}: ArrayLike, " for each in FAMILIES[name].split())
    head = f"(x: ArrayLike, {shapes}loc: ArrayLike = 0.0, scale: ArrayLike = 1.0)"
    names = sorted(_module(f"scipy.stats.{name}").__all__)
    exported = "".join(f'    "{each}",\n' for each in names)
    functions = "".join(f"{line(f'def {each}', f'{head} -> NDArray[np.float64] | np.float64', '')}\n" for each in names)
    return f"{_DENSITIES}__all__ = [\n{exported}]\n\n{functions}"


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"lucidgrad.hips.{name}")


def stubs(line: Line) -> dict[str, str]:
    """The stubs by module, without the line that says who writes them; another one writes heads of functions."""
    made = {"lucidgrad.hips": operators_stub(line)}
    made |= {f"lucidgrad.hips.{name}": library_stub(name) for name in LIBRARIES}
    return made | {f"lucidgrad.hips.scipy.stats.{name}": family_stub(name, line) for name in FAMILIES}
