"""How a line of a table becomes a function: PyTorch's parameters in its head, lucidgrad's call in its body.

An entry is ``names: (parameters) = call``, where ``@`` stands for the name, ``lg.`` for lucidgrad, and ``own.`` for
what neither its functions nor the methods of `Tensor` mean (`meanings`). A function is written out when it is first
asked for, as one frame around the call:

>>> import lucidgrad.torch as torch
>>> torch.sum(input=torch.ones(2, 3), dim=1)
tensor([3., 3.])
"""

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

import lucidgrad
from lucidgrad.refusals import refuse_call
from lucidgrad.spelling import UNSET, refuse_both

from . import meanings
from .out import into

#: Other names of parameters, which PyTorch's own functions take, too.
SPELLINGS = {
    "a": ("input",),
    "axis": ("dim",),
    "element": ("elements",),
    "indices": ("indices_or_sections",),
    "keepdims": ("keepdim",),
    "sections": ("indices_or_sections",),
    "tensor_indices_or_sections": ("indices_or_sections",),
    "test_element": ("test_elements",),
    "value": ("src",),
    "x": ("input",),
    "x1": ("input",),
    "x2": ("other",),
}
_RESPELLED = {target for targets in SPELLINGS.values() for target in targets}

_Tensor = lucidgrad.Tensor
_Sizes = tuple[int, ...] | list[int]

#: What parameters take, for errors; one that is missing here may be a number or a tensor.
_TAKEN = {
    "boundaries": _Tensor,
    "chunks": int,
    "descending": bool,
    "dim": int | _Sizes | None,
    "dim0": int,
    "dim1": int,
    "dim2": int,
    "end_dim": int,
    "index": _Tensor | int,
    "k": int,
    "keepdim": bool,
    "largest": bool,
    "mask": _Tensor,
    "out": _Tensor | tuple[_Tensor, ...] | list[_Tensor] | None,
    "return_counts": bool,
    "return_inverse": bool,
    "sorter": _Tensor | None,
    "src": _Tensor | float,
    "start_dim": int,
    "steps": int,
    "tensors": tuple[_Tensor, ...] | list[_Tensor],
    "unbiased": bool,
}


class Table:
    """The functions of a module of the door: written out from a text, or lucidgrad's own."""

    def __init__(self, module: str, text: str, same: str = "", place: str = "") -> None:
        self._module, self._place = module, place
        self._same = same.split()
        self._written = dict(_entries(text))
        self._scope: dict[str, Any] = {"UNSET": UNSET, "into": into, "__name__": module}

    @property
    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted({*self._same, *self._written})

    def heads(self) -> dict[str, str]:
        """The parameters of what is written out, by name."""
        return {name: head for name, (head, _) in self._written.items()}

    def find(self, name: str) -> Any:
        """What has a name; it is put where it is looked for next time."""
        if name in self._written:
            found = _written(self._module, name, *self._written[name], self._scope)
        elif name in self._same:
            found = _resolved(lucidgrad, f"{self._place}.{name}" if self._place else name)
        else:
            raise AttributeError(f"module {self._module!r} has no attribute {name!r}")
        setattr(sys.modules[self._module], name, found)
        return found


def _entries(text: str) -> Iterable[tuple[str, tuple[str, str]]]:
    for names, head, body in re.findall(r"([\w\s]+): \((.*?)\)\s+= (.*?)(?=\n\S|\s*\Z)", text, re.DOTALL):
        for name in names.split():
            yield name, (" ".join(head.split()), " ".join(body.split()).replace("@", name))


def _resolved(found: Any, path: str) -> Any:
    for part in path.split("."):
        if inspect.ismodule(found) and not hasattr(found, part):
            importlib.import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


def _written(module: str, name: str, head: str, body: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The function of an entry."""

    def bind(match: re.Match[str]) -> str:
        known = match[0].replace(".", "_")
        if known not in scope:
            scope[known] = _resolved(lucidgrad if match[1] == "lg" else meanings, match[2])
        return known

    call = re.sub(r"\b(lg|own)\.([\w.]+)", bind, body)
    space: dict[str, Any] = {}  # not the scope, which threads share
    exec(f"def head({head}): pass", None, space)
    exec(compile(_source(name, head, call), f"{__file__.removesuffix('making.py')}<{name}>", "exec"), scope, space)
    made = space[name]
    scope[f"respelled_{name}"] = lambda given, spelled: _respelled(made, given, spelled)
    scope[f"refuse_{name}"] = lambda error, given: refuse_call(error, given, made)
    made.__module__, made.__doc__ = module, f"PyTorch's `{name}({head})`: `{body}`."
    made.__signature__ = _annotated(inspect.signature(space["head"]))
    return made


def _annotated(signature: inspect.Signature) -> inspect.Signature:
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = signature.parameters.values()
    plain = [p if p.kind in several else p.replace(annotation=_TAKEN.get(p.name, p.annotation)) for p in found]
    return signature.replace(parameters=plain)


def _source(name: str, head: str, call: str) -> str:
    """The text of a function: required parameters that have another spelling are looked for there if they are unset."""
    arguments = ast.parse(f"def f({head}): pass").body[0].args  # type: ignore[attr-defined]
    plain = [a.arg for a in arguments.args]
    required = plain[: len(plain) - len(arguments.defaults)]
    first = next((i for i, a in enumerate(required) if a in _RESPELLED), len(required))
    late = required[first:]  # after a parameter with a default all have one
    declared = ", ".join(f"{p}=UNSET" if p in late else p for p in re.split(r",\s*(?![^(]*\))", head) if p)
    names = [*plain, *(a.arg for a in arguments.kwonlyargs)]
    several = arguments.vararg.arg if arguments.vararg else ""
    given = "{" + ", ".join(f"{n!r}: {n}" for n in [*names, *([several] if several else [])]) + "}"
    result = f"return {call}"
    if "out" in names:
        result = f"if out is None:\n            return {call}\n        return into({name!r}, out, {call})"
    unset = " or ".join(["spelled", *(f"{p} is UNSET" for p in late)])
    return f"""def {name}({declared}{", " if declared else ""}**spelled):
    try:
        if {unset}:
            return respelled_{name}({given}, spelled)
        {result}
    except Exception as error:
        refuse_{name}(error, {given})
        raise
"""


def _respelled(function: Callable[..., Any], given: dict[str, Any], spelled: dict[str, Any]) -> Any:
    """Call a function again with its own names of arguments."""
    signature = inspect.signature(function)
    several = next((n for n, p in signature.parameters.items() if p.kind is p.VAR_POSITIONAL), "")
    args = given.pop(several, ())
    for name, value in spelled.items():
        own = next((target for target in SPELLINGS.get(name, ()) if target in given), "")
        if name == several and not args:
            args = value if isinstance(value, (tuple, list)) else (value,)
        elif not own:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
        elif given[own] is not UNSET and given[own] is not signature.parameters[own].default:
            refuse_both(function.__name__, own, name)
        else:
            given[own] = value
    missing = [repr(name) for name, value in given.items() if value is UNSET]
    if missing:
        words = f"argument{'s' * (len(missing) > 1)}: {' and '.join(missing)}"
        raise TypeError(f"{function.__name__}() missing {len(missing)} required {words}")
    return function(*args, **given)
