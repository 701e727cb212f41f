"""PyTorch's public names beside ours, place by place: which are there, which mean something else, which are missing.

``python -m tools.names`` writes ``docs/names.md``, of lucidgrad itself, and ``docs/torch.md``, of the door
`lucidgrad.torch`; ``--check`` tells whether they would be written differently, and ``--record`` reads PyTorch's names
anew from an installed PyTorch. `reasons` says why a name differs, is missing, or is left out.
"""

import importlib
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from . import reasons
from .reasons import LEFT_OUT

RECORDED = Path(__file__).with_name("torch_names.txt")
_DOCS = Path(__file__).parents[1] / "docs"

#: Places by the name that PyTorch has for them.
PLACES = """torch Tensor nn nn.functional nn.init nn.utils nn.utils.rnn optim optim.lr_scheduler linalg fft special
    distributions func autograd""".split()
#: Places that the door has beside them.
FURTHER = """amp autograd.forward_ad autograd.function autograd.functional autograd.graph backends backends.cuda
    backends.cudnn compiler cuda cuda.amp jit nn.attention nn.parameter nn.utils.parametrizations nn.utils.parametrize
    nn.utils.prune optim.swa_utils profiler random serialization signal.windows testing utils utils.checkpoint
    utils.data""".split()
#: The functions at the root that PyTorch does not hand on to classes like tensors: they make tensors, or set something.
MAKING = "torch, other functions"
#: What else is at the root.
WRITING, CONSTANTS, CLASSES, MODULES = (
    f"torch, {kind}" for kind in ("further functions", "dtypes and constants", "classes", "modules")
)
#: Flags, which are read and set, of modules that make them by a class.
_FLAGS = {
    "backends": "cpu cuda cudnn mha mkl mkldnn mps openmp opt_einsum",
    "backends.cuda": "cufft_plan_cache matmul",
    "backends.cudnn": "allow_tf32 benchmark benchmark_limit deterministic enabled flags is_available version",
}


class Face(NamedTuple):
    """What PyTorch's names are looked for in: its module, its page, its places, and the reasons for what differs."""

    module: str
    page: Path
    places: list[str]
    different: dict[str, dict[str, str]]
    missing: dict[str, dict[str, str]]
    head: str
    lists_all: bool

    @property
    def root(self) -> Any:
        """The module itself."""
        return importlib.import_module(self.module)

    def ours(self, place: str) -> Any:
        """What has the names of a place; None where there is no such place."""
        found: Any = self.root
        for part in () if place.partition(",")[0] == "torch" else place.split("."):
            found = getattr(found, part, None)
        return found


_NOT_YET = "not there yet"


class Place(NamedTuple):
    """The names of a place, sorted by how they are here; those that are left out stand with their reasons."""

    name: str
    there: list[str]
    different: dict[str, str]
    missing: dict[str, str]
    left_out: dict[str, str]

    @property
    def counted(self) -> int:
        """How many names count."""
        return len(self.there) + len(self.different) + len(self.missing)

    @property
    def share(self) -> float:
        """The part of them that exist, in percent."""
        return 100 * (1 - len(self.missing) / max(self.counted, 1))


# -- PyTorch's names -----------------------------------------------------------------------------
def read(recorded: Path = RECORDED) -> dict[str, list[str]]:
    """The recorded names by place."""
    found: dict[str, list[str]] = {}
    for line in recorded.read_text(encoding="utf-8").splitlines()[1:]:
        if line.startswith("["):
            names = found.setdefault(line.strip("[]"), [])
        else:
            names += line.split()
    return found


def installed() -> dict[str, list[str]]:
    """The names of an installed PyTorch by place."""
    torch: Any = importlib.import_module("torch")
    overrides: Any = importlib.import_module("torch.overrides")
    heard = overrides.get_overridable_functions()
    root = {name: getattr(torch, name) for name in dir(torch) if re.match(r"[^_]", name)}
    root = {name: found for name, found in root.items() if callable(found) and not isinstance(found, type)}
    ours = {id(f) for f in (*heard[torch], *heard[torch.functional])}
    others = {id(f) for f in overrides.get_ignored_functions()} - ours
    found = {
        "torch": sorted(name for name, f in root.items() if id(f) in ours),
        MAKING: sorted(name for name, f in root.items() if id(f) in others),
        "Tensor": sorted(name for name in dir(torch.Tensor) if not name.startswith("_")),
    }
    known = {*found["torch"], *found[MAKING]}
    for name in dir(torch):
        if not name.startswith("_") and name not in known and (kind := _kind(getattr(torch, name))):
            found.setdefault(kind, []).append(name)
    for place in PLACES[2:] + FURTHER:
        module = importlib.import_module(f"torch.{place}")
        names = {*(getattr(module, "__all__", None) or dir(module))}
        own = {n for n in names if not n.startswith("_") and _is_own(getattr(module, n, None))}
        found[place] = sorted(own.union(_FLAGS.get(place, "").split()))
    return found


