"""Tables and packages whose parts are loaded when they are first asked for, so that imports stay quick.

Whatever is found is kept where it was looked for: only the first look costs anything.
"""

import importlib
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, TypeVar

__all__ = ["Table", "submodule"]

V = TypeVar("V")


class Table(dict[str, V]):
    """A dictionary that modules fill: one when a name of its own is asked for, all when somebody looks at everything.

    ``homes`` says which module has a name. A module enters what it has when it is imported; `load` may do so for it.
    """

    def __init__(self, homes: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.homes: dict[str, str] = dict(homes or {})

    def load(self, module: str) -> None:
        """Import a module, which enters what it has."""
        importlib.import_module(module)

    def complete(self) -> "Table[V]":
        """This table, with everything in it."""
        for name, module in self.homes.items():
            if not super().__contains__(name):
                self.load(module)
        return self

    def loaded(self) -> list[V]:
        """What is there already."""
        return list(super().values())

    def __missing__(self, name: str) -> V:
        if name in self.homes:
            self.load(self.homes[name])
            if super().__contains__(name):
                return super().__getitem__(name)
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.homes

    def get(self, name: str, default: Any = None) -> Any:
        """As that of dictionaries."""
        return self[name] if name in self else default  # noqa: SIM401  this is what it would call

    def __iter__(self) -> Iterator[str]:
        self.complete()
        return super().__iter__()

    def __len__(self) -> int:
        self.complete()
        return super().__len__()

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        """As that of dictionaries, of everything."""
        self.complete()
        return super().keys()

    def values(self) -> ValuesView[V]:  # type: ignore[override]
        """As that of dictionaries, of everything."""
        self.complete()
        return super().values()

    def items(self) -> ItemsView[str, V]:  # type: ignore[override]
        """As that of dictionaries, of everything."""
        self.complete()
        return super().items()


def submodule(package: str, name: str) -> Any:
    """For a package's ``__getattr__``: a module of it, imported now; the package has it from then on."""
    path = f"{package}.{name}"
    if not name.startswith("_"):
        try:
            return importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise
    raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
