"""The typed face of the package: stubs of its public names, written from what these are at run time.

``python -m tools.stubs`` writes them, ``python -m tools.stubs --check`` tells which are not as they would be written.
Parameters, defaults and spellings are those of the functions themselves; `meanings` says what their ``Any`` stands for.
"""

import importlib
import inspect
import json
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import lucidgrad as lg
import lucidgrad.numpy
import lucidgrad.torch
from lucidgrad.tensor.deferred import Deferred

from . import door_meanings, hips_stubs
from .meanings import (
    EXCEPTIONS as _EXCEPTIONS,
    FLAGS as _FLAGS,
    HANDED_ON,
    PARAMETERS,
    PREAMBLES,
    RESULTS as _RESULTS,
    WRITTEN_OUT as _WRITTEN_OUT,
)

#: The modules whose functions get stubs, beside that of `Tensor`; what others say is enough.
MODULES = (
    "lucidgrad",
    *(f"lucidgrad.{name}" for name in ("autograd", "fft", "func", "linalg", "nn.functional", "signal", "special")),
)

#: The doors, in which names have one spelling: PyTorch's, or NumPy's.
DOORS = (
    *("lucidgrad.torch", "lucidgrad.torch.fft", "lucidgrad.torch.linalg", "lucidgrad.torch.special"),
    *("lucidgrad.numpy", "lucidgrad.numpy.fft", "lucidgrad.numpy.linalg"),
)
#: Modules that a door shares with lucidgrad: checkers, who don't ask its finder, are told so.
SHARED = """
    distributions func nn nn.functional nn.init nn.parameter nn.utils nn.utils.rnn optim optim.lr_scheduler
    optim.swa_utils profiler random signal utils utils.checkpoint utils.data
""".split()
EXCEPTIONS = _EXCEPTIONS | door_meanings.EXCEPTIONS
FLAGS = _FLAGS | door_meanings.FLAGS
RESULTS = _RESULTS | door_meanings.RESULTS
WRITTEN_OUT = _WRITTEN_OUT | door_meanings.WRITTEN_OUT

#: Where the words come from that annotations are made of; classes of the package say so themselves.
SOURCES = {
    "collections.abc": "Callable Iterable Iterator Mapping Sequence",
    "lucidgrad.typing": "Array ArrayLike Axes DType DTypeLike Data DeviceLike Key Scalar Shape SupportsDLPack",
    "types": "ModuleType",
    "typing": "IO Any Concatenate Literal NamedTuple Protocol SupportsIndex overload type_check_only",
    "typing_extensions": "CapsuleType ParamSpec TypeVar",
}
CLASSES = (
    lg.Tensor,
    lg.Generator,
    lg.nn.Module,
    lg.autograd.graph.GradientEdge,
    inspect.signature(lg.topk).return_annotation,
)

_HEAD = "# Written by `python -m tools.stubs`: what is wrong here is mended there.\n"
_WIDTH = 120
_EMPTY = inspect.Parameter.empty
_BY_POSITION = inspect.Parameter.POSITIONAL_OR_KEYWORD
_BY_NAME = inspect.Parameter.KEYWORD_ONLY
_SEVERAL = inspect.Parameter.VAR_POSITIONAL
_REST = inspect.Parameter.VAR_KEYWORD
_UNARY = {"__abs__", "__invert__", "__neg__", "__pos__"}


#: How NumPy spells what PyTorch does, and the other way round.
_OTHER = {"axis": "dim", "keepdims": "keepdim", "axes": "dims", "dim": "axis", "keepdim": "keepdims", "dims": "axes"}


#: What the names of the doors' functions start with, and the parameters that mean there what they mean elsewhere.
_PLACES = ("torch.", "numpy.")
_SHARED = {
    name: PARAMETERS[name] for name in ("axis", "buffer", "dtype", "ord", "q", "range", "repeats", "to", "type1")
}