def _kind(value: Any) -> str:
    """Where a name of the root belongs that is no function of tensors; empty if it is not PyTorch's."""
    if isinstance(value, ModuleType):
        return MODULES if value.__name__.startswith("torch.") else ""
    if isinstance(value, type):
        return CLASSES
    return WRITING if callable(value) and _is_own(value) else "" if callable(value) else CONSTANTS


def _is_own(value: Any) -> bool:
    """Whether a value is a function or a class of PyTorch's, and not one that a module of its imports from Python."""
    return callable(value) and str(getattr(value, "__module__", None) or "torch").startswith("torch")


def record() -> None:
    """Write the names of the installed PyTorch down."""
    torch: Any = importlib.import_module("torch")
    lines = [f"PyTorch {torch.__version__.partition('+')[0]}"]
    for place, names in installed().items():
        lines += [f"[{place}]", *textwrap.wrap(" ".join(names), 118)]
    RECORDED.write_text("\n".join(lines) + "\n", encoding="utf-8")


# -- ours ----------------------------------------------------------------------------------------
def _reasons(table: dict[str, dict[str, str]], place: str) -> dict[str, str]:
    return {name: reason for names, reason in table.get(place, {}).items() for name in names.split()}


def _left_out(place: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        for where, pattern, reason in LEFT_OUT:
            if place in where.split("|") and re.fullmatch(pattern, name, re.VERBOSE):
                yield name, reason
                break


def compared(face: Face, place: str, names: list[str]) -> Place:
    """The names of a place beside ours."""
    here = face.ours(place)
    different, missing = _reasons(face.different, place), _reasons(face.missing, place)
    left_out = {name: reason for name, reason in _left_out(place, names) if not hasattr(here, name)}
    names = [name for name in names if name not in left_out]
    present = [name for name in names if hasattr(here, name)]
    return Place(
        place,
        [name for name in present if name not in different],
        {name: different[name] for name in present if name in different},
        {name: missing.get(name, _NOT_YET) for name in names if name not in present},
        left_out,
    )


def table(face: Face) -> list[Place]:
    """All places."""
    recorded = read()
    return [compared(face, place, recorded[place]) for place in face.places]


def idle(face: Face) -> list[str]:
    """Reasons that nothing needs: of names that PyTorch does not have, or that are there after all."""
    found = []
    for place in table(face):
        names = set(read()[place.name])
        for name in _reasons(face.missing, place.name):
            if name not in place.missing:
                found.append(f"{face.module}, {place.name}: {name} is not missing")
        for name in _reasons(face.different, place.name):
            if name not in names or name not in place.different:
                found.append(f"{face.module}, {place.name}: {name} is not there, so not different")
    return found


# -- the pages -----------------------------------------------------------------------------------
_HEAD = """# PyTorch's names

Which of PyTorch's public names exist here; `python -m tools.names` writes this page. Names of the Array API standard
and of NumPy keep their meaning at the root of `lucidgrad`; where PyTorch's function of that name means something else,
it is listed as different (the method of `Tensor` has PyTorch's meaning, and so has the function of the
[door `lucidgrad.torch`](torch.md)). Left out are names that are no part of what an autograd engine for dense arrays
has, each by a rule with its reason.
"""

_DOOR_HEAD = """# The door `lucidgrad.torch`

A namespace with PyTorch's names, arguments, defaults and meanings, for programs that were written for PyTorch:

```python
import lucidgrad.torch as torch
from lucidgrad.torch import nn

x = torch.tensor([[3.0, 1.0, 2.0], [5.0, 4.0, 9.0]], requires_grad=True)
values, indices = torch.max(x, dim=1)  # lucidgrad.max gives values alone, as the standard says
torch.std(x, unbiased=False).backward()
```

It is a table over lucidgrad's functions: the tensors are the same, so both may be used side by side, and every device,
transform and derivative works. A function is looked up when its name is first asked for. `out=` writes a result into a
tensor that is there: one of the result's shape, or an empty one, which takes that shape; as in PyTorch, not where an
argument requires grad. `layout`, `pin_memory` and `memory_format` are accepted and make no difference.

What differs everywhere, since operators are shared with lucidgrad:

- to operators and methods a 0-d tensor counts as any other when dtypes meet: `x + s` of float32 and a 0-d float64
  tensor is float64. Functions (`torch.add(x, s)`, `torch.where`) give float32, as PyTorch does. Python numbers don't
  change the dtype of a tensor, as in PyTorch.
- there are no complex numbers of 32 bits: float16 beside a complex number is complex64.
- where PyTorch leaves the result open (several values written to one place), the gradient is that of the value that
  was written last.
- errors have lucidgrad's words and classes: shapes that don't fit are a ValueError, in PyTorch a RuntimeError.

Below stand all public names; `python -m tools.names` writes this page. Left out are names that are no part of what an
autograd engine for dense arrays has, each by a rule with its reason.
"""

LUCIDGRAD = Face(
    "lucidgrad",
    _DOCS / "names.md",
    [PLACES[0], MAKING, *PLACES[1:]],
    reasons.DIFFERENT,
    reasons.MISSING,
    _HEAD,
    lists_all=False,
)
DOOR = Face(
    "lucidgrad.torch",
    _DOCS / "torch.md",
    [PLACES[0], MAKING, WRITING, CONSTANTS, CLASSES, MODULES, *PLACES[1:], *FURTHER],
    reasons.DOOR_DIFFERENT,
    reasons.DOOR_MISSING,
    _DOOR_HEAD,
    lists_all=True,
)
FACES = (LUCIDGRAD, DOOR)


def page(face: Face) -> str:
    """A page as it is to be."""
    version = RECORDED.read_text(encoding="utf-8").splitlines()[0]
    lines = [
        face.head,
        f"| place in {version} | names | left out | there | different | missing | there or different |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    places = table(face)
    for p in places:
        counts = (p.counted + len(p.left_out), len(p.left_out), len(p.there), len(p.different), len(p.missing))
        lines.append(f"| {p.name} | {' | '.join(map(str, counts))} | {p.share:.1f} % |")
    for p in places:
        parts = (("Different", p.different), ("Missing", p.missing), ("Left out", p.left_out))
        if any(names for _, names in parts) or face.lists_all:
            lines += ["", f"## {p.name}"]
        if face.lists_all and p.there:
            lines += ["", *textwrap.wrap(f"There: {', '.join(f'`{name}`' for name in p.there)}", 118)]
        for title, names in parts:
            if names:
                lines += ["", f"{title}:", "", *grouped(names)]
    return "\n".join(lines) + "\n"


def grouped(names: dict[str, str]) -> Iterator[str]:
    """Names with one reason in one entry, wrapped."""
    groups: dict[str, list[str]] = {}
    for name, reason in names.items():
        groups.setdefault(reason, []).append(f"`{name}`")
    for reason, members in groups.items():
        yield from textwrap.wrap(f"- {', '.join(members)}: {reason}", 118, subsequent_indent="  ")


def main(arguments: list[str]) -> int:
    """Write the pages, or with ``--check`` tell whether they are current."""
    if arguments not in ([], ["--check"], ["--record"]):
        raise SystemExit(f"names: given {' '.join(arguments)}, expected nothing, --check or --record")
    if arguments == ["--record"]:
        record()
    notes = []
    for face in FACES:
        text = page(face)
        if arguments == ["--check"]:
            stale = not face.page.exists() or face.page.read_text(encoding="utf-8") != text
            notes += idle(face) + [f"{face.page.name}: not as `python -m tools.names` writes it"] * stale
            continue
        face.page.write_text(text, encoding="utf-8")
        for p in table(face):
            print(f"{face.module}, {p.name}: {p.share:.1f} %, missing {len(p.missing)} of {p.counted}")
    if arguments == ["--check"]:
        print("\n".join(notes) or "current")
    return bool(notes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
