"""The pages of the API reference: every public name with its signature, its docstring, an example and its gradient.

``python -m tools.reference FOLDER`` writes them as reStructuredText for Sphinx, which ``make docs`` does. A name that
is public in several places is described in one of them; at the others an entry leads there. Where the example in a
docstring shows no gradient, one is computed at the arguments of that example: what stands on the page was run.
"""

import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lucidgrad as lg

from .gradients import gradient_of

ROOT = "lucidgrad"
TENSOR = "lucidgrad.Tensor"

#: Places whose names are described elsewhere, where both have them.
SECONDARY = {
    *("lucidgrad.special", "lucidgrad.random", "lucidgrad.nn.modules"),
    *("lucidgrad.autograd.anomaly", "lucidgrad.autograd.function"),
}

#: Modules that have another library's names with its meanings, of which `tools.door_reference` writes the pages: the
#: library, and the guide that says how the door works.
DOORS = {
    "lucidgrad.torch": ("PyTorch", "torch"),
    "lucidgrad.numpy": ("NumPy", "numpy"),
    "lucidgrad.hips": ("HIPS autograd", "hips"),
}

#: Names at the root by what their modules have in common: file, title, beginnings of module names.
FAMILIES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("creation", "Making tensors", ("lucidgrad.creation",)),
    ("randomness", "Random numbers", ("lucidgrad.random", "lucidgrad.distributions")),
    ("arithmetic", "Arithmetic", ("lucidgrad.ops.elementwise.arithmetic", "lucidgrad.ops.elementwise.composition")),
    ("choice", "Choosing, clipping, rounding", ("lucidgrad.ops.elementwise.choice", "lucidgrad.ops.elementwise.round")),
    ("comparison", "Comparison, logic and bits", ("lucidgrad.ops.elementwise.comparison",)),
    ("exponential", "Exponentials, logarithms, powers", ("lucidgrad.ops.elementwise.exponential",)),
    ("trigonometric", "Trigonometric and hyperbolic functions", ("lucidgrad.ops.elementwise.trigonometric",)),
    ("complex", "Signs and complex numbers", ("lucidgrad.ops.elementwise.complex",)),
    ("activation", "Activations", ("lucidgrad.ops.elementwise.activation", "lucidgrad.ops.softmax")),
    ("reduction", "Sums, extremes and scans", ("lucidgrad.ops.reduction", "lucidgrad.ops.scan")),
    (
        "statistics",
        "Statistics, sorting, counting and sets",
        tuple(
            f"lucidgrad.ops.{family}"
            for family in "statistics quantiles counting sets sorting summaries curves combinations".split()
        ),
    ),
    ("shape", "Shapes, joining and splitting", ("lucidgrad.ops.shape", "lucidgrad.ops.elementwise.copies")),
    ("indexing", "Picking and scattering", ("lucidgrad.ops.indexing",)),
    ("products", "Products of matrices", ("lucidgrad.ops.linalg", "lucidgrad.linalg")),
    ("special_functions", "Special functions at the root", ("lucidgrad.ops.special", "lucidgrad.special")),
    ("layers", "Layers at the root", ("lucidgrad.nn", "lucidgrad.signal")),
    ("settings", "Settings, data types, devices, errors", ("",)),
)

#: Titles of the other places; a module that is not listed has its name.
TITLES = {
    "lucidgrad.autograd": "gradients",
    "lucidgrad.autograd.forward_ad": "forward mode, step by step",
    "lucidgrad.autograd.functional": "PyTorch's older transforms",
    "lucidgrad.autograd.graph": "the recorded graph",
    "lucidgrad.func": "functions of functions",
    "lucidgrad.linalg": "linear algebra",
    "lucidgrad.fft": "Fourier transforms",
    "lucidgrad.special": "special functions",
    "lucidgrad.signal": "signals",
    "lucidgrad.nn": "layers and losses",
    "lucidgrad.nn.functional": "layers as functions",
    "lucidgrad.nn.init": "initialisation",
    "lucidgrad.optim": "optimisers",
    "lucidgrad.optim.lr_scheduler": "learning rates",
    "lucidgrad.distributed": "several processes",
    "lucidgrad.distributed.nn.functional": "collectives with gradients",
    "lucidgrad.distributions": "probability distributions",
    "lucidgrad.utils.data": "datasets and loaders",
    "lucidgrad.amp": "mixed precision",
    "lucidgrad.files": "saving and loading",
    "lucidgrad.profiler": "where the time goes",
    "lucidgrad.viz": "drawings of the graph",
    "lucidgrad.cuda": "CUDA devices, streams and memory",
    "lucidgrad.cudasim": "the emulated CUDA device",
    "lucidgrad.typing": "types for annotations",
}