# -- annotations ---------------------------------------------------------------------------------
def spelled(annotation: Any, loose: str) -> str:
    """An annotation as source text, with a word for ``Any``."""
    if annotation is Any:
        return loose
    if annotation is None or annotation is type(None):
        return "None"
    if annotation is Ellipsis:
        return "..."
    if isinstance(annotation, str):  # a quoted name inside
        return annotation
    if isinstance(annotation, list):
        return f"[{', '.join(spelled(part, loose) for part in annotation)}]"
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        words = dict.fromkeys(spelled(part, loose) for part in parts)
        return " | ".join(sorted(words, key="None".__eq__))
    if origin is typing.Literal:
        return f"Literal[{', '.join(_constant(part) for part in parts)}]"
    if origin is Callable:
        loose = "Any"  # what other people's functions take and give
    if origin is not None:
        return f"{spelled(origin, loose)}[{', '.join(spelled(part, loose) for part in parts)}]"
    if not isinstance(annotation, type):
        raise TypeError(f"stubs: given the annotation {annotation!r}, expected types and their unions")
    home = annotation.__module__
    if home in ("numpy", "os"):
        return f"{'np' if home == 'numpy' else home}.{annotation.__name__}"
    return annotation.__name__


def _constant(value: Any) -> str:
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and value - value == 0):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        return f"({', '.join(map(_constant, value))}{',' * (len(value) == 1)})"
    return "..."


def _taken(name: str, parameter: inspect.Parameter) -> str:
    """What a parameter takes; its full name is that of the function and its own."""
    word, note = EXCEPTIONS.get(f"{name}.{parameter.name}"), parameter.annotation
    if word is None and name.startswith(_PLACES):
        plain = door_meanings.NUMPY if name.startswith("numpy.") else "ArrayLike"
        plain = "str" if isinstance(parameter.default, str) else plain
        word = (door_meanings.PARAMETERS | _SHARED).get(parameter.name)
        if word is None and note is not Any and note is not _EMPTY:
            return spelled(note, plain)
        word = word or plain
    elif word is None and (note is Any or note is _EMPTY):
        word = PARAMETERS.get(parameter.name, "ArrayLike")
    elif word is None:
        return spelled(note, "ArrayLike")
    return f"{word} | None" if parameter.default is None and not re.search(r"\b(None|Axes)\b", word) else word


def _given(name: str, function: Any, note: Any) -> str:
    """What a function gives."""
    if name in RESULTS:
        return RESULTS[name]
    if note is _EMPTY or note is Any:
        several = getattr(getattr(function, "primitive", None), "outputs", False)
        return "tuple[Tensor, ...]" if several else "Tensor"
    return spelled(note, "Tensor")


# -- functions -----------------------------------------------------------------------------------
def heads(name: str, function: Callable[..., Any]) -> list[inspect.Signature]:
    """The overloads of a function, with annotations as source text; ``Tensor.`` is in front of a method's name."""
    signature = inspect.signature(function, eval_str=True)
    parameters = [p.replace(annotation=_taken(name, p)) for p in signature.parameters.values()]
    if name.startswith(_PLACES):
        result = _given(name, function, signature.return_annotation)
        told = _flagged(name, parameters, result)
        return [inspect.Signature(each, return_annotation=result) for each, result in told]
    if parameters and parameters[-1].kind is _REST:
        parameters = [*parameters[:-1], *_rest(name, {p.name for p in parameters})]
    made = [parameters]
    if parameters and parameters[0].kind is _SEVERAL and hasattr(function, "primitive"):
        made = [parameters, _gathered(parameters)]
    several = next((p.name for p in parameters if p.kind is _SEVERAL), None)
    if name.startswith("Tensor.") and several is not None and takes(function, several):
        loose = "int | Sequence[int]"
        parameters = [p.replace(annotation=loose) if p.name == several else p for p in parameters]
        made = [parameters, _as_one(parameters)]
    made = [variant for each in made for variant in _spellings(function, each)]
    result = _given(name, function, signature.return_annotation)
    pairs = [pair for each in made for pair in _flagged(name, each, result)]
    return [inspect.Signature(each, return_annotation=result) for each, result in pairs]


def _rest(name: str, present: set[str]) -> Iterator[inspect.Parameter]:
    """What ``**more`` may be: keywords of the function that it goes to."""
    base = name.removeprefix("Tensor.")
    for p in inspect.signature(getattr(lg, HANDED_ON.get(base, base))).parameters.values():
        if p.kind is _BY_NAME and p.name not in present:
            yield p.replace(annotation=_taken(name, p))


