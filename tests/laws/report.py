"""The page of laws: what is tested of every primitive, and the matrix."""

import csv
import inspect
import io
from pathlib import Path

from samples import EXCEPTIONS

from lucidgrad.core.primitive import registry

from . import batch_laws, derivative_laws, device_laws, memory_laws, program_laws, value_laws
from .law import LAWS, cells

PAGE = Path(__file__).parents[2] / "docs" / "laws.md"
TABLE = PAGE.with_suffix(".csv")
FAMILIES = {
    "values": value_laws,
    "memory": memory_laws,
    "derivatives": derivative_laws,
    "batches": batch_laws,
    "devices": device_laws,
    "programs": program_laws,
}


def files() -> dict[Path, str]:
    """The page and its table."""
    return {PAGE: _page(), TABLE: _table()}


def _page() -> str:
    pairs = _cells()
    operations = {name for _, name in pairs}
    lines = [
        "# Laws",
        "",
        f"A law is something that must hold of every operation. There are {len(LAWS)} of them, {len(operations)}",
        f"operations that all others are made of, and {len(pairs):,} pairs that go together; `make laws` tests each",
        "one. An operation is in the table by being declared, with samples that it shares with all laws. This page is",
        "written by `python -m tests.laws`.",
        "",
        "| law | of | operations | what must hold |",
        "|---|---|--:|---|",
    ]
    for family, law in _families():
        count = sum(each == law.name for each, _ in pairs)
        lines.append(f"| {law.name} | {family} | {count} | {_about(law.check)} |")
    lines += ["", "## Exceptions", ""]
    lines += [f"- `{name}`, {law}: {reason}." for (law, name), reason in sorted(EXCEPTIONS.items())]
    lines += [
        "",
        "## The matrix",
        "",
        "How many laws each operation obeys, and which ones say nothing of it.",
        "",
        ":::{csv-table}",
        f":file: {TABLE.name}",
        ":header-rows: 1",
        ":class: searchable",
        ":::",
    ]
    return "\n".join(lines) + "\n"


def _cells():
    """All pairs of the library's own primitives: pages and tests declare others."""
    return [(law, name) for law, name in cells() if str(registry[name].program.__module__).startswith("lucidgrad.")]


def _families():
    """Every law with its family, in one order whatever was imported first (laws are in ``LAWS`` by being imported)."""
    for family, module in FAMILIES.items():
        for law in LAWS.values():
            if law.check.__module__ == module.__name__:
                yield family, law


def _about(check) -> str:
    """The first paragraph of a law's docstring in a line."""
    return " ".join((inspect.getdoc(check) or "").partition("\n\n")[0].split()).replace("|", "\\|")


def _table() -> str:
    pairs = set(_cells())
    laws = [law.name for _, law in _families()]
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(["operation", "laws", "which say nothing of it"])
    for name in sorted({name for _, name in pairs}):
        held = [law for law in laws if (law, name) in pairs]
        silent = [law for law in laws if (law, name) not in pairs]
        rows.writerow([name, len(held), ", ".join(silent) or "—"])
    return written.getvalue()