class Entry(NamedTuple):
    """A public name: where it is, what it is, and where it is described if that is not here."""

    place: str
    name: str
    found: Any
    home: str | None

    @property
    def path(self) -> str:
        """The full name."""
        return f"{self.place}.{self.name}"


class Page(NamedTuple):
    """A page of the reference."""

    file: str
    title: str
    about: str
    entries: list[Entry]


# -- public names --------------------------------------------------------------------------------
def modules() -> dict[str, types.ModuleType]:
    """The public modules by name: those that a public module names, and so on from the root."""
    found: dict[str, types.ModuleType] = {}

    def visit(module: types.ModuleType) -> None:
        found[module.__name__] = module
        for name in names_of(module):
            inner = getattr(module, name)
            own = isinstance(inner, types.ModuleType) and inner.__name__.startswith(ROOT)
            if own and inner.__name__ not in {*found, *DOORS}:
                visit(inner)

    visit(importlib.import_module(ROOT))
    return found


def names_of(module: types.ModuleType) -> list[str]:
    """The public names of a module."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(set(listed))
    return sorted(n for n, v in vars(module).items() if n[0] != "_" and origin(v) == module.__name__)


def origin(found: Any) -> str:
    """The module in which something is written."""
    return str(getattr(inspect.unwrap(found), "__module__", "")) if callable(found) else ""


def entries() -> list[Entry]:
    """Every public name of every public module."""
    places = modules()
    order = sorted(places, key=lambda place: (place in SECONDARY, place == ROOT, list(places).index(place)))
    homes: dict[int, str] = {}
    for place in order:
        for name in names_of(places[place]):
            found = getattr(places[place], name)
            if callable(found) and (id(found) not in homes or homes[id(found)] == f"{place}.{_lesser(found, name)}"):
                homes[id(found)] = f"{place}.{name}"
    made = []
    for place, module in places.items():
        for name in names_of(module):
            found = getattr(module, name)
            if isinstance(found, types.ModuleType):
                continue
            home = homes.get(id(found)) if callable(found) else None
            made.append(Entry(place, name, found, None if home == f"{place}.{name}" else home))
    return made


def _lesser(found: Any, name: str) -> str:
    """The name that gives way to another one in the same place: one that is not the function's own."""
    return name if getattr(found, "__name__", name) != name else ""


def methods() -> list[Entry]:
    """The public members of `Tensor`; those that are functions, or write a method's result, are described there."""
    made = []
    root = {entry.name: entry for entry in entries() if entry.place == ROOT}
    for name in sorted(n for n in dir(lg.Tensor) if n[0] != "_"):
        found = getattr(lg.Tensor, name)
        same = root.get(name)
        if same is not None and same.found is found:
            home: str | None = same.home or same.path
        elif name[-1] == "_" and (found.__doc__ or "").startswith("`"):
            home = f"{TENSOR}.{name[:-1]}"
        else:
            home = None
        made.append(Entry(TENSOR, name, found, home))
    return made


# -- pages ---------------------------------------------------------------------------------------
def pages() -> list[Page]:
    """The pages of the reference in their order."""
    found = entries()
    made = [_family(found, file, title) for file, title, _ in FAMILIES]
    own = methods()
    inside = [e for e in own if e.name[-1] == "_" and e.home]
    lent = [e for e in own if e.home and e not in inside]
    made.append(Page("tensor", "lucidgrad.Tensor", inspect.getdoc(lg.Tensor) or "", [e for e in own if not e.home]))
    made.append(Page("tensor_functions", "Tensor: functions as methods", _LENT, lent))
    made.append(Page("tensor_in_place", "Tensor: writing in place", _INSIDE, inside))
    for place, module in modules().items():
        if place != ROOT:
            title = f"{place}: {TITLES[place]}" if place in TITLES else place
            here = [e for e in found if e.place == place]
            file = place.removeprefix(f"{ROOT}.").replace(".", "_")
            made.append(Page(file, title, inspect.getdoc(module) or "", here))
    return [page for page in made if page.entries]


_LENT = "Each is the function of its name with the tensor as the first argument: ``x.exp()`` is ``lg.exp(x)``."
_INSIDE = "Each writes the result of the method without the underscore into the tensor itself, and returns the tensor."


def _family(found: list[Entry], file: str, title: str) -> Page:
    here = [e for e in found if e.place == ROOT and _family_of(e) == file and e.name != "Tensor"]
    return Page(file, title, "", here)


def _family_of(entry: Entry) -> str:
    """The family of a name at the root: the longest beginning of its module's name."""
    home = origin(entry.found)
    fits = [(len(prefix), file) for file, _, prefixes in FAMILIES for prefix in prefixes if home.startswith(prefix)]
    return max(fits)[1]


