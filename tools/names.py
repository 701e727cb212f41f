"""PyTorch's public names beside ours, place by place: which are there, which mean something else, which are missing.

``python -m tools.names`` writes ``docs/names.md``, ``python -m tools.names --check`` tells whether it would be written
differently, and ``--record`` reads PyTorch's names anew from an installed PyTorch. `reasons` says why a name differs,
is missing, or is left out.
"""

import importlib
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lucidgrad as lg

from .reasons import DIFFERENT, LEFT_OUT, MISSING

RECORDED = Path(__file__).with_name("torch_names.txt")
PAGE = Path(__file__).parents[1] / "docs" / "names.md"

#: Places by the name that PyTorch has for them.
PLACES = """torch Tensor nn nn.functional nn.init nn.utils nn.utils.rnn optim optim.lr_scheduler linalg fft special
    distributions func autograd""".split()
#: The functions at the root that PyTorch does not hand on to classes like tensors: they make tensors, or set something.
MAKING = "torch, other functions"

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
def read() -> dict[str, list[str]]:
    """The recorded names by place."""
    found: dict[str, list[str]] = {}
    for line in RECORDED.read_text(encoding="utf-8").splitlines()[1:]:
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
    for place in PLACES[2:]:
        module = importlib.import_module(f"torch.{place}")
        names = getattr(module, "__all__", None) or dir(module)
        found[place] = sorted(n for n in set(names) if not n.startswith("_") and _is_own(getattr(module, n, None)))
    return found


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
def ours(place: str) -> Any:
    """What has the names of a place here; None where there is no such place."""
    found: Any = lg
    for part in () if place in ("torch", MAKING) else place.split("."):
        found = getattr(found, part, None)
    return found


def _reasons(table: dict[str, dict[str, str]], place: str) -> dict[str, str]:
    return {name: reason for names, reason in table.get(place, {}).items() for name in names.split()}


def _left_out(place: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        for where, pattern, reason in LEFT_OUT:
            if place in where.split("|") and re.fullmatch(pattern, name, re.VERBOSE):
                yield name, reason
                break


def compared(place: str, names: list[str]) -> Place:
    """The names of a place beside ours."""
    here = ours(place)
    different, missing = _reasons(DIFFERENT, place), _reasons(MISSING, place)
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


def table() -> list[Place]:
    """All places."""
    return [compared(place, names) for place, names in read().items()]


def idle() -> list[str]:
    """Reasons that nothing needs: of names that PyTorch does not have, or that are there after all."""
    found = []
    for place in table():
        names = set(read()[place.name])
        for name in _reasons(MISSING, place.name):
            if name not in place.missing:
                found.append(f"{place.name}: {name} is not missing")
        for name in _reasons(DIFFERENT, place.name):
            if name not in names or name not in place.different:
                found.append(f"{place.name}: {name} is not there, so not different")
    return found


# -- the page ------------------------------------------------------------------------------------
_HEAD = """# PyTorch's names

Which of PyTorch's public names exist here; `python -m tools.names` writes this page. Names of the Array API standard
and of NumPy keep their meaning at the root of `lucidgrad`; where PyTorch's function of that name means something else,
it is listed as different (the method of `Tensor` has PyTorch's meaning). Left out are names that are no part of what
an autograd engine for dense arrays has, each by a rule with its reason.
"""


def page() -> str:
    """The page as it is to be."""
    version = RECORDED.read_text(encoding="utf-8").splitlines()[0]
    lines = [
        _HEAD,
        f"| place in {version} | names | left out | there | different | missing | there or different |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    places = table()
    for p in places:
        counts = (p.counted + len(p.left_out), len(p.left_out), len(p.there), len(p.different), len(p.missing))
        lines.append(f"| {p.name} | {' | '.join(map(str, counts))} | {p.share:.1f} % |")
    for p in places:
        parts = (("Different", p.different), ("Missing", p.missing), ("Left out", p.left_out))
        if any(names for _, names in parts):
            lines += ["", f"## {p.name}"]
        for title, names in parts:
            if names:
                lines += ["", f"{title}:", "", *_grouped(names)]
    return "\n".join(lines) + "\n"


def _grouped(names: dict[str, str]) -> Iterator[str]:
    """Names with one reason in one entry, wrapped."""
    groups: dict[str, list[str]] = {}
    for name, reason in names.items():
        groups.setdefault(reason, []).append(f"`{name}`")
    for reason, members in groups.items():
        yield from textwrap.wrap(f"- {', '.join(members)}: {reason}", 118, subsequent_indent="  ")


def main(arguments: list[str]) -> int:
    """Write the page, or with ``--check`` tell whether it is current."""
    if arguments not in ([], ["--check"], ["--record"]):
        raise SystemExit(f"names: given {' '.join(arguments)}, expected nothing, --check or --record")
    if arguments == ["--record"]:
        record()
    text = page()
    if arguments == ["--check"]:
        stale = not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text
        print("\n".join(idle() + [f"{PAGE.name}: not as `python -m tools.names` writes it"] * stale) or "current")
        return bool(stale or idle())
    PAGE.write_text(text, encoding="utf-8")
    for p in table():
        print(f"{p.name}: {p.share:.1f} %, missing {len(p.missing)} of {p.counted}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
