"""Programs written for another library run on lucidgrad: in their process its name means a door of lucidgrad.

``python -m lucidgrad.hips program.py`` is `run` with the name ``autograd``, ``python -m lucidgrad.torch program.py`` is
it with ``torch``; no file is changed, and nothing is installed. A module is sought by the same path in the door, and
the very module stands under both names.
"""

import functools
import importlib
import importlib.util
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["Renamed", "open_door", "run"]


class Renamed:
    """Finder and loader that give a package, and all below it, a second name."""

    def __init__(self, name: str, package: str) -> None:
        self.name, self.package = name, package

    def _own(self, name: str) -> str:
        return self.package + name.removeprefix(self.name)

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Where a module is that has the second name; None for other modules, and for those that the door lacks."""
        if name != self.name and not name.startswith(f"{self.name}."):
            return None
        try:
            found = importlib.util.find_spec(self._own(name))
        except ModuleNotFoundError:
            found = None
        if found is None:  # the library itself must not answer: two classes of arrays would meet
            page = self.package.rpartition(".")[2]
            raise ModuleNotFoundError(
                f"No module named {name!r}: {self.package} stands for {self.name!r} here, and does not have it; "
                f"docs/{page}.md says what there is",
                name=name,
            )
        return ModuleSpec(name, self, is_package=found.submodule_search_locations is not None)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Nothing is made: what Python makes is put aside by `exec_module`."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the door's module in the place of a new one, and beside it those that it has imported below itself.

        Were these imported under the second name later, Python would write them into the package, over a function of
        the same name, as of ``autograd.misc.flatten``.
        """
        own = self._own(module.__name__)
        sys.modules[module.__name__] = importlib.import_module(own)
        for name, found in list(sys.modules.items()):
            if name.startswith(f"{own}."):
                sys.modules.setdefault(module.__name__ + name.removeprefix(own), found)


def open_door(name: str, package: str) -> None:
    """Let ``import name`` give ``package`` from now on, in this process and in those that Python starts for it."""
    if any(isinstance(finder, Renamed) and finder.name == name for finder in sys.meta_path):
        return
    there = sys.modules.get(name)
    if there is not None:
        raise RuntimeError(
            f"{name} is imported already, from {getattr(there, '__file__', 'somewhere')}; {package} can stand for it "
            f"only in a process that has not: python -m {package} program.py"
        )
    sys.meta_path.insert(0, Renamed(name, package))
    spawn: Any = importlib.import_module("multiprocessing.spawn")
    spawn.get_preparation_data = functools.partial(_prepared, spawn.get_preparation_data, _Again(name, package))


class _Again:
    """What a process that this one starts reads first: reading it, the door is opened there."""

    def __init__(self, *door: str) -> None:
        self.door = door

    def __reduce__(self) -> tuple[Callable[[str, str], None], tuple[str, ...]]:
        return open_door, self.door


def _prepared(own: Callable[[str], dict[str, Any]], again: _Again, name: str) -> dict[str, Any]:
    """What Python tells a process that it starts, and that a door is open there, too."""
    return {f"door of {again.door[0]}": again, **own(name)}


def run(name: str, package: str, arguments: Sequence[str] | None = None) -> None:
    """Run a program in which ``name`` means ``package``, with Python's ways to name one."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    usage = f"usage: python -m {package} (program.py | -m module | -c code) [arguments], where {name!r} means {package}"
    if words[:1] in ([], ["-h"], ["--help"]):
        print(usage, file=sys.stdout if words else sys.stderr)
        raise SystemExit(0 if words else 2)
    how, rest = (words[0], words[1:]) if words[0] in ("-m", "-c") else ("", words)
    if not rest:
        raise SystemExit(f"{usage}\n{how} needs an argument")
    if not how and not os.path.isfile(rest[0]):
        raise SystemExit(f"python -m {package}: given {rest[0]}, expected a program; there is no such file")
    open_door(name, package)
    sys.argv = ["-c", *rest[1:]] if how == "-c" else rest
    sys.path[0] = "" if how else os.path.dirname(os.path.abspath(rest[0]))  # as Python has it
    if how == "-m":
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif how == "-c":
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        runpy.run_path(rest[0], run_name="__main__")
