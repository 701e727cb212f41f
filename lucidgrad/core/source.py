"""Functions that are written out as source: tracebacks show their lines."""

import itertools
import linecache
from collections.abc import Iterable
from typing import Any

_numbers = itertools.count()
#: Code that is written out is named like a file of this package, for who looks for the user's lines.
HOME = __file__.removesuffix("core/source.py")


def run(source: str, scope: dict[str, Any], what: str = "operator") -> dict[str, Any]:
    """Run definitions, whose globals are in ``scope`` then; ``what`` stands where files have their names."""
    file = f"{HOME}<{what} {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), scope)
    return scope


def deep(lines: Iterable[str]) -> list[str]:
    """Lines of source, one step further to the right."""
    return ["    " + line for line in lines]


def definition(head: str, lines: Iterable[str]) -> str:
    """The source of a function, given its head and its lines."""
    return "\n".join([f"def {head}:", *deep(lines), ""])
