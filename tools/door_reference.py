"""The pages of the reference for the doors: each name with its signature, a line, and where lucidgrad has the same.

A door has another library's names with its meanings, as a table over lucidgrad's functions. So its names need no page
each: a page lists them by module, `tools.reference` writes it beside its own, and a field on it filters them.
"""

import functools
import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import lucidgrad as lg
from lucidgrad.torch.flags import Switches

from . import reference

#: Modules that only an import of their own names.
_BELOW = {"lucidgrad.hips.misc": ("fixed_points", "flatten", "optimizers")}

#: What a line of the table of `lucidgrad.torch` becomes: parameters, and the call.
_WRITTEN = re.compile(r"PyTorch's `\w+\(.*?\)`: `(?P<call>.*)`\.", re.DOTALL)
#: What the functions of `lucidgrad.numpy` say of themselves that are lucidgrad's under NumPy's arguments.
_COMPUTED = re.compile(r"NumPy's \w+(?:, computed by lucidgrad's |, elementwise; see `lucidgrad\.)(?P<name>[\w.]+\w)")


class Name(NamedTuple):
    """A public name of a door."""

    module: str
    name: str
    found: Any

    @property
    def path(self) -> str:
        """The full name."""
        return f"{self.module}.{self.name}"


# -- names ---------------------------------------------------------------------------------------
def modules(door: str) -> dict[str, types.ModuleType]:
    """The modules of a door that are not lucidgrad's own, by name."""
    found: dict[str, types.ModuleType] = {}

    def visit(module: types.ModuleType) -> None:
        found[module.__name__] = module
        inner = [getattr(module, name) for name in (*public(module), *getattr(module, "_MODULES", ()))]
        inner += [importlib.import_module(f"{module.__name__}.{name}") for name in _BELOW.get(module.__name__, ())]
        for each in inner:
            own = isinstance(each, types.ModuleType) and each.__name__.startswith(f"{door}.")
            if own and each.__name__ not in found:
                visit(each)

    visit(importlib.import_module(door))
    return found


def public(module: types.ModuleType) -> list[str]:
    """The public names of a module, its modules included."""
    return sorted(getattr(module, "__all__", None) or (name for name in vars(module) if name[0] != "_"))


def names(module: types.ModuleType) -> list[Name]:
    """The public names of a module of a door that are no modules."""
    found = [Name(module.__name__, name, getattr(module, name)) for name in public(module)]
    return [name for name in found if not isinstance(name.found, types.ModuleType)]


# -- a line --------------------------------------------------------------------------------------
@functools.cache
def _described() -> dict[str, reference.Entry]:
    """Every name of lucidgrad that has an entry in the reference."""
    return {entry.path: entry for entry in (*reference.entries(), *reference.methods())}


@functools.cache
def _homes() -> dict[int, str]:
    """Where each function and class of lucidgrad is described."""
    homes = {id(e.found): e.home or e.path for e in _described().values() if callable(e.found)}
    return homes | {id(lg.Tensor): reference.TENSOR}


def summary(found: Any) -> str:
    """The first sentence of a docstring; a signature, which some libraries begin with, is none."""
    paragraphs = [" ".join(part.split()) for part in (inspect.getdoc(found) or "").split("\n\n")]
    text = next((part for part in paragraphs if part and not re.match(r"\w+\([^)]*\)", part)), "")
    first = re.match(r".*?\.(?= |$)", text)
    return f"{(first[0] if first else text).rstrip('.')}." if text else ""


def line(name: Name) -> str:
    """What a name is, and where lucidgrad has it, as reStructuredText."""
    if isinstance(sys.modules.get(name.module), Switches):
        says = summary(name.found) if callable(name.found) else f"``{reference.plain(name.found)}``."
        return f"{says} Changes nothing here.".strip()
    if not callable(name.found):
        return _value(name)
    home = _homes().get(id(name.found))
    if home is not None:
        return f"{_plain(name.found)} The same as {_link(home)}."
    text = inspect.getdoc(name.found) or ""
    if found := _WRITTEN.fullmatch(text):
        return _called(name, found["call"])
    if (found := _COMPUTED.match(text)) and (target := _known(f"lucidgrad.{found['name']}")):
        return f"{_plain(_described()[target].found)} Computed by {_link(target)}."
    if (lifted := _lifted(name)) is not None:
        return lifted
    origin = getattr(name.found, "__module__", "")
    return _plain(name.found) or ("" if origin.startswith("lucidgrad") else f"Python's ``{origin}.{name.name}``.")