def _gathered(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """Arrays one by one as a sequence, after which keywords may be given by position."""
    arrays, *others = parameters
    first = inspect.Parameter(
        arrays.name, inspect.Parameter.POSITIONAL_ONLY, annotation=f"Sequence[{arrays.annotation}]"
    )
    return [first, *(p.replace(kind=_BY_POSITION) for p in others)]


def _as_one(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """What may be given as several arguments as one sequence, by name."""
    made = [p if p.kind is not _SEVERAL else p.replace(kind=_BY_NAME, annotation="Sequence[int]") for p in parameters]
    return sorted(made, key=lambda p: p.kind)


def _spellings(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> list[list[inspect.Parameter]]:
    """The parameters in the function's own spelling and in the other one, where it takes that."""
    names = {p.name for p in parameters if p.kind is not _SEVERAL}
    second = {own: other for own, other in _OTHER.items() if own in names and other not in names}
    if second and all(takes(function, torch, ours) for ours, torch in second.items()):
        return [parameters, _renamed(parameters, second)]
    return [parameters]


def _renamed(parameters: list[inspect.Parameter], names: dict[str, str]) -> list[inspect.Parameter]:
    """With other names; what has one by position and is no axis is then given by name alone."""
    made = []
    for p in parameters:
        by_name = p.name in names and p.name.startswith("keepdim") and p.kind is _BY_POSITION
        made.append(p.replace(name=names.get(p.name, p.name), kind=_BY_NAME if by_name else p.kind))
    return sorted(made, key=lambda p: p.kind)


def takes(function: Callable[..., Any], keyword: str, instead: str | None = None) -> bool:
    """Whether a function knows a keyword, which its signature need not show, in place of another: it is asked."""
    try:
        function(**{keyword: None})
    except Exception as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        return "unexpected" not in str(cause) and f"'{instead}'" not in str(cause)
    return True


def _flagged(name: str, parameters: list[inspect.Parameter], result: str) -> Iterator[tuple[Any, str]]:
    """The parameters and the result; of a function with flags once without them, and once for each."""
    flags, other = FLAGS.get(name, ((), ""))
    if not flags:
        yield parameters, result
        return
    unset = {p.name: "Literal[False] | None" if p.default is None else "Literal[False]" for p in parameters}
    yield [p.replace(annotation=unset[p.name]) if p.name in flags else p for p in parameters], result
    for flag in flags:
        at = next(i for i, p in enumerate(parameters) if p.name == flag)
        changed = [p if i < at or p.kind is _REST else p.replace(kind=_BY_NAME) for i, p in enumerate(parameters)]
        changed[at] = changed[at].replace(annotation="Literal[True]", default=_EMPTY)
        yield changed, other


def written(
    name: str, function: Callable[..., Any], shadowed: Iterable[str] = (), indent: str = "", suffix: str = ""
) -> str:
    """A function's part of a stub; its own name there may have a suffix."""
    made = list(WRITTEN_OUT.get(name, ())) or [_text(head) for head in heads(name, function)]
    if name.startswith("Tensor."):
        made = [re.sub(r"^\((\w+)[^,)/]*", "(self", head) for head in made]
    made = list(dict.fromkeys(_builtin(head, shadowed) for head in made))
    mark, short = "@overload\n" if len(made) > 1 else "", name.rpartition(".")[2] + suffix
    note = "  # type: ignore[override]" if short in ("__eq__", "__ne__") else ""  # which object has for bools
    return "".join(f"{mark}{_line(f'def {short}', head, indent)}{note}\n" for head in made)


def _text(head: inspect.Signature) -> str:
    parts: list[str] = []
    kinds = [p.kind for p in head.parameters.values()]
    for i, p in enumerate(head.parameters.values()):
        if p.kind is _BY_NAME and _BY_NAME not in kinds[:i] and _SEVERAL not in kinds:
            parts.append("*")
        stars = "*" * (p.kind is _SEVERAL) + "**" * (p.kind is _REST)
        default = "" if p.default is _EMPTY else f" = {_constant(p.default)}"
        parts.append(f"{stars}{p.name}: {p.annotation}{default}")
        if p.kind is inspect.Parameter.POSITIONAL_ONLY and kinds[i + 1 : i + 2] != [p.kind]:
            parts.append("/")
    return f"({', '.join(parts)}) -> {head.return_annotation}"


def _line(start: str, head: str, indent: str) -> str:
    """A function's head, a parameter per line where it is long."""
    line = f"{start}{head}: ..."
    if len(indent) + len(line) <= _WIDTH:
        return line
    inside, _, result = head[1:].rpartition(") -> ")
    return "\n".join([f"{start}(", *(f"    {part}," for part in _parts(inside)), f") -> {result}: ..."])


def _parts(text: str) -> list[str]:
    """Text split at commas that are in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _builtin(head: str, shadowed: Iterable[str]) -> str:
    """With Python's own types, where names of the module or the class hide them."""
    for word in {"bool", "complex", "float", "int"}.intersection(shadowed):
        head = re.sub(rf"(?<![\w.\"]){word}\b(?![:(])", f"builtins.{word}", head)
    return head


# -- classes and modules -------------------------------------------------------------------------
def _members() -> dict[str, Any]:
    """What `Tensor` has, whichever class it comes from."""
    found: dict[str, Any] = {}
    for owner in lg.Tensor.__mro__[:-1]:
        for name, member in vars(owner).items():
            if name == "_version" or not re.match(r"_(?!_)|__(annotations|slots|module|doc|weakref)", name):
                found.setdefault(name, getattr(lg.Tensor, name) if isinstance(member, Deferred) else member)
    return dict(sorted(found.items()))


def _method(name: str, member: Any, members: dict[str, Any]) -> str:
    """A method's part of the stub; one that writes into the tensor has the parameters of the one that does not."""
    full, shadowed = f"Tensor.{name}", members
    if isinstance(member, property):
        return "".join(_accessors(full, member, shadowed))
    if name in _UNARY:
        return f"def {name}(self) -> Tensor: ...\n"
    if full in WRITTEN_OUT:
        return written(full, member, shadowed, "    ")
    loose = [p.kind for p in inspect.signature(member).parameters.values()][-2:] == [_SEVERAL, _REST]
    if name.startswith("__") and (loose or re.match(r"__i(?!ter|nt|ndex)", name)):
        note = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
        return f"def {name}(self, other: ArrayLike, /) -> Tensor: ...{note}\n"
    if loose:
        plain = members[name.removesuffix("_")]
        return written(f"Tensor.{name.removesuffix('_')}", plain, shadowed, "    ", "_")
    return written(full, member, shadowed, "    ")


def _accessors(full: str, member: property, shadowed: Iterable[str]) -> Iterator[str]:
    name = full.rpartition(".")[2]
    note = inspect.signature(member.fget, eval_str=True).return_annotation  # type: ignore[arg-type]
    result = _given(full, member.fget, note)
    yield f"@property\ndef {name}{_builtin(f'(self) -> {result}', shadowed)}: ...\n"
    if member.fset is not None:
        value = [*inspect.signature(member.fset, eval_str=True).parameters.values()][1]
        yield f"@{name}.setter\ndef {name}{_builtin(f'(self, value: {_taken(full, value)}) -> None', shadowed)}: ...\n"
    if member.fdel is not None:
        yield f"@{name}.deleter\ndef {name}(self) -> None: ...\n"


def tensor_stub() -> str:
    """The stub of the module in which `Tensor` is."""
    members = _members()
    lines = ["class TensorType(type): ...", "", "class Tensor(metaclass=TensorType):"]
    for name, member in members.items():
        if inspect.isfunction(member) or isinstance(member, property):
            text = _method(name, member, members)
        elif isinstance(member, types.MemberDescriptorType):
            text = f"{name}: {RESULTS[f'Tensor.{name}']}\n"
        else:
            text = f"{name}: {_builtin(spelled(type(member), 'Any'), members)}\n"
        lines += [f"    {line}" for line in text.splitlines()]
    return _finished("\n".join(lines) + "\n", lg.Tensor.__module__, {"Tensor"})


def module_stub(module: types.ModuleType) -> str:
    """The stub of a module of functions."""
    names = sorted(module.__all__)
    prefix = module.__name__.removeprefix("lucidgrad").removeprefix(".")
    imports, values, classes, functions = list[str](), list[str](), list[str](), list[str]()
    for name in names:
        found = getattr(module, name)
        own = _in_a_door(module.__name__, name, found)
        if own is not None:
            (imports if own.startswith("from") else classes if own.startswith("class") else values).append(own)
        elif inspect.ismodule(found):
            home, _, base = found.__name__.rpartition(".")
            imports.append(f"from {home} import {base} as {name}")
        elif isinstance(found, type) and found.__module__ != module.__name__:
            imports.append(f"from {found.__module__} import {found.__name__} as {name}")
        elif isinstance(found, type):
            classes.append(_named_tuple(found))
        elif module is lg and f"lucidgrad{lg._LATER.get(name)}" in MODULES:
            imports.append(f"from lucidgrad{lg._LATER[name]} import {name} as {name}")
        elif inspect.isfunction(found) and typing.get_overloads(inspect.unwrap(found)):  # its source says it all
            imports.append(f"from {inspect.unwrap(found).__module__} import {name} as {name}")
        elif inspect.isfunction(found):
            functions.append(written(f"{prefix}.{name}" if prefix else name, found, names))
        else:
            values.append(f"{name}: {_builtin(_kind(found), names)}")
    exported = "".join(f'    "{name}",\n' for name in names)
    blocks = ["\n".join(values), PREAMBLES.get(prefix, "").strip(), "\n".join(classes).strip(), "".join(functions)]
    body = "\n\n".join(block.strip() for block in [f"__all__ = [\n{exported}]", *blocks] if block.strip()) + "\n"
    return _finished(body, module.__name__, set(names), imports)


def _in_a_door(module: str, name: str, found: Any) -> str | None:
    """What a name that is no function of tensors means in a door: PyTorch's classes, NumPy's own objects and ufuncs."""
    if module not in DOORS or inspect.isfunction(found) or inspect.ismodule(found):
        return None
    if found is lg.Tensor or name == "Tensor" or (name == "ndarray" and isinstance(found, type)):
        return f"from lucidgrad.tensor import Tensor as {name}"
    if name == "dtype":
        return "from lucidgrad.typing import DType as dtype"
    if isinstance(found, type) and found.__module__ == module:  # kinds of tensors, which are made by calls
        return f"class {name}(Tensor):\n    def __init__(self, *data: Data, device: DeviceLike = ...) -> None: ...\n"
    if isinstance(found, lg.numpy.ufuncs.UFunc):
        return f"{name}: _Ufunc{found.nin}{'' if found.nout == 1 else 'Pair'}"
    if module == "lucidgrad.numpy" and getattr(importlib.import_module("numpy"), name, None) is found:
        return f"{name}: builtins.float" if isinstance(found, float) else f"from numpy import {name} as {name}"
    if isinstance(found, type) or hasattr(found, "itemsize") or isinstance(found, (str, float, types.NoneType)):
        return None
    return f"{name}: object" if module == "lucidgrad.torch" and name != "default_generator" else None


def _named_tuple(found: Any) -> str:
    if not hasattr(found, "_fields"):
        raise TypeError(f"stubs: given the class {found.__name__}, expected a named tuple; define it in another module")
    return f"class {found.__name__}(NamedTuple):\n" + "".join(f"    {field}: Tensor\n" for field in found._fields)


def _kind(value: Any) -> str:
    """The type of a constant; a dtype says which one it is."""
    if hasattr(value, "itemsize"):
        scalar = value.type.__name__ if value.type.__module__ == "numpy" else "Any"
        return f"np.dtype[{f'np.{scalar}_' if scalar == 'bool' else scalar if scalar == 'Any' else f'np.{scalar}'}]"
    return spelled(type(value), "Any")


def _finished(body: str, module: str, own: set[str], imports: Iterable[str] = ()) -> str:
    """A stub with the imports that it needs."""
    used = set(re.findall(r"(?<![\w.\"])\w+", re.sub(r'"\w+"', "", body)))
    lines = {*imports}
    for name in ("builtins", "os"):
        if f"{name}." in body:
            lines.add(f"import {name}")
    if "np." in body:
        lines.add("import numpy as np")
    sources = {word: home for home, words in SOURCES.items() for word in words.split()}
    sources |= {word: home for home, words in door_meanings.SOURCES.items() for word in words.split()}
    sources |= {found.__name__: found.__module__ for found in _classes()}
    needed: dict[str, list[str]] = {}
    for word in sorted(used & sources.keys()):
        line = f"from {sources[word]} import {word} as {word}"
        if sources[word] != module and line not in lines:
            needed.setdefault(sources[word], []).append(word)
    lines |= {_import(home, words) for home, words in needed.items()}
    groups = ([line for line in sorted(lines, key=_order) if _section(line) == k] for k in range(3))
    return "\n".join([_HEAD, *("\n".join([*group, ""]) for group in groups if group), body])


def _import(home: str, words: list[str]) -> str:
    line = f"from {home} import {', '.join(words)}"
    return line if len(line) <= _WIDTH else "\n".join([f"from {home} import (", *(f"    {w}," for w in words), ")"])


def _section(line: str) -> int:
    """Python's own modules, others', ours."""
    package = line.split()[1].partition(".")[0]
    return 0 if package in sys.stdlib_module_names else 2 if package == "lucidgrad" else 1


def _order(line: str) -> tuple[bool, list[str], str]:
    return line.startswith("from"), line.split()[1].split("."), line


def _classes() -> Iterator[type]:
    """Classes of the package that the annotations of its public functions speak of."""
    yield from CLASSES
    members: list[Any] = [getattr(member, "fget", member) for member in _members().values()]
    for module in map(importlib.import_module, MODULES):
        members += [vars(module).get(name) for name in module.__all__]
    for module in map(importlib.import_module, DOORS):
        members += [getattr(module, name) for name in module.__all__]
    for function in filter(inspect.isfunction, members):
        signature = inspect.signature(function)
        for note in (signature.return_annotation, *(p.annotation for p in signature.parameters.values())):
            for part in (note, *typing.get_args(note)):
                if isinstance(part, type) and part.__module__.startswith("lucidgrad"):
                    yield part


# -- files ---------------------------------------------------------------------------------------
def stubs() -> dict[Path, str]:
    """All stubs by file, each beside the module that it speaks of."""
    made = {name: module_stub(importlib.import_module(name)) for name in (*MODULES, *DOORS)}
    made[lg.Tensor.__module__] = tensor_stub()
    made |= {name: f"{_HEAD}\n{text}" for name, text in hips_stubs.stubs(_line).items()}
    files = {name: Path(str(importlib.import_module(name).__file__)) for name in made}
    found = {files[name].with_suffix(".pyi"): text for name, text in made.items()}
    return found | dict(map(_shared, SHARED))


def _shared(name: str) -> tuple[Path, str]:
    """The stub of a module that the door has from lucidgrad, with those below it."""
    below = [other.removeprefix(f"{name}.") for other in SHARED if re.fullmatch(rf"{re.escape(name)}\.\w+", other)]
    lines = [f"from lucidgrad.{name} import *", *(f"from lucidgrad.{name} import {each} as {each}" for each in below)]
    path = Path(str(lucidgrad.torch.__file__)).parent.joinpath(*name.split("."))
    return path / "__init__.pyi" if below else path.with_suffix(".pyi"), "\n".join([_HEAD, *lines, ""])


def differing() -> list[Path]:
    """The stubs that are not as they would be written, or that nothing is written to."""
    made = stubs()
    root = Path(str(lg.__file__)).parent
    stale = [path for path in root.rglob("*.pyi") if path not in made]
    return stale + [path for path, text in made.items() if not path.exists() or path.read_text() != text]


def loose(text: str) -> int:
    """How many annotations of a stub speak of ``Any``."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith(("from", "import")))
    return len(re.findall(r"\bAny\b", body))


def loose_in_code() -> int:
    """The same of the functions and methods themselves, where nothing counts as ``Any``."""
    members = [getattr(member, "fget", member) for member in _members().values()]
    for module in map(importlib.import_module, MODULES):
        members += [getattr(module, name) for name in module.__all__]
    count = 0
    for function in filter(inspect.isfunction, members):
        signature = inspect.signature(function)
        notes = [p.annotation for p in signature.parameters.values() if p.name != "self"]
        for note in (*notes, signature.return_annotation):
            count += note is _EMPTY or len(re.findall(r"\bAny\b", str(note)))
    return count


def main(arguments: list[str]) -> int:
    """Write the stubs, or with ``--check`` tell which differ."""
    if arguments not in ([], ["--check"]):
        raise SystemExit(f"stubs: given {' '.join(arguments)}, expected nothing or --check")
    found = differing()
    if arguments:
        print("\n".join(f"{path}: not as `python -m tools.stubs` writes it" for path in found) or "nothing differs")
        return bool(found)
    made = stubs()
    for path in found:
        if path in made:
            path.parent.mkdir(exist_ok=True)
            path.write_text(made[path])
        else:
            path.unlink()
    count = sum(map(loose, made.values()))
    print(f"{len(made)} stubs, {len(found)} changed; Any: {count}, in the code {loose_in_code()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
