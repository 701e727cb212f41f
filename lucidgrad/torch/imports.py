"""Modules of the door that are lucidgrad's own: ``lucidgrad.torch.nn`` is ``lucidgrad.nn``, and so is all below it.

A module that has a file of its own beside this one is that file. All others are looked for in lucidgrad under the same
name, or the one that a table has for PyTorch's, and the very module that is found there stands under both names:
nothing is loaded twice.
"""

import functools
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from .places import PATHS

_DOOR = __package__ + "."
_HOUSE = __package__.rpartition(".")[0] + "."

_ELSEWHERE = {path: module for module, paths in PATHS.items() for path in paths.split()}


def _in_house(name: str) -> str:
    """The full name that a module of the door has in lucidgrad."""
    own = name.removeprefix(_DOOR)
    return _HOUSE + _ELSEWHERE.get(own, own)


class Shared:
    """Finder and loader of modules that the door shares with lucidgrad."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Where a module of the door is; None for the modules of others."""
        if not name.startswith(_DOOR):
            return None
        parent = name.rpartition(".")[0]
        own = PathFinder.find_spec(name, path, target) if sys.modules[parent].__name__ == parent else None
        if own is not None and own.origin is not None:  # which a folder of stubs has not
            return own
        try:
            found = importlib.util.find_spec(_in_house(name))
        except ModuleNotFoundError:
            return None
        return ModuleSpec(name, Shared, is_package=True) if found is not None else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """Nothing is made: what Python makes is put aside by `exec_module`."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Put lucidgrad's module in the place of a new one; what PyTorch has below it is there without an import."""
        found = sys.modules[module.__name__] = importlib.import_module(_in_house(module.__name__))
        start = len(module.__name__.removeprefix(_DOOR)) + 1
        for path in _ELSEWHERE:
            if (_DOOR + path).startswith(module.__name__ + "."):
                *parents, name = path[start:].split(".")
                parent = functools.reduce(getattr, parents, found)
                if not hasattr(parent, name):
                    setattr(parent, name, importlib.import_module(_in_house(_DOOR + path)))


def install() -> None:
    """Let Python ask for modules here, before it would load a file a second time."""
    if Shared not in sys.meta_path:
        sys.meta_path.insert(0, Shared)