def _value(name: Name) -> str:
    own = next((e.path for e in _described().values() if e.found is name.found and e.name == name.name), None)
    shown = f"``{reference.plain(name.found)}``."
    shown = f"NumPy's own ``{name.name}``." if shown == "``...``." else shown
    text = summary(name.found) if type(name.found).__module__.startswith("lucidgrad") else ""
    return f"{text or shown} The same as {_link(own)}." if own else text or shown


def _plain(found: Any) -> str:
    """A summary in which other libraries' markup does no harm."""
    text = summary(found)
    own = str(getattr(found, "__module__", "")).startswith("lucidgrad")
    return text if own else re.sub(r"[`*_|\\]", lambda mark: f"\\{mark[0]}", text.replace("``", ""))


def _link(path: str) -> str:
    return f":py:obj:`{path}`"


def _known(path: str) -> str | None:
    """The entry of a name of lucidgrad, followed to where it is described."""
    entry = _described().get(path)
    return None if entry is None else entry.home or entry.path


def _called(name: Name, call: str) -> str:
    """Of a function that was written out from a table: what it calls, or what it is like."""
    place = name.module.removeprefix("lucidgrad.torch").removeprefix(".")
    calls = [f"lucidgrad.{path}" for path in re.findall(r"\blg\.([\w.]+)", call)]
    calls += [f"{reference.TENSOR}.{method}" for method in re.findall(r"\b(?:input|tensor|self)\.(\w+)\(", call)]
    calls += ["lucidgrad." + ".".join(filter(None, [place, name.name])), f"lucidgrad.{name.name.rstrip('_')}"]
    targets = [target for target in map(_known, calls) if target]
    own = re.match(r"own\.(\w+)", call)
    if own:
        meaning = getattr(importlib.import_module("lucidgrad.torch.meanings"), own[1])
        see = f" See {_link(targets[0])}." if targets else ""
        return f"{summary(meaning)}{see}"
    described = _described()[targets[0]].found
    return f"{summary(described)} Computed by {_link(targets[0])}."


def _lifted(name: Name) -> str | None:
    """Of a function that is another library's where nothing is differentiated: what it is where something is."""
    if not name.module.startswith("lucidgrad.hips.") or not inspect.isfunction(name.found):
        return None
    find = inspect.getclosurevars(name.found).nonlocals.get("find")
    if not isinstance(find, functools.partial):
        return None
    house, _, own = find.args
    library = "SciPy" if "scipy" in name.module else "NumPy"
    try:
        find()
    except TypeError:
        return f"{library}'s; an argument that is being differentiated is refused."
    target = f"{house}.{own}"
    return f"{library}'s; where an argument is being differentiated, {_link(_known(target) or target)}."


# -- a page --------------------------------------------------------------------------------------
def written(door: str) -> str:
    """The page of a door as reStructuredText."""
    library, guide = reference.DOORS[door]
    here = modules(door)
    title = f"{door}: {library}'s names"
    count = sum(len(names(module)) for module in here.values())
    lines = [
        *(title, "=" * len(title), ""),
        *(inspect.getdoc(here[door]) or "").splitlines(),
        "",
        f"{count:,} names follow, by module. How the door works, and what differs: :doc:`/{guide}`.",
        "",
        *(".. container:: names-filter", "", "   Names", ""),
    ]
    for place, module in here.items():
        about = summary(module) if place != door else ""
        lines += [place, "-" * len(place), "", about, *_others(door, module), ""]
        listed = names(module)
        lines += [".. container:: names", ""] if listed else []
        for name in listed:
            lines += [f"   {text}" if text else "" for text in _entry(name)]
    return "\n".join(lines) + "\n"


def _others(door: str, module: types.ModuleType) -> Iterator[str]:
    """A sentence on the modules below that are lucidgrad's own."""
    inner = {name: getattr(module, name) for name in public(module)}
    own = [
        f"``{name}`` is {_page(found.__name__)}"
        for name, found in inner.items()
        if isinstance(found, types.ModuleType)
        and found.__name__.startswith("lucidgrad.")
        and not found.__name__.startswith(f"{door}.")
    ]
    if own:
        yield ""
        yield f"Modules that are lucidgrad's own: {', '.join(own)}."


def _page(module: str) -> str:
    file = module.removeprefix("lucidgrad.").replace(".", "_")
    there = any(page.file == file for page in reference.pages())
    return f":doc:`{module} <{file}>`" if there else f"``{module}``"


def _entry(name: Name) -> list[str]:
    kind = "class" if isinstance(name.found, type) else "function" if callable(name.found) else "data"
    own = getattr(name.found, "__module__", "").startswith("lucidgrad")
    shown = reference.signature(name.found) if kind == "function" or (kind == "class" and own) else ""
    parameters = shown.replace("<no value>", "...")
    return [f".. py:{kind}:: {name.path}{parameters}", "", f"   {line(name)}", ""]