def written(page: Page) -> str:
    """A page as reStructuredText."""
    lines = [page.title, "=" * len(page.title), "", page.about, "", f".. currentmodule:: {ROOT}", ""]
    for entry in page.entries:
        lines += [*_entry(entry), ""]
    return "\n".join(lines)


def _entry(entry: Entry) -> list[str]:
    if entry.home is not None:
        return _lead(entry)
    kind = _kind(entry)
    if kind == "data":
        return [f".. py:data:: {entry.path}", f"   :value: {plain(entry.found)}"]
    lines = [f".. auto{kind}:: {entry.path}"]
    if kind in ("class", "exception") and entry.found.__module__ != "builtins":
        bare = entry.place == "lucidgrad.typing" or issubclass(entry.found, tuple)  # fields are in the signature
        lines += [] if bare else ["   :members:"]
    return lines


def _kind(entry: Entry) -> str:
    if entry.place == TENSOR:
        return "method" if callable(entry.found) else "property"
    if isinstance(entry.found, type):
        return "exception" if issubclass(entry.found, BaseException) else "class"
    return "function" if inspect.isroutine(entry.found) or hasattr(entry.found, "__wrapped__") else "data"


def _lead(entry: Entry) -> list[str]:
    """An entry that leads to another one."""
    kind = "class" if isinstance(entry.found, type) else "method" if entry.place == TENSOR else "function"
    summary = (inspect.getdoc(entry.found) or "").partition("\n")[0]
    return [
        f".. py:{kind}:: {entry.path}{signature(entry.found, entry.place == TENSOR)}",
        "",
        f"   {summary} Described at :py:obj:`{entry.home}`.",
    ]


def signature(found: Any, bound: bool = False) -> str:
    """The parameters of a function without annotations."""
    try:
        known = inspect.signature(found)
    except (TypeError, ValueError):
        return "()"
    parameters = [p.replace(annotation=inspect.Parameter.empty) for p in known.parameters.values()]
    parameters = parameters[1:] if bound and parameters and parameters[0].kind is not _SEVERAL else parameters
    return tidied(str(inspect.Signature(parameters)))


def tidied(parameters: str) -> str:
    """Parameters as text, without defaults that are objects of no name."""
    return re.sub(r"=\s?<[^<>]*(<[^<>]*>)?[^<>]*>", "=...", parameters)


_SEVERAL = inspect.Parameter.VAR_POSITIONAL


def plain(value: Any) -> str:
    """A constant in a line."""
    text = repr(value)
    return "..." if "\n" in text or " at 0x" in text or len(text) > 100 else text


def index(made: list[Page]) -> str:
    """The first page of the reference."""
    listed = "\n".join(f"   {page.file}" for page in made)
    doors = "\n".join(f"   {door_file(place)}" for place in DOORS)
    described = sum(e.home is None for page in made for e in page.entries)
    every = sum(len(page.entries) for page in made)
    lines = [
        "API reference",
        "=============",
        "",
        f"Every public name: {every:,} entries, {described:,} of them described, the others lead to one that is.",
        "Examples are run by the tests; a gradient that is said to be computed was computed when this page was built.",
        "``lg`` is ``lucidgrad`` throughout.",
        "",
        ".. toctree::",
        "   :maxdepth: 1",
        "",
        listed,
        "",
        "Modules with another library's names and meanings list them on a page each, with what each is here:",
        "",
        ".. toctree::",
        "   :maxdepth: 1",
        "",
        doors,
        "",
    ]
    return "\n".join(lines)


def door_file(place: str) -> str:
    """The name of the page of a door."""
    return f"door_{place.rpartition('.')[2]}"


def write(folder: Path) -> int:
    """Write all pages; return how many names are on them, without those of the doors."""
    from . import door_reference  # which asks this module what is described where

    folder.mkdir(parents=True, exist_ok=True)
    made = pages()
    texts = {f"{page.file}.rst": written(page) for page in made} | {"index.rst": index(made)}
    texts |= {f"{door_file(place)}.rst": door_reference.written(place) for place in DOORS}
    for path in folder.glob("*.rst"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # Sphinx reads again what is newer
            path.write_text(text, encoding="utf-8")
    return sum(len(page.entries) for page in made)


def described() -> Iterator[Entry]:
    """The names that have an entry of their own, each once."""
    for entry in (*entries(), *methods()):
        if entry.home is None:
            yield entry


def more(path: str, found: Any) -> list[str]:
    """What the page adds to a docstring: the gradient, where the example lacks it and there is one."""
    made = gradient_of(path, found)
    if made is None:
        return []
    return ["", ".. rubric:: Gradient of the sum, computed for this page", "", *made, ""]


if __name__ == "__main__":
    print(f"{write(Path(sys.argv[1]))} names")
